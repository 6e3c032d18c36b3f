/* SPDX-License-Identifier: Apache-2.0 */
/* sim_sweep.c: see sim_sweep.h: runs the cells of a grid, each in a process of its own. Cell 7 is written as
 * DIR/0007.part, and is renamed to DIR/0007 when it is whole.
 * Read next: sim/sweep/grid.h. */
#include "cli/sim_sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/sim_single.h"
#include "cli/spawn.h"
#include "io/explain.h"
#include "io/file.h"
#include "io/units.h"
#include "sim/sweep/grid.h"

static volatile pid_t running[SIM_CORES_MAX]; /* cells' processes; 0: none */
static uint64_t cells[SIM_CORES_MAX];         /* of these processes */

/* A signal that is sent to this process alone is for the cells as well. */
static void on_interrupt(int signal)
{
    interrupt_note(signal);
    for (uint32_t i = 0; i < SIM_CORES_MAX; i++) {
        if (running[i] != 0) {
            (void)kill(running[i], SIGTERM);
        }
    }
}

static bool is_done(const char *folder, uint64_t cell)
{
    char path[SIM_PATH_LEN];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s/%04" PRIu64 "/results.json", folder, cell);
    return stat(path, &status) == 0;
}

static int run_cell(const struct sim_grid *g, const char *folder, uint64_t cell)
{
    char part[SIM_PATH_LEN];
    char path[SIM_PATH_LEN];
    struct sim_override list[SIM_VARY_MAX];

    (void)snprintf(part, sizeof part, "%s/%04" PRIu64 ".part", folder, cell);
    (void)snprintf(path, sizeof path, "%s/%04" PRIu64, folder, cell);
    sim_grid_choose(g, cell, list);
    const struct sim_single silent = {.out = part, .quiet = true, .silent = true};
    int status = sim_single(g->scenario, &(struct sim_overrides){list, g->vary_count}, &silent);
    bool is_whole = status == 0 || status == SIM_EXIT_DEADLOCK || status == SIM_EXIT_STALLED;
    if (is_whole && rename(part, path) != 0) {
        return complain("%s: %s", path, trib_explain_errno(errno));
    }
    if (is_whole && status != 0) {
        complain("run %04" PRIu64 " is done: %s is a result", cell,
                 status == SIM_EXIT_DEADLOCK ? "a deadlock" : "a run that does not end");
    } else if (status != 0 && status != interrupt_status()) {
        complain("run %04" PRIu64 " is not done; its partial results are in %s", cell, part);
    }
    return is_whole ? 0 : status;
}

/* Counts of a sweep. */
struct tally {
    uint32_t running;
    uint64_t all;
    uint64_t done;
    int failed;
};

/* Waits for one that ends. */
static void reap(struct tally *t)
{
    int status = 0;
    pid_t pid = wait(&status);

    for (uint32_t i = 0; pid > 0 && i < SIM_CORES_MAX; i++) {
        if (running[i] == pid) {
            running[i] = 0;
            t->running--;
            t->done += status == 0;
            t->failed |= status != 0;
            if (WIFSIGNALED(status) && !interrupt_came()) {
                complain("run %04" PRIu64 " was ended by signal %d (%s), as by the kernel where memory is short",
                         cells[i], WTERMSIG(status), strsignal(WTERMSIG(status)));
            }
            fprintf(stderr, "%" PRIu64 " of %" PRIu64 " runs are done\n", t->done, t->all);
        }
    }
}

/* Where no more processes may be, a run waits for one that ends. False: there is none. */
static bool start(const struct sim_grid *g, const char *folder, uint64_t cell, struct tally *t)
{
    uint32_t place = 0;

    while (running[place] != 0) {
        place++;
    }
    pid_t child = spawn_fork();
    while (child < 0 && t->running > 0 && !interrupt_came()) {
        reap(t);
        child = spawn_fork();
    }
    if (child == 0) {
        _exit(run_cell(g, folder, cell));
    }
    if (child < 0) {
        complain("run %04" PRIu64 " cannot be started: %s", cell, trib_explain_errno(errno));
        t->failed = 1;
        return false;
    }
    cells[place] = cell;
    running[place] = child;
    t->running++;
    if (interrupt_came()) { /* between the two */
        (void)kill(child, SIGTERM);
    }
    return true;
}

static int run_cells(const struct sim_grid *g, const struct sim_sweep *sweep, uint64_t shard, uint64_t shards)
{
    uint64_t cores = sweep->cores != 0 ? sweep->cores : (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    struct tally t = {0};

    cores = cores < SIM_CORES_MAX ? cores : SIM_CORES_MAX;
    for (uint64_t cell = shard; cell < g->cells; cell += shards) {
        t.all++;
        t.done += is_done(sweep->out, cell);
    }
    for (uint64_t cell = shard; cell < g->cells && !interrupt_came(); cell += shards) {
        if (is_done(sweep->out, cell)) {
            continue;
        }
        while (t.running >= cores) {
            reap(&t);
        }
        if (!interrupt_came() && !start(g, sweep->out, cell, &t)) {
            break;
        }
    }
    while (t.running > 0) {
        reap(&t);
    }
    if (!sweep->is_part) {
        printf("%" PRIu64 " of %" PRIu64 " runs are done, in %s\n", t.done, t.all, sweep->out);
    }
    if (interrupt_came()) {
        complain("interrupted: the same command goes on");
        return interrupt_status();
    }
    return t.failed;
}

/* The process that ends the last cell makes the page. */
static bool show_cells(const struct sim_grid *g, const char *folder)
{
    for (uint64_t cell = 0; cell < g->cells; cell++) {
        if (!is_done(folder, cell)) {
            return true;
        }
    }
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t partial = 0;
    if (!sim_grid_page(g, folder, &partial, error)) {
        complain("%s", error);
        return false;
    }
    if (partial != 0) {
        complain("%" PRIu64 " of %" PRIu64
                 " runs have iterations of jobs that were not done: means are of the others; %s/sweep.html marks them",
                 partial, g->cells, folder);
    }
    return true;
}

/* "1/4". */
static bool read_shard(const char *text, uint64_t *shard, uint64_t *shards)
{
    char digits[TRIB_UNITS_TEXT_MAX];
    const char *slash = text != NULL ? strchr(text, '/') : NULL;

    *shard = 0;
    *shards = 1;
    if (text == NULL) {
        return true;
    }
    if (slash == NULL || (size_t)(slash - text) >= sizeof digits) {
        return false;
    }
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(slash - text), text);
    return trib_parse_number(slash + 1, 1, SIM_CELLS_MAX, shards, NULL) == TRIB_OK &&
           trib_parse_number(digits, 0, *shards - 1, shard, NULL) == TRIB_OK;
}

int sim_sweep(const struct sim_sweep *sweep)
{
    uint64_t shard = 0;
    uint64_t shards = 1;
    int status = EXIT_USAGE;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (sweep->grid == NULL || sweep->out == NULL) {
        complain("write `tributary sim sweep GRID --out DIR`");
        return EXIT_USAGE;
    }
    if (!read_shard(sweep->shard, &shard, &shards)) {
        complain("--shard: \"%s\" is no part; write 0/4 for the first of four", sweep->shard);
        return EXIT_USAGE;
    }
    if (!trib_file_make_folder(sweep->out, error)) {
        return complain("%s", error);
    }
    struct sim_grid *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return complain("out of memory");
    }
    if (!sim_grid_read(g, sweep->grid, error) || !sim_grid_index(g, sweep->out, error)) {
        complain("%s", error);
    } else {
        interrupt_catch_by(on_interrupt, 0);
        status = run_cells(g, sweep, shard, shards);
        status = status == 0 && !show_cells(g, sweep->out) ? 1 : status;
    }
    sim_grid_free(g);
    free(g);
    return status;
}
