#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which branches of the packet decoder and of the nodes do the tests take? Builds with clang's counters, runs unit and property tests, worlds,
# the model search and the fuzz corpora, prints the share file by file, and fails below the bound. Branches of both outcomes
# count, as do all conditions of a compound one.
#   tools/coverage.sh             the table
#   tools/coverage.sh --missed    and every line with a branch that was never taken
set -euo pipefail
cd "$(dirname "$0")/.."
BOUND=95
FILES='/(core/(packet.c|flow.c|congestion.c|slot.h|window.h|operation.c)|(protocol|schemes/ring)/[a-z_]+.[ch])$'
DATA=$PWD/build-coverage/profile

cmake -S . -B build-coverage --preset coverage --log-level=NOTICE >/dev/null
cmake --build build-coverage -j "$(nproc)" >/dev/null
rm -rf "$DATA"
mkdir -p "$DATA"
LLVM_PROFILE_FILE=$DATA/%4m.profraw ctest --test-dir build-coverage -j "$(nproc)" -L '^(core|schemes|fuzz)$' -LE '^(io|port|comm|control|switchd|cli|integration)$' \
    --output-on-failure >"$DATA/tests.log" 2>&1 || { tail -40 "$DATA/tests.log"; exit 1; }
llvm-profdata merge -sparse "$DATA"/*.profraw -o "$DATA/all.profdata"

objects=(build-coverage/bin/world)
for program in build-coverage/tests/*/test_* build-coverage/tests/fuzz/fuzz_* build-coverage/bin/model; do
    [ -x "$program" ] && [ -f "$program" ] && objects+=(-object "$program")
done
# Paths may be relative to the build folder (ccache), so files are chosen by how their names end.
llvm-cov report "${objects[@]}" -instr-profile="$DATA/all.profdata" 2>/dev/null | awk -v bound="$BOUND" -v files="$FILES" '
    $1 ~ files {
        branches = $(NF - 2); missed = $(NF - 1); all += branches; none += missed
        printf "%-46s %5d branches, %4d never taken, %6.2f %%\n", $1, branches, missed, branches ? 100 * (branches - missed) / branches : 100
    }
    END {
        share = all ? 100 * (all - none) / all : 0
        printf "%-46s %5d branches, %4d never taken, %6.2f %%\nbound: %d %%\n", "all", all, none, share, bound
        exit !(share >= bound)
    }' && status=0 || status=1
if [ "${1:-}" = --missed ]; then
    llvm-cov export -format=lcov "${objects[@]}" -instr-profile="$DATA/all.profdata" 2>/dev/null | awk -F: -v files="$FILES" '
        $1 == "SF" { file = $2 }
        $1 == "BRDA" && file ~ files { split($2, at, ","); if (at[4] == "-" || at[4] == 0) print file ":" at[1] ": branch " at[3] " is never taken" }' |
        sort -u -t: -k1,1 -k2,2n
fi
exit "$status"
