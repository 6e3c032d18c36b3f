/* SPDX-License-Identifier: Apache-2.0 */
/* tributary.h: everything public. Read comm.h first. */
#ifndef TRIBUTARY_TRIBUTARY_H
#define TRIBUTARY_TRIBUTARY_H

#include <tributary/comm.h>
#include <tributary/status.h>
#include <tributary/types.h>

#endif
