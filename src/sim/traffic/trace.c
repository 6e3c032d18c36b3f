/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: see trace.h. Numbers are read by hand: strtod would follow the locale. Read next: scenario.c. */
#include "sim/traffic/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/units.h"

#define FILE_MAX (UINT64_C(1) << 30)
#define DECIMALS 12 /* of a start: picoseconds */
#define FIELDS 6

char *sim_file_read(const char *path, size_t *len, char *error)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;

    *len = 0;
    if (file == NULL) {
        trib_explain(error, "%s: %s", path, strerror(errno));
        return NULL;
    }
    do {
        if (room - *len < 2) {
            room = room == 0 ? 65536 : 2 * room;
            char *larger = room <= FILE_MAX ? realloc(text, room) : NULL;
            if (larger == NULL) {
                trib_explain(error, "%s: larger than memory allows", path);
                free(text);
                (void)fclose(file);
                return NULL;
            }
            text = larger;
        }
        *len += fread(text + *len, 1, room - 1 - *len, file);
    } while (!feof(file) && !ferror(file));
    text[*len] = '\0';
    if (ferror(file)) {
        trib_explain(error, "%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

/* A decimal number x 10^decimals; returns what is behind it, NULL: there is none, or it does not fit. */
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

static const char *read_flow(const char *p, struct sim_trace_flow *flow, uint64_t fields[FIELDS])
{
    for (int i = 0; i < FIELDS && p != NULL; i++) {
        p = read_number(p, i == FIELDS - 1 ? DECIMALS : 0, &fields[i]);
    }
    if (p != NULL) {
        *flow = (struct sim_trace_flow){
            .from = (uint32_t)fields[0],
            .to = (uint32_t)fields[1],
            .bytes = fields[4],
            .start_ps = fields[5],
        };
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

/* What is wrong with the flow, into text; NULL: nothing. */
static const char *fault_of(const struct sim_traffic *t, const uint64_t fields[FIELDS], uint32_t hosts, char *text)
{
    for (int i = 0; i < 2; i++) {
        if (fields[i] >= hosts) {
            (void)snprintf(text, TRIB_UNITS_TEXT_MAX * 4, "host %" PRIu64 " of %" PRIu32 " (the first is 0)", fields[i],
                           hosts);
            return text;
        }
    }
    if (fields[0] == fields[1]) {
        return "a host that sends to itself";
    }
    if (fields[4] == 0) {
        return "a flow of no bytes";
    }
    if (t->trace_count != 0 && fields[5] < t->trace[t->trace_count - 1].start_ps) {
        return "starts earlier than the flow before it";
    }
    return NULL;
}

static bool read_flows(const char *p, uint64_t count, uint32_t hosts, struct sim_traffic *t, const char *path,
                       char *error)
{
    uint32_t line = 2;
    char text[TRIB_UNITS_TEXT_MAX * 4];

    while (t->trace_count < count) {
        uint64_t fields[FIELDS];
        const char *next = read_flow(p, &t->trace[t->trace_count], fields);
        next = next == NULL ? NULL : skip_line_end(next);
        const char *fault = next == NULL
                                ? "six numbers should stand here: source, destination, group, port, bytes, start"
                                : fault_of(t, fields, hosts, text);
        if (fault != NULL) {
            trib_explain(error, "%s:%" PRIu32 ": %s", path, line,
                         *p == '\0' ? "fewer flows than the first line says" : fault);
            return false;
        }
        t->trace_count++;
        p = next;
        line++;
    }
    return true;
}

bool sim_trace_read(const char *path, uint32_t hosts, struct sim_traffic *traffic, char *error)
{
    size_t len = 0;
    char *text = sim_file_read(path, &len, error);
    uint64_t count = 0;
    bool is_good = false;

    if (text == NULL) {
        return false;
    }
    const char *p = read_number(text, 0, &count);
    p = p == NULL ? NULL : skip_line_end(p);
    if (p == NULL || count == 0 || count > len) {
        trib_explain(error, "%s:1: the number of flows should stand here", path);
    } else {
        traffic->trace_count = 0;
        traffic->trace = malloc(count * sizeof *traffic->trace);
        TRIB_ASSERT(traffic->trace != NULL);
        is_good = read_flows(p, count, hosts, traffic, path, error);
    }
    free(text);
    return is_good;
}
