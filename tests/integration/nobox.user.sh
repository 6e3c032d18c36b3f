#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nobox.user.sh: no switch: ranks meet at rank 0 and are the roots. On one machine, where each rank says by TRIB_HOSTID that it is a host of
# its own. All collectives and types, with faults; ranks that die, stop, differ; a rendezvous that is wrong, taken, or a switch's.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/rendezvous.sh"
T=$TRIBUTARY
FAULTS=(--loss 1% --duplicate 1% --reorder 1% --corrupt 0.1%)
LONG=(-b 4M -e 4M -n 100000 -w 1)

# Each rank is a host of its own unless HOSTS says which.
start_rank() { TRIB_HOSTID=host-${HOSTS:-$3} rank_start "$@"; }
next_port
# Every rank says what it is in its log.
export TRIB_DEBUG=INFO

say "four hosts, four roots: all collectives"
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    right $collective 4 -b 8 -e 1M -f 8 -n 3 -w 1 --collective $collective
done
check_in "says what it is" 'no box: 4 roots' "$TMP"/allreduce.0
check_in "every rank" 'joined 127.0.0.1:[0-9]+, .*no box: 4 roots, window' "$TMP"/allreduce.[0-3]
right uneven 4 -b 8 -e 256K -f 8 -n 3 -w 1 --collective reduce-scatter --uneven
right place 3 -b 8 -e 256K -f 8 -n 3 -w 1 --in-place
right alone 1 -b 8 -e 256K -f 8 -n 3 -w 1
right jumbo 4 -b 1M -e 1M -n 3 --payload 8192

say "all types, with faults everywhere, at ranks and roots"
for type in float double half bfloat16 int8 uint8 int32 int64; do
    right "type-$type" 4 -b 128K -e 128K -n 3 -d $type -o avg "${FAULTS[@]}" --seed 3
done
for wire in bfloat16 int32; do
    right "wire-$wire" 4 -b 4K -e 1M -f 16 -n 4 -w 1 --wire $wire "${FAULTS[@]}" --seed 4
done
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    right "faults-$collective" 4 -b 256K -e 256K -n 4 --collective $collective "${FAULTS[@]}" --seed 5
done
right hard 3 -b 64K -e 64K -n 2 --loss 5% --duplicate 5% --reorder 5% --corrupt 2%
right single 3 -b 256K -e 256K -n 4 --no-trains "${FAULTS[@]}" --seed 8

say "eight ranks on two hosts: two roots; on one host: one"
for ((rank = 0, RANK_PIDS = 0; rank < 8; rank++)); do
    HOSTS=$((rank / 4)) start_rank two 8 $rank -b 64K -e 1M -f 16 -n 3
done
RANK_PIDS=("${RANK_PIDS[@]:1}")
ranks_end 40 0
check_right "two hosts" "$TMP/two.0"
check_in "one root a host" 'no box: 2 roots' "$TMP/two.0"
expect 0 'no box: 1 root, rendezvous' "$T" perf --workers 3 --rendezvous "$TRIB_RENDEZVOUS" -b 64K -e 64K -n 3
expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 -b 64K -e 64K -n 3
expect 0 'no_box":true,"rendezvous":"127.0.0.1:[0-9]+","roots":1,' "$T" perf --workers 2 -b 64K -e 64K -n 3 --json

if grep -qs ' lo$' /proc/net/if_inet6; then
    say "IPv6"
    V4=$TRIB_RENDEZVOUS
    export TRIB_RENDEZVOUS=[::1]:$PORT
    right six 4 -b 8 -e 1M -f 8 -n 3 -w 1 "${FAULTS[@]}" --seed 6
    check_in "payload of IPv6" 'payload 1344, no box: 4 roots, rendezvous \[::1\]:' "$TMP/six.0"
    export TRIB_RENDEZVOUS=$V4
fi

say "two jobs at once, at two rendezvous"
ranks_start first 3 -b 1M -e 1M -n 20
FIRST=("${RANK_PIDS[@]}")
next_port
ranks_start second 2 -b 1M -e 1M -n 20 --wire int32
ranks_end 30 0
RANK_PIDS=("${FIRST[@]}")
ranks_end 30 0
check_right "first job" "$TMP/first.0"
check_right "second job" "$TMP/second.0"

say "kill -9 of a rank: the others know within a second, and who; of rank 0 as well"
for victim in 2 0; do
    next_port
    ranks_start "dead-$victim" 4 "${LONG[@]}"
    kill_rank "dead-$victim" $victim
done

say "a rank that stops: the others say who is late, wait, and end right"
next_port
ranks_start late 3 -b 1M -e 1M -n 500 -w 1
stop_rank 4 late
check_in "the others named it" '(rank 1 is missing|nothing comes from .*rank 1.*) on fragment' "$TMP/late.0" "$TMP/late.2"

say "operations that differ, settings that differ: every rank hears of both"
next_port
differing_operations operations
next_port
RANK_PIDS=()
start_rank settings 2 0 -b 64K -e 64K -n 2
start_rank settings 2 1 -b 64K -e 64K -n 2 --payload 1024
ranks_end 5 1
check_in "settings differ" 'settings differ: payload is 1408 on rank 0 and 1024 on rank 1' "$TMP"/settings.[01]

say "a rendezvous where nobody is; one that is not rank 0's host; one that is taken; one that is a switch's"
next_port
export TRIB_JOIN_TIMEOUT=500ms
RANK_PIDS=()
start_rank nobody 2 1 -b 8 -e 8
ranks_end 5 1
check_in "says so" "rendezvous 127.0.0.1:$PORT unreachable: connection refused; is rank 0 running there\?" "$TMP/nobody.1"
RANK_PIDS=()
start_rank alone 2 0 -b 8 -e 8
ranks_end 5 1
check_in "names who is missing" "rank 0: waited ([5-9][0-9]{2} ms|[1-9](\.[0-9])? s) for rank 1 of job alone" "$TMP/alone.0"
unset TRIB_JOIN_TIMEOUT
expect 1 'rank 0 of job .* cannot listen at the rendezvous 203.0.113.9: .*; it must be an address of rank 0' \
    env -u TRIB_RENDEZVOUS TRIB_RANKS=2 TRIB_RANK=0 "$T" perf --rendezvous 203.0.113.9 -b 8 -e 8
expect 2 'both a switch .* and a rendezvous .* are named: choose one' env TRIB_SWITCH=127.0.0.1:1 TRIB_RENDEZVOUS=127.0.0.1:2 "$T" perf --workers 2
switch_start
unset TRIB_SWITCH
export TRIB_RENDEZVOUS=127.0.0.1:$SWITCH_PORT
RANK_PIDS=()
start_rank taken 1 0 -b 8 -e 8
ranks_end 5 1
check_in "says that it is taken" 'cannot listen at the rendezvous .*in use' "$TMP/taken.0"

say "some name a switch, some rank 0"
RANK_PIDS=()
rank_start mixed 2 0 -b 8 -e 8 --switch "127.0.0.1:$SWITCH_PORT"
start_rank mixed 2 1 -b 8 -e 8
ranks_end 5 1
check_in "a switch, not rank 0, and whose words these are, once" "(tributary: |is gone: .*)rank 1: the rendezvous 127.0.0.1:$SWITCH_PORT is a switch, not rank 0: name it as the switch" "$TMP"/mixed.[01]
switch_stop
next_port
RANK_PIDS=()
start_rank other 2 0 -b 8 -e 8
rank_start other 2 1 -b 8 -e 8 --switch "$TRIB_RENDEZVOUS"
ranks_end 5 1
check_in "rank 0, not a switch" "rank 1: $TRIB_RENDEZVOUS is not a switch, but rank 0 of a job without one: name it as the rendezvous" "$TMP"/other.[01]

say "a rank 0 that comes late"
next_port
RANK_PIDS=()
start_rank patient 3 1 -b 64K -e 64K -n 3
start_rank patient 3 2 -b 64K -e 64K -n 3
sleep 1
start_rank patient 3 0 -b 64K -e 64K -n 3
ranks_end 20 0
check_right "patient" "$TMP/patient.0"
check_in "says where it looks" "no rank 0 at $TRIB_RENDEZVOUS yet: connection refused" "$TMP/patient.1"
finish
