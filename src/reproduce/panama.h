/* SPDX-License-Identifier: Apache-2.0 */
/* panama.h: PANAMA (Gebara, Costa, Ghobadi: In-network aggregation for shared machine learning clusters, MLSys'21):
 * its formulas, and the experiments that compute its figures. Read next: panama_shares.c, panama_sizes.c,
 * panama_accelerator.c, panama_cluster.h, panama_trees.c, panama_fair.c, panama_partial.c. */
#ifndef TRIB_REPRODUCE_PANAMA_H
#define TRIB_REPRODUCE_PANAMA_H

#include "reproduce/reproduce.h"

/* ---- section 2: possible gain ---- */

/* Returns the bytes that workers send and receive in this many iterations of a model: gradients and sums. */
double panama_traffic_bytes(double workers, double model_bytes, double iterations);
/* Returns the share of an iteration that gradients take on a link, both directions in sequence, beside computing. */
double panama_share(double model_bytes, double link_bps, double compute_s);
/* Returns the speed-up of iterations if half of the communication time disappears. */
double panama_speedup(double share);
/* Returns the bytes sent by a worker of a ring per byte sent to an adding switch. */
double panama_ring_ratio(double workers);

/* Return the parameters of a layer with biases: dense units; a convolution with square kernels. */
double panama_dense_parameters(double inputs, double outputs);
double panama_convolution_parameters(double inputs, double outputs, double side);

/* ---- appendix A: the accelerator; bits, Hz, seconds ---- */

double panama_rate(double bus_bits, double clock_hz); /* equation (1) */
double panama_adders(double bus_bits, double ports);  /* equation (2) */
double panama_luts(double bus_bits, double ports);    /* by Table 2's costs */
double panama_flip_flops(double bus_bits, double ports);
/* Equation (3): from the first bits in to the last bits out. */
double panama_latency(double packet_bytes, double bus_bits, double clock_hz, double adder_s, double ports);
/* Returns the narrowest bus of a power of two that carries the rate at the clock. */
double panama_bus_for(double rate_bps, double clock_hz);

bool panama_fig1(struct reproduce_run *run);
bool panama_fig2(struct reproduce_run *run);
bool panama_sum(struct reproduce_run *run);
bool panama_eq(struct reproduce_run *run);
bool panama_table1(struct reproduce_run *run);
bool panama_table2(struct reproduce_run *run);
bool panama_fig8(struct reproduce_run *run);
extern const struct reproduce_sweep panama_fig8_sweep;
bool panama_fig9(struct reproduce_run *run);
bool panama_fig10(struct reproduce_run *run);
bool panama_partial(struct reproduce_run *run);
bool panama_fig11(struct reproduce_run *run);
bool panama_fig12(struct reproduce_run *run);
bool panama_fig13(struct reproduce_run *run);
bool panama_fig14(struct reproduce_run *run);

#endif
