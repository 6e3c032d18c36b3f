#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos.net.sh: random harm, one or two things at a time, to daemons, ranks and links under load, every value checked on every rank.
#
#   chaos.net.sh [star|tree|deep|several|atp|racks|mixed] [SECONDS] [SEED]        TRIBUTARY=build/bin/tributary BUILD_DIR=build
#
# star: a switch and four workers; tree: a switch over two, with eight workers; deep: over two over four, with eight workers;
# several: eight workers at one of three switches, which all sum; atp: tree, as a server over two combiners with few rows; racks: scheme rina
# in four racks (RACKS) of two workers; mixed: in two racks of two, and at two workers with switches on their own hosts. Without a shape the
# seed chooses tree, atp, racks or mixed.
#
# Two jobs run on all workers: one lives through everything, of the other a rank is killed now and then, and it is started again. In shape
# atp a third job, which lives as the first does, shares their rows. The seed fixes what is done to whom in which order; how it meets the
# load is left to the machine. Each life of the second job has other settings: plain, another wire, or packets lost, doubled, overtaken and
# damaged besides.
. "$(dirname "$0")/network.sh"
. "$(dirname "$0")/events.sh"

SECONDS_LONG=${2:-60}
SEED=${3:-$((RANDOM + 1))}
SHAPES=(tree atp racks mixed)
SHAPE=${1:-${SHAPES[SEED % ${#SHAPES[@]}]}}
OPTIONS=(--threads 2)
OTHER_WIRE=int32
SURVIVORS=(survivor)
case $SHAPE in
star) net_star 4 ;;
tree) net_tree 8 1 2 ;;
deep) net_tree 8 1 2 4 ;;
atp)
    net_tree 8 1 2
    export TRIB_SCHEME=atp
    OPTIONS+=(--pool 64KiB) # 20 rows on all shards
    OTHER_WIRE=float32
    SURVIVORS=(survivor second)
    ;;
racks) net_racks "${RACKS:-4}" 2 && export TRIB_SCHEME=rina ;;
mixed)
    net_racks 3 2
    SWITCHES=(s1 s2)
    net_alone w4 w5
    export TRIB_SCHEME=rina
    ;;
several) net_star 8 && net_switch s1 s0 && net_switch s2 s0 && net_lend s0 --threads 2 ;;
*) skip "no such shape: $SHAPE" ;;
esac
net_rate 200mbit
if [ "$SHAPE" = several ]; then net_switches_start; else net_switches_start "${OPTIONS[@]}"; fi
say "chaos: $SHAPE of ${#SWITCHES[@]} switches and ${#WORKERS[@]} workers, $SECONDS_LONG s, seed $SEED"
RANDOM=$SEED

declare -A COUNTS=() # of harm by kind
LIFE=0               # of the mortal job
OPERATIONS=0 # of all jobs, on rank 0
HUNG=0
ROUNDS=0
TOGETHER=0

below() { DRAWN=$((RANDOM % $1)); }
draw() { # NAMES...
    below $#
    DRAWN=${*:DRAWN + 1:1}
}

mortal_start() {
    LIFE=$((LIFE + 1))
    case $((LIFE % 3)) in
    1) export TRIB_FAULTS="loss=0.3%,duplicate=0.3%,reorder=0.3%,corrupt=0.1%,seed=$LIFE" ;;
    2) export TRIB_WIRE=$OTHER_WIRE ;;
    esac
    load_start "mortal$LIFE" 100000 1024 65536 2000
    unset TRIB_FAULTS TRIB_WIRE
}

count_operations() { # JOB
    local n
    n=$(sed -n 's/^# rank [1-9][0-9]*: \([0-9]*\) operations.*/\1/p' "$TMP/$1".* | sort -n | tail -n 1)
    OPERATIONS=$((OPERATIONS + ${n:-0}))
}

# What is done to whom, and for how long: sets KIND, VICTIM, PID_HARMED, MS.
draw_harm() {
    below 15
    case $DRAWN in
    0 | 1 | 2 | 3) KIND=restart; below 500 ;;
    4) KIND=machine; below 1000 ;;
    5 | 6) KIND=pause; below 1000 ;;
    7 | 8 | 9) KIND=stop; below 2000 ;;
    13 | 14) KIND=flap; below 50 ;;
    *) KIND=cut; below 800 ;;
    esac
    MS=$((DRAWN + 10))
    PID_HARMED=0
    case $KIND in
    restart | flap | machine | pause) draw "${SWITCHES[@]}"; VICTIM=$DRAWN ;;
    cut) draw "${WORKERS[@]}" "${SWITCHES[@]:1}"; VICTIM=$DRAWN ;;
    stop)
        below ${#WORKERS[@]}
        VICTIM=rank$DRAWN
        if [ $((RANDOM % 2)) = 0 ]; then
            PID_HARMED=$(load_pid "${SURVIVORS[RANDOM % ${#SURVIVORS[@]}]}" "$DRAWN")
        else
            PID_HARMED=$(load_pid "mortal$LIFE" "$DRAWN")
        fi
        ;;
    esac
}

begin() { # KIND VICTIM PID
    case $1 in
    restart | flap) net_switch_kill "$2" ;;
    machine) net_switch_kill "$2" && own_cut "$2" ;;
    pause) kill -STOP "${SWITCH_PIDS[$2]}" ;;
    stop) kill -STOP "$3" ;;
    cut) link_cut "$2" ;;
    esac
}

end() { # KIND VICTIM PID
    case $1 in
    restart) net_switch_start "$2" ;;
    flap) # again and again in the midst of the ranks' return
        for _ in 1 2 3; do
            net_switch_start "$2"
            sleep "0.0$((RANDOM % 9))"
            net_switch_kill "$2"
        done
        net_switch_start "$2"
        ;;
    machine) net_switch_start "$2" && own_mend "$2" ;;
    pause) kill -CONT "${SWITCH_PIDS[$2]}" ;;
    stop) kill -CONT "$3" ;;
    cut) link_mend "$2" ;;
    esac
}

sleep_ms() { [ "$1" -le 0 ] || sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# All jobs must go on after TO.
must_go_on() { # KIND FROM_NS TO_NS
    local job
    for job in "${SURVIVORS[@]}" "mortal$LIFE"; do
        CHECKS=$((CHECKS + 1))
        if ! wait_for 15 goes_on "$job" "$3"; then
            HUNG=$((HUNG + 1))
            fail "$job stands still after $WHAT (seed $SEED, round $ROUNDS)"
            show "$TMP/$job".[0-9] "$TMP"/s*.log
            return 1
        fi
        echo "$(cost "$job" "$2" "$3" | cut -d ' ' -f 1) $job, round $ROUNDS: $WHAT" >>"$TMP/recoveries.$1"
    done
}

harm() {
    local first second='' first_ms from to kind
    draw_harm
    first="$KIND $VICTIM $PID_HARMED" first_ms=$MS kind=$KIND
    if [ $((RANDOM % 4)) = 0 ]; then
        draw_harm
        [ "${first#* }" = "$VICTIM $PID_HARMED" ] || second="$KIND $VICTIM $PID_HARMED"
    fi
    WHAT="$first, $first_ms ms${second:+; $second, $MS ms}"
    from=$(wall_ns)
    # shellcheck disable=SC2086
    begin $first
    if [ -n "$second" ]; then
        kind=together
        TOGETHER=$((TOGETHER + 1))
        COUNTS[${second%% *}]=$((${COUNTS[${second%% *}]:-0} + 1))
        sleep_ms $((MS / 4))
        # shellcheck disable=SC2086
        begin $second
    fi
    sleep_ms "$first_ms"
    # shellcheck disable=SC2086
    end $first
    if [ -n "$second" ]; then
        sleep_ms $((MS / 2))
        # shellcheck disable=SC2086
        end $second
    fi
    to=$(wall_ns)
    case $kind in restart | flap) to=$(serving_since "$VICTIM") ;; esac
    COUNTS[${first%% *}]=$((${COUNTS[${first%% *}]:-0} + 1))
    must_go_on "$kind" "$from" "$to"
}

death() {
    below ${#WORKERS[@]}
    dies "mortal$LIFE" "$DRAWN"
    count_operations "mortal$LIFE"
    rm -f "$TMP/mortal$LIFE".*
    COUNTS[death]=$((${COUNTS[death]:-0} + 1))
    mortal_start
}

# Kilobytes in memory: of the survivor's ranks, which live as long as this script.
note_memory() {
    local pid
    for pid in ${JOB_PIDS[survivor]}; do
        awk -v pid="$pid" -v time="$SECONDS" '$1 == "VmRSS:" { print time, pid, $2 }' "/proc/$pid/status"
    done >>"$TMP/memory"
}

: >"$TMP/deaths"
for job in "${SURVIVORS[@]}"; do
    load_start "$job" 100000 1024 65536 2000
done
mortal_start
END=$((SECONDS + SECONDS_LONG))
while [ "$SECONDS" -lt "$END" ] && [ "$FAILURES" = 0 ]; do
    ROUNDS=$((ROUNDS + 1))
    sleep_ms $((RANDOM % 300))
    if [ $((RANDOM % 6)) = 0 ]; then death; else harm; fi
    note_memory
done
if [ "$HUNG" = 0 ]; then
    for job in "${SURVIVORS[@]}" "mortal$LIFE"; do
        load_end "$job"
        count_operations "$job"
    done
    net_switches_stop
fi

say "$(for kind in "${!COUNTS[@]}"; do echo "$kind ${COUNTS[$kind]}"; done | sort | paste -sd ,), $TOGETHER of them during another"
say "$OPERATIONS operations, each checked on ${#WORKERS[@]} ranks; $HUNG times hung; $FAILURES checks failed"
for kind in restart flap machine pause stop cut together; do
    [ ! -s "$TMP/recoveries.$kind" ] || say "first operation after $kind: $(percentiles <"$TMP/recoveries.$kind") ($(sort -n "$TMP/recoveries.$kind" | tail -n 1 | cut -d ' ' -f 2-))"
done
[ ! -s "$TMP/deaths" ] || { say "errors after a death: $(percentiles <"$TMP/deaths")"; within "errors after a death" 1000 "$TMP/deaths"; }
# The first quarter of the run fills caches; from then on a rank of the survivor may grow by an eighth at most.
awk -v end="$SECONDS" '
    $1 < end / 4 { if ($3 > early[$2]) early[$2] = $3; next }
    $1 >= end * 3 / 4 { if ($3 > late[$2]) late[$2] = $3 }
    END { for (p in late) { if (early[p] > from) from = early[p]; if (late[p] > to) to = late[p] } print from + 0, to + 0 }' "$TMP/memory" >"$TMP/memory.both"
read -r EARLY LATE <"$TMP/memory.both"
say "largest rank of the survivor: $EARLY KiB in the first quarter, $LATE KiB in the last, after $(sed -n 's/.*, \([0-9]*\) returns.*/\1/p' "$TMP/survivor.0") returns"
check "memory grows: $EARLY, then $LATE KiB" test "$LATE" -le $((EARLY * 9 / 8))
finish
