/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jobs.c: bytes become what a control plane sees: messages of up to 12 sessions at once, of ranks and of relays,
 * right ones and any that the codec takes; sessions that end; time; slots that saw two operations; a data plane that
 * refuses, and whose marks run ahead; where it has lenders, what they say, and how loans end. The jobs (control/jobs/jobs.h) are the real ones. The data plane only keeps
 * accounts (accounts.h), the sessions only keep order.
 *
 * What must hold: the data plane is asked for nothing that is not open, every session is in one place of one job or in
 * none, nothing is sent to a session behind its FAIL or CLOSED, every message can be encoded, a deadline is never in
 * the past, a loan is of one job that has it, and when all sessions are gone and time has passed, no job, no
 * communicator, no loan and no memory is left. Read next: control/jobs/jobs.h. */
#include "control/jobs/placements.h"
#include "control/roots/borrow.h"
#include "fuzz/fuzz.h"
#include "fuzz/sessions.h"

#define EVENTS_MAX 300
#define LOANS 16
#define LENDERS 2

/* ---- loans ---- */

/* A connection to a lender, as uplinks.c keeps it. */
static struct loan {
    struct trib_loan *loan; /* NULL: none; freed as soon as it is ended */
    bool is_connected;
    uint32_t communicator, boot; /* of the ROOT_OPEN that it was asked last */
} loans[LOANS];

static struct loan *find_loan(const struct trib_loan *loan)
{
    for (uint32_t i = 0; i < LOANS; i++) {
        if (loans[i].loan == loan) {
            return &loans[i];
        }
    }
    return NULL;
}

static struct trib_loan *loan_open(void *owner, const struct trib_address *lender)
{
    struct loan *loan = find_loan(NULL);

    (void)owner;
    must(trib_address_port(lender) != 0, "loan: of nobody");
    if (loan == NULL) {
        return NULL;
    }
    *loan = (struct loan){.loan = calloc(1, sizeof *loan->loan)};
    return loan->loan;
}

static void loan_send(void *owner, struct trib_loan *to, const struct trib_message *message)
{
    struct loan *loan = find_loan(to);
    struct trib_message again;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    (void)owner;
    must(loan != NULL && loan->is_connected, "loan: sent on one that does not stand");
    must(trib_message_is_of(message->kind, TRIB_SENDER_ASKER), "loan: that is not for a lender");
    size_t len = trib_message_encode(message, bytes);
    must(trib_message_decode(bytes, len, &again, &used) == TRIB_OK && used == len, "loan: sent what is no message");
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        loan->communicator = message->root_open.session.communicator;
        loan->boot = message->root_open.boot;
    }
}

static void loan_end(void *owner, struct trib_loan *ended)
{
    struct loan *loan = find_loan(ended);

    (void)owner;
    must(ended != NULL && loan != NULL, "loan: ended twice");
    free(loan->loan);
    loan->loan = NULL;
}

static void loan_ping(void *owner, struct trib_loan *loan)
{
    (void)owner;
    must(loan != NULL && find_loan(loan) != NULL, "loan: one that has ended is asked");
}

/* What a lender says, or nearly. */
static void make_lender_word(const struct loan *loan, struct trib_message *message)
{
    uint32_t how = next_byte();

    memset(message, 0, sizeof *message);
    if (!loan->loan->is_lent && how < 200) {
        message->kind = TRIB_MESSAGE_LENT;
        message->lent.room = 1U << (how & 31);
        message->lent.weight = (uint8_t)(1 + (how >> 6));
        message->lent.shards = (uint8_t)(1 + (how >> 5 & 1));
        message->lent.at[0] = trib_address_v4(0x0a000065, 7480);
        message->lent.at[1] = trib_address_v4(0x0a000065, 7481);
    } else if (how < 160) {
        message->kind = TRIB_MESSAGE_ROOT_READY;
        message->root_ready.communicator = loan->communicator + (how == 159);
        message->root_ready.boot = loan->boot + (how == 158);
    } else if (how < 220) {
        message->kind = TRIB_MESSAGE_ROOT_MISSING;
        message->root_missing.communicator = loan->communicator;
        message->root_missing.sequence = next_number();
        message->root_missing.missing.count = (uint16_t)(how & 3);
        for (uint32_t i = 0; i < message->root_missing.missing.count; i++) {
            message->root_missing.missing.rank[i] = (uint16_t)i;
        }
    } else {
        make_message(how, message);
    }
}

static void loan_happen(struct loan *loan, uint32_t what)
{
    struct trib_message message;
    struct trib_message taken;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t used;

    if (loan->loan == NULL) {
        return;
    }
    if (what == 0) {
        struct trib_loan *lost = loan->loan;
        trib_loan_lost(&script.jobs, lost, "connection closed", next_byte() > 250, script.now_ns);
        must(find_loan(lost) == NULL || !find_loan(lost)->is_connected, "loan: lost, and still held");
        return;
    }
    if (!loan->is_connected) {
        loan->is_connected = true;
        trib_loan_connected(&script.jobs, loan->loan);
        return;
    }
    make_lender_word(loan, &message);
    size_t len = trib_message_encode(&message, bytes);
    if (trib_message_decode(bytes, len, &taken, &used) == TRIB_OK) {
        trib_loan_answer(&script.jobs, loan->loan, &taken, script.now_ns);
    }
}

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
        script.config.boot += 0x1000; /* none that was given out before */
        script.jobs.incarnation = 0;
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
    case 15:
        if (script.config.lenders.count > 0) {
            loan_happen(&loans[next_byte() % LOANS], byte & 15);
            return;
        }
        break;
    default:
        break;
    }
    make_message(next_byte(), &message);
    if (peer->is_there) {
        peer_say(peer, &message);
    }
}

/* ---- what must hold ---- */

static void check_loans(void)
{
    for (uint32_t i = 0; i < LOANS; i++) {
        const struct trib_loan *loan = loans[i].loan;
        const struct trib_job *job = script.jobs.first;
        while (loan != NULL && job != NULL && job != loan->job) {
            job = job->next;
        }
        must(loan == NULL || (job != NULL && job->loan[loan->lender] == loan && !job->has_peers),
             "loan: of a job that has it not");
    }
}

static void check_places(void)
{
    for (const struct trib_job *job = script.jobs.first; job != NULL; job = job->next) {
        must(!trib_placements_are_here(job) || accounts_find(&script.accounts, job->grant.communicator) != NULL,
             "jobs: open here, closed below");
    }
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
    must(script.jobs.agent.memory_used == 0, "end: memory that nobody has");
    must(accounts_open(&script.accounts) == 0, "end: a communicator stays open");
    check_loans();
}

static void set_up(const uint8_t *data, size_t size)
{
    const struct trib_jobs_output output = {.send = peer_send, .end = peer_end, .ping = peer_ping, .draw = test_draw};

    memset(&script, 0, sizeof script);
    memset(loans, 0, sizeof loans);
    script.bytes = data;
    script.left = size;
    script.now_ns = TRIB_SECOND_NS;
    uint32_t wishes = next_byte();
    script.config = (struct trib_server_config){
        .listen = trib_address_v4(0x0a0000fe, 7470),
        .trees = wishes >> 3 & 3,
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
    for (uint32_t i = 0; i < LENDERS && (wishes & 4) != 0; i++) {
        script.config.lenders.at[script.config.lenders.count++] = trib_address_v4(0x0a000065 + i, 7480);
    }
    trib_jobs_init(&script.jobs, &script.config, &output);
    script.jobs.loans =
        (struct trib_loan_output){.open = loan_open, .send = loan_send, .end = loan_end, .ping = loan_ping};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up(data, size);
    for (uint32_t events = 0; script.left > 0 && events < EVENTS_MAX; events++) {
        uint32_t byte = next_byte();
        happen(byte, &script.peers[(byte & 15) % SESSIONS]);
        trib_jobs_check(&script.jobs);
        check_places();
        check_loans();
    }
    check_end();
    return 0;
}
