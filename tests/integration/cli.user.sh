#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cli.user.sh: what somebody meets who types: help, wrong words, wrong values, configuration files, exit statuses, Ctrl-C.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

say "help and versions"
expect 0 '^usage: tributary <command>' "$T" --help
expect 0 '^usage: tributary <command>' "$T" help help
expect 2 '^usage: tributary <command>' "$T"
expect_line 0 '^tributary [0-9]+\.[0-9]+\.[0-9]+$' "$T" --version
for command in switch run perf key doctor demo sim info; do
    expect 0 "^usage: tributary $command" "$T" "$command" --help
    grep -oE '^  (-[a-z], )?--[a-z_-]+' "$TMP/out" | grep -oE -- '--[a-z_-]+' >"$TMP/options"
    check "$command --help lists options" test -s "$TMP/options"
    expect 0 "^usage: tributary $command" "$T" help "$command"
done
expect_line 2 'unknown command "swich"; did you mean switch\?' "$T" help swich
expect 0 '^value kernels +(scalar|avx2|avx512)' "$T" info
for variable in TRIB_SWITCH TRIB_JOB TRIB_RANK TRIB_WIRE TRIB_PAYLOAD TRIB_FAULTS TRIB_DEBUG; do
    check_in "info names $variable" "^  $variable " "$TMP/out"
done
if command -v python3 >/dev/null; then
    expect 0 '"version": "' sh -c "'$T' info --json | python3 -m json.tool"
    expect 0 '"wrong": 0' sh -c "'$T' perf --workers 2 -b 8 -e 64 --json | python3 -m json.tool"
    expect 0 '"got": 331' sh -c "'$T' demo --literal -n 10 --json | python3 -m json.tool"
    expect 0 '"holds": true' sh -c "'$T' demo -n 10 --json | python3 -m json.tool"
fi

say "wrong words: status 2, one line, the nearest name"
expect_line 2 'unknown command "swich"; did you mean switch\?' "$T" swich
expect_line 2 'unknown command "xyzzy"; `tributary --help`' "$T" xyzzy
expect_line 2 'unknown option --listn; did you mean --listen\?' "$T" switch --listn x
expect 0 'RESULT +2 +331  WRONG, should be 333: refused by the lane check of 3 workers$' "$T" demo --literal -n 20
check_in "and ATP's defects" '-> worker 1 +RESULT +0 +184549376  WRONG, should be 11: taken$' "$TMP/out"
check "the story has no colours in a pipe" sh -c "! grep -q $'\033' '$TMP/out'"
expect 0 '^  switchml +20 +0 +0 +0 +0 +0 +20$' "$T" demo -n 20
expect_line 2 'unexpected argument "literal"' "$T" demo literal
expect_line 2 'unknown option --jsno; did you mean --json\?' "$T" info --jsno
expect_line 2 'unknown option --xyzzy; --help lists' "$T" perf --xyzzy
expect_line 2 'unknown option -Z' "$T" perf -Z
expect_line 2 'unexpected argument "extra"' "$T" switch extra
expect_line 2 'unexpected argument "extra"' "$T" perf extra
expect_line 2 '--listen needs a value: ADDRESS' "$T" switch --listen
expect_line 2 'no program to run' "$T" run -n 2

say "options before, between and behind other words; those of a program are its own"
if has_keys; then
    expect_line 0 '"id":"[0-9a-f]*","file":"' "$T" key new "$TMP/words.key" --json
    expect_line 0 '"id":"[0-9a-f]*"}' "$T" key id --json "$TMP/words.key"
fi
expect_line 2 'unknown option --jsno; did you mean --json' "$T" info words --jsno
expect_line 0 '^--json -n 7$' "$T" run -n 1 --no-switch echo --json -n 7
expect_line 0 '^-- a$' "$T" run -n 1 --no-switch -- echo -- a

say "options that would have no effect"
expect_line 2 '--threads is of a switch that is started' "$T" perf --workers 2 --no-switch -t 3
expect_line 2 '--threads is of a switch that is started' "$T" run -n 2 --switch 127.0.0.1 -t 3 true
expect_line 2 '--no-switch: ranks meet in memory' "$T" perf --workers 2 --no-switch --loss 1%
expect_line 2 '--no-switch: ranks meet in memory' "$T" run -n 2 --no-switch --corrupt 1% true
! has_jobs || expect_line 2 '--every goes with --watch' "$T" jobs --every 1s
expect_line 2 '-b is 0, and a size grows by a factor' "$T" perf --workers 2 -b 0 -e 8

say "wrong values: what was written, and how to write it"
expect_line 2 '--memory: "12" has no unit; .*64MB' "$T" switch --memory 12
expect_line 2 '--buffer: "1" has no unit; .*64MB' "$T" switch --buffer 1
expect_line 2 '--backlog: "5" has no unit; .*64MB' "$T" switch --backlog 5
expect_line 2 '--memory: "5XB" is not a size' "$T" switch --memory 5XB
expect_line 2 '--join-timeout: "5" has no unit; .*30s' "$T" switch --join-timeout 5
expect_line 2 '--threads: 33 is not from 1 to 32$' "$T" switch --threads 33
expect_line 2 '--threads: "two" is not a whole number' "$T" switch --threads two
expect_line 2 '--dscp: 64 is not from 0 to 63$' "$T" switch --dscp 64
expect_line 2 '--seed: "-1" is not a whole number' "$T" switch --seed -1
expect_line 2 '--listen: "127.0.0.1:99999" has no valid port' "$T" switch --listen 127.0.0.1:99999
expect_line 2 '--listen: cannot resolve "300.1.1.1"' "$T" switch --listen 300.1.1.1:1
expect_line 2 '--group: "10.0.0.1" is not an IPv4 multicast address' "$T" switch --group 10.0.0.1
expect_line 2 '--job-quota: more than --memory' "$T" switch --memory 1MiB --job-quota 2MiB
mkdir "$TMP/keys"
! has_keys || expect_line 2 '--tenant-quota: more than --memory' "$T" switch --keys "$TMP/keys" --memory 1MiB --tenant-quota 2MiB
expect_line 2 '--tenant-quota: jobs have no keys here' "$T" switch --check-config --tenant-quota 2MiB
expect_line 2 '--identity: it is for a switch below another one, which --parent names' "$T" switch --check-config --identity rack7
expect_line 2 '--loss: "5" has no unit; .*1%' "$T" perf --loss 5
expect_line 2 '--loss: "200%" is more than 100%' "$T" perf --loss 200%
expect_line 2 '--wire: "int33" is none of float32, bfloat16, int32' "$T" perf --wire int33
expect_line 2 '-d: "complex" is none of' "$T" perf -d complex
expect_line 2 '-o: "xor" is none of' "$T" perf -o xor
expect_line 2 '-b: "x" is not a size' "$T" perf -b x
expect_line 2 '-f: 1 is not from 2 to 1000000000$' "$T" perf -f 1
for places in "--no-switch --switch 127.0.0.1:1" "--switch 127.0.0.1:1 --rendezvous 127.0.0.1:2" "--rendezvous 127.0.0.1:2 --no-switch"; do
    # shellcheck disable=SC2086
    expect_line 2 '--no-switch, --switch and --rendezvous exclude each other' "$T" perf --workers 2 $places
    # shellcheck disable=SC2086
    expect_line 2 '--no-switch, --switch and --rendezvous exclude each other' "$T" run -n 2 $places -- true
done
expect_line 2 '--switch: "1.2.3.4:99999" has no valid port' "$T" perf --switch 1.2.3.4:99999
expect_line 2 '--rendezvous: "127.0.0.1:x" has no valid port' "$T" perf --rendezvous 127.0.0.1:x
expect 1 'rank [01]: no memory for tensors of 36028797018963968 bytes$' \
    env ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1 "$T" perf --workers 2 -b 32768T -e 32768T -n 1
check "nothing is said without a cause" sh -c "! grep -q 'rank [01]: *$' '$TMP/out'"
expect_line 2 '-n: 0 is not from 1 to 1000000000$' "$T" perf -n 0
expect_line 2 '-e is less than -b, 8 ' "$T" perf -b 8 -e 4
expect_line 2 '--payload: 100 is not a multiple of 64$' "$T" perf --workers 2 --payload 100
expect_line 2 '--payload: 9000 is not from 64 B to 8 KiB$' "$T" perf --workers 2 --payload 9000
expect_line 2 '-c: 2 is not from 0 to 1$' "$T" perf --workers 1 -c 2
expect_line 2 '--scheme: unknown scheme "foo"' "$T" perf --workers 2 --scheme foo
expect_line 2 '--scheme switchml-literal: it shows a published rule that gives wrong sums' "$T" perf --workers 2 --scheme switchml-literal
expect_line 2 '--scheme panama-literal: it shows a published rule that hangs' "$T" perf --workers 2 --scheme panama-literal
expect 0 'scheme panama, ' env TRIB_SCHEME=panama "$T" perf --workers 2 -b 8 -e 8 -n 1
expect 0 'warn TRIB_DEBUG: "foo" is none of WARN, INFO and TRACE, and changes nothing' env TRIB_DEBUG=foo "$T" perf --workers 1 -b 8 -e 8 -n 1
expect_line 2 '--workers: 1025 is not from 1 to 1024' "$T" perf --workers 1025
expect_line 2 '--workers: 0 is not from 1 to 1024' "$T" perf --workers 0
expect_line 2 '--window: 4GiB is not from 0 B to 1 GiB$' "$T" perf --window 4GiB
expect_line 2 '8 shards need port 65530 and the following ports: choose port 65528 or lower' "$T" switch --check-config --listen 127.0.0.1:65530 -t 8
expect_line 2 'the switch \[fe80::1%1?(lo)?\]:7470 is the address of a link, which ranks on other hosts cannot use' \
    "$T" switch --check-config --listen "[::]:7471" --with "[fe80::1%lo]"
expect_line 2 'HTTP and sessions cannot both have port 7470' "$T" switch --check-config --listen 127.0.0.1 --http 127.0.0.1:7470
expect_line 2 '-n: 0 is not from 1 to 1024$' "$T" run -n 0 -- true
expect_line 2 '-n: 1025 is not from 1 to 1024$' "$T" run -n 1025 -- true
expect_line 2 '--threads: 33 is not from 1 to 32$' "$T" run -n 2 --threads 33 -- true
expect_line 2 '--ready-fd: 77 is not an open, writable descriptor' "$T" switch --listen 127.0.0.1:0 --ready-fd 77

say "the environment is checked in the same way"
expect_line 2 'rank: 5 is not below the number of ranks, 2' env TRIB_RANK=5 TRIB_RANKS=2 "$T" perf
expect_line 2 'TRIB_WIRE: "x" is none of' env TRIB_WIRE=x "$T" perf
expect_line 2 'TRIB_PAYLOAD: 100 is not a multiple of 64' env TRIB_PAYLOAD=100 "$T" perf
expect_line 2 'TRIB_RANK: "abc" is not a whole number' env TRIB_RANK=abc "$T" perf
expect_line 2 'TRIB_FAULTS: ' env TRIB_FAULTS=loss=x "$T" perf
expect 0 'TRIB_WRIE has no effect: did you mean TRIB_WIRE\?' env TRIB_WRIE=int32 "$T" perf --workers 1 -b 8 -e 8

say "configuration files"
config() { printf "$@" >"$TMP/conf"; }
config '# a comment\nlisten = "127.0.0.1:0"\nthreads = 2 # two\nno-trains = yes\nmemory=1GiB\njob-quota = 1MiB\n\n'
expect_line 0 'configuration is good' "$T" switch --config "$TMP/conf" --check-config
expect_line 0 'configuration is good' "$T" switch --check-config
config 'listen = 127.0.0.1:0\nthreds = 2\n'
expect_line 2 'conf:2: unknown key "threds"; did you mean "threads"\?' "$T" switch --config "$TMP/conf" --check-config
expect_line 2 'conf:2: unknown key "threds"; did you mean "threads"\?' "$T" switch --config "$TMP/conf"
config 'threads = two\n'
expect_line 2 'conf:1: threads: "two" is not a whole number' "$T" switch -c "$TMP/conf" --check-config
config 'threads = 99\n'
expect_line 2 'conf:1: threads: 99 is not from 1 to 32$' "$T" switch -c "$TMP/conf" --check-config
config 'threads = 9\nlisten = 127.0.0.1:0,127.0.0.2:0\n'
expect_line 0 'configuration is good' "$T" switch -c "$TMP/conf" --check-config
expect_line 2 '--threads: 1 shards for 2 addresses' "$T" switch -c "$TMP/conf" --threads 1 --check-config
config 'memory = 12\n'
expect_line 2 'conf:1: memory: "12" has no unit' "$T" switch -c "$TMP/conf" --check-config
config 'listen = "127.0.0.1:0\n'
expect_line 2 'conf:1: unterminated quote' "$T" switch -c "$TMP/conf" --check-config
echo "config = $TMP/none" >"$TMP/conf"
expect_line 2 'conf: config: a configuration cannot name another one' "$T" switch -c "$TMP/conf" --check-config
echo 'check-config = yes' >"$TMP/conf"
expect_line 2 'conf: check-config: give it on the command line' "$T" switch -c "$TMP/conf"
config 'listen\n'
expect_line 2 'conf:1: expected `name = value`' "$T" switch -c "$TMP/conf" --check-config
expect_line 2 'cannot read the configuration .*absent: No such file' "$T" switch -c "$TMP/absent" --check-config
expect_line 2 'cannot read the configuration .*: Is a directory' "$T" switch -c "$TMP" --check-config
if [ -e "$BUILD_DIR/tests/memory/libfail_nth.so" ]; then # sanitizers need more address space
    expect_line 2 'cannot read the configuration /dev/zero: larger than memory allows' \
        bash -c 'ulimit -v 400000; exec "$1" switch -c /dev/zero --check-config' - "$T" # not: what fits is good
fi
if [ "$(id -u)" != 0 ]; then
    config 'threads = 1\n'
    chmod 0 "$TMP/conf"
    expect_line 2 'cannot read the configuration .*: Permission denied' "$T" switch -c "$TMP/conf" --check-config
fi

say "pipes in place of files"
mkfifo "$TMP/pipe"
expect_line 2 'cannot read the configuration .*/pipe: nothing is written to this pipe$' "$T" switch -c "$TMP/pipe" --check-config
expect_line 2 '/pipe: nothing is written to this pipe$' "$T" sim "$TMP/pipe" --check
expect_line 1 'plan: .*/pipe: nothing is written to this pipe$' "$T" plan --topology "$TMP/pipe" --jobs "$TMP/pipe"
expect_line 0 'configuration is good' bash -c '"$1" switch --check-config -c <(sleep 1.5; echo threads = 1)' - "$T" # a slow writer
expect_line 2 '/dev/fd/[0-9]+:1: threads: "x" is not' bash -c '"$1" switch --check-config -c <(echo threads = x)' - "$T"
expect_line 2 '/dev/fd/[0-9]+:1:1: a name should stand here' bash -c '"$1" sim --check <(echo "]")' - "$T"

say "run: programs and their status"
unset TRIB_SWITCH
expect 127 'cannot run ./absent: No such file' "$T" run -n 2 -- ./absent
expect 126 'cannot run /: Permission denied' "$T" run -n 2 -- /
expect 0 '^2 of 3$' "$T" run -n 3 -- sh -c 'echo $TRIB_RANK of $TRIB_RANKS'
expect_line 7 'rank 1 ended with status 7' "$T" run -n 3 -- sh -c '[ $TRIB_RANK != 1 ] || exit 7'
expect 139 'rank 1 was ended by signal 11' "$T" run -n 2 -- sh -c '[ $TRIB_RANK != 1 ] || kill -SEGV $$'
expect 9 'rank 1 ended with status 9' "$T" run -n 2 -- sh -c '[ $TRIB_RANK != 1 ] || exit 9; sleep 50; true'
check "what a failed rank leaves alone is ended" test -z "$(marked)"
# A process that outlives its parent is adopted; when it ends, it is no zombie of a job that goes on.
expect 0 '^no zombie$' "$T" run -n 1 -- sh -c '(sleep 0.1 & exec true); sleep 0.6; cat /proc/[0-9]*/stat 2>/dev/null | grep -q ") Z $PPID " || echo no zombie'

say "Ctrl-C leaves no process"
# interrupt SIGNAL STATUS COMMAND...: in a process group of its own, as a terminal would have it. It says when it runs.
interrupt() {
    local signal=$1 status=$2
    shift 2
    : >"$TMP/interrupted"
    setsid "$@" >"$TMP/interrupted" 2>&1 &
    local pid=$!
    CHILDREN+=("$pid")
    wait_for 10 grep -qE 'running|float32|switch at' "$TMP/interrupted" || fail "does not run: ${*##*/}"
    kill "-$signal" -- "${ALONE--}$pid"
    ended 6 "$pid"
    CHECKS=$((CHECKS + 1))
    [ "$STATUS" = "$status" ] || { fail "status $STATUS, not $status, on SIG$signal: ${*##*/}"; show "$TMP/interrupted"; }
    check "SIG$signal leaves no process: ${*##*/}" wait_for 3 none_marked
}
none_marked() { [ -z "$(marked)" ]; }
for signal in INT TERM; do
    [ "$signal" = INT ] && code=130 || code=143
    interrupt "$signal" "$code" "$T" perf --workers 3 -b 8 -e 8M -n 100000
    interrupt "$signal" "$code" "$T" run -n 2 -- sh -c 'echo running; exec sleep 60'
    interrupt "$signal" 0 "$T" switch --listen 127.0.0.1:0 --http none
done
# Of a job in the background, which begins with SIGINT ignored, while ranks are still being started.
expect 130 '^first$' sh -c 'trap "" INT
    exec "$0" run -n 40 -- sh -c "[ \$TRIB_RANK != 0 ] || { echo first; kill -INT \$PPID; }; exec sleep 20"' "$T"
interrupt INT 130 "$T" run -n 2 -- sh -c 'trap "" INT TERM; echo running; while :; do sleep 0.5; done'
ALONE= interrupt TERM 143 "$T" run -n 2 -- sh -c 'echo running; sleep 60; true'
# The end of a terminal, but under nohup.
interrupt HUP 129 "$T" perf --workers 3 -b 8 -e 8M -n 100000
ALONE= interrupt HUP 129 "$T" run -n 2 -- sh -c 'trap "" TERM; echo running; sleep 60 & sleep 61; true'
expect 0 '^went on$' sh -c 'trap "" HUP
    exec "$0" run -n 1 -- sh -c "kill -HUP \$PPID; sleep 0.2; echo went on"' "$T"
finish
