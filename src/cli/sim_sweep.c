/* SPDX-License-Identifier: Apache-2.0 */
/* sim_sweep.c: see sim_sweep.h. A grid is a TOML file: `scenario` names a file beside it, and each [[vary]] has a `key`
 * of it, such as "traffic.load", and `values` with commas between them. The first key varies slowest. Cell 7 is
 * DIR/0007; it is written as DIR/0007.part and gets its name when it is whole.
 * Read next: sim_grid.h, sim_sweep_page.c. */
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
#include "cli/options.h"
#include "cli/sim_grid.h"
#include "io/file.h"
#include "io/units.h"

#define CELLS_MAX UINT64_C(100000)

static volatile sig_atomic_t was_interrupted;
static volatile pid_t running[SIM_CORES_MAX]; /* cells' processes; 0: none */

/* Who has sent it to this process alone means the cells as well. */
static void on_interrupt(int signal)
{
    (void)signal;
    was_interrupted = 1;
    for (uint32_t i = 0; i < SIM_CORES_MAX; i++) {
        if (running[i] != 0) {
            (void)kill(running[i], SIGTERM);
        }
    }
}

/* ---- the grid ---- */

static const struct trib_toml_value *find(const struct sim_grid *g, uint32_t table, const char *key)
{
    for (uint32_t i = 0; i < g->toml.value_count; i++) {
        const struct trib_toml_value *value = &g->toml.values[i];
        if (value->table == table && strcmp(value->key, key) == 0 && value->kind == TRIB_TOML_STRING) {
            return value;
        }
    }
    return NULL;
}

/* "20%, 40%" into its parts. False: there are none, or too many. */
static bool split(struct sim_vary *v, const char *text)
{
    v->texts = strdup(text);
    v->count = 0;
    if (v->texts == NULL) {
        return false;
    }
    char *rest = NULL;
    for (char *word = strtok_r(v->texts, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        word += strspn(word, " ");
        size_t len = strlen(word);
        while (len > 0 && word[len - 1] == ' ') {
            word[--len] = '\0';
        }
        if (len == 0 || v->count == SIM_VALUES_MAX) {
            return false;
        }
        v->values[v->count++] = word;
    }
    return v->count != 0;
}

static bool take_vary(struct sim_grid *g, const char *path, uint32_t table)
{
    const struct trib_toml_value *key = find(g, table, "key");
    const struct trib_toml_value *values = find(g, table, "values");
    struct trib_file_place place = g->toml.tables[table].place;
    struct sim_vary *v = &g->vary[g->vary_count];

    if (strcmp(g->toml.tables[table].name, "vary") != 0 || key == NULL || values == NULL ||
        g->vary_count == SIM_VARY_MAX) {
        complain("%s:%u:%u: expected [[vary]] with key = \"traffic.load\" and values = \"20%%, 40%%\"", path,
                 place.line, place.column);
        return false;
    }
    for (uint32_t i = 0; i < g->vary_count; i++) {
        if (strcmp(g->vary[i].key, key->text) == 0) {
            complain("%s:%u:%u: %s varies already", path, key->place.line, key->place.column, key->text);
            return false;
        }
    }
    g->vary_count++;
    v->key = key->text;
    if (!split(v, values->text)) {
        complain("%s:%u:%u: no value, an empty one, or more than %u", path, values->place.line, values->place.column,
                 SIM_VALUES_MAX);
        return false;
    }
    g->cells *= v->count;
    if (g->cells > CELLS_MAX) {
        complain("%s:%u:%u: more than %" PRIu64 " runs", path, values->place.line, values->place.column, CELLS_MAX);
        return false;
    }
    return true;
}

static bool take_grid(struct sim_grid *g, const char *path)
{
    const struct trib_toml_value *scenario = find(g, 0, "scenario");
    const char *slash = strrchr(path, '/');

    if (scenario == NULL) {
        complain("%s:1:1: scenario = \"FILE\" is missing", path);
        return false;
    }
    int folder = slash != NULL && scenario->text[0] != '/' ? (int)(slash + 1 - path) : 0;
    if (snprintf(g->scenario, sizeof g->scenario, "%.*s%s", folder, path, scenario->text) >= (int)sizeof g->scenario) {
        complain("%s: too long a path", path);
        return false;
    }
    g->cells = 1;
    for (uint32_t table = 1; table < g->toml.table_count; table++) {
        if (!take_vary(g, path, table)) {
            return false;
        }
    }
    return true;
}

static bool read_grid(struct sim_grid *g, const char *path)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);
    bool is_good = text != NULL && trib_toml_read(&g->toml, text, len, error);

    if (text == NULL) {
        complain("%s", error);
    } else if (!is_good) {
        complain("%s:%u:%u: %s", path, g->toml.place.line, g->toml.place.column, error);
    }
    free(text);
    return is_good && take_grid(g, path);
}

static void free_grid(struct sim_grid *g)
{
    for (uint32_t i = 0; i < g->vary_count; i++) {
        free(g->vary[i].texts);
    }
    trib_toml_free(&g->toml);
}

void sim_grid_choose(const struct sim_grid *g, uint64_t cell, struct sim_override list[SIM_VARY_MAX])
{
    for (uint32_t i = g->vary_count; i-- > 0;) {
        list[i] = (struct sim_override){.key = g->vary[i].key, .text = g->vary[i].values[cell % g->vary[i].count]};
        cell /= g->vary[i].count;
    }
}

/* Every combination must be a scenario before the first is run. */
static bool check_cells(const struct sim_grid *g)
{
    static struct sim_scenario scenario;
    struct sim_override list[SIM_VARY_MAX];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    bool is_good = true;

    for (uint64_t cell = 0; is_good && cell < g->cells; cell++) {
        sim_grid_choose(g, cell, list);
        is_good = sim_scenario_read(&scenario, g->scenario, &(struct sim_overrides){list, g->vary_count}, error);
        sim_scenario_free(&scenario);
    }
    if (!is_good) {
        complain("%s", error);
    }
    return is_good;
}

/* cells.csv: which cell has which values. A folder that holds another grid's is left alone. */
static bool write_index(const struct sim_grid *g, const char *folder)
{
    char path[SIM_PATH_LEN];
    char *made = NULL;
    size_t len = 0;
    FILE *text = open_memstream(&made, &len);
    struct sim_override list[SIM_VARY_MAX];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    size_t old_len = 0;

    if (text == NULL) {
        complain("out of memory");
        return false;
    }
    (void)fprintf(text, "cell");
    for (uint32_t i = 0; i < g->vary_count; i++) {
        (void)fprintf(text, ",%s", g->vary[i].key);
    }
    for (uint64_t cell = 0; cell < g->cells; cell++) {
        sim_grid_choose(g, cell, list);
        (void)fprintf(text, "\n%04" PRIu64, cell);
        for (uint32_t i = 0; i < g->vary_count; i++) {
            (void)fprintf(text, ",%s", list[i].text);
        }
    }
    (void)fprintf(text, "\n");
    (void)fclose(text);
    (void)snprintf(path, sizeof path, "%s/cells.csv", folder);
    char *old = trib_file_read(path, &old_len, error);
    bool is_good = old == NULL || (old_len == len && memcmp(old, made, len) == 0);
    if (!is_good) {
        complain("%s holds the results of another grid", folder);
    } else if (old == NULL) {
        FILE *file = fopen(path, "w");
        is_good = file != NULL && fwrite(made, 1, len, file) == len;
        is_good = file != NULL && fclose(file) == 0 && is_good;
        if (!is_good) {
            complain("%s: %s", path, strerror(errno));
        }
    }
    free(old);
    free(made);
    return is_good;
}

/* ---- running ---- */

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
    int status = sim_run_cell(g->scenario, &(struct sim_overrides){list, g->vary_count}, part);
    bool is_whole = status == 0 || status == SIM_EXIT_DEADLOCK || status == SIM_EXIT_STALLED;
    if (is_whole && rename(part, path) != 0) {
        return complain("%s: %s", path, strerror(errno));
    }
    if (is_whole && status != 0) {
        complain("run %04" PRIu64 " is done: %s is a result", cell,
                 status == SIM_EXIT_DEADLOCK ? "a deadlock" : "a run that does not end");
    } else if (status != 0 && status != SIM_EXIT_INTERRUPTED) {
        complain("run %04" PRIu64 " is not done; its partial results are in %s", cell, part);
    }
    return is_whole ? 0 : status;
}

/* What a sweep has done. */
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
            fprintf(stderr, "%" PRIu64 " of %" PRIu64 " runs are done\n", t->done, t->all);
        }
    }
}

static void start(const struct sim_grid *g, const char *folder, uint64_t cell, struct tally *t)
{
    uint32_t place = 0;

    while (running[place] != 0) {
        place++;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGINT, SIG_DFL);
        (void)signal(SIGTERM, SIG_DFL);
        _exit(run_cell(g, folder, cell));
    }
    if (child < 0) {
        t->failed = 1;
        return;
    }
    running[place] = child;
    t->running++;
    if (was_interrupted) { /* between the two */
        (void)kill(child, SIGTERM);
    }
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
    for (uint64_t cell = shard; cell < g->cells && !was_interrupted; cell += shards) {
        if (is_done(sweep->out, cell)) {
            continue;
        }
        while (t.running >= cores) {
            reap(&t);
        }
        if (!was_interrupted) {
            start(g, sweep->out, cell, &t);
        }
    }
    while (t.running > 0) {
        reap(&t);
    }
    if (!sweep->is_part) {
        printf("%" PRIu64 " of %" PRIu64 " runs are done, in %s\n", t.done, t.all, sweep->out);
    }
    if (was_interrupted) {
        complain("interrupted: the same command goes on");
        return SIM_EXIT_INTERRUPTED;
    }
    return t.failed;
}

/* Whoever ends the last cell makes the page. */
static bool show_cells(const struct sim_grid *g, const char *folder)
{
    for (uint64_t cell = 0; cell < g->cells; cell++) {
        if (!is_done(folder, cell)) {
            return true;
        }
    }
    return sim_sweep_page(g, folder);
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
    return trib_parse_number(slash + 1, 1, CELLS_MAX, shards, NULL) == TRIB_OK &&
           trib_parse_number(digits, 0, *shards - 1, shard, NULL) == TRIB_OK;
}

int sim_sweep(const struct sim_sweep *sweep)
{
    struct sigaction action = {.sa_handler = on_interrupt};
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
    if (read_grid(g, sweep->grid) && check_cells(g) && write_index(g, sweep->out)) {
        (void)sigaction(SIGINT, &action, NULL);
        (void)sigaction(SIGTERM, &action, NULL);
        status = run_cells(g, sweep, shard, shards);
        status = status == 0 && !show_cells(g, sweep->out) ? 1 : status;
    }
    free_grid(g);
    free(g);
    return status;
}
