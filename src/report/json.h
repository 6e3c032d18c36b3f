/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: texts and numbers of JSON. Read next: json.c. */
#ifndef TRIB_REPORT_JSON_H
#define TRIB_REPORT_JSON_H

#include <stdio.h>

/* Writes a string in quotes; quotes, backslashes and control characters are escaped. */
void report_json_text(FILE *out, const char *text);
/* Writes a number with ten digits; null for infinity and NaN, which JSON does not have. */
void report_json_number(FILE *out, double number);
/* Writes "name":"text", */
void report_json_member(FILE *out, const char *name, const char *text);

#endif
