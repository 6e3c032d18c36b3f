/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_rules.c: rules of the control plane that a dialogue which goes well does not show: marks never fall and
 * come after REGISTER, a grant is compared whole, a multicast group is one job's. test_server.c has the dialogue. */
#include "control_harness.h"

/* A group of its own keeps what other jobs get off a job's links. */
static void paths__a_job_has_a_group_of_its_own(void **state)
{
    struct control *c = *state;
    c->config.group = GROUP;
    control_start(c);
    int fds[4];
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message message = join_message(i % 2, 2);
        message.join.multicast = true;
        (void)snprintf(message.join.job, sizeof message.join.job, "job %u", i / 2);
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t group = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant.group;
        assert_int_equal(group, i < 2 ? GROUP : GROUP + 1);
    }
    close_all(fds, 4);
}

/* A rank's mark never falls: what it said once holds at its CLOSE as well. */
static void close__below_a_mark_told_before(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_MARK, 100);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 50);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    send_mark(fds[1], TRIB_MESSAGE_MARK, 60);
    (void)expect(fds[1], TRIB_MESSAGE_MARK);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 60); /* and no CLOSED */
    send_mark(fds[1], TRIB_MESSAGE_MARK, 100);
    struct trib_message last = next_message(fds[0]);
    while (last.kind == TRIB_MESSAGE_MARK && last.mark.mark < 100) {
        last = next_message(fds[0]);
    }
    assert_int_equal(last.mark.mark, 100);
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    close_all(fds, 2);
}

/* Before REGISTER a rank has no mark. */
static void mark__before_register_ends_the_job(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    int fd = join_with(c, &message);
    (void)expect(fd, TRIB_MESSAGE_WELCOME);
    send_paths(fd, true, false);
    send_mark(fd, TRIB_MESSAGE_MARK, 1);
    expect_fail(fd, TRIB_ERR_INVALID, "has no place here");
}

/* Ranks come back with one grant: a rank whose grant differs in any field was in another communicator. */
static void restart__a_grant_is_compared_whole(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message first = join_message(0, 2);
    first.join.known = old_grant();
    first.join.was_ready = true;
    int fd = join_with(c, &first);
    for (unsigned field = 0; field < 6; field++) {
        struct trib_message other = first;
        struct trib_grant *grant = &other.join.known;
        other.join.rank = 1;
        grant->salt = field == 0 ? 99 : grant->salt;
        grant->token = field == 1 ? 99 : grant->token;
        grant->key = field == 2 ? 99 : grant->key;
        grant->generation = field == 3 ? 99 : grant->generation;
        grant->slots = field == 4 ? 64 : grant->slots;
        grant->train = field == 5 ? 8 : grant->train;
        expect_fail(join_with(c, &other), TRIB_ERR_REFUSED, "another grant");
    }
    close(fd);
}

static void mismatch__of_equal_texts_says_so(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    struct trib_grant grant = run_job(c, 2, fds);
    trib_server_mismatch(c->server, grant.communicator, 17, 0, 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_message answer = {.kind = TRIB_MESSAGE_OPERATION};
        answer.operation.sequence = expect(fds[rank], TRIB_MESSAGE_DESCRIBE).describe.sequence;
        strcpy(answer.operation.text, "barrier");
        send_message(fds[rank], &answer);
    }
    for (uint32_t i = 0; i < 2; i++) {
        expect_fail(fds[i], TRIB_ERR_MISMATCH, "rank 1 called barrier; both read the same: they differ in what");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, control_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(paths__a_job_has_a_group_of_its_own), TEST(close__below_a_mark_told_before),
        TEST(mark__before_register_ends_the_job),  TEST(restart__a_grant_is_compared_whole),
        TEST(mismatch__of_equal_texts_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
