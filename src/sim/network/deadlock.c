/* SPDX-License-Identifier: Apache-2.0 */
/* deadlock.c: see deadlock.h. Read next: run.c. */
#include "sim/network/deadlock.h"

#include <stdlib.h>
#include <string.h>

/* State of the search. Arrays are by link; floors is by node. */
struct search {
    const struct sim_network *n;
    bool *is_stuck; /* not yet proven able to send */
    /* Bytes from this input link that wait at stuck ports. */
    uint64_t *blocked;
    /* Lower bound of each switch's used shared memory. */
    uint64_t *floors;
    /* A stuck port at which this link's packets wait. */
    uint32_t *waits_on;
    uint32_t count;
};

/* True if the port is stopped and must be: no later frame and no packet is under way. */
static bool is_candidate(const struct sim_network *n, uint32_t link)
{
    const struct sim_gate *gate = &n->gates->list[link];
    const struct sim_gate *teller = &n->gates->list[gate->opposite];
    bool is_told = teller->owes && teller->told && teller->told_ps < gate->since_ps;

    return gate->is_stopped && is_told && n->links[link].head == gate->waiting;
}

/* Returns the ingress state after all packets that can leave have left, headroom first. */
static struct sim_ingress rest_of(const struct search *s, uint32_t link)
{
    struct sim_ingress in = s->n->gates->ingress[link];
    uint64_t leaves = (uint64_t)in.held + in.over - s->blocked[link];
    uint32_t over = leaves < in.over ? (uint32_t)leaves : in.over;

    in.over -= over;
    in.held -= (uint32_t)leaves - over;
    return in;
}

static void count_blocked(struct search *s)
{
    const struct sim_network *n = s->n;

    memset(s->blocked, 0, n->link_count * sizeof *s->blocked);
    memset(s->floors, 0, n->nodes * sizeof *s->floors);
    for (uint32_t i = 0; i < n->link_count; i++) {
        for (uint32_t p = s->is_stuck[i] ? n->gates->list[i].waiting : SIM_NONE; p != SIM_NONE;
             p = n->packets[p].next) {
            uint32_t by = sim_gate_came_by(&n->packets[p]);
            if (by != SIM_NONE && s->is_stuck[by]) {
                s->blocked[by] += n->packets[p].size;
                s->waits_on[by] = i;
            }
        }
    }
    for (uint32_t i = 0; i < n->link_count; i++) {
        s->floors[n->links[i].to] += s->is_stuck[i] ? rest_of(s, i).held : 0;
    }
}

/* True if the link could resume after all other packets that can leave have left. */
static bool may_go(const struct search *s, uint32_t link)
{
    const struct sim_thresholds *t = &s->n->gates->thresholds;
    const struct sim_pool *pool = &s->n->gates->pools[s->n->links[link].to];
    struct sim_ingress rest = rest_of(s, link);
    uint64_t left = pool->size - s->floors[s->n->links[link].to];

    return rest.over == 0 && (rest.held == 0 || (rest.held + t->below) * t->by <= t->base + t->of * left);
}

static void narrow(struct search *s)
{
    uint32_t before;

    do {
        before = s->count;
        count_blocked(s);
        for (uint32_t i = 0; i < s->n->link_count; i++) {
            if (s->is_stuck[i] && may_go(s, i)) {
                s->is_stuck[i] = false;
                s->count--;
            }
        }
    } while (s->count != before && s->count != 0);
}

/* Each stuck link waits for another stuck link, so following them from any link ends in a circle. */
static void name_circle(const struct search *s, struct sim_deadlock *d)
{
    uint32_t at = 0;

    while (!s->is_stuck[at]) {
        at++;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        at = s->waits_on[at];
    }
    uint32_t first = at;
    do {
        uint64_t since_ps = s->n->gates->list[at].since_ps;
        d->since_ps = since_ps > d->since_ps ? since_ps : d->since_ps;
        if (d->count < SIM_DEADLOCK_LINKS) {
            d->links[d->count++] = at;
        }
        d->length++;
        at = s->waits_on[at];
    } while (at != first);
}

bool sim_deadlock_find(struct sim_deadlock *d, const struct sim_network *n)
{
    struct search s = {
        .n = n,
        .is_stuck = calloc(n->link_count, sizeof *s.is_stuck),
        .blocked = calloc(n->link_count, sizeof *s.blocked),
        .floors = calloc(n->nodes, sizeof *s.floors),
        .waits_on = calloc(n->link_count, sizeof *s.waits_on),
    };
    bool is_good = s.is_stuck != NULL && s.blocked != NULL && s.floors != NULL && s.waits_on != NULL;

    *d = (struct sim_deadlock){.count = 0};
    for (uint32_t i = 0; is_good && i < n->link_count; i++) {
        s.is_stuck[i] = is_candidate(n, i);
        s.count += s.is_stuck[i];
    }
    if (is_good && s.count != 0) {
        narrow(&s);
    }
    if (is_good && s.count != 0) {
        name_circle(&s, d);
        d->stopped = s.count;
    }
    free(s.is_stuck);
    free(s.blocked);
    free(s.floors);
    free(s.waits_on);
    return is_good;
}
