/* SPDX-License-Identifier: Apache-2.0 */
/* perf_quorum.c: the numbers of `tributary perf` if sums may lack ranks (core/quorum.h): they name the ranks of a sum.
 *
 * Elements at even places are fields of bits, in turn as many as name all ranks: a rank adds its bit. A sum of them is
 * exact, and so is the list that it stands for; an average is tried with every count of ranks that may be. Elements at
 * odd places are those of perf_values.c: their sum over these ranks is known. All of a fragment must say the
 * same; perf_measure.c compares the counts with those of the results' lists. */
#include <math.h>
#include <string.h>

#include "cli/perf.h"
#include "core/lane.h"
#include "core/operation.h"
#include "core/quorum.h"
#include "schemes/schemes.h"

/* The ranks of a fragment. */
struct set {
    uint8_t list[TRIB_QUORUM_LIST];
    uint32_t count;
    bool is_whole; /* all ranks' bits were there to be seen */
};

/* Ranks of a field: two bits less than are exact, so that averages of different sums differ. */
static uint32_t bits_of(const struct perf_options *options)
{
    enum trib_type wire = perf_wire(options);

    return wire == TRIB_BFLOAT16 ? 6 : wire == TRIB_FLOAT16 ? 9 : 22;
}

static uint32_t fields_of(const struct perf_options *options)
{
    return (options->comm.ranks + bits_of(options) - 1) / bits_of(options);
}

bool perf_may_lack(const struct perf_options *options)
{
    struct trib_session_config session = {.ranks = options->comm.ranks};
    struct trib_operation operation = {
        .collective = options->collective, .type = options->type, .reduction = options->reduction, .count = 1};

    trib_scheme_settle(options->comm.scheme, &session);
    return options->comm.switch_address[0] != '\0' && trib_operation_may_lack(&session, &operation);
}

static double number_of(const struct perf_options *options, uint64_t i, uint32_t rank, uint32_t round)
{
    uint32_t bits = bits_of(options);

    if (i % 2 != 0) {
        return perf_value(options, i, rank, round);
    }
    return i / 2 % fields_of(options) == rank / bits ? (double)(1U << rank % bits) : 0;
}

void perf_quorum_fill(const struct perf_options *options, void *tensor, uint64_t count, uint32_t rank, uint32_t round)
{
    size_t size = trib_type_size(options->type);
    uint64_t period = (uint64_t)PERF_PERIOD * fields_of(options);

    for (uint64_t i = 0; i < count && i < period; i++) {
        perf_store(options->type, (uint8_t *)tensor + i * size, number_of(options, i, rank, round));
    }
    for (uint64_t i = period; i < count; i += period) {
        uint64_t here = count - i < period ? count - i : period;
        memcpy((uint8_t *)tensor + i * size, tensor, here * size);
    }
}

static double load(enum trib_type type, const uint8_t *element)
{
    const struct trib_value_kernels *scalar = trib_value_kernels_named("scalar");
    double v = 0;
    float f = 0;

    if (type == TRIB_FLOAT64) {
        memcpy(&v, element, sizeof v);
        return v;
    }
    if (type == TRIB_FLOAT16) {
        scalar->widen_f16(&f, (const uint16_t *)(const void *)element, 1);
    } else if (type == TRIB_BFLOAT16) {
        scalar->widen_bf16(&f, (const uint16_t *)(const void *)element, 1);
    } else {
        memcpy(&f, element, sizeof f);
    }
    return (double)f;
}

/* Is the element this sum, divided? */
static bool is_sum(const struct perf_options *options, const uint8_t *element, double sum, uint32_t divisor)
{
    uint8_t expected[8];

    perf_store(options->type, expected, sum / divisor);
    return memcmp(element, expected, trib_type_size(options->type)) == 0;
}

/* The fields of a fragment, which begins with element `first`; false: they are no sums of bits, or do not agree. */
static bool read_set(const struct perf_options *options, const uint8_t *at, struct perf_span span, uint32_t divisor,
                     struct set *set)
{
    size_t size = trib_type_size(options->type);
    uint32_t fields = fields_of(options);
    uint32_t bits = bits_of(options);
    int64_t seen[TRIB_RANKS_MAX];
    uint32_t known = 0;

    if (fields == 0) {
        return false; /* of no ranks */
    }
    for (uint32_t field = 0; field < fields; field++) {
        seen[field] = -1;
    }
    for (uint64_t i = span.first + span.first % 2; i < span.first + span.count; i += 2) {
        const uint8_t *element = at + (i - span.first) * size;
        double sum = nearbyint(load(options->type, element) * divisor);
        int64_t *field = &seen[i / 2 % fields];
        if (!(sum >= 0 && sum < (double)(1U << bits)) || !is_sum(options, element, sum, divisor) ||
            (*field >= 0 && *field != (int64_t)sum)) {
            return false;
        }
        known += *field < 0;
        *field = (int64_t)sum;
    }
    *set = (struct set){.is_whole = known == fields};
    for (uint32_t rank = 0; rank < TRIB_QUORUM_RANKS_MAX && rank / bits < fields; rank++) {
        if (seen[rank / bits] > 0 && (seen[rank / bits] >> rank % bits & 1) != 0) {
            trib_quorum_add(set->list, rank);
        }
    }
    set->count = trib_quorum_count(set->list);
    return trib_quorum_lists(set->list, set->count, options->comm.ranks);
}

/* Finds the ranks of the fragment; *divisor: of an average by how many. False: nobody can tell, or too few. */
static bool find_set(const struct perf_options *options, const uint8_t *at, struct perf_span span, uint32_t least,
                     uint32_t *divisor, struct set *set)
{
    bool is_average = options->reduction == TRIB_AVERAGE;

    for (uint32_t count = options->comm.ranks; count >= least; count--) {
        *divisor = is_average ? count : 1;
        if (read_set(options, at, span, *divisor, set) &&
            (set->is_whole ? set->count >= least && (!is_average || set->count == count) : set->count <= count)) {
            return true;
        }
        if (!is_average) {
            break;
        }
    }
    return false;
}

/* Elements at odd places that are not the sum over the set. */
static int64_t wrong_values(const struct perf_options *options, const uint8_t *at, struct perf_span span,
                            const struct set *set, uint32_t divisor, uint32_t round)
{
    size_t size = trib_type_size(options->type);
    uint8_t expected[PERF_PERIOD][8] = {{0}};
    int64_t wrong = 0;

    for (uint32_t i = 1; i < PERF_PERIOD; i += 2) {
        double sum = 0;
        for (uint32_t rank = 0; rank < options->comm.ranks; rank++) {
            sum += trib_quorum_has(set->list, rank) ? perf_value(options, i, rank, round) : 0;
        }
        perf_store(options->type, expected[i], sum / divisor);
    }
    for (uint64_t i = span.first + 1 - span.first % 2; i < span.first + span.count; i += 2) {
        wrong += memcmp(at + (i - span.first) * size, expected[i % PERF_PERIOD], size) != 0;
    }
    return wrong;
}

static void add_set(const struct perf_options *options, struct perf_sets *sets, const struct set *set)
{
    sets->unknown += !set->is_whole;
    sets->lacking += set->is_whole && set->count < options->comm.ranks;
    sets->late += set->is_whole && !trib_quorum_has(set->list, options->comm.rank);
    for (uint32_t i = 0; i < TRIB_QUORUM_LIST; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, set->list + i, sizeof word);
        sets->hash = trib_mix64(sets->hash ^ word);
    }
}

int64_t perf_quorum_wrong(const struct perf_options *options, const void *tensor, uint64_t count, uint32_t round,
                          struct perf_sets *sets)
{
    size_t size = trib_type_size(options->type);
    struct trib_session_config session = {0};
    int64_t wrong = 0;

    trib_scheme_settle(options->comm.scheme, &session);
    uint32_t least = options->comm.ranks - trib_quorum_spare(&session, options->comm.ranks);
    for (uint64_t first = 0; first < count; first += sets->fragment) {
        struct perf_span span = {first, count - first < sets->fragment ? count - first : sets->fragment};
        const uint8_t *at = (const uint8_t *)tensor + first * size;
        struct set set;
        uint32_t divisor;
        if (!find_set(options, at, span, least, &divisor, &set)) {
            wrong += (int64_t)span.count;
            continue;
        }
        wrong += set.is_whole ? wrong_values(options, at, span, &set, divisor, round) : 0;
        add_set(options, sets, &set);
    }
    return wrong;
}
