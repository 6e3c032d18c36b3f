/* SPDX-License-Identifier: Apache-2.0 */
/* accounts.h: a data plane that adds nothing up but keeps accounts: what the control plane opens, closes and says of it
 * must fit. It is one thread's. Used by fuzz_jobs.c, fuzz_leaf.c and fuzz_server.c. */
#ifndef TRIB_TESTS_FUZZ_ACCOUNTS_H
#define TRIB_TESTS_FUZZ_ACCOUNTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/server.h"

#define OPEN_MAX 8 /* communicators at once */

struct open_communicator {
    uint64_t marks[TRIB_SESSION_RANKS_MAX];
    uint32_t communicator; /* 0: free */
    uint32_t ranks;
    uint32_t roots;                      /* opened one by one: a bitmap of them */
    bool behind[TRIB_SESSION_RANKS_MAX]; /* this switch, in the tree of some root */
    bool has_parent;
};

struct accounts {
    struct open_communicator open[OPEN_MAX];
    uint64_t leap; /* M beyond the smallest mark, as packets raise it */
    bool refuses;  /* to open */
    bool answers;  /* the parent does, to path probes */
};

static inline void must(bool holds, const char *what)
{
    if (!holds) {
        printf("VIOLATED %s\n", what); /* libFuzzer drops standard error (cmake/tests.cmake) */
        (void)fflush(stdout);
        abort();
    }
}

static inline struct open_communicator *accounts_find(struct accounts *accounts, uint32_t communicator)
{
    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        if (accounts->open[i].communicator == communicator) {
            return &accounts->open[i];
        }
    }
    return NULL;
}

static inline struct open_communicator *must_be_open(void *plane, uint32_t communicator)
{
    struct open_communicator *open = accounts_find(plane, communicator);

    must(communicator != 0 && open != NULL, "plane: a communicator that is not open");
    return open;
}

/* Each root has a tree of its own: a rank may be behind this switch in one tree alone. */
static inline void accounts_note_ranks(struct open_communicator *open, const struct trib_opening *opening)
{
    bool seen[TRIB_SESSION_RANKS_MAX] = {false};

    for (uint32_t i = 0; i < opening->count; i++) {
        for (uint32_t k = 0; k < opening->branches[i].count; k++) {
            uint32_t rank = opening->branches[i].ranks[k];
            must(!seen[rank], "plane: a rank behind two branches");
            seen[rank] = true;
            open->behind[rank] = true;
        }
    }
}

static inline enum trib_status plane_open(void *plane, const struct trib_opening *opening)
{
    struct accounts *accounts = plane;
    uint32_t seen = 0;
    struct open_communicator *open = accounts_find(accounts, opening->session.communicator);
    uint32_t roots = 1U << opening->root;

    must(opening->boot != 0 && opening->count > 0 && opening->session.communicator != 0,
         "plane: an opening of nothing");
    must(open == NULL || (open->roots & roots) == 0, "plane: opened twice");
    must(opening->session.salt == 0, "plane: a switch learns the salt");
    for (uint32_t i = 0; i < opening->count; i++) {
        const struct trib_branch *branch = &opening->branches[i];
        must(branch->count > 0 && (branch->is_switch || branch->count == 1), "plane: a branch of nobody");
        must(i == 0 || branch->ranks[0] > opening->branches[i - 1].ranks[0], "plane: branches out of order");
        seen += branch->count;
    }
    must(opening->parent != NULL ? seen <= opening->ranks : seen == opening->session.ranks,
         "plane: ranks that are behind no branch, or two");
    open = open != NULL ? open : accounts_find(accounts, 0);
    if (accounts->refuses || open == NULL) {
        return TRIB_ERR_MEMORY;
    }
    if (open->communicator == 0) {
        memset(open, 0, sizeof *open);
    }
    must(open->communicator == 0 || open->has_parent == (opening->parent != NULL), "plane: a root and a switch below");
    open->roots |= roots;
    open->communicator = opening->session.communicator;
    open->ranks = opening->session.ranks;
    open->has_parent = opening->parent != NULL;
    accounts_note_ranks(open, opening);
    return TRIB_OK;
}

static inline void plane_close(void *plane, uint32_t communicator)
{
    must_be_open(plane, communicator)->communicator = 0;
}

static inline void plane_join(void *plane, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    struct open_communicator *open = must_be_open(plane, communicator);

    must(rank < open->ranks && mark <= TRIB_SEQUENCE_MAX, "plane: a rank or mark that cannot be");
    must(open->behind[rank], "plane: a rank that is not behind this switch");
    open->marks[rank] = mark > open->marks[rank] ? mark : open->marks[rank];
}

static inline void plane_learn_mark(void *plane, uint32_t communicator, uint64_t mark)
{
    (void)mark;
    must(must_be_open(plane, communicator)->has_parent, "plane: M from a parent that there is not");
}

static inline void plane_probe_parent(void *plane, uint32_t communicator)
{
    must(must_be_open(plane, communicator)->has_parent, "plane: a parent that there is not is asked");
}

static inline bool plane_parent_answered(void *plane, uint32_t communicator, struct trib_address *silent)
{
    (void)silent;
    plane_probe_parent(plane, communicator);
    return ((const struct accounts *)plane)->answers;
}

static inline uint64_t plane_communicator_mark(void *plane, uint32_t communicator)
{
    const struct open_communicator *open = must_be_open(plane, communicator);
    uint64_t mark = UINT64_MAX;

    for (uint32_t rank = 0; rank < open->ranks; rank++) {
        mark = open->marks[rank] < mark ? open->marks[rank] : mark;
    }
    return mark + ((const struct accounts *)plane)->leap;
}

static inline void plane_multicast(void *plane, uint32_t communicator, uint32_t group, uint16_t port)
{
    (void)group;
    (void)port;
    (void)must_be_open(plane, communicator);
}

static inline size_t plane_slot_bytes(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    return (size_t)opening->session.slots * opening->count * 1000;
}

static inline bool plane_report(void *plane, uint32_t communicator, struct trib_plane_report *report)
{
    (void)must_be_open(plane, communicator);
    memset(report, 0, sizeof *report);
    return true;
}

static inline uint32_t plane_missing(void *plane, uint32_t communicator, uint64_t sequence, uint16_t *ranks,
                                     uint32_t max)
{
    const struct open_communicator *open = must_be_open(plane, communicator);
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < open->ranks && count < max; rank++) {
        if ((sequence >> rank % 64 & 1) != 0) {
            ranks[count++] = (uint16_t)rank;
        }
    }
    return count;
}

static inline void plane_traffic(void *plane, struct trib_port_stats *sum)
{
    (void)plane;
    memset(sum, 0, sizeof *sum);
}

static inline uint32_t accounts_open(const struct accounts *accounts)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        count += accounts->open[i].communicator != 0;
    }
    return count;
}

static inline struct trib_data_plane accounts_plane(struct accounts *accounts)
{
    return (struct trib_data_plane){
        .plane = accounts,
        .open = plane_open,
        .close = plane_close,
        .join = plane_join,
        .learn_mark = plane_learn_mark,
        .probe_parent = plane_probe_parent,
        .parent_answered = plane_parent_answered,
        .communicator_mark = plane_communicator_mark,
        .multicast = plane_multicast,
        .probe_multicast = plane_multicast,
        .slot_bytes = plane_slot_bytes,
        .report = plane_report,
        .missing = plane_missing,
        .traffic = plane_traffic,
    };
}

#endif
