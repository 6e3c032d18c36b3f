/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_tree.c: a control plane with switches below it, seen from the sessions of ranks: real TCP, data planes
 * that only record (leaf.h). test_leaves.c has the same without sockets. */
#include "server_tree_harness.h"

/* The connection ends, and nothing was said. */
static void expect_silence(int fd)
{
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

/* It is told on its session to come again. */
static void expect_recall(int fd)
{
    assert_string_not_equal(expect(fd, TRIB_MESSAGE_RECALL).recall.text, "");
    close(fd);
}

static void join__ranks_at_a_switch_below_are_one_child(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    assert_int_equal(grant.roots, 2);
    pthread_mutex_lock(&c->recorder.lock);
    const struct recorder *r = &c->recorder;
    assert_int_equal(r->children, 3);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(r->behind[i], vias[i] ? 2 : 1);
        assert_int_equal(r->is_switch[i], vias[i] != 0);
        assert_int_equal(trib_address_port(&r->addresses[i][1]), vias[i] ? 7472 : 21000 + i);
    }
    pthread_mutex_unlock(&c->recorder.lock);
    pthread_mutex_lock(&leaves[0].lock);
    r = &leaves[0].made.recorder;
    assert_int_equal(r->children, 2);
    assert_int_equal(r->opens, 1);
    assert_int_equal(r->boot, grant.boot);
    assert_true(r->has_parent);
    assert_int_equal(trib_address_port(&r->parent[1]), c->port + 1);
    assert_int_equal(trib_address_port(&r->addresses[2][1]), 21002);
    assert_int_equal(r->marks[1], 0);
    assert_int_equal(r->marks[0], UINT64_MAX);
    pthread_mutex_unlock(&leaves[0].lock);
    close_all(fds, 4);
}

static void join__roots_and_window_are_the_least_of_all(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    leaves[0].made.config.receive_room = 1472 * 30; /* of two ranks, and of the results */
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        message.join.roots = i == 0 ? 1 : 2;
        fds[i] = come_over(c, &message, VIA);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_grant grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        assert_int_equal(grant.roots, 1);
        assert_int_equal(grant.window, 10);
        assert_int_equal(grant.group, 0);
    }
    close_all(fds, 2);
}

/* It is the same rank whose session is over, if it comes to the same switch from the same place; else it was started
 * twice. */
static void join__a_rank_comes_again(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_message message = join_of(1);
    fds[1] = come_with(c, &message);
    message = join_of(2);
    fds[2] = come_with(c, &message);
    message = join_of(1);
    int again = come_with(c, &message);
    expect_silence(fds[1]);
    fds[1] = again;
    expect_fail(come_over(c, &message, VIA + 1), TRIB_ERR_REFUSED, "rank 1 of job digits is already taken by ");
    expect_fail(come_over(c, &message, 0), TRIB_ERR_REFUSED, "rank 1 of job digits is already taken by ");
    message.join.data_port[0]++;
    expect_fail(come_with(c, &message), TRIB_ERR_REFUSED, "rank 1 of job digits is already taken by ");
    for (uint32_t i = 0; i < 4; i += 3) {
        message = join_of(i);
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 4; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
    }
    close_all(fds, 4);
}

/* A switch that is lost before all have come: the places of its ranks are free. */
static void join__a_switch_that_has_started_anew(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    int old[2];
    for (uint32_t i = 1; i < 3; i++) {
        const struct trib_message message = join_of(i);
        old[i - 1] = come_with(c, &message);
    }
    const struct trib_message waits = join_of(0);
    fds[0] = come_with(c, &waits);
    leaf_stop(&leaves[0]);
    leaf_init(&leaves[0], VIA, LEAF_PORT);
    for (uint32_t i = 1; i < 4; i++) {
        const struct trib_message message = join_of(i);
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 4; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
    }
    close_all(old, 2);
    close_all(fds, 4);
}

/* A rank that sends from where a switch below does: two children of one address. */
static void join__one_data_address_of_two_children_is_refused(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message message = join_message(i, 3);
        message.join.data_port[0] = i == 2 ? LEAF_PORT : message.join.data_port[0];
        fds[i] = come_over(c, &message, i == 2 ? 0 : VIA);
    }
    for (uint32_t i = 0; i < 3; i++) {
        expect_fail(fds[i], TRIB_ERR_INVALID, "ranks 0 and 2 both claim to send from 127.0.0.1:7471, UDP");
    }
}

/* Its switch says END of a rank whose connection has ended. */
static void death__of_a_rank_is_told_with_its_own_address(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    const struct trib_message end = leaf_end(2, false);
    pthread_mutex_lock(&leaves[0].lock);
    leaf_say(&leaves[0], &end);
    pthread_mutex_unlock(&leaves[0].lock);
    for (uint32_t i = 0; i < 4; i++) {
        if (i != 2) {
            expect_fail(fds[i], TRIB_ERR_PEER, "rank 2 (10.0.0.3:20002) is gone: its session closed");
        }
    }
    close(fds[2]);
    wait_until(c, &c->recorder.closes, 1);
}

static void gone__is_of_no_rank_at_a_switch(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE, .note = {.text = "nobody"}};
    send_message(fds[0], &gone);
    expect_fail(fds[0], TRIB_ERR_INVALID, "unexpected at this point");
    expect_fail(fds[1], TRIB_ERR_PEER, "rank 0 (127.0.0.1:");
    close(fds[2]);
    close(fds[3]);
}

static void lost__before_the_start_gives_the_place_up(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_of(1);
    int fd = come_with(c, &message);
    close(fd); /* END, and its way is lost */
    int fds[4];
    (void)run_tree(c, fds, NULL);
    close_all(fds, 4);
}

static void out_of_turn__at_a_switch_below_is_a_death_too(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    send_mark(fds[1], TRIB_MESSAGE_MARK, UINT64_MAX);
    expect_fail(fds[1], TRIB_ERR_INVALID, "unexpected at this point");
    expect_fail(fds[0], TRIB_ERR_PEER, "rank 1 (10.0.0.2:20001) is gone: it sent a message out of turn");
    close(fds[2]);
    close(fds[3]);
}

static void lost__all_come_back_under_the_next_boot(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    for (uint32_t round = 1; round < 4; round++) {
        struct trib_grant known = grant;
        close(fds[1]);
        expect_recall(fds[0]);
        expect_recall(fds[2]);
        expect_recall(fds[3]);
        assert_int_equal(recorder_get(c, &c->recorder.closes), round);
        grant = run_tree(c, fds, &known);
        assert_int_equal(grant.boot, c->config.boot + round);
        assert_int_equal(grant.communicator, known.communicator);
        assert_int_equal(grant.salt, known.salt);
        assert_int_equal(grant.generation, known.generation);
        assert_int_equal(grant.slots, known.slots);
    }
    close(fds[3]); /* it came here: a death */
    expect_fail(fds[1], TRIB_ERR_PEER, "rank 3 (127.0.0.1:");
    struct trib_message message = join_of(0);
    message.join.known = grant;
    message.join.was_ready = true;
    expect_fail(come_with(c, &message), TRIB_ERR_PEER, "was lost, which ended the communicator");
    close(fds[0]);
    close(fds[2]);
}

/* Until all are back nobody else may have the name, nor the place. */
static void lost__strangers_are_kept_out(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    close(fds[1]);
    for (uint32_t i = 0; i < 4; i++) {
        if (i != 1) {
            expect_recall(fds[i]);
        }
    }
    struct trib_message message = join_of(3);
    expect_fail(come_with(c, &message), TRIB_ERR_REFUSED, "job digits is coming back");
    message.join.known = grant;
    message.join.was_ready = true;
    message.join.known.token++;
    expect_fail(come_with(c, &message), TRIB_ERR_PEER, "was lost");
    (void)run_tree(c, fds, &grant);
    close_all(fds, 4);
}

static void lost__late_ranks_and_the_switch_are_named(void **state)
{
    struct control *c = *state;
    c->config.join_timeout_ns = 300 * TRIB_MILLISECOND_NS * patience();
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    close(fds[1]);
    close(fds[2]);
    expect_recall(fds[0]);
    expect_recall(fds[3]);
    struct trib_message message = join_of(0);
    message.join.known = grant;
    message.join.was_ready = true;
    fds[0] = come_with(c, &message);
    expect_late(fds[0], "switch 127.0.0.1:7471 is lost (its session closed): ", 300 * patience(),
                " for ranks 1, 2, 3 of job digits to come back");
}

/* The host of its switch has lost its power: nobody has told the root when the rank is back over another one. */
static void lost__a_return_tells_of_it(void **state)
{
    struct control *c = *state;
    control_start(c);
    int old[4];
    int fds[4];
    struct trib_grant grant = run_tree(c, old, NULL);
    struct trib_message message = join_of(2);
    message.join.known = grant;
    message.join.was_ready = true;
    int back = come_over(c, &message, VIA + 1);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2) {
            close(old[i]); /* its place is taken */
        } else {
            expect_recall(old[i]);
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        fds[i] = come_back(c, i, &grant);
        if (i == 2) {
            expect_silence(back); /* rank 2 has come once more, and its place is still its own */
        }
    }
    (void)bring_to_ready(fds, true);
    close_all(fds, 4);
}

/* WELCOME was under way when it happened: some have got it, others not. */
static void lost__while_starting(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = {0};
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message message = join_of(i);
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 4; i++) {
        grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
    }
    close(fds[1]);
    close(fds[2]);
    expect_recall(fds[0]);
    expect_recall(fds[3]);
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message message = join_of(i);
        message.join.known = i < 2 ? grant : (struct trib_grant){0};
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_grant again = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        assert_int_equal(again.communicator, grant.communicator);
        send_paths(fds[i], true, false); /* nobody may have tried any yet */
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_READY);
    }
    close_all(fds, 4);
}

static void lost__who_has_closed_is_no_loss(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    send_mark(fds[1], TRIB_MESSAGE_CLOSE, 7);
    (void)expect(fds[1], TRIB_MESSAGE_MARK);
    close(fds[1]);
    send_mark(fds[0], TRIB_MESSAGE_MARK, 7);
    (void)expect(fds[0], TRIB_MESSAGE_MARK); /* still there */
    assert_int_equal(recorder_get(c, &c->recorder.closes), 0);
    close_all(fds + 2, 2);
    close(fds[0]);
}

/* It was under way while its rank had long come back by another connection. */
static void lost__late_join_of_a_dead_connection(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant old = run_tree(c, fds, NULL);
    close(fds[1]);
    expect_recall(fds[0]);
    close_all(fds + 2, 2);
    (void)run_tree(c, fds, &old);
    struct trib_message message = join_of(1);
    message.join.known = old;
    message.join.was_ready = true;
    expect_fail(come_with(c, &message), TRIB_ERR_PEER, "was lost");
    send_mark(fds[1], TRIB_MESSAGE_MARK, 7);
    (void)expect(fds[1], TRIB_MESSAGE_MARK); /* the running one does not notice */
    close_all(fds, 4);
}

/* What the closed rank had is gone with it: no use in waiting for long. */
static void lost__after_one_has_closed(void **state)
{
    struct control *c = *state;
    c->config.join_timeout_ns = 300 * TRIB_MILLISECOND_NS * patience();
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    send_mark(fds[3], TRIB_MESSAGE_CLOSE, 0);
    (void)expect(fds[3], TRIB_MESSAGE_MARK);
    (void)expect(fds[3], TRIB_MESSAGE_CLOSED);
    close(fds[3]);
    close(fds[1]);
    expect_recall(fds[0]);
    struct trib_message message = join_of(0);
    message.join.known = grant;
    message.join.was_ready = true;
    expect_fail(come_with(c, &message), TRIB_ERR_TIMEOUT,
                "is lost (its session closed), after rank 3 had closed at sequence 0");
    close(fds[2]);
}

/* No return can mend it: it ends with what is known. */
static void lost__with_a_dispute(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    trib_server_mismatch(c->server, grant.communicator, 17, 0, 1);
    (void)expect(fds[0], TRIB_MESSAGE_DESCRIBE);
    close(fds[2]);
    expect_fail(fds[0], TRIB_ERR_MISMATCH, "operations differ on sequence 17");
    close(fds[1]);
    close(fds[3]);
}

/* The same, seen from a rank that comes back over another switch before the loss of its own is seen. */
static void lost__with_a_dispute_by_a_return(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    trib_server_mismatch(c->server, grant.communicator, 17, 0, 3);
    (void)expect(fds[0], TRIB_MESSAGE_DESCRIBE);
    struct trib_message again = join_of(1);
    again.join.known = grant;
    expect_fail(come_over(c, &again, VIA + 1), TRIB_ERR_PEER, "which ended the communicator");
    expect_fail(fds[0], TRIB_ERR_MISMATCH, "operations differ on sequence 17");
    close_all(fds + 1, 3);
}

/* What the switch below says of this communicator. */
static void leaf_tell(const struct trib_message *message)
{
    pthread_mutex_lock(&leaves[0].lock);
    leaf_say(&leaves[0], message);
    pthread_mutex_unlock(&leaves[0].lock);
}

static void refusal__of_a_switch_below_is_told_to_all(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    struct trib_message refusal = {
        .kind = TRIB_MESSAGE_ROOT_REFUSED,
        .root_refused = {.of = {grant.communicator, grant.boot}, .status = TRIB_ERR_MEMORY, .text = "no memory\a"}};
    leaf_tell(&refusal);
    for (uint32_t i = 0; i < 4; i++) {
        expect_fail(fds[i], TRIB_ERR_MEMORY, "switch 127.0.0.1:7471: no memory\\x07");
    }
    grant = run_tree(c, fds, NULL);
    refusal.of = (struct trib_opening_id){grant.communicator, grant.boot};
    refusal.root_refused.status = -4711;
    leaf_tell(&refusal);
    expect_fail(fds[0], TRIB_ERR_REFUSED, "no memory\\x07");
    leaf_tell(&refusal); /* too late: nothing happens */
    close_all(fds + 1, 3);
    grant = run_tree(c, fds, NULL);
    refusal.of = (struct trib_opening_id){grant.communicator, grant.boot};
    refusal.root_refused.status = TRIB_ERR_PEER; /* a switch cannot say that a rank is dead */
    leaf_tell(&refusal);
    expect_fail(fds[0], TRIB_ERR_REFUSED, "no memory");
    close_all(fds + 1, 3);
}

static void dispute__of_a_switch_below_is_taken_up(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE,
                                         .dispute = {{grant.communicator, grant.boot}, 17, {2, 1}}};
    struct trib_message old = dispute;
    old.of.boot--;
    leaf_tell(&old); /* of an incarnation that is over */
    leaf_tell(&dispute);
    for (uint32_t i = 1; i < 3; i++) {
        struct trib_message answer = {.kind = TRIB_MESSAGE_OPERATION};
        answer.operation.sequence = expect(fds[i], TRIB_MESSAGE_DESCRIBE).describe.sequence;
        snprintf(answer.operation.text, sizeof answer.operation.text, "operation %u", i);
        send_message(fds[i], &answer);
    }
    expect_fail(fds[3], TRIB_ERR_MISMATCH, "sequence 17: rank 1 called operation 1, rank 2 called operation 2");
    close_all(fds, 3);
}

/* What it answers without having been asked has no place there. */
static void answers__that_were_not_asked_for_end_the_job(void **state)
{
    struct control *c = *state;
    control_start(c);
    for (uint32_t i = 0; i < 3; i++) {
        int fds[4];
        struct trib_grant grant = run_tree(c, fds, NULL);
        struct trib_message message = {.kind = i == 0   ? TRIB_MESSAGE_ROOT_OPENED
                                               : i == 1 ? TRIB_MESSAGE_ROOT_MISSING
                                                        : TRIB_MESSAGE_DISPUTE};
        message.of = (struct trib_opening_id){grant.communicator, grant.boot};
        message.dispute.rank[0] = i == 2 ? 4 : 0; /* there is none */
        leaf_tell(&message);
        char want[64];
        (void)snprintf(want, sizeof want, "switch 127.0.0.1:7471 sent an unexpected message %s",
                       trib_message_name(message.kind));
        if (i < 2) {
            expect_fail(fds[0], TRIB_ERR_REFUSED, want);
            close_all(fds + 1, 3);
        } else {
            send_mark(fds[0], TRIB_MESSAGE_MARK, 0);
            (void)next_message(fds[0]);
            close_all(fds, 4);
        }
    }
}

/* A job that has no communicator yet must not be taken for another one that has none. */
static void dispute__before_the_start_is_out_of_turn(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message early = join_message(0, 2);
    snprintf(early.join.job, sizeof early.join.job, "early");
    int far = come_over(c, &early, VIA);
    struct trib_message first = join_message(0, 2);
    int fds[2] = {come_with(c, &first), -1};
    expect_read(far);
    expect_read(fds[0]);
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {.sequence = 17, .rank = {0, 1}}};
    send_message(far, &dispute);
    expect_fail(far, TRIB_ERR_INVALID, "message DISPUTE is unexpected at this point");
    usleep(2200000); /* a dispute is settled after 2 s */
    struct trib_message second = join_message(1, 2);
    fds[1] = come_with(c, &second);
    (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[1], TRIB_MESSAGE_WELCOME);
    close_all(fds, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__ranks_at_a_switch_below_are_one_child),
        TEST(join__roots_and_window_are_the_least_of_all),
        TEST(join__a_rank_comes_again),
        TEST(join__a_switch_that_has_started_anew),
        TEST(join__one_data_address_of_two_children_is_refused),
        TEST(death__of_a_rank_is_told_with_its_own_address),
        TEST(gone__is_of_no_rank_at_a_switch),
        TEST(lost__before_the_start_gives_the_place_up),
        TEST(out_of_turn__at_a_switch_below_is_a_death_too),
        TEST(lost__all_come_back_under_the_next_boot),
        TEST(lost__strangers_are_kept_out),
        TEST(lost__late_ranks_and_the_switch_are_named),
        TEST(lost__a_return_tells_of_it),
        TEST(lost__while_starting),
        TEST(lost__who_has_closed_is_no_loss),
        TEST(lost__late_join_of_a_dead_connection),
        TEST(lost__after_one_has_closed),
        TEST(lost__with_a_dispute),
        TEST(lost__with_a_dispute_by_a_return),
        TEST(refusal__of_a_switch_below_is_told_to_all),
        TEST(dispute__of_a_switch_below_is_taken_up),
        TEST(answers__that_were_not_asked_for_end_the_job),
        TEST(dispute__before_the_start_is_out_of_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
