/* SPDX-License-Identifier: Apache-2.0 */
/* test_owner.c: jobs and their communicators: which job a JOIN is of, and the quota that a job has for all of them.
 * Mirrors src/control/jobs/owner.c. No sockets: sessions take what they are told, and all is checked after each event. */
#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/owner.h"

#define SEATS 16
#include "seats_harness.h"

static struct seat *join(struct at_switch *s, const struct trib_message *message)
{
    struct seat *seat = seat_join(s, message);
    trib_jobs_check(&s->jobs);
    return seat;
}

static struct trib_message join_of(const char *job, uint32_t rank, uint32_t ranks)
{
    struct trib_message message = join_message(rank, ranks);
    (void)snprintf(message.join.job, sizeof message.join.job, "%s", job);
    return message;
}

/* A communicator of one rank. */
static struct seat *join_alone(struct at_switch *s, const char *job)
{
    const struct trib_message message = join_of(job, 0, 1);
    return join(s, &message);
}

static const struct trib_grant *grant_of(const struct seat *seat)
{
    if (seat->first.kind != TRIB_MESSAGE_WELCOME) {
        fail_msg("%s: %s", trib_message_name(seat->first.kind), seat->first.fail.text);
    }
    return &seat->first.welcome.grant;
}

static struct trib_message derived_join(const struct seat *maker, const char *name, uint32_t rank, uint32_t ranks)
{
    struct trib_message message = join_of(name, rank, ranks);
    bool is_derived = maker->join.join.maker.communicator != 0;
    message.join.maker.communicator = grant_of(maker)->communicator;
    message.join.maker.job_token = grant_of(maker)->job_token;
    memcpy(message.join.maker.job, is_derived ? maker->join.join.maker.job : maker->join.join.job,
           sizeof message.join.maker.job);
    return message;
}

static struct seat *split(struct at_switch *s, const struct seat *maker, const char *name)
{
    const struct trib_message message = derived_join(maker, name, 0, 1);
    return join(s, &message);
}

/* With the grant of its WELCOME, at a switch that has started anew. */
static struct seat *come_back(struct at_switch *s, const struct seat *before)
{
    struct trib_message message = before->join;
    message.join.known = *grant_of(before);
    message.join.was_ready = true;
    return join(s, &message);
}

static void leave(struct at_switch *s, struct seat *seat)
{
    trib_jobs_gone(&s->jobs, &seat->session, "it is gone", 2);
    trib_jobs_check(&s->jobs);
}

static void expect_refusal(const struct seat *seat, enum trib_status status, const char *part)
{
    assert_int_equal(seat->first.kind, TRIB_MESSAGE_FAIL);
    assert_int_equal(seat->first.fail.status, status);
    if (!strstr(seat->first.fail.text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, seat->first.fail.text);
    }
    assert_true(seat->has_ended);
}

/* What one communicator of these tests takes; then as many fit a job as `count`. */
static void allow(struct at_switch *s, const struct seat *seat, uint32_t count)
{
    uint64_t each = seat->session.job->here.bytes;
    assert_true(each > 0);
    s->jobs.agent.job_quota = each * count + each / 2;
}

/* ---- one quota ---- */

static void splits__of_one_job_share_its_quota(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    allow(s, all, 3);
    const struct seat *half = split(s, all, "train/0-1");
    struct seat *quarter = split(s, half, "train/0-1/0-2"); /* a split of a split */
    assert_int_equal(trib_owners_count(&s->jobs), 1);
    assert_string_equal(s->jobs.owners->name, "train");
    assert_int_equal(grant_of(half)->job_token, grant_of(all)->job_token);
    assert_int_equal(grant_of(quarter)->job_token, grant_of(all)->job_token);
    assert_int_not_equal(grant_of(half)->token, grant_of(all)->token);
    const struct seat *refused = split(s, all, "train/1-3");
    expect_refusal(refused, TRIB_ERR_REFUSED, "job train/1-3 needs ");
    expect_refusal(refused, TRIB_ERR_REFUSED, " beside 3 other groups of the same job with ");
    expect_refusal(refused, TRIB_ERR_REFUSED, "; they are train/0-1/0-2 (");
    expect_refusal(refused, TRIB_ERR_REFUSED, "), train/0-1 (");
    expect_refusal(refused, TRIB_ERR_REFUSED, "), train (");
    leave(s, quarter);
    (void)grant_of(split(s, all, "train/1-3")); /* there is room again */
    (void)grant_of(join_alone(s, "other"));     /* and another job has its own */
    assert_int_equal(trib_owners_count(&s->jobs), 2);
}

/* The text names some of them, and says how many there are. */
static void splits__too_many_to_list(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    char name[TRIB_NAME_MAX + 1];
    allow(s, all, 7);
    for (unsigned i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "train/%u", i);
        (void)grant_of(split(s, all, name));
    }
    const struct seat *refused = split(s, all, "train/6");
    expect_refusal(refused, TRIB_ERR_REFUSED, " beside 7 other groups of the same job with ");
    expect_refusal(refused, TRIB_ERR_REFUSED, " and 3 more");
}

/* ---- strangers ---- */

static void stranger__does_not_charge_a_job(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    allow(s, all, 2);
    (void)grant_of(split(s, all, "train/0"));
    struct trib_message message = derived_join(all, "train/1", 0, 1);
    const struct trib_owner *owner = s->jobs.owners;
    message.join.maker.job_token ^= 1; /* the right name, maker and run, and another token */
    const struct seat *guess = join(s, &message);
    assert_int_not_equal(grant_of(guess)->job_token, grant_of(all)->job_token);
    const struct seat *named = join_alone(s, "train/2"); /* a name as derived ones have */
    assert_int_not_equal(grant_of(named)->job_token, grant_of(all)->job_token);
    assert_int_equal(trib_owners_count(&s->jobs), 3);
    assert_ptr_equal(all->session.job->owner, owner);
    assert_int_equal(trib_agent_others_of_job(&s->jobs.agent, &all->session.job->here),
                     all->session.job->here.bytes); /* of train/0 alone */
}

/* One that has found out the name of a derived communicator has no place in it, and keeps none. */
static void stranger__does_not_take_a_place(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    const struct trib_message first = derived_join(all, "train/0", 0, 2);
    const struct trib_message second = derived_join(all, "train/0", 1, 2);
    const struct trib_message without = join_of("train/0", 1, 2);
    struct trib_message wrong = second;
    wrong.join.maker.job_token ^= 1;
    const struct seat *one = join(s, &first);
    const struct seat *strangers[] = {join(s, &without), join(s, &wrong)};
    assert_int_equal(one->first.kind, TRIB_MESSAGE_NONE);
    const struct seat *two = join(s, &second);
    assert_int_equal(grant_of(one)->communicator, grant_of(two)->communicator);
    assert_int_equal(strangers[0]->first.kind, TRIB_MESSAGE_NONE); /* each waits for ranks of its own */
    assert_int_equal(strangers[1]->first.kind, TRIB_MESSAGE_NONE);
    assert_int_equal(trib_owners_count(&s->jobs), 3);
}

/* Nor does it end one, when its own has all its ranks. */
static void stranger__does_not_prevail(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    const struct trib_message first = derived_join(all, "train/0", 0, 2);
    const struct trib_message second = derived_join(all, "train/0", 1, 2);
    const struct seat *one = join(s, &first);
    (void)grant_of(join_alone(s, "train/0")); /* of one rank */
    assert_int_equal(one->first.kind, TRIB_MESSAGE_NONE);
    const struct seat *two = join(s, &second);
    assert_int_equal(grant_of(two)->communicator, grant_of(one)->communicator);
}

/* Nor while one has the name that a derived communicator will have. */
static void stranger__does_not_take_a_name(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    (void)grant_of(join_alone(s, "train/0"));
    (void)grant_of(split(s, all, "train/0"));
    assert_int_equal(trib_owners_count(&s->jobs), 2);
}

static void stranger__brings_what_cannot_be(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    struct trib_message message = derived_join(all, "train/0", 0, 1);
    message.join.maker.job_token = 0;
    expect_refusal(join(s, &message), TRIB_ERR_INVALID, "job token: rank 0 brings none");
    message = derived_join(all, "train/0", 0, 1);
    message.join.maker.job[0] = '"';
    expect_refusal(join(s, &message), TRIB_ERR_INVALID, "maker's job: ");
    message.join.maker.job[0] = '\0';
    expect_refusal(join(s, &message), TRIB_ERR_INVALID, "maker's job: ");
    message = derived_join(all, "train/0", 0, 1);
    message.join.known = *grant_of(all);
    message.join.known.communicator ^= 1;
    message.join.known.boot = 1;
    message.join.known.job_token ^= 1;
    expect_refusal(join(s, &message), TRIB_ERR_INVALID, "job token: rank 0 brings two");
    message = join_of("train", 0, 1);
    message.join.known = *grant_of(all);
    message.join.known.communicator ^= 1;
    message.join.known.boot = 1;
    message.join.known.job_token = 0;
    expect_refusal(join(s, &message), TRIB_ERR_INVALID, "no switch gives its value of field \"job token\"");
    assert_int_equal(s->jobs.count, 1);
}

/* ---- its life ---- */

static void job__lasts_until_its_last_communicator(void **state)
{
    struct at_switch *s = *state;
    struct seat *all = join_alone(s, "train");
    allow(s, all, 2);
    uint64_t token = grant_of(all)->job_token;
    struct seat *half = split(s, all, "train/0");
    leave(s, all); /* the first is gone */
    assert_int_equal(trib_owners_count(&s->jobs), 1);
    assert_string_equal(s->jobs.owners->name, "train");
    struct seat *other = split(s, half, "train/1");
    assert_int_equal(grant_of(other)->job_token, token);
    expect_refusal(split(s, half, "train/2"), TRIB_ERR_REFUSED, " beside 2 other groups ");
    struct seat *anew = join_alone(s, "train"); /* its name is free, and it is another job */
    assert_int_not_equal(grant_of(anew)->job_token, token);
    leave(s, half);
    assert_int_equal(trib_owners_count(&s->jobs), 2);
    leave(s, other);
    assert_int_equal(trib_owners_count(&s->jobs), 1);
    leave(s, anew);
    assert_null(s->jobs.owners);
    assert_null(s->jobs.agent.first);
    assert_int_equal(s->jobs.agent.memory_used, 0);
}

/* In any order, and one that was only being made comes without a grant. */
static void restart__ranks_bring_the_job_again(void **state)
{
    struct at_switch *before = *state;
    struct at_switch *s = calloc(1, sizeof *s);
    const struct seat *all = join_alone(before, "train");
    const struct seat *half = split(before, all, "train/0");
    const struct trib_message making = derived_join(half, "train/0/1", 0, 1);
    for (unsigned order = 0; order < 3; order++) {
        const struct seat *seats[3];
        switch_begin(s, 2, 0xc0000000);
        for (unsigned i = 0; i < 3; i++) {
            unsigned which = (order + i) % 3;
            seats[which] = which < 2 ? come_back(s, which == 0 ? all : half) : join(s, &making);
            assert_int_equal(trib_owners_count(&s->jobs), 1);
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(grant_of(seats[i])->job_token, grant_of(all)->job_token);
            assert_ptr_equal(seats[i]->session.job->owner, s->jobs.owners);
        }
        assert_string_equal(s->jobs.owners->name, "train");
        allow(s, seats[0], 3);
        expect_refusal(split(s, seats[1], "train/9"), TRIB_ERR_REFUSED, " beside 3 other groups ");
        switch_end(s);
    }
    free(s);
}

/* One rank never got its WELCOME, and comes first: what it has begun is of the job that the other brings. */
static void restart__after_a_lost_welcome(void **state)
{
    struct at_switch *s = *state;
    const struct trib_message fresh = join_of("train", 0, 2);
    struct trib_message known = join_of("train", 1, 2);
    known.join.known = old_grant();
    (void)join(s, &fresh);
    assert_int_equal(s->jobs.owners->token, 0); /* drawn with the grant */
    const struct seat *seat = join(s, &known);
    assert_int_equal(grant_of(seat)->job_token, old_grant().job_token);
    assert_int_equal(trib_owners_count(&s->jobs), 1);
    assert_int_equal(s->jobs.owners->token, old_grant().job_token);
}

/* ---- switches below ---- */

/* A switch below knows a job by its id, and has the same rule. */
static void below__has_one_quota_for_all_of_a_job(void **state)
{
    struct world world;
    (void)state;
    world_init(&world, 1);
    struct node *root = node_add(&world, NULL);
    struct node *below = node_add(&world, root);
    ranks_make(&world, 4);
    static const char *const names[] = {"train", "train/0", "train/1", "other"};
    for (uint32_t i = 0; i < 4; i++) {
        struct rank *rank = &world.rank[i];
        struct trib_message *join = &rank->join;
        (void)snprintf(join->join.job, sizeof join->join.job, "%s", names[i]);
        join->join.rank = 0;
        join->join.settings.ranks = 1;
        if (i == 1 || i == 2) {
            join->join.maker.communicator = world.rank[0].join.join.known.communicator;
            join->join.maker.job_token = world.rank[0].join.join.known.job_token;
            strcpy(join->join.maker.job, "train");
        }
        rank->home = below;
        rank_connect(&world, rank);
        tick(&world, TRIB_SECOND_NS);
        assert_true(rank->is_running == (i != 2));
        below->leaf.agent.job_quota = 5 * below->leaf.masters.lendings->root.opening.bytes / 2;
    }
    assert_int_equal(world.rank[2].failure, TRIB_ERR_REFUSED);
    assert_non_null(strstr(world.rank[2].text, "switch 10.0.0.2:7470: job train/1 needs "));
    assert_non_null(strstr(world.rank[2].text, " beside 2 other groups of the same job "));
    trib_jobs_check(&root->jobs);
    world_end(&world);
}

static int set_up(void **state)
{
    struct at_switch *s = calloc(1, sizeof *s);
    switch_begin(s, 2, 0xb0000000);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    switch_end(*state);
    free(*state);
    return 0;
}

#define AT_SWITCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_SWITCH(splits__of_one_job_share_its_quota),
        AT_SWITCH(splits__too_many_to_list),
        AT_SWITCH(stranger__does_not_charge_a_job),
        AT_SWITCH(stranger__does_not_take_a_place),
        AT_SWITCH(stranger__does_not_prevail),
        AT_SWITCH(stranger__does_not_take_a_name),
        AT_SWITCH(stranger__brings_what_cannot_be),
        AT_SWITCH(job__lasts_until_its_last_communicator),
        AT_SWITCH(restart__ranks_bring_the_job_again),
        AT_SWITCH(restart__after_a_lost_welcome),
        cmocka_unit_test(below__has_one_quota_for_all_of_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
