# SPDX-License-Identifier: Apache-2.0
# common.sh: what the integration scripts share: real processes, their logs in a folder of their own, and an end that leaves
# nothing behind. Sourced, never run. The environment gives TRIBUTARY (the program) and BUILD_DIR.
# A check that does not hold prints why and lets the script go on; `finish` turns the count into the exit status.
set -u

: "${TRIBUTARY:?the program under test}" "${BUILD_DIR:?the build folder}"
# A wait for something that must come is PATIENCE times as long: that costs no time but where it does not come. A time that the program promises
# is no such wait: a busy machine does not stretch it, only a sanitizer does.
PATIENCE=${TRIB_PATIENCE:-1}
PROMISE=$PATIENCE
[ ! -e "$BUILD_DIR/tests/memory/libfail_nth.so" ] || PROMISE=1 # which plain builds have
unset "${!TRIB_@}"
export TRIB_LEVEL0=0 # ranks of this machine are to meet on the wire; who means the memory of a host says so
TMP=$(mktemp -d)
FAILURES=0
CHECKS=0
CHILDREN=()
RESERVED=()
QUIET_PORT=0
# Every process that a script starts inherits this, so that survivors can be found without knowing their parents.
export TEST_MARK="tributary-test-$$-$RANDOM"

# Processes that carry this script's mark, but for shells: those may be its own.
marked() {
    local file pid shell
    shell=$(readlink "/proc/$$/exe")
    for file in $(grep -lsz "^TEST_MARK=$TEST_MARK\$" /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        pid=${pid%/environ}
        gone "$pid" || [ "$(readlink "/proc/$pid/exe")" = "$shell" ] || echo "$pid"
    done
}

clean_up() {
    local pid
    [ "$BASHPID" = $$ ] || return 0 # of a child that was told to end before it became its program
    disown -a # or bash says of each that it was killed
    for pid in "${CHILDREN[@]}" $(marked); do
        kill -KILL "$pid" 2>/dev/null
    done
    rm -rf "$TMP" "${RESERVED[@]}"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

say() { printf "# %s\n" "$*"; }

fail() {
    FAILURES=$((FAILURES + 1))
    printf 'FAILED: %s\n' "$*"
}

show() {
    local file
    for file in "$@"; do
        printf -- '--- %s\n' "${file##*/}"
        tail -n 30 "$file"
    done
}

skip() {
    say "skipped: $*"
    exit 77
}

finish() {
    [ "$FAILURES" -eq 0 ] || [ -z "${SWITCH_LOG:-}" ] || show "$SWITCH_LOG"
    say "$CHECKS checks, $FAILURES failed"
    [ "$FAILURES" -eq 0 ] && [ "$CHECKS" -gt 0 ]
    exit
}

# check WHAT COMMAND...: COMMAND must succeed.
check() {
    local what=$1
    shift
    CHECKS=$((CHECKS + 1))
    "$@" || fail "$what"
}

# check_in WHAT REGEX FILE...: a line of each file must match.
check_in() {
    local what=$1 regex=$2 file
    shift 2
    for file in "$@"; do
        CHECKS=$((CHECKS + 1))
        grep -qE -- "$regex" "$file" || { fail "$what: no line matches /$regex/"; show "$file"; }
    done
}

# expect STATUS REGEX COMMAND...: the exit status, a line of the output (standard output and error together, kept in $TMP/out).
expect() {
    local status=$1 regex=$2 got
    shift 2
    CHECKS=$((CHECKS + 1))
    timeout -k 5 $((60 * PATIENCE)) "$@" >"$TMP/out" 2>&1
    got=$?
    if [ "$got" != "$status" ]; then
        fail "exit status $got, not $status: ${*##*/}"
        show "$TMP/out"
    elif ! grep -qE -- "$regex" "$TMP/out"; then
        fail "no line matches /$regex/: ${*##*/}"
        show "$TMP/out"
    fi
}

# expect_line: as expect, and the output is that one line.
expect_line() {
    expect "$@"
    [ "$(wc -l <"$TMP/out")" = 1 ] || { fail "not one line: ${*:3}"; show "$TMP/out"; }
}

# "${WITHOUT[@]}" LIBRARY COMMAND...: runs the command where no library of that name (a regular expression) can be loaded. can_hide: whether
# this machine permits it.
WITHOUT=(unshare -Urm sh -c 'PATH=$PATH:/sbin:/usr/sbin
    for file in $(ldconfig -p | sed -nE "s/^[[:space:]]*($1) .* => //p"); do mount --bind /dev/null "$file" || exit 99; done
    shift && exec "$@"' sh)
can_hide() { unshare -Urm true 2>/dev/null; }

# "${UNTIL[@]}" SECONDS COMMAND...: ends the command after that time, exit status 124. --foreground: else timeout sends SIGCONT behind SIGTERM, which
# undoes the SIGSTOP that LeakSanitizer sends to a program that ends, and waits for.
UNTIL=(timeout --foreground)

# Ticks of the machine's processors that all processes but this script's have had.
others_had() {
    local pid files=("/proc/$$/stat")
    for pid in $(marked); do files+=("/proc/$pid/stat"); done
    cat /proc/stat "${files[@]}" 2>/dev/null |
        awk '/^cpu / { all = $2 + $3 + $4 + $7 + $8 } sub(/^[0-9]+ \(.*\) /, "") { own += $12 + $13 + $14 + $15 } END { printf "%d\n", all - own }'
}

# thrice WHAT COMMAND...: a time that is promised is kept in one of three tries: for a moment the machine may be busy. If other work had more than
# a quarter of it all the while, nobody can keep that, and in a last try PATIENCE times as long will do.
thrice() {
    local what=$1 try share from=$(others_had) start=$(now_ms)
    shift
    CHECKS=$((CHECKS + 1))
    for try in 1 2 3; do
        "$@" && return
        say "try $try of 3: not so: $what"
    done
    share=$((($(others_had) - from) * 100000 / $(getconf CLK_TCK) / ($(now_ms) - start) / $(nproc)))
    say "other work had $share % of this machine"
    [ "$share" -gt 25 ] && PROMISE=$PATIENCE "$@" && return
    fail "$what"
    return 1
}

# known_within MS FROM FILE...: each of these files, which are of ranks that have ended, had its last words at most so long after FROM (of now_ms). If
# the log has the line with which the communicator failed, that line counts, since a busy machine closes later. By the files' own times: it does not
# matter when this script looks.
known_within() {
    local ms=$1 from=$2 file said late last=0
    shift 2
    for file in "$@"; do
        said=$(grep -aE '^[0-9-]{10}T[0-9:.]+Z .* rank [0-9]+: a rank is gone: ' "$file" | tail -n 1 | cut -d ' ' -f 1)
        if [ -n "$said" ]; then said=$(date -d "$said" +%s%3N); else said=$(date -r "$file" +%s%3N); fi
        late=$((said - from))
        last=$((late > last ? late : last))
    done
    check "known after $last ms, at most $ms" test "$last" -le $((ms * PROMISE))
}

now_ms() { local now=$EPOCHREALTIME; echo $((10#${now/[.,]/} / 1000)); }

# wait_for SECONDS COMMAND...: until it succeeds. Here the shell does what it can itself, fifty times a second: `sleep` and `grep` as processes cost
# more than what some scripts wait for.
exec {SILENCE}<> <(:) # nothing ever comes there
pause() { read -rt "$1" -u "$SILENCE" || :; }
wait_for() {
    local end=$((10#${EPOCHREALTIME/[.,]/} + $1 * 1000000 * PATIENCE))
    shift
    until "$@"; do
        [ $((10#${EPOCHREALTIME/[.,]/})) -lt "$end" ] || return 1
        pause 0.02
    done
}

# holds FILE TEXT: the file is there, and the text in it.
holds() {
    local text=
    { IFS= read -rd '' text <"$1"; } 2>/dev/null
    [[ $text == *"$2"* ]]
}

# as_many_say COUNT REGEX FILE...: so many of these files have a line that matches.
as_many_say() {
    local files
    mapfile -t files < <(exec grep -lsE -- "${@:2}")
    [ ${#files[@]} = "$1" ]
}

# ended SECONDS PID: waits for a child and sets STATUS; one that does not end is killed, and fails.
ended() {
    local seconds=$1 pid=$2
    STATUS=124
    wait_for "$seconds" gone "$pid" || { fail "process $pid still runs after $seconds s"; kill -KILL "$pid"; }
    wait "$pid" 2>/dev/null
    STATUS=$?
}

gone() {
    local stat=') X'
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null
    [[ ${stat##*) } == [ZX]* ]]
}

# quiet_port: sets QUIET_PORT to the first of 16 ports that are free, below those that the kernel gives to sockets without one. They stay this
# script's until it ends: a switch that is killed finds them free again, whatever else runs. In even thousands, since a switch that was not told
# where has HTTP 1000 above.
quiet_port() {
    local owner digits
    while :; do
        QUIET_PORT=$(((10 + RANDOM % 11 * 2) * 1000 + RANDOM % 62 * 16))
        owner=${TMP%/*}/tributary-ports-$QUIET_PORT
        [ ! -L "$owner" ] || [ -e "/proc/$(readlink "$owner")" ] || rm -f "$owner" # of a script that was killed
        ln -s "$$" "$owner" 2>/dev/null || continue
        RESERVED+=("$owner")
        digits=$(printf '%03X[0-9A-F]|%04X' $((QUIET_PORT / 16)) $((QUIET_PORT + 1000)))
        cat /proc/net/{tcp,udp,tcp6,udp6} 2>/dev/null | grep -qE "^ *[0-9]+: [0-9A-F]+:($digits) " || return 0
    done
}

# Whether the switch of this build has HTTP.
has_keys() { "$TRIBUTARY" info --json | grep -q '"keys":true'; }
has_http() { "$TRIBUTARY" info --json | grep -q '"http":true'; }
# And `tributary jobs`, which asks it.
has_jobs() { has_http && "$TRIBUTARY" jobs --help >/dev/null 2>&1; }

# switch_start [OPTIONS]: sets SWITCH_PID, SWITCH_PORT, SWITCH_LOG and exports TRIB_SWITCH. On 127.0.0.1, without HTTP, unless the options say
# otherwise and the build has it; port 0 to listen at is a quiet one.
switch_start() {
    local ready="$TMP/ready.$RANDOM" options=(--listen 127.0.0.1:0 --http none "$@") i list
    SWITCH_LOG=${SWITCH_LOG:-$TMP/switch.log}
    : >"$ready"
    [[ $* =~ --listen\ [^\ ]*:[1-9][0-9]*($|[\ ,]) ]] || quiet_port
    for ((i = 1; i < ${#options[@]}; i++)); do
        [ "${options[i - 1]}" = --listen ] || continue
        list=${options[i]},
        list=${list//:0,/:$QUIET_PORT,}
        options[i]=${list%,}
    done
    [[ $* != *--http* ]] || has_http || options+=(--http none)
    "$TRIBUTARY" switch "${options[@]}" --ready-fd 9 9>"$ready" 2>>"$SWITCH_LOG" &
    SWITCH_PID=$!
    CHILDREN+=("$SWITCH_PID")
    if ! wait_for 10 test -s "$ready"; then
        fail "the switch did not start"
        show "$SWITCH_LOG"
        exit 1
    fi
    SWITCH_PORT=$(<"$ready")
    export TRIB_SWITCH=127.0.0.1:$SWITCH_PORT
}

# SIGTERM must end it cleanly.
switch_stop() {
    CHECKS=$((CHECKS + 1))
    kill -TERM "$SWITCH_PID"
    ended 5 "$SWITCH_PID"
    [ "$STATUS" = 0 ] || { fail "the switch ended with status $STATUS on SIGTERM"; show "$SWITCH_LOG"; }
}

switch_kill() {
    kill -KILL "$SWITCH_PID"
    wait "$SWITCH_PID" 2>/dev/null
}

# ranks_start JOB RANKS OPTIONS...: `tributary perf` as RANKS processes of a launcher, output in $TMP/JOB.RANK; sets RANK_PIDS.
# Scripts whose ranks need more than that define start_rank anew: JOB RANKS RANK OPTIONS...
ranks_start() {
    local job=$1 ranks=$2 rank
    shift 2
    RANK_PIDS=()
    for ((rank = 0; rank < ranks; rank++)); do
        start_rank "$job" "$ranks" "$rank" "$@"
    done
}

start_rank() { rank_start "$@"; }

rank_start() {
    local job=$1 ranks=$2 rank=$3
    shift 3
    : >"$TMP/$job.$rank" # what an earlier job of this name has said is not what this one says
    TRIB_JOB=$job TRIB_RANKS=$ranks TRIB_RANK=$rank "$TRIBUTARY" perf "$@" >"$TMP/$job.$rank" 2>&1 &
    RANK_PIDS+=($!)
    CHILDREN+=($!)
}

# ranks_end SECONDS STATUS: all of RANK_PIDS must end with it.
ranks_end() {
    local pid
    for pid in "${RANK_PIDS[@]}"; do
        CHECKS=$((CHECKS + 1))
        ended "$1" "$pid"
        [ "$STATUS" = "$2" ] || fail "rank with pid $pid ended with status $STATUS, not $2"
    done
}

# What a rank sends and the switch sums, without one wrong element: the last line of perf.
check_right() { check_in "$1" '^# 0 wrong elements$' "$2"; }

running() { holds "$SWITCH_LOG" 'runs: all'; }
runs_job() { holds "$SWITCH_LOG" "job $1 runs: all"; }
