/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h: what libFuzzer, or replay.c in its place, calls in every fuzz_*.c. */
#ifndef TRIB_TESTS_FUZZ_H
#define TRIB_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
