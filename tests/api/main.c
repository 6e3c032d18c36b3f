/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: options, kept cases, seeds. Exit status 0: no finding; 1: a finding; 2: wrong options. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "unit/patience.h"

#define LIMIT_S 40 /* of one case: longer than the longest bound inside of it */
#define FINDINGS_MAX 20

struct options {
    uint64_t first, cases, seconds, shrink_s;
    const char *replay, *kept;
    bool goes_on, says_all;
};

struct total {
    uint64_t run, skipped, findings;
};

static int usage(void)
{
    (void)fprintf(
        stderr, "usage: api [--seed N] [--cases N] [--seconds N] [--shrink SECONDS] [--kept FILE] [--all] [--verbose]\n"
                "       api --replay 'CASE' [--cases N]\n"
                "Runs random cases of the public C API, each from one seed: N of them, or until the time is up.\n"
                "  --kept FILE     cases that are run first, one a line\n"
                "  --shrink N      seconds for making a failing case small [20]\n"
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

static void run_one(const struct options *o, const char *origin, struct api_case *c, struct total *total)
{
    struct api_result result = {.verdict = API_GOOD};
    if (o->says_all) {
        char line[API_LINE_MAX];
        api_case_print(c, line);
        printf("%s: %s\n", origin, line);
        (void)fflush(stdout);
    }
    api_pool_run(c, LIMIT_S * patience(), &result);
    total->run++;
    total->skipped += result.verdict == API_SKIPPED;
    if (result.verdict == API_BAD) {
        total->findings++;
        report(o, origin, c, &result);
    }
}

static bool goes_on(const struct options *o, const struct total *total)
{
    return total->findings == 0 || (o->goes_on && total->findings < FINDINGS_MAX);
}

static bool run_kept(const struct options *o, struct total *total)
{
    char line[API_LINE_MAX];
    FILE *file = fopen(o->kept, "r");
    if (file == NULL) {
        (void)fprintf(stderr, "api: %s cannot be read\n", o->kept);
        return false;
    }
    for (uint32_t number = 1; goes_on(o, total) && fgets(line, sizeof line, file) != NULL; number++) {
        struct api_case c;
        char origin[64];
        (void)snprintf(origin, sizeof origin, "kept case in line %u", number);
        if (line[0] == '#' || line[0] == '\n') {
            continue;
        }
        if (!api_case_parse(line, &c)) {
            (void)fclose(file);
            return false;
        }
        run_one(o, origin, &c, total);
    }
    (void)fclose(file);
    return true;
}

static void run_seeds(const struct options *o, struct total *total)
{
    time_t start = time(NULL);
    for (uint64_t i = 0; i < o->cases && goes_on(o, total); i++) {
        struct api_case c;
        char origin[64];
        if (o->seconds > 0 && time(NULL) - start >= (time_t)o->seconds) {
            break;
        }
        api_generate(o->first + i, &c);
        (void)snprintf(origin, sizeof origin, "seed %" PRIu64, o->first + i);
        run_one(o, origin, &c, total);
    }
    double took = difftime(time(NULL), start);
    printf("%" PRIu64 " cases, %" PRIu64 " findings, %" PRIu64 " not possible here, %.0f s, %.0f cases a minute\n",
           total->run, total->findings, total->skipped, took, took > 0 ? 60 * (double)total->run / took : 0);
}

int main(int argc, char **argv)
{
    struct options o = {.first = 1, .cases = UINT64_MAX, .shrink_s = 20};
    struct total total = {0, 0, 0};
    struct api_case c;
    if (!read_options(argc, argv, &o) || (o.cases == UINT64_MAX && o.seconds == 0 && o.replay == NULL)) {
        return usage();
    }
    if (o.replay != NULL && !api_case_parse(o.replay, &c)) {
        return 2;
    }
    api_pool_open(patience());
    bool is_read = o.kept == NULL || run_kept(&o, &total);
    if (o.replay != NULL) {
        o.shrink_s = 0;
        for (uint64_t i = 0; i < (o.cases == UINT64_MAX ? 1 : o.cases) && goes_on(&o, &total); i++) {
            run_one(&o, "replay", &c, &total);
        }
        printf("%s\n", total.findings > 0 ? "fails" : total.skipped > 0 ? "not possible here" : "passes");
    } else if (is_read) {
        run_seeds(&o, &total);
    }
    if (api_pool_leaks()[0] != '\0') {
        printf("FAILED: %s\n", api_pool_leaks());
        total.findings++;
    }
    api_pool_close();
    return total.findings > 0 ? 1 : is_read ? 0 : 2;
}
