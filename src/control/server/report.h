/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: the public facts of a switch, as Prometheus text (metrics.c) and as JSON (http.c). Read
 * only.
 * Read next: http.h. */
#ifndef TRIB_CONTROL_REPORT_H
#define TRIB_CONTROL_REPORT_H

#include "control/jobs/state.h"
#include "control/server/connections.h"

struct trib_report {
    const struct trib_server_config *config;
    const struct trib_jobs *jobs;
    const struct trib_connections *connections;
    uint64_t started_ns;
};

/* Counters of one job's slots; all zero if the data plane does not know the job. */
struct trib_job_report {
    struct trib_plane_report plane;
    uint64_t communicator_mark;
    double stall_s; /* longest present wait of a rank, seconds; 0: none waits */
};

void trib_job_report(const struct trib_report *report, const struct trib_job *job, uint64_t now_ns,
                     struct trib_job_report *out);
/* Packets of all sockets, and packets dropped without a job. dropped: TRIB_DROP_COUNT entries. */
void trib_report_traffic(const struct trib_report *report, struct trib_port_stats *sum, uint64_t *dropped);
/* "joining", "starting", "running". */
const char *trib_job_state_name(enum trib_job_state state);
/* The whole of /metrics, Prometheus text format 0.0.4; the caller frees it. NULL: out of memory. */
char *trib_metrics_text(const struct trib_report *report, uint64_t now_ns, size_t *len);

#endif
