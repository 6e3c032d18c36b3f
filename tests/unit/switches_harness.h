/* SPDX-License-Identifier: Apache-2.0 */
/* switches_harness.h: several switches used at once, without sockets: a control plane and those of its lenders, all of
 * them real, speak in encoded messages; the data planes only record. Used by test_switches.c,
 * test_masters.c and test_trees.c. */
#ifndef TRIB_TESTS_SWITCHES_HARNESS_H
#define TRIB_TESTS_SWITCHES_HARNESS_H

#include "roots_harness.h"

#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/roots/leaves.h"
#include "control/roots/switches.h"
#include "unit/leaf_agent.h"

#ifndef LENDERS
#define LENDERS 2
#endif
#define LINKS_MAX 128
#define SLOT_BYTES 1000U /* of each root */

/* A control plane with its data plane. */
struct plane {
    struct trib_jobs jobs;
    struct trib_server_config config;
    struct fake_plane fake;
    bool is_away; /* nobody can connect to it */
    bool is_mute; /* it hears nothing for now */
};

/* A session with an agent elsewhere, and its other end. */
struct link {
    struct trib_remote *remote;
    struct trib_session session; /* the lender's end */
    struct plane *lender;
    struct trib_message up[INBOX_MAX], down[INBOX_MAX];
    uint32_t up_len, up_read, down_len, down_read;
    bool is_used, is_connected, has_ended, has_ended_below;
    uint32_t pings; /* so often it was to be asked whether it reads */
};

/* A switch below, at 10.0.9.`shards`, with both ends of its connection. */
struct below {
    struct leaf_agent agent;
    struct trib_server_config config;
    struct trib_remote *remote; /* NULL: it is not there */
    struct trib_message up[INBOX_MAX], down[INBOX_MAX];
    uint32_t up_len, up_read, down_len, down_read;
};

#define BELOWS 4 /* by their shards, from 1 on */

struct switches {
    struct hosts h; /* first: ranks, and the first switch's jobs; the roots in their processes are not used */
    struct fake_plane fake;
    struct plane lender[LENDERS];
    struct link link[LINKS_MAX];
    uint32_t links;
    struct below below[BELOWS + 1];
};

static inline size_t fake_bytes(void *owner, const struct trib_opening *opening)
{
    (void)owner;
    (void)opening;
    return SLOT_BYTES;
}

static inline struct trib_data_plane fake_verbs(struct fake_plane *fake)
{
    return (struct trib_data_plane){.plane = fake,
                                    .open = fake_open,
                                    .close = fake_close,
                                    .join = fake_join,
                                    .missing = fake_missing,
                                    .slot_bytes = fake_bytes};
}

/* ---- connections ---- */

static inline bool link_open(void *owner, struct trib_remote *remote)
{
    struct switches *s = owner;
    assert_true(s->links < LINKS_MAX);
    struct link *link = &s->link[s->links++];
    for (uint32_t i = 0; i < LENDERS; i++) {
        if (trib_address_equal(&s->h.config.lenders.at[i], &remote->address)) {
            link->lender = &s->lender[i];
        }
    }
    assert_non_null(link->lender);
    link->is_used = true;
    link->remote = remote;
    link->session.peer = trib_address_v4(0x0a000001, (uint16_t)(60000 + s->links));
    remote->line = link;
    return true;
}

static inline void link_send(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    struct link *link = remote->line;
    (void)owner;
    assert_true(link->up_len < INBOX_MAX && !link->has_ended);
    link->up[link->up_len++] = through_bytes(message);
}

static inline void link_end(void *owner, struct trib_remote *remote)
{
    struct link *link = remote->line;
    (void)owner;
    link->has_ended = true;
}

static inline void link_ping(void *owner, struct trib_remote *remote)
{
    struct link *link = remote->line;
    (void)owner;
    link->pings++;
}

static inline struct link *link_of(struct trib_session *session)
{
    return (struct link *)(void *)((char *)session - offsetof(struct link, session));
}

static inline void lender_send(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct link *link = link_of(session);
    (void)owner;
    assert_true(link->down_len < INBOX_MAX);
    link->down[link->down_len++] = through_bytes(message);
}

static inline void lender_end(void *owner, struct trib_session *session)
{
    (void)owner;
    link_of(session)->has_ended_below = true;
}

/* One step of one connection; false: there was nothing to do. */
static inline bool step(struct switches *s, struct link *link)
{
    struct trib_jobs *below = &link->lender->jobs;
    if (!link->is_used || (link->lender->is_mute && !link->lender->is_away)) {
        return false;
    }
    if (!link->has_ended && (!link->is_connected || link->lender->is_away)) {
        if (!link->lender->is_away) {
            link->is_connected = true;
            trib_switches_connected(&s->h.jobs, link->remote);
            return true;
        }
        link->is_used = false;
        trib_switches_lost(&s->h.jobs, link->remote, link->is_connected ? "connection closed" : "connection refused",
                           false, s->h.now_ns);
        if (link->is_connected) {
            trib_jobs_gone(below, &link->session, "it is away", s->h.now_ns);
        }
        return true;
    }
    if (link->up_read < link->up_len) {
        assert_true(trib_jobs_receive(below, &link->session, &link->up[link->up_read++], s->h.now_ns));
        return true;
    }
    if (link->down_read < link->down_len && !link->has_ended) {
        trib_switches_answer(&s->h.jobs, link->remote, &link->down[link->down_read++], s->h.now_ns);
        return true;
    }
    if (link->has_ended || link->has_ended_below) {
        link->is_used = false;
        if (link->is_connected) {
            trib_jobs_gone(below, &link->session, "its session closed", s->h.now_ns);
        }
        if (!link->has_ended) {
            trib_switches_lost(&s->h.jobs, link->remote, "connection closed", false, s->h.now_ns);
        }
        return true;
    }
    return false;
}

/* ---- switches below ---- */

static inline enum trib_status below_open(void *owner, const struct trib_opening *opening)
{
    (void)owner;
    assert_true(opening->parent && opening->session.salt == 0);
    return TRIB_OK;
}

static inline void below_close(void *owner, uint32_t communicator)
{
    (void)owner;
    (void)communicator;
}

static inline void below_join(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    (void)owner;
    (void)communicator;
    (void)rank;
    (void)mark;
}

static inline void below_learn(void *owner, uint32_t communicator, uint64_t mark)
{
    (void)owner;
    (void)communicator;
    (void)mark;
}

static inline bool below_answered(void *owner, uint32_t communicator, struct trib_address *silent)
{
    (void)silent;
    (void)owner;
    (void)communicator;
    return true;
}

static inline void below_multicast(void *owner, uint32_t communicator, uint32_t group, uint16_t port)
{
    (void)owner;
    (void)communicator;
    (void)group;
    (void)port;
}

static inline uint32_t below_missing(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks,
                                     uint32_t max)
{
    (void)owner;
    (void)communicator;
    (void)sequence;
    (void)ranks;
    (void)max;
    return 0;
}

static inline void below_say(void *owner, const struct trib_message *message)
{
    struct below *below = owner;
    assert_true(below->up_len < INBOX_MAX);
    below->up[below->up_len++] = through_bytes(message);
}

static inline void tell_below(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    struct below *below = remote->line;
    (void)owner;
    assert_true(below->down_len < INBOX_MAX);
    below->down[below->down_len++] = through_bytes(message);
}

static inline struct trib_remote *below_of(struct switches *s, uint32_t shards)
{
    struct below *below = &s->below[shards];
    const struct trib_address peer = trib_address_v4(0x0a000900 + shards, 51000);
    if (below->remote) {
        return below->remote;
    }
    below->config = (struct trib_server_config){.listen = trib_address_v4(0x0a000900 + shards, 7470),
                                                .parent = s->h.config.listen,
                                                .identity = 4 + shards,
                                                .shards = shards,
                                                .memory_quota = UINT64_MAX,
                                                .job_quota = UINT64_MAX,
                                                .receive_room = ROOM};
    below->config.plane = (struct trib_data_plane){.plane = below,
                                                   .open = below_open,
                                                   .close = below_close,
                                                   .join = below_join,
                                                   .learn_mark = below_learn,
                                                   .probe_parent = below_close,
                                                   .parent_answered = below_answered,
                                                   .multicast = below_multicast,
                                                   .probe_multicast = below_multicast,
                                                   .slot_bytes = fake_bytes,
                                                   .missing = below_missing};
    leaf_agent_init(&below->agent, &below->config, below, below_say);
    const struct trib_message hello = leaf_agent_hello(&below->config, 1, 1);
    const struct trib_session session = {.peer = peer, .local = s->h.config.listen};
    below->remote = trib_leaves_add(&s->h.jobs, &hello, &session, below);
    assert_non_null(below->remote);
    return below->remote;
}

static inline bool step_below(struct switches *s, struct below *below)
{
    if (!below->remote) {
        return false;
    }
    trib_masters_on_timeout(&below->agent.masters, s->h.now_ns);
    if (below->down_read < below->down_len) {
        leaf_agent_hear(&below->agent, &below->down[below->down_read++]);
        return true;
    }
    if (below->up_read < below->up_len) {
        assert_true(trib_leaves_answer(&s->h.jobs, below->remote, &below->up[below->up_read++], s->h.now_ns));
        return true;
    }
    below->down_read = below->down_len = below->up_read = below->up_len = 0;
    return trib_masters_next_timeout(&below->agent.masters) <= s->h.now_ns;
}

static inline void end_below(struct switches *s, struct below *below)
{
    leaf_agent_deinit(&below->agent);
    assert_int_equal(below->agent.agent.memory_used, 0);
    trib_leaves_lose(below->remote);
    trib_leaves_remove(&s->h.jobs, below->remote, "the end", s->h.now_ns);
    below->remote = NULL;
}

static inline void run_links(struct switches *s)
{
    bool again = true;
    while (again) {
        again = false;
        trib_switches_on_timeout(&s->h.jobs, s->h.now_ns);
        pump(&s->h);
        for (uint32_t i = 0; i < s->links; i++) {
            again = step(s, &s->link[i]) || again;
        }
        for (uint32_t i = 0; i <= BELOWS; i++) {
            again = step_below(s, &s->below[i]) || again;
        }
    }
}

/* ---- the world ---- */

static inline int start(void **state)
{
    struct switches *s = calloc(1, sizeof *s);
    struct trib_server_config *config = &s->h.config;
    const struct trib_jobs_output output = {&s->h, hosts_send, hosts_end, NULL, test_draw, NULL};
    const struct trib_jobs_output lender_output = {s, lender_send, lender_end, NULL, test_draw, NULL};
    config->listen = trib_address_v4(0x0a000001, 7470);
    config->boot = BOOT;
    config->shards = 2;
    config->receive_room = ROOM;
    config->memory_quota = config->job_quota = 1U << 20;
    config->join_timeout_ns = 5 * TRIB_SECOND_NS;
    config->group = 0xefff4a46U;
    config->plane = fake_verbs(&s->fake);
    config->lend_to.count = 2; /* all lend to the first switch, by two cards */
    config->lend_to.at[0] = config->listen;
    config->lend_to.at[1] = trib_address_v4(0x0a000009, 0);
    config->lenders.count = LENDERS;
    for (uint32_t i = 0; i < LENDERS; i++) {
        struct plane *lender = &s->lender[i];
        lender->config = *config;
        lender->config.lenders.count = 0;
        lender->config.listen = trib_address_v4(0x0a000065 + i, 7480);
        lender->config.shards = 3 - i;
        lender->config.weight = (uint8_t)(2 - i);
        lender->config.plane = fake_verbs(&lender->fake);
        config->lenders.at[i] = lender->config.listen;
        trib_jobs_init(&lender->jobs, &lender->config, &lender_output);
    }
    s->h.now_ns = TRIB_SECOND_NS;
    trib_jobs_init(&s->h.jobs, config, &output);
    s->h.jobs.remotes = (struct trib_remote_output){s, link_open, link_send, link_end, link_ping};
    s->h.jobs.below = (struct trib_remote_output){.owner = s, .send = tell_below};
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        s->h.process[i].session.peer = trib_address_v4(0x0a000201 + i, (uint16_t)(50000 + i));
        s->h.process[i].session.local = config->listen;
    }
    *state = s;
    return 0;
}

/* Nothing is left anywhere. */
static inline int stop(void **state)
{
    struct switches *s = *state;
    trib_jobs_deinit(&s->h.jobs, TRIB_ERR_SWITCH, "the end");
    run_links(s);
    assert_int_equal(s->h.jobs.count, 0);
    assert_int_equal(s->h.jobs.agent.memory_used, 0);
    for (uint32_t i = 0; i <= BELOWS; i++) {
        if (s->below[i].remote) {
            end_below(s, &s->below[i]);
        }
    }
    assert_int_equal(s->fake.closes > 0, s->fake.opens > 0);
    for (uint32_t i = 0; i < LENDERS; i++) {
        struct plane *lender = &s->lender[i];
        trib_jobs_deinit(&lender->jobs, TRIB_ERR_SWITCH, "the end");
        assert_null(lender->jobs.masters.lendings);
        assert_null(lender->jobs.masters.first);
        assert_int_equal(lender->jobs.agent.memory_used, 0);
        assert_int_equal(lender->fake.closes > 0, lender->fake.opens > 0);
    }
    free(s);
    return 0;
}

static inline struct trib_message join_of(uint32_t rank, uint32_t ranks)
{
    struct trib_message join = root_join(rank, ranks);
    join.join.root_port = 0;
    join.join.room = 0;
    join.join.multicast = true;
    return join;
}

static inline void join_ranks(struct switches *s, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++) {
        const struct trib_message join = join_of(i, ranks);
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
}

static inline void register_ranks(struct switches *s, uint32_t ranks, uint64_t mark)
{
    for (uint32_t i = 0; i < ranks; i++) {
        register_rank(&s->h, i, mark);
    }
    run_links(s);
}

static inline void run_ranks(struct switches *s, uint32_t ranks)
{
    join_ranks(s, ranks);
    register_ranks(s, ranks, 0);
    for (uint32_t i = 0; i < ranks; i++) {
        assert_int_equal(s->h.process[i].readies, 1);
    }
}

static inline bool is_recalled(const struct switches *s, uint32_t rank)
{
    const struct trib_session *session = &s->h.process[rank].session;
    return session->job && session->job->ranks[session->rank].is_recalled;
}

/* The ranks, which were recalled, or whose sessions were ended, come back with what they know, a moment later. */
static inline void return_ranks(struct switches *s, uint32_t ranks)
{
    s->h.now_ns += 100 * TRIB_MILLISECOND_NS;
    for (uint32_t i = 0; i < ranks; i++) {
        struct process *p = &s->h.process[i];
        struct trib_message join = join_of(i, ranks);
        assert_true(p->has_ended != is_recalled(s, i));
        join.join.known = p->welcome.welcome.grant;
        join.join.was_ready = true;
        p->session.job = p->has_ended ? NULL : p->session.job;
        p->has_ended = false;
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
}

/* The session comes to a switch below with so many shards. */
static inline void come_below(struct switches *s, uint32_t session, uint32_t shards)
{
    s->h.process[session].session.leaf = below_of(s, shards);
    s->h.process[session].session.local = s->below[shards].config.listen;
}

static inline void join_one_below(struct switches *s)
{
    come_below(s, 1, 1);
    join_ranks(s, 2);
}

static inline void tick(struct switches *s, uint64_t ns)
{
    s->h.now_ns += ns;
    trib_jobs_on_timeout(&s->h.jobs, s->h.now_ns);
    trib_jobs_check(&s->h.jobs);
    run_links(s);
}

/* Roots that agents elsewhere were asked for. */
static inline uint32_t opened_elsewhere(const struct switches *s)
{
    uint32_t opens = 0;
    for (uint32_t i = 0; i < LENDERS; i++) {
        opens += s->lender[i].fake.opens;
    }
    return opens;
}

static inline void assert_address(const struct trib_address *address, const char *want)
{
    char text[64];
    trib_address_format(address, text);
    assert_string_equal(text, want);
}

static inline void assert_text(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    }
}

#endif
