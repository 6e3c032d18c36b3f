/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: files of keys. A new key of a job is 64 hexadecimal digits and a newline. A folder of a switch has a
 * file for each key that it takes, named by the key's id, with the switch key in the same form. Read next: load.h. */
#ifndef TRIB_KEYS_STORE_H
#define TRIB_KEYS_STORE_H

#include "keys/derive.h"

/* Makes a key in a new file of mode 0600. ERR_INVALID with the cause if the file exists or cannot be made. */
TRIB_MUST_USE enum trib_status trib_key_make(const char *path, char *error);
/* Writes the switch key as a new file folder/ID of mode 0600. path: of that file. Fails as trib_key_make. */
TRIB_MUST_USE enum trib_status trib_key_store(const char *folder, const struct trib_keys *keys, char *path, size_t size,
                                              char *error);
/* Reads the switch key of this id, 16 digits, from folder/ID, a file as trib_key_read_file takes it. ERR_INVALID with
 * the cause; is_absent: there is no such file. */
TRIB_MUST_USE enum trib_status trib_key_find(const char *folder, const char *id, uint8_t switch_key[TRIB_SUBKEY_SIZE],
                                             bool *is_absent, char *error);

#endif
