/* SPDX-License-Identifier: Apache-2.0 */
/* test_quorum.c: sums that may lack ranks (panama:7/8). First the rules one by one, on nodes alone; then whole trees in
 * worlds of seeds: packets get lost, doubled and late, ranks lag, switches restart; whatever happens, what is said of a
 * sequence is one list of ranks for good, and every rank gets the sum of just those. Not the worlds of tests/world, which
 * have sessions, several roots and faults of every kind; here everything fits on one page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/operation.h"
#include "core/prng.h"
#include "core/quorum.h"
#include "core/window.h"
#include "schemes/panama/panama.h"
#include "schemes/schemes.h"

#define S trib_panama.switch_node
#define W trib_panama.worker

#define RANKS 16
#define PAYLOAD 128
#define ELEMENTS 16 /* of a block of float32: 64 bytes, and 64 for the list */
#define BLOCKS 40   /* of an operation */
#define OPERATIONS 6
#define FLIGHT 4096 /* packets in flight at most */
#define SEQUENCES (BLOCKS * OPERATIONS)
#define MS UINT64_C(1000000)

/* ---- a world: the top switch with the first ranks, and one below it with the others ---- */

struct parcel {
    struct trib_packet packet;
    uint32_t from, to; /* nodes: ranks, TOP, LOW */
    uint64_t at_ns;
    uint8_t payload[PAYLOAD];
};

#define TOP RANKS
#define LOW (RANKS + 1)

/* What the world has seen of a sequence. */
struct seen {
    bool is_said;
    uint8_t list[TRIB_QUORUM_LIST];
};

struct world {
    struct trib_prng prng;
    struct trib_session_config session;
    uint32_t own; /* ranks of the top switch; the others are below LOW */
    uint32_t boot;
    uint32_t loss; /* of a hundred */
    uint64_t now_ns;
    uint64_t lag_until[RANKS];
    void *nodes[RANKS + 2];
    float *send[RANKS], *recv[RANKS];
    uint32_t submitted[RANKS], done[RANKS];
    uint32_t holds[RANKS];   /* operations that a rank never submits */
    uint64_t stalled[RANKS]; /* behind the sequence of its last stall report; 0: none */
    struct parcel *flight;
    uint32_t count;
    struct seen seen[SEQUENCES + 64];
    uint32_t lacking; /* sequences whose sum lacks ranks */
};

static void *memory_of(size_t size)
{
    size_t rounded = (size + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, rounded);

    assert_non_null(memory);
    memset(memory, 0xa5, rounded);
    return memory;
}

static bool has_low(const struct world *w)
{
    return w->own < w->session.ranks;
}

static uint32_t children_of(const struct world *w, uint32_t node)
{
    return node == LOW ? w->session.ranks - w->own : w->own + has_low(w);
}

/* The node of a switch's child, and which child of its switch a node is. */
static uint32_t child_node(const struct world *w, uint32_t node, uint32_t child)
{
    if (node == LOW) {
        return w->own + child;
    }
    return child == w->own ? LOW : child;
}

static uint32_t child_number(const struct world *w, uint32_t node)
{
    return node == LOW ? w->own : node < w->own ? node : node - w->own;
}

static void open_switch(struct world *w, uint32_t node)
{
    struct trib_switch_config config = {.session = w->session,
                                        .kernels = trib_value_kernels(),
                                        .children = children_of(w, node),
                                        .branches = node == TOP && has_low(w) ? UINT64_C(1) << w->own : 0,
                                        .boot = w->boot,
                                        .has_parent = node == LOW};

    config.session.salt = 0;
    for (uint32_t child = 0; child < config.children; child++) {
        uint32_t rank = child_node(w, node, child);
        config.spare += rank < RANKS ? trib_quorum_brings(&w->session, rank) : 0;
    }
    free(w->nodes[node]);
    w->nodes[node] = memory_of(S->size(&config));
    S->init(w->nodes[node], &config);
}

static uint64_t lowest(const struct world *w, uint32_t from, uint32_t to)
{
    uint64_t mark = UINT64_MAX;

    for (uint32_t rank = from; rank < to; rank++) {
        uint64_t own = W->mark(w->nodes[rank]);
        mark = own < mark ? own : mark;
    }
    return mark;
}

/* Both switches anew, as a control plane does it: all register, then M is known, then all may send. */
static void boot(struct world *w)
{
    uint32_t ranks = w->session.ranks;

    w->boot++;
    open_switch(w, TOP);
    if (has_low(w)) {
        open_switch(w, LOW);
        for (uint32_t rank = w->own; rank < ranks; rank++) {
            S->join(w->nodes[LOW], rank - w->own, W->mark(w->nodes[rank]));
        }
        S->join(w->nodes[TOP], w->own, lowest(w, w->own, ranks));
    }
    for (uint32_t rank = 0; rank < w->own; rank++) {
        S->join(w->nodes[TOP], rank, W->mark(w->nodes[rank]));
    }
    uint64_t mark = lowest(w, 0, ranks);
    if (has_low(w)) {
        S->learn_mark(w->nodes[LOW], mark);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        W->registered(w->nodes[rank], w->boot, mark, w->now_ns);
    }
}

/* Which reductions come in turn: the third and sixth operations are of a kind that must have all. */
static struct trib_operation operation_of(const struct world *w, uint32_t rank, uint32_t number)
{
    size_t at = (size_t)number * BLOCKS * ELEMENTS;

    return (struct trib_operation){
        .send = w->send[rank] + at,
        .recv = w->recv[rank] + at,
        .count = BLOCKS * ELEMENTS,
        .token = number,
        .collective = TRIB_ALLREDUCE,
        .type = number % 3 == 2 ? TRIB_INT32 : TRIB_FLOAT32,
        .reduction = number % 3 == 1 ? TRIB_AVERAGE : TRIB_SUM,
    };
}

/* Bit `rank` of an element: who is in a sum can be read off it. */
static void fill(struct world *w, uint32_t rank)
{
    for (uint32_t i = 0; i < SEQUENCES * ELEMENTS; i++) {
        int32_t whole = 1 << rank;
        w->send[rank][i] = (float)whole;
        if (i / (BLOCKS * ELEMENTS) % 3 == 2) {
            memcpy(&w->send[rank][i], &whole, sizeof whole);
        }
    }
}

static void begin(struct world *w, uint64_t seed, uint32_t ranks, uint32_t own)
{
    memset(w, 0, sizeof *w);
    w->prng.state = seed;
    w->session = (struct trib_session_config){.salt = seed + 1,
                                              .communicator = 7,
                                              .ranks = ranks,
                                              .roots = 1,
                                              .train = 4,
                                              .slots = 16,
                                              .payload = PAYLOAD,
                                              .generation = 1,
                                              .wire = TRIB_FLOAT32,
                                              .lookahead = 16,
                                              .cap = 8,
                                              .quorum = 3,
                                              .quorum_of = 4};
    w->own = own;
    w->boot = 40;
    w->now_ns = 100 * MS;
    w->flight = calloc(FLIGHT, sizeof *w->flight);
    assert_non_null(w->flight);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct trib_worker_config config = {.session = w->session,
                                            .kernels = trib_value_kernels(),
                                            .rank = rank,
                                            .window = 8,
                                            .operations = 2,
                                            .stall_ns = 1000 * MS};
        w->nodes[rank] = memory_of(W->size(&config));
        W->init(w->nodes[rank], &config);
        w->send[rank] = calloc(SEQUENCES * ELEMENTS, sizeof(float));
        w->recv[rank] = calloc(SEQUENCES * ELEMENTS, sizeof(float));
        assert_true(w->send[rank] != NULL && w->recv[rank] != NULL);
        fill(w, rank);
    }
    boot(w);
}

static void end(struct world *w)
{
    for (uint32_t node = 0; node < RANKS + 2; node++) {
        free(w->nodes[node]);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        free(w->send[rank]);
        free(w->recv[rank]);
    }
    free(w->flight);
}

/* ---- what is said of a sequence ---- */

static uint32_t least(const struct world *w)
{
    return w->session.ranks - trib_quorum_spare(&w->session, w->session.ranks);
}

static void list_of(const struct world *w, const struct trib_packet *packet, uint8_t *list)
{
    const uint8_t *has = trib_quorum_list(packet);

    memset(list, 0, TRIB_QUORUM_LIST);
    if (has != NULL) {
        memcpy(list, has, TRIB_QUORUM_LIST);
        return;
    }
    assert_true((packet->flags & TRIB_FLAG_QUORUM) == 0);
    for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
        trib_quorum_add(list, rank);
    }
}

/* A result that a rank has taken, or offers: one list for each sequence, for good. */
static void see(struct world *w, const struct trib_packet *packet)
{
    struct seen *seen = &w->seen[packet->sequence];
    uint8_t list[TRIB_QUORUM_LIST];

    assert_true(packet->sequence < SEQUENCES);
    list_of(w, packet, list);
    if (!seen->is_said) {
        seen->is_said = true;
        memcpy(seen->list, list, sizeof list);
        uint32_t count = trib_quorum_count(list);
        assert_true(count >= least(w) && count == packet->contributors);
        assert_true(count == w->session.ranks || packet->sequence / BLOCKS % 3 != 2);
        w->lacking += count < w->session.ranks;
    }
    assert_memory_equal(seen->list, list, sizeof list);
}

static void check_results(const struct world *w)
{
    for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
        for (uint32_t i = 0; i < SEQUENCES * ELEMENTS; i++) {
            const uint8_t *list = w->seen[i / ELEMENTS].list;
            int32_t sum = 0;
            for (uint32_t other = 0; other < w->session.ranks; other++) {
                sum += trib_quorum_has(list, other) ? 1 << other : 0;
            }
            uint32_t number = i / (BLOCKS * ELEMENTS);
            float expected = (float)sum / (number % 3 == 1 ? (float)trib_quorum_count(list) : 1);
            if (number % 3 == 2) {
                memcpy(&expected, &sum, sizeof sum);
            }
            assert_memory_equal(&w->recv[rank][i], &expected, sizeof expected);
        }
    }
}

/* ---- steps ---- */

static void post(struct world *w, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    uint64_t delay = 5000 + trib_prng_below(&w->prng, 40000);

    if (trib_prng_below(&w->prng, 100) < w->loss || w->count == FLIGHT) {
        return;
    }
    if (trib_prng_below(&w->prng, 100) < w->loss) {
        delay += trib_prng_below(&w->prng, 2 * MS);
    }
    struct parcel *p = &w->flight[w->count++];
    *p = (struct parcel){.packet = *packet, .from = from, .to = to, .at_ns = w->now_ns + delay};
    if (packet->payload_len != 0) {
        memcpy(p->payload, packet->payload, packet->payload_len);
    }
}

static void post_twice(struct world *w, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    if (packet->kind == TRIB_OFFER) {
        see(w, packet);
    }
    post(w, from, to, packet);
    if (trib_prng_below(&w->prng, 100) < w->loss / 2) {
        post(w, from, to, packet);
    }
}

static void drain_rank(struct world *w, uint32_t rank)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;

    if (w->lag_until[rank] > w->now_ns) {
        return;
    }
    while (w->submitted[rank] < OPERATIONS - w->holds[rank]) {
        struct trib_operation operation = operation_of(w, rank, w->submitted[rank]);
        if (!W->submit(w->nodes[rank], &operation, w->now_ns)) {
            break;
        }
        w->submitted[rank]++;
    }
    while (W->node.next_packet(w->nodes[rank], w->now_ns, &packet, &to)) {
        post_twice(w, rank, rank < w->own ? TOP : LOW, &packet);
    }
    while (W->node.next_event(w->nodes[rank], &event)) {
        assert_int_not_equal(event.kind, TRIB_EVENT_FAILED);
        w->done[rank] += event.kind == TRIB_EVENT_DONE;
        w->stalled[rank] = event.kind == TRIB_EVENT_STALL ? event.sequence + 1 : w->stalled[rank];
    }
}

static void drain_switch(struct world *w, uint32_t node)
{
    struct trib_packet packet;
    struct trib_place to;

    while (S->node.next_packet(w->nodes[node], w->now_ns, &packet, &to)) {
        if (to.kind == TRIB_PLACE_PARENT) {
            post_twice(w, LOW, TOP, &packet);
            continue;
        }
        for (uint64_t bits = to.children; bits != 0; bits &= bits - 1) {
            post_twice(w, node, child_node(w, node, (uint32_t)__builtin_ctzll(bits)), &packet);
        }
    }
}

static void arrive(struct world *w, struct parcel *p)
{
    struct trib_place from = {.kind = TRIB_PLACE_ROOT};

    p->packet.payload = p->packet.payload_len != 0 ? p->payload : NULL;
    if (p->to < TOP) {
        enum trib_drop drop = W->node.receive(w->nodes[p->to], from, &p->packet, w->now_ns);
        if (drop == TRIB_DROP_NONE && p->packet.kind == TRIB_RESULT) {
            see(w, &p->packet);
        }
        drain_rank(w, p->to);
        return;
    }
    from.kind = p->from == TOP ? TRIB_PLACE_PARENT : TRIB_PLACE_CHILDREN;
    from.children = p->from == TOP ? 0 : UINT64_C(1) << child_number(w, p->from);
    (void)S->node.receive(w->nodes[p->to], from, &p->packet, w->now_ns);
    drain_switch(w, p->to);
}

/* The earliest of packets and timers; of a rank that lags, when it wakes. */
static bool step(struct world *w)
{
    uint32_t first = UINT32_MAX;
    uint64_t at = UINT64_MAX;
    uint32_t wakes = UINT32_MAX;

    for (uint32_t i = 0; i < w->count; i++) {
        bool waits = w->flight[i].to < TOP && w->lag_until[w->flight[i].to] > w->flight[i].at_ns;
        uint64_t due = waits ? w->lag_until[w->flight[i].to] : w->flight[i].at_ns;
        if (due < at) {
            first = i;
            at = due;
        }
    }
    for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
        uint64_t due = W->node.next_timeout(w->nodes[rank]);
        if (w->lag_until[rank] > w->now_ns || due < w->lag_until[rank]) {
            due = w->lag_until[rank];
        }
        if (due < at) {
            wakes = rank;
            at = due;
        }
    }
    if (at == UINT64_MAX) {
        return false;
    }
    w->now_ns = at > w->now_ns ? at : w->now_ns;
    if (wakes != UINT32_MAX) {
        W->node.on_timeout(w->nodes[wakes], w->now_ns);
        drain_rank(w, wakes);
        return true;
    }
    struct parcel p = w->flight[first];
    w->flight[first] = w->flight[--w->count];
    arrive(w, &p);
    return true;
}

static bool is_over(const struct world *w)
{
    for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
        if (w->done[rank] < OPERATIONS) {
            return false;
        }
    }
    return true;
}

/* restarts and lags: of a thousand steps, so many. */
static void run(struct world *w, uint32_t restarts, uint32_t lags)
{
    for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
        drain_rank(w, rank);
    }
    for (uint64_t steps = 0; !is_over(w); steps++) {
        assert_true(steps < 1000000); /* it hangs */
        assert_true(step(w));
        if (trib_prng_below(&w->prng, 1000) < lags) {
            w->lag_until[trib_prng_below(&w->prng, w->session.ranks)] = w->now_ns + trib_prng_below(&w->prng, 5 * MS);
        }
        if (steps < 20000 && trib_prng_below(&w->prng, 1000) < restarts) {
            boot(w);
            for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
                drain_rank(w, rank);
            }
        }
    }
    check_results(w);
}

static struct trib_counters sum_of_workers(const struct world *w)
{
    struct trib_counters sum = {0};

    for (uint32_t rank = 0; rank < w->session.ranks; rank++) {
        trib_counters_add(&sum, W->node.counters(w->nodes[rank]));
    }
    return sum;
}

/* ---- tests ---- */

static void name__says_which_part_of_the_ranks_makes_a_sum(void **state)
{
    static const char *const wrong[] = {"panama:",    "panama:7",    "panama:7/",   "panama:8/8",   "panama:9/8",
                                        "panama:3/8", "panama:07/8", "panama:7/8 ", "panama:7/8/9", "panama:255/256",
                                        "hybrid:7/8", "ring:7/8",    "switchml:7/8"};
    struct trib_session_config session = {.ranks = 8, .payload = 1408, .wire = TRIB_FLOAT32};

    (void)state;
    assert_ptr_equal(trib_scheme_find("panama:7/8"), &trib_panama);
    assert_ptr_equal(trib_scheme_find("panama:1/2"), &trib_panama);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_null(trib_scheme_find(wrong[i]));
    }
    trib_scheme_settle("panama", &session);
    assert_false(trib_session_has_quorum(&session));
    assert_int_equal(trib_session_data(&session), 1408);
    trib_scheme_settle("panama:15/16", &session);
    assert_int_equal(trib_session_data(&session), 1344);
    assert_int_equal(trib_quorum_spare(&session, 15), 0);
    assert_int_equal(trib_quorum_spare(&session, 16), 1);
    assert_null(trib_panama.unfit(&session));
    session.ranks = 513;
    assert_non_null(trib_panama.unfit(&session));
    session.ranks = 512;
    session.wire = TRIB_INT32;
    assert_non_null(trib_panama.unfit(&session));
    session.wire = TRIB_FLOAT32;
    session.payload = 64;
    assert_non_null(trib_panama.unfit(&session));
}

static void bits__are_counted(void **state)
{
    struct trib_prng prng = {.state = 3};

    (void)state;
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(trib_count_bits(UINT64_MAX >> i), 64 - i);
        assert_int_equal(trib_count_bits(UINT64_C(1) << i), 1);
    }
    assert_int_equal(trib_count_bits(0), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t word = trib_prng_next(&prng);
        assert_int_equal(trib_count_bits(word), __builtin_popcountll(word));
    }
}

static void sums__lack_a_rank_that_lags_and_no_more_than_may(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 1, 8, 8);
    w.lag_until[5] = w.now_ns + 50 * MS;
    run(&w, 0, 0);
    assert_true(w.lacking > 0);
    struct trib_counters sum = sum_of_workers(&w);
    const struct trib_counters *top = S->node.counters(w.nodes[TOP]);
    assert_true(sum.late > 0 && sum.results_lacking >= sum.late);
    assert_int_equal(top->results_lacking, w.lacking);
    end(&w);
}

/* 3/4 of 8 ranks, of which 6 are at the top: one of them may lack, and one of the two others, of which 3/4 are both. */
static void sums__lack_one_of_few_ranks_below(void **state)
{
    uint32_t lacking = 0;

    (void)state;
    for (uint32_t late = 6; late < 8; late++) {
        struct world w;
        begin(&w, 4, 8, 6);
        w.lag_until[late] = w.now_ns + 50 * MS;
        run(&w, 0, 0);
        for (uint32_t i = 0; i < SEQUENCES; i++) {
            bool has_both = trib_quorum_has(w.seen[i].list, 6) && trib_quorum_has(w.seen[i].list, 7);
            assert_true(trib_quorum_has(w.seen[i].list, 6) || trib_quorum_has(w.seen[i].list, 7));
            lacking += !has_both;
        }
        end(&w);
    }
    assert_true(lacking > 0);
}

/* The first window of a boot could hold what an earlier one has summed: there all are waited for. */
static void sums__of_the_first_window_have_all(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 2, 8, 8);
    w.lag_until[0] = w.now_ns + 20 * MS;
    run(&w, 0, 0);
    for (uint32_t i = 0; i < w.session.slots; i++) {
        assert_int_equal(trib_quorum_count(w.seen[i].list), 8);
    }
    end(&w);
}

/* A rank whose operation is submitted takes results of what it has not sent, and need not send it any more. */
static void late_rank__does_not_send_what_is_summed(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 3, 8, 8);
    for (uint32_t i = 0; !is_over(&w); i++) {
        for (uint32_t rank = 0; rank < 8; rank++) {
            drain_rank(&w, rank);
        }
        assert_true(i < 100000 && step(&w));
        w.loss = 0;
        /* Three of four contributions of this rank are lost, so that it stands behind the others. Which ones must not
         * follow the steps: with a window of one fragment a fixed pattern would lose all of them. */
        for (uint32_t at = 0; at < w.count; at++) {
            const struct parcel *p = &w.flight[at];
            if (p->from == 2 && p->packet.kind == TRIB_CONTRIBUTION && trib_mix64(p->at_ns) % 4 != 0) {
                w.flight[at--] = w.flight[--w.count];
            }
        }
    }
    check_results(&w);
    const struct trib_counters *own = W->node.counters(w.nodes[2]);
    assert_true(own->late > 0);
    end(&w);
}

/* Who is waited for, at the switch that the rank is a child of and above it. */
static void assert_named(const struct world *w, uint32_t late, uint64_t sequence)
{
    uint32_t node = late < w->own ? late : LOW;

    assert_int_equal(S->missing_on(w->nodes[TOP], sequence), UINT64_C(1) << child_number(w, node));
    if (node == LOW) {
        assert_int_equal(S->missing_on(w->nodes[LOW], sequence), UINT64_C(1) << child_number(w, late));
    }
}

/* One rank does nothing any more, or not all: every other one says so, and on which sequence. Sums go on without it
 * until a window is full; then nothing is outstanding anywhere, and it is M that waits. */
static void rank_waits_for(uint32_t ranks, uint32_t own, uint32_t late, bool hangs)
{
    struct world w;
    uint32_t reported = 0;

    begin(&w, late, ranks, own);
    w.holds[late] = hangs ? 0 : OPERATIONS - 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        drain_rank(&w, rank);
    }
    while (hangs && W->mark(w.nodes[late]) < BLOCKS + 5) {
        assert_true(step(&w));
    }
    w.lag_until[late] = hangs ? w.now_ns + 100000 * MS : 0;
    uint64_t end_ns = w.now_ns + 3000 * MS; /* three times the time that a stall report takes */
    while (w.now_ns < end_ns && reported < ranks - 1) {
        assert_true(step(&w));
        reported = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            reported += rank != late && w.stalled[rank] != 0;
        }
    }
    assert_int_equal(reported, ranks - 1);
    uint64_t sequence = S->node.communicator_mark(w.nodes[TOP]); /* as far as it has told */
    for (uint32_t rank = 0; rank < ranks; rank++) {
        assert_true(rank == late || (w.stalled[rank] == sequence + 1 && W->mark(w.nodes[rank]) > sequence));
    }
    assert_named(&w, late, sequence);
    end(&w);
}

static void rank_that_hangs__is_named(void **state)
{
    (void)state;
    rank_waits_for(8, 8, 5, true);
    rank_waits_for(8, 8, 0, true);
    rank_waits_for(16, 8, 2, true);
    rank_waits_for(16, 8, 12, true);
}

static void rank_that_never_submits__is_named(void **state)
{
    (void)state;
    rank_waits_for(8, 8, 5, false);
    rank_waits_for(16, 8, 2, false);
    rank_waits_for(16, 8, 12, false);
}

static void worlds(uint64_t first, uint32_t ranks, uint32_t own, uint32_t restarts)
{
    uint32_t lacking = 0;

    for (uint64_t seed = first; seed < first + 40; seed++) {
        struct world w;
        begin(&w, seed, ranks, own);
        w.loss = (uint32_t)(seed % 8);
        run(&w, restarts, 4);
        lacking += w.lacking;
        end(&w);
    }
    assert_true(lacking > 0);
}

static void worlds__star(void **state)
{
    (void)state;
    worlds(100, 8, 8, 0);
}

static void worlds__tree(void **state)
{
    (void)state;
    worlds(200, 16, 8, 0);
    worlds(300, 9, 4, 0);
    worlds(600, 8, 6, 0);
    worlds(650, 4, 2, 0);
}

static void worlds__with_restarts(void **state)
{
    (void)state;
    worlds(400, 8, 8, 2);
    worlds(500, 16, 8, 2);
    worlds(700, 8, 6, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name__says_which_part_of_the_ranks_makes_a_sum),
        cmocka_unit_test(bits__are_counted),
        cmocka_unit_test(sums__lack_a_rank_that_lags_and_no_more_than_may),
        cmocka_unit_test(sums__lack_one_of_few_ranks_below),
        cmocka_unit_test(sums__of_the_first_window_have_all),
        cmocka_unit_test(late_rank__does_not_send_what_is_summed),
        cmocka_unit_test(rank_that_hangs__is_named),
        cmocka_unit_test(rank_that_never_submits__is_named),
        cmocka_unit_test(worlds__star),
        cmocka_unit_test(worlds__tree),
        cmocka_unit_test(worlds__with_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
