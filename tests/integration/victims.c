/* SPDX-License-Identifier: Apache-2.0 */
/* victims.c: jobs of two ranks, one process each, of which one or both are killed (SIGKILL) at random moments between
 * the job's start and its end, for killed.user.sh. Every element of every sum is checked. A rank that was not killed
 * must end by itself.
 *
 *   victims COUNT FIRST LANES SPAN_MS SEED SWITCH...
 *
 * Runs the jobs FIRST to FIRST + COUNT - 1, LANES at a time; their names are FIRST and so on. A killed rank is killed
 * within SPAN_MS of its start. Each rank joins at a random one of SWITCH. FIRST and SEED fix a job's settings and the
 * moments. The environment has the other settings (TRIB_*). Prints one line of JSON. Exit status 0: all was right; 1: a
 * rank failed in a job of which no rank was killed, or did not end; 3: a wrong element. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "core/prng.h"

#define RANKS 2U
#define LANES_MAX 32U
#define ELEMENTS_MAX 16384U
#define OPERATIONS_MAX 80U
#define PAUSE_US_MAX 3000U                    /* of a rank before an operation: the other's part waits in a row */
#define END_NS_MAX UINT64_C(60000000000)      /* from a rank's start to its end */
#define NOT_WITHIN_NS UINT64_C(1000000000000) /* later than all else */
#define EXIT_WRONG 3

enum phase { STARTED, JOINED, CLOSING, ENDED, PHASES };

/* One rank, in memory that its process shares with this program. */
struct victim {
    volatile enum phase phase;
    volatile uint32_t operations;
    char error[TRIB_ERROR_TEXT_MAX];
    pid_t pid; /* 0: has ended */
    uint64_t started_ns, kill_ns;
    bool is_killed;
    uint64_t draws; /* seed of its pauses */
};

/* A job, in the same memory. */
struct lane {
    struct victim victims[RANKS];
    bool is_busy;
    uint32_t number; /* of the job */
    uint32_t elements, operations;
    uint64_t first_kill_ns; /* 0: none yet */
};

struct run {
    struct lane *lanes;
    struct trib_config config;
    uint32_t lane_count, first, next, end;
    uint64_t span_ns, seed;
    char **switches;
    uint32_t switch_count;
    uint32_t killed_jobs;
    uint64_t killed[PHASES]; /* ranks */
    uint64_t sums, wrong, failed, slowest_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U)};
}

/* ---- a rank ---- */

/* Small whole numbers, different for each rank, operation and element; their sum is exact on every wire. */
static float value_at(uint32_t rank, uint32_t operation, uint32_t i)
{
    return (float)((i * 7 + operation * 13 + rank * 3) % 61);
}

static void end_if_failed(struct victim *own, enum trib_status status, const char *what, const char *cause)
{
    if (status != TRIB_OK) {
        (void)snprintf(own->error, sizeof own->error, "%s: %s: %.400s", what, trib_status_text(status), cause);
        _exit(1);
    }
}

static bool sum_is_right(struct lane *lane, uint32_t rank, struct trib_comm *comm, uint32_t operation)
{
    static float tensor[ELEMENTS_MAX];
    for (uint32_t i = 0; i < lane->elements; i++) {
        tensor[i] = value_at(rank, operation, i);
    }
    end_if_failed(&lane->victims[rank], trib_allreduce(comm, tensor, tensor, lane->elements, TRIB_FLOAT32, TRIB_SUM),
                  "allreduce", trib_comm_error(comm));
    bool is_right = true;
    for (uint32_t i = 0; i < lane->elements; i++) {
        float sum = value_at(0, operation, i) + value_at(1, operation, i);
        is_right = is_right && !(tensor[i] < sum || tensor[i] > sum);
    }
    return is_right;
}

static _Noreturn void run_rank(struct lane *lane, const struct trib_config *config)
{
    uint32_t rank = config->rank;
    struct victim *own = &lane->victims[rank];
    struct trib_prng prng = {.state = own->draws};
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    end_if_failed(own, trib_comm_create(config, &comm, error), "create", error);
    own->phase = JOINED;
    for (uint32_t i = 0; i < lane->operations; i++) {
        struct timespec pause = time_of(trib_prng_below(&prng, PAUSE_US_MAX) * 1000);
        (void)nanosleep(&pause, NULL);
        if (!sum_is_right(lane, rank, comm, i)) {
            _exit(EXIT_WRONG);
        }
        own->operations++;
    }
    own->phase = CLOSING;
    end_if_failed(own, trib_comm_close(comm), "close", "");
    _exit(0);
}

/* ---- jobs ---- */

static void start_rank(struct run *run, struct lane *lane, uint32_t rank, struct trib_prng *prng)
{
    struct victim *own = &lane->victims[rank];
    *own = (struct victim){.draws = trib_prng_next(prng), .started_ns = now_ns()};
    own->kill_ns = own->started_ns + trib_prng_below(prng, run->span_ns);
    run->config.rank = rank;
    (void)snprintf(run->config.switch_address, sizeof run->config.switch_address, "%.60s",
                   run->switches[trib_prng_below(prng, run->switch_count)]);
    pid_t pid = fork();
    if (pid < 0) {
        perror("victims: fork");
        exit(2);
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_rank(lane, &run->config);
    }
    own->pid = pid;
}

static void start_job(struct run *run, struct lane *lane)
{
    static const uint32_t payloads[] = {0, 0, 1024, 4096};
    struct trib_prng prng = {.state = run->seed * 1000003 + run->next};
    lane->number = run->next++;
    lane->is_busy = true;
    lane->first_kill_ns = 0;
    (void)snprintf(run->config.job, sizeof run->config.job, "%u", lane->number);
    run->config.ranks = RANKS;
    run->config.payload = payloads[trib_prng_below(&prng, 4)];
    run->config.priority = (uint32_t)(trib_prng_below(&prng, 256));
    lane->elements = 1 + (uint32_t)(trib_prng_below(&prng, ELEMENTS_MAX));
    lane->operations = 1 + (uint32_t)(trib_prng_below(&prng, OPERATIONS_MAX));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        start_rank(run, lane, rank, &prng);
    }
    uint64_t spared = trib_prng_below(&prng, 3); /* of three jobs one is killed whole */
    if (spared < RANKS) {
        lane->victims[spared].kill_ns = NOT_WITHIN_NS + lane->victims[spared].started_ns;
    }
}

/* The exit status of a rank. */
static void take_end(struct run *run, struct lane *lane, uint32_t rank, int status)
{
    struct victim *own = &lane->victims[rank];
    uint64_t now = now_ns();
    own->pid = 0;
    run->sums += own->operations;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_WRONG) {
        run->wrong++;
        printf("job %u: rank %u: wrong sum %u\n", lane->number, rank, own->operations);
    } else if (lane->first_kill_ns == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        run->failed++;
        printf("job %u: rank %u fails, and none was killed: %s\n", lane->number, rank, own->error);
    }
    if (!own->is_killed && own->phase != STARTED && lane->first_kill_ns != 0) {
        uint64_t took = now - lane->first_kill_ns;
        run->slowest_ns = took > run->slowest_ns ? took : run->slowest_ns;
    }
    own->phase = ENDED;
    lane->is_busy = false;
    for (uint32_t i = 0; i < RANKS; i++) {
        lane->is_busy = lane->is_busy || lane->victims[i].pid != 0;
    }
}

static void reap(struct run *run)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (uint32_t i = 0; i < run->lane_count * RANKS; i++) {
            struct lane *lane = &run->lanes[i / RANKS];
            if (lane->victims[i % RANKS].pid == pid) {
                take_end(run, lane, i % RANKS, status);
            }
        }
    }
}

/* Kills the rank if its moment has come. A rank that does not end is a failure, and is killed too. Returns when to call
 * again, ns. */
static uint64_t kill_if_due(struct run *run, struct lane *lane, struct victim *victim)
{
    uint64_t now = now_ns();
    uint64_t end_ns = victim->started_ns + END_NS_MAX;
    if (victim->pid == 0 || victim->is_killed) {
        return NOT_WITHIN_NS + now;
    }
    if (now >= end_ns) {
        run->failed++;
        printf("job %u: a rank does not end\n", lane->number);
    } else if (now < victim->kill_ns) {
        return victim->kill_ns < end_ns ? victim->kill_ns : end_ns;
    }
    run->killed[victim->phase]++;
    victim->is_killed = true;
    if (lane->first_kill_ns == 0) {
        run->killed_jobs++;
        lane->first_kill_ns = now;
    }
    (void)kill(victim->pid, SIGKILL);
    return NOT_WITHIN_NS + now;
}

/* Starts, kills and reaps. False: all jobs have ended. */
static bool step(struct run *run, const sigset_t *child)
{
    uint64_t until = now_ns() + NOT_WITHIN_NS;
    bool is_busy = false;
    reap(run);
    for (uint32_t i = 0; i < run->lane_count; i++) {
        struct lane *lane = &run->lanes[i];
        if (!lane->is_busy && run->next < run->end) {
            start_job(run, lane);
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            uint64_t due = kill_if_due(run, lane, &lane->victims[rank]);
            until = due < until ? due : until;
        }
        is_busy = is_busy || lane->is_busy;
    }
    uint64_t now = now_ns();
    struct timespec rest = time_of(until > now ? until - now : 0);
    if (is_busy) {
        (void)sigtimedwait(child, NULL, &rest);
    }
    return is_busy;
}

static uint32_t number(const char *text, uint32_t least, uint32_t most)
{
    unsigned long value = strtoul(text, NULL, 10);
    if (value < least || value > most) {
        fprintf(stderr, "victims: %s is not from %u to %u\n", text, least, most);
        exit(2);
    }
    return (uint32_t)value;
}

int main(int argc, char **argv)
{
    struct run run = {.switches = argv + 6};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    sigset_t child;

    if (argc < 7) {
        fprintf(stderr, "usage: victims COUNT FIRST LANES SPAN_MS SEED SWITCH...\n");
        return 2;
    }
    run.first = run.next = number(argv[2], 0, 1U << 30);
    run.end = run.first + number(argv[1], 1, 1U << 30);
    run.lane_count = number(argv[3], 1, LANES_MAX);
    run.span_ns = (uint64_t)number(argv[4], 1, 10000) * 1000000;
    run.seed = number(argv[5], 0, UINT32_MAX);
    run.switch_count = (uint32_t)argc - 6;
    run.lanes =
        mmap(NULL, run.lane_count * sizeof *run.lanes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.lanes == MAP_FAILED || trib_config_from_environment(&run.config, error) != TRIB_OK) {
        fprintf(stderr, "victims: %s\n", error);
        return 2;
    }
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    while (step(&run, &child)) {
    }
    printf("{\"jobs\": %u, \"killed_jobs\": %u, \"killed_before_join\": %" PRIu64
           ", \"killed_with_operations\": %" PRIu64 ", \"killed_in_close\": %" PRIu64 ", \"sums\": %" PRIu64
           ", \"slowest_end_ms\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"wrong\": %" PRIu64 "}\n",
           run.end - run.first, run.killed_jobs, run.killed[STARTED], run.killed[JOINED], run.killed[CLOSING], run.sums,
           run.slowest_ns / 1000000, run.failed, run.wrong);
    return run.wrong != 0 ? EXIT_WRONG : run.failed != 0;
}
