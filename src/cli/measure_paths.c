/* SPDX-License-Identifier: Apache-2.0 */
/* measure_paths.c: PANAMA's Fig. 7 with our switch: its throughput when it only passes packets on, adds one input, or
 * adds all. Four processes send to a switch of their own on the loopback and get as much back; each
 * way has the same packets in and out, so the work of the switch alone differs. Ways take turns, and are
 * compared round by round, as a machine's load comes and goes. Read next: measure.h, schemes/forward/forward.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/measure.h"
#include "cli/perf.h"
#include "cli/spawn.h"
#include "io/clock.h"
#include "io/explain.h"
#include "net/resolve.h"
#include "switchd/switchd.h"

#define INPUTS 4U /* as many as the prototype has ports, and as iperf had instances */
#define TENSOR_BYTES (UINT64_C(8) << 20)
#define ELEMENTS (TENSOR_BYTES / sizeof(float))
#define ROUNDS_MAX 9U
#define WAIT_MS 60000
#define PACKET_HEADERS (28U + TRIB_HEADER_SIZE) /* IPv4, UDP, ours */

/* As the prototype's paths: FPGA-noagg, FPGA-agg, and one that the paper has not measured. */
static const struct way {
    const char *name;
    const char *scheme;
    uint32_t ranks; /* of each communicator; there are INPUTS in all */
} ways[] = {
    {"passed on", "forward", 1},
    {"one input added", "switchml", 1},
    {"four inputs added", "switchml", INPUTS},
};

#define WAYS (sizeof ways / sizeof ways[0])

/* Payloads of packets of about 512, 1,024 and 1,500 bytes, Table 1's. */
static const uint32_t payloads[] = {384, 896, 1408};

#define PAYLOADS (sizeof payloads / sizeof payloads[0])

/* A process sends three notes: that it is ready, that its timed calls have ended, that their result is right. */
struct note {
    char error[200]; /* "": none */
    uint64_t packets;
    int64_t wrong;
};

struct sample {
    double gbps;          /* of tensors, all inputs together */
    double ns_per_packet; /* of the switch's CPU */
};

struct measurement {
    const struct way *way;
    uint32_t payload;
    uint32_t calls;
    const struct spawn_switch *own;
    char job[TRIB_NAME_MAX + 1];
    int go[2];
    int notes[2];
};

/* ---- a process that sends ---- */

static void say(const struct measurement *m, const struct note *note)
{
    if (write(m->notes[1], note, sizeof *note) != (ssize_t)sizeof *note) {
        _exit(1); /* the measuring process has given up */
    }
}

static uint64_t packets_of(struct trib_comm *comm)
{
    struct trib_comm_stats stats;

    trib_comm_stats(comm, &stats);
    return stats.packets_sent + stats.packets_received;
}

static void use(const struct measurement *m, const struct perf_options *options, struct trib_comm *comm, float *tensors)
{
    struct perf_span span = {0, ELEMENTS};
    float *send = tensors;
    float *recv = tensors + ELEMENTS;
    struct note note = {.error = ""};
    char word = 0;

    perf_fill(options, send, span, options->comm.rank, 1);
    memset(recv, 0xa5, TENSOR_BYTES);
    enum trib_status status = trib_allreduce(comm, send, recv, ELEMENTS, TRIB_FLOAT32, TRIB_SUM);
    note.wrong = status == TRIB_OK ? perf_wrong(options, recv, span, 0, 1) : 0;
    perf_fill(options, send, span, options->comm.rank, 2);
    memset(recv, 0xa5, TENSOR_BYTES);
    if (status == TRIB_OK) {
        say(m, &note);
        status = read(m->go[0], &word, 1) == 1 ? TRIB_OK : TRIB_ERR_SYSTEM;
    }
    note = (struct note){.packets = 0 - packets_of(comm)};
    for (uint32_t i = 0; i < m->calls && status == TRIB_OK; i++) {
        status = trib_allreduce(comm, send, recv, ELEMENTS, TRIB_FLOAT32, TRIB_SUM);
    }
    note.packets += packets_of(comm);
    if (status == TRIB_OK) {
        say(m, &note);
        note = (struct note){.wrong = perf_wrong(options, recv, span, 0, 2)};
    } else {
        (void)snprintf(note.error, sizeof note.error, "%.199s", trib_comm_error(comm));
    }
    say(m, &note);
}

_Noreturn static void be_input(const struct measurement *m, uint32_t number)
{
    struct perf_options options = {.type = TRIB_FLOAT32, .reduction = TRIB_SUM, .collective = TRIB_ALLREDUCE};
    float *tensors = malloc(2 * TENSOR_BYTES);
    char error[TRIB_ERROR_TEXT_MAX] = "out of memory";
    struct trib_comm *comm = NULL;

    (void)signal(SIGPIPE, SIG_IGN);
    trib_config_init(&options.comm);
    options.comm.ranks = m->way->ranks;
    options.comm.rank = number % m->way->ranks;
    options.comm.payload = m->payload;
    options.comm.level0 = false;
    options.comm.multicast = false; /* so that all ways have as many packets */
    (void)snprintf(options.comm.scheme, sizeof options.comm.scheme, "%s", m->way->scheme);
    (void)snprintf(options.comm.job, sizeof options.comm.job, "%.50s-%u", m->job, number / m->way->ranks);
    (void)snprintf(options.comm.switch_address, sizeof options.comm.switch_address, "127.0.0.1:%u", m->own->port);
    if (tensors == NULL || trib_comm_create(&options.comm, &comm, error) != TRIB_OK) {
        struct note note = {.wrong = 0};
        (void)snprintf(note.error, sizeof note.error, "%.199s", error);
        say(m, &note);
        _exit(1);
    }
    use(m, &options, comm, tensors);
    (void)trib_comm_close(comm);
    _exit(0);
}

/* ---- measuring processes ---- */

/* One note of each process. False: interrupted, or run->error. */
static bool hear(struct reproduce_run *run, const struct measurement *m, uint64_t *packets)
{
    uint64_t until_ns = trib_clock_ns() + WAIT_MS * UINT64_C(1000000);
    struct pollfd from = {.fd = m->notes[0], .events = POLLIN};
    struct note note;

    for (uint32_t heard = 0; heard < INPUTS;) {
        int news = poll(&from, 1, 100);
        if (interrupt_came()) {
            return false;
        }
        if (news <= 0 && trib_clock_ns() < until_ns) {
            continue;
        }
        if (news <= 0 || read(from.fd, &note, sizeof note) != (ssize_t)sizeof note) {
            trib_explain(run->error, "%s: a process said nothing for %d s, or has ended", m->way->name, WAIT_MS / 1000);
            return false;
        }
        if (note.error[0] != '\0' || note.wrong != 0) {
            trib_explain(run->error, "%s: %lld wrong elements%s%s", m->way->name, (long long)note.wrong,
                         note.error[0] != '\0' ? "; " : "", note.error);
            return false;
        }
        *packets += note.packets;
        heard++;
    }
    return true;
}

/* From the moment on when all are ready to the one when the last has ended. */
static bool time_it(struct reproduce_run *run, const struct measurement *m, struct sample *sample)
{
    uint64_t packets = 0;
    clockid_t clock = 0;

    if (!hear(run, m, &packets)) {
        return false;
    }
    if (clock_getcpuclockid(m->own->pid, &clock) != 0) {
        trib_explain(run->error, "the switch has ended");
        return false;
    }
    int64_t cpu_ns = -trib_cpu_ns(clock);
    uint64_t start_ns = trib_clock_ns();
    if (write(m->go[1], "gogo", INPUTS) != (ssize_t)INPUTS) {
        trib_explain(run->error, "cannot write to a pipe: %s", trib_explain_errno(errno));
        return false;
    }
    packets = 0;
    if (!hear(run, m, &packets)) {
        return false;
    }
    double took_ns = (double)(trib_clock_ns() - start_ns);
    cpu_ns += trib_cpu_ns(clock);
    sample->gbps = (double)(TENSOR_BYTES * INPUTS * m->calls) * 8 / took_ns;
    sample->ns_per_packet = (double)cpu_ns / (double)(packets != 0 ? packets : 1);
    return hear(run, m, &packets);
}

static bool measure(struct reproduce_run *run, struct measurement *m, struct sample *sample)
{
    struct spawn_ranks inputs = {.count = 0};

    if (pipe(m->go) != 0) {
        trib_explain(run->error, "cannot make a pipe: %s", trib_explain_errno(errno));
        return false;
    }
    if (pipe(m->notes) != 0) {
        trib_explain(run->error, "cannot make a pipe: %s", trib_explain_errno(errno));
        (void)close(m->go[0]);
        (void)close(m->go[1]);
        return false;
    }
    spawn_job_name(m->job, sizeof m->job);
    for (uint32_t i = 0; i < INPUTS; i++) {
        if (spawn_rank(&inputs) == 0) {
            (void)close(m->go[1]);
            (void)close(m->notes[0]);
            be_input(m, i);
        }
    }
    (void)close(m->go[0]);
    (void)close(m->notes[1]);
    bool is_good = time_it(run, m, sample);
    (void)close(m->go[1]); /* a process that still waits or writes ends */
    (void)close(m->notes[0]);
    (void)spawn_wait(&inputs, true);
    interrupt_catch(); /* spawn_wait has its own, which keeps a signal as well */
    return is_good && !interrupt_came();
}

/* ---- all ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct table {
    struct sample samples[PAYLOADS][ROUNDS_MAX][WAYS];
    uint32_t rounds;
};

/* The median of the way's numbers, each divided by that of `of` in the same round; of itself: its own median. */
static double compare(const struct table *t, uint32_t payload, uint32_t way, const uint32_t *of, bool is_cpu)
{
    double values[ROUNDS_MAX];

    for (uint32_t round = 0; round < t->rounds; round++) {
        const struct sample *all = t->samples[payload][round];
        values[round] = is_cpu ? all[way].ns_per_packet : all[way].gbps;
        if (of != NULL) {
            values[round] /= is_cpu ? all[*of].ns_per_packet : all[*of].gbps;
        }
    }
    return median(values, t->rounds);
}

static void draw(struct reproduce_run *run, const struct table *t, bool is_cpu)
{
    (void)(is_cpu ? reproduce_panel(run, "Time of the switch's CPU for a packet", "bytes of a packet", "ns")
                  : reproduce_panel(run, "Throughput, four inputs together (Fig. 7)", "bytes of a packet", "Gbps"));
    for (uint32_t w = 0; w < WAYS; w++) {
        for (uint32_t p = 0; p < PAYLOADS; p++) {
            reproduce_point(run, ways[w].name, payloads[p] + PACKET_HEADERS, compare(t, p, w, NULL, is_cpu));
        }
    }
}

/* Of each claim the payload that is worst. */
static void report(struct reproduce_run *run, const struct table *t)
{
    static const uint32_t passed_on = 0;
    double least[WAYS] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    double most[WAYS] = {0, 0, 0};

    draw(run, t, false);
    draw(run, t, true);
    for (uint32_t w = 0; w < WAYS; w++) {
        for (uint32_t p = 0; p < PAYLOADS; p++) {
            least[w] = fmin(least[w], compare(t, p, w, &passed_on, false));
            most[w] = fmax(most[w], compare(t, p, w, &passed_on, true));
        }
    }
    reproduce_got(run, "one-input", least[1]);
    reproduce_got(run, "one-input-cpu", most[1]);
    reproduce_got(run, "all-inputs", least[2]);
    reproduce_got(run, "all-inputs-cpu", most[2]);
}

static bool measure_panama_fig7(struct reproduce_run *run)
{
    struct spawn_switch own = {0};
    struct trib_switchd_config config;
    struct table t = {.rounds = run->is_quick ? 3 : ROUNDS_MAX};
    bool is_good = true;
    uint32_t done = 0;

    trib_switchd_init(&config);
    config.threads = 1;
    config.http.len = 0;
    config.group = 0;
    config.spin_us = 0; /* to wait costs no CPU time */
    if (trib_address_parse("127.0.0.1:0", 0, &config.listen, run->error) != TRIB_OK) {
        return false;
    }
    if (!spawn_switch_start(&config, &own)) {
        trib_explain(run->error, "no switch, no measurement");
        return false;
    }
    const size_t all = PAYLOADS * WAYS * t.rounds;
    for (uint32_t round = 0; round < t.rounds && is_good; round++) {
        for (uint32_t i = 0; i < PAYLOADS * WAYS && is_good; i++) {
            uint32_t way = (i + round) % WAYS; /* no way is always the first */
            struct measurement m = {
                .way = &ways[way],
                .payload = payloads[i / WAYS],
                .calls = run->is_quick ? 1 : 8,
                .own = &own,
            };
            is_good = reproduce_goes_on(run, m.way->name, (double)done++ / (double)all) &&
                      measure(run, &m, &t.samples[i / WAYS][round][way]);
        }
    }
    spawn_switch_stop(&own);
    if (is_good) {
        report(run, &t);
    }
    return is_good;
}

bool measure_experiment(struct reproduce_run *run)
{
    if (strcmp(run->experiment->name, "panama-fig7") == 0) {
        return measure_panama_fig7(run);
    }
    trib_explain(run->error, "no measurement is known for it");
    return false;
}
