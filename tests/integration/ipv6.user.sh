#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ipv6.user.sh: everything that names an address does so with IPv6 as well: switches, trees of them, ranks, HTTP, doctor, perf, jobs;
# and what does not go together over two families says so.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
RIGHT='^# 0 wrong elements$'

grep -qs ' lo$' /proc/net/if_inet6 || skip "this machine has no IPv6 loopback (net.ipv6.conf.lo.disable_ipv6)"

export TRIB_DEBUG=INFO
switch_start --listen '[::1]:0' --http '[::1]:0' --threads 2
PORT=$SWITCH_PORT

say "payload: what fits 1500 bytes, unless somebody chose"
expect 0 "$RIGHT" "$T" perf --switch "[::1]:$PORT" --workers 3 -b 1M -e 1M -n 3
check_in "it fits a link of 1500 bytes" 'payload 1344, results by unicast, switch \[::1\]' "$TMP/out"
check_in "multicast is not offered, and why" 'results by unicast: multicast is for switches at IPv4' "$SWITCH_LOG"
expect 0 "$RIGHT" "$T" perf --switch "[::1]:$PORT" --workers 2 -b 100K -e 100K -n 2 --payload 8192
check_in "what was set stands" 'payload 8192' "$TMP/out"
expect 0 '"payload":1344' "$T" perf --switch "[::1]:$PORT" --workers 2 -b 64K -e 64K -n 2 --json
check_in "bytes are counted on the interface" '"nic":"lo"' "$TMP/out"
expect 0 "$RIGHT" env TRIB_SWITCH="[0:0::1]:$PORT" "$T" perf --workers 2 -b 64K -e 64K -n 2 --no-trains
export TRIB_SWITCH="[::1]:$PORT"
rank_start mixed 2 0 -b 64K -e 64K -n 2
rank_start mixed 2 1 -b 64K -e 64K -n 2 --payload 1408
RANK_PIDS=("${CHILDREN[@]: -2}")
ranks_end 30 1
for rank in 0 1; do
    check_in "rank $rank hears that one was set" 'settings differ: payload is 1344 on rank 0 and 1408 on rank 1' "$TMP/mixed.$rank"
done

say "whole trains move"
expect 0 '"wrong":0}' "$T" perf --workers 2 -b 8M -e 8M -n 5 --json
one() { grep -oE "\"$1\":[0-9]+" "$TMP/out" | head -n 1 | sed 's/.*://'; }
PACKETS=$(one packets_sent)
check "packets of 1408 bytes at most, with the whole tensor beside their headers" test \
    $((PACKETS * 1408)) -ge "$(one bytes_sent)" -a $(($(one bytes_sent) - 64 * PACKETS)) -ge $((5 * (8 << 20)))
check "many packets a call: $PACKETS sent, as many received, by $(one system_calls) calls" test $((2 * PACKETS)) -gt $((4 * $(one system_calls)))

say "faults"
expect 0 "$RIGHT" "$T" perf --workers 4 -b 512K -e 512K -n 4 --loss 2% --duplicate 2% --reorder 2% --corrupt 1% --seed 6
for collective in allgather reduce-scatter broadcast reduce; do
    expect 0 "$RIGHT" "$T" perf --workers 3 -b 300K -e 300K -n 2 --collective $collective --loss 1% --seed 6
done

if has_jobs; then
    say "people"
    HTTP="[::1]:$((PORT + 1000))"
    ranks_start seen 2 -b 64K -e 64K -n 200000 -c 0
    wait_for 10 runs_job seen || fail "the job did not start"
    expect 0 'seen' "$T" jobs --http "$HTTP"
    expect 0 'rank.*\[::1\]|\[::1\]' "$T" jobs seen --http "$HTTP"
    kill -TERM "${RANK_PIDS[@]}"
    for pid in "${RANK_PIDS[@]}"; do ended 10 "$pid"; done
fi
expect 0 '' "$T" doctor --switch "[::1]:$PORT"
check_in "doctor knows the default" 'pass uncut; the default is 1344' "$TMP/out"
expect 0 'payloads? of' "$T" doctor

say "a relay"
ROOT_PID=$SWITCH_PID
SWITCH_LOG=$TMP/child.log switch_start --listen '[::1]:0' --parent "[::1]:$PORT"
CHILD_PID=$SWITCH_PID
export TRIB_SWITCH="[::1]:$SWITCH_PORT"
ranks_start tree 2 -b 1M -e 1M -n 3
ranks_end 30 0
check_right "over two switches" "$TMP/tree.0"
check_in "the same payload below" 'payload 1344' "$TMP/tree.0"
expect 2 'both be IPv4 or both IPv6' "$T" switch --listen 127.0.0.1:0 --parent "[::1]:$PORT"
SWITCH_PID=$CHILD_PID switch_stop
SWITCH_PID=$ROOT_PID switch_stop

say "two families at one switch"
expect 2 'multicast is for switches at IPv4 addresses; this one listens at \[::1\]:0' \
    "$T" switch --listen '[::1]:0' --group 239.1.1.1 --check-config
switch_start --listen '[::]:0' --http '[::]:0'
expect 1 'comes over IPv4, and this switch moves data over IPv6 only: name it by an IPv6 address' \
    "$T" perf --switch "127.0.0.1:$SWITCH_PORT" --workers 2 -b 64K -e 64K -n 2
expect 0 "$RIGHT" "$T" perf --switch "[::1]:$SWITCH_PORT" --workers 2 -b 64K -e 64K -n 2
! has_jobs || expect 0 '' "$T" jobs --http "127.0.0.1:$((SWITCH_PORT + 1000))"
switch_stop

say "names and scopes"
switch_start --listen '127.0.0.1:0'
expect 0 "$RIGHT" "$T" perf --switch "[::ffff:127.0.0.1]:$SWITCH_PORT" --workers 2 -b 64K -e 64K -n 2
check_in "IPv4 in other words" 'payload 1408' "$TMP/out"
expect 2 '"fe80::1" is the address of a link: name its interface as well, as in fe80::1%eth0' \
    "$T" perf --switch '[fe80::1]:7470' --workers 2
expect 2 'this machine has no interface "nosuch0"' "$T" perf --switch '[fe80::1%nosuch0]:7470' --workers 2
switch_stop
finish
