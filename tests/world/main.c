/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: runs worlds:  world [--seeds N] [--first S] [--seed S] [--trace]
 * First the seeds of old bugs (seeds.txt), then N seeds from S on; some of them twice, because the same seed must give the same packets.
 * Prints how often every path of recovery was taken, and fails when one was not. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/assert.h"
#include "world.h"

#define TWICE 50          /* every so many seeds one is run twice */
#define FULL_COVERAGE 500 /* from so many seeds on no path may be unused */

static uint64_t current_seed;

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "seed %" PRIu64 ": %s:%d: assertion failed: %s\nreplay: world --seed %" PRIu64 "\n", current_seed,
            file, line, expr, current_seed);
    abort();
}

/* A crash is a failure too, and has its seed. */
static void crashed(int number)
{
    fprintf(stderr, "seed %" PRIu64 ": signal %d\nreplay: world --seed %" PRIu64 "\n", current_seed, number,
            current_seed);
    _exit(1);
}

struct options {
    uint64_t first;
    uint64_t seeds;
    bool one;
    bool trace;
};

/* ---- one seed ---- */

static bool run_seed(uint64_t seed, bool trace, struct world_report *report)
{
    struct world *world = calloc(1, sizeof *world);
    struct world_report own = {.trace = seed};
    bool passed = false;

    if (world == NULL) {
        exit(2);
    }
    current_seed = seed;
    world->seed = seed;
    world->trace = trace;
    world->report = &own;
    passed = world_run(world);
    if (!passed || trace) {
        world_describe(world, stderr);
    }
    if (!passed) {
        fprintf(stderr, "seed %" PRIu64 " failed %s\nreplay: world --seed %" PRIu64 "\n", seed, world->text, seed);
    }
    free(world);
    uint64_t slowest = report->slowest_ns > own.slowest_ns ? report->slowest_ns : own.slowest_ns;
    uint64_t slowest_seed = report->slowest_ns > own.slowest_ns ? report->slowest_seed : own.slowest_seed;
    uint64_t *sums = (uint64_t *)report;
    const uint64_t *counts = (const uint64_t *)&own;
    for (size_t i = 0; i < sizeof own / sizeof *sums; i++) {
        sums[i] += counts[i];
    }
    report->slowest_ns = slowest;
    report->slowest_seed = slowest_seed;
    report->trace = own.trace;
    return passed;
}

static bool run_twice(uint64_t seed, struct world_report *report)
{
    struct world_report again = {0};

    if (!run_seed(seed, false, report)) {
        return false;
    }
    if (run_seed(seed, false, &again) && again.trace == report->trace) {
        return true;
    }
    fprintf(stderr, "seed %" PRIu64 " failed: two runs differ\nreplay: world --seed %" PRIu64 "\n", seed, seed);
    return false;
}

/* ---- coverage ---- */

/* What cannot happen, by construction:
 * - a worker takes no registration queue, holds no window of others, answers no probes: the drops of a switch are not its own;
 * - a switch gets no bytes that the decoder refused, checks no lane (it must not know the salt), and is asked nothing; its queue of
 *   answers holds more than comes between two drains (tests/unit/test_switchml_switch.c fills it). */
static const enum trib_drop worker_drops[] = {
    TRIB_DROP_SOURCE,    TRIB_DROP_KIND,  TRIB_DROP_GENERATION, TRIB_DROP_BOOT, TRIB_DROP_MARK,
    TRIB_DROP_DUPLICATE, TRIB_DROP_SHAPE, TRIB_DROP_DIGEST,     TRIB_DROP_LANE, TRIB_DROP_UNASKED};
static const enum trib_drop switch_drops[] = {TRIB_DROP_SOURCE, TRIB_DROP_KIND,         TRIB_DROP_GENERATION,
                                              TRIB_DROP_BOOT,   TRIB_DROP_UNREGISTERED, TRIB_DROP_MARK,
                                              TRIB_DROP_STALE,  TRIB_DROP_WINDOW,       TRIB_DROP_DUPLICATE,
                                              TRIB_DROP_REPEAT, TRIB_DROP_SHAPE,        TRIB_DROP_DIGEST};
static const enum trib_drop decode_drops[] = {TRIB_DROP_SHORT, TRIB_DROP_VERSION, TRIB_DROP_LENGTH, TRIB_DROP_CRC};

static const char *const never_worker[] = {"results_repeated", "asks_gap",  "asks_finished", "mismatches",
                                           "partials",         "probes_up", "offers_up"};
static const char *const never_switch[] = {"contributions_resent",
                                           "probes_fast",
                                           "probes_blocked",
                                           "raw_blocks",
                                           "stalls",
                                           "partials",
                                           "probes_up",
                                           "offers_up"};

static bool is_in(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static unsigned print_count(const char *where, const char *name, uint64_t count, bool needed)
{
    bool missing = needed && count == 0;

    if (needed || count != 0) {
        printf("  %-7s %-21s %12" PRIu64 "%s\n", where, name, count, missing ? "  NEVER" : "");
    }
    return missing;
}

static unsigned print_counters(const char *where, const struct trib_counters *c, const char *const *never, size_t count)
{
    unsigned missing = 0;

#define X(name, help) missing += print_count(where, #name, c->name, !is_in(#name, never, count));
    TRIB_COUNTER_MAP(X)
#undef X
    return missing;
}

static unsigned print_drops(const char *where, const uint64_t *dropped, const enum trib_drop *needed, size_t count)
{
    unsigned missing = 0;

    for (uint32_t drop = 1; drop < TRIB_DROP_COUNT; drop++) {
        char name[32];
        bool is_needed = false;
        for (size_t i = 0; i < count; i++) {
            is_needed = is_needed || needed[i] == (enum trib_drop)drop;
        }
        (void)snprintf(name, sizeof name, "drop %s", trib_drop_name((enum trib_drop)drop));
        missing += print_count(where, name, dropped[drop], is_needed);
    }
    return missing;
}

static unsigned print_report(const struct world_report *r)
{
    unsigned missing = 0;

    missing += print_counters("worker", &r->worker, never_worker, sizeof never_worker / sizeof never_worker[0]);
    missing += print_drops("worker", r->worker.dropped, worker_drops, sizeof worker_drops / sizeof worker_drops[0]);
    missing += print_counters("switch", &r->switches, never_switch, sizeof never_switch / sizeof never_switch[0]);
    missing += print_drops("switch", r->switches.dropped, switch_drops, sizeof switch_drops / sizeof switch_drops[0]);
    missing += print_drops("decode", r->decode, decode_drops, sizeof decode_drops / sizeof decode_drops[0]);
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"lost", r->lost},
        {"duplicated", r->duplicated},
        {"reordered", r->reordered},
        {"corrupted", r->corrupted},
        {"truncated", r->truncated},
        {"delay spikes", r->spiked},
        {"pauses", r->paused},
        {"replayed", r->replayed},
        {"inbox overflowed", r->overflowed},
        {"forged", r->forged},
        {"lanes bent", r->bent},
        {"restarts", r->restarts},
        {"boot events", r->boot_events},
        {"stall events", r->stall_events},
        {"mismatch events", r->mismatch_events},
        {"failed events", r->failed_events},
        {"marks by session", r->session_marks},
        {"offers tried", r->offers_tested},
        {"spot checks", r->spot_checks},
        {"clean worlds", r->clean},
        {"lethal worlds", r->lethal},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        missing += print_count("world", rows[i].name, rows[i].count, true);
    }
    printf("%" PRIu64 " worlds, %" PRIu64 " operations, %" PRIu64 " fragments, %" PRIu64 " packets, %" PRIu64
           " events; latest end %" PRIu64 " ms after the faults and the transfer (seed %" PRIu64
           "), the bound is %d x the longest RTO\n",
           r->worlds, r->operations, r->fragments, r->packets, r->events, r->slowest_ns / WORLD_MS, r->slowest_seed,
           WORLD_BOUND_RTOS);
    return missing;
}

/* ---- many seeds ---- */

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_progress(uint64_t done, uint64_t all, double start, double *last)
{
    double now = seconds();
    bool terminal = isatty(STDERR_FILENO) != 0;

    if (now - *last < (terminal ? 0.5 : 10.0)) {
        return;
    }
    *last = now;
    double pace = (double)done / (now - start);
    fprintf(stderr, "%s%" PRIu64 " of %" PRIu64 " seeds, %.0f/s, %.0f s to go%s", terminal ? "\r" : "", done, all, pace,
            (double)(all - done) / pace, terminal ? "   " : "\n");
}

static int run_old(uint64_t *count)
{
    char line[256];
    struct world_report report = {0};
    FILE *file = fopen(TRIB_TEST_DIR "/world/seeds.txt", "r");

    if (file == NULL) {
        fprintf(stderr, "cannot open %s: %s\n", TRIB_TEST_DIR "/world/seeds.txt", strerror(errno));
        return 2;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *end;
        uint64_t seed = strtoull(line, &end, 10);
        if (end != line) {
            (*count)++;
            if (!run_seed(seed, false, &report)) {
                (void)fclose(file);
                return 1;
            }
        }
    }
    (void)fclose(file);
    return 0;
}

static int run_many(const struct options *options)
{
    struct world_report report = {0};
    uint64_t old = 0;
    double start = seconds();
    double last = start;
    int status = run_old(&old);

    if (status != 0) {
        return status;
    }
    printf("%" PRIu64 " seeds of old bugs passed\n", old);
    for (uint64_t i = 0; i < options->seeds; i++) {
        uint64_t seed = options->first + i;
        if (!(seed % TWICE == 0 ? run_twice(seed, &report) : run_seed(seed, false, &report))) {
            printf("%" PRIu64 " passed, 1 failed\n", i);
            return 1;
        }
        print_progress(i + 1, options->seeds, start, &last);
    }
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\n");
    }
    unsigned missing = print_report(&report);
    printf("%.1f s\n", seconds() - start);
    if (missing != 0 && options->seeds >= FULL_COVERAGE) {
        printf("%u paths were never taken\n", missing);
        return 1;
    }
    printf("%" PRIu64 " passed, 0 failed\n", options->seeds);
    return 0;
}

/* ---- options ---- */

static bool take_number(int argc, char **argv, int *at, uint64_t *number)
{
    char *end;

    if (*at + 1 >= argc || argv[*at + 1][0] == '-') {
        return false;
    }
    errno = 0;
    *number = strtoull(argv[++*at], &end, 10);
    return errno == 0 && end != argv[*at] && *end == '\0';
}

static bool parse(int argc, char **argv, struct options *options)
{
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--trace") == 0) {
            options->trace = true;
        } else if (strcmp(argv[at], "--seeds") == 0 && take_number(argc, argv, &at, &options->seeds)) {
            options->one = false;
        } else if (strcmp(argv[at], "--seed") == 0 && take_number(argc, argv, &at, &options->first)) {
            options->one = true;
        } else if (strcmp(argv[at], "--first") != 0 || !take_number(argc, argv, &at, &options->first)) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .seeds = 1000};

    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: world [--seeds N] [--first S] | --seed S [--trace]\n");
        return 2;
    }
    (void)signal(SIGSEGV, crashed);
    (void)signal(SIGFPE, crashed);
    if (!options.one) {
        return run_many(&options);
    }
    struct world_report report = {0};
    bool passed = run_seed(options.first, options.trace, &report);
    (void)print_report(&report);
    printf("%d passed, %d failed\n", passed, !passed);
    return passed ? 0 : 1;
}
