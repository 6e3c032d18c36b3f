/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.h: messages waiting for a connection or a channel, as bytes in order, bounded. Grows by doubling, and holds no
 * memory when empty. Messages may have keys in them, so bytes are overwritten as they leave. Read next:
 * session_client.c, server/connections.c. */
#ifndef TRIB_CONTROL_OUTBOX_H
#define TRIB_CONTROL_OUTBOX_H

#include "control/words/line.h"
#include "control/words/words.h"

struct trib_outbox {
    uint8_t *bytes; /* of size; NULL: nothing waits */
    size_t len;
    size_t size;
    size_t max; /* of size */
};

/* False: the message would exceed max, or there is no memory. */
bool trib_outbox_add(struct trib_outbox *box, const struct trib_message *message);
/* The same for bytes of messages, or of parts of messages. */
bool trib_outbox_add_bytes(struct trib_outbox *box, const uint8_t *bytes, size_t count);
/* Sends as much as the kernel takes now. False: the connection has ended, errno has the cause, and the bytes are
 * kept. */
bool trib_outbox_send(struct trib_outbox *box, struct trib_line *line, int fd);
/* Moves up to TRIB_CHANNEL_BYTES into a BYTES of channel `number`. */
void trib_outbox_carry(struct trib_outbox *box, uint32_t number, struct trib_message *message);
void trib_outbox_drop(struct trib_outbox *box);
/* Takes the first `count` of *len bytes out of a buffer: the rest moves to the front, and the bytes behind the rest are
 * overwritten. */
void trib_bytes_take(uint8_t *bytes, size_t *len, size_t count);

#endif
