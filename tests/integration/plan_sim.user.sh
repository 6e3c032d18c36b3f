#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan_sim.user.sh: `tributary sim --plan`: jobs of a scenario have the trees and rates of a plan, and keep these rates. Plans for another
# network, other paths or other jobs are refused in one line.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
HERE=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
NET=$HERE/examples/plan/uneven.toml
JOBS=$HERE/examples/plan/two_jobs.toml
SCENARIO=$HERE/examples/sim/planned.toml
PLAN=$TMP/plan.toml

"$T" plan --topology "$NET" --jobs "$JOBS" --out "$PLAN" >"$TMP/out" 2>&1
if grep -q 'this build has no solver: install coinor-libclp-dev' "$TMP/out"; then
    skip "this build has no solver, so there is no plan"
fi

say "rates of the plan are kept, within one percent"
expect 0 '^  a +2 +62.5000 +62.[0-9]+ +-0.[0-9]+%$' "$T" sim -q "$SCENARIO" --plan "$PLAN"
check_in "the other job" '^  b +1 +62.5000 +62.[0-9]+ +-0.[0-9]+%$' "$TMP/out"
expect 0 '"name":"a","planned_bps":62[0-9]+,"simulated_bps":62[0-9]+,' "$T" sim -q "$SCENARIO" --plan "$PLAN" --json

say "paths by ECMP: such a plan does in a network with explicit paths as well"
{ echo 'paths = "ecmp"' && cat "$NET"; } >"$TMP/ecmp.toml"
sed 's/^delay = .*/&\npaths = "ecmp"/' "$SCENARIO" >"$TMP/s_ecmp.toml"
"$T" plan --topology "$TMP/ecmp.toml" --jobs "$JOBS" --out "$TMP/p_ecmp.toml" >"$TMP/out"
for scenario in "$SCENARIO" "$TMP/s_ecmp.toml"; do
    expect 0 '^  a +[0-9]+ +62.5000 +6[0-9].[0-9]+ +-[0-9.]+%$' "$T" sim -q "$scenario" --plan <(cat "$TMP/p_ecmp.toml")
done

say "mistakes"
expect_line 2 'plan.toml:1:1: the plan is for paths "explicit", multicast no, but the network has "ecmp"' "$T" sim "$TMP/s_ecmp.toml" --plan "$PLAN"
sed 's/^fabric_rate = .*/fabric_rate = "50Gbps"/' "$NET" >"$TMP/slow.toml"
"$T" plan --topology "$TMP/slow.toml" --jobs "$JOBS" --out "$TMP/p_slow.toml" >"$TMP/out"
expect_line 2 'p_slow.toml:1:1: the plan is for another network .*: plan again' "$T" sim "$SCENARIO" --plan "$TMP/p_slow.toml"
sed 's/^name = "b"/name = "c"/' "$SCENARIO" >"$TMP/c.toml"
expect_line 2 'plan.toml:[0-9]+:1: job b of the plan is not among these jobs: plan again' "$T" sim "$TMP/c.toml" --plan "$PLAN"
{ cat "$SCENARIO" && sed -n '/^name = "b"/,$p' "$SCENARIO" | sed '1s/.*/[[job]]\nname = "c"/; s/^hosts = .*/hosts = "9 14"/; s/^workers = .*/workers = 2/'; } >"$TMP/more.toml"
expect_line 2 'plan.toml:1:1: the plan has no job c: plan again with it' "$T" sim "$TMP/more.toml" --plan "$PLAN"
sed 's/^name = "b"//' "$SCENARIO" >"$TMP/no_name.toml"
expect_line 2 'no_name.toml:[0-9]+:10: a job without a name' "$T" sim "$TMP/no_name.toml" --plan "$PLAN"
sed 's/^hosts = "0-1 4-5 8"/hosts = "0-1 4-5 15"/' "$SCENARIO" >"$TMP/hosts.toml"
expect_line 2 'plan.toml: a tree of job a with root leaf0: leaf2: no member of the job is there' "$T" sim "$TMP/hosts.toml" --plan "$PLAN"
sed 's/^scheme = .*/scheme = "atp"/; s/^hosts = "0-1 4-5 8"/hosts = "0-1 4-5 8-9"/; s/^hosts = "2-3 6-7 12-13"/hosts = "2-3 6-7 12-14"/' "$SCENARIO" >"$TMP/atp.toml"
expect_line 2 'atp.toml:[0-9]+:10: a plan is for schemes whose switches add' "$T" sim "$TMP/atp.toml" --plan "$PLAN"
expect_line 2 '\-\-plan goes with one scenario' "$T" sim sweep "$SCENARIO" --plan "$PLAN" --out "$TMP/sweep"
expect_line 2 'absent: No such file' "$T" sim "$SCENARIO" --plan /absent
finish
