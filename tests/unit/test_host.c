/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c: ranks of one host as processes, some of which are killed, stopped or never come: what the others see,
 * and that nothing of them is left. Sums are in tests/property/test_host_sum.c, calls in test_comm.c and
 * test_comm_failure.c. Step by step in one process: test_host_steps.c. Mirrors src/host/rendezvous.c, gather.c,
 * bells.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/tributary.h>

#include "io/clock.h"
#include "waited.h"

#define RANKS_MAX 40U
#define FLOATS_MAX 300000U

/* What a rank tells the test, in memory that both share. */
struct report {
    _Atomic uint32_t rounds; /* operations that it has ended well */
    _Atomic int status;      /* how it ended; 1: it runs */
    _Atomic uint64_t ended_ns;
    _Atomic uint32_t wrong;
    char text[TRIB_ERROR_TEXT_MAX];
};

struct crew {
    char job[TRIB_NAME_MAX + 1];
    uint32_t ranks;
    pid_t pids[RANKS_MAX];
    struct report *reports; /* shared */
    void (*tweak)(struct trib_config *config);
    void (*body)(struct crew *crew, uint32_t rank, struct trib_comm *comm);
    bool mixes; /* all collectives, not allreduce alone */
};

static void end(struct crew *crew, uint32_t rank, enum trib_status status, const char *text)
{
    struct report *report = &crew->reports[rank];
    (void)snprintf(report->text, sizeof report->text, "%s", text);
    report->ended_ns = trib_clock_ns();
    report->status = status;
}

static void live(struct crew *crew, uint32_t rank)
{
    struct trib_config config;
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    trib_config_init(&config);
    (void)memcpy(config.job, crew->job, sizeof config.job);
    config.rank = rank;
    config.ranks = crew->ranks;
    config.join_timeout_ns = 20 * TRIB_SECOND_NS * patience();
    config.timeout_ns = 20 * TRIB_SECOND_NS * patience();
    if (crew->tweak != NULL) {
        crew->tweak(&config);
    }
    enum trib_status status = trib_comm_create(&config, &comm, error);
    if (status != TRIB_OK) {
        end(crew, rank, status, error);
        return;
    }
    crew->body(crew, rank, comm);
}

static void begin_rank(struct crew *crew, uint32_t rank)
{
    crew->reports[rank].status = 1;
    crew->pids[rank] = fork();
    assert_true(crew->pids[rank] >= 0);
    if (crew->pids[rank] == 0) {
        live(crew, rank);
        _exit(0);
    }
}

static void begin(struct crew *crew, uint32_t ranks,
                  void (*body)(struct crew *crew, uint32_t rank, struct trib_comm *comm))
{
    static unsigned number;
    (void)snprintf(crew->job, sizeof crew->job, "test-host-%d-%u", (int)getpid(), number++);
    crew->ranks = ranks;
    crew->body = body;
    crew->reports =
        mmap(NULL, RANKS_MAX * sizeof *crew->reports, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(crew->reports != MAP_FAILED);
}

static void begin_all(struct crew *crew, uint32_t ranks,
                      void (*body)(struct crew *crew, uint32_t rank, struct trib_comm *comm))
{
    begin(crew, ranks, body);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        begin_rank(crew, rank);
    }
}

static void kill_rank(struct crew *crew, uint32_t rank)
{
    assert_int_equal(kill(crew->pids[rank], SIGKILL), 0);
    assert_int_equal(waitpid(crew->pids[rank], NULL, 0), crew->pids[rank]);
    crew->pids[rank] = -1;
}

/* All that are left end by themselves. */
static void end_all(struct crew *crew)
{
    for (uint32_t rank = 0; rank < crew->ranks; rank++) {
        uint64_t deadline_ns = trib_clock_ns() + 20 * TRIB_SECOND_NS * patience();
        while (crew->pids[rank] > 0 && waitpid(crew->pids[rank], NULL, WNOHANG) == 0) {
            if (trib_clock_ns() > deadline_ns) {
                fail_msg("rank %u does not end", rank);
            }
            (void)usleep(1000);
        }
    }
}

static void forget(struct crew *crew)
{
    (void)munmap(crew->reports, RANKS_MAX * sizeof *crew->reports);
}

static void wait_for_rounds(const struct crew *crew, uint32_t rank, uint32_t rounds)
{
    uint64_t deadline_ns = trib_clock_ns() + 20 * TRIB_SECOND_NS * patience();
    while (crew->reports[rank].rounds < rounds && crew->reports[rank].status == 1 && trib_clock_ns() < deadline_ns) {
        (void)usleep(200);
    }
    assert_true(crew->reports[rank].rounds >= rounds);
}

/* ---- what ranks do ---- */

static float private_send[FLOATS_MAX];
static float *sent = private_send;

static float value_at(uint32_t rank, uint32_t round, uint32_t i)
{
    return (float)((i % 61) + rank + round % 100);
}

static float sum_at(uint32_t ranks, uint32_t round, uint32_t i)
{
    uint32_t of_ranks = ranks * (ranks - 1) / 2;
    return (float)ranks * value_at(0, round, i) + (float)of_ranks;
}

/* One allreduce whose size changes from round to round, looked at; the result holds old bytes until it has ended, and
 * nothing writes to it after an error. */
static enum trib_status run_round(struct report *report, struct trib_comm *comm, uint32_t round)
{
    static float recv[FLOATS_MAX];
    uint32_t count = round % 3 == 0 ? 1 + round % 4000 : round * 7919 % FLOATS_MAX;
    uint32_t ranks = trib_comm_ranks(comm);
    for (uint32_t i = 0; i < count; i++) {
        sent[i] = value_at(trib_comm_rank(comm), round, i);
        recv[i] = -1.0F;
    }
    enum trib_status status = trib_allreduce(comm, sent, recv, count, TRIB_FLOAT32, TRIB_SUM);
    for (uint32_t i = 0; i < count; i++) {
        float sum = sum_at(ranks, round, i);
        bool is_right = !(recv[i] < sum) && !(recv[i] > sum);
        bool is_old = recv[i] < 0;
        report->wrong += !is_right && (status == TRIB_OK || !is_old);
    }
    report->rounds += status == TRIB_OK;
    return status;
}

/* What element i of the whole is in the end, on a rank that gets it. */
static float result_at(const struct trib_call *call, uint32_t ranks, uint32_t round, uint32_t i)
{
    if (call->collective == TRIB_BROADCAST) {
        return value_at(call->root, round, i);
    }
    return call->collective == TRIB_ALLGATHER ? value_at(i / (uint32_t)call->count, round, i) : sum_at(ranks, round, i);
}

/* The same with collectives that differ from round to round; every element of recv is looked at, also those that no
 * result goes to. */
static enum trib_status run_any_round(struct report *report, struct trib_comm *comm, uint32_t round)
{
    static const enum trib_collective kinds[] = {TRIB_REDUCE_SCATTER, TRIB_ALLGATHER, TRIB_REDUCE, TRIB_BROADCAST};
    static float recv[FLOATS_MAX];
    uint32_t ranks = trib_comm_ranks(comm), rank = trib_comm_rank(comm);
    uint32_t share = (round % 3 == 0 ? 1 + round % 4000 : round * 7919 % FLOATS_MAX) / ranks;
    uint32_t first = 0, got = share * ranks;
    struct trib_call call = {.collective = kinds[round % 4],
                             .type = TRIB_FLOAT32,
                             .reduction = TRIB_SUM,
                             .root = round / 4 % ranks,
                             .send = sent,
                             .recv = recv,
                             .count = share * ranks};
    for (uint32_t i = 0; i < share * ranks; i++) {
        sent[i] = value_at(rank, round, i);
        recv[i] = -1.0F;
    }
    if (call.collective == TRIB_REDUCE_SCATTER) {
        call.count = got = share;
        first = share * rank;
    } else if (call.collective == TRIB_ALLGATHER) {
        call.count = share;
        call.send = sent + (size_t)share * rank;
    } else if ((call.collective == TRIB_REDUCE) != (rank == call.root)) {
        got = 0;
    }
    enum trib_status status = trib_group(comm, &call, 1);
    for (uint32_t i = 0; i < share * ranks; i++) {
        float right = i < got ? result_at(&call, ranks, round, first + i) : -1.0F;
        bool is_right = !(recv[i] < right) && !(recv[i] > right);
        bool is_old = recv[i] < 0;
        report->wrong += !is_right && (status == TRIB_OK || !is_old);
    }
    report->rounds += status == TRIB_OK;
    return status;
}

static enum trib_status run_one(struct crew *crew, uint32_t rank, struct trib_comm *comm, uint32_t round)
{
    struct report *report = &crew->reports[rank];
    return crew->mixes ? run_any_round(report, comm, round) : run_round(report, comm, round);
}

static void *abort_later(void *comm)
{
    (void)usleep((useconds_t)(trib_clock_ns() / 1000 % 4000));
    trib_comm_abort(comm);
    return NULL;
}

/* The last rank aborts in the middle of something, and changes at once what it had sent, which others may be
 * reading. */
static void abort_and_scribble(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    pthread_t thread;
    bool aborts = rank == crew->ranks - 1;
    sent = trib_shared_alloc(FLOATS_MAX * sizeof *sent);
    if (sent == NULL || (aborts && pthread_create(&thread, NULL, abort_later, comm) != 0)) {
        return;
    }
    enum trib_status status = TRIB_OK;
    for (uint32_t round = 1; status == TRIB_OK; round += 3) {
        status = run_one(crew, rank, comm, round);
    }
    if (aborts) {
        memset(sent, 0x77, FLOATS_MAX * sizeof *sent);
        (void)pthread_join(thread, NULL);
        trib_shared_free(sent);
    }
    end(crew, rank, status, trib_comm_error(comm));
    (void)trib_comm_close(comm);
}

static void run_until_error(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    for (uint32_t round = 0; status == TRIB_OK && round < 100000; round++) {
        status = run_one(crew, rank, comm, round);
    }
    end(crew, rank, status, trib_comm_error(comm));
    (void)trib_comm_close(comm);
}

static void run_20_rounds(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    for (uint32_t round = 0; status == TRIB_OK && round < 20; round++) {
        status = run_one(crew, rank, comm, round);
    }
    struct trib_comm_stats stats;
    trib_comm_stats(comm, &stats);
    crew->reports[rank].wrong += !stats.level0 || stats.packets_sent != 0 || stats.packets_received != 0;
    const char *error = trib_comm_error(comm);
    if (status == TRIB_OK) {
        error = "";
    }
    char text[TRIB_ERROR_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s", error);
    enum trib_status closed = trib_comm_close(comm);
    end(crew, rank, status == TRIB_OK ? closed : status, text);
}

/* ---- what is left of it ---- */

static bool is_in_file(const char *path, const char *word)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found = found || strstr(line, word) != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

static unsigned files_in_shm(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/dev/shm");
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        count += strstr(entry->d_name, "tributary") != NULL;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

static void expect_nothing_left(const struct crew *crew)
{
    assert_false(is_in_file("/proc/net/unix", crew->job));
    assert_false(is_in_file("/proc/self/maps", "memfd:tributary"));
    assert_int_equal(files_in_shm(), 0);
}

static void expect_all_good(struct crew *crew, uint32_t rounds)
{
    for (uint32_t rank = 0; rank < crew->ranks; rank++) {
        const struct report *report = &crew->reports[rank];
        if (report->status != TRIB_OK || report->rounds != rounds || report->wrong != 0) {
            fail_msg("rank %u: %s: %s; %u rounds, %u wrong", rank, trib_status_name((enum trib_status)report->status),
                     report->text, report->rounds, report->wrong);
        }
    }
}

/* ---- tests ---- */

static void crew__of_any_size(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 8, 33};
    (void)state;
    for (unsigned i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        struct crew crew = {.mixes = i % 2 != 0};
        begin_all(&crew, sizes[i / 2], run_20_rounds);
        end_all(&crew);
        expect_all_good(&crew, 20);
        expect_nothing_left(&crew);
        forget(&crew);
    }
}

static void crew__two_at_once(void **state)
{
    struct crew crews[2] = {{.tweak = NULL}, {.tweak = NULL}};
    (void)state;
    begin_all(&crews[0], 3, run_20_rounds);
    begin_all(&crews[1], 3, run_20_rounds);
    for (unsigned i = 0; i < 2; i++) {
        end_all(&crews[i]);
        expect_all_good(&crews[i], 20);
        forget(&crews[i]);
    }
}

#define KILLS 40U

/* The victim dies wherever it happens to be, in the middle of whatever it does. */
static void kill__is_named_by_all_within_a_second(void **state)
{
    uint64_t worst_ns = 0;
    (void)state;
    for (uint32_t round = 0; round < KILLS; round++) {
        struct crew crew = {.mixes = round / 4 % 2 != 0};
        uint32_t victim = round % 4;
        char name[64];
        begin_all(&crew, 4, run_until_error);
        wait_for_rounds(&crew, victim, 1);
        (void)usleep(round * 7919 % 20000);
        uint64_t killed_ns = trib_clock_ns();
        kill_rank(&crew, victim);
        end_all(&crew);
        (void)snprintf(name, sizeof name, "rank %u is gone: its connection closed", victim);
        for (uint32_t rank = 0; rank < 4; rank++) {
            const struct report *report = &crew.reports[rank];
            if (rank == victim) {
                continue;
            }
            uint64_t took_ns = report->ended_ns - killed_ns;
            if (report->status != TRIB_ERR_PEER || strcmp(report->text, name) != 0 || report->wrong != 0 ||
                took_ns >= TRIB_SECOND_NS * patience()) {
                fail_msg("round %u, rank %u: %s: %s; %u wrong, after %llu us", round, rank,
                         trib_status_name((enum trib_status)report->status), report->text, report->wrong,
                         (unsigned long long)took_ns / 1000);
            }
            worst_ns = took_ns > worst_ns ? took_ns : worst_ns;
        }
        expect_nothing_left(&crew);
        forget(&crew);
    }
    (void)printf("longest from the kill to the error: %llu us\n", (unsigned long long)worst_ns / 1000);
}

/* Whatever the others were doing, they have right sums or an error, and nothing half-right in their buffers. */
static void abort__while_others_read_its_tensor(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 80; round++) {
        struct crew crew = {.mixes = round % 2 != 0};
        begin_all(&crew, 4, abort_and_scribble);
        end_all(&crew);
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_int_equal(crew.reports[rank].status, rank == 3 ? TRIB_ERR_ABORTED : TRIB_ERR_PEER);
            assert_int_equal(crew.reports[rank].wrong, 0);
            if (strstr(crew.reports[rank].text, "rank 3: trib_comm_abort was called") == NULL) {
                fail_msg("rank %u: %s", rank, crew.reports[rank].text);
            }
        }
        expect_nothing_left(&crew);
        forget(&crew);
    }
}

/* Freed memory is the kernel's again although others have it mapped; many more allocations than others keep track
 * of. */
static void share_and_free(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    for (uint32_t round = 1; status == TRIB_OK && round < 300; round += 3) {
        float *before = sent == private_send ? NULL : sent;
        sent = trib_shared_alloc(FLOATS_MAX * sizeof *sent);
        crew->reports[rank].wrong += sent == NULL || sent[FLOATS_MAX - 1] > 0;
        status = run_round(&crew->reports[rank], comm, round);
        if (round % 2 == 0) {
            trib_shared_free(sent);
            sent = before;
        } else {
            trib_shared_free(before);
        }
    }
    trib_shared_free(sent);
    end(crew, rank, status, trib_comm_error(comm));
    (void)trib_comm_close(comm);
}

static void share__and_free(void **state)
{
    struct crew crew = {.tweak = NULL};
    (void)state;
    begin_all(&crew, 3, share_and_free);
    end_all(&crew);
    expect_all_good(&crew, 100);
    expect_nothing_left(&crew);
    forget(&crew);
}

static void share__a_child_takes_nothing_from_its_parent(void **state)
{
    float *tensor = trib_shared_alloc(4096);
    (void)state;
    assert_non_null(tensor);
    tensor[0] = 7.0F;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tensor[1] = 8.0F;
        trib_shared_free(tensor);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_memory_equal(tensor, ((const float[]){7.0F, 8.0F}), 2 * sizeof *tensor); /* it is shared with the child */
    trib_shared_free(tensor);
}

/* Rank 0 is idle, and soon all others are gone. */
static void be_idle(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    if (rank == 0) {
        struct timespec before;
        struct timespec after;
        (void)usleep(200000);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        (void)usleep(500000);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        crew->reports[0].rounds =
            (uint32_t)((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
    }
    end(crew, rank, trib_comm_close(comm), "");
}

/* Milliseconds of CPU time in 500: a progress thread that never sleeps needs nearly all, on a busy machine a good
 * part. */
static void idle__costs_no_cpu_when_all_others_are_gone(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 3; ranks++) {
        struct crew crew = {.tweak = NULL};
        begin_all(&crew, ranks, be_idle);
        end_all(&crew);
        assert_int_equal(crew.reports[0].status, TRIB_OK);
        assert_in_range(crew.reports[0].rounds, 0, 20);
        forget(&crew);
    }
}

static void never_spin(struct trib_config *config)
{
    config->spin_us = 0;
}

#define SLEEPS 3000U

/* A wake-up that is lost costs a second, until somebody looks who is missing. Ranks come late now and then, so that
 * progress threads sleep in poll when a call begins. */
static void sleep_often(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    float value = 1.0F;
    for (uint32_t round = 0; status == TRIB_OK && round < SLEEPS; round++) {
        uint64_t begin_ns = trib_clock_ns();
        struct trib_request *request = NULL;
        if (round % 3 == 2) {
            status = trib_allreduce_start(comm, &value, &value, 1, TRIB_FLOAT32, TRIB_AVERAGE, &request);
            status = status == TRIB_OK ? trib_request_wait(request) : status;
        } else {
            status = trib_barrier(comm);
        }
        crew->reports[rank].wrong += trib_clock_ns() - begin_ns > 900 * TRIB_MILLISECOND_NS; /* slow ones */
        if (round % 64 == rank) {
            (void)usleep(2500); /* progress threads take over meanwhile */
        }
    }
    crew->reports[rank].rounds = SLEEPS;
    end(crew, rank, status, trib_comm_error(comm));
    (void)trib_comm_close(comm);
}

static void sleep__no_wake_up_is_lost(void **state)
{
    struct crew crew = {.tweak = never_spin};
    (void)state;
    begin_all(&crew, 3, sleep_often);
    end_all(&crew);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(crew.reports[rank].status, TRIB_OK);
        assert_in_range(crew.reports[rank].wrong, 0, 1); /* the machine may be busy */
    }
    forget(&crew);
}

static void give_half_a_second(struct trib_config *config)
{
    config->timeout_ns = 500 * TRIB_MILLISECOND_NS * patience();
}

/* A stopped rank is late, and then it is missing; awake again it finds that it was not waited for. */
static void stop__is_a_rank_that_is_missing(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim++) {
        struct crew crew = {.tweak = give_half_a_second};
        char name[96], limit[TRIB_UNITS_TEXT_MAX];
        begin_all(&crew, 3, run_until_error);
        wait_for_rounds(&crew, victim, 2);
        uint64_t until_ns = trib_clock_ns() + 5 * TRIB_SECOND_NS * patience();
        assert_int_equal(kill(crew.pids[victim], SIGSTOP), 0);
        trib_format_duration(500 * TRIB_MILLISECOND_NS * patience(), limit);
        (void)snprintf(name, sizeof name, "did not end within %s: rank %u is missing", limit, victim);
        for (uint32_t rank = 0; rank < 3; rank++) {
            struct report *report = &crew.reports[rank];
            while (rank != victim && report->status == 1 && trib_clock_ns() < until_ns) {
                (void)usleep(1000);
            }
            if (rank != victim && (strstr(report->text, name) == NULL || report->wrong != 0)) {
                fail_msg("rank %u: %s: %s; %u wrong", rank, trib_status_name((enum trib_status)report->status),
                         report->text, report->wrong);
            }
        }
        assert_int_equal(kill(crew.pids[victim], SIGCONT), 0);
        end_all(&crew);
        assert_true(crew.reports[victim].status == TRIB_ERR_PEER || crew.reports[victim].status == TRIB_ERR_TIMEOUT);
        assert_int_equal(crew.reports[victim].wrong, 0);
        forget(&crew);
    }
}

/* One allreduce, to which the last rank never comes; nobody closes. */
static void call_once(struct crew *crew, uint32_t rank, struct trib_comm *comm)
{
    float value = 1.0F;
    crew->reports[rank].rounds = 1;
    if (rank == crew->ranks - 1) {
        (void)pause();
    }
    enum trib_status status = trib_allreduce(comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM);
    end(crew, rank, status, trib_comm_error(comm));
}

/* Rank 1 is stopped while rank 2 dies and rank 0 ends because of it: awake again it finds both lines hung up, and the
 * record. */
static void stop__the_first_death_is_named(void **state)
{
    struct crew crew = {.tweak = NULL};
    (void)state;
    begin_all(&crew, 3, call_once);
    for (uint32_t rank = 0; rank < 3; rank++) {
        wait_for_rounds(&crew, rank, 1);
    }
    (void)usleep(100000); /* asleep in the call */
    assert_int_equal(kill(crew.pids[1], SIGSTOP), 0);
    (void)usleep(20000);
    kill_rank(&crew, 2);
    assert_int_equal(waitpid(crew.pids[0], NULL, 0), crew.pids[0]);
    crew.pids[0] = -1;
    assert_int_equal(kill(crew.pids[1], SIGCONT), 0);
    end_all(&crew);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(crew.reports[rank].status, TRIB_ERR_PEER);
        assert_string_equal(crew.reports[rank].text, "rank 2 is gone: its connection closed");
    }
    forget(&crew);
}

/* Until all have come, whoever leaves may be replaced, rank 0 too. */
static void join__survives_deaths(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim++) {
        struct crew crew = {.tweak = NULL};
        begin(&crew, 4, run_20_rounds);
        for (uint32_t rank = 0; rank < 3; rank++) {
            begin_rank(&crew, rank);
        }
        (void)usleep(50000);
        kill_rank(&crew, victim);
        begin_rank(&crew, victim);
        (void)usleep(20000);
        begin_rank(&crew, 3);
        end_all(&crew);
        expect_all_good(&crew, 20);
        expect_nothing_left(&crew);
        forget(&crew);
    }
}

static int odd_setting; /* 0: ranks; 1: wire */

static void be_different(struct trib_config *config)
{
    config->ranks = config->rank == 2 && odd_setting == 0 ? 4 : 3;
    config->wire = config->rank == 2 && odd_setting == 1 ? TRIB_WIRE_INT32 : TRIB_WIRE_FLOAT32;
}

static void join__names_settings_that_differ(void **state)
{
    (void)state;
    for (odd_setting = 0; odd_setting < 2; odd_setting++) {
        struct crew crew = {.tweak = be_different};
        begin_all(&crew, 3, run_20_rounds);
        end_all(&crew);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(crew.reports[rank].status, TRIB_ERR_SETTINGS);
            assert_string_equal(crew.reports[rank].text,
                                odd_setting == 0 ? "settings differ: ranks is 3 on rank 0 and 4 on rank 2"
                                                 : "settings differ: wire is float32 on rank 0 and int32 on rank 2");
        }
        forget(&crew);
    }
}

static uint32_t taken_rank;

/* Of two runs: the last process is the first one's rank once more. */
static void be_there_twice(struct trib_config *config)
{
    config->rank = config->rank == 2 ? taken_rank : config->rank;
    config->join_timeout_ns = 20 * TRIB_SECOND_NS * patience();
}

/* Ranks of two runs of one job that gather at the same moment: no run begins, made of some of each. */
static void join__of_two_runs_at_once_ends_for_all(void **state)
{
    (void)state;
    for (taken_rank = 0; taken_rank < 2; taken_rank++) {
        struct crew crew = {.tweak = be_there_twice};
        char text[TRIB_ERROR_TEXT_MAX];
        uint64_t began = trib_clock_ns();
        begin_all(&crew, 3, run_20_rounds);
        end_all(&crew);
        (void)snprintf(text, sizeof text, "two processes claim rank %u of job %s on", taken_rank, crew.job);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(crew.reports[rank].status, TRIB_ERR_REFUSED);
            if (strstr(crew.reports[rank].text, text) == NULL) {
                fail_msg("rank %u: %s", rank, crew.reports[rank].text);
            }
        }
        assert_true(trib_clock_ns() - began < 10 * TRIB_SECOND_NS * patience());
        expect_nothing_left(&crew);
        forget(&crew);
    }
}

static uint32_t poor_rank;

/* Room for both ends of its inbox, a connection, and the memory: then for one more rank. */
static void leave_few_descriptors(struct trib_config *config)
{
    config->join_timeout_ns = TRIB_SECOND_NS * patience();
    if (config->rank == poor_rank) {
        int next = dup(STDERR_FILENO);
        struct rlimit limit = {.rlim_cur = (rlim_t)next + 4, .rlim_max = (rlim_t)next + 4};
        (void)close(next);
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Nobody is dead, and nobody is blamed for it. */
static void join__says_that_there_are_too_few_descriptors(void **state)
{
    (void)state;
    for (poor_rank = 0; poor_rank < 2; poor_rank++) {
        struct crew crew = {.tweak = leave_few_descriptors};
        char text[TRIB_ERROR_TEXT_MAX];
        begin_all(&crew, 3, run_20_rounds);
        end_all(&crew);
        (void)snprintf(text, sizeof text, "rank %u of job %s cannot open", poor_rank, crew.job);
        assert_int_equal(crew.reports[poor_rank].status, TRIB_ERR_SYSTEM);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_not_equal(crew.reports[rank].status, TRIB_OK);
            if ((poor_rank != 0 || rank == 0) && strstr(crew.reports[rank].text, text) == NULL) {
                fail_msg("rank %u: %s", rank, crew.reports[rank].text);
            }
        }
        expect_nothing_left(&crew);
        forget(&crew);
    }
}

/* Killed at any moment of joining: the others go on without it, or name it; nobody waits for ever. */
static void join__killed_at_any_moment(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 30; round++) {
        struct crew crew = {.tweak = give_half_a_second};
        uint32_t victim = round % 3;
        begin_all(&crew, 3, run_until_error);
        (void)usleep(round * 100);
        kill_rank(&crew, victim);
        begin_rank(&crew, victim); /* in case it had not joined yet */
        (void)usleep(30000);
        for (uint32_t rank = 0; rank < 3; rank++) {
            if (crew.reports[rank].status == 1) {
                kill_rank(&crew, rank);
            }
        }
        end_all(&crew);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(crew.reports[rank].wrong, 0);
        }
        expect_nothing_left(&crew);
        forget(&crew);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crew__of_any_size),
        cmocka_unit_test(crew__two_at_once),
        cmocka_unit_test(kill__is_named_by_all_within_a_second),
        cmocka_unit_test(abort__while_others_read_its_tensor),
        cmocka_unit_test(share__and_free),
        cmocka_unit_test(share__a_child_takes_nothing_from_its_parent),
        cmocka_unit_test(idle__costs_no_cpu_when_all_others_are_gone),
        cmocka_unit_test(sleep__no_wake_up_is_lost),
        cmocka_unit_test(stop__is_a_rank_that_is_missing),
        cmocka_unit_test(stop__the_first_death_is_named),
        cmocka_unit_test(join__survives_deaths),
        cmocka_unit_test(join__names_settings_that_differ),
        cmocka_unit_test(join__of_two_runs_at_once_ends_for_all),
        cmocka_unit_test(join__says_that_there_are_too_few_descriptors),
        cmocka_unit_test(join__killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
