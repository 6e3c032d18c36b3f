/* SPDX-License-Identifier: Apache-2.0 */
/* inject.c: see inject.h. Every packet draws the same number of random values, so a decision depends only on the seed
 * and the packet's number.
 * A packet can suffer several faults: it is lost (and nothing else), or corrupted first, then doubled, then held. Of a
 * doubled and held packet one copy comes out at once. A held packet comes out after at most HELD_MAX later packets, so
 * at most HELD_MAX + 1 are held. */
#include "net/inject.h"

#include <stdlib.h>
#include <string.h>

#include "core/prng.h"

#define HELD_MAX 16
#define HELD_SLOTS (HELD_MAX + 1)
#define HELD_NS UINT64_C(2000000)
#define FLIPS_MAX 8

struct held {
    uint8_t *data;
    size_t len;
    uint64_t tag;
    uint64_t due_count; /* comes out when this number of packets has been put */
    uint64_t due_ns;
    bool used;
};

struct trib_inject {
    struct trib_faults faults;
    struct trib_prng prng;
    struct trib_inject_counts counts;
    size_t packet_max;
    uint64_t put_count;
    struct trib_injected now; /* the packet just put */
    unsigned now_copies;      /* copies still to come out */
    unsigned held_count;
    uint8_t *scratch; /* the corrupted copy of the packet just put */
    struct held held[HELD_SLOTS];
};

bool trib_inject_active(const struct trib_faults *faults)
{
    return faults->loss > 0 || faults->duplicate > 0 || faults->reorder > 0 || faults->corrupt > 0;
}

struct trib_inject *trib_inject_create(const struct trib_faults *faults, size_t packet_max)
{
    struct trib_inject *inject = calloc(1, sizeof *inject);
    if (inject == NULL) {
        return NULL;
    }
    uint8_t *memory = calloc(HELD_SLOTS + 1, packet_max);
    if (memory == NULL) {
        free(inject);
        return NULL;
    }
    inject->faults = *faults;
    inject->prng.state = faults->seed;
    inject->packet_max = packet_max;
    inject->scratch = memory;
    for (unsigned i = 0; i < HELD_SLOTS; i++) {
        inject->held[i].data = memory + (i + 1) * packet_max;
    }
    return inject;
}

void trib_inject_destroy(struct trib_inject *inject)
{
    if (inject != NULL) {
        free(inject->scratch);
        free(inject);
    }
}

/* Flips 1 to FLIPS_MAX different bits, so the bytes always change. */
static void flip_bits(uint8_t *data, size_t len, struct trib_prng *prng)
{
    uint64_t flipped[FLIPS_MAX];
    uint64_t wanted = 1 + trib_prng_below(prng, FLIPS_MAX);
    unsigned count = 0;
    while (count < wanted) {
        uint64_t bit = trib_prng_below(prng, 8 * (uint64_t)len);
        bool again = false;
        for (unsigned i = 0; i < count; i++) {
            again = again || flipped[i] == bit;
        }
        if (!again) {
            flipped[count++] = bit;
            data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
    }
}

/* Keeps a copy of the packet just put. False: no room, as the caller did not drain. */
static bool hold(struct trib_inject *inject, uint64_t later, uint64_t now_ns)
{
    for (unsigned i = 0; i < HELD_SLOTS; i++) {
        struct held *held = &inject->held[i];
        if (!held->used) {
            memcpy(held->data, inject->now.data, inject->now.len);
            held->len = inject->now.len;
            held->tag = inject->now.tag;
            held->due_count = inject->put_count + later;
            held->due_ns = now_ns + HELD_NS;
            held->used = true;
            inject->held_count++;
            return true;
        }
    }
    return false;
}

void trib_inject_put(struct trib_inject *inject, const uint8_t *data, size_t len, uint64_t tag, uint64_t now_ns)
{
    struct trib_prng *prng = &inject->prng;
    bool lost = trib_prng_chance(prng, inject->faults.loss);
    bool corrupt = trib_prng_chance(prng, inject->faults.corrupt);
    bool duplicate = trib_prng_chance(prng, inject->faults.duplicate);
    bool reorder = trib_prng_chance(prng, inject->faults.reorder);
    struct trib_prng detail = {trib_prng_next(prng)};
    inject->put_count++;
    inject->now = (struct trib_injected){data, len, tag};
    inject->now_copies = 0;
    if (lost) {
        inject->counts.loss++;
        return;
    }
    inject->now_copies = 1;
    bool fits = len > 0 && len <= inject->packet_max;
    if (corrupt && fits) {
        memcpy(inject->scratch, data, len);
        flip_bits(inject->scratch, len, &detail);
        inject->now.data = inject->scratch;
        inject->counts.corrupt++;
    }
    if (duplicate) {
        inject->now_copies++;
        inject->counts.duplicate++;
    }
    if (reorder && fits && hold(inject, 1 + trib_prng_below(&detail, HELD_MAX), now_ns)) {
        inject->now_copies--;
        inject->counts.reorder++;
    }
}

/* The held packet due first; NULL: none is due. */
static struct held *find_due(struct trib_inject *inject, uint64_t now_ns)
{
    struct held *first = NULL;
    for (unsigned i = 0; i < HELD_SLOTS; i++) {
        struct held *held = &inject->held[i];
        bool due = held->used && (held->due_count <= inject->put_count || held->due_ns <= now_ns);
        if (due && (first == NULL || held->due_count < first->due_count)) {
            first = held;
        }
    }
    return first;
}

bool trib_inject_next(struct trib_inject *inject, uint64_t now_ns, struct trib_injected *out)
{
    if (inject->now_copies > 0) {
        inject->now_copies--;
        *out = inject->now;
        return true;
    }
    if (inject->held_count == 0) {
        return false;
    }
    struct held *held = find_due(inject, now_ns);
    if (held == NULL) {
        return false;
    }
    held->used = false;
    inject->held_count--;
    *out = (struct trib_injected){held->data, held->len, held->tag};
    return true;
}

void trib_inject_forget(struct trib_inject *inject)
{
    inject->now_copies = 0;
}

uint64_t trib_inject_deadline(const struct trib_inject *inject)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < HELD_SLOTS && inject->held_count > 0; i++) {
        if (inject->held[i].used && inject->held[i].due_ns < first) {
            first = inject->held[i].due_ns;
        }
    }
    return first;
}

const struct trib_inject_counts *trib_inject_counts(const struct trib_inject *inject)
{
    return &inject->counts;
}
