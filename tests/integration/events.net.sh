#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# events.net.sh: events.user.sh, each kind of harm so often that the worst case says something: a star of four workers, under load.
. "$(dirname "$0")/network.sh"
. "$(dirname "$0")/events.sh"

net_star 4
net_rate 400mbit
net_switches_start

load_start steady 600 4096 65536
restarts steady s0 30 0 0.02 0.1 0.3 0.7
machine_restarts steady s0 8 0.05 0.2 0.5 1
cuts steady w2 8 0.05 0.2 0.5 1
stops steady 1 5
for i in 1 2 3; do
    load_start "other$i" 600 4096 65536
    beside steady "other$i"
done
load_end steady
deaths 20 mortal
export TRIB_SWITCH_TIMEOUT=1s
load_start orphan 60 4096 65536
unset TRIB_SWITCH_TIMEOUT
does_not_return orphan s0 1000 "the switch ${NET_ADDRESS[s0]}:7470 is gone: no answer for 1 s"
finish
