/* SPDX-License-Identifier: Apache-2.0 */
/* atp_literal.h: the scheme `atp-literal`: ATP's published rules (Lao et al., NSDI'21, and the released code), to show
 * their defects. No job may run it.
 *
 * The rules:
 *   - A switch has rows, found by a hash of (job, fragment of the tensor), 16 bits each. The pair owns the row.
 *   - A row has a bitmap and a counter of parts. The counter says when the row is complete. A complete row stays until
 *     the server's answer passes the switch.
 *   - A part of another owner passes to the server (a collision).
 *   - A part that is sent again takes the row's sum along to the server, and frees the row.
 *   - The server has one tensor. A whole sum overwrites the fragment. A partial sum is added if all its parts are new,
 *     else dropped. Every packet of a complete fragment is answered.
 * The defects:
 *   - A late copy of one tensor's part takes the row of the next tensor's fragment, or is added at the server.
 *   - A late copy after the last answer holds its row for ever.
 *   - A partial sum with one part that the server has is dropped with all its parts, until the parts are sent again.
 *   - The server changes the byte order of its sum in place for each answer. Every second answer has wrong values, so
 *     one lost answer is enough.
 *   - When other workers have begun the next tensor, a lost answer is never repeated, and all wait for ever.
 *   - A row saturates, and the server looks only at the last value: a part of the other sign hides the saturation.
 * Workers notice a wrong set of parts by the lane. Values with a wrong byte order, and saturated values, have a right
 * lane.
 *
 * Differences from the paper:
 *   - The memory of a row is one payload of any length.
 *   - A worker's timer is 1 ms, for each fragment.
 *   - When floats are asked for, integers are sent again, and the server adds them as floats.
 *   - One level of switches, as in the code.
 *   - No second hash after a collision, no exit after 20 s of silence, and no control plane that frees old rows by a
 *     timestamp. The paper has the last one, the code does not.
 *
 * The published header in our fields: `bitmap` the parts, `tree` the number of parts in a sum, `window_cap` the
 * fragment within the tensor, from 1 on, `last_rank` the fragments of the tensor. The tensor's key, which only servers
 * and workers see, is the sequence of its first fragment.
 * Read next: atp_rows.c, atp_server.c, atp_literal_worker.c. */
#ifndef TRIB_ATP_LITERAL_H
#define TRIB_ATP_LITERAL_H

#include "protocol/combiner.h"
#include "schemes/schemes.h"

extern const struct trib_scheme trib_atp_literal;
extern const struct trib_worker_verbs trib_atp_literal_worker_verbs;
/* Server of one job, for tensors of at most TRIB_ATP_TENSOR times the session's slots. */
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
    uint64_t collisions; /* parts that passed, because another owner had the row or the pair is 0 */
    uint64_t flushed;    /* sums sent with a part that was sent again */
    uint64_t duplicates; /* parts already in the row */
    uint64_t freed;      /* rows freed by an answer */
};

size_t trib_atp_rows_size(const struct trib_atp_rows_config *config);
void trib_atp_rows_init(void *rows, const struct trib_atp_rows_config *config);
/* Processes a packet from a worker. On TRIB_COMBINED_PASS the packet, possibly changed, goes to the server. A row's
 * payload is valid until the next packet. */
enum trib_combined trib_atp_rows_up(void *rows, struct trib_packet *packet);
/* Processes an answer of a server on its way to the workers. */
void trib_atp_rows_down(void *rows, const struct trib_packet *packet);
uint32_t trib_atp_rows_held(const void *rows);
const struct trib_atp_rows_counters *trib_atp_rows_counters(const void *rows);

/* ---- the header ---- */

static inline uint64_t trib_atp_tensor_key(const struct trib_packet *packet)
{
    return packet->sequence - packet->window_cap + 1;
}

/* Our restriction: only values of 32 bits are added. */
static inline bool trib_atp_can_add(const struct trib_packet *packet)
{
    return packet->payload_len % sizeof(int32_t) == 0 &&
           (packet->payload_len == 0 || packet->type == TRIB_INT32 || packet->type == TRIB_FLOAT32);
}

#endif
