/* SPDX-License-Identifier: Apache-2.0 */
/* create.h: communicators made of others. */
#ifndef TRIB_COMM_CREATE_H
#define TRIB_COMM_CREATE_H

#include "comm/state.h"

/* As trib_comm_create with the settings of `maker`, on the endpoint of `maker`. Fails if `maker` fails. Not locked. */
TRIB_MUST_USE enum trib_status trib_comm_create_from(struct trib_comm *maker, const struct trib_config *config,
                                                     struct trib_comm **comm, char *error);

#endif
