/* SPDX-License-Identifier: Apache-2.0 */
/* test_flow.c: the two halves of a flow: each fragment exactly once whatever is lost, doubled or overtaken; nothing is
 * answered without end; and on a bottleneck what congestion control promises, from the closed forms of the DCTCP
 * paper. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/flow.h"
#include "core/node.h"
#include "core/prng.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

/* ---- a pair of halves ---- */

struct pair {
    struct trib_flow_sender *s;
    struct trib_flow_aside *aside;
    struct trib_flow_receiver *r;
    struct trib_flow_counters counters; /* the receiver's */
    uint8_t acked[8192];                /* by label */
    uint64_t acked_count;
};

static void note_acked(void *user, uint64_t label)
{
    struct pair *p = user;

    p->acked[label % sizeof p->acked]++;
    p->acked_count++;
}

static void open_pair(struct pair *p, uint32_t window, uint64_t limit, enum trib_congestion_policy policy)
{
    struct trib_flow_config config = {
        .id = {.communicator = 7, .boot = 9, .generation = 3},
        .limit = limit,
        .window = window,
        .policy = policy,
    };

    memset(p, 0, sizeof *p);
    p->s = malloc(trib_flow_sender_size(window));
    p->aside = malloc(trib_flow_aside_size(window));
    p->r = malloc(trib_flow_receiver_size(window));
    trib_flow_sender_init(p->s, p->aside, &config);
    trib_flow_receiver_init(p->r, &config);
}

static void close_pair(struct pair *p)
{
    free(p->s);
    free(p->aside);
    free(p->r);
}

static enum trib_drop give(struct pair *p, const struct trib_packet *flow)
{
    enum trib_drop drop = trib_flow_receiver_receive(p->r, flow, &p->counters);

    if (drop == TRIB_DROP_NONE) {
        trib_flow_take(p->r, flow->sequence, &p->counters);
    }
    return drop;
}

static bool ack(struct pair *p, uint64_t limit, struct trib_packet *packet)
{
    return trib_flow_receiver_next(p->r, limit, packet, &p->counters);
}

static enum trib_drop answer(struct pair *p, const struct trib_packet *packet, uint64_t now_ns)
{
    return trib_flow_sender_receive(p->s, packet, now_ns, note_acked, p);
}

static void send_some(struct pair *p, uint32_t count, uint64_t now_ns, struct trib_packet *packets)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_true(trib_flow_admits(p->s, p->s->next, now_ns));
        uint64_t sequence = trib_flow_send(p->s, p->s->next, now_ns, &packets[i]);
        assert_int_equal(packets[i].sequence, sequence);
    }
}

/* Gives all ACKs that are due to the sender; returns how many. */
static uint32_t answer_all(struct pair *p, uint64_t limit, uint64_t now_ns)
{
    struct trib_packet packet;
    uint32_t count = 0;

    while (ack(p, limit, &packet)) {
        assert_int_equal(answer(p, &packet, now_ns), TRIB_DROP_NONE);
        count++;
    }
    return count;
}

/* A plain sender beside one that keeps labels, which are its sequences: they do the same, whatever is lost and whenever
 * a timeout ends. */
static void plain__does_what_labels_do(void **state)
{
    static const uint32_t windows[] = {1, 2, 7, 64, 100, 256};

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct trib_prng prng = {.state = seed};
        uint32_t window = windows[seed % 6];
        struct trib_flow_config config = {
            .limit = UINT64_MAX, .window = window, .policy = TRIB_CONGESTION_DCTCP, .is_plain = true};
        struct pair p;
        uint64_t now_ns = 0;
        open_pair(&p, window, UINT64_MAX, TRIB_CONGESTION_DCTCP);
        memset(&p.r->id, 0, sizeof p.r->id);
        memset(&p.s->id, 0, sizeof p.s->id);
        struct trib_flow_sender *plain = malloc(trib_flow_plain_size(window));
        void *aside = malloc(trib_flow_aside_size(window));
        assert_true(trib_flow_plain_size(window) < trib_flow_sender_size(window));
        trib_flow_sender_init(plain, aside, &config);
        for (uint32_t step = 0; step < 2000; step++) {
            struct trib_packet packet;
            struct trib_packet same;
            now_ns += trib_prng_below(&prng, trib_prng_chance(&prng, 0.01) ? 40 * MS : 5 * US);
            trib_flow_on_timeout(p.s, now_ns);
            trib_flow_on_timeout(plain, now_ns);
            assert_true(trib_flow_next_timeout(p.s) == trib_flow_next_timeout(plain));
            bool is_sent = trib_flow_sender_next(p.s, now_ns, &packet);
            assert_int_equal(is_sent, trib_flow_sender_next(plain, now_ns, &same));
            bool is_new = !is_sent && trib_flow_admits(p.s, p.s->next, now_ns);
            assert_true(is_sent || is_new == trib_flow_admits(plain, plain->next, now_ns));
            if (is_new) {
                (void)trib_flow_send(p.s, p.s->next, now_ns, &packet);
                (void)trib_flow_send(plain, plain->next, now_ns, &same);
            }
            if (is_sent || is_new) {
                assert_true(packet.sequence == same.sequence && packet.bitmap == same.bitmap &&
                            packet.flags == same.flags);
                if (!trib_prng_chance(&prng, 0.1)) {
                    (void)give(&p, &packet);
                }
            }
            while (trib_prng_chance(&prng, 0.6) && ack(&p, UINT64_MAX, &packet)) {
                assert_int_equal(answer(&p, &packet, now_ns), TRIB_DROP_NONE);
                assert_int_equal(trib_flow_sender_receive(plain, &packet, now_ns, NULL, NULL), TRIB_DROP_NONE);
            }
            assert_true(p.s->lowest == plain->lowest && p.s->in_flight == plain->in_flight && p.s->lost == plain->lost);
        }
        assert_true(p.s->lowest > (window < 7 ? 10 : 100));
        assert_memory_equal(&p.aside->counters, &trib_flow_sender_aside(plain)->counters, sizeof p.aside->counters);
        free(plain);
        free(aside);
        close_pair(&p);
    }
}

static void ack__answers_a_train_once(void **state)
{
    struct pair p;
    struct trib_packet packets[10];

    (void)state;
    open_pair(&p, 64, UINT64_MAX, TRIB_CONGESTION_FIXED);
    send_some(&p, 10, 0, packets);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(give(&p, &packets[i]), TRIB_DROP_NONE);
    }
    assert_int_equal(answer_all(&p, UINT64_MAX, US), 1);
    assert_int_equal(p.acked_count, 10);
    assert_int_equal(p.s->lowest, 10);
    assert_int_equal(trib_flow_next_timeout(p.s), TRIB_NEVER);
    close_pair(&p);
}

static void lost__fragment_is_sent_again_once_when_three_later_ones_have_come(void **state)
{
    struct pair p;
    struct trib_packet packets[10];
    struct trib_packet again;

    (void)state;
    open_pair(&p, 64, UINT64_MAX, TRIB_CONGESTION_DCTCP);
    send_some(&p, 6, 0, packets);
    for (int i = 1; i < 3; i++) {
        (void)give(&p, &packets[i]);
    }
    (void)answer_all(&p, UINT64_MAX, US);
    assert_false(trib_flow_sender_next(p.s, US, &again)); /* two are no sign */
    (void)give(&p, &packets[3]);
    (void)answer_all(&p, UINT64_MAX, US);
    assert_true(trib_flow_sender_next(p.s, US, &again));
    assert_int_equal(again.sequence, 0);
    assert_int_equal(again.bitmap, 0);
    assert_int_equal(again.flags, TRIB_FLAG_RESEND);
    (void)give(&p, &packets[4]);
    (void)give(&p, &packets[5]);
    (void)answer_all(&p, UINT64_MAX, 2 * US);
    assert_false(trib_flow_sender_next(p.s, 2 * US, &again)); /* not twice by order */
    trib_flow_on_timeout(p.s, trib_flow_next_timeout(p.s));
    assert_true(trib_flow_sender_next(p.s, 50 * MS, &again));
    assert_int_equal(again.sequence, 0);
    assert_int_equal(give(&p, &again), TRIB_DROP_NONE);
    (void)answer_all(&p, UINT64_MAX, 51 * MS);
    assert_int_equal(p.s->lowest, 6);
    assert_int_equal(p.aside->counters.resent_order, 1);
    assert_int_equal(p.aside->counters.resent_timeout, 1);
    assert_int_equal(p.aside->counters.cut_lost, 1);
    close_pair(&p);
}

static void timeout__sends_all_again_and_late_acks_call_that_off(void **state)
{
    struct pair p;
    struct trib_packet packets[4];
    struct trib_packet packet;

    (void)state;
    open_pair(&p, 64, UINT64_MAX, TRIB_CONGESTION_AIMD);
    send_some(&p, 4, 0, packets);
    for (int i = 0; i < 4; i++) {
        (void)give(&p, &packets[i]);
    }
    assert_true(ack(&p, UINT64_MAX, &packet));
    trib_flow_on_timeout(p.s, TRIB_RTO_FIRST_NS - 1); /* too early */
    assert_int_equal(p.s->lost, 0);
    trib_flow_on_timeout(p.s, TRIB_RTO_FIRST_NS);
    assert_int_equal(p.s->lost, 4);
    assert_int_equal(answer(&p, &packet, 30 * MS), TRIB_DROP_NONE);
    assert_int_equal(p.s->lost, 0);
    assert_int_equal(p.s->in_flight, 0);
    assert_false(trib_flow_sender_next(p.s, 30 * MS, &packet));
    close_pair(&p);
}

static void limit__holds_back_and_is_asked_for(void **state)
{
    struct pair p;
    struct trib_packet packets[2];
    struct trib_packet probe;

    (void)state;
    open_pair(&p, 64, 2, TRIB_CONGESTION_DCTCP);
    send_some(&p, 2, 0, packets);
    assert_false(trib_flow_admits(p.s, 2, 0));
    (void)give(&p, &packets[0]);
    (void)give(&p, &packets[1]);
    (void)answer_all(&p, 2, US);
    assert_false(trib_flow_admits(p.s, 2, US));
    assert_int_not_equal(trib_flow_next_timeout(p.s), TRIB_NEVER);
    trib_flow_on_timeout(p.s, MS * 100);
    assert_true(trib_flow_sender_next(p.s, MS * 100, &probe));
    assert_int_equal(probe.sequence, 1);
    assert_int_equal(probe.flags, TRIB_FLAG_UNWANTED);
    assert_false(trib_flow_sender_next(p.s, MS * 100, &probe));
    assert_int_equal(give(&p, &probe), TRIB_DROP_REPEAT);
    assert_int_equal(answer_all(&p, 3, MS * 101), 1); /* the limit has risen meanwhile, and an update was lost */
    assert_true(trib_flow_admits(p.s, 2, MS * 101));
    assert_false(trib_flow_admits(p.s, 3, MS * 101));
    assert_int_equal(p.aside->backoff, 0);
    close_pair(&p);
}

/* The limit moves by what others do, so one who has not sent yet may wait for an update that was lost. */
static void limit__is_asked_for_by_one_who_has_never_sent(void **state)
{
    struct pair p;
    struct trib_packet probe;

    (void)state;
    open_pair(&p, 8, 2, TRIB_CONGESTION_DCTCP);
    assert_false(trib_flow_admits(p.s, 2, 0));
    trib_flow_on_timeout(p.s, trib_flow_next_timeout(p.s));
    assert_true(trib_flow_sender_next(p.s, 100 * MS, &probe));
    assert_int_equal(probe.sequence, 0);
    assert_int_equal(give(&p, &probe), TRIB_DROP_REPEAT);
    (void)answer_all(&p, 3, 101 * MS);
    assert_true(trib_flow_admits(p.s, 2, 101 * MS));
    close_pair(&p);
}

/* A probe that overtakes what it follows must not be taken for it. */
static void probe__is_never_taken_for_a_fragment(void **state)
{
    struct pair p;
    struct trib_packet packet;

    (void)state;
    open_pair(&p, 8, UINT64_MAX, TRIB_CONGESTION_FIXED);
    send_some(&p, 1, 0, &packet);
    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(give(&p, &packet), TRIB_DROP_REPEAT);
    assert_int_equal(p.r->mark, 0);
    assert_int_equal(answer_all(&p, UINT64_MAX, US), 1);
    assert_int_equal(p.acked_count, 0);
    close_pair(&p);
}

static void settle__needs_no_ack(void **state)
{
    struct pair p;
    struct trib_packet packets[3];

    (void)state;
    open_pair(&p, 8, UINT64_MAX, TRIB_CONGESTION_FIXED);
    send_some(&p, 3, 0, packets);
    trib_flow_settle(p.s, 1, US);
    assert_int_equal(p.s->lowest, 0);
    trib_flow_settle(p.s, 0, US);
    assert_int_equal(p.s->lowest, 2);
    trib_flow_settle(p.s, 2, US);
    assert_int_equal(p.s->in_flight, 0);
    assert_int_equal(trib_flow_next_timeout(p.s), TRIB_NEVER);
    for (int i = 0; i < 3; i++) {
        (void)give(&p, &packets[i]);
    }
    (void)answer_all(&p, UINT64_MAX, US);
    assert_int_equal(p.acked_count, 0);
    assert_int_equal(p.aside->counters.settled, 3);
    assert_int_equal(p.aside->counters.acks_old, 1);
    close_pair(&p);
}

static void refuses__what_is_not_its_own_or_cannot_be(void **state)
{
    struct pair p;
    struct trib_packet packets[2];
    struct trib_packet good;
    struct trib_packet bad;

    (void)state;
    open_pair(&p, 8, UINT64_MAX, TRIB_CONGESTION_FIXED);
    send_some(&p, 2, 0, packets);
    bad = packets[0];
    bad.communicator++;
    assert_int_equal(give(&p, &bad), TRIB_DROP_SOURCE);
    bad = packets[0];
    bad.generation++;
    assert_int_equal(give(&p, &bad), TRIB_DROP_GENERATION);
    bad = packets[0];
    bad.sequence = 8;
    assert_int_equal(give(&p, &bad), TRIB_DROP_WINDOW);
    bad.kind = TRIB_RESULT;
    assert_int_equal(give(&p, &bad), TRIB_DROP_KIND);
    (void)give(&p, &packets[1]);
    assert_true(ack(&p, 5, &good));
    bad = good;
    bad.communicator++;
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_SOURCE);
    bad = good;
    bad.generation++;
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_GENERATION);
    assert_int_equal(answer(&p, &packets[0], US), TRIB_DROP_KIND);
    bad = good;
    bad.mark = 3; /* more than was sent */
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_MARK);
    bad = good;
    bad.bitmap |= 4;
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_MARK);
    bad = good;
    bad.bitmap |= 1; /* lacks, and is there */
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_MARK);
    bad = good;
    bad.sequence = 1;
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_MARK);
    bad = good;
    bad.sequence = 64;
    assert_int_equal(answer(&p, &bad, US), TRIB_DROP_MARK);
    assert_int_equal(p.acked_count, 0);
    assert_int_equal(answer(&p, &good, US), TRIB_DROP_NONE);
    assert_int_equal(p.acked_count, 1);
    close_pair(&p);
}

static void old__ack_takes_nothing_back(void **state)
{
    struct pair p;
    struct trib_packet packets[8];
    struct trib_packet first;
    struct trib_packet second;

    (void)state;
    open_pair(&p, 8, 8, TRIB_CONGESTION_DCTCP);
    send_some(&p, 8, 0, packets);
    packets[0].flags = TRIB_FLAG_ECN;
    (void)give(&p, &packets[0]);
    assert_true(ack(&p, 9, &first));
    for (int i = 1; i < 8; i++) {
        (void)give(&p, &packets[i]);
    }
    assert_true(ack(&p, 16, &second));
    assert_int_equal(answer(&p, &second, US), TRIB_DROP_NONE);
    assert_int_equal(answer(&p, &first, US), TRIB_DROP_NONE);
    assert_int_equal(p.acked_count, 8);
    assert_int_equal(p.s->limit, 16);
    assert_int_equal(p.s->echoed, 1);
    assert_int_equal(p.aside->counters.acks_old, 1);
    assert_int_equal(p.aside->counters.cut_marked, 1);
    assert_int_equal(p.counters.marked, 1);
    close_pair(&p);
}

/* ---- a link that does everything ---- */

#define BAG 4096

struct bag {
    struct trib_packet packet[BAG];
    uint32_t count;
};

static void put(struct bag *bag, const struct trib_packet *packet, struct trib_prng *prng)
{
    for (uint64_t copies = trib_prng_below(prng, 10) == 0  ? 0
                           : trib_prng_below(prng, 8) == 0 ? 2
                                                           : 1;
         copies > 0; copies--) {
        if (bag->count < BAG) {
            bag->packet[bag->count++] = *packet;
        }
    }
}

static bool draw(struct bag *bag, struct trib_packet *packet, struct trib_prng *prng)
{
    if (bag->count == 0) {
        return false;
    }
    uint64_t near = trib_prng_below(prng, 4) == 0 ? bag->count : bag->count < 8 ? bag->count : 8;
    uint32_t at = (uint32_t)trib_prng_below(prng, near);
    *packet = bag->packet[at];
    memmove(&bag->packet[at], &bag->packet[at + 1], (--bag->count - at) * sizeof *packet);
    return true;
}

/* Every fragment is taken once and acknowledged once, in windows of all sizes, over links that lose a tenth, double and
 * shuffle. */
static void storms__lose_nothing_and_double_nothing(void **state)
{
    static struct bag up, down;
    static struct pair p;
    static uint8_t taken[8192];

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct trib_prng prng = {.state = seed};
        uint32_t window = (uint32_t)(1 + trib_prng_below(&prng, seed % 2 ? 8 : 300));
        uint64_t room = 1 + trib_prng_below(&prng, 2 * window);
        uint64_t all = 500 + trib_prng_below(&prng, 2000);
        uint64_t now = 0;
        open_pair(&p, window, room, (enum trib_congestion_policy)(seed % 3));
        memset(taken, 0, sizeof taken);
        up.count = down.count = 0;
        uint32_t rounds = 0;
        for (; p.acked_count < all && rounds < 1000000; rounds++) {
            struct trib_packet packet;
            now += 10 * US;
            while (trib_flow_sender_next(p.s, now, &packet)) {
                put(&up, &packet, &prng);
            }
            while (p.s->next < all && trib_flow_admits(p.s, p.s->next, now)) {
                (void)trib_flow_send(p.s, p.s->next, now, &packet);
                put(&up, &packet, &prng);
            }
            for (uint64_t i = trib_prng_below(&prng, 20); i > 0 && draw(&up, &packet, &prng); i--) {
                if (give(&p, &packet) == TRIB_DROP_NONE) {
                    taken[packet.bitmap]++;
                }
            }
            while (ack(&p, p.r->mark + room, &packet)) {
                put(&down, &packet, &prng);
            }
            for (uint64_t i = trib_prng_below(&prng, 20); i > 0 && draw(&down, &packet, &prng); i--) {
                assert_int_equal(answer(&p, &packet, now), TRIB_DROP_NONE);
            }
            uint64_t timeout = trib_flow_next_timeout(p.s);
            if (up.count == 0 && down.count == 0 && timeout != TRIB_NEVER && timeout > now) {
                now = timeout;
            }
            trib_flow_on_timeout(p.s, now);
        }
        assert_int_equal(p.acked_count, all);
        for (uint64_t i = 0; i < all; i++) {
            assert_int_equal(taken[i], 1);
            assert_int_equal(p.acked[i], 1);
        }
        assert_int_equal(p.s->in_flight + p.s->lost, 0);
        assert_int_equal(p.r->mark, all);
        close_pair(&p);
    }
}

/* ---- a bottleneck ---- */

#define SERVE_NS 1200 /* 1,500 bytes at 10 Gbit/s */
#define FLOWS 2
#define QUEUED 65536

struct due {
    uint64_t at_ns;
    struct trib_packet packet;
    uint32_t flow;
};

/* Of first-in-first-out, since all delays are the same. */
struct pipe {
    struct due *due;
    uint64_t first, last;
};

struct bottleneck {
    struct pair pair[FLOWS];
    uint32_t flows;
    uint32_t mark_at; /* queued fragments from which on ECN marks */
    uint32_t room;
    uint64_t delay_ns; /* one way */
    double loss;
    uint64_t busy_ns;
    struct pipe up, down;
    uint64_t taken[FLOWS];
    uint32_t least, most; /* queued, while measuring */
    bool is_measured;
    struct trib_prng prng;
};

static void pipe_put(struct pipe *pipe, uint64_t at_ns, const struct trib_packet *packet, uint32_t flow)
{
    pipe->due[pipe->last++ % QUEUED] = (struct due){at_ns, *packet, flow};
}

static uint64_t pipe_next(const struct pipe *pipe)
{
    return pipe->first == pipe->last ? TRIB_NEVER : pipe->due[pipe->first % QUEUED].at_ns;
}

static void offer(struct bottleneck *b, uint32_t flow, struct trib_packet *packet, uint64_t now)
{
    uint64_t start = b->busy_ns > now ? b->busy_ns : now;
    uint32_t queued = (uint32_t)((start - now) / SERVE_NS);

    if (b->is_measured) {
        b->least = queued < b->least ? queued : b->least;
        b->most = queued > b->most ? queued : b->most;
    }
    if (queued >= b->room || trib_prng_chance(&b->prng, b->loss)) {
        return;
    }
    packet->flags |= queued >= b->mark_at ? TRIB_FLAG_ECN : 0;
    b->busy_ns = start + SERVE_NS;
    pipe_put(&b->up, b->busy_ns + b->delay_ns, packet, flow);
}

static void pump(struct bottleneck *b, uint32_t flow, uint64_t now)
{
    struct trib_flow_sender *s = b->pair[flow].s;
    struct trib_packet packet;

    while (trib_flow_sender_next(s, now, &packet)) {
        offer(b, flow, &packet, now);
    }
    while (trib_flow_admits(s, s->next, now)) {
        (void)trib_flow_send(s, s->next, now, &packet);
        offer(b, flow, &packet, now);
    }
}

static void arrive(struct bottleneck *b)
{
    struct due due = b->up.due[b->up.first++ % QUEUED];
    struct pair *p = &b->pair[due.flow];

    b->taken[due.flow] += give(p, &due.packet) == TRIB_DROP_NONE;
    while (ack(p, UINT64_MAX, &due.packet)) {
        pipe_put(&b->down, due.at_ns + b->delay_ns, &due.packet, due.flow);
    }
}

static void run(struct bottleneck *b, uint64_t from, uint64_t until)
{
    for (uint64_t now = from; now < until;) {
        uint32_t who = 0;
        uint64_t timer = TRIB_NEVER;
        for (uint32_t i = 0; i < b->flows; i++) {
            pump(b, i, now);
            if (trib_flow_next_timeout(b->pair[i].s) < timer) {
                timer = trib_flow_next_timeout(b->pair[i].s);
                who = i;
            }
        }
        uint64_t up = pipe_next(&b->up);
        uint64_t down = pipe_next(&b->down);
        if (up <= down && up <= timer) {
            now = up;
            arrive(b);
        } else if (down <= timer) {
            struct due due = b->down.due[b->down.first++ % QUEUED];
            now = due.at_ns;
            assert_int_equal(answer(&b->pair[due.flow], &due.packet, now), TRIB_DROP_NONE);
        } else {
            now = timer;
            trib_flow_on_timeout(b->pair[who].s, now);
        }
    }
}

static struct bottleneck *open_bottleneck(uint32_t flows, enum trib_congestion_policy policy)
{
    struct bottleneck *b = calloc(1, sizeof *b);

    *b = (struct bottleneck){
        .flows = flows, .mark_at = 65, .room = 600, .delay_ns = 10 * US, .least = UINT32_MAX, .prng.state = 1};
    b->up.due = calloc(QUEUED, sizeof *b->up.due);
    b->down.due = calloc(QUEUED, sizeof *b->down.due);
    for (uint32_t i = 0; i < flows; i++) {
        open_pair(&b->pair[i], 2048, UINT64_MAX, policy);
    }
    return b;
}

static void close_bottleneck(struct bottleneck *b)
{
    for (uint32_t i = 0; i < b->flows; i++) {
        close_pair(&b->pair[i]);
    }
    free(b->up.due);
    free(b->down.due);
    free(b);
}

static void dctcp__keeps_a_link_busy_that_loses_one_in_a_thousand(void **state)
{
    struct bottleneck *b = open_bottleneck(1, TRIB_CONGESTION_DCTCP);

    (void)state;
    b->loss = 0.001;
    run(b, 0, 200 * MS);
    double share = (double)b->taken[0] * SERVE_NS / (200.0 * (double)MS);
    print_message("goodput at 0.1 %% loss: %.1f %% of the link; %llu sent again by order, %llu by timeout\n",
                  100 * share, (unsigned long long)b->pair[0].aside->counters.resent_order,
                  (unsigned long long)b->pair[0].aside->counters.resent_timeout);
    assert_true(share >= 0.9);
    close_bottleneck(b);
}

/* Two flows, the second of which comes later, share the link evenly. */
static void dctcp__is_fair(void **state)
{
    struct bottleneck *b = open_bottleneck(2, TRIB_CONGESTION_DCTCP);

    (void)state;
    b->flows = 1;
    run(b, 0, 5 * MS);
    b->flows = 2;
    run(b, 5 * MS, 105 * MS);
    memset(b->taken, 0, sizeof b->taken);
    run(b, 105 * MS, 505 * MS);
    double share = (double)b->taken[0] / (double)(b->taken[0] + b->taken[1]);
    print_message("share of the first of two flows: %.1f %%\n", 100 * share);
    assert_true(fabs(share - 0.5) <= 0.05); /* the rates within 10 % of the mean */
    close_bottleneck(b);
}

/* SIGCOMM'10, section 3.3: N = 1 flow, threshold K, C x RTT fragments in the pipe: the queue moves between Q_max = K +
 * N and Q_max - A, A = sqrt(2 N (C x RTT + K)) / 2. */
static void dctcp__keeps_the_queue_near_the_threshold(void **state)
{
    struct bottleneck *b = open_bottleneck(1, TRIB_CONGESTION_DCTCP);

    (void)state;
    b->delay_ns = 50 * US;
    run(b, 0, 200 * MS);
    b->is_measured = true;
    run(b, 200 * MS, 400 * MS);
    double pipe = (2.0 * (double)b->delay_ns + SERVE_NS) / SERVE_NS;
    double amplitude = 0.5 * sqrt(2 * (pipe + b->mark_at));
    double seen = (double)b->most - (double)b->least;
    print_message("queue %u to %u: amplitude %.1f, closed form %.1f\n", b->least, b->most, seen, amplitude);
    assert_in_range(b->most, b->mark_at, b->mark_at + 3);
    assert_true(fabs(seen - amplitude) <= 0.2 * amplitude);
    close_bottleneck(b);
}

/* AIMD: a mark halves the window, so the queue runs empty where DCTCP's does not. */
static void aimd__halves_where_dctcp_trims(void **state)
{
    struct bottleneck *b = open_bottleneck(1, TRIB_CONGESTION_AIMD);

    (void)state;
    b->delay_ns = 50 * US;
    run(b, 0, 200 * MS);
    b->is_measured = true;
    run(b, 200 * MS, 400 * MS);
    print_message("queue under AIMD: %u to %u\n", b->least, b->most);
    assert_int_equal(b->least, 0);
    assert_in_range(b->most, b->mark_at, b->mark_at + 3);
    assert_true(b->pair[0].aside->counters.cut_marked > 10);
    close_bottleneck(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain__does_what_labels_do),
        cmocka_unit_test(ack__answers_a_train_once),
        cmocka_unit_test(lost__fragment_is_sent_again_once_when_three_later_ones_have_come),
        cmocka_unit_test(timeout__sends_all_again_and_late_acks_call_that_off),
        cmocka_unit_test(limit__holds_back_and_is_asked_for),
        cmocka_unit_test(limit__is_asked_for_by_one_who_has_never_sent),
        cmocka_unit_test(probe__is_never_taken_for_a_fragment),
        cmocka_unit_test(settle__needs_no_ack),
        cmocka_unit_test(refuses__what_is_not_its_own_or_cannot_be),
        cmocka_unit_test(old__ack_takes_nothing_back),
        cmocka_unit_test(storms__lose_nothing_and_double_nothing),
        cmocka_unit_test(dctcp__keeps_a_link_busy_that_loses_one_in_a_thousand),
        cmocka_unit_test(dctcp__is_fair),
        cmocka_unit_test(dctcp__keeps_the_queue_near_the_threshold),
        cmocka_unit_test(aimd__halves_where_dctcp_trims),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
