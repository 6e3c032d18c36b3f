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

/* Figure 6: the workers in a row, as the slide writes them. The claim has the counter beside them. */
bool atp_rows(struct reproduce_run *run)
{
    static const struct {
        const char *claim;
        uint64_t bitmap;
    } rows[] = {{"row-1", 0x05}, {"row-2", 0x0d}, {"row-3", 0x11}};

    (void)reproduce_panel(run, "Workers in a row (figure 6)", "row", "workers");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reproduce_point(run, "bits of the bitmap", (double)i + 1, trib_count_bits(rows[i].bitmap));
        reproduce_got(run, rows[i].claim, trib_count_bits(rows[i].bitmap));
    }
    return true;
}

/* Sends the first contribution of each fragment, from one of two workers. Returns the number of rows taken. */
static uint32_t rows_taken(void *combiner, uint32_t job, uint32_t fragments)
{
    static const uint8_t payload[PAYLOAD];
    uint32_t taken = 0;

    for (uint32_t i = 0; i < fragments; i++) {
        struct trib_packet packet = {
            .kind = TRIB_CONTRIBUTION,
            .sequence = i,
            .communicator = job + 1,
            .generation = 1,
            .boot = 1,
            .type = TRIB_INT32,
            .reduction = TRIB_SUM,
            .contributors = 1,
            .payload_len = PAYLOAD,
            .payload = payload,
        };
        taken += trib_combiner_up(combiner, job, 1, &packet) == TRIB_COMBINED_TAKEN;
    }
    return taken;
}

/* Gets the rows of two jobs, one after the other, with this many fragments each. */
static void fill(struct reproduce_run *run, bool is_static, uint32_t fragments, uint32_t taken[2])
{
    struct trib_combiner_config config = {
        .kernels = trib_value_kernels(), .rows = POOL, .payload = PAYLOAD, .members = 2, .is_narrow = true};
    void *combiner = aligned_alloc(64, (trib_combiner_size(&config) + 63) & ~(size_t)63);

    taken[0] = taken[1] = 0;
    if (combiner == NULL) {
        run->is_out_of_memory = true;
        return;
    }
    trib_combiner_init(combiner, &config);
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
