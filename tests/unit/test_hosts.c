/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosts.c: level 0 at the control plane: which ranks are one member of the sums, and what is told of it. Real TCP,
 * a data plane that only records (control_harness.h). */
#include "control/jobs/state.h"

#include "leaf.h"

#define VIA UINT64_C(0xa1a2a3a4a5a6a7a8)

static struct leaf leaf; /* fd 0: it is not there */

struct rank_plan {
    uint64_t host;
    bool is_alone; /* does not want level 0 */
    uint64_t via;
};

static struct trib_message join_as(uint32_t rank, uint32_t ranks, const struct rank_plan *plan)
{
    struct trib_message message = join_message(rank, ranks);
    message.join.host = plan->host;
    message.join.level0 = !plan->is_alone;
    return message;
}

static void join_all(struct control *c, uint32_t ranks, const struct rank_plan *plans, int *fds)
{
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_message message = join_as(i, ranks, &plans[i]);
        if (plans[i].via != 0 && leaf.fd == 0) {
            leaf_start(&leaf, c->port, VIA);
        }
        char peer[32];
        (void)snprintf(peer, sizeof peer, "10.0.0.%u:2%04u", i + 1, i);
        fds[i] = plans[i].via != 0 ? leaf_join(&leaf, &message, peer) : join_with(c, &message);
    }
}

/* leaders: as a bitmap of ranks. */
static struct trib_grant expect_hosts(uint32_t ranks, const int *fds, uint32_t hosts, uint64_t leaders)
{
    struct trib_grant grant = {0};
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_message welcome = expect(fds[i], TRIB_MESSAGE_WELCOME);
        assert_int_equal(welcome.welcome.hosts, hosts);
        assert_int_equal(welcome.welcome.leaders.word[0], leaders);
        assert_int_equal(welcome.welcome.generation_ranks, ranks);
        grant = welcome.welcome.grant;
    }
    return grant;
}

static void bring_to_ready(uint32_t ranks, const int *fds)
{
    for (uint32_t i = 0; i < ranks; i++) {
        send_paths(fds[i], true, false);
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_READY);
    }
}

static void join__ranks_of_a_host_are_one_member(void **state)
{
    struct control *c = *state;
    const struct rank_plan plans[6] = {{.host = 7}, {.host = 7}, {.host = 7}, {.host = 9}, {.host = 3}, {.host = 3}};
    int fds[6];
    control_start(c);
    join_all(c, 6, plans, fds);
    (void)expect_hosts(6, fds, 3, 0x19);
    assert_int_equal(c->recorder.session.ranks, 3);
    assert_int_equal(c->recorder.ranks, 6);
    assert_int_equal(c->recorder.children, 3);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(c->recorder.behind[i], i < 3 ? 3 : i == 3 ? 1 : 2);
        assert_false(c->recorder.is_switch[i]);
        uint32_t leader = i < 3 ? 0 : i == 3 ? 3 : 4;
        assert_int_equal(trib_address_port(&c->recorder.addresses[i][0]), 20000 + leader);
    }
    bring_to_ready(6, fds);
    close_all(fds, 6);
}

/* Where one rank does not want it, does not know its host, or a host's ranks are no run, and where each host has one
 * rank. */
static void join__else_every_rank_is_a_member(void **state)
{
    struct control *c = *state;
    const struct rank_plan rows[][4] = {
        {{.host = 7}, {.host = 7, .is_alone = true}, {.host = 9}, {.host = 9}},
        {{.host = 7}, {.host = 7}, {.host = 0}, {.host = 0}},
        {{.host = 7}, {.host = 9}, {.host = 7}, {.host = 9}},
        {{.host = 1}, {.host = 2}, {.host = 3}, {.host = 4}},
    };
    control_start(c);
    for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        int fds[4];
        join_all(c, 4, rows[row], fds);
        (void)expect_hosts(4, fds, 0, 0);
        assert_int_equal(c->recorder.session.ranks, 4);
        assert_int_equal(c->recorder.children, 4);
        close_all(fds, 4);
        wait_until(c, &c->recorder.closes, row + 1);
    }
}

static void join__all_on_one_host_are_one_member(void **state)
{
    struct control *c = *state;
    const struct rank_plan plans[2] = {{.host = 7}, {.host = 7}};
    int fds[2];
    control_start(c);
    join_all(c, 2, plans, fds);
    (void)expect_hosts(2, fds, 1, 1);
    assert_int_equal(c->recorder.session.ranks, 1);
    close_all(fds, 2);
}

/* At the root a switch below is one child, whoever is behind it; there its hosts are children. */
static void join__hosts_at_a_switch_below(void **state)
{
    struct control *c = *state;
    const struct rank_plan plans[5] = {
        {.host = 7}, {.host = 7}, {.host = 9, .via = VIA}, {.host = 9, .via = VIA}, {.host = 11, .via = VIA}};
    int fds[5];
    control_start(c);
    join_all(c, 5, plans, fds);
    for (uint32_t i = 0; i < 5; i++) {
        struct trib_message welcome = expect(fds[i], TRIB_MESSAGE_WELCOME);
        assert_int_equal(welcome.welcome.hosts, 3);
        assert_int_equal(welcome.welcome.leaders.word[0], 0x15);
    }
    assert_int_equal(c->recorder.session.ranks, 3);
    assert_int_equal(c->recorder.children, 2);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(c->recorder.behind[i], i < 2 ? 2 : 3);
        assert_int_equal(c->recorder.is_switch[i], i >= 2);
    }
    const struct recorder *below = &leaf.made.recorder;
    assert_int_equal(below->session.ranks, 3);
    assert_int_equal(below->children, 2);
    for (uint32_t i = 2; i < 5; i++) {
        assert_int_equal(below->behind[i], i < 4 ? 2 : 1);
        assert_false(below->is_switch[i]);
    }
    close_all(fds, 5);
    leaf_stop(&leaf);
    leaf.fd = 0;
}

static void stall__of_a_host_whose_leader_waits_too(void **state)
{
    struct control *c = *state;
    const struct rank_plan plans[4] = {{.host = 7}, {.host = 7}, {.host = 9}, {.host = 9}};
    const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5, .since_ms = 1200}};
    int fds[4];
    control_start(c);
    join_all(c, 4, plans, fds);
    (void)expect_hosts(4, fds, 2, 5);
    bring_to_ready(4, fds);
    recorder_lack(c, 2, (const uint16_t[]){2, 3});
    send_message(fds[0], &stall);
    struct trib_message missing = expect(fds[0], TRIB_MESSAGE_MISSING);
    assert_int_equal(missing.stall.missing.count, 2); /* one of them, or both: that host knows */
    send_message(fds[2], &stall);                     /* its leader has given the host's part, which is not there yet */
    assert_int_equal(expect(fds[2], TRIB_MESSAGE_MISSING).stall.missing.count, 2);
    send_message(fds[0], &stall);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MISSING).stall.missing.count, 2);
    close_all(fds, 4);
}

/* Ranks of one host have seen that they run different operations; nobody may say so of another host's. */
static void dispute__of_ranks_of_one_host(void **state)
{
    struct control *c = *state;
    const struct rank_plan plans[4] = {{.host = 7}, {.host = 7}, {.host = 9}, {.host = 9}};
    struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE,
                                   .dispute = {.sequence = TRIB_NO_SEQUENCE, .rank = {3, 2}}};
    struct trib_message operation = {.kind = TRIB_MESSAGE_OPERATION, .operation = {TRIB_NO_SEQUENCE, "a barrier"}};
    int fds[4];
    control_start(c);
    join_all(c, 4, plans, fds);
    (void)expect_hosts(4, fds, 2, 5);
    bring_to_ready(4, fds);
    send_message(fds[3], &dispute);
    for (uint32_t i = 2; i < 4; i++) {
        assert_true(expect(fds[i], TRIB_MESSAGE_DESCRIBE).describe.sequence == TRIB_NO_SEQUENCE);
        operation.operation.text[0] = i == 2 ? 'a' : 'A';
        send_message(fds[i], &operation);
    }
    for (uint32_t i = 0; i < 4; i++) {
        expect_fail(fds[i], TRIB_ERR_MISMATCH, "operations differ: rank 2 called a barrier, rank 3 called A barrier");
    }
    join_all(c, 4, plans, fds);
    (void)expect_hosts(4, fds, 2, 5);
    send_message(fds[0], &dispute);
    expect_fail(fds[1], TRIB_ERR_PEER, "rank 0 (127.0.0.1");
    for (uint32_t i = 2; i < 4; i++) {
        expect_fail(fds[i], TRIB_ERR_PEER, "rank 0 (127.0.0.1");
    }
    close(fds[0]);
}

static void welcome__says_what_hosts_can_be(void **state)
{
    (void)state;
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.generation_ranks = 6}};
    assert_true(trib_hosts_are_sane(&message)); /* none */
    message.welcome.hosts = 2;
    message.welcome.leaders.word[0] = 0x9;
    assert_true(trib_hosts_are_sane(&message));
    message.welcome.leaders.word[0] = 0xa; /* whose is rank 0? */
    assert_false(trib_hosts_are_sane(&message));
    message.welcome.leaders.word[0] = 0x41; /* there is no rank 6 */
    assert_false(trib_hosts_are_sane(&message));
    message.welcome.leaders.word[0] = 0x19; /* three */
    assert_false(trib_hosts_are_sane(&message));
    message.welcome.hosts = 6;
    message.welcome.leaders.word[0] = 0x3f; /* that is as ever, and said by 0 */
    assert_false(trib_hosts_are_sane(&message));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(join__ranks_of_a_host_are_one_member, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(join__else_every_rank_is_a_member, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(join__all_on_one_host_are_one_member, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(join__hosts_at_a_switch_below, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(stall__of_a_host_whose_leader_waits_too, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(dispute__of_ranks_of_one_host, control_set_up, control_tear_down),
        cmocka_unit_test(welcome__says_what_hosts_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
