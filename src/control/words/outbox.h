/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.h: messages that wait until their connection, or channel, takes them: bytes in order, bounded. Grows by
 * doubling, and holds no memory when empty. Read next: session_client.c, server/connections.c. */
#ifndef TRIB_CONTROL_OUTBOX_H
#define TRIB_CONTROL_OUTBOX_H

#include "control/words/words.h"

struct trib_outbox {
    uint8_t *bytes; /* of size; NULL: nothing waits */
    size_t len;
    size_t size;
    size_t max; /* of size */
};

/* False: too much lies there, or there is no memory for it. */
bool trib_outbox_add(struct trib_outbox *box, const struct trib_message *message);
/* Sends what the kernel takes now. False: the connection has ended, and errno says how; the bytes are still there. */
bool trib_outbox_send(struct trib_outbox *box, int fd);
/* Moves what fits into a BYTES of channel `number`. */
void trib_outbox_carry(struct trib_outbox *box, uint32_t number, struct trib_message *message);
void trib_outbox_drop(struct trib_outbox *box);

#endif
