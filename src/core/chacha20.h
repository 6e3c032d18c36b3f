/* SPDX-License-Identifier: Apache-2.0 */
/* chacha20.h: the ChaCha20 block function (RFC 8439, section 2.3) as a pseudorandom function of 16 bytes of input.
 *
 * No encryption is done with it. Core calls no library, and a node is copied as bytes, so the function is here; the
 * unit test compares it with the vector of the RFC.
 * Read next: tag.h, keys/auth.h (its uses). */
#ifndef TRIB_CORE_CHACHA20_H
#define TRIB_CORE_CHACHA20_H

#include <stddef.h>
#include <stdint.h>

#define TRIB_CHACHA20_KEY 32   /* bytes */
#define TRIB_CHACHA20_WORDS 16 /* of 32 bits, of a block */

/* Writes the block of `key` for the four words of input: the RFC's counter, then its nonce. */
void trib_chacha20(uint32_t block[TRIB_CHACHA20_WORDS], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4]);
/* Makes another key: the first half of that block. made may be the same array as key. */
void trib_chacha20_key(uint8_t made[TRIB_CHACHA20_KEY], const uint8_t key[TRIB_CHACHA20_KEY], const uint32_t input[4]);

#endif
