#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# panama.user.sh: the caps of scheme panama: two jobs divide what a small socket of a switch holds, and one has it all again when the other has
# ended; a third that sends nothing takes nothing; a tree of switches; ranks without a switch; a job whose cap would be zero; every collective
# and wire. On one machine.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
has_http || skip "a build without HTTP shows no caps"

# cap JOB: as /metrics has it.
cap() {
    exec 8<>"/dev/tcp/127.0.0.1/$((SWITCH_PORT + 1000))" || return 1
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&8
    timeout $((5 * PATIENCE)) cat <&8 >"$TMP/metrics"
    exec 8<&- 8>&-
    sed -n "s/^tributary_job_cap{job=\"$1\"} \([0-9]*\).*/\1/p" "$TMP/metrics"
}
# cap_is JOB LEAST MOST
cap_is() {
    local now
    now=$(cap "$1")
    [ -n "$now" ] && [ "$now" -ge "$2" ] && [ "$now" -le "$3" ]
}

end_ranks() {
    {
        kill -KILL "$@"
        wait "$@"
    } 2>/dev/null # or bash says "Killed"
}

say "two jobs divide what a socket holds"
switch_start --buffer 256KiB --http 127.0.0.1:0
export TRIB_SCHEME=panama
# The socket surely holds 131,072 bytes: 29 packets of 1,472 bytes from each of 3 ranks.
ranks_start one 3 -b 4M -e 4M -n 100000 -w 0
ONE=("${RANK_PIDS[@]}")
wait_for 10 cap_is one 29 29 || fail "alone it has $(cap one) fragments, not 29"
ranks_start two 3 -b 4M -e 4M -n 100000 -w 0
TWO=("${RANK_PIDS[@]}")
wait_for 10 cap_is two 14 14 || fail "the second has $(cap two) fragments, not 14"
wait_for 10 cap_is one 14 14 || fail "the first has $(cap one) fragments, not 14"
! has_jobs || expect 0 'congestion: [0-9]+ packets came from a congested way, 14 fragments of each rank may be in flight at a shard' \
    "$T" jobs one --http "127.0.0.1:$((SWITCH_PORT + 1000))"
end_ranks "${ONE[@]}"
wait_for 10 cap_is two 29 29 || fail "alone again it has $(cap two) fragments, not 29"
end_ranks "${TWO[@]}"

say "values, of two jobs at once, and lost packets"
ranks_start a 3 -b 8 -e 1M -f 8 -n 20 --loss 1% --reorder 1% --duplicate 1% --seed 3
A=("${RANK_PIDS[@]}")
ranks_start b 3 -b 8 -e 1M -f 8 -n 20 --wire int32
ranks_end 60 0
RANK_PIDS=("${A[@]}")
ranks_end 60 0
check_right "a" "$TMP/a.0"
check_right "b" "$TMP/b.0"
for collective in broadcast reduce allgather reduce-scatter; do
    ranks_start "all-$collective" 3 -b 4 -e 256K -f 16 -n 5 --collective $collective
    ranks_end 30 0
    check_right "$collective" "$TMP/all-$collective.0"
done
switch_stop

say "a cap of nothing"
switch_start --buffer 4KiB --http none
ranks_start none 2 -b 8 -e 8
ranks_end 20 1
check_in "refused" 'job none would get a cap of 0 fragments: packets of 1472 bytes from 2 children, .* raise net.core.rmem_max' "$TMP"/none.[01]
switch_stop

say "a tree of switches"
SWITCH_LOG=$TMP/root.log switch_start --buffer 256KiB --http none
ROOT=$TRIB_SWITCH ROOT_PID=$SWITCH_PID
switch_start --buffer 256KiB --parent "$ROOT" --http none
CHILD=$TRIB_SWITCH
start_rank() { TRIB_SWITCH=$([ "$3" = 0 ] && echo "$ROOT" || echo "$CHILD") rank_start "$@"; }
ranks_start tree 3 -b 8 -e 1M -f 8 -n 20 --loss 1% --seed 4
ranks_end 60 0
check_right "tree" "$TMP/tree.0"
switch_stop
SWITCH_PID=$ROOT_PID switch_stop

say "no switch: each rank's process has a root"
unset TRIB_SWITCH
quiet_port
export TRIB_RENDEZVOUS=127.0.0.1:$QUIET_PORT
start_rank() { TRIB_HOSTID=host-$3 rank_start "$@"; }
ranks_start nobox 3 -b 8 -e 1M -f 16 -n 5
ranks_end 30 0
check_right "no switch" "$TMP/nobox.0"
check_in "three roots" 'no box: 3 roots' "$TMP/nobox.0"
finish
