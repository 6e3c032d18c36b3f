/* SPDX-License-Identifier: Apache-2.0 */
/* test_channels_proof.c: connections of one switch below that come while another one is ending, or that look like two
 * others: one of them is usable in the end, whatever a stranger says (C-17). Read next: test_channels.c. Mirrors
 * take_proof in src/control/server/channels.c. */
#include "leaf.h"

#define SWITCH UINT64_C(0xa1a2a3a4a5a6a7a8)
#define OTHER UINT64_C(0xb1b2b3b4b5b6b7b8)

static void expect_alive(int fd)
{
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING, .ping = {77}};
    send_message(fd, &ping);
    assert_int_equal(expect(fd, TRIB_MESSAGE_PONG).ping.number, 77);
}

static void expect_over(int fd)
{
    assert_int_equal(answer_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

/* A connection that is refused stays until its last word has left, and this end does not close. */
static void proof__beside_one_that_is_ending_is_taken(void **state)
{
    struct control *c = *state;
    const struct trib_message hello = leaf_hello(SWITCH, 1, 1);
    const struct trib_message again = leaf_hello(SWITCH, 2, 1);
    control_start(c);
    int old = leaf_prove(c->port, &hello);
    expect_alive(old);
    send_message(old, &hello); /* out of turn */
    (void)expect(old, TRIB_MESSAGE_FAIL);
    int fd = leaf_prove(c->port, &again);
    expect_alive(fd);
    close(old);
    expect_alive(fd);
    close(fd);
}

/* One has its identity, another one its place: both were its own. */
static void proof__of_a_switch_that_was_two_displaces_both(void **state)
{
    struct control *c = *state;
    const struct trib_message place = leaf_hello_at(OTHER, 7, 1, LEAF_PORT + 10);
    const struct trib_message name = leaf_hello_at(SWITCH, 7, 1, LEAF_PORT);
    const struct trib_message both = leaf_hello_at(SWITCH, 7, 2, LEAF_PORT + 10);
    control_start(c);
    int first = leaf_prove(c->port, &place);
    expect_alive(first);
    int second = leaf_prove(c->port, &name);
    expect_alive(second);
    int fd = leaf_prove(c->port, &both);
    expect_alive(fd);
    expect_over(first);
    expect_over(second);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, control_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(proof__beside_one_that_is_ending_is_taken),
        TEST(proof__of_a_switch_that_was_two_displaces_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
