/* SPDX-License-Identifier: Apache-2.0 */
/* digits.c: trains a small network on real handwritten digits, one process per rank, gradients summed by the switch.
 *
 *   tributary run -n 4 -- digits --epochs 20   (with a switch of its own)
 *   digits --single                            (the same training in one process, as a reference)
 *
 * Exit status: 0; 1 when something failed or the ranks ended with different weights; 2 for a wrong command line.
 * Read next: train.c (the loop), net.c (the network). */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "report.h"
#include "train.h"

#ifndef DIGITS_DATA
#define DIGITS_DATA "examples/data/digits.csv"
#endif

struct options {
    struct train_options train;
    const char *data;
    const char *report;
    const char *weights;
    bool single;
};

static const char usage[] = "usage: digits [options]          under a launcher: tributary run -n 4 -- digits\n"
                            "  --single         one process, no network: the reference\n"
                            "  --epochs N       training epochs, 1 to 1000 [20]\n"
                            "  --batch N        images of one step, over all ranks, 1 to 1500 [100]\n"
                            "  --rate X         learning rate at the start; it falls linearly to a tenth [0.1]\n"
                            "  --momentum X     [0.9]\n"
                            "  --seed N         of the first weights and of the order of the images [1]\n"
                            "  --late MS        the last rank waits so long before each exchange, 0 to 1000 [0]\n"
                            "  --data FILE      the digits [" DIGITS_DATA "]\n"
                            "  --report FILE    write JSON lines into FILE.RANK\n"
                            "  --weights FILE   rank 0 writes the final weights (little-endian float32) into FILE\n";

static bool whole_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *value >= min && *value <= max;
}

static bool fraction(const char *text, double max, float *value)
{
    char *end;
    double number = strtod(text, &end);
    *value = (float)number;
    return end != text && *end == '\0' && number >= 0.0 && number <= max;
}

static bool option_take(struct options *options, int name, const char *text)
{
    uint64_t number = 0;
    bool good = true;
    switch (name) {
    case 's':
        options->single = true;
        break;
    case 'e':
        good = whole_number(text, 1, 1000, &number);
        options->train.epochs = (uint32_t)number;
        break;
    case 'b':
        good = whole_number(text, 1, DIGITS_TRAIN, &number);
        options->train.batch = (uint32_t)number;
        break;
    case 'r':
        good = fraction(text, 10.0, &options->train.rate);
        break;
    case 'm':
        good = fraction(text, 1.0, &options->train.momentum);
        break;
    case 'x':
        good = whole_number(text, 0, UINT64_MAX, &options->train.seed);
        break;
    case 'l':
        good = whole_number(text, 0, 1000, &number);
        options->train.late_ms = (uint32_t)number;
        break;
    case 'd':
        options->data = text;
        break;
    case 'o':
        options->report = text;
        break;
    default:
        options->weights = text;
        break;
    }
    return good;
}

/* Returns the exit status, -1 to go on. */
static int options_read(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"single", no_argument, NULL, 's'},         {"epochs", required_argument, NULL, 'e'},
        {"batch", required_argument, NULL, 'b'},    {"rate", required_argument, NULL, 'r'},
        {"momentum", required_argument, NULL, 'm'}, {"seed", required_argument, NULL, 'x'},
        {"late", required_argument, NULL, 'l'},     {"data", required_argument, NULL, 'd'},
        {"report", required_argument, NULL, 'o'},   {"weights", required_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    int name;
    int at = 0;
    while ((name = getopt_long(argc, argv, "", known, &at)) != -1) {
        if (name == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (name == '?') {
            fputs(usage, stderr);
            return 2;
        }
        if (!option_take(options, name, optarg)) {
            fprintf(stderr, "digits: --%s %s is out of range; see digits --help\n", known[at].name, optarg);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "digits: unexpected argument %s; see digits --help\n", argv[optind]);
        return 2;
    }
    return -1;
}

static bool join(struct train *train)
{
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX];
    if (trib_config_from_environment(&config, error) != TRIB_OK) {
        fprintf(stderr, "digits: %s\n", error);
        return false;
    }
    if (trib_comm_create(&config, &train->comm, error) != TRIB_OK) {
        fprintf(stderr, "digits: rank %u: %s\n", config.rank, error);
        return false;
    }
    train->rank = trib_comm_rank(train->comm);
    train->ranks = trib_comm_ranks(train->comm);
    return true;
}

static FILE *report_open(const struct options *options, uint32_t rank)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s.%u", options->report, rank);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "digits: cannot write %s: %s\n", path, strerror(errno));
    }
    return file;
}

static bool weights_write(const struct net *net, const char *path)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(net->weights, sizeof(float), NET_PARAMETERS, file) == NET_PARAMETERS;
    if (file != NULL && fclose(file) != 0) {
        good = false;
    }
    if (!good) {
        fprintf(stderr, "digits: cannot write %s: %s\n", path, strerror(errno));
    }
    return good;
}

static void progress_print(const struct train *train, const struct train_epoch *epoch)
{
    printf("epoch %2u/%u   loss %.4f   test accuracy %5.2f %%   %.2f s", epoch->number, train->options.epochs,
           epoch->loss, 100.0 * epoch->accuracy, epoch->seconds);
    if (train->comm != NULL) {
        double bytes = (double)epoch->steps * sizeof(float) * NET_PARAMETERS;
        printf("   allreduce %4.0f MB/s", bytes / epoch->exchange_seconds * 1e-6);
    }
    printf("\n");
    fflush(stdout);
}

/* All ranks must have ended with the same weights. */
static bool hashes_check(const struct train *train, const uint64_t *hashes)
{
    for (uint32_t i = 1; i < train->ranks; i++) {
        if (hashes[i] != hashes[0]) {
            fprintf(stderr, "digits: rank %u ended with other weights (%016" PRIx64 ") than rank 0 (%016" PRIx64 ")\n",
                    i, hashes[i], hashes[0]);
            return false;
        }
    }
    if (train->rank == 0) {
        printf("hash of the final weights %016" PRIx64 ", the same on %s\n", hashes[0],
               train->ranks == 1 ? "the only rank" : "all ranks");
    }
    return true;
}

static bool train_all(struct train *train, FILE *report)
{
    struct train_epoch epoch = {0};
    struct trib_comm_stats stats;
    uint64_t hashes[TRIB_RANKS_MAX];
    double begin = clock_seconds();
    report_start(report, train);
    if (!train_begin(train)) {
        return false;
    }
    for (epoch.number = 1; epoch.number <= train->options.epochs; epoch.number++) {
        if (!train_epoch_run(train, &epoch)) {
            return false;
        }
        report_epoch(report, &epoch);
        if (train->rank == 0) {
            progress_print(train, &epoch);
        }
    }
    double seconds = clock_seconds() - begin;
    if (!train_hashes(train, hashes)) {
        return false;
    }
    if (train->comm != NULL) {
        trib_comm_stats(train->comm, &stats);
    }
    report_end(report, hashes[train->rank], seconds, train->comm != NULL ? &stats : NULL);
    return hashes_check(train, hashes);
}

static bool run(struct train *train, const struct options *options)
{
    FILE *report = NULL;
    bool good = options->report == NULL || (report = report_open(options, train->rank)) != NULL;
    good = good && train_all(train, report);
    if (good && train->rank == 0 && options->weights != NULL) {
        good = weights_write(&train->net, options->weights);
    }
    if (report != NULL) {
        fclose(report);
    }
    return good;
}

int main(int argc, char **argv)
{
    static struct train train = {.ranks = 1};
    struct options options = {.train = {20, 100, 0.1F, 0.9F, 1, 0}, .data = DIGITS_DATA};
    int status = options_read(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    train.options = options.train;
    if (!digits_load(&train.digits, options.data)) {
        return 1;
    }
    if (!net_create(&train.net, options.train.batch)) {
        fprintf(stderr, "digits: out of memory\n");
        return 1;
    }
    bool good = (options.single || join(&train)) && run(&train, &options);
    if (train.comm != NULL && trib_comm_close(train.comm) != TRIB_OK) {
        good = false;
    }
    net_destroy(&train.net);
    return good ? 0 : 1;
}
