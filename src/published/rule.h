/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h: common parts of switches with published rules (literal/, panama_literal/). The rules know no mark, no timer
 * and no event. Drivers ask for M all the same, so marks are kept only for that, apart from the rule. Read next:
 * literal/literal_switch.c. */
#ifndef TRIB_PUBLISHED_RULE_H
#define TRIB_PUBLISHED_RULE_H

#include "core/assert.h"
#include "core/counters.h"
#include "core/node.h"
#include "core/packet.h"

struct trib_published_marks {
    uint64_t all, joined;       /* children */
    uint64_t communicator_mark; /* M: the minimum once all have joined */
    uint64_t marks[TRIB_CHILDREN_MAX];
};

/* Initialises zeroed memory. */
static inline void trib_published_init(struct trib_published_marks *m, const struct trib_switch_config *config)
{
    m->all = trib_all_children(config->children);
    m->communicator_mark = config->session.first;
}

static inline void trib_published_take_mark(struct trib_published_marks *m, uint32_t child, uint64_t mark)
{
    uint64_t lowest = UINT64_MAX;

    if (mark > m->marks[child] && mark <= TRIB_SEQUENCE_MAX) {
        m->marks[child] = mark;
    }
    for (uint64_t rest = m->all; rest != 0; rest &= rest - 1) {
        uint64_t each = m->marks[__builtin_ctzll(rest)];
        lowest = each < lowest ? each : lowest;
    }
    if (m->joined == m->all && lowest > m->communicator_mark) {
        m->communicator_mark = lowest;
    }
}

static inline void trib_published_join(struct trib_published_marks *m, struct trib_counters *counters, uint32_t child,
                                       uint64_t mark)
{
    TRIB_ASSERT((m->all >> child & 1) != 0);
    counters->registrations += (m->joined >> child & 1) == 0;
    m->joined |= UINT64_C(1) << child;
    trib_published_take_mark(m, child, mark);
}

/* ---- verbs of a rule without events, timeouts and idle memory ---- */

static inline bool trib_published_next_event(void *node, struct trib_event *event)
{
    (void)node;
    (void)event;
    return false;
}

static inline uint64_t trib_published_next_timeout(const void *node)
{
    (void)node;
    return TRIB_NEVER;
}

static inline void trib_published_on_timeout(void *node, uint64_t now_ns)
{
    (void)node;
    (void)now_ns;
}

static inline void trib_published_learn_mark(void *node, uint64_t mark)
{
    (void)node;
    (void)mark;
}

static inline uint32_t trib_published_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    (void)node;
    (void)ranges;
    return 0;
}

#endif
