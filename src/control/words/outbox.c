/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.c: see outbox.h. */
#include "control/words/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool trib_outbox_add(struct trib_outbox *box, const struct trib_message *message)
{
    if (box->size - box->len < TRIB_MESSAGE_MAX) {
        size_t size = box->size > 0 ? 2 * box->size : TRIB_MESSAGE_MAX;
        uint8_t *bytes = size <= box->max ? realloc(box->bytes, size) : NULL;
        if (!bytes) {
            return false;
        }
        box->bytes = bytes;
        box->size = size;
    }
    box->len += trib_message_encode(message, box->bytes + box->len);
    return true;
}

void trib_outbox_drop(struct trib_outbox *box)
{
    free(box->bytes);
    box->bytes = NULL;
    box->len = 0;
    box->size = 0;
}

static void take(struct trib_outbox *box, size_t count)
{
    box->len -= count;
    memmove(box->bytes, box->bytes + count, box->len);
    if (box->len == 0) {
        trib_outbox_drop(box);
    }
}

bool trib_outbox_send(struct trib_outbox *box, int fd)
{
    while (box->len > 0) {
        ssize_t sent = send(fd, box->bytes, box->len, MSG_NOSIGNAL | MSG_DONTWAIT);
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
