/* SPDX-License-Identifier: Apache-2.0 */
/* ps.h: the scheme `ps`: parameter servers on hosts, and switches that add nothing: the baseline of ATP. With as many
 * servers as workers, on the workers' hosts, the bytes on links are those of BytePS (Jiang et al., OSDI'20). A server
 * is a root like any other; windows are PANAMA's.
 * Read next: schemes/atp/atp.h. */
#ifndef TRIB_PS_H
#define TRIB_PS_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_ps;

#endif
