/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_runs.c: two launches of one job name on one host: their ranks never make one job; and a rank 0 that says
 * nothing. Mirrors src/host/rendezvous.c and gather.c; other meetings are in test_host.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/tributary.h>

#include "host/hello.h"
#include "io/clock.h"
#include "patience.h"

/* Processes 0 and 1 are ranks 0 and 1 of one launch, 2 and 3 those of another one. */
#define PROCESSES 4

/* How a process ended; shared memory. */
struct report {
    int status; /* 1: it has not */
    int64_t sum;
    char text[TRIB_ERROR_TEXT_MAX];
};

static struct report *reports;
static pid_t pids[PROCESSES];

static void live(uint32_t process, uint64_t join_timeout_ns)
{
    struct report *report = &reports[process];
    struct trib_config config;
    struct trib_comm *comm = NULL;
    int64_t own = process < 2 ? 1 : 1000;
    trib_config_init(&config);
    (void)snprintf(config.job, sizeof config.job, "test-host-runs-%d", (int)getppid());
    (void)snprintf(config.run, sizeof config.run, process < 2 ? "Slurm 1:0" : "Slurm 2:0");
    config.rank = process % 2;
    config.ranks = 2;
    config.join_timeout_ns = join_timeout_ns;
    int status = trib_comm_create(&config, &comm, report->text);
    if (status == TRIB_OK) {
        status = trib_allreduce(comm, &own, &report->sum, 1, TRIB_INT64, TRIB_SUM);
        (void)trib_comm_close(comm);
    }
    report->status = status;
}

static void begin(uint32_t process, uint64_t join_timeout_ns)
{
    reports[process] = (struct report){.status = 1};
    pids[process] = fork();
    assert_true(pids[process] >= 0);
    if (pids[process] == 0) {
        live(process, join_timeout_ns);
        _exit(0);
    }
}

static void await(uint32_t process)
{
    assert_int_equal(waitpid(pids[process], NULL, 0), pids[process]);
}

/* A rank 0 and a rank 1 are there, and are no pair. */
static void join__a_rank_of_another_launch_is_refused_by_name(void **state)
{
    (void)state;
    begin(0, 300 * TRIB_MILLISECOND_NS * patience());
    begin(3, 300 * TRIB_MILLISECOND_NS * patience());
    for (uint32_t process = 0; process < PROCESSES; process += 3) {
        await(process);
        assert_true(reports[process].status < 0);
        if (strstr(reports[process].text, "rank 0 is of Slurm 1:0, rank 1 of Slurm 2:0") == NULL) {
            fail_msg("process %u: %s", process, reports[process].text);
        }
    }
}

static void join__two_launches_of_one_name_meet_apart(void **state)
{
    (void)state;
    for (uint32_t process = 0; process < PROCESSES; process++) {
        begin(process, 20 * TRIB_SECOND_NS * patience());
    }
    for (uint32_t process = 0; process < PROCESSES; process++) {
        await(process);
        if (reports[process].status != TRIB_OK) {
            fail_msg("process %u: %s", process, reports[process].text);
        }
        assert_int_equal(reports[process].sum, process < 2 ? 2 : 2000);
    }
}

/* Rank 0 listens, and says nothing. It waits as long as the others, which give it time to say for whom, as ranks give a
 * control plane. */
static void join__gives_rank_0_time_to_speak(void **state)
{
    struct trib_config config;
    struct sockaddr_un name;
    struct trib_host *host = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    trib_config_init(&config);
    (void)snprintf(config.job, sizeof config.job, "test-host-silent-%d", (int)getpid());
    config.rank = 1;
    config.ranks = 2;
    config.join_timeout_ns = 400 * TRIB_MILLISECOND_NS;
    socklen_t len = trib_rendezvous_name(&config, &name);
    int rank_0 = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(rank_0, (const struct sockaddr *)&name, len), 0);
    assert_int_equal(listen(rank_0, 1), 0);
    uint64_t begun_ns = trib_clock_ns();
    assert_int_equal(trib_host_open(&config, 0, NULL, NULL, &host, error), TRIB_ERR_TIMEOUT);
    uint64_t waited_ns = trib_clock_ns() - begun_ns;
    assert_non_null(strstr(error, " does not answer"));
    assert_true(waited_ns >= config.join_timeout_ns + trib_time_to_hear(config.join_timeout_ns));
    (void)close(rank_0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join__a_rank_of_another_launch_is_refused_by_name),
        cmocka_unit_test(join__two_launches_of_one_name_meet_apart),
        cmocka_unit_test(join__gives_rank_0_time_to_speak),
    };
    reports = mmap(NULL, PROCESSES * sizeof *reports, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return reports == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
