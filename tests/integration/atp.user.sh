#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# atp.user.sh: a server and combiners on the way to it, as processes: sums of all kinds, jobs that share rows, and everything that can go
# away. What stands in a combiner may be lost at any moment: no value may be wrong, and nobody may wait for ever.
#
#         server
#        /      \
#     left      right     combiners (--combine); `top` is one more above left and right in some parts
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_SCHEME=atp
RETURN=$((3 * PATIENCE)) # seconds that the server gives ranks to come back
QUICK=(-b 8 -e 1M -f 8 -n 3 -w 1)
LONG=(-b 1M -e 1M -n 100000 -w 1)
EIGHT="left right left right left right left right"

combiner() { # NAME ABOVE OPTIONS...
    local name=$1 above=$2
    shift 2
    start "$name" --combine --parent "127.0.0.1:${PORT[$above]}" "$@"
}

start root --join-timeout "${RETURN}s"
combiner left root
combiner right root --pool 24KiB # 8 rows of payload 1408, two bytes a byte

say "8 ranks at two combiners: every collective, all wires"
ranks all "$EIGHT" "${QUICK[@]}"
ranks_end 30 0
check_right "allreduce" "$TMP/all.0"
check_in "the default wire has the same bits in every run" 'scheme atp, wire int32' "$TMP/all.0"
check "and says nothing of rounding" test "$(grep -c 'rounding varies' "$TMP/all.0")" = 0
ALL=()
for collective in broadcast reduce "allgather --uneven" "reduce-scatter --in-place"; do
    # shellcheck disable=SC2086
    ranks "${collective%% *}" "left left right root" "${QUICK[@]}" --collective $collective
    ALL+=("${RANK_PIDS[@]}")
done
for wire in float32 bfloat16; do
    ranks $wire "left right root right" "${QUICK[@]}" --wire $wire
    ALL+=("${RANK_PIDS[@]}")
done
TRIB_LEVEL0=1 ranks hosts "left left left" "${QUICK[@]}"
ALL+=("${RANK_PIDS[@]}")
ranks servers "left right root right" "${QUICK[@]}" --scheme ps
ALL+=("${RANK_PIDS[@]}")
RANK_PIDS=("${ALL[@]}")
ranks_end 30 0
for job in broadcast reduce allgather reduce-scatter float32 bfloat16 hosts servers; do
    check_right "$job" "$TMP/$job.0"
done

check_in "a float wire says what it costs" 'rounding varies from run to run' "$TMP/float32.0" "$TMP/bfloat16.0"
check "a broadcast does not" test "$(grep -c 'rounding varies' "$TMP/broadcast.0")" = 0
expect 0 '"rounding_varies":true' env "TRIB_SWITCH=127.0.0.1:${PORT[left]}" "$T" perf --workers 2 -b 8 -e 8 -n 1 -d double --json
expect 0 'sums on a float wire differ in' "$T" perf --help

say "three jobs at once in few rows, with losses and priorities"
ALL=()
for job in low middle high; do
    case $job in low) priority=0 ;; middle) priority=9 ;; high) priority=255 ;; esac
    TRIB_PRIORITY=$priority ranks $job "left right right right left" -b 1M -e 1M -n 30 -w 1 --loss 0.5% --duplicate 0.5% --reorder 1%
    ALL+=("${RANK_PIDS[@]}")
done
RANK_PIDS=("${ALL[@]}")
ranks_end 60 0
for job in low middle high; do
    check_right "$job" "$TMP/$job.0"
done

say "kill -9 and restart of a combiner, of the server, and a combiner that comes back with another pool"
ranks restart "$EIGHT" -b 2M -e 2M -n 150 -w 1 --loss 0.5%
wait_for 10 job_runs restart
sleep 0.2
again left
sleep 0.2
again root
sleep 0.2
end right
combiner right root --listen "127.0.0.1:${PORT[right]}" --pool 0
ranks_end 60 0
check_right "restarts" "$TMP/restart.0"
check_in "each rank has registered anew" 'of 8: back at 127.0.0.1' "$TMP"/restart.[0-7]
check "a combiner without rows says so, once" test "$(grep -c 'without rows (--pool 0), so all parts pass' "$TMP/right.log")" = 1

say "a rank that dies, and one that stops: named to all, by name"
ranks dead "$EIGHT" "${LONG[@]}"
wait_for 10 job_runs dead
kill -STOP "${RANK_PIDS[2]}"
wait_for 10 as_many_say 7 "rank 2 is missing on fragment [0-9]+ since [1-9]" "$TMP"/dead.[013-7]
check "all say who is late" as_many_say 7 "rank 2 is missing on fragment [0-9]+ since [1-9]" "$TMP"/dead.[013-7]
kill -CONT "${RANK_PIDS[2]}"
sleep 0.3
START=$(now_ms)
kill -KILL "${RANK_PIDS[5]}"
wait "${RANK_PIDS[5]}" 2>/dev/null
unset "RANK_PIDS[5]"
ranks_end 5 1
known_within 1000 "$START" "$TMP"/dead.[0-4] "$TMP"/dead.[67]
check_in "names the rank" "rank 5 \(127.0.0.1:[0-9]+\) is gone: its session" "$TMP"/dead.[0-4] "$TMP"/dead.[67]

# runs JOB TIMES: so often all its ranks were registered, says the root.
runs() { [ "$(grep -c "job $1 runs: all" "$TMP/root.log")" -ge "$2" ]; }

# gone_for_good NAME TIMES JOB...: the combiner is killed, and within a second all of these jobs run again, for the TIMES-th time.
gone_for_good() {
    local name=$1 times=$2 job start
    shift 2
    start=$(now_ms)
    end "$name"
    for job in "$@"; do
        wait_for 10 runs "$job" "$times" || { fail "$job does not run again without $name"; show "$TMP/root.log" "$TMP/$job".*; }
    done
    local took=$(($(now_ms) - start))
    check "without $name all run again after $took ms" test "$took" -le $((1000 * PROMISE))
}

say "a combiner killed for good under load, then one that shuts down, and a job that begins meanwhile"
load_ranks apart "left right left right root"
APART=("${RANK_PIDS[@]}")
TRIB_LEVEL0=1 PER_HOST=2 load_ranks neighbours "left right right left"
NEIGHBOURS=("${RANK_PIDS[@]}")
wait_for 10 job_runs apart
wait_for 10 job_runs neighbours
sleep 0.3
many_start makes "left right root" 128 8 65536 50 2
MAKES=("${RANK_PIDS[@]}")
wait_for 10 job_runs makes
gone_for_good left 2 apart neighbours
ranks meanwhile "right root right" "${QUICK[@]}"
RANK_PIDS+=("${MAKES[@]}")
ranks_end 30 0
check_right "a new job" "$TMP/meanwhile.0"
check_in "communicators that are made meanwhile" '"wrong": 0}$' "$TMP"/makes.[0-2]
TRIB_SERVER=127.0.0.1:${PORT[root]} ranks begins "left right left root" "${QUICK[@]}"
ranks_end 30 0
check_right "a job that begins without its combiner, and knows the server" "$TMP/begins.0"
check_in "goes to the server" "the switch 127.0.0.1:${PORT[left]} does not take this rank: .*; going on at the switch 127.0.0.1:${PORT[root]}" \
    "$TMP"/begins.[02]
sleep 0.3
stop right # it is a cache: jobs need one that shuts down no more than one that is killed
wait_for 10 runs apart 3 && wait_for 10 runs neighbours 3 || fail "jobs do not go on without a combiner that shuts down"
sleep 0.3
kill -TERM "${APART[0]}" "${NEIGHBOURS[0]}"
RANK_PIDS=("${APART[@]}" "${NEIGHBOURS[@]}")
ranks_end 30 0
check_in "says where it goes" "the switch 127.0.0.1:${PORT[left]} does not take this rank: .*; going on at the switch 127.0.0.1:${PORT[root]}" \
    "$TMP"/apart.[02]
combiner left root --listen "127.0.0.1:${PORT[left]}"
combiner right root --listen "127.0.0.1:${PORT[right]}"

say "a server that is named and not there: the error names both; one without a switch is a mistake"
TRIB_JOIN_TIMEOUT=1s TRIB_SERVER=127.0.0.1:1 TRIB_SWITCH=127.0.0.1:2 expect 1 'switch 127.0.0.1:2.*127.0.0.1:1' \
    "$T" perf --workers 2 -b 8 -e 8 -n 1
expect 2 'a server \(TRIB_SERVER, 127.0.0.1:1\) is named, but no switch' \
    env -u TRIB_SWITCH TRIB_SERVER=127.0.0.1:1 "$T" perf --workers 2 -b 8 -e 8

say "a server that does not come back: an error in time that names it, or the ranks go on without it"
export TRIB_SWITCH_TIMEOUT=1s
ranks gone "$EIGHT" "${LONG[@]}"
ranks goes "left right left" -b 1M -e 1M -n 400 -w 1 --fallback
wait_for 10 job_runs gone
wait_for 10 job_runs goes
sleep 0.2
GOES=("${RANK_PIDS[@]}")
end root
wait_for 10 as_many_say 8 "switch 127.0.0.1:${PORT[root]}, the parent of switch 127.0.0.1:[0-9]+, does not answer" "$TMP"/gone.[0-7]
check_in "names the server" "switch 127.0.0.1:${PORT[root]}, the parent of switch 127.0.0.1:[0-9]+, does not answer" "$TMP"/gone.[0-7]
wait_for 10 as_many_say 8 "nor does switch 127.0.0.1:${PORT[root]} take this rank" "$TMP"/gone.[0-7]
check_in "by both ways" "nor does switch 127.0.0.1:${PORT[root]} take this rank: connection refused; waited" "$TMP"/gone.[0-7]
RANK_PIDS=("${GOES[@]}")
ranks_end 60 0
check_right "without the server" "$TMP/goes.0"
unset TRIB_SWITCH_TIMEOUT
stop left right

say "combiners on two levels, ranks at each of them, the upper one killed and started again"
start root --join-timeout "${RETURN}s" --threads 2 --listen "127.0.0.1:${PORT[root]}"
combiner top root --threads 3
combiner left top --threads 2 --pool 64KiB
combiner right top --threads 2
ranks deep "left right left right top root" -b 2M -e 2M -n 100 -w 1 --loss 0.5%
wait_for 10 job_runs deep
sleep 0.2
again top
wait_for 10 runs deep 2
end left
combiner left top --listen "127.0.0.1:${PORT[left]}"
ranks_end 60 0
check_right "two levels" "$TMP/deep.0"
check_in "ranks behind a combiner with fewer shards than before go to the server" 'used 2 shards, .*; going on at the switch' \
    "$TMP"/deep.[02]
load_ranks upper "left right root"
wait_for 10 job_runs upper
sleep 0.3
gone_for_good top 2 upper # left and right live, and reach nobody
sleep 0.3
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0
combiner top root --listen "127.0.0.1:${PORT[top]}"

say "70 ranks, 67 of them behind one combiner, which has two rows for a fragment, and is killed and started again"
LARGE="root $(for _ in {1..67}; do printf 'left '; done) right right" # right has ranks of the second group alone
TRIB_LEVEL0=0 ranks large "$LARGE" -b 64K -e 64K -n 60 -w 1 --loss 0.2% --duplicate 0.2% --reorder 0.2%
wait_for 20 job_runs large
sleep 0.2
again left
ranks_end 60 0
check_right "70 ranks" "$TMP/large.0"
check_in "each rank has registered anew" 'of 70: back at 127.0.0.1' "$TMP"/large.[0-9]
TRIB_LEVEL0=0 ranks large-ps "$LARGE" -b 8 -e 8 -n 3 -w 1 --scheme ps
ranks_end 60 0
check_right "70 ranks, ps" "$TMP/large-ps.0"

say "three servers side by side behind combiners; a server and a combiner killed and started again under load"
start two --lend 127.0.0.1
start three --lend 127.0.0.1
start one --with "127.0.0.1:${PORT[two]},127.0.0.1:${PORT[three]}"
combiner near one --threads 3
combiner far one --threads 3 --pool 24KiB
for scheme in atp ps; do
    ranks "dealt-$scheme" "near near far far one" -b 64K -e 1M -f 4 -n 5 -w 1 --loss 0.5% --scheme $scheme
    ranks_end 30 0
    check_right "three servers, $scheme" "$TMP/dealt-$scheme.0"
    check_in "a part of each tensor for each" "job dealt-$scheme admitted: .*, 3 shards" "$TMP/one.log"
    check_in "and for the others" "lends 1 shards to job dealt-$scheme" "$TMP/two.log" "$TMP/three.log"
done
ranks dealt "near near far far" -b 1M -e 1M -n 100 -w 1
wait_for 10 holds "$TMP/one.log" "job dealt runs: all" || fail "dealt does not run"
again near
sleep 0.3
again two
ranks_end 60 0
check_right "a server and a combiner again" "$TMP/dealt.0"
check_in "each rank has registered anew" 'of 4: back at 127.0.0.1' "$TMP"/dealt.[0-3]
stop near far one two three

unset TRIB_SWITCH
say "ps with as many servers as workers, in the ranks' processes; atp as well, with nothing on the way"
for scheme in ps atp; do
    RANK_PIDS=()
    quiet_port
    for rank in 0 1 2 3; do
        TRIB_RENDEZVOUS=127.0.0.1:$QUIET_PORT TRIB_HOSTID=host$rank rank_start "many-$scheme" 4 $rank "${QUICK[@]}" --scheme $scheme
    done
    ranks_end 30 0
    check_right "$scheme" "$TMP/many-$scheme.0"
    check_in "a server at each rank" "scheme $scheme, .*no box: 4 roots" "$TMP/many-$scheme.0"
done

say "mistakes"
expect 1 'only combines \(--combine\), and jobs of scheme switchml keep sums in every switch: use scheme atp or ps' \
    env "TRIB_SWITCH=127.0.0.1:${PORT[left]}" "$T" perf --workers 2 --scheme switchml -b 8 -e 8
expect 2 'a switch that only combines needs a parent' "$T" switch --combine
expect 2 'scheme ps:2: it takes no number; how many servers there are is said by `tributary server --with`' "$T" perf --workers 2 --scheme ps:2 -b 8 -e 8
expect 2 'TRIB_PRIORITY: .*256.*255' env TRIB_PRIORITY=256 "$T" perf --workers 2 -b 8 -e 8
expect 0 '^# 0 wrong elements' env TRIB_LEVEL0=1 "TRIB_SWITCH=127.0.0.1:${PORT[left]}" "$T" perf --workers 65 --hosts 5 -b 8 -e 8 -n 1
TRIB_PRIORITY=7 ranks unlike "left" -b 8 -e 8
FIRST=("${RANK_PIDS[@]}")
RANK_PIDS=()
TRIB_PRIORITY=1 TRIB_SWITCH=127.0.0.1:${PORT[right]} rank_start pair 2 0 -b 8 -e 8
TRIB_PRIORITY=2 TRIB_SWITCH=127.0.0.1:${PORT[right]} rank_start pair 2 1 -b 8 -e 8
ranks_end 10 1
check_in "hear of both" 'settings differ: priority is 1 on rank 0 and 2 on rank 1' "$TMP"/pair.[01]
RANK_PIDS=("${FIRST[@]}")
ranks_end 10 0
stop left right top root
finish
