/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: a list of different names that can be looked up; digests (FNV-1a) of names and numbers. */
#ifndef TRIB_PLAN_NAMES_H
#define TRIB_PLAN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_NAME_MAX 63
#define PLAN_NO_NAME UINT32_MAX

struct plan_names {
    char (*list)[PLAN_NAME_MAX + 1];
    uint32_t count;
    uint32_t room;
    uint32_t *table; /* open addressing: number of a name, or PLAN_NO_NAME */
    uint32_t mask;   /* size of the table - 1 */
};

/* Room for so many names. False: out of memory. */
bool plan_names_init(struct plan_names *names, uint32_t room);
void plan_names_free(struct plan_names *names);
/* The number of this name, of len bytes; PLAN_NO_NAME: it is not in the list. */
uint32_t plan_names_find(const struct plan_names *names, const char *name, size_t len);
/* Appends a name of at most PLAN_NAME_MAX bytes that is not in the list; returns its number. */
uint32_t plan_names_add(struct plan_names *names, const char *name, size_t len);
/* Writes that there is no such name, and the nearest one if there is one. error: TRIB_ERROR_TEXT_MAX bytes. */
void plan_names_explain(const struct plan_names *names, const char *name, size_t len, char *error);

#define PLAN_DIGEST_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t plan_digest(uint64_t digest, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++) {
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

static inline uint64_t plan_digest_number(uint64_t digest, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    return plan_digest(digest, bytes, sizeof bytes);
}

#endif
