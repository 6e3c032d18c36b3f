/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: see memory.h. */
#include "io/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *trib_memory_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    /* A first write to a huge page would claim all of it. */
    (void)madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

void trib_memory_unmap(void *memory, size_t size)
{
    if (memory != NULL) {
        (void)munmap(memory, size);
    }
}

static void give_back(uint8_t *begin, uint8_t *end)
{
    size_t page = page_size();
    uint8_t *first = begin + (page - (uintptr_t)begin % page) % page;
    uint8_t *last = end - (uintptr_t)end % page;
    if (first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
        memset(begin, 0, (size_t)(end - begin));
        return;
    }
    memset(begin, 0, (size_t)(first - begin));
    memset(last, 0, (size_t)(end - last));
}

void trib_memory_give_back(void *node, const struct trib_range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *begin = (uint8_t *)node + ranges[i].at;
        give_back(begin, begin + ranges[i].bytes);
    }
}

size_t trib_memory_held(const void *memory, size_t size)
{
    unsigned char there[1024];
    size_t page = page_size();
    size_t pages = (size + page - 1) / page;
    size_t held = 0;
    for (size_t at = 0; at < pages; at += sizeof there) {
        size_t some = pages - at < sizeof there ? pages - at : sizeof there;
        void *from = (uint8_t *)(uintptr_t)memory + at * page;
        if (mincore(from, some * page, there) != 0) {
            return size; /* the kernel does not tell */
        }
        for (size_t i = 0; i < some; i++) {
            held += there[i] & 1U;
        }
    }
    return held * page;
}
