/* SPDX-License-Identifier: Apache-2.0 */
/* test_operation.c: how a collective becomes fragments, and that different collectives have different digests (I10). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/operation.h"
#include "core/prng.h"

static struct trib_session_config session_of(enum trib_type wire, uint32_t payload, uint32_t lookahead)
{
    return (struct trib_session_config){
        .wire = wire, .payload = payload, .lookahead = lookahead, .ranks = 4, .roots = 1};
}

static struct trib_operation allreduce_of(enum trib_type type, uint64_t count)
{
    return (struct trib_operation){.collective = TRIB_ALLREDUCE, .type = type, .reduction = TRIB_SUM, .count = count};
}

static uint64_t elements_of(const struct trib_layout *layout, const struct trib_operation *operation, uint64_t block)
{
    struct trib_piece piece;

    trib_layout_piece(layout, operation, block, &piece);
    return piece.elements;
}

/* As many ranks give a part of a share as there are parts, and a share is for one rank, for all, or for all others. A
 * barrier, and an operation that is none, has no parts, and each rank waits for its end. */
static void ranks__give_as_many_parts_as_there_are(void **state)
{
    (void)state;
    for (uint32_t collective = TRIB_COLLECTIVE_NONE; collective <= TRIB_COLLECTIVE_COUNT; collective++) {
        const struct trib_operation operation = {.collective = (enum trib_collective)collective};
        for (uint32_t ranks = 1; ranks <= 5; ranks++) {
            for (uint32_t owner = 0; owner < ranks; owner++) {
                uint32_t parts = 0;
                uint32_t wanted = 0;
                for (uint32_t rank = 0; rank < ranks; rank++) {
                    parts += trib_operation_contributes(&operation, owner, rank);
                    wanted += trib_operation_wants(&operation, owner, rank);
                }
                assert_int_equal(parts, trib_operation_parts(&operation, ranks));
                assert_true(wanted == ranks || wanted == ranks - 1 || wanted == 1);
                assert_true(parts > 0 || ranks == 1 || wanted == ranks);
            }
        }
    }
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
    assert_int_equal(elements_of(&layout, &barrier, 0), 0);
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
            uint64_t elements = elements_of(&layout, &operation, block);
            assert_in_range(elements, 1, layout.block_elements);
            sum += elements;
        }
        assert_int_equal(sum, count);
        assert_int_equal(elements_of(&layout, &operation, layout.blocks), 0);
        assert_int_equal(elements_of(&layout, &operation, UINT64_MAX), 0);
    }
}

/* ---- shares ---- */

#define RANKS_MOST 24

struct shares_case {
    struct trib_session_config session;
    struct trib_operation operation;
    uint64_t count[RANKS_MOST];
    uint64_t total;
};

/* Equal shares, or ones that differ, many of them empty. */
static void draw_shares(struct trib_prng *prng, bool even, struct shares_case *c)
{
    uint64_t most = 1 + trib_prng_below(prng, 400);

    memset(c, 0, sizeof *c);
    c->session.wire = (enum trib_type[]){TRIB_FLOAT32, TRIB_BFLOAT16, TRIB_INT32}[trib_prng_below(prng, 3)];
    c->session.ranks = 1 + (uint32_t)trib_prng_below(prng, RANKS_MOST);
    c->session.payload = 64 * (1 + (uint32_t)trib_prng_below(prng, 3));
    c->session.train = 1 + (uint32_t)trib_prng_below(prng, 12);
    c->session.lookahead = 1 + (uint32_t)trib_prng_below(prng, 400);
    c->operation.collective = trib_prng_below(prng, 2) ? TRIB_ALLGATHER : TRIB_REDUCE_SCATTER;
    c->operation.type = trib_prng_below(prng, 2) ? TRIB_FLOAT32 : TRIB_INT64;
    for (uint32_t rank = 0; rank < c->session.ranks; rank++) {
        c->count[rank] = even ? most : trib_prng_below(prng, 3) == 0 ? 0 : trib_prng_below(prng, most);
        c->total += c->count[rank];
    }
    c->operation.count = even ? most : c->total;
    if (!even) {
        void *memory = malloc(trib_shares_size(c->session.ranks));
        assert_non_null(memory);
        c->operation.shares = trib_shares_init(memory, &c->session, &c->operation, c->count);
    }
}

/* Each element of the whole lies in one block, at the place in its owner's share that belongs to it. */
static void check_bijection(const struct shares_case *c, const struct trib_layout *layout)
{
    uint8_t *seen = calloc(c->total + 1, 1);
    uint64_t found = 0;

    assert_non_null(seen);
    for (uint64_t block = 0; block < layout->blocks; block++) {
        struct trib_piece piece;
        uint64_t before = 0;
        trib_layout_piece(layout, &c->operation, block, &piece);
        assert_in_range(piece.owner, 0, c->session.ranks - 1);
        for (uint32_t rank = 0; rank < piece.owner; rank++) {
            before += c->count[rank];
        }
        assert_int_equal(piece.whole_at, before + piece.share_at);
        assert_in_range(piece.elements, 1, layout->block_elements);
        assert_true(piece.share_at + piece.elements <= c->count[piece.owner]);
        assert_true(piece.elements == layout->block_elements ||
                    piece.share_at + piece.elements == c->count[piece.owner]);
        for (uint64_t i = 0; i < piece.elements; i++) {
            assert_int_equal(seen[piece.whole_at + i]++, 0);
        }
        found += piece.elements;
    }
    assert_int_equal(found, c->total);
    assert_int_equal(elements_of(layout, &c->operation, layout->blocks), 0);
    free(seen);
}

static void shares__are_cut_into_blocks_of_which_each_element_is_in_one(void **state)
{
    struct trib_prng prng = {.state = 1};

    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        struct shares_case c;
        struct trib_layout layout;
        draw_shares(&prng, i % 3 == 0, &c);
        trib_layout_init(&layout, &c.session, &c.operation, 0);
        check_bijection(&c, &layout);
        free((void *)(uintptr_t)c.operation.shares);
    }
}

/* What a rank sends and gets as payload is what a ring would move: all but the own share, once. */
static void shares__move_no_more_payload_than_a_ring(void **state)
{
    struct trib_prng prng = {.state = 2};

    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        struct shares_case c;
        struct trib_layout layout;
        draw_shares(&prng, i % 3 == 0, &c);
        trib_layout_init(&layout, &c.session, &c.operation, 0);
        bool gathers = c.operation.collective == TRIB_ALLGATHER;
        for (uint32_t rank = 0; rank < c.session.ranks; rank++) {
            uint64_t up = 0, down = 0;
            for (uint64_t block = 0; block < layout.blocks; block++) {
                struct trib_piece piece;
                trib_layout_piece(&layout, &c.operation, block, &piece);
                up += trib_operation_contributes(&c.operation, piece.owner, rank) ? piece.elements : 0;
                down += trib_operation_wants(&c.operation, piece.owner, rank) ? piece.elements : 0;
            }
            assert_int_equal(up, gathers ? c.count[rank] : c.total - c.count[rank]);
            assert_int_equal(down, gathers ? c.total - c.count[rank] : c.count[rank]);
        }
        free((void *)(uintptr_t)c.operation.shares);
    }
}

/* A window of 8 trains holds blocks of every owner, and trains are of one owner where there is room for that. */
static void shares__of_all_owners_are_in_a_window(void **state)
{
    (void)state;
    for (uint32_t ranks = 2; ranks <= 64; ranks *= 2) {
        struct trib_session_config session = {
            .wire = TRIB_FLOAT32, .ranks = ranks, .payload = 1408, .train = 44, .lookahead = 352};
        struct trib_operation operation = {
            .collective = TRIB_ALLGATHER, .type = TRIB_FLOAT32, .count = UINT64_C(352) * 1000};
        struct trib_layout layout;
        trib_layout_init(&layout, &session, &operation, 0);
        for (uint64_t first = 0; first + 352 <= layout.blocks; first += 352) {
            uint64_t owners = 0;
            uint32_t changes = 0, before = UINT32_MAX;
            for (uint64_t block = first; block < first + 352; block++) {
                struct trib_piece piece;
                trib_layout_piece(&layout, &operation, block, &piece);
                owners |= UINT64_C(1) << piece.owner;
                changes += piece.owner != before;
                before = piece.owner;
            }
            assert_int_equal(owners, trib_all_children(ranks));
            assert_in_range(changes, 1, ranks <= 2 ? 9 : ranks <= 8 ? 2 * ranks + 1 : 352);
        }
    }
}

static void digest__differs_with_each_share(void **state)
{
    struct trib_prng prng = {.state = 3};

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        struct shares_case c;
        struct trib_layout a, b;
        draw_shares(&prng, false, &c);
        uint32_t from = (uint32_t)trib_prng_below(&prng, c.session.ranks);
        uint32_t to = (from + 1) % c.session.ranks;
        trib_layout_init(&a, &c.session, &c.operation, 5);
        if (from != to && c.count[from] != 0) {
            c.count[from]--; /* the sum stays */
            c.count[to]++;
            void *memory = (void *)(uintptr_t)c.operation.shares;
            c.operation.shares = trib_shares_init(memory, &c.session, &c.operation, c.count);
            trib_layout_init(&b, &c.session, &c.operation, 5);
            assert_int_not_equal(a.digest, b.digest);
        }
        free((void *)(uintptr_t)c.operation.shares);
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
    struct trib_operation others[] = {base, base, base, base, base, base};

    (void)state;
    others[0].count = 1001;
    others[1].type = TRIB_INT32;
    others[2].reduction = TRIB_AVERAGE;
    others[3].root = 1;
    others[4].collective = TRIB_BROADCAST;
    others[5].part_of = TRIB_PART_OF_SPLIT;
    for (size_t i = 0; i < 6; i++) {
        assert_int_not_equal(digest_of(&others[i], 7), digest_of(&base, 7));
    }
    assert_int_not_equal(digest_of(&base, 8), digest_of(&base, 7));
}

static void digest__differs_with_settings(void **state)
{
    struct trib_operation operation = allreduce_of(TRIB_INT32, 1000);
    struct trib_session_config settings[] = {session_of(TRIB_FLOAT32, 1408, 8), session_of(TRIB_FLOAT32, 1344, 8),
                                             session_of(TRIB_INT32, 1408, 8), session_of(TRIB_FLOAT32, 1408, 9),
                                             session_of(TRIB_FLOAT32, 1408, 8)};
    struct trib_layout base;
    struct trib_layout other;

    (void)state;
    settings[4].ranks++; /* of which the scale of wire int32 is made */
    trib_layout_init(&base, &settings[0], &operation, 7);
    for (size_t i = 1; i < 5; i++) {
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
        cmocka_unit_test(ranks__give_as_many_parts_as_there_are),
        cmocka_unit_test(layout__cuts_a_tensor_into_blocks),
        cmocka_unit_test(layout__quantises_only_what_is_added),
        cmocka_unit_test(layout__takes_one_sequence_for_nothing),
        cmocka_unit_test(layout__carries_a_broadcast_as_bytes),
        cmocka_unit_test(elements__add_up_to_the_count),
        cmocka_unit_test(shares__are_cut_into_blocks_of_which_each_element_is_in_one),
        cmocka_unit_test(shares__move_no_more_payload_than_a_ring),
        cmocka_unit_test(shares__of_all_owners_are_in_a_window),
        cmocka_unit_test(digest__differs_with_each_share),
        cmocka_unit_test(digest__differs_in_each_field),
        cmocka_unit_test(digest__differs_with_settings),
        cmocka_unit_test(digest__is_the_same_on_all_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
