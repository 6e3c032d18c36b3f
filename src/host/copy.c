/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: a copy past the caches. What goes to the caller at the end of a large operation is written once and read much later: fetching its
 * lines before they are overwritten would cost as much memory traffic again, and would push the staging areas out. */
#include <string.h>

#include "host/segment.h"

#if defined(__SSE2__)
#include <emmintrin.h>

void trib_host_copy_past(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t head = (size_t)(-(uintptr_t)to & 63U);
    if (bytes < head + 64) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));
        _mm_stream_si128((__m128i *)(void *)to, a);
        _mm_stream_si128((__m128i *)(void *)(to + 16), b);
        _mm_stream_si128((__m128i *)(void *)(to + 32), c);
        _mm_stream_si128((__m128i *)(void *)(to + 48), d);
    }
    memcpy(to, from, bytes);
    _mm_sfence(); /* or another thread could see the operation end before it sees these stores */
}
#else
void trib_host_copy_past(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}
#endif
