#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# large.sh: tensors of more than 2^31 bytes, and of more than 2^32 elements. Needs no root, but 10 GB of memory and a minute: not in
# `make test`.
#   large.sh        a sum of 2^32 elements through a switch, and in the memory of a host
#   large.sh all    and shares that lie across 2^31 and 2^32, and a broadcast: `make test-nightly`
. "$(dirname "$0")/common.sh"
LARGE=$BUILD_DIR/tests/integration/large
COUNT=$(((1 << 32) + 12345))

free_gib() { awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo; }
[ "$(free_gib)" -ge 14 ] || skip "$(free_gib) GiB of free memory, less than 14"

hash_of() { grep -oE 'hash [0-9a-f]{16}' "$TMP/$1.$2"; }

# large NAME COLLECTIVE COUNTS...: on both ranks, all of which must be right, and the same where both have all of it.
large() {
    local name=$1 rank pid pids=()
    shift
    START=$(now_ms)
    for rank in 0 1; do
        TRIB_JOB=$name TRIB_RANK=$rank TRIB_RANKS=2 TRIB_PAYLOAD=8192 "$LARGE" "$@" >"$TMP/$name.$rank" 2>&1 &
        pids+=($!)
        CHILDREN+=($!)
    done
    for pid in "${pids[@]}"; do
        CHECKS=$((CHECKS + 1))
        ended 100 "$pid"
        [ "$STATUS" = 0 ] || fail "$name: a rank ended with status $STATUS"
    done
    say "$name: $(grep ' bytes, hash ' "$TMP/$name.0"), $(($(now_ms) - START)) ms"
    [ "$1" = reduce-scatter ] || check "$name: both have the same" test "$(hash_of "$name" 0)" = "$(hash_of "$name" 1)"
    [ "$FAILURES" = 0 ] || show "$TMP/$name".?
}

switch_start
large switch-allreduce allreduce "$COUNT"
check_in "the whole tensor" "^allreduce $COUNT bytes" "$TMP/switch-allreduce.0"
if [ "${1:-}" = all ]; then
    # Shares of which the first alone reaches behind 2^31, and the second lies across 2^32.
    TRIB_FAULTS=loss=0.1%,seed=9 large switch-allgather allgather $(((1 << 31) + 4321)) $(((1 << 31) + 12345))
    large switch-reduce-scatter reduce-scatter $(((1 << 29) + 777)) 1234567
fi
switch_stop
unset TRIB_SWITCH
TRIB_LEVEL0=1 large host-allreduce allreduce "$COUNT"
[ "${1:-}" != all ] || TRIB_LEVEL0=1 large host-broadcast broadcast "$COUNT"
finish
