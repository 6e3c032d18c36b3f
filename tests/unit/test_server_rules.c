/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_rules.c: rules of the control plane that a dialogue which goes well does not show: marks never fall and
 * come after REGISTER, a grant is compared whole, a multicast group is one job's, who had closed before a restart may
 * leave, and who has closed may begin anew. test_server.c has the dialogue. */
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
    expect_fail(fd, TRIB_ERR_INVALID, "is unexpected at this point");
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

/* A rank that has run comes back; is_closing: it had closed at 500, and says so. */
static int come_back(struct control *c, uint32_t rank, uint32_t ranks, bool is_closing)
{
    struct trib_message message = join_message(rank, ranks);
    message.join.known = old_grant();
    message.join.was_ready = true;
    int fd = join_with(c, &message);
    if (is_closing) {
        send_mark(fd, TRIB_MESSAGE_CLOSE, 500);
    }
    return fd;
}

/* Those below `closing` had closed. */
static void all_come_back(struct control *c, uint32_t ranks, uint32_t closing, int *fds)
{
    for (uint32_t i = 0; i < ranks; i++) {
        fds[i] = come_back(c, i, ranks, i < closing);
    }
}

/* Its time to wait for the others is over: nobody waits for its REGISTER, and it is no death. */
static void restart__who_had_closed_leaves_before_ready(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    all_come_back(c, 3, 1, fds);
    for (uint32_t i = 0; i < 3; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
    }
    send_mark(fds[1], TRIB_MESSAGE_REGISTER, 500);
    close(fds[0]);
    send_mark(fds[2], TRIB_MESSAGE_REGISTER, 500);
    for (uint32_t i = 1; i < 3; i++) {
        assert_int_equal(expect(fds[i], TRIB_MESSAGE_READY).ready.mark, 500);
    }
    for (uint32_t i = 1; i < 3; i++) {
        send_mark(fds[i], TRIB_MESSAGE_CLOSE, 500);
        (void)expect(fds[i], TRIB_MESSAGE_MARK);
        (void)expect(fds[i], TRIB_MESSAGE_CLOSED);
    }
    close_all(fds + 1, 2);
}

/* It stays: it registers like all, as others may lack what it has, and hears CLOSED when they do not. */
static void restart__who_had_closed_registers(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    all_come_back(c, 2, 1, fds);
    for (uint32_t i = 0; i < 2; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
        send_paths(fds[i], true, false);
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 500 - 100 * i);
    }
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_READY).ready.mark, 400);
    (void)expect(fds[1], TRIB_MESSAGE_READY);
    send_mark(fds[1], TRIB_MESSAGE_MARK, 500);
    (void)expect(fds[1], TRIB_MESSAGE_MARK);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 500);
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    close_all(fds, 2);
}

/* The switch has lost a result that only the rank that left had kept: who waits for its part hears its name. */
static void restart__who_had_closed_is_missed(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    all_come_back(c, 2, 1, fds);
    for (uint32_t i = 0; i < 2; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
    }
    close(fds[0]);
    send_mark(fds[1], TRIB_MESSAGE_REGISTER, 400);
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_READY).ready.mark, 400);
    recorder_lack(c, 1, (const uint16_t[]){0});
    const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 400, .since_ms = 3000}};
    send_message(fds[1], &stall);
    expect_fail(fds[1], TRIB_ERR_PEER, "has closed the communicator at sequence 500");
}

/* Nobody needs anything: no slot is opened for it. One that is no longer there counts as well. */
static void restart__all_had_closed(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    all_come_back(c, 3, 2, fds);
    (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[1], TRIB_MESSAGE_WELCOME);
    close(fds[1]);
    send_mark(fds[2], TRIB_MESSAGE_CLOSE, 300);
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    (void)expect(fds[2], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[2], TRIB_MESSAGE_CLOSED);
    wait_until(c, &c->recorder.closes, 1);
    close(fds[0]);
    close(fds[2]);
}

/* Before all are back as well: one has left again when the last one comes, or is about to. */
static void restart__all_had_closed_and_one_has_left(void **state)
{
    struct control *c = *state;
    const struct trib_message question = {.kind = TRIB_MESSAGE_PING};
    control_start(c);
    int fds[3];
    fds[0] = come_back(c, 0, 3, true);
    fds[1] = come_back(c, 1, 3, true);
    send_message(fds[1], &question);
    (void)expect(fds[1], TRIB_MESSAGE_PONG); /* CLOSE has been read */
    close(fds[1]);
    fds[2] = come_back(c, 2, 3, true);
    for (uint32_t i = 0; i < 3; i += 2) {
        struct trib_message last = next_message(fds[i]);
        if (last.kind == TRIB_MESSAGE_WELCOME) {
            last = next_message(fds[i]);
        }
        assert_int_equal(last.kind, TRIB_MESSAGE_CLOSED);
        close(fds[i]);
    }
}

/* A program closes, and creates a communicator of the same name at once, while another rank has yet to close. */
static void join__anew_by_who_has_closed(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    int again[2];
    uint32_t communicator = run_job(c, 2, fds).communicator;
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 0);
    while (next_message(fds[0]).kind != TRIB_MESSAGE_CLOSED) {
    }
    struct trib_message message = join_message(1, 2);
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "job digits is already running"); /* rank 1 has not closed */
    message = join_message(0, 2);
    again[0] = join_with(c, &message);
    expect_read(again[0]);
    send_mark(fds[1], TRIB_MESSAGE_CLOSE, 0);
    while (next_message(fds[1]).kind != TRIB_MESSAGE_CLOSED) {
    }
    message = join_message(1, 2);
    again[1] = join_with(c, &message);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_not_equal(expect(again[i], TRIB_MESSAGE_WELCOME).welcome.grant.communicator, communicator);
    }
    close_all(again, 2);
    close_all(fds, 2);
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
        TEST(paths__a_job_has_a_group_of_its_own),
        TEST(close__below_a_mark_told_before),
        TEST(mark__before_register_ends_the_job),
        TEST(restart__a_grant_is_compared_whole),
        TEST(restart__who_had_closed_leaves_before_ready),
        TEST(restart__who_had_closed_registers),
        TEST(restart__who_had_closed_is_missed),
        TEST(restart__all_had_closed),
        TEST(restart__all_had_closed_and_one_has_left),
        TEST(mismatch__of_equal_texts_says_so),
        TEST(join__anew_by_who_has_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
