/* SPDX-License-Identifier: Apache-2.0 */
/* opening.c: a communicator as the data plane is to open it (struct trib_opening, server.h): who sends to this switch as one child,
 * and from where. Read next: start.c (who asks). */
#include <stdlib.h>

#include "control/start.h"

/* One allocation: the opening, then the branches that it points to, then their ranks. */
struct whole {
    struct trib_opening opening; /* first: it is found again by a cast */
    struct trib_branch branches[];
};

/* Shard t's packets come from the t-th port that the rank named; a rank with fewer sockets uses them in turn. */
static void spread(const struct trib_rank *rank, uint32_t roots, struct trib_address *row)
{
    uint32_t ports = 1; /* JOIN has checked the first */
    while (ports < TRIB_ROOTS_MAX && rank->data_port[ports] != 0) {
        ports++;
    }
    for (uint32_t t = 0; t < roots; t++) {
        row[t] = rank->address;
        trib_address_set_port(&row[t], rank->data_port[t % ports]);
    }
}

struct trib_opening *trib_opening_create(const struct trib_job *job)
{
    uint32_t count = job->settings.ranks;
    struct whole *whole = calloc(1, sizeof *whole + count * (sizeof whole->branches[0] + sizeof(uint16_t)));
    if (!whole) {
        return NULL;
    }
    uint16_t *ranks = (uint16_t *)(void *)&whole->branches[count];
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = (uint16_t)i;
        whole->branches[i].ranks = &ranks[i];
        whole->branches[i].count = 1;
        spread(&job->ranks[i], job->grant.roots, whole->branches[i].address);
    }
    struct trib_opening *opening = &whole->opening;
    trib_admission_session(job, &opening->session);
    opening->scheme = job->settings.scheme;
    opening->boot = job->grant.boot;
    opening->branches = whole->branches;
    opening->count = count;
    return opening;
}

void trib_opening_destroy(struct trib_opening *opening)
{
    free(opening);
}
