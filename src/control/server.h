/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: the control plane embedded in a switch: it listens for sessions, admits jobs within quotas, gives out ids, boot id,
 * roots and windows, watches liveness, and serves HTTP for people. It owns no slot: the data plane is reached through the
 * small table below, so that it can be tested without one and drive many switches later.
 * One thread runs it (trib_server_run). Others may call trib_server_stop (signal handlers too) and trib_server_mismatch.
 * Read next: jobs.h (the decisions), connections.h (the sessions), server.c (the loop); switchd/switchd.c is its data plane. */
#ifndef TRIB_CONTROL_SERVER_H
#define TRIB_CONTROL_SERVER_H

#include "control/session.h"
#include "io/udp.h"

struct trib_server;

/* The data plane as the control plane sees it. `plane` is its owner's. Calls come from the server's thread, and return at once:
 * while one lasts no session is served. `communicator` is always one that open() has taken and close() has not. */
struct trib_data_plane {
    void *plane;
    /* Opens the communicator's slots on every shard; addresses[rank][shard] is where that child sends from, borrowed for the
     * call. session->salt is 0: the switch never learns it. ERR_MEMORY. */
    enum trib_status (*open)(void *plane, const struct trib_session_config *session, const char *scheme,
                             const struct trib_address (*addresses)[TRIB_ROOTS_MAX]);
    void (*close)(void *plane, uint32_t communicator);
    /* Registration, or a mark from the session. */
    void (*join)(void *plane, uint32_t communicator, uint32_t child, uint64_t mark);
    /* The smallest M of its shards: what holds for every root (docs/DECISIONS.md). */
    uint64_t (*communicator_mark)(void *plane, uint32_t communicator);
    /* Results by multicast to this group from now on (0: unicast). */
    void (*multicast)(void *plane, uint32_t communicator, uint32_t group, uint16_t port);
    /* One TRIB_PATH packet of full size to the group, from every shard. */
    void (*probe_multicast)(void *plane, uint32_t communicator, uint32_t group, uint16_t port);
    /* Bytes of slot memory, all shards together. */
    size_t (*slot_bytes)(void *plane, const struct trib_session_config *session, const char *scheme);
    /* For metrics and `jobs`; false when unknown. missing: children missing on the oldest open slot. */
    bool (*report)(void *plane, uint32_t communicator, struct trib_counters *sum, uint32_t *slots_held,
                   uint64_t *missing, uint64_t *sequence);
    void (*traffic)(void *plane, struct trib_udp_stats *sum);
    /* Packets dropped before a communicator was found for them: unreadable, or of unknown senders. May be NULL. */
    void (*drops)(void *plane, uint64_t dropped[TRIB_DROP_COUNT]);
};

struct trib_server_config {
    struct trib_address listen; /* TCP; the data's shard 0 has the same port number, shard t that + t; port 0: any */
    struct trib_address http;   /* len 0: none; the daemon's default is 127.0.0.1 with port + 1000 */
    uint32_t shards;
    uint32_t boot;         /* random, not 0 */
    uint64_t memory_quota; /* bytes of slot memory for all jobs */
    uint64_t job_quota;    /* bytes for one job */
    uint32_t receive_room; /* bytes of packets that a shard's socket can hold: limits window x children */
    /* First of 256 multicast groups to give out, host order; 0: never. Each communicator has its own; results go to
     * listen's port + 16 (TRIB_ROOTS_MAX) + shard. */
    uint32_t group;
    uint64_t join_timeout_ns; /* how long the first rank waits for the last, and then all for the last to register */
    struct trib_data_plane plane;
};

/* Listens, but serves nobody yet. *server is written only on success; the caller owns it. ERR_SYSTEM (a port is taken),
 * ERR_MEMORY; error gets the cause, TRIB_ERROR_TEXT_MAX bytes, or NULL. */
/* Returns ERR_REFUSED when another program has the TCP port, ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_server_create(const struct trib_server_config *config, struct trib_server **server,
                                                  char *error);
/* Runs until trib_server_stop; then tells every session FAIL(ERR_SWITCH, "the switch is shutting down") and returns. */
void trib_server_run(struct trib_server *server);
void trib_server_stop(struct trib_server *server);
/* After trib_server_run has returned, or was never called. Closes what is still open. */
void trib_server_destroy(struct trib_server *server);
/* A slot saw two operations under one sequence (I10): asks both ranks what they run, waits 500 ms at most, then fails the
 * communicator with both texts. Returns at once. Any thread; repeats are harmless. */
void trib_server_mismatch(struct trib_server *server, uint32_t communicator, uint64_t sequence, uint32_t rank_a,
                          uint32_t rank_b);
/* The TCP ports that are really listened on; http: 0 without. For a config that said "any". */
uint16_t trib_server_port(const struct trib_server *server);
uint16_t trib_server_http_port(const struct trib_server *server);
/* False: a build without libmicrohttpd and jansson; for `tributary info`. */
bool trib_server_has_http(void);

#endif
