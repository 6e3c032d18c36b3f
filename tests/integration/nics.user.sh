#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nics.user.sh: several addresses at once, on the loopback: a switch that listens at a list of them, ranks that name their network cards,
# ranks that are roots at each of theirs; values, faults, restarts, relays, IPv6, and what is said when a list cannot be.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
A=127.0.0.1
B=127.0.0.2

say "a switch at two addresses: a shard at each, results by multicast and not"
switch_start --listen $A:0,$B:0
check_in "says where it is" "also at $B: shards t with t mod 2 is 1" "$SWITCH_LOG"
TRIB_NICS=$A,$B ranks_start two 3 -b 8 -e 1M -f 8 -n 3
ranks_end 30 0
check_right "two addresses" "$TMP/two.0"
check_in "names the cards" "network cards of rank 0: $A,$B" "$TMP/two.0"
TRIB_NICS=$A,$B TRIB_MULTICAST=0 ranks_start unicast 3 -b 1M -e 1M -n 3
ranks_end 30 0
check_right "unicast" "$TMP/unicast.0"
TRIB_NICS=$A,$B ranks_start faults 3 -b 256K -e 256K -n 4 --loss 1% --duplicate 1% --reorder 1% --corrupt 0.1% --seed 5
ranks_end 60 0
check_right "faults" "$TMP/faults.0"
for collective in broadcast reduce allgather reduce-scatter; do
    TRIB_NICS=$A,$B ranks_start "$collective" 3 -b 300K -e 300K -n 2 --collective "$collective"
    ranks_end 30 0
    check_right "$collective" "$TMP/$collective.0"
done

say "sessions are taken at either address, and ranks need not have as many cards"
TRIB_SWITCH=$B:$SWITCH_PORT TRIB_NICS=$B,$A ranks_start other 2 -b 1M -e 1M -n 2
ranks_end 30 0
check_right "by the second address" "$TMP/other.0"
TRIB_NICS=lo ranks_start one 2 -b 1M -e 1M -n 2
ranks_end 30 0
check_right "one card, by its interface" "$TMP/one.0"
ranks_start none 2 -b 1M -e 1M -n 2
ranks_end 30 0
check_right "none is named, and the routes lead to both by one" "$TMP/none.0"
TRIB_NICS=$A,$B expect 0 "UDP +every shard answers: 2" "$T" doctor --switch "$A:$SWITCH_PORT"

say "killed and started again while ranks work"
TRIB_NICS=$A,$B ranks_start again 3 -b 4M -e 4M -n 60 -w 1
wait_for 10 runs_job again || fail "it does not run"
sleep 0.3
switch_kill
switch_start --listen "$A:$SWITCH_PORT,$B:$SWITCH_PORT"
export TRIB_SWITCH=$A:$SWITCH_PORT
ranks_end 60 0
check_right "after the restart" "$TMP/again.0"
switch_stop

say "a switch at every address answers from the one that a rank came to"
switch_start --listen 0.0.0.0:0
TRIB_SWITCH=127.0.0.3:$SWITCH_PORT ranks_start any 3 -b 1M -e 1M -n 3
ranks_end 30 0
check_right "any address" "$TMP/any.0"
TRIB_SWITCH=127.0.0.3:$SWITCH_PORT TRIB_NICS=127.0.0.4,127.0.0.5 ranks_start cards 3 -b 1M -e 1M -n 3
ranks_end 30 0
check_right "any address, several cards" "$TMP/cards.0"
switch_stop

say "a relay at two addresses below a switch at two addresses"
SWITCH_LOG=$TMP/top.log
switch_start --listen $A:0,$B:0
TOP_PID=$SWITCH_PID
TOP_PORT=$SWITCH_PORT
SWITCH_LOG=$TMP/relay.log
switch_start --listen 127.0.0.3:0,127.0.0.4:0 --parent "$B:$TOP_PORT"
export TRIB_SWITCH=127.0.0.3:$SWITCH_PORT
RANK_PIDS=()
TRIB_NICS=$A,$B rank_start tree 3 0 -b 1M -e 1M -n 3
TRIB_NICS=$A,$B rank_start tree 3 1 -b 1M -e 1M -n 3
TRIB_SWITCH=$A:$TOP_PORT TRIB_NICS=$A,$B rank_start tree 3 2 -b 1M -e 1M -n 3
ranks_end 30 0
check_right "tree" "$TMP/tree.0"
switch_stop
SWITCH_PID=$TOP_PID
switch_stop

say "no switch: each rank is a root at each of its cards"
unset TRIB_SWITCH
quiet_port
# hosts_start JOB OPTIONS...: three ranks that are three hosts, of two cards each.
hosts_start() {
    local job=$1 rank
    shift
    RANK_PIDS=()
    for rank in 0 1 2; do
        TRIB_RENDEZVOUS=$A:$QUIET_PORT TRIB_HOSTID=h$rank TRIB_NICS=127.0.1.$((rank + 1)),127.0.2.$((rank + 1)) TRIB_DEBUG=INFO \
            rank_start "$job" 3 $rank "$@"
    done
}
hosts_start hosts -b 8 -e 1M -f 8 -n 3
ranks_end 30 0
check_right "hosts" "$TMP/hosts.0"
check_in "six roots" 'no box: 6 roots' "$TMP"/hosts.[0-2]
hosts_start lossy -b 256K -e 256K -n 4 --loss 1% --seed 5
ranks_end 60 0
check_right "hosts, loss" "$TMP/lossy.0"
hosts_start ring -b 256K -e 256K -n 2 --scheme ring
ranks_end 30 0
check_right "a ring uses the first card" "$TMP/ring.0"
check_in "and says so" 'network cards 127.0.1.1,127.0.2.1: scheme ring uses the first one only' "$TMP/ring.0"

say "ranks of one host, summed there, whose leader sends by both cards"
# pairs_start JOB RENDEZVOUS OPTIONS...: four ranks on two hosts; RENDEZVOUS "": at the switch.
pairs_start() {
    local job=$1 place=$2 rank
    shift 2
    RANK_PIDS=()
    for rank in 0 1 2 3; do
        export TRIB_NICS=127.0.1.$((rank / 2 + 1)),127.0.2.$((rank / 2 + 1)) TRIB_HOSTID=h$((rank / 2)) TRIB_LEVEL0=1
        TRIB_RENDEZVOUS=$place rank_start "$job" 4 $rank "$@"
    done
    unset TRIB_NICS TRIB_HOSTID
    export TRIB_LEVEL0=0
}
pairs_start pairs $A:$QUIET_PORT -b 8 -e 1M -f 8 -n 3
ranks_end 30 0
check_right "pairs without a switch" "$TMP/pairs.0"
check_in "four roots" 'no box: 4 roots' "$TMP/pairs.0"

say "a switch at two addresses that is gone for good: its ranks go on at their own cards"
switch_start --listen $A:0,$B:0
RANK_PIDS=()
for rank in 0 1 2; do
    TRIB_FALLBACK=1 TRIB_SWITCH_TIMEOUT=500ms TRIB_HOSTID=h$rank TRIB_NICS=127.0.1.$((rank + 1)),127.0.2.$((rank + 1)) \
        rank_start gone 3 $rank -b 4M -e 4M -n 100 -w 1
done
wait_for 10 runs_job gone || fail "it does not run"
sleep 0.2
switch_kill
unset TRIB_SWITCH
ranks_end 60 0
check_right "after the end of the switch" "$TMP/gone.0"

say "IPv6"
if ip -6 addr show dev lo 2>/dev/null | grep -q ::1; then
    switch_start --listen '[::1]:0'
    TRIB_SWITCH=[::1]:$SWITCH_PORT TRIB_NICS=::1 ranks_start six 2 -b 1M -e 1M -n 2
    ranks_end 30 0
    check_right "IPv6" "$TMP/six.0"
    TRIB_SWITCH=[::1]:$SWITCH_PORT TRIB_NICS=$A expect 1 "\"$A\" is no IPv6 address, as the place to meet is; this machine has .*lo ::1" \
        "$T" perf -b 8 -e 8
    switch_stop
else
    say "no IPv6 on the loopback here"
fi

say "lists that cannot be"
expect_line 2 "$A:7470 and \"::1\": addresses of a list must all be IPv4, or all IPv6" "$T" switch --listen $A,::1 --check-config
expect_line 2 '"127.0.0.1:7471" is named twice' "$T" switch --listen $A:7470,$A:7471 --check-config
expect_line 2 "\"$B:7471\" has another port than the first address: all addresses need port 7470" "$T" switch --listen $A,$B:7471 --check-config
expect_line 2 '"0.0.0.0": 0.0.0.0 and :: mean all addresses' "$T" switch --listen $A,0.0.0.0 --check-config
expect_line 2 '--listen: "" is not an address' "$T" switch --listen $A,, --check-config
expect_line 2 '192.0.2.7:7470 is no address of this machine, which has .*lo 127.0.0.1' "$T" switch --listen $A,192.0.2.7 --check-config
expect_line 2 '--threads: 1 shards for 2 addresses' "$T" switch --listen $A,$B --threads 1 --check-config
expect_line 0 'configuration is good' "$T" switch --listen $A,$B --threads 3 --check-config
printf 'listen = "%s,%s"\n' $A $B >"$TMP/conf"
expect_line 0 'configuration is good' "$T" switch --config "$TMP/conf" --check-config
switch_start
expect 1 'network cards \(TRIB_NICS\): "192.0.2.7" is no address of this machine, which has .*lo 127.0.0.1' \
    "$T" perf --switch "$TRIB_SWITCH" --nics 192.0.2.7 -b 8 -e 8
expect 1 '"eth99" is neither an interface nor an address here; this machine has .*lo 127.0.0.1' \
    "$T" perf --switch "$TRIB_SWITCH" --nics eth99 -b 8 -e 8
expect 0 'network cards +.*lo 127.0.0.1' "$T" doctor --offline
switch_stop
finish
