/* SPDX-License-Identifier: Apache-2.0 */
/* level0.h: a communicator with several ranks on one host: they are summed in its memory, and their leader alone is a
 * worker on the network, for the host. level0_plan.h has the steps of an operation; level0.c runs them.
 *
 * DESIGN NOTES
 * - A batch is one operation, or a group: operations that all ranks of a host know to be under way together. Batches
 *   run one after another, and so do the parts of a batch. All ranks of a host must run its steps in one order, which
 *   no timing may change: up to TRIB_LEVEL0_AHEAD parts go in before the oldest has come out, then each out is followed
 *   by one in: in0 in1 in2 out0 in3 out1 ... The network has all parts that are in and not out, so a host adds up and
 *   hands out while packets are under way.
 * - A leader begins an out when the network has ended that part; the others wait for it in the memory. So the host's
 *   memory finds death, mismatch and time limits, as it does without a network, and so do the sessions of all ranks.
 * - Marks: the worker node's are the host's. Before each out the leader tells its mark in the memory (trib_host_tell).
 *   Another rank's session says that mark, which is the true one or lower. The control plane takes a host's mark from
 *   its leader (switchd/tree.h).
 * - If this rank sees a failure first, a line that hangs up or another operation, the control plane gets HEARSAY_NS to
 *   tell all hosts one text.
 * Locked, except trib_level0_meet.
 * Read next: level0.c, local.c (a communicator that is all on one host). */
#ifndef TRIB_COMM_LEVEL0_H
#define TRIB_COMM_LEVEL0_H

#include "comm/level0_plan.h"

struct trib_comm;

#define TRIB_LEVEL0_AHEAD 4

enum trib_level0_step { TRIB_LEVEL0_NONE = 0, TRIB_LEVEL0_IN, TRIB_LEVEL0_OUT };

/* A part that is in, and not out. */
struct trib_level0_part {
    const struct trib_level0_plan *plan;
    uint64_t k;
    bool is_done; /* by the network */
    unsigned char *slot;
    size_t slot_size; /* bytes of slot */
};

struct trib_level0 {
    struct trib_level0_place place;
    struct trib_session_config session; /* for layouts: of all ranks */
    uint64_t number;                    /* of the next operation */
    /* the batch */
    struct trib_level0_plan *first, *last; /* that have not ended, in order */
    const struct trib_level0_plan *entering;
    uint64_t entering_k;
    uint64_t in_count, out_count; /* parts */
    enum trib_level0_step step;   /* that the host's memory is at */
    uint32_t in_step, out_step;   /* step of the part that goes in; step of the part that comes out */
    bool has_submitted;           /* the node has been given something: packets are to leave */
    struct trib_level0_part part[TRIB_LEVEL0_AHEAD];
    /* a failure that this rank saw, until the control plane says more */
    uint64_t hearsay_ns; /* NEVER: nothing */
    enum trib_status hearsay;
    char hearsay_text[TRIB_ERROR_TEXT_MAX];
    bool is_disputed;  /* a rank of the host runs another operation */
    uint32_t disputed; /* that rank */
};

/* A WELCOME has said which ranks lead a host; at a return a dispute is said again. False: out of memory, or, at a
 * return, it says something else than before. */
TRIB_MUST_USE bool trib_level0_begin(struct trib_comm *comm, const struct trib_message *welcome);
/* True if this rank has to meet other ranks of its host first. */
bool trib_level0_must_meet(const struct trib_comm *comm);
/* Meets them, with the lock released meanwhile. error as in comm.h. */
TRIB_MUST_USE enum trib_status trib_level0_meet(struct trib_comm *comm, char *error);
/* True if memory is held that an idle communicator gives back. */
bool trib_level0_holds_memory(const struct trib_comm *comm);

#endif
