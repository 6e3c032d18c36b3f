/* SPDX-License-Identifier: Apache-2.0 */
/* mux.h: the channels of one connection, at either end: found by number, and served in turn, so that an unread channel
 * delays no other channel. Read next: channels.c (the upper end), passes.c (the lower). */
#ifndef TRIB_CONTROL_MUX_H
#define TRIB_CONTROL_MUX_H

#include "control/words/words.h"

/* Part of an owner, which must not move while the channel is in a mux. */
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
    struct trib_mux_channel **at;   /* by ascending numbers; the mux's owner frees the array in the end */
    struct trib_mux_channel *first; /* of the channels that wait for a turn */
    struct trib_mux_channel **last; /* where the next one goes, if there is a first */
};

/* Adds a channel, with a higher number than all other channels. False: out of memory. */
TRIB_MUST_USE bool trib_mux_add(struct trib_mux *mux, struct trib_mux_channel *channel);
/* The channel with the number, if the other side does not know its end yet. NULL: none. */
struct trib_mux_channel *trib_mux_find(const struct trib_mux *mux, uint32_t number);
/* Removes a channel, which must be in the mux. */
void trib_mux_remove(struct trib_mux *mux, struct trib_mux_channel *channel);
/* Queues the channel for a turn, behind the other channels, unless already queued. */
void trib_mux_queue(struct trib_mux *mux, struct trib_mux_channel *channel);
/* Removes and returns the first queued channel. NULL: none. */
struct trib_mux_channel *trib_mux_take(struct trib_mux *mux);
/* Returns END of a channel. */
struct trib_message trib_mux_end(uint32_t number, bool is_lost);

#endif
