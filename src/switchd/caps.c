/* SPDX-License-Identifier: Apache-2.0 */
/* caps.c: see caps.h. */
#include "switchd/caps.h"

#include "core/share.h"
#include "io/clock.h"

#define LEAST_SHARE 4 /* this fraction of the room is divided, whatever other communicators were granted */
/* Time until ranks have heard of a smaller cap: then there is room for others. */
#define ROOM_NS TRIB_MILLISECOND_NS
/* Longest delay until a silent communicator is noticed. */
#define SILENCE_NS (100 * TRIB_MILLISECOND_NS)

static bool is_active(const struct trib_member *member, uint64_t now_ns)
{
    for (uint32_t i = 0; i < member->nodes; i++) {
        if (member->verbs->is_active(member->node[i].node, now_ns)) {
            return true;
        }
    }
    return false;
}

bool trib_caps_have_changed(const struct trib_members *members, uint64_t now_ns)
{
    for (uint32_t i = 0; i < members->count; i++) {
        const struct trib_member *member = members->list[i];
        if (member->is_touched && trib_member_has_caps(member) && !member->was_active && is_active(member, now_ns)) {
            return true;
        }
    }
    return false;
}

/* Bytes that arrive if each source of this member sends one fragment. */
static uint64_t bytes_of(const struct trib_member *member)
{
    return (uint64_t)member->sources * trib_packet_size(member->payload, member->auth != NULL);
}

/* Fragments to divide, as in share.h: there may be twice as many as the sum of all caps. A fragment counts half the
 * bytes of the largest member's. */
static uint32_t memory_of(const struct trib_members *members, uint32_t room)
{
    uint64_t granted = 0;
    uint64_t each = 1;
    for (uint32_t i = 0; i < members->count; i++) {
        const struct trib_member *member = members->list[i];
        uint64_t bytes = bytes_of(member);
        granted += trib_member_has_caps(member) ? 0 : bytes * (member->slots / 2);
        each = trib_member_has_caps(member) && bytes > each ? bytes : each;
    }
    uint64_t left = granted < room ? room - granted : 0;
    left = left > room / LEAST_SHARE ? left : room / LEAST_SHARE;
    uint64_t memory = 2 * left / each;
    return memory < UINT32_MAX ? (uint32_t)memory : UINT32_MAX;
}

static struct trib_share share_of(struct trib_member *member, uint64_t now_ns)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < member->nodes; i++) {
        uint32_t node_room = member->verbs->room(member->node[i].node);
        room = node_room > room ? node_room : room;
    }
    member->was_active = is_active(member, now_ns);
    return (struct trib_share){
        .first = member->first_cap,
        .most = member->slots / 2 > member->first_cap ? member->slots / 2 : member->first_cap,
        .room = room,
        .cap = member->cap,
        .is_active = member->was_active,
    };
}

static void set_cap(struct trib_member *member, uint32_t cap, uint64_t now_ns)
{
    if (cap == member->cap) {
        return;
    }
    member->cap = cap;
    for (uint32_t i = 0; i < member->nodes; i++) {
        struct trib_member_node *node = &member->node[i];
        member->verbs->set_cap(node->node, cap, now_ns);
        node->has_more = true;
    }
    member->is_touched = true;
}

uint64_t trib_caps_divide(struct trib_members *members, uint32_t room, uint64_t now_ns)
{
    struct trib_share *shares = members->shares;
    uint64_t again_ns = TRIB_NEVER;
    uint32_t count = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        if (trib_member_has_caps(members->list[i])) {
            shares[count++] = share_of(members->list[i], now_ns);
        }
    }
    trib_share_divide(memory_of(members, room), shares, count);
    count = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        if (!trib_member_has_caps(members->list[i])) {
            continue;
        }
        const struct trib_share *share = &shares[count++];
        set_cap(members->list[i], share->cap, now_ns);
        uint64_t next_ns = share->room > 2 * share->cap ? now_ns + ROOM_NS : now_ns + SILENCE_NS;
        again_ns = share->is_active && next_ns < again_ns ? next_ns : again_ns;
    }
    return again_ns;
}
