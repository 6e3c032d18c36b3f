/* SPDX-License-Identifier: Apache-2.0 */
/* bells.c: how ranks sleep, wake each other, and notice that a rank has died or has failed.
 *
 * Before a sleep a rank counts itself as a sleeper and marks its seat with the rank that it waits for. Then it looks at
 * the count once more. After a new count, the publishing rank looks for sleepers. All four accesses are sequentially
 * consistent, so the sleeper sees the count or the publisher sees the mark.
 * The waking rank clears the mark first, so a sleeper is sent one byte even if several ranks try to wake it.
 * Read next: counts.c, shared.c (notes in the inbox). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/segment.h"

/* A full inbox holds a bell already. A broken line is a dead rank, which poll reports. */
static void ring(const struct trib_host *host, uint32_t rank)
{
    if (host->lines[rank] >= 0) {
        ssize_t sent = send(host->lines[rank], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent;
    }
}

static void rise(struct trib_host *host, uint32_t rank, uint32_t mark)
{
    if (atomic_compare_exchange_strong(&host->segment->seats[rank].asleep, &mark, 0)) {
        (void)atomic_fetch_sub(&host->segment->sleepers, 1);
        ring(host, rank);
    }
}

void trib_host_wake_waiting(struct trib_host *host)
{
    if (atomic_load(&host->segment->sleepers) == 0) {
        return;
    }
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        if (atomic_load(&host->segment->seats[rank].asleep) == host->rank + 1) {
            rise(host, rank, host->rank + 1);
        }
    }
}

/* Sequentially consistent, like the sleeper's mark and second look: the sleeper sees the count, or this rank sees the
 * mark. */
void trib_host_publish(struct trib_host *host, bool summed, uint32_t count)
{
    atomic_store(trib_host_count_of(host, host->rank, summed), count);
    trib_host_wake_waiting(host);
}

/* Also wakes ranks that wait for nothing: such ranks sleep without a mark. */
static void wake_all(struct trib_host *host)
{
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        ring(host, rank);
    }
}

bool trib_host_arm(struct trib_host *host)
{
    struct trib_host_seat *seat = &host->segment->seats[host->rank];
    if (!host->is_active) {
        return true;
    }
    /* Counted before the mark is set: a rank that clears the mark decrements the count, and must not decrement for
     * another sleeper. */
    (void)atomic_fetch_add(&host->segment->sleepers, 1);
    if (atomic_exchange(&seat->asleep, host->cursor + 1) != 0) {
        (void)atomic_fetch_sub(&host->segment->sleepers, 1); /* this rank was counted already */
    }
    if (trib_host_is_due(host)) {
        trib_host_disarm(host);
        return false;
    }
    return true;
}

void trib_host_disarm(struct trib_host *host)
{
    struct trib_host_seat *seat = &host->segment->seats[host->rank];
    if (atomic_load(&seat->asleep) != 0 && atomic_exchange(&seat->asleep, 0) != 0) {
        (void)atomic_fetch_sub(&host->segment->sleepers, 1);
    }
}

/* ---- descriptors ---- */

uint32_t trib_host_fds_count(const struct trib_host *host)
{
    return 1 + host->lines_left;
}

void trib_host_fds(const struct trib_host *host, struct pollfd *fds)
{
    uint32_t count = 0;
    fds[count++] = (struct pollfd){.fd = host->inbox, .events = POLLIN};
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        if (host->lines[rank] >= 0) {
            fds[count++] = (struct pollfd){.fd = host->lines[rank], .events = 0};
        }
    }
}

/* Closes the inbox once no rank has a line to it: poll would report the hang-up for ever. True: the inbox is closed. */
static bool leave_inbox(struct trib_host *host, short said)
{
    if ((said & (POLLHUP | POLLERR | POLLNVAL)) == 0) {
        return false;
    }
    (void)close(host->inbox);
    host->inbox = -1;
    return true;
}

bool trib_host_answer(struct trib_host *host, const struct pollfd *fds, uint32_t *dead)
{
    bool changed = false;
    uint32_t at = 0;
    *dead = TRIB_HOST_NOBODY;
    if (fds[at].revents != 0) {
        trib_host_empty_inbox(host);
        changed = leave_inbox(host, fds[at].revents);
    }
    at++;
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        if (host->lines[rank] < 0) {
            continue;
        }
        if ((fds[at++].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
            (void)close(host->lines[rank]);
            host->lines[rank] = -1;
            host->lines_left--;
            changed = true;
            if (!trib_host_has_closed(host, rank) && *dead == TRIB_HOST_NOBODY) {
                *dead = rank;
            }
        }
    }
    return changed;
}

/* ---- the record ---- */

void trib_host_fail(struct trib_host *host, enum trib_status status, const char *text)
{
    struct trib_host_segment *segment = host->segment;
    uint32_t none = TRIB_HOST_RECORD_NONE;
    if (atomic_compare_exchange_strong(&segment->record, &none, TRIB_HOST_RECORD_WRITING)) {
        segment->record_rank = host->rank;
        segment->record_status = (int32_t)status;
        (void)snprintf(segment->record_text, sizeof segment->record_text, "%s", text);
        atomic_store(&segment->record, TRIB_HOST_RECORD_THERE);
    }
    /* A rank that reads bytes written by this caller from now on also sees the record. */
    atomic_thread_fence(memory_order_seq_cst);
    wake_all(host);
}

uint32_t trib_host_failure(const struct trib_host *host, enum trib_status *status, char *text)
{
    const struct trib_host_segment *segment = host->segment;
    *status = (enum trib_status)segment->record_status;
    (void)snprintf(text, TRIB_ERROR_TEXT_MAX, "%.*s", TRIB_ERROR_TEXT_MAX - 1, segment->record_text);
    return segment->record_rank;
}
