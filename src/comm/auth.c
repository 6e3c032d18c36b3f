/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: see auth.h. Read next: send.c (makes authenticators), drive.c (has them checked). */
#include "comm/auth.h"

#include "io/explain.h"

/* This root or peer is to be heard. False: no memory. */
static bool hear(const struct trib_comm *comm, struct trib_auth *auth, const struct trib_sender_keys *keys,
                 uint32_t root)
{
    if (trib_comm_has_peers(comm)) {
        return trib_auth_set_peer(auth, root, trib_auth_rank(comm->peers[root]), keys->heard);
    }
    return trib_auth_set_above(auth, root, trib_auth_switch(keys->parent, root), keys->heard);
}

/* NULL: no memory. */
static struct trib_auth *open_auth(const struct trib_comm *comm, const struct trib_sender_keys *keys)
{
    struct trib_auth *auth =
        trib_auth_create(keys->own, trib_auth_rank(comm->config.rank), comm->root_count, keys->encrypts);
    for (uint32_t i = 0; auth != NULL && i < comm->root_count; i++) {
        if (!hear(comm, auth, keys, i)) {
            trib_auth_destroy(auth);
            auth = NULL;
        }
    }
    return auth;
}

void trib_comm_drop_auth(struct trib_comm *comm)
{
    trib_auth_destroy(comm->auth);
    comm->auth = NULL;
}

enum trib_status trib_comm_take_auth(struct trib_comm *comm, const struct trib_message *welcome, char *error)
{
    const struct trib_sender_keys *keys = &welcome->welcome.auth;
    bool is_set = trib_auth_is_set(keys->own);
    if (is_set && keys->encrypts != comm->config.encrypt) {
        trib_explain(error, "the %s granted payloads %s", comm->where.title,
                     keys->encrypts ? "encrypted, but TRIB_ENCRYPT is off" : "in clear, but TRIB_ENCRYPT is on");
        return TRIB_ERR_REFUSED;
    }
    if (is_set != comm->keys.is_set) {
        trib_explain(error, "the %s %s", comm->where.title,
                     is_set ? "sent a sender key to a rank without a key (TRIB_KEY_FILE)"
                            : "sent no sender key to a rank with a key (TRIB_KEY_FILE)");
        return TRIB_ERR_REFUSED;
    }
    if (!is_set || comm->is_led) {
        trib_comm_drop_auth(comm);
        return TRIB_OK;
    }
    struct trib_auth *auth = open_auth(comm, keys);
    if (auth == NULL) {
        trib_explain(error, "out of memory for authenticated packets");
        return TRIB_ERR_MEMORY;
    }
    if (comm->auth != NULL && trib_auth_share_key(comm->auth, auth)) {
        trib_auth_destroy(auth);
        trib_explain(error, "the %s sent the sender key of before again: nonces would repeat", comm->where.title);
        return TRIB_ERR_REFUSED;
    }
    trib_comm_drop_auth(comm);
    comm->auth = auth;
    return TRIB_OK;
}
