/* SPDX-License-Identifier: Apache-2.0 */
/* items.c: see items.h. */
#include "control/words/items.h"

#define HEAD_SIZE 4 /* type and length */

static void write_item(struct trib_fields *f, struct trib_message *message, const struct trib_item *item)
{
    uint8_t *head = f->to;
    uint16_t type = item->type;
    uint16_t length = 0;
    trib_field_u16(f, "item type", &type);
    trib_field_u16(f, "item length", &length);
    item->fields(f, message);
    length = (uint16_t)(f->to - head - HEAD_SIZE);
    struct trib_fields again = {.to = head + 2, .end = head + HEAD_SIZE};
    trib_field_u16(&again, "item length", &length);
}

static bool says_nothing(const uint8_t *from, const uint8_t *end)
{
    while (from < end && *from == 0) {
        from++;
    }
    return from == end;
}

static void write_items(struct trib_fields *f, struct trib_message *message, const struct trib_item *known,
                        size_t count)
{
    struct trib_fields again = {.to = f->to, .end = f->to + 1};
    uint8_t said = 0;
    trib_field_u8(f, "items", &said);
    const uint8_t *first = f->to;
    for (size_t i = 0; i < count; i++) {
        uint8_t *head = f->to;
        write_item(f, message, &known[i]);
        if (says_nothing(head + HEAD_SIZE, f->to)) {
            f->to = head;
        } else {
            said++;
        }
    }
    trib_field_count(&again, "items", &said, TRIB_ITEMS_MAX);
    TRIB_ASSERT(f->to - first <= TRIB_ITEMS_BYTES);
}

static void read_item(struct trib_fields *f, size_t length, struct trib_message *message, const struct trib_item *item)
{
    struct trib_fields inner = {.from = f->from, .end = f->from + length};
    item->fields(&inner, message);
    trib_fields_check(&inner, item->name, inner.from == inner.end && !says_nothing(f->from, inner.end));
    trib_fields_check(f, inner.field, !trib_fields_are_bad(&inner));
}

static const struct trib_item *find(const struct trib_item *known, size_t count, uint16_t type)
{
    for (size_t i = 0; i < count; i++) {
        if (known[i].type == type) {
            return &known[i];
        }
    }
    return NULL;
}

static uint16_t read_items(struct trib_fields *f, struct trib_message *message, const struct trib_item *known,
                           size_t count)
{
    uint16_t last = 0;
    uint16_t unknown = 0;
    uint8_t said = 0;
    trib_field_count(f, "items", &said, TRIB_ITEMS_MAX);
    trib_fields_check(f, "items", f->end - f->from <= TRIB_ITEMS_BYTES);
    for (unsigned i = 0; i < said && !trib_fields_are_bad(f); i++) {
        uint16_t type = 0;
        uint16_t length = 0;
        trib_field_u16(f, "item type", &type);
        trib_field_u16(f, "item length", &length);
        trib_fields_check(f, "item type", type > last);
        trib_fields_check(f, "item length", length <= f->end - f->from);
        if (trib_fields_are_bad(f)) {
            break;
        }
        const struct trib_item *item = find(known, count, type);
        if (item != NULL) {
            read_item(f, length, message, item);
        } else if ((type & TRIB_ITEM_MUST) != 0 && unknown == 0) {
            unknown = type;
        }
        f->from += length;
        last = type;
    }
    return unknown;
}

uint16_t trib_items(struct trib_fields *f, struct trib_message *message, const struct trib_item *known, size_t count)
{
    if (trib_fields_read(f)) {
        return read_items(f, message, known, count);
    }
    write_items(f, message, known, count);
    return 0;
}
