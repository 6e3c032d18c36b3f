/* SPDX-License-Identifier: Apache-2.0 */
/* atp_literal.c: ATP's published rules and ours on equal lossy links: runs with wrong sums, leaked rows and hangs. Read
 * next: demo/atp.h. */
#include "demo/atp.h"
#include "published/published.h"
#include "reproduce/atp.h"

#define RUNS 300U /* for the claims */
#define RUNS_EACH 50U
#define CLAIM_RATE 0.001
#define LATE_NS (3 * DEMO_MS)

static const double rates[] = {0.0001, 0.0003, 0.001, 0.003, 0.01};

#define RATES (sizeof rates / sizeof rates[0])

/* Random runs of both rules; index 0: published. False: interrupted, or out of memory. */
static bool play(struct reproduce_run *run, struct demo_atp_runs both[2], double rate, uint32_t count)
{
    struct demo_faults faults = {.loss = rate, .late = rate, .late_ns = LATE_NS};

    both[0] = (struct demo_atp_runs){.scheme = trib_published_find("atp-literal")};
    both[1] = (struct demo_atp_runs){.scheme = trib_published_find("atp")};
    for (uint64_t seed = 1; seed <= count; seed++) {
        if (!demo_atp_run(&both[0], &faults, seed) || !demo_atp_run(&both[1], &faults, seed)) {
            run->is_out_of_memory = true;
            return false;
        }
    }
    return reproduce_goes_on(run, "ATP's published rules", rate / rates[RATES - 1]);
}

static uint32_t defective(const struct demo_atp_runs *runs)
{
    return runs->runs - runs->right + runs->with_leak;
}

bool atp_literal(struct reproduce_run *run)
{
    struct demo_atp_runs both[2];

    (void)reproduce_panel(run, "Runs with a defect", "packets lost, and as many late, %", "% of runs");
    for (uint32_t i = 0; i < RATES; i++) {
        if (!play(run, both, rates[i], RUNS_EACH)) {
            return false;
        }
        double x = 100 * rates[i];
        double each = 100.0 / RUNS_EACH;
        reproduce_point(run, "published: a wrong sum", x, each * both[0].with_wrong);
        reproduce_point(run, "a wrong sum with a right lane", x, each * both[0].with_delivered);
        reproduce_point(run, "a leaked row", x, each * both[0].with_leak);
        reproduce_point(run, "a sum dropped for one part", x, each * both[0].with_overlap);
        reproduce_point(run, "no end", x, each * both[0].hung);
        reproduce_point(run, "ours: any", x, each * defective(&both[1]));
    }
    if (!play(run, both, CLAIM_RATE, RUNS)) {
        return false;
    }
    reproduce_got(run, "wrong", both[0].with_wrong);
    reproduce_got(run, "unnoticed", both[0].with_delivered);
    reproduce_got(run, "leaked", both[0].with_leak);
    reproduce_got(run, "dropped", both[0].with_overlap);
    reproduce_got(run, "endless", both[0].hung);
    reproduce_got(run, "ours", defective(&both[1]));
    return true;
}
