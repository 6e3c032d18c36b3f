/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_roots.c: bytes become what a control plane without a switch sees (control/roots/roots.h), and what the roots in
 * the ranks' processes are asked (control/agents/root.h): both are the real ones. Messages between them lie in queues
 * and are taken when the script says so; ranks say right messages and any that the codec takes; sessions end; time
 * passes; a root by itself is told whatever the codec takes, by a control plane that is none. Some jobs are of ranks
 * that send to each other. The data planes only keep accounts.
 *
 * What must hold: a root asks its data plane for nothing that is not open and closes all that it has opened; a rank is
 * READY only when every root of its communicator is; every message can be encoded; and when all sessions are gone and
 * time has passed, no job is left.
 * Read next: control/roots/roots.h. */
#include "control/agents/root.h"
#include "control/jobs/jobs.h"
#include "control/roots/roots.h"
#include "fuzz/fuzz.h"
#include "fuzz/sessions.h"
#include "io/log.h"

#define EVENTS_MAX 300
#define QUEUE_MAX 64
#define SHARDS 2

/* Of one process. */
struct plane {
    uint32_t communicator; /* 0: nothing is open */
    uint32_t ranks;
    uint32_t roots; /* bitmap of those that are open */
    bool refuses;
};

static struct process {
    struct plane plane;
    struct trib_data_plane verbs;
    struct trib_agent agent; /* of the verbs */
    struct trib_root root;
    struct trib_message queue[QUEUE_MAX]; /* what its root has not taken yet */
    uint32_t arrived, taken;
} processes[SESSIONS + 1]; /* the last has no session: a control plane that is none speaks to it */

/* ---- the data plane of a root ---- */

static enum trib_status root_open(void *owner, const struct trib_opening *opening)
{
    struct plane *plane = owner;
    const struct trib_session_config *session = &opening->session;
    uint32_t ranks = 0;

    must(opening->root < session->roots && session->roots <= TRIB_ROOTS_MAX, "root: none that can be");
    must(opening->shard < SHARDS && opening->parent == NULL && session->salt == 0, "root: not this one's");
    must(plane->communicator == 0 || plane->communicator == session->communicator, "root: of two communicators");
    must((plane->roots >> opening->root & 1) == 0, "root: opened twice");
    for (uint32_t b = 0; b < opening->count; b++) {
        const struct trib_branch *branch = &opening->branches[b];
        must(branch->count > 0 && (branch->count == 1 || branch->is_switch), "root: a branch of nobody");
        must(trib_address_port(&branch->from) != 0, "root: a branch without an address");
        ranks += branch->count;
    }
    must(ranks == session->ranks, "root: ranks that are behind no branch, or two");
    if (plane->refuses) {
        return TRIB_ERR_MEMORY;
    }
    plane->communicator = session->communicator;
    plane->ranks = session->ranks;
    plane->roots |= 1U << opening->root;
    return TRIB_OK;
}

static void root_close(void *owner, uint32_t communicator)
{
    struct plane *plane = owner;

    must(communicator != 0 && plane->communicator == communicator, "root: closes what is not open");
    plane->communicator = 0;
    plane->roots = 0;
}

static void root_join(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    const struct plane *plane = owner;

    must(communicator != 0 && plane->communicator == communicator, "root: registers at what is not open");
    must(rank < plane->ranks && mark <= TRIB_SEQUENCE_MAX, "root: registers what cannot be");
}

static uint32_t root_missing(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    const struct plane *plane = owner;
    uint32_t count = 0;

    must(communicator != 0 && plane->communicator == communicator, "root: is asked for what is not open");
    for (uint32_t rank = 0; rank < plane->ranks && count < max; rank++) {
        if ((sequence >> rank % 64 & 1) != 0) {
            ranks[count++] = (uint16_t)rank;
        }
    }
    return count;
}

/* ---- processes ---- */

static void process_end(struct process *process)
{
    trib_root_deinit(&process->root);
    must(process->plane.communicator == 0, "root: left open");
}

static void process_start(struct process *process)
{
    process_end(process);
    process->arrived = process->taken = 0;
    process->plane.refuses = false;
    trib_agent_init(&process->agent, &process->verbs, SHARDS);
    trib_root_init(&process->root, &process->agent);
}

static struct process *process_of(const struct peer *peer)
{
    return &processes[peer - script.peers];
}

static void must_be_ready(const struct trib_session *session)
{
    const struct trib_job *job = session->job;

    must(job != NULL, "ready: of no job");
    for (uint32_t t = 0; t < job->grant.roots && !job->has_peers; t++) {
        must(job->placement[job->root[t].placement].is_ready, "ready: before a root has said so");
    }
}

static void deliver(void *owner, struct trib_session *session, const struct trib_message *message)
{
    struct process *process = process_of(peer_of(session));

    peer_send(owner, session, message);
    if (message->kind == TRIB_MESSAGE_READY) {
        must_be_ready(session);
    }
    if (message->kind >= TRIB_MESSAGE_ROOT_OPEN && process->arrived < QUEUE_MAX) {
        process->queue[process->arrived++] = *message;
    }
}

static void speak(struct peer *peer, const struct trib_message *message)
{
    if (!peer->is_there) {
        process_start(process_of(peer));
    }
    peer_say(peer, message);
    if (!peer->is_there) {
        process_end(process_of(peer));
    }
}

static void leave(struct peer *peer)
{
    peer_go(peer);
    process_end(process_of(peer));
}

/* Its root takes what has come for it, and answers. */
static void take_queue(struct peer *peer, uint32_t count)
{
    struct process *process = process_of(peer);
    struct trib_message answer;

    for (; count > 0 && peer->is_there && process->taken < process->arrived; count--) {
        (void)!trib_root_receive(&process->root, &process->queue[process->taken++], &answer);
        if (answer.kind != TRIB_MESSAGE_NONE) {
            speak(peer, &answer);
        }
    }
}

/* ---- messages ---- */

static void make_root_join(const struct peer *peer, struct trib_message *message)
{
    make_join(peer, message);
    uint32_t how = next_byte();
    message->join.weight = (uint8_t)(how >> 2);
    message->join.root_port = (how & 3) == 3 ? 0 : (uint16_t)(30000 + (peer - script.peers) * 4);
    message->join.room = (how & 12) == 12 ? 0 : 4U << (how >> 4 & 7) << 14;
    message->join.host = how >> 7 != 0 ? how : 0;
    if ((how & 0x60) == 0x60) { /* ranks that send to each other */
        strcpy(message->join.settings.scheme, "ring");
    }
}

/* What a root says, or nearly. */
static void make_answer(const struct peer *peer, struct trib_message *message)
{
    uint32_t how = next_byte();

    memset(message, 0, sizeof *message);
    if ((how & 1) != 0) {
        message->kind = TRIB_MESSAGE_ROOT_READY;
        message->of.communicator = peer->grant.communicator + (how >> 1 & 1);
        message->of.boot = peer->grant.boot + (how >> 2 & 1);
        return;
    }
    message->kind = TRIB_MESSAGE_ROOT_MISSING;
    message->of.communicator = peer->grant.communicator + (how >> 1 & 1);
    message->of.boot = peer->grant.boot;
    message->root_missing.sequence = next_number();
    message->root_missing.missing.count = (uint16_t)(how >> 4);
    for (uint32_t i = 0; i < message->root_missing.missing.count; i++) {
        message->root_missing.missing.rank[i] = (uint16_t)next_byte();
    }
}

static void tell_stranger(void)
{
    struct process *process = &processes[SESSIONS];
    struct trib_message message;
    struct trib_message answer;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used = 0;

    if (trib_message_decode(script.bytes, script.left, &message, &used) != TRIB_OK || used == 0) {
        return;
    }
    script.bytes += used;
    script.left -= used;
    enum trib_status status = trib_root_receive(&process->root, &message, &answer);
    must(status == TRIB_OK || answer.kind == TRIB_MESSAGE_ABORT, "root: fails without a word");
    must(answer.kind == TRIB_MESSAGE_NONE || trib_message_encode(&answer, bytes) > 0, "root: says what is no message");
    if (status != TRIB_OK) {
        process_start(process);
    }
}

static void happen(uint32_t byte, struct peer *peer)
{
    const uint32_t ranks[2] = {byte & 3, byte >> 2 & 3};
    struct trib_message message;

    switch (byte >> 4) {
    case 0:
    case 1:
    case 2:
        make_root_join(peer, &message);
        speak(peer, &message);
        return;
    case 3:
        if (!peer->is_there) {
            process_start(process_of(peer));
        }
        say_raw(peer);
        return;
    case 4:
        leave(peer);
        return;
    case 5: {
        uint64_t due_ns = trib_jobs_next_timeout(&script.jobs);
        must(due_ns >= script.now_ns, "time: a deadline in the past");
        script.now_ns = next_byte() % 2 != 0 || due_ns == TRIB_NEVER ? script.now_ns + TRIB_SECOND_NS : due_ns;
        trib_jobs_on_timeout(&script.jobs, script.now_ns);
        return;
    }
    case 6:
        trib_root_mismatch(&process_of(peer)->root, next_number(), ranks, &message);
        if (message.kind != TRIB_MESSAGE_NONE && peer->is_there) {
            speak(peer, &message);
        }
        return;
    case 7:
        tell_stranger();
        return;
    case 8:
        process_of(peer)->plane.refuses = true;
        return;
    case 9:
        make_answer(peer, &message);
        if (peer->is_there) {
            speak(peer, &message);
        }
        return;
    case 10:
    case 11:
    case 12:
        take_queue(peer, QUEUE_MAX);
        return;
    case 13:
        take_queue(peer, 1);
        return;
    default:
        make_message(next_byte(), &message);
        if (peer->is_there) {
            speak(peer, &message);
        }
        return;
    }
}

/* ---- what must hold ---- */

static void check_places(void)
{
    uint32_t count = 0;

    for (const struct trib_job *job = script.jobs.first; job != NULL; job = job->next) {
        count++;
        for (uint32_t rank = 0; rank < job->settings.ranks; rank++) {
            const struct trib_session *session = job->ranks[rank].session;
            must(session == NULL || (session->job == job && session->rank == rank), "jobs: a session of two places");
        }
    }
    must(count == script.jobs.count, "jobs: miscounted");
    must(script.jobs.agent.memory_used == 0, "jobs: memory of others is counted");
    for (uint32_t i = 0; i < SESSIONS; i++) {
        const struct peer *peer = &script.peers[i];
        const struct trib_job *job = peer->session.job;
        must(!peer->has_ended || job == NULL, "session: ended, and in a job");
        must(!peer->has_last || peer->has_ended, "session: told the last, and not ended");
    }
}

static void check_end(void)
{
    for (uint32_t i = 0; i < SESSIONS; i++) {
        leave(&script.peers[i]);
    }
    must(script.jobs.first == NULL && script.jobs.count == 0, "end: a job without sessions does not end");
    trib_jobs_deinit(&script.jobs, TRIB_ERR_SWITCH, "the end");
    process_end(&processes[SESSIONS]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct trib_jobs_output output = {.send = deliver, .end = peer_end, .ping = peer_ping, .draw = test_draw};

    trib_log_set_default(TRIB_LOG_NONE);
    memset(&script, 0, sizeof script);
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    script.config = (struct trib_server_config){.boot = BOOT, .join_timeout_ns = 5 * TRIB_SECOND_NS};
    trib_jobs_init(&script.jobs, &script.config, &output);
    for (uint32_t i = 0; i < SESSIONS + 1; i++) {
        struct process *process = &processes[i];
        process->verbs = (struct trib_data_plane){.plane = &process->plane,
                                                  .open = root_open,
                                                  .close = root_close,
                                                  .join = root_join,
                                                  .missing = root_missing};
        process_start(process);
    }
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        uint32_t byte = next_byte();
        happen(byte, &script.peers[(byte & 15) % SESSIONS]);
        check_places();
    }
    check_end();
    return 0;
}
