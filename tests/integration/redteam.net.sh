#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# redteam.net.sh: jobs with a key on a link with an outsider, who hears all packets and sends lies of some twenty kinds from everybody's addresses
# (tests/redteam/liar.c). Every sum is right, no rank ends, and nobody takes more packets than were truly sent. LIES [1000000] in all, RATE [0: as
# fast as it goes] a second, SEED.
. "$(dirname "$0")/network.sh"
command -v curl >/dev/null || skip "needs curl"
has_http || skip "this build has no HTTP, so nobody can read what was dropped"
has_keys || skip "this build has no OpenSSL"
export TRIB_SWITCH_TIMEOUT=$((5 * PATIENCE))s TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s
LOAD=$BUILD_DIR/tests/integration/load LIAR=$BUILD_DIR/tests/redteam/liar
LIES=${LIES:-$((1000000 / PATIENCE))} RATE=${RATE:-0} SEED=${SEED:-$(date +%s)}
SHAPES=7 # attacks, each with the same part of the lies
TOLD=0

# One link for all, and a hub: everybody hears everything. s0 has a daemon, and so have s1, which adds, and s2, which combines, below.
net_star 4
for node in s1 s2 outsider; do net_worker "$node" s0; done
ip_in s0 link set br0 arp off # s0 is at own0, behind a port like all others
ip_in s0 link set br0 type bridge ageing_time 0

mkdir "$TMP/keys"
for name in job op; do "$TRIBUTARY" key new "$TMP/$name.key" >/dev/null; done
"$TRIBUTARY" key tenant "$TMP/job.key" "$TMP/keys" >/dev/null
export TRIB_KEY_FILE=$TMP/job.key
for node in s0 s1 s2; do
    net_switch_start "$node" -t 2 --keys "$TMP/keys" --key "$TMP/op.key" --http "${NET_ADDRESS[$node]}:8470" \
        $([ "$node" != s2 ] || echo --combine --pool 1MiB)
done

now_ns() { date +%s%N; }

# begin JOB PLACE...: rank i is in w[i], at this switch; "-": at none, by TRIB_RENDEZVOUS.
begin() {
    local job=$1 rank=0 place
    shift
    RANKS=$# RANK_PIDS=()
    for place in "$@"; do
        [ "$place" = - ] || export TRIB_SWITCH=${NET_ADDRESS[$place]}:7470
        TRIB_JOB=$job TRIB_RANK=$rank TRIB_RANKS=$# nsenter --net="/run/netns/w$rank" \
            "$LOAD" "$TMP/$job.$([ "$rank" = 0 ] && echo steps || echo other)" 600 1 200000 "$SEED" >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=("$!")
        rank=$((rank + 1))
    done
    wait_for 10 steps "$job" 20 || { fail "$job does not run"; show "$TMP/$job".?; }
}
steps() { [ -s "$TMP/$1.steps" ] && [ "$(wc -l <"$TMP/$1.steps")" -ge "$2" ]; }

# Of the switches: packets taken and sent. Taken: received, less those dropped before their job was asked.
moved() {
    local node
    for node in s0 s1 s2; do in_node "$node" curl -s "http://${NET_ADDRESS[$node]}:8470/metrics"; done |
        awk '/^tributary_received_packets_total/ { taken += $2 } /^tributary_foreign_dropped_packets_total/ { taken -= $2 }
             /^tributary_sent_packets_total/ { sent += $2 } END { printf "%d %d\n", taken, sent }'
}

# dropped REASON: by s0.
dropped() { in_node s0 curl -s "http://${NET_ADDRESS[s0]}:8470/metrics" | awk -v name="tributary_foreign_dropped_packets_total{reason=\"$1\"}" '$1 == name { print $2 }'; }

# speed JOB FROM TO: bytes a second of rank 0 between these times.
speed() { awk -v from="$2" -v to="$3" '$1 >= from && $2 <= to { bytes += $4 } END { printf "%d\n", bytes * 1e9 / (to - from) }' "$TMP/$1.steps"; }

# lie COUNT OLD NEW NOBODY
lie() { in_node outsider "$LIAR" eth0 "$1" $((SEED + TOLD)) "$RATE" "$2" "$3" "$4" >"$TMP/told" 2>&1; }

# attack JOB [OLD]: beside the job, first a while without, then a while with lies to a port without a socket: the outsider and the network take CPU
# from the job in both, so the job's speed meanwhile is the base.
NOBODY=9
attack() {
    local job=$1 from control middle to base during
    pause 0.1
    from=$(now_ns)
    pause 0.4
    control=$(now_ns)
    check "the outsider hears $job" lie $((LIES / SHAPES / 4)) "" "" $NOBODY
    middle=$(now_ns)
    check "the outsider hears $job" lie $((LIES / SHAPES)) "${2:-}" "$TMP/heard" ""
    to=$(now_ns)
    TOLD=$((TOLD + 1))
    base=$(speed "$job" "$control" "$middle") during=$(speed "$job" "$middle" "$to")
    say "$job: $(head -n 1 "$TMP/told") $((during / 1000000)) MB/s meanwhile, $((during * 100 / (base + 1))) % of $((base / 1000000)) with lies to nobody;" \
        "$(($(speed "$job" "$from" "$control") / 1000000)) without lies"
    [ "$TOLD" -gt 1 ] || say "$(tail -n 1 "$TMP/told")"
}

# sum_of JOB WHAT: of all ranks.
sum_of() { sed -nE "s/^# rank .* ([0-9]+) $2.*/\\1/p" "$TMP/$1".? | awk '{ sum += $1 } END { printf "%d\n", sum }'; }

# end JOB COPIES: its ranks end well, and took no more than was sent, where what a switch sends may come COPIES times; 0: what roots in processes
# of ranks hand over was not sent. After it has told its counts a rank may still send a few packets.
LATE=300
end() {
    local job=$1 copies=$2 rank taken sent
    kill -TERM "${RANK_PIDS[0]}"
    ranks_end 20 0
    for ((rank = 0; rank < RANKS; rank++)); do check_in "$job rank $rank" ', 0 wrong, .* 0 lane failures' "$TMP/$job.$rank"; done
    read -r taken sent <<<"$(moved)"
    taken=$((taken - TAKEN)) sent=$((sent - SENT))
    say "$job: ranks sent $(sum_of "$job" 'packets sent') and took $(sum_of "$job" 'packets received'), switches sent $sent and took $taken"
    [ "$copies" != 0 ] || return
    check "$job: what was taken was sent" test $((taken + $(sum_of "$job" 'packets received'))) -le $((copies * sent + $(sum_of "$job" 'packets sent') + LATE))
    check "$job: what switches took was sent" test "$taken" -le $((sent + $(sum_of "$job" 'packets sent') + LATE))
}

# shape JOB COPIES PLACE...
shape() {
    local job=$1 copies=$2
    shift 2
    read -r TAKEN SENT <<<"$(moved)"
    unset TRIB_SWITCH
    begin "$job" "$@"
    attack "$job"
    end "$job" "$copies"
}

say "$LIES lies, seed $SEED"
shape multicast 4 s0 s0 s0 s0
export TRIB_MULTICAST=0
TRIB_ENCRYPT=1 shape tree 1 s1 s1 s0 s0
TRIB_SCHEME=atp shape combined 1 s2 s2 s0 s0
TRIB_SCHEME=ring TRIB_RENDEZVOUS=${NET_ADDRESS[w0]}:7470 shape ring 1 - - - -
TRIB_RENDEZVOUS=${NET_ADDRESS[w0]}:7470 shape roots 0 - - - -
for reason in SHORT VERSION LENGTH AUTH REPLAY SOURCE; do
    count=$(dropped $reason)
    check "s0 has dropped $count as $reason" test "$count" -ge $((LIES / 2000))
done

say "one switch, which restarts: packets of the incarnation before"
begin star s0 s0 s0
attack star
net_switch_kill s0
net_switch_start s0
is_back() { [ "$(grep -c 'job star runs: all' "$TMP/s0.log")" -ge 2 ]; }
wait_for 10 is_back || fail "star does not come back"
read -r TAKEN SENT <<<"$(moved)"
attack star "$TMP/heard"
end star 1
net_switches_stop
finish
