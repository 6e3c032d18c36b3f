/* SPDX-License-Identifier: Apache-2.0 */
/* tag.c: what a lane with a key costs (core/tag.h): the hash of a payload of 8,192 and of 1,408 bytes by each kernel,
 * and the masks that a fragment takes at its two ends. ns of CPU time, the least of 31 timings. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "core/tag.h"

#define BUFFERS 64
#define TIMINGS 31
#define CALLS 2048

static unsigned char payloads[BUFFERS][8192];
static struct trib_tag tag;
static struct trib_tag_memory memory;
static uint64_t used; /* sum of all results, so that the compiler keeps the calls */

static double now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void hash(uint64_t call, size_t len)
{
    used += trib_tag_hash(&tag, payloads[call % BUFFERS], len);
}

static void masks(uint64_t call, size_t len)
{
    const struct trib_tag_id id = {.sequence = call};

    (void)len;
    used += trib_tag_mask(&tag, &memory, &id, 1) + trib_tag_mask_of_all(&tag, &memory, &id);
}

static double least_ns(void (*step)(uint64_t call, size_t len), size_t len)
{
    double least = 1e18;

    for (uint64_t i = 0; i < TIMINGS; i++) {
        double begin = now_ns();
        for (uint64_t call = 0; call < CALLS; call++) {
            step(i * CALLS + call, len);
        }
        double took = (now_ns() - begin) / CALLS;
        least = took < least ? took : least;
    }
    return least;
}

int main(void)
{
    static const char *const names[] = {"scalar", "avx2", "ifma"};
    uint8_t key[TRIB_TAG_KEY] = {1};

    for (size_t i = 0; i < sizeof payloads; i++) {
        payloads[i / 8192][i % 8192] = (unsigned char)(i * 77);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct trib_tag_kernel *kernel = trib_tag_kernel_named(names[i]);
        if (kernel != NULL) {
            trib_tag_init(&tag, kernel, key, 4);
            printf("%-8s 8192 bytes %5.0f ns, 1408 bytes %5.0f ns\n", names[i], least_ns(hash, 8192),
                   least_ns(hash, 1408));
        }
    }
    trib_tag_init(&tag, trib_tag_kernel(), key, 4);
    printf("masks of a fragment at both ends %.0f ns\n", least_ns(masks, 0));
    return used == 0;
}
