/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: see load.h. */
#include "keys/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/explain.h"

#define RAW_LEN 32 /* of a file that is no text */
#define OTHERS_MODE 077
#define TEXT_MAX ((off_t)1 << 20)

static bool is_text(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] < ' ' || bytes[i] > '~') {
            return false;
        }
    }
    return true;
}

/* The key in a file's bytes. A text of 31 characters and a newline is too short, and no raw key. */
static enum trib_status take_bytes(const uint8_t *bytes, size_t len, struct trib_key *key, char *error)
{
    size_t line = len > 0 && bytes[len - 1] == '\n' ? len - 1 : len;
    bool is_line = is_text(bytes, line);
    size_t key_len = is_line ? line : len;
    if (!is_line && len != RAW_LEN) {
        trib_explain(error, "it is neither one line of text nor %d bytes: make one with `tributary key new`", RAW_LEN);
        return TRIB_ERR_INVALID;
    }
    if (key_len < TRIB_KEY_MIN || key_len > TRIB_KEY_MAX) {
        trib_explain(error, "a key of %zu bytes%s is not from %d to %d: make one with `tributary key new`", key_len,
                     key_len > TRIB_KEY_MAX ? " or more" : "", TRIB_KEY_MIN, TRIB_KEY_MAX);
        return TRIB_ERR_INVALID;
    }
    memcpy(key->bytes, bytes, key_len);
    key->len = (uint32_t)key_len;
    return TRIB_OK;
}

enum trib_status trib_key_read_fd(int fd, struct trib_key *key, char *error)
{
    uint8_t bytes[TRIB_KEY_MAX + 2];
    size_t len = 0;
    ssize_t got = 0;
    *key = (struct trib_key){.len = 0};
    do {
        got = pread(fd, bytes + len, sizeof bytes - len, (off_t)len);
        len += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && len < sizeof bytes) || (got < 0 && errno == EINTR));
    enum trib_status status = TRIB_ERR_INVALID;
    if (got < 0) {
        trib_explain(error, "%s%s", trib_explain_errno(errno),
                     errno == ESPIPE ? ": a pipe is read once only; name a file or memfd" : "");
    } else {
        status = take_bytes(bytes, len, key, error);
    }
    trib_wipe(bytes, sizeof bytes);
    return status;
}

/* True if no other user than root can have read or changed the file. */
static bool is_own(const struct stat *file, char *error)
{
    if (S_ISFIFO(file->st_mode)) {
        trib_explain(error, "a pipe is read once only, and each rank reads the key: name a file of mode "
                            "600, or set TRIB_KEY_FD to the descriptor of a file or memfd");
        return false;
    }
    if (!S_ISREG(file->st_mode)) {
        trib_explain(error, "it is no file");
        return false;
    }
    if (file->st_uid != geteuid() && file->st_uid != 0) {
        trib_explain(error, "it belongs to user %u: a key must be this user's, %u", (unsigned)file->st_uid,
                     (unsigned)geteuid());
        return false;
    }
    if ((file->st_mode & OTHERS_MODE) != 0) {
        trib_explain(error,
                     "its mode is %04o, so other users can read or change it: chmod 600, and if others may have "
                     "read it, make a new key",
                     (unsigned)file->st_mode & 07777U);
        return false;
    }
    return true;
}

/* Returns the descriptor of a file that nobody else can have read or changed. -1: it is none. */
static int open_own(const char *path, struct stat *file, char *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_there = fd >= 0 && fstat(fd, file) == 0;
    if (!is_there) {
        trib_explain(error, "%s", trib_explain_errno(errno));
    }
    if (!is_there || !is_own(file, error)) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    return fd;
}

enum trib_status trib_key_read_file(const char *path, struct trib_key *key, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct stat file;
    enum trib_status status = TRIB_ERR_INVALID;
    *key = (struct trib_key){.len = 0};
    int fd = open_own(path, &file, cause);
    if (fd >= 0) {
        status = trib_key_read_fd(fd, key, cause);
        (void)close(fd);
    }
    if (status != TRIB_OK) {
        trib_explain(error, "key file %.200s: %s", path, cause);
    }
    return status;
}

/* The whole file of this size. NULL: error has the cause. */
static char *read_whole(int fd, size_t size, char *error)
{
    char *text = calloc(1, size + 1);
    ssize_t got = text != NULL ? pread(fd, text, size, 0) : -1;
    if (text != NULL && got == (ssize_t)size && strlen(text) == size) {
        return text;
    }
    trib_explain(error, "%s", text == NULL ? "out of memory" : got < 0 ? trib_explain_errno(errno) : "it is no text");
    if (text != NULL) {
        trib_wipe(text, size);
    }
    free(text);
    return NULL;
}

enum trib_status trib_key_read_text(const char *path, char **text, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct stat file;
    *text = NULL;
    int fd = open_own(path, &file, cause);
    if (fd >= 0 && file.st_size > TEXT_MAX) {
        trib_explain(cause, "it is larger than 1 MiB");
    } else if (fd >= 0) {
        *text = read_whole(fd, (size_t)file.st_size, cause);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (*text == NULL) {
        trib_explain(error, "file %.200s: %s", path, cause);
    }
    return *text != NULL ? TRIB_OK : TRIB_ERR_INVALID;
}
