#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quorum.user.sh: panama:7/8 on sockets: 8 ranks of which one is slow, with losses, and with a switch that is killed and comes back; every sum is
# that of the ranks which it says it has. One that stops for good is named. What a quorum cannot be of is refused in one line. On one machine.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
export TRIB_SCHEME=panama:7/8
FAULTS=(--loss 0.5% --duplicate 0.5% --reorder 0.5%)

# lacks FILE: some of its results lacked ranks.
lacks() { check_in "$1 lacks ranks" '^# of [0-9]+ results [1-9][0-9]* lacked ranks; parts that came late: ' "$TMP/$1"; }

# bursts PID COUNT: it stands still half of the time.
bursts() {
    local i
    for ((i = 0; i < $2; i++)); do
        kill -STOP "$1" 2>/dev/null
        sleep 0.05
        kill -CONT "$1" 2>/dev/null || return 0
        sleep 0.05
    done
}

say "values, of every float format"
switch_start
for type in float double half bfloat16; do
    for op in sum avg; do
        ranks_start "$type-$op" 8 -b 4 -e 256K -f 16 -n 6 -w 2 -d $type -o $op "${FAULTS[@]}" --seed 5
        ranks_end 60 0
        check_right "$type $op" "$TMP/$type-$op.0"
        lacks "$type-$op.0"
    done
done
ranks_start narrow 8 -b 256K -e 256K -n 6 --wire bfloat16 --in-place --payload 128
ranks_end 60 0
check_right "narrow" "$TMP/narrow.0"
lacks narrow.0

say "what may not lack ranks does not"
for collective in broadcast reduce allgather reduce-scatter; do
    ranks_start "$collective" 8 -b 64K -e 64K -n 3 --collective $collective --json
    ranks_end 30 0
    check_in "$collective" '"results_lacking":0,"wrong":0}$' "$TMP/$collective.0"
done
for op in min "sum -d int32"; do
    read -ra words <<<"$op"
    ranks_start whole 8 -b 64K -e 64K -n 3 --json -o "${words[@]}"
    ranks_end 30 0
    check_in "whole" '"results_lacking":0,"wrong":0}$' "$TMP/whole.0"
done
ranks_start four 4 -b 64K -e 64K -n 10 --json
ranks_end 30 0
check_in "of 4 ranks 7/8 are all" '"results_lacking":0,"wrong":0}$' "$TMP/four.0"

say "one rank is slow, and the switch is killed and comes back"
ranks_start slow 8 -b 1M -e 1M -n 200 -w 1 --loss 0.2% --seed 6
wait_for 10 runs_job slow
bursts "${RANK_PIDS[5]}" 20 &
for i in 1 2; do
    sleep 0.4
    switch_kill
    switch_start --listen "127.0.0.1:$SWITCH_PORT"
done
ranks_end 90 0
check_right "slow" "$TMP/slow.0"
lacks slow.0
check_in "each rank has registered anew" "of 8: back at 127.0.0.1:$SWITCH_PORT" "$TMP"/slow.[0-7]

say "a tree of switches: 8 ranks at the root, 8 below a switch"
ROOT=$TRIB_SWITCH ROOT_PID=$SWITCH_PID
SWITCH_LOG=$TMP/low.log switch_start --parent "$ROOT"
CHILD=$TRIB_SWITCH
start_rank() { TRIB_SWITCH=$([ "$3" -lt 8 ] && echo "$ROOT" || echo "$CHILD") rank_start "$@"; }
ranks_start tree 16 -b 4K -e 256K -f 8 -n 5 "${FAULTS[@]}" --seed 7
ranks_end 60 0
check_right "tree" "$TMP/tree.0"
lacks tree.0
start_rank() { TRIB_SWITCH=$([ "$3" -lt 5 ] && echo "$ROOT" || echo "$CHILD") rank_start "$@"; }
ranks_start few 8 -b 64K -e 64K -n 40 --json --seed 9
ranks_end 60 0
check_in "5 at the root, and 3 below, of which one may lack, as rank 7 is there" '"results_lacking":[1-9][0-9]*,"wrong":0}$' "$TMP/few.0"
start_rank() { TRIB_SWITCH=$([ "$3" -lt 7 ] && echo "$ROOT" || echo "$CHILD") rank_start "$@"; }
ranks_start alone 8 -b 64K -e 64K -n 40 --json --seed 9
ranks_end 60 0
check_in "7 at the root, and rank 7 below, which is never left out" '"results_lacking":0,"wrong":0}$' "$TMP/alone.0"
start_rank() { rank_start "$@"; }
switch_stop
SWITCH_PID=$ROOT_PID TRIB_SWITCH=$ROOT

say "ranks of one host come by themselves"
expect 0 '"level0":false,.*"wrong":0}$' "$T" perf --workers 8 --hosts 2 --switch "$TRIB_SWITCH" -b 64K -e 64K -n 5 --json

say "a rank that stops for good is named, and the others end"
TRIB_TIMEOUT=4s ranks_start stop 8 -b 1M -e 1M -n 100000 -w 1
wait_for 10 runs_job stop
sleep 0.3
kill -STOP "${RANK_PIDS[5]}"
STOPPED=${RANK_PIDS[5]}
RANK_PIDS=("${RANK_PIDS[@]:0:5}" "${RANK_PIDS[@]:6}")
START=$(now_ms)
ranks_end 10 1
MS=$(($(now_ms) - START))
check "in time: $MS ms" test "$MS" -le $((8000 * PATIENCE))
{
    kill -KILL "$STOPPED"
    wait "$STOPPED"
} 2>/dev/null # or bash says "Killed"
check_in "it was reported" 'rank 5 is missing on fragment [0-9]+ since' "$TMP"/stop.[0-467]
check_in "it is the error's cause" 'rank [0-467]: .*rank 5' "$TMP"/stop.[0-467]

say "two quorums in one job"
TRIB_JOB=two TRIB_RANKS=2 TRIB_RANK=0 "$T" perf -b 8 -e 8 >"$TMP/two.0" 2>&1 &
FIRST=$!
CHILDREN+=("$FIRST")
sleep 0.3
TRIB_JOB=two TRIB_RANKS=2 TRIB_RANK=1 expect 1 'scheme.*panama:7/8' "$T" perf -b 8 -e 8 --scheme panama:15/16
ended 5 "$FIRST"

say "what cannot be"
expect_line 2 '--scheme panama:9/8: a quorum is M/N, at least 1/2 and less than 1, N at most 255' "$T" perf --workers 8 --scheme panama:9/8
expect_line 2 '--scheme switchml:7/8: it has no quorum; panama has' "$T" perf --workers 8 --scheme switchml:7/8
expect 0 'panama:M/N: a quorum is M/N, at least 1/2 ' "$T" info
expect 0 '[(]a quorum is M/N, at least 1/2 ' "$T" perf --help
unset TRIB_SCHEME
ONE=("$T" perf -b 8 -e 8 --scheme panama:7/8)
expect_line 1 'scheme panama:7/8: wire int32 needs exponents' env TRIB_RANKS=8 "${ONE[@]}" --wire int32
expect_line 1 'scheme panama:7/8: a result that lacks ranks lists up to 512' env TRIB_RANKS=513 "${ONE[@]}"
expect_line 1 'scheme panama:7/8: a rank that is done may leave before a late rank' env -u TRIB_SWITCH TRIB_RANKS=8 "${ONE[@]}" --rendezvous 127.0.0.1:9
switch_stop
finish
