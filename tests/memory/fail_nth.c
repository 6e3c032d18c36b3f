/* SPDX-License-Identifier: Apache-2.0 */
/* fail_nth.c: a library to preload: every allocation of the process works but one. FAIL_NTH=n: the n-th of malloc,
 * calloc, realloc, aligned_alloc, posix_memalign, anonymous mmap and dlopen fails as if memory had run out; 0: none does.
 * FAIL_REPORT=file: how many there were, written at the end. Whoever ends by a signal instead of an error has not
 * looked at what it was given.
 * Read next: ../integration/memory.user.sh. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own names: dlsym would allocate before there is an allocator. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong count;
static unsigned long fail_at;
static atomic_bool is_counting;
static _Thread_local bool is_loading; /* a library: that is the loader's work, as what happens before main */

/* What happens before main is the loader's. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAIL_NTH");
    fail_at = text != NULL ? strtoul(text, NULL, 10) : 0;
    atomic_store(&is_counting, true);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("FAIL_REPORT");
    char text[32];

    if (path == NULL) {
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int len = snprintf(text, sizeof text, "%lu\n", atomic_load(&count));
        ssize_t written = write(fd, text, (size_t)len);
        (void)written;
        (void)close(fd);
    }
}

static int fails(void)
{
    if (!atomic_load(&is_counting) || is_loading || atomic_fetch_add(&count, 1) + 1 != fail_at) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t members, size_t size)
{
    return fails() ? NULL : __libc_calloc(members, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *made = fails() ? NULL : __libc_memalign(alignment, size);

    if (made == NULL) {
        return ENOMEM;
    }
    *memory = made;
    return 0;
}

void *dlopen(const char *file, int mode)
{
    static void *(*real)(const char *, int);

    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&real, &symbol, sizeof real);
    }
    if (fails()) {
        return NULL;
    }
    is_loading = true;
    void *library = real(file, mode);
    is_loading = false;
    return library;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);

    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "mmap");
        memcpy(&real, &symbol, sizeof real);
    }
    return (flags & MAP_ANONYMOUS) != 0 && fails() ? MAP_FAILED : real(address, length, protection, flags, fd, offset);
}
