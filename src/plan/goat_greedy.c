/* SPDX-License-Identifier: Apache-2.0 */
/* goat_greedy.c: opens gradients at switches by their saving, and closes those that save nothing. See goat.h.
 *
 * The saving of one more open switch never grows while others open: each worker sends to the nearest. So a saving that
 * was computed earlier is an upper bound, and the heap computes again only the saving at its top. */
#include <stdlib.h>

#include "plan/goat.h"

#define ROUNDS 8U /* of closing and opening; two or three change something */

struct offer {
    int64_t saving; /* hops per byte */
    uint32_t gradient, node;
};

struct fill {
    const struct trib_goat *problem;
    struct trib_goat_plan *plan;
    uint64_t *held;      /* bytes, by switch */
    uint32_t *hops;      /* by gradient and then by worker: to the nearest open switch, or the server */
    uint32_t *node;      /* by worker, of one gradient */
    struct offer *offer; /* a heap, the largest saving first */
    size_t count;
};

static enum trib_status fill_create(struct fill *fill, const struct trib_goat *p, struct trib_goat_plan *plan)
{
    *fill = (struct fill){.problem = p,
                          .plan = plan,
                          .held = calloc(p->switches + 1U, sizeof *fill->held),
                          .hops = calloc((size_t)p->gradients * p->workers + 1, sizeof *fill->hops),
                          .node = calloc(p->workers + 1U, sizeof *fill->node),
                          .offer = calloc((size_t)p->gradients * p->switches + 1, sizeof *fill->offer)};
    return fill->held && fill->hops && fill->node && fill->offer ? TRIB_OK : TRIB_ERR_MEMORY;
}

static void fill_destroy(struct fill *fill)
{
    free(fill->held);
    free(fill->hops);
    free(fill->node);
    free(fill->offer);
}

static bool *is_open(const struct fill *fill, uint32_t gradient, uint32_t node)
{
    return &fill->plan->is_open[(size_t)gradient * fill->problem->switches + node];
}

/* ---- heap ---- */

/* Of equal savings the first gradient, and of one gradient the first switch: so plans do not depend on the heap. */
static bool is_better(const struct offer *a, const struct offer *b)
{
    return a->saving != b->saving       ? a->saving > b->saving
           : a->gradient != b->gradient ? a->gradient < b->gradient
                                        : a->node < b->node;
}

static void swap(struct offer *a, struct offer *b)
{
    struct offer kept = *a;
    *a = *b;
    *b = kept;
}

static void push(struct fill *fill, struct offer offer)
{
    size_t at = fill->count++;

    fill->offer[at] = offer;
    for (; at > 0 && is_better(&fill->offer[at], &fill->offer[(at - 1) / 2]); at = (at - 1) / 2) {
        swap(&fill->offer[at], &fill->offer[(at - 1) / 2]);
    }
}

static struct offer pop(struct fill *fill)
{
    struct offer top = fill->offer[0];
    size_t at = 0;

    fill->offer[0] = fill->offer[--fill->count];
    for (size_t child = 1; child < fill->count; child = 2 * at + 1) {
        child += child + 1 < fill->count && is_better(&fill->offer[child + 1], &fill->offer[child]);
        if (!is_better(&fill->offer[child], &fill->offer[at])) {
            break;
        }
        swap(&fill->offer[child], &fill->offer[at]);
        at = child;
    }
    return top;
}

/* ---- opening ---- */

static int64_t saving(const struct fill *fill, uint32_t gradient, uint32_t node)
{
    const struct trib_goat *p = fill->problem;
    const uint32_t *hops = &fill->hops[(size_t)gradient * p->workers];
    int64_t sum = -(int64_t)p->from_switch[node];

    for (uint32_t w = 0; w < p->workers; w++) {
        uint32_t to = p->to_switch[(size_t)w * p->switches + node];
        sum += to < hops[w] ? (int64_t)(hops[w] - to) * p->weight[w] : 0;
    }
    return sum;
}

static bool has_room(const struct fill *fill, uint32_t gradient, uint32_t node)
{
    const struct trib_goat *p = fill->problem;
    return fill->held[node] <= p->memory[node] && p->bytes[gradient] <= p->memory[node] - fill->held[node];
}

static void open_one(struct fill *fill, uint32_t gradient, uint32_t node)
{
    const struct trib_goat *p = fill->problem;
    uint32_t *hops = &fill->hops[(size_t)gradient * p->workers];

    *is_open(fill, gradient, node) = true;
    fill->held[node] += p->bytes[gradient];
    for (uint32_t w = 0; w < p->workers; w++) {
        uint32_t to = p->to_switch[(size_t)w * p->switches + node];
        hops[w] = to < hops[w] ? to : hops[w];
    }
}

/* The plan as it is: memory held, and the hops of all parts. */
static void look(struct fill *fill)
{
    const struct trib_goat *p = fill->problem;

    for (uint32_t s = 0; s < p->switches; s++) {
        fill->held[s] = 0;
    }
    for (uint32_t g = 0; g < p->gradients; g++) {
        for (uint32_t w = 0; w < p->workers; w++) {
            fill->hops[(size_t)g * p->workers + w] = p->to_server[w];
        }
        for (uint32_t s = 0; s < p->switches; s++) {
            if (*is_open(fill, g, s)) {
                open_one(fill, g, s);
            }
        }
    }
}

/* Returns whether something was opened. */
static bool open_all(struct fill *fill)
{
    const struct trib_goat *p = fill->problem;
    bool is_changed = false;

    look(fill);
    fill->count = 0;
    for (uint32_t g = 0; g < p->gradients; g++) {
        for (uint32_t s = 0; s < p->switches; s++) {
            struct offer offer = {saving(fill, g, s), g, s};
            if (!*is_open(fill, g, s) && offer.saving > 0) {
                push(fill, offer);
            }
        }
    }
    while (fill->count > 0) {
        struct offer offer = pop(fill);
        if (!has_room(fill, offer.gradient, offer.node)) {
            continue;
        }
        offer.saving = saving(fill, offer.gradient, offer.node);
        if (offer.saving > 0 && fill->count > 0 && offer.saving < fill->offer[0].saving) {
            push(fill, offer);
        } else if (offer.saving > 0) {
            open_one(fill, offer.gradient, offer.node);
            is_changed = true;
        }
    }
    return is_changed;
}

/* ---- closing ---- */

/* Hops per byte that the cost grows by if the switch no longer buffers the gradient. */
static int64_t loss(const struct fill *fill, uint32_t gradient, uint32_t node)
{
    const struct trib_goat *p = fill->problem;
    bool *open = &fill->plan->is_open[(size_t)gradient * p->switches];
    int64_t with = (int64_t)trib_goat_gradient_cost(p, open, fill->node);

    open[node] = false;
    int64_t without = (int64_t)trib_goat_gradient_cost(p, open, fill->node);
    open[node] = true;
    return without - with;
}

/* Closes a switch for a gradient if that costs nothing, or saves: its memory is then free for others. */
static bool close_all(struct fill *fill)
{
    const struct trib_goat *p = fill->problem;
    bool is_changed = false;

    for (uint32_t g = 0; g < p->gradients; g++) {
        for (uint32_t s = 0; s < p->switches; s++) {
            if (*is_open(fill, g, s) && loss(fill, g, s) <= 0) {
                *is_open(fill, g, s) = false;
                is_changed = true;
            }
        }
    }
    return is_changed;
}

enum trib_status trib_goat_fill(const struct trib_goat *p, struct trib_goat_plan *plan)
{
    struct fill fill;
    enum trib_status status = fill_create(&fill, p, plan);

    if (status == TRIB_OK) {
        (void)open_all(&fill);
        for (uint32_t round = 0; round < ROUNDS && close_all(&fill) && open_all(&fill); round++) {
        }
        trib_goat_send_to_nearest(p, plan);
        trib_goat_count(p, plan);
    }
    fill_destroy(&fill);
    return status;
}

/* ---- memory ---- */

enum trib_status trib_goat_repair(const struct trib_goat *p, struct trib_goat_plan *plan)
{
    struct fill fill;
    enum trib_status status = fill_create(&fill, p, plan);

    if (status == TRIB_OK) {
        look(&fill);
        for (uint32_t s = 0; s < p->switches; s++) {
            fill.count = 0;
            for (uint32_t g = 0; g < p->gradients && fill.held[s] > p->memory[s]; g++) {
                if (*is_open(&fill, g, s)) {
                    push(&fill, (struct offer){-loss(&fill, g, s), g, s});
                }
            }
            while (fill.held[s] > p->memory[s]) {
                struct offer least = pop(&fill);
                *is_open(&fill, least.gradient, s) = false;
                fill.held[s] -= p->bytes[least.gradient];
            }
        }
        trib_goat_send_to_nearest(p, plan);
        trib_goat_count(p, plan);
    }
    fill_destroy(&fill);
    return status;
}
