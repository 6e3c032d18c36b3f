/* SPDX-License-Identifier: Apache-2.0 */
/* hops.c: the program bench-sim: packet-hops that the simulator moves in a second of CPU time, its memory and set-up. A
 * packet-hop is one packet that leaves one directed link. Time is the CPU time of the one thread, from the first event
 * on; set-up is a column of its own. Memory is the largest resident size of the process, in millions of bytes.
 * Read next: sim/run.h. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/nearest.h"
#include "sim/network/gates.h"
#include "sim/scenario/scenario.h"

#define HOPS_EACH UINT64_C(1000000)
#define MS_PS UINT64_C(1000000000)
#define QUICK 20 /* times shorter */
#define EXIT_USAGE 2

struct row {
    const char *name;
    const char *text;
    double goal;    /* packet-hops per second of CPU time; 0: none is set */
    uint32_t hosts; /* 128, 1,024 or 8,192 */
    void (*make)(struct sim_scenario *scenario);
};

/* Returns 1. */
static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int complain(const char *format, ...)
{
    va_list arguments;

    (void)fputs("bench-sim: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    return 1;
}

/* 10 Gbps, 1 us a link, packets of 1500 B, each acknowledged, marks from 65 packets on, ports of 200 packets. */
static void fat_tree(struct sim_scenario *s, uint32_t k)
{
    struct sim_wire wire = {.rate_bps = UINT64_C(10000000000), .delay_ps = UINT64_C(1000000)};

    sim_scenario_init(s);
    s->topology = (struct sim_topology){
        .kind = SIM_FAT_TREE,
        .k = k,
        .edge = wire,
        .fabric = wire,
        .buffer_bytes = UINT64_C(200) * s->flows.packet,
        .mark_bytes = UINT64_C(65) * s->flows.packet,
        .smallest = s->flows.header + 1,
        .largest = s->flows.packet,
    };
    s->traffic_count = 1;
}

static void permutation(struct sim_scenario *s, uint32_t k, uint64_t duration_ps)
{
    fat_tree(s, k);
    s->duration_ps = duration_ps;
    s->traffic[0] = (struct sim_traffic){.kind = SIM_PERMUTATION, .bytes = SIM_NEVER};
}

static void permutation_128(struct sim_scenario *s)
{
    permutation(s, 8, 40 * MS_PS);
}

static void permutation_1024(struct sim_scenario *s)
{
    permutation(s, 16, 8 * MS_PS);
}

static void permutation_8192(struct sim_scenario *s)
{
    permutation(s, 32, 1 * MS_PS);
}

static void websearch_1024(struct sim_scenario *s)
{
    fat_tree(s, 16);
    s->duration_ps = 20 * MS_PS;
    s->traffic[0] = (struct sim_traffic){
        .kind = SIM_POISSON,
        .sizes = sim_sizes_find("websearch-packets"),
        .load = 0.6,
        .rate_bps = s->topology.edge.rate_bps,
        .stop_ps = SIM_NEVER - 1,
    };
}

/* As permutation-1024, with 2 MB of each switch shared by its 16 ports, PFC, and 64 hosts at a time that send to one:
 * so that ports are stopped. */
static void pfc_1024(struct sim_scenario *s)
{
    permutation(s, 16, 8 * MS_PS);
    s->topology.buffer_bytes = SIM_NEVER;
    s->topology.buffers = (struct sim_buffers_config){
        .shared_bytes = UINT64_C(2000000),
        .below_bytes = UINT64_C(2) * s->flows.packet,
        .alpha_of = 1,
        .alpha_by = 8,
        .is_lossless = true,
    };
    s->traffic[s->traffic_count++] = (struct sim_traffic){
        .kind = SIM_INCAST,
        .fan_in = 64,
        .bytes = 64000,
        .repeat = 20,
        .period_ps = MS_PS / 2,
    };
}

/* Placed at random, so that trees have three levels of switches. */
static void jobs_1024(struct sim_scenario *s)
{
    fat_tree(s, 16);
    s->duration_ps = 10 * MS_PS;
    s->traffic_count = 0;
    s->job_count = 8;
    for (uint32_t i = 0; i < s->job_count; i++) {
        s->jobs[i] = (struct sim_job_config){
            .scheme = "switchml",
            .workers = 64,
            .iterations = 1000,
            .window = 128,
            .payload = 1408,
            .bytes = UINT64_C(5000000),
            .compute_ps = MS_PS,
            .placement = SIM_RANDOM,
        };
    }
}

/* As jobs-1024, with servers, and combiners at the switches of workers and servers. The sums of eight racks share links
 * to the server's rack, so fewer packets travel at a time, and the row simulates a longer time. */
static void combiners_1024(struct sim_scenario *s)
{
    jobs_1024(s);
    s->duration_ps = 200 * MS_PS;
    s->job_count = 3;
    for (uint32_t i = 0; i < s->job_count; i++) {
        (void)strcpy(s->jobs[i].scheme, "atp");
        s->jobs[i].servers = 1;
        s->jobs[i].placement = SIM_CLOSE;
    }
}

static const struct row rows[] = {
    {"permutation-128", "DCTCP permutation, fat tree k=8", 0, 128, permutation_128},
    {"permutation-1024", "DCTCP permutation, fat tree k=16", 12e6, 1024, permutation_1024},
    {"permutation-8192", "DCTCP permutation, fat tree k=32", 0, 8192, permutation_8192},
    {"websearch-1024", "WebSearch (packets) at 60 % load, k=16", 10e6, 1024, websearch_1024},
    {"pfc-1024", "the permutation with PFC, shared buffers, incast", 6e6, 1024, pfc_1024},
    {"jobs-1024", "8 jobs x 64 workers, switchml in 3 levels", 5e6, 1024, jobs_1024},
    {"combiners-1024", "3 jobs x 64 workers, atp, combiners on 2 levels", 5e6, 1024, combiners_1024},
};

#define ROWS (sizeof rows / sizeof rows[0])

/* Results of a row, from its process. */
struct outcome {
    uint64_t hops;
    uint64_t events;
    uint64_t hash;
    double cpu_s;
    double start_s;
    long rss_kb;
    double goodput_bps;
    bool is_good;
};

static bool was_stopped(const struct sim_network *n)
{
    uint64_t stops = 0;

    for (uint32_t i = 0; i < n->link_count; i++) {
        stops += n->gates->list[i].stops;
    }
    return stops != 0;
}

static struct outcome measure(const struct row *row, bool is_quick)
{
    static struct sim_scenario scenario;
    static struct sim_run run;
    struct outcome outcome = {0};
    struct rusage usage;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    double begin = trib_cpu_s();

    row->make(&scenario);
    scenario.duration_ps /= is_quick ? QUICK : 1;
    for (uint32_t i = 0; i < scenario.job_count; i++) {
        scenario.jobs[i].compute_ps /= is_quick ? QUICK : 1;
    }
    if (!sim_run_init(&run, &scenario, error)) {
        complain("%s: %s", row->name, error);
        return outcome;
    }
    double ready = trib_cpu_s();
    while (sim_run_advance(&run, HOPS_EACH)) {
    }
    outcome.cpu_s = trib_cpu_s() - ready;
    outcome.start_s = ready - begin;
    outcome.hops = run.network.hops;
    outcome.events = run.network.events.count;
    outcome.hash = run.network.hash;
    outcome.goodput_bps = (double)run.flows.bytes * 8e12 / (double)scenario.duration_ps / run.network.hosts;
    const char *fault = sim_run_check(&run);
    if (fault == NULL && scenario.topology.buffers.is_lossless && !was_stopped(&run.network)) {
        fault = "no port was stopped";
    }
    outcome.is_good = fault == NULL;
    if (fault != NULL) {
        complain("%s: %s", row->name, fault);
    }
    sim_run_deinit(&run);
    (void)getrusage(RUSAGE_SELF, &usage);
    outcome.rss_kb = usage.ru_maxrss;
    return outcome;
}

static bool measure_apart(const struct row *row, bool is_quick, struct outcome *outcome)
{
    int ends[2];

    if (pipe(ends) != 0) {
        return false;
    }
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct outcome mine = measure(row, is_quick);
        bool is_told = write(ends[1], &mine, sizeof mine) == (ssize_t)sizeof mine;
        _exit(is_told && mine.is_good ? 0 : 1);
    }
    (void)close(ends[1]);
    bool is_good = child > 0 && read(ends[0], outcome, sizeof *outcome) == (ssize_t)sizeof *outcome;
    (void)close(ends[0]);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_good;
}

/* Over all rows: the largest memory and longest set-up of a size of network, and the cost of a hop. */
struct summary {
    double memory_mb[2]; /* at 1,024 and 8,192 hosts */
    double start_s;      /* at 1,024 */
    double hop_s[2];     /* at 128 and 8,192, of permutations */
};

static void add_to_summary(struct summary *s, const struct row *row, const struct outcome *o)
{
    double mb = (double)o->rss_kb * 1024 / 1e6;

    if (row->hosts != 128) {
        double *most = &s->memory_mb[row->hosts == 8192];
        *most = fmax(*most, mb);
        s->start_s = row->hosts == 1024 ? fmax(s->start_s, o->start_s) : s->start_s;
    }
    if (row->hosts != 1024) {
        s->hop_s[row->hosts == 8192] = o->cpu_s / (double)o->hops;
    }
}

static void print_figure(const char *name, double value, double bound, const char *unit, bool is_json)
{
    if (is_json) {
        printf(",\n {\"name\":\"%s\",\"value\":%.4f,\"below\":%.1f,\"is_met\":%s}", name, value, bound,
               value < bound ? "true" : "false");
    } else {
        printf("%-26s %8.3f %-2s below %5.1f: %s\n", name, value, unit, bound, value < bound ? "met" : "missed");
    }
}

static void print_summary(const struct summary *s, bool is_json)
{
    print_figure("memory, 1,024 hosts", s->memory_mb[0], 100, "MB", is_json);
    print_figure("memory, 8,192 hosts", s->memory_mb[1], 600, "MB", is_json);
    print_figure("set-up, 1,024 hosts", s->start_s, 0.2, "s", is_json);
    print_figure("a hop at 8,192, of 128", s->hop_s[1] / s->hop_s[0], 2, "x", is_json);
}

static void print_row(const struct row *row, const struct outcome *o, bool is_json, bool is_first)
{
    double rate = (double)o->hops / o->cpu_s;

    if (is_json) {
        printf("%s{\"name\":\"%s\",\"hops\":%" PRIu64 ",\"events\":%" PRIu64 ",\"cpu_s\":%.4f,\"hops_per_s\":%.0f,",
               is_first ? "" : ",\n ", row->name, o->hops, o->events, o->cpu_s, rate);
        printf(
            "\"goal\":%.0f,\"setup_s\":%.4f,\"rss_kb\":%ld,\"goodput_bps_per_host\":%.0f,\"trace_hash\":\"%016" PRIx64
            "\"}",
            row->goal, o->start_s, o->rss_kb, o->goodput_bps, o->hash);
        return;
    }
    char goal[16] = "-";
    if (row->goal > 0) {
        (void)snprintf(goal, sizeof goal, "%.0f", row->goal / 1e6);
    }
    printf("%-18s %8.2f %6s %9.1f %6.2f %8.3f %7.1f %7.2f  %s\n", row->name, rate / 1e6, goal, (double)o->hops / 1e6,
           (double)o->events / (double)o->hops, o->start_s, (double)o->rss_kb * 1024 / 1e6, o->goodput_bps / 1e9,
           row->text);
}

/* True if no row or a known row is named. Else suggests the nearest name. */
static bool is_known(const char *only)
{
    struct trib_nearest nearest = {.word = only, .len = only == NULL ? 0 : strlen(only)};

    if (only == NULL) {
        return true;
    }
    for (unsigned i = 0; i < ROWS; i++) {
        if (strcmp(only, rows[i].name) == 0) {
            return true;
        }
        trib_nearest_offer(&nearest, rows[i].name);
    }
    complain("there is no row \"%s\"%s%s%s", only, nearest.best != NULL ? "; did you mean " : "",
             nearest.best != NULL ? nearest.best : "",
             nearest.best != NULL ? "?" : "; bench-sim without a name measures all");
    return false;
}

static int bench(const char *only, bool is_quick, bool is_json)
{
    struct summary summary = {0};
    int count = 0;
    int status = 0;

    if (!is_known(only)) {
        return EXIT_USAGE;
    }
    if (!is_json) {
        printf("%-18s %8s %6s %9s %6s %8s %7s %7s\n", "row", "Mhops/s", "goal", "Mhops", "ev/hop", "setup s", "MB",
               "Gbps");
    } else {
        printf("[");
    }
    for (unsigned i = 0; i < ROWS; i++) {
        struct outcome outcome = {0};
        if (only != NULL && strcmp(only, rows[i].name) != 0) {
            continue;
        }
        if (measure_apart(&rows[i], is_quick, &outcome)) {
            print_row(&rows[i], &outcome, is_json, count == 0);
            add_to_summary(&summary, &rows[i], &outcome);
        } else {
            status = complain("%s: failed", rows[i].name);
        }
        count++;
    }
    if (only == NULL && status == 0) {
        print_summary(&summary, is_json);
    }
    if (is_json) {
        printf("]\n");
    }
    return status;
}

static int usage(FILE *out, int status)
{
    (void)fputs("usage: bench-sim [ROW] [--quick] [--json]\n"
                "  --quick  a twentieth of the simulated time\n"
                "  --json   a list of JSON objects\n",
                out);
    return status;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool is_quick = false;
    bool is_json = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            is_quick = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            is_json = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            return usage(stdout, 0);
        } else if (argv[i][0] != '-' && only == NULL) {
            only = argv[i];
        } else {
            return usage(stderr, EXIT_USAGE);
        }
    }
    return bench(only, is_quick, is_json);
}
