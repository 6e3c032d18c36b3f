/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c: ranks of a ring by hand: what each hop sends and checks, what waits, what a lie is worth. Faults in
 * every order and number are the business of tests/world and tests/model. */
#include "ring_harness.h"
#include "schemes/schemes.h"

static void rank__sends_two_times_n_minus_one_nths_of_the_tensor(void **state)
{
    (void)state;
    for (uint32_t ranks = 2; ranks <= RING_RANKS; ranks++) {
        struct ring_of *ring = open_ring(ranks);
        uint64_t count = (uint64_t)RING_BLOCK * ranks * 5;
        int32_t *tensors = calloc(2 * ranks * count, sizeof *tensors);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            int32_t *send = tensors + 2 * rank * count;
            for (uint64_t i = 0; i < count; i++) {
                send[i] = (int32_t)(i * (rank + 1));
            }
            struct trib_operation o = allreduce(send, send + count, count);
            submit(ring, rank, &o);
        }
        settle(ring);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            assert_int_equal(ring->done[rank], 1);
            assert_int_equal(ring->flow_bytes[rank], 2 * (ranks - 1) * count * 4 / ranks);
            for (uint64_t i = 0; i < count; i++) {
                assert_int_equal(tensors[(2 * rank + 1) * count + i], i * ranks * (ranks + 1) / 2);
            }
            assert_int_equal(verbs->mark(ring->node[rank]), verbs->end(ring->node[rank]));
            assert_int_equal(flows_of(ring, rank).repeated, 0);
            assert_int_equal(verbs->node.next_timeout(ring->node[rank]), TRIB_NEVER);
        }
        free(tensors);
        close_ring(ring);
    }
}

static void part__that_comes_early_waits_for_its_operation(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t a[2] = {1, 0};
    int32_t b[2] = {10, 0};
    struct trib_operation first = allreduce(&a[0], &a[1], 1);
    struct trib_operation second = allreduce(&b[0], &b[1], 1);

    (void)state;
    submit(ring, 1, &second); /* block 0 begins at rank 1 */
    settle(ring);
    assert_int_equal(verbs->node.counters(ring->node[0])->held, 1);
    assert_int_equal(verbs->in_flight(ring->node[1], 0), 0); /* it was acknowledged: nothing is sent again */
    assert_int_equal(verbs->node.idle(ring->node[0], (struct trib_range[TRIB_IDLE_RANGES]){{0, 0}}), 0);
    submit(ring, 0, &first);
    settle(ring);
    assert_int_equal(ring->done[0] + ring->done[1], 2);
    assert_int_equal(a[1], 11);
    assert_int_equal(b[1], 11);
    close_ring(ring);
}

/* Acknowledgements are lost; results come all the same, and then nothing of the caller's is read again. */
static void result__settles_what_was_sent_before_it(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][2] = {{1, 0}, {10, 0}};
    struct mail mail;

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_operation o = allreduce(&tensor[rank][0], &tensor[rank][1], 1);
        submit(ring, rank, &o);
        (void)drain(ring, rank);
    }
    while (take_mail(ring, &mail)) {
        if (mail.packet.kind == TRIB_FLOW) {
            (void)give(ring, mail.from, mail.to, &mail.packet);
            (void)drain(ring, mail.to);
        }
    }
    assert_int_equal(ring->done[1], 1);
    assert_int_equal(tensor[1][1], 11);
    assert_int_equal(flows_of(ring, 1).settled, 1);
    tensor[1][0] = 666;
    assert_int_equal(verbs->node.next_timeout(ring->node[1]), TRIB_NEVER);
    ring->now_ns = 1000 * RING_MS;
    verbs->node.on_timeout(ring->node[1], ring->now_ns);
    assert_int_equal(drain(ring, 1), 0);
    /* The other one does not know, asks again, and is answered. */
    verbs->node.on_timeout(ring->node[0], ring->now_ns);
    settle(ring);
    assert_int_equal(flows_of(ring, 1).repeated, 1);
    assert_int_equal(verbs->in_flight(ring->node[0], 0), 0);
    close_ring(ring);
}

static void broadcast__root_is_done_when_the_next_has_it(void **state)
{
    struct ring_of *ring = open_ring(3);
    uint8_t bytes[3][100];
    struct mail mail;

    (void)state;
    memset(bytes, 0, sizeof bytes);
    memset(bytes[1], 7, sizeof bytes[1]);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct trib_operation o = {.send = rank == 1 ? bytes[1] : NULL,
                                   .recv = rank == 1 ? NULL : bytes[rank],
                                   .count = sizeof bytes[0],
                                   .collective = TRIB_BROADCAST,
                                   .type = TRIB_BYTES,
                                   .root = 1};
        submit(ring, rank, &o);
    }
    (void)drain(ring, 1);
    assert_int_equal(ring->done[1], 0);
    for (int i = 0; i < 2; i++) {
        assert_true(take_mail(ring, &mail));
        assert_int_equal(give(ring, 1, 2, &mail.packet), TRIB_DROP_NONE);
    }
    settle(ring);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(ring->done[rank], 1);
        assert_memory_equal(bytes[rank], bytes[1], sizeof bytes[1]);
    }
    assert_int_equal(ring->flow_count[0], 0); /* the one before the root sends nothing */
    close_ring(ring);
}

static void alone__a_rank_has_its_result_at_once(void **state)
{
    struct ring_of *ring = open_ring(1);
    float send[3] = {1, 2, 4};
    float recv[3] = {0, 0, 0};
    struct trib_operation o = {.send = send,
                               .recv = recv,
                               .count = 3,
                               .collective = TRIB_ALLREDUCE,
                               .type = TRIB_FLOAT32,
                               .reduction = TRIB_AVERAGE};
    struct trib_operation barrier = {.collective = TRIB_BARRIER};
    struct trib_packet packet = {.kind = TRIB_FLOW, .communicator = 77, .generation = 2};

    (void)state;
    submit(ring, 0, &o);
    submit(ring, 0, &barrier);
    submit(ring, 0, &barrier);
    submit(ring, 0, &barrier);
    assert_false(verbs->submit(ring->node[0], &barrier, 0)); /* four DONEs wait to be taken */
    assert_int_equal(drain(ring, 0), 0);
    assert_int_equal(ring->done[0], 4);
    assert_memory_equal(recv, send, sizeof send);
    assert_int_equal(give(ring, 0, 0, &packet), TRIB_DROP_SOURCE);
    close_ring(ring);
}

static void other__operation_is_reported_with_both_ranks(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][4] = {{1}, {10}};
    struct trib_operation a = allreduce(tensor[0], tensor[0] + 2, 1);
    struct trib_operation b = allreduce(tensor[1], tensor[1] + 2, 2);

    (void)state;
    submit(ring, 0, &a);
    submit(ring, 1, &b);
    settle(ring);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(ring->event[0].child, 1);
    assert_int_equal(ring->event[0].other, 0);
    assert_int_equal(ring->done[0] + ring->done[1], 0);
    assert_int_equal(verbs->node.counters(ring->node[0])->dropped[TRIB_DROP_DIGEST], 1);
    close_ring(ring);
}

/* The same when the part was there first. */
static void other__operation_is_reported_when_it_is_submitted(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][4] = {{1}, {10}};
    struct trib_operation a = allreduce(tensor[0], tensor[0] + 2, 1);
    struct trib_operation b = allreduce(tensor[1], tensor[1] + 2, 2);

    (void)state;
    submit(ring, 1, &b);
    settle(ring);
    submit(ring, 0, &a);
    settle(ring);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(ring->done[0] + ring->done[1], 0);
    close_ring(ring);
}

/* The same where the two begin at different ranks, so that a part is there that this rank should have begun: who called what
 * is more than that a check has failed. */
static void other__operation_that_begins_elsewhere_is_no_failed_check(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][4] = {{1}, {10}};
    struct trib_operation a = allreduce(tensor[0], NULL, 1);
    struct trib_operation b = allreduce(tensor[1], tensor[1] + 2, 1);

    (void)state;
    a.collective = TRIB_REDUCE;
    a.root = 1;
    submit(ring, 1, &b);
    settle(ring);
    submit(ring, 0, &a);
    settle(ring);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(ring->done[0] + ring->done[1], 0);
    close_ring(ring);
}

/* A driver takes events when it comes round to it. Till then reports pile up, and the last of them are lost; but that
 * ranks call other things is said once, and nothing says it again. */
static void other__operation_is_reported_behind_any_number_of_stalls(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][4] = {{1}, {10}};
    struct trib_operation a = allreduce(tensor[0], tensor[0] + 2, 1);
    struct trib_operation b = allreduce(tensor[1], tensor[1] + 2, 2);

    (void)state;
    submit(ring, 0, &a);
    for (uint32_t i = 0; i < 20; i++) {
        ring->now_ns += 500 * RING_MS;
        verbs->node.on_timeout(ring->node[0], ring->now_ns);
    }
    submit(ring, 1, &b);
    (void)drain(ring, 1);
    struct mail mail;
    assert_true(take_mail(ring, &mail));
    assert_int_equal(give(ring, 1, 0, &mail.packet), TRIB_DROP_DIGEST);
    (void)drain(ring, 0);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_MISMATCH);
    close_ring(ring);
}

static void wrong__lane_is_sent_again_and_the_third_ends_it(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][2] = {{1, 0}, {10, 0}};
    struct mail mail;

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_operation o = allreduce(&tensor[rank][0], &tensor[rank][1], 1);
        submit(ring, rank, &o);
    }
    (void)drain(ring, 1);
    assert_true(take_mail(ring, &mail));
    struct trib_packet bent = mail.packet;
    bent.lane++;
    assert_int_equal(give(ring, 1, 0, &bent), TRIB_DROP_LANE);
    bent = mail.packet;
    bent.contributors = 2;
    assert_int_equal(give(ring, 1, 0, &bent), TRIB_DROP_SHAPE);
    (void)drain(ring, 0);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_NONE);
    bent = mail.packet;
    bent.payload_len = 0;
    bent.contributors = 0;
    assert_int_equal(give(ring, 1, 0, &bent), TRIB_DROP_SHAPE); /* agrees with itself, not with the operation */
    (void)drain(ring, 0);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_FAILED);
    assert_int_equal(give(ring, 1, 0, &mail.packet), TRIB_DROP_NONE); /* none of them was taken */
    settle(ring);
    assert_int_equal(tensor[0][1], 11);
    close_ring(ring);
}

/* A packet as from the rank before, on a ring of 3, with the lane of so many ranks behind the owner. */
static struct trib_packet forged(uint64_t fragment, enum trib_ring_leg leg, uint32_t owner, uint32_t ranks_in_it)
{
    struct trib_packet packet = {
        .kind = TRIB_FLOW,
        .bitmap = trib_ring_label(fragment, leg),
        .communicator = 77,
        .generation = 2,
        .digest = 1,
        .last_rank = (uint16_t)owner,
    };
    struct trib_lane_id id = {.salt = 5, .sequence = fragment, .communicator = 77, .digest = 1, .generation = 2};

    for (uint32_t i = 0; i < ranks_in_it; i++) {
        packet.lane += trib_lane_key(5, (owner + 1 + i) % 3) * trib_lane_odd(&id);
    }
    return packet;
}

static void lies__are_dropped(void **state)
{
    struct ring_of *ring = open_ring(3); /* all to rank 2, as from rank 1 */
    struct trib_packet packet = forged(8, TRIB_RING_SUMMING, 0, 1);

    (void)state;
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_WINDOW);
    packet = forged(0, TRIB_RING_SPREADING, 2, 3); /* rank 2 is the one that makes this result */
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_SHAPE);
    packet = forged(0, TRIB_RING_SPREADING, 0, 3); /* a result before its operation is submitted */
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_UNASKED);
    packet = forged(0, TRIB_RING_SUMMING, 1, 3); /* came all the way round */
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_SHAPE);
    packet = forged(1, TRIB_RING_SUMMING, 3, 0); /* of an owner that is none */
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_SHAPE);
    packet = forged(1, TRIB_RING_LEGS - 1, 0, 1); /* on a leg that is none */
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_SHAPE);
    packet = forged(2, TRIB_RING_CARRYING, 2, 0); /* what rank 2 carries comes back to it */
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_SHAPE);
    packet = forged(0, TRIB_RING_SUMMING, 0, 1);
    assert_int_equal(give(ring, 0, 2, &packet), TRIB_DROP_SOURCE);
    packet.kind = TRIB_RESULT;
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_KIND);
    packet.kind = TRIB_FLOW;
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_NONE); /* kept: its operation may come */
    packet.sequence = packet.mark = 1;
    assert_int_equal(give(ring, 1, 2, &packet), TRIB_DROP_UNASKED); /* a second one of the same */
    close_ring(ring);
}

/* What was kept had the operation's digest and another form: only a broken rank does that, and it does not come
 * again. */
static void held__part_of_another_form_ends_the_communicator(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][2] = {{1, 0}, {10, 0}};
    struct trib_operation a = allreduce(&tensor[0][0], &tensor[0][1], 1);
    struct trib_operation b = allreduce(&tensor[1][0], &tensor[1][1], 1);
    struct mail mail;

    (void)state;
    submit(ring, 1, &b);
    (void)drain(ring, 1);
    assert_true(take_mail(ring, &mail));
    mail.packet.payload_len = 0;
    mail.packet.contributors = 0;
    assert_int_equal(give(ring, 1, 0, &mail.packet), TRIB_DROP_NONE);
    submit(ring, 0, &a);
    (void)drain(ring, 0);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_FAILED);
    assert_int_equal(ring->done[0], 0);
    close_ring(ring);
}

/* While the session is away nothing is sent, and what comes is taken; then everything goes on. */
static void suspended__rank_takes_and_is_silent(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][2] = {{1, 0}, {10, 0}};

    (void)state;
    verbs->suspend(ring->node[0]);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_operation o = allreduce(&tensor[rank][0], &tensor[rank][1], 1);
        submit(ring, rank, &o);
    }
    settle(ring);
    assert_int_equal(ring->done[0], 1); /* it makes the result */
    assert_int_equal(ring->done[1], 0);
    assert_int_equal(verbs->node.next_timeout(ring->node[0]), TRIB_NEVER);
    verbs->node.on_timeout(ring->node[0], ring->now_ns);
    verbs->registered(ring->node[0], 10, 0, ring->now_ns);
    settle(ring);
    assert_int_equal(ring->done[1], 1);
    close_ring(ring);
}

/* All have everything, the session says: nothing need be sent again, or for the first time. */
static void mark__ends_what_is_under_way(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][40] = {{1}, {10}};
    struct trib_range ranges[TRIB_IDLE_RANGES];

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_operation o = allreduce(tensor[rank], tensor[rank] + 20, 17);
        submit(ring, rank, &o);
    }
    settle(ring);
    assert_int_equal(verbs->node.communicator_mark(ring->node[0]), 0);
    assert_int_equal(verbs->node.idle(ring->node[0], ranges), 0);
    verbs->learn_mark(ring->node[0], 3, ring->now_ns); /* above its own: nonsense */
    assert_int_equal(verbs->node.communicator_mark(ring->node[0]), 0);
    verbs->learn_mark(ring->node[0], 2, ring->now_ns);
    assert_int_equal(verbs->node.communicator_mark(ring->node[0]), 2);
    assert_int_equal(verbs->node.idle(ring->node[0], ranges), 2);
    close_ring(ring);

    ring = open_ring(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_operation o = allreduce(tensor[rank], tensor[rank] + 20, 1);
        submit(ring, rank, &o);
        (void)drain(ring, rank);
    }
    struct mail mail;
    assert_true(take_mail(ring, &mail));
    assert_int_equal(give(ring, 1, 0, &mail.packet), TRIB_DROP_NONE);
    verbs->learn_mark(ring->node[0], 1, ring->now_ns); /* as if rank 1 had the result: it is not sent */
    assert_int_equal(drain(ring, 0), 1);               /* an acknowledgement */
    assert_int_equal(ring->flow_count[0], 0);
    close_ring(ring);
}

static void stall__is_reported_again_and_again(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2] = {1, 0};
    struct trib_operation o = allreduce(&tensor[0], &tensor[1], 1);

    (void)state;
    ring->now_ns = RING_MS;
    submit(ring, 0, &o);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(verbs->node.next_timeout(ring->node[0]), RING_MS + i * 500 * RING_MS);
        ring->now_ns = RING_MS + i * 500 * RING_MS;
        verbs->node.on_timeout(ring->node[0], ring->now_ns);
        (void)drain(ring, 0);
        assert_int_equal(ring->event[0].kind, TRIB_EVENT_STALL);
        assert_int_equal(ring->event[0].since_ns, RING_MS);
        assert_int_equal(ring->event[0].child, UINT16_MAX); /* it has sent nothing */
    }
    assert_int_equal(verbs->node.counters(ring->node[0])->stalls, 3);
    close_ring(ring);
}

static void stall__names_a_next_rank_that_acknowledges_nothing(void **state)
{
    static int32_t tensor[2][4096];
    struct ring_of *ring = open_ring(3);
    struct trib_operation o = allreduce(tensor[0], tensor[1], 4096);

    (void)state;
    submit(ring, 1, &o);
    while (verbs->node.counters(ring->node[1])->stalls == 0) {
        (void)drain(ring, 1);
        ring->now_ns = verbs->node.next_timeout(ring->node[1]);
        verbs->node.on_timeout(ring->node[1], ring->now_ns);
    }
    (void)drain(ring, 1);
    assert_int_equal(ring->event[1].kind, TRIB_EVENT_STALL);
    assert_int_equal(ring->event[1].child, 2);
    close_ring(ring);
}

static void describe__knows_what_is_under_way(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2] = {1, 0};
    struct trib_operation o = allreduce(&tensor[0], &tensor[1], 1);
    struct trib_operation found;
    uint64_t number;

    (void)state;
    submit(ring, 0, &o);
    assert_true(verbs->describe(ring->node[0], 0, &found, &number));
    assert_int_equal(found.type, TRIB_INT32);
    assert_int_equal(number, 0);
    assert_false(verbs->describe(ring->node[0], 1, &found, &number));
    close_ring(ring);
}

static void describe__skips_what_has_ended(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][2] = {{1, 0}, {2, 0}};
    int32_t sent[2] = {7, 0};
    struct trib_operation found;
    uint64_t number;
    struct mail mail;

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_operation sum = allreduce(&tensor[rank][0], &tensor[rank][1], 1);
        struct trib_operation broadcast = {.send = rank == 0 ? sent : NULL,
                                           .recv = rank == 0 ? NULL : &sent[1],
                                           .count = 1,
                                           .collective = TRIB_BROADCAST,
                                           .type = TRIB_INT32};
        submit(ring, rank, &sum);
        submit(ring, rank, &broadcast);
    }
    (void)drain(ring, 0); /* the sum begins at rank 1, which says nothing: only the broadcast goes round */
    assert_true(take_mail(ring, &mail));
    assert_int_equal(give(ring, 0, 1, &mail.packet), TRIB_DROP_NONE);
    (void)drain(ring, 1);
    assert_int_equal(ring->done[1], 1);
    assert_int_equal(sent[1], 7);
    assert_false(verbs->describe(ring->node[1], 1, &found, &number));
    assert_true(verbs->describe(ring->node[1], 0, &found, &number));
    close_ring(ring);
}

/* A driver that shares its socket's memory among many communicators. */
static void limit__holds_what_is_under_way(void **state)
{
    struct ring_of *ring = open_ring(2);
    int32_t tensor[2][RING_BLOCK * 12];

    (void)state;
    memset(tensor, 0, sizeof tensor);
    verbs->limit(ring->node[1], 0, 0);
    struct trib_operation o = allreduce(tensor[0], tensor[1], (uint64_t)RING_BLOCK * 12);
    submit(ring, 1, &o);
    assert_int_equal(drain(ring, 1), 1);
    assert_int_equal(verbs->in_flight(ring->node[1], 0), 1);
    verbs->limit(ring->node[1], 0, 1000); /* no more than its window */
    ring->first = ring->last;
    close_ring(ring);
}

/* What a control plane tells each rank the addresses of. */
static void peers__are_the_one_before_and_the_next(void **state)
{
    uint16_t peers[TRIB_PEERS_MAX] = {0};

    (void)state;
    for (uint32_t ranks = 1; ranks <= RING_RANKS; ranks++) {
        struct trib_session_config session = config_of(ranks, 0, 0).session;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            uint32_t count = verbs->peers(&session, rank, peers);
            assert_int_equal(count, ranks == 1 ? 0 : ranks == 2 ? 1 : 2);
            for (uint32_t i = 0; i < count; i++) {
                assert_true(peers[i] != rank && peers[i] < ranks);
                assert_true((peers[i] + 1) % ranks == rank || (rank + 1) % ranks == peers[i]);
            }
            assert_true(count < 2 || peers[0] != peers[1]);
        }
    }
    assert_null(trib_scheme_find("switchml")->worker->peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank__sends_two_times_n_minus_one_nths_of_the_tensor),
        cmocka_unit_test(part__that_comes_early_waits_for_its_operation),
        cmocka_unit_test(result__settles_what_was_sent_before_it),
        cmocka_unit_test(broadcast__root_is_done_when_the_next_has_it),
        cmocka_unit_test(alone__a_rank_has_its_result_at_once),
        cmocka_unit_test(other__operation_is_reported_with_both_ranks),
        cmocka_unit_test(other__operation_is_reported_when_it_is_submitted),
        cmocka_unit_test(other__operation_that_begins_elsewhere_is_no_failed_check),
        cmocka_unit_test(other__operation_is_reported_behind_any_number_of_stalls),
        cmocka_unit_test(wrong__lane_is_sent_again_and_the_third_ends_it),
        cmocka_unit_test(lies__are_dropped),
        cmocka_unit_test(held__part_of_another_form_ends_the_communicator),
        cmocka_unit_test(suspended__rank_takes_and_is_silent),
        cmocka_unit_test(mark__ends_what_is_under_way),
        cmocka_unit_test(stall__is_reported_again_and_again),
        cmocka_unit_test(stall__names_a_next_rank_that_acknowledges_nothing),
        cmocka_unit_test(describe__knows_what_is_under_way),
        cmocka_unit_test(peers__are_the_one_before_and_the_next),
        cmocka_unit_test(describe__skips_what_has_ended),
        cmocka_unit_test(limit__holds_what_is_under_way),
    };

    verbs = &trib_ring_worker_verbs;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
