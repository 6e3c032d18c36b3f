# SPDX-License-Identifier: Apache-2.0
# network.sh: networks of namespaces, of any topology, as an ordinary user: sourced first, it starts the script again in user,
# network, mount and process namespaces of its own, in which the script is root and sees only its own processes, and then sources
# common.sh. So names and addresses cannot collide with those of another script, and whatever way it ends, nothing outlives it.
# Exits with 77 where this machine does not allow it.
#
#                 s0              net_switch s0; net_switch s1 s0; net_switch s2 s0
#               /    \            net_worker w0 s1; ...
#             s1      s2          A node is a namespace. A switch has a bridge (br0) with a port for each node
#            /  \    /  \         below, which has the name of that node; a node's way up is eth0. "The link of s1" is the one above
#          w0   w1  w2   w3       it. One subnet: s0 is 10.99.1.1, s1 10.99.1.2, w0 10.99.0.1, w1 10.99.0.2; if NET_FAMILY is 6
#                                 before the first node is made, [fd99::1:1], [fd99::1:2], [fd99::0:1], [fd99::0:2].
#
# The bridge of a switch is its ports; the daemon beside it has a link of its own to it, own0, with the address: the kernel
# would flood what a bridge's own device multicasts to all ports, whatever their settings.
#
# Results that a switch sends by multicast stay in its own star, as if each switch were a router.

if [ "${IN_NETWORK:-}" != 1 ]; then
    for tool in ip tc unshare nsenter; do
        command -v "$tool" >/dev/null || { echo "# skipped: no $tool (apt-get install iproute2 util-linux)"; exit 77; }
    done
    enter=(unshare --user --map-root-user --net --mount --pid --fork --mount-proc --kill-child)
    if ! reason=$("${enter[@]}" sh -c 'mount -t tmpfs none /run && ip netns add a && ip link add br0 type bridge' 2>&1); then
        echo "# skipped: no namespaces for ordinary users here: ${reason##*$'\n'}"
        exit 77
    fi
    IN_NETWORK=1 exec "${enter[@]}" bash "$0" "$@"
fi
unset IN_NETWORK
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mount -t tmpfs none /run || skip "cannot mount on /run"

NET_FAMILY=4
declare -A NET_ABOVE=()   # the switch above a node
declare -A NET_PARENT=()  # of a switch's daemon, where it is not the switch above; empty: none
declare -A NET_HOME=()    # of a worker: the address that it joins, where it is not that of the switch above
declare -A NET_LISTEN=()  # of a daemon, where it is not the address of its node
declare -A NET_ADDRESS=() # of a node; an IPv6 address in brackets
SWITCHES=()               # names, in the order in which they were made
WORKERS=()
declare -A SWITCH_PIDS=()
declare -A SWITCH_OPTIONS=() # that a daemon was last started with

# ---- nodes and links ----

# in_node NODE COMMAND...
in_node() {
    local node=$1
    shift
    nsenter --net="/run/netns/$node" "$@"
}

# ip and tc within a node.
ip_in() { ip -n "$@"; }

add_node() { # NODE KIND NUMBER
    case $NET_FAMILY in
    4) NET_ADDRESS[$1]=10.99.$2.$3 ;;
    6) NET_ADDRESS[$1]=[fd99::$2:$3] ;;
    esac
    ip netns add "$1"
    # Nothing but our own packets on the links.
    [ "$NET_FAMILY" = 6 ] ||
        in_node "$1" sh -c 'for i in all default; do echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; done' 2>/dev/null
    ip_in "$1" link set lo up
}

# add_address NODE DEVICE: that of the node, usable at once.
add_address() {
    local address=${NET_ADDRESS[$1]#[}
    case $NET_FAMILY in
    4) ip_in "$1" addr add "$address/16" dev "$2" ;;
    6) ip_in "$1" addr add "${address%]}/64" dev "$2" nodad ;;
    esac
}

# The kernel asks for a neighbour again after 20 ms instead of a second, so that a cut lasts as long as the test says.
quick_arp() { in_node "$1" sh -c "echo 20 >/proc/sys/net/ipv$NET_FAMILY/neigh/$2/retrans_time_ms"; }

add_link() { # NODE ABOVE
    NET_ABOVE[$1]=$2
    # Where both ends have the same index, the kernel takes up to a second to notice that a link is up or down.
    ip_in "$2" link add "$1" index $((1000 + ${#NET_ABOVE[@]})) type veth peer name eth0 netns "$1"
    ip_in "$2" link set "$1" master br0 up
}

# net_switch NAME [ABOVE]
net_switch() {
    add_node "$1" 1 $((${#SWITCHES[@]} + 1))
    SWITCHES+=("$1")
    ip_in "$1" link add br0 type bridge mcast_snooping 0
    ip_in "$1" link add own0 type veth peer name own1
    ip_in "$1" link set own1 master br0 up
    add_address "$1" own0
    ip_in "$1" link set own0 up
    quick_arp "$1" own0
    ip_in "$1" link set br0 up
    if [ $# -gt 1 ]; then
        add_link "$1" "$2"
        ip_in "$1" link set eth0 master br0 up
        if [ "$NET_FAMILY" = 4 ]; then # IPv6 finds neighbours by multicast, and no results go that way there
            ip_in "$1" link set eth0 type bridge_slave mcast_flood off
            ip_in "$2" link set "$1" type bridge_slave mcast_flood off
        fi
    fi
}

# net_worker NAME SWITCH
net_worker() {
    add_node "$1" 0 $((${#WORKERS[@]} + 1))
    WORKERS+=("$1")
    add_link "$1" "$2"
    add_address "$1" eth0
    ip_in "$1" link set eth0 up
    quick_arp "$1" eth0
}

# net_star WORKERS: s0 with w0, w1, ... below.
net_star() {
    local i
    net_switch s0
    for ((i = 0; i < $1; i++)); do
        net_worker "w$i" s0
    done
}

# net_second WORKERS: a second network for a star, 10.98 beside 10.99: eth1 of every worker, own2 of the switch, whose ports are x0, x1, ...
net_second() {
    local i
    ip_in s0 link add br1 type bridge mcast_snooping 0
    ip_in s0 link add own2 type veth peer name own3
    ip_in s0 link set own3 master br1 up
    ip_in s0 addr add 10.98.1.1/16 dev own2
    ip_in s0 link set own2 up
    ip_in s0 link set br1 up
    for ((i = 0; i < $1; i++)); do
        ip_in s0 link add "x$i" index $((2000 + i)) type veth peer name eth1 netns "w$i"
        ip_in s0 link set "x$i" master br1 up
        ip_in "w$i" addr add "10.98.0.$((i + 1))/16" dev eth1
        ip_in "w$i" link set eth1 up
        quick_arp "w$i" eth1
    done
    quick_arp s0 own2
}

# net_tree WORKERS SWITCHES...: each level a number of switches, dealt evenly to those of the level above, and the workers to
# the lowest: `net_tree 8 1 2` is s0 over s1 and s2, four workers below each.
net_tree() {
    local workers=$1 above=() level name count i
    shift
    for count in "$@"; do
        level=()
        for ((i = 0; i < count; i++)); do
            name=s${#SWITCHES[@]}
            level+=("$name")
            net_switch "$name" ${above[0]:+"${above[i * ${#above[@]} / count]}"}
        done
        above=("${level[@]}")
    done
    for ((i = 0; i < workers; i++)); do
        net_worker "w$i" "${above[i * ${#above[@]} / workers]}"
    done
}

# net_racks RACKS WORKERS: racks of so many workers each, s1, s2, ..., and s0 between them, a bridge without a daemon. The daemon of the
# first rack is the parent of the others'.
net_racks() {
    local i k
    net_switch s0
    for ((i = 1; i <= $1; i++)); do
        net_switch "s$i" s0
        NET_PARENT[s$i]=$([ "$i" = 1 ] || echo s1)
        for ((k = 0; k < $2; k++)); do
            net_worker "w${#WORKERS[@]}" "s$i"
        done
    done
    SWITCHES=("${SWITCHES[@]:1}")
}

# net_alone WORKERS...: each has a daemon on its own host, as if the host were a rack, at all addresses, and joins it at 127.0.0.1 (IPv4
# alone). The first of SWITCHES is its parent; if there is none, the first of these is the parent of all.
net_alone() {
    local name
    for name in "$@"; do
        NET_PARENT[$name]=${SWITCHES[0]:-}
        NET_HOME[$name]=127.0.0.1
        NET_LISTEN[$name]=0.0.0.0
        SWITCHES+=("$name")
    done
}

# net_rate RATE: both ends of every link, so that a test loads links and not the machine.
net_rate() {
    local node
    for node in "${!NET_ABOVE[@]}"; do
        tc -n "$node" qdisc replace dev eth0 root tbf rate "$1" burst "${NET_BURST:-128kb}" latency 100ms
        tc -n "${NET_ABOVE[$node]}" qdisc replace dev "$node" root tbf rate "$1" burst "${NET_BURST:-128kb}" latency 100ms
    done
}

# net_mtu MTU: every link.
net_mtu() {
    local node end
    for node in "${!NET_ABOVE[@]}"; do
        ip_in "$node" link set eth0 mtu "$1"
        ip_in "${NET_ABOVE[$node]}" link set "$node" mtu "$1"
    done
    for node in "${SWITCHES[@]}"; do
        for end in own0 own1 br0; do
            ip_in "$node" link set "$end" mtu "$1"
        done
    done
}

# far_end NODE SETTING...: ip link set, at the upper end of a node's link.
far_end() {
    local node=$1
    shift
    ip_in "${NET_ABOVE[$node]}" link set "$node" "$@"
}

# The cable of a node: out, and in again.
link_cut() { far_end "$1" down; }

# The kernel does what it was told of a link later, after what it was told of all others: the link is back when it sends at both ends.
sends() { ip_in "$1" link show "$2" | grep -q 'state UP'; }
link_mend() {
    far_end "$1" up
    wait_for 20 sends "${NET_ABOVE[$1]}" "$1" && wait_for 20 sends "$1" eth0 || fail "the link of $1 does not come back"
}

# own_cut SWITCH, own_mend SWITCH: its machine is off for all others, and on again. That of a worker with a daemon has one link.
own_cut() { if [ -n "${NET_LISTEN[$1]:-}" ]; then link_cut "$1"; else ip_in "$1" link set own1 down; fi; }
own_mend() {
    [ -z "${NET_LISTEN[$1]:-}" ] || { link_mend "$1"; return; }
    ip_in "$1" link set own1 up
    wait_for 20 sends "$1" own1 && wait_for 20 sends "$1" own0 || fail "the link of the machine of $1 does not come back"
}

# sent NODE, received NODE: packets and bytes out of and into it, as the kernel counts: a train may be one packet. A switch that
# has no link above it: of its own.
device() { if [ -n "${NET_ABOVE[$1]:-}" ]; then echo eth0; else echo own0; fi; }
sent() { in_node "$1" awk -v device="$(device "$1"):" '$1 == device { print $11, $10 }' /proc/net/dev; }
received() { in_node "$1" awk -v device="$(device "$1"):" '$1 == device { print $3, $2 }' /proc/net/dev; }
sent_bytes() { sent "$1" | cut -d ' ' -f 2; }
received_bytes() { received "$1" | cut -d ' ' -f 2; }

# ---- processes ----

# net_switch_start NAME [OPTIONS]: the daemon, below that of the switch above; also after net_switch_kill, then with the options of the
# last time unless there are new ones; without a parent if NET_PARENTS is no. It must serve within 10 s.
NET_PARENTS=yes
net_switch_start() {
    local name=$1 above=${NET_PARENT[$1]-${NET_ABOVE[$1]:-}} ready="$TMP/ready.$1"
    [ "$NET_PARENTS" = yes ] || above=
    shift
    [ $# -eq 0 ] || SWITCH_OPTIONS[$name]=$*
    : >"$ready"
    # shellcheck disable=SC2086
    nsenter --net="/run/netns/$name" "$TRIBUTARY" switch --listen "${NET_LISTEN[$name]:-${NET_ADDRESS[$name]}}:7470" --http none \
        ${above:+--parent "${NET_ADDRESS[$above]}:7470"} ${SWITCH_OPTIONS[$name]:-} --ready-fd 9 9>"$ready" \
        >>"$TMP/$name.log" 2>&1 &
    SWITCH_PIDS[$name]=$!
    wait_for 10 test -s "$ready" || { fail "switch $name did not start"; show "$TMP/$name.log"; exit 1; }
}

net_switches_start() {
    local name
    for name in "${SWITCHES[@]}"; do
        net_switch_start "$name" "$@"
    done
}

# net_lend SWITCH OPTIONS: with these options and no parents, all switches sum the jobs of that one.
net_lend() {
    local master=$1 name with=
    shift
    NET_PARENTS=no
    for name in "${SWITCHES[@]}"; do
        [ "$name" = "$master" ] || with+=,${NET_ADDRESS[$name]}:7470
        SWITCH_OPTIONS[$name]="$* --lend ${NET_ADDRESS[$master]%:*}"
    done
    SWITCH_OPTIONS[$master]="$* --with ${with#,}"
}

# No waiting: the next one may bind to the same port at once.
net_switch_kill() {
    {
        kill -KILL "${SWITCH_PIDS[$1]}"
        wait "${SWITCH_PIDS[$1]}"
    } 2>/dev/null # or bash says "Killed"
}

# SIGTERM must end them cleanly.
net_switches_stop() {
    local name
    for name in "${SWITCHES[@]}"; do
        CHECKS=$((CHECKS + 1))
        kill -TERM "${SWITCH_PIDS[$name]}"
        ended 5 "${SWITCH_PIDS[$name]}"
        [ "$STATUS" = 0 ] || { fail "switch $name ended with status $STATUS on SIGTERM"; show "$TMP/$name.log"; }
    done
}

# net_rank JOB RANK RANKS NODE COMMAND...: a rank at the switch of its node, or at that of its host, output in $TMP/JOB.RANK; sets PID.
net_rank() {
    local job=$1 rank=$2 ranks=$3 node=$4
    local home=${NET_HOME[$node]:-${NET_ADDRESS[${NET_ABOVE[$node]}]}}
    shift 4
    TRIB_SWITCH=$home:7470 TRIB_JOB=$job TRIB_RANK=$rank TRIB_RANKS=$ranks \
        nsenter --net="/run/netns/$node" "$@" >"$TMP/$job.$rank" 2>&1 &
    PID=$!
}

# net_perf JOB OPTIONS...: perf on every worker; sets RANK_PIDS, as ranks_start.
net_perf() {
    local job=$1 rank
    shift
    RANK_PIDS=()
    for rank in "${!WORKERS[@]}"; do
        net_rank "$job" "$rank" "${#WORKERS[@]}" "${WORKERS[rank]}" "$TRIBUTARY" perf "$@"
        RANK_PIDS+=("$PID")
    done
}

# net_runs JOB: all its ranks are registered.
net_runs() { holds "$TMP/${SWITCHES[0]}.log" "job $1 runs: all"; }
