/* SPDX-License-Identifier: Apache-2.0 */
/* proof.c: see proof.h. Read next: nonces.c (the exchange). */
#include "comm/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/launcher.h"
#include "comm/state.h"
#include "core/assert.h"
#include "core/tag.h"
#include "schemes/schemes.h"

bool trib_proof_is_wanted(const struct trib_comm *comm)
{
    return comm->keys.is_set && comm->verbs->peers == NULL && !trib_comm_is_local(comm);
}

static void expand(struct trib_comm *comm, const struct trib_grant *grant, const uint64_t *nonces, uint32_t count)
{
    uint8_t key[TRIB_TAG_KEY];

    _Static_assert(TRIB_TAG_KEY == TRIB_SUBKEY_SIZE, "keys of one size");
    trib_tag_key(key, comm->keys.tag_key, grant->communicator, grant->generation, nonces, count);
    trib_tag_init(comm->tag, trib_tag_kernel(), key, comm->members);
    trib_wipe(key, sizeof key);
}

bool trib_proof_open(struct trib_comm *comm, const struct trib_grant *grant)
{
    TRIB_ASSERT(comm->tag == NULL && comm->node == NULL);
    if (!trib_proof_is_wanted(comm)) {
        return true;
    }
    comm->tag = calloc(1, sizeof *comm->tag);
    if (comm->tag == NULL) {
        return false;
    }
    expand(comm, grant, NULL, 0);
    return true;
}

void trib_proof_renew(struct trib_comm *comm, const uint64_t *nonces)
{
    if (comm->tag != NULL) {
        expand(comm, &comm->grant, nonces, comm->config.ranks);
    }
}

void trib_proof_close(struct trib_comm *comm)
{
    if (comm->tag != NULL) {
        trib_wipe(comm->tag, sizeof *comm->tag);
    }
    free(comm->tag);
    comm->tag = NULL;
}

void trib_proof_explain(const struct trib_comm *comm, const struct trib_event *event, char *text, size_t size)
{
    char place[64] = "";

    if (comm->tag == NULL || event->other != TRIB_DROP_LANE) {
        (void)snprintf(text, size, "failed its check again and again");
        return;
    }
    trib_address_format(&comm->roots[event->root], place);
    (void)snprintf(text, size,
                   "is not proved: the root at %s, or a switch below that root, has changed values or parts of the "
                   "sum, or a rank has another key; no value was used",
                   place);
}

const char *trib_proof_text(const struct trib_config *config, const char *scheme)
{
    const struct trib_scheme *found = trib_scheme_find(scheme);

    if (config->key_len == 0) {
        return "no values: there is no key (TRIB_KEY_FILE)";
    }
    if (found != NULL && found->worker->peers != NULL) {
        return "no values: ranks send to each other";
    }
    return trib_config_wire(config) == TRIB_WIRE_INT32
               ? "values of float32 sums, broadcasts and allgathers"
               : "values of broadcasts and allgathers; of sums with wire int32 (TRIB_WIRE)";
}
