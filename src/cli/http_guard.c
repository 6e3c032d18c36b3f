/* SPDX-License-Identifier: Apache-2.0 */
/* http_guard.c: see http_guard.h. */
#include "cli/http_guard.h"

#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "keys/load.h"

#define TOKEN_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="

void http_guard_forget_text(char *token)
{
    if (token != NULL) {
        trib_wipe(token, strlen(token));
        free(token);
    }
}

char *http_guard_read_token(const char *path, char *error)
{
    struct trib_key key;
    char *token = NULL;

    if (trib_key_read_file(path, &key, error) == TRIB_OK) {
        token = strndup((const char *)key.bytes, key.len);
        trib_explain(error, "out of memory");
    }
    if (token != NULL && (strlen(token) != key.len || strspn(token, TOKEN_BYTES) != key.len)) {
        trib_explain(error, "%.200s: a token has letters, digits and -._~+/= alone: make one with `tributary key new`",
                     path);
        http_guard_forget_text(token);
        token = NULL;
    }
    trib_wipe(&key, sizeof key);
    return token;
}

bool http_guard_read(struct trib_http_guard *guard, const char *tls, const char *token, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    *guard = (struct trib_http_guard){.pem = NULL};
    if (trib_key_read_text(tls, &guard->pem, cause) != TRIB_OK) {
        trib_explain(error, "--http-tls: %s", cause);
        return false;
    }
    if (strstr(guard->pem, "-----BEGIN CERTIFICATE-----") == NULL || strstr(guard->pem, "PRIVATE KEY-----") == NULL) {
        trib_explain(error, "--http-tls: %.200s has not both a certificate and its private key, in PEM", tls);
        http_guard_forget(guard);
        return false;
    }
    guard->token = http_guard_read_token(token, cause);
    if (guard->token == NULL) {
        trib_explain(error, "--http-token: %s", cause);
        http_guard_forget(guard);
    }
    return guard->token != NULL;
}

void http_guard_forget(struct trib_http_guard *guard)
{
    http_guard_forget_text(guard->pem);
    http_guard_forget_text(guard->token);
    *guard = (struct trib_http_guard){.pem = NULL};
}
