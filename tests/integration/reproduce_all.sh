#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reproduce_all.sh: every experiment of `tributary reproduce`, in its short form: docs/REPRODUCTION.md is what comes out, on every machine:
# simulated time is a whole number, and nothing in it calls the C library's functions of floating point. test_reproduce looks at the beginning of each.
. "$(dirname "$0")/common.sh"
HERE=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}

"$TRIBUTARY" reproduce --all --quick --quiet --markdown >"$TMP/REPRODUCTION.md"
check "it runs" [ $? -eq 0 ]
check "docs/REPRODUCTION.md is what is generated: tributary reproduce --all --quick --markdown" \
    diff -U0 "$HERE/docs/REPRODUCTION.md" "$TMP/REPRODUCTION.md"
finish
