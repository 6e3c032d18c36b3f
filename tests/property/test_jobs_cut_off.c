/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobs_cut_off.c: jobs come to a combiner's shard, send random packets, and are cut off at random moments. When a
 * job has gone it holds no row, the pool never has more bytes than its limit, and at last every row can be used.
 * TRIB_SEEDS: worlds, of some 30 jobs each; TRIB_SEED: that one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "io/log.h"
#include "net/resolve.h"
#include "protocol/combining.h"
#include "switchd/rows.h"

#define SEEDS 300
#define AT_ONCE 6U
#define CHILDREN_MAX 8U
#define STEPS 4000
#define SPREAD 40U /* sequences from M on that packets name */

struct job {
    struct trib_member *member; /* NULL: none runs in this place */
    uint64_t mark;
    uint32_t children;
};

static struct {
    struct trib_rows rows;
    struct trib_members members;
    struct job jobs[AT_ONCE];
    struct trib_prng prng;
    uint32_t begun, held_at_end; /* jobs; of those, with rows when they were cut off */
    uint32_t waiting_at_end;     /* with packets on their way */
} world;

static uint32_t draw(uint32_t bound)
{
    return (uint32_t)(trib_prng_next(&world.prng) % bound);
}

static struct trib_plane_rows count_rows(void)
{
    struct trib_plane_rows sum = {0};
    trib_rows_count(&world.rows, &sum);
    return sum;
}

/* Each row is of a job that runs. */
static void check_rows(void)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        held += world.jobs[i].member != NULL ? trib_member_slots_held(world.jobs[i].member) : 0;
    }
    assert_int_equal(count_rows().held, held);
    const struct trib_combiner_config none = {.payload = world.rows.payload, .members = TRIB_ROWS_MEMBERS};
    assert_true(world.rows.size <= world.rows.limit + trib_pool_size(&none));
}

static void begin(struct job *job, uint32_t slots)
{
    static const uint32_t payloads[] = {64, 64, 1408, 1408, 4096, 8192};
    static const uint16_t ranks[CHILDREN_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct trib_branch branches[CHILDREN_MAX];
    const struct trib_address parent = trib_address_v4(1, 500);
    struct trib_opening opening = {
        .session = {.communicator = ++world.begun,
                    .generation = 1,
                    .roots = 1,
                    .train = 1,
                    .slots = slots,
                    .payload = payloads[draw(6)],
                    .lookahead = 1},
        .scheme = "atp",
        .boot = 1,
        .parent = &parent,
        .branches = branches,
        .count = 1 + draw(CHILDREN_MAX),
    };
    opening.ranks = opening.session.ranks = opening.count;
    for (uint32_t i = 0; i < opening.count; i++) {
        branches[i] =
            (struct trib_branch){.ranks = &ranks[i], .count = 1, .from = trib_address_v4(2, (uint16_t)(1 + i))};
        trib_rank_set_add(&opening.numbers, 8 * i + draw(8));
    }
    job->member = trib_member_create(&trib_combining_verbs, &opening);
    assert_non_null(job->member);
    job->mark = 0;
    job->children = opening.count;
    job->member->adds = draw(8) != 0;
    job->member->priority = (uint8_t)draw(256);
    assert_true(trib_members_add(&world.members, job->member));
    assert_int_equal(trib_rows_enter(&world.rows, &world.members, job->member), TRIB_OK);
}

static void cut_off(struct job *job)
{
    const struct trib_member_node *next = trib_rows_next(&world.rows);
    world.held_at_end += trib_member_slots_held(job->member) != 0;
    world.waiting_at_end += next != NULL;
    trib_members_remove(&world.members, job->member);
    trib_rows_leave(job->member);
    trib_rows_divide(&world.rows, &world.members, job->member);
    trib_member_destroy(job->member);
    job->member = NULL;
    check_rows();
}

static void give(struct job *job, struct trib_place from, const struct trib_packet *packet)
{
    (void)trib_combining_verbs.node.receive(job->member->node[0].node, from, packet, 0);
}

/* Anything that a rank may send, and something that none does. */
static void send_up(struct job *job, uint64_t sequence)
{
    static const uint8_t zeros[TRIB_PAYLOAD_MAX];
    uint32_t payload = draw(3) == 0 ? draw(job->member->payload + 1) & ~3U : 64;
    const struct trib_packet packet = {
        .kind = draw(8) != 0   ? TRIB_CONTRIBUTION
                : draw(2) != 0 ? TRIB_PROBE
                               : TRIB_OFFER,
        .flags = draw(8) != 0 ? 0 : (uint16_t)draw(128),
        .communicator = job->member->communicator,
        .generation = (uint16_t)(1 + (draw(50) == 0)),
        .boot = 1 + (draw(50) == 0),
        .sequence = sequence,
        .mark = draw(2) != 0 ? job->mark : draw((uint32_t)sequence + 2),
        .digest = draw(20) == 0,
        .bitmap = draw(4) != 0 ? 0 : trib_prng_next(&world.prng),
        .type = payload != 0 ? TRIB_INT32 : TRIB_TYPE_NONE,
        .reduction = TRIB_SUM,
        .contributors = payload != 0,
        .payload_len = (uint16_t)payload,
        .payload = payload != 0 ? zeros : NULL,
    };
    give(job, trib_member_child(draw(job->children)), &packet);
}

static void send_down(struct job *job)
{
    const struct trib_packet packet = {
        .kind = draw(2) != 0 ? TRIB_RESULT : TRIB_HELD,
        .communicator = job->member->communicator,
        .generation = 1,
        .boot = 1,
        .sequence = job->mark,
        .mark = job->mark + draw(3),
        .node = draw(2) != 0 ? TRIB_NODE_ALL : (uint16_t)draw(70),
    };
    job->mark += draw(2);
    give(job, (struct trib_place){.kind = TRIB_PLACE_PARENT}, &packet);
}

static void drain(uint32_t most)
{
    struct trib_packet packet;
    struct trib_place to;
    for (struct trib_member_node *node = NULL; most > 0 && (node = trib_rows_next(&world.rows)) != NULL; most--) {
        assert_true(trib_combining_verbs.node.next_packet(node->node, 0, &packet, &to));
        assert_int_equal(packet.communicator, node->member->communicator);
    }
}

/* A job alone can have each row, so no buffer was lost. */
static void check_all_can_be_had(void)
{
    struct job *job = &world.jobs[0];
    do {
        begin(job, TRIB_SLOTS_MAX);
        if (!job->member->adds || job->children < 2) {
            cut_off(job);
        }
    } while (job->member == NULL);
    uint32_t rows = (uint32_t)count_rows().rows;
    for (uint64_t i = 0; i < 20 * (uint64_t)rows; i++) {
        const struct trib_packet packet = {.kind = TRIB_CONTRIBUTION,
                                           .communicator = job->member->communicator,
                                           .generation = 1,
                                           .boot = 1,
                                           .sequence = i,
                                           .reduction = TRIB_SUM};
        trib_combining_verbs.learn_mark(job->member->node[0].node, 0);
        give(job, trib_member_child(0), &packet);
        drain(UINT32_MAX);
    }
    assert_true(count_rows().held * 10 >= rows * UINT64_C(9));
    cut_off(job);
    assert_int_equal(count_rows().held, 0);
}

static void one_world(uint64_t seed)
{
    static const uint64_t limits[] = {0, 2000, 20000, 200000, 2000000};
    world.prng = (struct trib_prng){seed};
    world.rows = (struct trib_rows){.limit = limits[draw(5)], .is_static = draw(3) == 0};
    world.members = (struct trib_members){0};
    for (uint32_t step = 0; step < STEPS; step++) {
        struct job *job = &world.jobs[draw(AT_ONCE)];
        uint32_t what = draw(100);
        if (job->member == NULL) {
            if (what < 5) {
                begin(job, draw(2) != 0 ? SPREAD : 2 * SPREAD);
            }
        } else if (what < 1) {
            cut_off(job);
        } else if (what < 20) {
            send_down(job);
        } else {
            send_up(job, job->mark + draw(SPREAD));
        }
        if (draw(4) == 0) {
            drain(1 + draw(64));
        }
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        if (world.jobs[i].member != NULL) {
            cut_off(&world.jobs[i]);
        }
    }
    assert_null(trib_rows_next(&world.rows));
    assert_int_equal(count_rows().held, 0);
    check_all_can_be_had();
    trib_members_deinit(&world.members);
    trib_rows_close(&world.rows);
}

static void jobs_cut_off__leave_no_row(void **state)
{
    const char *seeds = getenv("TRIB_SEEDS");
    const char *seed = getenv("TRIB_SEED");
    uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = seed != NULL ? 1 : seeds != NULL ? strtoull(seeds, NULL, 10) : SEEDS;

    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        one_world(first + i);
    }
    print_message("%u jobs, %u with rows when they were cut off, %u with packets on their way\n", world.begun,
                  world.held_at_end, world.waiting_at_end);
    assert_true(count < SEEDS || (world.held_at_end > 100 && world.waiting_at_end > 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_cut_off__leave_no_row)};

    trib_log_set_default(TRIB_LOG_NONE); /* pools without a row are among them */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
