/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c: plans whose rates are known, plans that were tampered with, files and their mistakes, and the same bytes
 * in every run. Mirrors src/plan/plan.h, src/plan/check.h, src/plan/file.h, src/plan/network.h, src/plan/jobs.h. */
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

#include "io/file.h"
#include "plan/check.h"
#include "plan/file.h"
#include "plan/lp.h"
#include "plan/make.h"

/* A network, its jobs and their plan. */
struct subject {
    struct plan_network net;
    struct plan_jobs jobs;
    struct plan plan;
    char path[64]; /* of the latest file */
    char error[TRIB_ERROR_TEXT_MAX];
};

static const char *write_text(struct subject *s, const char *text)
{
    (void)snprintf(s->path, sizeof s->path, "/tmp/test_plan_XXXXXX");
    int fd = mkstemp(s->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    s->error[0] = '\0';
    return s->path;
}

static bool read_subject(struct subject *s, const char *network, const char *jobs)
{
    *s = (struct subject){.net = {.hosts = 0}};
    bool is_good = plan_network_read(&s->net, write_text(s, network), s->error);
    (void)unlink(s->path);
    is_good = is_good && plan_jobs_read(&s->jobs, &s->net, write_text(s, jobs), s->error);
    (void)unlink(s->path);
    return is_good;
}

static void free_subject(struct subject *s)
{
    plan_free(&s->plan);
    plan_jobs_free(&s->jobs);
    plan_network_free(&s->net);
}

static enum trib_status make(struct subject *s)
{
    const struct plan_options options = {.family = plan_family_of(&s->net)};
    return plan_make(&s->plan, &s->net, &s->jobs, &options, s->error);
}

static void make_plan(struct subject *s, const char *network, const char *jobs)
{
    struct plan_proof proof;
    if (!read_subject(s, network, jobs) || make(s) != TRIB_OK ||
        !plan_check(&s->plan, &s->net, &s->jobs, &proof, s->error)) {
        fail_msg("%s", s->error);
    }
    assert_true(proof.gap <= PLAN_GAP && proof.fill <= 1);
}

/* ---- rates that are known ---- */

#define JOB(name, hosts) "[[job]]\nname = \"" name "\"\nhosts = \"" hosts "\"\n"
#define STAR "[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100Gbps\"\n"
#define LEAF_SPINE                                                                                             \
    "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\nrate = \"100Gbps\"\nfabric_rate = " \
    "\"50Gbps\"\n"
#define ADDS(name) "[[switch]]\nname = \"" name "\"\n"
#define ADDS_AT(name, rate) ADDS(name) "rate = \"" rate "\"\n"

static void expect_rate(const struct subject *s, uint32_t job, double gbps)
{
    double rate = (double)s->plan.grants[job].rate_bps / 1e9;
    if (fabs(rate / gbps - 1) > 0.003) {
        fail_msg("job %s: %f Gbps, not %f", s->jobs.list[job].name, rate, gbps);
    }
}

static void make__star(void **state)
{
    struct subject s;
    (void)state;
    make_plan(&s, STAR ADDS("switch0"), JOB("a", "host0-3"));
    expect_rate(&s, 0, 100);
    free_subject(&s);
    make_plan(&s, STAR ADDS_AT("switch0", "120Gbps"), JOB("a", "host0-3"));
    expect_rate(&s, 0, 30); /* four inputs */
    free_subject(&s);
    make_plan(&s, STAR ADDS("*"), JOB("a", "host0-3") JOB("b", "host2-5") "weight = 3\n" JOB("c", "host6-7"));
    expect_rate(&s, 0, 25); /* a and b have one cable, by weight */
    expect_rate(&s, 1, 75);
    expect_rate(&s, 2, 100);
    assert_int_equal(s.plan.stage_count, 2);
    free_subject(&s);
}

/* Several tables of one switch: a key that a later table does not have stays. */
static void read__tables_of_one_switch(void **state)
{
    struct subject s;
    (void)state;
    assert_true(read_subject(&s,
                             LEAF_SPINE ADDS_AT("leaf*", "300Gbps") "memory = \"1MB\"\n" ADDS("*")
                                 ADDS("leaf0") "memory = \"2MB\"\n" ADDS_AT("leaf1", "40Gbps")
                                     ADDS("spine0") "adds = false\n" ADDS("spine*") "memory = \"3MB\"\n",
                             JOB("a", "host0-7") "memory = \"1KB\"\n"));
    assert_true(s.net.adds_bps[0] == 300000000000U && s.net.memory[0] == 2000000);
    assert_true(s.net.adds_bps[1] == 40000000000U && s.net.memory[1] == 1000000);
    assert_true(s.net.adds_bps[2] == PLAN_ADDS_NOT && s.net.memory[2] == 3000000);
    assert_true(s.net.adds_bps[3] == PLAN_ADDS_ALL && s.net.memory[3] == 3000000);
    free_subject(&s);
    assert_true(
        read_subject(&s, LEAF_SPINE ADDS("*") "adds = false\n" ADDS("leaf0") "adds = true\n", JOB("a", "host0-3")));
    assert_true(s.net.adds_bps[0] == PLAN_ADDS_ALL && s.net.adds_bps[1] == PLAN_ADDS_NOT);
    free_subject(&s);
}

static void make__two_levels(void **state)
{
    struct subject s;
    (void)state;
    make_plan(&s, LEAF_SPINE ADDS("*"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 100); /* one stream of each leaf, over two spines */
    free_subject(&s);
    make_plan(&s, LEAF_SPINE ADDS("spine*"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 25); /* four streams of each leaf */
    free_subject(&s);
    make_plan(&s, LEAF_SPINE ADDS("leaf0"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 25); /* leaf1's come over both spines */
    free_subject(&s);
    make_plan(&s, LEAF_SPINE ADDS("spine0") "[[link]]\nbetween = \"leaf1 spine1\"\nrate = \"10Gbps\"\n",
              JOB("a", "host0-7"));
    expect_rate(&s, 0, 12.5); /* eight streams come to spine0 by two links */
    free_subject(&s);
}

static void make__job_on_one_leaf(void **state)
{
    struct subject s;
    (void)state;
    make_plan(&s, LEAF_SPINE ADDS("leaf0"), JOB("a", "host0-1") JOB("b", "host4-5"));
    expect_rate(&s, 0, 100);
    expect_rate(&s, 1, 50); /* two streams out and back in over two links of 50 */
    free_subject(&s);
    /* A server beside a leaf is a switch with one cable. */
    make_plan(
        &s,
        "[[link]]\nbetween = \"h0 leaf\"\nrate = \"100Gbps\"\n[[link]]\nbetween = \"h1 leaf\"\nrate = \"100Gbps\"\n"
        "[[link]]\nbetween = \"leaf 10.0.0.9:7470\"\nrate = \"40Gbps\"\n",
        JOB("a", "h0 h1"));
    expect_rate(&s, 0, 20);
    free_subject(&s);
}

static void make__ways_of_the_network(void **state)
{
    struct subject s;
    (void)state;
    make_plan(&s, "paths = \"ecmp\"\n" LEAF_SPINE ADDS("leaf*"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 50 / (.5 * 1.7)); /* one stream over two spines, there and back */
    free_subject(&s);
    make_plan(&s, "paths = \"ecmp\"\nheadroom = \"0%\"\n" LEAF_SPINE ADDS("leaf*"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 100);
    free_subject(&s);
    make_plan(&s, "paths = \"ecmp\"\nheadroom = \"40%\"\n" LEAF_SPINE ADDS("leaf0"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 50 / (4 * .5 * 1.2)); /* four streams */
    free_subject(&s);
    make_plan(&s, "paths = \"ecmp\"\n" LEAF_SPINE ADDS("spine*"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 25); /* to a spine there is one path */
    free_subject(&s);
    make_plan(&s, "paths = \"pinned\"\n" LEAF_SPINE ADDS("*"), JOB("a", "host0-7"));
    expect_rate(&s, 0, 100); /* the ways to spines are the only ones of their length */
    free_subject(&s);
    assert_true(read_subject(&s, "paths = \"pinned\"\n" LEAF_SPINE ADDS("leaf*"), JOB("a", "host0-7")));
    assert_int_equal(make(&s), TRIB_ERR_INVALID);
    assert_non_null(strstr(s.error, "job a: its hosts can reach no switch that adds by a shortest path"));
    free_subject(&s);
}

#define NETWORK_MAX 4096

/* Two leaves, of which the first adds; link i of the other's has i + 1 Gbps. */
static void write_uneven(char network[NETWORK_MAX], uint32_t links)
{
    (void)snprintf(network, NETWORK_MAX,
                   "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = %u\nhosts = %u\nrate = \"100Gbps\"\n"
                   "fabric_rate = \"%uGbps\"\n" ADDS("leaf0"),
                   links, links / 2, links);
    for (uint32_t i = 0; i < links; i++) {
        size_t len = strlen(network);
        (void)snprintf(network + len, NETWORK_MAX - len, "[[link]]\nbetween = \"leaf1 spine%u\"\nrate = \"%uGbps\"\n",
                       i, i + 1);
    }
}

/* Trees that differ in paths alone become one, with weights of its paths. */
static void make__few_trees_of_many(void **state)
{
    struct subject s;
    struct plan_proof proof;
    char network[NETWORK_MAX];
    (void)state;
    write_uneven(network, 24);
    assert_true(read_subject(&s, network, JOB("a", "host0-23")));
    const struct plan_options options = {.family = plan_family_of(&s.net), .most = 16};
    assert_int_equal(plan_make(&s.plan, &s.net, &s.jobs, &options, s.error), TRIB_OK);
    assert_true(plan_check(&s.plan, &s.net, &s.jobs, &proof, s.error));
    expect_rate(&s, 0, 25); /* twelve streams of leaf1 over links of 300 */
    assert_true(s.plan.grants[0].wanted > options.most);
    assert_true(s.plan.grants[0].count < options.most);
    const struct plan_tree *tree = &s.plan.grants[0].shares[0].tree;
    assert_int_equal(tree->hop_count, 1);
    assert_true(tree->hops[0].path_count > 1);
    tree->paths[0].weight = 0;
    assert_false(plan_check(&s.plan, &s.net, &s.jobs, &proof, s.error));
    tree->paths[0].weight = 1;
    assert_false(plan_check(&s.plan, &s.net, &s.jobs, &proof, s.error)); /* the others' links are overloaded */
    assert_non_null(strstr(s.error, "overloads"));
    free_subject(&s);
}

/* ---- changes ---- */

static void change__links_and_switches(void **state)
{
    struct subject s;
    (void)state;
    assert_true(read_subject(&s, LEAF_SPINE ADDS("spine*"), JOB("a", "host0-7")));
    assert_true(plan_network_change(&s.net, "link leaf0-spine1 down", s.error));
    assert_int_equal(make(&s), TRIB_OK);
    expect_rate(&s, 0, 12.5);
    plan_free(&s.plan);
    assert_true(plan_network_change(&s.net, "switch leaf0 adds", s.error));
    assert_int_equal(make(&s), TRIB_OK);
    expect_rate(&s, 0, 20); /* a half by each spine: spine0 sends leaf1 four results of its own, and leaf0's stream */
    plan_free(&s.plan);
    assert_true(plan_network_change(&s.net, "switch spine0 down", s.error));
    assert_int_equal(make(&s), TRIB_ERR_INVALID);
    assert_non_null(strstr(s.error, "job a: the network is in parts"));
    assert_false(plan_network_change(&s.net, "switch leaf7 down", s.error));
    assert_non_null(strstr(s.error, "did you mean leaf"));
    assert_false(plan_network_change(&s.net, "link leaf0-leaf1 down", s.error));
    assert_non_null(strstr(s.error, "no link leaf0-leaf1"));
    assert_false(plan_network_change(&s.net, "spine0 down", s.error));
    free_subject(&s);
}

/* ---- files ---- */

static char *read_whole(const char *path)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;
    char *text = trib_file_read(path, &len, error);
    assert_non_null(text);
    return text;
}

#define MIXED LEAF_SPINE ADDS("spine*") ADDS_AT("leaf0", "300Gbps")
#define TWO JOB("a", "host0-7") JOB("b", "host2-5")

static bool read_plan(struct plan *plan, const struct subject *s, const char *path, char *error)
{
    struct trib_toml toml;
    *plan = (struct plan){.grants = NULL};
    bool is_good = trib_toml_open(&toml, path, error) && plan_read(plan, &s->net, &s->jobs, false, &toml, error);
    trib_toml_free(&toml);
    return is_good;
}

static void write_twice(const char *network, const char *jobs)
{
    struct subject s, again;
    char *texts[3];
    make_plan(&s, network, jobs);
    make_plan(&again, network, jobs);
    assert_true(plan_write(&s.plan, &s.net, &s.jobs, write_text(&s, ""), s.error));
    texts[0] = read_whole(s.path);
    assert_true(plan_write(&again.plan, &again.net, &again.jobs, s.path, s.error));
    texts[1] = read_whole(s.path);
    plan_free(&again.plan);
    assert_true(read_plan(&again.plan, &again, s.path, s.error));
    assert_true(plan_write(&again.plan, &again.net, &again.jobs, s.path, s.error));
    texts[2] = read_whole(s.path);
    assert_string_equal(texts[0], texts[1]);
    assert_string_equal(texts[0], texts[2]);
    (void)unlink(s.path);
    for (int i = 0; i < 3; i++) {
        free(texts[i]);
    }
    free_subject(&s);
    free_subject(&again);
}

static void write__same_bytes_each_time(void **state)
{
    char network[NETWORK_MAX];
    (void)state;
    write_twice(MIXED, TWO);
    write_twice("paths = \"ecmp\"\n" MIXED, TWO);
    write_uneven(network, PLAN_TREES_MAX + 2);
    write_twice(network, JOB("a", "host0-33"));
}

/* The file of the plan of MIXED and TWO, with one text replaced by another. False: it is refused; the error says why. */
static bool hold(struct subject *s, const char *text, const char *with)
{
    struct plan plan;
    struct plan_proof proof;
    assert_true(plan_write(&s->plan, &s->net, &s->jobs, write_text(s, ""), s->error));
    char *whole = read_whole(s->path);
    char *at = strstr(whole, text);
    (void)unlink(s->path);
    assert_non_null(at);
    char *changed = calloc(1, strlen(whole) + strlen(with) + 1);
    assert_non_null(changed);
    memcpy(changed, whole, (size_t)(at - whole));
    (void)strcat(strcat(changed, with), at + strlen(text));
    bool is_good =
        read_plan(&plan, s, write_text(s, changed), s->error) && plan_check(&plan, &s->net, &s->jobs, &proof, s->error);
    plan_free(&plan);
    (void)unlink(s->path);
    free(whole);
    free(changed);
    return is_good;
}

#define REFUSED(text, with, why)                                                          \
    do {                                                                                  \
        assert_false(hold(&s, text, with));                                               \
        if (strstr(s.error, why) == NULL) {                                               \
            fail_msg("%s instead of %s: \"%s\" has no \"%s\"", with, text, s.error, why); \
        }                                                                                 \
    } while (0)

/* The headroom is in the loads that a plan is checked by. */
static void check__refuses_a_plan_without_headroom(void **state)
{
    struct subject s;
    char rate[64], more[64];
    (void)state;
    make_plan(&s, "paths = \"ecmp\"\n" LEAF_SPINE ADDS("leaf*"), JOB("a", "host0-7"));
    REFUSED("headroom = \"70%\"", "headroom = \"40%\"", "a headroom of 40 % on links, but the network wants 70 %");
    REFUSED("headroom = \"70%\"", "", "a headroom of 0 %");
    (void)snprintf(rate, sizeof rate, "rate_bps = %lu", (unsigned long)s.plan.grants[0].rate_bps);
    (void)snprintf(more, sizeof more, "rate_bps = %lu", (unsigned long)s.plan.grants[0].rate_bps * 101 / 100);
    REFUSED(rate, more, "overloads");
    free_subject(&s);
}

static void check__refuses_a_changed_plan(void **state)
{
    struct subject s;
    (void)state;
    make_plan(&s, MIXED, TWO);
    assert_true(hold(&s, "# A plan", "# The plan"));
    REFUSED("network = \"", "network = \"1", "is for another network");
    REFUSED("jobs = \"", "jobs = \"1", "is for other jobs");
    REFUSED("paths = \"explicit\"", "paths = \"ecmp\"", "the plan is for paths");
    REFUSED("multicast = false\n\n[[job", "multicast = true\n\n[[job", "the plan is for paths");
    REFUSED("rate_bps = ", "rate_bps = 1", "overloads");
    REFUSED("stage = 1", "stage = 9", "cannot be");
    REFUSED("bound_bps = ", "bound_bps = 1", "does not hold");
    REFUSED("level_bps = ", "level_bps = 1", "level");
    REFUSED("prices = \"", "prices = \"leaf0-spine0 1000 ", "does not hold");
    REFUSED("prices = \"", "prices = \"leaf0-spine7 1000 ", "no price");
    REFUSED("hops = \"leaf0", "hops = \"leaf1", "leaf1: it does not add");
    REFUSED("hops = \"", "hops = \"leaf0+ host0; ", "is not a path");
    REFUSED("hops = \"", "hops = \"spine0 leaf0; ", "no member of the job is there");
    REFUSED("root = \"spine", "root = \"leaf1\"\n#", "add");
    REFUSED("multicast = false\nhops", "multicast = true\nhops", "no multicast");
    REFUSED("weight = ", "weight = 99", "255");
    REFUSED("[[tree]]", "[[trees]]", "unknown table");
    free_subject(&s);
}

/* Results go back the way that streams came, once over each link: so no stream may pass a switch that adds, nor the root,
 * on its way. Two streams would be on a link for which one is counted. */
static void check__refuses_streams_that_pass_an_adder(void **state)
{
#define CABLE(a, b) "[[link]]\nbetween = \"" a " " b "\"\nrate = \"10Gbps\"\n"
    struct subject s;
    (void)state;
    make_plan(
        &s, "multicast = true\n" CABLE("h0", "L") CABLE("h1", "L") CABLE("L", "A") CABLE("A", "B") ADDS("A") ADDS("B"),
        JOB("a", "h0 h1"));
    assert_true(hold(&s, "# A plan", "# The plan"));
    REFUSED("root = \"A\"\nmulticast = true\nhops = \"L A\"", "root = \"A\"\nmulticast = true\nhops = \"L A B; B+ A\"",
            "a stream passes, though it adds");
    REFUSED("hops = \"L A\"", "hops = \"L ~ bogus A\"", "is not a path");
    REFUSED("hops = \"L A\"", "hops = \"L *4294967297 A\"", "is not a path");
    REFUSED("hops = \"L A\"", "hops = \"L *2x A\"", "is not a path");
    REFUSED("network = \"", "network = \"x", "a digest is");
    free_subject(&s);
}

/* Prices that someone made up prove a bound as well, if a weaker one: it must be the one that the file names. */
static void check__prices_of_any_kind(void **state)
{
    struct subject s;
    struct plan_proof proof;
    (void)state;
    make_plan(&s, MIXED, TWO);
    uint64_t bound = s.plan.stages[0].bound_bps;
    for (uint32_t row = 0; row < plan_rows(&s.net); row++) {
        s.plan.stages[0].prices[row] = plan_capacity(&s.net, row) != UINT64_MAX;
    }
    assert_false(plan_check(&s.plan, &s.net, &s.jobs, &proof, s.error));
    assert_non_null(strstr(s.error, "stage 1 does not hold"));
    struct plan_pricer p;
    struct plan_offer offers[PLAN_OFFERS];
    int64_t cheapest[2];
    const uint64_t fixed[2] = {0, 0};
    assert_int_equal(plan_pricer_init(&p, &s.net, &s.jobs, s.plan.family, s.error), TRIB_OK);
    plan_pricer_set(&p, s.plan.stages[0].prices);
    for (uint32_t j = 0; j < 2; j++) {
        assert_true(plan_price(&p, j, offers) > 0);
        cheapest[j] = plan_bound_price(&s.net, &s.jobs.list[j], offers[0].price, s.plan.stages[0].prices);
    }
    s.plan.stages[0].bound_bps = plan_bound(&s.net, &s.jobs, s.plan.stages[0].prices, cheapest, fixed);
    assert_true(s.plan.stages[0].bound_bps > bound);
    assert_true(plan_check(&s.plan, &s.net, &s.jobs, &proof, s.error));
    plan_pricer_free(&p);
    free_subject(&s);
}

/* ---- mistakes ---- */

static void expect_refusal(const char *network, const char *jobs, const char *why)
{
    struct subject s;
    assert_false(read_subject(&s, network, jobs));
    if (strstr(s.error, why) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", s.error, why);
    }
    free_subject(&s);
}

static void read__mistakes(void **state)
{
    (void)state;
    const char *jobs = JOB("a", "host0-3");
    expect_refusal("", jobs, ":1:1: there is neither a [topology] nor a [[link]]");
    expect_refusal(STAR, jobs, "no switch adds");
    expect_refusal(STAR ADDS("swich0"), jobs, "there is no swich0; did you mean switch0?");
    expect_refusal(STAR ADDS("leaf*"), jobs, "no switch has a name that leaf* stands for");
    expect_refusal("[topology]\nkind = \"torus\"\nrate = \"1Gbps\"\n", jobs, "kind is star, leaf-spine");
    expect_refusal("[topology]\nkind = \"fat-tree\"\nk = 3\nrate = \"1Gbps\"\n", jobs, "k, which is even");
    expect_refusal("[topology]\nkind = \"fat-tree\"\nk = 400\nrate = \"1Gbps\"\n", jobs, "more than");
    expect_refusal("[topology]\nkind = \"star\"\nhosts = 8\nrate = \"0Gbps\"\n", jobs, "is not from 1Mbps");
    expect_refusal("[topology]\nkind = \"star\"\nhosts = 8\nspeed = 3\n", jobs, ":4:1: unknown key speed");
    expect_refusal("[topology]\nkind = \"star\"\nhosts = 8\nrate = \"1Gbps\"\nk = 4\n", jobs, ":5:5: a star has no k");
    expect_refusal(STAR "[[switch]]\nname = \"host1\"\n", jobs, "host1 is a host, not a switch");
    expect_refusal("[[link]]\nbetween = \"a b-c\"\nrate = \"1Gbps\"\n[[link]]\nbetween = \"a-b c\"\nrate = \"1Gbps\"\n"
                   "[[link]]\nbetween = \"a a-b\"\nrate = \"1Gbps\"\n" ADDS("a") ADDS("a-b"),
                   jobs, "a-b-c is the name of two links, or of a link and a switch: rename one end");
    expect_refusal("[topology]\nkind = \"star\"\nhosts = 8\n", jobs, ":1:1: rate is missing");
    expect_refusal("multicast = 3\n" STAR, jobs, "multicast must be true or false");
    expect_refusal("paths = \"any\"\n" STAR ADDS("*"), jobs, "paths is \"explicit\"");
    expect_refusal("headroom = \"20%\"\n" STAR ADDS("*"), jobs, "headroom wants paths = \"ecmp\"");
    expect_refusal("paths = \"ecmp\"\nheadroom = \"200%\"\n" STAR ADDS("*"), jobs, "200%");
    expect_refusal("paths = \"ecmp\"\nmulticast = true\n" STAR ADDS("*"), jobs, "multicast wants");
    expect_refusal("[[link]]\nbetween = \"a b\"\nrate = \"1Gbps\"\n", jobs, "a cable between two hosts");
    expect_refusal("[[link]]\nbetween = \"a a\"\nrate = \"1Gbps\"\n", jobs, "from one place to itself");
    expect_refusal("[[link]]\nbetween = \"a\"\nrate = \"1Gbps\"\n", jobs, "two names");
    expect_refusal(STAR ADDS("*") "[[link]]\nbetween = \"host0 host1\"\nrate = \"1Gbps\"\n", jobs, "no cable between");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0-8"), "there is no host8");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0 host0"), "host0 is named twice");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0"), "has one host");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0 switch0"), "switch0 is a switch");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0-1") JOB("a", "host2-3"), "two jobs have the name a");
    expect_refusal(STAR ADDS("*"), "", "there is no [[job]]");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0-1") "weight = 0\n", "weight: 0 is not from 1 to 1000");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0-1") "weight = 1001\n", "weight: 1001 is not from 1 to 1000");
    expect_refusal(STAR ADDS("*"), JOB("a", "host0-1") "[[jobs]]\n", "did you mean [job]?");
}

/* ---- an end before the end ---- */

static bool at_once(void *user, const struct plan_step *step)
{
    (*(int *)user)++;
    assert_true(step->solved == 0 && step->left == 2 && !step->is_cut);
    return true;
}

static void make__interrupted(void **state)
{
    struct subject s;
    int asked = 0;
    (void)state;
    assert_true(read_subject(&s, MIXED, TWO));
    const struct plan_options options = {.family = PLAN_MIDDLE, .is_over = at_once, .user = &asked};
    assert_int_equal(plan_make(&s.plan, &s.net, &s.jobs, &options, s.error), TRIB_ERR_ABORTED);
    assert_int_equal(asked, 1);
    free_subject(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__star),
        cmocka_unit_test(read__tables_of_one_switch),
        cmocka_unit_test(make__two_levels),
        cmocka_unit_test(make__job_on_one_leaf),
        cmocka_unit_test(make__ways_of_the_network),
        cmocka_unit_test(make__few_trees_of_many),
        cmocka_unit_test(change__links_and_switches),
        cmocka_unit_test(write__same_bytes_each_time),
        cmocka_unit_test(check__refuses_a_changed_plan),
        cmocka_unit_test(check__refuses_a_plan_without_headroom),
        cmocka_unit_test(check__refuses_streams_that_pass_an_adder),
        cmocka_unit_test(check__prices_of_any_kind),
        cmocka_unit_test(read__mistakes),
        cmocka_unit_test(make__interrupted),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(read__mistakes)};
    return trib_lp_is_there() ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(none, NULL, NULL);
}
