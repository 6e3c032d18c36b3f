/* SPDX-License-Identifier: Apache-2.0 */
/* level0_plan.c: see level0_plan.h. */
#include "comm/level0_plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
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
    TRIB_ASSERT(rank < ranks && place->host < hosts); /* leaders are as many as hosts, and rank 0 is one */
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

/* How much of [at, at + count) lies in [from, from + most), both counted in one host's share; *into: where that begins
 * in the first. */
static uint64_t overlap(uint64_t at, uint64_t count, uint64_t from, uint64_t most, uint64_t *into)
{
    uint64_t low = at > from ? at : from;
    uint64_t high = at + count < from + most ? at + count : from + most;
    *into = low < high ? low - at : 0;
    return low < high ? high - low : 0;
}

/* Elements of a host's share in part k. They begin at k chunks in the share. */
static uint64_t slice_of(const struct trib_level0_plan *plan, uint64_t k, uint32_t host)
{
    uint64_t count = plan->host_at[host + 1] - plan->host_at[host];
    uint64_t first = k * plan->chunk;
    uint64_t left = first < count ? count - first : 0;
    return left < plan->chunk ? left : plan->chunk;
}

/* Where shares lie in a slot: tables of the hosts' and of the own host's ranks', then elements. */
static size_t table_bytes(uint32_t members)
{
    return (trib_shares_size(members) + 63) & ~(size_t)63;
}

static unsigned char *elements_of(const struct trib_level0_plan *plan, unsigned char *slot, uint64_t at)
{
    size_t tables = table_bytes(plan->place->hosts) + table_bytes(plan->place->count);
    return slot + tables + at * trib_type_size(plan->whole.type);
}

/* plan->counts has the shares of the members. */
static struct trib_shares *make_shares(const struct trib_level0_plan *plan, unsigned char *memory, uint32_t members)
{
    struct trib_session_config session = plan->session;
    session.ranks = members;
    return trib_shares_init(memory, &session, &plan->whole, plan->counts);
}

/* The hosts' shares in part k: in a tensor at their places, in a leader's slot side by side. */
static struct trib_shares *shares_of_hosts(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                                           bool is_packed)
{
    uint32_t hosts = plan->place->hosts;
    for (uint32_t host = 0; host < hosts; host++) {
        plan->counts[host] = slice_of(plan, k, host);
    }
    struct trib_shares *shares = make_shares(plan, slot, hosts);
    for (uint32_t host = 0; host < hosts; host++) {
        shares->offset[host] = is_packed ? host * plan->chunk : plan->host_at[host] + k * plan->chunk;
    }
    return shares;
}

/* The share of each rank of this host in part k. */
static struct trib_shares *shares_of_ranks(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot)
{
    const struct trib_level0_place *place = plan->place;
    uint64_t at = 0;
    for (uint32_t i = 0; i < place->count; i++) {
        uint64_t share = share_of(&plan->whole, place->first + i);
        uint64_t into;
        plan->counts[i] = overlap(at, share, k * plan->chunk, plan->chunk, &into);
        at += share;
    }
    return make_shares(plan, slot + table_bytes(place->hosts), place->count);
}

static bool find_shares(struct trib_level0_plan *plan)
{
    const struct trib_level0_place *place = plan->place;
    uint32_t members = place->hosts > place->count ? place->hosts : place->count;
    uint64_t *counts = calloc((size_t)members + place->hosts + 1, sizeof *counts);
    uint32_t host = 0;
    if (counts == NULL) {
        return false;
    }
    plan->counts = counts;
    plan->host_at = counts + members;
    for (uint32_t rank = 0; rank < place->ranks; rank++) {
        uint64_t share = share_of(&plan->whole, rank);
        host += rank > 0 && trib_rank_set_has(&place->leaders, rank);
        plan->host_at[host + 1] += share;
        plan->own_at += host == place->host && rank < place->rank ? share : 0;
    }
    TRIB_ASSERT(host + 1 == place->hosts);
    for (host = 0; host < place->hosts; host++) {
        uint64_t share = plan->host_at[host + 1];
        plan->longest = share > plan->longest ? share : plan->longest;
        plan->host_at[host + 1] += plan->host_at[host];
    }
    plan->own = share_of(&plan->whole, place->rank);
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
    if (whole->part_of != 0) {
        digest = trib_mix64(digest ^ whole->part_of);
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
    case TRIB_REDUCE_SCATTER: {
        uint64_t slices = !is_alone ? (leads ? place->hosts : 1) : is_average(plan);
        return table_bytes(place->hosts) + table_bytes(place->count) + slices * plan->chunk * size;
    }
    case TRIB_ALLGATHER:
        return table_bytes(place->hosts) + table_bytes(place->count);
    case TRIB_BROADCAST:
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

/* Whole packets but for the last of a tensor, or share: so the network cuts it as if it were not in parts. */
static void cut(struct trib_level0_plan *plan)
{
    struct trib_layout layout;
    bool has_shares = trib_operation_has_shares(&plan->whole);
    uint64_t count = has_shares ? plan->longest : plan->whole.count;
    uint32_t share = TRIB_LEVEL0_PART / plan->place->hosts;
    share = share < TRIB_LEVEL0_SHARE_LEAST ? TRIB_LEVEL0_SHARE_LEAST : share;
    trib_layout_init(&layout, &plan->session, &plan->whole, 0);
    uint64_t most = (has_shares ? share : TRIB_LEVEL0_PART) / trib_type_size(plan->whole.type);
    most -= layout.block_elements != 0 ? most % layout.block_elements : 0;
    TRIB_ASSERT(most > 0);
    plan->chunk = count < most ? count : most;
    plan->parts = count > most ? (count - 1) / most + 1 : 1;
}

bool trib_level0_plan_init(struct trib_level0_plan *plan, const struct trib_level0_place *place,
                           const struct trib_session_config *session, const struct trib_operation *whole,
                           const uint64_t number_and_batch[2])
{
    *plan = (struct trib_level0_plan){
        .place = place, .session = *session, .whole = *whole, .parts = 1, .chunk = whole->count};
    plan->part_of = digest_of(whole, number_and_batch);
    if (place->hosts == 1) {
        return true;
    }
    plan->root_host = host_of(place, whole->root);
    if (trib_operation_has_shares(whole) && !find_shares(plan)) {
        return false;
    }
    if (whole->collective != TRIB_BARRIER) {
        cut(plan);
    }
    plan->slot_bytes = slot_bytes(plan);
    return true;
}

void trib_level0_plan_deinit(struct trib_level0_plan *plan)
{
    free(plan->counts);
    plan->counts = NULL;
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
    struct trib_operation operation = {
        .part_of = plan->part_of, .collective = collective, .priority = plan->whole.priority};
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

/* Each host's slice of the tensor. Without any element: one step all the same, so that operations are compared. */
static bool scatter_in(const struct trib_level0_plan *plan, uint64_t k, uint32_t *i, unsigned char *slot,
                       struct trib_operation *operation)
{
    uint32_t hosts = plan->place->hosts;
    while (*i < hosts && slice_of(plan, k, *i) == 0 && plan->longest > 0) {
        ++*i;
    }
    if (*i >= (plan->longest > 0 ? hosts : 1)) {
        return false;
    }
    *operation = reduce_in(plan, plan->host_at[*i] + k * plan->chunk, slice_of(plan, k, *i),
                           elements_of(plan, slot, *i * plan->chunk));
    return true;
}

/* The own host's slice, to where it belongs. */
static bool gather_in(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                      struct trib_operation *operation)
{
    uint64_t into;
    (void)overlap(plan->own_at, plan->own, k * plan->chunk, plan->chunk, &into);
    *operation = begin(plan, TRIB_ALLGATHER, slice_of(plan, k, plan->place->host));
    operation->shares = shares_of_ranks(plan, k, slot);
    operation->send = sent(plan, into);
    operation->recv = got(plan, plan->host_at[plan->place->host] + k * plan->chunk);
    return k == 0 || operation->count > 0;
}

bool trib_level0_in(const struct trib_level0_plan *plan, uint64_t k, uint32_t *i, unsigned char *slot,
                    struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    const struct trib_operation *whole = &plan->whole;
    bool is_scatter = whole->collective == TRIB_REDUCE_SCATTER && place->hosts > 1;
    if ((place->count == 1 && place->hosts > 1) || (*i > 0 && !is_scatter)) {
        return false;
    }
    if (place->hosts == 1) {
        *operation = *whole;
        return true;
    }
    switch (whole->collective) {
    case TRIB_ALLREDUCE:
    case TRIB_REDUCE:
        *operation = reduce_in(plan, k * plan->chunk, count_of(plan, k), slot);
        return true;
    case TRIB_REDUCE_SCATTER:
        return scatter_in(plan, k, i, slot, operation);
    case TRIB_BROADCAST:
        if (!is_root_host(plan)) { /* no data goes in, but the leader speaks for all ranks of its host */
            *operation = begin(plan, TRIB_BARRIER, 0);
            return k == 0;
        }
        *operation = begin(plan, TRIB_BROADCAST, count_of(plan, k));
        operation->root = whole->root - place->first;
        operation->send = sent(plan, k * plan->chunk);
        operation->recv = got(plan, k * plan->chunk);
        return true;
    case TRIB_ALLGATHER:
        return gather_in(plan, k, slot, operation);
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    *operation = begin(plan, TRIB_BARRIER, 0);
    return true;
}

/* Slices of the hosts' shares. */
static struct trib_operation net_of_shares(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot)
{
    const struct trib_level0_place *place = plan->place;
    bool is_alone = place->count == 1;
    bool gathers = plan->whole.collective == TRIB_ALLGATHER;
    struct trib_operation operation = begin(plan, plan->whole.collective, 0);
    operation.shares = shares_of_hosts(plan, k, slot, !gathers && !is_alone);
    operation.count = operation.shares->total;
    if (gathers) {
        uint64_t at = k * plan->chunk;
        operation.send = is_alone ? sent(plan, at) : got(plan, plan->host_at[place->host] + at);
        operation.recv = plan->whole.recv;
    } else {
        operation.send = is_alone ? plan->whole.send : elements_of(plan, slot, 0);
        operation.recv = !is_alone          ? elements_of(plan, slot, place->host * plan->chunk)
                         : is_average(plan) ? elements_of(plan, slot, 0)
                                            : got(plan, k * plan->chunk);
    }
    return operation;
}

void trib_level0_net(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                     struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    uint64_t at = k * plan->chunk;
    TRIB_ASSERT(trib_level0_leads(place) && place->hosts > 1 && k < plan->parts);
    if (trib_operation_has_shares(&plan->whole)) {
        *operation = net_of_shares(plan, k, slot);
        return;
    }
    *operation = begin(plan, plan->whole.collective, count_of(plan, k));
    if (plan->whole.collective == TRIB_BARRIER) {
        return;
    }
    operation->root = plan->whole.collective == TRIB_ALLREDUCE ? 0 : plan->root_host;
    if (plan->whole.collective ==
        TRIB_BROADCAST) { /* on the root's host: the root's buffer, or the data that came in from it */
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
        unsigned char *sum = elements_of(plan, slot, is_alone ? 0 : place->host * plan->chunk);
        trib_tensor_decode(kernels, &average, is_alone ? got(plan, k * plan->chunk) : sum, sum,
                           slice_of(plan, k, place->host));
    } else if (whole->collective == TRIB_ALLREDUCE || whole->root == place->rank) {
        trib_tensor_decode(kernels, &average, got(plan, k * plan->chunk), slot, count_of(plan, k));
    } else if (is_root_host(plan)) {
        trib_tensor_decode(kernels, &average, slot, slot, count_of(plan, k));
    }
}

/* A rank that has ended the operation knows that its network part is over. */
static bool end_with_barrier(const struct trib_level0_plan *plan, uint64_t k, struct trib_operation *operation)
{
    *operation = begin(plan, TRIB_BARRIER, 0);
    return k + 1 == plan->parts;
}

/* Slices that came from each of the other hosts. */
static bool out_of_gather(const struct trib_level0_plan *plan, uint64_t k, uint32_t *i,
                          struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    bool is_first = *i == 0;
    while (*i < place->hosts && (*i == place->host || slice_of(plan, k, *i) == 0)) {
        ++*i;
    }
    if (*i >= place->hosts) {
        return is_first && end_with_barrier(plan, k, operation);
    }
    void *at = got(plan, plan->host_at[*i] + k * plan->chunk);
    *operation = begin(plan, TRIB_BROADCAST, slice_of(plan, k, *i));
    operation->send = trib_level0_leads(place) ? at : NULL;
    operation->recv = trib_level0_leads(place) ? NULL : at;
    return true;
}

static bool out_of_scatter(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                           struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    bool leads = trib_level0_leads(place);
    *operation = begin(plan, TRIB_BROADCAST, slice_of(plan, k, place->host));
    operation->send = leads ? elements_of(plan, slot, place->host * plan->chunk) : NULL;
    operation->recv = leads ? NULL : elements_of(plan, slot, 0);
    return operation->count > 0 || end_with_barrier(plan, k, operation);
}

bool trib_level0_out(const struct trib_level0_plan *plan, uint64_t k, uint32_t *i, unsigned char *slot,
                     struct trib_operation *operation)
{
    const struct trib_level0_place *place = plan->place;
    const struct trib_operation *whole = &plan->whole;
    bool leads = trib_level0_leads(place);
    if (place->count == 1 || place->hosts == 1) {
        return false;
    }
    if (whole->collective == TRIB_ALLGATHER) {
        return out_of_gather(plan, k, i, operation);
    }
    if (*i > 0) {
        return false;
    }
    if (whole->collective == TRIB_REDUCE_SCATTER) {
        return out_of_scatter(plan, k, slot, operation);
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

void trib_level0_take(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot)
{
    const struct trib_level0_place *place = plan->place;
    uint64_t from = k * plan->chunk;
    uint64_t into;
    if (plan->whole.collective != TRIB_REDUCE_SCATTER || place->count == 1 || place->hosts == 1) {
        return;
    }
    uint64_t count = overlap(plan->own_at, plan->own, from, plan->chunk, &into);
    if (count > 0) {
        uint64_t at = plan->own_at + into - from + (trib_level0_leads(place) ? place->host * plan->chunk : 0);
        memcpy(got(plan, into), elements_of(plan, slot, at), count * trib_type_size(plan->whole.type));
    }
}
