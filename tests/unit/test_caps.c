/* SPDX-License-Identifier: Apache-2.0 */
/* test_caps.c: a shard's room divided among communicators: whom it tells what and when. How shares are computed is
 * test_share.c's. The nodes here hold a cap and nothing else, and say what they are told to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/share.h"
#include "io/clock.h"
#include "switchd/caps.h"

#define RANKS 4
#define PAYLOAD (1024 - TRIB_HEADER_SIZE) /* so that a packet has 1 KiB */
#define SLOTS 512

struct cap_node {
    uint32_t cap, sets, room;
    bool is_active;
};

static size_t node_size(const struct trib_switch_config *config)
{
    (void)config;
    return sizeof(struct cap_node);
}

static void node_init(void *node, const struct trib_switch_config *config)
{
    struct cap_node *n = node;
    *n = (struct cap_node){.cap = config->session.cap, .room = 2 * config->session.cap};
}

static void node_set_cap(void *node, uint32_t fragments, uint64_t now_ns)
{
    struct cap_node *n = node;
    (void)now_ns;
    n->room = 2 * (fragments > n->cap ? fragments : n->cap); /* until ranks have heard of a smaller one */
    n->cap = fragments;
    n->sets++;
}

static uint32_t node_room(const void *node)
{
    return ((const struct cap_node *)node)->room;
}

static bool node_is_active(const void *node, uint64_t now_ns)
{
    (void)now_ns;
    return ((const struct cap_node *)node)->is_active;
}

static const struct trib_switch_verbs with_caps = {
    .size = node_size,
    .init = node_init,
    .set_cap = node_set_cap,
    .room = node_room,
    .is_active = node_is_active,
};

static const struct trib_switch_verbs without = {.size = node_size, .init = node_init};

#define MEMBERS 4

struct world {
    struct trib_members members;
    struct cap_node *node[MEMBERS];
    uint64_t now_ns;
};

static void add(struct world *w, const struct trib_switch_verbs *verbs, uint32_t slots)
{
    struct trib_branch branches[RANKS] = {0};
    uint16_t numbers[RANKS];
    uint32_t index = w->members.count;
    const struct trib_opening opening = {
        .session = {.communicator = index + 1,
                    .ranks = RANKS,
                    .roots = 1,
                    .train = 1,
                    .slots = slots,
                    .payload = PAYLOAD,
                    .lookahead = 1},
        .ranks = RANKS,
        .scheme = "panama",
        .boot = 1,
        .branches = branches,
        .count = RANKS,
    };
    for (uint32_t i = 0; i < RANKS; i++) {
        numbers[i] = (uint16_t)i;
        branches[i].ranks = &numbers[i];
        branches[i].count = 1;
        branches[i].from = trib_address_v4(0x7f000001, (uint16_t)(1000 + RANKS * index + i));
    }
    struct trib_member *member = trib_member_create(verbs, &opening);
    assert_non_null(member);
    w->node[index] = member->node[0].node;
    assert_true(trib_members_add(&w->members, member));
}

/* room: fragments of all ranks of one communicator. */
static uint64_t divide(struct world *w, uint32_t room)
{
    return trib_caps_divide(&w->members, room * RANKS * 1024, w->now_ns);
}

static void destroy(struct world *w)
{
    trib_members_deinit(&w->members);
}

static void divide__one_alone_gets_all(void **state)
{
    struct world w = {.now_ns = 1000};
    (void)state;
    add(&w, &with_caps, SLOTS);
    assert_int_equal(w.node[0]->cap, 2); /* as its ranks begin */
    assert_int_equal(divide(&w, 100), TRIB_NEVER);
    assert_int_equal(w.node[0]->cap, 2); /* nobody has sent */
    w.members.list[0]->is_touched = true;
    assert_false(trib_caps_have_changed(&w.members, w.now_ns));
    w.node[0]->is_active = true;
    assert_true(trib_caps_have_changed(&w.members, w.now_ns));
    uint64_t again_ns = divide(&w, 100);
    assert_int_equal(w.node[0]->cap, 100);
    assert_false(trib_caps_have_changed(&w.members, w.now_ns));
    assert_in_range(again_ns, w.now_ns + 1, w.now_ns + TRIB_SECOND_NS); /* to see that it has fallen silent */
    /* Not more than half of its slots. */
    (void)divide(&w, 10000);
    assert_int_equal(w.node[0]->cap, SLOTS / 2);
    uint32_t sets = w.node[0]->sets;
    (void)divide(&w, 10000);
    assert_int_equal(w.node[0]->sets, sets);
    destroy(&w);
}

static void divide__the_active_share_alike(void **state)
{
    struct world w = {.now_ns = 1000};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        add(&w, &with_caps, SLOTS);
    }
    w.node[0]->is_active = true;
    (void)divide(&w, 104);
    assert_int_equal(w.node[0]->cap, 100); /* the others may always begin with 2 */
    /* A second one: the first is told to have less; what it may still have in flight the second does not get yet. */
    w.node[1]->is_active = true;
    uint64_t again_ns = divide(&w, 104);
    assert_int_equal(w.node[0]->cap, 51);
    assert_int_equal(w.node[1]->cap, 2);
    assert_in_range(again_ns, w.now_ns + 1, w.now_ns + 10 * TRIB_MILLISECOND_NS);
    w.node[0]->room = 2 * 51;
    (void)divide(&w, 104);
    assert_int_equal(w.node[0]->cap, 51);
    assert_int_equal(w.node[1]->cap, 51);
    assert_int_equal(w.node[2]->cap, 2);
    /* And all to the second when the first is silent and its ranks have heard it. */
    w.node[0]->is_active = false;
    (void)divide(&w, 104);
    assert_int_equal(w.node[0]->cap, 2);
    assert_int_equal(w.node[1]->cap, 51);
    w.node[0]->room = 4;
    (void)divide(&w, 104);
    assert_int_equal(w.node[1]->cap, 100);
    destroy(&w);
}

static void divide__others_keep_what_they_were_granted(void **state)
{
    struct world w = {.now_ns = 1000};
    (void)state;
    add(&w, &with_caps, SLOTS);
    add(&w, &without, 60);
    w.node[0]->is_active = true;
    (void)divide(&w, 100);
    assert_int_equal(w.node[0]->cap, 70);
    assert_int_equal(w.node[1]->sets, 0);
    /* A quarter in any case. */
    add(&w, &without, 400);
    (void)divide(&w, 100);
    w.node[0]->room = 2 * w.node[0]->cap;
    (void)divide(&w, 100);
    assert_int_equal(w.node[0]->cap, 25);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divide__one_alone_gets_all),
        cmocka_unit_test(divide__the_active_share_alike),
        cmocka_unit_test(divide__others_keep_what_they_were_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
