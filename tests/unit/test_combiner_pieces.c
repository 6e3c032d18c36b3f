/* SPDX-License-Identifier: Apache-2.0 */
/* test_combiner_pieces.c: a combiner that adds some pieces of a model alone, in rows of its own. Mirrors
 * protocol/pieces.h, and protocol/combiner.c where a communicator has pieces. */
#include "combiner_harness.h"

#define RUN 2U

/* ---- arithmetic ---- */

static void sequences__are_dealt_to_pieces_in_runs(void **state)
{
    const struct trib_pieces pieces = {.own = 0x5, .count = 3, .run = RUN};
    static const uint8_t expected[] = {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2};

    (void)state;
    for (uint64_t s = 0; s < sizeof expected; s++) {
        assert_int_equal(trib_pieces_of(&pieces, s), expected[s]);
        assert_int_equal(trib_pieces_has(&pieces, s), expected[s] != 1);
    }
    const struct trib_pieces none = {.count = 0};
    assert_true(trib_pieces_has(&none, 7));
    assert_int_equal(trib_pieces_rows(&none, 100), 0);
}

static void all_pieces__are_as_many_bits(void **state)
{
    (void)state;
    assert_int_equal(trib_pieces_all(1), 1);
    assert_int_equal(trib_pieces_all(16), 0xffff);
    assert_true(trib_pieces_all(TRIB_PIECES_MAX) == UINT64_MAX);
}

/* For all sets of up to five pieces, runs, spans and places of the window: no two own sequences of a window meet. */
static void own_sequences_of_a_window__have_rows_that_differ(void **state)
{
    uint8_t taken[64];

    (void)state;
    for (uint32_t count = 1; count <= 5; count++) {
        for (uint64_t own = 1; own <= trib_pieces_all(count); own++) {
            for (uint32_t run = 1; run <= 3; run++) {
                const struct trib_pieces pieces = {.own = own, .count = count, .run = run};
                uint64_t span = 1 + (own * 7 + run * 5) % 31;
                uint32_t rows = (uint32_t)trib_pieces_rows(&pieces, span);
                assert_in_range(rows, 1, sizeof taken);
                for (uint64_t from = 0; from < 40; from++) {
                    memset(taken, 0, sizeof taken);
                    for (uint64_t s = from; s < from + span; s++) {
                        if (trib_pieces_has(&pieces, s)) {
                            uint32_t row = trib_pieces_row(&pieces, s, rows);
                            assert_in_range(row, 0, rows - 1);
                            assert_int_equal(taken[row]++, 0);
                        }
                    }
                }
            }
        }
    }
}

static void rows__are_the_part_of_a_window_that_is_own(void **state)
{
    const struct trib_pieces three = {.own = 0x7, .count = 16, .run = 1};
    const struct trib_pieces all = {.own = UINT64_MAX, .count = 64, .run = 16};

    (void)state;
    assert_int_equal(trib_pieces_rows(&three, 1600), 303);
    assert_int_equal(trib_pieces_rows(&all, 1024), 2048);
    assert_int_equal(trib_pieces_row(&all, TRIB_SEQUENCE_MAX, 2048), TRIB_SEQUENCE_MAX % 2048);
}

/* ---- at a combiner ---- */

/* Member 0 adds pieces 0 and 2 of three, in rows of its own; the others share what is left. */
static void place(struct fixture *f, uint32_t rows)
{
    struct trib_combiner_grant grant = grant_of(f, 0, 0);

    grant.pieces = (struct trib_pieces){.own = 0x5, .count = 3, .run = RUN};
    grant.first_row = f->config.rows - rows;
    grant.rows = rows;
    trib_combiner_admit(f->combiner, 0, &grant);
}

static void parts_of_own_pieces_alone__are_added(void **state)
{
    struct fixture *f = *state;

    place(f, 4);
    for (uint64_t s = 0; s < 6; s++) {
        bool is_own = s / RUN != 1;
        enum trib_combined verdict = is_own ? TRIB_COMBINED_TAKEN : TRIB_COMBINED_PASS;
        for (uint64_t rank = 1; rank <= 4; rank *= 2) {
            assert_int_equal(contribute(f, rank, s), verdict);
        }
        if (is_own) {
            struct trib_packet sum = expect_sum(f, 0, BEHIND, s);
            assert_int_equal(first_of(&sum), 7);
        }
        expect_nothing(f);
    }
    EXPECT_COUNTER(f, combined, 12);
    EXPECT_COUNTER(f, elsewhere, 6);
    EXPECT_COUNTER(f, passed, 6);
    EXPECT_COUNTER(f, complete, 4);
}

/* As a hash would not grant: as many rows as fragments under way, and none collides. */
static void own_rows__are_enough_for_all_fragments_under_way(void **state)
{
    struct fixture *f = *state;

    place(f, 8);
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t s = 0; s < 12; s++) {
            enum trib_combined verdict = s / RUN % 3 != 1 ? TRIB_COMBINED_TAKEN : TRIB_COMBINED_PASS;
            assert_int_equal(contribute(f, 1, 12 * round + s), verdict);
        }
        assert_int_equal(held(f), 8);
        EXPECT_COUNTER(f, collisions, 0);
        for (uint64_t s = 0; s < 12; s++) {
            (void)contribute(f, 6, 12 * round + s);
        }
        assert_int_equal(held(f), 0);
        for (uint64_t s = 0; s < 12; s++) {
            if (s / RUN % 3 != 1) {
                (void)expect_sum(f, 0, BEHIND, 12 * round + s);
            }
        }
    }
    EXPECT_COUNTER(f, complete, 16);
}

/* Fewer rows than fragments under way: the second passes, and the first is not lost. */
static void too_few_own_rows__collide(void **state)
{
    struct fixture *f = *state;

    place(f, 2);
    assert_int_equal(contribute(f, 1, 0), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 4), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, collisions, 1);
    assert_int_equal(contribute(f, 6, 0), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 0, BEHIND, 0);
}

static void a_part_of_another_piece__passes_below_m_as_well(void **state)
{
    struct fixture *f = *state;

    place(f, 4);
    trib_combiner_learn_mark(f->combiner, 0, 100);
    assert_int_equal(contribute(f, 1, 2), TRIB_COMBINED_PASS);
    assert_int_equal(contribute(f, 1, 1), TRIB_COMBINED_DROPPED);
    EXPECT_COUNTER(f, stale, 1);
}

static void a_probe__takes_own_pieces_along(void **state)
{
    struct fixture *f = *state;

    place(f, 8);
    assert_int_equal(contribute(f, 1, 0), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 2), TRIB_COMBINED_PASS);
    assert_int_equal(contribute(f, 1, 5), TRIB_COMBINED_TAKEN);
    struct trib_packet probe = packet_of(TRIB_PROBE, 0);
    probe.bitmap = UINT64_MAX;
    assert_int_equal(up(f, 1, &probe), TRIB_COMBINED_PASS);
    (void)expect_sum(f, 0, 1, 0);
    (void)expect_sum(f, 0, 1, 5);
    expect_nothing(f);
}

static void a_combiner_of_no_piece__adds_nothing(void **state)
{
    struct fixture *f = *state;
    struct trib_combiner_grant grant = grant_of(f, 0, 0);

    grant.pieces = (struct trib_pieces){.own = 0, .count = 3, .run = RUN};
    grant.rows = 0;
    trib_combiner_admit(f->combiner, 0, &grant);
    for (uint64_t s = 0; s < 6; s++) {
        assert_int_equal(contribute(f, 1, s), TRIB_COMBINED_PASS);
    }
    struct trib_packet probe = packet_of(TRIB_PROBE, 0);
    assert_int_equal(up(f, 1, &probe), TRIB_COMBINED_PASS);
    expect_nothing(f);
    EXPECT_COUNTER(f, elsewhere, 6);
}

/* Communicators by hash and one with pieces lie in one pool, apart. */
static void rows_of_others__are_not_touched(void **state)
{
    struct fixture *f = *state;
    struct trib_combiner_grant shared = grant_of(f, 1, 0);

    place(f, 4);
    shared.rows = 4;
    trib_combiner_admit(f->combiner, 1, &shared);
    for (uint64_t s = 0; s < 24; s++) {
        (void)contribute_to(f, 1, 1, s);
    }
    assert_int_equal(trib_combiner_rows_held(f->combiner, 1), 4);
    assert_int_equal(contribute(f, 1, 0), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 1), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 4), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 5), TRIB_COMBINED_TAKEN);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 0), 4);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 1), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences__are_dealt_to_pieces_in_runs),
        cmocka_unit_test(all_pieces__are_as_many_bits),
        cmocka_unit_test(own_sequences_of_a_window__have_rows_that_differ),
        cmocka_unit_test(rows__are_the_part_of_a_window_that_is_own),
        WITH_COMBINER(parts_of_own_pieces_alone__are_added),
        WITH_COMBINER(own_rows__are_enough_for_all_fragments_under_way),
        WITH_COMBINER(too_few_own_rows__collide),
        WITH_COMBINER(a_part_of_another_piece__passes_below_m_as_well),
        WITH_COMBINER(a_probe__takes_own_pieces_along),
        WITH_COMBINER(a_combiner_of_no_piece__adds_nothing),
        WITH_COMBINER(rows_of_others__are_not_touched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
