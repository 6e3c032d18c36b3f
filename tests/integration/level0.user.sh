#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# level0.user.sh: ranks that are summed on their host before one of them sends: 2 x 2 and 2 x 4 real processes on one machine, which
# say by TRIB_HOSTID which host they are on, through a switch and without one. All collectives and types, with faults; kill -9 of a leader
# and of another rank, a switch that goes and comes back, a rank that stops, operations that differ, two jobs at once.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/rendezvous.sh"
T=$TRIBUTARY
FAULTS=(--loss 1% --duplicate 1% --reorder 1% --corrupt 0.1%)
LONG=(-b 4M -e 4M -n 100000 -w 1)
export TRIB_DEBUG=INFO

# host_ranks JOB RANKS RANKS_A_HOST OPTIONS...
host_ranks() {
    local each=$3
    ranks_start "$1" "$2" "${@:4}"
}
start_rank() { TRIB_LEVEL0=1 TRIB_HOSTID=host-$(($3 / each)) rank_start "$@"; }
right() {
    host_ranks "$@"
    ranks_end 40 0
    check_right "$1" "$TMP/$1.0"
    check_in "$1: two hosts" 'level 0: 2 hosts' "$TMP/$1.0"
}
begin() {
    if [ "$1" = switch ]; then
        switch_start --threads 2
    else
        next_port
    fi
}

for place in switch nobox; do
    begin $place
    say "$place: all collectives, 2 hosts x 2 ranks"
    for collective in allreduce broadcast reduce allgather reduce-scatter; do
        right $place-$collective 4 2 -b 8 -e 2M -f 8 -n 3 -w 1 --collective $collective
    done
    right $place-uneven 4 2 -b 8 -e 256K -f 8 -n 3 -w 1 --collective reduce-scatter --uneven
    right $place-gather 4 2 -b 8 -e 256K -f 8 -n 3 -w 1 --collective allgather --uneven
    say "$place: 2 hosts x 4 ranks, types, wires, faults"
    right $place-eight 8 4 -b 64K -e 4M -f 8 -n 3 -w 1 --in-place
    for type in double half int8 int64; do
        right "$place-$type" 8 4 -b 128K -e 128K -n 3 -d $type -o avg "${FAULTS[@]}" --seed 3
    done
    for wire in bfloat16 int32; do
        right "$place-$wire" 4 2 -b 4K -e 1M -f 16 -n 4 -w 1 --wire $wire "${FAULTS[@]}" --seed 4
    done
    say "$place: kill -9 of a leader, and of a rank that it sends for"
    for victim in 2 1; do
        [ $place = switch ] || begin $place
        host_ranks $place-dead-$victim 4 2 "${LONG[@]}"
        kill_rank $place-dead-$victim $victim
    done
    [ $place = switch ] || begin $place
    say "$place: a rank that stops: the others wait, and end right"
    host_ranks $place-late 4 2 -b 1M -e 1M -n 100 -w 1
    wait_for 10 all_in $place-late 4
    kill -STOP "${RANK_PIDS[3]}"
    sleep 3
    late_said() { grep -qs 'rank 3 is missing on' "$TMP/$place-late.2" && grep -qs 'ranks 2, 3 are missing on fragment' "$TMP/$place-late.0"; }
    wait_for 10 late_said
    kill -CONT "${RANK_PIDS[3]}"
    ranks_end 40 0
    check_right "late" "$TMP/$place-late.0"
    check_in "its leader named it" 'rank 2: .*rank 3 is missing on' "$TMP/$place-late.2"
    check_in "the other host named its host" 'ranks 2, 3 are missing on fragment' "$TMP/$place-late.0"
    [ $place = switch ] || begin $place
    say "$place: operations that differ, on one host and between two"
    RANK_PIDS=()
    for rank in 0 1 2 3; do
        TRIB_LEVEL0=1 TRIB_HOSTID=host-$((rank / 2)) rank_start $place-differ 4 $rank -b $((rank == 3 ? 131072 : 65536)) \
            -e $((rank == 3 ? 131072 : 65536)) -n 2
    done
    ranks_end 5 1
    check_in "operations differ" \
        'rank 2 called allreduce of 16,384 float32 \(sum\) as operation [0-9]+, rank 3 called allreduce of 32,768 float32' \
        "$TMP"/$place-differ.[0-3]
    if [ $place = switch ]; then
        say "two jobs at once"
        host_ranks one 4 2 -b 1M -e 1M -n 20
        FIRST=("${RANK_PIDS[@]}")
        right two 4 2 -b 1M -e 1M -n 20 --wire int32
        RANK_PIDS=("${FIRST[@]}")
        ranks_end 30 0
        check_right "first job" "$TMP/one.0"
        say "the switch is killed and comes back"
        host_ranks back 4 2 -b 1M -e 1M -n 400 -w 1
        wait_for 10 all_in back 4
        sleep 0.3
        switch_kill
        switch_start --threads 2 --listen "127.0.0.1:$SWITCH_PORT"
        ranks_end 60 0
        check_right "back" "$TMP/back.0"
        check_in "they were away" 'back at 127.0.0.1' "$TMP"/back.[0-3]
        switch_stop
        unset TRIB_SWITCH
    fi
done

say "perf and run come as hosts"
unset TRIB_RENDEZVOUS TRIB_LEVEL0
expect 0 'level 0: 2 hosts' "$T" perf --workers 4 --hosts 2 -b 64K -e 64K -n 3
expect 0 '"level0":true,"hosts":2,' "$T" perf --workers 4 --hosts 2 -b 64K -e 64K -n 3 --json
expect 0 '"level0":false,"hosts":0,' "$T" perf --workers 4 -b 64K -e 64K -n 3 --json
expect 2 '.' "$T" perf --workers 2 --hosts 3
expect 0 'level 0: 2 hosts' "$T" run -n 4 --hosts 2 -- "$T" perf -b 64K -e 64K -n 3
finish
