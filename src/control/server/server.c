/* SPDX-License-Identifier: Apache-2.0 */
/* server.c: the loop of the control plane: one thread, one poll(2) over the wake descriptor, HTTP, the listeners, all
 * sessions (one descriptor) and the uplinks. All decisions are in jobs.c. Other threads set fields under the lock, or
 * the flag of trib_server_stop, and write to the wake descriptor. */
#include "control/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control/jobs/jobs.h"
#include "control/jobs/state.h"
#include "control/roots/roots.h"
#include "control/server/accept.h"
#include "control/server/channels.h"
#include "control/server/connections.h"
#include "control/server/http.h"
#include "control/server/listener.h"
#include "control/server/report.h"
#include "control/server/rounds.h"
#include "control/server/uplinks.h"
#include "io/clock.h"
#include "io/draw.h"
#include "io/explain.h"
#include "io/inherit.h"
#include "io/log.h"
#include "net/identity.h"

#define MISMATCHES_MAX 64
#define POLL_OWN 2 /* descriptors polled before those of connections.c: wake, HTTP */
#define POLL_LONGEST_MS 10000

/* Report of a shard's thread. One slot may report many times, so reports beyond MISMATCHES_MAX can be dropped. */
struct mismatch {
    uint64_t sequence;
    uint32_t communicator;
    uint32_t rank[2];
};

struct trib_server {
    struct trib_server_config config;
    struct trib_jobs jobs;
    struct trib_connections connections;
    struct trib_uplinks uplinks;
    struct trib_report report;
    struct trib_tls_side *below; /* for accepted sessions; NULL: no keys */
    struct trib_tls_side *above; /* for connections to other switches; NULL: no key of the operator */
    struct trib_http *http;
    int wake_fd;
    atomic_bool stopping;
    pthread_mutex_t working; /* held by the control plane's thread, except while sleeping */
    pthread_mutex_t lock;    /* of the fields below */
    bool is_retiring;        /* true: end when no work is left... */
    bool has_retired;        /* ...and has ended */
    bool has_looked;         /* duties were counted since trib_server_retire */
    struct trib_server_duties duties;
    uint32_t mismatch_count;
    struct mismatch mismatches[MISMATCHES_MAX];
    struct pollfd fds[POLL_OWN + TRIB_CONNECTIONS_POLLED + TRIB_UPLINKS_MAX];
};

static enum trib_status open_http(struct trib_server *server, char *error)
{
    struct trib_address address = server->config.http;
    if (address.len == 0) {
        return TRIB_OK;
    }
    if (!server->config.http_verbs) {
        trib_log(TRIB_LOG_WARN,
                 "no http: this build has neither /metrics nor /v1 (install libmicrohttpd-dev and libjansson-dev, and "
                 "build again)");
        return TRIB_OK;
    }
    const struct trib_http_guard *guard = server->config.http_guard;
    enum trib_status status = server->config.http_verbs->create(&address, guard, &server->report, &server->http, error);
    if (status == TRIB_OK) {
        char text[64];
        trib_address_set_port(&address, trib_server_http_port(server));
        trib_address_format(&address, text);
        bool is_open = !guard && !trib_address_is_loopback(&address);
        trib_log(TRIB_LOG_INFO, "http on %s://%s%s", guard && guard->pem ? "https" : "http", text,
                 is_open ? ", in clear, for everybody (--http-tls and --http-token protect it)" : "");
    } else if (status == TRIB_ERR_UNSUPPORTED && !server->config.http_is_named) {
        trib_log(TRIB_LOG_WARN, "no http, so neither /metrics nor /v1: %s", error);
        return TRIB_OK;
    } else if (status == TRIB_ERR_REFUSED) { /* two switches on one host have one such address each */
        char cause[TRIB_ERROR_TEXT_MAX];
        (void)snprintf(cause, sizeof cause, "%s", error);
        trib_explain(error, "%s, for HTTP (--http ADDRESS, or --http none)", cause);
    }
    return status == TRIB_ERR_REFUSED && server->config.http_is_named ? TRIB_ERR_SYSTEM : status;
}

/* struct trib_jobs_output. */
static uint64_t draw(void *owner)
{
    (void)owner;
    return trib_draw();
}

static void open_uplinks(struct trib_server *server)
{
    server->jobs.remotes = (struct trib_remote_output){&server->uplinks, trib_uplinks_dial, trib_uplinks_tell,
                                                       trib_uplinks_hang_up, trib_uplinks_ping_remote};
    server->jobs.below = (struct trib_remote_output){
        .owner = &server->connections, .send = trib_channels_tell, .ping = trib_channels_ping};
    trib_uplinks_init(&server->uplinks, &server->jobs, &server->connections, &server->config);
    if (server->config.parent.len > 0) {
        server->jobs.masters.above = (struct trib_masters_above){&server->uplinks, trib_uplinks_tell_above};
        server->connections.above = &server->uplinks.verbs;
    }
}

static bool is_own_parent(const struct trib_server_config *config)
{
    for (uint32_t i = 0; i <= config->also.count; i++) {
        struct trib_address own = trib_server_shard(config, i);
        trib_address_set_port(&own, trib_address_port(&config->listen));
        if (trib_address_equal(&config->parent, &own)) {
            return true;
        }
    }
    return false;
}

/* At the further addresses. */
static enum trib_status listen_also(struct trib_server *server, char *error)
{
    for (uint32_t i = 0; i < server->config.also.count; i++) {
        struct trib_address at = server->config.also.at[i];
        int listen_fd;
        trib_address_set_port(&at, trib_address_port(&server->config.listen));
        enum trib_status status = trib_listener_open(&at, &listen_fd, &server->config.also.at[i], error);
        if (status != TRIB_OK) {
            return status;
        }
        trib_connections_listen(&server->connections, listen_fd);
    }
    return TRIB_OK;
}

static void release_keys(struct trib_server *server)
{
    trib_tls_release(server->below);
    trib_tls_release(server->above);
}

/* Keys of sessions, if there are any. */
static enum trib_status open_keys(struct trib_server *server, char *error)
{
    const struct trib_keyring *keys = server->config.keys;
    if (!keys) {
        return TRIB_OK;
    }
    server->below = trib_tls_server(keys, error);
    server->above = server->below && keys->own.is_set ? trib_tls_client(&keys->own, true, error) : NULL;
    server->connections.side = server->below;
    server->uplinks.side = server->above;
    return server->below && (server->above || !keys->own.is_set) ? TRIB_OK : TRIB_ERR_SYSTEM;
}

static const char *say_keys(const struct trib_keyring *keys)
{
    if (!keys) {
        return ", unauthenticated";
    }
    return keys->is_for_jobs ? ", jobs with a key only" : ", jobs unauthenticated, switches with a key only";
}

/* Keys, further addresses and HTTP; then the log says where sessions are. */
static enum trib_status open_rest(struct trib_server *server, char *error)
{
    char text[64];
    enum trib_status status = open_keys(server, error);
    if (status == TRIB_OK) {
        status = listen_also(server, error);
    }
    if (status == TRIB_OK) {
        status = open_http(server, error);
    }
    if (status == TRIB_OK) {
        trib_address_format(&server->config.listen, text);
        trib_log(TRIB_LOG_INFO, "sessions on tcp %s, boot %08x%s%s%s", text, server->config.boot,
                 server->config.parent.len > 0 ? ", parent " : "",
                 server->config.parent.len > 0 ? server->uplinks.name : "", say_keys(server->config.keys));
    }
    return status;
}

enum trib_status trib_server_create(const struct trib_server_config *config, struct trib_server **server, char *error)
{
    int listen_fd;
    struct trib_server *made = calloc(1, sizeof *made);
    if (!made) {
        trib_explain(error, "out of memory for the control plane");
        return TRIB_ERR_MEMORY;
    }
    made->config = *config;
    enum trib_status status = trib_listener_open(&config->listen, &listen_fd, &made->config.listen, error);
    if (status != TRIB_OK) {
        goto free_server;
    }
    if (made->config.identity == 0) {
        made->config.identity = trib_identity(&made->config.listen);
    }
    if (is_own_parent(&made->config)) {
        trib_explain(error, "a switch cannot be its own parent");
        status = TRIB_ERR_INVALID;
        goto close_listener;
    }
    made->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (made->wake_fd < 0) {
        trib_explain(error, "cannot make an event descriptor: %s", trib_explain_errno(errno));
        status = TRIB_ERR_SYSTEM;
        goto close_listener;
    }
    const struct trib_jobs_output output = {.owner = &made->connections,
                                            .send = trib_connections_send,
                                            .end = trib_connections_end,
                                            .ping = trib_connections_ping,
                                            .draw = draw,
                                            .say = trib_connections_say};
    trib_jobs_init(&made->jobs, &made->config, &output);
    status = trib_connections_init(&made->connections, listen_fd, &made->jobs, &trib_channels, error);
    if (status != TRIB_OK) {
        goto close_wake;
    }
    open_uplinks(made);
    made->report = (struct trib_report){&made->config, &made->jobs, &made->connections, trib_clock_ns()};
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_mutex_init(&made->working, NULL);
    status = open_rest(made, error);
    if (status != TRIB_OK) {
        goto close_connections;
    }
    *server = made;
    return TRIB_OK;

close_connections:
    release_keys(made);
    while (made->connections.listen_count > 1) {
        (void)close(made->connections.listen_fd[--made->connections.listen_count]);
    }
    (void)close(made->connections.epoll_fd);
    (void)pthread_mutex_destroy(&made->lock);
    (void)pthread_mutex_destroy(&made->working);
close_wake:
    (void)close(made->wake_fd);
close_listener:
    (void)close(listen_fd);
free_server:
    free(made);
    return status;
}

uint16_t trib_server_port(const struct trib_server *server)
{
    return trib_address_port(&server->config.listen);
}

uint16_t trib_server_http_port(const struct trib_server *server)
{
    return server->http ? server->config.http_verbs->port(server->http) : 0;
}

static void wake(struct trib_server *server)
{
    uint64_t one = 1;
    ssize_t written = write(server->wake_fd, &one, sizeof one);
    (void)written; /* a full counter wakes as well */
}

void trib_server_stop(struct trib_server *server)
{
    int saved = errno; /* the caller may be a signal handler */
    atomic_store(&server->stopping, true);
    wake(server);
    errno = saved;
}

void trib_server_mismatch(struct trib_server *server, uint32_t communicator, uint64_t sequence, uint32_t rank_a,
                          uint32_t rank_b)
{
    (void)pthread_mutex_lock(&server->lock);
    if (server->mismatch_count < MISMATCHES_MAX) {
        server->mismatches[server->mismatch_count++] = (struct mismatch){sequence, communicator, {rank_a, rank_b}};
    }
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
}

bool trib_server_retire(struct trib_server *server, bool wanted)
{
    (void)pthread_mutex_lock(&server->lock);
    server->is_retiring = wanted;
    server->has_looked = false;
    bool serves = !server->has_retired;
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
    return serves;
}

bool trib_server_duties(struct trib_server *server, struct trib_server_duties *duties)
{
    (void)pthread_mutex_lock(&server->lock);
    *duties = server->duties;
    bool has_looked = server->has_looked;
    (void)pthread_mutex_unlock(&server->lock);
    return has_looked;
}

static bool retires(struct trib_server *server)
{
    struct trib_server_duties duties;
    bool has_changed = false;
    (void)pthread_mutex_lock(&server->lock);
    if (server->is_retiring) { /* else the duties are not needed, and counting takes time */
        trib_jobs_duties(&server->jobs, &duties);
        has_changed = !server->has_looked || memcmp(&duties, &server->duties, sizeof duties) != 0;
        server->has_looked = true;
        server->has_retired = duties.jobs == 0;
        server->duties = duties;
    }
    bool retired = server->has_retired;
    (void)pthread_mutex_unlock(&server->lock);
    if (has_changed && server->config.changed != NULL) {
        server->config.changed(server->config.owner);
    }
    return retired;
}

static void take_mismatches(struct trib_server *server, uint64_t now_ns)
{
    struct mismatch taken[MISMATCHES_MAX];
    (void)pthread_mutex_lock(&server->lock);
    uint32_t count = server->mismatch_count;
    memcpy(taken, server->mismatches, count * sizeof taken[0]);
    server->mismatch_count = 0;
    (void)pthread_mutex_unlock(&server->lock);
    for (uint32_t i = 0; i < count; i++) {
        trib_jobs_mismatch(&server->jobs, taken[i].communicator, taken[i].sequence, taken[i].rank, now_ns);
    }
}

static int poll_timeout(struct trib_server *server, uint64_t now_ns)
{
    uint64_t when = trib_jobs_next_timeout(&server->jobs);
    uint64_t connections = trib_connections_next_timeout(&server->connections);
    uint64_t http = server->http ? server->config.http_verbs->next_timeout(server->http, now_ns) : TRIB_NEVER;
    uint64_t uplinks = trib_uplinks_next_timeout(&server->uplinks);
    when = connections < when ? connections : when;
    when = uplinks < when ? uplinks : when;
    when = http < when ? http : when;
    if (when <= now_ns) {
        return 0;
    }
    uint64_t wait_ms = (when - now_ns + TRIB_MILLISECOND_NS - 1) / TRIB_MILLISECOND_NS;
    return wait_ms < POLL_LONGEST_MS ? (int)wait_ms : POLL_LONGEST_MS;
}

static void run_once(struct trib_server *server)
{
    uint64_t now_ns = trib_clock_ns();
    server->fds[0] = (struct pollfd){.fd = server->wake_fd, .events = POLLIN};
    bool is_paused = trib_connections_is_paused(&server->connections, now_ns);
    bool has_http = server->http && !is_paused;
    server->fds[1] =
        (struct pollfd){.fd = has_http ? server->config.http_verbs->fd(server->http) : -1, .events = POLLIN};
    uint32_t count = trib_connections_poll(&server->connections, server->fds + POLL_OWN, now_ns);
    struct pollfd *above = server->fds + POLL_OWN + count;
    uint32_t uplinks = trib_uplinks_poll(&server->uplinks, above);
    int timeout_ms = poll_timeout(server, now_ns);
    (void)pthread_mutex_unlock(&server->working);
    int ready = poll(server->fds, POLL_OWN + count + uplinks, timeout_ms);
    (void)pthread_mutex_lock(&server->working);
    if (ready < 0) {
        return; /* a signal: the handler may have called trib_server_stop */
    }
    now_ns = trib_clock_ns();
    if (server->fds[0].revents) {
        uint64_t value;
        ssize_t got = read(server->wake_fd, &value, sizeof value);
        (void)got;
    }
    server->uplinks.now_ns = now_ns;
    trib_connections_ready(&server->connections, server->fds + POLL_OWN, count, now_ns);
    trib_uplinks_ready(&server->uplinks, above, uplinks, now_ns);
    take_mismatches(server, now_ns);
    trib_jobs_on_timeout(&server->jobs, now_ns);
    trib_connections_on_timeout(&server->connections, now_ns);
    trib_uplinks_on_timeout(&server->uplinks, now_ns);
    trib_connections_sweep(&server->connections, now_ns);
    trib_uplinks_sweep(&server->uplinks, now_ns);
    if (server->http) {
        server->config.http_verbs->run(server->http);
    }
}

/* Names the server by an address known to ranks, or to switches below. A server that listens at any address uses the
 * local end of a session. */
static void name_self(const struct trib_server *server, char *text, size_t size)
{
    const struct trib_address *self = &server->config.listen;
    char name[64];
    for (uint32_t i = 0; i < server->connections.count && trib_address_is_any(self); i++) {
        const struct trib_session *session = trib_connections_at(&server->connections, i);
        self = session->local.len > 0 ? &session->local : self;
    }
    self = server->jobs.masters.here.len > 0 ? &server->jobs.masters.here : self;
    trib_address_format(self, name);
    (void)snprintf(text, size, "%s %s", trib_roots_are_ranks(&server->config) ? "the control plane at" : "the switch",
                   name);
}

void trib_server_run(struct trib_server *server)
{
    char farewell[128];
    char self[96];
    bool has_retired = false;
    trib_uplinks_begin(&server->uplinks, trib_clock_ns());
    while (!atomic_load(&server->stopping) && !has_retired) {
        (void)pthread_mutex_lock(&server->working);
        run_once(server);
        (void)pthread_mutex_unlock(&server->working);
        has_retired = retires(server);
    }
    (void)pthread_mutex_lock(&server->working);
    name_self(server, self, sizeof self);
    (void)snprintf(farewell, sizeof farewell, "%s is shutting down", self);
    trib_uplinks_say_bye(&server->uplinks, TRIB_ERR_SWITCH, farewell);
    trib_jobs_deinit(&server->jobs, TRIB_ERR_SWITCH, farewell);
    trib_uplinks_deinit(&server->uplinks);
    /* A peer that has just connected to join the next control plane comes again. */
    trib_connections_deinit(&server->connections, has_retired ? TRIB_OK : TRIB_ERR_SWITCH, farewell);
    (void)pthread_mutex_unlock(&server->working);
}

void trib_server_hold(struct trib_server *server)
{
    (void)pthread_mutex_lock(&server->working);
}

void trib_server_resume(struct trib_server *server)
{
    (void)pthread_mutex_unlock(&server->working);
}

void trib_server_abandon(struct trib_server *server)
{
    trib_connections_abandon(&server->connections);
    trib_inherit_drop(server->wake_fd);
}

void trib_server_destroy(struct trib_server *server)
{
    if (!server) {
        return;
    }
    static const char farewell[] = "the switch is gone";
    trib_jobs_deinit(&server->jobs, TRIB_ERR_SWITCH, farewell);
    trib_uplinks_deinit(&server->uplinks);
    trib_connections_deinit(&server->connections, TRIB_ERR_SWITCH, farewell);
    if (server->http) {
        server->config.http_verbs->destroy(server->http);
    }
    (void)close(server->wake_fd);
    (void)pthread_mutex_destroy(&server->lock);
    (void)pthread_mutex_destroy(&server->working);
    release_keys(server);
    free(server);
}
