/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: writes JSON: objects and lists, with commas between members. Read next: json.c. */
#ifndef TRIB_REPORT_JSON_H
#define TRIB_REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a string in quotes; quotes, backslashes and control characters are escaped. */
void report_json_text(FILE *out, const char *text);
/* Writes a number with ten digits; null for infinity and NaN, which JSON does not have. */
void report_json_number(FILE *out, double number);

/* A value under construction. */
struct report_json {
    FILE *out;
    bool has_member; /* a comma comes before the next one */
};

/* Begins an object ('{') or a list ('['). name: NULL for an item of a list, and for the whole. */
void report_json_open(struct report_json *json, const char *name, char bracket);
/* Ends an object or a list with the other bracket. */
void report_json_close(struct report_json *json, char bracket);
/* Members of an object; of a list if name is NULL. */
void report_json_say(struct report_json *json, const char *name, const char *text);
void report_json_flag(struct report_json *json, const char *name, bool value);
void report_json_real(struct report_json *json, const char *name, double number);
void report_json_count(struct report_json *json, const char *name, uint64_t count);
/* A number in a format of printf. */
void report_json_put(struct report_json *json, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
