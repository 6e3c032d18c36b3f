/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: see names.h. */
#include "plan/names.h"

#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "io/explain.h"
#include "io/nearest.h"

bool plan_names_init(struct plan_names *names, uint32_t room)
{
    uint32_t size = 16;
    while (size < 2 * room) {
        size *= 2;
    }
    *names = (struct plan_names){.list = calloc(room + 1U, sizeof *names->list),
                                 .room = room,
                                 .table = malloc(size * sizeof *names->table),
                                 .mask = size - 1};
    if (names->list == NULL || names->table == NULL) {
        plan_names_free(names);
        return false;
    }
    memset(names->table, 0xff, size * sizeof *names->table);
    return true;
}

void plan_names_free(struct plan_names *names)
{
    free(names->list);
    free(names->table);
    *names = (struct plan_names){.count = 0};
}

/* Where the name stands in the table, or would stand. */
static uint32_t slot_of(const struct plan_names *names, const char *name, size_t len)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619U;
    }
    uint32_t at = hash & names->mask;
    while (names->table[at] != PLAN_NO_NAME) {
        const char *other = names->list[names->table[at]];
        if (strlen(other) == len && memcmp(other, name, len) == 0) {
            break;
        }
        at = (at + 1) & names->mask;
    }
    return at;
}

uint32_t plan_names_find(const struct plan_names *names, const char *name, size_t len)
{
    return names->table[slot_of(names, name, len)];
}

uint32_t plan_names_add(struct plan_names *names, const char *name, size_t len)
{
    uint32_t at = slot_of(names, name, len);
    TRIB_ASSERT(names->count < names->room && len <= PLAN_NAME_MAX && names->table[at] == PLAN_NO_NAME);
    memcpy(names->list[names->count], name, len);
    names->table[at] = names->count;
    return names->count++;
}

void plan_names_explain(const struct plan_names *names, const char *name, size_t len, char *error)
{
    struct trib_nearest nearest = {.word = name, .len = len};
    for (uint32_t i = 0; i < names->count; i++) {
        trib_nearest_offer(&nearest, names->list[i]);
    }
    if (nearest.best != NULL) {
        trib_explain(error, "there is no %.*s; did you mean %s?", (int)len, name, nearest.best);
    } else {
        trib_explain(error, "there is no %.*s", (int)len, name);
    }
}
