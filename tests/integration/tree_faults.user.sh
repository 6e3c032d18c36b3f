#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tree_faults.user.sh: a root with two switches below it, and everything that can go away: who goes on, who is told, whom they name, and
# how soon. tree.user.sh has the shapes, and restarts under load.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
RETURN=$((3 * PATIENCE)) # seconds that the root gives ranks to come back
LONG=(-b 1M -e 1M -n 100000 -w 1)
EIGHT="left left left left right right right right"

# all_but RANK...: takes them out of RANK_PIDS.
all_but() {
    local rank
    for rank in "$@"; do
        unset "RANK_PIDS[$rank]"
    done
    RANK_PIDS=("${RANK_PIDS[@]}")
}

start root --join-timeout "${RETURN}s"
start left $(below root)
start right $(below root)

say "kill -9 and restart of the root, a leaf, and both at once: right values"
ranks restart "$EIGHT" -b 2M -e 2M -n 150 -w 1 --loss 0.5%
wait_for 10 job_runs restart
for name in root left; do
    sleep 0.2
    again $name
done
sleep 0.2
end root
end right
start root --join-timeout "${RETURN}s" --listen "127.0.0.1:${PORT[root]}"
start right --listen "127.0.0.1:${PORT[right]}" $(below root)
ranks_end 60 0
check_right "restarts" "$TMP/restart.0"
check_in "each rank has registered anew" 'of 8: back at 127.0.0.1' "$TMP"/restart.[0-7]
check_in "the root saw a lost switch" "job restart: switch 127.0.0.1:${PORT[left]} is lost \(its session" "$TMP/root.log"

say "a rank that dies: every other rank knows within a second, and its address"
ranks dead "$EIGHT" "${LONG[@]}"
wait_for 10 job_runs dead
sleep 0.2
START=$(now_ms)
kill -KILL "${RANK_PIDS[5]}"
wait "${RANK_PIDS[5]}" 2>/dev/null
ADDRESS=$(sed -n 's/.*job dead rank 5 of 8 joined from //p' "$TMP/root.log")
all_but 5
ranks_end 5 1
known_within 1000 "$START" "$TMP"/dead.[0-4] "$TMP"/dead.[67]
check_in "names rank and address" "rank [0-7]: rank 5 \($ADDRESS\) is gone: its session" "$TMP"/dead.[0-4] "$TMP"/dead.[67]

# all_name RANK FILE...: each of these ranks has said who is missing.
all_name() {
    local rank=$1
    shift
    as_many_say $# "rank $rank is missing on fragment [0-9]+ since [1-9]" "$@"
}

say "a rank that stops for some seconds: those behind another switch as well say who is late, wait, and end right"
ranks late "$EIGHT" -b 1M -e 1M -n 200 -w 1
wait_for 10 job_runs late
sleep 0.2
kill -STOP "${RANK_PIDS[6]}"
START=$(now_ms)
wait_for 10 all_name 6 "$TMP"/late.[0-5] "$TMP"/late.7
sleep 0.5
kill -CONT "${RANK_PIDS[6]}"
check "not before 1 s" test "$(($(now_ms) - START))" -ge 950
ranks_end 30 0
check_right "after the stop" "$TMP/late.0"
check_in "the stall was reported, by name" 'rank 6 is missing on fragment [0-9]+ since [1-9]' "$TMP"/late.[0-5] "$TMP"/late.7
check_in "to the root as well" 'job late: rank 6 missing on sequence [0-9]+ since [1-9]' "$TMP/root.log"

say "SIGTERM of a leaf: an error at once, on every rank"
ranks term "$EIGHT" "${LONG[@]}"
wait_for 10 job_runs term
sleep 0.2
START=$(now_ms)
stop left
ranks_end 5 1
known_within 1000 "$START" "$TMP"/term.[0-7]
check_in "names the switch" "rank [0-3]: .*the switch 127.0.0.1:${PORT[left]} is shutting down" "$TMP"/term.[0-3]
check_in "also behind the other one" "rank [4-7]: the switch 127.0.0.1:${PORT[left]} is shutting down" "$TMP"/term.[4-7]
start left --listen "127.0.0.1:${PORT[left]}" $(below root)

say "a root that does not come back: an error in time on every rank, which names it"
export TRIB_SWITCH_TIMEOUT=1s
ranks gone "$EIGHT" "${LONG[@]}"
wait_for 10 job_runs gone
sleep 0.2
START=$(now_ms)
end root
ranks_end 3 1
check "not before 1 s" test "$(($(now_ms) - START))" -ge 950
check_in "names the root" "rank [0-7]: switch 127.0.0.1:${PORT[root]}, the parent of switch 127.0.0.1:[0-9]+, does not answer: connection refused; waited [1-9](\.[0-9])? s \(TRIB_SWITCH_TIMEOUT is 1 s\)" "$TMP"/gone.[0-7]
check "a relay asks its parent, not all of its ranks do" test "$(grep -c 'does not answer' "$TMP"/gone.0)" -le 3
start root --join-timeout "${RETURN}s" --listen "127.0.0.1:${PORT[root]}"

say "a leaf that does not come back: its ranks name it after 1 s, the others when the root gives up"
ranks leaf "$EIGHT" "${LONG[@]}"
wait_for 10 job_runs leaf
sleep 0.2
end left
ranks_end $((3 + RETURN)) 1
check_in "its own ranks" "rank [0-3]: the switch 127.0.0.1:${PORT[left]} is gone: connection refused; waited [1-9](\.[0-9])? s \(TRIB_SWITCH_TIMEOUT is 1 s\)" "$TMP"/leaf.[0-3]
check_in "the others" "rank [4-7]: switch 127.0.0.1:${PORT[left]} is lost \(its session .*\): waited ([3-9]|[1-9][0-9]+)(\.[0-9])? s for ranks 0, 1, 2, 3 of job leaf to come back" "$TMP"/leaf.[4-7]
unset TRIB_SWITCH_TIMEOUT
start left --job-quota 64KiB --listen "127.0.0.1:${PORT[left]}" $(below root)

say "a leaf without memory for the job: every rank hears which"
ranks quota "left right" "${LONG[@]}"
ranks_end 5 1
check_in "names the switch and the numbers" "switch 127.0.0.1:${PORT[left]}: job quota needs .* of switch memory .* the quota of a job is 64 KiB" "$TMP"/quota.[01]

say "a leaf whose parent is not there: the error of a rank that starts names the parent"
end root
TRIB_JOIN_TIMEOUT=1s ranks early "right" "${LONG[@]}"
ranks_end 3 1
check_in "names the parent" "switch 127.0.0.1:${PORT[root]}, the parent of switch 127.0.0.1:${PORT[right]}, does not answer: connection refused; waited [1-9](\.[0-9])? s \(TRIB_JOIN_TIMEOUT is 1 s\)" "$TMP/early.0"
stop left right

say "a leaf that comes back with fewer shards: every rank hears at once which, and how many it needs"
start root --threads 2
start left --threads 2 $(below root)
ranks fewer "left left root root" "${LONG[@]}"
wait_for 10 job_runs fewer
sleep 0.2
end left
start left --listen "127.0.0.1:${PORT[left]}" $(below root)
ranks_end 5 1
check_in "names the switch and the option" "job fewer used 2 shards, but switch 127.0.0.1:${PORT[left]} came back with 1: start it with --threads 2" "$TMP"/fewer.[0-3]
stop left root

say "two switches that have each other as parents"
start one
stop one
start two --parent "127.0.0.1:${PORT[one]}"
start one --listen "127.0.0.1:${PORT[one]}" $(below two)
ranks loop "one" "${LONG[@]}"
ranks_end 5 1
check_in "are told apart from a tree" 'is one of them its own parent' "$TMP/loop.0"
stop one two

if command -v python3 >/dev/null; then
    say "workers written from the document alone, at two switches and at the root, of which one dies"
    CHECK=$(dirname "$0")/independent_check.py
    export PYTHONDONTWRITEBYTECODE=1
    start root
    start left $(below root)
    RANK_PIDS=()
    rank=0
    for name in left left root; do
        timeout -k 1 $((30 * PATIENCE)) python3 "$CHECK" --switch "127.0.0.1:${PORT[$name]}" --job independent --rank $rank --ranks 3 --deaf 2 >"$TMP/independent.$rank" 2>&1 &
        RANK_PIDS+=($!)
        CHILDREN+=($!)
        rank=$((rank + 1))
    done
    wait_for 20 grep -qs 'was ignored' "$TMP/independent.2"
    again left
    ranks_end 30 0
    check_in "every value right, through the loss of a switch" 'all right; .*restarts 1$' "$TMP"/independent.[012]
    stop left root
fi
finish
