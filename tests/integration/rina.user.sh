#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rina.user.sh: scheme rina: racks whose switches all have one parent form chains: sums of every shape, who is named, and switches that are
# killed, stopped, or gone for good.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_SCHEME=rina
RETURN=$((3 * PATIENCE)) # seconds that the root gives ranks to come back
QUICK=(-b 8 -e 1M -f 8 -n 3 -w 1)
RACKS="root root one one two two three three"

start root --join-timeout "${RETURN}s"
for name in one two three; do
    start $name $(below root)
done

say "four racks: a ring in the order of their ranks, cut behind the third"
ranks four "$RACKS" "${QUICK[@]}"
ranks_end 30 0
check_right "four racks" "$TMP/four.0"
chain_is() { # JOB NAME PARENT: of the switch's sums
    check_in "$2 sums for $3" "job $1 of the parent: .* sums go to 127.0.0.1:${PORT[$3]}" "$TMP/$2.log"
}
chain_is four one root
chain_is four two one
chain_is four three root

say "ranks in turn, an order of racks of their own, and one rack alone"
ranks turn "three one three two root two" "${QUICK[@]}"
ranks_end 30 0
check_right "ranks in turn" "$TMP/turn.0"
chain_is turn three root
chain_is turn one three
chain_is turn two root
ranks alone "two two two" "${QUICK[@]}"
ranks_end 30 0
check_right "one rack alone" "$TMP/alone.0"
chain_is alone two root

say "other wires and collectives, and hosts with several ranks"
ALL=()
for collective in broadcast reduce "allgather --uneven" "reduce-scatter --in-place" "allreduce --wire int32" "allreduce --wire bfloat16"; do
    # shellcheck disable=SC2086
    ranks "${collective//[ -]/}" "root two two one" "${QUICK[@]}" --collective $collective
    ALL+=("${RANK_PIDS[@]}")
done
RANK_PIDS=("${ALL[@]}")
ranks_end 30 0
for collective in broadcast reduce allgatheruneven reducescatterinplace allreducewireint32 allreducewirebfloat16; do
    check_right "$collective" "$TMP/$collective.0"
done
PER_HOST=2 load_ranks hosts "$RACKS"
wait_for 10 job_runs hosts
check_in "a rack has one member of the sums" 'job hosts of the parent: .* 2 of 8 ranks' "$TMP/three.log"
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0

say "kill -9 and restart of each rack's switch, and losses besides: right values"
ranks restart "$RACKS" -b 2M -e 2M -n 150 -w 1 --loss 0.5%
wait_for 10 job_runs restart
for name in one two three root; do
    sleep 0.2
    again $name
done
ranks_end 60 0
check_right "restarts" "$TMP/restart.0"
check_in "each rank has registered anew" 'of 8: back at 127.0.0.1' "$TMP"/restart.[0-7]

say "a switch in the middle that stops for a second: those behind it wait"
ranks stop "$RACKS" -b 1M -e 1M -n 200 -w 1
wait_for 10 job_runs stop
kill -STOP "${PID[two]}"
check "the job still runs" kill -0 "${RANK_PIDS[0]}"
sleep 1
kill -CONT "${PID[two]}"
ranks_end 30 0
check_right "after the stop" "$TMP/stop.0"

say "a rank that dies is named to all racks"
ranks dead "$RACKS" -b 1M -e 1M -n 100000 -w 1
wait_for 10 job_runs dead
kill -KILL "${RANK_PIDS[5]}"
wait "${RANK_PIDS[5]}" 2>/dev/null
unset "RANK_PIDS[5]"
ranks_end 10 1
check_in "by its number" "rank [0-7]: rank 5 \(.*\) is gone: its session" "$TMP"/dead.[0-4] "$TMP"/dead.[67]

say "a switch in the middle that is gone for good, by kill -9 and by SIGTERM: its ranks go on at the root"
ranks gone "$RACKS" -b 2M -e 2M -n 150 -w 1
wait_for 10 job_runs gone
sleep 0.1
end two
sleep 0.5
stop one
ranks_end 60 0
check_right "after both are gone" "$TMP/gone.0"
check_in "its ranks say where they go on" "rank [45]: the switch 127.0.0.1:${PORT[two]} does not take this rank: .*; going on at" "$TMP"/gone.[45]
check_in "and those of the other" "rank [23]: the switch 127.0.0.1:${PORT[one]} does not take this rank: .*; going on at" "$TMP"/gone.[23]
start two --listen "127.0.0.1:${PORT[two]}" $(below root)
ranks back "root two three" "${QUICK[@]}"
ranks_end 30 0
check_right "the next job has it again" "$TMP/back.0"
chain_is back two root
chain_is back three root

say "hosts of several ranks, behind a switch that is gone for good"
PER_HOST=2 load_ranks moved "root root two two three three"
wait_for 10 job_runs moved
sleep 0.2
end two
check "all ranks of the host go on at the root" wait_for 15 as_many_say 2 'going on at the switch' "$TMP/moved.2" "$TMP/moved.3"
sleep 1
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0
stop three root

say "as many shards as racks: right sums"
start root --threads 4
for name in one two three; do
    start $name --threads 4 $(below root)
done
ranks shards "$RACKS" "${QUICK[@]}"
ranks_end 30 0
check_right "four roots" "$TMP/shards.0"
ranks wires "$RACKS" "${QUICK[@]}" --wire int32 --loss 0.5%
ranks_end 30 0
check_right "four roots with losses" "$TMP/wires.0"
ranks again "$RACKS" -b 2M -e 2M -n 100 -w 1
wait_for 10 job_runs again
for name in two root; do
    sleep 0.2
    again $name
done
ranks_end 60 0
check_right "four roots and restarts" "$TMP/again.0"
check_in "each rank has registered anew" 'of 8: back at 127.0.0.1' "$TMP"/again.[0-7]
stop one two three root
finish
