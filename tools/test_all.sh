#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make test-all`: what takes longer than `make test` or needs more tools. Names of steps as arguments run only those; `nightly` (`make
# test-nightly`) are those whose long form CI has no time for: model_all, asan_all, tsan_all.
set -uo pipefail
. "$(dirname "$0")/steps.sh"

tools/deps.sh build test http all || exit 1

# Scripts that need root or namespaces, and those too long for `make test`.
run_integration() {
    step build-release preset release && tests integration build -L integration -LE user
}

# Every state of the small worlds; of the largest the first 4 million, breadth first: what the canaries are found with.
run_model() {
    step build-release preset release && step model build/bin/model --states 4000000 --jobs "$jobs"
}

# Every state of every small world.
run_model_all() {
    step build-release preset release && step model-all build/bin/model --jobs "$jobs" &&
        step model-panama build/bin/model --scheme panama --quick --jobs "$jobs"
}

# Seeded defects: the worlds and the search must notice each.
run_canary() {
    step canary tests/canary/run.py
}

# AddressSanitizer and UndefinedBehaviorSanitizer: what `make test` runs, but of its scripts only those that reach code which no unit test does
# in its own process: the program's arguments, the simulator's pages and sweeps, the daemon, its HTTP, processes that are killed. Not the tensors
# of gigabytes, and not all of the reproduction, of which unit tests have every experiment: both only take longer.
processes='^integration/(cli|doctor|http|jobs|faults|tree_faults|switches|fallback|sim)\.user$'
run_asan() {
    step build-asan preset asan && TRIB_PATIENCE=2 tests asan build-asan -LE 'root|net|user' -E '^integration/(large|reproduce_all)$' &&
        TRIB_PATIENCE=2 tests asan-scripts build-asan -L user -R "$processes"
}

# All scripts, and as many worlds as without a sanitizer.
run_asan_all() {
    step build-asan preset asan && TRIB_PATIENCE=4 tests asan-all build-asan -LE 'root|net' -E '^(integration/large|world)$' &&
        step asan-worlds build-asan/bin/world --seeds 2000 --jobs "$jobs"
}

# ThreadSanitizer where there are threads; of the scripts those in which the daemon's threads, or a rank's, meet what unit tests do not have:
# HTTP, and processes that are killed. What the relays' tests of faults have is one thread, with a clock of its own.
run_tsan() {
    step build-tsan preset tsan &&
        TRIB_PATIENCE=4 tests tsan build-tsan -L '^(io|comm|control|switchd|cli)$' -E '^unit/test_relay_faults$' &&
        TRIB_PATIENCE=4 tests tsan-scripts build-tsan -R '^integration/(http|events|switches)\.user$'
}

run_tsan_all() {
    step build-tsan preset tsan && TRIB_PATIENCE=10 tests tsan-all build-tsan -L '^(io|comm|control|switchd|cli|user)$'
}

# clang: the same warnings as errors, and the same bits from another compiler.
run_clang() {
    step build-clang preset clang && tests clang build-clang -L '^(core|schemes)$' -LE '^integration$'
}

# MemorySanitizer where nothing outside the tree is called.
run_msan() {
    step build-msan preset msan && tests msan build-msan -L '^(core|schemes)$' -LE '^(io|comm|control|switchd|cli)$'
}

run_fuzz() {
    step build-fuzz preset fuzz && tests fuzz build-fuzz -L fuzz
}

# Branches of the packet decoder and of the nodes that the tests take.
run_coverage() {
    step coverage tools/coverage.sh
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

# As `make demo` builds: no cmocka, no HTTP. Installed to a scratch folder, and used from there by a small program.
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

bare() {
    build build-bare -D TRIB_TESTS=OFF -D TRIB_HTTP=OFF -D TRIB_WERROR=ON
}

run_install() {
    step build-bare bare && step install consumer
}

# PyTorch over the wheel of this tree, against gloo; left out, with a word, where torch cannot be had.
run_torch() {
    local start=$SECONDS junit=$PWD/build/torch.xml
    step build-release preset release || return
    echo "== torch"
    tools/torch.sh prepare || { [ $? -eq 77 ] || count torch 0 1 $((SECONDS - start)); return; }
    rm -f "$junit"
    tools/torch.sh test "$junit"
    count_junit torch "$junit" $((SECONDS - start))
}

# The simulator against ns-3; left out, with a word, where that cannot be had.
run_ns3() {
    step build-release preset release || return
    if tools/deps.sh ns3; then step ns3 tests/ns3/compare.py; else echo "   ns3 left out"; fi
}

if [ "${1:-}" = nightly ]; then
    set -- model_all asan_all tsan_all
fi
for name in "${@:-integration model canary asan tsan clang msan fuzz coverage headers install torch ns3}"; do
    for part in $name; do
        "run_$part"
    done
done
finish
