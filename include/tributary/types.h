/* SPDX-License-Identifier: Apache-2.0 */
/* types.h: collectives, element types and reductions. The values are on the wire (docs/PROTOCOL.md): never renumber.
 * Read next: comm.h. */
#ifndef TRIBUTARY_TYPES_H
#define TRIBUTARY_TYPES_H

#include <stddef.h>

#pragma GCC visibility push(default) /* exported; all else in the library is hidden */
#ifdef __cplusplus
extern "C" {
#endif

enum trib_type {
    TRIB_TYPE_NONE = 0,
    TRIB_FLOAT32 = 1, /* IEEE 754 binary32 */
    /* IEEE 754 binary16. Reduced in float32, and rounded once in the memory of a host with several ranks, and once at
     * each switch on the way; a switch with more than 64 ranks counts as one above one for each 64 of them. */
    TRIB_FLOAT16 = 2,
    TRIB_BFLOAT16 = 3, /* upper half of binary32; reduced as float16 */
    TRIB_INT32 = 4,    /* two's complement; sums and products of all integers wrap */
    TRIB_INT64 = 5,
    TRIB_BYTES = 6,   /* opaque bytes: broadcast and allgather only */
    TRIB_FLOAT64 = 7, /* IEEE 754 binary64 */
    TRIB_INT8 = 8,
    TRIB_UINT8 = 9, /* unsigned */
    TRIB_TYPE_COUNT
};

/* Contributions and results of each: docs/PROTOCOL.md, "Operations and fragments". */
enum trib_collective {
    TRIB_COLLECTIVE_NONE = 0,
    TRIB_ALLREDUCE = 1,
    TRIB_BROADCAST = 2,
    TRIB_BARRIER = 3,
    TRIB_REDUCE = 4,
    TRIB_ALLGATHER = 5,
    TRIB_REDUCE_SCATTER = 6,
    TRIB_COLLECTIVE_COUNT
};

enum trib_reduction {
    TRIB_REDUCTION_NONE = 0,
    TRIB_SUM = 1,
    TRIB_AVERAGE = 2, /* the sum divided by the number of ranks, on the worker; integers divide towards zero */
    TRIB_MINIMUM = 3, /* NaN if any rank has NaN, as in the next two; -0 is below +0 */
    TRIB_MAXIMUM = 4,
    TRIB_PRODUCT = 5,
    TRIB_REDUCTION_COUNT
};

/* Size of one element in bytes; 0 for an unlisted value. */
size_t trib_type_size(enum trib_type type);
/* "float32", "sum", "reduce-scatter"; "unknown" for an unlisted value. */
const char *trib_type_name(enum trib_type type);
const char *trib_reduction_name(enum trib_reduction reduction);
const char *trib_collective_name(enum trib_collective collective);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
