/* SPDX-License-Identifier: Apache-2.0 */
/* proof.c: communicators with a key (core/tag.h): which have one, which operations are proved, and when switches
 * falsify values under a right lane. No rank may take a wrong value of a proved operation, whichever switch lies.
 * Read next: link.c. */
#include <string.h>

#include "core/lane.h"
#include "core/tag.h"
#include "world.h"

/* A third of the communicators whose ranks send to switches has a key; half of these sum integers. */
static uint64_t dice_of(const struct comm_settings *set)
{
    return trib_mix64(set->session.salt ^ 6);
}

void proof_draw(const struct world *world, struct comm_settings *set)
{
    struct trib_session_config *s = &set->session;

    set->has_key = dice_of(set) % 3 == 0 && !world_has_peers(world);
    if (set->has_key && s->quorum_of == 0 && (dice_of(set) >> 16) % 2 == 0) {
        s->wire = TRIB_INT32;
    }
}

void proof_make(struct world_comm *comm)
{
    static const char *const names[] = {"scalar", "avx2", "ifma"};
    const struct trib_session_config *s = &comm->set.session;
    uint8_t job[TRIB_TAG_KEY] = {0};
    uint8_t key[TRIB_TAG_KEY];

    if (!comm->set.has_key) {
        return;
    }
    const struct trib_tag_kernel *kernel = trib_tag_kernel_named(names[(dice_of(&comm->set) >> 8) % 3]);
    memcpy(job, &s->salt, sizeof s->salt);
    comm->tag = world_zeroed(1, sizeof *comm->tag);
    trib_tag_key(key, job, s->communicator, s->generation, &s->salt, 1);
    trib_tag_init(comm->tag, kernel != NULL ? kernel : trib_tag_kernel(), key, s->ranks);
}

/* A block with infinity or NaN travels as float32, and is not proved. */
static bool are_finite(const struct world_comm *comm, const struct world_op *op)
{
    for (uint64_t i = 0; i < op->elements * comm->set.session.ranks; i++) {
        uint32_t bits;
        memcpy(&bits, op->inputs + 4 * i, sizeof bits);
        if ((bits & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000)) {
            return false;
        }
    }
    return true;
}

bool proof_covers(const struct world_comm *comm, const struct world_op *op)
{
    const struct trib_operation *operation = &op->operation;
    bool is_sum = operation->reduction == TRIB_SUM || operation->reduction == TRIB_AVERAGE;

    if (comm->tag == NULL || operation->count == 0) {
        return false;
    }
    if (operation->collective == TRIB_BROADCAST || operation->collective == TRIB_ALLGATHER) {
        return true;
    }
    return is_sum && operation->type == TRIB_FLOAT32 && comm->set.session.wire == TRIB_INT32 && are_finite(comm, op);
}

bool proof_is_due(const struct world_comm *comm, const struct trib_packet *packet)
{
    return packet->kind == TRIB_RESULT && packet->payload_len != 0 && proof_covers(comm, op_of(comm, packet->sequence));
}
