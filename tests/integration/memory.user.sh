#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# memory.user.sh: memory runs out once, at every place where a program asks for some: a rank from its start to the end of its job, a switch
# from its start over a job to its end, and the commands. It must end with an error, or go on; never by a signal, never not at all.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
LIBRARY=$BUILD_DIR/tests/memory/libfail_nth.so

[ -e "$LIBRARY" ] || skip "this build has sanitizers, which bring an allocator of their own"
REPORT=$TMP/report

# allocations COMMAND...: how many it makes when none fails.
allocations() {
    rm -f "$REPORT"
    timeout $((20 * PATIENCE)) env FAIL_NTH=0 FAIL_REPORT="$REPORT" LD_PRELOAD="$LIBRARY" "$@" >"$TMP/out" 2>&1 || { fail "without a failure: $*"; show "$TMP/out"; }
    cat "$REPORT"
}

# each NAME COMMAND...: all of its allocations, one failure a run. Status 0 (it could do without), 1 or 2 (an error, or an argument that
# could not be read for lack of memory), in time.
each() {
    local name=$1 count n status errors=0 bad=0
    shift
    count=$(allocations "$@")
    CHECKS=$((CHECKS + 1))
    for ((n = 1; n <= count; n++)); do
        timeout -k 2 $((20 * PATIENCE)) env FAIL_NTH="$n" LD_PRELOAD="$LIBRARY" "$@" >"$TMP/out" 2>&1 9>&-
        status=$?
        errors=$((errors + (status > 0)))
        if [ "$status" -gt 2 ]; then
            fail "$name: status $status when allocation $n of $count failed"
            show "$TMP/out"
            bad=$((bad + 1))
            [ "$bad" -lt 5 ] || break
        elif [ "$status" -gt 0 ] && ! [ -s "$TMP/out" ]; then
            fail "$name: an error without a word when allocation $n of $count failed"
        fi
    done
    say "$name: $count allocations, $errors of them ended it with an error"
    check "$name: some allocation mattered" test "$errors" -gt 0
}

say "a rank"
switch_start
export TRIB_RANK=0 TRIB_RANKS=1 TRIB_JOB=memory
each "perf, one rank" "$T" perf -b 64K -e 64K -n 2 -w 1
unset TRIB_RANK TRIB_RANKS TRIB_JOB
each "doctor" "$T" doctor --timeout 300ms
check "the switch has lived through all of this" kill -0 "$SWITCH_PID"
switch_stop

# A switch: served from its start, over a job of two ranks and (where built in) a look over HTTP, to SIGTERM. What it could not do for a job
# it must have told the ranks, who then end with status 1.
look() { # PORT
    (exec 8<>"/dev/tcp/127.0.0.1/$1" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&8 && timeout $((2 * PATIENCE)) cat <&8) >/dev/null 2>&1
}
serve() { # N: which allocation fails
    local n=$1 port status ready=$TMP/ready.serve pid
    : >"$ready"
    # A pipe of its own would do as well; a file can be looked at without reading it empty.
    FAIL_NTH=$n FAIL_REPORT=$REPORT LD_PRELOAD=$LIBRARY "$T" switch --listen "127.0.0.1:$QUIET_PORT" --http "$HTTP" --ready-fd 9 9>"$ready" >"$TMP/serve" 2>&1 &
    pid=$!
    CHILDREN+=("$pid")
    wait_for 10 eval "test -s $ready || gone $pid" || fail "switch: neither serves nor ends when allocation $n failed"
    if test -s "$ready"; then
        port=$(cat "$ready")
        TRIB_JOIN_TIMEOUT=$((2 * PATIENCE))s TRIB_SWITCH_TIMEOUT=$((2 * PATIENCE))s TRIB_SWITCH=127.0.0.1:$port timeout -k 2 $((20 * PATIENCE)) "$T" perf --workers 2 -b 4K -e 4K -n 2 -w 1 >"$TMP/job" 2>&1
        status=$?
        [ "$status" -le 1 ] || { fail "the job of two ranks ended with status $status when allocation $n failed"; show "$TMP/job"; }
        [ "$HTTP" = none ] || look "$(sed -n 's/.*http on http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$TMP/serve")"
        kill -TERM "$pid" 2>/dev/null
    fi
    ended 10 "$pid"
    [ "$STATUS" -le 2 ] || { fail "switch: status $STATUS when allocation $n failed"; show "$TMP/serve"; }
}

say "a switch"
HTTP=none
! has_http || HTTP=127.0.0.1:0
quiet_port
serve 0
COUNT=$(cat "$REPORT")
for ((n = 1; n <= COUNT && FAILURES < 5; n++)); do
    serve "$n"
done
check "a switch allocates" test "$COUNT" -gt 10
say "switch: $COUNT allocations, from its start over a job to its end"
finish
