#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sim.user.sh: `tributary sim`: scenarios run and say the same each time, an interrupt leaves results, mistakes are one line, the benchmark
# runs.
. "$(dirname "$0")/common.sh"
T=$TRIBUTARY
HERE=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}

say "the examples"
for scenario in "$HERE"/examples/sim/*.toml; do
    expect 0 'million a second; trace [0-9a-f]{16}$' "$T" sim "$scenario" --out "$TMP/results"
    check_in "a check" '"check":"ok"' "$TMP/results/results.json"
done
if command -v python3 >/dev/null; then
    check "results.json is JSON" python3 -m json.tool "$TMP/results/results.json" /dev/null
fi
check_in "each table says where it is from" '^## tributary [0-9.]+, seed 1, trace [0-9a-f]{16}$' "$TMP"/results/{flows,links,figures}.csv
check_in "the columns of flows" '^src,dst,sport,dport,size,start_ns,fct_ns,ideal_fct_ns,traffic,kind$' "$TMP/results/flows.csv"
"$T" sim "$HERE/examples/sim/jobs.toml" --quiet --json >"$TMP/jobs.json"
check_in "a job's sums" '"scheme":"switchml".*"iterations_ended":3,.*"numbers_compared":196608,"numbers_wrong":0' "$TMP/jobs.json"
check_in "a link" '^0,0,[0-9]+,[0-9]+,.*,host0,[a-z]+0$' "$TMP/results/links.csv"
expect 0 'million a second' "$T" sim -q "$HERE/examples/sim/incast.toml" --out "$TMP/mixed" # options and words in any order
check "its results are there" [ -s "$TMP/mixed/results.json" ]
expect 2 'unexpected argument "x"' "$T" sim -q "$HERE/examples/sim/incast.toml" --ideal x

sed -n '/^```toml/,/^```$/p' "$HERE/docs/SIMULATOR.md" | grep -v '^```' >"$TMP/documented.toml"
check "the documentation has an example" [ -s "$TMP/documented.toml" ]
check "which can be run" "$T" sim "$TMP/documented.toml" --check

say "levers, and each kind of traffic alone"
expect 0 'at a scale of 1/100: ' "$T" sim "$HERE/examples/sim/accelerators.toml" --scale 1/100 --ideal --mtu 9000B --warmup 1ms \
    --window 15ms --out "$TMP/levers" --html "$TMP/levers.html"
check_in "levers are said" '"warmup_ns":1000000.000,"window_ns":15000000.000,"mtu_bytes":9000,"scale":100,' "$TMP/levers/results.json"
check_in "and in the summary" 'began after 1.000 ms and before 16.000 ms' "$TMP/out"
check_in "jobs" '^0,switchml,resnet50,12,4,3,1022281,8192,10,' "$TMP/levers/jobs.csv"
check_in "with what they are alone" ',ideal_iteration_ns,ideal_summing_ns$' "$TMP/levers/jobs.csv"
check "iterations" [ "$(grep -c '^[0-9]' "$TMP/levers/iterations.csv")" -ge 3 ]
check_in "levers in tables" '^# scale = "1/100"$' "$TMP"/levers/{flows,links,jobs,iterations,figures}.csv
check_in "a cable of its own" '"odd_links":.."link":"leaf0-spine1","rate_bps":5000000000' "$TMP/levers/results.json"
check_in "alone" '"ideal":."flows_ended":[0-9]+,.*"iterations_measured":[0-9]+,' "$TMP/levers/results.json"
check_in "the page says them" '1/100, of sizes' "$TMP/levers.html"
expect 2 'incast.toml:1:1: ideal: there are only flows' "$T" sim "$HERE/examples/sim/incast.toml" --ideal
expect 2 'scale is written like "1/20"' "$T" sim "$HERE/examples/sim/jobs.toml" --scale 20

cat >"$TMP/restart.toml" <<'END'
duration = "1s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
rate = "10Gbps"
delay = "1us"
[[job]]
scheme = "switchml"
workers = 8
size = "2MB"
iterations = 3
[[restart]]
switch = "leaf0"
at = "1ms"
away = "500us"
END
expect 0 'restarts of switches 1' "$T" sim "$TMP/restart.toml" --out "$TMP/restart"
check_in "a restart is survived" '"iterations_ended":3,.*"numbers_wrong":0' "$TMP/restart/results.json"
check_in "and said" '"restarts":.."switch":"leaf0","at_ns":1000000.000,"away_ns":500000.000' "$TMP/restart/results.json"

say "one link of a file is as the scenario says"
mkdir "$TMP/data"
cp "$HERE/examples/sim/data/topology.txt" "$TMP/data/"
(cat "$HERE/examples/sim/from_file.toml"; printf '[[link]]\nlink = "host0-switch0"\ndelay = "1ms"\n') >"$TMP/linked.toml"
expect 0 'trace' "$T" sim "$TMP/linked.toml" --out "$TMP/linked"
check "flows of host 0 take a millisecond and more" awk -F, '/^[^0-9]/ { next } $1 == 0 || $2 == 0 { n++; bad += $8 < 1000000 }
    $1 != 0 && $2 != 0 { m++; bad += $8 >= 1000000 && $5 < 100000 } END { exit !(n > 0 && m > 0 && bad == 0) }' "$TMP/linked/flows.csv"

say "who never ends is given up"
sed '/^\[\[restart/,$d' "$TMP/restart.toml" | sed 's/^duration.*/duration = "1000s"/' >"$TMP/stalled.toml"
printf '[[failure]]\nlink = "host3-leaf0"\nat = "1ms"\n' >>"$TMP/stalled.toml"
expect 4 'given up: nothing has arrived for 5 s of simulated time' "$T" sim "$TMP/stalled.toml" --out "$TMP/stalled"
check_in "with the results until then" '"stalled":true,.*"check":"ok"' "$TMP/stalled/results.json"

cat >"$TMP/quiet.toml" <<'END'
duration = "1000s"
[topology]
kind = "star"
hosts = 8
rate = "10Gbps"
delay = "1us"
[[job]]
scheme = "switchml"
workers = 4
size = "100KB"
iterations = 10
[[failure]]
link = "host0-switch0"
at = "50us"
[[failure]]
link = "host1-switch0"
at = "999s"
END
expect 4 'given up: nothing has arrived for 5 s of simulated time' "$T" sim "$TMP/quiet.toml" # with few packets
check_in "and how many" ', and 1 flow or job has not ended$' "$TMP/out"
check_in "soon after" '^quiet.toml: .* [5-7](\.[0-9]+)? s simulated' "$TMP/out"
check_in "what has happened is counted, not what was to happen" 'cables cut 1;' "$TMP/out"
sed '/^at = "50us"/a until = "6s"' "$TMP/quiet.toml" >"$TMP/again.toml"
expect 4 ', and 1 flow or job has not ended$' "$T" sim "$TMP/again.toml" # though something would have arrived a moment later
printf 'scenario = "quiet.toml"\n[[vary]]\nkey = "duration"\nvalues = "10ms, 1000s"\n' >"$TMP/quiets.toml"
expect 0 '^2 of 2 runs are done' "$T" sim sweep "$TMP/quiets.toml" --out "$TMP/quiets" --cores 1
check_in "that is a result" 'run 0001 is done: a run that does not end is a result' "$TMP/out"
check_in "a figure" '"given up"$' "$TMP/quiets/figures.csv"
check_in "of a run to its end" '^0000,10ms,.*,0$' "$TMP/quiets/figures.csv"
check_in "and of one without" '^0001,1000s,.*,1$' "$TMP/quiets/figures.csv"
expect 0 '^2 of 2 runs are done' "$T" sim sweep "$TMP/quiets.toml" --out "$TMP/quiets"
check "it is not run again" [ "$(grep -c "runs are done" "$TMP/out")" = 1 ]

say "a page"
expect 0 'trace' "$T" sim "$HERE/examples/sim/failure.toml" --quiet --html "$TMP/page.html"
expect 0 'trace' "$T" sim "$HERE/examples/sim/arrivals.toml" --quiet --html "$TMP/jobs.html"
expect 0 'frames of PAUSE: [1-9]' "$T" sim "$HERE/examples/sim/pfc.toml" --quiet --out "$TMP/pfc" --html "$TMP/pfc.html"
for page in page jobs pfc; do
    check "it needs nothing else" [ "$(grep -c -i -E 'https?:|<script|src=|href=|@import|url\(' "$TMP/$page.html")" = 0 ]
    if command -v python3 >/dev/null; then
        check "its tags close, its numbers are finite" python3 "$HERE/tests/integration/page_check.py" "$TMP/$page.html"
    fi
done
check_in "a lossless network" '"pfc":true.*"dropped":0,.*"headroom_is_enough":true' "$TMP/pfc/results.json"
check_in "a plot of stopped ports" '>Time that ports were stopped' "$TMP/pfc.html"
check_in "plots of flows" '>Completion times<' "$TMP/page.html"
check_in "a job" '<tr><td>switchml</td><td>resnet50</td><td>4</td>' "$TMP/jobs.html"
sed 's/^name.*//; 1i name = "<b>&amp;"' "$HERE/examples/sim/incast.toml" >"$TMP/odd.toml"
expect 0 'trace' "$T" sim "$TMP/odd.toml" --quiet --html "$TMP/odd.html"
check_in "names are text" '<h1>&lt;b&gt;&amp;amp;</h1>' "$TMP/odd.html"
expect 1 'No such file|Not a directory' "$T" sim "$TMP/odd.toml" --quiet --html "$TMP/none/odd.html"

say "the same seed is the same run"
cat >"$TMP/x.toml" <<'END'
duration = "3ms"
[topology]
kind = "fat-tree"
k = 4
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "poisson"
size = "websearch-bytes"
load = "70%"
END
trace_of() { "$T" sim "$TMP/x.toml" "$@" --json 2>/dev/null | grep -o '"trace_hash":"[0-9a-f]*"'; }
first=$(trace_of)
check "a trace" [ -n "$first" ]
check "again" [ "$(trace_of)" = "$first" ]
check "without progress" [ "$(trace_of --quiet)" = "$first" ]
check "another seed is another run" [ "$(trace_of --seed 2)" != "$first" ]
"$T" sim "$TMP/x.toml" --seed 2 --out "$TMP/second" >/dev/null
sed -n 's/^# //p' "$TMP/second/links.csv" >"$TMP/again.toml"
expect 0 "trace $(sed -n '1s/.*trace //p' "$TMP/second/links.csv")\$" "$T" sim "$TMP/again.toml" # what a table says of its scenario
check_in "with its seed and name" '^x\.toml: .*, seed 2$' "$TMP/out"
if command -v python3 >/dev/null; then
    for ms in 250 1000 4000; do # of which the first that takes longer than a second shows how far it is
        sed "s/3ms/${ms}ms/" "$TMP/x.toml" >"$TMP/second.toml"
        python3 "$HERE/tests/integration/on_terminal.py" "$TMP/shown.json" "$T" sim "$TMP/second.toml" --json >"$TMP/shown"
        [ ! -s "$TMP/shown" ] || break
    done
    check "one line on a terminal, which is gone in the end" grep -qPz \
        "^(\\rsimulated [0-9.]+ of $ms\\.000 ms, [0-9.]+ M packet-hops, [0-9.]+ M/s, [0-9]+ flows ended, [^\\r]+ left\\x1b\\[K)+\\r\\x1b\\[K\\0?\$" \
        "$TMP/shown"
    "$T" sim "$TMP/second.toml" --json --quiet >"$TMP/hidden.json"
    check "what is shown changes nothing" [ "$(grep -o '"trace_hash":"[0-9a-f]*"' "$TMP/shown.json")" = \
        "$(grep -o '"trace_hash":"[0-9a-f]*"' "$TMP/hidden.json")" ]
fi

say "mistakes"
(cat "$TMP/x.toml"; echo 'ecn = 1') >"$TMP/y.toml"
expect 2 'y\.toml:11:1: ecn does not belong in \[traffic\], but in \[queues\]' "$T" sim "$TMP/y.toml" --check
sed 's/load/laod/' "$TMP/x.toml" >"$TMP/y.toml"
expect 2 'y\.toml:10:1: unknown key laod in \[traffic\]; did you mean load\?' "$T" sim "$TMP/y.toml"
expect 2 'No such file' "$T" sim "$TMP/none.toml"
expect 2 'no scenario named' "$T" sim
expect 0 '^ +fan_in +incast' "$T" sim --keys
expect 0 '^resnet50 +25557032 +102.2 +164 ms +P100, batch 32' "$T" sim --models
expect 0 '^\[\[failure\]\]$' "$T" sim --keys
expect 1 'results: ' "$T" sim "$TMP/x.toml" --out "$TMP/x.toml/results"

sed '/^\[\[restart/,$d' "$TMP/restart.toml" >"$TMP/small.toml"
printf '[switches]\nmemory = "1KB"\n' >>"$TMP/small.toml"
"$T" sim "$TMP/small.toml" >"$TMP/small.out" 2>&1
check "memory for too few fragments" [ $? -eq 2 ]
check_in "where it says so" 'small.toml:15:10: switches. memory of 1000 bytes, shared by 1 tree, has no room' "$TMP/small.out"
expect 2 "$(tail -n 1 "$TMP/small.out")" "$T" sim "$TMP/small.toml" --check
sed 's/"leaf0"/"spine1"/' "$TMP/restart.toml" >"$TMP/nowhere.toml"
expect_line 2 'nowhere\.toml:15:10: switch: no job has a node at spine1; the nearest that has one is spine0$' "$T" sim "$TMP/nowhere.toml"

say "a sweep"
cat >"$TMP/grid.toml" <<'END'
scenario = "x.toml"
[[vary]]
key = "traffic.load"
values = "20%, 70%"
[[vary]]
key = "seed"
values = "1,2,3"
END
sed -i '1i seed = 1' "$TMP/x.toml"
expect 2 '^tributary: --scale goes with one scenario, not with a sweep' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep" --scale 1/9
expect 2 '^tributary: --check goes with one scenario, not with a sweep' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep" --check
expect 0 '^3 of 3 runs are done' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep" --shard 1/2 --cores 2
expect 0 '^3 of 3 runs are done' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep" --shard 0/2 --cores 3
check_in "which is which" '^0003,70%,1$' "$TMP/sweep/cells.csv"
check "a cell is the run that it is alone" grep -qF "$first" "$TMP/sweep/0003/results.json"
check_in "a line for each" '^0003,70%,1,[0-9.]+,' "$TMP/sweep/figures.csv"
check_in "and what was swept" '^# key = "traffic.load"$' "$TMP/sweep/figures.csv"
check_in "a page" '>flows: p99 slowdown<' "$TMP/sweep/sweep.html"
check_in "over the load, of all seeds" 'mean of 3 seeds' "$TMP/sweep/sweep.html"
check_in "with its unit" '>traffic.load \(%\)<' "$TMP/sweep/sweep.html"
check "it needs nothing else" [ "$(grep -c -i -E 'https?:|<script|src=|href=|@import|url\(' "$TMP/sweep/sweep.html")" = 0 ]
if command -v python3 >/dev/null; then
    check "its tags close, its numbers are finite" python3 "$HERE/tests/integration/page_check.py" "$TMP/sweep/sweep.html"
    check "a point is the mean of its seeds" python3 - "$TMP/sweep" <<'END'
import csv, re, statistics, sys
lines = open(sys.argv[1] + "/figures.csv", encoding="utf-8")
rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
name = "flows: mean slowdown"
wanted = [f"{statistics.mean(float(row[name]) for row in rows if row['traffic.load'] == load):.6g}" for load in ("20%", "70%")]
plots = open(sys.argv[1] + "/sweep.html", encoding="utf-8").read().split("<svg")
plot = [plot for plot in plots if ">" + name + "<" in plot][0]
points = [float(number) for number in re.findall(r"<title>[^,<]*, ([^<]*)</title>", plot)]
sys.exit(0 if [f"{point:.6g}" for point in points] == wanted else f"{points} {wanted}")
END
fi
rm -r "$TMP/sweep/0004" "$TMP/sweep/sweep.html"
expect 0 '^6 of 6 runs are done' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep"
check "it goes on where it was" [ "$(grep -c 'runs are done$' "$TMP/out")" = 1 ]
check "the cell is there" [ -s "$TMP/sweep/0004/flows.csv" ]
check "and the page again" [ -s "$TMP/sweep/sweep.html" ]
expect 0 '^4 of 4 runs are done' "$T" sim sweep "$HERE/examples/sim/grid/schemes.toml" --out "$TMP/schemes"
check_in "names along the axis" 'text-anchor="middle">switchml<' "$TMP/schemes/sweep.html"
check_in "lines" '<p>Lines: job.placement' "$TMP/schemes/sweep.html"
cp "$TMP/x.toml" "$TMP/x.before"
echo 'stop = "2ms"' >>"$TMP/x.toml"
expect_line 2 'sweep holds the results of another grid or scenario: name another folder' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep"
cp "$TMP/x.before" "$TMP/x.toml"
sed -i 's/20%/30%/' "$TMP/grid.toml"
expect 2 'sweep holds the results of another grid or scenario' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep"
expect_line 2 '^tributary: --shard goes with a sweep, not with one scenario$' "$T" sim "$TMP/x.toml" --shard 1/2
expect_line 2 '^tributary: --cores goes with a sweep, not with one scenario$' "$T" sim "$TMP/x.toml" -j 2

say "cells that end badly"
sed 's/3ms/400s/' "$TMP/x.toml" >"$TMP/long.toml" # ends by signals alone
printf 'scenario = "long.toml"\n[[vary]]\nkey = "seed"\nvalues = "1, 2"\n' >"$TMP/long_grid.toml"
"$T" sim sweep "$TMP/long_grid.toml" --out "$TMP/long" --cores 1 >"$TMP/out" 2>&1 &
sweep=$!
killed=
for _ in 1 2; do
    cell=$killed
    while [ "$cell" = "$killed" ] && kill -0 "$sweep" 2>/dev/null; do
        sleep 0.05
        cell=$(pgrep -P "$sweep")
    done
    [ -z "$cell" ] || kill -KILL "$cell"
    killed=$cell
done
wait "$sweep"
check "a killed cell is a failure" [ $? -eq 1 ]
check_in "with a cause" '^tributary: run 0001 was ended by signal 9 \(Killed\)' "$TMP/out"
other=(setpriv --reuid 23456 --clear-groups) # who has no other process
"$T" sim sweep "$TMP/long_grid.toml" --out "$TMP/orphans" --cores 1 >/dev/null 2>&1 &
sweep=$!
wait_for 10 pgrep -P "$sweep" >/dev/null || fail "a sweep without a cell"
cell=$(pgrep -P "$sweep")
kill -KILL "$sweep"
wait "$sweep" 2>/dev/null
wait_for 10 sh -c '! kill -0 "$1" 2>/dev/null' - "$cell" || fail "a cell outlives its sweep"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$TMP"
    install "$T" "$TMP/tributary" # where it was built, only its owner may be able to look
    install -d -o 23456 "$TMP/few"
    sed 's/long.toml/x.toml/' "$TMP/long_grid.toml" >"$TMP/short_grid.toml"
    expect 0 '^2 of 2 runs are done' "${other[@]}" prlimit --nproc=2 "$TMP/tributary" sim sweep "$TMP/short_grid.toml" --out "$TMP/few/two" --cores 2
fi
sed 's/^key = "seed"/key = "traffic.load"/' "$TMP/grid.toml" >"$TMP/twice.toml"
expect_line 1 'grid\.toml is no folder: name one' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/grid.toml"
expect_line 1 'grid\.toml is no folder: name one' "$T" sim "$TMP/x.toml" --quiet --out "$TMP/grid.toml"
expect_line 2 "--out: .. is not from 1 to" "$T" sim sweep "$TMP/grid.toml" --out ""
expect 2 'twice\.toml:6:7: traffic.load varies already' "$T" sim sweep "$TMP/twice.toml" --out "$TMP/sweep3"
sed -i 's/30%/300%/' "$TMP/grid.toml"
expect 2 'x\.toml:11:8: load: "300%" is more than 100%' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep2"
expect 2 'no part; write 0/4' "$T" sim sweep "$TMP/grid.toml" --out "$TMP/sweep" --shard 2/2

say "jobs that are not done"
cat >"$TMP/late.toml" <<'END'
duration = "10ms"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"
[[job]]
scheme = "switchml"
workers = 4
size = "140800B"
compute = "1ms"
iterations = 3
END
printf 'scenario = "late.toml"\n[[vary]]\nkey = "duration"\nvalues = "500us, 2ms, 10ms"\n' >"$TMP/lates.toml"
sed 's/10ms/2ms/' "$TMP/late.toml" >"$TMP/later.toml"
expect 0 '2 iterations of 1 job were not done when the run was over' "$T" sim "$TMP/later.toml" --quiet
expect 0 '2 of 3 runs have iterations of jobs that were not done' "$T" sim sweep "$TMP/lates.toml" --out "$TMP/lates"
check_in "a mean of none is none" '^0000,500us,,,3,' "$TMP/lates/figures.csv"
check_in "and how many are missing is said" '^0001,2ms,[0-9.]+,[0-9.]+,2,' "$TMP/lates/figures.csv"
check_in "where there is none a cross" 'class="none"' "$TMP/lates/sweep.html"
check_in "where some are missing a hollow point" ' of a part</title>' "$TMP/lates/sweep.html"
check_in "which the page explains" 'In 2 of 3 runs some iterations of jobs were not done' "$TMP/lates/sweep.html"

say "ports that wait for each other"
{
    echo 15 5 15; echo 10 11 12 13 14
    for i in 0 1 2 3 4; do
        echo "$((2 * i)) $((10 + i)) 10Gbps 1000ns 0"; echo "$((2 * i + 1)) $((10 + i)) 10Gbps 1000ns 0"
        echo "$((10 + i)) $((10 + (i + 1) % 5)) 10Gbps 1000ns 0"
    done
} >"$TMP/ring.txt"
{
    echo 10
    for i in 0 1 2 3 4 5 6 7 8 9; do echo "$i $(((i + 4) % 10)) 3 100 20000000 0.0"; done
} >"$TMP/flow.txt"
cat >"$TMP/ring.toml" <<'END'
duration = "100ms"
[topology]
kind = "file"
file = "ring.txt"
[queues]
pfc = true
shared = "300KB"
[flows]
congestion = "fixed"
[[traffic]]
kind = "trace"
file = "flow.txt"
END
expect 3 'deadlock since [0-9.]+ us: 15 ports are stopped for ever; in a circle each waits for the next: .*switch0-switch1 switch1-switch2 ' \
    "$T" sim "$TMP/ring.toml" --quiet --out "$TMP/ring" --html "$TMP/ring.html"
check_in "the circle" '"deadlock":\{"since_ns":[0-9.]+,"stopped_links":15,"length":5,"circle":\["switch' "$TMP/ring/results.json"
if command -v python3 >/dev/null; then
    check "results are JSON" python3 -m json.tool "$TMP/ring/results.json" /dev/null
fi
check_in "and what was reached" '"packets":.*"dropped":0,.*"pauses_sent":[1-9].*"check":"ok"' "$TMP/ring/results.json"
check_in "a port that was stopped" '^0,0,10,.*,1,[0-9.]+,[0-9]+,host0,[a-z]+0$' "$TMP/ring/links.csv"
check_in "on the page" 'deadlock: each waits for the next' "$TMP/ring.html"
printf 'scenario = "ring.toml"\n[[vary]]\nkey = "queues.shared"\nvalues = "300KB, 100MB"\n' >"$TMP/rings.toml"
expect 0 '^2 of 2 runs are done' "$T" sim sweep "$TMP/rings.toml" --out "$TMP/rings" --cores 1
check_in "the cell is named" 'run 0000 is done: a deadlock is a result' "$TMP/out"
check_in "a figure" '^cell,.*,"deadlock"' "$TMP/rings/figures.csv"
check_in "of a cell with a deadlock" '^0000,300KB,[0-9.]+,[0-9.]+,0,0,1,' "$TMP/rings/figures.csv"
check_in "and of one without" '^0001,100MB,[0-9.]+,[0-9.]+,0,[0-9.]+,0,' "$TMP/rings/figures.csv"
check_in "on the page" '>deadlock<' "$TMP/rings/sweep.html"
expect 0 '^2 of 2 runs are done' "$T" sim sweep "$TMP/rings.toml" --out "$TMP/rings"
check "no cell is run again" [ "$(wc -l <"$TMP/out")" = 1 ]
expect 0 '3 a deadlock of ports' "$T" sim --help
sed -i 's/^pfc = true/pfc = false/' "$TMP/ring.toml"
expect 0 "most of a switch's shared buffer: [0-9.]+ of 300.0 KB" "$T" sim "$TMP/ring.toml" --quiet

say "an interrupt"
sed 's/3ms/100s/' "$TMP/x.toml" >"$TMP/long.toml"
"$T" sim "$TMP/long.toml" --json --out "$TMP/part" >"$TMP/part.json" 2>"$TMP/part.err" &
pid=$!
CHILDREN+=("$pid")
wait_for 20 grep -q 'left$' "$TMP/part.err"
check_in "progress in a file" '^simulated [0-9.]+ of 100000.000 ms, [0-9.]+ M packet-hops, [0-9.]+ M/s, [0-9]+ flows ended, .+ left$' "$TMP/part.err"
kill -INT "$pid"
wait "$pid"
check "the exit status says so" [ $? -eq 130 ]
check_in "what was reached" '"interrupted":true,.*"check":"ok"' "$TMP/part.json"
check_in "and written" '^src,dst' "$TMP/part/flows.csv"
check_in "and said there" '^## .*, interrupted$' "$TMP/part/flows.csv"
cat >"$TMP/wide.toml" <<EOF
duration = "1ms"
[topology]
kind = "dragonfly"
routers = 64
globals = 4
hosts = 1
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "permutation"
size = "1MB"
EOF
sed 's/routers = 64/routers = 4/; s/globals = 4/globals = 64/; s/hosts = 1/hosts = 2/' "$TMP/wide.toml" >"$TMP/many.toml"
check "1,028 routers with up to 65 equal paths" "$T" sim "$TMP/many.toml" --check
"$T" sim "$TMP/wide.toml" >"$TMP/wide.out" 2>&1 &
pid=$!
CHILDREN+=("$pid")
sleep 0.5 # its paths take many times as long
kill -TERM "$pid"
ended 2 "$pid"
check "before the run there is nothing to tell" [ "$STATUS" = 143 ]
printf 'scenario = "long.toml"\n[[vary]]\nkey = "seed"\nvalues = "1, 2, 3"\n[[vary]]\nkey = "duration"\nvalues = "1ms, 100s"\n' >"$TMP/longs.toml"
"$T" sim sweep "$TMP/longs.toml" --out "$TMP/longs" --cores 2 >"$TMP/longs.out" 2>&1 &
pid=$!
CHILDREN+=("$pid")
wait_for 20 test -d "$TMP/longs/0003.part"
kill -TERM "$pid"
ended 20 "$pid"
check "a sweep is interrupted, its runs as well" [ "$STATUS" = 143 ]
check "of which none says that it has results" [ "$(grep -c interrupted "$TMP/longs.out")" = 1 ]
check_in "those that are done stay" '^2 of 6 runs are done' "$TMP/longs.out"
check "others have parts" [ -s "$TMP/longs/0001.part/flows.csv" ]
sed -i 's/100s/2ms/' "$TMP/longs.toml" "$TMP/longs/cells.csv" # so that it ends in time
expect 0 '^6 of 6 runs are done' "$T" sim sweep "$TMP/longs.toml" --out "$TMP/longs" --cores 2
check "and no part is left" [ "$(find "$TMP/longs" -name '*.part' | wc -l)" = 0 ]

BENCH=$BUILD_DIR/bin/bench-sim # not built with sanitizers
if [ -x "$BENCH" ]; then
    say "the benchmark"
    expect 0 '^websearch-1024 +[0-9.]+ +10 ' "$BENCH" --quick
    check_in "jobs" '^jobs-1024 +[0-9.]*[1-9][0-9.]* +5 ' "$TMP/out"
    check_in "memory" '^memory, 8,192 hosts +[0-9.]+ MB below 600.0: met$' "$TMP/out"
    check_in "cost of a hop" '^a hop at 8,192, of 128 +[0-9.]+ x  below   2.0: ' "$TMP/out"
    expect 2 'there is no row "permutation-1023"; did you mean permutation-1024\?' "$BENCH" permutation-1023
    expect 2 'there is no row "x"; bench-sim without a name measures all' "$BENCH" x
    expect 2 '^usage: bench-sim' "$BENCH" --quik
fi
finish
