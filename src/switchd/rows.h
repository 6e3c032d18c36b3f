/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: the rows in which a shard combines parts on their way to servers (protocol/combining.h). One pool serves all
 * communicators. Communicators with pieces (a plan has cut the model) have rows of their own, at the pool's end.
 * The pool is made for the first communicator that needs it. It is replaced by an empty pool for a communicator with
 * longer payloads, or for one with shorter payloads that is alone. A replacement costs only throughput. All calls are
 * under the shard's lock.
 * Read next: rows.c. */
#ifndef TRIB_SWITCHD_ROWS_H
#define TRIB_SWITCHD_ROWS_H

#include "protocol/combiner.h"
#include "switchd/members.h"

/* Most nodes of combiners on one shard at a time: one for a communicator, or one for 64 of its members. */
#define TRIB_ROWS_MEMBERS 1024

struct trib_rows {
    uint64_t limit; /* bytes; if too few for one row, every part passes */
    /* each communicator has the same number of rows; false: the first part gets the row, or the priority decides */
    bool is_static;
    void *pool; /* NULL: no communicator has needed one yet */
    size_t size;
    uint32_t payload, rows;
    uint32_t shared; /* first rows of the pool, for communicators without pieces */
    bool is_short;   /* combiners got too few rows at the last division; logged when this becomes true */
    struct trib_combiner_counters counters; /* of earlier pools */
};

/* False: the machine has no memory for rows of this limit. */
bool trib_rows_can_have(uint64_t limit);
/* Combines the parts of `member`, a combiner in `members`, from now on. ERR_MEMORY, or ERR_REFUSED: more nodes than
 * TRIB_ROWS_MEMBERS. */
enum trib_status trib_rows_enter(struct trib_rows *rows, const struct trib_members *members,
                                 struct trib_member *member);
/* Ends combining for a member. No effect if the member is no combiner or has not entered. */
void trib_rows_leave(struct trib_member *member);
/* Divides the rows of `left`, a combiner removed from the members, among the other members if `left` had rows of its
 * own. */
void trib_rows_divide(struct trib_rows *rows, const struct trib_members *members, const struct trib_member *left);
/* Node that has the next packet. NULL: no packet waits. */
struct trib_member_node *trib_rows_next(const struct trib_rows *rows);
/* Adds counters and rows to *sum. */
void trib_rows_count(const struct trib_rows *rows, struct trib_plane_rows *sum);
void trib_rows_close(struct trib_rows *rows);

#endif
