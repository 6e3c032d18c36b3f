/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: see run.h. Order of timers: sources by number; one each for the warm-up's end, the window's end, slots,
 * failures, faults, restarts, stopped ports and ended jobs; then jobs; then flows. Read next: results.c. */
#include "sim/run.h"

#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "io/explain.h"
#include "io/nearest.h"
#include "sim/jobs/steps.h"
#include "sim/network/gates.h"

#define TIMER_WARM SIM_SOURCES_MAX
#define TIMER_WINDOW (TIMER_WARM + 1)
#define TIMER_SLOTS (TIMER_WINDOW + 1)
#define TIMER_FAILURES (TIMER_SLOTS + 1)
#define TIMER_FAULTS (TIMER_FAILURES + 1)
#define TIMER_RESTARTS (TIMER_FAULTS + 1)
#define TIMER_WATCH (TIMER_RESTARTS + 1)
#define TIMER_ENDED (TIMER_WATCH + 1)
#define TIMER_JOBS (TIMER_ENDED + 1)

#define WATCH_PS UINT64_C(1000000000)      /* delay from a port's stop to the deadlock search */
#define ADVANCE_PS UINT64_C(1000000000000) /* limit of an advance: a network without arrivals has few hops */

static bool is_of_job(const struct sim_run *run, uint32_t packet)
{
    return run->network.packets[packet].kind == SIM_JOB_KIND;
}

/* True if all flows and iterations that began in the window have ended. */
static bool is_measured(const struct sim_run *run)
{
    uint64_t end_ps = run->scenario->warmup_ps + run->scenario->window_ps;

    if (!run->is_behind || run->end_count != run->begun) {
        return false;
    }
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        const struct sim_job *job = &run->jobs.jobs[i];
        bool has_begun = job->state == SIM_JOB_OPEN && job->iterations != job->config.iterations;
        if (has_begun && job->log[job->iterations].begun_ps < end_ps) {
            return false;
        }
    }
    return true;
}

static bool is_done(const struct sim_run *run)
{
    return (run->jobs.count != 0 && run->jobs.done_jobs == run->jobs.count) || is_measured(run);
}

static void on_arrived(void *user, uint32_t packet)
{
    struct sim_run *run = user;

    if (is_of_job(run, packet)) {
        sim_jobs_arrived(&run->jobs, packet);
        run->network.stop = is_done(run);
    } else {
        sim_flows_arrived(&run->flows, packet);
    }
}

static void on_dropped(void *user, uint32_t packet)
{
    struct sim_run *run = user;

    if (is_of_job(run, packet)) {
        sim_jobs_dropped(&run->jobs, packet);
    } else {
        sim_flows_dropped(&run->flows, packet);
    }
}

/* In a run with faults. */
static void on_arrived_faulty(void *user, uint32_t packet)
{
    struct sim_run *run = user;
    bool is_passing = is_of_job(run, packet) && sim_jobs_passes(&run->jobs, packet);
    enum sim_fate fate = is_passing ? SIM_FATE_COMES : sim_faults_draw(&run->faults, packet);

    if (is_passing) {
        on_arrived(user, packet);
    } else if (fate == SIM_FATE_LOST) {
        on_dropped(user, packet);
        sim_packet_free(&run->network, packet);
    } else if (fate == SIM_FATE_COMES) {
        uint32_t copy = sim_faults_copy(&run->faults, packet);
        if (copy != SIM_NONE && is_of_job(run, copy)) {
            sim_jobs_copied(&run->jobs, copy);
        } else if (copy != SIM_NONE) {
            sim_flows_copied(&run->flows, copy);
        }
        on_arrived(user, packet);
    }
}

static void on_faults(struct sim_run *run)
{
    uint32_t packet = sim_faults_due(&run->faults);

    while (packet != SIM_NONE) {
        on_arrived(run, packet);
        packet = sim_faults_due(&run->faults);
    }
}

static void on_soon(void *user, uint32_t packet)
{
    const struct sim_run *run = user;

    if (is_of_job(run, packet)) {
        sim_jobs_soon(&run->jobs, packet);
    } else {
        sim_flows_soon(&run->flows, packet);
    }
}

static void on_sooner(void *user, uint32_t packet)
{
    const struct sim_run *run = user;

    if (is_of_job(run, packet)) {
        sim_jobs_sooner(&run->jobs, packet);
    } else {
        sim_flows_sooner(&run->flows, packet);
    }
}

/* Searches for a deadlock, and again later while any port is stopped. A later cut or repair of a cable could open a
 * circle. */
static void on_watch(struct sim_run *run)
{
    struct sim_network *n = &run->network;
    bool may_change = sim_timer_due(&n->events, TIMER_FAILURES) <= run->scenario->duration_ps;

    if (n->gates->stopped == 0) {
        return;
    }
    if (!may_change) {
        TRIB_ASSERT(sim_deadlock_find(&run->deadlock, n));
    }
    if (run->deadlock.count != 0) {
        n->stop = true;
    } else {
        sim_timer_set(&n->events, TIMER_WATCH, sim_network_now(n) + WATCH_PS);
    }
}

/* ---- jobs and their hosts ---- */

static void take_host(struct sim_queue *q, uint64_t at)
{
    memmove(q->hosts + at, q->hosts + at + 1, (q->host_count - at - 1) * sizeof *q->hosts);
    q->host_count--;
}

static void return_host(struct sim_queue *q, uint32_t host)
{
    uint32_t at = q->host_count++;

    for (; at != 0 && q->hosts[at - 1] > host; at--) {
        q->hosts[at] = q->hosts[at - 1];
    }
    q->hosts[at] = host;
}

/* Chooses hosts for a job's workers: the hosts that the job names, the lowest free hosts, or random ones. */
static void choose_hosts(const struct sim_job_config *config, struct sim_queue *q, uint32_t *hosts)
{
    for (uint32_t rank = 0; rank < sim_job_hosts(config); rank++) {
        if (config->hosts != NULL) {
            hosts[rank] = config->hosts[rank];
            continue;
        }
        uint64_t at = config->placement == SIM_RANDOM ? trib_prng_below(&q->prng, q->host_count) : 0;
        hosts[rank] = q->hosts[at];
        take_host(q, at);
    }
}

/* Lists the hosts that no job names. */
static void list_hosts(const struct sim_run *run, struct sim_queue *q)
{
    const struct sim_scenario *s = run->scenario;

    for (uint32_t i = 0; i < run->network.hosts; i++) {
        q->hosts[q->host_count++] = i;
    }
    for (uint32_t i = 0; i < s->job_count; i++) {
        for (uint32_t rank = 0; s->jobs[i].hosts != NULL && rank < sim_job_hosts(&s->jobs[i]); rank++) {
            uint32_t at = 0;
            while (at < q->host_count && q->hosts[at] != s->jobs[i].hosts[rank]) {
                at++;
            }
            TRIB_ASSERT(at < q->host_count);
            take_host(q, at);
        }
    }
}

static bool refuse(struct sim_run *run, enum sim_unfit unfit, uint32_t number)
{
    run->unfit = unfit;
    run->unfit_number = number;
    return false;
}

/* Places the next waiting job if enough hosts are free. False: error says why the job is impossible. */
static bool place_next(struct sim_run *run, bool *is_placed, char *error)
{
    struct sim_queue *q = &run->queue;
    uint32_t number = q->jobs[q->at];
    const struct sim_job_config *config = &run->jobs.jobs[number].config;

    *is_placed = config->hosts != NULL || sim_job_hosts(config) <= q->host_count;
    if (!*is_placed) {
        return true;
    }
    uint32_t *hosts = malloc(sim_job_hosts(config) * sizeof *hosts);
    if (hosts == NULL) {
        trib_explain(error, "out of memory");
        return false;
    }
    choose_hosts(config, q, hosts);
    bool is_good = sim_jobs_place(&run->jobs, number, hosts, error);
    free(hosts);
    q->at++;
    return is_good || refuse(run, SIM_UNFIT_JOB, q->tables[number]);
}

/* Closes ended jobs and gives their hosts to waiting jobs. */
static void on_jobs_ended(struct sim_run *run)
{
    struct sim_jobs *j = &run->jobs;
    struct sim_queue *q = &run->queue;
    bool is_placed = true;
    bool is_good = true;

    while (j->ended != SIM_NONE) {
        uint32_t number = j->ended;
        const struct sim_job *job = &j->jobs[number];
        j->ended = job->next_ended;
        sim_jobs_close(j, number);
        for (uint32_t i = 0; job->config.hosts == NULL && i < sim_job_hosts(&job->config); i++) {
            return_host(q, sim_job_host(j, job, i));
        }
    }
    while (is_good && is_placed && q->at < q->count) {
        uint32_t number = q->jobs[q->at];
        char cause[TRIB_ERROR_TEXT_MAX] = "";
        is_good = place_next(run, &is_placed, cause) && (!is_placed || sim_jobs_open_late(j, number, cause));
        if (!is_good) {
            memcpy(run->refusal, cause, sizeof cause);
        }
    }
    run->network.stop |= !is_good;
}

/* ---- events ---- */

static void on_timer(void *user, uint32_t timer)
{
    struct sim_run *run = user;

    if (timer >= run->flows.first_timer) {
        sim_flows_timer(&run->flows, timer);
    } else if (timer >= TIMER_JOBS) {
        sim_jobs_timer(&run->jobs, timer);
        run->network.stop = is_done(run);
    } else if (timer == TIMER_WATCH) {
        on_watch(run);
    } else if (timer == TIMER_FAULTS) {
        on_faults(run);
    } else if (timer == TIMER_RESTARTS) {
        sim_restarts_timer(&run->restarts);
    } else if (timer == TIMER_FAILURES) {
        TRIB_ASSERT(sim_failures_timer(&run->failures));
    } else if (timer == TIMER_WARM) {
        run->is_warm = true;
        run->warm_bytes = run->flows.bytes;
        run->begun = 0;
    } else if (timer == TIMER_WINDOW) {
        run->is_behind = true;
        run->end_bytes = run->flows.bytes;
        run->network.stop = is_done(run);
    } else if (timer == TIMER_SLOTS) {
        sim_jobs_count_slots(&run->jobs);
    } else if (timer == TIMER_ENDED) {
        on_jobs_ended(run);
    } else {
        uint64_t before = run->flows.started;
        sim_source_timer(&run->sources[timer]);
        run->begun += run->is_behind ? 0 : run->flows.started - before;
    }
}

static void on_ended(void *user, const struct sim_flow_end *end)
{
    struct sim_run *run = user;

    if (end->plan.source == SIM_FLOW_OF_JOB) {
        sim_steps_ended(&run->jobs, end);
        run->network.stop |= is_done(run);
        return;
    }
    if (!sim_run_counts(run->scenario, end->start_ps)) {
        return;
    }
    if (run->end_count == run->end_room) {
        run->end_room = run->end_room == 0 ? 1024 : 2 * run->end_room;
        run->ends = realloc(run->ends, run->end_room * sizeof *run->ends);
        TRIB_ASSERT(run->ends != NULL);
    }
    run->ends[run->end_count++] = *end;
    run->network.stop |= is_measured(run);
}

/* Adds all jobs with their starts, in the scenario's order. */
static bool list_jobs(struct sim_run *run, uint32_t tables, char *error)
{
    const struct sim_scenario *s = run->scenario;
    struct trib_prng starts = {.state = trib_mix64(s->seed + UINT64_C(0x737461727473))};
    bool is_good = true;

    for (uint32_t i = 0; is_good && i < tables; i++) {
        struct sim_job_config config = s->jobs[i];
        config.bytes = sim_job_scaled(config.bytes, s->scale);
        config.threshold = sim_job_scaled(config.threshold, s->scale);
        config.compute_ps = sim_job_scaled(config.compute_ps, s->scale);
        config.every_ps = sim_job_scaled(config.every_ps, s->scale);
        uint32_t copies = config.copies != 0 ? config.copies : 1;
        for (uint32_t copy = 0; is_good && copy < copies; copy++) {
            config.start_ps += copy != 0 ? (uint64_t)(sim_draw_exponential(&starts) * (double)config.every_ps) : 0;
            run->queue.tables[run->queue.count] = i;
            run->queue.jobs[run->queue.count] = run->queue.count;
            run->queue.count++;
            is_good = sim_jobs_add(&run->jobs, &config, s->seed, error) || refuse(run, SIM_UNFIT_JOB, i);
        }
    }
    return is_good;
}

/* Sorts by start, stable. Insertion sort, because few jobs are out of order. */
static void sort_by_start(struct sim_run *run)
{
    struct sim_queue *q = &run->queue;
    const struct sim_job *jobs = run->jobs.jobs;

    for (uint32_t i = 1; i < q->count; i++) {
        uint32_t number = q->jobs[i];
        uint32_t at = i;
        for (; at != 0 && jobs[q->jobs[at - 1]].config.start_ps > jobs[number].config.start_ps; at--) {
            q->jobs[at] = q->jobs[at - 1];
        }
        q->jobs[at] = number;
    }
}

/* Allocates the queue and the jobs. *workers: hosts needed by jobs that name none. */
static bool make_queue(struct sim_run *run, uint32_t tables, uint64_t *workers)
{
    const struct sim_scenario *s = run->scenario;
    struct sim_queue *q = &run->queue;
    uint64_t endpoints = 0;
    uint32_t jobs = 0;

    *workers = 0;
    for (uint32_t i = 0; i < tables; i++) {
        uint32_t copies = s->jobs[i].copies != 0 ? s->jobs[i].copies : 1;
        *workers += s->jobs[i].hosts == NULL ? (uint64_t)copies * sim_job_hosts(&s->jobs[i]) : 0;
        endpoints += copies * sim_job_endpoints(&s->jobs[i]);
        jobs += copies;
    }
    q->prng.state = trib_mix64(s->seed + UINT64_C(0x6a6f62));
    q->jobs = calloc(jobs + 1, sizeof *q->jobs);
    q->tables = calloc(jobs + 1, sizeof *q->tables);
    q->hosts = calloc(run->network.hosts, sizeof *q->hosts);
    return q->jobs != NULL && q->tables != NULL && q->hosts != NULL &&
           (jobs == 0 || sim_jobs_reserve(&run->jobs, jobs, endpoints));
}

static bool add_jobs(struct sim_run *run, char *error)
{
    const struct sim_scenario *s = run->scenario;
    uint32_t tables = s->jobs_most != 0 && s->jobs_most < s->job_count ? s->jobs_most : s->job_count;
    uint64_t workers = 0;
    bool is_placed = true;

    if (!make_queue(run, tables, &workers)) {
        return false;
    }
    list_hosts(run, &run->queue);
    bool is_good = list_jobs(run, tables, error);
    if (is_good && workers > run->queue.host_count) { /* some jobs must wait, so hosts are given by start */
        sort_by_start(run);
    }
    while (is_good && is_placed && run->queue.at < run->queue.count) {
        is_good = place_next(run, &is_placed, error);
    }
    return is_good && (run->jobs.count == 0 || sim_jobs_open(&run->jobs, error) || refuse(run, SIM_UNFIT_MEMORY, 0));
}

/* ---- restarts ---- */

static bool has_node(const struct sim_run *run, uint32_t place)
{
    const struct sim_jobs *j = &run->jobs;

    for (uint32_t i = 0; i < j->endpoint_count; i++) {
        if (!j->endpoints[i].is_worker && j->endpoints[i].place == place) {
            return true;
        }
    }
    return false;
}

/* Keys for schemes with switches indicate that a grid varies the scheme: restarts may be meant for the other
 * schemes. */
static bool is_varied(const struct sim_scenario *s)
{
    for (uint32_t i = 0; i < s->job_count; i++) {
        if (s->jobs[i].trees > 1 || s->jobs[i].threshold != 0) {
            return true;
        }
    }
    return false;
}

/* Refuses a restart of a switch in which no job adds: it would have no effect. */
static bool check_restart(const struct sim_run *run, uint32_t node, char *error)
{
    const struct sim_topology *t = &run->scenario->topology;
    char names[2][SIM_NODE_NAME_MAX]; /* this node, and the nearest one */
    char name[SIM_NODE_NAME_MAX];
    struct trib_nearest nearest = {.word = names[0]};
    bool is_any = false;

    if (has_node(run, node)) {
        return true;
    }
    sim_topology_node_name(t, node, names[0]);
    nearest.len = strlen(names[0]);
    for (uint32_t i = run->network.hosts; i < run->network.nodes; i++) {
        if (!has_node(run, i)) {
            continue;
        }
        sim_topology_node_name(t, i, name);
        trib_nearest_offer(&nearest, name);
        if (!is_any || nearest.best == name) {
            memcpy(names[1], name, sizeof name);
            nearest.best = nearest.best == name ? names[1] : NULL;
        }
        is_any = true;
    }
    if (!is_any && is_varied(run->scenario)) {
        return true;
    }
    if (is_any) {
        trib_explain(error, "switch: no job has a node at %s; the nearest that has one is %s", names[0], names[1]);
    } else {
        trib_explain(error, "switch: no job has a node at %s, or at any switch", names[0]);
    }
    return false;
}

static bool check_restarts(struct sim_run *run, char *error)
{
    for (uint32_t i = 0; i < run->scenario->restart_count; i++) {
        if (!check_restart(run, run->scenario->restarts[i].node, error)) {
            return refuse(run, SIM_UNFIT_RESTART, i);
        }
    }
    return true;
}

/* Draws the rounded share of each run of nodes, every subset equally likely. */
void sim_run_draw_adders(const struct sim_scenario *s, uint8_t *adds)
{
    struct trib_prng prng = {.state = trib_mix64(s->seed + UINT64_C(0x616464))};

    for (uint32_t i = 0; i < s->adder_count; i++) {
        const struct sim_adders *a = &s->adders[i];
        uint32_t left = (uint32_t)(a->share * a->count + 0.5);
        for (uint32_t at = 0; at < a->count; at++) {
            bool is_drawn = trib_prng_below(&prng, a->count - at) < left;
            adds[a->first + at] |= is_drawn;
            left -= is_drawn;
        }
    }
}

static bool draw_adders(struct sim_run *run)
{
    if (run->scenario->adder_count == 0) {
        return true;
    }
    run->adds = calloc(run->network.nodes, 1);
    if (run->adds != NULL) {
        sim_run_draw_adders(run->scenario, run->adds);
    }
    run->jobs.adds = run->adds;
    return run->adds != NULL;
}

/* Applies the cost of adding: memory, time, and extra time of all packets through adding switches. */
static bool place_accelerators(struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;
    struct sim_network *n = &run->network;
    uint32_t links = sim_topology_size(&s->topology).links;

    run->jobs.memory_bytes = s->accelerators.memory_bytes != 0 ? s->accelerators.memory_bytes : SIM_NEVER;
    run->jobs.is_pool_static = s->accelerators.is_pool_static;
    run->jobs.first_adder = s->topology.add_ps != 0 ? links : SIM_NONE;
    run->jobs.first_loop = s->topology.has_loops ? n->link_count - n->hosts : SIM_NONE;
    for (uint32_t i = 0; s->accelerators.bypass_ps != 0 && i < links; i++) {
        uint32_t to = n->links[i].to;
        if (to >= n->hosts && (run->adds == NULL || run->adds[to] != 0)) {
            sim_network_delay(n, i, s->accelerators.bypass_ps);
        }
    }
    return s->accelerators.bypass_ps == 0 || sim_network_ready(n, s->topology.smallest, s->topology.largest);
}

bool sim_run_init(struct sim_run *run, const struct sim_scenario *scenario, char *error)
{
    memset(run, 0, sizeof *run);
    run->scenario = scenario;
    trib_explain(error, "out of memory");
    if (!sim_topology_build(&scenario->topology, &run->network)) {
        trib_explain(error, "%s", sim_network_lack(&run->network));
        return false;
    }
    run->network.receiver = (struct sim_receiver){
        .arrived = sim_faults_are_any(&scenario->faults) ? on_arrived_faulty : on_arrived,
        .timer = on_timer,
        .dropped = on_dropped,
        .soon = on_soon,
        .sooner = on_sooner,
        .user = run,
    };
    sim_jobs_init(&run->jobs, &run->network, TIMER_JOBS);
    run->jobs.timer = TIMER_SLOTS;
    run->jobs.ended_timer = TIMER_ENDED;
    run->jobs.flows = &run->flows;
    run->jobs.is_multicast = scenario->is_multicast;
    if (!draw_adders(run) || !place_accelerators(run) || !add_jobs(run, error) || !check_restarts(run, error)) {
        return false;
    }
    if (run->network.gates != NULL && sim_gates_unfit(&run->network, scenario->topology.largest) != SIM_NONE) {
        trib_explain(error, "with the bypass of switches that add, shared is less than their headrooms take");
        return refuse(run, SIM_UNFIT_BYPASS, 0);
    }
    sim_jobs_count_slots(&run->jobs);
    sim_flows_init(&run->flows, &run->network, &scenario->flows, TIMER_JOBS + sim_jobs_timers(&run->jobs));
    run->flows.ended = on_ended;
    run->flows.user = run;
    for (uint32_t i = 0; i < scenario->traffic_count; i++) {
        sim_source_init(&run->sources[i], &scenario->traffic[i], &run->flows, scenario->seed, i);
    }
    sim_failures_init(&run->failures, &run->network, scenario->failures, scenario->failure_count, TIMER_FAILURES);
    sim_restarts_init(&run->restarts, &run->jobs, scenario->restarts, scenario->restart_count, TIMER_RESTARTS);
    sim_faults_init(&run->faults, &run->network, &scenario->faults, scenario->seed, TIMER_FAULTS);
    if (run->network.gates != NULL) {
        run->network.gates->watch = TIMER_WATCH;
        run->network.gates->watch_ps = WATCH_PS;
    }
    run->until_ps = ADVANCE_PS;
    run->is_warm = scenario->warmup_ps == 0;
    if (!run->is_warm) {
        sim_timer_set(&run->network.events, TIMER_WARM, scenario->warmup_ps);
    }
    if (scenario->window_ps != 0) {
        sim_timer_set(&run->network.events, TIMER_WINDOW, scenario->warmup_ps + scenario->window_ps);
    }
    return true;
}

void sim_run_deinit(struct sim_run *run)
{
    sim_flows_deinit(&run->flows);
    sim_jobs_deinit(&run->jobs);
    sim_faults_deinit(&run->faults);
    sim_network_deinit(&run->network);
    free(run->ends);
    free(run->adds);
    free(run->queue.jobs);
    free(run->queue.tables);
    free(run->queue.hosts);
    memset(run, 0, sizeof *run);
}

/* Runs until the next limit of simulated time. False: no event is left before the end. */
static bool advance(struct sim_run *run, uint64_t hops)
{
    const struct sim_events *e = &run->network.events;
    uint64_t end_ps = run->scenario->duration_ps;
    uint64_t until_ps = run->until_ps < end_ps ? run->until_ps : end_ps;

    if (sim_network_run(&run->network, until_ps, hops)) {
        return true;
    }
    bool is_left = until_ps < end_ps && (e->waiting != 0 || e->heap_count != 0 || e->batch_at != e->batch_count);
    run->until_ps = until_ps + (is_left ? ADVANCE_PS : 0);
    return is_left;
}

/* True if a worker computes the first incomplete iteration. */
static bool is_computing(const struct sim_job *job)
{
    uint32_t iteration = job->iterations + 1;

    return job->state == SIM_JOB_OPEN && iteration <= job->config.iterations &&
           (job->prepared < iteration || sim_job_turn(job, iteration)->computed != job->config.workers);
}

/* True if no packet has to arrive, because a job computes or is away. */
static bool is_waiting(const struct sim_run *run)
{
    for (uint32_t i = 0; i < run->jobs.count; i++) {
        if (is_computing(&run->jobs.jobs[i]) || run->jobs.jobs[i].away != 0) {
            return true;
        }
    }
    return false;
}

bool sim_run_advance(struct sim_run *run, uint64_t hops)
{
    if (!run->is_over) {
        run->is_over = !advance(run, hops) || run->deadlock.count != 0 || run->refusal[0] != '\0' || is_done(run);
    }
    uint64_t arrived = run->flows.bytes + run->flows.job_bytes + run->jobs.aggregated;
    bool is_idle = run->flows.started == run->flows.over && run->jobs.done_jobs == run->jobs.count;
    if (arrived != run->quiet_bytes || is_idle || is_waiting(run)) {
        run->quiet_bytes = arrived;
        run->quiet_ps = sim_run_now(run);
    }
    return !run->is_over;
}

uint64_t sim_run_stalled(const struct sim_run *run, uint64_t for_ps)
{
    bool is_quiet = sim_run_now(run) - run->quiet_ps >= for_ps;

    return is_quiet ? run->flows.started - run->flows.over + run->jobs.count - run->jobs.done_jobs : 0;
}

const char *sim_run_check(const struct sim_run *run)
{
    const struct sim_network *n = &run->network;
    uint64_t in_network = 0;
    uint64_t count = sim_network_count(n) + run->faults.count;

    if (n->sent != n->arrived + n->dropped + count) {
        return "packets sent differ from packets arrived, lost and on links";
    }
    for (uint32_t i = 0; i < run->flows.high; i++) {
        in_network += run->flows.flows[i].memory != NULL ? run->flows.flows[i].in_network : 0;
    }
    if (in_network + run->jobs.on_links != count) {
        return "packets on links differ from packets in flight of flows and jobs";
    }
    const char *fault = n->gates != NULL ? sim_gates_check(n) : NULL;
    return fault != NULL ? fault : sim_jobs_check(&run->jobs);
}
