/* SPDX-License-Identifier: Apache-2.0 */
/* seats_harness.h: a control plane without sockets, and ranks that keep what it tells them. The test says SEATS. */
#ifndef TRIB_TEST_SEATS_HARNESS_H
#define TRIB_TEST_SEATS_HARNESS_H

#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "leaves_harness.h"

/* A rank. */
struct seat {
    struct trib_session session;
    struct trib_message join;
    struct trib_message first, last; /* of what it was told */
    bool has_ended;
};

struct at_switch {
    struct trib_server_config config;
    struct recorder recorder;
    struct trib_jobs jobs;
    struct seat seat[SEATS];
    uint32_t seats;
};

static inline void seat_take(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct seat *seat = (struct seat *)(void *)session;
    (void)owner;
    seat->first = seat->first.kind == TRIB_MESSAGE_NONE ? *message : seat->first;
    seat->last = *message;
}

static inline void seat_end(void *owner, struct trib_session *session)
{
    (void)owner;
    ((struct seat *)(void *)session)->has_ended = true;
}

static inline void switch_begin(struct at_switch *s, uint32_t shards, uint32_t boot)
{
    const struct trib_jobs_output output = {s, seat_take, seat_end, NULL, test_draw, NULL};
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->recorder.lock, NULL);
    s->config.listen = trib_address_v4(0x0a000001, 7470);
    s->config.shards = shards;
    s->config.memory_quota = s->config.job_quota = UINT64_C(1) << 40;
    s->config.receive_room = 64U << 20;
    s->config.join_timeout_ns = 30 * TRIB_SECOND_NS;
    s->config.boot = boot;
    s->config.plane = recorder_verbs(&s->recorder);
    trib_jobs_init(&s->jobs, &s->config, &output);
}

static inline void switch_end(struct at_switch *s)
{
    trib_jobs_deinit(&s->jobs, TRIB_ERR_SWITCH, "the end");
    trib_jobs_check(&s->jobs);
    assert_null(s->jobs.owners);
    assert_null(s->jobs.agent.first);
    pthread_mutex_destroy(&s->recorder.lock);
}

/* The message of a rank at an address of its own. */
static inline struct seat *seat_join(struct at_switch *s, const struct trib_message *message)
{
    assert_true(s->seats < SEATS);
    struct seat *seat = &s->seat[s->seats++];
    seat->session.peer = trib_address_v4(0x0a010000 + s->seats, 50000);
    seat->join = *message;
    assert_true(trib_jobs_receive(&s->jobs, &seat->session, message, 1));
    return seat;
}

#endif
