/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: options, kept cases, seeds. Lanes, which are processes, take case after case: most cases wait most of the time.
 * Exit status 0: no finding; 1: a finding; 2: wrong options. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "io/clock.h"
#include "unit/patience.h"

#define LIMIT_S 40 /* of one case: longer than the longest bound inside of it */
#define FINDINGS_MAX 20
#define KEPT_MAX 256
#define LANES_MAX 64

struct options {
    uint64_t first, cases, seconds, shrink_s, lanes;
    const char *replay, *kept;
    bool goes_on, says_all;
};

/* A case that is run before all seeds. */
struct kept {
    struct api_case c;
    uint32_t line;
};

/* Of all lanes, in memory that they share. */
struct total {
    _Atomic uint64_t next; /* case that no lane has taken: kept ones, then seeds */
    _Atomic uint64_t run, skipped, findings;
};

static struct total *total;
static struct kept kept[KEPT_MAX];
static uint32_t kept_count;

static int usage(void)
{
    (void)fprintf(
        stderr, "usage: api [--seed N] [--cases N] [--seconds N] [--shrink SECONDS] [--kept FILE] [--lanes N] [--all]\n"
                "           [--verbose]\n"
                "       api --replay 'CASE' [--cases N]\n"
                "Runs random cases of the public C API, each from one seed: N of them, or until the time is up.\n"
                "  --kept FILE     cases that are run first, one a line\n"
                "  --shrink N      seconds for making a failing case small [20]\n"
                "  --lanes N       so many cases at once [1]\n"
                "  --all           go on after a finding\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--all") == 0) {
            o->goes_on = true;
            continue;
        }
        if (strcmp(name, "--verbose") == 0) {
            o->says_all = true;
            continue;
        }
        if (i + 1 == argc) {
            return false;
        }
        const char *value = argv[++i];
        uint64_t number = strtoull(value, NULL, 10);
        if (strcmp(name, "--seed") == 0) {
            o->first = number;
        } else if (strcmp(name, "--cases") == 0) {
            o->cases = number;
        } else if (strcmp(name, "--seconds") == 0) {
            o->seconds = number;
        } else if (strcmp(name, "--shrink") == 0) {
            o->shrink_s = number;
        } else if (strcmp(name, "--lanes") == 0 && number > 0 && number <= LANES_MAX) {
            o->lanes = number;
        } else if (strcmp(name, "--kept") == 0) {
            o->kept = value;
        } else if (strcmp(name, "--replay") == 0) {
            o->replay = value;
        } else {
            return false;
        }
    }
    return true;
}

static void report(const struct options *o, const char *origin, struct api_case *c, struct api_result *result)
{
    char line[API_LINE_MAX];
    printf("FAILED %s: %s\n", origin, result->text);
    (void)fflush(stdout);
    if (o->shrink_s > 0) {
        api_shrink(c, result, (uint32_t)o->shrink_s, patience());
        printf("small:\n");
        api_case_show(c);
        printf("  %s\n", result->text);
    }
    api_case_print(c, line);
    printf("replay: api --replay '%s'\n", line);
    (void)fflush(stdout);
}

static void run_one(const struct options *o, const char *origin, struct api_case *c)
{
    struct api_result result = {.verdict = API_GOOD};
    if (o->says_all) {
        char line[API_LINE_MAX];
        api_case_print(c, line);
        printf("%s: %s\n", origin, line);
        (void)fflush(stdout);
    }
    api_pool_run(c, LIMIT_S * patience(), &result);
    atomic_fetch_add(&total->run, 1);
    atomic_fetch_add(&total->skipped, result.verdict == API_SKIPPED);
    if (result.verdict == API_BAD) {
        atomic_fetch_add(&total->findings, 1);
        report(o, origin, c, &result);
    }
}

static bool read_kept(const struct options *o)
{
    char line[API_LINE_MAX];
    FILE *file = fopen(o->kept, "r");
    bool is_good = file != NULL;
    for (uint32_t number = 1; is_good && fgets(line, sizeof line, file) != NULL; number++) {
        if (line[0] == '#' || line[0] == '\n') {
            continue;
        }
        is_good = kept_count < KEPT_MAX && api_case_parse(line, &kept[kept_count].c);
        kept[kept_count++].line = number;
    }
    if (file == NULL) {
        (void)fprintf(stderr, "api: %s cannot be read\n", o->kept);
    } else {
        (void)fclose(file);
    }
    return is_good;
}

/* The case of that number, and where it is from. */
static void find_case(const struct options *o, uint64_t number, struct api_case *c, char *origin, size_t size)
{
    if (o->replay != NULL) {
        *c = kept[0].c;
        (void)snprintf(origin, size, "replay %" PRIu64, number + 1);
    } else if (number < kept_count) {
        *c = kept[number].c;
        (void)snprintf(origin, size, "kept case in line %u", kept[number].line);
    } else {
        api_generate(o->first + number - kept_count, c);
        (void)snprintf(origin, size, "seed %" PRIu64, o->first + number - kept_count);
    }
}

static bool goes_on(const struct options *o, uint64_t until_ns)
{
    uint64_t findings = atomic_load(&total->findings);
    return (findings == 0 || (o->goes_on && findings < FINDINGS_MAX)) && trib_clock_ns() < until_ns;
}

static int run_lane(const struct options *o, uint64_t until_ns)
{
    int status = 0;
    api_pool_open(patience());
    while (goes_on(o, until_ns)) {
        struct api_case c;
        char origin[64];
        uint64_t number = atomic_fetch_add(&total->next, 1);
        if (number >= kept_count && number - kept_count >= o->cases) {
            break;
        }
        find_case(o, number, &c, origin, sizeof origin);
        run_one(o, origin, &c);
    }
    if (api_pool_leaks()[0] != '\0') {
        printf("FAILED: %s\n", api_pool_leaks());
        status = 1;
    }
    api_pool_close();
    return status;
}

/* False: a lane has said so, or is gone. */
static bool run_lanes(const struct options *o)
{
    bool is_good = true;
    uint64_t now_ns = trib_clock_ns();
    uint64_t until_ns = o->seconds > 0 ? now_ns + o->seconds * TRIB_SECOND_NS : UINT64_MAX;
    for (uint64_t i = 0; i < o->lanes; i++) {
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(run_lane(o, until_ns));
        }
    }
    for (uint64_t i = 0; i < o->lanes; i++) {
        int status = 1;
        (void)wait(&status);
        is_good = is_good && status == 0;
    }
    double took_s = (double)(trib_clock_ns() - now_ns) / 1e9;
    printf("%" PRIu64 " cases, %" PRIu64 " findings, %" PRIu64 " not possible here, %.1f s, %.0f cases a minute\n",
           atomic_load(&total->run), atomic_load(&total->findings), atomic_load(&total->skipped), took_s,
           60 * (double)atomic_load(&total->run) / took_s);
    return is_good && atomic_load(&total->findings) == 0;
}

static bool read_cases(struct options *o)
{
    if (o->replay == NULL) {
        return o->kept == NULL || read_kept(o);
    }
    o->shrink_s = 0;
    o->cases = o->cases == UINT64_MAX && o->seconds == 0 ? 1 : o->cases;
    return api_case_parse(o->replay, &kept[0].c);
}

int main(int argc, char **argv)
{
    struct options o = {.first = 1, .cases = UINT64_MAX, .shrink_s = 20, .lanes = 1};
    if (!read_options(argc, argv, &o) || (o.cases == UINT64_MAX && o.seconds == 0 && o.replay == NULL)) {
        return usage();
    }
    if (!read_cases(&o)) {
        return 2;
    }
    total = mmap(NULL, sizeof *total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (total == MAP_FAILED) {
        return 2;
    }
    (void)fflush(stdout);
    return run_lanes(&o) ? 0 : 1;
}
