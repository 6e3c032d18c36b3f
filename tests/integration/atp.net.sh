#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# atp.net.sh: a server and two combiners on links of their own: a combiner that is killed, one whose machine is off, and ranks that cannot
# reach the server themselves. Every value is looked at.
. "$(dirname "$0")/network.sh"
export TRIB_SCHEME=atp TRIB_SWITCH_TIMEOUT=$((2 * PATIENCE))s TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_DEBUG=INFO
net_tree 4 1 2 # w0 and w1 at s1, w2 and w3 at s2; the server is s0
net_mtu 1500
net_switch_start s0 -t 2
net_switch_start s1 -t 2 --combine
net_switch_start s2 -t 2 --combine

# goes JOB RANK...: these ranks have gone to the server.
goes() {
    local job=$1 rank
    shift
    for rank in "$@"; do
        wait_for 20 holds "$TMP/$job.$rank" "going on at the switch ${NET_ADDRESS[s0]}:7470" ||
            { fail "$job: rank $rank does not go on at the server"; show "$TMP/$job.$rank"; }
    done
}

# begin JOB OPTIONS...: it runs.
begin() {
    net_perf "$@"
    wait_for 10 net_runs "$1" || { fail "$1 does not run"; show "$TMP/$1".*; }
    sleep 0.3
}

say "killed: packets come from the address by which the server knows the rank"
begin killed -b 1M -e 1M -n 300 --loss 0.5%
net_switch_kill s1
goes killed 0 1
ranks_end 60 0
check_right "killed" "$TMP/killed.0"
net_switch_start s1

say "its machine is off: no connection is reset"
begin off -b 1M -e 1M -n 300
ip_in s1 link set own0 down
goes off 0 1
ranks_end 60 0
check_right "off" "$TMP/off.0"
net_switch_kill s1
ip_in s1 link set own0 up
net_switch_start s1

say "no way to the server: as without one, and the error names both; a combiner that is back in time is enough"
for node in w0 w1; do in_node "$node" ip route add blackhole "${NET_ADDRESS[s0]}/32"; done
begin back -b 1M -e 1M -n 300
net_switch_kill s1
sleep 0.8
net_switch_start s1
ranks_end 60 0
check_right "back" "$TMP/back.0"
begin nowhere -b 1M -e 1M -n 100000
net_switch_kill s1
ranks_end 60 1
check_in "names both" "switch ${NET_ADDRESS[s1]}:7470 is gone: .*; nor does switch ${NET_ADDRESS[s0]}:7470 take this rank: no way leads to" \
    "$TMP"/nowhere.[01]
finish
