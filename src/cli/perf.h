/* SPDX-License-Identifier: Apache-2.0 */
/* perf.h: shared by the files of `tributary perf`. One measurement = one size: every rank times every call; the
 * slowest rank counts; every element of a result is checked, before and after the timed calls.
 * Read next: command_perf.c (options, processes), perf_measure.c, perf_numbers.c, perf_values.c,
 * perf_quorum.c, perf_print.c. */
#ifndef TRIB_CLI_PERF_H
#define TRIB_CLI_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tributary/comm.h>

#include "core/node.h"

struct perf_options {
    uint64_t min_bytes, max_bytes;
    uint64_t step_factor;
    uint32_t iterations, warmups;
    uint64_t pause_ns;
    uint32_t workers; /* 0: this process is one rank, named by its environment */
    uint32_t hosts;   /* that the workers come as; 0: each is one of its own, or as the environment says */
    uint32_t threads; /* shards of the started switch */
    uint32_t switch_pid;
    enum trib_type type;
    enum trib_reduction reduction;
    enum trib_collective collective;
    bool in_place;
    bool no_switch;
    bool shared;
    bool is_uneven; /* shares of ranks differ, and some are empty */
    bool json;
    uint32_t check;
    const char *switch_address; /* of the command line, as the next; NULL: not named there */
    const char *rendezvous;
    const char *nics;
    const char *scheme;
    struct trib_config comm;
    char (*refusals)[TRIB_ERROR_TEXT_MAX]; /* with workers: why a rank could not join, by rank; shared by all */
};

/* The numbers of one rank in a row: a vector of int64, summed over the ranks by the collective under test. */
enum perf_column {
    PERF_CPU_NS, /* of this process, over the timed calls */
    PERF_SENT,   /* UDP payload bytes */
    PERF_RECEIVED,
    PERF_PACKETS_SENT, /* with those bytes, of which a header is 64 of each */
    PERF_PACKETS_RECEIVED,
    PERF_NIC_OUT, /* bytes that the interface counted */
    PERF_NIC_IN,
    PERF_WRONG, /* elements */
    PERF_RESENT,
    PERF_PROBES,
    PERF_REPEATED,
    PERF_MARKED,  /* times told that the way is congested */
    PERF_RESULTS, /* fragments finished */
    PERF_LACKING, /* results that lacked ranks, as a quorum may */
    PERF_LATE,    /* of these: that lacked this rank */
    PERF_SETS,    /* a hash of which ranks are in which fragment of all checked results, the same on every rank */
    PERF_DROPPED,
    PERF_MULTICAST, /* results that came by multicast */
    PERF_CALLS,     /* system calls that moved packets */
    PERF_LOST,      /* received packets that --loss took away */
    PERF_COLUMNS
};

/* One size, all ranks together. */
struct perf_row {
    uint64_t bytes;
    uint64_t count;
    uint32_t ranks;
    double min_us, median_us, mean_us, p99_us; /* over the calls, each the slowest rank's */
    int64_t columns[TRIB_RANKS_MAX][PERF_COLUMNS];
    int64_t switch_cpu_ns; /* -1: unknown */
    char nic[32];          /* rank 0's interface */
};

/* Elements [first, first + count) of the whole tensor. */
struct perf_span {
    uint64_t first, count;
};

/* Ranks of results that may lack some (perf_quorum.c). */
struct perf_sets {
    uint32_t fragment; /* elements of one */
    uint32_t unused;
    uint64_t hash;
    uint64_t lacking; /* fragments that lack ranks */
    uint64_t late;    /* of these: that lack this rank */
    uint64_t unknown; /* fragments that are too short to name all ranks */
};

/* Of all rows. */
struct perf_totals {
    int64_t wrong;
    int64_t results; /* that one rank had */
    int64_t lacking; /* of these */
    int64_t late[TRIB_RANKS_MAX];
};

/* perf_numbers.c: period of the pattern, in elements. */
#define PERF_PERIOD 16
/* Type of the elements of a sum on their way. */
enum trib_type perf_wire(const struct perf_options *options);
/* A rank's number, the number as an element in memory, and its value after it has travelled. */
double perf_value(const struct perf_options *options, uint64_t i, uint32_t rank, uint32_t round);
void perf_store(enum trib_type type, void *element, double v);
double perf_stored(enum trib_type type, double v);

/* perf_values.c */
/* The rank's share of a tensor of so many elements; all of it, where the collective has no shares. */
struct perf_span perf_share(const struct perf_options *options, uint64_t count, uint32_t ranks, uint32_t rank);
/* Fills a part of the tensor with this rank's values for the round. */
void perf_fill(const struct perf_options *options, void *part, struct perf_span span, uint32_t rank, uint32_t round);
/* Wrong elements of a part. owner: the rank of the share, if the part is a share. */
int64_t perf_wrong(const struct perf_options *options, const void *part, struct perf_span span, uint32_t owner,
                   uint32_t round);

/* perf_quorum.c: allreduces with sums that may lack ranks: numbers name the ranks of a sum. */
bool perf_may_lack(const struct perf_options *options);
void perf_quorum_fill(const struct perf_options *options, void *tensor, uint64_t count, uint32_t rank, uint32_t round);
/* sets: adds the result's ranks. */
int64_t perf_quorum_wrong(const struct perf_options *options, const void *tensor, uint64_t count, uint32_t round,
                          struct perf_sets *sets);

/* perf_measure.c: measures one size on this rank; row is whole on every rank. */
enum trib_status perf_measure(const struct perf_options *options, struct trib_comm *comm, uint64_t bytes,
                              struct perf_row *row);
/* The interface towards the switch or rank 0, at the address `place`; "" when it cannot be told. name: 32 bytes. */
void perf_find_nic(const char *place, char *name);

/* perf_print.c: rank 0 only. */
void perf_print_begin(const struct perf_options *options, const struct trib_comm *comm);
void perf_print_row(const struct perf_options *options, const struct perf_row *row);
void perf_print_end(const struct perf_options *options, struct trib_comm *comm, const struct perf_totals *totals);

#endif
