/* SPDX-License-Identifier: Apache-2.0 */
/* detour.h: a rank whose combiner is gone tries the server behind it as well, and the other way round. Locked. */
#ifndef TRIB_COMM_DETOUR_H
#define TRIB_COMM_DETOUR_H

#include "comm/state.h"

/* Takes the server's address from WELCOME; len 0: not said. */
void trib_comm_learn_server(struct trib_comm *comm, const struct trib_address *server);
/* Puts the first try at the other place off, as for a restart. */
void trib_comm_plan_detour(struct trib_comm *comm, uint64_t now_ns);
/* The next try goes to the other place, if there is one and the time has come. */
void trib_comm_begin_detour(struct trib_comm *comm, uint64_t now_ns);
/* The try has failed: back to the place of before. */
void trib_comm_end_detour(struct trib_comm *comm);
/* WELCOME has come: comm stays where the try went. */
void trib_comm_stay(struct trib_comm *comm);
/* Leaves a new place to which packets do not pass. False: the place is not new, or there is no other. */
bool trib_comm_turn_back(struct trib_comm *comm, const char *cause);

#endif
