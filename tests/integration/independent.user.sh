#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# independent.user.sh: workers written in Python from docs/PROTOCOL.md alone, in jobs of their own and together with ranks of the
# library, with faults and through the death of the switch. What the document leaves out or gets wrong shows here.
# One rank of each job is deaf: it takes no result until the switch was lost. So all that it was sent must come back by OFFERs.
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null || skip "needs python3"
CHECK=$(dirname "$0")/independent_check.py
export PYTHONDONTWRITEBYTECODE=1 TRIB_LINGER=45s

# rank_of COMMAND...: one rank of $JOB, bounded in time; its output in $TMP/JOB.RANK.
rank_of() {
    timeout -k 1 $((50 * PATIENCE)) "$@" >"$TMP/$JOB.$RANK" 2>&1 &
    PIDS+=($!)
    CHILDREN+=($!)
}

independent() {
    rank_of python3 "$CHECK" --switch "$TRIB_SWITCH" --job "$JOB" --rank "$RANK" --ranks 3 --deaf "$DEAF" "$@"
}

library() {
    TRIB_JOB=$JOB TRIB_RANK=$RANK TRIB_RANKS=3 TRIB_PAYLOAD=8192 TRIB_WIRE=$1 rank_of "$BUILD_DIR/bin/02_udp_allreduce"
}

say "four jobs: only independent ranks, and mixed; wires float32 and int32 (which is 4)"
PIDS=()
switch_start --threads 2 --loss 2% --duplicate 2% --reorder 2% --corrupt 1%
for RANK in 0 1 2; do
    JOB=only-float32 DEAF=1 independent --wire 1
    JOB=only-int32 DEAF=2 independent --wire 4
    if [ "$RANK" = 1 ]; then
        JOB=mixed-float32 DEAF=1 independent --run example --payload 8192 --wire 1
    else
        JOB=mixed-float32 library float32
    fi
    if [ "$RANK" = 0 ]; then
        JOB=mixed-int32 DEAF=0 independent --run example --payload 8192 --wire 4
    else
        JOB=mixed-int32 library int32
    fi
done
DEAF_LOGS=("$TMP"/only-float32.1 "$TMP"/only-int32.2 "$TMP"/mixed-float32.1 "$TMP"/mixed-int32.0)
all_deaf() { as_many_say 4 'was ignored' "${DEAF_LOGS[@]}"; }
check "every result reaches the deaf ranks" wait_for 40 all_deaf

say "the switch dies and comes back"
switch_kill
switch_start --listen "127.0.0.1:$SWITCH_PORT" --threads 2 --loss 2% --duplicate 2% --reorder 2% --corrupt 1%
for pid in "${PIDS[@]}"; do
    CHECKS=$((CHECKS + 1))
    ended 51 "$pid"
    [ "$STATUS" = 0 ] || fail "rank with pid $pid ended with status $STATUS"
done
check_in "every value right, through one restart" 'all right; .*restarts 1$' "$TMP"/only-*.[012] "${DEAF_LOGS[@]}"
check_in "every value right at the library's ranks" ' 0 wrong' "$TMP"/mixed-float32.[02] "$TMP"/mixed-int32.[12]
check "results came back by offers" grep -qE 'offers [1-9]' "$TMP"/only-float32.[02]
check "on wire int32 as well" grep -qE 'offers [1-9]' "$TMP"/only-int32.[01]
switch_stop
finish
