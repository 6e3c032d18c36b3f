/* SPDX-License-Identifier: Apache-2.0 */
/* switchd.c: see switchd.h. The main thread runs the control plane, the other threads the shards. */
#define _GNU_SOURCE
#include "switchd/switchd.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/jobs/state.h"
#include "control/server/http.h"
#include "io/clock.h"
#include "io/draw.h"
#include "io/explain.h"
#include "io/log.h"
#include "net/resolve.h"
#include "switchd/plane.h"

#define HTTP_PORT_OFFSET 1000
#define PORT_TRIES 32

/* State for signal handlers. */
static _Atomic(struct trib_server *) serving;
static atomic_bool stop_wanted;
static atomic_uint stoppers; /* threads that may be using `serving` */

void trib_switchd_init(struct trib_switchd_config *config)
{
    memset(config, 0, sizeof *config);
    /* Numeric addresses always parse. */
    if (trib_address_parse("0.0.0.0", TRIB_DEFAULT_PORT, &config->listen, NULL) != TRIB_OK ||
        trib_address_parse("127.0.0.1", 0, &config->http, NULL) != TRIB_OK) {
        config->listen.len = 0;
    }
    config->spin_us = 200;
    config->backlog = TRIB_BACKLOG_DEFAULT;
    config->buffer = 32U << 20;
    config->group = 0xefff4a46U;
    config->memory_quota = UINT64_C(4) << 30;
    config->job_quota = UINT64_C(3) << 30;
    config->pool = UINT64_C(64) << 20;
    config->weight = 1;
    config->join_timeout_ns = 30 * TRIB_SECOND_NS;
    config->trains = true;
    config->ready_fd = -1;
}

void trib_switchd_stop(void)
{
    atomic_fetch_add(&stoppers, 1);
    struct trib_server *server = atomic_load(&serving);
    atomic_store(&stop_wanted, true);
    if (server != NULL) {
        trib_server_stop(server);
    }
    atomic_fetch_sub(&stoppers, 1);
}

uint16_t trib_switchd_http_port(uint16_t port)
{
    return (uint16_t)(port + HTTP_PORT_OFFSET <= UINT16_MAX ? port + HTTP_PORT_OFFSET : port - HTTP_PORT_OFFSET);
}

bool trib_switchd_is_at(const struct trib_switchd_config *config, const struct trib_address *other)
{
    if (trib_address_port(other) != trib_address_port(&config->listen)) {
        return false;
    }
    bool is_own = trib_address_equal(other, &config->listen) ||
                  (trib_address_is_any(&config->listen) && trib_address_is_local(other));
    for (uint32_t i = 0; i < config->also.count; i++) {
        is_own = is_own || trib_address_same_host(other, &config->also.at[i]);
    }
    return is_own;
}

/* Checks the address of another switch; the error names the switch by a text such as "the parent". */
static enum trib_status check_other(const struct trib_switchd_config *config, const char *what,
                                    const struct trib_address *other, bool is_for_ranks, char *error)
{
    char text[64];
    trib_address_format(other, text);
    if (trib_address_port(other) == 0) {
        trib_explain(error, "%s %s has no port", what, text);
        return TRIB_ERR_INVALID;
    }
    if (trib_address_is_any(other) || trib_address_is_group(other)) {
        trib_explain(error, "%s %s is not the address of a host", what, text);
        return TRIB_ERR_INVALID;
    }
    if (is_for_ranks && trib_address_is_link_local(other)) {
        trib_explain(error, "%s %s is the address of a link, which ranks on other hosts cannot use: name a global one",
                     what, text);
        return TRIB_ERR_INVALID;
    }
    if (other->storage.ss_family != config->listen.storage.ss_family) {
        char listen[64];
        trib_address_format(&config->listen, listen);
        trib_explain(error, "%s %s and this switch, %s, must both be IPv4 or both IPv6", what, text, listen);
        return TRIB_ERR_INVALID;
    }
    /* the switch would forward to itself without end; the control plane finds longer loops */
    if (trib_switchd_is_at(config, other)) {
        trib_explain(error, "%s %s is this switch itself", what, text);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

static enum trib_status check_lenders(const struct trib_switchd_config *config, char *error)
{
    enum trib_status status = TRIB_OK;
    uint32_t trees = config->trees > 0 ? config->trees : config->lenders.count + 1;
    if (trees > TRIB_SWITCHES_MAX) {
        trib_explain(error,
                     "each job would go through %" PRIu32 " switches: the limit is %d: choose a number with --trees",
                     trees, TRIB_SWITCHES_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->threshold > 0 && config->parent.len > 0) {
        trib_explain(error,
                     "a switch with a parent cannot have a threshold: the ranks below it do not know each other");
        return TRIB_ERR_INVALID;
    }
    if (config->threshold > 0 && config->keys != NULL && config->keys->is_for_jobs) {
        trib_explain(error,
                     "a switch with keys of jobs (--keys) cannot have a threshold: no job with a key becomes a ring");
        return TRIB_ERR_INVALID;
    }
    if (config->combines_only && config->parent.len == 0) {
        trib_explain(error, "a switch that only combines needs a parent, where sums become whole");
        return TRIB_ERR_INVALID;
    }
    if (config->lenders.count > 0 && config->parent.len > 0) {
        trib_explain(error, "a switch with a parent cannot use other switches: only its parent can");
        return TRIB_ERR_INVALID;
    }
    if (config->lend_to.count > 0 && config->parent.len > 0) {
        trib_explain(error, "a switch with a parent sums for that one alone: it lends nothing, leave out --lend");
        return TRIB_ERR_INVALID;
    }
    if (config->trees > config->lenders.count + 1) {
        trib_explain(error, "%" PRIu32 " trees of each job: there are %" PRIu32 " switches, each with one at most",
                     config->trees, config->lenders.count + 1);
        return TRIB_ERR_INVALID;
    }
    for (uint32_t i = 0; i < config->lenders.count && status == TRIB_OK; i++) {
        status = check_other(config, "the switch", &config->lenders.at[i], true, error);
    }
    return status;
}

enum trib_status trib_switchd_check(const struct trib_switchd_config *config, char *error)
{
    if (config->listen.len == 0) {
        trib_explain(error, "no address to listen at");
        return TRIB_ERR_INVALID;
    }
    if (config->threads > TRIB_ROOTS_MAX) {
        trib_explain(error, "%" PRIu32 " threads: must be 1 to %d", config->threads, TRIB_ROOTS_MAX);
        return TRIB_ERR_INVALID;
    }
    uint32_t shards = trib_switchd_shards(config);
    if (trib_address_port(&config->listen) + shards > UINT16_MAX + 1) {
        trib_explain(error, "%" PRIu32 " shards need port %u and the following ports: choose port %" PRIu32 " or lower",
                     shards, trib_address_port(&config->listen), UINT16_MAX + 1 - shards);
        return TRIB_ERR_INVALID;
    }
    if (shards <= config->also.count) {
        trib_explain(error, "%" PRIu32 " threads for %" PRIu32 " addresses: each address needs at least one shard",
                     config->threads, config->also.count + 1);
        return TRIB_ERR_INVALID;
    }
    if (config->dscp > 63) {
        trib_explain(error, "dscp %" PRIu32 ": must be 0 to 63", config->dscp);
        return TRIB_ERR_INVALID;
    }
    if (config->group != 0 && config->group >> 28 != 0xe) {
        trib_explain(error, "the multicast group is not between 224.0.0.0 and 239.255.255.255");
        return TRIB_ERR_INVALID;
    }
    if (config->weight < 1 || config->weight > UINT8_MAX) {
        trib_explain(error, "weight %" PRIu32 ": must be 1 to %d", config->weight, UINT8_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->http.len > 0 && trib_address_port(&config->http) != 0 && trib_switchd_is_at(config, &config->http)) {
        trib_explain(error, "HTTP and sessions cannot both have port %u: choose another one for HTTP",
                     trib_address_port(&config->http));
        return TRIB_ERR_INVALID;
    }
    enum trib_status status = check_lenders(config, error);
    return status == TRIB_OK && config->parent.len > 0
               ? check_other(config, "the parent", &config->parent, false, error)
               : status;
}

static struct trib_server_config server_config(const struct trib_switchd_config *config, uint32_t boot,
                                               struct trib_plane *plane)
{
    struct trib_server_config server = {
        .http = config->http,
        .http_guard = config->http_guard,
        .http_is_named = config->http.len > 0 && trib_address_port(&config->http) != 0,
        .http_verbs = trib_http_verbs(),
        .parent = config->parent,
        .identity = config->identity,
        .also = config->also,
        .lenders = config->lenders,
        .lend_to = config->lend_to,
        .keys = config->keys,
        .trees = config->trees,
        .topology = config->topology,
        .planned = config->planned,
        .placed = config->placed,
        .weight = (uint8_t)config->weight,
        .shards = trib_switchd_shards(config),
        .boot = boot,
        .memory_quota = config->memory_quota,
        .job_quota = config->job_quota,
        .tenant_quota = config->tenant_quota,
        .threshold = config->threshold,
        .is_shared = config->is_shared,
        .combines_only = config->combines_only,
        .ping_gap_ns = config->ping_gap_ns,
        .receive_room = trib_plane_receive_room(plane),
        .group = config->listen.storage.ss_family == AF_INET ? config->group : 0,
        .join_timeout_ns = config->join_timeout_ns,
        .plane = trib_plane_verbs(plane),
    };
    trib_plane_local(plane, &server.listen);
    if (server.http.len > 0 && trib_address_port(&server.http) == 0) {
        trib_address_set_port(&server.http, trib_switchd_http_port(trib_address_port(&server.listen)));
    }
    return server;
}

static enum trib_status open_both(const struct trib_switchd_config *config, uint32_t boot, struct trib_plane **plane,
                                  struct trib_server **server, char *error)
{
    enum trib_status status = trib_plane_open(config, plane, error);
    if (status != TRIB_OK) {
        /* most likely the port of a later shard is taken */
        return status == TRIB_ERR_SYSTEM ? TRIB_ERR_REFUSED : status;
    }
    struct trib_server_config wanted = server_config(config, boot, *plane);
    status = trib_server_create(&wanted, server, error);
    if (status != TRIB_OK) {
        trib_plane_close(*plane);
        *plane = NULL;
    }
    return status;
}

/* ERR_REFUSED here: a port is taken. One port number must be free for TCP and UDP, and the following ports for the
 * other shards. With port 0 the kernel may have to choose again. */
static enum trib_status open_all(const struct trib_switchd_config *config, struct trib_plane **plane,
                                 struct trib_server **server, char *error)
{
    uint32_t boot = trib_draw_id();
    enum trib_status status;
    int tries = trib_address_port(&config->listen) == 0 ? PORT_TRIES : 1;
    do {
        status = open_both(config, boot, plane, server, error);
    } while (status == TRIB_ERR_REFUSED && --tries > 0);
    return status == TRIB_ERR_REFUSED ? TRIB_ERR_SYSTEM : status;
}

static void tell_mismatch(void *owner, const struct trib_mismatch *mismatch)
{
    trib_server_mismatch(owner, mismatch->communicator, mismatch->sequence, mismatch->rank[0], mismatch->rank[1]);
}

/* Writes the port to ready_fd. Without it the reader would wait for ever, so a failure is an error. */
static enum trib_status tell_port(const struct trib_switchd_config *config, const struct trib_plane *plane, char *error)
{
    struct trib_address local;
    trib_plane_local(plane, &local);
    if (config->ready_fd >= 0 && dprintf(config->ready_fd, "%u\n", trib_address_port(&local)) < 0) {
        trib_explain(error, "cannot write the port to descriptor %d: %s", config->ready_fd, trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    return TRIB_OK;
}

static void tell_ready(const struct trib_switchd_config *config, const struct trib_plane *plane)
{
    struct trib_address local;
    char text[64];
    trib_plane_local(plane, &local);
    trib_address_format(&local, text);
    trib_log(TRIB_LOG_INFO, "switch at %s, shards %" PRIu32 ", receive room %" PRIu32 " bytes", text, plane->shards,
             trib_plane_receive_room(plane));
    for (uint32_t i = 0; i < config->also.count; i++) {
        trib_address_format(&config->also.at[i], text);
        *strrchr(text, ':') = '\0';
        trib_log(TRIB_LOG_INFO, "also at %s: shards t with t mod %" PRIu32 " is %" PRIu32, text, config->also.count + 1,
                 i + 1);
    }
    for (uint32_t i = 0; i < config->lenders.count; i++) {
        trib_address_format(&config->lenders.at[i], text);
        trib_log(TRIB_LOG_INFO, "its jobs use the shards of switch %s as well", text);
    }
    if (config->trees > 0 && config->trees <= config->lenders.count) {
        trib_log(TRIB_LOG_INFO, "each job goes through %" PRIu32 " of these %" PRIu32 " switches, by %s", config->trees,
                 config->lenders.count + 1, config->topology != NULL ? "the topology" : "their load");
    }
    if (config->placed != NULL) {
        trib_log(TRIB_LOG_INFO, "a plan has the pieces of %" PRIu32 " jobs", config->placed->count);
    }
    if (config->planned != NULL) {
        trib_log(TRIB_LOG_INFO, "a plan has the switches of %" PRIu32 " jobs", config->planned->count);
    }
    if (config->combines_only) {
        trib_log(TRIB_LOG_INFO, "it only combines, for jobs of scheme atp: %s",
                 config->pool != 0 ? "their sums are at the parent" : "but without rows (--pool 0), so all parts pass");
    }
    if (config->group != 0 && local.storage.ss_family != AF_INET) {
        trib_log(TRIB_LOG_INFO, "results by unicast: multicast is for switches at IPv4 addresses");
    }
}

/* Logs drops that no communicator has counted, at the end. */
static void log_drops(struct trib_plane *plane)
{
    uint64_t dropped[TRIB_DROP_COUNT];
    struct trib_data_plane verbs = trib_plane_verbs(plane);
    verbs.drops(plane, dropped);
    for (int i = 0; i < TRIB_DROP_COUNT; i++) {
        if (dropped[i] > 0) {
            trib_log(TRIB_LOG_INFO, "dropped %" PRIu64 " packets: %s", dropped[i], trib_drop_text((enum trib_drop)i));
        }
    }
}

static enum trib_status serve(const struct trib_switchd_config *config, struct trib_plane *plane,
                              struct trib_server *server, char *error)
{
    enum trib_status status = TRIB_OK;
    atomic_store(&serving, server);
    if (!atomic_load(&stop_wanted)) {
        tell_ready(config, plane);
        status = tell_port(config, plane, error);
    }
    if (status != TRIB_OK || atomic_load(&stop_wanted)) {
        trib_server_stop(server);
    }
    trib_server_run(server);
    atomic_store(&serving, NULL);
    while (atomic_load(&stoppers) > 0) {
        (void)sched_yield(); /* another thread is still in trib_switchd_stop, and uses the server */
    }
    atomic_store(&stop_wanted, false);
    return status;
}

enum trib_status trib_switchd_run(const struct trib_switchd_config *config, char *error)
{
    struct trib_plane *plane = NULL;
    struct trib_server *server = NULL;
    enum trib_status status = trib_switchd_check(config, error);
    if (status != TRIB_OK) {
        return status;
    }
    status = open_all(config, &plane, &server, error);
    if (status != TRIB_OK) {
        return status;
    }
    const struct trib_shard_listener listener = {server, tell_mismatch};
    status = trib_plane_start(plane, &listener, error);
    if (status == TRIB_OK) {
        status = serve(config, plane, server, error);
    }
    trib_plane_stop(plane);
    log_drops(plane);
    trib_server_destroy(server);
    trib_plane_close(plane);
    return status;
}
