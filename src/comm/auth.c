/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: see auth.h. Read next: send.c (makes authenticators), drive.c (has them checked). */
#include "comm/auth.h"

#include "io/explain.h"

/* This root or peer is to be heard. */
static void hear(const struct trib_comm *comm, const struct trib_auth_key *key, uint32_t root)
{
    if (trib_comm_has_peers(comm)) {
        trib_auth_set_peer(comm->auth, root, trib_auth_rank(comm->peers[root]));
    } else {
        trib_auth_set_above(comm->auth, root, trib_auth_switch(key->parent, root));
    }
}

void trib_comm_drop_auth(struct trib_comm *comm)
{
    trib_auth_destroy(comm->auth);
    comm->auth = NULL;
}

enum trib_status trib_comm_take_auth(struct trib_comm *comm, const struct trib_message *welcome, char *error)
{
    const struct trib_auth_key *key = &welcome->welcome.auth;
    bool is_set = trib_auth_key_is_set(key);
    if (is_set && key->encrypts != comm->config.encrypt) {
        trib_explain(error, "the %s granted payloads %s", comm->where.title,
                     key->encrypts ? "encrypted, but TRIB_ENCRYPT is off" : "in clear, but TRIB_ENCRYPT is on");
        return TRIB_ERR_REFUSED;
    }
    if (is_set != comm->keys.is_set) {
        trib_explain(error, "the %s %s", comm->where.title,
                     is_set ? "sent a packet key to a rank without a key (TRIB_KEY_FILE)"
                            : "sent no packet key to a rank with a key (TRIB_KEY_FILE)");
        return TRIB_ERR_REFUSED;
    }
    if (!is_set || comm->is_led) {
        trib_comm_drop_auth(comm);
        return TRIB_OK;
    }
    struct trib_auth *auth = trib_auth_create(key->bytes, trib_auth_rank(comm->config.rank), comm->root_count);
    if (auth == NULL) {
        trib_explain(error, "out of memory for authenticated packets");
        return TRIB_ERR_MEMORY;
    }
    if (comm->auth != NULL && trib_auth_share_key(comm->auth, auth)) {
        trib_auth_destroy(auth);
        trib_explain(error, "the %s sent the packet key of before again: nonces would repeat", comm->where.title);
        return TRIB_ERR_REFUSED;
    }
    trib_comm_drop_auth(comm);
    comm->auth = auth;
    if (key->encrypts) {
        trib_auth_set_encrypting(comm->auth);
    }
    for (uint32_t i = 0; i < comm->root_count; i++) {
        hear(comm, key, i);
    }
    return TRIB_OK;
}
