/* SPDX-License-Identifier: Apache-2.0 */
/* worker_quorum.c: results that lack ranks (core/quorum.h): is the list of ranks right?
 * Read next: worker_late.c, a result that lacks this rank. */
#include "protocol/worker_memory.h"

/* Does the result list as many ranks as it must have, and say so? */
bool trib__worker_has_quorum(const struct worker *w, const struct trib_packet *packet, const struct worker_form *form)
{
    const uint8_t *list = trib_quorum_list(packet);

    return form->may_lack && list != NULL && packet->contributors >= w->least &&
           trib_quorum_lists(list, packet->contributors, w->config.session.ranks);
}

/* A result of a sum that lacks ranks was taken. */
void trib__worker_count_lacking(struct worker *w, const struct trib_packet *packet)
{
    struct trib_counters *counters = &worker_aside(w)->counters;

    counters->results_lacking++;
    counters->late += !trib_quorum_has(trib_quorum_list(packet), w->config.rank);
}

/* The root's next sequence is one that needs to be sent. */
void trib__worker_skip_taken(struct worker *w, uint32_t root)
{
    const struct flight *f;

    while ((f = worker_flight(w, worker_flight_index(w, w->next[root])))->state == FLIGHT_FINISHED &&
           f->sequence == w->next[root]) {
        w->next[root] = trib_window_next(&w->window, w->next[root]);
    }
}
