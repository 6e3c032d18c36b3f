/* SPDX-License-Identifier: Apache-2.0 */
/* placing.c: a plan of pieces (fabric/placed.h) for the jobs of a world whose scheme has them: drawn, so some jobs and
 * some switches have none. Read next: combining.c (rows). */
#include "placing.h"

#include <stdio.h>
#include <string.h>

#include "core/lane.h"
#include "swarm.h"

static uint64_t draw_pieces(struct trib_prng *prng, uint32_t count)
{
    uint64_t pieces = trib_prng_next(prng) & trib_prng_next(prng) & trib_pieces_all(count);

    return swarm_one_in(prng, 4) ? trib_pieces_all(count) : pieces;
}

void placing_begin(struct world *world)
{
    struct trib_prng prng = {.state = trib_mix64(world->seed ^ UINT64_C(0x706965636573))};
    struct world_plan *plan = world_zeroed(1, sizeof *plan);

    world->plan = plan;
    plan->placed = (struct trib_placed){.models = plan->models, .switches = plan->switches};
    if (!world->scheme->has_pieces || swarm_one_in(&prng, 16)) {
        return;
    }
    for (uint32_t i = 0; i < WORLD_COMMS_MAX; i++) {
        struct trib_placed_model *model = &plan->models[plan->placed.count];
        if (swarm_one_in(&prng, 8)) {
            continue;
        }
        (void)snprintf(model->job, sizeof model->job, CONTROL_JOB "%u", i);
        model->pieces = (uint32_t)swarm_between(&prng, 1, swarm_one_in(&prng, 4) ? TRIB_PIECES_MAX : 4);
        for (uint32_t at = 1; at < world->tree_count; at++) {
            struct trib_placed_switch *it = &plan->switches[plan->placed.switch_count];
            it->at = world->planes[at].config.listen;
            it->model = plan->placed.count;
            it->pieces = draw_pieces(&prng, model->pieces);
            plan->placed.switch_count += it->pieces != 0;
        }
        plan->placed.count++;
    }
    world->planes[0].config.placed = &plan->placed;
}

struct trib_pieces placing_of(const struct world_comm *comm, uint32_t at)
{
    const struct world_plan *plan = comm->world->plan;
    struct trib_pieces pieces = {.run = comm->set.session.train};

    for (uint32_t i = 0; i < plan->placed.switch_count; i++) {
        const struct trib_placed_switch *it = &plan->switches[i];
        const struct trib_placed_model *model = &plan->models[it->model];
        if (strcmp(model->job, comm->name) == 0 &&
            trib_address_equal(&it->at, &comm->world->planes[at].config.listen)) {
            pieces.own = it->pieces;
            pieces.count = model->pieces;
        }
    }
    return pieces;
}
