/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_placed.c: plans of pieces in the simulator: how many packets of a job the server receives, by hand, and
 * plans that are not for the scenario. Mirrors src/plan/placed.c, and src/sim/jobs/servers.c where jobs have pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/goat_file.h"
#include "plan/placed.h"
#include "sim/results/results.h"

#define NETWORK                                                                                                   \
    "duration = \"10s\"\nmtu = \"9000B\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 3\n" \
    "rate = \"100Gbps\"\ndelay = \"1us\"\n[queues]\nbuffer = \"none\"\necn = \"65pkt\"\n"
#define JOB(name, scheme, rest) \
    "[[job]]\nname = \"" name "\"\nscheme = \"" scheme "\"\nworkers = 4\niterations = 1\nsize = \"6553600B\"\n" rest
#define HOSTS "hosts = \"0 1 3 4 2\"\n" /* two workers at leaf0, two at leaf1, the server at leaf0 */
#define MODEL "[[model]]\njob = \"a\"\npieces = 4\nserver = \"host2\"\n"
#define AT(name, pieces) "[[placement]]\njob = \"a\"\nswitch = \"" name "\"\npieces = \"" pieces "\"\n"

static struct sim_scenario scenario;
static struct sim_run run;

/* False: error. Then close_all. */
static bool give(struct plan_placed *it, const char *scenario_text, const char *plan, char *error)
{
    char path[] = "/tmp/test_plan_placed_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, plan, strlen(plan)), strlen(plan));
    (void)close(fd);
    if (!sim_scenario_parse(&scenario, scenario_text, "text", NULL, error)) {
        fail_msg("%s", error);
    }
    struct trib_toml toml;
    bool is_good = trib_toml_open(&toml, path, error) && plan_placed_read(it, &toml, error) &&
                   plan_placed_give(it, &scenario, error);
    trib_toml_free(&toml);
    (void)unlink(path);
    return is_good;
}

static void close_all(struct plan_placed *it)
{
    plan_placed_free(it);
    sim_scenario_free(&scenario);
}

/* The share of the first job's packets that the server is saved, which is checked to be the sum of all parts. */
static double simulate(const char *scenario_text, const char *plan)
{
    struct plan_placed it;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if (!give(&it, scenario_text, plan, error) || !sim_run_init(&run, &scenario, error)) {
        fail_msg("%s", error);
    }
    while (sim_run_advance(&run, 100000)) {
    }
    assert_null(sim_run_check(&run));
    assert_int_equal(sim_results_job(&run, 0).count, 1);
    double saved = sim_results_saved(&run, 0);
    sim_run_deinit(&run);
    close_all(&it);
    return saved;
}

static void expect_saved(double saved, double expected)
{
    if (saved < expected - 1e-9 || saved > expected + 1e-9) {
        fail_msg("%f, expected %f", saved, expected);
    }
}

/* 800 fragments of four pieces. Piece 0 at leaf1 is added for two workers, so three packets of four remain; the same at
 * the spine. Piece 2 at leaf0 is added for all: one of four. Piece 3 is added nowhere. */
static void packets_at_the_server__are_as_placed(void **state)
{
    (void)state;
    expect_saved(simulate(NETWORK JOB("a", "goat", HOSTS), MODEL AT("leaf1", "0") AT("spine0", "1") AT("leaf0", "2")),
                 (1 + 1 + 3) / 16.0);
    expect_saved(simulate(NETWORK JOB("a", "goat", HOSTS), MODEL), 0);
    expect_saved(simulate(NETWORK JOB("a", "goat", HOSTS), MODEL AT("leaf0", "0-3")), 3 / 4.0);
    /* A sum of leaf1 is added again at leaf0. */
    expect_saved(simulate(NETWORK JOB("a", "goat", HOSTS), MODEL AT("leaf0", "0-1") AT("leaf1", "0-3")), 8 / 16.0);
}

/* Without a plan no switch adds, and a job beside it has the rest of the pool. */
static void other_jobs__are_as_without_a_plan(void **state)
{
    (void)state;
    sim_scenario_parse(&scenario, NETWORK JOB("a", "goat", HOSTS), "text", NULL, (char[TRIB_ERROR_TEXT_MAX]){""});
    char error[TRIB_ERROR_TEXT_MAX] = "";
    assert_true(sim_run_init(&run, &scenario, error));
    while (sim_run_advance(&run, 100000)) {
    }
    assert_null(sim_run_check(&run));
    expect_saved(sim_results_saved(&run, 0), 0);
    sim_run_deinit(&run);
    sim_scenario_free(&scenario);
    static const char beside[] = "[[job]]\nscheme = \"atp\"\nworkers = 4\niterations = 1\nsize = \"700000B\"\n";
    char text[2048];
    (void)snprintf(text, sizeof text, "%s%s", NETWORK JOB("a", "goat", HOSTS), beside);
    char *hosts = strstr(text, "hosts = 3");
    hosts[8] = '6';
    char *job = strstr(text, "\"0 1 3 4 2\"");
    memcpy(job, "\"0 1 6 7 2\"", 11);
    expect_saved(simulate(text, MODEL AT("leaf0", "0-3")), 3 / 4.0);
}

/* Few rows: parts collide and pass, and all sums are right. */
static void too_little_memory__costs_sums_on_the_way_alone(void **state)
{
    (void)state;
    double saved = simulate(NETWORK "[switches]\nmemory = \"64KB\"\n" JOB("a", "goat", HOSTS "window = 64\n"),
                            MODEL AT("leaf0", "0-3"));
    assert_true(saved > 0 && saved <= 3 / 4.0);
}

static void refused__with_its_place(void **state)
{
    static const struct {
        const char *scenario, *plan, *error;
    } cases[] = {
        {NETWORK JOB("a", "goat", HOSTS), "network = \"1\"\n" MODEL, "the plan is for another network"},
        {NETWORK JOB("a", "goat", HOSTS), MODEL "hosts = \"1\"\n",
         "the plan is for other hosts, or another server, which stands last in hosts"},
        {NETWORK JOB("a", "goat", HOSTS), MODEL AT("leaf7", "0"), "pieces at leaf7, which is no switch that adds here"},
        {NETWORK JOB("a", "goat", HOSTS), MODEL AT("host1", "0"), "pieces at host1, which is no switch that adds here"},
        {NETWORK "[switches]\nadd = \"leaf\"\n" JOB("a", "goat", HOSTS), MODEL AT("spine0", "0"),
         "pieces at spine0, which is no switch that adds here"},
        {NETWORK JOB("b", "goat", HOSTS), MODEL, "the plan has no job of this name: write name = \"a\""},
        {NETWORK JOB("a", "atp", HOSTS), MODEL, "the plan has pieces of its model, which are for scheme goat"},
        {NETWORK JOB("a", "goat", ""), MODEL, "a planned job names its hosts"},
        {NETWORK JOB("a", "goat", "servers = 2\nhosts = \"0 1 3 4 2 5\"\n"), MODEL,
         "a plan of pieces is for one server"},
        {NETWORK JOB("b", "atp", HOSTS), MODEL, "the plan has 1 jobs, of which 0 are in this scenario"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_placed it;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        assert_false(give(&it, cases[i].scenario, cases[i].plan, error));
        if (strstr(error, cases[i].error) == NULL) {
            fail_msg("%zu: %s", i, error);
        }
        close_all(&it);
    }
}

static void digest_of_hosts__does_not_depend_on_their_order(void **state)
{
    const uint32_t hosts[] = {3, 0, 7}, again[] = {7, 3, 0}, others[] = {3, 0, 8};
    (void)state;
    uint64_t digest = plan_goat_hosts_digest(hosts, 3, 5);
    assert_true(digest == plan_goat_hosts_digest(again, 3, 5));
    assert_true(digest != plan_goat_hosts_digest(others, 3, 5));
    assert_true(digest != plan_goat_hosts_digest(hosts, 3, 6));
    assert_true(digest != plan_goat_hosts_digest(hosts, 2, 5));
}

/* Two leaves with two spines between: worker 0 and the server at leaf0, worker 1 at leaf1. Each spine is on one of two
 * paths of worker 1, and so counts for none. The plan is written, and read as it was. */
static void switches_beside_a_path__do_not_count(void **state)
{
    static const char network[] = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 3\n"
                                  "rate = \"100Gbps\"\nfabric_rate = \"100Gbps\"\n[[switch]]\nname = \"leaf*\"\n"
                                  "[[switch]]\nname = \"spine*\"\n";
    char net_path[] = "/tmp/test_plan_placed_XXXXXX", plan_path[] = "/tmp/test_plan_placed_XXXXXX";
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint32_t workers[] = {0, 1, 3, 4}, switches[] = {6, 7, 8, 9};
    uint64_t memory[] = {10, 10, 10, 10}, bytes[] = {10, 10, 10};
    struct plan_network net;
    struct plan_job job = {.name = "a", .hosts = workers, .host_count = 4};
    struct trib_goat_options options = {.error = error};
    struct trib_goat problem;
    struct trib_goat_plan plan;
    struct trib_placed placed;
    struct trib_toml toml;

    (void)state;
    int fd = mkstemp(net_path), out = mkstemp(plan_path);
    assert_int_equal(write(fd, network, strlen(network)), strlen(network));
    assert_true(plan_network_read(&net, net_path, error));
    struct trib_goat_job its = {&net.fabric, 2, 4, 4, 3, workers, switches, memory, bytes, true};
    assert_int_equal(trib_goat_create(&problem, &its, error), TRIB_OK);
    for (uint32_t w = 0; w < 4; w++) {
        const uint32_t *ways = &problem.to_switch[w * 4];
        assert_true(ways[0] == (w < 2 ? 1 : 3) && ways[1] == (w < 2 ? TRIB_NO_WAY : 1));
        assert_true(ways[2] == TRIB_NO_WAY && ways[3] == TRIB_NO_WAY);
    }
    assert_int_equal(trib_goat_plan_create(&plan, &problem), TRIB_OK);
    assert_int_equal(trib_goat_rule_find("greedy")->make(&problem, &options, &plan), TRIB_OK);
    const struct plan_goat_file file = {&net, &job, 2, "greedy", 10, switches, &problem, &plan};
    assert_true(plan_goat_write(&file, plan_path, error));
    assert_true(trib_toml_open(&toml, plan_path, error) && trib_placed_read(&placed, &toml, error));
    trib_toml_free(&toml);
    assert_int_equal(placed.network, plan_network_digest(&net));
    assert_int_equal(placed.models[0].pieces, 3);
    assert_string_equal(placed.models[0].server, "host2");
    assert_int_equal(placed.models[0].parts_bytes, 120);
    assert_int_equal(placed.models[0].memory, 10);
    assert_int_equal(placed.models[0].server_bytes, plan.server_bytes);
    assert_int_equal(placed.switch_count, 2); /* a gradient at each leaf, and none at a spine */
    assert_string_equal(placed.switches[0].name, "leaf0");
    assert_string_equal(placed.switches[1].name, "leaf1");
    assert_int_equal(trib_count_bits(placed.switches[0].pieces), 1);
    assert_int_equal(trib_count_bits(placed.switches[1].pieces), 1);
    assert_false(plan_goat_write(&file, "/nowhere/plan.toml", error));
    trib_placed_free(&placed);
    trib_goat_plan_destroy(&plan);
    trib_goat_destroy(&problem);
    plan_network_free(&net);
    (void)unlink(net_path);
    (void)unlink(plan_path);
    (void)close(fd);
    (void)close(out);
}

/* ---- a file that is proved again ---- */

#define PROVED_HOSTS 4U
#define PROVED_PIECES 3U

/* A job of four workers at two leaves, with its problem and a plan with a bound. */
struct proved {
    struct plan_network net;
    struct plan_job job;
    uint32_t workers[PROVED_HOSTS], switches[2];
    uint64_t memory[2], bytes[PROVED_PIECES];
    struct trib_goat problem;
    struct trib_goat_plan plan;
    struct plan_goat_file file;
    uint64_t left[2]; /* as before the check */
    char net_path[40], plan_path[40];
};

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void proved_create(struct proved *it)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_goat_options options = {.error = error};

    *it = (struct proved){.workers = {0, 1, 3, 4},
                          .switches = {6, 7},
                          .memory = {10, 20},
                          .bytes = {10, 10, 10},
                          .left = {10, 20},
                          .net_path = "/tmp/test_plan_placed_XXXXXX",
                          .plan_path = "/tmp/test_plan_placed_XXXXXX"};
    (void)close(mkstemp(it->net_path));
    (void)close(mkstemp(it->plan_path));
    write_text(it->net_path, "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 3\n"
                             "rate = \"100Gbps\"\nfabric_rate = \"100Gbps\"\n[[switch]]\nname = \"leaf*\"\n");
    assert_true(plan_network_read(&it->net, it->net_path, error));
    struct trib_goat_job its = {&it->net.fabric, 2,          PROVED_HOSTS, 2,   PROVED_PIECES, it->workers,
                                it->switches,    it->memory, it->bytes,    true};
    assert_int_equal(trib_goat_create(&it->problem, &its, error), TRIB_OK);
    assert_int_equal(trib_goat_plan_create(&it->plan, &it->problem), TRIB_OK);
    assert_int_equal(trib_goat_rule_find("greedy")->make(&it->problem, &options, &it->plan), TRIB_OK);
    it->job = (struct plan_job){.name = "a", .hosts = it->workers, .host_count = PROVED_HOSTS};
    it->plan.price = calloc(PROVED_HOSTS, sizeof *it->plan.price);
    for (uint32_t w = 0; w < PROVED_HOSTS; w++) {
        it->plan.price[w] = it->problem.to_server[w] * TRIB_GOAT_PRICE_ONE;
    }
    it->plan.bound = trib_goat_prove(&it->problem, it->plan.price);
    it->file = (struct plan_goat_file){&it->net, &it->job, 2, "greedy", 20, it->switches, &it->problem, &it->plan};
    assert_true(plan_goat_write(&it->file, it->plan_path, error));
}

static void proved_destroy(struct proved *it)
{
    trib_goat_plan_destroy(&it->plan);
    trib_goat_destroy(&it->problem);
    plan_network_free(&it->net);
    (void)unlink(it->net_path);
    (void)unlink(it->plan_path);
}

/* The error of a check of the file's model of job `a`; "": the plan holds, and is that of `it`. */
static const char *check_file(const struct proved *it, char error[TRIB_ERROR_TEXT_MAX])
{
    struct trib_placed placed;
    struct trib_toml toml;
    struct trib_goat_plan plan;
    uint64_t left[2] = {it->left[0], it->left[1]};

    error[0] = '\0';
    assert_true(trib_toml_open(&toml, it->plan_path, error) && trib_placed_read(&placed, &toml, error));
    assert_int_equal(trib_goat_plan_create(&plan, &it->problem), TRIB_OK);
    struct plan_goat_proof proof = {&placed, &toml, (uint32_t)(trib_placed_find(&placed, "a") - placed.models), left};
    if (plan_goat_check(&it->file, &proof, &plan, error)) {
        uint64_t held = it->left[0] + it->left[1] - left[0] - left[1];
        assert_int_equal(held, 30); /* all memory of both leaves */
        assert_true(plan.cost == it->plan.cost && plan.server_bytes == it->plan.server_bytes);
        assert_true(plan.bound == it->plan.bound && plan.excess_bytes == 0);
    }
    trib_goat_plan_destroy(&plan);
    trib_placed_free(&placed);
    trib_toml_free(&toml);
    return error;
}

/* Writes the plan again with a text replaced, if it is not NULL. */
static void rewrite(const struct proved *it, const char *from, const char *to)
{
    char error[TRIB_ERROR_TEXT_MAX], text[4096], other[4096];

    assert_true(plan_goat_write(&it->file, it->plan_path, error));
    FILE *in = fopen(it->plan_path, "re");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    const char *at = from != NULL ? strstr(text, from) : text;
    assert_non_null(at);
    (void)snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, to, at + (from != NULL ? strlen(from) : 0));
    write_text(it->plan_path, other);
}

#define OTHER_MODEL                                                                   \
    "\n[[model]]\njob = \"b\"\npieces = 2\nserver = \"host2\"\ncost = 1\nbound = 1\n" \
    "[[placement]]\njob = \"b\"\nswitch = \"leaf0\"\npieces = \"1\"\n"

static void plan_of_pieces__is_proved_again(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {NULL, "", ""},
        {"\nbound = ", "\nbound = 9", "the prices prove a bound of "},
        {"\ncost = ", "\ncost = 9", "the plan of job a costs "},
        {"\ncost", "\nlost", "the plan of job a costs "},
        {"server_bytes = ", "server_bytes = 9", "the server receives "},
        {"parts_bytes = ", "parts_bytes = 9", "the plan is for a model of "},
        {"hosts = \"", "hosts = \"1", "the plan is for other hosts of job a"},
        {"network = \"", "network = \"1", "the plan is for another network"},
        {"\"leaf0\"", "\"spine0\"", "pieces at spine0, which is no switch that adds"},
        {"\"leaf0\"", "\"host1\"", "pieces at host1, which is no switch that adds"},
        {"host1 ", "host2 ", "prices name host2, which is no worker"},
        {"host1 ", "host1 x", "the price of host1 is not a price"},
        {"host3 ", "host3 0", ""}, /* leading zero: the same price */
        {"prices", "costs", "the prices prove a bound of 0 "},
        /* Another job's model before it, with a piece at the same switch. */
        {"\n[[model]]", OTHER_MODEL "\n[[model]]", ""},
    };
    char error[TRIB_ERROR_TEXT_MAX];
    struct proved it;

    (void)state;
    proved_create(&it);
    assert_true(it.plan.bound > 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rewrite(&it, cases[i].from, cases[i].to);
        const char *said = check_file(&it, error);
        if (cases[i].says[0] == '\0' ? said[0] != '\0' : strstr(said, cases[i].says) == NULL) {
            fail_msg("case %zu: %s", i, said);
        }
    }
    rewrite(&it, NULL, "");
    it.left[0] = 9; /* models before have the rest */
    assert_non_null(strstr(check_file(&it, error), "leaf0 has "));
    assert_non_null(strstr(error, "memory that is left for it"));
    it.problem.memory[0] = 9;
    assert_non_null(strstr(check_file(&it, error), "memory that the plan has for it"));
    proved_destroy(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_at_the_server__are_as_placed),
        cmocka_unit_test(other_jobs__are_as_without_a_plan),
        cmocka_unit_test(too_little_memory__costs_sums_on_the_way_alone),
        cmocka_unit_test(refused__with_its_place),
        cmocka_unit_test(switches_beside_a_path__do_not_count),
        cmocka_unit_test(digest_of_hosts__does_not_depend_on_their_order),
        cmocka_unit_test(plan_of_pieces__is_proved_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
