/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_border.c: a control plane and those who should not be let in: ranks of another run, jobs without a name,
 * strangers under a job's name, one address that takes all there is. Read next: control_harness.h, test_server.c. */
#include "control_harness.h"

#include <sys/resource.h>

#include "control/jobs/state.h"

static int join_of_run(struct control *c, uint32_t rank, const char *run)
{
    struct trib_message message = join_message(rank, 2);
    strcpy(message.join.run, run);
    return join_with(c, &message);
}

/* Also one whose settings differ: the job of those who are there does not end. */
static void join__a_rank_of_another_run_is_refused_alone(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(1, 2);
    int first = join_of_run(c, 0, "Slurm 1:0");
    expect_fail(join_of_run(c, 1, "Slurm 2:0"), TRIB_ERR_REFUSED,
                "two runs of job digits: rank 0 is of Slurm 1:0, rank 1 of Slurm 2:0: give each run a job name");
    expect_fail(join_of_run(c, 1, ""), TRIB_ERR_REFUSED, "rank 0 is of Slurm 1:0, rank 1 of a run without a name");
    message.join.settings.payload = 64;
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "two runs of job digits");
    int second = join_of_run(c, 1, "Slurm 1:0");
    (void)expect(first, TRIB_MESSAGE_WELCOME);
    (void)expect(second, TRIB_MESSAGE_WELCOME);
    close(first);
    close(second);
}

static void join__a_shared_switch_wants_a_name(void **state)
{
    struct control *c = *state;
    c->config.is_shared = true;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    strcpy(message.join.job, "default");
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED,
                "rank 0 gives its job no name, and this switch is shared: choose one");
    int own = join_of_run(c, 0, "");
    int other = join_of_run(c, 1, "");
    (void)expect(own, TRIB_MESSAGE_WELCOME);
    close(own);
    close(other);
}

/* That of a rendezvous: whoever comes first, rank 0's run is the one. */
static void join__the_place_of_one_run_refuses_others(void **state)
{
    struct control *c = *state;
    c->config.run = "torchrun 29500";
    control_start(c);
    expect_fail(join_of_run(c, 1, "torchrun 29501"), TRIB_ERR_REFUSED,
                "rank 0 is of torchrun 29500, rank 1 of torchrun 29501");
    int first = join_of_run(c, 1, "torchrun 29500");
    int second = join_of_run(c, 0, "torchrun 29500");
    (void)expect(first, TRIB_MESSAGE_WELCOME);
    close(first);
    close(second);
}

/* The switch would send to itself. */
static void join__from_the_switch_itself(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    message.join.data_port[1] = (uint16_t)(c->port + 1);
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "which is this switch");
    message.join.data_port[1] = (uint16_t)(c->port + 2); /* behind its shards */
    int fd = join_with(c, &message);
    (void)expect(fd, TRIB_MESSAGE_WELCOME);
    close(fd);
}

static struct trib_grant grant_of_before(void)
{
    return (struct trib_grant){.salt = 1,
                               .token = 2,
                               .key = 3,
                               .job_token = 4,
                               .communicator = 7,
                               .boot = 0x99,
                               .roots = 2,
                               .train = 4,
                               .slots = 32,
                               .window = 16,
                               .generation = 1,
                               .data_port = 7470};
}

static struct trib_message return_message(uint32_t rank)
{
    struct trib_message message = join_message(rank, 2);
    message.join.known = grant_of_before();
    message.join.was_ready = true;
    return message;
}

static void expect_return(struct control *c)
{
    int fds[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message message = return_message(i);
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant.token, 2);
        close(fds[i]);
    }
}

/* The switch has started anew, and a stranger is the first to name the job, whose ranks are on their way back. */
static void restart__a_running_stranger_takes_no_job(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    int stranger = join_with(c, &message);
    (void)expect(stranger, TRIB_MESSAGE_WELCOME);
    expect_return(c);
    close(stranger);
}

static void restart__a_waiting_stranger_takes_no_job(void **state)
{
    struct control *c = *state;
    control_start(c);
    int stranger = join_of_run(c, 0, "");
    expect_return(c);
    int other = join_of_run(c, 1, ""); /* nor does a return, true or made up, end what gathers */
    (void)expect(stranger, TRIB_MESSAGE_WELCOME);
    (void)expect(other, TRIB_MESSAGE_WELCOME);
    close(stranger);
    close(other);
}

static void restart__other_settings_end_no_return(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = return_message(0);
    int first = join_with(c, &message);
    message = return_message(1);
    message.join.settings.payload = 64;
    expect_fail(join_with(c, &message), TRIB_ERR_SETTINGS, "payload is 1408 on rank 0 and 64 on rank 1");
    message = return_message(1);
    int second = join_with(c, &message);
    (void)expect(first, TRIB_MESSAGE_WELCOME);
    (void)expect(second, TRIB_MESSAGE_WELCOME);
    close(first);
    close(second);
}

static struct trib_message stranger_message(uint32_t rank, uint32_t ranks)
{
    struct trib_message message = join_message(rank, ranks);
    message.join.settings.payload = 64;
    return message;
}

/* PING is answered to who has joined. */
static bool has_joined(int fd)
{
    const struct trib_message question = {.kind = TRIB_MESSAGE_PING, .ping = {1}};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    (void)send(fd, bytes, trib_message_encode(&question, bytes), MSG_NOSIGNAL);
    return next_message(fd).kind == TRIB_MESSAGE_PONG;
}

/* Nobody has proved anything yet: whoever was there first, those who are complete run. */
static void gather__other_settings_end_nobody(void **state)
{
    struct control *c = *state;
    control_start(c);
    for (uint32_t before = 0; before < 3; before++) { /* so many of the job were there before the stranger */
        const struct trib_message other = stranger_message(0, 3);
        int stranger = -1;
        int fds[3];
        for (uint32_t i = 0; i < 3; i++) {
            const struct trib_message own = join_message(i == 1 ? 2 : i == 2 ? 1 : 0, 3);
            if (i == before) {
                stranger = join_with(c, &other);
                assert_true(has_joined(stranger));
            }
            fds[i] = join_with(c, &own);
        }
        for (uint32_t i = 0; i < 3; i++) {
            (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
        }
        expect_fail(stranger, TRIB_ERR_SETTINGS, ": job digits has all its ranks without");
        close_all(fds, 3);
        wait_until(c, &c->recorder.closes, before + 1);
    }
}

/* Nor does one that mistakes how many there are, while others are coming. */
static void gather__a_smaller_job_ends_no_greater_one(void **state)
{
    struct control *c = *state;
    const struct trib_message other = stranger_message(1, 2);
    int fds[3];
    c->config.join_timeout_ns = 5 * TRIB_SECOND_NS * patience();
    control_start(c);
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_message own = join_message(i, 3);
        fds[i] = join_with(c, &own);
        if (i == 0) {
            expect_fail(join_with(c, &other), TRIB_ERR_SETTINGS, "ranks is 3 on rank 0 and 2 on rank 1");
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
    }
    close_all(fds, 3);
}

/* Whom nobody agrees with waits as for ranks that do not come, and hears why it was in vain. */
static void gather__a_timeout_names_what_differs(void **state)
{
    struct control *c = *state;
    c->config.join_timeout_ns = TRIB_SECOND_NS * patience();
    control_start(c);
    const struct trib_message joins[] = {join_message(0, 4), stranger_message(1, 3)};
    int first = join_with(c, &joins[0]);
    int second = join_with(c, &joins[1]);
    expect_fail(first, TRIB_ERR_TIMEOUT,
                "for ranks 1, 2, 3 of job digits: settings differ: ranks is 4 on rank 0 and 3 on rank 1");
    expect_fail(second, TRIB_ERR_TIMEOUT, "of job digits: settings differ: ranks is 4 on rank 0 and 3 on rank 1");
}

/* Every field of JOIN of which some value cannot be, though it could be read: the answer names the field. Those of which
 * every value can be are window, gradient bytes, priority, host, room, meet port, multicast, level 0 and capabilities, root port and
 * weight, via and origin, and of a grant its secrets, its group and its weights. What cannot be read: test_session.c. */
static void join__a_value_that_cannot_be_names_the_field(void **state)
{
    struct control *c = *state;
    control_start(c);
#define REFUSED(field, value, status, part)                           \
    do {                                                              \
        struct trib_message message = join_message(1, 4);             \
        message.join.field = (value);                                 \
        expect_fail(join_with(c, &message), TRIB_ERR_##status, part); \
    } while (0)
    REFUSED(version, 9, VERSION, "session 9 and packet 1");
    REFUSED(wire_version, 2, VERSION, "and packet 2");
    REFUSED(job[0], '\0', INVALID, "job name is 1 to 64");
    REFUSED(job[0], '"', INVALID, "job name is 1 to 64");
    REFUSED(run[0], '\n', INVALID, "run's name is at most 64");
    REFUSED(rank, 4, INVALID, "rank 4 is out of range: the job has 4 ranks");
    REFUSED(data_port[0], 0, INVALID, "data ports: rank 1 names no UDP port");
    REFUSED(data_port[2 + 1], 9, INVALID, "data ports: rank 1 names a UDP port behind one that is 0");
    REFUSED(data_port[0], c->port, INVALID, "data ports: rank 1 cannot send from 127.0.0.1:");
    REFUSED(settings.scheme[0], 'S', INVALID, "unknown scheme Switchml");
    REFUSED(settings.ranks, 1025, INVALID, "1025 ranks: a communicator has 1 to 1024");
    REFUSED(settings.payload, 65, INVALID, "payload 65: want a multiple of 64");
    REFUSED(settings.wire, 2, INVALID, "wire 2: want 1");
    REFUSED(is_ring, true, INVALID, "part of a ring");
    REFUSED(roots, 33, INVALID, "roots 33: rank 1 can send to 32 at most");
#undef REFUSED
    struct trib_message message = join_message(1, 4);
    message.join.settings.fallback = true;
    strcpy(message.join.settings.scheme, "panama:7/8");
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "has no fallback");
    message = join_message(1, 4);
    message.join.address_count = 1;
    message.join.address[0] = trib_address_v4(0xe0000001, 0);
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "addresses: rank 1 comes from 127.0.0.1:");
}

static void join__a_grant_that_cannot_be_names_the_field(void **state)
{
    struct control *c = *state;
    control_start(c);
#define REFUSED(field, value, status, part)                           \
    do {                                                              \
        struct trib_message message = return_message(1);              \
        message.join.known.field = (value);                           \
        expect_fail(join_with(c, &message), TRIB_ERR_##status, part); \
    } while (0)
    REFUSED(roots, 0, INVALID, "its value of field \"roots\"");
    REFUSED(roots, 3, REFUSED, "used 3 shards, but the switch came back with 2");
    REFUSED(train, 0, INVALID, "its value of field \"train\"");
    REFUSED(train, 65, INVALID, "its value of field \"train\"");
    REFUSED(slots, 15, INVALID, "its value of field \"slots\"");
    REFUSED(slots, (1U << 20) + 1, INVALID, "its value of field \"slots\"");
    REFUSED(window, 0, INVALID, "its value of field \"granted window\"");
    REFUSED(generation, 0, INVALID, "its value of field \"generation\"");
    REFUSED(switches[1], 1, INVALID, "its field \"switches\"");
    REFUSED(boot, c->config.boot, PEER, "did not restart");
#undef REFUSED
}

/* A JOIN under this name, of one that comes from 127.0.0.host. */
static int join_from(struct control *c, uint32_t host, uint32_t number, uint32_t ranks)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xffffff00U) + host)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    struct trib_message message = join_message(0, ranks);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    (void)snprintf(message.join.job, sizeof message.join.job, "job %u", number);
    send_message(fd, &message);
    return fd;
}

/* A JOIN of a hundred bytes that says it is of 1,024 ranks is given a place for each. */
static void gather__one_address_has_its_share_of_memory(void **state)
{
    enum { MOST = 64 };
    struct control *c = *state;
    int fds[MOST];
    uint32_t count = 0;
    c->config.join_timeout_ns = 60 * TRIB_SECOND_NS * patience();
    control_start(c);
    while (count < MOST && (fds[count] = join_from(c, 1, count, TRIB_RANKS_MAX)) >= 0 && has_joined(fds[count])) {
        count++;
    }
    assert_in_range(count, 4, MOST - 1);
    close(fds[count]);
    fds[count] = join_from(c, 1, count, TRIB_RANKS_MAX);
    const struct trib_message away = expect(fds[count], TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(away.note.text, "a job of 1024 ranks needs 3"));
    assert_non_null(
        strstr(away.note.text, "one address may have 64 MiB for such jobs; those from the address of 127.0.0.1:"));
    assert_int_equal(next_message(fds[count]).kind, TRIB_MESSAGE_NONE);
    close(fds[count]);
    int other = join_from(c, 2, count, TRIB_RANKS_MAX);
    assert_true(has_joined(other));
    close(fds[0]); /* and its job, of which nobody else has come */
    bool is_free = false;
    for (uint32_t i = 0; i < 400 * patience() && !is_free; i++) {
        fds[0] = join_from(c, 1, count + 1 + i, TRIB_RANKS_MAX);
        is_free = has_joined(fds[0]);
        if (!is_free) {
            close(fds[0]);
            usleep(5000);
        }
    }
    assert_true(is_free);
    close(other);
    close_all(fds, count);
}

/* However small they are. */
static void gather__one_address_has_its_share_of_jobs(void **state)
{
    static int fds[TRIB_JOBS_MAX];
    struct control *c = *state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < 4 * TRIB_JOBS_MAX) {
        skip();
    }
    c->config.join_timeout_ns = 60 * TRIB_SECOND_NS * patience();
    control_start(c);
    for (uint32_t i = 0; i < TRIB_JOBS_NEAR_MAX; i++) {
        fds[i] = join_from(c, 1, i, 2);
        assert_true(has_joined(fds[i]));
    }
    int beyond = join_from(c, 1, TRIB_JOBS_MAX, 2);
    const struct trib_message away = expect(beyond, TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(away.note.text, "has begun 768 jobs, and one address may have so many of the 1024"));
    assert_non_null(strstr(away.note.text, "the switch answers, and its limit is reached: the address of 127."));
    close(beyond);
    for (uint32_t i = TRIB_JOBS_NEAR_MAX; i < TRIB_JOBS_MAX; i++) {
        fds[i] = join_from(c, 2, i, 2);
        assert_true(has_joined(fds[i]));
    }
    expect_fail(join_from(c, 3, TRIB_JOBS_MAX, 2), TRIB_ERR_REFUSED,
                "this control plane has 1024 jobs, and takes no more");
    assert_true(has_joined(fds[TRIB_JOBS_MAX - 1])); /* a job that is there goes on */
    close(fds[0]);
    int later = -1;
    do { /* the control plane may see this session before the end of the other one */
        close(later);
        later = join_from(c, 3, TRIB_JOBS_MAX, 2);
    } while (!has_joined(later));
    close(later);
    close_all(fds + 1, TRIB_JOBS_MAX - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, control_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__a_rank_of_another_run_is_refused_alone), TEST(join__a_shared_switch_wants_a_name),
        TEST(join__the_place_of_one_run_refuses_others),    TEST(join__from_the_switch_itself),
        TEST(join__a_value_that_cannot_be_names_the_field), TEST(join__a_grant_that_cannot_be_names_the_field),
        TEST(restart__a_running_stranger_takes_no_job),     TEST(restart__a_waiting_stranger_takes_no_job),
        TEST(restart__other_settings_end_no_return),        TEST(gather__other_settings_end_nobody),
        TEST(gather__a_smaller_job_ends_no_greater_one),    TEST(gather__a_timeout_names_what_differs),
        TEST(gather__one_address_has_its_share_of_memory),  TEST(gather__one_address_has_its_share_of_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
