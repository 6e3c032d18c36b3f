/* SPDX-License-Identifier: Apache-2.0 */
/* test_value_twin.c: kernels, rows and tensors of every table against a naive twin (long double, ldexp, one element at
 * a time) on random values, lengths, alignments and aliasing. Every buffer ends at or shortly before an inaccessible
 * page, with fences around what may be written. TRIB_SEED=n repeats a run; a failure prints it. Read next:
 * core/value.h. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/prng.h"
#include "core/value.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROUNDS 150000
#define ELEMENTS_MAX 200
#define SPACE 4096 /* bytes of a buffer before its inaccessible page */
#define FENCE 64
#define FENCE_BYTE 0xa5

static const char *const table_names[] = {"scalar", "avx2", "avx512"};

static struct trib_prng prng;
static uint64_t seed;
static unsigned char *spaces[4]; /* dst, a, b, row */

static uint32_t below(uint32_t bound)
{
    return (uint32_t)trib_prng_below(&prng, bound);
}

/* Wide enough that what it holds of two float64 is exact, or loses nothing by being rounded twice. */
#if LDBL_MANT_DIG >= 113
typedef long double wide_float;
#else
__extension__ typedef __float128 wide_float;
#endif

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- random values ---- */

static uint32_t random_f32(void)
{
    static const uint32_t special[] = {
        0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff,
        0x33000000, 0x33000001, 0x33800000, 0x387fe000, 0x387fffff, 0x38800000, 0x3f800000, 0x477fe000,
        0x477fefff, 0x477ff000, 0x47800000, 0x4effffff, 0x4f000000, 0x4f000001, 0x7f000000, 0x7f7f7fff,
        0x7f7f8000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fa00000, 0x7fc00000, 0x7fc00001, 0x7fffffff,
    };
    uint32_t bits = (uint32_t)trib_prng_next(&prng);

    switch (below(6)) {
    case 0:
        return special[bits % COUNT(special)] | (bits & 0x80000000u);
    case 1:
        return bits & 0x807fffffu; /* subnormal or zero */
    case 2:
        return (bits & 0x80ffffffu) + (below(40) << 23) + 0x33000000u; /* around 1, where sums and halves round */
    case 3:
        return (bits & 0xffffe000u) | (below(2) ? 0x1000u : below(3)); /* near the ties of float16 */
    case 4:
        return (bits & 0xffff0000u) | (0x8000u + below(3) - 1u); /* near the ties of bfloat16 */
    default:
        return bits;
    }
}

static uint64_t random_f64(void)
{
    static const uint64_t special[] = {
        0x0000000000000000, 0x0000000000000001, 0x0000000000000003, 0x000fffffffffffff, 0x0010000000000000,
        0x0010000000000001, 0x1ff0000000000000, 0x3ca0000000000000, 0x3ca0000000000001, 0x3fe0000000000000,
        0x3ff0000000000000, 0x3ff0000000000001, 0x4000000000000000, 0x5fe0000000000000, 0x7fe0000000000000,
        0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0x7fffffffffffffff,
    };
    uint64_t bits = trib_prng_next(&prng);

    switch (below(4)) {
    case 0:
        return special[below(COUNT(special))] | (bits & UINT64_C(1) << 63);
    case 1:
        return bits & 0x800fffffffffffff; /* subnormal or zero */
    case 2:
        return (bits & 0x800fffffffffffff) + ((uint64_t)below(60) << 52) + 0x3d00000000000000; /* around 1 */
    default:
        return bits;
    }
}

static uint64_t random_element(enum trib_type type)
{
    static const uint64_t integers[] = {0, 1, UINT64_MAX, 0x7fffffff, 0x80000000, INT64_MAX, UINT64_C(1) << 63};

    if (type == TRIB_FLOAT32) {
        return random_f32();
    }
    if (type == TRIB_FLOAT64) {
        return random_f64();
    }
    if (type == TRIB_INT32 || type == TRIB_INT64) {
        return below(4) == 0 ? integers[below(COUNT(integers))] : trib_prng_next(&prng) >> below(64);
    }
    return trib_prng_next(&prng); /* 8 and 16 bits are few enough to meet every case */
}

/* ---- memory ---- */

/* len bytes that end 0..63 bytes before a page that faults, everything around them fenced. */
static void *place(size_t which, size_t len)
{
    size_t slack = below(2) ? 0 : below(64);

    memset(spaces[which], FENCE_BYTE, SPACE);
    return spaces[which] + SPACE - slack - len;
}

static void *place_random(size_t which, enum trib_type type, size_t count)
{
    size_t size = trib_type_size(type);
    unsigned char *at = place(which, count * size);

    for (size_t i = 0; i < count; i++) {
        uint64_t element = random_element(type);
        memcpy(at + i * size, &element, size);
    }
    return at;
}

static uint64_t element_at(const void *base, size_t size, size_t index)
{
    uint64_t element = 0;

    memcpy(&element, (const unsigned char *)base + size * index, size);
    return element;
}

static void check_fences(size_t which, const void *at, size_t len, const char *what)
{
    size_t begin = (size_t)((const unsigned char *)at - spaces[which]);

    for (size_t i = begin > FENCE ? begin - FENCE : 0; i < SPACE; i++) {
        if ((i < begin || i >= begin + len) && spaces[which][i] != FENCE_BYTE) {
            fail_msg("%s wrote outside of its result; TRIB_SEED=%llu", what, (unsigned long long)seed);
        }
    }
}

/* ---- the twin ---- */

static uint32_t result_bits(long double value)
{
    return isnan(value) ? 0x7fc00000u : to_bits((float)value);
}

static uint32_t twin_widen(enum trib_type type, uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    float value;

    if (type == TRIB_BFLOAT16) {
        return (uint32_t)bits << 16;
    }
    if (exponent == 31) {
        uint32_t quiet = (bits & 0x3ffu) != 0 ? 0x400000u : 0u;
        return (bits & 0x8000u) << 16 | 0x7f800000u | (bits & 0x3ffu) << 13 | quiet;
    }
    value = exponent == 0 ? ldexpf((float)(bits & 1023), -24) : ldexpf((float)(1024 + (bits & 1023)), exponent - 25);
    return to_bits(bits & 0x8000 ? -value : value);
}

/* To a format with so many fraction bits, whose smallest normal is 2^min: to a multiple of the quantum at that
 * magnitude. */
static uint16_t twin_narrow(enum trib_type type, float value)
{
    const bool half = type == TRIB_FLOAT16;
    const int fraction = half ? 10 : 7, min = half ? -14 : -126;
    const uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = half ? 0x7c00 : 0x7f80;
    double magnitude = fabs((double)value), quanta;
    int exponent;

    if (isnan(value)) {
        return half ? 0x7e00 : 0x7fc0;
    }
    if (isinf(value)) {
        return sign | infinity;
    }
    exponent = magnitude > 0 && ilogb(magnitude) > min ? ilogb(magnitude) : min;
    quanta = nearbyint(ldexp(magnitude, fraction - exponent));
    if (quanta == ldexp(1, fraction + 1)) { /* rounded up to the next power of two */
        quanta /= 2;
        exponent++;
    }
    if (exponent > -min + 1) {
        return sign | infinity;
    }
    if (quanta < ldexp(1, fraction)) {
        return (uint16_t)(sign | (uint16_t)quanta);
    }
    return (uint16_t)(sign | (exponent - min + 1) << fraction | ((int)quanta - (1 << fraction)));
}

static int32_t twin_quantise(float value, int shift)
{
    long double rounded = nearbyintl(ldexpl((long double)value, shift));

    return isnan(value) || rounded >= 0x1p31L || rounded < -0x1p31L ? INT32_MIN : (int32_t)rounded;
}

static uint32_t twin_divide(float value, float divisor)
{
    return result_bits((long double)value / (long double)divisor);
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t double_result(wide_float value)
{
    double narrow = (double)value;
    uint64_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    return isnan(narrow) ? 0x7ff8000000000000 : bits;
}

static bool is_nan_of(enum trib_type type, uint64_t bits)
{
    return type == TRIB_FLOAT32 ? isnan(from_bits((uint32_t)bits)) : type == TRIB_FLOAT64 && isnan(double_of(bits));
}

/* A number whose order among those of its type is that of the values, -0 below 0. */
static int64_t order_of(enum trib_type type, uint64_t bits)
{
    const uint64_t half = UINT64_C(1) << (8 * trib_type_size(type) - 1);
    const bool is_float = type == TRIB_FLOAT32 || type == TRIB_FLOAT64;

    if (type == TRIB_UINT8 || bits < half) {
        return (int64_t)bits;
    }
    /* floats: sign and magnitude; integers: two's complement */
    return is_float ? -1 - (int64_t)(bits - half) : (int64_t)(bits - half) - (int64_t)(half - 1) - 1;
}

static uint64_t twin_arithmetic(enum trib_type type, bool is_product, uint64_t a, uint64_t b)
{
    const size_t size = trib_type_size(type);
    long double x, y;

    if (type == TRIB_FLOAT32) {
        x = (long double)from_bits((uint32_t)a);
        y = (long double)from_bits((uint32_t)b);
        return result_bits(is_product ? x * y : x + y);
    }
    if (type == TRIB_FLOAT64) {
        wide_float left = (wide_float)double_of(a), right = (wide_float)double_of(b);
        return double_result(is_product ? left * right : left + right);
    }
    return (is_product ? a * b : a + b) & UINT64_MAX >> (64 - 8 * size);
}

/* Of rows' elements. */
static uint64_t twin_reduce(enum trib_type type, enum trib_reduction reduction, uint64_t a, uint64_t b)
{
    bool a_is_less = order_of(type, a) < order_of(type, b);

    if (type == TRIB_FLOAT16 || type == TRIB_BFLOAT16) {
        return twin_reduce(TRIB_FLOAT32, reduction, a, twin_widen(type, (uint16_t)b));
    }
    if (reduction != TRIB_MINIMUM && reduction != TRIB_MAXIMUM) {
        return twin_arithmetic(type, reduction == TRIB_PRODUCT, a, b);
    }
    if (is_nan_of(type, a) || is_nan_of(type, b)) {
        return type == TRIB_FLOAT32 ? 0x7fc00000 : 0x7ff8000000000000;
    }
    return a_is_less == (reduction == TRIB_MINIMUM) ? a : b;
}

static bool is_16(enum trib_type type)
{
    return type == TRIB_FLOAT16 || type == TRIB_BFLOAT16;
}

/* ---- comparisons ---- */

struct trial {
    const struct trib_value_kernels *k;
    const char *what;
    size_t count;
    int shift;
};

static void check_element(const struct trial *trial, size_t index, uint64_t found, uint64_t expected)
{
    if (found != expected) {
        fail_msg("%s %s, shift %d, element %zu of %zu: %llx, should be %llx; TRIB_SEED=%llu", trial->k->name,
                 trial->what, trial->shift, index, trial->count, (unsigned long long)found,
                 (unsigned long long)expected, (unsigned long long)seed);
    }
}

static enum trib_reduction random_reduction(void)
{
    return (enum trib_reduction)(TRIB_SUM + below(TRIB_REDUCTION_COUNT - TRIB_SUM));
}

/* dst = a reduced with b, where dst may be a or, if as wide, b. */
static void try_reduce(struct trial *trial, enum trib_type type)
{
    const enum trib_type wide = is_16(type) ? TRIB_FLOAT32 : type;
    const size_t size = trib_type_size(wide), count = trial->count;
    const enum trib_reduction reduction = random_reduction();
    void *a = place_random(1, wide, count), *b = place_random(2, type, count);
    void *dst = place(0, count * size);
    const uint32_t alias = below(is_16(type) ? 2 : 3);
    uint64_t expected[ELEMENTS_MAX];

    for (size_t i = 0; i < count; i++) {
        expected[i] = twin_reduce(type, reduction, element_at(a, size, i), element_at(b, trib_type_size(type), i));
    }
    dst = alias == 1 ? a : alias == 2 ? b : dst;
    trial->what = trib_reduction_name(reduction);
    trial->k->reduce[reduction][type](dst, a, b, count);
    for (size_t i = 0; i < count; i++) {
        check_element(trial, i, element_at(dst, size, i), expected[i]);
    }
    check_fences(alias, dst, count * size, trial->what);
}

static void try_widen(struct trial *trial, enum trib_type type)
{
    void *src = place_random(1, type, trial->count);
    void *dst = place(0, trial->count * 4);

    trial->what = type == TRIB_FLOAT16 ? "widen_f16" : "widen_bf16";
    (type == TRIB_FLOAT16 ? trial->k->widen_f16 : trial->k->widen_bf16)(dst, src, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
        check_element(trial, i, element_at(dst, 4, i), twin_widen(type, (uint16_t)element_at(src, 2, i)));
    }
    check_fences(0, dst, trial->count * 4, trial->what);
}

static void try_narrow(struct trial *trial, enum trib_type type)
{
    void *src = place_random(1, TRIB_FLOAT32, trial->count);
    const bool in_place = below(2);
    void *dst = in_place ? src : place(0, trial->count * 2);
    uint16_t expected[ELEMENTS_MAX];

    for (size_t i = 0; i < trial->count; i++) {
        expected[i] = twin_narrow(type, from_bits((uint32_t)element_at(src, 4, i)));
    }
    trial->what = type == TRIB_FLOAT16 ? "narrow_f16" : "narrow_bf16";
    (type == TRIB_FLOAT16 ? trial->k->narrow_f16 : trial->k->narrow_bf16)(dst, src, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
        check_element(trial, i, element_at(dst, 2, i), expected[i]);
    }
    check_fences(in_place ? 1 : 0, dst, trial->count * (in_place ? 4 : 2), trial->what);
}

static void try_divide(struct trial *trial)
{
    void *src = place_random(1, TRIB_FLOAT32, trial->count);
    const bool in_place = below(2);
    void *dst = in_place ? src : place(0, trial->count * 4);
    float divisor =
        below(2) ? (float)(1 + below(64)) : from_bits(random_f32() & (below(2) ? 0xff800000u : 0xffffffffu));
    uint32_t expected[ELEMENTS_MAX];

    for (size_t i = 0; i < trial->count; i++) {
        expected[i] = twin_divide(from_bits((uint32_t)element_at(src, 4, i)), divisor);
    }
    trial->what = "divide_f32";
    trial->k->divide_f32(dst, src, divisor, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
        check_element(trial, i, element_at(dst, 4, i), expected[i]);
    }
    check_fences(in_place ? 1 : 0, dst, trial->count * 4, trial->what);
}

static void try_max(struct trial *trial)
{
    void *src = place_random(1, below(2) ? TRIB_FLOAT32 : TRIB_INT32, trial->count);
    uint64_t expected = 0;

    for (size_t i = 0; i < trial->count; i++) {
        uint64_t magnitude = element_at(src, 4, i) & 0x7fffffff;
        expected = magnitude > expected ? magnitude : expected;
    }
    trial->what = "max_magnitude";
    check_element(trial, 0, trial->k->max_magnitude(src, trial->count), expected);
}

static void try_quantise(struct trial *trial)
{
    void *src = place_random(1, TRIB_FLOAT32, trial->count);
    const bool in_place = below(2);
    void *dst = in_place ? src : place(0, trial->count * 4);
    uint32_t expected[ELEMENTS_MAX];

    for (size_t i = 0; i < trial->count; i++) {
        expected[i] = (uint32_t)twin_quantise(from_bits((uint32_t)element_at(src, 4, i)), trial->shift);
    }
    trial->what = "quantise";
    trial->k->quantise(dst, src, trial->shift, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
        check_element(trial, i, element_at(dst, 4, i), expected[i]);
    }
    check_fences(in_place ? 1 : 0, dst, trial->count * 4, trial->what);
}

static void try_dequantise(struct trial *trial)
{
    void *src = place_random(1, TRIB_INT32, trial->count);
    const bool in_place = below(2);
    void *dst = in_place ? src : place(0, trial->count * 4);
    uint32_t expected[ELEMENTS_MAX];

    for (size_t i = 0; i < trial->count; i++) {
        expected[i] = to_bits((float)ldexp((double)(int32_t)(uint32_t)element_at(src, 4, i), -trial->shift));
    }
    trial->what = "dequantise";
    trial->k->dequantise(dst, src, trial->shift, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
        check_element(trial, i, element_at(dst, 4, i), expected[i]);
    }
    check_fences(in_place ? 1 : 0, dst, trial->count * 4, trial->what);
}

static void try_divide_f64(struct trial *trial)
{
    void *src = place_random(1, TRIB_FLOAT64, trial->count);
    const bool in_place = below(2);
    void *dst = in_place ? src : place(0, trial->count * 8);
    double divisor = below(2) ? (double)(1 + below(64)) : double_of(random_f64());
    uint64_t expected[ELEMENTS_MAX];

    for (size_t i = 0; i < trial->count; i++) {
        expected[i] = double_result((wide_float)double_of(element_at(src, 8, i)) / (wide_float)divisor);
    }
    trial->what = "divide_f64";
    trial->k->divide_f64(dst, src, divisor, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
        check_element(trial, i, element_at(dst, 8, i), expected[i]);
    }
    check_fences(in_place ? 1 : 0, dst, trial->count * 8, trial->what);
}

/* A row's life: loaded, some payloads added, a sibling row merged, finished. */
static void try_row(struct trial *trial, enum trib_type type)
{
    const size_t size = trib_type_size(type), count = trial->count, len = count * size,
                 wide = trib_row_size(type, size);
    void *row = place(3, trib_row_size(type, len)), *other = place(0, trib_row_size(type, len));
    const enum trib_reduction reduction = random_reduction();
    uint64_t expected[ELEMENTS_MAX] = {0};

    for (uint32_t part = 0, parts = 1 + below(5); part < parts; part++) {
        void *payload = place_random(1, type, count);
        bool merge = part > 0 && below(3) == 0;

        for (size_t i = 0; i < count; i++) {
            uint64_t element = element_at(payload, size, i);
            uint64_t first = is_16(type) ? twin_widen(type, (uint16_t)element) : element;
            expected[i] = part == 0 ? first : twin_reduce(type, reduction, expected[i], element);
        }
        if (part == 0) {
            trib_row_load(trial->k, type, row, payload, len);
        } else if (merge) {
            trib_row_load(trial->k, type, other, payload, len);
            trib_row_merge(trial->k, type, reduction, row, other, len);
        } else {
            trib_row_add(trial->k, type, reduction, row, payload, len);
        }
    }
    trial->what = "row before its end";
    for (size_t i = 0; i < count; i++) {
        check_element(trial, i, element_at(row, wide, i), expected[i]);
    }
    trib_row_finish(trial->k, type, row, len);
    trial->what = "row";
    for (size_t i = 0; i < count; i++) {
        check_element(trial, i, element_at(row, size, i),
                      is_16(type) ? twin_narrow(type, from_bits((uint32_t)expected[i])) : expected[i]);
    }
    check_fences(3, row, trib_row_size(type, len), trial->what);
    check_fences(0, other, trib_row_size(type, len), trial->what);
}

static uint64_t twin_average(enum trib_type type, uint64_t element, uint32_t divisor)
{
    if (divisor <= 1) {
        return element;
    }
    switch (type) {
    case TRIB_FLOAT32:
        return twin_divide(from_bits((uint32_t)element), (float)divisor);
    case TRIB_FLOAT16:
    case TRIB_BFLOAT16:
        return twin_narrow(type,
                           from_bits(twin_divide(from_bits(twin_widen(type, (uint16_t)element)), (float)divisor)));
    case TRIB_INT32:
        return (uint32_t)(int64_t)truncl((long double)(int32_t)(uint32_t)element / divisor);
    case TRIB_INT64:
        return (uint64_t)((int64_t)element / (int64_t)divisor);
    case TRIB_FLOAT64:
        return double_result((wide_float)double_of(element) / divisor);
    case TRIB_INT8:
    case TRIB_UINT8:
        return (uint8_t)(int64_t)truncl((long double)order_of(type, element) / divisor);
    case TRIB_BYTES:
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        break;
    }
    return element;
}

static void try_decode(struct trial *trial, enum trib_type wire, enum trib_type type)
{
    const size_t size = trib_type_size(type), wire_size = trib_type_size(wire), count = trial->count;
    void *payload = place_random(1, wire, count), *tensor = place(0, count * size);
    uint32_t divisor = below(3) == 0 ? 1 : below(3) == 0 ? (uint32_t)trib_prng_next(&prng) : 1 + below(64);

    trib_tensor_decode(trial->k, &(struct trib_conversion){wire, type, trial->shift, divisor}, tensor, payload, count);
    trial->what = "decode";
    for (size_t i = 0; i < count; i++) {
        uint64_t element = element_at(payload, wire_size, i);
        if (wire == TRIB_INT32 && type == TRIB_FLOAT32) {
            element = to_bits((float)ldexp((double)(int32_t)(uint32_t)element, -trial->shift));
        } else if (wire != type) {
            element = twin_widen(wire, (uint16_t)element);
        }
        check_element(trial, i, element_at(tensor, size, i), twin_average(type, element, divisor));
    }
    check_fences(0, tensor, count * size, trial->what);
}

static void try_encode(struct trial *trial, enum trib_type wire)
{
    const size_t size = trib_type_size(wire), count = trial->count;
    void *tensor = place_random(1, TRIB_FLOAT32, count), *payload = place(0, count * size);

    trib_tensor_encode(trial->k, &(struct trib_conversion){wire, TRIB_FLOAT32, trial->shift, 1}, payload, tensor,
                       count);
    trial->what = "encode";
    for (size_t i = 0; i < count; i++) {
        float value = from_bits((uint32_t)element_at(tensor, 4, i));
        uint64_t expected = to_bits(value);
        if (wire != TRIB_FLOAT32) {
            expected = wire == TRIB_INT32 ? (uint32_t)twin_quantise(value, trial->shift) : twin_narrow(wire, value);
        }
        check_element(trial, i, element_at(payload, size, i), expected);
    }
    check_fences(0, payload, count * size, trial->what);
}

/* Whatever the block and the number of ranks: each rank's |q| leaves room for all, and an agreed exponent is a true
 * bound. */
static void try_block(struct trial *trial)
{
    void *block = place_random(1, TRIB_FLOAT32, trial->count);
    int16_t exponent = trib_block_exponent(trial->k, block, trial->count);
    uint32_t ranks = below(4) ? 1 + below(64) : (uint32_t)trib_prng_next(&prng) | 1;
    bool is_raw = false, is_zero = true;

    for (size_t i = 0; i < trial->count; i++) {
        float value = from_bits((uint32_t)element_at(block, 4, i));
        is_raw |= !isfinite(value);
        is_zero &= value == 0.0f;
    }
    assert_int_equal(exponent == TRIB_EXPONENT_RAW, is_raw);
    assert_int_equal(exponent == TRIB_EXPONENT_ZERO, is_zero);
    if (is_raw || is_zero) {
        return;
    }
    for (size_t i = 0; i < trial->count; i++) {
        float value = from_bits((uint32_t)element_at(block, 4, i));
        int64_t q = twin_quantise(value, trib_block_shift(exponent, ranks));
        trial->what = "block";
        check_element(trial, i, fabs((double)value) < ldexp(1, exponent), true);
        check_element(trial, i, (__extension__(__int128) llabs(q) * ranks) <= INT32_MAX, true);
    }
}

static void try_one(struct trial *trial)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_INT32,
                                           TRIB_INT64,   TRIB_FLOAT64, TRIB_INT8,     TRIB_UINT8};
    static const enum trib_type wires[] = {TRIB_FLOAT32, TRIB_BFLOAT16, TRIB_INT32};
    const enum trib_type type = types[below(COUNT(types))], half = below(2) ? TRIB_FLOAT16 : TRIB_BFLOAT16;

    switch (below(14)) {
    case 0:
        try_widen(trial, half);
        break;
    case 1:
        try_narrow(trial, half);
        break;
    case 2:
        if (below(2)) {
            try_divide(trial);
        } else {
            try_divide_f64(trial);
        }
        break;
    case 3:
        try_max(trial);
        break;
    case 4:
        try_quantise(trial);
        break;
    case 5:
        try_dequantise(trial);
        break;
    case 6:
        try_row(trial, type);
        break;
    case 7:
        if (below(2)) {
            try_decode(trial, type, type);
        } else {
            try_decode(trial, wires[below(COUNT(wires))], TRIB_FLOAT32);
        }
        break;
    case 8:
        try_encode(trial, wires[below(COUNT(wires))]);
        break;
    case 9:
        try_block(trial);
        break;
    default:
        try_reduce(trial, type);
    }
}

static void value__equals_its_twin(void **state)
{
    const char *text = getenv("TRIB_SEED");
    struct timespec now;

    (void)state;
    clock_gettime(CLOCK_REALTIME, &now);
    seed = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec;
    prng.state = seed;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct trial trial = {.k = trib_value_kernels_named(table_names[round % COUNT(table_names)])};
        if (trial.k == NULL) {
            continue;
        }
        trial.count = below(ELEMENTS_MAX + 1);
        trial.shift = below(2) ? (int)below(601) - 300 : (int)below(60) - 30;
        try_one(&trial);
    }
}

/* Two pages each: one to use, one that faults. */
static int map_spaces(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t used = (SPACE + page - 1) / page * page;

    (void)state;
    for (size_t i = 0; i < COUNT(spaces); i++) {
        unsigned char *at = mmap(NULL, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED || mprotect(at + used, page, PROT_NONE) != 0) {
            return -1;
        }
        spaces[i] = at + used - SPACE;
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(value__equals_its_twin)};

    return cmocka_run_group_tests(tests, map_spaces, NULL);
}
