/* SPDX-License-Identifier: Apache-2.0 */
/* derive.c: see derive.h. */
#include "keys/derive.h"

#include <stdio.h>

#include "io/explain.h"
#include "keys/auth.h"

enum trib_status trib_key_check(uint32_t key_len, char *error)
{
    if (key_len != 0 && (key_len < TRIB_KEY_MIN || key_len > TRIB_KEY_MAX)) {
        trib_explain(error, "key: %u bytes are not from %d to %d: make a key with `tributary key new`", key_len,
                     TRIB_KEY_MIN, TRIB_KEY_MAX);
        return TRIB_ERR_INVALID;
    }
    if (key_len != 0 && trib_keys_explain_lack() != NULL) {
        trib_explain(error, "key: %s", trib_keys_explain_lack());
        return TRIB_ERR_UNSUPPORTED;
    }
    return TRIB_OK;
}

enum trib_status trib_keys_derive(const uint8_t *key, uint32_t key_len, struct trib_keys *keys, char *error)
{
    *keys = (struct trib_keys){.is_set = false};
    enum trib_status status = trib_key_check(key_len, error);
    if (status != TRIB_OK || key_len == 0) {
        return status;
    }
    if (!trib_hkdf(key, key_len, "id", keys->id, sizeof keys->id) ||
        !trib_hkdf(key, key_len, "switch", keys->switch_key, sizeof keys->switch_key) ||
        !trib_hkdf(key, key_len, "tag", keys->tag_key, sizeof keys->tag_key)) {
        trib_wipe(keys, sizeof *keys);
        trib_explain(error,
                     "key: OpenSSL has no HKDF-SHA256 here (openssl list -kdf-algorithms): see its configuration");
        return TRIB_ERR_SYSTEM;
    }
    struct trib_auth *auth = trib_auth_create(keys->switch_key, 0, 0, true);
    if (auth == NULL) { /* said here, or a rank would find it after WELCOME */
        trib_wipe(keys, sizeof *keys);
        trib_explain(error,
                     "key: OpenSSL has no AES-256 here (openssl list -cipher-algorithms): see its configuration");
        return TRIB_ERR_SYSTEM;
    }
    trib_auth_destroy(auth);
    keys->is_set = true;
    return TRIB_OK;
}

enum trib_status trib_keys_load(const char *path, struct trib_keys *keys, char *error)
{
    struct trib_key key;
    enum trib_status status = trib_key_read_file(path, &key, error);
    status = status == TRIB_OK ? trib_keys_derive(key.bytes, key.len, keys, error) : status;
    trib_wipe(&key, sizeof key);
    return status;
}

void trib_key_id_format(const uint8_t id[TRIB_KEY_ID_SIZE], char text[TRIB_KEY_ID_TEXT])
{
    for (size_t i = 0; i < TRIB_KEY_ID_SIZE; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", id[i]);
    }
}
