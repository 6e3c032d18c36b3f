/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission.c: windows and slots that a job gets, beside those of other jobs. Mirrors
 * src/control/jobs/admission.c; quotas are test_server.c's. */
#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/state.h"
#include "control_harness.h"

static void join__window_is_cut_to_the_socket_buffer(void **state)
{
    struct control *c = *state;
    c->config.receive_room = 2 * 1472 * 10;
    control_start(c);
    int fds[2];
    struct trib_grant grant = run_job(c, 2, fds);
    assert_int_equal(grant.window, 10);
    assert_int_equal(grant.train, 5);
    assert_int_equal(grant.slots, 20);
    close_all(fds, 2);
}

/* A window that follows what switches tell cannot follow nothing; others send a packet each all the same. */
static void join__a_cap_of_nothing_is_refused(void **state)
{
    struct control *c = *state;
    c->config.receive_room = 2 * 1472 - 1;
    control_start(c);
    int fds[2];
    struct trib_grant grant = run_job(c, 2, fds);
    assert_int_equal(grant.window, 1);
    close_all(fds, 2);
    wait_until(c, &c->recorder.closes, 1);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        strcpy(message.join.job, "none");
        strcpy(message.join.settings.scheme, "panama");
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        expect_fail(
            fds[i], TRIB_ERR_REFUSED,
            "job none would get a cap of 0 fragments: packets of 1472 bytes from 2 children, beside those of other "
            "jobs, "
            "share the 2943 bytes that a socket of this switch, or of one between, can hold: raise net.core.rmem_max");
    }
    close_all(fds, 2);
}

static void join__windows_of_all_jobs_fit_the_socket_buffer(void **state)
{
    struct control *c = *state;
    c->config.receive_room = 2 * 1472 * 500;
    control_start(c);
    const uint32_t want[] = {352, 148, 125}; /* what it likes; what is left; a quarter of what it would get alone */
    const char *names[] = {"first", "second", "third"};
    int fds[3][2];
    for (unsigned n = 0; n < 3; n++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct trib_message message = join_message(i, 2);
            strcpy(message.join.job, names[n]);
            message.join.data_port[0] = (uint16_t)(20000 + 2 * n + i);
            fds[n][i] = join_with(c, &message);
        }
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(expect(fds[n][i], TRIB_MESSAGE_WELCOME).welcome.grant.window, want[n]);
        }
    }
    for (unsigned n = 0; n < 3; n++) {
        close_all(fds[n], 2);
    }
    wait_until(c, &c->recorder.closes, 3);
}

/* Processes that are in many jobs keep within one window, so the first gets what it likes, and so do the others of the
 * same processes: whole, in part, and with one more. */
static void join__windows_of_the_same_processes_count_once(void **state)
{
    struct control *c = *state;
    c->config.receive_room = 3 * 1472 * 352;
    control_start(c);
    const struct {
        uint32_t ranks, ports[3], window;
    } jobs[] = {{2, {1, 2}, 352},    {2, {1, 2}, 352}, {1, {2}, 352},
                {3, {2, 1, 3}, 352}, {2, {2, 4}, 176}, {1, {4}, 264}};
    int fds[6][3];
    for (unsigned n = 0; n < 6; n++) {
        for (uint32_t i = 0; i < jobs[n].ranks; i++) {
            struct trib_message message = join_message(i, jobs[n].ranks);
            (void)snprintf(message.join.job, sizeof message.join.job, "job-%u", n);
            message.join.data_port[0] = (uint16_t)(20000 + jobs[n].ports[i]);
            fds[n][i] = join_with(c, &message);
        }
        for (uint32_t i = 0; i < jobs[n].ranks; i++) {
            assert_int_equal(expect(fds[n][i], TRIB_MESSAGE_WELCOME).welcome.grant.window, jobs[n].window);
        }
    }
    for (unsigned n = 0; n < 6; n++) {
        close_all(fds[n], jobs[n].ranks);
    }
    wait_until(c, &c->recorder.closes, 6);
}

/* What a rank only says that it once had takes nothing from others, until all its ranks are there. */
static void join__windows_of_those_yet_to_return_do_not_count(void **state)
{
    struct control *c = *state;
    c->config.receive_room = 2 * 1472 * 500;
    control_start(c);
    struct trib_message message = join_message(0, 2);
    message.join.known = (struct trib_grant){.job_token = 4,
                                             .communicator = 7,
                                             .boot = 8,
                                             .roots = 2,
                                             .train = 44,
                                             .slots = TRIB_SLOTS_MAX,
                                             .window = TRIB_SLOTS_MAX,
                                             .generation = 1};
    int stranger = join_with(c, &message);
    message = join_message(0, 1);
    strcpy(message.join.job, "other");
    int fd = join_with(c, &message);
    assert_int_equal(expect(fd, TRIB_MESSAGE_WELCOME).welcome.grant.window, 352);
    close(stranger);
    close(fd);
}

/* Nobody can read a grant of more slots. */
static void join__slots_have_a_bound(void **state)
{
    struct control *c = *state;
    c->config.receive_room = UINT32_MAX;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    message.join.settings.window = UINT32_MAX;
    message.join.settings.payload = TRIB_PAYLOAD_ALIGN;
    int fd = join_with(c, &message);
    assert_int_equal(expect(fd, TRIB_MESSAGE_WELCOME).welcome.grant.slots, TRIB_SLOTS_MAX);
    close(fd);
}

/* ---- without sockets ---- */

#define WIDE 800U

static void take(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct trib_message *welcome = owner;
    (void)session;
    *welcome = *message;
}

static void let_go(void *owner, struct trib_session *session)
{
    (void)owner;
    (void)session;
}

static uint64_t draw(void *owner)
{
    static uint64_t drawn = 1;
    (void)owner;
    return drawn++ * UINT64_C(0x9e3779b97f4a7c15);
}

/* The window that a job gets whose ranks are in the processes from `first` on. */
static uint32_t window_of(struct trib_jobs *jobs, struct trib_session *sessions, const char *name, uint32_t first)
{
    const struct trib_message *welcome = jobs->output.owner;
    for (uint32_t i = 0; i < WIDE; i++) {
        struct trib_message join = join_message(i, WIDE);
        (void)snprintf(join.join.job, sizeof join.join.job, "%s", name);
        sessions[i].peer = trib_address_v4(0x0a000100 + first + i, 50000);
        assert_true(trib_jobs_receive(jobs, &sessions[i], &join, 1));
    }
    trib_jobs_check(jobs);
    assert_int_equal(welcome->kind, TRIB_MESSAGE_WELCOME);
    return welcome->welcome.grant.window;
}

/* However many there are: 2,400 here, of which the first job's are in another one as well. */
static void join__thousands_of_processes_count_once(void **state)
{
    struct trib_message welcome;
    struct recorder recorder = {.opens = 0};
    struct trib_jobs *jobs = malloc(sizeof *jobs);
    struct trib_session *sessions = calloc((size_t)4 * WIDE, sizeof *sessions);
    struct trib_server_config config = {.listen = trib_address_v4(0x0a000001, 7470), .shards = 2, .boot = 1};
    const struct trib_jobs_output output = {&welcome, take, let_go, NULL, draw, NULL};
    (void)state;
    assert_true(jobs != NULL && sessions != NULL);
    pthread_mutex_init(&recorder.lock, NULL);
    config.plane = recorder_verbs(&recorder);
    config.memory_quota = config.job_quota = UINT64_MAX;
    config.join_timeout_ns = TRIB_SECOND_NS;
    config.receive_room = 3 * WIDE * 1472 * 352;
    trib_jobs_init(jobs, &config, &output);
    assert_int_equal(window_of(jobs, sessions, "one", 0), 352);
    assert_int_equal(window_of(jobs, sessions + WIDE, "again", 0), 352);
    assert_int_equal(window_of(jobs, sessions + 2 * WIDE, "two", WIDE), 352);
    assert_int_equal(window_of(jobs, sessions + 3 * WIDE, "three", 2 * WIDE), 352);
    trib_jobs_deinit(jobs, TRIB_ERR_SWITCH, "the end");
    pthread_mutex_destroy(&recorder.lock);
    free(jobs);
    free(sessions);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, control_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__window_is_cut_to_the_socket_buffer),
        TEST(join__a_cap_of_nothing_is_refused),
        TEST(join__windows_of_all_jobs_fit_the_socket_buffer),
        TEST(join__windows_of_the_same_processes_count_once),
        TEST(join__windows_of_those_yet_to_return_do_not_count),
        TEST(join__slots_have_a_bound),
        cmocka_unit_test(join__thousands_of_processes_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
