/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal.h: Rina (Chen et al., ICNP'24) with the paper's agents, in the simulator alone.
 *
 * As published (sections IV-A to IV-C): the agent of a rack is its rank of lowest number. The agent receives the sum of
 * the racks before, adds its own gradient, and sends both to its switch. The switch adds the rack's other ranks, and
 * sends the sum (AGG) to the agent of the next rack.
 * A model has as many chunks as there are racks, and each chunk begins at another rack: `trees` of a job. So with G
 * racks and M bytes, the links of agents carry (1 + (G - 1)/G) M each way, and the links of other ranks carry M. A
 * chunk takes 2 G - 1 steps, each from an agent over its switch to the next agent.
 *
 * The control loop. A Tofino switch cannot start a packet, so the agent triggers each sum:
 *   - READY: a rank to its agent, in one host: the gradient is computed below this sequence.
 *   - TASK: an agent to its switch: add up to this sequence. Sent when the rank's part is ready, the sum of the racks
 *     before has arrived, and the window of the flow to the next agent has room.
 *   - PULL: the TASK, from the switch to all its ranks and the agent. Each sends the named parts, at full speed, and no
 *     others.
 *   - ACK: the next agent, for each AGG, over that switch to the agent before.
 * The window of a flow begins at full speed. An AGG with a mark, or a lost AGG that was sent again, halves the window.
 * An ACK without either adds 1/window, until full speed. The four messages are headers, told apart by the packet's
 * field `tree`.
 *
 * Differences from the paper:
 *   - Results return along the chain, instead of on around the ring: as many bytes and as many steps. No window holds
 *     results back, while the paper's AllGather begins with a window of zero. Results are the ACKs of the last agent.
 *   - Full speed is the window of a rank; the paper's full speed is a rate of its switches (`[switches] rate`). A rank
 *     has no more in flight between part and result, and no more than the switches have memory for.
 *   - A worker of the ring is a rack of one rank, with agent and switch in its host.
 *   - Lost packets are repaired by the rules of trees (docs/ARCHITECTURE.md), as the paper has no repair. A rank
 *     without a PULL says READY again, and TASK and PULL follow. A rank that receives an ASK for a part may send the
 *     part as if pulled.
 * So the sums are right. `rina` differs in the load of links, and in its windows (schemes/rina/rina.h).
 * Read next: rina_literal_worker.c, rina_literal_switch.c. */
#ifndef TRIB_PUBLISHED_RINA_LITERAL_H
#define TRIB_PUBLISHED_RINA_LITERAL_H

#include "schemes/schemes.h"

/* Messages of the control loop, in a packet's field `tree`; 0: a packet of the tree's protocol. */
enum trib_rina_message {
    TRIB_RINA_READY = 1, /* PROBE; sequence: one past the last submitted */
    TRIB_RINA_TASK,      /* PROBE; sequence: the last to be added */
    TRIB_RINA_PULL,      /* ASK; sequence: the last to be added */
    TRIB_RINA_ACK        /* FLOW_ACK; sequence: of the AGG; bitmap: enum trib_rina_sign */
};

#define TRIB_RINA_RANGE 16U /* fragments of a TASK in a stream, or half of a smaller window; the paper gives no size */

enum trib_rina_sign {
    TRIB_RINA_MARKED = 1, /* the AGG was marked by the network */
    TRIB_RINA_AGAIN = 2   /* the AGG was lost and sent again */
};

extern const struct trib_scheme trib_rina_literal;
extern const struct trib_worker_verbs trib_rina_literal_worker;
/* If a node's first child is a rank, the node is an agent. The second child, if any, is the switch of the rack before,
 * and the parent is the agent's own switch. If the first child is no rank, the node is a rack's switch, and that child
 * is the agent. */
extern const struct trib_switch_verbs trib_rina_literal_switch;

#endif
