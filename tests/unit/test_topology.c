/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology.c: files that say who is behind which links: what is read, and what is refused, with its place.
 * Mirrors src/fabric/topology.c and src/cli/switch_names.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/switch_names.h"
#include "net/resolve.h"
#include "switchd/switchd.h"

#define WITH "10.0.9.2,10.0.9.3:7480"

static char path[] = "/tmp/test_topology_XXXXXX";

static bool read_text(const char *text, struct trib_topology *file, char *error)
{
    struct trib_switchd_config config;
    const struct switch_names names = {.config = &config, .listen = "10.0.9.1:7470", .with = WITH};
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    trib_switchd_init(&config);
    assert_int_equal(trib_address_parse(names.listen, 0, &config.listen, NULL), TRIB_OK);
    assert_int_equal(trib_others_parse(WITH, 7470, &config.lenders, NULL), TRIB_OK);
    const struct trib_switch_names of = switch_names_of(&names);
    bool is_good = trib_topology_read(file, path, &of, error);
    (void)unlink(path);
    return is_good;
}

#define LINK(between, rate) "[[link]]\nbetween = \"" between "\"\nrate = \"" rate "\"\n"
#define ALL_SWITCHES \
    LINK("leaf 10.0.9.1:7470", "1Gbps") LINK("leaf 10.0.9.2", "1Gbps") LINK("10.0.9.3:7480 leaf", "1Gbps")

static void read__places_and_links(void **state)
{
    static const uint32_t ends[][2] = {{3, 6}, {4, 6}, {5, 7}, {6, 7}, {6, 0}, {7, 1}, {2, 7}, {3, 7}};
    static const uint64_t gbps[] = {25, 10, 25, 400, 100, 100, 40, 25};
    struct trib_topology file;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char text[64];
    (void)state;
    assert_true(read_text(
        "# racks\nstep_overhead = \"20us\"\npaths = \"ecmp\"\nheadroom = \"40%\"\nmulticast = false\n"
        "[[switch]]\nname = \"leaf*\"\nadds = true\nrate = \"300Gbps\"\n" LINK("10.0.1.0/24 leaf1", "25Gbps")
            LINK("10.0.1.77  leaf1 ", "10Gbps") LINK("fd00:2::/64 leaf2", "25Gbps") LINK("leaf1 leaf2", "400Gbps")
                LINK("leaf1 10.0.9.1:7470", "100Gbps") LINK("leaf2 10.0.9.2:7470", "100Gbps")
                    LINK("10.0.9.3:7480 leaf2", "40Gbps") LINK("10.0.1.9/24 leaf2", "25Gbps"),
        &file, error));
    const struct trib_topology *t = &file;
    assert_int_equal(t->switches, 3);
    assert_int_equal(t->subnet_count, 3);
    assert_int_equal(t->fabric.places, 8);
    assert_int_equal(t->fabric.link_count, 16);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(t->fabric.from[2 * i], ends[i][0]);
        assert_int_equal(t->fabric.to[2 * i], ends[i][1]);
        assert_int_equal(t->fabric.opposite[2 * i], 2 * i + 1);
        assert_int_equal(t->fabric.rate_bps[2 * i], gbps[i] * 1000000000);
        assert_int_equal(t->fabric.rate_bps[2 * i + 1], gbps[i] * 1000000000);
    }
    trib_address_format(&t->subnets[1].at, text);
    assert_string_equal(text, "10.0.1.77:0");
    assert_int_equal(t->subnets[1].bits, 32);
    assert_int_equal(t->subnets[2].bits, 64);
    trib_topology_free(&file);
}

/* A name of the command line is that switch, though it looks like a host; with its bits it is one. */
static void read__a_switch_and_a_host_of_one_address(void **state)
{
    struct trib_topology file;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    assert_true(read_text(ALL_SWITCHES LINK("10.0.9.2/32 leaf", "1Gbps"), &file, error));
    assert_int_equal(file.subnet_count, 1);
    assert_int_equal(file.fabric.to[2], 1);
    trib_topology_free(&file);
}

/* Networks side by side, one for each card, are no mistake. */
static void read__networks_side_by_side(void **state)
{
    struct trib_topology file;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    assert_true(read_text(LINK("10.0.1.0/24 a", "1Gbps") LINK("a 10.0.9.1:7470", "1Gbps") LINK("10.0.2.0/24 b", "1Gbps")
                              LINK("b 10.0.9.2", "1Gbps") LINK("b 10.0.9.3:7480", "1Gbps"),
                          &file, error));
    trib_topology_free(&file);
}

static void refused__with_the_place_and_the_cause(void **state)
{
    static const struct {
        const char *text, *cause;
    } wrong[] = {
        {"", ":1:1: there is no [[link]]"},
        {"[[link]]\nbetwen = \"a b\"\n", ":2:1: unknown key betwen; did you mean between?"},
        {"[[link]]\nspeed = \"a b\"\n", ":2:1: unknown key speed; a [[link]] has between and rate"},
        {"[[cable]]\n", ":1:1: unknown table [cable]; there are tables [[link]], and [[switch]]"},
        {"[topology]\nkind = \"star\"\n", ":1:1: a [topology] is for `tributary plan`"},
        {"[switch]\n", ":1:1: unknown table [switch]"},
        {"[[switch]]\nnames = \"a\"\n", ":2:1: unknown key names; did you mean name?"},
        {"[[switch]]\nname = \"\"\n", ":2:8: name must be a name in quotes"},
        {"[[switch]]\nadds = \"yes\"\n", ":2:8: adds must be true or false"},
        {"[[switch]]\nrate = \"fast\"\n", ":2:8: rate must be a rate in quotes: \"300Gbps\""},
        {"[[switch]]\nbetween = \"a b\"\n", ":2:1: unknown key between; a [[switch]] has name, adds, rate and memory"},
        {"paths = \"any\"\n", ":1:9: paths must be \"explicit\", \"ecmp\" or \"pinned\""},
        {"multicast = 1\n", ":1:13: multicast must be true or false"},
        {"headroom = \"much\"\n", ":1:12: headroom must be a percentage in quotes: \"70%\""},
        {"path = \"ecmp\"\n", ":1:1: unknown key path; did you mean paths?"},
        {"[link]\n", ":1:1: unknown table [link]"},
        {"step_overhead = 7\n", ":1:17: step_overhead must be a time in quotes: \"20us\""},
        {"step_overhead = \"7\"\n", ":1:17: step_overhead must be a time in quotes"},
        {"rate = \"1Gbps\"\n", ":1:1: rate does not stand here, but in a table [[link]]"},
        {"[[link]]\nbetween = \"10.0.1.0/24 leaf\"\n", ":1:1: a [[link]] has between and rate"},
        {"[[link]]\nbetween = [\"a\", \"b\"]\n", ":2:11: arrays and inline tables are not read here"},
        {"[[link]]\nbetween = 7\n", ":2:11: two names in quotes should stand here"},
        {LINK("leaf", "1Gbps"), ":2:11: a link is between two"},
        {LINK("a b c", "1Gbps"), ":2:11: a link is between two"},
        {LINK("leaf leaf", "1Gbps"), ":2:11: a link from one place to itself"},
        {LINK("10.0.1.0/24 10.0.1.5/24", "1Gbps"), ":2:11: a link from one place to itself"},
        {LINK("a b", "1Gbps") LINK("b a", "1Gbps"), ":5:11: this link is there already, in line 2"},
        {LINK("a b", "10"), ":3:8: "},
        {"[[link]]\nrate = 10\n", ":2:8: a rate stands in quotes"},
        {LINK("a b", "10Kbps"), ":3:8: 10Kbps: want at least 1Mbps"},
        {LINK("10.0.1.0/33 a", "1Gbps"), ":2:11: \"10.0.1.0/33\" is no subnet such as 10.0.1.0/24"},
        {LINK("10.0.1 a", "1Gbps"), ":2:11: \"10.0.1\" is no subnet"},
        {LINK("10.0.9.1:7471 a", "1Gbps"), ":2:11: 10.0.9.1:7471 is neither this switch nor one of --with"},
        {LINK("10.0.1.0/24 "
              "a234567890123456789012345678901234567890123456789012345678901234",
              "1Gbps"),
         ":2:11: a name of more than 63 characters"},
        {ALL_SWITCHES, ":1:1: no hosts are named"},
        {LINK("10.0.1.0/24 a", "1Gbps") LINK("a 10.0.9.1:7470", "1Gbps") LINK("a 10.0.9.3:7480", "1Gbps"),
         ":1:1: the switch 10.0.9.2:7470, one of --with, has no link here"},
        {LINK("10.0.1.0/24 a", "1Gbps") LINK("a 10.0.9.2", "1Gbps") LINK("a 10.0.9.3:7480", "1Gbps"),
         ":1:1: the switch 10.0.9.1:7470, which is this one (--listen), has no link here"},
        {ALL_SWITCHES LINK("10.0.1.0/24 other", "1Gbps"),
         ":2:11: no hosts here can reach the switch 10.0.9.1:7470: links are missing"},
        {ALL_SWITCHES LINK("10.0.1.0/24 leaf", "1Gbps") LINK("10.0.2.0/24 other", "1Gbps"),
         ":14:11: no switch can be reached from these hosts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct trib_topology file;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        if (read_text(wrong[i].text, &file, error)) {
            fail_msg("taken: %s", wrong[i].text);
        }
        if (strncmp(error, path, strlen(path)) != 0 || strstr(error, wrong[i].cause) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].cause, error);
        }
        assert_null(file.fabric.from);
    }
}

static void refused__too_much(void **state)
{
    struct trib_topology file;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char *text = calloc(TRIB_TOPOLOGY_LINKS_MAX + 1U, 64);
    (void)state;
    assert_non_null(text);
    for (uint32_t i = 0; i < TRIB_PLACES_MAX; i++) {
        (void)snprintf(text + strlen(text), 64, LINK("a b%u", "1Gbps"), i);
    }
    assert_false(read_text(text, &file, error));
    assert_non_null(strstr(error, ": more than 1024 places"));
    free(text);
}

/* Boxes in all pairs, until there are so many links. */
static char *text_of_links(uint32_t links)
{
    char *text = calloc(links, 80);
    assert_non_null(text);
    size_t len = (size_t)snprintf(text, 512, "%s", LINK("10.0.1.0/24 leaf", "1Gbps") ALL_SWITCHES);
    uint32_t count = 4;
    for (uint32_t a = 0; count < links; a++) {
        for (uint32_t b = 0; b < a && count < links; b++, count++) {
            len += (size_t)snprintf(text + len, 80, "[[link]]\nbetween = \"b%u b%u\"\nrate = \"1Gbps\"\n", a, b);
        }
    }
    return text;
}

static void most__links(void **state)
{
    struct trib_topology file;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    char *text = text_of_links(TRIB_TOPOLOGY_LINKS_MAX);
    assert_true(read_text(text, &file, error));
    assert_int_equal(file.fabric.link_count, 2 * TRIB_TOPOLOGY_LINKS_MAX);
    trib_topology_free(&file);
    free(text);
    text = text_of_links(TRIB_TOPOLOGY_LINKS_MAX + 1);
    assert_false(read_text(text, &file, error));
    assert_non_null(strstr(error, ": more than 4096 links"));
    free(text);
}

static void refused__no_such_file(void **state)
{
    struct trib_topology file;
    struct trib_switchd_config config;
    const struct switch_names written = {.config = &config};
    const struct trib_switch_names names = switch_names_of(&written);
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    trib_switchd_init(&config);
    assert_false(trib_topology_read(&file, "/nowhere/links.toml", &names, error));
    assert_string_equal(error, "/nowhere/links.toml: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__places_and_links),
        cmocka_unit_test(read__a_switch_and_a_host_of_one_address),
        cmocka_unit_test(read__networks_side_by_side),
        cmocka_unit_test(refused__with_the_place_and_the_cause),
        cmocka_unit_test(refused__too_much),
        cmocka_unit_test(refused__no_such_file),
        cmocka_unit_test(most__links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
