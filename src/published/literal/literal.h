/* SPDX-License-Identifier: Apache-2.0 */
/* literal.h: the scheme `switchml-literal`: SwitchML's published rule (Sapio et al., NSDI'21, algorithms 3 and 4), to
 * show its defects. No job may run it.
 *
 * The rule. A slot has two versions, used in turn. A worker without a result sends its contribution again when a timer
 * ends. The switch sets the worker's bit in the packet's version and clears the bit in the other version. A counter
 * says when a version is complete. Its sum is then kept as a shadow copy, and a repeated contribution is answered with
 * that copy. Only a version bit tells the fragments of a slot apart.
 * So on a network that reorders packets:
 *   - A copy arrives after its worker has gone on to the other version. The copy sets a bit that the next fragment
 *     needs, and its old values replace that fragment's. It also clears a bit of the other version, where a second copy
 *     is then added.
 *   - After a restart of the switch, bitmap and counter disagree, and a sum over some workers is sent as the sum of
 *     all.
 *
 * Differences from the paper: packets carry our header and lane, so that every worker sees a wrong sum. A worker
 * numbers its fragments in one stream, from which a version can be computed, and starts new fragments in order.
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
