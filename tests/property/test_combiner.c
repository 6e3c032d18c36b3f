/* SPDX-License-Identifier: Apache-2.0 */
/* test_combiner.c: random schedules of jobs behind combiners: real workers, real roots, and one or two levels of
 * combiners with a few rows that all jobs share. Packets are lost, copied and overtaken; combiners lose all that they
 * have, also M; roots start again; parts of a higher priority take rows. Every sum is right, every job ends, and no row is
 * held for nobody. TRIB_SEEDS=N runs so many seeds, TRIB_SEED=S one. Mirrors protocol/combiner.c, switch_combined.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "core/slot.h"
#include "core/window.h"
#include "protocol/combiner.h"
#include "schemes/atp/atp.h"
#include "unit/node_memory.h"

#define SEEDS 1500U
#define JOBS 3U
#define RANKS 7U
#define ROOTS 2U
#define RACKS 2U
#define TOP RACKS /* the combiner in front of all roots */
#define PAYLOAD 64U
#define ELEMENTS (PAYLOAD / 4)
#define FRAGMENTS 60U
#define FLYING 4096U
#define LATE 32U
#define FLYING_EARLY 100U
#define STEPS 400000U

enum where { AT_WORKER, AT_COMBINER, AT_ROOT };

struct flight {
    struct trib_packet packet;
    uint8_t payload[PAYLOAD];
    uint64_t sender;           /* going up: the ranks behind it */
    uint32_t job, index, root; /* root: going down, of the job */
    enum where to;
    bool is_down;
};

struct job {
    struct trib_session_config session;
    struct trib_operation operation;
    uint32_t ranks, boot;
    uint64_t behind[RACKS + 1]; /* ranks, by combiner */
    uint32_t rack[RANKS];       /* TOP: none */
    uint8_t priority;
    struct trib_window window;
    void *roots[ROOTS];
    void *workers[RANKS];
    int32_t send[RANKS][FRAGMENTS * ELEMENTS], recv[RANKS][FRAGMENTS * ELEMENTS];
    bool is_done[RANKS];
};

static struct run {
    struct trib_prng prng;
    struct job jobs[JOBS];
    void *combiners[RACKS + 1];
    struct trib_combiner_config config;
    struct flight flights[FLYING];
    uint16_t order[FLYING];   /* flights by the order of their arrival, then the free ones */
    struct flight late[LATE]; /* copies that come at any later time */
    uint32_t job_count, count, late_count, restarts, reboots, renewals;
    uint64_t now_ns, seed;
    uint32_t root; /* that what is under way down came from */
    double loss, copies, overtakes;
    bool has_top;
    bool has_liar; /* rank 0 of job 0 */
    bool has_new_id;
} run;

static struct trib_combiner_counters total;
static uint64_t overlaps;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)trib_prng_below(&run.prng, bound);
}

/* ---- links ---- */

static void fly(const struct trib_packet *packet, enum where to, uint32_t job, uint32_t index, uint64_t sender,
                bool is_down)
{
    uint32_t copies = trib_prng_chance(&run.prng, run.loss) ? 0 : 1 + trib_prng_chance(&run.prng, run.copies);

    for (; copies > 0 && run.count < FLYING; copies--) {
        bool is_late = copies > 1 && run.late_count < LATE && below(2) != 0;
        struct flight *f = is_late ? &run.late[run.late_count++] : &run.flights[run.order[run.count++]];
        *f = (struct flight){.packet = *packet,
                             .to = to,
                             .job = job,
                             .index = index,
                             .root = run.root,
                             .sender = sender,
                             .is_down = is_down};
        if (packet->payload_len != 0) {
            memcpy(f->payload, packet->payload, packet->payload_len);
        }
    }
}

/* From a rack's combiner, or a rank that has none, on: `sender` are the ranks behind it. */
static void fly_on(const struct trib_packet *packet, uint32_t job, uint64_t sender)
{
    fly(packet, run.has_top ? AT_COMBINER : AT_ROOT, job, TOP, sender, false);
}

/* A packet as no rank of this library sends it. */
static void lie(struct trib_packet *packet)
{
    switch (below(12)) {
    case 0:
        packet->bitmap = trib_prng_next(&run.prng) >> below(64);
        break;
    case 1:
        packet->node = (uint16_t)below(70);
        break;
    case 2:
        packet->sequence += below(100);
        break;
    case 3:
        packet->sequence = packet->mark = trib_prng_next(&run.prng) >> 16 >> below(48);
        break;
    case 4:
        packet->mark = packet->sequence + below(3);
        break;
    case 5:
        packet->flags = (uint16_t)(packet->flags ^ 1U << below(7));
        break;
    case 6:
        packet->digest ^= below(2);
        break;
    case 7:
        packet->boot ^= below(2);
        break;
    case 8:
        packet->generation ^= (uint16_t)below(2);
        break;
    case 9:
        packet->contributors = (uint16_t)below(70);
        break;
    case 10:
        packet->type = (uint8_t)below(TRIB_TYPE_COUNT);
        break;
    default:
        packet->payload_len = packet->payload_len != 0 ? (uint16_t)below(PAYLOAD + 1) : 0;
        break;
    }
    packet->kind = below(16) == 0 ? (uint8_t)(1 + below(TRIB_KIND_COUNT - 1)) : packet->kind;
}

static void fly_up(const struct trib_packet *original, uint32_t job, uint32_t rank)
{
    const struct job *j = &run.jobs[job];
    struct trib_packet lied = *original;
    const struct trib_packet *packet = &lied;

    if (run.has_liar && job == 0 && rank == 0 && below(2) == 0) {
        lie(&lied);
    }
    if (j->rack[rank] == TOP) {
        fly_on(packet, job, UINT64_C(1) << rank);
    } else {
        fly(packet, AT_COMBINER, job, j->rack[rank], UINT64_C(1) << rank, false);
    }
}

/* From the root, or the combiner in front of it, which is not on its own way; what is for all behind a combiner goes
 * through that. */
static void fly_down(const struct trib_packet *packet, uint32_t job, uint64_t ranks, bool is_from_root)
{
    const struct job *j = &run.jobs[job];

    if (run.has_top && is_from_root && ranks == j->behind[TOP]) {
        fly(packet, AT_COMBINER, job, TOP, 0, true);
        return;
    }
    for (uint32_t rack = 0; rack < RACKS; rack++) {
        if (j->behind[rack] != 0 && (ranks & j->behind[rack]) == j->behind[rack] && (ranks & (ranks - 1)) != 0) {
            fly(packet, AT_COMBINER, job, rack, 0, true);
            ranks &= ~j->behind[rack];
        }
    }
    for (; ranks != 0; ranks &= ranks - 1) {
        fly(packet, AT_WORKER, job, trib_lowest(ranks), 0, true);
    }
}

/* ---- nodes ---- */

static void drain_worker(uint32_t job, uint32_t rank)
{
    struct job *j = &run.jobs[job];
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;

    while (trib_atp.worker->node.next_packet(j->workers[rank], run.now_ns, &packet, &to)) {
        assert_int_equal(to.kind, TRIB_PLACE_ROOT);
        fly_up(&packet, job, rank);
    }
    while (trib_atp.worker->node.next_event(j->workers[rank], &event)) {
        if (event.kind == TRIB_EVENT_FAILED && !(run.has_liar && job == 0)) {
            fail_msg("seed %lu: job %u, rank %u fails: a sum's lane is wrong", run.seed, job, rank);
        }
        j->is_done[rank] |= event.kind == TRIB_EVENT_DONE;
    }
}

static void drain_root(uint32_t job, uint32_t root)
{
    void *node = run.jobs[job].roots[root];
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;

    run.root = root;
    while (trib_atp.switch_node->node.next_packet(node, run.now_ns, &packet, &to)) {
        assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
        fly_down(&packet, job, to.children, true);
    }
    assert_true(!trib_atp.switch_node->node.next_event(node, &event) || (run.has_liar && job == 0));
    for (uint32_t rank = run.has_liar && job == 0; rank < run.jobs[job].ranks; rank++) { /* lies move no rank's mark */
        uint64_t mark = trib_atp.worker->mark(run.jobs[job].workers[rank]);
        assert_true(trib_atp.switch_node->node.communicator_mark(node) <= mark);
    }
}

static void drain_combiner(uint32_t index)
{
    struct trib_packet packet;
    uint32_t job;

    while (trib_combiner_next(run.combiners[index], &packet, &job)) {
        assert_int_equal(packet.bitmap & ~run.jobs[job].behind[index], 0);
        if (index == TOP) {
            fly(&packet, AT_ROOT, job, 0, run.jobs[job].behind[TOP], false);
        } else {
            fly_on(&packet, job, run.jobs[job].behind[index]);
        }
    }
    trib_combiner_release(run.combiners[index]);
}

static void arrive_at_combiner(struct flight *f)
{
    void *combiner = run.combiners[f->index];

    if (f->is_down) {
        trib_combiner_down(combiner, f->job, &f->packet);
        if (f->index == TOP) {
            fly_down(&f->packet, f->job, run.jobs[f->job].behind[TOP], false);
            return;
        }
        for (uint64_t ranks = run.jobs[f->job].behind[f->index]; ranks != 0; ranks &= ranks - 1) {
            fly(&f->packet, AT_WORKER, f->job, trib_lowest(ranks), 0, true);
        }
        return;
    }
    enum trib_combined verdict = trib_combiner_up(combiner, f->job, f->sender, &f->packet);
    drain_combiner(f->index);
    if (verdict == TRIB_COMBINED_PASS && f->index == TOP) {
        fly(&f->packet, AT_ROOT, f->job, 0, run.jobs[f->job].behind[TOP], false);
    } else if (verdict == TRIB_COMBINED_PASS) {
        fly_on(&f->packet, f->job, run.jobs[f->job].behind[f->index]);
    }
}

static void arrive(uint32_t at)
{
    static struct flight f;
    struct trib_place place = {.kind = TRIB_PLACE_ROOT};

    uint16_t taken = run.order[at];
    f = run.flights[taken];
    run.root = place.index = f.root;
    memmove(&run.order[at], &run.order[at + 1], (--run.count - at) * sizeof taken);
    run.order[run.count] = taken;
    f.packet.payload = f.packet.payload_len != 0 ? f.payload : NULL;
    run.now_ns += 1000;
    if (f.to == AT_COMBINER) {
        arrive_at_combiner(&f);
    } else if (f.to == AT_ROOT) {
        uint32_t root = trib_window_root(&run.jobs[f.job].window, f.packet.sequence);
        place = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = f.sender};
        overlaps += trib_atp.switch_node->node.receive(run.jobs[f.job].roots[root], place, &f.packet, run.now_ns) ==
                    TRIB_DROP_OVERLAP;
        drain_root(f.job, root);
    } else if (f.root < run.jobs[f.job].session.roots) {
        (void)trib_atp.worker->node.receive(run.jobs[f.job].workers[f.index], place, &f.packet, run.now_ns);
        drain_worker(f.job, f.index);
    }
}

/* The clock goes to the first timeout. False: there is none. */
static bool wake(void)
{
    uint64_t first_ns = TRIB_NEVER;

    for (uint32_t job = 0; job < run.job_count; job++) {
        for (uint32_t rank = 0; rank < run.jobs[job].ranks; rank++) {
            uint64_t at_ns = trib_atp.worker->node.next_timeout(run.jobs[job].workers[rank]);
            first_ns = at_ns < first_ns ? at_ns : first_ns;
        }
    }
    if (first_ns == TRIB_NEVER) {
        return false;
    }
    run.now_ns = first_ns > run.now_ns ? first_ns : run.now_ns;
    for (uint32_t job = 0; job < run.job_count; job++) {
        for (uint32_t rank = 0; rank < run.jobs[job].ranks; rank++) {
            if (trib_atp.worker->node.next_timeout(run.jobs[job].workers[rank]) <= run.now_ns) {
                trib_atp.worker->node.on_timeout(run.jobs[job].workers[rank], run.now_ns);
                drain_worker(job, rank);
            }
        }
    }
    return true;
}

/* ---- a run ---- */

static void open_roots(struct job *j)
{
    struct trib_switch_config config = {
        .session = j->session,
        .kernels = trib_value_kernels(),
        .children = j->ranks,
        .boot = j->boot,
        .has_combiners = true,
    };

    config.session.salt = 0;
    for (uint32_t root = 0; root < ROOTS; root++) {
        free(j->roots[root]);
        j->roots[root] = NULL;
        if (root < j->session.roots) {
            config.root = root;
            j->roots[root] = node_memory(trib_atp.switch_node->size(&config));
            trib_atp.switch_node->init(j->roots[root], &config);
        }
    }
}

/* All ranks register with their marks. */
static void register_all(uint32_t job)
{
    struct job *j = &run.jobs[job];
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        uint64_t mark = trib_atp.worker->mark(j->workers[rank]);
        lowest = mark < lowest ? mark : lowest;
        for (uint32_t root = 0; root < j->session.roots; root++) {
            trib_atp.switch_node->join(j->roots[root], rank, mark);
        }
    }
    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        trib_atp.worker->registered(j->workers[rank], j->boot, lowest, run.now_ns);
        drain_worker(job, rank);
    }
}

static void restart_root(uint32_t job)
{
    struct job *j = &run.jobs[job];

    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        trib_atp.worker->suspend(j->workers[rank]);
    }
    j->boot++;
    open_roots(j);
    register_all(job);
}

/* With nothing in rows, and no M. */
static void admit(uint32_t index, uint32_t job)
{
    const struct job *j = &run.jobs[job];
    struct trib_combiner_grant grant = {
        .behind = j->behind[index],
        .communicator = j->session.communicator,
        .generation = j->session.generation,
        .span = run.seed % 2 != 0 || run.has_liar ? trib_window_span(&j->session) : 0,
        .rows = run.config.rows,
        .priority = j->priority,
    };

    if (run.seed % 5 == 0) { /* as of scheme goat: some pieces alone; rows of several jobs may be the same */
        uint64_t dice = trib_mix64(run.seed ^ index);
        grant.pieces = (struct trib_pieces){.count = 2 + dice % 4, .run = j->session.train};
        grant.pieces.own = (1 + dice / 4) & trib_pieces_all(grant.pieces.count);
    }
    if (grant.behind != 0) {
        trib_combiner_admit(run.combiners[index], job, &grant);
    }
}

static void admit_all(uint32_t index)
{
    for (uint32_t job = 0; job < run.job_count; job++) {
        admit(index, job);
    }
}

static void open_workers(uint32_t job)
{
    struct job *j = &run.jobs[job];

    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        struct trib_worker_config config = {
            .session = j->session,
            .kernels = trib_value_kernels(),
            .rank = rank,
            .window = j->session.slots,
            .operations = 1,
            .stall_ns = UINT64_MAX / 2,
        };
        free(j->workers[rank]);
        j->workers[rank] = node_memory(trib_atp.worker->size(&config));
        trib_atp.worker->init(j->workers[rank], &config);
        for (uint32_t root = 0; root < j->session.roots; root++) {
            trib_atp.worker->set_child(j->workers[rank], root, rank);
        }
        for (uint32_t i = 0; i < FRAGMENTS * ELEMENTS; i++) {
            j->send[rank][i] = (int32_t)(trib_prng_next(&run.prng) >> 40);
        }
        memset(j->recv[rank], 0, sizeof j->recv[rank]);
        j->is_done[rank] = false;
    }
}

/* A job of this id and generation, with the ranks and combiners that it has. */
static void start_job(uint32_t job, uint32_t communicator, uint16_t generation)
{
    static const enum trib_collective collectives[] = {TRIB_ALLREDUCE, TRIB_ALLREDUCE, TRIB_REDUCE, TRIB_BROADCAST};
    struct job *j = &run.jobs[job];

    j->session = (struct trib_session_config){
        .salt = trib_prng_next(&run.prng),
        .communicator = communicator,
        .ranks = j->ranks,
        .roots = 1 + below(ROOTS),
        .train = 1 + below(3),
        .slots = 2 + below(30),
        .payload = PAYLOAD,
        .generation = generation,
        .wire = TRIB_FLOAT32,
        .lookahead = 1,
    };
    trib_window_init(&j->window, &j->session, NULL);
    j->operation = (struct trib_operation){
        .count = 1 + below(FRAGMENTS * ELEMENTS),
        .collective = collectives[below(4)],
        .type = TRIB_INT32,
        .reduction = TRIB_SUM,
        .root = below(j->ranks),
    };
    if (j->operation.collective == TRIB_BROADCAST) {
        j->operation.reduction = TRIB_REDUCTION_NONE;
    }
    open_workers(job);
    open_roots(j);
}

static void open_job(uint32_t job)
{
    struct job *j = &run.jobs[job];

    *j = (struct job){.ranks = 2 + below(RANKS - 1), .boot = 1, .priority = (uint8_t)(below(2) * below(8))};
    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        j->rack[rank] = below(8) == 0 ? TOP : below(RACKS);
        j->behind[TOP] |= UINT64_C(1) << rank;
        j->behind[j->rack[rank]] |= UINT64_C(1) << rank;
    }
    start_job(job, job + 1, 1);
}

static void submit(uint32_t job, uint32_t rank)
{
    struct job *j = &run.jobs[job];
    struct trib_operation operation = j->operation;

    operation.send = operation.collective == TRIB_BROADCAST && rank != operation.root ? NULL : j->send[rank];
    operation.recv = operation.collective == TRIB_REDUCE && rank != operation.root ? NULL : j->recv[rank];
    assert_true(trib_atp.worker->submit(j->workers[rank], &operation, run.now_ns));
    drain_worker(job, rank);
}

static bool is_job_over(uint32_t job)
{
    for (uint32_t rank = 0; rank < run.jobs[job].ranks; rank++) {
        if (!run.jobs[job].is_done[rank]) {
            return false;
        }
    }
    return true;
}

/* A lying rank ends no other job, and has no right to an end of its own. */
static bool is_over(void)
{
    for (uint32_t job = run.has_liar; job < run.job_count; job++) {
        if (!is_job_over(job)) {
            return false;
        }
    }
    return true;
}

static void check_sums(uint32_t job)
{
    const struct job *j = &run.jobs[job];

    for (uint64_t i = 0; i < j->operation.count; i++) {
        int32_t sum = 0;
        for (uint32_t rank = 0; rank < j->ranks; rank++) {
            bool is_in = j->operation.collective != TRIB_BROADCAST || rank == j->operation.root;
            sum += is_in ? j->send[rank][i] : 0;
        }
        for (uint32_t rank = 0; rank < j->ranks; rank++) {
            bool is_root = rank == j->operation.root;
            bool has = j->operation.collective == TRIB_ALLREDUCE || is_root == (j->operation.collective == TRIB_REDUCE);
            if (has && j->recv[rank][i] != sum) {
                fail_msg("seed %lu: job %u, rank %u, element %lu: %d, not %d", run.seed, job, rank, (unsigned long)i,
                         j->recv[rank][i], sum);
            }
        }
    }
}

/* Nothing may be left: of a fragment below M nobody needs a row, and of a job that has ended there is none. */
static void check_rows(void)
{
    for (uint32_t index = 0; index <= TOP; index++) {
        const struct trib_combiner_counters *c = trib_combiner_counters(run.combiners[index]);
        for (uint32_t job = 0; job < run.job_count; job++) {
            if (run.jobs[job].behind[index] != 0) {
                trib_combiner_learn_mark(run.combiners[index], job, trib_atp.worker->end(run.jobs[job].workers[0]));
                assert_true(trib_combiner_rows_held(run.combiners[index], job) == 0 || (run.has_liar && job == 0));
                trib_combiner_dismiss(run.combiners[index], job);
            }
        }
        assert_int_equal(trib_combiner_rows_held(run.combiners[index], TRIB_COMBINER_ALL), 0);
        assert_true(c->refused == 0 || run.has_new_id);
        for (size_t i = 0; i < sizeof *c / sizeof(uint64_t); i++) {
            ((uint64_t *)&total)[i] += ((const uint64_t *)c)[i];
        }
    }
}

static void begin(uint32_t job)
{
    register_all(job);
    for (uint32_t rank = 0; rank < run.jobs[job].ranks; rank++) {
        submit(job, rank);
    }
}

/* A job that is over ends, and another has its place, of another generation or id; packets of the old one still fly.
 * False: there is none to end. */
static bool renew(void)
{
    uint32_t job = below(run.job_count);
    struct job *j = &run.jobs[job];

    if (run.renewals == 0 || !is_job_over(job) || (run.has_liar && job == 0)) {
        return false;
    }
    run.renewals--;
    check_sums(job);
    bool is_new_id = below(2) != 0;
    run.has_new_id |= is_new_id;
    start_job(job, j->session.communicator + (is_new_id ? JOBS : 0), (uint16_t)(j->session.generation + !is_new_id));
    for (uint32_t index = 0; index <= TOP; index++) {
        admit(index, job);
    }
    begin(job);
    return true;
}

/* A copy of long ago comes. */
static void fly_late(void)
{
    uint32_t at = below(run.late_count);

    if (run.count < FLYING) {
        run.flights[run.order[run.count++]] = run.late[at];
        run.late[at] = run.late[--run.late_count];
    }
}

static void disturb(void)
{
    if (run.late_count > 0 && below(20) == 0) {
        fly_late();
    }
    if (below(50) == 0) {
        (void)renew();
    }
    if (run.restarts > 0 && below(400) == 0) {
        run.restarts--;
        restart_root(below(run.job_count));
    }
    if (run.reboots > 0 && below(200) == 0) {
        run.reboots--;
        admit_all(below(RACKS + 1));
    }
}

static void one_run(uint64_t seed, bool has_liar)
{
    memset(&run, 0, sizeof run);
    for (uint32_t i = 0; i < FLYING; i++) {
        run.order[i] = (uint16_t)i;
    }
    run.prng.state = run.seed = seed;
    run.has_liar = has_liar;
    run.job_count = has_liar ? 2 + below(JOBS - 1) : 1 + below(JOBS);
    run.has_top = below(2) != 0;
    run.loss = below(3) == 0 ? 0 : 0.25 * below(100) / 100;
    run.copies = below(3) == 0 ? 0 : 0.2 * below(100) / 100;
    run.overtakes = below(3) == 0 ? 0 : 1.0 * below(100) / 100;
    run.restarts = below(3);
    run.reboots = below(6);
    run.renewals = below(4);
    run.now_ns = 1000000;
    run.config = (struct trib_combiner_config){
        .kernels = trib_value_kernels(), .rows = below(24), .payload = PAYLOAD, .members = JOBS};
    for (uint32_t index = 0; index <= TOP; index++) {
        run.combiners[index] = node_memory(trib_combiner_size(&run.config));
        trib_combiner_init(run.combiners[index], &run.config);
    }
    for (uint32_t job = 0; job < run.job_count; job++) {
        open_job(job);
    }
    for (uint32_t index = 0; index <= TOP; index++) {
        admit_all(index);
    }
    for (uint32_t job = 0; job < run.job_count; job++) {
        begin(job);
    }
    for (uint32_t step = 0; !is_over() || renew(); step++) {
        if (step == STEPS || (run.count == 0 && !wake())) {
            fail_msg("seed %lu: it does not end", run.seed);
        }
        /* Now and then a timer is early; but not where more packets are under way than a timeout lets pass. */
        if (run.count > 0 && (run.count > FLYING_EARLY || below(50) != 0 || !wake())) {
            arrive(trib_prng_chance(&run.prng, run.overtakes) ? below(run.count) : 0);
        }
        disturb();
    }
    for (uint32_t job = run.has_liar; job < run.job_count; job++) {
        check_sums(job);
    }
    check_rows();
    for (uint32_t job = 0; job < run.job_count; job++) {
        for (uint32_t rank = 0; rank < run.jobs[job].ranks; rank++) {
            free(run.jobs[job].workers[rank]);
        }
        for (uint32_t root = 0; root < ROOTS; root++) {
            free(run.jobs[job].roots[root]);
        }
    }
    for (uint32_t index = 0; index <= TOP; index++) {
        free(run.combiners[index]);
    }
}

static uint64_t run_seeds(uint64_t seeds_else, bool has_liar)
{
    const char *seeds = getenv("TRIB_SEEDS");
    const char *seed = getenv("TRIB_SEED");
    uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = seed != NULL ? 1 : seeds != NULL ? strtoull(seeds, NULL, 10) : seeds_else;

    memset(&total, 0, sizeof total);
    for (uint64_t i = 0; i < count; i++) {
        one_run(first + i, has_liar);
    }
    return count;
}

static void a_lying_rank__harms_its_own_job_alone(void **state)
{
    (void)state;
    if (run_seeds(SEEDS / 5, true) >= SEEDS / 5) {
        assert_true(total.beyond > 0);
    }
}

static void sums__are_right_whatever_combiners_do(void **state)
{
    uint64_t count = run_seeds(SEEDS, false);

    (void)state;
    print_message(
        "%lu parts combined, %lu passed (%lu collisions, %lu asked for), %lu whole sums, %lu of the rest, %lu "
        "flushed, %lu evicted, %lu stale, %lu twice, %lu beyond the window, %lu of other pieces; %lu sums refused by "
        "roots\n",
        total.combined, total.passed, total.collisions, total.direct, total.complete, total.rest, total.flushed,
        total.evicted, total.stale, total.duplicates, total.beyond, total.elsewhere, overlaps);
    if (count >= SEEDS) { /* every way was gone */
        assert_true(total.combined > 0 && total.collisions > 0 && total.direct > 0 && total.complete > 0 &&
                    total.rest > 0 && total.flushed > 0 && total.evicted > 0 && total.duplicates > 0 &&
                    total.elsewhere > 0 && overlaps > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums__are_right_whatever_combiners_do),
                                       cmocka_unit_test(a_lying_rank__harms_its_own_job_alone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
