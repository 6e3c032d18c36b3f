# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that check something: runs named steps, goes on after a failure, and counts.
#   step NAME COMMAND...        one command, one count
#   tests NAME DIR ARGUMENT...  ctest in a build folder; counts its tests
#   lane NICE STEP...           runs run_STEP of each, one after another, in the background; prints what each said when it ends
#   finish                      waits for lanes, prints "N passed, N failed" and exits accordingly
# Counts and seconds are lines of $TRIB_RESULTS, of which .ci/run makes a table.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=$(nproc)
not_everyday='integration/([^.]*|.*\.(root|net))' # names in ctest of what `make test` leaves out, besides label root
places=$((3 * jobs)) # of tests, which mostly wait; cmake/tests.cmake says how many each takes
[ -n "${TRIB_RESULTS:-}" ] || { TRIB_RESULTS=$(mktemp); trap 'rm -f "$TRIB_RESULTS"' EXIT; }
export TRIB_RESULTS
export CCACHE_NOHASHDIR=1 # what build has compiled serves build-bare; debuggers look for sources in the first
counted=$(wc -l <"$TRIB_RESULTS") # by others, before
lanes=()
read -ra built <<<"${TRIB_BUILT:-}" # presets that who called has built
# Sanitizers of this age may fail under the widest address space randomisation.
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()

# cpu_seconds: sets CPU to those of all that this shell has waited for: what steps cost, whatever else the machine does.
cpu_seconds() {
    local file line=() parts
    file=$(mktemp)
    times >"$file"
    mapfile -t line <"$file"
    rm -f "$file"
    IFS=' ms' read -ra parts <<<"${line[1]}" # of children: 1m2.345s 0m6.789s
    CPU=$((60 * (parts[0] + parts[2]) + ${parts[1]%.*} + ${parts[3]%.*}))
}
CPU=0

count() { # name passed failed seconds
    local before=$CPU
    cpu_seconds
    echo "-- $1: $2 passed, $3 failed, $4 s, $((CPU - before)) s of CPU"
    echo "$2 $3 $1 $4 $((CPU - before))" >>"$TRIB_RESULTS"
}

step() { # name command...
    local name=$1 start=$SECONDS
    shift
    echo "== $name"
    if "$@"; then
        count "$name" 1 0 $((SECONDS - start))
    else
        count "$name" 0 1 $((SECONDS - start))
        return 1
    fi
}

# Which tests were skipped, and why: what they said of it.
skipped_in() { # file
    awk '/<testcase / { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name); skipped = said = 0 }
         /<skipped|status="disabled"/ { skipped = 1 }
         skipped && !said && /skipped: / { sub(/.*skipped: /, ""); sub(/<.*/, ""); print "   skipped " name ": " $0; said = 1 }
         /<\/testcase>/ && skipped && !said { print "   skipped " name }' "$1"
}

count_junit() { # name file seconds: what ctest or pytest has written
    local total bad skipped
    attribute() { # name file: 0 if it has none
        local value
        value=$(sed -n "s/.*\b$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1)
        echo "${value:-0}"
    }
    if ! [ -s "$2" ]; then
        count "$1" 0 1 "$3"
        return 1
    fi
    total=$(attribute tests "$2")
    bad=$(($(attribute failures "$2") + $(attribute errors "$2")))
    skipped=$(($(attribute skipped "$2") + $(attribute disabled "$2")))
    [ "$skipped" -eq 0 ] || skipped_in "$2"
    count "$1" $((total - bad - skipped)) "$bad" "$3"
    [ "$bad" -eq 0 ]
}

# Of what ctest says: how far it is, which tests failed, and what those printed.
follow() {
    local line number of name seconds verdict said=0 fails=0 result='^ *([0-9]+)/([0-9]+) +Test +#[0-9]+: ([^ ]+) \.*(.*[^ ]) +([0-9.]+) sec'
    while IFS= read -r line; do
        if [[ $line =~ $result ]]; then
            number=${BASH_REMATCH[1]} of=${BASH_REMATCH[2]} name=${BASH_REMATCH[3]} seconds=${BASH_REMATCH[5]} fails=0
            verdict=${BASH_REMATCH[4]##*[ *]}
            case $verdict in
            Passed | Skipped) ;;
            *) echo "   FAILED $name ($verdict after $seconds s):"; fails=1 ;;
            esac
            if [ -t 1 ]; then
                printf '   %s of %s\r' "$number" "$of"
            elif [ $((10 * number / of)) -gt "$said" ]; then
                said=$((10 * number / of))
                echo "   $number of $of"
            fi
        elif [[ $line =~ ^\ *Start\ |^[0-9]+%\ tests\ passed ]]; then
            fails=0
        elif [ "$fails" -eq 1 ] && [ -n "$line" ]; then
            echo "      $line"
        elif [[ $line =~ ^(No tests|CMake Error|Errors) ]]; then
            echo "   $line"
        fi
    done
}

tests() { # name build-folder ctest-arguments...
    local name=$1 dir=$2 start=$SECONDS junit
    shift 2
    echo "== $name"
    junit=$PWD/$dir/$name.xml
    rm -f "$junit"
    "${fixed[@]}" ctest --test-dir "$dir" -j "$places" --output-on-failure --output-junit "$junit" --no-tests=error "$@" 2>&1 | follow
    count_junit "$name" "$junit" $((SECONDS - start))
}

# What steps with the release build begin with; it is built once.
release() { [[ " ${built[*]} " == *" release "* ]] || step build preset release; }

# A new folder is built by Ninja where it is installed: with all objects in the cache, make needs 44 s of CPU and Ninja 24.
build() { # folder, cmake arguments...; shows warnings and errors only
    local dir=$1 generator=()
    shift
    [ -e "$dir/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
    cmake -S . -B "$dir" "${generator[@]}" --log-level=NOTICE "$@" >/dev/null || return 1
    MAKEFLAGS=--no-print-directory cmake --build "$dir" -j "$jobs" 2>&1 | grep -vE '^(\[ *[0-9]+(%|/[0-9]+)\]|ninja: no work to do)' ||
        [ "${PIPESTATUS[0]}" -eq 0 ]
}

preset() { # name of a preset: build-NAME, and build for release; once, since lanes must not build in one folder at the same time
    [[ " ${built[*]} " != *" $1 "* ]] || return 0
    if [ "$1" = release ]; then
        build build --preset "$1" && built+=("$1")
    else # on CI's new machine nothing would be found in the compiler's cache
        ([ -z "${CI:-}" ] || export CCACHE_DISABLE=1; build "build-$1" --preset "$1") && built+=("$1")
    fi
}

lane() { # niceness, step...
    local step log nice=$1
    shift
    (
        renice -n "$nice" "$BASHPID" >/dev/null
        CPU=0
        for step in "$@"; do
            log=$(mktemp)
            ("run_$step"; exit 0) >"$log" 2>&1 || count "$step" 0 1 0 # ended in the middle of it
            cat "$log"
            rm -f "$log"
        done
        exit 0
    ) &
    lanes+=($!)
}

finish() {
    local passed failed pid
    for pid in "${lanes[@]}"; do
        wait "$pid" || count lane 0 1 0 # was killed
    done
    read -r passed failed < <(tail -n +$((counted + 1)) "$TRIB_RESULTS" | awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }')
    tail -n +$((counted + 1)) "$TRIB_RESULTS" | awk '$2 > 0 { print "failed: " $3 }'
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
