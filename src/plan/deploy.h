/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.h: which switches to replace first by switches that add: rates and steps of a job as switches are replaced one
 * by one, by the model of Rina's paper (section III-B, "BOM").
 *
 * Sums travel to a server over a spanning tree of shortest paths. A switch that adds sends one stream; a switch that
 * does not add sends all streams that come from below. All workers send at the rate of the fullest link: 1 / streams of
 * a host's rate. In a chain (scheme rina) no link has more than one stream in a direction; switches that add make the
 * chain shorter. That is PLAN_DEPLOY_PAPER; the other schemes have limits of their own.
 *
 * Rates are shares of a host's rate. Use: plan_deploy_init, then rates and orders, of any scheme; plan_deploy_free. */
#ifndef TRIB_PLAN_DEPLOY_H
#define TRIB_PLAN_DEPLOY_H

#include "fabric/fabric.h"

#define PLAN_DEPLOY_NONE UINT32_MAX
#define PLAN_DEPLOY_EXACT 16U /* switches: of so many all subsets are looked at */

/* A switch of the spanning tree; its parent stands before it. */
struct plan_deploy_switch {
    uint32_t place;
    uint32_t parent;  /* switch, by number; PLAN_DEPLOY_NONE: the server is below it */
    uint32_t workers; /* on its own hosts */
    uint32_t below;   /* workers on its hosts and those of all switches below */
    bool adds;        /* already: no order has it. False after plan_deploy_init */
};

/* Which switches can add, and where the sum ends. */
enum plan_deploy_scheme {
    PLAN_DEPLOY_PAPER, /* all switches on the way to a server, as Rina's paper has ATP */
    PLAN_DEPLOY_TREES, /* all switches. The sum ends at the best switch that adds; if none adds, the rate is 0 */
    /* Switches of racks: each adds streams of its own workers; the server's adds all streams (ATP, NSDI'21). */
    PLAN_DEPLOY_ATP,
    PLAN_DEPLOY_RINA, /* switches of racks of PLAN_DEPLOY_RACK workers and more, in a chain */
};

#define PLAN_DEPLOY_RACK 2U

struct plan_deploy {
    enum plan_deploy_scheme scheme;
    struct plan_deploy_switch *switches;
    uint32_t count;
    uint32_t workers;
};

/* The order in which switches are replaced. */
enum plan_deploy_order {
    PLAN_DEPLOY_BEST,       /* of each number the switches with the highest rate; above PLAN_DEPLOY_EXACT as NEXT */
    PLAN_DEPLOY_NEXT,       /* the one that gives the highest rate each time */
    PLAN_DEPLOY_BY_WORKERS, /* of hosts first, those with the most workers; then those with the most workers below */
    PLAN_DEPLOY_BY_BELOW,   /* those with the most workers below */
    PLAN_DEPLOY_RANDOM,     /* the mean of all choices; above PLAN_DEPLOY_EXACT of some */
};

/* The tree from the hosts of workers to the switch of the server's host. False: out of memory. */
bool plan_deploy_init(struct plan_deploy *deploy, const struct trib_fabric *fabric, const uint32_t *hosts,
                      uint32_t count, uint32_t server);
void plan_deploy_free(struct plan_deploy *deploy);
/* The rate if these switches, by number, add as well as those that add already. 0: out of memory, or no tree. */
double plan_deploy_rate(const struct plan_deploy *deploy, const bool *adds);
/* Links of a chain: a switch of at least so many workers that adds is one, and so is any other worker. */
uint32_t plan_deploy_links(const struct plan_deploy *deploy, const bool *adds, uint32_t at_least);
/* Number of switches that do not add and could add in this scheme. */
uint32_t plan_deploy_left(const struct plan_deploy *deploy);
/* Rates by the number of switches that are replaced, from 0 on: of all that are left, or `most` of them. False: out of
 * memory. */
bool plan_deploy_curve(const struct plan_deploy *deploy, enum plan_deploy_order order, uint32_t most, double *rates);
/* The first switches of an order, by number, at most so many; neither of BEST nor of RANDOM. Returns how many. */
uint32_t plan_deploy_list(const struct plan_deploy *deploy, enum plan_deploy_order order, uint32_t most,
                          uint32_t *list);

/* Steps of a chain of so many links, one after the other: 2 G - 1 if a switch adds, else those of a ring. */
static inline uint32_t plan_deploy_steps(uint32_t links, uint32_t workers)
{
    return links < workers ? 2 * links - 1 : 2 * (workers - 1);
}

/* The rate of a chain, comparable with that of a tree: in each step of the chain a link carries 1 / links of the
 * gradients; in a tree all gradients go up and down once. */
static inline double plan_deploy_chain(uint32_t links, uint32_t workers)
{
    return 2.0 * links / plan_deploy_steps(links, workers);
}

#endif
