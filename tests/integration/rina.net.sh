#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rina.net.sh: scheme rina in racks with a plain bridge between them: bytes on every link, against what the formulas say and a ring sends.
#
#   G racks with a root for each: the link of a rack carries 2 (G-1)/G of the model in each direction, that of a worker the model once.
#   A ring of N workers: both carry 2 (N-1)/N of it.
#   A worker with a switch on its own host is a rack of one: its link is that of a rack.
. "$(dirname "$0")/network.sh"
RACKS=4
EACH=2
SIZE=$((4 << 20))
CALLS=10
PACKET=1408

net_racks $RACKS $EACH
net_rate 400mbit
NODES=("${WORKERS[@]}" "${SWITCHES[@]}")
net_switches_start --threads $RACKS

# passes JOB CALLS OPTIONS...: runs it, and adds the bytes out of and into each node, times SIGN.
declare -A OUT INTO
passes() {
    local job=$1 calls=$2 node
    shift 2
    declare -A out into
    for node in "${NODES[@]}"; do
        out[$node]=$(sent_bytes "$node") into[$node]=$(received_bytes "$node")
    done
    net_perf "$job" -b $SIZE -e $SIZE -w 0 -n "$calls" "$@"
    ranks_end 60 0
    check_right "$job" "$TMP/$job.0"
    for node in "${NODES[@]}"; do
        OUT[$node]=$((OUT[$node] + SIGN * ($(sent_bytes "$node") - out[$node])))
        INTO[$node]=$((INTO[$node] + SIGN * ($(received_bytes "$node") - into[$node])))
    done
}

# carried JOB OPTIONS...: sets BYTES[NODE], of one call: a long run less a short one.
declare -A BYTES
carried() {
    local job=$1 node
    shift
    OUT=() INTO=()
    SIGN=-1 passes "$job" 2 "$@"
    SIGN=1 passes "$job" $((CALLS + 2)) "$@"
    for node in "${NODES[@]}"; do
        BYTES[$node]="$((OUT[$node] / CALLS)) $((INTO[$node] / CALLS))"
    done
}

# about NODE TIMES: each direction of its link carries so many times the model, and headers: at least those of each train, at most those of
# each packet and 2 %.
about() {
    local node=$1
    check "$node carries $2 of the model: ${BYTES[$node]}" \
        awk -v size=$SIZE -v times="$2" -v packet=$PACKET 'NR == 1 {
            least = 0.99 * times * size; most = 1.02 * times * size * (packet + 64 + 42) / packet
            exit !($1 >= least && $1 <= most && $2 >= least && $2 <= most) }' <<<"${BYTES[$node]}"
}

say "four racks of two, the last three with results by multicast"
carried rina --scheme rina
TRIB_DEBUG=INFO net_perf cast --scheme rina -b 1M -e 1M -n 3
ranks_end 30 0
check_right cast "$TMP/cast.0"
for rank in 2 3 4 5 6 7; do check_in "rank $rank" "rank $rank of 8: .* results by multicast" "$TMP/cast.$rank"; done
for name in "${WORKERS[@]}"; do about "$name" 1; done
for name in "${SWITCHES[@]}"; do about "$name" 1.5; done

say "the same workers as a ring"
carried ring --scheme ring --rendezvous "${NET_ADDRESS[w0]}:7999"
for name in "${WORKERS[@]}"; do about "$name" 1.75; done
for name in "${SWITCHES[@]}"; do about "$name" 1.75; done

say "one tree of switches, below that of the first rack"
carried tree --scheme panama
for name in s2 s3 s4; do about "$name" 1; done
about s1 3
net_switches_stop

say "two racks of two, and four workers whose racks do not add: six links in the chains"
SWITCHES=(s1 s2)
net_alone w4 w5 w6 w7
net_switches_start --threads 6
carried mixed --scheme rina
for name in w0 w1 w2 w3; do about "$name" 1; done
for name in "${SWITCHES[@]}"; do about "$name" 1.667; done
net_switches_stop

say "no rack adds: eight links, as many bytes as in a ring"
SWITCHES=()
net_alone "${WORKERS[@]}"
net_switches_start --threads $((RACKS * EACH))
carried alone --scheme rina
for name in "${WORKERS[@]}"; do about "$name" 1.75; done
net_switches_stop

say "a rack's switch is gone for good: hosts with switches of their own go on as racks of one"
SWITCHES=(s1 s2)
net_alone w4 w5
WORKERS=(w0 w1 w2 w3 w4 w5)
NET_HOME=() # they join the rack's switch first
net_switches_start --threads 4
net_switch_start s3 --threads 4
net_perf gone --scheme rina -b 1M -e 1M -w 0 -n 250
wait_for 10 net_runs gone
net_switch_kill s3
for rank in 4 5; do
    check "rank $rank goes on at its host" \
        wait_for 10 holds "$TMP/gone.$rank" "going on at the switch ${NET_ADDRESS[w$rank]}:7470"
done
net_switch_kill w4
check "rank 4 goes on at the root" wait_for 10 holds "$TMP/gone.4" "going on at the switch ${NET_ADDRESS[s1]}:7470"
ranks_end 60 0
check_right gone "$TMP/gone.0"
net_switch_start w4
net_switch_start s3
net_perf back --scheme rina -b 8 -e 1M -f 8 -w 0 -n 3
ranks_end 30 0
check_right back "$TMP/back.0"
check_in "the next job has it again" "job back of the parent" "$TMP/s3.log"
SWITCHES+=(s3)
net_switches_stop
finish
