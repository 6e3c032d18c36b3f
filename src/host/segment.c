/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c: how the shared memory is made, mapped and divided. Read next: segment.h. */
#include "host/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/draw.h"
#include "io/explain.h"

#define PAGE 4096U

static size_t seats_bytes(uint32_t ranks)
{
    size_t bytes = sizeof(struct trib_host_segment) + (size_t)ranks * sizeof(struct trib_host_seat);
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Two lists of shares for each rank, bytes. The pages stay untouched if all shares are equal. */
static size_t counts_bytes(uint32_t ranks)
{
    size_t bytes = (size_t)ranks * 2 * ranks * sizeof(uint64_t);
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static uint32_t chunk_for(uint32_t ranks)
{
    uint32_t chunk = TRIB_HOST_CHUNK_MOST;
    while (chunk > TRIB_HOST_CHUNK_LEAST && (uint64_t)chunk * 2 * ranks > TRIB_HOST_STAGING) {
        chunk /= 2;
    }
    return chunk;
}

size_t trib_host_segment_bytes(uint32_t ranks)
{
    return seats_bytes(ranks) + counts_bytes(ranks) + (size_t)ranks * 2 * (TRIB_HOST_SMALL + chunk_for(ranks)) +
           2 * (size_t)chunk_for(ranks);
}

uint64_t *trib_host_counts(const struct trib_host *host, uint32_t rank, uint64_t number)
{
    unsigned char *first = (unsigned char *)host->segment + seats_bytes(host->ranks);
    size_t before = (size_t)(number % 2) * host->ranks + rank;
    return (uint64_t *)(void *)first + before * host->ranks;
}

unsigned char *trib_host_small(const struct trib_host *host, uint32_t rank, uint32_t step)
{
    unsigned char *first = (unsigned char *)host->segment + seats_bytes(host->ranks) + counts_bytes(host->ranks);
    return first + ((size_t)(step % 2) * host->ranks + rank) * TRIB_HOST_SMALL;
}

unsigned char *trib_host_staging(const struct trib_host *host, uint32_t rank, uint32_t step)
{
    unsigned char *first = trib_host_small(host, 0, 0) + (size_t)host->ranks * 2 * TRIB_HOST_SMALL;
    return first + ((size_t)(step % 2) * host->ranks + rank) * host->chunk;
}

unsigned char *trib_host_result(const struct trib_host *host, uint32_t step)
{
    unsigned char *first = trib_host_staging(host, 0, 0) + (size_t)host->ranks * 2 * host->chunk;
    return first + (size_t)(step % 2) * host->chunk;
}

int trib_host_memory_file(size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) { /* SIGXFSZ would end the process */
        errno = EFBIG;
        return -1;
    }
    int fd = memfd_create("tributary", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int trib_host_segment_make(uint32_t ranks, char *error)
{
    int fd = trib_host_memory_file(trib_host_segment_bytes(ranks));
    if (fd < 0) {
        trib_explain(error, "cannot make a memory file of %zu bytes: %s", trib_host_segment_bytes(ranks),
                     trib_explain_errno(errno));
    }
    return fd;
}

static bool is_sealed(int fd, size_t bytes)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &stat) == 0 && (size_t)stat.st_size == bytes;
}

/* Fills the head, equal on every rank. */
static void describe(struct trib_host_segment *segment, uint32_t ranks)
{
    segment->magic = TRIB_HOST_MAGIC;
    segment->version = TRIB_HOST_VERSION;
    segment->ranks = ranks;
    segment->chunk = chunk_for(ranks);
    segment->small = TRIB_HOST_SMALL;
    segment->bytes = trib_host_segment_bytes(ranks);
}

enum trib_status trib_host_segment_map(struct trib_host *host, int fd, char *error)
{
    size_t bytes = trib_host_segment_bytes(host->ranks);
    if (!is_sealed(fd, bytes)) {
        trib_explain(error, "unexpected memory file of rank 0: not from this version of the library");
        return TRIB_ERR_VERSION;
    }
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        trib_explain(error, "cannot map %zu bytes of shared memory: %s", bytes, trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    host->segment = at;
    host->chunk = chunk_for(host->ranks);
    if (host->rank == 0) {
        describe(host->segment, host->ranks);
        host->segment->run = trib_draw();
        return TRIB_OK;
    }
    struct trib_host_segment wanted = {0};
    describe(&wanted, host->ranks);
    if (memcmp(host->segment, &wanted, offsetof(struct trib_host_segment, bytes) + sizeof wanted.bytes) != 0) {
        trib_host_segment_unmap(host);
        trib_explain(error, "unexpected shared memory of rank 0: not from this version of the library");
        return TRIB_ERR_VERSION;
    }
    return TRIB_OK;
}

uint64_t trib_host_run(const struct trib_host *host)
{
    return host->segment->run;
}

void trib_host_segment_unmap(struct trib_host *host)
{
    if (host->segment != NULL) {
        (void)munmap(host->segment, trib_host_segment_bytes(host->ranks));
        host->segment = NULL;
    }
}
