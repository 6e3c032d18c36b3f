/* SPDX-License-Identifier: Apache-2.0 */
/* demo.h: the state of `make demo`. digits-demo starts a switch and four training processes on this machine
 * and reads their reports; it contains nothing of the library.
 * Read next: demo.c (the order of things), demo_run.c (one training), demo_check.c (what must hold at the end). */
#ifndef DIGITS_DEMO_H
#define DIGITS_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tributary/comm.h>

#include "net.h"
#include "report.h"

#define DEMO_WORKERS 4
#define DEMO_BATCH 100U /* images of one step, over all workers */
#define DEMO_EPOCHS_MAX 200
#define DEMO_PATH_MAX 4096
#define DEMO_CHECKS_MAX 16
#define DEMO_ACCURACY_MIN 0.95
/* Largest difference of a weight to the single process's. Rounding alone gives about 3e-7: the sums have another order.
 * Where a neuron's input is all but 0, rounding decides whether ReLU lets it through; that gave up to 3.1e-5 in 15
 * trainings (3 seeds, batches cut into 2 to 8 parts). One fragment of one worker left out of one sum gave 2e-2 and more
 * in the first step, but in the last steps, where gradients are nearly 0, less than the bound: there the equal hashes
 * of the two runs and the contributor check tell, not this bound. */
#define DEMO_DIFFERENCE_MAX 1e-4

/* Report of one rank at its end. */
struct demo_rank {
    struct trib_comm_stats stats;
    uint64_t hash;
    double seconds;
    bool ended;
};

/* One training: clean, with faults, or in a single process. */
struct demo_run {
    const char *name; /* also the name of its files */
    bool faults;
    uint32_t ranks;
    uint32_t epochs; /* reported so far */
    struct train_epoch epoch[DEMO_EPOCHS_MAX];
    struct demo_rank rank[DEMO_WORKERS];
    double seconds;
    uint64_t loopback_bytes; /* that the kernel's loopback device carried meanwhile, IP headers included */
    uint32_t restarts;       /* of the switch: killed, gone, and started again */
    uint32_t restart_epoch;  /* the training epoch in which it was killed */
    double outage_seconds;   /* from the kill until the new switch was ready */
};

struct demo_check {
    char text[160];
    bool holds;
};

struct demo {
    uint32_t epochs;
    char programs[DEMO_PATH_MAX];  /* folder of digits, digits-demo and tributary */
    char directory[DEMO_PATH_MAX]; /* of the reports; removed at the end */
    char html[DEMO_PATH_MAX];
    struct demo_run clean;
    struct demo_run faults;
    struct demo_run single;
    double difference; /* largest |weight - single process's weight| */
    double seconds;
    size_t checks;
    struct demo_check check[DEMO_CHECKS_MAX];
};

/* Bytes of all gradients that one rank gave to the sum in this run: steps x parameters x 4. */
double demo_gradient_bytes(const struct demo_run *run);
/* Gradient bytes a second while in trib_allreduce, of rank 0. */
double demo_goodput(const struct demo_run *run);
/* The sum over the ranks of one count of trib_comm_stats, given by its offset. */
uint64_t demo_sum(const struct demo_run *run, size_t offset);
#define DEMO_SUM(run, name) demo_sum((run), offsetof(struct trib_comm_stats, name))

/* A ring's bytes over a worker's gradient bytes, in each direction. */
static inline double demo_ring_factor(void)
{
    return 2.0 * (DEMO_WORKERS - 1) / DEMO_WORKERS;
}

/* One kind of recovery, or of fault, for the tables. */
struct demo_count {
    const char *name;
    size_t offset; /* in struct trib_comm_stats */
};
extern const struct demo_count demo_counts[];
extern const size_t demo_counts_count;

/* demo_run.c: runs one training to its end, or prints why not. */
bool demo_run_switched(const struct demo *demo, struct demo_run *run);
bool demo_run_single(const struct demo *demo, struct demo_run *run);

/* demo_read.c: reads the reports of the processes. False: the cause was printed. */
bool demo_read_reports(const struct demo *demo, struct demo_run *run);
bool demo_read_difference(struct demo *demo);
/* Bytes that the loopback device has received since boot; 0 if the kernel does not say. */
uint64_t demo_read_loopback(void);
/* The path of a file of this run. */
void demo_path(const struct demo *demo, const struct demo_run *run, const char *what, char path[DEMO_PATH_MAX]);

/* demo_check.c: fills demo->check; true if all hold. demo_print_*: the tables on the terminal. */
bool demo_check_all(struct demo *demo);
void demo_print_hashes(const struct demo *demo);
void demo_print_tables(const struct demo *demo);
void demo_print_checks(const struct demo *demo);

/* demo_html.c: writes demo->html. False: the cause was printed. */
bool demo_write_html(const struct demo *demo);
/* demo_svg.c: the pictures in it. */
void demo_svg_topology(FILE *out, const struct demo *demo);
void demo_svg_bars(FILE *out, const struct demo *demo);
void demo_svg_loss(FILE *out, const struct demo *demo);
void demo_svg_accuracy(FILE *out, const struct demo *demo);

#endif
