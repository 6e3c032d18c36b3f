/* SPDX-License-Identifier: Apache-2.0 */
/* window.h: the one arithmetic of the sliding window (docs/ARCHITECTURE.md, "The window"): which root a sequence goes
 * to, its dense index there, its slot, and how far a mark lets a sender go. Worker and switch both use it, so they can
 * not disagree.
 *
 * Sequences are dealt over R roots in runs of `train`: 0..train-1 to root 0, the next run to root 1, and so on. Roots
 * with weights get trains by weight: of a round of W trains, the sum of the weights, w to a root of weight w, spread
 * evenly over the round. Train k of those w (k from 0) of root r stands at (2Rk + 2r + 1) / w; where two stand at one
 * place, the lower root comes first. So equal weights are the plain case, which needs no table. The dense index numbers
 * the sequences of one root without gaps; the slot is the dense index mod P. One root is the usual case and worth a
 * branch: divisions are the cost of a fragment here.
 * Read next: window.c (the table), slot.h. */
#ifndef TRIB_CORE_WINDOW_H
#define TRIB_CORE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "core/assert.h"
#include "core/packet.h"

#define TRIB_WINDOW_ROOTS_MAX 32
#define TRIB_WINDOW_TURNS_MAX (TRIB_WINDOW_ROOTS_MAX * 255) /* of a table */

/* A train of the round: its root, and the number of earlier trains of this root in the round. */
struct trib_turn {
    uint8_t root;
    uint8_t before;
};

/* With weights the window needs its table in the same memory. Copy both together. */
struct trib_window {
    uint32_t roots; /* R */
    uint32_t train;
    uint32_t slots;                        /* P, per root */
    uint32_t turns;                        /* W, trains in a round; 0: weights are equal, there is no table */
    uint32_t table_at;                     /* bytes from here to the table, a struct trib_turn for each turn */
    uint8_t weight[TRIB_WINDOW_ROOTS_MAX]; /* without common factor; of equal weights: 0 */
};

struct trib_session_config; /* node.h */

/* Bytes of the table that init writes; 0: the session's weights are equal. */
size_t trib_window_table_size(const struct trib_session_config *session);
/* table: memory that moves along with the window, as both are in one node; NULL where the size is 0. */
void trib_window_init(struct trib_window *w, const struct trib_session_config *session, void *table);
/* Fewer sequences than this lie between the first and the last of P consecutive sequences of one root. */
uint64_t trib_window_span(const struct trib_session_config *session);

/* Turn of the train with this number. */
static inline const struct trib_turn *trib_window_turn(const struct trib_window *w, uint64_t train)
{
    return (const struct trib_turn *)(const void *)((const char *)w + w->table_at) + train % w->turns;
}

/* Number of trains that root has in a round before train k of `other`. */
static inline uint32_t trib_window_before(const struct trib_window *w, uint32_t root, uint32_t other, uint32_t k)
{
    uint32_t place = (2 * w->roots * k + 2 * other + 1) * w->weight[root];
    uint32_t last = (place - (root < other ? 0 : 1)) / w->weight[other]; /* (2Rj + 2r + 1) of those is at most this */
    return last <= 2 * root ? 0 : (last - 2 * root - 1) / (2 * w->roots) + 1;
}

static inline uint32_t trib_window_root(const struct trib_window *w, uint64_t sequence)
{
    if (w->roots <= 1) {
        return 0;
    }
    uint64_t train = sequence / w->train;
    return w->turns == 0 ? (uint32_t)(train % w->roots) : trib_window_turn(w, train)->root;
}

static inline uint64_t trib_window_dense(const struct trib_window *w, uint64_t sequence)
{
    if (w->roots <= 1) {
        return sequence;
    }
    if (w->turns == 0) {
        return sequence / ((uint64_t)w->train * w->roots) * w->train + sequence % w->train;
    }
    uint64_t train = sequence / w->train;
    const struct trib_turn *turn = trib_window_turn(w, train);
    return (train / w->turns * w->weight[turn->root] + turn->before) * w->train + sequence % w->train;
}

/* The inverse: the sequence with this dense index at this root. */
static inline uint64_t trib_window_sequence(const struct trib_window *w, uint32_t root, uint64_t dense)
{
    TRIB_ASSERT(root < w->roots);
    uint64_t train = dense / w->train;
    if (w->turns == 0) {
        return (train * w->roots + root) * w->train + dense % w->train;
    }
    uint64_t turn = train / w->weight[root] * w->turns;
    uint32_t k = (uint32_t)(train % w->weight[root]);
    for (uint32_t other = 0; other < w->roots; other++) {
        turn += trib_window_before(w, other, root, k);
    }
    return turn * w->train + dense % w->train;
}

/* The next sequence of the same root. */
static inline uint64_t trib_window_next(const struct trib_window *w, uint64_t sequence)
{
    if (w->roots <= 1 || (sequence + 1) % w->train != 0) {
        return sequence + 1;
    }
    return trib_window_sequence(w, trib_window_root(w, sequence), trib_window_dense(w, sequence) + 1);
}

/* Number of root's sequences below mark. This is the dense index of root's first sequence at or above mark. */
static inline uint64_t trib_window_dense_below(const struct trib_window *w, uint32_t root, uint64_t mark)
{
    if (w->roots <= 1) {
        return mark;
    }
    TRIB_ASSERT(root < w->roots);
    if (w->turns != 0) {
        uint64_t train = mark / w->train;
        const struct trib_turn *turn = trib_window_turn(w, train);
        uint64_t whole = train / w->turns * w->weight[root] + trib_window_before(w, root, turn->root, turn->before);
        return whole * w->train + (turn->root == root ? mark % w->train : 0);
    }
    uint64_t round = (uint64_t)w->train * w->roots;
    uint64_t rest = mark % round;
    uint64_t before = (uint64_t)root * w->train;
    uint64_t part = rest <= before ? 0 : rest - before < w->train ? rest - before : w->train;
    return mark / round * w->train + part;
}

static inline uint32_t trib_window_slot(const struct trib_window *w, uint64_t sequence)
{
    return (uint32_t)(trib_window_dense(w, sequence) % w->slots);
}

/* True if a rank that knows the communicator mark may send this sequence: s < M + P, counted per root. */
static inline int trib_window_admits(const struct trib_window *w, uint64_t mark, uint64_t sequence)
{
    return trib_window_dense(w, sequence) < trib_window_dense_below(w, trib_window_root(w, sequence), mark) + w->slots;
}

/* Fragments beyond the mark that a rank with this cap may have sent: twice the cap, because marks are a round trip
 * old. */
static inline uint32_t trib_window_reach(const struct trib_window *w, uint32_t cap)
{
    return 2 * cap < w->slots ? 2 * cap : w->slots;
}

/* Effective cap: at most half of the slots, which is the default (cap 0). */
static inline uint32_t trib_window_cap(const struct trib_window *w, uint32_t cap)
{
    uint32_t half = w->slots > 1 ? w->slots / 2 : 1;
    uint32_t most = half < UINT16_MAX ? half : UINT16_MAX;
    return cap != 0 && cap < most ? cap : most;
}

/* End of streams. Behind this sequence every root has a sequence that is never sent, so that a PROBE for M can name
 * it. */
static inline uint64_t trib_window_end(const struct trib_window *w)
{
    return TRIB_SEQUENCE_MAX + 1 - (uint64_t)w->train * (w->turns == 0 ? w->roots : w->turns);
}

#endif
