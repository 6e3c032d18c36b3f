/* SPDX-License-Identifier: Apache-2.0 */
/* mux.h: the channels that share one connection, at either end: found by number, and served in turn, so that a channel
 * that nobody reads holds up no other. Read next: channels.c (the upper end), passes.c (the lower). */
#ifndef TRIB_CONTROL_MUX_H
#define TRIB_CONTROL_MUX_H

#include "control/words/words.h"

/* Part of its owner, which stays in place while it is in a mux. */
struct trib_mux_channel {
    uint32_t number;
    bool is_queued;    /* bytes, or END, wait for a turn */
    bool end_is_known; /* by the other side */
    struct trib_mux_channel *next_queued;
};

/* All 0: no channels. */
struct trib_mux {
    uint32_t count;
    uint32_t size;
    struct trib_mux_channel **at;   /* by ascending numbers; the owner frees it in the end */
    struct trib_mux_channel *first; /* of those that wait for a turn */
    struct trib_mux_channel **last; /* where the next one goes, if there is a first */
};

/* Its number is higher than those of all others. False: out of memory. */
TRIB_MUST_USE bool trib_mux_add(struct trib_mux *mux, struct trib_mux_channel *channel);
/* The channel with this number, if the other side does not know its end. NULL: none. */
struct trib_mux_channel *trib_mux_find(const struct trib_mux *mux, uint32_t number);
/* Takes it out. It is in the mux. */
void trib_mux_remove(struct trib_mux *mux, struct trib_mux_channel *channel);
/* It gets a turn, behind the others, unless it waits for one already. */
void trib_mux_queue(struct trib_mux *mux, struct trib_mux_channel *channel);
/* The first that waits for a turn, and waits no more. NULL: none waits. */
struct trib_mux_channel *trib_mux_take(struct trib_mux *mux);
/* END of a channel. */
struct trib_message trib_mux_end(uint32_t number, bool is_lost);

#endif
