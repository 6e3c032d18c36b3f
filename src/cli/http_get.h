/* SPDX-License-Identifier: Apache-2.0 */
/* http_get.h: asks a switch's HTTP interface, with libcurl, which is loaded when first needed. Read next:
 * command_jobs.c. */
#ifndef TRIB_CLI_HTTP_GET_H
#define TRIB_CLI_HTTP_GET_H

#include <stddef.h>

#include <tributary/comm.h>

/* Loads libcurl once. NULL: done; else the cause and the remedy. Any thread may call. */
const char *http_get_explain_lack(void);
/* To a switch with --http-tls and --http-token. All may be NULL. */
struct http_access {
    const char *token;
    const char *ca; /* file of certificates, in PEM, one of which has signed the switch's; NULL: those of the system */
};

/* Returns the body of GET url, the caller's to free, with a final zero behind its *len bytes. NULL: error
 * (TRIB_ERROR_TEXT_MAX bytes) says why, from "connection refused" to "404". */
char *http_get(const char *url, const struct http_access *access, size_t *len, char *error);

#endif
