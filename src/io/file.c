/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: see file.h. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "io/explain.h"

#define FILE_MAX (UINT64_C(1) << 30)
#define WRITER_MS 1000 /* wait for a writer started at the same time */

/* False: the pipe is empty, and no program has it open to write. file does not block. */
static bool has_writer(FILE *file)
{
    struct pollfd pipe = {.fd = fileno(file), .events = POLLIN};

    (void)poll(&pipe, 1, WRITER_MS);
    int first = fgetc(file);
    bool is_over = feof(file) != 0;
    clearerr(file); /* a slow writer gives EAGAIN */
    if (first != EOF) {
        (void)ungetc(first, file);
    }
    return !is_over;
}

/* Opens a file, or a pipe with a writer. NULL: error has the cause. A pipe without a writer is refused: a read would
 * never return. */
static FILE *open_file(const char *path, char *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    struct stat found;

    bool is_open = file != NULL && fstat(fd, &found) == 0;
    bool is_empty = is_open && S_ISFIFO(found.st_mode) && !has_writer(file);
    if (is_open && !is_empty && fcntl(fd, F_SETFL, 0) == 0) { /* from here on a slow writer is waited for */
        return file;
    }
    trib_explain(error, "%s: %s", path, is_empty ? "nothing is written to this pipe" : trib_explain_errno(errno));
    if (file != NULL) {
        (void)fclose(file);
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return NULL;
}

char *trib_file_read(const char *path, size_t *len, char *error)
{
    FILE *file = open_file(path, error);
    char *text = NULL;
    size_t room = 0;

    *len = 0;
    if (file == NULL) {
        return NULL;
    }
    do {
        if (room - *len < 2) {
            room = room == 0 ? 65536 : 2 * room;
            char *larger = room <= FILE_MAX ? realloc(text, room) : NULL;
            if (larger == NULL) {
                trib_explain(error, "%s: larger than memory allows", path);
                free(text);
                (void)fclose(file);
                return NULL;
            }
            text = larger;
        }
        *len += fread(text + *len, 1, room - 1 - *len, file);
    } while (!feof(file) && !ferror(file));
    text[*len] = '\0';
    if (ferror(file)) {
        trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

bool trib_file_make_folder(const char *path, char *error)
{
    struct stat found;

    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))) {
        if (access(path, W_OK | X_OK) == 0) {
            return true;
        }
        trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
        return false;
    }
    if (errno == EEXIST) {
        trib_explain(error, "%s is no folder: name one, or what is not there yet", path);
    } else {
        trib_explain(error, "%s: %s; name a folder that there is, or a new one in such", path,
                     trib_explain_errno(errno));
    }
    return false;
}

bool trib_file_is_same(const char *one, const char *other)
{
    struct stat a, b;

    if (stat(one, &a) == 0 && stat(other, &b) == 0) {
        return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    }
    return strcmp(one, other) == 0;
}

bool trib_file_may_write(const char *path, char *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool is_new = fd >= 0;

    if (!is_new && errno == EEXIST) {
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (fd < 0) {
        trib_explain(error, "%s cannot be written: %s", path, trib_explain_errno(errno));
        return false;
    }
    (void)close(fd);
    if (is_new) {
        (void)unlink(path);
    }
    return true;
}

bool trib_file_refuse_list(char *error, const char *path, struct trib_file_place place, const char *format,
                           va_list arguments)
{
    char text[TRIB_ERROR_TEXT_MAX];

    (void)vsnprintf(text, sizeof text, format, arguments);
    trib_explain(error, "%s:%" PRIu32 ":%" PRIu32 ": %s", path, place.line, place.column, text);
    return false;
}

bool trib_file_refuse(char *error, const char *path, struct trib_file_place place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)trib_file_refuse_list(error, path, place, format, arguments);
    va_end(arguments);
    return false;
}
