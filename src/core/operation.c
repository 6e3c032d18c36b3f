/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c: see operation.h. The digest's formula is part of the protocol: docs/PROTOCOL.md, "Operation digest". */
#include "core/operation.h"

#include "core/lane.h"

/* The settings that say how a tensor becomes payloads are in it too: ranks that were given others would add what does not belong
 * together, under sequences and lengths that agree. */
static uint32_t digest(const struct trib_session_config *session, const struct trib_operation *operation,
                       uint64_t number)
{
    uint64_t h = trib_mix64((uint64_t)session->payload << 48 | (uint64_t)session->wire << 40 | session->lookahead);
    h = trib_mix64(h ^ number);
    h = trib_mix64(h ^ operation->count);
    h = trib_mix64(h ^ ((uint64_t)operation->collective << 48 | (uint64_t)operation->type << 40 |
                        (uint64_t)operation->reduction << 32 | operation->root));
    return (uint32_t)(h >> 32);
}

static enum trib_type wire_type(const struct trib_session_config *session, const struct trib_operation *operation)
{
    if (operation->collective != TRIB_ALLREDUCE) {
        return TRIB_BYTES;
    }
    /* Block floating point is for what is added: a product would need an exponent of its own, and a minimum is to be one of the
     * ranks' values, not one that was rounded to what the largest of all left room for. */
    if (session->wire == TRIB_INT32 && operation->reduction != TRIB_SUM && operation->reduction != TRIB_AVERAGE) {
        return operation->type;
    }
    return operation->type == TRIB_FLOAT32 ? session->wire : operation->type;
}

void trib_layout_init(struct trib_layout *layout, const struct trib_session_config *session,
                      const struct trib_operation *operation, uint64_t number)
{
    enum trib_type wire = wire_type(session, operation);
    size_t element_size = trib_type_size(operation->type);
    size_t wire_size = wire == TRIB_BYTES ? element_size : trib_type_size(wire);
    bool empty = operation->collective == TRIB_BARRIER || operation->count == 0;

    layout->wire = wire;
    layout->element_size = (uint16_t)element_size;
    layout->wire_size = (uint16_t)wire_size;
    layout->block_elements = empty ? 0 : session->payload / (uint32_t)wire_size;
    layout->blocks = empty ? 0 : (operation->count - 1) / layout->block_elements + 1;
    layout->lookahead = 0;
    if (wire == TRIB_INT32 && operation->type == TRIB_FLOAT32) {
        layout->lookahead = layout->blocks < session->lookahead ? (uint32_t)layout->blocks : session->lookahead;
    }
    layout->sequences = layout->blocks + layout->lookahead;
    if (layout->sequences == 0) {
        layout->sequences = 1;
    }
    layout->digest = digest(session, operation, number);
}
