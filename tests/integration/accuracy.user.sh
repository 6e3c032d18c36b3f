#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# accuracy.user.sh: bench/accuracy.py trains with each number format, and says what that cost.
. "$(dirname "$0")/common.sh"
ACCURACY=$SOURCE_DIR/bench/accuracy.py
command -v python3 >/dev/null || skip "needs python3"
[ -x "$BUILD_DIR/bin/digits" ] || skip "needs examples/digits in the build"

expect 0 '"seeds": 1' "$ACCURACY" --seeds 1 --epochs 4 --ranks 2 --json switchml,float32 switchml,float32 switchml,int32
cat >"$TMP/judge.py" <<'END'
import json
import sys

rows = json.loads(open(sys.argv[1], encoding="utf-8").read().splitlines()[-1])["rows"]
plain, again, integers = rows
assert again["equal_weights"] == 1 and again["images_by_seed"] == [0], again
assert integers["equal_weights"] == 0, "int32 went as float32"
assert min(row["mean"] for row in rows) > 0.8, rows
END
check "what it says" python3 "$TMP/judge.py" "$TMP/out"
expect 2 "1 at least" "$ACCURACY" --seeds 0
expect 1 'no-such.*seed 1: exit status' "$ACCURACY" --seeds 1 no-such
finish
