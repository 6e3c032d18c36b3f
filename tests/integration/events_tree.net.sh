#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# events_tree.net.sh: as events.net.sh, on a tree of three switches with eight workers, each level of switch as the victim.
. "$(dirname "$0")/network.sh"
. "$(dirname "$0")/events.sh"

net_tree 8 1 2
net_rate 400mbit
net_switches_start

load_start small 600 1024 16384
stops small 5 5
load_end small
load_start steady 600 4096 65536
cuts steady w2 5 0.05 0.2 0.5
cuts steady s1 5 0.05 0.2 0.5 1
beside steady 3 other
deaths 12 mortal
restarts steady s0 15 0 0.02 0.1 0.3 0.7
restarts steady s2 15 0 0.02 0.1 0.3 0.7
machine_restarts steady s0 3 0.2 0.5
machine_restarts steady s1 3 0.2 0.5
load_end steady
net_switches_stop
net_switches_start --join-timeout 2s # and so long ranks may take to return
export TRIB_SWITCH_TIMEOUT=1s TRIB_JOIN_TIMEOUT=2s
load_start orphan1 60 4096 65536
does_not_return orphan1 s2 1000 2000 "switch ${NET_ADDRESS[s2]}:7470 is (gone|lost)"
net_switch_start s2
load_start orphan2 60 4096 65536
does_not_return orphan2 s0 1000 1000 "switch ${NET_ADDRESS[s0]}:7470, the parent of switch .* does not answer"
finish
