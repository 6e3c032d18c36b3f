/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: the report of a training process, one JSON object a line: "start", one "epoch" each, "end".
 * Read next: digits.c (the writer), demo_read.c (the reader). */
#ifndef DIGITS_REPORT_H
#define DIGITS_REPORT_H

#include <stdio.h>

#include "train.h"

/* The counts of trib_comm_stats. */
#define REPORT_STATS_MAP(X) \
    X(bytes_sent)           \
    X(bytes_received)       \
    X(packets_sent)         \
    X(packets_received)     \
    X(send_calls)           \
    X(receive_calls)        \
    X(fragments)            \
    X(operations)           \
    X(contributions_resent) \
    X(contributions_again)  \
    X(probes_sent)          \
    X(asks_received)        \
    X(results_lacking)      \
    X(late)                 \
    X(held_received)        \
    X(offers_sent)          \
    X(results_repeated)     \
    X(reregistrations)      \
    X(multicast_received)   \
    X(dropped)              \
    X(dropped_corrupt)      \
    X(dropped_duplicate)    \
    X(lane_failures)        \
    X(injected_loss)        \
    X(injected_duplicate)   \
    X(injected_reorder)     \
    X(injected_corrupt)

void report_start(FILE *file, const struct train *train);
void report_epoch(FILE *file, const struct train_epoch *epoch);
/* stats may be NULL: one process alone. seconds: of all training epochs. */
void report_end(FILE *file, uint64_t hash, double seconds, const struct trib_comm_stats *stats);

#endif
