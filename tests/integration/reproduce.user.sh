#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reproduce.user.sh: `tributary reproduce`: experiments that are computed from formulas, their files, and mistakes.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
HERE=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}

say "what there is"
expect 0 '^panama-table2 +Logic of the prototype$' "$T" reproduce --list
expect_line 0 '^\[.*"name": ?"panama-table2", ?"title": ?"Logic of the prototype"' "$T" reproduce --list --json
expect 0 '^usage: tributary reproduce NAME' "$T" reproduce --help
expect 0 'tributary reproduce --all --quick --out' "$T" help reproduce

say "numbers, verdicts, and what the paper left open"
expect 0 '^    ours: 4461: reproduced$' "$T" reproduce panama-table2
check_in "why another differs" '^    1.03 % is the share of a Virtex-7 690T' "$TMP/out"
check_in "assumptions" '^    - VU19P: 4,085,760 LUTs' "$TMP/out"
expect 0 '^panama-sum: ' "$T" reproduce panama-table2 panama-sum --quick
check_in "in the order of their names" '^panama-table2: ' "$TMP/out"
expect 0 '^\[\{"experiment":"panama-fig13"' "$T" reproduce --json panama-fig13
if command -v python3 >/dev/null; then
    check "JSON" python3 - "$TMP/out" <<'END'
import json, sys
(one,) = json.load(open(sys.argv[1], encoding="utf-8"))
(claim,) = one["claims"]
sys.exit(0 if claim["verdict"] == "reproduced" and abs(claim["ours"] - 5.94909) < 1e-4 and len(one["panels"][0]["series"]) == 2 else str(one))
END
fi

say "files"
computed=$("$T" reproduce --list | grep -v -E '\((simulated|measured|no solver)\)$' | cut -d' ' -f1)
# shellcheck disable=SC2086 # one word for each
expect 0 '^`panama-fig14`, ' "$T" reproduce $computed --quick --quiet --markdown --out "$TMP/files"
cp "$TMP/out" "$TMP/computed.md"
for name in $computed; do
    check_in "$name: points" '^"[^"]+","[^"]+",' "$TMP/files/$name.csv"
    check_in "$name: a plot" '<polyline' "$TMP/files/$name.html"
    check "$name: it needs nothing else" [ "$(grep -c -i -E 'https?:|<script|src=|href=|@import|url\(' "$TMP/files/$name.html")" = 0 ]
    if command -v python3 >/dev/null; then
        check "$name: its tags close, its numbers are finite" python3 "$HERE/tests/integration/page_check.py" "$TMP/files/$name.html"
    fi
done

check "as many tables as names" [ "$(cut -d' ' -f2 "$TMP/computed.md" | grep -E '^`[a-z]+-' | sort -u | wc -l)" = "$(wc -w <<<"$computed")" ]
check "and docs/REPRODUCTION.md has every line of them, but the count (reproduce_all.sh compares the whole)" \
    [ -z "$(grep -vxF -f "$HERE/docs/REPRODUCTION.md" "$TMP/computed.md" | grep -v '^[0-9]* claims reproduced, ')" ]

say "what is measured: every way and size, each element looked at; no number of it is a bound here"
expect 0 '^panama-fig7: ' "$T" reproduce panama-fig7 --quick --quiet --out "$TMP/measured"
check "points" [ "$(grep -c -E '^"[^"]+","(passed on|one input added|four inputs added)",(476|988|1500),[0-9.]+$' "$TMP/measured/panama-fig7.csv")" = 18 ]
expect 0 '^# 0 wrong elements' "$T" perf --scheme forward --workers 1 -b 1M -e 2M -n 3 --loss 1% --duplicate 1% --seed 7
expect 2 'scheme forward: its switch adds nothing, so a communicator has one rank' "$T" perf --scheme forward --workers 2 -b 8 -e 8
"$T" reproduce panama-fig7 >"$TMP/measured.out" 2>&1 &
pid=$!
check "it tells of its progress" wait_for 20 grep -q '^panama-fig7: ' "$TMP/measured.out"
kill -INT "$pid"
wait "$pid"
check "its status after an interrupt" [ $? -eq 130 ]
check_in "nothing had ended" '^tributary: interrupted: no experiment had ended$' "$TMP/measured.out"

say "an interrupt"
"$T" reproduce panama-sum panama-fig9 >"$TMP/interrupted" 2>&1 &
pid=$!
check "it tells of its progress" wait_for 20 grep -q '^panama-fig9: ' "$TMP/interrupted"
kill -TERM "$pid"
wait "$pid"
check "its status, of SIGTERM" [ $? -eq 143 ]
check_in "what had ended" '^panama-sum: ' "$TMP/interrupted"
check_in "a word" 'interrupted: these are the experiments that had ended' "$TMP/interrupted"

say "a sweep, which another command could go on with"
"$T" reproduce panama-fig8 --sweep "$TMP/fig8" --cores 1 >"$TMP/swept" 2>&1 &
pid=$!
check "it begins with its first part" wait_for 20 test -e "$TMP/fig8/ideal-short/cells/0000.part"
kill -TERM "$pid"
wait "$pid"
check "its status, of SIGTERM" [ $? -eq 143 ]
check_in "a word" '^tributary: interrupted: the same command goes on$' "$TMP/swept"
check "and no other, as no result is there" [ "$(grep -c interrupted "$TMP/swept")" = 1 ]
check "all parts have a grid" test -e "$TMP/fig8/panama/grid.toml" -a -e "$TMP/fig8/ring/scenario.toml" -a -e "$TMP/fig8/panama-7-8/grid.toml" -a -e "$TMP/fig8/panama-15-16/grid.toml"
echo "# changed" >>"$TMP/fig8/panama/grid.toml"
expect 1 'panama/grid.toml is of another version or experiment' "$T" reproduce panama-fig8 --sweep "$TMP/fig8"

say "mistakes"
echo >"$TMP/a_file"
expect_line 1 'a_file is no folder: name one, or what is not there yet' "$T" reproduce panama-fig8 --sweep "$TMP/a_file"
expect_line 1 'a_file/x: Not a directory; name a folder' "$T" reproduce panama-fig8 --sweep "$TMP/a_file/x"
expect_line 2 "--sweep: .. is not from 1 to" "$T" reproduce panama-fig8 --sweep ""
expect_line 1 '^tributary: .*a_file is no folder' "$T" reproduce panama-sum --out "$TMP/a_file"
expect_line 2 '--cores goes with --sweep' "$T" reproduce panama-sum --cores 2
expect 2 'sweep goes with one experiment' "$T" reproduce panama-fig8 --sweep x --quick
expect 2 'sweep goes with one experiment' "$T" reproduce panama-fig9 --sweep x
expect 2 'there is no experiment "panama-fig15"; did you mean panama-fig1' "$T" reproduce panama-fig15
expect 2 'there is no experiment "x"; `tributary reproduce --list` lists all' "$T" reproduce x
expect 2 'no experiment named' "$T" reproduce
expect 2 'either --all or names' "$T" reproduce --all panama-sum
expect 2 'either --json or --markdown' "$T" reproduce --all --json --markdown
expect 2 'did you mean --quick' "$T" reproduce --all --qick
expect 2 'there is no experiment "y"' "$T" reproduce panama-sum --quick y
expect 1 'Not a directory|File exists' "$T" reproduce panama-sum --out "$TMP/out/x"
finish
