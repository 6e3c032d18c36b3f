/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.c: the table-driven reference of CRC32C (eight bytes a step), and which implementation this CPU gets.
 * Read next: crc32c_fold.h (the fast ones). */
#include "core/crc32c.h"

#include "core/cpu.h"
#include "core/crc32c_fold.h"

/* x^n mod P for n = 32 to 95, reflected. Row k, from left to right: x^(39-b+8k) for b = 0 to 7, the value of bit b of
 * a byte that 4 + k bytes follow. A table entry is the sum (xor) of its byte's bits. */
#define BASIS(X)                                                                                      \
    X(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78) \
    X(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9) \
    X(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743) \
    X(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f) \
    X(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c) \
    X(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6) \
    X(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4) \
    X(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664)

#define BIT(i, b, basis) ((((i) >> (b)) & 1U) != 0 ? UINT32_C(basis) : 0U)
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                                    \
    BIT(i, 0, b0) ^ BIT(i, 1, b1) ^ BIT(i, 2, b2) ^ BIT(i, 3, b3) ^ BIT(i, 4, b4) ^ BIT(i, 5, b5) ^ BIT(i, 6, b6) ^ \
        BIT(i, 7, b7)
#define ENTRIES_4(i, ...) \
    ENTRY((i), __VA_ARGS__), ENTRY((i) + 1U, __VA_ARGS__), ENTRY((i) + 2U, __VA_ARGS__), ENTRY((i) + 3U, __VA_ARGS__)
#define ENTRIES_16(i, ...)                                                                           \
    ENTRIES_4((i), __VA_ARGS__), ENTRIES_4((i) + 4U, __VA_ARGS__), ENTRIES_4((i) + 8U, __VA_ARGS__), \
        ENTRIES_4((i) + 12U, __VA_ARGS__)
#define ENTRIES_64(i, ...)                                                                                \
    ENTRIES_16((i), __VA_ARGS__), ENTRIES_16((i) + 16U, __VA_ARGS__), ENTRIES_16((i) + 32U, __VA_ARGS__), \
        ENTRIES_16((i) + 48U, __VA_ARGS__)
#define ROW(...)                                                                               \
    {ENTRIES_64(0U, __VA_ARGS__), ENTRIES_64(64U, __VA_ARGS__), ENTRIES_64(128U, __VA_ARGS__), \
     ENTRIES_64(192U, __VA_ARGS__)},

static const uint32_t table[8][256] = {BASIS(ROW)};

uint32_t trib_crc32c_table(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^ table[4][low >> 24] ^
              table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; len > 0; p++, len--) {
        crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
    }
    return ~crc;
}

#if defined(__x86_64__)

uint32_t trib_crc32c(uint32_t crc, const void *data, size_t len)
{
    if (trib_cpu_has_vpclmul()) {
        return trib_crc32c_vpclmul(crc, data, len);
    }
    if (trib_cpu_has_clmul()) {
        return trib_crc32c_clmul(crc, data, len);
    }
    return trib_crc32c_table(crc, data, len);
}

const char *trib_crc32c_name(void)
{
    return trib_cpu_has_vpclmul() ? "vpclmul" : trib_cpu_has_clmul() ? "clmul" : "table";
}

#elif defined(__aarch64__)

uint32_t trib_crc32c(uint32_t crc, const void *data, size_t len)
{
    return trib_cpu_has_clmul() ? trib_crc32c_clmul(crc, data, len) : trib_crc32c_table(crc, data, len);
}

const char *trib_crc32c_name(void)
{
    return trib_cpu_has_clmul() ? "clmul" : "table";
}

#else

uint32_t trib_crc32c(uint32_t crc, const void *data, size_t len)
{
    return trib_crc32c_table(crc, data, len);
}

const char *trib_crc32c_name(void)
{
    return "table";
}

#endif
