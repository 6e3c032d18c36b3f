/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.c: how fast each implementation of CRC32C is on this CPU, for the lengths that packets have. The buffer stays
 * in the first-level cache, as a packet that has just been received or summed does. Each call continues the last one's
 * crc, as header and payload are chained, so that calls do not overlap. Prints the minimum and the median of 31
 * timings. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/cpu.h"
#include "core/crc32c.h"
#include "core/crc32c_fold.h"

#define TIMINGS 31
#define BYTES_PER_TIMING (8U << 20)

struct implementation {
    const char *name;
    uint32_t (*run)(uint32_t crc, const void *data, size_t len);
    int available;
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t measure(const struct implementation *implementation, const uint8_t *data, size_t len)
{
    double timings[TIMINGS];
    uint32_t crc = 0;
    size_t calls = BYTES_PER_TIMING / len;
    for (int i = 0; i < TIMINGS; i++) {
        double start = now_ns();
        for (size_t call = 0; call < calls; call++) {
            crc = implementation->run(crc, data, len);
        }
        timings[i] = (now_ns() - start) / (double)calls;
    }
    qsort(timings, TIMINGS, sizeof timings[0], compare);
    printf("%-8s %6zu %10.2f %10.2f %10.2f\n", implementation->name, len, timings[0], timings[TIMINGS / 2],
           (double)len / timings[TIMINGS / 2]);
    return crc;
}

int main(void)
{
    static const size_t lens[] = {64, 128, 256, 1024, 1408, 1472, 4096, 8192};
    static uint8_t data[8192] __attribute__((aligned(64)));
    struct implementation implementations[] = {
        {"table", trib_crc32c_table, 1},
#if defined(__x86_64__)
        {"clmul", trib_crc32c_clmul, __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2")},
        {"vpclmul", trib_crc32c_vpclmul, __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512bw")},
#elif defined(__aarch64__)
        {"clmul", trib_crc32c_clmul, trib_cpu_has_clmul()},
#endif
        {"chosen", trib_crc32c, 1},
    };
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * 131 + (i >> 8));
    }
    printf("chosen here: %s\n%-8s %6s %10s %10s %10s\n", trib_crc32c_name(), "name", "bytes", "min ns", "median ns",
           "GB/s");
    for (size_t i = 0; i < sizeof implementations / sizeof implementations[0]; i++) {
        for (size_t j = 0; implementations[i].available && j < sizeof lens / sizeof lens[0]; j++) {
            sum ^= measure(&implementations[i], data, lens[j]);
        }
    }
    printf("check %08x\n", (unsigned)sum); /* keeps the work from being optimised away */
    return 0;
}
