#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# flood.net.sh: a switch with keys, and 5,000 connections of somebody without one: silent, slow, of noise, of halves of handshakes; and handshakes
# that are begun and given up. A job with a key beside them joins, sums and ends; a switch without room says so.
. "$(dirname "$0")/network.sh"
command -v python3 >/dev/null || skip "needs python3"
has_keys || skip "this build has no OpenSSL"
COUNT=${COUNT:-5000}
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt $((COUNT + 1000)) ] || skip "the limit of open files is too low (ulimit -Hn)"
ulimit -Sn "$(ulimit -Hn)"
net_star 2
net_worker flooder s0
SOURCES=("${NET_ADDRESS[flooder]}")
for ((i = 1; i <= 7; i++)); do
    ip_in flooder addr add "10.99.2.$i/16" dev eth0
    SOURCES+=("10.99.2.$i")
done
mkdir "$TMP/keys"
"$TRIBUTARY" key new "$TMP/job.key" >/dev/null
"$TRIBUTARY" key tenant "$TMP/job.key" "$TMP/keys" >/dev/null
export TRIB_KEY_FILE=$TMP/job.key
WORKERS=(w0 w1)
CHURNS=()

# flood COUNT KINDS SECONDS SOURCE...: sets FLOOD.
flood() {
    rm -f "$TMP/flood"
    nsenter --net=/run/netns/flooder python3 "${0%/*}/../redteam/flood.py" "${NET_ADDRESS[s0]}:7470" "$@" >"$TMP/flood" 2>&1 &
    FLOOD=$!
    wait_for 20 holds "$TMP/flood" in && wait_for 10 all_taken || { fail "the flood does not begin"; show "$TMP/flood"; }
}

# The switch has looked at all connections.
all_taken() { [ "$(in_node s0 ss -Hltn | awk '{ print $2 }')" = 0 ]; }

# job NAME SECONDS: two ranks join, sum and end within that time.
job() {
    local from
    from=$(now_ms)
    net_perf "$1" -b 8 -e 1M -f 16 -n 5 -w 1
    ranks_end $((PATIENCE * $2)) 0
    check_right "$1" "$TMP/$1.0"
    say "$1: joined, summed and ended in $(($(now_ms) - from)) ms"
}

net_switch_start s0 --keys "$TMP/keys"
job before 10
flood "$COUNT" 5 1.5 "${SOURCES[0]}"
job beside 10
check "the flood ends" wait "$FLOOD"
say "$(tail -n 1 "$TMP/flood")"
check_in "one address has a part, and is told" '[1-9][0-9]* heard of no room' "$TMP/flood"

say "handshakes that are begun and given up, one after another"
for i in 1 2; do
    nsenter --net=/run/netns/flooder python3 "${0%/*}/../redteam/flood.py" "${NET_ADDRESS[s0]}:7470" churn 4 "${SOURCES[i]}" >"$TMP/churn.$i" 2>&1 &
    CHURNS+=("$!")
    wait_for 20 holds "$TMP/churn.$i" in
done
nsenter --net=/run/netns/flooder python3 "${0%/*}/../redteam/flood.py" "${NET_ADDRESS[s0]}:7470" shout 4000 "${SOURCES[3]}" >"$TMP/shout" 2>&1
check_in "packets of strangers have no answer" '^4000 datagrams, 0 answers$' "$TMP/shout"
job churned 10
for pid in "${CHURNS[@]}"; do wait "$pid"; done
say "$(tail -n 1 "$TMP/churn.1")"
check_in "no answer is longer than what was said" '^[1-9][0-9]* handshakes a second, .* [1-9][0-9]* bytes answered at most, not more$' "$TMP"/churn.[12]
net_switches_stop

say "no room at all"
cat >"$TMP/few" <<END
#!/bin/sh
ulimit -n 700
exec "$TRIBUTARY" "\$@"
END
chmod +x "$TMP/few"
TRIBUTARY=$TMP/few net_switch_start s0
flood 1200 1 60 "${SOURCES[@]}"
TRIB_JOIN_TIMEOUT=1s net_perf none -b 8 -e 8 -n 1
ranks_end 10 1
check_in "each rank is told why" 'it has no room for another session: come again later, or raise its limit of open files' "$TMP/none.0" "$TMP/none.1"
kill -KILL "$FLOOD"
wait "$FLOOD" 2>/dev/null
job after 10
net_switches_stop
finish
