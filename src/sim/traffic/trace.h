/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: flows from a file in the form of HPCC's flow.txt: the number of flows, then a line for each: source,
 * destination, priority group, port, bytes, start in seconds. Priority group and port are read and not used. Lines
 * stand in the order of their starts.
 * Read next: scenario.c. */
#ifndef TRIB_SIM_TRACE_H
#define TRIB_SIM_TRACE_H

#include "sim/traffic/traffic.h"

/* Fills in trace and trace_count, to be freed. False: error says what is wrong in "FILE:LINE: cause". */
bool sim_trace_read(const char *path, uint32_t hosts, struct sim_traffic *traffic, char *error);

#endif
