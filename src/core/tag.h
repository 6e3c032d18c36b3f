/* SPDX-License-Identifier: Apache-2.0 */
/* tag.h: the lane of a communicator with a key: an end-to-end proof of which contributions are in a result, and of its
 * values where sums are exact. A switch adds 64-bit lanes, as without a key. It does not know the key, so it cannot
 * make the lane of another sum.
 *
 * With p = 2^52 - 47 (a prime), the lane of rank w is
 *     (<r, x> + g(e) + c u + m(w)) mod p
 *   <r, x>  the payload's 32-bit words as little-endian two's complement, times the numbers r. Only where payloads are
 *           exact: float32 tensors on wire int32, and bytes (at most one rank has any). 0 without payload. The number
 *           of word i is r[i mod 256] s[i / 256] mod p: so few numbers stay in the cache beside the payload.
 *   g(e)    a random number for the block exponent e that the rank has used: if ranks got different exponents, their
 *           lanes do not fit. On wire int32 ranks without payload have it as well; on other wires it is 0.
 *   c u     c is 1 if this rank's own exponent was e. So a result proves that e was the exponent of some rank. A rank
 *           refuses a result with an exponent below its own (worker_deliver.c). Both together: e is the largest.
 *   m(w)    the mask P(w) - P(w + 1 mod ranks), and P(ranks) besides if w is 0: all masks add up to P(ranks), and no
 *           other set of contributions does. In a sum that may lack ranks m(w) is P(w), and the receiver adds P of
 *           listed ranks. P is ChaCha20 of sequence, digest, attempt and rank, and is used for one lane alone.
 * r, g, u and P come from the communicator's key. trib_tag_key derives it from the job's key, communicator, generation
 * and a nonce of each rank (comm/nonces.h), so that nothing repeats in another run with the same ids.
 *
 * The sum of up to 1,024 lanes is below 2^62, so additions in a tree of any shape do not wrap. The receiver takes the
 * sum mod p, less masks, <r, S> and ranks x g(e). The rest must be 0, and on wire int32 k u with 1 <= k <= ranks.
 *
 * A result with wrong values passes with probability 2 / p, on wire int32 2 ranks / p (2^-49 with 4 ranks, 2^-41 with
 * 1,024). The hash of a wrong row is that of the right row with 1 / p; if it is not, the hash of all rows is right with
 * 1 / p. A wrong word differs by less than 2^32 < p from the right one, and only ranks know r. Sums on the wire do not
 * wrap: ranks x |q| <= 2^31 - 1 for all exponents that a rank accepts (trib_block_shift). Integer tensors may wrap,
 * which is no error, and no linear hash in a 64-bit lane follows sums mod 2^32: their values are not proved. Sums of
 * floats are not proved either, because they round; nor are other reductions, nor blocks with infinity or NaN, which
 * travel as float32. For all of these the masks still prove which contributions are in.
 *
 * Attacks:
 * - I1, I2: the mask depends on communicator, generation (by the key), sequence, attempt and digest. A part of another
 *   fragment, a missing, doubled or foreign part, or a header in place of a part leaves a mask in the rest.
 * - I3, I4, repeats: a rank makes the lane of a fragment once, and repeats its bits. After a restart the switch adds
 *   the same lanes.
 * - OFFER: it has the lane of the result that the rank has taken; the rank keeps both.
 * - I5-I8: the lane decides nothing but whether a result is taken. I9: no bit of a value depends on it.
 * - I10: different digests make different masks. I11: payloads are read when they are sent, and not after.
 * - Quorum: the list is in the payload; a wrong list leaves a mask in the rest. Such sums are of floats.
 * - Trees, chains, combiners: lanes are added in any order and any groups. The error names the root alone.
 * - A rank that gets a header only (reduce, reduce-scatter) gets no value, and checks none.
 * - Level 0: the ranks of the tag are hosts; memory of one host is trusted. Rings: each hop is a rank, which has the
 *   key; they keep the lane of lane.h. Shared memory alone: no packets, no lane.
 * - A rank of the job can lie about its part, and knows the key: out of scope.
 * Read next: residue.h, tag_kernels.h, protocol/worker_lane.c (the use). */
#ifndef TRIB_CORE_TAG_H
#define TRIB_CORE_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chacha20.h"
#include "core/residue.h"

#define TRIB_TAG_ROW 256 /* words */
#define TRIB_TAG_ROWS 8  /* of a payload at most */
#define TRIB_TAG_KEY TRIB_CHACHA20_KEY
#define TRIB_TAG_BATCH 8 /* numbers of a block of ChaCha20, or masks, of consecutive sequences */
#define TRIB_TAG_MASKS (TRIB_TAG_BATCH * TRIB_CHACHA20_LANES) /* that are made at once */
#define TRIB_TAG_EXPONENTS 280

struct trib_tag_kernel {
    const char *name; /* "scalar", "avx2", "ifma" */
    /* The sum of r[i mod TRIB_TAG_ROW] s[i / TRIB_TAG_ROW] (word i + 2^31), mod p, with the words as they lie in
     * memory, little-endian two's complement, at any alignment. At most TRIB_TAG_ROW x TRIB_TAG_ROWS words. */
    uint64_t (*sum)(const uint64_t *r, const uint64_t *s, const void *words, size_t count);
    const struct trib_chacha20_kernel *blocks;
};

/* choice.c: the best kernel for this CPU; one by name, NULL where the CPU or the build lacks it. */
const struct trib_tag_kernel *trib_tag_kernel(void);
const struct trib_tag_kernel *trib_tag_kernel_named(const char *name);

/* Of one communicator at a rank: constant while a fragment is under way. */
struct trib_tag {
    uint64_t r[TRIB_TAG_ROW];              /* of a row's words */
    uint64_t s[TRIB_TAG_ROWS];             /* of rows */
    uint64_t offset[TRIB_TAG_ROW + 1];     /* by count: 2^31 times the sum of the first `count` numbers r */
    uint64_t offsets[TRIB_TAG_ROWS + 1];   /* by count: the same of the first `count` rows, with their numbers s */
    uint64_t exponent[TRIB_TAG_EXPONENTS]; /* g */
    uint64_t own, own_inverse;             /* u, and 1 / u mod p */
    uint8_t key[TRIB_TAG_KEY];
    uint32_t ranks;
    uint32_t epoch; /* number of trib_tag_init calls, so that masks of a former key are not taken from memory */
    const struct trib_tag_kernel *kernel;
};

/* Identity of a fragment's masks. */
struct trib_tag_id {
    uint64_t sequence;
    uint32_t digest;
    uint8_t attempt;
};

/* Masks of consecutive sequences, remembered. All 0: none. */
struct trib_tag_masks {
    uint64_t group; /* sequence / TRIB_TAG_MASKS */
    uint32_t digest;
    uint32_t epoch;
    uint16_t rank;
    uint8_t attempt;
    uint64_t mask[TRIB_TAG_MASKS];
};

/* The masks used last: of the own rank, of the next rank, of results (of two roots), and of a rank that a sum
 * lacks. */
struct trib_tag_memory {
    struct trib_tag_masks own, next, all[2], lacking;
};

/* Writes the key of the communicator. job: the tag key of the job. nonces: by rank; NULL and count 0: not known yet. */
void trib_tag_key(uint8_t key[TRIB_TAG_KEY], const uint8_t job[TRIB_TAG_KEY], uint32_t communicator,
                  uint16_t generation, const uint64_t *nonces, uint32_t count);
/* Writes the key of the samples of one operation (sample.h). number: of sampled operations before it. */
void trib_tag_sample_key(const struct trib_tag *tag, uint64_t number, uint8_t key[TRIB_TAG_KEY]);
/* Expands the key. The tag's memory is zeroed, or a tag. */
void trib_tag_init(struct trib_tag *tag, const struct trib_tag_kernel *kernel, const uint8_t key[TRIB_TAG_KEY],
                   uint32_t ranks);

/* <r, x> of a payload of len bytes; a last word that is cut off ends with zeros. */
uint64_t trib_tag_hash(const struct trib_tag *tag, const void *payload, size_t len);
/* g of an exponent that trib_block_exponent can give. */
uint64_t trib_tag_exponent(const struct trib_tag *tag, int16_t exponent);
/* m(rank), and the sum of m of all ranks. */
uint64_t trib_tag_mask(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id,
                       uint32_t rank);
uint64_t trib_tag_mask_of_all(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id);
/* The same in a sum that may lack ranks. list: core/quorum.h; NULL: of all ranks. */
uint64_t trib_tag_lone_mask(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id,
                            uint32_t rank);
uint64_t trib_tag_lone_masks(const struct trib_tag *tag, struct trib_tag_memory *memory, const struct trib_tag_id *id,
                             const uint8_t *list);

/* True if rest is k u with 1 <= k <= ranks. rest: the lane of a result on wire int32, less all its other terms. */
bool trib_tag_is_own(const struct trib_tag *tag, uint64_t rest);

#endif
