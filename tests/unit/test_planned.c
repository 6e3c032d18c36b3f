/* SPDX-License-Identifier: Apache-2.0 */
/* test_planned.c: of a plan's file the switches and weights of each job, and what is refused, with its place. Mirrors
 * src/fabric/planned.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/planned.h"

/* Switches "A" to "J". */
static uint32_t find(const void *user, const char *text)
{
    (void)user;
    return text[0] >= 'A' && text[0] <= 'J' && text[1] == '\0' ? (uint32_t)(text[0] - 'A') : TRIB_NO_PLACE;
}

static bool read_text(const char *text, struct trib_planned *planned, char *error)
{
    const struct trib_switch_names names = {.count = 10, .find = find};
    char path[] = "/tmp/test_planned_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    struct trib_toml toml;
    *planned = (struct trib_planned){.count = 0};
    bool is_good = trib_toml_open(&toml, path, error) && trib_planned_read(planned, &toml, &names, error);
    trib_toml_free(&toml);
    (void)unlink(path);
    return is_good;
}

#define TREE(job, root, weight) \
    "[[tree]]\njob = \"" job "\"\nweight = " weight "\nroot = \"" root "\"\nmulticast = true\nhops = \"x\"\n"

static void read__switches_and_weights(void **state)
{
    struct trib_planned planned;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    assert_true(read_text("network = \"1\"\n[[job]]\nname = \"one\"\nrate_bps = 5000000\n" TREE("one", "C", "255")
                              TREE("one", "A", "51") "[[job]]\nname = \"two\"\nrate_bps = 3200000000000\n" TREE(
                                  "two", "J", "7") "[[stage]]\nlevel_bps = 5\nprices = \"\"\n",
                          &planned, error));
    assert_int_equal(planned.count, 2);
    const struct trib_planned_job *one = trib_planned_find(&planned, "one"), *two = trib_planned_find(&planned, "two");
    assert_int_equal(one->count, 2);
    assert_int_equal(one->rate_bps, 5000000);
    assert_memory_equal(one->switches, ((uint8_t[]){0, 2}), 2);
    assert_memory_equal(one->weight, ((uint8_t[]){51, 255}), 2);
    assert_int_equal(two->count, 1);
    assert_int_equal(two->switches[0], 9);
    assert_int_equal(two->weight[0], 7);
    assert_null(trib_planned_find(&planned, "three"));
    assert_null(trib_planned_find(NULL, "one"));
    trib_planned_free(&planned);
}

/* Trees under one switch, with different paths, are one root there: none of the weights may leave its byte. */
static void read__trees_under_one_switch(void **state)
{
    struct trib_planned planned;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    assert_true(read_text(TREE("one", "B", "255") TREE("one", "A", "255") TREE("one", "B", "255") TREE("one", "C", "1"),
                          &planned, error));
    assert_int_equal(planned.jobs[0].count, 3);
    assert_memory_equal(planned.jobs[0].switches, ((uint8_t[]){0, 1, 2}), 3);
    assert_memory_equal(planned.jobs[0].weight, ((uint8_t[]){128, 255, 1}), 3);
    trib_planned_free(&planned);
}

static void assert_refused(const char *text, const char *want)
{
    struct trib_planned planned;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    assert_false(read_text(text, &planned, error));
    assert_non_null(strstr(error, want));
    assert_null(planned.jobs);
}

static void refused__with_place_and_remedy(void **state)
{
    (void)state;
    assert_refused("", "there is no [[tree]]: this is no plan");
    assert_refused("[[link]]\nrate = \"1Gbps\"\n", "there is no [[tree]]");
    assert_refused(TREE("one", "spine0", "3"),
                   ":4:8: spine0 is neither this switch nor one of --with: name switches in the network of the plan");
    assert_refused(TREE("one", "A", "0"), ":1:1: a [[tree]] has a job, a root, and a weight from 1 to 255");
    assert_refused(TREE("one", "A", "256"), "a weight from 1 to 255");
    assert_refused("[[tree]]\njob = \"one\"\n", "a [[tree]] has a job, a root, and a weight");
    assert_refused("[[tree]\n", ":1:");
    assert_refused("[[job]]\nname = \"one\"\nrate_bps = 999999\n", ":1:1: a [[job]] has a name, and a rate_bps of");
    assert_refused("[[job]]\nname = \"one\"\nrate_bps = 1000000\n", "job one has no [[tree]]");
    assert_refused(TREE("one", "A", "1") TREE("one", "B", "1") TREE("one", "C", "1") TREE("one", "D", "1")
                       TREE("one", "E", "1") TREE("one", "F", "1") TREE("one", "G", "1") TREE("one", "H", "1")
                           TREE("one", "I", "1"),
                   "job one has trees under more than 8 switches");
    assert_refused(TREE("a23456789b123456789c123456789d123456789e123456789f123456789g12345", "A", "1"),
                   "names of at most 64 characters");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__switches_and_weights),
        cmocka_unit_test(read__trees_under_one_switch),
        cmocka_unit_test(refused__with_place_and_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
