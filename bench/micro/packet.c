/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c: nanoseconds to encode and to decode one packet, checksum included, for the payloads in use. Prints the
 * minimum and the median of 31 timings. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tributary/types.h>

#include "core/crc32c.h"
#include "core/packet.h"

#define TIMINGS 31
#define CALLS 20000U

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

static void print(const char *name, size_t payload_len, double *timings)
{
    qsort(timings, TIMINGS, sizeof timings[0], compare);
    printf("%-8s %8zu %10.2f %10.2f\n", name, payload_len, timings[0], timings[TIMINGS / 2]);
}

/* Returns how many packets were dropped: none, or the measurement is of something else. */
static uint32_t measure(uint16_t payload_len)
{
    static uint8_t data[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX] __attribute__((aligned(64)));
    struct trib_packet packet = {
        .kind = payload_len == 0 ? TRIB_PROBE : TRIB_CONTRIBUTION,
        .payload_len = payload_len,
        .payload = payload_len == 0 ? NULL : data + TRIB_HEADER_SIZE,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_SUM,
    };
    double encode[TIMINGS];
    double decode[TIMINGS];
    uint32_t dropped = 0;
    for (int i = 0; i < TIMINGS; i++) {
        double start = now_ns();
        for (uint32_t call = 0; call < CALLS; call++) {
            packet.sequence = packet.mark = call;
            trib_packet_encode(&packet, data);
            __asm__ volatile("" ::: "memory");
        }
        encode[i] = (now_ns() - start) / CALLS;
        start = now_ns();
        for (uint32_t call = 0; call < CALLS; call++) {
            struct trib_packet decoded;
            dropped += trib_packet_decode(data, (size_t)TRIB_HEADER_SIZE + payload_len, &decoded) != TRIB_DROP_NONE;
            __asm__ volatile("" ::"r"(&decoded) : "memory");
        }
        decode[i] = (now_ns() - start) / CALLS;
    }
    print("encode", payload_len, encode);
    print("decode", payload_len, decode);
    return dropped;
}

int main(void)
{
    static const uint16_t payload_lens[] = {0, 1344, 1408, 8192};
    uint32_t dropped = 0;
    printf("checksum: %s\n%-8s %8s %10s %10s\n", trib_crc32c_name(), "what", "payload", "min ns", "median ns");
    for (size_t i = 0; i < sizeof payload_lens / sizeof payload_lens[0]; i++) {
        dropped += measure(payload_lens[i]);
    }
    return dropped == 0 ? 0 : 1;
}
