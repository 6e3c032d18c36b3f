/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.c: see embedded.h. */
#include "comm/embedded.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/server.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/draw.h"
#include "io/explain.h"
#include "io/log.h"
#include "keys/keyring.h"

/* After so long a released control plane reports the ranks that it waits for. */
#define LOOK_NS TRIB_SECOND_NS

struct trib_embedded {
    struct trib_embedded *next; /* in `all` */
    struct trib_address address;
    struct trib_server *server;
    struct trib_keyring keys;    /* of ranks; not set: none */
    char run[TRIB_NAME_MAX + 1]; /* launch whose ranks come here */
    uint32_t shares;
    uint64_t patience_ns; /* time for which it waits for communicators of others, ns */
    uint64_t linger_ns;   /* the same for ranks that only have to close; of the last release */
    bool is_foreign;      /* the parent process has it */
    bool is_retired;      /* told to end with its last session */
    bool has_ended;       /* its thread will touch nothing any more */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all below, and the fields of every control plane */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_cond_t ended; /* a control plane has ended, or its duties have changed */
static struct trib_embedded *all;

static void serve_on(void);

static void make_condition(void)
{
    pthread_condattr_t steady;
    (void)pthread_condattr_init(&steady);
    (void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&ended, &steady);
    (void)pthread_condattr_destroy(&steady);
}

static void prepare(void)
{
    make_condition();
    (void)atexit(serve_on);
}

/* Called by the control plane's thread. */
static void tell_changed(void *owner)
{
    (void)owner;
    (void)pthread_mutex_lock(&lock);
    (void)pthread_cond_broadcast(&ended);
    (void)pthread_mutex_unlock(&lock);
}

static void *serve(void *argument)
{
    struct trib_embedded *embedded = argument;
    trib_server_run(embedded->server);
    (void)pthread_mutex_lock(&lock);
    embedded->has_ended = true;
    (void)pthread_cond_broadcast(&ended);
    (void)pthread_mutex_unlock(&lock);
    return NULL;
}

/* An address, not a name: 127.0.0.1, 127.0.0.1:7470, [::1]:7470, ::1. */
static bool is_literal(const char *rendezvous)
{
    char host[INET_ADDRSTRLEN];
    struct in_addr v4;
    const char *colon = strchr(rendezvous, ':');
    if (rendezvous[0] == '[' || (colon != NULL && strchr(colon + 1, ':') != NULL)) {
        return true; /* IPv6 */
    }
    size_t len = colon != NULL ? (size_t)(colon - rendezvous) : strlen(rendezvous);
    if (len >= sizeof host) {
        return false;
    }
    memcpy(host, rendezvous, len);
    host[len] = '\0';
    return inet_pton(AF_INET, host, &v4) == 1;
}

/* The address to listen at: the rendezvous. But a file of host names may give a host's own name a loopback address,
 * which no other host reaches; so may a launcher that names rank 0's host "localhost" to rank 0 alone. A rank that
 * gives a name therefore listens at every address. */
static struct trib_address listening_address(const struct trib_config *config, const struct trib_address *address)
{
    struct trib_address listen = *address;
    if (trib_address_port(address) != 0 && trib_address_is_loopback(address) && !is_literal(config->rendezvous)) {
        memset(&listen.storage, 0, sizeof listen.storage);
        listen.storage.ss_family = address->storage.ss_family;
        trib_address_set_port(&listen, trib_address_port(address));
    }
    return listen;
}

static enum trib_status create_server(const struct trib_config *config, const struct trib_address *address,
                                      struct trib_embedded *embedded, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_server_config wanted = {
        .listen = listening_address(config, address),
        .join_timeout_ns = config->join_timeout_ns,
        .memory_quota = UINT64_MAX, /* slots are in the ranks' own memory */
        .job_quota = UINT64_MAX,
        .boot = trib_draw_id(),
        .run = embedded->run,
        .keys = embedded->keys.is_for_jobs ? &embedded->keys : NULL,
        .is_guest = true,
        .changed = tell_changed,
    };
    enum trib_status status = trib_server_create(&wanted, &embedded->server, cause);
    if (status != TRIB_OK && trib_address_port(address) == 0) {
        trib_explain(error, "rank 0 of job %s cannot listen for ranks that go on without the switch: %.300s",
                     config->job, cause);
    } else if (status != TRIB_OK) {
        trib_explain(
            error,
            "rank 0 of job %s cannot listen at the rendezvous %s: %.300s; it must be an address of rank 0's host, "
            "with a port that is free there (TRIB_RENDEZVOUS=HOST:PORT)",
            config->job, config->rendezvous, cause);
    }
    return status;
}

/* Signals are for the program's own threads. The thread is detached: it may serve longer than any caller waits, and
 * says when it has ended. */
static int start(struct trib_embedded *embedded)
{
    sigset_t every;
    sigset_t before;
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, serve, embedded);
    if (failed == 0) {
        (void)pthread_detach(thread);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void erase(struct trib_embedded *embedded)
{
    trib_wipe(&embedded->keys, sizeof embedded->keys);
    free(embedded);
}

static enum trib_status open_embedded(const struct trib_config *config, const struct trib_keys *keys,
                                      const struct trib_address *address, struct trib_embedded **opened, char *error)
{
    struct trib_embedded *embedded = calloc(1, sizeof *embedded);
    if (embedded == NULL) {
        trib_explain(error, "out of memory for the control plane");
        return TRIB_ERR_MEMORY;
    }
    embedded->address = *address;
    embedded->shares = 1;
    memcpy(embedded->run, config->run, sizeof embedded->run);
    embedded->keys = (struct trib_keyring){.own = *keys, .is_for_jobs = keys->is_set};
    enum trib_status status = create_server(config, address, embedded, error);
    if (status == TRIB_OK) {
        int failed = start(embedded);
        if (failed != 0) {
            trib_explain(error, "cannot start the control plane's thread: %s", trib_explain_errno(failed));
            trib_server_destroy(embedded->server);
            status = TRIB_ERR_SYSTEM;
        }
    }
    if (status != TRIB_OK) {
        erase(embedded);
        return status;
    }
    embedded->next = all;
    all = embedded;
    *opened = embedded;
    return TRIB_OK;
}

/* Its thread has ended. Locked. */
static void destroy(struct trib_embedded *embedded)
{
    TRIB_ASSERT(embedded->has_ended && embedded->shares == 0);
    struct trib_embedded **at = &all;
    while (*at != embedded) {
        at = &(*at)->next;
    }
    *at = embedded->next;
    trib_server_destroy(embedded->server);
    erase(embedded);
}

/* Frees control planes that have ended by themselves, at every address. Locked. */
static void reap(void)
{
    struct trib_embedded *next;
    for (struct trib_embedded *at = all; at != NULL; at = next) {
        next = at->next;
        if (at->has_ended && at->shares == 0) {
            destroy(at);
        }
    }
}

/* Returns the control plane at the address, if it goes on. A control plane that is ending has the port: it is waited
 * for. Locked. */
static struct trib_embedded *find(const struct trib_address *address)
{
    struct trib_embedded *at = all;
    while (at != NULL) {
        if (!trib_address_equal(&at->address, address)) {
            at = at->next;
        } else if (!at->is_retired || trib_server_retire(at->server, false)) {
            at->is_retired = false;
            return at;
        } else if (at->has_ended) {
            destroy(at);
            at = all;
        } else {
            (void)pthread_cond_wait(&ended, &lock);
            at = all;
        }
    }
    return NULL;
}

enum trib_status trib_embedded_acquire(const struct trib_config *config, const struct trib_keys *keys,
                                       const struct trib_address *address, struct trib_embedded **embedded, char *error)
{
    enum trib_status status = TRIB_OK;
    (void)pthread_once(&prepared, prepare);
    (void)pthread_mutex_lock(&lock);
    struct trib_embedded *found = find(address);
    reap();
    if (found != NULL) {
        found->shares++;
        *embedded = found;
    } else {
        status = open_embedded(config, keys, address, embedded, error);
    }
    if (status == TRIB_OK && (*embedded)->patience_ns < config->timeout_ns) {
        (*embedded)->patience_ns = config->timeout_ns;
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

uint16_t trib_embedded_port(const struct trib_embedded *embedded)
{
    return embedded != NULL ? trib_server_port(embedded->server) : 0;
}

struct trib_embedded *trib_embedded_share(struct trib_embedded *embedded)
{
    if (embedded != NULL) {
        (void)pthread_mutex_lock(&lock);
        embedded->shares++;
        (void)pthread_mutex_unlock(&lock);
    }
    return embedded;
}

/* Another thread can destroy embedded meanwhile, if it finds embedded by address: then the list has it no more. */
static bool is_listed(const struct trib_embedded *embedded)
{
    const struct trib_embedded *at = all;
    while (at != NULL && at != embedded) {
        at = at->next;
    }
    return at != NULL;
}

/* ---- the end ---- */

static void sleep_until(uint64_t when_ns)
{
    const struct timespec until = {(time_t)(when_ns / TRIB_SECOND_NS), (long)(when_ns % TRIB_SECOND_NS)};
    (void)pthread_cond_timedwait(&ended, &lock, &until);
}

/* Serves on until the control plane has ended or the time is up: linger_ns for ranks that only have to close,
 * patience_ns for ranks that go on. is_exit: this process will make no other communicator. Locked; embedded may be
 * freed afterwards. */
static void wait_for_others(struct trib_embedded *embedded, uint64_t linger_ns, uint64_t patience_ns, bool is_exit)
{
    uint64_t begun_ns = trib_clock_ns();
    uint64_t eased_ns = begun_ns; /* since when all that are left only have to close */
    bool was_needed = false;
    bool has_said = false;
    while (is_listed(embedded) && embedded->shares == 0 && !embedded->has_ended) {
        struct trib_server_duties duties;
        uint64_t now_ns = trib_clock_ns();
        bool is_known = trib_server_duties(embedded->server, &duties);
        eased_ns = was_needed ? now_ns : eased_ns;
        was_needed = is_known && duties.needed > 0;
        uint64_t limit_ns = trib_time_after(eased_ns, linger_ns);
        if (!is_known) {
            limit_ns = trib_time_after(begun_ns, LOOK_NS);
        } else if (duties.needed > 0) {
            limit_ns = trib_time_after(begun_ns, linger_ns > patience_ns ? linger_ns : patience_ns);
            if (!has_said && now_ns >= begun_ns + LOOK_NS) {
                has_said = true;
                trib_log(TRIB_LOG_WARN, "rank 0 has closed, but its process has the control plane: waiting for %s",
                         duties.who);
            }
            limit_ns = !has_said && limit_ns > begun_ns + LOOK_NS ? begun_ns + LOOK_NS : limit_ns;
        }
        bool is_waited_for = is_known && duties.awaited > 0 && !is_exit;
        if (now_ns >= limit_ns || is_waited_for) {
            return;
        }
        sleep_until(limit_ns);
    }
}

void trib_embedded_release(struct trib_embedded *embedded, uint64_t linger_ns, bool is_patient)
{
    if (embedded == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    TRIB_ASSERT(embedded->shares > 0);
    embedded->shares--;
    if (embedded->shares == 0 && !embedded->is_foreign) {
        (void)trib_server_retire(embedded->server, true);
        embedded->is_retired = true;
        embedded->linger_ns = linger_ns;
        wait_for_others(embedded, linger_ns, is_patient ? embedded->patience_ns : 0, false);
        if (is_listed(embedded) && embedded->shares == 0 && embedded->has_ended) {
            destroy(embedded);
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

/* The process ends. A control plane with shares belongs to a rank that ends in the middle of its work, and other
 * ranks have to hear of the end. */
static void serve_on(void)
{
    (void)pthread_mutex_lock(&lock);
    for (struct trib_embedded *at = all; at != NULL; at = is_listed(at) ? at->next : NULL) {
        wait_for_others(at, at->linger_ns, at->patience_ns, true);
    }
    reap();
    (void)pthread_mutex_unlock(&lock);
}

/* ---- fork ---- */

void trib_embedded_hold(void)
{
    (void)pthread_mutex_lock(&lock);
    for (struct trib_embedded *at = all; at != NULL; at = at->next) {
        trib_server_hold(at->server);
    }
}

void trib_embedded_resume(void)
{
    for (struct trib_embedded *at = all; at != NULL; at = at->next) {
        trib_server_resume(at->server);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Lock and condition are made anew: threads of the parent process may have held them. */
void trib_embedded_abandon(void)
{
    for (struct trib_embedded *at = all; at != NULL; at = at->next) {
        trib_server_abandon(at->server);
        at->is_foreign = true;
    }
    all = NULL;
    (void)pthread_mutex_init(&lock, NULL);
    make_condition();
}
