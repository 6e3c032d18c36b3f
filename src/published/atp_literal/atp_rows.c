/* SPDX-License-Identifier: Apache-2.0 */
/* atp_rows.c: the published switch (p4ml.p4 of the released code), line by line in trib_atp_rows_up() and
 * trib_atp_rows_down(). Read next: protocol/combiner.c, a correct combiner. */
#include <string.h>

#include "core/assert.h"
#include "published/atp_literal/atp_literal.h"

struct row {
    uint64_t bitmap;
    uint64_t lane;  /* ours: the parts' lanes, added like values */
    uint32_t owner; /* job and fragment; 0: free */
    uint32_t count; /* parts in the row */
    uint16_t parts; /* ours: parts with payload */
    uint16_t ecn;
    uint8_t unused[36];
};

_Static_assert(sizeof(struct row) == 64, "one cache line");

struct rows {
    struct trib_atp_rows_config config;
    struct trib_atp_rows_counters counters;
    size_t rows_at, values_at, given_at;
};

static void *at(const struct rows *r, size_t offset)
{
    return (char *)(uintptr_t)r + offset;
}

static void *value_at(const struct rows *r, const struct row *row)
{
    return (char *)at(r, r->values_at) + (size_t)(row - (const struct row *)at(r, r->rows_at)) * r->config.payload;
}

static size_t lay_out(struct rows *r, const struct trib_atp_rows_config *config)
{
    size_t end = (sizeof *r + 63) & ~(size_t)63;

    *r = (struct rows){.config = *config};
    r->rows_at = trib_node_place(&end, config->rows * sizeof(struct row));
    r->values_at = trib_node_place(&end, (size_t)config->rows * config->payload);
    r->given_at = trib_node_place(&end, config->payload);
    return end;
}

size_t trib_atp_rows_size(const struct trib_atp_rows_config *config)
{
    struct rows scratch;

    return lay_out(&scratch, config);
}

void trib_atp_rows_init(void *rows, const struct trib_atp_rows_config *config)
{
    struct rows *r = rows;

    TRIB_ASSERT(config->rows != 0 && config->payload <= TRIB_PAYLOAD_MAX);
    memset(r, 0, lay_out(&(struct rows){0}, config));
    (void)lay_out(r, config);
}

/* The pair that owns a row, in 32 bits: nothing else tells fragments apart. */
static uint32_t owner_of(const struct trib_packet *packet)
{
    return packet->communicator << 16 | packet->window_cap;
}

/* Row of the fragment, the same for all hosts of a job. */
static struct row *find(const struct rows *r, uint32_t owner)
{
    return (struct row *)at(r, r->rows_at) + (trib_mix64(owner) >> 32) * r->config.rows / (UINT64_C(1) << 32);
}

/* row += part, clamped to the range of int32_t. */
static void add_saturating(int32_t *row, const void *part, size_t len)
{
    for (size_t i = 0; i < len / sizeof *row; i++) {
        int32_t value;
        memcpy(&value, (const char *)part + i * sizeof value, sizeof value);
        int64_t sum = (int64_t)row[i] + value;
        row[i] = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
    }
}

/* Adds a part with a new bit: as the row's first value, or to the value. */
static void add(struct rows *r, struct row *row, const struct trib_packet *packet)
{
    row->lane = row->count == 0 ? packet->lane : row->lane + packet->lane;
    row->parts = row->count == 0 ? packet->contributors : (uint16_t)(row->parts + packet->contributors);
    if (row->count++ == 0) {
        memcpy(value_at(r, row), packet->payload, packet->payload_len);
    } else if (packet->type == TRIB_INT32) {
        add_saturating(value_at(r, row), packet->payload, packet->payload_len);
    } else {
        trib_row_add(r->config.kernels, (enum trib_type)packet->type, (enum trib_reduction)packet->reduction,
                     value_at(r, row), packet->payload, packet->payload_len);
    }
    r->counters.combined++;
}

/* Writes the row's contents into the packet. */
static void put_into(struct rows *r, const struct row *row, struct trib_packet *packet)
{
    if (packet->payload_len != 0) {
        packet->payload = memcpy(at(r, r->given_at), value_at(r, row), packet->payload_len);
    }
    packet->bitmap = row->bitmap;
    packet->lane = row->lane;
    packet->contributors = row->parts;
    packet->flags |= row->ecn;
}

static void clear(struct row *row)
{
    *row = (struct row){0};
}

/* Forwards a part that was sent again, with the row's parts, and frees the row. */
static void flush(struct rows *r, struct row *row, struct trib_packet *packet)
{
    if ((row->bitmap & packet->bitmap) == 0) {
        add(r, row, packet);
        row->bitmap |= packet->bitmap;
    }
    put_into(r, row, packet);
    clear(row);
    r->counters.flushed++;
}

enum trib_combined trib_atp_rows_up(void *rows, struct trib_packet *packet)
{
    struct rows *r = rows;
    uint32_t owner = owner_of(packet);
    struct row *row = find(r, owner);
    bool is_resend = (packet->flags & TRIB_FLAG_RESEND) != 0;

    if (packet->kind != TRIB_CONTRIBUTION || (packet->flags & TRIB_FLAG_OVERFLOW) != 0 ||
        packet->payload_len > r->config.payload || !trib_atp_can_add(packet)) {
        return TRIB_COMBINED_PASS;
    }
    /* The published lookup returns the row's owner, where 0 means "another's". So the pair 0 never has a row. */
    if (owner == 0 || (row->owner != owner && (is_resend || row->owner != 0))) {
        packet->flags |= is_resend ? 0 : TRIB_FLAG_COLLISION;
        r->counters.collisions += !is_resend;
        return TRIB_COMBINED_PASS;
    }
    if (is_resend) {
        flush(r, row, packet);
        return TRIB_COMBINED_PASS;
    }
    row->owner = owner;
    row->ecn |= packet->flags & TRIB_FLAG_ECN;
    if ((row->bitmap & packet->bitmap) == 0) {
        add(r, row, packet);
        row->bitmap |= packet->bitmap;
    } else {
        r->counters.duplicates++;
    }
    if (row->count != packet->tree) {
        return TRIB_COMBINED_TAKEN;
    }
    r->counters.complete++;
    put_into(r, row, packet);
    return TRIB_COMBINED_PASS;
}

/* An answer that asks for floats, to a part not sent again, frees no row: another fragment may have the row by now. */
void trib_atp_rows_down(void *rows, const struct trib_packet *packet)
{
    struct rows *r = rows;
    uint32_t owner = owner_of(packet);
    struct row *row = find(r, owner);
    bool asks = (packet->flags & (TRIB_FLAG_OVERFLOW | TRIB_FLAG_RESEND)) == TRIB_FLAG_OVERFLOW;

    if (packet->kind == TRIB_RESULT && owner != 0 && row->owner == owner && !asks) {
        clear(row);
        r->counters.freed++;
    }
}

uint32_t trib_atp_rows_held(const void *rows)
{
    const struct rows *r = rows;
    uint32_t held = 0;

    for (uint32_t i = 0; i < r->config.rows; i++) {
        held += ((const struct row *)at(r, r->rows_at) + i)->owner != 0;
    }
    return held;
}

const struct trib_atp_rows_counters *trib_atp_rows_counters(const void *rows)
{
    return &((const struct rows *)rows)->counters;
}
