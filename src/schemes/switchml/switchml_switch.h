/* SPDX-License-Identifier: Apache-2.0 */
/* switchml_switch.h: what the two files of the switch node share: its memory. Private to them.
 *
 * One node is one communicator on one shard. Its slots are its own, claimed when it opens and gone when it closes, so nothing of
 * another communicator can be in them. */
#ifndef TRIB_SWITCHML_SWITCH_H
#define TRIB_SWITCHML_SWITCH_H

#include "core/node.h"
#include "core/slot.h"
#include "core/window.h"

#define TRIB_SWITCHML_REPEAT_NS UINT64_C(500000) /* one answer of a kind per slot and child in this time (I4) */
#define TRIB_SWITCHML_ANSWERS 1024               /* answers queued at most, between two drains */

/* An answer to one child. */
struct answer {
    uint64_t sequence;
    uint64_t bitmap;
    uint16_t child;
    uint8_t kind;
    uint8_t unused[5];
};

/* Behind the hashed state: when a slot last answered whom. */
struct slot_repeats {
    uint64_t sequence;
    uint64_t since_ns;
    uint64_t results; /* children that got a repeat since then */
    uint64_t asks;
    uint64_t offerers; /* children that were asked for an OFFER, in this round of them */
    uint64_t offering; /* 1: one of them since then, whoever probed */
};

struct switch_node {
    struct trib_switch_config config;
    struct trib_window window;
    uint64_t required; /* all children */
    uint64_t joined;
    uint64_t communicator_mark; /* M: the minimum over the marks, once all have joined */
    uint64_t mark_dense;        /* sequences of this root below M */
    uint64_t marks[TRIB_CHILDREN_MAX];
    uint64_t expected[TRIB_CHILDREN_MAX]; /* next dense index of each child's stream */
    uint64_t owed;                        /* children that wait for M to move (they got HELD beyond the window) */
    uint64_t owed_sequence[TRIB_CHILDREN_MAX];
    uint32_t held;                    /* slots that are not empty */
    uint32_t ready_head, ready_count; /* completed slots to send */
    uint32_t answers_head, answers_count;
    uint32_t unwanted_due;      /* the header-only copy of the result just handed out: slot + 1, 0 none */
    struct trib_event mismatch; /* kind NONE: none to report */
    size_t row_size, slots_at, rows_at, ready_at, answers_at, aside_at, repeats_at;
};

struct switch_aside {
    struct trib_counters counters;
    uint64_t boot_ns[TRIB_CHILDREN_MAX]; /* when a child last got a BOOT hint */
};

static inline void *switch_at(const struct switch_node *n, size_t offset)
{
    return (char *)(uintptr_t)n + offset;
}

static inline struct trib_slot *switch_slot(const struct switch_node *n, uint32_t index)
{
    return (struct trib_slot *)switch_at(n, n->slots_at) + index;
}

static inline void *switch_row(const struct switch_node *n, uint32_t index, uint32_t row)
{
    size_t rows = trib_slot_rows(n->config.children);
    return (char *)switch_at(n, n->rows_at) + (index * rows + row) * n->row_size;
}

static inline struct switch_aside *switch_aside(const struct switch_node *n)
{
    return switch_at(n, n->aside_at);
}

static inline struct slot_repeats *switch_repeats(const struct switch_node *n, uint32_t index)
{
    return (struct slot_repeats *)switch_at(n, n->repeats_at) + index;
}

/* switchml_switch.c */
void trib__switch_complete(struct switch_node *n, uint32_t index);

/* switchml_switch_answer.c */
enum trib_drop trib__switch_probe(struct switch_node *n, uint32_t child, const struct trib_packet *packet,
                                  uint64_t now_ns);
enum trib_drop trib__switch_offer(struct switch_node *n, uint32_t child, const struct trib_packet *packet);
void trib__switch_find_gap(struct switch_node *n, uint32_t child, uint64_t dense);
void trib__switch_pay_owed(struct switch_node *n);
void trib__switch_boot_hint(struct switch_node *n, uint32_t child, uint64_t now_ns);
bool trib__switch_next_answer(struct switch_node *n, struct trib_packet *packet, struct trib_place *to);
void trib__switch_build_result(const struct switch_node *n, uint32_t index, bool payload, struct trib_packet *packet);

#endif
