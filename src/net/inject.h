/* SPDX-License-Identifier: Apache-2.0 */
/* inject.h: injected faults on received packets: loss, duplication, reordering, corruption, from a seed.
 * For each packet put in, none, one or two packets come out. A reordered packet is copied, held, and comes out after 1
 * to 16 later packets or 2 ms, whichever is first. Corruption flips 1 to 8 random bits of a copy; the receiver's bytes
 * are never written.
 * Pure apart from its own memory: no clock, no socket. faults.c calls it, and any driver may. */
#ifndef TRIB_NET_INJECT_H
#define TRIB_NET_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

struct trib_inject;

struct trib_inject_counts {
    uint64_t loss, duplicate, reorder, corrupt;
};

/* An injected packet; bytes valid until the next call. `tag` is the caller's (e.g. index of the sender's address). */
struct trib_injected {
    const uint8_t *data;
    size_t len;
    uint64_t tag;
};

/* packet_max: largest packet in bytes. NULL when out of memory. */
struct trib_inject *trib_inject_create(const struct trib_faults *faults, size_t packet_max);
void trib_inject_destroy(struct trib_inject *inject);
bool trib_inject_active(const struct trib_faults *faults);
/* One packet in. */
void trib_inject_put(struct trib_inject *inject, const uint8_t *data, size_t len, uint64_t tag, uint64_t now_ns);
/* Next packet out; false when none is due. Call until false after each put, and at the deadline. */
bool trib_inject_next(struct trib_inject *inject, uint64_t now_ns, struct trib_injected *out);
/* Drops the rest of the packet put last, because its bytes become invalid. Held packets are copies, and stay. */
void trib_inject_forget(struct trib_inject *inject);
uint64_t trib_inject_deadline(const struct trib_inject *inject); /* UINT64_MAX: nothing is held */
const struct trib_inject_counts *trib_inject_counts(const struct trib_inject *inject);

#endif
