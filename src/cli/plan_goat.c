/* SPDX-License-Identifier: Apache-2.0 */
/* plan_goat.c: see plan_goat.h. */
#include "cli/plan_goat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "io/file.h"
#include "io/nearest.h"
#include "io/units.h"
#include "plan/goat_file.h"
#include "report/json.h"

/* A plan with all that it depends on. */
struct goat_view {
    const struct plan_goat_arguments *arguments;
    const struct plan_network *net;
    const struct plan_job *job;
    uint32_t server;          /* place */
    const uint32_t *switches; /* places */
    const struct trib_goat *problem;
    const struct trib_goat_plan *plan;
    uint64_t direct;                     /* cost without aggregation */
    const struct plan_goat_proof *proof; /* of the plan that is read; NULL: it is made */
    bool is_quiet;                       /* the plan is not printed */
};

bool plan_goat_is_given(const struct plan_goat_arguments *a)
{
    return a->server != NULL || a->memory != 0 || a->seed != 0 || a->late != 0 || a->gradients != 0;
}

/* ---- printing ---- */

static uint64_t count_at(const struct goat_view *v, uint32_t node, uint64_t *bytes)
{
    uint64_t count = 0;

    *bytes = 0;
    for (uint32_t g = 0; g < v->problem->gradients; g++) {
        if (v->plan->is_open[(size_t)g * v->problem->switches + node]) {
            *bytes += v->problem->bytes[g];
            count++;
        }
    }
    return count;
}

static double gigabytes(uint64_t bytes)
{
    return (double)bytes / 1e9;
}

static void print_switches(const struct goat_view *v)
{
    for (uint32_t s = 0; s < v->problem->switches; s++) {
        uint64_t bytes;
        uint64_t count = count_at(v, s, &bytes);
        if (count == 0) {
            continue;
        }
        printf("  %-16s %6" PRIu64 " gradients, %.4g of %.4g MB", v->net->names.list[v->switches[s]], count,
               (double)bytes / 1e6, (double)v->problem->memory[s] / 1e6);
        for (uint32_t g = 0; v->arguments->explain && g < v->problem->gradients; g++) {
            if (v->plan->is_open[(size_t)g * v->problem->switches + s]) {
                printf(" %u", g);
            }
        }
        printf("\n");
    }
}

static void print_text(const struct goat_view *v)
{
    const struct trib_goat *p = v->problem;
    const struct trib_goat_plan *plan = v->plan;

    printf("%s by %s: %u workers, server %s, %u gradients of %.4g MB\n", v->job->name, v->arguments->objective,
           p->workers, v->arguments->server, p->gradients, (double)p->bytes[0] / 1e6);
    printf("  cost             %.6g GB x hops; without aggregation %.6g\n", gigabytes(plan->cost),
           gigabytes(v->direct));
    if (plan->bound != 0) {
        printf("  bound            %.6g GB x hops, so the plan is at most %.3f %% above the best\n",
               gigabytes(plan->bound), 100 * (double)plan->cost / (double)plan->bound - 100);
    }
    printf("  server           receives %.6g GB; without aggregation %.6g\n", gigabytes(plan->server_bytes),
           gigabytes(p->total * p->workers));
    if (v->arguments->out != NULL) {
        printf("  paths            a switch counts for workers of which all shortest paths to the server pass it "
               "(--out)\n");
    }
    if (plan->excess_bytes != 0) {
        printf("  beyond memory    %.4g MB: this plan does not fit\n", (double)plan->excess_bytes / 1e6);
    }
    print_switches(v);
}

static void print_json(const struct goat_view *v)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '{');
    report_json_say(&json, "job", v->job->name);
    report_json_say(&json, "objective", v->arguments->objective);
    report_json_say(&json, "server", v->arguments->server);
    report_json_count(&json, "cost", v->plan->cost);
    report_json_count(&json, "bound", v->plan->bound);
    report_json_count(&json, "without_aggregation", v->direct);
    report_json_count(&json, "server_bytes", v->plan->server_bytes);
    report_json_count(&json, "excess_bytes", v->plan->excess_bytes);
    report_json_open(&json, "switches", '[');
    for (uint32_t s = 0; s < v->problem->switches; s++) {
        report_json_open(&json, NULL, '{');
        report_json_say(&json, "name", v->net->names.list[v->switches[s]]);
        report_json_open(&json, "gradients", '[');
        for (uint32_t g = 0; g < v->problem->gradients; g++) {
            if (v->plan->is_open[(size_t)g * v->problem->switches + s]) {
                report_json_count(&json, NULL, g);
            }
        }
        report_json_close(&json, ']');
        report_json_close(&json, '}');
    }
    report_json_close(&json, ']');
    report_json_close(&json, '}');
    printf("\n");
}

/* ---- planning ---- */

static uint64_t memory_of(const struct plan_goat_arguments *a)
{
    return a->memory != 0 ? a->memory : PLAN_GOAT_MEMORY;
}

/* The file says which switch adds which pieces. A part is added at the first such switch that it passes. */
static enum trib_status write_file(const struct goat_view *v, char *error)
{
    const struct plan_goat_file file = {.net = v->net,
                                        .job = v->job,
                                        .server = v->server,
                                        .objective = v->arguments->objective,
                                        .memory = memory_of(v->arguments),
                                        .switches = v->switches,
                                        .problem = v->problem,
                                        .plan = v->plan};

    if (v->plan->excess_bytes != 0) {
        (void)snprintf(error, TRIB_ERROR_TEXT_MAX,
                       "the plan exceeds the memory of switches by %.4g MB, so it is not written: use objective "
                       "krgs-repaired or goat",
                       (double)v->plan->excess_bytes / 1e6);
        return TRIB_ERR_INVALID;
    }
    return plan_goat_write(&file, v->arguments->out, error) ? TRIB_OK : TRIB_ERR_SYSTEM;
}

/* Makes the plan by the rule of its objective, or reads it. */
static enum trib_status make(const struct goat_view *v, struct trib_goat_plan *plan, char *error)
{
    const struct plan_goat_arguments *a = v->arguments;
    const struct trib_goat *p = v->problem;
    const struct trib_goat_options options = {
        .seed = a->seed, .late = (uint32_t)(a->late * p->workers), .error = error};
    const struct plan_goat_file file = {
        .net = v->net, .job = v->job, .server = v->server, .switches = v->switches, .problem = p};

    if (v->proof == NULL) {
        return trib_goat_rule_find(a->objective)->make(p, &options, plan);
    }
    return plan_goat_check(&file, v->proof, plan, error) ? TRIB_OK : TRIB_ERR_INVALID;
}

static int make_and_print(const struct goat_view *unplanned)
{
    char error[TRIB_ERROR_TEXT_MAX] = "out of memory";
    const struct plan_goat_arguments *a = unplanned->arguments;
    const struct trib_goat *p = unplanned->problem;
    struct trib_goat_plan plan;
    enum trib_status status = trib_goat_plan_create(&plan, p);
    struct goat_view view = *unplanned;

    view.plan = &plan;
    view.direct = plan.cost;
    if (status == TRIB_OK) {
        status = make(&view, &plan, error);
    }
    if (status == TRIB_OK && a->out != NULL) {
        trib_goat_send_to_nearest(p, &plan);
        trib_goat_count(p, &plan);
        status = write_file(&view, error);
    }
    if (status == TRIB_OK && !view.is_quiet) {
        (a->json ? print_json : print_text)(&view);
    }
    trib_goat_plan_destroy(&plan);
    if (status != TRIB_OK && view.proof != NULL) {
        return complain("plan: %s does not hold: %s", a->objective, error);
    }
    return status == TRIB_OK ? 0 : complain("plan: %s", error);
}

/* Lists for the problem: places of switches that add, their memory, bytes of gradients. */
struct goat_lists {
    uint32_t *switches;
    uint64_t *memory, *bytes;
    uint32_t switch_count, gradient_count;
};

static bool make_lists(struct goat_lists *lists, const struct plan_goat_arguments *a, const struct plan_network *net,
                       uint64_t bytes)
{
    uint32_t gradients = a->gradients != 0 ? a->gradients : PLAN_GOAT_GRADIENTS;

    *lists = (struct goat_lists){.switches = calloc(net->switches + 1U, sizeof *lists->switches),
                                 .memory = calloc(net->switches + 1U, sizeof *lists->memory),
                                 .bytes = calloc(gradients, sizeof *lists->bytes),
                                 .gradient_count = gradients};
    if (lists->switches == NULL || lists->memory == NULL || lists->bytes == NULL) {
        return false;
    }
    for (uint32_t place = net->hosts; place < net->hosts + net->switches; place++) {
        if (plan_adds(net, place)) {
            lists->memory[lists->switch_count] = memory_of(a);
            lists->switches[lists->switch_count++] = place;
        }
    }
    for (uint32_t g = 0; g < gradients; g++) {
        lists->bytes[g] = bytes / gradients + (g < bytes % gradients);
    }
    return true;
}

/* Each worker has a path to the server. False: the cause is printed. */
static bool check_paths(const struct goat_view *v)
{
    const struct trib_fabric *f = &v->net->fabric;
    uint32_t *hops = calloc(2 * (size_t)f->places + 1, sizeof *hops); /* and an order */
    uint32_t w = 0;

    if (hops == NULL) {
        (void)complain("plan: out of memory");
        return false;
    }
    (void)trib_fabric_measure(f, v->server, hops, hops + f->places);
    while (w < v->job->host_count && hops[v->job->hosts[w]] != TRIB_NO_WAY) {
        w++;
    }
    free(hops);
    if (w < v->job->host_count) {
        (void)complain("plan: job %s: the network is in parts: no path from %s to the server %s; add the missing links",
                       v->job->name, v->net->names.list[v->job->hosts[w]], v->net->names.list[v->server]);
        return false;
    }
    return true;
}

/* view: its arguments, network, job, server, and the plan that is read, if one is. */
static int plan_job(struct goat_view view)
{
    const struct plan_goat_arguments *a = view.arguments;
    const struct plan_network *net = view.net;
    const struct plan_job *job = view.job;
    char error[TRIB_ERROR_TEXT_MAX] = "out of memory";
    struct goat_lists lists;
    struct trib_goat problem = {.workers = 0};
    int status = 1;

    if (!make_lists(&lists, a, net, job->bytes)) {
        status = complain("plan: out of memory");
    } else if (lists.switch_count > 0 && view.proof == NULL && lists.memory[0] < lists.bytes[0]) {
        status = complain("plan: --memory: a switch has %.4g MB, less than one of %u gradients of %.4g MB: "
                          "cut the model into more, with --gradients",
                          (double)lists.memory[0] / 1e6, lists.gradient_count, (double)lists.bytes[0] / 1e6);
    } else if (check_paths(&view)) {
        struct trib_goat_job its = {.fabric = &net->fabric,
                                    .server = view.server,
                                    .workers = job->host_count,
                                    .switches = lists.switch_count,
                                    .gradients = lists.gradient_count,
                                    .worker_places = job->hosts,
                                    .switch_places = lists.switches,
                                    .memory = lists.memory,
                                    .bytes = lists.bytes,
                                    .is_on_path = a->out != NULL || view.proof != NULL};
        view.switches = lists.switches;
        view.problem = &problem;
        status = trib_goat_create(&problem, &its, error) == TRIB_OK
                     ? make_and_print(&view)
                     : complain("plan: job \"%s\": %s", job->name, error);
    }
    trib_goat_destroy(&problem);
    free(lists.switches);
    free(lists.memory);
    free(lists.bytes);
    return status;
}

static int refuse_objective(const char *name)
{
    struct trib_nearest nearest = {.word = name, .len = strlen(name)};

    for (uint32_t i = 0; trib_goat_rule_at(i) != NULL; i++) {
        trib_nearest_offer(&nearest, trib_goat_rule_at(i)->name);
    }
    return nearest.best != NULL
               ? complain("plan: there is no objective \"%s\"; did you mean %s?", name, nearest.best)
               : complain("plan: there is no objective \"%s\"; there are goat, goat-slide, krgs, krgs-repaired, "
                          "greedy, geryon and atp",
                          name);
}

/* Plans the job of the view, or checks its plan, with the server of the arguments. */
static int plan_one(struct goat_view view)
{
    const struct plan_goat_arguments *a = view.arguments;
    const struct plan_names *names = &view.net->names;
    char error[TRIB_ERROR_TEXT_MAX];
    const char *where = view.proof != NULL ? a->objective : "--server"; /* of the server's name */

    if (view.job->bytes == 0) {
        return complain("plan: --objective counts bytes: give job \"%s\" a line like bytes = \"98MB\"", view.job->name);
    }
    view.server = plan_names_find(names, a->server, strlen(a->server));
    if (view.server == PLAN_NO_NAME) {
        plan_names_explain(names, a->server, strlen(a->server), error);
        return complain("plan: %s: %s", where, error);
    }
    if (view.server >= view.net->hosts) {
        return complain("plan: %s: \"%s\" is a switch; name a host", where, a->server);
    }
    return plan_job(view);
}

int plan_goat(const struct plan_goat_arguments *a, const struct plan_network *net, const struct plan_jobs *jobs)
{
    char error[TRIB_ERROR_TEXT_MAX];

    if (trib_goat_rule_find(a->objective) == NULL) {
        return refuse_objective(a->objective);
    }
    if (a->out != NULL && a->gradients > TRIB_PIECES_MAX) {
        return complain("plan: --out: a plan for jobs of scheme goat has at most %u pieces, and --gradients is %u",
                        TRIB_PIECES_MAX, a->gradients);
    }
    if (a->out != NULL && !trib_file_may_write(a->out, error)) {
        return complain("plan: %s", error);
    }
    if (a->server == NULL) {
        return complain("plan: --objective %s sends to a parameter server: name its host with --server", a->objective);
    }
    if (jobs->count != 1) {
        return complain("plan: --objective plans one job; --jobs has %u", jobs->count);
    }
    return plan_one((struct goat_view){.arguments = a, .net = net, .job = &jobs->list[0]});
}

/* ---- checking ---- */

/* The job of the model, NULL: there is none. */
static const struct plan_job *find_job(const struct plan_jobs *jobs, const struct trib_placed_model *model)
{
    for (uint32_t j = 0; j < jobs->count; j++) {
        if (strcmp(jobs->list[j].name, model->job) == 0) {
            return &jobs->list[j];
        }
    }
    return NULL;
}

/* Checks all models, in their order. The view has the network. */
static int prove_all(const struct plan_goat_arguments *a, struct plan_goat_proof *proof, const struct plan_jobs *jobs,
                     struct goat_view view)
{
    const struct trib_placed *placed = proof->placed;
    bool is_list = a->json && !view.is_quiet && placed->count > 1;
    int status = 0;

    for (uint32_t s = 0; s < view.net->switches; s++) {
        proof->left[s] = memory_of(a);
    }
    for (uint32_t i = 0; status == 0 && i < placed->count; i++) {
        const struct trib_placed_model *model = &placed->models[i];
        const struct plan_goat_arguments its = {.objective = proof->toml->path,
                                                .server = model->server,
                                                .memory = model->memory != 0 ? model->memory : a->memory,
                                                .gradients = model->pieces,
                                                .explain = a->explain,
                                                .json = a->json};
        proof->number = i;
        view.arguments = &its;
        view.proof = proof;
        view.job = find_job(jobs, model);
        if (is_list) {
            (void)putchar(i == 0 ? '[' : ',');
        }
        status = plan_one(view);
    }
    if (is_list) {
        (void)puts("]");
    }
    return status;
}

int plan_goat_prove(const struct plan_goat_arguments *a, const struct trib_toml *toml, const struct trib_placed *placed,
                    const struct plan_network *net, const struct plan_jobs *jobs)
{
    struct plan_goat_proof proof = {.placed = placed, .toml = toml};
    struct goat_view view = {.net = net, .is_quiet = true};

    for (uint32_t i = 0; i < placed->count; i++) {
        if (find_job(jobs, &placed->models[i]) == NULL) {
            return complain("plan: %s is a plan of job \"%s\", which is not in --jobs", toml->path,
                            placed->models[i].job);
        }
    }
    if (jobs->count != placed->count) {
        return complain("plan: %s is a plan of %u jobs, and --jobs has %u: give --jobs a file with these jobs alone",
                        toml->path, placed->count, jobs->count);
    }
    proof.left = calloc(net->switches + 1U, sizeof *proof.left);
    if (proof.left == NULL) {
        return complain("plan: out of memory");
    }
    int status = prove_all(a, &proof, jobs, view); /* all plans hold before one is printed */
    view.is_quiet = false;
    status = status == 0 ? prove_all(a, &proof, jobs, view) : status;
    free(proof.left);
    return status;
}
