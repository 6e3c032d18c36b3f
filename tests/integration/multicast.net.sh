#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# multicast.net.sh: results go once over the switch's own link where every rank receives its group, and by unicast to each
# as soon as one does not; in both cases every sum is right.
. "$(dirname "$0")/network.sh"

net_star 4
net_switch_start s0
QUICK=(-b 1M -e 1M -n 10 -w 1)

# Packets that came to all ranks by multicast, out of perf's JSON.
multicast_results() { grep -oE '"results_multicast":[0-9]+' "$TMP/$1.0" | sed 's/.*://' | awk '{ sum += $1 } END { print sum + 0 }'; }

say "every rank receives the group"
net_perf all "${QUICK[@]}"
ranks_end 20 0
check_in "said so" 'results by multicast' "$TMP/all.0"
check_right "by multicast" "$TMP/all.0"
net_perf json "${QUICK[@]}" --json
ranks_end 20 0
check "results came by multicast" test "$(multicast_results json)" -gt 1000
# The switch's link carries a result once, whatever the number of workers.
BEFORE=$(sent_bytes s0)
net_perf once -b 8M -e 8M -n 9 -w 1 -c 0
ranks_end 30 0
SENT=$(($(sent_bytes s0) - BEFORE))
# Unicast would be 320 MiB; a busy machine adds repeats for ranks that came late.
check "80 MiB of results left the switch once: $((SENT >> 20)) MiB" test "$SENT" -lt $((200 << 20))
net_perf lossy "${QUICK[@]}" --loss 1% --seed 3
ranks_end 20 0
check_right "by multicast, with loss" "$TMP/lossy.0"

say "two jobs have two groups"
net_perf one -b 1M -e 1M -n 100 -w 1
ONE=("${RANK_PIDS[@]}")
net_perf two -b 1M -e 1M -n 100 -w 1
ranks_end 30 0
RANK_PIDS=("${ONE[@]}")
ranks_end 30 0
check_right "job one" "$TMP/one.0"
check_right "job two" "$TMP/two.0"
check_in "both by multicast" 'results by multicast' "$TMP/one.0" "$TMP/two.0"

say "by unicast when a rank does not want it"
net_perf declined "${QUICK[@]}" --no-multicast
ranks_end 20 0
check_in "said so" 'results by unicast' "$TMP/declined.0"
check_right "by unicast" "$TMP/declined.0"

say "by unicast when multicast does not reach rank 2"
far_end w2 type bridge_slave mcast_flood off
net_perf deaf "${QUICK[@]}"
ranks_end 20 0
check_in "said so" 'results by unicast' "$TMP/deaf.0"
check_right "by unicast to all" "$TMP/deaf.0"

say "multicast that stops in the middle of a job: late, never wrong"
far_end w2 type bridge_slave mcast_flood on
net_perf breaks -b 256K -e 256K -n 400 -w 1
wait_for 10 net_runs breaks
sleep 0.05
far_end w2 type bridge_slave mcast_flood off
sleep 0.5
far_end w2 type bridge_slave mcast_flood on
ranks_end 60 0
check_right "after the gap" "$TMP/breaks.0"
net_switches_stop

say "by unicast when the switch offers no group"
net_switch_start s0 --group none
net_perf none "${QUICK[@]}"
ranks_end 20 0
check_in "said so" 'results by unicast' "$TMP/none.0"
check_right "without groups" "$TMP/none.0"
net_switches_stop
finish
