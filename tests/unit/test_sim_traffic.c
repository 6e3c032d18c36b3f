/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_traffic.c: who sends how much to whom, and when: permutations, incasts, traces, Poisson traffic; the
 * published sizes, and what is drawn of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "unit/sim_text.h"

#define NETWORK "duration = \"1s\"\n[topology]\nkind = \"star\"\nhosts = 16\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define US_PS UINT64_C(1000000)

/* Every host sends one flow, and gets one, of another. */
static void permutation__is_one(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint32_t sent = 0;
        uint32_t got = 0;
        open_text("seed = %u\n" NETWORK "[[traffic]]\nkind = \"permutation\"\nsize = \"5KB\"\nstart = \"3us\"\n", seed);
        finish();
        assert_int_equal(run.end_count, 16);
        for (uint64_t i = 0; i < run.end_count; i++) {
            const struct sim_flow_end *end = &run.ends[i];
            assert_true(end->plan.from != end->plan.to);
            assert_int_equal(end->plan.bytes, 5000);
            assert_int_equal(end->start_ps, 3 * US_PS);
            sent |= UINT32_C(1) << end->plan.from;
            got |= UINT32_C(1) << end->plan.to;
        }
        assert_true(sent == 0xffff && got == 0xffff);
        close_run();
    }
}

/* Different hosts send to one, all at once, as often as it says. */
static void incast__is_one(void **state)
{
    uint32_t senders[3] = {0};

    (void)state;
    open_text(NETWORK
              "[[traffic]]\nkind = \"incast\"\nfan_in = 7\nto = 4\nsize = \"5KB\"\nstart = \"10us\"\nrepeat = 3\n"
              "period = \"2ms\"\n");
    finish();
    assert_int_equal(run.end_count, 21);
    for (uint64_t i = 0; i < run.end_count; i++) {
        const struct sim_flow_end *end = &run.ends[i];
        uint64_t turn = (end->start_ps - 10 * US_PS) / (2000 * US_PS);
        assert_int_equal(end->start_ps, (10 + turn * 2000) * US_PS);
        assert_int_equal(end->plan.to, 4);
        senders[turn] |= UINT32_C(1) << end->plan.from;
    }
    for (uint32_t turn = 0; turn < 3; turn++) {
        assert_int_equal(__builtin_popcount(senders[turn]), 7);
        assert_int_equal(senders[turn] & 1U << 4, 0);
    }
    close_run();
}

/* What stands in the file begins when it says so; in the order of their ends, here that of their lines. */
static void trace__is_followed(void **state)
{
    static const struct {
        uint32_t from, to;
        uint64_t bytes, start_us;
    } flows[] = {{3, 5, 1000, 0}, {5, 3, 2000, 0}, {0, 15, 70000, 250}, {9, 1, 1, 990000}};
    char name[] = "/tmp/tributary-trace-XXXXXX";
    int file = mkstemp(name);

    (void)state;
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    assert_non_null(out);
    (void)fprintf(out, "4\n");
    for (uint32_t i = 0; i < 4; i++) {
        (void)fprintf(out, "%u %u 3 100 %u %.6f\n", flows[i].from, flows[i].to, (unsigned)flows[i].bytes,
                      (double)flows[i].start_us / 1e6);
    }
    assert_int_equal(fclose(out), 0);
    open_text(NETWORK "[[traffic]]\nkind = \"trace\"\nfile = \"%s\"\n", name);
    assert_int_equal(unlink(name), 0);
    finish();
    assert_int_equal(run.end_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(run.ends[i].plan.from, flows[i].from);
        assert_int_equal(run.ends[i].plan.to, flows[i].to);
        assert_int_equal(run.ends[i].plan.bytes, flows[i].bytes);
        assert_int_equal(run.ends[i].start_ps, flows[i].start_us * US_PS);
    }
    close_run();
}

/* Pairs are any of different hosts, gaps are exponential: as many begin as the load says, and their count in equal
 * times varies as its mean. */
static void poisson__is_one(void **state)
{
    enum { PARTS = 200 };
    static uint32_t counts[PARTS];
    uint32_t pairs[16][16] = {0};
    double squares = 0;

    (void)state;
    open_text("seed = 5\n" NETWORK
              "[[traffic]]\nkind = \"poisson\"\nsize = \"1KB\"\nload = \"10%%\"\nstop = \"20ms\"\n");
    finish();
    double mean = 0.1 * 16 * 10e9 * 0.02 / 8000;
    print_message("%.0f flows, %.0f expected\n", (double)run.end_count, mean);
    assert_true(fabs((double)run.end_count - mean) < 4 * sqrt(mean));
    for (uint64_t i = 0; i < run.end_count; i++) {
        const struct sim_flow_end *end = &run.ends[i];
        assert_true(end->start_ps < 20000 * US_PS);
        counts[end->start_ps / (20000 * US_PS / PARTS)]++;
        pairs[end->plan.from][end->plan.to]++;
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        squares += (counts[i] - mean / PARTS) * (counts[i] - mean / PARTS) / PARTS;
    }
    assert_true(fabs(squares / (mean / PARTS) - 1) < 0.4); /* four times what chance makes it */
    for (uint32_t i = 0; i < 256; i++) {
        double each = mean / (16 * 15);
        assert_true(i % 16 == i / 16 ? pairs[i / 16][i % 16] == 0
                                     : fabs(pairs[i / 16][i % 16] - each) < 5 * sqrt(each));
    }
    close_run();
}

/* The published means, and what is drawn has them. */
static void sizes__have_their_means(void **state)
{
    static const struct {
        const char *name;
        double mean;
        double within;
    } known[] = {{"websearch-packets", 1.666e6, 0.001},
                 {"websearch-bytes", 1.711e6, 0.001},
                 {"datamining-packets", 7.47e6, 0.001},
                 {"datamining-bytes", 12.66e6, 0.001}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct sim_sizes *sizes = sim_sizes_find(known[i].name);
        struct trib_prng prng = {.state = i};
        double sum = 0;
        enum { DRAWS = 2000000 };
        for (uint32_t j = 0; j < DRAWS; j++) {
            sum += (double)sim_sizes_draw(sizes, &prng);
        }
        print_message("%s: mean %.0f, drawn %.0f\n", known[i].name, sim_sizes_mean(sizes), sum / DRAWS);
        assert_true(fabs(sim_sizes_mean(sizes) / known[i].mean - 1) < known[i].within);
        assert_true(fabs(sum / DRAWS / sim_sizes_mean(sizes) - 1) < 0.02);
    }
}

static void exponential__is_one(void **state)
{
    enum { DRAWS = 1000000 };
    struct trib_prng prng = {.state = 3};
    struct trib_prng twin = {.state = 3};
    double sum = 0;
    double squares = 0;

    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        double x = sim_draw_exponential(&prng);
        double share = (double)(trib_prng_next(&twin) >> 11) * 0x1p-53;
        assert_true(fabs(x + log(1 - share)) < 1e-9);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / DRAWS - 1) < 0.005 && fabs(squares / DRAWS - 2) < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation__is_one),     cmocka_unit_test(incast__is_one),
        cmocka_unit_test(trace__is_followed),      cmocka_unit_test(poisson__is_one),
        cmocka_unit_test(sizes__have_their_means), cmocka_unit_test(exponential__is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
