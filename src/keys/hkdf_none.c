/* SPDX-License-Identifier: Apache-2.0 */
/* hkdf_none.c: a build without OpenSSL: a key that is given is refused (derive.h). */
#include "keys/derive.h"

const char *trib_keys_explain_lack(void)
{
    return "this build has no OpenSSL, so keys are impossible: install OpenSSL 3 (libssl-dev) and build again";
}

bool trib_hkdf(const uint8_t *secret, size_t secret_len, const char *info, uint8_t *out, size_t size)
{
    (void)secret;
    (void)secret_len;
    (void)info;
    (void)out;
    (void)size;
    return false;
}
