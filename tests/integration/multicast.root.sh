#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# multicast.root.sh: results go once over the switch's own link where every rank receives its group, and by unicast to each
# as soon as one does not; in both cases every sum is right.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/network.sh"

network_up 4 1500
star_switch
QUICK=(-b 1M -e 1M -n 10 -w 1)

# Packets that came to all ranks by multicast, out of perf's JSON.
multicast_results() { grep -oE '"results_multicast":[0-9]+' "$TMP/$1.0" | sed 's/.*://' | awk '{ sum += $1 } END { print sum + 0 }'; }

say "every rank receives the group"
star_ranks all "${QUICK[@]}"
ranks_end 20 0
check_in "said so" 'results by multicast' "$TMP/all.0"
check_right "by multicast" "$TMP/all.0"
star_ranks json "${QUICK[@]}" --json
ranks_end 20 0
check "results came by multicast" test "$(multicast_results json)" -gt 1000
# The switch's link carries a result once, whatever the number of workers.
BEFORE=$(in_switch cat /sys/class/net/eth0/statistics/tx_bytes)
star_ranks once -b 8M -e 8M -n 9 -w 1 -c 0
ranks_end 30 0
SENT=$(($(in_switch cat /sys/class/net/eth0/statistics/tx_bytes) - BEFORE))
# Unicast would be 320 MiB; a busy machine adds repeats for ranks that came late.
check "80 MiB of results left the switch once: $((SENT >> 20)) MiB" test "$SENT" -lt $((200 << 20))
star_ranks lossy "${QUICK[@]}" --loss 1% --seed 3
ranks_end 20 0
check_right "by multicast, with loss" "$TMP/lossy.0"

say "two jobs have two groups"
star_ranks one -b 1M -e 1M -n 100 -w 1
ONE=("${RANK_PIDS[@]}")
star_ranks two -b 1M -e 1M -n 100 -w 1
ranks_end 30 0
RANK_PIDS=("${ONE[@]}")
ranks_end 30 0
check_right "job one" "$TMP/one.0"
check_right "job two" "$TMP/two.0"
check_in "both by multicast" 'results by multicast' "$TMP/one.0" "$TMP/two.0"

say "by unicast when a rank does not want it"
star_ranks declined "${QUICK[@]}" --no-multicast
ranks_end 20 0
check_in "said so" 'results by unicast' "$TMP/declined.0"
check_right "by unicast" "$TMP/declined.0"

say "by unicast when multicast does not reach rank 2"
bridge_port p2 type bridge_slave mcast_flood off
star_ranks deaf "${QUICK[@]}"
ranks_end 20 0
check_in "said so" 'results by unicast' "$TMP/deaf.0"
check_right "by unicast to all" "$TMP/deaf.0"

say "multicast that stops in the middle of a job: late, never wrong"
bridge_port p2 type bridge_slave mcast_flood on
star_ranks breaks -b 256K -e 256K -n 400 -w 1
wait_for 10 runs_job breaks
sleep 0.05
bridge_port p2 type bridge_slave mcast_flood off
sleep 0.5
bridge_port p2 type bridge_slave mcast_flood on
ranks_end 60 0
check_right "after the gap" "$TMP/breaks.0"
switch_stop

say "by unicast when the switch offers no group"
star_switch --group none
star_ranks none "${QUICK[@]}"
ranks_end 20 0
check_in "said so" 'results by unicast' "$TMP/none.0"
check_right "without groups" "$TMP/none.0"
switch_stop
finish
