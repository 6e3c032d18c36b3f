# SPDX-License-Identifier: Apache-2.0
# rendezvous.sh: jobs without a switch, for scripts: a rendezvous of their own, ranks that run to the end, die or stop. Sourced after common.sh,
# never run. Who sources it says by `start_rank JOB RANKS RANK OPTIONS...` how a rank of his is started.

# A port that nobody else takes while no rank 0 listens.
next_port() {
    quiet_port
    PORT=$QUIET_PORT
    export TRIB_RENDEZVOUS=127.0.0.1:$PORT
}

# right JOB RANKS OPTIONS...: to the end, every element right.
right() {
    ranks_start "$@"
    ranks_end 40 0
    check_right "$1" "$TMP/$1.0"
}

# all_in JOB RANKS: they are logging, and have joined.
all_in() { as_many_say "$2" "joined 127.0.0.1" "$TMP/$1".*; }

# kill_rank JOB VICTIM: of those in RANK_PIDS, who have joined; the others know within a second, and who it was.
kill_rank() {
    local job=$1 victim=$2 from
    wait_for 10 all_in "$job" ${#RANK_PIDS[@]} || fail "not all are in"
    sleep 0.3
    from=$(now_ms)
    kill -KILL "${RANK_PIDS[victim]}"
    wait "${RANK_PIDS[victim]}" 2>/dev/null
    rm -f "$TMP/$job.$victim"
    unset "RANK_PIDS[$victim]"
    RANK_PIDS=("${RANK_PIDS[@]}")
    ranks_end 5 1
    known_within 1000 "$from" "$TMP/$job".*
    check_in "names rank $victim" "tributary: rank [0-3]: rank $victim .*is gone" "$TMP/$job".*
}

# stall_said JOB: another rank has named rank 1, or whatever nothing comes from.
stall_said() { grep -qsE '(is missing|nothing comes from .*) on fragment' "$TMP/$1".[02]; }

# stop_rank SECONDS JOB: rank 1 of three stops for that long; the others say who is late, wait, and end right.
stop_rank() {
    local seconds=$1 job=$2
    wait_for 10 all_in "$job" 3 || fail "not all are in"
    kill -STOP "${RANK_PIDS[1]}"
    sleep "$seconds"
    wait_for 10 stall_said "$job"
    kill -CONT "${RANK_PIDS[1]}"
    ranks_end 40 0
    check_right "$job" "$TMP/$job.0"
}

# differing_operations JOB: every rank hears of both.
differing_operations() {
    RANK_PIDS=()
    start_rank "$1" 2 0 -b 64K -e 64K -n 2
    start_rank "$1" 2 1 -b 128K -e 128K -n 2
    ranks_end 5 1
    check_in "operations differ" \
        'rank 0 called allreduce of (16,384|32,768) float32 \(sum\) as operation [0-9]+, rank 1 called allreduce of (32,768|16,384) float32' \
        "$TMP/$1".[01]
}
