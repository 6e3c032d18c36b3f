/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c: see operation.h. The digest's formula and the order of blocks are part of the protocol:
 * docs/PROTOCOL.md, "Operations and fragments", "Operation digest". */
#include "core/operation.h"

#include "core/assert.h"
#include "core/lane.h"
#include "core/quorum.h"

/* ---- ranks ---- */

bool trib_operation_contributes(const struct trib_operation *operation, uint32_t owner, uint32_t rank)
{
    switch (operation->collective) {
    case TRIB_ALLREDUCE:
    case TRIB_REDUCE:
        return true;
    case TRIB_BROADCAST:
    case TRIB_ALLGATHER:
        return owner == rank;
    case TRIB_REDUCE_SCATTER:
        return owner != rank;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return false;
}

bool trib_operation_wants(const struct trib_operation *operation, uint32_t owner, uint32_t rank)
{
    switch (operation->collective) {
    case TRIB_BROADCAST:
    case TRIB_ALLGATHER:
        return owner != rank;
    case TRIB_REDUCE:
    case TRIB_REDUCE_SCATTER:
        return owner == rank;
    case TRIB_ALLREDUCE:
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return true;
}

uint32_t trib_operation_parts(const struct trib_operation *operation, uint32_t ranks)
{
    switch (operation->collective) {
    case TRIB_ALLREDUCE:
    case TRIB_REDUCE:
        return ranks;
    case TRIB_BROADCAST:
    case TRIB_ALLGATHER:
        return 1;
    case TRIB_REDUCE_SCATTER:
        TRIB_ASSERT(ranks >= 1);
        return ranks - 1;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

static bool is_float(enum trib_type type)
{
    return type == TRIB_FLOAT32 || type == TRIB_FLOAT64 || type == TRIB_FLOAT16 || type == TRIB_BFLOAT16;
}

/* Whole numbers are counted with, and an exponent (wire int32) is agreed by all. */
bool trib_operation_may_lack(const struct trib_session_config *session, const struct trib_operation *operation)
{
    bool is_sum = operation->reduction == TRIB_SUM || operation->reduction == TRIB_AVERAGE;

    return trib_session_has_quorum(session) && operation->collective == TRIB_ALLREDUCE && operation->count != 0 &&
           is_sum && is_float(operation->type) && session->wire != TRIB_INT32;
}

/* ---- blocks ---- */

static enum trib_type wire_type(const struct trib_session_config *session, const struct trib_operation *operation)
{
    if (!trib_operation_reduces(operation)) {
        return TRIB_BYTES;
    }
    /* Block floating point is for sums: a product would need an exponent of its own, and a minimum is one of the
     * ranks' values, unrounded. */
    if (session->wire == TRIB_INT32 && operation->reduction != TRIB_SUM && operation->reduction != TRIB_AVERAGE) {
        return operation->type;
    }
    return operation->type == TRIB_FLOAT32 ? session->wire : operation->type;
}

static size_t wire_size(const struct trib_session_config *session, const struct trib_operation *operation)
{
    enum trib_type wire = wire_type(session, operation);

    return trib_type_size(wire == TRIB_BYTES ? operation->type : wire);
}

static uint64_t blocks_of(uint64_t count, uint32_t block_elements)
{
    TRIB_ASSERT(block_elements > 0);
    return count == 0 ? 0 : (count - 1) / block_elements + 1;
}

/* ---- shares ---- */

size_t trib_shares_size(uint32_t ranks)
{
    return sizeof(struct trib_shares) + ranks * (2 * sizeof(uint64_t) + sizeof(struct trib_step) + sizeof(uint32_t));
}

/* Does rank a stand before rank b? */
static bool is_before(const struct trib_shares *shares, uint32_t a, uint32_t b)
{
    return shares->count[a] != shares->count[b] ? shares->count[a] > shares->count[b] : a < b;
}

/* Moves order[at] down until no child of it in the heap stands behind it. */
static void sift(const struct trib_shares *shares, uint32_t at, uint32_t end)
{
    uint32_t *order = shares->order;
    uint32_t rank = order[at];

    for (uint32_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
        child += child + 1 < end && is_before(shares, order[child], order[child + 1]);
        if (!is_before(shares, rank, order[child])) {
            break;
        }
        order[at] = order[child];
        at = child;
    }
    order[at] = rank;
}

static void sort(const struct trib_shares *shares)
{
    uint32_t *order = shares->order;

    for (uint32_t rank = 0; rank < shares->ranks; rank++) {
        order[rank] = rank;
    }
    for (uint32_t at = shares->ranks / 2; at-- > 0;) {
        sift(shares, at, shares->ranks);
    }
    for (uint32_t end = shares->ranks; end-- > 1;) {
        uint32_t last = order[0];
        order[0] = order[end];
        order[end] = last;
        sift(shares, 0, end);
    }
}

/* From the smallest share up: each new size adds a step for the shares above the size before. */
static void build_steps(struct trib_shares *shares)
{
    uint64_t block = 0;
    uint64_t first = 0;

    for (uint32_t owners = shares->ranks; owners > 0; owners--) {
        uint64_t blocks = blocks_of(shares->count[shares->order[owners - 1]], shares->block_elements);
        if (blocks > block) {
            shares->step[shares->steps++] =
                (struct trib_step){.first = first, .block = block, .height = blocks - block, .owners = owners};
            first += (blocks - block) * owners;
            block = blocks;
        }
    }
    TRIB_ASSERT(shares->steps <= shares->ranks); /* as many as there is room for */
}

struct trib_shares *trib_shares_init(void *memory, const struct trib_session_config *session,
                                     const struct trib_operation *operation, const uint64_t *count)
{
    struct trib_shares *shares = memory;

    TRIB_ASSERT(trib_operation_has_shares(operation));
    TRIB_ASSERT(session->ranks >= 1 && session->ranks <= TRIB_SESSION_RANKS_MAX);
    *shares = (struct trib_shares){.ranks = session->ranks};
    shares->block_elements = trib_session_data(session) / (uint32_t)wire_size(session, operation);
    shares->count = (uint64_t *)(shares + 1);
    shares->offset = shares->count + shares->ranks;
    shares->step = (struct trib_step *)(shares->offset + shares->ranks);
    shares->order = (uint32_t *)(shares->step + shares->ranks);
    for (uint32_t rank = 0; rank < shares->ranks; rank++) {
        shares->count[rank] = count[rank];
        shares->offset[rank] = shares->total;
        shares->total += count[rank];
    }
    sort(shares);
    build_steps(shares);
    return shares;
}

/* ---- layout ---- */

/* The settings that say how a tensor becomes payloads are in it too: ranks with other shares would add parts that do
 * not belong together, under sequences and lengths that agree. */
static uint32_t digest(const struct trib_layout *layout, const struct trib_session_config *session,
                       const struct trib_operation *operation, uint64_t number)
{
    uint64_t data = trib_session_data(session);
    uint64_t h = trib_mix64(data << 48 | (uint64_t)session->wire << 40 | session->lookahead);
    h = trib_mix64(h ^ number);
    h = trib_mix64(h ^ operation->count);
    h = trib_mix64(h ^ ((uint64_t)operation->collective << 48 | (uint64_t)operation->type << 40 |
                        (uint64_t)operation->reduction << 32 | operation->root));
    h = trib_mix64(h ^ ((uint64_t)layout->chunk << 32 | (uint64_t)session->ranks << 16 |
                        (uint64_t)session->quorum << 8 | session->quorum_of));
    for (uint32_t rank = 0; operation->shares != NULL && rank < operation->shares->ranks; rank++) {
        h = trib_mix64(h ^ operation->shares->count[rank]);
    }
    if (operation->part_of != 0) {
        h = trib_mix64(h ^ operation->part_of);
    }
    return (uint32_t)(h >> 32);
}

/* Long enough for trains of equal packets, short enough that the window holds some of every owner twice: while one
 * chunk is under way, the next one of the same owner may leave. */
static uint32_t chunk(const struct trib_session_config *session)
{
    uint32_t half = session->lookahead / (2 * session->ranks);
    uint32_t most = half < session->train ? half : session->train;

    return most == 0 ? 1 : most;
}

static void lay_out_shares(struct trib_layout *layout, const struct trib_session_config *session,
                           const struct trib_operation *operation)
{
    const struct trib_shares *shares = operation->shares;

    TRIB_ASSERT(session->ranks >= 1);
    layout->chunk = chunk(session);
    if (shares == NULL) {
        layout->even.height = layout->blocks;
        layout->even.owners = session->ranks;
        layout->blocks *= session->ranks;
        return;
    }
    TRIB_ASSERT(shares->ranks == session->ranks && shares->total == operation->count &&
                shares->block_elements == layout->block_elements);
    layout->blocks = 0;
    if (shares->steps != 0) {
        const struct trib_step *last = &shares->step[shares->steps - 1];
        layout->blocks = last->first + last->height * last->owners;
    }
}

void trib_layout_init(struct trib_layout *layout, const struct trib_session_config *session,
                      const struct trib_operation *operation, uint64_t number)
{
    bool empty = operation->collective == TRIB_BARRIER || operation->count == 0;

    *layout = (struct trib_layout){.wire = wire_type(session, operation)};
    layout->element_size = (uint16_t)trib_type_size(operation->type);
    layout->wire_size = (uint16_t)wire_size(session, operation);
    TRIB_ASSERT(empty || layout->wire_size > 0); /* the type was checked where the operation was called */
    layout->block_elements = empty ? 0 : trib_session_data(session) / layout->wire_size;
    layout->blocks = empty ? 0 : blocks_of(operation->count, layout->block_elements);
    if (trib_operation_has_shares(operation) && !empty) {
        lay_out_shares(layout, session, operation);
    }
    if (layout->wire == TRIB_INT32 && operation->type == TRIB_FLOAT32) {
        layout->lookahead = layout->blocks < session->lookahead ? (uint32_t)layout->blocks : session->lookahead;
    }
    layout->sequences = layout->blocks + layout->lookahead;
    TRIB_ASSERT(layout->sequences >= layout->blocks && layout->lookahead <= layout->blocks);
    if (layout->sequences == 0) {
        layout->sequences = 1;
    }
    layout->digest = digest(layout, session, operation, number);
}

/* ---- pieces ---- */

/* The step that a block belongs to. */
static const struct trib_step *find_step(const struct trib_layout *layout, const struct trib_shares *shares,
                                         uint64_t block)
{
    if (shares == NULL) {
        return &layout->even;
    }
    uint32_t low = 0;
    TRIB_ASSERT(shares->steps > 0);
    for (uint32_t high = shares->steps; high - low > 1;) {
        uint32_t middle = low + (high - low) / 2;
        if (shares->step[middle].first <= block) {
            low = middle;
        } else {
            high = middle;
        }
    }
    TRIB_ASSERT(shares->step[low].first <= block);
    return &shares->step[low];
}

/* Within a step: rounds of a chunk of each owner; the last round is one of smaller chunks. */
static uint64_t find_owner(const struct trib_layout *layout, const struct trib_step *step, uint64_t block,
                           uint32_t *owner)
{
    uint64_t at = block - step->first;
    uint64_t whole = step->height / layout->chunk;
    uint64_t round_blocks = (uint64_t)layout->chunk * step->owners;
    uint64_t round = at / round_blocks;
    uint64_t width = round < whole ? layout->chunk : step->height % layout->chunk;

    at -= round * round_blocks;
    TRIB_ASSERT(width > 0); /* else the block were behind the step's last round */
    *owner = (uint32_t)(at / width);
    TRIB_ASSERT(*owner < step->owners);
    return step->block + round * layout->chunk + at % width;
}

void trib_layout_piece(const struct trib_layout *layout, const struct trib_operation *operation, uint64_t block,
                       struct trib_piece *piece)
{
    const struct trib_shares *shares = operation->shares;
    uint64_t count = operation->count;
    uint64_t before = 0;
    uint32_t owner = operation->root;

    *piece = (struct trib_piece){.owner = owner};
    if (block >= layout->blocks) {
        return;
    }
    if (layout->chunk != 0) {
        block = find_owner(layout, find_step(layout, shares, block), block, &owner);
        owner = shares != NULL ? shares->order[owner] : owner;
        before = shares != NULL ? shares->offset[owner] : owner * count;
        count = shares != NULL ? shares->count[owner] : count;
    }
    piece->owner = owner;
    piece->share_at = block * layout->block_elements;
    piece->whole_at = before + piece->share_at;
    TRIB_ASSERT(piece->share_at < count); /* a block has an element */
    uint64_t left = count - piece->share_at;
    piece->elements = left < layout->block_elements ? left : layout->block_elements;
}
