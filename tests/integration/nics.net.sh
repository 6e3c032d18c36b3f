#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nics.net.sh: hosts with two network cards, each on a network of its own: both carry half of the bytes, and two are nearly twice as fast as
# one, at a switch and without; values, loss, a restart, what is said where cards are not named; and hosts with two addresses on one card,
# whose packets leave from the one that they are known by.
. "$(dirname "$0")/network.sh"
HOSTS=3
RATE=100mbit

net_star $HOSTS
net_second $HOSTS
A=10.99.1.1
B=10.98.1.1

# Both ends of every link, of both networks.
slow_down() {
    local i
    net_rate $RATE
    for ((i = 0; i < HOSTS; i++)); do
        tc -n "w$i" qdisc replace dev eth1 root tbf rate $RATE burst 128kb latency 100ms
        tc -n s0 qdisc replace dev "x$i" root tbf rate $RATE burst 128kb latency 100ms
    done
}

# counts NODE DEVICE: bytes in and out.
counts() { in_node "$1" awk -v device="$2:" '$1 == device { print $2, $10 }' /proc/net/dev; }

# The switch of the next test, at these addresses; a second one by another NAME.
serve() {
    local ready="$TMP/ready.nics" addresses=$1
    shift
    : >"$ready"
    nsenter --net=/run/netns/s0 "$TRIBUTARY" switch --listen "$addresses" --http none "$@" --ready-fd 9 9>"$ready" 2>>"$TMP/s0.log" &
    SWITCH_PIDS[${NAME:-s0}]=$!
    wait_for 10 test -s "$ready" || { fail "the switch did not start"; show "$TMP/s0.log"; exit 1; }
}

# hosts_perf JOB NICS OPTIONS...: a rank on every host, at $PLACE (a variable and its value); sets RANK_PIDS.
hosts_perf() {
    local job=$1 nics=$2 rank
    shift 2
    RANK_PIDS=()
    for ((rank = 0; rank < HOSTS; rank++)); do
        env "$PLACE" ${nics:+"TRIB_NICS=$nics"} TRIB_JOB="$job" TRIB_RANK=$rank TRIB_RANKS=$HOSTS TRIB_DEBUG=INFO \
            nsenter --net="/run/netns/w$rank" "$TRIBUTARY" perf "$@" >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=($!)
    done
}

# speed FILE: of its only row, in kB/s.
speed() { awk '$1 == 8388608 { printf "%d\n", 8388608000 / $5 }' "$1"; }

by_one_card() {
    hosts_perf "$1-one" eth0 -b 8M -e 8M -n 3 -w 1 -c 0 --payload 1344
    ranks_end 60 0
}

# by_two_cards JOB: the bytes of each, both ways, and how much faster than by_one_card was.
by_two_cards() {
    local job=$1 node device before=() after=() one two
    for ((node = 0; node < HOSTS; node++)); do
        for device in eth0 eth1; do
            before+=($(counts "w$node" $device))
        done
    done
    hosts_perf "$job-two" eth0,eth1 -b 8M -e 8M -n 3 -w 1 -c 0 --payload 1344
    ranks_end 60 0
    for ((node = 0; node < HOSTS; node++)); do
        for device in eth0 eth1; do
            after+=($(counts "w$node" $device))
        done
    done
    for ((node = 0; node < HOSTS; node++)); do
        local in0=$((after[4 * node] - before[4 * node])) out0=$((after[4 * node + 1] - before[4 * node + 1]))
        local in1=$((after[4 * node + 2] - before[4 * node + 2])) out1=$((after[4 * node + 3] - before[4 * node + 3]))
        say "$job, w$node: in $in0 + $in1, out $out0 + $out1 bytes"
        # Half each, within 3 %: the difference is at most 3 % of the sum.
        check "$job, w$node: in" test $((100 * (in0 > in1 ? in0 - in1 : in1 - in0))) -le $((3 * (in0 + in1)))
        check "$job, w$node: out" test $((100 * (out0 > out1 ? out0 - out1 : out1 - out0))) -le $((3 * (out0 + out1)))
        check "$job, w$node: something" test "$in1" -gt 1000000 -a "$out1" -gt 1000000
    done
    one=$(speed "$TMP/$job-one.0")
    two=$(speed "$TMP/$job-two.0")
    say "$job: $one kB/s by one card, $two kB/s by two"
    check "$job: two cards, 1.85 times one" test $((100 * two)) -ge $((185 * one)) -a "$one" -gt 0
}

# both_cards JOB PLACE
both_cards() {
    PLACE=$2
    by_one_card "$1"
    by_two_cards "$1"
}

say "a switch with two network cards"
serve $A,$B
PLACE=TRIB_SWITCH=$A
hosts_perf values eth0,eth1 -b 8 -e 1M -f 8 -n 3
ranks_end 30 0
check_right "values" "$TMP/values.0"
hosts_perf loss eth0,eth1 -b 256K -e 256K -n 4 --loss 1% --duplicate 1% --reorder 1% --corrupt 0.1% --seed 5
ranks_end 30 0
check_right "loss" "$TMP/loss.0"

say "cards that are not named, or not there"
hosts_perf unnamed "" -b 8 -e 8
ranks_end 20 1
check_in "which to name" "packets to the switch's shard at $B:7471 leave from 10.98.0.[123], and the switch knows this rank as 10.99.0.[123]: .*TRIB_NICS=10.99.0.[123],10.98.0.[123]" \
    "$TMP/unnamed.0"
hosts_perf wrong 10.99.0.1,10.98.0.77 -b 8 -e 8
ranks_end 20 1
check_in "what is there" '"10.98.0.77" is no address of this machine, which has .*eth0 10.99.0.1, eth1 10.98.0.1' "$TMP/wrong.0"
expect 1 "no answer from shard 1, which is at $B:7471" nsenter --net=/run/netns/w0 "$TRIBUTARY" doctor --switch $A --timeout 500ms
expect 0 'every shard answers: 2' env TRIB_NICS=eth0,eth1 nsenter --net=/run/netns/w0 "$TRIBUTARY" doctor --switch $A
ip_in s0 link set x1 down
hosts_perf dead eth0,eth1 -b 8 -e 8
ranks_end 20 1
check_in "which way is dead" "do not pass between here and $B:7471, shard 1 of the switch $A:7470" "$TMP/dead.1"
ip_in s0 link set x1 up

say "the switch is killed and comes back"
hosts_perf again eth0,eth1 -b 4M -e 4M -n 40 -w 1
wait_for 10 net_runs again || fail "it does not run"
sleep 0.3
net_switch_kill s0
serve $A,$B
ranks_end 60 0
check_right "after the restart" "$TMP/again.0"

say "both cards carry half"
slow_down
both_cards switch TRIB_SWITCH=$A
net_switch_kill s0
both_cards nobox TRIB_RENDEZVOUS=10.99.0.1
check_in "a root at each card" "no box: 6 roots" "$TMP"/nobox-two.[0-2]

say "two switches, each on a network of its own: as fast as the links to both"
PLACE=TRIB_SWITCH=$A
serve $A
by_one_card switches
net_switch_kill s0
NAME=second serve $B --lend $A,$B # the other one is of this machine: it comes from either address
serve $A --with $B
by_two_cards switches
check_in "a shard of each" "joined $A:7470, .* 2 shards" "$TMP"/switches-two.[0-2]
hosts_perf values-both eth0,eth1 -b 8 -e 256K -f 8 -n 3
ranks_end 60 0
check_right "values of both" "$TMP/values-both.0"
hosts_perf only-one eth0 -b 8 -e 8
ranks_end 20 0
hosts_perf unnamed-both "" -b 8 -e 8
ranks_end 20 1
check_in "which cards to name" "packets to the switch's shard at $B:7470 leave from 10.98.0.[123], .*TRIB_NICS=10.99.0.[123],10.98.0.[123]" \
    "$TMP/unnamed-both.0"
net_switch_kill second
net_switch_kill s0

say "two addresses on one card: a switch answers from the one that ranks name"
ip_in s0 addr add 10.99.1.9/16 dev own0
serve 0.0.0.0
PLACE=TRIB_SWITCH=10.99.1.9
hosts_perf second "" -b 256K -e 256K -n 3
ranks_end 30 0
check_right "the second address" "$TMP/second.0"
hosts_perf second-unicast "" -b 256K -e 256K -n 3 --no-multicast
ranks_end 30 0
check_right "the second address, unicast" "$TMP/second-unicast.0"
net_switch_kill s0

say "rank 0, by a name that is the loopback there, is known by its second address"
ip_in w0 addr add 10.99.0.99/16 dev eth0
cp /etc/hosts "$TMP/hosts"
echo "127.0.1.1 node-0" >>"$TMP/hosts"
mount --bind "$TMP/hosts" /etc/hosts
PLACE=TRIB_RENDEZVOUS=node-0
RANK_PIDS=()
for ((rank = 0; rank < HOSTS; rank++)); do
    env "$PLACE" TRIB_JOB=name TRIB_RANK=$rank TRIB_RANKS=$HOSTS TRIB_DEBUG=INFO \
        nsenter --net="/run/netns/w$rank" "$TRIBUTARY" perf -b 64K -e 1M -f 16 -n 3 >"$TMP/name.$rank" 2>&1 &
    RANK_PIDS+=($!)
    [ $rank -eq 0 ] || continue
    wait_for 5 grep -qs 'sessions on' "$TMP/name.0" || fail "rank 0 does not listen"
    echo "10.99.0.99 node-0" >"$TMP/hosts"
done
ranks_end 20 0
check_right "the second address of rank 0" "$TMP/name.0"
umount /etc/hosts
finish
