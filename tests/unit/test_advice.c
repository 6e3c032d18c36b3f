/* SPDX-License-Identifier: Apache-2.0 */
/* test_advice.c: the settings, options and commands that texts of the program recommend exist and are accepted, and no
 * error text is empty. The texts are the string literals of src: an advice cannot be forgotten here. */
#define _GNU_SOURCE
#include <ctype.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "comm/environment.h"
#include "core/packet.h"
#include "published/published.h"
#include "schemes/schemes.h"

#define LITERAL_MAX 65536
#define WORD_MAX 256

static unsigned settings, options_named, sysctls, error_texts;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static const struct trib_variable *find_variable(const char *name)
{
    const struct trib_variable *variable;
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL; i++) {
        if (strcmp(variable->name, name) == 0) {
            return variable;
        }
    }
    return NULL;
}

static bool is_in_header(const char *name)
{
    static char text[LITERAL_MAX];
    if (text[0] == '\0') {
        FILE *file = fopen(TRIB_TEST_DIR "/../include/tributary/comm.h", "r");
        assert_non_null(file);
        assert_true(fread(text, 1, sizeof text - 1, file) > 0);
        (void)fclose(file);
    }
    return strstr(text, name) != NULL;
}

/* The value that the text at `from` would show: conversions become what the program would write there. */
static void make_value(const char *from, char value[WORD_MAX])
{
    size_t len = 0;
    while (*from != '\0' && strchr(" ;)\n", *from) == NULL && len < WORD_MAX - 32) {
        if (*from == '%' && from[1] == 'u') {
            len += (size_t)sprintf(value + len, "1088");
            from += 2;
        } else if (*from == '%' && from[1] == 's') {
            len += (size_t)sprintf(value + len, "10.0.0.1");
            from += 2;
        } else if (strncmp(from, "HOST:PORT", 9) == 0) {
            len += (size_t)sprintf(value + len, "10.0.0.1:7470");
            from += 9;
        } else {
            value[len++] = *from++;
        }
    }
    while (len > 0 && strchr(",.", value[len - 1]) != NULL) {
        len--;
    }
    value[len] = '\0';
}

/* TRIB_NAME or TRIB_NAME=VALUE at `at`. */
static void try_setting(const char *file, const char *at)
{
    char name[WORD_MAX];
    char value[WORD_MAX];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_config config;
    size_t len = 0;
    while (len < WORD_MAX - 1 &&
           (isupper((unsigned char)at[len]) || isdigit((unsigned char)at[len]) || at[len] == '_')) {
        name[len] = at[len];
        len++;
    }
    name[len] = '\0';
    const struct trib_variable *variable = find_variable(name);
    if (len == strlen("TRIB_")) {
        return; /* the prefix alone */
    }
    if (variable == NULL && is_in_header(name)) {
        return; /* a constant of the C API */
    }
    if (variable == NULL) {
        fail_msg("%s recommends %s: there is no such variable", file, name);
    }
    settings++;
    make_value(at + len + 1, value);
    if (at[len] != '=' || value[0] == '\0' || variable->read == NULL) {
        return;
    }
    trib_config_init(&config);
    if (trib_variable_read(variable, value, &config, error) != TRIB_OK) {
        fail_msg("%s recommends %s=%s, which is refused: %s", file, name, value, error);
    }
}

static bool is_option(const char *name)
{
    if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
        return true;
    }
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        for (const struct option_row *row = command_at(i)->options->rows; row->name != NULL; row++) {
            if (strcmp(row->name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void try_option(const char *file, const char *at)
{
    char name[WORD_MAX];
    size_t len = 0;
    for (at += 2; len < WORD_MAX - 1 && is_word(at[len]); len++) {
        name[len] = at[len];
    }
    name[len] = '\0';
    /* A build without libcurl does not know those of `tributary jobs`. */
    if (!is_option(name) && is_option("watch")) {
        fail_msg("%s names --%s: no command has this option", file, name);
    }
    options_named++;
}

/* `tributary NAME` in backquotes. */
static void try_command(const char *file, const char *at)
{
    size_t len = 0;
    at += strlen("`tributary ");
    while (is_word(at[len])) {
        len++;
    }
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        if (strlen(command_at(i)->name) == len && strncmp(command_at(i)->name, at, len) == 0) {
            return;
        }
    }
    if (len > 0 && at[0] != '-') {
        fail_msg("%s names `tributary %.*s`: there is no such command", file, (int)len, at);
    }
}

/* net.core.NAME=%u: a file of the kernel's. */
static void try_sysctl(const char *file, const char *at)
{
    char path[WORD_MAX] = "/proc/sys/";
    size_t len = strlen(path);
    for (; (is_word(*at) || *at == '.') && len < WORD_MAX - 1; at++) {
        path[len++] = *at == '.' ? '/' : *at;
    }
    path[len] = '\0';
    if (*at == '=' && access("/proc/sys/net/core/rmem_max", F_OK) == 0 && access(path, F_OK) != 0) {
        fail_msg("%s recommends a sysctl that is not there: %s", file, path);
    }
    sysctls += *at == '=';
}

static void try_literal(const char *file, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || !is_word(at[-1]);
        if (begins && strncmp(at, "TRIB_", 5) == 0) {
            try_setting(file, at);
        } else if (begins && strncmp(at, "--", 2) == 0 && isalpha((unsigned char)at[2])) {
            try_option(file, at);
        } else if (strncmp(at, "`tributary ", 11) == 0) {
            try_command(file, at);
        } else if (begins && strncmp(at, "net.core.", 9) == 0) {
            try_sysctl(file, at);
        }
    }
}

/* ---- C source ---- */

static const char *skip_comment(const char *at)
{
    const char *end = at[1] == '*' ? strstr(at + 2, "*/") : strchr(at, '\n');
    return end == NULL ? at + strlen(at) : at[1] == '*' ? end + 2 : end;
}

/* One literal from its quote on, appended to text. Returns the place behind it. */
static const char *read_literal(const char *at, char *text, size_t *len)
{
    for (at++; *at != '"' && *at != '\0'; at++) {
        char c = *at;
        if (c == '\\') {
            at++;
            c = *at == 'n' ? '\n' : *at == '"' ? '"' : ' ';
        }
        if (*len < LITERAL_MAX - 1) {
            text[(*len)++] = c;
        }
    }
    return *at == '"' ? at + 1 : at;
}

/* Literals beside each other are one, as for the compiler. */
static void try_source(const char *file, const char *at)
{
    static char text[LITERAL_MAX];
    size_t len = 0;
    while (*at != '\0') {
        if (*at == '#') {
            at += strncmp(at, "#include", 8) == 0 ? strcspn(at, "\n") : 1;
        } else if (at[0] == '/' && (at[1] == '*' || at[1] == '/')) {
            at = skip_comment(at);
        } else if (at[0] == '\'') {
            at += at[1] == '\\' ? 4 : 3;
        } else if (*at == '"') {
            at = read_literal(at, text, &len);
            continue;
        } else {
            if (len > 0 && !isspace((unsigned char)*at)) {
                text[len] = '\0';
                try_literal(file, text);
                len = 0;
            }
            at++;
        }
    }
}

/* The longest literal of each call of `name` is its text: some words, or a name and another text (%s). */
static void try_calls(const char *file, const char *source, const char *name)
{
    static char text[2][LITERAL_MAX];
    for (const char *at = source; (at = strstr(at, name)) != NULL; at += strlen(name)) {
        unsigned best = 0;
        size_t most = 0;
        bool is_other = false;
        const char *quote = at + strcspn(at, "\";");
        if ((at > source && is_word(at[-1])) || *quote != '"') {
            continue; /* another name, a declaration, or a text made elsewhere */
        }
        for (text[0][0] = '\0'; *quote == '"'; quote += strcspn(quote, "\";")) {
            size_t len = 0;
            for (; *quote == '"'; quote += strspn(quote, " \n")) {
                quote = read_literal(quote, text[1 - best], &len);
            }
            text[1 - best][len] = '\0';
            is_other = is_other || strstr(text[1 - best], "%s") != NULL || strstr(text[1 - best], "%.") != NULL;
            best = len > most ? 1 - best : best;
            most = len > most ? len : most;
        }
        const char *said = text[best];
        if (!is_other && (most < 8 || strchr(said, ' ') == NULL)) {
            fail_msg("%s: %s...\"%s\") says too little", file, name, said);
        }
        error_texts++;
    }
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)at;
    const char *end = strrchr(path, '.');
    if (kind != FTW_F || end == NULL || (strcmp(end, ".c") != 0 && strcmp(end, ".h") != 0)) {
        return 0;
    }
    char *text = calloc(1, (size_t)status->st_size + 8);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, (size_t)status->st_size, file), status->st_size);
    (void)fclose(file);
    try_source(path, text);
    try_calls(path, text, "trib_explain(");
    try_calls(path, text, "sim__refuse(");
    try_calls(path, text, "complain(");
    free(text);
    return 0;
}

static void advice__is_accepted(void **state)
{
    (void)state;
    assert_int_equal(nftw(TRIB_TEST_DIR "/../src", visit, 16, FTW_PHYS), 0);
    assert_true(settings > 40 && options_named > 40 && sysctls == 2); /* what there was when this was written */
    assert_true(error_texts > 400);
}

/* The tables of texts: each has one for each of its values, and no two say the same. */
static void tables__have_a_text_for_each_value(void **state)
{
    static const char *const statuses[] = {
#define X(name, value, text) text,
        TRIB_STATUS_MAP(X)
#undef X
    };
    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        assert_true(strlen(statuses[i]) > 1);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(statuses[i], statuses[k]);
        }
    }
    for (int drop = 0; drop < TRIB_DROP_COUNT; drop++) {
        assert_true(strlen(trib_drop_name((enum trib_drop)drop)) > 1);
        assert_true(strlen(trib_drop_text((enum trib_drop)drop)) > 1);
    }
}

/* A scheme that a job cannot run says which it can. */
static void schemes__refusals_name_the_remedy(void **state)
{
    const struct trib_scheme *scheme;
    unsigned refused = 0;
    (void)state;
    for (unsigned i = 0; (scheme = trib_published_at(i)) != NULL; i++) {
        assert_true(strlen(scheme->guarantee) > 1);
        if (scheme->refusal != NULL) {
            const char *remedy = strstr(scheme->refusal, "; jobs use ");
            assert_non_null(remedy);
            assert_non_null(trib_scheme_find(remedy + strlen("; jobs use ")));
            refused++;
        }
    }
    assert_int_equal(refused, 4);
    assert_non_null(strstr(trib_scheme_explain("switchml:7/8"), "panama has"));
    assert_non_null(strstr(trib_scheme_explain("ring:2"), "hybrid has"));
}

/* `info` shows an example of each variable. */
static void payload__is_read_in_every_form_that_is_shown(void **state)
{
    static const char *const good[] = {"8192", "8192B", "8KiB", "8K", "64"};
    static const char *const bad[] = {"", "0", "63", "8256", "9000B", "1M", "-64", "64.5", "99999999999999999999"};
    const struct trib_variable *variable = find_variable("TRIB_PAYLOAD");
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_config config;
    (void)state;
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(trib_variable_read(variable, good[i], &config, error), TRIB_OK);
        assert_int_equal(config.payload, i < 4 ? 8192 : 64);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(trib_variable_read(variable, bad[i], &config, error), TRIB_ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice__is_accepted),
        cmocka_unit_test(tables__have_a_text_for_each_value),
        cmocka_unit_test(schemes__refusals_name_the_remedy),
        cmocka_unit_test(payload__is_read_in_every_form_that_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
