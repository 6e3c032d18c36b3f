/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaving.c: no switch, and ranks that are processes of their own: those that end first take nothing from the
 * others. Each process ends by _exit unless a test says how. Mirrors src/comm/comm.c (close), src/comm/embedded.c
 * (release) and src/comm/fork.c; test_embedded.c has the rest of the latter. */
#include "comm/endpoint.h"
#include "comm_harness.h"

#include <dlfcn.h>

#include "comm/state.h"

#define COUNT 4096

static uint32_t victim = RANKS_MAX; /* is killed */
static int pipes[RANKS_MAX][2];     /* what rank i writes, others read */

static enum { AT_RANK_0, ON_HOST, PAIRS } place; /* where ranks meet; PAIRS: two of each host, at rank 0 */

/* The process's end: 0 if all went well. */
typedef int (*process_body)(uint32_t rank, const struct trib_config *config);

static void run_processes(uint32_t count, process_body body)
{
    pid_t pids[RANKS_MAX];
    begin_no_box();
    no_box = place != ON_HOST;
    on_host = place == ON_HOST;
    ranks_a_host = place == PAIRS ? 2 : 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pipe(pipes[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct trib_config config;
        rank_config(&config, i, count);
        config.linger_ns = 200 * TRIB_MILLISECOND_NS * patience();
        pids[i] = fork();
        if (pids[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)alarm(60 * patience());
            _exit(body(i, &config));
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        int ended = -1;
        (void)close(pipes[i][0]);
        (void)close(pipes[i][1]);
        assert_int_equal(waitpid(pids[i], &ended, 0), pids[i]);
        if (i == victim && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL) {
            ended = 0;
        }
        if (ended != 0) {
            (void)fprintf(stderr, "rank %u ended with %x\n", i, (unsigned)ended);
        }
        pids[i] = ended;
    }
    victim = RANKS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pids[i], 0);
    }
}

static struct trib_comm *enter(const struct trib_config *config)
{
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX];
    if (trib_comm_create(config, &comm, error) != TRIB_OK) {
        (void)fprintf(stderr, "rank %u: %s\n", config->rank, error);
    }
    return comm;
}

static bool sum(struct trib_comm *comm)
{
    static float values[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = 1;
    }
    enum trib_status status = trib_allreduce(comm, values, values, COUNT, TRIB_FLOAT32, TRIB_SUM);
    if (status != TRIB_OK) {
        (void)fprintf(stderr, "rank %u: %s\n", trib_comm_rank(comm), trib_comm_error(comm));
        return false;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!(values[i] >= (float)trib_comm_ranks(comm) && values[i] <= (float)trib_comm_ranks(comm))) {
            return false;
        }
    }
    return true;
}

static bool leave(struct trib_comm *comm)
{
    char text[TRIB_ERROR_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s", trib_comm_error(comm));
    enum trib_status status = trib_comm_close(comm);
    if (status != TRIB_OK) {
        (void)fprintf(stderr, "close: %s %s\n", trib_status_text(status), text);
    }
    return status == TRIB_OK;
}

/* ---- rank 0 ends first ---- */

static int close_first(uint32_t rank, const struct trib_config *config)
{
    struct trib_comm *comm = enter(config);
    if (comm == NULL || !sum(comm)) {
        return 1;
    }
    (void)usleep(rank == 0 ? 100000 : 1500000);
    return leave(comm) ? 0 : 2;
}

static void close__of_rank_0_leaves_idle_ranks_in_peace(void **state)
{
    (void)state;
    run_processes(3, close_first);
}

/* The control plane has ended with rank 0, and this rank knows. */
static void wait_for_its_end(struct trib_comm *comm)
{
    enum trib_comm_state state = TRIB_COMM_NONE;
    while (state != TRIB_COMM_CLOSED && state != TRIB_COMM_FAILED) {
        (void)usleep(10000);
        trib_endpoint_lock(comm->endpoint);
        state = comm->state;
        trib_endpoint_unlock(comm->endpoint);
    }
}

/* A rank that goes on after rank 0 has closed is told so, whatever it calls. */
static int go_on_alone(uint32_t rank, const struct trib_config *config)
{
    struct trib_comm *comm = enter(config);
    struct trib_comm *made = NULL;
    struct trib_request *request = NULL;
    char error[TRIB_ERROR_TEXT_MAX];
    static float value[1];
    const struct trib_call call = {.collective = TRIB_ALLREDUCE,
                                   .type = TRIB_FLOAT32,
                                   .reduction = TRIB_SUM,
                                   .send = value,
                                   .recv = value,
                                   .count = 1};
    const uint32_t members[] = {4, 5};
    enum trib_status status = TRIB_OK;
    if (comm == NULL || !sum(comm)) {
        return 1;
    }
    if (rank == 0) {
        return leave(comm) ? 0 : 2;
    }
    wait_for_its_end(comm);
    switch (rank) {
    case 1:
        status = trib_allreduce(comm, value, value, 1, TRIB_FLOAT32, TRIB_SUM);
        break;
    case 2:
        status = trib_group(comm, &call, 1);
        break;
    case 3:
        status = trib_group_start(comm, &call, 1, &request);
        break;
    case 4:
        status = trib_comm_subset(comm, members, 2, 0, &made, error);
        break;
    default:
        status = trib_comm_split(comm, 0, 0, &made, error);
    }
    bool is_named = strstr(trib_comm_error(comm), "rank 0 (127.0.0.1:") != NULL &&
                    strstr(trib_comm_error(comm), "has closed the communicator") != NULL;
    is_named = is_named && (rank < 4 || strcmp(error, trib_comm_error(comm)) == 0);
    return status == TRIB_ERR_PEER && is_named && trib_comm_close(comm) == TRIB_ERR_PEER ? 0 : 3;
}

static void close__of_rank_0_is_named_to_who_goes_on(void **state)
{
    (void)state;
    run_processes(6, go_on_alone);
}

/* The second rank of each host closes, the first goes on, and its mark is not told: it waits in the host's memory. */
static int go_on_without_the_second(uint32_t rank, const struct trib_config *config)
{
    struct trib_comm *comm = enter(config);
    enum trib_status status = TRIB_OK;
    float value = 1;
    if (comm == NULL) {
        return 1;
    }
    for (uint32_t i = 0; i < 2 - rank % 2 && status == TRIB_OK; i++) {
        status = trib_allreduce(comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM);
    }
    bool has_failed = status == TRIB_ERR_PEER && strstr(trib_comm_error(comm), "has closed the communicator") != NULL;
    (void)trib_comm_close(comm);
    return has_failed || (status == TRIB_OK && rank % 2 != 0) ? 0 : 2; /* the others may have failed before */
}

static void close__is_told_to_who_waits_on_the_same_host(void **state)
{
    (void)state;
    place = PAIRS;
    run_processes(4, go_on_without_the_second);
    place = AT_RANK_0;
}

/* Ranks 1 and 2 go on for a while, however long a sum takes: the first of them says when it is over. */
static int leave_subset(uint32_t rank, const struct trib_config *config, uint64_t while_ns)
{
    struct trib_comm *part = NULL;
    char error[TRIB_ERROR_TEXT_MAX];
    const uint32_t members[] = {1, 2};
    struct trib_comm *comm = enter(config);
    if (comm == NULL || !sum(comm) || (rank != 0 && trib_comm_subset(comm, members, 2, 0, &part, error) != TRIB_OK) ||
        !leave(comm)) {
        return 1;
    }
    if (rank == 0) {
        return 0;
    }
    uint64_t end_ns = trib_clock_ns() + while_ns;
    for (int32_t is_over = 0; !is_over;) {
        (void)usleep(100000);
        is_over = trib_clock_ns() >= end_ns;
        if (!sum(part) || trib_broadcast(part, &is_over, 1, TRIB_INT32, 0) != TRIB_OK) {
            return 2;
        }
    }
    return leave(part) ? 0 : 3;
}

static int go_on_after_close(uint32_t rank, const struct trib_config *config)
{
    return leave_subset(rank, config, 1500 * TRIB_MILLISECOND_NS * patience());
}

static void close__of_rank_0_waits_for_those_who_go_on_without_it(void **state)
{
    (void)state;
    run_processes(3, go_on_after_close);
}

/* An exit() is not the end of the control plane either: rank 0's timeout for close has passed, and yet the subset ends
 * well, before the same time has passed once more. */
static int go_on_after_exit(uint32_t rank, const struct trib_config *config)
{
    struct trib_config patient = *config;
    patient.timeout_ns = rank == 0 ? 2 * TRIB_SECOND_NS * patience() : config->timeout_ns;
    int wrong = leave_subset(rank, &patient, 2500 * TRIB_MILLISECOND_NS * patience());
    if (rank == 0) {
        exit(wrong);
    }
    return wrong;
}

static void exit__of_rank_0_waits_as_well(void **state)
{
    (void)state;
    run_processes(3, go_on_after_exit);
}

/* ---- a root closes, and a rank is late ---- */

static int stop_before_idle(uint32_t rank, const struct trib_config *config)
{
    struct trib_comm *comm = enter(config);
    if (comm == NULL || !sum(comm)) {
        return 1;
    }
    if (rank == 2) { /* before it has told its mark */
        pid_t self = getpid();
        if (fork() == 0) {
            (void)kill(self, SIGSTOP);
            (void)usleep(1000000);
            (void)kill(self, SIGCONT);
            _exit(0);
        }
        (void)usleep(1500000);
    } else if (rank == 0) {
        (void)usleep(2000000);
    }
    return leave(comm) ? 0 : 2;
}

static void close__of_a_root_waits_for_a_late_rank(void **state)
{
    (void)state;
    run_processes(3, stop_before_idle);
}

/* ---- progress off ---- */

/* After each operation a rank waits for the other by other means: without a progress thread its root would answer
 * nobody. */
static int wait_outside(uint32_t rank, const struct trib_config *config)
{
    struct trib_config lossy = *config;
    lossy.progress_thread = false;
    lossy.faults.loss = 0.1;
    lossy.faults.seed = 3 + rank;
    lossy.timeout_ns = 8 * TRIB_SECOND_NS * patience();
    struct trib_comm *comm = enter(&lossy);
    char byte = 'x';
    if (comm == NULL) {
        return 1;
    }
    for (uint32_t i = 0; i < 100; i++) {
        if (!sum(comm) || write(pipes[rank][1], &byte, 1) != 1 || read(pipes[1 - rank][0], &byte, 1) != 1) {
            return 2;
        }
    }
    return leave(comm) ? 0 : 3;
}

static void progress_off__is_ignored_where_others_need_it(void **state)
{
    (void)state;
    run_processes(2, wait_outside);
}

/* ---- fork ---- */

/* The child of a data loader: it knows nothing of communicators, and lives on. */
static pid_t fork_helper(void)
{
    pid_t helper = fork();
    if (helper == 0) {
        (void)usleep(6000000 * patience());
        _exit(0);
    }
    return helper;
}

static int die_with_a_child(uint32_t rank, const struct trib_config *config)
{
    struct trib_comm *comm = enter(config);
    if (comm == NULL || !sum(comm)) {
        return 1;
    }
    char byte = 'x';
    if (rank == victim) {
        (void)fork_helper();
        for (uint32_t other = 0; other < 3; other++) { /* what it gave is theirs before it dies */
            if (other != rank && read(pipes[other][0], &byte, 1) != 1) {
                return 3;
            }
        }
        (void)kill(getpid(), SIGKILL);
    }
    if (write(pipes[rank][1], &byte, 1) != 1) {
        return 4;
    }
    static float value[1];
    char name[32];
    (void)snprintf(name, sizeof name, "rank %u", victim);
    uint64_t start = trib_clock_ns();
    enum trib_status status = trib_allreduce(comm, value, value, 1, TRIB_FLOAT32, TRIB_SUM);
    bool in_time = trib_clock_ns() - start < 3 * TRIB_SECOND_NS * patience();
    if (!in_time || status != TRIB_ERR_PEER || strstr(trib_comm_error(comm), name) == NULL) {
        (void)fprintf(stderr, "rank %u: %s\n", rank, trib_comm_error(comm));
        return 2;
    }
    return trib_comm_close(comm) == TRIB_ERR_PEER ? 0 : 5;
}

static void fork__does_not_hide_the_death_of_a_rank(void **state)
{
    (void)state;
    for (place = AT_RANK_0; place <= PAIRS; place++) {
        for (uint32_t i = 0; i < 2; i++) {
            victim = i;
            run_processes(3, die_with_a_child);
        }
    }
    place = AT_RANK_0;
}

/* Closes and comes again while its child lives. */
static int come_again(uint32_t rank, const struct trib_config *config)
{
    struct trib_config again = *config;
    pid_t helper = 0;
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(again.job, sizeof again.job, "again-%u", i);
        struct trib_comm *comm = enter(&again);
        if (comm == NULL || !sum(comm)) {
            return 1;
        }
        if (i == 0 && rank == 0) {
            helper = fork_helper();
        }
        if (!leave(comm)) {
            return 2;
        }
    }
    if (helper > 0) {
        (void)kill(helper, SIGKILL);
    }
    return 0;
}

static void fork__does_not_keep_the_rendezvous(void **state)
{
    (void)state;
    run_processes(2, come_again);
}

enum { REQUESTS = 4 };

/* All that a child may call: nothing waits, nothing crashes. */
static bool is_ended_in_child(struct trib_comm *comm, struct trib_request *requests[REQUESTS])
{
    static float value[1];
    const struct trib_call call = {.collective = TRIB_ALLREDUCE,
                                   .type = TRIB_FLOAT32,
                                   .reduction = TRIB_SUM,
                                   .send = value,
                                   .recv = value,
                                   .count = 1};
    const uint32_t members[] = {0, 1, 2};
    struct trib_comm_stats stats;
    struct trib_comm *made = NULL;
    struct trib_request *request = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    bool done[2] = {false, false};
    bool is = trib_request_test(requests[0], &done[0]) == TRIB_ERR_INVALID && done[0];
    is = is && trib_request_wait_for(requests[1], TRIB_NEVER, &done[1]) == TRIB_ERR_INVALID && done[1];
    is = is && trib_request_wait(requests[2]) == TRIB_ERR_INVALID;
    is = is && trib_allreduce(comm, value, value, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_INVALID;
    is = is && trib_group_start(comm, &call, 1, &request) == TRIB_ERR_INVALID;
    is = is && trib_comm_split(comm, 0, 0, &made, error) == TRIB_ERR_INVALID;
    is = is && trib_comm_subset(comm, members, 3, 0, &made, error) == TRIB_ERR_INVALID && made == NULL;
    is = is && strstr(error, "belongs to the process that this one was forked from") != NULL;
    is = is && strcmp(error, trib_comm_error(comm)) == 0;
    trib_comm_progress(comm);
    trib_comm_stats(comm, &stats);
    trib_comm_abort(comm);
    is = is && trib_comm_close(comm) == TRIB_ERR_INVALID;
    return is && trib_request_wait(requests[3]) == TRIB_ERR_INVALID;
}

/* In the child the communicator has failed, as have its requests, and closing it takes nothing from the parent. */
static int use_in_child(uint32_t rank, const struct trib_config *config)
{
    static float values[REQUESTS][1];
    struct trib_request *requests[REQUESTS] = {NULL};
    struct trib_comm *comm = enter(config);
    int ended = 0;
    char byte = 0;
    if (comm == NULL || !sum(comm)) {
        return 1;
    }
    if (rank == 0) { /* its requests wait for rank 1, which comes when the child has ended */
        for (int i = 0; i < REQUESTS; i++) {
            values[i][0] = 1;
            if (trib_allreduce_start(comm, values[i], values[i], 1, TRIB_FLOAT32, TRIB_SUM, &requests[i]) != TRIB_OK) {
                return 2;
            }
        }
        pid_t child = fork();
        if (child == 0) {
            (void)alarm(20 * patience());
            _exit(is_ended_in_child(comm, requests) ? 0 : 1);
        }
        if (waitpid(child, &ended, 0) != child || ended != 0) {
            (void)fprintf(stderr, "child ended with %x\n", (unsigned)ended);
        }
    }
    if (rank == 0 ? write(pipes[0][1], "xx", 2) != 2 : read(pipes[0][0], &byte, 1) != 1) {
        return 3;
    }
    for (int i = 0; i < REQUESTS; i++) {
        if (rank != 0) {
            values[i][0] = 1;
        }
        enum trib_status status = rank == 0 ? trib_request_wait(requests[i])
                                            : trib_allreduce(comm, values[i], values[i], 1, TRIB_FLOAT32, TRIB_SUM);
        if (status != TRIB_OK || values[i][0] < 3 || values[i][0] > 3) {
            return 4;
        }
    }
    return sum(comm) && leave(comm) && ended == 0 ? 0 : 5;
}

static void fork__leaves_the_communicator_to_the_parent(void **state)
{
    (void)state;
    for (place = AT_RANK_0; place <= PAIRS; place++) {
        run_processes(3, use_in_child);
    }
    place = AT_RANK_0;
}

static pthread_barrier_t held;

static void *hold_for_a_while(void *unused)
{
    (void)unused;
    trib_shared_hold(); /* as while an operation looks where its tensor lies */
    (void)pthread_barrier_wait(&held);
    (void)usleep(50000);
    trib_shared_resume();
    return NULL;
}

/* A thread that a child does not have keeps no lock there. */
static void fork__gives_a_child_no_lock_of_another_thread(void **state)
{
    struct trib_config config;
    struct trib_comm *comm = NULL;
    pthread_t thread;
    int ended = -1;
    (void)state;
    no_box = false;
    on_host = true;
    rank_config(&config, 0, 1);
    assert_int_equal(trib_comm_create(&config, &comm, NULL), TRIB_OK);
    assert_int_equal(pthread_barrier_init(&held, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_for_a_while, NULL), 0);
    (void)pthread_barrier_wait(&held);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(5 * patience());
        trib_shared_free(trib_shared_alloc(4096));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(trib_comm_close(comm), TRIB_OK);
}

/* ---- dlclose ---- */

/* The control plane's thread may still run, and does at exit. */
static void dlclose__leaves_the_code_where_it_is(void **state)
{
    (void)state;
    char path[512] = "";
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 64);
    assert_true(len > 0);
    char *end = strstr(path, "/tests/unit/");
    assert_non_null(end);
    strcpy(end, "/lib/libtributary.so.0");
    if (access(path, R_OK) != 0) {
        skip(); /* builds with sanitizers have the static library alone */
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(dlclose(library), 0);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    assert_non_null(library);
    (void)dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close__of_rank_0_leaves_idle_ranks_in_peace),
        cmocka_unit_test(close__of_rank_0_is_named_to_who_goes_on),
        cmocka_unit_test(close__is_told_to_who_waits_on_the_same_host),
        cmocka_unit_test(close__of_rank_0_waits_for_those_who_go_on_without_it),
        cmocka_unit_test(exit__of_rank_0_waits_as_well),
        cmocka_unit_test(close__of_a_root_waits_for_a_late_rank),
        cmocka_unit_test(progress_off__is_ignored_where_others_need_it),
        cmocka_unit_test(fork__does_not_hide_the_death_of_a_rank),
        cmocka_unit_test(fork__does_not_keep_the_rendezvous),
        cmocka_unit_test(fork__leaves_the_communicator_to_the_parent),
        cmocka_unit_test(fork__gives_a_child_no_lock_of_another_thread),
        cmocka_unit_test(dlclose__leaves_the_code_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
