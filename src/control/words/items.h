/* SPDX-License-Identifier: Apache-2.0 */
/* items.h: the block that ends the first message of each side of a session: capability bits, and items that few
 * sessions need, each as type, length and value. So a later version can say more, and an earlier one knows which items
 * to skip.
 *
 * An item that the receiver does not know is skipped; or, if TRIB_ITEM_MUST is in its type, the message is refused, by
 * the item's number. Items come in ascending order of their types, so none comes twice; at most TRIB_ITEMS_MAX, in at
 * most TRIB_ITEMS_BYTES. A known item is read whole, and is not zeros alone: else the message is malformed. An item of
 * zeros alone is not sent. */
#ifndef TRIB_CONTROL_ITEMS_H
#define TRIB_CONTROL_ITEMS_H

#include "control/words/fields.h"

#define TRIB_ITEMS_MAX 16
#define TRIB_ITEMS_BYTES 1024 /* of all items, with their types and lengths */
#define TRIB_ITEM_MUST 0x8000 /* in a type: a receiver that does not know it refuses the message */

enum trib_item_type {
    /* JOIN; 0x8004 was of a switch below, before channels */
    TRIB_ITEM_GRANT = 0x8001,     /* a return: the grant, and whether the rank has seen a READY with it */
    TRIB_ITEM_ADDRESSES = 0x8002, /* of a rank with several network cards */
    TRIB_ITEM_ROOT = 0x8003,      /* without a switch: the root that the rank's process offers */
    TRIB_ITEM_MAKER = 0x8005,     /* of a communicator that was made of another one: which job it is of */
    TRIB_ITEM_KEY = 0x8006,       /* id of the key of the session (keys/derive.h) */
    TRIB_ITEM_RATE = 0x0021,      /* WELCOME: of a planned job: bytes per second of each rank */
    TRIB_ITEM_PIECES = 0x0022,    /* ROOT_OPEN: the pieces of a model that a combiner adds (protocol/pieces.h) */
    TRIB_ITEM_TENANT = 0x0023,    /* ROOT_OPEN of a job with a key: id of the key, for its quota (agents/agent.h) */
    TRIB_ITEM_AUTH = 0x8030,      /* WELCOME, ROOT_OPEN: of a job with a key: the key of its packets (keys/auth.h) */
    TRIB_ITEM_NUMBERS = 0x8031,   /* ROOT_OPEN of a combiner: the numbers from 64 on */
    /* Reserved; nothing sends them yet. What would make a sum wrong, or a packet unreadable, where it is not known, has
     * TRIB_ITEM_MUST. */
    TRIB_ITEM_PLACES =
        0x8010, /* WELCOME: what is at each root: a sum, a cache before a root, a server (ATP 2.2, 2.3 C12) */
    TRIB_ITEM_POOL = 0x0011, /* WELCOME: packets in flight over a shared pool; beyond, directly (ATP 2.3 C10) */
    TRIB_ITEM_PLAN = 0x0020, /* JOIN: the plan that the job was made for; advice (GOAT) */
};

struct trib_message;

struct trib_item {
    uint16_t type;
    const char *name; /* as in docs/PROTOCOL.md */
    void (*fields)(struct trib_fields *f, struct trib_message *message);
};

/* One pass over the items of a message, `count` known ones by ascending types. Reading, returns the first type that had
 * to be known and is not; 0: there is none. */
uint16_t trib_items(struct trib_fields *f, struct trib_message *message, const struct trib_item *known, size_t count);

#endif
