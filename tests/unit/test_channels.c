/* SPDX-License-Identifier: Apache-2.0 */
/* test_channels.c: the connection of a switch below, frame by frame: who may begin one, what its channels may say, and
 * what ends a channel, and what ends all. Real TCP, a data plane that only records. What ranks behind it hear:
 * test_server_tree.c; its other end: test_uplinks.c. Mirrors src/control/server/channels.c. */
#include "leaf.h"

#define FAREWELLS 5000U
#define SWITCH UINT64_C(0xa1a2a3a4a5a6a7a8)
/* So many messages take seconds on a busy machine, and the ranks that they are about must stay. */
#define PATIENT_NS (300 * TRIB_SECOND_NS)

static int leaf(const struct control *c)
{
    return leaf_connect(c->port, SWITCH, 1, 1);
}

static void begin(int fd, uint32_t number)
{
    const struct trib_message channel = leaf_channel(number, "10.0.0.1:20000");
    send_message(fd, &channel);
}

static void carry(int fd, uint32_t number, const struct trib_message *message)
{
    const struct trib_message carrier = leaf_carry(number, message);
    send_message(fd, &carrier);
}

/* The next message of this channel; other channels, and END (kind NONE), as they come. */
static struct trib_message heard(int fd, uint32_t *number)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    struct trib_message carrier = leaf_next(fd);
    size_t used = 0;
    *number = carrier.kind == TRIB_MESSAGE_BYTES ? carrier.bytes.number : carrier.end.number;
    if (carrier.kind == TRIB_MESSAGE_BYTES) {
        assert_int_equal(trib_message_decode(carrier.bytes.bytes, carrier.bytes.count, &message, &used), TRIB_OK);
        assert_int_equal(used, carrier.bytes.count);
    } else {
        assert_int_equal(carrier.kind, TRIB_MESSAGE_END);
    }
    return message;
}

static void expect_on(int fd, uint32_t number, enum trib_message_kind kind, const char *part)
{
    uint32_t got = 0;
    const struct trib_message message = heard(fd, &got);
    assert_int_equal(got, number);
    assert_int_equal(message.kind, kind);
    const char *text = kind == TRIB_MESSAGE_FAIL ? message.fail.text : message.note.text;
    if (part && !strstr(text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    }
}

/* FAIL, and the channel's end. */
static void expect_refused(int fd, uint32_t number, const char *part)
{
    expect_on(fd, number, TRIB_MESSAGE_FAIL, part);
    expect_on(fd, number, TRIB_MESSAGE_NONE, NULL);
}

static void expect_over(int fd)
{
    assert_int_equal(leaf_next(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

/* FAIL, and the end of the connection, behind what its agent is asked. */
static void expect_told(int fd, const char *part)
{
    const struct trib_message message = leaf_next(fd);
    assert_int_equal(message.kind, TRIB_MESSAGE_FAIL);
    assert_int_equal(message.fail.status, TRIB_ERR_INVALID);
    if (!strstr(message.fail.text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, message.fail.text);
    }
    expect_over(fd);
}

/* It still answers. */
static void expect_alive(int fd)
{
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING, .ping = {.number = 5}};
    send_message(fd, &ping);
    assert_int_equal(leaf_next(fd).ping.number, 5);
}

/* Both ranks of a job, on channels 1 and 2. */
static void run_both(int fd)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = join_message(i, 2);
        begin(fd, i + 1);
        carry(fd, i + 1, &join);
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t number = 0;
        assert_int_equal(heard(fd, &number).kind, TRIB_MESSAGE_WELCOME);
    }
}

/* ---- HELLO ---- */

static void hello__nothing_has_a_place_before_the_proof(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = leaf_hello(SWITCH, 1, 1);
    const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = {7}};
    const struct trib_message channel = leaf_channel(1, "10.0.0.1:20000");
    const struct trib_message end = leaf_end(1, false);
    const struct trib_message *early[] = {&proof, &channel, &end};
    control_start(c);
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) {
        int fd = connect_to(c->port);
        send_message(fd, early[i]);
        expect_fail(fd, TRIB_ERR_INVALID, "unexpected at this point");
        fd = connect_to(c->port);
        send_message(fd, &hello);
        (void)expect(fd, TRIB_MESSAGE_CHALLENGE);
        send_message(fd, early[i]); /* a PROOF of another number as well */
        expect_fail(fd, TRIB_ERR_INVALID, "unexpected at this point");
    }
}

static void hello__another_version_is_told(void **state)
{
    struct control *c = *state;
    struct trib_message hello = leaf_hello(SWITCH, 1, 1);
    control_start(c);
    int fd = connect_to(c->port);
    hello.hello.version = 18;
    send_message(fd, &hello);
    expect_fail(fd, TRIB_ERR_VERSION, "versions differ: the sender speaks session 18");
}

static void hello__of_itself_is_refused(void **state)
{
    struct control *c = *state;
    c->config.identity = SWITCH;
    control_start(c);
    const struct trib_message hello = leaf_hello(SWITCH, 1, 1);
    int fd = connect_to(c->port);
    send_message(fd, &hello);
    expect_fail(fd, TRIB_ERR_INVALID, "a switch cannot be its own parent");
}

/* Identity 0 stands for no switch: a rank that came to such a switch would count as a direct one. */
static void hello__without_identity_is_refused(void **state)
{
    struct control *c = *state;
    control_start(c);
    const struct trib_message hello = leaf_hello(0, 1, 1);
    int fd = connect_to(c->port);
    send_message(fd, &hello);
    expect_fail(fd, TRIB_ERR_INVALID, "identity: 0 is no switch's: see --identity");
}

/* The same process has lost its connection without a word: its next one takes the place, an earlier one does not. */
static void hello__a_later_try_displaces(void **state)
{
    struct control *c = *state;
    control_start(c);
    int old = leaf_connect(c->port, SWITCH, 1, 2);
    run_both(old);
    int early = leaf_connect(c->port, SWITCH, 1, 1);
    expect_over(early);
    expect_alive(old);
    int fd = leaf_connect(c->port, SWITCH, 1, 3);
    expect_over(old);
    run_both(fd); /* their places are free */
    close(fd);
}

/* Another process: the older one does not answer, so it is dead. Until it is known the newcomer waits. */
static void hello__another_life_displaces_a_silent_one(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = leaf_hello(SWITCH, 2, 1);
    struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF};
    control_start(c);
    int old = leaf(c);
    run_both(old);
    uint64_t since_ns = trib_clock_ns();
    int fd = connect_to(c->port);
    send_message(fd, &hello);
    proof.proof.nonce = expect(fd, TRIB_MESSAGE_CHALLENGE).proof.nonce;
    assert_true(trib_clock_ns() - since_ns >= TRIB_SECOND_NS);
    send_message(fd, &proof);
    leaf_attend(fd, c->port, SWITCH, LEAF_PORT);
    run_both(fd);
    close(fd);
    close(old);
}

static void hello__another_life_is_refused_by_a_living_one(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = leaf_hello(SWITCH, 2, 1);
    control_start(c);
    int old = leaf(c);
    run_both(old);
    int fd = connect_to(c->port);
    send_message(fd, &hello);
    assert_int_equal(leaf_answer(old).kind, TRIB_MESSAGE_PING);
    expect_fail(fd, TRIB_ERR_INVALID, "say that they are one: give them different --identity");
    expect_alive(old);
    close(old);
}

/* Both were challenged while nothing stood: the slower one has not asked whether the other lives. */
static void hello__the_slower_of_two_lives_displaces_nobody(void **state)
{
    struct control *c = *state;
    struct trib_message proof[2] = {{.kind = TRIB_MESSAGE_PROOF}, {.kind = TRIB_MESSAGE_PROOF}};
    int fd[2];
    control_start(c);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message hello = leaf_hello(SWITCH, i + 1, 1);
        fd[i] = connect_to(c->port);
        send_message(fd[i], &hello);
        proof[i].proof.nonce = expect(fd[i], TRIB_MESSAGE_CHALLENGE).proof.nonce;
    }
    send_message(fd[0], &proof[0]);
    leaf_attend(fd[0], c->port, SWITCH, LEAF_PORT);
    run_both(fd[0]);
    send_message(fd[1], &proof[1]);
    expect_over(fd[1]);
    expect_alive(fd[0]);
    close(fd[0]);
}

/* ---- channels ---- */

static void channel__nonsense_ends_it_alone(void **state)
{
    struct control *c = *state;
    static const uint8_t nonsense[] = "GET / HTTP/1.0\r\n\r\n";
    const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF};
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    control_start(c);
    int fd = leaf(c);
    run_both(fd);
    begin(fd, 3);
    const struct trib_message carrier = leaf_bytes(3, nonsense, sizeof nonsense);
    send_message(fd, &carrier);
    expect_on(fd, 3, TRIB_MESSAGE_NONE, NULL);
    begin(fd, 4);
    carry(fd, 4, &proof);
    expect_refused(fd, 4, "unexpected at this point");
    begin(fd, 5);
    const struct trib_message inner = leaf_channel(1, "10.0.0.1:20000");
    carry(fd, 5, &inner);
    expect_refused(fd, 5, "unexpected at this point");
    begin(fd, 6);
    const struct trib_message nested = leaf_carry(6, &mark);
    carry(fd, 6, &nested);
    expect_refused(fd, 6, "unexpected at this point");
    begin(fd, 7);
    begin(fd, 7);
    expect_on(fd, 7, TRIB_MESSAGE_NONE, NULL);
    expect_alive(fd);
    close(fd);
}

/* What crosses the end of a channel, or was never one, has no effect. */
static void channel__unknown_numbers_have_no_effect(void **state)
{
    struct control *c = *state;
    const struct trib_message join = join_message(0, 2);
    const struct trib_message end = leaf_end(9, false);
    control_start(c);
    int fd = leaf(c);
    carry(fd, 9, &join);
    send_message(fd, &end);
    begin(fd, 5);
    begin(fd, 4); /* lower than one before: not a new one */
    carry(fd, 4, &join);
    begin(fd, 0);
    expect_alive(fd);
    close(fd);
}

/* A message may lie over two BYTES, and two messages in one. */
static void channel__carries_a_stream(void **state)
{
    struct control *c = *state;
    uint8_t bytes[2 * TRIB_MESSAGE_MAX];
    control_start(c);
    int fd = leaf(c);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = join_message(i, 2);
        size_t len = trib_message_encode(&join, bytes);
        begin(fd, i + 1);
        for (size_t at = 0; at < len; at += 7) {
            const struct trib_message carrier = leaf_bytes(i + 1, bytes + at, len - at < 7 ? len - at : 7);
            send_message(fd, &carrier);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t number = 0;
        assert_int_equal(heard(fd, &number).kind, TRIB_MESSAGE_WELCOME);
        const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
        const struct trib_message mark = {.kind = TRIB_MESSAGE_REGISTER};
        size_t len = trib_message_encode(&paths, bytes);
        len += trib_message_encode(&mark, bytes + len);
        const struct trib_message carrier = leaf_bytes(number, bytes, len);
        send_message(fd, &carrier);
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t number = 0;
        assert_int_equal(heard(fd, &number).kind, TRIB_MESSAGE_READY);
    }
    close(fd);
}

/* Words: the rank is dead. Silence: the switch is lost, and its ranks are to come back. */
static void end__of_a_channel_is_a_death(void **state)
{
    struct control *c = *state;
    const struct trib_message end = leaf_end(2, false);
    control_start(c);
    int fd = leaf(c);
    run_both(fd);
    send_message(fd, &end);
    expect_refused(fd, 1, "rank 1 (10.0.0.1:20001) is gone: its session closed");
    expect_alive(fd);
    close(fd);
}

static void end__that_is_lost_recalls(void **state)
{
    struct control *c = *state;
    const struct trib_message end = leaf_end(2, true);
    control_start(c);
    int fd = leaf(c);
    run_both(fd);
    send_message(fd, &end);
    expect_on(fd, 1, TRIB_MESSAGE_RECALL, NULL);
    expect_alive(fd);
    close(fd);
}

/* ---- a switch below a switch ---- */

#define FAR UINT64_C(0xb1b2b3b4b5b6b7b8)

/* HELLO of a switch whose parent is SWITCH, as that passes it on. */
static struct trib_message far_hello(uint64_t identity, uint64_t life, uint32_t attempt)
{
    struct trib_message hello = leaf_hello_at(identity, life, attempt, LEAF_PORT + 10);
    hello.hello.path = (struct trib_path){1, {SWITCH}};
    return hello;
}

static void prove_on(int fd, uint32_t number, const struct trib_message *hello)
{
    uint32_t got = 0;
    begin(fd, number);
    carry(fd, number, hello);
    const struct trib_message challenge = heard(fd, &got);
    assert_int_equal(got, number);
    assert_int_equal(challenge.kind, TRIB_MESSAGE_CHALLENGE);
    const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = challenge.proof};
    carry(fd, number, &proof);
}

/* Carries a message on channel `inner` of the switch on channel `outer`. */
static void carry_far(int fd, uint32_t outer, uint32_t inner, const struct trib_message *message)
{
    const struct trib_message carrier = leaf_carry(inner, message);
    carry(fd, outer, &carrier);
}

/* Its connection is a channel of its parent's, and has channels itself. */
static void nest__ranks_of_a_switch_below_a_switch(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = far_hello(FAR, 1, 1);
    const struct trib_message channel = leaf_channel(1, "10.0.0.9:20001");
    const struct trib_message join = join_message(0, 2);
    const struct trib_message end = leaf_end(1, false);
    uint32_t got = 0;
    struct trib_message other = join_message(0, 2);
    control_start(c);
    int fd = leaf(c);
    prove_on(fd, 1, &hello);
    carry(fd, 1, &channel);
    carry_far(fd, 1, 1, &join);
    carry_far(fd, 1, 1, &other); /* a second JOIN on one session */
    const struct trib_message carrier = heard(fd, &got);
    assert_int_equal(carrier.kind, TRIB_MESSAGE_BYTES);
    assert_int_equal(carrier.bytes.number, 1);
    struct trib_message fail;
    size_t used = 0;
    assert_int_equal(trib_message_decode(carrier.bytes.bytes, carrier.bytes.count, &fail, &used), TRIB_OK);
    assert_int_equal(fail.kind, TRIB_MESSAGE_FAIL);
    assert_non_null(strstr(fail.fail.text, "unexpected at this point"));
    const struct trib_message inner_end = heard(fd, &got);
    assert_int_equal(got, 1);
    assert_int_equal(inner_end.kind, TRIB_MESSAGE_END);
    carry(fd, 1, &end); /* it crosses the other */
    expect_alive(fd);
    close(fd);
}

/* The end of the upper one is the end of both. */
static void nest__a_lost_parent_takes_it_along(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = far_hello(FAR, 1, 1);
    control_start(c);
    for (uint32_t i = 0; i < 3; i++) {
        int fd = leaf_connect(c->port, SWITCH, 1, i + 1);
        prove_on(fd, 1, &hello);
        close(fd);
    }
    int fd = leaf_connect(c->port, SWITCH, 1, 9);
    run_both(fd);
    close(fd);
}

static void nest__a_way_that_comes_back_is_a_loop(void **state)
{
    struct control *c = *state;
    c->config.identity = 77;
    control_start(c);
    int fd = leaf(c);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message hello = far_hello(i == 0 ? SWITCH : 77, 1, 1);
        begin(fd, i + 1);
        carry(fd, i + 1, &hello);
        expect_refused(fd, i + 1, i == 0 ? "is one of them its own parent?" : "a switch cannot be its own parent");
    }
    expect_alive(fd);
    close(fd);
}

/* On channel 1 of channel 1 and so on. */
static void carry_deep(int fd, uint32_t depth, const struct trib_message *message)
{
    struct trib_message carrier = *message;
    for (uint32_t i = 0; i < depth; i++) {
        const struct trib_message inner = carrier;
        carrier = leaf_carry(1, &inner);
    }
    send_message(fd, &carrier);
}

static struct trib_message heard_deep(int fd, uint32_t depth)
{
    struct trib_message message = leaf_next(fd);
    for (uint32_t i = 0; i < depth; i++) {
        const struct trib_message carrier = message;
        size_t used = 0;
        assert_int_equal(carrier.kind, TRIB_MESSAGE_BYTES);
        assert_int_equal(trib_message_decode(carrier.bytes.bytes, carrier.bytes.count, &message, &used), TRIB_OK);
    }
    return message;
}

static void nest__too_many_switches_on_a_way_are_a_loop(void **state)
{
    struct control *c = *state;
    const struct trib_message channel = leaf_channel(1, "10.0.0.1:20000");
    struct trib_message answer = {.kind = TRIB_MESSAGE_CHALLENGE};
    uint32_t depth = 0;
    control_start(c);
    int fd = leaf(c);
    while (answer.kind == TRIB_MESSAGE_CHALLENGE) {
        const struct trib_message hello = leaf_hello(100 + depth, 1, 1);
        carry_deep(fd, depth++, &channel);
        carry_deep(fd, depth, &hello);
        answer = heard_deep(fd, depth);
        const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = answer.proof};
        if (answer.kind == TRIB_MESSAGE_CHALLENGE) {
            carry_deep(fd, depth, &proof);
        }
    }
    assert_int_equal(depth, TRIB_HOPS_MAX); /* with the first */
    assert_int_equal(answer.kind, TRIB_MESSAGE_FAIL);
    assert_non_null(strstr(answer.fail.text, "is one of them its own parent?"));
    assert_int_equal(heard_deep(fd, depth - 1).kind, TRIB_MESSAGE_END);
    expect_alive(fd);
    close(fd);
}

/* Two that live, and look alike: one address, and one port of their first shards. They are named, not their ranks. */
static void hello__of_two_at_one_address_is_refused(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = leaf_hello(FAR, 2, 1);
    control_start(c);
    int old = leaf(c);
    run_both(old);
    int fd = connect_to(c->port);
    send_message(fd, &hello);
    assert_int_equal(leaf_answer(old).kind, TRIB_MESSAGE_PING);
    expect_fail(fd, TRIB_ERR_INVALID, "the switches at 127.0.0.1:");
    expect_alive(old);
    close(old);
    const struct trib_message far = far_hello(FAR, 2, 1); /* at another port, and behind none */
    struct trib_message alone = far;
    alone.hello.path.count = 0;
    fd = leaf_connect_as(c->port, &alone);
    expect_alive(fd);
    close(fd);
}

/* What it says of itself must be enough to send there. */
static void hello__without_a_place_is_refused(void **state)
{
    struct control *c = *state;
    control_start(c);
    for (uint32_t i = 0; i < 6; i++) {
        struct trib_message hello = leaf_hello(SWITCH, 1, 1);
        struct trib_address *at = hello.hello.at;
        hello.hello.shards = i == 0 ? 0 : hello.hello.shards;
        hello.hello.room = i == 1 ? 0 : hello.hello.room;
        at[1] = i == 2 ? trib_address_v4(0, 0) : at[1];
        at[0] = i == 3   ? trib_address_v4(0xefc07401U, 7470)        /* a group */
                : i == 4 ? trib_address_v4(0x0a000009U, 7470)        /* another machine */
                : i == 5 ? trib_address_v4(INADDR_LOOPBACK, c->port) /* the parent itself */
                         : at[0];
        int fd = connect_to(c->port);
        send_message(fd, &hello);
        expect_fail(fd, TRIB_ERR_REFUSED, "for each shard an address and a port to send from");
    }
}

/* ---- bounds ---- */

/* Answers that its rank does not take pile up with the channel, and end it; the others go on. */
static void flow__a_flood_ends_its_channel_alone(void **state)
{
    enum { AT_ONCE = 500 };
    static uint8_t flood[AT_ONCE * 64];
    struct control *c = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    c->config.join_timeout_ns = PATIENT_NS;
    control_start(c);
    int fd = leaf(c);
    run_both(fd);
    struct trib_message join = join_message(0, 2);
    strcpy(join.join.job, "other");
    begin(fd, 3);
    carry(fd, 3, &join);
    const struct trib_message carrier = leaf_bytes(3, bytes, trib_message_encode(&ping, bytes));
    size_t len = 0;
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        len += trib_message_encode(&carrier, flood + len);
    }
    uint32_t number = 0;
    struct trib_message message = {.kind = TRIB_MESSAGE_PONG};
    for (uint32_t i = 0; i < 1000 && message.kind == TRIB_MESSAGE_PONG; i++) {
        send_bytes(fd, flood, len);
        /* All answers: what is sent ahead keeps a slow switch busy, before it hears expect_alive. */
        for (uint32_t answers = 0; answers < AT_ONCE && message.kind == TRIB_MESSAGE_PONG;) {
            message = heard(fd, &number);
            answers += message.kind == TRIB_MESSAGE_PONG;
            message.kind = message.kind == TRIB_MESSAGE_PING ? TRIB_MESSAGE_PONG : message.kind;
        }
    }
    assert_int_equal(number, 3);
    assert_int_equal(message.kind, TRIB_MESSAGE_FAIL);
    assert_non_null(strstr(message.fail.text, "more than 200 messages a second"));
    expect_on(fd, 3, TRIB_MESSAGE_NONE, NULL);
    expect_alive(fd);
    close(fd);
}

/* All ranks of a large switch may come at once. */
static void flow__many_channels_may_come_at_once(void **state)
{
    struct control *c = *state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    control_start(c);
    int fd = leaf(c);
    for (uint32_t i = 1; i < 16000; i++) {
        const struct trib_message channel = leaf_channel(i, "10.0.0.1:20000");
        const struct trib_message end = leaf_end(i, false);
        size_t len = trib_message_encode(&channel, bytes);
        len += trib_message_encode(&end, bytes + len);
        send_bytes(fd, bytes, len);
    }
    expect_alive(fd);
    close(fd);
}

/* Ranks that are turned away come again, 20 times a second each: that costs the other ranks nothing. */
static void flow__a_reader_of_many_channels_keeps_the_others(void **state)
{
    struct control *c = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    const struct trib_message join = join_message(0, 2);
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    uint32_t away = 0;
    uint32_t number = 0;
    c->config.join_timeout_ns = PATIENT_NS;
    control_start(c);
    int fd = leaf(c);
    begin(fd, 1);
    carry(fd, 1, &join);
    for (uint32_t i = 2; i < 40000; i++) {
        const struct trib_message end = leaf_end(i, false);
        begin(fd, i);
        send_message(fd, &end);
        while (i % 100 == 0 && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1) {
            away += heard(fd, &number).kind == TRIB_MESSAGE_AWAY;
            assert_true(number > 1);
        }
    }
    carry(fd, 1, &ping);
    while (message.kind != TRIB_MESSAGE_PONG) {
        message = heard(fd, &number);
        away += message.kind == TRIB_MESSAGE_AWAY;
    }
    assert_int_equal(number, 1);
    assert_true(away > 1000);
    close(fd);
}

/* Who opens and ends channels without pause is ended when unread answers fill all buffers; what it took is free. */
static void flow__a_flood_of_channels_ends_the_connection(void **state)
{
    struct control *c = *state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    control_start(c);
    bool is_ended = false;
    receive_buffer = 4096; /* so that few fill it */
    int fd = leaf(c);
    for (uint32_t i = 1; i < 10000000 && !is_ended; i++) {
        struct trib_message channel = leaf_channel(i, "10.0.0.1:20000"), end = leaf_end(i, false);
        size_t len = trib_message_encode(&channel, bytes);
        len += trib_message_encode(&end, bytes + len);
        is_ended = send(fd, bytes, len, MSG_NOSIGNAL) < 0;
    }
    assert_true(is_ended);
    close(fd);
    fd = leaf(c);
    run_both(fd);
    close(fd);
}

/* A connection without a word of its own keeps nobody's place. */
static void flow__bad_frames_end_the_connection(void **state)
{
    struct control *c = *state;
    static const uint8_t cut[] = {0, 0, 0, 7, TRIB_MESSAGE_BYTES, 0, 0, 0, 1, 0, 9};
    const struct trib_message join = join_message(0, 2);
    control_start(c);
    int fd = leaf(c);
    run_both(fd);
    send_bytes(fd, cut, sizeof cut);
    expect_told(fd, "a malformed message BYTES: its field \"bytes\"");
    fd = leaf_connect(c->port, SWITCH, 1, 2);
    send_message(fd, &join);
    expect_fail(fd, TRIB_ERR_INVALID, "message JOIN is unexpected at this point");
}

#define STREAMS 50U
#define PINGS 1000U
struct stream {
    uint8_t bytes[TRIB_CHANNEL_BYTES + TRIB_MESSAGE_MAX];
    size_t len;
    bool has_fail;
};

/* More answers than the socket holds: PONG for each PING. */
static void say_pings(int fd, uint32_t number)
{
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    uint8_t bytes[TRIB_CHANNEL_BYTES];
    for (uint32_t said = 0; said < PINGS;) {
        size_t len = 0;
        while (said < PINGS && len + 64 < sizeof bytes) {
            len += trib_message_encode(&ping, bytes + len);
            said++;
        }
        const struct trib_message carrier = leaf_bytes(number, bytes, len);
        send_message(fd, &carrier);
    }
}

static void take_stream(struct stream *stream, const struct trib_message *carrier)
{
    struct trib_message message;
    size_t used = 1;
    size_t at = 0;
    memcpy(stream->bytes + stream->len, carrier->bytes.bytes, carrier->bytes.count);
    stream->len += carrier->bytes.count;
    while (used > 0) {
        assert_int_equal(trib_message_decode(stream->bytes + at, stream->len - at, &message, &used), TRIB_OK);
        at += used;
        stream->has_fail = stream->has_fail || (used > 0 && message.kind == TRIB_MESSAGE_FAIL);
    }
    stream->len -= at;
    memmove(stream->bytes, stream->bytes + at, stream->len);
}

/* A stopped switch below, and a full socket: the last words of each channel wait, and come before END. */
static void farewell__waits_for_a_switch_that_does_not_read(void **state)
{
    static struct stream streams[STREAMS];
    struct control *c = *state;
    c->config.join_timeout_ns = 2 * TRIB_SECOND_NS * patience();
    control_start(c);
    receive_buffer = 4096;
    int fd = leaf(c);
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct trib_message join = join_message(i, STREAMS + 1);
        begin(fd, i + 1);
        carry(fd, i + 1, &join);
        say_pings(fd, i + 1);
    }
    usleep(1500000 * patience());
    for (uint32_t ended = 0; ended < STREAMS;) {
        struct trib_message message = answer_message(fd);
        if (message.kind == TRIB_MESSAGE_BYTES) {
            take_stream(&streams[message.bytes.number - 1], &message);
        } else {
            assert_int_equal(message.kind, TRIB_MESSAGE_END);
            assert_true(streams[message.end.number - 1].has_fail);
            ended++;
        }
    }
    close(fd);
}

/* However many there are: the connection ends behind the last words of all channels, and not before. */
static void farewell__reaches_all_channels(void **state)
{
    struct control *c = *state;
    uint32_t told = 0;
    c->config.join_timeout_ns = PATIENT_NS;
    control_start(c);
    receive_buffer = 4096;
    int fd = leaf(c);
    for (uint32_t i = 0; i < FAREWELLS; i++) {
        struct trib_message join = join_message(i % 1000, 1024);
        (void)snprintf(join.join.job, sizeof join.join.job, "job %u", i / 1000);
        begin(fd, i + 1);
        carry(fd, i + 1, &join);
        if (i % 100 == 99) { /* so that no answer is far behind, however slow the switch is */
            expect_alive(fd);
        }
    }
    trib_server_stop(c->server);
    struct trib_message message = answer_message(fd);
    while (message.kind == TRIB_MESSAGE_BYTES || message.kind == TRIB_MESSAGE_END) {
        told += message.kind == TRIB_MESSAGE_END;
        message = answer_message(fd);
    }
    assert_int_equal(message.kind, TRIB_MESSAGE_NONE);
    assert_int_equal(told, FAREWELLS);
    close(fd);
}

static int tear_down(void **state)
{
    leaf_forget_all();
    return control_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hello__nothing_has_a_place_before_the_proof),
        TEST(hello__another_version_is_told),
        TEST(hello__of_itself_is_refused),
        TEST(hello__without_identity_is_refused),
        TEST(hello__a_later_try_displaces),
        TEST(hello__another_life_displaces_a_silent_one),
        TEST(hello__another_life_is_refused_by_a_living_one),
        TEST(hello__the_slower_of_two_lives_displaces_nobody),
        TEST(channel__nonsense_ends_it_alone),
        TEST(channel__unknown_numbers_have_no_effect),
        TEST(channel__carries_a_stream),
        TEST(end__of_a_channel_is_a_death),
        TEST(end__that_is_lost_recalls),
        TEST(nest__ranks_of_a_switch_below_a_switch),
        TEST(nest__a_lost_parent_takes_it_along),
        TEST(nest__a_way_that_comes_back_is_a_loop),
        TEST(nest__too_many_switches_on_a_way_are_a_loop),
        TEST(hello__of_two_at_one_address_is_refused),
        TEST(hello__without_a_place_is_refused),
        TEST(flow__a_flood_ends_its_channel_alone),
        TEST(flow__many_channels_may_come_at_once),
        TEST(flow__a_reader_of_many_channels_keeps_the_others),
        TEST(flow__a_flood_of_channels_ends_the_connection),
        TEST(flow__bad_frames_end_the_connection),
        TEST(farewell__waits_for_a_switch_that_does_not_read),
        TEST(farewell__reaches_all_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
