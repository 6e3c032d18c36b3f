/* SPDX-License-Identifier: Apache-2.0 */
/* choice.c: which kernels this CPU gets: of values (value.h), of tags (tag.h) and of GHASH (ghash.h). CRC32C has no
 * table of kernels, and chooses in crc32c.c. Read next: cpu.h. */
#include <stddef.h>

#include "core/cpu.h"
#include "core/ghash_kernels.h"
#include "core/tag_kernels.h"
#include "core/value_kernels.h"

static bool runs_always(void)
{
    return true;
}

static bool is_same_name(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

#ifdef __x86_64__
static bool runs_value_avx512(void)
{
    return trib_cpu_has_avx2_floats() && trib_cpu_has_avx512() && __builtin_cpu_supports("avx512bw");
}

static bool runs_tag_ifma(void)
{
    return trib_cpu_has_avx512() && __builtin_cpu_supports("avx512ifma");
}
#endif

/* Defines both functions of one kind of kernel, of the kernels in `table`, the best first; the last runs always. */
#define CHOICE(kind, best, by_name, table)                             \
    const struct kind *best(void)                                      \
    {                                                                  \
        size_t i = 0;                                                  \
        while (!(table)[i].runs()) {                                   \
            i++;                                                       \
        }                                                              \
        return (table)[i].kernel;                                      \
    }                                                                  \
    const struct kind *by_name(const char *name)                       \
    {                                                                  \
        for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++) { \
            if (is_same_name(name, (table)[i].kernel->name)) {         \
                return (table)[i].runs() ? (table)[i].kernel : NULL;   \
            }                                                          \
        }                                                              \
        return NULL;                                                   \
    }

static const struct {
    const struct trib_value_kernels *kernel;
    bool (*runs)(void);
} values[] = {
#ifdef __x86_64__
    {&trib_value_avx512, runs_value_avx512},
    {&trib_value_avx2, trib_cpu_has_avx2_floats},
#endif
    {&trib_value_scalar, runs_always},
};

CHOICE(trib_value_kernels, trib_value_kernels, trib_value_kernels_named, values)

static const struct {
    const struct trib_tag_kernel *kernel;
    bool (*runs)(void);
} tags[] = {
#ifdef __x86_64__
    {&trib_tag_ifma, runs_tag_ifma},
    {&trib_tag_avx2, trib_cpu_has_avx2},
#endif
    {&trib_tag_scalar, runs_always},
};

CHOICE(trib_tag_kernel, trib_tag_kernel, trib_tag_kernel_named, tags)

static const struct {
    const struct trib_ghash_kernel *kernel;
    bool (*runs)(void);
} ghashes[] = {
#ifdef __x86_64__
    {&trib_ghash_vpclmul, trib_cpu_has_vpclmul},
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    {&trib_ghash_clmul, trib_cpu_has_clmul},
#endif
    {&trib_ghash_scalar, runs_always},
};

CHOICE(trib_ghash_kernel, trib_ghash_kernel, trib_ghash_kernel_named, ghashes)
