#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sizes.user.sh: counts from none to many, around the edges of fragments and trains; every type, payload and way to move data.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

# sizes OPTIONS...: nothing, one element, and one element around a fragment (1408 bytes) and a train (44 of them).
switch_start --threads 2
sizes() {
    local bytes
    for bytes in 0 8 1400 1408 1416 61944 61952 61960 123912; do
        RANK_PIDS=()
        expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b "$bytes" -e "$bytes" -n 2 -w 1 "$@"
        CHECKS=$((CHECKS + 1))
        awk -v bytes="$bytes" '$1 == bytes { seen = 1 } END { exit !seen }' "$TMP/out" || { fail "no row of $bytes"; show "$TMP/out"; }
    done
}
say "edges"
sizes -d float
sizes -d int64 --in-place
sizes --collective broadcast -d half
sizes -d float --wire int32
sizes -d float --wire bfloat16 --no-progress-thread

say "edges of shares"
for bytes in 0 8 4200 4224 4236 185856 185868; do
    for shares in --in-place --uneven "--uneven --in-place --wire int32"; do
        for collective in allgather reduce-scatter; do
            # shellcheck disable=SC2086 # options
            expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b "$bytes" -e "$bytes" -n 2 -w 1 --collective $collective $shares
        done
    done
done
sizes --collective reduce -d int64 --in-place

say "types and reductions"
for type in float double half bfloat16 int8 uint8 int32 int64; do
    for op in sum avg min max prod; do
        expect 0 '^# 0 wrong elements$' "$T" perf --workers 4 -b 40K -e 40K -n 2 -w 1 -d "$type" -o "$op"
        check_in "$op of $type is what was measured" " $op " "$TMP/out"
    done
done
for wire in bfloat16 int32; do
    for op in min max prod; do
        expect 0 '^# 0 wrong elements$' "$T" perf --workers 4 -b 40K -e 40K -n 2 -w 1 -o "$op" --wire "$wire"
        expect 0 '^# 0 wrong elements$' "$T" perf --workers 4 -b 40K -e 40K -n 2 -w 1 -o "$op" --wire "$wire" --collective reduce-scatter
    done
done

say "many tensors at once, every element looked at"
RANK_PIDS=()
for rank in 0 1 2; do
    TRIB_JOB=many TRIB_RANK=$rank TRIB_RANKS=3 "$BUILD_DIR/tests/integration/grouped" 100 4000 2 1 >"$TMP/many.$rank" 2>&1 &
    RANK_PIDS+=($!)
    CHILDREN+=($!)
done
ranks_end 30 0
check_in "one by one, started at once, in a group" '"wrong": 0}' "$TMP"/many.[012]

say "payloads, windows, ranks"
for payload in 64 1344 8192; do
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 2 -b 100000 -e 100000 -n 2 -w 1 --payload "$payload"
done
expect 0 '^# 0 wrong elements$' "$T" perf --workers 2 -b 1M -e 1M -n 2 -w 1 --window 4KB
expect 0 '^# 0 wrong elements$' "$T" perf --workers 1 -b 1M -e 1M -n 2 -w 1
expect 0 '^# 0 wrong elements$' "$T" perf --workers 32 -b 64K -e 64K -n 2 -w 1
switch_stop

say "one host"
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    for bytes in 0 8 4200 65536 65580 3000000; do
        for how in "" "--in-place --shared"; do
            # shellcheck disable=SC2086 # options
            expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 --no-switch -b "$bytes" -e "$bytes" -n 2 -w 1 --collective $collective $how
        done
    done
done
for how in "" --in-place --shared; do
    # shellcheck disable=SC2086 # options
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 5 --no-switch -b 3M -e 3M -n 2 -w 1 --collective allgather --uneven $how
    # shellcheck disable=SC2086 # options
    expect 0 '^# 0 wrong elements$' "$T" perf --workers 5 --no-switch -b 3M -e 3M -n 2 -w 1 --collective reduce-scatter --uneven $how
done
finish
