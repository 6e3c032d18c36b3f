/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker.h: what the files of the ring's worker share: its memory. Private to them.
 *
 * The states of a fragment at a rank, by event. d is how far the rank is behind the one where the fragment begins: 0 to N - 1.
 *
 *   state    | its turn (d = 0)      | part from before (summing)          | result from before (spreading) | next has it
 *   EMPTY    | -> SUMMED, to be sent | operation known: own part added;    | lie                            | -
 *            |                       |   d < N - 1 -> SUMMED, to be sent;  |                                |
 *            |                       |   d = N - 1 -> FINISHED, to be      |                                |
 *            |                       |   spread; else -> HELD              |                                |
 *   HELD     | lie                   | lie                                 | lie                            | -
 *   SUMMED   | -                     | lie                                 | -> FINISHED; to be spread      | stays; a broadcast's
 *            |                       |                                     |   where d < N - 2              |   root: -> FINISHED
 *   FINISHED | -                     | lie                                 | lie                            | slot free
 *
 * HELD becomes what EMPTY would when the operation is submitted. A broadcast is FINISHED at once where it comes, and goes on while
 * d < N - 1. What is a lie is dropped: the flow lets nothing through twice.
 * Of a slot at most one packet is on its way: the result that comes round says that the next rank had the part (I11: the
 * tensor that a first part is read from is not read again), so that is settled without its acknowledgement. */
#ifndef TRIB_RING_WORKER_H
#define TRIB_RING_WORKER_H

#include "core/flow.h"
#include "core/node.h"
#include "core/operation.h"
#include "schemes/ring/ring.h"

#define TRIB_RING_STRIKES 3 /* wrong packets of one fragment before the communicator fails */

enum ring_state { RING_EMPTY = 0, RING_HELD, RING_SUMMED, RING_FINISHED };

enum ring_out { RING_NOTHING = 0, RING_PENDING, RING_UNDER_WAY };

struct ring_slot {
    uint64_t sequence;
    uint64_t lane; /* of what there is to send */
    uint64_t flow; /* the flow's sequence while UNDER_WAY */
    uint32_t digest;
    uint16_t len;
    uint16_t parts; /* ranks whose payload is in it */
    uint16_t begun; /* rank where it begins */
    uint8_t type;
    uint8_t reduction;
    uint8_t state;
    uint8_t out;
    uint8_t leg;         /* of what is out */
    uint8_t is_borrowed; /* the payload is the caller's tensor */
    uint8_t is_root;     /* a broadcast's: finished when the next rank has it */
    uint8_t strikes;
    uint8_t unused[6];
};

struct ring_operation {
    struct trib_operation operation;
    struct trib_layout layout;
    uint64_t number;
    uint64_t first; /* its first sequence */
    uint64_t left;  /* sequences not finished */
};

struct ring_worker {
    struct trib_worker_config config;
    uint64_t key;                                /* of this rank's lane */
    uint64_t number;                             /* operations submitted */
    uint64_t end;                                /* behind the last submitted sequence */
    uint64_t next;                               /* all below have had their turn to begin here */
    uint64_t mark;                               /* own mark: lowest unfinished */
    uint64_t freed;                              /* lowest sequence whose slot is not free */
    uint64_t told;                               /* the limit in the last acknowledgement */
    uint64_t communicator_mark;                  /* M, by the session */
    uint64_t oldest_operation, newest_operation; /* positions, free-running */
    uint32_t boot;                               /* registered with; 0: not */
    uint32_t pending;                            /* slots with something to be sent for the first time */
    uint32_t events_head, events_count;
    uint32_t done; /* of the events */
    uint32_t unused_too;
    uint8_t failed, disputed; /* was reported */
    uint8_t unused[6];
    /* offsets of the arrays behind this struct */
    size_t keys_at, operations_at, slots_at, pending_at, events_at, sender_at, receiver_at, wire_at;
    size_t aside_at, flow_aside_at, own_at, row_at;
};

struct ring_aside {
    struct trib_counters counters;
    uint64_t waits_ns;    /* since when the own mark stands */
    uint64_t reported_ns; /* last stall report, or since when there is something to wait for */
};

static inline void *ring_at(const struct ring_worker *w, size_t offset)
{
    return (char *)(uintptr_t)w + offset;
}

static inline struct ring_aside *ring_aside(const struct ring_worker *w)
{
    return ring_at(w, w->aside_at);
}

static inline struct trib_flow_sender *ring_sender(const struct ring_worker *w)
{
    return ring_at(w, w->sender_at);
}

static inline struct trib_flow_receiver *ring_receiver(const struct ring_worker *w)
{
    return ring_at(w, w->receiver_at);
}

static inline struct trib_flow_counters *ring_flows(const struct ring_worker *w)
{
    return &trib_flow_sender_aside(ring_sender(w))->counters;
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

/* Where a fragment of the operation begins. */
static inline uint32_t ring_begins(const struct ring_worker *w, const struct ring_operation *o, uint64_t sequence)
{
    uint32_t ranks = w->config.session.ranks;

    return o->operation.collective == TRIB_BROADCAST ? o->operation.root
                                                     : (uint32_t)(((sequence - o->first) % ranks + 1) % ranks);
}

/* How far this rank is behind that one. */
static inline uint32_t ring_distance(const struct ring_worker *w, uint32_t begun)
{
    return (w->config.rank + w->config.session.ranks - begun) % w->config.session.ranks;
}

static inline uint32_t ring_previous(const struct ring_worker *w)
{
    return (w->config.rank + w->config.session.ranks - 1) % w->config.session.ranks;
}

static inline uint32_t ring_next(const struct ring_worker *w)
{
    return (w->config.rank + 1) % w->config.session.ranks;
}

/* The limit for what comes: labels of fragments that there is a slot for. */
static inline uint64_t ring_limit(const struct ring_worker *w)
{
    return trib_ring_label(w->freed + w->config.session.slots, TRIB_RING_SUMMING);
}

/* ring_worker.c */
struct ring_operation *trib__ring_operation(const struct ring_worker *w, uint64_t sequence); /* NULL: none under way */
void trib__ring_event(struct ring_worker *w, const struct trib_event *event);
void trib__ring_fail(struct ring_worker *w, uint64_t sequence);

/* ring_worker_sum.c */
uint64_t trib__ring_odd(const struct ring_worker *w, uint64_t sequence, uint32_t digest);
uint64_t trib__ring_keys(const struct ring_worker *w, uint32_t begun, uint32_t count); /* sum of so many ranks' keys */
/* Is what the slot, or a packet, says of a fragment what this rank would say of it? */
bool trib__ring_agrees(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot);
void trib__ring_take_part(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, uint64_t now_ns);
void trib__ring_take_result(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, uint64_t now_ns);
void trib__ring_acked(struct ring_worker *w, uint64_t label, uint64_t now_ns);
void trib__ring_queue(struct ring_worker *w, struct ring_slot *slot, enum trib_ring_leg leg);
void trib__ring_drop_out(struct ring_worker *w, struct ring_slot *slot,
                         uint64_t now_ns);                       /* what it sends has no use any more */
void trib__ring_advance(struct ring_worker *w, uint64_t now_ns); /* frees slots, and begins what has its turn */

/* ring_worker_receive.c */
enum trib_drop trib__ring_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                  uint64_t now_ns);
void trib__ring_take_held(struct ring_worker *w, struct ring_operation *o, uint64_t now_ns);

/* ring_worker_send.c */
bool trib__ring_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to);
uint64_t trib__ring_next_timeout(const void *node);
void trib__ring_on_timeout(void *node, uint64_t now_ns);

#endif
