/* SPDX-License-Identifier: Apache-2.0 */
/* test_address.c: addresses as text and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/udp.h"

static void parse__texts_come_back(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"1.2.3.4", "1.2.3.4:7470"},
        {"1.2.3.4:80", "1.2.3.4:80"},
        {"1.2.3.4:0", "1.2.3.4:0"},
        {"1.2.3.4:65535", "1.2.3.4:65535"},
        {"localhost:9", "127.0.0.1:9"},
        {"[::1]:5", "[::1]:5"},
        {"[::1]", "[::1]:7470"},
        {"::1", "[::1]:7470"},
        {"2001:db8::7", "[2001:db8::7]:7470"},
        {"[2001:db8::7]:99", "[2001:db8::7]:99"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct trib_address address;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        char text[64];
        if (trib_address_parse(table[i][0], 7470, &address, error) != TRIB_OK) {
            fail_msg("%s: %s", table[i][0], error);
        }
        trib_address_format(&address, text);
        assert_string_equal(text, table[i][1]);
    }
}

static void parse__refuses_and_names_the_text(void **state)
{
    (void)state;
    static const char *const table[] = {
        "",          ":7470",  "1.2.3.4:", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:99999999999",
        "[::1",      "[::1]x", "[::1]:",   "[]:4",      "1.2.3.4:8 0",   "1.2.3.400",  "no such host.invalid",
        "[1.2:3]:4",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct trib_address address;
        struct trib_address before;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        memset(&address, 0x5a, sizeof address);
        before = address;
        assert_int_equal(trib_address_parse(table[i], 7470, &address, error), TRIB_ERR_INVALID);
        assert_int_not_equal(error[0], '\0');
        assert_memory_equal(&address, &before, sizeof address);
        assert_int_equal(trib_address_parse(table[i], 7470, &address, NULL), TRIB_ERR_INVALID);
    }
    char text[1000];
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_address address;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(trib_address_parse(text, 7470, &address, error), TRIB_ERR_INVALID);
    assert_true(strlen(error) < sizeof error);
}

static void equal__family_address_and_port(void **state)
{
    (void)state;
    static const char *const texts[] = {"1.2.3.4:5", "1.2.3.4:6", "1.2.3.5:5", "[::1]:5", "[::1]:6", "[::2]:5"};
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 6; j++) {
            struct trib_address a, b;
            assert_int_equal(trib_address_parse(texts[i], 1, &a, NULL), TRIB_OK);
            assert_int_equal(trib_address_parse(texts[j], 1, &b, NULL), TRIB_OK);
            memset((uint8_t *)&a.storage + sizeof a.storage - 8, 0x77, 8); /* bytes that belong to neither family */
            assert_int_equal(trib_address_equal(&a, &b), i == j);
        }
    }
    struct trib_address none = {.len = 0};
    assert_false(trib_address_equal(&none, &none));
}

static void set_port__changes_the_port_only(void **state)
{
    (void)state;
    static const char *const texts[] = {"1.2.3.4:5", "[::1]:5"};
    for (size_t i = 0; i < 2; i++) {
        struct trib_address a, b;
        assert_int_equal(trib_address_parse(texts[i], 1, &a, NULL), TRIB_OK);
        b = a;
        assert_int_equal(trib_address_port(&a), 5);
        trib_address_set_port(&a, 60000);
        assert_int_equal(trib_address_port(&a), 60000);
        assert_false(trib_address_equal(&a, &b));
        trib_address_set_port(&a, 5);
        assert_true(trib_address_equal(&a, &b));
    }
    struct trib_address none = {.len = 0};
    char text[64];
    trib_address_set_port(&none, 9);
    assert_int_equal(trib_address_port(&none), 0);
    trib_address_format(&none, text);
    assert_string_equal(text, "none");
}

static void v4__is_what_its_text_says(void **state)
{
    (void)state;
    char text[64];
    struct trib_address parsed;
    struct trib_address made = trib_address_v4(0xefff4a46U, 7486);
    trib_address_format(&made, text);
    assert_string_equal(text, "239.255.74.70:7486");
    assert_int_equal(trib_address_parse(text, 0, &parsed, NULL), TRIB_OK);
    assert_true(trib_address_equal(&made, &parsed));
    assert_int_equal(made.len, parsed.len);
}

static void advice__only_where_there_is_some(void **state)
{
    (void)state;
    assert_non_null(strstr(trib_address_advice(EADDRINUSE), "choose another"));
    assert_non_null(strstr(trib_address_advice(EADDRNOTAVAIL), "of this machine?"));
    assert_string_equal(trib_address_advice(EACCES), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__texts_come_back),         cmocka_unit_test(parse__refuses_and_names_the_text),
        cmocka_unit_test(equal__family_address_and_port), cmocka_unit_test(set_port__changes_the_port_only),
        cmocka_unit_test(v4__is_what_its_text_says),      cmocka_unit_test(advice__only_where_there_is_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
