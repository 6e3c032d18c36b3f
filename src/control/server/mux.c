/* SPDX-License-Identifier: Apache-2.0 */
/* mux.c: see mux.h. */
#include "control/server/mux.h"

#include <stdlib.h>
#include <string.h>

#include "core/assert.h"

#define SIZE_FIRST 16U

/* Index of the first channel with this number or a higher number. */
static uint32_t place_of(const struct trib_mux *mux, uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = mux->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (mux->at[middle]->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool trib_mux_add(struct trib_mux *mux, struct trib_mux_channel *channel)
{
    TRIB_ASSERT(mux->count == 0 || mux->at[mux->count - 1]->number < channel->number);
    if (mux->count == mux->size) {
        uint32_t size = mux->size > 0 ? 2 * mux->size : SIZE_FIRST;
        struct trib_mux_channel **made = realloc(mux->at, size * sizeof(struct trib_mux_channel *));
        if (!made) {
            return false;
        }
        mux->at = made;
        mux->size = size;
    }
    mux->at[mux->count++] = channel;
    return true;
}

struct trib_mux_channel *trib_mux_find(const struct trib_mux *mux, uint32_t number)
{
    uint32_t place = place_of(mux, number);
    struct trib_mux_channel *channel = place < mux->count ? mux->at[place] : NULL;
    return channel && channel->number == number && !channel->end_is_known ? channel : NULL;
}

void trib_mux_remove(struct trib_mux *mux, struct trib_mux_channel *channel)
{
    uint32_t place = place_of(mux, channel->number);
    struct trib_mux_channel **at = &mux->first;
    TRIB_ASSERT(mux->at[place] == channel);
    while (channel->is_queued && *at != channel) {
        at = &(*at)->next_queued;
    }
    if (channel->is_queued) {
        *at = channel->next_queued;
        mux->last = channel->next_queued ? mux->last : at;
        channel->is_queued = false;
    }
    mux->count--;
    memmove(mux->at + place, mux->at + place + 1, (mux->count - place) * sizeof(struct trib_mux_channel *));
}

void trib_mux_queue(struct trib_mux *mux, struct trib_mux_channel *channel)
{
    if (!channel->is_queued) {
        channel->is_queued = true;
        channel->next_queued = NULL;
        *(mux->first ? mux->last : &mux->first) = channel;
        mux->last = &channel->next_queued;
    }
}

struct trib_mux_channel *trib_mux_take(struct trib_mux *mux)
{
    struct trib_mux_channel *channel = mux->first;
    if (channel) {
        mux->first = channel->next_queued;
        channel->is_queued = false;
    }
    return channel;
}

struct trib_message trib_mux_end(uint32_t number, bool is_lost)
{
    return (struct trib_message){.kind = TRIB_MESSAGE_END, .end = {.number = number, .is_lost = is_lost}};
}
