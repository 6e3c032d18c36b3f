/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: see options.h. Read next: main.c. */
#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/nearest.h"
#include "io/units.h"

int complain(const char *format, ...)
{
    char text[2 * TRIB_ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tributary: %s\n", text);
    return 1;
}

void print_quoted(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar(*text);
    }
    putchar('"');
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

    if (row->read(text, (char *)target + row->offset, error) == TRIB_OK) {
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
        complain("unknown option %s; --help lists what there is", shown);
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
    return apply(row, word, text, target) ? OPTIONS_OK : OPTIONS_BAD;
}

enum option_outcome options_read(const struct option_command *command, int argc, char **argv, void *target, int *rest)
{
    int at = 1;

    for (; at < argc; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (argv[at][0] != '-' || argv[at][1] == '\0') {
            break;
        }
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            print_help(command);
            return OPTIONS_HELP;
        }
        enum option_outcome outcome = read_one(command, argc, argv, &at, target);
        if (outcome != OPTIONS_OK) {
            return outcome;
        }
    }
    *rest = at;
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

/* The value of a line: in quotes, or bare up to a comment. NULL: a quote that does not end. */
static char *unquote(char *text)
{
    if (*text == '"') {
        char *end = strchr(text + 1, '"');
        if (end == NULL) {
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

/* Fields keep pointers to texts, so what a file says lives as long as the program, or until options_forget. */
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

static bool read_line(const struct option_command *command, char *line, const char *where, void *target)
{
    char *name = trim(line);
    char *equals = strchr(name, '=');

    if (*name == '\0' || *name == '#') {
        return true;
    }
    if (equals == NULL) {
        complain("%s: expected `name = value`", where);
        return false;
    }
    *equals = '\0';
    name = trim(name);
    const struct option_row *row = find_long(command->rows, name, strlen(name));
    if (row == NULL) {
        const char *suggestion = nearest(command->rows, name, strlen(name));
        complain("%s: unknown key \"%s\"%s%s%s", where, name, suggestion ? "; did you mean \"" : "",
                 suggestion ? suggestion : "", suggestion ? "\"?" : "");
        return false;
    }
    char *value = unquote(trim(equals + 1));
    if (value == NULL) {
        complain("%s: a quote does not end", where);
        return false;
    }
    char *kept = keep(value);
    char shown[TRIB_ERROR_TEXT_MAX];
    snprintf(shown, sizeof shown, "%s: %s", where, name);
    return kept != NULL && apply(row, shown, kept, target);
}

bool options_read_file(const struct option_command *command, const char *path, void *target)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    bool good = true;

    if (file == NULL) {
        complain("cannot read the configuration %s: %s", path, strerror(errno));
        return false;
    }
    for (unsigned number = 1; good && fgets(line, sizeof line, file) != NULL; number++) {
        char where[TRIB_ERROR_TEXT_MAX / 2];
        snprintf(where, sizeof where, "%.200s:%u", path, number);
        if (strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n') {
            complain("%s: a line is longer than %zu bytes", where, sizeof line - 2);
            good = false;
        } else {
            good = read_line(command, line, where, target);
        }
    }
    if (good && ferror(file)) {
        complain("cannot read the configuration %s: %s", path, strerror(errno));
        good = false;
    }
    fclose(file);
    return good;
}

/* ---- readers ---- */

enum trib_status option_on(const char *text, void *field, char *error)
{
    if (*text == '\0') {
        *(bool *)field = true;
        return TRIB_OK;
    }
    return trib_parse_bool(text, field, error);
}

enum trib_status option_off(const char *text, void *field, char *error)
{
    bool named = true;
    enum trib_status status = *text == '\0' ? TRIB_OK : trib_parse_bool(text, &named, error);

    if (status == TRIB_OK) {
        *(bool *)field = !named;
    }
    return status;
}

enum trib_status option_text(const char *text, void *field, char *error)
{
    (void)error;
    *(const char **)field = text;
    return TRIB_OK;
}

enum trib_status option_count(const char *text, void *field, char *error)
{
    uint64_t value = 0;
    enum trib_status status = trib_parse_number(text, 0, 1000000000, &value, error);

    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)value;
    }
    return status;
}

enum trib_status option_seed(const char *text, void *field, char *error)
{
    return trib_parse_number(text, 0, UINT64_MAX, field, error);
}

enum trib_status option_size(const char *text, void *field, char *error)
{
    return trib_parse_size(text, field, error);
}

enum trib_status option_size32(const char *text, void *field, char *error)
{
    uint64_t value = 0;
    enum trib_status status = trib_parse_size_short(text, &value, error);

    if (status == TRIB_OK && value > UINT32_MAX) {
        snprintf(error, TRIB_ERROR_TEXT_MAX, "\"%s\" is more than 4 GiB - 1", text);
        return TRIB_ERR_INVALID;
    }
    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)value;
    }
    return status;
}

enum trib_status option_size_short(const char *text, void *field, char *error)
{
    return trib_parse_size_short(text, field, error);
}

enum trib_status option_duration(const char *text, void *field, char *error)
{
    return trib_parse_duration(text, field, error);
}

enum trib_status option_percent(const char *text, void *field, char *error)
{
    return trib_parse_percent(text, field, error);
}

enum trib_status option_wire(const char *text, void *field, char *error)
{
    static const struct {
        const char *name;
        enum trib_wire wire;
    } wires[] = {{"float32", TRIB_WIRE_FLOAT32}, {"bfloat16", TRIB_WIRE_BFLOAT16}, {"int32", TRIB_WIRE_INT32}};

    for (size_t i = 0; i < sizeof wires / sizeof wires[0]; i++) {
        if (strcmp(text, wires[i].name) == 0) {
            *(enum trib_wire *)field = wires[i].wire;
            return TRIB_OK;
        }
    }
    snprintf(error, TRIB_ERROR_TEXT_MAX, "\"%.40s\" is none of float32, bfloat16, int32", text);
    return TRIB_ERR_INVALID;
}

enum trib_status option_name(const char *text, void *field, char *error)
{
    if (strlen(text) > TRIB_NAME_MAX || *text == '\0') {
        snprintf(error, TRIB_ERROR_TEXT_MAX, "expected 1 to %d bytes", TRIB_NAME_MAX);
        return TRIB_ERR_INVALID;
    }
    memcpy(field, text, strlen(text) + 1);
    return TRIB_OK;
}
