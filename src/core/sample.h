/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h: which elements of a sum the ranks of a communicator with a key add up once more. It is for sums that the
 * tag does not prove (tag.h): of floats, which round, of integers, which wrap, minimum, maximum and product.
 *
 * A tensor is divided into runs of 16 elements, and its runs into strata of `every` runs; the last run and the last
 * stratum may be shorter. One run of each stratum is drawn by ChaCha20, with a key that only the ranks can compute. So
 * each run is drawn with probability 1 / every or more. A switch that falsifies n runs of one operation is caught with
 * probability 1 - (1 - 1 / every)^n or more: strata are independent, and k falsified runs of one stratum are caught
 * with k / every, which is more than 1 - (1 - 1 / every)^k.
 *
 * Every rank sends its part of the drawn runs to all ranks, as an allgather behind the operation. Its bytes are proved
 * by the tag. The ranks repeat the additions in the order of slot.h (fold.h) and compare all bits; the program gets the
 * result after that (comm/sample.c). The parts are hidden by a stream of ChaCha20: a switch must not learn which runs
 * were drawn, because it may still hold results back when it sees the parts. Their number is known in advance, and
 * their time says nothing. So the allgather leaves together with the operation and costs no further round trip.
 *
 * Attacks:
 * - I1, I2, I3, I4, repeats, OFFER: the parts are an operation as any other, of bytes. Its lanes prove which rank sent
 *   which bytes, under which sequence, so a part of another operation does not fit.
 * - I5-I8: no new message, no new wait. A switch that holds the parts back is a switch that holds results back.
 * - I9: the order of additions is known to ranks if all of them are children of one node, in the order of ranks. A
 *   rank refuses a switch at which its child number is not its rank (comm/paths.c), so trees of switches and chains are
 *   refused. Schemes without a fixed order are refused, and sums that may lack ranks (comm/launcher.c).
 * - I10: the parts have a digest of their own. If ranks have different settings, the first exchange of nonces fails.
 * - I11: a rank reads its part when the operation begins, and again when packets leave. A program that changes its
 *   tensor meanwhile is wrong in any case; here it looks like a switch that lies, and the error text says so.
 * - I12: unchanged. A switch that lies to some ranks only is caught by each of those with the same probability.
 * - A switch learns nothing from sampled operations that it did not falsify, and the first one that is found ends the
 *   job. The keys of a run depend on nonces, so it learns nothing for later runs.
 * - A rank of the job knows the drawn runs: out of scope, as for the tag.
 * Read next: sample.c, comm/sample.h. */
#ifndef TRIB_CORE_SAMPLE_H
#define TRIB_CORE_SAMPLE_H

#include "core/tag.h"

#define TRIB_SAMPLE_RUN 16            /* elements */
#define TRIB_SAMPLE_EVERY_MAX 1000000 /* runs of a stratum */

/* The draw for one operation. */
struct trib_sample {
    uint8_t key[TRIB_TAG_KEY];
    uint64_t elements; /* of the whole tensor */
    uint64_t drawn;    /* runs that are drawn, one of each stratum */
    uint32_t every;    /* runs of a stratum, 1 to TRIB_SAMPLE_EVERY_MAX */
    const struct trib_chacha20_kernel *blocks;
};

/* number: of sampled operations of the communicator before this one. */
void trib_sample_init(struct trib_sample *sample, const struct trib_tag *tag, uint32_t every, uint64_t number,
                      uint64_t elements);
/* Writes the first element of each drawn run, ascending; sample->drawn numbers. */
void trib_sample_draw(const struct trib_sample *sample, uint64_t *at);
/* Elements of the run that begins there. */
static inline uint32_t trib_sample_run(const struct trib_sample *sample, uint64_t at)
{
    uint64_t left = sample->elements - at;

    return left < TRIB_SAMPLE_RUN ? (uint32_t)left : TRIB_SAMPLE_RUN;
}
/* Hides the part of this rank, or brings a hidden part back. */
void trib_sample_hide(const struct trib_sample *sample, uint32_t rank, uint8_t *part, size_t len);

#endif
