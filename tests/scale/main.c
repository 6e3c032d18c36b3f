/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: one run: jobs begin; agents are killed, ranks die, jobs close and begin, the controller restarts; then all is
 * idle for a second; then all jobs close. See scale.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "scale.h"
#include "unit/patience.h"

#define BOUND_NS TRIB_MILLISECOND_NS /* of 99 in 100 decisions of each kind */
/* A sanitizer takes ten times as long and more: its builds look for defects, and the plain ones measure. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define IS_MEASURED false
#else
#define IS_MEASURED true
#endif

static const char *const names[DECISION_COUNT] = {
    [DECISION_JOIN] = "JOIN",           [DECISION_START] = "last JOIN",
    [DECISION_PATHS] = "PATHS",         [DECISION_REGISTER] = "REGISTER",
    [DECISION_MARK] = "MARK",           [DECISION_CLOSE] = "CLOSE",
    [DECISION_DEATH] = "rank died",     [DECISION_LOST] = "agent lost, a job",
    [DECISION_HELLO] = "HELLO",         [DECISION_READY] = "ROOT_READY",
    [DECISION_ROOM] = "ROOM",           [DECISION_TIME] = "what is due",
    [DECISION_LOOK] = "when is it due", [DECISION_OTHER] = "others",
};

static uint32_t parse(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static bool read_options(int argc, char **argv, struct options *o)
{
    struct {
        const char *name;
        uint32_t *field;
    } const rows[] = {{"--agents", &o->agents}, {"--jobs", &o->jobs},       {"--ranks", &o->ranks},
                      {"--trees", &o->trees},   {"--seconds", &o->seconds}, {NULL, NULL}};
    for (int i = 1; i < argc; i++) {
        uint32_t k = 0;
        while (rows[k].name && strcmp(rows[k].name, argv[i]) != 0) {
            k++;
        }
        if (rows[k].name && i + 1 < argc) {
            *rows[k].field = parse(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            o->seed = parse(argv[++i]);
        } else if (strcmp(argv[i], "--check") == 0) {
            o->checks_all = true;
        } else {
            return false;
        }
    }
    return o->agents >= o->trees && o->agents <= TRIB_LENDERS_MAX && o->jobs >= 1 && o->jobs <= TRIB_JOBS_MAX &&
           o->ranks >= 1 && o->ranks <= TRIB_RANKS_MAX && o->trees >= 1 && o->trees <= TRIB_SWITCHES_MAX;
}

/* Half of all seconds an agent is killed each 50 ms, and a rank. */
static void plan_faults(struct world *w, uint64_t from_ns)
{
    uint64_t ms = w->options.seconds * UINT64_C(1000);
    for (uint64_t at = 0; at < ms; at += 50 + trib_prng_below(&w->prng, 200)) {
        struct event kill = {.kind = EVENT_KILL, .index = (uint32_t)trib_prng_below(&w->prng, w->options.agents)};
        struct event death = {.kind = EVENT_DIE,
                              .index = (uint32_t)trib_prng_below(&w->prng, w->options.jobs * w->options.ranks)};
        push(w, from_ns + at * TRIB_MILLISECOND_NS, kill);
        push(w, from_ns + (at + 20) * TRIB_MILLISECOND_NS, death);
    }
    for (uint32_t second = 1; second < w->options.seconds; second += 3) {
        push(w, from_ns + second * TRIB_SECOND_NS, (struct event){.kind = EVENT_RESTART});
    }
}

static bool print_times(const struct world *w)
{
    bool is_good = true;
    printf("%-18s %10s %10s %10s %10s  CPU time, us\n", "decision", "count", "p50", "p99", "max");
    for (uint32_t i = 0; i < DECISION_COUNT; i++) {
        const struct times *t = &w->times[i];
        uint64_t p99_ns = times_part(t, 0.99);
        if (t->count > 0) {
            printf("%-18s %10llu %10.1f %10.1f %10.1f\n", names[i], (unsigned long long)t->count,
                   (double)times_part(t, 0.5) / 1e3, (double)p99_ns / 1e3, (double)t->max_ns / 1e3);
        }
        if (IS_MEASURED && t->count >= 100 && p99_ns > BOUND_NS * patience()) {
            printf("^ more than %.0f ms\n", (double)BOUND_NS / 1e6);
            is_good = false;
        }
    }
    return is_good;
}

int main(int argc, char **argv)
{
    static struct world w;
    struct options options = {.agents = 100, .jobs = 1000, .ranks = 64, .trees = 4, .seconds = 3, .seed = 1};
    if (!read_options(argc, argv, &options)) {
        (void)fprintf(stderr, "scale [--agents N] [--jobs N] [--ranks N] [--trees N] [--seconds N] [--seed N] "
                              "[--check]\n");
        return 2;
    }
    uint64_t begin_ns = cpu_ns();
    world_begin(&w, &options);
    uint64_t busy_ns = w.now_ns;
    plan_faults(&w, busy_ns + 1200 * TRIB_MILLISECOND_NS);
    for (uint32_t second = 0; second < options.seconds + 2; second++) {
        world_run(&w, w.now_ns + TRIB_SECOND_NS);
        world_settle(&w);
    }
    uint64_t messages = w.in + w.out;
    double seconds = (double)(w.now_ns - busy_ns) / 1e9;
    printf("busy: %.1f s, %.0f messages a second\n", seconds, (double)messages / seconds);
    w.is_quiet = true;
    world_run(&w, w.now_ns + 2 * TRIB_SECOND_NS);
    uint64_t heard = w.marks_heard;
    uint64_t told = w.marks_told;
    messages = w.in + w.out;
    world_run(&w, w.now_ns + TRIB_SECOND_NS);
    double ranks = (double)options.jobs * options.ranks;
    double idle = (double)(w.marks_told - told) / ranks;
    printf("idle: 1.0 s, %llu messages a second; marks a rank and second: %.3f heard, %.3f told\n",
           (unsigned long long)(w.in + w.out - messages), (double)(w.marks_heard - heard) / ranks, idle);
    MUST(&w, idle <= 1.0, "%.3f marks are told each rank in a second", idle);
    world_settle(&w);
    uint32_t running = w.jobs.count;
    world_finish(&w);
    world_settle(&w);
    printf("%llu events, %u jobs at once, %llu WELCOMEs, %llu CLOSED; %llu agents killed, %llu ranks, %llu restarts; "
           "%llu recalls, %llu FAILs\n",
           (unsigned long long)w.events, running, (unsigned long long)w.grants, (unsigned long long)w.closes,
           (unsigned long long)w.kills, (unsigned long long)w.deaths, (unsigned long long)w.restarts,
           (unsigned long long)w.recalls, (unsigned long long)w.fails);
    bool is_good = print_times(&w);
    world_end(&w);
    printf("0 wrong grants, 0 slots left; %.1f s of CPU\n", (double)(cpu_ns() - begin_ns) / 1e9);
    return is_good ? 0 : 1;
}
