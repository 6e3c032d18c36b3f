/* SPDX-License-Identifier: Apache-2.0 */
/* perf_print.c: the table that readers of nccl-tests know, with bytes on the interface and CPU behind it; or JSON.
 * algbw = bytes / time; busbw = algbw x 2(n-1)/n for an allreduce, x (n-1)/n for an allgather or reduce-scatter, with
 * the size of all shares: the bytes that a ring would have to move in the same time. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/options.h"
#include "cli/perf.h"
#include "comm/launcher.h"
#include "comm/proof.h"
#include "comm/sample.h"
#include "core/operation.h"
#include "core/value.h"
#include "report/json.h"
#include "schemes/schemes.h"

static const char *const columns[PERF_COLUMNS] = {
    "cpu_ns",       "bytes_sent",      "bytes_received", "packets_sent", "packets_received", "nic_bytes_out",
    "nic_bytes_in", "wrong",           "resent",         "probes",       "results_repeated", "results_marked",
    "results",      "results_lacking", "late",           "sets_hash",    "dropped",          "results_multicast",
    "system_calls", "injected_loss",
};

static int64_t total(const struct perf_row *row, enum perf_column column)
{
    int64_t sum = 0;

    for (uint32_t rank = 0; rank < row->ranks; rank++) {
        sum += row->columns[rank][column];
    }
    return sum;
}

static const char *wire_name(const struct trib_config *config)
{
    return trib_type_name((enum trib_type)trib_config_wire(config));
}

static const char *proof_text(const struct trib_config *config, const char *scheme, const struct trib_comm_stats *stats)
{
    return stats->hosts == 1 ? "no values: ranks sum in the memory of one host" : trib_proof_text(config, scheme);
}

/* Which parts meet first differs from run to run, and rounding depends on it. */
static bool has_rounding_by_luck(const struct perf_options *options, const char *scheme)
{
    const struct trib_scheme *row = trib_scheme_find(scheme);
    bool is_sum = options->reduction == TRIB_SUM || options->reduction == TRIB_AVERAGE;
    const struct trib_operation kind = {.collective = options->collective};
    bool is_float32 = options->type == TRIB_FLOAT32;
    bool is_float =
        is_float32 || options->type == TRIB_FLOAT16 || options->type == TRIB_BFLOAT16 || options->type == TRIB_FLOAT64;

    return row != NULL && row->sums_by_luck && trib_operation_reduces(&kind) && is_float &&
           (is_sum ? !is_float32 || trib_config_wire(&options->comm) != TRIB_WIRE_INT32
                   : options->reduction == TRIB_PRODUCT);
}

static double algbw(const struct perf_row *row)
{
    return row->median_us > 0 ? (double)row->bytes / row->median_us / 1000 : 0;
}

static double busbw(const struct perf_options *options, const struct perf_row *row)
{
    double others = (double)(row->ranks - 1) / row->ranks;
    bool is_rooted = options->collective == TRIB_BROADCAST || options->collective == TRIB_REDUCE;
    double factor = is_rooted ? 1 : options->collective == TRIB_ALLREDUCE ? 2 * others : others;

    return algbw(row) * factor;
}

/* Of the whole output, over all rows. */
static struct report_json json;

static void print_json_begin(const struct perf_options *options, const char *scheme,
                             const struct trib_comm_stats *stats)
{
    const struct trib_config *c = &options->comm;

    json = (struct report_json){.out = stdout};
    report_json_open(&json, NULL, '{');
    report_json_say(&json, "version", trib_version());
    report_json_say(&json, "collective", trib_collective_name(options->collective));
    report_json_put(&json, "ranks", "%u", c->ranks);
    report_json_say(&json, "scheme", scheme);
    report_json_say(&json, "scheme_asked", c->scheme);
    report_json_say(&json, "wire", wire_name(c));
    report_json_flag(&json, "rounding_varies", stats->hosts != 1 && has_rounding_by_luck(options, scheme));
    report_json_put(&json, "payload", "%u", stats->payload);
    report_json_say(&json, "type", trib_type_name(options->type));
    report_json_say(&json, "redop", trib_reduction_name(options->reduction));
    report_json_flag(&json, "multicast", stats->multicast);
    report_json_flag(&json, "trains", c->trains);
    report_json_say(&json, "switch", c->switch_address);
    report_json_flag(&json, "level0", stats->level0);
    report_json_put(&json, "hosts", "%u", stats->hosts);
    report_json_flag(&json, "no_box", stats->no_box);
    report_json_say(&json, "rendezvous", c->rendezvous);
    report_json_put(&json, "roots", "%u", stats->roots);
    report_json_say(&json, "proved", proof_text(c, scheme, stats));
    report_json_put(&json, "sample", "%u", stats->hosts == 1 ? 0 : c->sample);
    report_json_say(&json, "nics", c->nics);
    report_json_put(&json, "iterations", "%u", options->iterations);
    report_json_put(&json, "warmups", "%u", options->warmups);
    report_json_flag(&json, "in_place", options->in_place);
    report_json_say(&json, "kernels", trib_value_kernels()->name);
    report_json_open(&json, "rows", '[');
}

void perf_print_begin(const struct perf_options *options, const struct trib_comm *comm)
{
    const struct trib_config *c = &options->comm;
    const char *scheme = trib_comm_scheme(comm);
    const char *ranks = c->ranks == 1 ? "rank" : "ranks";
    struct trib_comm_stats stats;

    trib_comm_stats((struct trib_comm *)(uintptr_t)comm, &stats);
    if (options->json) {
        print_json_begin(options, scheme, &stats);
        return;
    }
    if (stats.no_box) {
        printf("# %s, %u %s, scheme %s, wire %s, payload %u, no box: %u %s, rendezvous %s, %s, median of %u calls\n",
               trib_collective_name(options->collective), c->ranks, ranks, scheme, wire_name(c), stats.payload,
               stats.roots, stats.roots == 1 ? "root" : "roots", c->rendezvous,
               options->in_place ? "in place" : "out of place", options->iterations);
    } else if (stats.hosts == 1) {
        printf("# %s, %u %s, shared memory of this host, %s, median of %u calls\n",
               trib_collective_name(options->collective), c->ranks, ranks,
               options->in_place ? "in place" : "out of place", options->iterations);
    } else {
        printf("# %s, %u %s, scheme %s, wire %s, payload %u, results by %s, switch %s, %s, median of %u calls\n",
               trib_collective_name(options->collective), c->ranks, ranks, scheme, wire_name(c), stats.payload,
               stats.multicast ? "multicast" : "unicast", c->switch_address,
               options->in_place ? "in place" : "out of place", options->iterations);
    }
    if (stats.hosts != 1 && has_rounding_by_luck(options, scheme)) {
        printf("# rounding varies from run to run with the order of arrival; sums of float32 on wire int32 have the "
               "same bits in every run\n");
    }
    if (trib_comm_scheme_cause(comm)[0] != '\0') {
        printf("# scheme %s was asked for: %s\n", c->scheme, trib_comm_scheme_cause(comm));
    }
    if (c->nics[0] != '\0') {
        printf("# network cards of rank 0: %s\n", c->nics);
    }
    if (stats.hosts > 1) {
        printf("# level 0: %u hosts, whose ranks are summed in shared memory before one of them sends\n", stats.hosts);
    }
    if (c->key_len != 0) {
        printf("# the key proves %s\n", proof_text(c, scheme, &stats));
    }
    if (c->sample != 0 && stats.hosts != 1) {
        char text[TRIB_SAMPLE_TEXT_MAX];
        trib_sample_explain(c->sample, text);
        printf("# other sums are sampled: %s\n", text);
    }
    printf("# out, in: bytes on %s per byte of the tensor, all processes that use it; cpu: ns per byte, per rank and "
           "switch\n",
           "the interface");
    printf("#%11s %12s %9s %6s %11s %8s %8s %7s %6s %6s %7s %7s\n", "size", "count", "type", "redop", "time", "algbw",
           "busbw", "#wrong", "out", "in", "cpu", "switch");
    printf("#%11s %12s %9s %6s %11s %8s %8s %7s %6s %6s %7s %7s\n", "(B)", "(elements)", "", "", "(us)", "(GB/s)",
           "(GB/s)", "", "(B/B)", "(B/B)", "(ns/B)", "(ns/B)");
    fflush(stdout);
}

static double per_byte(const struct perf_options *options, const struct perf_row *row, double amount)
{
    return row->bytes > 0 ? amount / ((double)row->bytes * options->iterations) : 0;
}

static void print_json_row(const struct perf_options *options, const struct perf_row *row)
{
    report_json_open(&json, NULL, '{');
    report_json_put(&json, "size", "%" PRIu64, row->bytes);
    report_json_put(&json, "count", "%" PRIu64, row->count);
    report_json_put(&json, "time_us", "%.3f", row->median_us);
    report_json_put(&json, "min_us", "%.3f", row->min_us);
    report_json_put(&json, "mean_us", "%.3f", row->mean_us);
    report_json_put(&json, "p99_us", "%.3f", row->p99_us);
    report_json_put(&json, "algbw_gb_s", "%.6f", algbw(row));
    report_json_put(&json, "busbw_gb_s", "%.6f", busbw(options, row));
    report_json_put(&json, "wrong", "%" PRId64, total(row, PERF_WRONG));
    report_json_put(&json, "switch_cpu_ns", "%" PRId64, row->switch_cpu_ns);
    report_json_say(&json, "nic", row->nic);
    report_json_open(&json, "workers", '[');
    for (uint32_t rank = 0; rank < row->ranks; rank++) {
        report_json_open(&json, NULL, '{');
        for (int i = 0; i < PERF_COLUMNS; i++) {
            report_json_put(&json, columns[i], "%" PRId64, row->columns[rank][i]);
        }
        report_json_close(&json, '}');
    }
    report_json_close(&json, ']');
    report_json_close(&json, '}');
}

/* Six columns wide. */
static const char *reduction_name(enum trib_reduction reduction)
{
    static const char *const names[TRIB_REDUCTION_COUNT] = {
        [TRIB_REDUCTION_NONE] = "-", [TRIB_SUM] = "sum",     [TRIB_AVERAGE] = "avg",
        [TRIB_MINIMUM] = "min",      [TRIB_MAXIMUM] = "max", [TRIB_PRODUCT] = "prod",
    };
    return names[reduction];
}

void perf_print_row(const struct perf_options *options, const struct perf_row *row)
{
    if (options->json) {
        print_json_row(options, row);
        return;
    }
    printf("%12llu %12llu %9s %6s %11.2f %8.3f %8.3f %7lld %6.3f %6.3f %7.3f ", (unsigned long long)row->bytes,
           (unsigned long long)row->count, trib_type_name(options->type), reduction_name(options->reduction),
           row->median_us, algbw(row), busbw(options, row), (long long)total(row, PERF_WRONG),
           per_byte(options, row, (double)row->columns[0][PERF_NIC_OUT]),
           per_byte(options, row, (double)row->columns[0][PERF_NIC_IN]),
           per_byte(options, row, (double)total(row, PERF_CPU_NS) / row->ranks));
    if (row->switch_cpu_ns >= 0) {
        printf("%7.3f\n", per_byte(options, row, (double)row->switch_cpu_ns));
    } else {
        printf("%7s\n", "-");
    }
    fflush(stdout);
}

/* Results that lack ranks, and the late parts of each rank. */
static void print_lacking(const struct perf_totals *totals, uint32_t ranks)
{
    printf("# of %lld results %lld lacked ranks", (long long)totals->results, (long long)totals->lacking);
    for (uint32_t rank = 0, said = 0; rank < ranks; rank++) {
        if (totals->late[rank] != 0) {
            printf("%s rank %u %lld", said++ == 0 ? "; parts that came late:" : ",", rank,
                   (long long)totals->late[rank]);
        }
    }
    printf("\n");
}

void perf_print_end(const struct perf_options *options, struct trib_comm *comm, const struct perf_totals *totals)
{
    int64_t wrong = totals->wrong;
    struct trib_comm_stats stats;

    trib_comm_stats(comm, &stats);
    if (options->json) {
        report_json_close(&json, ']');
        report_json_put(&json, "moved", "%" PRIu64, stats.moved);
        report_json_put(&json, "results", "%" PRId64, totals->results);
        report_json_put(&json, "results_lacking", "%" PRId64, totals->lacking);
        report_json_put(&json, "wrong", "%" PRId64, wrong);
        report_json_close(&json, '}');
        printf("\n");
    } else {
        if (stats.moved != 0) {
            printf("# the switch was gone for good: went on without it, over %u %s\n", stats.roots,
                   stats.roots == 1 ? "root" : "roots");
        }
        if (stats.results_marked != 0) {
            printf("# rank 0: told %llu times, over %llu results, that the way is congested\n",
                   (unsigned long long)stats.results_marked, (unsigned long long)stats.fragments);
        }
        if (perf_may_lack(options)) {
            print_lacking(totals, trib_comm_ranks(comm));
        }
        printf("# %lld wrong elements%s\n", (long long)wrong, options->check ? "" : " (nothing was checked: -c 0)");
    }
    fflush(stdout);
}
