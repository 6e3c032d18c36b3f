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

say "all hosts: the paper's curves"
expect 0 '^16 workers below 13 switches, of which 0 add$' "$T" plan -t "$TMP/net.toml" --deploy 13
check_in "the best next" '^  next for trees and atp   ' "$TMP/out"
check_in "the first rack" '^  next for rina            edge0$' "$TMP/out"
check_in "none" '^     0  0\.062    0\.062       0\.062  0\.062                16     30$' "$TMP/out"
check_in "six" '^     6  0\.500    0\.111       0\.500 ' "$TMP/out"
check_in "ten" '^    10  0\.500    0\.500       0\.500  0\.377                 8     15' "$TMP/out"
check_in "all" '^    13  1\.000    1\.000       1\.000  1\.000                 8     15' "$TMP/out"
say "some add already, or all"
expect 0 '^  next for trees and atp   core0$' "$T" plan -t "$TMP/some.toml" --deploy 1
expect 0 '^  every switch on the way adds$' "$T" plan -t "$TMP/all.toml" --deploy 1
say "a job, a server, JSON"
expect 0 '"workers":4,"switches":3,"add":0,"curve":\[\{"more":0,"in_turn":0\.25,"best":0\.25,' "$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" --deploy 2 --json
expect 0 '^4 workers below 6 switches, of which 0 add$' "$T" plan -t "$TMP/net.toml" -j "$TMP/job.toml" --deploy 2 --server host4
say "mistakes"
expect 1 'there is no host host99' "$T" plan -t "$TMP/net.toml" --deploy 1 --server host99
expect 1 'is for one job; the file has 2' "$T" plan -t "$TMP/net.toml" -j "$TMP/two.toml" --deploy 1
expect 2 'goes with --topology, --jobs, --server and --json alone' "$T" plan -t "$TMP/net.toml" --deploy 1 --trees 2
expect 2 'topology is missing' "$T" plan --deploy 1
finish
