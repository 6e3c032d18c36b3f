/* SPDX-License-Identifier: Apache-2.0 */
/* test_quorum_rules.c: sums that may lack ranks (panama:1/2), rule by rule, on one node and with packets made by hand:
 * what a slot adds and when it is latched, who is late and who is named, and which lists a worker believes. Whole trees
 * with faults are in test_quorum.c. */
#include "unit/quorum_harness.h"

/* ---- bits ---- */

/* As docs/PROTOCOL.md has it: a binary tree over the places of the children, absent ones skipped. False: nobody. */
static bool tree(uint64_t set, float (*values)[ELEMENTS], uint32_t first, uint32_t span, float *out)
{
    float right[ELEMENTS];

    if (span == 1) {
        memcpy(out, values[first], sizeof *values);
        return (set >> first & 1) != 0;
    }
    bool has_left = tree(set, values, first, span / 2, out);
    bool has_right = tree(set, values, first + span / 2, span / 2, right);
    for (uint32_t i = 0; i < ELEMENTS && has_right; i++) {
        out[i] = has_left ? out[i] + right[i] : right[i];
    }
    return has_left || has_right;
}

/* So many of the ranks as make a sum, in an order drawn anew. */
static void draw_order(struct trib_prng *prng, uint64_t set, uint32_t *order)
{
    uint32_t count = 0;

    for (uint64_t bits = set; bits != 0; bits &= bits - 1) {
        uint32_t at = (uint32_t)trib_prng_below(prng, count + 1);
        order[count++] = order[at];
        order[at] = (uint32_t)__builtin_ctzll(bits);
    }
}

static uint64_t draw_set(struct trib_prng *prng, uint32_t ranks, uint32_t count)
{
    uint64_t set = 0;

    while ((uint32_t)__builtin_popcountll(set) < count) {
        set |= UINT64_C(1) << trib_prng_below(prng, ranks);
    }
    return set;
}

static void sum_up(uint32_t ranks, uint64_t set, const uint32_t *order, float (*values)[ELEMENTS], float *out)
{
    struct shape star = {.ranks = ranks, .children = ranks};
    void *node = open_switch(&star, 0);
    struct trib_packet result;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        tell_mark(node, rank, SLOTS);
    }
    uint32_t count = (uint32_t)__builtin_popcountll(set);
    for (uint32_t i = 0; i < count; i++) {
        assert_false(next_of(node, TRIB_RESULT, &result));
        assert_int_equal(contribute(node, order[i], SLOTS, values[order[i]]), TRIB_DROP_NONE);
    }
    assert_true(next_of(node, TRIB_RESULT, &result));
    assert_int_equal(list_in(&result), set);
    memcpy(out, result.payload, DATA);
    free(node);
}

/* Values of very different sizes, so that almost any two orders give other bits. */
static void bits__of_a_sum_are_those_of_its_ranks_in_any_order(void **state)
{
    static const uint32_t sizes[] = {2, 3, 5, 8, 13, 33, 64};
    struct trib_prng prng = {.state = 1};
    uint32_t differ = 0;

    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t ranks = sizes[i % 7];
        uint64_t set = draw_set(&prng, ranks, ranks - ranks / 2);
        float values[64][ELEMENTS];
        float right[ELEMENTS];
        float sum[ELEMENTS];
        float straight = 0;
        uint32_t order[64];
        for (uint32_t k = 0; k < 64 * ELEMENTS; k++) {
            uint64_t bits = trib_prng_next(&prng);
            values[k / ELEMENTS][k % ELEMENTS] =
                (float)(int32_t)bits * (1.0F / (float)(UINT32_C(1) << (bits >> 32) % 31));
        }
        assert_true(tree(set, values, 0, 64, right));
        for (uint32_t again = 0; again < 4; again++) {
            draw_order(&prng, set, order);
            sum_up(ranks, set, order, values, sum);
            assert_memory_equal(sum, right, sizeof sum);
        }
        for (uint32_t k = 0; k < ranks - ranks / 2; k++) {
            straight += values[order[k]][0];
        }
        differ += memcmp(&straight, &right[0], sizeof straight) != 0;
    }
    assert_true(differ > 100); /* so the order does matter */
}

/* ---- what is added ---- */

static void part__of_a_rank_that_is_in_already_is_not_added(void **state)
{
    struct shape mixed = {.ranks = 6, .children = 4, .branches = 0xc};
    uint8_t payload[PAYLOAD];
    void *node = open_switch(&mixed, 0);
    struct trib_packet result;

    (void)state;
    assert_int_equal(contribute(node, 0, 0, ones), TRIB_DROP_NONE);
    struct trib_packet sum = listed(TRIB_CONTRIBUTION, 0, 0x5, payload); /* 2, and 0 once more */
    assert_int_equal(from_child(node, 2, &sum), TRIB_DROP_SHAPE);
    sum = listed(TRIB_CONTRIBUTION, 0, 0xc, payload);
    assert_int_equal(from_child(node, 2, &sum), TRIB_DROP_NONE);
    sum = listed(TRIB_CONTRIBUTION, 0, 0x38, payload); /* 4 and 5, and 3 once more */
    assert_int_equal(from_child(node, 3, &sum), TRIB_DROP_SHAPE);
    sum = listed(TRIB_CONTRIBUTION, 0, 0x30, payload);
    assert_int_equal(from_child(node, 3, &sum), TRIB_DROP_NONE);
    assert_false(next_of(node, TRIB_RESULT, &result));
    assert_int_equal(contribute(node, 1, 0, ones), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_RESULT, &result));
    assert_int_equal(result.flags & TRIB_FLAG_QUORUM, 0);
    assert_int_equal(result.contributors, 6);
    assert_int_equal(result.payload_len, DATA);
    free(node);
}

static void list__that_is_none_is_not_added(void **state)
{
    struct shape mixed = {.ranks = 6, .children = 3, .branches = 0x4};
    uint8_t payload[PAYLOAD];
    void *node = open_switch(&mixed, 0);
    struct trib_packet sum = listed(TRIB_CONTRIBUTION, 0, 0xf0, payload); /* there are no ranks 6 and 7 */

    (void)state;
    assert_int_equal(from_child(node, 2, &sum), TRIB_DROP_SHAPE);
    sum = listed(TRIB_CONTRIBUTION, 0, 0x3c, payload);
    sum.contributors = 3;
    assert_int_equal(from_child(node, 2, &sum), TRIB_DROP_SHAPE);
    sum = listed(TRIB_CONTRIBUTION, 0, 0x3c, payload);
    sum.payload_len = TRIB_QUORUM_LIST;
    assert_int_equal(from_child(node, 2, &sum), TRIB_DROP_SHAPE);
    sum = listed(TRIB_OFFER, 0, UINT64_C(1) << 63, payload);
    assert_int_equal(from_child(node, 0, &sum), TRIB_DROP_SHAPE);
    assert_int_equal(S->slots_held(node), 0);
    free(node);
}

/* Both sides of an operation agree on whether it may lack: the digest says so, but a switch takes nobody's word. */
static void flags__that_differ_are_not_mixed(void **state)
{
    struct shape star = {.ranks = 4, .children = 4};
    struct trib_packet part = packet_of(TRIB_CONTRIBUTION, 0);

    (void)state;
    part.payload = ones;
    part.payload_len = DATA;
    part.contributors = 1;
    for (uint32_t first = 0; first < 2; first++) {
        void *node = open_switch(&star, 0);
        if (first == 0) {
            assert_int_equal(contribute(node, 0, 0, ones), TRIB_DROP_NONE);
            part.node = 1;
            assert_int_equal(from_child(node, 1, &part), TRIB_DROP_SHAPE);
        } else {
            part.node = 1;
            assert_int_equal(from_child(node, 1, &part), TRIB_DROP_NONE);
            assert_int_equal(contribute(node, 0, 0, ones), TRIB_DROP_SHAPE);
        }
        free(node);
    }
}

static void sum__without_the_flag_waits_for_all(void **state)
{
    struct shape star = {.ranks = 4, .children = 4};
    void *node = open_switch(&star, 0);
    struct trib_packet result;

    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) {
        tell_mark(node, rank, SLOTS);
    }
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct trib_packet part = packet_of(TRIB_CONTRIBUTION, SLOTS);
        part.node = (uint16_t)rank;
        part.payload = ones;
        part.payload_len = DATA;
        part.contributors = 1;
        assert_false(next_of(node, TRIB_RESULT, &result));
        assert_int_equal(from_child(node, rank, &part), TRIB_DROP_NONE);
    }
    assert_true(next_of(node, TRIB_RESULT, &result));
    free(node);
}

/* ---- who is late ---- */

/* A star of 4 that has latched sequence SLOTS with ranks 1 and 3. */
static void *latched_switch(void)
{
    struct shape star = {.ranks = 4, .children = 4};
    void *node = open_switch(&star, 0);
    struct trib_packet result;

    for (uint32_t rank = 0; rank < 4; rank++) {
        tell_mark(node, rank, SLOTS);
    }
    assert_int_equal(contribute(node, 3, SLOTS, ones), TRIB_DROP_NONE);
    assert_int_equal(contribute(node, 1, SLOTS, ones), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_RESULT, &result));
    assert_int_equal(list_in(&result), 0xa);
    assert_false(next_of(node, TRIB_RESULT, &result)); /* nor anything else is left to be handed out */
    return node;
}

static void late_part__changes_nothing_and_is_answered(void **state)
{
    void *node = latched_switch();
    struct trib_packet packet;

    (void)state;
    assert_int_equal(contribute(node, 0, SLOTS, ones), TRIB_DROP_LATE);
    assert_int_equal(S->node.counters(node)->late, 1);
    assert_true(next_of(node, TRIB_HELD, &packet));
    assert_int_equal(packet.node, 0);
    assert_int_equal(packet.flags, TRIB_FLAG_RESEND);
    struct trib_packet probe = packet_of(TRIB_PROBE, SLOTS);
    probe.flags = TRIB_FLAG_RESEND;
    assert_int_equal(from_child(node, 0, &probe), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_RESULT, &packet));
    assert_int_equal(list_in(&packet), 0xa);
    assert_true(((const float *)packet.payload)[0] == 2);
    assert_int_equal(contribute(node, 1, SLOTS, ones), TRIB_DROP_DUPLICATE);
    free(node);
}

static enum trib_drop contribute_other(void *node, uint32_t rank, uint64_t sequence)
{
    struct trib_packet other = packet_of(TRIB_CONTRIBUTION, sequence);

    other.digest = 78;
    other.node = (uint16_t)rank;
    other.payload = ones;
    other.payload_len = DATA;
    other.contributors = 1;
    return from_child(node, rank, &other);
}

static void assert_mismatch(void *node, uint32_t late, uint64_t among)
{
    struct trib_event event;

    assert_true(S->node.next_event(node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(event.child, late);
    assert_int_not_equal(event.other, late);
    assert_true((among >> event.other & 1) != 0);
}

static void late_part__of_another_operation_is_a_mismatch(void **state)
{
    void *node = latched_switch();

    (void)state;
    assert_int_equal(contribute_other(node, 0, SLOTS), TRIB_DROP_DIGEST);
    assert_mismatch(node, 0, 0xa);
    free(node);
}

/* After a restart the result comes from who has it, and no part was given that could name the other side. */
static void late_part__of_another_operation_than_an_OFFER_names_who_offered(void **state)
{
    struct shape star = {.ranks = 4, .children = 4};
    uint8_t payload[PAYLOAD];
    void *node = open_switch(&star, 0);
    struct trib_packet result = listed(TRIB_OFFER, 0, 0xa, payload);

    (void)state;
    assert_int_equal(from_child(node, 3, &result), TRIB_DROP_NONE);
    assert_int_equal(contribute_other(node, 0, 0), TRIB_DROP_DIGEST);
    assert_mismatch(node, 0, 0x8);
    free(node);
}

/* The other way round: who is late comes first after the restart, and opens the slot. */
static void OFFER__of_another_operation_than_a_late_part_is_a_mismatch(void **state)
{
    struct shape star = {.ranks = 4, .children = 4};
    uint8_t payload[PAYLOAD];
    void *node = open_switch(&star, 0);
    struct trib_packet result = listed(TRIB_OFFER, 0, 0xa, payload);

    (void)state;
    assert_int_equal(contribute_other(node, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(from_child(node, 3, &result), TRIB_DROP_DIGEST);
    assert_mismatch(node, 3, 0x1);
    free(node);
}

/* Below the top the result comes from above, in place of the sum that was handed up. */
static void late_part__of_another_operation_than_the_parents_names_who_gave_his(void **state)
{
    struct shape inner = {.ranks = 6, .children = 4, .has_parent = true};
    struct trib_place parent = {.kind = TRIB_PLACE_PARENT};
    uint8_t payload[PAYLOAD];
    void *node = open_switch(&inner, 0);
    struct trib_packet sum;

    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) {
        tell_mark(node, rank, SLOTS);
    }
    S->learn_mark(node, SLOTS);
    assert_int_equal(contribute(node, 3, SLOTS, ones), TRIB_DROP_NONE);
    assert_int_equal(contribute(node, 2, SLOTS, ones), TRIB_DROP_NONE);
    assert_true(next_of(node, TRIB_CONTRIBUTION, &sum));
    assert_int_equal(list_in(&sum), 0xc);
    struct trib_packet result = listed(TRIB_RESULT, SLOTS, 0x3c, payload);
    assert_int_equal(S->node.receive(node, parent, &result, 1000 * MS), TRIB_DROP_NONE);
    assert_int_equal(contribute_other(node, 0, SLOTS), TRIB_DROP_DIGEST);
    assert_mismatch(node, 0, 0xc);
    free(node);
}

/* ---- who is named ---- */

static void missing__are_those_that_have_not_taken_the_result(void **state)
{
    void *node = latched_switch();

    (void)state;
    assert_int_equal(S->missing_on(node, SLOTS),
                     0); /* nobody has said yet that it has it: it is the result that lacks */
    tell_mark(node, 0, SLOTS + 1);
    assert_int_equal(S->missing_on(node, SLOTS), 0xe);
    tell_mark(node, 3, SLOTS + 1);
    assert_int_equal(S->missing_on(node, SLOTS), 0x6);
    free(node);
}

/* A sum that is whole after all holds M up just as well. */
static void missing__are_those_that_have_not_taken_a_whole_result(void **state)
{
    struct shape star = {.ranks = 4, .children = 4};
    void *node = open_switch(&star, 0);

    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(contribute(node, rank, 0, ones), TRIB_DROP_NONE);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        tell_mark(node, rank, 1);
    }
    assert_int_equal(S->missing_on(node, 0), 0x8);
    free(node);
}

/* The sum was handed up without the late: who is waited for is not here. */
static void missing__is_nobody_where_the_sum_was_handed_up(void **state)
{
    struct shape inner = {.ranks = 6, .children = 4, .has_parent = true};
    struct trib_place parent = {.kind = TRIB_PLACE_PARENT};
    uint8_t payload[PAYLOAD];
    void *node = open_switch(&inner, 0);

    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) {
        tell_mark(node, rank, SLOTS);
    }
    S->learn_mark(node, SLOTS);
    assert_int_equal(contribute(node, 3, SLOTS, ones), TRIB_DROP_NONE);
    assert_int_equal(S->missing_on(node, SLOTS), 0x7);
    assert_int_equal(contribute(node, 2, SLOTS, ones), TRIB_DROP_NONE);
    assert_int_equal(S->missing_on(node, SLOTS), 0);
    struct trib_packet result = listed(TRIB_RESULT, SLOTS, 0x3c, payload);
    assert_int_equal(S->node.receive(node, parent, &result, 1000 * MS), TRIB_DROP_NONE);
    assert_int_equal(S->missing_on(node, SLOTS), 0xf); /* others, elsewhere, may be ahead */
    for (uint32_t rank = 1; rank < 4; rank++) {
        tell_mark(node, rank, SLOTS + 1);
    }
    assert_int_equal(S->missing_on(node, SLOTS), 0x1);
    free(node);
}

/* ---- a worker ---- */

#define RANK 1U
#define COUNT 4 /* ranks */

struct worker {
    void *node;
    uint64_t named; /* what results say of the ways: whose parts came marked, and flags */
    uint16_t flags;
    float send[8 * ELEMENTS], recv[8 * ELEMENTS];
};

/* Rank 1 of 4, with an average of 8 fragments, so many of them in flight. */
static struct worker *open_worker_of(uint32_t window)
{
    struct worker *w = calloc(1, sizeof *w);
    struct trib_worker_config config = {.session = session_of(COUNT),
                                        .kernels = trib_value_kernels(),
                                        .rank = RANK,
                                        .window = window,
                                        .operations = 1,
                                        .stall_ns = 1000 * MS};
    struct trib_operation average = {.collective = TRIB_ALLREDUCE,
                                     .type = TRIB_FLOAT32,
                                     .reduction = TRIB_AVERAGE,
                                     .count = sizeof w->send / sizeof(float)};

    assert_non_null(w);
    average.send = w->send;
    average.recv = w->recv;
    w->node = memory_of(W->size(&config));
    W->init(w->node, &config);
    W->registered(w->node, BOOT, 0, 1000 * MS);
    assert_true(W->submit(w->node, &average, 1000 * MS));
    return w;
}

static struct worker *open_worker(void)
{
    return open_worker_of(1);
}

static void close_worker(struct worker *w)
{
    free(w->node);
    free(w);
}

/* What it sends, up to the last; returns how many contributions. */
static uint32_t send_all(struct worker *w, struct trib_packet *last)
{
    struct trib_packet packet;
    struct trib_place to;
    uint32_t count = 0;

    while (W->node.next_packet(w->node, 1000 * MS, &packet, &to)) {
        if (packet.kind == TRIB_CONTRIBUTION) {
            *last = packet;
            count++;
        }
    }
    return count;
}

/* A result of these ranks: 3 in each element, and a true lane. */
static enum trib_drop give(struct worker *w, const struct trib_packet *part, uint64_t sequence, uint64_t ranks,
                           uint64_t in_lane)
{
    struct trib_session_config session = session_of(COUNT);
    struct trib_place from = {.kind = TRIB_PLACE_ROOT};
    uint8_t payload[PAYLOAD];
    struct trib_packet result = listed(TRIB_RESULT, sequence, ranks, payload);
    uint64_t keys = 0;

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        float value = 3;
        memcpy(payload + i * sizeof value, &value, sizeof value);
    }
    for (uint64_t bits = in_lane; bits != 0; bits &= bits - 1) {
        keys += trib_lane_key(session.salt, (uint32_t)__builtin_ctzll(bits));
    }
    result.mark = 0;
    result.flags |= w->flags;
    result.bitmap = w->named;
    result.digest = part->digest;
    result.reduction = part->reduction;
    result.lane = keys * trib_session_odd(&session, sequence, 0, part->digest);
    return W->node.receive(w->node, from, &result, 1001 * MS);
}

static void result__is_believed_if_its_list_is_right(void **state)
{
    struct worker *w = open_worker();
    struct trib_packet part = {0};

    (void)state;
    assert_int_equal(send_all(w, &part), 1);
    assert_int_equal(part.flags & TRIB_FLAG_QUORUM, TRIB_FLAG_QUORUM);
    assert_int_equal(give(w, &part, 0, 0x1, 0x1), TRIB_DROP_SHAPE); /* one of four is too few */
    assert_int_equal(give(w, &part, 0, 0x17, 0x7), TRIB_DROP_SHAPE);
    assert_int_equal(W->mark(w->node), 0);
    assert_int_equal(give(w, &part, 0, 0x7, 0x7), TRIB_DROP_NONE);
    assert_int_equal(W->mark(w->node), 1);
    assert_true(w->recv[0] == 1);
    assert_int_equal(W->node.counters(w->node)->late, 0);
    assert_int_equal(W->node.counters(w->node)->results_lacking, 1);
    close_worker(w);
}

static void result__with_a_list_of_others_than_the_lane_is_not(void **state)
{
    struct worker *w = open_worker();
    struct trib_packet part = {0};

    (void)state;
    assert_int_equal(send_all(w, &part), 1);
    assert_int_equal(give(w, &part, 0, 0xe, 0x7), TRIB_DROP_LANE);
    assert_int_equal(give(w, &part, 0, 0xf, 0x7), TRIB_DROP_LANE);
    assert_true(w->recv[0] == 0);
    close_worker(w);
}

/* Its part is in what it never gave: somebody lies in its name. Without it, it is as good as any. */
static void result__of_what_was_not_sent_may_not_list_this_rank(void **state)
{
    struct worker *w = open_worker();
    struct trib_packet part = {0};

    (void)state;
    assert_int_equal(send_all(w, &part), 1);
    assert_int_equal(give(w, &part, 2, 0x7, 0x7), TRIB_DROP_LANE);
    assert_int_equal(give(w, &part, 2, 0xd, 0x7), TRIB_DROP_LANE);
    assert_int_equal(give(w, &part, 2, 0xd, 0xd), TRIB_DROP_NONE);
    assert_int_equal(give(w, &part, 2, 0xd, 0xd), TRIB_DROP_DUPLICATE);
    assert_true(w->recv[2 * ELEMENTS] == 1 && w->recv[ELEMENTS] == 0);
    assert_int_equal(give(w, &part, SLOTS, 0xd, 0xd), TRIB_DROP_WINDOW); /* no switch has room for that at M 0 */
    assert_int_equal(give(w, &part, 8, 0xd, 0xd), TRIB_DROP_UNASKED);    /* of no operation yet */
    assert_int_equal(W->node.counters(w->node)->late, 1);
    /* What is taken is not sent any more. */
    assert_int_equal(give(w, &part, 0, 0x7, 0x7), TRIB_DROP_NONE);
    assert_int_equal(send_all(w, &part), 1);
    assert_int_equal(part.sequence, 1);
    assert_int_equal(give(w, &part, 1, 0x7, 0x7), TRIB_DROP_NONE);
    assert_int_equal(W->mark(w->node), 3);
    assert_int_equal(send_all(w, &part), 1);
    assert_int_equal(part.sequence, 3);
    close_worker(w);
}

/* The others are done, of another operation. No switch asks for this part any more; but only a switch can say so. */
static void result__of_another_operation_is_answered_with_the_part(void **state)
{
    struct worker *w = open_worker();
    struct trib_packet part = {0};
    struct trib_packet other;

    (void)state;
    assert_int_equal(send_all(w, &part), 1);
    other = part;
    other.digest ^= 1;
    assert_int_equal(give(w, &other, 0, 0xd, 0xd), TRIB_DROP_DIGEST);
    assert_int_equal(send_all(w, &part), 1);
    assert_int_equal(part.sequence, 0);
    assert_true((part.flags & TRIB_FLAG_RESEND) != 0);
    assert_int_equal(give(w, &other, 0, 0xd, 0xd), TRIB_DROP_DIGEST);
    assert_int_equal(send_all(w, &part), 0); /* at most once in half a timeout */
    close_worker(w);
}

/* Its part came too late, and the result lists the others: whether its way was congested, it says as any. The window
 * shows in what may follow: of two fragments one is let go, and two may be in flight, or one after a cut. */
static void result__without_this_rank_cuts_by_its_own_mark_only(void **state)
{
    enum { NOT_KNOWN = 64, OWN = 2 };
    static const struct {
        uint32_t number;
        uint16_t flags;
        uint64_t named;
        bool is_cut;
    } cases[] = {
        {NOT_KNOWN, 0, 0, false},
        {NOT_KNOWN, 0, 1, true},
        {NOT_KNOWN, TRIB_FLAG_ECN, 0, true},
        {OWN, 0, 0, false},
        {OWN, 0, ~(UINT64_C(1) << OWN), false},
        {OWN, 0, UINT64_C(1) << OWN, true},
        {OWN, TRIB_FLAG_ECN, 0, true},
        {OWN, TRIB_FLAG_RESEND, UINT64_C(1) << OWN, false},
        {NOT_KNOWN, TRIB_FLAG_RESEND | TRIB_FLAG_ECN, UINT64_MAX, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct worker *w = open_worker_of(SLOTS);
        struct trib_packet part = {0};
        if (cases[i].number != NOT_KNOWN) {
            W->set_child(w->node, 0, cases[i].number);
        }
        assert_int_equal(send_all(w, &part), 2);
        w->flags = cases[i].flags;
        w->named = cases[i].named;
        assert_int_equal(give(w, &part, 0, 0xd, 0xd), TRIB_DROP_NONE);
        assert_int_equal(W->node.counters(w->node)->late, 1);
        assert_int_equal(W->node.counters(w->node)->results_marked, cases[i].is_cut);
        assert_int_equal(W->in_flight(w->node, 0), 1);
        assert_int_equal(send_all(w, &part), cases[i].is_cut ? 0 : 1);
        close_worker(w);
    }
}

/* The answer to a part that came late tells of its way as a result does: the window is cut, and it counts as one. */
static void late_mark__cuts_the_window_and_is_counted(void **state)
{
    struct worker *w = open_worker_of(SLOTS);
    struct trib_packet part = {0};
    struct trib_packet held = packet_of(TRIB_HELD, 0);

    (void)state;
    assert_int_equal(send_all(w, &part), 2);
    held.flags = TRIB_FLAG_ECN;
    assert_int_equal(W->node.receive(w->node, (struct trib_place){.kind = TRIB_PLACE_ROOT}, &held, 1001 * MS), 0);
    assert_int_equal(give(w, &part, 0, 0xd, 0xd), TRIB_DROP_NONE);
    assert_int_equal(W->node.counters(w->node)->results_marked, 1);
    assert_int_equal(send_all(w, &part), 0);
    close_worker(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits__of_a_sum_are_those_of_its_ranks_in_any_order),
        cmocka_unit_test(part__of_a_rank_that_is_in_already_is_not_added),
        cmocka_unit_test(list__that_is_none_is_not_added),
        cmocka_unit_test(flags__that_differ_are_not_mixed),
        cmocka_unit_test(sum__without_the_flag_waits_for_all),
        cmocka_unit_test(late_part__changes_nothing_and_is_answered),
        cmocka_unit_test(late_part__of_another_operation_is_a_mismatch),
        cmocka_unit_test(late_part__of_another_operation_than_an_OFFER_names_who_offered),
        cmocka_unit_test(OFFER__of_another_operation_than_a_late_part_is_a_mismatch),
        cmocka_unit_test(late_part__of_another_operation_than_the_parents_names_who_gave_his),
        cmocka_unit_test(missing__are_those_that_have_not_taken_the_result),
        cmocka_unit_test(missing__are_those_that_have_not_taken_a_whole_result),
        cmocka_unit_test(missing__is_nobody_where_the_sum_was_handed_up),
        cmocka_unit_test(result__is_believed_if_its_list_is_right),
        cmocka_unit_test(result__with_a_list_of_others_than_the_lane_is_not),
        cmocka_unit_test(result__of_what_was_not_sent_may_not_list_this_rank),
        cmocka_unit_test(result__of_another_operation_is_answered_with_the_part),
        cmocka_unit_test(result__without_this_rank_cuts_by_its_own_mark_only),
        cmocka_unit_test(late_mark__cuts_the_window_and_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
