#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# large.sh: one tensor of more than 2^31 bytes. Needs no root, but 6 GB of memory and half a minute: not in `make test`.
. "$(dirname "$0")/common.sh"

[ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt $((8 << 20)) ] || skip "less than 8 GiB of free memory"
ARGUMENTS=(perf --workers 2 -b 2200M -e 2200M -n 1 -w 0 --in-place --payload 8192)
expect 0 '^# 0 wrong elements$' "$TRIBUTARY" "${ARGUMENTS[@]}" -d int64
check_in "the whole tensor" '^ +2306867200 +288358400 ' "$TMP/out"
expect 0 '^# 0 wrong elements$' "$TRIBUTARY" "${ARGUMENTS[@]}" -d half --collective broadcast --loss 0.1%
check_in "the whole tensor" '^ +2306867200 +1153433600 ' "$TMP/out"
finish
