/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: see describe.h. */
#include "comm/describe.h"

#include <inttypes.h>
#include <stdio.h>

#include "comm/state.h"
#include "core/operation.h"
#include "io/units.h"

void trib_comm_name_ranks(const struct trib_rank_list *ranks, char *text, size_t size)
{
    char list[256];
    trib_format_ranks(ranks->rank, trib_rank_list_carried(ranks), ranks->count, list, sizeof list);
    (void)snprintf(text, size, "%s %s missing", list, ranks->count == 1 ? "is" : "are");
}

#define SHARES_SHOWN 8

/* "per rank", "in shares of 10, 20, 0, ..." */
static void format_shares(const struct trib_operation *operation, char *text, size_t size)
{
    const struct trib_shares *shares = operation->shares;
    size_t used = (size_t)snprintf(text, size, "%s", shares == NULL ? "per rank" : "in shares of");
    for (uint32_t rank = 0; shares != NULL && rank < shares->ranks && rank < SHARES_SHOWN && used < size; rank++) {
        used += (size_t)snprintf(text + used, size - used, "%s %" PRIu64, rank == 0 ? "" : ",", shares->count[rank]);
    }
    if (shares != NULL && shares->ranks > SHARES_SHOWN && used < size) {
        (void)snprintf(text + used, size - used, ", ...");
    }
}

/* Of the exchange of nonces, which is one in which ranks with different settings do not meet. */
static void format_nonces(uint64_t part_of, char *text, size_t size)
{
    uint32_t every = (uint32_t)(part_of - TRIB_PART_OF_NONCES);
    if (every == 0) {
        (void)snprintf(text, size, "the exchange of nonces at the start");
        return;
    }
    (void)snprintf(text, size, "the exchange of nonces at the start, with TRIB_SAMPLE=%u", every);
}

void trib_comm_name_operation(const struct trib_operation *operation, char *text, size_t size)
{
    const char *name = trib_collective_name(operation->collective);
    const char *type = trib_type_name(operation->type);
    char count[TRIB_UNITS_TEXT_MAX];
    char shares[128];
    if (operation->part_of == TRIB_PART_OF_SPLIT) {
        (void)snprintf(text, size, "trib_comm_split");
        return;
    }
    if (operation->part_of == TRIB_PART_OF_SAMPLE) {
        (void)snprintf(text, size, "the sample of the sum before it");
        return;
    }
    if (operation->part_of >> 32 == TRIB_PART_OF_NONCES >> 32) {
        format_nonces(operation->part_of, text, size);
        return;
    }
    trib_format_count(operation->count, count);
    format_shares(operation, shares, sizeof shares);
    switch (operation->collective) {
    case TRIB_ALLREDUCE:
        (void)snprintf(text, size, "%s of %s %s (%s)", name, count, type, trib_reduction_name(operation->reduction));
        return;
    case TRIB_BROADCAST:
        (void)snprintf(text, size, "%s of %s %s from rank %u", name, count, type, operation->root);
        return;
    case TRIB_REDUCE:
        (void)snprintf(text, size, "%s of %s %s (%s) to rank %u", name, count, type,
                       trib_reduction_name(operation->reduction), operation->root);
        return;
    case TRIB_ALLGATHER:
        (void)snprintf(text, size, "%s of %s %s %s", name, count, type, shares);
        return;
    case TRIB_REDUCE_SCATTER:
        (void)snprintf(text, size, "%s of %s %s (%s) %s", name, count, type, trib_reduction_name(operation->reduction),
                       shares);
        return;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        (void)snprintf(text, size, "%s", name);
        return;
    }
}

void trib_comm_describe_operation(uint64_t number, const struct trib_operation *operation, char *text, size_t size)
{
    char name[192];
    trib_comm_name_operation(operation, name, sizeof name);
    (void)snprintf(text, size, "%s as operation %" PRIu64, name, number);
}

void trib_comm_describe(const struct trib_comm *comm, uint64_t sequence, char *text, size_t size)
{
    struct trib_operation operation;
    uint64_t number = 0;
    if (comm->transport->find_operation(comm, sequence, &operation, &number)) {
        trib_comm_describe_operation(number, &operation, text, size);
    } else {
        (void)snprintf(text, size, TRIB_NO_OPERATION);
    }
}
