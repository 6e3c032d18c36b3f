/* SPDX-License-Identifier: Apache-2.0 */
/* window.h: the one arithmetic of the sliding window (docs/ARCHITECTURE.md, "The window"): which root a sequence goes to, its
 * dense index there, its slot, and how far a mark lets a sender go. Worker and switch both use it, so they can not disagree.
 *
 * Sequences are dealt over R roots in runs of `train`: 0..train-1 to root 0, the next run to root 1, and so on. The dense index
 * numbers the sequences of one root without gaps; the slot is the dense index mod P. One root is the usual case and worth a
 * branch: divisions are what a fragment costs here.
 * Read next: slot.h. */
#ifndef TRIB_CORE_WINDOW_H
#define TRIB_CORE_WINDOW_H

#include <stdint.h>

#include "core/packet.h"

struct trib_window {
    uint32_t roots; /* R */
    uint32_t train;
    uint32_t slots; /* P, per root */
};

static inline uint32_t trib_window_root(const struct trib_window *w, uint64_t sequence)
{
    return w->roots <= 1 ? 0 : (uint32_t)((sequence / w->train) % w->roots);
}

static inline uint64_t trib_window_dense(const struct trib_window *w, uint64_t sequence)
{
    return w->roots <= 1 ? sequence : sequence / ((uint64_t)w->train * w->roots) * w->train + sequence % w->train;
}

/* The inverse: the sequence with this dense index at this root. */
static inline uint64_t trib_window_sequence(const struct trib_window *w, uint32_t root, uint64_t dense)
{
    return (dense / w->train * w->roots + root) * w->train + dense % w->train;
}

/* How many sequences below mark belong to root, which is the dense index of the first that does not. */
static inline uint64_t trib_window_dense_below(const struct trib_window *w, uint32_t root, uint64_t mark)
{
    if (w->roots <= 1) {
        return mark;
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

/* May a rank that knows the communicator mark send this sequence? s < M + P, counted per root. */
static inline int trib_window_admits(const struct trib_window *w, uint64_t mark, uint64_t sequence)
{
    return trib_window_dense(w, sequence) < trib_window_dense_below(w, trib_window_root(w, sequence), mark) + w->slots;
}

/* Where streams end: behind it every root still has a sequence that is never sent, which a PROBE for M can name. */
static inline uint64_t trib_window_end(const struct trib_window *w)
{
    return TRIB_SEQUENCE_MAX + 1 - (uint64_t)w->roots * w->train;
}

#endif
