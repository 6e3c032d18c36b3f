/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: see json.h. */
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>

/* Bytes of the character of well-formed UTF-8 at text, beyond ASCII, which ends with a zero; 0: there is none. */
static unsigned character_len(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned len = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    /* no longer forms than needed, no surrogates, nothing above U+10FFFF */
    unsigned least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;

    if (at[0] < 0xc2 || at[0] > 0xf4 || at[1] < least || at[1] > most) {
        return 0;
    }
    for (unsigned i = 2; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

/* Names of files may have any bytes, JSON may not: others become U+FFFD. */
void report_json_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text >= 0x80) {
            unsigned len = character_len(text);
            (void)(len == 0 ? fputs("\\ufffd", out) : (int)fwrite(text, 1, len, out));
            text += len == 0 ? 0 : len - 1;
        } else if (*text == '"' || *text == '\\') {
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

static void begin_member(struct report_json *json, const char *name)
{
    if (json->has_member) {
        (void)fputc(',', json->out);
    }
    json->has_member = true;
    if (name != NULL) {
        report_json_text(json->out, name);
        (void)fputc(':', json->out);
    }
}

void report_json_open(struct report_json *json, const char *name, char bracket)
{
    begin_member(json, name);
    (void)fputc(bracket, json->out);
    json->has_member = false;
}

void report_json_close(struct report_json *json, char bracket)
{
    (void)fputc(bracket, json->out);
    json->has_member = true;
}

void report_json_say(struct report_json *json, const char *name, const char *text)
{
    begin_member(json, name);
    report_json_text(json->out, text);
}

void report_json_flag(struct report_json *json, const char *name, bool value)
{
    report_json_put(json, name, "%s", value ? "true" : "false");
}

void report_json_real(struct report_json *json, const char *name, double number)
{
    begin_member(json, name);
    report_json_number(json->out, number);
}

void report_json_count(struct report_json *json, const char *name, uint64_t count)
{
    report_json_put(json, name, "%" PRIu64, count);
}

void report_json_put(struct report_json *json, const char *name, const char *format, ...)
{
    va_list arguments;

    begin_member(json, name);
    va_start(arguments, format);
    (void)vfprintf(json->out, format, arguments);
    va_end(arguments);
}
