/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: the messages between a rank and the control plane, on one TCP connection per rank and communicator (same
 * port number as shard 0 of the data). Only the format: a codec without sockets; docs/PROTOCOL.md has the same byte by
 * byte. A switch with a parent passes the sessions of its ranks on unread, to the controller at the root.
 *
 * Framing: 4 bytes length of the rest, 1 byte kind, fields in network byte order, strings as 2 bytes length and
 * bytes. The dialogue:
 *   rank                          control plane
 *   JOIN (settings, known) ->                      known.communicator != 0: a return after the switch restarted
 *                          <- WELCOME              admitted; when all ranks are there. Or FAIL; or RING: come again
 *   PATHS (what arrived)   ->                      after trying TRIB_PATH packets on every shard, and by multicast
 *   REGISTER (mark)        ->
 *                          <- READY (boot, M)      all have registered: slots are open
 *   MARK (mark) at idle    -> <- MARK (M)            at once, and again whenever M rises while it is below that mark
 *                          <- DESCRIBE (sequence)  which operation is it? (I10)
 *   OPERATION (text)       ->
 *   CLOSE (mark)           -> <- MARK (M) ... CLOSED when all marks have passed, or a peer is gone
 *   ABORT (text)           -> <- FAIL (status, text) to all the others; then the connection ends
 *   STALL (sequence)       -> <- MISSING (ranks)     who is waited for
 *   PROGRESS (bytes, time) ->                      of a planned job: see below
 *   PING                   -> <- PONG                does the controller still read?
 *                          <- RECALL (boot, text)  a switch is lost: the incarnation is over. The rank answers
 *   JOIN (settings, known) ->                      on the same session; its earlier messages have no effect
 * If WELCOME has a rate, the rank sends PROGRESS at the end of an operation, once it was busy for TRIB_PROGRESS_NS
 * since the last PROGRESS. The achieved rate shows whether a plan still holds (jobs/progress.h).
 * A closed or reset connection without CLOSE is the death of that rank: the others get FAIL(ERR_PEER, "rank 2 ...").
 * Before WELCOME the rank only gives up its place. After FAIL or CLOSED the control plane ends the connection. If a
 * switch on the way of a rank is lost, all ranks of the communicator return. A rank whose session stands hears RECALL,
 * and returns on that session. Another rank opens a new one. Where no switch is, ranks meet at a control plane in the
 * process of one of them, and the processes are the roots: control/roots/roots.h.
 *   rank that is a root           control plane
 *                          <- ROOT_OPEN, ROOT_CHILD of each rank, before WELCOME; again for each root that it is to be
 *                          <- ROOT_JOIN (rank, mark)   for each REGISTER and MARK
 *   ROOT_OPENED            ->                      for each of them; WELCOME waits for all
 *   ROOT_READY             ->                      before READY
 *                          <- ROOT_MISSING (sequence)  somebody has said STALL
 *   ROOT_MISSING (ranks)   ->
 *   DISPUTE                ->                      a slot there has seen two operations
 *                          <- GONE   to all: a rank has left, and has left nothing unfinished
 * The end of the session is the end of the root. One that cannot open says ABORT. A switch whose controller lets others
 * take part in its jobs (agents/remote.h) has one session with each of them, for all communicators:
 *   controller                    agent: another switch
 *   CONTROL (id, nonce)    ->
 *                          <- HELLO (nonce, shards, where they are)  or FAIL
 *                          <- ROOM                 whenever it has changed much
 *   ROOT_OPEN ...          ->                      from here on as above, for many communicators side by side
 *                          <- ROOT_REFUSED (why)   the agent cannot open, or cannot go on: it has shut
 *   ROOT_SHUT              ->                      the incarnation is over; no answer
 * Each of these names communicator and boot (struct trib_opening_id). One of an incarnation that is over has no effect.
 * The end of that session shuts all that was opened on it. A switch with a parent is an agent as well. It begins the
 * connection itself, and the same connection carries its sessions:
 *   controller                    switch below
 *                          <- HELLO (identity, shards, path)   or, to a switch between, on a channel of that switch
 *   CHALLENGE (nonce)      -> <- PROOF (nonce)         or FAIL
 *                          <- CHANNEL (number)         a session, or the connection of a switch below that one
 *   BYTES, END             -> <- BYTES, END            of the channel
 *   ROOT_OPEN (parent) ... ->                      as to other agents; ROOT_OPENED names a multicast group
 *   ROOT_PROBE             ->                      behind WELCOME: try the path to the parent, and multicast
 *                          <- ROOT_READY               all ranks have registered, and that path is proved
 *   ROOT_MARK (M)          ->                      before READY, and when M has risen
 *                          <- BYE (text)               the switch shuts down
 * A return sends the grant of WELCOME as known; if it has seen a READY, it has multicast only if READY said so, and may
 * leave out PATHS. A rank that had sent CLOSE before the switch went away registers and sends CLOSE again; from behind
 * a lost switch below the rank may get CLOSED at once.
 * A communicator that was made of another one says in each JOIN which job it is of, by a secret of that (maker).
 * Who may say which kind when is a table of words.c, which each receiver asks before it does anything
 * (trib_message_is_in_turn). Read next: server.h (the control plane's side), control/words/session_client.h (the
 * rank's). */
#ifndef TRIB_CONTROL_WORDS_H
#define TRIB_CONTROL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "core/node.h"
#include "io/clock.h"
#include "keys/auth.h"
#include "net/address.h"

#define TRIB_SESSION_MAGIC 0x54524942U /* "TRIB" */
#define TRIB_SESSION_VERSION 17
#define TRIB_SLOTS_MAX (1U << 20)   /* that a grant may name, per root: sizes never overflow */
#define TRIB_MESSAGE_MAX 2048       /* bytes of a whole message, framing included */
#define TRIB_RANKS_LISTED 128       /* ranks that a message names, of any number */
#define TRIB_NO_SEQUENCE UINT64_MAX /* of a DISPUTE and DESCRIBE: no packet has shown it, but the memory of a host */
#define TRIB_NO_OPERATION "nothing that is under way" /* in OPERATION: of a rank that has none there */
#define TRIB_SWITCHES_MAX 8                           /* for the roots of one job: at least two roots each */
#define TRIB_HOPS_MAX 16                              /* switches between a rank and the root: more are a loop */
#define TRIB_CHANNEL_BYTES 2000                       /* in one BYTES: with its frame within TRIB_MESSAGE_MAX */
#define TRIB_PROGRESS_NS (2 * TRIB_SECOND_NS)         /* busy time between two PROGRESS, at least */

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
    TRIB_MESSAGE_GONE = 14,    /* rank -> control: it leaves a silent switch. To all others: it has left */
    TRIB_MESSAGE_AWAY = 15,    /* the switch above cannot be reached, or there is no room for a session; come again */
    TRIB_MESSAGE_MISSING = 16, /* control -> rank: who is missing, the answer to STALL; for people */
    TRIB_MESSAGE_DISPUTE = 17, /* root -> control: a slot there has seen two operations */
    /* To an agent, and back. All name the communicator. */
    TRIB_MESSAGE_ROOT_OPEN = 18,    /* control -> root: open a communicator, once all its ranks have been named */
    TRIB_MESSAGE_ROOT_CHILD = 19,   /* control -> root: its next rank: the child, and the child's address */
    TRIB_MESSAGE_ROOT_JOIN = 20,    /* control -> root: a rank has registered, or its mark has come */
    TRIB_MESSAGE_ROOT_READY = 21,   /* root -> control: it is open, and all ranks have registered there */
    TRIB_MESSAGE_ROOT_MISSING = 22, /* control -> root: the missing ranks of a sequence? And the answer */
    TRIB_MESSAGE_CONTROL = 23,      /* controller -> agent: its id; it will open roots there */
    TRIB_MESSAGE_HELLO = 24,        /* and the answer: shards, room, weight */
    TRIB_MESSAGE_RING = 25,         /* control -> rank: the job is to be summed by a ring; come again as one of it */
    TRIB_MESSAGE_PING = 26,         /* does the process at the other end of the connection read? (ping.h) */
    TRIB_MESSAGE_PONG = 27,         /* it does */
    TRIB_MESSAGE_ROOM = 28,         /* agent -> controller: the room of its sockets now */
    TRIB_MESSAGE_ROOT_SHUT = 29,    /* controller -> agent: close all of this incarnation there */
    TRIB_MESSAGE_ROOT_REFUSED = 30, /* agent -> controller: it cannot, and has closed it */
    TRIB_MESSAGE_ROOT_OPENED = 31,  /* root -> control: the root that was asked for last is open */
    TRIB_MESSAGE_CHALLENGE = 32,    /* controller -> switch below: answers HELLO with a nonce to repeat */
    TRIB_MESSAGE_PROOF = 33,        /* switch -> controller: the nonce; only a live process can answer */
    TRIB_MESSAGE_CHANNEL = 34,      /* switch -> controller: a session or connection here begins */
    TRIB_MESSAGE_BYTES = 35,        /* either way: bytes of messages on a channel */
    TRIB_MESSAGE_END = 36,          /* either way: the channel has ended */
    TRIB_MESSAGE_RECALL = 37,       /* control -> rank: the incarnation is over; say JOIN again, on the same session */
    TRIB_MESSAGE_ROOT_MARK = 38,    /* controller -> switch below: M, and how results travel */
    TRIB_MESSAGE_ROOT_PROBE = 39,   /* controller -> switch below: try the path to the parent, and multicast */
    TRIB_MESSAGE_BYE = 40,          /* switch -> controller: it shuts down */
    TRIB_MESSAGE_PROGRESS = 41,     /* rank -> control, of a planned job: bytes sent, and the busy time */
    TRIB_MESSAGE_KIND_COUNT
};

/* Both ends of a session, by the one that sends. */
enum trib_sender {
    TRIB_SENDER_RANK = 0, /* to a control plane */
    TRIB_SENDER_MASTER,   /* a controller to an agent elsewhere */
    TRIB_SENDER_CONTROL,  /* a control plane to a rank */
    TRIB_SENDER_AGENT,    /* an agent to a controller elsewhere */
    TRIB_SENDER_LEAF,     /* a switch with a parent to its controller, on the connection that carries its sessions */
    TRIB_SENDER_UPPER,    /* a controller to a switch with a parent, on the same connection */
    TRIB_SENDER_COUNT
};

/* How far a session has come, at the receiving end. In brackets: of a session begun by CONTROL; from ROOT_OPEN on each
 * communicator there has a stage of its own. Of a connection begun by HELLO: JOINING is HELLO, WELCOMED is PROOF. */
enum trib_stage {
    TRIB_STAGE_FIRST = 0,  /* nothing has been said */
    TRIB_STAGE_JOINING,    /* JOIN (CONTROL) */
    TRIB_STAGE_WELCOMED,   /* WELCOME (HELLO) */
    TRIB_STAGE_PROVED,     /* PATHS, or the rank needs none: it was READY with this grant before */
    TRIB_STAGE_REGISTERED, /* REGISTER (ROOT_OPEN) */
    TRIB_STAGE_RUNNING,    /* READY (ROOT_READY) */
    TRIB_STAGE_CLOSING,    /* CLOSE */
    TRIB_STAGE_RECALLED,   /* RECALL was said to the rank, and its next JOIN has not come */
    TRIB_STAGE_COUNT
};

/* Settings that all ranks must agree on. */
struct trib_settings {
    char scheme[32];
    uint32_t ranks;
    uint32_t payload;
    uint32_t window; /* bytes, 0: the switch chooses */
    uint8_t wire;
    bool fallback;           /* a switch that is gone for good: the ranks go on without one */
    uint64_t gradient_bytes; /* that the job sums in an iteration, 0: it has not said */
    uint8_t priority;        /* of its rows in combiners */
    bool encrypt;            /* payloads of its packets are encrypted; of a job with a key */
};

/* True for a type that float32 tensors may have on the wire. */
static inline bool trib_settings_is_wire(uint8_t wire)
{
    return wire == TRIB_WIRE_FLOAT32 || wire == TRIB_WIRE_BFLOAT16 || wire == TRIB_WIRE_INT32;
}

/* The values of an admitted communicator. A rank that comes back after a restart of the switch brings them. */
struct trib_grant {
    uint64_t salt;
    uint64_t token;     /* secret of the communicator: a returning rank must know it */
    uint64_t key;       /* secret of its controller and its agents elsewhere; says nothing of the token */
    uint64_t job_token; /* secret of the job: the JOINs of communicators that are made of this one bring it */
    uint32_t communicator;
    uint32_t boot;  /* of the switch as it is now (in known: as it was) */
    uint32_t roots; /* shards */
    uint32_t train;
    uint32_t slots;
    uint32_t window; /* fragments in flight per root */
    uint16_t generation;
    uint16_t
        data_port;  /* UDP port of shard 0; shard t has data_port + t, at the session's address or as WELCOME says */
    uint32_t group; /* IPv4 multicast group for results, host order; 0: none */
    uint16_t group_port;            /* its UDP port for shard 0; shard t has group_port + t */
    uint8_t weight[TRIB_ROOTS_MAX]; /* of the roots (core/window.h); 0 is taken as 1 */
    /* The switches that they are dealt over in turn, in their order: 1 is the one that the ranks join, i + 2 its lender
     * i, 0 follows the last. All 0: it, then all its lenders, if there are any. */
    uint8_t switches[TRIB_SWITCHES_MAX];
};

/* The origin of a derived communicator, in each JOIN of it. */
struct trib_maker {
    uint32_t communicator;       /* 0: it was made of none */
    uint64_t job_token;          /* as in the grant of that */
    char job[TRIB_NAME_MAX + 1]; /* name of the job: that of its first communicator */
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

/* Switches that a HELLO has passed, by their identities. */
struct trib_path {
    uint8_t count;
    uint64_t identity[TRIB_HOPS_MAX];
};

/* A worker that another one sends to, or hears from. */
struct trib_peer {
    uint32_t rank;
    struct trib_address address;
};

_Static_assert(TRIB_RANKS_MAX == TRIB_SESSION_RANKS_MAX, "a session can have as many ranks as a tree of nodes");

/* An incarnation of a communicator, as its agents know it. */
struct trib_opening_id {
    uint32_t communicator;
    uint32_t boot;
};

struct trib_message {
    enum trib_message_kind kind;
    /* Of a message that could not be decoded: the first field that is cut off or has no valid value; else NULL. */
    const char *bad_field;
    /* Of one that was refused for it: the type of an item that must be known, and is not (items.h); else 0. */
    uint16_t unknown_item;
    uint64_t capabilities; /* of JOIN, WELCOME, CONTROL, HELLO, ROOT_OPEN: of the sender; no bit has a meaning yet */
    union {
        /* DISPUTE and ROOT_ kinds: the first member of each. A DISPUTE of a rank that is no root may leave it 0. */
        struct trib_opening_id of;
        struct {
            uint32_t magic;
            uint16_t version;
            uint16_t wire_version;
            char job[TRIB_NAME_MAX + 1];
            char run[TRIB_NAME_MAX + 1]; /* which launch of the job this is, as its launcher says; "": unknown */
            uint32_t rank;
            /* This rank's UDP port for each shard; 0 from the end: n ports, and shard t deals with port t mod n. */
            uint16_t data_port[TRIB_ROOTS_MAX];
            uint16_t meet_port; /* of rank 0 with settings.fallback: where a control plane of its process listens */
            /* The addresses that its packets come from, with several network cards: n of them, shard or root t deals
             * with address t mod n. Their ports are 0. 0: the session's address. */
            uint8_t address_count;
            struct trib_address address[TRIB_ROOTS_MAX];
            bool multicast; /* this rank would take results by multicast */
            struct trib_settings settings;
            struct trib_grant known; /* communicator 0: none, a new join */
            bool was_ready;          /* with that grant it has seen a READY */
            bool is_ring;            /* it has been told to be a rank of a ring (RING), whatever scheme it asked for */
            uint64_t host;           /* the same for all ranks of one host; 0: unknown */
            uint32_t room;           /* bytes that one socket of this rank's root holds; 0: it has none */
            /* Its process can be a root: root k of it here + k, UDP, at address k mod n; as many roots as it has
             * addresses. 0: it cannot. */
            uint16_t root_port;
            uint8_t weight; /* that it wishes for as a root: 1 to 255; 0 is taken as 1 */
            bool level0;    /* it would be summed with the other ranks of its host, and not come by itself */
            struct trib_maker maker;
            uint64_t key;   /* id of the key of its session; 0: none */
            uint32_t roots; /* sockets of the rank; 0: no limit */
        } join;
        struct {
            struct trib_grant grant;
            uint32_t generation_ranks; /* = ranks; for a check */
            /* Where the roots are, grant.roots of them. 0: shards of one switch, at the session's address, data_port +
             * t. */
            uint8_t root_count;
            bool no_box;        /* they are ranks' processes, not shards of a switch that has several addresses */
            uint8_t peer_count; /* if workers send to each other: the peers of this one */
            /* Level 0: so many hosts are the members of the communicator's sums, each a run of ranks that begins with
             * its leader, who alone sends. 0: every rank is a member. */
            uint16_t hosts;
            struct trib_rank_set leaders;
            struct trib_address root[TRIB_ROOTS_MAX];
            struct trib_peer peer[TRIB_PEERS_MAX];
            struct trib_address meeting; /* where ranks meet if the switch is gone for good; len 0: they do not */
            /* Where ranks send to each other: how they know this one. Its port is 0. len 0: it is not said. */
            struct trib_address known_as;
            /* Behind a combiner: the switch with the roots, as this rank may reach it. len 0: it is not said. */
            struct trib_address server;
            uint64_t rate; /* bytes per second that this rank is to send at most, TRIB_RATE_MIN and more; 0: no limit */
            struct trib_auth_key auth; /* of this incarnation; its parent is where the rank sends to */
        } welcome;
        struct {
            bool unicast;   /* full-size packets pass on every shard, both ways */
            bool multicast; /* and by multicast */
        } paths;
        struct {
            uint64_t mark;
        } mark; /* REGISTER, MARK, CLOSE */
        struct {
            uint64_t bytes;   /* that this rank had to send since its last PROGRESS, headers included */
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
            char where
                [128]; /* "switch 10.0.0.5:7470": nobody is missing behind it, yet nothing comes from it; else "" */
        } stall;       /* STALL, MISSING */
        struct {
            char text[TRIB_ERROR_TEXT_MAX];
            bool is_lost; /* GONE: a switch is lost, and the rank lives */
        } note;           /* GONE, AWAY, RING */
        struct {
            uint32_t boot; /* of the incarnation that is over; 0: ranks know none */
            char text[TRIB_ERROR_TEXT_MAX];
        } recall;
        struct {
            struct trib_opening_id of;
            uint64_t sequence;
            uint32_t rank[2];
        } dispute;
        struct {
            struct trib_opening_id of;
            uint32_t index; /* which root of the communicator it is to be */
            uint32_t shard; /* by which of its sockets: at root_port + shard */
            uint32_t ranks; /* of the job, who are all named: session.ranks of them, or all, are its members */
            char scheme[32];
            char job[TRIB_NAME_MAX + 1]; /* for people */
            uint64_t job_id;             /* to an agent elsewhere: the same for all communicators of a job; else 0 */
            struct trib_address at;      /* where the ranks find it; len 0: it is not said */
            uint64_t key; /* to an agent elsewhere: that of the grant, the same in every incarnation; else 0 */
            struct trib_session_config session; /* salt 0: a root never learns it; first and lookahead 0 */
            uint32_t behind; /* ranks that the agent sums for, and that ROOT_CHILD names; at a root: all */
            /* Of a switch below: where the sums of this root go. At any address (0.0.0.0): at the parent that it has
             * connected to. len 0: it is the root. */
            struct trib_address parent;
            struct trib_rank_set
                numbers; /* not empty: it is a combiner, and its children, in order, have these numbers at the root */
            uint64_t own_pieces; /* of a combiner: it adds these pieces of the model, as bits; 0: none are named */
            uint8_t pieces;      /* that the model is cut into (protocol/pieces.h) */
            uint8_t priority;    /* of a combiner's rows */
            bool is_return;      /* ranks had a READY before, and so paths were tried */
            uint64_t tenant;     /* to an agent elsewhere: id of the key of the ranks; 0: none */
            struct trib_auth_key auth; /* of this incarnation */
            bool wants_group; /* a switch below is to give its ranks a multicast group for results, if it can */
            uint32_t group;   /* the group that they had before; 0: none */
            uint16_t group_port;
        } root_open;
        struct {
            struct trib_opening_id of;
            uint32_t group; /* of a switch below, for its ranks; 0: none */
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
            uint32_t branch;  /* which child it is, or is behind: from 0, in order of their lowest ranks */
            bool is_switch;   /* that child is a switch, and sends for the ranks behind it */
            bool is_combined; /* its packets come through a combiner, as those of other children */
            uint16_t sender;  /* id of what sends them, in authenticators (keys/auth.h) */
            struct trib_address from;
            struct trib_address to; /* where that child finds the switch below; len 0: it is not said */
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
            uint32_t magic; /* these three as in JOIN */
            uint16_t version;
            uint16_t wire_version;
            uint16_t port;  /* where the controller listens; for people */
            uint64_t id;    /* random, of this controller's process */
            uint64_t nonce; /* HELLO has it too */
        } control;
        struct {
            uint32_t magic; /* these three as in JOIN */
            uint16_t version;
            uint16_t wire_version;
            uint64_t identity; /* of the switch, the same after a restart (server.h) */
            uint64_t life;     /* random, of the agent's process */
            uint32_t attempt;  /* of a switch below: count of its connections */
            uint64_t nonce;    /* of CONTROL; of a switch below: 0 */
            uint32_t room;     /* as in ROOM */
            uint8_t weight;    /* of a root there, beside those at other switches: 1 to 255 */
            uint8_t shards;
            /* Of each shard, with its port; at any address (0.0.0.0): where CONTROL came to. */
            struct trib_address at[TRIB_ROOTS_MAX];
            /* Of a switch below: some that wait for it, and those that have passed HELLO on. */
            struct trib_path path;
        } hello;
        struct {
            /* Bytes of packets that one shard's socket holds, beside what others than this controller were given. */
            uint32_t room;
        } room;
        struct {
            uint64_t nonce;
        } proof; /* CHALLENGE, PROOF */
        struct {
            uint32_t number; /* ascending on a connection, and in all of a process; 0 is none */
            /* The connection, as the switch sees it that has accepted it. */
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

/* Writes the framed message into buffer (TRIB_MESSAGE_MAX bytes); returns its length. Texts without a final zero are
 * cut. */
size_t trib_message_encode(const struct trib_message *message, uint8_t *buffer);
/* Reads one framed message from len bytes. *used: bytes taken; 0 with OK: more are needed, and *message is no message.
 * ERR_INVALID: not a message (the connection must end); the kind is NONE, or there is a bad_field ("end": bytes are
 * left over behind the last field). ERR_VERSION: a JOIN, CONTROL or HELLO of another version; *message then holds magic
 * and versions only. Or there is an unknown_item, and the rest is whole. Code that acts on a value checks its range;
 * texts hold no zero byte, bools are 0 or 1. */
TRIB_MUST_USE enum trib_status trib_message_decode(const uint8_t *buffer, size_t len, struct trib_message *message,
                                                   size_t *used);

/* Bytes of the framed message that begins with these four, framing included. 0: no message begins so. */
size_t trib_message_size(const uint8_t *buffer);

/* The name in docs/PROTOCOL.md: "JOIN". A literal; "?": no kind. */
const char *trib_message_name(enum trib_message_kind kind);

/* True if the kind is in turn from this sender, at this stage of the receiver's end. A message out of turn has no
 * effect, and ends the session. A receiver asks before anything else, and checks the fields afterwards. */
bool trib_message_is_in_turn(enum trib_message_kind kind, enum trib_sender sender, enum trib_stage stage);
/* At any time? */
bool trib_message_is_of(enum trib_message_kind kind, enum trib_sender sender);

/* hosts.c: the hosts in a WELCOME are possible. */
bool trib_hosts_are_sane(const struct trib_message *welcome);

#endif
