#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reset.net.sh: TCP connections of ranks with a key are reset under load, one by one and all at once, as somebody on the path could do it: the job
# goes on with right sums. A rank that is killed is named within a second, and the job's name is free at once; one whose UDP sockets are taken
# from it ends the job.
. "$(dirname "$0")/network.sh"
command -v ss >/dev/null || skip "needs ss (iproute2)"
has_keys || skip "this build has no OpenSSL"
LOAD=$BUILD_DIR/tests/integration/load
net_star 3
mkdir "$TMP/keys"
"$TRIBUTARY" key new "$TMP/job.key" >/dev/null
"$TRIBUTARY" key tenant "$TMP/job.key" "$TMP/keys" >/dev/null
export TRIB_KEY_FILE=$TMP/job.key TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
net_switch_start s0 -t 2 --keys "$TMP/keys"

# load JOB: three ranks under load.
load() {
    local rank
    RANK_PIDS=()
    for rank in 0 1 2; do
        net_rank "$1" "$rank" 3 "w$rank" "$LOAD" "$TMP/$1.steps.$rank" 600 1 100000 7
        RANK_PIDS+=("$PID")
    done
    wait_for 10 sums "$1" || { fail "$1 does not run"; show "$TMP/s0.log"; }
}
# The switch says that a job runs before its ranks hear of it. A rank that has summed has joined.
sums() { [ -s "$TMP/$1.steps.0" ] && [ -s "$TMP/$1.steps.1" ] && [ -s "$TMP/$1.steps.2" ]; }
runs() { [ "$(grep -c "job $1 runs: all" "$TMP/s0.log")" -ge "$2" ]; }

# reset NODE FILTER...: both ends of these connections.
reset() {
    local node=$1
    shift
    in_node "$node" ss -tKHn "$@" >"$TMP/ss" 2>&1
}

load cut
reset w1 dst "${NET_ADDRESS[s0]}" dport = 7470
grep -q ESTAB "$TMP/ss" || { cat "$TMP/ss"; skip "this kernel resets no connections for ss -K (CONFIG_INET_DIAG_DESTROY)"; }
COUNT=1
for node in w0 w2 w1 s0 s0; do
    COUNT=$((COUNT + 1))
    wait_for 10 runs cut $COUNT || fail "the job does not go on after $((COUNT - 1)) resets"
    pause 0.1
    case $node in
    s0) reset s0 src "${NET_ADDRESS[s0]}" sport = 7470 ;; # all at once
    *) reset "$node" dst "${NET_ADDRESS[s0]}" dport = 7470 ;;
    esac
done
wait_for 10 runs cut $((COUNT + 1)) || fail "the job does not go on after all resets"
pause 0.6 # the time to come back is over
kill -TERM "${RANK_PIDS[0]}"
ranks_end 20 0
check_in "each rank" ', 0 wrong, .* [6-9] returns, .* 0 lane failures' "$TMP"/cut.[0-2]

say "a rank that is killed"
load killed
FROM=$(now_ms)
{
    kill -KILL "${RANK_PIDS[1]}"
    wait "${RANK_PIDS[1]}"
} 2>/dev/null # or bash says "Killed"
RANK_PIDS=("${RANK_PIDS[0]}" "${RANK_PIDS[2]}")
ranks_end 5 1
known_within 1000 "$FROM" "$TMP/killed.0" "$TMP/killed.2"
check_in "by name" 'a rank is gone: rank 1 \(10.99.0.2:[0-9]+\) is gone: its session' "$TMP/killed.0" "$TMP/killed.2"

say "a rank whose UDP sockets are taken from it"
load taken
in_node w1 ss -uKHn dst "${NET_ADDRESS[s0]}" >"$TMP/ss" 2>&1
ranks_end 5 1
check_in "by name" 'rank 1: the system has taken its UDP socket at 10.99.0.2:[0-9]+' "$TMP"/taken.[0-2]

say "all ranks are killed, and the job starts again at once"
load again
{
    kill -KILL "${RANK_PIDS[@]}"
    wait "${RANK_PIDS[@]}"
} 2>/dev/null
net_perf again -b 8 -e 64K -f 16 -n 2 -w 0
ranks_end 10 0
check_right again "$TMP/again.0"
net_switches_stop
finish
