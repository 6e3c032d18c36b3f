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
FILES=(src/core/packet.c src/core/slot.h src/core/window.h src/core/operation.c src/schemes/switchml/*.c)
DATA=$PWD/build-coverage/profile

cmake -S . -B build-coverage --preset coverage --log-level=NOTICE >/dev/null
cmake --build build-coverage -j "$(nproc)" -- --no-print-directory >/dev/null
rm -rf "$DATA"
mkdir -p "$DATA"
LLVM_PROFILE_FILE=$DATA/%4m.profraw ctest --test-dir build-coverage -j "$(nproc)" -L '^(core|schemes|fuzz)$' -LE '^(io|comm|control|switchd|cli|integration)$' \
    --output-on-failure >"$DATA/tests.log" 2>&1 || { tail -40 "$DATA/tests.log"; exit 1; }
llvm-profdata merge -sparse "$DATA"/*.profraw -o "$DATA/all.profdata"

objects=(build-coverage/bin/world)
for program in build-coverage/tests/*/test_* build-coverage/tests/fuzz/fuzz_* build-coverage/bin/model; do
    [ -x "$program" ] && [ -f "$program" ] && objects+=(-object "$program")
done
FILES=("${FILES[@]/#/$PWD/}")
# The columns of the report that matter: file, branches, missed branches.
report=$(llvm-cov report "${objects[@]}" -instr-profile="$DATA/all.profdata" "${FILES[@]}" 2>/dev/null)
echo "$report" | awk -v bound="$BOUND" '
    /^(src\/|\/|[a-z_]+\.[ch] |core\/|schemes\/|switchml)/ || $1 ~ /\.[ch]$/ || $1 == "TOTAL" {
        branches = $(NF - 2); missed = $(NF - 1)
        printf "%-46s %5d branches, %4d never taken, %6.2f %%\n", $1, branches, missed, branches ? 100 * (branches - missed) / branches : 100
        if ($1 == "TOTAL") share = 100 * (branches - missed) / branches
    }
    END { printf "bound: %d %%\n", bound; exit !(share >= bound) }' && status=0 || status=1
if [ "${1:-}" = --missed ]; then
    llvm-cov show "${objects[@]}" -instr-profile="$DATA/all.profdata" -show-branches=count "${FILES[@]}" 2>/dev/null |
        grep -E '^/|Branch .*(True: 0,|False: 0\])' | grep -B1 Branch || true
fi
exit "$status"
