/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c: tensors in memory of trib_shared_alloc. Other ranks of the host read such a tensor in place, without a copy
 * into a staging area.
 *
 * Each allocation is a memory file. A rank that contributes from an allocation announces it to all others once. It
 * sends a note with the descriptor to their inboxes before it counts the first step, so a rank that needs the memory
 * finds the note. If an inbox is full, the tensor is staged instead.
 * A rank reads only memory that was offered for the active operation, and no rank ends that operation before all have
 * read. A failing rank writes the record before its caller can change bytes that others may still read (host.h).
 * Freed memory goes back to the kernel at once. Other ranks unmap it at the owner's next operation.
 * Read next: bells.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/passing.h"
#include "host/segment.h"

/* ---- allocations of this process ---- */

struct allocation {
    struct allocation *next;
    uint64_t number;
    unsigned char *at;
    size_t bytes;
    int fd;
    pid_t owner; /* a forked child has it mapped too, and sees the owner's writes */
};

static pthread_mutex_t allocations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *allocations;
static _Atomic uint64_t allocations_made;
static _Atomic uint64_t allocations_freed;

static bool map(struct allocation *allocation)
{
    allocation->fd = trib_host_memory_file(allocation->bytes);
    if (allocation->fd < 0) {
        return false;
    }
    void *at = mmap(NULL, allocation->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, allocation->fd, 0);
    if (at == MAP_FAILED) {
        (void)close(allocation->fd);
        return false;
    }
    allocation->at = at;
    return true;
}

void *trib_shared_alloc(size_t bytes)
{
    struct allocation *made = bytes > 0 && bytes <= PTRDIFF_MAX ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) {
        return NULL;
    }
    made->bytes = bytes;
    made->owner = getpid();
    if (!map(made)) {
        free(made);
        return NULL;
    }
    (void)pthread_mutex_lock(&allocations_lock);
    made->number = atomic_fetch_add(&allocations_made, 1) + 1;
    made->next = allocations;
    allocations = made;
    (void)pthread_mutex_unlock(&allocations_lock);
    return made->at;
}

void trib_shared_free(void *memory)
{
    struct allocation *found = NULL;
    if (memory == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&allocations_lock);
    for (struct allocation **at = &allocations; *at != NULL; at = &(*at)->next) {
        if ((*at)->at == memory) {
            found = *at;
            *at = found->next;
            (void)atomic_fetch_add(&allocations_freed, 1);
            break;
        }
    }
    (void)pthread_mutex_unlock(&allocations_lock);
    if (found == NULL) {
        __builtin_trap(); /* as free() does for a pointer that malloc never returned */
    }
    if (found->owner == getpid()) {
        /* Others may have it mapped for a while: punching a hole frees the pages, and later reads return zeros. */
        (void)fallocate(found->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)found->bytes);
    }
    (void)munmap(found->at, found->bytes);
    (void)close(found->fd);
    free(found);
}

void trib_shared_hold(void)
{
    (void)pthread_mutex_lock(&allocations_lock);
}

void trib_shared_resume(void)
{
    (void)pthread_mutex_unlock(&allocations_lock);
}

/* Finds the own allocation that holds all of these bytes. A parent's allocation is staged: the parent may punch its
 * hole at any time. */
static bool find_allocation(const void *start, uint64_t bytes, struct allocation *copy)
{
    bool found = false;
    if (atomic_load(&allocations_made) == atomic_load(&allocations_freed)) {
        return false;
    }
    (void)pthread_mutex_lock(&allocations_lock);
    for (const struct allocation *at = allocations; at != NULL && !found; at = at->next) {
        uintptr_t offset = (uintptr_t)start - (uintptr_t)at->at;
        if ((uintptr_t)start >= (uintptr_t)at->at && offset < at->bytes && bytes <= at->bytes - offset) {
            *copy = *at;
            found = true;
        }
    }
    (void)pthread_mutex_unlock(&allocations_lock);
    return found && copy->owner == getpid();
}

static bool is_allocated(uint64_t number)
{
    bool found = false;
    (void)pthread_mutex_lock(&allocations_lock);
    for (const struct allocation *at = allocations; at != NULL && !found; at = at->next) {
        found = at->number == number;
    }
    (void)pthread_mutex_unlock(&allocations_lock);
    return found;
}

/* ---- telling others ---- */

/* Sends a note to all, without waiting. False: an inbox is full. */
static bool tell_all(const struct trib_host *host, struct trib_host_note *note, int fd)
{
    struct trib_passing message = {.data = note, .bytes = sizeof *note, .fds = {fd}, .fd_count = fd >= 0 ? 1 : 0};
    bool all = true;
    note->rank = host->rank;
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        all = (host->lines[rank] < 0 || trib_pass(host->lines[rank], &message, 0)) && all;
    }
    return all;
}

static void tell_freed(struct trib_host *host)
{
    uint64_t freed = atomic_load(&allocations_freed);
    if (host->frees_seen == freed) {
        return;
    }
    host->frees_seen = freed;
    for (uint32_t i = host->offered_count; i-- > 0;) {
        struct trib_host_note note = {.allocation = host->offered[i]};
        if (!is_allocated(note.allocation)) {
            /* if the note is lost, the mapping stays until the end: it takes addresses, not memory */
            (void)tell_all(host, &note, -1);
            host->offered[i] = host->offered[--host->offered_count];
        }
    }
}

static bool is_offered(struct trib_host *host, const struct allocation *allocation)
{
    struct trib_host_note note = {.allocation = allocation->number, .bytes = allocation->bytes};
    for (uint32_t i = 0; i < host->offered_count; i++) {
        if (host->offered[i] == allocation->number) {
            return true;
        }
    }
    if (host->offered_count == TRIB_HOST_OFFERED_MOST || !tell_all(host, &note, allocation->fd)) {
        return false; /* ranks that received this note receive it twice; take_note handles that */
    }
    host->offered[host->offered_count++] = allocation->number;
    return true;
}

bool trib_host_offer_tensor(struct trib_host *host)
{
    struct trib_host_offer *offer = &host->segment->seats[host->rank].offer[host->number % 2];
    struct allocation allocation;
    uint64_t bytes = trib_host_sent_bytes(host, host->rank);
    tell_freed(host);
    *offer = (struct trib_host_offer){0};
    if (host->ranks == 1 || bytes == 0 || !find_allocation(host->operation.send, bytes, &allocation) ||
        !is_offered(host, &allocation)) {
        return false;
    }
    offer->allocation = allocation.number;
    offer->offset = (uintptr_t)host->operation.send - (uintptr_t)allocation.at;
    return true;
}

/* ---- memory of other ranks ---- */

/* The link to the mapping in the list; the end link if the list has no such mapping. */
static struct trib_host_mapping **find_mapping(struct trib_host *host, uint32_t rank, uint64_t allocation)
{
    struct trib_host_mapping **link = &host->mappings;
    while (*link != NULL && ((*link)->rank != rank || (*link)->allocation != allocation)) {
        link = &(*link)->next;
    }
    return link;
}

static void unmap(struct trib_host_mapping **link)
{
    struct trib_host_mapping *mapping = *link;
    *link = mapping->next;
    (void)munmap((void *)(uintptr_t)mapping->at, mapping->bytes);
    free(mapping);
}

/* A failure shows later: find_tensor does not find the memory. */
static void map_of_other(struct trib_host *host, const struct trib_host_note *note, int fd)
{
    struct stat stat;
    struct trib_host_mapping *made = calloc(1, sizeof *made);
    int seals = fcntl(fd, F_GET_SEALS);
    bool is_good = made != NULL && seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &stat) == 0 &&
                   (uint64_t)stat.st_size == note->bytes;
    void *at = is_good ? mmap(NULL, note->bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(made);
        return;
    }
    *made = (struct trib_host_mapping){
        .next = host->mappings, .allocation = note->allocation, .bytes = note->bytes, .at = at, .rank = note->rank};
    host->mappings = made;
}

static void take_note(struct trib_host *host, const struct trib_host_note *note, int fd)
{
    struct trib_host_mapping **known = find_mapping(host, note->rank, note->allocation);
    if (fd >= 0 && *known == NULL && note->bytes > 0) {
        map_of_other(host, note, fd);
    } else if (fd < 0 && *known != NULL) {
        unmap(known);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

void trib_host_empty_inbox(struct trib_host *host)
{
    struct trib_host_note note;
    struct trib_passing message = {.data = &note, .bytes = sizeof note};
    ssize_t got = 0;
    while ((got = trib_take_some(host->inbox, &message)) > 0) {
        if ((size_t)got == sizeof note && message.fd_count <= 1) {
            take_note(host, &note, message.fd_count == 1 ? message.fds[0] : -1);
        } else {
            trib_passing_close(&message);
        }
    }
}

void trib_host_forget_mappings(struct trib_host *host)
{
    while (host->mappings != NULL) {
        unmap(&host->mappings);
    }
}

static bool find_tensor(struct trib_host *host, uint32_t rank)
{
    struct trib_host_offer offer = host->segment->seats[rank].offer[host->number % 2];
    uint64_t bytes = trib_host_sent_bytes(host, rank);
    host->tensors[rank] = NULL;
    if (rank == host->rank || offer.allocation == 0) {
        return true;
    }
    const struct trib_host_mapping *mapping = *find_mapping(host, rank, offer.allocation);
    if (mapping == NULL) {
        trib_host_empty_inbox(host);
        mapping = *find_mapping(host, rank, offer.allocation);
    }
    if (mapping == NULL || offer.offset > mapping->bytes || bytes > mapping->bytes - offer.offset) {
        return false;
    }
    host->tensors[rank] = mapping->at + offer.offset;
    return true;
}

bool trib_host_find_tensors(struct trib_host *host, uint32_t *rank)
{
    for (*rank = 0; *rank < host->ranks; (*rank)++) {
        if (!find_tensor(host, *rank)) {
            return false;
        }
    }
    return true;
}
