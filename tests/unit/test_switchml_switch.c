/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_switch.c: scripted exchanges with one switch node: a test for each row of its state table (docs/ARCHITECTURE.md). Packets
 * are made by hand here; the worker has its own file, and both together run in tests/world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/node.h"
#include "schemes/switchml/switchml.h"

#define RANKS 3
#define ALL 7
#define SLOTS 4
#define BOOT 0xb007
#define COMMUNICATOR 11
#define GENERATION 2
#define MS UINT64_C(1000000)

struct fixture {
    void *node;
    uint64_t now_ns;
    const struct trib_switch_verbs *verbs;
};

static struct trib_switch_config config_of(uint32_t ranks, uint32_t slots)
{
    return (struct trib_switch_config){
        .session = {.communicator = COMMUNICATOR,
                    .generation = GENERATION,
                    .ranks = ranks,
                    .roots = 1,
                    .train = 1,
                    .slots = slots,
                    .payload = 64,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .children = ranks,
        .boot = BOOT,
    };
}

static void open_node(struct fixture *f, uint32_t ranks, uint32_t slots)
{
    struct trib_switch_config config = config_of(ranks, slots);

    f->verbs = trib_switchml.switch_node;
    f->node = aligned_alloc(64, (f->verbs->size(&config) + 63) & ~(size_t)63);
    assert_non_null(f->node);
    f->verbs->init(f->node, &config);
    f->now_ns = 1000 * MS;
}

static void join_all(struct fixture *f, uint32_t ranks)
{
    for (uint32_t child = 0; child < ranks; child++) {
        f->verbs->join(f->node, child, 0);
    }
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    open_node(f, RANKS, SLOTS);
    join_all(f, RANKS);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->node);
    free(f);
    return 0;
}

/* ---- packets ---- */

static struct trib_packet packet_of(enum trib_kind kind, uint64_t sequence, uint64_t mark)
{
    return (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = mark,
        .communicator = COMMUNICATOR,
        .generation = GENERATION,
        .boot = BOOT,
        .digest = 77,
        .lane = 1,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_SUM,
    };
}

static enum trib_drop up(struct fixture *f, uint32_t child, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << child};
    struct trib_packet named = *packet;

    named.last_rank = (uint16_t)child;
    return f->verbs->receive(f->node, from, &named, f->now_ns);
}

static enum trib_drop contribute(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, sequence, mark);
    float value[16] = {(float)(1 << child), 1};

    packet.payload = value;
    packet.payload_len = sizeof value;
    packet.contributors = 1;
    return up(f, child, &packet);
}

static enum trib_drop probe(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark, uint64_t sent)
{
    struct trib_packet packet = packet_of(TRIB_PROBE, sequence, mark);

    packet.bitmap = sent;
    return up(f, child, &packet);
}

static enum trib_drop offer(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark, float first)
{
    struct trib_packet packet = packet_of(TRIB_OFFER, sequence, mark);
    float value[16] = {first};

    packet.payload = value;
    packet.payload_len = sizeof value;
    packet.contributors = RANKS;
    packet.lane = 3;
    return up(f, child, &packet);
}

/* ---- what comes down ---- */

static void expect_nothing(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_false(f->verbs->next_packet(f->node, f->now_ns, &packet, &to));
}

static struct trib_packet expect(struct fixture *f, enum trib_kind kind, uint64_t sequence, uint64_t children)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_true(f->verbs->next_packet(f->node, f->now_ns, &packet, &to));
    assert_int_equal(packet.kind, kind);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
    assert_int_equal(to.children, children);
    assert_int_equal(packet.communicator, COMMUNICATOR);
    assert_int_equal(packet.generation, GENERATION);
    assert_int_equal(packet.boot, BOOT);
    return packet;
}

static float first_of(const struct trib_packet *packet)
{
    float value;

    assert_int_equal(packet->payload_len, 64);
    memcpy(&value, packet->payload, sizeof value);
    return value;
}

static void complete(struct fixture *f, uint64_t sequence, uint64_t mark)
{
    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(contribute(f, child, sequence, mark), TRIB_DROP_NONE);
    }
    (void)expect(f, TRIB_RESULT, sequence, ALL);
}

/* ---- contributions ---- */

static void contribution__is_summed_and_goes_to_all_when_all_are_there(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    uint64_t sequence = 99;
    assert_int_equal(f->verbs->missing(f->node, &sequence), 2);
    assert_int_equal(sequence, 0);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 2);
    assert_int_equal(f->verbs->missing_on(f->node, 1), ALL);
    assert_int_equal(f->verbs->missing_on(f->node, TRIB_SEQUENCE_MAX), 0);
    assert_int_equal(f->verbs->missing_on(f->node, TRIB_NEVER), 0);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&result), 7.0f, 0);
    assert_int_equal(result.bitmap, ALL);
    assert_int_equal(result.lane, 3);
    assert_int_equal(result.contributors, 3);
    assert_int_equal(result.last_rank, 1);
    assert_int_equal(result.digest, 77);
    assert_int_equal(result.mark, 0);
    expect_nothing(f);
    assert_int_equal(f->verbs->missing(f->node, &sequence), 0);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 0);
}

static void contribution__of_one_child_counts_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&result), 7.0f, 0);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
}

static void contribution__below_M_is_stale(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(contribute(f, child, 1, 1), TRIB_DROP_NONE);
    }
    assert_int_equal(f->verbs->communicator_mark(f->node), 1);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_STALE);
    assert_int_equal(f->verbs->slots_held(f->node), 1);
}

static void contribution__beyond_the_window_is_dropped(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, SLOTS - 1, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 0, SLOTS, 0), TRIB_DROP_WINDOW);
    assert_int_equal(contribute(f, 0, UINT64_C(1) << 40, UINT64_C(1) << 40), TRIB_DROP_WINDOW);
}

static void contribution__of_another_shape_is_dropped(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[128] = {0};
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    packet.payload = bytes;
    packet.payload_len = 128; /* larger than the session's */
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = 63; /* no whole elements */
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = 64;
    packet.type = TRIB_TYPE_NONE;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    packet.type = TRIB_INT32;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
    packet.type = TRIB_FLOAT32;
    packet.attempt = 1;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
}

static void contribution__of_another_operation_names_both_children(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    struct trib_event event;

    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    packet.digest = 78;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_DIGEST);
    assert_true(f->verbs->next_event(f->node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(event.sequence, 0);
    assert_int_equal(event.child, 1);
    assert_int_equal(event.other, 2);
    assert_false(f->verbs->next_event(f->node, &event));
}

static void contribution__of_a_rank_that_wants_no_payload_gets_a_header(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    uint8_t block[5] = "abcd";

    packet.type = TRIB_BYTES;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(f, 2, &packet), TRIB_DROP_NONE);
    packet.flags = TRIB_FLAG_UNWANTED;
    packet.payload = block;
    packet.payload_len = sizeof block;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, 5);
    assert_int_equal(result.payload_len, sizeof block);
    assert_memory_equal(result.payload, block, sizeof block);
    assert_int_equal(result.contributors, 1);
    result = expect(f, TRIB_RESULT, 0, 2);
    assert_int_equal(result.payload_len, 0);
    assert_int_equal(result.contributors, 1);
    expect_nothing(f);
}

static void contribution__of_bytes_comes_from_one_child_only(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    uint8_t block[8] = "abcdefg";

    packet.type = TRIB_BYTES;
    packet.payload = block;
    packet.payload_len = sizeof block;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
}

static void contribution__without_payload_completes_a_barrier(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(up(f, child, &packet), TRIB_DROP_NONE);
    }
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(result.payload_len, 0);
    assert_int_equal(result.contributors, 0);
}

/* ---- who may speak ---- */

static void receive__drops_what_is_not_for_this_communicator(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    packet.communicator++;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SOURCE);
    packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    packet.generation++;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_GENERATION);
    packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    assert_int_equal(up(f, RANKS, &packet), TRIB_DROP_SOURCE);
    packet.kind = TRIB_RESULT;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_KIND);
    packet = packet_of(TRIB_CONTRIBUTION, 0, 1); /* finished, and sends it? */
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_MARK);
    expect_nothing(f);
    assert_int_equal(f->verbs->counters(f->node)->dropped[TRIB_DROP_SOURCE], 2);
}

static void receive__drops_everything_until_all_have_joined(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, SLOTS);
    join_all(&f, RANKS - 1);
    assert_int_equal(contribute(&f, 0, 0, 0), TRIB_DROP_UNREGISTERED);
    assert_int_equal(probe(&f, 0, 0, 0, 0), TRIB_DROP_UNREGISTERED);
    expect_nothing(&f);
    f.verbs->join(f.node, RANKS - 1, 0);
    assert_int_equal(contribute(&f, 0, 0, 0), TRIB_DROP_NONE);
    free(f.node);
}

static void receive__answers_another_boot_with_a_hint_now_and_then(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    packet.boot++;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_BOOT);
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_BOOT);
    (void)expect(f, TRIB_BOOT, 0, 2);
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_BOOT);
    (void)expect(f, TRIB_BOOT, 0, 2);
}

static void join__with_a_mark_moves_M_and_frees_slots(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    complete(f, 1, 0);
    assert_int_equal(f->verbs->slots_held(f->node), 2);
    f->verbs->join(f->node, 0, 2);
    f->verbs->join(f->node, 1, 1);
    assert_int_equal(f->verbs->communicator_mark(f->node), 0);
    f->verbs->join(f->node, 2, 2);
    assert_int_equal(f->verbs->communicator_mark(f->node), 1);
    assert_int_equal(f->verbs->slots_held(f->node), 1);
    f->verbs->join(f->node, 1, 2);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
}

/* ---- probes ---- */

static void probe__is_answered_with_ASK_for_what_lacks_and_was_sent(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 2, 0), TRIB_DROP_NONE); /* a gap: asked for at once */
    struct trib_packet ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 1);
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 0, 0, 7), TRIB_DROP_NONE); /* 1, 2, 3 were sent */
    ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 5); /* 1 and 3 lack */
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 0); /* nothing else was sent */
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 0, 0, UINT64_MAX), TRIB_DROP_NONE);
    ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 5); /* never beyond the window */
}

static void probe__is_held_with_the_bitmap_of_who_is_there(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    struct trib_packet held = expect(f, TRIB_HELD, 0, 1);
    assert_int_equal(held.bitmap, 5);
    expect_nothing(f);
}

/* Child 0 is there on 0, but what it sent behind it was lost: better to hear that than to be told to wait. */
static void probe__is_answered_with_ASK_for_what_lacks_behind_a_held_one(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 0, 0, 0, 6), TRIB_DROP_NONE); /* 2 and 3 were sent */
    struct trib_packet ask = expect(f, TRIB_ASK, 2, 1);
    assert_int_equal(ask.bitmap, 1);
    expect_nothing(f);
}

static void probe__of_a_complete_slot_repeats_the_result_to_one_child(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_REPEAT);
    assert_int_equal(probe(f, 2, 0, 0, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, 2);
    assert_float_equal(first_of(&result), 7.0f, 0);
    (void)expect(f, TRIB_RESULT, 0, 4);
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_RESULT, 0, 2);
    assert_int_equal(f->verbs->counters(f->node)->results_repeated, 3);
}

static void probe__beyond_the_window_is_held_and_told_once_when_M_moves(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    assert_int_equal(probe(f, 0, SLOTS, 1, 0), TRIB_DROP_NONE);
    struct trib_packet held = expect(f, TRIB_HELD, SLOTS, 1);
    assert_int_equal(held.mark, 0);
    f->verbs->join(f->node, 1, 1);
    expect_nothing(f);
    f->verbs->join(f->node, 2, 1);
    held = expect(f, TRIB_HELD, SLOTS, 1);
    assert_int_equal(held.mark, 1);
    expect_nothing(f);
}

static void probe__for_M_alone_is_never_answered_with_ASK(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 0);

    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_NONE);
    (void)expect(f, TRIB_HELD, 1, 2);
    expect_nothing(f);
}

/* Child 2 is a switch, and asks for ranks of its own: at the top of the tree it hears of M again when it moves, a rank does not. */
static void probe__of_a_switch_for_M_alone_is_told_again_when_M_moves(void **state)
{
    struct trib_switch_config config = config_of(5, SLOTS);
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 1);
    struct fixture f = {.verbs = trib_switchml.switch_node, .now_ns = 1000 * MS};

    (void)state;
    config.children = RANKS;
    config.branches = 4;
    f.node = aligned_alloc(64, (f.verbs->size(&config) + 63) & ~(size_t)63);
    assert_non_null(f.node);
    f.verbs->init(f.node, &config);
    join_all(&f, RANKS);
    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(&f, 2, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(&f, 1, &packet), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_HELD, 1, 4);
    (void)expect(&f, TRIB_HELD, 1, 2);
    expect_nothing(&f);
    f.verbs->join(f.node, 0, 1);
    struct trib_packet held = expect(&f, TRIB_HELD, 1, 4);
    assert_int_equal(held.mark, 1);
    expect_nothing(&f);
    free(f.node);
}

/* The switch has booted since: child 0 and 2 have finished sequence 0, child 1 has not. */
static void probe__asks_one_finished_child_after_another_for_an_OFFER(void **state)
{
    struct fixture *f = *state;

    f->verbs->join(f->node, 0, 1);
    f->verbs->join(f->node, 2, 1);
    for (uint32_t round = 0; round < 3; round++) {
        f->now_ns += MS;
        assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
        (void)expect(f, TRIB_ASK, 0, round == 1 ? 4 : 1);
        (void)expect(f, TRIB_HELD, 0, 2);
        expect_nothing(f);
    }
    assert_int_equal(f->verbs->counters(f->node)->asks_finished, 3);
}

/* The switch has booted since: children 0 and 2 come back with marks above 0. Child 1 sends its part again without having probed, as a
 * switch does that has summed anew: the sum can only come from an OFFER. */
static void contribution__asks_for_an_OFFER_when_only_finished_children_lack(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, SLOTS);
    f.verbs->join(f.node, 0, 1);
    f.verbs->join(f.node, 1, 0);
    f.verbs->join(f.node, 2, 2);
    assert_int_equal(contribute(&f, 1, 1, 0), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 0, 2); /* the gap; and child 0 has not finished sequence 1 */
    expect_nothing(&f);
    assert_int_equal(contribute(&f, 0, 1, 1), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 1, 4);
    assert_int_equal(contribute(&f, 0, 1, 1), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(&f, 1, 0, 0), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 0, 1);
    expect_nothing(&f);
    assert_int_equal(offer(&f, 2, 1, 2, 42), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_RESULT, 1, ALL);
    assert_int_equal(f.verbs->counters(f.node)->asks_finished, 2);
    free(f.node);
}

/* Of two ranks that probe at once only one makes an OFFER come: each of them is a whole payload. */
static void probe__of_two_children_asks_for_one_OFFER(void **state)
{
    struct fixture *f = *state;

    f->verbs->join(f->node, 0, 1);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_ASK, 0, 1);
    (void)expect(f, TRIB_HELD, 0, 2);
    assert_int_equal(probe(f, 2, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_HELD, 0, 4);
    expect_nothing(f);
}

static void probe__finds_the_queue_full_when_nothing_is_drained(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 0);
    enum trib_drop drop = TRIB_DROP_NONE;
    uint32_t answered = 0;

    packet.flags = TRIB_FLAG_UNWANTED;
    while (drop == TRIB_DROP_NONE && answered < 100000) {
        drop = up(f, 1, &packet);
        answered += drop == TRIB_DROP_NONE;
    }
    assert_int_equal(drop, TRIB_DROP_FULL);
    for (uint32_t i = 0; i < answered; i++) {
        (void)expect(f, TRIB_HELD, 1, 2);
    }
    expect_nothing(f);
}

/* ---- offers ---- */

static void offer__completes_the_slot_and_replaces_the_partial_sum(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(offer(f, 0, 0, 1, 42), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&result), 42.0f, 0);
    assert_int_equal(result.lane, 3);
    assert_int_equal(result.contributors, RANKS);
    assert_int_equal(result.last_rank, 0xffff);
}

static void offer__changes_nothing_when_the_result_is_there(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(offer(f, 0, 0, 1, 42), TRIB_DROP_NONE);
    (void)expect(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(offer(f, 2, 0, 1, 43), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, 2);
    assert_float_equal(first_of(&result), 42.0f, 0);
}

static void offer__of_another_operation_or_shape_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_OFFER, 0, 1);
    uint8_t bytes[128] = {0};

    packet.contributors = RANKS;
    packet.payload = bytes;
    packet.payload_len = 128;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SHAPE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    packet.payload_len = 64;
    packet.digest = 78;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_DIGEST);
    packet.digest = 77;
    packet.payload_len = 0;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SHAPE);
    packet.sequence = SLOTS + 1;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_WINDOW);
}

/* ---- gaps ---- */

static void gap__is_asked_for_once_and_a_resend_makes_none(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 3, 0), TRIB_DROP_NONE);
    struct trib_packet ask = expect(f, TRIB_ASK, 0, 2);
    assert_int_equal(ask.bitmap, 3); /* 1 and 2 */
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 1, 2, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    assert_int_equal(f->verbs->counters(f->node)->asks_gap, 1);
}

static void gap__of_more_than_65_is_asked_for_in_steps(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, 256);
    join_all(&f, RANKS);
    assert_int_equal(contribute(&f, 0, 100, 0), TRIB_DROP_NONE);
    struct trib_packet ask = expect(&f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, UINT64_MAX);
    assert_int_equal(contribute(&f, 0, 101, 0), TRIB_DROP_NONE);
    ask = expect(&f, TRIB_ASK, 65, 1);
    assert_int_equal(ask.bitmap, (UINT64_C(1) << 34) - 1); /* 66 to 99 */
    assert_int_equal(contribute(&f, 0, 102, 0), TRIB_DROP_NONE);
    expect_nothing(&f);
    free(f.node);
}

static void gap__begins_at_the_mark_that_a_child_joined_with(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, SLOTS);
    for (uint32_t child = 0; child < RANKS; child++) {
        f.verbs->join(f.node, child, 10);
    }
    assert_int_equal(contribute(&f, 0, 10, 10), TRIB_DROP_NONE);
    expect_nothing(&f);
    assert_int_equal(contribute(&f, 1, 11, 10), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 10, 2);
    free(f.node);
}

/* ---- lies ---- */

/* M leaps by more than a header can say, while an answer waits: the answer is dropped, and nothing else happens. */
static void lies__about_marks_hurt_no_answer(void **state)
{
    struct fixture f;
    struct trib_packet packet;
    struct trib_place to;

    (void)state;
    open_node(&f, 1, SLOTS);
    f.verbs->join(f.node, 0, 0);
    assert_int_equal(probe(&f, 0, SLOTS, 0, 0), TRIB_DROP_NONE);
    f.verbs->join(f.node, 0, UINT64_C(1) << 40);
    while (f.verbs->next_packet(f.node, f.now_ns, &packet, &to)) {
        assert_in_range(packet.mark - packet.sequence, 0, INT32_MAX);
    }
    assert_int_equal(f.verbs->communicator_mark(f.node), UINT64_C(1) << 40);
    f.verbs->join(f.node, 0, UINT64_MAX);
    assert_int_equal(f.verbs->communicator_mark(f.node), UINT64_C(1) << 40);
    free(f.node);
}

static void lies__about_one_mark_take_no_slot_from_others(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(offer(f, 1, 3, UINT64_C(1) << 30, 1), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->communicator_mark(f->node), 0);
    assert_int_equal(contribute(f, 1, SLOTS, SLOTS), TRIB_DROP_WINDOW);
    assert_int_equal(f->verbs->slots_held(f->node), 2);
}

#define WITH_NODE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(contribution__is_summed_and_goes_to_all_when_all_are_there),
        WITH_NODE(contribution__of_one_child_counts_once),
        WITH_NODE(contribution__below_M_is_stale),
        WITH_NODE(contribution__beyond_the_window_is_dropped),
        WITH_NODE(contribution__of_another_shape_is_dropped),
        WITH_NODE(contribution__of_another_operation_names_both_children),
        WITH_NODE(contribution__of_a_rank_that_wants_no_payload_gets_a_header),
        WITH_NODE(contribution__of_bytes_comes_from_one_child_only),
        WITH_NODE(contribution__without_payload_completes_a_barrier),
        WITH_NODE(receive__drops_what_is_not_for_this_communicator),
        cmocka_unit_test(receive__drops_everything_until_all_have_joined),
        WITH_NODE(receive__answers_another_boot_with_a_hint_now_and_then),
        WITH_NODE(join__with_a_mark_moves_M_and_frees_slots),
        WITH_NODE(probe__is_answered_with_ASK_for_what_lacks_and_was_sent),
        WITH_NODE(probe__is_held_with_the_bitmap_of_who_is_there),
        WITH_NODE(probe__is_answered_with_ASK_for_what_lacks_behind_a_held_one),
        WITH_NODE(probe__of_a_complete_slot_repeats_the_result_to_one_child),
        WITH_NODE(probe__beyond_the_window_is_held_and_told_once_when_M_moves),
        WITH_NODE(probe__for_M_alone_is_never_answered_with_ASK),
        cmocka_unit_test(probe__of_a_switch_for_M_alone_is_told_again_when_M_moves),
        WITH_NODE(probe__asks_one_finished_child_after_another_for_an_OFFER),
        cmocka_unit_test(contribution__asks_for_an_OFFER_when_only_finished_children_lack),
        WITH_NODE(probe__of_two_children_asks_for_one_OFFER),
        WITH_NODE(probe__finds_the_queue_full_when_nothing_is_drained),
        WITH_NODE(offer__completes_the_slot_and_replaces_the_partial_sum),
        WITH_NODE(offer__changes_nothing_when_the_result_is_there),
        WITH_NODE(offer__of_another_operation_or_shape_is_dropped),
        WITH_NODE(gap__is_asked_for_once_and_a_resend_makes_none),
        cmocka_unit_test(gap__of_more_than_65_is_asked_for_in_steps),
        cmocka_unit_test(gap__begins_at_the_mark_that_a_child_joined_with),
        cmocka_unit_test(lies__about_marks_hurt_no_answer),
        WITH_NODE(lies__about_one_mark_take_no_slot_from_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
