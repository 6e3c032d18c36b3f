/* SPDX-License-Identifier: Apache-2.0 */
/* literal.h: the scheme `switchml-literal`: SwitchML's rule as it is published (Sapio et al., NSDI'21, algorithms 3 and
 * 4), to show what is wrong with it. No job may run it.
 *
 * The rule. A slot is two versions, taken in turn. A worker that misses a result sends its contribution again when a
 * timer ends. The switch sets the worker's bit in the packet's version and clears it in the other one; a counter says
 * when a version is complete, its old sum is then kept as a shadow copy, and a contribution that was seen gets that
 * copy back. Nothing says which fragment a version holds: a version bit must do. So on a network that does not keep
 * packets in order:
 *   - a copy that arrives when its worker has gone on to the other version sets a bit that the next fragment needs, and
 *     its old values stand in for that fragment's; it also clears a bit of the other version, where a second copy is then added;
 *   - after a restart of the switch bitmap and counter disagree, and a sum over some workers goes out as the sum of all.
 *
 * What is not the paper's: packets carry our header and lane, so that every worker sees that a sum is wrong. A worker
 * numbers its fragments in one stream, which a version can be computed from, and starts new ones in order.
 * Read next: literal_switch.c (the rule), literal_worker.c. */
#ifndef TRIB_LITERAL_H
#define TRIB_LITERAL_H

#include "schemes/schemes.h"

#define TRIB_LITERAL_RTO_NS UINT64_C(1000000) /* the paper's, at 10 Gbit/s; never doubled */

extern const struct trib_scheme trib_literal;
extern const struct trib_worker_verbs trib_literal_worker_verbs;
extern const struct trib_switch_verbs trib_literal_switch_verbs;

/* literal_worker.c, for the worker of atp-literal as well */
void trib__literal_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns);
bool trib__literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to);
enum trib_drop trib__literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                     uint64_t now_ns);
uint64_t trib__literal_next_timeout(const void *node);
void trib__literal_on_timeout(void *node, uint64_t now_ns);

#endif
