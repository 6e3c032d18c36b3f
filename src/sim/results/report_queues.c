/* SPDX-License-Identifier: Apache-2.0 */
/* report_queues.c: results about shared buffers and PFC, for JSON, summary and page; see results.h. Read next:
 * report.c. */
#include <inttypes.h>
#include <string.h>

#include "report/json.h"
#include "sim/network/gates.h"
#include "sim/results/results.h"

#define NS 1e3 /* picoseconds */

/* Sums and maxima over all links and switches. */
struct sums {
    uint64_t stops;
    uint64_t stopped_ps;
    uint64_t stopped_most_ps;
    uint32_t stopped_most; /* link with stopped_most_ps; SIM_NONE: none was stopped */
    uint64_t shared_most;
    uint64_t shared_size; /* of the switch with shared_most */
    uint64_t headroom_most;
};

static struct sums add_up(const struct sim_network *n)
{
    struct sums s = {.stopped_most = SIM_NONE};

    for (uint32_t i = 0; i < n->link_count; i++) {
        uint64_t stopped_ps = sim_gate_stopped_ps(n, i);
        s.stops += n->gates->list[i].stops;
        s.stopped_ps += stopped_ps;
        if (stopped_ps > s.stopped_most_ps) {
            s.stopped_most_ps = stopped_ps;
            s.stopped_most = i;
        }
        s.headroom_most =
            n->gates->ingress[i].over_most > s.headroom_most ? n->gates->ingress[i].over_most : s.headroom_most;
    }
    for (uint32_t i = n->hosts; i < n->nodes; i++) {
        const struct sim_pool *pool = &n->gates->pools[i];
        s.shared_size = i == n->hosts || pool->most > s.shared_most ? pool->size : s.shared_size;
        s.shared_most = pool->most > s.shared_most ? pool->most : s.shared_most;
    }
    return s;
}

static void link_name(const struct sim_run *run, uint32_t link, char *text, size_t size)
{
    char ends[2][SIM_NODE_NAME_MAX];

    sim_topology_node_name(&run->scenario->topology, run->network.fabric.from[link], ends[0]);
    sim_topology_node_name(&run->scenario->topology, run->network.links[link].to, ends[1]);
    (void)snprintf(text, size, "%s-%s", ends[0], ends[1]);
}

void sim__deadlock_text(const struct sim_run *run, char *text, size_t size)
{
    size_t len = 0;

    for (uint32_t i = 0; i < run->deadlock.count && len < size; i++) {
        char name[2 * SIM_NODE_NAME_MAX];
        link_name(run, run->deadlock.links[i], name, sizeof name);
        len += (size_t)snprintf(text + len, size - len, "%s%s", i == 0 ? "" : " ", name);
    }
}

/* ---- JSON ---- */

void sim__json_queues(struct report_json *json, const struct sim_topology *t)
{
    const struct sim_buffers_config *b = &t->buffers;

    if (b->shared_bytes != 0) {
        report_json_count(json, "shared_bytes", b->shared_bytes);
    }
    if (b->alpha_of != 0) {
        report_json_put(json, "alpha", "\"%u/%u\"", b->alpha_of, b->alpha_by);
    }
    report_json_flag(json, "pfc", b->is_lossless);
    if (b->xoff_bytes != 0) {
        report_json_count(json, "xoff_bytes", b->xoff_bytes);
    }
    if (b->is_lossless) {
        report_json_count(json, "xon_below_bytes", b->below_bytes);
    }
}

static void put_link(struct report_json *json, const char *key, const struct sim_run *run, uint32_t link)
{
    char name[2 * SIM_NODE_NAME_MAX];

    link_name(run, link, name, sizeof name);
    report_json_say(json, key, name);
}

static void json_deadlock(struct report_json *json, const struct sim_run *run)
{
    const struct sim_deadlock *d = &run->deadlock;

    if (d->count == 0) {
        report_json_put(json, "deadlock", "null");
        return;
    }
    report_json_open(json, "deadlock", '{');
    report_json_put(json, "since_ns", "%.3f", (double)d->since_ps / NS);
    report_json_count(json, "stopped_links", d->stopped);
    report_json_count(json, "length", d->length);
    report_json_open(json, "circle", '[');
    for (uint32_t i = 0; i < d->count; i++) {
        put_link(json, NULL, run, d->links[i]);
    }
    report_json_close(json, ']');
    report_json_close(json, '}');
}

static void json_pauses(struct report_json *json, const struct sim_run *run, const struct sums *s)
{
    const struct sim_gates *gates = run->network.gates;

    report_json_count(json, "headroom_bytes", gates->headroom_most);
    report_json_flag(json, "headroom_is_enough", !gates->is_short);
    report_json_count(json, "headroom_most_bytes", s->headroom_most);
    report_json_count(json, "pauses_sent", gates->frames);
    report_json_count(json, "stops", s->stops);
    report_json_put(json, "stopped_ns", "%.3f", (double)s->stopped_ps / NS);
    if (s->stopped_most != SIM_NONE) {
        report_json_put(json, "stopped_most_ns", "%.3f", (double)s->stopped_most_ps / NS);
        put_link(json, "stopped_most", run, s->stopped_most);
    }
    json_deadlock(json, run);
}

void sim__json_buffers(struct report_json *json, const struct sim_run *run)
{
    const struct sim_gates *gates = run->network.gates;

    if (gates == NULL) {
        return;
    }
    struct sums s = add_up(&run->network);
    report_json_open(json, "buffers", '{');
    report_json_count(json, "dropped_for_memory", gates->overflowed);
    report_json_count(json, "shared_most_bytes", s.shared_most);
    if (run->scenario->topology.buffers.shared_bytes != 0) {
        report_json_count(json, "shared_part_bytes", s.shared_size);
    }
    if (gates->config.is_lossless) {
        json_pauses(json, run, &s);
    }
    report_json_close(json, '}');
}

/* ---- for people ---- */

void sim__tell_buffers(void (*tell)(FILE *out, const char *what, const char *text), FILE *out,
                       const struct sim_run *run)
{
    const struct sim_network *n = &run->network;
    char text[SIM_DEADLOCK_LINKS * 2 * SIM_NODE_NAME_MAX];

    if (n->gates == NULL) {
        return;
    }
    struct sums s = add_up(n);
    if (run->scenario->topology.buffers.shared_bytes != 0) {
        (void)snprintf(text, sizeof text, "%.1f of %.1f KB", (double)s.shared_most / 1e3, (double)s.shared_size / 1e3);
        tell(out, "most of a switch's shared buffer", text);
    }
    if (!n->gates->config.is_lossless) {
        return;
    }
    (void)snprintf(text, sizeof text, "%.1f of %.1f KB%s", (double)s.headroom_most / 1e3,
                   (double)n->gates->headroom_most / 1e3, n->gates->is_short ? ", which is less than PFC needs" : "");
    tell(out, "most of a headroom", text);
    (void)snprintf(text, sizeof text, "%" PRIu64, n->gates->frames);
    tell(out, "frames of PAUSE", text);
    (void)snprintf(text, sizeof text, "%" PRIu64 " times, %.3f ms in all", s.stops, (double)s.stopped_ps / 1e9);
    tell(out, "ports stopped", text);
    if (s.stopped_most != SIM_NONE) {
        char name[2 * SIM_NODE_NAME_MAX];
        link_name(run, s.stopped_most, name, sizeof name);
        (void)snprintf(text, sizeof text, "%s, %.3f ms", name, (double)s.stopped_most_ps / 1e9);
        tell(out, "longest of them in all", text);
    }
    if (run->deadlock.count != 0) {
        sim__deadlock_text(run, text, sizeof text);
        tell(out, "deadlock: each waits for the next", text);
    }
}
