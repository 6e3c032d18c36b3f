/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: see trace.h. Numbers are parsed here because strtod depends on the locale. Read next: scenario.c. */
#include "sim/traffic/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/file.h"
#include "io/units.h"

#define DECIMALS 12 /* of a start time, in picoseconds */
#define FIELDS 6

/* Reads a decimal number, times 10^decimals. Returns the text after it; NULL: no number, or out of range. */
static const char *read_number(const char *p, int decimals, uint64_t *value)
{
    bool behind_point = false;

    *value = 0;
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    if (*p < '0' || *p > '9') {
        return NULL;
    }
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !behind_point && DECIMALS == decimals); p++) {
        if (*p == '.') {
            behind_point = true;
        } else if (behind_point && decimals == 0) {
            continue; /* below a picosecond */
        } else if (*value > (UINT64_MAX - 9) / 10) {
            return NULL;
        } else {
            *value = *value * 10 + (uint64_t)(*p - '0');
            decimals -= behind_point;
        }
    }
    for (; decimals > 0; decimals--) {
        if (*value > UINT64_MAX / 10) {
            return NULL;
        }
        *value *= 10;
    }
    return p;
}

static const char *skip_line_end(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r') {
        p++;
    }
    return *p == '\n' ? p + 1 : *p == '\0' ? p : NULL;
}

/* A line of six numbers and their positions. */
struct line {
    const char *begin;
    const char *at[FIELDS + 1]; /* end of the number before */
    uint64_t fields[FIELDS];
    uint32_t number;
    uint32_t bad; /* index of the wrong field */
};

/* Returns the flow's error, possibly written into text; NULL: none. */
static const char *fault_of(const struct sim_traffic *t, struct line *l, uint32_t hosts, char *text)
{
    for (l->bad = 0; l->bad < 2; l->bad++) {
        if (l->fields[l->bad] >= hosts) {
            (void)snprintf(text, TRIB_UNITS_TEXT_MAX * 4, "there is no host %" PRIu64 "; there are hosts 0 to %" PRIu32,
                           l->fields[l->bad], hosts - 1);
            return text;
        }
    }
    l->bad = 1;
    if (l->fields[0] == l->fields[1]) {
        return "a host that sends to itself";
    }
    l->bad = 4;
    if (l->fields[4] == 0) {
        return "a flow of no bytes";
    }
    l->bad = 5;
    if (t->trace_count != 0 && l->fields[5] < t->trace[t->trace_count - 1].start_ps) {
        return "starts earlier than the flow before it";
    }
    return NULL;
}

/* Reads the line. Returns its error; NULL: none. */
static const char *read_flow(const struct sim_traffic *t, struct line *l, uint32_t hosts, char *text)
{
    l->at[0] = l->begin;
    for (l->bad = 0; l->bad < FIELDS; l->bad++) {
        l->at[l->bad + 1] = read_number(l->at[l->bad], l->bad == FIELDS - 1 ? DECIMALS : 0, &l->fields[l->bad]);
        if (l->at[l->bad + 1] == NULL) {
            break;
        }
    }
    if (l->bad < FIELDS || skip_line_end(l->at[FIELDS]) == NULL) {
        return *l->begin == '\0' ? "fewer flows than the first line says"
                                 : "expected six numbers: source, destination, group, port, bytes, start";
    }
    return fault_of(t, l, hosts, text);
}

static bool read_flows(struct line *l, uint64_t count, uint32_t hosts, struct sim_traffic *t, const char *path,
                       char *error)
{
    char text[TRIB_UNITS_TEXT_MAX * 4];

    for (; t->trace_count < count; l->number++) {
        const char *fault = read_flow(t, l, hosts, text);
        if (fault != NULL) {
            const char *at = l->at[l->bad] + strspn(l->at[l->bad], " \t");
            trib_explain(error, "%s:%" PRIu32 ":%u: %s", path, l->number, (unsigned)(at - l->begin) + 1, fault);
            return false;
        }
        t->trace[t->trace_count++] = (struct sim_trace_flow){
            .from = (uint32_t)l->fields[0],
            .to = (uint32_t)l->fields[1],
            .bytes = l->fields[4],
            .start_ps = l->fields[5],
        };
        l->begin = skip_line_end(l->at[FIELDS]);
    }
    return true;
}

bool sim_trace_read(const char *path, uint32_t hosts, struct sim_traffic *traffic, char *error)
{
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);
    uint64_t count = 0;
    bool is_good = false;

    if (text == NULL) {
        return false;
    }
    const char *p = read_number(text, 0, &count);
    struct line line = {.begin = p == NULL ? NULL : skip_line_end(p), .number = 2};
    if (line.begin == NULL || count == 0 || count > len) {
        trib_explain(error, "%s:1:1: expected the number of flows", path);
    } else {
        traffic->trace_count = 0;
        traffic->trace = malloc(count * sizeof *traffic->trace);
        TRIB_ASSERT(traffic->trace != NULL);
        is_good = read_flows(&line, count, hosts, traffic, path, error);
    }
    free(text);
    return is_good;
}
