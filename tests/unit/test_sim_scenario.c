/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_scenario.c: scenarios from text: what is read, and for every mistake one line with its place. Also sizes and
 * traces. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "io/toml.h"
#include "sim/scenario/scenario.h"

#define STAR "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define CLOS "[topology]\nkind = \"clos\"\npods = 2\nedges = 4\nhosts = 6\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define FLOWS "[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n"

static void toml__reads_what_it_says(void **state)
{
    static const char text[] = "# first\r\n"
                               "a = 1_000 # one\n"
                               "  b=\"x \\\"y\\\" \\\\ \\n\"\n"
                               "c = 'as \\it is'\n"
                               "\n"
                               "[t]\n"
                               "d = -1.5e3\n"
                               "e = true\n"
                               "[[u]]\n"
                               "f = 0\n"
                               "[[ u ]]\n"
                               "f = 1";
    static const struct {
        const char *key, *text;
        enum trib_toml_kind kind;
        uint32_t table, line;
    } expected[] = {
        {"a", "1000", TRIB_TOML_INTEGER, 0, 2},      {"b", "x \"y\" \\ \n", TRIB_TOML_STRING, 0, 3},
        {"c", "as \\it is", TRIB_TOML_STRING, 0, 4}, {"d", "-1.5e3", TRIB_TOML_FLOAT, 1, 7},
        {"e", "true", TRIB_TOML_BOOLEAN, 1, 8},      {"f", "0", TRIB_TOML_INTEGER, 2, 10},
        {"f", "1", TRIB_TOML_INTEGER, 3, 12},
    };
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_toml toml;

    (void)state;
    assert_true(trib_toml_read(&toml, text, sizeof text - 1, error));
    assert_int_equal(toml.table_count, 4);
    assert_int_equal(toml.value_count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < toml.value_count; i++) {
        assert_string_equal(toml.values[i].key, expected[i].key);
        assert_string_equal(toml.values[i].text, expected[i].text);
        assert_int_equal(toml.values[i].kind, expected[i].kind);
        assert_int_equal(toml.values[i].table, expected[i].table);
        assert_int_equal(toml.values[i].place.line, expected[i].line);
    }
    assert_string_equal(toml.tables[1].name, "t");
    assert_true(toml.tables[2].is_array && !toml.tables[1].is_array);
    trib_toml_free(&toml);
}

static void toml__refuses_with_its_place(void **state)
{
    static const struct {
        const char *text, *error;
        uint32_t line, column;
    } cases[] = {
        {"a = 1\na = 2\n", "this key is there already", 2, 1},
        {"[t]\n[t]\n", "this table is there already", 2, 1},
        {"[t]\n[[t]]\n", "this table is there already", 2, 1},
        {"a\n", "= should stand here", 1, 2},
        {"a = \n", "a value should stand here", 1, 5},
        {"a = [1]\n", "arrays and inline tables are not read here", 1, 5},
        {"a = {b=1}\n", "arrays and inline tables are not read here", 1, 5},
        {"a.b = 1\n", "dotted names are not read here", 1, 2},
        {"a = \"x\n", "a string that does not end on its line", 1, 5},
        {"a = \"\"\"x\"\"\"", "strings of several lines are not read here", 1, 5},
        {"a = \"\\u0041\"", "an escape that is not read here; there are \\\" \\\\ \\t \\n \\r \\b \\f", 1, 6},
        {"a = 10Gbps\n", "neither number nor true nor false; a text, such as one with a unit, stands in quotes", 1, 5},
        {"a = 007\n", "neither number nor true nor false; a text, such as one with a unit, stands in quotes", 1, 5},
        {"a = 1__0\n", "neither number nor true nor false; a text, such as one with a unit, stands in quotes", 1, 5},
        {"a = 1 b = 2\n", "the line should end here", 1, 7},
        {"\n  [t\n", "] should stand here", 2, 5},
        {"\xef\xbb\xbf[a]\n", "a byte order mark: save the file as UTF-8 without it", 1, 1},
        {"= 1\n", "a name should stand here: letters, digits, _ and -", 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char error[TRIB_ERROR_TEXT_MAX] = "";
        struct trib_toml toml;
        assert_false(trib_toml_read(&toml, cases[i].text, strlen(cases[i].text), error));
        assert_string_equal(error, cases[i].error);
        assert_int_equal(toml.place.line, cases[i].line);
        assert_int_equal(toml.place.column, cases[i].column);
        trib_toml_free(&toml);
    }
}

/* Whatever bytes: an answer, and nothing read that is not there (the sanitizers watch). */
static void toml__takes_any_bytes(void **state)
{
    static const char letters[] = "ab[]=\"'\\#\n\r 01._-e{,";
    struct trib_prng prng = {.state = 9};

    (void)state;
    for (uint32_t i = 0; i < 50000; i++) {
        char error[TRIB_ERROR_TEXT_MAX] = "";
        size_t len = trib_prng_below(&prng, 40);
        char *text = malloc(len + 1);
        struct trib_toml toml;
        for (size_t j = 0; j < len; j++) {
            text[j] = letters[trib_prng_below(&prng, sizeof letters)];
        }
        bool is_good = trib_toml_read(&toml, text, len, error);
        assert_true(is_good == (error[0] == '\0'));
        trib_toml_free(&toml);
        free(text);
    }
}

static void scenario__is_read(void **state)
{
    static const char text[] = "name = \"all\"\nseed = 7\nduration = \"20ms\"\nwarmup = \"5ms\"\n"
                               "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 8\n"
                               "rate = \"10Gbps\"\nfabric_rate = \"40Gbps\"\ndelay = \"500ns\"\n"
                               "[queues]\nbuffer = \"300KB\"\necn = \"85pkt\"\n"
                               "[flows]\npacket = \"9000B\"\nheader = \"60B\"\nack = \"84B\"\nwindow = 64\n"
                               "congestion = \"aimd\"\nrto_first = \"3ms\"\nrto_min = \"200us\"\n"
                               "[[traffic]]\nkind = \"poisson\"\nsize = \"datamining-packets\"\nload = \"60%\"\n"
                               "[[traffic]]\nkind = \"incast\"\nsize = \"100KB\"\nfan_in = 31\nto = 3\nrepeat = 4\n"
                               "period = \"1ms\"\nstart = \"2ms\"\n"
                               "[[failure]]\nlink = \"spine1-leaf2\"\nat = \"3ms\"\nreact = \"1ms\"\n"
                               "[faults]\nloss = \"0.1%\"\nduplicate = \"0%\"\nreorder = \"2%\"\nlate = \"7us\"\n";
    static struct sim_scenario s;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_true(sim_scenario_parse(&s, text, "x.toml", NULL, error));
    assert_string_equal(s.name, "all");
    assert_int_equal(s.seed, 7);
    assert_int_equal(s.duration_ps, UINT64_C(20000000000));
    assert_int_equal(s.warmup_ps, UINT64_C(5000000000));
    assert_int_equal(s.topology.kind, SIM_LEAF_SPINE);
    assert_int_equal(s.topology.fabric.rate_bps, UINT64_C(40000000000));
    assert_int_equal(s.topology.fabric.delay_ps, 500000);
    assert_int_equal(s.topology.buffer_bytes, 300000);
    assert_int_equal(s.topology.mark_bytes, 85 * 9000);
    assert_int_equal(s.topology.largest, 9000);
    assert_int_equal(s.topology.smallest, 61);
    assert_int_equal(s.flows.policy, TRIB_CONGESTION_AIMD);
    assert_int_equal(s.flows.rto_first_ps, UINT64_C(3000000000));
    assert_int_equal(s.flows.rto_min_ps, UINT64_C(200000000));
    assert_int_equal(s.traffic_count, 2);
    assert_ptr_equal(s.traffic[0].sizes, sim_sizes_find("datamining-packets"));
    assert_true(fabs(s.traffic[0].load - 0.6) < 1e-9);
    assert_int_equal(s.traffic[1].period_ps, UINT64_C(1000000000));
    assert_int_equal(s.failure_count, 1);
    assert_int_equal(s.failures[0].link, 2 * 32 + 4 * 2 + 1 * 4 + 2);
    assert_int_equal(s.failures[0].at_ps, UINT64_C(3000000000));
    assert_true(s.failures[0].until_ps == SIM_NEVER);
    assert_int_equal(s.failures[0].react_ps, UINT64_C(1000000000));
    assert_true(fabs(s.faults.loss - 0.001) < 1e-12 && s.faults.duplicate == 0 &&
                fabs(s.faults.reorder - 0.02) < 1e-12);
    assert_int_equal(s.faults.late_ps, 7000000);
    sim_scenario_free(&s);
}

struct refusal {
    const char *text, *error;
};

static void expect_refusals(const struct refusal *cases, size_t count)
{
    static struct sim_scenario s;

    for (size_t i = 0; i < count; i++) {
        char error[TRIB_ERROR_TEXT_MAX] = "";
        assert_false(sim_scenario_parse(&s, cases[i].text, "x", NULL, error));
        assert_string_equal(error, cases[i].error);
        sim_scenario_free(&s);
    }
}

static void networks__are_refused_in_one_line(void **state)
{
    static const struct refusal cases[] = {
        {"duration = \"1ms\"\n" CLOS "ratio = \"3\"\n" FLOWS,
         "x:9:9: ratio is two numbers from 1 to 1000, such as \"3:1\", not \"3\""},
        {"duration = \"1ms\"\n[topology]\nkind = \"file\"\nfile = \"/nowhere/t.txt\"\n" FLOWS,
         "/nowhere/t.txt: No such file or directory"},
        {"duration = \"1ms\"\n[topology]\nkind = \"file\"\nfile = \"t\"\nrate = \"1Gbps\"\n" FLOWS,
         "x:5:1: rate does not apply to file"},
        {"duration = \"1ms\"\n" CLOS "ratio = \"4:1\"\n" FLOWS,
         "x:9:9: 6 hosts to an edge switch at 4:1, and 4 edge switches to a pod at 1:1, do not give whole numbers of "
         "uplinks"},
        {"duration = \"1ms\"\n" CLOS "[switches]\nadd = \"core 50% egde\"\n" FLOWS,
         "x:10:7: add: there is no egde; did you mean edge0?"},
        {"duration = \"1ms\"\n" CLOS "[switches]\nadd = \"core, host3\"\n" FLOWS, "x:10:7: add: host3 is no switch"},
        {"duration = \"1ms\"\n" CLOS "[switches]\nadd = \"50%\"\n" FLOWS, "x:10:7: add: the tier of 50% is missing"},
        {"duration = \"1ms\"\n" CLOS "[switches]\nadd = \"core 500% edge\"\n" FLOWS,
         "x:10:7: add: \"500%\" is more than 100%"},
        {"duration = \"1ms\"\n" CLOS "[switches]\nadd = \"\"\n" FLOWS, "x:10:7: add names no switch"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[failure]]\nlink = \"host1-swich0\"\nat = \"1us\"\n",
         "x:11:8: link: there is no swich0; did you mean switch0?"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[failure]]\nlink = \"host4-switch0\"\nat = \"1us\"\n",
         "x:11:8: link: there is no host4; there are host0 to host3"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[failure]]\nlink = \"host1-host2\"\nat = \"1us\"\n",
         "x:11:8: link: no cable joins host1 and host2"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[failure]]\nlink = \"host1\"\nat = \"1us\"\n",
         "x:11:8: link needs two nodes, such as \"leaf0-spine1\""},
        {"duration = \"1ms\"\n" STAR FLOWS "[[failure]]\nlink = \"host1-switch0\"\nat = \"2us\"\nuntil = \"2us\"\n",
         "x:13:9: until is not later than at"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[link]]\nlink = \"host1-switch0\"\n",
         "x:11:8: this link has neither rate nor delay"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[link]]\nlink = \"host1-switch0\"\nrate = \"0Gbps\"\n",
         "x:12:8: rate is 0Gbps; the range is 1Mbps to 3200Gbps"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[link]]\nlink = \"host1-swich0\"\nrate = \"1Gbps\"\n",
         "x:11:8: link: there is no swich0; did you mean switch0?"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[link]]\nlink = \"host1-switch0\"\nrate = \"1Gbps\"\n[[link]]\nlink = "
         "\"switch0-host1\"\ndelay = \"1ms\"\n",
         "x:14:8: duplicate link"},
        {"duration = \"1ms\"\n" STAR FLOWS "[switches]\nlatency = 5\n",
         "x:11:11: latency must be a text, such as \"20ms\""},
        {"duration = \"1ms\"\n" STAR FLOWS "[[restart]]\nswitch = \"host1\"\nat = \"1us\"\n",
         "x:11:10: switch: host1 is no switch"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[restart]]\nswitch = \"switch1\"\nat = \"1us\"\n",
         "x:11:10: switch: there is no switch1; there are switch0 to switch0"},
        {"duration = \"1ms\"\n" STAR FLOWS "[[restart]]\nat = \"1us\"\n",
         "x:10:1: switch is missing in table restart: switch that loses all sums it holds: spine0"},
        {"duration = \"1ms\"\n" STAR FLOWS "[failure]\n", "x:10:1: write [[failure]]: there may be several"},
        {"duration = \"1ms\"\n" STAR FLOWS "[switches]\nmulticast = true\n",
         "x:11:1: multicast needs a job with switches that add, or servers"},
        {"duration = \"1ms\"\n" STAR FLOWS "[queues]\nshared = \"100KB\"\nalpha = \"1/128\"\n",
         "x:12:9: alpha lets a port have 781 bytes of shared at most: too small for a packet of 1500"},
        {"duration = \"1ms\"\n" STAR FLOWS "[faults]\nlos = \"1%\"\n",
         "x:11:1: unknown key los in [faults]; did you mean loss?"},
    };

    (void)state;
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}

/* A share of a tier, a switch, a tier. */
static void adders__are_read(void **state)
{
    static const struct sim_adders expected[] = {{48, 8, 0.25}, {64, 1, 1}, {56, 6, 1}};
    static struct sim_scenario s;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state; /* 48 hosts, 8 edge switches, 6 of aggregation, 3 cores */
    assert_true(sim_scenario_parse(&s,
                                   "duration = \"1ms\"\n" CLOS "ratio = \"2:1\"\ncore_ratio = \"4:1\"\n[switches]\n"
                                   "add = \"25% edge, core2 aggregation\"\n" FLOWS,
                                   "x", NULL, error));
    assert_int_equal(s.adder_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(s.adders[i].first, expected[i].first);
        assert_int_equal(s.adders[i].count, expected[i].count);
        assert_true(fabs(s.adders[i].share - expected[i].share) < 1e-12);
    }
    sim_scenario_free(&s);
}

/* PANAMA's six, and those of other papers: the published counts of parameters, of four bytes each; a time where one is
 * published. */
static void models__are_those_of_the_papers(void **state)
{
    static const struct {
        const char *name;
        double parameters; /* in millions */
        bool has_time;
    } known[] = {{"alexnet", 61.1, true},   {"googlenet", 6.6, true},   {"inception3", 23.8, true},
                 {"resnet50", 25.6, true},  {"resnet152", 60.2, true},  {"vgg16", 138.4, true},
                 {"resnet18", 11.7, false}, {"resnet101", 44.5, true},  {"vgg11", 132.9, false},
                 {"vgg19", 143.7, false},   {"bert-base", 109.5, false}};
    uint32_t count = 0;

    (void)state;
    for (; sim_model_at(count) != NULL; count++) {
        const struct sim_model *model = sim_model_at(count);
        assert_true(count < sizeof known / sizeof known[0]);
        assert_string_equal(model->name, known[count].name);
        assert_true(fabs((double)model->parameters / 1e6 - known[count].parameters) <= 0.05);
        assert_int_equal(sim_model_bytes(model), 4 * model->parameters);
        assert_int_equal(model->compute_ms > 0, known[count].has_time);
        assert_int_equal(model->source[0] != '\0', known[count].has_time);
    }
    assert_int_equal(count, sizeof known / sizeof known[0]);
}

static void jobs__are_read(void **state)
{
    static const char text[] =
        "duration = \"1ms\"\n" STAR "[[job]]\nscheme = \"ring\"\nworkers = 2\niterations = 1\nmodel = \"vgg16\"\n"
        "[[job]]\nscheme = \"ring\"\nworkers = 2\niterations = 1\nmodel = \"vgg19\"\nsize = "
        "\"1MB\"\ncompute = \"3ms\"\nhosts = \"3,1\"\njitter = \"5%\"\nstragglers = 1\n";
    static struct sim_scenario s;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_true(sim_scenario_parse(&s, text, "x.toml", NULL, error));
    assert_int_equal(s.jobs[0].bytes, 4 * 138357544);
    assert_int_equal(s.jobs[0].compute_ps, UINT64_C(222000000000));
    assert_int_equal(s.jobs[1].bytes, 1000000);
    assert_int_equal(s.jobs[1].compute_ps, UINT64_C(3000000000));
    assert_true(s.jobs[1].hosts[0] == 3 && s.jobs[1].hosts[1] == 1);
    assert_true(s.jobs[1].stragglers == 1 && s.jobs[1].slower == 1 && fabs(s.jobs[1].jitter - 0.05) < 1e-12);
    sim_scenario_free(&s);
}

static void jobs__are_refused_in_one_line(void **state)
{
#define JOB "duration = \"1ms\"\n" STAR "[[job]]\nscheme = \"ring\"\nworkers = 2\niterations = 1\n"
#define SERVED(name)                                                                            \
    "duration = \"1ms\"\n" STAR "[[job]]\nscheme = \"" name "\"\nworkers = 2\niterations = 1\n" \
    "size = \"1MB\"\n"
    static const struct refusal cases[] = {
        {JOB, "x:7:1: size is missing in table job: bytes of gradients, or the name of a model"},
        {JOB "model = \"resnet51\"\n", "x:11:9: unknown model \"resnet51\"; did you mean resnet50?"},
        {JOB "model = \"bert-base\"\n", "x:11:9: compute is missing: no published time of bert-base is known"},
        {JOB "size = \"1MB\"\nhosts = \"0 4\"\n", "x:12:9: hosts: 4 is not from 0 to 3"},
        {JOB "size = \"1MB\"\nhosts = \"0-2\"\n", "x:12:9: hosts names more than the job's 2 workers"},
        {JOB "size = \"1MB\"\nhosts = \"2\"\n", "x:12:9: hosts names 1, but the job has 2 workers"},
        {JOB "size = \"1MB\"\nhosts = \"2 x\"\n", "x:12:9: hosts: \"x\" is not a whole number"},
        {JOB "size = \"1MB\"\nhosts = \"2,2\"\n", "x:12:9: hosts: host 2 belongs to another worker"},
        {"duration = \"1ms\"\n" STAR "[[job]]\nscheme = \"ring\"\nworkers = 5\niterations = 1\nsize = \"1MB\"\n",
         "x:9:11: 5 workers, but only 4 hosts are free"},
        {JOB "size = \"1MB\"\ncopies = 2\nhosts = \"0 1\"\n",
         "x:12:10: copies need hosts of their own: remove hosts or copies"},
        {JOB "size = \"1MB\"\nstragglers = 3\n", "x:12:14: 3 stragglers of 2 workers"},
        {JOB "size = \"1MB\"\nranks = 4\nstragglers = 9\n", "x:13:14: 9 stragglers of 8 ranks"},
        {JOB "size = \"1MB\"\nranks = 17\n", "x:12:9: ranks is 17; the limit is 16"},
        {JOB "size = \"2KB\"\nbuckets = 3\n",
         "x:12:11: 3 buckets of 2 fragments; there can be as many, and 1024 at most"},
        {JOB "size = \"1GB\"\nbuckets = 1025\n",
         "x:12:11: 1025 buckets of 710228 fragments; there can be as many, and 1024 at most"},
        {JOB "size = \"1MB\"\nhosts = \"0 1\"\nplacement = \"random\"\n",
         "x:13:1: placement does not apply with hosts, which names all hosts"},
        {JOB "size = \"1MB\"\nbackward = \"50%\"\n",
         "x:12:1: backward needs buckets: without buckets gradients come at the end"},
        {JOB "size = \"1MB\"\ntrees = 33\n", "x:12:9: trees: 33 is not from 1 to 32"},
        {JOB "size = \"1MB\"\n[switches]\nbypass = \"1us\"\nmemory = \"1MB\"\n",
         "x:14:1: memory needs a job with switches that add"},
        {JOB "size = \"1MB\"\n[switches]\npool = \"static\"\n",
         "x:13:1: pool needs a job with combiners (scheme atp or goat)"},
        {JOB "size = \"1MB\"\nservers = 2\n", "x:12:1: servers does not apply to scheme ring: it has no servers"},
        {SERVED("atp") "priority = 256\n", "x:12:12: priority is 256; the limit is 255"},
        {SERVED("ps") "by_bucket = true\n", "x:12:1: by_bucket does not apply to scheme ps: it has no combiners"},
        {SERVED("ps") "priority = 1\n", "x:12:1: priority does not apply to scheme ps: it has no combiners"},
        {SERVED("atp") "trees = 2\n", "x:12:1: trees does not apply to scheme atp: its roots are its servers"},
        {SERVED("atp") "servers = 33\n", "x:12:11: servers: 33 is not from 1 to 32"},
        {SERVED("ps") "servers = 5\nservers_at_workers = true\n",
         "x:12:11: 5 servers at 2 workers: a host has one of each"},
        {SERVED("atp") "hosts = \"0 1\"\n", "x:12:9: hosts names 2, but the job has 3 workers and servers"},
        {SERVED("atp") "[switches]\npool = \"esa\"\n", "x:13:8: unknown pool \"esa\"; there are dynamic, static"},
        {SERVED("ps") "[switches]\nmemory = \"1MB\"\n", "x:13:1: memory needs a job with switches that add"},
        {JOB "size = \"1MB\"\nmarks_of_all = true\n",
         "x:12:1: marks_of_all does not apply to scheme ring: only results of panama name the marked paths"},
        {"ideal = true\n" JOB "size = \"1MB\"\n",
         "x:1:9: ideal: there are only jobs, which have the network for themselves"},
    };
#undef JOB

    (void)state;
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}

/* What only the whole network shows. */
static void setups__are_refused_in_one_line(void **state)
{
#define LEAVES                                                                                                      \
    "duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\nrate = \"10Gbps\"\n" \
    "delay = \"1us\"\n"
#define JOB "[[job]]\nscheme = \"switchml\"\nworkers = 8\niterations = 1\nsize = \"1MB\"\n"
#define RESTART "[[restart]]\nat = \"1us\"\nswitch = "
    static const struct refusal cases[] = {
        {LEAVES JOB RESTART "\"spine1\"\n",
         "x:16:10: switch: no job has a node at spine1; the nearest that has one is spine0"},
        {LEAVES JOB "[switches]\nadd = \"spine\"\n" RESTART "\"spine0\"\n" RESTART "\"leaf1\"\n",
         "x:21:10: switch: no job has a node at leaf1; the nearest that has one is spine0"},
        {LEAVES FLOWS RESTART "\"leaf0\"\n", "x:14:10: switch: no job has a node at leaf0, or at any switch"},
        {LEAVES JOB "[switches]\nadd = \"leaf\"\n",
         "x:10:10: no switch that adds is above all of the job's workers: a scheme with switches needs a tree, or all "
         "on one switch"},
        {"duration = \"1ms\"\n[topology]\nkind = \"dragonfly\"\nrouters = 2\nglobals = 1\nhosts = 2\nrate = "
         "\"10Gbps\"\ndelay = \"1us\"\n" JOB,
         "x:10:10: no switch is above all of the job's workers: a scheme with switches needs a tree, or all on one "
         "switch"},
        {"duration = \"1ms\"\n[topology]\nkind = \"star\"\nrate = \"10Gbps\"\ndelay = \"1us\"\nhosts = "
         "80\n[[job]]\nscheme = "
         "\"switchml\"\nworkers = 65\niterations = 1\nsize = \"1MB\"\n",
         "x:8:10: more than 64 workers or switches below one switch of its tree"},
        {LEAVES "[switches]\nmemory = \"1KB\"\n" JOB,
         "x:10:10: switches' memory of 1000 bytes, shared by 1 tree, has no room for two fragments of 1408"},
        {LEAVES "[queues]\npfc = true\nshared = \"60KB\"\n" JOB "[switches]\nbypass = \"2us\"\n",
         "x:18:10: with the bypass of switches that add, shared is less than their headrooms take"},
    };
#undef LEAVES
#undef JOB
#undef RESTART
    static struct sim_scenario s;
    static struct sim_run run;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char error[TRIB_ERROR_TEXT_MAX] = "";
        assert_true(sim_scenario_parse(&s, cases[i].text, "x", NULL, error));
        assert_false(sim_scenario_run(&run, &s, error));
        assert_string_equal(error, cases[i].error);
        sim_run_deinit(&run);
        sim_scenario_free(&s);
    }
}

static void scenario__refuses_in_one_line(void **state)
{
    static const struct refusal cases[] = {
        {STAR FLOWS, "x:1:1: duration is missing: simulated time at most"},
        {"duraton = \"1ms\"\n" STAR FLOWS, "x:1:1: unknown key duraton; did you mean duration?"},
        {"duration = \"5\"\n", "x:1:12: duration: \"5\" has no unit; a duration is written like 30s or 500ms"},
        {"duration = 5\n", "x:1:12: duration must be a text, such as \"20ms\""},
        {"duration = \"1ms\"\n" FLOWS, "x:1:1: there is no table [topology]"},
        {"duration = \"1ms\"\n" STAR, "x:1:1: there is neither [[traffic]] nor [[job]]: nothing would happen"},
        {"duration = \"1ms\"\nwarmup = \"1ms\"\n" STAR FLOWS, "x:2:10: no duration is left after the warmup"},
        {"duration = \"1ms\"\nwarmup = \"500us\"\nwindow = \"501us\"\n" STAR FLOWS,
         "x:3:10: the window ends later than the duration"},
        {"duration = \"1ms\"\nscale = \"20\"\n" STAR FLOWS,
         "x:2:9: scale is written like \"1/20\", from 1/1 to 1/10000, not \"20\""},
        {"duration = \"1ms\"\nideal = \"yes\"\n" STAR FLOWS, "x:2:9: ideal must be true or false, without quotes"},
        {"duration = \"1ms\"\nideal = true\n" STAR FLOWS,
         "x:2:9: ideal: there are only flows, which have the network for themselves"},
        {"duration = \"1ms\"\nrate = \"1Gbps\"\n", "x:2:1: rate does not belong here, but in [topology]"},
        {"duration = \"1ms\"\n[topologie]\n", "x:2:1: unknown table [topologie]; did you mean [topology]?"},
        {"duration = \"1ms\"\n[traffic]\n", "x:2:1: write [[traffic]]: there may be several"},
        {"duration = \"1ms\"\n[[queues]]\n", "x:2:1: write [queues]: there is one"},
        {"duration = \"1ms\"\n[topology]\nkind = \"fat-treee\"\n",
         "x:3:8: unknown kind \"fat-treee\"; did you mean fat-tree?"},
        {"duration = \"1ms\"\n[topology]\nkind = \"mesh\"\n",
         "x:3:8: unknown kind \"mesh\"; there are star, leaf-spine, fat-tree, clos, dragonfly, file"},
        {"duration = \"1ms\"\n[topology]\nrate = \"0Gbps\"\n", "x:3:8: rate is 0Gbps; the range is 1Mbps to 3200Gbps"},
        {"duration = \"1ms\"\n[topology]\nrate = \"10\"\n",
         "x:3:8: rate: \"10\" has no unit; a rate is written like 10Gbps or 100Mbps"},
        {"duration = \"1ms\"\n" STAR "k = 4\n", "x:7:1: k does not apply to star"},
        {"duration = \"1ms\"\n[topology]\nkind = \"fat-tree\"\nrate = \"1Gbps\"\ndelay = \"1us\"\n",
         "x:2:1: k is missing in table topology: fat-tree: ports of a switch, even"},
        {"duration = \"1ms\"\n[topology]\nkind = \"fat-tree\"\nrate = \"1Gbps\"\ndelay = \"1us\"\nk = 5\n" FLOWS,
         "x:6:5: k is 5; it must be even, and 80 at most"},
        {"duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 60000\nspines = 60000\nhosts = 60000\nrate = "
         "\"1Gbps\"\ndelay = \"1us\"\n" FLOWS,
         "x:6:9: more than 131072 hosts"},
        {"duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 131072\nspines = 9\nhosts = 1\nrate = "
         "\"1Gbps\"\ndelay = \"1us\"\n" FLOWS,
         "x:6:9: 131072 hosts and 131081 switches: the limit of both together is 262143"},
        {"duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 7\nspines = 1\nhosts = 17655\nrate = "
         "\"1Gbps\"\ndelay = \"1us\"\n" FLOWS,
         "x:6:9: 123585 hosts, with 17655 below one link of a switch: take 16384 or fewer below a link"},
        {"duration = \"1ms\"\n" STAR "[queues]\nbuffer = \"1000B\"\n" FLOWS,
         "x:8:10: a buffer of 1000 bytes is too small for a packet of 1500"},
        {"duration = \"1ms\"\n" STAR "[flows]\nrto_first = \"999ns\"\n" FLOWS,
         "x:8:13: rto_first can be from 1us to 1s"},
        {"duration = \"1ms\"\n" STAR "[flows]\nrto_min = \"2s\"\n" FLOWS, "x:8:11: rto_min can be from 1us to 1s"},
        {"duration = \"1ms\"\n" STAR "[flows]\npacket = \"40B\"\n" FLOWS,
         "x:8:10: a packet of 40 bytes has no room behind a header of 40"},
        {"duration = \"1ms\"\n" STAR "[[traffic]]\nkind = \"incast\"\nsize = \"1KB\"\nfan_in = 4\n",
         "x:10:10: 4 hosts send to host 0, but there are 4 hosts"},
        {"duration = \"1ms\"\n" STAR "[[traffic]]\nkind = \"incast\"\nsize = \"1KB\"\nfan_in = 3\nto = 4\n",
         "x:11:6: there is no host 4; there are hosts 0 to 3"},
        {"duration = \"1ms\"\n" STAR "[[traffic]]\nkind = \"incast\"\nsize = \"1KB\"\nfan_in = 3\nrepeat = 2\n",
         "x:11:10: period is missing: the time from one incast to the next"},
        {"duration = \"1ms\"\n" STAR "[[traffic]]\nkind = \"poisson\"\nsize = \"websearch\"\nload = \"60%\"\n",
         "x:9:8: unknown size \"websearch\"; there are websearch-packets, websearch-bytes, datamining-packets, "
         "datamining-bytes"},
        {"duration = \"1ms\"\n" STAR "[[traffic]]\nkind = \"poisson\"\nsize = \"1KB\"\nload = \"0%\"\n",
         "x:10:8: load cannot be 0"},
        {"duration = \"1ms\"\n" STAR "[[traffic]]\nkind = \"trace\"\nfile = \"/nowhere/flow.txt\"\n",
         "/nowhere/flow.txt: No such file or directory"},
    };

    (void)state;
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}

#define QUEUES "duration = \"1ms\"\n" STAR "[queues]\n"

static void queues__are_refused_in_one_line(void **state)
{
    static const struct refusal cases[] = {
        {QUEUES "shared = \"1MB\"\nbuffer = \"200pkt\"\n" FLOWS,
         "x:9:1: buffer is per port and does not apply with shared"},
        {QUEUES "buffer = \"200pkt\"\npfc = true\n" FLOWS, "x:8:1: buffer is per port and does not apply with pfc"},
        {QUEUES "alpha = \"1/8\"\n" FLOWS, "x:8:1: alpha needs shared: alpha is a share of its free bytes"},
        {QUEUES "pfc = true\nxoff = \"9pkt\"\nshared = \"1MB\"\nalpha = \"1\"\n" FLOWS,
         "x:11:1: alpha does not apply with xoff: a port has one threshold"},
        {QUEUES "shared = \"1MB\"\nalpha = \"1/129\"\n" FLOWS,
         "x:9:9: alpha is a text from \"1/128\" to \"128\", such as \"1/8\", not 1/129"},
        {QUEUES "shared = \"1MB\"\nalpha = \"0\"\n" FLOWS,
         "x:9:9: alpha is a text from \"1/128\" to \"128\", such as \"1/8\", not 0"},
        {QUEUES "shared = \"1MB\"\nalpha = 0.125\n" FLOWS,
         "x:9:9: alpha is a text from \"1/128\" to \"128\", such as \"1/8\", not 0.125"},
        {QUEUES "shared = 1000000\n" FLOWS, "x:8:10: shared must be a text, such as \"1MB\""},
        {QUEUES "shared = \"12\"\n" FLOWS, "x:8:10: shared: \"12\" has no unit; a size is written like 64MB or 64KiB"},
        {QUEUES "shared = \"2GiB\"\n" FLOWS, "x:8:10: shared is 2GiB; the limit is 1GiB"},
        {QUEUES "shared = \"1000B\"\n" FLOWS, "x:8:10: a buffer of 1000 bytes is too small for a packet of 1500"},
        {QUEUES "xoff = \"9pkt\"\n" FLOWS, "x:8:1: xoff needs pfc = true"},
        {QUEUES "pfc = false\nxon_below = \"9pkt\"\n" FLOWS, "x:9:1: xon_below needs pfc = true"},
        {QUEUES "shared = \"1MB\"\nheadroom = \"9pkt\"\n" FLOWS, "x:9:1: headroom needs pfc = true"},
        {QUEUES "pfc = \"on\"\n" FLOWS, "x:8:7: pfc must be true or false, without quotes"},
        {QUEUES "pfc = true\n" FLOWS, "x:8:1: pfc needs shared, the buffer of a switch, or xoff, a port's threshold"},
        {QUEUES "pfc = true\nxoff = \"none\"\n" FLOWS, "x:9:8: xoff is none; the limit is 1GiB"},
        {QUEUES "pfc = true\nxoff = \"2pkt\"\nxon_below = \"3000B\"\n" FLOWS,
         "x:10:13: xon_below is 3000B; must be less than xoff, 2pkt"},
        {QUEUES "pfc = true\nshared = \"29000B\"\n" FLOWS,
         "x:9:10: shared is 29000 bytes, but the headrooms of switch0 take 28256 and a packet 1500"},
        {QUEUES "pfc = true\nshared = \"1MB\"\nheadroom = \"1MB\"\n" FLOWS,
         "x:9:10: shared is 1000000 bytes, but the headrooms of switch0 take 4000000 and a packet 1500"},
        {"duration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"3200Gbps\"\ndelay = "
         "\"1s\"\n[queues]\npfc = "
         "true\nxoff = \"1MB\"\n" FLOWS,
         "x:8:7: a link's headroom would be 800000004564 bytes, for its rate and delay; 1GiB at most"},
    };

    (void)state;
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}

/* Into a scenario that held another one. */
static void read_queues(struct sim_scenario *s, const char *text)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    sim_scenario_free(s);
    if (!sim_scenario_parse(s, text, "x", NULL, error)) {
        fail_msg("%s", error);
    }
}

static void queues__are_what_they_say(void **state)
{
    static struct sim_scenario s;
    const struct sim_buffers_config *b = &s.topology.buffers;

    (void)state;
    read_queues(&s, QUEUES "ecn = \"5pkt\"\n" FLOWS);
    assert_false(sim_buffers_are_any(b));
    assert_int_equal(s.topology.buffer_bytes, 300000);
    read_queues(&s, QUEUES "shared = \"1MB\"\n" FLOWS);
    assert_true(s.topology.buffer_bytes == SIM_NEVER && b->shared_bytes == 1000000 && !b->is_lossless);
    assert_true(b->alpha_of == 1 && b->alpha_by == 1);
    read_queues(&s, QUEUES "shared = \"1MB\"\npfc = true\n" FLOWS);
    assert_true(b->is_lossless && b->alpha_of == 1 && b->alpha_by == 8 && b->below_bytes == 3000);
    read_queues(&s, QUEUES "pfc = true\nxoff = \"15pkt\"\nheadroom = \"9KB\"\nxon_below = \"1pkt\"\n" FLOWS);
    assert_true(b->xoff_bytes == 22500 && b->headroom_bytes == 9000 && b->below_bytes == 1500 && b->shared_bytes == 0);
    read_queues(&s, QUEUES "shared = \"28256B\"\nalpha = \"3/2\"\n" FLOWS);
    assert_true(b->alpha_of == 3 && b->alpha_by == 2);
    sim_scenario_free(&s);
}

static void overrides__replace_what_stands_there(void **state)
{
    static const char text[] = "seed = 1\nduration = \"1ms\"\n" STAR FLOWS FLOWS;
    static const struct sim_override list[] = {{"seed", "9"}, {"traffic.size", "3MB"}, {"topology.hosts", "6"}};
    static const struct sim_override added[] = {{"scale", "1/20"}, {"warmup", "100us"}, {"mtu", "9000B"}};
    static const struct sim_override unknown[] = {
        {"traffic.laod", "3%"}, {"load", "3%"}, {"traff.load", "3%"}, {".", ""}};
    static const struct sim_override bad[] = {{"traffic.load", "3%"}, {"seed", "x"}};
    static struct sim_scenario s;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_true(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){list, 3}, error));
    assert_int_equal(s.seed, 9);
    assert_int_equal(s.topology.hosts, 6);
    assert_int_equal(s.traffic[0].bytes, 3000000);
    assert_int_equal(s.traffic[1].bytes, 3000000);
    sim_scenario_free(&s);
    assert_true(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){added, 3}, error));
    assert_int_equal(s.scale, 20);
    assert_int_equal(s.warmup_ps, 100000000);
    assert_int_equal(s.flows.packet, 9000);
    sim_scenario_free(&s);
    assert_false(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){bad, 1}, error));
    assert_string_equal(
        error, "x:1:1: traffic.load is not in the scenario and cannot be varied; write it there, with any value");
    sim_scenario_free(&s);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_false(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){unknown + i, 1}, error));
        assert_non_null(strstr(error, "cannot be varied; `tributary sim --keys` lists all"));
        sim_scenario_free(&s);
    }
    assert_false(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){bad + 1, 1}, error));
    assert_string_equal(error, "x:1:8: seed: \"x\" is not a whole number");
    sim_scenario_free(&s);
}

/* A key of some schemes may stand there for a sweep over all, whose files then do without it. */
static void marks__are_of_schemes_whose_results_name_them(void **state)
{
    static const struct {
        const char *scheme;
        bool has_them;
    } cases[] = {{"panama", true},    {"panama:7/8", true},  {"switchml", false},       {"ring", false},
                 {"hybrid:2", false}, {"ring-steps", false}, {"panama-literal", false}, {"panama-literal:7/8", false}};
    static struct sim_scenario s;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const char *scheme = cases[i / 2].scheme;
        const struct sim_override varied = {.key = "job.scheme", .text = scheme};
        char text[1024];
        char error[TRIB_ERROR_TEXT_MAX] = "";
        (void)snprintf(text, sizeof text,
                       "duration = \"1ms\"\n" STAR "[[job]]\nscheme = \"%s\"\nworkers = 4\niterations = 1\n"
                       "size = \"1MB\"\nmarks_of_all = %s\n",
                       scheme, i % 2 != 0 ? "true" : "false");
        assert_int_equal(sim_scenario_parse(&s, text, "x", NULL, error), cases[i / 2].has_them);
        sim_scenario_free(&s);
        assert_true(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){&varied, 1}, error));
        assert_int_equal(strstr(s.text, "marks_of_all") != NULL, cases[i / 2].has_them);
        (void)snprintf(text, sizeof text, "%s", s.text);
        sim_scenario_free(&s);
        assert_true(sim_scenario_parse(&s, text, "x", NULL, error));
        sim_scenario_free(&s);
    }
}

/* What is written is the same scenario, whatever it was called, and says what was drawn from. */
static void text__is_the_same_scenario(void **state)
{
    static const char text[] =
        "# all that is not meant\nduration = '20ms' # so long\n" STAR "[queues]\npfc = true\nshared = \"1MB\"\n" FLOWS
        "[[job]]\nscheme = \"ring\"\nworkers = 1_0\niterations = 1\nsize = \"1MB\"\n";
    static const struct sim_override list[] = {
        {"seed", "9"}, {"job.workers", "3"}, {"scale", "1/2"}, {"ideal", "true"}, {"name", "a \"b\" \\ c"}};
    static struct sim_scenario s;
    static struct sim_scenario again;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_true(sim_scenario_parse(&s, text, "folder/x.toml", &(struct sim_overrides){list, 5}, error));
    assert_string_equal(
        s.text, "duration = \"20ms\"\nseed = 9\nscale = \"1/2\"\nideal = true\nname = \"a \\\"b\\\" \\\\ c\"\n" STAR
                "[queues]\npfc = true\nshared = \"1MB\"\n" FLOWS
                "[[job]]\nscheme = \"ring\"\nworkers = 3\niterations = 1\nsize = \"1MB\"\n");
    assert_true(sim_scenario_parse(&again, s.text, "y", NULL, error));
    assert_string_equal(again.text, s.text);
    assert_string_equal(again.name, "a \"b\" \\ c");
    sim_scenario_free(&s);
    sim_scenario_free(&again);
    assert_true(sim_scenario_parse(&s, "duration = \"1ms\"\n" STAR FLOWS, "folder/x.toml", NULL, error));
    assert_string_equal(s.text, "duration = \"1ms\"\nname = \"x.toml\"\nseed = 1\n" STAR FLOWS);
    sim_scenario_free(&s);
}

/* A grid over schemes has keys that mean nothing to some of them, and what is written of such a run is read again. */
static void schemes__can_be_varied(void **state)
{
    static const char text[] =
        "duration = \"1ms\"\n" STAR "[switches]\nmemory = \"1MB\"\n[[job]]\nscheme = \"switchml\"\nworkers = 3\n"
        "size = \"1MB\"\niterations = 1\ntrees = 2\nthreshold = \"10KB\"\n"
        "[[restart]]\nswitch = \"switch0\"\nat = \"1us\"\n";
    static struct sim_run run;
    static const char *const schemes[] = {"ring", "switchml", "panama"};
    static struct sim_scenario s;
    static struct sim_scenario again;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct sim_override one = {"job.scheme", schemes[i]};
        assert_true(sim_scenario_parse(&s, text, "x", &(struct sim_overrides){&one, 1}, error));
        assert_true(sim_scenario_parse(&again, s.text, "x", NULL, error));
        assert_string_equal(again.jobs[0].scheme, schemes[i]);
        assert_int_equal(again.jobs[0].trees, 2);
        assert_int_equal(again.jobs[0].threshold, 10000);
        assert_true(sim_scenario_run(&run, &again, error));
        sim_run_deinit(&run);
        sim_scenario_free(&s);
        sim_scenario_free(&again);
    }
}

static bool read_trace(const char *text, struct sim_traffic *t, char *error)
{
    char folder[] = "/tmp/trib-sim-XXXXXX";
    char path[64];
    char scenario[512];
    static struct sim_scenario s;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/f", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    (void)snprintf(scenario, sizeof scenario,
                   "duration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 1024\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
                   "[[traffic]]\nkind = \"trace\"\nfile = \"f\"\n");
    char base[64];
    (void)snprintf(base, sizeof base, "%s/x", folder);
    bool is_good = sim_scenario_parse(&s, scenario, base, NULL, error);
    *t = s.traffic[0];
    if (is_good) {
        s.traffic[0].trace = NULL; /* the caller's */
    }
    sim_scenario_free(&s);
    if (!is_good) {
        memmove(error, error + strlen(folder) + 1, strlen(error + strlen(folder) + 1) + 1);
    }
    (void)unlink(path);
    (void)rmdir(folder);
    return is_good;
}

static void trace__is_read_or_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "f:1:1: expected the number of flows"},
        {"2\n0 1 3 100 5000 0.1\n", "f:3:1: fewer flows than the first line says"},
        {"1\n0 5000 3 100 5000 0.1\n", "f:2:3: there is no host 5000; there are hosts 0 to 1023"},
        {"1\n2 2 3 100 5000 0.1\n", "f:2:3: a host that sends to itself"},
        {"1\n2 1 3 100 0 0.1\n", "f:2:11: a flow of no bytes"},
        {"2\n0 1 3 100 5000 0.1\n0 1 3 100 5000 0.09\n", "f:3:16: starts earlier than the flow before it"},
        {"1\n0 1 3 100 x 0.1\n", "f:2:11: expected six numbers: source, destination, group, port, bytes, start"},
    };
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct sim_traffic t;

    (void)state;
    assert_true(read_trace("2\n0 1 3 100 5000 0.0001\r\n3 2 3 100 7 2.5\n", &t, error));
    assert_int_equal(t.trace_count, 2);
    assert_int_equal(t.trace[0].start_ps, 100000000);
    assert_int_equal(t.trace[1].start_ps, UINT64_C(2500000000000));
    assert_int_equal(t.trace[1].from, 3);
    assert_int_equal(t.trace[1].bytes, 7);
    free(t.trace);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(read_trace(bad[i].text, &t, error));
        assert_string_equal(error, bad[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toml__reads_what_it_says),
        cmocka_unit_test(toml__refuses_with_its_place),
        cmocka_unit_test(toml__takes_any_bytes),
        cmocka_unit_test(scenario__is_read),
        cmocka_unit_test(scenario__refuses_in_one_line),
        cmocka_unit_test(networks__are_refused_in_one_line),
        cmocka_unit_test(queues__are_refused_in_one_line),
        cmocka_unit_test(queues__are_what_they_say),
        cmocka_unit_test(adders__are_read),
        cmocka_unit_test(models__are_those_of_the_papers),
        cmocka_unit_test(jobs__are_read),
        cmocka_unit_test(jobs__are_refused_in_one_line),
        cmocka_unit_test(setups__are_refused_in_one_line),
        cmocka_unit_test(overrides__replace_what_stands_there),
        cmocka_unit_test(marks__are_of_schemes_whose_results_name_them),
        cmocka_unit_test(text__is_the_same_scenario),
        cmocka_unit_test(schemes__can_be_varied),
        cmocka_unit_test(trace__is_read_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
