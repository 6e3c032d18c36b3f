/* SPDX-License-Identifier: Apache-2.0 */
/* congestion.c: the window that follows the network; see congestion.h. What differs between AIMD and DCTCP is one line: by how much a mark
 * cuts. Losses cut by half in both (RFC 8257, section 3.5). Read next: flow.c. */
#include "core/congestion.h"

#include <stddef.h>

#define GAIN_SHIFT 4 /* DCTCP's g = 1/16 (SIGCOMM'10, section 3.4; RFC 8257, section 4.2) */

const char *trib_congestion_name(uint32_t policy)
{
    static const char *const names[] = {"fixed", "aimd", "dctcp"};

    return policy < sizeof names / sizeof names[0] ? names[policy] : NULL;
}

void trib_congestion_window_init(struct trib_congestion_window *c, enum trib_congestion_policy policy, uint32_t most)
{
    uint32_t first = policy == TRIB_CONGESTION_FIXED || most < TRIB_CONGESTION_FIRST ? most : TRIB_CONGESTION_FIRST;

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

/* Once in a window of data: how much of it was marked? */
static void end_round(struct trib_congestion_window *c, uint64_t next)
{
    uint32_t share = 0;

    if (c->acked != 0) {
        uint32_t marked = c->marked < c->acked ? c->marked : c->acked;
        share = (uint32_t)((uint64_t)marked * TRIB_CONGESTION_ONE / c->acked);
    }
    c->alpha = c->alpha - (c->alpha >> GAIN_SHIFT) + (share >> GAIN_SHIFT);
    c->acked = c->marked = 0;
    c->round_end = next;
}

bool trib_congestion_acked(struct trib_congestion_window *c, const struct trib_congestion_news *news)
{
    if (c->policy == TRIB_CONGESTION_FIXED) {
        return false;
    }
    c->acked += news->acked;
    c->marked += news->marked;
    if (news->lowest > c->round_end) {
        end_round(c, news->next);
    }
    if (news->marked != 0 && news->lowest > c->recover) { /* at it, the marks are still those of that window */
        uint32_t alpha = c->policy == TRIB_CONGESTION_DCTCP ? c->alpha : TRIB_CONGESTION_ONE;
        cut(c, c->window - (uint32_t)((uint64_t)c->window * alpha / (2 * TRIB_CONGESTION_ONE)), news->next);
        return true;
    }
    if (news->marked == 0 && news->is_full) {
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
}
