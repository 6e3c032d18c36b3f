#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# events.user.sh: harm done to real processes on real links, a little of each kind: daemons and ranks in network namespaces, under
# load, every value checked on every rank. events.net.sh does the same often, and chaos.net.sh all of it at once.
. "$(dirname "$0")/network.sh"
. "$(dirname "$0")/events.sh"

net_star 4
net_rate 400mbit
net_switches_start

load_start steady 60 4096 65536
restarts steady s0 4 0 0.1
cuts steady w2 1 0.2
beside steady 3 other
load_end steady
load_start small 60 1024 16384
stops small 1 1.6
load_end small
deaths 2 mortal
export TRIB_SWITCH_TIMEOUT=500ms
load_start orphan 60 4096 65536
does_not_return orphan s0 500 500 "the switch ${NET_ADDRESS[s0]}:7470 is gone: .*; waited ([5-9][0-9]{2} ms|[1-9](\.[0-9])? s) \(TRIB_SWITCH_TIMEOUT is 500 ms\)"
finish
