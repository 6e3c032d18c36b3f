#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# links.net.sh: workers on links of their own around the switch: right sums at both MTUs with and without faults, the bytes that
# the kernel counts on a link, and paths that are too narrow.
. "$(dirname "$0")/network.sh"
MIB=$((1 << 20))

net_star 4
net_mtu 1500
net_switch_start s0 --threads 2

say "MTU 1500"
net_perf small -b 8 -e 1M -f 8 -n 3 -w 1
ranks_end 30 0
check_right "MTU 1500" "$TMP/small.0"
net_perf faults -b 256K -e 256K -n 4 -w 1 --loss 1% --duplicate 1% --reorder 1% --corrupt 0.1% --seed 5
ranks_end 30 0
check_right "MTU 1500 with faults" "$TMP/faults.0"

# bytes_on_the_link NAME BYTES OPTIONS...: in 20 calls of 8 MiB a worker's link carries the tensor and its headers once each
# way, where a ring of four would carry 1.5 times as much. Up to 1.3: on a busy machine ranks come late and are asked again.
bytes_on_the_link() {
    local name=$1 expected=$2 out in
    shift 2
    out=$(sent_bytes w1)
    in=$(received_bytes w1)
    net_perf "$name" -b 8M -e 8M -n 19 -w 1 -c 0 "$@"
    ranks_end 60 0
    out=$(($(sent_bytes w1) - out))
    in=$(($(received_bytes w1) - in))
    say "$name: $((out / MIB)) MiB out, $((in / MIB)) MiB in for 160 MiB of tensor"
    check "$name: at least the tensor" test "$out" -ge $((160 * MIB)) -a "$in" -ge $((160 * MIB))
    check "$name: $out bytes out, expected $expected" test $((10 * out)) -lt $((13 * expected))
    check "$name: $in bytes in, expected $expected" test $((10 * in)) -lt $((13 * expected))
}
bytes_on_the_link bytes-1500 $((160 * MIB * (1408 + 64 + 42) / 1408))

say "MTU 9000"
net_mtu 9000
net_perf jumbo -b 8 -e 4M -f 8 -n 3 -w 1 --payload 8192
ranks_end 30 0
check_right "MTU 9000" "$TMP/jumbo.0"
net_perf jumbo-int32 -b 1M -e 1M -n 3 -w 1 --payload 8192 --wire int32 --loss 1% --seed 6
ranks_end 30 0
check_right "MTU 9000, wire int32, loss" "$TMP/jumbo-int32.0"
bytes_on_the_link bytes-9000 $((160 * MIB * (8192 + 64 + 42) / 8192)) --payload 8192

say "a path too narrow for the payload: every rank is told, in time, with the payload"
net_mtu 1500
START=$(now_ms)
net_perf wide -b 8 -e 8 --payload 8192
ranks_end 10 1
MS=$(($(now_ms) - START))
check "within 5 s: $MS ms" test "$MS" -lt 5000
check_in "names payload and remedy" 'packets of 8192 bytes payload .*do not pass .*: check the path MTU .* or set a smaller payload' \
    "$TMP"/wide.[0-3]
# Only one link is narrow, and only in the middle: worker 2 and the switch both believe in 1500.
far_end w2 mtu 1000
net_perf narrow -b 8 -e 8
ranks_end 10 1
check_in "names rank and payload" 'packets of 1408 bytes payload .*do not pass' "$TMP"/narrow.2
check_in "the others hear it" 'packets of 1408 bytes payload .*do not pass between rank 2 ' "$TMP"/narrow.[013]
net_perf fits -b 1M -e 1M -n 2 --payload 832
ranks_end 20 0
check_right "a payload that fits" "$TMP/fits.0"
net_switches_stop
finish
