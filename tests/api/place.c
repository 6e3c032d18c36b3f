/* SPDX-License-Identifier: Apache-2.0 */
/* place.c: the switches of a worker, as processes of a keeper. Ports are given by the kernel; a switch that comes back
 * takes the port that it had. Read next: pool.c. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "io/clock.h"
#include "keys/keyring.h"
#include "switchd/switchd.h"
#include "unit/patience.h"

#define NOBODY 0xff
#define HALFWAY_US 30000         /* for the ranks of the switch that is not halted to get in as far as they can */
#define BOXES (API_SWITCHES / 2) /* of the table. Behind them come the same with keys */
#define ROOMY (128U << 20)

/* A switch of the table: its shards, its parent, its lenders. */
struct box {
    uint8_t threads, parent, lenders[2];
    double rate;     /* of faults */
    uint32_t buffer; /* of its sockets, where they may hold more than those of ranks; 0: as ever */
};

enum { PLAIN, SHARDS, LOSSY, TOP, LOW_A, LOW_B, LENDER_A, LENDER_B, MAIN, OVER, UNDER };

static const struct box boxes[BOXES] = {
    [PLAIN] = {1, NOBODY, {NOBODY, NOBODY}, 0, 0},        [SHARDS] = {3, NOBODY, {NOBODY, NOBODY}, 0, 0},
    [LOSSY] = {1, NOBODY, {NOBODY, NOBODY}, 0.01, 0},     [TOP] = {2, NOBODY, {NOBODY, NOBODY}, 0, ROOMY},
    [LOW_A] = {1, TOP, {NOBODY, NOBODY}, 0, ROOMY},       [LOW_B] = {1, TOP, {NOBODY, NOBODY}, 0, ROOMY},
    [LENDER_A] = {1, NOBODY, {NOBODY, NOBODY}, 0, ROOMY}, [LENDER_B] = {1, NOBODY, {NOBODY, NOBODY}, 0, 0},
    [MAIN] = {1, NOBODY, {LENDER_A, LENDER_B}, 0, 0},     [OVER] = {1, NOBODY, {LENDER_A, NOBODY}, 0, ROOMY},
    [UNDER] = {1, OVER, {NOBODY, NOBODY}, 0, ROOMY},
};

/* Switches of a place, those that others need first; ranks go to `at`, in turn. */
struct site {
    uint8_t needs[3], at[2];
};

static const struct site sites[API_PLACES] = {
    [API_HOST] = {{NOBODY, NOBODY, NOBODY}, {NOBODY, NOBODY}},
    [API_SWITCH] = {{PLAIN, NOBODY, NOBODY}, {PLAIN, PLAIN}},
    [API_SHARDS] = {{SHARDS, NOBODY, NOBODY}, {SHARDS, SHARDS}},
    [API_LOSSY] = {{LOSSY, NOBODY, NOBODY}, {LOSSY, LOSSY}},
    [API_TREE] = {{TOP, LOW_A, LOW_B}, {LOW_A, LOW_B}},
    [API_MIXED] = {{TOP, LOW_A, LOW_B}, {TOP, LOW_A}},
    [API_WITH] = {{LENDER_A, LENDER_B, MAIN}, {MAIN, MAIN}},
    [API_OVER] = {{LENDER_A, OVER, UNDER}, {OVER, UNDER}},
    [API_NONE] = {{NOBODY, NOBODY, NOBODY}, {NOBODY, NOBODY}},
    [API_NOWHERE] = {{NOBODY, NOBODY, NOBODY}, {NOBODY, NOBODY}},
};

struct command {
    uint8_t box;
    bool kills, starts;
    uint8_t halts; /* a switch that stands still until it is killed, together with box, behind the answer; or NOBODY */
};

static int keeper_in = -1, keeper_out = -1;
static pid_t pids[API_SWITCHES]; /* in the keeper */

/* Shared by worker, keeper and ranks. */
struct running {
    uint16_t port; /* that it has or had; 0: none yet */
    bool runs;
};

static struct running *switches;

/* ---- the keeper ---- */

/* The operator's key is the key of the jobs, so that no folder of keys is needed. */
static struct trib_keyring ring = {.is_for_jobs = true};

static void stop_switch(int signal_number)
{
    (void)signal_number;
    trib_switchd_stop();
}

/* The switch of the table with this number, for a switch with or without keys. */
static uint8_t beside(uint8_t box, uint8_t number)
{
    return (uint8_t)(box - box % BOXES + number);
}

static struct trib_address address_of(uint8_t box)
{
    return trib_address_v4(INADDR_LOOPBACK, switches[box].port);
}

static int switch_process(uint8_t box, int ready_fd)
{
    const struct box *b = &boxes[box % BOXES];
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGTERM, stop_switch);
    trib_switchd_init(&config);
    config.listen = address_of(box);
    config.http.len = 0;
    config.threads = b->threads;
    config.faults = (struct trib_faults){b->rate, b->rate, b->rate, b->rate, 1};
    config.buffer = b->buffer != 0 ? b->buffer : config.buffer;
    config.join_timeout_ns = 6 * TRIB_SECOND_NS * patience();
    config.ready_fd = ready_fd;
    config.keys = box >= BOXES ? &ring : NULL;
    if (b->parent != NOBODY) {
        config.parent = address_of(beside(box, b->parent));
    } else {
        config.lend_to.at[config.lend_to.count++] = trib_address_v4(INADDR_LOOPBACK, 0);
    }
    for (uint32_t i = 0; i < 2 && b->lenders[i] != NOBODY; i++) {
        config.lenders.at[config.lenders.count++] = address_of(beside(box, b->lenders[i]));
    }
    if (trib_switchd_run(&config, error) != TRIB_OK) {
        (void)fprintf(stderr, "switch: %s\n", error);
        return 1;
    }
    return 0;
}

static uint16_t start_switch(uint8_t box)
{
    int ready[2];
    char text[16] = "";
    if (pipe(ready) != 0) {
        return 0;
    }
    pids[box] = fork();
    if (pids[box] == 0) {
        (void)close(ready[0]);
        _exit(switch_process(box, ready[1]));
    }
    (void)close(ready[1]);
    ssize_t got = read(ready[0], text, sizeof text - 1);
    (void)close(ready[0]);
    return got > 0 ? (uint16_t)atoi(text) : 0;
}

static void kill_switch(uint8_t box)
{
    if (pids[box] > 0) {
        (void)kill(pids[box], SIGKILL);
        (void)waitpid(pids[box], NULL, 0);
        pids[box] = 0;
        switches[box].runs = false;
    }
}

static void keep(int in, int out)
{
    struct command command;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(in, &command, sizeof command) == (ssize_t)sizeof command) {
        uint8_t box = command.box;
        uint16_t port = 0;
        if (command.halts != NOBODY && pids[command.halts] > 0) {
            (void)kill(pids[command.halts], SIGSTOP);
        } else if (command.kills) {
            kill_switch(box);
        }
        if (command.starts) {
            port = start_switch(box);
            switches[box].port = port; /* 0: it was taken, and any other is good next time */
            switches[box].runs = port != 0;
        }
        if (write(out, &port, sizeof port) != (ssize_t)sizeof port) {
            return;
        }
        if (command.halts != NOBODY) {
            (void)usleep(HALFWAY_US * (useconds_t)patience());
            kill_switch(box);
            kill_switch(command.halts);
        }
    }
}

void api_keeper_open(void)
{
    int in[2], out[2];
    switches = mmap(NULL, API_SWITCHES * sizeof *switches, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (switches == MAP_FAILED || pipe(in) != 0 || pipe(out) != 0) {
        abort();
    }
    char error[TRIB_ERROR_TEXT_MAX];
    if (trib_keys_explain_lack() == NULL &&
        trib_keys_derive((const uint8_t *)API_KEY, sizeof API_KEY - 1, &ring.own, error) != TRIB_OK) {
        (void)fprintf(stderr, "api: %s\n", error);
        abort();
    }
    if (fork() == 0) {
        (void)close(in[1]);
        (void)close(out[0]);
        keep(in[0], out[1]);
        _exit(0);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    keeper_in = in[1];
    keeper_out = out[0];
}

/* ---- the worker ---- */

static uint16_t tell_keeper(struct command command)
{
    uint16_t port = 0;
    if (write(keeper_in, &command, sizeof command) != (ssize_t)sizeof command ||
        read(keeper_out, &port, sizeof port) != (ssize_t)sizeof port) {
        (void)fprintf(stderr, "api: the keeper of the switches is gone\n");
        abort();
    }
    return port;
}

static uint8_t box_of(const struct api_case *c, uint8_t number)
{
    return number == NOBODY || c->setting[API_SEAL] == API_OPEN ? number : (uint8_t)(number + BOXES);
}

static const struct site *site_of(const struct api_case *c)
{
    return &sites[c->setting[API_PLACE]];
}

bool api_place_ready(const struct api_case *c)
{
    for (uint32_t i = 0; i < 3; i++) {
        uint8_t box = box_of(c, site_of(c)->needs[i]);
        /* Again: the port that it had may be taken by now. */
        if (box != NOBODY && !switches[box].runs && tell_keeper((struct command){box, false, true, NOBODY}) == 0 &&
            tell_keeper((struct command){box, false, true, NOBODY}) == 0) {
            return false;
        }
    }
    return true;
}

/* A switch of the place: `which` counts through those that it needs. */
static uint8_t victim(const struct api_case *c, uint32_t which)
{
    uint8_t number = site_of(c)->needs[which % 3];
    return box_of(c, number != NOBODY ? number : site_of(c)->needs[0]);
}

bool api_place_restart(const struct api_case *c, uint32_t which)
{
    uint8_t box = victim(c, which);
    uint16_t port = switches[box].port;
    return tell_keeper((struct command){box, true, true, NOBODY}) == port;
}

void api_place_kill(const struct api_case *c, uint32_t which)
{
    (void)tell_keeper((struct command){victim(c, which), true, false, NOBODY});
}

void api_place_kill_halfway(const struct api_case *c)
{
    const struct site *site = site_of(c);
    (void)tell_keeper((struct command){box_of(c, site->at[0]), true, false, box_of(c, site->at[1])});
}

void api_place_await_kill(void)
{
    (void)tell_keeper((struct command){.halts = NOBODY}); /* it answers when it has done what it was told before */
}

uint16_t api_place_port(const struct api_case *c, uint32_t rank)
{
    uint8_t box = box_of(c, site_of(c)->at[rank % 2]);
    return box != NOBODY ? switches[box].port : 0;
}
