/* SPDX-License-Identifier: Apache-2.0 */
/* test_reproduce.c: claims of papers: what is computed from formulas, number by number, against values worked out by
 * hand; the rule of what is reproduced; that claims and experiments belong together; what is written of them; and that
 * docs/REPRODUCTION.md is of these sources. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reproduce/panama.h"
#include "reproduce/simulate.h"
#include "reproduce/texts.h"
#include "reproduce/write.h"

static const struct reproduce_claim *find_claim(const char *experiment, const char *name)
{
    for (uint32_t i = 0; reproduce_claim_at(i) != NULL; i++) {
        const struct reproduce_claim *claim = reproduce_claim_at(i);
        if (strcmp(claim->experiment, experiment) == 0 && strcmp(claim->name, name) == 0) {
            return claim;
        }
    }
    fail_msg("no claim %s of %s", name, experiment);
    return NULL;
}

/* cmocka's own is of float. */
static void assert_near(double value, double expected, double within)
{
    if (fabs(value - expected) > within) {
        fail_msg("%.9g is not %.9g", value, expected);
    }
}

/* ---- formulas ---- */

static void formulas__are_the_papers(void **state)
{
    (void)state;
    assert_true(panama_traffic_bytes(1000, 1e9, 1000) == 2e15);
    assert_near(panama_share(250e6, 10e9, 0.6), 0.4, 1e-12); /* 0.4 s of 1 s */
    assert_near(panama_speedup(0.4), 1.25, 1e-12);
    assert_near(panama_ring_ratio(4), 1.5, 1e-12);
    assert_true(panama_dense_parameters(3, 2) == 8);              /* 3 x 2 weights, 2 biases */
    assert_true(panama_convolution_parameters(4, 32, 8) == 8224); /* 32 kernels of 8 x 8 x 4, and a bias each */
    assert_true(panama_rate(64, 200e6) == 12.8e9);
    assert_true(panama_rate(512, 200e6) == 102.4e9);
    assert_true(panama_rate(512, 1e9) == 512e9);
    assert_true(panama_adders(64, 4) == 6);
    assert_true(panama_adders(512, 64) == 1008);
    assert_true(panama_adders(512, 128) == 2032);
    assert_true(panama_luts(64, 4) == 4461);
    assert_true(panama_flip_flops(64, 4) == 2339);
    assert_true(panama_luts(512, 128) == 756673);
    assert_true(panama_flip_flops(512, 128) == 177475);
    assert_near(panama_latency(512, 64, 200e6, 10e-9, 4) * 1e9, 335, 1e-9);
    assert_near(panama_latency(1500, 512, 200e6, 10e-9, 64) * 1e9, 172.1875, 1e-9);
    assert_true(panama_bus_for(100e9, 200e6) == 512);
    assert_true(panama_bus_for(10e9, 200e6) == 64);
    assert_true(panama_bus_for(100e9, 1e9) == 128);
}

/* ---- every number ---- */

static const struct {
    const char *experiment;
    const char *claim;
    double ours;
    bool is_reproduced;
} numbers[] = {
    {"panama-fig1", "largest-share", 0.6952476, true},
    {"panama-fig1", "p100-least", 1.144733, false},
    {"panama-fig1", "p100-most", 1.532858, true},
    {"panama-fig1", "least-of-share", 1.058201, true},
    {"panama-fig1", "most-of-share", 1.538462, true},
    {"panama-fig1", "bound", 1.998, true},
    {"panama-sum", "total", 2, true},
    {"panama-fig2", "least", 1.6, true},
    {"panama-fig2", "most", 154.64240128, true},
    {"panama-fig2", "most-of-introduction", 154.64240128, false},
    {"panama-fig2", "aggregation", 26.499616, false},
    {"panama-fig2", "small-sums", 6.773448, true},
    {"panama-eq", "prototype-rate", 12.8, true},
    {"panama-eq", "adder-trees", 2, true},
    {"panama-eq", "prototype-adders", 6, true},
    {"panama-eq", "adders-per-parser", 15.875, true},
    {"panama-table1", "512", 335, false},
    {"panama-table1", "1024", 655, false},
    {"panama-table1", "1500", 952.5, false},
    {"panama-table1", "512-other", 315, false},
    {"panama-table1", "1024-other", 635, false},
    {"panama-table1", "1500-other", 932.5, false},
    {"panama-table1", "adding", 20, false},
    {"panama-table2", "luts", 4461, true},
    {"panama-table2", "flip-flops", 2339, true},
    {"panama-table2", "luts-share", 0.1091841, false},
    {"panama-table2", "flip-flops-share", 0.0286238, false},
    {"panama-fig11", "bus-for-100", 512, true},
    {"panama-fig11", "asic-rate", 512, true},
    {"panama-fig12", "luts", 18.519761, true},
    {"panama-fig12", "flip-flops", 2.1718726, true},
    {"panama-fig12", "ports", 687, true},
    {"panama-fig13", "area", 5.949061, true},
    {"panama-fig14", "fpga-most", 182.1875, false},
    {"panama-fig14", "asic-most", 134.75, false},
    {"atp-rows", "row-1", 2, true},
    {"atp-rows", "row-2", 3, true},
    {"atp-rows", "row-3", 2, true},
    {"atp-rows", "ecn-1", 0, true},
    {"atp-rows", "ecn-2", 1, true},
    {"atp-rows", "ecn-3", 1, true},
    {"atp-rows", "job-1", 0, true},
    {"atp-rows", "job-2", 5, true},
    {"atp-rows", "job-3", 5, true},
    {"atp-rows", "sequence-1", 5, true},
    {"atp-rows", "sequence-2", 1000, true},
    {"atp-rows", "sequence-3", 900, true},
    {"atp-rows", "complete", 3, true},
    {"atp-fields", "bitmap", 64, false},
    {"atp-fields", "counter", 16, false},
    {"atp-fields", "ecn", 1, true},
    {"atp-fields", "job", 32, true},
    {"atp-fields", "sequence", 48, false},
    {"atp-fields", "timestamp", 0, false},
    {"atp-fields", "value", 8192, false},
    {"atp-fields", "integer", 32, true},
    {"atp-bert", "gpus-92", 1472, true},
    {"atp-bert", "gpus-64", 1024, true},
    {"atp-bert", "minutes-92", 46.608696, true},
    {"atp-bert", "minutes-64", 67.5625, true},
    {"atp-pool", "static-a", 50, true},
    {"atp-pool", "static-b", 50, true},
    {"atp-pool", "pool", 100, true},
    {"atp-pool", "static-served", 50, true},
    {"atp-pool", "alone", 74, false},
    {"atp-pool", "shared", 98, true},
    {"atp-literal", "wrong", 159, true},
    {"atp-literal", "unnoticed", 150, true},
    {"atp-literal", "leaked", 88, true},
    {"atp-literal", "dropped", 64, true},
    {"atp-literal", "endless", 19, true},
    {"atp-literal", "ours", 0, true},
    {"goat-memory", "resnet18", 44.591949, true},
    {"goat-memory", "resnet50", 97.49234, false},
    {"goat-memory", "vgg16", 527.79214, true},
    {"goat-memory", "exceeds", 1.5233178, true},
    {"goat-example", "atp", 7, true},
    {"goat-example", "atp-by-arrival", 7, true},
    {"goat-example", "goat", 3, true},
    {"goat-ps", "resnet18", 93.75, true},
    {"goat-ps", "resnet50", 63.137755, false},
    {"goat-ps", "resnet50-printed", 93.75, true},
    {"goat-ps", "least-cost", 67.265625, false},
    {"goat-cost", "leaf-spine", 41.001674, false},
    {"goat-cost", "fat-tree", 44.038869, false},
    {"goat-cost", "script-data", 63.129666, true},
    {"goat-cost", "script-hops", 49.547284, false},
    {"goat-cost", "script-exact", 56.66499, false},
    {"goat-cost", "to-none", 0.58998326, true},
    {"goat-cost", "to-atp", 0.65014861, true},
    {"goat-cost", "order", 0.92045455, true},
    {"goat-cost", "printed", 1.0828407, true},
    {"goat-bound", "divided", 1.001, true},
    {"goat-bound", "other", 1.001, true},
    {"goat-bound", "greedy", 1.034, true},
    {"goat-bound", "repaired-memory", 0, true},
    {"goat-bound", "collapse", 1, true},
    {"goat-dynamics", "exact", 0.78012685, true},
    {"goat-dynamics", "slide", 0.96700143, true},
    {"goat-dynamics", "script-data", 1.1010919, false},
    {"goat-overfill", "most", 34.15625, false},
    {"goat-overfill", "least", 7.6145833, false},
    {"rina-bom", "fig4", 0.25, true},
    {"rina-bom", "tree-racks", 50, true},
    {"rina-bom", "tree-best", 50, true},
    {"rina-bom", "tree-mean", 37.69230769, false},
    {"rina-bom", "tree-before", 16.66666667, true},
    {"rina-bom", "tree-least", 50, true},
    {"rina-bom", "dragonfly-best", 50, true},
    {"rina-bom", "dragonfly-racks", 50, true},
    {"rina-bom", "dragonfly-mean", 17.18861329, false},
    {"rina-bom", "all-but-one", 50, true},
    {"rina-eq3", "barrier-16", 0.749562588, true},
    {"rina-eq3", "barrier-72", 0.8166728637, true},
    {"rina-eq3", "free-16", 0.4001433236, true},
    {"rina-eq3", "rina", 0.5013080999, true},
    {"rina-eq3", "rina-of-agents", 0.4054647809, true},
};

#define NUMBERS (sizeof numbers / sizeof numbers[0])

static void check_number(const struct reproduce_claim *claim, double ours)
{
    size_t at = 0;

    while (at < NUMBERS &&
           (strcmp(numbers[at].experiment, claim->experiment) != 0 || strcmp(numbers[at].claim, claim->name) != 0)) {
        at++;
    }
    if (at == NUMBERS) {
        fail_msg("there is no number of %s %s", claim->experiment, claim->name);
    }
    if (fabs(ours - numbers[at].ours) > 2e-6 * fabs(numbers[at].ours)) {
        fail_msg("%s %s is %.6f, not %.6f", claim->experiment, claim->name, ours, numbers[at].ours);
    }
    if (reproduce_claim_holds(claim, ours) != numbers[at].is_reproduced) {
        fail_msg("%s %s: the verdict is another", claim->experiment, claim->name);
    }
}

static void numbers__are_those_of_every_claim_that_is_computed(void **state)
{
    uint32_t claims = 0;

    (void)state;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        (void)find_claim(numbers[i].experiment, numbers[i].claim);
    }
    for (uint32_t i = 0; reproduce_claim_at(i) != NULL; i++) {
        const struct reproduce_experiment *e = reproduce_experiment_find(reproduce_claim_at(i)->experiment);
        claims += !e->is_simulated && !reproduce_is_measured(e);
    }
    assert_int_equal(claims, NUMBERS);
}

/* What reasons say in numbers. */
static void reasons__are_computed_as_well(void **state)
{
    (void)state;
    assert_near(panama_speedup(panama_share(27.16e6 * 4, 10e9, 64 / 142.0)), 1.16, 0.005);
    assert_near(4461 / 433200.0 * 100, 1.03, 0.005);
    assert_near(2339 / 866400.0 * 100, 0.26996, 0.00001); /* cut: 0.26 */
    assert_near(panama_luts(512, 128) / 433200 * 100, 175, 0.5);
    assert_near(2032 * 0.93686 * 49 / (180 * 180), 2.88, 0.005);
    assert_near(panama_latency(1500, 512, 200e6, 10e-9, 64) * 1e9, 172.2, 0.05);
    assert_near(panama_latency(1500, 512, 200e6, 10e-9, 4) * 1e9, 132.2, 0.05);
    assert_near(panama_latency(1500, 128, 1e9, 6e-9, 64) * 1e9, 128.75, 1e-9);
    assert_near(panama_latency(1500, 512, 1e9, 6e-9, 128) * 1e9, 64.4, 0.05);
    assert_near(13004888 * 4 / 1e6, 52, 0.05); /* GoogLeNet with its heads; the next larger model: */
    assert_true(23834568 * 4 / 1e6 > 90);
    assert_near(4294967296.0 * 1408 / 1e12, 6, 0.05); /* ATP's sequence numbers, in TB and in minutes at 100 Gbps */
    assert_near(4294967296.0 * 1408 * 8 / 100e9 / 60, 8, 0.1);
    /* Table 1: cycles of 5 ns that equation (3) has not. */
    assert_near((370 - 335) / 5.0, 7, 1e-12);
    assert_near((695 - 655) / 5.0, 8, 1e-12);
    assert_near((987.5 - 952.5) / 5.0, 7, 1e-12);
    assert_near((340 - 315) / 5.0, 5, 1e-12);
    assert_near((665 - 635) / 5.0, 6, 1e-12);
}

/* ---- the rule ---- */

static void printed_numbers__are_rounded_or_cut(void **state)
{
    struct reproduce_claim claim = {.relation = REPRODUCE_PRINTED, .paper = 5.94, .step = 0.01, .unit = "mm2"};
    char text[REPRODUCE_TEXT_MAX];

    (void)state;
    assert_true(reproduce_claim_holds(&claim, 5.9351));
    assert_true(reproduce_claim_holds(&claim, 5.9499));
    assert_false(reproduce_claim_holds(&claim, 5.9349));
    assert_false(reproduce_claim_holds(&claim, 5.9501));
    assert_string_equal(reproduce_text_paper(&claim, text), "5.94 mm2");
    assert_string_equal(reproduce_text_ours(&claim, 5.94909, text), "5.9491 mm2");
    assert_string_equal(reproduce_text_verdict(&claim, 6), "differs");

    claim = (struct reproduce_claim){.relation = REPRODUCE_AT_MOST, .paper = 35, .unit = "%"};
    assert_true(reproduce_claim_holds(&claim, 35));
    assert_true(reproduce_claim_holds(&claim, -1));
    assert_false(reproduce_claim_holds(&claim, 35.01));
    assert_string_equal(reproduce_text_paper(&claim, text), "35 %");
    assert_string_equal(reproduce_text_ours(&claim, 18.5197, text), "18.5 %");
    claim.relation = REPRODUCE_AT_LEAST;
    assert_true(reproduce_claim_holds(&claim, 35));
    assert_false(reproduce_claim_holds(&claim, 34.99));
    assert_string_equal(reproduce_text_verdict(&claim, 36), "reproduced");
}

/* ---- tables ---- */

static void claims__belong_to_experiments(void **state)
{
    (void)state;
    for (uint32_t i = 0; reproduce_claim_at(i) != NULL; i++) {
        const struct reproduce_claim *claim = reproduce_claim_at(i);
        assert_non_null(reproduce_experiment_find(claim->experiment));
        assert_ptr_equal(find_claim(claim->experiment, claim->name), claim); /* no two of one name */
        assert_true((claim->relation == REPRODUCE_PRINTED) == (claim->step > 0));
    }
    for (uint32_t i = 0; reproduce_experiment_at(i) != NULL; i++) {
        const struct reproduce_experiment *e = reproduce_experiment_at(i);
        assert_ptr_equal(reproduce_experiment_find(e->name), e);
        assert_true(strlen(e->name) < 32); /* io/nearest.h */
        assert_non_null(e->assumptions[0]);
    }
}

static void check_values(const struct reproduce_run *run)
{
    uint32_t count = 0;
    double ours = 0;

    assert_false(run->is_out_of_memory);
    for (uint32_t c = 0; reproduce_claim_at(c) != NULL; c++) {
        const struct reproduce_claim *claim = reproduce_claim_at(c);
        if (strcmp(claim->experiment, run->experiment->name) != 0) {
            assert_false(reproduce_claim_value(run, claim, &ours));
            continue;
        }
        assert_true(reproduce_claim_value(run, claim, &ours));
        assert_true(reproduce_claim_holds(claim, ours) || claim->reason != NULL);
        check_number(claim, ours);
        count++;
    }
    assert_int_equal(count, run->value_count);
    assert_true(count > 0 && run->panel_count > 0);
}

/* ---- simulations ---- */

#define MS_PS UINT64_C(1000000000)
#define STAR                                                                                                     \
    "duration = \"10s\"\n[topology]\nkind = \"star\"\nhosts = 6\nrate = \"10Gbps\"\ndelay = \"1us\"\n[queues]\n" \
    "buffer = \"none\"\n[[traffic]]\nkind = \"incast\"\nfan_in = 1\nto = 4\nsize = \"1MB\"\n"

static struct reproduce_cell cell = {.what = "", .count = 1};

static void cells__stop_at_a_time(void **state)
{
    struct reproduce_run run;

    (void)state;
    reproduce_init(&run, reproduce_experiment_find("panama-sum"));
    assert_true(reproduce_open(&run, &cell, "%s", STAR));
    reproduce_flow(&cell, 0, 1, 1);
    uint64_t bytes = 0;
    for (uint64_t ms = 1; ms <= 5; ms++) {
        assert_true(reproduce_advance(&run, &cell, ms * MS_PS));
        assert_true(sim_run_now(&cell.sim) <= ms * MS_PS);
        assert_true(sim_run_now(&cell.sim) > ms * MS_PS - MS_PS / 100);
        if (ms > 2) { /* at the line's rate, once the window is open */
            assert_near((double)(cell.sim.flows.bytes - bytes), 1460 / 1.2e-3, 1460 * 10);
        }
        bytes = cell.sim.flows.bytes;
    }
    reproduce_close(&cell);
    assert_false(reproduce_open(&run, &cell, "%s", "duration = 1\n"));
    assert_non_null(strstr(run.error, "panama-sum:1:12"));
    reproduce_close(&cell);
    reproduce_deinit(&run);
}

/* The published partial aggregation: sums are ahead of a rank with half of a link by half of the operation, however long
 * that is, and none has that rank's gradients. */
static void partial_sums__are_ahead_without_bound(void **state)
{
    struct reproduce_run run;

    (void)state;
    reproduce_init(&run, reproduce_experiment_find("panama-partial"));
    run.is_quick = true;
    assert_true(run.experiment->run(&run));
    assert_int_equal(run.panels[0].count, 3);
    for (uint32_t i = 0; i < 2; i++) {
        const struct report_line *lead = &run.panels[0].lines[i < 1 ? 0 : 1];
        assert_int_equal(lead->count, 4);
        for (uint32_t p = 0; p < 3; p++) { /* the longest has longer than flows need to begin in earnest */
            assert_near(lead->y[p], lead->x[p] / 2, 2);
        }
        assert_true(lead->y[3] > 1.5 * lead->y[2] && lead->y[3] > 1024);
        assert_near(run.panels[1].lines[i].y[15], 100, 1e-9);
    }
    const struct report_line *with_ours = &run.panels[1].lines[2]; /* leaves it out too, behind the first window */
    assert_int_equal(with_ours->count, 16);
    for (uint32_t rank = 0; rank < 15; rank++) {
        assert_true(with_ours->y[rank] < 1);
    }
    assert_true(with_ours->y[15] > 50 && with_ours->y[15] < 100);
    for (uint32_t c = 0; reproduce_claim_at(c) != NULL; c++) {
        double ours = 0;
        if (strcmp(reproduce_claim_at(c)->experiment, "panama-partial") == 0) {
            assert_true(reproduce_claim_value(&run, reproduce_claim_at(c), &ours));
            assert_true(reproduce_claim_holds(reproduce_claim_at(c), ours));
        }
    }
    reproduce_deinit(&run);
}

static bool stop_at_once(void *user, const char *what, double share)
{
    (void)what;
    (void)share;
    ++*(uint32_t *)user;
    return false;
}

static void simulations__can_be_interrupted(void **state)
{
    struct reproduce_run run;

    (void)state;
    for (uint32_t i = 0; reproduce_experiment_at(i) != NULL; i++) {
        uint32_t asked = 0;
        if (!reproduce_experiment_at(i)->is_simulated) {
            continue;
        }
        reproduce_init(&run, reproduce_experiment_at(i));
        run.go_on = stop_at_once;
        run.user = &asked;
        assert_false(run.experiment->run(&run));
        assert_string_equal(run.error, "");
        assert_int_equal(asked, 1);
        reproduce_deinit(&run);
    }
}

/* ---- what is written ---- */

static char *written(void (*write)(FILE *out, const struct reproduce_run *run), const struct reproduce_run *run)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);

    assert_non_null(file);
    write(file, run);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void write_json(FILE *out, const struct reproduce_run *run)
{
    struct report_json json = {.out = out};

    reproduce_write_json(&json, run);
}

static void check_written(void (*write)(FILE *out, const struct reproduce_run *run), const struct reproduce_run *run,
                          const char *part)
{
    char *text = written(write, run);

    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", part, text);
    }
    free(text);
}

static void write_all(FILE *out, const struct reproduce_run *run)
{
    reproduce_write_markdown(out, run, 1);
}

static void writers__say_numbers_and_verdicts(void **state)
{
    struct reproduce_run run;

    (void)state;
    reproduce_init(&run, reproduce_experiment_find("panama-table2"));
    assert_true(run.experiment->run(&run));
    check_written(reproduce_write_text, &run, "the prototype's LUTs are 4461\n    ours: 4461: reproduced\n");
    check_written(reproduce_write_text, &run, "ours: 0.1092 %: differs\n    1.03 % is the share of");
    check_written(write_json, &run, "\"claim\":\"luts\",\"where\":\"Table 2\"");
    check_written(write_json, &run, "\"paper\":4461,\"least\":4460.5,\"most\":4462,\"ours\":4461}");
    check_written(write_json, &run, "{\"name\":\"LUTs\",\"points\":[[\"parsers\",752],");
    check_written(reproduce_write_csv, &run,
                  "panel,series,x,y\n\"Logic of the prototype, 4 ports\",\"LUTs\",\"parsers\",752\n");
    check_written(reproduce_write_html, &run, "<td>4461</td><td>4461</td><td>reproduced</td>");
    check_written(reproduce_write_html, &run, "<svg ");
    check_written(write_all, &run, "2 claims reproduced, 2 differ.");
    check_written(write_all, &run, "| its LUTs are of a VU19P's | 1.03 % | 0.1092 % | **differs** |");
    reproduce_deinit(&run);

    reproduce_init(&run, reproduce_experiment_find("panama-fig14"));
    assert_true(run.experiment->run(&run));
    check_written(write_json, &run, "\"least\":null,\"most\":133,");
    check_written(reproduce_write_csv, &run, "\"FPGA, 100 Gbps\",1500,172.1875\n");
    reproduce_deinit(&run);

    reproduce_init(&run, reproduce_experiment_find("panama-fig7")); /* as --all --markdown leaves it */
    check_written(write_all, &run, "0 claims reproduced, 0 differ.");
    check_written(write_all, &run, "`tributary reproduce panama-fig7`.\n");
    check_written(write_all, &run, "at least | 0.886 times | at least that |");
    check_written(write_all, &run, "or adds them, measured:\n");
    reproduce_got(&run, "one-input", 0.9); /* as by name */
    check_written(write_all, &run, "| 0.886 times | 0.900 times | reproduced |");
    reproduce_deinit(&run);
}

/* ---- docs/REPRODUCTION.md ---- */

static char *page(void)
{
    FILE *file = fopen(TRIB_TEST_DIR "/../docs/REPRODUCTION.md", "r");
    char *text = NULL;
    size_t room = 0;

    assert_non_null(file);
    assert_true(getdelim(&text, &room, 0, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static bool stop_behind_trace(void *user, const char *what, double share)
{
    const struct reproduce_run *run = user;

    (void)what;
    (void)share;
    return run->looks < REPRODUCE_TRACE_LOOKS;
}

static void check_page(const char *page_text, const struct reproduce_run *run)
{
    char *text = written(write_all, run);

    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strchr("|`-", line[0]) != NULL && strstr(page_text, line) == NULL) {
            fail_msg("docs/REPRODUCTION.md is to be generated anew (tributary reproduce --all --quick --markdown): "
                     "it lacks\n%s",
                     line);
        }
    }
    free(text);
}

/* Computed experiments give a value for each of their claims and no other. The page has these values, the text about
 * all experiments, and the traces of the simulations. tests/integration/reproduce_all.sh compares the rest of the
 * simulations, which takes a minute. */
static void experiments__give_all_values_and_the_page(void **state)
{
    char *page_text = page();

    (void)state;
    for (uint32_t i = 0; reproduce_experiment_at(i) != NULL; i++) {
        struct reproduce_run run;
        reproduce_init(&run, reproduce_experiment_at(i));
        run.is_quick = true;
        run.go_on = stop_behind_trace;
        run.user = &run;
        if (!reproduce_is_measured(run.experiment) && !reproduce_lacks_solver(run.experiment)) {
            assert_true(run.experiment->run(&run) || run.looks == REPRODUCE_TRACE_LOOKS);
            if (!run.experiment->is_simulated) {
                check_values(&run);
            }
        }
        check_page(page_text, &run);
        reproduce_deinit(&run);
    }
    free(page_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas__are_the_papers),
        cmocka_unit_test(numbers__are_those_of_every_claim_that_is_computed),
        cmocka_unit_test(reasons__are_computed_as_well),
        cmocka_unit_test(printed_numbers__are_rounded_or_cut),
        cmocka_unit_test(claims__belong_to_experiments),
        cmocka_unit_test(cells__stop_at_a_time),
        cmocka_unit_test(partial_sums__are_ahead_without_bound),
        cmocka_unit_test(simulations__can_be_interrupted),
        cmocka_unit_test(writers__say_numbers_and_verdicts),
        cmocka_unit_test(experiments__give_all_values_and_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
