/* SPDX-License-Identifier: Apache-2.0 */
/* cables.c: see cables.h. Parses the lines, then checks the whole network. Read next: topology.c. */
#include "sim/network/cables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/units.h"
#include "sim/network/network.h"

#define WORDS_MAX 5U
#define WIRES_MAX 80U /* Pairs of rate and delay. Each needs three kinds of ports, and three more when cut. */
#define HOSTS_MAX SIM_HOSTS_MAX
#define NS_PS UINT64_C(1000)
#define RATE_MAX UINT64_C(3200000000000)
#define DELAY_MAX_NS UINT64_C(1000000000)

#define REFUSE(r, at, ...) ((void)trib_file_refuse((r)->error, (r)->path, at, __VA_ARGS__), false)

struct reader {
    struct sim_cables *c;
    const char *path;
    char *error;
    char *at; /* position in the text */
    uint32_t line;
    uint32_t column;   /* of the last word searched for */
    const char *begin; /* of the line */
    uint32_t nodes;
    /* By node of the file: its number in the network. Before the numbering: 1 for a switch. */
    uint32_t *number;
    struct sim_wire wires[WIRES_MAX];
    uint32_t wire_count;
};

/* Place of the last word searched for. */
static struct trib_file_place here(const struct reader *r)
{
    return (struct trib_file_place){r->line, r->column};
}

static struct trib_file_place line_at(uint32_t line)
{
    return (struct trib_file_place){line, 1};
}

/* ---- lines ---- */

/* Returns the next line, terminated; NULL: the text has ended. */
static char *next_line(struct reader *r)
{
    char *line = r->at;

    if (*line == '\0') {
        return NULL;
    }
    size_t len = strcspn(line, "\n");
    r->at += len + (line[len] == '\n');
    line[len] = '\0';
    r->line++;
    r->column = 1;
    r->begin = line;
    return line;
}

static char *next_word(struct reader *r, char **line)
{
    *line += strspn(*line, " \t\r");
    char *word = *line;
    r->column = (uint32_t)(word - r->begin) + 1;
    size_t len = strcspn(word, " \t\r");
    *line += len;
    if (**line != '\0') {
        *(*line)++ = '\0';
    }
    return len != 0 ? word : NULL;
}

/* An ignored word would most likely hide a mistake in the numbers before it. */
static bool is_all(struct reader *r, char **line)
{
    const char *word = next_word(r, line);

    return word == NULL || REFUSE(r, here(r), "unexpected \"%s\" at the end of the line", word);
}

static bool read_number(struct reader *r, char **line, uint64_t max, const char *what, uint32_t *number)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t value = 0;
    const char *word = next_word(r, line);

    if (word == NULL) {
        return REFUSE(r, here(r), "%s should stand here", what);
    }
    if (trib_parse_number(word, 0, max, &value, cause) != TRIB_OK) {
        return REFUSE(r, here(r), "%s: %s", what, cause);
    }
    *number = (uint32_t)value;
    return true;
}

static bool read_head(struct reader *r)
{
    char *line = next_line(r);
    struct sim_cables *c = r->c;

    if (line == NULL) {
        return REFUSE(r, line_at(1), "expected the numbers of nodes, switches and cables");
    }
    if (!read_number(r, &line, SIM_NODES_MAX, "the number of nodes", &r->nodes) ||
        !read_number(r, &line, r->nodes, "the number of switches", &c->switches) ||
        !read_number(r, &line, 4 * SIM_NODES_MAX, "the number of cables", &c->count) || !is_all(r, &line)) {
        return false;
    }
    c->hosts = r->nodes - c->switches;
    if (c->hosts < 2 || c->hosts > HOSTS_MAX || c->switches == 0) {
        return REFUSE(r, line_at(1), "%u hosts and %u switches; there can be from 2 to %u hosts, and 1 switch and more",
                      c->hosts, c->switches, HOSTS_MAX);
    }
    r->number = calloc((size_t)r->nodes + 1, sizeof *r->number);
    c->list = calloc(c->count + 1, sizeof *c->list);
    if (r->number == NULL || c->list == NULL) {
        return REFUSE(r, line_at(1), "out of memory");
    }
    return true;
}

static bool read_switches(struct reader *r)
{
    char *line = next_line(r);
    uint32_t hosts = 0;
    uint32_t switches = r->c->hosts;

    for (uint32_t i = 0; i < r->c->switches; i++) {
        uint32_t node = 0;
        if (line == NULL) {
            return REFUSE(r, line_at(2), "expected the numbers of the switches");
        }
        if (!read_number(r, &line, r->nodes - 1, "the number of a switch", &node)) {
            return false;
        }
        if (r->number[node] != 0) {
            return REFUSE(r, here(r), "switch %u is listed twice", node);
        }
        r->number[node] = 1;
    }
    if (line != NULL && !is_all(r, &line)) {
        return false;
    }
    for (uint32_t node = 0; node < r->nodes; node++) {
        r->number[node] = r->number[node] != 0 ? switches++ : hosts++;
    }
    return true;
}

static bool note_wire(struct reader *r, const struct sim_wire *wire)
{
    for (uint32_t i = 0; i < r->wire_count; i++) {
        if (memcmp(&r->wires[i], wire, sizeof *wire) == 0) {
            return true;
        }
    }
    if (r->wire_count == WIRES_MAX) {
        return REFUSE(r, here(r), "more than %u different pairs of rate and delay", WIRES_MAX);
    }
    r->wires[r->wire_count++] = *wire;
    return true;
}

static bool is_zero(const char *word)
{
    char *end = NULL;
    double value = strtod(word, &end);

    return end != word && *end == '\0' && !(value < 0) && !(value > 0);
}

static bool read_rate(struct reader *r, const char *word, uint64_t *rate_bps)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (word == NULL) {
        return REFUSE(r, here(r), "a cable needs two nodes, a rate and a delay: 0 4 100Gbps 1000ns");
    }
    if (trib_parse_rate(word, rate_bps, cause) != TRIB_OK) {
        return REFUSE(r, here(r), "%s", cause);
    }
    return (*rate_bps >= TRIB_LINK_RATE_MIN && *rate_bps <= RATE_MAX) ||
           REFUSE(r, here(r), "rate is %s; the range is 1Mbps to 3200Gbps", word);
}

static bool read_delay(struct reader *r, const char *word, uint64_t *delay_ps)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t ns = 0;

    if (word == NULL) {
        return REFUSE(r, here(r), "a cable needs two nodes, a rate and a delay: 0 4 100Gbps 1000ns");
    }
    if (trib_parse_duration(word, &ns, cause) != TRIB_OK) {
        return REFUSE(r, here(r), "%s", cause);
    }
    *delay_ps = ns * NS_PS;
    return ns <= DELAY_MAX_NS || REFUSE(r, here(r), "delay is %s; the limit is 1s", word);
}

static bool read_wire(struct reader *r, char **line, struct sim_wire *wire)
{
    if (!read_rate(r, next_word(r, line), &wire->rate_bps) || !read_delay(r, next_word(r, line), &wire->delay_ps)) {
        return false;
    }
    const char *errors = next_word(r, line);
    if (errors != NULL && !is_zero(errors)) {
        return REFUSE(r, here(r), "an error rate of %s: for losses use [faults] of the scenario", errors);
    }
    return note_wire(r, wire);
}

static bool read_cables(struct reader *r)
{
    struct sim_cables *c = r->c;

    for (uint32_t i = 0; i < c->count; i++) {
        char *line = next_line(r);
        struct sim_cable cable = {.line = r->line};
        if (line == NULL) {
            return REFUSE(r, line_at(r->line), "%u cables, but the first line says %u", i, c->count);
        }
        for (uint32_t end = 0; end < 2; end++) {
            if (!read_number(r, &line, r->nodes - 1, "a cable's node", &cable.ends[end])) {
                return false;
            }
            cable.ends[end] = r->number[cable.ends[end]];
        }
        if (cable.ends[0] == cable.ends[1]) {
            return REFUSE(r, here(r), "a cable from a node to itself");
        }
        if (!read_wire(r, &line, &cable.wire) || !is_all(r, &line)) {
            return false;
        }
        if (cable.ends[1] < cable.ends[0]) {
            uint32_t end = cable.ends[0];
            cable.ends[0] = cable.ends[1];
            cable.ends[1] = end;
        }
        c->list[i] = cable;
    }
    for (char *line = next_line(r); line != NULL; line = next_line(r)) {
        if (next_word(r, &line) != NULL) {
            return REFUSE(r, here(r), "more than the %u cables of the first line", c->count);
        }
    }
    return true;
}

/* ---- the whole ---- */

/* Order: cables of hosts by host, then the others; cables between the same two nodes are adjacent. */
static int by_ends(const void *a, const void *b)
{
    const struct sim_cable *x = a;
    const struct sim_cable *y = b;

    if (x->ends[0] != y->ends[0]) {
        return x->ends[0] < y->ends[0] ? -1 : 1;
    }
    if (x->ends[1] != y->ends[1]) {
        return x->ends[1] < y->ends[1] ? -1 : 1;
    }
    return (x->line > y->line) - (x->line < y->line);
}

static bool check_cables(struct reader *r)
{
    struct sim_cables *c = r->c;

    qsort(c->list, c->count, sizeof *c->list, by_ends);
    for (uint32_t i = 1; i < c->count; i++) {
        if (memcmp(c->list[i].ends, c->list[i - 1].ends, sizeof c->list[i].ends) == 0) {
            return REFUSE(r, line_at(c->list[i].line), "a second cable between the nodes of line %u",
                          c->list[i - 1].line);
        }
    }
    for (uint32_t host = 0; host < c->hosts; host++) {
        if (host >= c->count || c->list[host].ends[0] != host) {
            bool is_second = host < c->count && c->list[host].ends[0] < host;
            return is_second
                       ? REFUSE(r, line_at(c->list[host].line), "host %u has a second cable", c->list[host].ends[0])
                       : REFUSE(r, line_at(1), "host %u has no cable", host);
        }
        if (c->list[host].ends[1] < c->hosts) {
            return REFUSE(r, line_at(c->list[host].line), "a cable from host to host: hosts connect to switches only");
        }
    }
    if (c->count > c->hosts && c->list[c->hosts].ends[0] < c->hosts) {
        return REFUSE(r, line_at(c->list[c->hosts].line), "host %u has a second cable", c->list[c->hosts].ends[0]);
    }
    return true;
}

/* Returns the first cable's line that names the switch; 2, the list of switches, if no cable does. */
static uint32_t line_of(const struct sim_cables *c, uint32_t node)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->list[i].ends[0] == node || c->list[i].ends[1] == node) {
            return c->list[i].line;
        }
    }
    return 2;
}

static bool make_fabric(const struct sim_cables *c, struct trib_fabric *f)
{
    if (!trib_fabric_init(f, c->hosts + c->switches, c->hosts, 2 * c->count)) {
        return false;
    }
    for (uint32_t i = 0; i < 2 * c->count; i++) {
        const struct sim_cable *cable = &c->list[i / 2];
        (void)trib_fabric_add(f, cable->ends[i % 2], cable->ends[1 - i % 2], cable->wire.rate_bps);
    }
    return trib_fabric_ready(f);
}

static bool check_ways_of(struct reader *r, uint32_t host, const uint32_t *hops)
{
    const struct sim_cables *c = r->c;

    for (uint32_t i = 0; i < c->switches; i++) {
        if (hops[c->hosts + i] == TRIB_NO_WAY) {
            return REFUSE(r, line_at(line_of(c, c->hosts + i)),
                          "the network is not connected: no path from host %u to switch %u", host, i);
        }
    }
    for (uint32_t other = 0; other < c->hosts; other++) {
        if (hops[other] + 1 > SIM_PATH_MAX) {
            return REFUSE(r, line_at(c->list[other].line), "%u links from host %u to host %u; %u at most",
                          hops[other] + 1, host, other, SIM_PATH_MAX);
        }
    }
    return true;
}

static bool check_ways(struct reader *r)
{
    const struct sim_cables *c = r->c;
    struct trib_fabric f = {0};
    uint32_t last = UINT32_MAX;
    uint32_t *hops = calloc(2U * r->nodes + 1, sizeof *hops); /* the second half is scratch for the search order */
    bool is_good = (hops != NULL && make_fabric(c, &f)) || REFUSE(r, line_at(1), "out of memory");

    for (uint32_t host = 0; is_good && host < c->hosts; host++) {
        if (c->list[host].ends[1] != last) { /* hosts of one switch are usually adjacent */
            last = c->list[host].ends[1];
            (void)trib_fabric_measure(&f, last, hops, hops + r->nodes);
            is_good = check_ways_of(r, host, hops);
        }
    }
    trib_fabric_deinit(&f);
    free(hops);
    return is_good;
}

bool sim_cables_read(struct sim_cables *c, const char *path, char *error)
{
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);
    struct reader r = {.c = c, .path = path, .error = error, .at = text};

    *c = (struct sim_cables){0};
    if (text == NULL) {
        return false;
    }
    bool is_good = read_head(&r) && read_switches(&r) && read_cables(&r) && check_cables(&r) && check_ways(&r);
    free(r.number);
    free(text);
    return is_good;
}

void sim_cables_free(struct sim_cables *c)
{
    free(c->list);
    *c = (struct sim_cables){0};
}
