# SPDX-License-Identifier: Apache-2.0
# events.sh: what the scripts that do harm share: ranks under load (load.c), harm done to switches, workers and links, and what it
# cost whom, out of the times that the ranks and the switches wrote down. Sourced, after network.sh.

LOAD=$BUILD_DIR/tests/integration/load
declare -A JOB_PIDS=() # of a job: "pid pid ...", by rank

wall_ns() { echo "${EPOCHREALTIME/[.,]/}000"; }

# load_start JOB SECONDS MIN_BYTES MAX_BYTES [SLOW_US]: load, a rank on every worker or on those in LOAD_ON; the seed is of the job's name.
load_start() {
    local job=$1 seconds=$2 min=$3 max=$4 slow=${5:-0} on=("${LOAD_ON[@]:-"${WORKERS[@]}"}") rank seed
    seed=$(cksum <<<"$job" | cut -d ' ' -f 1)
    JOB_PIDS[$job]=
    for rank in "${!on[@]}"; do
        net_rank "$job" "$rank" "${#on[@]}" "${on[rank]}" \
            "$LOAD" "$TMP/$job.$rank.steps" "$seconds" "$min" "$max" "$seed" "$slow"
        JOB_PIDS[$job]+="$PID "
    done
    wait_for 20 load_steps "$job" || { fail "job $job does not run"; show "$TMP/$job".[0-9] "$TMP"/s*.log; }
}

# Every rank has ended a step: the switch knows that a job runs before its ranks do.
load_steps() {
    local rank
    net_runs "$1" || return 1
    for ((rank = 0; rank < $(load_ranks "$1"); rank++)); do
        [ -s "$TMP/$1.$rank.steps" ] || return 1
    done
}

load_ranks() { wc -w <<<"${JOB_PIDS[$1]}"; }

# load_pid JOB RANK
load_pid() { echo "${JOB_PIDS[$1]}" | cut -d ' ' -f $(($2 + 1)); }

# load_end JOB: asks rank 0 to stop; every rank must end, having seen right values only.
load_end() {
    local job=$1 rank=0 pid
    kill -TERM "$(load_pid "$job" 0)"
    for pid in ${JOB_PIDS[$job]}; do
        CHECKS=$((CHECKS + 1))
        ended 20 "$pid"
        [ "$STATUS" = 0 ] || { fail "job $job rank $rank ended with status $STATUS"; show "$TMP/$job.$rank"; }
        check_in "job $job rank $rank: values" ', 0 wrong, .* 0 lane failures' "$TMP/$job.$rank"
        rank=$((rank + 1))
    done
    unset "JOB_PIDS[$job]"
}

# load_ends_in_error JOB SECONDS REGEX [BUT_RANK]: every rank but one must end within that time, with a text that matches.
load_ends_in_error() {
    local job=$1 seconds=$2 regex=$3 but=${4:-none} rank=0 pid
    for pid in ${JOB_PIDS[$job]}; do
        if [ "$rank" != "$but" ]; then
            CHECKS=$((CHECKS + 1))
            ended "$seconds" "$pid"
            [ "$STATUS" = 1 ] || fail "job $job rank $rank ended with status $STATUS, not 1"
            check_in "job $job rank $rank names the cause" "$regex" "$TMP/$job.$rank"
            check_in "job $job rank $rank: values" ', 0 wrong, .* 0 lane failures' "$TMP/$job.$rank"
        fi
        rank=$((rank + 1))
    done
    unset "JOB_PIDS[$job]"
}

# goes_on JOB NS: every rank has ended a step since.
goes_on() { tail -qn 1 "$TMP/$1".*.steps | awk -v since="$2" '$2 <= since { late = 1 } END { exit late || NR == 0 }'; }

# last_steps JOB: of each rank, behind a line "rank".
last_steps() {
    local file
    for file in "$TMP/$1".*.steps; do
        echo "rank"
        tail -n 5000 "$file"
    done
}

# cost JOB FROM_NS TO_NS: what it cost a job that something was away from FROM to TO, in microseconds, on the rank where it cost most:
# from TO to the end of the next step, and the longest time without the end of a step, less the absence itself.
cost() {
    last_steps "$1" | awk -v from="$2" -v to="$3" '
        $1 == "rank" { last = 0; is_over = 0; next }
        $2 <= from { last = $2 }
        $2 > from && !is_over {
            gap = $2 - last
            longest = gap > longest ? gap : longest
            last = $2
            if ($2 > to) { is_over = 1; worst = $2 - to > worst ? $2 - to : worst }
        }
        END { extra = longest - (to - from); printf "%d %d\n", worst / 1000, (extra > 0 ? extra : 0) / 1000 }'
}

# longest_step JOB FROM_NS TO_NS: of the steps of all ranks that ended in that time or just after it, in microseconds.
longest_step() {
    last_steps "$1" | awk -v from="$2" -v to="$3" '
        $1 == "rank" { last = 0; next }
        last && $2 > from && last <= to && $2 - last > longest { longest = $2 - last }
        { last = $2 }
        END { printf "%d\n", longest / 1000 }'
}

# percentiles: of numbers on standard input, microseconds, as "p50 A ms, p99 B ms, worst C ms of N".
percentiles() {
    sort -n | awk '{ v[NR] = $1 / 1000 }
        END { if (NR == 0) { print "none"; exit }
              printf "p50 %.1f ms, p99 %.1f ms, worst %.1f ms of %d\n", v[int((NR + 1) / 2)], v[int((NR * 99 + 99) / 100)], v[NR], NR }'
}

# below LIMIT_MS FILE: none of the numbers in FILE, microseconds, is above.
below() {
    local worst
    worst=$(sort -n "$2" | tail -n 1)
    [ "${worst:-999999999}" -le $(($1 * 1000)) ] || { say "${worst:-none} us, not at most $1 ms"; false; }
}

# within WHAT LIMIT_MS FILE: so it must be; the limit is a promise.
within() { check "$1: at most $2 ms" below $(($2 * PROMISE)) "$3"; }

# ---- switches ----

# The moment from which the daemon of NODE serves, by its own log.
serving_since() { date -d "$(grep ' switch at ' "$TMP/$1.log" | tail -n 1 | cut -d ' ' -f 1)" +%s%N; }

# after JOB WHAT FROM_NS TO_NS: WHAT was away from FROM to TO: all ranks must go on; what it cost goes to $TMP/costs.JOB.WHAT.
after() {
    CHECKS=$((CHECKS + 1))
    wait_for 10 goes_on "$1" "$4" || { fail "job $1 stands still after $2"; show "$TMP/$1".[0-9] "$TMP"/s*.log; return 1; }
    echo "$(cost "$1" "$3" "$4") $((($4 - $3) / 1000))" >>"$TMP/costs.$1.$2"
}

# costs JOB WHAT BOUND_MS: prints them; usually, that is for the median, going on takes no longer than the bound, or this fails. It must never take
# longer than a second more: this machine may be busy.
costs() {
    local file="$TMP/costs.$1.$2"
    say "$2, away for $(cut -d ' ' -f 3 "$file" | percentiles)"
    say "   first operation after that:    $(cut -d ' ' -f 1 "$file" | tee "$file.first" | percentiles)"
    say "   added to the absence itself:   $(cut -d ' ' -f 2 "$file" | percentiles)"
    sort -n "$file.first" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }' >"$file.median"
    check "$2: worst first operation" below $((($3 + 1000) * PATIENCE)) "$file.first"
    rm "$file"
    below $(($3 * PROMISE)) "$file.median"
}

# restarts JOB SWITCH COUNT DOWN...: kill -9, nobody for DOWN seconds (in turn), a new daemon; as often as COUNT says.
restarts() { thrice "median of the first operation after a restart of $2: at most 100 ms" restarted "$@"; }
restarted() {
    local job=$1 victim=$2 count=$3 i from
    shift 3
    for ((i = 0; i < count; i++)); do
        sleep "0.$((RANDOM % 3 + 1))"
        from=$(wall_ns)
        net_switch_kill "$victim"
        sleep "${@:i % $# + 1:1}"
        net_switch_start "$victim"
        after "$job" "restart of $victim" "$from" "$(serving_since "$victim")" || return
    done
    costs "$job" "restart of $victim" 100
}

# machine_restarts JOB SWITCH COUNT DOWN...: as restarts, but meanwhile nothing at all answers there.
machine_restarts() { thrice "median of the first operation after a restart of the machine of $2: at most 350 ms" machine_restarted "$@"; }
machine_restarted() {
    local job=$1 victim=$2 count=$3 i from
    shift 3
    for ((i = 0; i < count; i++)); do
        sleep "0.$((RANDOM % 3 + 1))"
        from=$(wall_ns)
        net_switch_kill "$victim"
        sleep 0.02 # the ranks hear of it, and ask again
        own_cut "$victim"
        sleep "${@:i % $# + 1:1}"
        net_switch_start "$victim"
        own_mend "$victim"
        after "$job" "restart of the machine of $victim" "$from" "$(wall_ns)" || return
    done
    costs "$job" "restart of the machine of $victim" 350
}

# errors_after JOB FROM_NS: microseconds from FROM to the error of each rank.
errors_after() { awk -v from="$2" '$1 == "ended" { printf "%d\n", ($2 - from) / 1000 }' "$TMP/$1".[0-9] "$TMP/$1".[0-9][0-9] 2>/dev/null; }

# does_not_return JOB SWITCH FIRST_MS LAST_MS REGEX: kill -9, and nobody comes: every rank of the job must end naming who is gone, none
# before FIRST and none after LAST, which are its deadlines: of who hears nothing, and of who waits for the others to come back.
does_not_return() {
    local job=$1 victim=$2 first=$3 last=$4 from
    from=$(wall_ns)
    net_switch_kill "$victim"
    load_ends_in_error "$job" $((last / 1000 + 2)) "$5"
    errors_after "$job" "$from" >"$TMP/errors.$job"
    say "kill -9 of $victim for good: errors after $(percentiles <"$TMP/errors.$job"), deadlines $first and $last ms"
    check "errors when $victim is gone: soon after the last deadline" below $((last + 300 * PATIENCE)) "$TMP/errors.$job"
    check "nobody gives up before the deadline" test "$(sort -n "$TMP/errors.$job" | head -n 1)" -ge $(((first - 50) * 1000))
}

# ---- workers ----

# dies JOB RANK: kill -9 of a rank; the others must say so within a second, naming it. Times go to $TMP/deaths.
dies() {
    local job=$1 rank=$2 from pid
    pid=$(load_pid "$job" "$rank")
    from=$(wall_ns)
    { kill -KILL "$pid"; wait "$pid"; } 2>/dev/null
    load_ends_in_error "$job" 5 "rank [0-9]+: .*: rank $rank \\(10\\.99\\.0\\.[0-9]+:[0-9]+\\) is gone" "$rank"
    errors_after "$job" "$from" >>"$TMP/deaths"
}

# deaths COUNT NAME: so many jobs, of each of which one rank dies.
deaths() {
    local i
    : >"$TMP/deaths"
    for ((i = 0; i < $1; i++)); do
        load_start "$2$i" 60 4096 65536 2000
        sleep "0.$((RANDOM % 2))$((RANDOM % 9 + 1))"
        dies "$2$i" $((i % $(load_ranks "$2$i")))
    done
    say "kill -9 of a worker: the errors of the others after $(percentiles <"$TMP/deaths")"
    within "errors when a rank dies" 1000 "$TMP/deaths"
}

# Packets of each link so far, both ways: "node packets".
links_now() {
    local node out in
    for node in "${!NET_ABOVE[@]}"; do
        read -r out _ < <(sent "$node")
        read -r in _ < <(received "$node")
        echo "$node $((out + in))"
    done | sort
}

# What waiting may put on a link in a second, both ways together. Every fragment under way is probed again after twice as long, up to a
# second, and a probe is answered by one packet; a job of steps up to 16 KiB, four at most at a time, has 48 fragments of
# 1408 bytes under way, which makes 96, and a few for the silence of the root and the session. Under load a link carries thousands.
STORM_PER_S=100

# stops JOB RANK SECONDS: SIGSTOP of a rank of a job of small steps (1 to 16 KiB); the others wait, say for whom and where, keep their links quiet, and go on when it goes on.
stops() {
    local job=$1 rank=$2 seconds=$3 other=$((($2 + 1) % $(load_ranks "$1"))) from most
    kill -STOP "$(load_pid "$job" "$rank")"
    sleep "$(awk "BEGIN { print 0.5 * $PATIENCE }")" # what was under way arrives
    links_now >"$TMP/links.before"
    sleep "$(awk "BEGIN { print $seconds - 0.5 }")"
    links_now >"$TMP/links.after"
    most=$(join "$TMP/links.before" "$TMP/links.after" | awk '{ n = $3 - $2; if (n > most) most = n } END { print most + 0 }')
    say "SIGSTOP of rank $rank for $seconds s: $(join "$TMP/links.before" "$TMP/links.after" | awk '{ printf "%s%s %d", (NR > 1 ? ", " : ""), $1, $3 - $2 }') packets on the links"
    check "no storm: at most $most packets on a link" test "$most" -le "$(awk "BEGIN { print ($seconds - 0.5) * $STORM_PER_S }")"
    for pid in ${JOB_PIDS[$job]}; do
        check "nobody gives up on rank $rank" kill -0 "$pid"
    done
    check "the others say who is missing, and where" wait_for 5 grep -q "rank $rank is missing on fragment [0-9]* since [1-9]" "$TMP/$job.$other"
    from=$(wall_ns)
    kill -CONT "$(load_pid "$job" "$rank")"
    CHECKS=$((CHECKS + 1))
    wait_for 5 goes_on "$job" "$from" || { fail "job $job stands still after SIGCONT"; show "$TMP/$job".[0-9] "$TMP"/s*.log; }
    say "   first operation after SIGCONT: $(cost "$job" "$from" "$from" | cut -d ' ' -f 1 | percentiles)"
}

# ---- links ----

# cuts JOB NODE COUNT SECONDS...: the link of NODE is away for SECONDS, in turn.
cuts() { thrice "median of the first operation after a cut of the link of $2: at most 350 ms" cut_again "$@"; }
cut_again() {
    local job=$1 node=$2 count=$3 i from
    shift 3
    for ((i = 0; i < count; i++)); do
        sleep "0.$((RANDOM % 3 + 1))"
        from=$(wall_ns)
        link_cut "$node"
        sleep "${@:i % $# + 1:1}"
        link_mend "$node"
        after "$job" "cut of the link of $node" "$from" "$(wall_ns)" || return
    done
    costs "$job" "cut of the link of $node" 350
}

# ---- jobs ----

# beside JOB COUNT NAME: so many other jobs start; the death of every rank of one at once is no business of JOB.
beside() { thrice "a job beside others that die is undisturbed: no step is longer than 250 ms" undisturbed "$@"; }
undisturbed() {
    local job=$1 i from to other
    : >"$TMP/beside"
    for ((i = 0; i < $2; i++)); do
        other=$3-$SECONDS-$i
        load_start "$other" 600 4096 65536
        from=$(wall_ns)
        # shellcheck disable=SC2086
        { kill -KILL ${JOB_PIDS[$other]}; wait ${JOB_PIDS[$other]}; } 2>/dev/null
        unset "JOB_PIDS[$other]"
        sleep 0.5
        to=$(wall_ns)
        CHECKS=$((CHECKS + 1))
        wait_for 5 goes_on "$job" "$to" || fail "job $job stands still"
        longest_step "$job" "$from" "$to" >>"$TMP/beside"
    done
    say "kill -9 of all ranks of another job: longest step of this one meanwhile $(percentiles <"$TMP/beside")"
    below $((250 * PROMISE)) "$TMP/beside"
}
