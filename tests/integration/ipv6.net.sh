#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ipv6.net.sh: global and link-local IPv6 addresses on links of their own: a star, a tree, losses, restarts, and switches that have
# more addresses than one.
. "$(dirname "$0")/network.sh"
NET_FAMILY=6
export TRIB_DEBUG=INFO

net_tree 4 1 2
in_node w0 grep -qs eth0 /proc/net/if_inet6 || skip "this kernel has no IPv6"
net_switches_start
QUICK=(-b 1M -e 1M -n 10 -w 1)

say "a tree of switches"
net_perf tree "${QUICK[@]}"
ranks_end 20 0
check_right "over two levels" "$TMP/tree.0"
[ "$FAILURES" = 0 ] || finish
check_in "whole packets on a link of 1500 bytes" 'payload 1344, results by unicast' "$TMP/tree.0"
net_perf lossy "${QUICK[@]}" --loss 1% --duplicate 1% --reorder 1% --seed 3
ranks_end 60 0
check_right "with loss" "$TMP/lossy.0"
# The payload of IPv4 makes packets of 1520 bytes.
net_perf wide "${QUICK[@]}" --payload 1408
ranks_end 30 1
check_in "which do not pass" 'packets of 1408 bytes payload .*do not pass' "$TMP"/wide.0

say "bytes on a link"
net_perf bytes -b 16M -e 16M -n 4 -w 1 -c 0 --json
ranks_end 60 0
SENT=$(grep -oE '"nic_bytes_out":[0-9]+' "$TMP/bytes.0" | sed -n '2s/.*://p')
# Every fragment once, with its header. The kernel counts the headers of IP once a train; a few probes of a busy machine.
MODEL=$((4 * (16 << 20) * (1344 + 64) / 1344))
check "$SENT bytes left rank 1, the model says $MODEL" test "$SENT" -ge "$MODEL" -a "$SENT" -le $((MODEL * 103 / 100))

say "a restart in the middle"
net_perf again -b 256K -e 256K -n 2000 -w 1
wait_for 10 net_runs again || fail "the job did not start"
sleep 0.2
net_switch_kill s2
net_switch_start s2
ranks_end 120 0
check_right "after the restart" "$TMP/again.0"

say "link-local addresses name their interface"
LOCAL=$(ip_in s1 -6 -o addr show dev own0 scope link | awk '{ print $4; exit }')
LOCAL=${LOCAL%/*}
nsenter --net=/run/netns/s1 "$TRIBUTARY" switch --listen "[$LOCAL%own0]:7600" --http none >"$TMP/link.log" 2>&1 &
PID=$!
CHILDREN+=("$PID")
wait_for 10 grep -qs "switch at \[$LOCAL%own0\]:7600" "$TMP/link.log" || { fail "no switch"; show "$TMP/link.log"; }
RANK_PIDS=()
for rank in 0 1; do
    TRIB_SWITCH="[$LOCAL%eth0]:7600" TRIB_JOB=link TRIB_RANK=$rank TRIB_RANKS=2 \
        nsenter --net="/run/netns/w$rank" "$TRIBUTARY" perf "${QUICK[@]}" >"$TMP/link.$rank" 2>&1 &
    RANK_PIDS+=($!)
done
ranks_end 30 0
check_right "on one link" "$TMP/link.0"
check_in "by its name" "switch \\[$LOCAL%eth0\\]:7600" "$TMP/link.0"
check_in "and at the switch" 'rank 0 of 2 joined from \[fe80::[0-9a-f:]*%own0\]' "$TMP/link.log"
expect 0 'pass uncut; the default is 1344' nsenter --net=/run/netns/w0 "$TRIBUTARY" doctor --switch "[$LOCAL%eth0]:7600"
expect 2 'name its interface as well' nsenter --net=/run/netns/w0 "$TRIBUTARY" perf --switch "[$LOCAL]:7600" --workers 1
kill -TERM "$PID"
ended 5 "$PID"

say "a switch of two addresses: data leave from the one that a rank came to"
ip_in s1 addr add fd99::1:99/64 dev own0 nodad
nsenter --net=/run/netns/s1 "$TRIBUTARY" switch --listen '[::]:7700' --http none >"$TMP/any.log" 2>&1 &
PID=$!
CHILDREN+=("$PID")
wait_for 10 grep -qs 'switch at' "$TMP/any.log" || { fail "no switch"; show "$TMP/any.log"; }
for address in fd99::1:2 fd99::1:99; do
    in_node w0 timeout 60 "$TRIBUTARY" perf --switch "[$address]:7700" --workers 2 "${QUICK[@]}" >"$TMP/any.$address" 2>&1
    check_right "$address" "$TMP/any.$address"
done
kill -TERM "$PID"
ended 5 "$PID"
net_switches_stop
finish
