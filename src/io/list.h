/* SPDX-License-Identifier: Apache-2.0 */
/* list.h: lists with removal in constant time. An item has two members for each list that may contain the item:
 * `next`, and `back`, the address of the pointer to the item. back NULL: the list does not contain the item. */
#ifndef TRIB_IO_LIST_H
#define TRIB_IO_LIST_H

/* Puts the item in front. first: address of the pointer to the first one. */
#define TRIB_LIST_ADD(first, item, next, back)  \
    do {                                        \
        (item)->next = *(first);                \
        (item)->back = (first);                 \
        if ((item)->next) {                     \
            (item)->next->back = &(item)->next; \
        }                                       \
        *(first) = (item);                      \
    } while (0)

/* An item in no list stays as it is. */
#define TRIB_LIST_REMOVE(item, next, back)         \
    do {                                           \
        if ((item)->back) {                        \
            *(item)->back = (item)->next;          \
            if ((item)->next) {                    \
                (item)->next->back = (item)->back; \
            }                                      \
            (item)->back = NULL;                   \
        }                                          \
    } while (0)

#endif
