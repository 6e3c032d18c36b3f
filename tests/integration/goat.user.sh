#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# goat.user.sh: a plan of GOAT's problem in use: `tributary plan --objective ... --out` places pieces of a model on two combiners, the server
# grants them to the combiners, and these add their pieces alone. A combiner is killed. Plans that do not fit, and mistakes.
#
#         server
#        /      \
#     left      right     combiners (--combine), two ranks at each
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
export TRIB_JOIN_TIMEOUT=$((10 * PATIENCE))s TRIB_SCHEME=goat
RUN=(-b 1M -e 1M -n 5 -w 1)

quiet_port
LEFT=127.0.0.1:$QUIET_PORT
quiet_port
RIGHT=127.0.0.1:$QUIET_PORT
link() { printf '[[link]]\nbetween = "%s"\nrate = "10Gbps"\n' "$1"; }
network() { # LEFT RIGHT
    for rank in 0 1; do link "rank$rank $1"; done
    for rank in 2 3; do link "rank$rank $2"; done
    link "$1 core"
    link "$2 core"
    link "ps core"
}
network "$LEFT" "$RIGHT" >"$TMP/net.toml"
printf '[[job]]\nname = "resnet"\nhosts = "rank0-3"\nbytes = "96MB"\n' >"$TMP/job.toml"
PLAN=("$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" --objective greedy --server ps)
counter() { curl -s "http://127.0.0.1:$((PORT[$1] + 1000))/metrics" | sed -n "s/^tributary_pool_$2_total //p"; }
can_count() { has_http && command -v curl >/dev/null; }
combiner() { start "$1" --combine --parent "127.0.0.1:${PORT[root]}" --http 127.0.0.1:0 --listen "$2"; }

say "a plan, and what it says"
expect 0 '^  server +receives 0\.3 GB; without aggregation 0\.384$' "${PLAN[@]}" --memory 42MB -o "$TMP/plan.toml"
check_in "the model" '^pieces = 16$' "$TMP/plan.toml"
check "each switch has seven of 16 pieces" [ "$(grep -c '^pieces = "[0-9]' "$TMP/plan.toml")" = 2 ]
check_in "by address" "^switch = \"$LEFT\"\$" "$TMP/plan.toml"

say "ranks at combiners that add the pieces of the plan, and no others"
start root --plan "$TMP/plan.toml" --join-timeout $((3 * PATIENCE))s
check_in "the server says so" 'a plan has the pieces of 1 jobs' "$TMP/root.log"
combiner left "$LEFT"
combiner right "$RIGHT"
ranks resnet "left right left right" "${RUN[@]}"
ranks_end 30 0
check_right "sums" "$TMP/resnet.0"
check_in "all of the plan is there" 'job resnet: switches add 7 of 16 pieces, by the plan' "$TMP/root.log"
if can_count; then # of two ranks' parts the half is 7 of 16 pieces, of sequences dealt in trains
    ADDED=$(counter left combined) ELSEWHERE=$(counter left elsewhere)
    SHARE=$((1000 * ADDED / (ADDED + ELSEWHERE)))
    check "left adds 43.75 % of parts: $SHARE of 1000" [ "$SHARE" -ge 400 ] && [ "$SHARE" -le 475 ]
    check "no two parts meet in a row" [ "$(counter left collisions)" = 0 ]
fi

say "communicators that are made of the job's first one have its pieces"
BEFORE=$(grep -c 'switches add 7 of 16 pieces, by the plan' "$TMP/root.log")
many_start resnet "left right left right" 8 4 65536 5 2
ranks_end 30 0
check_in "sums" '"wrong": 0}$' "$TMP"/resnet.[0-3]
check "each has the pieces" [ "$(grep -c 'switches add 7 of 16 pieces, by the plan' "$TMP/root.log")" -ge $((BEFORE + 8)) ]

say "losses, and a combiner that is killed and comes back"
ranks resnet "left right left right" -b 2M -e 2M -n 100 -w 1 --loss 0.5% --duplicate 0.5% --reorder 1%
again_runs() { [ "$(grep -c 'job resnet runs: all' "$TMP/root.log")" -ge 3 ]; }
wait_for 10 again_runs
sleep 0.2
again left
ranks_end 60 0
check_right "after a restart" "$TMP/resnet.0"
check_in "each rank has registered anew" 'of 4: back at 127.0.0.1' "$TMP"/resnet.[0-3]

say "a job that no plan names, and one of another scheme beside it"
ranks other "left right left right" "${RUN[@]}"
OTHER=("${RANK_PIDS[@]}")
TRIB_SCHEME=atp ranks atp "left right left right" "${RUN[@]}"
RANK_PIDS+=("${OTHER[@]}")
ranks_end 30 0
check_right "no switch adds" "$TMP/other.0"
check_right "as without a plan" "$TMP/atp.0"
check_in "the server says why" 'job other has scheme goat, but no plan of that scheme has its name, so no switch adds for it: see --plan' "$TMP/root.log"

say "a rank that has come to the server itself, and a switch of the plan that is not there"
ranks resnet "left root left" "${RUN[@]}"
ranks_end 30 0
check_right "sums" "$TMP/resnet.0"
check_in "names the switch" "job resnet: its plan names switch $RIGHT, but no rank has come to that switch or one below it" "$TMP/root.log"
stop left right root

say "the same in the simulator"
HERE=$(cd "$(dirname "$0")/../.." && pwd)
expect 0 '^  server +receives 0\.196 GB' "$T" plan -t "$HERE/examples/plan/three_switches.toml" -j "$HERE/examples/plan/goat_job.toml" \
    --objective greedy --server host8 --memory 98MB -o "$TMP/sim.plan"
# The plan does not count that leaf0, beside the server, adds the sums of leaf1 once more: 15 of 16.
expect 0 '^  resnet: of the workers. packets the server is saved 93\.75 %; planned 87\.50 %$' \
    "$T" sim "$HERE/examples/sim/goat.toml" --plan <(cat "$TMP/sim.plan")
expect_line 2 'goat.toml:[0-9]+:[0-9]+: the plan is for another network' "$T" sim "$HERE/examples/sim/goat.toml" --plan "$TMP/plan.toml"
sed 's/"0-7 9-16 8"/"0-8 9-15 16"/' "$HERE/examples/sim/goat.toml" >"$TMP/hosts.toml"
expect_line 2 'the plan is for other hosts, or another server' "$T" sim "$TMP/hosts.toml" --plan "$TMP/sim.plan"
sed 's/"goat"/"atp"/' "$HERE/examples/sim/goat.toml" >"$TMP/atp.toml"
expect_line 2 'the plan has pieces of its model, which are for scheme goat' "$T" sim "$TMP/atp.toml" --plan "$TMP/sim.plan"

say "mistakes"
network rack0 rack1 >"$TMP/names.toml"
printf '[[switch]]\nname = "rack*"\n' >>"$TMP/names.toml"
"$T" plan -t "$TMP/names.toml" -j "$TMP/job.toml" --objective greedy --server ps -o "$TMP/names.plan" >/dev/null
expect_line 2 '\-\-plan: .*names.plan:[0-9]+: switch rack0: in the network of a plan of --objective name each switch that adds by its address' \
    "$T" switch --plan "$TMP/names.plan" --check-config
expect_line 2 '\-\-plan: this switch has a parent' "$T" switch --plan "$TMP/plan.toml" --parent 127.0.0.1:1 --check-config
expect 0 'configuration is good' "$T" switch --plan <(cat "$TMP/plan.toml") --check-config
sed 's/^pieces = "[0-9].*/pieces = "0-16"/' "$TMP/plan.toml" >"$TMP/wide.plan"
expect_line 2 '\-\-plan: .*wide.plan:[0-9]+:[0-9]+: pieces is a list such as "0-2 5", of numbers below the job.s 16' \
    "$T" switch --plan "$TMP/wide.plan" --check-config
sed 's/^job = "resnet"/job = "other"/;0,/other/s/other/resnet/' "$TMP/plan.toml" >"$TMP/unknown.plan"
expect_line 2 'a \[\[placement\]\] has the job of a \[\[model\]\] before it' "$T" switch --plan "$TMP/unknown.plan" --check-config
C=("$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" --memory 42MB)
expect 0 '^resnet by .*plan.toml: 4 workers, server ps, 16 gradients of 6 MB$' "${C[@]}" --check "$TMP/plan.toml"
expect 0 '^resnet by /dev/fd/.*: 4 workers, server ps, 16 gradients of 6 MB$' "${C[@]}" --check <(cat "$TMP/plan.toml")
expect 1 'at most 64 pieces, and --gradients is 65' "${PLAN[@]}" --gradients 65 -o "$TMP/no.toml"
expect 1 'exceeds the memory of switches by .*: use objective krgs-repaired or goat' "$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" \
    --objective krgs --server ps --memory 7MB -o "$TMP/no.toml"
check "nothing is written then" [ ! -s "$TMP/no.toml" ]
expect 1 'cannot be written|No such file' "${PLAN[@]}" -o "$TMP/none/plan.toml"
finish
