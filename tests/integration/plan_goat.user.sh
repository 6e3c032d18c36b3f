#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan_goat.user.sh: `tributary plan --objective`: each objective on a small network, and mistakes.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

cat >"$TMP/net.toml" <<'END'
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts = 4
rate = "100Gbps"
fabric_rate = "100Gbps"

[[switch]]
name = "leaf*"

[[switch]]
name = "spine*"
END
printf '[[job]]\nname = "resnet"\nhosts = "host0-7"\nbytes = "96MB"\n' >"$TMP/job.toml"
PLAN=("$T" plan --topology "$TMP/net.toml" --jobs "$TMP/job.toml")

say "objectives: eight workers on two leaves, a server on the third; 4 hops each without aggregation"
expect 0 '^  cost +3\.072 GB x hops; without aggregation 3\.072$' "${PLAN[@]}" --objective geryon --server host8
for rule in goat-slide greedy atp; do
    expect 0 "^resnet by $rule: 8 workers, server host8, 16 gradients of 6 MB$" "${PLAN[@]}" --objective "$rule" --server host8
    check "$rule: it fits" [ "$(grep -c 'does not fit' "$TMP/out")" = 0 ]
done
expect 0 '^  beyond memory +[0-9.]+ MB: this plan does not fit$' "${PLAN[@]}" --objective krgs --server host8
expect 0 '"excess_bytes":0,"switches":\[\{"name":"leaf0"' "${PLAN[@]}" --objective greedy --server host8 --json
# With memory for all, a gradient is added at both leaves of workers: 8 + 2 x 3 hops of 32.
expect 0 '^  cost +1\.344 GB x hops' "${PLAN[@]}" --objective greedy --server host8 --memory 96MB
expect 0 '^  leaf0 +2 gradients, 96 of 96 MB 0 1$' "${PLAN[@]}" --objective greedy --server host8 --memory 96MB --gradients 2 --explain
if "${PLAN[@]}" --objective goat --server host8 >"$TMP/out" 2>&1; then
    check_in "a bound" '^  bound +[0-9.]+ GB x hops, so the plan is at most [0-9.]+ % above the best$' "$TMP/out"
    expect 0 '^  bound' "${PLAN[@]}" --objective krgs-repaired --server host8 --seed 3
    ! can_hide || expect_line 1 'plans need the solver CLP, which is not installed here .*: install coinor-libclp1$' \
        "${WITHOUT[@]}" 'libClp\.so.*' "${PLAN[@]}" --objective goat --server host8
else
    check_in "no solver" 'install coinor-libclp-dev' "$TMP/out"
fi

say "a file of a plan is proved again, without a solver"
for rule in greedy atp geryon; do
    expect 0 "^resnet by $rule" "${PLAN[@]}" --objective "$rule" --server host8 --out "$TMP/goat.toml"
    sed -n '/^  cost/p; /^  server/p; /^  leaf/p' "$TMP/out" >"$TMP/made"
    expect 0 '^resnet by .*goat.toml: 8 workers, server host8, 16 gradients of 6 MB$' "${PLAN[@]}" --check "$TMP/goat.toml"
    sed -n '/^  cost/p; /^  server/p; /^  leaf/p' "$TMP/out" >"$TMP/read"
    check "$rule: the same plan" cmp "$TMP/made" "$TMP/read"
done
expect 0 '^resnet by greedy' "${PLAN[@]}" --objective greedy --server host8 --memory 30MB --out "$TMP/goat.toml"
expect_line 1 'goat.toml does not hold: leaf. has 30 MB of pieces of job resnet, of 22 MB memory that is left' "${PLAN[@]}" --check "$TMP/goat.toml"
expect 0 '^  leaf0 +5 gradients, 30 of 30 MB' "${PLAN[@]}" --check "$TMP/goat.toml" --memory 30MB
sed 's/^cost = /cost = 9/' "$TMP/goat.toml" >"$TMP/cheap.toml"
expect_line 1 'cheap.toml does not hold: the plan of job resnet costs' "${PLAN[@]}" --check "$TMP/cheap.toml" --memory 30MB
sed 's/"resnet"/"vgg"/' "$TMP/job.toml" >"$TMP/vgg.toml"
expect_line 1 'goat.toml is a plan of job "resnet", which is not in --jobs' "$T" plan --topology "$TMP/net.toml" --jobs "$TMP/vgg.toml" --check "$TMP/goat.toml"
expect_line 1 'goat.toml is a plan of --objective, for which there is no page' "${PLAN[@]}" --check "$TMP/goat.toml" --page "$TMP/p"
if "${PLAN[@]}" --objective goat --server host8 --out "$TMP/goat.toml" >"$TMP/out" 2>&1; then
    expect 0 'so the plan is at most [0-9.]+ % above the best$' "${PLAN[@]}" --check "$TMP/goat.toml"
    sed 's/^bound = /bound = 9/' "$TMP/goat.toml" >"$TMP/bound.toml"
    expect_line 1 'bound.toml does not hold: the prices prove a bound of' "${PLAN[@]}" --check "$TMP/bound.toml"
fi

say "a file of three jobs' plans, which share the memory of switches, is proved again; none of its fields may change"
RULE=goat
"${PLAN[@]}" --objective goat --server host8 >"$TMP/out" 2>&1 || RULE=greedy # no solver
ALL=("$T" plan --topology "$TMP/net.toml" --jobs "$TMP/all_jobs.toml")
: >"$TMP/all_jobs.toml"
: >"$TMP/all.toml"
while read -r name hosts bytes server memory; do
    printf '[[job]]\nname = "%s"\nhosts = "%s"\nbytes = "%s"\n' "$name" "$hosts" "$bytes" >"$TMP/one.toml"
    cat "$TMP/one.toml" >>"$TMP/all_jobs.toml"
    expect 0 "^$name by" "$T" plan --topology "$TMP/net.toml" --jobs "$TMP/one.toml" --objective "$RULE" --server "$server" --memory "$memory" --out "$TMP/one.plan"
    sed -n "$([ -s "$TMP/all.toml" ] && echo '/^\[\[model/,$p' || echo p)" "$TMP/one.plan" >>"$TMP/all.toml"
done <<'END'
resnet host0-7 96MB host8 8MB
vgg host1-6 48MB host9 7MB
bert host0-5 32MB host10 6MB
END
expect 0 '^bert by .*all.toml: 6 workers, server host10' "${ALL[@]}" --check "$TMP/all.toml"
check "all jobs" [ "$(grep -c ' by .*all.toml: . workers' "$TMP/out")" = 3 ]
expect 0 '^,\{"job":"bert",' "${ALL[@]}" --check "$TMP/all.toml" --json
expect_line 1 'all.toml does not hold: .* MB of pieces of job (vgg|bert), of .* MB memory that is left' "${ALL[@]}" --check "$TMP/all.toml" --memory 12MB
check "nothing is printed of a file that does not hold" [ "$(grep -c ' by ' "$TMP/out")" = 0 ]
expect_line 1 'is a plan of 3 jobs, and --jobs has 4' "$T" plan --topology "$TMP/net.toml" --check "$TMP/all.toml" \
    --jobs <(cat "$TMP/all_jobs.toml"; printf '[[job]]\nname = "other"\nhosts = "host0-1"\n')
# change JOB TEXT: applies a command of sed to the first table with this text of the job. Prints the file.
change() {
    awk -v job="job = \"$1\"" -v text="$2" 'BEGIN { RS = ""; ORS = "\n\n" } !is_done && index($0, job) && index($0, text) {
        is_done = 1; print "@" $0; next } { print }' "$TMP/all.toml" | sed "/^@/,/^\$/{s/^@//; $3;}"
}
for job in vgg bert; do
    while read -r text edit; do
        change "$job" "$text" "$edit" >"$TMP/changed.toml"
        check "$job, $edit: a change" [ "$(diff "$TMP/all.toml" "$TMP/changed.toml" | grep -c '^[<>] ..')" -gt 0 ]
        expect_line 1 'changed.toml' "${ALL[@]}" --check "$TMP/changed.toml"
    done <<'END'
[[model s/^job = "/&x/
[[model s/^pieces = ./&9/
[[model s/^server = "host./&1/
[[model s/^hosts = "/&1/
[[model s/^memory = .*/memory = 1000000/
[[model s/^parts_bytes = /&1/
[[model s/^server_bytes = /&1/
[[model s/^cost = /&1/
[[placement s/^job = "/&x/
[[placement s/^switch = "...../switch = "spine/
[[placement s/^pieces = ".*/pieces = "63"/
[[placement s/^.*//
END
    if [ "$RULE" = goat ]; then
        for edit in 's/^bound = /&1/' 's/^prices = .*//' 's/^\(prices = "host[0-9]*\) [0-9]*/\1 0/' 's/^memory = /&9/'; do
            change "$job" "[[model" "$edit" >"$TMP/changed.toml"
            expect_line 1 'changed.toml does not hold' "${ALL[@]}" --check "$TMP/changed.toml"
        done
    fi
done

say "Ctrl-C ends the search at once"
printf '[topology]\nkind = "fat-tree"\nk = 16\nrate = "1Gbps"\nfabric_rate = "1Gbps"\n[[switch]]\nname = "edge*"\n' >"$TMP/large.toml"
printf '[[job]]\nname = "big"\nhosts = "host0-511"\nbytes = "9GB"\n' >"$TMP/big.toml"
expect 0 '^status 130$' sh -c 'timeout --foreground --preserve-status -s INT 0.5 "$@"; echo "status $?"' sh \
    "$T" plan -t "$TMP/large.toml" -j "$TMP/big.toml" --objective greedy --server host600 --gradients 10000

say "mistakes"
expect 1 'there is no objective "goad"; did you mean goat' "${PLAN[@]}" --objective goad --server host8
expect 1 'name its host with --server' "${PLAN[@]}" --objective greedy
expect 1 'there is no hst8; did you mean host8' "${PLAN[@]}" --objective greedy --server hst8
expect 1 '"spine0" is a switch' "${PLAN[@]}" --objective greedy --server spine0
expect_line 1 'a switch has 1 MB, less than one of 16 gradients of 6 MB: cut the model into more' "${PLAN[@]}" --objective greedy --server host8 --memory 1MB
link() { printf '[[link]]\nbetween = "%s"\nrate = "1Gbps"\n' "$1"; }
{ link "a s0"; link "b s0"; link "c s1"; link "d s1"; printf '[[switch]]\nname = "s*"\n'; } >"$TMP/parts.toml"
printf '[[job]]\nname = "x"\nhosts = "a c"\nbytes = "1MB"\n' >"$TMP/parts_job.toml"
expect_line 1 'the network is in parts: no path from c to the server b' "$T" plan -t "$TMP/parts.toml" -j "$TMP/parts_job.toml" --objective greedy --server b
expect 2 'go with --objective' "${PLAN[@]}" --server host8
expect 2 'goes with none of' "${PLAN[@]}" --objective greedy --server host8 --page "$TMP/plan.html"
printf '[[job]]\nname = "resnet"\nhosts = "host0-7"\n' >"$TMP/job.toml"
expect 1 'give job "resnet" a line like bytes = "98MB"' "${PLAN[@]}" --objective greedy --server host8
finish
