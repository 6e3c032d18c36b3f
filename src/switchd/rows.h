/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: the rows in which a shard combines parts on their way to servers (protocol/combining.h): one pool for all
 * communicators. Communicators with pieces (a plan has cut the model) have own rows, at the pool's end. The pool is
 * made for the first communicator that needs it. It is made anew, empty, for one with longer payloads, or with shorter
 * ones if that is alone; nobody but throughput notices. All calls are under the shard's lock.
 * Read next: rows.c. */
#ifndef TRIB_SWITCHD_ROWS_H
#define TRIB_SWITCHD_ROWS_H

#include "protocol/combiner.h"
#include "switchd/members.h"

/* Nodes of combiners on one shard at a time: one for a communicator, or for 64 of its members. */
#define TRIB_ROWS_MEMBERS 1024

struct trib_rows {
    uint64_t limit; /* bytes; too few for one row: every part passes */
    bool is_static; /* each communicator has as many rows; else the first part has the row, or the priority decides */
    void *pool;     /* NULL: nobody needed one yet */
    size_t size;
    uint32_t payload, rows;
    uint32_t shared; /* of them, the first ones: for communicators without pieces */
    bool is_short;   /* combiners were dealt too few rows the last time; the log says so when this begins */
    struct trib_combiner_counters counters; /* of pools before this one */
};

/* False: the machine has no memory for rows of this limit. */
bool trib_rows_can_have(uint64_t limit);
/* A member of these, a combiner, has its parts combined here from now on. False: no memory, or too many. */
bool trib_rows_enter(struct trib_rows *rows, const struct trib_members *members, struct trib_member *member);
/* A member that is no combiner, or not in: nothing happens. */
void trib_rows_leave(struct trib_member *member);
/* This member, a combiner, has left the members: the others have its rows, if it had some for itself. */
void trib_rows_divide(struct trib_rows *rows, const struct trib_members *members, const struct trib_member *left);
/* The node of the next packet; NULL: no packet waits. */
struct trib_member_node *trib_rows_next(const struct trib_rows *rows);
void trib_rows_count(const struct trib_rows *rows, struct trib_plane_rows *sum);
void trib_rows_close(struct trib_rows *rows);

#endif
