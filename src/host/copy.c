/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: copies to the caller's buffer, past the caches for large operations. The result of a large operation is
 * written once and read much later. Fetching its lines first would cost the same memory traffic again, and would evict
 * the staging areas. */
#include <string.h>

#include "host/segment.h"

/* Larger tensors are written past the caches, bytes: a larger tensor would not stay in the caches anyway. */
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
        host->kernels->order_nontemporal();
    } else {
        memcpy(dst, src, bytes);
    }
}

/* Copies through a private row: the caller's buffer gets no bytes that were changed after a failure. */
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
