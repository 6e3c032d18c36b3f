/* SPDX-License-Identifier: Apache-2.0 */
/* test_meeting.c: where ranks are told to meet if their switch is gone for good, by what is known of rank 0; and that
 * all ranks must want it. Real TCP for the dialogue, a data plane that only records (control_harness.h). */
#include "control/jobs/meeting.h"
#include "control/jobs/state.h"
#include "net/resolve.h"

#include "control_harness.h"

/* Rank 0, and another one that has reached the control plane at 10.0.0.1. */
struct place {
    const char *why, *address, *leaf; /* leaf: the switch below that it has come to */
    const char *other, *meeting;      /* meeting NULL: there is none */
    bool wants, listens;
};

static const struct place places[] = {
    {"as its session is seen", "10.0.0.5:41000", NULL, "10.0.0.6:41000", "10.0.0.5:7000", true, true},
    {"over IPv6", "[2001:db8::5]:41000", NULL, "[2001:db8::6]:41000", "[2001:db8::5]:7000", true, true},
    {"on the switch's machine", "127.0.0.1:41000", NULL, "10.0.0.6:41000", "10.0.0.1:7000", true, true},
    {"all on one machine", "127.0.0.1:41000", NULL, "127.0.0.1:41001", "127.0.0.1:7000", true, true},
    {"at a switch below", "10.1.0.5:20000", "10.0.0.9:41000", "10.0.0.6:41000", "10.1.0.5:7000", true, true},
    {"on its machine", "127.0.0.1:20000", "10.0.0.9:41000", "10.0.0.6:41000", "10.0.0.9:7000", true, true},
    {"on that of both switches", "127.0.0.1:20000", "127.0.0.1:41000", "10.0.0.6:41000", "10.0.0.1:7000", true, true},
    {"known on one link only", "[fe80::5%1]:41000", NULL, "[fe80::6%1]:41000", NULL, true, true},
    {"that does not want it", "10.0.0.5:41000", NULL, "10.0.0.6:41000", NULL, false, true},
    {"that does not listen", "10.0.0.5:41000", NULL, "10.0.0.6:41000", NULL, true, false},
};

static void choose__by_what_is_known_of_rank_0(void **state)
{
    (void)state;
    const struct trib_server_config config = {.shards = 2};
    struct trib_jobs jobs = {.config = &config};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        const struct place *place = &places[i];
        struct trib_session sessions[2] = {0};
        struct trib_job *job = calloc(1, sizeof *job + 2 * sizeof job->ranks[0]);
        char text[64];
        assert_non_null(job);
        job->settings.ranks = 2;
        job->settings.fallback = place->wants;
        assert_int_equal(trib_address_parse(place->address, 0, &job->ranks[0].address, NULL), TRIB_OK);
        assert_int_equal(trib_address_parse(place->other, 0, &job->ranks[1].address, NULL), TRIB_OK);
        job->ranks[0].session = &sessions[0];
        job->ranks[1].session = &sessions[1];
        sessions[1].local = trib_address_v4(0x0a000001, 7470);
        job->ranks[0].meet_port = place->listens ? 7000 : 0;
        struct trib_remote leaf = {.is_below = true};
        if (place->leaf) {
            assert_int_equal(trib_address_parse(place->leaf, 0, &leaf.peer, NULL), TRIB_OK);
            sessions[0].leaf = &leaf;
        }
        trib_job_choose_meeting(&jobs, job);
        print_message("%s\n", place->why);
        if (place->meeting) {
            trib_address_format(&job->meeting, text);
            assert_string_equal(text, place->meeting);
        } else {
            assert_int_equal(job->meeting.len, 0);
        }
        free(job);
    }
}

/* How a rank has found its combiner, that one the next, and so on to the server. */
struct chain {
    const char *why;
    const char *peer, *local;    /* the rank's session */
    const char *link[3];         /* each switch's parent, as the switch has found it */
    const char *listen, *server; /* server NULL: none is named */
};

static const struct chain chains[] = {
    {"each on its machine", "10.0.1.5:41000", "10.0.1.1:7470", {"10.0.0.1:7470"}, "0.0.0.0:7470", "10.0.0.1:7470"},
    {"combiner beside the server",
     "10.0.1.5:4100",
     "10.0.1.1:7480",
     {"127.0.0.1:7470"},
     "0.0.0.0:7470",
     "10.0.1.1:7470"},
    {"rank beside the combiner",
     "127.0.0.1:41000",
     "127.0.0.1:7480",
     {"10.0.0.1:7470"},
     "0.0.0.0:7470",
     "10.0.0.1:7470"},
    {"all on one machine", "127.0.0.1:41000", "127.0.0.1:7480", {"127.0.0.1:7470"}, "127.0.0.1:7470", "127.0.0.1:7470"},
    {"all on one machine, at several loopback addresses",
     "127.0.0.5:41000",
     "127.0.0.3:7480",
     {"127.0.0.1:7470"},
     "127.0.0.1:7470",
     "127.0.0.1:7470"},
    {"two combiners",
     "10.0.2.5:41000",
     "10.0.2.1:7470",
     {"10.0.1.1:7470", "10.0.0.1:7470"},
     "0.0.0.0:7470",
     "10.0.0.1:7470"},
    {"the upper one beside the server",
     "10.0.2.5:41000",
     "10.0.2.1:7470",
     {"10.0.1.1:7480", "127.0.0.1:7470"},
     "0.0.0.0:7470",
     "10.0.1.1:7470"},
    {"server for its machine alone", "10.0.1.5:41000", "10.0.1.1:7480", {"127.0.0.1:7470"}, "127.0.0.1:7470", NULL},
    {"unknown address", "10.0.1.5:41000", "10.0.1.1:7480", {"-"}, "0.0.0.0:7470", NULL},
    {"address of one link", "[fd00::5]:41000", "[fd00::1]:7470", {"[fe80::1%1]:7470"}, "[::]:7470", NULL},
    {"another family", "10.0.1.5:41000", "10.0.1.1:7470", {"[fd00::1]:7470"}, "[::]:7470", NULL},
    {"no combiner", "10.0.1.5:41000", "10.0.0.1:7470", {NULL}, "0.0.0.0:7470", NULL},
};

static struct trib_address read_address(const char *text)
{
    struct trib_address address = {.len = 0};
    if (strcmp(text, "-") != 0) {
        assert_int_equal(trib_address_parse(text, 0, &address, NULL), TRIB_OK);
    }
    return address;
}

static void server__is_where_the_switches_have_found_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        const struct chain *chain = &chains[i];
        const struct trib_server_config config = {.shards = 2, .listen = read_address(chain->listen)};
        const struct trib_jobs jobs = {.config = &config};
        struct trib_session session = {.peer = read_address(chain->peer), .local = read_address(chain->local)};
        struct trib_remote leaf[3] = {0};
        struct trib_job job = {.settings.scheme = "atp"};
        char text[64] = "";
        for (unsigned k = 0; k < 3 && chain->link[k]; k++) {
            leaf[k].local = read_address(chain->link[k]);
            leaf[k].above = k < 2 && chain->link[k + 1] ? &leaf[k + 1] : NULL;
            session.leaf = &leaf[0];
        }
        print_message("%s\n", chain->why);
        struct trib_address server = trib_job_server_towards(&jobs, &job, &session);
        if (server.len > 0) {
            trib_address_format(&server, text);
        }
        assert_string_equal(text, chain->server ? chain->server : "");
        strcpy(job.settings.scheme, "switchml"); /* its ranks are children of the switch that they come to */
        assert_int_equal(trib_job_server_towards(&jobs, &job, &session).len, 0);
    }
}

static void welcome__names_it_to_all(void **state)
{
    struct control *c = *state;
    int fds[3];
    control_start(c);
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message message = join_message(i, 3);
        message.join.settings.fallback = true;
        message.join.meet_port = i == 0 ? 7000 : 0;
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 3; i++) {
        char text[64];
        const struct trib_message message = expect(fds[i], TRIB_MESSAGE_WELCOME);
        trib_address_format(&message.welcome.meeting, text);
        assert_string_equal(text, "127.0.0.1:7000");
    }
    close_all(fds, 3);
}

static void join__all_want_it_or_none(void **state)
{
    static const char cause[] = "settings differ: fallback is off on rank 0 and on on rank 1";
    struct control *c = *state;
    int fds[2];
    control_start(c);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        message.join.settings.fallback = i == 1;
        fds[i] = join_with(c, &message);
    }
    expect_fail(fds[0], TRIB_ERR_SETTINGS, cause);
    expect_fail(fds[1], TRIB_ERR_SETTINGS, cause);
}

/* Who has closed may have what those lack that go on: it hears what they hear. If they know nowhere to go on, it is
 * needed by nobody. */
static void shutdown__is_told_to_who_has_closed(void **state)
{
    struct control *c = *state;
    for (uint32_t wish = 0; wish < 3; wish++) {
        bool goes_on = wish == 2;
        int fds[2];
        control_init(c);
        control_start(c);
        for (uint32_t i = 0; i < 2; i++) {
            struct trib_message message = join_message(i, 2);
            message.join.settings.fallback = wish > 0;
            message.join.meet_port = goes_on && i == 0 ? 7000 : 0;
            fds[i] = join_with(c, &message);
        }
        for (uint32_t i = 0; i < 2; i++) {
            (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
            send_paths(fds[i], true, false);
            send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
        }
        (void)expect(fds[0], TRIB_MESSAGE_READY);
        (void)expect(fds[1], TRIB_MESSAGE_READY);
        send_mark(fds[0], TRIB_MESSAGE_CLOSE, 7);
        (void)expect(fds[0], TRIB_MESSAGE_MARK);
        control_stop(c);
        if (goes_on) {
            expect_fail(fds[0], TRIB_ERR_SWITCH, "is shutting down");
        } else {
            (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
            close(fds[0]);
        }
        expect_fail(fds[1], TRIB_ERR_SWITCH, "is shutting down");
        memset(c, 0, sizeof *c);
    }
}

static void begin_pair(struct control *c, struct trib_message *joins, int *fds, bool goes_on)
{
    for (uint32_t i = 0; i < 2; i++) {
        joins[i] = join_message(i, 2);
        joins[i].join.settings.fallback = goes_on;
        joins[i].join.meet_port = goes_on && i == 0 ? 7000 : 0;
        fds[i] = join_with(c, &joins[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        joins[i].join.known = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        joins[i].join.was_ready = true;
        send_paths(fds[i], true, false);
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    (void)expect(fds[0], TRIB_MESSAGE_READY);
    (void)expect(fds[1], TRIB_MESSAGE_READY);
}

/* A rank whose way here is back before this control plane has seen that it was away: all are to come back, and it takes
 * its place. Another token takes none. */
static void return__before_its_end_is_seen(void **state)
{
    struct control *c = *state;
    for (uint32_t goes_on = 0; goes_on < 2; goes_on++) {
        struct trib_message joins[2];
        int fds[2];
        control_init(c);
        control_start(c);
        begin_pair(c, joins, fds, goes_on != 0);
        joins[1].join.known.token ^= 1;
        expect_fail(join_with(c, &joins[1]), TRIB_ERR_PEER, "the switch itself did not restart");
        joins[1].join.known.token ^= 1;
        int again = join_with(c, &joins[1]);
        assert_int_equal(expect(fds[0], TRIB_MESSAGE_RECALL).recall.boot, joins[1].join.known.boot);
        send_message(fds[0], &joins[0]); /* this session stands */
        const struct trib_message message = expect(again, TRIB_MESSAGE_WELCOME);
        assert_int_equal(message.welcome.grant.communicator, joins[1].join.known.communicator);
        assert_int_not_equal(message.welcome.grant.boot, joins[1].join.known.boot);
        (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
        close(again);
        close_all(fds, 2);
        control_stop(c);
        memset(c, 0, sizeof *c);
    }
}

/* One that had sent CLOSE holds up no other rank: it waits for CLOSED in its place. */
static void return__after_close(void **state)
{
    struct control *c = *state;
    struct trib_message joins[2];
    int fds[2];
    control_init(c);
    control_start(c);
    begin_pair(c, joins, fds, false);
    send_mark(fds[1], TRIB_MESSAGE_CLOSE, 7);
    (void)expect(fds[1], TRIB_MESSAGE_MARK);
    int again = join_with(c, &joins[1]);
    uint8_t byte;
    assert_false(read_exactly(fds[1], &byte, 1));
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 7);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    (void)expect(again, TRIB_MESSAGE_CLOSED);
    close(again);
    close_all(fds, 2);
    control_stop(c);
}

static int allocate(void **state)
{
    *state = calloc(1, sizeof(struct control));
    return *state == NULL;
}

static int release(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choose__by_what_is_known_of_rank_0),
        cmocka_unit_test(server__is_where_the_switches_have_found_it),
        cmocka_unit_test_setup_teardown(welcome__names_it_to_all, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(join__all_want_it_or_none, control_set_up, control_tear_down),
        cmocka_unit_test_setup_teardown(shutdown__is_told_to_who_has_closed, allocate, release),
        cmocka_unit_test_setup_teardown(return__before_its_end_is_seen, allocate, release),
        cmocka_unit_test_setup_teardown(return__after_close, allocate, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
