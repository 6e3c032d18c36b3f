/* SPDX-License-Identifier: Apache-2.0 */
/* atp.c: ATP's switch memory: the rows of figure 6, and two jobs that share a pool, with our combiner. Read next:
 * atp.h. */
#include "reproduce/atp.h"

#include <math.h>
#include <stdlib.h>

#include "core/assert.h"
#include "protocol/combiner.h"

#define POOL 100U
#define NEED 80U
#define PAYLOAD 64U

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
static enum trib_combined contribute(void *combiner, uint32_t job, uint64_t sender, uint64_t sequence)
{
    static const uint8_t payload[PAYLOAD];
    struct trib_packet packet = {
        .kind = TRIB_CONTRIBUTION,
        .sequence = sequence,
        .communicator = job + 1,
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

/* Sends the workers' parts, each twice, until the row leaves. Returns the number of workers in the sum. 0: the row left
 * before the last part, or never. */
static uint32_t count_at_completion(void *combiner, uint64_t workers)
{
    const struct trib_combiner_grant grant = {.behind = workers, .communicator = 1, .generation = 1, .rows = 1};
    struct trib_packet sum = {.bitmap = 0};
    uint32_t member;

    trib_combiner_admit(combiner, 0, &grant);
    for (uint64_t rest = workers; rest != 0; rest &= rest - 1) {
        uint64_t worker = rest & -rest;
        (void)contribute(combiner, 0, worker, 0);
        if (worker != rest) {
            (void)contribute(combiner, 0, worker, 0); /* a counter would count it */
            if (trib_combiner_next(combiner, &sum, &member)) {
                return 0;
            }
        }
    }
    return trib_combiner_next(combiner, &sum, &member) ? trib_count_bits(sum.bitmap) : 0;
}

/* Figure 6: the workers in a row, as the slide writes them. The claim has the counter beside them. */
bool atp_rows(struct reproduce_run *run)
{
    static const struct {
        const char *claim;
        uint64_t bitmap;
    } rows[] = {{"row-1", 0x05}, {"row-2", 0x0d}, {"row-3", 0x11}};
    uint32_t complete = 0;

    (void)reproduce_panel(run, "Workers in a row (figure 6)", "row", "workers");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t workers = trib_count_bits(rows[i].bitmap);
        void *combiner = make_combiner(run, 1, 1);
        if (combiner == NULL) {
            return true;
        }
        complete += count_at_completion(combiner, rows[i].bitmap) == workers;
        free(combiner);
        reproduce_point(run, "bits of the bitmap", (double)i + 1, workers);
        reproduce_got(run, rows[i].claim, workers);
    }
    reproduce_got(run, "complete", complete);
    return true;
}

/* Sends the first contribution of each fragment, from one of two workers. Returns the number of rows taken. */
static uint32_t rows_taken(void *combiner, uint32_t job, uint32_t fragments)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < fragments; i++) {
        taken += contribute(combiner, job, 1, i) == TRIB_COMBINED_TAKEN;
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
    fill(run, true, NEED, taken);
    reproduce_got(run, "static-served", taken[0]);
    fill(run, false, NEED, taken);
    reproduce_got(run, "alone", taken[0]);
    reproduce_got(run, "shared", taken[0] + taken[1]);
    return true;
}
