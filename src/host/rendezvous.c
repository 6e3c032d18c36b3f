/* SPDX-License-Identifier: Apache-2.0 */
/* rendezvous.c: how a rank enters the shared memory of its host, and leaves it. Read next: hello.h, gather.c (rank
 * 0's part). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/gather.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/units.h"

#define RETRY_FIRST_US 500
#define RETRY_LAST_US 20000
/* Time for the rest once all have sent HELLO: each rank only needs to be scheduled. */
#define START_NS (10 * TRIB_SECOND_NS)

/* ---- ranks from 1 on ---- */

static enum trib_status find_nobody(const struct trib_rendezvous *meeting)
{
    char waited[TRIB_UNITS_TEXT_MAX];
    if (meeting->has_met_other_run) {
        return TRIB_ERR_REFUSED; /* meeting->error has the text already */
    }
    trib_format_duration(trib_clock_ns() - meeting->waits_ns, waited);
    trib_explain(meeting->error,
                 "waited %s for rank 0 of job %s on this host: without a switch all ranks must be on this host, with "
                 "one user and network namespace; for ranks on other hosts name a switch (TRIB_SWITCH=HOST:PORT) or "
                 "rank 0 (TRIB_RENDEZVOUS=HOST:PORT)",
                 waited, meeting->config->job);
    return TRIB_ERR_TIMEOUT;
}

/* Finds rank 0 and says HELLO. */
static enum trib_status approach(const struct trib_rendezvous *meeting, int *fd)
{
    useconds_t gap = RETRY_FIRST_US;
    for (;;) {
        enum trib_status status = TRIB_OK;
        *fd = trib_rendezvous_connect(meeting, &status);
        if (status != TRIB_OK) {
            return status;
        }
        if (*fd >= 0) {
            if (trib_rendezvous_say_hello(meeting, *fd, meeting->deadline_ns)) {
                return TRIB_OK;
            }
            (void)close(*fd);
        }
        if (trib_clock_ns() >= meeting->deadline_ns || trib_meeting_is_doomed(meeting)) {
            return find_nobody(meeting);
        }
        (void)usleep(gap);
        gap = 2 * gap < RETRY_LAST_US ? 2 * gap : RETRY_LAST_US;
    }
}

/* 1: an answer; 0: none in time; -1: rank 0 is gone. */
static int next_answer(const struct trib_rendezvous *meeting, int fd, struct trib_answer *answer,
                       struct trib_passing *message, uint64_t deadline_ns)
{
    int taken = 0;
    *message = (struct trib_passing){.data = answer, .bytes = sizeof *answer};
    while (taken == 0) {
        uint64_t now = trib_clock_ns();
        if (now >= deadline_ns || trib_meeting_is_doomed(meeting)) {
            return 0;
        }
        uint64_t look_ns = now + TRIB_MEETING_LOOK_NS;
        if (trib_passing_wait(fd, POLLIN, look_ns < deadline_ns ? look_ns : deadline_ns)) {
            taken = trib_take_passed(fd, message);
        }
    }
    return taken;
}

static enum trib_status take_refusal(const struct trib_rendezvous *meeting, const struct trib_answer *answer)
{
    bool known = answer->status < 0 && answer->status >= TRIB_ERR_CHECK;
    trib_explain(meeting->error, "%.*s", TRIB_ERROR_TEXT_MAX - 1, answer->text);
    return known ? (enum trib_status)answer->status : TRIB_ERR_REFUSED;
}

static uint32_t keep_lines(struct trib_host *host, const struct trib_answer *answer, struct trib_passing *message)
{
    uint32_t kept = 0;
    for (uint32_t rank = answer->first; rank < host->ranks && kept < message->fd_count; rank++) {
        if (rank != host->rank && host->lines[rank] < 0) {
            host->lines[rank] = message->fds[kept++];
        }
    }
    memmove(message->fds, message->fds + kept, (message->fd_count - kept) * sizeof(int));
    message->fd_count -= kept;
    trib_passing_close(message); /* more lines than ranks */
    return kept;
}

/* Recorded for the other ranks too: otherwise they would see only that this rank has left. */
static enum trib_status lack_descriptors(const struct trib_rendezvous *meeting)
{
    char others[TRIB_ERROR_TEXT_MAX];
    const struct trib_host *host = meeting->host;
    trib_explain(meeting->error, "rank %u of job %s cannot open a descriptor for each of %u ranks: raise ulimit -n",
                 host->rank, meeting->config->job, host->ranks);
    if (host->segment != NULL) {
        trib_explain(others, "%s", meeting->error);
        trib_host_fail(meeting->host, TRIB_ERR_PEER, others);
    }
    return TRIB_ERR_SYSTEM;
}

static enum trib_status lose_rank_0(const struct trib_rendezvous *meeting)
{
    trib_explain(meeting->error, "rank 0 of job %s is gone before the job could start", meeting->config->job);
    return TRIB_ERR_PEER;
}

/* After WELCOME: the memory is mapped; takes the lines of all other ranks. */
static enum trib_status take_lines(struct trib_rendezvous *meeting, int fd)
{
    struct trib_host *host = meeting->host;
    uint64_t deadline_ns = trib_clock_ns() + START_NS;
    uint32_t lines = 0;
    while (lines + 1 < host->ranks) {
        struct trib_answer answer;
        struct trib_passing message;
        int taken = next_answer(meeting, fd, &answer, &message, deadline_ns);
        if (taken <= 0) {
            return taken < 0 && errno == EMFILE ? lack_descriptors(meeting) : lose_rank_0(meeting);
        }
        if (answer.kind != TRIB_ANSWER_LINES) {
            trib_passing_close(&message);
            return take_refusal(meeting, &answer);
        }
        lines += keep_lines(host, &answer, &message);
    }
    return TRIB_OK;
}

/* Takes rank 0's answer. True: the answer ends the search for rank 0, with *status. */
static bool take_answer(struct trib_rendezvous *meeting, int fd, enum trib_status *status)
{
    struct trib_answer answer;
    struct trib_passing message;
    uint64_t until_ns = trib_time_after(meeting->deadline_ns, trib_time_to_hear(meeting->config->join_timeout_ns));
    int taken = next_answer(meeting, fd, &answer, &message, until_ns);
    if (taken < 0 && errno == EMFILE) {
        *status = lack_descriptors(meeting);
        return true;
    }
    if (taken < 0) {
        return false; /* rank 0 left: another rank 0 may come */
    }
    /* the other rank 0 stops listening when its own ranks have joined */
    if (taken > 0 && answer.kind == TRIB_ANSWER_OTHER_RUN) {
        trib_passing_close(&message);
        trib_rendezvous_note_run(meeting, answer.text);
        (void)usleep(RETRY_LAST_US);
        return false;
    }
    if (taken == 0) {
        trib_explain(meeting->error, "rank 0 of job %s does not answer", meeting->config->job);
        *status = TRIB_ERR_TIMEOUT;
    } else if (answer.kind != TRIB_ANSWER_WELCOME || message.fd_count != 1) {
        trib_passing_close(&message);
        *status = take_refusal(meeting, &answer);
    } else {
        *status = trib_host_segment_map(meeting->host, message.fds[0], meeting->error);
        trib_passing_close(&message);
        if (*status == TRIB_OK) {
            *status = take_lines(meeting, fd);
        }
    }
    return true;
}

static enum trib_status visit(struct trib_rendezvous *meeting)
{
    enum trib_status status = TRIB_OK;
    bool is_over = false;
    while (!is_over) {
        int fd = -1;
        status = approach(meeting, &fd);
        if (status != TRIB_OK) {
            return status;
        }
        is_over = take_answer(meeting, fd, &status);
        (void)close(fd);
    }
    return status;
}

/* ---- all ranks ---- */

static enum trib_status take_record(const struct trib_rendezvous *meeting)
{
    enum trib_status status = TRIB_OK;
    char text[TRIB_ERROR_TEXT_MAX];
    (void)trib_host_failure(meeting->host, &status, text);
    trib_explain(meeting->error, "%s", text);
    return status;
}

/* First use of the memory. OK: every rank is in. Else the error names a missing rank. */
static enum trib_status pass_barrier(struct trib_rendezvous *meeting, struct pollfd *fds)
{
    struct trib_host *host = meeting->host;
    const struct trib_operation barrier = {.collective = TRIB_BARRIER};
    uint64_t deadline_ns = trib_clock_ns() + START_NS;
    trib_host_start(host, &barrier);
    for (;;) {
        enum trib_host_verdict verdict = trib_host_advance(host);
        uint32_t dead = TRIB_HOST_NOBODY;
        if (verdict == TRIB_HOST_DONE) {
            return TRIB_OK;
        }
        if (verdict == TRIB_HOST_FAILED) { /* another rank has entered and failed already */
            return take_record(meeting);
        }
        if (verdict != TRIB_HOST_WAITS && verdict != TRIB_HOST_MOVED) {
            break;
        }
        uint64_t now = trib_clock_ns();
        if (now >= deadline_ns) {
            break;
        }
        if (trib_host_arm(host)) {
            trib_host_fds(host, fds);
            if (poll(fds, trib_host_fds_count(host), (int)((deadline_ns - now) / TRIB_MILLISECOND_NS) + 1) > 0) {
                (void)trib_host_answer(host, fds, &dead);
            }
            trib_host_disarm(host);
        }
        if (dead != TRIB_HOST_NOBODY) {
            host->cursor = dead;
            break;
        }
    }
    if (atomic_load(&host->segment->record) == TRIB_HOST_RECORD_THERE) { /* the rank that left has recorded the cause */
        return take_record(meeting);
    }
    trib_explain(meeting->error, "rank %u of job %s is gone before the job could start", trib_host_awaited(host),
                 meeting->config->job);
    return TRIB_ERR_PEER;
}

static enum trib_status enter(struct trib_rendezvous *meeting)
{
    struct trib_host *host = meeting->host;
    host->lines_left = host->ranks - 1;
    struct pollfd *fds = calloc(trib_host_fds_count(host), sizeof *fds);
    if (fds == NULL) {
        trib_explain(meeting->error, "out of memory to meet other ranks");
        return TRIB_ERR_MEMORY;
    }
    atomic_store(&host->segment->seats[host->rank].presence, TRIB_HOST_PRESENT);
    enum trib_status status = pass_barrier(meeting, fds);
    free(fds);
    return status;
}

static void unmake(struct trib_host *host)
{
    free(host->rows);
    free(host->lines);
    free((void *)host->sources);
    free((void *)host->tensors);
    free(host->offered);
    free(host);
}

static struct trib_host *make(const struct trib_config *config)
{
    struct trib_host *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    host->rank = config->rank;
    host->ranks = config->ranks;
    host->kernels = trib_value_kernels();
    host->inbox = -1;
    host->rows = aligned_alloc(64, trib_host_rows_bytes(config->ranks));
    host->lines = calloc(config->ranks, sizeof *host->lines);
    host->sources = calloc(config->ranks, sizeof *host->sources);
    host->tensors = calloc(config->ranks, sizeof *host->tensors);
    host->offered = calloc(TRIB_HOST_OFFERED_MOST, sizeof *host->offered);
    if (host->rows == NULL || host->lines == NULL || host->sources == NULL || host->tensors == NULL ||
        host->offered == NULL) {
        unmake(host);
        return NULL;
    }
    for (uint32_t rank = 0; rank < config->ranks; rank++) {
        host->lines[rank] = -1;
    }
    return host;
}

static enum trib_status meet(struct trib_rendezvous *meeting)
{
    struct trib_host *host = meeting->host;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        trib_explain(meeting->error, "cannot open a pair of sockets: %s", trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    host->inbox = pair[0];
    meeting->own_line = pair[1];
    enum trib_status status = host->rank == 0 ? trib_gather(meeting) : visit(meeting);
    (void)close(pair[1]);
    return status == TRIB_OK ? enter(meeting) : status;
}

enum trib_status trib_host_open(const struct trib_config *config, uint64_t key_id, bool (*is_doomed)(void *user),
                                void *user, struct trib_host **host, char *error)
{
    struct trib_host *made = make(config);
    if (made == NULL) {
        trib_explain(error, "out of memory for a rank");
        return TRIB_ERR_MEMORY;
    }
    uint64_t now = trib_clock_ns();
    struct trib_rendezvous meeting = {
        .host = made,
        .config = config,
        .key_id = key_id,
        .is_doomed = is_doomed,
        .user = user,
        .waits_ns = now,
        .deadline_ns = trib_time_after(now, config->join_timeout_ns),
        .error = error,
    };
    enum trib_status status = meet(&meeting);
    if (status != TRIB_OK) {
        trib_host_close(made);
        return status;
    }
    trib_log(TRIB_LOG_INFO, "job %s rank %u of %u: all are here, and share %zu bytes of memory", config->job,
             config->rank, config->ranks, trib_host_segment_bytes(config->ranks));
    *host = made;
    return TRIB_OK;
}

void trib_host_leave(struct trib_host *host)
{
    if (host->segment != NULL) {
        trib_host_disarm(host);
        atomic_store(&host->segment->seats[host->rank].presence, TRIB_HOST_CLOSED);
        trib_host_wake_waiting(host);
    }
}

/* The seat shows CLOSED before the lines hang up: other ranks read it then. */
void trib_host_close(struct trib_host *host)
{
    trib_host_leave(host);
    trib_host_abandon(host);
}

void trib_host_abandon(struct trib_host *host)
{
    trib_host_segment_unmap(host);
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        if (host->lines[rank] >= 0) {
            (void)close(host->lines[rank]);
        }
    }
    if (host->inbox >= 0) {
        (void)close(host->inbox);
    }
    trib_host_forget_mappings(host);
    unmake(host);
}
