/* SPDX-License-Identifier: Apache-2.0 */
/* congestion.c: the window that follows the network; see congestion.h. AIMD and DCTCP differ in one line:
 * by how much a mark cuts. Losses cut by half in both (RFC 8257, section 3.5). PANAMA's counts results instead of
 * sequences. Read next: flow.c. */
#include "core/congestion.h"

#include <stddef.h>

#include "core/assert.h"

#define GAIN_SHIFT 4 /* DCTCP's g = 1/16 (SIGCOMM'10, section 3.4; RFC 8257, section 4.2) */

const char *trib_congestion_name(uint32_t policy)
{
    static const char *const names[] = {"fixed", "aimd", "dctcp"};

    return policy < sizeof names / sizeof names[0] ? names[policy] : NULL;
}

void trib_congestion_window_init(struct trib_congestion_window *c, enum trib_congestion_policy policy, uint32_t most)
{
    uint32_t first = policy == TRIB_CONGESTION_FIXED || most < TRIB_CONGESTION_FIRST ? most : TRIB_CONGESTION_FIRST;

    TRIB_ASSERT(most >= 1 && most <= UINT32_MAX / TRIB_CONGESTION_ONE); /* the window is in parts of a fragment */
    TRIB_ASSERT(trib_congestion_name(policy) != NULL);
    *c = (struct trib_congestion_window){
        .window = first * TRIB_CONGESTION_ONE,
        .threshold = most * TRIB_CONGESTION_ONE,
        .most = most,
        .alpha = TRIB_CONGESTION_ONE, /* RFC 8257, section 3.4: careful until it knows better */
        .policy = policy,
    };
}

void trib_congestion_limit(struct trib_congestion_window *c, uint32_t most)
{
    bool is_over = c->window > most * TRIB_CONGESTION_ONE;

    TRIB_ASSERT(most >= 1 && most <= UINT32_MAX / TRIB_CONGESTION_ONE); /* a window of 0 would never open again */
    c->most = most;
    if (is_over || c->policy == TRIB_CONGESTION_FIXED) {
        c->window = most * TRIB_CONGESTION_ONE;
    }
}

static void cut(struct trib_congestion_window *c, uint32_t window, uint64_t next)
{
    c->window = window < TRIB_CONGESTION_ONE ? TRIB_CONGESTION_ONE : window;
    c->threshold = c->window < 2 * TRIB_CONGESTION_ONE ? 2 * TRIB_CONGESTION_ONE : c->window;
    c->recover = next;
    c->is_reduced = 1;
}

/* Less half of alpha's share, in whole fragments, rounded down, as in Linux. A share of a fragment would cost a whole
 * one, as fragments under way are whole, and would cost flows with small windows as much as those with large ones. */
static uint32_t trimmed(uint32_t window, uint32_t alpha)
{
    uint32_t fragments = window / TRIB_CONGESTION_ONE;
    uint32_t less = (uint32_t)((uint64_t)fragments * alpha / (2 * TRIB_CONGESTION_ONE));

    TRIB_ASSERT(less <= fragments); /* alpha is at most 1: half of the window */
    return (fragments - less) * TRIB_CONGESTION_ONE;
}

static void grow(struct trib_congestion_window *c, uint32_t acked)
{
    uint64_t window = c->window;

    if (c->window < c->threshold) {
        window += (uint64_t)acked * TRIB_CONGESTION_ONE;
    } else {
        window += (uint64_t)acked * TRIB_CONGESTION_ONE * TRIB_CONGESTION_ONE / c->window;
    }
    uint64_t most = (uint64_t)c->most * TRIB_CONGESTION_ONE;
    c->window = (uint32_t)(window < most ? window : most);
}

/* The smoothed share of marked ones, after so many of which so many were. */
static uint32_t smoothed(uint32_t alpha, uint32_t marked, uint32_t all)
{
    uint32_t share = 0;

    TRIB_ASSERT(alpha <= TRIB_CONGESTION_ONE);
    if (all != 0) {
        share = (uint32_t)((uint64_t)(marked < all ? marked : all) * TRIB_CONGESTION_ONE / all);
    }
    return alpha - (alpha >> GAIN_SHIFT) + (share >> GAIN_SHIFT);
}

/* Once in a window of data: how much of it was marked? */
static void end_round(struct trib_congestion_window *c, uint64_t next)
{
    c->alpha = smoothed(c->alpha, c->marked, c->acked);
    c->acked = c->marked = 0;
    c->round_end = next;
}

bool trib_congestion_acked(struct trib_congestion_window *c, const struct trib_congestion_news *news)
{
    if (c->policy == TRIB_CONGESTION_FIXED) {
        return false;
    }
    TRIB_ASSERT(news->lowest <= news->next);
    c->acked += news->acked;
    c->marked += news->marked;
    if (news->lowest > c->round_end) {
        end_round(c, news->next);
    }
    if (news->marked != 0 && news->lowest > c->recover) { /* at it, the marks are still those of that window */
        uint32_t alpha = c->policy == TRIB_CONGESTION_DCTCP ? c->alpha : TRIB_CONGESTION_ONE;
        cut(c, trimmed(c->window, alpha), news->next);
        return true;
    }
    c->is_reduced = c->is_reduced != 0 && news->lowest <= c->recover;
    if (c->is_reduced == 0 && news->marked == 0 && news->is_full) {
        grow(c, news->acked);
    }
    return false;
}

bool trib_congestion_lost(struct trib_congestion_window *c, uint64_t sequence, uint64_t next)
{
    if (c->policy == TRIB_CONGESTION_FIXED || sequence < c->recover) {
        return false;
    }
    cut(c, c->window / 2, next);
    return true;
}

void trib_congestion_timed_out(struct trib_congestion_window *c, uint64_t next)
{
    if (c->policy == TRIB_CONGESTION_FIXED) {
        return;
    }
    uint32_t half = c->window / 2;
    cut(c, TRIB_CONGESTION_ONE, next);
    c->threshold = half > c->threshold ? half : c->threshold;
    c->is_reduced = 0; /* it starts slowly at once */
}

/* ---- PANAMA's ---- */

static uint32_t at_least(uint32_t window, uint32_t fragments)
{
    return window < fragments * TRIB_CONGESTION_ONE ? fragments * TRIB_CONGESTION_ONE : window;
}

static void begin_epoch(struct trib_congestion_tree *c)
{
    c->epoch = trib_congestion_tree_fragments(c);
    TRIB_ASSERT(c->epoch >= 1); /* it ends with a result */
    c->results = c->marked = 0;
}

static uint32_t first_window(uint32_t most)
{
    return (most < TRIB_TREE_FIRST ? most : TRIB_TREE_FIRST) * TRIB_CONGESTION_ONE;
}

void trib_congestion_tree_init(struct trib_congestion_tree *c, uint32_t most)
{
    TRIB_ASSERT(most >= 1 && most <= UINT32_MAX / TRIB_CONGESTION_ONE);
    *c = (struct trib_congestion_tree){
        .window = first_window(most),
        .threshold = TRIB_TREE_THRESHOLD * TRIB_CONGESTION_ONE,
        .alpha = TRIB_CONGESTION_ONE,
        .most = most,
    };
    begin_epoch(c);
}

/* Less half of alpha's share. */
static uint32_t reduced(uint32_t window, uint32_t alpha)
{
    return window - (uint32_t)((uint64_t)window * alpha / (2 * TRIB_CONGESTION_ONE));
}

static void fall(struct trib_congestion_tree *c, uint32_t window, uint32_t in_flight)
{
    c->window = at_least(window, 1);
    c->threshold = at_least(window, 2);
    c->recover = in_flight;
}

static void rise(struct trib_congestion_tree *c)
{
    uint64_t most = (uint64_t)c->most * TRIB_CONGESTION_ONE;
    uint64_t window = c->window;

    window += c->window < c->threshold ? TRIB_CONGESTION_ONE
                                       : (uint64_t)TRIB_CONGESTION_ONE * TRIB_CONGESTION_ONE / c->window;
    c->window = (uint32_t)(window < most ? window : most);
}

void trib_congestion_tree_result(struct trib_congestion_tree *c, const struct trib_congestion_sign *sign)
{
    uint32_t epoch = c->epoch < sign->allowed ? c->epoch : sign->allowed;

    c->results++;
    c->marked += sign->is_marked;
    c->recover -= c->recover != 0;
    if (sign->is_marked && c->recover == 0) {
        fall(c, reduced(c->window, sign->is_aimd ? TRIB_CONGESTION_ONE : c->alpha), sign->in_flight);
    } else if (!sign->is_marked && sign->is_full && c->recover == 0) {
        rise(c);
    }
    if (c->results >= epoch) {
        c->alpha = smoothed(c->alpha, c->marked, c->results);
        begin_epoch(c);
    }
}

void trib_congestion_tree_lost(struct trib_congestion_tree *c, uint32_t in_flight)
{
    if (c->recover == 0 && trib_congestion_tree_fragments(c) > TRIB_TREE_LOST_LEAST) {
        fall(c, at_least(c->window / 2, TRIB_TREE_LOST_LEAST), in_flight);
    }
}

void trib_congestion_tree_cap(struct trib_congestion_tree *c, uint32_t fragments)
{
    if (trib_congestion_tree_fragments(c) >= fragments) {
        c->window = fragments * TRIB_CONGESTION_ONE;
    }
    c->epoch = fragments < c->epoch ? fragments : c->epoch;
}

void trib_congestion_tree_rested(struct trib_congestion_tree *c)
{
    uint32_t first = first_window(c->most);

    c->window = c->window < first ? c->window : first;
    c->recover = 0;
    begin_epoch(c);
}
