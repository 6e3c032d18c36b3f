/* SPDX-License-Identifier: Apache-2.0 */
/* atp_play.c: one run: links keep the order, but for late packets, by a named fault or at random. Read next:
 * atp_story.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/atp.h"

#define FLYING 4096U
#define HUNG_NS (3000 * DEMO_MS)
#define JITTER_NS (2 * DEMO_US)

struct flying {
    uint64_t time_ns, order;
    uint64_t ranks; /* to a server: behind the sender; from a server: the receivers */
    enum demo_link link;
    uint32_t job, rank;
    struct demo_parcel parcel;
};

struct play {
    struct demo_atp_stage stage;
    struct demo_atp_seen *seen;
    struct demo_story *story;
    struct trib_prng prng;
    struct flying flying[FLYING];
    uint32_t count;
    uint64_t order;
    uint64_t moved_ns;                                             /* a worker last took a result */
    uint64_t link_ns[DEMO_LINKS][DEMO_ATP_JOBS][DEMO_ATP_WORKERS]; /* last arrival */
    uint32_t passed[DEMO_ATP_FAULTS];                              /* packets that matched a fault */
};

/* ---- lines of a story ---- */

static void name_place(char *text, size_t size, bool is_worker, uint32_t rank, const char *other)
{
    if (is_worker) {
        (void)snprintf(text, size, "worker %u", rank);
    } else {
        (void)snprintf(text, size, "%s", other);
    }
}

/* A new line for a packet; the caller writes the text. */
static struct demo_step *line(struct play *p, const struct flying *f, enum demo_tone tone)
{
    static struct demo_step none;
    struct demo_step *step = p->story != NULL ? &p->story->steps[p->story->count] : &none;

    if (p->story != NULL) {
        p->story->count += p->story->count < DEMO_STEPS_MAX - 1;
    }
    *step = (struct demo_step){.time_ns = p->stage.now_ns - DEMO_MS,
                               .fragment = f->parcel.packet.sequence,
                               .value = demo_value(&f->parcel),
                               .has_value = f->parcel.packet.payload_len != 0,
                               .kind = trib_kind_name((enum trib_kind)f->parcel.packet.kind),
                               .tone = tone};
    name_place(step->from, sizeof step->from, f->link == DEMO_UP, f->rank,
               f->link == DEMO_FROM_SERVER ? "server" : "switch");
    name_place(step->to, sizeof step->to, f->link == DEMO_DOWN, f->rank,
               f->link == DEMO_TO_SERVER ? "server" : "switch");
    return step;
}

/* ---- links ---- */

static bool has_payload(const struct flying *f)
{
    return (f->parcel.packet.kind == TRIB_CONTRIBUTION || f->parcel.packet.kind == TRIB_RESULT) &&
           f->parcel.packet.payload_len != 0;
}

/* The named fault of the packet; NULL: none. */
static const struct demo_atp_fault *fault_of(struct play *p, const struct flying *f)
{
    const struct demo_atp_config *config = p->stage.config;
    const struct demo_atp_fault *found = NULL;

    for (uint32_t i = 0; i < config->fault_count; i++) { /* each counts */
        const struct demo_atp_fault *fault = &config->faults[i];
        bool is_rank = (f->link != DEMO_UP && f->link != DEMO_DOWN) || fault->rank == f->rank;
        if (fault->link == f->link && is_rank && f->job == 0 && fault->sequence == f->parcel.packet.sequence &&
            has_payload(f) && p->passed[i]++ == fault->behind) {
            found = fault;
        }
    }
    return found;
}

static void put(struct play *p, const struct flying *f, uint64_t late_ns, bool keeps_order)
{
    uint64_t *last = &p->link_ns[f->link][f->job][f->rank];
    uint64_t jitter = p->stage.config->seed != 0 ? trib_prng_below(&p->prng, JITTER_NS) : 0;
    struct flying *to = &p->flying[p->count];

    if (p->count == FLYING) {
        return; /* lost */
    }
    p->count++;
    *to = *f;
    to->order = p->order++;
    to->time_ns = p->stage.now_ns + DEMO_ATP_HOP_NS + jitter + late_ns;
    if (keeps_order) {
        to->time_ns = to->time_ns > *last ? to->time_ns : *last;
        *last = to->time_ns;
    }
}

static void apply(struct play *p, const struct flying *f, const struct demo_atp_fault *fault)
{
    static const char *const texts[] = {
        [DEMO_LOST] = "LOST on the way", [DEMO_LATE] = "is LATE", [DEMO_COPIED] = "is COPIED, and the copy is late"};

    (void)snprintf(line(p, f, DEMO_FAULT)->text, DEMO_TEXT_MAX, "%s", texts[fault->fate]);
    if (fault->fate == DEMO_COPIED) {
        put(p, f, 0, true);
    }
    if (fault->fate != DEMO_LOST) {
        put(p, f, fault->late_ns, false);
    }
}

static void transmit(struct play *p, const struct flying *f)
{
    const struct demo_atp_config *config = p->stage.config;
    const struct demo_atp_fault *fault = fault_of(p, f);

    p->seen->packets++;
    if (fault != NULL) {
        apply(p, f, fault);
        return;
    }
    if (config->seed != 0 && trib_prng_chance(&p->prng, config->loss)) {
        return;
    }
    bool is_late = config->seed != 0 && trib_prng_chance(&p->prng, config->late);
    bool is_copied = is_late && trib_prng_below(&p->prng, 2) == 0;
    if (!is_late || is_copied) {
        put(p, f, 0, true);
    }
    if (is_late) {
        put(p, f, trib_prng_below(&p->prng, config->late_ns + 1), false);
    }
}

/* ---- departures ---- */

static void drain_worker(struct play *p, uint32_t job, uint32_t rank)
{
    struct flying f = {.link = DEMO_UP, .job = job, .rank = rank};

    while (!p->stage.jobs[job].has_failed && demo_atp_worker_sends(&p->stage, job, rank, &f.parcel)) {
        transmit(p, &f);
    }
}

static void drain_server(struct play *p, uint32_t job)
{
    struct demo_atp_job *j = &p->stage.jobs[job];
    struct flying f = {.link = DEMO_FROM_SERVER, .job = job};

    while (demo_atp_server_sends(&p->stage, job, &f.parcel, &f.ranks)) {
        if (j->overlap_ns != 0 && f.parcel.packet.kind == TRIB_RESULT &&
            f.parcel.packet.sequence == j->overlap_sequence) {
            uint64_t waited_ns = p->stage.now_ns - j->overlap_ns;
            p->seen->waited_ns = waited_ns > p->seen->waited_ns ? waited_ns : p->seen->waited_ns;
            j->overlap_ns = 0;
        }
        transmit(p, &f);
    }
}

/* ---- arrivals ---- */

static const char *rows_text(enum trib_combined fate, const struct trib_packet *packet)
{
    if (fate == TRIB_COMBINED_TAKEN) {
        return "added to its row";
    }
    if (fate == TRIB_COMBINED_DROPPED) {
        return "dropped";
    }
    return (packet->bitmap & (packet->bitmap - 1)) != 0 ? "goes on, with the parts in its row" : "goes on alone";
}

static void arrive_up(struct play *p, struct flying *f)
{
    struct flying next = {.link = DEMO_TO_SERVER, .ranks = trib_all_children(p->stage.config->workers)};
    struct flying before = *f;
    enum trib_combined fate = demo_atp_rows_take(&p->stage, f->job, f->rank, &f->parcel);

    (void)snprintf(line(p, &before, DEMO_PLAIN)->text, DEMO_TEXT_MAX, "%s", rows_text(fate, &f->parcel.packet));
    while (demo_atp_rows_send(&p->stage, &next.parcel, &next.job)) {
        transmit(p, &next);
    }
    if (fate == TRIB_COMBINED_PASS) {
        next.job = f->job;
        next.parcel = f->parcel;
        transmit(p, &next);
    }
}

static void arrive_at_server(struct play *p, struct flying *f)
{
    struct demo_atp_job *j = &p->stage.jobs[f->job];
    struct flying before = *f;
    enum trib_drop drop = demo_atp_server_takes(&p->stage, f->job, f->ranks, &f->parcel);
    struct demo_step *step = line(p, &before, drop == TRIB_DROP_OVERLAP ? DEMO_BAD : DEMO_PLAIN);

    (void)snprintf(step->text, DEMO_TEXT_MAX, "%s%s", drop != TRIB_DROP_NONE ? "dropped: " : "taken",
                   drop != TRIB_DROP_NONE ? trib_drop_text(drop) : "");
    if (drop == TRIB_DROP_OVERLAP) {
        p->seen->overlaps++;
        j->overlap_ns = p->stage.now_ns;
        j->overlap_sequence = f->parcel.packet.sequence;
    }
    drain_server(p, f->job);
}

/* Answers for all workers pass the rows; answers for some go to each worker alone. */
static void arrive_from_server(struct play *p, struct flying *f)
{
    struct flying next = {.link = DEMO_DOWN, .job = f->job, .parcel = f->parcel};

    if (f->ranks == trib_all_children(p->stage.config->workers)) {
        demo_atp_rows_pass(&p->stage, f->job, &f->parcel);
    }
    for (uint64_t ranks = f->ranks; ranks != 0; ranks &= ranks - 1) {
        next.rank = (uint32_t)__builtin_ctzll(ranks);
        transmit(p, &next);
    }
}

static void arrive_down(struct play *p, struct flying *f)
{
    struct flying before = *f;
    enum trib_drop drop = demo_atp_worker_takes(&p->stage, f->job, f->rank, &f->parcel);
    bool is_result = f->parcel.packet.kind == TRIB_RESULT;
    bool is_wrong =
        (drop == TRIB_DROP_NONE || drop == TRIB_DROP_LANE) && demo_atp_is_wrong(&p->stage, f->job, &before.parcel);
    enum demo_tone tone = is_wrong ? DEMO_BAD : is_result && drop == TRIB_DROP_NONE ? DEMO_GOOD : DEMO_PLAIN;
    struct demo_step *step = line(p, &before, tone);

    if (is_wrong) {
        (void)snprintf(step->text, DEMO_TEXT_MAX, "WRONG, should be %" PRId32 ": %s",
                       demo_atp_right(&p->stage, f->job, f->parcel.packet.sequence),
                       drop == TRIB_DROP_LANE ? "refused by the lane" : "taken");
    } else {
        (void)snprintf(step->text, DEMO_TEXT_MAX, "%s",
                       drop != TRIB_DROP_NONE                  ? trib_drop_text(drop)
                       : is_result                             ? "right"
                       : before.parcel.packet.kind == TRIB_ASK ? "send your part again"
                                                               : "the others' parts are waited for");
    }
    if (is_result && drop == TRIB_DROP_NONE) {
        p->moved_ns = p->stage.now_ns;
    }
    drain_worker(p, f->job, f->rank);
}

/* ---- a run ---- */

static bool is_over(const struct play *p)
{
    uint32_t ended = 0;

    for (uint32_t job = 0; job < p->stage.config->jobs; job++) {
        ended += p->stage.jobs[job].has_failed ? p->stage.config->workers : 0;
    }
    return p->seen->done + ended >= p->stage.config->jobs * p->stage.config->workers;
}

static void arrive(struct play *p, uint32_t at)
{
    static void (*const arrivals[])(struct play *, struct flying *) = {[DEMO_UP] = arrive_up,
                                                                       [DEMO_TO_SERVER] = arrive_at_server,
                                                                       [DEMO_FROM_SERVER] = arrive_from_server,
                                                                       [DEMO_DOWN] = arrive_down};
    struct flying f = p->flying[at];

    p->flying[at] = p->flying[--p->count];
    p->stage.now_ns = f.time_ns > p->stage.now_ns ? f.time_ns : p->stage.now_ns;
    arrivals[f.link](p, &f);
}

/* The worker with the first timer; false: none has one. */
static bool find_timer(const struct play *p, uint64_t *time_ns, uint32_t *job, uint32_t *rank)
{
    *time_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < p->stage.config->jobs * p->stage.config->workers; i++) {
        const struct demo_atp_job *j = &p->stage.jobs[i / p->stage.config->workers];
        uint64_t at_ns =
            j->has_failed ? TRIB_NEVER
                          : p->stage.config->scheme->worker->node.next_timeout(j->worker[i % p->stage.config->workers]);
        if (at_ns < *time_ns) {
            *time_ns = at_ns;
            *job = i / p->stage.config->workers;
            *rank = i % p->stage.config->workers;
        }
    }
    return *time_ns != TRIB_NEVER;
}

/* The packet to arrive first; FLYING: none. */
static uint32_t find_packet(const struct play *p)
{
    uint32_t first = FLYING;

    for (uint32_t i = 0; i < p->count; i++) {
        const struct flying *f = &p->flying[i];
        if (first == FLYING || f->time_ns < p->flying[first].time_ns ||
            (f->time_ns == p->flying[first].time_ns && f->order < p->flying[first].order)) {
            first = i;
        }
    }
    return first;
}

/* The next packet or, while somebody waits, timer; false: neither, or nothing has moved for long. */
static bool step(struct play *p)
{
    uint64_t timer_ns;
    uint32_t job = 0;
    uint32_t rank = 0;
    uint32_t packet = find_packet(p);
    bool has_timer = !is_over(p) && find_timer(p, &timer_ns, &job, &rank);

    if (!is_over(p) && p->stage.now_ns > p->moved_ns + HUNG_NS) {
        return false;
    }
    if (packet != FLYING && (!has_timer || p->flying[packet].time_ns <= timer_ns)) {
        arrive(p, packet);
        return true;
    }
    if (!has_timer) {
        return false;
    }
    p->stage.now_ns = timer_ns > p->stage.now_ns ? timer_ns : p->stage.now_ns;
    p->stage.config->scheme->worker->node.on_timeout(p->stage.jobs[job].worker[rank], p->stage.now_ns);
    drain_worker(p, job, rank);
    return true;
}

bool demo_atp_play(const struct demo_atp_config *config, struct demo_atp_seen *seen, struct demo_story *story)
{
    struct play *p = calloc(1, sizeof *p);
    bool is_open = false;

    *seen = (struct demo_atp_seen){0};
    if (p != NULL) {
        p->seen = seen;
        p->story = story;
        p->prng.state = config->seed;
        is_open = demo_atp_open(&p->stage, config, seen);
    }
    if (is_open) {
        p->moved_ns = p->stage.now_ns;
        for (uint32_t i = 0; i < config->jobs * config->workers; i++) {
            drain_worker(p, i / config->workers, i % config->workers);
        }
        while (step(p)) {
        }
        seen->hung = is_over(p) ? 0 : config->jobs * config->workers - seen->done;
        if (seen->hung == 0 && seen->failed == 0) {
            demo_atp_count_rows(&p->stage);
        }
    }
    if (p != NULL) {
        demo_atp_close(&p->stage);
        free(p);
    }
    return is_open;
}
