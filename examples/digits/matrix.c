/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c: a blocked product in C with the compiler's vector types: one tile of c stays in registers. a is packed in
 * panels of PANEL rows by DEPTH columns (a transposed a costs no more then); the innermost tile is TILE_ROWS x
 * MATRIX_TILE. The same source is compiled twice, for AVX2 and for the baseline CPU, and chosen at run time. */
#include "matrix.h"

#include <string.h>

#define PANEL 16
#define TILE_ROWS 4
#define DEPTH 256
_Static_assert(MATRIX_TILE == 16 && TILE_ROWS == 4, "tile_multiply is written for 4 x 16");

/* Eight floats, added and multiplied element by element; two of them make a row of a tile. */
#define VECTOR float __attribute__((vector_size(32)))
#define LOAD(low, high, from) (memcpy(&(low), (from), 32), memcpy(&(high), (from) + 8, 32))
#define STORE(low, high, to) (memcpy((to), &(low), 32), memcpy((to) + 8, &(high), 32))
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* sum += panel (depth x PANEL, TILE_ROWS columns of it) times b (depth x MATRIX_TILE). Written out, a variable for each
 * vector: then gcc keeps all eight sums in registers at -O2 as well. */
static ALWAYS_INLINE void tile_multiply(float (*restrict sum)[MATRIX_TILE], const float *restrict panel,
                                        const float *restrict b, size_t b_step, size_t depth)
{
    VECTOR p0, p1, q0, q1, r0, r1, s0, s1, b0, b1;
    LOAD(p0, p1, sum[0]);
    LOAD(q0, q1, sum[1]);
    LOAD(r0, r1, sum[2]);
    LOAD(s0, s1, sum[3]);
    for (size_t k = 0; k < depth; k++) {
        const float *a = panel + k * PANEL;
        LOAD(b0, b1, b + k * b_step);
        p0 += a[0] * b0;
        p1 += a[0] * b1;
        q0 += a[1] * b0;
        q1 += a[1] * b1;
        r0 += a[2] * b0;
        r1 += a[2] * b1;
        s0 += a[3] * b0;
        s1 += a[3] * b1;
    }
    STORE(p0, p1, sum[0]);
    STORE(q0, q1, sum[1]);
    STORE(r0, r1, sum[2]);
    STORE(s0, s1, sum[3]);
}

/* Adds one tile's part of this depth block to c, or starts c with it. */
static ALWAYS_INLINE void tile_update(struct matrix c, size_t row, size_t column, const float *panel, struct matrix b)
{
    float sum[TILE_ROWS][MATRIX_TILE] = {{0}};
    size_t rows = c.rows - row < TILE_ROWS ? c.rows - row : TILE_ROWS;
    float *at = c.at + row * c.row_step + column;
    for (size_t i = 0; i < rows; i++) {
        memcpy(sum[i], at + i * c.row_step, sizeof(sum[i]));
    }
    tile_multiply(sum, panel, b.at + column, b.row_step, b.rows);
    for (size_t i = 0; i < rows; i++) {
        memcpy(at + i * c.row_step, sum[i], sizeof(sum[i]));
    }
}

/* panel[k][i] = a[i][k], rows behind the end of a are 0. */
static ALWAYS_INLINE void panel_pack(float *panel, struct matrix a)
{
    for (size_t k = 0; k < a.columns; k++) {
        const float *from = a.at + k * a.column_step;
        for (size_t i = 0; i < PANEL; i++) {
            panel[k * PANEL + i] = i < a.rows ? from[i * a.row_step] : 0.0F;
        }
    }
}

static ALWAYS_INLINE void product(struct matrix c, struct matrix a, struct matrix b)
{
    float panel[DEPTH * PANEL];
    for (size_t i = 0; i < c.rows; i++) {
        memset(c.at + i * c.row_step, 0, c.columns * sizeof(*c.at));
    }
    for (size_t k = 0; k < b.rows; k += DEPTH) {
        size_t depth = b.rows - k < DEPTH ? b.rows - k : DEPTH;
        struct matrix b_block = {b.at + k * b.row_step, depth, b.columns, b.row_step, 1};
        for (size_t i = 0; i < c.rows; i += PANEL) {
            size_t rows = c.rows - i < PANEL ? c.rows - i : PANEL;
            struct matrix c_panel = {c.at + i * c.row_step, rows, c.columns, c.row_step, 1};
            struct matrix a_block = {a.at + i * a.row_step + k * a.column_step, rows, depth, a.row_step, a.column_step};
            panel_pack(panel, a_block);
            for (size_t t = 0; t < rows; t += TILE_ROWS) {
                for (size_t j = 0; j < c.columns; j += MATRIX_TILE) {
                    tile_update(c_panel, t, j, panel + t, b_block);
                }
            }
        }
    }
}

static void product_baseline(struct matrix c, struct matrix a, struct matrix b)
{
    product(c, a, b);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static void product_avx2(struct matrix c, struct matrix a, struct matrix b)
{
    product(c, a, b);
}

void matrix_multiply(struct matrix c, struct matrix a, struct matrix b)
{
    if (__builtin_cpu_supports("avx2")) {
        product_avx2(c, a, b);
    } else {
        product_baseline(c, a, b);
    }
}

#else

void matrix_multiply(struct matrix c, struct matrix a, struct matrix b)
{
    product_baseline(c, a, b);
}

#endif
