/* SPDX-License-Identifier: Apache-2.0 */
/* rina_jitter.c: Rina's equation (3): cost of hosts with uneven speed in a ring, drawn message by message. */
#include <math.h>
#include <string.h>

#include "core/prng.h"
#include "reproduce/rina.h"

#define WORKERS_MAX 128U
#define DRAWS 300U
#define TWO_PI 6.283185307179586

/* Draws from a normal distribution with mean 0 and deviation 1 (Box and Muller). */
static double draw_normal(struct trib_prng *prng)
{
    double u = 1 - trib_prng_share(prng); /* above 0 */
    double v = trib_prng_share(prng);

    return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

/* Returns the time when each of `nodes` in a circle has done its steps. A step lasts as long as the slowest of
 * `members` draws. With a barrier all nodes proceed together. Without, a node waits for its last step and for the
 * previous node's message. */
static double time_steps(struct trib_prng *prng, uint32_t nodes, uint32_t members, uint32_t steps, bool has_barrier)
{
    double now[WORKERS_MAX] = {0};
    double last[WORKERS_MAX];
    double most = 0;

    for (uint32_t step = 0; step < steps; step++) {
        memcpy(last, now, sizeof last);
        double begin = most;
        for (uint32_t i = 0; i < nodes; i++) {
            double before = last[(i + nodes - 1) % nodes];
            double longest = -HUGE_VAL;
            for (uint32_t k = 0; k < members; k++) {
                longest = fmax(longest, draw_normal(prng));
            }
            now[i] = (has_barrier ? begin : fmax(last[i], before)) + longest;
            most = fmax(most, now[i]);
        }
    }
    return most;
}

/* Returns the mean of DRAWS draws, in deviations. */
static double mean_time(uint32_t nodes, uint32_t members, uint32_t steps, bool has_barrier)
{
    struct trib_prng prng = {.state = UINT64_C(0x72696e61)};
    double sum = 0;

    for (uint32_t i = 0; i < DRAWS; i++) {
        sum += time_steps(&prng, nodes, members, steps, has_barrier);
    }
    return sum / DRAWS;
}

static double formula(uint32_t workers)
{
    return workers * sqrt(2 * log(workers));
}

bool rina_eq3(struct reproduce_run *run)
{
    static const uint32_t sizes[] = {4, 8, 16, 32, 72, 128};

    (void)reproduce_panel(run, "What jitter adds to a scatter phase", "workers", "standard deviations of a step");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t n = sizes[i];
        reproduce_point(run, "equation (3)", n, formula(n));
        reproduce_point(run, "drawn, with barriers", n, mean_time(n, 1, n, true));
        reproduce_point(run, "drawn, without", n, mean_time(n, 1, n, false));
        reproduce_point(run, "Rina, racks of two", n, mean_time(n / 2, 2, n / 2, true));
        if (!reproduce_goes_on(run, "jitter", (double)i / 6)) {
            return false;
        }
    }
    double ring = mean_time(16, 1, 30, true);
    reproduce_got(run, "barrier-16", mean_time(16, 1, 16, true) / formula(16));
    reproduce_got(run, "barrier-72", mean_time(72, 1, 72, true) / formula(72));
    reproduce_got(run, "free-16", mean_time(16, 1, 16, false) / formula(16));
    reproduce_got(run, "rina", mean_time(8, 2, 15, true) / ring);
    reproduce_got(run, "rina-of-agents", mean_time(8, 1, 15, true) / ring);
    return true;
}
