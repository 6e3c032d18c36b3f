/* SPDX-License-Identifier: Apache-2.0 */
/* toml.c: see toml.h. The text is copied once; strings are unescaped in place, and ended in place. */
#include "io/toml.h"

#include <stdlib.h>
#include <string.h>

#include <tributary/comm.h>

#include "core/assert.h"
#include "io/explain.h"

struct reader {
    struct trib_toml *toml;
    char *at;
    const char *line_begin;
    uint32_t line;
    char *error;
    char *ended; /* place where a text was ended: the overwritten character is in another member */
    char under;
};

static struct trib_file_place place_of(const struct reader *r, const char *at)
{
    return (struct trib_file_place){.line = r->line, .column = (uint32_t)(at - r->line_begin) + 1};
}

/* Next character, also at a place where a text was ended. */
static char peek(const struct reader *r)
{
    return r->at == r->ended ? r->under : *r->at;
}

static bool fail(struct reader *r, const char *at, const char *what)
{
    r->toml->place = place_of(r, at);
    trib_explain(r->error, "%s", what);
    return false;
}

static void end_text(struct reader *r, char *at)
{
    r->under = at == r->ended ? r->under : *at;
    r->ended = at;
    *at = '\0';
}

static void skip_blanks(struct reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t') {
        r->at++;
    }
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Reads to the end of the line: only blanks and a comment may follow. */
static bool end_line(struct reader *r)
{
    skip_blanks(r);
    if (peek(r) == '#') {
        while (peek(r) != '\0' && peek(r) != '\n') {
            r->at++;
        }
    }
    if (peek(r) == '\r') {
        r->at++;
    }
    if (peek(r) == '\0') {
        return true;
    }
    if (peek(r) != '\n') {
        return fail(r, r->at, "the line should end here");
    }
    r->at++;
    r->line++;
    r->line_begin = r->at;
    return true;
}

/* ---- growing ---- */

static struct trib_toml_table *add_table(struct trib_toml *toml)
{
    if ((toml->table_count & (toml->table_count + 1)) == 0) {
        toml->tables = realloc(toml->tables, 2 * (toml->table_count + 1U) * sizeof *toml->tables);
        TRIB_ASSERT(toml->tables != NULL);
    }
    return &toml->tables[toml->table_count++];
}

static struct trib_toml_value *add_value(struct trib_toml *toml)
{
    if ((toml->value_count & (toml->value_count + 1)) == 0) {
        toml->values = realloc(toml->values, 2 * (toml->value_count + 1U) * sizeof *toml->values);
        TRIB_ASSERT(toml->values != NULL);
    }
    return &toml->values[toml->value_count++];
}

/* ---- values ---- */

static bool unescape(struct reader *r, char **to)
{
    static const char names[] = "btnfr\"\\";
    static const char meant[] = "\b\t\n\f\r\"\\";
    const char *found = *++r->at != '\0' ? strchr(names, *r->at) : NULL;

    if (found == NULL) {
        return fail(r, r->at - 1, "an escape that is not read here; there are \\\" \\\\ \\t \\n \\r \\b \\f");
    }
    *(*to)++ = meant[found - names];
    r->at++;
    return true;
}

static bool read_string(struct reader *r, struct trib_toml_value *value)
{
    char quote = *r->at;
    char *begin = ++r->at;
    char *to = begin;

    if (begin[0] == quote && begin[1] == quote) {
        return fail(r, begin - 1, "strings of several lines are not read here");
    }
    while (*r->at != quote) {
        if (*r->at == '\0' || *r->at == '\n') {
            return fail(r, begin - 1, "a string that does not end on its line");
        }
        if (*r->at == '\\' && quote == '"') {
            if (!unescape(r, &to)) {
                return false;
            }
            continue;
        }
        *to++ = *r->at++;
    }
    r->at++;
    *to = '\0';
    value->kind = TRIB_TOML_STRING;
    value->text = begin;
    return true;
}

/* Skips digits with single underscores between them. Returns the end. */
static const char *skip_digits(const char *p)
{
    while ((*p >= '0' && *p <= '9') || (*p == '_' && p[-1] != '_' && p[1] >= '0' && p[1] <= '9')) {
        p++;
    }
    return p;
}

static enum trib_toml_kind kind_of(const char *word)
{
    const char *p = word + (*word == '+' || *word == '-');
    const char *q = *p >= '0' && *p <= '9' ? skip_digits(p) : p;
    enum trib_toml_kind kind = TRIB_TOML_INTEGER;

    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        return TRIB_TOML_BOOLEAN;
    }
    if (q == p || (*p == '0' && q - p > 1)) {
        return TRIB_TOML_NONE;
    }
    if (*q == '.' && q[1] >= '0' && q[1] <= '9') {
        kind = TRIB_TOML_FLOAT;
        q = skip_digits(q + 1);
    }
    if (*q == 'e' || *q == 'E') {
        kind = TRIB_TOML_FLOAT;
        q += 1 + (q[1] == '+' || q[1] == '-');
        if (*q < '0' || *q > '9') {
            return TRIB_TOML_NONE;
        }
        q = skip_digits(q);
    }
    return *q == '\0' ? kind : TRIB_TOML_NONE;
}

static bool read_word(struct reader *r, struct trib_toml_value *value)
{
    char *begin = r->at;
    char *to = begin;

    while (is_bare(peek(r)) || peek(r) == '+' || peek(r) == '.') {
        r->at++;
    }
    if (r->at == begin) {
        bool is_table = *begin == '{' || *begin == '[';
        return fail(r, begin, is_table ? "arrays and inline tables are not read here" : "a value should stand here");
    }
    end_text(r, r->at);
    value->kind = kind_of(begin);
    value->text = begin;
    if (value->kind == TRIB_TOML_NONE) {
        return fail(r, begin, "neither number nor true nor false; a text, such as one with a unit, stands in quotes");
    }
    for (const char *from = begin; *from != '\0'; from++) {
        if (*from != '_') {
            *to++ = *from;
        }
    }
    *to = '\0';
    return true;
}

/* ---- lines ---- */

static bool read_name(struct reader *r, const char **name)
{
    char *begin = r->at;

    while (is_bare(peek(r))) {
        r->at++;
    }
    if (r->at == begin) {
        return fail(r, begin, "a name should stand here: letters, digits, _ and -");
    }
    if (peek(r) == '.') {
        return fail(r, r->at, "dotted names are not read here");
    }
    *name = begin;
    end_text(r, r->at);
    return true;
}

static bool expect(struct reader *r, char c, const char *what)
{
    if (peek(r) != c) {
        return fail(r, r->at, what);
    }
    r->at++;
    return true;
}

static bool read_table(struct reader *r)
{
    struct trib_toml_table table = {.place = place_of(r, r->at)};
    const char *begin = r->at++;

    table.is_array = peek(r) == '[';
    r->at += table.is_array;
    skip_blanks(r);
    if (!read_name(r, &table.name)) {
        return false;
    }
    skip_blanks(r);
    if (!expect(r, ']', "] should stand here") || (table.is_array && !expect(r, ']', "]] should stand here"))) {
        return false;
    }
    for (uint32_t i = 0; i < r->toml->table_count; i++) {
        const struct trib_toml_table *other = &r->toml->tables[i];
        if (strcmp(other->name, table.name) == 0 && !(other->is_array && table.is_array)) {
            return fail(r, begin, "this table is there already");
        }
    }
    *add_table(r->toml) = table;
    return end_line(r);
}

static bool read_value(struct reader *r)
{
    struct trib_toml_value value = {.table = r->toml->table_count - 1, .key_place = place_of(r, r->at)};
    const char *begin = r->at;

    if (!read_name(r, &value.key)) {
        return false;
    }
    skip_blanks(r);
    if (!expect(r, '=', "= should stand here")) {
        return false;
    }
    skip_blanks(r);
    value.place = place_of(r, r->at);
    if (peek(r) == '"' || peek(r) == '\'' ? !read_string(r, &value) : !read_word(r, &value)) {
        return false;
    }
    for (uint32_t i = 0; i < r->toml->value_count; i++) {
        const struct trib_toml_value *other = &r->toml->values[i];
        if (other->table == value.table && strcmp(other->key, value.key) == 0) {
            return fail(r, begin, "this key is there already");
        }
    }
    *add_value(r->toml) = value;
    return end_line(r);
}

bool trib_toml_read(struct trib_toml *toml, const char *text, size_t len, char *error)
{
    struct reader r = {.toml = toml, .line = 1, .error = error};

    *toml = (struct trib_toml){.text = malloc(len + 1)};
    TRIB_ASSERT(toml->text != NULL);
    memcpy(toml->text, text, len);
    toml->text[len] = '\0';
    r.at = toml->text;
    r.line_begin = r.at;
    if (strlen(toml->text) != len) {
        r.at += strlen(toml->text);
        return fail(&r, r.at, "a byte that is zero");
    }
    if (strncmp(toml->text, "\xef\xbb\xbf", 3) == 0) {
        return fail(&r, r.at, "a byte order mark: save the file as UTF-8 without it");
    }
    *add_table(toml) = (struct trib_toml_table){.name = "", .place = {1, 1}};
    while (peek(&r) != '\0') {
        skip_blanks(&r);
        bool is_empty = peek(&r) == '#' || peek(&r) == '\n' || peek(&r) == '\r' || peek(&r) == '\0';
        if (is_empty ? !end_line(&r) : peek(&r) == '[' ? !read_table(&r) : !read_value(&r)) {
            return false;
        }
    }
    return true;
}

/* ---- writing ---- */

static void write_string(FILE *out, const char *text)
{
    static const char escaped[] = "\"\\\t\n\r\b\f";
    static const char letters[] = "\"\\tnrbf";

    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        const char *escape = strchr(escaped, *text);
        if (escape != NULL) {
            (void)fprintf(out, "\\%c", letters[escape - escaped]);
        } else {
            (void)fputc(*text, out);
        }
    }
    (void)fputc('"', out);
}

void trib_toml_write(FILE *out, const struct trib_toml *toml)
{
    for (uint32_t table = 0; table < toml->table_count; table++) {
        const struct trib_toml_table *t = &toml->tables[table];
        if (table != 0) {
            (void)fprintf(out, t->is_array ? "[[%s]]\n" : "[%s]\n", t->name);
        }
        for (uint32_t i = 0; i < toml->value_count; i++) {
            const struct trib_toml_value *value = &toml->values[i];
            if (value->table != table) {
                continue;
            }
            (void)fprintf(out, "%s = ", value->key);
            if (value->kind == TRIB_TOML_STRING) {
                write_string(out, value->text);
            } else {
                (void)fputs(value->text, out);
            }
            (void)fputc('\n', out);
        }
    }
}

bool trib_toml_open(struct trib_toml *toml, const char *path, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;
    *toml = (struct trib_toml){.text = NULL};
    char *text = trib_file_read(path, &len, error);
    if (text == NULL) {
        return false;
    }
    bool is_good = trib_toml_read(toml, text, len, cause);
    toml->path = path;
    free(text);
    return is_good || trib_file_refuse(error, path, toml->place, "%s", cause);
}

void trib_toml_free(struct trib_toml *toml)
{
    free(toml->tables);
    free(toml->values);
    free(toml->text);
    *toml = (struct trib_toml){0};
}
