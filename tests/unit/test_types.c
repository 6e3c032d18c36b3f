/* SPDX-License-Identifier: Apache-2.0 */
/* test_types.c: sizes and names of types and reductions, names and texts of statuses; values outside of the enums too.
 * Read next: test_value.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tributary/status.h>
#include <tributary/types.h>

static const struct {
    int value;
    size_t size;
    const char *name;
} types[] = {
    {-1, 0, "unknown"}, {0, 0, "unknown"},  {1, 4, "float32"},   {2, 2, "float16"}, {3, 2, "bfloat16"},
    {4, 4, "int32"},    {5, 8, "int64"},    {6, 1, "bytes"},     {7, 8, "float64"}, {8, 1, "int8"},
    {9, 1, "uint8"},    {10, 0, "unknown"}, {255, 0, "unknown"},
};

static void trib_type_size__every_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_int_equal(trib_type_size((enum trib_type)types[i].value), types[i].size);
    }
    assert_int_equal(TRIB_TYPE_COUNT, 10); /* a new type needs a row above */
}

static void trib_type_name__every_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_string_equal(trib_type_name((enum trib_type)types[i].value), types[i].name);
    }
}

static void trib_reduction_name__every_value(void **state)
{
    (void)state;
    assert_string_equal(trib_reduction_name(TRIB_REDUCTION_NONE), "unknown");
    assert_string_equal(trib_reduction_name(TRIB_SUM), "sum");
    assert_string_equal(trib_reduction_name(TRIB_AVERAGE), "average");
    assert_string_equal(trib_reduction_name(TRIB_MINIMUM), "minimum");
    assert_string_equal(trib_reduction_name(TRIB_MAXIMUM), "maximum");
    assert_string_equal(trib_reduction_name(TRIB_PRODUCT), "product");
    assert_int_equal(TRIB_REDUCTION_COUNT, 6); /* a new reduction needs a line above */
    assert_string_equal(trib_reduction_name(TRIB_REDUCTION_COUNT), "unknown");
    assert_string_equal(trib_reduction_name((enum trib_reduction)99), "unknown");
}

static void trib_status_name__known_and_unknown(void **state)
{
    (void)state;
    assert_string_equal(trib_status_name(TRIB_OK), "TRIB_OK");
    assert_string_equal(trib_status_name(TRIB_ERR_INVALID), "TRIB_ERR_INVALID");
    assert_string_equal(trib_status_name(TRIB_ERR_TIMEOUT), "TRIB_ERR_TIMEOUT");
    assert_string_equal(trib_status_name(TRIB_ERR_CHECK), "TRIB_ERR_CHECK");
    assert_string_equal(trib_status_name((enum trib_status)1), "unknown status");
    assert_string_equal(trib_status_name((enum trib_status) - 100), "unknown status");
}

static void trib_status_text__known_and_unknown(void **state)
{
    (void)state;
    assert_string_equal(trib_status_text(TRIB_OK), "success");
    assert_string_equal(trib_status_text(TRIB_ERR_TIMEOUT), "timed out");
    assert_string_equal(trib_status_text((enum trib_status)1), "unknown status");
}

/* 0 is success, everything else negative, every name and text there and different from every other. */
static void trib_status__list_is_sound(void **state)
{
    static const int values[] = {
#define X(name, value, text) (value),
        TRIB_STATUS_MAP(X)
#undef X
    };
    const size_t count = sizeof values / sizeof values[0];

    (void)state;
    assert_int_equal(values[0], 0);
    for (size_t i = 0; i < count; i++) {
        enum trib_status one = (enum trib_status)values[i];
        assert_true(i == 0 || values[i] < 0);
        assert_string_not_equal(trib_status_name(one), "unknown status");
        for (size_t j = 0; j < i; j++) {
            enum trib_status other = (enum trib_status)values[j];
            assert_string_not_equal(trib_status_name(one), trib_status_name(other));
            assert_string_not_equal(trib_status_text(one), trib_status_text(other));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trib_type_size__every_value),         cmocka_unit_test(trib_type_name__every_value),
        cmocka_unit_test(trib_reduction_name__every_value),    cmocka_unit_test(trib_status_name__known_and_unknown),
        cmocka_unit_test(trib_status_text__known_and_unknown), cmocka_unit_test(trib_status__list_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
