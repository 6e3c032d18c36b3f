/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: see explain.h. */
#define _GNU_SOURCE
#include "io/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <tributary/comm.h>

#define ESCAPE_LEN 4 /* "\x1b" */

/* Bytes of the printable UTF-8 character at text, which ends with a zero; 0: not printable. */
static size_t printable_len(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t len = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (len == 1) {
        return at[0] >= 0x20 && at[0] != 0x7f;
    }
    /* U+0080 to U+009F are control characters, too */
    if (at[0] < 0xc2 || at[0] > 0xf4 || (at[0] == 0xc2 && at[1] < 0xa0)) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

bool trib_is_printable(const char *text)
{
    size_t len = 0;
    while (*text != '\0' && (len = printable_len(text)) > 0) {
        text += len;
    }
    return *text == '\0';
}

bool trib_is_plain(const char *text)
{
    while (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\') {
        text++;
    }
    return *text == '\0';
}

void trib_make_printable(char *text, size_t size)
{
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        size_t good = printable_len(text + at);
        if (good > 0) {
            at += good;
            continue;
        }
        if (at + ESCAPE_LEN >= size) {
            text[at] = '\0';
            return;
        }
        char escape[ESCAPE_LEN + 1];
        size_t rest = len - at - 1;
        size_t room = size - 1 - at - ESCAPE_LEN;
        rest = rest < room ? rest : room;
        (void)snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)text[at]);
        memmove(text + at + ESCAPE_LEN, text + at + 1, rest);
        memcpy(text + at, escape, ESCAPE_LEN);
        at += ESCAPE_LEN;
        len = at + rest;
        text[len] = '\0';
    }
}

void trib_explain(char *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TRIB_ERROR_TEXT_MAX, format, arguments);
    va_end(arguments);
    trib_make_printable(error, TRIB_ERROR_TEXT_MAX);
}

const char *trib_explain_errno(int cause)
{
    static _Thread_local char text[128];
    char own[96];
    struct rlimit files;
    const char *name = strerror_r(cause, own, sizeof own); /* strerror is not thread-safe */

    if (cause == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        (void)snprintf(text, sizeof text, "%s: raise `ulimit -n`, which is %" PRIuMAX, name, (uintmax_t)files.rlim_cur);
    } else if (cause == EAGAIN) { /* of fork, or of a thread */
        (void)snprintf(text, sizeof text, "%s: raise `ulimit -u`, or the limit of processes of this container", name);
    } else if (cause == EFBIG) {
        (void)snprintf(text, sizeof text, "%s: raise `ulimit -f`, which limits shared memory as well", name);
    } else if (cause == ENFILE) {
        (void)snprintf(text, sizeof text, "%s: raise sysctl fs.file-max", name);
    } else {
        (void)snprintf(text, sizeof text, "%s", name);
    }
    return text;
}

const char *trib_explain_alike(const char *one, const char *other)
{
    bool are_alike = one[0] != '\0' && strncmp(one, other, TRIB_ALIKE_SHOWN) == 0;
    return are_alike ? "; both read the same: they differ in what is not shown, as shares beyond the first 8, or the "
                       "group that they are in"
                     : "";
}

static const char *name_of(const char *run)
{
    return run[0] != '\0' ? run : "a run without a name";
}

void trib_explain_runs(char *error, const char *job, const char *first_run, uint32_t first, const char *run,
                       uint32_t rank)
{
    trib_explain(error,
                 "two runs of job %s: rank %u is of %s, rank %u of %s: give each run a job name of its own (TRIB_JOB); "
                 "if they are one run, give all its ranks the same TRIB_RUN",
                 job, first, name_of(first_run), rank, name_of(run));
}
