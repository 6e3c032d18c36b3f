# SPDX-License-Identifier: Apache-2.0
# tree.sh: several switches as processes of one script, by name. Sourced; it sources common.sh.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# start NAME OPTIONS...: a switch, which lends its shards to those at LENDS unless it has a parent; PORT[NAME] and PID[NAME], its log in $TMP/NAME.log.
declare -A PORT PID OPTIONS
start() {
    local name=$1 lends=${LENDS:-}
    shift
    [[ " $* " != *" --parent "* && " $* " != *" -p "* ]] || lends=
    SWITCH_LOG=$TMP/$name.log
    switch_start ${lends:+--lend "$lends"} "$@"
    PORT[$name]=$SWITCH_PORT
    PID[$name]=$SWITCH_PID
    OPTIONS[$name]=$*
}

# kill -9, and the same switch again.
again() {
    SWITCH_PID=${PID[$1]}
    switch_kill
    start "$1" --listen "127.0.0.1:${PORT[$1]}" ${OPTIONS[$1]}
}

stop() {
    local name
    for name in "$@"; do
        SWITCH_PID=${PID[$name]}
        SWITCH_LOG=$TMP/$name.log
        switch_stop
    done
}

below() { echo "--parent 127.0.0.1:${PORT[$1]}"; }

# ranks JOB "SWITCH SWITCH ..." OPTIONS...: one rank at each of these switches.
ranks() {
    local job=$1 rank=0 name
    local -a switches
    read -ra switches <<<"$2"
    shift 2
    RANK_PIDS=()
    for name in "${switches[@]}"; do
        TRIB_SWITCH=127.0.0.1:${PORT[$name]} rank_start "$job" ${#switches[@]} $rank "$@"
        rank=$((rank + 1))
    done
}

# load_ranks JOB "SWITCH ...": a rank under load at each of these switches, until rank 0 gets SIGTERM. PER_HOST ranks say that they are on one
# host.
LOAD=$BUILD_DIR/tests/integration/load
load_ranks() {
    local job=$1 rank=0 name
    local -a switches
    read -ra switches <<<"$2"
    RANK_PIDS=()
    for name in "${switches[@]}"; do
        : >"$TMP/$job.$rank" # what an earlier job of this name has said is not what this one says
        TRIB_HOSTID=host-$((rank / ${PER_HOST:-1})) TRIB_SWITCH=127.0.0.1:${PORT[$name]} TRIB_JOB=$job TRIB_RANKS=${#switches[@]} \
            TRIB_RANK=$rank "$LOAD" "$TMP/records" 60 1 300000 "${SEED:-1}" >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=($!)
        CHILDREN+=($!)
        rank=$((rank + 1))
    done
}

# many_start JOB "SWITCH ..." ARGUMENTS...: a rank of tests/integration/many at each of these switches.
MANY=$BUILD_DIR/tests/integration/many
many_start() {
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
}

# end NAME: kill -9, and it stays away.
end() {
    SWITCH_PID=${PID[$1]}
    switch_kill
}

# job_runs JOB: all its ranks are registered, says the root.
job_runs() { holds "$TMP/root.log" "job $1 runs: all"; }
