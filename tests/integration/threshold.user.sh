#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# threshold.user.sh: a switch whose operator keeps it for large jobs (--threshold): jobs that say that they are smaller are rings, whose bytes do
# not come by the switch; it may be killed and started anew meanwhile. Others, and those behind another switch, are summed as ever.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
FAULTS=(--loss 1% --duplicate 1% --reorder 1% --corrupt 0.1%)
export TRIB_DEBUG=INFO
WHY="4,000,000 bytes of gradients an iteration are below the switch's threshold of 40,000,000 \(--threshold\)"

# right NAME RANKS OPTIONS...: that job ends well, without a wrong element.
right() {
    local job=$1 ranks=$2
    shift 2
    ranks_start "$job" "$ranks" "$@"
    ranks_end 60 0
    check_right "$job" "$TMP/$job.0"
}

# Bytes that the switch's shards have received so far.
received() {
    exec 8<>"/dev/tcp/127.0.0.1/$HTTP_PORT" || return 1
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&8
    timeout $((5 * PATIENCE)) cat <&8 | tr -d '\r' | awk '$1 == "tributary_received_bytes_total" { print $2 }'
    exec 8<&- 8>&-
}

# start_switch OPTIONS...: with HTTP on a free port, where the build has it.
start_switch() {
    switch_start --http 127.0.0.1:0 "$@"
    HTTP_PORT=$(sed -n 's/.*http on http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$SWITCH_LOG" | tail -n 1)
}

# no_bytes WHAT: the shards have received none since the last time; some_bytes: they have.
BEFORE=0
new_bytes() {
    local now
    now=$(received)
    NEW=$((now - BEFORE))
    BEFORE=$now
}
no_bytes() { [ -z "$HTTP_PORT" ] || { new_bytes; check "$1: $NEW bytes came to the switch" test "$NEW" = 0; }; }
some_bytes() { [ -z "$HTTP_PORT" ] || { new_bytes; check "$1: $NEW bytes came to the switch" test "$NEW" -gt "$2"; }; }

say "what operators write"
expect 2 '--threshold: "40" has no unit' "$T" switch --threshold 40 --check-config
expect 0 'configuration is good' "$T" switch --threshold 40MB --check-config
mkdir "$TMP/keys"
! has_keys || expect 2 'a switch with keys of jobs \(--keys\) cannot have a threshold' "$T" switch --threshold 40MB --keys "$TMP/keys" --check-config
expect 2 'a switch with a parent cannot have a threshold' "$T" switch --listen 127.0.0.1:0 --parent 127.0.0.1:1 --threshold 40MB
expect 2 'TRIB_GRADIENT_BYTES: "4000000" has no unit' env TRIB_GRADIENT_BYTES=4000000 "$T" perf --workers 2 -b 8 -e 8

start_switch --threshold 40MB --threads 2
export TRIB_GRADIENT_BYTES=4MB

say "below it: all collectives, and none by the switch"
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    right "small-$collective" 4 --scheme panama -b 8 -e 4M -f 64 -n 3 -w 1 --collective $collective
done
no_bytes "rings"
check_in "perf says what sums" 'allreduce, 4 ranks, scheme ring, ' "$TMP/small-allreduce.0"
check_in "and why" "^# scheme panama was asked for: $WHY" "$TMP/small-allreduce.0"
check_in "rank 0's log" "info job small-allreduce: $WHY: it is a ring, and not scheme panama" "$TMP/small-allreduce.0"
check_in "every rank has its peers" 'joined 127.0.0.1:[0-9]+, .* 2 peers, window' "$TMP"/small-allreduce.[0-3]
check_in "the switch's log" "info job small-allreduce: $WHY: 4 of its ranks join again as a ring, which replaces scheme panama" "$SWITCH_LOG"
ranks_start small-json 2 -b 64K -e 64K -n 3 -w 1 --json
ranks_end 60 0
check_in "as JSON" '"scheme":"ring","scheme_asked":"switchml"' "$TMP/small-json.0"
right small-faults 3 -b 256K -e 256K -n 5 "${FAULTS[@]}" --seed 5
right small-wire 3 -b 256K -e 256K -n 5 --wire bfloat16 "${FAULTS[@]}" --seed 6
right small-quorum 4 --scheme panama:3/4 -b 256K -e 256K -n 5
check_in "a ring lacks nobody" '^# of [0-9]+ results 0 lacked ranks$' "$TMP/small-quorum.0"
TRIB_LEVEL0=1 right small-host 4 -b 256K -e 256K -n 5
check_in "ranks of a host as well" 'scheme ring' "$TMP/small-host.0"
no_bytes "rings of all kinds"

say "at it, above it, and of bytes that nobody has said: by the switch"
TRIB_GRADIENT_BYTES=40MB right at 4 --scheme panama -b 1M -e 1M -n 3
check_in "at it" ', scheme panama, ' "$TMP/at.0"
some_bytes "at it" 4000000
TRIB_GRADIENT_BYTES=1GiB right above 4 -b 1M -e 1M -n 3
check_in "above it" ', scheme switchml, ' "$TMP/above.0"
some_bytes "above it" 4000000
TRIB_GRADIENT_BYTES=0 right unknown 4 -b 1M -e 1M -n 3
check_in "unknown" ', scheme switchml, ' "$TMP/unknown.0"
some_bytes "unknown" 4000000

say "one rank says another number"
RANK_PIDS=()
rank_start unlike 2 0 -b 8 -e 8
TRIB_GRADIENT_BYTES=5MB rank_start unlike 2 1 -b 8 -e 8
ranks_end 20 1
check_in "both hear of both" 'settings differ: gradient bytes are 4000000 on rank 0 and 5000000 on rank 1' "$TMP"/unlike.[01]

say "the switch is killed, and started anew with another threshold, and with none"
ranks_start through 3 -b 1M -e 1M -n 600 -w 1
for options in "--threshold 1MB" "" "--threshold 40MB"; do
    wait_for 10 runs_job through || fail "the job does not run"
    switch_kill
    SWITCH_LOG=$TMP/switch.$RANDOM
    # shellcheck disable=SC2086
    switch_start --listen "127.0.0.1:$SWITCH_PORT" $options
done
ranks_end 90 0
check_right "through restarts" "$TMP/through.0"
check "it was back three times" test "$(grep -c 'rank 0 of 3: back at' "$TMP/through.0")" = 3
check_in "as a ring" 'rank 0 of 3: back at 127.0.0.1:[0-9]+, .* 2 peers, window' "$TMP/through.0"

say "a rank that dies is named to the others"
ranks_start dies 3 -b 4M -e 4M -n 100000 -w 1
wait_for 10 runs_job dies
kill -KILL "${RANK_PIDS[1]}"
wait "${RANK_PIDS[1]}" 2>/dev/null
RANK_PIDS=("${RANK_PIDS[0]}" "${RANK_PIDS[2]}")
ranks_end 20 1
check_in "rank 1 is named" 'rank 1 \(127.0.0.1:[0-9]+\) is gone' "$TMP"/dies.[02]

if has_jobs; then
    say "tributary jobs says what sums"
    switch_stop
    start_switch --threshold 40MB
    ranks_start shown 2 --scheme panama -b 1M -e 1M -n 100000 -w 1
    wait_for 10 runs_job shown
    expect 0 'scheme ring \(panama was asked for: 4000000 gradient bytes were below a threshold\)' "$T" jobs --http "127.0.0.1:$HTTP_PORT" shown
    kill -KILL "${RANK_PIDS[@]}"
    wait "${RANK_PIDS[@]}" 2>/dev/null
fi

say "behind another switch it stays where it is"
ROOT_PID=$SWITCH_PID ROOT_LOG=$SWITCH_LOG
SWITCH_LOG=$TMP/child.log
switch_start --parent "$TRIB_SWITCH"
right behind 3 -b 1M -e 1M -n 3
check_in "behind" ', scheme switchml, ' "$TMP/behind.0"
check_in "the root says why" "job behind: $WHY, but it stays at the switch: rank 0 .* comes over switch 127.0.0.1:$SWITCH_PORT, and other ranks do not know addresses below that switch" "$ROOT_LOG"
switch_stop
SWITCH_PID=$ROOT_PID SWITCH_LOG=$ROOT_LOG
switch_stop

say "beside another switch nothing comes to either"
SWITCH_LOG=$TMP/lender.log
switch_start --lend 127.0.0.1
LENDER_PID=$SWITCH_PID LENDER=$TRIB_SWITCH
SWITCH_LOG=$TMP/first.log
start_switch --threshold 40MB --with "$LENDER"
BEFORE=0
right lent 3 -b 1M -e 1M -n 3
check_in "beside another" ', scheme ring, ' "$TMP/lent.0"
no_bytes "beside another"
check "the lender was not asked" test "$(grep -c 'lent' "$TMP/lender.log")" = 0
switch_stop
SWITCH_PID=$LENDER_PID
switch_stop

finish
