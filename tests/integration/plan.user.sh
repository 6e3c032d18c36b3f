#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan.user.sh: `tributary plan`: a plan is made, written and proved again, twice with the same bytes; a change is compared; mistakes are one
# line each.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
HERE=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
NET=(plan --topology "$HERE/examples/plan/net.toml")
P=("${NET[@]}" --jobs "$HERE/examples/plan/jobs.toml")

say "mistakes in the command"
expect 0 '--topology FILE' "$T" plan --help
expect_line 2 'plan: --topology and --jobs are missing' "$T" plan
expect_line 2 'plan: --jobs is missing' "$T" "${NET[@]}"
expect_line 2 'plan: --check makes no plan' "$T" "${P[@]}" --check a --trees 2
expect_line 2 'plan: --check makes no plan' "$T" "${P[@]}" --check a --seconds 2
expect_line 2 'plan: --objective goes with none of .*--seconds' "$T" "${P[@]}" --objective goat --server host9 --seconds 2
expect_line 2 'plan: --objective goes with none of .*--trees' "$T" "${P[@]}" --objective goat --server host9 --trees 4
expect_line 2 'seconds' "$T" "${P[@]}" --seconds 0
expect_line 2 'plan: --what-if compares two plans' "$T" "${P[@]}" --what-if "link leaf0-spine1 down" --page a
expect_line 2 'plan: unexpected argument "x"' "$T" "${P[@]}" x
expect_line 2 'plan: --check makes no plan' "$T" "${P[@]}" --check a --out b
expect_line 2 'plan: --what-if compares two plans' "$T" "${P[@]}" --what-if "link leaf0-spine1 down" --json
expect_line 2 'plan: --out and --page name the same file' "$T" "${P[@]}" --out "$TMP/both" --page "$TMP/both"
touch "$TMP/both"
expect_line 2 'plan: --page and --check name the same file' "$T" "${P[@]}" --check "$TMP/both" --page "$TMP/./both"
expect_line 2 'plan: --out and --jobs name the same file' "$T" plan --topology "$TMP/absent" --jobs "$TMP/both" --out "$TMP/both"
expect_line 1 'plan: .*absent' "$T" plan --topology "$TMP/absent" --jobs "$TMP/absent"
printf '[[job]]\nname = "a"\nhosts = "host0 host128"\n' >"$TMP/jobs.toml"
expect_line 1 'jobs.toml:3:9: job a: in the network there is no host128' "$T" "${NET[@]}" --jobs "$TMP/jobs.toml"

"$T" "${P[@]}" >"$TMP/out" 2>&1
if grep -q 'this build has no solver: install coinor-libclp-dev' "$TMP/out"; then
    say "no solver in this build: the rest is left out"
    finish
fi

check "the program is not linked with CLP" sh -c '! ldd "$1" | grep -q libClp' - "$T"

say "a plan, its file and its proof"
expect 0 'proved: no plan of the family "middle" gives the slowest job more than' "$T" "${P[@]}" --out "$TMP/plan.toml"
check_in "the slowest job's rate" '^vgg +35 +1 +[0-9]+ +25 ' "$TMP/out"
expect 0 'search: [0-9]+ trees, [0-9]+ linear programs' "$T" "${P[@]}" --out "$TMP/again.toml" --explain
expect 0 'weights of 2 trees at most' "$T" "${P[@]}" --out "$TMP/few.toml" --trees 2
check "each job has so many at most" [ "$(grep '^job = ' "$TMP/few.toml" | sort | uniq -c | sort -n | tail -n 1 | awk '{ print $1 }')" = 2 ]
expect 0 'proved: no plan' "$T" "${P[@]}" --check "$TMP/few.toml"
expect 0 'proved: no plan' "$T" "${P[@]}" --check <(cat "$TMP/few.toml")
check "the same bytes" cmp "$TMP/plan.toml" "$TMP/again.toml"
expect 0 'proved: no plan' "$T" "${P[@]}" --out "$TMP/again.toml" --seconds 1000
check "the same bytes, as there was time" cmp "$TMP/plan.toml" "$TMP/again.toml"
check "nothing ended the search" sh -c '! grep "ended the search" "$1"' - "$TMP/out"
expect 0 'before rounding it has 12.5' "$T" "${P[@]}" --check "$TMP/plan.toml"
sed '1i step_overhead = "10ms"' "$HERE/examples/plan/net.toml" >"$TMP/slow.toml"
expect 0 '^resnet +24 .* 51 ms$' "$T" plan --topology "$TMP/slow.toml" --jobs "$HERE/examples/plan/jobs.toml" --check "$TMP/plan.toml"
expect 0 '"family":"middle","paths":"explicit"' "$T" "${P[@]}" --json
if command -v python3 >/dev/null; then
    check "it is JSON" python3 -m json.tool "$TMP/out" /dev/null
fi
sed 's/^rate_bps = /rate_bps = 1/' "$TMP/plan.toml" >"$TMP/fast.toml"
expect_line 1 'fast.toml does not hold: the plan overloads ' "$T" "${P[@]}" --check "$TMP/fast.toml"
sed 's/^bound_bps = ./bound_bps = 9/' "$TMP/plan.toml" >"$TMP/bound.toml"
expect_line 1 'bound.toml does not hold: stage 1 does not hold' "$T" "${P[@]}" --check "$TMP/bound.toml"
sed 's/"50Gbps"/"40Gbps"/' "$HERE/examples/plan/net.toml" >"$TMP/net.toml"
expect_line 1 'the plan is for another network' "$T" plan --topology "$TMP/net.toml" --jobs "$HERE/examples/plan/jobs.toml" --check "$TMP/plan.toml"
expect_line 1 'cannot be written|No such file' "$T" "${P[@]}" --out "$TMP/absent/plan.toml"

if can_hide; then
    say "a machine without CLP: one line for a plan, and all the rest works"
    expect_line 1 'plan: plans need the solver CLP, which is not installed here \(.*libClp.*\): install coinor-libclp1; --check needs none$' \
        "${WITHOUT[@]}" 'libClp\.so.*' "$T" "${P[@]}"
    expect 0 'before rounding it has 12.5' "${WITHOUT[@]}" 'libClp\.so.*' "$T" "${P[@]}" --check "$TMP/plan.toml"
fi

say "memory of switches"
printf '[topology]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts = 4\nrate = "100Gbps"\nfabric_rate = "50Gbps"\n' >"$TMP/net.toml"
printf '[[switch]]\nname = "spine*"\nmemory = "30MB"\n' >>"$TMP/net.toml"
for job in a b; do printf '[[job]]\nname = "%s"\nhosts = "host0-7"\nmemory = "24MB"\n' $job; done >"$TMP/jobs.toml"
M=("$T" plan --topology "$TMP/net.toml" --jobs "$TMP/jobs.toml")
expect 0 '^the switch with the least memory left is spine0: ' "${M[@]}" --out "$TMP/two.toml"
check "a spine for each" [ "$(grep '^root = ' "$TMP/two.toml" | sort -u | wc -l)" = 2 ]
expect 0 '"memory_left_bytes":6000000' "${M[@]}" --check "$TMP/two.toml" --json
sed -E '/^(root|hops) = /s/spine1/spine0/g' "$TMP/two.toml" >"$TMP/one.toml"
expect_line 1 'one.toml does not hold: the memory of spine0, 30000000 bytes, is too small for the plan: none is left for job b' "${M[@]}" --check "$TMP/one.toml"
sed 's/"30MB"/"0"/' "$TMP/net.toml" >"$TMP/none.toml"
expect_line 1 'job a: no tree was found whose switches all have 24000000 bytes of memory left' "$T" plan --topology "$TMP/none.toml" --jobs "$TMP/jobs.toml"
sed -i 's/"24MB"/"40MB"/' "$TMP/jobs.toml"
expect_line 1 'job a: no tree was found whose switches all have 40000000 bytes of memory left' "${M[@]}"
sed -i '/^memory/d' "$TMP/jobs.toml"
expect_line 1 'job a: switches have a limit of memory, so the job needs memory = ' "${M[@]}"

say "a page, of a plan that is made and of one that is read"
sed 's/"resnet"/"<b>"/' "$HERE/examples/plan/jobs.toml" >"$TMP/odd.toml"
expect 0 'proved: no plan' "$T" "${NET[@]}" --jobs "$TMP/odd.toml" --page "$TMP/page.html" --out "$TMP/odd_plan.toml"
expect 0 'proved: no plan' "$T" "${NET[@]}" --jobs "$TMP/odd.toml" --check "$TMP/odd_plan.toml" --page "$TMP/again.html"
check "the same page" cmp "$TMP/page.html" "$TMP/again.html"
check "it needs nothing else" [ "$(grep -c -i -E 'https?:|<script|src=|href=|@import|url\(' "$TMP/page.html")" = 0 ]
check "a drawing of all jobs, and one of each" [ "$(grep -c '<svg' "$TMP/page.html")" = 4 ]
check "each cable once in the first" [ "$(sed '/<\/svg>/q' "$TMP/page.html" | grep -c '<title>leaf.* to spine')" = 32 ]
check_in "a link with its loads" '<title>leaf4 to spine0: [0-9.]+ %, back [0-9.]+ %</title>' "$TMP/page.html"
check_in "a name as it is" '<h2>&lt;b&gt;</h2>' "$TMP/page.html"
check_in "a tree" '<tr><td>spine[0-3]</td><td>[0-9.]+ %</td><td>leaf0' "$TMP/page.html"
if command -v python3 >/dev/null; then
    check "its tags close, its numbers are finite" python3 "$HERE/tests/integration/page_check.py" "$TMP/page.html"
fi

say "a change"
expect 0 '^resnet +25 +18.75 +-25.0%' "$T" "${P[@]}" --what-if "link leaf2-spine0 down"
expect_line 1 'plan: there is no leaf9; did you mean leaf' "$T" "${P[@]}" --what-if "switch leaf9 down"
expect_line 1 'plan: job resnet: the cable of host32 is down' "$T" "${P[@]}" --what-if "switch leaf2 down"

sed -n '/^paths = /,/^```$/p' "$HERE/docs/PLAN.md" | grep -v '^```' >"$TMP/documented.toml"
printf '[[link]]\nbetween = "host1 leaf1"\nrate = "100Gbps"\n' >>"$TMP/documented.toml"
printf '[[job]]\nname = "a"\nhosts = "host0-1"\nmemory = "24MB"\n' >"$TMP/jobs.toml"
expect 0 '^a +2 +1 +1 +100 ' "$T" plan --topology "$TMP/documented.toml" --jobs "$TMP/jobs.toml"
finish
