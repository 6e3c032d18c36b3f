/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c: the numbers that jobs sum, and the check of their sums (jobs.h). All workers of a job send the same
 * numbers from one buffer, and receive into one buffer. A ring in steps has no numbers.
 *
 * If sums may lack ranks, numbers are float32 and small enough that the sum of any ranks is exact. Every sum that a
 * worker takes is compared at once. It must be the number times the count of listed ranks, and all workers must see the
 * same list. The worker has checked by the lane which ranks are in. Workers may be several iterations apart, as far as
 * the window reaches, and there is a turn for each of these iterations.
 *
 * Read next: jobs.c. */
#include "sim/jobs/numbers.h"

#include <string.h>

#include "core/lane.h"

#define POISON INT32_MIN
#define QUORUM_MASK 0x3fffU /* (this + 1) x 512 ranks = 2^23, where float32 is exact */

static bool has_quorum(const struct sim_job *job)
{
    return trib_session_has_quorum(&job->session);
}

/* Returns a rank's number. */
static int32_t number_of(const struct sim_job *job, uint32_t iteration, uint64_t element)
{
    uint64_t drawn = trib_mix64((uint64_t)iteration << 32 | element);

    return has_quorum(job) ? 1 + (int32_t)(drawn & QUORUM_MASK) : (int32_t)(drawn & 0xffff);
}

/* Returns a number times a number of ranks, in the tensor's representation. */
static int32_t times(const struct sim_job *job, int32_t number, uint32_t ranks)
{
    int32_t sum = number * (int32_t)ranks;
    float real = (float)sum;

    if (has_quorum(job)) {
        memcpy(&sum, &real, sizeof sum);
    }
    return sum;
}

/* Returns the number of ranks in an element of a sum; 0: the element is wrong. */
static uint32_t ranks_in(int32_t bits, int32_t number)
{
    float real;

    memcpy(&real, &bits, sizeof real);
    bool is_whole = real > 0 && real < 0x1p24F && real == (float)(int32_t)real;
    return is_whole && (int32_t)real % number == 0 ? (uint32_t)((int32_t)real / number) : 0;
}

bool sim__numbers_open(struct sim_jobs *j, struct sim_job *job)
{
    uint64_t window = (uint64_t)job->session.roots *
                      (job->session.slots + 1); /* a sequence is less than this above the lowest mark */

    job->turn_count = 2 + (has_quorum(job) ? (uint32_t)(window / job->fragments) : 0);
    job->turns = sim__jobs_take(j, job, job->turn_count * sizeof *job->turns);
    for (uint32_t i = 0; job->turns != NULL && job->scheme != NULL && i < job->turn_count; i++) {
        struct sim_turn *turn = &job->turns[i];
        turn->send = sim__jobs_take(j, job, sim__jobs_elements(job) * sizeof(int32_t));
        turn->recv = sim__jobs_take(j, job, sim__jobs_elements(job) * sizeof(int32_t));
        if (turn->send == NULL || turn->recv == NULL) {
            return false;
        }
    }
    if (has_quorum(job)) {
        job->said_count = (uint32_t)window;
        job->said = sim__jobs_take(j, job, window * sizeof *job->said);
    }
    return job->turns != NULL && (job->said != NULL || !has_quorum(job));
}

/* The turn's previous iteration has ended at all ranks before any rank begins this one. */
void sim__numbers_prepare(struct sim_job *job, uint32_t iteration)
{
    struct sim_turn *turn = sim_job_turn(job, iteration);

    TRIB_ASSERT(iteration - job->iterations <= job->turn_count);
    job->prepared = iteration;
    turn->computed = turn->ended = 0;
    for (uint64_t i = 0; job->scheme != NULL && i < sim__jobs_elements(job); i++) {
        turn->send[i] = times(job, number_of(job, iteration, i), job->config.ranks);
        turn->recv[i] = POISON;
    }
}

void sim__numbers_compare(struct sim_job *job, uint32_t iteration)
{
    const struct sim_turn *turn = sim_job_turn(job, iteration);
    uint32_t ranks = job->config.workers * job->config.ranks;
    uint32_t least = ranks - trib_quorum_spare(&job->session, ranks);

    for (uint64_t i = 0; i < sim__jobs_elements(job); i++) {
        int32_t number = number_of(job, iteration, i);
        if (has_quorum(job)) {
            uint32_t in = ranks_in(turn->recv[i], number);
            job->wrong += in < least || in > ranks;
        } else {
            job->wrong += turn->recv[i] != times(job, number, ranks);
        }
        job->compared++;
    }
}

/* Returns the buffer index of the sequence's fragment. */
static uint64_t first_element(const struct sim_job *job, uint64_t sequence)
{
    uint64_t at = sequence % job->fragments;
    uint32_t bucket = (uint32_t)(at * job->config.buckets / job->fragments);

    while (sim__jobs_bucket_end(job, bucket) <= at) {
        bucket++;
    }
    at -= bucket != 0 ? sim__jobs_bucket_end(job, bucket - 1) : 0;
    uint64_t part = at / SIM_FRAGMENTS < job->parts ? at / SIM_FRAGMENTS : job->parts - 1;
    return (at - part * SIM_FRAGMENTS) * SIM_JOB_ELEMENTS;
}

static uint64_t hash_of(const uint8_t *list)
{
    uint64_t hash = 1;

    for (uint32_t i = 0; i < TRIB_QUORUM_LIST; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, list + i, sizeof word);
        hash = trib_mix64(hash ^ word);
    }
    return hash;
}

/* Returns one number for all ranks in the sum; 0: the packet names none, so all ranks are in. */
static uint64_t ranks_of(const struct sim_job *job, const struct trib_packet *packet)
{
    const uint8_t *list = trib_quorum_list(packet);

    if (job->scheme->listed != NULL) {
        return job->scheme->listed(packet);
    }
    return list != NULL ? hash_of(list) : 0;
}

void sim__numbers_taken(struct sim_job *job, const struct trib_packet *packet)
{
    struct sim_said *said = &job->said[packet->sequence % job->said_count];
    struct sim_said says = {packet->sequence + 1, ranks_of(job, packet)};
    uint32_t iteration = (uint32_t)(packet->sequence / job->fragments) + 1;
    uint64_t first = first_element(job, packet->sequence);
    const uint8_t *payload = packet->payload;

    TRIB_ASSERT(payload != NULL);
    if (said->behind != says.behind) {
        *said = says;
        job->sums++;
        job->lacking += packet->contributors < job->config.workers * job->config.ranks;
    }
    job->wrong += said->ranks != says.ranks;
    for (uint32_t i = 0; i < SIM_JOB_ELEMENTS; i++) {
        int32_t number;
        memcpy(&number, payload + i * sizeof number, sizeof number);
        job->wrong += number != times(job, number_of(job, iteration, first + i), packet->contributors);
        job->compared++;
    }
}
