/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c: a case as one rank executes it: settings, steps, the end. Read next: calls.c, ends.c. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pthread.h>

#include "api/api.h"
#include "io/clock.h"
#include "io/memory.h"

#define JOIN_S 6
#define OPERATION_S 15
#define SWITCH_S 10
#define LINGER_NS (50 * TRIB_MILLISECOND_NS) /* of a rank that exits beside others that go on */
#define LATE_NS (300 * TRIB_MILLISECOND_NS)

/* ---- settings ---- */

static void set_place(const struct api_run *run, struct trib_config *config)
{
    const struct api_case *c = run->c;
    enum api_place place = (enum api_place)c->setting[API_PLACE];
    uint32_t a_host = (uint32_t)c->setting[API_A_HOST];
    if (place == API_NONE) {
        (void)snprintf(config->rendezvous, sizeof config->rendezvous, "127.0.0.1:%u", run->shared->rendezvous_port);
    } else if (place == API_NOWHERE) {
        (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u",
                       run->shared->rendezvous_port);
        config->join_timeout_ns = LATE_NS;
    } else if (place != API_HOST) {
        (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u",
                       api_place_port(c, run->rank));
    }
    if (place != API_HOST) {
        (void)snprintf(config->host_id, sizeof config->host_id, "host-%u", run->rank / (a_host > 0 ? a_host : 1));
    }
    config->level0 = place == API_HOST || a_host > 0;
}

static void set_seal(enum api_seal seal, struct trib_config *config)
{
    config->key_len = seal != API_OPEN ? sizeof API_KEY - 1 : 0;
    memcpy(config->key, API_KEY, config->key_len);
    config->encrypt = seal == API_ENCRYPTED || seal == API_SAMPLED_BOTH;
    config->sample = seal == API_SAMPLED ? 1 : seal == API_SAMPLED_BOTH ? 7 : 0;
}

static void set_odd(const struct api_case *c, struct trib_config *config)
{
    switch ((enum api_odd)c->setting[API_ODD]) {
    case API_ODD_RANKS:
        config->ranks++;
        return;
    case API_ODD_SCHEME:
        (void)snprintf(config->scheme, sizeof config->scheme, "%s",
                       c->setting[API_SCHEME] == API_SWITCHML ? "panama" : "switchml");
        return;
    case API_ODD_WIRE:
        config->wire = config->wire == TRIB_WIRE_FLOAT32 ? TRIB_WIRE_BFLOAT16 : TRIB_WIRE_FLOAT32;
        return;
    case API_ODD_PAYLOAD:
        config->payload = config->payload == 512 ? 576 : 512;
        return;
    case API_ODD_WINDOW:
        config->window = config->window == 8192 ? 16384 : 8192;
        return;
    case API_ODD_INVALID_RANK:
        config->rank = config->ranks;
        return;
    case API_ODD_INVALID_PAYLOAD:
        config->payload = 100;
        return;
    case API_ODD_INVALID_WIRE:
        config->wire = (enum trib_wire)2;
        return;
    case API_ODD_INVALID_SCHEME:
        (void)snprintf(config->scheme, sizeof config->scheme, "panama:1/9");
        return;
    case API_ODD_INVALID_JOB:
        config->job[0] = '\0';
        return;
    case API_ODD_INVALID_RATE:
        config->faults.loss = 1.5;
        return;
    case API_ODD_INVALID_PLACES:
        (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:9");
        (void)snprintf(config->rendezvous, sizeof config->rendezvous, "127.0.0.1:9");
        return;
    case API_ODD_NOTHING:
    case API_ODDS:
        return;
    }
}

static bool is_odd(const struct api_run *run)
{
    return run->c->setting[API_ODD] != API_ODD_NOTHING && run->c->setting[API_ODD_RANK] == run->rank;
}

void api_configure(const struct api_run *run, struct trib_config *config)
{
    const int64_t *s = run->c->setting;
    uint64_t patience = run->shared->patience;
    trib_config_init(config);
    (void)snprintf(config->job, sizeof config->job, "api-%d-%llu", run->shared->owner,
                   (unsigned long long)run->shared->number);
    (void)snprintf(config->scheme, sizeof config->scheme, "%s", api_scheme_name(s[API_SCHEME]));
    config->rank = run->rank;
    config->ranks = (uint32_t)s[API_RANKS];
    config->wire = (enum trib_wire)s[API_WIRE];
    config->payload = (uint32_t)s[API_PAYLOAD];
    config->window = (uint32_t)s[API_WINDOW];
    config->progress_thread = s[API_PROGRESS] != 0;
    config->multicast = s[API_MULTICAST] != 0;
    config->trains = s[API_TRAINS] != 0;
    config->fallback = s[API_FALLBACK] != 0;
    config->faults =
        (struct trib_faults){(double)s[API_LOSS] / 1000, (double)s[API_DUPLICATE] / 1000, (double)s[API_REORDER] / 1000,
                             (double)s[API_CORRUPT] / 1000, run->shared->number * API_RANKS_MAX + run->rank};
    config->join_timeout_ns = JOIN_S * TRIB_SECOND_NS * patience;
    config->timeout_ns = OPERATION_S * TRIB_SECOND_NS * patience;
    config->switch_timeout_ns = SWITCH_S * TRIB_SECOND_NS * patience;
    for (uint32_t i = 0; i < run->c->steps; i++) {
        if (run->c->step[i].kind == API_STEP_LOSE || run->c->step[i].kind == API_STEP_HALFWAY) {
            config->switch_timeout_ns = TRIB_SECOND_NS / 2;
        }
        if (run->c->step[i].kind == API_STEP_EXIT) {
            config->linger_ns = LINGER_NS;
        }
    }
    set_place(run, config);
    set_seal((enum api_seal)s[API_SEAL], config);
    if (is_odd(run)) {
        set_odd(run->c, config);
    }
}

/* Statuses of trib_comm_create, as bits. */
static uint32_t joins_with(const struct api_run *run)
{
    int64_t odd = run->c->setting[API_ODD];
    if (odd >= API_ODD_INVALID_RANK && is_odd(run)) {
        return API_BIT(TRIB_ERR_INVALID);
    }
    if (run->c->setting[API_PLACE] == API_NOWHERE) {
        return API_BIT(TRIB_ERR_UNREACHABLE);
    }
    return odd == API_ODD_NOTHING ? API_BIT(TRIB_OK) : API_BIT(TRIB_ERR_SETTINGS);
}

static bool join(struct api_run *run)
{
    struct trib_config config;
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char what[TRIB_ERROR_TEXT_MAX + 64];
    api_configure(run, &config);
    enum trib_status status = trib_comm_create(&config, &comm, error);
    (void)snprintf(what, sizeof what, "trib_comm_create (%s)", error);
    if (!api_expect(run, what, status, joins_with(run), NULL) || status != TRIB_OK) {
        if (status != TRIB_OK && (error[0] == '\0' || comm != NULL || strchr(error, '\n') != NULL)) {
            api_fail(run, "trib_comm_create failed: text \"%s\", communicator %p", error, (void *)comm);
        }
        if (status == TRIB_OK) {
            (void)trib_comm_close(comm);
        }
        return false;
    }
    struct api_view *view = &run->view[run->views++];
    view->comm = comm;
    view->members = (struct api_members){.count = config.ranks, .me = run->rank};
    for (uint32_t i = 0; i < config.ranks; i++) {
        view->members.rank[i] = i;
    }
    return true;
}

/* ---- communicators made of others ---- */

/* Groups of two ranks; in the memory of one host there are none. */
static bool needs_pairs(const struct api_case *c)
{
    return c->setting[API_PLACE] != API_HOST && strncmp(api_scheme_name(c->setting[API_SCHEME]), "hybrid", 6) == 0;
}

void api_step_make(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    struct api_view *next = &run->view[run->views++];
    struct trib_comm *made = view->comm;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    bool splits = step->kind == API_STEP_SPLIT;
    bool is_invalid = splits && api_color(step, (uint32_t)step->field[API_RANK]) < TRIB_NO_COLOR;
    char what[TRIB_ERROR_TEXT_MAX + 64];
    enum trib_status status;

    memset(next, 0, sizeof *next);
    if (splits) {
        api_split(step, &view->members, &next->members);
        status = trib_comm_split(view->comm, api_color(step, view->members.me), api_key(step, view->members.me), &made,
                                 error);
    } else {
        uint32_t list[API_RANKS_MAX];
        api_subset(step, &view->members, &next->members);
        if (next->members.count == 0) {
            return;
        }
        for (uint32_t i = 0; i < next->members.count; i++) { /* by their numbers in the maker */
            for (list[i] = 0; view->members.rank[list[i]] != next->members.rank[i]; list[i]++) {
            }
        }
        status = trib_comm_subset(view->comm, list, next->members.count, run->step, &made, error);
    }
    (void)snprintf(what, sizeof what, "step %u: split or subset (%s)", run->step, error);
    is_invalid = is_invalid && (uint32_t)step->field[API_RANK] < view->members.count;
    is_invalid = is_invalid || (needs_pairs(run->c) && next->members.count % 2 != 0);
    uint32_t wanted = is_invalid ? API_BIT(TRIB_ERR_INVALID) : API_BIT(TRIB_OK);
    if (!api_expect(run, what, status, wanted, view->comm) || status != TRIB_OK) {
        next->members.count = 0;
        return;
    }
    if ((made == NULL) != (next->members.count == 0)) {
        api_fail(run, "step %u: split gave %s", run->step, made == NULL ? "nothing" : "a communicator");
        next->members.count = 0;
        return;
    }
    next->comm = made;
    if (made != NULL && (trib_comm_rank(made) != next->members.me || trib_comm_ranks(made) != next->members.count)) {
        api_fail(run, "step %u: rank %u of %u, and not %u of %u", run->step, trib_comm_rank(made),
                 trib_comm_ranks(made), next->members.me, next->members.count);
    }
}

static void close_view(struct api_run *run, struct api_view *view)
{
    if (view->comm == NULL) {
        return;
    }
    api_collect(run, view);
    char what[2 * TRIB_ERROR_TEXT_MAX];
    (void)snprintf(what, sizeof what, "trib_comm_close (%s)", trib_comm_error(view->comm));
    enum trib_status status = trib_comm_close(view->comm);
    view->comm = NULL;
    view->members.count = 0;
    (void)api_expect(run, what, status, view->ended != 0 ? view->ended : API_BIT(TRIB_OK), NULL);
}

/* ---- threads ---- */

struct stream {
    struct api_run *run;
    struct api_view *view;
    struct api_step step;
};

static void *run_stream(void *argument)
{
    struct stream *stream = argument;
    api_make_call(stream->run, stream->view, &stream->step);
    return NULL;
}

/* The same calls on two communicators at once; the second thread's have another salt. */
static void step_threads(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    struct api_view *other = &run->view[(uint32_t)step->field[API_MODE] % run->views];
    struct stream streams[2] = {{run, view, *step}, {run, other, *step}};
    pthread_t thread;
    streams[1].step.field[API_SALT] += 1000;
    bool has_other = other != view && other->comm != NULL && other->ended == 0;
    if (has_other && pthread_create(&thread, NULL, run_stream, &streams[1]) != 0) {
        (void)fprintf(stderr, "api: no thread\n");
        abort();
    }
    if (view->comm != NULL && view->ended == 0) {
        (void)run_stream(&streams[0]);
    }
    if (has_other) {
        (void)pthread_join(thread, NULL);
    }
}

/* ---- steps ---- */

static void step_ask(struct api_run *run, struct api_view *view)
{
    struct trib_comm_stats stats;
    bool has_text = trib_comm_error(view->comm)[0] != '\0';
    trib_comm_stats(view->comm, &stats);
    trib_comm_progress(view->comm);
    trib_comm_set_timeout(view->comm, OPERATION_S * TRIB_SECOND_NS * run->shared->patience);
    if (trib_comm_rank(view->comm) != view->members.me || trib_comm_ranks(view->comm) != view->members.count ||
        trib_comm_job(view->comm)[0] == '\0' || trib_comm_scheme(view->comm)[0] == '\0' ||
        has_text != (run->refused == view)) {
        api_fail(run, "step %u: rank %u, ranks %u, job %s, scheme %s, error \"%s\"", run->step,
                 trib_comm_rank(view->comm), trib_comm_ranks(view->comm), trib_comm_job(view->comm),
                 trib_comm_scheme(view->comm), trib_comm_error(view->comm));
    }
}

/* All ranks are between two steps, and one kills and starts the switch; or they have requests under way. */
static void step_restart(struct api_run *run, const struct api_step *step)
{
    api_meet(run);
    if (run->rank == 0 && !api_place_restart(run->c, (uint32_t)step->field[API_MODE])) {
        atomic_store(&run->shared->skipped, 1);
    }
    api_meet(run);
}

static void take_step(struct api_run *run, const struct api_step *step)
{
    struct api_view *view = &run->view[(uint32_t)step->field[API_COMM] % run->views];
    bool is_here = view->comm != NULL && view->ended == 0;
    if (step->kind == API_STEP_RESTART) {
        step_restart(run, step);
        run->is_away = true;
        return;
    }
    if (step->kind == API_STEP_THREADS) {
        step_threads(run, view, step);
        return;
    }
    if (step->kind == API_STEP_LAUNCHES) {
        api_step_launches(run, step);
        return;
    }
    if (step->kind >= API_STEP_DIFFER || step->kind == API_STEP_FORK) {
        if (step->kind == API_STEP_FORK) {
            api_step_fork(run, view, step);
        } else {
            api_step_end(run, view, step);
        }
        return;
    }
    if (!is_here) {
        if (step->kind == API_STEP_SPLIT || step->kind == API_STEP_SUBSET) {
            memset(&run->view[run->views++], 0, sizeof run->view[0]); /* numbers are the same on all ranks */
        }
        return;
    }
    switch ((int)step->kind) {
    case API_STEP_CALL:
        api_make_call(run, view, step);
        return;
    case API_STEP_GROUP:
        api_make_group(run, view, step);
        return;
    case API_STEP_WAIT:
        api_collect(run, view);
        return;
    case API_STEP_INVALID:
        api_make_invalid(run, view, step);
        return;
    case API_STEP_SPLIT:
    case API_STEP_SUBSET:
        api_step_make(run, view, step);
        return;
    case API_STEP_CLOSE:
        close_view(run, view);
        return;
    default:
        step_ask(run, view);
        return;
    }
}

void api_rank_run(const struct api_case *c, struct api_shared *shared, uint32_t rank)
{
    struct api_run *run = trib_memory_map(sizeof *run); /* most of it has no use in most cases */
    if (run == NULL) {
        abort();
    }
    run->c = c;
    run->shared = shared;
    run->rank = rank;
    run->seat = &shared->seat[rank];
    atomic_store(&run->seat->step, API_STEPS_MAX);
    if (join(run)) {
        for (run->step = 0; run->step < c->steps && shared->skipped == 0; run->step++) {
            atomic_store(&run->seat->step, run->step);
            take_step(run, &c->step[run->step]);
        }
        atomic_store(&run->seat->step, API_STEPS_MAX + 1);
        for (uint32_t i = run->views; i-- > 0;) {
            close_view(run, &run->view[i]);
        }
    }
    atomic_store(&run->seat->step, API_STEPS_MAX + 2);
    trib_memory_unmap(run, sizeof *run);
}
