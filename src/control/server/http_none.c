/* SPDX-License-Identifier: Apache-2.0 */
/* http_none.c: a build without libmicrohttpd and jansson: everything works but HTTP. */
#include "control/server.h"

const char *trib_http_explain_lack(void)
{
    return "this build has no HTTP: install libmicrohttpd-dev and libjansson-dev, and build again";
}

const struct trib_http_verbs *trib_http_verbs(void)
{
    return NULL;
}
