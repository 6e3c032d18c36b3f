/* SPDX-License-Identifier: Apache-2.0 */
/* test_operation.c: how a collective becomes fragments, and that different collectives have different digests (I10). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/operation.h"

static struct trib_session_config session_of(enum trib_type wire, uint32_t payload, uint32_t lookahead)
{
    return (struct trib_session_config){
        .wire = wire, .payload = payload, .lookahead = lookahead, .ranks = 4, .roots = 1};
}

static struct trib_operation allreduce_of(enum trib_type type, uint64_t count)
{
    return (struct trib_operation){.collective = TRIB_ALLREDUCE, .type = type, .reduction = TRIB_SUM, .count = count};
}

static void layout__cuts_a_tensor_into_blocks(void **state)
{
    static const struct {
        enum trib_type type, wire;
        uint64_t count;
        uint64_t blocks, sequences;
        uint32_t elements, lookahead;
        enum trib_type payload;
    } rows[] = {
        {TRIB_FLOAT32, TRIB_FLOAT32, 1, 1, 1, 352, 0, TRIB_FLOAT32},
        {TRIB_FLOAT32, TRIB_FLOAT32, 352, 1, 1, 352, 0, TRIB_FLOAT32},
        {TRIB_FLOAT32, TRIB_FLOAT32, 353, 2, 2, 352, 0, TRIB_FLOAT32},
        {TRIB_FLOAT32, TRIB_BFLOAT16, 705, 2, 2, 704, 0, TRIB_BFLOAT16},
        {TRIB_FLOAT32, TRIB_INT32, 352, 1, 2, 352, 1, TRIB_INT32}, /* no more lookahead than blocks */
        {TRIB_FLOAT32, TRIB_INT32, 35200, 100, 108, 352, 8, TRIB_INT32},
        {TRIB_FLOAT16, TRIB_INT32, 704, 1, 1, 704, 0, TRIB_FLOAT16}, /* the wire form is for float32 only */
        {TRIB_BFLOAT16, TRIB_FLOAT32, 705, 2, 2, 704, 0, TRIB_BFLOAT16},
        {TRIB_INT32, TRIB_INT32, 353, 2, 2, 352, 0, TRIB_INT32},
        {TRIB_INT64, TRIB_BFLOAT16, 177, 2, 2, 176, 0, TRIB_INT64},
        {TRIB_FLOAT64, TRIB_BFLOAT16, 177, 2, 2, 176, 0, TRIB_FLOAT64},
        {TRIB_FLOAT64, TRIB_INT32, 176, 1, 1, 176, 0, TRIB_FLOAT64},
        {TRIB_INT8, TRIB_INT32, 1409, 2, 2, 1408, 0, TRIB_INT8},
        {TRIB_UINT8, TRIB_FLOAT32, 1408, 1, 1, 1408, 0, TRIB_UINT8},
        {TRIB_FLOAT32, TRIB_FLOAT32, UINT64_C(1) << 40, 3123612579, 3123612579, 352, 0, TRIB_FLOAT32},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trib_session_config session = session_of(rows[i].wire, 1408, 8);
        struct trib_operation operation = allreduce_of(rows[i].type, rows[i].count);
        struct trib_layout layout;
        trib_layout_init(&layout, &session, &operation, 0);
        assert_int_equal(layout.blocks, rows[i].blocks);
        assert_int_equal(layout.sequences, rows[i].sequences);
        assert_int_equal(layout.block_elements, rows[i].elements);
        assert_int_equal(layout.lookahead, rows[i].lookahead);
        assert_int_equal(layout.wire, rows[i].payload);
    }
}

static void layout__quantises_only_what_is_added(void **state)
{
    static const enum trib_type wires[] = {TRIB_FLOAT32, TRIB_BFLOAT16, TRIB_INT32};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (int reduction = TRIB_SUM; reduction < TRIB_REDUCTION_COUNT; reduction++) {
            bool is_added = reduction == TRIB_SUM || reduction == TRIB_AVERAGE;
            bool is_whole = wires[i] == TRIB_INT32 && !is_added;
            struct trib_session_config session = session_of(wires[i], 1408, 8);
            struct trib_operation operation = allreduce_of(TRIB_FLOAT32, 7040);
            struct trib_layout layout;

            operation.reduction = (enum trib_reduction)reduction;
            trib_layout_init(&layout, &session, &operation, 0);
            assert_int_equal(layout.wire, is_whole ? TRIB_FLOAT32 : wires[i]);
            assert_int_equal(layout.lookahead, wires[i] == TRIB_INT32 && is_added ? 8 : 0);
        }
    }
}

static void layout__takes_one_sequence_for_nothing(void **state)
{
    struct trib_session_config session = session_of(TRIB_INT32, 256, 8);
    struct trib_operation nothing = allreduce_of(TRIB_FLOAT32, 0);
    struct trib_operation barrier = {.collective = TRIB_BARRIER, .type = TRIB_BYTES};
    struct trib_layout layout;

    (void)state;
    trib_layout_init(&layout, &session, &nothing, 0);
    assert_int_equal(layout.blocks, 0);
    assert_int_equal(layout.sequences, 1);
    trib_layout_init(&layout, &session, &barrier, 0);
    assert_int_equal(layout.blocks, 0);
    assert_int_equal(layout.sequences, 1);
    assert_int_equal(trib_layout_elements(&layout, 0, 0), 0);
}

static void layout__carries_a_broadcast_as_bytes(void **state)
{
    struct trib_session_config session = session_of(TRIB_INT32, 256, 8);
    struct trib_operation operation = {.collective = TRIB_BROADCAST, .type = TRIB_FLOAT32, .count = 65};
    struct trib_layout layout;

    (void)state;
    trib_layout_init(&layout, &session, &operation, 0);
    assert_int_equal(layout.wire, TRIB_BYTES);
    assert_int_equal(layout.wire_size, 4);
    assert_int_equal(layout.block_elements, 64);
    assert_int_equal(layout.sequences, 2);
    assert_int_equal(layout.lookahead, 0);
}

static void elements__add_up_to_the_count(void **state)
{
    (void)state;
    for (uint64_t count = 0; count < 500; count++) {
        struct trib_session_config session = session_of(TRIB_FLOAT32, 192, 1);
        struct trib_operation operation = allreduce_of(TRIB_INT64, count);
        struct trib_layout layout;
        uint64_t sum = 0;
        trib_layout_init(&layout, &session, &operation, 0);
        for (uint64_t block = 0; block < layout.blocks; block++) {
            uint64_t elements = trib_layout_elements(&layout, count, block);
            assert_in_range(elements, 1, layout.block_elements);
            sum += elements;
        }
        assert_int_equal(sum, count);
        assert_int_equal(trib_layout_elements(&layout, count, layout.blocks), 0);
        assert_int_equal(trib_layout_elements(&layout, count, UINT64_MAX), 0);
    }
}

static uint32_t digest_of(const struct trib_operation *operation, uint64_t number)
{
    struct trib_session_config session = session_of(TRIB_FLOAT32, 1408, 8);
    struct trib_layout layout;

    trib_layout_init(&layout, &session, operation, number);
    return layout.digest;
}

static void digest__differs_in_each_field(void **state)
{
    struct trib_operation base = allreduce_of(TRIB_FLOAT32, 1000);
    struct trib_operation others[] = {base, base, base, base, base};

    (void)state;
    others[0].count = 1001;
    others[1].type = TRIB_INT32;
    others[2].reduction = TRIB_AVERAGE;
    others[3].root = 1;
    others[4].collective = TRIB_BROADCAST;
    for (size_t i = 0; i < 5; i++) {
        assert_int_not_equal(digest_of(&others[i], 7), digest_of(&base, 7));
    }
    assert_int_not_equal(digest_of(&base, 8), digest_of(&base, 7));
}

static void digest__differs_with_settings(void **state)
{
    struct trib_operation operation = allreduce_of(TRIB_INT32, 1000);
    struct trib_session_config settings[] = {session_of(TRIB_FLOAT32, 1408, 8), session_of(TRIB_FLOAT32, 1344, 8),
                                             session_of(TRIB_INT32, 1408, 8), session_of(TRIB_FLOAT32, 1408, 9)};
    struct trib_layout base;
    struct trib_layout other;

    (void)state;
    trib_layout_init(&base, &settings[0], &operation, 7);
    for (size_t i = 1; i < 4; i++) {
        trib_layout_init(&other, &settings[i], &operation, 7);
        assert_int_not_equal(other.digest, base.digest);
    }
}

/* Buffers and tokens are each rank's own affair. */
static void digest__is_the_same_on_all_ranks(void **state)
{
    struct trib_operation a = allreduce_of(TRIB_FLOAT32, 1000);
    struct trib_operation b = a;
    float buffer[4];

    (void)state;
    b.send = buffer;
    b.recv = buffer;
    b.token = 99;
    assert_int_equal(digest_of(&a, 7), digest_of(&b, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout__cuts_a_tensor_into_blocks),
        cmocka_unit_test(layout__quantises_only_what_is_added),
        cmocka_unit_test(layout__takes_one_sequence_for_nothing),
        cmocka_unit_test(layout__carries_a_broadcast_as_bytes),
        cmocka_unit_test(elements__add_up_to_the_count),
        cmocka_unit_test(digest__differs_in_each_field),
        cmocka_unit_test(digest__differs_with_settings),
        cmocka_unit_test(digest__is_the_same_on_all_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
