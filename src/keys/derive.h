/* SPDX-License-Identifier: Apache-2.0 */
/* derive.h: the keys made of a job's key, by HKDF-SHA256 (RFC 5869) with salt "tributary". A switch has the switch key,
 * from which neither the job's key nor the tag key can be computed. Read next: load.h (where the job's key is from). */
#ifndef TRIB_KEYS_DERIVE_H
#define TRIB_KEYS_DERIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/load.h"

#define TRIB_KEY_ID_SIZE 8 /* bytes */
#define TRIB_KEY_ID_TEXT (2 * TRIB_KEY_ID_SIZE + 1)
#define TRIB_SUBKEY_SIZE 32 /* bytes of a derived key */

/* Secret but for the id: trib_wipe after use. */
struct trib_keys {
    bool is_set;
    uint8_t id[TRIB_KEY_ID_SIZE];         /* info "id": names the key, public */
    uint8_t switch_key[TRIB_SUBKEY_SIZE]; /* info "switch": of sessions; the switch has it as well */
    uint8_t tag_key[TRIB_SUBKEY_SIZE];    /* info "tag": of ranks alone */
};

/* ERR_INVALID for a length that no key has, ERR_UNSUPPORTED for a key without OpenSSL, both with cause and remedy. */
TRIB_MUST_USE enum trib_status trib_key_check(uint32_t key_len, char *error);
/* key: key_len bytes; 0: keys->is_set is false. Fails as trib_key_check, and with ERR_SYSTEM if OpenSSL lacks HKDF. */
TRIB_MUST_USE enum trib_status trib_keys_derive(const uint8_t *key, uint32_t key_len, struct trib_keys *keys,
                                                char *error);
/* Reads the job's key in the file at path, and derives the others. Fails as trib_key_read_file and trib_keys_derive. */
TRIB_MUST_USE enum trib_status trib_keys_load(const char *path, struct trib_keys *keys, char *error);
/* The id as a number, most significant byte first; 0: no key is set. */
static inline uint64_t trib_key_id_number(const struct trib_keys *keys)
{
    uint64_t number = 0;
    for (size_t i = 0; keys->is_set && i < TRIB_KEY_ID_SIZE; i++) {
        number = number << 8 | keys->id[i];
    }
    return number;
}
/* 16 hexadecimal digits. */
void trib_key_id_format(const uint8_t id[TRIB_KEY_ID_SIZE], char text[TRIB_KEY_ID_TEXT]);

/* HKDF-SHA256 with salt "tributary": fills out. False: it failed, or there is no OpenSSL. */
bool trib_hkdf(const uint8_t *secret, size_t secret_len, const char *info, uint8_t *out, size_t size);
/* Why keys are impossible here, with the remedy: this build has no OpenSSL, or this machine. NULL: they are possible.
 * Loads OpenSSL when it is called first, from any thread. */
const char *trib_keys_explain_lack(void);

#endif
