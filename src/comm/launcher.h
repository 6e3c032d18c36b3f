/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h: the check that every config passes, from the environment or not. Read next: launcher.c. */
#ifndef TRIB_COMM_LAUNCHER_H
#define TRIB_COMM_LAUNCHER_H

#include <tributary/comm.h>

/* Returns ERR_INVALID; error (may be NULL) names the field, its value and the valid range. */
TRIB_MUST_USE enum trib_status trib_config_check(const struct trib_config *config, char *error);
/* The wire of a communicator with this config. */
enum trib_wire trib_config_wire(const struct trib_config *config);

#endif
