#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tree.user.sh: switches that are children of switches, as processes: sums through every shape, and who is named when one is gone.
#
#        root            root              root
#       /    \           /  \             / |  \
#    left    right    middle  6 7      left 6 7 ...     and both kinds of children in one switch
#   0 2 4 6  1 3 5 7   /   \
#                   left   right
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
QUICK=(-b 8 -e 1M -f 8 -n 3 -w 1)

say "two switches below a root, 8 ranks in turn"
start root
start left $(below root)
start right $(below root)
for name in left right; do
    wait_for 10 holds "$TMP/root.log" "switch 127.0.0.1:${PORT[$name]} is below this one"
    check "$name is known before any rank comes" holds "$TMP/root.log" "switch 127.0.0.1:${PORT[$name]} is below this one"
done
ranks turn "left right left right left right left right" "${QUICK[@]}"
ranks_end 30 0
check_right "8 ranks in turn" "$TMP/turn.0"

say "ranks at the root as well, other wires and collectives"
ranks mixed "left root right root left right root left" "${QUICK[@]}"
ranks_end 30 0
check_right "ranks at the root" "$TMP/mixed.0"
ranks integers "left left right root" "${QUICK[@]}" --wire int32
ranks_end 30 0
check_right "wire int32" "$TMP/integers.0"
ranks halves "left left right root" "${QUICK[@]}" --wire bfloat16
ranks_end 30 0
check_right "wire bfloat16" "$TMP/halves.0"
ALL=()
for collective in broadcast reduce "allgather --uneven" "reduce-scatter --in-place"; do
    # shellcheck disable=SC2086
    ranks "${collective%% *}" "root left left right" "${QUICK[@]}" --collective $collective
    ALL+=("${RANK_PIDS[@]}")
done
RANK_PIDS=("${ALL[@]}")
ranks_end 30 0
for collective in broadcast reduce allgather reduce-scatter; do
    check_right "$collective" "$TMP/$collective.0"
done

say "two jobs at once"
ranks one "left right root left" -b 1M -e 1M -n 20 -w 1
FIRST=("${RANK_PIDS[@]}")
ranks two "right left right" -b 1M -e 1M -n 20 -w 1
ranks_end 30 0
RANK_PIDS=("${FIRST[@]}")
ranks_end 30 0
check_right "the first of two jobs" "$TMP/one.0"
check_right "the second of two jobs" "$TMP/two.0"
stop left right root

say "three levels, two shards, and more shards in the middle than at the root"
start root --threads 2
start middle --threads 3 $(below root)
start left --threads 2 $(below middle)
start right --threads 2 $(below middle)
ranks deep "left right root middle left right root middle" "${QUICK[@]}"
ranks_end 30 0
check_right "three levels" "$TMP/deep.0"
stop left right middle root

say "every fault on every hop"
FAULTS=(--loss 1% --duplicate 1% --reorder 1% --corrupt 0.5%)
start root "${FAULTS[@]}" --seed 1
start middle "${FAULTS[@]}" --seed 2 $(below root)
start left "${FAULTS[@]}" --seed 3 $(below middle)
ranks faults "left left middle middle root root" -b 256K -e 1M -n 3 -w 1 "${FAULTS[@]}" --seed 4
ranks_end 60 0
check_right "every fault" "$TMP/faults.0"
stop left middle root

say "kill -9 and restart of every switch, in the middle of a job"
start root --join-timeout "$((2 * PATIENCE))s" # as long as all may take to come back
start middle $(below root)
start left $(below middle)
ranks restart "left left middle root" -b 1M -e 1M -n 400 -w 1
wait_for 10 job_runs restart
for name in left middle root left root middle; do
    sleep 0.3
    again "$name"
done
ranks_end 60 0
check_right "restarts" "$TMP/restart.0"

say "kill -9 of a rank: all others know within a second, and who"
LONG=(-b 1M -e 1M -n 100000)
ranks dead "left left middle root" "${LONG[@]}"
wait_for 10 job_runs dead
sleep 0.2
START=$(now_ms)
kill -KILL "${RANK_PIDS[1]}"
wait "${RANK_PIDS[1]}" 2>/dev/null
RANK_PIDS=("${RANK_PIDS[0]}" "${RANK_PIDS[@]:2}")
ranks_end 5 1
known_within 1000 "$START" "$TMP"/dead.[023]
check_in "names the rank" 'rank 1 .*is gone' "$TMP"/dead.[023]

say "a switch that does not come back: an error in time on every rank, which names it"
export TRIB_SWITCH_TIMEOUT=1s TRIB_JOIN_TIMEOUT=$((3 * PATIENCE))s
ranks gone "left left middle root" "${LONG[@]}"
wait_for 10 job_runs gone
sleep 0.2
MIDDLE=127.0.0.1:${PORT[middle]}
START=$(now_ms)
end middle
ranks_end 5 1
check "not before 1 s" test "$(($(now_ms) - START))" -ge 950
check_in "names the switch" "$MIDDLE" "$TMP"/gone.[0-3]
unset TRIB_SWITCH_TIMEOUT
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
stop left root

say "a parent that is not there yet, or that is below its own child, is in the log before any rank comes"
quiet_port
LATE=127.0.0.1:$QUIET_PORT
start early --parent "$LATE"
wait_for 10 holds "$TMP/early.log" "parent of switch 127.0.0.1:${PORT[early]}, does not answer: connection refused"
check "a parent that is not there" holds "$TMP/early.log" "the next rank tries again"
sleep 0.1 # for 25 ms after a try that failed the parent is not asked again
start late --listen "$LATE" --parent "127.0.0.1:${PORT[early]}"
wait_for 10 holds "$TMP/late.log" "is one of them its own parent"
check "two parents of each other" holds "$TMP/late.log" "is one of them its own parent"
stop late
start late --listen "$LATE"
ranks patient "early early" "${QUICK[@]}"
ranks_end 30 0
check_right "a parent that came later" "$TMP/patient.0"
stop early late

say "a switch that is its own parent"
quiet_port
expect_line 2 'the parent 127.0.0.1:[0-9]+ is this switch itself' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --parent "127.0.0.1:$QUIET_PORT"
expect_line 2 'the parent 127.0.0.1:[0-9]+ is this switch itself' "$T" switch --listen "0.0.0.0:$QUIET_PORT" --parent "127.0.0.1:$QUIET_PORT"
expect_line 2 '--parent: cannot resolve' "$T" switch --parent no.such.host.invalid --check-config

finish
