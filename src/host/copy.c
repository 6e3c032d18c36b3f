/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: copies to the caller, some past the caches. What goes to the caller at the end of a large operation is
 * written once and read much later: fetching its lines before they are overwritten would cost as much memory traffic
 * again, and would push the staging areas out. */
#include <string.h>

#include "host/segment.h"

/* Tensors above it are written past the caches: they would not stay there anyway. */
#define PAST_CACHES (UINT64_C(2) << 20)

bool trib_host_writes_past(const struct trib_host *host)
{
    return host->total * host->element > PAST_CACHES;
}

void trib_host_copy_out(const struct trib_host *host, void *dst, const void *src, size_t bytes)
{
    if (bytes == 0) {
        return; /* the pointers may be NULL */
    }
    if (trib_host_writes_past(host)) {
        host->kernels->copy_nontemporal(dst, src, bytes);
    } else {
        memcpy(dst, src, bytes);
    }
}

/* By way of the first cache, so that the caller's buffer gets nothing that was changed after a failure. */
bool trib_host_copy_foreign(const struct trib_host *host, void *dst, const unsigned char *src, size_t bytes)
{
    unsigned char *to = dst;
    for (size_t at = 0; at < bytes; at += TRIB_HOST_PIECE) {
        size_t len = bytes - at < TRIB_HOST_PIECE ? bytes - at : TRIB_HOST_PIECE;
        memcpy(host->rows, src + at, len);
        if (trib_host_has_record(host)) {
            return false;
        }
        trib_host_copy_out(host, to + at, host->rows, len);
    }
    return true;
}
