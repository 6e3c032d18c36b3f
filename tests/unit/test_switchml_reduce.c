/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_reduce.c: every reduction of every type through a switch node, whatever the order of arrival, against
 * arithmetic of its own: on doubles and on 64-bit integers, of values whose results are exact. Kernels are in
 * test_value_reduce.c.
 * Read next: test_switchml_switch.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/node.h"
#include "core/prng.h"
#include "node_memory.h"
#include "schemes/switchml/switchml.h"

#define CHILDREN 4 /* two rows, and a merge of them */
#define PAYLOAD 64

static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_FLOAT64,
                                       TRIB_INT32,   TRIB_INT64,   TRIB_INT8,     TRIB_UINT8};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what must come out ---- */

static bool is_float(enum trib_type type)
{
    return type == TRIB_FLOAT32 || type == TRIB_FLOAT16 || type == TRIB_BFLOAT16 || type == TRIB_FLOAT64;
}

/* A number of the test in a format of so many exponent and fraction bits, which hold it exactly. */
static uint64_t float_bits(double value, int exponent_bits, int fraction_bits)
{
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint64_t sign = signbit(value) ? UINT64_C(1) << (exponent_bits + fraction_bits) : 0;
    const uint64_t infinity = ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits;

    if (isnan(value)) {
        return infinity | UINT64_C(1) << (fraction_bits - 1); /* the canonical one */
    }
    if (isinf(value)) {
        return sign | infinity;
    }
    if (fpclassify(value) == FP_ZERO) {
        return sign;
    }
    int exponent = ilogb(value);
    double fraction = ldexp(fabs(value), fraction_bits - exponent) - ldexp(1, fraction_bits);
    assert_true(floor(fraction) == fraction && exponent + bias > 0);
    return sign | (uint64_t)(exponent + bias) << fraction_bits | (uint64_t)fraction;
}

static uint64_t bits_of(enum trib_type type, double value)
{
    if (type == TRIB_FLOAT16) {
        return float_bits(value, 5, 10);
    }
    if (type == TRIB_BFLOAT16) {
        return float_bits(value, 8, 7);
    }
    return type == TRIB_FLOAT64 ? float_bits(value, 11, 52) : float_bits(value, 8, 23);
}

static double reduced(enum trib_reduction reduction, double a, double b)
{
    if (reduction == TRIB_SUM || reduction == TRIB_AVERAGE) {
        return a + b;
    }
    if (reduction == TRIB_PRODUCT) {
        return a * b;
    }
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    bool a_is_less = a < b || (!(b < a) && signbit(a));
    return a_is_less == (reduction == TRIB_MINIMUM) ? a : b;
}

static int64_t whole(enum trib_type type, int64_t value)
{
    if (type == TRIB_INT8) {
        return (int8_t)value;
    }
    if (type == TRIB_UINT8) {
        return (uint8_t)value;
    }
    return type == TRIB_INT32 ? (int32_t)value : value;
}

static int64_t reduced_whole(enum trib_type type, enum trib_reduction reduction, int64_t a, int64_t b)
{
    if (reduction == TRIB_SUM || reduction == TRIB_AVERAGE) {
        return whole(type, (int64_t)((uint64_t)a + (uint64_t)b));
    }
    if (reduction == TRIB_PRODUCT) {
        return whole(type, (int64_t)((uint64_t)a * (uint64_t)b));
    }
    return (a < b) == (reduction == TRIB_MINIMUM) ? a : b;
}

/* ---- a switch with its children's payloads ---- */

struct bench {
    void *node;
    enum trib_type type;
    enum trib_reduction reduction;
    uint64_t sequence;
    uint8_t payloads[CHILDREN][PAYLOAD];
    uint8_t expected[PAYLOAD];
};

static int set_up(void **state)
{
    const struct trib_switch_config config = {
        .session = {.communicator = 11,
                    .generation = 2,
                    .ranks = CHILDREN,
                    .roots = 1,
                    .train = 1,
                    .slots = 4,
                    .payload = PAYLOAD,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .children = CHILDREN,
        .boot = 7,
    };
    struct bench *b = calloc(1, sizeof *b);

    b->node = node_memory(trib_switchml.switch_node->size(&config));
    trib_switchml.switch_node->init(b->node, &config);
    for (uint32_t child = 0; child < CHILDREN; child++) {
        trib_switchml.switch_node->join(b->node, child, 0);
    }
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    free(b->node);
    free(b);
    return 0;
}

/* The fixed tree over four children. */
static void make_element(struct bench *b, struct trib_prng *prng, size_t index)
{
    static const double floats[] = {1, 2, -1, 3, 0.5, 0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN};
    static const int64_t integers[] = {0, 1, 2, 3, -1, 100, 127, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    const size_t size = trib_type_size(b->type);
    uint64_t bits[CHILDREN + 1];
    double f[CHILDREN];
    int64_t i[CHILDREN];

    for (uint32_t child = 0; child < CHILDREN; child++) {
        f[child] = floats[trib_prng_below(prng, trib_prng_below(prng, 2) == 0 ? 5 : COUNT(floats))];
        i[child] = whole(b->type, integers[trib_prng_below(prng, COUNT(integers))]);
        bits[child] = is_float(b->type) ? bits_of(b->type, f[child]) : (uint64_t)i[child];
    }
    if (is_float(b->type)) {
        bits[CHILDREN] = bits_of(
            b->type, reduced(b->reduction, reduced(b->reduction, f[0], f[1]), reduced(b->reduction, f[2], f[3])));
    } else {
        bits[CHILDREN] =
            (uint64_t)reduced_whole(b->type, b->reduction, reduced_whole(b->type, b->reduction, i[0], i[1]),
                                    reduced_whole(b->type, b->reduction, i[2], i[3]));
    }
    for (uint32_t child = 0; child < CHILDREN; child++) {
        memcpy(b->payloads[child] + index * size, &bits[child], size);
    }
    memcpy(b->expected + index * size, &bits[CHILDREN], size);
}

static struct trib_packet packet_of(const struct bench *b, uint32_t child)
{
    return (struct trib_packet){
        .kind = TRIB_CONTRIBUTION,
        .sequence = b->sequence,
        .mark = b->sequence,
        .communicator = 11,
        .generation = 2,
        .boot = 7,
        .digest = 77,
        .lane = 1,
        .type = (uint8_t)b->type,
        .reduction = (uint8_t)b->reduction,
        .payload = b->payloads[child],
        .payload_len = PAYLOAD,
        .contributors = 1,
        .last_rank = (uint16_t)child,
    };
}

static enum trib_drop send(struct bench *b, uint32_t child, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << child};

    return trib_switchml.switch_node->node.receive(b->node, from, packet, 1000);
}

/* All children's contributions in this order; the result is the expected one, and the next sequence is free. */
static void check_order(struct bench *b, const uint32_t *order)
{
    struct trib_packet packet;
    struct trib_place to;

    for (uint32_t i = 0; i < CHILDREN; i++) {
        packet = packet_of(b, order[i]);
        assert_int_equal(send(b, order[i], &packet), TRIB_DROP_NONE);
    }
    assert_true(trib_switchml.switch_node->node.next_packet(b->node, 1000, &packet, &to));
    assert_int_equal(packet.kind, TRIB_RESULT);
    assert_int_equal(packet.type, b->type);
    assert_int_equal(packet.reduction, b->reduction);
    assert_int_equal(packet.payload_len, PAYLOAD);
    if (memcmp(packet.payload, b->expected, PAYLOAD) != 0) {
        fail_msg("%s of %s, arrived %u %u %u %u", trib_reduction_name(b->reduction), trib_type_name(b->type), order[0],
                 order[1], order[2], order[3]);
    }
    b->sequence++;
}

static void check_orders(struct bench *b)
{
    for (uint32_t all = 0; all < CHILDREN * CHILDREN * CHILDREN * CHILDREN; all++) {
        uint32_t order[CHILDREN] = {all % 4, all / 4 % 4, all / 16 % 4, all / 64};
        if ((1U << order[0] | 1U << order[1] | 1U << order[2] | 1U << order[3]) == 15) {
            check_order(b, order);
        }
    }
}

/* ---- tests ---- */

static void switch__reduces_every_type_in_every_order(void **state)
{
    struct bench *b = *state;
    struct trib_prng prng = {.state = 1};

    for (size_t i = 0; i < COUNT(types); i++) {
        for (int reduction = TRIB_SUM; reduction < TRIB_REDUCTION_COUNT; reduction++) {
            b->type = types[i];
            b->reduction = (enum trib_reduction)reduction;
            for (uint32_t round = 0; round < 8; round++) {
                for (size_t index = 0; index < PAYLOAD / trib_type_size(b->type); index++) {
                    make_element(b, &prng, index);
                }
                check_orders(b);
            }
        }
    }
}

/* Digests would have to collide for that: it is the second line of defence. */
static void switch__mixes_no_reductions(void **state)
{
    struct bench *b = *state;
    b->type = TRIB_INT32;
    b->reduction = TRIB_MAXIMUM;
    struct trib_packet packet = packet_of(b, 0);

    assert_int_equal(send(b, 0, &packet), TRIB_DROP_NONE);
    packet.reduction = TRIB_MINIMUM;
    assert_int_equal(send(b, 1, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = 0;
    assert_int_equal(send(b, 1, &packet), TRIB_DROP_SHAPE);
    packet = packet_of(b, 1);
    assert_int_equal(send(b, 1, &packet), TRIB_DROP_NONE);
}

static void switch__reduces_nothing_without_a_reduction(void **state)
{
    struct bench *b = *state;
    b->type = TRIB_FLOAT32;
    b->reduction = TRIB_REDUCTION_NONE;
    struct trib_packet packet = packet_of(b, 2);

    assert_int_equal(send(b, 2, &packet), TRIB_DROP_NONE); /* it may be the only one */
    assert_int_equal(send(b, 3, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = 0;
    assert_int_equal(send(b, 3, &packet), TRIB_DROP_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(switch__reduces_every_type_in_every_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(switch__mixes_no_reductions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(switch__reduces_nothing_without_a_reduction, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
