/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: tables that only grow: stimuli, states of nodes, steps. Found by digests of 128 bits, which are taken to be
 * different for different things: with 10^8 things the chance that two share one is below 10^-22. Read next:
 * control.c. */
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "model.h"

#define BLOCK 64

struct table {
    uint32_t *slot; /* entry + 1; 0: free */
    size_t mask;
    size_t used;
};

struct block {
    uint8_t bytes[BLOCK];
    uint16_t index;
};

struct store {
    struct table stimuli, locals, steps;
    struct stimulus *stimulus;
    struct digest *stimulus_digest;
    struct local *local;
    struct digest *local_digest;
    struct step *step;
    struct block *block;
    uint32_t *out;
    size_t stimulus_count, local_count, step_count, block_count, out_count;
};

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two independent sums of folded products, as wyhash forms one: the time is that of one multiplication for 16 bytes.
 * A copy for 64 bytes, because MemorySanitizer makes a call of each. */
void digest_add(struct digest *digest, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t a = digest->a, b = digest->b;
    uint64_t words[8];

    while (size > 0) {
        size_t part = size < sizeof words ? size : sizeof words;
        size_t count = (part + 15) / 16 * 2;
        words[count - 2] = words[count - 1] = 0; /* where the bytes end within a pair */
        memcpy(words, at, part);
        for (size_t i = 0; i < count; i += 2) {
            a = fold(a ^ words[i], words[i + 1] ^ UINT64_C(0x9e3779b97f4a7c15));
            b = fold(b ^ words[i + 1], words[i] ^ UINT64_C(0xbf58476d1ce4e5b9));
        }
        at += part;
        size -= part;
    }
    digest->a = a;
    digest->b = b;
}

/* Room for one more element. */
static void *grow(void *array, size_t count, size_t size)
{
    if (count < 64 ? count != 0 : (count & (count - 1)) != 0) {
        return array;
    }
    array = realloc(array, (count < 64 ? 64 : 2 * count) * size);
    if (array == NULL) {
        exit(2);
    }
    return array;
}

static void table_open(struct table *table)
{
    table->mask = 1023;
    table->used = 0;
    table->slot = calloc(table->mask + 1, sizeof *table->slot);
    if (table->slot == NULL) {
        exit(2);
    }
}

static uint64_t step_hash(uint32_t local, uint32_t stimulus)
{
    return trib_mix64((uint64_t)local << 32 | stimulus);
}

struct store *store_open(void)
{
    struct store *store = calloc(1, sizeof *store);

    if (store == NULL) {
        exit(2);
    }
    table_open(&store->stimuli);
    table_open(&store->locals);
    table_open(&store->steps);
    return store;
}

void store_close(struct store *store)
{
    free(store->stimuli.slot);
    free(store->locals.slot);
    free(store->steps.slot);
    free(store->stimulus);
    free(store->stimulus_digest);
    free(store->local);
    free(store->local_digest);
    free(store->step);
    free(store->block);
    free(store->out);
    free(store);
}

static void place(struct table *table, uint64_t hash, uint32_t entry)
{
    size_t at = hash & table->mask;

    while (table->slot[at] != 0) {
        at = (at + 1) & table->mask;
    }
    table->slot[at] = entry + 1;
}

/* Doubles a table that is half full; the caller puts the entries in again. */
static bool needs_room(struct table *table)
{
    if (2 * ++table->used <= table->mask) {
        return false;
    }
    free(table->slot);
    table->mask = 2 * table->mask + 1;
    table->slot = calloc(table->mask + 1, sizeof *table->slot);
    if (table->slot == NULL) {
        exit(2);
    }
    return true;
}

static uint32_t find(const struct table *table, const struct digest *digests, const struct digest *digest)
{
    for (size_t at = digest->a & table->mask; table->slot[at] != 0; at = (at + 1) & table->mask) {
        const struct digest *other = &digests[table->slot[at] - 1];
        if (other->a == digest->a && other->b == digest->b) {
            return table->slot[at] - 1;
        }
    }
    return MODEL_NONE;
}

/* Adds entry `count` with its digest. */
static void add(struct table *table, struct digest **digests, size_t count, const struct digest *digest)
{
    *digests = grow(*digests, count, sizeof **digests);
    (*digests)[count] = *digest;
    if (needs_room(table)) {
        for (size_t i = 0; i < count; i++) {
            place(table, (*digests)[i].a, (uint32_t)i);
        }
    }
    place(table, digest->a, (uint32_t)count);
}

/* ---- stimuli ---- */

uint32_t store_stimulus(struct store *store, const struct stimulus *stimulus)
{
    struct digest digest = {1, 2};

    digest_add(&digest, stimulus, sizeof *stimulus);
    uint32_t id = find(&store->stimuli, store->stimulus_digest, &digest);
    if (id != MODEL_NONE) {
        return id;
    }
    store->stimulus = grow(store->stimulus, store->stimulus_count, sizeof *store->stimulus);
    store->stimulus[store->stimulus_count] = *stimulus;
    add(&store->stimuli, &store->stimulus_digest, store->stimulus_count, &digest);
    return (uint32_t)store->stimulus_count++;
}

const struct stimulus *store_stimulus_at(const struct store *store, uint32_t id)
{
    return &store->stimulus[id];
}

uint32_t store_stimuli(const struct store *store)
{
    return (uint32_t)store->stimulus_count;
}

uint32_t store_stimulus_name(const struct store *store, uint32_t id)
{
    return (uint32_t)store->stimulus_digest[id].a;
}

/* ---- states of nodes ---- */

uint32_t store_find_local(const struct store *store, const struct digest *digest)
{
    return find(&store->locals, store->local_digest, digest);
}

uint32_t store_add_local(struct store *store, const struct digest *digest, uint32_t node, const struct facts *facts)
{
    store->local = grow(store->local, store->local_count, sizeof *store->local);
    store->local[store->local_count] = (struct local){.node = node, .at = store->block_count, .facts = *facts};
    add(&store->locals, &store->local_digest, store->local_count, digest);
    return (uint32_t)store->local_count++;
}

void store_add_block(struct store *store, uint16_t index, const uint8_t *bytes)
{
    store->block = grow(store->block, store->block_count, sizeof *store->block);
    struct block *block = &store->block[store->block_count++];
    block->index = index;
    memcpy(block->bytes, bytes, BLOCK);
    store->local[store->local_count - 1].blocks++;
}

const struct local *store_local(const struct store *store, uint32_t id)
{
    return &store->local[id];
}

const uint8_t *store_block(const struct store *store, size_t at, uint16_t *index)
{
    *index = store->block[at].index;
    return store->block[at].bytes;
}

uint32_t store_locals(const struct store *store)
{
    return (uint32_t)store->local_count;
}

/* ---- steps ---- */

const struct step *store_find_step(const struct store *store, uint32_t local, uint32_t stimulus)
{
    const struct table *table = &store->steps;

    for (size_t at = step_hash(local, stimulus) & table->mask; table->slot[at] != 0; at = (at + 1) & table->mask) {
        const struct step *step = &store->step[table->slot[at] - 1];
        if (step->local == local && step->stimulus == stimulus) {
            return step;
        }
    }
    return NULL;
}

struct step store_add_step(struct store *store, const struct step *step, const uint32_t *out)
{
    store->step = grow(store->step, store->step_count, sizeof *store->step);
    struct step *kept = &store->step[store->step_count];
    *kept = *step;
    kept->out_at = (uint32_t)store->out_count;
    for (uint32_t i = 0; i < step->out_count; i++) {
        store->out = grow(store->out, store->out_count, sizeof *store->out);
        store->out[store->out_count++] = out[i];
    }
    if (needs_room(&store->steps)) {
        for (size_t i = 0; i < store->step_count; i++) {
            place(&store->steps, step_hash(store->step[i].local, store->step[i].stimulus), (uint32_t)i);
        }
    }
    place(&store->steps, step_hash(step->local, step->stimulus), (uint32_t)store->step_count);
    store->step_count++;
    return *kept;
}

void store_forget_steps(struct store *store)
{
    memset(store->steps.slot, 0, (store->steps.mask + 1) * sizeof *store->steps.slot);
    store->steps.used = store->step_count = store->out_count = 0;
}

/* Only where the step is remembered. */
void store_note_dead(struct store *store, const struct step *step)
{
    const struct step *known = store_find_step(store, step->local, step->stimulus);

    store->step[known - store->step].dead = step->dead;
}

uint32_t store_steps(const struct store *store)
{
    return (uint32_t)store->step_count;
}

const struct step *store_step_at(const struct store *store, uint32_t index)
{
    return &store->step[index];
}

const uint32_t *store_out(const struct store *store, const struct step *step)
{
    return &store->out[step->out_at];
}
