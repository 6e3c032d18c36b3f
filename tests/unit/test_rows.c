/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c: how many rows a shard's pool has, as communicators come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "net/resolve.h"
#include "protocol/combining.h"
#include "switchd/rows.h"

#define RANKS 2
#define LIMIT (UINT64_C(1) << 20)

struct world {
    struct trib_rows rows;
    struct trib_members members;
};

static struct trib_address address_of(uint32_t number)
{
    char text[64];
    struct trib_address address;
    (void)snprintf(text, sizeof text, "10.0.0.1:%u", 1000 + number);
    assert_int_equal(trib_address_parse(text, 0, &address, NULL), TRIB_OK);
    return address;
}

/* A communicator with this payload, whose ranks are behind the combiner, which adds these of 16 pieces; 0: it is not
 * cut. second: number of its second rank; from 64 on the communicator has two nodes. */
static struct trib_member *make(struct world *world, uint32_t communicator, uint32_t payload, uint64_t pieces,
                                uint32_t second)
{
    static const uint16_t ranks[RANKS] = {0, 1};
    struct trib_branch branches[RANKS] = {{.ranks = &ranks[0], .count = 1, .from = address_of(0)},
                                          {.ranks = &ranks[1], .count = 1, .from = address_of(1)}};
    const struct trib_address parent = address_of(500);
    struct trib_opening opening = {
        .session = {.communicator = communicator,
                    .ranks = RANKS,
                    .roots = 1,
                    .train = 1,
                    .slots = 2,
                    .payload = payload,
                    .lookahead = 1},
        .ranks = RANKS,
        .scheme = "atp",
        .boot = 1,
        .parent = &parent,
        .branches = branches,
        .count = RANKS,
        .pieces = {.own = pieces, .count = pieces != 0 ? 16 : 0, .run = 1},
    };
    trib_rank_set_add(&opening.numbers, 0);
    trib_rank_set_add(&opening.numbers, second);
    struct trib_member *member = trib_member_create(&trib_combining_verbs, &opening);
    assert_non_null(member);
    member->adds = true;
    assert_true(trib_members_add(&world->members, member));
    return member;
}

static struct trib_member *enter_with(struct world *world, uint32_t communicator, uint32_t payload, uint64_t pieces)
{
    struct trib_member *member = make(world, communicator, payload, pieces, 1);
    assert_int_equal(trib_rows_enter(&world->rows, &world->members, member), TRIB_OK);
    return member;
}

static struct trib_member *enter(struct world *world, uint32_t communicator, uint32_t payload)
{
    return enter_with(world, communicator, payload, 0);
}

static void leave(struct world *world, struct trib_member *member)
{
    trib_members_remove(&world->members, member);
    trib_rows_leave(member);
    trib_rows_divide(&world->rows, &world->members, member);
    trib_member_destroy(member);
}

static uint64_t count(const struct world *world)
{
    struct trib_plane_rows sum = {0};
    trib_rows_count(&world->rows, &sum);
    return sum.rows;
}

static void rows__are_as_long_as_the_longest_payload_there_is(void **state)
{
    (void)state;
    struct world world = {.rows = {.limit = LIMIT}};
    struct trib_member *large = enter(&world, 1, TRIB_PAYLOAD_MAX);
    uint64_t few = count(&world);
    struct trib_member *small = enter(&world, 2, 64);
    assert_int_equal(count(&world), few);
    leave(&world, large);
    leave(&world, small);
    small = enter(&world, 3, 64); /* the large one leaves nothing behind */
    uint64_t many = count(&world);
    assert_true(many > 10 * few);
    large = enter(&world, 4, TRIB_PAYLOAD_MAX);
    assert_int_equal(count(&world), few);
    leave(&world, small);
    leave(&world, large);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);
}

/* A share of none is said, and over when there is a row for each. */
static void shares__of_no_row_are_known(void **state)
{
    (void)state;
    struct world world = {.rows = {.limit = LIMIT / 32, .is_static = true}};
    struct trib_member *first = enter(&world, 1, TRIB_PAYLOAD_MAX);
    assert_int_equal(count(&world), 1);
    assert_false(world.rows.is_short);
    struct trib_member *second = enter(&world, 2, TRIB_PAYLOAD_MAX);
    assert_true(world.rows.is_short);
    leave(&world, first);
    assert_false(world.rows.is_short);
    leave(&world, second);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);

    world = (struct world){.rows = {.limit = 64}}; /* no room for one */
    first = enter(&world, 3, TRIB_PAYLOAD_MAX);
    assert_true(world.rows.is_short);
    leave(&world, first);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);

    world = (struct world){.rows = {.limit = 0}}; /* as wished (--pool 0) */
    first = enter(&world, 4, TRIB_PAYLOAD_MAX);
    assert_false(world.rows.is_short);
    leave(&world, first);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);
}

/* Of a window of 2 + 2 sequences one round more than none: as many rows as pieces. They are nobody else's. */
static void pieces__have_rows_of_their_own(void **state)
{
    (void)state;
    struct world world = {.rows = {.limit = LIMIT}};
    struct trib_member *shared = enter(&world, 1, 64);
    uint32_t all = world.rows.rows;
    assert_int_equal(world.rows.shared, all);
    struct trib_member *first = enter_with(&world, 2, 64, 0x7);
    assert_int_equal(world.rows.shared, all - 3);
    struct trib_member *second = enter_with(&world, 3, 64, 0xff00);
    assert_int_equal(world.rows.shared, all - 11);
    struct trib_member *late = enter(&world, 4, 64);
    assert_int_equal(world.rows.shared, all - 11);
    leave(&world, first);
    assert_int_equal(world.rows.shared, all - 8);
    leave(&world, shared);
    leave(&world, late);
    assert_int_equal(world.rows.shared, all - 8);
    leave(&world, second);
    assert_int_equal(world.rows.shared, all);
    assert_false(world.rows.is_short);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);
}

/* The last come has what is left, and the log says so once. */
static void pieces__may_lack_rows(void **state)
{
    (void)state;
    struct world world = {.rows = {.limit = LIMIT / 8}};
    struct trib_member *first = enter_with(&world, 1, TRIB_PAYLOAD_MAX, 0xffff);
    uint32_t rows = world.rows.rows;
    assert_in_range(rows, 1, 15);
    assert_int_equal(world.rows.shared, 0);
    assert_true(world.rows.is_short);
    struct trib_member *second = enter(&world, 2, TRIB_PAYLOAD_MAX);
    assert_true(world.rows.is_short);
    leave(&world, first);
    assert_int_equal(world.rows.shared, rows);
    assert_false(world.rows.is_short);
    leave(&world, second);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);
}

/* A node that is in no pool drops all packets. */
static bool is_in(const struct trib_member *member)
{
    const struct trib_packet probe = {.kind = TRIB_PROBE, .communicator = member->communicator, .boot = 1};
    void *node = member->node[0].node;
    struct trib_packet packet;
    struct trib_place to;
    bool is_taken = trib_combining_verbs.node.receive(node, trib_member_child(0), &probe, 0) == TRIB_DROP_NONE;
    while (trib_combining_verbs.node.next_packet(node, 0, &packet, &to)) {
        is_taken = is_taken && to.kind == TRIB_PLACE_PARENT;
    }
    return is_taken;
}

/* A member whose nodes do not all find a place leaves nothing behind, and takes the place of no other. */
static void a_full_pool__refuses_whole_members(void **state)
{
    (void)state;
    struct world world = {.rows = {.limit = LIMIT / 16}};
    struct trib_member *members[TRIB_ROWS_MEMBERS];
    for (uint32_t i = 0; i < TRIB_ROWS_MEMBERS - 1; i++) {
        members[i] = enter(&world, i + 1, 64);
    }
    struct trib_member *two = make(&world, 5000, 64, 0, 64);
    assert_int_equal(two->nodes, 2);
    assert_int_equal(trib_rows_enter(&world.rows, &world.members, two), TRIB_ERR_REFUSED);
    trib_members_remove(&world.members, two);
    members[TRIB_ROWS_MEMBERS - 1] = enter(&world, 5001, 64);
    struct trib_member *large =
        make(&world, 5002, TRIB_PAYLOAD_MAX, 1, 1); /* with new rows, and the first to get some */
    assert_int_equal(trib_rows_enter(&world.rows, &world.members, large), TRIB_ERR_REFUSED);
    trib_members_remove(&world.members, large);
    for (uint32_t i = 0; i < TRIB_ROWS_MEMBERS; i++) {
        assert_true(is_in(members[i]));
    }
    trib_member_destroy(two);
    trib_member_destroy(large);
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);
}

static void limit__must_be_memory_that_there_is(void **state)
{
    (void)state;
    assert_true(trib_rows_can_have(0));
    assert_true(trib_rows_can_have(LIMIT));
    assert_false(trib_rows_can_have(UINT64_MAX / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__are_as_long_as_the_longest_payload_there_is),
        cmocka_unit_test(shares__of_no_row_are_known),
        cmocka_unit_test(pieces__have_rows_of_their_own),
        cmocka_unit_test(pieces__may_lack_rows),
        cmocka_unit_test(a_full_pool__refuses_whole_members),
        cmocka_unit_test(limit__must_be_memory_that_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
