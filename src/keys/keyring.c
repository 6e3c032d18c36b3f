/* SPDX-License-Identifier: Apache-2.0 */
/* keyring.c: see keyring.h. */
#include "keys/keyring.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/explain.h"
#include "keys/store.h"

bool trib_keyring_find(const struct trib_keyring *keys, uint64_t id, uint8_t switch_key[TRIB_SUBKEY_SIZE], char *error)
{
    char text[TRIB_KEY_ID_TEXT];
    bool is_absent = false;
    if (keys->own.is_set && trib_key_id_number(&keys->own) == id) {
        memcpy(switch_key, keys->own.switch_key, TRIB_SUBKEY_SIZE);
        return true;
    }
    if (keys->folder == NULL) {
        trib_explain(error, "there is no key of that id");
        return false;
    }
    (void)snprintf(text, sizeof text, "%016" PRIx64, id);
    return trib_key_find(keys->folder, text, switch_key, &is_absent, error) == TRIB_OK;
}
