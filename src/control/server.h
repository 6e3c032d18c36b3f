/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: the control plane embedded in a switch: listens for sessions, admits jobs within quotas, gives out ids,
 * boot id, roots and windows, watches liveness, and serves HTTP for people. The control plane owns no slots, and
 * reaches the data plane through a table of functions (agents/data_plane.h). So the control plane can be tested without
 * a data plane. One thread runs trib_server_run. Other threads may call trib_server_stop (signal handlers too), and the
 * functions marked "any thread".
 * Read next: jobs.h (the decisions), connections.h (the sessions), server.c (the loop), switchd/switchd.c (the data
 * plane). */
#ifndef TRIB_CONTROL_SERVER_H
#define TRIB_CONTROL_SERVER_H

#include "control/agents/data_plane.h"
#include "net/nics.h"

struct trib_server;
struct trib_http_verbs;
struct trib_keyring;
struct trib_placed;
struct trib_planned;
struct trib_topology;

/* Work left before a control plane can retire. */
struct trib_server_duties {
    uint32_t jobs;    /* communicators, also communicators that ranks are joining */
    uint32_t needed;  /* of jobs: operations may still run, or will soon run in a derived communicator */
    uint32_t awaited; /* of the other communicators: ranks are joining, and rank 0 is not there */
    char who[192];    /* "ranks 1, 2 of job train": ranks of a needed job */
};

/* Protects HTTP: clients show the token, over TLS 1.3. Secret. */
struct trib_http_guard {
    char *pem;   /* certificates, the switch's first, and its private key; NULL: no TLS */
    char *token; /* wanted by all pages but /healthz, as "Authorization: Bearer TOKEN" */
};

struct trib_server_config {
    struct trib_address listen; /* TCP; UDP port of shard t: the same number + t; port 0: any */
    /* Further addresses for sessions, with the port of listen. Shards then are at all n addresses, listen first: shard
     * t is at address t mod n. */
    struct trib_address_list also;
    struct trib_address http;                 /* len 0: none; the daemon's default is 127.0.0.1 with port + 1000 */
    const struct trib_http_verbs *http_verbs; /* trib_http_verbs(); NULL: none, whatever `http` says */
    const struct trib_http_guard *http_guard; /* borrowed; NULL: everybody may ask, in clear */
    /* Control plane of the parent switch. len 0: none, this switch is a root. */
    struct trib_address parent;
    /* Addresses of other switches with shards for the jobs of this switch (agents/remote.h), of listen's family. None
     * with a parent. */
    struct trib_others lenders;
    /* Switches that may use shards here for jobs, by host address; ports are ignored. None: nothing is lent. */
    struct trib_others lend_to;
    const struct trib_topology *topology; /* for the choice of switches, borrowed; NULL: each switch is one link away */
    const struct trib_planned *planned;   /* jobs with switches chosen by a plan, borrowed; NULL: none */
    const struct trib_placed *placed; /* jobs with pieces placed by a plan on switches below, borrowed; NULL: none */
    const struct trib_keyring *keys;  /* of sessions, borrowed; NULL: sessions are unauthenticated */
    const char *run;                  /* the only accepted run of ranks, borrowed; NULL: any */
    uint32_t trees;                   /* switches per job, of this switch and the lenders; 0: all */
    /* Number of shards. 0: no data plane; the ranks' processes are the roots (roots/roots.h), and `plane` is not
     * used. */
    uint32_t shards;
    uint32_t boot; /* random, not 0 */
    /* Identity of the switch, the same after a restart (net/identity.h). 0: derived from the machine and `listen`. */
    uint64_t identity;
    uint32_t receive_room; /* capacity of a shard's socket, bytes of packets; limits window x children */
    uint64_t memory_quota; /* bytes of slot memory for all jobs */
    uint64_t job_quota;    /* bytes for all communicators of one job */
    uint64_t tenant_quota; /* bytes for all jobs of one key, together; 0: no limit */
    uint64_t threshold;    /* jobs of fewer bytes of gradients an iteration are rings (jobs/threshold.c); 0: none */
    uint64_t ping_gap_ns;  /* between PINGs to another switch, during a wait (words/ping.h); 0: 1 s */
    /* First of TRIB_GROUPS_MAX multicast groups to give out, host order; 0: never. Each communicator has its own group;
     * results go to listen's port + 32 (TRIB_ROOTS_MAX) + shard. */
    uint32_t group;
    uint8_t weight;     /* weight of a root here against roots at other switches; 0 counts as 1 */
    bool http_is_named; /* the user chose the port of `http`; a taken port is ERR_SYSTEM then */
    bool combines_only; /* no slots for sums: only servers above may have communicators here */
    bool is_shared;     /* several users have jobs here: each job needs a unique name */
    bool is_guest;      /* in a foreign process: raises the limit of open files only on demand by ranks */
    /* limit of the wait of the first rank for the last rank, and then of all ranks for the last REGISTER */
    uint64_t join_timeout_ns;
    struct trib_data_plane plane;
    /* Called by the control plane's thread when the duties change during a retirement. May be NULL. */
    void (*changed)(void *owner);
    void *owner;
};

/* Listens, without serving yet. *server is written only on success; the caller owns the object. ERR_REFUSED if another
 * program has the TCP port, ERR_SYSTEM, ERR_MEMORY. error gets the cause, TRIB_ERROR_TEXT_MAX bytes, or is NULL. */
TRIB_MUST_USE enum trib_status trib_server_create(const struct trib_server_config *config, struct trib_server **server,
                                                  char *error);
/* Runs until trib_server_stop; then tells every session FAIL(ERR_SWITCH, "the switch ADDRESS is shutting down") and
 * returns. */
void trib_server_run(struct trib_server *server);
void trib_server_stop(struct trib_server *server);
/* wanted: trib_server_run also returns when no job is left, and no late rank that must be told the cause. Sessions
 * without a job end without a message. Not wanted: cancels the retirement. False: trib_server_run has begun to return.
 * Any thread. */
bool trib_server_retire(struct trib_server *server, bool wanted);
/* The work that prevents retirement. False: not counted yet since trib_server_retire. Any thread. */
bool trib_server_duties(struct trib_server *server, struct trib_server_duties *duties);
/* Around a fork: the control plane's thread is stopped between hold and resume, in a consistent state. */
void trib_server_hold(struct trib_server *server);
void trib_server_resume(struct trib_server *server);
/* In the child of the fork, which has no such thread: releases the descriptors, and nothing else. */
void trib_server_abandon(struct trib_server *server);
/* Closes everything still open. trib_server_run must have returned, or was never called. */
void trib_server_destroy(struct trib_server *server);
/* A slot saw two operations under one sequence (I10): asks both ranks for their operations, waits 500 ms at most, then
 * fails the communicator with both texts. Returns at once. Any thread; repeats are harmless. */
void trib_server_mismatch(struct trib_server *server, uint32_t communicator, uint64_t sequence, uint32_t rank_a,
                          uint32_t rank_b);
/* Address and port of shard t. */
struct trib_address trib_server_shard(const struct trib_server_config *config, uint32_t shard);
/* True if place is a shard of this switch. local: the local end of the connection, for a switch that listens at any
 * address. */
bool trib_server_is_own_place(const struct trib_server_config *config, const struct trib_address *local,
                              const struct trib_address *place);
/* Multicast groups. Results to a group go to ports from trib_server_group_port on, one port for each shard. */
#define TRIB_GROUPS_MAX 256
bool trib_server_has_groups(const struct trib_server_config *config);
uint16_t trib_server_group_port(const struct trib_server_config *config);
/* True if this switch gives out the group with the port. */
bool trib_server_has_group(const struct trib_server_config *config, uint32_t group, uint16_t port);
/* The real TCP ports, also if the config said "any". HTTP port 0: no HTTP. */
uint16_t trib_server_port(const struct trib_server *server);
uint16_t trib_server_http_port(const struct trib_server *server);
/* HTTP for a config (server/http.h). NULL: this build has no HTTP, as libmicrohttpd or jansson was absent. */
const struct trib_http_verbs *trib_http_verbs(void);
/* Loads libmicrohttpd once. NULL: done; else the cause and the remedy. Any thread may call. */
const char *trib_http_explain_lack(void);

#endif
