/* SPDX-License-Identifier: Apache-2.0 */
/* http_guard.h: files that protect a switch's HTTP: certificate and private key, and the token that clients show.
 * Read next: control/server.h (struct trib_http_guard). */
#ifndef TRIB_CLI_HTTP_GUARD_H
#define TRIB_CLI_HTTP_GUARD_H

#include <stdbool.h>

#include "control/server.h"

/* Returns the token in the file, for http_guard_forget_text: one line of letters, digits and -._~+/= (RFC 6750,
 * section 2.1), of 32 to 128 bytes, as `tributary key new` makes it. NULL: error (TRIB_ERROR_TEXT_MAX bytes) has cause
 * and remedy; other users must not be able to read the file. */
char *http_guard_read_token(const char *path, char *error);
/* Fills guard from the files of --http-tls and --http-token. False: error names option, cause and remedy, and guard is
 * as after http_guard_forget. */
bool http_guard_read(struct trib_http_guard *guard, const char *tls, const char *token, char *error);
/* Overwrites and frees a secret text; NULL is allowed. */
void http_guard_forget_text(char *token);
/* The same of both texts. */
void http_guard_forget(struct trib_http_guard *guard);

#endif
