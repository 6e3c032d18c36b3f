/* SPDX-License-Identifier: Apache-2.0 */
/* atp_literal.h: the scheme `atp-literal`: ATP's published rules (Lao et al., NSDI'21, and the released code), to show
 * their defects. No job may run it.
 *
 * The rules. A switch has rows, found by a hash of (job, fragment of the tensor), 16 bits each, and owned by that
 * pair. A row has a bitmap and a counter of parts; the counter says when the row is complete. A complete row stays
 * until the server's answer passes the switch. A part of another owner passes to the server (a collision). A part that
 * is sent again takes the row's sum along to the server, and the row is free. The server has one tensor. It overwrites
 * with a whole sum, adds a partial sum if all its parts are new, else drops it, and answers every packet of a complete
 * fragment. So:
 *   - a late copy of one tensor's part takes the row of the next tensor's fragment, or is added at the server;
 *   - a late copy behind the last answer holds its row for ever;
 *   - a partial sum with one part that the server has is dropped with all its parts, until these are sent again;
 *   - the server changes the byte order of its sum in place for each answer: every second one has wrong values, so one
 *     lost answer is enough;
 *   - when other workers have begun the next tensor, a lost answer is never given again, and all wait for ever;
 *   - a row saturates, and the server looks at the last value alone: a part of the other sign hides it.
 * Workers notice a wrong set of parts by the lane. Values with a wrong byte order, or that saturated, have a right
 * lane.
 *
 * What is not the paper's: the memory of a row is one payload of any length. A worker's timer is 1 ms, and of each
 * fragment. Where floats are asked for, integers come again, and the server adds them as floats. One level of switches,
 * as in the code. No second hash after a collision, no exit after 20 s of silence, and no control plane that frees old
 * rows by a timestamp, which the paper has and the code has not.
 *
 * The published header, in fields of ours: `bitmap` the parts, `tree` how many make a sum, `window_cap` the fragment
 * within the tensor, from 1 on, `last_rank` the fragments of the tensor. The tensor's key, which only servers and
 * workers see, is the sequence of its first fragment.
 * Read next: atp_rows.c, atp_server.c, atp_literal_worker.c. */
#ifndef TRIB_ATP_LITERAL_H
#define TRIB_ATP_LITERAL_H

#include "protocol/combiner.h"
#include "schemes/schemes.h"

extern const struct trib_scheme trib_atp_literal;
extern const struct trib_worker_verbs trib_atp_literal_worker_verbs;
/* The server of one job. Tensors of up to TRIB_ATP_TENSOR times the session's slots. */
extern const struct trib_switch_verbs trib_atp_literal_server_verbs;

#define TRIB_ATP_TENSOR 16U

/* ---- the switch: one pool of rows for all jobs; plain data in the caller's memory ---- */

struct trib_atp_rows_config {
    const struct trib_value_kernels *kernels;
    uint32_t rows;    /* at least 1 */
    uint32_t payload; /* bytes, a multiple of 64 */
};

struct trib_atp_rows_counters {
    uint64_t combined;   /* parts added to a row */
    uint64_t complete;   /* sums of all parts */
    uint64_t collisions; /* parts that passed: another owner had the row, or the pair is 0 */
    uint64_t flushed;    /* sums that left with a part that was sent again */
    uint64_t duplicates; /* parts already in the row */
    uint64_t freed;      /* rows, by an answer */
};

size_t trib_atp_rows_size(const struct trib_atp_rows_config *config);
void trib_atp_rows_init(void *rows, const struct trib_atp_rows_config *config);
/* A packet from a worker; on TRIB_COMBINED_PASS it goes to the server, as changed. A row's payload stays until the
 * next packet. */
enum trib_combined trib_atp_rows_up(void *rows, struct trib_packet *packet);
/* An answer of a server passes. */
void trib_atp_rows_down(void *rows, const struct trib_packet *packet);
uint32_t trib_atp_rows_held(const void *rows);
const struct trib_atp_rows_counters *trib_atp_rows_counters(const void *rows);

/* ---- the header ---- */

static inline uint64_t trib_atp_tensor_key(const struct trib_packet *packet)
{
    return packet->sequence - packet->window_cap + 1;
}

/* Ours: values of 32 bits alone are added. */
static inline bool trib_atp_can_add(const struct trib_packet *packet)
{
    return packet->payload_len % sizeof(int32_t) == 0 &&
           (packet->payload_len == 0 || packet->type == TRIB_INT32 || packet->type == TRIB_FLOAT32);
}

/* row += part, with the largest and the least integer as bounds. */
void trib_atp_add_saturating(int32_t *row, const void *part, size_t len);

#endif
