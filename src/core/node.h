/* SPDX-License-Identifier: Apache-2.0 */
/* node.h: the contract between a node (a state machine of one scheme) and its driver (the owner of sockets and clocks).
 *
 * Use, the same for io, simulator and tests:
 *   1. size(config) bytes, 64-byte aligned, from the driver; init(node, config), which touches little of memory that
 *   the driver says is
 *      zeroed. Nothing to free: the memory is the driver's.
 *   2. receive() for everything that has arrived, then next_packet() until false, then next_event() until false.
 *   3. Wake at next_timeout(), call on_timeout(), then drain as in 2. After a control verb drain as well.
 *   4. After a while without packets: memory that idle() names may be given back, and be zeros from then on.
 * A node is plain data with indexes, no pointers but those to the caller's tensors and to the constant kernel table: a
 * copy of its bytes is a snapshot. The first state_size(node) bytes are its state; counters, times and RTT estimates
 * lie behind. Time is an argument, nanoseconds of any steady clock. One thread at a time per node. A mark of the
 * network comes as TRIB_FLAG_ECN in the packet's flags: the driver sets it before receive(), where the
 * datagram says so, and where the packet's answers will wait in an own queue that is too long. Packets given to
 * receive() are borrowed for the call. Payloads handed out by next_packet() stay valid until the next verb other than
 * next_packet(). A driver that cannot send a packet drops it: recovery is the node's business.
 * Read next: schemes/schemes.h (the table), protocol/protocol.h (worker and switch). */
#ifndef TRIB_CORE_NODE_H
#define TRIB_CORE_NODE_H

#include "core/counters.h"
#include "core/lane.h"
#include "core/packet.h"
#include "core/value.h"

#define TRIB_NEVER UINT64_MAX
#define TRIB_CHILDREN_MAX 64
#define TRIB_SESSION_RANKS_MAX 1024 /* ranks of one communicator: a tree of nodes with at most 64 children each */
#define TRIB_ROOTS_MAX 32
#define TRIB_PEERS_MAX 4 /* other ranks that one rank sends to or hears from, where it sends to ranks at all */

/* Where a packet goes, or came from: a logical place that the driver maps to a socket, never an address. */
enum trib_place_kind {
    TRIB_PLACE_NONE = 0,
    TRIB_PLACE_ROOT,     /* worker: the switch shard `index` of the root table */
    TRIB_PLACE_CHILDREN, /* switch: the children in `children`; one of them, or a multicast */
    TRIB_PLACE_PARENT,   /* switch: the node above it in its tree */
    TRIB_PLACE_PEER      /* worker: the worker of rank `index` */
};

struct trib_place {
    uint64_t children; /* bitmap */
    uint32_t index;
    enum trib_place_kind kind;
};

/* An event that the driver must act on or report. */
enum trib_event_kind {
    TRIB_EVENT_NONE = 0,
    TRIB_EVENT_DONE, /* worker: operation `token` has ended with success; its buffers are the caller's again */
    /* worker: one fragment's results failed their check too often; the communicator must end. `root`, and in `other`
     * the last result's enum trib_drop; on a ring both are 0. */
    TRIB_EVENT_FAILED,
    TRIB_EVENT_BOOT, /* worker: root `root` seems to have booted as `boot`: ask the session */
    /* worker: `sequence` has waited since `since_ns`; `bitmap` = its switch's children that are there. On a ring: rank
     * `child` acknowledges nothing to this one; UINT16_MAX: none. */
    TRIB_EVENT_STALL,
    TRIB_EVENT_MISMATCH, /* switch: on `sequence` the parts of children `child` and `other` can never meet */
    TRIB_EVENT_KIND_COUNT
};

struct trib_event {
    uint64_t token;
    uint64_t sequence;
    uint64_t since_ns;
    uint64_t bitmap;
    uint32_t boot;
    uint32_t root;
    uint16_t child;
    uint16_t other;
    enum trib_event_kind kind;
};

struct trib_shares; /* operation.h */

/* Exchanges of the library itself: no call of a program meets them. The highest bit is set, as in all digests here. */
#define TRIB_PART_OF_SPLIT (UINT64_C(1) << 63 | UINT64_C(1) << 32)
#define TRIB_PART_OF_NONCES (UINT64_C(1) << 63 | UINT64_C(2) << 32) /* plus trib_config.sample */
#define TRIB_PART_OF_SAMPLE (UINT64_C(1) << 63 | UINT64_C(3) << 32)

/* A collective as submitted. Buffers are borrowed until its DONE event or until the node is given up. */
struct trib_operation {
    const void *send; /* NULL where this rank has none */
    void *recv;       /* NULL where this rank has none */
    const struct trib_shares
        *shares;    /* of an allgather or reduce-scatter, where they differ; lives as long as the buffers */
    uint64_t count; /* elements; of equal shares: of one, of shares that differ: of all */
    uint64_t token; /* the caller's, comes back in DONE */
    /* The identity of an operation that no program called as such: a digest of the operation that this is a part of, or
     * one of TRIB_PART_OF_*. Operations with different ones never meet. 0: a program's own call. */
    uint64_t part_of;
    enum trib_collective collective;
    enum trib_type type;
    enum trib_reduction reduction;
    uint32_t root;
    uint32_t priority; /* of its parts at combiners, among jobs of equal priority: 0 to UINT16_MAX */
    uint32_t unused;
};

/* Settings that all nodes of a communicator share; given out by the control plane. */
struct trib_session_config {
    uint64_t salt;  /* keys of the lanes; 0 for a switch, which must not know it */
    uint64_t first; /* the first sequence, 0 but in tests */
    uint32_t communicator;
    uint32_t ranks;   /* of the whole communicator: 1 to TRIB_SESSION_RANKS_MAX */
    uint32_t roots;   /* shards: 1 to TRIB_ROOTS_MAX */
    uint32_t train;   /* consecutive sequences that go to one root */
    uint32_t slots;   /* P, per root */
    uint32_t payload; /* bytes, a multiple of 64 */
    uint16_t generation;
    uint16_t group;      /* scheme hybrid: consecutive ranks of one group; ranks is a multiple of it */
    enum trib_type wire; /* of float32 tensors: TRIB_FLOAT32, TRIB_BFLOAT16 or TRIB_INT32 */
    /* Wire int32: number of sequences ahead at which exponents are agreed; at least 1, the same on all ranks. */
    uint32_t lookahead;
    uint32_t cap; /* schemes with caps: first cap of a rank at a root, fragments in flight; 0: P / 2 */
    uint8_t weight[TRIB_ROOTS_MAX]; /* shares of the roots in the trains, 0 is taken as 1; all equal: they take turns */
    uint8_t quorum, quorum_of;      /* so many of so many ranks make a sum (quorum.h); 0, 0: all of them do */
    uint8_t unused[6];
};

_Static_assert(sizeof(struct trib_session_config) == 96,
               "no holes: it is part of nodes, whose states are compared as bytes");

/* The odd factor of a fragment's lanes. digest: of its operation. */
static inline uint64_t trib_session_odd(const struct trib_session_config *session, uint64_t sequence, uint8_t attempt,
                                        uint32_t digest)
{
    struct trib_lane_id id = {
        .salt = session->salt,
        .sequence = sequence,
        .communicator = session->communicator,
        .digest = digest,
        .generation = session->generation,
        .attempt = attempt,
    };

    return trib_lane_odd(&id);
}

#define TRIB_RATE_MIN 125000 /* bytes per second: with less, a rank would seem to be away */

struct trib_tag; /* tag.h */

struct trib_worker_config {
    struct trib_session_config session;
    const struct trib_value_kernels *kernels;
    /* Tag of a communicator with a key, valid as long as the node; NULL: lanes are those of lane.h. Workers that send
     * to ranks take no tag. */
    const struct trib_tag *tag;
    uint32_t rank;
    uint32_t window;     /* fragments in flight per root, at most session.slots */
    uint32_t operations; /* limit of operations submitted and not ended; at least 1 */
    uint32_t is_zeroed;  /* 1: the node's memory holds zeros already; 0: anything */
    uint64_t stall_ns;   /* report a fragment that waits longer */
    /* Limit of contributions, bytes per second, each with `extra`; at least TRIB_RATE_MIN; 0: as many as windows
     * allow. */
    uint64_t rate;
    uint32_t extra;    /* bytes of a packet beside its payload; 0: TRIB_WIRE_EXTRA */
    uint32_t distance; /* later transmissions answered before a fragment is probed early; 0: as on one path */
};

struct trib_switch_config {
    struct trib_session_config session;
    const struct trib_value_kernels *kernels;
    uint64_t branches;  /* bitmap of the children that are switches themselves; the others are ranks */
    uint64_t behind;    /* of a combiner: the numbers of its children at the root, ascending as these are */
    uint32_t children;  /* 1 to TRIB_CHILDREN_MAX, ordered by the lowest rank of each */
    uint32_t root;      /* which shard of the root table this node is */
    uint32_t boot;      /* boot of this tree of the communicator, the same at each of its nodes; not 0 */
    uint32_t answers;   /* answers between two drains that have room; 0: as many as trains of packets may ask for */
    bool has_parent;    /* an inner node: its sum goes to its parent, the result and M come from there */
    bool is_zeroed;     /* the node's memory holds zeros already */
    bool is_narrow;     /* rows are as long as payloads: a packet with a wider sum, of types of 16 bits, is dropped */
    bool has_combiners; /* parts may come in sums of any children (protocol/combiner.h) */
    uint32_t spare;     /* where sums may lack ranks (quorum.h): the sum over the ranks among its children */
    bool has_paths;     /* a rank's stream may take several paths: an overtaken packet is not lost */
    uint8_t unused[7];
};

/* Room for the answers of a switch that is drained after every packet: a packet asks for 65 sequences at most, each of
 * all children, and moves M, which all may wait for, as may those that the session's marks have moved since; and a few
 * words of its own. */
static inline uint32_t trib_switch_answers(uint32_t children)
{
    return (65 + 2) * children + 4;
}

/* True if the result says that the way of this child was congested, up or down. child: number of the child + 1; 0:
 * unknown, then every child's mark counts. */
static inline bool trib_result_is_marked(const struct trib_packet *result, uint32_t child)
{
    uint64_t own = child != 0 ? UINT64_C(1) << (child - 1) : UINT64_MAX;

    return (result->flags & TRIB_FLAG_ECN) != 0 || (result->bitmap & own) != 0;
}

/* The bitmap of all of 1 to 64 ranks or children. */
static inline uint64_t trib_all_children(uint32_t count)
{
    return UINT64_MAX >> (TRIB_CHILDREN_MAX - count);
}

/* Number of set bits. Core and schemes call no library, and not every CPU that this is built for has an instruction for
 * it. So pairs, then fours and eights of bits are added side by side. */
static inline uint32_t trib_count_bits(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* Takes `bytes` at *at, for a node with arrays behind its struct. Returns the offset of these bytes. *at moves to the
 * next cache line behind them. */
static inline size_t trib_node_place(size_t *at, size_t bytes)
{
    size_t here = *at;

    *at = (here + bytes + 63) & ~(size_t)63;
    return here;
}

/* A part of a node's memory. */
struct trib_range {
    size_t at, bytes;
};

#define TRIB_IDLE_RANGES 2

struct trib_flow_counters; /* flow.h */

/* Verbs of every node, for its driver. */
struct trib_node_verbs {
    size_t (*state_size)(const void *node);
    /* Takes one packet that came from `from`. TRIB_DROP_NONE: it was used. */
    enum trib_drop (*receive)(void *node, struct trib_place from, const struct trib_packet *packet, uint64_t now_ns);
    /* This packet will be received before long: brings the memory for it into the cache, and does nothing else. May be
     * NULL. */
    void (*soon)(const void *node, struct trib_place from, const struct trib_packet *packet);
    bool (*next_packet)(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to);
    bool (*next_event)(void *node, struct trib_event *event);
    uint64_t (*next_timeout)(const void *node);
    void (*on_timeout)(void *node, uint64_t now_ns);
    uint64_t (*communicator_mark)(const void *node); /* M as known here */
    /* A worker of which nothing is under way and all ranks have everything, or a switch that holds no slot, with
     * nothing to be handed out: names the parts of the memory that hold nothing. The driver may turn them to zeros
     * before it calls any other verb; the node goes on as if nothing had happened. 0: there are none now. A switch
     * forgets its latest answers to each child, so it must have heard nothing for longer than any node repeats. */
    uint32_t (*idle)(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES]);
    const struct trib_counters *(*counters)(const void *node);
};

struct trib_worker_verbs {
    struct trib_node_verbs node;
    size_t (*size)(const struct trib_worker_config *config);
    void (*init)(void *node, const struct trib_worker_config *config);
    /* Writes the ranks that this rank sends to or hears from, each once, in no order. The driver must know their
     * addresses for TRIB_PLACE_PEER. Returns their number; 0, or no verb: there are none. */
    uint32_t (*peers)(const struct trib_session_config *session, uint32_t rank, uint16_t peers[TRIB_PEERS_MAX]);
    /* False if `operations` operations are under way: submit again after a DONE. */
    bool (*submit)(void *node, const struct trib_operation *operation, uint64_t now_ns);
    /* The session confirms: all ranks are registered with this boot of the roots. mark: M as the session knows it. */
    void (*registered)(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns);
    /* The session has lost the switch: send nothing until registered() again. */
    void (*suspend)(void *node);
    /* M came by the session. */
    void (*learn_mark)(void *node, uint64_t mark, uint64_t now_ns);
    uint64_t (*mark)(const void *node); /* own mark */
    uint64_t (*end)(const void *node);  /* the sequence behind the last submitted one */
    /* Describes the operation that `sequence` belongs to; false when it is not one under way here: not submitted, or
     * ended. */
    bool (*describe)(const void *node, uint64_t sequence, struct trib_operation *operation, uint64_t *number);
    /* Limits the fragments in flight to this root from now on, within the node's own window; 0 is taken as 1. Fragments
     * already in flight stay. */
    void (*limit)(void *node, uint32_t root, uint32_t fragments);
    /* Tells which child of the root's switch this rank is: results name marked parts by child. As long as this is
     * unknown, every child's mark counts as this rank's. NULL: no window follows marks. */
    void (*set_child)(void *node, uint32_t root, uint32_t child);
    uint32_t (*in_flight)(const void *node, uint32_t root);
    /* Adds the counters of its flows to *sum; NULL: the scheme has no flows. */
    void (*flows)(const void *node, struct trib_flow_counters *sum);
};

struct trib_switch_verbs {
    struct trib_node_verbs node;
    size_t (*size)(const struct trib_switch_config *config);
    void (*init)(void *node, const struct trib_switch_config *config);
    /* Child registers with its mark, or its idle mark came by the session. Slots open when all children have joined. */
    void (*join)(void *node, uint32_t child, uint64_t mark);
    /* M came by the session, or from the node above in the same switch. An inner node must hear it once all children
     * have joined and before they send, and whenever M moves without packets. A node without a parent ignores it: it
     * knows better. */
    void (*learn_mark)(void *node, uint64_t mark);
    uint32_t (*slots_held)(const void *node);
    uint64_t (*missing)(const void *node,
                        uint64_t *sequence); /* children missing on the oldest open slot, 0 if none is open */
    /* Children that this sequence waits for: those without a part here; or, where sum and result are here, those
     * without a mark above it, unless they are all children, and ranks. Up to one window beyond the window: those that
     * the slot it needs waits for. 0 also below M, further beyond, and of another root's sequence. */
    uint64_t (*missing_on)(const void *node, uint64_t sequence);
    /* The next three verbs exist if windows have caps, and are NULL otherwise; core/share.h divides a driver's memory
     * by them. From now on packets down allow each rank this number of fragments in flight at this root. A value
     * outside 1 to P / 2 is taken as the nearest. */
    void (*set_cap)(void *node, uint32_t fragments, uint64_t now_ns);
    /* Fragments that may lie here at once: twice the cap, and more as long as ranks may still use an older cap. A
     * packet beyond this is dropped. */
    uint32_t (*room)(const void *node);
    /* True if the node takes part when memory is divided: from its first contribution until it has held nothing for a
     * second. */
    bool (*is_active)(const void *node, uint64_t now_ns);
    /* Tells which child of the node above this node is, as the worker's set_child does. NULL: no window follows
     * marks. */
    void (*set_child)(void *node, uint32_t child);
};

/* True if nodes of the scheme tell ranks how much they may have in flight. verbs: NULL for a scheme without
 * switches. */
static inline bool trib_switch_has_caps(const struct trib_switch_verbs *verbs)
{
    return verbs != NULL && verbs->set_cap != NULL;
}

#endif
