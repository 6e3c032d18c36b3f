/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint.c: endpoints begin, are shared, and end. Read next: drive.c. */
#include "comm/endpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/end.h"
#include "comm/own_root.h"
#include "comm/state.h"
#include "comm/wake.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/inherit.h"

/* Asked for each socket, bytes; the kernel may grant less. */
#define SOCKET_BUFFER (8U << 20)
#define JOB_SOCKETS 16384U /* of a job, if all ranks are on one machine; Linux gives out 28,232 ports */
#define ROOT_TRIES 16      /* to find ports side by side for a root with several sockets */

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trib_endpoint *registry;

static bool same_faults(const struct trib_faults *a, const struct trib_faults *b)
{
    return a->seed == b->seed && !(a->loss < b->loss || a->loss > b->loss) &&
           !(a->duplicate < b->duplicate || a->duplicate > b->duplicate) &&
           !(a->reorder < b->reorder || a->reorder > b->reorder) &&
           !(a->corrupt < b->corrupt || a->corrupt > b->corrupt);
}

static bool has_job(struct trib_endpoint *endpoint, const char *job)
{
    bool found = false;
    trib_endpoint_lock(endpoint);
    for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        found = found || strcmp(comm->config.job, job) == 0;
    }
    trib_endpoint_unlock(endpoint);
    return found;
}

static bool suits(struct trib_endpoint *endpoint, const struct trib_address *address, const struct trib_config *config)
{
    bool same_place = address == NULL ? endpoint->is_local
                                      : !endpoint->is_local && trib_address_equal(&endpoint->where.address, address);
    const struct trib_config *own = &endpoint->config;
    same_place = same_place && endpoint->where.no_box == (config->rendezvous[0] != '\0');
    return same_place && strcmp(own->nics, config->nics) == 0 && own->payload == config->payload &&
           own->dscp == config->dscp && own->backlog == config->backlog && own->spin_us == config->spin_us &&
           own->trains == config->trains && own->progress_thread == config->progress_thread &&
           same_faults(&own->faults, &config->faults) && !has_job(endpoint, config->job);
}

static enum trib_status open_channel(struct trib_endpoint *endpoint, const struct trib_address *local, bool is_spare,
                                     uint64_t seed, char *error)
{
    struct trib_port_config config = {
        .local = *local,
        .payload = endpoint->config.payload,
        .buffer = SOCKET_BUFFER,
        .dscp = endpoint->config.dscp,
        .trains = endpoint->config.trains,
        .is_spare = is_spare,
        .faults = endpoint->config.faults,
    };
    config.faults.seed += seed;
    TRIB_ASSERT(endpoint->shard_count < sizeof endpoint->shards / sizeof endpoint->shards[0]);
    struct trib_channel *channel = &endpoint->shards[endpoint->shard_count];
    enum trib_status status = trib_port_open(&config, &channel->port, error);
    if (status == TRIB_OK) {
        channel->shard = endpoint->shard_count++;
        trib_port_set_backlog(channel->port, endpoint->flags_backlog ? endpoint->config.backlog : 0);
    }
    return status;
}

/* JOIN names a port for each shard, but the number of shards comes with WELCOME. So all sockets are bound, without
 * memory and options, and trib_endpoint_connect closes the rest. Later JOINs name the sockets that are left. A rank of
 * a large job has fewer, and so a switch uses fewer shards for it. */
static enum trib_status open_sockets(struct trib_endpoint *endpoint, const struct trib_config *own, char *error)
{
    struct trib_address local = endpoint->where.address;
    uint32_t each = own->ranks * TRIB_ROOTS_MAX <= JOB_SOCKETS ? TRIB_ROOTS_MAX : JOB_SOCKETS / own->ranks;
    enum trib_status status = TRIB_OK;
    if (endpoint->where.no_box) {
        return trib_endpoint_be_root(endpoint, &endpoint->where, own, error);
    }
    memset(&local.storage, 0, sizeof local.storage); /* any address, any port */
    local.storage.ss_family = endpoint->where.address.storage.ss_family;
    for (uint32_t i = 0; i < each && status == TRIB_OK; i++) {
        local = endpoint->nics.count > 0 ? endpoint->nics.at[i % endpoint->nics.count] : local;
        /* Each rank and shard loses other packets, from the same seed. */
        status = open_channel(endpoint, &local, true, (uint64_t)own->rank * TRIB_ROOTS_MAX + i, error);
    }
    return status;
}

void trib_endpoint_find_backlog(struct trib_endpoint *endpoint)
{
    endpoint->flags_backlog = false;
    for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        endpoint->flags_backlog = endpoint->flags_backlog || comm->follows_congestion;
    }
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        trib_port_set_backlog(endpoint->shards[i].port, endpoint->flags_backlog ? endpoint->config.backlog : 0);
    }
}

/* Roots of a switch that is gone are dealt to the ranks: one rank may get all of them. */
static enum trib_status open_root(struct trib_endpoint *endpoint, const struct trib_config *own,
                                  const struct trib_address *local, char *error)
{
    uint32_t of_switch = endpoint->shard_count - endpoint->wide_count;
    uint32_t cards = endpoint->wide_count;
    uint32_t shards = of_switch > cards ? of_switch : cards; /* which lie at the cards in turn */
    enum trib_status status = trib_own_root_open(endpoint, own, local, shards, error);
    for (unsigned tries = 1; status == TRIB_ERR_SYSTEM && shards > 1 && tries < ROOT_TRIES; tries++) {
        status = trib_own_root_open(endpoint, own, local, shards, error); /* a port behind the first was taken */
    }
    return status;
}

static void close_wide(struct trib_endpoint *endpoint)
{
    while (endpoint->wide_count > 0) {
        trib_endpoint_close_channel(endpoint, &endpoint->wide[--endpoint->wide_count]);
        endpoint->shard_count--;
    }
    endpoint->wide = NULL;
}

enum trib_status trib_endpoint_widen(struct trib_endpoint *endpoint, const struct trib_where *where,
                                     const struct trib_config *own, char *error)
{
    struct trib_address local;
    uint64_t seed = own->rank;
    if (endpoint->wide != NULL) {
        return TRIB_OK;
    }
    uint32_t cards = endpoint->nics.count > 0 ? endpoint->nics.count : 1;
    /* Other ranks know this rank by its session's address. */
    if (endpoint->nics.count == 0 && !trib_local_towards(&where->address, &local)) {
        bool lacks_file = errno == EMFILE || errno == ENFILE; /* else the routes are the cause, whatever errno says */
        trib_explain(error, "no way leads to the %s%s%s", where->title, lacks_file ? ": " : "",
                     lacks_file ? trib_explain_errno(errno) : "");
        return TRIB_ERR_UNREACHABLE;
    }
    seed += endpoint->shard_count > 0 ? 2 * (uint64_t)TRIB_RANKS_MAX : 0; /* other seeds than those of the shards */
    endpoint->wide = &endpoint->shards[endpoint->shard_count];
    enum trib_status status = TRIB_OK;
    for (uint32_t i = 0; i < cards && status == TRIB_OK; i++) {
        local = endpoint->nics.count > 0 ? endpoint->nics.at[i] : local;
        status = open_channel(endpoint, &local, false, seed * TRIB_ROOTS_MAX + i, error);
        if (status == TRIB_OK) {
            endpoint->wide[i].is_wide = true;
            endpoint->wide_count++;
        }
    }
    if (status != TRIB_OK) {
        close_wide(endpoint);
        return status;
    }
    trib_endpoint_changed(endpoint);
    return TRIB_OK;
}

enum trib_status trib_endpoint_be_root(struct trib_endpoint *endpoint, const struct trib_where *where,
                                       const struct trib_config *own, char *error)
{
    bool was_wide = endpoint->wide != NULL;
    struct trib_address local;
    enum trib_status status = trib_endpoint_widen(endpoint, where, own, error);
    if (status != TRIB_OK || trib_own_root_is_open(&endpoint->own_root)) {
        return status;
    }
    TRIB_ASSERT(endpoint->wide != NULL);
    trib_port_local(endpoint->wide->port, &local);
    trib_address_set_port(&local, 0);
    status = open_root(endpoint, own, &local, error);
    if (status != TRIB_OK && !was_wide) {
        close_wide(endpoint);
    }
    trib_endpoint_changed(endpoint);
    return status;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void destroy_pollset(struct trib_pollset *set)
{
    close_fd(set->eventfd);
    free(set->fds);
    free(set->listeners);
}

void trib_endpoint_hold(struct trib_endpoint *endpoint)
{
    (void)atomic_fetch_add_explicit(&endpoint->holders, 1, memory_order_relaxed);
}

void trib_endpoint_drop(struct trib_endpoint *endpoint)
{
    unsigned holders = atomic_fetch_sub_explicit(&endpoint->holders, 1, memory_order_acq_rel);
    TRIB_ASSERT(holders > 0);
    if (holders == 1) {
        (void)pthread_mutex_destroy(&endpoint->lock);
        free(endpoint);
    }
}

/* The progress thread has ended. Only requests that are not collected yet still know the endpoint. */
static void destroy(struct trib_endpoint *endpoint)
{
    TRIB_ASSERT(endpoint->comms == NULL && endpoint->awake == NULL && endpoint->waiters == 0);
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        trib_port_close(endpoint->shards[i].port);
    }
    trib_own_root_close(&endpoint->own_root);
    destroy_pollset(&endpoint->leader_set);
    destroy_pollset(&endpoint->progress_set);
    close_fd(endpoint->sessions_fd);
    (void)pthread_cond_destroy(&endpoint->followers);
    (void)pthread_cond_destroy(&endpoint->parked);
    trib_endpoint_drop(endpoint);
}

static enum trib_status start_progress(struct trib_endpoint *endpoint, void *(*body)(void *), char *error)
{
    if (!endpoint->config.progress_thread) {
        return TRIB_OK;
    }
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all); /* signals are for the program's own threads */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&endpoint->progress, NULL, body, endpoint);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        trib_explain(error, "cannot start the progress thread: %s", trib_explain_errno(failed));
        return TRIB_ERR_SYSTEM;
    }
    endpoint->has_progress = true;
    return TRIB_OK;
}

static void make_locks(struct trib_endpoint *endpoint)
{
    pthread_condattr_t steady;
    (void)pthread_mutex_init(&endpoint->lock, NULL);
    (void)pthread_condattr_init(&steady);
    (void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&endpoint->followers, &steady);
    (void)pthread_cond_init(&endpoint->parked, &steady);
    (void)pthread_condattr_destroy(&steady);
}

void trib_where_init(struct trib_where *where, const struct trib_address *address, bool no_box)
{
    *where = (struct trib_where){.address = *address, .no_box = no_box};
    trib_address_format(address, where->name);
    (void)snprintf(where->title, sizeof where->title, "%s %s", no_box ? "rendezvous" : "switch", where->name);
}

static struct trib_endpoint *create(const struct trib_address *address, const struct trib_config *config)
{
    struct trib_endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (endpoint == NULL) {
        return NULL;
    }
    atomic_init(&endpoint->holders, 1);
    make_locks(endpoint);
    endpoint->leader_set.eventfd = -1;
    endpoint->progress_set.eventfd = -1;
    endpoint->sessions_fd = -1;
    endpoint->generation = 1; /* poll sets begin with 0: never built */
    endpoint->is_local = address == NULL;
    if (address != NULL) {
        trib_where_init(&endpoint->where, address, config->rendezvous[0] != '\0');
    }
    endpoint->config = *config;
    trib_spin_init(&endpoint->spin, config->spin_us * TRIB_MICROSECOND_NS);
    trib_spin_init(&endpoint->train_spin, config->spin_us * TRIB_MICROSECOND_NS / TRIB_SPIN_TRAIN);
    return endpoint;
}

static enum trib_status open_endpoint(struct trib_endpoint *endpoint, const struct trib_config *own,
                                      void *(*body)(void *), char *error)
{
    endpoint->leader_set.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    endpoint->progress_set.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (endpoint->leader_set.eventfd < 0 || endpoint->progress_set.eventfd < 0) {
        trib_explain(error, "cannot open an eventfd: %s", trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    endpoint->sessions_fd = epoll_create1(EPOLL_CLOEXEC);
    if (endpoint->sessions_fd < 0) {
        trib_explain(error, "cannot open an epoll descriptor: %s", trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    char cause[TRIB_ERROR_TEXT_MAX];
    if (!endpoint->is_local && own->nics[0] != '\0' &&
        trib_nics_parse(own->nics, &endpoint->where.address, &endpoint->nics, cause) != TRIB_OK) {
        trib_explain(error, "network cards (TRIB_NICS): %s", cause);
        return TRIB_ERR_INVALID;
    }
    enum trib_status status = endpoint->is_local ? TRIB_OK : open_sockets(endpoint, own, error);
    return status == TRIB_OK ? start_progress(endpoint, body, error) : status;
}

static struct trib_endpoint *find(const struct trib_address *address, const struct trib_config *config)
{
    struct trib_endpoint *endpoint = registry;
    while (endpoint != NULL && !suits(endpoint, address, config)) {
        endpoint = endpoint->next;
    }
    return endpoint;
}

void trib_endpoint_traffic(const struct trib_endpoint *endpoint, struct trib_port_stats *sum)
{
    *sum = endpoint->closed_traffic;
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        trib_port_stats_add(sum, trib_port_stats(endpoint->shards[i].port));
    }
    for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        for (uint32_t i = 0; i < comm->group_count; i++) {
            trib_port_stats_add(sum, trib_port_stats(comm->groups[i].port));
        }
    }
}

const struct trib_port *trib_endpoint_find_taken(const struct trib_comm *comm)
{
    for (uint32_t i = 0; i < comm->endpoint->shard_count; i++) {
        const struct trib_channel *channel = &comm->endpoint->shards[i];
        if (channel->is_wide == trib_comm_is_wide(comm) && !trib_port_has_address(channel->port)) {
            return channel->port;
        }
    }
    return trib_comm_has_peers(comm) ? trib_own_root_find_taken(&comm->endpoint->own_root) : NULL;
}

void trib_endpoint_close_channel(struct trib_endpoint *endpoint, struct trib_channel *channel)
{
    trib_port_stats_add(&endpoint->closed_traffic, trib_port_stats(channel->port));
    trib_port_close(channel->port);
    *channel = (struct trib_channel){0};
    trib_endpoint_changed(endpoint);
}

void trib_endpoint_share(struct trib_endpoint *endpoint, struct trib_comm *comm, const struct trib_comm *maker)
{
    trib_endpoint_lock(endpoint);
    TRIB_ASSERT(comm->endpoint == NULL);
    comm->endpoint = endpoint;
    comm->where = maker != NULL ? maker->where : endpoint->where;
    comm->other = maker != NULL ? maker->other : (struct trib_elsewhere){.cause = ""};
    trib_endpoint_traffic(endpoint, &comm->base);
    trib_own_root_traffic(&endpoint->own_root, &comm->root_base);
    trib_comm_forget_root(comm);
    comm->next = endpoint->comms;
    endpoint->comms = comm;
    trib_endpoint_changed(endpoint);
    trib_endpoint_unlock(endpoint);
}

enum trib_status trib_endpoint_acquire(const struct trib_address *address, struct trib_comm *comm,
                                       void *(*body)(void *), char *error)
{
    enum trib_status status = TRIB_OK;
    (void)pthread_mutex_lock(&registry_lock);
    struct trib_endpoint *endpoint = find(address, &comm->config);
    if (endpoint == NULL) {
        endpoint = create(address, &comm->config);
        if (endpoint == NULL) {
            trib_explain(error, "out of memory for an endpoint");
            status = TRIB_ERR_MEMORY;
            goto unlock;
        }
        status = open_endpoint(endpoint, &comm->config, body, error);
        if (status != TRIB_OK) {
            destroy(endpoint);
            goto unlock;
        }
        endpoint->next = registry;
        registry = endpoint;
    }
    trib_endpoint_share(endpoint, comm, NULL);
unlock:
    (void)pthread_mutex_unlock(&registry_lock);
    return status;
}

void trib_endpoint_enter(struct trib_endpoint *endpoint, struct trib_comm *comm)
{
    struct trib_comm **bucket = &endpoint->table[comm->grant.communicator % TRIB_ENDPOINT_BUCKETS];
    TRIB_ASSERT(comm->grant.communicator != 0); /* packets of no communicator bear 0 */
    comm->next_named = *bucket;
    *bucket = comm;
}

bool trib_endpoint_watch(struct trib_comm *comm)
{
    struct trib_session_client *session = &comm->session;
    struct epoll_event event = {.events = (uint32_t)comm->polled_interest, .data.ptr = comm};
    if (session->fd < 0) {
        return true; /* closing has taken it out of the set */
    }
    int how = session->epoll_fd < 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    session->epoll_fd = comm->endpoint->sessions_fd;
    return epoll_ctl(session->epoll_fd, how, session->fd, &event) == 0;
}

void trib_endpoint_find_window(struct trib_endpoint *endpoint)
{
    endpoint->window = 0;
    for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        endpoint->window = comm->window > endpoint->window ? comm->window : endpoint->window;
    }
}

/* Locked; true when none is left. */
static bool remove_comm(struct trib_endpoint *endpoint, struct trib_comm *comm)
{
    struct trib_comm **bucket = &endpoint->table[comm->grant.communicator % TRIB_ENDPOINT_BUCKETS];
    struct trib_comm **at = &endpoint->comms;
    while (*at != comm) {
        at = &(*at)->next;
    }
    *at = comm->next;
    for (at = &endpoint->awake; *at != NULL && *at != comm; at = &(*at)->next_awake) {
    }
    if (*at == comm) {
        *at = comm->next_awake;
    }
    TRIB_ASSERT(endpoint->busy >= comm->is_busy);
    endpoint->busy -= comm->is_busy;
    for (at = bucket; *at != NULL && *at != comm; at = &(*at)->next_named) {
    }
    if (*at == comm) {
        *at = comm->next_named;
    }
    trib_endpoint_find_window(endpoint);
    trib_endpoint_find_backlog(endpoint);
    trib_endpoint_changed(endpoint);
    return endpoint->comms == NULL;
}

static void stop(struct trib_endpoint *endpoint)
{
    for (struct trib_endpoint **at = &registry; *at != NULL; at = &(*at)->next) {
        if (*at == endpoint) {
            *at = endpoint->next;
            break;
        }
    }
    trib_endpoint_lock(endpoint);
    endpoint->stopping = true;
    trib_endpoint_changed(endpoint);
    (void)pthread_cond_signal(&endpoint->parked);
    trib_endpoint_unlock(endpoint);
    if (endpoint->has_progress) {
        (void)pthread_join(endpoint->progress, NULL);
    }
    destroy(endpoint);
}

void trib_endpoint_release(struct trib_endpoint *endpoint, struct trib_comm *comm)
{
    (void)pthread_mutex_lock(&registry_lock);
    trib_endpoint_lock(endpoint);
    bool last = remove_comm(endpoint, comm);
    trib_endpoint_unlock(endpoint);
    if (last) {
        stop(endpoint);
    }
    (void)pthread_mutex_unlock(&registry_lock);
}

/* Sockets that some communicator is connected by, or has named in a JOIN whose WELCOME has not come. */
static uint32_t needed_sockets(const struct trib_endpoint *endpoint, const struct trib_comm *settling)
{
    uint32_t needed = settling->root_count;
    for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        uint32_t its = comm->root_count;
        if (comm != settling && comm->state == TRIB_COMM_JOINING && comm->grant.communicator == 0) {
            its = TRIB_ROOTS_MAX;
        }
        needed = !trib_comm_is_wide(comm) && its > needed ? its : needed;
    }
    return needed;
}

enum trib_status trib_endpoint_connect(struct trib_comm *comm, char *error)
{
    struct trib_endpoint *endpoint = comm->endpoint;
    uint32_t sockets = endpoint->shard_count - endpoint->wide_count;
    uint32_t needed = needed_sockets(endpoint, comm);
    TRIB_ASSERT(!trib_comm_is_wide(comm));
    if (comm->root_count > sockets) {
        trib_explain(error, "the %s granted %u shards, but this process offered %u sockets", comm->where.title,
                     comm->root_count, sockets);
        return TRIB_ERR_REFUSED;
    }
    while (endpoint->wide == NULL && endpoint->shard_count > needed) {
        endpoint->shard_count--;
        trib_endpoint_close_channel(endpoint, &endpoint->shards[endpoint->shard_count]);
    }
    for (uint32_t i = 0; i < comm->root_count; i++) {
        const struct trib_address *peer = &comm->roots[i];
        if (trib_address_equal(&endpoint->connected[i], peer)) {
            continue;
        }
        enum trib_status status = trib_port_use(endpoint->shards[i].port, error);
        if (status != TRIB_OK) {
            return status;
        }
        if (!trib_port_connect(endpoint->shards[i].port, peer)) {
            int cause = errno;
            char text[64];
            trib_address_format(peer, text);
            trib_explain(error, "cannot connect a UDP socket to %s: %s", text, trib_explain_errno(cause));
            return TRIB_ERR_SYSTEM;
        }
        endpoint->connected[i] = *peer;
        trib_endpoint_changed(endpoint);
    }
    return TRIB_OK;
}

struct trib_address trib_endpoint_local(const struct trib_endpoint *endpoint, uint32_t shard)
{
    struct trib_address local;
    TRIB_ASSERT(shard < endpoint->shard_count);
    trib_port_local(endpoint->shards[shard].port, &local);
    trib_address_set_port(&local, 0);
    return local;
}

/* ---- fork ---- */

void trib_endpoints_hold(void)
{
    (void)pthread_mutex_lock(&registry_lock);
    for (struct trib_endpoint *endpoint = registry; endpoint != NULL; endpoint = endpoint->next) {
        trib_endpoint_lock(endpoint);
    }
}

void trib_endpoints_resume(void)
{
    for (struct trib_endpoint *endpoint = registry; endpoint != NULL; endpoint = endpoint->next) {
        trib_endpoint_unlock(endpoint);
    }
    (void)pthread_mutex_unlock(&registry_lock);
}

static void drop_endpoint(struct trib_endpoint *endpoint)
{
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        trib_inherit_drop(trib_port_fd(endpoint->shards[i].port));
    }
    struct pollfd fds[TRIB_OWN_ROOT_FDS_MAX];
    uint32_t count = trib_own_root_fds(&endpoint->own_root, fds);
    for (uint32_t i = 0; i < count; i++) {
        trib_inherit_drop(fds[i].fd);
    }
    trib_inherit_drop(endpoint->leader_set.eventfd);
    trib_inherit_drop(endpoint->progress_set.eventfd);
    trib_inherit_drop(endpoint->sessions_fd);
    for (struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        trib_comm_abandon(comm);
    }
    endpoint->generation++;
    make_locks(endpoint);
    endpoint->has_progress = false;
    endpoint->has_leader = false;
    endpoint->waiters = 0;
    endpoint->leader_set.sleeping = false;
    endpoint->progress_set.sleeping = false;
    atomic_store(&endpoint->wanting, 0);
}

void trib_endpoints_abandon(void)
{
    for (struct trib_endpoint *endpoint = registry; endpoint != NULL; endpoint = endpoint->next) {
        drop_endpoint(endpoint);
    }
    registry = NULL;
    (void)pthread_mutex_init(&registry_lock, NULL);
}
