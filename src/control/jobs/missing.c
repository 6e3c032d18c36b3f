/* SPDX-License-Identifier: Apache-2.0 */
/* missing.c: ranks without a contribution to a sequence, from the agents. The place of the root knows the missing
 * children. If a child is a switch, the switch knows the missing ranks behind it. The controller asks an agent
 * elsewhere by ROOT_MISSING, and keeps the answer for a moment. Read next: stall.c (asks), answers.c (takes
 * answers). */
#include <string.h>

#include "control/jobs/missing.h"
#include "control/jobs/opening.h"
#include "control/jobs/placements.h"
#include "io/clock.h"

/* Greatest age of a usable answer. A rank asks again after a second. */
#define ANSWER_FRESH_NS (TRIB_SECOND_NS / 2)

/* The question of a rank, and the answer as far as known. */
struct question {
    const struct trib_jobs *jobs;
    struct trib_job *job;
    uint64_t sequence;
    uint32_t root; /* of the sequence */
    uint64_t now_ns;
    struct trib_rank_set lacking;
    const char *silent; /* a switch below without a missing rank, and without a sum; NULL: none */
};

void trib_placement_ask(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_placement *placement,
                        uint64_t sequence)
{
    const struct trib_message message = {
        .kind = TRIB_MESSAGE_ROOT_MISSING,
        .root_missing = {.of = {job->grant.communicator, job->grant.boot}, .sequence = sequence}};
    if (!placement->is_asked) {
        placement->is_asked = true;
        placement->asked = sequence;
        trib_placement_tell(jobs, job, placement, &message);
    }
}

void trib_placement_heard(struct trib_placement *placement, uint64_t sequence, const struct trib_rank_list *lacks,
                          uint64_t now_ns)
{
    placement->is_asked = false;
    placement->answered = sequence;
    placement->answered_ns = now_ns;
    placement->lacks = *lacks;
}

/* Beyond the end of a cut list, all ranks behind switches below may be missing; these switches are asked next. */
static void add_list(const struct trib_job *job, const struct trib_placement *placement, struct trib_rank_set *set)
{
    const struct trib_rank_list *list = &placement->lacks;
    uint32_t below = trib_placement_below(job, placement);
    uint32_t carried = trib_rank_list_carried(list);
    for (uint32_t i = 0; i < carried; i++) {
        trib_rank_set_add(set, list->rank[i]);
    }
    for (uint32_t rank = 0; list->count > carried && rank < job->settings.ranks; rank++) {
        if (rank > list->rank[carried - 1] && job->ranks[rank].below != below) {
            trib_rank_set_add(set, rank);
        }
    }
}

/* Adds the ranks behind the missing children of the place. False: the agent is being asked. */
static bool find_lacking(const struct question *q, struct trib_placement *placement, struct trib_rank_set *lacking)
{
    const struct trib_data_plane *plane = q->jobs->agent.plane;
    uint16_t ranks[TRIB_RANKS_MAX];
    if (trib_placement_is_here(placement)) {
        uint32_t count = plane->missing(plane->plane, q->job->grant.communicator, q->sequence, ranks, TRIB_RANKS_MAX);
        for (uint32_t i = 0; i < count; i++) {
            trib_rank_set_add(lacking, ranks[i]);
        }
        return true;
    }
    if (placement->answered_ns == 0 || placement->answered != q->sequence ||
        q->now_ns - placement->answered_ns > ANSWER_FRESH_NS) {
        trib_placement_ask(q->jobs, q->job, placement, q->sequence);
        return false;
    }
    add_list(q->job, placement, lacking);
    return true;
}

/* Number of switches from `below` to the root, with `below`. */
static uint32_t level_of(const struct question *q, uint32_t below)
{
    uint32_t level = 0;
    for (uint32_t at = below; at != 0; at = q->job->below[at - 1].parent[q->root]) {
        level++;
    }
    return level;
}

/* Adds the unfinished ranks of `meant`, which are behind a switch that lacks no rank, if none of these ranks waits: the
 * contributions are here, and the ranks do not ask the switch for the result. All ranks have had time for a STALL.
 * False: some rank waits for the switch. */
static bool find_silent(const struct question *q, const struct trib_rank_set *meant, struct trib_rank_set *silent)
{
    bool is_long = false;
    bool is_any = false;
    for (uint32_t i = 0; i < q->job->settings.ranks; i++) {
        const struct trib_rank *rank = &q->job->ranks[i];
        const struct trib_stall *stall = &rank->stall;
        bool is_fresh = stall->at_ns != 0 && q->now_ns - stall->at_ns <= TRIB_STALL_FRESH_NS;
        bool is_unfinished = trib_rank_set_has(meant, i) && rank->mark <= q->sequence;
        is_long = is_long || (is_fresh && stall->sequence == q->sequence &&
                              stall->since_ms * TRIB_MILLISECOND_NS >= TRIB_STALL_FRESH_NS);
        if (is_unfinished && is_fresh) {
            return false;
        }
        if (is_unfinished) {
            trib_rank_set_add(silent, i);
            is_any = true;
        }
    }
    return is_long && is_any;
}

/* Keeps, of the ranks behind the switch, the ranks that the switch lacks. False: the switch is being asked. */
static bool narrow(struct question *q, uint32_t below)
{
    struct trib_placement *placement = &q->job->below[below - 1].placement;
    struct trib_rank_set known = {0};
    struct trib_rank_set meant = {0};
    struct trib_rank_set silent = {0};
    uint32_t count = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < q->job->settings.ranks; i++) {
        if (trib_rank_set_has(&q->lacking, i) && trib_job_is_behind(q->job, i, below, q->root)) {
            trib_rank_set_add(&meant, i);
            count++;
        }
    }
    if (count == 0 || !placement->remote) {
        return true;
    }
    if (!find_lacking(q, placement, &known)) {
        return false;
    }
    for (uint32_t i = 0; i < q->job->settings.ranks; i++) {
        if (trib_rank_set_has(&meant, i)) {
            bool lacks = trib_rank_set_has(&known, i);
            left += lacks;
            q->lacking.word[i / 64] &= lacks ? UINT64_MAX : ~(UINT64_C(1) << i % 64);
        }
    }
    if (left == 0 && find_silent(q, &meant, &silent)) {
        for (uint32_t i = 0; i < sizeof silent.word / sizeof silent.word[0]; i++) {
            q->lacking.word[i] |= silent.word[i];
        }
    } else if (left == 0) {
        q->silent = placement->remote->name;
    }
    return true;
}

uint32_t trib_placements_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns,
                                 uint16_t *ranks, const char **silent)
{
    struct question q = {.jobs = jobs, .job = job, .sequence = sequence, .now_ns = now_ns};
    q.root = trib_placements_root(job, sequence);
    bool is_known = find_lacking(&q, trib_placement_at(job, sequence), &q.lacking);
    uint32_t count = 0;
    for (uint32_t level = 1, left = job->belows; left > 0 && is_known; level++) { /* parents before children */
        for (uint32_t b = 1; b <= job->belows && is_known; b++) {
            if (level_of(&q, b) == level) {
                is_known = narrow(&q, b);
                left--;
            }
        }
    }
    for (uint32_t i = 0; i < job->settings.ranks && is_known; i++) {
        if (trib_rank_set_has(&q.lacking, i)) {
            ranks[count++] = (uint16_t)i;
        }
    }
    *silent = q.silent;
    return is_known ? count : TRIB_MISSING_LATER;
}

struct trib_placement *trib_placement_asked(struct trib_job *job, uint64_t sequence)
{
    struct trib_placement *silent = NULL;
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        struct trib_placement *placement = trib_placement_number(job, i);
        bool is_asked = placement->is_asked && placement->asked == sequence;
        if (is_asked && (silent == NULL || placement->answered_ns < silent->answered_ns)) {
            silent = placement;
        }
    }
    return silent != NULL ? silent : trib_placement_at(job, sequence);
}
