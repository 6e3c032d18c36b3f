/* SPDX-License-Identifier: Apache-2.0 */
/* ring_memory.h: the memory of the ring's worker. Private to its files.
 *
 * The states of a fragment at a rank, by event. A rank *needs* the parts on the way through it to the owner, or the
 * payload carried from the owner: none where the fragment begins, two where a group's sum meets that of other
 * groups, else one.
 *
 *   state    | its turn, and none is needed  | a part, or payload that is carried   | the result              | the next have the output
 *   EMPTY    | own part alone -> SUMMED, to  | -> HELD; when all that is needed is  | lie                     | -
 *            |   be sent; of one rank:       |   here and the operation is known:   |                         |
 *            |   -> FINISHED                 |   own part added -> SUMMED, to be    |                         |
 *            |                               |   sent; at the owner -> FINISHED,    |                         |
 *            |                               |   to be spread; carried -> FINISHED, |                         |
 *            |                               |   to be carried on                   |                         |
 *   HELD     | lie                           | as EMPTY; a second time: lie         | lie                     | -
 *   SUMMED   | -                             | lie                                  | -> FINISHED, to be      | stays; where no result will
 *            |                               |                                      |   spread further        |   come: -> FINISHED
 *   FINISHED | -                             | lie                                  | lie                     | slot free
 *
 * HELD is looked at again when the operation is submitted. A lie is dropped: the flow lets nothing through
 * twice. No result comes to a rank that gave its part to a reduce or reduce-scatter of another owner, nor to the owner
 * of carried payload: such a rank is done when the next ranks have the payload. A result means: the next rank had the
 * part (I11: the tensor of a first part is not read again), so the part is settled without an acknowledgement. */
#ifndef TRIB_RING_MEMORY_H
#define TRIB_RING_MEMORY_H

#include "core/flow.h"
#include "core/node.h"
#include "core/operation.h"
#include "schemes/ring/ring.h"

#define TRIB_RING_STRIKES 3 /* wrong packets in a row, of one fragment and way, with which the communicator fails */
#define RING_REPORTS 8      /* stalls in the queue of events at most; more are lost */

enum ring_state { RING_EMPTY = 0, RING_HELD, RING_SUMMED, RING_FINISHED };

enum ring_out { RING_NOTHING = 0, RING_PENDING, RING_UNDER_WAY };

/* The rings that a rank is on. */
enum ring_way { RING_INSIDE = 0, RING_ACROSS, RING_WAYS };

/* Output of a fragment on one of them. */
struct ring_sending {
    uint64_t flow; /* the flow's sequence while UNDER_WAY */
    uint8_t out;
    uint8_t leg;
    uint8_t unused[6];
};

struct ring_slot {
    uint64_t sequence;
    uint64_t lane; /* of the payload to send */
    struct ring_sending sending[RING_WAYS];
    uint32_t digest;
    uint16_t len;
    uint16_t parts; /* ranks with payload in it */
    uint16_t owner;
    uint8_t type;
    uint8_t reduction;
    uint8_t state;
    uint8_t got; /* ways that a part has come by */
    uint8_t is_carried;
    uint8_t is_borrowed;     /* the payload is the caller's tensor */
    uint8_t ends_with_sends; /* finished when the next ranks have it */
    uint8_t strikes[RING_WAYS];
    uint8_t unused[5];
};

_Static_assert(offsetof(struct ring_slot, unused) + 5 == sizeof(struct ring_slot),
               "no holes: states are compared as bytes");

struct ring_operation {
    struct trib_operation operation;
    struct trib_layout layout;
    uint64_t number;
    uint64_t first; /* its first sequence */
    uint64_t left;  /* sequences not finished */
};

/* One of the rings; of one rank: there is nobody else on it, and no memory. */
struct ring_circle {
    uint32_t ranks, at; /* ranks on the ring, and the own place */
    uint32_t previous, next;
    uint32_t pending; /* slots with something to be sent for the first time */
    uint32_t unused;
    uint64_t told; /* the limit in the last acknowledgement */
    size_t pending_at, sender_at, receiver_at, flow_aside_at;
};

struct ring_worker {
    struct trib_worker_config config; /* its group is m: of a ring that is all ranks */
    struct ring_circle circle[RING_WAYS];
    uint64_t key;                                /* of this rank's lane */
    uint64_t number;                             /* operations submitted */
    uint64_t end;                                /* behind the last submitted sequence */
    uint64_t next;                               /* all below have had their turn to begin here */
    uint64_t mark;                               /* own mark: lowest unfinished */
    uint64_t freed;                              /* lowest sequence without a free slot */
    uint64_t communicator_mark;                  /* M, by the session */
    uint64_t oldest_operation, newest_operation; /* positions, free-running */
    uint32_t boot;                               /* registered with; 0: not */
    uint32_t events_head, events_count;
    uint32_t done;            /* of the events */
    uint8_t failed, disputed; /* was reported */
    uint8_t unused[6];
    /* offsets of the arrays behind this struct */
    size_t keys_at, place_keys_at, operations_at, slots_at, events_at, flows_at, wire_at;
    size_t aside_at, own_at, row_at;
};

struct ring_aside {
    struct trib_counters counters;
    uint64_t waits_ns;    /* since when the own mark stands */
    uint64_t reported_ns; /* last stall report, or since when there is something to wait for */
};

/* Form of one sequence of an operation. */
struct ring_form {
    struct trib_piece piece; /* its owner is where the sum is made, or the payload comes from */
    uint16_t len;
    bool is_carried;
    bool is_spread; /* the result, when it is made */
};

static inline void *ring_at(const struct ring_worker *w, size_t offset)
{
    return (char *)(uintptr_t)w + offset;
}

static inline struct ring_aside *ring_aside(const struct ring_worker *w)
{
    return ring_at(w, w->aside_at);
}

/* Is anybody else on this ring? */
static inline bool ring_has(const struct ring_worker *w, uint32_t way)
{
    return w->circle[way].ranks > 1;
}

static inline struct trib_flow_sender *ring_sender(const struct ring_worker *w, uint32_t way)
{
    return ring_at(w, w->circle[way].sender_at);
}

static inline struct trib_flow_receiver *ring_receiver(const struct ring_worker *w, uint32_t way)
{
    return ring_at(w, w->circle[way].receiver_at);
}

static inline struct trib_flow_counters *ring_flows(const struct ring_worker *w, uint32_t way)
{
    return &trib_flow_sender_aside(ring_sender(w, way))->counters;
}

static inline uint32_t ring_slot_index(const struct ring_worker *w, uint64_t sequence)
{
    return (uint32_t)(sequence % w->config.session.slots);
}

static inline struct ring_slot *ring_slot(const struct ring_worker *w, uint64_t sequence)
{
    return (struct ring_slot *)ring_at(w, w->slots_at) + ring_slot_index(w, sequence);
}

static inline uint8_t *ring_wire(const struct ring_worker *w, uint64_t sequence)
{
    return (uint8_t *)ring_at(w, w->wire_at) + (size_t)ring_slot_index(w, sequence) * w->config.session.payload;
}

static inline struct ring_operation *ring_operation_at(const struct ring_worker *w, uint64_t position)
{
    return (struct ring_operation *)ring_at(w, w->operations_at) + position % w->config.operations;
}

/* Is there nothing more to send of it? */
static inline bool ring_is_sent(const struct ring_slot *slot)
{
    return slot->sending[RING_INSIDE].out == RING_NOTHING && slot->sending[RING_ACROSS].out == RING_NOTHING;
}

/* The limit for the rank before: labels of fragments that there is a slot for. */
static inline uint64_t ring_limit(const struct ring_worker *w)
{
    return trib_ring_label(w->freed + w->config.session.slots, TRIB_RING_SUMMING);
}

/* Room for the DONE of every operation, one MISMATCH and one FAILED. */
static inline uint32_t ring_event_room(const struct trib_worker_config *config)
{
    return RING_REPORTS + config->operations + 2;
}

/* ring_worker_route.c */
void trib__ring_circles(struct ring_worker *w);
void trib__ring_keys(struct ring_worker *w); /* once all is laid out */
/* Bitmap of the ways by which needed parts of the owner's fragment come; none: it begins here. */
uint32_t trib__ring_needs(const struct ring_worker *w, uint32_t owner, bool is_carried);
/* The way that a sum goes on which is not whole yet. */
enum ring_way trib__ring_sum_way(const struct ring_worker *w, uint32_t owner);
/* Bitmap of the ways that a result, or carried payload, goes on. */
uint32_t trib__ring_spread_ways(const struct ring_worker *w, uint32_t owner);
/* The number of ranks' keys in a packet by the way on the leg, and the sum of the keys; 0: nothing may come so. */
uint32_t trib__ring_expects(const struct ring_worker *w, enum ring_way way, enum trib_ring_leg leg, uint32_t owner,
                            uint64_t *keys);
uint32_t trib__ring_peers(const struct trib_session_config *session, uint32_t rank, uint16_t peers[TRIB_PEERS_MAX]);

/* ring_worker_state.c */
struct ring_operation *trib__ring_operation(const struct ring_worker *w, uint64_t sequence); /* NULL: none under way */
void trib__ring_event(struct ring_worker *w, const struct trib_event *event);
void trib__ring_fail(struct ring_worker *w, uint64_t sequence);
bool trib__ring_next_event(void *node, struct trib_event *event);

/* ring_worker_sum.c */
uint64_t trib__ring_odd(const struct ring_worker *w, uint64_t sequence, uint32_t digest);
void trib__ring_form(const struct ring_worker *w, const struct ring_operation *o, uint64_t sequence,
                     struct ring_form *form);
const void *trib__ring_tensor(const struct ring_operation *o, const struct ring_form *form); /* the own part */
/* True if the slot, or a packet, describes a fragment as this rank would. */
bool trib__ring_agrees(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot);
/* Puts the slot's payload into the wire buffer. No effect if `payload` is the wire buffer. */
void trib__ring_store(const struct ring_worker *w, const struct ring_slot *slot, const void *payload);
/* The wire buffer = payload a reduced with payload b; a may be the wire buffer itself. */
void trib__ring_reduce(const struct ring_worker *w, const struct ring_slot *slot, const void *a, const void *b);
/* All that this rank needs is here: the parts of all before it, or carried payload. payload: the packet's, which is
 * not stored yet, or the wire buffer. */
void trib__ring_take_parts(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, const void *payload,
                           uint64_t now_ns);
void trib__ring_take_result(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot,
                            const void *payload, uint64_t now_ns);
void trib__ring_acked(struct ring_worker *w, enum ring_way way, uint64_t label, uint64_t now_ns);
/* Its packets have no use any more. */
void trib__ring_drop_out(struct ring_worker *w, struct ring_slot *slot, uint64_t now_ns);
/* Pending payload has left. */
void trib__ring_sent(struct ring_worker *w, struct ring_slot *slot, enum ring_way way, uint64_t flow);
/* Frees slots, and begins fragments at their turn. */
void trib__ring_advance(struct ring_worker *w, uint64_t now_ns);

/* ring_worker_receive.c */
enum trib_drop trib__ring_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                  uint64_t now_ns);
void trib__ring_take_held(struct ring_worker *w, struct ring_operation *o, uint64_t now_ns);

/* ring_worker_send.c */
bool trib__ring_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to);
uint64_t trib__ring_next_timeout(const void *node);
void trib__ring_on_timeout(void *node, uint64_t now_ns);

#endif
