/* SPDX-License-Identifier: Apache-2.0 */
/* test_keys.c: keys of jobs: files, misuse, and derived keys against pinned vectors. Mirrors load.c, derive.c and
 * store.c of src/keys. The vectors were computed by Python's hmac, and again by its package cryptography. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/environment.h"
#include "comm/state.h"
#include "keys/derive.h"
#include "keys/load.h"
#include "keys/store.h"

static char error[TRIB_ERROR_TEXT_MAX];
static char path[] = "/tmp/test_keysXXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    error[0] = '\0';
    return fd < 0 || close(fd) != 0;
}

static int remove_file(void **state)
{
    (void)state;
    int status = unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    return status;
}

static void write_file(const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void expect_refused(const char *part)
{
    struct trib_key key;
    assert_int_equal(trib_key_read_file(path, &key, error), TRIB_ERR_INVALID);
    assert_int_equal(key.len, 0);
    assert_non_null(strstr(error, part));
    assert_null(strchr(error, '\n'));
}

/* ---- files ---- */

static void test_text(void **state)
{
    (void)state;
    static const char line[] = "correct horse battery staple 0123456789";
    struct trib_key key;
    for (size_t newline = 0; newline < 2; newline++) {
        char text[64];
        int len = snprintf(text, sizeof text, "%s%s", line, newline > 0 ? "\n" : "");
        write_file(text, (size_t)len);
        assert_int_equal(trib_key_read_file(path, &key, error), TRIB_OK);
        assert_int_equal(key.len, sizeof line - 1);
        assert_memory_equal(key.bytes, line, key.len);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    char text[140];
    struct trib_key key;
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len < sizeof text; len++) {
        write_file(text, len);
        bool is_key = len >= TRIB_KEY_MIN && len <= TRIB_KEY_MAX;
        assert_int_equal(trib_key_read_file(path, &key, error), is_key ? TRIB_OK : TRIB_ERR_INVALID);
        assert_int_equal(key.len, is_key ? len : 0);
    }
    text[31] = '\n'; /* one character too short, though 32 bytes */
    write_file(text, 32);
    expect_refused("a key of 31 bytes is not from 32 to 128");
}

/* 32 bytes of any value, also with a newline at their end. */
static void test_raw(void **state)
{
    (void)state;
    uint8_t raw[33];
    struct trib_key key;
    for (size_t i = 0; i < sizeof raw; i++) {
        raw[i] = (uint8_t)(200 + i);
    }
    raw[31] = '\n';
    write_file(raw, 32);
    assert_int_equal(trib_key_read_file(path, &key, error), TRIB_OK);
    assert_int_equal(key.len, 32);
    assert_memory_equal(key.bytes, raw, 32);
    write_file(raw, 33);
    expect_refused("neither one line of text nor 32 bytes");
    write_file("two lines are no key, so it is said\nhere is the second one\n", 59);
    expect_refused("neither one line of text nor 32 bytes");
}

static void test_mode(void **state)
{
    (void)state;
    char text[32];
    memset(text, 'b', sizeof text);
    write_file(text, sizeof text);
    for (unsigned mode = 0; mode < 0100; mode++) {
        struct trib_key key;
        assert_int_equal(chmod(path, 0600 | mode), 0);
        assert_int_equal(trib_key_read_file(path, &key, error), mode == 0 ? TRIB_OK : TRIB_ERR_INVALID);
        if (mode != 0) {
            assert_non_null(strstr(error, "chmod 600"));
        }
    }
    if (geteuid() == 0) { /* a file of another user, who could change it */
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(seteuid(65534), 0);
        expect_refused("key file");
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(chown(path, 65534, 65534), 0);
        expect_refused("it belongs to user 65534");
    }
}

static void test_no_file(void **state)
{
    (void)state;
    struct trib_key key;
    assert_int_equal(trib_key_read_file("/nowhere/job.key", &key, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "key file /nowhere/job.key: No such file or directory");
    assert_int_equal(trib_key_read_file("/tmp", &key, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "key file /tmp: it is no file");
    int ends[2];
    char place[32];
    assert_int_equal(pipe(ends), 0); /* as a shell's <(command) */
    (void)snprintf(place, sizeof place, "/dev/fd/%d", ends[0]);
    assert_int_equal(trib_key_read_file(place, &key, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, ": a pipe is read once only, and each rank reads the key"));
    assert_non_null(strstr(error, "set TRIB_KEY_FD to the descriptor of a file or memfd"));
    assert_int_equal(close(ends[0]) | close(ends[1]), 0);
}

/* Read from the start each time, whatever its offset; a pipe has no start. */
static void test_descriptor(void **state)
{
    (void)state;
    char text[40];
    struct trib_key key;
    int ends[2];
    int fd = memfd_create("key", MFD_CLOEXEC);
    memset(text, 'c', sizeof text);
    assert_true(fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trib_key_read_fd(fd, &key, error), TRIB_OK);
        assert_int_equal(key.len, sizeof text);
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(trib_key_read_fd(fd, &key, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "Bad file descriptor");
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(trib_key_read_fd(ends[0], &key, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "a pipe is read once only"));
    assert_int_equal(close(ends[0]) | close(ends[1]), 0);
}

/* ---- variables ---- */

static enum trib_status read_variable(const char *name, const char *text, struct trib_config *config)
{
    const struct trib_variable *variable = NULL;
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL && strcmp(variable->name, name) != 0;) {
        i++;
    }
    assert_non_null(variable);
    return trib_variable_read(variable, text, config, error);
}

static void test_variables(void **state)
{
    (void)state;
    char text[32];
    struct trib_config config;
    trib_config_init(&config);
    assert_int_equal(config.key_len, 0);
    memset(text, 'd', sizeof text);
    write_file(text, sizeof text);
    assert_int_equal(read_variable("TRIB_KEY_FILE", path, &config), TRIB_OK);
    assert_int_equal(config.key_len, sizeof text);
    assert_memory_equal(config.key, text, sizeof text);
    int fd = memfd_create("key", MFD_CLOEXEC);
    char number[16];
    assert_true(fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text);
    (void)snprintf(number, sizeof number, "%d", fd);
    assert_int_equal(read_variable("TRIB_KEY_FD", number, &config), TRIB_ERR_INVALID);
    assert_string_equal(error, "TRIB_KEY_FILE and TRIB_KEY_FD are both set: choose one");
    trib_config_init(&config);
    assert_int_equal(read_variable("TRIB_KEY_FD", number, &config), TRIB_OK);
    assert_memory_equal(config.key, text, sizeof text);
    assert_int_equal(close(fd), 0);
    assert_int_equal(read_variable("TRIB_KEY_FD", "stdin", &config), TRIB_ERR_INVALID);
}

/* A key is never ignored: a length that is wrong, or a build without OpenSSL, is an error. */
static void test_config(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    trib_config_init(&config);
    config.key_len = TRIB_KEY_MIN - 1;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "31 bytes are not from 32 to 128"));
    config.key_len = TRIB_KEY_MAX + 1;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_INVALID);
    config.key_len = TRIB_KEY_MAX;
    if (trib_keys_explain_lack() != NULL) {
        assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_UNSUPPORTED);
        assert_non_null(strstr(error, "this build has no OpenSSL"));
        return;
    }
    config.gradient_bytes = 1000;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_OK);
    assert_int_equal(comm->config.gradient_bytes, 0); /* a switch that knows it may make a ring, which proves nothing */
    assert_int_equal(trib_comm_close(comm), TRIB_OK);
}

/* ---- derived keys ---- */

static void expect_hex(const uint8_t *bytes, size_t size, const char *hex)
{
    char text[2 * TRIB_SUBKEY_SIZE + 1];
    for (size_t i = 0; i < size; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    assert_string_equal(text, hex);
}

static void expect_keys(const uint8_t *key, uint32_t len, const char *const hex[3])
{
    struct trib_keys keys;
    char id[TRIB_KEY_ID_TEXT];
    if (trib_keys_explain_lack() != NULL) {
        assert_int_equal(trib_keys_derive(key, len, &keys, error), TRIB_ERR_UNSUPPORTED);
        assert_false(keys.is_set);
        return;
    }
    assert_int_equal(trib_keys_derive(key, len, &keys, error), TRIB_OK);
    assert_true(keys.is_set);
    trib_key_id_format(keys.id, id);
    assert_string_equal(id, hex[0]);
    expect_hex(keys.switch_key, sizeof keys.switch_key, hex[1]);
    expect_hex(keys.tag_key, sizeof keys.tag_key, hex[2]);
}

static void test_vectors(void **state)
{
    (void)state;
    static const char *const counted[3] = {"4688fa48d959779d",
                                           "68f15c9649ce6742d523922b164edd44c4c033eeca412d85bc95465751605366",
                                           "707e05cc2b29aec0ae4c1ec24ef0d5149371f88e60388236bbe5f0f24bd6ec6e"};
    static const char *const words[3] = {"716e4790ea9f8f4b",
                                         "34fbf1e05d1987293484ec52de3345ed086c42189ee97355fc6bdc0d096d2e9b",
                                         "ccdb6bd4ceb2428dc67b8a5c34b5bfe91a051bf67251e0f01089a12f4b71051a"};
    static const char *const ones[3] = {"e5e689b65d66064c",
                                        "399cf222b6cdc488593c899dacce19a056b09553b2413d18110e5e104e3be8b3",
                                        "fce23049b486a9fdcf480a315a42f87abf2e3dfbae46b5c49c0933a53a7390fb"};
    static const uint8_t text[] = "correct horse battery staple 0123456789";
    uint8_t key[TRIB_KEY_MAX];
    for (size_t i = 0; i < 32; i++) {
        key[i] = (uint8_t)i;
    }
    expect_keys(key, 32, counted);
    expect_keys(text, sizeof text - 1, words);
    memset(key, 0xff, sizeof key);
    expect_keys(key, sizeof key, ones);
}

static void test_no_key(void **state)
{
    (void)state;
    static const struct trib_keys none = {.is_set = false};
    struct trib_keys keys;
    memset(&keys, 1, sizeof keys);
    assert_int_equal(trib_keys_derive((const uint8_t *)"", 0, &keys, error), TRIB_OK);
    assert_memory_equal(&keys, &none, sizeof keys);
}

/* ---- files of a switch ---- */

static void test_store(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_keysXXXXXX";
    char job[64];
    char written[64];
    struct trib_key key;
    struct trib_keys keys = {.is_set = true, .id = {0xab, 1, 2, 3, 4, 5, 6, 7}, .switch_key = {0xfe, 0x10}};
    uint8_t found[TRIB_SUBKEY_SIZE] = {0};
    bool is_absent = false;
    struct stat status;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(job, sizeof job, "%s/job.key", folder);
    assert_int_equal(trib_key_make(job, error), TRIB_OK);
    assert_int_equal(stat(job, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(trib_key_read_file(job, &key, error), TRIB_OK);
    assert_int_equal(key.len, 64);
    assert_int_equal(trib_key_make(job, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "a key is not overwritten"));

    assert_int_equal(trib_key_find(folder, "ab01020304050607", found, &is_absent, error), TRIB_ERR_INVALID);
    assert_true(is_absent);
    assert_int_equal(trib_key_store(folder, &keys, written, sizeof written, error), TRIB_OK);
    assert_string_equal(strrchr(written, '/'), "/ab01020304050607");
    assert_int_equal(trib_key_find(folder, "ab01020304050607", found, &is_absent, error), TRIB_OK);
    assert_memory_equal(found, keys.switch_key, sizeof found);
    assert_int_equal(trib_key_store(folder, &keys, written, sizeof written, error), TRIB_ERR_INVALID);
    assert_int_equal(chmod(written, 0640), 0);
    assert_int_equal(trib_key_find(folder, "ab01020304050607", found, &is_absent, error), TRIB_ERR_INVALID);
    assert_false(is_absent);
    static const char *const names[] = {"", "job.key", "../ab010203040506", "AB01020304050607", "ab010203040506070"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) { /* a peer names files of keys only */
        assert_int_equal(trib_key_find(folder, names[i], found, &is_absent, error), TRIB_ERR_INVALID);
        assert_true(is_absent);
    }
    assert_int_equal(unlink(written) | unlink(job) | rmdir(folder), 0);
}

int main(void)
{
#define WITH_FILE(f) cmocka_unit_test_setup_teardown(f, make_file, remove_file)
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_text),
        WITH_FILE(test_lengths),
        WITH_FILE(test_raw),
        WITH_FILE(test_mode),
        WITH_FILE(test_variables),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_no_key),
        cmocka_unit_test(test_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
