#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# communicators.user.sh: hundreds of communicators in each of four processes, on one switch and on a tree: all values right, whether they
# are busy one after another or at the same time, and no memory for those that are not.
. "$(dirname "$0")/tree.sh"
MANY=$BUILD_DIR/tests/integration/many
MEMORY_KIB=65536

# fits KEY RANK LIMIT: what that rank says is below it.
fits() {
    local value
    value=$(sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$TMP/$JOB.$2")
    [ -n "$value" ] && [ "$value" -lt "$3" ]
}

# many JOB "SWITCH SWITCH ..." ARGUMENTS...: one rank at each of these switches, to its end.
many() {
    local rank=0 name
    local -a switches
    JOB=$1
    read -ra switches <<<"$2"
    shift 2
    RANK_PIDS=()
    for name in "${switches[@]}"; do
        TRIB_JOB=$JOB TRIB_RANKS=${#switches[@]} TRIB_RANK=$rank TRIB_SWITCH=127.0.0.1:${PORT[$name]} "$MANY" "$@" >"$TMP/$JOB.$rank" 2>&1 &
        RANK_PIDS+=($!)
        CHILDREN+=($!)
        rank=$((rank + 1))
    done
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
finish
