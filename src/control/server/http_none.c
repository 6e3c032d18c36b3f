/* SPDX-License-Identifier: Apache-2.0 */
/* http_none.c: a build without libmicrohttpd and jansson: everything works but HTTP. */
#include "control/server.h"

const struct trib_http_verbs *trib_http_verbs(void)
{
    return NULL;
}
