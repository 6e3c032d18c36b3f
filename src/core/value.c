/* SPDX-License-Identifier: Apache-2.0 */
/* value.c: rows, blocks and tensors in terms of kernels. No arithmetic of its own but the division of integers.
 *
 * Bits must not depend on the process that the library was loaded into: a module built with -ffast-math turns
 * subnormals off for every thread that starts after it, and a rank in such a process would get other bits than its
 * peers (I9). So the functions here give the kernels the default floating point environment and put the caller's back.
 * Read next: value_scalar.c. */
#include "core/value.h"

#include <string.h>

#include "core/assert.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

/* ---- floating point environment ---- */

#ifdef __x86_64__
/* Every exception masked, nearest even, subnormals kept; the six flags below are only history. */
#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_FLAGS 0x3fu

static inline bool is_default_mxcsr(uint32_t mxcsr)
{
    return (mxcsr & ~MXCSR_FLAGS) == MXCSR_DEFAULT;
}

static inline uint32_t enter_arithmetic(void)
{
    uint32_t callers = _mm_getcsr();

    if (!is_default_mxcsr(callers)) {
        _mm_setcsr(MXCSR_DEFAULT);
    }
    return callers;
}

static inline void leave_arithmetic(uint32_t callers)
{
    if (!is_default_mxcsr(callers)) {
        _mm_setcsr(callers);
    }
}
#elif defined(__aarch64__)
/* Every exception masked, nearest even, subnormals and NaN payloads kept: FPCR 0. The flags are in another register. */
static inline uint32_t enter_arithmetic(void)
{
    uint64_t callers;

    __asm__ volatile("mrs %0, fpcr" : "=r"(callers) : : "memory");
    if (callers != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)) : "memory");
    }
    return (uint32_t)callers; /* the rest is reserved, and 0 */
}

static inline void leave_arithmetic(uint32_t callers)
{
    if (callers != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)callers) : "memory");
    }
}
#else
static inline uint32_t enter_arithmetic(void)
{
    return 0;
}

static inline void leave_arithmetic(uint32_t callers)
{
    (void)callers;
}
#endif

static inline void copy(void *dst, const void *src, size_t len)
{
    if (dst != src) {
        memcpy(dst, src, len);
    }
}

/* ---- rows ----
 * No bytes may come with null pointers, to which kernels must not add an index: so every function here asks for that
 * first. Bytes are never reduced: of a broadcast one child brings the payload, and a further one changes nothing. A
 * value that is no type or reduction changes nothing either; packets with such a type were dropped before. */

void trib_row_load(const struct trib_value_kernels *k, enum trib_type type, void *row, const void *payload, size_t len)
{
    if (len == 0) {
        return;
    }
    switch (type) {
    case TRIB_BFLOAT16:
        k->widen_bf16(row, payload, len / 2);
        break;
    case TRIB_FLOAT16: {
        uint32_t callers = enter_arithmetic();
        k->widen_f16(row, payload, len / 2);
        leave_arithmetic(callers);
        break;
    }
    case TRIB_FLOAT32:
    case TRIB_INT32:
    case TRIB_INT64:
    case TRIB_BYTES:
    case TRIB_FLOAT64:
    case TRIB_INT8:
    case TRIB_UINT8:
        copy(row, payload, len);
        break;
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        break;
    }
}

void trib_row_add(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction, void *row,
                  const void *payload, size_t len)
{
    bool is_known = (uint32_t)type < TRIB_TYPE_COUNT && (uint32_t)reduction < TRIB_REDUCTION_COUNT;

    if (len == 0 || !is_known || k->reduce[reduction][type] == NULL) {
        return;
    }
    uint32_t callers = enter_arithmetic();

    /* Sizes are powers of two: no division for each packet. */
    k->reduce[reduction][type](row, row, payload, len >> __builtin_ctz((uint32_t)trib_type_size(type)));
    leave_arithmetic(callers);
}

/* Where the accumulator is the type itself one pass does both. */
void trib_row_pair(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction, void *row,
                   const void *a, const void *b, size_t len) /* 7 parameters: those of load and add together */
{
    bool is_widened = type == TRIB_FLOAT16 || type == TRIB_BFLOAT16;
    bool is_known = (uint32_t)type < TRIB_TYPE_COUNT && (uint32_t)reduction < TRIB_REDUCTION_COUNT;

    if (len == 0 || is_widened || !is_known || k->reduce[reduction][type] == NULL) {
        if (row != a) {
            trib_row_load(k, type, row, a, len);
        }
        trib_row_add(k, type, reduction, row, b, len);
        return;
    }
    uint32_t callers = enter_arithmetic();

    k->reduce[reduction][type](row, a, b, len >> __builtin_ctz((uint32_t)trib_type_size(type)));
    leave_arithmetic(callers);
}

void trib_row_merge(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction, void *row,
                    const void *other, size_t len)
{
    bool is_widened = type == TRIB_FLOAT16 || type == TRIB_BFLOAT16;

    trib_row_add(k, is_widened ? TRIB_FLOAT32 : type, reduction, row, other, trib_row_size(type, len));
}

void trib_row_finish(const struct trib_value_kernels *k, enum trib_type type, void *row, size_t len)
{
    if (len == 0) {
        return;
    }
    uint32_t callers = enter_arithmetic();

    if (type == TRIB_FLOAT16) {
        k->narrow_f16(row, row, len / 2);
    } else if (type == TRIB_BFLOAT16) {
        k->narrow_bf16(row, row, len / 2);
    }
    leave_arithmetic(callers);
}

/* ---- blocks ---- */

#define EXPONENT_MIN (-148) /* of a block whose largest element is 2^-149, the smallest subnormal */
#define EXPONENT_MAX 128

int16_t trib_block_exponent(const struct trib_value_kernels *k, const void *src, size_t count)
{
    uint32_t max = count == 0 ? 0 : k->max_magnitude(src, count);

    TRIB_ASSERT(max <= INT32_MAX); /* the sign is off */
    if (max == 0) {
        return TRIB_EXPONENT_ZERO;
    }
    if (max >= TRIB_INFINITY_F32) {
        return TRIB_EXPONENT_RAW;
    }
    if (max >> 23 == 0) { /* subnormal: max x 2^-149 */
        return (int16_t)(32 - __builtin_clz(max) - 149);
    }
    return (int16_t)((int)(max >> 23) - 126);
}

/* With |x| <= 2^e (1 - 2^-24) and c = ceil(log2(ranks)), the shift 31 - c - e gives |q| <= round(2^(31-c) - 2^(7-c)). c
 * <= 7: that is an integer below 2^(31-c), and ranks x |q| < 2^31. c >= 8: it may round up to 2^(31-c), which is still
 * right for fewer than 2^c ranks, but for exactly 2^c the sum could be 2^31: there one bit is given up. */
int trib_block_shift(int16_t exponent, uint32_t ranks)
{
    if (exponent == TRIB_EXPONENT_ZERO || exponent == TRIB_EXPONENT_RAW) {
        return 0; /* zeros are zeros under any shift; a raw block is not quantised */
    }
    int e = exponent < EXPONENT_MIN ? EXPONENT_MIN : exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    int log = ranks <= 1 ? 0 : 32 - __builtin_clz(ranks - 1);
    bool is_power = ranks != 0 && (ranks & (ranks - 1)) == 0;

    return 31 - log - e - (log >= 8 && is_power ? 1 : 0);
}

/* ---- tensors ---- */

void trib_tensor_encode(const struct trib_value_kernels *k, const struct trib_conversion *c, void *payload,
                        const void *tensor, size_t count)
{
    if (count == 0) {
        return;
    }
    if (c->wire == c->tensor) {
        copy(payload, tensor, count * trib_type_size(c->wire));
        return;
    }
    uint32_t callers = enter_arithmetic();

    if (c->tensor == TRIB_FLOAT32 && c->wire == TRIB_BFLOAT16) {
        k->narrow_bf16(payload, tensor, count);
    } else if (c->tensor == TRIB_FLOAT32 && c->wire == TRIB_INT32) {
        k->quantise(payload, tensor, c->shift, count);
    } else {
        __builtin_trap(); /* the operation's settings were not checked: better no sum than a wrong one */
    }
    leave_arithmetic(callers);
}

#define DIVIDE(name, integer)                                                  \
    static void name(void *tensor, size_t count, uint32_t divisor)             \
    {                                                                          \
        for (size_t i = 0; i < count; i++) {                                   \
            unsigned char *at = (unsigned char *)tensor + i * sizeof(integer); \
            integer value;                                                     \
            memcpy(&value, at, sizeof value);                                  \
            value = (integer)(value / (int64_t)divisor);                       \
            memcpy(at, &value, sizeof value);                                  \
        }                                                                      \
    }

DIVIDE(divide_i8, int8_t)
DIVIDE(divide_u8, uint8_t)
DIVIDE(divide_i32, int32_t)
DIVIDE(divide_i64, int64_t)

/* In pieces that stay on the stack: widened, divided, rounded once more into the 16 bits. */
static void divide_16(const struct trib_value_kernels *k, enum trib_type type, void *tensor, size_t count,
                      float divisor)
{
    float wide[256];
    const size_t piece = sizeof wide / sizeof wide[0];

    TRIB_ASSERT(type == TRIB_FLOAT16 || type == TRIB_BFLOAT16);

    for (size_t i = 0; i < count; i += piece) {
        size_t part = count - i < piece ? count - i : piece;
        void *at = (unsigned char *)tensor + 2 * i;

        trib_row_load(k, type, wide, at, 2 * part);
        k->divide_f32(wide, wide, divisor, part);
        if (type == TRIB_FLOAT16) {
            k->narrow_f16(at, wide, part);
        } else {
            k->narrow_bf16(at, wide, part);
        }
    }
}

/* tensor = elements at src, divided. src may be the tensor itself. Floats that need no wider type take one pass. */
static void divide(const struct trib_value_kernels *k, enum trib_type type, void *tensor, const void *src, size_t count,
                   uint32_t divisor)
{
    TRIB_ASSERT(divisor > 1);
    if (type != TRIB_FLOAT32 && type != TRIB_FLOAT64) {
        copy(tensor, src, count * trib_type_size(type));
    }
    switch (type) {
    case TRIB_FLOAT32:
        k->divide_f32(tensor, src, (float)divisor, count);
        break;
    case TRIB_FLOAT16:
    case TRIB_BFLOAT16:
        divide_16(k, type, tensor, count, (float)divisor);
        break;
    case TRIB_INT32:
        divide_i32(tensor, count, divisor);
        break;
    case TRIB_INT64:
        divide_i64(tensor, count, divisor);
        break;
    case TRIB_FLOAT64:
        k->divide_f64(tensor, src, (double)divisor, count);
        break;
    case TRIB_INT8:
        divide_i8(tensor, count, divisor);
        break;
    case TRIB_UINT8:
        divide_u8(tensor, count, divisor);
        break;
    case TRIB_BYTES:
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        __builtin_trap(); /* no average of these was ever accepted */
    }
}

void trib_tensor_copy(const struct trib_value_kernels *k, bool bypass, void *tensor, const void *payload, size_t len)
{
    if (bypass) {
        k->copy_nontemporal(tensor, payload, len);
    } else {
        memcpy(tensor, payload, len);
    }
}

void trib_tensor_decode(const struct trib_value_kernels *k, const struct trib_conversion *c, void *tensor,
                        const void *payload, size_t count)
{
    if (count == 0) {
        return;
    }
    if (c->wire == c->tensor && c->divisor <= 1) {
        copy(tensor, payload, count * trib_type_size(c->wire));
        return;
    }
    uint32_t callers = enter_arithmetic();
    const void *dividends = tensor;

    if (c->wire == c->tensor) {
        dividends = payload;
    } else if (c->tensor == TRIB_FLOAT32 && c->wire == TRIB_BFLOAT16) {
        k->widen_bf16(tensor, payload, count);
    } else if (c->tensor == TRIB_FLOAT32 && c->wire == TRIB_INT32) {
        k->dequantise(tensor, payload, c->shift, count);
    } else {
        __builtin_trap(); /* as in encode */
    }
    if (c->divisor > 1) {
        divide(k, c->tensor, tensor, dividends, count, c->divisor);
    }
    leave_arithmetic(callers);
}
