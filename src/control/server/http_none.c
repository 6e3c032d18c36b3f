/* SPDX-License-Identifier: Apache-2.0 */
/* http_none.c: http.h for a build without libmicrohttpd and jansson: everything works but HTTP, and the log says so. */
#include "control/server/http.h"
#include "io/log.h"

enum trib_status trib_http_create(const struct trib_address *address, const struct trib_report *report,
                                  struct trib_http **http, char *error)
{
    (void)address;
    (void)report;
    (void)error;
    trib_log(TRIB_LOG_WARN,
             "no http: this build has neither /metrics nor /v1 (install libmicrohttpd-dev and libjansson-dev, "
             "and build again)");
    *http = NULL;
    return TRIB_OK;
}

void trib_http_destroy(struct trib_http *http)
{
    (void)http;
}

int trib_http_fd(const struct trib_http *http)
{
    (void)http;
    return -1;
}

uint16_t trib_http_port(const struct trib_http *http)
{
    (void)http;
    return 0;
}

uint64_t trib_http_next_timeout(const struct trib_http *http, uint64_t now_ns)
{
    (void)http;
    (void)now_ns;
    return TRIB_NEVER;
}

void trib_http_run(struct trib_http *http)
{
    (void)http;
}

const struct trib_http_verbs *trib_http_verbs(void)
{
    static const struct trib_http_verbs verbs = {trib_http_create, trib_http_destroy,      trib_http_fd,
                                                 trib_http_port,   trib_http_next_timeout, trib_http_run};
    return &verbs;
}

bool trib_server_has_http(void)
{
    return false;
}
