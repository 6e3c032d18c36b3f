/* SPDX-License-Identifier: Apache-2.0 */
/* level0_plan.c: see level0_plan.h. */
#include "comm/level0_plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "core/value.h"

/* ---- where ---- */

void trib_level0_place_init(struct trib_level0_place *place, uint32_t ranks, uint32_t rank, uint32_t hosts,
                            const struct trib_rank_set *leaders)
{
    *place = (struct trib_level0_place){.ranks = ranks, .rank = rank, .hosts = hosts, .leaders = *leaders};
    for (uint32_t i = 1; i <= rank; i++) {
        if (trib_rank_set_has(leaders, i)) {
            place->host++;
            place->first = i;
        }
    }
    uint32_t end = rank + 1;
    while (end < ranks && !trib_rank_set_has(leaders, end)) {
        end++;
    }
    place->count = end - place->first;
}

static uint32_t host_of(const struct trib_level0_place *place, uint32_t rank)
{
    uint32_t host = 0;
    for (uint32_t i = 1; i <= rank; i++) {
        host += trib_rank_set_has(&place->leaders, i);
    }
    return host;
}

static bool is_root_host(const struct trib_level0_plan *plan)
{
    return plan->root_host == plan->place->host;
}

/* ---- shares ---- */

static uint64_t share_of(const struct trib_operation *whole, uint32_t rank)
{
    return whole->shares != NULL ? whole->shares->count[rank] : whole->count;
}

static struct trib_shares *make_shares(const struct trib_session_config *session, const struct trib_operation *whole,
                                       uint32_t ranks, const uint64_t *counts)
{
    struct trib_session_config members = *session;
    members.ranks = ranks;
    void *memory = malloc(trib_shares_size(ranks));
    return memory != NULL ? trib_shares_init(memory, &members, whole, counts) : NULL;
}

static bool are_equal(const uint64_t *counts, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (counts[i] != counts[0]) {
            return false;
        }
    }
    return true;
}

/* counts: zeros, as many as there are ranks. */
static bool share_out(struct trib_level0_plan *plan, const struct trib_session_config *session, uint64_t *counts)
{
    const struct trib_level0_place *place = plan->place;
    uint32_t host = 0;
    for (uint32_t rank = 0; rank < place->ranks; rank++) {
        uint64_t share = share_of(&plan->whole, rank);
        host += rank > 0 && trib_rank_set_has(&place->leaders, rank);
        counts[host] += share;
        plan->total += share;
        plan->before += host < place->host ? share : 0;
        plan->elements += host == place->host ? share : 0;
        plan->own_at += host == place->host && rank < place->rank ? share : 0;
    }
    plan->own = share_of(&plan->whole, place->rank);
    if (!are_equal(counts, place->hosts)) {
        plan->of_hosts = make_shares(session, &plan->whole, place->hosts, counts);
        if (plan->of_hosts == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < place->count; i++) {
        counts[i] = share_of(&plan->whole, place->first + i);
    }
    if (!are_equal(counts, place->count)) {
        plan->of_ranks = make_shares(session, &plan->whole, place->count, counts);
        return plan->of_ranks != NULL;
    }
    return true;
}

/* ---- the plan ---- */

static uint64_t digest_of(const struct trib_operation *whole, const uint64_t number_and_batch[2])
{
    uint64_t digest = trib_mix64(trib_mix64(number_and_batch[0]) + number_and_batch[1]);
    digest = trib_mix64(digest ^ ((uint64_t)whole->collective << 48 | (uint64_t)whole->type << 40 |
                                  (uint64_t)whole->reduction << 32 | whole->root));
    digest = trib_mix64(digest ^ whole->count);
    for (uint32_t rank = 0; whole->shares != NULL && rank < whole->shares->ranks; rank++) {
        digest = trib_mix64(digest ^ whole->shares->count[rank]);
    }
    return digest | UINT64_C(1) << 63;
}

static bool is_average(const struct trib_level0_plan *plan)
{
    return plan->whole.reduction == TRIB_AVERAGE;
}

static size_t slot_bytes(const struct trib_level0_plan *plan)
{
    const struct trib_level0_place *place = plan->place;
    size_t size = trib_type_size(plan->whole.type);
    bool leads = trib_level0_leads(place);
    bool is_alone = place->count == 1;
    switch (plan->whole.collective) {
    case TRIB_ALLREDUCE:
        return leads && (!is_alone || is_average(plan)) ? plan->chunk * size : 0;
    case TRIB_REDUCE:
        if (leads ? !is_alone || is_average(plan)
                  : is_root_host(plan) && plan->whole.root != place->first && plan->whole.root != place->rank) {
            return plan->chunk * size;
        }
        return 0;
    case TRIB_REDUCE_SCATTER:
        if (is_alone) {
            return is_average(plan) ? plan->own * size : 0;
        }
        return (leads ? plan->total : plan->elements) * size;
    case TRIB_BROADCAST:
    case TRIB_ALLGATHER:
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

bool trib_level0_plan_init(struct trib_level0_plan *plan, const struct trib_level0_place *place,
                           const struct trib_session_config *session, const struct trib_operation *whole,
                           const uint64_t number_and_batch[2])
{
    *plan = (struct trib_level0_plan){.place = place, .whole = *whole, .parts = 1, .chunk = whole->count};
    plan->part_of = digest_of(whole, number_and_batch);
    if (place->hosts == 1) {
        return true;
    }
    plan->root_host = host_of(place, whole->root);
    if (trib_operation_has_shares(whole)) {
        uint64_t *counts = calloc(place->ranks, sizeof *counts);
        bool is_done = counts != NULL && share_out(plan, session, counts);
        free(counts);
        if (!is_done) {
            trib_level0_plan_deinit(plan);
            return false;
        }
    } else if (whole->collective != TRIB_BARRIER) {
        struct trib_layout layout; /* whole packets but for the last of the tensor */
        trib_layout_init(&layout, session, whole, 0);
        uint64_t most = TRIB_LEVEL0_PART / trib_type_size(whole->type);
        most -= layout.block_elements != 0 ? most % layout.block_elements : 0;
        plan->chunk = whole->count < most ? whole->count : most;
        plan->parts = whole->count > most ? (whole->count - 1) / most + 1 : 1;
    }
    plan->slot_bytes = slot_bytes(plan);
    return true;
}

void trib_level0_plan_deinit(struct trib_level0_plan *plan)
{
    free(plan->of_ranks);
    free(plan->of_hosts);
    plan->of_ranks = NULL;
    plan->of_hosts = NULL;
}

/* ---- steps ---- */

static uint64_t count_of(const struct trib_level0_plan *plan, uint64_t k)
{
    uint64_t left = plan->whole.count - k * plan->chunk;
    return left < plan->chunk ? left : plan->chunk;
}

/* `elements` into a buffer that a part of the operation may not have. */
static const void *sent(const struct trib_level0_plan *plan, uint64_t elements)
{
    size_t at = elements * trib_type_size(plan->whole.type);
    return plan->whole.send != NULL ? (const unsigned char *)plan->whole.send + at : NULL;
}

static void *got(const struct trib_level0_plan *plan, uint64_t elements)
{
    size_t at = elements * trib_type_size(plan->whole.type);
    return plan->whole.recv != NULL ? (unsigned char *)plan->whole.recv + at : NULL;
}

static struct trib_operation begin(const struct trib_level0_plan *plan, enum trib_collective collective, uint64_t count)
{
    struct trib_operation operation = {.part_of = plan->part_of, .collective = collective};
    if (collective != TRIB_BARRIER) {
        operation.count = count;
        operation.type = plan->whole.type;
        operation.reduction = trib_operation_reduces(&operation) ? plan->whole.reduction : TRIB_REDUCTION_NONE;
        operation.reduction = operation.reduction == TRIB_AVERAGE ? TRIB_SUM : operation.reduction;
    }
    return operation;
}

/* The host's ranks reduce to their leader. */
static struct trib_operation reduce_in(const struct trib_level0_plan *plan, uint64_t at, uint64_t count,
                                       unsigned char *slot)
{
    struct trib_operation operation = begin(plan, TRIB_REDUCE, count);
    operation.send = sent(plan, at);
    operation.recv = trib_level0_leads(plan->place) ? slot : NULL;
    return operation;
}

bool trib_level0_in(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                    struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    const struct trib_operation *whole = &plan->whole;
    if (place->hosts == 1) {
        *operation = *whole;
        return true;
    }
    if (place->count == 1) {
        return false;
    }
    switch (whole->collective) {
    case TRIB_ALLREDUCE:
    case TRIB_REDUCE:
        *operation = reduce_in(plan, k * plan->chunk, count_of(plan, k), slot);
        return true;
    case TRIB_REDUCE_SCATTER:
        *operation = reduce_in(plan, 0, plan->total, slot);
        return true;
    case TRIB_BROADCAST:
        *operation = begin(plan, TRIB_BROADCAST, count_of(plan, k));
        operation->root = whole->root - place->first;
        operation->send = sent(plan, k * plan->chunk);
        operation->recv = got(plan, k * plan->chunk);
        return is_root_host(plan);
    case TRIB_ALLGATHER:
        *operation = begin(plan, TRIB_ALLGATHER, plan->of_ranks != NULL ? plan->elements : plan->own);
        operation->shares = plan->of_ranks;
        operation->send = whole->send;
        operation->recv = got(plan, plan->before);
        return true;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    *operation = begin(plan, TRIB_BARRIER, 0);
    return true;
}

/* Shares of hosts. */
static struct trib_operation net_of_shares(const struct trib_level0_plan *plan, unsigned char *slot)
{
    bool is_alone = plan->place->count == 1;
    struct trib_operation operation =
        begin(plan, plan->whole.collective, plan->of_hosts != NULL ? plan->total : plan->elements);
    operation.shares = plan->of_hosts;
    if (plan->whole.collective == TRIB_ALLGATHER) {
        operation.send = is_alone ? plan->whole.send : got(plan, plan->before);
        operation.recv = plan->whole.recv;
    } else {
        operation.send = is_alone ? plan->whole.send : slot;
        operation.recv = !is_alone          ? slot + plan->before * trib_type_size(plan->whole.type)
                         : is_average(plan) ? (void *)slot
                                            : plan->whole.recv;
    }
    return operation;
}

void trib_level0_net(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                     struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    uint64_t at = k * plan->chunk;
    if (trib_operation_has_shares(&plan->whole)) {
        *operation = net_of_shares(plan, slot);
        return;
    }
    *operation = begin(plan, plan->whole.collective, count_of(plan, k));
    if (plan->whole.collective == TRIB_BARRIER) {
        return;
    }
    operation->root = plan->whole.collective == TRIB_ALLREDUCE ? 0 : plan->root_host;
    if (plan->whole.collective == TRIB_BROADCAST) { /* of the root's host: its buffer, or what came in from it */
        operation->send = !is_root_host(plan) ? NULL : plan->whole.root == place->rank ? sent(plan, at) : got(plan, at);
        operation->recv = is_root_host(plan) ? NULL : got(plan, at);
        return;
    }
    bool gets = plan->whole.collective == TRIB_ALLREDUCE || is_root_host(plan);
    bool is_direct = !is_average(plan) && (plan->whole.collective == TRIB_ALLREDUCE || plan->whole.root == place->rank);
    operation->send = place->count == 1 ? sent(plan, at) : slot;
    operation->recv = !gets ? NULL : is_direct ? got(plan, at) : (void *)slot;
}

void trib_level0_divide(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot)
{
    const struct trib_operation *whole = &plan->whole;
    const struct trib_level0_place *place = plan->place;
    const struct trib_conversion average = {.wire = whole->type, .tensor = whole->type, .divisor = place->ranks};
    const struct trib_value_kernels *kernels = trib_value_kernels();
    if (!trib_operation_reduces(whole) || !is_average(plan)) {
        return;
    }
    if (whole->collective == TRIB_REDUCE_SCATTER) {
        bool is_alone = place->count == 1;
        unsigned char *sum = is_alone ? slot : slot + plan->before * trib_type_size(whole->type);
        trib_tensor_decode(kernels, &average, is_alone ? whole->recv : sum, sum, plan->elements);
    } else if (whole->collective == TRIB_ALLREDUCE || whole->root == place->rank) {
        trib_tensor_decode(kernels, &average, got(plan, k * plan->chunk), slot, count_of(plan, k));
    } else if (is_root_host(plan)) {
        trib_tensor_decode(kernels, &average, slot, slot, count_of(plan, k));
    }
}

/* Whoever ends the operation knows that its network part is over. */
static bool end_with_barrier(const struct trib_level0_plan *plan, uint64_t k, struct trib_operation *operation)
{
    *operation = begin(plan, TRIB_BARRIER, 0);
    return k + 1 == plan->parts;
}

static bool out_of_gather(const struct trib_level0_plan *plan, uint32_t i, struct trib_operation *operation)
{
    uint64_t behind = plan->before + plan->elements;
    if (plan->total == plan->elements) { /* nothing has come from elsewhere */
        *operation = begin(plan, TRIB_BARRIER, 0);
        return i == 0;
    }
    bool is_front = i == 0 && plan->before > 0;
    uint64_t count = is_front ? plan->before : plan->total - behind;
    void *at = got(plan, is_front ? 0 : behind);
    *operation = begin(plan, TRIB_BROADCAST, count);
    operation->send = trib_level0_leads(plan->place) ? at : NULL;
    operation->recv = trib_level0_leads(plan->place) ? NULL : at;
    return count > 0 && (i == 0 || (i == 1 && plan->before > 0));
}

bool trib_level0_out(const struct trib_level0_plan *plan, uint64_t k, uint32_t i, unsigned char *slot,
                     struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    const struct trib_operation *whole = &plan->whole;
    bool leads = trib_level0_leads(place);
    if (place->count == 1 || place->hosts == 1) {
        return false;
    }
    if (whole->collective == TRIB_ALLGATHER) {
        return out_of_gather(plan, i, operation);
    }
    if (i > 0) {
        return false;
    }
    if (whole->collective == TRIB_REDUCE_SCATTER) {
        *operation = begin(plan, TRIB_BROADCAST, plan->elements);
        operation->send = leads ? slot + plan->before * trib_type_size(whole->type) : NULL;
        operation->recv = leads ? NULL : slot;
        return true;
    }
    bool of_sum = whole->collective == TRIB_REDUCE && is_root_host(plan) && whole->root != place->first;
    bool of_result =
        whole->collective == TRIB_ALLREDUCE || (whole->collective == TRIB_BROADCAST && !is_root_host(plan));
    if (!of_sum && !of_result) {
        return end_with_barrier(plan, k, operation);
    }
    bool is_kept = of_result || whole->root == place->rank; /* else it is of use to the root alone */
    *operation = begin(plan, TRIB_BROADCAST, count_of(plan, k));
    operation->send = !leads ? NULL : of_sum ? (const void *)slot : got(plan, k * plan->chunk);
    operation->recv = leads ? NULL : is_kept ? got(plan, k * plan->chunk) : (void *)slot;
    return true;
}

void trib_level0_take(const struct trib_level0_plan *plan, const unsigned char *slot)
{
    size_t size = trib_type_size(plan->whole.type);
    if (plan->whole.collective == TRIB_REDUCE_SCATTER && plan->place->count > 1 && plan->place->hosts > 1 &&
        plan->own > 0) {
        uint64_t at = plan->own_at + (trib_level0_leads(plan->place) ? plan->before : 0);
        memcpy(plan->whole.recv, slot + at * size, plan->own * size);
    }
}
