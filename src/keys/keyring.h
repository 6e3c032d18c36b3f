/* SPDX-License-Identifier: Apache-2.0 */
/* keyring.h: the keys that a control plane takes sessions with: a folder with the switch keys of jobs, and one key of
 * its own. A file that is added or removed while the control plane runs counts from the next session on. Read next:
 * store.h, tls.h. */
#ifndef TRIB_KEYS_KEYRING_H
#define TRIB_KEYS_KEYRING_H

#include "keys/derive.h"

struct trib_keyring {
    const char *folder;   /* of switch keys, one for each key of a job; NULL: none */
    struct trib_keys own; /* of the operator, between switches; or of the job, in rank 0's process. May be not set */
    bool is_for_jobs;     /* sessions of ranks need a key: with a folder, and in rank 0's process */
};

/* The switch key of this id. False: there is none; error says why, TRIB_ERROR_TEXT_MAX bytes. */
bool trib_keyring_find(const struct trib_keyring *keys, uint64_t id, uint8_t switch_key[TRIB_SUBKEY_SIZE], char *error);

#endif
