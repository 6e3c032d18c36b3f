/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama.c: the scheme panama: a window for each tree that follows marks, losses and caps; caps that are told up
 * and down; memory of a switch that never runs over, also while a job joins; FIN and ECN through the slots; bits that
 * do not depend on any of it. */
#include "trees_harness.h"

#include "core/prng.h"
#include "core/share.h"
#include "schemes/panama/panama.h"

#define S trib_panama.switch_node
#define W trib_panama.worker

static const struct trib_session_config one = {.ranks = 2, .roots = 1, .train = 1, .slots = 256, .generation = 1};

/* ---- a switch node by itself ---- */

struct bench {
    struct trib_switch_config config;
    void *node;
    uint64_t now_ns;
};

/* branches: children that are switches. */
static void start_above(struct bench *b, uint32_t slots, uint32_t first_cap, bool has_parent, uint64_t branches)
{
    memset(b, 0, sizeof *b);
    b->config = (struct trib_switch_config){
        .session = {.communicator = 7,
                    .generation = 1,
                    .ranks = 2,
                    .roots = 1,
                    .train = 1,
                    .slots = slots,
                    .payload = 64,
                    .cap = first_cap},
        .kernels = trib_value_kernels(),
        .children = 2,
        .boot = TREES_BOOT,
        .has_parent = has_parent,
        .branches = branches,
    };
    b->now_ns = 1000 * TREES_MS;
    b->node = node_memory(S->size(&b->config));
    S->init(b->node, &b->config);
    S->join(b->node, 0, 0);
    S->join(b->node, 1, 0);
}

static void start(struct bench *b, uint32_t slots, uint32_t first_cap, bool has_parent)
{
    start_above(b, slots, first_cap, has_parent, 0);
}

static struct trib_packet part(uint64_t sequence, uint64_t mark, uint16_t flags)
{
    static const int32_t payload[4] = {1, 2, 3, 4};

    return (struct trib_packet){
        .kind = TRIB_CONTRIBUTION,
        .communicator = 7,
        .generation = 1,
        .boot = TREES_BOOT,
        .sequence = sequence,
        .mark = mark,
        .flags = flags,
        .type = TRIB_INT32,
        .reduction = TRIB_SUM,
        .payload = payload,
        .payload_len = sizeof payload,
        .contributors = 1,
    };
}

static enum trib_drop give(struct bench *b, uint32_t child, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = child == UINT32_MAX ? TRIB_PLACE_PARENT : TRIB_PLACE_CHILDREN};

    from.children = child == UINT32_MAX ? 0 : UINT64_C(1) << child;
    return S->node.receive(b->node, from, packet, b->now_ns);
}

static struct trib_packet taken(struct bench *b, enum trib_kind kind)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_true(S->node.next_packet(b->node, b->now_ns, &packet, &to));
    assert_int_equal(packet.kind, kind);
    return packet;
}

/* Both children's parts of a sequence; what comes out. */
static struct trib_packet sum_of(struct bench *b, uint64_t sequence, uint64_t mark, uint16_t flags0, uint16_t flags1)
{
    struct trib_packet p0 = part(sequence, mark, flags0);
    struct trib_packet p1 = part(sequence, mark, flags1);

    assert_int_equal(give(b, 0, &p0), TRIB_DROP_NONE);
    assert_int_equal(give(b, 1, &p1), TRIB_DROP_NONE);
    return taken(b, b->config.has_parent ? TRIB_CONTRIBUTION : TRIB_RESULT);
}

/* A result names whose parts were marked; a sum on its way up has a way of its own. */
/* The flag 0x01, which is reserved, goes no further. */
static void switch__names_who_was_marked(void **state)
{
    static const struct {
        uint16_t a, b, named;
    } cases[] = {
        {0, 0, 0},
        {TRIB_FLAG_ECN, 0, 1},
        {0, TRIB_FLAG_ECN | TRIB_FLAG_FIN, 2},
        {TRIB_FLAG_ECN, TRIB_FLAG_ECN, 3},
        {TRIB_FLAG_FIN, 0, 0},
        {TRIB_FLAG_FIN, TRIB_FLAG_FIN, 0},
        {TRIB_FLAG_FIN | TRIB_FLAG_ECN, TRIB_FLAG_FIN, 1},
    };
    (void)state;

    for (uint32_t level = 0; level < 2; level++) {
        struct bench b;
        start(&b, 64, 0, level == 1);
        S->set_child(b.node, 0);
        for (uint64_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct trib_packet sum = sum_of(&b, i, 0, cases[i].a, cases[i].b);
            assert_int_equal(sum.flags, 0);
            assert_int_equal(sum.bitmap, level == 0 ? cases[i].named : 0);
        }
        free(b.node);
    }
}

static void switch__forgets_the_marks_of_the_fragment_before(void **state)
{
    struct bench b;
    (void)state;

    start(&b, 2, 0, false);
    assert_int_equal(sum_of(&b, 0, 0, TRIB_FLAG_ECN, 0).bitmap, 1);
    assert_int_equal(sum_of(&b, 1, 1, 0, 0).bitmap, 0);
    assert_int_equal(sum_of(&b, 2, 1, 0, TRIB_FLAG_ECN).bitmap, 2); /* in the slot of the first */
    free(b.node);
}

/* The parent's result of a sum that these two gave: which children the own result names. */
static uint64_t named_below(struct bench *b, uint64_t sequence, uint16_t flags0, uint16_t flags, uint64_t bitmap)
{
    struct trib_packet result = sum_of(b, sequence, 0, flags0, 0);

    result.kind = TRIB_RESULT;
    result.flags = flags;
    result.bitmap = bitmap;
    assert_int_equal(give(b, UINT32_MAX, &result), TRIB_DROP_NONE);
    struct trib_packet told = taken(b, TRIB_RESULT);
    assert_int_equal(told.flags, 0); /* its own way down is yet to come */
    return told.bitmap;
}

/* The way between a switch and its parent is one of all below it; that of another child of the parent is not. */
static void inner_switch__hands_the_marks_of_its_own_way_to_all(void **state)
{
    struct bench b;
    (void)state;

    start(&b, 64, 0, true);
    assert_int_equal(named_below(&b, 0, 0, 0, 0), 0);
    assert_int_equal(named_below(&b, 1, 0, 0, 4), 3); /* its number is not known: it may be its own */
    assert_int_equal(sum_of(&b, 7, 0, TRIB_FLAG_ECN, 0).flags, TRIB_FLAG_ECN);
    S->set_child(b.node, 5);
    assert_int_equal(named_below(&b, 2, 0, 0, UINT64_MAX & ~UINT64_C(0x20)), 0);
    assert_int_equal(named_below(&b, 3, 0, 0, 0x20), 3);
    assert_int_equal(named_below(&b, 4, 0, TRIB_FLAG_ECN, 0), 3);
    assert_int_equal(named_below(&b, 5, TRIB_FLAG_ECN, 0, 0), 1);
    assert_int_equal(named_below(&b, 6, 0, 0, 0), 0); /* the sequence before it is forgotten */
    free(b.node);
}

static void switch__tells_the_least_cap(void **state)
{
    struct bench b;
    (void)state;

    start(&b, 64, 0, false);
    assert_int_equal(sum_of(&b, 0, 0, 0, 0).window_cap,
                     0); /* none was set, and half of the slots is all that there is */
    free(b.node);
    start_above(&b, 64, 4, false, 1);
    assert_int_equal(sum_of(&b, 0, 0, 0, 0).window_cap, 4); /* none was set, and there is room for twice the first */
    S->set_cap(b.node, 20, b.now_ns);
    assert_int_equal(sum_of(&b, 1, 0, 0, 0).window_cap, 20);
    struct trib_packet p0 = part(2, 0, 0);
    struct trib_packet p1 = part(2, 0, 0);
    p0.window_cap = 9; /* a switch below has less */
    (void)give(&b, 0, &p0);
    (void)give(&b, 1, &p1);
    assert_int_equal(taken(&b, TRIB_RESULT).window_cap, 9);
    S->set_cap(b.node, 0, b.now_ns); /* never 0 on the wire, nor more than half of the slots */
    assert_int_equal(sum_of(&b, 3, 0, 0, 0).window_cap, 1);
    S->set_cap(b.node, 100000, b.now_ns);
    assert_int_equal(sum_of(&b, 4, 0, 0, 0).window_cap, 32);
    free(b.node);
    /* Below a parent: the own cap goes up with the sum, and with the result the least of both goes down. */
    start(&b, 64, 4, true);
    S->set_cap(b.node, 20, b.now_ns);
    assert_int_equal(sum_of(&b, 0, 0, 0, 0).window_cap, 20);
    for (uint16_t cap = 0; cap <= 30; cap = (uint16_t)(cap + 10)) {
        uint64_t sequence = 1 + cap / 10;
        (void)sum_of(&b, sequence, 0, 0, 0);
        struct trib_packet result = part(sequence, 0, 0);
        result.kind = TRIB_RESULT;
        result.contributors = 2;
        result.window_cap = cap;
        assert_int_equal(give(&b, UINT32_MAX, &result), TRIB_DROP_NONE);
        assert_int_equal(taken(&b, TRIB_RESULT).window_cap, cap == 10 ? 10 : 20);
    }
    free(b.node);
}

/* Twice the cap beyond M, and not one more, whatever comes. */
static void switch__takes_no_more_than_its_room(void **state)
{
    struct bench b;
    (void)state;

    start(&b, 64, 4, false);
    assert_int_equal(S->room(b.node), 8);
    for (uint64_t sequence = 0; sequence < 64; sequence++) {
        struct trib_packet p = part(sequence, 0, 0);
        assert_int_equal(give(&b, 0, &p), sequence < 8 ? TRIB_DROP_NONE : TRIB_DROP_WINDOW);
    }
    assert_int_equal(S->slots_held(b.node), 8);
    /* Who asks for what is beyond hears so, and again when M moves. */
    struct trib_packet probe = part(8, 0, 0);
    probe.kind = TRIB_PROBE;
    probe.payload_len = 0;
    probe.payload = NULL;
    assert_int_equal(give(&b, 0, &probe), TRIB_DROP_NONE);
    assert_int_equal(taken(&b, TRIB_HELD).mark, 0);
    struct trib_packet p = part(0, 0, 0);
    (void)give(&b, 1, &p);
    (void)taken(&b, TRIB_RESULT);
    p = part(1, 1, 0);
    (void)give(&b, 1, &p);
    (void)taken(&b, TRIB_RESULT);
    p = part(8, 1, 0);
    assert_int_equal(give(&b, 0, &p), TRIB_DROP_NONE);
    assert_int_equal(taken(&b, TRIB_HELD).mark, 1);
    free(b.node);
}

/* A cap that falls holds when all must have heard of it; until then there is room for what the old one allowed. */
static void switch__keeps_room_until_all_have_heard(void **state)
{
    struct bench b;
    (void)state;

    start(&b, 64, 2, false);
    S->set_cap(b.node, 10, b.now_ns);
    assert_int_equal(S->room(b.node), 20);
    for (uint64_t sequence = 0; sequence < 3; sequence++) {
        assert_int_equal(sum_of(&b, sequence, 0, 0, 0).window_cap, 10);
    }
    S->set_cap(b.node, 3, b.now_ns);
    assert_int_equal(S->room(b.node), 20);
    assert_int_equal(sum_of(&b, 3, 3, 0, 0).window_cap, 3); /* 0 to 2 are done: the old cap is what all have heard */
    assert_int_equal(S->room(b.node), 20);
    (void)sum_of(&b, 4, 3, 0, 0);
    assert_int_equal(S->room(b.node), 20);
    (void)sum_of(&b, 5, 4, 0, 0); /* all have the result of 3, and with it the new cap: by now they may be at 4 + 20 */
    assert_int_equal(S->room(b.node), 20);
    for (uint64_t sequence = 6; sequence < 24; sequence++) {
        (void)sum_of(&b, sequence, sequence - 1, 0, 0);
        uint32_t rest = 24 - (uint32_t)(sequence - 1);
        assert_int_equal(S->room(b.node), rest > 6 ? rest : 6);
    }
    free(b.node);
}

static void switch__is_active_until_a_second_after_its_last_slot(void **state)
{
    struct bench b;
    (void)state;

    start(&b, 64, 2, false);
    assert_false(S->is_active(b.node, b.now_ns));
    S->set_cap(b.node, 20, b.now_ns);
    (void)sum_of(&b, 0, 0, 0, 0);
    b.now_ns += 5000 * TREES_MS;
    assert_true(S->is_active(b.node, b.now_ns)); /* it holds a slot */
    S->join(b.node, 0, 1);
    S->join(b.node, 1, 1);
    assert_int_equal(S->slots_held(b.node), 0);
    assert_false(S->is_active(b.node, b.now_ns));
    /* Ranks that rested so long begin with the first cap: the old one needs no room. */
    S->set_cap(b.node, 2, b.now_ns);
    assert_int_equal(S->room(b.node), 4);
    (void)sum_of(&b, 1, 1, 0, 0);
    S->join(b.node, 0, 2);
    S->join(b.node, 1, 2);
    b.now_ns += 999 * TREES_MS;
    assert_true(S->is_active(b.node, b.now_ns));
    b.now_ns += TREES_MS;
    assert_false(S->is_active(b.node, b.now_ns));
    free(b.node);
}

static bool is_silent(struct bench *b)
{
    struct trib_packet packet;
    struct trib_place to;

    return !S->node.next_packet(b->node, b->now_ns, &packet, &to);
}

static void expect_sum(const struct trib_packet *result)
{
    static const int32_t twice[4] = {2, 4, 6, 8};

    assert_int_equal(result->contributors, 2);
    assert_int_equal(result->payload_len, sizeof twice);
    assert_memory_equal(result->payload, twice, sizeof twice);
}

/* A sequence that comes twice, before its sum or behind it, or that is below M, adds nothing and brings nothing. */
static void switch__adds_each_part_once(void **state)
{
    struct bench b;
    struct trib_packet p = part(0, 0, 0);
    (void)state;

    start(&b, 64, 4, false);
    assert_int_equal(give(&b, 0, &p), TRIB_DROP_NONE);
    assert_int_equal(give(&b, 0, &p), TRIB_DROP_DUPLICATE);
    assert_int_equal(S->slots_held(b.node), 1);
    assert_true(is_silent(&b));
    assert_int_equal(give(&b, 1, &p), TRIB_DROP_NONE);
    struct trib_packet result = taken(&b, TRIB_RESULT);
    expect_sum(&result);
    assert_int_equal(give(&b, 1, &p), TRIB_DROP_DUPLICATE);
    assert_true(is_silent(&b));
    result = sum_of(&b, 1, 1, 0, 0); /* both have the result of 0 */
    expect_sum(&result);
    assert_int_equal(give(&b, 0, &p), TRIB_DROP_STALE);
    assert_int_equal(S->slots_held(b.node), 1);
    assert_true(is_silent(&b));
    p = part(2, 1, 0);
    p.generation++;
    assert_int_equal(give(&b, 0, &p), TRIB_DROP_GENERATION);
    assert_int_equal(S->node.counters(b.node)->results, 2);
    assert_int_equal(S->slots_held(b.node), 1);
    free(b.node);
}

/* Within the room a later sequence overtakes an earlier one, and what is missing is asked for at once. */
static void switch__asks_for_what_is_missing(void **state)
{
    struct bench b;
    struct trib_packet packet;
    struct trib_place to;
    uint32_t results = 0;
    uint32_t asks = 0;
    (void)state;

    start(&b, 64, 4, false);
    for (uint64_t sequence = 0; sequence < 4; sequence++) {
        packet = part(sequence, 0, 0);
        assert_int_equal(give(&b, 1, &packet), TRIB_DROP_NONE);
    }
    packet = part(0, 0, 0);
    assert_int_equal(give(&b, 0, &packet), TRIB_DROP_NONE);
    packet = part(3, 0, 0);
    assert_int_equal(give(&b, 0, &packet), TRIB_DROP_NONE);
    while (S->node.next_packet(b.node, b.now_ns, &packet, &to)) {
        if (packet.kind == TRIB_ASK) {
            assert_int_equal(packet.sequence, 1);
            assert_int_equal(packet.bitmap, 1); /* and the one behind it */
            assert_int_equal(to.children, 1);
            asks++;
        } else {
            assert_int_equal(packet.kind, TRIB_RESULT);
            assert_int_equal(packet.sequence, results == 0 ? 0 : 3);
            expect_sum(&packet);
            results++;
        }
    }
    assert_int_equal(results, 2);
    assert_int_equal(asks, 1);
    for (uint64_t sequence = 2; sequence > 0; sequence--) {
        packet = part(sequence, 0, TRIB_FLAG_RESEND);
        assert_int_equal(give(&b, 0, &packet), TRIB_DROP_NONE);
        packet = taken(&b, TRIB_RESULT);
        assert_int_equal(packet.sequence, sequence);
        expect_sum(&packet);
    }
    assert_true(is_silent(&b));
    free(b.node);
}

/* After a restart nothing opens a slot before all have joined, nor what was sent to the switch as it was before; and its
 * room is that of the first cap, whatever the cap was. */
static void switch__begins_anew_after_a_restart(void **state)
{
    struct bench b;
    struct trib_packet p = part(5, 5, 0);
    (void)state;

    start(&b, 64, 4, false);
    S->join(b.node, 0, 5);
    S->join(b.node, 1, 5);
    S->set_cap(b.node, 20, b.now_ns);
    (void)give(&b, 0, &p);
    b.config.boot++;
    S->init(b.node, &b.config);
    assert_int_equal(S->room(b.node), 8);
    assert_int_equal(S->slots_held(b.node), 0);
    assert_false(S->is_active(b.node, b.now_ns));
    assert_int_equal(give(&b, 1, &p), TRIB_DROP_BOOT);
    assert_int_equal(taken(&b, TRIB_BOOT).boot, TREES_BOOT + 1);
    p.boot = TREES_BOOT + 1;
    assert_int_equal(give(&b, 1, &p), TRIB_DROP_UNREGISTERED);
    S->join(b.node, 0, 5);
    assert_int_equal(give(&b, 1, &p), TRIB_DROP_UNREGISTERED);
    S->join(b.node, 1, 5);
    for (uint64_t sequence = 5; sequence < 25; sequence++) {
        p = part(sequence, 5, 0);
        p.boot = TREES_BOOT + 1;
        assert_int_equal(give(&b, 1, &p), sequence < 13 ? TRIB_DROP_NONE : TRIB_DROP_WINDOW);
    }
    assert_int_equal(S->slots_held(b.node), 8);
    free(b.node);
}

/* ---- with workers ---- */

static void worker__starts_with_two_and_doubles(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_panama, &one, 256);
    trees_submit(&t, 400, 1);
    trees_run(&t, 0, 1);
    assert_int_equal(t.sent[0][TRIB_CONTRIBUTION], 2 * 2);
    uint64_t in_window = 2;
    for (uint64_t all = 2; in_window < 64; in_window *= 2, all += in_window) {
        assert_int_equal(t.sent[0][TRIB_CONTRIBUTION], 2 * all);
        (void)trees_round(&t);
        (void)trees_round(&t);
    }
    trees_run(&t, 1, 1000);
    trees_check(&t);
    trees_stop(&t);
}

static void worker__a_loss_halves_its_window(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_panama, &one, 256);
    trees_submit(&t, 20000, 1);
    trees_run(&t, 0, 40);
    uint32_t before = trees_most_in_flight(&t, 0, 4);
    t.lose = 2; /* both ranks' copies of a result */
    t.lose_kind = TRIB_RESULT;
    (void)trees_most_in_flight(&t, 0, 60);
    uint32_t after = trees_most_in_flight(&t, 0, 4);
    assert_true(before >= 64 && after < before && after >= before / 2);
    trees_run(&t, 1, 10000);
    trees_check(&t);
    trees_stop(&t);
}

/* In flight at most the cap, beyond M at most twice the cap: from the first result that says so. */
static void worker__goes_by_the_cap_of_the_latest_result(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_panama, &one, 256);
    trees_submit(&t, 20000, 1);
    trees_run(&t, 0, 60);
    assert_true(trees_most_in_flight(&t, 0, 4) > 50);
    S->set_cap(t.roots[0], 5, t.now_ns);
    (void)trees_most_in_flight(&t, 0, 20);
    assert_int_equal(trees_most_in_flight(&t, 0, 40), 5);
    t.most_held[0] = 0;
    (void)trees_most_in_flight(&t, 0, 40);
    assert_true(t.most_held[0] <= 10);
    S->set_cap(t.roots[0], 40, t.now_ns);
    (void)trees_most_in_flight(&t, 0, 40);
    assert_int_equal(trees_most_in_flight(&t, 0, 40), 40);
    trees_run(&t, 1, 10000);
    trees_check(&t);
    trees_stop(&t);
}

/* What rested for long begins as if nothing were known; what rested for a moment does not. */
static void worker__begins_anew_after_a_rest(void **state)
{
    struct trib_session_config small = one;
    struct trees t;
    (void)state;

    small.cap = 3;
    trees_start(&t, &trib_panama, &small, 256);
    S->set_cap(t.roots[0], 64, t.now_ns);
    trees_submit(&t, 2000, 1);
    trees_run(&t, 1, 10000);
    t.now_ns += 100 * TREES_MS;
    uint64_t before = t.sent[0][TRIB_CONTRIBUTION];
    trees_submit(&t, 2000, 1);
    trees_run(&t, 0, 1);
    assert_int_equal(t.sent[0][TRIB_CONTRIBUTION] - before, 2 * 64);
    trees_run(&t, 2, 10000);
    trees_run(&t, 0, 10000); /* 200 ms: M is asked for */
    t.now_ns += 600 * TREES_MS;
    before = t.sent[0][TRIB_CONTRIBUTION];
    trees_submit(&t, 2000, 1);
    trees_run(&t, 0, 1);
    assert_int_equal(t.sent[0][TRIB_CONTRIBUTION] - before, 2 * 2);
    trees_run(&t, 3, 10000);
    trees_check(&t);
    trees_stop(&t);
}

/* Of the packets with which a root's part ends, so many are lost: contributions of both ranks or of one, or results.
 * Nothing waits for them for ever, and what comes next is not taken for old. */
static void worker__ends_whatever_of_the_end_is_lost(void **state)
{
    static const struct {
        enum trib_kind kind;
        uint32_t lose;
    } cases[] = {{TRIB_CONTRIBUTION, 1}, {TRIB_CONTRIBUTION, 2}, {TRIB_RESULT, 1}, {TRIB_RESULT, 2}};
    struct trib_session_config two = one;
    (void)state;

    two.roots = 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trees t;
        trees_start(&t, &trib_panama, &two, 256);
        t.lose = cases[i].lose;
        t.lose_kind = cases[i].kind;
        trees_submit(&t, 2, 1); /* a fragment at each root: the last there */
        trees_run(&t, 1, 10000);
        assert_int_equal(t.lose, 0);
        trees_check(&t);
        trees_submit(&t, 200, 1);
        trees_run(&t, 2, 10000);
        trees_check(&t);
        trees_run(&t, 0, 20000); /* M is asked for */
        assert_int_equal(S->slots_held(t.roots[0]) + S->slots_held(t.roots[1]), 0);
        trees_stop(&t);
    }
}

/* What ranks had in flight by the cap of before waits until M, or a new cap, has made room for it. */
static void worker__goes_on_after_a_restart(void **state)
{
    struct trib_session_config small = one;
    struct trees t;
    (void)state;

    small.cap = 3;
    small.roots = 2;
    trees_start(&t, &trib_panama, &small, 256);
    S->set_cap(t.roots[0], 64, t.now_ns);
    S->set_cap(t.roots[1], 64, t.now_ns);
    trees_submit(&t, 6000, 1);
    trees_run(&t, 0, 40);
    assert_true(trees_most_in_flight(&t, 0, 4) > 50);
    for (int restart = 0; restart < 3; restart++) {
        trees_restart(&t);
        for (uint32_t round = 0; round < 300; round++) {
            (void)trees_round(&t);
            for (uint32_t root = 0; root < 2; root++) {
                assert_true(S->slots_held(t.roots[root]) <= 6);
                assert_int_equal(S->room(t.roots[root]), 6);
            }
        }
        assert_int_equal(t.done[0], 0);
    }
    S->set_cap(t.roots[0], 64, t.now_ns);
    S->set_cap(t.roots[1], 64, t.now_ns);
    trees_run(&t, 1, 10000);
    trees_check(&t);
    trees_stop(&t);
}

/* ---- the memory of a switch ---- */

static uint32_t divide(struct trees *jobs, uint32_t count, uint32_t memory, struct trib_share *shares)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < count; i++) {
        shares[i].room = S->room(jobs[i].roots[0]);
        shares[i].is_active = S->is_active(jobs[i].roots[0], jobs[i].now_ns);
        held += S->slots_held(jobs[i].roots[0]);
    }
    trib_share_divide(memory, shares, count);
    for (uint32_t i = 0; i < count; i++) {
        S->set_cap(jobs[i].roots[0], shares[i].cap, jobs[i].now_ns);
    }
    return held;
}

/* One job has it all; a second joins: its cap grows as the first one's falls, and no moment has more fragments than
 * there is memory. */
static void memory__never_runs_over_while_a_job_joins(void **state)
{
    struct trib_session_config small = one;
    struct trees jobs[2];
    struct trib_share shares[2] = {{.first = 1, .most = 128}, {.first = 1, .most = 128}};
    (void)state;

    small.cap = 1;
    trees_start(&jobs[0], &trib_panama, &small, 256);
    trees_start(&jobs[1], &trib_panama, &small, 256);
    trees_submit(&jobs[0], 60000, 1);
    trees_run(&jobs[0], 0, 1);
    uint32_t most = 0;
    bool was_shared = false;
    for (int round = 0; round < 1200; round++) {
        if (round == 300) {
            trees_submit(&jobs[1], 20000, 1);
            trees_run(&jobs[1], 0, 1);
        }
        (void)trees_round(&jobs[0]);
        (void)trees_round(&jobs[1]);
        uint32_t held = divide(jobs, 2, 200, shares);
        assert_true(held <= 200);
        most = held > most ? held : most;
        if (round == 250) {
            assert_int_equal(shares[0].cap, 99);
        }
        was_shared = was_shared || (shares[0].cap == 50 && shares[1].cap == 50);
    }
    assert_true(was_shared);
    assert_true(most >= 90);
    trees_run(&jobs[0], 1, 100000);
    trees_run(&jobs[1], 1, 100000);
    trees_check(&jobs[0]);
    trees_check(&jobs[1]);
    trees_stop(&jobs[0]);
    trees_stop(&jobs[1]);
}

/* What is in memory at once never goes beyond it, nor what ranks may send; returns the most that was there. */
static uint32_t round_of(struct trees *jobs, uint32_t memory, struct trib_share *shares)
{
    jobs[0].most_held[0] = jobs[1].most_held[0] = 0;
    (void)trees_round(&jobs[0]);
    (void)trees_round(&jobs[1]);
    uint32_t most = jobs[0].most_held[0] + jobs[1].most_held[0];
    assert_true(most <= memory);
    (void)divide(jobs, 2, memory, shares);
    assert_true(S->room(jobs[0].roots[0]) + S->room(jobs[1].roots[0]) <= memory);
    return most;
}

static bool is_done(const struct trees *job)
{
    return job->done[0] != 0 && job->done[1] != 0;
}

/* Two jobs, of which one joins while the other has it all, divide one memory and have it full to the last fragment, each
 * of sequences of which one rank is ahead: rank 0's packets of job A come before its packets of job B, rank 1's the
 * other way round. That is what stops accelerators with one queue for each port (test_panama_accelerator.c). */
static void memory__serves_two_jobs_in_opposite_order(void **state)
{
    enum { MEMORY = 24, BLOCKS = 600, JOINS = 20, ROUNDS = 8 /* of one order */ };
    struct trib_session_config small = one;
    struct trees jobs[2];
    struct trib_share shares[2] = {{.first = 2, .most = 128}, {.first = 2, .most = 128}};
    uint32_t full = 0, shared = 0;
    (void)state;

    small.cap = 2;
    trees_start(&jobs[0], &trib_panama, &small, 256);
    trees_start(&jobs[1], &trib_panama, &small, 256);
    trees_submit(&jobs[0], BLOCKS, 1);
    trees_run(&jobs[0], 0, 0);
    for (uint32_t turn = 0; !is_done(&jobs[0]) || !is_done(&jobs[1]); turn++) {
        assert_true(turn < JOINS + 2 * BLOCKS / (MEMORY / 4));
        if (turn == JOINS) {
            assert_int_equal(shares[0].cap, MEMORY / 2 - 2);
            trees_submit(&jobs[1], BLOCKS, 1);
            trees_run(&jobs[1], 0, 0);
        }
        jobs[0].late = turn % 2 == 0 ? 2 : 1;
        jobs[1].late = turn % 2 == 0 ? 1 : 2;
        for (uint32_t i = 0; i < ROUNDS; i++) {
            full += round_of(jobs, MEMORY, shares) == MEMORY;
            shared += shares[0].cap == MEMORY / 4 && shares[1].cap == MEMORY / 4;
        }
    }
    assert_true(full > ROUNDS / 2 * BLOCKS / (MEMORY / 2) && shared > full);
    for (uint32_t job = 0; job < 2; job++) {
        trees_check(&jobs[job]);
        assert_int_equal(S->node.counters(jobs[job].roots[0])->dropped[TRIB_DROP_WINDOW], 0);
        trees_stop(&jobs[job]);
    }
}

/* ---- sums ---- */

/* Values whose sum depends on the order of additions: the same bits whatever windows, marks, caps and losses did. */
static void sums__have_the_same_bits_in_every_run(void **state)
{
    enum { BLOCKS = 300, RANKS = 4 };
    static float first[BLOCKS * TREES_ELEMENTS];
    struct trib_prng prng = {.state = 7};
    (void)state;

    for (int run = 0; run < 12; run++) {
        struct trib_session_config session = {
            .ranks = RANKS, .roots = 2, .train = 2, .slots = 64, .generation = 1, .cap = 4};
        struct trees t;
        trees_start(&t, &trib_panama, &session, 64);
        trees_submit(&t, BLOCKS, 1);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            for (uint64_t i = 0; i < t.elements; i++) {
                struct trib_prng value = {.state = i * RANKS + rank};
                t.send[rank][i] =
                    (float)(trib_prng_chance(&value, 0.5) ? 1e-9 : 1e9) * (float)(trib_prng_below(&value, 1000));
            }
        }
        for (int i = 0; i < 400; i++) {
            uint32_t root = (uint32_t)trib_prng_below(&prng, 2);
            t.is_marked[root] = trib_prng_below(&prng, 4) == 0;
            t.is_stopped[root] = trib_prng_below(&prng, 3) == 0;
            t.lose = run % 2 != 0 && trib_prng_below(&prng, 6) == 0;
            t.lose_root = root;
            t.lose_kind = trib_prng_below(&prng, 2) == 0 ? TRIB_CONTRIBUTION : TRIB_RESULT;
            if (trib_prng_below(&prng, 10) == 0) {
                S->set_cap(t.roots[root], 1 + (uint32_t)trib_prng_below(&prng, 32), t.now_ns);
            }
            (void)trees_round(&t);
        }
        memset(t.is_stopped, 0, sizeof t.is_stopped);
        trees_run(&t, 1, 100000);
        if (run == 0) {
            memcpy(first, t.recv[0], sizeof first);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            assert_memory_equal(t.recv[rank], first, sizeof first);
        }
        trees_stop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switch__names_who_was_marked),
        cmocka_unit_test(switch__forgets_the_marks_of_the_fragment_before),
        cmocka_unit_test(inner_switch__hands_the_marks_of_its_own_way_to_all),
        cmocka_unit_test(switch__tells_the_least_cap),
        cmocka_unit_test(switch__takes_no_more_than_its_room),
        cmocka_unit_test(switch__keeps_room_until_all_have_heard),
        cmocka_unit_test(switch__adds_each_part_once),
        cmocka_unit_test(switch__asks_for_what_is_missing),
        cmocka_unit_test(switch__begins_anew_after_a_restart),
        cmocka_unit_test(switch__is_active_until_a_second_after_its_last_slot),
        cmocka_unit_test(worker__starts_with_two_and_doubles),
        cmocka_unit_test(worker__a_loss_halves_its_window),
        cmocka_unit_test(worker__goes_by_the_cap_of_the_latest_result),
        cmocka_unit_test(worker__begins_anew_after_a_rest),
        cmocka_unit_test(worker__ends_whatever_of_the_end_is_lost),
        cmocka_unit_test(worker__goes_on_after_a_restart),
        cmocka_unit_test(memory__serves_two_jobs_in_opposite_order),
        cmocka_unit_test(memory__never_runs_over_while_a_job_joins),
        cmocka_unit_test(sums__have_the_same_bits_in_every_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
