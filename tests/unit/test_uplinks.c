/* SPDX-License-Identifier: Apache-2.0 */
/* test_uplinks.c: the connections of a relay to its parent, on real sockets and with a clock that the test sets. What
 * passes on them: test_relay.c. Mirrors src/control/server/uplinks.c. */
#include "control_harness.h"

#include "control/server/uplinks.h"
#include "unit/draw.h"

struct world {
    struct trib_server_config config;
    struct recorder recorder;
    struct trib_jobs jobs;
    struct trib_relay relay;
    struct trib_uplinks uplinks;
    struct trib_session session;
    enum trib_message_kind last; /* that the session below was sent */
    char text[TRIB_ERROR_TEXT_MAX];
    bool has_ended;
};

static void take(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct world *w = owner;
    (void)session;
    w->last = message->kind;
    memcpy(w->text, message->note.text, sizeof w->text);
}

static void take_end(void *owner, struct trib_session *session)
{
    struct world *w = owner;
    (void)session;
    w->has_ended = true;
}

/* A relay whose parent has a port where nobody listens. */
static int start(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    close(fd);
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
    free(w);
    return 0;
}

/* No descriptor tells of a connection that was refused on the spot: time must. */
static void lost__is_due_at_once(void **state)
{
    struct world *w = *state;
    const struct trib_message join = join_message(0, 1);
    w->uplinks.now_ns = TRIB_SECOND_NS;
    assert_true(trib_jobs_receive(&w->jobs, &w->session, &join, TRIB_SECOND_NS));
    assert_int_equal(w->uplinks.count, 1);
    struct pollfd fds[TRIB_CONNECTIONS_MAX];
    while (trib_uplinks_poll(&w->uplinks, fds) == 1 && fds[0].fd >= 0) { /* a kernel may take a moment */
        (void)poll(fds, 1, 1000);
        trib_uplinks_ready(&w->uplinks, fds, 1, TRIB_SECOND_NS);
    }
    assert_false(w->has_ended);
    assert_int_equal(trib_uplinks_next_timeout(&w->uplinks), 0);
    trib_uplinks_on_timeout(&w->uplinks, TRIB_SECOND_NS);
    trib_uplinks_sweep(&w->uplinks, TRIB_SECOND_NS);
    assert_true(w->has_ended);
    assert_int_equal(w->last, TRIB_MESSAGE_AWAY);
    char want[160];
    char parent[64];
    trib_address_format(&w->config.parent, parent);
    snprintf(want, sizeof want, "switch %s, the parent of switch 127.0.0.1:7470, does not answer: connection refused",
             parent);
    assert_string_equal(w->text, want); /* it listens at every address: it is named by the one that leads there */
    assert_int_equal(w->uplinks.count, 0);
    assert_int_equal(trib_uplinks_next_timeout(&w->uplinks), TRIB_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lost__is_due_at_once, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
