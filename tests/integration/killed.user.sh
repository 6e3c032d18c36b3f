#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# killed.user.sh: jobs that are killed at random moments, several at a time, at a server and a combiner that another job uses meanwhile. After
# each batch nothing of the jobs may stay: within a second no job, and so no row; no session, no slot; at last no descriptor, no memory.
# JOBS=12000 BATCH=250 runs as many, 250 between checks; SEED draws the moments.
. "$(dirname "$0")/tree.sh"
command -v curl >/dev/null && has_http || skip "needs curl, and HTTP in this build"
export TRIB_SCHEME=atp TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_SWITCH_TIMEOUT=$((10 * PATIENCE))s
JOBS=${JOBS:-40}
BATCH=${BATCH:-20}
SEED=${SEED:-1}
VICTIMS=$BUILD_DIR/tests/integration/victims
SPAN_MS=$((80 * PATIENCE))
start root --join-timeout $((2 * PATIENCE))s --http 127.0.0.1:0
start left --combine --parent "127.0.0.1:${PORT[root]}" --http 127.0.0.1:0 --pool 256KiB

metrics() { curl -s "http://127.0.0.1:$((PORT[$1] + 1000))/metrics" | sed -n 's/^tributary_//p'; }
descriptors() { find "/proc/${PID[$1]}/fd" -mindepth 1 | wc -l; }
memory() { awk '/^VmRSS:/ { print $2 }' "/proc/${PID[$1]}/status"; }

# has NAME "METRIC VALUE"...: all of them.
has() {
    local all value
    all=$'\n'$(metrics "$1")$'\n'
    shift
    for value in "$@"; do
        [[ $all == *$'\n'"$value"$'\n'* ]] || return 1
    done
}
only_one_runs() { has left "lendings 1" && has root "communicators 1" "jobs 1"; }
at_rest() { # NAME SESSIONS: nothing of any job is there
    has "$1" "sessions $2" "jobs 0" "communicators 0" "lendings 0" "memory_used_bytes 0" "pool_rows_held 0"
}

# batch FIRST COUNT: kills these jobs beside one whose sums must be right. When only that one is there, it ends: its rows come and go. The
# combiner's session stays at the server.
batch() {
    local start took
    load_ranks "stays$1" "left left root"
    wait_for 10 job_runs "stays$1"
    "$VICTIMS" "$2" "$1" 6 "$SPAN_MS" "$SEED" "127.0.0.1:${PORT[left]}" "127.0.0.1:${PORT[left]}" "127.0.0.1:${PORT[root]}" >"$TMP/victims"
    check "jobs $1 to $(($1 + $2 - 1)): every sum is right, and every rank ends" test $? = 0
    start=$(now_ms)
    check "none of these jobs is left" wait_for 10 only_one_runs
    took=$(($(now_ms) - start))
    check "none is left after $took ms" test "$took" -le $((1000 * PROMISE))
    [ "$took" -le "$SLOWEST" ] || SLOWEST=$took
    kill -TERM "${RANK_PIDS[0]}"
    ranks_end 30 0
    check "no row, session or slot stays at the combiner" wait_for 10 at_rest left 0
    check "nor at the server" wait_for 10 at_rest root 1
    [ "$FAILURES" = 0 ] || { show "$TMP/victims" "$TMP/stays$1".*; metrics left; metrics root; finish; }
    tail -n 1 "$TMP/victims" >>"$TMP/batches"
    rm "$TMP/stays$1".*
}

say "$JOBS jobs, seed $SEED"
SLOWEST=0
for ((first = 0; first < JOBS; first += BATCH)); do
    batch "$first" $((JOBS - first < BATCH ? JOBS - first : BATCH))
    if [ "$first" = 0 ]; then
        BEFORE="$(descriptors left) $(descriptors root)"
        MEMORY=$(($(memory left) + $(memory root)))
    fi
done
same() { [ "$(descriptors left) $(descriptors root)" = "$BEFORE" ]; }
wait_for 5 same || :
AFTER="$(descriptors left) $(descriptors root)"
check "descriptors of the combiner and the server: $BEFORE, then $AFTER" test "$AFTER" = "$BEFORE"
GROWN=$(($(memory left) + $(memory root) - MEMORY))
check "memory of both has grown by $GROWN KiB" test "$GROWN" -lt $((4096 * PATIENCE))
say "$(awk -F '[:,]' '{ k += $4; a += $6; b += $8; c += $10; s += $12; if ($14 > m) m = $14 + 0 }
    END { print k " killed; ranks: " a " before they joined, " b " then, " c " in close; " s " sums; the last rank ended " m " ms after the first kill" }' "$TMP/batches")"
say "$(metrics left | sed -n 's/^pool_combined_total //p') parts combined; no job left $SLOWEST ms after a batch; descriptors $AFTER; memory + $GROWN KiB"
stop left root
finish
