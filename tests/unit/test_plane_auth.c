/* SPDX-License-Identifier: Apache-2.0 */
/* test_plane_auth.c: a data plane with a packet key, over real sockets: what it takes from its children, and for whom
 * its results are. Mirrors check_authenticator and receiver_of of src/switchd/shard.c. */
#include "keys/auth.h"
#include "keys/derive.h"
#include "plane_harness.h"

#define CHILDREN 3
#define BYTES 64 /* of payload */
#define ROOT trib_auth_switch(0, 0)
#define BELOW trib_auth_switch(1, 0)

static const struct trib_auth_key key = {.bytes = {7, 8, 9}};
static const uint8_t payload[BYTES];

struct child {
    struct trib_port *udp;
    struct trib_auth *auth;
    uint64_t nonce; /* of the plane for it */
};

static struct world world;
static struct child child[CHILDREN];

static void open_member(const struct trib_auth_key *auth)
{
    uint16_t ranks[CHILDREN] = {0, 1, 2};
    struct trib_branch branches[CHILDREN];
    memset(branches, 0, sizeof branches);
    for (uint16_t i = 0; i < CHILDREN; i++) {
        branches[i] = (struct trib_branch){.ranks = &ranks[i], .count = 1, .sender = trib_auth_rank(i)};
        trib_port_local(child[i].udp, &branches[i].from);
    }
    const struct trib_opening opening = {.session = world.session,
                                         .ranks = CHILDREN,
                                         .scheme = scheme_name,
                                         .boot = world.boot,
                                         .branches = branches,
                                         .count = CHILDREN,
                                         .auth = auth};
    assert_int_equal(world.side[0].verbs.open(world.side[0].plane, &opening), TRIB_OK);
}

static int setup(void **state)
{
    (void)state;
    if (trib_keys_explain_lack() != NULL) {
        print_message("%s\n", trib_keys_explain_lack());
        exit(77);
    }
    begin_world(&world);
    world.session.roots = 1;
    world.session.ranks = CHILDREN;
    (void)add_plane(&world, NO_PLANE, &none);
    for (uint16_t i = 0; i < CHILDREN; i++) {
        child[i].udp = open_loopback(&world.side[0].address[0]);
        uint8_t own[TRIB_AUTH_KEY], heard[TRIB_AUTH_KEY];
        trib_auth_make_sender_key(key.bytes, trib_auth_rank(i), own);
        trib_auth_make_sender_key(key.bytes, ROOT, heard);
        child[i].auth = trib_auth_create(own, trib_auth_rank(i), 1, false);
        assert_true(child[i].auth != NULL && trib_auth_set_above(child[i].auth, 0, ROOT, heard));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CHILDREN; i++) {
        trib_port_close(child[i].udp);
        trib_auth_destroy(child[i].auth);
    }
    trib_plane_close(world.side[0].plane);
    return 0;
}

/* ---- packets ---- */

struct bytes {
    uint8_t at[TRIB_HEADER_SIZE + PAYLOAD + TRIB_AUTHENTICATOR_SIZE];
    size_t len;
};

static struct trib_packet packet_of(enum trib_kind kind)
{
    return (struct trib_packet){.kind = (uint8_t)kind,
                                .communicator = COMMUNICATOR,
                                .generation = world.session.generation,
                                .boot = world.boot};
}

/* auth NULL: without an authenticator. */
static struct bytes make(struct trib_auth *auth, uint16_t receiver, struct trib_packet packet)
{
    struct bytes made;
    packet.authenticated = auth != NULL;
    trib_packet_encode(&packet, made.at);
    if (packet.payload_len != 0) {
        memcpy(made.at + TRIB_HEADER_SIZE, packet.payload, packet.payload_len);
    }
    made.len = TRIB_HEADER_SIZE + packet.payload_len;
    if (auth != NULL) {
        trib_auth_seal(auth, receiver, made.at, packet.payload, packet.payload_len, made.at + made.len);
        made.len += TRIB_AUTHENTICATOR_SIZE;
    }
    return made;
}

static void send_from(uint32_t i, const struct bytes *bytes)
{
    assert_int_equal(send(trib_port_fd(child[i].udp), bytes->at, bytes->len, 0), (ssize_t)bytes->len);
}

/* The next packet of this kind that the child hears, which must be authentic; returns for whom it is. */
static uint16_t hear(uint32_t i, enum trib_kind kind, struct trib_packet *packet)
{
    struct pollfd readable = {.fd = trib_port_fd(child[i].udp), .events = POLLIN};
    struct trib_arrival arrival;
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    while (trib_clock_ns() < end_ns) {
        while (trib_port_next(child[i].udp, &arrival)) {
            assert_int_equal(trib_port_decode(&arrival, packet), TRIB_DROP_NONE);
            assert_int_equal(packet->authenticated, 1);
            assert_int_equal(trib_auth_check(child[i].auth, 0, arrival.data, arrival.len), TRIB_DROP_NONE);
            if (packet->kind == kind) {
                const uint8_t *receiver = arrival.data + arrival.len - TRIB_AUTHENTICATOR_SIZE + 2;
                return (uint16_t)(receiver[0] << 8 | receiver[1]);
            }
        }
        if (!trib_port_receive(child[i].udp, 0)) {
            (void)poll(&readable, 1, 100);
        }
    }
    fail_msg("child %u hears no %s", i, trib_kind_name(kind));
    return 0;
}

/* The plane has dropped so many packets for this reason, soon. */
static void expect_dropped(enum trib_drop reason, uint64_t count)
{
    uint64_t dropped[TRIB_DROP_COUNT] = {0};
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    do {
        (void)poll(NULL, 0, 1);
        memset(dropped, 0, sizeof dropped);
        world.side[0].verbs.drops(world.side[0].plane, dropped);
    } while (dropped[reason] < count && trib_clock_ns() < end_ns);
    assert_int_equal(dropped[reason], count);
}

/* ---- tests ---- */

static void plane__takes_each_packet_once_from_its_sender(void **state)
{
    const struct trib_packet probe = packet_of(TRIB_PATH);
    struct trib_packet answer = {.kind = TRIB_KIND_NONE};
    struct bytes bytes = make(child[0].auth, ROOT, probe);
    (void)state;
    open_member(&key);
    send_from(0, &bytes);
    assert_int_equal(hear(0, TRIB_PATH, &answer), trib_auth_rank(0));
    send_from(0, &bytes);
    expect_dropped(TRIB_DROP_REPLAY, 1);
    bytes = make(child[0].auth, ROOT, probe);
    send_from(1, &bytes);
    expect_dropped(TRIB_DROP_AUTH, 1);
    bytes = make(child[0].auth, trib_auth_switch(0, 1), probe);
    send_from(0, &bytes);
    expect_dropped(TRIB_DROP_AUTH, 2);
    bytes = make(child[0].auth, TRIB_AUTH_ALL, probe);
    send_from(0, &bytes);
    expect_dropped(TRIB_DROP_AUTH, 3);
    bytes = make(NULL, 0, probe);
    send_from(0, &bytes);
    expect_dropped(TRIB_DROP_AUTH, 4);
    bytes = make(child[0].auth, ROOT, probe);
    send_from(0, &bytes);
    (void)hear(0, TRIB_PATH, &answer);
    expect_dropped(TRIB_DROP_REPLAY, 1);
}

static void plane__without_a_key_takes_none_with_authenticators(void **state)
{
    struct bytes bytes = make(child[0].auth, ROOT, packet_of(TRIB_PATH));
    (void)state;
    open_member(NULL);
    send_from(0, &bytes);
    expect_dropped(TRIB_DROP_AUTH, 1);
}

static void prove(uint32_t i)
{
    struct trib_packet probe = packet_of(TRIB_PATH);
    struct trib_packet answer = {.kind = TRIB_KIND_NONE};
    struct bytes bytes = make(child[i].auth, ROOT, probe);
    send_from(i, &bytes);
    (void)hear(i, TRIB_PATH, &answer);
    probe.bitmap = answer.lane;
    bytes = make(child[i].auth, ROOT, probe);
    send_from(i, &bytes);
    (void)hear(i, TRIB_PATH, &answer);
    assert_int_equal(answer.lane, 0);
}

static void contribute(uint32_t i, uint64_t sequence, bool is_wanted)
{
    struct trib_packet part = packet_of(TRIB_CONTRIBUTION);
    part.sequence = sequence;
    part.flags = is_wanted ? 0 : TRIB_FLAG_UNWANTED;
    part.type = TRIB_FLOAT32;
    part.reduction = TRIB_SUM;
    part.contributors = 1;
    part.last_rank = (uint16_t)i;
    part.payload = payload;
    part.payload_len = BYTES;
    struct bytes bytes = make(child[i].auth, ROOT, part);
    send_from(i, &bytes);
}

/* Of sequence 0 child 1 alone wants the payload; of 1 all do; of 2 all but child 1. */
static void plane__says_for_whom_results_are(void **state)
{
    const uint16_t wants[3][2] = {{trib_auth_all_but(trib_auth_rank(1)), trib_auth_rank(1)},
                                  {TRIB_AUTH_ALL, TRIB_AUTH_ALL},
                                  {trib_auth_all_but(trib_auth_rank(1)), trib_auth_rank(1)}};
    struct trib_packet result = {.kind = TRIB_KIND_NONE};
    (void)state;
    open_member(&key);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        prove(i);
        world.side[0].verbs.join(world.side[0].plane, COMMUNICATOR, i, 0);
    }
    for (uint64_t sequence = 0; sequence < 3; sequence++) {
        for (uint32_t i = 0; i < CHILDREN; i++) {
            contribute(i, sequence, sequence == 1 || (i == 1) == (sequence == 0));
        }
        for (uint32_t i = 0; i < CHILDREN; i++) {
            assert_int_equal(hear(i, TRIB_RESULT, &result), wants[sequence][i == 1]);
            assert_int_equal(result.sequence, sequence);
            assert_int_equal(result.payload_len != 0, sequence == 1 || (i == 1) == (sequence == 0));
        }
    }
}

/* ---- a switch below ---- */

static void open_with(const struct trib_auth_key *auth, struct trib_branch branch, const struct trib_address *parent)
{
    uint16_t ranks[CHILDREN] = {0, 1, 2};
    branch.ranks = ranks;
    branch.count = branch.is_switch ? CHILDREN : 1;
    trib_port_local(child[0].udp, &branch.from);
    const struct trib_opening opening = {.session = world.session,
                                         .ranks = CHILDREN,
                                         .scheme = scheme_name,
                                         .boot = world.boot,
                                         .branches = &branch,
                                         .count = 1,
                                         .parent = parent,
                                         .auth = auth};
    assert_int_equal(world.side[0].verbs.open(world.side[0].plane, &opening), TRIB_OK);
}

/* child[i] seals and checks as the one with this id, and hears this peer. */
static void become(uint32_t i, uint32_t sender, uint16_t peer, uint32_t heard)
{
    uint8_t own[TRIB_AUTH_KEY], other[TRIB_AUTH_KEY];
    trib_auth_make_sender_key(key.bytes, sender, own);
    trib_auth_make_sender_key(key.bytes, heard, other);
    trib_auth_destroy(child[i].auth);
    child[i].auth = trib_auth_create(own, (uint16_t)sender, 1, false);
    assert_true(child[i].auth != NULL && trib_auth_set_above(child[i].auth, 0, peer, other));
}

/* Ranks behind a switch have its key for packets down. With it they cannot speak for the switch above. */
static void parent__takes_no_packet_by_the_key_that_ranks_below_have(void **state)
{
    const struct trib_packet probe = packet_of(TRIB_PATH);
    struct trib_packet answer = {.kind = TRIB_KIND_NONE};
    (void)state;
    open_with(&key, (struct trib_branch){.is_switch = true, .sender = BELOW}, NULL);
    become(0, BELOW, ROOT, ROOT);
    struct bytes bytes = make(child[0].auth, ROOT, probe);
    send_from(0, &bytes);
    expect_dropped(TRIB_DROP_AUTH, 1);
    become(0, TRIB_AUTH_UP | BELOW, ROOT, ROOT);
    bytes = make(child[0].auth, ROOT, probe);
    send_from(0, &bytes);
    assert_int_equal(hear(0, TRIB_PATH, &answer), BELOW);
}

static void below__has_a_key_for_packets_up(void **state)
{
    static const struct trib_auth_key below = {.bytes = {7, 8, 9}, .below = 1};
    const struct trib_packet probe = packet_of(TRIB_PATH);
    struct trib_packet heard = {.kind = TRIB_KIND_NONE};
    struct trib_address parent;
    (void)state;
    trib_port_local(child[1].udp, &parent);
    become(0, trib_auth_rank(0), BELOW, BELOW);
    become(1, ROOT, BELOW, TRIB_AUTH_UP | BELOW);
    open_with(&below, (struct trib_branch){.sender = trib_auth_rank(0)}, &parent);
    world.side[0].verbs.probe_parent(world.side[0].plane, COMMUNICATOR);
    assert_int_equal(hear(1, TRIB_PATH, &heard), ROOT);
    struct bytes bytes = make(child[0].auth, BELOW, probe);
    send_from(0, &bytes);
    assert_int_equal(hear(0, TRIB_PATH, &heard), trib_auth_rank(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plane__takes_each_packet_once_from_its_sender),
        TEST(plane__without_a_key_takes_none_with_authenticators),
        TEST(plane__says_for_whom_results_are),
        TEST(parent__takes_no_packet_by_the_key_that_ranks_below_have),
        TEST(below__has_a_key_for_packets_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
