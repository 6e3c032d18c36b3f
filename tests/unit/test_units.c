/* SPDX-License-Identifier: Apache-2.0 */
/* test_units.c: numbers with units. Mirrors src/io/units.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/explain.h"
#include "io/units.h"

static char error[TRIB_ERROR_TEXT_MAX];

static void parse_size__takes_decimal_and_binary_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"1B", 1},
                 {"64KB", 64000},
                 {"64MB", 64000000},
                 {"64KiB", 65536},
                 {"1.5MiB", 1572864},
                 {"2GB", 2000000000},
                 {"1TiB", 1ULL << 40},
                 {"0", 0},
                 {"16777215TiB", 16777215ULL << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = UINT64_MAX;
        assert_int_equal(trib_parse_size(cases[i].text, &value, error), TRIB_OK);
        assert_true(value == cases[i].value);
    }
}

static void parse_size__refuses_and_leaves_the_value(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "64",
                                        "MB",
                                        "-1MB",
                                        " 1MB",
                                        "1MB ",
                                        "1mb",
                                        "1.5B",
                                        "1..5K",
                                        "1.MB",
                                        "0x1B",
                                        "1e3MB",
                                        "nanMB",
                                        "1,5MB",
                                        "16777217TiB",
                                        "4K",
                                        "99999999999999999999B"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 77;
        assert_int_equal(trib_parse_size(cases[i], &value, NULL), TRIB_ERR_INVALID);
        assert_true(value == 77);
    }
}

static void parse_size__says_which_unit_a_bare_number_lacks(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_int_equal(trib_parse_size("64", &value, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "\"64\" has no unit; a size is written like 64MB or 64KiB");
    assert_int_equal(trib_parse_size("64 bananas", &value, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "\"64 bananas\" is not a size; write for example 64MB or 64KiB");
}

static void parse_size_short__is_that_of_nccl_tests(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"8", 8},           {"4K", 4096},       {"128M", 134217728},
                 {"1G", 1073741824}, {"64MB", 64000000}, {"64MiB", 67108864}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 0;
        assert_int_equal(trib_parse_size_short(cases[i].text, &value, error), TRIB_OK);
        assert_true(value == cases[i].value);
    }
    uint64_t value = 0;
    assert_int_equal(trib_parse_size_short("8k", &value, error), TRIB_ERR_INVALID);
}

static void parse_duration__takes_all_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"100ns", 100},      {"20us", 20000}, {"500ms", 500000000},     {"30s", 30000000000}, {"1.5s", 1500000000},
        {"0.000000001s", 1}, {"0", 0},        {"30min", 1800000000000}, {"2h", 7200000000000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = UINT64_MAX;
        assert_int_equal(trib_parse_duration(cases[i].text, &value, error), TRIB_OK);
        assert_true(value == cases[i].value);
    }
}

static void parse_duration__refuses_a_bare_number(void **state)
{
    (void)state;
    uint64_t value = 5;
    assert_int_equal(trib_parse_duration("30", &value, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "\"30\" has no unit; a duration is written like 30s or 500ms");
    assert_int_equal(trib_parse_duration("0.5ns", &value, error), TRIB_ERR_INVALID);
    assert_int_equal(trib_parse_duration("0.0000000001s", &value, error), TRIB_ERR_INVALID);
    assert_true(value == 5);
}

static void parse_percent__is_a_fraction(void **state)
{
    (void)state;
    double value = 0;
    assert_int_equal(trib_parse_percent("1%", &value, error), TRIB_OK);
    assert_true(value == 0.01);
    assert_int_equal(trib_parse_percent("0.1%", &value, error), TRIB_OK);
    assert_true(value > 0.00099999 && value < 0.00100001);
    assert_int_equal(trib_parse_percent("100%", &value, error), TRIB_OK);
    assert_true(value == 1.0);
    assert_int_equal(trib_parse_percent("0", &value, error), TRIB_OK);
    assert_true(value == 0.0);
    assert_int_equal(trib_parse_percent("100.5%", &value, error), TRIB_ERR_INVALID);
    assert_int_equal(trib_parse_percent("0.01", &value, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "\"0.01\" has no unit; a percentage is written like 1% or 0.1%");
}

static void parse_rate__is_bits_per_second(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_int_equal(trib_parse_rate("10Gbps", &value, error), TRIB_OK);
    assert_true(value == 10000000000);
    assert_int_equal(trib_parse_rate("2.5Gbps", &value, error), TRIB_OK);
    assert_true(value == 2500000000);
    assert_int_equal(trib_parse_rate("10G", &value, error), TRIB_ERR_INVALID);
}

static void parse_number__keeps_its_range(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_int_equal(trib_parse_number("63", 0, 63, &value, error), TRIB_OK);
    assert_true(value == 63);
    assert_int_equal(trib_parse_number("64", 0, 63, &value, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "64 is not from 0 to 63");
    assert_int_equal(trib_parse_number("1.0", 0, 63, &value, error), TRIB_ERR_INVALID);
    assert_int_equal(trib_parse_number("-1", 0, 63, &value, error), TRIB_ERR_INVALID);
    assert_int_equal(trib_parse_number("18446744073709551615", 0, UINT64_MAX, &value, error), TRIB_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(trib_parse_number("18446744073709551616", 0, UINT64_MAX, &value, error), TRIB_ERR_INVALID);
}

static void parse_bool__takes_four_words_each(void **state)
{
    (void)state;
    bool value = false;
    assert_int_equal(trib_parse_bool("on", &value, error), TRIB_OK);
    assert_true(value);
    assert_int_equal(trib_parse_bool("0", &value, error), TRIB_OK);
    assert_false(value);
    assert_int_equal(trib_parse_bool("maybe", &value, error), TRIB_ERR_INVALID);
}

static void format__is_for_people(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } durations[] = {{0, "0 ns"},           {999, "999 ns"},           {1500, "1.5 us"},
                     {150000000, "150 ms"}, {1234567890, "1.2 s"},     {10000000000, "10 s"},
                     {90000000000, "90 s"}, {1800000000000, "30 min"}, {7200000000000, "2 h"}};
    char text[TRIB_UNITS_TEXT_MAX];
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        trib_format_duration(durations[i].ns, text);
        assert_string_equal(text, durations[i].text);
    }
    trib_format_size(100, text);
    assert_string_equal(text, "100 B");
    trib_format_size(1536, text);
    assert_string_equal(text, "1.5 KiB");
    trib_format_size(64 << 20, text);
    assert_string_equal(text, "64 MiB");
    const struct {
        uint64_t count;
        const char *text;
    } counts[] = {
        {0, "0"}, {999, "999"}, {1000, "1,000"}, {1048576, "1,048,576"}, {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trib_format_count(counts[i].count, text);
        assert_string_equal(text, counts[i].text);
    }
}

static void format_ranks__lists_them(void **state)
{
    char text[256];
    (void)state;
    static const uint16_t some[] = {2, 3, 1023};
    uint16_t all[1024];
    for (uint16_t i = 0; i < 1024; i++) {
        all[i] = i;
    }
    assert_string_equal(trib_format_ranks(some, 1, 1, text, sizeof text), "rank 2");
    assert_string_equal(trib_format_ranks(some, 3, 3, text, sizeof text), "ranks 2, 3, 1023");
    assert_string_equal(trib_format_ranks(some, 2, 3, text, sizeof text), "ranks 2, 3 and 1 other");
    assert_string_equal(trib_format_ranks(some, 2, 100, text, sizeof text), "ranks 2, 3 and 98 others");
    assert_string_equal(trib_format_ranks(all, 4, 4, text, sizeof text), "ranks 0, 1, 2, 3");
    assert_string_equal(trib_format_ranks(all, 5, 5, text, sizeof text), "ranks 0 to 4");
    assert_string_equal(trib_format_ranks(all, 1024, 1024, text, 64), "ranks 0 to 1023");
    assert_string_equal(trib_format_ranks(all + 896, 128, 60000, text, sizeof text),
                        "ranks 896 to 1023 and 59872 others");
    static const uint16_t rows[] = {0, 1, 2, 3, 4, 5, 7, 9, 10, 100, 101, 102, 103, 104};
    assert_string_equal(trib_format_ranks(rows, 14, 14, text, sizeof text), "ranks 0 to 5, 7, 9, 10, 100 to 104");
    for (uint16_t i = 0; i < 1024; i++) {
        all[i] = (uint16_t)(60000 + 2 * i);
    }
    assert_string_equal(trib_format_ranks(all, 1024, 1024, text, 64),
                        "ranks 60000, 60002, 60004, 60006 and 1020 others");
    for (size_t size = 64; size < sizeof text; size++) {
        trib_format_ranks(all, 1024, 1024, text, size);
        assert_true(strlen(text) < size);
        assert_string_equal(text + strlen(text) - 7, " others");
    }
}

static void explain_errno__names_the_limit_of_files(void **state)
{
    (void)state;
    const char *text = trib_explain_errno(EMFILE);
    assert_ptr_equal(strstr(text, "Too many open files: raise `ulimit -n`, which is "), text);
    assert_string_equal(trib_explain_errno(ENFILE), "Too many open files in system: raise sysctl fs.file-max");
    assert_string_equal(trib_explain_errno(ENOENT), "No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_size__takes_decimal_and_binary_units),
        cmocka_unit_test(parse_size__refuses_and_leaves_the_value),
        cmocka_unit_test(parse_size__says_which_unit_a_bare_number_lacks),
        cmocka_unit_test(parse_size_short__is_that_of_nccl_tests),
        cmocka_unit_test(parse_duration__takes_all_units),
        cmocka_unit_test(parse_duration__refuses_a_bare_number),
        cmocka_unit_test(parse_percent__is_a_fraction),
        cmocka_unit_test(parse_rate__is_bits_per_second),
        cmocka_unit_test(parse_number__keeps_its_range),
        cmocka_unit_test(parse_bool__takes_four_words_each),
        cmocka_unit_test(format__is_for_people),
        cmocka_unit_test(format_ranks__lists_them),
        cmocka_unit_test(explain_errno__names_the_limit_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
