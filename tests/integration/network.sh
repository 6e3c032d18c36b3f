# SPDX-License-Identifier: Apache-2.0
# network.sh: a star of network namespaces around a bridge, which has one of its own: one for the switch and one for each worker.
# Sourced by the root scripts, after common.sh. Exits with 77 where this machine does not allow it. Nothing of it outlives the
# script; names carry the script's pid, so that two may run at a time.

NET=trib$$
WORKERS=0

network_down() {
    local rank
    for ((rank = 0; rank < WORKERS; rank++)); do
        ip netns del "$NET-w$rank" 2>/dev/null
    done
    ip netns del "$NET-sw" 2>/dev/null
    ip netns del "$NET-br" 2>/dev/null
}

# link_up NAMESPACE PORT ADDRESS MTU: a namespace behind a port of the bridge.
link_up() {
    ip netns add "$1"
    ip -n "$NET-br" link add "$2" mtu "$4" type veth peer name eth0 netns "$1" mtu "$4"
    ip -n "$NET-br" link set "$2" master br0 up
    ip -n "$1" addr add "$3/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" link set lo up
}

# network_up WORKERS MTU: the switch is 10.99.0.254 at port ps, worker r is 10.99.0.(r + 1) at port p(r).
network_up() {
    local rank
    command -v ip >/dev/null || skip "no ip (apt-get install iproute2)"
    trap 'clean_up; network_down' EXIT
    ip netns add "$NET-br" 2>"$TMP/netns" || skip "no network namespaces here: $(tail -n 1 "$TMP/netns")"
    ip -n "$NET-br" link add br0 type bridge mcast_snooping 0 2>"$TMP/netns" || skip "no bridge here: $(cat "$TMP/netns")"
    link_up "$NET-sw" ps 10.99.0.254 "$2"
    for ((rank = 0; rank < $1; rank++)); do
        WORKERS=$((rank + 1))
        link_up "$NET-w$rank" "p$rank" "10.99.0.$((rank + 1))" "$2"
    done
    ip -n "$NET-br" link set br0 mtu "$2" up
}

network_mtu() {
    local rank
    for ((rank = 0; rank < WORKERS; rank++)); do
        ip -n "$NET-w$rank" link set eth0 mtu "$1"
        bridge_port "p$rank" mtu "$1"
    done
    ip -n "$NET-sw" link set eth0 mtu "$1"
    bridge_port ps mtu "$1"
    bridge_port br0 mtu "$1"
}

# bridge_port PORT SETTING...
bridge_port() { ip -n "$NET-br" link set "$@"; }

# in_switch COMMAND..., in_worker RANK COMMAND...
in_switch() { ip netns exec "$NET-sw" "$@"; }
in_worker() {
    local rank=$1
    shift
    ip netns exec "$NET-w$rank" "$@"
}

# star_switch [OPTIONS]: the daemon in its namespace; as switch_start.
star_switch() {
    local ready="$TMP/ready.$RANDOM"
    SWITCH_LOG=${SWITCH_LOG:-$TMP/switch.log}
    : >"$ready"
    ip netns exec "$NET-sw" "$TRIBUTARY" switch --listen 10.99.0.254:7470 --http none "$@" --ready-fd 9 9>"$ready" \
        2>>"$SWITCH_LOG" &
    SWITCH_PID=$!
    CHILDREN+=("$SWITCH_PID")
    wait_for 10 test -s "$ready" || { fail "the switch did not start"; show "$SWITCH_LOG"; exit 1; }
    export TRIB_SWITCH=10.99.0.254:7470
}

# star_ranks JOB OPTIONS...: perf, a rank in each worker's namespace; as ranks_start.
star_ranks() {
    local job=$1 rank
    shift
    RANK_PIDS=()
    for ((rank = 0; rank < WORKERS; rank++)); do
        TRIB_JOB=$job TRIB_RANKS=$WORKERS TRIB_RANK=$rank ip netns exec "$NET-w$rank" "$TRIBUTARY" perf "$@" \
            >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=($!)
        CHILDREN+=($!)
    done
}

# Bytes that a worker's link has carried out of it and into it, as the kernel counts them.
sent_by() { in_worker "$1" cat /sys/class/net/eth0/statistics/tx_bytes; }
received_by() { in_worker "$1" cat /sys/class/net/eth0/statistics/rx_bytes; }
