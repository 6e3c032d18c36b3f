/* SPDX-License-Identifier: Apache-2.0 */
/* units.h: numbers with units as people write them: 64MB, 64KiB, 500ms, 1%, 10Gbps; and back into text. A number
 * without a unit is refused, and the error lists the units.
 * No locale, no allocation. Used by the environment (comm/environment.c) and the command line.
 *
 * Every parse function takes the whole text or refuses it, writes *value only on success, and writes the cause to error
 * (TRIB_ERROR_TEXT_MAX bytes, or NULL). Returns ERR_INVALID. */
#ifndef TRIB_IO_UNITS_H
#define TRIB_IO_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

/* Bounds of a timeout, ns: a shorter one is no timeout, and the sum of a clock and a longer one could overflow. */
#define TRIB_TIMEOUT_MIN_NS UINT64_C(1000000)
#define TRIB_TIMEOUT_MAX_NS (UINT64_C(10000) * 3600 * 1000000000)
#define TRIB_SPIN_US_MAX 1000000
#define TRIB_BUFFER_MAX (UINT64_C(1) << 30) /* bytes, for windows and for queues behind a socket */

#define TRIB_UNITS_TEXT_MAX 32 /* most bytes written by a format function */

/* "64MB" = 64,000,000, "64MiB" = 67,108,864; B, KB, MB, GB, TB, KiB, MiB, GiB, TiB. 0 needs no unit. */
TRIB_MUST_USE enum trib_status trib_parse_size(const char *text, uint64_t *value, char *error);
/* Sizes as in nccl-tests: "8", "4K", "128M", "1G" are bytes and powers of 1024. The units of trib_parse_size are valid
 * as well. */
TRIB_MUST_USE enum trib_status trib_parse_size_short(const char *text, uint64_t *value, char *error);
/* "30s", "1.5s", "500ms", "20us", "100ns", "30min", "2h", in nanoseconds. 0 needs no unit. */
TRIB_MUST_USE enum trib_status trib_parse_duration(const char *text, uint64_t *value, char *error);
/* "1%" = 0.01, from 0% to 100%. 0 needs no unit. */
TRIB_MUST_USE enum trib_status trib_parse_percent(const char *text, double *value, char *error);
/* "10Gbps" = 10,000,000,000 bits per second; bps, Kbps, Mbps, Gbps, Tbps. */
TRIB_MUST_USE enum trib_status trib_parse_rate(const char *text, uint64_t *value, char *error);
/* A plain decimal number from min to max. */
TRIB_MUST_USE enum trib_status trib_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value,
                                                 char *error);
/* 1, yes, true, on; 0, no, false, off. */
TRIB_MUST_USE enum trib_status trib_parse_bool(const char *text, bool *value, char *error);

/* Refuses a value outside min to max: "0s is not from 1 ms to 10000 h". format writes the bounds. */
TRIB_MUST_USE enum trib_status trib_check_within(const char *text, uint64_t value, uint64_t min, uint64_t max,
                                                 void (*format)(uint64_t value, char *text), char *error);

/* "10 s", "1.2 s", "150 ms", "20 us": one decimal below ten, rounded down. text: TRIB_UNITS_TEXT_MAX bytes. */
void trib_format_duration(uint64_t ns, char *text);
/* "64 MiB", "1.5 KiB", "100 B". */
void trib_format_size(uint64_t bytes, char *text);
/* "1,048,576": for people. text: TRIB_UNITS_TEXT_MAX bytes. */
void trib_format_count(uint64_t count, char *text);
/* Writes "rank 2", "ranks 2, 3", "ranks 2, 5 to 63 and 98 others". The first `listed` of `count` ranks are given, and
 * written as far as size bytes (at least 64) allow. Returns text. */
char *trib_format_ranks(const uint16_t *ranks, uint32_t listed, uint32_t count, char *text, size_t size);

#endif
