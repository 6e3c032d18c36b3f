#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# faults.user.sh: packets that are lost, doubled, overtaken and damaged; processes that die, stop and come back. Every result
# that is given out must be right, and every wait must end, with the cause.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
FAULTS=(--loss 1% --duplicate 1% --reorder 1% --corrupt 0.1%)
LONG=(-b 4M -e 4M -n 100000 -w 1)

say "faults on every link, in every number mode"
for wire in float32 bfloat16 int32; do
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 4 -b 4K -e 1M -f 16 -n 4 -w 1 --wire "$wire" "${FAULTS[@]}" --seed 7
done
expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b 256K -e 256K -n 4 -t 2 --no-trains "${FAULTS[@]}" --seed 8
expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b 256K -e 256K -n 4 --no-multicast "${FAULTS[@]}" --seed 9
expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b 256K -e 256K -n 4 --collective broadcast "${FAULTS[@]}" --seed 10
for collective in reduce allgather reduce-scatter; do
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 4 -b 512K -e 512K -n 4 --collective $collective "${FAULTS[@]}" --seed 13
done
expect 0 '^# 0 wrong elements$' "$T" perf --workers 4 -b 512K -e 512K -n 4 --collective reduce-scatter --uneven -o avg --wire int32 "${FAULTS[@]}" --seed 14
expect 0 '^# 0 wrong elements$' "$T" perf --workers 2 -b 64K -e 64K -n 2 --loss 5% --duplicate 5% --reorder 5% --corrupt 2%
for type in double half bfloat16 int8 uint8 int32 int64; do
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b 128K -e 128K -n 3 -d "$type" -o avg "${FAULTS[@]}" --seed 11
done
for op in min max prod; do
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b 128K -e 128K -n 3 -o "$op" "${FAULTS[@]}" --seed 12
done

say "kill -9 and restart of the switch, three times in one run, with loss"
# A port that was free a moment ago: the switch must come back to the one that the ranks know.
switch_start
restarts() {
    local name=$1
    shift
    ranks_start "restart-$name" 4 -b 2M -e 2M -n 120 -w 1 --loss 0.5% "$@"
    wait_for 10 runs_job "restart-$name"
    for i in 1 2 3; do
        sleep 0.1
        switch_kill
        switch_start --listen "127.0.0.1:$SWITCH_PORT"
    done
    ranks_end 40 0
    check_right "restarts, $name" "$TMP/restart-$name.0"
    check_in "each rank has registered anew ($name)" "of 4: back at 127.0.0.1:$SWITCH_PORT" "$TMP/restart-$name".[0-3]
}
restarts float32
restarts int32 --wire int32
restarts reduce --collective reduce
restarts reduce-scatter --collective reduce-scatter --uneven

say "a switch that does not come back: an error in time, on every rank"
export TRIB_SWITCH_TIMEOUT=1s
ranks_start gone 3 "${LONG[@]}"
wait_for 10 runs_job gone
sleep 0.2
START=$(now_ms)
switch_kill
ranks_end 3 1
MS=$(($(now_ms) - START))
check "not before 1 s: $MS ms" test "$MS" -ge 950
check_in "names the switch" "rank [0-2]: the switch 127.0.0.1:$SWITCH_PORT is gone: connection refused; waited [1-9](\.[0-9])? s \(TRIB_SWITCH_TIMEOUT is 1 s\)" "$TMP"/gone.[0-2]
unset TRIB_SWITCH_TIMEOUT

say "SIGTERM of the switch: an error at once"
switch_start
ranks_start term 3 "${LONG[@]}"
wait_for 10 runs_job term
sleep 0.2
START=$(now_ms)
switch_stop
ranks_end 5 1
known_within 1000 "$START" "$TMP"/term.[0-2]
check_in "says why" 'rank [0-2]: .*the switch .*is shutting down' "$TMP"/term.[0-2]

say "the same when the terminal of the switch is closed; and no end at the limit of file sizes, which the log reaches"
(ulimit -f 0; exec "$TRIBUTARY" switch --listen "127.0.0.1:$((SWITCH_PORT))" --http none --ready-fd 9 9> >(cat >"$TMP/ready.hup") 2>>"$TMP/hup.log") &
SWITCH_PID=$!
CHILDREN+=("$SWITCH_PID")
wait_for 10 test -s "$TMP/ready.hup"
ranks_start hup 3 "${LONG[@]}"
wait_for 10 runs_job hup
kill -HUP "$SWITCH_PID"
ended 5 "$SWITCH_PID"
check "ends well" test "$STATUS" = 0
ranks_end 5 1
check_in "says why" 'rank [0-2]: .*the switch .*is shutting down' "$TMP"/hup.[0-2]

say "kill -9 of a rank: the others know within a second, and who"
switch_start
ranks_start dead 4 "${LONG[@]}"
wait_for 10 runs_job dead
sleep 0.2
START=$(now_ms)
kill -KILL "${RANK_PIDS[2]}"
wait "${RANK_PIDS[2]}" 2>/dev/null
RANK_PIDS=("${RANK_PIDS[0]}" "${RANK_PIDS[1]}" "${RANK_PIDS[3]}")
ranks_end 5 1
known_within 1000 "$START" "$TMP"/dead.[013]
check_in "names the rank" 'rank [013]: rank 2 \(127.0.0.1:[0-9]+\) is gone' "$TMP"/dead.[013]
expect 137 'rank 0 was ended by signal 9' "$T" run -n 1 -- sh -c 'kill -KILL $$'

say "a rank that stops for two seconds: the others say who is late, wait, and end right"
ranks_start late 3 -b 1M -e 1M -n 300 -w 1
wait_for 10 runs_job late
sleep 0.2
kill -STOP "${RANK_PIDS[1]}"
sleep 2
stall_said() { as_many_say 2 'rank 1 is missing on' "$TMP"/late.[02] && holds "$SWITCH_LOG" 'job late: rank 1 missing'; }
wait_for 10 stall_said
check "nobody gave up" sh -c 'kill -0 $1 && kill -0 $2' - "${RANK_PIDS[0]}" "${RANK_PIDS[2]}"
kill -CONT "${RANK_PIDS[1]}"
ranks_end 20 0
check_right "after the stop" "$TMP/late.0"
check_in "the stall was reported" 'rank 1 is missing on fragment [0-9]+ since [1-9]' "$TMP"/late.[02]
check_in "to the switch as well" 'job late: rank 1 missing on sequence [0-9]+ since [1-9]' "$SWITCH_LOG"
switch_stop
finish
