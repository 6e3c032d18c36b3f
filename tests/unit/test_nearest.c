/* SPDX-License-Identifier: Apache-2.0 */
/* test_nearest.c: suggestions for misspelt words. Mirrors src/io/nearest.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/nearest.h"

static const char *const known[] = {"switch", "run", "perf", "info", "JOIN_TIMEOUT", "TIMEOUT"};

static struct trib_nearest find(const char *word, size_t len)
{
    struct trib_nearest nearest = {.word = word, .len = len};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        trib_nearest_offer(&nearest, known[i]);
    }
    return nearest;
}

static void nearest__counts_edits(void **state)
{
    static const struct {
        const char *word, *best;
        size_t distance;
    } cases[] = {
        {"switch", "switch", 0}, {"swich", "switch", 1}, {"swittch", "switch", 1},   {"swotch", "switch", 1},
        {"siwtch", "switch", 2}, {"rnu", "run", 2},      {"TIMEOUTS", "TIMEOUT", 1}, {"JOIN_TIMOUT", "JOIN_TIMEOUT", 1},
        {"oinfoo", "info", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_nearest nearest = find(cases[i].word, strlen(cases[i].word));
        assert_string_equal(nearest.best, cases[i].best);
        assert_int_equal(nearest.distance, cases[i].distance);
    }
}

static void nearest__is_silent_when_nothing_is_near(void **state)
{
    static const char *const words[] = {"", "xyz", "xyzzy", "an option of more than thirty-one bytes"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_null(find(words[i], strlen(words[i])).best);
    }
    struct trib_nearest nearest = {.word = "a", .len = 1};
    trib_nearest_offer(&nearest, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_null(nearest.best);
}

static void nearest__reads_no_further_than_told(void **state)
{
    (void)state;
    assert_string_equal(find("perf=7 and more", 4).best, "perf");
    assert_int_equal(find("perf=7 and more", 4).distance, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest__counts_edits),
        cmocka_unit_test(nearest__is_silent_when_nothing_is_near),
        cmocka_unit_test(nearest__reads_no_further_than_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
