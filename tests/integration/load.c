/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: one rank under load, for the scripts of this folder: collectives of seeded kinds, types and sizes, one after another or a
 * few at a time, every element of every result looked at, and the time of each step written down, so that a script can tell
 * afterwards what an event cost whom. It knows nothing of events, and measures no speed (`tributary perf` does).
 *
 *   load RECORDS SECONDS MIN_BYTES MAX_BYTES SEED [SLOW_US]
 *
 * The environment says which rank this is (TRIB_*). All ranks must have the same arguments but RECORDS. Ends after SECONDS, or when
 * rank 0 gets SIGTERM, all ranks after the same step. RECORDS gets a line for each step that took SLOW_US [0] or longer, and
 * every 50 ms one anyway: "start end step bytes", times as nanoseconds of the wall clock, as in the log of a switch.
 * Exit status 0: all was right; 1: the communicator ended (the last line says when and why); 3: a wrong element. */
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

struct load {
    struct trib_comm *comm;
    int records;
    uint64_t until_ns, slow_ns, recorded_ns;
    uint64_t min_bytes, max_bytes, seed;
    uint64_t operations, bytes, slowest_ns;
    uint64_t wrong;
    uint8_t *send[AT_ONCE], *recv[AT_ONCE];
};

/* What every rank does in a step, out of the seed and the step's number alone. */
struct call {
    enum trib_type type;
    bool is_broadcast;
    uint32_t root;
    uint64_t count;
    uint64_t salt; /* of its values */
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

/* ---- values: a whole number from -15 to 15 out of place and call, times a factor of the rank, so that a contribution
 * that is missing, doubled, of another fragment or of another call changes the sum, and every type holds the sum exactly ---- */

static int32_t base(uint64_t salt, uint64_t i)
{
    uint32_t x = (uint32_t)i * UINT32_C(0x9e3779b1) + (uint32_t)salt;
    x = (x ^ x >> 15) * UINT32_C(0x85ebca77);
    return (int32_t)(x >> 27) - 16 + (x >> 27 == 0);
}

static void fill(const struct call *call, uint8_t *tensor, int32_t factor)
{
    for (uint64_t i = 0; i < call->count; i++) {
        int32_t value = factor * base(call->salt, i);
        if (call->type == TRIB_FLOAT32) {
            ((float *)(void *)tensor)[i] = (float)value;
        } else if (call->type == TRIB_INT32) {
            ((int32_t *)(void *)tensor)[i] = value;
        } else {
            ((int64_t *)(void *)tensor)[i] = value;
        }
    }
}

static double element(const struct call *call, const uint8_t *tensor, uint64_t i)
{
    if (call->type == TRIB_FLOAT32) {
        return (double)((const float *)(const void *)tensor)[i];
    }
    return call->type == TRIB_INT32 ? (double)((const int32_t *)(const void *)tensor)[i]
                                    : (double)((const int64_t *)(const void *)tensor)[i];
}

/* Bit by bit against the expected tensor, which is built where the input was: a buffer that is the caller's again. */
static void check(struct load *load, const struct call *call, uint32_t slot)
{
    uint32_t ranks = trib_comm_ranks(load->comm);
    uint64_t bytes = call->count * trib_type_size(call->type);
    int32_t factor = (int32_t)(call->is_broadcast ? call->root + 1 : ranks * (ranks + 1) / 2);

    fill(call, load->send[slot], factor);
    if (memcmp(load->send[slot], load->recv[slot], bytes) == 0) {
        return;
    }
    for (uint64_t i = 0; i < call->count; i++) {
        double want = element(call, load->send[slot], i);
        double got = element(call, load->recv[slot], i);
        if (want < got || want > got || got != got) { /* NaN is wrong as well */
            printf("%s rank %u: element %" PRIu64 " of %" PRIu64 " %s is %.17g, not %.17g\n",
                   load->wrong == 0 ? "wrong:" : "and", trib_comm_rank(load->comm), i, call->count,
                   trib_type_name(call->type), got, want);
            load->wrong++;
            return;
        }
    }
}

/* ---- steps ---- */

static struct call draw(const struct load *load, struct trib_prng *prng)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT32, TRIB_INT32, TRIB_INT64};
    struct call call = {.type = types[trib_prng_below(prng, 4)], .salt = trib_prng_next(prng)};
    uint64_t bytes = load->min_bytes + trib_prng_below(prng, load->max_bytes - load->min_bytes + 1);

    call.is_broadcast = trib_prng_below(prng, 8) == 0;
    call.root = (uint32_t)trib_prng_below(prng, trib_comm_ranks(load->comm));
    call.count = bytes / trib_type_size(call.type);
    return call;
}

static enum trib_status start(struct load *load, const struct call *call, uint32_t slot, struct trib_request **request)
{
    uint32_t rank = trib_comm_rank(load->comm);

    if (call->is_broadcast) {
        if (rank == call->root) {
            fill(call, load->recv[slot], (int32_t)rank + 1);
        } else {
            memset(load->recv[slot], 0xa5, call->count * trib_type_size(call->type));
        }
        return trib_broadcast_start(load->comm, load->recv[slot], call->count, call->type, call->root, request);
    }
    fill(call, load->send[slot], (int32_t)rank + 1);
    memset(load->recv[slot], 0xa5, call->count * trib_type_size(call->type));
    return trib_allreduce_start(load->comm, load->send[slot], load->recv[slot], call->count, call->type, TRIB_SUM,
                                request);
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
        calls[started] = draw(load, &prng);
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
           " offers, %" PRIu64 " lane failures\n",
           trib_comm_rank(load->comm), load->operations, load->bytes >> 20, load->wrong, (double)load->slowest_ns / 1e6,
           stats.reregistrations, stats.packets_sent, stats.probes_sent, stats.contributions_resent, stats.offers_sent,
           stats.lane_failures);
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
    struct load load = {0};
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
