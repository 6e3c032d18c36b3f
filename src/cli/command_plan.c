/* SPDX-License-Identifier: Apache-2.0 */
/* command_plan.c: `tributary plan`: where to add: trees and rates of jobs in a network, with a proof.
 * Read next: plan_print.h, plan/plan.h. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/plan_deploy.h"
#include "cli/plan_goat.h"
#include "cli/plan_print.h"
#include "cli/progress.h"
#include "fabric/placed.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/units.h"
#include "plan/file.h"
#include "plan/lp.h"
#include "plan/make.h"

struct plan_arguments {
    const char *topology;
    const char *jobs;
    const char *out;
    const char *check;
    const char *page;
    const char *change;
    uint32_t trees;
    uint32_t seconds;
    bool explain;
    bool json;
    uint32_t deploy;
    struct plan_goat_arguments goat;
};

static const struct option_row rows[] = {
    {"topology", 't', "FILE", "the network: links, and which switches add", OPTION_TEXT,
     offsetof(struct plan_arguments, topology)},
    {"jobs", 'j', "FILE", "the jobs: hosts, weights, bytes of a step", OPTION_TEXT,
     offsetof(struct plan_arguments, jobs)},
    {"out", 'o', "FILE", "write the plan there, with its proof; of --objective, for jobs of scheme goat", OPTION_TEXT,
     offsetof(struct plan_arguments, out)},
    {"check", 0, "FILE", "check the proof of a plan for this network and these jobs; needs no solver", OPTION_TEXT,
     offsetof(struct plan_arguments, check)},
    {"page", 0, "FILE", "write a page there: the network, loads of links, and trees of jobs", OPTION_TEXT,
     offsetof(struct plan_arguments, page)},
    {"trees", 0, "N",
     "trees of a job at most; `tributary switch --plan` takes jobs with roots at up to 8 switches [32]",
     OPTION_COUNT(1, PLAN_TREES_MAX), offsetof(struct plan_arguments, trees)},
    {"seconds", 0, "N", "end the search about then, with a plan that may be farther from its bound [no limit]",
     OPTION_COUNT(1, 1000000), offsetof(struct plan_arguments, seconds)},
    {"what-if", 0, "CHANGE", "compare with the network after a change: \"link A-B down\", \"switch A adds 100Gbps\"",
     OPTION_TEXT, offsetof(struct plan_arguments, change)},
    {"objective", 0, "NAME",
     "solve GOAT's problem instead, the least bytes x hops of one job, by: goat, goat-slide, krgs, krgs-repaired, "
     "greedy, geryon, atp",
     OPTION_TEXT, offsetof(struct plan_arguments, goat.objective)},
    {"deploy", 0, "N", "instead: which N switches to replace next by ones that add, for the job or for all hosts",
     OPTION_COUNT(1, PLAN_SWITCHES_MAX), offsetof(struct plan_arguments, deploy)},
    {"server", 0, "HOST", "with --objective, --deploy: the parameter server", OPTION_TEXT,
     offsetof(struct plan_arguments, goat.server)},
    {"memory", 0, "SIZE", "with --objective, or --check of its plan: memory of each switch that adds [22MB]",
     OPTION_SIZE(1, UINT64_MAX), offsetof(struct plan_arguments, goat.memory)},
    {"gradients", 0, "N", "with --objective: parts of the model [16]", OPTION_COUNT(1, PLAN_GOAT_GRADIENTS_MAX),
     offsetof(struct plan_arguments, goat.gradients)},
    {"late", 0, "P%", "with --objective atp: workers that are late [0%]", OPTION_PERCENT,
     offsetof(struct plan_arguments, goat.late)},
    {"seed", 0, "N", "with --objective krgs, krgs-repaired: seed of random draws [0]", OPTION_NUMBER(0, UINT64_MAX),
     offsetof(struct plan_arguments, goat.seed)},
    {"explain", 0, NULL, "print trees, stages, and the fullest links as well", OPTION_ON,
     offsetof(struct plan_arguments, explain)},
    {"json", 0, NULL, "one JSON object instead of a table", OPTION_ON, offsetof(struct plan_arguments, json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_plan = {
    .usage = "tributary plan --topology FILE --jobs FILE [options]",
    .summary = "Plans which switches add for which jobs, over which trees, and at which rates. The plan is as fair as "
               "possible,\nand has a proof of its distance from the best plan (docs/PLAN.md).\nExit status: 0 success, "
               "1 an error or a plan that does not hold, 2 a mistake in the command, 130 interrupted (143 by "
               "SIGTERM).",
    .rows = rows,
    .examples = "  tributary plan --topology net.toml --jobs jobs.toml --out plan.toml\n"
                "  tributary plan --topology net.toml --jobs jobs.toml --check plan.toml --page plan.html\n"
                "  tributary plan --topology net.toml --jobs jobs.toml --what-if \"link leaf0-spine1 down\"\n"
                "  tributary plan --topology net.toml --jobs job.toml --objective goat --server host9 --out goat.toml\n"
                "  tributary plan --topology net.toml --deploy 5",
};

struct planning {
    struct progress progress;
    uint64_t until_ns;
};

static bool is_over(void *user, const struct plan_step *step)
{
    struct planning *planning = user;
    struct progress *p = &planning->progress;
    char rate[TRIB_UNITS_TEXT_MAX] = "", bound[TRIB_UNITS_TEXT_MAX] = "";
    if (!progress_is_due(p)) {
        return interrupt_came();
    }
    if (step->level_bps > 0) {
        (void)snprintf(rate, sizeof rate, ", %.4g Gbps", step->level_bps / 1e9);
    }
    if (!step->is_cut && step->bound_bps != PLAN_NO_BOUND) {
        (void)snprintf(bound, sizeof bound, " of at most %.4g", (double)step->bound_bps / 1e9);
    }
    progress_show(p, "%s: %.0f s, program %u, %u jobs left%s%s", step->is_cut ? "choosing trees" : "packing trees",
                  (double)(trib_clock_ns() - p->begin_ns) / (double)TRIB_SECOND_NS, step->solved, step->left, rate,
                  bound);
    return interrupt_came();
}

static bool is_late(void *user)
{
    const struct planning *planning = user;
    return trib_clock_ns() >= planning->until_ns;
}

/* Plans, and proves the plan. Returns the exit status. */
static int make(struct plan *plan, const struct plan_arguments *arguments, const struct plan_network *net,
                const struct plan_jobs *jobs, struct plan_proof *proof)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct planning planning = {.progress = progress_begin(arguments->json)};
    planning.until_ns = planning.progress.begin_ns + arguments->seconds * TRIB_SECOND_NS;
    const struct plan_options options = {.family = plan_family_of(net),
                                         .most = arguments->trees,
                                         .is_over = is_over,
                                         .is_late = arguments->seconds != 0 ? is_late : NULL,
                                         .user = &planning};
    interrupt_catch(); /* here alone: the other searches do not ask, and end by the signal */
    enum trib_status status = plan_make(plan, net, jobs, &options, error);
    progress_end(&planning.progress);
    if (status == TRIB_ERR_ABORTED) {
        (void)complain("plan: interrupted; nothing was written");
        return interrupt_status();
    }
    if (status != TRIB_OK) {
        return complain("plan: %s", error);
    }
    return plan_check(plan, net, jobs, proof, error) ? 0 : complain("plan: the plan does not hold: %s", error);
}

/* Prints a plan that holds, and writes its page. Returns the exit status. */
static int show(const struct plan_arguments *arguments, const struct plan_view *view)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if (arguments->page != NULL && !plan_page_write(view, arguments->page, error)) {
        return complain("plan: %s", error);
    }
    if (arguments->json) {
        plan_print_json(view);
        return 0;
    }
    plan_print(view);
    if (arguments->explain) {
        plan_print_explain(view);
    }
    return 0;
}

static int run_plan(const struct plan_arguments *arguments, const struct plan_network *net,
                    const struct plan_jobs *jobs)
{
    struct plan plan;
    struct plan_proof proof;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if ((arguments->out != NULL && !trib_file_may_write(arguments->out, error)) ||
        (arguments->page != NULL && !trib_file_may_write(arguments->page, error))) {
        return complain("plan: %s", error);
    }
    int status = make(&plan, arguments, net, jobs, &proof);
    if (status == 0 && arguments->out != NULL && !plan_write(&plan, net, jobs, arguments->out, error)) {
        status = complain("plan: %s", error);
    }
    if (status == 0) {
        status = show(arguments, &(struct plan_view){net, jobs, &plan, &proof});
    }
    plan_free(&plan);
    return status;
}

static int check_trees(const struct plan_arguments *arguments, const struct trib_toml *toml,
                       const struct plan_network *net, const struct plan_jobs *jobs)
{
    struct plan plan;
    struct plan_proof proof;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int status = 0;
    if (!plan_read(&plan, net, jobs, false, toml, error)) {
        status = complain("plan: %s", error);
    } else if (!plan_check(&plan, net, jobs, &proof, error)) {
        status = complain("plan: %s does not hold: %s", arguments->check, error);
    } else {
        status = show(arguments, &(struct plan_view){net, jobs, &plan, &proof});
    }
    plan_free(&plan);
    return status;
}

/* A plan of trees, or of --objective. */
static int check_file(const struct plan_arguments *arguments, const struct trib_toml *toml,
                      const struct plan_network *net, const struct plan_jobs *jobs)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_placed placed;
    int status;
    if (!trib_placed_read(&placed, toml, error)) {
        return complain("plan: %s", error);
    }
    if (placed.count > 0 && arguments->page != NULL) {
        status = complain("plan: %s is a plan of --objective, for which there is no page", arguments->check);
    } else if (placed.count > 0) {
        status = plan_goat_prove(&arguments->goat, toml, &placed, net, jobs);
    } else if (arguments->goat.memory != 0) {
        status = complain("plan: %s is a plan of trees, which do not depend on --memory", arguments->check);
    } else {
        status = check_trees(arguments, toml, net, jobs);
    }
    trib_placed_free(&placed);
    return status;
}

static int run_check(const struct plan_arguments *arguments, const struct plan_network *net,
                     const struct plan_jobs *jobs)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_toml toml;
    int status = trib_toml_open(&toml, arguments->check, error) ? check_file(arguments, &toml, net, jobs)
                                                                : complain("plan: %s", error);
    trib_toml_free(&toml);
    return status;
}

/* net is changed. */
static int run_change(const struct plan_arguments *arguments, struct plan_network *net, const struct plan_jobs *jobs)
{
    struct plan now, then;
    struct plan_proof proofs[2];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int status = make(&now, arguments, net, jobs, &proofs[0]);
    if (status == 0 && !plan_network_change(net, arguments->change, error)) {
        status = complain("plan: %s", error);
    }
    if (status == 0) {
        status = make(&then, arguments, net, jobs, &proofs[1]);
        if (status == 0) {
            plan_print_change(&(struct plan_view){net, jobs, &now, &proofs[0]},
                              &(struct plan_view){net, jobs, &then, &proofs[1]}, arguments->change);
        }
        plan_free(&then);
    }
    plan_free(&now);
    return status;
}

static int run(const struct plan_arguments *arguments)
{
    struct plan_network net;
    struct plan_jobs jobs = {.list = NULL};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int status = 0;
    bool is_read = arguments->deploy != 0 ? plan_network_read_bare(&net, arguments->topology, error)
                                          : plan_network_read(&net, arguments->topology, error);
    if (!is_read || (arguments->jobs != NULL && !plan_jobs_read(&jobs, &net, arguments->jobs, error))) {
        status = complain("plan: %s", error);
    } else if (arguments->deploy != 0) {
        struct plan_deploy_arguments deploy = {arguments->deploy, arguments->goat.server, arguments->json};
        status = plan_deploy_advise(&deploy, &net, &jobs);
    } else if (arguments->goat.objective != NULL) {
        status = plan_goat(&arguments->goat, &net, &jobs);
    } else if (arguments->check != NULL) {
        status = run_check(arguments, &net, &jobs);
    } else if (!trib_lp_is_there()) {
        status = complain("plan: %s; --check needs none", trib_lp_explain_lack());
    } else {
        status = arguments->change != NULL ? run_change(arguments, &net, &jobs) : run_plan(arguments, &net, &jobs);
    }
    plan_jobs_free(&jobs);
    plan_network_free(&net);
    return status;
}

/* False: a file that is to be written is also read, or written twice, which is said. */
static bool writes_apart(const struct plan_arguments *arguments)
{
    const char *const names[] = {"out", "page", "check", "topology", "jobs"};
    const char *const paths[] = {arguments->out, arguments->page, arguments->check, arguments->topology,
                                 arguments->jobs};
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = i + 1; paths[i] != NULL && k < sizeof paths / sizeof *paths; k++) {
            if (paths[k] != NULL && trib_file_is_same(paths[i], paths[k])) {
                (void)complain("plan: --%s and --%s name the same file, %s", names[i], names[k], paths[i]);
                return false;
            }
        }
    }
    return true;
}

/* --deploy makes no plan. */
static bool fits_deploy(const struct plan_arguments *arguments)
{
    const struct plan_goat_arguments *goat = &arguments->goat;
    bool has_more = goat->memory != 0 || goat->seed != 0 || goat->late != 0 || goat->gradients != 0;
    bool is_plan = arguments->check != NULL || arguments->out != NULL || arguments->page != NULL ||
                   arguments->change != NULL || arguments->trees != 0 || arguments->seconds != 0 || arguments->explain;

    if (arguments->deploy != 0 && (goat->objective != NULL || has_more || is_plan)) {
        (void)complain("plan: --deploy goes with --topology, --jobs, --server and --json alone");
        return false;
    }
    return true;
}

/* False: the options do not go together, which is said. */
static bool fits(const struct plan_arguments *arguments)
{
    if (arguments->topology == NULL || (arguments->jobs == NULL && arguments->deploy == 0)) {
        (void)complain("plan: %s missing; see `tributary plan --help`",
                       arguments->jobs != NULL || arguments->deploy != 0 ? "--topology is"
                       : arguments->topology != NULL                     ? "--jobs is"
                                                                         : "--topology and --jobs are");
        return false;
    }
    bool has_file = arguments->out != NULL || arguments->page != NULL;
    if (arguments->change != NULL && (arguments->check != NULL || has_file || arguments->json)) {
        (void)complain("plan: --what-if compares two plans: it goes with none of --check, --out, --page, --json");
        return false;
    }
    if (arguments->check != NULL && (arguments->out != NULL || arguments->trees != 0 || arguments->seconds != 0)) {
        (void)complain("plan: --check makes no plan: it goes with none of --out, --trees, --seconds");
        return false;
    }
    struct plan_goat_arguments goat = arguments->goat;
    goat.memory = arguments->check != NULL ? 0 : goat.memory; /* of the plan that is checked */
    if (goat.objective == NULL && arguments->deploy == 0 && plan_goat_is_given(&goat)) {
        (void)complain("plan: --server, --memory, --gradients, --late and --seed go with --objective");
        return false;
    }
    if (arguments->goat.objective != NULL &&
        (arguments->change != NULL || arguments->check != NULL || arguments->page != NULL || arguments->seconds != 0 ||
         arguments->trees != 0)) {
        (void)complain("plan: --objective goes with none of --check, --page, --what-if, --seconds, --trees");
        return false;
    }
    return fits_deploy(arguments) && writes_apart(arguments);
}

int command_plan(int argc, char **argv)
{
    struct plan_arguments arguments = {.topology = NULL};
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_plan, argc, argv, &arguments, &rest);
    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (rest < argc) {
        (void)complain("plan: unexpected argument \"%s\"", argv[rest]);
        return EXIT_USAGE;
    }
    if (!fits(&arguments)) {
        return EXIT_USAGE;
    }
    arguments.goat.out = arguments.out;
    arguments.goat.explain = arguments.explain;
    arguments.goat.json = arguments.json;
    return run(&arguments);
}
