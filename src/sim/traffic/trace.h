/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: flows from a file in the format of HPCC's flow.txt. The first line is the number of flows; each other line
 * is a flow: source, destination, priority group, port, bytes, start in seconds. Priority group and port are ignored.
 * Lines must be in the order of their starts.
 *
 * Read next: scenario.c. */
#ifndef TRIB_SIM_TRACE_H
#define TRIB_SIM_TRACE_H

#include "sim/traffic/traffic.h"

/* Fills in trace and trace_count; the caller must free trace. False: error says "FILE:LINE: cause". */
bool sim_trace_read(const char *path, uint32_t hosts, struct sim_traffic *traffic, char *error);

#endif
