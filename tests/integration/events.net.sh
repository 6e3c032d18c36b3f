#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# events.net.sh: events.user.sh, each kind of harm so often that the worst case says something: a star of four workers, under load.
. "$(dirname "$0")/network.sh"
. "$(dirname "$0")/events.sh"

net_star 6
net_rate 400mbit
net_switches_start
STAR=("${WORKERS[@]:0:4}")

# The machine of a worker is off, and nothing says so: TCP finds out. That takes 30 s, by timers that are coarse at that length,
# and the rest goes on meanwhile.
LOAD_ON=(w4 w5)
load_start dark 600 4096 65536
link_cut w5
DARK_FROM=$(wall_ns)

LOAD_ON=("${STAR[@]}")
load_start small 600 1024 16384
stops small 1 5
load_end small
load_start steady 600 4096 65536
cuts steady w2 8 0.05 0.2 0.5 1
beside steady 3 other
deaths 20 mortal
load_ends_in_error dark 38 'rank 1 \(10\.99\.0\.6:[0-9]+\) is gone|the switch .* is gone'
errors_after dark "$DARK_FROM" >"$TMP/dark"
say "the machine of a worker is off: errors after $(percentiles <"$TMP/dark")"
within "errors when the machine of a worker is off" 36000 "$TMP/dark"

restarts steady s0 30 0 0.02 0.1 0.3 0.7
machine_restarts steady s0 8 0.05 0.2 0.5 1
load_end steady
export TRIB_SWITCH_TIMEOUT=1s
load_start orphan 60 4096 65536
does_not_return orphan s0 1000 1000 "the switch ${NET_ADDRESS[s0]}:7470 is gone: .*; waited [1-9](\.[0-9])? s \(TRIB_SWITCH_TIMEOUT is 1 s\)"
net_switch_start s0
load_start unplugged 60 4096 65536
unset TRIB_SWITCH_TIMEOUT
own_cut s0
DARK_FROM=$(wall_ns)
load_ends_in_error unplugged 10 "the switch ${NET_ADDRESS[s0]}:7470 is gone: .*; waited [1-9](\.[0-9])? s \(TRIB_SWITCH_TIMEOUT is 1 s\)"
errors_after unplugged "$DARK_FROM" >"$TMP/dark"
say "the machine of the switch is off: errors after $(percentiles <"$TMP/dark"), deadline 1000 ms after TCP has found out"
within "errors when the machine of the switch is off" 6500 "$TMP/dark" # of which TCP takes 3 s: two questions must be lost
own_mend s0
net_switches_stop
finish
