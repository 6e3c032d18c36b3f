#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nobox.net.sh: no switch: hosts on links of their own sum themselves. Right sums at both MTUs, a ring's bytes on every link and no more,
# a hosts file that gives the own name a loopback address, torchrun, a path that is too narrow, a cable that is cut.
. "$(dirname "$0")/network.sh"
MIB=$((1 << 20))
HOSTS=4
PORT=7470

net_star $HOSTS
net_mtu 1500

# host_rank JOB RANK NODE COMMAND...: sets PID.
host_rank() {
    local job=$1 rank=$2 node=$3
    shift 3
    TRIB_RENDEZVOUS=${RENDEZVOUS:-${NET_ADDRESS[w0]}:$PORT} TRIB_JOB=$job TRIB_RANK=$rank TRIB_RANKS=${RANKS:-$HOSTS} TRIB_DEBUG=INFO \
        nsenter --net="/run/netns/$node" "$@" >"$TMP/$job.$rank" 2>&1 &
    PID=$!
}

# hosts_perf JOB OPTIONS...: a rank on every host; sets RANK_PIDS.
hosts_perf() {
    local job=$1 rank
    shift
    RANK_PIDS=()
    for rank in "${!WORKERS[@]}"; do
        host_rank "$job" "$rank" "${WORKERS[rank]}" "$TRIBUTARY" perf "$@"
        RANK_PIDS+=("$PID")
    done
}

say "MTU 1500: hosts are told apart by themselves"
hosts_perf small -b 8 -e 1M -f 8 -n 3 -w 1
ranks_end 30 0
check_right "MTU 1500" "$TMP/small.0"
check_in "four roots" 'no box: 4 roots' "$TMP"/small.[0-3]
hosts_perf faults -b 256K -e 256K -n 4 -w 1 --loss 1% --duplicate 1% --reorder 1% --corrupt 0.1% --seed 5
ranks_end 30 0
check_right "MTU 1500 with faults" "$TMP/faults.0"

say "two ranks on each host: still four roots"
RANK_PIDS=()
for ((rank = 0; rank < 2 * HOSTS; rank++)); do
    RANKS=$((2 * HOSTS)) host_rank pairs $rank "w$((rank / 2))" "$TRIBUTARY" perf -b 64K -e 1M -f 16 -n 3
    RANK_PIDS+=("$PID")
done
ranks_end 30 0
check_right "pairs" "$TMP/pairs.0"
check_in "four roots for eight ranks" 'no box: 4 roots' "$TMP/pairs.0"

# bytes_on_the_link NAME PAYLOAD PER_MILLE OPTIONS...: in 20 calls of 8 MiB (two of them are checks) each link carries PER_MILLE of the tensor's bytes, with headers, in each
# direction: a ring's. Up to a tenth more: on a busy machine ranks come late and are asked again.
bytes_on_the_link() {
    local name=$1 payload=$2 share=$3 least most out in node before_out=() before_in=()
    shift 3
    least=$((160 * MIB * share / 1000))
    most=$((least * (payload + 64 + 42) / payload * 11 / 10))
    for node in "${WORKERS[@]}"; do
        before_out+=("$(sent_bytes "$node")")
        before_in+=("$(received_bytes "$node")")
    done
    hosts_perf "$name" -b 8M -e 8M -n 17 -w 1 -c 0 --payload "$payload" "$@"
    ranks_end 60 0
    for node in "${!WORKERS[@]}"; do
        out=$(($(sent_bytes "w$node") - before_out[node]))
        in=$(($(received_bytes "w$node") - before_in[node]))
        say "$name, w$node: $((out / MIB)) MiB out, $((in / MIB)) MiB in for 160 MiB of tensor"
        check "$name, w$node: $out out, $least to $most" test "$out" -ge "$least" -a "$out" -le "$most"
        check "$name, w$node: $in in, $least to $most" test "$in" -ge "$least" -a "$in" -le "$most"
    done
}
say "bytes on every link: 2(N-1)/N of an allreduce, (N-1)/N of a gather"
bytes_on_the_link bytes-1500 1408 1500

say "a hosts file that gives rank 0's own name a loopback address"
RENDEZVOUS=node-0:$PORT
cp /etc/hosts "$TMP/hosts"
echo "127.0.1.1 node-0" >>"$TMP/hosts"
mount --bind "$TMP/hosts" /etc/hosts
host_rank names 0 w0 "$TRIBUTARY" perf -b 64K -e 1M -f 16 -n 3
RANK_PIDS=("$PID")
wait_for 5 grep -qs 'sessions on' "$TMP/names.0" || fail "rank 0 does not listen"
echo "${NET_ADDRESS[w0]} node-0" >"$TMP/hosts"
for rank in 1 2 3; do
    host_rank names $rank w$rank "$TRIBUTARY" perf -b 64K -e 1M -f 16 -n 3
    RANK_PIDS+=("$PID")
done
ranks_end 20 0
check_right "names" "$TMP/names.0"
umount /etc/hosts
unset RENDEZVOUS

say "torchrun over hosts names the rendezvous by itself"
RANK_PIDS=()
for rank in 0 1 2 3; do
    RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=${NET_ADDRESS[w0]} MASTER_PORT=29500 TRIB_JOB=torch \
        nsenter --net="/run/netns/w$rank" "$TRIBUTARY" perf -b 64K -e 64K -n 2 >"$TMP/torch.$rank" 2>&1 &
    RANK_PIDS+=($!)
done
ranks_end 20 0
check_right "torchrun" "$TMP/torch.0"
check_in "no box" 'no box: 4 roots' "$TMP/torch.0"

say "a path too narrow in the middle: every rank is told, which rank and which root"
far_end w2 mtu 1000
hosts_perf narrow -b 8 -e 8
ranks_end 10 1
check_in "names rank, payload and root" 'packets of 1408 bytes payload do not pass between it and the root at 10.99.0.[0-9]+:[0-9]+: check the path MTU' \
    "$TMP"/narrow.[0-3]
far_end w2 mtu 1500

say "a host's cable is cut: the others wait; within its time they are told"
hosts_perf cut -b 4M -e 4M -n 100000 -w 1
wait_for 10 grep -qs 'no box: 4 roots, window' "$TMP/cut.3" || fail "not all are in"
sleep 0.3
link_cut w2
sleep 1
link_mend w2
sleep 1
for pid in "${RANK_PIDS[@]}"; do
    check "rank with pid $pid goes on" kill -0 "$pid"
done
START=$(now_ms)
kill -KILL "${RANK_PIDS[2]}"
wait "${RANK_PIDS[2]}" 2>/dev/null
RANK_PIDS=("${RANK_PIDS[0]}" "${RANK_PIDS[1]}" "${RANK_PIDS[3]}")
ranks_end 5 1
known_within 1000 "$START" "$TMP"/cut.[013]
check_in "names the dead" 'rank 2 \(10.99.0.3:[0-9]+\) is gone' "$TMP"/cut.[013]

say "MTU 9000"
net_mtu 9000
hosts_perf jumbo -b 8 -e 4M -f 8 -n 3 -w 1 --payload 8192
ranks_end 30 0
check_right "MTU 9000" "$TMP/jumbo.0"
bytes_on_the_link bytes-9000 8192 1500
bytes_on_the_link gather-9000 8192 750 --collective allgather
bytes_on_the_link scatter-9000 8192 750 --collective reduce-scatter
finish
