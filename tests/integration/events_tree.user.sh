#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# events_tree.user.sh: as events.user.sh, on a tree of three switches with eight workers: harm to the root, to a switch below it, to the link
# between the two.
. "$(dirname "$0")/network.sh"
. "$(dirname "$0")/events.sh"

net_tree 8 1 2
net_rate 400mbit
net_switches_start

load_start steady 60 4096 65536
restarts steady s0 2 0 0.1
restarts steady s2 2 0 0.1
cuts steady s1 1 0.2
load_end steady
: >"$TMP/deaths"
load_start mortal 60 4096 65536
dies mortal 5
net_switches_stop
net_switches_start --join-timeout "${PATIENCE}s" # and so long ranks may take to return
export TRIB_SWITCH_TIMEOUT=500ms TRIB_JOIN_TIMEOUT=${PATIENCE}s
load_start orphan 60 4096 65536
does_not_return orphan s2 500 $((1000 * PATIENCE)) "switch ${NET_ADDRESS[s2]}:7470 is (gone|lost)"
finish
