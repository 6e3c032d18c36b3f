/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: see store.h. */
#include "keys/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "io/explain.h"

#define LINE_LEN (2 * TRIB_SUBKEY_SIZE + 1)

static enum trib_status write_file(const char *path, const uint8_t secret[TRIB_SUBKEY_SIZE], char *error)
{
    char line[LINE_LEN + 1];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        trib_explain(error, "%.400s: %s%s", path, trib_explain_errno(errno),
                     errno == EEXIST ? ": a key is not overwritten; name a new file, or remove this one" : "");
        return TRIB_ERR_INVALID;
    }
    for (size_t i = 0; i < TRIB_SUBKEY_SIZE; i++) {
        (void)snprintf(line + 2 * i, 3, "%02x", secret[i]);
    }
    line[LINE_LEN - 1] = '\n';
    bool is_written = write(fd, line, LINE_LEN) == LINE_LEN && fsync(fd) == 0;
    int cause = errno;
    trib_wipe(line, sizeof line);
    if (close(fd) != 0 || !is_written) {
        (void)unlink(path);
        trib_explain(error, "%.400s could not be written: %s", path, trib_explain_errno(cause));
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

enum trib_status trib_key_make(const char *path, char *error)
{
    uint8_t secret[TRIB_SUBKEY_SIZE];
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        trib_explain(error, "the kernel has no random bytes: %s", trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    enum trib_status status = write_file(path, secret, error);
    trib_wipe(secret, sizeof secret);
    return status;
}

enum trib_status trib_key_store(const char *folder, const struct trib_keys *keys, char *path, size_t size, char *error)
{
    char id[TRIB_KEY_ID_TEXT];
    trib_key_id_format(keys->id, id);
    if ((size_t)snprintf(path, size, "%s/%s", folder, id) >= size) {
        trib_explain(error, "%.200s...: the name is too long", folder);
        return TRIB_ERR_INVALID;
    }
    return write_file(path, keys->switch_key, error);
}

static int digit(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = byte != 0 ? strchr(digits, byte) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool is_hex(const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (digit(text[i]) < 0) {
            return false;
        }
    }
    return true;
}

enum trib_status trib_key_find(const char *folder, const char *id, uint8_t switch_key[TRIB_SUBKEY_SIZE],
                               bool *is_absent, char *error)
{
    char path[PATH_MAX];
    struct trib_key line;
    size_t len = strlen(id);
    /* An id from a peer names no other file. */
    *is_absent = len != TRIB_KEY_ID_TEXT - 1 || !is_hex((const uint8_t *)id, len) ||
                 (size_t)snprintf(path, sizeof path, "%s/%s", folder, id) >= sizeof path ||
                 (access(path, F_OK) != 0 && errno == ENOENT);
    if (*is_absent) {
        trib_explain(error, "there is no key of that id");
        return TRIB_ERR_INVALID;
    }
    enum trib_status status = trib_key_read_file(path, &line, error);
    if (status == TRIB_OK && (line.len != LINE_LEN - 1 || !is_hex(line.bytes, line.len))) {
        trib_explain(error, "key file %.200s: it is not what `tributary key tenant` writes", path);
        status = TRIB_ERR_INVALID;
    }
    for (size_t i = 0; status == TRIB_OK && i < TRIB_SUBKEY_SIZE; i++) {
        switch_key[i] = (uint8_t)(16 * digit(line.bytes[2 * i]) + digit(line.bytes[2 * i + 1]));
    }
    trib_wipe(&line, sizeof line);
    return status;
}
