/* SPDX-License-Identifier: Apache-2.0 */
/* test_combiner_pool.c: the rows of a combiner that several communicators share: who gets one, when it is free again,
 * and M, below which nobody needs one. Mirrors protocol/combiner.c. */
#include "combiner_harness.h"
#include <math.h>

#include "core/prng.h"

/* ---- collisions and priorities ---- */

static void a_row_of_another_fragment__stays_with_the_first(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    for (uint64_t sequence = 8; sequence < 40; sequence++) { /* of no priority, however often */
        assert_int_equal(contribute(f, 1, sequence), TRIB_COMBINED_PASS);
    }
    expect_nothing(f);
    EXPECT_COUNTER(f, collisions, 32);
    EXPECT_COUNTER(f, passed, 32);
    assert_int_equal(contribute(f, 6, 7), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(contribute(f, 1, 8), TRIB_COMBINED_TAKEN);
}

static void a_part_of_a_higher_priority__takes_the_row(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    admit(f, 1, 3);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 0, 2, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 1, 4, 7), TRIB_COMBINED_TAKEN);
    struct trib_packet sum = expect_sum(f, 0, 3, 7);
    assert_int_equal(first_of(&sum), 3);
    expect_nothing(f);
    EXPECT_COUNTER(f, evicted, 1);
    EXPECT_COUNTER(f, collisions, 0);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 0), 0);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 1), 1);
}

/* A member loses half of its priority at each collision with a row of it, and keeps 1. */
static void a_member_in_the_way__loses_priority(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    admit(f, 0, 5);
    admit(f, 1, 2);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    for (uint32_t i = 0; i < 2; i++) { /* 5 and 3 are no less than 2 */
        assert_int_equal(contribute_to(f, 1, 1, 7 + i), TRIB_COMBINED_PASS);
    }
    assert_int_equal(contribute_to(f, 1, 1, 9), TRIB_COMBINED_PASS); /* 2 */
    assert_int_equal(contribute_to(f, 1, 1, 10), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 0, 1, 7);
    EXPECT_COUNTER(f, collisions, 3);
    EXPECT_COUNTER(f, evicted, 1);
    for (uint32_t i = 0; i < 8; i++) { /* 1 of member 0 are no more than 1 of member 1 */
        assert_int_equal(contribute_to(f, 0, 1, 8 + i), TRIB_COMBINED_PASS);
    }
    EXPECT_COUNTER(f, evicted, 1);
}

/* Both rows are places of each fragment. That of the member with the least priority gives way, or loses priority. */
static void of_the_places__the_weakest_gives_way(void **state)
{
    struct fixture *f = *state;

    for (uint32_t weakest = 0; weakest < 2; weakest++) {
        share(f, 2);
        admit(f, weakest, 3);
        admit(f, 1 - weakest, 9);
        admit(f, 2, 3);
        assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
        assert_int_equal(contribute_to(f, 1, 1, 7), TRIB_COMBINED_TAKEN);
        assert_int_equal(contribute_to(f, 2, 1, 7), TRIB_COMBINED_PASS); /* the weakest: 2 */
        assert_int_equal(contribute_to(f, 2, 1, 8), TRIB_COMBINED_TAKEN);
        (void)expect_sum(f, weakest, 1, 7);
        assert_int_equal(trib_combiner_rows_held(f->combiner, 1 - weakest), 1);
    }
}

/* A member that has one of the places itself weakens another one there, even if that is stronger. A member with all
 * places weakens itself. */
static void of_the_places__a_members_own_give_way_last(void **state)
{
    struct fixture *f = *state;

    share(f, 2);
    admit(f, 0, 3);
    admit(f, 1, 9);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 1, 1, 7), TRIB_COMBINED_TAKEN);
    for (uint32_t i = 0; i < 3; i++) { /* member 1: 5, 3, 2 */
        assert_int_equal(contribute_to(f, 0, 1, 8), TRIB_COMBINED_PASS);
    }
    assert_int_equal(contribute_to(f, 0, 1, 8), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 1, 1, 7);
    assert_int_equal(contribute_to(f, 0, 1, 9), TRIB_COMBINED_PASS); /* member 0: 2 */
    assert_int_equal(contribute_to(f, 1, 1, 9), TRIB_COMBINED_PASS); /* member 0: 1 */
    assert_int_equal(contribute_to(f, 1, 1, 9), TRIB_COMBINED_TAKEN);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 0), 1);
    EXPECT_COUNTER(f, collisions, 5);
    EXPECT_COUNTER(f, evicted, 2);
}

/* Each sum of all ranks gives 1 back, up to the grant's priority; a sum that leaves for another reason does not. */
static void whole_sums__raise_the_priority(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    admit(f, 0, 2);
    admit(f, 1, 2);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 1, 1, 7), TRIB_COMBINED_PASS); /* member 0: 1 */
    assert_int_equal(contribute_to(f, 1, 1, 8), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 0, 1, 7);
    assert_int_equal(contribute_to(f, 0, 1, 8), TRIB_COMBINED_PASS); /* member 1: 1 */
    assert_int_equal(contribute_to(f, 1, 6, 8), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 1, BEHIND, 8); /* member 1: 2 */
    assert_int_equal(contribute_to(f, 0, 1, 9), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 1, 1, 9), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 0, 1, 9);
    assert_int_equal(contribute_to(f, 1, 6, 9), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 1, BEHIND, 9); /* member 1: still 2 */
    assert_int_equal(contribute_to(f, 1, 1, 10), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 0, 1, 10), TRIB_COMBINED_PASS); /* member 1: 1 */
    assert_int_equal(contribute_to(f, 0, 1, 11), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, evicted, 2);
}

static enum trib_combined contribute_said(struct fixture *f, uint32_t member, uint64_t ranks, uint64_t sequence,
                                          uint16_t said)
{
    struct trib_packet packet = part_of(f, ranks, sequence);

    packet.communicator = member + 1;
    packet.window_cap = said;
    return up(f, ranks, &packet);
}

/* Between members of equal priority, the part says who has the row, and the row is worth the least of its parts. */
static void the_part__decides_between_equal_members(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    admit(f, 0, 3);
    admit(f, 1, 3);
    assert_int_equal(contribute_said(f, 0, 1, 7, 5), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_said(f, 0, 2, 7, 9), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_said(f, 1, 1, 7, 6), TRIB_COMBINED_TAKEN);
    assert_int_equal(expect_sum(f, 0, 3, 7).window_cap, 5);                /* a combiner above hears the same */
    assert_int_equal(contribute_said(f, 0, 1, 8, 6), TRIB_COMBINED_PASS);  /* no more than the row's. Member 1: 2 */
    assert_int_equal(contribute_said(f, 0, 1, 9, 0), TRIB_COMBINED_TAKEN); /* 3 is more than 2, whatever is said */
    (void)expect_sum(f, 1, 1, 7);
    assert_int_equal(contribute_said(f, 1, 1, 8, UINT16_MAX), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, evicted, 2);
}

static void what_a_part_says__takes_no_row_without_priority_nor_of_its_member(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute_said(f, 0, 1, 7, 0), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_said(f, 1, 1, 7, UINT16_MAX), TRIB_COMBINED_PASS);
    admit(f, 0, 9);
    assert_int_equal(contribute_said(f, 0, 1, 7, 0), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_said(f, 0, 1, 8, UINT16_MAX), TRIB_COMBINED_PASS);
    expect_nothing(f);
    EXPECT_COUNTER(f, evicted, 0);
}

/* Of four rows each has four places: all rows are used, and a fragment is found in the last of its places as well, also
 * once the others are empty. */
static void fragments__are_found_in_each_of_their_places(void **state)
{
    struct fixture *f = *state;

    for (uint64_t first = 0; first < 400; first += 4) {
        share(f, 4);
        for (uint64_t sequence = first; sequence < first + 4; sequence++) {
            assert_int_equal(contribute(f, 1, sequence), TRIB_COMBINED_TAKEN);
        }
        assert_int_equal(held(f), 4);
        assert_int_equal(contribute(f, 1, first + 4), TRIB_COMBINED_PASS);
        for (uint64_t sequence = first; sequence < first + 4; sequence++) {
            assert_int_equal(contribute(f, 6, sequence), TRIB_COMBINED_TAKEN);
            (void)expect_sum(f, 0, BEHIND, sequence);
        }
        assert_int_equal(held(f), 0);
    }
}

/* In a pool that is two thirds full. Runs of fragments on consecutive rows would meet each other whole. */
static void fragments_of_a_train__meet_others_one_by_one(void **state)
{
    enum { TRAINS = 300, TRAIN = 16, OTHERS = 700 };
    struct fixture *f = *state;
    uint32_t most = 0, all = 0;

    for (uint64_t train = 0; train < TRAINS; train++) {
        uint32_t met = 0;
        share(f, 1024);
        for (uint64_t i = 0; i < OTHERS; i++) {
            (void)contribute_to(f, 0, 1, train * OTHERS + i);
        }
        for (uint64_t i = 0; i < TRAIN; i++) {
            met += contribute_to(f, 1, 1, train * TRAIN + i) == TRIB_COMBINED_PASS;
        }
        most = met > most ? met : most;
        all += met;
    }
    print_message("of %d fragments %.1f met others, at most %u\n", TRAIN, (double)all / TRAINS, most);
    assert_in_range(most, 1, 10);
}

/* Number of n fragments that have one of T rows, if each takes the first empty one of `places` rows in a row that begin
 * where chance says. */
static uint32_t number_placed(uint32_t n, uint32_t t, uint32_t places)
{
    uint8_t *taken = calloc(t, 1);
    struct trib_prng prng = {.state = 5};
    uint32_t placed = 0;

    assert_non_null(taken);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = (uint32_t)trib_prng_below(&prng, t);
        uint32_t place = 0;
        while (place < places && taken[(first + place) % t] != 0) {
            place++;
        }
        placed += place < places;
        taken[(first + place % places) % t] = 1;
    }
    free(taken);
    return placed;
}

/* Of n fragments on T rows with one place each T (1 - (1 - 1/T)^n) have a row, (1 - e^-p) / p of them where p = n / T
 * and T is large. With four places each more have one. */
static void fragments_with_a_row__are_as_many_as_four_places_make(void **state)
{
    enum { ROWS = 4000 };
    struct fixture *f = *state;

    for (uint32_t quarters = 1; quarters <= 8; quarters *= 2) { /* p = 1/4 to 2 */
        uint32_t taken = 0, count = ROWS * quarters / 4;
        double p = quarters / 4.0, of_hash = (1 - exp(-p)) / p;
        double expected = (double)number_placed(count, ROWS, 4) / count;
        share(f, ROWS);
        for (uint32_t i = 0; i < count; i++) {
            taken += contribute(f, 1, i) == TRIB_COMBINED_TAKEN;
        }
        double of_them = (double)taken / count;
        print_message("%.2f fragments for each row: %.4f of them have one, %.4f expected, with one place %.4f\n", p,
                      of_them, expected, of_hash);
        assert_true(fabs((double)number_placed(count, ROWS, 1) / count / of_hash - 1) < 0.03);
        assert_true(fabs(of_them / expected - 1) < 0.01);
        assert_true(of_them > of_hash);
    }
}

/* ---- what leaves for a PROBE ---- */

/* The rank's part of 5 is elsewhere, of 6 it has sent none; the others' sum of 7 is not meant. */
static void a_probe__sends_on_what_its_bitmap_names(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 3);

    share(f, 4096);
    for (uint64_t sequence = 3; sequence < 8; sequence++) {
        (void)contribute(f, 2, sequence);
        (void)(sequence == 4 || sequence == 6 ? contribute(f, 1, sequence) : 0);
    }
    packet.bitmap = 0xf;
    assert_int_equal(up(f, 1, &packet), TRIB_COMBINED_PASS);
    (void)expect_sum(f, 0, 2, 3);
    (void)expect_sum(f, 0, 3, 4);
    (void)expect_sum(f, 0, 3, 6);
    expect_nothing(f);
    EXPECT_COUNTER(f, flushed, 3);
    assert_int_equal(held(f), 2);
}

static void a_part_that_was_asked_for__is_not_waited_for(void **state)
{
    struct fixture *f = *state;
    struct trib_packet part = part_of(f, 4, 3);

    (void)contribute(f, 3, 3);
    part.flags = TRIB_FLAG_RESEND;
    assert_int_equal(up(f, 4, &part), TRIB_COMBINED_PASS);
    (void)expect_sum(f, 0, 3, 3);
    assert_int_equal(held(f), 0);
}

/* ---- ranks that have sent later parts ---- */

/* Parts of ranks 0 and 1 met another fragment's row and have passed: when that row is free the rest of them is a sum. */
static void ranks_with_later_parts__are_not_waited_for(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute_to(f, 1, 1, 3), TRIB_COMBINED_TAKEN); /* the row is of member 1 */
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_PASS);
    assert_int_equal(contribute_to(f, 0, 2, 8), TRIB_COMBINED_PASS); /* its part of 7 was lost */
    assert_int_equal(contribute_to(f, 1, 6, 3), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 1, BEHIND, 3);
    assert_int_equal(contribute_to(f, 0, 4, 7), TRIB_COMBINED_TAKEN); /* leaves at once */
    (void)expect_sum(f, 0, 4, 7);
    assert_int_equal(held(f), 0);
    EXPECT_COUNTER(f, rest, 1);
    EXPECT_COUNTER(f, complete, 1);
}

/* A rank whose part is still to come is waited for, whatever others have sent. */
static void a_rank_with_earlier_parts__is_waited_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 9), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 2, 9), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 8), TRIB_COMBINED_TAKEN); /* overtaken by 9, as the next one */
    assert_int_equal(contribute(f, 2, 8), TRIB_COMBINED_TAKEN);
    expect_nothing(f);
    assert_int_equal(held(f), 2);
    assert_int_equal(contribute(f, 4, 8), TRIB_COMBINED_TAKEN);
    (void)expect_sum(f, 0, BEHIND, 8);
}

/* ---- M ---- */

static struct trib_packet result_of(uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = packet_of(TRIB_RESULT, sequence);

    packet.mark = mark;
    return packet;
}

static void a_part_below_M__is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet result = result_of(9, 8);

    trib_combiner_down(f->combiner, 0, &result);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_DROPPED);
    EXPECT_COUNTER(f, stale, 1);
    assert_int_equal(contribute(f, 1, 8), TRIB_COMBINED_TAKEN);
    result.mark = 6; /* overtaken: M never falls */
    trib_combiner_down(f->combiner, 0, &result);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_DROPPED);
}

static void M_of_another_generation__is_not_taken(void **state)
{
    struct fixture *f = *state;
    struct trib_packet result = result_of(9, 8);

    result.generation = 1;
    trib_combiner_down(f->combiner, 0, &result);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    result.generation = 2;
    result.communicator = 2;
    trib_combiner_down(f->combiner, 0, &result);
    assert_int_equal(contribute(f, 2, 7), TRIB_COMBINED_TAKEN);
    trib_combiner_learn_mark(f->combiner, 0, TRIB_SEQUENCE_MAX + 1);
    trib_combiner_learn_mark(f->combiner, 0, UINT64_MAX);
    assert_int_equal(contribute(f, 4, 7), TRIB_COMBINED_TAKEN);
    EXPECT_COUNTER(f, stale, 0);
}

static void a_row_below_M__is_free_for_others(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    trib_combiner_learn_mark(f->combiner, 0, 7);
    assert_int_equal(contribute_to(f, 1, 1, 3), TRIB_COMBINED_PASS);
    trib_combiner_learn_mark(f->combiner, 0, 8); /* by the session: the communicator is idle */
    assert_int_equal(held(f), 0);
    assert_int_equal(contribute_to(f, 1, 1, 3), TRIB_COMBINED_TAKEN);
    expect_nothing(f); /* nobody needs the sum that was there */
    EXPECT_COUNTER(f, evicted, 0);
    EXPECT_COUNTER(f, collisions, 1);
}

static enum trib_combined tell_mark(struct fixture *f, uint64_t ranks, enum trib_kind kind, uint64_t sequence,
                                    uint64_t mark)
{
    struct trib_packet packet = part_of(f, ranks, sequence);

    packet.kind = (uint8_t)kind;
    packet.mark = mark;
    packet.flags = kind == TRIB_CONTRIBUTION ? TRIB_FLAG_RESEND : 0; /* passes */
    return up(f, ranks, &packet);
}

/* M comes by packets for all ranks behind, and a result for some of them is none. */
static void a_row_that_no_rank_behind_needs__is_free_for_others(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(tell_mark(f, 1, TRIB_CONTRIBUTION, 9, 8), TRIB_COMBINED_PASS);
    assert_int_equal(tell_mark(f, 2, TRIB_PROBE, 12, 11), TRIB_COMBINED_PASS);
    assert_int_equal(tell_mark(f, 4, TRIB_OFFER, 7, 7), TRIB_COMBINED_PASS); /* not yet */
    assert_int_equal(contribute_to(f, 1, 1, 3), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 1);
    assert_int_equal(tell_mark(f, 4, TRIB_OFFER, 7, 8), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 0);
    assert_int_equal(contribute_to(f, 1, 1, 3), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_DROPPED);
    EXPECT_COUNTER(f, stale, 1);
}

static void a_mark_that_cannot_be__frees_no_row(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    for (uint64_t rank = 1; rank <= 4; rank *= 2) {
        assert_int_equal(tell_mark(f, rank, TRIB_CONTRIBUTION, 7, 8), TRIB_COMBINED_PASS); /* above its sequence */
        assert_int_equal(tell_mark(f, rank, TRIB_OFFER, 7, TRIB_SEQUENCE_MAX + 1), TRIB_COMBINED_PASS);
        packet = packet_of(TRIB_PROBE, 9);
        packet.mark = 9;
        packet.generation = 1;
        assert_int_equal(up(f, rank, &packet), TRIB_COMBINED_PASS);
    }
    assert_int_equal(held(f), 1);
    /* A sum's mark is of its ranks alone. */
    assert_int_equal(tell_mark(f, 3, TRIB_CONTRIBUTION, 9, 9), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 1);
    assert_int_equal(contribute(f, 2, 7), TRIB_COMBINED_TAKEN);
}

/* M will not pass such a fragment before the communicator ends: its row would be lost for all that share the pool. */
static void a_part_beyond_the_window__has_no_row(void **state)
{
    struct fixture *f = *state;
    struct trib_combiner_grant grant = grant_of(f, 0, 0);

    share(f, 1);
    grant.rows = 1;
    grant.mark = 100;
    grant.span = 16;
    trib_combiner_admit(f->combiner, 0, &grant);
    assert_int_equal(contribute_to(f, 0, 1, TRIB_SEQUENCE_MAX), TRIB_COMBINED_PASS);
    assert_int_equal(contribute_to(f, 0, 1, 116), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, beyond, 2);
    EXPECT_COUNTER(f, passed, 2);
    assert_int_equal(held(f), 0);
    assert_int_equal(contribute_to(f, 0, 1, 115), TRIB_COMBINED_TAKEN);
    trib_combiner_learn_mark(f->combiner, 0, 116);
    assert_int_equal(contribute_to(f, 0, 1, 131), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 0, 1, 115), TRIB_COMBINED_DROPPED);
}

/* ---- memory ---- */

static void without_rows__all_parts_pass(void **state)
{
    struct fixture *f = *state;

    share(f, 0);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_PASS);
    assert_int_equal(probe(f, 1, 7, 0), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, collisions, 0);
    share(f, 8);
    struct trib_combiner_grant grant = grant_of(f, 0, 0);
    grant.rows = 0;
    trib_combiner_admit(f->combiner, 0, &grant);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_PASS);
    assert_int_equal(contribute_to(f, 1, 1, 7), TRIB_COMBINED_TAKEN);
}

static void a_communicator__keeps_to_its_share(void **state)
{
    struct fixture *f = *state;

    for (uint32_t member = 0; member < 2; member++) {
        struct trib_combiner_grant grant = grant_of(f, member, 0);
        grant.first_row = member * 3;
        grant.rows = member == 0 ? 3 : 5;
        trib_combiner_admit(f->combiner, member, &grant);
    }
    for (uint64_t sequence = 0; sequence < 200; sequence++) {
        (void)contribute_to(f, 0, 1, sequence);
        (void)contribute_to(f, 1, 1, sequence);
    }
    assert_int_equal(trib_combiner_rows_held(f->combiner, 0), 3);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 1), 5);
}

/* More sums than can wait: the last stay in their rows, and nothing is lost. */
static void sums_that_find_no_room_to_wait__stay(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    uint32_t member, count = 0;

    share(f, 4096);
    for (uint64_t sequence = 0; sequence < 100; sequence++) {
        (void)contribute(f, 1, sequence);
        (void)contribute(f, 6, sequence);
    }
    EXPECT_COUNTER(f, complete, 64);
    uint32_t stay = held(f);
    assert_true(stay > 0);
    while (trib_combiner_next(f->combiner, &packet, &member)) {
        assert_int_equal(packet.bitmap, BEHIND);
        assert_int_equal(first_of(&packet), 7);
        count++;
    }
    assert_int_equal(count, 64);
    for (uint64_t sequence = 0; sequence < 100; sequence++) {
        assert_int_equal(probe(f, 0, sequence, 0), TRIB_COMBINED_PASS);
        while (trib_combiner_next(f->combiner, &packet, &member)) {
            assert_int_equal(packet.bitmap, BEHIND);
            count++;
        }
        trib_combiner_release(f->combiner);
    }
    assert_int_equal(count, 64 + stay);
    assert_int_equal(held(f), 0);
}

/* Rounds of a full queue: all memory for rows is in use, and comes back. */
static void memory_for_rows__is_never_lost(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    uint32_t member;

    share(f, 1);
    for (uint64_t round = 0; round < 10; round++) {
        for (uint64_t sequence = 0; sequence < 70; sequence++) {
            (void)contribute(f, 1, 100 * round + sequence);
            (void)contribute(f, 6, 100 * round + sequence);
        }
        while (trib_combiner_next(f->combiner, &packet, &member)) {
            assert_int_equal(first_of(&packet), 7);
        }
        trib_combiner_release(f->combiner);
        trib_combiner_learn_mark(f->combiner, 0, 100 * (round + 1));
    }
    EXPECT_COUNTER(f, complete, 640);
    assert_int_equal(held(f), 0);
}

/* ---- members ---- */

static void the_end_of_a_communicator__frees_its_rows_alone(void **state)
{
    struct fixture *f = *state;

    share(f, 64);
    for (uint64_t sequence = 0; sequence < 5; sequence++) {
        (void)contribute_to(f, 0, 1, sequence);
        (void)contribute_to(f, 1, 1, sequence);
    }
    (void)contribute_to(f, 0, 1, 900);
    (void)contribute_to(f, 0, 6, 900); /* waits to leave */
    (void)contribute_to(f, 1, 1, 901);
    (void)contribute_to(f, 1, 6, 901);
    uint32_t others = trib_combiner_rows_held(f->combiner, 1);
    assert_true(others > 0);
    trib_combiner_dismiss(f->combiner, 0);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 0), 0);
    assert_int_equal(held(f), others);
    (void)expect_sum(f, 1, BEHIND, 901);
    expect_nothing(f);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_DROPPED);
    EXPECT_COUNTER(f, refused, 1);
}

/* The rows are free for others, not only counted so. */
static void the_rows_of_an_ended_communicator__are_had_by_others(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    for (uint32_t i = 0; i < 200; i++) { /* and no memory is lost */
        assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
        assert_int_equal(contribute_to(f, 1, 1, 7), TRIB_COMBINED_PASS);
        trib_combiner_dismiss(f->combiner, 0);
        assert_int_equal(contribute_to(f, 1, 1, 7), TRIB_COMBINED_TAKEN);
        admit(f, 0, 0);
        admit(f, 1, 0);
    }
}

/* More often than there is memory: 1 row, and 64 sums that wait. */
static void the_memory_of_sums_that_wait__is_had_by_others(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
        assert_int_equal(contribute_to(f, 0, 6, 7), TRIB_COMBINED_TAKEN);
        trib_combiner_dismiss(f->combiner, 0);
        admit(f, 0, 0);
    }
    EXPECT_COUNTER(f, complete, 200);
    expect_nothing(f);
}

static void a_new_generation__begins_with_nothing(void **state)
{
    struct fixture *f = *state;
    struct trib_combiner_grant grant = grant_of(f, 0, 0);
    struct trib_packet part;

    trib_combiner_learn_mark(f->combiner, 0, 5);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 6), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 6, 6), TRIB_COMBINED_TAKEN); /* waits to leave */
    grant.generation = 3;
    trib_combiner_admit(f->combiner, 0, &grant);
    assert_int_equal(held(f), 0);
    expect_nothing(f);
    part = part_of(f, 2, 2); /* the old M is not its M */
    part.generation = 3;
    assert_int_equal(up(f, 2, &part), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 2), TRIB_COMBINED_PASS); /* of the old one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_COMBINER(a_row_of_another_fragment__stays_with_the_first),
        WITH_COMBINER(a_part_of_a_higher_priority__takes_the_row),
        WITH_COMBINER(a_member_in_the_way__loses_priority),
        WITH_COMBINER(of_the_places__the_weakest_gives_way),
        WITH_COMBINER(of_the_places__a_members_own_give_way_last),
        WITH_COMBINER(whole_sums__raise_the_priority),
        WITH_COMBINER(the_part__decides_between_equal_members),
        WITH_COMBINER(what_a_part_says__takes_no_row_without_priority_nor_of_its_member),
        WITH_COMBINER(fragments__are_found_in_each_of_their_places),
        WITH_COMBINER(fragments_of_a_train__meet_others_one_by_one),
        WITH_COMBINER(fragments_with_a_row__are_as_many_as_four_places_make),
        WITH_COMBINER(a_probe__sends_on_what_its_bitmap_names),
        WITH_COMBINER(a_part_that_was_asked_for__is_not_waited_for),
        WITH_COMBINER(ranks_with_later_parts__are_not_waited_for),
        WITH_COMBINER(a_rank_with_earlier_parts__is_waited_for),
        WITH_COMBINER(a_part_below_M__is_dropped),
        WITH_COMBINER(M_of_another_generation__is_not_taken),
        WITH_COMBINER(a_row_below_M__is_free_for_others),
        WITH_COMBINER(a_row_that_no_rank_behind_needs__is_free_for_others),
        WITH_COMBINER(a_mark_that_cannot_be__frees_no_row),
        WITH_COMBINER(a_part_beyond_the_window__has_no_row),
        WITH_COMBINER(without_rows__all_parts_pass),
        WITH_COMBINER(a_communicator__keeps_to_its_share),
        WITH_COMBINER(sums_that_find_no_room_to_wait__stay),
        WITH_COMBINER(memory_for_rows__is_never_lost),
        WITH_COMBINER(the_end_of_a_communicator__frees_its_rows_alone),
        WITH_COMBINER(the_rows_of_an_ended_communicator__are_had_by_others),
        WITH_COMBINER(the_memory_of_sums_that_wait__is_had_by_others),
        WITH_COMBINER(a_new_generation__begins_with_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
