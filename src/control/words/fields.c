/* SPDX-License-Identifier: Apache-2.0 */
#include "control/words/fields.h"

#include <netinet/in.h>
#include <string.h>

#define FAMILY_NONE 0
#define FAMILY_V4 4
#define FAMILY_V6 6

void trib_fields_check(struct trib_fields *f, const char *name, bool good)
{
    TRIB_ASSERT(good || trib_fields_read(f));
    if (!good && f->field == NULL) {
        f->field = name;
    }
}

void trib_field_bytes(struct trib_fields *f, const char *name, uint8_t *bytes, size_t count)
{
    if (!trib_fields_read(f)) {
        TRIB_ASSERT(count <= (size_t)(f->end - f->to));
        memcpy(f->to, bytes, count);
        f->to += count;
        return;
    }
    trib_fields_check(f, name, count <= (size_t)(f->end - f->from));
    if (!trib_fields_are_bad(f)) {
        memcpy(bytes, f->from, count);
        f->from += count;
    }
}

/* Returns the written or read value; 0 if the pass is bad. */
static uint64_t number(struct trib_fields *f, const char *name, uint64_t value, unsigned size)
{
    uint8_t bytes[8] = {0};
    for (unsigned i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    }
    if (trib_fields_read(f)) {
        memset(bytes, 0, sizeof bytes);
    }
    trib_field_bytes(f, name, bytes, size);
    value = 0;
    for (unsigned i = 0; i < size; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

void trib_field_u8(struct trib_fields *f, const char *name, uint8_t *value)
{
    uint64_t passed = number(f, name, *value, sizeof *value);
    if (trib_fields_read(f)) {
        *value = (uint8_t)passed;
    }
}

void trib_field_u16(struct trib_fields *f, const char *name, uint16_t *value)
{
    uint64_t passed = number(f, name, *value, sizeof *value);
    if (trib_fields_read(f)) {
        *value = (uint16_t)passed;
    }
}

void trib_field_u32(struct trib_fields *f, const char *name, uint32_t *value)
{
    uint64_t passed = number(f, name, *value, sizeof *value);
    if (trib_fields_read(f)) {
        *value = (uint32_t)passed;
    }
}

void trib_field_u64(struct trib_fields *f, const char *name, uint64_t *value)
{
    uint64_t passed = number(f, name, *value, sizeof *value);
    if (trib_fields_read(f)) {
        *value = passed;
    }
}

void trib_field_bool(struct trib_fields *f, const char *name, bool *value)
{
    uint64_t passed = number(f, name, *value, 1);
    if (trib_fields_read(f)) {
        trib_fields_check(f, name, passed <= 1);
        *value = passed == 1;
    }
}

void trib_field_count(struct trib_fields *f, const char *name, uint8_t *count, uint8_t most)
{
    trib_field_u8(f, name, count);
    trib_fields_check(f, name, *count <= most);
}

void trib_field_text(struct trib_fields *f, const char *name, char *text, size_t capacity)
{
    if (!trib_fields_read(f)) {
        const char *zero = memchr(text, 0, capacity);
        size_t len = zero != NULL ? (size_t)(zero - text) : capacity - 1;
        (void)number(f, name, len, 2);
        trib_field_bytes(f, name, (uint8_t *)text, len);
        return;
    }
    size_t len = number(f, name, 0, 2);
    trib_fields_check(f, name, len < capacity && len <= (size_t)(f->end - f->from));
    if (trib_fields_are_bad(f)) {
        return;
    }
    trib_field_bytes(f, name, (uint8_t *)text, len);
    text[len] = '\0';
    trib_fields_check(f, name, strlen(text) == len);
}

static void write_address(struct trib_fields *f, const char *name, const struct trib_address *address)
{
    bool is_v4 = address->storage.ss_family == AF_INET;
    TRIB_ASSERT(is_v4 || address->storage.ss_family == AF_INET6);
    (void)number(f, name, is_v4 ? FAMILY_V4 : FAMILY_V6, 1);
    (void)number(f, name, trib_address_port(address), 2);
    if (is_v4) {
        struct sockaddr_in v4;
        memcpy(&v4, &address->storage, sizeof v4);
        trib_field_bytes(f, name, (uint8_t *)&v4.sin_addr, 4);
    } else {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address->storage, sizeof v6);
        trib_field_bytes(f, name, v6.sin6_addr.s6_addr, 16);
    }
}

static void read_address(struct trib_fields *f, const char *name, struct trib_address *address, uint64_t family)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    uint16_t port = (uint16_t)number(f, name, 0, 2);
    trib_fields_check(f, name, family == FAMILY_V4 || family == FAMILY_V6);
    if (family == FAMILY_V4) {
        *address = trib_address_v4((uint32_t)number(f, name, 0, 4), port);
        return;
    }
    trib_field_bytes(f, name, v6.sin6_addr.s6_addr, 16);
    address->len = sizeof v6;
    memcpy(&address->storage, &v6, sizeof v6);
    trib_address_set_port(address, port);
}

void trib_field_address(struct trib_fields *f, const char *name, struct trib_address *address)
{
    if (trib_fields_read(f)) {
        read_address(f, name, address, number(f, name, 0, 1));
    } else {
        write_address(f, name, address);
    }
}

void trib_field_scope(struct trib_fields *f, const char *name, struct trib_address *address)
{
    struct sockaddr_in6 six = {.sin6_scope_id = 0};
    bool is_six = address->storage.ss_family == AF_INET6;
    if (is_six) {
        memcpy(&six, &address->storage, sizeof six);
    }
    trib_field_u32(f, name, &six.sin6_scope_id);
    trib_fields_check(f, name, is_six || six.sin6_scope_id == 0);
    if (trib_fields_read(f) && is_six) {
        memcpy(&address->storage, &six, sizeof six);
    }
}

void trib_field_address_or_none(struct trib_fields *f, const char *name, struct trib_address *address)
{
    uint64_t family = FAMILY_NONE;
    if (!trib_fields_read(f) && address->len != 0) {
        write_address(f, name, address);
        return;
    }
    family = number(f, name, FAMILY_NONE, 1);
    if (family != FAMILY_NONE) {
        read_address(f, name, address, family);
    }
}

void trib_field_addresses(struct trib_fields *f, const char *name, struct trib_address *addresses, size_t count)
{
    for (size_t i = 0; i < count && !trib_fields_are_bad(f); i++) {
        trib_field_address(f, name, &addresses[i]);
    }
}
