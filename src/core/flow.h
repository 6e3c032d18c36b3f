/* SPDX-License-Identifier: Apache-2.0 */
/* flow.h: one flow of fragments between two peers: each arrives exactly once, in any order. Two halves, a sender here
 * and a receiver there, with the verbs of node.h; a node that talks to peers has halves inside (schemes/ring), and
 * hands out the packets of both.
 *
 * A fragment has a *label*, which is its user's (the ring: which fragment, on which leg), and a sequence, which is the
 * flow's: its place in the order of first transmissions, never reused. The payload stays with the user: the sender
 * asks for payload by label to send again, and says when a label is acknowledged: until then the payload is borrowed
 * (I11). So a flow without memory, of counts only, is the same code.
 *
 * Why any order: a fragment's label says its use, so that order would only delay fragments that are there. A user that
 * wants a stream of bytes (the simulator) counts arrivals.
 *
 * The rules:
 *   - A FLOW_ACK names one aligned word of 64 sequences: what of it has come, the *mark* (lowest sequence that has
 *     not), the *limit* (labels below it may be sent: the receiver's memory), and how many FLOWs came marked by
 *     congestion. It names missing packets as clearly as arrived ones: only a packet that it names as missing is ever
 *     taken for lost by order.
 *   - A fragment that lacks when one sent TRIB_FLOW_REORDER later has come is sent again, once. Then only a timeout
 *     sends it again, which takes all that is under way for lost, but packets sent less than half a timeout ago.
 *   - A sender that has nothing under way and is held back by the limit sends a FLOW without payload (UNWANTED), which
 *     is no fragment whatever its sequence, and is answered with the receiver's state. Also one that has never sent:
 *     its limit moves by the work of others.
 *   - Nothing else answers an ACK, and one drain answers all that came before it with few ACKs (I4, I5).
 *
 * Plain data, indexes, no clock, no malloc: a copy of the bytes is a snapshot. State that depends on times lies aside,
 * where the user puts it.
 * Read next: congestion.h, loss.h (their input), flow.c. */
#ifndef TRIB_CORE_FLOW_H
#define TRIB_CORE_FLOW_H

#include "core/congestion.h"
#include "core/loss.h"
#include "core/packet.h"

#define TRIB_FLOW_REORDER 3 /* RFC 5681 and RFC 9002: later ones that have come before a fragment counts as lost */
#define TRIB_FLOW_WINDOW_MAX 4032U /* fragments under way: a receiver's words, one spare, are bits of one number */

/* Fields of all packets of a flow. */
struct trib_flow_id {
    uint32_t communicator;
    uint32_t boot; /* for people: a peer that starts anew is another generation */
    uint16_t generation;
    uint16_t node;
    uint32_t unused;
};

/* name, help */
#define TRIB_FLOW_COUNTER_MAP(X)                                                \
    X(sent, "fragments sent for the first time")                                \
    X(resent_order, "sent again because later ones had come")                   \
    X(resent_timeout, "sent again because a timeout ended")                     \
    X(probes, "probes sent because the limit held everything back")             \
    X(timeouts, "timeouts that ended with fragments under way")                 \
    X(acks, "acknowledgements sent")                                            \
    X(acks_taken, "acknowledgements that brought news")                         \
    X(acks_old, "acknowledgements that brought none")                           \
    X(taken, "fragments taken")                                                 \
    X(repeated, "fragments that came again")                                    \
    X(probed, "probes answered")                                                \
    X(settled, "fragments that their user knew to have arrived before the ack") \
    X(marked, "fragments that came marked by congestion")                       \
    X(cut_marked, "windows cut because of marks")                               \
    X(cut_lost, "windows cut because of a loss")

struct trib_flow_counters {
#define X(name, help) uint64_t name;
    TRIB_FLOW_COUNTER_MAP(X)
#undef X
};

static inline void trib_flow_counters_add(struct trib_flow_counters *sum, const struct trib_flow_counters *counters)
{
#define X(name, help) sum->name += counters->name;
    TRIB_FLOW_COUNTER_MAP(X)
#undef X
}

/* ---- sender ---- */

struct trib_flow_config {
    struct trib_flow_id id;
    uint64_t limit;  /* labels below it may be sent before the first ACK */
    uint32_t window; /* fragments under way at most: 1 to TRIB_FLOW_WINDOW_MAX */
    enum trib_congestion_policy policy;
    bool is_plain;         /* labels are sequences, and take no memory */
    uint64_t rto_first_ns; /* 0: TRIB_RTO_FIRST_NS */
    uint64_t rto_min_ns;   /* 0: TRIB_RTO_MIN_NS */
};

/* One fragment from its first transmission until all before it are acknowledged too is one of the first four, and some
 * of the others. */
enum trib_flow_state {
    TRIB_FLOW_FREE = 0,
    TRIB_FLOW_SENT = 1,
    TRIB_FLOW_LOST = 2,
    TRIB_FLOW_ACKED = 3,
    TRIB_FLOW_STATE = 3,         /* the bits of the above */
    TRIB_FLOW_AGAIN = 1 << 2,    /* was sent more than once: its answer is no sample, and order says nothing of it */
    TRIB_FLOW_TIMED_OUT = 1 << 3 /* it is lost because a timeout ended */
};

/* The state; a byte for each fragment follows it, at sequence mod room, and then the labels. */
struct trib_flow_sender {
    struct trib_flow_id id;
    struct trib_congestion_window congestion;
    uint64_t next;    /* first sequence that was not used */
    uint64_t lowest;  /* lowest sequence that is not acknowledged */
    uint64_t highest; /* behind the highest acknowledged sequence */
    uint64_t limit;
    int64_t aside_at; /* from here, in bytes */
    uint32_t window;
    uint32_t room;      /* for fragments: the window, or the next power of 2 */
    uint32_t in_flight; /* fragments that are SENT */
    uint32_t lost;      /* fragments that are LOST */
    uint16_t echoed;    /* marked FLOWs that the receiver had counted */
    uint8_t is_blocked; /* the user has more fragments, which the limit does not admit */
    uint8_t probe;      /* hand out a probe */
    uint8_t is_plain;
    uint8_t unused[3];
};

/* Times and estimates; `room` times of transmission follow it. */
struct trib_flow_aside {
    struct trib_loss loss;
    uint64_t since_ns; /* the timeout counts from then */
    uint32_t backoff;
    uint32_t unused;
    struct trib_flow_counters counters;
};

_Static_assert(sizeof(struct trib_flow_sender) == 128, "two cache lines: a simulation has thousands of flows");

size_t trib_flow_sender_size(uint32_t window);
size_t trib_flow_plain_size(uint32_t window); /* of one that is plain */
size_t trib_flow_aside_size(uint32_t window);
/* Clears and fills both pieces of memory, 8-byte aligned, at a distance that must not change. */
void trib_flow_sender_init(struct trib_flow_sender *s, void *aside, const struct trib_flow_config *config);
static inline struct trib_flow_aside *trib_flow_sender_aside(const struct trib_flow_sender *s)
{
    return (struct trib_flow_aside *)(void *)((char *)(uintptr_t)s + s->aside_at);
}
/* Takes a FLOW_ACK; calls acked(user, label), unless NULL, for each label acknowledged for the first time. */
enum trib_drop trib_flow_sender_receive(struct trib_flow_sender *s, const struct trib_packet *packet, uint64_t now_ns,
                                        void (*acked)(void *user, uint64_t label), void *user);
/* Tells that the fragment with this sequence has arrived: its payload is no longer borrowed. */
void trib_flow_settle(struct trib_flow_sender *s, uint64_t sequence, uint64_t now_ns);
/* The next retransmission, or a probe: all but payload; its label is in packet->bitmap; false: nothing. */
bool trib_flow_sender_next(struct trib_flow_sender *s, uint64_t now_ns, struct trib_packet *packet);
/* True if a fragment with this label may be sent for the first time. A label at or above the limit is remembered: see
 * the rules. */
bool trib_flow_admits(struct trib_flow_sender *s, uint64_t label, uint64_t now_ns);
/* Sends a fragment: fills in the packet, all but the payload. Returns the fragment's sequence. */
uint64_t trib_flow_send(struct trib_flow_sender *s, uint64_t label, uint64_t now_ns, struct trib_packet *packet);
/* Limits the fragments under way from now on, within the window; 0 is taken as 1. Packets already under way stay. */
void trib_flow_limit(struct trib_flow_sender *s, uint32_t fragments);
uint64_t trib_flow_next_timeout(const struct trib_flow_sender *s);
void trib_flow_on_timeout(struct trib_flow_sender *s, uint64_t now_ns);

/* ---- receiver ---- */

/* The state; its words follow it: a bit for each sequence from that of the mark's word on. */
struct trib_flow_receiver {
    struct trib_flow_id id;
    uint64_t mark;   /* lowest sequence that has not come */
    uint64_t news;   /* words that an ACK is due for, by place */
    uint32_t window; /* of the sender */
    uint32_t words;
    uint16_t marked; /* FLOWs that came marked, mod 2^16 */
    uint8_t is_due;  /* an ACK is due, even if it has no news */
    uint8_t unused[5];
};

_Static_assert(sizeof(struct trib_flow_receiver) <= 64, "a simulation has thousands of flows");

size_t trib_flow_receiver_size(uint32_t window);
void trib_flow_receiver_init(struct trib_flow_receiver *r, const struct trib_flow_config *config);
/* Looks at a FLOW. TRIB_DROP_NONE: it is new, and comes again until trib_flow_take is called for it. */
enum trib_drop trib_flow_receiver_receive(struct trib_flow_receiver *r, const struct trib_packet *packet,
                                          struct trib_flow_counters *counters);
/* The user has the fragment: it will be acknowledged, and dropped if it comes again. */
void trib_flow_take(struct trib_flow_receiver *r, uint64_t sequence, struct trib_flow_counters *counters);
/* Hands out an ACK that is due, with this limit; false: no ACK is due. */
bool trib_flow_receiver_next(struct trib_flow_receiver *r, uint64_t limit, struct trib_packet *packet,
                             struct trib_flow_counters *counters);

#endif
