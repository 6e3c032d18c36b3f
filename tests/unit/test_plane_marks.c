/* SPDX-License-Identifier: Apache-2.0 */
/* test_plane_marks.c: planes of panama, one socket's packets marked by the kernel: whose marks results name at which
 * switch of a tree. The node's own rules are in test_panama.c, one flat switch in test_plane.c. */
#include "plane_harness.h"

#include <netinet/in.h>

#include "core/share.h"

#define COUNT 20000

static void begin_panama(struct world *world)
{
    begin_world(world);
    world->session.cap = (uint16_t)trib_share_first(world->session.slots);
}

static int use_panama(void **state)
{
    (void)state;
    scheme_name = "panama";
    return 0;
}

/* From now on all that it sends comes as congested (CE), or as not. */
static void mark_socket(struct trib_port *udp, bool is_marked)
{
    const int tos = is_marked ? 3 : 0;
    assert_int_equal(setsockopt(trib_port_fd(udp), IPPROTO_IP, IP_TOS, &tos, sizeof tos), 0);
}

static void mark_rank(struct rank *rank, bool is_marked)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        mark_socket(rank->udp[i], is_marked);
    }
}

static void mark_plane(struct side *side, bool is_marked)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_shard_enter(&side->plane->shard[i]);
        mark_socket(side->plane->shard[i].port, is_marked);
        trib_shard_leave(&side->plane->shard[i]);
    }
}

/* A sum with these marks; what results say of it is then in the ranks, and nothing of sums before. */
static void sum_anew(struct world *world)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        world->rank[i].flagged = world->rank[i].named = world->rank[i].names = 0;
    }
    check_allreduce(world, COUNT);
}

static void expect_named(const struct rank *rank, uint64_t names)
{
    assert_int_equal(rank->names, names);
    assert_true(names == 0 || rank->named >= fragments_of(COUNT));
}

/* ---- nodes of one switch ---- */

/* A switch's inner nodes know which children of its top they are, from the start: marks at one are not the other's. */
static void inner__marks_of_a_rank_are_named_at_its_node(void **state)
{
    (void)state;
    struct world world;
    begin_panama(&world);
    (void)add_plane(&world, NO_PLANE, &none);
    open_ranks(&world, 70, NULL);
    open_world(&world);
    register_all(&world);
    mark_rank(&world.rank[67], true);
    sum_anew(&world);
    for (uint32_t i = 0; i < world.ranks; i++) {
        expect_named(&world.rank[i], i < 64 ? 0 : UINT64_C(1) << 3);
        assert_int_equal(world.rank[i].flagged, 0);
    }
    close_world(&world);
}

/* The way between a switch and its parent is one of all its inner nodes. */
static void inner__marks_of_the_way_down_are_of_all_below(void **state)
{
    (void)state;
    struct world world;
    begin_panama(&world);
    uint32_t root = open_inner_below(&world);
    mark_plane(&world.side[root], true);
    sum_anew(&world);
    assert_true(world.rank[INNER_ABOVE].flagged >= fragments_of(COUNT));
    for (uint32_t i = 0; i < world.ranks; i++) {
        bool is_last = i > 64; /* behind the second inner node, which has two; the one above is at neither */
        expect_named(&world.rank[i], i == INNER_ABOVE ? 0 : is_last ? 3 : UINT64_MAX);
        assert_true(i == INNER_ABOVE || world.rank[i].flagged == 0);
    }
    close_world(&world);
}

/* ---- switches below a switch ---- */

/* Rank 0 at the root, 1 and 2 at one plane below it, 3 and 4 at another, which are the root's children 1 and 2. They
 * have learnt so when they proved their addresses. */
static void below__a_switch_takes_its_own_marks(void **state)
{
    (void)state;
    struct world world;
    begin_panama(&world);
    uint32_t root = add_plane(&world, NO_PLANE, &none);
    (void)add_plane(&world, root, &none);
    (void)add_plane(&world, root, &none);
    open_ranks(&world, 5, (const uint32_t[]){0, 1, 1, 2, 2});
    open_world(&world);
    register_all(&world);
    mark_rank(&world.rank[2], true);
    sum_anew(&world);
    expect_named(&world.rank[0], 0);
    expect_named(&world.rank[1], 2);
    expect_named(&world.rank[2], 2);
    expect_named(&world.rank[3], 0);
    mark_rank(&world.rank[2], false);
    mark_plane(&world.side[2], true); /* its way up, and its ranks' ways down */
    sum_anew(&world);
    expect_named(&world.rank[0], 4);
    expect_named(&world.rank[1], 0);
    expect_named(&world.rank[3], 3);
    assert_true(world.rank[4].flagged >= fragments_of(COUNT));
    assert_int_equal(world.rank[0].flagged + world.rank[1].flagged + world.rank[2].flagged, 0);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner__marks_of_a_rank_are_named_at_its_node),
        cmocka_unit_test(inner__marks_of_the_way_down_are_of_all_below),
        cmocka_unit_test(below__a_switch_takes_its_own_marks),
    };
    return cmocka_run_group_tests(tests, use_panama, NULL);
}
