/* SPDX-License-Identifier: Apache-2.0 */
/* large.c: one of two ranks, for large.sh: tensors of more than 2^32 elements and bytes, in place. Every byte of every
 * result is looked at: no two words of a tensor are alike, so what lands 2^31 or 2^32 bytes from where it belongs is
 * wrong there.
 *
 *   large allreduce|broadcast|allgather|reduce-scatter COUNT0 [COUNT1]
 *
 * The environment says which rank this is (TRIB_*). Elements are int8 in an allreduce, int64 in a reduce-scatter, else
 * bytes. With COUNT1 the shares differ; without, both ranks' shares are COUNT0. Prints "COLLECTIVE BYTES bytes, hash
 * HASH" of what this rank has at the end, and of the first wrong byte where it is. Exit status 0: all was right; 1:
 * something failed; 3: a wrong byte. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tributary/comm.h>

#define RANKS 2
#define EXIT_WRONG 3

struct large {
    struct trib_comm *comm;
    uint32_t rank;
    uint64_t counts[RANKS]; /* elements */
    uint64_t first;         /* bytes of rank 0's share */
    uint64_t whole;         /* bytes of the tensor, all shares together */
    uint8_t *tensor;
};

/* A number for each word and rank; splitmix64's mixing. */
static uint64_t word_of(uint32_t rank, uint64_t index)
{
    uint64_t x = index * 2 + rank + 1;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

/* Eight sums of bytes, none of which carries into the next. */
static uint64_t add_bytes(uint64_t a, uint64_t b)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fU;
    return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

static uint32_t owner_of(const struct large *large, uint64_t at)
{
    return at < large->first ? 0 : 1;
}

/* What the eight bytes at `at`, a multiple of 8, are to be. */
static uint64_t expected(const struct large *large, enum trib_collective collective, uint64_t at)
{
    uint64_t words[RANKS] = {word_of(0, at / 8), word_of(1, at / 8)};
    if (collective == TRIB_ALLREDUCE) {
        return add_bytes(words[0], words[1]);
    }
    if (collective == TRIB_REDUCE_SCATTER) {
        return words[0] + words[1];
    }
    if (collective == TRIB_BROADCAST || owner_of(large, at + 7) == 0) {
        return words[0];
    }
    if (owner_of(large, at) == 1) {
        return words[1];
    }
    uint64_t mask = (UINT64_C(1) << (large->first - at) * 8) - 1; /* the shares meet within the word */
    return (words[0] & mask) | (words[1] & ~mask);
}

/* The bytes from `begin` up to `end` of the tensor that are looked at or filled; callers pass what their rank holds. */
static uint64_t look(const struct large *large, enum trib_collective collective, uint64_t begin, uint64_t end,
                     uint64_t *hash)
{
    uint64_t wrong = 0;
    *hash = 0;
    for (uint64_t at = begin & ~UINT64_C(7); at < end; at += 8) {
        uint64_t want = expected(large, collective, at);
        uint64_t got = want;                /* of bytes that are no part */
        if (at >= begin && end - at >= 8) { /* a copy of a constant size is one instruction */
            memcpy(&got, large->tensor + at, 8);
        } else {
            uint64_t from = at < begin ? begin : at;
            uint64_t to = at + 8 > end ? end : at + 8;
            memcpy((uint8_t *)&got + (from - at), large->tensor + from, to - from);
        }
        if (got != want && wrong++ == 0) {
            printf("wrong near byte %" PRIu64 " of %" PRIu64 ": %016" PRIx64 ", not %016" PRIx64 "\n", at, large->whole,
                   got, want);
        }
        *hash = (*hash ^ got) * 0x9e3779b97f4a7c15U;
        *hash ^= *hash >> 32;
    }
    return wrong;
}

static void fill(const struct large *large)
{
    for (uint64_t at = 0; at < large->whole; at += 8) {
        uint64_t word = word_of(large->rank, at / 8);
        memcpy(large->tensor + at, &word, large->whole - at < 8 ? large->whole - at : 8);
    }
}

static enum trib_type type_of(enum trib_collective collective)
{
    return collective == TRIB_ALLREDUCE ? TRIB_INT8 : collective == TRIB_REDUCE_SCATTER ? TRIB_INT64 : TRIB_BYTES;
}

static enum trib_status run(const struct large *large, enum trib_collective collective)
{
    uint8_t *own = large->tensor + (large->rank == 0 ? 0 : large->first);
    const struct trib_call call = {
        .collective = collective,
        .type = type_of(collective),
        .reduction = TRIB_SUM,
        .send = collective == TRIB_ALLGATHER ? own : large->tensor,
        .recv = collective == TRIB_REDUCE_SCATTER ? own : large->tensor,
        .count = large->counts[0],
        .counts = large->counts,
    };
    return trib_group(large->comm, &call, 1);
}

static enum trib_collective collective_of(const char *name)
{
    static const enum trib_collective all[] = {TRIB_ALLREDUCE, TRIB_BROADCAST, TRIB_ALLGATHER, TRIB_REDUCE_SCATTER};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(trib_collective_name(all[i]), name) == 0) {
            return all[i];
        }
    }
    return TRIB_COLLECTIVE_NONE;
}

static int measure(struct large *large, enum trib_collective collective)
{
    uint64_t hash = 0;
    fill(large);
    if (run(large, collective) != TRIB_OK) {
        printf("rank %u: %s\n", large->rank, trib_comm_error(large->comm));
        return 1;
    }
    bool is_share = collective == TRIB_REDUCE_SCATTER;
    uint64_t begin = is_share && large->rank == 1 ? large->first : 0;
    uint64_t end = is_share && large->rank == 0 ? large->first : large->whole;
    uint64_t wrong = look(large, collective, begin, end, &hash);
    printf("%s %" PRIu64 " bytes, hash %016" PRIx64 "\n", trib_collective_name(collective), end - begin, hash);
    return wrong != 0 ? EXIT_WRONG : 0;
}

int main(int argc, char **argv)
{
    struct trib_config config;
    struct large large = {0};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_collective collective = argc < 3 ? TRIB_COLLECTIVE_NONE : collective_of(argv[1]);
    if (collective == TRIB_COLLECTIVE_NONE) {
        fprintf(stderr, "usage: large allreduce|broadcast|allgather|reduce-scatter COUNT0 [COUNT1]\n");
        return 2;
    }
    bool has_shares = collective == TRIB_ALLGATHER || collective == TRIB_REDUCE_SCATTER;
    large.counts[0] = strtoull(argv[2], NULL, 10);
    large.counts[1] = argc > 3 ? strtoull(argv[3], NULL, 10) : large.counts[0];
    uint64_t size = collective == TRIB_REDUCE_SCATTER ? sizeof(int64_t) : 1;
    large.first = large.counts[0] * size;
    large.whole = large.first + (has_shares ? large.counts[1] * size : 0);
    if (trib_config_from_environment(&config, error) != TRIB_OK ||
        trib_comm_create(&config, &large.comm, error) != TRIB_OK) {
        printf("cannot begin: %s\n", error);
        return 1;
    }
    large.rank = config.rank;
    large.tensor = mmap(NULL, large.whole + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int result = 1;
    if (config.ranks == RANKS && large.tensor != MAP_FAILED) {
        (void)madvise(large.tensor, large.whole, MADV_HUGEPAGE); /* a fault per 4 KiB would be half of the time */
        result = measure(&large, collective);
    }
    return trib_comm_close(large.comm) == TRIB_OK ? result : 1;
}
