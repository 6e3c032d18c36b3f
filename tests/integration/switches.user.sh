#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# switches.user.sh: several switches used at once: ranks join one, which has others take part in its jobs. Every collective; every switch killed
# at random moments under load and started anew; one that stays away, and what people are told; relays, hosts, splits; several that use each
# other; quotas; mistakes. On one machine.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
LOAD=$BUILD_DIR/tests/integration/load
ROUNDS=${ROUNDS:-12}
SEED=${SEED:-1}
export TRIB_DEBUG=INFO LENDS=127.0.0.1

with() {
    local name list=
    for name in "$@"; do list+=,127.0.0.1:${PORT[$name]}; done
    echo "--with ${list#,}"
}

# random BOUND: of the seed of this round.
random() {
    RANDOM_STATE=$(((RANDOM_STATE * 1103515245 + 12345) % 2147483648))
    RANDOM_DRAWN=$((RANDOM_STATE / 65536 % $1))
}

# load_ranks JOB RANKS SWITCH: under load of every kind, until the first is told to end.
load_ranks() {
    local rank
    RANK_PIDS=()
    for ((rank = 0; rank < $2; rank++)); do
        TRIB_HOSTID=host-$((rank / ${PER_HOST:-1})) TRIB_SWITCH=127.0.0.1:${PORT[$3]} TRIB_JOB=$1 TRIB_RANKS=$2 TRIB_RANK=$rank \
            "$LOAD" "$TMP/records" 60 1 300000 "$SEED" >"$TMP/$1.$rank" 2>&1 &
        RANK_PIDS+=($!)
        CHILDREN+=($!)
    done
}

said() { as_many_say "$2" "$3" "$TMP/$1".*; }
back() { [ "$(grep -csE "job $2 runs: all" "$TMP/$1.log")" -ge "$3" ]; }

load_end() {
    kill -TERM "${RANK_PIDS[0]}"
    ranks_end 30 0
}

# All that was lent has come back: nothing stays behind in a lender.
loans() { grep -csE "$1" "$TMP/$2.log"; }
all_returned() { [ "$(loans ' lends [0-9]+ shards' "$1")" = "$(loans 'has ended its loan$' "$1")" ]; }
check_returned() {
    CHECKS=$((CHECKS + 1))
    wait_for 5 all_returned "$1" || { fail "$1 still lends"; show "$TMP/$1.log"; }
}

say "every collective, three switches of 2, 2 and 3 shards: two of each"
start third -t 3 --weight 2
start second -t 2
start first -t 2 $(with second third)
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    ranks "all-$collective" "first first first" -b 4 -e 1M -f 8 -n 5 -w 2 --collective $collective
    ranks_end 60 0
    check_right "$collective" "$TMP/all-$collective.0"
done
check_in "roots at all of them" '6 shards, ' "$TMP/first.log"
expect 0 'every shard answers: 6, the first at 127.0.0.1:' "$T" doctor --switch "127.0.0.1:${PORT[first]}"
check_in "the second lends" 'lends 2 shards to job all-allreduce of switch 127.0.0.1:'"${PORT[first]}" "$TMP/second.log"
check_returned second
check_returned third

say "hosts of two ranks; a window; bfloat16 on the wire; int64; loss"
PER_HOST=2 TRIB_LEVEL0=1 load_ranks hosts 4 first
wait_for 15 back first hosts 1 || fail "hosts do not run"
sleep 0.5
load_end
ranks wire "first first" -b 4K -e 1M -f 16 -n 5 --wire bfloat16 --window 64KiB
ranks_end 60 0
check_right "bfloat16" "$TMP/wire.0"
ranks loss "first first first" -b 64K -e 1M -f 4 -n 5 -d int64 --loss 1% --duplicate 1% --reorder 1% --seed 5
ranks_end 60 0
check_right "loss" "$TMP/loss.0"

say "ranks behind a switch that is a child"
start child -t 2 $(below first)
ranks relayed "first child child first" -b 4K -e 1M -f 16 -n 5
ranks_end 60 0
check_right "relayed" "$TMP/relayed.0"
stop child

say "a job that a rank leaves: its loans end"
load_ranks killed 3 first
wait_for 15 back first killed 1 || fail "killed does not run"
kill -KILL "${RANK_PIDS[1]}"
wait "${RANK_PIDS[1]}" 2>/dev/null
unset 'RANK_PIDS[1]'
ranks_end 30 1
check_in "who" 'rank 1 \(127.0.0.1:[0-9]+\) is gone' "$TMP"/killed.[02]
check_returned second

say "$ROUNDS rounds: one of them killed at a random moment, and started anew"
for ((round = 0; round < ROUNDS; round++)); do
    RANDOM_STATE=$((SEED * 1000 + round))
    case $((round % 4)) in
    1) export TRIB_FAULTS=loss=1%,duplicate=1%,reorder=1%,seed=$round ;;
    3) export TRIB_WIRE=int32 ;;
    esac
    names=(first second third)
    load_ranks "round-$round" 3 first
    wait_for 15 back first "round-$round" 1 || { fail "round $round does not run"; show "$TMP/round-$round".*; }
    random 300
    sleep "0.$(printf %03d "$RANDOM_DRAWN")"
    random 4
    if [ "$RANDOM_DRAWN" = 3 ]; then
        again second
        again third
    else
        again "${names[$RANDOM_DRAWN]}"
    fi
    wait_for 20 back first "round-$round" 2 || { fail "round $round is not back"; show "$TMP/round-$round".* "$TMP/first.log"; }
    sleep 0.1
    load_end
    unset TRIB_FAULTS TRIB_WIRE
    [ "$FAILURES" = 0 ] || { show "$TMP/round-$round".*; break; }
    rm -f "$TMP/round-$round".*
done

say "one shuts down, and another takes its place; one that has fewer shards now"
load_ranks roll 3 first
wait_for 15 back first roll 1 || fail "roll does not run"
stop second
start second --listen "127.0.0.1:${PORT[second]}" -t 2
wait_for 20 back first roll 2 || { fail "roll is not back"; show "$TMP/first.log"; }
stop second
start second --listen "127.0.0.1:${PORT[second]}" -t 1
ranks_end 30 1
check_in "numbers" 'used 6 shards, but this switch and its lenders came back with 3' "$TMP"/roll.0

say "one that lends to nobody, and one that lends to others"
LENDS='' start deaf
LENDS=127.0.0.9 start picky
for name in deaf picky; do
    start asker $(with $name)
    expect 1 "switch 127.0.0.1:${PORT[$name]}, which .*: it lends nothing to 127.0.0.1:${PORT[asker]}: start it with --lend 127.0.0.1:${PORT[asker]}" \
        "$T" perf --workers 2 --switch "127.0.0.1:${PORT[asker]}" -b 4K -e 4K
    stop asker "$name"
done

say "one that is away: named, and waited for"
end second
TRIB_JOIN_TIMEOUT=$((2 * PATIENCE))s expect 1 "switch 127.0.0.1:${PORT[second]}, which jobs here use as well \(--with\), cannot be reached: connection refused" \
    "$T" perf --workers 2 --switch "127.0.0.1:${PORT[first]}" -b 4K -e 4K
ranks early "first first" -b 4K -e 1M -f 16 -n 5
sleep 0.5
start second --listen "127.0.0.1:${PORT[second]}" -t 2
ranks_end 60 0
check_right "came late" "$TMP/early.0"

say "one that does not come back: an error in time, or the ranks go on without a switch"
TRIB_SWITCH_TIMEOUT=$((2 * PATIENCE))s load_ranks lost 2 first
TRIB_FALLBACK=1 TRIB_SWITCH_TIMEOUT=$((1 * PATIENCE))s
export TRIB_FALLBACK TRIB_SWITCH_TIMEOUT
LOST=("${RANK_PIDS[@]}")
load_ranks moved 2 first
MOVED=("${RANK_PIDS[@]}")
unset TRIB_FALLBACK TRIB_SWITCH_TIMEOUT
wait_for 15 back first lost 1 && wait_for 15 back first moved 1 || fail "lost and moved do not run"
end second
RANK_PIDS=("${LOST[@]}")
ranks_end 60 1
check_in "named" "switch 127.0.0.1:${PORT[second]}, which jobs here use as well" "$TMP"/lost.[01]
RANK_PIDS=("${MOVED[@]}")
CHECKS=$((CHECKS + 1))
wait_for 15 said moved 2 'without its switch, at 127.0.0.1:.* no box: ' || { fail "they do not go on"; show "$TMP"/moved.*; }
load_end
stop first third

say "two that use each other, and a third that uses both; jobs at all of them at once"
start left
start right --listen "127.0.0.1:0" $(with left)
stop left
start left --listen "127.0.0.1:${PORT[left]}" $(with right)
start both -t 2 $(with left right)
JOBS=()
for name in left right both; do
    ranks "at-$name" "$name $name" -b 4K -e 1M -f 4 -n 20
    JOBS+=("${RANK_PIDS[@]}")
done
RANK_PIDS=("${JOBS[@]}")
ranks_end 60 0
for name in left right both; do
    check_right "at $name" "$TMP/at-$name.0"
done
check_returned left
check_returned right

say "people see what is lent"
start seen --http 127.0.0.1:0
HTTP=$((PORT[seen] + 1000))
start sees $(with seen)
load_ranks shown 2 sees
wait_for 15 back sees shown 1 || fail "shown does not run"
! has_jobs || expect 0 "^lends shards to job shown of switch 127.0.0.1:${PORT[sees]}: [0-9.]+ [KM]iB$" "$T" jobs --http "127.0.0.1:$HTTP"
load_end
! has_jobs || expect_line 0 '^no jobs$' "$T" jobs --http "127.0.0.1:$HTTP"
stop sees seen

say "what a lender refuses"
start tight --memory 1MiB --job-quota 1MiB
start asker $(with tight)
expect 1 "switch 127.0.0.1:${PORT[tight]}, which jobs here use as well \(--with\): job .* needs .* of switch memory .*, all memory for jobs is 1 MiB: .* raise --memory" \
    "$T" perf --workers 2 --switch "127.0.0.1:${PORT[asker]}" -b 4K -e 4K
start kid $(below both)
start asker2 $(with kid)
expect 1 "switch 127.0.0.1:${PORT[kid]}, which .*: it has a parent, and so lends nothing: name the switch at the root" \
    "$T" perf --workers 2 --switch "127.0.0.1:${PORT[asker2]}" -b 4K -e 4K
stop asker asker2 tight kid both left right

say "over IPv6"
LENDS=::1 start six --listen "[::1]:0" -t 2
LENDS=::1 start sixth --listen "[::1]:0" -t 2 --with "[::1]:${PORT[six]}"
expect 0 '^# 0 wrong elements$' "$T" perf --workers 3 --switch "[::1]:${PORT[sixth]}" -b 4K -e 1M -f 16 -n 3
stop sixth six

say "mistakes"
quiet_port
expect_line 2 "the switch 127.0.0.1:$QUIET_PORT is this switch itself" "$T" switch --listen "127.0.0.1:$QUIET_PORT" --with "127.0.0.1:$QUIET_PORT"
expect_line 2 'a switch with a parent sums for that one alone' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --parent "127.0.0.1:$((QUIET_PORT + 1))" --lend 127.0.0.1
expect_line 2 'a switch with a parent cannot use other switches' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --parent "127.0.0.1:$((QUIET_PORT + 1))" --with "127.0.0.1:$((QUIET_PORT + 2))"
expect_line 2 '\-\-with: "127.0.0.1:7998" is named twice' "$T" switch --with 127.0.0.1,127.0.0.1:7998,127.0.0.1:7998
for text in '' , 127.0.0.1, ,127.0.0.1; do expect_line 2 '\-\-with: "" is not ' "$T" switch --with "$text"; done
expect_line 2 '\-\-with: "\[::1\]:7998" is named twice' "$T" switch --with '[::1]:7998,[::1]:7998'
expect_line 2 '\-\-with: 127.0.0.1:7470 and "\[::1\]": addresses of a list must all be IPv4, or all IPv6' "$T" switch --with '127.0.0.1,[::1]'
expect_line 2 '\-\-with: 8 other switches: a job uses at most 8: choose a number with --trees' "$T" switch --with 10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.8
expect_line 2 '\-\-with: more than 127 addresses' "$T" switch --with "$(seq -s, -f 10.0.0.%.0f 1 128)" --trees 2
expect_line 2 '\-\-trees: 9 is not from 1 to 8$' "$T" switch --with "$(seq -s, -f 10.0.0.%.0f 1 127)" --trees 9
expect 2 '\-\-with: ' "$T" switch --with 127.0.0.1:70000
expect_line 2 'the switch 0.0.0.0:7998 is not the address of a host' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --with 0.0.0.0:7998
expect_line 2 '\-\-with: "239.1.1.1" is a multicast or broadcast address' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --with 239.1.1.1:7998
expect_line 2 '\-\-weight: 300 is not from 1 to 255$' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --weight 300
expect_line 2 'must both be IPv4 or both IPv6' "$T" switch --listen "127.0.0.1:$QUIET_PORT" --with '[::1]:7998'
finish
