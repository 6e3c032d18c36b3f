/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.c: see outbox.h. */
#include "control/words/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wipe.h"

/* False: there is no room for `count` more bytes. */
static bool make_room(struct trib_outbox *box, size_t count)
{
    size_t size = box->size > 0 ? box->size : TRIB_MESSAGE_MAX;
    while (size - box->len < count) {
        size *= 2;
    }
    if (size > box->size) {
        uint8_t *bytes = size <= box->max ? malloc(size) : NULL; /* realloc(3) would leave the old bytes in memory */
        if (!bytes) {
            return false;
        }
        size_t len = box->len;
        if (len > 0) {
            memcpy(bytes, box->bytes, len);
        }
        trib_outbox_drop(box);
        *box = (struct trib_outbox){.bytes = bytes, .len = len, .size = size, .max = box->max};
    }
    return true;
}

bool trib_outbox_add(struct trib_outbox *box, const struct trib_message *message)
{
    if (!make_room(box, TRIB_MESSAGE_MAX)) {
        return false;
    }
    box->len += trib_message_encode(message, box->bytes + box->len);
    return true;
}

bool trib_outbox_add_bytes(struct trib_outbox *box, const uint8_t *bytes, size_t count)
{
    if (!make_room(box, count)) {
        return false;
    }
    memcpy(box->bytes + box->len, bytes, count);
    box->len += count;
    return true;
}

void trib_outbox_drop(struct trib_outbox *box)
{
    if (box->bytes) {
        trib_wipe(box->bytes, box->len);
    }
    free(box->bytes);
    box->bytes = NULL;
    box->len = 0;
    box->size = 0;
}

void trib_bytes_take(uint8_t *bytes, size_t *len, size_t count)
{
    *len -= count;
    memmove(bytes, bytes + count, *len);
    trib_wipe(bytes + *len, count);
}

static void take(struct trib_outbox *box, size_t count)
{
    trib_bytes_take(box->bytes, &box->len, count);
    if (box->len == 0) {
        trib_outbox_drop(box);
    }
}

bool trib_outbox_send(struct trib_outbox *box, struct trib_line *line, int fd)
{
    if (!line->kind->flush(line, fd)) {
        return false;
    }
    while (box->len > 0) {
        ssize_t sent = line->kind->send(line, fd, box->bytes, box->len);
        if (sent >= 0) {
            take(box, (size_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return true;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

void trib_outbox_carry(struct trib_outbox *box, uint32_t number, struct trib_message *message)
{
    size_t count = box->len < TRIB_CHANNEL_BYTES ? box->len : TRIB_CHANNEL_BYTES;
    message->kind = TRIB_MESSAGE_BYTES;
    message->bytes.number = number;
    message->bytes.count = (uint16_t)count;
    memcpy(message->bytes.bytes, box->bytes, count);
    take(box, count);
}
