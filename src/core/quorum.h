/* SPDX-License-Identifier: Apache-2.0 */
/* quorum.h: sums that may lack ranks (PANAMA's partial aggregation; Gebara et al., MLSys'21, section 5): how many, and
 * the list of those that are in. Pure: no state, no time; when a slot is complete without all is slot.h's and
 * protocol/switch_quorum.c's business.
 *
 * The part of all ranks that may be left out, rounded down, is dealt by rank number: every so many ranks one brings its
 * switch a spare. A switch may leave out as many of its own ranks as the ranks brought, but not all of its children; of
 * the switches below it none. So no more than that part of all ranks is ever left out, and no switch has to ask
 * another. A sum that lacks ranks carries behind its payload the list of the ranks that are in it, 64 bytes: bit r % 8
 * of byte r / 8 is rank r. A rank that is not listed is not in the lane either, so a list that lies is a wrong lane
 * (core/lane.h). */
#ifndef TRIB_CORE_QUORUM_H
#define TRIB_CORE_QUORUM_H

#include <string.h>

#include "core/assert.h"
#include "core/node.h"

#define TRIB_QUORUM_LIST 64U                         /* bytes of the list behind a payload */
#define TRIB_QUORUM_RANKS_MAX (8 * TRIB_QUORUM_LIST) /* ranks that a list has room for */

/* True if sums of this communicator may lack ranks. */
static inline bool trib_session_has_quorum(const struct trib_session_config *session)
{
    return session->quorum_of != 0;
}

/* Bytes of a payload that are left for elements. */
static inline uint32_t trib_session_data(const struct trib_session_config *session)
{
    return session->payload - (trib_session_has_quorum(session) ? TRIB_QUORUM_LIST : 0);
}

/* Number of ranks that may be left out of the first `ranks` ranks. */
static inline uint32_t trib_quorum_spare(const struct trib_session_config *session, uint32_t ranks)
{
    return trib_session_has_quorum(session)
               ? ranks * (uint32_t)(session->quorum_of - session->quorum) / session->quorum_of
               : 0;
}

/* 1 if the rank brings its switch a spare, else 0. The sum over a switch's own ranks is trib_switch_config.spare. */
static inline uint32_t trib_quorum_brings(const struct trib_session_config *session, uint32_t rank)
{
    return trib_quorum_spare(session, rank + 1) - trib_quorum_spare(session, rank);
}

static inline void trib_quorum_add(uint8_t *list, uint32_t rank)
{
    TRIB_ASSERT(rank < TRIB_QUORUM_RANKS_MAX);
    list[rank / 8] |= (uint8_t)(1U << rank % 8);
}

static inline bool trib_quorum_has(const uint8_t *list, uint32_t rank)
{
    return list[rank / 8] >> rank % 8 & 1;
}

static inline void trib_quorum_join(uint8_t *list, const uint8_t *other)
{
    for (uint32_t i = 0; i < TRIB_QUORUM_LIST; i++) {
        list[i] |= other[i];
    }
}

static inline bool trib_quorum_overlap(const uint8_t *list, const uint8_t *other)
{
    uint32_t both = 0;

    for (uint32_t i = 0; i < TRIB_QUORUM_LIST; i++) {
        both |= list[i] & other[i];
    }
    return both != 0;
}

/* Number of listed ranks. */
static inline uint32_t trib_quorum_count(const uint8_t *list)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < TRIB_QUORUM_LIST; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, list + i, sizeof word);
        count += trib_count_bits(word);
    }
    return count;
}

/* True if the list has exactly `count` ranks, all of them below `ranks`. */
static inline bool trib_quorum_lists(const uint8_t *list, uint32_t count, uint32_t ranks)
{
    for (uint32_t i = ranks / 8; i < TRIB_QUORUM_LIST; i++) {
        uint32_t beyond = i == ranks / 8 ? 0xffU << ranks % 8 : 0xffU;
        if ((list[i] & beyond) != 0) {
            return false;
        }
    }
    return trib_quorum_count(list) == count;
}

/* List of a packet; NULL: the packet carries no list, or is too short. */
static inline const uint8_t *trib_quorum_list(const struct trib_packet *packet)
{
    bool has_one = (packet->flags & TRIB_FLAG_QUORUM) != 0 && packet->payload_len > TRIB_QUORUM_LIST;

    return has_one ? (const uint8_t *)packet->payload + packet->payload_len - TRIB_QUORUM_LIST : NULL;
}

/* Returns the list of a packet, or NULL. *bare: the packet without the list. */
static inline const uint8_t *trib_quorum_split(const struct trib_packet *packet, struct trib_packet *bare)
{
    const uint8_t *list = trib_quorum_list(packet);

    *bare = *packet;
    bare->payload_len = (uint16_t)(packet->payload_len - (list != NULL ? TRIB_QUORUM_LIST : 0));
    return list;
}

#endif
