/* SPDX-License-Identifier: Apache-2.0 */
/* plan_deploy.c: see plan_deploy.h. */
#include "cli/plan_deploy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "plan/deploy.h"
#include "report/json.h"

enum { IN_TURN, BY_WORKERS, BEST, MEAN, ORDERS };

static const enum plan_deploy_order orders[ORDERS] = {PLAN_DEPLOY_NEXT, PLAN_DEPLOY_BY_WORKERS, PLAN_DEPLOY_BEST,
                                                      PLAN_DEPLOY_RANDOM};

static const struct {
    enum plan_deploy_scheme scheme;
    const char *name;
    const char *limits;
    uint32_t order; /* of the names of switches */
} schemes[] = {
    {PLAN_DEPLOY_TREES, "trees", "any switch adds, and a sum ends at the best of them", IN_TURN},
    {PLAN_DEPLOY_ATP, "atp", "switches of racks add, for their own workers and before the server", IN_TURN},
    {PLAN_DEPLOY_RINA, "rina", "switches of racks add, in a chain", BY_WORKERS},
};

#define SCHEMES (sizeof schemes / sizeof schemes[0])

/* The next switches of one scheme, and its rates with them. */
struct curve {
    uint32_t count;
    uint32_t *list;
    double *rates[ORDERS];
};

struct advice {
    const struct plan_network *net;
    struct plan_deploy deploy;
    struct curve curves[SCHEMES];
    bool *adds;
};

static const char *name_of(const struct advice *a, uint32_t scheme, uint32_t at)
{
    return a->net->names.list[a->deploy.switches[a->curves[scheme].list[at]].place];
}

/* Links of a chain if the first `more` switches of the list add as well. */
static uint32_t links_with(struct advice *a, uint32_t scheme, uint32_t more)
{
    for (uint32_t i = 0; i < a->deploy.count; i++) {
        a->adds[i] = false;
    }
    for (uint32_t i = 0; i < more; i++) {
        a->adds[a->curves[scheme].list[i]] = true;
    }
    return plan_deploy_links(&a->deploy, a->adds, PLAN_DEPLOY_RACK);
}

/* ---- printing ---- */

static void print_row(struct advice *a, uint32_t scheme, uint32_t k)
{
    const struct curve *c = &a->curves[scheme];

    if (schemes[scheme].scheme == PLAN_DEPLOY_RINA) {
        uint32_t links = links_with(a, scheme, k);
        printf("  %4u  %-7.3f  %-5u  %-5u", k, c->rates[BY_WORKERS][k], links,
               plan_deploy_steps(links, a->deploy.workers));
    } else {
        printf("  %4u  %-7.3f  %-10.3f  %-5.3f  %-14.3f", k, c->rates[IN_TURN][k], c->rates[BY_WORKERS][k],
               c->rates[BEST][k], c->rates[MEAN][k]);
    }
    printf("%s%s\n", k != 0 ? "  " : "", k != 0 ? name_of(a, scheme, k - 1) : "");
}

static void print_text(struct advice *a)
{
    uint32_t adders = 0;

    for (uint32_t i = 0; i < a->deploy.count; i++) {
        adders += a->deploy.switches[i].adds;
    }
    printf("%u workers below %u switches, of which %u add; rates are shares of a host's rate\n", a->deploy.workers,
           a->deploy.count, adders);
    for (uint32_t scheme = 0; scheme < SCHEMES; scheme++) {
        const struct curve *c = &a->curves[scheme];
        printf("\n%s: %s\n", schemes[scheme].name, schemes[scheme].limits);
        if (c->count == 0) {
            printf("  every switch that can adds: %.3f\n", c->rates[schemes[scheme].order][0]);
            continue;
        }
        printf("  next: %s\n", name_of(a, scheme, 0));
        printf(schemes[scheme].scheme == PLAN_DEPLOY_RINA
                   ? "  more  rate     links  steps  switch\n"
                   : "  more  in turn  by workers  best   mean of orders  switch\n");
        for (uint32_t k = 0; k <= c->count; k++) {
            print_row(a, scheme, k);
        }
    }
}

static void print_json_row(struct advice *a, struct report_json *json, uint32_t scheme, uint32_t k)
{
    const struct curve *c = &a->curves[scheme];

    report_json_open(json, NULL, '{');
    report_json_count(json, "more", k);
    if (schemes[scheme].scheme == PLAN_DEPLOY_RINA) {
        uint32_t links = links_with(a, scheme, k);
        report_json_real(json, "rate", c->rates[BY_WORKERS][k]);
        report_json_count(json, "links", links);
        report_json_count(json, "steps", plan_deploy_steps(links, a->deploy.workers));
    } else {
        report_json_real(json, "in_turn", c->rates[IN_TURN][k]);
        report_json_real(json, "by_workers", c->rates[BY_WORKERS][k]);
        report_json_real(json, "best", c->rates[BEST][k]);
        report_json_real(json, "mean", c->rates[MEAN][k]);
    }
    if (k != 0) {
        report_json_say(json, "switch", name_of(a, scheme, k - 1));
    }
    report_json_close(json, '}');
}

static void print_json(struct advice *a)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '{');
    report_json_count(&json, "workers", a->deploy.workers);
    report_json_count(&json, "switches", a->deploy.count);
    for (uint32_t scheme = 0; scheme < SCHEMES; scheme++) {
        report_json_open(&json, schemes[scheme].name, '[');
        for (uint32_t k = 0; k <= a->curves[scheme].count; k++) {
            print_json_row(a, &json, scheme, k);
        }
        report_json_close(&json, ']');
    }
    report_json_close(&json, '}');
    printf("\n");
}

/* ---- the advice ---- */

static bool compute_curve(struct plan_deploy *deploy, uint32_t scheme, uint32_t most, struct curve *c)
{
    deploy->scheme = schemes[scheme].scheme;
    uint32_t left = plan_deploy_left(deploy);
    c->count = left < most ? left : most;
    c->list = calloc(c->count + 1U, sizeof *c->list);
    bool is_good =
        c->list != NULL && plan_deploy_list(deploy, orders[schemes[scheme].order], c->count, c->list) == c->count;
    for (uint32_t i = 0; is_good && i < ORDERS; i++) {
        c->rates[i] = calloc(c->count + 1U, sizeof *c->rates[i]);
        is_good = c->rates[i] != NULL && plan_deploy_curve(deploy, orders[i], c->count, c->rates[i]);
    }
    return is_good;
}

static bool compute(struct advice *a, uint32_t most)
{
    bool is_good = (a->adds = calloc(a->deploy.count + 1U, sizeof *a->adds)) != NULL;

    for (uint32_t scheme = 0; is_good && scheme < SCHEMES; scheme++) {
        is_good = compute_curve(&a->deploy, scheme, most, &a->curves[scheme]);
    }
    return is_good;
}

static void release(struct advice *a)
{
    plan_deploy_free(&a->deploy);
    for (uint32_t scheme = 0; scheme < SCHEMES; scheme++) {
        for (uint32_t i = 0; i < ORDERS; i++) {
            free(a->curves[scheme].rates[i]);
        }
        free(a->curves[scheme].list);
    }
    free(a->adds);
}

/* The job's hosts, or all. False: out of memory. */
static bool make_tree(struct advice *a, const struct plan_job *job, uint32_t server)
{
    uint32_t count = job != NULL ? job->host_count : a->net->hosts;
    uint32_t *hosts = calloc(count + 1U, sizeof *hosts);

    for (uint32_t i = 0; hosts != NULL && i < count; i++) {
        hosts[i] = job != NULL ? job->hosts[i] : i;
    }
    server = hosts != NULL && server == PLAN_DEPLOY_NONE ? hosts[0] : server;
    bool is_good = hosts != NULL && plan_deploy_init(&a->deploy, &a->net->fabric, hosts, count, server);
    for (uint32_t i = 0; i < a->deploy.count; i++) {
        a->deploy.switches[i].adds = plan_adds(a->net, a->deploy.switches[i].place);
    }
    free(hosts);
    return is_good;
}

int plan_deploy_advise(const struct plan_deploy_arguments *arguments, const struct plan_network *net,
                       const struct plan_jobs *jobs)
{
    struct advice a = {.net = net};
    uint32_t server = PLAN_DEPLOY_NONE;

    for (uint32_t i = 0; arguments->server != NULL && i < net->hosts; i++) {
        server = strcmp(net->names.list[i], arguments->server) == 0 ? i : server;
    }
    if (arguments->server != NULL && server == PLAN_DEPLOY_NONE) {
        return complain("plan: --server: there is no host %s", arguments->server);
    }
    if (jobs->count > 1) {
        return complain("plan: --deploy is for one job; the file has %u", jobs->count);
    }
    int status = 0;
    if (!make_tree(&a, jobs->count != 0 ? &jobs->list[0] : NULL, server) || !compute(&a, arguments->count)) {
        status = complain("plan: out of memory");
    } else if (arguments->json) {
        print_json(&a);
    } else {
        print_text(&a);
    }
    release(&a);
    return status;
}
