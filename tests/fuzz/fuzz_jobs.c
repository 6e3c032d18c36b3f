/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jobs.c: bytes become what a control plane sees: messages of up to 12 sessions at once, of ranks and of relays,
 * right ones and any that the codec takes; sessions that end; time; slots that saw two operations; a data plane that
 * refuses, and whose marks run ahead. The jobs (control/jobs/jobs.h) are the real ones. The data plane only keeps
 * accounts (accounts.h), the sessions only keep order.
 *
 * What must hold: the data plane is asked for nothing that is not open, every session is in one place of one job or in
 * none, nothing is sent to a session behind its FAIL or CLOSED, every message can be encoded, a deadline is never in
 * the past, and when all sessions are gone and time has passed, no job, no communicator and no memory is left. Read
 * next: control/jobs/jobs.h. */
#include "fuzz/fuzz.h"
#include "fuzz/sessions.h"

#define EVENTS_MAX 300

/* ---- the script ---- */

static void pass_time(uint32_t how)
{
    uint64_t due_ns = trib_jobs_next_timeout(&script.jobs);

    must(due_ns >= script.now_ns, "time: a deadline in the past");
    if (how < 8 || due_ns == TRIB_NEVER) {
        script.now_ns += (uint64_t)how * TRIB_MILLISECOND_NS;
    } else {
        script.now_ns = due_ns;
    }
    trib_jobs_on_timeout(&script.jobs, script.now_ns);
    must(trib_jobs_next_timeout(&script.jobs) > script.now_ns, "time: what was due is still due");
}

static void dispute(uint32_t who)
{
    const struct trib_job *job = script.jobs.first;
    const uint32_t ranks[2] = {who & 3, who >> 2 & 3};

    if (job != NULL) {
        trib_jobs_mismatch(&script.jobs, job->grant.communicator, next_number(), ranks, script.now_ns);
    }
}

/* The switch dies and comes back: all sessions are lost, and what they were granted is known to the ranks alone. */
static void restart(bool in_peace)
{
    if (in_peace) {
        trib_jobs_deinit(&script.jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
        must(script.jobs.count == 0, "jobs: left behind by deinit");
    }
    for (uint32_t i = 0; i < SESSIONS; i++) {
        peer_go(&script.peers[i]);
    }
}

static void happen(uint32_t byte, struct peer *peer)
{
    struct trib_message message;

    switch (byte >> 4) {
    case 0:
    case 1:
    case 2:
        make_join(peer, &message);
        peer_say(peer, &message);
        return;
    case 3:
        say_raw(peer);
        return;
    case 4:
        peer_go(peer);
        return;
    case 5:
    case 6:
        pass_time(next_byte() % 16);
        return;
    case 7:
        dispute(next_byte());
        return;
    case 8:
        script.accounts.leap = next_byte() % 32;
        script.accounts.refuses = next_byte() > 200;
        return;
    case 9:
        if (next_byte() > 192) {
            restart((byte & 1) != 0);
        }
        return;
    default:
        make_message(next_byte(), &message);
        if (peer->is_there) {
            peer_say(peer, &message);
        }
        return;
    }
}

/* ---- what must hold ---- */

static void check_places(void)
{
    uint32_t count = 0;
    uint64_t memory = 0;

    for (const struct trib_job *job = script.jobs.first; job != NULL; job = job->next) {
        count++;
        memory += job->is_open ? job->slot_bytes : 0;
        must(!job->is_open || job->has_peers || accounts_find(&script.accounts, job->grant.communicator) != NULL,
             "jobs: open here, closed below");
        for (uint32_t rank = 0; rank < job->settings.ranks; rank++) {
            const struct trib_session *session = job->ranks[rank].session;
            must(session == NULL || (session->job == job && session->rank == rank), "jobs: a session of two places");
        }
    }
    must(count == script.jobs.count, "jobs: miscounted");
    must(memory == script.jobs.memory_used, "jobs: memory that no job has");
    for (uint32_t i = 0; i < SESSIONS; i++) {
        const struct peer *peer = &script.peers[i];
        const struct trib_job *job = peer->session.job;
        must(!peer->has_ended || job == NULL, "session: ended, and in a job");
        must(!peer->is_there || job == NULL || job->ranks[peer->session.rank].session == &peer->session,
             "session: in a job that does not know it");
        must(!peer->has_last || peer->has_ended, "session: told the last, and not ended");
    }
}

static void check_end(void)
{
    for (uint32_t i = 0; i < SESSIONS; i++) {
        peer_go(&script.peers[i]);
    }
    for (uint32_t i = 0; i < 100 && script.jobs.first != NULL; i++) { /* some are waited for until a deadline */
        must(trib_jobs_next_timeout(&script.jobs) != TRIB_NEVER, "end: a job without sessions waits for ever");
        pass_time(15);
    }
    must(script.jobs.first == NULL && script.jobs.count == 0, "end: a job without sessions does not end");
    must(script.jobs.memory_used == 0, "end: memory that nobody has");
    must(accounts_open(&script.accounts) == 0, "end: a communicator stays open");
}

static void set_up(const uint8_t *data, size_t size)
{
    const struct trib_jobs_output output = {.send = peer_send, .end = peer_end, .draw = test_draw};

    memset(&script, 0, sizeof script);
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    uint32_t wishes = next_byte();
    script.config = (struct trib_server_config){
        .shards = 2,
        .boot = BOOT,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .threshold = (wishes & 2) != 0 ? 40000000 : 0,
        .group = wishes % 2 != 0 ? 0xefc07401U : 0,
        .join_timeout_ns = 5 * TRIB_SECOND_NS,
        .plane = accounts_plane(&script.accounts),
    };
    trib_jobs_init(&script.jobs, &script.config, &output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up(data, size);
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        uint32_t byte = next_byte();
        happen(byte, &script.peers[(byte & 15) % SESSIONS]);
        check_places();
    }
    check_end();
    return 0;
}
