/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h: CRC32C (Castagnoli, reflected polynomial 0x82f63b78), chainable. crc of nothing is 0. crc32c.c holds the
 * table-driven reference and chooses; crc32c_clmul.c and crc32c_vpclmul.c fold with carry-less multiplication. */
#ifndef TRIB_CORE_CRC32C_H
#define TRIB_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc(a then b) == trib_crc32c(trib_crc32c(0, a), b). */
uint32_t trib_crc32c(uint32_t crc, const void *data, size_t len);
/* The reference: the oracle of the tests, and the choice of a CPU without carry-less multiplication. */
uint32_t trib_crc32c_table(uint32_t crc, const void *data, size_t len);
/* "vpclmul", "clmul", "table": the choice of trib_crc32c here. */
const char *trib_crc32c_name(void);

#endif
