#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# trees.user.sh: four switches, of which each job has two. What two jobs at once get, with and without a topology; those that they do not have
# are killed, and those that they have; the switch that the ranks join is killed, and knows of its jobs what their ranks bring along; splits;
# what people see; mistakes. On one machine, whose loopback network has hosts enough:
#
#   127.0.1.0/24 -- left --- A (the ranks join it), B
#                     |
#   127.0.2.0/24 -- right -- C, D
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
LOAD=$BUILD_DIR/tests/integration/load
ROUNDS=${ROUNDS:-4}
export TRIB_DEBUG=INFO LENDS=127.0.0.1

# load_ranks JOB HOST...: a rank at each of these addresses, under load of every kind, until the first is told to end.
load_ranks() {
    local job=$1 rank=0 host
    shift
    RANK_PIDS=()
    for host in "$@"; do
        TRIB_NICS=$host TRIB_SWITCH=127.0.0.1:${PORT[A]} TRIB_JOB=$job TRIB_RANKS=$# TRIB_RANK=$rank \
            "$LOAD" "$TMP/records" 60 1 300000 1 >"$TMP/$job.$rank" 2>&1 &
        RANK_PIDS+=($!)
        CHILDREN+=($!)
        rank=$((rank + 1))
    done
}
load_end() {
    RANK_PIDS=("$@")
    kill -TERM "$1"
    ranks_end 30 0
}
back() { [ "$(grep -csE "job $1 runs: all" "$TMP/A.log")" -ge "$2" ]; }
runs() { wait_for 15 back "$1" "$2" || { fail "$1 does not run for the ${2}th time"; show "$TMP/$1".* "$TMP/A.log"; }; }

# trees JOB LETTERS: those of its latest start.
trees() {
    local letter want=()
    for letter in $2; do want+=("127.0.0.1:${PORT[$letter]}"); done
    CHECKS=$((CHECKS + 1))
    grep "job $1: trees through" "$TMP/A.log" | tail -n 1 | grep -qE "through ${want[0]} and ${want[1]}, of 4 switches$" ||
        { fail "$1 does not go through $2 (${PORT[*]})"; grep "trees through" "$TMP/A.log"; }
}
lends() { grep -cs " lends 2 shards to job $1 " "$TMP/$2.log"; }

say "two jobs of one side each: by the topology each has the switches of its side"
for letter in B C D; do start $letter -t 2; done
cat >"$TMP/links.toml" <<END
[[link]]
between = "127.0.1.0/24 left"
rate = "25Gbps"
[[link]]
between = "127.0.2.0/24 right"
rate = "25Gbps"
[[link]]
between = "left right"
rate = "40Gbps"
[[link]]
between = "left 127.0.0.1:4444" # A
rate = "100Gbps"
[[link]]
between = "left 127.0.0.1:${PORT[B]}"
rate = "100Gbps"
[[link]]
between = "right 127.0.0.1:${PORT[C]}"
rate = "100Gbps"
[[link]]
between = "right 127.0.0.1:${PORT[D]}"
rate = "100Gbps"
END
quiet_port
sed -i "s/4444/$QUIET_PORT/" "$TMP/links.toml"
start A --listen "127.0.0.1:$QUIET_PORT" --http 127.0.0.1:0 -t 2 \
    --with "127.0.0.1:${PORT[B]},127.0.0.1:${PORT[C]},127.0.0.1:${PORT[D]}" --trees 2 --topology "$TMP/links.toml"
check_in "A says so" 'each job goes through 2 of these 4 switches, by the topology' "$TMP/A.log"
load_ranks east 127.0.1.1 127.0.1.2 127.0.1.3
EAST=("${RANK_PIDS[@]}")
runs east 1
load_ranks west 127.0.2.1 127.0.2.2
WEST=("${RANK_PIDS[@]}")
runs west 1
trees east "A B"
trees west "C D"
check "B lends to east" [ "$(lends east B)" = 1 ]
check "B does not know west" [ "$(lends west B)" = 0 ]
check "C does not know east" [ "$(lends east C)" = 0 ]

if has_jobs; then
    say "people see it"
    HTTP=127.0.0.1:$((PORT[A] + 1000))
    expect 0 "^trees through switches 127.0.0.1:${PORT[C]}, 127.0.0.1:${PORT[D]}\$" "$T" jobs west --http "$HTTP"
    expect 0 "^trees through switches 127.0.0.1:${PORT[A]}, 127.0.0.1:${PORT[B]}\$" "$T" jobs east --http "$HTTP"
fi

say "a lender is killed: the job that does not have it does not notice; the other one returns, to the same"
for ((round = 1; round <= ROUNDS; round++)); do
    again C
    runs west $((1 + round))
    sleep 0.1
done
trees west "C D"
check "east has not noticed" [ "$(grep -csE 'job east runs: all' "$TMP/A.log")" = 1 ]
check "nor has it been told" [ "$(grep -cs 'registrations\|lost\|back at' "$TMP/east.1")" = 0 ]

say "the switch that the ranks join is killed: both return, to what they had, though nobody else knows it"
for ((round = 1; round <= ROUNDS; round++)); do
    ends=$(grep -cs "lends 2 shards to job west" "$TMP/D.log")
    again A
    runs east $((1 + round))
    runs west $((1 + ROUNDS + round))
    check "D lends to west again" [ "$(lends west D)" -gt "$ends" ]
    sleep 0.1
done
check "B has never known west" [ "$(lends west B)" = 0 ]
check "D has never known east" [ "$(lends east D)" = 0 ]
load_end "${EAST[@]}"
load_end "${WEST[@]}"

say "every collective at switches that the ranks do not join; hosts; loss; a relay"
for collective in allreduce broadcast reduce allgather reduce-scatter; do
    TRIB_NICS=127.0.2.7 ranks "far-$collective" "A A A" -b 4 -e 1M -f 8 -n 5 -w 2 --collective $collective
    ranks_end 60 0
    check_right "$collective" "$TMP/far-$collective.0"
    go_far() { grep "job far-$collective: trees" "$TMP/A.log" | grep -q "127.0.0.1:${PORT[C]}.*127.0.0.1:${PORT[D]}\|127.0.0.1:${PORT[D]}.*127.0.0.1:${PORT[C]}"; }
    check "$collective goes through C and D" go_far
done
TRIB_NICS=127.0.2.7 ranks loss "A A A" -b 64K -e 1M -f 4 -n 5 -d int64 --loss 1% --duplicate 1% --reorder 1% --seed 5
ranks_end 60 0
check_right "loss" "$TMP/loss.0"
start child -t 2 $(below A)
ranks relayed "A child child A" -b 4K -e 1M -f 16 -n 5
ranks_end 60 0
check_right "relayed" "$TMP/relayed.0"
stop child

say "a process has one choice for all its communicators, also those that it makes while others load the links"
load_ranks west 127.0.2.1 127.0.2.2
runs west 1
MANY_PIDS=()
for rank in 0 1 2; do
    TRIB_SWITCH=127.0.0.1:${PORT[A]} TRIB_JOB=many TRIB_RANKS=3 TRIB_RANK=$rank \
        "$BUILD_DIR/tests/integration/many" 16 4 65536 50 1 >"$TMP/many.$rank" 2>&1 &
    MANY_PIDS+=($!)
    CHILDREN+=($!)
done
WEST=("${RANK_PIDS[@]}")
RANK_PIDS=("${MANY_PIDS[@]}")
ranks_end 60 0
load_end "${WEST[@]}"
check "all of them were made" [ "$(grep -csE 'job many[^ ]*: trees through' "$TMP/A.log")" = 16 ]
check "and have one choice" [ "$(grep -E 'job many[^ ]*: trees through' "$TMP/A.log" | sed 's/.*trees/trees/' | sort -u | wc -l)" = 1 ]

say "a lender that is away: new jobs do without it, and no rank waits"
end C
load_ranks without 127.0.2.1 127.0.2.2
runs without 1
check_in "that is said" "job without: switch 127.0.0.1:${PORT[C]}, .*cannot be reached: .*; it does without" "$TMP/A.log"
trees without "D A"
load_end "${RANK_PIDS[@]}"
start C --listen "127.0.0.1:${PORT[C]}" -t 2

say "without a topology: those that have nothing to do"
start E -t 2 --with "127.0.0.1:${PORT[B]},127.0.0.1:${PORT[C]},127.0.0.1:${PORT[D]}" --trees 1
check_in "E says so" 'each job goes through 1 of these 4 switches, by their load' "$TMP/E.log"
JOBS=()
for job in 1 2 3 4; do
    ranks "each-$job" "E E" -b 256K -e 256K -n 2000
    JOBS+=("${RANK_PIDS[@]}")
    each_runs() { grep -qs "job each-$job runs: all" "$TMP/E.log"; }
    wait_for 15 each_runs || fail "each-$job does not run"
done
RANK_PIDS=("${JOBS[@]}")
ranks_end 60 0
for job in 1 2 3 4; do check_right "each-$job" "$TMP/each-$job.0"; done
check "each of them another one" [ "$(grep 'trees through' "$TMP/E.log" | sed 's/.*trees/trees/' | sort -u | wc -l)" = 4 ]

say "a switch that comes back with fewer others: a job that had them is told"
stop E
start E -t 2 --with "127.0.0.1:${PORT[B]},127.0.0.1:${PORT[C]},127.0.0.1:${PORT[D]}" --trees 2
for rank in 0 1; do
    TRIB_SWITCH=127.0.0.1:${PORT[E]} TRIB_JOB=fewer TRIB_RANKS=2 TRIB_RANK=$rank "$LOAD" "$TMP/records" 60 1 300000 1 >"$TMP/fewer.$rank" 2>&1 &
    MANY_PIDS[rank]=$!
    CHILDREN+=($!)
done
fewer_runs() { holds "$TMP/E.log" "job fewer runs: all"; }
wait_for 15 fewer_runs || fail "fewer does not run"
end E
start E --listen "127.0.0.1:${PORT[E]}" -t 2
RANK_PIDS=("${MANY_PIDS[@]:0:2}")
ranks_end 30 1
check_in "numbers" 'job fewer has roots at number [1-3] of the switches that this one named with --with, and now names 0' "$TMP"/fewer.0
stop A B C D E

say "mistakes"
expect_line 2 '\-\-trees: there is only one switch: name others with --with' "$T" switch --trees 1
expect_line 2 '\-\-trees: 4 is out of range: 1 to 3' "$T" switch --with 10.0.0.2,10.0.0.3 --trees 4
expect_line 2 '\-\-trees: 0 is not from 1 to 8$' "$T" switch --with 10.0.0.2,10.0.0.3 --trees 0
expect_line 2 '\-\-topology: without --trees each job uses all switches' "$T" switch --with 10.0.0.2 --topology "$TMP/links.toml"
expect_line 2 '\-\-topology: /nowhere: No such file' "$T" switch --with 10.0.0.2 --trees 1 --topology /nowhere
expect_line 2 '\-\-topology: .*/links.toml:11:11: 127.0.0.1:[0-9]+ is neither this switch nor one of --with' \
    "$T" switch --with 10.0.0.2 --trees 1 --topology "$TMP/links.toml"
printf '[[link]]\nbetwen = "a b"\n' >"$TMP/wrong.toml"
expect_line 2 'wrong.toml:2:1: unknown key betwen; did you mean between\?' "$T" switch --with 10.0.0.2 --trees 1 --topology "$TMP/wrong.toml"
printf '[[link]]\nbetween = "10.0.0.0/24 box"\nrate = "1Gbps"\n[[link]]\nbetween = "box 10.0.0.2"\nrate = "1Gbps"\n' >"$TMP/half.toml"
expect_line 2 'half.toml:1:1: the switch 0.0.0.0:7470, which is this one \(--listen\), has no link here' \
    "$T" switch --with 10.0.0.2 --trees 1 --topology "$TMP/half.toml"
printf '[[link]]\nbetween = "box 0.0.0.0:7470"\nrate = "1Gbps"\n' >>"$TMP/half.toml"
expect_line 0 '^configuration is good$' "$T" switch --with 10.0.0.2 --trees 1 --topology "$TMP/half.toml" --check-config
printf 'with = 10.0.0.2\ntrees = 1\ntopology = "%s"\n' "$TMP/half.toml" >"$TMP/switch.conf"
expect_line 0 '^configuration is good$' "$T" switch --config "$TMP/switch.conf" --check-config
finish
