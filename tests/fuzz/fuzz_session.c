/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_session.c: bytes to the session codec, message after message as a connection would take them; what it takes must
 * encode to the same bytes, and it must never take more than there is. Items that it skipped are not encoded again: then
 * what is encoded must come back the same. */
#include <stdlib.h>
#include <string.h>

#include "control/words/words.h"
#include "fuzz/fuzz.h"

static void check(const struct trib_message *message, const uint8_t *bytes, size_t used)
{
    uint8_t again[TRIB_MESSAGE_MAX];
    uint8_t twice[TRIB_MESSAGE_MAX];
    struct trib_message taken;
    size_t len = trib_message_encode(message, again);
    if (len == used && memcmp(again, bytes, used) == 0) {
        return;
    }
    size_t taken_len = 0;
    bool may_skip = message->kind == TRIB_MESSAGE_JOIN || message->kind == TRIB_MESSAGE_WELCOME ||
                    message->kind == TRIB_MESSAGE_CONTROL || message->kind == TRIB_MESSAGE_HELLO ||
                    message->kind == TRIB_MESSAGE_ROOT_OPEN;
    if (!may_skip || len >= used || trib_message_decode(again, len, &taken, &taken_len) != TRIB_OK ||
        taken_len != len || trib_message_encode(&taken, twice) != len || memcmp(again, twice, len) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + (size == 0)); /* of exactly this size, so that a read beyond it is seen */
    if (bytes == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(bytes, data, size);
    }
    struct trib_message message;
    size_t at = 0;
    size_t used = 1;
    while (used > 0 && trib_message_decode(bytes + at, size - at, &message, &used) == TRIB_OK) {
        if (used > size - at) {
            abort();
        }
        if (used > 0) {
            check(&message, bytes + at, used);
            at += used;
        }
    }
    free(bytes);
    return 0;
}
