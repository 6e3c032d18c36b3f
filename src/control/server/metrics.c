/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: /metrics, Prometheus text format 0.0.4, in base units. Labels are bounded: present jobs, and lists from
 * the sources (drop reasons, statuses). A job's series end with the job. Read next: http.c (the server). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/owner.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/jobs/progress.h"
#include "control/server/report.h"

/* One counter of every job, found by offset in struct trib_counters. */
struct job_counter {
    const char *name;
    const char *help;
    size_t offset;
};

static const struct job_counter job_counters[] = {
#define X(name, help) {#name, help, offsetof(struct trib_counters, name)},
    TRIB_COUNTER_MAP(X)
#undef X
};

#define JOB_COUNTER_COUNT (sizeof job_counters / sizeof job_counters[0])

/* A job and the counters of its slots, read once. */
struct row {
    const struct trib_job *job; /* NULL: of a controller elsewhere, with slots here */
    struct trib_job_report report;
    char label[TRIB_NAME_MAX + 16];
};

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP tributary_%s %s\n# TYPE tributary_%s %s\n", name, help, name, type);
}

static void number(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
    head(out, name, type, help);
    (void)fprintf(out, "tributary_%s %llu\n", name, (unsigned long long)value);
}

static uint64_t lendings(const struct trib_jobs *jobs)
{
    uint64_t count = 0;
    for (const struct trib_lending *lending = jobs->masters.lendings; lending; lending = lending->next) {
        count++;
    }
    return count;
}

static void put_switch(FILE *out, const struct trib_report *report, uint64_t now_ns)
{
    head(out, "build_info", "gauge", "version of this switch");
    (void)fprintf(out, "tributary_build_info{version=\"%s\"} 1\n", TRIB_VERSION);
    head(out, "uptime_seconds", "gauge", "time since the switch started");
    (void)fprintf(out, "tributary_uptime_seconds %.3f\n", (double)(now_ns - report->started_ns) / 1e9);
    number(out, "shards", "gauge", "shards of the switch", report->config->shards);
    number(out, "memory_quota_bytes", "gauge", "slot memory for all jobs", report->config->memory_quota);
    number(out, "job_quota_bytes", "gauge", "slot memory for one job, all its communicators together",
           report->config->job_quota);
    number(out, "tenant_quota_bytes", "gauge", "slot memory for all jobs of one key together; 0: no limit",
           report->config->tenant_quota);
    number(out, "memory_used_bytes", "gauge", "slot memory given out", report->jobs->agent.memory_used);
    number(out, "jobs", "gauge", "jobs now", trib_owners_count(report->jobs));
    number(out, "communicators", "gauge", "communicators of all jobs now", report->jobs->count);
    number(out, "lendings", "gauge", "communicators of other switches that have roots here", lendings(report->jobs));
    number(out, "sessions", "gauge", "connections now", report->connections->count);
    number(out, "sessions_accepted_total", "counter", "connections accepted", report->connections->stats.accepted);
    number(out, "jobs_started_total", "counter", "communicators that became ready", report->jobs->stats.started);
    number(out, "jobs_returned_total", "counter", "of those, after a restart of the switch",
           report->jobs->stats.returned);
    number(out, "jobs_recalled_total", "counter", "communicators whose ranks had to come back: a switch below was lost",
           report->jobs->stats.recalled);
    number(out, "messages_recalled_total", "counter", "of ranks, which had crossed the end of an incarnation",
           report->jobs->stats.stale);
    number(out, "jobs_closed_total", "counter", "communicators closed by all their ranks", report->jobs->stats.closed);
}

static void put_status(FILE *out, const char *name, const char *help, const uint64_t *counts)
{
    head(out, name, "counter", help);
#define X(status, value, text)                                                                                      \
    if (TRIB_##status != TRIB_OK) {                                                                                 \
        (void)fprintf(out, "tributary_%s{reason=\"%s\"} %llu\n", name, text, (unsigned long long)counts[-(value)]); \
    }
    TRIB_STATUS_MAP(X)
#undef X
}

static void put_rejects(FILE *out, const struct trib_connections_stats *stats)
{
    head(out, "sessions_rejected_total", "counter", "connections that the switch ended");
#define X(name, text)                                                                   \
    (void)fprintf(out, "tributary_sessions_rejected_total{reason=\"%s\"} %llu\n", text, \
                  (unsigned long long)stats->rejected_##name);
    TRIB_REJECT_MAP(X)
#undef X
}

static void put_traffic(FILE *out, const struct trib_report *report)
{
    struct trib_port_stats sum = {0};
    uint64_t dropped[TRIB_DROP_COUNT];
    trib_report_traffic(report, &sum, dropped);
    number(out, "sent_bytes_total", "counter", "UDP payload bytes sent", sum.bytes_sent);
    number(out, "received_bytes_total", "counter", "UDP payload bytes received", sum.bytes_received);
    number(out, "sent_packets_total", "counter", "packets sent", sum.packets_sent);
    number(out, "received_packets_total", "counter", "packets received", sum.packets_received);
    number(out, "send_calls_total", "counter", "system calls that sent packets", sum.send_calls);
    number(out, "receive_calls_total", "counter", "system calls that received packets", sum.receive_calls);
    number(out, "send_dropped_packets_total", "counter", "packets that the kernel would not take", sum.send_dropped);
    number(out, "marked_received_packets_total", "counter", "packets received that the network had marked as congested",
           sum.marked_received);
    number(out, "flagged_sent_packets_total", "counter", "packets sent that say that the queue here is long",
           sum.flagged_sent);
    head(out, "foreign_dropped_packets_total", "counter", "packets dropped that belong to no job");
    for (int drop = TRIB_DROP_NONE + 1; drop < TRIB_DROP_COUNT; drop++) {
        (void)fprintf(out, "tributary_foreign_dropped_packets_total{reason=\"%s\"} %llu\n",
                      trib_drop_name((enum trib_drop)drop), (unsigned long long)dropped[drop]);
    }
}

static void put_rows(FILE *out, const struct trib_data_plane *plane)
{
    struct trib_plane_rows rows = {0};
    if (plane->rows) {
        plane->rows(plane->plane, &rows);
    }
    number(out, "pool_rows", "gauge", "rows in which parts on their way to servers are combined", rows.rows);
    number(out, "pool_rows_held", "gauge", "rows that hold a sum which is not complete", rows.held);
#define X(name, help) number(out, "pool_" #name "_total", "counter", help, rows.counters.name);
    TRIB_COMBINER_COUNTER_MAP(X)
#undef X
}

/* Series of every job: name, type, help, format, value. */
#define JOB_GAUGE_MAP(X)                                                                                              \
    X("job_ranks", "gauge", "ranks of a job", PRIu32, row->job->settings.ranks)                                       \
    X("job_memory_bytes", "gauge", "slot memory that a job may take", PRIu64, row->job->here.bytes)                   \
    X("job_memory_held_bytes", "gauge", "slot memory of a job that is really there", PRIu64,                          \
      row->report.plane.memory_held)                                                                                  \
    X("job_slots", "gauge", "slots of a job, all shards", PRIu64,                                                     \
      (uint64_t)row->job->grant.slots * row->job->grant.roots)                                                        \
    X("job_cap", "gauge",                                                                                             \
      "fragments that a rank may have in flight at a root, as the switch tells; 0: the scheme has no caps", PRIu32,   \
      row->report.plane.cap)                                                                                          \
    X("job_flagged_packets_total", "counter", "packets of a job that came saying that their way was congested",       \
      PRIu64, row->report.plane.flagged)                                                                              \
    X("job_slots_held", "gauge", "slots that hold a fragment now", PRIu32, row->report.plane.slots_held)              \
    X("job_mark", "gauge", "sequence below which every rank has every result", PRIu64, row->report.communicator_mark) \
    X("job_stall_seconds", "gauge", "how long a rank has waited for one fragment, 0: none waits", ".3f",              \
      row->report.stall_s)

static void put_gauges(FILE *out, const struct row *rows, size_t count)
{
#define X(name, type, help, format, value)                                                     \
    head(out, name, type, help);                                                               \
    for (const struct row *row = rows; row < rows + count; row++) {                            \
        (void)fprintf(out, "tributary_" name "{job=\"%s\"} %" format "\n", row->label, value); \
    }
    JOB_GAUGE_MAP(X)
#undef X
}

/* The rates of planned jobs. */
static void put_plan(FILE *out, const struct trib_jobs *jobs, const struct row *rows, size_t count)
{
    head(out, "job_planned_bytes_per_second", "gauge", "rate of each rank by the plan, headers included");
    for (size_t i = 0; i < count; i++) {
        uint64_t planned = trib_job_planned_rate(jobs, rows[i].job);
        if (planned != 0) {
            (void)fprintf(out, "tributary_job_planned_bytes_per_second{job=\"%s\"} %llu\n", rows[i].label,
                          (unsigned long long)planned);
        }
    }
    head(out, "job_achieved_bytes_per_second", "gauge",
         "rate of a planned job's fastest rank, headers included, over its last 2 s or more with an operation in "
         "progress");
    for (size_t i = 0; i < count; i++) {
        uint64_t achieved = trib_job_achieved_rate(rows[i].job);
        if (achieved != 0) {
            (void)fprintf(out, "tributary_job_achieved_bytes_per_second{job=\"%s\"} %llu\n", rows[i].label,
                          (unsigned long long)achieved);
        }
    }
    head(out, "job_misses_plan", "gauge", "1: planned and achieved rate differ by 20 % or more, a new plan is due");
    for (size_t i = 0; i < count; i++) {
        if (trib_job_planned_rate(jobs, rows[i].job) != 0) {
            (void)fprintf(out, "tributary_job_misses_plan{job=\"%s\"} %d\n", rows[i].label,
                          trib_job_misses_plan(jobs, rows[i].job));
        }
    }
}

static void put_counters(FILE *out, const struct row *rows, size_t count)
{
    for (size_t k = 0; k < JOB_COUNTER_COUNT; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s_total", job_counters[k].name);
        head(out, name, "counter", job_counters[k].help);
        for (size_t i = 0; i < count; i++) {
            const char *counters = (const char *)&rows[i].report.plane.counters;
            const uint64_t *value = (const uint64_t *)(const void *)(counters + job_counters[k].offset);
            (void)fprintf(out, "tributary_%s{job=\"%s\"} %llu\n", name, rows[i].label, (unsigned long long)*value);
        }
    }
    head(out, "dropped_packets_total", "counter", "packets of a job dropped");
    for (size_t i = 0; i < count; i++) {
        for (int drop = TRIB_DROP_NONE + 1; drop < TRIB_DROP_COUNT; drop++) {
            (void)fprintf(out, "tributary_dropped_packets_total{job=\"%s\",reason=\"%s\"} %llu\n", rows[i].label,
                          trib_drop_name((enum trib_drop)drop),
                          (unsigned long long)rows[i].report.plane.counters.dropped[drop]);
        }
    }
}

void trib_report_traffic(const struct trib_report *report, struct trib_port_stats *sum, uint64_t *dropped)
{
    const struct trib_data_plane *plane = &report->config->plane;
    memset(dropped, 0, TRIB_DROP_COUNT * sizeof *dropped);
    memset(sum, 0, sizeof *sum);
    if (plane->traffic) { /* none where no switch is */
        plane->traffic(plane->plane, sum);
    }
    if (plane->drops) {
        plane->drops(plane->plane, dropped);
    }
}

const char *trib_job_state_name(enum trib_job_state state)
{
    switch (state) {
    case TRIB_JOB_NONE:
        return "none";
    case TRIB_JOB_JOINING:
        return "joining";
    case TRIB_JOB_PLACING:
    case TRIB_JOB_STARTING:
        return "starting";
    case TRIB_JOB_RUNNING:
        return "running";
    }
    return "unknown";
}

/* The STALL of the rank that has waited longest; NULL: none waits. A STALL counts while no newer mark of the rank has
 * passed the sequence, or while the rank repeats the STALL: then the rank waits for M. */
static const struct trib_stall *longest_stall(const struct trib_job *job, uint64_t mark, uint64_t now_ns,
                                              double *longest)
{
    const struct trib_stall *found = NULL;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_stall *stall = &job->ranks[i].stall;
        bool is_fresh = now_ns - stall->at_ns <= TRIB_STALL_FRESH_NS;
        double waited = (double)stall->since_ms / 1e3 + (double)(now_ns - stall->at_ns) / 1e9;
        if (stall->at_ns != 0 && stall->sequence >= mark && (stall->sequence >= job->ranks[i].mark || is_fresh) &&
            waited > *longest) {
            *longest = waited;
            found = stall;
        }
    }
    return found;
}

void trib_job_report(const struct trib_report *report, const struct trib_job *job, uint64_t now_ns,
                     struct trib_job_report *out)
{
    memset(out, 0, sizeof *out);
    if (!job->is_open) {
        return;
    }
    if (!trib_placements_report(report->jobs, job, &out->plane)) {
        memset(&out->plane, 0, sizeof out->plane);
    }
    out->communicator_mark = trib_job_places(report->jobs, job)->mark(report->jobs, job);
    const struct trib_stall *stall = longest_stall(job, out->communicator_mark, now_ns, &out->stall_s);
    if (stall && stall->missing.count > 0) { /* by name, also ranks with only a mark outstanding */
        out->plane.sequence = stall->sequence;
        out->plane.missing_count = trib_rank_list_carried(&stall->missing);
        memcpy(out->plane.missing, stall->missing.rank, out->plane.missing_count * sizeof stall->missing.rank[0]);
    }
}

/* After a restart two jobs may have one name, which must not be two lines of one label. */
static void name_row(struct row *rows, size_t index, const char *job, uint32_t communicator)
{
    bool is_taken = false;
    for (size_t i = 0; i < index; i++) {
        is_taken = is_taken || strcmp(rows[i].label, job) == 0;
    }
    (void)snprintf(rows[index].label, sizeof rows[index].label, is_taken ? "%s/%08x" : "%s", job, communicator);
}

static size_t read_jobs(const struct trib_report *report, struct row *rows, uint64_t now_ns)
{
    size_t count = 0;
    for (const struct trib_job *job = report->jobs->first; job; job = job->next) {
        rows[count].job = job;
        name_row(rows, count, job->name, job->grant.communicator);
        trib_job_report(report, job, now_ns, &rows[count].report);
        count++;
    }
    return count;
}

/* Appends communicators of controllers elsewhere to the rows. */
static size_t read_lendings(const struct trib_jobs *jobs, struct row *rows, size_t count)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    for (const struct trib_lending *lending = jobs->masters.lendings; lending; lending = lending->next) {
        if (lending->root.opening.is_open) {
            name_row(rows, count, lending->job, lending->communicator);
            (void)plane->report(plane->plane, lending->communicator, &rows[count].report.plane);
            count++;
        }
    }
    return count;
}

char *trib_metrics_text(const struct trib_report *report, uint64_t now_ns, size_t *len)
{
    char *text = NULL;
    const struct trib_jobs *jobs = report->jobs;
    struct row *rows = calloc(jobs->count + lendings(jobs) + 1, sizeof *rows);
    FILE *out = rows ? open_memstream(&text, len) : NULL;
    if (!out) {
        free(rows);
        return NULL;
    }
    size_t count = read_jobs(report, rows, now_ns);
    size_t all = read_lendings(jobs, rows, count);
    put_switch(out, report, now_ns);
    put_status(out, "jobs_failed_total", "communicators that ended with a failure", jobs->stats.failed);
    put_status(out, "joins_refused_total", "joins answered with a failure", jobs->stats.refused);
    put_rejects(out, &report->connections->stats);
    put_traffic(out, report);
    put_rows(out, &report->config->plane);
    put_gauges(out, rows, count);
    put_plan(out, jobs, rows, count);
    put_counters(out, rows, all);
    free(rows);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
