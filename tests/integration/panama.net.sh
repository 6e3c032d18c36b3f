#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# panama.net.sh: scheme panama on links that are limited: two trees through two switches, one of which is slower, dealt in turn and by weights;
# links that two jobs share; a link that is shared with a TCP flow of the kernel; values, loss, a restart; DSCP and ECN of both ends; what people see. Values are checked.
. "$(dirname "$0")/network.sh"
HOSTS=2
SLOW=40mbit
FAST=80mbit
SCHEME=${SCHEME:-panama}
HERE=$(dirname "$0")

net_star $HOSTS
net_second $HOSTS
A=10.99.1.1
B=10.98.1.1

# rate A_RATE B_RATE: of the links of both networks, both ends.
rate() {
    local i
    for ((i = 0; i < HOSTS; i++)); do
        tc -n "w$i" qdisc replace dev eth0 root tbf rate "$1" burst 32kb latency 50ms
        tc -n s0 qdisc replace dev "w$i" root tbf rate "$1" burst 32kb latency 50ms
        tc -n "w$i" qdisc replace dev eth1 root tbf rate "$2" burst 32kb latency 50ms
        tc -n s0 qdisc replace dev "x$i" root tbf rate "$2" burst 32kb latency 50ms
    done
}

# serve NAME ADDRESS OPTIONS...
serve() {
    local name=$1 address=$2 ready="$TMP/ready.$1"
    shift 2
    : >"$ready"
    nsenter --net=/run/netns/s0 "$TRIBUTARY" switch --listen "$address" "$@" --ready-fd 9 9>"$ready" 2>>"$TMP/$name.log" &
    SWITCH_PIDS[$name]=$!
    wait_for 10 test -s "$ready" || { fail "the switch did not start"; show "$TMP/$name.log"; exit 1; }
}

# perf JOB SWITCH NICS OPTIONS...: a rank on every host; sets RANK_PIDS.
perf() {
    local job=$1 switch=$2 nics=$3 rank
    shift 3
    RANK_PIDS=()
    for ((rank = 0; rank < HOSTS; rank++)); do
        TRIB_SWITCH=$switch TRIB_NICS=$nics TRIB_JOB="$job" TRIB_RANK=$rank TRIB_RANKS=$HOSTS TRIB_DEBUG=INFO \
            nsenter --net="/run/netns/w$rank" "$TRIBUTARY" perf --scheme "$SCHEME" "$@" >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=($!)
    done
}

# speed FILE: of its only row, in kB/s.
speed() { awk '$1 == 4194304 { printf "%d\n", 4194304000 / $5 }' "$1"; }
# timed JOB SWITCH NICS: its speed, in SPEED.
timed() {
    perf "$1" "$2" "$3" -b 4M -e 4M -n 4 -w 1 --payload 1344
    ranks_end 60 0
    check_right "$1" "$TMP/$1.0"
    SPEED=$(speed "$TMP/$1.0")
    say "$1: $SPEED kB/s"
}

# reaches KB/S JOB SWITCH NICS: measures; true if the speed is so high.
reaches() {
    timed "${@:2}"
    [ "$SPEED" -ge "$1" ]
}

say "two trees through two switches, one of half the rate"
rate $FAST $SLOW
serve only-a $A --http none
timed fast $A eth0
fast=$SPEED
net_switch_kill only-a
serve b $B --http none --lend $A,$B # the other one is of this machine: it comes from either address
timed slow $B eth1
slow=$SPEED
serve a $A --http none --with $B
check "the slower one sums" test "$slow" -gt 0
thrice "in turn: 90 % of twice the slower one" reaches $(((90 * 2 * slow + 99) / 100)) turns $A eth0,eth1
net_switch_kill a
serve a $A --http none --with $B --weight 2
thrice "by weights: 90 % of both" reaches $(((90 * (fast + slow) + 99) / 100)) weights $A eth0,eth1
net_switch_kill a
net_switch_kill b

say "links that two jobs share"
rate $FAST $FAST
serve a $A --http none
perf one $A eth0 -b 4M -e 4M -n 10 -w 1 --payload 1344
pids=("${RANK_PIDS[@]}")
perf two $A eth0 -b 4M -e 4M -n 10 -w 1 --payload 1344
RANK_PIDS+=("${pids[@]}")
ranks_end 90 0
check_right one "$TMP/one.0"
check_right two "$TMP/two.0"
one=$(speed "$TMP/one.0")
two=$(speed "$TMP/two.0")
more=$((one > two ? one : two))
less=$((one > two ? two : one)) # a median: most of its calls shared, even if it went on alone at the end
say "two jobs: $one and $two kB/s, one alone $fast"
check "each of two jobs has 40 to 60 % of the links" test $((100 * less)) -ge $((40 * fast)) -a $((100 * more)) -le $((60 * fast))
net_switch_kill a

say "a link that is shared with a TCP flow of the kernel"
# between FILE FROM TO: bytes in a millisecond of that time, which is kB/s.
between() {
    awk -v from="$2" -v to="$3" '$1 >= from && $1 <= to { if (!t0) { t0 = $1; b0 = $2 } t = $1; b = $2 }
        END { printf "%d\n", (t > t0 ? (b - b0) / (t - t0) : 0) }' "$1"
}

# shared SCHEME: sets TCP and INA to what the flow and the job have of rank 0's way up, in kB/s, while both run.
shared() {
    local from to out
    rate $FAST $FAST
    serve a $A --http none
    : >"$TMP/flow"
    for node in s0 w0; do
        in_node $node sh -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
    done
    nsenter --net=/run/netns/s0 python3 "$HERE/tcp_flow.py" receive $A 5001 "$TMP/flow" &
    local receiver=$!
    wait_for 10 flow_listens || fail "nobody takes the TCP flow"
    nsenter --net=/run/netns/w0 python3 "$HERE/tcp_flow.py" send $A 5001 2>/dev/null &
    local sender=$!
    wait_for 10 test -s "$TMP/flow" || fail "the TCP flow does not begin"
    sleep 0.5
    SCHEME=$1 perf "shared-$1" $A eth0 -b 4M -e 4M -n 8 -w 0 --payload 1344
    wait_for 10 grep -qs "job shared-$1 runs" "$TMP/a.log" || fail "shared-$1 does not run"
    from=$(now_ms)
    out=$(sent_bytes w0)
    ranks_end 60 0
    to=$(now_ms)
    check_right "shared-$1" "$TMP/shared-$1.0"
    TCP=$(between "$TMP/flow" "$from" "$to")
    INA=$(((8 * 4194304) / (to - from)))
    kill "$sender" "$receiver"
    wait "$sender" "$receiver" 2>/dev/null
    net_switch_kill a
    say "$1: TCP $TCP kB/s, job $INA kB/s, of $LINK"
}
flow_listens() { in_node s0 grep -qs ':1389 ' /proc/net/tcp; }
LINK=10000
shared switchml
shared "$SCHEME"
check "TCP keeps 35 % of the link beside $SCHEME" test $((100 * TCP)) -ge $((35 * LINK))
check "and the job is not starved" test $((100 * INA)) -ge $((10 * LINK))
check_in "marks are heard" '^# rank 0: told [0-9]+ times, over [0-9]+ results, that the way is congested' "$TMP/shared-$SCHEME.0"

say "values, loss, a restart, DSCP and ECN of both ends"
serve a $A --http none --dscp 56
in_node w0 python3 "$HERE/ip_classes.py" eth0 7470 >"$TMP/classes" 2>&1 &
wait_for 10 grep -qs '^listening' "$TMP/classes" || fail "nobody listens to packets"
TRIB_DSCP=46 perf values $A eth0 -b 8 -e 256K -f 8 -n 3
ranks_end 30 0
check_right "values" "$TMP/values.0"
wait_for 25 grep -qs '^[0-9]* packets' "$TMP/classes" || fail "nobody has looked at packets"
check_in "the switch's packets" '^in: DSCP 56 ECT\(0\)$' "$TMP/classes"
check_in "the rank's packets" '^out: DSCP 46 ECT\(0\)$' "$TMP/classes"
perf lost $A eth0 -b 256K -e 256K -n 4 --loss 1% --duplicate 1% --reorder 1% --corrupt 0.1% --seed 5
ranks_end 30 0
check_right "loss" "$TMP/lost.0"
perf again $A eth0 -b 1M -e 1M -n 40 -w 1
wait_for 10 grep -qs "job again runs: all" "$TMP/a.log" || fail "it does not run"
sleep 0.3
net_switch_kill a
serve a $A --http none
ranks_end 60 0
check_right "after the restart" "$TMP/again.0"
net_switch_kill a
finish
