/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c: data of the control plane that contradict themselves are found: each row breaks one rule of a job that
 * runs, or is on its way. Mirrors src/control/jobs/check.c; that the rules hold is shown by the harnesses and the fuzz
 * targets, which check all after each event. */
#include "control/jobs/check.h"
#include "core/assert.h"
#include "roots_harness.h"

static jmp_buf failed;

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    (void)expr;
    (void)file;
    (void)line;
    longjmp(failed, 1);
}

static bool is_found(const struct hosts *h)
{
    if (setjmp(failed) != 0) {
        return true;
    }
    trib_jobs_check(&h->jobs);
    return false;
}

/* False: there is no such row. */
static bool break_job(struct trib_job *job, unsigned row)
{
    uint32_t *const numbers[] = {&job->grant.communicator, &job->grant.boot,   &job->grant.roots,
                                 &job->grant.train,        &job->grant.window, &job->children};
    bool *const flags[] = {&job->is_open, &job->is_recalled, &job->is_ring, &job->multicast, &job->was_running};
    if (row < 6) {
        *numbers[row] = 0;
        return true;
    }
    if (row < 11) {
        *flags[row - 6] ^= true;
        return true;
    }
    job->state = row == 11 ? TRIB_JOB_JOINING : job->state;
    job->hosts = row == 12 ? 2 : 0;
    job->deadline_ns = row == 13 ? TRIB_SECOND_NS : job->deadline_ns;
    job->name[0] = row == 14 ? '\0' : job->name[0];
    job->grant.window += row == 15 ? job->grant.slots : 0;
    job->dispute.deadline_ns = row == 16 ? 1 : 0;
    job->dispute.rank[1] = 3;
    return row < 17;
}

static bool break_rank(struct trib_rank *rank, unsigned row)
{
    bool *const flags[] = {&rank->is_registered, &rank->has_left, &rank->is_outside, &rank->has_multicast,
                           &rank->stall.is_open};
    if (row < 5) {
        *flags[row] ^= true;
        return true;
    }
    rank->mark = row == 5 ? TRIB_SEQUENCE_MAX + 1 : rank->mark;
    rank->name[0] = row == 6 ? '\0' : rank->name[0];
    rank->branch = row == 7 ? 3 : rank->branch;
    rank->session = row == 8 ? rank[1].session : row == 11 ? NULL : rank->session; /* 11: it has a root */
    rank->branch = row == 9 ? 0 : rank->branch;
    rank->known_boot = row == 10 ? BOOT : rank->known_boot;
    return row < 12;
}

static bool break_jobs(struct trib_jobs *jobs, unsigned row)
{
    struct trib_job *job = jobs->first;
    jobs->count += row == 0;
    jobs->agent.memory_used += row == 1;
    if (row == 2) {
        trib_rank_set_add(&job->leaders, 1);
    }
    if (row == 3) { /* a rank waits, and nobody looks at its mark */
        job->ranks[1].mark = 5;
        job->marks_ns = TRIB_NEVER;
    }
    job->owner = row == 4 ? NULL : job->owner;
    job->here.job_id += row == 5;
    job->next_owned = row == 6 ? job : job->next_owned;
    jobs->owners = row == 7 ? NULL : jobs->owners;
    return row < 8;
}

static bool break_rule(struct trib_jobs *jobs, unsigned row)
{
    return row < 17   ? break_job(jobs->first, row)
           : row < 29 ? break_rank(&jobs->first->ranks[1], row - 17)
                      : break_jobs(jobs, row - 29);
}

static void each_broken_rule__is_found(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    assert_false(is_found(h));
    const struct trib_jobs jobs = h->jobs;
    size_t size = sizeof *jobs.first + 3 * sizeof jobs.first->ranks[0];
    struct trib_job *job = malloc(size);
    assert_non_null(job);
    memcpy(job, jobs.first, size);
    for (unsigned row = 0; break_rule(&h->jobs, row); row++) {
        if (!is_found(h)) {
            fail_msg("row %u", row);
        }
        h->jobs = jobs;
        memcpy(jobs.first, job, size);
    }
    free(job);
    assert_false(is_found(h));
}

/* Before READY as well: a session that another job has. */
static void session__of_another_job_is_found(void **state)
{
    struct hosts *h = *state;
    join_all(h, 3);
    assert_false(is_found(h));
    h->process[1].session.job = NULL;
    assert_true(is_found(h));
    h->process[1].session.job = h->jobs.first;
    h->jobs.first->deadline_ns = TRIB_NEVER;
    assert_true(is_found(h));
    h->jobs.first->deadline_ns = 6 * TRIB_SECOND_NS;
    assert_false(is_found(h));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hosts_start, hosts_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_broken_rule__is_found),
        TEST(session__of_another_job_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
