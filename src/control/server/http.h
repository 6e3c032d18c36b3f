/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: HTTP for people and dashboards, read only: /, /healthz, /v1/jobs, /v1/switch, /metrics. No thread of its own:
 * its owner polls trib_http_fd and calls trib_http_run. Two files implement it: http.c (libmicrohttpd and jansson),
 * http_none.c (the build without them).
 * Read next: report.h (the facts). */
#ifndef TRIB_CONTROL_HTTP_H
#define TRIB_CONTROL_HTTP_H

#include "control/server/report.h"

struct trib_http;

/* Listens on address and shows `report`, which must outlive it. *http may be NULL on success: this build has no HTTP, a
 * line in the log says so. ERR_SYSTEM, ERR_MEMORY with the cause in error. */
TRIB_MUST_USE enum trib_status trib_http_create(const struct trib_address *address, const struct trib_report *report,
                                                struct trib_http **http, char *error);
void trib_http_destroy(struct trib_http *http);
/* Descriptor to poll for input; -1 without HTTP. */
int trib_http_fd(const struct trib_http *http);
/* The port that it listens on; 0 without HTTP. */
uint16_t trib_http_port(const struct trib_http *http);
uint64_t trib_http_next_timeout(const struct trib_http *http, uint64_t now_ns);
/* Serves requests that have come; never blocks. */
void trib_http_run(struct trib_http *http);

/* The same as a table: an embedded control plane without the table needs no HTTP library. */
struct trib_http_verbs {
    enum trib_status (*create)(const struct trib_address *address, const struct trib_report *report,
                               struct trib_http **http, char *error);
    void (*destroy)(struct trib_http *http);
    int (*fd)(const struct trib_http *http);
    uint16_t (*port)(const struct trib_http *http);
    uint64_t (*next_timeout)(const struct trib_http *http, uint64_t now_ns);
    void (*run)(struct trib_http *http);
};
const struct trib_http_verbs *trib_http_verbs(void);

#endif
