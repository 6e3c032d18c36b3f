/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_auth.c: which packets a communicator takes with sender keys, and which keys. Mirrors
 * src/comm/auth.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comm/auth.h"
#include "comm/transport.h"
#include "keys/derive.h"

#define ROOTS 2
#define RANK 3

static struct trib_comm comm;
static struct trib_message welcome;
static struct trib_auth *roots[ROOTS];
static char error[TRIB_ERROR_TEXT_MAX];

static int setup(void **state)
{
    (void)state;
    if (trib_keys_explain_lack() != NULL) {
        print_message("%s\n", trib_keys_explain_lack());
        exit(77);
    }
    memset(&comm, 0, sizeof comm);
    comm.transport = &trib_transport_network;
    comm.root_count = ROOTS;
    comm.config.rank = RANK;
    comm.keys.is_set = true;
    welcome = (struct trib_message){.kind = TRIB_MESSAGE_WELCOME};
    welcome.welcome.auth = (struct trib_sender_keys){.own = {1, 2, 3}, .heard = {4, 5}, .parent = 5};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    trib_comm_drop_auth(&comm);
    for (uint32_t i = 0; i < ROOTS; i++) {
        trib_auth_destroy(roots[i]);
        roots[i] = NULL;
    }
    return 0;
}

/* Senders with these ids, and the rank in an incarnation with them. */
static void take_key(uint16_t first, uint16_t second)
{
    const uint16_t ids[ROOTS] = {first, second};
    for (uint32_t i = 0; i < ROOTS; i++) {
        roots[i] = trib_auth_create(welcome.welcome.auth.heard, ids[i], 0, false);
        assert_non_null(roots[i]);
    }
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_OK);
}

struct bytes {
    uint8_t at[TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE];
};

static struct bytes make(struct trib_auth *auth, uint16_t receiver)
{
    struct bytes made;
    const struct trib_packet packet = {.kind = TRIB_HELD, .authenticated = 1};
    trib_packet_encode(&packet, made.at);
    trib_auth_seal(auth, receiver, made.at, NULL, 0, made.at + TRIB_HEADER_SIZE);
    return made;
}

static enum trib_drop check_from(uint32_t root, const struct bytes *bytes, bool is_authenticated)
{
    const struct trib_packet packet = {.kind = TRIB_HELD, .authenticated = is_authenticated};
    struct bytes copy = *bytes;
    const struct trib_arrival arrival = {.data = copy.at, .len = is_authenticated ? sizeof copy.at : TRIB_HEADER_SIZE};
    return trib_port_authenticate(&arrival, &packet, comm.auth, root);
}

static void rank__takes_each_packet_once_from_its_root(void **state)
{
    (void)state;
    take_key(trib_auth_switch(5, 0), trib_auth_switch(5, 1));
    struct bytes bytes = make(roots[0], trib_auth_rank(RANK));
    assert_int_equal(check_from(1, &bytes, true), TRIB_DROP_AUTH);
    assert_int_equal(check_from(0, &bytes, false), TRIB_DROP_AUTH);
    assert_int_equal(check_from(0, &bytes, true), TRIB_DROP_NONE);
    assert_int_equal(check_from(0, &bytes, true), TRIB_DROP_REPLAY);
    bytes = make(roots[1], TRIB_AUTH_ALL);
    assert_int_equal(check_from(1, &bytes, true), TRIB_DROP_NONE);
    bytes = make(roots[1], trib_auth_all_but(trib_auth_rank(RANK)));
    assert_int_equal(check_from(1, &bytes, true), TRIB_DROP_AUTH);
    bytes = make(roots[1], trib_auth_rank(RANK + 1));
    assert_int_equal(check_from(1, &bytes, true), TRIB_DROP_AUTH);
}

/* On a ring nobody sends to several. */
static void rank__takes_of_a_peer_what_is_for_it_alone(void **state)
{
    (void)state;
    comm.transport = &trib_transport_ranks;
    comm.peers[0] = 2;
    comm.peers[1] = 4;
    take_key(trib_auth_rank(2), trib_auth_rank(4));
    struct bytes bytes = make(roots[1], TRIB_AUTH_ALL);
    assert_int_equal(check_from(1, &bytes, true), TRIB_DROP_AUTH);
    bytes = make(roots[1], trib_auth_rank(RANK));
    assert_int_equal(check_from(0, &bytes, true), TRIB_DROP_AUTH);
    assert_int_equal(check_from(1, &bytes, true), TRIB_DROP_NONE);
}

/* The numbers of a new incarnation begin anew, with another key. */
static void rank__forgets_the_key_of_before(void **state)
{
    (void)state;
    take_key(trib_auth_switch(5, 0), trib_auth_switch(5, 1));
    struct bytes bytes = make(roots[0], trib_auth_rank(RANK));
    welcome.welcome.auth.heard[0]++;
    welcome.welcome.auth.own[0]++;
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_OK);
    assert_int_equal(check_from(0, &bytes, true), TRIB_DROP_AUTH);
}

/* With one key twice, and numbers that begin anew, two packets would have one nonce. */
static void rank__refuses_the_key_of_before(void **state)
{
    (void)state;
    take_key(trib_auth_switch(5, 0), trib_auth_switch(5, 1));
    const struct trib_auth *before = comm.auth;
    welcome.welcome.auth.parent = 6;
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_ERR_REFUSED);
    assert_non_null(strstr(error, "sent the sender key of before again: nonces would repeat"));
    assert_ptr_equal(comm.auth, before);
    welcome.welcome.auth.own[31]++;
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_OK);
}

/* Copies on the stack are gone after use. */
static void message__is_wiped_of_its_key(void **state)
{
    struct trib_message open = {.kind = TRIB_MESSAGE_ROOT_OPEN};
    struct trib_message mark = {.kind = TRIB_MESSAGE_MARK, .mark = {.mark = 7}};
    (void)state;
    open.root_open.auth = (struct trib_auth_key){.bytes = {1}, .parent = 5};
    open.root_open.ranks = 9;
    trib_message_wipe(&open);
    trib_message_wipe(&welcome);
    trib_message_wipe(&mark);
    assert_false(trib_auth_is_set(open.root_open.auth.bytes) || trib_auth_is_set(welcome.welcome.auth.own) ||
                 trib_auth_is_set(welcome.welcome.auth.heard));
    assert_int_equal(open.root_open.ranks, 9);
    assert_int_equal(mark.mark.mark, 7);
}

static void rank__refuses_a_switch_without_a_key_of_packets(void **state)
{
    struct bytes bytes;
    (void)state;
    memset(&bytes, 0, sizeof bytes);
    memset(&welcome.welcome.auth, 0, sizeof welcome.welcome.auth);
    comm.where.title[0] = 's';
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_ERR_REFUSED);
    assert_non_null(strstr(error, "sent no sender key to a rank with a key"));
    comm.keys.is_set = false;
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_OK);
    assert_int_equal(check_from(0, &bytes, false), TRIB_DROP_NONE);
    assert_int_equal(check_from(0, &bytes, true), TRIB_DROP_AUTH);
    welcome.welcome.auth.own[0] = 1;
    assert_int_equal(trib_comm_take_auth(&comm, &welcome, error), TRIB_ERR_REFUSED);
    assert_non_null(strstr(error, "sent a sender key to a rank without a key"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rank__takes_each_packet_once_from_its_root),
        TEST(rank__takes_of_a_peer_what_is_for_it_alone),
        TEST(rank__forgets_the_key_of_before),
        TEST(rank__refuses_the_key_of_before),
        TEST(message__is_wiped_of_its_key),
        TEST(rank__refuses_a_switch_without_a_key_of_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
