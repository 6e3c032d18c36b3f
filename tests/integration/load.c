/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: one rank under load, for the scripts of this folder: collectives of seeded kinds, types and sizes, one after
 * another or a few at a time, every element of every result looked at, and the time of each step written down, so that
 * a script can tell afterwards what an event cost whom. It knows nothing of events, and measures no speed (`tributary
 * perf` does).
 *
 *   load RECORDS SECONDS MIN_BYTES MAX_BYTES SEED [SLOW_US]
 *
 * The environment says which rank this is (TRIB_*). All ranks must have the same arguments but RECORDS. Ends after
 * SECONDS, or when rank 0 gets SIGTERM, all ranks after the same step. RECORDS gets a line for each step that took
 * SLOW_US [0] or longer, and every 50 ms one anyway: "start end step bytes", times as nanoseconds of the wall clock, as
 * in the log of a switch. Exit status 0: all was right; 1: the communicator ended (the last line says when and why); 3:
 * a wrong element. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "core/prng.h"

#define AT_ONCE 4
#define ASK_EVERY 8 /* steps after which rank 0 says whether to go on */
#define HEARTBEAT_NS UINT64_C(50000000)
#define EXIT_WRONG 3
#define UNTOUCHED 0xa5 /* what is in a buffer before */

struct load {
    struct trib_comm *comm;
    int records;
    uint64_t until_ns, slow_ns, recorded_ns;
    uint64_t min_bytes, max_bytes, seed;
    uint64_t operations, bytes, slowest_ns;
    uint64_t wrong;
    uint8_t *send[AT_ONCE], *recv[AT_ONCE];
    uint64_t shares[AT_ONCE][TRIB_RANKS_MAX];
};

/* What every rank does in a step, out of the seed and the step's number alone. */
struct call {
    enum trib_collective collective;
    enum trib_type type;
    enum trib_reduction reduction;
    uint32_t root;
    uint64_t count;  /* of the whole tensor */
    uint64_t salt;   /* of its values */
    uint64_t *share; /* elements of each rank's, where there are shares */
};

/* Elements of the tensor. */
struct part {
    uint64_t from, to;
};

static volatile sig_atomic_t is_told_to_stop;

static void stop(int signal_number)
{
    (void)signal_number;
    is_told_to_stop = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- values: a whole number that is not 0, out of place and call, times a factor of the rank, so that a contribution that is missing,
 * doubled, of another fragment or of another call changes a sum, and every type holds the sum of 8 ranks exactly
 * (16-bit floats have 8 and 11 bits for it; integers wrap). A product is of -1 or 2 from each rank ---- */

static int64_t base(const struct call *call, uint64_t i)
{
    uint32_t x = (uint32_t)i * UINT32_C(0x9e3779b1) + (uint32_t)call->salt;
    x = (x ^ x >> 15) * UINT32_C(0x85ebca77);
    if (call->reduction == TRIB_PRODUCT) {
        return x >> 31 != 0 ? -1 : 2;
    }
    return (int64_t)(x >> 29) - 4 + (x >> 29 >= 4);
}

static uint16_t bits_of_half(enum trib_type type, int64_t value)
{
    int fraction_bits = type == TRIB_FLOAT16 ? 10 : 7;
    int bias = type == TRIB_FLOAT16 ? 15 : 127;
    uint64_t size = (uint64_t)(value < 0 ? -value : value);
    int exponent = 63 - __builtin_clzll(size);
    uint64_t fraction = (size << fraction_bits >> exponent) & ((UINT64_C(1) << fraction_bits) - 1);
    return (uint16_t)((value < 0 ? 1U << 15 : 0) | (uint32_t)(bias + exponent) << fraction_bits | (uint32_t)fraction);
}

static void put(const struct call *call, uint8_t *tensor, uint64_t i, int64_t value)
{
    union {
        float f32;
        double f64;
        uint16_t half;
        int64_t integer;
    } as = {.integer = value};
    size_t size = trib_type_size(call->type);

    if (call->type == TRIB_FLOAT32) {
        as.f32 = (float)value;
    } else if (call->type == TRIB_FLOAT64) {
        as.f64 = (double)value;
    } else if (call->type == TRIB_FLOAT16 || call->type == TRIB_BFLOAT16) {
        as.half = bits_of_half(call->type, value);
    } /* integers: the low bytes, on the little-endian machines that this runs on */
    memcpy(tensor + i * size, &as, size);
}

/* A rank's part: what it sends, and what an allgather or broadcast brings of it. */
static void fill(const struct call *call, uint8_t *tensor, struct part part, uint32_t rank)
{
    for (uint64_t i = part.from; i < part.to; i++) {
        put(call, tensor, i, call->reduction == TRIB_PRODUCT ? base(call, i) : base(call, i) * (rank + 1));
    }
}

static int64_t extreme_of_bytes(int64_t value, uint32_t ranks, bool is_least)
{
    uint8_t best = (uint8_t)value;
    for (uint32_t rank = 1; rank < ranks; rank++) {
        uint8_t other = (uint8_t)(value * (rank + 1));
        best = (other < best) == is_least ? other : best;
    }
    return best;
}

static void fill_reduced(const struct call *call, uint8_t *tensor, struct part part, uint32_t ranks)
{
    for (uint64_t i = part.from; i < part.to; i++) {
        int64_t value = base(call, i);
        bool is_least = call->reduction == TRIB_MINIMUM;
        if (call->reduction == TRIB_PRODUCT) {
            value = value > 0 ? (int64_t)1 << ranks : ranks % 2 == 0 ? 1 : -1;
        } else if (call->reduction == TRIB_SUM) {
            value *= ranks * (ranks + 1) / 2;
        } else if (call->type == TRIB_UINT8) { /* -3 is 253 there, and so on */
            value = extreme_of_bytes(value, ranks, is_least);
        } else {
            value *= (value < 0) == is_least ? ranks : 1;
        }
        put(call, tensor, i, value);
    }
}

/* ---- which part of the tensor is whose ---- */

static struct part share_of(const struct call *call, uint32_t rank)
{
    struct part part = {0, call->share[rank]};

    for (uint32_t before = 0; before < rank; before++) {
        part.from += call->share[before];
    }
    part.to += part.from;
    return part;
}

static struct part received_by(const struct call *call, uint32_t rank)
{
    if (call->collective == TRIB_REDUCE && rank != call->root) {
        return (struct part){0, 0};
    }
    return call->collective == TRIB_REDUCE_SCATTER ? share_of(call, rank) : (struct part){0, call->count};
}

/* What must be where something is received, in `tensor`, which is the caller's again. */
static void expect(const struct load *load, const struct call *call, uint8_t *tensor)
{
    uint32_t ranks = trib_comm_ranks(load->comm);
    struct part received = received_by(call, trib_comm_rank(load->comm));

    if (call->collective == TRIB_ALLGATHER) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            fill(call, tensor, share_of(call, rank), rank);
        }
    } else if (call->collective == TRIB_BROADCAST) {
        fill(call, tensor, received, call->root);
    } else {
        fill_reduced(call, tensor, received, ranks);
    }
}

static void print_bytes(const uint8_t *bytes, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        printf("%02x", bytes[i]);
    }
}

/* Bit by bit against the expected tensor, which is built where the input was; and all else is as it was. */
static void check(struct load *load, const struct call *call, uint32_t slot)
{
    uint64_t size = trib_type_size(call->type);
    struct part received = received_by(call, trib_comm_rank(load->comm));

    memset(load->send[slot], UNTOUCHED, call->count * size);
    expect(load, call, load->send[slot]);
    if (memcmp(load->send[slot], load->recv[slot], call->count * size) == 0) {
        return;
    }
    for (uint64_t i = 0; i < call->count; i++) {
        bool is_ours = i >= received.from && i < received.to;
        if (memcmp(load->send[slot] + i * size, load->recv[slot] + i * size, size) != 0) {
            printf("%s rank %u: %s: element %" PRIu64 " of %" PRIu64 " %s (%s) is 0x",
                   load->wrong == 0 ? "wrong:" : "and", trib_comm_rank(load->comm),
                   trib_collective_name(call->collective), i, call->count, trib_type_name(call->type),
                   trib_reduction_name(call->reduction));
            print_bytes(load->recv[slot] + i * size, size);
            printf(", not 0x");
            print_bytes(load->send[slot] + i * size, size);
            printf("%s\n", is_ours ? "" : ", and not to be touched");
            load->wrong++;
            return;
        }
    }
}

/* ---- steps ---- */

/* Parts of 0, 1 or 2 as they come, and what is left for the last rank. */
static void draw_shares(const struct load *load, struct trib_prng *prng, struct call *call)
{
    uint32_t ranks = trib_comm_ranks(load->comm);
    uint64_t left = call->count;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint64_t some = trib_prng_below(prng, 3) * (call->count / ranks);
        call->share[rank] = rank + 1 == ranks || some > left ? left : some;
        left -= call->share[rank];
    }
}

static struct call draw(struct load *load, struct trib_prng *prng, uint32_t slot)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT32, TRIB_INT32,    TRIB_INT64,   TRIB_FLOAT64,
                                           TRIB_INT8,    TRIB_UINT8,   TRIB_BFLOAT16, TRIB_FLOAT16, TRIB_FLOAT32};
    static const enum trib_reduction reductions[] = {TRIB_SUM,     TRIB_SUM,     TRIB_SUM,
                                                     TRIB_MINIMUM, TRIB_MAXIMUM, TRIB_PRODUCT};
    static const enum trib_collective collectives[] = {TRIB_ALLREDUCE, TRIB_ALLREDUCE,     TRIB_ALLREDUCE,
                                                       TRIB_ALLREDUCE, TRIB_BROADCAST,     TRIB_REDUCE,
                                                       TRIB_ALLGATHER, TRIB_REDUCE_SCATTER};
    struct call call = {.type = types[trib_prng_below(prng, 10)], .salt = trib_prng_next(prng)};
    uint64_t bytes = load->min_bytes + trib_prng_below(prng, load->max_bytes - load->min_bytes + 1);

    call.collective = collectives[trib_prng_below(prng, 8)];
    bool reduces = call.collective != TRIB_BROADCAST && call.collective != TRIB_ALLGATHER;
    call.reduction = reduces ? reductions[trib_prng_below(prng, 6)] : TRIB_SUM;
    call.root = (uint32_t)trib_prng_below(prng, trib_comm_ranks(load->comm));
    call.count = bytes / trib_type_size(call.type);
    call.share = load->shares[slot];
    draw_shares(load, prng, &call);
    return call;
}

static enum trib_status start(struct load *load, const struct call *call, uint32_t slot, struct trib_request **request)
{
    uint32_t rank = trib_comm_rank(load->comm);
    uint64_t size = trib_type_size(call->type);
    uint8_t *send = load->send[slot], *recv = load->recv[slot];
    struct part whole = {0, call->count};
    struct part mine = share_of(call, rank);

    memset(recv, UNTOUCHED, call->count * size);
    fill(call, call->collective == TRIB_BROADCAST && rank == call->root ? recv : send, whole, rank);
    switch (call->collective) {
    case TRIB_BROADCAST:
        return trib_broadcast_start(load->comm, recv, call->count, call->type, call->root, request);
    case TRIB_REDUCE:
        return trib_reduce_start(load->comm, send, recv, call->count, call->type, call->reduction, call->root, request);
    case TRIB_ALLGATHER:
        return trib_allgather_uneven_start(load->comm, send + mine.from * size, recv, call->share, call->type, request);
    case TRIB_REDUCE_SCATTER:
        return trib_reduce_scatter_uneven_start(load->comm, send, recv + mine.from * size, call->share, call->type,
                                                call->reduction, request);
    case TRIB_ALLREDUCE:
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return trib_allreduce_start(load->comm, send, recv, call->count, call->type, call->reduction, request);
}

static void record(struct load *load, uint64_t start_ns, uint64_t step, uint64_t bytes)
{
    uint64_t end_ns = now_ns();
    uint64_t took_ns = end_ns - start_ns;

    load->slowest_ns = took_ns > load->slowest_ns ? took_ns : load->slowest_ns;
    load->bytes += bytes;
    if (took_ns >= load->slow_ns || end_ns - load->recorded_ns >= HEARTBEAT_NS) {
        load->recorded_ns = end_ns;
        (void)dprintf(load->records, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", start_ns, end_ns, step,
                      bytes);
    }
}

/* One to AT_ONCE operations under way together; the clock runs from the first start to the last end. */
static enum trib_status take_step(struct load *load, uint64_t step)
{
    struct trib_prng prng = {load->seed + step * UINT64_C(0x9e3779b97f4a7c15)};
    struct trib_request *requests[AT_ONCE];
    struct call calls[AT_ONCE];
    uint32_t count = trib_prng_below(&prng, 4) == 0 ? 1 + (uint32_t)trib_prng_below(&prng, AT_ONCE) : 1;
    enum trib_status status = TRIB_OK;
    uint64_t start_ns = now_ns();
    uint64_t bytes = 0;
    uint32_t started = 0;

    while (started < count && status == TRIB_OK) {
        calls[started] = draw(load, &prng, started);
        bytes += calls[started].count * trib_type_size(calls[started].type);
        status = start(load, &calls[started], started, &requests[started]);
        started += status == TRIB_OK;
    }
    for (uint32_t i = 0; i < started; i++) {
        enum trib_status ended = trib_request_wait(requests[i]);
        status = status == TRIB_OK ? ended : status;
    }
    if (status == TRIB_OK) {
        record(load, start_ns, step, bytes);
        load->operations += count;
        for (uint32_t i = 0; i < count; i++) {
            check(load, &calls[i], i);
        }
    }
    return status;
}

/* Rank 0 decides for all. */
static enum trib_status ask(struct load *load, uint64_t step, bool *goes_on)
{
    uint64_t start_ns = now_ns();
    uint8_t answer = !is_told_to_stop && start_ns < load->until_ns;
    enum trib_status status = trib_broadcast(load->comm, &answer, 1, TRIB_BYTES, 0);

    if (status == TRIB_OK) {
        record(load, start_ns, step, 1);
        load->operations++;
        *goes_on = answer != 0;
    }
    return status;
}

static enum trib_status run(struct load *load)
{
    enum trib_status status = TRIB_OK;
    bool goes_on = true;

    for (uint64_t step = 0; goes_on && status == TRIB_OK && load->wrong == 0; step++) {
        status = step % ASK_EVERY == ASK_EVERY - 1 ? ask(load, step, &goes_on) : take_step(load, step);
    }
    return status;
}

static void report(struct load *load, enum trib_status status)
{
    struct trib_comm_stats stats;

    trib_comm_stats(load->comm, &stats);
    printf("# rank %u: %" PRIu64 " operations, %" PRIu64 " MiB, %" PRIu64 " wrong, slowest step %.1f ms, "
           "%" PRIu64 " returns, %" PRIu64 " packets sent, %" PRIu64 " probes, %" PRIu64 " resent, %" PRIu64
           " offers, %" PRIu64 " lane failures, %" PRIu64 " packets received, %" PRIu64 " dropped\n",
           trib_comm_rank(load->comm), load->operations, load->bytes >> 20, load->wrong, (double)load->slowest_ns / 1e6,
           stats.reregistrations, stats.packets_sent, stats.probes_sent, stats.contributions_resent, stats.offers_sent,
           stats.lane_failures, stats.packets_received, stats.dropped);
    if (status != TRIB_OK) {
        printf("ended %" PRIu64 " rank %u: %s: %s\n", now_ns(), trib_comm_rank(load->comm), trib_status_text(status),
               trib_comm_error(load->comm));
    }
}

static bool make_buffers(struct load *load)
{
    bool all = true;

    for (uint32_t i = 0; i < AT_ONCE; i++) {
        load->send[i] = malloc(load->max_bytes + 8);
        load->recv[i] = malloc(load->max_bytes + 8);
        all = all && load->send[i] != NULL && load->recv[i] != NULL;
    }
    return all;
}

int main(int argc, char **argv)
{
    static struct load load;
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX];

    if (argc < 6) {
        fprintf(stderr, "usage: load RECORDS SECONDS MIN_BYTES MAX_BYTES SEED [SLOW_US]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)signal(SIGTERM, stop);
    load.records = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    load.until_ns = now_ns() + strtoull(argv[2], NULL, 10) * 1000000000;
    load.min_bytes = strtoull(argv[3], NULL, 10);
    load.max_bytes = strtoull(argv[4], NULL, 10);
    load.seed = strtoull(argv[5], NULL, 10);
    load.slow_ns = argc > 6 ? strtoull(argv[6], NULL, 10) * 1000 : 0;
    if (load.records < 0 || load.max_bytes < load.min_bytes || !make_buffers(&load)) {
        fprintf(stderr, "load: cannot write to %s, MAX_BYTES below MIN_BYTES, or out of memory\n", argv[1]);
        return 2;
    }
    if (trib_config_from_environment(&config, error) != TRIB_OK ||
        trib_comm_create(&config, &load.comm, error) != TRIB_OK) {
        printf("ended %" PRIu64 " rank not joined: %s\n", now_ns(), error);
        return 1;
    }
    enum trib_status status = run(&load);
    report(&load, status);
    if (trib_comm_close(load.comm) != TRIB_OK && status == TRIB_OK) {
        printf("ended %" PRIu64 " by close\n", now_ns());
        status = TRIB_ERR_CLOSED;
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        free(load.send[i]);
        free(load.recv[i]);
    }
    (void)close(load.records);
    return load.wrong != 0 ? EXIT_WRONG : status != TRIB_OK;
}
