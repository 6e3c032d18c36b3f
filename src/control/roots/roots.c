/* SPDX-License-Identifier: Apache-2.0 */
/* roots.c: see roots.h. Read next: placements.c (the requests to roots). */
#include "control/roots/roots.h"

#include <string.h>

#include "control/jobs/admission.h"
#include "control/jobs/peers.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "io/explain.h"

/* A host has one link to other hosts, so one root there is enough: more roots would share the link. */
static bool has_root_before(const struct trib_job *job, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->root_port != 0 && rank->host != 0 && rank->host == job->ranks[index].host) {
            return true;
        }
    }
    return false;
}

/* Ranks that offer roots, in order, and the number of their roots: one for each network card, so that all cards carry a
 * part, or fewer, up to TRIB_ROOTS_MAX roots in all. */
struct offers {
    uint32_t count;
    uint16_t rank[TRIB_ROOTS_MAX];
    uint16_t roots[TRIB_ROOTS_MAX];
};

static void collect(const struct trib_job *job, struct offers *offers)
{
    memset(offers, 0, sizeof *offers);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (offers->count < TRIB_ROOTS_MAX && job->ranks[i].root_port != 0 && !has_root_before(job, i)) {
            offers->rank[offers->count++] = (uint16_t)i;
        }
    }
    for (uint32_t i = 0; i < offers->count; i++) {
        uint32_t cards = trib_rank_places(&job->ranks[offers->rank[i]]);
        uint32_t most = TRIB_ROOTS_MAX / offers->count;
        offers->roots[i] = (uint16_t)(cards < most ? cards : most);
    }
}

/* A rank's sockets are at the rank's cards in turn: chooses the first socket at card t mod n that no earlier root has.
 * ranks: the ranks of the roots up to this root. */
static uint32_t choose_socket(const struct trib_job *job, const uint16_t *ranks, uint32_t root)
{
    uint32_t cards = trib_rank_places(&job->ranks[ranks[root]]);
    uint32_t socket = root % cards;
    for (uint32_t before = 0; before < root; before++) {
        if (ranks[before] == ranks[root] && before % cards == root % cards) {
            socket += cards;
        }
    }
    return socket;
}

/* The roots of a rank are consecutive. Root t is at card t mod n of a rank, and all ranks with as many cards also send
 * to root t by card t mod n. A job from a switch may have more roots than are offered: the surplus roots are dealt in
 * turn. */
static void deal(struct trib_job *job, const struct offers *offers)
{
    uint16_t ranks[TRIB_ROOTS_MAX];
    uint32_t offer = 0;
    uint32_t dealt = 0; /* to the present offer, in this turn */
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        if (dealt == offers->roots[offer]) {
            offer = (offer + 1) % offers->count;
            dealt = 0;
        }
        dealt++;
        ranks[t] = offers->rank[offer];
        const struct trib_placement where = {.carrier = TRIB_CARRIER_RANK, .rank = ranks[t]};
        trib_placements_add(job, t, &where, choose_socket(job, ranks, t));
    }
}

static enum trib_status deal_roots(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    struct offers offers;
    enum trib_status status = trib_peers_address(job, error);
    if (status != TRIB_OK) {
        return status;
    }
    collect(job, &offers);
    if (offers.count == 0) {
        trib_explain(error,
                     "no rank of job %s can be a root: this is not a switch, but rank 0 of a job without one: name it "
                     "as the rendezvous (TRIB_RENDEZVOUS), or name a switch",
                     job->name);
        return TRIB_ERR_REFUSED;
    }
    if (!job->is_return) {
        job->grant.roots = 0;
        for (uint32_t i = 0; i < offers.count; i++) {
            job->grant.roots += offers.roots[i];
        }
    }
    deal(job, &offers);
    job->ways = job->grant.roots;
    for (uint32_t t = 0; t < job->grant.roots && !job->is_return; t++) {
        job->grant.weight[t] = job->ranks[job->placement[job->root[t].placement].rank].weight;
    }
    job->grant.data_port = job->ranks[job->placement[0].rank].root_port;
    if (job->is_return) {
        trib_admission_shrink(jobs, job);
    }
    return TRIB_OK;
}

const struct trib_dealer trib_dealer_ranks = {
    .sockets = "a rank",
    .owner = "all ranks",
    .way = "a root of the job",
    .deal = deal_roots,
};
