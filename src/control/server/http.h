/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: HTTP for people and dashboards, read only: /, /healthz, /v1/jobs, /v1/switch, /metrics. No thread: the owner
 * polls a descriptor and calls `run`. A table, so that an embedded control plane needs no HTTP library: trib_http_verbs
 * (server.h), in http.c, or in http_none.c for a build without such a library.
 * Read next: report.h (the facts). */
#ifndef TRIB_CONTROL_HTTP_H
#define TRIB_CONTROL_HTTP_H

#include "control/server/report.h"

struct trib_http;

struct trib_http_verbs {
    /* Listens on address and shows `report`; guard may be NULL; both must outlive *http. ERR_UNSUPPORTED: the library
     * is not installed; ERR_REFUSED: the port is taken; ERR_SYSTEM: also no certificate with its key in guard->pem, or
     * no TLS in the library; ERR_MEMORY. The cause is in error. */
    enum trib_status (*create)(const struct trib_address *address, const struct trib_http_guard *guard,
                               const struct trib_report *report, struct trib_http **http, char *error);
    void (*destroy)(struct trib_http *http);
    /* Descriptor to poll for input. */
    int (*fd)(const struct trib_http *http);
    /* The port of the listener. */
    uint16_t (*port)(const struct trib_http *http);
    uint64_t (*next_timeout)(const struct trib_http *http, uint64_t now_ns);
    /* Serves all received requests; never blocks. */
    void (*run)(struct trib_http *http);
};

#endif
