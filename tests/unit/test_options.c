/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: every option of every command, every key of a configuration file and every environment variable with
 * values of the wrong kind. The cases come from the tables of the program: a new option is tried without a line here.
 * A value is taken, or refused in one printable line that names the option; what is refused changes nothing. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "comm/environment.h"
#include "io/explain.h"

#define TARGET_SIZE 65536
#define SAID_SIZE 16384
#define LONG_LEN 5000

enum verdict { REFUSED, TAKEN, EITHER };

static unsigned cases;
static char said[SAID_SIZE]; /* on standard error, by the last call */
static _Alignas(max_align_t) char target[TARGET_SIZE];

/* ---- one case ---- */

static int before_fd, memory_fd;

static void listen_begin(void)
{
    (void)fflush(stderr);
    before_fd = dup(STDERR_FILENO);
    memory_fd = memfd_create("said", 0);
    assert_true(before_fd >= 0 && memory_fd >= 0 && dup2(memory_fd, STDERR_FILENO) >= 0);
}

static void listen_end(void)
{
    assert_true(dup2(before_fd, STDERR_FILENO) >= 0);
    (void)lseek(memory_fd, 0, SEEK_SET);
    ssize_t len = read(memory_fd, said, sizeof said - 1);
    said[len > 0 ? len : 0] = '\0';
    (void)close(memory_fd);
    (void)close(before_fd);
}

/* One line that a terminal shows as it is, and that begins so. */
static void check_said(const char *begin, const char *what)
{
    size_t len = strlen(said);
    if (len == 0 || said[len - 1] != '\n') {
        fail_msg("%s: no line is said, but \"%s\"", what, said);
    }
    said[len - 1] = '\0';
    if (!trib_is_printable(said) || len > 2 * TRIB_ERROR_TEXT_MAX + 16) {
        fail_msg("%s: not one printable line: %s", what, said);
    }
    if (strncmp(said, begin, strlen(begin)) != 0) {
        fail_msg("%s: \"%s\" does not begin with \"%s\"", what, said, begin);
    }
}

static void judge(enum verdict want, bool is_taken, const char *begin, const char *what)
{
    static const char zeros[TARGET_SIZE];
    cases++;
    if (want != EITHER && is_taken != (want == TAKEN)) {
        fail_msg("%s: is %s", what, is_taken ? "taken" : said);
    }
    if (is_taken && said[0] != '\0') {
        fail_msg("%s: is taken, with \"%s\"", what, said);
    }
    if (!is_taken) {
        check_said(begin, what);
        assert_memory_equal(target, zeros, sizeof zeros);
    }
}

static void try_words(const struct command *command, char **words, int count, enum verdict want, const char *begin)
{
    char what[256];
    char *argv[8] = {(char *)(uintptr_t)command->name};
    int rest = 0;
    memcpy(argv + 1, words, (size_t)count * sizeof *words);
    (void)snprintf(what, sizeof what, "%s %.60s %.60s", command->name, words[0], count > 1 ? words[1] : "");
    memset(target, 0, sizeof target);
    listen_begin();
    enum option_outcome outcome = options_read(command->options, count + 1, argv, target, &rest);
    listen_end();
    assert_true(outcome == OPTIONS_BAD || rest == count + 1);
    judge(want, outcome == OPTIONS_OK, begin, what);
}

static void try_file(const struct option_row *row, const char *value, enum verdict want)
{
    char path[] = "/tmp/tributary-options-XXXXXX";
    char begin[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)dprintf(fd, "%s = \"%s\"\n", row->name, value);
    (void)close(fd);
    (void)snprintf(begin, sizeof begin, "tributary: %s:", path);
    memset(target, 0, sizeof target);
    listen_begin();
    bool is_taken = options_read_file(&options_of_switch, path, target);
    listen_end();
    (void)unlink(path);
    judge(want, is_taken, begin, row->name);
}

/* In all ways in which a value can be written. */
static void try(const struct command *command, const struct option_row *row, const char *value, enum verdict want)
{
    static char joined[LONG_LEN + 128];
    char name[64];
    char letter[3] = {'-', row->letter, '\0'};
    char begin[96];
    (void)snprintf(name, sizeof name, "--%s", row->name);
    (void)snprintf(joined, sizeof joined, "--%s=%s", row->name, value);
    (void)snprintf(begin, sizeof begin, "tributary: --%s", row->name);
    try_words(command, (char *[]){joined}, 1, want, begin);
    if (row->argument != NULL) {
        try_words(command, (char *[]){name, (char *)(uintptr_t)value}, 2, want, begin);
    }
    if (row->argument != NULL && row->letter != 0) {
        (void)snprintf(begin, sizeof begin, "tributary: %s: ", letter);
        try_words(command, (char *[]){letter, (char *)(uintptr_t)value}, 2, want, begin);
    }
    /* In quotes a value may hold a # and blanks, but no quote and no line end. */
    if (command->options == &options_of_switch && strpbrk(value, "\"\n") == NULL && strlen(value) < 900 &&
        (row->argument != NULL || *value != '\0')) {
        try_file(row, value, want);
    }
}

/* ---- the cases of a row ---- */

static bool is_read_by(const struct option_row *row,
                       enum trib_status (*read)(const struct option_kind *, const char *, void *, char *))
{
    return row->kind->read == read;
}

/* What becomes of a number or a word. EITHER: an address, or a reader that one command has for itself. */
static enum verdict verdict_of(const struct option_row *row)
{
    static enum trib_status (*const known[])(const struct option_kind *, const char *, void *, char *) = {
        option_on,   option_off,    option_count,      option_number,   option_percent,
        option_size, option_size32, option_size_short, option_duration, option_wire};
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (row->kind->read == known[i]) {
            return REFUSED;
        }
    }
    return is_read_by(row, option_text) ? TAKEN : EITHER;
}

static void try_wrong_kinds(const struct command *command, const struct option_row *row)
{
    static char longest[LONG_LEN + 1];
    memset(longest, 'x', LONG_LEN);
    enum verdict verdict = verdict_of(row);
    static const char *const never[] = {"",
                                        "\033[31mred",
                                        "a\nb",
                                        "\xff\xfe",
                                        "a\177",
                                        ("\xc2\x9b"
                                         "1m")};
    for (unsigned i = 0; i < sizeof never / sizeof never[0]; i++) {
        try(command, row, never[i], REFUSED);
    }
    try(command, row, longest, REFUSED);
    static const char *const numbers[] = {"99999999999999999999999", "1e3", "0x10", "1.5.2", " 1", "1 ", "+1", "nan"};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        try(command, row, numbers[i], verdict);
    }
    try(command, row, "-1", verdict);
    try(command, row, "nonsense", verdict);
}

static void try_bounds(const struct command *command, const struct option_row *row)
{
    const struct option_kind *kind = row->kind;
    bool is_size = is_read_by(row, option_size) || is_read_by(row, option_size32) || is_read_by(row, option_size_short);
    const char *unit = is_size ? "B" : is_read_by(row, option_duration) ? "ns" : "";
    char value[64];
    if (!is_size && unit[0] == '\0' && !is_read_by(row, option_count) && !is_read_by(row, option_number)) {
        return;
    }
    const struct {
        bool is_there;
        uint64_t value;
        enum verdict want;
    } bounds[] = {{true, kind->min, TAKEN},
                  {true, kind->max, TAKEN},
                  {kind->min > 0, kind->min - 1, REFUSED},
                  {kind->max < UINT64_MAX, kind->max + 1, REFUSED},
                  {kind->max < UINT64_MAX, UINT64_MAX, REFUSED}};
    for (unsigned i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        (void)snprintf(value, sizeof value, "%llu%s", (unsigned long long)bounds[i].value, unit);
        if (bounds[i].is_there) {
            try(command, row, value, bounds[i].want);
        }
    }
    (void)snprintf(value, sizeof value, "%llu", (unsigned long long)kind->max);
    try(command, row, value, unit[0] == '\0' || is_read_by(row, option_size_short) ? TAKEN : REFUSED);
}

static void try_text_bounds(const struct command *command, const struct option_row *row)
{
    static char text[LONG_LEN + 1];
    if (!is_read_by(row, option_text)) {
        return;
    }
    memset(text, 'x', LONG_LEN);
    text[row->kind->max] = '\0';
    try(command, row, text, TAKEN);
    text[row->kind->max] = 'x';
    text[row->kind->max + 1] = '\0';
    try(command, row, text, REFUSED);
}

static void try_addresses(const struct command *command, const struct option_row *row)
{
    static const char *const wrong[] = {":1",
                                        "h:",
                                        "h:x",
                                        "h:65536",
                                        "[::1",
                                        "[::1]x",
                                        "1.2.3.4.5",
                                        "10.0.0.256",
                                        "239.1.1.1",
                                        "224.0.0.1:7470",
                                        "255.255.255.255",
                                        "[ff02::1]:1",
                                        "fe80::1",
                                        "a b",
                                        "h:-1",
                                        "none:none"};
    if (!is_read_by(row, option_address) && !is_read_by(row, option_addresses)) {
        return;
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        try(command, row, wrong[i], REFUSED);
    }
    try(command, row, "10.0.0.1", TAKEN);
    try(command, row, "switch-1.rack_2.example:7470", TAKEN);
    try(command, row, "[fd00::1]:7470", TAKEN);
    try(command, row, "10.0.0.1,10.0.0.2:99", is_read_by(row, option_addresses) ? TAKEN : REFUSED);
    try(command, row, "10.0.0.1,", REFUSED);
    try(command, row, ",10.0.0.1", REFUSED);
}

/* A name that is cut short, and one without its value. */
static void try_names(const struct command *command, const struct option_row *row)
{
    char name[64];
    char begin[128];
    (void)snprintf(name, sizeof name, "--%s", row->name);
    if (row->argument != NULL) {
        (void)snprintf(begin, sizeof begin, "tributary: %s needs a value: ", name);
        try_words(command, (char *[]){name}, 1, REFUSED, begin);
    } else {
        try_words(command, (char *[]){name}, 1, TAKEN, "");
        try_words(command, (char *[]){name, name}, 2, TAKEN, ""); /* said twice it is on */
    }
    (void)snprintf(name, sizeof name, "--%sx", row->name);
    (void)snprintf(begin, sizeof begin, "tributary: unknown option %s; did you mean --", name);
    try_words(command, (char *[]){name}, 1, REFUSED, strlen(row->name) > 1 ? begin : "tributary: unknown option");
}

/* The last one counts, and each must be good. */
static void try_twice(const struct command *command, const struct option_row *row)
{
    char good[64];
    char bad[64];
    char begin[96];
    if (!is_read_by(row, option_count)) {
        return;
    }
    (void)snprintf(good, sizeof good, "--%s=%llu", row->name, (unsigned long long)row->kind->max);
    (void)snprintf(bad, sizeof bad, "--%s=x", row->name);
    (void)snprintf(begin, sizeof begin, "tributary: --%s: ", row->name);
    try_words(command, (char *[]){good, good}, 2, TAKEN, "");
    uint32_t value = 0;
    memcpy(&value, target + row->offset, sizeof value);
    assert_int_equal(value, row->kind->max);
    try_words(command, (char *[]){bad, good}, 2, REFUSED, begin);
}

static void options__each_takes_or_refuses_in_one_line(void **state)
{
    (void)state;
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        const struct command *command = command_at(i);
        for (const struct option_row *row = command->options->rows; row->name != NULL; row++) {
            assert_non_null(row->kind);
            try_wrong_kinds(command, row);
            try_bounds(command, row);
            try_text_bounds(command, row);
            try_addresses(command, row);
            try_names(command, row);
            try_twice(command, row);
        }
    }
    print_message("%u cases\n", cases);
    assert_true(cases > 4000); /* what there were when this was written */
}

/* ---- files ---- */

static void files__are_refused_by_line(void **state)
{
    static const struct {
        const char *text;
        size_t len; /* 0: of the text */
        const char *want;
    } files[] = {
        {"threads = 2\ndscp = 1\nthreads = 2\n", 0, ":3: duplicate threads, first in line 1"},
        {"threads = 2\0\n", 13, ":1: a NUL byte: not a text file"},
        {"\n\n\0", 3, ":3: a NUL byte: not a text file"},
        {"\xef\xbb\xbfthreads = 2\n", 0, ":1: a byte order mark: save the file as UTF-8 without it"},
        {"threads = \"2\" 3\n", 0, ":1: unexpected text after the quote"},
        {"threads = \"2\n", 0, ":1: unterminated quote"},
        {"thr\033eads = 2\n", 0, ":1: unknown key \"thr\\x1beads\"; did you mean \"threads\"?"},
        {"threads\n", 0, ":1: expected `name = value`"},
        {"xyzzyxyzzyxyzzy = 1\n", 0, ":1: unknown key \"xyzzyxyzzyxyzzy\"; --help lists all"},
        {"threads =\n", 0, ":1: threads: \"\" is not a whole number"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[] = "/tmp/tributary-options-XXXXXX";
        char want[512];
        int fd = mkstemp(path);
        size_t len = files[i].len > 0 ? files[i].len : strlen(files[i].text);
        assert_int_equal(write(fd, files[i].text, len), (ssize_t)len);
        (void)close(fd);
        (void)snprintf(want, sizeof want, "tributary: %s%s", path, files[i].want);
        memset(target, 0, sizeof target);
        listen_begin();
        bool is_taken = options_read_file(&options_of_switch, path, target);
        listen_end();
        (void)unlink(path);
        assert_false(is_taken);
        check_said(want, files[i].text);
    }
}

/* ---- the environment ---- */

static void variables__each_takes_or_refuses_in_one_line(void **state)
{
    static const char *const never[] = {"", "\033[31m", "a\nb", "\xff"};
    static const char *const wrong[] = {"-1", "nonsense", "99999999999999999999999", " 1", "1 "};
    static char longest[LONG_LEN + 1];
    const struct trib_variable *variable;
    unsigned read = 0;
    (void)state;
    memset(longest, 'x', LONG_LEN);
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL; i++) {
        struct trib_config config;
        char error[TRIB_ERROR_TEXT_MAX];
        trib_config_init(&config);
        for (unsigned k = 0; variable->read != NULL && k < 10; k++) {
            const char *value = k < 4 ? never[k] : k < 9 ? wrong[k - 4] : longest;
            error[0] = '\0';
            enum trib_status status = trib_variable_read(variable, value, &config, error);
            if (status == TRIB_OK && (k < 4 || k == 9)) {
                fail_msg("%s=%.40s is taken", variable->name, value);
            }
            if (status != TRIB_OK && (error[0] == '\0' || !trib_is_printable(error))) {
                fail_msg("%s=%.40s: not one printable line: %s", variable->name, value, error);
            }
            assert_int_equal(trib_variable_read(variable, value, &config, NULL), status);
            read++;
        }
    }
    assert_true(read > 250);
}

static void text__is_made_printable(void **state)
{
    static const struct {
        const char *from, *to;
        size_t size;
    } texts[] = {
        {"plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 64},
        {"a\033[31mb\x7f\n", "a\\x1b[31mb\\x7f\\x0a", 64},
        {"\xc2\x9b"
         "c",
         "\\xc2\\x9bc", 64},
        {"\xe2\x82", "\\xe2\\x82", 64}, /* cut in the middle */
        {"abc\033def", "abc\\x1bde", 10},
        {"abc\033def", "abc", 7},
        {"abc\033", "abc\\x1b", 8},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[64];
        (void)strcpy(text, texts[i].from);
        trib_make_printable(text, texts[i].size);
        assert_string_equal(text, texts[i].to);
        assert_true(trib_is_printable(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options__each_takes_or_refuses_in_one_line),
        cmocka_unit_test(files__are_refused_by_line),
        cmocka_unit_test(variables__each_takes_or_refuses_in_one_line),
        cmocka_unit_test(text__is_made_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
