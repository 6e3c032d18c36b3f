/* SPDX-License-Identifier: Apache-2.0 */
/* congestion.h: how many fragments are kept in flight towards one root, or one peer. Told facts ("sent", "result",
 * "acknowledged, so many of them marked", "lost", "timed out"), asked one question. Three parts:
 *   trib_congestion          SwitchML's: a fixed window (NSDI'21, section 3.4: the pool is the window, it clocks
 *                            itself)
 *   trib_congestion_window   a window that follows the network: AIMD (RFC 5681; RFC 3168 for marks) or DCTCP (Alizadeh
 *                            et al., SIGCOMM'10; RFC 8257, gain 1/16), for flows between peers. As in Linux
 *                            (tcp_dctcp.c, and tcp_input.c's state CWR) marks take whole fragments off. Until all
 *                            fragments under way then are acknowledged, the window neither falls again nor grows
 *   trib_congestion_tree     PANAMA's (Gebara et al., MLSys'21, figure 5): one for each tree, whose results are its
 *                            acknowledgements
 * Sequences are those of a flow. Fixed point, no floats: it is part of nodes, whose states are compared as bytes.
 * Read next: flow.h (its caller). */
#ifndef TRIB_CORE_CONGESTION_H
#define TRIB_CORE_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

struct trib_congestion {
    uint32_t window; /* fragments */
    uint32_t in_flight;
};

static inline void trib_congestion_sent(struct trib_congestion *congestion)
{
    congestion->in_flight++;
}

static inline void trib_congestion_result(struct trib_congestion *congestion)
{
    congestion->in_flight--;
}

static inline bool trib_congestion_admits(const struct trib_congestion *congestion)
{
    return congestion->in_flight < congestion->window;
}

enum trib_congestion_policy {
    TRIB_CONGESTION_FIXED = 0, /* always the most */
    TRIB_CONGESTION_AIMD,      /* a mark halves the window, as a loss does */
    TRIB_CONGESTION_DCTCP      /* marks cut it by half of their smoothed share */
};

/* "dctcp"; NULL: there is no such policy. */
const char *trib_congestion_name(uint32_t policy);

#define TRIB_CONGESTION_ONE UINT32_C(65536) /* a fragment; and alpha's 1 */
#define TRIB_CONGESTION_FIRST 10U           /* fragments (RFC 6928) */

struct trib_congestion_window {
    uint64_t round_end; /* alpha's round ends when all below this are acknowledged */
    uint64_t recover;   /* one cut per window: none until all below this are acknowledged */
    uint32_t window;    /* fragments x TRIB_CONGESTION_ONE */
    uint32_t threshold; /* of slow start, likewise */
    uint32_t most;      /* fragments */
    uint32_t alpha;     /* DCTCP: smoothed share of marked ones, x TRIB_CONGESTION_ONE */
    uint32_t acked;     /* in this round */
    uint32_t marked;    /* of them */
    uint32_t policy;
    uint32_t is_reduced; /* by marks or a loss: it does not grow until all below recover are acknowledged */
};

void trib_congestion_window_init(struct trib_congestion_window *c, enum trib_congestion_policy policy, uint32_t most);

/* Sets the largest window, in fragments. */
void trib_congestion_limit(struct trib_congestion_window *c, uint32_t most);

/* Contents of one acknowledgement. */
struct trib_congestion_news {
    uint64_t lowest; /* lowest sequence that is not acknowledged after this */
    uint64_t next;   /* first sequence that was not used */
    uint32_t acked;
    uint32_t marked;
    bool is_full; /* all fragments that the window admits were under way: the window may grow */
};

/* True: the window was cut because of marks. */
bool trib_congestion_acked(struct trib_congestion_window *c, const struct trib_congestion_news *news);
/* Tells that a sequence was lost. True: the window was cut. */
bool trib_congestion_lost(struct trib_congestion_window *c, uint64_t sequence, uint64_t next);
/* Tells that all fragments under way are given up. */
void trib_congestion_timed_out(struct trib_congestion_window *c, uint64_t next);

static inline uint32_t trib_congestion_fragments(const struct trib_congestion_window *c)
{
    return c->window / TRIB_CONGESTION_ONE;
}

#define TRIB_TREE_FIRST 2U       /* fragments: the window to begin with */
#define TRIB_TREE_THRESHOLD 64U  /* fragments: of slow start, to begin with */
#define TRIB_TREE_LOST_LEAST 17U /* fragments: losses do not cut the window below */

/* PANAMA's rule, which is DCTCP's with results in the place of acknowledgements: results without marks let the window
 * grow, by one fragment each below the threshold, by one for a whole window above it; marks cut it by half of their
 * smoothed share (alpha, an epoch being as many results as the window held at the beginning), and the threshold is the
 * new window. Repaired, where the paper's text freezes, bursts, reacts late or not at all:
 *   - an epoch ends when it has *at least* so many results: the paper's == never holds again once the window has a
 *     fraction, or the cap has fallen below the count. A window that falls shortens the epoch as well, or the rest of
 *     the epoch would take many round trips;
 *   - the first mark cuts; what was in flight with it neither cuts again (RFC 8257) nor lets the window grow, as with
 *     flows. At the end of epochs, as the text has it, the marks of one round trip cut twice, and a flow of DCTCP
 *     beside it gets four times as much (docs/DECISIONS.md);
 *   - the window is at least one fragment, the threshold at least two;
 *   - the window grows only if it held fragments back, and others wait for the rank at times: else it would be large,
 *     and wrong, when the other limit, or the slower rank, goes away;
 *   - a loss halves it, as in TCP: marks may be few or none, and their share then tells nothing of drops. But not below
 *     TRIB_TREE_LOST_LEAST, and to one that is no larger a loss is nothing: what is lost in a window so small that no
 *     later results show it waits for a timer, which is a hundred round trips and not twice as long. Where packets are
 *     lost by chance, and not for want of room, a window that is halved each time is 1 for good. Marks have no such
 *     bound. */
struct trib_congestion_tree {
    uint32_t window;    /* fragments x TRIB_CONGESTION_ONE */
    uint32_t threshold; /* of slow start, likewise */
    uint32_t alpha;     /* smoothed share of marked ones, x TRIB_CONGESTION_ONE */
    uint32_t epoch;     /* results that end an epoch */
    uint32_t results;   /* results in this epoch */
    uint32_t marked;    /* of them */
    uint32_t most;      /* fragments */
    uint32_t recover;   /* results until a mark or a loss counts again */
};

/* Contents of a result. */
struct trib_congestion_sign {
    uint32_t in_flight; /* with this one */
    uint32_t allowed;   /* fragments: the least of this window and of other limits */
    bool is_marked;     /* the way of this rank was, as far as it can tell (trib_result_is_marked) */
    bool is_full;       /* this window held fragments back when any could last be sent, and others wait for them */
    bool is_aimd;       /* a mark halves the window (ATP), whatever the share of marked ones */
};

/* most: fragments that the window never exceeds, 1 to 65535. */
void trib_congestion_tree_init(struct trib_congestion_tree *c, uint32_t most);
void trib_congestion_tree_result(struct trib_congestion_tree *c, const struct trib_congestion_sign *sign);
/* Tells that a fragment or its result was lost. in_flight: fragments in flight, with this one. */
void trib_congestion_tree_lost(struct trib_congestion_tree *c, uint32_t in_flight);
/* Sets the room of the tree's switches, at least 1 fragment. The window falls to the room at once, and grows by its own
 * rule. */
void trib_congestion_tree_cap(struct trib_congestion_tree *c, uint32_t fragments);
/* Tells that nothing was sent for a long time: the network's capacity is unknown. */
void trib_congestion_tree_rested(struct trib_congestion_tree *c);

static inline uint32_t trib_congestion_tree_fragments(const struct trib_congestion_tree *c)
{
    return c->window / TRIB_CONGESTION_ONE;
}

/* True if results are rarely marked: alpha is below 1/32, as after 54 epochs without a mark. */
static inline bool trib_congestion_tree_is_clear(const struct trib_congestion_tree *c)
{
    return c->alpha < TRIB_CONGESTION_ONE / 32;
}

#endif
