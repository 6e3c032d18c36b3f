/* SPDX-License-Identifier: Apache-2.0 */
/* test_masters.c: a switch whose shards are roots of another's jobs: what it takes, and from whom. Mirrors
 * src/control/roots/masters.c; the controller's side is test_switches.c's. */
#include "switches_harness.h"

#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/owner.h"
#include "core/lane.h"

static struct trib_message control_of(uint64_t id)
{
    return (struct trib_message){.kind = TRIB_MESSAGE_CONTROL, .control = {.port = 7000, .id = id, .nonce = 5}};
}

/* A communicator of one rank and one root. */
static struct trib_message open_of(uint32_t communicator, uint32_t boot, uint64_t key)
{
    struct trib_message open = {
        .kind = TRIB_MESSAGE_ROOT_OPEN,
        .root_open = {
            .of = {communicator, boot}, .ranks = 1, .behind = 1, .scheme = "switchml", .job = "odd\n", .key = key}};
    open.root_open.session = (struct trib_session_config){.communicator = communicator,
                                                          .ranks = 1,
                                                          .roots = 1,
                                                          .train = 4,
                                                          .slots = 8,
                                                          .payload = 1408,
                                                          .generation = 1,
                                                          .wire = TRIB_FLOAT32};
    return open;
}

static struct trib_message child_of(uint32_t communicator, uint32_t boot)
{
    return (struct trib_message){
        .kind = TRIB_MESSAGE_ROOT_CHILD,
        .root_child = {.of = {communicator, boot}, .from = trib_address_v4(0x0a000032, 20000)}};
}

/* Another session with the first lender, which has said CONTROL. */
static struct link *connect_again(struct switches *s, uint32_t index, uint64_t id)
{
    struct link *link = &s->link[LINKS_MAX - 1 - index];
    const struct trib_message control = control_of(id);
    memset(link, 0, sizeof *link);
    link->lender = &s->lender[0];
    link->session.peer = trib_address_v4(0x0a000009, (uint16_t)(61000 + index)); /* by another card, perhaps */
    link->session.local = s->lender[0].config.listen;
    assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &control, 1));
    assert_int_equal(link->down[0].kind, TRIB_MESSAGE_HELLO);
    assert_int_equal(link->down[0].hello.nonce, 5);
    return link;
}

static void tell(struct link *link, const struct trib_message *message)
{
    assert_true(trib_jobs_receive(&link->lender->jobs, &link->session, message, 1));
    trib_jobs_check(&link->lender->jobs);
}

static const struct trib_message *last_of(const struct link *link)
{
    assert_true(link->down_len > 0);
    return &link->down[link->down_len - 1];
}

static void expect_refused(const struct link *link, const char *text)
{
    assert_int_equal(last_of(link)->kind, TRIB_MESSAGE_ROOT_REFUSED);
    assert_text(last_of(link)->root_refused.text, text);
    assert_false(link->has_ended_below); /* it is not the session's fault */
}

/* A communicator of one rank, of this job. False: it was refused. */
static bool has_root(struct link *link, uint32_t communicator, uint64_t job_id)
{
    struct trib_message open = open_of(communicator, 7, communicator);
    const struct trib_message child = child_of(communicator, 7);
    open.root_open.job_id = job_id;
    tell(link, &open);
    tell(link, &child);
    return trib_masters_find(&link->lender->jobs.masters, communicator) != NULL;
}

static void control__out_of_turn(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    const struct trib_message control = control_of(1);
    const struct trib_message early = {.kind = TRIB_MESSAGE_ROOT_JOIN, .of = {7, 7}};
    const struct trib_message join = join_of(0, 1);
    struct link *link = &s->link[LINKS_MAX - 1];
    assert_false(trib_jobs_receive(jobs, &link->session, &early, 1));
    link = connect_again(s, 0, 1);
    assert_false(trib_jobs_receive(jobs, &link->session, &control, 1));
    assert_false(trib_jobs_receive(jobs, &link->session, &join, 1));
    tell(link, &early); /* in turn, and about nothing that is here */
    assert_int_equal(link->down_len, 1);
    trib_jobs_expel(jobs, &link->session, "over", 1);
    assert_null(link->session.master);
    assert_null(jobs->masters.first);
}

/* Messages about an incarnation that is not here have crossed its end. */
static void opening__of_another_incarnation_has_no_effect(void **state)
{
    struct switches *s = *state;
    struct link *link = connect_again(s, 0, 1);
    const struct trib_message open = open_of(77, 6, 1), child = child_of(77, 6);
    struct trib_message late[] = {{.kind = TRIB_MESSAGE_ROOT_JOIN},
                                  {.kind = TRIB_MESSAGE_ROOT_CHILD},
                                  {.kind = TRIB_MESSAGE_ROOT_MISSING},
                                  {.kind = TRIB_MESSAGE_ROOT_SHUT}};
    tell(link, &open);
    tell(link, &child);
    assert_int_equal(last_of(link)->kind, TRIB_MESSAGE_ROOT_OPENED);
    link->down_len = 1;
    assert_string_equal(s->lender[0].jobs.masters.lendings->job, "odd\\x0a");
    for (uint32_t i = 0; i < 8; i++) {
        late[i / 2].of = i % 2 == 0 ? (struct trib_opening_id){77, 5} : (struct trib_opening_id){78, 6};
        tell(link, &late[i / 2]);
    }
    assert_int_equal(link->down_len, 1);
    assert_int_equal(s->lender[0].fake.joins, 0);
    assert_int_equal(s->lender[0].fake.opens, 1);
    assert_int_equal(s->lender[0].fake.closes, 0);
    late[0].of = open.of;
    tell(link, &late[0]);
    assert_int_equal(last_of(link)->kind, TRIB_MESSAGE_ROOT_READY);
    late[3].of = open.of;
    tell(link, &late[3]);
    assert_int_equal(s->lender[0].fake.closes, 1);
    assert_null(s->lender[0].jobs.masters.lendings);
    tell(link, &late[3]); /* again: there is nothing */
    tell(link, &open);    /* and anew, by the same name */
    tell(link, &child);
    assert_int_equal(s->lender[0].fake.opens, 2);
    trib_jobs_gone(&s->lender[0].jobs, &link->session, "over", 1);
    assert_int_equal(s->lender[0].fake.closes, 2); /* the end of the session is the end of all */
    assert_int_equal(s->lender[0].jobs.agent.memory_used, 0);
}

/* One communicator is refused, and those beside it go on. */
static void opening__nonsense_ends_it_alone(void **state)
{
    struct switches *s = *state;
    struct link *link = connect_again(s, 0, 1);
    s->lender[0].fake.has_many = true;
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message open = open_of(77 + i, 6, 1), child = child_of(77 + i, 6);
        tell(link, &open);
        tell(link, &child);
    }
    struct trib_message wrong = {.kind = TRIB_MESSAGE_ROOT_JOIN, .root_join = {.of = {77, 6}, .rank = 9}};
    tell(link, &wrong);
    expect_refused(link, "unexpected message ROOT_JOIN: it registers a rank that there is not");
    assert_int_equal(last_of(link)->of.communicator, 77);
    assert_int_equal(last_of(link)->of.boot, 6);
    assert_int_equal(s->lender[0].jobs.agent.memory_used, SLOT_BYTES);
    assert_null(trib_masters_find(&s->lender[0].jobs.masters, 77));
    assert_non_null(trib_masters_find(&s->lender[0].jobs.masters, 78));
    trib_jobs_gone(&s->lender[0].jobs, &link->session, "over", 1);
}

/* The connection broke unseen, and its process comes again. */
static void control__again_ends_the_session_before(void **state)
{
    struct switches *s = *state;
    struct link *first = connect_again(s, 0, 1);
    struct link *other = connect_again(s, 1, 2);
    const struct trib_message open = open_of(77, 6, 1), child = child_of(77, 6);
    tell(first, &open);
    tell(first, &child);
    struct link *again = connect_again(s, 2, 1);
    assert_true(first->has_ended_below);
    assert_null(first->session.master);
    assert_false(other->has_ended_below);
    assert_int_equal(s->lender[0].fake.closes, 1);
    assert_null(s->lender[0].jobs.masters.lendings);
    trib_jobs_gone(&s->lender[0].jobs, &other->session, "over", 1);
    trib_jobs_gone(&s->lender[0].jobs, &again->session, "over", 1);
}

/* Two that use each other know each other's ids, as HELLO has them. */
static void control__another_host_ends_no_session(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    struct link *first = connect_again(s, 0, 1);
    struct link *other = &s->link[LINKS_MAX - 2];
    const struct trib_message control = control_of(1);
    other->lender = &s->lender[0];
    other->session.peer = trib_address_v4(0x0a000001, 61000);
    assert_true(trib_jobs_receive(jobs, &other->session, &control, 1));
    assert_int_equal(last_of(other)->kind, TRIB_MESSAGE_HELLO);
    assert_false(first->has_ended_below);
    assert_non_null(first->session.master);
    trib_jobs_gone(jobs, &first->session, "over", 1);
    trib_jobs_gone(jobs, &other->session, "over", 1);
}

/* What they ask for takes memory that no quota counts. */
static void control__few_sessions_of_one_address(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    struct link *late = &s->link[LINKS_MAX - 33];
    const struct trib_message control = control_of(100);
    for (uint32_t i = 0; i < 32; i++) {
        (void)connect_again(s, i, 1 + i);
    }
    late->lender = &s->lender[0];
    late->session.peer = trib_address_v4(0x0a000009, 61100);
    assert_true(trib_jobs_receive(jobs, &late->session, &control, 1));
    assert_null(late->session.master);
    assert_text(late->down[0].fail.text, "it has 32 sessions with controllers at the address of 10.0.0.9:7000");
    for (uint32_t i = 0; i < 32; i++) {
        trib_jobs_gone(jobs, &s->link[LINKS_MAX - 1 - i].session, "over", 1);
    }
    assert_null(jobs->masters.first);
}

/* A controller that never names the children of what it asks for would fill the memory. */
static void opening__one_root_at_a_time(void **state)
{
    struct switches *s = *state;
    struct link *link = connect_again(s, 0, 1);
    const struct trib_masters *masters = &s->lender[0].jobs.masters;
    s->lender[0].fake.has_many = true;
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message open = open_of(70 + i, 6, 1);
        open.root_open.ranks = open.root_open.behind = open.root_open.session.ranks = 2;
        const struct trib_message child = child_of(70 + i, 6);
        tell(link, &open);
        tell(link, &child);
        assert_true(masters->lendings && masters->lendings->next == NULL);
        assert_int_equal(link->down_len, 1 + i);
    }
    expect_refused(link, "another root was asked for before this one had its children");
    assert_int_equal(last_of(link)->of.communicator, 71);
    assert_true(has_root(link, 1, 1)); /* ends the last of these */
    assert_true(has_root(link, 2, 1)); /* and nothing more, where each is whole */
    assert_int_equal(link->down_len, 6);
    assert_int_equal(link->down[3].kind, TRIB_MESSAGE_ROOT_REFUSED);
    assert_int_equal(link->down[5].kind, TRIB_MESSAGE_ROOT_OPENED);
    trib_jobs_gone(&s->lender[0].jobs, &link->session, "over", 1);
}

static void opening__as_many_as_a_controller_can_have(void **state)
{
    struct switches *s = *state;
    struct link *link = connect_again(s, 0, 1);
    const struct trib_message shut = {.kind = TRIB_MESSAGE_ROOT_SHUT, .of = {5, 7}};
    s->lender[0].fake.has_many = true;
    s->lender[0].jobs.agent.memory_quota = s->lender[0].jobs.agent.job_quota = UINT64_MAX;
    for (uint32_t i = 1; i <= TRIB_JOBS_MAX; i++) {
        const struct trib_message open = open_of(i, 7, i), child = child_of(i, 7);
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &open, 1));
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &child, 1));
        assert_int_equal(last_of(link)->kind, TRIB_MESSAGE_ROOT_OPENED);
        link->down_len = 1;
    }
    assert_false(has_root(link, TRIB_JOBS_MAX + 1, 1));
    expect_refused(link, "one controller has roots of 1024 communicators here, and gets no more");
    tell(link, &shut);
    assert_true(has_root(link, TRIB_JOBS_MAX + 1, 1));
    trib_jobs_gone(&s->lender[0].jobs, &link->session, "over", 1);
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* Says to the first lender, as another process, what it was told first, but for boot and key. */
static struct link *say_again(struct switches *s, uint32_t boot, uint64_t key)
{
    const struct link *old = &s->link[0];
    struct link *again = connect_again(s, 0, 99);
    for (uint32_t i = 1; i < old->up_len; i++) {
        struct trib_message message = old->up[i];
        message.of.boot += boot;
        message.root_open.key += message.kind == TRIB_MESSAGE_ROOT_OPEN ? key : 0;
        tell(again, &message);
    }
    return again;
}

/* The controller died unseen, and asks again for the same communicator: its slots of before are closed first. */
static void opening__buries_what_was_before(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    struct link *again = say_again(s, 1, 0);
    assert_false(s->link[0].has_ended_below); /* that session may have others */
    assert_int_equal(s->lender[0].fake.closes, 1);
    assert_int_equal(s->lender[0].fake.opens, 4);
    assert_int_equal(last_of(again)->kind, TRIB_MESSAGE_ROOT_READY);
    trib_jobs_gone(&s->lender[0].jobs, &again->session, "over", 1);
}

/* What a dead controller said last may be heard after the first words of its successor: it takes nothing from that. */
static void opening__of_a_session_before(void **state)
{
    struct switches *s = *state;
    struct link *dead = connect_again(s, 0, 1);
    struct link *alive = connect_again(s, 1, 2);
    const struct trib_message open = open_of(77, 9, 5), child = child_of(77, 9), late = open_of(77, 8, 5);
    tell(alive, &open);
    tell(alive, &child);
    assert_int_equal(last_of(alive)->kind, TRIB_MESSAGE_ROOT_OPENED);
    tell(dead, &late);
    expect_refused(dead, "communicator 0000004d has been opened by a later session");
    assert_int_equal(s->lender[0].fake.closes, 0);
    assert_ptr_equal(trib_masters_find(&s->lender[0].jobs.masters, 77)->master, alive->session.master);
    trib_jobs_gone(&s->lender[0].jobs, &dead->session, "over", 1);
    trib_jobs_gone(&s->lender[0].jobs, &alive->session, "over", 1);
}

/* x with mix(x) = y. */
static uint64_t unmix(uint64_t y)
{
    y ^= y >> 31 ^ y >> 62;
    y *= 0x319642b2d24d8ec3U;
    y ^= y >> 27 ^ y >> 54;
    y *= 0x96de1b173f119089U;
    y ^= y >> 30 ^ y >> 60;
    return y - 0x9e3779b97f4a7c15U;
}

/* Who has a rank's token takes its place. A lender has the key, and gets no token from it. */
static void key__does_not_give_the_token_away(void **state)
{
    struct switches *s = *state;
    uint64_t key = 0;
    run_ranks(s, 2);
    const struct trib_grant *grant = &s->h.process[0].welcome.welcome.grant;
    for (uint32_t i = 0; i < s->link[0].up_len; i++) {
        const struct trib_message *message = &s->link[0].up[i];
        key = message->kind == TRIB_MESSAGE_ROOT_OPEN ? message->root_open.key : key;
    }
    assert_true(key != 0 && key == grant->key);
    assert_true(unmix(trib_mix64(key)) == key);
    assert_true(key != grant->token && unmix(key) != grant->token && trib_mix64(key) != grant->token);
}

/* A stranger who knows a communicator's number must not join its slots, nor close them; nor may one lender be two. */
static void opening__refuses_what_is_anothers(void **state)
{
    static const struct {
        uint32_t boot;
        uint64_t key;
        const char *text;
    } cases[] = {{1, 1, "is another job's here"},
                 {0, 1, "is another job's here"},
                 {0, 0, "has roots here already: this switch is named twice, by two addresses: name it once (--with)"}};
    struct switches *s = *state;
    run_ranks(s, 2);
    for (uint32_t i = 0; i < 3; i++) {
        struct link *again = say_again(s, cases[i].boot, cases[i].key);
        expect_refused(again, cases[i].text);
        assert_int_equal(s->lender[0].fake.opens, 2);
        assert_int_equal(s->lender[0].fake.closes, 0);
        trib_jobs_gone(&s->lender[0].jobs, &again->session, "over", 1);
    }
    assert_non_null(s->lender[0].jobs.masters.lendings);
}

/* Pieces of a model, at a switch that is no combiner. */
static void opening__refuses_pieces_of_a_sum(void **state)
{
    struct switches *s = *state;
    join_ranks(s, 1);
    struct link *link = &s->link[0];
    uint32_t at = link->up_len - 1;
    while (link->up[at].kind != TRIB_MESSAGE_ROOT_OPEN) {
        at--;
    }
    struct trib_message open = link->up[at];
    open.root_open.index = 0;
    open.root_open.pieces = 16;
    open.root_open.own_pieces = 1;
    tell(link, &open);
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED,
                  "(--with): unexpected message ROOT_OPEN: it asks for a root that cannot be");
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* A root that there is, and a shard that there is not: it ends this communicator there. */
static void opening__refuses_a_root_twice_and_one_that_it_has_not(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < 2; i++) {
        join_ranks(s, 1);
        struct link *link = &s->link[0];
        uint32_t at = link->up_len - 1;
        while (link->up[at].kind != TRIB_MESSAGE_ROOT_OPEN) {
            at--;
        }
        struct trib_message open = link->up[at];
        if (i == 1) {
            open.root_open.index = 0; /* of which it has none yet */
            open.root_open.shard = 3;
        }
        tell(link, &open);
        run_links(s);
        expect_failed(&s->h, 0, TRIB_ERR_REFUSED,
                      i == 0 ? "(--with): unexpected message ROOT_OPEN: it asks for a root that cannot be: root 4 is "
                               "open here already"
                             : "(--with): unexpected message ROOT_OPEN: it asks for a root that cannot be: shard 3, "
                               "and there are 3, from 0");
        assert_null(s->lender[0].jobs.masters.lendings);
        assert_null(s->lender[1].jobs.masters.lendings);
        assert_false(link->has_ended);
        s->h.process[0].fails = 0;
        s->h.process[0].has_ended = false;
        s->h.process[0].session.job = NULL;
    }
}

/* Nor what is a job's of its own. */
static void opening__refuses_its_own_jobs(void **state)
{
    struct switches *s = *state;
    join_ranks(s, 2);
    uint32_t communicator = s->h.jobs.first->grant.communicator;
    const struct trib_message open = open_of(communicator, 1, 2), child = child_of(communicator, 1);
    struct link *again = &s->link[LINKS_MAX - 1];
    const struct trib_message control = control_of(3);
    again->session.peer = trib_address_v4(0x0a000009, 61000);
    again->lender = &s->lender[0];
    s->h.jobs.output = (struct trib_jobs_output){s, lender_send, lender_end, NULL, test_draw, NULL};
    assert_true(trib_jobs_receive(&s->h.jobs, &again->session, &control, 1));
    assert_true(trib_jobs_receive(&s->h.jobs, &again->session, &open, 1));
    assert_true(trib_jobs_receive(&s->h.jobs, &again->session, &child, 1));
    expect_refused(again, "is another job's here");
    assert_int_equal(s->fake.opens, 2);
    trib_jobs_gone(&s->h.jobs, &again->session, "over", 1);
    s->h.jobs.output = (struct trib_jobs_output){&s->h, hosts_send, hosts_end, NULL, test_draw, NULL};
}

/* The jobs of one key, of whatever controllers. */
static void quota__one_for_all_jobs_of_a_key(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *lender = &s->lender[0].jobs;
    const struct trib_message child = child_of(2, 7);
    struct trib_message open = open_of(2, 7, 2);
    s->lender[0].fake.has_many = true;
    lender->agent.memory_quota = lender->agent.job_quota = 100 * SLOT_BYTES;
    lender->agent.tenant_quota = 3 * SLOT_BYTES / 2;
    struct link *link = connect_again(s, 0, 1);
    open.root_open.tenant = 0xabc;
    tell(link, &open);
    tell(link, &child);
    assert_int_equal(trib_agent_held_by_tenant(&lender->agent, 0xabc), SLOT_BYTES);
    const struct trib_message second = child_of(3, 7);
    open = open_of(3, 7, 3);
    open.root_open.tenant = 0xabc;
    tell(link, &open);
    tell(link, &second);
    expect_refused(link, " beside other jobs of key 0000000000000abc with ");
    assert_true(has_root(link, 4, 4)); /* without a key */
    trib_jobs_gone(lender, &link->session, "over", 1);
}

/* Each job within its quota: but all of one switch do not take what others would have. */
static void quota__not_all_to_one_switch(void **state)
{
    struct switches *s = *state;
    struct plane *lender = &s->lender[0];
    lender->jobs.agent.memory_quota = 3 * SLOT_BYTES;
    lender->jobs.agent.job_quota = 3 * SLOT_BYTES / 2;
    struct link *link = connect_again(s, 0, 1);
    lender->fake.has_many = true;
    assert_true(has_root(link, 1, 1));
    assert_false(has_root(link, 2, 2));
    expect_refused(link, "all jobs of switch 10.0.0.9:7000 need ");
    assert_int_equal(lender->jobs.agent.memory_used, SLOT_BYTES);
    trib_jobs_gone(&lender->jobs, &link->session, "over", 1);
}

/* All communicators of a job have one quota here as well. Jobs of another controller have nothing to do with them,
 * whatever number that gives them. */
static void quota__one_for_all_of_a_job(void **state)
{
    struct switches *s = *state;
    struct plane *lender = &s->lender[0];
    const struct trib_message shut = {.kind = TRIB_MESSAGE_ROOT_SHUT, .of = {2, 7}};
    lender->fake.has_many = true;
    lender->jobs.agent.memory_quota = 100 * SLOT_BYTES;
    lender->jobs.agent.job_quota = 5 * SLOT_BYTES / 2;
    struct link *one = connect_again(s, 0, 1);
    struct link *two = &s->link[LINKS_MAX - 10];
    const struct trib_message control = control_of(2);
    two->lender = lender;
    two->session.peer = trib_address_v4(0x0a000001, 61010);
    assert_true(trib_jobs_receive(&lender->jobs, &two->session, &control, 1));
    assert_true(has_root(one, 1, 77));
    assert_true(has_root(one, 2, 77));
    assert_false(has_root(one, 3, 77));
    expect_refused(one, " beside 2 other groups of the same job with ");
    assert_true(has_root(one, 4, 78));
    assert_true(has_root(two, 5, 77));
    assert_true(has_root(two, 6, 77));
    tell(one, &shut);
    assert_true(has_root(one, 7, 77));
    trib_jobs_gone(&lender->jobs, &one->session, "over", 1);
    trib_jobs_gone(&lender->jobs, &two->session, "over", 1);
}

/* Agents elsewhere get a number of the job that says nothing of its token. */
static void job_id__is_no_secret(void **state)
{
    struct switches *s = *state;
    uint32_t opens = 0;
    run_ranks(s, 2);
    const struct trib_owner *owner = s->h.jobs.owners;
    for (uint32_t i = 0; i < s->links; i++) {
        for (uint32_t k = 0; k < s->link[i].up_len; k++) {
            if (s->link[i].up[k].kind == TRIB_MESSAGE_ROOT_OPEN) {
                assert_int_equal(s->link[i].up[k].root_open.job_id, owner->id);
                opens++;
            }
        }
    }
    assert_int_equal(opens, 4);
    assert_int_not_equal(owner->id, owner->token);
}

/* Whoever can connect could have sums sent to anybody. */
static void control__of_switches_that_are_named(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    struct link *link = &s->link[LINKS_MAX - 1];
    const struct trib_message control = control_of(1);
    link->lender = &s->lender[0];
    link->session.peer = trib_address_v4(0x0a00000a, 61000);
    assert_true(trib_jobs_receive(jobs, &link->session, &control, 1));
    assert_null(jobs->masters.first);
    assert_null(link->session.master);
    assert_int_equal(link->down[0].kind, TRIB_MESSAGE_FAIL);
    assert_text(link->down[0].fail.text, "it lends nothing to 10.0.0.10:7000: start it with --lend 10.0.0.10:7000");
}

/* Packets go to children: they are no groups, and somewhere. */
static void opening__children_are_somewhere(void **state)
{
    /* any, a group, the loopback of another machine, the lender itself */
    static const struct {
        uint32_t at;
        uint16_t port;
        const char *why;
    } nowhere[] = {{0, 20000, "it names a child that cannot be"},
                   {0xefff4a46U, 20000, "it names a child that cannot be"},
                   {INADDR_LOOPBACK, 20000, "127.0.0.1:20000, which is a different machine for each host"},
                   {0x0a000065U, 7481, "10.0.0.101:7481, which is this switch"}};
    struct switches *s = *state;
    struct link *link = connect_again(s, 0, 1);
    for (uint32_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        const struct trib_message open = open_of(77, 7 + i, 1);
        struct trib_message child = child_of(77, 7 + i);
        child.root_child.from = trib_address_v4(nowhere[i].at, nowhere[i].port);
        tell(link, &open);
        tell(link, &child);
        expect_refused(link, nowhere[i].why);
        assert_null(s->lender[0].jobs.masters.lendings);
    }
    trib_jobs_gone(&s->lender[0].jobs, &link->session, "over", 1);
}

/* What others are given here is told, when it is much; not at once, and not again if nothing has changed. */
static void room__is_told_when_it_changes(void **state)
{
    struct switches *s = *state;
    struct plane *lender = &s->lender[0];
    struct link *one = connect_again(s, 0, 1);
    struct link *two = connect_again(s, 1, 2);
    lender->fake.has_many = true;
    lender->config.receive_room = 40 * (1408 + TRIB_HEADER_SIZE);
    trib_jobs_on_timeout(&lender->jobs, TRIB_SECOND_NS);
    struct trib_message open = open_of(77, 7, 1);
    const struct trib_message child = child_of(77, 7);
    const struct trib_message shut = {.kind = TRIB_MESSAGE_ROOT_SHUT, .of = {77, 7}};
    open.root_open.session.slots = 60; /* a window of 30 packets */
    tell(one, &open);
    tell(one, &child);
    uint64_t when = trib_jobs_next_timeout(&lender->jobs);
    assert_true(when != TRIB_NEVER);
    uint32_t told = two->down_len;
    trib_jobs_on_timeout(&lender->jobs, 2 * TRIB_SECOND_NS);
    assert_int_equal(last_of(two)->kind, TRIB_MESSAGE_ROOM);
    assert_int_equal(last_of(two)->room.room, 10 * (1408 + TRIB_HEADER_SIZE));
    assert_int_equal(last_of(one)->room.room, 40 * (1408 + TRIB_HEADER_SIZE)); /* its own is its own */
    assert_int_equal(two->down_len, told + 1);
    assert_true(trib_jobs_next_timeout(&lender->jobs) == TRIB_NEVER);
    tell(one, &shut);
    trib_jobs_on_timeout(&lender->jobs, 3 * TRIB_SECOND_NS);
    assert_int_equal(last_of(two)->room.room, 40 * (1408 + TRIB_HEADER_SIZE));
    trib_jobs_gone(&lender->jobs, &one->session, "over", 1);
    trib_jobs_gone(&lender->jobs, &two->session, "over", 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(control__out_of_turn),
        TEST(control__again_ends_the_session_before),
        TEST(control__another_host_ends_no_session),
        TEST(control__few_sessions_of_one_address),
        TEST(control__of_switches_that_are_named),
        TEST(opening__one_root_at_a_time),
        TEST(opening__as_many_as_a_controller_can_have),
        TEST(opening__of_another_incarnation_has_no_effect),
        TEST(opening__nonsense_ends_it_alone),
        TEST(opening__buries_what_was_before),
        TEST(opening__of_a_session_before),
        TEST(opening__refuses_what_is_anothers),
        TEST(key__does_not_give_the_token_away),
        TEST(quota__not_all_to_one_switch),
        TEST(quota__one_for_all_of_a_job),
        TEST(quota__one_for_all_jobs_of_a_key),
        TEST(job_id__is_no_secret),
        TEST(opening__refuses_a_root_twice_and_one_that_it_has_not),
        TEST(opening__refuses_pieces_of_a_sum),
        TEST(opening__refuses_its_own_jobs),
        TEST(opening__children_are_somewhere),
        TEST(room__is_told_when_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
