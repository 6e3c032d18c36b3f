/* SPDX-License-Identifier: Apache-2.0 */
/* port.c: see port.h. Gathers and cuts up trains; carriers move whole trains. */
#include "net/port.h"

#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/memory.h"
#include "net/faults.h"
#include "net/inject.h"
#include "net/udp.h"

/* Arrays of destinations with packets at once. A switch answers the children of several communicators in one drain. */
#define SETS 32 /* the bits of `loaded` */
/* Encoded packets at once. When there is no room, all trains are sent. */
#define PACKETS 256
#define DESTINATIONS 64 /* of an array: the bits of a set */

/* The destinations of one array, each with its train. */
struct set {
    const struct trib_address *to; /* the array; NULL: the connected peer */
    uint64_t loaded;               /* destinations with packets in their trains */
    uint32_t first;                /* the first of them to be loaded */
    uint32_t backlog;              /* bytes in queues when a packet last began a train */
    const struct trib_address *group;
    uint64_t hearers; /* destinations that the packets of `group_train` go to */
    struct trib_train group_train;
    struct trib_train train[DESTINATIONS];
};

/* Packets and trains that wait: about 9 MB, of which unused memory costs nothing. */
struct outbox {
    uint32_t packets;
    uint32_t encrypted; /* bytes of `cipher` in use */
    struct trib_wire_packet packet[PACKETS];
    struct set set[SETS];
    uint8_t cipher[PACKETS * TRIB_PAYLOAD_MAX]; /* encrypted payloads */
};

struct trib_port {
    struct trib_carrier *top; /* the port's carriers, each above the next */
    struct trib_carrier *last;
    struct outbox *outbox; /* zeroed memory; NULL: a port of a group, which only receives, or a spare port */
    bool is_used;          /* no spare port */
    /* the train read last */
    struct trib_delivery delivery;
    size_t at; /* offset of the next packet */
    /* fixed */
    struct trib_port_config config;
    uint32_t backlog; /* bytes per destination above which trains are flagged; 0: never */
    struct trib_port_stats stats;
    uint32_t loaded; /* bitmap of the sets with packets */
};

enum trib_status trib_port_use(struct trib_port *port, char *error)
{
    if (!trib_port_is_spare(port)) {
        return TRIB_OK;
    }
    const struct trib_faults *faults = &port->config.faults;
    bool has_faults = trib_inject_active(faults);
    bool sends = port->config.group.len == 0;
    struct outbox *outbox = sends ? trib_memory_map(sizeof *outbox) : NULL;
    struct trib_carrier *above =
        has_faults ? trib_faults_create(faults, trib_packet_size(port->config.payload, true), port->last) : port->last;
    enum trib_status status = TRIB_ERR_MEMORY;
    if ((sends && outbox == NULL) || above == NULL) {
        trib_explain(error, "out of memory for a socket's buffers");
    } else {
        status = port->last->operations->use(port->last, &port->config, error);
    }
    if (status != TRIB_OK) {
        trib_memory_unmap(outbox, sizeof *outbox);
        if (has_faults && above != NULL) {
            above->operations->close(above);
        }
        return status;
    }
    port->outbox = outbox;
    port->is_used = true;
    port->top = above;
    return TRIB_OK;
}

bool trib_port_is_spare(const struct trib_port *port)
{
    return !port->is_used;
}

static enum trib_status open_last(struct trib_port *port, char *error)
{
    const struct trib_carrier_operations *operations =
        port->config.carrier != NULL ? port->config.carrier : &trib_udp_operations;
    enum trib_status status = operations->open(&port->config, &port->last, error);
    if (status != TRIB_OK) {
        return status;
    }
    port->top = port->last;
    port->last->stats = &port->stats;
    return TRIB_OK;
}

enum trib_status trib_port_open(const struct trib_port_config *config, struct trib_port **port, char *error)
{
    struct trib_port *made = calloc(1, sizeof *made);
    if (made == NULL) {
        trib_explain(error, "out of memory for a socket's buffers");
        return TRIB_ERR_MEMORY;
    }
    made->config = *config;
    enum trib_status status = open_last(made, error);
    if (status == TRIB_OK && !config->is_spare) {
        status = trib_port_use(made, error);
    }
    if (status != TRIB_OK) {
        trib_port_close(made);
        return status;
    }
    *port = made;
    return TRIB_OK;
}

void trib_port_close(struct trib_port *port)
{
    if (port == NULL) {
        return;
    }
    while (port->top != NULL) {
        trib_port_remove(port, port->top);
    }
    trib_memory_unmap(port->outbox, sizeof *port->outbox);
    free(port);
}

void trib_port_insert(struct trib_port *port, struct trib_carrier *carrier)
{
    struct trib_carrier **at = &port->top;
    while (*at != port->last) {
        at = &(*at)->below;
    }
    carrier->below = port->last;
    carrier->stats = &port->stats;
    *at = carrier;
}

void trib_port_remove(struct trib_port *port, struct trib_carrier *carrier)
{
    struct trib_carrier **at = &port->top;
    while (*at != carrier) {
        if ((*at)->operations->forget != NULL) {
            (*at)->operations->forget(*at, carrier);
        }
        at = &(*at)->below;
    }
    *at = carrier->below;
    if (port->delivery.owner == carrier) {
        port->at = port->delivery.len = 0;
    }
    carrier->operations->close(carrier);
}

struct trib_carrier *trib_port_find(const struct trib_port *port, const struct trib_carrier_operations *operations)
{
    struct trib_carrier *carrier = port->top;
    while (carrier != NULL && carrier->operations != operations) {
        carrier = carrier->below;
    }
    return carrier;
}

int trib_port_fd(const struct trib_port *port)
{
    return port->last->fd;
}

void trib_port_local(const struct trib_port *port, struct trib_address *local)
{
    *local = port->last->local;
}

bool trib_port_connect(struct trib_port *port, const struct trib_address *peer)
{
    return port->last->operations->connect(port->last, peer);
}

uint32_t trib_port_receive_room(const struct trib_port *port)
{
    struct trib_port_limits limits;
    port->last->operations->limits(port->last, &limits);
    return limits.receive_room;
}

bool trib_port_has_trains(const struct trib_port *port)
{
    struct trib_port_limits limits;
    port->last->operations->limits(port->last, &limits);
    return limits.has_trains;
}

bool trib_port_has_address(const struct trib_port *port)
{
    struct trib_port_limits limits;
    port->last->operations->limits(port->last, &limits);
    return limits.has_address;
}

const struct trib_port_stats *trib_port_stats(const struct trib_port *port)
{
    return &port->stats;
}

void trib_port_stats_add(struct trib_port_stats *sum, const struct trib_port_stats *part)
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

bool trib_port_receive(struct trib_port *port, uint64_t now_ns)
{
    port->at = 0;
    bool has_come = port->top->operations->receive(port->top, now_ns, &port->delivery);
    if (!has_come) {
        port->delivery.len = 0;
    }
    return has_come;
}

bool trib_port_next(struct trib_port *port, struct trib_arrival *arrival)
{
    const struct trib_delivery *delivery = &port->delivery;
    size_t left = delivery->len - port->at;
    if (left == 0) {
        return false;
    }
    arrival->data = delivery->bytes + port->at;
    arrival->len = left < delivery->segment ? left : delivery->segment;
    arrival->from = delivery->from;
    arrival->is_marked = delivery->is_marked;
    port->at += arrival->len;
    return true;
}

enum trib_drop trib_port_decode(const struct trib_arrival *arrival, struct trib_packet *packet)
{
    enum trib_drop drop = trib_packet_decode(arrival->data, arrival->len, packet);
    if (drop == TRIB_DROP_NONE && arrival->is_marked) {
        packet->flags |= TRIB_FLAG_ECN;
    }
    return drop;
}

enum trib_drop trib_port_authenticate(const struct trib_arrival *arrival, const struct trib_packet *packet,
                                      struct trib_auth *auth, uint32_t peer)
{
    if ((auth != NULL) != (packet->authenticated != 0)) {
        return TRIB_DROP_AUTH;
    }
    enum trib_drop drop = auth != NULL ? trib_auth_check(auth, peer, arrival->data, arrival->len) : TRIB_DROP_NONE;
    if (drop == TRIB_DROP_NONE && auth != NULL && trib_auth_encrypts(auth)) {
        trib_auth_decrypt(auth, peer, arrival->data, arrival->len);
    }
    return drop;
}

uint64_t trib_port_deadline(const struct trib_port *port)
{
    const struct trib_carrier *top = port->top;
    return top->operations->deadline != NULL ? top->operations->deadline(top) : UINT64_MAX;
}

/* ---- sending ---- */

static void send_train(struct trib_port *port, struct trib_train *train, const struct trib_address *to)
{
    if (train->packets > 0) {
        port->top->operations->send(port->top, train, to);
        trib_train_empty(train);
    }
}

static void send_group(struct trib_port *port, struct set *set)
{
    send_train(port, &set->group_train, set->group);
    set->hearers = 0;
}

static void send_to(struct trib_port *port, struct set *set, uint64_t bits)
{
    set->loaded &= ~bits;
    for (; bits != 0; bits &= bits - 1) {
        uint32_t index = (uint32_t)__builtin_ctzll(bits);
        send_train(port, &set->train[index], set->to == NULL ? NULL : &set->to[index]);
    }
}

void trib_port_flush(struct trib_port *port)
{
    for (; port->loaded != 0; port->loaded &= port->loaded - 1) {
        struct set *set = &port->outbox->set[__builtin_ctz(port->loaded)];
        send_group(port, set);
        send_to(port, set, set->loaded & UINT64_MAX << set->first); /* else all ranks would send to root 0 first */
        send_to(port, set, set->loaded);
    }
    if (port->outbox != NULL) {
        port->outbox->packets = port->outbox->encrypted = 0;
    }
}

/* The set of this array, else an empty one. */
static struct set *find_set(struct trib_port *port, const struct trib_address *to)
{
    struct set *sets = port->outbox->set;
    for (uint32_t rest = port->loaded; rest != 0; rest &= rest - 1) {
        if (sets[__builtin_ctz(rest)].to == to) {
            return &sets[__builtin_ctz(rest)];
        }
    }
    if (port->loaded == UINT32_MAX) {
        trib_port_flush(port);
    }
    struct set *empty = &sets[__builtin_ctz(~port->loaded)];
    empty->to = to;
    return empty;
}

/* Sends trains without room for a packet of len bytes to this group, and trains of the group's hearers: overtaken
 * packets look lost. */
static void clear_for_group(struct trib_port *port, struct set *set, uint64_t bits, const struct trib_address *group,
                            uint32_t len)
{
    send_to(port, set, set->loaded & bits);
    if (set->group != group || !trib_train_fits(&set->group_train, len)) {
        send_group(port, set);
    }
}

/* The same for a packet to single destinations. */
static void clear_for(struct trib_port *port, struct set *set, uint64_t bits, uint32_t len)
{
    uint64_t full = 0;
    if ((set->hearers & bits) != 0) {
        send_group(port, set);
    }
    for (uint64_t rest = set->loaded & bits; rest != 0; rest &= rest - 1) {
        full |= trib_train_fits(&set->train[__builtin_ctzll(rest)], len) ? 0 : rest & -rest;
    }
    send_to(port, set, full);
}

void trib_port_set_backlog(struct trib_port *port, uint32_t bytes)
{
    port->backlog = bytes;
}

uint32_t trib_port_backlog(const struct trib_port *port)
{
    return port->backlog;
}

/* A switch sends the same to all children by one socket, usually behind different ports of the network. So the socket's
 * queue is divided by the children of the packet: a header for one child does not flag results for others. */
static bool is_backlogged(const struct trib_port *port, const struct set *set, uint64_t bits)
{
    return port->backlog > 0 && set->backlog / (uint32_t)__builtin_popcountll(bits) > port->backlog;
}

/* A packet of the outbox, encoded. */
static const struct trib_wire_packet *encode(struct outbox *outbox, const struct trib_packet *packet, bool is_flagged,
                                             const struct trib_seal *seal)
{
    struct trib_wire_packet *wire = &outbox->packet[outbox->packets++];
    uint8_t *cipher = outbox->cipher + outbox->encrypted;
    if (is_flagged || seal != NULL) {
        struct trib_packet changed = *packet;
        changed.flags |= is_flagged ? TRIB_FLAG_ECN : 0;
        changed.authenticated = seal != NULL;
        outbox->encrypted += trib_wire_encode(wire, &changed, seal, cipher);
    } else {
        (void)trib_wire_encode(wire, packet, NULL, cipher);
    }
    return wire;
}

/* Makes room for a packet in the outbox, and in the packet's trains. */
static struct set *make_room(struct trib_port *port, const struct trib_address *to, uint64_t bits,
                             const struct trib_address *group, uint32_t len)
{
    struct outbox *outbox = port->outbox;
    struct set *set = find_set(port, to);
    if (group != NULL) {
        clear_for_group(port, set, bits, group, len);
    } else {
        clear_for(port, set, bits, len);
    }
    bool is_empty = set->loaded == 0 && set->hearers == 0;
    port->loaded &= ~(is_empty ? UINT32_C(1) << (set - outbox->set) : 0);
    if (port->loaded == 0 || outbox->packets == PACKETS) {
        trib_port_flush(port); /* memory that is in the cache is used again */
    }
    return set;
}

static void load(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to, uint64_t bits,
                 const struct trib_address *group, const struct trib_seal *seal)
{
    struct set *set = make_room(port, to, bits, group, trib_wire_size(packet, seal));
    const struct trib_address *first = group != NULL ? group : to; /* destinations of the carrier */
    uint64_t sent = group != NULL ? 1 : bits;
    bool begins = group != NULL ? set->hearers == 0 : (bits & ~set->loaded) != 0;
    if (begins) {
        set->backlog = port->backlog > 0 ? port->top->operations->backlog(port->top, first, sent) : 0;
    }
    bool is_flagged = is_backlogged(port, set, sent);
    port->stats.flagged_sent += is_flagged ? (uint64_t)__builtin_popcountll(sent) : 0;
    const struct trib_wire_packet *wire = encode(port->outbox, packet, is_flagged, seal);
    port->loaded |= UINT32_C(1) << (set - port->outbox->set);
    if (group != NULL) {
        set->group = group;
        set->hearers |= bits;
        trib_train_add(&set->group_train, wire);
        return;
    }
    set->first = set->loaded == 0 ? (uint32_t)__builtin_ctzll(bits) : set->first;
    set->loaded |= bits;
    for (; bits != 0; bits &= bits - 1) {
        trib_train_add(&set->train[__builtin_ctzll(bits)], wire);
    }
}

void trib_port_send(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to,
                    uint64_t bits)
{
    load(port, packet, to, bits, NULL, NULL);
}

void trib_port_send_sealed(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to,
                           uint64_t bits, const struct trib_seal *seal)
{
    load(port, packet, to, bits, NULL, seal);
}

void trib_port_send_to_group(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to,
                             uint64_t bits, const struct trib_address *group, const struct trib_seal *seal)
{
    load(port, packet, to, bits, group, seal);
}

bool trib_port_is_flushed(const struct trib_port *port)
{
    return port->loaded == 0;
}
