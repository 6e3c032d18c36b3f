/* SPDX-License-Identifier: Apache-2.0 */
/* test_doctor.c: measured numbers in the file of a network: what changes, and that nothing else does; which host of the
 * file is meant; mistakes. Mirrors src/cli/doctor_file.h, src/cli/doctor_topology.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/comm.h>

#include "cli/doctor_topology.h"
#include "io/file.h"
#include "plan/network.h"

static const struct doctor_numbers measured = {UINT64_C(10100000000), 58300};

/* ---- numbers ---- */

static void numbers__four_digits_that_the_planner_reads(void **state)
{
    (void)state;
    char text[DOCTOR_QUANTITY_MAX];
    static const struct {
        uint64_t value;
        const char *rate, *step;
    } cases[] = {
        {1, "1bps", "1ns"},
        {999, "999bps", "999ns"},
        {20312345, "20.31Mbps", "20.31ms"},
        {999960, "1Mbps", "1ms"},
        {UINT64_C(1010000000), "1.01Gbps", "1.01s"},
        {UINT64_C(3200000000000), "3200Gbps", "3200s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        doctor_format_rate(cases[i].value, text);
        assert_string_equal(text, cases[i].rate);
        doctor_format_step(cases[i].value, text);
        assert_string_equal(text, cases[i].step);
    }
}

/* ---- the edit ---- */

/* The text with the measured numbers; NULL: error has the cause. */
static char *edit(const char *before, char *error)
{
    const struct doctor_cable cable = {.host = "h0", .other = "leaf", .rate_bps = 1};
    error[0] = '\0';
    return doctor_file_edit("net.toml", before, &cable, &measured, error);
}

static void check_edit(const char *before, const char *after)
{
    char error[TRIB_ERROR_TEXT_MAX];
    char *text = edit(before, error);
    if (text == NULL) {
        fail_msg("%s", error);
    }
    assert_string_equal(text, after);
    free(text);
}

static void edit__values_and_no_other_byte(void **state)
{
    (void)state;
    check_edit("# head\nstep_overhead =\t'1us' # of all\n\n"
               "[[link]] # other\nbetween = \"h1 leaf\"\nrate = \"1Gbps\"\n"
               "[[link]]\n  rate = \"1Gbps\"   # mine, \"h0\"\n  between = 'leaf  h0'\n\n# end",
               "# head\nstep_overhead =\t\"58.3us\" # of all\n\n"
               "[[link]] # other\nbetween = \"h1 leaf\"\nrate = \"1Gbps\"\n"
               "[[link]]\n  rate = \"10.1Gbps\"   # mine, \"h0\"\n  between = 'leaf  h0'\n\n# end");
    check_edit("[[link]]\r\nbetween = \"h0 leaf\"\r\nrate = \"1\\\"Gbps\"#\\\"\r\n",
               "step_overhead = \"58.3us\"\r\n\r\n"
               "[[link]]\r\nbetween = \"h0 leaf\"\r\nrate = \"10.1Gbps\"#\\\"\r\n");
}

static void edit__adds_the_overhead_behind_the_keys_of_the_file(void **state)
{
    (void)state;
    check_edit("# head\n\npaths = \"ecmp\" # all\n# the link\n[[link]]\nrate = \"1Gbps\"\nbetween = \"h0 leaf\"\n",
               "# head\n\npaths = \"ecmp\" # all\nstep_overhead = \"58.3us\"\n# the link\n[[link]]\n"
               "rate = \"10.1Gbps\"\nbetween = \"h0 leaf\"\n");
}

static void edit__adds_the_overhead_above_the_first_table(void **state)
{
    (void)state;
    check_edit("# head\n\n# the link,\n# of mine\n[[link]]\nrate = \"1Gbps\"\nbetween = \"h0 leaf\"\n",
               "# head\n\nstep_overhead = \"58.3us\"\n\n# the link,\n# of mine\n[[link]]\nrate = \"10.1Gbps\"\n"
               "between = \"h0 leaf\"\n");
}

/* A host of a kind of network has the rate of all hosts, until it has one of its own. */
static void edit__adds_a_link_beside_a_kind_of_network(void **state)
{
    (void)state;
    check_edit("[topology]\nkind = \"star\"\nhosts = 2\nrate = \"1Gbps\" # all",
               "step_overhead = \"58.3us\"\n\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"1Gbps\" # all\n\n"
               "[[link]]\nbetween = \"h0 leaf\"\nrate = \"10.1Gbps\"\n");
}

static void edit__mistakes(void **state)
{
    (void)state;
    char error[TRIB_ERROR_TEXT_MAX];
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"[[link]]\nbetween = \"h1 leaf\"\nrate = \"1Gbps\"\n", "net.toml:1:1: no link between h0 and leaf"},
        {"# x\n[[link]]\nbetween = \"h0 leaf\"\n",
         "net.toml:2:1: this [[link]] has no rate: write one, such as rate = \"10.1Gbps\""},
        {"[[link]]\nbetween = \"h0 leaf\"\nrate = \"1Gbps\"\n[[link]]\nrate = \"1Gbps\"\nbetween = \"leaf h0\"\n",
         "net.toml:6:11: the link between h0 and leaf is there already, in line 1: remove one of the two"},
        {"[[link]\n", "net.toml:1:8: ]] should stand here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(edit(cases[i].text, error));
        assert_string_equal(error, cases[i].error);
    }
}

/* ---- the file ---- */

static char folder[] = "/tmp/test_doctor_XXXXXX";
static char path[64];

/* NULL: no file. */
static void write_text(const char *text)
{
    (void)unlink(path);
    FILE *file = text != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fputs(text, file);
        (void)fclose(file);
    }
}

static void check_text(const char *expected)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

/* A machine with these names; the second may be NULL. */
static struct doctor_names names_of(const char *first, const char *second)
{
    struct doctor_names names = {.count = second != NULL ? 2 : 1, .peer = "10.0.9.1:7470"};
    (void)snprintf(names.list[0], sizeof names.list[0], "%s", first);
    (void)snprintf(names.list[1], sizeof names.list[1], "%s", second != NULL ? second : "");
    return names;
}

#define LINK(between) "[[link]]\nbetween = \"" between "\"\nrate = \"1Gbps\"\n"
#define TWO LINK("h0 leaf") LINK("h1 leaf")

static void file__of_which_the_rate_is_written(void **state)
{
    (void)state;
    struct doctor_names names = names_of("h0", "10.0.0.1");
    struct doctor_cable cable;
    struct stat found;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char link[80];

    write_text(LINK("10.0.0.1 leaf") LINK("h1 leaf"));
    assert_int_equal(chmod(path, 0640), 0);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("net.toml", link), 0);
    assert_true(doctor_topology_find(link, &names, &cable, error));
    assert_string_equal(cable.host, "10.0.0.1");
    assert_string_equal(cable.other, "leaf");
    assert_int_equal(cable.rate_bps, 1000000000);
    assert_true(doctor_topology_write(link, &cable, &measured, error));
    check_text(
        "step_overhead = \"58.3us\"\n\n[[link]]\nbetween = \"10.0.0.1 leaf\"\nrate = \"10.1Gbps\"\n" LINK("h1 leaf"));
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    (void)unlink(link);
}

static void file__a_new_one_is_a_network(void **state)
{
    (void)state;
    struct doctor_names names = names_of("h0", NULL);
    struct doctor_cable cable;
    struct plan_network net;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    write_text(NULL);
    assert_true(doctor_topology_find(path, &names, &cable, error));
    assert_int_equal(access(path, F_OK), -1);
    assert_true(doctor_topology_write(path, &cable, &measured, error));
    assert_true(plan_network_read(&net, path, error));
    assert_int_equal(net.step_ns, 58300);
    assert_int_equal(net.fabric.rate_bps[0], measured.rate_bps);
    plan_network_free(&net);
    assert_true(doctor_topology_find(path, &names, &cable, error));
    assert_string_equal(cable.other, "10.0.9.1:7470");
}

/* The file may change while the link is measured. */
static void file__stays_when_the_host_has_gone(void **state)
{
    (void)state;
    struct doctor_names names = names_of("h0", NULL);
    struct doctor_cable cable;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    write_text(LINK("h0 leaf") LINK("h1 leaf"));
    assert_true(doctor_topology_find(path, &names, &cable, error));
    write_text(LINK("h2 leaf") LINK("h1 leaf"));
    assert_false(doctor_topology_write(path, &cable, &measured, error));
    assert_non_null(strstr(error, ":1:1: no link between h0 and leaf"));
    check_text(LINK("h2 leaf") LINK("h1 leaf"));
}

/* What the planner would not read is not written. */
static void file__stays_when_the_planner_would_not_read_the_new_one(void **state)
{
    (void)state;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    write_text(LINK("h0 leaf"));
    assert_false(doctor_file_write(path, "[[link]]\nbetween = \"h0 leaf\"\nrate = \"1bps\"\n", error));
    assert_non_null(strstr(error, "stays as it is: the planner would not read the new text"));
    check_text(LINK("h0 leaf"));
}

static void check_refused(const char *text, struct doctor_names names, const char *cause)
{
    struct doctor_cable cable;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    write_text(text);
    assert_false(doctor_topology_find(path, &names, &cable, error));
    if (strstr(error, cause) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error, cause);
    }
    check_text(text);
}

static void file__mistakes(void **state)
{
    (void)state;
    struct doctor_names chosen = names_of("h11", NULL);

    chosen.is_chosen = true;
    check_refused(TWO, names_of("h9", "10.0.0.9"), "has no host h9 or 10.0.0.9, the names of this machine: name");
    check_refused(TWO, chosen, "net.toml: --host: there is no h11; did you mean h1?");
    check_refused(TWO, names_of("h0", "h1"), "this machine is two hosts there, h0 and h1: name one (--host)");
    check_refused(TWO, names_of("leaf", NULL), "leaf has 2 cables there, so it is a switch: a host has one");
    check_refused(LINK("h0 leaf") LINK("h0 spine") LINK("h1 leaf"), names_of("h0", NULL), "h0 has 2 cables there");
    check_refused(TWO "[[switch]]\nname = \"h0\"\n", names_of("h0", NULL), "h0 is a switch there: name a host");
    check_refused("[[link]]\nbetween = \"h0 leaf\"\n", names_of("h0", NULL), ":1:1: rate is missing");
    check_refused("[topology]\nkind = \"star\"\nhosts = 2\nrate = \"1Gbps\"\n" LINK("host0 switch0")
                      LINK("switch0 host0"),
                  names_of("host0", NULL), ":9:11: the link between host0 and switch0 is there already, in line 5");
    check_refused("nothing\n", names_of("h0", NULL), ":1:8: = should stand here");
}

static void file__that_cannot_be_written(void **state)
{
    (void)state;
    struct doctor_names names = names_of("h0", NULL);
    struct doctor_cable cable;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    assert_false(doctor_topology_find("/nowhere/net.toml", &names, &cable, error));
    assert_string_equal(error, "/nowhere/net.toml cannot be written: No such file or directory");
    assert_false(doctor_topology_find(folder, &names, &cable, error));
    assert_non_null(strstr(error, "Is a directory"));
    if (geteuid() == 0) {
        return; /* root may write all files */
    }
    write_text(LINK("h0 leaf") LINK("h1 leaf"));
    assert_int_equal(chmod(path, 0444), 0);
    assert_false(doctor_topology_find(path, &names, &cable, error));
    assert_non_null(strstr(error, "cannot be written: Permission denied"));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    assert_false(doctor_topology_find(path, &names, &cable, error));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_non_null(strstr(error, "no new file can be made beside it: Permission denied"));
}

/* ---- names ---- */

static void names__of_the_user(void **state)
{
    (void)state;
    struct doctor_names names = names_of("h0", "h1");
    char error[TRIB_ERROR_TEXT_MAX] = "";
    static const char *const bad[] = {"",
                                      "two words",
                                      "a;b",
                                      "10.0.0.1:7470",
                                      "\x1b",
                                      "a\"b",
                                      "0123456789012345678901234567890123456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(doctor_names_choose(&names, bad[i], error));
        assert_int_equal(names.count, 2);
        assert_non_null(strstr(error, "is no name of a host"));
    }
    assert_true(doctor_names_choose(&names, "rack1-h7", error));
    assert_int_equal(names.count, 1);
    assert_string_equal(names.list[0], "rack1-h7");
}

static void names__of_the_machine(void **state)
{
    (void)state;
    const struct trib_address peer = trib_address_v4(0x7f000001, 7470);
    const struct trib_address source = trib_address_v4(0x0a000007, 0);
    struct doctor_names names;

    doctor_names_collect(&names, &peer, NULL);
    assert_string_equal(names.list[names.count - 1], "127.0.0.1");
    doctor_names_collect(&names, &peer, &source);
    assert_string_equal(names.list[names.count - 1], "10.0.0.7");
    assert_string_equal(names.peer, "127.0.0.1:7470");
}

static int make_folder(void **state)
{
    (void)state;
    bool is_made = mkdtemp(folder) != NULL;
    (void)snprintf(path, sizeof path, "%s/net.toml", folder);
    return is_made ? 0 : -1;
}

/* Nothing but the file is left in it. */
static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers__four_digits_that_the_planner_reads),
        cmocka_unit_test(edit__values_and_no_other_byte),
        cmocka_unit_test(edit__adds_the_overhead_behind_the_keys_of_the_file),
        cmocka_unit_test(edit__adds_the_overhead_above_the_first_table),
        cmocka_unit_test(edit__adds_a_link_beside_a_kind_of_network),
        cmocka_unit_test(edit__mistakes),
        cmocka_unit_test(file__of_which_the_rate_is_written),
        cmocka_unit_test(file__a_new_one_is_a_network),
        cmocka_unit_test(file__stays_when_the_host_has_gone),
        cmocka_unit_test(file__stays_when_the_planner_would_not_read_the_new_one),
        cmocka_unit_test(file__mistakes),
        cmocka_unit_test(file__that_cannot_be_written),
        cmocka_unit_test(names__of_the_user),
        cmocka_unit_test(names__of_the_machine),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
