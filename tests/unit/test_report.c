/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and numbers of JSON, texts of pages. Plots are tested with the simulator's results (test_sim_results.c). Mirrors
 * src/report. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/graph.h"
#include "report/html.h"
#include "report/json.h"

static char *written;
static size_t length;

static void expect(FILE *out, const char *text)
{
    assert_int_equal(fclose(out), 0);
    assert_string_equal(written, text);
    free(written);
}

static void json_texts_are_escaped(void **state)
{
    FILE *out = open_memstream(&written, &length);

    (void)state;
    report_json_text(out, "a \"b\" \\ c\n\x1f");
    report_json_text(out, "");
    report_json_text(out, "\xc3\xa9 \xf0\x9f\x98\x80 \xe9 \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 \xe2\x82");
    expect(out, "\"a \\\"b\\\" \\\\ c\\u000a\\u001f\"\"\""
                "\"\xc3\xa9 \xf0\x9f\x98\x80 \\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd "
                "\\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"");
}

static void json_has_no_infinity(void **state)
{
    static const double numbers[] = {0, 0.1, 1e300, -12345678.5, HUGE_VAL, -HUGE_VAL, (double)NAN};
    FILE *out = open_memstream(&written, &length);

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        report_json_number(out, numbers[i]);
        (void)fputc(' ', out);
    }
    expect(out, "0 0.1 1e+300 -12345678.5 null null null ");
}

static void json_has_commas_between_members(void **state)
{
    FILE *out = open_memstream(&written, &length);
    struct report_json json = {.out = out};

    (void)state;
    report_json_open(&json, NULL, '{');
    report_json_open(&json, "none", '[');
    report_json_close(&json, ']');
    report_json_open(&json, "rows", '[');
    for (int i = 0; i < 2; i++) {
        report_json_open(&json, NULL, '{');
        report_json_put(&json, "n", "%d", i);
        report_json_say(&json, "of \"it\"", "x\ny");
        report_json_close(&json, '}');
    }
    report_json_put(&json, NULL, "%.1f", 2.5);
    report_json_close(&json, ']');
    report_json_flag(&json, "yes", true);
    report_json_real(&json, "inf", HUGE_VAL);
    report_json_close(&json, '}');
    expect(out, "{\"none\":[],\"rows\":[{\"n\":0,\"of \\\"it\\\"\":\"x\\u000ay\"},{\"n\":1,\"of "
                "\\\"it\\\"\":\"x\\u000ay\"},2.5],"
                "\"yes\":true,\"inf\":null}");
}

static void pages_show_texts_as_they_are(void **state)
{
    FILE *out = open_memstream(&written, &length);

    (void)state;
    report_html_cell(out, "<a href=\"x\">&amp;</a>");
    expect(out, "<td>&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;</td>");
}

static uint32_t count_of(const char *text)
{
    uint32_t count = 0;
    for (const char *at = strstr(written, text); at != NULL; at = strstr(at + 1, text)) {
        count++;
    }
    return count;
}

static void draw(const struct report_graph *graph)
{
    FILE *out = open_memstream(&written, &length);
    assert_true(report_graph_draw(out, graph));
    assert_int_equal(fclose(out), 0);
}

/* Two tiers: the upper one above, names within the drawing, a colour by the larger load. */
static void graphs_have_a_row_for_each_tier(void **state)
{
    const struct report_node nodes[] = {
        {.name = "a", .foot = .1}, {.name = "<b>", .foot = 1}, {"top", 1, true, true, -1}};
    const struct report_edge edges[] = {{{0, 2}, {.2, .96}}, {{1, 2}, {0, 0}}};
    struct report_graph graph = {.title = "t", .foot = "hosts", .nodes = nodes, .edges = edges};

    (void)state;
    graph.node_count = 3;
    graph.edge_count = 2;
    draw(&graph);
    assert_int_equal(count_of("<polyline"), 4); /* and two feet */
    assert_int_equal(count_of("<circle"), 3);
    assert_non_null(strstr(written, "points=\"125.0,150.0 210.0,40.0\"><title>a to top: 20.0 %, back 96.0 %</title>"));
    assert_non_null(strstr(written, "<title>&lt;b&gt;, hosts: 100.0 %</title>"));
    assert_non_null(strstr(written, "<title>top, adds, a root</title>"));
    assert_int_equal(count_of("#c4390a"), 2); /* of .96 and 1 */
    free(written);
    graph.hides_unused = true;
    draw(&graph);
    assert_int_equal(count_of("<polyline"), 3);
    free(written);
}

/* One tier: no three nodes in a row, so that no edge lies on another one. */
static void graphs_of_one_tier_are_circles(void **state)
{
    const struct report_node nodes[4] = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
    const struct report_edge edges[] = {{{0, 2}, {.5, .5}}};
    const struct report_graph graph = {
        .title = "t", .foot = "hosts", .nodes = nodes, .edges = edges, .node_count = 4, .edge_count = 1};

    (void)state;
    draw(&graph);
    assert_non_null(strstr(written, "points=\"220.0,96.0 220.0,296.0\"><title>a to c"));
    assert_non_null(strstr(written, "cx=\"320.0\" cy=\"196.0\"><title>b<"));
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_texts_are_escaped),          cmocka_unit_test(json_has_no_infinity),
        cmocka_unit_test(json_has_commas_between_members), cmocka_unit_test(pages_show_texts_as_they_are),
        cmocka_unit_test(graphs_have_a_row_for_each_tier), cmocka_unit_test(graphs_of_one_tier_are_circles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
