/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_route.c: the ways of a fragment, and the parts in it at each hop: all follows from the owner, the
 * number of ranks and the size of groups. No packet, no number of a tensor. p and g are the owner's place and
 * group.
 * Read next: ring_worker_sum.c. */
#include "core/lane.h"
#include "schemes/ring/ring_memory.h"

static struct ring_circle circle_of(const struct trib_session_config *s, uint32_t rank, enum ring_way way)
{
    uint32_t group = rank / s->group;
    uint32_t place = rank % s->group;
    bool is_inside = way == RING_INSIDE;
    uint32_t stride = is_inside ? 1 : s->group;
    uint32_t first = is_inside ? rank - place : place;
    struct ring_circle c = {
        .ranks = is_inside ? s->group : s->ranks / s->group,
        .at = is_inside ? place : group,
    };

    c.previous = first + (c.at + c.ranks - 1) % c.ranks * stride;
    c.next = first + (c.at + 1) % c.ranks * stride;
    return c;
}

void trib__ring_circles(struct ring_worker *w)
{
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        w->circle[way] = circle_of(&w->config.session, w->config.rank, (enum ring_way)way);
    }
}

uint32_t trib__ring_peers(const struct trib_session_config *session, uint32_t rank, uint16_t peers[TRIB_PEERS_MAX])
{
    uint32_t count = 0;

    for (uint32_t way = 0; way < RING_WAYS && session->group != 0 && session->ranks % session->group == 0; way++) {
        struct ring_circle c = circle_of(session, rank, (enum ring_way)way);
        if (c.ranks > 1) {
            peers[count++] = (uint16_t)c.previous;
        }
        if (c.ranks > 2) {
            peers[count++] = (uint16_t)c.next;
        }
    }
    return count;
}

/* ---- the way of a fragment ---- */

static uint32_t place_of(const struct ring_worker *w, uint32_t rank)
{
    return rank % w->config.session.group;
}

static uint32_t group_of(const struct ring_worker *w, uint32_t rank)
{
    return rank / w->config.session.group;
}

/* True if the rank has the owner's place in its group. There a group's sum ends, and from there the result is spread in
 * it. */
static bool has_place(const struct ring_worker *w, uint32_t owner)
{
    return w->circle[RING_INSIDE].at == place_of(w, owner);
}

/* Distance of the rank behind the place on the ring. */
static uint32_t behind(const struct ring_worker *w, enum ring_way way, uint32_t at)
{
    const struct ring_circle *c = &w->circle[way];

    return (c->at + c->ranks - at) % c->ranks;
}

uint32_t trib__ring_needs(const struct ring_worker *w, uint32_t owner, bool is_carried)
{
    const uint32_t inside = 1U << RING_INSIDE;
    const uint32_t across = 1U << RING_ACROSS;

    if (is_carried) {
        return !has_place(w, owner) ? inside : behind(w, RING_ACROSS, group_of(w, owner)) != 0 ? across : 0;
    }
    if (!has_place(w, owner)) {
        return behind(w, RING_INSIDE, place_of(w, owner)) != 1 ? inside : 0;
    }
    bool is_first = behind(w, RING_ACROSS, group_of(w, owner)) == 1;
    return (ring_has(w, RING_INSIDE) ? inside : 0) | (ring_has(w, RING_ACROSS) && !is_first ? across : 0);
}

enum ring_way trib__ring_sum_way(const struct ring_worker *w, uint32_t owner)
{
    return has_place(w, owner) ? RING_ACROSS : RING_INSIDE;
}

/* To all but the last of a ring, which is the one before where it began. */
uint32_t trib__ring_spread_ways(const struct ring_worker *w, uint32_t owner)
{
    bool is_last_across = behind(w, RING_ACROSS, group_of(w, owner)) == w->circle[RING_ACROSS].ranks - 1;
    bool is_last_inside = behind(w, RING_INSIDE, place_of(w, owner)) == w->circle[RING_INSIDE].ranks - 1;

    return (is_last_inside ? 0 : 1U << RING_INSIDE) | (is_last_across || !has_place(w, owner) ? 0 : 1U << RING_ACROSS);
}

/* ---- lanes ---- */

/* Two tables of sums: of the keys of all ranks below one; and, place by place, of the keys of that place in all groups
 * below one. */
void trib__ring_keys(struct ring_worker *w)
{
    const struct trib_session_config *s = &w->config.session;
    uint32_t groups = s->ranks / s->group;
    uint64_t *keys = ring_at(w, w->keys_at);
    uint64_t *place_keys = ring_at(w, w->place_keys_at);

    w->key = trib_lane_key(s->salt, w->config.rank);
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        uint64_t key = trib_lane_key(s->salt, rank);
        uint64_t *below = &place_keys[rank % s->group * (groups + 1) + rank / s->group];
        keys[rank + 1] = keys[rank] + key;
        below[1] = below[0] + key;
    }
}

/* Of `count` in a row from `begun` on, of so many that stand in a ring; below[i] - below[0] is the sum of those before
 * i. */
static uint64_t keys_between(const uint64_t *below, uint32_t ranks, uint32_t begun, uint32_t count)
{
    uint32_t end = begun + count;

    return end <= ranks ? below[end] - below[begun] : below[ranks] - below[begun] + below[end - ranks] - below[0];
}

/* Ranks behind the place on the ring and before the own rank. */
static uint32_t between(const struct ring_worker *w, enum ring_way way, uint32_t at)
{
    const struct ring_circle *c = &w->circle[way];

    return (c->at + 2 * c->ranks - at - 1) % c->ranks;
}

/* Of the own group, from behind the owner's place to before the own. */
static uint32_t expects_inside(const struct ring_worker *w, uint32_t owner, uint64_t *keys)
{
    const struct ring_circle *c = &w->circle[RING_INSIDE];
    const uint64_t *below = (uint64_t *)ring_at(w, w->keys_at) + w->circle[RING_ACROSS].at * c->ranks;
    uint32_t count = between(w, RING_INSIDE, place_of(w, owner));

    *keys = keys_between(below, c->ranks, (place_of(w, owner) + 1) % c->ranks, count);
    return count;
}

/* Of whole groups, from behind the owner's to before this rank's. */
static uint32_t expects_groups(const struct ring_worker *w, uint32_t owner, uint64_t *keys)
{
    uint32_t size = w->config.session.group;
    uint32_t first = (group_of(w, owner) + 1) % w->circle[RING_ACROSS].ranks;
    uint32_t count = between(w, RING_ACROSS, group_of(w, owner)) * size;

    *keys = keys_between(ring_at(w, w->keys_at), w->config.session.ranks, first * size, count);
    return count;
}

/* Of the owner's place, in so many groups from its own on. */
static uint32_t expects_places(const struct ring_worker *w, uint32_t owner, uint32_t count, uint64_t *keys)
{
    uint32_t groups = w->circle[RING_ACROSS].ranks;
    const uint64_t *below = (uint64_t *)ring_at(w, w->place_keys_at) + place_of(w, owner) * (groups + 1);

    *keys = keys_between(below, groups, group_of(w, owner), count);
    return count;
}

static uint32_t expects_across(const struct ring_worker *w, enum trib_ring_leg leg, uint32_t owner, uint64_t *keys)
{
    uint32_t groups = behind(w, RING_ACROSS, group_of(w, owner));

    if (!has_place(w, owner) || leg == TRIB_RING_SUMMING) {
        return has_place(w, owner) ? expects_groups(w, owner, keys) : 0;
    }
    if (leg == TRIB_RING_CARRYING || groups == 0) { /* nothing comes back to the owner */
        return expects_places(w, owner, groups, keys);
    }
    *keys = ((uint64_t *)ring_at(w, w->keys_at))[w->config.session.ranks];
    return w->config.session.ranks;
}

uint32_t trib__ring_expects(const struct ring_worker *w, enum ring_way way, enum trib_ring_leg leg, uint32_t owner,
                            uint64_t *keys)
{
    uint64_t more = 0;

    *keys = 0;
    if (leg > TRIB_RING_CARRYING) {
        return 0;
    }
    if (way == RING_ACROSS) {
        return expects_across(w, leg, owner, keys);
    }
    if (leg == TRIB_RING_SUMMING) {
        return expects_inside(w, owner, keys);
    }
    if (has_place(w, owner)) {
        return 0;
    }
    if (leg == TRIB_RING_SPREADING) {
        *keys = ((uint64_t *)ring_at(w, w->keys_at))[w->config.session.ranks];
        return w->config.session.ranks;
    }
    uint32_t ranks = expects_places(w, owner, behind(w, RING_ACROSS, group_of(w, owner)) + 1, &more);
    ranks += expects_inside(w, owner, keys);
    *keys += more;
    return ranks;
}
