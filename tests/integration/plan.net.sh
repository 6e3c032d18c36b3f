#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan.net.sh: two jobs over four switches whose links differ, as `tributary plan` deals them: both run at once, each at the rate that the plan
# says, within a tenth. Without a plan each job has all four switches in equal parts, and waits for the slowest link.
. "$(dirname "$0")/network.sh"
T=$TRIBUTARY
RATES=(120 80 40 20) # Mbit/s, of the switches' links
JOBS=(one two)
RANKS=3
SIZE=2097152

net_star $((2 * RANKS + ${#RATES[@]}))
net_rate 200mbit
{
    printf 'paths = "pinned"\n'
    for ((i = 0; i < 2 * RANKS; i++)); do printf '[[link]]\nbetween = "w%s box"\nrate = "200Mbps"\n' $i; done
    for i in "${!RATES[@]}"; do
        node=w$((2 * RANKS + i))
        AT[i]=${NET_ADDRESS[$node]}:7470
        printf '[[link]]\nbetween = "box %s"\nrate = "%sMbps"\n' "${AT[i]}" "${RATES[i]}"
        tc -n "$node" qdisc replace dev eth0 root tbf rate "${RATES[i]}mbit" burst 128kb latency 100ms
        tc -n s0 qdisc replace dev "$node" root tbf rate "${RATES[i]}mbit" burst 128kb latency 100ms
    done
} >"$TMP/net.toml"
printf '[[job]]\nname = "one"\nhosts = "w0-2"\n[[job]]\nname = "two"\nhosts = "w3-5"\nweight = 2\n' >"$TMP/jobs.toml"
"$T" plan -t "$TMP/net.toml" -j "$TMP/jobs.toml" -o "$TMP/plan.toml" --trees 8 >"$TMP/out" 2>&1
if grep -q 'this build has no solver' "$TMP/out"; then
    say "no solver in this build: left out"
    finish
fi
show "$TMP/out"

# serve NODE-NUMBER OPTIONS...: sets PIDS.
serve() {
    local node=w$((2 * RANKS + $1)) at=${AT[$1]}
    shift
    nsenter --net="/run/netns/$node" "$T" switch --listen "$at" --http none "$@" 2>>"$TMP/$node.log" &
    PIDS+=($!)
    CHILDREN+=($!)
}

# both OPTIONS...: the jobs at once, with these options of the first switch; sets TIME by job, microseconds of a call.
declare -A TIME
both() {
    local job first=0 i
    PIDS=()
    for i in 1 2 3; do serve $i --lend "${AT[0]%:*}"; done
    serve 0 --with "${AT[1]},${AT[2]},${AT[3]}" "$@"
    sleep 1
    RANK_PIDS=()
    for job in "${JOBS[@]}"; do
        for ((i = 0; i < RANKS; i++)); do
            TRIB_SWITCH=${AT[0]} TRIB_JOB=$job TRIB_RANKS=$RANKS TRIB_RANK=$i nsenter --net="/run/netns/w$((first + i))" \
                "$T" perf -b $SIZE -e $SIZE -w 1 -n 5 --json >"$TMP/$job.$i" 2>&1 &
            RANK_PIDS+=($!)
            CHILDREN+=($!)
        done
        first=$((first + RANKS))
    done
    ranks_end 120 0
    kill "${PIDS[@]}"
    wait "${PIDS[@]}"
    for job in "${JOBS[@]}"; do
        check_in "$job: sums are right" '"wrong": ?0[,}]' "$TMP/$job.0"
        TIME[$job]=$(grep -o '"time_us": *[0-9.]*' "$TMP/$job.0" | head -n 1 | sed 's/.*: *//')
    done
}

say "as planned"
both --plan "$TMP/plan.toml"
for job in "${JOBS[@]}"; do
    planned=$(grep -A1 "^name = \"$job\"" "$TMP/plan.toml" | sed -n 's/^rate_bps = //p')
    rate=$(awk -v us="${TIME[$job]}" -v size=$SIZE 'BEGIN { print size / 1408 * (1408 + 130) * 8e6 / us }')
    say "$job: planned $planned bit/s, has $rate"
    check "$job has its rate, within a tenth" awk -v a="$rate" -v b="$planned" 'BEGIN { exit !(a >= 0.9 * b && a <= 1.1 * b) }'
done
PLANNED=${TIME[one]}

say "without a plan"
both
say "a call of one: $PLANNED us as planned, ${TIME[one]} us without; of two: ${TIME[two]} us without"
check "one is faster as planned" awk -v a="$PLANNED" -v b="${TIME[one]}" 'BEGIN { exit !(a < b) }'
finish
