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
for job in kept missed; do # which no loopback reaches
    printf '[[job]]\nname = "%s"\nrate_bps = %s\n' $job $([ $job = kept ] && echo 8000000 || echo 400000000000)
    tree $job 255 "$B"
done >>"$TMP/plan.toml"
start A --listen "$A" --with "$B" --plan "$TMP/plan.toml" --http 127.0.0.1:0
check_in "A says so" 'a plan has the switches of 4 jobs' "$TMP/A.log"
for job in wide narrow other; do
    ranks "$job" "A A" -b 256K -e 256K -n 200
    ranks_end 60 0
    check_right "$job" "$TMP/$job.0"
done
check_in "wide has both" "job wide: trees through $A and $B, of 2 switches, by the plan\$" "$TMP/A.log"
check_in "narrow has one" "job narrow: trees through $B, of 2 switches, by the plan\$" "$TMP/A.log"
check "other is dealt as without a plan" [ "$(grep -cs 'job other: trees' "$TMP/A.log")" = 0 ]

say "the rates that jobs achieve, beside those of the plan"
HTTP=$(sed -n 's/.*http on http:\/\/\(127.0.0.1:[0-9]*\).*/\1/p' "$TMP/A.log")
metric() { awk -v name="tributary_job_$1{job=\"$2\"}" '$1 == name { print $2 }' <"$TMP/metrics"; }
fetch() {
    exec 8<>"/dev/tcp/${HTTP/://}" || return 1
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&8
    tr -d '\r' <&8 >"$TMP/metrics"
    exec 8<&- 8>&-
}
both_achieve() { fetch && [ -n "$(metric achieved_bytes_per_second kept)" ] && [ -n "$(metric achieved_bytes_per_second missed)" ]; }
ranks kept "A A" -b 256K -e 256K -n 100000
KEPT=("${RANK_PIDS[@]}")
ranks missed "A A" -b 256K -e 256K -n 100000
if has_jobs; then
    check "both have been busy for 2 s" wait_for 30 both_achieve
    check "kept achieves its rate" awk -v a="$(metric achieved_bytes_per_second kept)" 'BEGIN { exit !(a > 8e5 && a < 1.2e6) }'
    check "as planned" [ "$(metric planned_bytes_per_second kept)/$(metric misses_plan kept)" = 1000000/0 ]
    check "missed is planned" [ "$(metric planned_bytes_per_second missed)/$(metric misses_plan missed)" = 50000000000/1 ]
    check "wide, which is over, has no rate" [ -z "$(metric planned_bytes_per_second wide)" ]
    "$T" jobs --http "$HTTP" >"$TMP/jobs" 2>&1
    check_in "missed is in tributary jobs" '^job missed reaches [0-9.]+ Mbit/s a rank, the plan has 400000.0: make a new plan' "$TMP/jobs"
    check "kept is not" [ "$(grep -c '^job kept ' "$TMP/jobs")" = 0 ]
    "$T" jobs kept --http "$HTTP" >"$TMP/jobs" 2>&1
    check_in "its rates are" '^planned 8.0 Mbit/s of each rank, achieved [678]' "$TMP/jobs"
fi
said() { [ "$(grep -cs 'job missed: its ranks reach .* make a new one' "$TMP/A.log")" = 1 ]; }
check "the log says it once" wait_for 30 said
check "of kept nothing" [ "$(grep -c 'job kept: its ranks' "$TMP/A.log")" = 0 ]
kill -TERM "${KEPT[@]}" "${RANK_PIDS[@]}"
for pid in "${KEPT[@]}" "${RANK_PIDS[@]}"; do ended 10 "$pid"; done

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
