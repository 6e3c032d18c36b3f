/* SPDX-License-Identifier: Apache-2.0 */
/* switch_combined.c: parts that come through combiners (combiner.h): a packet may hold the sum of any ranks behind the
 * combiner, and lists the ranks. The switch alone makes sums right: a sum is added only if all parts are new
 * (core/slot.h), and the sender's address says which ranks may be listed (I7). Combiners hold parts back, so a gap in a
 * rank's stream is no sign of a loss: the switch asks for parts after a PROBE, when combiners have sent on those that
 * they have, or when a sum was dropped.
 * Read next: combiner.c. */
#include "protocol/switch_memory.h"

/* A sum was dropped, since some of its parts are here: asks each child that lacks. An answer passes all combiners,
 * alone in a packet. */
void trib__switch_ask_apart(struct switch_node *n, uint64_t sequence, uint64_t lack, uint64_t now_ns)
{
    struct slot_repeats *r = trib__switch_repeats(n, sequence, now_ns);

    for (; lack != 0; lack &= lack - 1) {
        uint32_t child = trib_lowest(lack);
        if (switch_first_time(&r->asks, child)) {
            (void)trib__switch_queue(n, TRIB_ASK, child, sequence, 0);
        }
    }
}
