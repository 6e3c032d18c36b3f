/* SPDX-License-Identifier: Apache-2.0 */
/* letter_keys.h: keys of jobs for tests, each of one letter. */
#ifndef TRIB_TESTS_LETTER_KEYS_H
#define TRIB_TESTS_LETTER_KEYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "keys/derive.h"

static inline struct trib_keys keys_of(char letter)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint8_t key[TRIB_KEY_MIN];
    struct trib_keys keys;

    memset(key, letter, sizeof key);
    if (trib_keys_derive(key, sizeof key, &keys, error) != TRIB_OK) {
        fail_msg("%s", error);
    }
    return keys;
}

#endif
