#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# communicators.user.sh: hundreds of communicators in each of four processes, on one switch and on a tree: all values right, whether they
# are busy one after another or at the same time, and no memory for those that are not; and more of them than there may be.
. "$(dirname "$0")/tree.sh"
MEMORY_KIB=65536

# fits KEY RANK LIMIT: what that rank says is below it.
fits() {
    local value
    value=$(sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$TMP/$JOB.$2")
    [ -n "$value" ] && [ "$value" -lt "$3" ]
}

# many JOB "SWITCH ..." ARGUMENTS...: many_start, to its end.
many() {
    many_start "$@"
    ranks_end 60 0
    check_in "$JOB: all values are right" '"wrong": 0}$' "$TMP/$JOB".[0-3]
    say "rank 0: $(cat "$TMP/$JOB.0")"
}

# All four ranks have made 256 communicators in 5 s.
made_in_time() {
    local rank
    many flat "root root root root" 256 8 262144 100 2
    for rank in 0 1 2 3; do
        fits make_ms "$rank" $((5000 * PROMISE)) || return
    done
}

say "256 communicators, 8 busy"
start root --threads 2
thrice "all ranks have made all in 5 s" made_in_time
if [ "$PROMISE" = 1 ]; then # a sanitizer's shadow is memory as well
    for rank in 0 1 2 3; do
        check "rank $rank has never held more than $MEMORY_KIB KiB" fits rss_peak "$rank" "$MEMORY_KIB"
    done
    say "the switch has held $(awk '/VmHWM/ { print $2 }' "/proc/$SWITCH_PID/status") KiB, and holds $(awk '/VmRSS/ { print $2 }' "/proc/$SWITCH_PID/status")"
fi
stop root

say "a tree of switches"
start root
start left $(below root)
start right $(below root)
many tree "left right left right" 32 8 65536 50 1
stop left right root

say "more than one address may have, behind a combiner: the error has the limit and the remedy, and the job beside them goes on"
export TRIB_WINDOW=16KiB
start root
start left --combine $(below root)
TRIB_SCHEME=atp load_ranks stays "left left root"
STAYS=("${RANK_PIDS[@]}")
wait_for 10 job_runs stays
TRIB_SCHEME=atp TRIB_JOIN_TIMEOUT=$((2 * PATIENCE))s many_start ids "left left" 800 1 64 10 1
ranks_end 60 1
check_in "both ranks hear of it" \
    '127.0.0.1:[0-9]+ has begun 768 jobs, and one address may have so many of the 1024 of this switch: come again when some of them have ended; waited' \
    "$TMP"/ids.[01]
TRIB_SCHEME=atp ranks after "left left" -b 8 -e 8 -n 1
ranks_end 60 0
check_right "a job after them" "$TMP/after.0"
kill -TERM "${STAYS[0]}"
RANK_PIDS=("${STAYS[@]}")
ranks_end 30 0
stop left root
unset TRIB_WINDOW

say "one job, with one quota"
export TRIB_WINDOW=32KiB
start root --job-quota 512KiB
many_start refused "root root" 8 1 65536 50 1
ranks_end 10 1
check_in "the quota counts all groups, and the text lists them" \
    'job refused/0-[0-9a-f]{16} needs .* beside [0-9]+ other groups of the same job with [0-9.]+ KiB, the quota of a job is 512 KiB: .* they are refused/0-' \
    "$TMP"/refused.[01]
many fits "root root" 2 1 65536 50 1
stop root
unset TRIB_WINDOW

if has_jobs; then
    say "tributary jobs shows a job with its groups, after a restart of the switch as well"
    start root --http 127.0.0.1:0
    many_start shown "root root" 3 2 65536 600 1
    shows() {
        HTTP=$(sed -n 's/.*http on http:\/\/\(127.0.0.1:[0-9]*\).*/\1/p' "$TMP/root.log" | tail -n 1)
        "$TRIBUTARY" jobs --http "$HTTP" >"$TMP/jobs" && grep -qE '^shown +3 groups, which may take [0-9]' "$TMP/jobs" &&
            grep -qE '^  shown +running +2 ' "$TMP/jobs" && [ "$(grep -cE '^  0-[0-9a-f]{16} +running +2 ' "$TMP/jobs")" = 2 ]
    }
    check "three groups of one job" wait_for 10 shows
    "$TRIBUTARY" jobs shown --http "$HTTP" >"$TMP/jobs"
    check "each in full" test "$(grep -cE '^shown(/0-[0-9a-f]{16})?: communicator ' "$TMP/jobs")" = 3
    "$TRIBUTARY" jobs --json --http "$HTTP" >"$TMP/jobs"
    check_in "as JSON" '^ +"communicators": \[' "$TMP/jobs"
    check "one is the maker of the others" test "$(grep -cE '"maker": [0-9]+,' "$TMP/jobs")" = 2
    again root
    check "the same after a restart" wait_for 10 shows
    ranks_end 60 0
    check_in "all values are right" '"wrong": 0}$' "$TMP"/shown.[01]
    stop root
fi
finish
