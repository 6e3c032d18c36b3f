#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples.user.sh: every example, run as its first lines say.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
BIN=$BUILD_DIR/bin

expect 0 '^3 of 3 workers done, [0-9]+ packets carried, [1-9][0-9]* lost, 0 wrong elements$' "$BIN/01_in_process"
expect 0 '^rank 3 of 4: 1000000 elements summed, 0 wrong' "$T" run -n 4 -- "$BIN/02_udp_allreduce"
check "every rank says so" test "$(grep -c 'of 4: 1000000 elements summed, 0 wrong' "$TMP/out")" = 4
expect 0 "5 sums, all right" "$T" run -n 4 -- "$BIN/03_own_event_loop"
expect 0 "5 sums, all right" "$T" run -n 3 --loss 1% --reorder 1% --seed 3 -- "$BIN/03_own_event_loop"
expect 0 'rank 3 of 4: 3 steps, 40028 of 100070 parameters of each layer updated here, 0 wrong' "$T" run -n 4 -- "$BIN/04_sharded_step"
expect 0 'rank 1 of 2: 3 steps, .* 0 wrong' "$T" run -n 2 --loss 1% --seed 4 -- "$BIN/04_sharded_step"
expect 0 'rank 3: is 1 of 2 in its row, where ranks add up to 5, and 1 of 2 in its column of 2' "$T" run -n 4 -- "$BIN/05_grid"
expect 0 'rank 4: is 0 of 2 in its row, where ranks add up to 9, and 2 of 3 in its column of 3' "$T" run -n 6 --loss 1% -- "$BIN/05_grid"
expect 1 'cannot join: switch 127.0.0.1:1 unreachable' \
    env TRIB_SWITCH=127.0.0.1:1 TRIB_JOIN_TIMEOUT=200ms "$BIN/02_udp_allreduce"
expect 1 'cannot join: TRIB_PAYLOAD: 100 is not a multiple of 64' env TRIB_PAYLOAD=100 "$BIN/02_udp_allreduce"
expect 0 'hash of the final weights [0-9a-f]{16}, the same on the only rank' "$BIN/digits" --single --epochs 1
expect 0 'hash of the final weights [0-9a-f]{16}, the same on all ranks' "$T" run -n 2 --loss 1% -- "$BIN/digits" --epochs 1
expect 2 'digits: --epochs 0 is out of range' "$BIN/digits" --single --epochs 0
expect 1 'absent' "$BIN/digits" --single --data "$TMP/absent"
say "as any MPI launcher or torchrun would start it"
switch_start
PIDS=()
for rank in 0 1; do
    TRIB_JOB=torchrun RANK=$rank WORLD_SIZE=2 "$BIN/02_udp_allreduce" >"$TMP/torchrun.$rank" 2>&1 &
    PIDS+=($!)
    TRIB_JOB=mpi OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 "$BIN/02_udp_allreduce" >"$TMP/mpi.$rank" 2>&1 &
    PIDS+=($!)
    TRIB_JOB=slurm SLURM_PROCID=$rank SLURM_NTASKS=2 "$BIN/02_udp_allreduce" >"$TMP/slurm.$rank" 2>&1 &
    PIDS+=($!)
done
for pid in "${PIDS[@]}"; do
    ended 20 "$pid"
    check "a launcher's rank ends with status 0" test "$STATUS" = 0
done
check_in "launchers" 'rank [01] of 2: 1000000 elements summed, 0 wrong' "$TMP"/torchrun.[01] "$TMP"/mpi.[01] "$TMP"/slurm.[01]
switch_stop
finish
