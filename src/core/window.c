/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: the table of a round where roots have weights, laid out once. Read next: window.h. */
#include "core/window.h"

#include <string.h>

#include "core/assert.h"
#include "core/node.h"

_Static_assert(TRIB_WINDOW_ROOTS_MAX == TRIB_ROOTS_MAX, "a weight for each root");

static uint32_t weight_of(const struct trib_session_config *session, uint32_t root)
{
    return session->weight[root] == 0 ? 1 : session->weight[root];
}

static uint32_t common_factor(const struct trib_session_config *session)
{
    uint32_t factor = weight_of(session, 0);

    TRIB_ASSERT(session->roots >= 1 && session->roots <= TRIB_ROOTS_MAX);

    for (uint32_t root = 1; root < session->roots; root++) {
        for (uint32_t rest = weight_of(session, root); rest != 0;) {
            uint32_t next = factor % rest;
            factor = rest;
            rest = next;
        }
    }
    return factor;
}

/* Trains in a round; 0: weights are equal. */
static uint32_t turns_of(const struct trib_session_config *session)
{
    uint32_t factor = common_factor(session);
    uint32_t turns = 0;

    for (uint32_t root = 0; root < session->roots; root++) {
        turns += weight_of(session, root) / factor;
    }
    return turns == session->roots ? 0 : turns;
}

size_t trib_window_table_size(const struct trib_session_config *session)
{
    return turns_of(session) * sizeof(struct trib_turn);
}

void trib_window_init(struct trib_window *w, const struct trib_session_config *session, void *table)
{
    uint32_t factor = common_factor(session);
    struct trib_turn *turns = table;

    TRIB_ASSERT(session->train >= 1 && session->slots >= 1); /* both are divisors */
    memset(w, 0, sizeof *w);
    w->roots = session->roots;
    w->train = session->train;
    w->slots = session->slots;
    w->turns = turns_of(session);
    if (w->turns == 0) {
        return;
    }
    TRIB_ASSERT(w->turns <= TRIB_WINDOW_TURNS_MAX);
    TRIB_ASSERT(table != NULL && (char *)table > (char *)w && (char *)table - (char *)w <= UINT32_MAX);
    w->table_at = (uint32_t)((char *)table - (char *)w);
    for (uint32_t root = 0; root < w->roots; root++) {
        w->weight[root] = (uint8_t)(weight_of(session, root) / factor);
    }
    for (uint32_t root = 0; root < w->roots; root++) {
        for (uint32_t k = 0; k < w->weight[root]; k++) {
            uint32_t turn = 0;
            for (uint32_t other = 0; other < w->roots; other++) {
                turn += trib_window_before(w, other, root, k);
            }
            TRIB_ASSERT(turn < w->turns);
            turns[turn] = (struct trib_turn){.root = (uint8_t)root, .before = (uint8_t)k};
        }
    }
}

/* The lightest root has its P furthest apart: P / weight rounds. Two rounds more are for where in a train and in a
 * round they begin. */
uint64_t trib_window_span(const struct trib_session_config *session)
{
    uint32_t factor = common_factor(session);
    uint64_t turns = turns_of(session) == 0 ? session->roots : turns_of(session);
    uint64_t least = UINT8_MAX;

    for (uint32_t root = 0; root < session->roots; root++) {
        uint32_t weight = weight_of(session, root) / factor;
        least = weight < least ? weight : least;
    }
    TRIB_ASSERT(least > 0); /* a factor is not larger than its multiple */
    return ((session->slots + least - 1) / least + 2 * (uint64_t)session->train) * turns;
}
