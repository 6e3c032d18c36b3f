/* SPDX-License-Identifier: Apache-2.0 */
/* atp.h: the scheme of ATP (Lao et al., NSDI'21): parameter servers on hosts, and switches on the way that add as
 * far as memory allows, in one pool for all jobs.
 *
 * From the paper: rows found by a hash and owned by one fragment, best effort backed by the server, two levels (the
 * workers' switch and the server's). Not from the paper: the server alone keeps sums right, as
 * a root like any other (docs/ARCHITECTURE.md, "The window"), and a row is free as soon as its sum has
 * left (protocol/combiner.h): the published rule gives wrong sums after a late duplicate, and loses rows for ever.
 * Windows are PANAMA's, which follow marks of a worker's own way. Scheme `atp-aimd` has the paper's: a mark halves
 * them, and each worker heeds the marks of all. Repairs, and reasons: docs/DECISIONS.md.
 * Read next: protocol/combiner.h. */
#ifndef TRIB_ATP_H
#define TRIB_ATP_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_atp;
extern const struct trib_scheme trib_atp_aimd;

#endif
