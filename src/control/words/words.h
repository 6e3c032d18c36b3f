/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: the messages between a rank and the control plane, on one TCP connection per rank and communicator on the
 * port number of the data's shard 0. Only the format: a codec without sockets; docs/PROTOCOL.md has every byte. A
 * switch with a parent passes the sessions of ranks on unread, to the controller at the root.
 *
 * Framing: 4 bytes length of the rest, 1 byte kind, fields in network byte order, strings as 2 bytes length and
 * bytes. The dialogue:
 *   rank                          control plane
 *   JOIN (settings, known) ->                      known.communicator != 0: a return after the switch restarted
 *                          <- WELCOME              admitted; when all ranks are there. Or FAIL; or RING: come again
 *   PATHS (what arrived)   ->                      after trying TRIB_PATH packets on every shard, and by multicast
 *   REGISTER (mark)        ->
 *                          <- READY (boot, M)      all have registered: slots are open
 *   MARK (mark) at idle    -> <- MARK (M)            at once, and at each rise of M until M reaches the mark
 *                          <- DESCRIBE (sequence)  asks for the operation (I10)
 *   OPERATION (text)       ->
 *   CLOSE (mark)           -> <- MARK (M) ... CLOSED when all marks have passed, or a peer is gone
 *   ABORT (text)           -> <- FAIL (status, text) to all the others; then the connection ends
 *   STALL (sequence)       -> <- MISSING (ranks)     the ranks that are waited for
 *   PROGRESS (bytes, time) ->                      of a planned job: see below
 *   PING                   -> <- PONG                does the controller still read?
 *                          <- RECALL (boot, text)  a switch is lost: the incarnation is over. The rank answers
 *   JOIN (settings, known) ->                      on the same session; earlier messages have no effect
 * If WELCOME has a rate, the rank sends PROGRESS at the end of an operation, once it was busy for TRIB_PROGRESS_NS
 * since the last PROGRESS. The achieved rate shows whether a plan still holds (jobs/progress.h).
 *
 * A closed or reset connection without CLOSE is the death of the rank: the other ranks get FAIL(ERR_PEER, "rank 2 ..").
 * Before WELCOME the rank only leaves the job. After FAIL or CLOSED the control plane ends the connection. If a switch
 * on the way of a rank is lost, all ranks of the communicator return. A rank with an open session gets RECALL, and
 * returns on that session. Another rank opens a new session.
 *
 * Without a switch, ranks meet at a control plane in the process of one rank, and the processes are the roots
 * (control/roots/roots.h):
 *   rank that is a root           control plane
 *                          <- ROOT_OPEN, ROOT_CHILD of each rank, before WELCOME; again for each root
 *                          <- ROOT_JOIN (rank, mark)   for each REGISTER and MARK
 *   ROOT_OPENED            ->                      for each of them; WELCOME waits for all
 *   ROOT_READY             ->                      before READY
 *                          <- ROOT_MISSING (sequence)  a rank has sent STALL
 *   ROOT_MISSING (ranks)   ->
 *   DISPUTE                ->                      a slot there has seen two operations
 *                          <- GONE   to all: a rank has left, and has left nothing unfinished
 * The end of the session is the end of the root. A root that cannot open sends ABORT.
 *
 * A controller with agents elsewhere (agents/remote.h) has one session with each agent, for all communicators:
 *   controller                    agent: another switch
 *   CONTROL (id, nonce)    ->
 *                          <- HELLO (nonce, shards, where they are)  or FAIL
 *                          <- ROOM                 after a large change of the room
 *   ROOT_OPEN ...          ->                      from here on as above, for many communicators side by side
 *                          <- ROOT_REFUSED (why)   the agent cannot open or go on, and has shut
 *   ROOT_SHUT              ->                      the incarnation is over; no answer
 * Each ROOT_ message names communicator and boot (struct trib_opening_id). A message of an ended incarnation has no
 * effect. The end of the session shuts all roots that were opened on the session.
 *
 * A switch with a parent is an agent as well. The switch begins the connection, which also carries sessions of ranks:
 *   controller                    switch below
 *                          <- HELLO (identity, shards, path)   or, to a switch between, on a channel of that switch
 *   CHALLENGE (nonce)      -> <- PROOF (nonce)         or FAIL
 *                          <- CHANNEL (number)         a session, or the connection of a lower switch
 *   BYTES, END             -> <- BYTES, END            of the channel
 *   ROOT_OPEN (parent) ... ->                      as to other agents; ROOT_OPENED names a multicast group
 *   ROOT_PROBE             ->                      behind WELCOME: try the path to the parent, and multicast
 *                          <- ROOT_READY               all ranks have registered, and the path is proved
 *   ROOT_MARK (M)          ->                      before READY, and when M has risen
 *                          <- BYE (text)               the switch shuts down
 *
 * A returning rank sends the grant of WELCOME as known. A rank that has seen READY has multicast only if READY said so,
 * and may leave out PATHS. A rank that had sent CLOSE before the loss of the switch registers and sends CLOSE again.
 * Behind a lost switch below, such a rank may get CLOSED at once.
 * Each JOIN of a derived communicator names the job, by a secret of the job (maker).
 * A table in words.c has the stages and senders of each kind. Each receiver asks the table before any other action
 * (trib_message_is_in_turn).
 * Read next: server.h (the control plane's side), control/words/session_client.h (the rank's side). */
#ifndef TRIB_CONTROL_WORDS_H
#define TRIB_CONTROL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "core/node.h"
#include "io/clock.h"
#include "keys/auth.h"
#include "net/nics.h"

#define TRIB_SESSION_MAGIC 0x54524942U /* "TRIB" */
#define TRIB_SESSION_VERSION 21
#define TRIB_SLOTS_MAX (1U << 20)   /* per root in a grant, so that sizes never overflow */
#define TRIB_MESSAGE_MAX 2048       /* bytes of a whole message, framing included */
#define TRIB_RANKS_LISTED 128       /* ranks named in a message; the others are only counted */
#define TRIB_NO_SEQUENCE UINT64_MAX /* in DISPUTE, DESCRIBE: shown by the memory of a host, not by a packet */
#define TRIB_NO_OPERATION "nothing that is under way" /* in OPERATION: the rank runs no operation there */
#define TRIB_SWITCHES_MAX 8                           /* for the roots of one job: at least two roots each */
#define TRIB_HOPS_MAX 16                              /* switches between a rank and the root: more are a loop */
#define TRIB_CHANNEL_BYTES 2000               /* payload of one BYTES; with the frame at most TRIB_MESSAGE_MAX */
#define TRIB_PROGRESS_NS (2 * TRIB_SECOND_NS) /* busy time between two PROGRESS, at least */

enum trib_message_kind {
    TRIB_MESSAGE_NONE = 0,
    TRIB_MESSAGE_JOIN = 1,
    TRIB_MESSAGE_WELCOME = 2,
    TRIB_MESSAGE_PATHS = 3,
    TRIB_MESSAGE_REGISTER = 4,
    TRIB_MESSAGE_READY = 5,
    TRIB_MESSAGE_MARK = 6,
    TRIB_MESSAGE_DESCRIBE = 7,
    TRIB_MESSAGE_OPERATION = 8,
    TRIB_MESSAGE_CLOSE = 9,
    TRIB_MESSAGE_CLOSED = 10,
    TRIB_MESSAGE_ABORT = 11,
    TRIB_MESSAGE_FAIL = 12,
    TRIB_MESSAGE_STALL = 13,   /* rank -> control: waits on a sequence */
    TRIB_MESSAGE_GONE = 14,    /* rank -> control: the rank leaves a silent switch. To all others: that rank has left */
    TRIB_MESSAGE_AWAY = 15,    /* the switch above cannot be reached, or there is no room for a session; come again */
    TRIB_MESSAGE_MISSING = 16, /* control -> rank: missing ranks, the answer to STALL; for people. Switch -> switch
                                * below: a silent switch above */
    TRIB_MESSAGE_DISPUTE = 17, /* root -> control: a slot there has seen two operations */
    /* To an agent, and back. All name the communicator. */
    TRIB_MESSAGE_ROOT_OPEN = 18,    /* control -> root: open a communicator once all ranks are named */
    TRIB_MESSAGE_ROOT_CHILD = 19,   /* control -> root: the next rank: its child number, and the child's address */
    TRIB_MESSAGE_ROOT_JOIN = 20,    /* control -> root: a rank has registered, or its mark has come */
    TRIB_MESSAGE_ROOT_READY = 21,   /* root -> control: the root is open, and all ranks have registered there */
    TRIB_MESSAGE_ROOT_MISSING = 22, /* control -> root: asks for the missing ranks of a sequence; and the answer */
    TRIB_MESSAGE_CONTROL = 23,      /* controller -> agent: the controller's id; roots will be opened there */
    TRIB_MESSAGE_HELLO = 24,        /* and the answer: shards, room, weight */
    TRIB_MESSAGE_RING = 25,         /* control -> rank: a ring is to sum the job; join again as a rank of the ring */
    TRIB_MESSAGE_PING = 26,         /* asks whether the process at the other end of the connection reads (ping.h) */
    TRIB_MESSAGE_PONG = 27,         /* answer: the process reads */
    TRIB_MESSAGE_ROOM = 28,         /* agent -> controller: present room of the agent's sockets */
    TRIB_MESSAGE_ROOT_SHUT = 29,    /* controller -> agent: close all roots of the incarnation */
    /* agent -> controller: the agent cannot open or go on, and has closed the incarnation */
    TRIB_MESSAGE_ROOT_REFUSED = 30,
    TRIB_MESSAGE_ROOT_OPENED = 31, /* root -> control: the last requested root is open */
    TRIB_MESSAGE_CHALLENGE = 32,   /* controller -> switch below: answers HELLO with a nonce to repeat */
    TRIB_MESSAGE_PROOF = 33,       /* switch -> controller: the nonce; only a live process can answer */
    TRIB_MESSAGE_CHANNEL = 34,     /* switch -> controller: a session or connection here begins */
    TRIB_MESSAGE_BYTES = 35,       /* either way: bytes of messages on a channel */
    TRIB_MESSAGE_END = 36,         /* either way: the channel has ended */
    TRIB_MESSAGE_RECALL = 37,      /* control -> rank: the incarnation is over; send JOIN again, on the same session */
    TRIB_MESSAGE_ROOT_MARK = 38,   /* controller -> switch below: M, and how results travel */
    TRIB_MESSAGE_ROOT_PROBE = 39,  /* controller -> switch below: try the path to the parent, and multicast */
    TRIB_MESSAGE_BYE = 40,         /* switch -> controller: the switch shuts down */
    TRIB_MESSAGE_PROGRESS = 41,    /* rank -> control, of a planned job: bytes sent, and the busy time */
    TRIB_MESSAGE_KIND_COUNT
};

/* Senders of a session's messages. */
enum trib_sender {
    TRIB_SENDER_RANK = 0, /* to a control plane */
    TRIB_SENDER_MASTER,   /* a controller to an agent elsewhere */
    TRIB_SENDER_CONTROL,  /* a control plane to a rank */
    TRIB_SENDER_AGENT,    /* an agent to a controller elsewhere */
    TRIB_SENDER_LEAF,     /* a switch with a parent to the controller, on the connection that carries sessions */
    TRIB_SENDER_UPPER,    /* a controller to a switch with a parent, on the same connection */
    TRIB_SENDER_COUNT
};

/* Stage of a session at the receiving end. In brackets: the stage of a session begun by CONTROL; from ROOT_OPEN on,
 * each communicator on such a session has a separate stage. On a connection begun by HELLO, JOINING is HELLO and
 * WELCOMED is PROOF. */
enum trib_stage {
    TRIB_STAGE_FIRST = 0,  /* no message has come */
    TRIB_STAGE_JOINING,    /* JOIN (CONTROL) */
    TRIB_STAGE_WELCOMED,   /* WELCOME (HELLO) */
    TRIB_STAGE_PROVED,     /* PATHS has come, or is not needed: the rank was READY with this grant before */
    TRIB_STAGE_REGISTERED, /* REGISTER (ROOT_OPEN) */
    TRIB_STAGE_RUNNING,    /* READY (ROOT_READY) */
    TRIB_STAGE_CLOSING,    /* CLOSE */
    TRIB_STAGE_RECALLED,   /* RECALL was sent to the rank, and the next JOIN has not come */
    TRIB_STAGE_COUNT
};

/* Settings; equal on all ranks. */
struct trib_settings {
    char scheme[32];
    uint32_t ranks;
    uint32_t payload;
    uint32_t window; /* bytes, 0: the switch chooses */
    uint8_t wire;
    bool fallback;           /* if the switch is gone for good, the ranks continue without a switch */
    uint64_t gradient_bytes; /* summed by the job in an iteration; 0: unknown */
    uint8_t priority;        /* of the job's rows in combiners */
    bool encrypt;            /* the payloads of packets are encrypted; only in a job with a key */
};

/* True for a wire type of float32 tensors. */
static inline bool trib_settings_is_wire(uint8_t wire)
{
    return wire == TRIB_WIRE_FLOAT32 || wire == TRIB_WIRE_BFLOAT16 || wire == TRIB_WIRE_INT32;
}

/* The values of an admitted communicator. A rank that returns after a restart of the switch sends the grant back. */
struct trib_grant {
    uint64_t salt;
    uint64_t token;     /* secret of the communicator, for returning ranks */
    uint64_t key;       /* secret of the controller and the agents elsewhere; reveals nothing of the token */
    uint64_t job_token; /* secret of the job; in the JOINs of derived communicators */
    uint32_t communicator;
    uint32_t boot;  /* boot id of the switch now (in `known`: at that time) */
    uint32_t roots; /* shards */
    uint32_t train;
    uint32_t slots;
    uint32_t window; /* fragments in flight per root */
    uint16_t generation;
    /* UDP port of shard 0; shard t has data_port + t, at the session's address or as WELCOME says */
    uint16_t data_port;
    uint32_t group;                 /* IPv4 multicast group for results, host order; 0: none */
    uint16_t group_port;            /* UDP port of the group for shard 0; shard t has group_port + t */
    uint8_t weight[TRIB_ROOTS_MAX]; /* of the roots (core/window.h); 0 is taken as 1 */
    /* The switches over which the roots are dealt in turn. 1: the switch that the ranks join; i + 2: lender i of that
     * switch; 0 ends the list. All 0: the joined switch, then all its lenders. */
    uint8_t switches[TRIB_SWITCHES_MAX];
};

/* The origin of a derived communicator, in each JOIN of it. */
struct trib_maker {
    uint32_t communicator;       /* 0: not derived */
    uint64_t job_token;          /* as in the grant of the origin */
    char job[TRIB_NAME_MAX + 1]; /* name of the job, from the job's first communicator */
};

/* Some ranks, ascending: the first TRIB_RANKS_LISTED of `count`. */
struct trib_rank_list {
    uint16_t count;
    uint16_t rank[TRIB_RANKS_LISTED];
};

struct trib_rank_set {
    uint64_t word[(TRIB_RANKS_MAX + 63) / 64];
};

static inline void trib_rank_set_add(struct trib_rank_set *set, uint32_t rank)
{
    set->word[rank / 64] |= UINT64_C(1) << rank % 64;
}

static inline bool trib_rank_set_has(const struct trib_rank_set *set, uint32_t rank)
{
    return (set->word[rank / 64] >> rank % 64 & 1) != 0;
}

static inline uint32_t trib_rank_set_count(const struct trib_rank_set *set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof set->word / sizeof set->word[0]; i++) {
        count += trib_count_bits(set->word[i]);
    }
    return count;
}

static inline uint32_t trib_rank_list_carried(const struct trib_rank_list *list)
{
    return list->count < TRIB_RANKS_LISTED ? list->count : TRIB_RANKS_LISTED;
}

/* Identities of the switches that a HELLO has passed. */
struct trib_path {
    uint8_t count;
    uint64_t identity[TRIB_HOPS_MAX];
};

/* A worker with which another worker exchanges packets directly. */
struct trib_peer {
    uint32_t rank;
    struct trib_address address;
};

_Static_assert(TRIB_RANKS_MAX == TRIB_SESSION_RANKS_MAX, "a session can have as many ranks as a tree of nodes");

/* An incarnation of a communicator, as named to agents. */
struct trib_opening_id {
    uint32_t communicator;
    uint32_t boot;
};

struct trib_message {
    enum trib_message_kind kind;
    /* Name of the first truncated or invalid field of a message that could not be decoded. NULL: none. */
    const char *bad_field;
    /* Type of an unknown item with TRIB_ITEM_MUST, for which the message was refused (items.h). 0: none. */
    uint16_t unknown_item;
    uint64_t capabilities; /* of JOIN, WELCOME, CONTROL, HELLO, ROOT_OPEN: of the sender; no bit has a meaning yet */
    union {
        /* DISPUTE and ROOT_ kinds: the first member of each. In a DISPUTE of a rank without a root, `of` may be 0. */
        struct trib_opening_id of;
        struct {
            uint32_t magic;
            uint16_t version;
            uint16_t wire_version;
            char job[TRIB_NAME_MAX + 1];
            char run[TRIB_NAME_MAX + 1]; /* the launch of the job, named by the launcher; "": unknown */
            uint32_t rank;
            /* UDP port of the rank for each shard. Trailing zeros are no ports; with n ports, shard t uses port t mod
             * n. */
            uint16_t data_port[TRIB_ROOTS_MAX];
            /* of rank 0 with settings.fallback: port of the control plane in the process of rank 0 */
            uint16_t meet_port;
            /* Source addresses of a rank with several network cards. Of n addresses, shard or root t uses address t mod
             * n. The ports are 0. Count 0: the session's address. */
            uint8_t address_count;
            struct trib_address address[TRIB_ADDRESSES_MAX];
            bool multicast; /* the rank accepts results by multicast */
            struct trib_settings settings;
            struct trib_grant known; /* communicator 0: none, a new join */
            bool was_ready;          /* the rank has seen a READY with that grant */
            bool is_ring;            /* RING has made it a rank of a ring, whatever the requested scheme is */
            uint64_t host;           /* the same for all ranks of one host; 0: unknown */
            uint32_t room;           /* bytes that one socket of the rank's root holds; 0: no root */
            /* UDP port of the first root in the rank's process: root k is at root_port + k, at address k mod n. There
             * are as many roots as addresses. 0: the process cannot be a root. */
            uint16_t root_port;
            uint8_t weight; /* requested weight as a root: 1 to 255; 0 counts as 1 */
            bool level0;    /* the rank can be summed with the other ranks of its host */
            struct trib_maker maker;
            uint64_t key;   /* id of the session's key; 0: none */
            uint32_t roots; /* sockets of the rank; 0: no limit */
        } join;
        struct {
            struct trib_grant grant;
            uint32_t generation_ranks; /* = ranks; for a check */
            /* Number of root addresses: grant.roots. 0: root t is a shard of one switch, at the session's address, port
             * data_port + t. */
            uint8_t root_count;
            bool no_box;        /* the roots are ranks' processes, not shards of a switch with several addresses */
            uint8_t peer_count; /* peers of this rank, if workers send to each other */
            /* Level 0: number of hosts, which are the members of the sums. A host is a run of ranks. Its first rank is
             * the leader, and only the leader sends. 0: every rank is a member. */
            uint16_t hosts;
            struct trib_rank_set leaders;
            struct trib_address root[TRIB_ROOTS_MAX];
            struct trib_peer peer[TRIB_PEERS_MAX];
            struct trib_address meeting; /* where ranks meet if the switch is gone for good; len 0: nowhere */
            /* If ranks send to each other: the address of this rank as the other ranks know it, with port 0. len 0:
             * unknown. */
            struct trib_address known_as;
            /* Behind a combiner: address of the switch with the roots, reachable from this rank. len 0: unknown. */
            struct trib_address server;
            uint64_t rate; /* limit of the rank's sending rate, bytes per second, at least TRIB_RATE_MIN; 0: no limit */
            struct trib_sender_keys auth; /* of the incarnation */
        } welcome;
        struct {
            bool unicast;   /* full-size packets pass on every shard, both ways */
            bool multicast; /* and by multicast */
        } paths;
        struct {
            uint64_t mark;
        } mark; /* REGISTER, MARK, CLOSE */
        struct {
            uint64_t bytes;   /* due to be sent by the rank since the last PROGRESS, headers included */
            uint64_t busy_ns; /* time with an operation under way; TRIB_PROGRESS_NS or more */
        } progress;
        struct {
            uint64_t number; /* the same in the answer */
        } ping;              /* PING, PONG */
        struct {
            uint32_t boot;
            uint64_t mark; /* M */
            bool multicast;
        } ready;
        struct {
            uint64_t sequence;
        } describe;
        struct {
            uint64_t sequence;
            char text[256]; /* "allreduce of 1,024 float32 (sum) as operation 17" */
        } operation;
        struct {
            int32_t status; /* enum trib_status */
            char text[TRIB_ERROR_TEXT_MAX];
        } fail; /* FAIL, ABORT */
        struct {
            uint64_t sequence;
            uint32_t since_ms;
            struct trib_rank_list missing; /* STALL of a rank: none */
            /* "switch 10.0.0.5:7470": a switch that lacks no rank and sends nothing. "": none. */
            char where[128];
        } stall; /* STALL, MISSING */
        struct {
            char text[TRIB_ERROR_TEXT_MAX];
            bool is_lost; /* GONE: a switch is lost, and the rank lives */
        } note;           /* GONE, AWAY, RING */
        struct {
            uint32_t boot; /* of the ended incarnation; 0: none known to the ranks */
            char text[TRIB_ERROR_TEXT_MAX];
        } recall;
        struct {
            struct trib_opening_id of;
            uint64_t sequence;
            uint32_t rank[2];
        } dispute;
        struct {
            struct trib_opening_id of;
            uint32_t index; /* number of the root in the communicator */
            uint32_t shard; /* the agent's socket, at root_port + shard */
            uint32_t ranks; /* of the job, all named; session.ranks of them, or all, are the members */
            char scheme[32];
            char job[TRIB_NAME_MAX + 1]; /* for people */
            uint64_t job_id;             /* to an agent elsewhere: the same for all communicators of a job; else 0 */
            struct trib_address at;      /* the root's address for ranks; len 0: unknown */
            uint64_t key; /* to an agent elsewhere: the key of the grant, the same in every incarnation; else 0 */
            struct trib_session_config session; /* salt 0: roots never learn the salt; first and lookahead 0 */
            uint32_t behind;                    /* ranks summed by the agent and named by ROOT_CHILD; at a root: all */
            /* For a switch below: the destination of the sums of this root. 0.0.0.0: the address of the parent to which
             * the switch has connected. len 0: the agent is the root. */
            struct trib_address parent;
            /* Numbers of the children at the root, in order, if the agent is a combiner. Empty: it is no combiner. */
            struct trib_rank_set numbers;
            uint64_t own_pieces; /* of a combiner: bits of the model's pieces that are added here; 0: none named */
            uint8_t pieces;      /* of the model in all (protocol/pieces.h) */
            uint8_t priority;    /* of a combiner's rows */
            bool is_return;      /* ranks had a READY before, and so paths were tried */
            uint64_t tenant;     /* to an agent elsewhere: id of the key of the ranks; 0: none */
            struct trib_auth_key auth; /* of this incarnation */
            bool wants_group;          /* a switch below should give its ranks a multicast group for results */
            uint32_t group;            /* the ranks' earlier group; 0: none */
            uint16_t group_port;
        } root_open;
        struct {
            struct trib_opening_id of;
            uint32_t group; /* for the ranks of a switch below; 0: none */
            uint16_t group_port;
        } root_opened;
        struct {
            struct trib_opening_id of;
            uint64_t mark; /* M */
            bool multicast;
        } root_mark;
        struct {
            struct trib_opening_id of;
            uint32_t rank;    /* ascending */
            uint32_t branch;  /* number of the rank's child; children count from 0, in order of their lowest ranks */
            bool is_switch;   /* the child is a switch, and sends for the ranks behind it */
            bool is_combined; /* the child's packets come through a combiner that other children use */
            uint16_t sender;  /* id of the child in authenticators (keys/auth.h) */
            struct trib_address from;
            struct trib_address to; /* the switch below, as that child reaches it; len 0: unknown */
        } root_child;
        struct {
            struct trib_opening_id of;
            uint32_t rank;
            uint64_t mark;
        } root_join;
        struct {
            struct trib_opening_id of;
            uint64_t sequence;
            struct trib_rank_list missing; /* of the question: none */
        } root_missing;
        struct {
            struct trib_opening_id of;
            int32_t status;
            char text[TRIB_ERROR_TEXT_MAX];
        } root_refused;
        struct {
            uint32_t magic; /* as in JOIN; the next two as well */
            uint16_t version;
            uint16_t wire_version;
            uint16_t port;  /* where the controller listens; for people */
            uint64_t id;    /* random, of the controller's process */
            uint64_t nonce; /* repeated in HELLO */
        } control;
        struct {
            uint32_t magic; /* as in JOIN; the next two as well */
            uint16_t version;
            uint16_t wire_version;
            uint64_t identity; /* of the switch, the same after a restart (server.h) */
            uint64_t life;     /* random, of the agent's process */
            uint32_t attempt;  /* of a switch below: count of connections */
            uint64_t nonce;    /* of CONTROL; of a switch below: 0 */
            uint32_t room;     /* as in ROOM */
            uint8_t weight;    /* weight of a root there against roots at other switches: 1 to 255 */
            uint8_t shards;
            /* Address of each shard, with the port. 0.0.0.0: the address at which CONTROL arrived. */
            struct trib_address at[TRIB_ROOTS_MAX];
            /* Of a switch below: some switches that wait for it, and the switches that have passed HELLO on. */
            struct trib_path path;
        } hello;
        struct {
            /* Bytes of packets that one shard's socket holds, without the share of other controllers. */
            uint32_t room;
        } room;
        struct {
            uint64_t nonce;
        } proof; /* CHALLENGE, PROOF */
        struct {
            uint32_t number; /* ascending on a connection, and in all of a process; 0 is none */
            /* Both ends of the connection, as seen by the accepting switch. */
            struct trib_address peer;
            struct trib_address local; /* len 0: unknown */
        } channel;
        struct {
            uint32_t number;
            uint16_t count;
            uint8_t bytes[TRIB_CHANNEL_BYTES];
        } bytes;
        struct {
            uint32_t number;
            bool is_lost; /* on the way, and not by the far end */
        } end;
    };
};

/* Writes the framed message into buffer (TRIB_MESSAGE_MAX bytes) and returns the length in bytes. A text without a
 * final zero is cut. */
size_t trib_message_encode(const struct trib_message *message, uint8_t *buffer);
/* Reads one framed message from len bytes. *used: bytes taken. OK with *used 0: more bytes are needed, and *message is
 * not valid. ERR_INVALID: not a message, and the connection must end; the kind is NONE, or bad_field is set ("end":
 * bytes are left over behind the last field). ERR_VERSION: a JOIN, CONTROL or HELLO of another version, and *message
 * holds magic and versions only; or unknown_item is set, and the rest is whole but for keys. Texts hold no zero
 * byte, and bools are 0 or 1. The caller checks all other ranges. */
TRIB_MUST_USE enum trib_status trib_message_decode(const uint8_t *buffer, size_t len, struct trib_message *message,
                                                   size_t *used);

/* Size in bytes of the framed message with these first four bytes, framing included. 0: no message begins so. */
size_t trib_message_size(const uint8_t *buffer);

/* The name in docs/PROTOCOL.md: "JOIN". A literal; "?": no kind. */
const char *trib_message_name(enum trib_message_kind kind);
/* Overwrites the keys of a WELCOME or ROOT_OPEN, and the bytes of BYTES, which may be of these. */
void trib_message_wipe(struct trib_message *message);

/* True if the kind is in turn from this sender, at this stage of the receiving end. A message out of turn has no
 * effect, and ends the session. The receiver calls this first, and checks the fields afterwards. */
bool trib_message_is_in_turn(enum trib_message_kind kind, enum trib_sender sender, enum trib_stage stage);
/* True if the sender may send the kind at some stage. */
bool trib_message_is_of(enum trib_message_kind kind, enum trib_sender sender);

/* True if the hosts in a WELCOME are possible. */
bool trib_hosts_are_sane(const struct trib_message *welcome);

#endif
