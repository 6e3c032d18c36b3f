/* SPDX-License-Identifier: Apache-2.0 */
/* value.h: everything that is done to numbers: rows of a switch, and conversions of a worker between tensor and
 * payload.
 *
 * Payload elements are little-endian. Kernels exist three times: scalar (the reference and the oracle of the tests),
 * AVX2 and AVX-512; all give the same bits. trib_value_kernels() chooses once by the CPU; a node keeps the pointer to
 * the constant table. Any pointer may have any alignment. dst may equal a source, partial overlap is not allowed. NaN:
 * a reduction, narrowing or division with the result NaN gives the canonical quiet NaN (0x7fc00000, 0x7fc0, 0x7e00,
 * 0x7ff8000000000000), so that bits never depend on operand order or CPU. Subnormals are kept. Rows and tensors are
 * right whatever floating point mode the calling thread is in; kernels called directly expect the default one. Null
 * pointers: for rows and tensors of length 0.
 * Read next: slot.h (the switch's use), protocol/worker.c (the worker's). */
#ifndef TRIB_CORE_VALUE_H
#define TRIB_CORE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/types.h>

#define TRIB_INFINITY_F32 UINT32_C(0x7f800000) /* bits of infinity */

struct trib_value_kernels {
    const char *name; /* "scalar", "avx2", "avx512" */
    /* dst = a reduced with b: a + b, a x b, the lesser, the greater. b has the type's elements, dst and a those of its
     * accumulator: see rows. Integers wrap; NaN in a or b gives NaN; -0 < +0. NULL where nothing can be reduced. */
    void (*reduce[TRIB_REDUCTION_COUNT][TRIB_TYPE_COUNT])(void *dst, const void *a, const void *b, size_t count);
    /* Exact widening; a signalling NaN may stay one. */
    void (*widen_bf16)(float *dst, const uint16_t *src, size_t count);
    void (*widen_f16)(float *dst, const uint16_t *src, size_t count);
    /* Round to nearest even, overflow to infinity. dst may be the same memory as src (front to back). */
    void (*narrow_bf16)(uint16_t *dst, const float *src, size_t count);
    void (*narrow_f16)(uint16_t *dst, const float *src, size_t count);
    /* dst = src / divisor, correctly rounded. */
    void (*divide_f32)(float *dst, const float *src, float divisor, size_t count);
    void (*divide_f64)(double *dst, const double *src, double divisor, size_t count);
    /* The largest magnitude's bits, i.e. max over i of (bits(src[i]) & 0x7fffffff); 0 for count 0. Order of the bits is
     * order of the magnitudes, with infinity and NaN on top. */
    uint32_t (*max_magnitude)(const float *src, size_t count);
    /* dst = round to nearest even of src * 2^shift, |result| < 2^31 guaranteed by the caller. / dst = src * 2^-shift,
     * rounded once. -300 <= shift <= 300: exact powers of two even where 2^shift itself is no float32. What breaks the
     * guarantee, NaN included, becomes INT32_MIN. */
    void (*quantise)(int32_t *dst, const float *src, int shift, size_t count);
    void (*dequantise)(float *dst, const int32_t *src, int shift, size_t count);
    /* dst = src, len bytes of any alignment without overlap. The stores bypass the caches if the CPU has such stores.
     * Other threads may see later ordinary stores first, until order_nontemporal was called: before whatever says that
     * the bytes are there. That takes as long as memory needs, so it is called once for many copies. */
    void (*copy_nontemporal)(void *dst, const void *src, size_t len);
    void (*order_nontemporal)(void);
};

/* choice.c: the best table for this CPU. Pure: same answer at every call. */
const struct trib_value_kernels *trib_value_kernels(void);
/* One table by name, NULL where the CPU or the build lacks it. */
const struct trib_value_kernels *trib_value_kernels_named(const char *name);

/* ---- a switch: rows ----
 * A row is a fragment's contributions reduced so far, in the accumulator's type: float32 for the 16-bit floats (twice
 * the payload's bytes), the type itself otherwise. len is always the payload's length in bytes, a multiple of the
 * type's size. */

/* Bytes of a row for a payload of len bytes. */
static inline size_t trib_row_size(enum trib_type type, size_t len)
{
    return type == TRIB_FLOAT16 || type == TRIB_BFLOAT16 ? 2 * len : len;
}
/* May a payload go to a row of so many bytes? Only numbers with a reduction can be reduced; opaque bytes come from one
 * rank alone. */
static inline bool trib_row_takes(enum trib_type type, enum trib_reduction reduction, size_t len, bool is_first,
                                  size_t row_size)
{
    size_t size = type == TRIB_BYTES ? 1 : trib_type_size(type);
    bool is_reduced = !is_first && len != 0;

    if (is_reduced && (type == TRIB_BYTES || reduction == TRIB_REDUCTION_NONE)) {
        return false;
    }
    return len == 0 || (size != 0 && len % size == 0 && trib_row_size(type, len) <= row_size);
}
/* row = payload; row = row reduced with payload; row = row reduced with other row. Bytes are not reduced: adding them,
 * or with what is no type or no reduction, changes nothing. */
void trib_row_load(const struct trib_value_kernels *k, enum trib_type type, void *row, const void *payload, size_t len);
void trib_row_add(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction, void *row,
                  const void *payload, size_t len);
/* row = payload a reduced with payload b: a load and an add in one. Where rows are not wider than payloads, a may be
 * the row. 7 parameters: those of both. */
void trib_row_pair(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction, void *row,
                   const void *a, const void *b, size_t len);
void trib_row_merge(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction, void *row,
                    const void *other, size_t len);
/* Turns the row, in place, into the result's payload of len bytes at the row's start. */
void trib_row_finish(const struct trib_value_kernels *k, enum trib_type type, void *row, size_t len);

/* ---- a worker: tensors ---- */

/* Block exponent: every element of a block is below 2^exponent in magnitude. */
#define TRIB_EXPONENT_ZERO ((int16_t)-1000) /* all elements are zero */
#define TRIB_EXPONENT_RAW ((int16_t)1000)   /* infinity or NaN inside: the block travels as float32 */
/* Exponent of a block of float32: ZERO, RAW, or e with max|x| < 2^e, 2^(e-1) <= max|x| (so -148 <= e <= 128). */
int16_t trib_block_exponent(const struct trib_value_kernels *k, const void *src, size_t count);
/* The shift for an agreed exponent and a number of ranks such that ranks x |q| <= INT32_MAX: quantised q = x *
 * 2^shift. */
int trib_block_shift(int16_t exponent, uint32_t ranks);

/* Between a tensor and its wire form: tensor float32 with wire float32, bfloat16 or int32, or both types the same (a
 * copy). Another pair is a programmer's error and traps. */
struct trib_conversion {
    enum trib_type wire;
    enum trib_type tensor;
    int shift;        /* wire int32 of a float32 tensor */
    uint32_t divisor; /* decode only; 1: not divided */
};

/* tensor = payload, len bytes without overlap. bypass: the copy bypasses the caches, for a tensor larger than the
 * caches and outside of them. An ordinary store would first fetch the line from memory, and the line would leave the
 * cache before the caller reads the tensor. */
void trib_tensor_copy(const struct trib_value_kernels *k, bool bypass, void *tensor, const void *payload, size_t len);
/* payload = tensor elements in wire form. */
void trib_tensor_encode(const struct trib_value_kernels *k, const struct trib_conversion *c, void *payload,
                        const void *tensor, size_t count);
/* tensor = payload, then divided (integers towards zero; 16-bit floats are widened, divided, rounded once; int32 for a
 * float32 tensor is rounded to float32, divided, rounded again). Raw exponents arrive here as wire float32. */
void trib_tensor_decode(const struct trib_value_kernels *k, const struct trib_conversion *c, void *tensor,
                        const void *payload, size_t count);

#endif
