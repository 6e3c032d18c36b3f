/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: see options.h. Read next: main.c. */
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "io/explain.h"
#include "io/file.h"
#include "io/nearest.h"
#include "io/units.h"
#include "net/resolve.h"

#define ROWS_MAX 64
#define LINE_LEN_MAX 1022

int complain(const char *format, ...)
{
    char text[2 * TRIB_ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    trib_make_printable(text, sizeof text);
    fprintf(stderr, "tributary: %s\n", text);
    return 1;
}

/* ---- finding ---- */

static const struct option_row *find_long(const struct option_row *rows, const char *name, size_t len)
{
    for (; rows->name != NULL; rows++) {
        if (strlen(rows->name) == len && strncmp(rows->name, name, len) == 0) {
            return rows;
        }
    }
    return NULL;
}

static const struct option_row *find_letter(const struct option_row *rows, char letter)
{
    for (; rows->name != NULL; rows++) {
        if (rows->letter == letter) {
            return rows;
        }
    }
    return NULL;
}

static const char *nearest(const struct option_row *rows, const char *name, size_t len)
{
    struct trib_nearest found = {.word = name, .len = len};

    for (; rows->name != NULL; rows++) {
        trib_nearest_offer(&found, rows->name);
    }
    return found.best;
}

/* ---- help ---- */

static void print_help(const struct option_command *command)
{
    printf("usage: %s\n%s\n\noptions:\n", command->usage, command->summary);
    for (const struct option_row *row = command->rows; row->name != NULL; row++) {
        char left[64];
        char letter[8] = "";
        if (row->letter != 0) {
            snprintf(letter, sizeof letter, "-%c, ", row->letter);
        }
        snprintf(left, sizeof left, "%s--%s%s%s", letter, row->name, row->argument != NULL ? " " : "",
                 row->argument != NULL ? row->argument : "");
        printf("  %-28s %s\n", left, row->help);
    }
    printf("  %-28s %s\n", "-h, --help", "this text");
    if (command->examples != NULL) {
        printf("\nexamples:\n%s\n", command->examples);
    }
}

/* ---- reading ---- */

static bool apply(const struct option_row *row, const char *shown, const char *text, void *target)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (row->kind->read(row->kind, text, (char *)target + row->offset, error) == TRIB_OK) {
        return true;
    }
    complain("%s: %s", shown, error);
    return false;
}

static enum option_outcome unknown(const struct option_command *command, const char *shown, const char *name,
                                   size_t len)
{
    const char *suggestion = len > 1 ? nearest(command->rows, name, len) : NULL;

    if (suggestion != NULL) {
        complain("unknown option %s; did you mean --%s?", shown, suggestion);
    } else {
        complain("unknown option %s; --help lists all", shown);
    }
    return OPTIONS_BAD;
}

/* One option at argv[*at], with its argument. */
static enum option_outcome read_one(const struct option_command *command, int argc, char **argv, int *at, void *target)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    const char *name = is_long ? word + 2 : word + 1;
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row = is_long ? find_long(command->rows, name, len) : find_letter(command->rows, name[0]);
    const char *text = equals != NULL ? equals + 1 : "";

    if (row == NULL) {
        return unknown(command, word, name, len);
    }
    if (!is_long && name[1] != '\0') {
        text = name + 1;
    } else if (row->argument != NULL && equals == NULL) {
        if (*at + 1 >= argc) {
            complain("%s needs a value: %s", word, row->argument);
            return OPTIONS_BAD;
        }
        text = argv[++*at];
    }
    if (row->argument == NULL && equals != NULL && *text == '\0') {
        complain("%.*s: a value must follow \"=\": 1 or 0", (int)(equals - word), word);
        return OPTIONS_BAD;
    }
    char shown[TRIB_UNITS_TEXT_MAX];
    (void)snprintf(shown, sizeof shown, "%s%.*s", is_long ? "--" : "-", is_long ? (int)len : 1, name);
    return apply(row, shown, text, target) ? OPTIONS_OK : OPTIONS_BAD;
}

/* Moves argv[from..end) to argv[to], before the others. */
static void move_up(char **argv, int to, int from, int end)
{
    for (; from < end && to < from; to++, from++) {
        char *one = argv[from];
        memmove(argv + to + 1, argv + to, (size_t)(from - to) * sizeof *argv);
        argv[to] = one;
    }
}

enum option_outcome options_read(const struct option_command *command, int argc, char **argv, void *target, int *rest)
{
    int words = 1; /* index of the first word so far, or at */

    for (int at = 1; at < argc; at++) {
        int from = at;
        if (strcmp(argv[at], "--") == 0) {
            move_up(argv, words++, at, at + 1);
            break;
        }
        if (argv[at][0] != '-' || argv[at][1] == '\0') {
            if (command->runs_program) {
                break;
            }
            continue;
        }
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            print_help(command);
            return OPTIONS_HELP;
        }
        enum option_outcome outcome = read_one(command, argc, argv, &at, target);
        if (outcome != OPTIONS_OK) {
            return outcome;
        }
        move_up(argv, words, from, at + 1);
        words += at + 1 - from;
    }
    *rest = words;
    return OPTIONS_OK;
}

/* ---- files ---- */

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
        text[--len] = '\0';
    }
    return text;
}

/* The value of a line: in quotes, or bare up to a comment. NULL: malformed, see cause. */
static char *unquote(char *text, const char **cause)
{
    if (*text == '"') {
        char *end = strchr(text + 1, '"');
        const char *rest = end != NULL ? end + 1 + strspn(end + 1, " \t") : "";
        if (end == NULL || (*rest != '\0' && *rest != '#')) {
            *cause = end == NULL ? "unterminated quote" : "unexpected text after the quote";
            return NULL;
        }
        *end = '\0';
        return text + 1;
    }
    char *comment = strchr(text, '#');
    if (comment != NULL) {
        *comment = '\0';
    }
    return trim(text);
}

/* Fields keep pointers to texts, so the text of a file lives as long as the program, or until options_forget. */
struct kept {
    struct kept *next;
    char text[];
};

static struct kept *all_kept;

/* NULL: out of memory. */
static char *keep(const char *value)
{
    size_t size = strlen(value) + 1;
    struct kept *kept = malloc(sizeof *kept + size);

    if (kept == NULL) {
        return NULL;
    }
    memcpy(kept->text, value, size);
    kept->next = all_kept;
    all_kept = kept;
    return kept->text;
}

void options_forget(void)
{
    while (all_kept != NULL) {
        struct kept *next = all_kept->next;
        free(all_kept);
        all_kept = next;
    }
}

/* A configuration file while it is read. */
struct file {
    const struct option_command *command;
    const char *path;
    void *target;
    unsigned line;
    unsigned named_in[ROWS_MAX]; /* line of each row's key; 0: not yet */
};

static bool refuse_line(const struct file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints file, line and cause. Returns false. */
static bool refuse_line(const struct file *file, const char *format, ...)
{
    char text[TRIB_ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    complain("%.200s:%u: %s", file->path, file->line, text);
    return false;
}

static bool refuse_key(const struct file *file, const char *name)
{
    const char *suggestion = nearest(file->command->rows, name, strlen(name));

    return suggestion != NULL ? refuse_line(file, "unknown key \"%s\"; did you mean \"%s\"?", name, suggestion)
                              : refuse_line(file, "unknown key \"%s\"; --help lists all", name);
}

static bool read_line(struct file *file, char *line)
{
    char *name = trim(line);
    char *equals = strchr(name, '=');
    const char *cause = NULL;

    if (*name == '\0' || *name == '#') {
        return true;
    }
    if (equals == NULL) {
        return refuse_line(file, "expected `name = value`");
    }
    *equals = '\0';
    name = trim(name);
    const struct option_row *row = find_long(file->command->rows, name, strlen(name));
    if (row == NULL) {
        return refuse_key(file, name);
    }
    unsigned *named_in = &file->named_in[row - file->command->rows];
    if (*named_in != 0) {
        return refuse_line(file, "duplicate %s, first in line %u", name, *named_in);
    }
    *named_in = file->line;
    char *value = unquote(trim(equals + 1), &cause);
    if (value == NULL) {
        return refuse_line(file, "%s", cause);
    }
    char *kept = keep(value);
    char shown[TRIB_ERROR_TEXT_MAX];
    (void)snprintf(shown, sizeof shown, "%.200s:%u: %s", file->path, file->line, name);
    return kept != NULL && apply(row, shown, kept, file->target);
}

/* One line of len bytes, without its end. */
static bool take_line(struct file *file, char *line, size_t len)
{
    if (strlen(line) != len) {
        return refuse_line(file, "a NUL byte: not a text file");
    }
    if (file->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) {
        return refuse_line(file, "a byte order mark: save the file as UTF-8 without it");
    }
    if (len > LINE_LEN_MAX) {
        return refuse_line(file, "a line is longer than %d bytes", LINE_LEN_MAX);
    }
    return read_line(file, line);
}

bool options_read_file(const struct option_command *command, const char *path, void *target)
{
    struct file file = {.command = command, .path = path, .target = target, .line = 1};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);
    bool good = true;

    for (size_t rows = 0; command->rows[rows].name != NULL; rows++) {
        TRIB_ASSERT(rows < ROWS_MAX);
    }
    if (text == NULL) {
        complain("cannot read the configuration %s", error);
        return false;
    }
    for (char *line = text; good && line < text + len; file.line++) {
        char *end = memchr(line, '\n', (size_t)(text + len - line));
        end = end != NULL ? end : text + len;
        *end = '\0';
        good = take_line(&file, line, (size_t)(end - line));
        line = end + 1;
    }
    free(text);
    return good;
}

/* ---- readers ---- */

OPTION_READER(option_on)
{
    (void)kind;
    if (*text == '\0') {
        *(bool *)field = true;
        return TRIB_OK;
    }
    return trib_parse_bool(text, field, error);
}

OPTION_READER(option_off)
{
    bool named = true;
    enum trib_status status = *text == '\0' ? TRIB_OK : trib_parse_bool(text, &named, error);

    (void)kind;
    if (status == TRIB_OK) {
        *(bool *)field = !named;
    }
    return status;
}

OPTION_READER(option_text)
{
    size_t len = strlen(text);

    if (len < kind->min || len > kind->max) {
        trib_explain(error, "\"%.80s\" is not from %" PRIu64 " to %" PRIu64 " bytes long", text, kind->min, kind->max);
        return TRIB_ERR_INVALID;
    }
    if (!trib_is_printable(text)) {
        trib_explain(error, "\"%.80s\" holds a control byte", text);
        return TRIB_ERR_INVALID;
    }
    *(const char **)field = text;
    return TRIB_OK;
}

OPTION_READER(option_address)
{
    const char *read = NULL;
    enum trib_status status = option_text(kind, text, &read, error);

    if (status == TRIB_OK) {
        status = trib_address_check(text, error);
    }
    if (status == TRIB_OK) {
        *(const char **)field = text;
    }
    return status;
}

OPTION_READER(option_addresses)
{
    const char *read = NULL;
    enum trib_status status = option_text(kind, text, &read, error);

    for (const char *at = text; status == TRIB_OK && at != NULL;) {
        char word[256];
        const char *comma = strchr(at, ',');
        size_t len = comma != NULL ? (size_t)(comma - at) : strlen(at);
        (void)snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word), at);
        status = trib_address_check(word, error);
        at = comma != NULL ? comma + 1 : NULL;
    }
    if (status == TRIB_OK) {
        *(const char **)field = text;
    }
    return status;
}

OPTION_READER(option_number)
{
    return trib_parse_number(text, kind->min, kind->max, field, error);
}

OPTION_READER(option_count)
{
    uint64_t value = 0;
    enum trib_status status = option_number(kind, text, &value, error);

    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)value;
    }
    return status;
}

/* Checks a parsed value against its bounds. */
static enum trib_status take_bounded(const struct option_kind *kind, const char *text, enum trib_status status,
                                     uint64_t value, uint64_t *field, char *error)
{
    void (*format)(uint64_t, char *) = kind->read == option_duration ? trib_format_duration : trib_format_size;

    if (status == TRIB_OK) {
        status = trib_check_within(text, value, kind->min, kind->max, format, error);
    }
    if (status == TRIB_OK) {
        *field = value;
    }
    return status;
}

OPTION_READER(option_size)
{
    uint64_t value = 0;
    enum trib_status status = trib_parse_size(text, &value, error);

    return take_bounded(kind, text, status, value, field, error);
}

OPTION_READER(option_size_short)
{
    uint64_t value = 0;
    enum trib_status status = trib_parse_size_short(text, &value, error);

    return take_bounded(kind, text, status, value, field, error);
}

OPTION_READER(option_size32)
{
    uint64_t value = 0;
    enum trib_status status = option_size(kind, text, &value, error);

    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)value;
    }
    return status;
}

OPTION_READER(option_duration)
{
    uint64_t value = 0;
    enum trib_status status = trib_parse_duration(text, &value, error);

    return take_bounded(kind, text, status, value, field, error);
}

OPTION_READER(option_percent)
{
    (void)kind;
    return trib_parse_percent(text, field, error);
}

OPTION_READER(option_wire)
{
    static const struct {
        const char *name;
        enum trib_wire wire;
    } wires[] = {{"float32", TRIB_WIRE_FLOAT32}, {"bfloat16", TRIB_WIRE_BFLOAT16}, {"int32", TRIB_WIRE_INT32}};

    (void)kind;
    for (size_t i = 0; i < sizeof wires / sizeof wires[0]; i++) {
        if (strcmp(text, wires[i].name) == 0) {
            *(enum trib_wire *)field = wires[i].wire;
            return TRIB_OK;
        }
    }
    trib_explain(error, "\"%.40s\" is none of float32, bfloat16, int32", text);
    return TRIB_ERR_INVALID;
}
