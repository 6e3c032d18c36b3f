#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor.user.sh: `tributary doctor` on a good way to a switch and on bad ones, and the numbers that it writes for the planner; `tributary jobs`
# on a job that waits: what they say must be what is so.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

say "a good way"
switch_start --threads 2
expect 0 '^ok +path MTU +payloads of up to 8192 bytes' "$T" doctor
for what in 'switch' 'session +the switch admits jobs: 2 shards' 'UDP +every shard answers: 2' 'round trip' 'clock'; do
    check_in "doctor: $what" "^ok +$what" "$TMP/out"
done
check_in "the count" '^1[0-9] checks: .*, 0 in the way$' "$TMP/out"
# Each setting that it recommends is accepted, and a job runs with it.
ADVISED=$(grep -oE 'TRIB_[A-Z_]+=[^ ,]+' "$TMP/out")
check "doctor recommends a payload: $ADVISED" test "$ADVISED" = TRIB_PAYLOAD=8192
expect 0 '^# 0 wrong elements' env "$ADVISED" "$T" perf --workers 2 -b 8K -e 8K -n 1
expect 0 '"ok":true' "$T" doctor --json
if command -v python3 >/dev/null; then
    check "doctor's JSON is JSON" python3 -m json.tool "$TMP/out" /dev/null
fi
check_in "the switch saw a job that ended well" 'job doctor-.* closed$' "$SWITCH_LOG"
check "and nothing to warn of" sh -c '! grep -q warn "$1"' - "$SWITCH_LOG"
expect 0 '^ok +clock' "$T" doctor --offline

say "numbers for the planner"
NET=$TMP/net.toml
expect 0 '^ok +topology +.*net.toml has both numbers' "$T" doctor --topology "$NET" --host h0
check_in "the rate" '^(ok|note) +link rate +[0-9.]+[MG]bps between h0 and 127.0.0.1:[0-9]+, with headers, both ways at once$' "$TMP/out"
check_in "the overhead" '^ok +step overhead +[0-9.]+(us|ms): half' "$TMP/out"
check_in "the file has it" "^between = \"h0 $TRIB_SWITCH\"\$" "$NET"
printf '\n[[link]] # a second host\nbetween = "h1 %s"\nrate="1Gbps" # guessed\n' "$TRIB_SWITCH" >>"$NET"
cp "$NET" "$TMP/before.toml"
expect 0 '"measured":\{"topology":".*net.toml","host":"h1","switch":"[^"]*","rate_bps":[1-9][0-9]*,"step_overhead_ns":[1-9][0-9]*\}' \
    "$T" doctor --topology "$NET" --host h1 --json
RATE=$(grep -o '"rate_bps":[0-9]*' "$TMP/out")
if command -v python3 >/dev/null; then
    check "doctor's JSON is JSON" python3 -m json.tool "$TMP/out" /dev/null
fi
numbers_out() { sed 's/^\(step_overhead =\).*/\1/; s/^rate="[^"]*"/rate=/' "$1"; }
check "nothing else has changed" cmp <(numbers_out "$TMP/before.toml") <(numbers_out "$NET")
check "but the rate" sh -c '! grep -q "^rate=.1Gbps" "$0"' "$NET"
printf '[[job]]\nname = "a"\nhosts = "h0-1"\nbytes = "1MB"\n' >"$TMP/jobs.toml"
"$T" plan -t "$NET" -j "$TMP/jobs.toml" >"$TMP/out" 2>&1
check_in "the planner reads it" '^proved|no solver' "$TMP/out"
say "$RATE of h1"
cp "$NET" "$TMP/before.toml"
expect 1 'FAIL +topology +.*net.toml: --host: there is no h7; did you mean h' "$T" doctor --topology "$NET" --host h7
expect 1 'FAIL +topology +/nowhere/net.toml cannot be written: No such file' "$T" doctor --topology /nowhere/net.toml
expect 1 'FAIL +topology +TRIB_NICS names several network cards' env TRIB_NICS=127.0.0.1,127.0.0.2 "$T" doctor --topology "$NET" --host h0
expect 1 '^note +topology +nothing was measured, and .*net.toml stays as it is' "$T" doctor -s 127.0.0.1:1 --topology "$NET" --host h0
expect_line 2 '\-\-topology measures the way to the switch: it does not go with --offline' "$T" doctor --offline --topology "$NET"
expect_line 2 '\-\-host goes with --topology' "$T" doctor --host h0
check "the file is as it was" cmp "$TMP/before.toml" "$NET"
switch_stop

say "bad ways"
expect 1 'FAIL +switch +127.0.0.1:1 cannot be reached by TCP: connection refused' "$T" doctor --switch 127.0.0.1:1
check_in "what to do" '-> is `tributary switch` running there' "$TMP/out"
expect 1 'FAIL +switch +cannot resolve "nowhere.invalid"' "$T" doctor -s nowhere.invalid
expect 2 'unknown option --swich; did you mean --switch' "$T" doctor --swich x
# A switch without room for a session is not one that is unreachable.
quiet_port
(
    ulimit -n 64
    exec "$T" switch --listen "127.0.0.1:$QUIET_PORT" --http none
) 2>"$TMP/full.log" &
FULL=$!
CHILDREN+=("$FULL")
wait_for 10 grep -q 'switch at' "$TMP/full.log"
for ((i = 0; i < 40; i++)); do exec {fd}<>"/dev/tcp/127.0.0.1/$QUIET_PORT" && FDS+=("$fd"); done
expect 1 "switch 127.0.0.1:$QUIET_PORT has no room for another session of this address, with 24 of all: .*ulimit -n.*; waited ([3-9][0-9]{2} ms|[1-9](\.[0-9])? s) \(TRIB_JOIN_TIMEOUT is 300 ms\)" \
    env TRIB_JOIN_TIMEOUT=300ms "$T" perf --switch "127.0.0.1:$QUIET_PORT"
expect 1 'FAIL +session +the switch refuses a job of one rank: switch .* has no room' "$T" doctor -s "127.0.0.1:$QUIET_PORT"
for fd in "${FDS[@]}"; do exec {fd}>&-; done
expect 0 '^# 0 wrong elements' "$T" perf --switch "127.0.0.1:$QUIET_PORT" --workers 2 -b 8 -e 8 -n 1
kill "$FULL"
ended 5 "$FULL"
if command -v ip >/dev/null && unshare -Urn true 2>/dev/null; then
    # A path that a full packet does not fit through, in a network of its own.
    expect 1 'FAIL +path MTU +payloads of more than 1088 bytes do not come back uncut' unshare -Urn sh -c '
        ip link set lo mtu 1200 up
        "$0" switch --listen 127.0.0.1 --http none 2>"$1.log" &
        switch=$!
        until grep -qs "switch at" "$1.log"; do sleep 0.05; done
        "$0" doctor --switch 127.0.0.1 >"$1"
        status=$?
        cat "$1"
        env TRIB_SWITCH=127.0.0.1 $(grep -oE "TRIB_PAYLOAD=[^ ]+" "$1") "$0" perf --workers 2 -b 8K -e 8K -n 1
        kill $switch
        exit $status' "$T" "$TMP/advice"
    check_in "what to set" '-> set TRIB_PAYLOAD=1088 on every rank' "$TMP/out"
    check_in "a job with what was recommended" '^# 0 wrong elements' "$TMP/out"
fi

say "jobs"
if has_jobs; then
    SWITCH_LOG=$TMP/jobs.log
    switch_start --http 127.0.0.1:0
    HTTP=$(sed -n 's/.*http on http:\/\/\(127.0.0.1:[0-9]*\).*/\1/p' "$SWITCH_LOG")
    expect 0 '^no jobs$' "$T" jobs --http "$HTTP"
    ranks_start busy 3 -b 1M -e 1M -n 100000 -w 1 --loss 1%
    wait_for 10 runs_job busy
    wait_for 10 sh -c '"$0" jobs busy --http "$1" | grep -qE "recoveries: .* [1-9][0-9]* results repeated"' "$T" "$HTTP"
    expect 0 '^busy +running +3 .* of [0-9]+ ' "$T" jobs --http "$HTTP"
    expect 0 '^recoveries: .* [1-9][0-9]* results repeated' "$T" jobs busy --http "$HTTP"
    check_in "its ranks" '^ +2  running +127.0.0.1' "$TMP/out"
    expect 0 '"job": "busy"' "$T" jobs --json --http "$HTTP"
    expect 1 'no job "other" at this switch' "$T" jobs other --http "$HTTP"
    kill -STOP "${RANK_PIDS[1]}"
    waits() { "$T" jobs --http "$HTTP" | grep -qE '^busy .* rank 1 on fragment [0-9]+ since [1-9]'; }
    check "rank 1 is named while it is stopped" wait_for 5 waits
    "$T" jobs --watch --every 100ms --http "$HTTP" >"$TMP/watch" 2>&1 &
    WATCH=$!
    CHILDREN+=("$WATCH")
    shows_several() { [ "$(grep -c '^busy' "$TMP/watch")" -ge 2 ]; }
    wait_for 10 shows_several
    kill -INT "$WATCH"
    ended 3 "$WATCH"
    check "Ctrl-C ends --watch with status 0, not $STATUS" test "$STATUS" = 0
    check "it has shown several" test "$(grep -c '^busy' "$TMP/watch")" -ge 2
    kill -CONT "${RANK_PIDS[1]}"
    kill "${RANK_PIDS[@]}"
    "$T" jobs --watch --every 100ms --http "$HTTP" >"$TMP/watch" 2>&1 &
    WATCH=$!
    CHILDREN+=("$WATCH")
    wait_for 10 grep -q . "$TMP/watch"
    switch_stop
    sleep 0.5
    check "--watch waits for a switch that restarts" kill -INT "$WATCH"
    ended 3 "$WATCH"
    check "until Ctrl-C, not $STATUS" test "$STATUS" = 0
    expect 1 'is `tributary switch` running there, with --http' "$T" jobs --http "$HTTP"
    expect 1 'is `tributary switch` running on this machine, with --http' env TRIB_SWITCH=127.0.0.1:9 "$T" jobs
    expect 1 'http://127.0.0.1:64500/v1/jobs' env TRIB_SWITCH=127.0.0.1:65500 "$T" jobs
fi
finish
