/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c: see sizes.h. Read next: traffic.c. */
#include "sim/traffic/sizes.h"

#include <string.h>

#include "core/assert.h"

#define PACKET 1460.0
#define POINTS_MAX 16U
#define LN2 0.693147180559945309417
#define TERMS 23

struct point {
    double size;
    double share; /* share of flows up to this size */
};

struct sim_sizes {
    const char *name;
    double unit; /* bytes; sizes are whole units */
    uint32_t count;
    uint32_t unused;
    struct point points[POINTS_MAX];
};

static const struct sim_sizes all[] = {
    {"websearch-packets",
     PACKET,
     12,
     0,
     {{6, 0},
      {6, 0.15},
      {13, 0.2},
      {19, 0.3},
      {33, 0.4},
      {53, 0.53},
      {133, 0.6},
      {667, 0.7},
      {1333, 0.8},
      {3333, 0.9},
      {6667, 0.97},
      {20000, 1}}},
    {"websearch-bytes",
     1,
     12,
     0,
     {{0, 0},
      {10e3, 0.15},
      {20e3, 0.2},
      {30e3, 0.3},
      {50e3, 0.4},
      {80e3, 0.53},
      {200e3, 0.6},
      {1e6, 0.7},
      {2e6, 0.8},
      {5e6, 0.9},
      {10e6, 0.97},
      {30e6, 1}}},
    {"datamining-packets",
     PACKET,
     9,
     0,
     {{1, 0}, {1, 0.5}, {2, 0.6}, {3, 0.7}, {7, 0.8}, {267, 0.9}, {2107, 0.95}, {66667, 0.99}, {666667, 1}}},
    {"datamining-bytes",
     1,
     13,
     0,
     {{0, 0},
      {180, 0.1},
      {216, 0.2},
      {560, 0.3},
      {900, 0.4},
      {1100, 0.5},
      {1870, 0.6},
      {3160, 0.7},
      {10e3, 0.8},
      {400e3, 0.9},
      {3.16e6, 0.95},
      {100e6, 0.98},
      {1e9, 1}}},
};

const struct sim_sizes *sim_sizes_at(uint32_t index)
{
    return index < sizeof all / sizeof all[0] ? &all[index] : NULL;
}

const struct sim_sizes *sim_sizes_find(const char *name)
{
    for (uint32_t i = 0; sim_sizes_at(i) != NULL; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

const char *sim_sizes_name(const struct sim_sizes *sizes)
{
    return sizes->name;
}

double sim_sizes_mean(const struct sim_sizes *sizes)
{
    double sum = 0;

    for (uint32_t i = 1; i < sizes->count; i++) {
        const struct point *a = &sizes->points[i - 1];
        const struct point *b = &sizes->points[i];
        sum += (b->share - a->share) * (a->size + b->size) / 2;
    }
    return sum * sizes->unit;
}

uint64_t sim_sizes_draw(const struct sim_sizes *sizes, struct trib_prng *prng)
{
    double share = trib_prng_share(prng);
    uint32_t i = 1;

    while (i + 1 < sizes->count && sizes->points[i].share <= share) {
        i++;
    }
    const struct point *a = &sizes->points[i - 1];
    const struct point *b = &sizes->points[i];
    double size = a->size + (b->size - a->size) * (share - a->share) / (b->share - a->share);
    uint64_t units = (uint64_t)(size + 0.5);
    return (units == 0 ? 1 : units) * (uint64_t)sizes->unit;
}

/* -ln of a number in (0, 1], by ln m = 2 (s + s^3/3 + s^5/5 ...), s = (m - 1) / (m + 1), for m from 1/2 to 1. */
static double minus_log(double x)
{
    double result = 0;

    TRIB_ASSERT(x > 0 && x <= 1);
    while (x < 0.5) {
        x *= 2;
        result += LN2;
    }
    double s = (x - 1) / (x + 1);
    double power = s;
    double sum = 0;
    for (int i = 1; i <= 2 * TERMS; i += 2) {
        sum += power / i;
        power *= s * s;
    }
    return result - 2 * sum;
}

double sim_draw_exponential(struct trib_prng *prng)
{
    return minus_log(1 - trib_prng_share(prng));
}
