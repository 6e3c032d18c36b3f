#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan_switch.user.sh: two switches, of which B has three times the rate of A. `tributary plan` deals jobs over them, and `tributary switch
# --plan` gives jobs of these names what it says; a job that it does not name has both. The switch that the ranks join is killed, and what it
# gave stays. Mistakes.
. "$(dirname "$0")/tree.sh"
T=$TRIBUTARY
export LENDS=127.0.0.1

start B -t 1
quiet_port
A=127.0.0.1:$QUIET_PORT B=127.0.0.1:${PORT[B]}
link() { printf '[[link]]\nbetween = "%s"\nrate = "%s"\n' "$1" "$2"; }
tree() { printf '[[tree]]\njob = "%s"\nweight = %s\nroot = "%s"\n' "$1" "$2" "$3"; }
{
    printf 'paths = "pinned"\n'
    for host in 0 1 2 3; do link "h$host box" 10Gbps; done
    link "box $A" 2500Mbps
    link "box $B" 7500Mbps
} >"$TMP/net.toml"
printf '[[job]]\nname = "wide"\nhosts = "h0-1"\n' >"$TMP/jobs.toml"

say "a plan of the planner, and the job that it is for"
"$T" plan -t "$TMP/net.toml" -j "$TMP/jobs.toml" -o "$TMP/plan.toml" >"$TMP/out" 2>&1
if grep -q 'this build has no solver: install coinor-libclp-dev' "$TMP/out"; then
    { tree wide 85 "$A" && tree wide 255 "$B"; } >"$TMP/plan.toml"
fi
tree narrow 255 "$B" >>"$TMP/plan.toml"
start A --listen "$A" --with "$B" --plan "$TMP/plan.toml" --http 127.0.0.1:0
check_in "A says so" 'a plan has the switches of 2 jobs' "$TMP/A.log"
for job in wide narrow other; do
    ranks "$job" "A A" -b 256K -e 256K -n 200
    ranks_end 60 0
    check_right "$job" "$TMP/$job.0"
done
check_in "wide has both" "job wide: trees through $A and $B, of 2 switches, by the plan\$" "$TMP/A.log"
check_in "narrow has one" "job narrow: trees through $B, of 2 switches, by the plan\$" "$TMP/A.log"
check "other is dealt as without a plan" [ "$(grep -cs 'job other: trees' "$TMP/A.log")" = 0 ]

say "the switch that the ranks join is killed: they come back to what they had"
load_ranks narrow "A A"
runs() { [ "$(grep -cs "job narrow runs: all" "$TMP/A.log")" -ge "$1" ]; }
wait_for 15 runs 2 || fail "narrow does not run"
again A
wait_for 15 runs 3 || { fail "narrow does not run again"; show "$TMP/A.log"; }
check "B has it" [ "$(grep -c 'lends 1 shards to job narrow' "$TMP/B.log")" -ge 2 ]
kill -TERM "${RANK_PIDS[0]}"
ranks_end 30 0
stop A B

say "mistakes"
expect_line 2 '\-\-plan: there is only one switch: name others with --with' "$T" switch --plan "$TMP/plan.toml"
expect_line 2 "\-\-plan: .*plan.toml:[0-9]+:8: 127.0.0.1:[0-9]+ is neither this switch nor one of --with" "$T" switch --with 10.0.0.2 --plan "$TMP/plan.toml"
expect_line 2 '\-\-plan: .*net.toml:1:1: there is no \[\[tree\]\]: this is no plan' "$T" switch --with 10.0.0.2 --plan "$TMP/net.toml"
expect_line 2 '\-\-plan: /nowhere: No such file' "$T" switch --with 10.0.0.2 --plan /nowhere
finish
