#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan_deploy.user.sh: `tributary plan --deploy`: the next switches of a fat tree, of a job, beside some that add; mistakes.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY

printf '[topology]\nkind = "fat-tree"\nk = 4\nrate = "100Gbps"\nfabric_rate = "100Gbps"\n' >"$TMP/net.toml"
cp "$TMP/net.toml" "$TMP/some.toml"
printf '[[switch]]\nname = "edge*"\n' >>"$TMP/some.toml"
cp "$TMP/net.toml" "$TMP/all.toml"
printf '[[switch]]\nname = "edge*"\n[[switch]]\nname = "aggregation*"\n[[switch]]\nname = "core*"\n' >>"$TMP/all.toml"
printf '[[job]]\nname = "resnet"\nhosts = "host0-3"\n' >"$TMP/job.toml"
printf '[[job]]\nname = "one"\nhosts = "host0-3"\n[[job]]\nname = "two"\nhosts = "host4-7"\n' >"$TMP/two.toml"

say "all hosts: a curve of each scheme"
expect 0 '^16 workers below 13 switches, of which 0 add; ' "$T" plan -t "$TMP/net.toml" --deploy 13
check "each names its next one" [ "$(grep '^  next: ' "$TMP/out" | tr -s ' \n' ' ')" = " next: core0 next: edge0 next: edge0 " ]
check_in "trees: none" '^     0  0\.000    0\.000       0\.000  0\.000 +$' "$TMP/out"
check_in "trees: five, the best" '^     5  [0-9.]+    [0-9.]+       0\.500 ' "$TMP/out"
check_in "trees: all" '^    13  1\.000    1\.000       1\.000  1\.000 ' "$TMP/out"
check_in "atp: none" '^     0  0\.062    0\.062       0\.062  0\.062 +$' "$TMP/out"
check_in "atp: all" '^     8  0\.143    0\.143       0\.143  0\.143 ' "$TMP/out"
check_in "rina: none" '^     0  1\.067    16     30' "$TMP/out"
check_in "rina: all" '^     8  1\.067    8      15' "$TMP/out"
say "some add already, or all"
expect 0 '^  next: core0$' "$T" plan -t "$TMP/some.toml" --deploy 1
check "atp and rina have all" [ "$(grep -c 'every switch that can adds' "$TMP/out")" = 2 ]
expect 0 '^  every switch that can adds: 1.000$' "$T" plan -t "$TMP/all.toml" --deploy 1
say "a job, a server, JSON"
expect 0 '"workers":4,"switches":3,"trees":\[\{"more":0,"in_turn":0,' "$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" --deploy 2 --json
if command -v python3 >/dev/null; then
    check "it is JSON" python3 -m json.tool "$TMP/out" /dev/null
fi
expect 0 '^4 workers below 6 switches, of which 0 add; ' "$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" --deploy 2 --server host4
say "mistakes"
expect 1 'there is no host host99' "$T" plan -t "$TMP/net.toml" --deploy 1 --server host99
expect 1 'is for one job; the file has 2' "$T" plan -t "$TMP/net.toml" -j "$TMP/two.toml" --deploy 1
expect 2 'goes with --topology, --jobs, --server and --json alone' "$T" plan -t "$TMP/net.toml" --deploy 1 --trees 2
expect 2 'topology is missing' "$T" plan --deploy 1
finish
