/* SPDX-License-Identifier: Apache-2.0 */
/* combining.h: switches below the servers of schemes that have servers (docs/PROTOCOL.md, "Combiners"): pools of rows,
 * one for each shard of a switch, for all communicators there. A part of world.h, which includes it behind its types.
 * Read next: combining.c. */
#ifndef TRIB_TESTS_WORLD_COMBINING_H
#define TRIB_TESTS_WORLD_COMBINING_H

/* Roots are servers, and each rank is a child of the root. */
static inline bool world_has_servers(const struct world *world)
{
    return world->scheme->has_servers;
}

static inline bool world_is_combiner(const struct world *world, uint32_t at)
{
    return world_has_servers(world) && world_seat(world, at) != 0;
}

/* Of the nodes at the switch. */
static inline const struct trib_switch_verbs *world_switch_verbs(const struct world *world, uint32_t at)
{
    return world_is_combiner(world, at) ? &trib_combining_verbs : world->scheme->switch_node;
}

/* With more members than a node has children, `node` of packets between a server and combiners names a group as well
 * (switchd/members.h). */
static inline bool combining_is_large(const struct world_comm *comm)
{
    return comm->set.session.ranks > comm->set.groups;
}

/* The node of the server or combiner that takes the packet, and its children that the sender speaks for. WORLD_NONE: the
 * sender has none there. */
uint32_t combining_node(const struct world_unit *unit, const struct world_unit *from, uint16_t name,
                        uint64_t *children);
/* The node of the combiner that takes a packet of its parent; WORLD_NONE: it has none of this group. */
uint32_t combining_node_below(const struct world_unit *unit, uint16_t name);
/* `node` of a packet as it leaves that node for a combiner or a server, and as the receiver's node takes it. */
uint16_t combining_name(const struct world_comm *comm, const struct shape_node *node, uint16_t number);
uint16_t combining_unname(const struct world_unit *unit, const struct world_unit *from, uint16_t name);
bool combining_has(const struct shape_node *node);                          /* some children are behind combiners */
uint64_t combining_together(const struct shape_node *node, uint32_t child); /* children at the address of this one */
void combining_enter(struct world_unit *unit);
void combining_leave(struct world_unit *unit);
const struct parcel *combining_hold(const struct parcel *parcel); /* a copy that stays until combining_drain */
bool combining_is_full(const struct world *world, const struct world_unit *unit); /* no more parcels before that */
void combining_drain(struct world *world, const struct world_unit *unit);
/* Pools of the switch are thrown away, and its communicators enter others. */
void combining_renew(struct world *world, uint32_t at);
void combining_end(struct world *world, uint32_t at); /* no communicator is in its pools */
/* Of a packet that goes up from a combiner: the ranks with parts in a CONTRIBUTION, or the rank that it is from. */
struct rank_set combining_named(const struct world_comm *comm, const struct shape_node *node,
                                const struct trib_packet *packet);

#endif
