/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h: packets with authenticators (keys/auth.h) in an eighth of the communicators. Keys and ids are those that the
 * real control planes give in WELCOME, ROOT_OPEN and ROOT_CHILD; each end seals and checks with a struct trib_auth of
 * its own, as comm and switchd do. A part of world.h, which includes it. Read next: auth.c. */
#ifndef TRIB_TESTS_WORLD_AUTH_H
#define TRIB_TESTS_WORLD_AUTH_H

#include "core/packet.h"
#include "keys/auth.h"

struct world;
struct world_comm;
struct world_unit;
struct comm_settings;
struct trib_opening;

/* What is true of a parcel, whatever its bytes say. */
struct world_seal {
    uint64_t number;
    uint32_t end;      /* 1 + who sealed it, in struct world_auths; 0: nobody, or it has been changed since */
    uint32_t unit;     /* that this one was */
    uint16_t receiver; /* id */
};

/* The packets of a unit, in one incarnation. */
struct world_auth {
    struct trib_auth *auth;
    uint32_t end;         /* whose id it has, in struct world_auths */
    uint32_t peers;       /* number of them */
    bool has_parent;      /* the last of them */
    struct trib_auth *up; /* of packets to the parent */
    uint32_t up_end;
    uint16_t of[]; /* by switch, then by rank: the number of that peer; UINT16_MAX: it is none */
};

/* An id under a sender key, in all lives of those who have it. */
struct world_end {
    uint64_t next;             /* smaller numbers have been used, or will not be */
    struct world_heard *heard; /* of each peer */
    uint32_t peers;
    uint32_t key;
    uint16_t id;
};

/* What an end has taken of a sender. */
struct world_heard {
    uint64_t most;  /* the largest number */
    uint64_t *bits; /* those that have come */
    uint32_t words;
};

/* A sender key of an incarnation. */
struct world_key {
    uint8_t bytes[TRIB_AUTH_KEY];
    const struct world_comm *comm;
    uint32_t boot;
    uint32_t holder;    /* an id: auth.c */
    uint32_t first_end; /* no earlier end has it */
};

/* All keys and ends of a world. */
struct world_auths {
    struct world_key *keys;
    struct world_end *ends;
    uint32_t key_count, key_capacity;
    uint32_t end_count, end_capacity;
    uint64_t draws;   /* numbers that control planes drew for keys */
    uint64_t dice;    /* numbers that were drawn for lies */
    uint32_t earlier; /* a sealed parcel; 0: none */
    uint32_t earlier_from, earlier_to;
};

void auth_draw(struct comm_settings *set);   /* has it authenticators? */
uint64_t auth_key_part(struct world *world); /* that a control plane draws */
void auth_welcome(struct world_comm *comm, uint32_t rank, const struct trib_sender_keys *keys);
void auth_open(struct world_comm *comm, uint32_t at, const struct trib_opening *opening); /* after its unit */
void auth_close(struct world_unit *unit);
void auth_end(struct world *world);
/* The packet as this unit sends it to that one, or to all that it has for children (WORLD_NONE): with an authenticator if
 * the unit has a packet key. */
uint32_t auth_parcel(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet);
/* The same as somebody sends it who may have the packet key, or not. */
uint32_t auth_forged(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet);
void auth_changed(struct world *world, uint32_t parcel); /* its bytes have been */
/* May the node have it? Whatever else is true is a failure of the world. */
enum trib_drop auth_take(struct world *world, uint32_t to, uint32_t from, uint32_t parcel,
                         const struct trib_packet *packet);
void auth_lie(struct world *world, uint32_t from, uint32_t to, uint32_t parcel); /* beside the true packet */

#endif
