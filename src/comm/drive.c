/* SPDX-License-Identifier: Apache-2.0 */
/* drive.c: the loop that every waiting thread and the progress thread run: receive, feed nodes, drain them, sleep.
 * endpoint.h has the rules which thread runs it.
 * Read next: turn.c (a communicator's turn). */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "comm/drive.h"
#include "comm/endpoint.h"
#include "comm/join.h"
#include "comm/memory.h"
#include "comm/network.h"
#include "comm/own_root.h"
#include "comm/queue.h"
#include "comm/state.h"
#include "comm/turn.h"
#include "comm/wake.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "io/clock.h"

/* Buffers read from one socket before nodes may send: a train of results opens room for a train of contributions. */
#define BATCH 16
/* Sessions served at a time; epoll begins with others the next time. */
#define SESSIONS_AT_ONCE 32
/* Interval between two looks at the sessions while data never pauses. */
#define SESSION_NS (2 * TRIB_MILLISECOND_NS)
/* The progress thread leaves the endpoint alone for so long after a caller drove it... */
#define QUIET_NS (2 * TRIB_MILLISECOND_NS)
/* ...and looks again after this time while a caller drives. A thread that starts an operation then and leaves needs
 * it no earlier; else every start would have to wake the progress thread (trib_endpoint_attend). */
#define PARK_NS (2 * QUIET_NS)
/* Time that a driver waits for threads that want the lock. */
#define ASIDE_NS TRIB_MILLISECOND_NS
/* The first descriptors of a poll set, kicks and sessions, end a nap too. */
#define NAP_FDS 2
/* Sleep when memory for a larger poll set cannot be had: some descriptors are then looked at late. */
#define BLIND_NS (10 * TRIB_MILLISECOND_NS)

/* ---- receiving ---- */

static struct trib_comm *find_comm(struct trib_endpoint *endpoint, uint32_t communicator)
{
    struct trib_comm *comm = endpoint->table[communicator % TRIB_ENDPOINT_BUCKETS];
    while (comm != NULL && comm->grant.communicator != communicator) {
        comm = comm->next_named;
    }
    return comm;
}

/* A packet of an unknown communicator counts as dropped in every communicator. */
static void count_dropped(struct trib_endpoint *endpoint, enum trib_drop drop)
{
    for (struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        comm->dropped[drop]++;
    }
}

/* The sender of the last packet is tried first: all packets of a buffer have one sender. */
static bool is_known_root(struct trib_comm *comm, const struct trib_address *from)
{
    for (uint32_t i = 0; i < comm->root_count; i++) {
        uint32_t root =
            comm->last_root + i < comm->root_count ? comm->last_root + i : comm->last_root + i - comm->root_count;
        if (trib_address_equal(&comm->roots[root], from)) {
            comm->last_root = root;
            return true;
        }
    }
    return false;
}

/* False: the packet is from a switch that comm has left, or from ranks that left it before, or came to a socket to
 * which no root of comm sends. */
static bool is_of_way(struct trib_comm *comm, const struct trib_channel *channel, const struct trib_address *from)
{
    if (trib_comm_is_wide(comm) != channel->is_wide) {
        return false;
    }
    return channel->is_wide ? is_known_root(comm, from) : channel->shard < comm->root_count;
}

static void take_packet(struct trib_endpoint *endpoint, struct trib_comm *owner, const struct trib_channel *channel,
                        const struct trib_arrival *arrival, uint64_t now_ns)
{
    struct trib_packet packet;
    enum trib_drop drop = trib_port_decode(arrival, &packet);
    if (drop != TRIB_DROP_NONE) {
        count_dropped(endpoint, drop);
        return;
    }
    /* A group's socket belongs to one communicator; no communicator has the id 0. */
    struct trib_comm *comm = owner;
    if (comm == NULL && packet.communicator != 0) {
        comm = find_comm(endpoint, packet.communicator);
    }
    if (comm == NULL || comm->grant.communicator != packet.communicator) {
        count_dropped(endpoint, TRIB_DROP_SOURCE);
        return;
    }
    if (!is_of_way(comm, channel, arrival->from)) {
        comm->dropped[TRIB_DROP_SOURCE]++;
        return;
    }
    struct trib_came_from from = {channel->is_wide ? comm->last_root : channel->shard, channel->is_group};
    drop = trib_port_authenticate(arrival, &packet, comm->auth, from.root);
    if (drop != TRIB_DROP_NONE) {
        comm->dropped[drop]++;
        return;
    }
    trib_comm_receive(comm, from, &packet, now_ns);
}

static bool receive_channel(struct trib_endpoint *endpoint, struct trib_comm *owner, struct trib_channel *channel,
                            uint64_t now_ns)
{
    if (trib_port_deadline(channel->port) <= now_ns) {
        channel->hot = true;
    }
    bool came = false;
    for (unsigned i = 0; i < BATCH && channel->hot; i++) {
        struct trib_arrival arrival;
        if (!trib_port_receive(channel->port, now_ns)) {
            channel->hot = false;
            break;
        }
        came = true;
        while (trib_port_next(channel->port, &arrival)) {
            take_packet(endpoint, owner, channel, &arrival, now_ns);
        }
    }
    return came;
}

static bool receive_all(struct trib_endpoint *endpoint, uint64_t now_ns)
{
    bool came = false;
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        came |= receive_channel(endpoint, NULL, &endpoint->shards[i], now_ns);
    }
    for (struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        for (uint32_t i = 0; i < comm->group_count; i++) {
            came |= receive_channel(endpoint, comm, &comm->groups[i], now_ns);
        }
    }
    return came;
}

/* Has every socket tried, except spare ones: with rings alone such sockets stay open. */
static void heat(struct trib_endpoint *endpoint)
{
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        endpoint->shards[i].hot |= !trib_port_is_spare(endpoint->shards[i].port);
    }
    trib_own_root_heat(&endpoint->own_root);
    for (struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        for (uint32_t i = 0; i < comm->group_count; i++) {
            comm->groups[i].hot = true;
        }
    }
}

static bool stays_awake(const struct trib_comm *comm)
{
    return comm->dirty || comm->deadline_ns != TRIB_NEVER || comm->group_count > 0 || trib_comm_is_busy(comm);
}

/* One round: takes all packets, then does all work that is due; at last drives the root of this process. True if a
 * packet came. */
static bool drive(struct trib_endpoint *endpoint, uint64_t now_ns)
{
    bool came = receive_all(endpoint, now_ns);
    struct trib_comm **at = &endpoint->awake;
    while (*at != NULL) {
        struct trib_comm *comm = *at;
        TRIB_ASSERT(comm->is_awake && comm->endpoint == endpoint);
        if (comm->dirty || comm->deadline_ns <= now_ns || trib_comm_is_busy(comm)) {
            comm->moved = false;
            trib_comm_settle(comm, now_ns); /* may wake others, at the head of the list */
            came |= comm->moved;
        }
        if (stays_awake(comm) || *at != comm) { /* if communicators were added before it, the next round takes it out */
            at = &comm->next_awake;
        } else {
            *at = comm->next_awake;
            comm->is_awake = false;
        }
    }
    came |= trib_own_root_drive(&endpoint->own_root, now_ns);
    return came;
}

/* ---- polling ---- */

static uint64_t next_deadline(const struct trib_endpoint *endpoint)
{
    uint64_t deadline = TRIB_NEVER;
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        deadline = trib_time_earlier(deadline, trib_port_deadline(endpoint->shards[i].port));
    }
    deadline = trib_time_earlier(deadline, trib_own_root_deadline(&endpoint->own_root));
    for (const struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        deadline = comm->dirty ? 0 : trib_time_earlier(deadline, comm->deadline_ns);
        for (uint32_t i = 0; i < comm->group_count; i++) {
            deadline = trib_time_earlier(deadline, trib_port_deadline(comm->groups[i].port));
        }
    }
    return deadline;
}

static bool grow(struct trib_pollset *set, uint32_t count)
{
    struct pollfd *fds = realloc(set->fds, (size_t)count * sizeof *fds);
    if (fds == NULL) {
        return false;
    }
    set->fds = fds;
    struct trib_comm **listeners = realloc(set->listeners, (size_t)count * sizeof(struct trib_comm *));
    if (listeners == NULL) {
        return false;
    }
    set->listeners = listeners;
    set->capacity = count;
    return true;
}

/* Room for the eventfd, all sockets and the sessions; false when memory is short. */
static bool reserve(struct trib_pollset *set, const struct trib_endpoint *endpoint)
{
    uint32_t count = 2 + endpoint->shard_count + TRIB_OWN_ROOT_FDS_MAX;
    for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        count += comm->group_count + trib_comm_host_descriptors(comm, NULL);
    }
    return count <= set->capacity || grow(set, 2 * count);
}

static void add_fd(struct trib_pollset *set, int fd)
{
    set->fds[set->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* The order is the one in which take_answers goes through the set. */
static bool build(struct trib_pollset *set, const struct trib_endpoint *endpoint)
{
    if (set->generation == endpoint->generation) {
        return true;
    }
    if (!reserve(set, endpoint)) {
        return false;
    }
    set->count = 0;
    set->listener_count = 0;
    add_fd(set, set->eventfd);
    add_fd(set, endpoint->sessions_fd);
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        const struct trib_port *port = endpoint->shards[i].port;
        add_fd(set, trib_port_is_spare(port) ? -1 : trib_port_fd(port)); /* poll skips -1 */
    }
    set->count += trib_own_root_fds(&endpoint->own_root, set->fds + set->count);
    for (struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
        if (comm->group_count > 0 || trib_comm_host_descriptors(comm, NULL) > 0) {
            set->listeners[set->listener_count++] = comm;
        }
        for (uint32_t i = 0; i < comm->group_count; i++) {
            add_fd(set, trib_port_fd(comm->groups[i].port));
        }
        set->count += trib_comm_host_descriptors(comm, set->fds + set->count);
    }
    TRIB_ASSERT(set->count <= set->capacity);
    set->generation = endpoint->generation;
    return true;
}

/* A session's messages free no other communicator: only the thread that closed a communicator frees it, with the
 * lock. */
static void serve_sessions(const struct trib_endpoint *endpoint, uint64_t now_ns)
{
    struct epoll_event events[SESSIONS_AT_ONCE];
    int count = epoll_wait(endpoint->sessions_fd, events, SESSIONS_AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        trib_comm_session_ready(events[i].data.ptr, (short)events[i].events, now_ns);
    }
}

static void clear_kick(const struct trib_pollset *set)
{
    uint64_t count = 0;
    if (set->fds[0].revents != 0) {
        ssize_t got = read(set->eventfd, &count, sizeof count);
        (void)got; /* empty already: also fine */
    }
}

/* Marks readable sockets; the next round reads them. Sessions are served at once and last: messages may open or
 * close sockets. */
static void take_answers(struct trib_pollset *set, struct trib_endpoint *endpoint, uint64_t now_ns)
{
    const struct pollfd *answer = set->fds + 1;
    clear_kick(set);
    bool has_session = (answer++)->revents != 0;
    for (uint32_t i = 0; i < endpoint->shard_count; i++, answer++) {
        endpoint->shards[i].hot |= answer->revents != 0;
    }
    answer += trib_own_root_ready(&endpoint->own_root, answer);
    for (uint32_t k = 0; k < set->listener_count; k++) {
        struct trib_comm *comm = set->listeners[k];
        for (uint32_t i = 0; i < comm->group_count; i++, answer++) {
            comm->groups[i].hot |= answer->revents != 0;
        }
        answer += trib_comm_host_take_answers(comm, answer);
    }
    TRIB_ASSERT(answer == set->fds + set->count); /* the order of build() */
    if (has_session) {
        serve_sessions(endpoint, now_ns);
    }
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / TRIB_SECOND_NS), .tv_nsec = (long)(ns % TRIB_SECOND_NS)};
}

static struct timespec timeout_until(uint64_t deadline_ns, uint64_t now_ns)
{
    uint64_t left = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    return time_of(trib_time_earlier(left, 3600 * TRIB_SECOND_NS));
}

/* Looks at all descriptors without sleeping or unlocking. */
static void glance(struct trib_endpoint *endpoint, struct trib_pollset *set, uint64_t now_ns)
{
    struct timespec none = {0, 0};
    endpoint->polled_ns = now_ns;
    if (build(set, endpoint) && ppoll(set->fds, set->count, &none, NULL) > 0) {
        take_answers(set, endpoint, now_ns);
    }
}

static void disarm_hosts(const struct trib_endpoint *endpoint)
{
    for (struct trib_comm *comm = endpoint->is_local || endpoint->has_hosts ? endpoint->comms : NULL; comm != NULL;
         comm = comm->next) {
        trib_comm_host_disarm(comm);
    }
}

/* Other ranks of this host wake a poller only at its request. False: there is work to do. */
static bool arm_hosts(const struct trib_endpoint *endpoint)
{
    for (struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        if (trib_comm_is_busy(comm) && !trib_comm_host_arm(comm)) {
            return false;
        }
    }
    return true;
}

static bool is_late(const struct trib_pollset *set, const struct trib_endpoint *endpoint)
{
    return set->sleeping && (set->generation != endpoint->generation || next_deadline(endpoint) < set->deadline_ns ||
                             !arm_hosts(endpoint));
}

/* The poller of `set` is awake. The other poller may still sleep, and the wake-up read here may have been meant for
 * it. A leader that is awake drives; a progress thread that is awake kicks the leader, which drives. */
static void hand_over(const struct trib_endpoint *endpoint, const struct trib_pollset *set)
{
    bool is_leader = set == &endpoint->leader_set;
    const struct trib_pollset *other = is_leader ? &endpoint->progress_set : &endpoint->leader_set;
    if (!other->sleeping) {
        disarm_hosts(endpoint);
    } else if (is_leader ? !arm_hosts(endpoint) : is_late(other, endpoint)) {
        trib_endpoint_kick(other);
    }
}

/* How long packets may gather; 0: the first one ends the sleep. */
static uint64_t find_nap(struct trib_endpoint *endpoint, uint64_t now_ns)
{
    uint64_t packets = 0;
    uint64_t awaited = 0;
    for (const struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        if (trib_comm_is_busy(comm)) {
            return 0; /* other ranks of this host may wait for a sum in memory */
        }
        uint64_t of_this = comm->state == TRIB_COMM_RUNNING ? trib_comm_in_flight(comm) : 0;
        if (of_this > 0 && of_this < TRIB_NAP_FEWEST) {
            awaited = 0; /* its last packets are on the way */
            break;
        }
        awaited += of_this;
        for (uint32_t i = 0; i < comm->group_count; i++) {
            packets += trib_port_stats(comm->groups[i].port)->packets_received;
        }
    }
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        packets += trib_port_stats(endpoint->shards[i].port)->packets_received;
    }
    return trib_nap_begin(&endpoint->nap, packets, awaited, now_ns);
}

/* Unlocks, sleeps until something is readable, due, or a caller has news; until_ns at the latest. nap_ns: packets alone
 * do not end the sleep before this time. */
static void sleep_in_poll(struct trib_endpoint *endpoint, struct trib_pollset *set, uint64_t nap_ns, uint64_t until_ns)
{
    TRIB_ASSERT(!set->sleeping);
    uint64_t now = trib_clock_ns();
    set->deadline_ns = trib_time_earlier(next_deadline(endpoint), until_ns);
    if (!build(set, endpoint)) {
        set->count = set->capacity > 0 ? 1 : 0; /* of the old set: the eventfd */
        set->generation = 0;
        set->deadline_ns = trib_time_earlier(set->deadline_ns, now + BLIND_NS);
        heat(endpoint);
    }
    if (!arm_hosts(endpoint)) {
        return;
    }
    bool naps = nap_ns != 0 && now + nap_ns < set->deadline_ns && set->count >= NAP_FDS;
    set->deadline_ns = naps ? now + nap_ns : set->deadline_ns;
    struct timespec timeout = timeout_until(set->deadline_ns, now);
    uint64_t generation = set->generation;
    set->sleeping = true;
    trib_endpoint_unlock(endpoint);
    int ready = ppoll(set->fds, naps ? NAP_FDS : set->count, &timeout, NULL);
    trib_endpoint_lock(endpoint);
    set->sleeping = false;
    now = trib_clock_ns();
    endpoint->polled_ns = naps ? endpoint->polled_ns : now;
    if (naps) {
        heat(endpoint);
        clear_kick(set);
        if (ready > 0 && set->fds[1].revents != 0) {
            serve_sessions(endpoint, now);
        }
    } else if (ready > 0 && generation == endpoint->generation) {
        take_answers(set, endpoint, now);
    } else if (ready > 0 && set->count > 0) {
        clear_kick(set);
    }
    hand_over(endpoint, set);
}

/* ---- waiting ---- */

/* Gives the lock to waiting threads, for a bounded time: they take longer to wake than the driver takes to lock
 * again. */
static void step_aside(struct trib_endpoint *endpoint)
{
    if (atomic_load_explicit(&endpoint->wanting, memory_order_relaxed) == 0) {
        return;
    }
    uint64_t until = trib_clock_ns() + ASIDE_NS;
    trib_endpoint_unlock(endpoint);
    while (atomic_load_explicit(&endpoint->wanting, memory_order_relaxed) != 0 && trib_clock_ns() < until) {
        (void)sched_yield();
    }
    trib_endpoint_lock(endpoint);
}

/* How to wait busily where no nap follows. */
static struct trib_spin *find_spin(struct trib_endpoint *endpoint)
{
    for (const struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        if (comm->state == TRIB_COMM_RUNNING && trib_comm_has_more(comm)) {
            return &endpoint->train_spin;
        }
    }
    return &endpoint->spin;
}

static void lead(struct trib_endpoint *endpoint, const atomic_bool *done, uint64_t until_ns)
{
    TRIB_ASSERT(endpoint->has_leader && endpoint->waiters > 0);
    struct trib_spin *spin = &endpoint->spin;
    uint64_t spin_until = 0; /* 0: not waiting busily */
    uint64_t nap_ns = 0;
    bool has_looked = false; /* at the sockets, also where the limit is 0: a caller may do nothing but ask again */
    trib_nap_pause(&endpoint->nap);
    for (;;) {
        step_aside(endpoint);
        uint64_t now = trib_clock_ns();
        bool came = drive(endpoint, now);
        endpoint->driven_ns = now;
        /* The lock is held from here to the sleep, so a thread that sets *done later sees a sleeper to wake. */
        bool is_done = atomic_load_explicit(done, memory_order_acquire);
        if (is_done || (now >= until_ns && has_looked)) {
            if (spin_until != 0) {
                trib_spin_end(spin, is_done); /* short limits, one after the other, are a long wait */
            }
            return;
        }
        if (now - endpoint->polled_ns > SESSION_NS) {
            glance(endpoint, &endpoint->leader_set, now);
            has_looked = true;
            continue;
        }
        if (now >= until_ns) {
            heat(endpoint);
            has_looked = true;
            continue;
        }
        if (came) {
            if (spin_until != 0) {
                trib_spin_end(spin, true);
                spin_until = 0;
            }
            continue;
        }
        if (spin_until == 0) {
            nap_ns = find_nap(endpoint, now);
            spin = find_spin(endpoint);
            spin_until = now + (nap_ns == 0 ? trib_spin_begin(spin) : 0);
        }
        if (now < spin_until) {
            has_looked = true;
            heat(endpoint);
            trib_endpoint_unlock(endpoint);
            (void)sched_yield();
            trib_endpoint_lock(endpoint);
            continue;
        }
        if (nap_ns == 0) {
            trib_spin_end(spin, false);
        }
        spin_until = 0;
        has_looked = true;
        sleep_in_poll(endpoint, &endpoint->leader_set, nap_ns, until_ns);
    }
}

void trib_endpoint_wait_until(struct trib_endpoint *endpoint, const atomic_bool *done, uint64_t until_ns)
{
    const struct timespec until = time_of(until_ns);
    endpoint->waiters++;
    while (!atomic_load_explicit(done, memory_order_acquire)) {
        if (endpoint->has_leader) {
            trib_endpoint_attend(endpoint); /* the leader runs the operations that were begun here */
            if (pthread_cond_timedwait(&endpoint->followers, &endpoint->lock, &until) == ETIMEDOUT) {
                break;
            }
            continue;
        }
        endpoint->has_leader = true;
        lead(endpoint, done, until_ns);
        endpoint->has_leader = false;
        if (endpoint->waiters > 1) {
            (void)pthread_cond_broadcast(&endpoint->followers);
        }
        if (trib_clock_ns() >= until_ns) {
            break;
        }
    }
    endpoint->waiters--;
    if (endpoint->waiters == 0) {
        trib_endpoint_attend(endpoint);
    }
}

void trib_endpoint_wait(struct trib_endpoint *endpoint, const atomic_bool *done)
{
    trib_endpoint_wait_until(endpoint, done, TRIB_NEVER);
}

void trib_endpoint_poke(struct trib_endpoint *endpoint)
{
    uint64_t now = trib_clock_ns();
    heat(endpoint);
    (void)drive(endpoint, now);
    /* A leader in poll has its set to itself, and serves the sessions. */
    if (!endpoint->has_leader && now - endpoint->polled_ns > SESSION_NS) {
        glance(endpoint, &endpoint->leader_set, now);
        (void)drive(endpoint, now);
    }
    endpoint->driven_ns = now;
    trib_endpoint_attend(endpoint);
}

static bool has_requests(const struct trib_endpoint *endpoint)
{
    for (const struct trib_comm *comm = endpoint->awake; comm != NULL; comm = comm->next_awake) {
        if (!trib_comm_is_idle(comm)) {
            return true;
        }
    }
    return false;
}

void trib_endpoint_attend(struct trib_endpoint *endpoint)
{
    if (endpoint->has_leader) {
        if (is_late(&endpoint->leader_set, endpoint)) {
            trib_endpoint_kick(&endpoint->leader_set);
        }
        return;
    }
    if (is_late(&endpoint->progress_set, endpoint)) {
        trib_endpoint_kick(&endpoint->progress_set);
    }
    /* The thread is parked for long, since a caller was driving; now no caller drives. Idle nodes' timers can wait
     * for the end of the nap: to wake the thread at the end of every blocking call would double the cost of a small
     * one. */
    if (endpoint->parked_until_ns > endpoint->driven_ns + 2 * QUIET_NS && has_requests(endpoint)) {
        (void)pthread_cond_signal(&endpoint->parked);
    }
}

/* ---- the progress thread ---- */

static void park(struct trib_endpoint *endpoint, uint64_t until_ns)
{
    const struct timespec until = time_of(until_ns);
    endpoint->parked_until_ns = until_ns;
    (void)pthread_cond_timedwait(&endpoint->parked, &endpoint->lock, &until);
    endpoint->parked_until_ns = 0;
}

void *trib_endpoint_progress(void *argument)
{
    struct trib_endpoint *endpoint = argument;
    trib_endpoint_lock(endpoint);
    for (;;) {
        step_aside(endpoint);
        if (endpoint
                ->stopping) { /* asked after stepping aside: the thread that stops the endpoint wakes only a sleeper */
            break;
        }
        uint64_t now = trib_clock_ns();
        if (endpoint->waiters > 0) {
            park(endpoint, now + PARK_NS);
        } else if (now < endpoint->driven_ns + QUIET_NS) {
            park(endpoint, endpoint->driven_ns + QUIET_NS);
        } else if (!drive(endpoint, now)) {
            sleep_in_poll(endpoint, &endpoint->progress_set, find_nap(endpoint, now), TRIB_NEVER);
        } else if (now - endpoint->polled_ns > SESSION_NS) {
            glance(endpoint, &endpoint->progress_set, now);
        }
    }
    trib_endpoint_unlock(endpoint);
    return NULL;
}
