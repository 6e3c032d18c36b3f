/* SPDX-License-Identifier: Apache-2.0 */
/* twins.c: two calls whose operations have the same digest though their types differ. By accident one pair of calls in
 * 2^32 is such; whoever knows the formula (docs/PROTOCOL.md, "Operation digest") finds one among some 100,000 calls.
 * Read next: ends.c (who makes them). */
#include "api/api.h"
#include "comm/endpoint.h"
#include "comm/layout.h"
#include "comm/state.h"
#include "core/operation.h"
#include "io/memory.h"

#define CALLS_MAX (1U << 18)
#define PLACES (1U << 19) /* of a hash table: a power of two */

/* A call that has been looked at: its number, 0: none. */
struct seen {
    uint32_t digest, call;
};

static struct trib_operation operation_of(uint32_t call)
{
    static const enum trib_type types[] = {TRIB_INT8, TRIB_UINT8, TRIB_INT32, TRIB_INT64};
    static const enum trib_reduction reductions[] = {TRIB_SUM, TRIB_PRODUCT, TRIB_MINIMUM, TRIB_MAXIMUM};
    return (struct trib_operation){.collective = TRIB_ALLREDUCE,
                                   .type = types[call % 4],
                                   .reduction = reductions[call / 4 % 4],
                                   .count = 1 + call / 16};
}

/* What the next operation of this communicator is laid out with. */
static uint64_t session_of(struct trib_comm *comm, struct trib_session_config *session)
{
    trib_endpoint_lock(comm->endpoint);
    trib_comm_describe_session(comm, session);
    session->lookahead = (comm->grant.slots + 1) / 2 * comm->grant.roots;
    uint64_t number = comm->stats.operations;
    trib_endpoint_unlock(comm->endpoint);
    return number;
}

static struct api_call call_of(uint32_t number)
{
    struct trib_operation operation = operation_of(number);
    return (struct api_call){.collective = operation.collective,
                             .type = operation.type,
                             .reduction = operation.reduction,
                             .count = operation.count};
}

/* Where in the table this digest is, or belongs. */
static struct seen *find(struct seen *table, uint32_t digest)
{
    uint32_t at = digest % PLACES;
    while (table[at].call != 0 && table[at].digest != digest) {
        at = (at + 1) % PLACES;
    }
    return &table[at];
}

bool api_twins(struct trib_comm *comm, struct api_call *one, struct api_call *other)
{
    struct trib_session_config session;
    struct trib_layout layout;
    uint64_t number = session_of(comm, &session);
    struct seen *table = trib_memory_map(PLACES * sizeof *table);
    bool is_found = false;
    for (uint32_t call = 1; call < CALLS_MAX && table != NULL && !is_found; call++) {
        struct trib_operation operation = operation_of(call);
        trib_layout_init(&layout, &session, &operation, number);
        struct seen *seen = find(table, layout.digest);
        is_found = seen->call != 0 && operation_of(seen->call).type != operation.type;
        if (is_found) {
            *one = call_of(seen->call);
            *other = call_of(call);
        }
        *seen = (struct seen){layout.digest, call};
    }
    trib_memory_unmap(table, PLACES * sizeof *table);
    return is_found;
}
