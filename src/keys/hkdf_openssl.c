/* SPDX-License-Identifier: Apache-2.0 */
/* hkdf_openssl.c: see derive.h. Without OpenSSL: hkdf_none.c. */
#include <string.h>

#include "keys/derive.h"
#include "keys/openssl.h"

#define SALT "tributary"

/* OpenSSL takes parameters without const, and writes none of these. */
static OSSL_PARAM octets(const char *name, const void *bytes, size_t len)
{
    union {
        const void *from;
        void *to;
    } at = {.from = bytes};
    return OSSL_PARAM_construct_octet_string(name, at.to, len);
}

bool trib_hkdf(const uint8_t *secret, size_t secret_len, const char *info, uint8_t *out, size_t size)
{
    if (trib_keys_explain_lack() != NULL) {
        return false;
    }
    char digest[] = "SHA256";
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        octets(OSSL_KDF_PARAM_KEY, secret, secret_len),
        octets(OSSL_KDF_PARAM_SALT, SALT, sizeof SALT - 1),
        octets(OSSL_KDF_PARAM_INFO, info, strlen(info)),
        OSSL_PARAM_construct_end(),
    };
    bool is_done = context != NULL && EVP_KDF_derive(context, out, size, parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return is_done;
}
