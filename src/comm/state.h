/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: the data of the library: endpoints with their sockets, communicators, and requests. struct trib_comm is one
 * worker node and one session, or the memory of one host. Functions have headers of their own. The endpoint's lock
 * protects all of the data.
 * Read next: endpoint.h (sockets and threads), turn.h (a communicator's turn), join.h (the dialogue with the control
 * plane), local.h (one host). */
#ifndef TRIB_COMM_STATE_H
#define TRIB_COMM_STATE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "comm/embedded.h"
#include "comm/transport.h"
#include "control/agents/root.h"
#include "control/words/ping.h"
#include "control/words/session_client.h"
#include "core/node.h"
#include "host/host.h"
#include "io/clock.h"
#include "io/nap.h"
#include "io/spin.h"
#include "keys/auth.h"
#include "keys/derive.h"
#include "net/nics.h"
#include "net/port.h"
#include "switchd/plane.h"

struct trib_comm;
struct trib_sampled; /* sample.h */

#define TRIB_ENDPOINT_BUCKETS 64

/* The place that sessions go to: a switch, or the rendezvous of ranks without one. */
struct trib_where {
    struct trib_address address;
    char name[64];  /* the same as text */
    char title[80]; /* "switch 10.0.0.1:7470", "rendezvous 10.0.0.1:7470" */
    bool no_box;    /* no switch: the ranks' processes are the roots */
    bool is_server; /* the switch behind the combiner that the endpoint's sockets are for (detour.h) */
};

/* A data socket: of the endpoint, or a communicator's for multicast. */
struct trib_channel {
    struct trib_port *port; /* NULL: none */
    uint32_t shard;
    bool is_group; /* results by multicast come here */
    bool is_wide;  /* for roots elsewhere than at the endpoint's switch: each packet has its own address */
    bool hot;      /* may have something to read */
    /* counts of the socket that communicators have taken as theirs */
    uint64_t told_bytes, told_packets, told_dropped;
};

/* Descriptors of one poller: its eventfd, the endpoint's sockets, one descriptor for all sessions, and the sockets
 * of communicators that listen to multicast. */
struct trib_pollset {
    struct pollfd *fds;
    struct trib_comm **listeners; /* in the order of their sockets in fds */
    uint32_t count;
    uint32_t listener_count;
    uint32_t capacity;
    uint64_t generation; /* of the endpoint when it was built */
    uint64_t deadline_ns;
    bool sleeping;
    int eventfd;
};

#define TRIB_OWN_ROOT_FDS_MAX (TRIB_SHARD_FDS * TRIB_ROOTS_MAX)

struct trib_own_root {
    struct trib_plane *plane; /* NULL: there is none, ranks meet at a switch or on one host */
    struct trib_data_plane verbs;
    struct trib_agent agent;          /* of the verbs; its slots are in no quota */
    uint64_t wake_ns[TRIB_ROOTS_MAX]; /* deadline of each shard's next look, ns */
    uint64_t packets[TRIB_ROOTS_MAX]; /* received when last looked */
    uint32_t hot;                     /* bitmap of the shards that may have something to do */
    bool is_joined; /* one shard's socket and the ranks' are neighbours, which know each other by these: */
    struct trib_address known_as, rank_known_as;
};

struct trib_endpoint {
    pthread_mutex_t lock;
    atomic_uint wanting;      /* threads that wait for the lock */
    pthread_cond_t followers; /* waiting threads that do not lead; closers */
    pthread_cond_t parked;    /* the progress thread while others drive */
    struct trib_comm *comms;
    struct trib_comm *awake; /* of these: communicators with work, a deadline, or a multicast group */
    struct trib_comm *table[TRIB_ENDPOINT_BUCKETS]; /* those with a grant, by id */
    int sessions_fd;                                /* epoll: the sessions of all */
    /* Fragments that all communicators together may have in flight to one shard: the largest grant of one. */
    uint32_t window;
    uint32_t busy;                                  /* communicators with operations */
    struct trib_channel shards[2 * TRIB_ROOTS_MAX]; /* of the switch's shards, the wide ones behind them */
    struct trib_channel *wide;                      /* one, or one for each network card; NULL: there is none */
    uint32_t shard_count;                           /* all together */
    uint32_t wide_count;
    struct trib_own_root own_root; /* this process's root; closed where there are rings alone */
    uint32_t waiters;              /* threads inside trib_endpoint_wait */
    bool has_leader;
    bool stopping;
    bool has_progress;
    /* Shards of the switch that the sockets are connected to; len 0: not connected. */
    struct trib_address connected[TRIB_ROOTS_MAX];
    uint64_t generation;      /* rises when the set of descriptors or their interest changes */
    uint64_t polled_ns;       /* last time that sessions were looked at */
    uint64_t driven_ns;       /* last time that a caller drove */
    uint64_t parked_until_ns; /* 0: the progress thread is not parked */
    struct trib_pollset leader_set;
    struct trib_pollset progress_set;
    pthread_t progress;
    /* fixed */
    struct trib_where where;   /* place of all communicators that have not moved */
    struct trib_config config; /* of the first communicator: settings of sockets and threads */
    /* Addresses of the cards: card t mod n reaches shard or root t. None: as the routes lead. */
    struct trib_address_list nics;
    bool flags_backlog;          /* some communicator's windows follow congestion: sockets look at their backlog */
    struct trib_spin spin;       /* the leader's, with nothing more to send; */
    struct trib_spin train_spin; /* with more */
    struct trib_nap nap;         /* of the thread that sleeps: one drives at a time */
    bool has_hosts;              /* ranks of this host have met in memory, for some communicator */
    bool is_local;               /* of communicators on one host: no switch, no sockets */
    struct trib_port_stats closed_traffic; /* of sockets that are closed again */
    /* registry */
    struct trib_endpoint *next;
    atomic_uint holders; /* the registry, and every request that was started and is not collected yet */
};

struct trib_request {
    struct trib_comm *comm;         /* not to be touched once done: close may have freed it */
    struct trib_endpoint *endpoint; /* its lock is there until the request is collected */
    uint64_t serial;                /* of comm */
    struct trib_request *next;
    struct trib_request *previous;
    struct trib_request *group;   /* of this operation, or itself; NULL: no group */
    struct trib_sampled *sampled; /* sample of the operation; NULL: none */
    struct trib_operation operation;
    uint64_t deadline_ns;
    uint32_t left;    /* operations that have not ended */
    uint32_t members; /* of a group, which lie behind it */
    enum trib_status status;
    atomic_bool done; /* set last: a thread that reads true may free the request without the lock */
};

/* First in, first out; operations end nearly in order, so the head is the oldest. */
struct trib_request_list {
    struct trib_request *head;
    struct trib_request *tail;
};

/* Since the last PROGRESS. */
struct trib_progress {
    uint64_t bytes;   /* of operations that have ended, packet headers included */
    uint64_t busy_ns; /* time with an operation under way */
};

/* The states of a communicator and its session. states.c says which may follow which. */
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

/* A second place of a communicator's sessions, and why no session is there. "": not tried. */
struct trib_elsewhere {
    struct trib_where where; /* len 0: there is none */
    char cause[128];
    char away[TRIB_ERROR_TEXT_MAX]; /* said by AWAY */
};

/* Where a packet has come from. */
struct trib_came_from {
    uint32_t root; /* of the communicator */
    bool is_group; /* by multicast */
};

struct trib_comm {
    /* every packet */
    struct trib_endpoint *endpoint;
    struct trib_comm *next; /* in the endpoint */
    struct trib_comm *next_awake;
    struct trib_comm *next_named;              /* in a bucket of the endpoint's table */
    uint32_t group_count;                      /* of `groups` */
    uint32_t last_root;                        /* without a switch: index of the last packet's sender */
    struct trib_where where;                   /* place of its sessions */
    struct trib_address roots[TRIB_ROOTS_MAX]; /* address of each root or peer */
    struct trib_address known_as;              /* address by which its own root knows this process, without a switch */
    struct trib_address seen_as;    /* without a switch: address by which other ranks know this rank; len 0: not said */
    uint32_t root_count;            /* of `roots` */
    uint16_t peers[TRIB_PEERS_MAX]; /* rank of each peer */
    char asked[32];                 /* scheme before the switch made a ring of the job; "": no ring was made */
    uint32_t window;
    uint64_t rate; /* bytes per second that this rank sends at most, as the controller says; 0: no limit */
    struct trib_progress progress;
    const struct trib_transport *transport;
    const struct trib_worker_verbs *verbs;
    void *node; /* NULL before the first WELCOME, and on one host */
    size_t node_size;
    struct trib_host *host;     /* memory of this host, for the transports that use memory */
    struct trib_level0 *level0; /* of the transport level 0; NULL: it is another one */
    uint32_t member, members;   /* members of the sums on the network: this rank and all ranks, or their hosts */
    uint32_t hosts;             /* hosts whose ranks are summed in memory first; 0: none */
    bool is_led;                /* another rank of this host sends for it */
    uint32_t host_first;        /* rank here of rank 0 there */
    uint64_t deadline_ns;       /* deadline of the next settling if no event comes before, ns */
    enum trib_comm_state state;
    bool dirty; /* has new work: settle */
    bool moved; /* on one host: settling made progress */
    bool is_awake;
    bool is_busy;            /* counted in the endpoint's `busy` */
    bool follows_congestion; /* windows of its node follow congestion */
    bool has_given_up;       /* before READY: ABORT is sent, and the answer names the missing ranks */
    bool is_used;            /* the node has had an operation since its memory was given back */
    struct trib_channel groups[TRIB_ROOTS_MAX];
    /* every operation */
    struct trib_request_list running; /* operations that the node has */
    struct trib_request_list waiting; /* operations for which the node has no room */
    uint64_t serial;                  /* among all communicators of the process, from 1 on */
    uint64_t idle_since_ns;           /* end of the last operation, or begin of the first running one */
    uint64_t told_mark;               /* by the session */
    uint32_t callers;                 /* threads that wait for a request of comm */
    uint32_t probes;                  /* PROBING: sent so far */
    /* the session */
    struct trib_session_client session;
    struct trib_ping ping; /* of the switch, while this rank waits */
    int polled_fd;         /* session descriptor and interest that the pollers have */
    short polled_interest;
    struct trib_grant grant;     /* communicator 0: none yet */
    struct trib_address meeting; /* meeting place without the switch; len 0: none */
    struct trib_root root;       /* without a switch: this process's part in the communicator as a root */
    /* Share of the control plane in this process. NULL: the control plane is elsewhere, or there is none. */
    struct trib_embedded *embedded;
    uint64_t state_deadline_ns;
    uint64_t retry_ns; /* CONNECTING: next try, or end of this one; PROBING: next probe */
    uint64_t retry_gap_ns;
    uint64_t outage_deadline_ns; /* end of the wait for an absent switch; state_deadline_ns while CONNECTING */
    struct trib_elsewhere other; /* of a rank behind a combiner: the server; of one that went there: the combiner */
    uint64_t detour_ns;          /* CONNECTING: time of the next try at `other` */
    uint64_t waits_ns;           /* start of the wait to be let in, or in again, over all losses meanwhile; NEVER: in */
    uint64_t group_deadline_ns;  /* PROBING: how long multicast is waited for */
    uint64_t probes_until_ns;    /* PROBING: how long unicast is */
    uint64_t boot_hint_ns;       /* last time that a BOOT hint was looked into */
    uint64_t paths;              /* bitmap of shards that echoed */
    uint64_t proved;             /* bitmap of shards whose address is proved: the others get headers alone */
    /* Nonces for each root or peer to send back, drawn for each WELCOME; and nonces from each, which prove this
     * rank's address. 0: none yet */
    uint64_t own_nonce[TRIB_ROOTS_MAX], path_nonce[TRIB_ROOTS_MAX];
    uint32_t headers[TRIB_PEERS_MAX]; /* headers sent to each peer before it brought its nonce */
    uint64_t group_paths;             /* bitmap of shards heard by multicast */
    uint32_t stalls_open;             /* reported, and not answered */
    bool was_running;                 /* READY has come at least once */
    atomic_bool joined;
    atomic_bool ended; /* closing or failing is over */
    bool is_closing;
    bool is_dissolving;          /* its closer waits for `callers` */
    bool is_multicast;           /* results come by multicast */
    bool is_over;                /* without a switch: `left` has closed, so no further operation can end */
    bool has_moved;              /* the switch is gone, and comm goes on without */
    bool is_detour;              /* `where` and `other` have changed places for one try */
    bool is_untried;             /* comm stays where such a try went, and no READY has come there */
    bool stall_is_mark;          /* the communicator's mark M waits at stall_sequence, not this rank */
    bool is_derived;             /* made by split or subset: rank 0 of the job is not rank 0 here */
    uint32_t making;             /* communicators that are being made of this one */
    uint32_t priority;           /* of operations at combiners */
    struct trib_maker made_by;   /* maker, as JOIN names it; communicator 0: none, or on one host */
    struct trib_comm *maker;     /* joining by split or subset of that one, which must not fail before; else NULL */
    struct trib_subset *subsets; /* made of this one so far: split.c */
    size_t subset_count;
    uint64_t close_deadline_ns; /* NEVER: not closing */
    /* Why the switch could not take the last JOIN further up; "": it could, or was not reached. */
    char away[TRIB_ERROR_TEXT_MAX];
    char left[160];
    char ring_cause[TRIB_ERROR_TEXT_MAX]; /* why it did, says the switch */
    /* the last stall report, for texts */
    uint64_t stall_sequence;
    char stall_text[320]; /* missing ranks, from the control plane; "": not said */
    uint64_t stall_ns;    /* on one host: time of the next report that a rank is missing */
    uint64_t stalled_ns;  /* start of the wait */
    /* failure: text is written before `failed` */
    atomic_bool failed;
    enum trib_status failure;
    char failure_text[TRIB_ERROR_TEXT_MAX];
    /* counts */
    struct trib_comm_stats stats;
    uint64_t dropped[TRIB_DROP_COUNT]; /* before a node saw them */
    struct trib_port_stats base;       /* of the endpoint's sockets at creation */
    struct trib_port_stats root_base;  /* and of the root's */
    struct trib_config config;         /* without the key */
    struct trib_keys keys;             /* not set: no key */
    struct trib_auth *auth;            /* of this incarnation's packets (auth.h); NULL: they have no authenticators */
    struct trib_tag *tag;              /* of the node's lanes (proof.h); NULL: they prove no values */
    struct trib_sampler *sampler;      /* of sums that they do not prove (sample.h); NULL: none is sampled */
};

/* Ranks send to each other, and not to roots. */
static inline bool trib_comm_has_peers(const struct trib_comm *comm)
{
    return comm->transport->kind == TRIB_TRANSPORT_RANKS;
}

/* True if packets of comm go from the unconnected socket to the places in WELCOME, and not from a socket for each shard
 * of the endpoint's switch. */
static inline bool trib_comm_is_wide(const struct trib_comm *comm)
{
    return comm->where.no_box || comm->where.is_server || trib_comm_has_peers(comm);
}

/* CLOSED or FAILED. */
static inline bool trib_comm_has_ended(const struct trib_comm *comm)
{
    return comm->state == TRIB_COMM_FAILED || comm->state == TRIB_COMM_CLOSED;
}

/* All ranks are on this host, and no packet is sent. */
static inline bool trib_comm_is_local(const struct trib_comm *comm)
{
    return comm->transport->kind == TRIB_TRANSPORT_HOST;
}

/* True if the memory must be looked at in every round of the loop. */
static inline bool trib_comm_is_busy(const struct trib_comm *comm)
{
    return comm->transport->is_busy != NULL && comm->transport->is_busy(comm);
}

/* Without a worker node, the following do nothing, and return 0 or NULL. */

/* Packets count again from the next READY on. */
static inline void trib_comm_suspend(struct trib_comm *comm)
{
    if (comm->node != NULL) {
        comm->verbs->suspend(comm->node);
    }
}

/* The rank's own mark. */
static inline uint64_t trib_comm_mark(const struct trib_comm *comm)
{
    return comm->node != NULL ? comm->verbs->mark(comm->node) : 0;
}

/* The communicator's mark M, as far as this rank knows. */
static inline uint64_t trib_comm_common_mark(const struct trib_comm *comm)
{
    return comm->node != NULL ? comm->verbs->node.communicator_mark(comm->node) : 0;
}

/* Fragments under way to all roots. */
static inline uint64_t trib_comm_in_flight(const struct trib_comm *comm)
{
    uint64_t count = 0;
    for (uint32_t root = 0; comm->node != NULL && root < comm->grant.roots; root++) {
        count += comm->verbs->in_flight(comm->node, root);
    }
    return count;
}

/* Is there more to be done than a window to each root holds? */
static inline bool trib_comm_has_more(const struct trib_comm *comm)
{
    return comm->node != NULL && comm->verbs->end(comm->node) - comm->verbs->mark(comm->node) >
                                     (uint64_t)comm->grant.window * comm->grant.roots;
}

static inline const struct trib_counters *trib_comm_counters(const struct trib_comm *comm)
{
    return comm->node != NULL ? comm->verbs->node.counters(comm->node) : NULL;
}

#endif
