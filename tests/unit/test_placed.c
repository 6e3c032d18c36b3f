/* SPDX-License-Identifier: Apache-2.0 */
/* test_placed.c: of a plan's file which switch adds which pieces, and what is refused, with its place. Mirrors
 * src/fabric/placed.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/placed.h"

static bool read_text(const char *text, struct trib_placed *placed, char *error)
{
    char path[] = "/tmp/test_placed_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    struct trib_toml toml;
    *placed = (struct trib_placed){.count = 0};
    bool is_good = trib_toml_open(&toml, path, error) && trib_placed_read(placed, &toml, error);
    trib_toml_free(&toml);
    (void)unlink(path);
    return is_good;
}

#define MODEL(job, pieces) "[[model]]\njob = \"" job "\"\npieces = " pieces "\nserver = \"host8\"\n"
#define PLACEMENT(job, name, pieces) \
    "[[placement]]\njob = \"" job "\"\nswitch = \"" name "\"\npieces = \"" pieces "\"\n"

static void read__models_and_placements(void **state)
{
    struct trib_placed placed;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    assert_true(read_text(
        "network = \"00ff\"\n" MODEL("one", "16") "hosts = \"abc\"\n" PLACEMENT("one", "10.0.9.1:7470", "0-2 5")
            PLACEMENT("one", "leaf0", "15") MODEL("two", "64") PLACEMENT("two", "10.0.9.1:7470", "0-63"),
        &placed, error));
    assert_int_equal(placed.network, 255);
    assert_int_equal(placed.count, 2);
    assert_int_equal(placed.switch_count, 3);
    const struct trib_placed_model *one = trib_placed_find(&placed, "one"), *two = trib_placed_find(&placed, "two");
    assert_int_equal(one->pieces, 16);
    assert_int_equal(one->hosts, 0xabc);
    assert_string_equal(one->server, "host8");
    assert_int_equal(two->hosts, 0);
    const struct trib_address at = trib_address_v4(0x0a000901U, 7470), other = trib_address_v4(0x0a000901U, 7471);
    assert_int_equal(trib_placed_at(&placed, one, &at), 0x27);
    assert_true(trib_placed_at(&placed, two, &at) == UINT64_MAX);
    assert_int_equal(trib_placed_at(&placed, one, &other), 0);
    assert_int_equal(placed.switches[1].at.len, 0);
    assert_int_equal(placed.switches[1].pieces, 0x8000);
    assert_string_equal(placed.switches[1].name, "leaf0");
    assert_null(trib_placed_find(&placed, "three"));
    assert_null(trib_placed_find(NULL, "one"));
    trib_placed_free(&placed);
}

/* A plan of trees has no model: its reader is another one. */
static void read__another_plan(void **state)
{
    struct trib_placed placed;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    assert_true(read_text("network = \"1\"\n[[job]]\nname = \"one\"\n[[tree]]\njob = \"one\"\n", &placed, error));
    assert_int_equal(placed.count, 0);
    trib_placed_free(&placed);
}

static void refused__with_its_place(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {MODEL("one", "0"), ":1:1: a [[model]] has a job, a server, and a number of pieces from 1 to 64"},
        {MODEL("one", "65"), ":1:1: a [[model]] has a job"},
        {"[[model]]\njob = \"one\"\npieces = 4\n", "a [[model]] has a job, a server"},
        {"[[model]]\njob = \"\"\nserver = \"h\"\npieces = 4\n", "a [[model]] has a job, a server"},
        {MODEL("one", "4") MODEL("one", "4"), ":5:1: a second [[model]] of job one"},
        {MODEL("one", "4") "hosts = \"xyz\"\n", ":5:9: hosts is a hexadecimal number"},
        {"network = \"\"\n" MODEL("one", "4"), ":1:11: network is a hexadecimal number"},
        {PLACEMENT("one", "leaf0", "0") MODEL("one", "4"),
         ":1:1: a [[placement]] has the job of a [[model]] before it, a switch, and pieces"},
        {MODEL("one", "4") "[[placement]]\njob = \"one\"\nswitch = \"leaf0\"\n", "a [[placement]] has the job"},
        {MODEL("one", "4") "[[placement]]\njob = \"one\"\npieces = \"0\"\n", "a [[placement]] has the job"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "0") PLACEMENT("one", "leaf0", "1"),
         ":9:1: a second [[placement]] of job one at switch leaf0"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "4"),
         ":8:10: pieces is a list such as \"0-2 5\", of numbers below the job's 4"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "2-1"), "pieces is a list"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", ""), "pieces is a list"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "0-"), "pieces is a list"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "-1"), "pieces is a list"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "0,1"), "pieces is a list"},
        {MODEL("one", "4") PLACEMENT("one", "leaf0", "0-99999999999999999999"), "pieces is a list"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_placed placed;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        assert_false(read_text(cases[i].text, &placed, error));
        if (strstr(error, cases[i].error) == NULL) {
            fail_msg("%zu: %s", i, error);
        }
        assert_null(placed.models);
        assert_null(placed.switches);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__models_and_placements),
        cmocka_unit_test(read__another_plan),
        cmocka_unit_test(refused__with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
