/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_measure.c: the rate of this host's link and the overhead of a step, as a job of one rank has them: the switch
 * adds its packets and sends each result back. Smallest sums give the overhead. Then sums follow each other without a
 * gap, so that both directions of the link are full: bytes over time are the rate. Every element is looked at.
 * Read next: doctor_topology.c (where the numbers go), comm.h (the calls). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "cli/perf.h"
#include "cli/spawn.h"
#include "io/clock.h"
#include "io/explain.h"
#include "net/resolve.h"

#define STEP_CALLS 256
#define STEP_LIMIT_NS TRIB_SECOND_NS
#define STEPS_OF_SUM 2 /* up and down, as the planner counts */
/* A sum is long enough that its first and last packets do not count. */
#define SUM_NS (50 * TRIB_MILLISECOND_NS)
#define SUM_MIN (UINT64_C(64) << 10)
#define SUM_MAX (UINT64_C(64) << 20)
/* Shapers let a burst pass after a pause, so the first part is not counted. */
#define WARM_NS (500 * TRIB_MILLISECOND_NS)
#define COUNTED_NS TRIB_SECOND_NS
#define AT_ONCE 2
/* Bytes on the wire beside Tributary's packet: UDP and IP; preamble, Ethernet header, check sequence, gap. */
#define HEADERS_4 28
#define HEADERS_6 48
#define ETHERNET 38

struct measure {
    struct trib_comm *comm;
    int32_t *send;
    int32_t *recv[AT_ONCE];
    uint64_t elements; /* of a sum */
    uint32_t headers;  /* bytes of a packet on the wire beside its payload */
    char *error;
};

static bool refuse(struct measure *m, const char *what)
{
    const char *cause = trib_comm_error(m->comm);
    trib_explain(m->error, "%s: %s", what, cause[0] != '\0' ? cause : "the job has ended");
    return false;
}

/* ---- the overhead ---- */

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool measure_step(struct measure *m, uint64_t *step_ns)
{
    uint64_t times[STEP_CALLS];
    uint32_t count = 0;
    uint64_t end_ns = trib_clock_ns() + STEP_LIMIT_NS;

    while (count < STEP_CALLS && (count == 0 || trib_clock_ns() < end_ns)) {
        int32_t one = (int32_t)count;
        int32_t sum = -1;
        uint64_t begin_ns = trib_clock_ns();
        if (trib_allreduce(m->comm, &one, &sum, 1, TRIB_INT32, TRIB_SUM) != TRIB_OK) {
            return refuse(m, "a sum of one element");
        }
        times[count++] = trib_clock_ns() - begin_ns;
        if (sum != one) {
            return refuse(m, "a sum of one element is wrong");
        }
    }
    qsort(times, count, sizeof times[0], by_time);
    *step_ns = times[count / 2] / STEPS_OF_SUM;
    return true;
}

/* ---- the rate ---- */

static bool check_sum(struct measure *m, uint32_t which)
{
    bool is_right = memcmp(m->send, m->recv[which], m->elements * sizeof *m->send) == 0;

    memset(m->recv[which], 0xa5, m->elements * sizeof *m->send);
    if (!is_right) {
        trib_explain(m->error, "a sum is wrong: the switch or the link changes values");
    }
    return is_right;
}

/* Doubles the sum until it takes long enough. */
static bool find_size(struct measure *m)
{
    for (m->elements = SUM_MIN / sizeof *m->send;; m->elements *= 2) {
        uint64_t begin_ns = trib_clock_ns();
        if (trib_allreduce(m->comm, m->send, m->recv[0], m->elements, TRIB_INT32, TRIB_SUM) != TRIB_OK) {
            return refuse(m, "a sum at full rate");
        }
        uint64_t took_ns = trib_clock_ns() - begin_ns;
        if (!check_sum(m, 0)) {
            return false;
        }
        if (took_ns >= SUM_NS || m->elements * sizeof *m->send >= SUM_MAX) {
            return true;
        }
    }
}

static bool start_sum(struct measure *m, uint32_t which, struct trib_request **request)
{
    return trib_allreduce_start(m->comm, m->send, m->recv[which], m->elements, TRIB_INT32, TRIB_SUM, request) ==
               TRIB_OK ||
           refuse(m, "a sum at full rate");
}

/* Bits on the wire, in one direction, of all fragments so far. */
static uint64_t wire_bits(const struct measure *m)
{
    struct trib_comm_stats stats;

    trib_comm_stats(m->comm, &stats);
    return 8 * stats.fragments * m->headers;
}

/* Two sums are under way at any time. The looks at results take the CPU and not the link, since the next sum runs. */
static bool run_sums(struct measure *m, uint64_t *bits, uint64_t *took_ns)
{
    struct trib_request *requests[AT_ONCE] = {NULL, NULL};
    const uint64_t warm_ns = trib_clock_ns() + WARM_NS;
    uint64_t begin_ns = 0;
    uint64_t begin_bits = 0;
    bool is_good = start_sum(m, 0, &requests[0]) && start_sum(m, 1, &requests[1]);

    *bits = *took_ns = 0;
    for (uint32_t next = 0; is_good && *took_ns < COUNTED_NS; next = (next + 1) % AT_ONCE) {
        struct trib_request *request = requests[next];
        requests[next] = NULL;
        is_good = trib_request_wait(request) == TRIB_OK || refuse(m, "a sum at full rate");
        uint64_t now_ns = trib_clock_ns();
        if (begin_ns != 0) {
            *bits += 8 * m->elements * sizeof *m->send;
            *took_ns = now_ns - begin_ns;
        } else if (now_ns >= warm_ns) {
            begin_ns = now_ns;
            begin_bits = wire_bits(m);
        }
        if (*took_ns >= COUNTED_NS) {
            *bits += wire_bits(m) - begin_bits;
        }
        is_good = is_good && check_sum(m, next) && start_sum(m, next, &requests[next]);
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        if (requests[i] != NULL && trib_request_wait(requests[i]) != TRIB_OK && is_good) {
            is_good = refuse(m, "a sum at full rate");
        }
    }
    return is_good;
}

static bool measure_rate(struct measure *m, uint64_t *rate_bps)
{
    uint64_t bits = 0;
    uint64_t took_ns = 1;

    for (uint64_t i = 0; i < SUM_MAX / sizeof *m->send; i++) {
        m->send[i] = (int32_t)(i * UINT64_C(2654435761) >> 8);
    }
    if (!find_size(m) || !run_sums(m, &bits, &took_ns)) {
        return false;
    }
    *rate_bps = (uint64_t)((double)bits * 1e9 / (double)took_ns);
    return true;
}

/* ---- the job ---- */

/* The environment's settings, as a rank has them, but for those that are about other ranks. */
static void settle(struct trib_config *config, const struct doctor *doctor)
{
    (void)snprintf(config->switch_address, sizeof config->switch_address, "%s", doctor->switch_address);
    (void)snprintf(config->scheme, sizeof config->scheme, "ps"); /* every switch takes it */
    (void)snprintf(config->job, sizeof config->job, "doctor-");
    spawn_job_name(config->job + strlen(config->job), sizeof config->job - strlen(config->job));
    config->run[0] = '\0';
    config->rendezvous[0] = '\0';
    config->rank = 0;
    config->ranks = 1;
    config->gradient_bytes = 0;
    config->wire = TRIB_WIRE_OF_SCHEME;
    config->level0 = false;
    config->multicast = false;
    config->fallback = false;
    config->faults = (struct trib_faults){.seed = 0};
    config->join_timeout_ns = doctor->timeout_ns;
    config->switch_timeout_ns = doctor->timeout_ns;
    config->timeout_ns = 60 * TRIB_SECOND_NS;
}

static bool measure_all(struct measure *m, struct doctor_numbers *numbers)
{
    m->send = malloc(SUM_MAX);
    m->recv[0] = malloc(SUM_MAX);
    m->recv[1] = malloc(SUM_MAX);
    bool is_good = m->send != NULL && m->recv[0] != NULL && m->recv[1] != NULL;
    if (!is_good) {
        trib_explain(m->error, "out of memory");
    }
    is_good = is_good && measure_step(m, &numbers->step_ns) && measure_rate(m, &numbers->rate_bps);
    free(m->send);
    free(m->recv[0]);
    free(m->recv[1]);
    return is_good;
}

bool doctor_measure(const struct doctor *doctor, const struct trib_config *settings, struct doctor_numbers *numbers,
                    char *error)
{
    struct trib_config config = *settings;
    struct trib_address address;
    struct measure m = {.error = error};

    settle(&config, doctor);
    if (trib_address_parse(doctor->switch_address, TRIB_DEFAULT_PORT, &address, error) != TRIB_OK) {
        return false;
    }
    m.headers = TRIB_HEADER_SIZE + ETHERNET + (address.storage.ss_family == AF_INET6 ? HEADERS_6 : HEADERS_4);
    enum trib_status status = trib_comm_create(&config, &m.comm, error);
    trib_wipe(config.key, sizeof config.key);
    if (status != TRIB_OK) {
        return false;
    }
    bool is_good = measure_all(&m, numbers);
    (void)trib_comm_close(m.comm);
    return is_good;
}
