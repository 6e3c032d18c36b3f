/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c: what a scenario's nodes are told when they begin. Read next: machine.c. */
#include "core/quorum.h"
#include "model.h"

uint32_t settings_boot(const struct model *model, uint32_t number)
{
    return 0xb007 + (model->scenario->same_boot ? 0 : number);
}

void settings_session(const struct model *model, uint32_t job, struct trib_session_config *session)
{
    const struct model_scenario *s = model->scenario;
    bool is_heir = s->sharing == SHARING_HEIR && job == 1; /* the same communicator, made anew */

    *session = (struct trib_session_config){
        .salt = machine_salt(job),
        .communicator = machine_communicator(is_heir ? 0 : job),
        .ranks = s->job[job].ranks,
        .roots = s->roots,
        .train = s->train,
        .slots = s->slots,
        .payload = MODEL_PAYLOAD + (s->quorum_of != 0 ? MODEL_LIST : 0),
        .generation = is_heir ? 2 : 1,
        .group = s->group,
        .cap = s->cap,
        .wire = s->wire,
        .lookahead = 1,
        .weight = {s->weight[0], s->weight[1]},
        .quorum = s->quorum,
        .quorum_of = s->quorum_of,
    };
}

/* Those that define all others; worlds mix them. */
static const struct trib_value_kernels *kernels(void)
{
    return trib_value_kernels_named("scalar");
}

struct trib_worker_config settings_worker(const struct model *model, const struct machine *m)
{
    struct trib_worker_config config = {
        .kernels = kernels(),
        .rank = m->rank,
        .window = model->scenario->window,
        .operations = model->scenario->operations,
        .stall_ns = UINT64_MAX,
    };

    settings_session(model, m->job, &config.session);
    return config;
}

struct trib_switch_config settings_switch(const struct model *model, uint32_t job, uint32_t socket, uint32_t boot)
{
    uint32_t at = socket / model->scenario->roots;
    struct trib_switch_config config = {
        .kernels = kernels(),
        .children = model->children[job][at],
        .root = socket % model->scenario->roots,
        .boot = settings_boot(model, boot),
        .has_parent = at != 0,
    };

    settings_session(model, job, &config.session);
    config.session.salt = 0;
    for (uint32_t i = 0; i < config.children && i < MODEL_RANKS; i++) {
        uint32_t child = model->child[job][at][i];
        config.branches |= (uint64_t)(child >= MODEL_RANKS) << i;
        config.spare += child < MODEL_RANKS ? trib_quorum_brings(&config.session, child) : 0;
        config.has_combiners |= model->scenario->rows != 0 && model->scenario->job[job].leaf[child % MODEL_RANKS] != at;
    }
    config.behind = model->behind[job][at]; /* ranks are children of the root: their numbers there */
    return config;
}
