/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: runs worlds. First the seeds of old bugs (seeds.txt), then N seeds from S on; some of them twice, because the
 * same seed must give the same packets. Prints how often every path of recovery was taken, and fails when one was not.
 * A failure names the check that caught it in one word (WORLD_CHECK_MAP in world.h), so that other programs can ask for
 * it. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/assert.h"
#include "core/lane.h"
#include "published/published.h"
#include "schemes/schemes.h"
#include "world.h"

#define TWICE 50           /* every so many seeds one is run twice */
#define FULL_COVERAGE 2000 /* from so many seeds on no path may be unused */
#define PEERS_ONE_IN 8
#define PANAMA_ONE_IN 6
#define ATP_ONE_IN 6
#define GOAT_ONE_IN 4 /* of those */
#define AIMD_ONE_IN 4 /* of the others of those */
#define PS_ONE_IN 24
#define RINA_ONE_IN 12
#define SEED_SECONDS 120 /* a seed that takes longer is stuck inside a node */

static const char usage[] =
    "usage: world [--seeds N] [--first S] [--jobs N] [--scheme NAME] [--depth LEVELS]\n"
    "       world --seed S [--trace] [--scheme NAME] [--depth LEVELS]\n"
    "  --seeds N       runs N seeds, after those of old bugs [1000]\n"
    "  --first S       from seed S on [1]\n"
    "  --jobs N        in N processes [1]\n"
    "  --seed S        runs one seed; --trace prints its packets\n"
    "  --scheme NAME   the scheme under test [the first of the table; ring or hybrid in one seed of\n"
    "                  eight, panama in one of seven, atp, atp-aimd or goat in one of eight, ps in one of thirty,\n"
    "                  rina in one of sixteen]; sums of panama lack ranks as the seed says, of panama:7/8 as\n"
    "                  its name does\n"
    "  --depth LEVELS  levels of switches at most: 1 to 3; 0: one node per shard, without inner nodes [3]\n";

struct options {
    const struct trib_scheme *scheme;
    const char *scheme_name;
    uint64_t first;
    uint64_t seeds;
    uint64_t depth;
    uint64_t jobs;
    bool one;
    bool trace;
};

/* ---- one seed ---- */

static struct world *current;
static const char *scheme_asked; /* NULL: none by name */

static void print_failure(uint64_t seed, enum world_check check, const char *text)
{
    fprintf(stderr, "seed %" PRIu64 " caught by %s: %s\nreplay: world --seed %" PRIu64 "%s%s\n", seed,
            world_check_name(check), text, seed, scheme_asked != NULL ? " --scheme " : "",
            scheme_asked != NULL ? scheme_asked : "");
}

/* A failed assertion of a node is a check like any other. */
_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    if (current == NULL) {
        fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expr);
        abort();
    }
    const char *name = strrchr(file, '/');
    world_fail(current, WORLD_CHECK_ASSERT, "%s:%d: %s", name == NULL ? file : name + 1, line, expr);
    longjmp(current->caught, 1);
}

/* A crash is a failure too, and has its seed; so is a node that never comes back. */
static void crashed(int number)
{
    print_failure(current == NULL ? 0 : current->seed, number == SIGALRM ? WORLD_CHECK_NOISE : WORLD_CHECK_CRASH,
                  number == SIGALRM ? "a node does not come back" : "a signal");
    _exit(1);
}

static const struct trib_scheme *scheme_with_combiners(uint64_t dice)
{
    return trib_scheme_find(dice % GOAT_ONE_IN == 0                 ? "goat"
                            : dice / GOAT_ONE_IN % AIMD_ONE_IN == 0 ? "atp-aimd"
                                                                    : "atp");
}

static const struct trib_scheme *scheme_of(const struct options *options, uint64_t seed)
{
    uint64_t dice = trib_mix64(seed ^ UINT64_C(0x72696e67));

    if (options->scheme != NULL) {
        return options->scheme;
    }
    if (dice % PEERS_ONE_IN != 0) {
        uint64_t servers = dice / PEERS_ONE_IN / PANAMA_ONE_IN;
        return dice / PEERS_ONE_IN % PANAMA_ONE_IN == 0 ? trib_scheme_find("panama")
               : servers % ATP_ONE_IN == 0              ? scheme_with_combiners(servers / ATP_ONE_IN)
               : servers % PS_ONE_IN == 2               ? trib_scheme_find("ps")
               : servers % RINA_ONE_IN == 5             ? trib_scheme_find("rina")
                                                        : trib_scheme_at(0);
    }
    return trib_scheme_find(dice / PEERS_ONE_IN % 2 == 0 ? "ring" : "hybrid");
}

static bool run_seed(const struct options *options, uint64_t seed, struct world_report *report)
{
    struct world *world = world_zeroed(1, sizeof *world);
    struct world_report own = {.trace = seed};

    current = world;
    world->seed = seed;
    world->scheme = scheme_of(options, seed);
    world->scheme_name = options->scheme_name;
    world->depth_max = (uint32_t)options->depth;
    world->trace = options->trace && options->one;
    world->report = &own;
    (void)alarm(SEED_SECONDS);
    bool passed = world_run(world);
    (void)alarm(0);
    current = NULL;
    if (!passed) {
        print_failure(seed, world->failed, world->text);
    }
    free(world);
    report_add(report, &own);
    return passed;
}

static bool run_twice(const struct options *options, uint64_t seed, struct world_report *report)
{
    struct world_report again = {0};

    if (!run_seed(options, seed, report)) {
        return false;
    }
    if (run_seed(options, seed, &again) && again.trace == report->trace) {
        return true;
    }
    print_failure(seed, WORLD_CHECK_REPEAT, "two runs differ");
    return false;
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

static int run_old(const struct options *options)
{
    char line[256];
    uint64_t count = 0;
    struct world_report report = {0};
    FILE *file = fopen(TRIB_TEST_DIR "/world/seeds.txt", "r");

    if (file == NULL) {
        fprintf(stderr, "cannot open %s: %s\n", TRIB_TEST_DIR "/world/seeds.txt", strerror(errno));
        return 2;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        struct options own = *options;
        char name[32] = "";
        char *end;
        uint64_t seed = strtoull(line, &end, 10);
        if (*end == ':' && options->scheme == NULL && sscanf(end, ":%31s", name) == 1) {
            own.scheme = trib_scheme_find(name);
        }
        if (end != line) {
            count++;
            scheme_asked = name[0] != '\0' ? name : options->scheme_name;
            if (!run_seed(&own, seed, &report)) {
                (void)fclose(file);
                return 1;
            }
        }
    }
    (void)fclose(file);
    scheme_asked = options->scheme_name;
    printf("%" PRIu64 " seeds of old bugs passed\n", count);
    return 0;
}

/* Every `jobs`-th seed, from the `job`-th on. */
static bool run_share(const struct options *options, uint64_t job, struct world_report *report)
{
    double start = seconds();
    double last = start;

    for (uint64_t i = job; i < options->seeds; i += options->jobs) {
        uint64_t seed = options->first + i;
        if (!(seed % TWICE == 0 ? run_twice(options, seed, report) : run_seed(options, seed, report))) {
            return false;
        }
        if (job == 0) {
            print_progress(i + 1, options->seeds, start, &last);
        }
    }
    if (job == 0 && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\n");
    }
    return true;
}

static int start_job(const struct options *options, uint64_t job)
{
    int ends[2];

    (void)fflush(NULL);
    if (pipe(ends) != 0) {
        exit(2);
    }
    pid_t child = fork();
    if (child < 0) {
        exit(2);
    }
    if (child == 0) {
        struct world_report own = {0};
        bool passed = run_share(options, job, &own) && write(ends[1], &own, sizeof own) == (ssize_t)sizeof own;
        _exit(passed ? 0 : 1);
    }
    (void)close(ends[1]);
    return ends[0];
}

/* A report fits a pipe's buffer, so that nobody waits. */
static bool run_jobs(const struct options *options, struct world_report *report)
{
    int from[64];
    bool passed = true;

    for (uint64_t job = 0; job < options->jobs; job++) {
        from[job] = start_job(options, job);
    }
    for (uint64_t job = 0; job < options->jobs; job++) {
        struct world_report own;
        passed = read(from[job], &own, sizeof own) == (ssize_t)sizeof own && passed;
        if (passed) {
            report_add(report, &own);
        }
        (void)close(from[job]);
    }
    while (wait(NULL) > 0) {
    }
    return passed;
}

static int run_many(const struct options *options)
{
    struct world_report report = {0};
    double start = seconds();
    int status = run_old(options);

    if (status != 0) {
        return status;
    }
    if (!(options->jobs == 1 ? run_share(options, 0, &report) : run_jobs(options, &report))) {
        printf("1 failed\n");
        return 1;
    }
    unsigned missing = report_print(&report, (uint32_t)options->depth, options->scheme);
    if (missing != 0 && options->seeds >= FULL_COVERAGE) {
        printf("%u paths were never taken\n", missing);
        return 1;
    }
    printf("%" PRIu64 " worlds, %" PRIu64 " communicators, %" PRIu64 " operations, %" PRIu64 " fragments, %" PRIu64
           " packets, %" PRIu64 " events, %" PRIu64 " restarts; wrong 0, hung 0, leaked 0; %.1f s\n",
           report.worlds, report.communicators, report.operations, report.fragments, report.packets, report.events,
           report.restarts + report.inner_restarts, seconds() - start);
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
        } else if (strcmp(argv[at], "--scheme") == 0 && at + 1 < argc) {
            options->scheme_name = argv[++at];
            options->scheme = trib_published_find(options->scheme_name);
            if (options->scheme == NULL) {
                return false;
            }
        } else if (strcmp(argv[at], "--seeds") == 0 && take_number(argc, argv, &at, &options->seeds)) {
            options->one = false;
        } else if (strcmp(argv[at], "--seed") == 0 && take_number(argc, argv, &at, &options->first)) {
            options->one = true;
        } else if (!(strcmp(argv[at], "--depth") == 0 && take_number(argc, argv, &at, &options->depth)) &&
                   !(strcmp(argv[at], "--jobs") == 0 && take_number(argc, argv, &at, &options->jobs)) &&
                   (strcmp(argv[at], "--first") != 0 || !take_number(argc, argv, &at, &options->first))) {
            return false;
        }
    }
    return options->depth <= WORLD_DEPTH_MAX && options->jobs >= 1 && options->jobs <= 64;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .seeds = 1000, .depth = WORLD_DEPTH_MAX, .jobs = 1};

    if (!parse(argc, argv, &options)) {
        fputs(usage, stderr);
        return 2;
    }
    scheme_asked = options.scheme_name;
    (void)signal(SIGSEGV, crashed);
    (void)signal(SIGFPE, crashed);
    (void)signal(SIGALRM, crashed);
    if (!options.one) {
        return run_many(&options);
    }
    struct world_report report = {0};
    bool passed = run_seed(&options, options.first, &report);
    (void)report_print(&report, (uint32_t)options.depth, options.scheme);
    printf("%d passed, %d failed\n", passed, !passed);
    return passed ? 0 : 1;
}
