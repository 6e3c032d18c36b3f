/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h: the memory that the ranks of a host share, and the state of one rank. For the files of src/host alone.
 * Read next: host.h for the rules, engine.c for their use. */
#ifndef TRIB_HOST_SEGMENT_H
#define TRIB_HOST_SEGMENT_H

#include <stdalign.h>
#include <stdatomic.h>

#include "core/operation.h"
#include "host/host.h"

#define TRIB_HOST_MAGIC UINT64_C(0x30486275706972)
#define TRIB_HOST_OFFERED_MOST 64U /* allocations of a rank that other ranks map at a time */
#define TRIB_HOST_VERSION 6U
/* Largest tensor that every rank adds up for itself, bytes. */
#define TRIB_HOST_SMALL 16384U
/* Bytes of a chunk, a power of two: two chunks of each rank, and the results, should stay in the caches. */
#define TRIB_HOST_CHUNK_MOST (512U << 10)
#define TRIB_HOST_CHUNK_LEAST (64U << 10)
#define TRIB_HOST_STAGING (4U << 20) /* intended bytes of all staging areas together */
/* Chunks by which the root of a large broadcast may be ahead of the others, in areas of all ranks. */
#define TRIB_HOST_AHEAD 8U
/* Bytes of a piece of a tensor that is added up at a time: a piece and all its partial sums stay in the first cache. */
#define TRIB_HOST_PIECE 4096U

/* Operation of a rank, written before the rank counts its first step. Shares that differ are behind the seats. */
struct trib_host_show {
    uint32_t number;  /* modulo 2^32 */
    uint32_t part_of; /* upper half of trib_operation's part_of */
    uint64_t count;
    uint32_t root;
    uint8_t collective, type, reduction, is_uneven;
};

/* Place of a rank's tensor in a large operation: memory of trib_shared_alloc, or the staging area. */
struct trib_host_offer {
    uint64_t allocation; /* 0: staged */
    uint64_t offset;
};

/* Note to another rank's inbox: the descriptor of an allocation comes with it. Without a descriptor, bytes 0: the
 * allocation was freed. */
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

/* Seat of a rank. Only that rank writes it, except `asleep`. A step's count and operation lie in one cache line. */
struct trib_host_seat {
    alignas(64) _Atomic uint32_t staged;
    struct trib_host_show show[2]; /* by the parity of the operation */
    alignas(64) _Atomic uint32_t summed;
    struct trib_host_offer offer[2];     /* by the parity of the operation */
    _Atomic uint64_t told;               /* trib_host_tell */
    alignas(64) _Atomic uint32_t asleep; /* 1 + the awaited rank; 0: awake. The waking rank clears it */
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
    uint64_t bytes;                        /* of the segment */
    uint64_t run;                          /* random, drawn by rank 0: differs in every run of the job */
    alignas(64) _Atomic uint32_t sleepers; /* at least the number of sleeping seats */
    alignas(64) _Atomic uint32_t record;   /* enum trib_host_record_state */
    uint32_t record_rank;
    int32_t record_status;
    char record_text[TRIB_ERROR_TEXT_MAX];
    alignas(64) struct trib_host_seat seats[];
};

/* Next part of the operation's present step. */
enum trib_host_part { TRIB_HOST_PART_OUT = 0, TRIB_HOST_PART_IN, TRIB_HOST_PART_SUM };

struct trib_host {
    struct trib_host_segment *segment;
    const struct trib_value_kernels *kernels;
    unsigned char *rows;           /* partial sums, private */
    const unsigned char **sources; /* start of each rank's part of the sum */
    const unsigned char **tensors; /* each rank's tensor, if mapped here; else NULL */
    struct trib_host_mapping *mappings;
    uint64_t *offered; /* own allocations announced to all others */
    uint32_t offered_count;
    uint64_t frees_seen; /* count of frees in the process at the last check of `offered` */
    uint32_t rank, ranks;
    uint32_t chunk; /* bytes */
    /* The operation. */
    bool is_active;
    struct trib_operation operation;
    uint64_t number;
    uint64_t total;                   /* elements of the tensor, or of all shares together */
    uint32_t element;                 /* bytes */
    uint32_t chunk_count, line_count; /* elements of a chunk, and of a cache line */
    uint32_t slice_count;             /* elements of a share in one step, for collectives with shares */
    bool is_small;
    uint32_t base; /* first step of the operation */
    uint64_t steps;
    uint64_t at; /* k of host.h, from 0 */
    enum trib_host_part part;
    /* The wait: for all ranks from `cursor` on, or for `cursor` alone. */
    uint32_t cursor;
    uint32_t target;
    bool for_summed, for_one;
    uint32_t other; /* rank with a different operation or with memory that cannot be mapped */
    struct trib_shares other_shares;
    bool is_shared; /* other ranks read the own tensor in place */
    /* Sleeping. */
    int inbox;           /* -1: closed, since no other rank is left */
    int *lines;          /* -1: own, or hung up */
    uint32_t lines_left; /* open lines */
};

/* ---- shares: in an operation without shares every rank has the whole tensor ---- */

/* Elements of the rank's share; the whole tensor's without shares. */
static inline uint64_t trib_host_share_count(const struct trib_host *host, uint32_t rank)
{
    if (!trib_operation_has_shares(&host->operation)) {
        return host->total;
    }
    return host->operation.shares != NULL ? host->operation.shares->count[rank] : host->operation.count;
}

/* First element of the rank's share in the whole tensor. */
static inline uint64_t trib_host_share_first(const struct trib_host *host, uint32_t rank)
{
    if (!trib_operation_has_shares(&host->operation)) {
        return 0;
    }
    return host->operation.shares != NULL ? host->operation.shares->offset[rank] : rank * host->operation.count;
}

/* Bytes of a rank's send buffer that other ranks read. */
static inline uint64_t trib_host_sent_bytes(const struct trib_host *host, uint32_t rank)
{
    const struct trib_operation *operation = &host->operation;
    if (operation->collective == TRIB_BROADCAST && operation->root != rank) {
        return 0;
    }
    bool gathers = operation->collective == TRIB_ALLGATHER;
    return (gathers ? trib_host_share_count(host, rank) : host->total) * host->element;
}

/* True if the rank receives the result of an allreduce or reduce. */
static inline bool trib_host_wants(const struct trib_host *host, uint32_t rank)
{
    return trib_operation_wants(&host->operation, host->operation.root, rank);
}

/* ---- segment.c ---- */

/* Bytes of a segment for `ranks` ranks. */
size_t trib_host_segment_bytes(uint32_t ranks);
/* Makes a memory file of so many bytes. It is sealed before any other rank sees it, so no rank that maps the file can
 * meet a shorter one. Returns a descriptor of the caller's, or -1 with the cause in errno. */
int trib_host_memory_file(size_t bytes);
/* Makes the memory file of a segment. Returns a descriptor of the caller's, or -1 with the cause in error. */
int trib_host_segment_make(uint32_t ranks, char *error);
/* Maps the memory file; fd stays the caller's. Returns ERR_SYSTEM, ERR_VERSION. */
TRIB_MUST_USE enum trib_status trib_host_segment_map(struct trib_host *host, int fd, char *error);
void trib_host_segment_unmap(struct trib_host *host);

/* Areas of a rank: its shares of an operation, its areas of a step, and the result area of a step. */
uint64_t *trib_host_counts(const struct trib_host *host, uint32_t rank, uint64_t number);
unsigned char *trib_host_small(const struct trib_host *host, uint32_t rank, uint32_t step);
unsigned char *trib_host_staging(const struct trib_host *host, uint32_t rank, uint32_t step);
unsigned char *trib_host_result(const struct trib_host *host, uint32_t step);

/* ---- sum.c ---- */

/* Bytes of struct trib_host.rows. */
size_t trib_host_rows_bytes(uint32_t ranks);
/* A sum: elements [from, to) of host->sources. Sources and result count from the same element 0. */
struct trib_host_sum {
    unsigned char *result;
    bool is_private; /* result is the caller's buffer, written with final values only */
    bool is_past;    /* result is not read again soon */
    /* rank added last, to the rounded sum of all others; TRIB_HOST_NOBODY: each rank at its place in the tree */
    uint32_t last;
    size_t from, to;
};

/* False: a record was found before a private result was complete. */
bool trib_host_add_up(const struct trib_host *host, const struct trib_host_sum *sum);

/* ---- copy.c ---- */

/* True if the result is large enough to be written past the caches. */
bool trib_host_writes_past(const struct trib_host *host);
/* Copies past the caches or through them, by the operation's size. */
void trib_host_copy_out(const struct trib_host *host, void *dst, const void *src, size_t bytes);
/* Copies from memory that its owner may change after a failure. False: a record was found before the copy was
 * complete. */
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

/* True if the awaited count is reached, or if the wait has ended in another way. */
bool trib_host_is_due(const struct trib_host *host);
bool trib_host_has_closed(const struct trib_host *host, uint32_t rank);
/* True if the awaited rank has closed without reaching the count. */
bool trib_host_has_left(const struct trib_host *host);
/* True if a rank has begun to record its failure. */
bool trib_host_has_record(const struct trib_host *host);
/* Verdict when there is a record: FAILED if it is complete, else WAITS. */
enum trib_host_verdict trib_host_wait_for_record(const struct trib_host *host);
/* True if all ranks, or one, have reached the count. If not, the operation waits for that count. */
bool trib_host_all_have(struct trib_host *host, bool summed, uint32_t target);
bool trib_host_one_has(struct trib_host *host, uint32_t rank, bool summed, uint32_t target);

/* ---- operation.c ---- */

/* Shows the operation in the own seat. */
void trib_host_show_operation(const struct trib_host *host);
/* To be called when all ranks have staged the first step, and so shown their operation. True: all operations are
 * equal. */
bool trib_host_all_agree(struct trib_host *host);
enum trib_host_verdict trib_host_finish(struct trib_host *host);

/* ---- small.c ---- */

bool trib_host_is_small(const struct trib_host *host);
enum trib_host_verdict trib_host_advance_small(struct trib_host *host);

/* ---- large.c ---- */

/* Number of steps of the operation. Sets the size of slices. */
uint64_t trib_host_plan_large(struct trib_host *host);
enum trib_host_verdict trib_host_advance_large(struct trib_host *host);

/* ---- shared.c ---- */

/* Shows the place of the tensor in the own seat. True: other ranks read the tensor in place. */
bool trib_host_offer_tensor(struct trib_host *host);
/* Finds the tensors of all other ranks. False: the tensor of *rank cannot be mapped. */
bool trib_host_find_tensors(struct trib_host *host, uint32_t *rank);
/* Reads all notes of other ranks, and all bells. */
void trib_host_empty_inbox(struct trib_host *host);
void trib_host_forget_mappings(struct trib_host *host);

/* ---- bells.c ---- */

/* Publishes a count of this rank and wakes the ranks that wait for it. */
void trib_host_publish(struct trib_host *host, bool summed, uint32_t count);
void trib_host_wake_waiting(struct trib_host *host);

#endif
