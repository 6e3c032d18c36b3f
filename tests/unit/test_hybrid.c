/* SPDX-License-Identifier: Apache-2.0 */
/* test_hybrid.c: rings inside groups and across them, by hand: what each link carries in each collective (closed
 * forms), how long the longest chain is, in which order parts may come, and what is no part at all. Faults in every
 * order and number are the business of tests/world and tests/model. */
#include "ring_harness.h"

#include "core/operation.h"
#include "published/published.h"
#include "schemes/schemes.h"

#define PIECES 3 /* fragments of a rank's share */
#define SHARE ((uint64_t)RING_BLOCK * PIECES)
#define MOST (SHARE * RING_RANKS)

/* Ranks x group, of which some are rings in disguise. */
static const uint32_t shapes[][2] = {{1, 1}, {2, 1}, {2, 2}, {4, 2},  {4, 1},  {4, 4},  {6, 2}, {6, 3},
                                     {8, 2}, {8, 4}, {9, 3}, {12, 3}, {12, 4}, {12, 2}, {12, 6}};

#define SHAPES (sizeof shapes / sizeof shapes[0])

static int32_t sent[RING_RANKS][MOST];
static int32_t received[RING_RANKS][MOST];

static int32_t value(uint32_t rank, uint64_t element)
{
    return (int32_t)((rank + 1) * 1000000 + element);
}

/* Runs it on all ranks, from the tensor of all shares, or from the own share to it. */
static struct ring_of *run(const uint32_t *shape, enum trib_collective collective, uint32_t root,
                           const struct trib_shares *shares)
{
    struct ring_of *ring = open_groups(shape[0], shape[1]);
    struct trib_operation o = {.count = shares != NULL ? shares->total : SHARE,
                               .shares = shares,
                               .collective = collective,
                               .type = TRIB_INT32,
                               .root = root};

    o.reduction = trib_operation_reduces(&o) ? TRIB_SUM : TRIB_REDUCTION_NONE;
    o.count *= !trib_operation_has_shares(&o) ? shape[0] : 1;
    memset(received, 0, sizeof received);
    for (uint32_t rank = 0; rank < shape[0]; rank++) {
        for (uint64_t i = 0; i < MOST; i++) {
            sent[rank][i] = value(rank, i);
        }
        o.send = sent[rank];
        o.recv = collective == TRIB_REDUCE && rank != root ? NULL : received[rank];
        submit(ring, rank, &o);
    }
    settle(ring);
    for (uint32_t rank = 0; rank < shape[0]; rank++) {
        assert_int_equal(ring->done[rank], 1);
        assert_int_equal(flows_of(ring, rank).repeated + flows_of(ring, rank).timeouts, 0);
        assert_int_equal(verbs->node.next_timeout(ring->node[rank]), TRIB_NEVER);
        assert_int_equal(verbs->in_flight(ring->node[rank], 0), 0);
    }
    return ring;
}

/* What goes over links inside groups and across them, in fragments of all ranks together, and of the one rank that
 * sends the most. */
struct loads {
    uint64_t inside, across, most_inside, most_across;
};

static struct loads loads_of(const struct ring_of *ring, uint32_t group)
{
    struct loads loads = {0};

    for (uint32_t from = 0; from < ring->ranks; from++) {
        uint64_t inside = 0;
        uint64_t across = 0;
        for (uint32_t to = 0; to < ring->ranks; to++) {
            uint64_t fragments = ring->link_bytes[from][to] / RING_PAYLOAD;
            *(from / group == to / group ? &inside : &across) += fragments;
        }
        loads.inside += inside;
        loads.across += across;
        loads.most_inside = inside > loads.most_inside ? inside : loads.most_inside;
        loads.most_across = across > loads.most_across ? across : loads.most_across;
    }
    return loads;
}

static int32_t sum_of(uint32_t ranks, uint64_t element)
{
    int32_t sum = 0;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        sum += value(rank, element);
    }
    return sum;
}

static void allreduce__loads_every_link_alike(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        uint32_t ranks = shapes[s][0];
        uint32_t m = shapes[s][1];
        uint32_t groups = ranks / m;
        struct ring_of *ring = run(shapes[s], TRIB_ALLREDUCE, 0, NULL);
        struct loads loads = loads_of(ring, m);
        /* Of N x PIECES fragments: 2(m-1)/m inside, 2(R-1)/R of the m-th part across, on each rank's link. */
        assert_int_equal(loads.most_inside, 2 * (m - 1) * groups * PIECES);
        assert_int_equal(loads.most_across, 2 * (groups - 1) * PIECES);
        assert_int_equal(loads.inside, loads.most_inside * ranks);
        assert_int_equal(loads.across, loads.most_across * ranks);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            for (uint64_t i = 0; i < SHARE * ranks; i++) {
                assert_int_equal(received[rank][i], sum_of(ranks, i));
            }
        }
        close_ring(ring);
    }
}

static void allgather__and_reduce_scatter_move_what_a_ring_does(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        uint32_t ranks = shapes[s][0];
        uint32_t m = shapes[s][1];
        for (int gathers = 0; gathers < 2; gathers++) {
            struct ring_of *ring = run(shapes[s], gathers ? TRIB_ALLGATHER : TRIB_REDUCE_SCATTER, 0, NULL);
            struct loads loads = loads_of(ring, m);
            assert_int_equal(loads.most_inside, (m - 1) * (ranks / m) * PIECES);
            assert_int_equal(loads.most_across, (ranks / m - 1) * PIECES);
            assert_int_equal(loads.most_inside + loads.most_across, (ranks - 1) * PIECES);
            assert_int_equal(loads.inside + loads.across, (ranks - 1) * PIECES * ranks);
            for (uint32_t rank = 0; rank < ranks; rank++) {
                for (uint64_t i = 0; i < SHARE * (gathers ? ranks : 1); i++) {
                    int32_t right = gathers ? value((uint32_t)(i / SHARE), i % SHARE) : sum_of(ranks, rank * SHARE + i);
                    assert_int_equal(received[rank][i], right);
                }
            }
            close_ring(ring);
        }
    }
}

/* Shares of 0, 1, 2 ... fragments, and a few elements. */
static void uneven__shares_are_right_and_empty_ones_too(void **state)
{
    uint64_t count[RING_RANKS];
    uint64_t before[RING_RANKS + 1] = {0};

    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        struct trib_session_config session = config_of(shapes[s][0], shapes[s][1], 0).session;
        void *memory = calloc(1, trib_shares_size(session.ranks));
        struct trib_operation kind = {.collective = TRIB_ALLGATHER, .type = TRIB_INT32};
        for (uint32_t rank = 0; rank < session.ranks; rank++) {
            count[rank] = (uint64_t)(rank * 5 % 4) * RING_BLOCK - (rank % 2 != 0 && rank % 4 != 0 ? 3 : 0);
            before[rank + 1] = before[rank] + count[rank];
        }
        const struct trib_shares *shares = trib_shares_init(memory, &session, &kind, count);
        close_ring(run(shapes[s], TRIB_ALLGATHER, 0, shares));
        for (uint32_t rank = 0; rank < session.ranks; rank++) {
            for (uint32_t owner = 0; owner < session.ranks; owner++) {
                for (uint64_t i = 0; i < count[owner]; i++) {
                    assert_int_equal(received[rank][before[owner] + i], value(owner, i));
                }
            }
        }
        close_ring(run(shapes[s], TRIB_REDUCE_SCATTER, 0, shares));
        for (uint32_t rank = 0; rank < session.ranks; rank++) {
            for (uint64_t i = 0; i < count[rank]; i++) {
                assert_int_equal(received[rank][i], sum_of(session.ranks, before[rank] + i));
            }
        }
        free(memory);
    }
}

/* Each fragment goes to each rank, or from each, once: and over the links of the root's place alone across. */
static void broadcast__and_reduce_pass_each_link_once(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        uint32_t ranks = shapes[s][0];
        uint32_t m = shapes[s][1];
        for (uint32_t root = 0; root < ranks; root++) {
            for (int reduces = 0; reduces < 2; reduces++) {
                struct ring_of *ring = run(shapes[s], reduces ? TRIB_REDUCE : TRIB_BROADCAST, root, NULL);
                struct loads loads = loads_of(ring, m);
                assert_int_equal(loads.inside, (uint64_t)(m - 1) * (ranks / m) * ranks * PIECES);
                assert_int_equal(loads.across, (uint64_t)(ranks / m - 1) * ranks * PIECES);
                assert_true(loads.most_inside <= (uint64_t)ranks * PIECES);
                assert_true(loads.most_across <= (uint64_t)ranks * PIECES);
                for (uint32_t rank = 0; rank < ranks; rank++) {
                    for (uint64_t i = 0; i < SHARE * ranks && (reduces ? rank == root : rank != root); i++) {
                        assert_int_equal(received[rank][i], reduces ? sum_of(ranks, i) : value(root, i));
                    }
                }
                close_ring(ring);
            }
        }
    }
}

static uint32_t longest_chain(const uint32_t *shape, enum trib_collective collective)
{
    struct ring_of *ring = open_groups(shape[0], shape[1]);
    uint32_t longest = 0;

    for (uint32_t rank = 0; rank < shape[0]; rank++) {
        struct trib_operation o = allreduce(sent[rank], received[rank], 1);
        o.collective = collective;
        o.count = collective == TRIB_BARRIER ? 0 : 1;
        submit(ring, rank, &o);
    }
    settle(ring);
    for (uint32_t rank = 0; rank < shape[0]; rank++) {
        assert_int_equal(ring->done[rank], 1);
        longest = ring->hops[rank] > longest ? ring->hops[rank] : longest;
    }
    close_ring(ring);
    return longest;
}

static void chain__is_as_long_as_both_rings(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        uint32_t m = shapes[s][1];
        uint32_t hops = 2 * (m - 1) + 2 * (shapes[s][0] / m - 1);
        assert_int_equal(longest_chain(shapes[s], TRIB_ALLREDUCE), hops);
        assert_int_equal(longest_chain(shapes[s], TRIB_BARRIER), hops);
    }
}

static void peers__are_those_of_both_rings(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        uint32_t ranks = shapes[s][0];
        uint32_t m = shapes[s][1];
        struct trib_session_config session = config_of(ranks, m, 0).session;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            uint16_t peers[TRIB_PEERS_MAX];
            uint32_t count = verbs->peers(&session, rank, peers);
            assert_int_equal(count, (m < 3 ? m - 1 : 2) + (ranks / m < 3 ? ranks / m - 1 : 2));
            for (uint32_t i = 0; i < count; i++) {
                assert_true(peers[i] < ranks && peers[i] != rank);
                assert_true(peers[i] / m == rank / m || peers[i] % m == rank % m);
                for (uint32_t j = 0; j < i; j++) {
                    assert_int_not_equal(peers[i], peers[j]);
                }
            }
        }
    }
}

static void unfit__groups_are_refused_with_a_reason(void **state)
{
    struct trib_session_config session = config_of(6, 4, 0).session;
    uint16_t peers[TRIB_PEERS_MAX];

    (void)state;
    assert_ptr_equal(trib_scheme_find("hybrid"), &trib_hybrid);
    assert_string_equal(trib_hybrid.unfit(&session), "the number of ranks is not a multiple of the ranks of a group");
    assert_int_equal(verbs->peers(&session, 0, peers), 0);
    session.group = 0;
    assert_int_equal(verbs->peers(&session, 0, peers), 0);
    assert_string_equal(trib_hybrid.unfit(&session),
                        "its ranks stand in groups, and nobody said of how many: write hybrid:4 for groups of 4 ranks");
    session.group = 3;
    assert_null(trib_hybrid.unfit(&session));
    assert_null(trib_ring.unfit);
}

static uint16_t group_of(const char *name)
{
    struct trib_session_config session;

    trib_scheme_settle(name, &session);
    return session.group;
}

static void find__a_name_says_how_many_ranks_a_group_is(void **state)
{
    static const char *const wrong[] = {
        "hybrid:",    "hybrid:0",          "hybrid:04", "hybrid:4 ", "hybrid:-4",  "hybrid:x", "hybrid:1025",
        "hybrid:4:2", "hybrid:4294967300", "hybri:4",   "ring:4",    "switchml:2", "hybrid4",  ""};
    (void)state;
    assert_ptr_equal(trib_scheme_find("hybrid:4"), &trib_hybrid);
    assert_int_equal(group_of("hybrid:4"), 4);
    assert_int_equal(group_of("hybrid:1024"), 1024);
    assert_int_equal(group_of("hybrid"), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_null(trib_scheme_find(wrong[i]));
    }
}

/* Whoever the name came from hears the same, and of a scheme that there is not nothing. */
static void explain__says_what_may_stand_behind_a_colon(void **state)
{
    static const char quorum[] = "a quorum is M/N, at least 1/2 and less than 1, N at most 255";
    static const char groups[] = "a group is as many ranks as a number says, from 1 to 1024";
    static const char no_quorum[] = "it has no quorum; panama has";
    static const char no_groups[] = "it has no groups; hybrid has";
    static const char servers[] = "it takes no number; how many servers there are is said by `tributary server --with`";
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"panama:9/8", quorum},
        {"panama:0/0", quorum},
        {"panama:8/8", quorum},
        {"panama:1/3", quorum},
        {"panama:100/1000", quorum},
        {"panama:7", quorum},
        {"panama:", quorum},
        {"panama-literal:7", quorum},
        {"hybrid:0", groups},
        {"hybrid:1025", groups},
        {"hybrid:", groups},
        {"hybrid:7/8", no_quorum},
        {"switchml:7/8", no_quorum},
        {"switchml:7/x", no_quorum},
        {"switchml:2", no_groups},
        {"ring:", no_groups},
        {"ps:2", servers},
        {"atp:", servers},
        {"atp:7/8", no_quorum},
        {"panama:7/8", NULL},
        {"hybrid:4", NULL},
        {"switchml", NULL},
        {"hybri:0", NULL},
        {"panamas:9/8", NULL},
        {":9/8", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = trib_published_explain(cases[i].name);
        assert_string_equal(text != NULL ? text : "", cases[i].text != NULL ? cases[i].text : "");
    }
    assert_true(trib_scheme_find("panama")->has_quorum && trib_scheme_find("hybrid")->has_groups);
}

/* ---- 2 groups of 2: fragment 0 is rank 0's, who gets what group 1 has summed from rank 2, and its own group's part from rank 1
 * ---- */

#define FLOATS_AT 4

/* All parts but rank 0's, whose sum depends on the order in which they are added. */
static struct ring_of *parts_on_their_way(float *tensor)
{
    static const float parts[4] = {1.0f, 16777216.0f, 3.0f, -16777216.0f};
    struct ring_of *ring = open_groups(4, 2);
    struct mail mail;

    for (uint32_t rank = 0; rank < 4; rank++) {
        struct trib_operation o = {.send = &tensor[rank],
                                   .recv = &tensor[FLOATS_AT + rank],
                                   .count = 1,
                                   .collective = TRIB_ALLREDUCE,
                                   .type = TRIB_FLOAT32,
                                   .reduction = TRIB_SUM};
        tensor[rank] = parts[rank];
        if (rank != 0) {
            submit(ring, rank, &o);
            (void)drain(ring, rank);
        }
    }
    /* Rank 3's part is rank 2's to add. */
    for (uint32_t i = ring->last - ring->first; i > 0; i--) {
        assert_true(take_mail(ring, &mail));
        if (mail.to != 0) {
            (void)give(ring, mail.from, mail.to, &mail.packet);
            (void)drain(ring, mail.to);
        } else {
            ring->mail[ring->last++ % 4096] = mail;
        }
    }
    return ring;
}

/* Whichever comes first, and whether the operation is known or not. */
static void sum__does_not_depend_on_what_comes_first(void **state)
{
    float first[2 * FLOATS_AT] = {0};
    float again[2 * FLOATS_AT] = {0};

    (void)state;
    for (uint32_t way = 0; way < 4; way++) {
        float *tensor = way == 0 ? first : again;
        struct ring_of *ring = parts_on_their_way(tensor);
        struct trib_operation o = {.send = &tensor[0],
                                   .recv = &tensor[FLOATS_AT],
                                   .count = 1,
                                   .collective = TRIB_ALLREDUCE,
                                   .type = TRIB_FLOAT32,
                                   .reduction = TRIB_SUM};
        if (way < 2) {
            submit(ring, 0, &o);
        }
        struct mail mail[2] = {{.from = 0}, {.from = 0}};
        uint32_t count = 0;
        for (struct mail one; take_mail(ring, &one);) {
            if (one.to == 0 && one.packet.kind == TRIB_FLOW) {
                mail[count++] = one;
            } else {
                (void)give(ring, one.from, one.to, &one.packet);
            }
        }
        assert_int_equal(count, 2);
        for (uint32_t i = 0; i < 2; i++) {
            struct mail *next = &mail[way % 2 == 0 ? i : 1 - i];
            next->packet.payload = next->payload;
            assert_int_equal(give(ring, next->from, 0, &next->packet), TRIB_DROP_NONE);
        }
        assert_int_equal(verbs->node.counters(ring->node[0])->held, way < 2 ? 0 : 2);
        if (way >= 2) {
            submit(ring, 0, &o);
        }
        settle(ring);
        /* (what came across + what came inside) + its own: (3 - 2^24 + 2^24) + 1, in this order. */
        assert_true(tensor[FLOATS_AT] == ((3.0f + -16777216.0f) + 16777216.0f) + 1.0f);
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_memory_equal(&tensor[FLOATS_AT + rank], &first[FLOATS_AT], sizeof first[0]);
        }
        close_ring(ring);
    }
}

/* Two parts that wait for the operation and differ in it: the second one comes again when it is known whose is the
 * other one. */
static void parts__of_two_operations_are_told_apart_when_it_is_known(void **state)
{
    struct ring_of *ring = open_groups(4, 2);
    int32_t tensor[8] = {0};
    struct trib_operation mine = allreduce(&tensor[0], &tensor[1], 1);
    struct trib_operation other = allreduce(&tensor[2], &tensor[4], 2);
    struct mail mail;
    uint32_t refused = 0;

    (void)state;
    submit(ring, 1, &other); /* inside, to rank 0 */
    (void)drain(ring, 1);
    assert_true(take_mail(ring, &mail));
    assert_int_equal(give(ring, 1, 0, &mail.packet), TRIB_DROP_NONE);
    submit(ring, 2, &mine);
    submit(ring, 3, &mine);
    (void)drain(ring, 3);
    (void)drain(ring, 2);
    while (take_mail(ring, &mail)) {
        refused += give(ring, mail.from, mail.to, &mail.packet) == TRIB_DROP_DIGEST;
        (void)drain(ring, mail.to);
    }
    assert_int_equal(refused, 1);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_NONE);
    submit(ring, 0, &mine);
    (void)drain(ring, 0);
    assert_int_equal(ring->event[0].kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(ring->event[0].child, 1);
    assert_int_equal(ring->event[0].other, 0);
    close_ring(ring);
}

/* ---- lies to rank 5 of 2 groups of 3: place 2 of group 1 ---- */

static struct trib_packet forged(enum trib_ring_leg leg, uint32_t owner, uint32_t ranks)
{
    struct trib_packet packet = {
        .kind = TRIB_FLOW,
        .bitmap = trib_ring_label(0, leg),
        .communicator = 77,
        .generation = 2,
        .digest = 1,
        .last_rank = (uint16_t)owner,
    };
    struct trib_session_config session = config_of(6, 3, 5).session;

    for (uint32_t rank = 0; rank < 6; rank++) {
        uint64_t key = trib_lane_key(session.salt, rank);
        packet.lane += (ranks >> rank & 1) != 0 ? key * trib_session_odd(&session, 0, 0, 1) : 0;
    }
    return packet;
}

/* What a fresh rank 5 says to it. */
static enum trib_drop verdict(uint32_t from, enum trib_ring_leg leg, uint32_t owner, uint32_t ranks)
{
    struct ring_of *ring = open_groups(6, 3);
    struct trib_packet packet = forged(leg, owner, ranks);
    enum trib_drop drop = give(ring, from, 5, &packet);

    close_ring(ring);
    return drop;
}

static void parts__must_be_those_of_the_ranks_on_the_way(void **state)
{
    (void)state;
    /* Inside, from rank 4: behind the owner's place. */
    assert_int_equal(verdict(4, TRIB_RING_SUMMING, 0, 1U << 4), TRIB_DROP_NONE);
    assert_int_equal(verdict(4, TRIB_RING_SUMMING, 2, 3U << 3), TRIB_DROP_NONE);
    assert_int_equal(verdict(4, TRIB_RING_SUMMING, 2, 1U << 4), TRIB_DROP_LANE);
    assert_int_equal(verdict(4, TRIB_RING_SUMMING, 2, 3U << 0), TRIB_DROP_LANE);
    assert_int_equal(verdict(4, TRIB_RING_SUMMING, 1, 0), TRIB_DROP_SHAPE); /* it begins here */
    /* Across, from rank 2: group 0, when the owner is of group 1. */
    assert_int_equal(verdict(2, TRIB_RING_SUMMING, 5, 7U), TRIB_DROP_NONE);
    assert_int_equal(verdict(2, TRIB_RING_SUMMING, 5, 7U << 3), TRIB_DROP_LANE);
    assert_int_equal(verdict(2, TRIB_RING_SUMMING, 2, 0), TRIB_DROP_SHAPE);  /* group 1 is the first */
    assert_int_equal(verdict(2, TRIB_RING_SUMMING, 4, 7U), TRIB_DROP_SHAPE); /* another place's */
    /* What is carried: across by the owner's place, then inside. */
    assert_int_equal(verdict(2, TRIB_RING_CARRYING, 2, 1U << 2), TRIB_DROP_NONE);
    assert_int_equal(verdict(2, TRIB_RING_CARRYING, 5, 0), TRIB_DROP_SHAPE);
    assert_int_equal(verdict(2, TRIB_RING_CARRYING, 1, 1U << 1), TRIB_DROP_SHAPE);
    assert_int_equal(verdict(4, TRIB_RING_CARRYING, 1, 1U << 1 | 1U << 4), TRIB_DROP_NONE);
    assert_int_equal(verdict(4, TRIB_RING_CARRYING, 0, 1U << 0 | 1U << 3 | 1U << 4), TRIB_DROP_NONE);
    assert_int_equal(verdict(4, TRIB_RING_CARRYING, 0, 1U << 3 | 1U << 4), TRIB_DROP_LANE);
    assert_int_equal(verdict(4, TRIB_RING_CARRYING, 2, 0), TRIB_DROP_SHAPE);
    /* A result, before the operation is known; and one that comes the wrong way. */
    assert_int_equal(verdict(4, TRIB_RING_SPREADING, 0, 63), TRIB_DROP_UNASKED);
    assert_int_equal(verdict(2, TRIB_RING_SPREADING, 2, 63), TRIB_DROP_UNASKED);
    assert_int_equal(verdict(2, TRIB_RING_SPREADING, 0, 63), TRIB_DROP_SHAPE);
    assert_int_equal(verdict(4, TRIB_RING_SPREADING, 2, 63), TRIB_DROP_SHAPE);
    assert_int_equal(verdict(2, TRIB_RING_SPREADING, 5, 63), TRIB_DROP_SHAPE);
    /* Rank 3 is the next one inside; rank 1 has nothing to do with this one. */
    assert_int_equal(verdict(3, TRIB_RING_SUMMING, 0, 1U << 4), TRIB_DROP_SOURCE);
    assert_int_equal(verdict(1, TRIB_RING_SUMMING, 0, 1U << 4), TRIB_DROP_SOURCE);
}

/* Of 3 groups of 2, rank 4 is in the last: what comes across for rank 0 is added to what came inside, and the result
 * comes across as well. Each is wrong less than three times. */
static void wrong__packets_are_counted_anew_when_a_right_one_has_come(void **state)
{
    struct ring_of *ring = open_groups(6, 2);
    int32_t tensor[6][2];
    struct mail mail;

    (void)state;
    for (uint32_t rank = 0; rank < 6; rank++) {
        struct trib_operation o = allreduce(&tensor[rank][0], &tensor[rank][1], 1);
        tensor[rank][0] = 1;
        submit(ring, rank, &o);
        (void)drain(ring, rank);
    }
    while (take_mail(ring, &mail)) {
        bool is_bent = mail.from == 2 && mail.to == 4 && mail.packet.kind == TRIB_FLOW;
        uint32_t bends = is_bent ? 1 + (trib_ring_leg(mail.packet.bitmap) == TRIB_RING_SPREADING) : 0;
        for (; bends > 0; bends--) {
            struct trib_packet bent = mail.packet;
            bent.lane++;
            assert_int_equal(give(ring, 2, 4, &bent), TRIB_DROP_LANE);
        }
        assert_int_equal(give(ring, mail.from, mail.to, &mail.packet), TRIB_DROP_NONE);
        (void)drain(ring, mail.to);
    }
    assert_int_equal(verbs->node.counters(ring->node[4])->dropped[TRIB_DROP_LANE], 3);
    assert_int_equal(ring->event[4].kind, TRIB_EVENT_NONE);
    assert_int_equal(tensor[4][1], 6);
    close_ring(ring);
}

/* A payload that is no whole number of elements would be reduced with one that is. */
static void part__of_half_an_element_is_dropped(void **state)
{
    struct ring_of *ring = open_groups(6, 3);
    struct trib_packet packet = forged(TRIB_RING_SUMMING, 0, 1U << 4);
    static const uint8_t bytes[6];

    (void)state;
    packet.type = TRIB_INT32;
    packet.reduction = TRIB_SUM;
    packet.contributors = 1;
    packet.payload = bytes;
    packet.payload_len = 6;
    assert_int_equal(give(ring, 4, 5, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = 4;
    assert_int_equal(give(ring, 4, 5, &packet), TRIB_DROP_NONE);
    close_ring(ring);
}

/* Two flows share what the driver allows. */
static void limit__is_shared_by_the_two_rings(void **state)
{
    struct ring_of *ring = open_groups(4, 2);

    (void)state;
    verbs->limit(ring->node[3], 0, 2);
    struct trib_operation o = allreduce(sent[3], received[3], SHARE * 4);
    submit(ring, 3, &o);
    (void)drain(ring, 3);
    assert_int_equal(verbs->in_flight(ring->node[3], 0), 1); /* across it has nothing to send yet */
    close_ring(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce__loads_every_link_alike),
        cmocka_unit_test(allgather__and_reduce_scatter_move_what_a_ring_does),
        cmocka_unit_test(uneven__shares_are_right_and_empty_ones_too),
        cmocka_unit_test(broadcast__and_reduce_pass_each_link_once),
        cmocka_unit_test(chain__is_as_long_as_both_rings),
        cmocka_unit_test(peers__are_those_of_both_rings),
        cmocka_unit_test(unfit__groups_are_refused_with_a_reason),
        cmocka_unit_test(find__a_name_says_how_many_ranks_a_group_is),
        cmocka_unit_test(explain__says_what_may_stand_behind_a_colon),
        cmocka_unit_test(sum__does_not_depend_on_what_comes_first),
        cmocka_unit_test(parts__of_two_operations_are_told_apart_when_it_is_known),
        cmocka_unit_test(parts__must_be_those_of_the_ranks_on_the_way),
        cmocka_unit_test(wrong__packets_are_counted_anew_when_a_right_one_has_come),
        cmocka_unit_test(part__of_half_an_element_is_dropped),
        cmocka_unit_test(limit__is_shared_by_the_two_rings),
    };

    verbs = &trib_hybrid_worker_verbs;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
