/* SPDX-License-Identifier: Apache-2.0 */
/* test_quorum_spares.c: how many ranks a switch may leave out: how ranks' numbers deal that to switches, and what a node
 * makes of it that has few ranks. What it does with those who are late is in test_quorum_rules.c. */
#include "unit/quorum_harness.h"

/* However ranks are dealt to switches, what they bring there is the part of all of them. */
static void spares__are_dealt_by_rank(void **state)
{
    static const uint8_t parts[][2] = {{1, 2}, {2, 3}, {3, 4}, {7, 8}, {15, 16}, {128, 255}, {254, 255}};

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct trib_session_config session = {.quorum = parts[i][0], .quorum_of = parts[i][1]};
        uint32_t brought = 0;
        for (uint32_t rank = 0; rank < TRIB_QUORUM_RANKS_MAX; rank++) {
            assert_in_range(trib_quorum_brings(&session, rank), 0, 1);
            brought += trib_quorum_brings(&session, rank);
            assert_int_equal(brought, trib_quorum_spare(&session, rank + 1));
        }
        assert_int_equal(brought, TRIB_QUORUM_RANKS_MAX * (uint32_t)(parts[i][1] - parts[i][0]) / parts[i][1]);
    }
    struct trib_session_config session = {.quorum = 7, .quorum_of = 8};
    for (uint32_t rank = 0; rank < 64; rank++) {
        assert_int_equal(trib_quorum_brings(&session, rank), rank % 8 == 7);
    }
    session = (struct trib_session_config){.quorum = 0};
    assert_int_equal(trib_quorum_brings(&session, 7), 0);
}

/* The top may leave out the only rank of its own: the sum is then of those below its branch. They are always waited
 * for. */
static void sum__may_be_of_those_below_alone(void **state)
{
    struct shape top = {.ranks = 3, .children = 2, .branches = 0x2, .more = 1};
    void *node = open_switch(&top, 0);
    uint8_t payload[PAYLOAD];
    struct trib_packet result;

    (void)state;
    tell_mark(node, 0, SLOTS);
    tell_mark(node, 1, SLOTS);
    assert_int_equal(contribute(node, 0, SLOTS, ones), TRIB_DROP_NONE);
    assert_false(next_of(node, TRIB_RESULT, &result));
    struct trib_packet sum = listed(TRIB_CONTRIBUTION, SLOTS, 0x6, payload);
    assert_int_equal(from_child(node, 1, &sum), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_RESULT, &result));
    assert_int_equal(result.contributors, 3);
    sum = listed(TRIB_CONTRIBUTION, SLOTS + 1, 0x6, payload);
    assert_int_equal(from_child(node, 1, &sum), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_RESULT, &result));
    assert_int_equal(list_in(&result), 0x6);
    assert_int_equal(contribute(node, 0, SLOTS + 1, ones), TRIB_DROP_LATE);
    assert_int_equal(S->missing_on(node, SLOTS + 1), 0x3);
    free(node);
}

/* Both ranks of an inner switch brought a spare: one of them is a sum, nobody is none. */
static void sum__is_of_one_rank_at_least(void **state)
{
    struct shape inner = {.ranks = 4, .children = 2, .more = 1, .has_parent = true};
    void *node = open_switch(&inner, 0);
    struct trib_packet sum;

    (void)state;
    tell_mark(node, 0, SLOTS);
    tell_mark(node, 1, SLOTS);
    S->learn_mark(node, SLOTS);
    assert_false(next_of(node, TRIB_CONTRIBUTION, &sum));
    assert_int_equal(contribute(node, 1, SLOTS, ones), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_CONTRIBUTION, &sum));
    assert_int_equal(list_in(&sum), 0x2);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spares__are_dealt_by_rank),
        cmocka_unit_test(sum__may_be_of_those_below_alone),
        cmocka_unit_test(sum__is_of_one_rank_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
