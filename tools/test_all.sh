#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make test-all`: what takes longer than `make test` or needs more tools. Names of steps as arguments run only those, one after another; `ci`
# (.ci/run) are those of `make test` and `make lint` as well; `nightly` (`make test-nightly`) those whose long form CI has no time for.
#
# Tests mostly wait, and other steps compute: these, at low priority, have what the tests leave. Three lanes, of which each runs its steps one
# after another: tests, and then canaries; what is on links, or is PyTorch; what computes.
set -uo pipefail
. "$(dirname "$0")/steps.sh"

# These lanes alone make threads wait for a core, and CI may have other work beside it.
export TRIB_PATIENCE=${TRIB_PATIENCE:-3}

tools/deps.sh build test http tls plan all || exit 1

# As `make test`, but for what the step canary does as well.
run_test() {
    release && tests tests build -LE root -E "^($not_everyday|canary/check)\$"
}

run_lint() {
    TRIB_BUILT=release tools/lint.sh | sed -u '$d' # its count, which is in ours
}

run_lint_all() {
    TRIB_BUILT=release tools/lint.sh deep | sed -u '$d'
}

# Scripts that need root or namespaces, and those too long for `make test`.
run_integration() {
    release && tests integration build -L integration -LE user -E '^integration/reproduce_all$'
}

# Those that compute, or move gigabytes, for minutes.
run_integration_all() {
    release && tests integration-all build -R '^integration/reproduce_all$' &&
        step large-all env TRIBUTARY="$PWD/build/bin/tributary" BUILD_DIR="$PWD/build" TRIB_PATIENCE=4 bash tests/integration/large.sh all
}

# Of the worlds that `make test` does not search: every state of the smallest, of larger ones the first 400,000.
run_model() {
    release && step model build/bin/model --rest --states 400000 --jobs "$jobs"
}

# Every state of every small world.
run_model_all() {
    release && step model-all build/bin/model --jobs "$jobs" &&
        step model-panama build/bin/model --scheme panama --quick --jobs "$jobs"
}

# Seeded defects: each must be caught; in the long form by worlds and search both.
run_canary() {
    step canary tests/canary/run.py --first
}

run_canary_all() {
    step canary-all tests/canary/run.py
}

# AddressSanitizer and UndefinedBehaviorSanitizer: what `make test` runs, but of its scripts only those that reach code which no unit test does
# in its own process: the program's arguments, the simulator's pages and sweeps, the daemon, its HTTP, processes that are killed. Not the tensors
# of gigabytes, and not all of the reproduction, of which unit tests have every experiment: both only take longer.
processes='^integration/(cli|doctor|http|jobs|faults|tree_faults|switches|fallback|sim)\.user$'
run_asan() {
    step build-asan preset asan && TRIB_PATIENCE=4 tests asan build-asan -LE 'root|net|user' \
        -E '^(integration/(large|reproduce_all)|unit/test_(sim_reference|sim_levers|reproduce|reproduce_cluster))$' &&
        TRIB_PATIENCE=4 tests asan-scripts build-asan -L user -R "$processes"
}

# All scripts but that of the whole reproduction (unit tests have every experiment; it takes more than 900 s), and as many worlds as without a
# sanitizer.
run_asan_all() {
    step build-asan preset asan && TRIB_PATIENCE=4 tests asan-all build-asan -LE 'root|net' -E '^(integration/(large|reproduce_all)|world|world_forward)$' &&
        step asan-worlds build-asan/bin/world --seeds 2000 --jobs "$jobs" &&
        step asan-forward build-asan/bin/world --scheme forward --seeds 300 --jobs "$jobs" && step asan-model build-asan/bin/model --quick --jobs "$jobs"
}

# ThreadSanitizer where there are threads; of the scripts those in which the daemon's threads, or a rank's, meet what unit tests do not have:
# HTTP, and processes that are killed.
run_tsan() {
    step build-tsan preset tsan &&
        TRIB_PATIENCE=4 tests tsan build-tsan -L '^(io|port|comm|control|switchd|cli)$' -LE '^alone$' &&
        TRIB_PATIENCE=4 tests tsan-scripts build-tsan -R '^integration/(http|events|switches)\.user$'
}

# Simulations have one thread, and take ten times as long.
run_tsan_all() {
    step build-tsan preset tsan && TRIB_PATIENCE=10 tests tsan-all build-tsan -L '^(io|port|comm|control|switchd|cli|user)$' -LE '^alone$' \
        -E '^integration/(sim|accuracy|reproduce)\.user$'
}

# Threads that stand still now and then, before and behind system calls (tests/slow/slow_calls.c): what takes for granted that one is quick.
slow() { # name seed ctest-arguments...
    (
        places=$((6 * jobs)) # they sleep
        export LD_PRELOAD=$PWD/build/tests/slow/libslow_calls.so SLOW_SEED=$2 TRIB_PATIENCE=5
        tests "$1" build -L '^(comm|control|switchd)$' -LE '^(integration|sim|cli|property|host)$' "${@:3}"
    )
}

# Those that wait for minutes then are left to nightly.
run_slow() {
    release && slow slow 1 -E '^(unit/test_(leaves_faults|leaving|move)|api)$'
}

run_slow_all() {
    local seed
    release || return
    for seed in 2 3 4 5 6 7 8 9; do
        slow "slow-$seed" "$seed" -E '^unit/test_leaves_faults$'
    done
}

# The public C API at random, for half an hour.
run_api_long() {
    release && step api-long build/bin/api --kept tests/api/cases.txt --lanes 6 --seed "$(date +%s)" --seconds 1800
}

# The control plane at full size.
run_scale() {
    release && step scale build/bin/scale --seconds 2
}

# The same for long, with all that its data must be after each second.
run_scale_long() {
    release && step scale-long build/bin/scale --trees 8 --seconds 12 --check --seed "$(date +%s)"
}

# clang: the same warnings as errors, of every file. The same bits from another compiler are the coverage step's business.
run_clang() {
    step clang-warnings tools/clang_warnings.py build
}

# And optimised without counters.
run_clang_all() {
    step build-clang preset clang && tests clang build-clang -L '^(core|schemes)$' -LE '^integration$'
}

# MemorySanitizer where nothing outside the tree is called; what takes longest, of code that others run as well, is left to nightly.
run_msan() {
    step build-msan preset msan && tests msan build-msan -L '^(core|schemes)$' -LE '^(io|port|comm|control|switchd|cli)$' \
        -E '^(unit/test_sim_reference|world_forward)$'
}

run_msan_all() {
    step build-msan preset msan && tests msan-all build-msan -L '^(core|schemes)$' -LE '^(io|port|comm|control|switchd|cli)$'
}

# As long as the preset says; and in the long form a minute each.
run_fuzz() {
    step build-fuzz preset fuzz && tests fuzz build-fuzz -L fuzz
}

run_fuzz_all() {
    step build-fuzz build build-fuzz --preset fuzz -D TRIB_FUZZ_SECONDS=60 && tests fuzz-all build-fuzz -L fuzz
}

# Branches of the packet decoder and of the nodes that the tests take.
run_coverage() {
    step build-coverage preset coverage && step coverage tools/coverage.sh
}

# Every public header compiles alone, as C11 and as C++17, with both compilers.
headers() {
    local header compiler bad=0
    for header in include/tributary/*.h; do
        for compiler in "gcc -std=c11 -x c" "clang -std=c11 -x c" "g++ -std=c++17 -x c++" "clang++ -std=c++17 -x c++"; do
            echo "#include <${header#include/}>" |
                $compiler -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Iinclude - || { echo "$header: $compiler"; bad=1; }
        done
    done
    return $bad
}

# The switch's step for one contribution must also compile for BPF.
bpf() {
    local header bad=0
    for header in src/core/slot.h src/core/window.h src/core/lane.h; do
        clang -target bpf -ffreestanding -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-function -Isrc -Iinclude \
            -x c -c "$header" -o /dev/null || { echo "$header"; bad=1; }
    done
    return $bad
}

run_headers() {
    step headers headers
    step bpf bpf
}

# As `make demo` builds: no cmocka, no HTTP, no solver. Installed to a scratch folder, and used from there by a small program.
consumer() {
    local root flags
    root=$PWD/build-bare/root
    rm -rf "$root" build-bare/consumer
    make install BUILD=build-bare PREFIX="$root" >/dev/null || return 1
    cmake -S tests/consumer -B build-bare/consumer -D CMAKE_PREFIX_PATH="$root" --log-level=NOTICE &&
        cmake --build build-bare/consumer -- --no-print-directory -s &&
        build-bare/consumer/consumer && build-bare/consumer/consumer_static || return 1
    flags=$(PKG_CONFIG_PATH=$root/lib/pkgconfig:$(echo "$root"/lib/*/pkgconfig) pkg-config --cflags --libs tributary) || return 1
    # shellcheck disable=SC2086
    cc -std=c11 -Wall -Werror tests/consumer/consumer.c $flags -o build-bare/consumer_pc &&
        build-bare/consumer_pc &&
        "$root/bin/tributary" --help >/dev/null
}

# Without TRIB_WERROR, or nothing that is in the compiler's cache would serve; a warning is an error all the same.
bare() {
    local warnings
    warnings=$(build build-bare -D TRIB_TESTS=OFF -D TRIB_HTTP=OFF -D TRIB_PLAN=OFF 2>&1) && [ -z "$warnings" ] && return
    echo "$warnings"
    return 1
}

run_install() {
    step build-bare bare && step install consumer
}

# PyTorch over the wheel of this tree, against gloo; left out, with a word, where torch cannot be had.
run_torch() {
    local start=$SECONDS junit=$PWD/build/torch.xml
    release || return
    echo "== torch"
    tools/torch.sh prepare || { [ $? -eq 77 ] || count torch 0 1 $((SECONDS - start)); return; }
    rm -f "$junit"
    tools/torch.sh test "$junit"
    count_junit torch "$junit" $((SECONDS - start))
    # Of PyTorch's own tests of a backend one or two of each kind; all of them are nightly's.
    step torch-suite tools/torch.sh suite 3 test_DistributedDataParallelCPU test_all_gather_object_subgroup \
        test_all_reduce_coalesced_sum test_barrier_timeout_global test_batch_isend_irecv_gloo_tags test_ddp_logging_data_cpu \
        test_gather test_get_future test_irecv test_isend_torch_profiler test_monitored_barrier_gloo_subgroup \
        test_reduce_sum_twice test_scatter_checks test_send_recv_any_source_torch_profiler
}

run_torch_suite_all() {
    local ranks
    release || return
    tools/torch.sh prepare || return
    for ranks in 3 4; do
        step "torch-suite-$ranks" tools/torch.sh suite "$ranks"
    done
}

# The kernels on 64-bit ARM; left out, with a word, where neither compiler nor emulator can be had.
run_aarch64() {
    tools/deps.sh aarch64 || echo "   its packages cannot be had"
    if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
        step aarch64 tools/aarch64.sh
    else
        echo "   aarch64 left out"
    fi
}

# The simulator against ns-3; left out, with a word, where that cannot be had.
run_ns3() {
    release || return
    if tools/deps.sh ns3; then step ns3 tests/ns3/compare.py; else echo "   ns3 left out"; fi
}

case ${1:-all} in
all | ci)
    release || finish
    lane 0 slow integration torch
    if [ "${1:-all}" = ci ]; then
        lane 10 lint clang headers aarch64 install ns3 coverage msan fuzz model scale
        set -- test asan tsan canary
    else
        lane 10 clang headers aarch64 install ns3 coverage msan fuzz model scale
        set -- asan tsan canary
    fi
    ;;
nightly)
    release || finish
    lane 0 slow_all integration_all torch_suite_all api_long scale_long
    lane 10 model_all canary_all clang_all msan_all lint_all fuzz_all
    set -- asan_all tsan_all
    ;;
esac
( # this shell waits for the lanes too, whose CPU time would count for the step in which they end
    CPU=0
    for name in "$@"; do
        "run_$name"
    done
)
finish
