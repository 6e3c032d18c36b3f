/* SPDX-License-Identifier: Apache-2.0 */
/* udp.c: see udp.h. Receiving lies here; sending in train.c, making sockets in socket.c, faults in inject.c, neighbours
 * in pipe.c. */
#define _GNU_SOURCE
#include "net/udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/explain.h"
#include "io/memory.h"
#include "net/inject.h"
#include "net/pipe.h"
#include "net/socket.h"
#include "net/train.h"

/* The largest datagram, and the largest buffer that UDP_GRO builds. */
#define BUFFER_SIZE 65536
/* Tries per call when a buffer is from a stranger or an ICMP error is pending: bounded, so that a flood of either
 * does not keep the caller here. */
#define TRIES_MAX 16
/* Trains under way at once, each for other destinations: a switch answers several children in turn, and sends a
 * broadcast's results with payload to some and without to others; a rank deals its fragments to as many as 16 roots. */
#define TRAINS 16
/* Senders of the packets that the injector holds: each is held for 16 later packets at most, and each buffer has one
 * at least. */
#define SENDERS 32
/* The two bits of ECN in an IP header's traffic class, and both set: congestion was experienced. */
#define ECN_BITS 3
#define ECN_EXPERIENCED 3
/* Of the injector's tag, beside the number of the sender: the packet is marked. */
#define TAG_MARKED (UINT64_C(1) << 32)

/* Zeros that cost nothing until they are written to: most of a spare socket. */
struct room {
    uint8_t buffer[BUFFER_SIZE];
    struct trib_train train[TRAINS];
};

struct trib_udp {
    struct room *room;
    struct trib_train *train; /* of room */
    /* the buffer read last */
    const uint8_t *bytes; /* the room's, or the train that a neighbour has handed over */
    size_t buffer_len;
    size_t segment;
    size_t at; /* of the next packet */
    uint64_t now_ns;
    uint32_t sender_index;
    bool
        is_marked; /* a whole buffer is, or none of it: UDP_GRO joins only packets whose IP headers are alike in this */
    struct trib_address sender[SENDERS];
    /* fixed */
    int fd;
    bool receives_trains;
    bool sends_trains; /* cleared when the kernel refuses them */
    uint32_t backlog;  /* per destination, from which on trains are flagged; 0: never */
    struct trib_address local;
    struct trib_address source; /* len > 0: packets from elsewhere are not read */
    struct trib_inject *inject; /* NULL: no faults */
    struct trib_udp *neighbour; /* NULL: none, and no pipes */
    struct trib_pipe *out, *in; /* to and from it */
    bool has_piped;             /* the front of `in` is being read */
    struct trib_udp_stats stats;
    uint32_t next_train; /* to be sent first when all are under way */
    uint32_t loaded;     /* bitmap of the trains that hold packets: with one destination the others cost nothing */
};

void trib_udp_use(struct trib_udp *udp)
{
    memset(udp->room->buffer, 0, BUFFER_SIZE); /* page faults now, not in the first packets */
}

static bool allocate(struct trib_udp *udp, const struct trib_udp_config *config)
{
    udp->room = trib_memory_map(sizeof *udp->room);
    if (udp->room == NULL) {
        return false;
    }
    udp->train = udp->room->train;
    if (!config->is_spare) {
        trib_udp_use(udp);
    }
    if (trib_inject_active(&config->faults)) {
        udp->inject = trib_inject_create(&config->faults, TRIB_HEADER_SIZE + (size_t)config->payload);
        return udp->inject != NULL;
    }
    return true;
}

enum trib_status trib_udp_open(const struct trib_udp_config *config, struct trib_udp **udp, char *error)
{
    struct trib_udp *made = calloc(1, sizeof *made);
    if (made == NULL) {
        trib_explain(error, "out of memory for a socket's buffers");
        return TRIB_ERR_MEMORY;
    }
    made->fd = -1;
    if (!allocate(made, config)) {
        trib_explain(error, "out of memory for a socket's buffers");
        trib_udp_close(made);
        return TRIB_ERR_MEMORY;
    }
    enum trib_status status = trib_socket_open(config, &made->fd, &made->local, error);
    if (status != TRIB_OK) {
        trib_udp_close(made);
        return status;
    }
    made->source = config->group.len > 0 ? config->group_source : config->peer;
    made->receives_trains = config->trains && trib_socket_set_trains(made->fd);
    made->sends_trains = made->receives_trains;
    *udp = made;
    return TRIB_OK;
}

void trib_udp_close(struct trib_udp *udp)
{
    if (udp == NULL) {
        return;
    }
    trib_udp_part(udp);
    if (udp->fd >= 0) {
        (void)close(udp->fd);
    }
    trib_inject_destroy(udp->inject);
    trib_memory_unmap(udp->room, sizeof *udp->room);
    free(udp);
}

int trib_udp_fd(const struct trib_udp *udp)
{
    return udp->fd;
}

void trib_udp_local(const struct trib_udp *udp, struct trib_address *local)
{
    *local = udp->local;
}

uint32_t trib_udp_receive_room(const struct trib_udp *udp)
{
    return trib_socket_receive_room(udp->fd);
}

bool trib_udp_has_trains(const struct trib_udp *udp)
{
    return udp->receives_trains && udp->sends_trains;
}

const struct trib_udp_stats *trib_udp_stats(const struct trib_udp *udp)
{
    return &udp->stats;
}

void trib_udp_stats_add(struct trib_udp_stats *sum, const struct trib_udp_stats *part)
{
    sum->bytes_sent += part->bytes_sent;
    sum->bytes_received += part->bytes_received;
    sum->packets_sent += part->packets_sent;
    sum->packets_received += part->packets_received;
    sum->send_calls += part->send_calls;
    sum->receive_calls += part->receive_calls;
    sum->send_waits += part->send_waits;
    sum->send_dropped += part->send_dropped;
    sum->flagged_sent += part->flagged_sent;
    sum->marked_received += part->marked_received;
    sum->bytes_handed += part->bytes_handed;
    sum->packets_handed += part->packets_handed;
    sum->injected_loss += part->injected_loss;
    sum->injected_duplicate += part->injected_duplicate;
    sum->injected_reorder += part->injected_reorder;
    sum->injected_corrupt += part->injected_corrupt;
}

/* What the kernel says of a buffer of len bytes: the size of its packets, by UDP_GRO, the whole when it says nothing;
 * and whether the network has marked them, by the traffic class. */
static void read_ancillary(struct trib_udp *udp, struct msghdr *message, size_t len)
{
    udp->segment = len;
    udp->is_marked = false;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        int value = 0;
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TOS) {
            udp->is_marked = (*CMSG_DATA(item) & ECN_BITS) == ECN_EXPERIENCED;
        } else if (item->cmsg_len >= CMSG_LEN(sizeof value)) {
            memcpy(&value, CMSG_DATA(item), sizeof value);
        }
        if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO && value > 0) {
            udp->segment = (size_t)value;
        } else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_TCLASS) {
            udp->is_marked = (value & ECN_BITS) == ECN_EXPERIENCED;
        }
    }
}

/* One recvmsg; -1 with errno. */
static ssize_t read_buffer(struct trib_udp *udp, struct trib_address *from)
{
    union {
        struct cmsghdr header;
        uint8_t bytes[2 * CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec piece = {udp->room->buffer, BUFFER_SIZE};
    struct msghdr message = {
        .msg_name = &from->storage,
        .msg_namelen = sizeof from->storage,
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    udp->stats.receive_calls++;
    ssize_t len = recvmsg(udp->fd, &message, MSG_DONTWAIT);
    if (len >= 0) {
        from->len = message.msg_namelen;
        read_ancillary(udp, &message, (size_t)len);
    }
    return len;
}

static bool is_passing(int error)
{
    return error != EAGAIN && error != EBADF && error != ENOTSOCK && error != EFAULT;
}

/* Begins with the next train that the neighbour has handed over. */
static bool read_pipe(struct trib_udp *udp)
{
    if (udp->has_piped) {
        trib_pipe_drop(udp->in);
        udp->has_piped = false;
    }
    if (udp->in == NULL || trib_pipe_is_empty(udp->in)) {
        return false;
    }
    udp->has_piped = true;
    udp->is_marked = false;
    udp->bytes = trib_pipe_read(udp->in, &udp->buffer_len, &udp->segment);
    udp->sender_index = (udp->sender_index + 1) % SENDERS;
    udp->sender[udp->sender_index] = udp->in->from;
    return true;
}

bool trib_udp_receive(struct trib_udp *udp, uint64_t now_ns)
{
    udp->now_ns = now_ns;
    udp->at = 0;
    udp->buffer_len = 0;
    if (read_pipe(udp)) {
        return true;
    }
    udp->bytes = udp->room->buffer;
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        uint32_t index = (udp->sender_index + 1) % SENDERS;
        struct trib_address *from = &udp->sender[index];
        ssize_t len = read_buffer(udp, from);
        if (len < 0 && !is_passing(errno)) {
            break;
        }
        if (len > 0 && (udp->source.len == 0 || trib_address_equal(from, &udp->source))) {
            udp->buffer_len = (size_t)len;
            udp->sender_index = index;
            return true;
        }
    }
    /* Nothing came, but what the injector holds may be due: an empty buffer brings it out. */
    return trib_udp_deadline(udp) <= now_ns;
}

/* Cuts the next packet off the buffer. */
static bool next_segment(struct trib_udp *udp, struct trib_arrival *arrival)
{
    size_t left = udp->buffer_len - udp->at;
    if (left == 0) {
        return false;
    }
    arrival->data = udp->bytes + udp->at;
    arrival->len = left < udp->segment ? left : udp->segment;
    arrival->from = &udp->sender[udp->sender_index];
    arrival->is_marked = udp->is_marked;
    udp->stats.marked_received += udp->is_marked;
    udp->at += arrival->len;
    if (!udp->has_piped) {
        udp->stats.packets_received++;
        udp->stats.bytes_received += arrival->len;
    }
    return true;
}

static void count_injected(struct trib_udp *udp)
{
    const struct trib_inject_counts *counts = trib_inject_counts(udp->inject);
    udp->stats.injected_loss = counts->loss;
    udp->stats.injected_duplicate = counts->duplicate;
    udp->stats.injected_reorder = counts->reorder;
    udp->stats.injected_corrupt = counts->corrupt;
}

static bool next_injected(struct trib_udp *udp, struct trib_arrival *arrival)
{
    struct trib_injected out;
    while (!trib_inject_next(udp->inject, udp->now_ns, &out)) {
        if (!next_segment(udp, arrival)) {
            return false;
        }
        trib_inject_put(udp->inject, arrival->data, arrival->len, udp->sender_index | (udp->is_marked ? TAG_MARKED : 0),
                        udp->now_ns);
        count_injected(udp);
    }
    *arrival = (struct trib_arrival){
        .data = out.data,
        .len = out.len,
        .from = &udp->sender[out.tag & ~TAG_MARKED],
        .is_marked = (out.tag & TAG_MARKED) != 0,
    };
    return true;
}

bool trib_udp_next(struct trib_udp *udp, struct trib_arrival *arrival)
{
    return udp->inject == NULL ? next_segment(udp, arrival) : next_injected(udp, arrival);
}

enum trib_drop trib_udp_decode(const struct trib_arrival *arrival, struct trib_packet *packet)
{
    enum trib_drop drop = trib_packet_decode(arrival->data, arrival->len, packet);
    if (drop == TRIB_DROP_NONE && arrival->is_marked) {
        packet->flags |= TRIB_FLAG_ECN;
    }
    return drop;
}

uint64_t trib_udp_deadline(const struct trib_udp *udp)
{
    if (udp->in != NULL && udp->in->count > udp->has_piped) {
        return 0;
    }
    return udp->inject == NULL ? UINT64_MAX : trib_inject_deadline(udp->inject);
}

/* ---- neighbours ---- */

bool trib_udp_join(struct trib_udp *a, const struct trib_address *a_known_as, struct trib_udp *b,
                   const struct trib_address *b_known_as)
{
    struct trib_pipe *there = trib_pipe_create(a_known_as, b_known_as);
    struct trib_pipe *back = trib_pipe_create(b_known_as, a_known_as);
    if (there == NULL || back == NULL) {
        trib_pipe_destroy(there);
        trib_pipe_destroy(back);
        return false;
    }
    a->out = b->in = there;
    b->out = a->in = back;
    a->neighbour = b;
    b->neighbour = a;
    return true;
}

static void forget_neighbour(struct trib_udp *udp)
{
    if (udp->has_piped) {
        udp->has_piped = false;
        udp->at = udp->buffer_len = 0;
    }
    udp->neighbour = NULL;
    udp->out = udp->in = NULL;
}

void trib_udp_part(struct trib_udp *udp)
{
    struct trib_udp *neighbour = udp->neighbour;
    if (neighbour != NULL) {
        trib_pipe_destroy(udp->out);
        trib_pipe_destroy(udp->in);
        forget_neighbour(udp);
        forget_neighbour(neighbour);
    }
}

static bool hand_over(struct trib_udp *udp, const struct trib_train *train, const struct trib_address *to)
{
    if (udp->out == NULL || to == NULL || !trib_address_equal(to, &udp->out->to) || !trib_pipe_put(udp->out, train)) {
        return false;
    }
    udp->stats.packets_handed += train->packets;
    udp->stats.bytes_handed += train->bytes;
    return true;
}

/* ---- sending ---- */

static void send_train(struct trib_udp *udp, uint32_t index)
{
    struct trib_train *train = &udp->train[index];
    for (uint32_t i = 0; train->packets > 0 && i < train->to_count; i++) {
        const struct trib_address *to = train->to == NULL ? NULL : &train->to[i];
        if (!hand_over(udp, train, to)) {
            trib_train_send(train, udp->fd, to, &udp->sends_trains, &udp->stats);
        }
    }
    trib_train_empty(train);
}

/* The train for these destinations, else an empty one. */
static uint32_t find_train(struct trib_udp *udp, const struct trib_address *to, uint32_t count)
{
    for (uint32_t rest = udp->loaded; rest != 0; rest &= rest - 1) {
        uint32_t index = (uint32_t)__builtin_ctz(rest);
        if (udp->train[index].to == to && udp->train[index].to_count == count) {
            return index;
        }
    }
    uint32_t empty = ~udp->loaded & ((UINT32_C(1) << TRAINS) - 1);
    if (empty != 0) {
        return (uint32_t)__builtin_ctz(empty);
    }
    uint32_t oldest = udp->next_train;
    udp->next_train = (oldest + 1) % TRAINS;
    send_train(udp, oldest);
    return oldest;
}

void trib_udp_set_backlog(struct trib_udp *udp, uint32_t bytes)
{
    bool must_clear = bytes == 0 && udp->backlog > 0; /* else no train is flagged, and none may have any memory yet */
    udp->backlog = bytes;
    for (uint32_t i = 0; must_clear && i < TRAINS; i++) {
        udp->train[i].is_flagged = false;
    }
}

uint32_t trib_udp_backlog(const struct trib_udp *udp)
{
    return udp->backlog;
}

/* The switch sends the same to all children, behind different ports as a rule, but all by one socket: what that holds
 * is divided by their number. What a neighbour gets waits nowhere. */
static bool is_backlogged(const struct trib_udp *udp, const struct trib_address *to, uint32_t count)
{
    if (udp->out != NULL && to != NULL && count == 1 && trib_address_equal(to, &udp->out->to)) {
        return false;
    }
    return trib_socket_backlog(udp->fd) / count > udp->backlog;
}

void trib_udp_send(struct trib_udp *udp, const struct trib_packet *packet, const struct trib_address *to,
                   uint32_t count)
{
    size_t len = TRIB_HEADER_SIZE + (size_t)packet->payload_len;
    uint32_t index = find_train(udp, to, count);
    struct trib_train *train = &udp->train[index];
    if (!trib_train_fits(train, len, to, count)) {
        send_train(udp, index);
    }
    if (train->packets == 0 && udp->backlog > 0) {
        train->is_flagged = is_backlogged(udp, to, count);
    }
    trib_train_add(train, packet, to, count);
    udp->stats.flagged_sent += train->is_flagged ? count : 0;
    udp->loaded |= UINT32_C(1) << index;
}

void trib_udp_flush(struct trib_udp *udp)
{
    for (uint32_t rest = udp->loaded; rest != 0; rest &= rest - 1) {
        send_train(udp, (uint32_t)__builtin_ctz(rest));
    }
    udp->loaded = 0;
}

bool trib_udp_is_flushed(const struct trib_udp *udp)
{
    return udp->loaded == 0;
}
