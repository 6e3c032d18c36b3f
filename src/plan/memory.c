/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: see memory.h. */
#include "plan/memory.h"

#include <stdlib.h>
#include <string.h>

#include "io/explain.h"

bool plan_memory_is_limited(const struct plan_network *net)
{
    bool is_limited = false;
    for (uint32_t i = 0; i < net->switches; i++) {
        is_limited = is_limited || (net->adds_bps[i] != PLAN_ADDS_NOT && net->memory[i] != PLAN_MEMORY_ALL);
    }
    return is_limited;
}

void plan_memory_begin(struct plan_memory *m)
{
    memcpy(m->left, m->net->memory, m->net->switches * sizeof *m->left);
    memset(m->is_open, 0, (size_t)m->jobs->count * m->net->switches * sizeof *m->is_open);
}

enum trib_status plan_memory_init(struct plan_memory *m, const struct plan_network *net, const struct plan_jobs *jobs,
                                  char *error)
{
    *m = (struct plan_memory){.net = net,
                              .jobs = jobs,
                              .left = calloc(net->switches + 1U, sizeof *m->left),
                              .is_open = calloc((size_t)jobs->count * net->switches + 1U, sizeof *m->is_open)};
    if (m->left == NULL || m->is_open == NULL) {
        trib_explain(error, "out of memory");
        return TRIB_ERR_MEMORY;
    }
    for (uint32_t j = 0; j < jobs->count && plan_memory_is_limited(net); j++) {
        if (jobs->list[j].memory == 0) {
            trib_explain(
                error,
                "job %s: switches have a limit of memory, so the job needs memory = \"24MB\", or what it takes "
                "at a switch that adds for it",
                jobs->list[j].name);
            return TRIB_ERR_INVALID;
        }
    }
    plan_memory_begin(m);
    return TRIB_OK;
}

void plan_memory_free(struct plan_memory *m)
{
    free(m->left);
    free(m->is_open);
    *m = (struct plan_memory){.net = NULL};
}

static bool *open_at(const struct plan_memory *m, uint32_t job, uint32_t place)
{
    return &m->is_open[(size_t)job * m->net->switches + place - m->net->hosts];
}

bool plan_memory_has_room(const struct plan_memory *m, uint32_t job, uint32_t place)
{
    return *open_at(m, job, place) || m->left[place - m->net->hosts] >= m->jobs->list[job].memory;
}

bool plan_memory_has(const struct plan_memory *m, uint32_t job, uint32_t place)
{
    return *open_at(m, job, place);
}

bool plan_memory_is_open(const struct plan_memory *m, const struct plan_tree *tree)
{
    bool is_open = *open_at(m, tree->job, tree->root);
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        is_open = is_open && (!tree->hops[i].adds || *open_at(m, tree->job, tree->hops[i].from));
    }
    return is_open;
}

static void open_place(struct plan_memory *m, uint32_t job, uint32_t place)
{
    uint64_t *left = &m->left[place - m->net->hosts];
    if (!*open_at(m, job, place) && *left != PLAN_MEMORY_ALL) {
        *left -= m->jobs->list[job].memory;
    }
    *open_at(m, job, place) = true;
}

uint32_t plan_memory_take(struct plan_memory *m, const struct plan_tree *tree)
{
    if (!plan_memory_has_room(m, tree->job, tree->root)) {
        return tree->root;
    }
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        if (tree->hops[i].adds && !plan_memory_has_room(m, tree->job, tree->hops[i].from)) {
            return tree->hops[i].from;
        }
    }
    open_place(m, tree->job, tree->root);
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        if (tree->hops[i].adds) {
            open_place(m, tree->job, tree->hops[i].from);
        }
    }
    return TRIB_NO_PLACE;
}
