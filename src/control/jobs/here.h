/* SPDX-License-Identifier: Apache-2.0 */
/* here.h: the dealer of roots over the shards of this switch. Read next: here.c. */
#ifndef TRIB_CONTROL_JOBS_HERE_H
#define TRIB_CONTROL_JOBS_HERE_H

#include "control/jobs/places.h"

extern const struct trib_dealer trib_dealer_here;

#endif
