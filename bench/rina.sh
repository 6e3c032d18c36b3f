#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rina.sh: racks with a switch that sums, and a plain bridge between them; every link has one rate:
#   bench/rina.sh [RACKS] [WORKERS of a rack] [RATE] [SIZE] [ROUNDS] [DELAY] [THREADS] [PLAIN]
# rina: the switches of racks stand in a ring, which is cut at another place for each root; THREADS roots, as many as racks if it is not named.
# tree: all switches are below that of the first rack (scheme panama). ring: of all workers. gloo: Gloo's ring, if bench/run has built it.
# Times are medians of calls, in rounds of all in turn; a wrong sum ends the script. DELAY: how long each packet of a worker waits before it
# leaves, as if a host needed that time for a step (needs netem). PLAIN: so many of the last racks have no switch that adds. Then the hosts there
# have switches of their own (rina), or join that of the first rack (far); THREADS are as many as links of the chains if not named. Needs a build, and namespaces for ordinary users.
set -o pipefail
export TRIBUTARY=${TRIBUTARY:-$PWD/build/bin/tributary} BUILD_DIR=${BUILD_DIR:-$PWD/build}
. "$(dirname "$0")/../tests/integration/network.sh"
RACKS=${1:-4}
EACH=${2:-2}
RATE=${3:-200mbit}
SIZE=${4:-8MiB}
ROUNDS=${5:-3}
DELAY=${6:-0}
PLAIN=${8:-0}
THREADS=${7:-$((RACKS - PLAIN + PLAIN * EACH))}
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
LONELY=("${WORKERS[@]:(RACKS - PLAIN) * EACH}")
SWITCHES=("${SWITCHES[@]:0:RACKS - PLAIN}")
net_alone "${LONELY[@]}"
net_switches_start --threads "$THREADS"

bytes() { numfmt --from=iec-i --suffix=B "$1" | tr -d B; }
# row NAME FILE: a line, of the output of `perf --json` or of Gloo's program.
row() {
    python3 - "$@" <<'PROGRAM'
import json, statistics, sys
name, file = sys.argv[1:]
text = open(file).read()
report = json.loads(text[text.index("{"):]) # behind what a rank has said
row = report["rows"][0] if "rows" in report else {"time_us": statistics.median(report["times_us"]), "wrong": report["wrong"]}
print("%-5s %.1f us, %s wrong" % (name, row["time_us"], row["wrong"]))
sys.exit(row["wrong"] != 0)
PROGRAM
}
ours() { # NAME OPTIONS...
    local name=$1 pid
    shift
    net_perf "$name" -b "$SIZE" -e "$SIZE" -w 2 -n $CALLS --json "$@"
    for pid in "${RANK_PIDS[@]}"; do
        wait "$pid" || { show "$TMP/$name".*; return 1; }
    done
    row "$name" "$TMP/$name.0"
}
gloo() {
    local addresses
    addresses=$(for name in "${WORKERS[@]}"; do echo "${NET_ADDRESS[$name]}"; done | paste -sd ,)
    "$GLOO" --ranks ${#WORKERS[@]} --bytes "$(bytes "$SIZE")" --iterations $CALLS --warmups 2 --collective allreduce \
        --algorithm ring --address "$addresses" --netns "$(IFS=,; echo "${WORKERS[*]}")" >"$TMP/gloo" && row gloo "$TMP/gloo"
}

# Those that have switches of their own join the first one instead.
far() {
    local name
    for name in "${LONELY[@]}"; do NET_HOME[$name]=${NET_ADDRESS[${SWITCHES[0]}]}; done
    ours far --scheme rina || return 1
    for name in "${LONELY[@]}"; do NET_HOME[$name]=127.0.0.1; done
}

for ((round = 0; round < ROUNDS; round++)); do
    ours rina --scheme rina && { [ "$PLAIN" = 0 ] || far; } && ours tree --scheme panama &&
        ours ring --scheme ring --rendezvous "${NET_ADDRESS[w0]}:7999" || exit 1
    [ ! -x "$GLOO" ] || gloo || exit 1
done
