#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# killed.user.sh: jobs that are killed at random moments, two at a time, at a server and a combiner that another job uses meanwhile. Nothing
# of them may stay: no row, no slot, no descriptor, no memory. JOBS=200 kills as many; SEED draws the moments.
. "$(dirname "$0")/tree.sh"
command -v curl >/dev/null && has_http || skip "needs curl, and HTTP in this build"
export TRIB_SCHEME=atp TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_SWITCH_TIMEOUT=$((10 * PATIENCE))s
JOBS=${JOBS:-20}
RANDOM=${SEED:-1}
start root --join-timeout 1s --http 127.0.0.1:0
start left --combine --parent "127.0.0.1:${PORT[root]}" --http 127.0.0.1:0 --pool 256KiB

metric() { curl -s "http://127.0.0.1:$((PORT[$1] + 1000))/metrics" | sed -n "s/^tributary_$2 //p"; }
is_empty() { [ "$(metric "$1" "$2")" = 0 ]; }
descriptors() { find "/proc/${PID[$1]}/fd" -mindepth 1 | wc -l; }
memory() { awk '/^VmRSS:/ { print $2 }' "/proc/${PID[$1]}/status"; }

# at_rest NAME SESSIONS: nothing of any job is there.
at_rest() { [ "$(metric "$1" sessions)" = "$2" ] && is_empty "$1" communicators && is_empty "$1" lendings && is_empty "$1" memory_used_bytes; }

# kill_jobs FROM TO: of each job one rank or more; the others hear of it.
kill_jobs() {
    local job pid first second
    for ((job = $1; job < $2; job += 2)); do
        ranks "a$job" "left left" -b 64K -e 64K -n 100000 -w 1
        first=("${RANK_PIDS[@]}")
        ranks "b$job" "left left root" -b 64K -e 64K -n 100000 -w 1 --payload $((RANDOM % 2 ? 1408 : 1024))
        second=("${RANK_PIDS[@]}")
        for pid in "${first[@]}" "${second[@]}"; do
            pause "0.$(printf '%03d' $((RANDOM % 80)))"
            [ "$pid" != "${first[0]}" ] && [ "$pid" != "${second[0]}" ] && [ $((RANDOM % 3)) = 0 ] || kill -KILL "$pid"
        done
        for pid in "${first[@]}" "${second[@]}"; do
            ended 20 "$pid"
        done
    done 2>/dev/null # or bash says of each that it was killed
}

say "$JOBS jobs"
load_ranks stays "left left root"
STAYS=("${RANK_PIDS[@]}")
wait_for 10 job_runs stays
kill_jobs 0 4
wait_for 5 is_empty left pool_rows_held || :
alone() { [ "$(metric root communicators)" = 1 ]; }
wait_for 10 alone || :
sleep 0.3 # closed sessions and the question itself have gone
BEFORE="$(descriptors left) $(descriptors root)"
MEMORY=$(($(memory left) + $(memory root)))
kill_jobs 4 "$JOBS"
same() { [ "$(descriptors left) $(descriptors root)" = "$BEFORE" ]; }
wait_for 5 same || :
AFTER="$(descriptors left) $(descriptors root)"
check "descriptors of the combiner and the server: $BEFORE, then $AFTER" test "$AFTER" = "$BEFORE"
GROWN=$(($(memory left) + $(memory root) - MEMORY))
check "memory of both has grown by $GROWN KiB" test "$GROWN" -lt $((4096 * PATIENCE))
kill -TERM "${STAYS[0]}"
RANK_PIDS=("${STAYS[@]}")
ranks_end 30 0
check "nothing of a job stays at the combiner" wait_for 3 at_rest left 0
check "nor at the server, which has the combiner's session" wait_for 3 at_rest root 1
check "no row is held: $(metric left pool_rows_held)" is_empty left pool_rows_held
say "$(grep -c 'runs: all' "$TMP/root.log") of the jobs ran; $(metric left pool_combined_total) parts combined; descriptors $AFTER; memory + $GROWN KiB"
stop left root
finish
