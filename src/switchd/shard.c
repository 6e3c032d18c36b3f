/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c: see shard.h. The loop: sleep; take in a batch; wake the nodes that are due; send what nodes have to send;
 * report. */
#define _GNU_SOURCE
#include "switchd/shard.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/explain.h"

/* Payload of answers to path probes; what it holds says nothing. */
static const uint8_t zeros[TRIB_PAYLOAD_MAX];

enum trib_status trib_shard_open(struct trib_shard *shard, const struct trib_udp_config *config, uint32_t boot,
                                 char *error)
{
    memset(shard, 0, sizeof *shard);
    atomic_init(&shard->stop, false);
    shard->boot = boot;
    shard->wake_ns = TRIB_NEVER;
    (void)pthread_mutex_init(&shard->gate, NULL);
    (void)pthread_mutex_init(&shard->lock, NULL);
    shard->kick_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (shard->kick_fd < 0) {
        trib_explain(error, "cannot make an eventfd: %s", strerror(errno));
        return TRIB_ERR_SYSTEM;
    }
    return trib_udp_open(config, &shard->udp, error);
}

static void kick(const struct trib_shard *shard)
{
    const uint64_t one = 1;
    ssize_t written = write(shard->kick_fd, &one, sizeof one);
    (void)written; /* EAGAIN: 2^64 - 1 kicks are waiting, which is enough */
}

void trib_shard_stop(struct trib_shard *shard)
{
    if (shard->is_running) {
        atomic_store(&shard->stop, true);
        kick(shard);
        (void)pthread_join(shard->thread, NULL);
        shard->is_running = false;
    }
}

void trib_shard_close(struct trib_shard *shard)
{
    trib_shard_stop(shard);
    trib_udp_close(shard->udp);
    shard->udp = NULL;
    trib_members_deinit(&shard->members);
    if (shard->kick_fd >= 0) {
        (void)close(shard->kick_fd);
        shard->kick_fd = -1;
    }
    (void)pthread_mutex_destroy(&shard->gate);
    (void)pthread_mutex_destroy(&shard->lock);
}

/* Everybody passes the gate on the way to the lock. Who waits for the lock keeps the gate shut, so the thread, which
 * would otherwise take its lock again at once, stops at the gate and the waiter is next. */
static void take_lock(struct trib_shard *shard)
{
    (void)pthread_mutex_lock(&shard->gate);
    (void)pthread_mutex_lock(&shard->lock);
    (void)pthread_mutex_unlock(&shard->gate);
}

void trib_shard_enter(struct trib_shard *shard)
{
    take_lock(shard);
}

void trib_shard_leave(struct trib_shard *shard)
{
    trib_udp_flush(shard->udp);
    (void)pthread_mutex_unlock(&shard->lock);
    kick(shard);
}

/* Sends a path probe back to who sent it, at the same size, so that nobody gains by a false source address; and it
 * is only answered to a child. */
static void answer_path(struct trib_shard *shard, const struct trib_member_source *source,
                        const struct trib_packet *probe)
{
    const struct trib_packet answer = {
        .kind = TRIB_PATH,
        .communicator = probe->communicator,
        .generation = probe->generation,
        .sequence = probe->sequence,
        .mark = probe->sequence,
        .node = (uint16_t)source->child,
        .boot = shard->boot,
        .payload_len = probe->payload_len,
        .payload = zeros,
    };
    shard->paths++;
    trib_udp_send(shard->udp, &answer, &source->member->child[source->child], 1);
}

/* Takes in the packets of one buffer. All of a buffer are from one sender, and nearly always for one communicator. */
static void take_buffer(struct trib_shard *shard, uint64_t now_ns)
{
    const struct trib_member_source *source = NULL;
    const struct trib_address *from = NULL;
    uint32_t communicator = 0;
    struct trib_arrival arrival;
    struct trib_packet packet;
    while (trib_udp_next(shard->udp, &arrival)) {
        enum trib_drop drop = trib_packet_decode(arrival.data, arrival.len, &packet);
        if (drop != TRIB_DROP_NONE) {
            shard->dropped[drop]++;
            continue;
        }
        if (source == NULL || arrival.from != from || packet.communicator != communicator) {
            from = arrival.from;
            communicator = packet.communicator;
            source = trib_members_find_source(&shard->members, communicator, from);
        }
        if (source == NULL) {
            shard->dropped[TRIB_DROP_SOURCE]++;
        } else if (packet.kind == TRIB_PATH) {
            answer_path(shard, source, &packet);
        } else {
            struct trib_member *member = source->member;
            const struct trib_place place = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << source->child};
            (void)member->verbs->receive(member->node, place, &packet, now_ns); /* the node counts its drops */
            member->is_touched = true;
        }
    }
}

/* Takes in what has come, up to a batch; true if there may be more. */
static bool take_batch(struct trib_shard *shard, uint64_t now_ns)
{
    for (unsigned i = 0; i < TRIB_SHARD_BATCH; i++) {
        if (!trib_udp_receive(shard->udp, now_ns)) {
            return false;
        }
        take_buffer(shard, now_ns);
    }
    return true;
}

static void wake_due(struct trib_shard *shard, uint64_t now_ns)
{
    if (now_ns < shard->wake_ns) {
        return;
    }
    for (uint32_t i = 0; i < shard->members.count; i++) {
        struct trib_member *member = shard->members.list[i];
        if (member->timeout_ns <= now_ns) {
            member->verbs->on_timeout(member->node, now_ns);
            member->is_touched = true;
        }
    }
}

/* Sends to the children in bits: the whole set and single children have their lasting arrays, other sets share one,
 * which a train under way may still refer to. */
static void send_to_children(struct trib_shard *shard, struct trib_member *member, const struct trib_packet *packet,
                             uint64_t bits)
{
    uint32_t count = (uint32_t)__builtin_popcountll(bits);
    if (count == 1) {
        trib_udp_send(shard->udp, packet, &member->child[__builtin_ctzll(bits)], 1);
        return;
    }
    if (count == member->ranks) {
        if (member->is_multicast) {
            trib_udp_send(shard->udp, packet, &member->group, 1);
        } else {
            trib_udp_send(shard->udp, packet, member->child, count);
        }
        return;
    }
    if (bits != member->subset_bits) {
        uint32_t at = 0;
        trib_udp_flush(shard->udp);
        member->subset_bits = bits;
        for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
            member->subset[at++] = member->child[__builtin_ctzll(rest)];
        }
    }
    trib_udp_send(shard->udp, packet, member->subset, count);
}

static void drain_packets(struct trib_shard *shard, struct trib_member *member, uint64_t now_ns)
{
    uint64_t all = trib_all_children(member->ranks);
    struct trib_packet packet;
    struct trib_place to;
    while (member->verbs->next_packet(member->node, now_ns, &packet, &to)) {
        uint64_t bits = to.kind == TRIB_PLACE_CHILDREN ? to.children & all : 0;
        if (!trib_packet_can_encode(&packet)) {
            shard->dropped[TRIB_DROP_FIELD]++; /* a node's slip must not end every other job's switch */
        } else if (bits != 0) {
            send_to_children(shard, member, &packet, bits);
        }
    }
}

/* False when there is no room for more reports: the rest stays in the node. */
static bool drain_events(struct trib_shard *shard, struct trib_member *member)
{
    struct trib_event event;
    while (shard->mismatch_count < TRIB_SHARD_MISMATCHES) {
        if (!member->verbs->next_event(member->node, &event)) {
            return true;
        }
        if (event.kind == TRIB_EVENT_MISMATCH) {
            shard->mismatch[shard->mismatch_count++] = (struct trib_mismatch){
                .communicator = member->communicator,
                .rank = {event.child, event.other},
                .sequence = event.sequence,
            };
        }
    }
    return false;
}

/* Sends for every node that a verb was called on. All trains leave before any node is called again, as payloads are
 * borrowed. */
static bool drain(struct trib_shard *shard, uint64_t now_ns)
{
    bool more = false;
    for (uint32_t i = 0; i < shard->members.count; i++) {
        struct trib_member *member = shard->members.list[i];
        if (member->is_touched) {
            drain_packets(shard, member, now_ns);
        }
    }
    trib_udp_flush(shard->udp);
    shard->wake_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < shard->members.count; i++) {
        struct trib_member *member = shard->members.list[i];
        if (member->is_touched) {
            member->is_touched = !drain_events(shard, member);
            more = more || member->is_touched;
            member->timeout_ns = member->verbs->next_timeout(member->node);
        }
        shard->wake_ns = member->timeout_ns < shard->wake_ns ? member->timeout_ns : shard->wake_ns;
    }
    return more;
}

static void report(const struct trib_shard *shard, const struct trib_mismatch *mismatch, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        shard->listener.mismatch(shard->listener.owner, &mismatch[i]);
    }
}

/* One round; true if the next should follow without sleeping. *wake_ns: when to wake at the latest. */
static bool work(struct trib_shard *shard, uint64_t *wake_ns)
{
    struct trib_mismatch mismatch[TRIB_SHARD_MISMATCHES];
    take_lock(shard);
    uint64_t now_ns = trib_clock_ns();
    bool more = take_batch(shard, now_ns);
    wake_due(shard, now_ns);
    more = drain(shard, now_ns) || more;
    uint64_t held_ns = trib_udp_deadline(shard->udp);
    *wake_ns = held_ns < shard->wake_ns ? held_ns : shard->wake_ns;
    uint32_t count = shard->mismatch_count;
    memcpy(mismatch, shard->mismatch, count * sizeof *mismatch);
    shard->mismatch_count = 0;
    (void)pthread_mutex_unlock(&shard->lock);
    report(shard, mismatch, count);
    return more;
}

/* Sleeps until a packet, a kick or wake_ns. */
static void wait(const struct trib_shard *shard, uint64_t wake_ns)
{
    struct pollfd events[2] = {{.fd = trib_udp_fd(shard->udp), .events = POLLIN},
                               {.fd = shard->kick_fd, .events = POLLIN}};
    uint64_t now_ns = trib_clock_ns();
    uint64_t rest = wake_ns > now_ns ? wake_ns - now_ns : 0;
    const struct timespec limit = {(time_t)(rest / TRIB_SECOND_NS), (long)(rest % TRIB_SECOND_NS)};
    if (ppoll(events, 2, wake_ns == TRIB_NEVER ? NULL : &limit, NULL) > 0 && events[1].revents != 0) {
        uint64_t kicks;
        ssize_t got = read(shard->kick_fd, &kicks, sizeof kicks);
        (void)got; /* EAGAIN: somebody else's kick has been read with this one */
    }
}

/* Looks for packets without sleeping for a moment; true if one has come. Yields, as the sender may need this
 * core. */
static bool spin(struct trib_shard *shard, uint64_t wake_ns)
{
    uint64_t length_ns = trib_spin_begin(&shard->spin);
    if (length_ns == 0) {
        return false;
    }
    uint64_t end_ns = trib_clock_ns() + length_ns;
    end_ns = wake_ns < end_ns ? wake_ns : end_ns;
    do {
        struct pollfd events[2] = {{.fd = trib_udp_fd(shard->udp), .events = POLLIN},
                                   {.fd = shard->kick_fd, .events = POLLIN}};
        if (poll(events, 2, 0) > 0) {
            trib_spin_end(&shard->spin, true);
            return events[1].revents == 0;
        }
        (void)sched_yield();
    } while (trib_clock_ns() < end_ns);
    trib_spin_end(&shard->spin, false);
    return false;
}

static void *run(void *argument)
{
    struct trib_shard *shard = argument;
    while (!atomic_load(&shard->stop)) {
        uint64_t wake_ns;
        if (!work(shard, &wake_ns) && !spin(shard, wake_ns)) {
            wait(shard, wake_ns);
        }
    }
    return NULL;
}

enum trib_status trib_shard_start(struct trib_shard *shard, const struct trib_shard_listener *listener, char *error)
{
    sigset_t all, before;
    shard->listener = *listener;
    /* Signals are the main thread's: a handler here would interrupt packets, not the server's wait. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&shard->thread, NULL, run, shard);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        trib_explain(error, "cannot start a thread: %s", strerror(code));
        return TRIB_ERR_SYSTEM;
    }
    shard->is_running = true;
    return TRIB_OK;
}
