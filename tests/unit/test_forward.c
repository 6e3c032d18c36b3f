/* SPDX-License-Identifier: Apache-2.0 */
/* test_forward.c: the switch that only passes on: what a rank sends comes back as it was, what is lost is asked for,
 * what is not plain is switchml's business, and no more than one rank may use it. */
#include "schemes/schemes.h"
#include "switch_harness.h"

#include "schemes/forward/forward.h"

static int set_up_forward(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct trib_switch_config config = config_of(1, SLOTS);

    f->verbs = &trib_forward_switch_verbs;
    f->node = aligned_alloc(64, (f->verbs->size(&config) + 63) & ~(size_t)63);
    memset(f->node, 0xa5, f->verbs->size(&config)); /* not zeroed, as config says */
    f->verbs->init(f->node, &config);
    f->now_ns = 1000 * MS;
    f->verbs->join(f->node, 0, 0);
    *state = f;
    return 0;
}

static enum trib_drop send(struct fixture *f, uint64_t sequence, uint64_t mark, float first)
{
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, sequence, mark);
    float value[16] = {first};

    packet.payload = value;
    packet.payload_len = sizeof value;
    packet.contributors = 1;
    packet.lane = 1000 + sequence;
    packet.flags = (uint16_t)(TRIB_FLAG_RESEND | (sequence % 2 != 0 ? TRIB_FLAG_ECN : 0));
    return up(f, 0, &packet);
}

static void expect_back(struct fixture *f, uint64_t sequence, float first)
{
    struct trib_packet packet = expect(f, TRIB_RESULT, sequence, 1);

    assert_true(first_of(&packet) == first);
    assert_int_equal(packet.lane, 1000 + sequence);
    assert_int_equal(packet.contributors, 1);
    assert_int_equal(packet.flags, 0); /* which is of the way down */
    assert_int_equal(packet.bitmap, sequence % 2);
    assert_int_equal(packet.digest, 77);
}

static void what_is_sent__comes_back_in_its_order(void **state)
{
    struct fixture *f = *state;

    for (uint64_t round = 0; round < 5; round++) {
        for (uint64_t i = 0; i < SLOTS; i++) {
            assert_int_equal(send(f, round * SLOTS + i, round * SLOTS, (float)i), TRIB_DROP_NONE);
        }
        for (uint64_t i = 0; i < SLOTS; i++) {
            expect_back(f, round * SLOTS + i, (float)i);
        }
        expect_nothing(f);
    }
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 4 * SLOTS);
    assert_int_equal(f->verbs->node.counters(f->node)->contributions, 5 * SLOTS);
    assert_int_equal(f->verbs->node.counters(f->node)->results, 5 * SLOTS);
}

static void what_was_lost__is_asked_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(send(f, 0, 0, 1), TRIB_DROP_NONE);
    expect_back(f, 0, 1);
    assert_int_equal(probe_lost(f, 0, 0), TRIB_DROP_NONE); /* nothing was kept */
    (void)expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(send(f, 0, 0, 1), TRIB_DROP_NONE);
    expect_back(f, 0, 1);
    expect_nothing(f);
}

static void what_is_not_plain__is_switchmls(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    assert_int_equal(send(f, SLOTS, 0, 1), TRIB_DROP_WINDOW);
    assert_int_equal(send(f, 1, 2, 1), TRIB_DROP_MARK);
    assert_int_equal(send(f, 3, 3, 1), TRIB_DROP_NONE); /* M is 3 */
    assert_int_equal(send(f, 2, 2, 1), TRIB_DROP_STALE);
    expect_back(f, 3, 1);
    packet.generation++;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_GENERATION);
    packet = packet_of(TRIB_CONTRIBUTION, 3, 3);
    packet.boot++;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_BOOT);
    (void)expect(f, TRIB_BOOT, 3, 1);
    packet = packet_of(TRIB_CONTRIBUTION, 4, 3);
    packet.flags = TRIB_FLAG_UNWANTED; /* a slot and its header come of it */
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 4, 1).payload_len, 0);
}

/* What was passed on is in no slot, and is not missed for that when the node itself gets something behind it; what was
 * lost between both is. */
static void what_was_passed_on__is_not_asked_for(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 3, 0);

    packet.flags = TRIB_FLAG_UNWANTED;
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(send(f, i, 0, (float)i), TRIB_DROP_NONE);
        expect_back(f, i, (float)i);
    }
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 3, 1).payload_len, 0);
    expect_nothing(f);
    assert_int_equal(send(f, 4, 4, 4), TRIB_DROP_NONE);
    expect_back(f, 4, 4);
    packet = packet_of(TRIB_CONTRIBUTION, 6, 4);
    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 6, 1).payload_len, 0);
    assert_int_equal(expect(f, TRIB_ASK, 5, 1).bitmap, 0);
    expect_nothing(f);
}

/* A mark that leaps passes what waits to leave: no header could name M from there, and the rank has it. */
static void mark__that_leaps_takes_along_what_waits(void **state)
{
    struct fixture *f = *state;
    uint64_t far = (uint64_t)INT32_MAX - 1;

    assert_int_equal(send(f, 0, 0, 1), TRIB_DROP_NONE);
    assert_int_equal(send(f, far, far, 2), TRIB_DROP_NONE);
    expect_back(f, far, 2);
    expect_nothing(f);
    assert_int_equal(send(f, 3 * far, 3 * far, 3), TRIB_DROP_WINDOW); /* no answer could name M from there */
}

static void copies__never_fill_more_than_the_queue(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_int_equal(send(f, 0, 0, 1), TRIB_DROP_NONE);
    }
    assert_int_equal(send(f, 1, 0, 2), TRIB_DROP_FULL);
    struct trib_range ranges[TRIB_IDLE_RANGES];
    assert_int_equal(f->verbs->node.idle(f->node, ranges), 0);
    for (uint32_t i = 0; i < SLOTS; i++) {
        expect_back(f, 0, 1);
    }
    expect_nothing(f);
    assert_int_equal(f->verbs->node.idle(f->node, ranges), 2);
    for (uint32_t i = 0; i < 2; i++) {
        memset((char *)f->node + ranges[i].at, 0, ranges[i].bytes);
    }
    assert_int_equal(send(f, 1, 1, 2), TRIB_DROP_NONE);
    expect_back(f, 1, 2);
}

static void communicators__have_one_rank(void **state)
{
    struct trib_session_config session = {.ranks = 1};

    (void)state;
    assert_ptr_equal(trib_scheme_find("forward"), &trib_forward);
    assert_null(trib_forward.unfit(&session));
    session.ranks = 2;
    assert_non_null(strstr(trib_forward.unfit(&session), "one rank"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_sent__comes_back_in_its_order, set_up_forward, tear_down),
        cmocka_unit_test_setup_teardown(what_was_lost__is_asked_for, set_up_forward, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_plain__is_switchmls, set_up_forward, tear_down),
        cmocka_unit_test_setup_teardown(what_was_passed_on__is_not_asked_for, set_up_forward, tear_down),
        cmocka_unit_test_setup_teardown(mark__that_leaps_takes_along_what_waits, set_up_forward, tear_down),
        cmocka_unit_test_setup_teardown(copies__never_fill_more_than_the_queue, set_up_forward, tear_down),
        cmocka_unit_test(communicators__have_one_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
