/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: a job's trees, and endpoints in them. Read next: tree.c. */
#ifndef TRIB_SIM_JOBS_TREE_H
#define TRIB_SIM_JOBS_TREE_H

#include "sim/jobs/state.h"

/* Chooses the job's trees and places their switches after its workers. False: error says why the job is impossible. */
bool sim__jobs_trees(struct sim_jobs *j, struct sim_job *job, char *error);
/* Removes the load of the job's trees from the links. */
void sim__jobs_unload(struct sim_jobs *j, const struct sim_job *job);
/* Return the next link in the tree from a place, up to the parent or down to the endpoint. */
uint32_t sim__jobs_next_up(const struct sim_network *n, uint32_t place, const struct sim_way *way);
uint32_t sim__jobs_next_down(const struct sim_network *n, uint32_t place, const struct sim_endpoint *to);
uint32_t sim__jobs_endpoint(struct sim_jobs *j, const struct sim_endpoint *endpoint);
/* Adds an endpoint that is no worker; makes an endpoint the child of another; adds the workers' endpoints in all trees
 * except the first. */
uint32_t sim__jobs_node(struct sim_jobs *j, const struct sim_job *job, uint32_t tree, uint32_t place);
void sim__jobs_adopt(struct sim_jobs *j, uint32_t child, uint32_t parent);
/* Makes an endpoint the child of a switch's node, with a number there. False: the node has no room for another
 * child. */
bool sim__jobs_join(struct sim_jobs *j, uint32_t child, uint32_t parent, char *error);
void sim__jobs_workers_in_trees(struct sim_jobs *j, const struct sim_job *job);

#endif
