/* SPDX-License-Identifier: Apache-2.0 */
/* test_members.c: who is who on a shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/resolve.h"
#include "schemes/schemes.h"
#include "switchd/members.h"

#define LARGE 71 /* members: more than a node has children */

static struct trib_address address_of(uint32_t number)
{
    char text[64];
    struct trib_address address;
    (void)snprintf(text, sizeof text, number % 3 == 2 ? "[fd00::%x:%x]:%u" : "10.%u.%u.1:%u", number >> 8, number & 255,
                   1000 + number % 7);
    assert_int_equal(trib_address_parse(text, 0, &address, NULL), TRIB_OK);
    return address;
}

/* Branch i comes from address_of(i); the parent, if any, from address_of(500). */
static struct trib_member *make(uint32_t communicator, uint32_t ranks, bool has_parent)
{
    struct trib_branch branches[200] = {0};
    uint16_t numbers[200];
    struct trib_address parent = address_of(500);
    const struct trib_opening opening = {
        .session = {.communicator = communicator,
                    .ranks = ranks,
                    .roots = 1,
                    .train = 1,
                    .slots = 2,
                    .payload = 64,
                    .lookahead = 1},
        .ranks = ranks,
        .scheme = "switchml",
        .boot = 1,
        .parent = has_parent ? &parent : NULL,
        .branches = branches,
        .count = ranks,
    };
    for (uint32_t i = 0; i < ranks; i++) {
        numbers[i] = (uint16_t)i;
        branches[i] = (struct trib_branch){.ranks = &numbers[i], .count = 1, .from = address_of(i)};
    }
    assert_true(trib_tree_is_sound(&opening));
    struct trib_member *member = trib_member_create(trib_scheme_find("switchml")->switch_node, &opening);
    assert_non_null(member);
    for (uint32_t i = 0; i < member->nodes; i++) {
        assert_int_equal((uintptr_t)member->node[i].node % 64, 0);
    }
    return member;
}

static void add(struct trib_members *members, uint32_t communicator, uint32_t ranks)
{
    assert_true(trib_members_add(members, make(communicator, ranks, false)));
}

/* ---- what a node hears of its ranks ---- */

#define SEEN_MAX 8

static struct {
    struct trib_switch_config config[SEEN_MAX];
    uint32_t count;
} seen;

static void see_init(void *node, const struct trib_switch_config *config)
{
    assert_true(seen.count < SEEN_MAX);
    seen.config[seen.count++] = *config;
    trib_scheme_find("panama")->switch_node->init(node, config);
}

/* Branches of one rank each, but for `below` ranks from `from` on, which are behind a switch. */
static void open_quorum(const char *scheme, uint32_t ranks, uint32_t from, uint32_t below)
{
    struct trib_branch branches[200] = {0};
    uint16_t numbers[200];
    struct trib_switch_verbs verbs = *trib_scheme_find("panama")->switch_node;
    struct trib_opening opening = {
        .session = {.ranks = ranks, .roots = 1, .train = 1, .slots = 2, .payload = 128, .lookahead = 1},
        .ranks = ranks,
        .scheme = scheme,
        .boot = 1,
        .branches = branches,
        .count = below != 0 ? ranks - below + 1 : ranks,
    };

    verbs.init = see_init;
    seen.count = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        bool is_below = i >= from && i < from + below;
        uint32_t at = i < from || below == 0 ? i : is_below ? from : i - below + 1;
        numbers[i] = (uint16_t)i;
        branches[at].ranks = branches[at].count == 0 ? &numbers[i] : branches[at].ranks;
        branches[at].count++;
        branches[at].is_switch = is_below;
        branches[at].from = address_of(at);
    }
    assert_true(trib_tree_is_sound(&opening));
    struct trib_member *member = trib_member_create(&verbs, &opening);
    assert_non_null(member);
    trib_member_destroy(member);
}

static void node__hears_what_its_ranks_bring(void **state)
{
    (void)state;
    open_quorum("panama:7/8", 24, 0, 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.config[0].spare, 3);
    open_quorum("panama:7/8", 24, 7, 6); /* 7 is below a switch, as its lowest, 15 and 23 are here */
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.config[0].spare, 2);
    open_quorum("panama:15/16", 15, 0, 0);
    assert_int_equal(seen.config[0].spare, 0);
    open_quorum("panama", 24, 0, 0);
    assert_int_equal(seen.config[0].spare, 0);
    open_quorum("panama:7/8", 200, 0, 0); /* a top node, whose children are nodes, and 64, 64, 64 and 8 ranks */
    assert_int_equal(seen.count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(seen.config[i].spare, i == 0 ? 0 : seen.config[i].children / 8);
    }
    open_quorum("panama:3/4", 200, 0, 5); /* the first inner node has a switch, and the ranks from 5 to 67 */
    assert_int_equal(seen.count, 5);
    assert_int_equal(seen.config[0].spare, 0);
    assert_int_equal(seen.config[1].spare, 68 / 4 - 5 / 4);
    assert_int_equal(seen.config[1].spare + seen.config[2].spare + seen.config[3].spare + seen.config[4].spare,
                     200 / 4 - 5 / 4);
}

/* The same 8 addresses in 200 communicators: found by both together, and by neither alone. */
static void find_source__by_communicator_and_address(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    for (uint32_t i = 0; i < 200; i++) {
        add(&members, i * 7, 8);
    }
    for (uint32_t i = 0; i < 1400; i++) {
        for (uint32_t number = 0; number < 9; number++) {
            struct trib_address from = address_of(number);
            const struct trib_member_source *source = trib_members_find_source(&members, i, &from, 0);
            if (i % 7 == 0 && number < 8) {
                assert_non_null(source);
                assert_int_equal(source->place.kind, TRIB_PLACE_CHILDREN);
                assert_int_equal(source->place.children, UINT64_C(1) << number);
                assert_int_equal(source->node->member->communicator, i);
                assert_int_equal(source->node->number, 0);
            } else {
                assert_null(source);
            }
        }
    }
    struct trib_address other_port = address_of(0);
    trib_address_set_port(&other_port, 1);
    assert_null(trib_members_find_source(&members, 7, &other_port, 0));
    trib_members_deinit(&members);
}

static void find_source__in_an_empty_table(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    struct trib_address from = address_of(0);
    assert_null(trib_members_find_source(&members, 0, &from, 0));
    assert_null(trib_members_find(&members, 0));
    trib_members_deinit(&members);
}

static void remove__forgets_one_and_no_other(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    struct trib_address from = address_of(3);
    for (uint32_t i = 0; i < 50; i++) {
        add(&members, i, 5);
    }
    for (uint32_t i = 0; i < 50; i += 2) {
        struct trib_member *member = trib_members_find(&members, i);
        assert_non_null(member);
        trib_members_remove(&members, member);
        trib_member_destroy(member);
    }
    for (uint32_t i = 0; i < 50; i++) {
        const struct trib_member_source *source = trib_members_find_source(&members, i, &from, 0);
        assert_int_equal(source != NULL, i % 2 == 1);
        assert_int_equal(trib_members_find(&members, i) != NULL, i % 2 == 1);
    }
    assert_int_equal(members.count, 25);
    assert_int_equal(members.sources, 125);
    trib_members_deinit(&members);
}

/* 100 branches: each is a child of an inner node, and the parent is the top node's. */
static void find_source__in_a_tree_of_nodes(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    struct trib_member *made = make(9, 100, true);
    assert_true(trib_members_add(&members, made));
    assert_int_equal(made->nodes, 3);
    assert_int_equal(members.sources, 101);
    for (uint32_t i = 0; i < 100; i++) {
        struct trib_address from = address_of(i);
        const struct trib_member_source *source = trib_members_find_source(&members, 9, &from, 0);
        assert_non_null(source);
        assert_int_equal(source->node->number, 1 + i / 64);
        assert_int_equal(source->place.kind, TRIB_PLACE_CHILDREN);
        assert_int_equal(source->place.children, UINT64_C(1) << (i % 64));
        assert_true(trib_address_equal(trib_member_source_address(source), &from));
    }
    struct trib_address from = address_of(500);
    const struct trib_member_source *source = trib_members_find_source(&members, 9, &from, 0);
    assert_non_null(source);
    assert_int_equal(source->node->number, 0);
    assert_int_equal(source->place.kind, TRIB_PLACE_PARENT);
    assert_true(trib_address_equal(trib_member_source_address(source), &from));
    assert_null(trib_members_find_source(&members, 8, &from, 0));
    trib_members_remove(&members, made);
    assert_int_equal(members.sources, 0);
    assert_null(trib_members_find_source(&members, 9, &from, 0));
    trib_member_destroy(made);
    trib_members_deinit(&members);
}

/* A server takes sums only if switches below make some. */
static void a_server__takes_sums_of_schemes_that_combine(void **state)
{
    static const uint16_t ranks[] = {0, 1};
    struct trib_branch branches[] = {{.ranks = &ranks[0], .count = 1, .is_combined = true, .from = address_of(0)},
                                     {.ranks = &ranks[1], .count = 1, .is_combined = true, .from = address_of(0)}};
    struct trib_switch_verbs verbs = *trib_scheme_find("panama")->switch_node;
    struct trib_opening opening = {
        .session = {.ranks = 2, .roots = 1, .train = 1, .slots = 2, .payload = 128, .lookahead = 1},
        .ranks = 2,
        .boot = 1,
        .branches = branches,
        .count = 2,
    };

    (void)state;
    verbs.init = see_init;
    seen.count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        opening.scheme = i == 0 ? "atp" : "ps";
        struct trib_member *member = trib_member_create(&verbs, &opening);
        assert_non_null(member);
        assert_int_equal(member->node[0].together[1], 3);
        assert_int_equal(seen.config[i].has_combiners, i == 0);
        trib_member_destroy(member);
    }
}

/* Members 0 to 69 behind a combiner, 70 a rank by itself: a server of two inner nodes. The combiner's packets name the
 * group, and those of the rank need not. */
static struct trib_member *large_server(struct trib_branch *branches)
{
    static uint16_t ranks[LARGE];
    for (uint32_t i = 0; i < LARGE; i++) {
        ranks[i] = (uint16_t)i;
        branches[i] = (struct trib_branch){.ranks = &ranks[i], .count = 1, .is_combined = i < LARGE - 1};
        branches[i].from = address_of(i < LARGE - 1 ? 0 : 1);
    }
    const struct trib_opening opening = {
        .session = {.communicator = 5, .ranks = LARGE, .roots = 1, .train = 1, .slots = 2, .payload = 128},
        .ranks = LARGE,
        .scheme = "atp",
        .boot = 1,
        .branches = branches,
        .count = LARGE,
    };
    return trib_member_create(trib_scheme_find("atp")->switch_node, &opening);
}

static void find_source__by_the_group_behind_a_combiner(void **state)
{
    static struct trib_branch branches[LARGE];
    struct trib_members members = {0};
    struct trib_member *made = large_server(branches);
    const struct trib_address combiner = address_of(0);
    const struct trib_address alone = address_of(1);

    (void)state;
    assert_non_null(made);
    assert_true(trib_members_add(&members, made));
    const struct trib_member_source *first = trib_members_find_source(&members, 5, &combiner, 63);
    const struct trib_member_source *second = trib_members_find_source(&members, 5, &combiner, 64);
    assert_ptr_equal(first->node, &made->node[1]);
    assert_ptr_equal(second->node, &made->node[2]);
    assert_int_equal(first->place.children, UINT64_MAX);
    assert_int_equal(second->place.children, 0x3f); /* not the rank by itself (I7) */
    assert_int_equal(first->number, 0);
    assert_int_equal(second->number, 0); /* one sender: one sequence of authenticators */
    assert_null(trib_members_find_source(&members, 5, &combiner, 128));
    assert_null(trib_members_find_source(&members, 5, &combiner, TRIB_NODE_ALL - 2));
    const struct trib_member_source *rank = trib_members_find_source(&members, 5, &alone, 900);
    assert_ptr_equal(rank->node, &made->node[2]);
    assert_int_equal(rank->place.children, 0x40);
    assert_false(rank->is_grouped);
    trib_member_prove(second); /* one address, in both groups */
    assert_int_equal(made->node[1].proved, UINT64_MAX);
    assert_int_equal(made->node[2].proved, 0x3f);
    trib_members_remove(&members, made);
    trib_member_destroy(made);
    trib_members_deinit(&members);
}

/* The parent of a combiner names the group as well. Both nodes take rows of one pool. */
static void a_combiner__has_a_node_for_each_group(void **state)
{
    static const uint16_t ranks[3] = {60, 63, 64};
    struct trib_branch branches[3];
    struct trib_members members = {0};
    const struct trib_address parent = address_of(500);
    const struct trib_address last = address_of(2);
    struct trib_opening opening = {
        .session = {.communicator = 5, .ranks = LARGE, .roots = 1, .train = 1, .slots = 2, .payload = 128},
        .ranks = LARGE,
        .scheme = "atp",
        .boot = 1,
        .parent = &parent,
        .branches = branches,
        .count = 3,
    };

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        branches[i] = (struct trib_branch){.ranks = &ranks[i], .count = 1, .from = address_of(i)};
        trib_rank_set_add(&opening.numbers, ranks[i]);
    }
    struct trib_member *made = trib_member_create(&trib_combining_verbs, &opening);
    assert_non_null(made);
    assert_int_equal(made->nodes, 2);
    assert_true(trib_members_add(&members, made));
    assert_ptr_equal(trib_members_find_source(&members, 5, &parent, TRIB_NODE_ALL)->node, &made->node[0]);
    assert_ptr_equal(trib_members_find_source(&members, 5, &parent, TRIB_NODE_ALL - 1)->node, &made->node[1]);
    assert_ptr_equal(trib_members_find_source(&members, 5, &parent, 64)->node, &made->node[1]);
    assert_null(trib_members_find_source(&members, 5, &parent, 128));
    assert_ptr_equal(trib_members_find_source(&members, 5, &last, 0)->node, &made->node[1]);
    assert_int_equal(trib_member_number(&made->node[0], 1), 63);
    assert_int_equal(trib_member_number(&made->node[1], 0), 0);
    assert_int_equal(trib_member_name(1, 0), 64);
    assert_int_equal(trib_member_unname(trib_member_name(1, 5)), 5);
    assert_int_equal(trib_member_group(trib_member_name(15, TRIB_NODE_ALL)), 15);
    assert_int_equal(trib_member_unname(trib_member_name(15, TRIB_NODE_ALL)), TRIB_NODE_ALL);
    trib_members_remove(&members, made);
    trib_member_destroy(made);
    trib_members_deinit(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_source__by_communicator_and_address),
        cmocka_unit_test(find_source__in_an_empty_table),
        cmocka_unit_test(find_source__in_a_tree_of_nodes),
        cmocka_unit_test(remove__forgets_one_and_no_other),
        cmocka_unit_test(node__hears_what_its_ranks_bring),
        cmocka_unit_test(a_server__takes_sums_of_schemes_that_combine),
        cmocka_unit_test(find_source__by_the_group_behind_a_combiner),
        cmocka_unit_test(a_combiner__has_a_node_for_each_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
