/* SPDX-License-Identifier: Apache-2.0 */
/* communicator.h: what is behind struct trib_comm: one worker node and one session, or the memory of one host; and the
 * requests between the caller and those. Everything here is called with the endpoint's lock held.
 * Read next: communicator.c (packets and requests), join.c (the dialogue with the control plane), local.c (one host),
 * endpoint.h (who drives). */
#ifndef TRIB_COMM_COMMUNICATOR_H
#define TRIB_COMM_COMMUNICATOR_H

#include <stdatomic.h>

#include "comm/embedded.h"
#include "comm/endpoint.h"
#include "comm/level0.h"
#include "control/words/ping.h"
#include "control/words/session_client.h"
#include "core/node.h"
#include "host/host.h"
#include "io/clock.h"

/* The states of a communicator's session. A lost session leads from any to CONNECTING, a failure to FAILED. */
enum trib_comm_state {
    TRIB_COMM_NONE = 0,
    TRIB_COMM_CONNECTING,  /* connecting, or waiting to try again */
    TRIB_COMM_JOINING,     /* JOIN has been sent */
    TRIB_COMM_MEETING,     /* WELCOME has come, ranks of this host meet in its memory */
    TRIB_COMM_PROBING,     /* WELCOME has come, paths are tried */
    TRIB_COMM_REGISTERING, /* REGISTER has been sent */
    TRIB_COMM_RUNNING,     /* READY has come */
    TRIB_COMM_CLOSED,      /* CLOSED has come */
    TRIB_COMM_FAILED
};

/* Where a packet has come from. */
struct trib_came_from {
    uint32_t root; /* of the communicator */
    bool is_group; /* by multicast */
};

struct trib_request {
    struct trib_comm *comm;         /* not to be touched once done: close may have freed it */
    struct trib_endpoint *endpoint; /* its lock is there until the request is collected */
    uint64_t serial;                /* of comm */
    struct trib_request *next;
    struct trib_request *previous;
    struct trib_request *group; /* that this is one operation of, or itself; NULL: no group */
    struct trib_operation operation;
    uint64_t deadline_ns;
    uint32_t left;    /* operations that have not ended */
    uint32_t members; /* of a group, which lie behind it */
    enum trib_status status;
    atomic_bool done; /* set last: whoever sees it may free the request without the lock */
};

/* First in, first out; operations end nearly in order, so the head is the oldest. */
struct trib_request_list {
    struct trib_request *head;
    struct trib_request *tail;
};

struct trib_comm {
    /* every packet */
    struct trib_endpoint *endpoint;
    struct trib_comm *next; /* in the endpoint */
    struct trib_comm *next_awake;
    struct trib_comm *next_named;              /* in a bucket of the endpoint's table */
    uint32_t group_count;                      /* of `groups` */
    uint32_t last_root;                        /* without a switch: index of who sent the last packet */
    struct trib_where where;                   /* its sessions go */
    struct trib_address roots[TRIB_ROOTS_MAX]; /* where each root is, or each peer */
    struct trib_address known_as;              /* by which its own root knows this process, where no switch is */
    struct trib_address seen_as;               /* without a switch: how others know this rank; len 0: it was not said */
    uint32_t root_count;                       /* of `roots` */
    uint16_t peers[TRIB_PEERS_MAX];            /* which rank each peer is */
    bool has_peers;                            /* the scheme's ranks send to each other, and to no root */
    bool follows_congestion;                   /* its node's windows do */
    char asked[32];                            /* the scheme before the switch made a ring of it; "": it did not */
    uint32_t window;
    const struct trib_worker_verbs *verbs;
    void *node; /* NULL before the first WELCOME, and on one host */
    size_t node_size;
    struct trib_host *host; /* the memory of this host. Without level0 all ranks are there: neither node nor session */
    struct trib_level0
        *level0;          /* ranks of this host are summed in it before their leader sends; NULL: none are, or all */
    uint32_t host_first;  /* rank here of rank 0 there */
    uint64_t deadline_ns; /* when to settle next although nothing comes */
    enum trib_comm_state state;
    bool dirty; /* has been given something: settle */
    bool moved; /* on one host: settling has brought something on */
    bool is_awake;
    bool is_busy; /* counted in the endpoint's `busy` */
    bool is_used; /* its node has had an operation since its memory was given back */
    struct trib_channel groups[TRIB_ROOTS_MAX];
    /* every operation */
    struct trib_request_list running; /* the node has them */
    struct trib_request_list waiting; /* the node has no room */
    uint64_t serial;                  /* among all communicators of the process, from 1 on */
    uint64_t idle_since_ns;           /* the last operation ended, or the first of those that run began */
    uint64_t told_mark;               /* by the session */
    uint32_t callers;                 /* threads that wait for one of its requests */
    uint32_t probes;                  /* PROBING: sent so far */
    /* the session */
    struct trib_session_client session;
    struct trib_ping ping; /* of the switch, while this rank waits */
    int polled_fd;         /* what the pollers know of the session */
    short polled_interest;
    struct trib_grant grant;     /* communicator 0: none yet */
    struct trib_address meeting; /* where to go on without the switch; len 0: nowhere */
    struct trib_root root;       /* without a switch: what this process is to the communicator */
    struct trib_embedded
        *embedded; /* this rank's share of the control plane in its process; NULL: it is elsewhere, or there is none */
    uint64_t state_deadline_ns;
    uint64_t retry_ns; /* CONNECTING: next try, or end of this one; PROBING: next probe */
    uint64_t retry_gap_ns;
    uint64_t
        outage_deadline_ns; /* how long a switch that is not there is waited for; state_deadline_ns while CONNECTING */
    uint64_t waits_ns; /* since when it waits to be let in, or again, whatever was lost meanwhile; NEVER: it is in */
    uint64_t group_deadline_ns; /* PROBING: how long multicast is waited for */
    uint64_t probes_until_ns;   /* PROBING: how long unicast is */
    uint64_t boot_hint_ns;      /* last time that a BOOT hint was looked into */
    uint64_t paths;             /* bitmap of shards that echoed */
    uint64_t proved;            /* and of those that are where they are said to be: the others get headers alone */
    /* That each is to send back, drawn for each WELCOME; and that each has sent, to prove this rank's address by. 0: none
     * yet */
    uint64_t own_nonce[TRIB_ROOTS_MAX], path_nonce[TRIB_ROOTS_MAX];
    uint32_t headers[TRIB_PEERS_MAX]; /* that have gone to each peer which had not brought its nonce */
    uint64_t group_paths;             /* and of those heard by multicast */
    uint32_t stalls_open;             /* reported, and not answered */
    bool was_running;                 /* READY has come at least once */
    atomic_bool joined;
    atomic_bool ended; /* closing or failing is over */
    bool is_closing;
    bool is_dissolving;          /* its closer waits for `callers` */
    bool is_multicast;           /* results come by multicast */
    bool is_over;                /* without a switch: `left` has closed, so no further operation can end */
    bool has_moved;              /* its switch is gone, and it goes on without */
    bool stall_is_mark;          /* it is M that waits at stall_sequence, and not this rank */
    bool is_derived;             /* made by split or subset: rank 0 of the job is not rank 0 here */
    uint32_t making;             /* communicators that are being made of this one */
    struct trib_maker made_by;   /* what its JOINs say of its maker; communicator 0: it has none, or is on one host */
    struct trib_comm *maker;     /* joining by split or subset of that one, which must not fail before; else NULL */
    struct trib_subset *subsets; /* made of this one so far: split.c */
    size_t subset_count;
    uint64_t close_deadline_ns;
    char away
        [TRIB_ERROR_TEXT_MAX]; /* why the switch could not take the last JOIN further up; "": it could, or was not reached */
    char left[160];
    char ring_cause[TRIB_ERROR_TEXT_MAX]; /* why it did, says the switch */
    /* the last stall report, for texts */
    uint64_t stall_sequence;
    char stall_text[320]; /* who is missing, says the control plane; "": it has not said */
    uint64_t stall_ns;    /* on one host: when to say that somebody is missing */
    uint64_t stalled_ns;  /* and since when */
    /* failure: text is written before `failed` */
    atomic_bool failed;
    enum trib_status failure;
    char failure_text[TRIB_ERROR_TEXT_MAX];
    /* counts */
    struct trib_comm_stats stats;
    uint64_t dropped[TRIB_DROP_COUNT]; /* before a node saw them */
    struct trib_port_stats base;       /* of the endpoint's sockets at creation */
    struct trib_port_stats root_base;  /* and of the root's */
    struct trib_config config;
};

/* Its packets go from the wide socket to the places that WELCOME names, not to shards of a switch. */
static inline bool trib_comm_is_wide(const struct trib_comm *comm)
{
    return comm->where.no_box || comm->has_peers;
}

/* ---- comm.c ---- */

/* As trib_comm_create with the settings of `maker`, on its endpoint; fails if that fails. Not locked. */
TRIB_MUST_USE enum trib_status trib_comm_create_from(struct trib_comm *maker, const struct trib_config *config,
                                                     struct trib_comm **comm, char *error);

/* ---- communicator.c ---- */

/* A decoded packet for this communicator. */
void trib_comm_receive(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *packet,
                       uint64_t now_ns);
/* Timers, packets out, events, and the next deadline. */
void trib_comm_settle(struct trib_comm *comm, uint64_t now_ns);
/* Hands the request to the node, or queues it; its packets leave when the caller settles. The communicator has not
 * failed. */
void trib_comm_submit(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns);
/* Ends the communicator: all requests end with status. The first failure stays. */
__attribute__((format(printf, 3, 4))) void trib_comm_fail(struct trib_comm *comm, enum trib_status status,
                                                          const char *format, ...);
/* As fail, and tells the other ranks. */
__attribute__((format(printf, 3, 4))) void trib_comm_fail_all(struct trib_comm *comm, enum trib_status status,
                                                              const char *format, ...);
/* In the child of a fork: it has failed, has no descriptor, and its requests have ended. Tells nobody. */
void trib_comm_abandon(struct trib_comm *comm);
/* For calls that begin something: OK, or the failure that has ended it. A communicator that the others have left fails
 * now. */
TRIB_MUST_USE enum trib_status trib_comm_check_open(struct trib_comm *comm);
bool trib_comm_is_idle(const struct trib_comm *comm);
/* Sends to that root; the caller flushes. */
void trib_comm_send(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet);
void trib_comm_flush(struct trib_comm *comm);
/* "allreduce of 1,024 float32 (sum) as operation 17" into text of size bytes. */
void trib_comm_describe(const struct trib_comm *comm, uint64_t sequence, char *text, size_t size);
/* "rank 2 is missing", "ranks 2, 3 are missing". */
void trib_comm_name_ranks(const struct trib_rank_list *ranks, char *text, size_t size);

/* "operation 17, allreduce of 1024 float32 (sum)" into text of size bytes. */
void trib_comm_describe_operation(uint64_t number, const struct trib_operation *operation, char *text, size_t size);
/* The operation has ended well. */
void trib_comm_end_operation(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns);
#define TRIB_COMM_USED_UP "the communicator has used up its sequences: create a new one"
/* Would the operation need more sequences than there are left? */
bool trib_comm_is_used_up(const struct trib_comm *comm, const struct trib_operation *operation);
/* The oldest request that waits is running from now on. */
struct trib_request *trib_comm_begin_waiting(struct trib_comm *comm);

/* ---- local.c ---- */

static inline bool trib_comm_has_ended(const struct trib_comm *comm)
{
    return comm->state == TRIB_COMM_FAILED || comm->state == TRIB_COMM_CLOSED;
}

/* All ranks are on this host, and no packet is sent. */
static inline bool trib_comm_is_local(const struct trib_comm *comm)
{
    return comm->host != NULL && comm->level0 == NULL;
}

/* Has the memory something to look for? */
static inline bool trib_comm_is_busy_on_host(const struct trib_comm *comm)
{
    if (comm->host != NULL && comm->level0 != NULL) {
        return comm->state != TRIB_COMM_FAILED && comm->level0->hearsay_ns == TRIB_NEVER &&
               trib_host_is_active(comm->host);
    }
    return comm->host != NULL && comm->state == TRIB_COMM_RUNNING &&
           (comm->running.head != NULL || comm->waiting.head != NULL);
}

/* Meets the other ranks. Not locked: the communicator has no endpoint yet. maker: NULL, or what it is made of, whose
 * failure ends it. Returns as trib_comm_create. */
TRIB_MUST_USE enum trib_status trib_comm_open_host(struct trib_comm *comm, const struct trib_comm *maker, char *error);
/* Operations, as far as they go without waiting. */
void trib_comm_run_host(struct trib_comm *comm, uint64_t now_ns);
/* Says to the other ranks why this one has failed. */
void trib_comm_tell_host(struct trib_comm *comm, enum trib_status status, const char *text);
/* What became of trib_host_advance, but DONE: fails, or waits. */
void trib_comm_take_host_verdict(struct trib_comm *comm, enum trib_host_verdict verdict);
/* Says for whom the operation waits. */
void trib_comm_report_host_stall(struct trib_comm *comm, uint64_t now_ns);
/* What poll said of its descriptors. Returns how many they are. */
uint32_t trib_comm_host_ready(struct trib_comm *comm, const struct pollfd *answers);

/* ---- peers.c ---- */

/* Does WELCOME name those peers that the scheme has, or none where it has none? */
bool trib_comm_is_welcome_of_peers(const struct trib_comm *comm, const struct trib_message *message);
/* Where packets go from now on, by WELCOME: the sockets of a switch's shards are connected. ERR_SYSTEM, ERR_REFUSED,
 * ERR_UNREACHABLE with the cause in error. */
TRIB_MUST_USE enum trib_status trib_comm_take_places(struct trib_comm *comm, const struct trib_message *message,
                                                     char *error);
/* What those are: "roots". */
const char *trib_comm_places(const struct trib_comm *comm);
/* Which of `roots` that is; root_count: none. */
uint32_t trib_comm_root_at(const struct trib_comm *comm, const struct trib_place *to);
bool trib_comm_knows_peers(const struct trib_comm *comm); /* it has some, and all have proved where they are */
/* A peer's PATH packet goes back, at its size if that has proved where it is. False: it is this rank's own that has come back. */
bool trib_comm_echo_path(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet);
/* The rank before this one runs another operation: the control plane asks both. */
void trib_comm_dispute(struct trib_comm *comm, const struct trib_event *event);

/* Of the network cards that are named a ring uses one. */
void trib_comm_warn_of_cards(const struct trib_comm *comm);

/* ---- ring.c ---- */

/* The switch wants the job to be a ring (RING). */
void trib_comm_take_ring(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns);

/* ---- stall.c ---- */

/* The node waits; and the control plane's answer to that. */
void trib_comm_report_stall(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns);
void trib_comm_take_missing(struct trib_comm *comm, const struct trib_message *message);
/* join.c: the control plane has said what it may not say now: the communicator ends. */
void trib_comm_refuse_turn(struct trib_comm *comm, enum trib_message_kind kind);

/* ---- silent.c ---- */

/* When to ask the switch whether it still reads; and does so. */
uint64_t trib_comm_ping_deadline(const struct trib_comm *comm);
void trib_comm_ping(struct trib_comm *comm, uint64_t now_ns);

/* ---- move.c ---- */

/* If the switch ends, or is not back in time: may the communicator go on without it? */
bool trib_comm_may_move(const struct trib_comm *comm);
/* Is it still being made of one that may? Then that one, which hears the same of the switch, takes it along. */
bool trib_comm_is_brought(const struct trib_comm *comm);
/* When it does so although the switch is back, since other ranks are not. */
uint64_t trib_comm_move_time(const struct trib_comm *comm, uint64_t now_ns);
/* It does, or fails. */
void trib_comm_move(struct trib_comm *comm, uint64_t now_ns);
/* The switch, or where its ranks met without it, did not let all in again: fails, and says what was tried. */
void trib_comm_give_up_return(struct trib_comm *comm, uint64_t now_ns);
/* Why it is not in again by now, while it waits for that. text: TRIB_ERROR_TEXT_MAX bytes. */
void trib_comm_explain_absence(const struct trib_comm *comm, uint64_t now_ns, char *text);
/* WELCOME has said where that would be. */
void trib_comm_learn_meeting(struct trib_comm *comm, const struct trib_address *meeting);
/* A ring whose switch is away, and everybody has all that this rank has finished: it may leave. */
bool trib_comm_is_done_ring(const struct trib_comm *comm);
/* Until when its closer waits for CLOSED. */
uint64_t trib_comm_close_time(const struct trib_comm *comm, uint64_t now_ns);
/* Of a JOIN after moving. */
void trib_comm_keep_hosts(const struct trib_comm *comm, struct trib_message *join);

/* ---- worker.c ---- */

/* What the settings of all ranks say of a session, and no grant: how tensors become payloads. */
void trib_comm_describe_session(const struct trib_comm *comm, struct trib_session_config *session);
/* For the grant of its WELCOME. Returns ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_comm_make_node(struct trib_comm *comm, const struct trib_grant *grant);
/* At another place less may be in flight. */
void trib_comm_shrink_window(struct trib_comm *comm, const struct trib_grant *grant);

/* ---- join.c ---- */

void trib_comm_join(struct trib_comm *comm, uint64_t now_ns);
/* Connects to where it goes now, until outage_deadline_ns. */
void trib_comm_reconnect(struct trib_comm *comm, uint64_t now_ns);
/* What poll said about the session. */
void trib_comm_session_ready(struct trib_comm *comm, short revents, uint64_t now_ns);
/* Timers of the dialogue. */
void trib_comm_session_timeout(struct trib_comm *comm, uint64_t now_ns);
uint64_t trib_comm_session_deadline(const struct trib_comm *comm);
/* Looks at a BOOT hint, a mark to tell. */
void trib_comm_hint_boot(struct trib_comm *comm, uint64_t now_ns);
void trib_comm_tell_mark(struct trib_comm *comm, enum trib_message_kind kind);
/* CLOSE with its mark, if it closes and its session stands. */
void trib_comm_tell_close(struct trib_comm *comm);
/* Says REGISTER. */
void trib_comm_register(struct trib_comm *comm);
/* Until when a switch that was away may go away again, before all ranks are back. */
uint64_t trib_comm_last_outage_time(const struct trib_comm *comm);
/* "; waited 1.2 s (TRIB_JOIN_TIMEOUT is 1 s)", for errors: the time that has passed, and the setting that it is bound by.
 * text: TRIB_COMM_WAITED_MAX bytes. Returns it. */
char *trib_comm_say_waited(const struct trib_comm *comm, uint64_t now_ns, char *text);
#define TRIB_COMM_WAITED_MAX 128
/* Until when the other ranks may come back as well: where this one is now they have as long as where it was before, or the
 * control plane could not name who is missing. */
uint64_t trib_comm_return_time(const struct trib_comm *comm, uint64_t now_ns);
/* The session stands, but the switch has not answered for the switch timeout: it is gone. */
void trib_comm_lose_silent(struct trib_comm *comm, uint64_t now_ns);
/* Why there is no session, for texts. */
const char *trib_comm_cause(const struct trib_comm *comm);

/* ---- paths.c ---- */

/* WELCOME has come, and those of this host have met. */
void trib_comm_begin_probing(struct trib_comm *comm);
/* A PATH packet has come. */
void trib_comm_path_arrived(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *echo);
/* Tries again, or goes on to REGISTERING, or fails for want of a way. */
void trib_comm_check_paths(struct trib_comm *comm, uint64_t now_ns);
/* When to do so. */
uint64_t trib_comm_paths_deadline(const struct trib_comm *comm);
void trib_comm_close_groups(struct trib_comm *comm);
/* Its packets are its own; those of other ranks of a host are their leader's. */
static inline bool trib_comm_has_worker(const struct trib_comm *comm)
{
    return comm->level0 == NULL || trib_level0_leads(&comm->level0->place);
}

#endif
