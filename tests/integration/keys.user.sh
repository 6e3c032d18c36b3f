#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# keys.user.sh: jobs with a key at switches that take no others: right sums, refusals on both sides, a restart, a tree of switches with the key of
# an operator, and handshakes that do not end.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
QUICK=(-b 8 -e 64K -f 64 -n 2 -w 0)
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
if ! has_keys; then # a key is never ignored
    printf '%064d\n' 0 >"$TMP/job.key"
    chmod 600 "$TMP/job.key"
    expect_line 1 'this build has no OpenSSL' "$T" key new "$TMP/new.key"
    expect_line 2 'this build has no OpenSSL' env TRIB_KEY_FILE="$TMP/job.key" "$T" perf --workers 2 "${QUICK[@]}"
    expect_line 2 'this build has no OpenSSL' "$T" switch --keys "$TMP" --check-config
    finish
fi

mkdir "$TMP/keys" "$TMP/empty"
for name in job other op; do expect_line 0 '^[0-9a-f]{16} ' "$T" key new "$TMP/$name.key"; done
ID=$("$T" key id "$TMP/job.key")
expect_line 0 "^$ID $TMP/keys/$ID$" "$T" key tenant "$TMP/job.key" "$TMP/keys"
expect_line 1 'a key is not overwritten' "$T" key tenant "$TMP/job.key" "$TMP/keys"
expect_line 2 'write new FILE, id FILE or tenant FILE DIR' "$T" key tenant "$TMP/job.key"
check "the switch does not have the key of the job" sh -c '! grep -q "$(cat "$1")" "$2"' - "$TMP/job.key" "$TMP/keys/$ID"

say "a machine without OpenSSL"
if can_hide && [ -x "$BUILD_DIR/bin/02_udp_allreduce" ]; then
    bare=("$T" run -n 2 -- "${WITHOUT[@]}" 'libssl\.so\.3' "$BUILD_DIR/bin/02_udp_allreduce")
    expect 0 '1000000 elements summed, 0 wrong' "${bare[@]}"
    expect 1 'keys need OpenSSL 3, which is not installed here .*: install libssl3' env TRIB_KEY_FILE="$TMP/job.key" "${bare[@]}"
fi

say "a switch with keys"
start keyed --keys "$TMP/keys"
check_in "the log says so" 'jobs with a key only' "$TMP/keyed.log"
TRIB_KEY_FILE=$TMP/job.key ranks right "keyed keyed keyed" "${QUICK[@]}"
ranks_end 30 0
check_right "with the key" "$TMP/right.0"
check "no key is in a log" sh -c '! grep -qr "$(cat "$1")" "$2" --include=*.log --include=right.*' - "$TMP/job.key" "$TMP"
ranks none "keyed keyed" "${QUICK[@]}"
ranks_end 30 1
check_in "without a key" 'has no key, and this switch \(--keys\) takes jobs with a key only' "$TMP/none.0" "$TMP/none.1" "$TMP/keyed.log"
sleep 1.1 # a second has one line about peers that are turned away
TRIB_KEY_FILE=$TMP/other.key ranks other "keyed keyed" "${QUICK[@]}"
ranks_end 30 1
check_in "with another key" 'it does not know key [0-9a-f]{16}, or cannot use its file, as its log says: put the file ' "$TMP/other.0" "$TMP/other.1"
check_in "and at the switch" 'there is no key of that id' "$TMP/keyed.log"
exec 7<"$TMP/job.key"
TRIB_KEY_FD=7 ranks descriptor "keyed keyed" "${QUICK[@]}"
ranks_end 30 0
exec 7<&-
check_right "by a descriptor that both have" "$TMP/descriptor.0"
expect 0 'sessions are authenticated by key' env TRIB_SWITCH="127.0.0.1:${PORT[keyed]}" TRIB_KEY_FILE="$TMP/job.key" "$T" doctor
expect 1 'not to this key' env TRIB_SWITCH="127.0.0.1:${PORT[keyed]}" TRIB_KEY_FILE="$TMP/other.key" "$T" doctor
expect 0 'unauthenticated' "$T" info

say "encrypted payloads"
for options in "--encrypt" ""; do
    # shellcheck disable=SC2086
    TRIB_LEVEL0=0 TRIB_KEY_FILE=$TMP/job.key ranks "encrypt$options" "keyed keyed" "${QUICK[@]}" $options
    ranks_end 30 0
    check_right "payloads ${options:-in clear}" "$TMP/encrypt$options.0"
done
TRIB_KEY_FILE=$TMP/job.key TRIB_RANKS=2 TRIB_JOB=differs TRIB_RANK=0 "$T" perf "${QUICK[@]}" --encrypt >"$TMP/differs.0" 2>&1 &
RANK_PIDS=($!)
TRIB_KEY_FILE=$TMP/job.key TRIB_RANKS=2 TRIB_JOB=differs TRIB_RANK=1 "$T" perf "${QUICK[@]}" >"$TMP/differs.1" 2>&1 &
RANK_PIDS+=($!)
CHILDREN+=("${RANK_PIDS[@]}")
ranks_end 30 1
check_in "all ranks encrypt, or none" 'settings differ: encrypt is on on rank 0 and off on rank 1' "$TMP/differs.0" "$TMP/differs.1"
expect_line 2 'payloads are to be encrypted \(TRIB_ENCRYPT\), and there is no key' "$T" perf --workers 2 --encrypt "${QUICK[@]}"
TRIB_KEY_FILE=$TMP/job.key expect 0 '^payloads +encrypted' env TRIB_ENCRYPT=1 "$T" info

say "no switch, and a key that one rank lacks: every rank hears of both"
TRIB_LEVEL0=1 TRIB_RANKS=2 TRIB_JOB=lacks TRIB_RANK=0 "$T" perf "${QUICK[@]}" --no-switch >"$TMP/lacks.0" 2>&1 &
RANK_PIDS=($!)
TRIB_LEVEL0=1 TRIB_KEY_FILE=$TMP/job.key TRIB_RANKS=2 TRIB_JOB=lacks TRIB_RANK=1 "$T" perf "${QUICK[@]}" --no-switch >"$TMP/lacks.1" 2>&1 &
RANK_PIDS+=($!)
CHILDREN+=("${RANK_PIDS[@]}")
ranks_end 30 1
check_in "all ranks have the key, or none" 'rank 0 has no key and rank 1 has key [0-9a-f]{16}: give all ranks the same' \
    "$TMP/lacks.0" "$TMP/lacks.1"

say "files that others can read, and a file of another key"
chmod 644 "$TMP/job.key"
expect_line 2 "TRIB_KEY_FILE: key file $TMP/job.key: its mode is 0644" env TRIB_KEY_FILE="$TMP/job.key" "$T" perf --workers 2
chmod 600 "$TMP/job.key"
OTHER=$("$T" key id "$TMP/other.key")
"$T" key tenant "$TMP/other.key" "$TMP/empty" >/dev/null
mv "$TMP/empty/$OTHER" "$TMP/empty/$ID"
start wrong --keys "$TMP/empty"
TRIB_KEY_FILE=$TMP/job.key ranks wrong "wrong" "${QUICK[@]}"
ranks_end 30 1
check_in "the rank knows why" "its file of key $ID is of another key" "$TMP/wrong.0"
check_in "the switch as well" "key $ID: the peer has another key of that id" "$TMP/wrong.log"
rm "$TMP/empty/$ID"
TRIB_KEY_FILE=$TMP/job.key ranks gone "wrong" "${QUICK[@]}"
ranks_end 30 1
check_in "an empty folder" 'it does not know key' "$TMP/gone.0"
"$T" key tenant "$TMP/job.key" "$TMP/empty" >/dev/null
chmod 644 "$TMP/empty/$ID" # as a copy of it may be
sleep 1.1
TRIB_KEY_FILE=$TMP/job.key ranks copied "wrong" "${QUICK[@]}"
ranks_end 30 1
check_in "a file that others can read: the whole remedy" 'its mode is 0644, .*: chmod 600, .* make a new key' "$TMP/wrong.log"
expect_line 2 '--keys: .*nowhere is no folder' "$T" switch --keys "$TMP/nowhere" --check-config

say "a key has a quota for all its jobs, and leaves a quarter of the memory to others"
"$T" key tenant "$TMP/other.key" "$TMP/keys" >/dev/null
start shared --keys "$TMP/keys" --memory 480KiB
export TRIB_WINDOW=32KiB
TRIB_KEY_FILE=$TMP/job.key ranks holds "shared shared" -b 1M -e 1M -n 100000 -w 0
SWITCH_LOG=$TMP/shared.log
wait_for 10 runs_job holds
HOLDS=("${RANK_PIDS[@]}")
TRIB_KEY_FILE=$TMP/job.key ranks second "shared shared shared" "${QUICK[@]}"
ranks_end 30 1
check_in "a second job of the key" "beside other jobs of key $ID with [0-9.]+ KiB, the quota of a key is 360 KiB: end other jobs of this key" \
    "$TMP/second.0" "$TMP/second.1"
TRIB_KEY_FILE=$TMP/other.key ranks fits "shared shared shared" "${QUICK[@]}"
ranks_end 30 0
check_right "a job of another key" "$TMP/fits.0"
kill "${HOLDS[@]}"
unset TRIB_WINDOW
rm "$TMP/keys/$("$T" key id "$TMP/other.key")"
stop shared

say "no fallback: a key at a switch without keys"
start plain
check_in "its log says what it is" 'sessions on tcp .* unauthenticated$' "$TMP/plain.log"
TRIB_KEY_FILE=$TMP/job.key ranks plain "plain plain" "${QUICK[@]}"
ranks_end 30 1
check_in "the rank knows why" 'it answers without TLS' "$TMP/plain.0" "$TMP/plain.1"
check_in "the switch as well" 'it comes with a key, but there is none here' "$TMP/plain.log"

say "where no switch is named, and a switch of one's own"
unset TRIB_SWITCH
TRIB_KEY_FILE=$TMP/job.key expect 0 '^# 0 wrong elements' "$T" perf --workers 2 "${QUICK[@]}"
quiet_port
for scheme in switchml ring; do
    TRIB_KEY_FILE=$TMP/job.key expect 0 '^# 0 wrong elements' "$T" perf --workers 3 --scheme $scheme --rendezvous "127.0.0.1:$QUIET_PORT" \
        "${QUICK[@]}"
done

say "a tree with the key of an operator: sums, combiners, racks"
OPERATOR=(--keys "$TMP/keys" --key "$TMP/op.key" --http 127.0.0.1:0)
start root "${OPERATOR[@]}"
start leaf $(below root) "${OPERATOR[@]}"
start leaf2 $(below root) "${OPERATOR[@]}"
start low $(below leaf2) "${OPERATOR[@]}"
for scheme in switchml panama atp rina; do
    TRIB_SCHEME=$scheme TRIB_KEY_FILE=$TMP/job.key ranks tree-$scheme "leaf leaf low leaf2 root" "${QUICK[@]}"
    ranks_end 30 0
    check_right "a tree, $scheme" "$TMP/tree-$scheme.0"
done
# dropped NAME: packets of keyed jobs that this switch has refused; none of them came from a stranger.
dropped() {
    curl -s "http://127.0.0.1:$((PORT[$1] + 1000))/metrics" | awk '/foreign_dropped_packets_total.reason="(AUTH|REPLAY)"/ { n += $2; rows++ } END { print rows, n }'
}
for name in root leaf leaf2 low; do
    ! has_http || check "$name has refused no packet" test "$(dropped $name)" = "2 0"
done
stop low leaf2

say "switches that work side by side"
LENDS=127.0.0.1 start lender "${OPERATOR[@]}"
start with --with "127.0.0.1:${PORT[lender]}" "${OPERATOR[@]}"
TRIB_KEY_FILE=$TMP/job.key ranks with "with with" "${QUICK[@]}"
ranks_end 30 0
check_right "with a lender" "$TMP/with.0"
check_in "the lender has part" 'lends [0-9]* shard' "$TMP/lender.log"
for name in lender with; do
    ! has_http || check "$name has refused no packet" test "$(dropped $name)" = "2 0"
done
stop with lender
start stranger $(below root) --keys "$TMP/keys" --key "$TMP/other.key"
expect_line 2 '--keys: together with other switches .* needs --key' "$T" switch $(below root) --keys "$TMP/keys" --check-config
start bare $(below root)
TRIB_JOIN_TIMEOUT=2s TRIB_KEY_FILE=$TMP/job.key ranks lost "stranger bare" "${QUICK[@]}"
ranks_end 30 1
check_in "a switch with another key" 'it does not know key' "$TMP/lost.0"
check_in "a switch without the key" 'it answers without TLS' "$TMP/lost.1"
stop stranger bare

say "handshakes that do not end: the switch ends them after 10 s, and serves others meanwhile"
python3 - "${PORT[root]}" >"$TMP/slow" 2>&1 <<'END' &
import socket, sys, time
begun, ends = time.monotonic(), []
for said in (b"", b"\x16", b"\x16\x03\x01\x02\x00", b"\x16\x03\x01\x02\x00" + bytes(100)):
    ends.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    ends[-1].sendall(said)
drip = socket.create_connection(("127.0.0.1", int(sys.argv[1]))) # a byte now and then gains no time
try:
    for said in b"\x16\x03\x01\x02\x00" + bytes(200):
        drip.sendall(bytes([said]))
        time.sleep(0.1)
except ConnectionError:
    pass
ends.append(drip)
for end in ends:
    end.settimeout(30)
    try:
        end.recv(100)
    except ConnectionError:
        pass
print("all ended" if 5 < time.monotonic() - begun < 29 else "too early or late")
END
SLOW=$!
CHILDREN+=($SLOW)
TRIB_KEY_FILE=$TMP/job.key ranks beside "root root" "${QUICK[@]}"
ranks_end 30 0
check_right "beside them" "$TMP/beside.0"
quiet_port # a place that takes connections and says nothing
python3 -c 'import socket, sys, time; s = socket.create_server(("127.0.0.1", int(sys.argv[1]))); time.sleep(60)' "$QUIET_PORT" &
CHILDREN+=($!)
sleep 0.3
TRIB_JOIN_TIMEOUT=2s TRIB_KEY_FILE=$TMP/job.key expect 1 'unreachable|answered|silent|no answer|not answer|joined' "$T" perf --workers 1 --switch "127.0.0.1:$QUIET_PORT" "${QUICK[@]}"

say "a switch is killed and comes back, as do its ranks"
TRIB_KEY_FILE=$TMP/job.key ranks back "keyed keyed" -b 4M -e 4M -n 300 -w 0
SWITCH_LOG=$TMP/keyed.log
wait_for 10 runs_job back
sleep 0.2
again keyed
ranks_end 60 0
check_right "after a restart" "$TMP/back.0"
check "it did come back" test "$(grep -c 'job back runs: all' "$TMP/keyed.log")" -ge 2

say "the switch comes back without keys: no rank follows it"
TRIB_KEY_FILE=$TMP/job.key ranks weak "keyed keyed" -b 4M -e 4M -n 3000 -w 0
wait_for 10 runs_job weak
SWITCH_PID=${PID[keyed]}
switch_kill
start keyed --listen "127.0.0.1:${PORT[keyed]}"
ranks_end 30 1
check_in "and each knows why" 'it answers without TLS' "$TMP/weak.0" "$TMP/weak.1"
ended 40 $SLOW
check_in "the slow ones" 'all ended' "$TMP/slow"
stop keyed wrong plain leaf root
finish
