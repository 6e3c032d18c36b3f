/* SPDX-License-Identifier: Apache-2.0 */
/* placed.h: the switches that add each piece of a job's model, from a plan of `tributary plan --objective`
 * (docs/PLAN.md), for the control plane and the simulator. As TOML:
 *   network = "0123456789abcdef"   # digest of the plan's network, for the simulator
 *   [[model]]
 *   job = "resnet"
 *   pieces = 16                    # pieces of the model
 *   server = "host8"
 *   memory = 22000000              # bytes of each switch for the job
 *   [[placement]]
 *   job = "resnet"
 *   switch = "10.0.9.1:7470"       # name in the plan's network
 *   pieces = "0-2 5"               # pieces that this switch adds
 * Read next: placed.c, protocol/pieces.h (which fragments are of a piece). */
#ifndef TRIB_FABRIC_PLACED_H
#define TRIB_FABRIC_PLACED_H

#include <tributary/comm.h>

#include "io/toml.h"
#include "net/address.h"
#include "protocol/pieces.h"

#define TRIB_PLACED_NAME_MAX 64 /* bytes of a switch's or host's name */

struct trib_placed_model {
    char job[TRIB_NAME_MAX + 1];
    char server[TRIB_PLACED_NAME_MAX + 1];
    uint32_t pieces;
    uint64_t hosts;  /* digest of the places of workers and server; 0: not given */
    uint64_t memory; /* of a switch for the job, bytes; 0: not given */
    /* bytes of a step: parts of all workers, and parts received by the server; or 0 */
    uint64_t parts_bytes, server_bytes;
    struct trib_file_place place;
};

struct trib_placed_switch {
    char name[TRIB_PLACED_NAME_MAX + 1];
    struct trib_address at; /* if the name is an address with a port; else len 0 */
    uint32_t model;         /* number */
    uint64_t pieces;        /* bits */
    struct trib_file_place place;
};

struct trib_placed {
    uint64_t network; /* digest */
    uint32_t count;
    uint32_t switch_count;
    struct trib_placed_model *models;
    struct trib_placed_switch *switches;
};

/* Reads a plan from an open file. A file without a [[model]] has count 0: a plan of another kind. False: error has the
 * cause and the place, and *placed holds no memory. */
bool trib_placed_read(struct trib_placed *placed, const struct trib_toml *toml, char *error);
void trib_placed_free(struct trib_placed *placed);
/* Model of the job of this name. NULL: the plan does not name the job, or `placed` is NULL. */
const struct trib_placed_model *trib_placed_find(const struct trib_placed *placed, const char *job);
/* Pieces of the model at the switch of this address, as bits. */
uint64_t trib_placed_at(const struct trib_placed *placed, const struct trib_placed_model *model,
                        const struct trib_address *at);

#endif
