/* SPDX-License-Identifier: Apache-2.0 */
/* jobs_print.c: jobs as tables for people: a line for each communicator, or one job with a line for each rank. Read
 * next: control/server/http.c, which wrote the text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tributary/comm.h>

#include "cli/jobs.h"
#include "io/units.h"

#define TEXT_MAX 256

/* How a lost packet was made good, by kind; `name` is a counter of core/counters.h. */
static const struct {
    const char *name;
    const char *text;
} recoveries[] = {
    {"asks", "asked again"},
    {"asks_gap", "of them at a gap"},
    {"asks_finished", "of them for an offer"},
    {"results_repeated", "results repeated"},
    {"offers", "offers"},
};

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL ? value : "-";
}

static uint64_t counter(const json_t *job, const char *key)
{
    return number(json_object_get(job, "counters"), key);
}

/* The same communicator in the answer before; NULL: it is new. */
static const json_t *earlier(const struct jobs_view *view, const json_t *job)
{
    size_t i, k;
    const json_t *owner, *other;

    json_array_foreach(view->before, i, owner)
    {
        json_array_foreach(json_object_get(owner, "communicators"), k, other)
        {
            if (number(other, "communicator") == number(job, "communicator")) {
                return other;
            }
        }
    }
    return NULL;
}

/* Fragments summed in a second since the answer before; since the job began when there is none. */
static double results_rate(const struct jobs_view *view, const json_t *job)
{
    const json_t *before = earlier(view, job);
    uint64_t results = counter(job, "results");
    double age = json_number_value(json_object_get(job, "age_seconds"));

    if (before != NULL && view->seconds > 0 && results >= counter(before, "results")) {
        return (double)(results - counter(before, "results")) / view->seconds;
    }
    return age > 0 ? (double)results / age : 0;
}

static void format_seconds(double seconds, char *out)
{
    trib_format_duration((uint64_t)(seconds * 1e9), out);
}

/* "ranks 2, 5" of a JSON array, at most eight of them. */
static void format_ranks(const json_t *ranks, char *out)
{
    size_t count = json_array_size(ranks);
    size_t len = (size_t)snprintf(out, TEXT_MAX, count == 1 ? "rank" : "ranks");

    for (size_t i = 0; i < count && i < 8; i++) {
        len += (size_t)snprintf(out + len, TEXT_MAX - len, "%s %" JSON_INTEGER_FORMAT, i > 0 ? "," : "",
                                json_integer_value(json_array_get(ranks, i)));
    }
    if (count > 8) {
        (void)snprintf(out + len, TEXT_MAX - len, " and %zu more", count - 8);
    }
}

/* The ranks that the job waits for: not there yet, or missing on a fragment for a time worth telling. */
static void format_waits(const json_t *job, char *out)
{
    const json_t *missing = json_object_get(job, "missing");
    double stall = json_number_value(json_object_get(job, "stall_seconds"));
    char ranks[TEXT_MAX];
    char duration[TRIB_UNITS_TEXT_MAX];

    out[0] = '\0';
    if (stall <= 0) {
        return;
    }
    format_seconds(stall, duration);
    if (json_array_size(missing) == 0) {
        (void)snprintf(out, TEXT_MAX, "a result since %s", duration);
        return;
    }
    format_ranks(missing, ranks);
    (void)snprintf(out, TEXT_MAX, "%.120s on fragment %" PRIu64 " since %s", ranks, number(job, "missing_sequence"),
                   duration);
}

static void print_line(const struct jobs_view *view, const json_t *job, const char *name)
{
    char held[48];
    char memory[TRIB_UNITS_TEXT_MAX];
    char age[TRIB_UNITS_TEXT_MAX];
    char waits[TEXT_MAX];
    uint64_t recovered = counter(job, "asks") + counter(job, "results_repeated") + counter(job, "offers");

    (void)snprintf(held, sizeof held, "%" PRIu64 " of %" PRIu64, number(job, "slots_held"),
                   number(job, "slots") * number(job, "shards"));
    trib_format_size(number(job, "memory_held"), memory);
    format_seconds(json_number_value(json_object_get(job, "age_seconds")), age);
    format_waits(job, waits);
    printf("%-20s %-9s %5zu  %-7s %-12s %-9s %11.0f %11" PRIu64 "  %s\n", name, text(job, "state"),
           json_array_size(json_object_get(job, "ranks")), age, held, memory, results_rate(view, job), recovered,
           waits);
}

static double mbps(const json_t *plan, const char *key)
{
    return (double)number(plan, key) * 8e-6;
}

/* A job that does not keep the rate of its plan. */
static void print_missed(const json_t *job)
{
    const json_t *plan = json_object_get(job, "plan");

    if (json_is_true(json_object_get(plan, "is_missed"))) {
        printf("job %s reaches %.1f Mbit/s a rank, the plan has %.1f: make a new plan (tributary plan)\n",
               text(job, "name"), mbps(plan, "achieved_bytes_per_second"), mbps(plan, "planned_bytes_per_second"));
    }
}

/* A job that has no more than its first communicator is one line. Names of others begin with that of the job, as a
 * rule. */
static void print_job(const struct jobs_view *view, const json_t *owner)
{
    const json_t *communicators = json_object_get(owner, "communicators");
    const char *job = text(owner, "job");
    size_t i, len = strlen(job);
    const json_t *communicator;
    char memory[TRIB_UNITS_TEXT_MAX];
    bool is_alone = json_array_size(communicators) == 1;

    if (is_alone && strcmp(text(json_array_get(communicators, 0), "name"), job) == 0) {
        print_line(view, json_array_get(communicators, 0), job);
        return;
    }
    trib_format_size(number(owner, "slot_bytes"), memory);
    printf("%-20s %zu group%s, which may take %s\n", job, json_array_size(communicators), is_alone ? "" : "s", memory);
    json_array_foreach(communicators, i, communicator)
    {
        char line[TRIB_NAME_MAX + 8];
        const char *name = text(communicator, "name");
        bool is_below = strncmp(name, job, len) == 0 && name[len] == '/';
        (void)snprintf(line, sizeof line, "  %s", is_below ? name + len + 1 : name);
        print_line(view, communicator, line);
    }
}

/* Slots of jobs under another switch: of a lender, or of a switch with a parent. */
static void print_lends(const json_t *lends)
{
    size_t i;
    const json_t *lending;

    json_array_foreach(lends, i, lending)
    {
        char memory[TRIB_UNITS_TEXT_MAX];
        trib_format_size(number(lending, "slot_bytes"), memory);
        bool is_parent = json_is_true(json_object_get(lending, "is_parent"));
        printf("%s job %s of switch %s: %s\n", is_parent ? "sums for ranks here:" : "lends shards to",
               text(lending, "job"), text(lending, "switch"), memory);
    }
}

static void print_all(const struct jobs_view *view)
{
    size_t i, k;
    const json_t *job, *communicator;

    if (json_array_size(view->now) == 0) {
        printf("no jobs\n");
        print_lends(view->lends);
        return;
    }
    printf("%-20s %-9s %5s  %-7s %-12s %-9s %11s %11s  %s\n", "JOB", "STATE", "RANKS", "AGE", "SLOTS HELD", "MEMORY",
           "FRAGMENTS/S", "RECOVERIES", "WAITS FOR");
    json_array_foreach(view->now, i, job)
    {
        print_job(view, job);
    }
    json_array_foreach(view->now, i, job)
    {
        json_array_foreach(json_object_get(job, "communicators"), k, communicator)
        {
            print_missed(communicator);
        }
    }
    print_lends(view->lends);
}

static void print_rank(const json_t *rank)
{
    const json_t *stall = json_object_get(rank, "stall");
    char waits[TEXT_MAX] = "";

    if (json_is_object(stall)) {
        char duration[TRIB_UNITS_TEXT_MAX];
        format_seconds(json_number_value(json_object_get(stall, "waited_seconds")), duration);
        (void)snprintf(waits, sizeof waits, "waited %s on fragment %" PRIu64, duration, number(stall, "sequence"));
    }
    printf("%6" PRIu64 "  %-10s  %-24s  %s\n", number(rank, "rank"), text(rank, "state"), text(rank, "address"), waits);
}

/* Those of several that it is dealt over. */
static void print_switches(const json_t *switches)
{
    size_t i;
    const json_t *name;

    json_array_foreach(switches, i, name)
    {
        printf("%s%s", i == 0 ? "trees through switches " : ", ", json_string_value(name));
    }
    if (json_array_size(switches) > 0) {
        printf("\n");
    }
}

static void print_plan(const json_t *plan)
{
    if (!json_is_object(plan)) {
        return;
    }
    printf("planned %.1f Mbit/s of each rank", mbps(plan, "planned_bytes_per_second"));
    if (number(plan, "achieved_bytes_per_second") > 0) {
        printf(", achieved %.1f", mbps(plan, "achieved_bytes_per_second"));
    }
    printf("\n");
}

/* key: id of the key of its ranks; no text: they have shown none. */
static void print_one(const json_t *job, const json_t *key)
{
    size_t i;
    const json_t *rank;
    const json_t *settings = json_object_get(job, "settings");
    const char *scheme = text(settings, "scheme");
    const char *asked = text(settings, "scheme_asked");
    char why[TEXT_MAX] = "";

    if (strcmp(asked, "-") != 0 && strcmp(scheme, asked) != 0) { /* an older switch does not say */
        (void)snprintf(why, sizeof why, " (%.32s was asked for: %" PRIu64 " gradient bytes were below a threshold)",
                       asked, number(settings, "gradient_bytes"));
    }
    printf("\n%s: communicator %08" PRIx64 " generation %" PRIu64 ", scheme %s%s, payload %" PRIu64
           ", wire %s, window %" PRIu64 ", finished below fragment %" PRIu64 ", results by %s, %s%s\n",
           text(job, "name"), number(job, "communicator"), number(job, "generation"), scheme, why,
           number(settings, "payload"), text(settings, "wire"), number(job, "window"), number(job, "mark"),
           json_is_true(json_object_get(job, "multicast")) ? "multicast" : "unicast",
           json_is_string(key) ? "sessions and packets of key " : "unauthenticated",
           json_is_string(key) ? json_string_value(key) : "");
    if (json_is_true(json_object_get(settings, "encrypt"))) {
        printf("payloads are encrypted\n");
    }
    print_switches(json_object_get(job, "switches"));
    print_plan(json_object_get(job, "plan"));
    if (number(job, "cap") > 0 || number(job, "flagged_packets") > 0) {
        printf("congestion: %" PRIu64 " packets came from a congested way", number(job, "flagged_packets"));
        if (number(job, "cap") > 0) {
            printf(", %" PRIu64 " fragments of each rank may be in flight at a shard", number(job, "cap"));
        }
        printf("\n");
    }
    printf("recoveries:");
    for (size_t k = 0; k < sizeof recoveries / sizeof recoveries[0]; k++) {
        printf("%s %" PRIu64 " %s", k > 0 ? "," : "", counter(job, recoveries[k].name), recoveries[k].text);
    }
    printf("\n\n%6s  %-10s  %-24s  %s\n", "RANK", "STATE", "ADDRESS", "WAITS");
    json_array_foreach(json_object_get(job, "ranks"), i, rank)
    {
        print_rank(rank);
    }
}

bool jobs_print(const struct jobs_view *view)
{
    size_t i, k;
    const json_t *owner, *job;
    bool is_there = false;

    if (view->name == NULL) {
        print_all(view);
        return true;
    }
    json_array_foreach(view->now, i, owner)
    {
        bool is_named = strcmp(text(owner, "job"), view->name) == 0;
        json_array_foreach(json_object_get(owner, "communicators"), k, job)
        {
            if (!is_named && strcmp(text(job, "name"), view->name) != 0) {
                continue;
            }
            if (!is_there) {
                print_all(&(struct jobs_view){.now = view->now, .before = view->before, .seconds = view->seconds});
            }
            print_one(job, json_object_get(owner, "key"));
            is_there = true;
        }
    }
    return is_there;
}
