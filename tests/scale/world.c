/* SPDX-License-Identifier: Apache-2.0 */
/* world.c: the controller, its agents, and the sessions between them and the ranks. See scale.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/check.h"
#include "control/jobs/find.h"
#include "control/jobs/jobs.h"
#include "control/jobs/placements.h"
#include "control/roots/switches.h"
#include "io/clock.h"
#include "scale.h"

#define HOST_CONTROLLER 0x0a000001U
#define HOST_AGENTS 0x0a010000U
#define HOST_RANKS 0x0b000000U
#define PORT 7470
#define MS TRIB_MILLISECOND_NS

static uint64_t below(struct world *w, uint64_t bound)
{
    return trib_prng_below(&w->prng, bound);
}

/* Of one connection always the same: so its messages stay in order. */
static uint64_t latency_ns(uint32_t number)
{
    return 20000 + number * UINT64_C(2654435761) % 128000;
}

static uint64_t draw(void *owner)
{
    struct world *w = owner;
    return trib_prng_next(&w->prng);
}

static struct rank *rank_of(struct trib_session *session)
{
    return (struct rank *)(void *)session;
}

static struct job *job_of(struct world *w, const struct rank *rank)
{
    return &w->all[rank->job];
}

static void post(struct world *w, enum event_kind kind, uint32_t index, uint32_t epoch, uint64_t after_ns,
                 const struct trib_message *message)
{
    struct event event = {.kind = kind, .index = index, .epoch = epoch};
    if (message) {
        uint8_t bytes[TRIB_MESSAGE_MAX];
        event.len = (uint32_t)trib_message_encode(message, bytes);
        event.bytes = malloc(event.len);
        MUST(w, event.bytes != NULL, "out of memory");
        memcpy(event.bytes, bytes, event.len);
    }
    push(w, w->now_ns + after_ns, event);
}

static void read_message(const struct world *w, const struct event *event, struct trib_message *message)
{
    size_t used;
    MUST(w, trib_message_decode(event->bytes, event->len, message, &used) == TRIB_OK && used == event->len,
         "a message of kind %u is none", event->bytes[0]);
}

/* ---- grants ---- */

static bool is_same_grant(const struct trib_grant *a, const struct trib_grant *b)
{
    return a->communicator == b->communicator && a->salt == b->salt && a->token == b->token && a->key == b->key &&
           a->job_token == b->job_token && a->roots == b->roots && a->train == b->train && a->slots == b->slots &&
           a->generation == b->generation && memcmp(a->switches, b->switches, sizeof a->switches) == 0 &&
           memcmp(a->weight, b->weight, sizeof a->weight) == 0;
}

/* Each root is a shard of an agent that is usable, each agent named once, and of a switch that the grant names. */
static void check_roots(const struct world *w, const struct trib_message *welcome)
{
    const struct trib_grant *grant = &welcome->welcome.grant;
    bool is_named[TRIB_LENDERS_MAX + 2] = {false};
    uint32_t trees = 0;
    for (; trees < TRIB_SWITCHES_MAX && grant->switches[trees] != 0; trees++) {
        uint32_t which = grant->switches[trees];
        MUST(w, which <= w->options.agents + 1 && !is_named[which], "grant: switch %u twice, or none", which);
        is_named[which] = true;
    }
    MUST(w, trees == w->options.trees && welcome->welcome.root_count == grant->roots, "grant: %u trees", trees);
    for (uint32_t t = 0; t < grant->roots; t++) {
        uint32_t which = grant->switches[t % trees] - 1U;
        const struct trib_remote *remote = which > 0 ? &w->jobs.remote[which - 1] : NULL;
        MUST(w, !remote || trib_remote_is_usable(remote), "grant: root %u is at an agent that is away", t);
        struct trib_address place = remote ? remote->at[t / trees] : w->config.listen;
        trib_address_set_port(&place, (uint16_t)(trib_address_port(&place) + (remote ? 0 : t / trees)));
        MUST(w, trib_address_equal(&place, &welcome->welcome.root[t]), "grant: root %u is elsewhere", t);
    }
}

/* All ranks of an incarnation get one grant; a rank that has one gets that again, with another boot. */
static void check_welcome(struct world *w, const struct rank *rank, const struct trib_message *welcome)
{
    struct job *job = job_of(w, rank);
    const struct trib_grant *grant = &welcome->welcome.grant;
    w->grants++;
    if (job->told_boot == grant->boot && is_same_grant(&job->told.welcome.grant, grant)) {
        MUST(w, memcmp(job->told.welcome.root, welcome->welcome.root, sizeof welcome->welcome.root) == 0,
             "job %u: two ranks have other roots", rank->job);
    } else {
        MUST(w, job->told_boot != grant->boot, "job %u: two grants with one boot", rank->job);
        check_roots(w, welcome);
        job->told_boot = grant->boot;
        job->told = *welcome;
    }
    MUST(w, grant->boot != 0 && (!rank->has_grant || rank->grant.boot != grant->boot), "job %u: a boot again",
         rank->job);
    MUST(w, !rank->has_grant || !rank->was_ready || is_same_grant(&rank->grant, grant), "job %u: another grant",
         rank->job);
}

/* ---- the controller's outputs ---- */

static void to_rank(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct world *w = owner;
    const struct rank *rank = rank_of(session);
    if (w->is_mute) {
        return;
    }
    w->out++;
    w->marks_told += message->kind == TRIB_MESSAGE_MARK;
    if (message->kind == TRIB_MESSAGE_WELCOME) {
        check_welcome(w, rank, message);
    }
    post(w, EVENT_TO_RANK, rank->index, rank->epoch, latency_ns(rank->index), message);
}

static void end_rank(void *owner, struct trib_session *session)
{
    struct world *w = owner;
    struct rank *rank = rank_of(session);
    if (!w->is_mute) {
        rank->is_cut = true;
        post(w, EVENT_RANK_ENDED, rank->index, rank->epoch, latency_ns(rank->index), NULL);
    }
}

static bool remote_open(void *owner, struct trib_remote *remote)
{
    struct world *w = owner;
    struct agent *agent = &w->agents[remote - w->jobs.remote];
    agent->remote = remote;
    agent->epoch++;
    agent->is_connected = agent->is_cut = agent->is_cut_below = false;
    remote->line = agent;
    post(w, EVENT_DIALLED, agent->index, agent->epoch, 2 * latency_ns(agent->index), NULL);
    return true;
}

static void remote_send(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    struct world *w = owner;
    const struct agent *agent = remote->line;
    if (!w->is_mute) {
        w->out++;
        post(w, EVENT_TO_AGENT, agent->index, agent->epoch, latency_ns(agent->index), message);
    }
}

static void remote_end(void *owner, struct trib_remote *remote)
{
    struct world *w = owner;
    struct agent *agent = remote->line;
    if (!w->is_mute && !agent->is_cut) {
        agent->is_cut = true;
        post(w, EVENT_HUNG_UP, agent->index, agent->epoch, latency_ns(agent->index), NULL);
    }
}

static void remote_ping(void *owner, struct trib_remote *remote)
{
    (void)owner;
    (void)remote;
}

static void controller_start(struct world *w)
{
    const struct trib_jobs_output output = {w, to_rank, end_rank, NULL, draw, NULL};
    w->config.boot += 0x01000000U;
    trib_jobs_init(&w->jobs, &w->config, &output);
    w->jobs.remotes = (struct trib_remote_output){w, remote_open, remote_send, remote_end, remote_ping};
    w->is_down = false;
}

/* ---- agents ---- */

static struct agent *agent_at(void *session)
{
    return (struct agent *)(void *)((char *)session - offsetof(struct agent, session));
}

static void from_agent(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct world *w = owner;
    const struct agent *agent = agent_at(session);
    if (agent->is_up) {
        post(w, EVENT_FROM_AGENT, agent->index, agent->epoch, latency_ns(agent->index), message);
    }
}

static void end_agent(void *owner, struct trib_session *session)
{
    struct world *w = owner;
    struct agent *agent = agent_at(session);
    if (agent->is_up && !agent->is_cut_below) {
        agent->is_cut_below = true;
        post(w, EVENT_AGENT_HUNG_UP, agent->index, agent->epoch, latency_ns(agent->index), NULL);
    }
}

static void agent_start(struct world *w, struct agent *agent)
{
    const struct trib_jobs_output output = {w, from_agent, end_agent, NULL, draw, NULL};
    agent->config.boot = (uint32_t)draw(w) | 1;
    trib_jobs_init(&agent->jobs, &agent->config, &output);
    agent->is_up = true;
    agent->is_connected = false;
    agent->timer_ns = TRIB_NEVER;
    agent->life++;
}

/* Its slots go with it. */
static void agent_kill(struct world *w, struct agent *agent)
{
    agent->is_up = false;
    trib_jobs_deinit(&agent->jobs, TRIB_ERR_SWITCH, "killed");
    MUST(w, agent->jobs.agent.memory_used == 0 && agent->open_count == 0 && !agent->jobs.masters.lendings,
         "agent %u: %u communicators have slots", agent->index, agent->open_count);
    if (agent->is_connected && !agent->is_cut_below) {
        agent->is_cut_below = true;
        post(w, EVENT_AGENT_HUNG_UP, agent->index, agent->epoch, latency_ns(agent->index), NULL);
    }
    agent->is_connected = false;
}

static void arm(struct world *w, struct agent *agent)
{
    uint64_t when = trib_jobs_next_timeout(&agent->jobs);
    if (when < agent->timer_ns) {
        struct event event = {.kind = EVENT_AGENT_TIMER, .index = agent->index, .epoch = agent->life};
        agent->timer_ns = when;
        push(w, when > w->now_ns ? when : w->now_ns, event);
    }
}

/* ---- ranks ---- */

static void say(struct world *w, const struct rank *rank, const struct trib_message *message)
{
    if (!rank->is_cut) {
        post(w, EVENT_TO_CONTROLLER, rank->index, rank->epoch, latency_ns(rank->index), message);
    }
}

static void say_mark(struct world *w, const struct rank *rank, enum trib_message_kind kind)
{
    const struct trib_message message = {.kind = kind, .mark = {.mark = rank->mark}};
    say(w, rank, &message);
}

static void say_join(struct world *w, struct rank *rank)
{
    struct trib_message join = {.kind = TRIB_MESSAGE_JOIN};
    join.join.magic = TRIB_SESSION_MAGIC;
    join.join.version = TRIB_SESSION_VERSION;
    join.join.wire_version = TRIB_WIRE_VERSION;
    (void)snprintf(join.join.job, sizeof join.join.job, "job%u.%u", rank->job, job_of(w, rank)->life);
    join.join.rank = rank->index % w->options.ranks;
    for (uint32_t i = 0; i < w->options.trees; i++) {
        join.join.data_port[i] = (uint16_t)(20000 + i);
    }
    strcpy(join.join.settings.scheme, "switchml");
    join.join.settings.ranks = w->options.ranks;
    join.join.settings.payload = 1408;
    join.join.settings.wire = TRIB_WIRE_FLOAT32;
    join.join.known = rank->has_grant ? rank->grant : (struct trib_grant){0};
    join.join.was_ready = rank->has_grant && rank->was_ready;
    say(w, rank, &join);
    if (rank->has_closed) {
        say_mark(w, rank, TRIB_MESSAGE_CLOSE);
    }
}

static void connect_rank(struct world *w, struct rank *rank)
{
    rank->epoch++;
    rank->is_cut = w->is_down;
    if (w->is_down) {
        post(w, EVENT_JOIN, rank->index, rank->epoch, 20 * MS + below(w, 10 * MS), NULL);
        return;
    }
    rank->session.job = NULL;
    say_join(w, rank);
}

static void begin_job(struct world *w, uint32_t number, uint64_t after_ns)
{
    struct job *job = &w->all[number];
    *job = (struct job){.life = job->life + 1, .ends_ns = w->now_ns + after_ns + 500 * MS + below(w, 8000 * MS)};
    for (uint32_t i = 0; i < w->options.ranks; i++) {
        struct rank *rank = &w->ranks[number * w->options.ranks + i];
        const struct trib_session session = rank->session;
        *rank = (struct rank){.index = rank->index, .job = number, .epoch = rank->epoch + 1, .session = session};
        post(w, EVENT_JOIN, rank->index, rank->epoch, after_ns + below(w, 20 * MS), NULL);
    }
}

/* It needs nothing any more. The last one begins the next job. */
static void finish_rank(struct world *w, struct rank *rank)
{
    struct job *job = job_of(w, rank);
    if (!rank->is_done) {
        rank->is_done = true;
        rank->epoch++;
        if (++job->done == w->options.ranks && !w->is_ending) {
            begin_job(w, rank->job, 50 * MS);
        }
    }
}

static void close_job(struct world *w, uint32_t number)
{
    w->all[number].is_closing = true;
    for (uint32_t i = 0; i < w->options.ranks; i++) {
        const struct rank *rank = &w->ranks[number * w->options.ranks + i];
        post(w, EVENT_CLOSE, rank->index, w->all[number].life, below(w, 5 * MS), NULL);
    }
}

static void take_fail(struct world *w, struct rank *rank, const struct trib_message *message)
{
    struct job *job = job_of(w, rank);
    w->fails++;
    MUST(w, job->may_fail || job->done > 0, "job %u rank %u: FAIL(%d): %s", rank->job, rank->index % w->options.ranks,
         message->fail.status, message->fail.text);
    job->may_fail = true;
    finish_rank(w, rank);
}

static void take_by_rank(struct world *w, struct rank *rank, const struct trib_message *message)
{
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
    switch ((int)message->kind) {
    case TRIB_MESSAGE_WELCOME:
        rank->grant = message->welcome.grant;
        rank->has_grant = true;
        if (!rank->was_ready) {
            say(w, rank, &paths);
        }
        say_mark(w, rank, TRIB_MESSAGE_REGISTER);
        break;
    case TRIB_MESSAGE_READY:
        MUST(w, message->ready.boot == rank->grant.boot, "job %u: READY of another boot", rank->job);
        if (!rank->was_ready) {
            post(w, EVENT_MARK, rank->index, job_of(w, rank)->life, below(w, 1000 * MS), NULL);
        }
        rank->was_ready = true;
        if (job_of(w, rank)->is_closing) {
            post(w, EVENT_CLOSE, rank->index, job_of(w, rank)->life, below(w, 5 * MS), NULL);
        }
        break;
    case TRIB_MESSAGE_MARK:
        break;
    case TRIB_MESSAGE_RECALL:
        say_join(w, rank);
        break;
    case TRIB_MESSAGE_AWAY: /* it comes again when the connection has ended */
        break;
    case TRIB_MESSAGE_CLOSED:
        MUST(w, rank->has_closed || job_of(w, rank)->may_fail, "job %u: CLOSED to a rank that has not closed",
             rank->job);
        w->closes++;
        finish_rank(w, rank);
        break;
    case TRIB_MESSAGE_FAIL:
        take_fail(w, rank, message);
        break;
    default:
        complain(w, "a rank gets %s", trib_message_name(message->kind));
    }
}

/* ---- events ---- */

static void time_decision(struct world *w, enum decision decision, uint64_t begin_ns, uint64_t parts)
{
    uint64_t ns = cpu_ns() - begin_ns;
    times_add(&w->times[decision], parts > 0 ? ns / parts : ns);
    begin_ns = cpu_ns();
    w->due_ns = trib_jobs_next_timeout(&w->jobs);
    times_add(&w->times[DECISION_LOOK], cpu_ns() - begin_ns);
}

static enum decision decision_of(const struct trib_message *message)
{
    return message->kind == TRIB_MESSAGE_JOIN         ? DECISION_JOIN
           : message->kind == TRIB_MESSAGE_PATHS      ? DECISION_PATHS
           : message->kind == TRIB_MESSAGE_REGISTER   ? DECISION_REGISTER
           : message->kind == TRIB_MESSAGE_MARK       ? DECISION_MARK
           : message->kind == TRIB_MESSAGE_CLOSE      ? DECISION_CLOSE
           : message->kind == TRIB_MESSAGE_HELLO      ? DECISION_HELLO
           : message->kind == TRIB_MESSAGE_ROOT_READY ? DECISION_READY
           : message->kind == TRIB_MESSAGE_ROOM       ? DECISION_ROOM
                                                      : DECISION_OTHER;
}

static void hear_rank(struct world *w, struct rank *rank, const struct trib_message *message)
{
    enum decision decision = decision_of(message);
    w->in++;
    w->marks_heard += message->kind == TRIB_MESSAGE_MARK;
    uint64_t begin_ns = cpu_ns();
    bool is_taken = trib_jobs_receive(&w->jobs, &rank->session, message, w->now_ns);
    const struct trib_job *joined = rank->session.job;
    if (decision == DECISION_JOIN && joined && joined->state != TRIB_JOB_JOINING) {
        decision = DECISION_START; /* agents have been chosen, and asked for their roots */
    }
    time_decision(w, decision, begin_ns, 0);
    MUST(w, is_taken, "job %u rank %u: %s has no business there", rank->job, rank->index % w->options.ranks,
         trib_message_name(message->kind));
}

static void hear_agent(struct world *w, struct agent *agent, const struct trib_message *message)
{
    uint32_t starts = w->jobs.incarnation;
    w->in++;
    uint64_t begin_ns = cpu_ns();
    trib_switches_answer(&w->jobs, agent->remote, message, w->now_ns);
    time_decision(w, decision_of(message), begin_ns, w->jobs.incarnation - starts);
}

/* One event of an agent is a decision for each communicator that it recalls or starts. Each start has a boot. */
static void lose_agent(struct world *w, struct agent *agent)
{
    uint64_t before = w->jobs.stats.recalled;
    uint64_t parts = before + w->jobs.incarnation;
    agent->is_cut = true;
    uint64_t begin_ns = cpu_ns();
    trib_switches_lost(&w->jobs, agent->remote, "connection reset", false, w->now_ns);
    parts = w->jobs.stats.recalled + w->jobs.incarnation - parts;
    time_decision(w, DECISION_LOST, begin_ns, parts);
    w->recalls += w->jobs.stats.recalled - before;
}

static void dialled(struct world *w, struct agent *agent)
{
    if (!agent->is_up) {
        lose_agent(w, agent);
        return;
    }
    agent->is_connected = true;
    agent->session = (struct trib_session){.peer = w->config.listen, .local = agent->config.listen};
    trib_switches_connected(&w->jobs, agent->remote);
    w->due_ns = trib_jobs_next_timeout(&w->jobs);
}

static void die(struct world *w, struct rank *rank)
{
    job_of(w, rank)->may_fail = true;
    w->deaths++;
    if (!rank->is_cut && !w->is_down && rank->session.job) {
        rank->is_cut = true;
        uint64_t begin_ns = cpu_ns();
        trib_jobs_gone(&w->jobs, &rank->session, "killed", w->now_ns);
        time_decision(w, DECISION_DEATH, begin_ns, 0);
    }
}

/* The controller's process ends: all connections do. */
static void restart(struct world *w)
{
    w->restarts++;
    w->is_down = w->is_mute = true;
    trib_jobs_deinit(&w->jobs, TRIB_ERR_SWITCH, "killed");
    MUST(w, w->jobs.count == 0 && w->own.open_count == 0 && w->jobs.agent.memory_used == 0, "the controller leaks");
    w->is_mute = false;
    w->due_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < w->options.jobs * w->options.ranks; i++) {
        struct rank *rank = &w->ranks[i];
        rank->session.job = NULL;
        if (!rank->is_cut && !rank->is_done) {
            rank->is_cut = true;
            post(w, EVENT_RANK_ENDED, i, rank->epoch, latency_ns(i), NULL);
        }
    }
    for (uint32_t i = 0; i < w->options.agents; i++) {
        w->agents[i].is_cut = true;
        post(w, EVENT_HUNG_UP, i, w->agents[i].epoch, latency_ns(i), NULL);
    }
    post(w, EVENT_SERVE, 0, 0, 50 * MS, NULL);
}

static void rank_event(struct world *w, const struct event *event)
{
    struct rank *rank = &w->ranks[event->index];
    struct job *job = job_of(w, rank);
    bool is_of = event->epoch == rank->epoch && !rank->is_done;
    switch ((int)event->kind) {
    case EVENT_RANK_ENDED:
    case EVENT_JOIN:
        if (is_of && event->kind == EVENT_JOIN) {
            connect_rank(w, rank);
        } else if (is_of) {
            rank->epoch++;
            post(w, EVENT_JOIN, rank->index, rank->epoch, 20 * MS + below(w, 30 * MS), NULL);
        }
        break;
    case EVENT_MARK:
        if (event->epoch == job->life && !rank->is_done && rank->was_ready && !rank->has_closed) {
            rank->mark += w->is_quiet ? 0 : below(w, 100);
            if (!rank->is_cut && rank->session.job &&
                ((struct trib_job *)rank->session.job)->state == TRIB_JOB_RUNNING) {
                say_mark(w, rank, TRIB_MESSAGE_MARK);
            }
            post(w, EVENT_MARK, rank->index, job_of(w, rank)->life, 1000 * MS, NULL);
            if (!w->is_quiet && !job->is_closing && w->now_ns >= job->ends_ns) {
                close_job(w, rank->job);
            }
        }
        break;
    case EVENT_CLOSE:
        if (event->epoch == job->life && !rank->is_done && rank->was_ready && !rank->has_closed) {
            rank->has_closed = true;
            if (!rank->is_cut) {
                say_mark(w, rank, TRIB_MESSAGE_CLOSE);
            }
        }
        break;
    default: /* EVENT_DIE */
        if (!rank->is_done) {
            die(w, rank);
            finish_rank(w, rank);
        }
    }
}

static void agent_event(struct world *w, const struct event *event)
{
    struct agent *agent = &w->agents[event->index];
    bool is_of = event->epoch == agent->epoch;
    if (event->kind == EVENT_DIALLED && is_of && !agent->is_cut) {
        dialled(w, agent);
    } else if (event->kind == EVENT_HUNG_UP && is_of && agent->is_connected) {
        agent->is_connected = false;
        trib_jobs_gone(&agent->jobs, &agent->session, "its session closed", w->now_ns);
    } else if (event->kind == EVENT_AGENT_HUNG_UP && is_of && !agent->is_cut) {
        lose_agent(w, agent);
    } else if (event->kind == EVENT_KILL && agent->is_up) {
        w->kills++;
        agent_kill(w, agent);
        post(w, EVENT_START, agent->index, 0, 20 * MS + below(w, 600 * MS), NULL);
    } else if (event->kind == EVENT_START && !agent->is_up) {
        agent_start(w, agent);
    } else if (event->kind == EVENT_AGENT_TIMER && event->epoch == agent->life && agent->is_up) {
        agent->timer_ns = TRIB_NEVER;
        trib_jobs_on_timeout(&agent->jobs, w->now_ns);
        arm(w, agent);
    }
}

static void deliver(struct world *w, const struct event *event)
{
    struct trib_message message;
    if (event->bytes) {
        read_message(w, event, &message);
        free(event->bytes);
    }
    w->events++;
    if (event->kind == EVENT_TO_CONTROLLER) {
        struct rank *rank = &w->ranks[event->index];
        if (event->epoch == rank->epoch && !rank->is_cut) {
            hear_rank(w, rank, &message);
        }
    } else if (event->kind == EVENT_TO_RANK) {
        struct rank *rank = &w->ranks[event->index];
        if (event->epoch == rank->epoch && !rank->is_done) {
            take_by_rank(w, rank, &message);
        }
    } else if (event->kind == EVENT_TO_AGENT || event->kind == EVENT_FROM_AGENT) {
        struct agent *agent = &w->agents[event->index];
        if (event->kind == EVENT_FROM_AGENT && event->epoch == agent->epoch && !agent->is_cut) {
            hear_agent(w, agent, &message);
        } else if (event->kind == EVENT_TO_AGENT && event->epoch == agent->epoch && agent->is_connected) {
            MUST(w, trib_jobs_receive(&agent->jobs, &agent->session, &message, w->now_ns), "agent %u: %s", agent->index,
                 trib_message_name(message.kind));
            arm(w, agent);
        }
    } else if (event->kind == EVENT_RESTART) {
        restart(w);
    } else if (event->kind == EVENT_SERVE) {
        controller_start(w);
        w->due_ns = trib_jobs_next_timeout(&w->jobs);
    } else if (event->kind == EVENT_RANK_ENDED || (event->kind >= EVENT_JOIN && event->kind <= EVENT_DIE)) {
        rank_event(w, event);
    } else {
        agent_event(w, event);
    }
}

static void take_time(struct world *w)
{
    uint64_t begin_ns = cpu_ns();
    trib_jobs_on_timeout(&w->jobs, w->now_ns);
    time_decision(w, DECISION_TIME, begin_ns, 0);
}

void world_run(struct world *w, uint64_t until_ns)
{
    struct event event;
    while (w->now_ns < until_ns) {
        uint64_t next_ns = w->heap_count > 0 ? w->heap[0].at_ns : TRIB_NEVER;
        if (!w->is_down && w->due_ns <= next_ns && w->due_ns < until_ns) {
            w->now_ns = w->due_ns > w->now_ns ? w->due_ns : w->now_ns;
            take_time(w);
        } else if (next_ns < until_ns && pop(w, &event)) {
            w->now_ns = next_ns > w->now_ns ? next_ns : w->now_ns;
            deliver(w, &event);
        } else {
            w->now_ns = until_ns;
        }
    }
}

/* ---- what is open where ---- */

/* C-2, once nothing is under way. */
static void check_openings(const struct world *w)
{
    uint32_t placements = 0;
    uint32_t openings = 0;
    for (struct trib_job *job = w->jobs.first; job; job = job->next) {
        for (uint32_t i = 0; job->is_open && i < job->placements; i++) {
            placements += job->placement[i].carrier == TRIB_CARRIER_REMOTE;
        }
    }
    for (uint32_t i = 0; i < w->options.agents; i++) {
        const struct agent *agent = &w->agents[i];
        for (const struct trib_lending *at = agent->jobs.masters.lendings; agent->is_up && at; at = at->next) {
            struct trib_job *job = trib_jobs_find_communicator(&w->jobs, at->root.of.communicator);
            MUST(w, job && job->grant.boot == at->root.of.boot && trib_placement_of_remote(job, agent->remote),
                 "agent %u has slots of communicator %08x, of which the controller has none there", i,
                 at->root.of.communicator);
            openings++;
        }
    }
    MUST(w, placements == openings, "%u placements, and %u openings at agents", placements, openings);
}

void world_settle(struct world *w)
{
    struct event event;
    struct event *later = NULL;
    size_t count = 0;
    while (pop(w, &event)) {
        if (event.kind <= EVENT_LAST_OF_NETWORK) {
            w->now_ns = event.at_ns > w->now_ns ? event.at_ns : w->now_ns;
            deliver(w, &event);
            continue;
        }
        later = count % 1024 == 0 ? realloc(later, (count + 1024) * sizeof *later) : later;
        MUST(w, later != NULL, "out of memory");
        later[count++] = event;
    }
    check_openings(w);
    for (size_t i = 0; i < count; i++) {
        push(w, later[i].at_ns, later[i]);
    }
    free(later);
    if (w->options.checks_all) {
        trib_jobs_check(&w->jobs);
    }
}

/* ---- begin and end ---- */

static void configure(struct world *w)
{
    struct trib_server_config *config = &w->config;
    config->listen = trib_address_v4(HOST_CONTROLLER, PORT);
    config->boot = 0xb0000000U;
    config->shards = 2;
    config->receive_room = 32U << 20;
    config->memory_quota = config->job_quota = UINT64_C(1) << 40;
    config->join_timeout_ns = 3 * TRIB_SECOND_NS;
    config->trees = w->options.trees;
    config->lend_to.count = 1;
    config->lend_to.at[0] = config->listen;
    config->plane = plane_verbs(&w->own);
    for (uint32_t i = 0; i < w->options.agents; i++) {
        struct agent *agent = &w->agents[i];
        agent->index = i;
        agent->config = *config;
        agent->config.listen = trib_address_v4(HOST_AGENTS + i, PORT);
        agent->config.trees = 0;
        agent->config.shards = 1 + i % 2;
        agent->config.weight = (uint8_t)(1 + i % 3);
        agent->config.plane = plane_verbs(agent);
        config->lenders.at[i] = agent->config.listen;
    }
    config->lenders.count = w->options.agents;
}

void world_begin(struct world *w, const struct options *options)
{
    uint32_t ranks = options->jobs * options->ranks;
    *w = (struct world){.options = *options, .now_ns = TRIB_SECOND_NS};
    w->prng.state = options->seed;
    w->agents = calloc(options->agents, sizeof *w->agents);
    w->ranks = calloc(ranks, sizeof *w->ranks);
    w->all = calloc(options->jobs, sizeof *w->all);
    MUST(w, w->agents && w->ranks && w->all, "out of memory");
    configure(w);
    for (uint32_t i = 0; i < options->agents; i++) {
        agent_start(w, &w->agents[i]);
    }
    controller_start(w);
    for (uint32_t i = 0; i < ranks; i++) {
        w->ranks[i].index = i;
        w->ranks[i].session.peer = trib_address_v4(HOST_RANKS + i, 50000);
        w->ranks[i].session.local = w->config.listen;
    }
    for (uint32_t i = 0; i < options->jobs; i++) {
        begin_job(w, i, 100 * MS + below(w, 1000 * MS));
    }
}

void world_finish(struct world *w)
{
    w->is_ending = true;
    for (uint32_t i = 0; i < w->options.jobs; i++) {
        if (!w->all[i].is_closing) {
            close_job(w, i);
        }
    }
    world_run(w, w->now_ns + 5 * TRIB_SECOND_NS);
}

void world_end(struct world *w)
{
    struct event event;
    MUST(w, w->jobs.count == 0 && !w->jobs.first && !w->jobs.owners, "%u jobs are left", w->jobs.count);
    MUST(w, w->jobs.agent.memory_used == 0 && w->own.open_count == 0, "slots are left here");
    for (uint32_t i = 0; i < w->options.agents; i++) {
        const struct agent *agent = &w->agents[i];
        MUST(w, agent->open_count == 0 && agent->jobs.agent.memory_used == 0 && !agent->jobs.masters.lendings,
             "agent %u: slots are left", i);
    }
    trib_jobs_deinit(&w->jobs, TRIB_ERR_SWITCH, "the end");
    for (uint32_t i = 0; i < w->options.agents; i++) {
        trib_jobs_deinit(&w->agents[i].jobs, TRIB_ERR_SWITCH, "the end");
    }
    while (pop(w, &event)) {
        free(event.bytes);
    }
    free(w->heap);
    free(w->agents);
    free(w->ranks);
    free(w->all);
}
