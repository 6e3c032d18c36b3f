/* SPDX-License-Identifier: Apache-2.0 */
/* comm_harness.h: a real switch in a process of its own, and threads as ranks, for the tests of src/comm.
 * The switch is started by a keeper, a process that is forked before there are threads, because a program with threads
 * should not fork: so a test can kill the switch with SIGKILL and start it again on its port while ranks run. */
#ifndef TRIB_TESTS_COMM_HARNESS_H
#define TRIB_TESTS_COMM_HARNESS_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/tributary.h>

#include "io/clock.h"
#include "net/resolve.h"
#include "patience.h"
#include "switchd/switchd.h"

static int keeper_in = -1;  /* commands */
static int keeper_out = -1; /* answers: a port */
static _Atomic uint16_t switch_port;
static _Atomic uint16_t child_port; /* of a switch below that one; 0: there is none */
static bool on_host;                /* ranks name no switch: they meet in the memory of this host */
static bool no_box;                 /* ranks name rank 0, and are the roots: each says that it is a host of its own */
static uint16_t rendezvous_port;
/* Of the switches; to be set before keeper_open. 0: as they are without. */
static uint64_t ping_gap_ns, switch_join_timeout_ns;
static const struct trib_keyring *switch_keys; /* to be set before keeper_open */
static bool child_combines;                    /* the switch below is a combiner; to be set before keeper_open */
static uint32_t
    ranks_a_host; /* each so many say that they are on one host, and are summed there; 0: each comes alone */

static inline bool says(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static inline void stop_switch(int signal_number)
{
    (void)signal_number;
    trib_switchd_stop();
}

/* parent: port of the switch above; 0: none. */
static inline int switch_process(uint16_t port, uint16_t parent, uint32_t threads, uint64_t threshold, int ready_fd)
{
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGTERM, stop_switch);
    trib_switchd_init(&config);
    if (trib_address_parse("127.0.0.1", port, &config.listen, error) != TRIB_OK) {
        return 1;
    }
    trib_address_set_port(&config.listen, port);
    if (parent != 0) {
        config.parent = trib_address_v4(0x7f000001U, parent);
        config.combines_only = child_combines;
    }
    config.http.len = 0;
    config.keys = switch_keys;
    config.threads = threads;
    config.threshold = threshold;
    config.ping_gap_ns = ping_gap_ns;
    config.join_timeout_ns = switch_join_timeout_ns > 0 ? switch_join_timeout_ns : 20 * TRIB_SECOND_NS * patience();
    config.ready_fd = ready_fd;
    if (trib_switchd_run(&config, error) != TRIB_OK) {
        (void)fprintf(stderr, "switch: %s\n", error);
        return 1;
    }
    return 0;
}

/* Starts a switch and returns its port once it serves; 0: it does not. */
static inline uint16_t keeper_start(uint16_t port, uint16_t parent, uint32_t threads, uint64_t threshold, pid_t *pid)
{
    int ready[2];
    char text[16] = "";
    if (pipe(ready) != 0) {
        return 0;
    }
    *pid = fork();
    if (*pid == 0) {
        _exit(switch_process(port, parent, threads, threshold, ready[1]));
    }
    (void)close(ready[1]);
    ssize_t got = read(ready[0], text, sizeof text - 1);
    (void)close(ready[0]);
    return got > 0 ? (uint16_t)atoi(text) : 0;
}

/* While its switch is away nobody has the port, and another test that looks for one could take it: so a Unix socket of
 * that name, of which a machine has only one, stays open as long as this process lives. */
static inline bool take_port(uint16_t port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tributary-test-port-%u", port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0) {
        return true;
    }
    (void)close(fd);
    return false;
}

/* Below those that the kernel gives to sockets without one; and none that scripts take (quiet_port in
 * tests/integration/common.sh), nor the API test's workers (reserve_port in tests/api/pool.c). */
static inline uint16_t port_to_try(unsigned i)
{
    unsigned place = ((unsigned)getpid() + i) % 620;
    return (uint16_t)(11000 + place % 10 * 2000 + place / 10 * 16 + 12);
}

static inline uint16_t keeper_find_port(uint16_t parent, uint32_t threads, uint64_t threshold, pid_t *pid)
{
    uint16_t port = 0;
    for (unsigned i = 0; i < 620 && port == 0; i++) {
        if (take_port(port_to_try(i))) {
            port = keeper_start(port_to_try(i), parent, threads, threshold, pid);
        }
    }
    return port;
}

static inline void keeper_end(pid_t *pid, int signal_number)
{
    if (*pid > 0) {
        (void)kill(*pid, signal_number);
        (void)waitpid(*pid, NULL, 0);
    }
    *pid = -1;
}

/* Of a switch that an operator keeps for large jobs. */
#define HARNESS_THRESHOLD UINT64_C(40000000)

struct kept {
    pid_t pid;
    uint16_t port;
};

/* Starts the switch anew on its port, the first time on any. */
static inline void keeper_begin(struct kept *kept, uint16_t parent, uint32_t threads, uint64_t threshold)
{
    kept->port = kept->port == 0 ? keeper_find_port(parent, threads, threshold, &kept->pid)
                                 : keeper_start(kept->port, parent, threads, threshold, &kept->pid);
}

/* 'k': kill the switch; 't': end it as an operator does; a digit: start it with so many threads on the port of
 * before, in place of one that a test which failed has left; 'A' to 'I': with 1 to 9 threads and a threshold. 'c': start
 * a switch of one thread below it, in place of the one of before. 's': stop the switch (SIGSTOP), 'r': let it run
 * again; 'S' and 'R': the one below; 'K' kills that. Answers with the port of the switch that it was about. */
static inline void keeper(int in, int out)
{
    char command = 0;
    struct kept top = {.pid = -1};
    struct kept child = {.pid = -1};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(in, &command, 1) == 1) {
        bool has_threshold = command >= 'A' && command <= 'I';
        bool is_child = command == 'c' || command == 'S' || command == 'R' || command == 'K';
        if (command == 's' || command == 'S') {
            (void)kill(is_child ? child.pid : top.pid, SIGSTOP);
            (void)waitpid(is_child ? child.pid : top.pid, NULL, WUNTRACED); /* all of its threads have stopped */
        } else if (command == 'r' || command == 'R') {
            (void)kill(is_child ? child.pid : top.pid, SIGCONT);
        } else if (command == 'K') {
            keeper_end(&child.pid, SIGKILL);
        } else if (command == 'c') {
            keeper_end(&child.pid, SIGKILL);
            keeper_begin(&child, top.port, 1, 0);
        } else {
            keeper_end(&top.pid, command == 't' ? SIGTERM : SIGKILL);
        }
        if (has_threshold || (command >= '1' && command <= '9')) {
            uint32_t threads = (uint32_t)(has_threshold ? command - 'A' + 1 : command - '0');
            keeper_begin(&top, 0, threads, has_threshold ? HARNESS_THRESHOLD : 0);
        }
        const uint16_t *port = is_child ? &child.port : &top.port;
        if (write(out, port, sizeof *port) != (ssize_t)sizeof *port) {
            return;
        }
    }
    keeper_end(&child.pid, SIGKILL);
    keeper_end(&top.pid, SIGKILL);
}

static inline void switch_command(char command)
{
    uint16_t port = 0;
    if (write(keeper_in, &command, 1) != 1 || read(keeper_out, &port, sizeof port) != (ssize_t)sizeof port ||
        port == 0) {
        (void)fprintf(stderr, "the switch does not start\n");
        abort();
    }
    if (command == 'c' || command == 'S' || command == 'R' || command == 'K') {
        child_port = port;
    } else {
        switch_port = port;
    }
}

/* Before main makes any thread. */
static inline void keeper_open(void)
{
    int in[2];
    int out[2];
    if (pipe(in) != 0 || pipe(out) != 0) {
        abort();
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(in[1]);
        (void)close(out[0]);
        keeper(in[0], out[1]);
        _exit(0);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    keeper_in = in[1];
    keeper_out = out[0];
}

/* Is it free for TCP on the loopback? */
static inline bool is_port_free(uint16_t port)
{
    struct trib_address address = trib_address_v4(0x7f000001U, port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = fd >= 0 && bind(fd, (const struct sockaddr *)&address.storage, address.len) == 0;
    (void)close(fd);
    return is_free;
}

/* From here on ranks meet at rank 0. */
static inline void begin_no_box(void)
{
    no_box = true;
    on_host = false;
    for (unsigned i = 0; rendezvous_port == 0 || !is_port_free(rendezvous_port); i++) {
        rendezvous_port = take_port(port_to_try(i)) ? port_to_try(i) : 0;
    }
}

/* ---- ranks ---- */

#define RANKS_MAX 8

static useconds_t delay_of[RANKS_MAX]; /* before that rank creates its communicator */

struct rank {
    struct trib_config config;
    struct trib_comm *comm;
    void (*body)(struct rank *rank);
    pthread_barrier_t *together; /* of the test's threads; not of the communicator */
    enum trib_status status;     /* of create */
    char error[TRIB_ERROR_TEXT_MAX];
    const char *wrong; /* first check that failed, NULL: none */
    int wrong_line;
};

/* cmocka's assertions belong to the main thread: ranks note, the main thread asserts. */
#define CHECK(rank, condition)                \
    do {                                      \
        if (!(condition) && !(rank)->wrong) { \
            (rank)->wrong = #condition;       \
            (rank)->wrong_line = __LINE__;    \
        }                                     \
    } while (0)

/* Waits until this rank has heard that its communicator has failed, however late that is, without an operation of its
 * own. */
static inline bool hears_failure(const struct rank *rank)
{
    for (uint32_t i = 0; i < 10000 * patience() && trib_comm_error(rank->comm)[0] == '\0'; i++) {
        if (!rank->config.progress_thread) {
            trib_comm_progress(rank->comm);
        }
        (void)usleep(1000);
    }
    return trib_comm_error(rank->comm)[0] != '\0';
}

static inline void rank_config(struct trib_config *config, uint32_t rank, uint32_t ranks)
{
    static atomic_uint jobs;
    static atomic_int owner; /* ranks of a host find each other by the job's name, and so would those of another test */
    if (owner == 0) {
        owner = getpid();
    }
    trib_config_init(config);
    if (no_box) {
        (void)snprintf(config->rendezvous, sizeof config->rendezvous, "127.0.0.1:%u", rendezvous_port);
        (void)snprintf(config->host_id, sizeof config->host_id, "host-%u", rank);
    } else if (!on_host) {
        (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u", switch_port);
    }
    config->level0 = on_host || ranks_a_host > 0;
    if (ranks_a_host > 0) {
        (void)snprintf(config->host_id, sizeof config->host_id, "host-%u", rank / ranks_a_host);
    }
    (void)snprintf(config->job, sizeof config->job, "test-%d-%u", owner, rank == 0 ? ++jobs : jobs);
    config->rank = rank;
    config->ranks = ranks;
    config->join_timeout_ns = 15 * TRIB_SECOND_NS * patience();
    config->timeout_ns = 30 * TRIB_SECOND_NS * patience();
}

static inline void *rank_thread(void *argument)
{
    struct rank *rank = argument;
    (void)usleep(delay_of[rank->config.rank]);
    rank->status = trib_comm_create(&rank->config, &rank->comm, rank->error);
    if (rank->body != NULL && rank->status == TRIB_OK) {
        rank->body(rank);
    }
    return NULL;
}

/* Ranks are configured by tweak (may be NULL), join, run body, and are left for the caller to look at. body closes. */
static inline void run_ranks(struct rank *ranks, uint32_t count, void (*tweak)(struct trib_config *config),
                             void (*body)(struct rank *rank))
{
    pthread_t threads[RANKS_MAX];
    pthread_barrier_t together;
    assert_int_equal(pthread_barrier_init(&together, NULL, count), 0);
    memset(ranks, 0, count * sizeof *ranks);
    for (uint32_t i = 0; i < count; i++) {
        rank_config(&ranks[i].config, i, count);
        if (tweak != NULL) {
            tweak(&ranks[i].config);
        }
        ranks[i].body = body;
        ranks[i].together = &together;
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, rank_thread, &ranks[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    (void)pthread_barrier_destroy(&together);
}

static inline void expect_good(const struct rank *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ranks[i].status != TRIB_OK) {
            fail_msg("rank %u: %s: %s", i, trib_status_name(ranks[i].status), ranks[i].error);
        }
        if (ranks[i].wrong != NULL) {
            fail_msg("rank %u, line %d: %s; %s", i, ranks[i].wrong_line, ranks[i].wrong, ranks[i].error);
        }
    }
}

#endif
