/* SPDX-License-Identifier: Apache-2.0 */
/* test_begin.c: how many jobs, and how much memory, the ranks of one key have at a control plane, whatever addresses
 * they come from. Mirrors src/control/jobs/begin.c; test_server_border.c has the shares of one address, test_agent.c
 * the memory of slots. No sockets: sessions take what they are told. */
#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/state.h"

#define SEATS (TRIB_JOBS_MAX + 8)
#include "seats_harness.h"

#define KEY UINT64_C(0x1122334455667788)
#define OTHER_KEY UINT64_C(0x8877665544332211)

static int set_up(void **state)
{
    struct at_switch *s = calloc(1, sizeof *s);
    switch_begin(s, 1, 7);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    switch_end(*state);
    free(*state);
    return 0;
}

/* Rank 0 of a new job. */
static struct seat *begin(struct at_switch *s, uint64_t key, uint32_t ranks)
{
    struct trib_message message = join_message(0, ranks);
    (void)snprintf(message.join.job, sizeof message.join.job, "job %u", s->seats + 1);
    message.join.key = key;
    return seat_join(s, &message);
}

static void leave(struct at_switch *s, struct seat *seat)
{
    trib_jobs_gone(&s->jobs, &seat->session, "it is gone", 2);
}

static void expect_away(const struct seat *seat, const char *part)
{
    assert_null(seat->session.job);
    assert_int_equal(seat->last.kind, TRIB_MESSAGE_AWAY);
    if (!strstr(seat->last.note.text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, seat->last.note.text);
    }
}

/* However small they are: a quarter of what there may be is for others. */
static void jobs__of_one_key(void **state)
{
    struct at_switch *s = *state;
    for (uint32_t i = 0; i < TRIB_JOBS_NEAR_MAX; i++) {
        assert_non_null(begin(s, KEY, 2)->session.job);
    }
    expect_away(begin(s, KEY, 2), "key 1122334455667788 has begun 768 jobs, and one key may have so many of the 1024 "
                                  "of this switch: come again when some of them have ended");
    assert_non_null(begin(s, OTHER_KEY, 2)->session.job);
    assert_non_null(begin(s, 0, 2)->session.job);
    leave(s, &s->seat[0]);
    assert_non_null(begin(s, KEY, 2)->session.job);
    expect_away(begin(s, KEY, 2), "key 1122334455667788 ");
    trib_jobs_check(&s->jobs);
}

/* A job that waits for its ranks has a place for each. */
static void memory__of_one_key(void **state)
{
    struct at_switch *s = *state;
    uint32_t count = 0;
    while (begin(s, KEY, TRIB_RANKS_MAX)->session.job) {
        count++;
    }
    assert_in_range(count, 17, 80);
    expect_away(&s->seat[count], "one key may have 256 MiB for such jobs; those from key 1122334455667788 hold 2");
    assert_non_null(begin(s, OTHER_KEY, TRIB_RANKS_MAX)->session.job);
    leave(s, &s->seat[0]);
    assert_non_null(begin(s, KEY, TRIB_RANKS_MAX)->session.job);
}

/* All jobs in the process of rank 0 are of its program. */
static void jobs__of_one_program(void **state)
{
    struct at_switch *s = *state;
    s->config.shards = 0;
    for (uint32_t i = 0; i < TRIB_JOBS_NEAR_MAX + 1; i++) {
        assert_non_null(begin(s, KEY, 2)->session.job);
    }
}

/* Jobs without a key have no tenant. Texts of FAIL: test_agent.c. */
static void slots__of_one_key(void **state)
{
    struct at_switch *s = *state;
    const struct seat *first = begin(s, KEY, 1);
    assert_int_equal(first->last.kind, TRIB_MESSAGE_WELCOME);
    assert_int_equal(first->session.job->here.tenant, KEY);
    uint64_t each = first->session.job->here.bytes;
    assert_true(each > 0);
    s->jobs.agent.tenant_quota = 2 * each;
    assert_int_equal(begin(s, KEY, 1)->last.kind, TRIB_MESSAGE_WELCOME);
    const struct seat *third = begin(s, KEY, 1);
    assert_int_equal(third->last.kind, TRIB_MESSAGE_FAIL);
    assert_int_equal(third->last.fail.status, TRIB_ERR_REFUSED);
    assert_non_null(strstr(third->last.fail.text, "raise the quota (--tenant-quota)"));
    assert_int_equal(begin(s, OTHER_KEY, 1)->last.kind, TRIB_MESSAGE_WELCOME);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(begin(s, 0, 1)->last.kind, TRIB_MESSAGE_WELCOME);
    }
    trib_jobs_check(&s->jobs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs__of_one_key),
        TEST(memory__of_one_key),
        TEST(jobs__of_one_program),
        TEST(slots__of_one_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
