#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reproduce_all.sh: every experiment of `tributary reproduce`, in its short form: docs/REPRODUCTION.md is what comes out, on every machine:
# simulated time is a whole number, and nothing in it calls the C library's functions of floating point. test_reproduce looks at the beginning of each.
# It takes less than two minutes of CPU: `make test-nightly` has it.
. "$(dirname "$0")/common.sh"
HERE=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}

TIMEFORMAT='%U %S'
{ time "$TRIBUTARY" reproduce --all --quick --quiet --markdown >"$TMP/REPRODUCTION.md" 2>&3; } 3>&2 2>"$TMP/cpu"
check "it runs" [ $? -eq 0 ]
CPU_S=$(awk '{ printf "%.0f", $1 + $2 }' "$TMP/cpu")
# It is to take less than two minutes, and takes 90 to 100 s of a core of 2 GHz and more; other machines have slower ones.
check "in time: $CPU_S s of CPU, of at most $((180 * PATIENCE))" test "$CPU_S" -lt $((180 * PATIENCE))
check "docs/REPRODUCTION.md is what is generated: tributary reproduce --all --quick --markdown" \
    diff -U0 "$HERE/docs/REPRODUCTION.md" "$TMP/REPRODUCTION.md"
finish
