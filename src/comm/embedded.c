/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.c: see embedded.h. */
#include "comm/embedded.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "control/server.h"
#include "io/clock.h"
#include "io/explain.h"

struct trib_embedded {
    struct trib_embedded *next; /* in `all` */
    struct trib_address address;
    struct trib_server *server;
    pthread_t thread;
    uint32_t shares;
    bool is_retired; /* told to end with its last session */
    bool has_ended;  /* its thread will touch nothing any more */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below, and of every one's fields */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_cond_t ended; /* one of them has */
static struct trib_embedded *all;

static void prepare(void)
{
    pthread_condattr_t steady;
    (void)pthread_condattr_init(&steady);
    (void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&ended, &steady);
    (void)pthread_condattr_destroy(&steady);
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

/* Where to listen: at the rendezvous. But a host's file of names may give its own one a loopback address, at which no other host
 * reaches it: who names a host, and not the loopback itself, then listens everywhere. */
static struct trib_address listening_address(const struct trib_config *config, const struct trib_address *address)
{
    struct trib_address listen = *address;
    bool says_so = strncmp(config->rendezvous, "127.", 4) == 0 || config->rendezvous[0] == '[' ||
                   strncmp(config->rendezvous, "localhost", 9) == 0;
    if (trib_address_is_loopback(address) && !says_so) {
        memset(&listen.storage, 0, sizeof listen.storage);
        listen.storage.ss_family = address->storage.ss_family;
        trib_address_set_port(&listen, trib_address_port(address));
    }
    return listen;
}

static enum trib_status draw_boot(uint32_t *boot, char *error)
{
    do {
        if (getrandom(boot, sizeof *boot, 0) != (ssize_t)sizeof *boot) {
            trib_explain(error, "cannot draw a boot id: %s", strerror(errno));
            return TRIB_ERR_SYSTEM;
        }
    } while (*boot == 0);
    return TRIB_OK;
}

static enum trib_status create_server(const struct trib_config *config, const struct trib_address *address,
                                      struct trib_server **server, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_server_config wanted = {
        .listen = listening_address(config, address),
        .join_timeout_ns = config->join_timeout_ns,
        .memory_quota = UINT64_MAX, /* slots are in the ranks' own memory */
        .job_quota = UINT64_MAX,
    };
    enum trib_status status = draw_boot(&wanted.boot, error);
    if (status != TRIB_OK) {
        return status;
    }
    status = trib_server_create(&wanted, server, cause);
    if (status != TRIB_OK) {
        trib_explain(
            error,
            "rank 0 of job %s cannot listen at the rendezvous %s: %.300s; it must be an address of rank 0's host, "
            "with a port that is free there (TRIB_RENDEZVOUS=HOST:PORT)",
            config->job, config->rendezvous, cause);
    }
    return status;
}

/* Signals are for the program's own threads. */
static int start(struct trib_embedded *embedded)
{
    sigset_t every;
    sigset_t before;
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before);
    int failed = pthread_create(&embedded->thread, NULL, serve, embedded);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static enum trib_status open_embedded(const struct trib_config *config, const struct trib_address *address,
                                      struct trib_embedded **opened, char *error)
{
    struct trib_embedded *embedded = calloc(1, sizeof *embedded);
    if (embedded == NULL) {
        trib_explain(error, "out of memory for the control plane");
        return TRIB_ERR_MEMORY;
    }
    embedded->address = *address;
    embedded->shares = 1;
    enum trib_status status = create_server(config, address, &embedded->server, error);
    if (status == TRIB_OK) {
        int failed = start(embedded);
        if (failed != 0) {
            trib_explain(error, "cannot start the control plane's thread: %s", strerror(failed));
            trib_server_destroy(embedded->server);
            status = TRIB_ERR_SYSTEM;
        }
    }
    if (status != TRIB_OK) {
        free(embedded);
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
    struct trib_embedded **at = &all;
    while (*at != embedded) {
        at = &(*at)->next;
    }
    *at = embedded->next;
    (void)pthread_join(embedded->thread, NULL);
    trib_server_destroy(embedded->server);
    free(embedded);
}

/* The one at this address that goes on. One that is just ending has to be waited for: it still has the port. Locked. */
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

enum trib_status trib_embedded_acquire(const struct trib_config *config, const struct trib_address *address,
                                       struct trib_embedded **embedded, char *error)
{
    enum trib_status status = TRIB_OK;
    (void)pthread_once(&prepared, prepare);
    (void)pthread_mutex_lock(&lock);
    struct trib_embedded *found = find(address);
    if (found != NULL) {
        found->shares++;
        *embedded = found;
    } else {
        status = open_embedded(config, address, embedded, error);
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
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

/* Nobody else destroys it meanwhile but who finds it by its address, and then it is not in the list any more. */
static bool is_listed(const struct trib_embedded *embedded)
{
    const struct trib_embedded *at = all;
    while (at != NULL && at != embedded) {
        at = at->next;
    }
    return at != NULL;
}

void trib_embedded_release(struct trib_embedded *embedded, uint64_t linger_ns)
{
    if (embedded == NULL) {
        return;
    }
    uint64_t until_ns = trib_clock_ns();
    until_ns = linger_ns < TRIB_NEVER - until_ns ? until_ns + linger_ns : TRIB_NEVER;
    const struct timespec until = {(time_t)(until_ns / TRIB_SECOND_NS), (long)(until_ns % TRIB_SECOND_NS)};
    (void)pthread_mutex_lock(&lock);
    embedded->shares--;
    if (embedded->shares == 0) {
        (void)trib_server_retire(embedded->server, true);
        embedded->is_retired = true;
        while (is_listed(embedded) && embedded->shares == 0 && !embedded->has_ended &&
               pthread_cond_timedwait(&ended, &lock, &until) == 0) {
        }
        if (is_listed(embedded) && embedded->shares == 0 && embedded->has_ended) {
            destroy(embedded);
        }
    }
    (void)pthread_mutex_unlock(&lock);
}
