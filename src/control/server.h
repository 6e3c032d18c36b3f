/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: the control plane embedded in a switch: it listens for sessions, admits jobs within quotas, gives out ids,
 * boot id, roots and windows, watches liveness, and serves HTTP for people. It owns no slot: the data plane is reached
 * through the small table below, so that it can be tested without one and drive many switches later. One thread runs it
 * (trib_server_run). Others may call trib_server_stop (signal handlers too) and trib_server_mismatch.
 * Read next: jobs.h (the decisions), connections.h (the sessions), server.c (the loop); switchd/switchd.c is its data
 * plane. */
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

/* Work left for a control plane that is to retire. */
struct trib_server_duties {
    uint32_t jobs;    /* communicators, and those that are still being joined */
    uint32_t needed;  /* of them: operations may still run, or its ranks have made it of another one and are about to */
    uint32_t awaited; /* of the others: being joined, and rank 0 is not there */
    char who[192];    /* "ranks 1, 2 of job train": of a job that needs this control plane */
};

struct trib_server_config {
    struct trib_address listen; /* TCP; the data's shard 0 has the same port number, shard t that + t; port 0: any */
    /* Sessions are accepted at these as well, at the same port. There then are shards at all addresses: shard t at
     * address t mod n of listen and these. */
    struct trib_address_list also;
    struct trib_address http;                 /* len 0: none; the daemon's default is 127.0.0.1 with port + 1000 */
    const struct trib_http_verbs *http_verbs; /* trib_http_verbs(); NULL: none, whatever `http` says */
    struct trib_address
        parent; /* the control plane of the switch that this one is a child of; len 0: none, this is a root */
    /* Other switches, whose shards the jobs of this one use as well (agents/remote.h): where they listen, of listen's
     * family; not with a parent. */
    struct trib_others lenders;
    /* Switches whose jobs may use shards here, by their hosts: the ports do not count. None: it lends nothing. */
    struct trib_others lend_to;
    const struct trib_topology *topology; /* by which they are chosen, borrowed; NULL: each is one link away */
    const struct trib_planned *planned;   /* jobs whose switches a plan has chosen, borrowed; NULL: none */
    const struct trib_placed *placed; /* jobs whose pieces a plan has placed on switches below, borrowed; NULL: none */
    const struct trib_keyring *keys;  /* of sessions, borrowed; NULL: sessions are unauthenticated */
    const char *run;                  /* ranks of this run alone come here, borrowed; NULL: of any */
    uint32_t trees;                   /* of this switch and its lenders, each job is dealt over so many; 0: all */
    uint32_t
        shards; /* 0: none, and no data plane: the ranks' processes are the roots (roots.h), and `plane` is not used */
    uint32_t boot;         /* random, not 0 */
    uint64_t identity;     /* of this switch in all its lives (net/identity.h); 0: made of this machine and `listen` */
    uint32_t receive_room; /* bytes of packets that a shard's socket can hold: limits window x children */
    uint64_t memory_quota; /* bytes of slot memory for all jobs */
    uint64_t job_quota;    /* bytes for one job, all its communicators together */
    uint64_t tenant_quota; /* bytes for all jobs of one key, together; 0: no limit */
    uint64_t threshold;    /* jobs of fewer bytes of gradients an iteration are rings (jobs/threshold.c); 0: none */
    uint64_t ping_gap_ns;  /* between questions to another switch that is waited for (words/ping.h); 0: 1 s */
    /* First of TRIB_GROUPS_MAX multicast groups to give out, host order; 0: never. Each communicator has a group of its
     * own; results go to listen's port + 16 (TRIB_ROOTS_MAX) + shard. */
    uint32_t group;
    uint8_t weight;     /* of a root on a shard here, beside those at other switches; 0 is taken as 1 */
    bool http_is_named; /* the user chose the port of `http`: if it is taken, that is ERR_SYSTEM, as no other will do */
    bool combines_only; /* it has no slots for sums: only servers above may have communicators here */
    bool is_shared;     /* jobs of several users come here: each needs a name of its own */
    bool is_guest;      /* in a process that is not its own: raises the limit of open files only when ranks need it */
    uint64_t join_timeout_ns; /* how long the first rank waits for the last, and then all for the last to register */
    struct trib_data_plane plane;
    /* While it is to retire: its duties have changed. By its own thread; may be NULL. */
    void (*changed)(void *owner);
    void *owner;
};

/* Listens, but serves nobody yet. *server is written only on success; the caller owns it. ERR_REFUSED when another
 * program has the TCP port, ERR_SYSTEM, ERR_MEMORY; error gets the cause, TRIB_ERROR_TEXT_MAX bytes, or NULL. */
TRIB_MUST_USE enum trib_status trib_server_create(const struct trib_server_config *config, struct trib_server **server,
                                                  char *error);
/* Runs until trib_server_stop; then tells every session FAIL(ERR_SWITCH, "the switch ADDRESS is shutting down") and
 * returns. */
void trib_server_run(struct trib_server *server);
void trib_server_stop(struct trib_server *server);
/* Wanted: trib_server_run returns also when no job is left, nor a late rank that is to hear why, and ends sessions that
 * have joined none without a word; else not any more. False: it has begun to return. Any thread. */
bool trib_server_retire(struct trib_server *server, bool wanted);
/* The work that keeps it from retiring. False: it has not looked since it was told to retire. Any thread. */
bool trib_server_duties(struct trib_server *server, struct trib_server_duties *duties);
/* Around a fork: its thread stands still in between, where nothing is half done. */
void trib_server_hold(struct trib_server *server);
void trib_server_resume(struct trib_server *server);
/* In the child of the fork, which has no such thread: gives up its descriptors, and nothing else. */
void trib_server_abandon(struct trib_server *server);
/* After trib_server_run has returned, or was never called. Closes all that is still open. */
void trib_server_destroy(struct trib_server *server);
/* A slot saw two operations under one sequence (I10): asks both ranks what they run, waits 500 ms at most, then fails
 * the communicator with both texts. Returns at once. Any thread; repeats are harmless. */
void trib_server_mismatch(struct trib_server *server, uint32_t communicator, uint64_t sequence, uint32_t rank_a,
                          uint32_t rank_b);
/* Where shard t is, with its port. */
struct trib_address trib_server_shard(const struct trib_server_config *config, uint32_t shard);
/* Is that a shard of this switch? `local`: where it was reached, for one that listens at any address. */
bool trib_server_is_own_place(const struct trib_server_config *config, const struct trib_address *local,
                              const struct trib_address *place);
/* Multicast groups: results to group g of TRIB_GROUPS_MAX go to that port and those behind it, one for each shard. */
#define TRIB_GROUPS_MAX 256
bool trib_server_has_groups(const struct trib_server_config *config);
uint16_t trib_server_group_port(const struct trib_server_config *config);
/* This group, with that port, is one that this switch gives out. */
bool trib_server_has_group(const struct trib_server_config *config, uint32_t group, uint16_t port);
/* The TCP ports that are really listened on; http: 0 without. For a config that said "any". */
uint16_t trib_server_port(const struct trib_server *server);
uint16_t trib_server_http_port(const struct trib_server *server);
/* HTTP for a config (server/http.h). NULL: this build has none, as libmicrohttpd or jansson was not there. */
const struct trib_http_verbs *trib_http_verbs(void);

#endif
