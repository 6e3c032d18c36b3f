/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h: the memory that the ranks of a host share, and what one rank knows about it. For the files of src/host
 * alone.
 * Read next: host.h for the rules, engine.c for their use. */
#ifndef TRIB_HOST_SEGMENT_H
#define TRIB_HOST_SEGMENT_H

#include <stdalign.h>
#include <stdatomic.h>

#include "core/operation.h"
#include "host/host.h"

#define TRIB_HOST_MAGIC UINT64_C(0x30486275706972)
#define TRIB_HOST_OFFERED_MOST 64U /* allocations of a rank that others have mapped at a time */
#define TRIB_HOST_VERSION 5U
/* Tensors up to so many bytes are added up by every rank for itself. */
#define TRIB_HOST_SMALL 16384U
/* Bytes of a chunk, a power of two: two of each rank, and the results, are to stay in caches. */
#define TRIB_HOST_CHUNK_MOST (512U << 10)
#define TRIB_HOST_CHUNK_LEAST (64U << 10)
#define TRIB_HOST_STAGING (4U << 20) /* bytes of all staging areas together that are aimed at */
/* Chunks that the root of a large broadcast may be ahead of the others, in areas of all ranks. */
#define TRIB_HOST_AHEAD 8U
/* Elements are added up in pieces of so many bytes of a tensor, which stay in the first cache with all partial sums. */
#define TRIB_HOST_PIECE 4096U

/* What a rank runs: shown before its first step is counted, with the shares behind the seats if they differ. */
struct trib_host_show {
    uint32_t number;  /* modulo 2^32 */
    uint32_t part_of; /* of struct trib_operation, its upper half */
    uint64_t count;
    uint32_t root;
    uint8_t collective, type, reduction, is_uneven;
};

/* Where the tensor lies that it contributes to a large operation: in memory of trib_shared_alloc, or in the staging
 * area. */
struct trib_host_offer {
    uint64_t allocation; /* 0: staged */
    uint64_t offset;
};

/* A note to another rank's inbox: a descriptor goes with it, or, bytes 0, the memory of that number is gone. */
struct trib_host_note {
    uint64_t allocation;
    uint64_t bytes;
    uint32_t rank;
    uint32_t unused;
};

/* Memory of another rank, mapped here. */
struct trib_host_mapping {
    struct trib_host_mapping *next;
    uint64_t allocation;
    size_t bytes;
    const unsigned char *at;
    uint32_t rank;
};

enum trib_host_presence { TRIB_HOST_ABSENT = 0, TRIB_HOST_PRESENT, TRIB_HOST_CLOSED };

/* Of one rank, which alone writes it, but for `asleep`. Others find a step and what it belongs to in one cache line. */
struct trib_host_seat {
    alignas(64) _Atomic uint32_t staged;
    struct trib_host_show show[2]; /* by the operation's parity */
    alignas(64) _Atomic uint32_t summed;
    struct trib_host_offer offer[2];     /* the same */
    _Atomic uint64_t told;               /* trib_host_tell */
    alignas(64) _Atomic uint32_t asleep; /* 1 + the rank whose count it waits for; 0: awake. Who wakes it clears it */
    _Atomic uint32_t presence;           /* enum trib_host_presence */
};

_Static_assert(sizeof(struct trib_host_seat) == 192, "three cache lines");

enum trib_host_record_state { TRIB_HOST_RECORD_NONE = 0, TRIB_HOST_RECORD_WRITING, TRIB_HOST_RECORD_THERE };

struct trib_host_segment {
    uint64_t magic;
    uint32_t version;
    uint32_t ranks;
    uint32_t chunk;
    uint32_t small;
    uint64_t bytes;                        /* of all */
    uint64_t run;                          /* drawn by rank 0: tells it from every other run of the job */
    alignas(64) _Atomic uint32_t sleepers; /* seats asleep, or more */
    alignas(64) _Atomic uint32_t record;   /* enum trib_host_record_state */
    uint32_t record_rank;
    int32_t record_status;
    char record_text[TRIB_ERROR_TEXT_MAX];
    alignas(64) struct trib_host_seat seats[];
};

/* What an operation at its present step does next. */
enum trib_host_part { TRIB_HOST_PART_OUT = 0, TRIB_HOST_PART_IN, TRIB_HOST_PART_SUM };

struct trib_host {
    struct trib_host_segment *segment;
    const struct trib_value_kernels *kernels;
    unsigned char *rows;           /* partial sums, private */
    const unsigned char **sources; /* where each rank's part of what is added up lies */
    const unsigned char **tensors; /* and its whole tensor, if that is mapped here; else NULL */
    struct trib_host_mapping *mappings;
    uint64_t *offered; /* own allocations that all others have been told of */
    uint32_t offered_count;
    uint64_t frees_seen; /* of the process, when `offered` was last looked through */
    uint32_t rank, ranks;
    uint32_t chunk; /* bytes */
    /* the operation */
    bool is_active;
    struct trib_operation operation;
    uint64_t number;
    uint64_t total;                   /* elements of the tensor, of all shares together */
    uint32_t element;                 /* bytes */
    uint32_t chunk_count, line_count; /* elements of a chunk, and of a cache line */
    uint32_t slice_count;             /* elements of a share that a step is for, where there are shares */
    bool is_small;
    uint32_t base; /* its first step */
    uint64_t steps;
    uint64_t at; /* k of host.h, from 0 */
    enum trib_host_part part;
    /* what it waits for: all ranks from `cursor` on, or only that one */
    uint32_t cursor;
    uint32_t target;
    bool for_summed, for_one;
    uint32_t other; /* whose operation differs, or whose memory cannot be mapped */
    struct trib_shares other_shares;
    bool is_shared; /* the own tensor lies where others can read it */
    /* sleeping */
    int inbox;           /* -1: no other rank is left to write to it */
    int *lines;          /* -1: own, or hung up */
    uint32_t lines_left; /* that are there */
};

/* ---- shares: of an operation without, all ranks have the whole ---- */

static inline uint64_t trib_host_share_count(const struct trib_host *host, uint32_t rank)
{
    if (!trib_operation_has_shares(&host->operation)) {
        return host->total;
    }
    return host->operation.shares != NULL ? host->operation.shares->count[rank] : host->operation.count;
}

static inline uint64_t trib_host_share_first(const struct trib_host *host, uint32_t rank)
{
    if (!trib_operation_has_shares(&host->operation)) {
        return 0;
    }
    return host->operation.shares != NULL ? host->operation.shares->offset[rank] : rank * host->operation.count;
}

/* Bytes of a rank's send buffer that others read. */
static inline uint64_t trib_host_sent_bytes(const struct trib_host *host, uint32_t rank)
{
    const struct trib_operation *operation = &host->operation;
    if (operation->collective == TRIB_BROADCAST && operation->root != rank) {
        return 0;
    }
    bool gathers = operation->collective == TRIB_ALLGATHER;
    return (gathers ? trib_host_share_count(host, rank) : host->total) * host->element;
}

/* Does the rank get the result of an allreduce or reduce? */
static inline bool trib_host_wants(const struct trib_host *host, uint32_t rank)
{
    return trib_operation_wants(&host->operation, host->operation.root, rank);
}

/* ---- segment.c ---- */

/* Bytes of a segment for so many ranks. */
size_t trib_host_segment_bytes(uint32_t ranks);
/* Makes the memory file. Returns a descriptor, or -1 with the cause in error. */
int trib_host_segment_make(uint32_t ranks, char *error);
/* Maps it. Returns ERR_SYSTEM, ERR_VERSION. */
TRIB_MUST_USE enum trib_status trib_host_segment_map(struct trib_host *host, int fd, char *error);
void trib_host_segment_unmap(struct trib_host *host);

/* Areas of rank: the shares that it shows for an operation, and those for a step. */
uint64_t *trib_host_counts(const struct trib_host *host, uint32_t rank, uint64_t number);
unsigned char *trib_host_small(const struct trib_host *host, uint32_t rank, uint32_t step);
unsigned char *trib_host_staging(const struct trib_host *host, uint32_t rank, uint32_t step);
unsigned char *trib_host_result(const struct trib_host *host, uint32_t step);

/* ---- sum.c ---- */

/* Bytes of struct trib_host.rows. */
size_t trib_host_rows_bytes(uint32_t ranks);
/* What is to be added up: elements [from, to) of host->sources, counted from the same element 0, as those of result. */
struct trib_host_sum {
    unsigned char *result;
    bool is_private; /* it is the caller's, and gets final values only */
    bool is_past;    /* and is not read again soon */
    uint32_t
        last; /* a rank whose part is added to the rounded sum of all others; TRIB_HOST_NOBODY: each in its place */
    size_t from, to;
};

/* False: a record was there before a private result was whole. */
bool trib_host_add_up(const struct trib_host *host, const struct trib_host_sum *sum);

/* ---- copy.c ---- */

/* True if the operation is so large that its result is written past the caches. */
bool trib_host_writes_past(const struct trib_host *host);
/* The way that suits the operation's size. */
void trib_host_copy_out(const struct trib_host *host, void *dst, const void *src, size_t bytes);
/* The same from memory of another rank's, which he may change if he fails. False: a record was there before all was
 * copied. */
bool trib_host_copy_foreign(const struct trib_host *host, void *dst, const unsigned char *src, size_t bytes);

/* ---- counts.c ---- */

static inline _Atomic uint32_t *trib_host_count_of(const struct trib_host *host, uint32_t rank, bool summed)
{
    struct trib_host_seat *seat = &host->segment->seats[rank];
    return summed ? &seat->summed : &seat->staged;
}

static inline uint32_t trib_host_record_of(const struct trib_host *host)
{
    return atomic_load_explicit(&host->segment->record, memory_order_acquire);
}

/* True if the awaited count has come, or if something has happened that ends the wait. */
bool trib_host_is_due(const struct trib_host *host);
bool trib_host_has_closed(const struct trib_host *host, uint32_t rank);
/* True if the awaited rank has closed, and its count will never come. */
bool trib_host_has_left(const struct trib_host *host);
/* True if a rank has begun to record its failure. */
bool trib_host_has_record(const struct trib_host *host);
/* The verdict in that case. */
enum trib_host_verdict trib_host_wait_for_record(const struct trib_host *host);
/* True if all ranks, or one, have reached the count. If not, the operation waits for that count. */
bool trib_host_all_have(struct trib_host *host, bool summed, uint32_t target);
bool trib_host_one_has(struct trib_host *host, uint32_t rank, bool summed, uint32_t target);

/* ---- operation.c ---- */

/* Shows the operation in the own seat. */
void trib_host_show_operation(const struct trib_host *host);
/* All ranks have staged the first step, so all show their operation. True: the same. */
bool trib_host_all_agree(struct trib_host *host);
enum trib_host_verdict trib_host_finish(struct trib_host *host);

/* ---- small.c ---- */

bool trib_host_is_small(const struct trib_host *host);
enum trib_host_verdict trib_host_advance_small(struct trib_host *host);

/* ---- large.c ---- */

/* How many steps the operation takes. It sets the size of slices. */
uint64_t trib_host_plan_large(struct trib_host *host);
enum trib_host_verdict trib_host_advance_large(struct trib_host *host);

/* ---- shared.c ---- */

/* Shows in the own seat where the tensor lies. True: others read it there. */
bool trib_host_offer_tensor(struct trib_host *host);
/* Finds out where all others have theirs. False: that of *rank cannot be mapped. */
bool trib_host_find_tensors(struct trib_host *host, uint32_t *rank);
/* Reads all notes of other ranks, and all bells. */
void trib_host_empty_inbox(struct trib_host *host);
void trib_host_forget_mappings(struct trib_host *host);

/* ---- bells.c ---- */

/* Counts the steps of this rank, and wakes the ranks that wait for them. */
void trib_host_publish(struct trib_host *host, bool summed, uint32_t count);
void trib_host_wake_waiting(struct trib_host *host);
void trib_host_wake_all(struct trib_host *host);

#endif
