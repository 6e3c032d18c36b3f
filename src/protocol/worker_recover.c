/* SPDX-License-Identifier: Apache-2.0 */
/* worker_recover.c: lost packets, seen from the worker. It never resends on its own: it PROBEs, and the switch ASKs
 * for missing parts. Four reasons to probe a fragment:
 *   - it is the oldest of a root that has brought no result for a round trip (one probe, later ever more rarely); if
 *     that brings a result, some more;
 *   - it has waited longer than fragments usually do (RTO, doubling, to 1 s), a few of the oldest at a time. Late ranks
 *     are no reason for a storm, so this RTO is made of whole waits, not of round trips: probes that come before the
 *     answer was due bring repeats, repeats fill queues, and full queues bring probes;
 *   - results of fragments sent TRIB_PROTOCOL_FAST_DISTANCE transmissions later have come: something of it was lost;
 *   - the switch has booted anew.
 * Silence does not tell the lost packet: the switch answers HELD, with RESEND if it has sent the result. If HELD comes
 * without the result, or later results have come, the probe says RESEND, and the switch sends the result again. And one
 * without a fragment: nothing is outstanding at a root with an M behind the own mark. Marks and M travel only on
 * packets, so a silent rank would keep the others waiting at the root, and its own window closed. Sent flights of a
 * root form a list by last transmission: the head is the one to suspect.
 *
 * Rejected: scanning the window at each result (cost), and a timer per fragment (a heap in place of one cached
 * minimum).
 * Read next: worker_send.c (how a probe leaves), switch_answer.c (how it is answered). */
#include "protocol/worker_memory.h"

#define OVERDUE_PROBES 16 /* per root and timeout */
#define FIRST_DOUBLINGS 2 /* of the RTO of a fragment that was sent once */
#define MORE_PROBES 4     /* after a repeat that was needed */
/* Timeouts of one length at a silent root, before they double. Where each packet is lost with 30 %, a PROBE, the ASK,
 * the part and the result come through together once in four times: were each wait longer by more than 1/0.76, the mean
 * of their sum would have no bound. */
#define EQUAL_TIMEOUTS 3

static void unlink_flight(struct worker *w, uint32_t index)
{
    struct flight *f = worker_flight(w, index);
    struct worker_root *root = &w->roots[trib_window_root(&w->window, f->sequence)];

    if (f->older != NO_FLIGHT) {
        worker_flight(w, f->older)->newer = f->newer;
    } else if (root->oldest == index) {
        root->oldest = f->newer;
    }
    if (f->newer != NO_FLIGHT) {
        worker_flight(w, f->newer)->older = f->older;
    } else if (root->newest == index) {
        root->newest = f->older;
    }
    f->older = f->newer = NO_FLIGHT;
}

static void append_flight(struct worker *w, uint32_t index)
{
    struct flight *f = worker_flight(w, index);
    struct worker_root *root = &w->roots[trib_window_root(&w->window, f->sequence)];

    f->older = root->newest;
    if (root->newest != NO_FLIGHT) {
        worker_flight(w, root->newest)->newer = index;
    } else {
        root->oldest = index;
    }
    root->newest = index;
}

/* The wait for a result before a fragment is suspicious: four times the usual wait, since silence and
 * later results tell of most losses sooner. Such a long wait mostly means a rank or a switch off its core, and a probe
 * brings a result already on the way. Of one that was sent or probed again, neither
 * tells anything: twice. */
static uint64_t overdue_after(const struct worker *w, const struct flight *f, const struct flight_times *times)
{
    uint32_t doublings = times->repeated ? times->backoff + 1 : FIRST_DOUBLINGS;
    return trib_loss_timeout(&worker_aside(w)->roots[trib_window_root(&w->window, f->sequence)].completion, doublings);
}

/* The fragment to probe after silence. M cannot rise above this rank's mark, so all ranks wait for the fragment there:
 * the fragment at the mark, if outstanding at the root; else the root's oldest. */
static uint32_t longest_awaited(const struct worker *w, uint32_t root)
{
    const struct flight *f = worker_at_mark(w);
    bool waits = f != NULL && trib_window_root(&w->window, w->mark) == root && f->state == FLIGHT_SENT;

    return waits ? worker_flight_index(w, w->mark) : w->roots[root].oldest;
}

void trib__worker_queue(struct worker *w, uint32_t index, uint8_t pending)
{
    struct flight *f = worker_flight(w, index);
    uint32_t *queue = worker_at(w, w->queue_at);

    if (f->pending == 0) {
        queue[(w->queue_head + w->queue_count++) % w->flights] = index;
    }
    f->pending |= pending;
}

void trib__worker_sent(struct worker *w, uint32_t index, uint64_t now_ns)
{
    struct worker_aside *aside = worker_aside(w);
    struct flight *f = worker_flight(w, index);
    struct flight_times *times = worker_times(w, index);
    uint32_t root = trib_window_root(&w->window, f->sequence);

    if (times->order == 0) {
        times->sent_ns = now_ns;
        aside->roots[root].active_ns = now_ns;
    } else {
        if (index == longest_awaited(w, root)) {
            aside->roots[root].active_ns = now_ns;
        }
        times->repeated = true;
        unlink_flight(w, index);
    }
    append_flight(w, index);
    times->order = ++aside->roots[root].order;
    times->deadline_ns = now_ns + overdue_after(w, f, times);
    if (times->deadline_ns < aside->next_deadline_ns) {
        aside->next_deadline_ns = times->deadline_ns;
    }
}

/* There is reason to think that the result was sent, and lost: the switch is to send it again. */
void trib__worker_probe_lost(struct worker *w, uint32_t index)
{
    worker_flight(w, index)->is_lost = 1;
    trib__worker_queue(w, index, PENDING_PROBE);
}

/* Something sent later is answered: probe fragments older by the distance, once per transmission. */
static void suspect(struct worker *w, uint32_t root)
{
    struct worker_aside *aside = worker_aside(w);
    uint32_t index = w->roots[root].oldest;
    uint64_t distance = w->config.distance != 0 ? w->config.distance : TRIB_PROTOCOL_FAST_DISTANCE;

    while (index != NO_FLIGHT) {
        struct flight_times *times = worker_times(w, index);
        if (times->order + distance > aside->roots[root].answered) {
            return;
        }
        if (worker_flight(w, index)->pending != 0) {
            return; /* the queue was not drained since: the rest of a batch of results need not look again */
        }
        aside->counters.probes_fast++;
        trib__worker_probe_lost(w, index);
        index = worker_flight(w, index)->newer;
    }
}

/* A probed result was really missing, so older ones may be missing as well: probe a few. Each success probes more. */
void trib__worker_probe_more(struct worker *w, uint32_t index)
{
    uint32_t root = trib_window_root(&w->window, worker_flight(w, index)->sequence);
    uint64_t order = worker_times(w, index)->order;
    uint32_t next = w->roots[root].oldest;

    for (uint32_t i = 0; i < MORE_PROBES && next != NO_FLIGHT && worker_times(w, next)->order < order; i++) {
        trib__worker_probe_lost(w, next);
        next = worker_flight(w, next)->newer;
    }
}

/* A result came after so many timeouts that the waits had grown: a rank was away, and is back. Other roots, silent for
 * the same reason, hear the own mark at once, not after a wait that has grown there too. */
static void end_silence(struct worker *w, uint32_t root)
{
    if (worker_aside(w)->roots[root].tail_backoff < EQUAL_TIMEOUTS) {
        worker_aside(w)->roots[root].tail_backoff = 0;
        return;
    }
    for (uint32_t i = 0; i < w->window.roots; i++) {
        worker_aside(w)->roots[i].tail_backoff = worker_aside(w)->roots[i].quiet_backoff = 0;
    }
}

void trib__worker_let_go(struct worker *w, uint32_t index, uint64_t now_ns)
{
    struct flight *f = worker_flight(w, index);
    uint32_t root = trib_window_root(&w->window, f->sequence);

    end_silence(w, root);
    trib_congestion_result(&w->roots[root].congestion);
    unlink_flight(w, index);
    worker_aside(w)->roots[root].active_ns = worker_aside(w)->roots[root].quiet_ns = now_ns;
}

void trib__worker_answered(struct worker *w, uint32_t index, bool was_last, uint64_t now_ns)
{
    struct worker_aside *aside = worker_aside(w);
    const struct flight *f = worker_flight(w, index);
    const struct flight_times *times = worker_times(w, index);
    uint32_t root = trib_window_root(&w->window, f->sequence);

    trib_loss_sampled(&aside->roots[root].completion, now_ns - times->sent_ns);
    if (was_last && !times->repeated) {
        trib_loss_sampled(&aside->roots[root].trip, now_ns - times->sent_ns);
    }
    trib__worker_let_go(w, index, now_ns);
    /* Only a contribution sent once is a sign for earlier ones: the answer to a probe waits for no rank, so it
     * overtakes results on the way, and as a sign it would make probes breed probes. */
    if (!times->repeated && times->order > aside->roots[root].answered) {
        aside->roots[root].answered = times->order;
        suspect(w, root);
    }
}

void trib__worker_probe_all(struct worker *w, uint64_t now_ns)
{
    for (uint32_t root = 0; root < w->window.roots; root++) {
        for (uint32_t index = w->roots[root].oldest; index != NO_FLIGHT; index = worker_flight(w, index)->newer) {
            worker_times(w, index)->backoff = 0;
            worker_times(w, index)->sent_ns = now_ns; /* the old boot's silence is no round trip */
            worker_times(w, index)->resent_ns = 0;
            worker_flight(w, index)->is_lost = 0;
            worker_flight(w, index)->is_old = worker_flight(w, index)->is_new = 1;
            trib__worker_queue(w, index, PENDING_PROBE);
        }
    }
    for (uint32_t root = 0; root < w->window.roots; root++) {
        worker_aside(w)->roots[root].risen_ns = worker_aside(w)->roots[root].quiet_ns = now_ns;
        worker_aside(w)->roots[root].quiet_backoff = 0;
    }
}

/* Nothing is outstanding at the root, so no result will bring M, and the root may lack the rank's mark. */
static bool is_quiet(const struct worker *w, uint32_t root)
{
    return w->roots[root].oldest == NO_FLIGHT && w->roots[root].communicator_mark < w->mark;
}

/* The root's window holds new payload back: if more of the root's fragments are finished than told, tell the mark at
 * once. Fragments of other roots are no news for the root; the mark is told once for each M that comes back. */
void trib__worker_blocked(struct worker *w, uint32_t root)
{
    struct worker_root *r = &w->roots[root];
    bool is_news =
        trib_window_dense_below(&w->window, root, r->told) < trib_window_dense_below(&w->window, root, w->mark);

    if (is_quiet(w, root) && is_news && r->asked != r->communicator_mark) {
        r->asked = r->communicator_mark;
        r->probe = 1;
    }
}

/* How long a root may be silent after so many timeouts. */
static uint64_t silence(const struct worker *w, uint32_t root, uint32_t timeouts)
{
    return trib_loss_timeout(&worker_aside(w)->roots[root].trip, timeouts / EQUAL_TIMEOUTS);
}

static uint64_t quiet_deadline(const struct worker *w, uint32_t root)
{
    const struct worker_aside *aside = worker_aside(w);

    if (!is_quiet(w, root)) {
        return TRIB_NEVER;
    }
    return aside->roots[root].quiet_ns + silence(w, root, aside->roots[root].quiet_backoff);
}

/* Something is outstanding at the root, and for a round trip no result has come, nothing new has gone, and the longest
 * awaited fragment has not gone again. Other probes and their answers, of which many may be lost, do not count: or the
 * probe that all wait for would be put off. */
static uint64_t tail_deadline(const struct worker *w, uint32_t root)
{
    const struct worker_aside *aside = worker_aside(w);

    if (w->roots[root].oldest == NO_FLIGHT) {
        return TRIB_NEVER;
    }
    return aside->roots[root].active_ns + silence(w, root, aside->roots[root].tail_backoff);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t trib__worker_next_timeout(const void *node)
{
    const struct worker *w = node;
    uint64_t earliest = worker_aside(w)->next_deadline_ns;

    if (w->boot == 0) {
        return TRIB_NEVER;
    }
    for (uint32_t root = 0; root < w->window.roots; root++) {
        earliest = lesser(earliest, lesser(quiet_deadline(w, root), tail_deadline(w, root)));
    }
    return lesser(earliest, trib__worker_burst_end(w));
}

/* All that may be sent to the root of the own mark has a result, and M stands: a rank takes no results. On which
 * sequence, and since when? The one of the needed slot: the same root knows the ranks behind. False: M may be on the
 * way, as no PROBE was in vain: the process may have been off the core. */
static bool is_held_back(const struct worker *w, uint64_t *sequence, uint64_t *since_ns)
{
    uint32_t root = trib_window_root(&w->window, w->mark);
    const struct worker_root_times *times = &worker_aside(w)->roots[root];
    uint64_t below = trib_window_dense_below(&w->window, root, w->roots[root].communicator_mark);
    uint64_t next = trib_window_dense(&w->window, w->mark);

    if (w->oldest_operation == w->newest_operation || next < below + w->roots[root].reach ||
        times->quiet_backoff < EQUAL_TIMEOUTS) {
        return false;
    }
    *sequence = trib_window_sequence(&w->window, root, below);
    uint64_t last = trib_window_sequence(&w->window, root, next - 1);
    uint64_t sent_ns = worker_times(w, worker_flight_index(w, last))->sent_ns;
    *since_ns = sent_ns > times->risen_ns ? sent_ns : times->risen_ns;
    return true;
}

void trib__worker_report_stall(struct worker *w, uint64_t now_ns)
{
    struct worker_aside *aside = worker_aside(w);
    const struct flight *f = worker_at_mark(w);
    uint64_t sequence = w->mark;
    uint64_t sent_ns = worker_times(w, worker_flight_index(w, w->mark))->sent_ns;

    if (f == NULL && !is_held_back(w, &sequence, &sent_ns)) {
        return;
    }
    uint64_t since = sent_ns > aside->stall_reported_ns ? sent_ns : aside->stall_reported_ns;
    if (now_ns - since < w->config.stall_ns) {
        return;
    }
    aside->stall_reported_ns = now_ns;
    aside->counters.stalls++;
    struct trib_event event = {
        .kind = TRIB_EVENT_STALL,
        .sequence = sequence,
        .since_ns = sent_ns,
        .bitmap = w->held_sequence == sequence ? w->held_bitmap : 0,
    };
    trib__worker_event(w, &event);
}

/* Probes the oldest overdue fragments, puts the rest off; returns the earliest deadline. */
static uint64_t probe_overdue(struct worker *w, uint32_t root, uint64_t now_ns)
{
    uint64_t *last_ns = &worker_aside(w)->roots[root].overdue_ns;
    uint64_t earliest = TRIB_NEVER;
    uint32_t probes = 0;
    /* Delays that grow make the whole window overdue, one after another: one burst in a while is enough. */
    uint32_t allowed =
        now_ns - *last_ns < trib_loss_timeout(&worker_aside(w)->roots[root].completion, 0) ? 0 : OVERDUE_PROBES;

    for (uint32_t index = w->roots[root].oldest; index != NO_FLIGHT; index = worker_flight(w, index)->newer) {
        struct flight_times *times = worker_times(w, index);
        if (times->deadline_ns <= now_ns) {
            if (probes < allowed) {
                probes++;
                *last_ns = now_ns;
                times->backoff++;
                trib__worker_queue(w, index, PENDING_PROBE);
            }
            times->deadline_ns = now_ns + overdue_after(w, worker_flight(w, index), times);
        }
        if (times->deadline_ns < earliest) {
            earliest = times->deadline_ns;
        }
    }
    return earliest;
}

void trib__worker_on_timeout(void *node, uint64_t now_ns)
{
    struct worker *w = node;
    struct worker_aside *aside = worker_aside(w);

    if (w->boot == 0) {
        return;
    }
    if (aside->next_deadline_ns <= now_ns) {
        aside->next_deadline_ns = TRIB_NEVER;
        for (uint32_t root = 0; root < w->window.roots; root++) {
            uint64_t earliest = probe_overdue(w, root, now_ns);
            if (earliest < aside->next_deadline_ns) {
                aside->next_deadline_ns = earliest;
            }
        }
        trib__worker_report_stall(w, now_ns);
    }
    for (uint32_t root = 0; root < w->window.roots; root++) {
        if (tail_deadline(w, root) <= now_ns) {
            aside->roots[root].tail_backoff++;
            aside->roots[root].active_ns = now_ns;
            trib__worker_queue(w, longest_awaited(w, root), PENDING_PROBE);
        }
        if (quiet_deadline(w, root) <= now_ns) {
            aside->roots[root].quiet_backoff++;
            aside->roots[root].quiet_ns = now_ns;
            w->roots[root].probe = 1;
            trib__worker_report_stall(w, now_ns);
        }
    }
}
