/* SPDX-License-Identifier: Apache-2.0 */
/* atp.c: ATP's switch memory: the rows of figure 6 and their fields, and two jobs that share a pool, with our combiner.
 * Read next: atp.h. */
#include "reproduce/atp.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "core/slot.h"
#include "protocol/combiner.h"
#include "schemes/schemes.h"

#define POOL 100U
#define NEED 80U
#define MANY 10000U /* fragments: a hash hits every row */
#define PAYLOAD 64U

/* A row of figure 6. */
struct row {
    uint64_t bitmap;
    uint64_t sequence;
    uint32_t communicator;
    uint32_t ecn;
};

static void *make_combiner(struct reproduce_run *run, uint32_t rows, uint32_t members)
{
    struct trib_combiner_config config = {
        .kernels = trib_value_kernels(), .rows = rows, .payload = PAYLOAD, .members = members, .is_narrow = true};
    void *combiner = aligned_alloc(64, (trib_combiner_size(&config) + 63) & ~(size_t)63);

    if (combiner == NULL) {
        run->is_out_of_memory = true;
        return NULL;
    }
    trib_combiner_init(combiner, &config);
    return combiner;
}

/* The sender's part of the fragment. */
static enum trib_combined contribute(void *combiner, uint32_t job, const struct row *row, uint64_t sender,
                                     uint16_t flags)
{
    static const uint8_t payload[PAYLOAD];
    struct trib_packet packet = {
        .kind = TRIB_CONTRIBUTION,
        .flags = flags,
        .sequence = row->sequence,
        .communicator = row->communicator,
        .generation = 1,
        .boot = 1,
        .type = TRIB_INT32,
        .reduction = TRIB_SUM,
        .contributors = 1,
        .payload_len = PAYLOAD,
        .payload = payload,
    };

    return trib_combiner_up(combiner, job, sender, &packet);
}

/* Sends the workers' parts, each but the last twice, and an ECN mark on the last. Returns true and the row's sum if the
 * sum leaves with the last part, and not before. */
static bool complete(void *combiner, const struct row *row, struct trib_packet *sum)
{
    const struct trib_combiner_grant grant = {
        .behind = row->bitmap, .communicator = row->communicator, .generation = 1, .rows = 1};
    uint16_t mark = row->ecn != 0 ? TRIB_FLAG_ECN : 0;
    uint32_t member;

    trib_combiner_admit(combiner, 0, &grant);
    for (uint64_t rest = row->bitmap; rest != 0; rest &= rest - 1) {
        uint64_t worker = rest & -rest;
        bool is_last = worker == rest;
        (void)contribute(combiner, 0, row, worker, is_last ? mark : 0);
        if (!is_last) {
            (void)contribute(combiner, 0, row, worker, 0); /* a counter would count it */
            if (trib_combiner_next(combiner, sum, &member)) {
                return false;
            }
        }
    }
    return trib_combiner_next(combiner, sum, &member);
}

/* Figure 6: the workers in a row, as the slide writes them. The claims have the other fields. */
bool atp_rows(struct reproduce_run *run)
{
    static const struct {
        const char *claims[4];
        struct row row;
    } rows[] = {
        {{"row-1", "ecn-1", "job-1", "sequence-1"}, {0x05, 5, 0, 0}},
        {{"row-2", "ecn-2", "job-2", "sequence-2"}, {0x0d, 1000, 5, 1}},
        {{"row-3", "ecn-3", "job-3", "sequence-3"}, {0x11, 900, 5, 1}},
    };
    uint32_t complete_count = 0;

    (void)reproduce_panel(run, "Workers in a row (figure 6)", "row", "workers");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trib_packet sum = {.bitmap = 0};
        void *combiner = make_combiner(run, 1, 1);
        if (combiner == NULL) {
            return true;
        }
        complete_count += complete(combiner, &rows[i].row, &sum) && sum.bitmap == rows[i].row.bitmap;
        free(combiner);
        reproduce_point(run, "bits of the bitmap", (double)i + 1, trib_count_bits(sum.bitmap));
        reproduce_got(run, rows[i].claims[0], trib_count_bits(sum.bitmap));
        reproduce_got(run, rows[i].claims[1], (sum.flags & TRIB_FLAG_ECN) != 0);
        reproduce_got(run, rows[i].claims[2], sum.communicator);
        reproduce_got(run, rows[i].claims[3], (double)sum.sequence);
    }
    reproduce_got(run, "complete", complete_count);
    return true;
}

#define BITS(type, field) ((double)(sizeof(((const struct type *)0)->field) * CHAR_BIT))

/* Figure 6: widths of the fields of a row, in our combiner. */
bool atp_fields(struct reproduce_run *run)
{
    const struct {
        const char *claim;
        double ours; /* bits; of values, bytes */
    } fields[] = {
        {"bitmap", BITS(trib_slot, present)},
        {"counter", BITS(trib_slot, parts)},
        {"ecn", trib_count_bits(TRIB_FLAG_ECN)},
        {"job", BITS(trib_packet, communicator)},
        {"sequence", trib_count_bits(TRIB_SEQUENCE_MAX)},
        {"timestamp", 0},
        {"value", TRIB_PAYLOAD_MAX},
        {"integer", trib_scheme_find("atp")->sums_by_luck ? CHAR_BIT * (double)trib_type_size(TRIB_INT32) : 0},
    };

    (void)reproduce_panel(run, "Fields of a row (figure 6)", "field", "bits");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        reproduce_point(run, "ours", (double)i + 1, fields[i].ours);
        reproduce_got(run, fields[i].claim, fields[i].ours);
    }
    return true;
}

/* Sends the first contribution of each fragment, from one of two workers. Returns the number of rows taken. */
static uint32_t rows_taken(void *combiner, uint32_t job, uint32_t fragments)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < fragments; i++) {
        struct row row = {.sequence = i, .communicator = job + 1};
        taken += contribute(combiner, job, &row, 1, 0) == TRIB_COMBINED_TAKEN;
    }
    return taken;
}

/* Gets the rows of two jobs, one after the other, with this many fragments each. */
static void fill(struct reproduce_run *run, bool is_static, uint32_t fragments, uint32_t taken[2])
{
    void *combiner = make_combiner(run, POOL, 2);

    taken[0] = taken[1] = 0;
    if (combiner == NULL) {
        return;
    }
    for (uint32_t job = 0; job < 2; job++) {
        struct trib_combiner_grant grant = {
            .behind = 3,
            .communicator = job + 1,
            .generation = 1,
            .first_row = is_static ? job * POOL / 2 : 0,
            .rows = is_static ? POOL / 2 : POOL,
        };
        trib_combiner_admit(combiner, job, &grant);
    }
    for (uint32_t job = 0; job < 2; job++) {
        taken[job] = rows_taken(combiner, job, fragments);
    }
    free(combiner);
}

bool atp_pool(struct reproduce_run *run)
{
    uint32_t taken[2];

    (void)reproduce_panel(run, "Rows that a job gets, of 100", "fragments under way", "rows");
    for (uint32_t fragments = 10; fragments <= 2 * POOL; fragments += 10) {
        fill(run, true, fragments, taken);
        reproduce_point(run, "static: half of them", fragments, taken[0]);
        fill(run, false, fragments, taken);
        reproduce_point(run, "dynamic, alone", fragments, taken[0]);
        reproduce_point(run, "100 (1 - 0.99^n)", fragments, POOL * (1 - pow(1 - 1.0 / POOL, fragments)));
        reproduce_point(run, "dynamic, the second of two", fragments, taken[1]);
    }
    fill(run, true, MANY, taken);
    reproduce_got(run, "static-a", taken[0]);
    reproduce_got(run, "static-b", taken[1]);
    fill(run, false, MANY, taken);
    reproduce_got(run, "pool", taken[0] + taken[1]);
    fill(run, true, NEED, taken);
    reproduce_got(run, "static-served", taken[0]);
    fill(run, false, NEED, taken);
    reproduce_got(run, "alone", taken[0]);
    reproduce_got(run, "shared", taken[0] + taken[1]);
    return true;
}
