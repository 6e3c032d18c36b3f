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

/* Trains loaded at once, each for other destinations. A switch answers several children in turn, and sends a
 * broadcast's results with payload to some and without to others. A rank deals its fragments to as many as 32 roots. */
#define TRAINS 32 /* the bits of `loaded` */

struct trib_port {
    struct trib_carrier *top; /* the port's carriers, each above the next */
    struct trib_carrier *last;
    struct trib_train *train; /* TRAINS of them; zeroed memory costs nothing until written. NULL: a spare port */
    /* the train read last */
    struct trib_delivery delivery;
    size_t at; /* offset of the next packet */
    /* fixed */
    struct trib_port_config config;
    uint32_t backlog; /* bytes per destination above which trains are flagged; 0: never */
    struct trib_port_stats stats;
    uint32_t next_train; /* sent first when all are loaded */
    uint32_t loaded;     /* bitmap of trains with packets: with one destination the other trains cost nothing */
};

enum trib_status trib_port_use(struct trib_port *port, char *error)
{
    if (!trib_port_is_spare(port)) {
        return TRIB_OK;
    }
    const struct trib_faults *faults = &port->config.faults;
    bool has_faults = trib_inject_active(faults);
    struct trib_train *train = trib_memory_map(TRAINS * sizeof *train);
    struct trib_carrier *above =
        has_faults ? trib_faults_create(faults, trib_packet_size(port->config.payload, true), port->last) : port->last;
    enum trib_status status = TRIB_ERR_MEMORY;
    if (train == NULL || above == NULL) {
        trib_explain(error, "out of memory for a socket's buffers");
    } else {
        status = port->last->operations->use(port->last, &port->config, error);
    }
    if (status != TRIB_OK) {
        trib_memory_unmap(train, TRAINS * sizeof *train);
        if (has_faults && above != NULL) {
            above->operations->close(above);
        }
        return status;
    }
    port->train = train;
    port->top = above;
    return TRIB_OK;
}

bool trib_port_is_spare(const struct trib_port *port)
{
    return port->train == NULL;
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
    trib_memory_unmap(port->train, TRAINS * sizeof *port->train);
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
        trib_auth_decrypt(auth, arrival->data, arrival->len);
    }
    return drop;
}

uint64_t trib_port_deadline(const struct trib_port *port)
{
    const struct trib_carrier *top = port->top;
    return top->operations->deadline != NULL ? top->operations->deadline(top) : UINT64_MAX;
}

/* ---- sending ---- */

static void send_train(struct trib_port *port, uint32_t index)
{
    struct trib_train *train = &port->train[index];
    if (train->packets > 0 && train->group != NULL) {
        port->top->operations->send(port->top, train, train->group);
        trib_train_empty(train);
        return;
    }
    for (uint64_t rest = train->packets > 0 ? train->to_bits : 0; rest != 0; rest &= rest - 1) {
        const struct trib_address *to = train->to == NULL ? NULL : &train->to[__builtin_ctzll(rest)];
        port->top->operations->send(port->top, train, to);
    }
    trib_train_empty(train);
}

/* Finds the train for this set of destinations, else an empty one. Trains of other sets that share a destination are
 * sent first: a packet that overtakes many others looks like their loss. */
static uint32_t find_train(struct trib_port *port, const struct trib_address *to, uint64_t bits,
                           const struct trib_address *group)
{
    uint32_t found = TRAINS;
    for (uint32_t rest = port->loaded; rest != 0; rest &= rest - 1) {
        uint32_t index = (uint32_t)__builtin_ctz(rest);
        const struct trib_train *train = &port->train[index];
        if (train->to == to && train->to_bits == bits && train->group == group) {
            found = index;
        } else if (train->to == to && (train->to_bits & bits) != 0) {
            send_train(port, index);
            port->loaded ^= UINT32_C(1) << index;
        }
    }
    uint32_t empty = ~port->loaded;
    if (found != TRAINS || empty != 0) {
        return found != TRAINS ? found : (uint32_t)__builtin_ctz(empty);
    }
    uint32_t oldest = port->next_train;
    port->next_train = (oldest + 1) % TRAINS;
    send_train(port, oldest);
    return oldest;
}

void trib_port_set_backlog(struct trib_port *port, uint32_t bytes)
{
    port->backlog = bytes;
    for (uint32_t bits = bytes == 0 ? port->loaded : 0; bits != 0; bits &= bits - 1) { /* empty trains stay untouched */
        port->train[__builtin_ctz(bits)].is_flagged = false;
    }
}

uint32_t trib_port_backlog(const struct trib_port *port)
{
    return port->backlog;
}

/* A switch sends the same to all children by one socket, usually behind different ports of the network. So the socket's
 * queue is divided by the number of children. */
static bool is_backlogged(const struct trib_port *port, const struct trib_address *to, uint64_t bits)
{
    uint32_t count = (uint32_t)__builtin_popcountll(bits);
    return port->top->operations->backlog(port->top, to, bits) / count > port->backlog;
}

static void load(struct trib_port *port, const struct trib_packet *packet, const struct trib_address *to, uint64_t bits,
                 const struct trib_address *group, const struct trib_seal *seal)
{
    size_t len = trib_train_size(packet, seal);
    uint32_t index = find_train(port, to, bits, group);
    struct trib_train *train = &port->train[index];
    const struct trib_address *first = group != NULL ? group : to; /* destinations of the carrier */
    uint64_t sent = group != NULL ? 1 : bits;
    if (!trib_train_fits(train, len)) {
        send_train(port, index);
    }
    train->to = to;
    train->to_bits = bits;
    train->group = group;
    if (train->packets == 0) {
        train->is_flagged = port->backlog > 0 && is_backlogged(port, first, sent);
    }
    trib_train_add(train, packet, seal);
    port->stats.flagged_sent += train->is_flagged ? (uint64_t)__builtin_popcountll(sent) : 0;
    port->loaded |= UINT32_C(1) << index;
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

void trib_port_flush(struct trib_port *port)
{
    for (uint32_t rest = port->loaded; rest != 0; rest &= rest - 1) {
        send_train(port, (uint32_t)__builtin_ctz(rest));
    }
    port->loaded = 0;
}

bool trib_port_is_flushed(const struct trib_port *port)
{
    return port->loaded == 0;
}
