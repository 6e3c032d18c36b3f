/* SPDX-License-Identifier: Apache-2.0 */
/* perf_measure.c: one size on one rank. Times, CPU, bytes and wrong elements of all ranks meet in an allreduce of int64
 * in which each rank fills its own part: no second channel between the processes. */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/options.h"
#include "cli/perf.h"
#include "core/quorum.h"
#include "io/clock.h"
#include "net/nics.h"
#include "net/resolve.h"
#include "schemes/schemes.h"

struct buffers {
    void *send;
    void *recv;
    uint64_t *counts; /* elements of each rank's share */
    int64_t *shared;  /* columns of all ranks, then times of all calls and ranks */
    size_t shared_count;
    struct perf_sets sets; /* of all checked results so far */
};

static int64_t switch_cpu_ns(uint32_t pid)
{
    clockid_t clock;

    if (pid == 0 || clock_getcpuclockid((pid_t)pid, &clock) != 0) {
        return -1;
    }
    return trib_cpu_ns(clock);
}

/* ---- the interface towards the switch ---- */

static bool has_address(const struct ifaddrs *interface, const struct trib_address *address)
{
    struct trib_address own = {.len = address->len};

    if (interface->ifa_addr == NULL || interface->ifa_addr->sa_family != address->storage.ss_family) {
        return false;
    }
    memcpy(&own.storage, interface->ifa_addr, own.len);
    return trib_address_same_host(&own, address);
}

void perf_find_nic(const char *place, char *name)
{
    struct trib_address peer;
    struct trib_address local;
    struct ifaddrs *all = NULL;

    name[0] = '\0';
    if (trib_address_parse(place, TRIB_DEFAULT_PORT, &peer, NULL) != TRIB_OK || !trib_nics_source(&peer, &local) ||
        getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (has_address(i, &local)) {
            snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
            break;
        }
    }
    freeifaddrs(all);
}

/* Bytes in and out of an interface, from /proc/net/dev of this network namespace. */
static void read_nic(const char *name, int64_t *in, int64_t *out)
{
    FILE *file = fopen("/proc/net/dev", "r");
    char line[512];

    *in = *out = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        char *start = line + strspn(line, " ");
        if (colon == NULL || strlen(name) != (size_t)(colon - start) || strncmp(start, name, strlen(name)) != 0) {
            continue;
        }
        long long values[9] = {0};
        char *at = colon + 1;
        for (int i = 0; i < 9; i++) {
            values[i] = strtoll(at, &at, 10);
        }
        *in = values[0];
        *out = values[8];
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* ---- calls ---- */

#define ROOT 0 /* of a broadcast or reduce */

/* Where this rank's input and result lie, and which part of the whole they are. */
struct view {
    uint8_t *send, *recv;
    struct perf_span sent, received;
    uint64_t *counts; /* of uneven shares */
};

/* In place, one buffer holds both: a share lies in it where it lies in the whole. */
static struct view view_of(const struct perf_options *options, const struct buffers *b, uint64_t count, uint32_t rank)
{
    bool gathers = options->collective == TRIB_ALLGATHER;
    struct perf_span whole = {0, count};
    struct perf_span share = perf_share(options, count, options->comm.ranks, rank);
    size_t own_at = options->in_place ? share.first * trib_type_size(options->type) : 0;
    struct view v = {b->send, b->recv, gathers ? share : whole, gathers ? whole : share, b->counts};

    if (options->in_place || options->collective == TRIB_BROADCAST) {
        v.send = v.recv;
    }
    *(gathers ? &v.send : &v.recv) += own_at;
    return v;
}

static enum trib_status call(const struct perf_options *options, struct trib_comm *comm, const struct view *v)
{
    enum trib_type type = options->type;
    enum trib_reduction op = options->reduction;

    switch (options->collective) {
    case TRIB_BROADCAST:
        return trib_broadcast(comm, v->recv, v->received.count, type, ROOT);
    case TRIB_REDUCE:
        return trib_reduce(comm, v->send, v->recv, v->sent.count, type, op, ROOT);
    case TRIB_ALLGATHER:
        return options->is_uneven ? trib_allgather_uneven(comm, v->send, v->recv, v->counts, type)
                                  : trib_allgather(comm, v->send, v->recv, v->sent.count, type);
    case TRIB_REDUCE_SCATTER:
        return options->is_uneven ? trib_reduce_scatter_uneven(comm, v->send, v->recv, v->counts, type, op)
                                  : trib_reduce_scatter(comm, v->send, v->recv, v->received.count, type, op);
    case TRIB_ALLREDUCE:
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return trib_allreduce(comm, v->send, v->recv, v->sent.count, type, op);
}

static void fill(const struct perf_options *options, const struct view *v, uint32_t rank, uint32_t round)
{
    if (options->collective != TRIB_BROADCAST || rank == ROOT) {
        perf_fill(options, v->send, v->sent, rank, round);
    }
}

/* Input of a round where the call looks for it; elsewhere bytes that no result has. */
static void prepare(const struct perf_options *options, const struct buffers *b, const struct view *v, uint64_t count,
                    uint32_t round)
{
    memset(b->recv, 0xa5, count * trib_type_size(options->type));
    fill(options, v, options->comm.rank, round);
}

static int64_t wrong_elements(const struct perf_options *options, const struct view *v, uint64_t count, uint32_t round,
                              struct perf_sets *sets)
{
    size_t size = trib_type_size(options->type);
    int64_t wrong = 0;

    if (options->collective == TRIB_REDUCE && options->comm.rank != ROOT) {
        return 0;
    }
    if (perf_may_lack(options)) {
        return perf_quorum_wrong(options, v->recv, count, round, sets);
    }
    if (options->collective != TRIB_ALLGATHER) {
        return perf_wrong(options, v->recv, v->received, ROOT, round);
    }
    for (uint32_t owner = 0; owner < options->comm.ranks; owner++) {
        struct perf_span share = perf_share(options, count, options->comm.ranks, owner);
        wrong += perf_wrong(options, v->recv + share.first * size, share, owner, round);
    }
    return wrong;
}

/* True if the numbers name the same ranks as the results' lists. */
static bool is_as_listed(const struct perf_sets *sets, const struct trib_comm_stats *before,
                         const struct trib_comm_stats *after)
{
    uint64_t lacking = after->results_lacking - before->results_lacking;
    uint64_t late = after->late - before->late;

    return lacking >= sets->lacking && lacking <= sets->lacking + sets->unknown && late >= sets->late &&
           late <= sets->late + sets->unknown;
}

/* Input, one call, every element looked at. */
static enum trib_status checked_call(const struct perf_options *options, struct trib_comm *comm, struct buffers *b,
                                     uint64_t count, uint32_t round, int64_t *wrong)
{
    struct view v = view_of(options, b, count, trib_comm_rank(comm));
    struct perf_sets sets = {.fragment = b->sets.fragment, .hash = b->sets.hash};
    struct trib_comm_stats before;
    struct trib_comm_stats after;

    prepare(options, b, &v, count, round);
    trib_comm_stats(comm, &before);
    enum trib_status status = call(options, comm, &v);
    if (status == TRIB_OK && options->check) {
        *wrong += wrong_elements(options, &v, count, round, &sets);
        trib_comm_stats(comm, &after);
        if (!is_as_listed(&sets, &before, &after)) {
            complain("rank %u: the numbers lack ranks in %llu fragments (this one in %llu), the lists in %llu (%llu)",
                     trib_comm_rank(comm), (unsigned long long)sets.lacking, (unsigned long long)sets.late,
                     (unsigned long long)(after.results_lacking - before.results_lacking),
                     (unsigned long long)(after.late - before.late));
            (*wrong)++;
        }
        b->sets.hash = sets.hash;
    }
    return status;
}

/* Not for 0 ns: the kernel takes 50 us for that, other for each rank. */
static void rest(uint64_t pause_ns)
{
    const struct timespec pause = {(time_t)(pause_ns / TRIB_SECOND_NS), (long)(pause_ns % TRIB_SECOND_NS)};

    if (pause_ns != 0) {
        (void)nanosleep(&pause, NULL);
    }
}

/* In place, a sum that is summed again grows: the timed calls need their input afresh, outside the clock. */
static enum trib_status timed_calls(const struct perf_options *options, struct trib_comm *comm, const struct buffers *b,
                                    uint64_t count, int64_t *times)
{
    uint32_t ranks = trib_comm_ranks(comm);
    uint32_t rank = trib_comm_rank(comm);
    struct view v = view_of(options, b, count, rank);
    enum trib_status status = TRIB_OK;

    for (uint32_t i = 0; i < options->iterations && status == TRIB_OK; i++) {
        if (options->in_place) {
            fill(options, &v, rank, 2);
        }
        rest(options->pause_ns);
        uint64_t start = trib_clock_ns();
        status = call(options, comm, &v);
        times[(size_t)i * ranks + rank] = (int64_t)(trib_clock_ns() - start);
    }
    return status;
}

static void note_stats(int64_t *columns, const struct trib_comm_stats *stats, int64_t sign)
{
    columns[PERF_SENT] += sign * (int64_t)(stats->bytes_sent + stats->root_bytes_sent);
    columns[PERF_RECEIVED] += sign * (int64_t)(stats->bytes_received + stats->root_bytes_received);
    columns[PERF_PACKETS_SENT] += sign * (int64_t)(stats->packets_sent + stats->root_packets_sent);
    columns[PERF_PACKETS_RECEIVED] += sign * (int64_t)(stats->packets_received + stats->root_packets_received);
    columns[PERF_RESENT] += sign * (int64_t)stats->contributions_resent;
    columns[PERF_PROBES] += sign * (int64_t)stats->probes_sent;
    columns[PERF_REPEATED] += sign * (int64_t)stats->results_repeated;
    columns[PERF_MARKED] += sign * (int64_t)stats->results_marked;
    columns[PERF_RESULTS] += sign * (int64_t)stats->fragments;
    columns[PERF_LACKING] += sign * (int64_t)stats->results_lacking;
    columns[PERF_LATE] += sign * (int64_t)stats->late;
    columns[PERF_DROPPED] += sign * (int64_t)stats->dropped;
    columns[PERF_MULTICAST] += sign * (int64_t)stats->multicast_received;
    columns[PERF_LOST] += sign * (int64_t)stats->injected_loss;
    columns[PERF_CALLS] += sign * (int64_t)(stats->send_calls + stats->receive_calls);
}

/* ---- rows ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void summarise(struct perf_row *row, const int64_t *times, uint32_t iterations, double *slowest)
{
    double sum = 0;

    for (uint32_t i = 0; i < iterations; i++) {
        int64_t worst = 0;
        for (uint32_t rank = 0; rank < row->ranks; rank++) {
            int64_t t = times[(size_t)i * row->ranks + rank];
            worst = t > worst ? t : worst;
        }
        slowest[i] = (double)worst / 1000;
        sum += slowest[i];
    }
    qsort(slowest, iterations, sizeof *slowest, by_value);
    row->min_us = slowest[0];
    row->median_us =
        iterations % 2 ? slowest[iterations / 2] : (slowest[iterations / 2] + slowest[iterations / 2 - 1]) / 2;
    row->mean_us = sum / iterations;
    row->p99_us = slowest[(iterations * 99 - 1) / 100];
}

static enum trib_status warm_up(const struct perf_options *options, struct trib_comm *comm, struct buffers *b,
                                uint64_t count, int64_t *wrong)
{
    struct view v = view_of(options, b, count, trib_comm_rank(comm));
    enum trib_status status = checked_call(options, comm, b, count, 1, wrong);

    prepare(options, b, &v, count, 2);
    for (uint32_t i = 0; i < options->warmups && status == TRIB_OK; i++) {
        if (options->in_place) {
            fill(options, &v, trib_comm_rank(comm), 2);
        }
        status = call(options, comm, &v);
    }
    return status == TRIB_OK ? trib_barrier(comm) : status;
}

/* The timed part, with its cost for this rank. */
static enum trib_status run_timed(const struct perf_options *options, struct trib_comm *comm, const struct buffers *b,
                                  struct perf_row *row)
{
    int64_t *mine = b->shared + (size_t)trib_comm_rank(comm) * PERF_COLUMNS;
    int64_t *times = b->shared + (size_t)row->ranks * PERF_COLUMNS;
    struct trib_comm_stats stats;
    int64_t in;
    int64_t out;

    trib_comm_stats(comm, &stats);
    note_stats(mine, &stats, -1);
    read_nic(row->nic, &in, &out);
    mine[PERF_NIC_IN] -= in;
    mine[PERF_NIC_OUT] -= out;
    row->switch_cpu_ns = -switch_cpu_ns(options->switch_pid);
    mine[PERF_CPU_NS] -= trib_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    enum trib_status status = timed_calls(options, comm, b, row->count, times);
    mine[PERF_CPU_NS] += trib_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    row->switch_cpu_ns += switch_cpu_ns(options->switch_pid);
    trib_comm_stats(comm, &stats);
    note_stats(mine, &stats, 1);
    read_nic(row->nic, &in, &out);
    mine[PERF_NIC_IN] += in;
    mine[PERF_NIC_OUT] += out;
    return status;
}

static enum trib_status measure(const struct perf_options *options, struct trib_comm *comm, struct buffers *b,
                                struct perf_row *row)
{
    int64_t wrong = 0;
    enum trib_status status = warm_up(options, comm, b, row->count, &wrong);

    if (status == TRIB_OK) {
        status = run_timed(options, comm, b, row);
    }
    if (status != TRIB_OK) {
        return status;
    }
    if (options->check) {
        struct view v = view_of(options, b, row->count, trib_comm_rank(comm));
        wrong += wrong_elements(options, &v, row->count, 2, &b->sets);
    }
    status = checked_call(options, comm, b, row->count, 3, &wrong);
    b->shared[(size_t)trib_comm_rank(comm) * PERF_COLUMNS + PERF_WRONG] = wrong;
    b->shared[(size_t)trib_comm_rank(comm) * PERF_COLUMNS + PERF_SETS] = (int64_t)(b->sets.hash >> 1);
    if (status != TRIB_OK) {
        return status;
    }
    return trib_allreduce(comm, b->shared, b->shared, b->shared_count, TRIB_INT64, TRIB_SUM);
}

/* Elements of a fragment with a sum that may lack ranks. */
static uint32_t fragment_of(const struct perf_options *options, struct trib_comm *comm)
{
    bool is_narrow = options->type == TRIB_FLOAT32 && options->comm.wire == TRIB_WIRE_BFLOAT16;
    struct trib_session_config session = {0};
    struct trib_comm_stats stats;

    trib_comm_stats(comm, &stats);
    session.payload = stats.payload;
    trib_scheme_settle(options->comm.scheme, &session);
    return trib_session_data(&session) / (uint32_t)trib_type_size(is_narrow ? TRIB_BFLOAT16 : options->type);
}

static void *take(const struct perf_options *options, size_t bytes)
{
    return options->shared ? trib_shared_alloc(bytes) : malloc(bytes);
}

static void give(const struct perf_options *options, void *memory)
{
    if (options->shared) {
        trib_shared_free(memory);
    } else {
        free(memory);
    }
}

enum trib_status perf_measure(const struct perf_options *options, struct trib_comm *comm, uint64_t bytes,
                              struct perf_row *row)
{
    size_t size = trib_type_size(options->type);
    uint32_t ranks = trib_comm_ranks(comm);
    struct buffers b = {.shared_count = (size_t)ranks * (PERF_COLUMNS + options->iterations)};
    double *slowest = calloc(options->iterations, sizeof *slowest);
    enum trib_status status = TRIB_ERR_MEMORY;

    memset(row, 0, sizeof *row);
    row->count = bytes / size;
    if (options->collective == TRIB_ALLGATHER || options->collective == TRIB_REDUCE_SCATTER) {
        row->count -= options->is_uneven ? 0 : row->count % ranks;
    }
    row->bytes = row->count * size;
    row->ranks = ranks;
    const char *rendezvous = options->comm.rendezvous;
    perf_find_nic(rendezvous[0] != '\0' ? rendezvous : options->comm.switch_address, row->nic);
    b.send = take(options, row->bytes + 64);
    b.recv = take(options, row->bytes + 64);
    b.shared = calloc(b.shared_count, sizeof *b.shared);
    b.counts = calloc(ranks, sizeof *b.counts);
    for (uint32_t rank = 0; b.counts != NULL && rank < ranks; rank++) {
        b.counts[rank] = perf_share(options, row->count, ranks, rank).count;
    }
    b.sets.fragment = fragment_of(options, comm);
    if (slowest == NULL || b.counts == NULL || b.send == NULL || b.recv == NULL || b.shared == NULL) {
        complain("rank %u: no memory for tensors of %llu bytes", trib_comm_rank(comm), (unsigned long long)bytes);
    } else {
        status = measure(options, comm, &b, row);
    }
    if (status == TRIB_OK) {
        memcpy(row->columns, b.shared, (size_t)ranks * sizeof row->columns[0]);
        summarise(row, b.shared + (size_t)ranks * PERF_COLUMNS, options->iterations, slowest);
    }
    free(b.counts);
    free(b.shared);
    give(options, b.recv);
    give(options, b.send);
    free(slowest);
    return status;
}
