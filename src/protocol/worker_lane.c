/* SPDX-License-Identifier: Apache-2.0 */
/* worker_lane.c: makes the lane of a part and checks that of a result. There are two rows; a worker has one of them for
 * life. Without a key lanes are those of core/lane.h; with a key those of core/tag.h, which prove values as well.
 * Read next: worker_send.c, worker_deliver.c (the callers). */
#include "core/lane.h"
#include "core/tag.h"
#include "protocol/worker_memory.h"

/* ---- without a key ---- */

static uint64_t make_plain(const struct worker *w, const struct worker_operation *o, const struct worker_form *form,
                           const struct trib_packet *packet)
{
    (void)o, (void)form;
    return w->key * trib_session_odd(&w->config.session, packet->sequence, 0, packet->digest);
}

/* The sum of the keys of listed ranks. Most ranks are listed. */
static uint64_t listed_keys(const struct worker *w, const uint8_t *list)
{
    uint64_t keys = w->keys;

    for (uint32_t rank = 0; rank < w->config.session.ranks; rank++) {
        keys -= trib_quorum_has(list, rank) ? 0 : trib_lane_key(w->config.session.salt, rank);
    }
    return keys;
}

static bool holds_plain(const struct worker *w, const struct worker_operation *o, const struct worker_form *form,
                        const struct trib_packet *packet)
{
    const uint8_t *list = trib_quorum_list(packet);
    uint64_t keys = list != NULL ? listed_keys(w, list) : w->keys;

    (void)o, (void)form;
    return packet->lane ==
           keys * trib_session_odd(&w->config.session, packet->sequence, packet->attempt, packet->digest);
}

static const struct worker_lanes plain = {.make = make_plain, .holds = holds_plain};

/* ---- with a key ---- */

/* True if payloads add up exactly: integers that cannot wrap, or the bytes of one rank. */
static bool is_exact(const struct worker_operation *o, const struct worker_form *form)
{
    return form->wire == TRIB_BYTES || (form->wire == TRIB_INT32 && o->layout.lookahead != 0);
}

static bool has_exponent(const struct worker_operation *o, const struct worker_form *form)
{
    return o->layout.lookahead != 0 && form->piece.elements != 0;
}

static struct trib_tag_id id_of(const struct trib_packet *packet)
{
    return (struct trib_tag_id){.sequence = packet->sequence, .digest = packet->digest, .attempt = packet->attempt};
}

static uint64_t make_tagged(const struct worker *w, const struct worker_operation *o, const struct worker_form *form,
                            const struct trib_packet *packet)
{
    const struct trib_tag *tag = w->config.tag;
    struct trib_tag_memory *memory = &worker_aside(w)->masks;
    struct trib_tag_id id = id_of(packet);
    uint64_t lane = form->may_lack ? trib_tag_lone_mask(tag, memory, &id, w->config.rank)
                                   : trib_tag_mask(tag, memory, &id, w->config.rank);

    if (packet->payload_len != 0 && is_exact(o, form)) {
        lane = trib_tag_add(lane, trib_tag_hash(tag, packet->payload, form->len));
    }
    if (has_exponent(o, form)) {
        uint64_t sequence = o->first + form->block;
        lane = trib_tag_add(lane, trib_tag_exponent(tag, *worker_exponent(w, sequence)));
        lane = trib_tag_add(lane, *worker_has_exponent(w, sequence) ? tag->own : 0);
    }
    return lane;
}

/* A header without the payload that other ranks get brings no value, and cannot be checked. All ranks add an exponent,
 * also the owner of a reduce-scatter's block, which sends no payload. */
static bool holds_tagged(const struct worker *w, const struct worker_operation *o, const struct worker_form *form,
                         const struct trib_packet *packet)
{
    const struct trib_tag *tag = w->config.tag;
    struct trib_tag_memory *memory = &worker_aside(w)->masks;
    struct trib_tag_id id = id_of(packet);

    if (packet->payload_len == 0 && form->parts != 0) {
        return true;
    }
    uint64_t masks = form->may_lack ? trib_tag_lone_masks(tag, memory, &id, trib_quorum_list(packet))
                                    : trib_tag_mask_of_all(tag, memory, &id);
    uint64_t rest = trib_tag_less(trib_tag_reduce(packet->lane), masks);
    if (packet->payload_len != 0 && is_exact(o, form)) {
        rest = trib_tag_less(rest, trib_tag_hash(tag, packet->payload, form->len));
    }
    if (!has_exponent(o, form)) {
        return rest == 0;
    }
    uint64_t one = trib_tag_exponent(tag, *worker_exponent(w, o->first + form->block));
    return trib_tag_is_own(tag, trib_tag_less(rest, trib_tag_times(w->config.session.ranks, one)));
}

static const struct worker_lanes tagged = {.make = make_tagged, .holds = holds_tagged};

/* ---- choice ---- */

const struct worker_lanes *trib__worker_lanes(const struct trib_worker_config *config)
{
    return config->tag != NULL ? &tagged : &plain;
}
