/* SPDX-License-Identifier: Apache-2.0 */
/* atp.h: ATP (Lao et al., NSDI'21), as far as its available slides go. Experiments: rows of a switch and their fields;
 * two jobs that share a pool; a large job's GPUs, racks and switches; a job against the baselines; three jobs with a
 * shared or divided pool. Later work: ESA's priorities and A2TP's stragglers. Also defects of the published rules.
 *
 * Read next: atp.c (memory), atp_racks.c, atp_single.c, atp_jobs.c, atp_esa.c, atp_straggler.c (simulated),
 * atp_literal.c. */
#ifndef TRIB_REPRODUCE_ATP_H
#define TRIB_REPRODUCE_ATP_H

#include "reproduce/reproduce.h"

bool atp_rows(struct reproduce_run *run);
bool atp_fields(struct reproduce_run *run);
bool atp_pool(struct reproduce_run *run);
bool atp_bert(struct reproduce_run *run);
bool atp_racks(struct reproduce_run *run);
bool atp_single(struct reproduce_run *run);
bool atp_jobs(struct reproduce_run *run);
bool atp_esa(struct reproduce_run *run);
bool atp_literal(struct reproduce_run *run);
bool atp_straggler(struct reproduce_run *run);

#endif
