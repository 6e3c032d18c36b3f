/* SPDX-License-Identifier: Apache-2.0 */
/* worker_pace.c: how many fragments are in flight at a root. Of SwitchML as many as the driver grants. A paced worker
 * (schemes/panama) has a window for each root, by the results: the marks of the own way there and back, and the cap
 * from the switches of the tree.
 * Read next: core/congestion.h, schemes/panama/panama.h. */
#include "core/assert.h"
#include "protocol/worker_memory.h"

_Static_assert(TRIB_TREE_LOST_LEAST > TRIB_PROTOCOL_FAST_DISTANCE, "later results show what is lost in it");

#define BURST_MAX 65536U   /* bytes: a train */
#define BURST_LEAST 16384U /* bytes, if that is no more than a millisecond */
#define BURST_NS UINT64_C(25000)
#define CATCH_UP_NS UINT64_C(1000000)
#define AHEAD_ROUNDS 4 /* one of equal ranks is not the last in so many times N sums once in 55 times */

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void trib__worker_set_window(struct worker *w, uint32_t root)
{
    struct worker_root *r = &w->roots[root];

    r->congestion.window = r->limit;
    if (w->is_paced) {
        r->congestion.window = lesser(r->limit, lesser(r->cap, trib_congestion_tree_fragments(&r->tree)));
        r->reach = trib_window_reach(&w->window, r->cap);
    }
}

/* Nothing is known of the network, nor of the memory of switches, from the start and after a restart of theirs. */
void trib__worker_pace(struct worker *w)
{
    w->is_paced = 1;
    for (uint32_t root = 0; root < w->window.roots; root++) {
        struct worker_root *r = &w->roots[root];
        trib_congestion_tree_init(&r->tree, trib_window_cap(&w->window, 0));
        r->cap = trib_window_cap(&w->window, w->config.session.cap);
        r->cap_from = 0;
        trib__worker_set_window(w, root);
    }
}

/* Something is to be sent to the root. After a long rest, the switches may have given the cap to others. */
void trib__worker_rested(struct worker *w, uint32_t root, uint64_t now_ns)
{
    struct worker_root *r = &w->roots[root];

    if (w->is_paced && r->congestion.in_flight == 0 &&
        now_ns - worker_aside(w)->roots[root].active_ns > TRIB_PROTOCOL_REST_NS) {
        trib_congestion_tree_rested(&r->tree);
        r->cap = trib_window_cap(&w->window, w->config.session.cap);
        trib__worker_set_window(w, root);
    }
}

/* Fragments leave in runs, which end at the same sequences at all ranks: trains, or a half, a quarter and so on if the
 * window has no room for two. Windows differ between ranks. Without runs the trains of ranks would end at different
 * sequences, and results would come in the pieces between all these ends, since a result needs all parts. A piece costs
 * as much CPU as a train. Where the network marks, single fragments leave, so that a window shares as before. */
bool trib__worker_admits_run(const struct worker *w, uint32_t root)
{
    const struct worker_root *r = &w->roots[root];
    uint64_t sequence = w->next[root];
    uint32_t run = w->window.train;

    if (run <= 1 || !trib_congestion_tree_is_clear(&r->tree)) {
        return true;
    }
    while (run > 1 && run > r->congestion.window / 2) {
        run /= 2;
    }
    uint64_t rest = run - trib_window_dense(&w->window, sequence) % run;
    uint64_t left = (w->end - sequence - 1) / w->window.roots + 1; /* submitted and not sent, about */
    return r->congestion.in_flight + (rest < left ? rest : left) <= r->congestion.window;
}

/* ---- a rate ---- */

/* Bytes that leave at once: those of BURST_NS at the rate. So bursts of all ranks that meet in a full link need no more
 * buffer than the link empties in BURST_NS. Slow ranks send some packets at once, for fewer wake-ups, but at most those
 * of a millisecond. */
static uint64_t burst_of(const struct worker *w)
{
    uint64_t bytes = w->config.rate * BURST_NS / UINT64_C(1000000000), most = w->config.rate / 1000;
    bytes = bytes > BURST_LEAST ? bytes : BURST_LEAST;
    bytes = bytes < BURST_MAX ? bytes : BURST_MAX;
    return bytes < most ? bytes : most;
}

/* When the burst at hand would be over at the worker's rate, and the next one may begin; TRIB_NEVER: it has not been
 * sent yet. */
uint64_t trib__worker_burst_end(const struct worker *w)
{
    const struct worker_aside *aside = worker_aside(w);

    if (w->config.rate == 0 || aside->burst_bytes < burst_of(w)) {
        return TRIB_NEVER;
    }
    return aside->burst_ns + aside->burst_bytes * UINT64_C(1000000000) / w->config.rate;
}

/* The rate holds contributions back. The next burst counts from the end of the last one: a late wake-up costs no rate.
 * But the most that is caught up with is CATCH_UP_NS, or a train. */
bool trib__worker_is_early(struct worker *w, uint64_t now_ns)
{
    struct worker_aside *aside = worker_aside(w);
    uint64_t end_ns = trib__worker_burst_end(w);

    if (end_ns == TRIB_NEVER) {
        return false;
    }
    if (now_ns < end_ns) {
        return true;
    }
    uint64_t train_ns = BURST_MAX * UINT64_C(1000000000) / w->config.rate;
    uint64_t most_ns = train_ns > CATCH_UP_NS ? train_ns : CATCH_UP_NS;
    aside->burst_ns = now_ns - end_ns < most_ns ? end_ns : now_ns - most_ns;
    aside->burst_bytes = 0;
    return false;
}

void trib__worker_spent(struct worker *w, const struct trib_packet *packet)
{
    if (w->config.rate != 0) {
        worker_aside(w)->burst_bytes +=
            packet->payload_len + (w->config.extra != 0 ? w->config.extra : TRIB_WIRE_EXTRA);
    }
}

/* ---- windows that follow the network ---- */

/* The own part, or the result, was lost on the way: not in a restart of the switch, which is nobody's congestion. */
void trib__worker_lost(struct worker *w, uint32_t index)
{
    const struct flight *f = worker_flight(w, index);
    uint32_t root = trib_window_root(&w->window, f->sequence);

    if (w->is_paced && !f->is_old) {
        trib_congestion_tree_lost(&w->roots[root].tree, w->roots[root].congestion.in_flight);
        trib__worker_set_window(w, root);
    }
}

/* The cap of a result is news unless a later fragment's has overtaken it. Repeated results are as good as others in
 * that: a switch tells the cap of the moment. */
void trib__worker_told_cap(struct worker *w, const struct trib_packet *result)
{
    uint32_t root = trib_window_root(&w->window, result->sequence);
    struct worker_root *r = &w->roots[root];

    if (result->window_cap != 0 && result->sequence >= r->cap_from) {
        r->cap = trib_window_cap(&w->window, result->window_cap);
        r->cap_from = result->sequence;
    }
    trib_congestion_tree_cap(&r->tree, r->cap);
    trib__worker_set_window(w, root);
}

void trib__worker_set_child(void *node, uint32_t root, uint32_t child)
{
    struct worker *w = node;

    TRIB_ASSERT(root < w->window.roots && child < TRIB_CHILDREN_MAX);
    w->roots[root].child = (uint8_t)(child + 1);
}

static uint32_t most_ahead(const struct worker *w)
{
    return AHEAD_ROUNDS * w->config.session.ranks;
}

/* Another sum is done, for any last rank. If the marks of all count as own, they keep a window small, and no count is
 * needed. */
static void count_ahead(const struct worker *w, struct worker_root *r, const struct trib_packet *result)
{
    bool is_counted = r->child != 0 && result->last_rank != w->config.rank;

    r->ahead = is_counted ? lesser(r->ahead + 1, most_ahead(w)) : 0;
}

/* True if the others wait for the rank at times. Of N equal ranks each is the last of a sum once in N of them. A
 * rank that is never the last could send more, but the window would be wrong when the rank's own way is the narrow
 * one. */
static bool is_waited_for(const struct worker *w, const struct worker_root *r)
{
    return r->ahead < most_ahead(w);
}

/* A result is taken; it still counts as in flight. */
void trib__worker_paced(struct worker *w, uint32_t index, const struct trib_packet *result)
{
    const struct flight *f = worker_flight(w, index);
    uint32_t root = trib_window_root(&w->window, f->sequence);
    struct worker_root *r = &w->roots[root];
    bool is_repeated = (result->flags & TRIB_FLAG_RESEND) != 0;

    count_ahead(w, r, result);
    /* The mark of a repeated result, or of one of an earlier boot, is an old one. */
    struct trib_congestion_sign sign = {
        .in_flight = r->congestion.in_flight,
        .allowed = r->congestion.window,
        .is_full = r->is_full && is_waited_for(w, r),
        .is_marked = !is_repeated && !f->is_old && trib_result_is_marked(result, r->child),
        .is_aimd = w->is_aimd != 0,
    };

    worker_aside(w)->counters.results_marked += sign.is_marked;
    if (is_repeated && f->is_lost) {
        trib__worker_lost(w, index);
    }
    trib_congestion_tree_result(&r->tree, &sign);
    trib__worker_told_cap(w, result);
}
