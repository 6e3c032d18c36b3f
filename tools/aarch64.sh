#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kernels on 64-bit ARM: src/core and its tests are compiled for it, and the tests run under qemu's emulation. All other code of the
# library is compiled as far as its headers go. Exit status 77, with a word: there is no compiler or no emulator.
set -uo pipefail
cd "$(dirname "$0")/.."
CC=${CC_AARCH64:-aarch64-linux-gnu-gcc}
for tool in "$CC" qemu-aarch64; do
    command -v "$tool" >/dev/null || { echo "   aarch64 left out: there is no $tool"; exit 77; }
done
OUT=build-aarch64
mkdir -p $OUT
# As cmake/flags.cmake has them.
FLAGS=(-std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off -fno-math-errno -Isrc -Iinclude)
TESTS=(value value_reduce value_rows slot crc32c ghash lane types packet window share operation)

library=(src/core/*.c)
for file in "${library[@]}"; do
    object=$OUT/$(basename "$file" .c).o
    special=()
    [[ $file = src/core/*_clmul.c ]] && special=(-march=armv8-a+crc+crypto)
    "$CC" "${FLAGS[@]}" "${special[@]}" -c "$file" -o "$object" || exit 1
done
bad=0
for file in src/{protocol,schemes,schemes/*,published/*,host,io,keys,net,control,control/*,comm,switchd}/*.c; do
    case $file in *http.c | *_openssl.c | *'*'*) continue ;; esac # its libraries are of this machine
    "$CC" "${FLAGS[@]}" -D_GNU_SOURCE= -DTRIB_VERSION='"0"' -fsyntax-only "$file" || bad=1
done
for test in "${TESTS[@]}"; do
    "$CC" "${FLAGS[@]}" -O1 -static -Itests/aarch64 -Itests "tests/unit/test_$test.c" src/io/assert.c $OUT/*.o -lm -o "$OUT/test_$test" &&
        qemu-aarch64 "$OUT/test_$test" || { echo "test_$test fails on aarch64"; bad=1; }
done
exit $bad
