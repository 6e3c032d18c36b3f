#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# http.user.sh: what people and dashboards ask the switch, and what strangers throw at it, while a job runs: the job ends right,
# what was dropped is counted, the daemon lives. A build without HTTP says so.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

if ! has_http; then
    say "a build without HTTP says what is missing, to who asks for HTTP and to who does not"
    expect_line 1 '--http: this build has no HTTP: install libmicrohttpd-dev and libjansson-dev' \
        "$T" switch --listen 127.0.0.1:0 --http 127.0.0.1:0
    expect 124 'warn no http: this build has neither /metrics nor /v1' "${UNTIL[@]}" $PATIENCE "$T" switch --listen 127.0.0.1:0
    finish
fi
check "the program is linked with neither library" sh -c '! ldd "$1" | grep -qE "libmicrohttpd|libcurl"' - "$T"
if can_hide; then
    say "a machine without libmicrohttpd: an error to who asks for HTTP, a warning to who does not"
    expect_line 1 '--http: HTTP needs libmicrohttpd, which is not installed here \(.*\): install libmicrohttpd12$' \
        "${WITHOUT[@]}" 'libmicrohttpd\.so.*' "$T" switch --listen 127.0.0.1:0 --http 127.0.0.1:0
    expect 124 'warn no http, so neither /metrics nor /v1: HTTP needs libmicrohttpd, .*: install libmicrohttpd12$' \
        "${WITHOUT[@]}" 'libmicrohttpd\.so.*' "${UNTIL[@]}" $PATIENCE "$T" switch --listen 127.0.0.1:0
    check_in "it serves" 'info switch at 127.0.0.1:' "$TMP/out"
    expect 124 'info switch at 127.0.0.1:' \
        "${WITHOUT[@]}" 'libmicrohttpd\.so.*' "${UNTIL[@]}" $PATIENCE "$T" switch --listen 127.0.0.1:0 --http none
    check "--http none needs no library" sh -c '! grep -q "http" "$1"' - "$TMP/out"
    expect 0 '^http in the switch no: HTTP needs libmicrohttpd, .*: install libmicrohttpd12$' \
        "${WITHOUT[@]}" 'libmicrohttpd\.so.*' "$T" info
fi
if can_hide && has_jobs; then
    say "a machine without libcurl"
    expect_line 1 'jobs: the HTTP client needs libcurl, which is not installed here \(.*\): install libcurl4$' \
        "${WITHOUT[@]}" 'libcurl.*\.so.*' "$T" jobs
fi
trap : PIPE # who is thrown out stops reading

# get METHOD PATH: the whole answer in $TMP/answer, its head in $TMP/head, its body in $TMP/body; without curl as well.
get() {
    exec 8<>"/dev/tcp/127.0.0.1/$HTTP_PORT" || return 1
    printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$1" "$2" "${3:-}" >&8
    timeout $((5 * PATIENCE)) cat <&8 | tr -d '\r' >"$TMP/answer"
    exec 8<&- 8>&-
    sed '/^$/q' "$TMP/answer" >"$TMP/head"
    sed '1,/^$/d' "$TMP/answer" >"$TMP/body"
}
answers() { # METHOD PATH STATUS BODY
    get "$1" "$2"
    check_in "$1 $2" "^HTTP/1.1 $3 " "$TMP/head"
    check_in "$1 $2" "$4" "$TMP/body"
}
valid_json() { ! command -v python3 >/dev/null || python3 -m json.tool "$1" >/dev/null; }

metrics_sum() { get GET /metrics && awk -v name="$1" 'index($1, name) == 1 { sum += $NF } END { print sum + 0 }' "$TMP/body"; }

# HTTP on a free port, which its log names.
switch_start --http 127.0.0.1:0
HTTP_PORT=$(sed -n 's/.*http on http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$SWITCH_LOG")
check "the log names the port of HTTP" test -n "$HTTP_PORT"

say "a port in use"
expect 1 "127.0.0.1:$SWITCH_PORT: Address already in use: another program has this port, choose another, for HTTP \\(--http ADDRESS, or --http none\\)" \
    "$T" switch --listen 127.0.0.1:0 --http "127.0.0.1:$SWITCH_PORT"

say "before there is a job"
answers GET /healthz 200 '^ok$'
answers GET / 200 '/v1/jobs'
answers GET /v1/jobs 200 '^\[\]$'
answers GET /v1/switch 200 '"version": "'
check "/v1/switch is JSON" valid_json "$TMP/body"
answers GET /nothing 404 '"error": "no such page: /v1/jobs'
answers POST /v1/jobs 405 'only GET and HEAD'
check_in "405 says what is allowed" '^Allow: GET, HEAD' "$TMP/head"
answers DELETE /v1/jobs 405 'only GET and HEAD'
get HEAD /healthz
check_in "HEAD" '^HTTP/1.1 200 ' "$TMP/head"
check "HEAD has no body" test ! -s "$TMP/body"

say "while a job runs"
ranks_start watched 3 -b 1M -e 1M -n 100000 -w 1
wait_for 10 runs_job watched
answers GET /v1/jobs 200 '"job": "watched"'
check "/v1/jobs is JSON" valid_json "$TMP/body"
check_in "its state" '"state": "running"' "$TMP/body"
check_in "its payload" '"payload": 1408' "$TMP/body"
check "three ranks" test "$(grep -c '"rank": [0-2],' "$TMP/body")" = 3
answers GET /metrics 200 '^# TYPE tributary_'
check_in "Prometheus' text format" '^Content-Type: text/plain; version=0.0.4' "$TMP/head"
if command -v promtool >/dev/null; then
    check "promtool reads /metrics" sh -c 'promtool check metrics <"$1" >"$1.out" 2>&1 || { cat "$1.out"; false; }' - "$TMP/body"
fi
kill -STOP "${RANK_PIDS[1]}"
rank_missing() { get GET /v1/jobs && tr -d ' \n' <"$TMP/body" | grep -q '"missing":\[1\]'; }
check "/v1/jobs says that rank 1 is missing" wait_for 4 rank_missing
kill -CONT "${RANK_PIDS[1]}"
kill "${RANK_PIDS[@]}"
for pid in "${RANK_PIDS[@]}"; do
    ended 3 "$pid"
done
no_jobs() { get GET /v1/jobs && grep -q '^\[\]$' "$TMP/body"; }
sleep 1
check "a second after the end of a job it is gone from the list" no_jobs

say "garbage on every port while a job runs"
DROPS=$(metrics_sum tributary_foreign_dropped_packets_total)
ranks_start attacked 3 -b 1M -e 1M -n 300 -w 1
wait_for 10 runs_job attacked
garbage() {
    local i
    for i in 1 2 3 4 5; do
        head -c 100000 /dev/urandom >"/dev/udp/127.0.0.1/$SWITCH_PORT"
        head -c 100000 /dev/urandom >"/dev/tcp/127.0.0.1/$SWITCH_PORT"
        head -c 100000 /dev/urandom >"/dev/tcp/127.0.0.1/$HTTP_PORT"
        printf '\0\0\0\0' >"/dev/tcp/127.0.0.1/$SWITCH_PORT"
        printf '\377\377\377\377' >"/dev/tcp/127.0.0.1/$SWITCH_PORT"
        printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' >"/dev/tcp/127.0.0.1/$SWITCH_PORT"
        head -c 64 /dev/zero >"/dev/udp/127.0.0.1/$SWITCH_PORT"
        printf x >"/dev/udp/127.0.0.1/$SWITCH_PORT"
    done
} 2>/dev/null
garbage
# Connections that say nothing must keep nobody else out.
for fd in 20 21 22 23 24 25 26 27; do
    eval "exec $fd<>/dev/tcp/127.0.0.1/$SWITCH_PORT"
done
ranks_start beside 2 -b 8 -e 64K -f 16 -n 3
BESIDE=("${RANK_PIDS[@]}")
ranks_end 10 0
check_right "a job that starts meanwhile" "$TMP/beside.0"
wait_for 30 grep -q 'wrong elements' "$TMP/attacked.0"
check_right "the job that was attacked" "$TMP/attacked.0"
NOW=$(metrics_sum tributary_foreign_dropped_packets_total)
check "drops are counted: $DROPS, then $NOW" test "$NOW" -gt "$DROPS"
check "sessions of no sense are counted" test "$(metrics_sum tributary_sessions_rejected_total)" -gt 0
check "the switch lives" kill -0 "$SWITCH_PID"
check "and says so" test "$(get GET /healthz; cat "$TMP/body")" = ok
switch_stop

say "HTTP by TLS, for who shows a token"
"$T" key new "$TMP/token" >"$TMP/out"
"$T" key new "$TMP/other" >"$TMP/out"
expect_line 2 '--http-tls and --http-token go together: .*' "$T" switch --check-config --http-token "$TMP/token"
expect_line 2 '--http-tls: --http none is no HTTP' "$T" switch --check-config --http none --http-tls "$TMP/token" --http-token "$TMP/token"
expect_line 2 "--http-tls: $TMP/token has not both a certificate and its private key, in PEM" \
    "$T" switch --check-config --http-tls "$TMP/token" --http-token "$TMP/token"
! has_jobs || expect_line 2 '--ca goes with --token: .*' "$T" jobs --ca "$TMP/token"
if command -v openssl >/dev/null && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=switch \
    -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$TMP/http.key" -out "$TMP/http.pem" 2>"$TMP/openssl.log"; then
    cat "$TMP/http.pem" "$TMP/http.key" >"$TMP/both.pem"
    chmod 644 "$TMP/both.pem"
    expect_line 2 "--http-tls: file $TMP/both.pem: its mode is 0644, .*" \
        "$T" switch --check-config --http-tls "$TMP/both.pem" --http-token "$TMP/token"
    chmod 600 "$TMP/both.pem"
    cp "$TMP/both.pem" "$TMP/no.token"
    expect_line 2 "--http-token: .*: make one with .tributary key new." \
        "$T" switch --check-config --http-tls "$TMP/both.pem" --http-token "$TMP/no.token"
    switch_start --http 127.0.0.1:0 --http-tls "$TMP/both.pem" --http-token "$TMP/token"
    HTTP_PORT=$(sed -n 's/.*http on https:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$SWITCH_LOG")
    check "the log says https" test -n "$HTTP_PORT"
    get GET /v1/jobs
    check "no answer in clear" test ! -s "$TMP/answer"
    if has_jobs; then
        expect 0 '^no jobs$' "$T" jobs --http "localhost:$HTTP_PORT" --token "$TMP/token" --ca "$TMP/http.pem"
        expect 0 '^no jobs$' "$T" jobs --http "127.0.0.1:$HTTP_PORT" --token "$TMP/token" --ca "$TMP/http.pem"
        expect 1 'error: 401.*this --http-token' "$T" jobs --http "localhost:$HTTP_PORT" --token "$TMP/other" --ca "$TMP/http.pem"
        expect 1 'certificate' "$T" jobs --http "localhost:$HTTP_PORT" --token "$TMP/token"
        expect 1 'without --http-tls\?' "$T" jobs --http "localhost:$HTTP_PORT"
        expect_line 2 '--token: key file .*: No such file or directory' "$T" jobs --token "$TMP/nowhere"
    fi
    switch_stop
fi
finish
