/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h: what kind of finding a text tells of. A case that is made small must go on to fail in the same way: with fewer
 * steps it may well fail in another, on a busy machine above all. */
#ifndef TRIB_TESTS_API_KIND_H
#define TRIB_TESTS_API_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The last words before what the library or a process adds (behind ';', '"' or a new line): behind the last ": ". */
static inline const char *kind_begin(const char *text, const char **end)
{
    const char *begin = text;
    *end = text + strcspn(text, ";\"\n");
    for (const char *at = text; at + 1 < *end; at++) {
        if (at[0] == ':' && at[1] == ' ') {
            begin = at + 2;
        }
    }
    return begin;
}

/* The next word in which there is no digit: ranks, steps, elements and addresses differ. Its length; 0: there is none. */
static inline size_t kind_next_word(const char **at, const char *end)
{
    while (*at < end) {
        *at += strspn(*at, " ");
        size_t len = strcspn(*at, " ");
        len = *at + len > end ? (size_t)(end - *at) : len;
        if (len > 0 && strcspn(*at, "0123456789") >= len) {
            return len;
        }
        *at += len;
    }
    return 0;
}

static inline bool is_same_kind(const char *one, const char *other)
{
    const char *one_end, *other_end;
    one = kind_begin(one, &one_end);
    other = kind_begin(other, &other_end);
    for (;;) {
        size_t len = kind_next_word(&one, one_end);
        if (kind_next_word(&other, other_end) != len || memcmp(one, other, len) != 0) {
            return false;
        }
        if (len == 0) {
            return true;
        }
        one += len;
        other += len;
    }
}

#endif
