#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# output.user.sh: results that cannot be written end in a word and another status than 0: standard output that is full or closed, files and
# folders that are not writable. And what is wrong with a setting is said once, however many ranks have it.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

cat >"$TMP/small.toml" <<'END'
duration = "100us"
[topology]
kind = "fat-tree"
k = 4
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "poisson"
size = "websearch-packets"
load = "60%"
END
cat >"$TMP/grid.toml" <<'END'
scenario = "small.toml"
[[vary]]
key = "seed"
values = "1, 2"
END

printf '[topology]\nkind = "star"\nhosts = 4\nrate = "10Gbps"\n[[switch]]\nname = "switch0"\n' >"$TMP/net.toml"
printf '[[job]]\nname = "a"\nhosts = "host0-3"\n' >"$TMP/jobs.toml"

has_keys && "$T" key new "$TMP/job.key" >/dev/null

# A line for each command that --help lists, of which every one says something in a moment.
arguments() {
    case $1 in
    switch | server) echo --check-config ;;
    run) echo --help ;;
    perf) echo --workers 1 -b 8 -e 8 -n 1 -w 0 ;;
    doctor) echo --offline ;;
    demo) echo --runs 1 ;;
    sim) echo "$TMP/small.toml" ;;
    reproduce | jobs | plan) echo --help ;;
    info) echo --json ;;
    key) echo id "$TMP/job.key" ;;
    *) fail "this script does not know the command $1" ;;
    esac
}

# full: standard output with no room. shut: it is closed. Standard error is kept in $TMP/out, of which one line is wanted.
full() { "$@" 2>&1 >/dev/full; }
shut() { "$@" 2>&1 >&-; }
readonly_() { "$@" 2>&1 1</dev/null; }
export -f full shut readonly_
refused() { # WAY COMMAND...
    expect_line 1 '^tributary: .*standard output ' bash -c "$1 \"\${@:2}\"" - "$@"
}

say "standard output that takes nothing"
"$T" --help | sed -n 's/^  \([a-z]*\)  *.*/\1/p' >"$TMP/commands"
check "commands are listed" test "$(wc -l <"$TMP/commands")" -ge 9
while read -r command; do
    [ "$command" != key ] || has_keys || continue
    [ "$command" != jobs ] || has_jobs || continue # which this build refuses before it writes
    # shellcheck disable=SC2046
    for way in full shut readonly_; do refused "$way" "$T" "$command" $(arguments "$command"); done
    refused full "$T" "$command" --help
done <"$TMP/commands"
refused full "$T" --help
refused full "$T" --version
refused shut "$T" --version
refused full "$T" sim --keys
refused full "$T" sim --models
refused full "$T" sim "$TMP/small.toml" --json
refused full "$T" reproduce --list
refused full "$T" reproduce panama-fig1
refused full "$T" perf --workers 2 -b 8 -e 8 -n 1 -w 0 --json
expect 1 'results are lost: standard output cannot be written' bash -c 'full "$@"' - "$T" sim sweep "$TMP/grid.toml" --out "$TMP/swept"
expect 0 '^7$' bash -c '"$1" run -n 1 -- sh -c "echo 7 >&2" >&-' - "$T" # whose ranks may have no output

say "files and folders: before the run, and after it"
mkdir "$TMP/closed"
: >"$TMP/file"
(umask 077 && printf -- '-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n' >"$TMP/pem")
chmod 555 "$TMP/closed"
FOLDER=$TMP/closed
[ "$(id -u)" != 0 ] || FOLDER=/proc/self # which root cannot write to
# Each option with a DIR or FILE to write, of each command; one that is missing here fails.
while read -r command; do
    "$T" "$command" --help | sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z-]*\) \(DIR\|FILE\) .*/\2/p' | sed "s/^/$command /"
done <"$TMP/commands" | sort >"$TMP/paths"
{
    printf '%s\n' 'doctor topology'
    ! has_jobs || printf '%s\n' 'jobs ca' 'jobs token'
    printf '%s\n' 'plan check' 'plan jobs' 'plan out' 'plan page' 'plan topology' 'reproduce out' 'reproduce sweep' 'server config' 'server http-tls' 'server http-token' \
        'server key' 'server keys' 'server plan' 'server topology' 'sim html' 'sim out' 'sim plan' 'switch config' 'switch http-tls' 'switch http-token' 'switch key' \
        'switch keys' 'switch plan' 'switch topology'
} | diff - "$TMP/paths" ||
    fail "an option with a file or folder that this script does not try"
for path in "$FOLDER/x" "$TMP/absent/x" "$TMP/file/x" /proc/absent; do
    expect_line 1 "$path: |$path cannot be written: " "$T" sim "$TMP/small.toml" --out "$path"
    expect_line 1 "$path cannot be written: " "$T" sim "$TMP/small.toml" --html "$path"
    expect_line 1 "$path: " "$T" reproduce panama-fig1 --out "$path"
    expect_line 1 "$path: " "$T" sim sweep "$TMP/grid.toml" --out "$path"
    expect 1 "$path: " "$T" reproduce panama-fig8 --sweep "$path"
    expect_line 2 "$path: " "$T" switch --config "$path" --check-config
    ! has_keys || expect_line 2 "$path: |--keys: $path is no folder" "$T" switch --keys "$path" --check-config
    ! has_keys || expect_line 2 "key file $path: " "$T" switch --key "$path" --check-config
    expect_line 2 "--http-tls: file $path: " "$T" switch --http-tls "$path" --http-token "$TMP/pem" --check-config
    expect_line 2 "--http-token: key file $path: " "$T" switch --http-tls "$TMP/pem" --http-token "$path" --check-config
    ! has_jobs || expect_line 2 "--token: key file $path: " "$T" jobs --token "$path"
    ! has_keys || expect_line 1 "$path: " "$T" key new "$path"
    ! has_keys || expect_line 1 "$path/" "$T" key tenant "$TMP/job.key" "$path"
    expect_line 2 "$path: " "$T" switch --with 10.0.0.2 --trees 1 --topology "$path" --check-config
    expect_line 2 "$path: " "$T" switch --with 10.0.0.2 --plan "$path" --check-config
    expect 1 "^FAIL +topology +$path(:| cannot be written:) " "$T" doctor --switch 127.0.0.1:1 --topology "$path"
    expect_line 1 "$path: " "$T" plan --topology "$path" --jobs "$TMP/jobs.toml"
    expect_line 1 "$path: " "$T" plan --topology "$TMP/net.toml" --jobs "$path"
    expect_line 1 "$path: " "$T" plan --topology "$TMP/net.toml" --jobs "$TMP/jobs.toml" --check "$path"
    expect 1 "$path: |$path cannot be written: |this build has no solver" "$T" plan --topology "$TMP/net.toml" --jobs "$TMP/jobs.toml" --out "$path"
    expect 1 "$path: |$path cannot be written: |this build has no solver" "$T" plan --topology "$TMP/net.toml" --jobs "$TMP/jobs.toml" --page "$path"
done
expect_line 1 "$TMP cannot be written: Is a directory" "$T" sim "$TMP/small.toml" --html "$TMP"
expect_line 1 "$TMP/file is no folder" "$T" sim "$TMP/small.toml" --out "$TMP/file"
! has_keys || expect_line 2 "$TMP/file is no folder: Not a directory" "$T" switch --keys "$TMP/file" --check-config
expect 1 '^tributary: /dev/full could not be written' "$T" sim "$TMP/small.toml" --html /dev/full
expect 0 . "$T" sim "$TMP/small.toml" --html "$TMP/page.html"
check "a page that can be written is" grep -q '<html' "$TMP/page.html"
expect 2 . "$T" sim "$TMP/absent.toml" --html "$TMP/none.html"
check "a page of no run is not left behind" test ! -e "$TMP/none.html"
expect_line 2 '--ready-fd: 9 is not an open, writable descriptor' bash -c '"$1" switch --listen 127.0.0.1:0 --ready-fd 9 9</dev/null' - "$T"
expect 1 'cannot write the port to descriptor 9: No space left' bash -c '"$1" switch --listen 127.0.0.1:0 --http none --ready-fd 9 9>/dev/full' - "$T"

say "what is wrong with all ranks is said once"
expect_line 1 'the switch did not start: .*Too many open files: raise `ulimit -n`, which is 8$' bash -c 'ulimit -n 8; exec "$1" run -n 2 -- true' - "$T"
expect_line 2 'TRIB_WIRE: "x" is none of' env TRIB_WIRE=x "$T" run -n 4 -- "$BUILD_DIR/bin/02_udp_allreduce"
expect_line 2 'cannot resolve "nowhere.invalid"' "$T" run -n 4 --switch nowhere.invalid -- "$BUILD_DIR/bin/02_udp_allreduce"
expect_line 2 'cannot resolve "nowhere.invalid"' "$T" perf --workers 4 --switch nowhere.invalid
expect_line 2 'network cards .* "nope0" is neither' "$T" perf --workers 4 --nics nope0
expect_line 2 'scheme panama:7/8: ' "$T" perf --workers 4 --scheme panama:7/8 --wire int32
expect 1 'cannot make a memory file of [0-9]+ bytes: File too large: raise `ulimit -f`' \
    bash -c 'ulimit -f 100; exec "$1" perf --workers 2 --no-switch -e 64' - "$T"
expect_line 2 'fallback \(TRIB_FALLBACK\) is on, but no switch' env TRIB_FALLBACK=1 "$T" perf --workers 3 --no-switch
expect_line 2 'fallback \(TRIB_FALLBACK\) is on, but no switch' env TRIB_FALLBACK=1 "$T" run -n 3 --no-switch -- true
expect 1 '^tributary: ranks 0, 1, 2: switch 127.0.0.1:1 unreachable: connection refused' \
    env TRIB_JOIN_TIMEOUT=300ms "$T" perf --workers 3 --switch 127.0.0.1:1
check "who waits says so once, and then why not: 2 lines" test "$(wc -l <"$TMP/out")" -le 2
expect 0 'TRIB_WRIE has no effect' env TRIB_WRIE=1 "$T" run -n 4 -- "$BUILD_DIR/bin/02_udp_allreduce"
check "of an unknown variable, too" test "$(grep -c 'has no effect' "$TMP/out")" = 1
expect_line 2 'RANK is set and WORLD_SIZE is not: set both' env RANK=1 "$T" perf -b 8 -e 8
expect_line 2 'WORLD_SIZE is set and RANK is not: set both' env WORLD_SIZE=2 "$T" perf -b 8 -e 8
expect 0 '^# 0 wrong elements$' env WORLD_SIZE=2 "$T" perf --workers 2 -b 8 -e 8 -n 1 -w 0
finish
