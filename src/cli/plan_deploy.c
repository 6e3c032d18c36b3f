/* SPDX-License-Identifier: Apache-2.0 */
/* plan_deploy.c: see plan_deploy.h. */
#include "cli/plan_deploy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "plan/deploy.h"
#include "report/json.h"

#define RACK 2U /* workers below a switch for a link of a chain, as in scheme rina */

enum { NEXT, BY_WORKERS, BEST, MEAN, ORDERS };

/* The curves of the next switches. */
struct advice {
    const struct plan_network *net;
    struct plan_deploy deploy;
    uint32_t count;                  /* of next switches */
    uint32_t *lists[BY_WORKERS + 1]; /* by order */
    double *rates[ORDERS];
    bool *adds;
};

static const enum plan_deploy_order orders[ORDERS] = {PLAN_DEPLOY_NEXT, PLAN_DEPLOY_BY_WORKERS, PLAN_DEPLOY_BEST,
                                                      PLAN_DEPLOY_RANDOM};

static const char *name_of(const struct advice *a, uint32_t order, uint32_t at)
{
    return a->net->names.list[a->deploy.switches[a->lists[order][at]].place];
}

/* Of a chain, with so many more switches, those with the most workers first. */
static uint32_t links_with(struct advice *a, uint32_t more)
{
    for (uint32_t i = 0; i < a->deploy.count; i++) {
        a->adds[i] = false;
    }
    for (uint32_t i = 0; i < more; i++) {
        a->adds[a->lists[BY_WORKERS][i]] = true;
    }
    return plan_deploy_links(&a->deploy, a->adds, RACK);
}

/* ---- printing ---- */

static void print_text(struct advice *a)
{
    printf("%u workers below %u switches, of which %u add\n", a->deploy.workers, a->deploy.count,
           a->deploy.count - plan_deploy_left(&a->deploy));
    if (a->count == 0) {
        printf("  every switch on the way adds\n");
        return;
    }
    printf("  next for trees and atp   %s\n", name_of(a, NEXT, 0));
    printf("  next for rina            %s\n\n", name_of(a, BY_WORKERS, 0));
    printf("        trees, atp: of a host's rate                      rina\n");
    printf("  more  in turn  by workers  best   mean of orders    links  steps\n");
    for (uint32_t k = 0; k <= a->count; k++) {
        uint32_t links = links_with(a, k);
        printf("  %4u  %-7.3f  %-10.3f  %-5.3f  %-14.3f  %7u %6u", k, a->rates[NEXT][k], a->rates[BY_WORKERS][k],
               a->rates[BEST][k], a->rates[MEAN][k], links, plan_deploy_steps(links, a->deploy.workers));
        if (k != 0) {
            printf("  %s, %s", name_of(a, NEXT, k - 1), name_of(a, BY_WORKERS, k - 1));
        }
        printf("\n");
    }
}

static void print_json(struct advice *a)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '{');
    report_json_count(&json, "workers", a->deploy.workers);
    report_json_count(&json, "switches", a->deploy.count);
    report_json_count(&json, "add", a->deploy.count - plan_deploy_left(&a->deploy));
    report_json_open(&json, "curve", '[');
    for (uint32_t k = 0; k <= a->count; k++) {
        uint32_t links = links_with(a, k);
        report_json_open(&json, NULL, '{');
        report_json_count(&json, "more", k);
        report_json_real(&json, "in_turn", a->rates[NEXT][k]);
        report_json_real(&json, "best", a->rates[BEST][k]);
        report_json_real(&json, "by_workers", a->rates[BY_WORKERS][k]);
        report_json_real(&json, "mean", a->rates[MEAN][k]);
        report_json_count(&json, "links", links);
        report_json_count(&json, "steps", plan_deploy_steps(links, a->deploy.workers));
        if (k != 0) {
            report_json_say(&json, "next_for_trees", name_of(a, NEXT, k - 1));
            report_json_say(&json, "next_for_rina", name_of(a, BY_WORKERS, k - 1));
        }
        report_json_close(&json, '}');
    }
    report_json_close(&json, ']');
    report_json_close(&json, '}');
    printf("\n");
}

/* ---- the advice ---- */

static bool compute(struct advice *a, uint32_t most)
{
    uint32_t left = plan_deploy_left(&a->deploy);
    bool is_good = (a->adds = calloc(a->deploy.count + 1U, sizeof *a->adds)) != NULL;

    a->count = left < most ? left : most;
    for (uint32_t i = 0; is_good && i < ORDERS; i++) {
        a->rates[i] = calloc(a->count + 1U, sizeof *a->rates[i]);
        is_good = a->rates[i] != NULL && plan_deploy_curve(&a->deploy, orders[i], a->count, a->rates[i]);
        if (is_good && i <= BY_WORKERS) {
            a->lists[i] = calloc(a->count + 1U, sizeof *a->lists[i]);
            is_good = a->lists[i] != NULL && plan_deploy_list(&a->deploy, orders[i], a->count, a->lists[i]) == a->count;
        }
    }
    return is_good;
}

static void release(struct advice *a)
{
    plan_deploy_free(&a->deploy);
    for (uint32_t i = 0; i < ORDERS; i++) {
        free(a->rates[i]);
    }
    for (uint32_t i = 0; i <= BY_WORKERS; i++) {
        free(a->lists[i]);
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
