/* SPDX-License-Identifier: Apache-2.0 */
/* items.h: the block that ends the first message of each side of a session: capability bits, and items that few
 * sessions need, each as type, length and value. A later version can add items, and an earlier version skips unknown
 * items.
 *
 * The receiver skips an unknown item. If the type has TRIB_ITEM_MUST, the receiver refuses the message instead, and
 * names the type. Items come in ascending order of types, so no type comes twice. A message has at most TRIB_ITEMS_MAX
 * items in at most TRIB_ITEMS_BYTES. A known item of another length, or of zeros alone, makes the message malformed. An
 * item of zeros alone is not sent. */
#ifndef TRIB_CONTROL_ITEMS_H
#define TRIB_CONTROL_ITEMS_H

#include "control/words/fields.h"

#define TRIB_ITEMS_MAX 16
#define TRIB_ITEMS_BYTES 1024 /* of all items, types and lengths included */
#define TRIB_ITEM_MUST 0x8000 /* in a type: the receiver refuses the message if the type is unknown */

enum trib_item_type {
    /* JOIN; 0x8004 was of a switch below, before channels */
    TRIB_ITEM_GRANT = 0x8001,     /* a return: the grant, and whether the rank has seen a READY with it */
    TRIB_ITEM_ADDRESSES = 0x8002, /* of a rank with several network cards */
    TRIB_ITEM_ROOT = 0x8003,      /* without a switch: the root that the rank's process offers */
    TRIB_ITEM_MAKER = 0x8005,     /* of a derived communicator: the job */
    TRIB_ITEM_KEY = 0x8006,       /* id of the key of the session (keys/derive.h) */
    TRIB_ITEM_RATE = 0x0021,      /* WELCOME: of a planned job: bytes per second of each rank */
    TRIB_ITEM_PIECES = 0x0022,    /* ROOT_OPEN: the pieces of a model that a combiner adds (protocol/pieces.h) */
    /* ROOT_OPEN of a job with a key: id of the key, for the tenant's quota (agents/agent.h) */
    TRIB_ITEM_TENANT = 0x0023,
    TRIB_ITEM_AUTH = 0x8030,    /* ROOT_OPEN of a job with a key: the packet key (keys/auth.h) */
    TRIB_ITEM_NUMBERS = 0x8031, /* ROOT_OPEN of a combiner: the numbers from 64 on */
    TRIB_ITEM_SENDERS = 0x8032, /* WELCOME of a job with a key: sender keys, of the rank and of those above */
    /* Reserved; never sent. A reserved type has TRIB_ITEM_MUST if an ignorant receiver would compute a wrong sum or
     * send unreadable packets. */
    /* WELCOME: the kind of each root: a sum, a cache before a root, a server (ATP 2.2, 2.3 C12) */
    TRIB_ITEM_PLACES = 0x8010,
    TRIB_ITEM_POOL = 0x0011, /* WELCOME: packets in flight over a shared pool; beyond, directly (ATP 2.3 C10) */
    TRIB_ITEM_PLAN = 0x0020, /* JOIN: the plan for which the job was made; advice (GOAT) */
};

struct trib_message;

struct trib_item {
    uint16_t type;
    const char *name; /* as in docs/PROTOCOL.md */
    void (*fields)(struct trib_fields *f, struct trib_message *message);
};

/* One pass over the items of a message. known: `count` items in ascending order of types. A reading pass returns the
 * first unknown type with TRIB_ITEM_MUST; 0: none. */
uint16_t trib_items(struct trib_fields *f, struct trib_message *message, const struct trib_item *known, size_t count);

#endif
