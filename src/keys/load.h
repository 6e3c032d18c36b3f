/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: reads the key of a job from a file. A key is 32 to 128 bytes. A file of 32 bytes is the key. Any other
 * file is text of one line, printable and without its newline: such as 64 digits by `tributary key new`, or the string
 * that a program gives to NCCL. Read next: derive.h. */
#ifndef TRIB_KEYS_LOAD_H
#define TRIB_KEYS_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

#include "core/wipe.h"

/* Secret: trib_wipe after use. */
struct trib_key {
    uint8_t bytes[TRIB_KEY_MAX];
    uint32_t len;
};

/* ERR_INVALID with cause and remedy: no such file, a pipe, another user's, open to other users, or no key. */
TRIB_MUST_USE enum trib_status trib_key_read_file(const char *path, struct trib_key *key, char *error);
/* The same of an open file or memfd, read from its start; the offset stays, so processes may share it. Owner and mode
 * are not looked at. */
TRIB_MUST_USE enum trib_status trib_key_read_fd(int fd, struct trib_key *key, char *error);
/* Reads a secret text, such as a private key in PEM: *text has a zero at its end, and is the caller's to wipe and free.
 * Fails as trib_key_read_file; also for a file above 1 MiB or with zeros. */
TRIB_MUST_USE enum trib_status trib_key_read_text(const char *path, char **text, char *error);

#endif
