/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: instruction sets of the CPU, for the choice of kernels in choice.c and crc32c.c. Internal.
 *
 * On x86 the compiler's run-time support has asked the CPU before main, and the operating system whether registers are
 * saved: no state here, a few loads a call. */
#ifndef TRIB_CORE_CPU_H
#define TRIB_CORE_CPU_H

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)

/* Carry-less products of 64 bits. */
static inline bool trib_cpu_has_clmul(void)
{
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
}

/* The same, four at once. */
static inline bool trib_cpu_has_vpclmul(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && trib_cpu_has_clmul();
}

static inline bool trib_cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

/* Conversions of 16-bit floats as well. Not every compiler's builtin knows f16c by name. */
static inline bool trib_cpu_has_avx2_floats(void)
{
    unsigned int eax, ebx, ecx, edx;
    return trib_cpu_has_avx2() && __builtin_cpu_supports("fma") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
           (ecx & bit_F16C) != 0;
}

static inline bool trib_cpu_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

#elif defined(__aarch64__)

/* And the crc32 instructions. */
static inline bool trib_cpu_has_clmul(void)
{
    const unsigned long needed = 1UL << 4 | 1UL << 7; /* HWCAP_PMULL, HWCAP_CRC32 */
    return (getauxval(AT_HWCAP) & needed) == needed;
}

#endif

#endif
