#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# forged.net.sh: packets that lie about their sender, to a server and a combiner with jobs that run: from strangers' addresses, a combiner's, the
# server's and a rank's. Sums stay right, nobody waits for ever, and what is dropped is counted by its reason.
. "$(dirname "$0")/network.sh"
command -v python3 >/dev/null || skip "needs python3"
command -v curl >/dev/null || skip "needs curl"
has_http || skip "this build has no HTTP, so nobody can read what was dropped"
export TRIB_SCHEME=atp TRIB_SWITCH_TIMEOUT=$((5 * PATIENCE))s TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
LOAD=$BUILD_DIR/tests/integration/load
COUNT=200
net_tree 4 1 2 # w0 and w1 at s1, w2 and w3 at s2; the server is s0
net_mtu 1500
net_switch_start s0 -t 2 --http "${NET_ADDRESS[s0]}:8470"
net_switch_start s1 -t 2 --combine --pool 1MiB --http "${NET_ADDRESS[s1]}:8470"
net_switch_start s2 -t 2 --combine

# begin JOB RANKS: under load at as many workers, from the first one.
ENDS=()
begin() {
    local rank
    RANK_PIDS=()
    for ((rank = 0; rank < $2; rank++)); do
        net_rank "$1" "$rank" "$2" "${WORKERS[rank]}" "$LOAD" "$TMP/records" 60 1 100000 1
        RANK_PIDS+=("$PID")
    done
    ENDS+=("${RANK_PIDS[0]}")
    ALL+=("${RANK_PIDS[@]}")
    wait_for 10 net_runs "$1" || fail "$1 does not run"
}

# dropped NODE REASON [JOB]: packets that its switch has dropped so, of a job or of none.
dropped() {
    local of=foreign_dropped_packets_total{
    [ $# -lt 3 ] || of="dropped_packets_total{job=\"$3\","
    in_node "$1" curl -s "http://${NET_ADDRESS[$1]}:8470/metrics" | grep -F "tributary_${of}reason=\"$2\"}" | cut -d ' ' -f 2
}

# lie WHAT FROM TO OTHERS...
lie() {
    check "$1, $2 to $3: sent" in_node w3 python3 "${0%/*}/forged.py" "$1" "$COUNT" "$2" "$3" "$COMMUNICATOR" "$BOOT" "${@:4}"
}

# lie_seen WHAT FROM TO NODE REASON JOB OTHERS...: nearly all are dropped there under the reason; of job "" for none. A few the kernel may lose.
lie_seen() {
    local what=$1 from=$2 to=$3 job=$6 before after
    before=$(dropped "$4" "$5" ${job:+"$job"})
    lie "$what" "$from" "$to" "${@:7}"
    wait_for 2 seen "$4" "$5" "$job" $((before + COUNT * 9 / 10)) || :
    after=$(dropped "$4" "$5" ${job:+"$job"})
    check "$what, $from to $to: of $COUNT packets $((after - before)) were dropped as $5" test $((after - before)) -ge $((COUNT * 9 / 10))
}
seen() { [ "$(dropped "$1" "$2" ${3:+"$3"})" -ge "$4" ]; }

S0=${NET_ADDRESS[s0]} S1=${NET_ADDRESS[s1]} S2=${NET_ADDRESS[s2]} W0=${NET_ADDRESS[w0]} W3=${NET_ADDRESS[w3]}
ALL=()
begin victim 4
RANK=$W0:$(in_node w0 ss -Huan | awk -v to="$S1:7470" '$5 == to { sub(/.*:/, "", $4); print $4; exit }')
TRIB_SCHEME=ps begin beside 3
read -r COMMUNICATOR BOOT <<<"$(sed -nE 's/.*job victim of the parent: communicator ([0-9a-f]+) boot ([0-9a-f]+), .*/\1 \2/p' "$TMP/s1.log")"

say "strangers"
lie_seen stranger "$W3:9" "$S0:7470" s0 SOURCE ""
lie_seen stranger "$S0:9" "$S1:7470" s1 SOURCE ""
lie_seen stranger "$RANK" "$S0:7470" s0 SOURCE ""
lie_seen stranger "$S2:7470" "$S1:7470" s1 SOURCE ""

say "a combiner that speaks for members that are not behind it"
lie_seen combiner "$S1:7470" "$S0:7470" s0 SOURCE victim 2 3
lie_seen combiner "$S1:7471" "$S0:7471" s0 SOURCE victim 2 3
lie_seen unknown "$S1:7470" "$S0:7470" s0 SOURCE ""
lie_seen generation "$S1:7470" "$S0:7470" s0 GENERATION victim

say "the server's address"
lie_seen parent "$S0:7470" "$S1:7470" s1 SOURCE victim 2 3
lie_seen generation "$S0:7470" "$S1:7470" s1 GENERATION victim
lie_seen unknown "$S0:7470" "$S1:7470" s1 SOURCE ""
lie generation "$S1:7470" "$RANK"
lie unknown "$S1:7470" "$RANK"

say "a rank's address"
lie_seen unknown "$RANK" "$S1:7470" s1 SOURCE ""
lie_seen boot "$RANK" "$S1:7470" s1 BOOT victim
lie_seen generation "$RANK" "$S1:7470" s0 GENERATION victim
lie_seen impossible "$RANK" "$S1:7470" s0 MARK victim
lie down "$RANK" "$S1:7470"

say "garbage, from all to all"
for from in "$W3:9" "$RANK" "$S1:7470"; do lie garbage "$from" "$S0:7470"; done
for from in "$W3:9" "$RANK" "$S0:7470"; do lie garbage "$from" "$S1:7470"; done
lie garbage "$S1:7470" "$RANK"
for reason in SHORT VERSION LENGTH CRC; do # of 600 on average 230, 150, 52 and 160: LENGTH is more than 20 but in one run of 100,000
    wait_for 10 seen s1 $reason "" 20 || fail "few are dropped as $reason: $(dropped s1 $reason)"
done

say "a job that begins meanwhile, and the highest mark from the server's address"
lie garbage "$W3:9" "$S1:7470" &
LIAR=$!
begin later 4
wait "$LIAR"
lie mark "$S0:7470" "$S1:7470"
sleep 0.5
kill -TERM "${ENDS[@]}"
RANK_PIDS=("${ALL[@]}")
ranks_end 30 0
net_switches_stop
finish
