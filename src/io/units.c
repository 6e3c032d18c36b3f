/* SPDX-License-Identifier: Apache-2.0 */
/* units.c: see units.h. Numbers are read by hand, as strtod would follow the locale and take "inf", "0x1p3" and "
 * 1". */
#include "io/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/explain.h"

#define ROW_MIN 5 /* least length of a row of ranks that is written as first and last */

struct unit {
    const char *name;
    uint64_t factor;
};

#define UNIT_COUNT(units) (sizeof(units) / sizeof((units)[0]))
#define KILO UINT64_C(1000)
#define KIBI UINT64_C(1024)

static const struct unit sizes[] = {{"B", 1},
                                    {"KB", KILO},
                                    {"MB", KILO *KILO},
                                    {"GB", KILO *KILO *KILO},
                                    {"TB", KILO *KILO *KILO *KILO},
                                    {"KiB", KIBI},
                                    {"MiB", KIBI *KIBI},
                                    {"GiB", KIBI *KIBI *KIBI},
                                    {"TiB", KIBI *KIBI *KIBI *KIBI}};
static const struct unit short_sizes[] = {
    {"", 1}, {"K", KIBI}, {"M", KIBI *KIBI}, {"G", KIBI *KIBI *KIBI}, {"T", KIBI *KIBI *KIBI *KIBI}};
static const struct unit durations[] = {{"ns", 1},
                                        {"us", KILO},
                                        {"ms", KILO *KILO},
                                        {"s", KILO *KILO *KILO},
                                        {"min", 60 * KILO *KILO *KILO},
                                        {"h", 3600 * KILO *KILO *KILO}};
static const struct unit rates[] = {
    {"bps", 1}, {"Kbps", KILO}, {"Mbps", KILO *KILO}, {"Gbps", KILO *KILO *KILO}, {"Tbps", KILO *KILO *KILO *KILO}};

/* digits / 10^decimals, then the rest of the text. */
struct number {
    uint64_t digits;
    uint64_t scale; /* 10^decimals */
    const char *rest;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads at most nine decimals: a duration has no more. False: no number, or too large. */
static bool read_number(const char *text, struct number *number)
{
    const char *p = text;
    number->digits = 0;
    number->scale = 1;
    bool behind_point = false;
    if (!is_digit(*p)) {
        return false;
    }
    for (; is_digit(*p) || (*p == '.' && !behind_point && is_digit(p[1])); p++) {
        if (*p == '.') {
            behind_point = true;
            continue;
        }
        unsigned digit = (unsigned)(*p - '0');
        if (number->digits > (UINT64_MAX - digit) / 10 || number->scale > UINT64_C(100000000)) {
            return false;
        }
        number->digits = number->digits * 10 + digit;
        number->scale *= behind_point ? 10 : 1;
    }
    number->rest = p;
    return true;
}

/* False: the value does not fit, or is no whole number of the smallest unit. */
static bool scale_number(const struct number *number, uint64_t factor, uint64_t *value)
{
    uint64_t product = 0;
    if (__builtin_mul_overflow(number->digits, factor, &product) || product % number->scale != 0) {
        return false;
    }
    *value = product / number->scale;
    return true;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

static enum trib_status refuse(char *error, const char *text, const char *what, const char *example)
{
    struct number number;
    if (read_number(text, &number) && *number.rest == '\0') {
        trib_explain(error, "\"%.80s\" has no unit; %s is written like %s", text, what, example);
    } else {
        trib_explain(error, "\"%.80s\" is not %s; write for example %s", text, what, example);
    }
    return TRIB_ERR_INVALID;
}

struct unit_table {
    const struct unit *units;
    size_t count;
    const char *what;
    const char *example;
};

static const struct unit_table size_table = {sizes, UNIT_COUNT(sizes), "a size", "64MB or 64KiB"};
static const struct unit_table short_size_table = {short_sizes, UNIT_COUNT(short_sizes), "a size", "8, 4K or 128M"};
static const struct unit_table duration_table = {durations, UNIT_COUNT(durations), "a duration", "30s or 500ms"};
static const struct unit_table rate_table = {rates, UNIT_COUNT(rates), "a rate", "10Gbps or 100Mbps"};

static bool read_with_unit(const struct unit_table *table, const char *text, uint64_t *value)
{
    struct number number;
    if (!read_number(text, &number)) {
        return false;
    }
    if (number.digits == 0 && *number.rest == '\0') {
        *value = 0;
        return true;
    }
    const struct unit *unit = find_unit(table->units, table->count, number.rest);
    return unit != NULL && scale_number(&number, unit->factor, value);
}

enum trib_status trib_parse_size(const char *text, uint64_t *value, char *error)
{
    return read_with_unit(&size_table, text, value) ? TRIB_OK
                                                    : refuse(error, text, size_table.what, size_table.example);
}

enum trib_status trib_parse_size_short(const char *text, uint64_t *value, char *error)
{
    if (read_with_unit(&short_size_table, text, value) || read_with_unit(&size_table, text, value)) {
        return TRIB_OK;
    }
    return refuse(error, text, short_size_table.what, short_size_table.example);
}

enum trib_status trib_parse_duration(const char *text, uint64_t *value, char *error)
{
    return read_with_unit(&duration_table, text, value)
               ? TRIB_OK
               : refuse(error, text, duration_table.what, duration_table.example);
}

enum trib_status trib_parse_rate(const char *text, uint64_t *value, char *error)
{
    return read_with_unit(&rate_table, text, value) ? TRIB_OK
                                                    : refuse(error, text, rate_table.what, rate_table.example);
}

enum trib_status trib_parse_percent(const char *text, double *value, char *error)
{
    struct number number;
    if (read_number(text, &number) && (strcmp(number.rest, "%") == 0 || (number.digits == 0 && *number.rest == '\0'))) {
        double percent = (double)number.digits / (double)number.scale;
        if (percent <= 100.0) {
            *value = percent / 100.0;
            return TRIB_OK;
        }
        trib_explain(error, "\"%.80s\" is more than 100%%", text);
        return TRIB_ERR_INVALID;
    }
    return refuse(error, text, "a percentage", "1% or 0.1%");
}

enum trib_status trib_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value, char *error)
{
    struct number number;
    if (!read_number(text, &number) || *number.rest != '\0' || number.scale != 1) {
        trib_explain(error, "\"%.80s\" is not a whole number", text);
        return TRIB_ERR_INVALID;
    }
    if (number.digits < min || number.digits > max) {
        trib_explain(error, "%.80s is not from %" PRIu64 " to %" PRIu64, text, min, max);
        return TRIB_ERR_INVALID;
    }
    *value = number.digits;
    return TRIB_OK;
}

enum trib_status trib_parse_bool(const char *text, bool *value, char *error)
{
    static const char *const words[2][4] = {{"0", "no", "false", "off"}, {"1", "yes", "true", "on"}};
    for (unsigned truth = 0; truth < 2; truth++) {
        for (unsigned i = 0; i < 4; i++) {
            if (strcmp(text, words[truth][i]) == 0) {
                *value = truth == 1;
                return TRIB_OK;
            }
        }
    }
    trib_explain(error, "\"%.80s\" is neither on nor off; write 1 or 0", text);
    return TRIB_ERR_INVALID;
}

enum trib_status trib_check_within(const char *text, uint64_t value, uint64_t min, uint64_t max,
                                   void (*format)(uint64_t value, char *text), char *error)
{
    char low[TRIB_UNITS_TEXT_MAX];
    char high[TRIB_UNITS_TEXT_MAX];
    if (value >= min && value <= max) {
        return TRIB_OK;
    }
    format(min, low);
    format(max, high);
    trib_explain(error, "%.80s is not from %s to %s", text, low, high);
    return TRIB_ERR_INVALID;
}

/* Writes one decimal if the number is below ten and the decimal is not zero. */
static void format_tenths(char *text, uint64_t value, uint64_t unit, const char *name)
{
    uint64_t tenths = value / unit < 10 ? value % unit * 10 / unit : 0;
    if (tenths != 0) {
        (void)snprintf(text, TRIB_UNITS_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", value / unit, tenths, name);
    } else {
        (void)snprintf(text, TRIB_UNITS_TEXT_MAX, "%" PRIu64 " %s", value / unit, name);
    }
}

void trib_format_duration(uint64_t ns, char *text)
{
    /* Minutes and hours only for whole numbers: "90 s" is clearer than "1.5 min". */
    for (size_t i = UNIT_COUNT(durations); i-- > 0;) {
        bool even = i <= 3 || ns % durations[i].factor == 0;
        if ((ns >= durations[i].factor && even) || i == 0) {
            format_tenths(text, ns, durations[i].factor, durations[i].name);
            return;
        }
    }
}

void trib_format_size(uint64_t bytes, char *text)
{
    size_t first_binary = 5; /* index of KiB in `sizes` */
    for (size_t i = UNIT_COUNT(sizes); i-- > first_binary;) {
        if (bytes >= sizes[i].factor) {
            format_tenths(text, bytes, sizes[i].factor, sizes[i].name);
            return;
        }
    }
    format_tenths(text, bytes, 1, "B");
}

void trib_format_count(uint64_t count, char *text)
{
    char digits[TRIB_UNITS_TEXT_MAX];
    size_t left = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    for (const char *at = digits; left > 0; left--) {
        *text++ = *at++;
        if (left > 1 && left % 3 == 1) {
            *text++ = ',';
        }
    }
    *text = '\0';
}

/* Index of the last rank of a row without a gap that begins with the i-th. */
static uint32_t row_end(const uint16_t *ranks, uint32_t i, uint32_t listed)
{
    while (i + 1 < listed && ranks[i + 1] == ranks[i] + 1) {
        i++;
    }
    return i;
}

char *trib_format_ranks(const uint16_t *ranks, uint32_t listed, uint32_t count, char *text, size_t size)
{
    static const size_t end = sizeof ", 65535 to 65535 and 65535 others";
    size_t len = (size_t)snprintf(text, size, count == 1 ? "rank" : "ranks");
    uint32_t i = 0;
    while (i < listed && len + end <= size) {
        uint32_t last = row_end(ranks, i, listed);
        len += (size_t)snprintf(text + len, size - len, "%s%u", i == 0 ? " " : ", ", ranks[i]);
        if (last >= i + ROW_MIN - 1) {
            len += (size_t)snprintf(text + len, size - len, " to %u", ranks[last]);
            i = last;
        }
        i++;
    }
    if (i < count) {
        (void)snprintf(text + len, size - len, " and %u other%s", count - i, count - i == 1 ? "" : "s");
    }
    return text;
}
