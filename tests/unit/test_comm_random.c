/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_random.c: ranks of the library against a random control plane, while the program makes random calls. The
 * control plane speaks mostly in turn, and ends sessions at any time. Each call returns, and no assertion ends the
 * program. A case is drawn from one seed: TRIB_TEST_SEED is the first, TRIB_TEST_CASES their number. Mirrors
 * src/comm/join.c. */
#include "session_script.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/lane.h"
#include "core/packet.h"

#define CASES 40
#define CONNECTIONS_MAX 16
#define STEPS_MAX 400
#define WORLD_MAX 2
/* Longer than all limits of a rank together, many times. */
#define HANG_NS (30 * TRIB_SECOND_NS)

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *random, uint32_t below)
{
    random->state = trib_mix64(random->state + 0x9e3779b97f4a7c15U);
    return (uint32_t)((random->state >> 20) % below);
}

struct world;

struct member {
    struct world *world;
    struct trib_config config;
    struct random random;
    pthread_t thread;
};

struct peer {
    int fd;
    struct trib_message join; /* kind NONE: not yet */
    enum trib_message_kind heard;
};

struct world {
    struct script script; /* its sockets */
    struct member member[WORLD_MAX];
    struct peer peer[CONNECTIONS_MAX];
    struct random random;
    uint32_t ranks;
    uint32_t boot;
    uint32_t steps; /* still to be drawn; then the control plane speaks in turn, or is gone */
    bool is_on_host, is_no_box, has_fallback, goes, forks;
    atomic_uint over;
    atomic_bool is_echo_over;
    atomic_bool is_echo_quiet;
};

/* ---- the program ---- */

static void fork_child(struct trib_comm *comm)
{
    pid_t child = fork();
    if (child == 0) {
        float x = 1;
        struct trib_request *request = NULL;
        bool is_right = trib_barrier(comm) != TRIB_OK &&
                        trib_allreduce_start(comm, &x, &x, 1, TRIB_FLOAT32, TRIB_SUM, &request) != TRIB_OK;
        trib_comm_progress(comm);
        trib_comm_abort(comm);
        (void)trib_comm_close(comm);
        _exit(is_right ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* In one call, by limits one after the other, or by asking alone. */
static enum trib_status wait_somehow(struct member *m, struct trib_request *request)
{
    static const uint64_t limits[] = {0, 1, 50000, 5000000};
    uint32_t way = draw(&m->random, 6);
    enum trib_status status = TRIB_OK;
    bool is_done = false;
    if (way == 5) {
        return trib_request_wait(request);
    }
    while (!is_done) {
        status =
            way == 4 ? trib_request_test(request, &is_done) : trib_request_wait_for(request, limits[way], &is_done);
    }
    return status;
}

static void call(struct member *m, struct trib_comm *comm, unsigned depth)
{
    char error[TRIB_ERROR_TEXT_MAX];
    float x[64] = {0};
    struct trib_comm *made = NULL;
    struct trib_request *request[3] = {NULL};
    uint32_t started = 0;
    enum trib_status status = TRIB_OK;
    bool is_alone = draw(&m->random, 2) == 0;
    const uint32_t list[] = {is_alone ? m->config.rank : 0, 1};
    switch (draw(&m->random, 9)) {
    case 0:
        status = trib_barrier(comm);
        break;
    case 1:
        status = trib_allreduce(comm, x, x, 64, TRIB_FLOAT32, TRIB_SUM);
        break;
    case 2:
        for (uint32_t i = 0; i < 3; i++) {
            started += trib_barrier_start(comm, &request[started]) == TRIB_OK;
        }
        (void)usleep(draw(&m->random, 20000));
        for (uint32_t i = 0; i < started; i++) {
            status = wait_somehow(m, request[i]);
        }
        break;
    case 3:
        (void)usleep(draw(&m->random, 60000));
        break;
    case 4:
        trib_comm_progress(comm);
        break;
    case 5:
        if (draw(&m->random, 6) == 0) {
            trib_comm_abort(comm);
        }
        break;
    case 6:
        if (m->world->forks && draw(&m->random, 3) == 0) {
            fork_child(comm);
        }
        break;
    default:
        if (trib_comm_subset(comm, list, is_alone ? 1 : m->config.ranks, draw(&m->random, 2), &made, error) ==
            TRIB_OK) {
            for (uint32_t n = draw(&m->random, 3); n > 0 && depth < 2; n--) {
                call(m, made, depth + 1);
            }
            (void)trib_comm_close(made);
        }
        break;
    }
    assert_true(status <= TRIB_OK);
}

static void *be_member(void *argument)
{
    struct member *m = argument;
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_comm *comm = NULL;
    if (trib_comm_create(&m->config, &comm, error) == TRIB_OK) {
        for (uint32_t n = draw(&m->random, 6); n > 0; n--) {
            call(m, comm, 0);
        }
        (void)trib_comm_close(comm);
    }
    (void)atomic_fetch_add(&m->world->over, 1);
    return NULL;
}

/* ---- the place that sums ---- */

static void *echo(void *argument)
{
    struct world *w = argument;
    struct pollfd udp = {.fd = w->script.udp, .events = POLLIN};
    while (!atomic_load(&w->is_echo_over)) {
        uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
        struct trib_packet packet;
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        ssize_t got =
            poll(&udp, 1, 5) > 0 ? recvfrom(w->script.udp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len) : -1;
        if (got <= 0 || trib_packet_decode(bytes, (size_t)got, &packet) != TRIB_DROP_NONE || packet.kind != TRIB_PATH ||
            atomic_load(&w->is_echo_quiet)) {
            continue;
        }
        packet.bitmap = packet.lane;
        packet.lane = 0;
        trib_packet_encode(&packet, bytes);
        (void)sendto(w->script.udp, bytes, (size_t)got, 0, (struct sockaddr *)&from, len);
    }
    return NULL;
}

/* ---- the control plane ---- */

static void say(struct peer *peer, const struct trib_message *message)
{
    uint8_t buffer[TRIB_MESSAGE_MAX];
    (void)send(peer->fd, buffer, trib_message_encode(message, buffer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void welcome_peer(struct world *w, struct peer *peer)
{
    struct trib_message message = script_welcome(&w->script, w->boot);
    struct trib_grant *grant = &message.welcome.grant;
    uint64_t name = 0;
    for (const char *at = peer->join.join.job; *at != '\0'; at++) {
        name = trib_mix64(name + (unsigned char)*at);
    }
    grant->communicator = (uint32_t)name | 1;
    grant->salt = name;
    grant->token = trib_mix64(name + (uint64_t)getpid());
    if (w->is_on_host && w->ranks > 1) {
        message.welcome.hosts = 1;
        trib_rank_set_add(&message.welcome.leaders, 0);
    }
    if (w->is_no_box) {
        message.welcome.no_box = true;
        message.welcome.root_count = 1;
        message.welcome.root[0] = trib_address_v4(INADDR_LOOPBACK, grant->data_port);
    }
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
        const struct trib_message *join = &w->peer[i].join;
        if (w->has_fallback && join->kind == TRIB_MESSAGE_JOIN && join->join.meet_port != 0) {
            message.welcome.meeting = trib_address_v4(INADDR_LOOPBACK, join->join.meet_port);
        }
    }
    say(peer, &message);
}

/* Mostly none, and now and then more than any. */
static uint64_t draw_mark(struct world *w)
{
    return draw(&w->random, 4) != 0 ? 0 : UINT64_C(1) << draw(&w->random, 64);
}

static void say_anything(struct world *w, struct peer *peer)
{
    static const enum trib_message_kind kinds[] = {
        TRIB_MESSAGE_FAIL, TRIB_MESSAGE_MARK,   TRIB_MESSAGE_DESCRIBE,  TRIB_MESSAGE_MISSING,   TRIB_MESSAGE_PONG,
        TRIB_MESSAGE_GONE, TRIB_MESSAGE_CLOSED, TRIB_MESSAGE_ROOT_JOIN, TRIB_MESSAGE_ROOT_OPEN, TRIB_MESSAGE_ROOT_CHILD,
        TRIB_MESSAGE_AWAY, TRIB_MESSAGE_READY,  TRIB_MESSAGE_RING};
    uint32_t likely = draw(&w->random, 3) != 0 ? 5 : sizeof kinds / sizeof kinds[0];
    struct trib_message message = {.kind = kinds[draw(&w->random, likely)]};
    switch ((int)message.kind) {
    case TRIB_MESSAGE_READY:
        message.ready.boot = w->boot;
        message.ready.mark = draw_mark(w);
        break;
    case TRIB_MESSAGE_FAIL:
        message.fail.status =
            w->has_fallback || draw(&w->random, 2) ? TRIB_ERR_SWITCH : -1 - (int32_t)draw(&w->random, 14);
        break;
    case TRIB_MESSAGE_MARK:
        message.mark.mark = draw_mark(w);
        break;
    case TRIB_MESSAGE_MISSING:
        message.stall.sequence = draw(&w->random, 2);
        message.stall.missing.count = (uint16_t)draw(&w->random, 2);
        break;
    case TRIB_MESSAGE_ROOT_CHILD:
        message.root_child.from = trib_address_v4(INADDR_LOOPBACK, 9);
        break;
    case TRIB_MESSAGE_DESCRIBE:
        message.describe.sequence = draw(&w->random, 3);
        break;
    default:
        break;
    }
    say(peer, &message);
}

static void recall(struct world *w, struct peer *peer)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_RECALL, .recall = {w->boot, "a switch is lost"}};
    w->boot++;
    say(peer, &message);
}

static void end_session(struct peer *peer)
{
    close(peer->fd);
    *peer = (struct peer){.fd = -1};
}

/* What has come, without waiting. */
static void hear(struct world *w, struct peer *peer)
{
    struct pollfd session = {.fd = peer->fd, .events = POLLIN};
    while (peer->fd >= 0 && poll(&session, 1, 0) > 0) {
        struct trib_message message = take_message(peer->fd);
        if (message.kind == TRIB_MESSAGE_NONE) {
            end_session(peer);
            return;
        }
        const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message.ping};
        if (message.kind == TRIB_MESSAGE_PING && draw(&w->random, 8) != 0) {
            say(peer, &answer);
        }
        if (message.kind == TRIB_MESSAGE_JOIN) {
            peer->join = message;
        }
        peer->heard = message.kind == TRIB_MESSAGE_PING ? peer->heard : message.kind;
    }
}

/* What a control plane would say next. */
static void go_on(struct world *w, struct peer *peer)
{
    const struct trib_message ready = {.kind = TRIB_MESSAGE_READY, .ready = {.boot = w->boot, .mark = draw_mark(w)}};
    const struct trib_message closed = {.kind = TRIB_MESSAGE_CLOSED};
    enum trib_message_kind heard = peer->heard;
    peer->heard = TRIB_MESSAGE_NONE;
    if (heard == TRIB_MESSAGE_JOIN && w->script.config.gradient_bytes != 0 && draw(&w->random, 3) == 0) {
        const struct trib_message ring = {.kind = TRIB_MESSAGE_RING, .note = {.text = "few bytes"}};
        say(peer, &ring);
    } else if (heard == TRIB_MESSAGE_JOIN && draw(&w->random, 8) == 0) {
        const struct trib_message away = {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "a switch above is away"}};
        say(peer, &away);
    } else if (heard == TRIB_MESSAGE_JOIN) {
        welcome_peer(w, peer);
    } else if (heard == TRIB_MESSAGE_REGISTER) {
        say(peer, &ready);
    } else if (heard == TRIB_MESSAGE_CLOSE && draw(&w->random, 2)) {
        say(peer, &closed);
    }
}

static void act(struct world *w, struct peer *peer)
{
    int one = draw(&w->random, 3) == 0;
    uint32_t words = 1 + draw(&w->random, 2);
    (void)setsockopt(peer->fd, IPPROTO_TCP, TCP_CORK, &one, sizeof one);
    for (uint32_t i = 0; i < words && peer->fd >= 0; i++) {
        uint32_t what = draw(&w->random, 40);
        if (what < 4 && peer->join.kind == TRIB_MESSAGE_JOIN) {
            recall(w, peer);
        } else if (what < 6 && peer->join.kind == TRIB_MESSAGE_JOIN) {
            say_anything(w, peer);
        } else if (what < 8) {
            end_session(peer);
        } else if (what < 10) {
            atomic_store(&w->is_echo_quiet, draw(&w->random, 3) == 0);
        } else {
            go_on(w, peer);
        }
    }
    int none = 0;
    if (peer->fd >= 0) {
        (void)setsockopt(peer->fd, IPPROTO_TCP, TCP_CORK, &none, sizeof none);
    }
}

static void accept_peer(struct world *w)
{
    struct pollfd listener = {.fd = w->script.listener, .events = POLLIN};
    if (poll(&listener, 1, 1) <= 0) {
        return;
    }
    int fd = accept(w->script.listener, NULL, NULL);
    for (uint32_t i = 0; fd >= 0 && i < CONNECTIONS_MAX; i++) {
        if (w->peer[i].fd < 0) {
            w->peer[i] = (struct peer){.fd = fd};
            return;
        }
    }
    close(fd);
}

/* For good. */
static void end_switch(struct world *w)
{
    close(w->script.listener);
    w->script.listener = -1;
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (w->peer[i].fd >= 0) {
            end_session(&w->peer[i]);
        }
    }
}

static void draw_config(struct world *w, uint32_t rank)
{
    struct member *m = &w->member[rank];
    m->world = w;
    m->random.state = w->random.state + rank;
    m->config = w->script.config;
    m->config.rank = w->is_no_box ? 1 : rank;
    m->config.ranks = w->is_no_box ? 2 : w->ranks;
    m->config.level0 = w->is_on_host;
    m->config.fallback = w->has_fallback;
}

/* Limits of milliseconds, so that each of them is reached now and then. */
static void draw_world(struct world *w, uint64_t seed)
{
    struct trib_config *config = &w->script.config;
    memset(w, 0, sizeof *w);
    w->random.state = seed;
    begin(&w->script);
    w->boot = 5;
    w->is_no_box = draw(&w->random, 5) == 0;
    w->ranks = w->is_no_box ? 1 : 1 + draw(&w->random, 2);
    w->is_on_host = w->ranks > 1 && draw(&w->random, 3) != 0;
    w->has_fallback = !w->is_no_box && draw(&w->random, 3) == 0;
    w->goes = w->has_fallback && draw(&w->random, 4) != 0;
    w->forks = draw(&w->random, 4) == 0;
    w->steps = draw(&w->random, STEPS_MAX);
    config->ranks = w->is_no_box ? 2 : w->ranks;
    config->progress_thread = draw(&w->random, 3) != 0;
    config->gradient_bytes = draw(&w->random, 6) == 0 ? 4096 : 0;
    config->switch_timeout_ns = (20 + draw(&w->random, 200)) * TRIB_MILLISECOND_NS;
    config->join_timeout_ns = (50 + draw(&w->random, 300)) * TRIB_MILLISECOND_NS;
    config->timeout_ns = (20 + draw(&w->random, 200)) * TRIB_MILLISECOND_NS;
    config->linger_ns = draw(&w->random, 100) * TRIB_MILLISECOND_NS;
    (void)snprintf(config->job, sizeof config->job, "random%u-%d", (unsigned)(seed % 1000000), (int)getpid());
    if (w->is_no_box) {
        (void)snprintf(config->rendezvous, sizeof config->rendezvous, "%s", config->switch_address);
        config->switch_address[0] = '\0';
    }
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
        w->peer[i].fd = -1;
    }
}

static void serve(struct world *w)
{
    if (w->script.listener >= 0 && (w->steps > 0 || !w->goes)) {
        accept_peer(w);
    } else if (w->script.listener >= 0) {
        end_switch(w);
    } else {
        (void)usleep(1000);
    }
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct peer *peer = &w->peer[i];
        if (peer->fd >= 0) {
            hear(w, peer);
        }
        if (peer->fd >= 0 && w->steps > 0) {
            act(w, peer);
            w->steps--;
        } else if (peer->fd >= 0 && draw(&w->random, 2)) {
            go_on(w, peer);
        }
    }
}

static void run_case(uint64_t seed)
{
    static struct world world;
    struct world *w = &world;
    pthread_t echoes;
    draw_world(w, seed);
    assert_int_equal(pthread_create(&echoes, NULL, echo, w), 0);
    for (uint32_t i = 0; i < w->ranks; i++) {
        draw_config(w, i);
        assert_int_equal(pthread_create(&w->member[i].thread, NULL, be_member, &w->member[i]), 0);
    }
    uint64_t begun_ns = trib_clock_ns();
    while (atomic_load(&w->over) < w->ranks) {
        serve(w);
        if (trib_clock_ns() - begun_ns > HANG_NS * patience()) {
            fail_msg("seed %llu: a call stays", (unsigned long long)seed);
        }
    }
    for (uint32_t i = 0; i < w->ranks; i++) {
        assert_int_equal(pthread_join(w->member[i].thread, NULL), 0);
    }
    atomic_store(&w->is_echo_over, true);
    assert_int_equal(pthread_join(echoes, NULL), 0);
    if (w->script.listener >= 0) {
        end_switch(w);
    }
    close(w->script.udp);
}

static void cases__end_by_themselves(void **state)
{
    (void)state;
    const char *first = getenv("TRIB_TEST_SEED");
    const char *count = getenv("TRIB_TEST_CASES");
    uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    for (uint64_t i = 0; i < (count != NULL ? strtoull(count, NULL, 10) : CASES); i++) {
        if (first != NULL) {
            fprintf(stderr, "seed %llu at %llu ms\n", (unsigned long long)(seed + i),
                    (unsigned long long)(trib_clock_ns() / TRIB_MILLISECOND_NS % 10000000));
        }
        run_case(seed + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases__end_by_themselves),
    };
    (void)setenv("TRIB_DEBUG", "WARN", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
