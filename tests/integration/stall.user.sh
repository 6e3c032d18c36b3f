#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stall.user.sh: a rank that is stopped at any moment, with every fifth packet lost and windows of a few fragments: within seconds each other
# rank says for whom it waits, and so does the switch. A rank that has sent all and lacks a result is one of the cases. On one machine.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
OPTIONS=(--listen 127.0.0.1:0)
! has_jobs || OPTIONS+=(--http 127.0.0.1:0)

# names FILE LINES: rank 1 was named behind these lines.
names() { tail -n "+$(($2 + 1))" "$1" | grep -q 'rank 1 is missing on fragment'; }

all_name() {
    local rank
    for rank in 0 2; do
        names "$TMP/often.$rank" "${LINES_OF[$rank]}" || return 1
    done
    names_it
}

# The switch as well.
names_it() { ! has_jobs || "$T" jobs --http "$HTTP" | grep -qE '^often .* rank 1 on fragment [0-9]+ since [1-9]'; }

say "a rank that stops at any moment is named"
switch_start "${OPTIONS[@]}"
HTTP=$(sed -n 's/.*http on http:\/\/\(127.0.0.1:[0-9]*\).*/\1/p' "$SWITCH_LOG")
ranks_start often 3 -b 1M -e 1M -n 100000 -w 1 --window 8KiB --loss 20% --seed 3
wait_for 10 runs_job often
for round in 1 2 3 4 5 6; do
    sleep "0.$((round * 3 % 7 + 1))"
    for rank in 0 2; do
        LINES_OF[rank]=$(wc -l <"$TMP/often.$rank")
    done
    kill -STOP "${RANK_PIDS[1]}"
    check "stop $round: rank 1 is named" wait_for 10 all_name
    kill -CONT "${RANK_PIDS[1]}"
done
kill "${RANK_PIDS[@]}"

switch_stop
finish
