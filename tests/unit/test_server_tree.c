/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_tree.c: the control plane of a root with relays below it, seen from their connections: real TCP, a data
 * plane that only records (control_harness.h). test_relay.c has the other side. */
#include "leaf.h"

#define VIA UINT64_C(0xa1a2a3a4a5a6a7a8)

static struct leaf leaves[2]; /* VIA, VIA + 1; fd 0: it is not there */

/* On its own connection, or over the switch that it names. */
static int come_with(struct control *c, const struct trib_message *message)
{
    if (message->join.via == 0) {
        return join_with(c, message);
    }
    struct leaf *leaf = &leaves[message->join.via - VIA];
    if (leaf->fd == 0) {
        leaf_start(leaf, c->port, message->join.via);
    }
    return leaf_join(leaf, message);
}

static int tree_tear_down(void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (leaves[i].fd != 0) {
            leaf_stop(&leaves[i]);
            leaves[i].fd = 0;
        }
    }
    return control_tear_down(state);
}

/* What a relay makes of a rank's JOIN. */
static struct trib_message relayed_join(uint32_t rank, uint32_t ranks, uint64_t via)
{
    struct trib_message message = join_message(rank, ranks);
    message.join.via = via;
    message.join.hops = 1;
    message.join.roots = 2;
    message.join.room = 64U << 20;
    message.join.data_port[0] = 7471;
    message.join.data_port[1] = 7472;
    snprintf(message.join.origin, sizeof message.join.origin, "10.0.0.%u:2%04u", rank + 1, rank);
    return message;
}

/* Ranks 0 and 3 come themselves, 1 and 2 over one relay. */
static const uint64_t vias[4] = {0, VIA, VIA, 0};

static struct trib_message join_of(uint32_t rank)
{
    return vias[rank] ? relayed_join(rank, 4, vias[rank]) : join_message(rank, 4);
}

/* Brings the four to READY, known: with this grant. */
static struct trib_grant run_tree(struct control *c, int *fds, const struct trib_grant *known)
{
    struct trib_grant grant = {0};
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message message = join_of(i);
        message.join.known = known ? *known : grant;
        message.join.was_ready = known != NULL;
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message welcome = expect(fds[i], TRIB_MESSAGE_WELCOME);
        assert_int_equal(welcome.welcome.behind, vias[i] ? 2 : 1);
        grant = welcome.welcome.grant;
        if (!known) {
            send_paths(fds[i], true, false);
        }
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(expect(fds[i], TRIB_MESSAGE_READY).ready.boot, grant.boot);
    }
    return grant;
}

/* The connection ends, and nothing was said. */
static void expect_silence(int fd)
{
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

/* The session of one that comes over a relay ends without a word; another one is told on it to come again. */
static void expect_recall(int fd, uint32_t rank)
{
    if (vias[rank] != 0) {
        expect_silence(fd);
        return;
    }
    assert_string_not_equal(expect(fd, TRIB_MESSAGE_RECALL).recall.text, "");
    close(fd);
}

static void join__ranks_of_one_relay_are_one_child(void **state)
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
    close_all(fds, 4);
}

static void join__roots_and_window_are_the_least_of_all(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = relayed_join(i, 2, VIA);
        message.join.roots = i == 0 ? 1 : 2;
        message.join.room = 1472 * 30; /* of two ranks, and of the results */
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_grant grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        assert_int_equal(grant.roots, 1);
        assert_int_equal(grant.window, 10);
        assert_int_equal(grant.group, 0);
    }
    close_all(fds, 2);
}

/* Only one process sends from a port: another id from there says that the switch has started anew, and its sessions are
 * dead. */
static void join__a_relay_that_has_started_anew(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_message first = relayed_join(1, 4, VIA);
    fds[1] = come_with(c, &first);
    struct trib_message second = relayed_join(2, 4, VIA);
    fds[2] = come_with(c, &second);
    struct trib_message late = relayed_join(1, 4, VIA);
    int again = come_with(c, &late); /* the same process, whose session of before is over */
    expect_silence(fds[1]);
    fds[1] = again;
    late.join.origin[1] = '9'; /* one that was started twice */
    expect_fail(come_with(c, &late), TRIB_ERR_REFUSED, "rank 1 of job digits is already taken by 127.0.0.1:");
    late.join.via = VIA + 1;
    late.join.data_port[0]++;
    expect_fail(come_with(c, &late), TRIB_ERR_REFUSED, "rank 1 of job digits is already taken by 127.0.0.1:");
    late.join.via = 0;
    expect_fail(come_with(c, &late), TRIB_ERR_REFUSED, "rank 1 of job digits is already taken by 127.0.0.1:");
    const int old[2] = {fds[1], fds[2]};
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message message = vias[i] ? relayed_join(i, 4, VIA + 1) : join_message(i, 4);
        fds[i] = come_with(c, &message);
        if (i == 1) {
            expect_silence(old[0]);
            expect_silence(old[1]); /* its rank has not come back yet */
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.behind, vias[i] ? 2 : 1);
    }
    close_all(fds, 4);
}

/* The same identity, and both live: one sends from another address than its ranks' data would. */
static void join__two_relays_with_one_identity_are_told(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = relayed_join(0, 2, VIA);
    int a = come_with(c, &message);
    const struct trib_message hello = leaf_hello(VIA, 77, 1);
    int b = connect_to(c->port);
    send_message(b, &hello);
    expect_fail(b, TRIB_ERR_INVALID, "say that they are one: give them different --identity");
    message.join.rank = 1;
    int fds[2] = {a, come_with(c, &message)}; /* nothing has happened to it */
    (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[1], TRIB_MESSAGE_WELCOME);
    close_all(fds, 2);
}

static void join__one_data_address_of_two_children_is_refused(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message message = relayed_join(i, 3, VIA + i / 2);
        message.join.data_port[0] = (uint16_t)(7471 + i / 2 * 10);
        fds[i] = come_with(c, &message);
    }
    for (uint32_t i = 0; i < 3; i++) {
        expect_fail(fds[i], TRIB_ERR_INVALID, "ranks 0 and 2 both claim to send from 127.0.0.1:7472, UDP");
    }
}

static void join__too_many_relays_are_a_loop(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = relayed_join(0, 2, VIA);
    message.join.hops = TRIB_HOPS_MAX + 1; /* with its own: one more than may be */
    expect_fail(come_with(c, &message), TRIB_ERR_INVALID, "is one of them its own parent?");
}

static void gone__is_the_death_of_a_rank_with_its_own_address(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE, .note = {.text = "its session closed"}};
    send_message(fds[2], &gone);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2) {
            expect_silence(fds[i]);
        } else {
            expect_fail(fds[i], TRIB_ERR_PEER, "rank 2 (10.0.0.3:20002) is gone: its session closed");
        }
    }
    wait_until(c, &c->recorder.closes, 1);
}

static void gone__is_for_relays_only(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE, .note = {.text = "no relay"}};
    send_message(fds[0], &gone);
    expect_fail(fds[0], TRIB_ERR_INVALID, "no place here");
    expect_fail(fds[1], TRIB_ERR_PEER, "rank 0 (127.0.0.1:");
    close(fds[2]);
    close(fds[3]);
}

static void gone__before_the_start_gives_the_place_up(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_of(1);
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE, .note = {.text = "its session closed"}};
    int fd = come_with(c, &message);
    send_message(fd, &gone);
    expect_silence(fd);
    fd = come_with(c, &message);
    close(fd); /* a relay that is lost: the same */
    int fds[4];
    (void)run_tree(c, fds, NULL);
    close_all(fds, 4);
}

static void out_of_turn__behind_a_relay_is_a_death_too(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    send_mark(fds[1], TRIB_MESSAGE_MARK, UINT64_MAX);
    expect_fail(fds[1], TRIB_ERR_INVALID, "no place here");
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
        expect_recall(fds[0], 0);
        expect_recall(fds[2], 2);
        expect_recall(fds[3], 3);
        assert_int_equal(recorder_get(c, &c->recorder.closes), round);
        grant = run_tree(c, fds, &known);
        assert_int_equal(grant.boot, c->config.boot + round);
        assert_int_equal(grant.communicator, known.communicator);
        assert_int_equal(grant.salt, known.salt);
        assert_int_equal(grant.generation, known.generation);
        assert_int_equal(grant.slots, known.slots);
    }
    close(fds[3]); /* no relay: a death */
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
            expect_recall(fds[i], i);
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
    expect_recall(fds[0], 0);
    expect_recall(fds[3], 3);
    struct trib_message message = join_of(0);
    message.join.known = grant;
    message.join.was_ready = true;
    fds[0] = come_with(c, &message);
    expect_late(fds[0], "switch 127.0.0.1:7471 is lost (its session closed): ", 300 * patience(),
                " for ranks 1, 2, 3 of job digits to come back");
}

/* Its relay's host has lost its power: nobody has told the root when the rank is back over another way. */
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
    message.join.via = VIA + 1;
    int back = come_with(c, &message);
    for (uint32_t i = 0; i < 4; i++) {
        expect_recall(old[i], i);
    }
    (void)run_tree(c, fds, &grant); /* rank 2 comes once more, and its place is still its own */
    expect_silence(back);
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
    expect_recall(fds[0], 0);
    expect_recall(fds[3], 3);
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

static void lost__a_switch_further_down_is_named(void **state)
{
    struct control *c = *state;
    c->config.join_timeout_ns = 200 * TRIB_MILLISECOND_NS * patience();
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE,
                                .note = {.text = "switch 10.0.0.9:7470 is lost (its session closed)", true}};
    send_message(fds[1], &gone);
    for (uint32_t i = 0; i < 4; i++) {
        expect_recall(fds[i], i);
    }
    struct trib_message message = join_of(0);
    message.join.known = grant;
    message.join.was_ready = true;
    expect_fail(come_with(c, &message), TRIB_ERR_TIMEOUT, "switch 10.0.0.9:7470 is lost (its session closed): waited");
}

/* It was under way while its rank had long come back by another connection. */
static void lost__late_join_of_a_dead_connection(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant old = run_tree(c, fds, NULL);
    close(fds[1]);
    expect_recall(fds[0], 0);
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
    expect_recall(fds[0], 0);
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

/* The same, seen from a rank that comes back over another relay before the loss of its own is seen. */
static void lost__with_a_dispute_by_a_return(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_tree(c, fds, NULL);
    trib_server_mismatch(c->server, grant.communicator, 17, 0, 3);
    (void)expect(fds[0], TRIB_MESSAGE_DESCRIBE);
    struct trib_message again = relayed_join(1, 4, VIA + 1);
    again.join.known = grant;
    expect_fail(come_with(c, &again), TRIB_ERR_PEER, "which ended the communicator");
    expect_fail(fds[0], TRIB_ERR_MISMATCH, "operations differ on sequence 17");
    close_all(fds + 1, 3);
}

static void refusal__of_a_relay_is_told_to_all(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_message refusal = {.kind = TRIB_MESSAGE_FAIL,
                                   .fail = {TRIB_ERR_MEMORY, "switch 10.0.0.9: no memory\a"}};
    send_message(fds[2], &refusal);
    for (uint32_t i = 0; i < 4; i++) {
        expect_fail(fds[i], TRIB_ERR_MEMORY, "switch 10.0.0.9: no memory\\x07");
    }
    (void)run_tree(c, fds, NULL);
    refusal.fail.status = -4711;
    send_message(fds[2], &refusal);
    expect_fail(fds[0], TRIB_ERR_REFUSED, "no memory\\x07");
    send_message(fds[1], &refusal); /* too late: nothing happens */
    close_all(fds + 1, 3);
}

static void dispute__of_a_relay_is_taken_up(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {.sequence = 17, .rank = {2, 1}}};
    send_message(fds[1], &dispute);
    for (uint32_t i = 1; i < 3; i++) {
        struct trib_message answer = {.kind = TRIB_MESSAGE_OPERATION};
        answer.operation.sequence = expect(fds[i], TRIB_MESSAGE_DESCRIBE).describe.sequence;
        snprintf(answer.operation.text, sizeof answer.operation.text, "operation %u", i);
        send_message(fds[i], &answer);
    }
    expect_fail(fds[3], TRIB_ERR_MISMATCH, "sequence 17: rank 1 called operation 1, rank 2 called operation 2");
    close_all(fds, 3);
}

/* A job that has no communicator yet must not be taken for another one that has none. */
static void dispute__before_the_start_is_out_of_turn(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message early = relayed_join(0, 2, VIA);
    snprintf(early.join.job, sizeof early.join.job, "early");
    int relayed = come_with(c, &early);
    struct trib_message first = join_message(0, 2);
    int fds[2] = {come_with(c, &first), -1};
    expect_read(relayed);
    expect_read(fds[0]);
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {.sequence = 17, .rank = {0, 1}}};
    send_message(relayed, &dispute);
    expect_fail(relayed, TRIB_ERR_INVALID, "message DISPUTE has no place here");
    usleep(2200000); /* a dispute is settled after 2 s */
    struct trib_message second = join_message(1, 2);
    fds[1] = come_with(c, &second);
    (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[1], TRIB_MESSAGE_WELCOME);
    close_all(fds, 2);
}

static void stall(int fd, uint64_t sequence, const struct trib_rank_list *named, struct trib_rank_list *missing)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = sequence, .since_ms = 1200}};
    if (named) {
        message.stall.missing = *named;
    }
    send_message(fd, &message);
    struct trib_message answer = expect(fd, TRIB_MESSAGE_MISSING);
    assert_int_equal(answer.stall.sequence, sequence);
    assert_int_equal(answer.stall.since_ms, 1200);
    *missing = answer.stall.missing;
}

static void stall__names_ranks_behind_relays(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_rank_list missing;
    stall(fds[0], 5, NULL, &missing);
    assert_int_equal(missing.count, 0);
    recorder_lack(c, 3, (const uint16_t[]){1, 2, 3}); /* its nodes know children only */
    stall(fds[0], 5, NULL, &missing);
    assert_int_equal(missing.count, 3); /* nobody knows better */
    const struct trib_rank_list named = {1, {2}};
    stall(fds[1], 5, &named, &missing);
    assert_int_equal(missing.count, 2);
    assert_int_equal(missing.rank[0], 2);
    assert_int_equal(missing.rank[1], 3);
    stall(fds[0], 5, NULL, &missing); /* now it is known */
    assert_int_equal(missing.count, 2);
    assert_int_equal(missing.rank[0], 2);
    stall(fds[0], 6, NULL, &missing); /* not of this sequence: rank 1 has not said that it has come so far */
    assert_int_equal(missing.count, 3);
    stall(fds[1], 6, NULL, &missing); /* the relay lacks nobody there: its sum is on its way */
    assert_int_equal(missing.count, 1);
    assert_int_equal(missing.rank[0], 3);
    close_all(fds, 4);
}

/* Rank 1 is behind the relay of ranks 1 and 2, rank 3 behind none; both wait. */
static void stall__names_ranks_that_wait_too(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 3, (const uint16_t[]){1, 2, 3});
    const struct trib_rank_list named = {1, {1}};
    struct trib_rank_list missing;
    stall(fds[3], 7, NULL, &missing);
    for (uint32_t i = 0; i < 4; i++) { /* rank 1 itself, then rank 0, and again */
        stall(fds[1 - i % 2], 5, i % 2 == 0 ? &named : NULL, &missing);
        assert_int_equal(missing.count, 2);
        assert_int_equal(missing.rank[0], 1);
        assert_int_equal(missing.rank[1], 3);
    }
    close_all(fds, 4);
}

/* All have given their parts, and one switch's do not come through. */
static void stall__names_the_switch_if_nobody_lacks(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    struct trib_rank_list missing;
    stall(fds[1], 5, NULL, &missing);
    stall(fds[2], 5, NULL, &missing);
    assert_int_equal(missing.count, 0);
    struct trib_message message = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5, .since_ms = 1200}};
    send_message(fds[0], &message);
    assert_string_equal(expect(fds[0], TRIB_MESSAGE_MISSING).stall.where, "switch 127.0.0.1:7471");
    strcpy(message.stall.where, "switch 10.0.0.9:7\r"); /* a relay below knows it better */
    send_message(fds[1], &message);
    assert_string_equal(expect(fds[1], TRIB_MESSAGE_MISSING).stall.where, "switch 10.0.0.9:7\\x0d");
    close_all(fds, 4);
}

/* Names come from others: they are looked at, never indexes. */
static void stall__hostile_names(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    struct trib_rank_list missing;
    struct trib_rank_list named = {.count = UINT16_MAX};
    memset(named.rank, 0xff, sizeof named.rank);
    stall(fds[1], 5, &named, &missing);
    assert_int_equal(missing.count, 0);
    close_all(fds, 4);
}

/* The switch restarted, rank 0 came back, closed and left before it could offer 99, which rank 1 lacks. */
static void stall__on_a_rank_that_has_left_ends(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 100);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    recorder_lack(c, 1, (const uint16_t[]){0});
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 99, .since_ms = 4000}};
    send_message(fds[1], &stall); /* it is still there, and will be asked */
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MISSING).stall.missing.count, 1);
    close(fds[0]);
    stall.stall.since_ms = 2000;
    send_message(fds[1], &stall); /* another rank may still offer it */
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MISSING).stall.sequence, 99);
    stall.stall.since_ms = 3000;
    send_message(fds[1], &stall);
    expect_fail(fds[1], TRIB_ERR_PEER, "rank 1 waits on sequence 99, but rank 0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, tree_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__ranks_of_one_relay_are_one_child),
        TEST(join__roots_and_window_are_the_least_of_all),
        TEST(join__a_relay_that_has_started_anew),
        TEST(join__two_relays_with_one_identity_are_told),
        TEST(join__one_data_address_of_two_children_is_refused),
        TEST(join__too_many_relays_are_a_loop),
        TEST(gone__is_the_death_of_a_rank_with_its_own_address),
        TEST(gone__is_for_relays_only),
        TEST(gone__before_the_start_gives_the_place_up),
        TEST(out_of_turn__behind_a_relay_is_a_death_too),
        TEST(lost__all_come_back_under_the_next_boot),
        TEST(lost__strangers_are_kept_out),
        TEST(lost__late_ranks_and_the_switch_are_named),
        TEST(lost__a_return_tells_of_it),
        TEST(lost__while_starting),
        TEST(lost__who_has_closed_is_no_loss),
        TEST(refusal__of_a_relay_is_told_to_all),
        TEST(dispute__of_a_relay_is_taken_up),
        TEST(dispute__before_the_start_is_out_of_turn),
        TEST(stall__names_ranks_behind_relays),
        TEST(stall__names_ranks_that_wait_too),
        TEST(stall__names_the_switch_if_nobody_lacks),
        TEST(stall__hostile_names),
        TEST(stall__on_a_rank_that_has_left_ends),
        TEST(lost__a_switch_further_down_is_named),
        TEST(lost__late_join_of_a_dead_connection),
        TEST(lost__after_one_has_closed),
        TEST(lost__with_a_dispute),
        TEST(lost__with_a_dispute_by_a_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
