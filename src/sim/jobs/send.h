/* SPDX-License-Identifier: Apache-2.0 */
/* send.h: packets of jobs on their way: kept as messages, which many packets share, and given to links.
 * Read next: send.c. */
#ifndef TRIB_SIM_JOBS_SEND_H
#define TRIB_SIM_JOBS_SEND_H

#include <string.h>

#include "sim/jobs/state.h"

/* Prefetches a message for writing, or for reading another endpoint's data. */
static inline void sim__fetch_message(const struct sim_jobs *j, uint32_t message)
{
    const char *at = (const char *)&j->messages[message % SIM_MESSAGES_MAX];

    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + 64, 1);
}

/* Each packet of a message has a reference; the last one frees it. */
static inline void sim__release_message(struct sim_jobs *j, uint32_t message)
{
    if (--j->messages[message].references == 0) {
        j->messages[message].next = j->message_free;
        j->message_free = message;
    }
}

/* Buffer for a message with a list. */
struct sim_room {
    uint8_t payload[SIM_JOB_PAYLOAD + TRIB_QUORUM_LIST];
};

/* Unpacks a message as an endpoint of this job receives it. */
static inline void sim__read_message(const struct sim_jobs *j, const struct sim_job *job, uint32_t message,
                                     struct trib_packet *packet, struct sim_room *room)
{
    const struct sim_message *m = &j->messages[message];

    memcpy(packet, m->packet, sizeof m->packet);
    packet->communicator = job->session.communicator;
    packet->payload = m->pieces != 0 ? m->payload : NULL;
    if (m->pieces == 2) {
        memcpy(room->payload, m->payload, SIM_JOB_PAYLOAD);
        memcpy(room->payload + SIM_JOB_PAYLOAD, j->lists[message], TRIB_QUORUM_LIST);
        packet->payload = room->payload;
    }
}

/* Makes a message of a packet, with no reference. */
uint32_t sim__keep_message(struct sim_jobs *j, const struct trib_packet *packet);
/* Sends an endpoint's packet to a place of its node; sends a message to the parent. */
void sim__send_packet(struct sim_jobs *j, uint32_t endpoint, const struct trib_packet *packet,
                      const struct trib_place *to);
void sim__send_up(struct sim_jobs *j, uint32_t endpoint, uint32_t message);
/* Sends from a place to these children of the endpoint: one packet over each link that leads to some of them. */
void sim__spread(struct sim_jobs *j, uint32_t message, uint32_t endpoint, uint64_t children, uint32_t place,
                 uint8_t mark);
/* Sends from a server or combiner to these ranks. A packet for all ranks behind a combiner goes through the
 * combiner. */
void sim__send_through(struct sim_jobs *j, uint32_t endpoint, uint32_t message, uint64_t ranks, uint8_t mark);

#endif
