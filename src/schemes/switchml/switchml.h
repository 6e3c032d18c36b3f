/* SPDX-License-Identifier: Apache-2.0 */
/* switchml.h: the scheme of SwitchML (Sapio et al., NSDI'21) on Tributary's window: the communicator has a pool of
 * slots of its own on every root, a sequence's slot is its dense index mod the pool, and a fixed window clocks itself.
 *
 * What is the paper's: the pool, self-clocking, results to all, block floating point with exponents agreed ahead. What
 * is not: slots are owned by the exact sequence instead of one version bit, and payload is resent only when asked for
 * (docs/ARCHITECTURE.md, "The window"): the published rule gives wrong sums when an early resend is overtaken.
 *
 * The life of a fragment, in reading order:
 *   worker.c          a worker: memory, submit, registration, marks
 *   worker_send.c     what leaves: offers, resends, probes, then new payload
 *   switch.c          a switch: contributions become sums
 *   switch_answer.c   a switch: probes, gaps, answers
 *   switch_parent.c   a switch that is a child of a switch
 *   worker_receive.c  what comes back: results, asks, held
 *   worker_recover.c  lost packets: who probes when
 *   worker_pace.c, switch_pace.c  windows that follow the network, and caps: schemes/panama */
#ifndef TRIB_SWITCHML_H
#define TRIB_SWITCHML_H

#include "schemes/schemes.h"

extern const struct trib_scheme trib_switchml;
extern const struct trib_worker_verbs trib_switchml_worker_verbs;
extern const struct trib_switch_verbs trib_switchml_switch_verbs;

#endif
