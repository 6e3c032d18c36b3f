/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal.h: Rina (Chen et al., ICNP'24) with the paper's agents, in the simulator alone.
 *
 * As published (sections IV-A to IV-C): the rank of lowest number of a rack, its agent, takes the sum of the racks
 * before, adds its own gradient, and sends both to its switch. The switch adds the rack's other ranks, and sends the
 * sum (AGG) to the agent of the next rack. A model has as many chunks as there are racks, and each begins at another
 * one: `trees` of a job. So with G racks and M bytes the links of agents carry (1 + (G - 1)/G) M each way, those of
 * other ranks M. A chunk takes 2 G - 1 steps, each from an agent over its switch to the next agent.
 *
 * The control loop. A Tofino switch can begin no packet, so the agent triggers each sum:
 *   READY  a rank to its agent, in one host: so much of the gradient is computed;
 *   TASK   an agent to its switch: add up to this sequence. Sent when the rank's part is ready, the sum of the racks
 *          before is here, and the window of the flow to the next agent has room;
 *   PULL   the TASK, from the switch to all its ranks and the agent. Each sends the named parts, at full speed, and no
 *          others;
 *   ACK    the next agent, for each AGG, over that switch to the agent before.
 * The window of a flow begins with full speed. An AGG with a mark, or one that was lost and came again, halves it; an
 * ACK without adds 1/window, until full speed. These four messages are headers, which TRIB_AT_TREE's field tells apart.
 *
 * Where it differs from the paper:
 *   - Results go back along the chain, in place of on around the ring: as many bytes, and as many steps. No window
 *     holds them back, where the paper's AllGather begins with one of zero. They are the ACKs of the last agent.
 *   - Full speed is the window of a rank, as the paper's is a rate of its switches (`[switches] rate`). A rank has no
 *     more under way between part and result, and no more than the switches have memory for.
 *   - A worker of the ring is a rack of one, with agent and switch in its host.
 *   - Lost packets are repaired by the rules of trees (docs/ARCHITECTURE.md), as the paper has none. Any rank that no
 *     PULL reaches says READY again, and TASK and PULL follow. A rank that is ASKed for a part may send it as if it
 *     were pulled.
 * So its sums are right. `rina` differs in what links carry, and in its windows (schemes/rina/rina.h).
 * Read next: rina_literal_worker.c, rina_literal_switch.c. */
#ifndef TRIB_PUBLISHED_RINA_LITERAL_H
#define TRIB_PUBLISHED_RINA_LITERAL_H

#include "schemes/schemes.h"

/* Of the control loop, in a packet's field `tree`; 0: a packet of the tree's protocol. */
enum trib_rina_message {
    TRIB_RINA_READY = 1, /* PROBE; sequence: behind the last submitted */
    TRIB_RINA_TASK,      /* PROBE; sequence: the last to be added */
    TRIB_RINA_PULL,      /* ASK; likewise */
    TRIB_RINA_ACK        /* FLOW_ACK; sequence: of the AGG; bitmap: enum trib_rina_sign */
};

#define TRIB_RINA_RANGE 16U /* fragments of a TASK in a stream, or half of a smaller window; the paper names no size */

enum trib_rina_sign {
    TRIB_RINA_MARKED = 1, /* the AGG was marked on its way */
    TRIB_RINA_AGAIN = 2   /* it was lost, and came again */
};

extern const struct trib_scheme trib_rina_literal;
extern const struct trib_worker_verbs trib_rina_literal_worker;
/* If a node's first child is a rank, the node is an agent: its second child, if there is one, is the switch of the rack
 * before, and its parent is its own switch. Else it is a rack's switch, and the first child is the agent. */
extern const struct trib_switch_verbs trib_rina_literal_switch;

#endif
