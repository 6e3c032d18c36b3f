/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama_marks.c: whose marks a worker of panama takes for its own, and when its window may grow. Workers and
 * roots are real; what a result says of the ways, and whose part was its last, some tests write over. Windows, caps and
 * memory are in test_panama.c, with the switch's side of marks; sums that lack ranks in test_quorum_rules.c. */
#include "trees_harness.h"

#include "core/congestion.h"
#include "core/prng.h"
#include "schemes/panama/panama.h"

#define W trib_panama.worker

#define NOT_KNOWN TRIB_CHILDREN_MAX
#define BIT(child) (UINT64_C(1) << (child))

static const struct trib_session_config one = {.ranks = 2, .roots = 1, .train = 1, .slots = 256, .generation = 1};

/* The results of a root that are on their way to rank 0 say this of its ways, besides what they said. */
static void tell(struct trees *t, uint32_t root, uint16_t flags, uint64_t named)
{
    for (size_t i = 0; i < t->count; i++) {
        struct trees_parcel *p = &t->parcels[i];
        if (!p->is_up && p->rank == 0 && p->root == root && p->packet.kind == TRIB_RESULT) {
            p->packet.flags |= flags;
            p->packet.bitmap |= named;
        }
    }
}

/* ---- whose marks ---- */

static void worker__a_marked_tree_gives_way_and_others_do_not(void **state)
{
    struct trib_session_config two = one;
    struct trees t;
    (void)state;

    two.roots = 2;
    trees_start(&t, &trib_panama, &two, 256);
    trees_submit(&t, 40000, 1);
    trees_run(&t, 0, 40);
    t.is_marked[1] = true;
    uint32_t before = W->in_flight(t.workers[0], 0);
    assert_true(before >= 64);
    assert_true(trees_most_in_flight(&t, 0, 4) >= before); /* until M holds it */
    (void)trees_most_in_flight(&t, 1, 200);
    assert_true(trees_most_in_flight(&t, 1, 40) <= 2); /* all of it marked: one or two */
    assert_true(W->node.counters(t.workers[0])->results_marked > 100);
    t.is_marked[1] = false;
    trees_run(&t, 1, 100000);
    trees_check(&t);
    trees_stop(&t);
}

static void worker__takes_the_marks_of_its_own_way(void **state)
{
    static const struct {
        uint32_t number;
        uint16_t flags;
        uint64_t named;
        bool is_cut;
    } cases[] = {
        {0, 0, ~BIT(0), false},
        {5, 0, ~BIT(5), false},
        {63, 0, ~BIT(63), false},
        {0, 0, BIT(0), true},
        {5, 0, BIT(5), true},
        {63, 0, BIT(63), true},
        {5, TRIB_FLAG_ECN, 0, true}, /* the way down */
        {5, TRIB_FLAG_ECN, ~BIT(5), true},
        {NOT_KNOWN, 0, 0, false},
        {NOT_KNOWN, 0, BIT(1), true},
        {NOT_KNOWN, 0, BIT(63), true},
        {NOT_KNOWN, TRIB_FLAG_ECN, 0, true},
        /* What is sent again tells of a way as it was. */
        {5, TRIB_FLAG_RESEND, BIT(5), false},
        {5, TRIB_FLAG_RESEND | TRIB_FLAG_ECN, 0, false},
        {NOT_KNOWN, TRIB_FLAG_RESEND | TRIB_FLAG_ECN, UINT64_MAX, false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trees t;
        trees_start(&t, &trib_panama, &one, 256);
        if (cases[i].number != NOT_KNOWN) {
            W->set_child(t.workers[0], 0, cases[i].number);
        }
        trees_submit(&t, 3000, 1);
        trees_run(&t, 0, 20);
        uint32_t before = trees_most_in_flight(&t, 0, 2);
        assert_true(before >= 64);
        for (uint32_t round = 0; round < 20; round++) {
            tell(&t, 0, cases[i].flags, cases[i].named);
            (void)trees_round(&t);
        }
        uint32_t after = trees_most_in_flight(&t, 0, 2);
        uint64_t marked = W->node.counters(t.workers[0])->results_marked;
        assert_true(cases[i].is_cut ? after < before / 4 : after >= before);
        assert_true(cases[i].is_cut ? marked > 64 : marked == 0);
        assert_int_equal(W->node.counters(t.workers[1])->results_marked, 0);
        trees_run(&t, 1, 10000);
        trees_check(&t);
        trees_stop(&t);
    }
}

/* A rank has a number at each root, and one tree's marks are not the other's. */
static void worker__knows_its_number_at_each_root(void **state)
{
    static const uint32_t number[] = {3, 60};
    struct trib_session_config two = one;
    (void)state;

    two.roots = 2;
    for (uint32_t marked = 0; marked < 2; marked++) {
        struct trees t;
        uint32_t other = 1 - marked;
        trees_start(&t, &trib_panama, &two, 256);
        W->set_child(t.workers[0], 0, number[0]);
        W->set_child(t.workers[0], 1, number[1]);
        trees_submit(&t, 6000, 1);
        trees_run(&t, 0, 20);
        uint32_t before = W->in_flight(t.workers[0], other);
        assert_true(before >= 64);
        for (uint32_t round = 0; round < 8; round++) { /* at each the bit that is its own at the other */
            tell(&t, marked, 0, BIT(number[other]));
            tell(&t, other, 0, BIT(number[marked]));
            (void)trees_round(&t);
        }
        assert_int_equal(W->node.counters(t.workers[0])->results_marked, 0);
        assert_true(W->in_flight(t.workers[0], 0) >= before && W->in_flight(t.workers[0], 1) >= before);
        for (uint32_t round = 0; round < 4; round++) {
            tell(&t, 0, 0, BIT(number[marked]));
            tell(&t, 1, 0, BIT(number[marked]));
            (void)trees_round(&t);
        }
        assert_true(W->node.counters(t.workers[0])->results_marked >= 32);
        assert_true(W->in_flight(t.workers[0], marked) < before);
        assert_true(W->in_flight(t.workers[0], other) >= before); /* until M holds it */
        trees_run(&t, 1, 10000);
        trees_check(&t);
        trees_stop(&t);
    }
}

/* ---- when a window grows ---- */

/* Of two ranks that know their numbers the way of one is narrow: the other hears no mark, and its window does not grow
 * for long, as nobody waits for it; but it does as soon as they are equal again. */
static void worker__heeds_its_own_marks_and_grows_while_waited_for(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_panama, &one, 256);
    W->set_child(t.workers[0], 0, 0);
    W->set_child(t.workers[1], 0, 1);
    t.is_marked[0] = true;
    t.spared = 1 << 0;
    trees_submit(&t, 4000, 1);
    trees_run(&t, 0, 1);
    uint32_t most = trees_most_in_flight(&t, 0, 1000);
    assert_in_range(most, 3, 2 + 4 * 2);
    assert_in_range(W->in_flight(t.workers[1], 0), 0, 2);
    assert_int_equal(W->node.counters(t.workers[0])->results_marked, 0);
    assert_true(W->node.counters(t.workers[1])->results_marked > 100);
    t.is_marked[0] = false;
    assert_true(trees_most_in_flight(&t, 0, 100) >= 20);
    trees_run(&t, 1, 1000);
    trees_check(&t);
    trees_stop(&t);
}

/* The others have two fragments in flight whatever their windows are, so that rank 0's parts come before theirs. */
static void start_ahead(struct trees *t, uint32_t ranks, uint32_t number)
{
    struct trib_session_config session = one;

    session.ranks = ranks;
    trees_start(t, &trib_panama, &session, 256);
    if (number != NOT_KNOWN) {
        W->set_child(t->workers[0], 0, number);
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        W->limit(t->workers[rank], 0, 2);
    }
    trees_submit(t, 2000, 1);
    trees_run(t, 0, 1);
}

static void end(struct trees *t)
{
    for (uint32_t rank = 1; rank < t->session.ranks; rank++) {
        W->limit(t->workers[rank], 0, 256);
    }
    trees_run(t, 1, 10000);
    trees_check(t);
    trees_stop(t);
}

/* The last of 4 N results in a row lets it grow no more, and one whose last it was begins 4 N anew. */
static void window__grows_for_4N_results_after_being_the_last(void **state)
{
    (void)state;

    for (uint32_t ranks = 2; ranks <= TREES_RANKS; ranks++) {
        struct trees t;
        uint32_t window = TRIB_TREE_FIRST + 4 * ranks - 1;
        start_ahead(&t, ranks, 0);
        assert_int_equal(trees_most_in_flight(&t, 0, 200), window);
        for (uint32_t times = 0; times < 2; times++) {
            size_t i = 0;
            while (t.count == 0 || t.parcels[0].is_up) {
                (void)trees_round(&t);
            }
            while (t.parcels[i].rank != 0 || t.parcels[i].packet.kind != TRIB_RESULT) {
                i++;
                assert_true(i < t.count);
            }
            t.parcels[i].packet.last_rank = 0;
            window += 4 * ranks;
            assert_int_equal(trees_most_in_flight(&t, 0, 200), window);
        }
        end(&t);
    }
}

/* Marks of all keep a window small where it takes them all for its own: it needs no other rule. */
static void window__grows_as_ever_where_its_number_is_not_known(void **state)
{
    struct trees t;
    (void)state;

    start_ahead(&t, 2, NOT_KNOWN);
    assert_true(trees_most_in_flight(&t, 0, 300) >= TRIB_TREE_THRESHOLD);
    end(&t);
}

/* Who is ahead waits, and then it is the last: whichever of equal ranks comes first, always or by chance, none is
 * stuck. */
static void window__of_equal_ranks_reaches_the_cap(void **state)
{
    enum { FIRST, LAST, IN_TURN, BY_CHANCE, ORDERS };
    const uint32_t cap = TRIB_TREE_THRESHOLD + 8; /* half of the slots, where no switch has set one */
    (void)state;

    for (uint32_t ranks = 2; ranks <= TREES_RANKS; ranks += 2) {
        for (uint32_t order = 0; order < ORDERS; order++) {
            struct trib_session_config session = one;
            struct trib_prng prng = {.state = 1 + order};
            struct trees t;
            uint32_t highest[TREES_RANKS] = {0};
            session.ranks = ranks;
            session.slots = 2 * cap;
            trees_start(&t, &trib_panama, &session, cap);
            for (uint32_t rank = 0; rank < ranks; rank++) {
                W->set_child(t.workers[rank], 0, rank);
            }
            t.first = order == LAST ? ranks - 1 : 0;
            trees_submit(&t, 8000, 1);
            trees_run(&t, 0, 1);
            for (uint32_t round = 0; round < 200; round++) {
                if (round % 2 == 0 && order >= IN_TURN) {
                    t.first = order == IN_TURN ? (t.first + 1) % ranks : (uint32_t)trib_prng_below(&prng, ranks);
                }
                (void)trees_round(&t);
                for (uint32_t rank = 0; rank < ranks; rank++) {
                    uint32_t now = W->in_flight(t.workers[rank], 0);
                    highest[rank] = now > highest[rank] ? now : highest[rank];
                }
            }
            for (uint32_t rank = 0; rank < ranks; rank++) {
                assert_int_equal(highest[rank], cap);
            }
            trees_run(&t, 1, 10000);
            trees_check(&t);
            trees_stop(&t);
        }
    }
}

/* ---- runs ---- */

/* Contributions of a rank that left last, or 0; *limit: the sequence behind them. */
static uint32_t count_sent(const struct trees *t, uint32_t rank, uint64_t *limit)
{
    uint32_t sent = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct trees_parcel *p = &t->parcels[i];
        if (p->is_up && p->rank == rank && p->packet.kind == TRIB_CONTRIBUTION) {
            *limit = p->packet.sequence + 1;
            sent++;
        }
    }
    return sent;
}

/* Whatever the windows of ranks are, what they send ends where a train, or the half or a quarter of one, ends; and all
 * is sent in the end. */
static void worker__sends_runs_where_nothing_is_marked(void **state)
{
    static const struct {
        uint32_t roots, window, run;
    } cases[] = {{1, 128, 16}, {1, 100, 16}, {1, 33, 16}, {1, 31, 8}, {1, 15, 4}, {1, 3, 1}, {1, 1, 1}, {3, 40, 16}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_session_config session = one;
        struct trees t;
        uint32_t rounds = 0, most = 0;
        session.roots = cases[i].roots;
        session.train = 16;
        trees_start(&t, &trib_panama, &session, 256);
        for (uint32_t root = 0; root < cases[i].roots; root++) {
            W->limit(t.workers[1], root, cases[i].window);
        }
        trees_submit(&t, 20003, 1);
        trees_run(&t, 0, 200);
        for (uint32_t round = 0; round < 60; round++) {
            uint64_t limit = 0;
            (void)trees_round(&t);
            if (count_sent(&t, 1, &limit) > 0) {
                assert_int_equal(limit % cases[i].run, 0);
                rounds++;
            }
            uint32_t now = W->in_flight(t.workers[1], 0);
            most = now > most ? now : most;
        }
        assert_true(rounds >= 20);
        assert_int_equal(most, cases[i].window / cases[i].run * cases[i].run);
        trees_run(&t, 1, 100000);
        trees_check(&t);
        trees_stop(&t);
    }
}

/* In rounds without marks, the ones in which rank 0 sent, and of these the ones that ended within a run. */
static void count_rounds(struct trees *t, uint32_t rounds, uint32_t run, uint32_t *sent, uint32_t *within)
{
    *sent = *within = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t limit = 0;
        (void)trees_round(t);
        bool has_sent = count_sent(t, 0, &limit) > 0;
        *sent += has_sent;
        *within += has_sent && limit % run != 0;
    }
}

static void worker__sends_single_fragments_for_a_while_after_a_mark(void **state)
{
    struct trib_session_config session = one;
    struct trees t;
    uint32_t sent, within;
    (void)state;

    session.train = 16;
    trees_start(&t, &trib_panama, &session, 256);
    W->limit(t.workers[0], 0, 39);
    trees_submit(&t, 20003, 1);
    trees_run(&t, 0, 200);
    count_rounds(&t, 20, 16, &sent, &within);
    assert_true(sent >= 10 && within == 0);
    t.is_marked[0] = true;
    trees_run(&t, 0, 2);
    t.is_marked[0] = false;
    count_rounds(&t, 20, 16, &sent, &within);
    assert_true(W->in_flight(t.workers[0], 0) >= 32 && within >= sent / 2);
    trees_run(&t, 0, 20);
    count_rounds(&t, 20, 16, &sent, &within);
    assert_true(sent >= 10 && within == 0);
    trees_run(&t, 1, 100000);
    trees_check(&t);
    trees_stop(&t);
}

/* The last fragments of what was submitted wait for no room for a whole run. */
static void worker__sends_the_rest_of_the_last_run_at_once(void **state)
{
    struct trib_session_config session = one;
    struct trees t;
    (void)state;

    session.train = 16;
    trees_start(&t, &trib_panama, &session, 256);
    trees_submit(&t, 16 * 800, 1);
    trees_run(&t, 1, 100000);
    W->limit(t.workers[0], 0, 40);
    trees_submit(&t, 32 + 3, 1);
    trees_run(&t, 0, 0);
    assert_int_equal(W->in_flight(t.workers[0], 0), 32 + 3);
    trees_run(&t, 2, 100);
    trees_check(&t);
    trees_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker__a_marked_tree_gives_way_and_others_do_not),
        cmocka_unit_test(worker__takes_the_marks_of_its_own_way),
        cmocka_unit_test(worker__knows_its_number_at_each_root),
        cmocka_unit_test(worker__heeds_its_own_marks_and_grows_while_waited_for),
        cmocka_unit_test(window__grows_for_4N_results_after_being_the_last),
        cmocka_unit_test(window__grows_as_ever_where_its_number_is_not_known),
        cmocka_unit_test(window__of_equal_ranks_reaches_the_cap),
        cmocka_unit_test(worker__sends_runs_where_nothing_is_marked),
        cmocka_unit_test(worker__sends_single_fragments_for_a_while_after_a_mark),
        cmocka_unit_test(worker__sends_the_rest_of_the_last_run_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
