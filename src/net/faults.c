/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c: see faults.h. A train from below is cut up, and its packets go through the injector. Packets that come out
 * are copied into a new train as long as they fit. Sending is not changed. */
#include "net/faults.h"

#include <stdlib.h>
#include <string.h>

#include "net/inject.h"

/* Most bytes of a train. */
#define BUFFER_SIZE 65536
/* Most senders of held packets: a packet is held for at most 16 later packets, and a train from below has at least
 * one. */
#define SENDERS 32
/* Bit in the injector's tag, above the sender's number: the packet has the network's mark. */
#define TAG_MARKED (UINT64_C(1) << 32)

struct faults {
    struct trib_carrier carrier;
    struct trib_inject *inject;
    /* the train from below */
    struct trib_delivery below;
    size_t at; /* offset of the next packet */
    /* packet out of the injector that did not fit the last train; len 0: none */
    struct trib_injected next;
    /* sender of the train handed up */
    struct trib_address from;
    uint32_t sender_index; /* index of `from` */
    struct trib_address sender[SENDERS];
    uint8_t bytes[BUFFER_SIZE]; /* last field: unused bytes of zeroed memory cost nothing */
};

static struct faults *faults_of(struct trib_carrier *carrier)
{
    return (struct faults *)(void *)carrier;
}

static const struct faults *const_faults_of(const struct trib_carrier *carrier)
{
    return (const struct faults *)(const void *)carrier;
}

static void close_faults(struct trib_carrier *carrier)
{
    struct faults *faults = faults_of(carrier);
    trib_inject_destroy(faults->inject);
    free(faults);
}

static void send_train(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to)
{
    carrier->below->operations->send(carrier->below, train, to);
}

static uint32_t find_backlog(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits)
{
    return carrier->below->operations->backlog(carrier->below, to, bits);
}

static void count_injected(struct faults *faults)
{
    const struct trib_inject_counts *counts = trib_inject_counts(faults->inject);
    struct trib_port_stats *stats = faults->carrier.stats;
    stats->injected_loss = counts->loss;
    stats->injected_duplicate = counts->duplicate;
    stats->injected_reorder = counts->reorder;
    stats->injected_corrupt = counts->corrupt;
}

/* Puts the next packet of the train from below into the injector. False: the train has no more. */
static bool put_next(struct faults *faults, uint64_t now_ns)
{
    size_t left = faults->below.len - faults->at;
    if (left == 0) {
        return false;
    }
    size_t len = left < faults->below.segment ? left : faults->below.segment;
    uint64_t tag = faults->sender_index | (faults->below.is_marked ? TAG_MARKED : 0);
    trib_inject_put(faults->inject, faults->below.bytes + faults->at, len, tag, now_ns);
    faults->at += len;
    count_injected(faults);
    return true;
}

/* Finds the next packet out of the injector. False: none before the next train from below. */
static bool find_next(struct faults *faults, uint64_t now_ns)
{
    while (faults->next.len == 0 && !trib_inject_next(faults->inject, now_ns, &faults->next)) {
        if (!put_next(faults, now_ns)) {
            return false;
        }
    }
    return true;
}

/* Moves the next packet to the end of the train. False: the packet begins another train. */
static bool take_next(struct faults *faults, struct trib_delivery *train, uint64_t *tag)
{
    const struct trib_injected *next = &faults->next;
    if (train->len == 0) {
        *tag = next->tag;
        faults->from = faults->sender[next->tag & ~TAG_MARKED];
        train->segment = next->len;
        train->is_marked = (next->tag & TAG_MARKED) != 0;
    } else if (next->tag != *tag || next->len > train->segment || train->len % train->segment != 0 ||
               train->len + next->len > BUFFER_SIZE) {
        return false;
    }
    memcpy(faults->bytes + train->len, next->data, next->len);
    train->len += next->len;
    faults->next.len = 0;
    return true;
}

/* Reads from below once at most. Also true if the faults removed all packets of the train. */
static bool receive_train(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery)
{
    struct faults *faults = faults_of(carrier);
    uint64_t tag = 0;
    bool has_come = false;
    *delivery = (struct trib_delivery){.bytes = faults->bytes, .from = &faults->from, .owner = carrier};
    if (faults->next.len == 0 && faults->at == faults->below.len) {
        faults->at = faults->below.len = 0;
        has_come = carrier->below->operations->receive(carrier->below, now_ns, &faults->below);
        if (has_come) {
            faults->sender_index = (faults->sender_index + 1) % SENDERS;
            faults->sender[faults->sender_index] = *faults->below.from;
        } else {
            faults->below.len = 0;
        }
    }
    while (find_next(faults, now_ns) && take_next(faults, delivery, &tag)) {
    }
    return has_come || delivery->len > 0;
}

static uint64_t find_deadline(const struct trib_carrier *carrier)
{
    const struct faults *faults = const_faults_of(carrier);
    const struct trib_carrier *below = carrier->below;
    if (faults->next.len > 0 || faults->at < faults->below.len) {
        return 0;
    }
    uint64_t deadline = below->operations->deadline != NULL ? below->operations->deadline(below) : UINT64_MAX;
    uint64_t held = trib_inject_deadline(faults->inject);
    return held < deadline ? held : deadline;
}

/* The packet kept for the next train may use these bytes, too. */
static void forget(struct trib_carrier *carrier, const struct trib_carrier *gone)
{
    struct faults *faults = faults_of(carrier);
    if (faults->below.owner == gone) {
        faults->at = faults->below.len = 0;
        faults->next.len = 0;
        trib_inject_forget(faults->inject);
    }
}

static const struct trib_carrier_operations faults_operations = {
    .name = "faults",
    .close = close_faults,
    .send = send_train,
    .receive = receive_train,
    .deadline = find_deadline,
    .backlog = find_backlog,
    .forget = forget,
};

struct trib_carrier *trib_faults_create(const struct trib_faults *faults, size_t packet_max, struct trib_carrier *below)
{
    struct faults *made = malloc(sizeof *made);
    struct trib_inject *inject = trib_inject_create(faults, packet_max);
    if (made == NULL || inject == NULL) {
        trib_inject_destroy(inject);
        free(made);
        return NULL;
    }
    memset(made, 0, offsetof(struct faults, bytes));
    made->carrier.operations = &faults_operations;
    made->carrier.below = below;
    made->carrier.stats = below->stats;
    made->inject = inject;
    return &made->carrier;
}
