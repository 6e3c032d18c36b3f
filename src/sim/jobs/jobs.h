/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: training jobs in the simulated network: workers on hosts compute, then sum their gradients with a scheme of
 * src/schemes. The nodes are the same code as in real switches and real ranks, driven as core/node.h says. This module
 * adds places, links and clocks.
 *
 * Data: a fragment carries SIM_JOB_PAYLOAD bytes of real numbers, which represent its larger payload on the links.
 * Nodes do all their work, on fewer elements. Every sum is checked twice: by its lane in every worker, and as numbers
 * at the end of every iteration. If sums may lack ranks (core/quorum.h), every worker also checks each sum that it
 * takes (numbers.c).
 *
 * Iterations: a worker computes, then sums. If gradients come in buckets, each bucket is summed as soon as the backward
 * pass has produced it. The next iteration begins when all sums have arrived. Several ranks of a host are first summed
 * in its memory, as in real jobs (level 0): the host's worker represents all of them.
 *
 * Trees: for a scheme with switches, the root is the lowest switch above all workers. Every adding switch between the
 * root and the workers is a node of the tree. Packets between nodes take the links between them; other switches forward
 * them. Schemes without switches send from host to host. A job may have several trees with different roots, chosen by
 * the load that earlier jobs put on the links (tree.c). A worker has an endpoint in each tree, and one node for all of
 * them. The endpoint in the first tree holds its timers and iterations; the others are only addresses. Servers, chains
 * and planned trees have other shapes (servers.c, chain.c, planned.h).
 *
 * Sessions (registration, marks of idle ranks) are delivered at once, without packets: they are not simulated.
 *
 * Read next: core/node.h, state.h, open.c, tree.c, chain.c, servers.c, shares.c, jobs.c, numbers.c. */
#ifndef TRIB_SIM_JOBS_H
#define TRIB_SIM_JOBS_H

#include "sim/jobs/state.h"

const char *sim_placement_name(enum sim_placement placement);
void sim_jobs_init(struct sim_jobs *j, struct sim_network *network, uint32_t first_timer);
void sim_jobs_deinit(struct sim_jobs *j);
/* Returns the number of timers from first_timer on: two per endpoint. */
uint32_t sim_jobs_timers(const struct sim_jobs *j);
void sim_jobs_arrived(struct sim_jobs *j, uint32_t packet);
/* Prefetch: the packet will arrive soon, and very soon. */
void sim_jobs_soon(const struct sim_jobs *j, uint32_t packet);
void sim_jobs_sooner(const struct sim_jobs *j, uint32_t packet);
/* True if the packet is at a switch that only forwards it, or has not yet crossed the link that represents adding. */
bool sim_jobs_passes(const struct sim_jobs *j, uint32_t packet);
/* Counts a packet that is the copy of a duplicated one. */
void sim_jobs_copied(struct sim_jobs *j, uint32_t packet);
void sim_jobs_dropped(struct sim_jobs *j, uint32_t packet);
void sim_jobs_timer(struct sim_jobs *j, uint32_t timer);
/* Samples slots, and sets the timer for the next sample. */
void sim_jobs_count_slots(struct sim_jobs *j);
struct sim_job_counters sim_jobs_counters(const struct sim_jobs *j, uint32_t job);
/* Checks sums, lanes and failures. Returns NULL, or the error. */
const char *sim_jobs_check(const struct sim_jobs *j);
/* Sends the packets of an endpoint. */
void sim__jobs_drain(struct sim_jobs *j, uint32_t endpoint);

#endif
