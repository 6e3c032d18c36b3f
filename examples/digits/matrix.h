/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h: dense float32 products, just enough for a small network. Not a BLAS.
 * Every element is summed in order of k, so the same inputs give the same bits in every process of this program.
 * Read next: net.h. */
#ifndef DIGITS_MATRIX_H
#define DIGITS_MATRIX_H

#include <stddef.h>

/* Products work on tiles of this many columns: row lengths of b and c are multiples of it. */
#define MATRIX_TILE 16

/* A view: element (i, j) is at[i * row_step + j * column_step]. */
struct matrix {
    float *at;
    size_t rows;
    size_t columns;
    size_t row_step;
    size_t column_step;
};

static inline struct matrix matrix_of(float *at, size_t rows, size_t columns)
{
    return (struct matrix){at, rows, columns, columns, 1};
}

static inline struct matrix matrix_transposed(struct matrix m)
{
    return (struct matrix){m.at, m.columns, m.rows, m.column_step, m.row_step};
}

static inline size_t matrix_padded(size_t columns)
{
    return (columns + MATRIX_TILE - 1) / MATRIX_TILE * MATRIX_TILE;
}

/* c = a b. b and c have column_step 1 and a multiple of MATRIX_TILE columns; c overlaps neither a nor b. */
void matrix_multiply(struct matrix c, struct matrix a, struct matrix b);

#endif
