/* SPDX-License-Identifier: Apache-2.0 */
/* command_demo.c: `tributary demo`: shows on real nodes, without a network, why a sum is never wrong here; --literal
 * shows the published rule getting one wrong, and the lane that catches it; then ATP's rules. Exit status 0 when what
 * is claimed was seen. Read next: demo_atp.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/demo_atp.h"
#include "cli/demo_print.h"
#include "cli/options.h"
#include "demo/demo.h"
#include "published/published.h"
#include "report/json.h"

struct demo_options {
    bool literal;
    bool json;
    uint32_t runs;
    uint64_t seed;
    struct demo_faults faults;
};

#define AT(field) offsetof(struct demo_options, field)

static const struct option_row rows[] = {
    {"literal", 0, NULL,
     "show the steps under SwitchML's published rule (scheme switchml-literal), and under ATP's rules (atp-literal)",
     OPTION_ON, AT(literal)},
    {"runs", 'n', "N", "random runs of either rule; a fifth of them again with a restart of the switch [500]",
     OPTION_COUNT(0, 1000000000), AT(runs)},
    {"loss", 0, "P%", "packets lost in the random runs [0.1%]", OPTION_PERCENT, AT(faults.loss)},
    {"late", 0, "P%", "packets that come late [0.01%]", OPTION_PERCENT, AT(faults.late)},
    {"late-by", 0, "TIME", "late by up to [3ms]", OPTION_DURATION(0, TRIB_TIMEOUT_MAX_NS), AT(faults.late_ns)},
    {"seed", 0, "N", "seed of the random runs [1]", OPTION_NUMBER(0, UINT64_MAX), AT(seed)},
    {"json", 0, NULL, "as one JSON object", OPTION_ON, AT(json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_demo = {
    .usage = "tributary demo [options]",
    .summary =
        "Shows three workers and a switch step by step while packets come late and are lost, then many random runs.\n"
        "Real nodes in one process, no network. Exit status 1 if a claim was not seen to hold.",
    .rows = rows,
    .examples =
        "  tributary demo                               # Tributary's rule\n"
        "  tributary demo --literal                     # the same packets under the published rule: a wrong sum\n"
        "  tributary demo --runs 5000 --loss 1% --late 0.01%",
};

/* Results: index 0 the published rule, 1 ours. */
struct demo_seen {
    struct demo_story story;
    struct demo_runs plain[2], restart[2];
    struct demo_atp_shown atp; /* with --literal */
    bool is_told;
};

/* ---- claims ---- */

/* Ours: every run right. The published rule: no wrong sum gets past the lane. */
static bool runs_hold(const struct demo_runs *runs)
{
    if (runs->delivered != 0 || runs->caught != runs->wrong) {
        return false;
    }
    return runs->scheme->refusal != NULL || runs->right == runs->runs;
}

static bool story_holds(const struct demo_seen *seen)
{
    const struct demo_story *s = &seen->story;

    if (!seen->is_told) {
        return false;
    }
    return s->scheme->refusal != NULL ? s->got != s->expected && s->caught == 3 && s->taken == 0
                                      : s->got == s->expected && s->taken == 3;
}

static bool all_holds(const struct demo_seen *seen)
{
    return story_holds(seen) && runs_hold(&seen->plain[0]) && runs_hold(&seen->plain[1]) &&
           runs_hold(&seen->restart[0]) && runs_hold(&seen->restart[1]) && demo_atp_holds(&seen->atp);
}

/* ---- on a terminal ---- */

static void print_story(const struct demo_seen *seen)
{
    const struct demo_story *story = &seen->story;

    printf("%s, scheme %s.\nThree workers sum three fragments. Worker 0 gives 1, 2, 3, worker 1 gives 10, 20, 30, "
           "worker 2 gives 100,\n"
           "200, 300. So the sums are 111, 222, 333, and a digit that is off shows whose part is wrong.\n\n",
           story->scheme->refusal != NULL ? "SwitchML's published rule" : "Tributary's rule", story->scheme->name);
    demo_print_head();
    for (uint32_t i = 0; i < story->count; i++) {
        demo_print_step(&story->steps[i]);
    }
    if (story->scheme->refusal != NULL) {
        printf(
            "\nExpected %d, got %d. Nothing in the packet of fragment 0 said that it was old: a slot has two versions, "
            "and\n"
            "fragments 0 and 2 share one. Its bit stayed set, so fragment 2's own part was taken for a copy. The lane, "
            "eight\n"
            "bytes that every node adds up as it adds the values, proves whose parts of which fragment are in a sum.\n",
            story->expected, story->got);
    } else {
        printf("\nExpected %d, got %d. A slot belongs to one exact fragment until all workers have its sum, so what "
               "comes late\n"
               "finds its own slot or none; and payload is sent again only when the switch asks for it.\n"
               "`tributary demo --literal` shows the same packets under the published rule.\n",
               story->expected, story->got);
    }
}

static void print_runs_row(const struct demo_runs *runs)
{
    bool bad = runs->wrong + runs->hung + runs->failed + runs->delivered != 0;

    printf("  %-18s %7u %12u %11u %10u %8u %6u %8u%s\n", runs->scheme->name, runs->runs, runs->wrong, runs->caught,
           runs->delivered, runs->failed, runs->hung, runs->right,
           bad && runs->scheme->refusal == NULL ? "   <- must not be" : "");
}

static void print_runs(const struct demo_options *options, const struct demo_seen *seen)
{
    printf("\n%u random runs each: %d workers, %d fragments, %g %% of packets lost, %g %% late by up to %g ms (seed "
           "%" PRIu64 ")\n",
           options->runs, DEMO_RUN_WORKERS, DEMO_RUN_FRAGMENTS, 100 * options->faults.loss, 100 * options->faults.late,
           (double)options->faults.late_ns / 1e6, options->seed);
    printf("  %-18s %7s %12s %11s %10s %8s %6s %8s\n", "scheme", "runs", "wrong sums", "lane caught", "delivered",
           "errors", "hung", "right");
    print_runs_row(&seen->plain[0]);
    print_runs_row(&seen->plain[1]);
    printf("with one restart of the switch:\n");
    print_runs_row(&seen->restart[0]);
    print_runs_row(&seen->restart[1]);
    demo_atp_print(&seen->atp, options->seed);
}

/* ---- as JSON ---- */

static void print_json_runs(struct report_json *json, const struct demo_runs *runs, bool restart)
{
    report_json_open(json, NULL, '{');
    report_json_say(json, "scheme", runs->scheme->name);
    report_json_flag(json, "restart", restart);
    report_json_put(json, "runs", "%u", runs->runs);
    report_json_put(json, "wrong", "%u", runs->wrong);
    report_json_put(json, "caught", "%u", runs->caught);
    report_json_put(json, "delivered", "%u", runs->delivered);
    report_json_put(json, "errors", "%u", runs->failed);
    report_json_put(json, "hung", "%u", runs->hung);
    report_json_put(json, "right", "%u", runs->right);
    report_json_put(json, "packets", "%" PRIu64, runs->packets);
    report_json_close(json, '}');
}

static void print_json_story(struct report_json *json, const struct demo_seen *seen)
{
    const struct demo_story *story = &seen->story;

    report_json_open(json, "story", '{');
    report_json_say(json, "scheme", story->scheme->name);
    report_json_put(json, "expected", "%d", story->expected);
    report_json_put(json, "got", "%d", story->got);
    report_json_put(json, "caught", "%u", story->caught);
    report_json_put(json, "taken", "%u", story->taken);
    report_json_flag(json, "holds", story_holds(seen));
    report_json_open(json, "steps", '[');
    for (uint32_t i = 0; i < story->count; i++) {
        const struct demo_step *step = &story->steps[i];
        report_json_open(json, NULL, '{');
        report_json_put(json, "time_ns", "%" PRIu64, step->time_ns);
        report_json_say(json, "text", step->text);
        if (step->kind != NULL) {
            report_json_say(json, "from", step->from);
            report_json_say(json, "to", step->to);
            report_json_say(json, "kind", step->kind);
            report_json_put(json, "fragment", "%" PRIu64, step->fragment);
        }
        if (step->has_value) {
            report_json_put(json, "value", "%d", step->value);
        }
        report_json_close(json, '}');
    }
    report_json_close(json, ']');
    report_json_close(json, '}');
}

static void print_json(const struct demo_options *options, const struct demo_seen *seen)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '{');
    report_json_put(&json, "seed", "%" PRIu64, options->seed);
    report_json_put(&json, "loss", "%g", options->faults.loss);
    report_json_put(&json, "late", "%g", options->faults.late);
    report_json_put(&json, "late_ns", "%" PRIu64, options->faults.late_ns);
    report_json_put(&json, "workers", "%d", DEMO_RUN_WORKERS);
    report_json_put(&json, "fragments", "%d", DEMO_RUN_FRAGMENTS);
    print_json_story(&json, seen);
    report_json_open(&json, "runs", '[');
    for (uint32_t i = 0; i < 4; i++) {
        print_json_runs(&json, i < 2 ? &seen->plain[i] : &seen->restart[i - 2], i >= 2);
    }
    report_json_close(&json, ']');
    demo_atp_print_json(&json, &seen->atp);
    report_json_flag(&json, "holds", all_holds(seen));
    report_json_close(&json, '}');
    printf("\n");
}

/* ---- the command ---- */

static bool run_all(const struct demo_options *options, struct demo_seen *seen)
{
    static const char *const names[] = {"switchml-literal", "switchml"};
    struct demo_faults restart = options->faults;
    bool shows_progress = !options->json && isatty(STDERR_FILENO);

    restart.restart = true;
    for (uint32_t which = 0; which < 2; which++) {
        seen->plain[which].scheme = seen->restart[which].scheme = trib_published_find(names[which]);
        for (uint32_t i = 0; i < options->runs; i++) {
            uint64_t seed =
                options->seed * UINT64_C(1000003) + i; /* the same faults for both rules, as far as they send alike */
            if (!demo_run(&seen->plain[which], &options->faults, seed) ||
                (i % 5 == 0 && !demo_run(&seen->restart[which], &restart, seed))) {
                return false;
            }
            if (shows_progress && i % 50 == 49) {
                fprintf(stderr, "\r%u of %u runs", which * options->runs + i + 1, 2 * options->runs);
            }
        }
    }
    if (shows_progress) {
        fprintf(stderr, "\r\033[K");
    }
    return true;
}

int command_demo(int argc, char **argv)
{
    struct demo_options options = {
        .runs = 500, .seed = 1, .faults = {.loss = 0.001, .late = 0.0001, .late_ns = 3 * DEMO_MS}};
    static struct demo_seen seen; /* too large for a stack to be fond of */
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_demo, argc, argv, &options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (rest < argc) {
        complain("unexpected argument \"%s\"", argv[rest]);
        return EXIT_USAGE;
    }
    seen.is_told = demo_story_tell(&seen.story, trib_published_find(options.literal ? "switchml-literal" : "switchml"));
    if (!options.json) {
        print_story(&seen);
        fflush(stdout);
    }
    if (!run_all(&options, &seen) ||
        (options.literal && !demo_atp_show(&seen.atp, options.runs, &options.faults, options.seed))) {
        return complain("out of memory");
    }
    if (options.json) {
        print_json(&options, &seen);
    } else {
        print_runs(&options, &seen);
    }
    return all_holds(&seen) ? 0 : complain("a claim of this demo did not hold");
}
