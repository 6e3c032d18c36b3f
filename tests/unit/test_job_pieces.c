/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_pieces.c: jobs of scheme goat at a controller with a plan: which pieces each combiner below is told to add.
 * Mirrors src/control/jobs/pieces.c; the plan's file is in test_placed.c. */
#include "leaves_harness.h"

#include "control/jobs/state.h"
#include "fabric/placed.h"

#define RANKS 6U

/* Two combiners below the server, or one below another (is_deep). Ranks come to the last node, and every third to the
 * server. */
static void make(struct world *world, const struct trib_placed *placed, bool is_deep, const char *scheme)
{
    world_init(world, 7);
    struct node *root = node_add(world, NULL);
    struct node *first = node_add(world, root);
    struct node *second = node_add(world, is_deep ? first : root);
    root->config.placed = placed;
    ranks_make(world, RANKS);
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].home = i % 3 == 0 ? root : i % 3 == 1 ? first : second;
        (void)snprintf(world->rank[i].join.join.settings.scheme, 8, "%s", scheme);
    }
}

static void expect_pieces(const struct world *world, uint32_t node, uint64_t own, uint32_t count)
{
    const struct recorder *r = &world->node[node].recorder;
    assert_int_equal(r->pieces.own, own);
    assert_int_equal(r->pieces.count, count);
    assert_true(own == 0 || r->pieces.run == r->session.train);
}

static struct trib_placed_switch at(uint32_t node, uint32_t port, uint32_t model, uint64_t pieces)
{
    return (struct trib_placed_switch){
        .at = trib_address_v4(0x0a000001U + node, (uint16_t)port), .model = model, .pieces = pieces};
}

static void each_combiner__has_the_pieces_of_the_plan(void **state)
{
    struct trib_placed_model models[] = {{.job = "other", .pieces = 3}, {.job = "job", .pieces = 16}};
    struct trib_placed_switch switches[] = {at(1, 7470, 0, 0x7), at(2, 7470, 1, 0x8001), at(1, 7470, 1, 0x30),
                                            at(2, 7471, 1, 0x4)};
    const struct trib_placed placed = {.count = 2, .switch_count = 4, .models = models, .switches = switches};
    (void)state;
    for (uint32_t is_deep = 0; is_deep < 2; is_deep++) {
        struct world world;
        make(&world, &placed, is_deep != 0, "goat");
        (void)snprintf(models[1].job, sizeof models[1].job, "%s", world.rank[0].join.join.job);
        tree_run(&world);
        for (uint32_t i = 0; i < RANKS; i++) {
            assert_true(world.rank[i].is_running);
        }
        expect_pieces(&world, 0, 0, 0);
        expect_pieces(&world, 1, 0x30, 16);
        expect_pieces(&world, 2, 0x8001, 16);
        world_end(&world);
    }
}

static void no_plan__places_nothing(void **state)
{
    struct trib_placed_model model = {.pieces = 16};
    struct trib_placed_switch place = at(1, 7470, 0, 0xffff);
    const struct trib_placed placed = {.count = 1, .switch_count = 1, .models = &model, .switches = &place};
    (void)state;
    for (uint32_t way = 0; way < 4; way++) { /* no plan, another job, another scheme, another switch */
        struct world world;
        make(&world, way > 0 ? &placed : NULL, false, way == 2 ? "atp" : "goat");
        (void)snprintf(model.job, sizeof model.job, "%s", way == 1 ? "other" : world.rank[0].join.join.job);
        place.at = trib_address_v4(way == 3 ? 0x0a000009U : 0x0a000002U, 7470);
        tree_run(&world);
        assert_true(world.rank[0].is_running);
        expect_pieces(&world, 1, 0, 0);
        expect_pieces(&world, 2, 0, 0);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_combiner__has_the_pieces_of_the_plan),
        cmocka_unit_test(no_plan__places_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
