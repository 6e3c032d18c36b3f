#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fallback.user.sh: a switch is killed for good, and the ranks go on without it. At random moments under load of every kind, with faults, on
# trees, with whole hosts; with a rank that is gone as well; and what people are told. On one machine, where each rank says by TRIB_HOSTID
# that it is a host of its own.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
ROUNDS=${ROUNDS:-20}
SEED=${SEED:-1}
TIMEOUT_MS=$((300 * PATIENCE))
export TRIB_FALLBACK=1 TRIB_SWITCH_TIMEOUT=${TIMEOUT_MS}ms TRIB_DEBUG=INFO
# As long as ranks are waited for.
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s

# random BOUND: of the seed of this round.
random() {
    RANDOM_STATE=$(((RANDOM_STATE * 1103515245 + 12345) % 2147483648))
    RANDOM_DRAWN=$((RANDOM_STATE / 65536 % $1))
}

# said JOB RANKS TEXT: so many ranks have logged it.
said() { as_many_say "$2" "$3" "$TMP/$1".*; }

# all_in JOB RANKS
all_in() {
    wait_for 15 said "$1" "$2" ' joined 127.0.0.1:' || { fail "$1: not all are in"; show "$TMP/$1".*; }
}

# all_moved JOB RANKS: they go on without the switch; then they end, having seen right values only.
all_moved() {
    CHECKS=$((CHECKS + 1))
    wait_for 15 said "$1" "$2" 'without its switch, at 127.0.0.1:.* no box: ' ||
        { fail "$1: not all go on without the switch"; show "$TMP/$1".*; }
    sleep 0.2
    kill -TERM "${RANK_PIDS[0]}"
    ranks_end 30 0
}

say "$ROUNDS rounds: killed at a random moment, under load of all kinds"
for ((round = 0; round < ROUNDS; round++)); do
    RANDOM_STATE=$((SEED * 1000 + round))
    random 3
    start root -t $((RANDOM_DRAWN + 1))
    case $((round % 4)) in
    1) export TRIB_FAULTS=loss=1%,duplicate=1%,reorder=1%,corrupt=0.1%,seed=$round ;;
    3) export TRIB_WIRE=int32 ;;
    esac
    load_ranks "round-$round" "root root root root"
    all_in "round-$round" 4
    random 400
    sleep "0.$(printf %03d "$RANDOM_DRAWN")"
    end root
    all_moved "round-$round" 4
    unset TRIB_FAULTS TRIB_WIRE
    [ "$FAILURES" = 0 ] || { show "$TMP/round-$round".*; break; }
    rm -f "$TMP/round-$round".*
done

say "two hosts of two ranks: two members before, and after"
start root -t 2
PER_HOST=2 TRIB_LEVEL0=1 load_ranks hosts "root root root root"
all_in hosts 4
end root
all_moved hosts 4

say "trees: the root and a relay, and the root alone; the relay alone"
for victims in "root left" "root" "left"; do
    job="tree-${victims// /-}"
    start root -t 2
    start left -t 2 $(below root)
    start right $(below root)
    load_ranks "$job" "left left right right root"
    all_in "$job" 5
    for victim in $victims; do end "$victim"; done
    all_moved "$job" 5
    for victim in root left right; do [[ " $victims " = *" $victim "* ]] || stop "$victim"; done
done

say "a switch that shuts down: at once; a relay as well"
start root -t 2
TRIB_SWITCH_TIMEOUT=30s load_ranks bye "root root root"
all_in bye 3
stop root
all_moved bye 3
check_in "says why" 'rank [0-2]: the switch 127.0.0.1:[0-9]+ is shutting down$' "$TMP"/bye.[0-2]
start root
start left $(below root)
TRIB_SWITCH_TIMEOUT=30s load_ranks adieu "left left root"
all_in adieu 3
stop left
all_moved adieu 3
stop root

say "a switch that is back in time is gone back to"
start root
load_ranks back "root root"
all_in back 2
again root
wait_for 15 said back 2 'back at 127.0.0.1:' || fail "they are not back"
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0
CHECKS=$((CHECKS + 1))
grep -qs "without its switch" "$TMP"/back.* && fail "they went on without it"
stop root

say "one that is back too late finds nobody, and takes new jobs"
start root
load_ranks late "root root"
all_in late 2
end root
wait_for 15 said late 2 'without its switch' || fail "they do not go on"
HEARD=$(grep -c "job late" "$TMP/root.log")
start root --listen "127.0.0.1:${PORT[root]}"
sleep 0.2
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0
CHECKS=$((CHECKS + 1))
[ "$(grep -c "job late" "$TMP/root.log")" = "$HEARD" ] || fail "the switch has heard of the job again"
load_ranks late "root root"
all_in late 2
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0
stop root

say "a rank dies with the switch: the others know in time who; rank 0 too"
for victim in 2 0; do
    start root
    TRIB_JOIN_TIMEOUT=${PATIENCE}s load_ranks "dead-$victim" "root root root"
    all_in "dead-$victim" 3
    kill -STOP "${RANK_PIDS[victim]}"
    end root
    kill -KILL "${RANK_PIDS[victim]}"
    wait "${RANK_PIDS[victim]}" 2>/dev/null
    unset "RANK_PIDS[$victim]"
    RANK_PIDS=("${RANK_PIDS[@]}")
    ranks_end 5 1
    rm -f "$TMP/dead-$victim.$victim"
done
check_in "names rank 2" 'waited [1-9][0-9]*(\.[0-9])? s for rank 2 of job dead-2, which was to go on without its switch' "$TMP"/dead-2.[01]
check_in "names rank 0" 'is gone, and rank 0, where the job was to go on without it, at 127.0.0.1:[0-9]+, does not answer: .*; waited [0-9.]+ m?s \(TRIB_SWITCH_TIMEOUT is' "$TMP"/dead-0.[12]

say "a rank that dies later on is a rank that is gone"
start root
load_ranks later "root root root"
all_in later 3
end root
wait_for 15 said later 3 'without its switch' || fail "they do not go on"
kill -KILL "${RANK_PIDS[1]}"
wait "${RANK_PIDS[1]}" 2>/dev/null
rm -f "$TMP/later.1"
RANK_PIDS=("${RANK_PIDS[0]}" "${RANK_PIDS[2]}")
ranks_end 3 1
check_in "names rank 1" 'rank 1 .*is gone' "$TMP"/later.[02]

say "who wants it, and who does not"
start root
RANK_PIDS=()
rank_start unlike 2 0 -b 8 -e 8
TRIB_FALLBACK=0 rank_start unlike 2 1 -b 8 -e 8
ranks_end 5 1
check_in "settings differ" 'settings differ: fallback is on on rank 0 and off on rank 1' "$TMP"/unlike.[01]
TRIB_FALLBACK=0 ranks_start not 2 -b 4M -e 4M -n 100000
all_in not 2
end root
ranks_end 5 1
check_in "as ever" 'the switch 127.0.0.1:[0-9]+ is gone: .*; waited [0-9.]+ m?s \(TRIB_SWITCH_TIMEOUT is' "$TMP"/not.[01]
expect 1 'fallback \(TRIB_FALLBACK\) is on, but no switch' env -u TRIB_SWITCH TRIB_RANKS=1 "$T" perf --rendezvous 127.0.0.1:1 -b 8 -e 8

if grep -qs ' lo$' /proc/net/if_inet6; then
    say "IPv6"
    start root --listen "[::1]:0"
    RANK_PIDS=()
    for rank in 0 1 2; do
        TRIB_SWITCH=[::1]:$SWITCH_PORT TRIB_HOSTID=host-$rank rank_start six 3 $rank -b 1M -e 1M -n 400
    done
    wait_for 15 said six 3 ' joined \[::1\]:' || fail "not all are in"
    end root
    ranks_end 30 0
    check_right "IPv6" "$TMP/six.0"
    check_in "went on" 'without its switch, at \[::1\]:[0-9]+, .* no box: ' "$TMP"/six.[0-2]
fi

say "perf says so, in the table and in JSON"
for json in "" --json; do
    start root
    ranks "perf$json" "root root" -b 1M -e 1M -n 400 $json
    all_in "perf$json" 2
    end root
    ranks_end 30 0
done
check_right "perf" "$TMP/perf.0"
check_in "in the table" '^# the switch was gone for good: went on without it, over 1 root' "$TMP/perf.0"
check_in "in JSON" '"moved":1,"results":[0-9]+,"results_lacking":0,"wrong":0' "$TMP/perf--json.0"
finish
