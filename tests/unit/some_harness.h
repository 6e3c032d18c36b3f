/* SPDX-License-Identifier: Apache-2.0 */
/* some_harness.h: four switches, of which each job is dealt over two, for test_trees.c and test_trees_faults.c: what
 * switches_harness.h has, and jobs of several processes. */
#ifndef TRIB_TESTS_SOME_HARNESS_H
#define TRIB_TESTS_SOME_HARNESS_H

#define LENDERS 3
#include "switches_harness.h"

#include "control/roots/trees.h"

/* Four switches A to D, of which each job is dealt over two. */
static inline int start_two(void **state)
{
    int failed = start(state);
    struct switches *s = *state;
    s->h.config.trees = 2;
    for (uint32_t i = 0; i < LENDERS; i++) {
        s->lender[i].config.shards = s->lender[i].jobs.agent.shards = 2;
        s->lender[i].config.weight = 1;
        s->lender[i].fake.has_many = true;
    }
    s->fake.has_many = true;
    return failed;
}

/* A communicator of two ranks, by these two sessions, in the processes `process` and the next one. */
static inline void join_two(struct switches *s, const char *name, uint32_t session, uint32_t process)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_of(i, 2);
        strcpy(join.join.job, name);
        join.join.data_port[0] = (uint16_t)(20000 + process + i);
        s->h.process[session + i].session.peer = trib_address_v4(0x0a000201 + process + i, (uint16_t)(50000 + session));
        assert_true(say(&s->h, session + i, &join));
    }
    run_links(s);
}

/* "AC": the switches of the job that this session's rank is in. */
static inline void assert_trees(const struct switches *s, uint32_t session, const char *want)
{
    char is[TRIB_SWITCHES_MAX + 1] = "";
    const struct process *p = &s->h.process[session];
    const struct trib_job *job = p->session.job;
    assert_true(p->welcomes > 0);
    assert_non_null(job);
    for (uint32_t k = 0; k < trib_trees_count(&s->h.jobs, job); k++) {
        is[k] = (char)('A' + trib_trees_at(job, k));
    }
    assert_string_equal(is, want);
}

static inline void end_two(struct switches *s, uint32_t session)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct process *p = &s->h.process[session + i];
        if (!p->has_ended) {
            go(&s->h, session + i);
        }
        p->has_ended = false;
        p->session.job = NULL;
        p->fails = 0;
    }
    run_links(s);
}

static inline struct trib_message return_of(struct switches *s, uint32_t session, const char *switches)
{
    struct trib_message join = join_of(session, 2);
    struct trib_grant *known = &join.join.known;
    (void)s;
    *known = (struct trib_grant){
        .salt = 1, .token = 2, .job_token = 4, .communicator = 3, .boot = 4, .roots = 4, .generation = 1};
    known->train = known->window = 8;
    known->slots = 16;
    memcpy(known->switches, switches, strlen(switches));
    join.join.was_ready = true;
    return join;
}

#endif
