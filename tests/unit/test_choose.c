/* SPDX-License-Identifier: Apache-2.0 */
/* test_choose.c: which switches a tree goes through, on networks made by hand, and on drawn ones beside a twin that
 * sends each stream by itself. Mirrors src/fabric/choose.c and fabric.c; whose trees they are is test_trees.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "fabric/choose.h"
#include "fabric/topology.h"

#define GBPS UINT64_C(1000000000)
#define SUBNETS 16
#define LINKS 128
#define PLACES 64
#define ALL 0xffU

static uint32_t choose_root(struct trib_choose *choose, uint32_t among, uint32_t turn)
{
    bool each[32];
    for (uint32_t i = 0; i < 32; i++) {
        each[i] = (among >> i & 1) != 0;
    }
    return trib_choose_root(choose, each, turn);
}

struct net {
    struct trib_topology topology;
    struct trib_subnet subnet[SUBNETS];
    struct trib_choose choose;
};

/* Subnet i is 10.0.i.0/24. */
static void begin(struct net *n, uint32_t switches, uint32_t subnets, uint32_t boxes)
{
    memset(n, 0, sizeof *n);
    for (uint32_t i = 0; i < subnets; i++) {
        n->subnet[i] = (struct trib_subnet){.at = trib_address_v4(0x0a000000U + (i << 8), 0), .bits = 24};
    }
    n->topology = (struct trib_topology){.switches = switches, .subnet_count = subnets, .subnets = n->subnet};
    assert_true(trib_fabric_init(&n->topology.fabric, switches + subnets + boxes, switches + subnets, 2 * LINKS));
}

static uint32_t subnet(const struct net *n, uint32_t i)
{
    return n->topology.switches + i;
}

static uint32_t box(const struct net *n, uint32_t i)
{
    return n->topology.fabric.ends + i;
}

static void cable(struct net *n, uint32_t a, uint32_t b, uint64_t rate_bps)
{
    (void)trib_fabric_add(&n->topology.fabric, a, b, rate_bps);
    (void)trib_fabric_add(&n->topology.fabric, b, a, rate_bps);
}

static void ready(struct net *n)
{
    assert_true(trib_fabric_ready(&n->topology.fabric));
    assert_int_equal(trib_choose_create(&n->choose, &n->topology.fabric, n->topology.switches), TRIB_OK);
}

static void end(struct net *n)
{
    trib_choose_destroy(&n->choose);
    trib_fabric_deinit(&n->topology.fabric);
}

static bool member(struct net *n, uint32_t in, uint32_t host)
{
    struct trib_address at = trib_address_v4(0x0a000000U + (in << 8) + host, 40000);
    uint32_t place = trib_topology_find(&n->topology, &at);
    trib_choose_add(&n->choose, place, TRIB_STREAM);
    return place != TRIB_NO_PLACE;
}

static void members(struct net *n, uint32_t in, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_true(member(n, in, 1 + i));
    }
}

/* ---- by hand ---- */

/* Hosts and three switches at one box: in turn, each where no tree is yet. */
static void star__each_in_turn(void **state)
{
    struct net n;
    (void)state;
    begin(&n, 3, 1, 1);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    for (uint32_t i = 0; i < 3; i++) {
        cable(&n, i, box(&n, 0), 10 * GBPS);
    }
    ready(&n);
    for (uint32_t tree = 0; tree < 6; tree++) {
        trib_choose_begin(&n.choose);
        members(&n, 0, 4);
        uint32_t root = choose_root(&n.choose, ALL, 1);
        assert_int_equal(root, (1 + tree) % 3);
        trib_choose_load(&n.choose, root);
    }
    trib_choose_begin(&n.choose);
    members(&n, 0, 4);
    assert_int_equal(choose_root(&n.choose, 5, 1), 2); /* not switch 1 */
    assert_int_equal(choose_root(&n.choose, 0, 1), TRIB_NO_PLACE);
    end(&n);
}

/* What is taken away leaves what was there, in whichever order: 3 streams over 2 ways do not divide. */
static void take__leaves_what_was_there(void **state)
{
    struct net n;
    struct trib_link_load lists[2][16];
    uint32_t counts[2];
    uint64_t before[16];
    (void)state;
    begin(&n, 2, 1, 2);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    cable(&n, subnet(&n, 0), box(&n, 1), 10 * GBPS);
    for (uint32_t i = 0; i < 2; i++) {
        cable(&n, box(&n, i), 0, 10 * GBPS);
        cable(&n, box(&n, i), 1, 10 * GBPS);
    }
    ready(&n);
    uint32_t links = n.choose.fabric->link_count;
    assert_true(links <= 16);
    for (uint32_t i = 0; i < 2; i++) {
        trib_choose_begin(&n.choose);
        trib_choose_add(&n.choose, subnet(&n, 0), 3);
        trib_choose_add(&n.choose, TRIB_NO_PLACE, 5 + i);
        counts[i] = trib_choose_list(&n.choose, i, lists[i]);
        assert_int_equal(counts[i], 2);
    }
    trib_choose_put(&n.choose, lists[0], counts[0]);
    memcpy(before, n.choose.load, links * sizeof before[0]);
    trib_choose_put(&n.choose, lists[1], counts[1]);
    trib_choose_put(&n.choose, lists[0], counts[0]);
    trib_choose_take(&n.choose, lists[0], counts[0]);
    trib_choose_take(&n.choose, lists[1], counts[1]);
    assert_memory_equal(n.choose.load, before, links * sizeof before[0]);
    trib_choose_take(&n.choose, lists[0], counts[0]);
    for (uint32_t i = 0; i < links; i++) {
        assert_int_equal(n.choose.load[i], 0);
    }
    end(&n);
}

/* Two links that have more to do than a number holds are more than one of them. */
static void strain__stays_in_range(void **state)
{
    struct net n;
    (void)state;
    begin(&n, 2, 1, 2);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    cable(&n, box(&n, 0), box(&n, 1), GBPS / 1000);
    cable(&n, box(&n, 1), 0, GBPS / 1000);
    cable(&n, box(&n, 0), 1, GBPS / 1000);
    ready(&n);
    trib_choose_begin(&n.choose);
    trib_choose_add(&n.choose, subnet(&n, 0), UINT64_C(12) << 40);
    assert_int_equal(choose_root(&n.choose, ALL, 0), 1);
    end(&n);
}

/* Two leaves, two spines, a switch at each spine. Trees of another job fill the way to spine 0. */
static void two_tiers__go_round_the_hot_link(void **state)
{
    struct net n;
    struct trib_strain cold;
    struct trib_strain hot;
    (void)state;
    begin(&n, 2, 2, 4);
    for (uint32_t leaf = 0; leaf < 2; leaf++) {
        cable(&n, subnet(&n, leaf), box(&n, leaf), 25 * GBPS);
        for (uint32_t spine = 0; spine < 2; spine++) {
            cable(&n, box(&n, leaf), box(&n, 2 + spine), 100 * GBPS);
        }
    }
    cable(&n, 0, box(&n, 2), 400 * GBPS);
    cable(&n, 1, box(&n, 3), 400 * GBPS);
    ready(&n);
    trib_choose_begin(&n.choose);
    members(&n, 1, 3);
    trib_choose_load(&n.choose, 0);
    trib_choose_begin(&n.choose);
    members(&n, 1, 2);
    assert_true(trib_choose_strain(&n.choose, 0, &hot));
    assert_true(trib_choose_strain(&n.choose, 1, &cold));
    assert_int_equal(hot.most, 5 * (uint64_t)TRIB_STREAM * 1000000 / 100000); /* leaf 1 to spine 0 */
    assert_int_equal(hot.sum, hot.most + 5 * (uint64_t)TRIB_STREAM * 1000000 / 400000);
    assert_int_equal(cold.most, 2 * (uint64_t)TRIB_STREAM * 1000000 / 100000);
    assert_int_equal(choose_root(&n.choose, ALL, 0), 1);
    trib_choose_begin(&n.choose);
    members(&n, 0, 2); /* it does not take the hot link, but the last one is shared */
    assert_int_equal(choose_root(&n.choose, ALL, 0), 1);
    end(&n);
}

/* A switch two boxes away: both ways are taken alike, and each carries half. */
static void ways__of_equal_length_share(void **state)
{
    struct net n;
    struct trib_strain strain;
    (void)state;
    begin(&n, 1, 1, 4);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    cable(&n, box(&n, 0), box(&n, 1), 10 * GBPS);
    cable(&n, box(&n, 0), box(&n, 2), 5 * GBPS);
    cable(&n, box(&n, 1), box(&n, 3), 10 * GBPS);
    cable(&n, box(&n, 2), box(&n, 3), 10 * GBPS);
    cable(&n, box(&n, 3), 0, 100 * GBPS);
    ready(&n);
    trib_choose_begin(&n.choose);
    members(&n, 0, 3);
    assert_true(trib_choose_strain(&n.choose, 0, &strain));
    assert_int_equal(strain.most, 3 * (TRIB_STREAM / 2) * UINT64_C(1000000) / 5000);
    end(&n);
}

static void rates__the_faster_link_is_as_good_as_a_free_one(void **state)
{
    static const uint32_t want[] = {1, 1, 1, 0, 1, 1};
    struct net n;
    (void)state;
    begin(&n, 2, 1, 1);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    cable(&n, 0, box(&n, 0), 10 * GBPS);
    cable(&n, 1, box(&n, 0), 31 * GBPS);
    ready(&n);
    for (uint32_t tree = 0; tree < 6; tree++) {
        trib_choose_begin(&n.choose);
        members(&n, 0, 2);
        assert_int_equal(choose_root(&n.choose, ALL, 0), want[tree]);
        trib_choose_load(&n.choose, want[tree]);
    }
    end(&n);
}

/* Of subnets that contain a host the most specific is where it is. */
static void subnets__the_longest_prefix(void **state)
{
    static const struct {
        uint32_t host, place;
    } hosts[] = {{0x0a000105, 3}, {0x0a000181, 4}, {0x0a000182, 5}, {0x0a010101, 2}, {0x0b000001, UINT32_MAX}};
    struct net n;
    (void)state;
    begin(&n, 2, 4, 0);
    n.subnet[0] = (struct trib_subnet){.at = trib_address_v4(0x0a000000, 0), .bits = 8};
    n.subnet[1] = (struct trib_subnet){.at = trib_address_v4(0x0a000100, 0), .bits = 24};
    n.subnet[2] = (struct trib_subnet){.at = trib_address_v4(0x0a000180, 0), .bits = 25};
    n.subnet[3] = (struct trib_subnet){.at = trib_address_v4(0x0a000182, 0), .bits = 32};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct trib_address host = trib_address_v4(hosts[i].host, 5);
        assert_int_equal(trib_topology_find(&n.topology, &host), hosts[i].place);
    }
    end(&n);
}

/* Networks side by side: a switch that some member cannot reach is none, and hosts and switches forward for nobody. */
static void unreachable__is_no_root(void **state)
{
    struct net n;
    struct trib_strain strain;
    (void)state;
    begin(&n, 3, 3, 2);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    cable(&n, subnet(&n, 1), box(&n, 1), 10 * GBPS);
    cable(&n, subnet(&n, 2), box(&n, 0), 10 * GBPS); /* at both, yet no way from one to the other */
    cable(&n, subnet(&n, 2), box(&n, 1), 10 * GBPS);
    cable(&n, 0, box(&n, 0), 10 * GBPS);
    cable(&n, 1, box(&n, 1), 10 * GBPS);
    cable(&n, 2, box(&n, 0), 10 * GBPS);
    cable(&n, 2, box(&n, 1), 10 * GBPS);
    ready(&n);
    trib_choose_begin(&n.choose);
    members(&n, 0, 1);
    assert_true(trib_choose_strain(&n.choose, 0, &strain));
    assert_false(trib_choose_strain(&n.choose, 1, &strain));
    trib_choose_begin(&n.choose);
    members(&n, 0, 1);
    members(&n, 1, 1);
    assert_int_equal(choose_root(&n.choose, ALL, 0), 2);
    assert_int_equal(choose_root(&n.choose, 3, 0), TRIB_NO_PLACE);
    assert_false(trib_choose_strain(&n.choose, 0, &strain));
    trib_choose_load(&n.choose, 0); /* does nothing */
    trib_choose_begin(&n.choose);
    members(&n, 2, 1);
    assert_int_equal(choose_root(&n.choose, ALL, 0), 2); /* over both its links */
    assert_true(trib_choose_strain(&n.choose, 0, &strain));
    assert_int_equal(strain.most, TRIB_STREAM * UINT64_C(1000000) / 10000);
    end(&n);
}

/* Whose place nobody knows takes the links of the switch, and no other. */
static void strays__take_the_last_link(void **state)
{
    struct net n;
    struct trib_strain strain;
    (void)state;
    begin(&n, 2, 1, 2);
    cable(&n, subnet(&n, 0), box(&n, 0), 10 * GBPS);
    cable(&n, box(&n, 0), box(&n, 1), 10 * GBPS);
    cable(&n, 0, box(&n, 1), 10 * GBPS);
    cable(&n, 1, box(&n, 0), 10 * GBPS);
    cable(&n, 1, box(&n, 1), 10 * GBPS);
    ready(&n);
    trib_choose_begin(&n.choose);
    assert_false(member(&n, 9, 1));
    assert_false(member(&n, 9, 2));
    assert_true(trib_choose_strain(&n.choose, 0, &strain));
    assert_int_equal(strain.sum, 2 * TRIB_STREAM * UINT64_C(1000000) / 10000);
    assert_true(trib_choose_strain(&n.choose, 1, &strain));
    assert_int_equal(strain.most, TRIB_STREAM * UINT64_C(1000000) / 10000);
    assert_int_equal(choose_root(&n.choose, ALL, 0), 1);
    trib_choose_begin(&n.choose); /* and are forgotten */
    members(&n, 0, 1);
    assert_true(trib_choose_strain(&n.choose, 1, &strain));
    assert_int_equal(strain.sum, TRIB_STREAM * UINT64_C(1000000) / 10000);
    end(&n);
}

/* ---- the graph ---- */

/* Links in any order, two of them side by side, and one from a place to itself: rows and opposites. */
static void fabric__rows_and_opposites(void **state)
{
    static const uint32_t ends[][2] = {{0, 2}, {3, 2}, {2, 1}, {2, 3}, {1, 2}, {2, 0}, {2, 3}, {3, 2}, {3, 3}};
    static const uint32_t opposite[] = {5, 3, 4, 1, 2, 0, 7, 6, 8};
    static const uint32_t out[] = {0, 4, 2, 3, 5, 6, 1, 7, 8};
    static const uint32_t hops[] = {0, 2, 1, 2};
    struct trib_fabric f;
    uint32_t measured[4];
    uint32_t order[4];
    (void)state;
    assert_true(trib_fabric_init(&f, 4, 2, 9));
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(trib_fabric_add(&f, ends[i][0], ends[i][1], GBPS), i);
    }
    assert_true(trib_fabric_ready(&f));
    assert_memory_equal(f.opposite, opposite, sizeof opposite);
    assert_memory_equal(f.out, out, sizeof out);
    assert_int_equal(f.first[3], 6);
    assert_int_equal(trib_fabric_find(&f, 2, 3), 3);
    assert_int_equal(trib_fabric_find(&f, 0, 1), TRIB_NO_LINK);
    assert_int_equal(trib_fabric_measure(&f, 0, measured, order), 4);
    assert_memory_equal(measured, hops, sizeof hops);
    assert_true(trib_fabric_leads(&f, measured, 0, 7));
    assert_false(trib_fabric_leads(&f, measured, 0, 8));
    assert_false(trib_fabric_leads(&f, measured, 0, 0)); /* away from it */
    f.rate_bps[0] = f.rate_bps[5] = 0;                   /* cut */
    assert_int_equal(trib_fabric_measure(&f, 0, measured, order), 1);
    assert_int_equal(measured[2], TRIB_NO_WAY);
    assert_int_equal(trib_fabric_measure(&f, 1, measured, order), 3);
    assert_false(trib_fabric_leads(&f, measured, 1, 0));
    trib_fabric_deinit(&f);
}

/* ---- drawn, beside a twin ---- */

struct twin {
    const struct net *n;
    uint32_t hops[PLACES][PLACES]; /* to a switch over boxes */
    double load[LINKS];            /* by cable */
    double own[LINKS];
};

static bool may_pass(const struct net *n, uint32_t place)
{
    return place >= box(n, 0);
}

/* Over and over, until no way becomes shorter. */
static void measure(struct twin *w)
{
    const struct trib_topology *t = &w->n->topology;
    memset(w->hops, 0x3f, sizeof w->hops);
    for (uint32_t root = 0; root < t->switches; root++) {
        bool again = true;
        w->hops[root][root] = 0;
        while (again) {
            again = false;
            for (uint32_t i = 0; i < t->fabric.link_count; i++) {
                uint32_t a = t->fabric.from[i];
                uint32_t b = t->fabric.to[i];
                if ((b == root || may_pass(w->n, b)) && w->hops[root][b] + 1 < w->hops[root][a]) {
                    w->hops[root][a] = w->hops[root][b] + 1;
                    again = true;
                }
            }
        }
    }
}

static void send_on(struct twin *w, uint32_t root, uint32_t place, double amount)
{
    const struct trib_fabric *f = &w->n->topology.fabric;
    uint32_t ways[LINKS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->link_count && place != root; i++) {
        uint32_t next = f->to[i];
        if (f->from[i] == place && (next == root || may_pass(w->n, next)) &&
            w->hops[root][next] + 1 == w->hops[root][place]) {
            ways[count++] = i;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        w->own[ways[i] / 2] += may_pass(w->n, place) ? amount / count : 0;
        send_on(w, root, f->to[ways[i]], amount / count);
    }
}

/* False: somebody cannot reach it. */
static bool strain_of(struct twin *w, uint32_t root, const uint32_t *counts, double *most, double *sum)
{
    const struct trib_topology *t = &w->n->topology;
    memset(w->own, 0, sizeof w->own);
    *most = *sum = 0;
    for (uint32_t i = 0; i < t->subnet_count; i++) {
        for (uint32_t k = 0; k < counts[i]; k++) {
            if (w->hops[root][subnet(w->n, i)] > PLACES) {
                return false;
            }
            send_on(w, root, subnet(w->n, i), TRIB_STREAM);
        }
    }
    for (uint32_t i = 0; i < t->fabric.link_count / 2; i++) {
        double time = w->own[i] > 0 ? (w->load[i] + w->own[i]) * 1e12 / (double)t->fabric.rate_bps[2 * i] : 0;
        *most = time > *most ? time : *most;
        *sum += time;
    }
    return true;
}

static void assert_near(double is, double want)
{
    if (is > want * 1.001 + 1000 || want > is * 1.001 + 1000) {
        fail_msg("%f is not near %f", is, want);
    }
}

static bool has_cable(const struct net *n, uint32_t a, uint32_t b)
{
    const struct trib_fabric *f = &n->topology.fabric;
    for (uint32_t i = 0; i < f->link_count; i++) {
        if (f->from[i] == a && f->to[i] == b) {
            return true;
        }
    }
    return a == b;
}

static void draw(struct net *n, struct trib_prng *prng)
{
    static const uint64_t rates[] = {10 * GBPS, 25 * GBPS, 100 * GBPS, 400 * GBPS};
    begin(n, 2 + (uint32_t)trib_prng_below(prng, 7), 1 + (uint32_t)trib_prng_below(prng, 6),
          1 + (uint32_t)trib_prng_below(prng, 8));
    uint32_t boxes = n->topology.fabric.places - box(n, 0);
    for (uint32_t place = 0; place < box(n, 0); place++) { /* each end at a box, some at more */
        cable(n, place, box(n, (uint32_t)trib_prng_below(prng, boxes)), rates[trib_prng_below(prng, 4)]);
    }
    for (uint32_t more = (uint32_t)trib_prng_below(prng, 40); more > 0; more--) {
        uint32_t a = (uint32_t)trib_prng_below(prng, n->topology.fabric.places);
        uint32_t b = (uint32_t)trib_prng_below(prng, n->topology.fabric.places);
        if (!has_cable(n, a, b)) {
            cable(n, a, b, rates[trib_prng_below(prng, 4)]);
        }
    }
}

/* Trees of jobs one after the other; every one goes where the twin would have it, or as well. */
static void check_trees(struct net *n, struct twin *w, struct trib_prng *prng, uint32_t *dealt)
{
    uint32_t counts[SUBNETS] = {0};
    uint32_t among = ALL;
    for (uint32_t i = 0; i < n->topology.subnet_count; i++) {
        counts[i] = (uint32_t)trib_prng_below(prng, 4);
    }
    for (uint32_t tree = 0; tree < 3; tree++) {
        double most, sum, best = -1, best_sum = 0;
        trib_choose_begin(&n->choose);
        for (uint32_t i = 0; i < n->topology.subnet_count; i++) {
            members(n, i, counts[i]);
        }
        uint32_t root = choose_root(&n->choose, among, (uint32_t)trib_prng_below(prng, 1000));
        for (uint32_t i = 0; i < n->topology.switches; i++) {
            struct trib_strain strain;
            bool reaches = strain_of(w, i, counts, &most, &sum);
            assert_int_equal(trib_choose_strain(&n->choose, i, &strain), reaches);
            if (reaches) {
                assert_near((double)strain.most, most);
                assert_near((double)strain.sum, sum);
            }
            if (reaches && (among >> i & 1) != 0 && (best < 0 || most < best || (most <= best && sum < best_sum))) {
                best = most;
                best_sum = sum;
            }
        }
        assert_int_equal(root == TRIB_NO_PLACE, best < 0);
        if (root == TRIB_NO_PLACE) {
            return;
        }
        assert_true((among >> root & 1) != 0); /* another one than all before */
        assert_true(strain_of(w, root, counts, &most, &sum));
        assert_near(most, best);
        for (uint32_t i = 0; i < LINKS; i++) {
            w->load[i] += w->own[i];
        }
        trib_choose_load(&n->choose, root);
        among &= ~(1U << root);
        ++*dealt;
    }
}

static void drawn__as_the_twin(void **state)
{
    uint32_t dealt = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct trib_prng prng = {seed};
        struct net n;
        draw(&n, &prng);
        ready(&n);
        struct twin w = {.n = &n};
        measure(&w);
        for (uint32_t job = 0; job < 4; job++) {
            check_trees(&n, &w, &prng, &dealt);
        }
        end(&n);
    }
    assert_true(dealt > 500); /* that there were trees at all */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(star__each_in_turn),
        cmocka_unit_test(take__leaves_what_was_there),
        cmocka_unit_test(strain__stays_in_range),
        cmocka_unit_test(two_tiers__go_round_the_hot_link),
        cmocka_unit_test(ways__of_equal_length_share),
        cmocka_unit_test(rates__the_faster_link_is_as_good_as_a_free_one),
        cmocka_unit_test(subnets__the_longest_prefix),
        cmocka_unit_test(unreachable__is_no_root),
        cmocka_unit_test(strays__take_the_last_link),
        cmocka_unit_test(fabric__rows_and_opposites),
        cmocka_unit_test(drawn__as_the_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
