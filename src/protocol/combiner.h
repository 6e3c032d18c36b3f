/* SPDX-License-Identifier: Apache-2.0 */
/* combiner.h: a combiner adds parts on the way to a root, as far as memory allows (ATP's switch: Lao et al., NSDI'21).
 * A combiner is a cache: the root's sum is right whatever a combiner adds, forgets or never sees (switch_combined.c),
 * by these rules (docs/DECISIONS.md, "Combiners"):
 *   - A row holds parts of one exact key: communicator, generation, boot, sequence, attempt, digest, and use for the
 *     result. The hash only says where to look.
 *   - A row has the list of its ranks. A part is added once, and the list travels with the sum.
 *   - A part that was asked for (TRIB_FLAG_RESEND) passes, alone in its packet.
 *   - Only the control plane says which ranks are behind a sender, and behind the combiner.
 *   - A row may leave or be lost at any moment.
 * One pool of rows serves all communicators of a switch. Each fragment has four places in the pool, and a hash
 * names the first. If other fragments have all four, the part passes (a collision). If a plan has cut the model of
 * a communicator into pieces, the communicator has rows of its own (pieces.h), for the pieces that are added here.
 * A row leaves, and is free, when all ranks behind the combiner are in or have sent later parts, when a PROBE for
 * the fragment passes, or when a part of a higher priority takes the place.
 *
 * A member is a communicator, and has a priority: that of its grant at first. A part that passes halves the lowest
 * priority of other members that have its places; if all places are the member's, the member's own. Each sum of all
 * ranks adds 1, up to the grant's. A job with a straggler holds rows long, and so keeps few of them. Of members with
 * priority 0 the first come has the row, as in ATP. Between members of equal priority above 0 the priority in a part
 * decides (`window_cap`): ranks of a job may put the operations of an iteration in order, as ESA does. A row has the
 * least priority of its parts.
 *
 * Use: for each packet that comes up, trib_combiner_up; then all packets of trib_combiner_next go to the root, in
 * order; then, on TRIB_COMBINED_PASS, the packet itself, as changed. Drain at least once in 64 packets, and
 * trib_combiner_release when the sums have been sent. For each packet
 * from the root, trib_combiner_down, and the packet goes to all ranks behind the combiner. Packets for one rank need
 * not come by. A combiner is plain data; its only pointer is to the table of kernels. One thread at a time. There is no
 * clock: a row that never becomes complete leaves at a PROBE, and is free for others once M is past, or the least mark
 * that the ranks behind have told.
 * Read next: combiner_grant.h, pieces.h, combiner.c, switch_combined.c. */
#ifndef TRIB_PROTOCOL_COMBINER_H
#define TRIB_PROTOCOL_COMBINER_H

#include "protocol/combiner_grant.h"

/* The fate of a packet that came up. */
enum trib_combined {
    TRIB_COMBINED_TAKEN = 0, /* added to a row */
    TRIB_COMBINED_PASS,      /* goes on as changed: `node` names the rank, or `bitmap` the ranks */
    TRIB_COMBINED_DROPPED
};

size_t trib_combiner_size(const struct trib_combiner_config *config);
void trib_combiner_init(void *combiner, const struct trib_combiner_config *config);
/* From now on the member is the grant's communicator, with nothing in rows. Also for a new generation. */
void trib_combiner_admit(void *combiner, uint32_t member, const struct trib_combiner_grant *grant);
/* The communicator has ended: all rows are free. */
void trib_combiner_dismiss(void *combiner, uint32_t member);
/* M of the member's generation came by the session. */
void trib_combiner_learn_mark(void *combiner, uint32_t member, uint64_t mark);
/* A packet of the member. sender: the ranks behind the packet's sender. */
enum trib_combined trib_combiner_up(void *combiner, uint32_t member, uint64_t sender, struct trib_packet *packet);
void trib_combiner_down(void *combiner, uint32_t member, const struct trib_packet *packet);
/* The ranks behind that have sent no part of the sequence, nor of a later one. */
uint64_t trib_combiner_missing(const void *combiner, uint32_t member, uint64_t sequence);
/* The next sum that leaves for its root; false: there is none. The payload stays until trib_combiner_release. */
bool trib_combiner_next(void *combiner, struct trib_packet *packet, uint32_t *member);
/* All sums handed out have been sent: their memory is free. */
void trib_combiner_release(void *combiner);
/* Rows that are held now, of one member or of all (TRIB_COMBINER_ALL). Looks at every row. */
#define TRIB_COMBINER_ALL UINT32_MAX
uint32_t trib_combiner_rows_held(const void *combiner, uint32_t member);
const struct trib_combiner_counters *trib_combiner_counters(const void *combiner);

#endif
