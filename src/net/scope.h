/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h: the name of an IPv6 scope, which is local to this machine. For src/net only. Read next: address.c. */
#ifndef TRIB_NET_SCOPE_H
#define TRIB_NET_SCOPE_H

#include <stdint.h>

#define TRIB_SCOPE_TEXT_MAX 17 /* bytes: "%", an interface's name of 15, and the end */

/* Writes "%eth0", or the number if this machine has no such interface any more. */
void trib_scope_format(uint32_t index, char text[TRIB_SCOPE_TEXT_MAX]);

#endif
