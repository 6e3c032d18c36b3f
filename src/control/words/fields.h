/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h: one pass over the fields of a message, for writing or for reading. words.c lists the fields of each message
 * once, in order, so that encoder and decoder cannot differ. Numbers travel in network byte order, texts as 2 bytes of
 * length and the bytes.
 *
 * A reading pass checks every length: a missing, too long or invalid field makes the pass bad. From there on the pass
 * reads nothing, and `field` names the field at fault. A writing pass changes no value, and asserts that all fields
 * fit. */
#ifndef TRIB_CONTROL_FIELDS_H
#define TRIB_CONTROL_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/assert.h"
#include "net/address.h"

struct trib_fields {
    uint8_t *to;         /* place of the next field to write; NULL: a reading pass */
    const uint8_t *from; /* place of the next field to read */
    const uint8_t *end;  /* of either */
    const char *field;   /* first bad field of a reading pass; NULL: none */
};

static inline bool trib_fields_read(const struct trib_fields *f)
{
    return f->to == NULL;
}

static inline bool trib_fields_are_bad(const struct trib_fields *f)
{
    return f->field != NULL;
}

/* Makes a reading pass bad unless `good`. name: a literal, as in docs/PROTOCOL.md. */
void trib_fields_check(struct trib_fields *f, const char *name, bool good);

void trib_field_u8(struct trib_fields *f, const char *name, uint8_t *value);
void trib_field_u16(struct trib_fields *f, const char *name, uint16_t *value);
void trib_field_u32(struct trib_fields *f, const char *name, uint32_t *value);
void trib_field_u64(struct trib_fields *f, const char *name, uint64_t *value);
/* One byte, 0 or 1. */
void trib_field_bool(struct trib_fields *f, const char *name, bool *value);
/* One byte: the number of entries that follow, at most `most`. */
void trib_field_count(struct trib_fields *f, const char *name, uint8_t *count, uint8_t most);
void trib_field_bytes(struct trib_fields *f, const char *name, uint8_t *bytes, size_t count);
/* capacity: bytes of text, with the final zero. A writing pass cuts a text without a zero. In a reading pass, a text is
 * bad if it does not fit or holds a zero. */
void trib_field_text(struct trib_fields *f, const char *name, char *text, size_t capacity);
/* Family (4, 6), port, address. The IPv6 scope id is local to a host and is not sent. */
void trib_field_address(struct trib_fields *f, const char *name, struct trib_address *address);
/* The scope id of an IPv6 address, for a peer that only returns the address. 0: none. */
void trib_field_scope(struct trib_fields *f, const char *name, struct trib_address *address);
/* Optional address: family 0 stands for len 0. */
void trib_field_address_or_none(struct trib_fields *f, const char *name, struct trib_address *address);
void trib_field_addresses(struct trib_fields *f, const char *name, struct trib_address *addresses, size_t count);

#endif
