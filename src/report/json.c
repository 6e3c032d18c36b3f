/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: see json.h. */
#include "report/json.h"

#include <math.h>

void report_json_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)fprintf(out, "\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            (void)fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            (void)fputc(*text, out);
        }
    }
    (void)fputc('"', out);
}

void report_json_number(FILE *out, double number)
{
    if (isfinite(number)) {
        (void)fprintf(out, "%.10g", number);
    } else {
        (void)fputs("null", out);
    }
}

void report_json_member(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "\"%s\":", name);
    report_json_text(out, text);
    (void)fputc(',', out);
}
