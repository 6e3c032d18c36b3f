/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: see identity.h. */
#include "net/identity.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/lane.h"

static uint64_t mix(uint64_t digest, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < len; i++) {
        digest = trib_mix64(digest ^ at[i]);
    }
    return trib_mix64(digest + len);
}

uint64_t trib_identity_of(const char *name)
{
    return mix(UINT64_C(0x6e616d65), name, strlen(name)) | 1U;
}

uint64_t trib_identity(const struct trib_address *listen)
{
    char text[256] = "";
    struct stat status;
    uint64_t digest = UINT64_C(0x73776974);
    int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text);
        digest = mix(digest, text, got > 0 ? (size_t)got : 0);
        (void)close(fd);
    }
    if (gethostname(text, sizeof text - 1) == 0) {
        digest = mix(digest, text, strnlen(text, sizeof text));
    }
    if (stat("/proc/self/ns/net", &status) == 0) {
        digest = mix(digest, &status.st_ino, sizeof status.st_ino);
    }
    trib_address_format(listen, text);
    return mix(digest, text, strlen(text)) | 1U;
}
