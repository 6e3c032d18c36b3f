#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ring.user.sh: schemes ring and hybrid over real sockets: ranks meet at rank 0 and send to each other, and nobody sums for them. All collectives and types,
# with faults; ranks that die, stop, differ; parts of a communicator.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/rendezvous.sh"
T=$TRIBUTARY
FAULTS=(--loss 1% --duplicate 1% --reorder 1% --corrupt 0.1%)
LONG=(-b 4M -e 4M -n 100000 -w 1)
RING=(--scheme ring)

start_rank() {
    local job=$1 ranks=$2 rank=$3
    shift 3
    rank_start "$job" "$ranks" "$rank" "${RING[@]}" "$@"
}
next_port
# Every rank says what it is in its log.
export TRIB_DEBUG=INFO

say "rings of 1 to 5 ranks: all collectives"
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    right $collective 4 -b 8 -e 1M -f 8 -n 3 -w 1 --collective $collective
done
check_in "every rank has its peers" 'joined 127.0.0.1:[0-9]+, .*no box: 2 peers, window' "$TMP"/allreduce.[0-3]
for ranks in 1 2 3 5; do
    right "ring-of-$ranks" $ranks -b 8 -e 256K -f 8 -n 3 -w 1 --in-place
done
for collective in allgather reduce-scatter; do
    right "uneven-$collective" 4 -b 8 -e 256K -f 8 -n 3 -w 1 --collective $collective --uneven
done
right jumbo 3 -b 1M -e 1M -n 3 --payload 8192

say "all types, with faults everywhere"
for type in float double half bfloat16 int8 uint8 int32 int64; do
    right "type-$type" 3 -b 128K -e 128K -n 3 -d $type -o avg "${FAULTS[@]}" --seed 3
done
for wire in bfloat16 int32; do
    right "wire-$wire" 4 -b 4K -e 1M -f 16 -n 3 -w 1 --wire $wire "${FAULTS[@]}" --seed 4
done
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    right "faults-$collective" 4 -b 256K -e 256K -n 4 --collective $collective "${FAULTS[@]}" --seed 5
done
right hard 3 -b 64K -e 64K -n 2 --loss 5% --duplicate 5% --reorder 5% --corrupt 2%
right single 3 -b 256K -e 256K -n 4 --no-trains "${FAULTS[@]}" --seed 8

if grep -qs ' lo$' /proc/net/if_inet6; then
    say "IPv6"
    V4=$TRIB_RENDEZVOUS
    export TRIB_RENDEZVOUS=[::1]:$PORT
    right six 4 -b 8 -e 1M -f 8 -n 3 -w 1 "${FAULTS[@]}" --seed 6
    export TRIB_RENDEZVOUS=$V4
fi

say "rings in groups: all collectives, with faults everywhere"
RING=(--scheme hybrid:2)
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    next_port
    right "groups-$collective" 4 -b 8 -e 1M -f 8 -n 3 -w 1 --collective $collective
    right "groups-faults-$collective" 6 -b 64K -e 64K -n 3 --collective $collective "${FAULTS[@]}" --seed 5
done
check_in "peers inside and across" 'joined 127.0.0.1:[0-9]+, .*no box: [23] peers, window' "$TMP"/groups-faults-allreduce.[0-5]
for group in 1 3 6; do
    RING=(--scheme hybrid:$group)
    right "groups-of-$group" 6 -b 8 -e 64K -f 8 -n 3 -w 1 --in-place -o avg
done
RING=(--scheme ring)

say "no switch takes part, and groups are of a size that fits"
expect 2 'scheme ring: its ranks send to each other, and to no switch: name a rendezvous instead' \
    env -u TRIB_RENDEZVOUS "$T" perf --workers 2 "${RING[@]}" --switch 127.0.0.1:1 -b 8 -e 8
expect 2 'scheme hybrid: its ranks stand in groups, and nobody said of how many: write hybrid:4' "$T" perf --workers 2 --scheme hybrid -b 8 -e 8
expect 2 'scheme hybrid:2: the number of ranks is not a multiple' "$T" perf --workers 3 --scheme hybrid:2 -b 8 -e 8
expect 2 'scheme ring:2: it has no groups; hybrid has' "$T" perf --workers 2 --scheme ring:2 -b 8 -e 8
next_port
RANK_PIDS=()
rank_start mixed 2 0 "${RING[@]}" -b 8 -e 8
rank_start mixed 2 1 -b 8 -e 8
ranks_end 5 1
check_in "schemes differ" 'settings differ: scheme is (ring|switchml) on rank [01] and (ring|switchml) on rank [01]' "$TMP"/mixed.[01]

say "kill -9 of a rank: the others know within a second, and who; of rank 0 as well"
for victim in 2 0; do
    next_port
    ranks_start "dead-$victim" 4 "${LONG[@]}"
    kill_rank "dead-$victim" $victim
done

say "a rank that stops: the others say who is late, wait, and end right"
next_port
ranks_start late 3 -b 1M -e 1M -n 500 -w 1
stop_rank 6 late
check_in "another rank named it" 'rank 1 is missing on fragment' "$TMP/late.0" "$TMP/late.2"

say "operations that differ: every rank hears of both"
next_port
differing_operations operations
finish
