/* SPDX-License-Identifier: Apache-2.0 */
/* test_trees.c: jobs dealt over some of several switches: the choice, and that it is kept (src/control/roots/trees.c).
 * See also: test_trees_faults.c (lenders that take no part), test_choose.c (loads of links). */
#include "control/jobs/admission.h"
#include "control/jobs/check.h"
#include "control/jobs/placements.h"
#include "fabric/topology.h"
#include "some_harness.h"

/* ---- which ---- */

/* Root t at the t mod n-th of the chosen ones; nobody else is asked. */
static void two_of_four__and_the_others_know_nothing(void **state)
{
    static const char *const places[] = {"10.0.0.1:7470", "10.0.0.101:7480", "10.0.0.1:7471", "10.0.0.101:7481"};
    static const uint8_t switches[TRIB_SWITCHES_MAX] = {1, 2};
    struct switches *s = *state;
    run_ranks(s, 2);
    const struct trib_message *welcome = &s->h.process[0].welcome;
    assert_int_equal(welcome->welcome.root_count, 4);
    assert_memory_equal(welcome->welcome.grant.switches, switches, sizeof switches);
    for (uint32_t t = 0; t < 4; t++) {
        assert_address(&welcome->welcome.root[t], places[t]);
    }
    assert_int_equal(opened_elsewhere(s), 2);
    assert_int_equal(s->fake.opens, 2);
    assert_int_equal(s->lender[0].fake.opens, 2);
    s->lender[1].is_away = s->lender[2].is_away = true;
    run_links(s);
    assert_int_equal(s->h.jobs.stats.recalled, 0);
    assert_int_equal(s->h.process[0].readies, 1);
}

/* Jobs that are there load links; those that are gone do not. */
static void load__of_the_jobs_that_are_there(void **state)
{
    struct switches *s = *state;
    join_two(s, "one", 0, 0);
    join_two(s, "two", 2, 2);
    s->h.jobs.turn = 0;
    join_two(s, "three", 4, 4);
    assert_trees(s, 0, "AB");
    assert_trees(s, 2, "CD");
    assert_trees(s, 4, "AB");
    end_two(s, 0);
    end_two(s, 4);
    s->h.jobs.turn = 0;
    join_two(s, "four", 6, 6);
    assert_trees(s, 6, "AB");
    end_two(s, 2);
    join_two(s, "five", 8, 8);
    assert_trees(s, 8, "CD");
}

/* The sums of loads, and the table of processes, are those of a recount: while jobs begin, share processes, lose a switch,
 * return, and end. */
static void load__is_that_of_a_recount(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = s->lender[0].fake.has_belows = true;
    for (uint32_t i = 0; i < 2; i++) { /* one child, until it is recalled */
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, "behind");
        s->h.process[10 + i].session.peer = trib_address_v4(0x0a000301, (uint16_t)(50000 + i));
        come_below(s, 10 + i, 4);
        assert_true(say(&s->h, 10 + i, &join));
    }
    run_links(s);
    assert_trees(s, 10, "AB");
    join_two(s, "one", 0, 0);
    trib_jobs_check(&s->h.jobs);
    join_two(s, "two", 2, 2);
    join_two(s, "three", 4, 0);
    assert_non_null(s->h.jobs.loads);
    trib_jobs_check(&s->h.jobs);
    s->lender[0].is_away = true;
    run_links(s);
    s->lender[0].is_away = false;
    assert_int_equal(s->h.jobs.stats.recalled, 2); /* behind, and two */
    trib_jobs_check(&s->h.jobs);
    join_two(s, "four", 6, 6);
    trib_jobs_check(&s->h.jobs);
    end_two(s, 2);
    trib_jobs_check(&s->h.jobs);
    end_two(s, 6);
    join_two(s, "five", 8, 8);
    trib_jobs_check(&s->h.jobs);
}

/* With nothing else to go by they begin with another one each time, also if nothing comes of it. */
static void turn__not_all_with_the_same(void **state)
{
    static const char *const want[] = {"AB", "BC", "CD", "DA"};
    struct switches *s = *state;
    for (uint32_t i = 0; i < 4; i++) {
        join_two(s, "one", 0, 0);
        assert_trees(s, 0, want[i]);
        end_two(s, 0);
    }
}

/* A lender that says weight 3 takes three times as much before it has as much to do. */
static void weight__is_the_rate_where_nothing_is_said(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->lender[1].config.weight = 3;
    s->h.jobs.turn = 2;
    join_two(s, "one", 0, 0); /* C has not said it yet */
    assert_trees(s, 0, "C");
    s->h.jobs.turn = 2;
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "C");
    s->h.jobs.turn = 2;
    join_two(s, "three", 4, 4);
    assert_trees(s, 4, "C");
    join_two(s, "four", 6, 6);
    assert_trees(s, 6, "D");
}

/* A tree loads its links with what its switch has of the tensors. */
static void weight__is_the_part_of_the_tensor(void **state)
{
    struct switches *s = *state;
    s->lender[0].config.weight = 3;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "AB");
    s->h.jobs.turn = 2;
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "BC"); /* B has three quarters of the first, and three times the rate */
}

/* Ranks of a host, and ranks at a switch below, are one stream. */
static void members__are_counted_once(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->fake.has_belows = true;
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message join = join_of(i, 4);
        strcpy(join.join.job, "below");
        s->h.process[i].session.peer = trib_address_v4(0x0a000301, (uint16_t)(50000 + i));
        come_below(s, i, 2);
        assert_true(say(&s->h, i, &join));
    }
    s->h.jobs.turn = 1;
    join_two(s, "two", 4, 4);
    s->h.jobs.turn = 2;
    join_two(s, "three", 6, 6);
    s->h.jobs.turn = 3;
    join_two(s, "four", 8, 8);
    assert_trees(s, 8, "D");
    join_two(s, "five", 10, 10);
    assert_trees(s, 10, "A"); /* where one stream goes, and not four */
}

/* A job without a root at the switch that its ranks join: it is asked for nothing. */
static void none_here__all_of_it_is_elsewhere(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->h.jobs.turn = 2;
    run_ranks(s, 3);
    assert_trees(s, 0, "C");
    assert_int_equal(s->fake.opens, 0);
    assert_int_equal(s->fake.joins, 0);
    assert_int_equal(s->h.jobs.agent.memory_used, 0);
    assert_int_equal(s->h.process[0].welcome.welcome.root_count, 2);
    s->lender[1].fake.missing[0] = 2;
    s->lender[1].fake.missing_count = 1;
    assert_true(say_stall(&s->h, 0, 0, 1000));
    run_links(s);
    assert_int_equal(s->h.process[0].missing.stall.missing.rank[0], 2);
    struct trib_plane_report report = {.slots_held = 7};
    assert_false(trib_placements_report(&s->h.jobs, s->h.process[0].session.job, &report));
    assert_int_equal(report.slots_held, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(say_mark(&s->h, i, TRIB_MESSAGE_CLOSE, 7));
    }
    run_links(s);
    assert_int_equal(s->h.jobs.count, 0);
    assert_int_equal(s->fake.closes, 0);
    assert_int_equal(s->lender[1].fake.closes, 1);
}

/* What one job has on its way to A and B does not narrow one at C and D, but one at A. */
static void window__beside_jobs_of_the_same_switch_only(void **state)
{
    uint32_t packet = 1408 + TRIB_HEADER_SIZE;
    struct switches *s = *state;
    s->h.config.receive_room = 1U << 18;
    for (uint32_t i = 0; i < LENDERS; i++) {
        s->lender[i].config.receive_room = 1U << 18;
    }
    join_two(s, "one", 0, 0);
    join_two(s, "two", 2, 2);
    join_two(s, "three", 4, 4);
    assert_int_equal(s->h.process[0].welcome.welcome.grant.window, (1U << 18) / packet / 2);
    assert_int_equal(s->h.process[2].welcome.welcome.grant.window, (1U << 18) / packet / 2);
    assert_int_equal(s->h.process[4].welcome.welcome.grant.window, (1U << 18) / 4 / packet / 2);
    assert_int_equal(trib_admission_room(&s->h.jobs, NULL), (1U << 18) / 4); /* of A, for others */
    end_two(s, 4);
    end_two(s, 0);
    assert_int_equal(trib_admission_room(&s->h.jobs, NULL), 1U << 18);
}

/* What the sockets here hold, and what they are promised to others, is nothing to a job without a root here. */
static void window__of_a_job_that_is_elsewhere(void **state)
{
    struct switches *s = *state;
    struct trib_master master = {.name = "10.0.7.7:7470"};
    struct trib_lending promised = {.master = &master, .flight_bytes = 1U << 30};
    uint32_t packet = 1408 + TRIB_HEADER_SIZE;
    s->h.config.trees = 1;
    s->h.config.receive_room = 1U << 16;
    s->lender[1].config.receive_room = 1U << 18;
    s->h.jobs.masters.lendings = s->h.jobs.masters.by_communicator[0] = &promised;
    s->h.jobs.turn = 2;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "C");
    assert_int_equal(s->h.process[0].welcome.welcome.grant.window, (1U << 18) / packet / 2);
    s->h.jobs.turn = 0;
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "A");
    assert_int_equal(s->h.process[2].welcome.welcome.grant.window, (1U << 16) / 4 / packet / 2);
    s->h.jobs.masters.lendings = s->h.jobs.masters.by_communicator[0] = NULL;
}

/* A train of what fits a call is for each link a part, of two and not of four. */
static void train__is_divided_by_the_trees(void **state)
{
    struct switches *s = *state;
    join_two(s, "one", 0, 0);
    assert_int_equal(s->h.process[0].welcome.welcome.grant.train, (65507 / (1408 + TRIB_HEADER_SIZE) + 1) / 2);
}

/* A switch below of one shard carries one root: the second tree is given up. */
static void below__of_one_shard(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = s->lender[2].fake.has_belows = true;
    s->h.jobs.turn = 3;
    join_one_below(s);
    assert_int_equal(s->h.process[0].welcome.welcome.root_count, 1);
    assert_trees(s, 0, "DA");
    assert_non_null(s->lender[2].jobs.masters.lendings);
    char list[256];
    assert_string_equal(trib_trees_list(&s->h.jobs, s->h.process[0].session.job, list, sizeof list), "10.0.0.103:7480");
    register_ranks(s, 2, 0);
    assert_int_equal(s->h.process[0].readies, 1);
    assert_int_equal(s->fake.opens, 0);
}

/* Where it listens at all addresses nobody would find it by that. */
static void name__of_this_one(void **state)
{
    struct switches *s = *state;
    char name[64];
    assert_string_equal(trib_trees_name(&s->h.jobs, 0, name), "10.0.0.1:7470");
    assert_string_equal(trib_trees_name(&s->h.jobs, 1, name), "10.0.0.101:7480");
    s->h.config.listen = trib_address_v4(0, 7470);
    assert_string_equal(trib_trees_name(&s->h.jobs, 0, name), "this switch");
}

static void more_than_there_are__is_all(void **state)
{
    static const uint8_t none[TRIB_SWITCHES_MAX] = {0};
    struct switches *s = *state;
    s->h.config.trees = 4;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "ABCD");
    assert_memory_equal(s->h.process[0].welcome.welcome.grant.switches, none, sizeof none);
    assert_int_equal(s->links, 3);
}

/* ---- by a topology ---- */

struct cable {
    uint32_t ends[2];
    uint64_t rate_bps;
};

static struct trib_topology topology; /* of the test */

/* Four switches, hosts 10.0.2.0/24 and 10.0.3.0/24, and two boxes. */
static void lay(struct switches *s, const struct cable *cables, uint32_t count)
{
    static struct trib_subnet subnets[2];
    subnets[0] = (struct trib_subnet){.at = trib_address_v4(0x0a000200, 0), .bits = 24};
    subnets[1] = (struct trib_subnet){.at = trib_address_v4(0x0a000300, 0), .bits = 24};
    topology = (struct trib_topology){.switches = 4, .subnet_count = 2, .subnets = subnets};
    assert_true(trib_fabric_init(&topology.fabric, 8, 6, 2 * count));
    for (uint32_t i = 0; i < 2 * count; i++) {
        const struct cable *cable = &cables[i / 2];
        (void)trib_fabric_add(&topology.fabric, cable->ends[i % 2], cable->ends[1 - i % 2], cable->rate_bps);
    }
    assert_true(trib_fabric_ready(&topology.fabric));
    s->h.config.topology = &topology;
}

static int stop_and_free(void **state)
{
    int result = stop(state);
    trib_fabric_deinit(&topology.fabric);
    return result;
}

/* The first hosts at one box with A and B, the others at another with C; D is at both, unless fewer cables are asked
 * for. */
static void lay_two_sides(struct switches *s, uint32_t count)
{
    static const struct cable cables[] = {{{4, 6}, 10000000000}, {{5, 7}, 10000000000}, {{0, 6}, 10000000000},
                                          {{1, 6}, 10000000000}, {{2, 7}, 10000000000}, {{3, 6}, 10000000000},
                                          {{3, 7}, 10000000000}};
    lay(s, cables, count);
}

static void topology__those_that_all_can_reach(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 7);
    s->h.config.trees = 3;
    join_two(s, "left", 0, 0);
    assert_trees(s, 0, "ABD");
    join_two(s, "right", 2, 0x100);
    assert_trees(s, 2, "CD"); /* fewer than are wanted */
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, "both");
        join.join.data_port[0] = (uint16_t)(21000 + i);
        s->h.process[4 + i].session.peer = trib_address_v4(0x0a000207 + 256 * i, 50010);
        assert_true(say(&s->h, 4 + i, &join));
    }
    run_links(s);
    assert_trees(s, 4, "D");
}

static void topology__none_that_all_can_reach(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 6);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = join_of(i, 2);
        s->h.process[i].session.peer = trib_address_v4(0x0a000207 + 256 * i, 50010);
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    expect_failed(&s->h, 1, TRIB_ERR_REFUSED, "no switch can be reached by all ranks of job digits, says the topology");
    assert_int_equal(opened_elsewhere(s), 0);
}

/* Two cards, each on a network of its own: the k-th tree is one that the k-th card reaches. */
static void topology__each_card_has_its_tree(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 5);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_of(i, 2);
        join.join.address_count = 2;
        join.join.address[0] = trib_address_v4(0x0a000301 + i, 0);
        join.join.address[1] = trib_address_v4(0x0a000201 + i, 0);
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    assert_trees(s, 0, "CA");
}

/* A host of two cards, at the networks of C and of A and B; D is at both. */
static void join_cards(struct switches *s, const char *name, uint32_t session)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, name);
        join.join.data_port[0] = (uint16_t)(20000 + session + i);
        join.join.address_count = 2;
        join.join.address[0] = trib_address_v4(0x0a000301 + session + i, 0);
        join.join.address[1] = trib_address_v4(0x0a000201 + session + i, 0);
        assert_true(say(&s->h, session + i, &join));
    }
    run_links(s);
}

/* Root t is at switch t mod n, and gets what leaves by card t mod 2: with an odd n both cards send to each switch. */
static void topology__each_card_that_sends_there(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 7);
    s->h.config.trees = 1;
    join_cards(s, "one", 0);
    assert_trees(s, 0, "D");
    s->h.config.trees = 3;
    s->h.jobs.turn = 0;
    join_cards(s, "three", 2);
    assert_trees(s, 2, "DAC"); /* none is left that both reach: as far as there is one shard it will do */
}

/* A has a link to each network, and a stream of this job comes by each; D, at one of them, gets half. */
static void topology__loads_by_card(void **state)
{
    static const struct cable cables[] = {{{4, 6}, 10000000000}, {{5, 7}, 10000000000}, {{0, 6}, 10000000000},
                                          {{0, 7}, 10000000000}, {{1, 6}, 10000000000}, {{2, 7}, 10000000000},
                                          {{3, 7}, 10000000000}};
    struct switches *s = *state;
    lay(s, cables, 7);
    s->h.config.trees = 1;
    join_cards(s, "both", 0);
    assert_trees(s, 0, "A");
    s->h.jobs.turn = 0;
    join_two(s, "left", 2, 8);
    assert_trees(s, 2, "B");
    s->h.jobs.turn = 1;
    join_two(s, "second", 4, 10); /* A's link there has half of what B's has */
    assert_trees(s, 4, "A");
}

/* Of a job with one root only the first card sends. */
static void topology__loads_of_one_shard(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 7);
    s->h.config.trees = 1;
    s->lender[2].config.shards = s->lender[2].jobs.agent.shards = 1;
    s->lender[2].config.weight = 1;
    join_cards(s, "both", 0);
    assert_trees(s, 0, "D");
    assert_int_equal(s->h.process[0].welcome.welcome.root_count, 1);
    s->h.jobs.turn = 3;
    join_two(s, "left", 2, 8); /* by D's other link */
    assert_trees(s, 2, "D");
}

/* Where no card has a switch in common: what one shard at each needs. */
static void topology__cards_side_by_side(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 5);
    s->h.config.trees = 1;
    join_cards(s, "one", 0);
    assert_trees(s, 0, "C");
}

/* A, B and D are behind one link, C behind a slower one: a second tree goes where the job's first one is not. */
static void topology__its_own_trees_are_loads(void **state)
{
    static const struct cable cables[] = {{{4, 6}, 10000000000}, {{6, 7}, 10000000000}, {{0, 7}, 40000000000},
                                          {{1, 7}, 40000000000}, {{3, 7}, 40000000000}, {{5, 6}, 10000000000},
                                          {{2, 6}, 6000000000}};
    struct switches *s = *state;
    lay(s, cables, 7);
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "AC");
}

/* Without a subnet: the job is dealt all the same. */
static void topology__hosts_that_are_nowhere(void **state)
{
    struct switches *s = *state;
    lay_two_sides(s, 7);
    join_two(s, "elsewhere", 0, 0x1000);
    assert_trees(s, 0, "DA"); /* D has two links, each with half of it */
}

/* ---- kept ---- */

static void kept__through_the_loss_of_a_lender(void **state)
{
    struct switches *s = *state;
    s->h.jobs.turn = 1;
    run_ranks(s, 2);
    assert_trees(s, 0, "BC");
    s->lender[0].is_away = true;
    run_links(s);
    assert_int_equal(s->h.jobs.stats.recalled, 1);
    s->lender[0].is_away = false;
    return_ranks(s, 2);
    assert_trees(s, 0, "BC");
    assert_int_equal(s->h.process[0].welcomes, 2);
    register_ranks(s, 2, 12);
    assert_int_equal(s->h.process[0].readies, 2);
    assert_int_equal(s->lender[0].fake.boot, BOOT + 1);
}

/* It waits for its own, though others are there. */
static void kept__while_it_is_away(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    s->lender[0].is_away = true;
    run_links(s);
    return_ranks(s, 2);
    for (unsigned i = 0; i < 5 && !s->h.process[0].has_ended; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    const struct process *p = &s->h.process[0];
    assert_int_equal(p->inbox[p->arrived - 1].kind, TRIB_MESSAGE_AWAY);
    assert_null(s->lender[1].jobs.masters.lendings);
    assert_null(s->lender[2].jobs.masters.lendings);
    s->lender[0].is_away = false;
    return_ranks(s, 2);
    assert_trees(s, 0, "AB");
}

/* A new control plane, which knows of the job what its ranks bring along. */
static void kept__through_a_restart(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = return_of(s, i, "\4\2");
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    assert_trees(s, 0, "DB");
    assert_int_equal(s->fake.opens, 0);
    assert_address(&s->h.process[0].welcome.welcome.root[0], "10.0.0.103:7480");
    assert_address(&s->h.process[0].welcome.welcome.root[3], "10.0.0.101:7481");
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "AC"); /* and it is a load as any */
}

/* Who is waited for is one of its own. */
static void return__a_lender_says_nothing(void **state)
{
    struct switches *s = *state;
    s->lender[2].is_mute = true;
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = return_of(s, i, "\4\1");
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    tick(s, 6 * TRIB_SECOND_NS);
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, "waited 6 s for switch 10.0.0.103:7480 to lend its shards to job digits");
}

static void return__what_cannot_be(void **state)
{
    static const struct {
        const char *switches;
        enum trib_status status;
        const char *text;
    } wrong[] = {
        {"\1\5", TRIB_ERR_REFUSED,
         "has roots at number 4 of the switches that this one named with --with, and now names 3"},
        {"\2\2", TRIB_ERR_INVALID, "brings an invalid grant"},
        {"\2\x80", TRIB_ERR_REFUSED, "number 127 of the switches that this one named with --with, and now names 3"},
        {"\2\x81", TRIB_ERR_INVALID, "brings an invalid grant"},
        {"\xff", TRIB_ERR_INVALID, "brings an invalid grant"},
    };
    struct switches *s = *state;
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct trib_message join = return_of(s, 0, wrong[i].switches);
        assert_true(say(&s->h, i, &join));
        pump(&s->h);
        expect_failed(&s->h, i, wrong[i].status, wrong[i].text);
    }
    struct trib_message hole = return_of(s, 0, "\2");
    hole.join.known.switches[2] = 1;
    assert_true(say(&s->h, 5, &hole));
    pump(&s->h);
    expect_failed(&s->h, 5, TRIB_ERR_INVALID, "brings an invalid grant");
    struct trib_message other = return_of(s, 1, "\4\2"); /* two ranks, each with its own */
    struct trib_message first = return_of(s, 0, "\2\4");
    assert_true(say(&s->h, 6, &first));
    assert_true(say(&s->h, 7, &other));
    pump(&s->h);
    expect_failed(&s->h, 7, TRIB_ERR_REFUSED, "brings another grant than the other ranks of job digits");
    assert_int_equal(s->links, 0);
}

/* A grant is what comes with its communicator: of a new rank nothing is taken over. */
static void join__of_a_new_rank_names_none(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = return_of(s, i, "\x80\7");
        join.join.known.communicator = 0;
        join.join.was_ready = false;
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    assert_trees(s, 0, "ABCD");
}

/* ---- one process, several jobs ---- */

static void process__has_the_same_for_all_its_jobs(void **state)
{
    struct switches *s = *state;
    join_two(s, "one", 0, 0);
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "CD");
    join_two(s, "child", 4, 3); /* of a process of the second, and another one */
    assert_trees(s, 4, "CD");
    end_two(s, 2);
    join_two(s, "grandchild", 6, 4); /* which is bound by now as well */
    assert_trees(s, 6, "CD");
}

static void process__of_two_jobs_that_differ(void **state)
{
    struct switches *s = *state;
    join_two(s, "one", 0, 0);
    join_two(s, "two", 2, 2);
    join_two(s, "across", 4, 1); /* processes 1 and 2 */
    assert_int_equal(s->h.process[4].welcomes, 0);
    expect_failed(&s->h, 4, TRIB_ERR_REFUSED,
                  "job across has ranks in processes that job two has bound to 10.0.0.102:7480 and 10.0.0.103:7480, "
                  "and has ranks in processes that job one has bound to 10.0.0.1:7470 and 10.0.0.101:7480");
    expect_failed(&s->h, 5, TRIB_ERR_REFUSED, "end one job, or create the communicator of all ranks first and split");
    end_two(s, 0);
    end_two(s, 4);
    join_two(s, "across", 4, 1);
    assert_trees(s, 4, "CD");
}

/* Another process of the same machine, or the same port elsewhere, is another one; and so is a switch below. */
static void process__is_address_and_port(void **state)
{
    struct switches *s = *state;
    join_two(s, "one", 0, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, "beside");
        join.join.data_port[0] = (uint16_t)(20001 - i);
        s->h.process[2 + i].session.peer = trib_address_v4(0x0a000201 + i, 51000);
        assert_true(say(&s->h, 2 + i, &join));
    }
    run_links(s);
    assert_trees(s, 2, "CD");
    s->h.jobs.turn = 2;
    for (uint32_t i = 0; i < 2; i++) { /* by its first card, if it names some */
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, "cards");
        join.join.address_count = 1;
        join.join.address[0] = trib_address_v4(0x0a000401 + i, 0);
        s->h.process[4 + i].session.peer = trib_address_v4(0x0a000201 + i, 51001);
        assert_true(say(&s->h, 4 + i, &join));
    }
    run_links(s);
    assert_trees(s, 4, "CD");
}

static void join_below(struct switches *s, const char *name, uint32_t session)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, name);
        s->h.process[session + i].session.peer = trib_address_v4(0x0a000301, (uint16_t)(50000 + session));
        come_below(s, session + i, 4);
        assert_true(say(&s->h, session + i, &join));
    }
    run_links(s);
}

/* Jobs at one switch below: a rank's sockets are no part of the loads here. */
static void process__at_a_switch_below_is_free(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = true;
    for (uint32_t i = 0; i < LENDERS; i++) {
        s->lender[i].fake.has_belows = true;
    }
    join_below(s, "one", 0);
    join_below(s, "two", 2);
    assert_trees(s, 0, "AB");
    assert_trees(s, 2, "CD");
    for (uint32_t i = 0; i < 2; i++) { /* even if it comes from where that one is */
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, "direct");
        join.join.data_port[0] = (uint16_t)(7470 + i);
        s->h.process[4 + i].session.peer = trib_address_v4(0x0a000904, 50010);
        assert_true(say(&s->h, 4 + i, &join));
    }
    run_links(s);
    assert_trees(s, 4, "CD");
    join_below(s, "three", 6);
    assert_trees(s, 6, "AB");
}

/* While a job's ranks are on their way back its processes are still bound. */
static void process__of_a_job_that_is_recalled(void **state)
{
    struct switches *s = *state;
    s->h.jobs.turn = 1;
    run_ranks(s, 2);
    s->lender[0].is_away = true;
    run_links(s);
    assert_int_equal(s->h.jobs.stats.recalled, 1);
    s->lender[0].is_away = false;
    s->h.now_ns += 100 * TRIB_MILLISECOND_NS;
    join_two(s, "child", 4, 0);
    assert_trees(s, 4, "BC");
    return_ranks(s, 2);
    assert_trees(s, 0, "BC");
}

/* Without --trees, at a switch that had it: jobs that are from then bind their processes, and nobody else. */
static void process__of_a_job_from_before(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 0;
    join_two(s, "first", 8, 8);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = return_of(s, i, "\3\4");
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    assert_trees(s, 0, "CD");
    join_two(s, "child", 4, 0);
    assert_trees(s, 4, "CD");
    join_two(s, "stranger", 6, 6);
    assert_trees(s, 6, "ABCD");
}

/* Its rank is back in another process, which is bound to others. */
static void process__is_another_one_after_a_return(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    assert_trees(s, 0, "AB");
    join_two(s, "other", 4, 4);
    assert_trees(s, 4, "CD");
    s->lender[0].is_away = true;
    run_links(s);
    s->lender[0].is_away = false;
    go(&s->h, 1);
    s->h.process[1].session.peer = s->h.process[4].session.peer;
    for (uint32_t i = 0; i < 2; i++) {
        struct process *p = &s->h.process[i];
        struct trib_message join = join_of(i, 2);
        join.join.known = p->welcome.welcome.grant;
        join.join.data_port[0] = (uint16_t)(i == 1 ? 20004 : 20000);
        p->has_ended = false;
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "that job other has bound to 10.0.0.102:7480 and 10.0.0.103:7480");
}

/* A process that made another communicator before its first one was back: not both can be. */
static void process__of_a_job_that_returns_too_late(void **state)
{
    struct switches *s = *state;
    join_two(s, "quick", 4, 0);
    assert_trees(s, 4, "AB");
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = return_of(s, i, "\3\4");
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED,
                  "job digits goes through 10.0.0.102:7480 and 10.0.0.103:7480, and has ranks in processes that job "
                  "quick has bound to 10.0.0.1:7470 and 10.0.0.101:7480");
    assert_trees(s, 4, "AB");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_two, stop_and_free)
    const struct CMUnitTest tests[] = {
        TEST(two_of_four__and_the_others_know_nothing),
        TEST(load__of_the_jobs_that_are_there),
        TEST(load__is_that_of_a_recount),
        TEST(turn__not_all_with_the_same),
        TEST(weight__is_the_rate_where_nothing_is_said),
        TEST(weight__is_the_part_of_the_tensor),
        TEST(members__are_counted_once),
        TEST(none_here__all_of_it_is_elsewhere),
        TEST(window__beside_jobs_of_the_same_switch_only),
        TEST(window__of_a_job_that_is_elsewhere),
        TEST(train__is_divided_by_the_trees),
        TEST(below__of_one_shard),
        TEST(name__of_this_one),
        TEST(more_than_there_are__is_all),
        TEST(topology__those_that_all_can_reach),
        TEST(topology__none_that_all_can_reach),
        TEST(topology__each_card_has_its_tree),
        TEST(topology__each_card_that_sends_there),
        TEST(topology__loads_by_card),
        TEST(topology__loads_of_one_shard),
        TEST(topology__cards_side_by_side),
        TEST(topology__its_own_trees_are_loads),
        TEST(topology__hosts_that_are_nowhere),
        TEST(kept__through_the_loss_of_a_lender),
        TEST(kept__while_it_is_away),
        TEST(kept__through_a_restart),
        TEST(return__a_lender_says_nothing),
        TEST(return__what_cannot_be),
        TEST(join__of_a_new_rank_names_none),
        TEST(process__has_the_same_for_all_its_jobs),
        TEST(process__of_two_jobs_that_differ),
        TEST(process__is_address_and_port),
        TEST(process__at_a_switch_below_is_free),
        TEST(process__of_a_job_that_is_recalled),
        TEST(process__of_a_job_from_before),
        TEST(process__is_another_one_after_a_return),
        TEST(process__of_a_job_that_returns_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
