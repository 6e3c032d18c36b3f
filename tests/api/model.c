/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: the values that a collective must give, and who is in which communicator. Contributions are small whole
 * numbers, so that sums are exact in every type, every order and every wire format; some are NaN, infinity or -0.
 * Read next: rank.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"

/* One element. Integers are in i, floats in f. */
struct value {
    double f;
    int64_t i;
};

static bool is_float(enum trib_type type)
{
    return type == TRIB_FLOAT32 || type == TRIB_FLOAT64 || type == TRIB_FLOAT16 || type == TRIB_BFLOAT16;
}

static bool reduces(enum trib_collective collective)
{
    return collective == TRIB_ALLREDUCE || collective == TRIB_REDUCE || collective == TRIB_REDUCE_SCATTER;
}

static bool has_shares(enum trib_collective collective)
{
    return collective == TRIB_ALLGATHER || collective == TRIB_REDUCE_SCATTER;
}

static uint32_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + 1;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x ^ x >> 31);
}

/* ---- shares ---- */

uint64_t api_share(const struct api_call *call, uint32_t rank)
{
    return call->is_uneven ? call->counts[rank] : call->count;
}

uint64_t api_share_first(const struct api_call *call, uint32_t rank)
{
    uint64_t first = 0;
    for (uint32_t r = 0; r < rank; r++) {
        first += api_share(call, r);
    }
    return first;
}

uint64_t api_sends(const struct api_call *call, uint32_t ranks, uint32_t rank)
{
    switch (call->collective) {
    case TRIB_BROADCAST:
        return rank == call->root ? call->count : 0;
    case TRIB_ALLGATHER:
        return api_share(call, rank);
    case TRIB_REDUCE_SCATTER:
        return api_share_first(call, ranks);
    case TRIB_ALLREDUCE:
    case TRIB_REDUCE:
        return call->count;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

uint64_t api_receives(const struct api_call *call, uint32_t ranks, uint32_t rank)
{
    switch (call->collective) {
    case TRIB_REDUCE:
        return rank == call->root ? call->count : 0;
    case TRIB_ALLGATHER:
        return api_share_first(call, ranks);
    case TRIB_REDUCE_SCATTER:
        return api_share(call, rank);
    case TRIB_ALLREDUCE:
    case TRIB_BROADCAST:
        return call->count;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

static void settle_call(struct api_call *call, const struct api_members *members, uint64_t uneven)
{
    call->root %= members->count;
    call->is_uneven = uneven != 0 && has_shares(call->collective);
    for (uint32_t r = 0; r < API_RANKS_MAX; r++) {
        uint64_t part = mix(uneven, r) % 4;
        call->counts[r] = part == 3 ? call->count / 2 + r : part * call->count;
    }
    if (!reduces(call->collective)) {
        call->reduction = TRIB_SUM;
    } else if (call->type == TRIB_BYTES) {
        call->type = TRIB_UINT8;
    }
    call->special = is_float(call->type) ? call->special : 0;
}

void api_call_of(const struct api_case *c, const struct api_step *step, const struct api_members *members,
                 struct api_call *call)
{
    static const uint32_t quorums[API_SCHEMES][2] = {[API_PANAMA_HALF] = {1, 2}, [API_PANAMA_MOST] = {7, 8}};
    *call = (struct api_call){
        .collective = (enum trib_collective)step->field[API_COLLECTIVE],
        .type = (enum trib_type)step->field[API_TYPE],
        .reduction = (enum trib_reduction)step->field[API_REDUCTION],
        .root = (uint32_t)step->field[API_ROOT],
        .count = (uint64_t)step->field[API_COUNT],
        .salt = (uint64_t)step->field[API_SALT],
        .special = (uint64_t)step->field[API_SPECIAL],
        .wire = (enum trib_wire)c->setting[API_WIRE],
        .quorum = quorums[c->setting[API_SCHEME]][0],
        .quorum_of = quorums[c->setting[API_SCHEME]][1],
    };
    settle_call(call, members, (uint64_t)step->field[API_UNEVEN]);
}

uint32_t api_group_of(const struct api_case *c, const struct api_step *step, const struct api_members *members,
                      struct api_call *calls)
{
    uint32_t count = (uint32_t)step->field[API_TIMES] % (API_GROUP_MAX + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct api_step one = *step;
        struct trib_prng prng = {(uint64_t)step->field[API_SALT] * 977 + i};
        one.field[API_SALT] += i;
        one.field[API_COLLECTIVE] = 1 + (int64_t)trib_prng_below(&prng, TRIB_COLLECTIVE_COUNT - 1);
        one.field[API_TYPE] = 1 + (int64_t)trib_prng_below(&prng, TRIB_TYPE_COUNT - 1);
        one.field[API_REDUCTION] = 1 + (int64_t)trib_prng_below(&prng, TRIB_REDUCTION_COUNT - 1);
        one.field[API_ROOT] = (int64_t)trib_prng_below(&prng, API_RANKS_MAX);
        one.field[API_COUNT] = (int64_t)trib_prng_below(&prng, (uint64_t)step->field[API_COUNT] + 1);
        one.field[API_UNEVEN] = trib_prng_below(&prng, 3) == 0 ? step->field[API_UNEVEN] : 0;
        api_call_of(c, &one, members, &calls[i]);
    }
    return count;
}

/* ---- contributions ---- */

enum { PLAIN, ONE_NAN, ONE_INFINITY, TWO_INFINITIES, ZEROS, SPECIALS };

static uint32_t special_at(const struct api_call *call, uint64_t i)
{
    uint32_t x = mix(call->special, i);
    return call->special != 0 && x % 11 == 0 ? (x >> 8) % SPECIALS : PLAIN;
}

static double special_value(const struct api_call *call, uint32_t ranks, uint32_t rank, uint64_t i, double plain)
{
    uint32_t at = mix(call->special + 1, i) % ranks;
    switch (special_at(call, i)) {
    case ONE_NAN:
        return rank == at ? (double)NAN : plain;
    case ONE_INFINITY:
        return rank == at ? (i % 2 != 0 ? -(double)INFINITY : (double)INFINITY) : plain;
    case TWO_INFINITIES:
        return rank == at ? -(double)INFINITY : rank == (at + 1) % ranks ? (double)INFINITY : plain;
    case ZEROS:
        return (mix(call->special + 2, i) >> rank & 1) != 0 ? -0.0 : 0.0;
    default:
        return plain;
    }
}

/* A whole number that is not 0, out of place and call, times a factor of the rank: a contribution that is missing,
 * doubled, of another fragment or of another call changes a sum. A product is of -1, 1 or 2 from each rank. */
static struct value contribution(const struct api_call *call, uint32_t ranks, uint32_t rank, uint64_t i)
{
    uint32_t x = mix(call->salt, i);
    int64_t base = (int64_t)(x >> 29) - 4 + (x >> 29 >= 4);
    struct value value;

    if (call->reduction == TRIB_PRODUCT && reduces(call->collective)) {
        static const int64_t factors[] = {-1, 1, 2, 2};
        value.i = factors[mix(call->salt + rank, i) % 4];
    } else {
        value.i = base * (rank + 1);
    }
    value.f = special_value(call, ranks, rank, i, (double)value.i);
    return value;
}

/* ---- elements ---- */

/* To nearest, ties to even. The numbers here are normal in both types, or 0, or not finite. */
static uint16_t half_of(enum trib_type type, double f)
{
    int bits = type == TRIB_FLOAT16 ? 10 : 7;
    int bias = type == TRIB_FLOAT16 ? 15 : 127;
    uint32_t top = (1U << (15 - bits)) - 1;
    uint32_t sign = signbit(f) ? 1U << 15 : 0;
    int exponent;
    if (isnan(f)) {
        return (uint16_t)(top << bits | 1U << (bits - 1));
    }
    if (isinf(f) || f == 0) {
        return (uint16_t)(sign | (f == 0 ? 0 : top << bits));
    }
    double mantissa = nearbyint(ldexp(frexp(fabs(f), &exponent), bits + 1));
    if (mantissa == ldexp(1, bits + 1)) {
        mantissa /= 2;
        exponent++;
    }
    return (uint16_t)(sign | (uint32_t)(exponent - 1 + bias) << bits | ((uint32_t)mantissa & ((1U << bits) - 1)));
}

static double of_half(enum trib_type type, uint16_t half)
{
    int bits = type == TRIB_FLOAT16 ? 10 : 7;
    int bias = type == TRIB_FLOAT16 ? 15 : 127;
    uint32_t top = (1U << (15 - bits)) - 1;
    uint32_t exponent = (uint32_t)half >> bits & top;
    double fraction = half & ((1U << bits) - 1);
    double f;
    if (exponent == top) {
        f = fraction != 0 ? (double)NAN : (double)INFINITY;
    } else {
        f = ldexp(fraction + (exponent != 0 ? 1 << bits : 0), (int)(exponent != 0 ? exponent : 1) - bias - bits);
    }
    return half >> 15 != 0 ? -f : f;
}

static void put(enum trib_type type, uint8_t *at, struct value value)
{
    union {
        float f32;
        double f64;
        uint16_t half;
        int64_t integer;
    } as = {.integer = value.i};
    if (type == TRIB_FLOAT32) {
        as.f32 = (float)value.f;
    } else if (type == TRIB_FLOAT64) {
        as.f64 = value.f;
    } else if (is_float(type)) {
        as.half = half_of(type, value.f);
    } /* integers: the low bytes, on the little-endian machines that this runs on */
    memcpy(at, &as, trib_type_size(type));
}

static struct value get(enum trib_type type, const uint8_t *at)
{
    struct value value = {0, 0};
    float f32;
    uint16_t half;
    int32_t i32;
    switch ((int)type) {
    case TRIB_FLOAT32:
        memcpy(&f32, at, sizeof f32);
        value.f = (double)f32;
        break;
    case TRIB_FLOAT64:
        memcpy(&value.f, at, sizeof value.f);
        break;
    case TRIB_FLOAT16:
    case TRIB_BFLOAT16:
        memcpy(&half, at, sizeof half);
        value.f = of_half(type, half);
        break;
    case TRIB_INT64:
        memcpy(&value.i, at, sizeof value.i);
        break;
    case TRIB_INT32:
        memcpy(&i32, at, sizeof i32);
        value.i = i32;
        break;
    case TRIB_INT8:
        value.i = (int8_t)*at;
        break;
    default:
        value.i = *at;
        break;
    }
    return value;
}

void api_fill(const struct api_call *call, uint32_t ranks, uint32_t rank, uint8_t *send)
{
    size_t size = trib_type_size(call->type);
    uint64_t first = call->collective == TRIB_ALLGATHER ? api_share_first(call, rank) : 0;
    uint64_t count = api_sends(call, ranks, rank);
    for (uint64_t i = 0; i < count; i++) {
        put(call->type, send + i * size, contribution(call, ranks, rank, first + i));
    }
}

/* ---- results ---- */

/* As an element of the type holds it. */
static struct value narrow(enum trib_type type, struct value value)
{
    uint8_t bytes[8];
    put(type, bytes, value);
    return get(type, bytes);
}

static double reduce_float(enum trib_reduction reduction, double a, double b)
{
    bool is_least = reduction == TRIB_MINIMUM;
    if (reduction == TRIB_PRODUCT) {
        return a * b;
    }
    if (reduction != TRIB_MINIMUM && reduction != TRIB_MAXIMUM) {
        return a + b;
    }
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    if (a == b) {
        return (signbit(a) != 0) == is_least ? a : b;
    }
    return (a < b) == is_least ? a : b;
}

static int64_t reduce_integer(enum trib_reduction reduction, int64_t a, int64_t b)
{
    switch ((int)reduction) {
    case TRIB_PRODUCT:
        return (int64_t)((uint64_t)a * (uint64_t)b); /* the low bits are what a narrow type keeps */
    case TRIB_MINIMUM:
        return a < b ? a : b;
    case TRIB_MAXIMUM:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

/* Of the ranks whose bits are set. */
static struct value reduced(const struct api_call *call, uint32_t ranks, uint32_t set, uint64_t i)
{
    struct value all = {0, 0};
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if ((set >> rank & 1) == 0) {
            continue;
        }
        struct value one = narrow(call->type, contribution(call, ranks, rank, i));
        all.f = count == 0 ? one.f : reduce_float(call->reduction, all.f, one.f);
        all.i = count == 0 ? one.i : reduce_integer(call->reduction, all.i, one.i);
        count++;
    }
    all = narrow(call->type, all);
    if (call->reduction == TRIB_AVERAGE) {
        all.i /= count;
        all.f = call->type == TRIB_FLOAT64 ? all.f / count : (double)((float)all.f / (float)count);
        all = narrow(call->type, all);
    }
    return all;
}

static bool are_same(const struct api_call *call, struct value got, struct value wanted)
{
    bool is_extreme = call->reduction == TRIB_MINIMUM || call->reduction == TRIB_MAXIMUM;
    if (!is_float(call->type)) {
        return got.i == wanted.i;
    }
    if (isnan(wanted.f)) {
        return isnan(got.f);
    }
    return got.f == wanted.f && (!is_extreme || wanted.f != 0 || !signbit(got.f) == !signbit(wanted.f));
}

uint32_t api_may_lack(const struct api_call *call, uint32_t ranks)
{
    bool sums = call->reduction == TRIB_SUM || call->reduction == TRIB_AVERAGE;
    if (call->quorum_of == 0 || call->collective != TRIB_ALLREDUCE || !is_float(call->type) || !sums ||
        call->wire == TRIB_WIRE_INT32) {
        return 0;
    }
    return ranks * (call->quorum_of - call->quorum) / call->quorum_of;
}

static bool is_right(const struct api_call *call, uint32_t ranks, uint64_t i, struct value got, struct value *wanted)
{
    uint32_t all = (1U << ranks) - 1;
    uint32_t most = api_may_lack(call, ranks);
    *wanted = reduced(call, ranks, all, i);
    if (are_same(call, got, *wanted)) {
        return true;
    }
    for (uint32_t set = 1; set < all && most > 0; set++) {
        if (ranks - (uint32_t)__builtin_popcount(set) <= most && are_same(call, got, reduced(call, ranks, set, i))) {
            return true;
        }
    }
    return false;
}

/* Whose element it is, where nothing is reduced. */
static uint32_t giver(const struct api_call *call, uint64_t i)
{
    uint32_t rank = 0;
    if (call->collective == TRIB_BROADCAST) {
        return call->root;
    }
    while (i >= api_share_first(call, rank + 1)) {
        rank++;
    }
    return rank;
}

bool api_check(const struct api_call *call, uint32_t ranks, uint32_t rank, const uint8_t *recv, char *text)
{
    size_t size = trib_type_size(call->type);
    uint64_t count = api_receives(call, ranks, rank);
    uint64_t first = call->collective == TRIB_REDUCE_SCATTER ? api_share_first(call, rank) : 0;
    for (uint64_t i = 0; i < count; i++) {
        struct value got = get(call->type, recv + i * size);
        struct value wanted;
        bool is_good;
        if (reduces(call->collective)) {
            is_good = is_right(call, ranks, first + i, got, &wanted);
        } else {
            wanted = narrow(call->type, contribution(call, ranks, giver(call, i), i));
            is_good = are_same(call, got, wanted);
        }
        if (!is_good) {
            (void)snprintf(text, API_TEXT_MAX, "%s of %llu %s (%s): element %llu is %.17g, and not %.17g",
                           trib_collective_name(call->collective), (unsigned long long)call->count,
                           trib_type_name(call->type), trib_reduction_name(call->reduction), (unsigned long long)i,
                           is_float(call->type) ? got.f : (double)got.i,
                           is_float(call->type) ? wanted.f : (double)wanted.i);
            return false;
        }
    }
    return true;
}

/* ---- communicators made of others ---- */

enum { BY_PARITY, ALL_TOGETHER, ALL_ALONE, RANDOM, SOME_WITHOUT, NOBODY, ONE_INVALID };

/* rank: in the communicator that is split. */
int32_t api_color(const struct api_step *step, uint32_t rank)
{
    uint32_t x = mix((uint64_t)step->field[API_SALT], rank);
    switch (step->field[API_MODE]) {
    case BY_PARITY:
        return (int32_t)(rank % 2);
    case ALL_TOGETHER:
        return 7;
    case ALL_ALONE:
        return (int32_t)rank;
    case RANDOM:
        return (int32_t)(x % 3);
    case SOME_WITHOUT:
        return (int32_t)(x % 3) - 1;
    case NOBODY:
        return TRIB_NO_COLOR;
    default:
        return rank == (uint32_t)step->field[API_RANK] ? TRIB_NO_COLOR - 1 : 0;
    }
}

int32_t api_key(const struct api_step *step, uint32_t rank)
{
    uint32_t x = mix((uint64_t)step->field[API_SALT] + 1, rank);
    return step->field[API_IN_PLACE] != 0 ? 0 : (int32_t)(x % 5) - 2;
}

void api_split(const struct api_step *step, const struct api_members *of, struct api_members *made)
{
    int32_t color = api_color(step, of->me);
    *made = (struct api_members){.count = 0};
    for (int32_t key = -2; key <= 2 && color != TRIB_NO_COLOR; key++) {
        for (uint32_t rank = 0; rank < of->count; rank++) {
            if (api_color(step, rank) == color && api_key(step, rank) == key) {
                made->me = rank == of->me ? made->count : made->me;
                made->rank[made->count++] = of->rank[rank];
            }
        }
    }
}

/* Members in an order of their own: which ones is drawn from the salt, the first of them from the mode. */
void api_subset(const struct api_step *step, const struct api_members *of, struct api_members *made)
{
    bool is_in = false;
    *made = (struct api_members){.count = 0};
    for (uint32_t i = 0; i < of->count; i++) {
        uint32_t rank = (i + (uint32_t)step->field[API_MODE]) % of->count;
        if (mix((uint64_t)step->field[API_SALT], rank) % 3 == 0) {
            continue;
        }
        is_in = is_in || rank == of->me;
        made->me = rank == of->me ? made->count : made->me;
        made->rank[made->count++] = of->rank[rank];
    }
    made->count = is_in ? made->count : 0;
}
