#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# colocated.net.sh: a server on each worker's host, and a combiner in each of two racks (BytePS's N-to-N behind ATP's combiners), on links of
# their own: the bytes on links, then a combiner, a rank and a whole host that are killed.
#
#               s0                  a bridge without a daemon
#            /      \
#          s1        s2             combiners
#        / | \      / | \
#      w0  w1 w2  w3  w4 w5         a rank and a server on each; the servers of w1 to w5 lend their shards to the one of w0
. "$(dirname "$0")/network.sh"
export TRIB_SCHEME=atp TRIB_SWITCH_TIMEOUT=$((2 * PATIENCE))s TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_DEBUG=INFO
net_racks 2 3
net_mtu 1500
net_rate 200mbit
for node in "${WORKERS[@]}"; do NET_PARENT[$node]=; done
NET_PARENT[s1]=w0
NET_PARENT[s2]=w0
OTHERS=
for node in "${WORKERS[@]:1}"; do
    net_switch_start "$node" --lend "${NET_ADDRESS[w0]}"
    OTHERS+=,${NET_ADDRESS[$node]}
done
net_switch_start w0 --with "${OTHERS#,}"
for node in s1 s2; do net_switch_start "$node" --combine --threads "${#WORKERS[@]}"; done

# begin JOB OPTIONS...: it runs.
begin() {
    net_perf "$@"
    wait_for 10 holds "$TMP/w0.log" "job $1 runs: all" || { fail "$1 does not run"; show "$TMP/$1".*; }
    sleep 0.3
}

rank_kill() { # RANK
    {
        kill -KILL "${RANK_PIDS[$1]}"
        wait "${RANK_PIDS[$1]}"
    } 2>/dev/null # or bash says "Killed"
    unset "RANK_PIDS[$1]"
}

declare -A OUT IN
count() { # of a host in each rack, and of the racks
    local node
    for node in w0 w4 s1 s2; do
        OUT[$node]=$(($(sent_bytes "$node") - ${OUT[$node]:-0}))
        IN[$node]=$(($(received_bytes "$node") - ${IN[$node]:-0}))
    done
}

# bytes SCHEME: of some calls, OUT and IN.
bytes() {
    OUT=() IN=()
    count
    net_perf "bytes-$1" -b 3M -e 3M -n 2 -w 0 -c 0 --scheme "$1"
    ranks_end 60 0
    count
}

# within WHAT BYTES LEAST MOST: in hundredths of a third of the tensors' bytes M.
within() {
    local least=$((M * $3 / 300)) most=$((M * $4 / 300))
    check "$1: $2 bytes, not from $least to $most" test "$2" -ge "$least" -a "$2" -le "$most"
}

# A host sends M to its combiner, and as one of 6 servers its 6th of the results to both combiners: 4/3 M. It receives the results, M, and its
# 6th of the parts: from each rank, M, or from each combiner, M/3. The uplink of a rack carries the parts for the other rack's servers, of 3
# ranks or of its combiner, and the results of its own servers for the other combiner: 2 M, or M. Headers add 4.5 to 7.5 %. In a call of atp
# the ranks first agree on exponents, and a PROBE sends a row on before its sum is complete.
say "bytes on links: ps, by the closed form; atp, where combiners add"
bytes ps
M=$(($(sed -n 's/.*has closed.*, results \([0-9]*\),.*/\1/p' "$TMP/bytes-ps.0") * 1408))
for node in w0 w4; do
    within "ps, out of $node" "${OUT[$node]}" 412 440 # 4/3 M
    within "ps, into $node" "${IN[$node]}" 618 660    # 2 M
done
for node in s1 s2; do
    within "ps, out of the rack of $node" "${OUT[$node]}" 618 660 # 2 M
    within "ps, into the rack of $node" "${IN[$node]}" 618 660
done
check_in "as many servers as workers" 'job bytes-ps admitted: .*, 6 shards' "$TMP/w0.log"
bytes atp
for node in w0 w4; do
    within "atp, out of $node" "${OUT[$node]}" 412 480 # 4/3 M
    within "atp, into $node" "${IN[$node]}" 412 570
done
for node in s1 s2; do
    within "atp, out of the rack of $node" "${OUT[$node]}" 309 510 # M
    within "atp, into the rack of $node" "${IN[$node]}" 309 510
done
say "M is $M bytes: w0 out ${OUT[w0]}, in ${IN[w0]}; s1 out ${OUT[s1]}, in ${IN[s1]}"

say "a combiner that is killed: every sum is right"
begin combiner -b 1M -e 1M -n 12 -w 1
net_switch_kill s1
ranks_end 60 0
check_right "all go on" "$TMP/combiner.0"
check_in "at the servers" "going on at the switch ${NET_ADDRESS[w0]}:7470" "$TMP"/combiner.[0-2]
net_switch_start s1

say "a rank that is killed, and a rank with the server beside it: named to all"
begin dead -b 1M -e 1M -n 100000
rank_kill 4
ranks_end 10 1
check_in "by rank and address" "rank 4 \(${NET_ADDRESS[w4]}:[0-9]+\) is gone: its session" "$TMP"/dead.[0-35]
begin host -b 1M -e 1M -n 100000
rank_kill 4
net_switch_kill w4
ranks_end 60 1
check_in "one or the other" "^tributary: rank [0-9]: .*(rank 4 |switch ${NET_ADDRESS[w4]}:7470)" "$TMP"/host.[0-35]

say "a host that dies, its server first: the rank is named"
net_switch_start w4 --lend "${NET_ADDRESS[w0]}"
begin first -b 1M -e 1M -n 100000
kill -KILL "${SWITCH_PIDS[w4]}" "${RANK_PIDS[4]}"
rank_kill 4
ranks_end 10 1
check_in "by rank and address" "rank 4 \(${NET_ADDRESS[w4]}:[0-9]+\) is gone: its session" "$TMP"/first.[0-35]
finish
