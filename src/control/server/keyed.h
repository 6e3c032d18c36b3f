/* SPDX-License-Identifier: Apache-2.0 */
/* keyed.h: sessions without a required key. Read next: keyed.c. */
#ifndef TRIB_CONTROL_SERVER_KEYED_H
#define TRIB_CONTROL_SERVER_KEYED_H

#include "control/server/connection.h"

/* True if the first message needs a key and the session has none; cause: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_connection_lacks_key(const struct trib_connections *connections, const struct trib_connection *connection,
                               const struct trib_message *message, char *cause);

#endif
