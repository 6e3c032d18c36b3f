/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h: the worker and the switch that schemes share. A scheme is a row of policy (schemes/schemes.h): a worker
 * and a switch of this folder, and the options of a job.
 *
 * The life of a fragment, in reading order:
 *   worker.c, worker_state.c       a worker: memory, submit, registration; marks and events
 *   worker_send.c                  packets that leave: offers, resends, probes, then new payload
 *   switch.c                       a switch: contributions become sums
 *   switch_result.c                a switch: whole results, freed slots
 *   switch_ask.c, switch_answer.c  a switch: gaps, questions, answers to probes
 *   switch_up.c, switch_parent.c   a child of a switch
 *   switch_missing.c               a switch: late children, for people
 *   worker_receive.c               packets from the switch: results, asks, held
 *   worker_deliver.c               a result goes into its tensor
 *   worker_lane.c                  lanes of parts and results, with and without a key
 *   worker_recover.c               lost packets: which rank probes when
 *   worker_pace.c, switch_pace.c   windows by the network's signs, and caps
 *   worker_quorum.c, worker_late.c, switch_quorum.c   sums that may lack ranks
 *   combiner.c, switch_combined.c  parts that are added on their way to the switch
 * All count in the window of core/window.h. */
#ifndef TRIB_PROTOCOL_H
#define TRIB_PROTOCOL_H

#include "core/node.h"

/* The window is fixed: the slots that were granted. */
extern const struct trib_worker_verbs trib_protocol_worker;
extern const struct trib_switch_verbs trib_protocol_switch;
/* The worker has a congestion window for each root; the switch tells a cap, and takes no more than its room. */
extern const struct trib_worker_verbs trib_protocol_paced_worker;
extern const struct trib_switch_verbs trib_protocol_paced_switch;
/* A paced worker as in ATP: a mark halves the window, and the marks of all ranks' ways count as own. */
extern const struct trib_worker_verbs trib_protocol_aimd_worker;

#endif
