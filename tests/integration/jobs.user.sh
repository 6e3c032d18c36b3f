#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jobs.user.sh: several jobs on one switch, and everything that keeps a rank or a job out: numbers, names, both values.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
QUICK=(-b 8 -e 64K -f 8 -n 3 -w 1)

say "two jobs at once, two shards"
switch_start --threads 2
ranks_start first 3 -b 1M -e 1M -n 300 -w 1
FIRST=("${RANK_PIDS[@]}")
ranks_start second 2 -b 1M -e 1M -n 60 -w 1 --wire int32 --payload 4096
wait_for 10 runs_job first && wait_for 10 runs_job second
check "both run at a time" sh -c '! grep -q "closed$" "$1"' - "$SWITCH_LOG"
ranks_end 30 0
RANK_PIDS=("${FIRST[@]}")
ranks_end 30 0
check_right "first job" "$TMP/first.0"
check_right "second job" "$TMP/second.0"

say "the same name again, once the first has ended"
ranks_start first 2 "${QUICK[@]}"
ranks_end 10 0
check_right "first job, again" "$TMP/first.0"

say "two launches of one name are two runs; without a name nobody joins a switch that is shared"
export TRIB_RUN=night
RANK_PIDS=()
rank_start runs 2 0 "${QUICK[@]}"
wait_for 5 grep -q "job runs rank 0 of" "$SWITCH_LOG"
expect 1 'two runs of job runs: rank 0 is of night, rank 1 of Slurm 7:0: give each run a job name of its own' \
    env -u TRIB_RUN SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=7 SLURM_STEP_ID=0 TRIB_JOB=runs "$T" perf "${QUICK[@]}"
rank_start runs 2 1 "${QUICK[@]}"
ranks_end 10 0
check_right "the first run" "$TMP/runs.0"
unset TRIB_RUN
expect 1 'gives its job no name, and this switch is shared: choose one .* \(TRIB_JOB' \
    env TRIB_JOB=default TRIB_RANKS=1 TRIB_RANK=0 "$T" perf "${QUICK[@]}"

say "settings that differ: when all have come every rank hears of it, both values"
differ() {
    local name=$1 expected=$2
    shift 2
    RANK_PIDS=()
    rank_start "$name" 4 0 "${QUICK[@]}"
    wait_for 5 grep -q "job $name rank 0 of" "$SWITCH_LOG"
    rank_start "$name" 4 3 "${QUICK[@]}" "$@"
    wait_for 5 grep -q "job $name: settings differ" "$SWITCH_LOG"
    sleep 0.3 # processes never start all at once
    rank_start "$name" 4 1 "${QUICK[@]}"
    rank_start "$name" 4 2 "${QUICK[@]}"
    ranks_end 5 1
    check_in "settings differ ($name)" "$expected" "$TMP/$name".[0-3]
    say "and the job that agrees starts at once"
    ranks_start "$name" 4 "${QUICK[@]}"
    ranks_end 10 0
    check_right "$name, agreed" "$TMP/$name.0"
}
differ payload 'settings differ: payload is 1408 on rank 0 and 1024 on rank 3' --payload 1024
differ wire 'settings differ: wire is float32 on rank 0 and int32 on rank 3' --wire int32
differ window 'settings differ: window is 0 .*on rank 0 and 65536 .*on rank 3' --window 64KiB
RANK_PIDS=()
for rank in 0 2 3; do
    rank_start ranks 4 $rank "${QUICK[@]}"
done
rank_start ranks 3 1 "${QUICK[@]}"
ranks_end 5 1
check_in "ranks differ" 'settings differ: ranks is 4 on rank 0 and 3 on rank 1' "$TMP"/ranks.[0-3]

say "a stranger under a job's name, with other settings, ends nothing"
RANK_PIDS=()
rank_start named 2 1 "${QUICK[@]}" --payload 1024
STRANGER=("${RANK_PIDS[@]}")
wait_for 5 grep -q "job named rank 1 of" "$SWITCH_LOG"
ranks_start named 2 "${QUICK[@]}"
ranks_end 10 0
check_right "named, both" "$TMP/named.0"
RANK_PIDS=("${STRANGER[@]}")
ranks_end 5 1

say "operations that differ: every rank hears of both"
RANK_PIDS=()
rank_start operations 2 0 -b 64K -e 64K -n 2
rank_start operations 2 1 -b 128K -e 128K -n 2
ranks_end 5 1
check_in "operations differ" 'rank 0 called allreduce of (16,384|32,768) float32 \(sum\) as operation [0-9]+, rank 1 called allreduce of (32,768|16,384) float32' "$TMP"/operations.[01]

say "rank taken, rank out of range, a job name that is none"
RANK_PIDS=()
rank_start taken 2 0 "${QUICK[@]}"
wait_for 5 grep -q "job taken rank 0 of" "$SWITCH_LOG"
expect_line 1 'rank 0 of job taken is already taken by 127.0.0.1:[0-9]+' env TRIB_JOB=taken TRIB_RANK=0 TRIB_RANKS=2 "$T" perf
rank_start taken 2 1 "${QUICK[@]}"
ranks_end 10 0
check_right "the rank that was there first" "$TMP/taken.0"
expect_line 2 'rank: 2 is not below the number of ranks, 2' env TRIB_RANK=2 TRIB_RANKS=2 "$T" perf
expect_line 2 'a name of 1 to 64 printable ASCII' env TRIB_JOB='a"b' "$T" perf
expect_line 2 'TRIB_JOB: ' env TRIB_JOB= "$T" perf

say "a job that is running, and one whose ranks do not come"
ranks_start busy 2 -b 1M -e 1M -n 100000
wait_for 10 runs_job busy
expect_line 1 'job busy is already running, with 2 ranks, since [0-9]+ s' env TRIB_JOB=busy TRIB_RANK=0 TRIB_RANKS=2 "$T" perf
kill "${RANK_PIDS[0]}"
for pid in "${RANK_PIDS[@]}"; do
    ended 3 "$pid"
done
expect_line 1 'not all 2 ranks of job alone joined at switch 127.0.0.1:[0-9]+; waited [1-9](\.[0-9])? s \(TRIB_JOIN_TIMEOUT is 1 s\): rank 1 is missing$' \
    env TRIB_JOB=alone TRIB_RANKS=2 TRIB_JOIN_TIMEOUT=1s "$T" perf
switch_stop

say "quotas: of a job, and of all jobs together"
# A window that every socket buffer has room for, root's or not, so that the numbers are the same everywhere.
export TRIB_WINDOW=32KiB
switch_start --memory 64KiB --job-quota 64KiB
ranks_start large 2 "${QUICK[@]}"
ranks_end 5 1
check_in "too large" 'needs 1[0-9]+ KiB of switch memory \([0-9]+ slots of 3.4 KiB\), all memory for jobs is 64 KiB: .*smaller window' \
    "$TMP"/large.[01]
switch_stop
switch_start --memory 480KiB --job-quota 400KiB
ranks_start holds 4 -b 1M -e 1M -n 100000
wait_for 10 runs_job holds
HOLDS=("${RANK_PIDS[@]}")
ranks_start refused 4 "${QUICK[@]}"
ranks_end 5 1
check_in "no memory left" 'needs 2[0-9]+ KiB of switch memory .*, free: 2[0-9]+ KiB of 480 KiB: wait for other jobs to end' \
    "$TMP"/refused.[0-3]
ranks_start small 2 "${QUICK[@]}"
ranks_end 5 0
check_right "what fits beside it runs" "$TMP/small.0"
kill "${HOLDS[@]}" 2>/dev/null
memory_is_back() { [ "$("$T" perf --workers 4 "${QUICK[@]}" 2>&1 | tail -n 1)" = "# 0 wrong elements" ]; }
sleep 1
check "a second after the death of a job its memory is free" memory_is_back
switch_stop
unset TRIB_WINDOW

say "ports in use, switches that are not there"
switch_start
expect_line 1 "127.0.0.1:$SWITCH_PORT: Address already in use: another program has this port, choose another" \
    "$T" switch --listen "127.0.0.1:$SWITCH_PORT" --http none
expect_line 1 'cannot bind to UDP 192.0.2.77:7470: Cannot assign requested address: is it an address of this machine\?' "$T" switch --listen 192.0.2.77:7470
switch_stop
export TRIB_JOIN_TIMEOUT=50ms
expect_line 1 'switch 127.0.0.1:1 unreachable: connection refused; is `tributary switch` running there\?' \
    "$T" perf --switch 127.0.0.1:1
say "a switch that comes late is waited for, and who waits says so"
switch_start
LATE=$SWITCH_PORT
switch_stop
RANK_PIDS=()
TRIB_JOIN_TIMEOUT=20s rank_start patient 1 0 "${QUICK[@]}"
wait_for 5 grep -q "no switch at 127.0.0.1:$LATE yet: connection refused; trying for 20 s" "$TMP/patient.0"
switch_start --listen "127.0.0.1:$LATE"
ranks_end 10 0
check_in "waiting" 'no switch at .* yet' "$TMP/patient.0"
check_right "a switch that came late" "$TMP/patient.0"
switch_stop
expect_line 1 'cannot resolve "nohost.invalid"' "$T" perf --switch nohost.invalid:1
finish
