/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_hostile.c: a control plane says well-formed messages that hold any values, mostly in turn. Whatever it says, the
 * rank's process does not end, and its calls return. TRIB_HOSTILE_CASES: cases to run; TRIB_HOSTILE_FIRST: the first. */
#include "session_script.h"

#include <signal.h>

#include "core/lane.h"
#include "schemes/schemes.h"

#define CASES 80
#define SESSIONS_MAX 8  /* of a case: the last ones are ended at once */
#define STEPS 40        /* of a session */
#define BOOT 5          /* as script_welcome */
#define COMMUNICATOR 7U /* as script_welcome */

enum setup { PLAIN, MULTICAST, ROOTS, RING, THRESHOLD, SETUPS };

struct hostile {
    struct script script;
    enum setup setup;
    uint64_t drawn;
    bool is_ring;
    enum trib_stage stage; /* of the rank, as far as it is known here */
};

static uint64_t draw(struct hostile *h, uint64_t below)
{
    h->drawn = trib_mix64(h->drawn + 1);
    return h->drawn % below;
}

static uint64_t odd_value(struct hostile *h)
{
    static const uint64_t values[] = {0, 1, 2, 3, 4, 15, 16, 17, 63, 64, 255, 1024, 65535, UINT32_MAX, UINT64_MAX};
    return values[draw(h, sizeof values / sizeof values[0])];
}

/* Mostly that of the socket which echoes. */
static struct trib_address odd_address(struct hostile *h)
{
    struct sockaddr_in at = {0};
    socklen_t len = sizeof at;
    assert_int_equal(getsockname(h->script.udp, (struct sockaddr *)&at, &len), 0);
    uint32_t host = draw(h, 12) == 0 ? (uint32_t)odd_value(h) : INADDR_LOOPBACK;
    return trib_address_v4(host, draw(h, 12) == 0 ? (uint16_t)odd_value(h) : ntohs(at.sin_port));
}

/* The rank may have gone. */
static void say(int fd, const struct trib_message *message)
{
    uint8_t bytes[TRIB_MESSAGE_MAX];
    (void)send(fd, bytes, trib_message_encode(message, bytes), MSG_NOSIGNAL);
}

/* Kind NONE: the rank has gone, in the middle of a message perhaps. */
static struct trib_message hear(int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used = 0;
    if (!read_exactly(fd, bytes, 4)) {
        return message;
    }
    size_t len = ((size_t)bytes[2] << 8) | bytes[3];
    assert_true(len <= TRIB_MESSAGE_MAX - 4);
    if (read_exactly(fd, bytes + 4, len)) {
        assert_int_equal(trib_message_decode(bytes, len + 4, &message, &used), TRIB_OK);
    }
    return message;
}

/* ---- the rank ---- */

static void set_up(struct hostile *h)
{
    struct script *s = &h->script;
    begin(s);
    hurry(s);
    s->config.ranks = 2;
    s->config.rank = 1;
    s->config.timeout_ns = TRIB_SECOND_NS;
    s->config.linger_ns = 10 * TRIB_MILLISECOND_NS;
    s->config.level0 = draw(h, 2) == 0;
    s->config.multicast = h->setup == MULTICAST || draw(h, 4) == 0;
    s->config.fallback = (h->setup == PLAIN || h->setup == MULTICAST) && draw(h, 4) == 0;
    s->config.gradient_bytes = h->setup == THRESHOLD ? 1000 : 0;
    if (h->setup == ROOTS || h->setup == RING) {
        (void)snprintf(s->config.rendezvous, sizeof s->config.rendezvous, "%s", s->config.switch_address);
        s->config.switch_address[0] = '\0';
    }
    (void)snprintf(s->config.scheme, sizeof s->config.scheme, "%s", h->setup == RING ? "ring" : "switchml");
}

/* ---- WELCOME ---- */

static void name_roots(struct hostile *h, struct trib_message *message, uint32_t roots)
{
    message->welcome.grant.roots = roots;
    message->welcome.root_count = (uint8_t)roots;
    for (uint32_t i = 0; i < roots; i++) {
        message->welcome.root[i] = odd_address(h);
    }
}

static void name_peers(struct hostile *h, struct trib_message *message)
{
    struct trib_session_config session = {.ranks = 2, .payload = 1024};
    uint16_t peers[TRIB_PEERS_MAX];
    trib_scheme_settle("ring", &session);
    message->welcome.peer_count = (uint8_t)trib_scheme_find("ring")->worker->peers(&session, 1, peers);
    for (uint32_t i = 0; i < message->welcome.peer_count; i++) {
        message->welcome.peer[i].rank = peers[i];
        message->welcome.peer[i].address = odd_address(h);
    }
}

static void spoil_grant(struct hostile *h, struct trib_grant *grant)
{
    uint64_t value = odd_value(h);
    switch (draw(h, 9)) {
    case 0:
        grant->group = 0xefff0001U;
        grant->group_port = (uint16_t)(draw(h, 2) == 0 ? 7000 : value);
        return;
    case 1:
        grant->roots = (uint32_t)draw(h, 18);
        return;
    case 2:
        grant->train = (uint32_t)value;
        return;
    case 3:
        grant->slots = (uint32_t)value;
        return;
    case 4:
        grant->window = (uint32_t)value;
        return;
    case 5:
        grant->data_port = (uint16_t)value;
        return;
    case 6:
        grant->weight[draw(h, TRIB_ROOTS_MAX)] = (uint8_t)value;
        return;
    case 7:
        grant->generation = (uint16_t)value;
        return;
    default:
        grant->communicator = (uint32_t)value;
        return;
    }
}

static void spoil_welcome(struct hostile *h, struct trib_message *message)
{
    switch (draw(h, 8)) {
    case 0:
        name_roots(h, message, (uint32_t)draw(h, TRIB_ROOTS_MAX + 1));
        return;
    case 1:
        message->welcome.no_box = !message->welcome.no_box;
        return;
    case 2:
        message->welcome.known_as = odd_address(h);
        return;
    case 3:
        message->welcome.generation_ranks = (uint32_t)(odd_value(h) % (TRIB_RANKS_MAX + 1));
        return;
    case 4:
        message->welcome.peer_count = (uint8_t)draw(h, TRIB_PEERS_MAX + 1);
        for (uint32_t i = 0; i < message->welcome.peer_count; i++) {
            message->welcome.peer[i].rank = (uint32_t)draw(h, 3);
            message->welcome.peer[i].address = odd_address(h);
        }
        return;
    default:
        spoil_grant(h, &message->welcome.grant);
        return;
    }
}

static void welcome_somehow(struct hostile *h, int fd)
{
    struct trib_message message = script_welcome(&h->script, BOOT);
    message.welcome.no_box = h->setup == ROOTS;
    message.welcome.meeting = h->script.config.fallback ? odd_address(h) : message.welcome.meeting;
    if (h->is_ring) {
        name_peers(h, &message);
    } else if (h->setup == ROOTS || draw(h, 3) == 0) {
        name_roots(h, &message, 1 + (uint32_t)draw(h, 3));
    }
    if (h->setup == MULTICAST) {
        message.welcome.grant.group = 0xefff0001U;
        message.welcome.grant.group_port = 7000;
    }
    for (uint64_t k = draw(h, 4) == 0 ? 1 + draw(h, 2) : 0; k > 0; k--) {
        spoil_welcome(h, &message);
    }
    say(fd, &message);
}

/* ---- other messages ---- */

static void open_root(struct hostile *h, int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN};
    message.of.communicator = COMMUNICATOR;
    message.of.boot = draw(h, 8) == 0 ? (uint32_t)odd_value(h) : BOOT;
    message.root_open.session = (struct trib_session_config){.salt = 1,
                                                             .communicator = COMMUNICATOR,
                                                             .generation = 1,
                                                             .ranks = 2,
                                                             .roots = 1 + (uint32_t)draw(h, 4),
                                                             .train = 4,
                                                             .slots = 32,
                                                             .payload = 1408,
                                                             .wire = TRIB_FLOAT32};
    message.root_open.ranks = 2;
    message.root_open.index = (uint8_t)draw(h, message.root_open.session.roots + (draw(h, 8) == 0));
    message.root_open.at = odd_address(h);
    (void)snprintf(message.root_open.scheme, sizeof message.root_open.scheme, "switchml");
    say(fd, &message);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message child = {.kind = TRIB_MESSAGE_ROOT_CHILD, .of = message.of};
        child.root_child.rank = (uint16_t)i;
        child.root_child.branch = (uint16_t)(draw(h, 8) == 0 ? odd_value(h) : i);
        child.root_child.from = trib_address_v4(INADDR_LOOPBACK, (uint16_t)(9000 + i));
        say(fd, &child);
    }
}

/* A message that may come at this stage, or any other one. */
static void say_something(struct hostile *h, int fd)
{
    static const enum trib_message_kind kinds[] = {
        TRIB_MESSAGE_READY,  TRIB_MESSAGE_MARK, TRIB_MESSAGE_MISSING,   TRIB_MESSAGE_DESCRIBE,
        TRIB_MESSAGE_RECALL, TRIB_MESSAGE_GONE, TRIB_MESSAGE_RING,      TRIB_MESSAGE_AWAY,
        TRIB_MESSAGE_CLOSED, TRIB_MESSAGE_PONG, TRIB_MESSAGE_ROOT_JOIN, TRIB_MESSAGE_ROOT_MISSING};
    struct trib_message message = {.kind = kinds[draw(h, sizeof kinds / sizeof kinds[0])]};
    bool ends = message.kind == TRIB_MESSAGE_CLOSED || message.kind == TRIB_MESSAGE_ROOT_JOIN ||
                message.kind == TRIB_MESSAGE_ROOT_MISSING || (message.kind == TRIB_MESSAGE_GONE && h->setup != ROOTS);
    if ((ends || !trib_message_is_in_turn(message.kind, TRIB_SENDER_CONTROL, h->stage)) && draw(h, 40) != 0) {
        return;
    }
    if (message.kind == TRIB_MESSAGE_READY) {
        message.ready.boot = (uint32_t)odd_value(h);
        message.ready.mark = odd_value(h);
        message.ready.multicast = draw(h, 2) == 0;
    } else if (message.kind == TRIB_MESSAGE_MARK) {
        message.mark.mark = odd_value(h);
    } else if (message.kind == TRIB_MESSAGE_MISSING) {
        message.stall.sequence = odd_value(h);
        message.stall.missing.count = (uint16_t)draw(h, 3);
    } else if (message.kind == TRIB_MESSAGE_DESCRIBE) {
        message.describe.sequence = odd_value(h);
    } else if (message.kind == TRIB_MESSAGE_RECALL) {
        message.recall.boot = (uint32_t)odd_value(h);
    } else if (message.kind == TRIB_MESSAGE_ROOT_JOIN || message.kind == TRIB_MESSAGE_ROOT_MISSING) {
        message.of.communicator = COMMUNICATOR;
        message.of.boot = BOOT;
        message.root_join.rank = (uint32_t)draw(h, 3);
    }
    say(fd, &message);
}

static void fail_session(int fd)
{
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    say(fd, &fail);
}

/* ---- a session ---- */

/* A PATH packet comes back, from an odd node now and then. */
static void echo_somehow(struct hostile *h)
{
    uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    struct sockaddr_in from;
    struct trib_packet packet;
    socklen_t len = sizeof from;
    ssize_t got = recvfrom(h->script.udp, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
    if (got <= 0 || trib_packet_decode(bytes, (size_t)got, &packet) != TRIB_DROP_NONE || packet.kind != TRIB_PATH) {
        return;
    }
    packet.bitmap = packet.lane;
    packet.lane = 0;
    packet.node = draw(h, 6) == 0 ? (uint16_t)odd_value(h) : packet.node;
    trib_packet_encode(&packet, bytes);
    (void)sendto(h->script.udp, bytes, (size_t)got, 0, (struct sockaddr *)&from, len);
}

static void take_joined(struct hostile *h, int fd, const struct trib_message *join)
{
    h->stage = TRIB_STAGE_JOINING;
    h->is_ring = h->setup == RING || join->join.is_ring;
    if (h->setup == THRESHOLD && !h->is_ring && draw(h, 2) == 0) {
        struct trib_message ring = {.kind = TRIB_MESSAGE_RING};
        say(fd, &ring);
        return;
    }
    if (h->setup == ROOTS && draw(h, 2) == 0) {
        open_root(h, fd);
    }
    welcome_somehow(h, fd);
    h->stage = TRIB_STAGE_WELCOMED;
}

/* Until the rank has gone, at last because of FAIL. */
static void serve(struct hostile *h, int fd, const struct trib_message *join)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = h->script.udp, .events = POLLIN}};
    take_joined(h, fd, join);
    for (unsigned step = 0; step < STEPS; step++) {
        (void)poll(fds, 2, 1);
        if (fds[1].revents != 0) {
            echo_somehow(h);
        }
        struct trib_message message = {.kind = TRIB_MESSAGE_PING};
        if (fds[0].revents != 0) {
            message = hear(fd);
        }
        if (message.kind == TRIB_MESSAGE_NONE) {
            return;
        }
        if (draw(h, 60) == 0) {
            (void)shutdown(fd, SHUT_RDWR);
            return;
        }
        if (message.kind == TRIB_MESSAGE_JOIN) {
            take_joined(h, fd, &message);
        } else if (message.kind == TRIB_MESSAGE_REGISTER) {
            h->stage = TRIB_STAGE_RUNNING;
            const struct trib_message ready = {.kind = TRIB_MESSAGE_READY, .ready = {.boot = BOOT}};
            say(fd, &ready);
        } else if (draw(h, 4) == 0) {
            say_something(h, fd);
        }
    }
    fail_session(fd);
}

static void run_case(uint64_t number)
{
    struct hostile h = {.drawn = trib_mix64(number)};
    struct trib_message join;
    int fd[64];
    unsigned count = 0;
    h.setup = (enum setup)draw(&h, SETUPS);
    set_up(&h);
    start_rank(&h.script);
    while (count < sizeof fd / sizeof fd[0] && (fd[count] = take_join(&h.script, &join)) >= 0) {
        if (count < SESSIONS_MAX) {
            serve(&h, fd[count], &join);
        } else {
            fail_session(fd[count]);
        }
        count++;
    }
    close(h.script.listener);
    assert_int_equal(pthread_join(h.script.thread, NULL), 0);
    while (count > 0) {
        close(fd[--count]);
    }
    close(h.script.udp);
}

static void messages__of_any_values_end_no_process(void **state)
{
    (void)state;
    const char *cases = getenv("TRIB_HOSTILE_CASES");
    const char *first = getenv("TRIB_HOSTILE_FIRST");
    uint64_t from = first != NULL ? strtoull(first, NULL, 10) : 0;
    uint64_t end = from + (cases != NULL ? strtoull(cases, NULL, 10) : CASES);
    for (uint64_t number = from; number < end; number++) {
        print_message("case %llu\n", (unsigned long long)number);
        run_case(number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages__of_any_values_end_no_process),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
