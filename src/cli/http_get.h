/* SPDX-License-Identifier: Apache-2.0 */
/* http_get.h: asks a switch's HTTP interface, with libcurl, which is loaded when first needed. Read next:
 * command_jobs.c. */
#ifndef TRIB_CLI_HTTP_GET_H
#define TRIB_CLI_HTTP_GET_H

#include <stddef.h>

#include <tributary/comm.h>

/* Loads libcurl once. NULL: done; else the cause and the remedy. Any thread may call. */
const char *http_get_explain_lack(void);
/* Returns the body of GET url, the caller's to free, with a final zero behind its *len bytes. NULL: error
 * (TRIB_ERROR_TEXT_MAX bytes) says why, from "connection refused" to "404". */
char *http_get(const char *url, size_t *len, char *error);

#endif
