#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# atp.sh: a server and a combiner against a switch that sums, on links of a star, and three jobs that share a pool of rows:
#   bench/atp.sh one  [WORKERS] [RATE] [SIZE] [ROUNDS]   switchml at the switch, atp with a combiner there, ps with nothing there
#   bench/atp.sh jobs [WORKERS] [RATE] [SIZE] [POOL...]  three jobs with a server each, in turns: dynamic against static shares
#   bench/atp.sh alone [WORKERS] [RATE] [SIZE] [POOL...] one of these jobs alone: PTA is the least pool with 99 % of its best rate
# Times are medians of calls. CPU is of the switch or the combiner, for each byte that came in. Needs a build, and namespaces for ordinary users.
export TRIBUTARY=${TRIBUTARY:-$PWD/build/bin/tributary} BUILD_DIR=${BUILD_DIR:-$PWD/build}
. "$(dirname "$0")/../tests/integration/network.sh"
WHAT=${1:-one}
WORKERS_EACH=${2:-8}
RATE=${3:-200mbit}
SIZE=${4:-8MiB}
shift $(($# < 4 ? $# : 4))

# Multicast goes to the workers of a job alone, as where a switch listens to IGMP.
server_host() { ip_in s0 link set "$1" type bridge_slave mcast_flood off; }

daemon() { # NAME NODE COMMAND...
    local name=$1 node=$2
    shift 2
    nsenter --net="/run/netns/$node" "$TRIBUTARY" "$@" --http none 2>"$TMP/$name.log" &
    PIDS[$name]=$!
    CHILDREN+=($!)
    sleep 0.5
}
declare -A PIDS
cpu_ns() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($14 + $15) * 1e9 / hz }' "/proc/${PIDS[$1]}/stat"; }

# job NAME FIRST ADDRESS OPTIONS...: its ranks are workers from FIRST on; sets JOB_PIDS.
job() {
    local name=$1 first=$2 address=$3 i
    shift 3
    JOB_PIDS=()
    for ((i = 0; i < WORKERS_EACH; i++)); do
        TRIB_SWITCH=$address TRIB_JOB=$name TRIB_RANKS=$WORKERS_EACH TRIB_RANK=$i \
            nsenter --net="/run/netns/w$((first + i))" "$TRIBUTARY" perf -b "$SIZE" -e "$SIZE" -w 2 --json "$@" >"$TMP/$name.$i" 2>&1 &
        JOB_PIDS+=($!)
        CHILDREN+=($!)
    done
}

# field NAME KEY: of the one row.
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["rows"][0][sys.argv[2]])' "$TMP/$1.0" "$2"; }

one() {
    local rounds=${1:-3} calls=9 round name where before
    net_star $((WORKERS_EACH + 1))
    net_rate "$RATE"
    server_host "w$WORKERS_EACH"
    local server=${NET_ADDRESS[w$WORKERS_EACH]} box=${NET_ADDRESS[s0]}
    daemon switch s0 switch --listen "$box:7470"
    daemon server "w$WORKERS_EACH" server --listen "$server:7470"
    daemon combiner s0 switch --listen "$box:7480" --parent "$server:7470" --combine
    for ((round = 0; round < rounds; round++)); do
        for name in switchml atp ps; do
            case $name in switchml) where=switch at=$box:7470 ;; atp) where=combiner at=$box:7480 ;; ps) where=server at=$server:7470 ;; esac
            before=$(cpu_ns $where)
            job $name 0 "$at" --scheme $name --wire int32 -n $calls
            wait "${JOB_PIDS[@]}"
            printf '%-10s %10.1f us, %s wrong, %s %.2f ns per byte of the workers\n' $name "$(field $name time_us)" "$(field $name wrong)" $where \
                "$(echo "($(cpu_ns $where) - $before) / ($(field $name size) * $WORKERS_EACH * ($calls + 2))" | bc -l)"
        done
    done
}

alone() {
    RUNNING="0" SHARES="dynamic" jobs "$@"
}

jobs() {
    local pool share j names=() all
    net_star $((3 * WORKERS_EACH + 3))
    NET_BURST=${NET_BURST:-8kb} net_rate "$RATE" # no train at once, which would wait at each hop for its last packet
    for j in 0 1 2; do server_host "w$((3 * WORKERS_EACH + j))" && names[j]=${NET_ADDRESS[w$((3 * WORKERS_EACH + j))]}; done
    daemon second "w$((3 * WORKERS_EACH + 1))" server --listen "${names[1]}:7470" --lend "${names[0]}"
    daemon third "w$((3 * WORKERS_EACH + 2))" server --listen "${names[2]}:7470" --lend "${names[0]}"
    daemon first "w$((3 * WORKERS_EACH))" server --listen "${names[0]}:7470" --with "${names[1]},${names[2]}" --trees 1
    for pool in "${@:-1MiB}"; do
        for share in ${SHARES:-dynamic static}; do
            daemon combiner s0 switch --listen "${NET_ADDRESS[s0]}:7480" --parent "${names[0]}:7470" --combine --pool "$pool" --pool-share $share
            all=()
            for j in ${RUNNING:-0 1 2}; do
                job "job$j" $((j * WORKERS_EACH)) "${NET_ADDRESS[s0]}:7480" --scheme atp --no-multicast -n "${CALLS:-12}" --pause "${PAUSE:-200ms}"
                all+=("${JOB_PIDS[@]}")
                sleep "${STAGGER:-0.09}"
            done
            wait "${all[@]}"
            kill "${PIDS[combiner]}"
            wait "${PIDS[combiner]}"
            for j in ${RUNNING:-0 1 2}; do field "job$j" time_us; done | awk -v what="$pool $share" '{ r = 1 / $1; s += r; q += r * r; t += $1 }
                END { printf "%-16s mean %8.1f us, Jain %.4f, rate %.3f calls/s\n", what, t / NR, s * s / (NR * q), s * 1e6 }'
        done
    done
}

"$WHAT" "$@"
