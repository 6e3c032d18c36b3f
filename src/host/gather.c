/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: rank 0's part of the rendezvous: waits for all ranks, checks each HELLO, and sends the memory file and
 * lines. Read next: hello.h, rendezvous.c. */
#include "host/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/units.h"

/* Connections without a HELLO yet, beyond one for each rank. */
#define STRANGERS 16
#define NOBODY UINT32_MAX
/* Longest time to send WELCOME and LINES to all; it takes longer only if a rank is stopped. */
#define HAND_OUT_NS (5 * TRIB_SECOND_NS)
/* Time for ranks that have not connected yet to receive the error, after settings were found to differ. */
#define FAREWELL_NS TRIB_SECOND_NS
#define KEY_TEXT_MAX 32
#define NAME_TAKEN_US 20000 /* between two attempts to bind the name */

struct guest {
    int fd;
    uint32_t rank; /* NOBODY: no HELLO yet */
};

struct gathering {
    struct trib_rendezvous *meeting;
    int listening;
    struct guest *guests;
    struct pollfd *fds;
    uint32_t count;
    uint32_t most;
    uint32_t known; /* guests with a HELLO */
    enum trib_status failure;
    char failure_text[TRIB_ERROR_TEXT_MAX];
};

static void dismiss(struct gathering *all, uint32_t index)
{
    struct guest *guest = &all->guests[index];
    struct trib_host *host = all->meeting->host;
    if (guest->rank != NOBODY) {
        (void)close(host->lines[guest->rank]);
        host->lines[guest->rank] = -1;
        all->known--;
    }
    (void)close(guest->fd);
    *guest = all->guests[--all->count];
}

static void answer_with(const struct gathering *all, uint32_t index, struct trib_answer answer, const char *text)
{
    struct trib_passing message = {.data = &answer, .bytes = sizeof answer};
    (void)snprintf(answer.text, sizeof answer.text, "%s", text);
    (void)trib_pass(all->guests[index].fd, &message, 0);
}

static void refuse(const struct gathering *all, uint32_t index, enum trib_status status, const char *text)
{
    answer_with(all, index, (struct trib_answer){.kind = TRIB_ANSWER_REFUSED, .status = (int32_t)status}, text);
}

static void refuse_all(const struct gathering *all, enum trib_status status, const char *text)
{
    for (uint32_t i = 0; i < all->count; i++) {
        refuse(all, i, status, text);
    }
}

static const char *say_key(uint64_t id, char text[KEY_TEXT_MAX])
{
    if (id == 0) {
        return "no key";
    }
    (void)snprintf(text, KEY_TEXT_MAX, "key %016" PRIx64, id);
    return text;
}

/* Names the first setting that differs. False: no setting differs. */
static bool explain_difference(const struct trib_hello *own, const struct trib_hello *other, char *text)
{
    static const char *const names[] = {"ranks", "payload", "window"};
    const uint32_t wires[] = {own->numbers[TRIB_HELLO_WIRE], other->numbers[TRIB_HELLO_WIRE]};
    if (own->key != other->key) { /* first: a key changes the payload as well */
        char keys[2][KEY_TEXT_MAX];
        trib_explain(text, "settings differ: rank 0 has %s and rank %u has %s: give all ranks the same (TRIB_KEY_FILE)",
                     say_key(own->key, keys[0]), other->rank, say_key(other->key, keys[1]));
        return true;
    }
    for (unsigned i = 0; i < TRIB_HELLO_WIRE; i++) {
        if (own->numbers[i] != other->numbers[i]) {
            trib_explain(text, "settings differ: %s is %u on rank 0 and %u on rank %u", names[i], own->numbers[i],
                         other->numbers[i], other->rank);
            return true;
        }
    }
    if (wires[0] != wires[1]) {
        trib_explain(text, "settings differ: wire is %s on rank 0 and %s on rank %u",
                     trib_type_name((enum trib_type)wires[0]), trib_type_name((enum trib_type)wires[1]), other->rank);
        return true;
    }
    if (strncmp(own->scheme, other->scheme, sizeof own->scheme) != 0) {
        trib_explain(text, "settings differ: scheme is %s on rank 0 and %.31s on rank %u", own->scheme, other->scheme,
                     other->rank);
        return true;
    }
    return false;
}

/* Ends the rendezvous for all, after a delay in which ranks that have not connected yet can receive the error. */
static void doom(struct gathering *all, enum trib_status status, const char *text)
{
    uint64_t farewell_ns = trib_clock_ns() + FAREWELL_NS;
    if (all->failure == TRIB_OK) {
        all->failure = status;
        (void)snprintf(all->failure_text, sizeof all->failure_text, "%s", text);
        if (farewell_ns < all->meeting->deadline_ns) {
            all->meeting->deadline_ns = farewell_ns;
        }
    }
}

/* Sends away a rank of another run with this name. It tries again: this run may be complete by then. */
static void send_away(struct gathering *all, uint32_t index, struct trib_hello *hello)
{
    struct trib_rendezvous *meeting = all->meeting;
    struct trib_answer answer = {.kind = TRIB_ANSWER_OTHER_RUN, .status = TRIB_ERR_REFUSED};
    char text[TRIB_ERROR_TEXT_MAX];
    hello->run[sizeof hello->run - 1] = '\0';
    trib_explain_runs(text, meeting->config->job, meeting->config->run, 0, hello->run, hello->rank);
    trib_rendezvous_note_run(meeting, text);
    answer_with(all, index, answer, text);
    dismiss(all, index);
}

/* Checks a HELLO. A setting that differs ends the rendezvous for all. */
static void greet(struct gathering *all, uint32_t index, const struct trib_hello *hello, int line)
{
    const struct trib_config *config = all->meeting->config;
    struct trib_host *host = all->meeting->host;
    struct trib_hello own;
    char text[TRIB_ERROR_TEXT_MAX];
    trib_hello_fill(all->meeting, &own);
    if (hello->magic != own.magic || hello->version != own.version) {
        trib_explain(text, "a rank of job %s on this host has another version of the library", config->job);
        doom(all, TRIB_ERR_VERSION, text);
    } else if (explain_difference(&own, hello, text)) {
        doom(all, TRIB_ERR_SETTINGS, text);
    }
    if (all->failure != TRIB_OK && hello->rank >= host->ranks) {
        refuse(all, index, all->failure, all->failure_text);
        (void)close(line);
        dismiss(all, index);
        return;
    }
    if (hello->rank == 0 || hello->rank >= host->ranks || host->lines[hello->rank] >= 0) {
        /* Rank 0 cannot tell which of the two belongs to this run, so the rendezvous ends for all. A communicator with
         * ranks of both runs would be worse. */
        trib_explain(text,
                     "two processes claim rank %u of job %s on this host: give each run its own job name (TRIB_JOB)",
                     hello->rank, config->job);
        doom(all, TRIB_ERR_REFUSED, text);
        refuse(all, index, all->failure, all->failure_text);
        (void)close(line);
        dismiss(all, index);
        return;
    }
    all->guests[index].rank = hello->rank;
    host->lines[hello->rank] = line;
    all->known++;
}

/* A second attempt would fail too, so no further rank is waited for. */
static void lack_descriptors(struct gathering *all)
{
    const struct trib_config *config = all->meeting->config;
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "rank 0 of job %s cannot open a descriptor for each of %u ranks: raise ulimit -n", config->job,
                 config->ranks);
    doom(all, TRIB_ERR_SYSTEM, text);
    all->meeting->deadline_ns = 0;
}

static void hear(struct gathering *all, uint32_t index)
{
    struct trib_hello hello;
    struct trib_passing message = {.data = &hello, .bytes = sizeof hello};
    int taken = trib_take_passed(all->guests[index].fd, &message);
    if (taken == 0) {
        return;
    }
    if (taken < 0 && errno == EMFILE) {
        lack_descriptors(all);
    }
    if (taken < 0 || message.fd_count != 1 || all->guests[index].rank != NOBODY) {
        if (taken > 0) {
            trib_passing_close(&message);
        }
        if (all->guests[index].rank != NOBODY) {
            trib_log(TRIB_LOG_INFO, "job %s: rank %u has left before all had joined", all->meeting->config->job,
                     all->guests[index].rank);
        }
        dismiss(all, index);
        return;
    }
    if (hello.magic == TRIB_HELLO_MAGIC && hello.version == TRIB_HOST_VERSION &&
        strncmp(hello.run, all->meeting->config->run, sizeof hello.run) != 0) {
        trib_passing_close(&message);
        send_away(all, index, &hello);
        return;
    }
    greet(all, index, &hello, message.fds[0]);
}

static void let_in(struct gathering *all)
{
    int fd = accept4(all->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) {
            lack_descriptors(all);
        }
        return;
    }
    if (!trib_passing_is_own_user(fd)) {
        (void)close(fd);
        return;
    }
    all->guests[all->count++] = (struct guest){.fd = fd, .rank = NOBODY};
}

static enum trib_status give_up(const struct gathering *all)
{
    const struct trib_config *config = all->meeting->config;
    uint16_t missing[32];
    uint32_t count = 0;
    char ranks[256];
    char waited[TRIB_UNITS_TEXT_MAX];
    char text[TRIB_ERROR_TEXT_MAX];
    for (uint32_t rank = 1; rank < all->meeting->host->ranks; rank++) {
        if (all->meeting->host->lines[rank] < 0) {
            if (count < 32) {
                missing[count] = (uint16_t)rank;
            }
            count++;
        }
    }
    trib_format_duration(trib_clock_ns() - all->meeting->waits_ns, waited);
    trib_format_ranks(missing, count < 32 ? count : 32, count, ranks, sizeof ranks);
    if (all->meeting->has_met_other_run) {
        trib_explain(text, "waited %s for %s of job %s on this host: %.300s", waited, ranks, config->job,
                     all->meeting->error);
        refuse_all(all, TRIB_ERR_TIMEOUT, text);
        trib_explain(all->meeting->error, "%s", text);
        return TRIB_ERR_TIMEOUT;
    }
    trib_explain(text,
                 "waited %s for %s of job %s on this host: without a switch all ranks must be on this host, with one "
                 "user and network namespace; for ranks on other hosts name a switch (TRIB_SWITCH=HOST:PORT) or rank 0 "
                 "(TRIB_RENDEZVOUS=HOST:PORT)",
                 waited, ranks, config->job);
    refuse_all(all, TRIB_ERR_TIMEOUT, text);
    trib_explain(all->meeting->error, "%s", text);
    return TRIB_ERR_TIMEOUT;
}

static enum trib_status end_for_all(const struct gathering *all)
{
    refuse_all(all, all->failure, all->failure_text);
    trib_explain(all->meeting->error, "%s", all->failure_text);
    return all->failure;
}

/* The other ranks learn the cause where this rank learned it. Here they only see that rank 0 has left. */
static enum trib_status leave(const struct gathering *all)
{
    trib_explain(all->meeting->error, "rank 0 of job %s has stopped waiting for the other ranks",
                 all->meeting->config->job);
    return TRIB_ERR_ABORTED;
}

/* Serves guests until all ranks have sent HELLO. */
static enum trib_status wait_for_ranks(struct gathering *all)
{
    while (all->known + 1 < all->meeting->host->ranks) {
        uint64_t now = trib_clock_ns();
        bool is_doomed = trib_meeting_is_doomed(all->meeting);
        if (is_doomed || now >= all->meeting->deadline_ns) {
            return all->failure != TRIB_OK ? end_for_all(all) : is_doomed ? leave(all) : give_up(all);
        }
        uint64_t left = all->meeting->deadline_ns - now;
        struct timespec limit = {.tv_nsec = (long)(left < TRIB_MEETING_LOOK_NS ? left : TRIB_MEETING_LOOK_NS)};
        for (uint32_t i = 0; i < all->count; i++) {
            all->fds[i] = (struct pollfd){.fd = all->guests[i].fd, .events = POLLIN};
        }
        all->fds[all->count] = (struct pollfd){.fd = all->listening, .events = POLLIN};
        uint32_t guests = all->count;
        if (ppoll(all->fds, guests + (guests < all->most ? 1U : 0U), &limit, NULL) <= 0) {
            continue;
        }
        /* Backwards, because dismissal swaps in the last guest, which was served already. */
        for (uint32_t i = guests; i-- > 0;) {
            if (all->fds[i].revents != 0) {
                hear(all, i);
            }
        }
        if (guests < all->most && all->fds[guests].revents != 0) {
            let_in(all);
        }
    }
    return all->failure != TRIB_OK ? end_for_all(all) : TRIB_OK;
}

static bool try_listening(struct gathering *all)
{
    struct sockaddr_un name;
    socklen_t len = trib_rendezvous_name(all->meeting->config, &name);
    all->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return all->listening >= 0 && bind(all->listening, (const struct sockaddr *)&name, len) == 0 &&
           listen(all->listening, TRIB_RANKS_MAX) == 0;
}

static enum trib_status listen_at_name(struct gathering *all)
{
    struct trib_rendezvous *meeting = all->meeting;
    while (!try_listening(all)) {
        int cause = errno;
        if (all->listening >= 0) {
            (void)close(all->listening);
            all->listening = -1;
        }
        if (cause != EADDRINUSE) {
            trib_explain(meeting->error, "cannot wait for other ranks of this host: %s", trib_explain_errno(cause));
            return TRIB_ERR_SYSTEM;
        }
        bool is_hopeless = !trib_rendezvous_protest(meeting);
        if (is_hopeless || trib_clock_ns() >= meeting->deadline_ns || trib_meeting_is_doomed(meeting)) {
            if (is_hopeless || !meeting->has_met_other_run) {
                trib_explain(
                    meeting->error,
                    "two processes claim rank 0 of job %s on this host: give each run its own job name (TRIB_JOB)",
                    meeting->config->job);
            }
            return TRIB_ERR_REFUSED;
        }
        (void)usleep(NAME_TAKEN_US);
    }
    return TRIB_OK;
}

/* Sends the lines of all ranks except the receiver's, in messages of at most TRIB_PASSING_MOST lines. */
static bool send_lines(const struct gathering *all, const struct guest *guest, uint64_t deadline_ns)
{
    const struct trib_host *host = all->meeting->host;
    uint32_t rank = 0;
    while (rank < host->ranks) {
        struct trib_answer answer = {.kind = TRIB_ANSWER_LINES, .first = rank};
        struct trib_passing message = {.data = &answer, .bytes = sizeof answer};
        for (; rank < host->ranks && message.fd_count < TRIB_PASSING_MOST; rank++) {
            if (rank != guest->rank) {
                message.fds[message.fd_count++] = rank == 0 ? all->meeting->own_line : host->lines[rank];
            }
        }
        /* only the receiver's own line is left: having all others, the receiver may be gone */
        bool is_empty = message.fd_count == 0;
        if (!is_empty && !trib_pass(guest->fd, &message, deadline_ns)) {
            return false;
        }
    }
    return true;
}

static enum trib_status hand_out(const struct gathering *all, int segment)
{
    uint64_t deadline_ns = trib_clock_ns() + HAND_OUT_NS;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct guest *guest = &all->guests[i];
        struct trib_answer answer = {.kind = TRIB_ANSWER_WELCOME};
        struct trib_passing message = {.data = &answer, .bytes = sizeof answer, .fds = {segment}, .fd_count = 1};
        if (guest->rank == NOBODY) {
            continue;
        }
        if (!trib_pass(guest->fd, &message, deadline_ns) || !send_lines(all, guest, deadline_ns)) {
            char text[TRIB_ERROR_TEXT_MAX];
            trib_explain(text, "rank %u of job %s is gone before the job could start: %s", guest->rank,
                         all->meeting->config->job, trib_explain_errno(errno));
            /* some ranks map the memory already, and read no answer */
            trib_host_fail(all->meeting->host, TRIB_ERR_PEER, text);
            refuse_all(all, TRIB_ERR_PEER, text);
            trib_explain(all->meeting->error, "%s", text);
            return TRIB_ERR_PEER;
        }
    }
    return TRIB_OK;
}

static enum trib_status share(struct gathering *all)
{
    struct trib_host *host = all->meeting->host;
    int segment = trib_host_segment_make(host->ranks, all->meeting->error);
    if (segment < 0) {
        return TRIB_ERR_SYSTEM;
    }
    enum trib_status status = trib_host_segment_map(host, segment, all->meeting->error);
    if (status == TRIB_OK) {
        status = hand_out(all, segment);
    }
    (void)close(segment);
    return status;
}

enum trib_status trib_gather(struct trib_rendezvous *meeting)
{
    struct gathering all = {.meeting = meeting, .listening = -1, .most = meeting->host->ranks + STRANGERS};
    enum trib_status status = TRIB_ERR_MEMORY;
    all.guests = calloc(all.most, sizeof *all.guests);
    all.fds = calloc(all.most + 1, sizeof *all.fds);
    if (all.guests == NULL || all.fds == NULL) {
        trib_explain(meeting->error, "out of memory to meet other ranks");
    } else {
        status = meeting->host->ranks > 1 ? listen_at_name(&all) : TRIB_OK;
    }
    if (status == TRIB_OK) {
        status = wait_for_ranks(&all);
    }
    if (all.listening >= 0) {
        (void)close(all.listening); /* the name is free again before a rank of the next run starts */
    }
    if (status == TRIB_OK) {
        status = share(&all);
    }
    for (uint32_t i = 0; i < all.count; i++) {
        (void)close(all.guests[i].fd);
    }
    free(all.guests);
    free(all.fds);
    return status;
}
