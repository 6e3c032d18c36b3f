/* SPDX-License-Identifier: Apache-2.0 */
/* types.c: sizes and names of element types, names of reductions and collectives. It computes nothing with elements:
 * that is value.c.
 * Read next: value.h. */
#include <tributary/types.h>

size_t trib_type_size(enum trib_type type)
{
    switch (type) {
    case TRIB_FLOAT32:
    case TRIB_INT32:
        return 4;
    case TRIB_FLOAT16:
    case TRIB_BFLOAT16:
        return 2;
    case TRIB_INT64:
    case TRIB_FLOAT64:
        return 8;
    case TRIB_BYTES:
    case TRIB_INT8:
    case TRIB_UINT8:
        return 1;
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        break;
    }
    return 0;
}

const char *trib_type_name(enum trib_type type)
{
    switch (type) {
    case TRIB_FLOAT32:
        return "float32";
    case TRIB_FLOAT16:
        return "float16";
    case TRIB_BFLOAT16:
        return "bfloat16";
    case TRIB_INT32:
        return "int32";
    case TRIB_INT64:
        return "int64";
    case TRIB_BYTES:
        return "bytes";
    case TRIB_FLOAT64:
        return "float64";
    case TRIB_INT8:
        return "int8";
    case TRIB_UINT8:
        return "uint8";
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        break;
    }
    return "unknown";
}

const char *trib_reduction_name(enum trib_reduction reduction)
{
    switch (reduction) {
    case TRIB_SUM:
        return "sum";
    case TRIB_AVERAGE:
        return "average";
    case TRIB_MINIMUM:
        return "minimum";
    case TRIB_MAXIMUM:
        return "maximum";
    case TRIB_PRODUCT:
        return "product";
    case TRIB_REDUCTION_NONE:
    case TRIB_REDUCTION_COUNT:
        break;
    }
    return "unknown";
}

const char *trib_collective_name(enum trib_collective collective)
{
    switch (collective) {
    case TRIB_ALLREDUCE:
        return "allreduce";
    case TRIB_BROADCAST:
        return "broadcast";
    case TRIB_BARRIER:
        return "barrier";
    case TRIB_REDUCE:
        return "reduce";
    case TRIB_ALLGATHER:
        return "allgather";
    case TRIB_REDUCE_SCATTER:
        return "reduce-scatter";
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return "unknown";
}
