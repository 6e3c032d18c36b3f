#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nobox_many.net.sh: no switch and more hosts than there can be roots (32): right sums, and what each link carries: a root's twice the
# tensor of 34 hosts, another's once. Fewer hosts: nobox.net.sh.
. "$(dirname "$0")/network.sh"
MIB=$((1 << 20))
HOSTS=34
ROOTS=32
TENSOR=$((3 * 4 * MIB)) # a call, and two that perf makes for itself

net_star $HOSTS
net_mtu 1500
# 34 hosts have 1,122 neighbours; the kernel learns 1,024 at most, of all namespaces together. Permanent ones do not count.
for ((i = 0; i < HOSTS; i++)); do
    echo "neigh replace ${NET_ADDRESS[w$i]} lladdr $(ip_in "w$i" link show eth0 | awk '/link\/ether/ { print $2 }') nud permanent dev eth0"
done >"$TMP/neighbours"
for ((i = 0; i < HOSTS; i++)); do
    grep -v " ${NET_ADDRESS[w$i]} " "$TMP/neighbours" | ip -n "w$i" -batch -
done

# many_perf JOB OPTIONS...: a rank on every host; sets RANK_PIDS.
many_perf() {
    local job=$1 rank
    shift
    RANK_PIDS=()
    for ((rank = 0; rank < HOSTS; rank++)); do
        TRIB_RENDEZVOUS=${NET_ADDRESS[w0]}:7470 TRIB_JOB=$job TRIB_RANK=$rank TRIB_RANKS=$HOSTS TRIB_DEBUG=INFO \
            nsenter --net="/run/netns/w$rank" "$TRIBUTARY" perf "$@" >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=($!)
    done
    ranks_end 60 0
    check_right "$job" "$TMP/$job.0"
    check_in "$job: roots" "no box: $ROOTS roots" "$TMP/$job".*
}

say "$HOSTS hosts: every collective"
for collective in allreduce reduce-scatter allgather; do
    many_perf $collective -b 8 -e 256K -f 64 -n 2 -w 1 --collective $collective
done
many_perf faults -b 64K -e 64K -n 3 -w 1 --loss 1% --duplicate 1% --reorder 1% --seed 3

# As a rank a root sends all but its own part to the others; as a root it gets its part from all others, and sends it to them: it has
# (ROOTS - 1 + HOSTS - 1) / ROOTS of the tensor each way. Who is none has the tensor once. Up to a tenth more on a busy machine.
say "bytes on every link"
before=()
for ((i = 0; i < HOSTS; i++)); do
    before+=("$(sent_bytes "w$i") $(received_bytes "w$i")")
done
many_perf bytes -b 4M -e 4M -n 1 -w 0
for ((i = 0; i < HOSTS; i++)); do
    was=(${before[i]})
    now=("$(sent_bytes "w$i")" "$(received_bytes "w$i")")
    least=$((i < ROOTS ? TENSOR * (ROOTS + HOSTS - 2) / ROOTS : TENSOR))
    most=$((least * (1408 + 64 + 42) / 1408 * 11 / 10 + MIB / 4))
    for way in 0 1; do
        bytes=$((now[way] - was[way]))
        check "w$i, way $way: $bytes, $least to $most" test "$bytes" -ge "$least" -a "$bytes" -le "$most"
    done
    say "w$i: $(((now[0] - was[0]) * 100 / TENSOR)) % of the tensor out, $(((now[1] - was[1]) * 100 / TENSOR)) % in"
done
finish
