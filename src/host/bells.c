/* SPDX-License-Identifier: Apache-2.0 */
/* bells.c: how ranks sleep, wake each other, and notice that one of them has died or has ended it all.
 *
 * Who is about to sleep counts itself as a sleeper, marks its seat with the rank that it waits for, and looks once
 * more; who publishes a count looks for sleepers afterwards. All four are sequentially consistent, so one of the two
 * sees the other. Whoever wakes takes the mark away first: a sleeper is sent one byte, however many ranks it would have
 * to thank.
 * Read next: counts.c, shared.c (notes in the inbox). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/passing.h"
#include "host/segment.h"

/* A full inbox holds a bell already; a broken line is a dead rank, which poll tells. */
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

/* Sequentially consistent, like the sleeper's mark and its second look: either it sees the count, or we see its
 * mark. */
void trib_host_publish(struct trib_host *host, bool summed, uint32_t count)
{
    atomic_store(trib_host_count_of(host, host->rank, summed), count);
    trib_host_wake_waiting(host);
}

/* Also ranks that wait for nothing: they sleep without a mark. */
void trib_host_wake_all(struct trib_host *host)
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
    /* Counted first: whoever takes the mark away counts one less, and must not count another sleeper away. */
    (void)atomic_fetch_add(&host->segment->sleepers, 1);
    if (atomic_exchange(&seat->asleep, host->cursor + 1) != 0) {
        (void)atomic_fetch_sub(&host->segment->sleepers, 1); /* it had been counted already */
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

/* Nobody has a line to it any more, and poll would say so for ever. True: it is closed. */
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
    /* What the caller writes into its tensor from now on is not seen by who does not see that there is a record. */
    atomic_thread_fence(memory_order_seq_cst);
    trib_host_wake_all(host);
}

uint32_t trib_host_failure(const struct trib_host *host, enum trib_status *status, char *text)
{
    const struct trib_host_segment *segment = host->segment;
    *status = (enum trib_status)segment->record_status;
    (void)snprintf(text, TRIB_ERROR_TEXT_MAX, "%.*s", TRIB_ERROR_TEXT_MAX - 1, segment->record_text);
    return segment->record_rank;
}
