/* SPDX-License-Identifier: Apache-2.0 */
/* test_address.c: addresses as text and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/packet.h"
#include "net/resolve.h"

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
        {"[0:0:0:0:0:0:0:1]:9", "[::1]:9"},
        {"[fe80::1%lo]:9", "[fe80::1%lo]:9"},
        {"fe80::1%lo", "[fe80::1%lo]:7470"},
        {"[fe80::1%1]:9", "[fe80::1%lo]:9"},                /* lo is 1 in every network namespace */
        {"[fe80::1%987654321]:9", "[fe80::1%987654321]:9"}, /* it was here once */
        {"[::ffff:1.2.3.4]:80", "1.2.3.4:80"},
        {"[::]:5", "[::]:5"},
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
        "",
        ":7470",
        "1.2.3.4:",
        "1.2.3.4:x",
        "1.2.3.4:65536",
        "1.2.3.4:-1",
        "1.2.3.4:99999999999",
        "[::1",
        "[::1]x",
        "[::1]:",
        "[]:4",
        "1.2.3.4:8 0",
        "1.2.3.400",
        "no such host.invalid",
        "[1.2:3]:4",
        "fe80::1",
        "[fe80::1]:4",
        "[fe80::1%nosuch0]:4",
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

static void parse__says_what_a_link_local_address_lacks(void **state)
{
    (void)state;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_address address;
    assert_int_equal(trib_address_parse("[fe80::1]:4", 7470, &address, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "\"fe80::1\" is the address of a link: name its interface as well, as in fe80::1%eth0");
    assert_int_equal(trib_address_parse("[fe80::1%nosuch0]:4", 7470, &address, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "\"fe80::1%nosuch0\": this machine has no interface \"nosuch0\"");
}

/* The longest text of each family fits where every caller has room for it. */
static void format__fits_64_bytes(void **state)
{
    (void)state;
    char text[65];
    struct trib_address address;
    memset(text, 'x', sizeof text);
    assert_int_equal(
        trib_address_parse("[fe80:1111:2222:3333:4444:5555:6666:7777%4294967295]:65535", 1, &address, NULL), TRIB_OK);
    trib_address_format(&address, text);
    assert_string_equal(text, "[fe80:1111:2222:3333:4444:5555:6666:7777%4294967295]:65535");
    assert_int_equal(text[64], 'x');
    assert_true(1 + 39 + 1 + 15 + 2 + 5 + 1 <= 64); /* an interface's name has up to 15 bytes */
}

static struct trib_address parsed(const char *text)
{
    struct trib_address address;
    assert_int_equal(trib_address_parse(text, 1, &address, NULL), TRIB_OK);
    return address;
}

static void facts__follow_from_the_address(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t payload;
        bool is_any;
    } rows[] = {{"0.0.0.0", 1408, true}, {"10.0.0.1", 1408, false}, {"::", 1344, true}, {"fd00::1", 1344, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trib_address address = parsed(rows[i].text);
        assert_int_equal(trib_address_payload(&address, 0), rows[i].payload);
        assert_true(rows[i].payload + 64 + 8 + trib_address_ip_size(&address) <= 1500);
        assert_int_equal(trib_address_payload(&address, TRIB_AUTHENTICATOR_SIZE), 1344);
        assert_true(rows[i].payload + 64 + 64 + 8 + trib_address_ip_size(&address) > 1500);
        assert_int_equal(trib_address_is_any(&address), rows[i].is_any);
        assert_false(trib_address_is_mapped(&address));
    }
    const struct trib_address none = {.len = 0};
    assert_int_equal(trib_address_payload(&none, 0), 1408);
    assert_false(trib_address_is_any(&none) || trib_address_is_mapped(&none));

    struct trib_address a = parsed("[fd00::1]:5");
    struct trib_address b = parsed("[fd00::1]:6");
    struct trib_address c = parsed("[fd00::2]:5");
    assert_true(trib_address_same_host(&a, &b) && !trib_address_same_host(&a, &c));
}

/* What an IPv6 socket says of an IPv4 peer: 10.0.0.1. */
static struct trib_address mapped(void)
{
    struct trib_address address = parsed("[fd00::1]:5");
    struct sockaddr_in6 v6;
    static const uint8_t bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
    memcpy(&v6, &address.storage, sizeof v6);
    memcpy(&v6.sin6_addr, bytes, sizeof bytes);
    memcpy(&address.storage, &v6, sizeof v6);
    return address;
}

static void mapped__is_known(void **state)
{
    (void)state;
    struct trib_address address = mapped();
    assert_true(trib_address_is_mapped(&address));
}

static void near__is_what_one_host_may_have(void **state)
{
    (void)state;
    const struct trib_address none = {.len = 0};
    const char *const texts[] = {"10.0.0.1:1", "10.0.0.2:1", "[fd00::1]:1", "[fd01::1]:1"};
    const uint32_t count = sizeof texts / sizeof texts[0];
    for (uint32_t i = 0; i < count; i++) {
        struct trib_address one = parsed(texts[i]);
        assert_true(trib_address_near(&one) != trib_address_near(&none));
        for (uint32_t k = 0; k < count; k++) {
            struct trib_address other = parsed(texts[k]);
            trib_address_set_port(&other, 2);
            assert_true((trib_address_near(&one) == trib_address_near(&other)) == (i == k));
        }
    }
    struct trib_address neighbour = parsed("[fd00::1:2]:1");
    struct trib_address same = parsed("[fd00::1]:1");
    assert_true(trib_address_near(&neighbour) == trib_address_near(&same));
    struct trib_address seen = mapped();
    struct trib_address plain = parsed("10.0.0.1:1");
    assert_true(trib_address_near(&seen) == trib_address_near(&plain));
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
    assert_true(trib_address_read(text, &parsed));
    assert_true(trib_address_equal(&made, &parsed));
    assert_int_equal(made.len, parsed.len);
}

/* Where a machine is named, a group is a mistake; and a check needs no name server. */
static void parse__refuses_groups_and_check_says_the_same(void **state)
{
    static const char *const groups[] = {"239.255.74.70:7486", "224.0.0.1", "255.255.255.255", "[ff02::1%lo]:1",
                                         "::ffff:239.1.1.1"};
    static const char *const names[] = {"switch-1.rack_2.invalid:7470", "nowhere.invalid"};
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_address parsed;
    (void)state;
    for (unsigned i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        assert_int_equal(trib_address_parse(groups[i], 0, &parsed, error), TRIB_ERR_INVALID);
        assert_non_null(strstr(error, "is a multicast or broadcast address: name the address of one machine"));
        assert_int_equal(trib_address_check(groups[i], error), TRIB_ERR_INVALID);
        assert_non_null(strstr(error, "is a multicast or broadcast address"));
    }
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(trib_address_check(names[i], error), TRIB_OK);
    }
    assert_int_equal(trib_address_check("300.1.1.1", error), TRIB_ERR_INVALID);
    assert_int_equal(trib_address_check("a b", error), TRIB_ERR_INVALID);
    assert_int_equal(trib_address_check("\033[31m:1", error), TRIB_ERR_INVALID);
    assert_null(strchr(error, '\033'));
}

static void advice__only_where_there_is_some(void **state)
{
    (void)state;
    assert_non_null(strstr(trib_address_advice(EADDRINUSE), "choose another"));
    assert_non_null(strstr(trib_address_advice(EADDRNOTAVAIL), "of this machine?"));
    assert_string_equal(trib_address_advice(EACCES), "");
}

static void subnet__is_an_address_and_its_bits(void **state)
{
    static const struct {
        const char *text;
        uint32_t bits;
    } good[] = {{"10.0.1.0/24", 24}, {"10.0.1.3", 32}, {"0.0.0.0/0", 0}, {"fd00:1::/64", 64}, {"fd00::7", 128}};
    static const char *const bad[] = {"",     "10.0.1",         "10.0.1.0/33", "10.0.1.0/", "10.0.1.0/x", "10.0.1.3:80",
                                      "leaf", "[fd00::7]:7470", "fd00::/129",  "[fd00::7]", "/24"};
    struct trib_address at;
    uint32_t bits = 0;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(trib_subnet_read(good[i].text, &at, &bits));
        assert_int_equal(bits, good[i].bits);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (trib_subnet_read(bad[i], &at, &bits)) {
            fail_msg("\"%s\" is read as a subnet", bad[i]);
        }
    }
}

static void within__goes_by_the_bits(void **state)
{
    static const struct {
        const char *host, *subnet;
        bool is_within;
    } table[] = {
        {"10.0.1.3", "10.0.1.0/24", true},     {"10.0.2.3", "10.0.1.0/24", false}, {"10.0.1.3", "10.0.1.9/24", true},
        {"10.0.1.127", "10.0.1.0/25", true},   {"10.0.1.3", "10.0.1.3", true},     {"10.0.1.128", "10.0.1.0/25", false},
        {"10.0.1.4", "10.0.1.3", false},       {"10.0.1.3", "0.0.0.0/0", true},    {"fd00::1", "fd00::/64", true},
        {"fd00:0:0:1::1", "fd00::/64", false}, {"fd00::1", "0.0.0.0/0", false},    {"10.0.1.3", "::/0", false},
        {"fd00::ffff", "fd00::/113", false}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct trib_address host;
        struct trib_address subnet;
        uint32_t bits = 0;
        uint32_t all = 0;
        assert_true(trib_subnet_read(table[i].host, &host, &all));
        assert_true(trib_subnet_read(table[i].subnet, &subnet, &bits));
        trib_address_set_port(&host, 4711);
        if (trib_address_is_within(&host, &subnet, bits) != table[i].is_within) {
            fail_msg("%s and %s", table[i].host, table[i].subnet);
        }
    }
    struct trib_address none = {.len = 0};
    assert_false(trib_address_is_within(&none, &none, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__texts_come_back),
        cmocka_unit_test(parse__refuses_and_names_the_text),
        cmocka_unit_test(equal__family_address_and_port),
        cmocka_unit_test(set_port__changes_the_port_only),
        cmocka_unit_test(v4__is_what_its_text_says),
        cmocka_unit_test(parse__refuses_groups_and_check_says_the_same),
        cmocka_unit_test(advice__only_where_there_is_some),
        cmocka_unit_test(parse__says_what_a_link_local_address_lacks),
        cmocka_unit_test(format__fits_64_bytes),
        cmocka_unit_test(facts__follow_from_the_address),
        cmocka_unit_test(near__is_what_one_host_may_have),
        cmocka_unit_test(mapped__is_known),
        cmocka_unit_test(subnet__is_an_address_and_its_bits),
        cmocka_unit_test(within__goes_by_the_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
