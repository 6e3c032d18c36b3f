#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rina.sh: racks with a switch that sums, and a plain bridge between them; every link has one rate:
#   bench/rina.sh [RACKS] [WORKERS of a rack] [RATE] [SIZE] [ROUNDS] [DELAY]
# rina: the racks' switches form a chain. tree: all are below the switch of the first rack (scheme panama). ring: of all workers. gloo: Gloo's
# ring, if bench/run has built it. Times are medians of calls, in rounds of all in turn. DELAY: what each packet of a worker waits before it
# leaves, as a host that needs that long for a step. Needs a build, and namespaces for ordinary users.
export TRIBUTARY=${TRIBUTARY:-$PWD/build/bin/tributary} BUILD_DIR=${BUILD_DIR:-$PWD/build}
. "$(dirname "$0")/../tests/integration/network.sh"
RACKS=${1:-4}
EACH=${2:-2}
RATE=${3:-200mbit}
SIZE=${4:-8MiB}
ROUNDS=${5:-3}
DELAY=${6:-0}
CALLS=5
GLOO=$BUILD_DIR/bench/gloo_collective

net_racks "$RACKS" "$EACH"
net_rate "$RATE"
if [ "$DELAY" != 0 ]; then
    for name in "${WORKERS[@]}"; do
        tc -n "$name" qdisc replace dev eth0 root handle 1: tbf rate "$RATE" burst 128kb limit 64mb
        tc -n "$name" qdisc add dev eth0 parent 1:1 netem delay "$DELAY" limit 20000
    done
fi
net_switches_start --threads "$RACKS"

bytes() { numfmt --from=iec-i --suffix=B "$1" | tr -d B; }
ours() { # NAME OPTIONS...
    local name=$1
    shift
    net_perf "$name" -b "$SIZE" -e "$SIZE" -w 2 -n $CALLS --json "$@"
    wait "${RANK_PIDS[@]}"
    python3 -c 'import json, sys; row = json.load(open(sys.argv[1]))["rows"][0]; print("%.1f us, %s wrong" % (row["time_us"], row["wrong"]))' "$TMP/$name.0"
}
gloo() {
    local names addresses
    names=$(IFS=,; echo "${WORKERS[*]}")
    addresses=$(for name in "${WORKERS[@]}"; do echo "${NET_ADDRESS[$name]}"; done | paste -sd ,)
    "$GLOO" --ranks ${#WORKERS[@]} --bytes "$(bytes "$SIZE")" --iterations $CALLS --warmups 2 --collective allreduce --algorithm ring \
        --address "$addresses" --netns "$names" |
        python3 -c 'import json, statistics, sys; r = json.load(sys.stdin); print("%.1f us, %s wrong" % (statistics.median(r["times_us"]), r["wrong"]))'
}

for ((round = 0; round < ROUNDS; round++)); do
    printf '%-5s %s\n' rina "$(ours rina --scheme rina)"
    printf '%-5s %s\n' tree "$(ours tree --scheme panama)"
    printf '%-5s %s\n' ring "$(ours ring --scheme ring --rendezvous "${NET_ADDRESS[w0]}:7999")"
    [ ! -x "$GLOO" ] || printf '%-5s %s\n' gloo "$(gloo)"
done
