/* SPDX-License-Identifier: Apache-2.0 */
/* test_uplinks.c: the connection of a relay to its parent, and the channels on it, on real sockets and with a clock that
 * the test sets. What passes on them: test_relay.c; their other end: test_channels.c. Mirrors
 * src/control/server/uplinks.c. */
#include "control_harness.h"

#include "control/server/uplinks.h"
#include "unit/draw.h"

struct world {
    struct trib_server_config config;
    struct recorder recorder;
    struct trib_jobs jobs;
    struct trib_relay relay;
    struct trib_uplinks uplinks;
    struct below {
        struct trib_session session; /* first */
        enum trib_message_kind last; /* that it was sent */
        char text[TRIB_ERROR_TEXT_MAX];
        bool has_ended;
    } below[3];
    int listener;
    int line; /* the parent's end; -1: none */
};

static void take(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct below *below = (struct below *)(void *)session;
    (void)owner;
    below->last = message->kind;
    memcpy(below->text, message->kind == TRIB_MESSAGE_FAIL ? message->fail.text : message->note.text,
           sizeof below->text);
}

static void take_end(void *owner, struct trib_session *session)
{
    (void)owner;
    ((struct below *)(void *)session)->has_ended = true;
}

/* A relay whose parent has a port where nobody listens yet. */
static int start(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    w->listener = socket(AF_INET, SOCK_STREAM, 0);
    w->line = -1;
    assert_int_equal(bind(w->listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(w->listener, (struct sockaddr *)&at, &len), 0);
    w->config.identity = 7;
    w->config.parent = trib_address_v4(INADDR_LOOPBACK, ntohs(at.sin_port));
    w->config.listen = trib_address_v4(INADDR_ANY, 7470);
    w->config.shards = 1;
    w->config.receive_room = 1U << 20;
    w->config.plane = recorder_verbs(&w->recorder);
    pthread_mutex_init(&w->recorder.lock, NULL);
    const struct trib_jobs_output output = {w, take, take_end, NULL, test_draw, NULL};
    const struct trib_relay_output above = {&w->uplinks, trib_uplinks_open, trib_uplinks_send, trib_uplinks_end,
                                            trib_uplinks_ping};
    trib_jobs_init(&w->jobs, &w->config, &output);
    trib_uplinks_init(&w->uplinks, &w->jobs, &w->config);
    trib_relay_init(&w->relay, &w->config, 7, &above);
    w->jobs.relay = &w->relay;
    *state = w;
    return 0;
}

static int stop(void **state)
{
    struct world *w = *state;
    trib_jobs_deinit(&w->jobs, TRIB_ERR_SWITCH, "over");
    trib_uplinks_deinit(&w->uplinks);
    assert_int_equal(w->uplinks.count, 0);
    close(w->listener);
    if (w->line >= 0) {
        close(w->line);
    }
    free(w);
    return 0;
}

/* No descriptor tells of a connection that was refused on the spot: time must. */
static void lost__is_due_at_once(void **state)
{
    struct world *w = *state;
    const struct trib_message join = join_message(0, 1);
    w->uplinks.now_ns = TRIB_SECOND_NS;
    assert_true(trib_jobs_receive(&w->jobs, &w->below[0].session, &join, TRIB_SECOND_NS));
    assert_int_equal(w->uplinks.count, 1);
    struct pollfd fds[TRIB_UPLINKS_MAX];
    while (trib_uplinks_poll(&w->uplinks, fds) == 1 && fds[0].fd >= 0) { /* a kernel may take a moment */
        (void)poll(fds, 1, 1000);
        trib_uplinks_ready(&w->uplinks, fds, 1, TRIB_SECOND_NS);
    }
    assert_false(w->below[0].has_ended);
    assert_int_equal(trib_uplinks_next_timeout(&w->uplinks), 0);
    trib_uplinks_on_timeout(&w->uplinks, TRIB_SECOND_NS);
    trib_uplinks_sweep(&w->uplinks, TRIB_SECOND_NS);
    assert_true(w->below[0].has_ended);
    assert_int_equal(w->below[0].last, TRIB_MESSAGE_AWAY);
    char want[160];
    char parent[64];
    trib_address_format(&w->config.parent, parent);
    snprintf(want, sizeof want, "switch %s, the parent of switch 127.0.0.1:7470, does not answer: connection refused",
             parent);
    assert_string_equal(w->below[0].text,
                        want); /* it listens at every address: it is named by the one that leads there */
    assert_int_equal(w->uplinks.count, 0);
    assert_int_equal(trib_uplinks_next_timeout(&w->uplinks), TRIB_NEVER);
}

static void pump(struct world *w)
{
    struct pollfd fds[TRIB_UPLINKS_MAX];
    for (int i = 0; i < 10; i++) {
        uint32_t count = trib_uplinks_poll(&w->uplinks, fds);
        (void)poll(fds, count, 1);
        trib_uplinks_ready(&w->uplinks, fds, count, TRIB_SECOND_NS);
        trib_uplinks_sweep(&w->uplinks, TRIB_SECOND_NS);
    }
}

static void join_below(struct world *w, uint32_t rank)
{
    const struct trib_message join = join_message(rank, 3);
    w->uplinks.now_ns = TRIB_SECOND_NS;
    w->below[rank].session.peer = trib_address_v4(0x0a000001 + rank, 50000);
    assert_true(trib_jobs_receive(&w->jobs, &w->below[rank].session, &join, TRIB_SECOND_NS));
    pump(w);
}

/* The parent takes the connection, and hears HELLO. */
static struct trib_message hello_of(struct world *w)
{
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    pump(w);
    w->line = accept(w->listener, NULL, NULL);
    assert_true(w->line >= 0);
    assert_int_equal(setsockopt(w->line, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    pump(w);
    return expect(w->line, TRIB_MESSAGE_HELLO);
}

static struct trib_message greet(struct world *w)
{
    const struct trib_message challenge = {.kind = TRIB_MESSAGE_CHALLENGE, .proof = {4711}};
    const struct trib_message hello = hello_of(w);
    send_message(w->line, &challenge);
    pump(w);
    assert_int_equal(expect(w->line, TRIB_MESSAGE_PROOF).proof.nonce, 4711);
    return hello;
}

static uint32_t expect_join(struct world *w, uint32_t rank)
{
    struct trib_message join;
    size_t used = 0;
    const struct trib_message channel = expect(w->line, TRIB_MESSAGE_CHANNEL);
    const struct trib_message carrier = expect(w->line, TRIB_MESSAGE_BYTES);
    const struct trib_address origin = trib_address_v4(0x0a000001 + rank, (uint16_t)(20000 + rank));
    assert_int_equal(carrier.bytes.number, channel.channel.number);
    assert_int_equal(channel.channel.path.count, 0);
    assert_true(trib_address_equal(&channel.channel.peer, &origin)); /* where its packets come from */
    assert_int_equal(trib_message_decode(carrier.bytes.bytes, carrier.bytes.count, &join, &used), TRIB_OK);
    assert_int_equal(join.kind, TRIB_MESSAGE_JOIN);
    assert_int_equal(join.join.rank, rank);
    return channel.channel.number;
}

static void run_two(struct world *w, uint32_t *number)
{
    assert_int_equal(listen(w->listener, 5), 0);
    join_below(w, 0);
    join_below(w, 1);
    (void)greet(w);
    for (uint32_t i = 0; i < 2; i++) {
        number[i] = expect_join(w, i);
    }
}

static void say_end(struct world *w, uint32_t number)
{
    const struct trib_message end = {.kind = TRIB_MESSAGE_END, .end = {.number = number}};
    send_message(w->line, &end);
    pump(w);
}

static void join__all_come_over_one_connection(void **state)
{
    struct world *w = *state;
    uint32_t number[3];
    run_two(w, number);
    assert_int_equal(w->uplinks.count, 1);
    join_below(w, 2); /* one that comes later */
    number[2] = expect_join(w, 2);
    assert_true(number[0] < number[1] && number[1] < number[2]);
    assert_int_equal(w->uplinks.count, 1);
}

/* Ranks that the first ones are told of would do the same. */
static void end__of_one_channel_is_no_others(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    run_two(w, number);
    say_end(w, number[1]);
    assert_true(w->below[1].has_ended);
    assert_int_equal(w->below[1].last, TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(w->below[1].text, "is lost: connection closed"));
    assert_false(w->below[0].has_ended);
    say_end(w, number[1]); /* again, and of one that never was */
    say_end(w, 99);
    assert_false(w->below[0].has_ended);
}

static void end__of_the_connection_is_the_end_of_all(void **state)
{
    struct world *w = *state;
    uint32_t number[3];
    run_two(w, number);
    close(w->line);
    w->line = -1;
    pump(w);
    assert_true(w->below[0].has_ended && w->below[1].has_ended);
    assert_int_equal(w->uplinks.count, 0);
    assert_int_equal(w->uplinks.channels, 0);
    memset(w->below, 0, sizeof w->below);
    join_below(w, 2);
    const struct trib_message hello = greet(w);
    assert_int_equal(hello.hello.identity, 7);
    assert_int_equal(hello.hello.attempt, 2);
    number[2] = expect_join(w, 2);
    assert_true(number[2] > number[1]); /* no number comes twice */
}

/* A rank that leaves is the end of its channel, which says so; words of it come before. */
static void end__of_a_rank_is_said(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    size_t used = 0;
    struct trib_message gone;
    run_two(w, number);
    trib_jobs_gone(&w->jobs, &w->below[0].session, "its session closed", TRIB_SECOND_NS);
    pump(w);
    const struct trib_message carrier = expect(w->line, TRIB_MESSAGE_BYTES);
    assert_int_equal(trib_message_decode(carrier.bytes.bytes, carrier.bytes.count, &gone, &used), TRIB_OK);
    assert_int_equal(gone.kind, TRIB_MESSAGE_GONE);
    const struct trib_message end = expect(w->line, TRIB_MESSAGE_END);
    assert_int_equal(end.end.number, number[0]);
    assert_false(end.end.is_lost);
    assert_int_equal(w->uplinks.channels, 1);
}

static void hello__refused_is_told_to_each_rank(void **state)
{
    struct world *w = *state;
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL,
                                      .fail = {TRIB_ERR_INVALID, "give them different names"}};
    assert_int_equal(listen(w->listener, 5), 0);
    join_below(w, 0);
    join_below(w, 1);
    (void)hello_of(w);
    send_message(w->line, &fail);
    pump(w);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(w->below[i].has_ended);
        assert_int_equal(w->below[i].last, TRIB_MESSAGE_FAIL);
        assert_string_equal(w->below[i].text, "give them different names");
    }
    assert_int_equal(w->uplinks.count, 0);
}

/* It listens, and its process does nothing. */
static void hello__without_an_answer_is_given_up(void **state)
{
    struct world *w = *state;
    assert_int_equal(listen(w->listener, 5), 0);
    join_below(w, 0);
    (void)hello_of(w);
    uint64_t due_ns = trib_uplinks_next_timeout(&w->uplinks);
    assert_int_equal(due_ns, 11 * TRIB_SECOND_NS);
    trib_uplinks_on_timeout(&w->uplinks, due_ns);
    trib_uplinks_sweep(&w->uplinks, due_ns);
    assert_true(w->below[0].has_ended);
    assert_non_null(strstr(w->below[0].text, "does not answer: its process does not answer: is it stopped?"));
}

static void nonsense__in_a_channel_ends_it_alone(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    run_two(w, number);
    const struct trib_message carrier = {.kind = TRIB_MESSAGE_BYTES,
                                         .bytes = {.number = number[0], .count = 8, .bytes = "nonsense"}};
    send_message(w->line, &carrier);
    pump(w);
    assert_true(w->below[0].has_ended);
    assert_int_equal(w->below[0].last, TRIB_MESSAGE_FAIL);
    assert_false(w->below[1].has_ended);
    const struct trib_message end = expect(w->line, TRIB_MESSAGE_END);
    assert_int_equal(end.end.number, number[0]);
}

static void nonsense__on_the_connection_ends_all(void **state)
{
    struct world *w = *state;
    const struct trib_message early = {.kind = TRIB_MESSAGE_CLOSED};
    uint32_t number[2];
    run_two(w, number);
    send_message(w->line, &early);
    pump(w);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(w->below[i].has_ended);
        assert_int_equal(w->below[i].last, TRIB_MESSAGE_FAIL);
        assert_non_null(strstr(w->below[i].text, "unexpected message CLOSED: not a Tributary switch"));
    }
}

/* The parent takes nothing: what waits for a channel ends it when it is too much, and no other. */
static void flow__unread_words_end_their_channel_alone(void **state)
{
    struct world *w = *state;
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5}};
    uint32_t number[2];
    memset(stall.stall.where, 'x', sizeof stall.stall.where - 1);
    stall.stall.missing.count = TRIB_RANKS_LISTED;
    run_two(w, number);
    int size = 1; /* or the kernel's buffer grows, for so long on a busy machine that TCP_USER_TIMEOUT comes first */
    struct pollfd fds[TRIB_UPLINKS_MAX];
    assert_int_equal(trib_uplinks_poll(&w->uplinks, fds), 1);
    assert_int_equal(setsockopt(fds[0].fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    struct trib_link *first = w->below[0].session.link;
    for (uint32_t i = 0; i < 20000 && !w->below[0].has_ended; i++) {
        trib_uplinks_send(&w->uplinks, first, &stall);
        if (i % 64 == 0) {
            trib_uplinks_sweep(&w->uplinks, TRIB_SECOND_NS);
        }
    }
    assert_true(w->below[0].has_ended);
    assert_non_null(strstr(w->below[0].text, "the control plane does not read its session"));
    assert_false(w->below[1].has_ended);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lost__is_due_at_once),
        TEST(join__all_come_over_one_connection),
        TEST(end__of_one_channel_is_no_others),
        TEST(end__of_the_connection_is_the_end_of_all),
        TEST(end__of_a_rank_is_said),
        TEST(hello__refused_is_told_to_each_rank),
        TEST(hello__without_an_answer_is_given_up),
        TEST(nonsense__in_a_channel_ends_it_alone),
        TEST(nonsense__on_the_connection_ends_all),
        TEST(flow__unread_words_end_their_channel_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
