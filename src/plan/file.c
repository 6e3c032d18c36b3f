/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: see file.h. */
#include "plan/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "io/units.h"
#include "plan/check.h"
#include "plan/input.h"

/* ---- writing ---- */

/* "leaf0+ spine1": a switch that adds, and its path. Hops are parted by semicolons, paths with a weight by bars:
 * "leaf0+ *2 spine1 leaf2 | *1 spine0 leaf2". "leaf0 ~ leaf2": all shortest paths in equal parts. */
static void write_tree(FILE *out, const struct plan_network *net, const char *job, const struct plan_share *share)
{
    const struct plan_tree *tree = &share->tree;
    (void)fprintf(out, "\n[[tree]]\njob = \"%s\"\nweight = %u\nroot = \"%s\"\nmulticast = %s\nhops = \"", job,
                  share->weight, net->names.list[tree->root], tree->is_multicast ? "true" : "false");
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        const struct plan_hop *hop = &tree->hops[i];
        (void)fprintf(out, "%s%s%s", i > 0 ? "; " : "", net->names.list[hop->from], hop->adds ? "+" : "");
        for (uint32_t n = 0; n < hop->path_count; n++) {
            const struct plan_path *path = &tree->paths[hop->first_path + n];
            (void)fprintf(out, "%s", n > 0 ? " |" : "");
            if (hop->path_count > 1) {
                (void)fprintf(out, " *%u", path->weight);
            }
            for (uint32_t k = 0; k < path->link_count; k++) {
                (void)fprintf(out, " %s", net->names.list[net->fabric.to[tree->links[path->first_link + k]]]);
            }
        }
        if (hop->path_count == 0) {
            (void)fprintf(out, " ~ %s", net->names.list[hop->to]);
        }
    }
    (void)fputs("\"\n", out);
}

static void write_stage(FILE *out, const struct plan_network *net, const struct plan_stage *stage)
{
    char name[PLAN_ROW_NAME_MAX];
    bool is_first = true;
    (void)fprintf(out, "\n[[stage]]\nlevel_bps = %" PRIu64 "\nbound_bps = %" PRIu64 "\nprices = \"", stage->level_bps,
                  stage->bound_bps);
    for (uint32_t row = 0; row < plan_rows(net); row++) {
        if (stage->prices[row] != 0) {
            plan_row_name(net, row, name);
            (void)fprintf(out, "%s%s %" PRId64, is_first ? "" : " ", name, stage->prices[row]);
            is_first = false;
        }
    }
    (void)fputs("\"\n", out);
}

static void write_plan(FILE *out, const struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs)
{
    (void)fprintf(out,
                  "# A plan of `tributary plan`: docs/PLAN.md says what the keys mean.\n"
                  "network = \"%016" PRIx64 "\"\njobs = \"%016" PRIx64 "\"\nfamily = \"%s\"\npaths = \"%s\"\n"
                  "multicast = %s\n",
                  plan->network_digest, plan->jobs_digest, plan_family_name(plan->family), plan_paths_name(plan->paths),
                  plan->has_multicast ? "true" : "false");
    if (plan->headroom > 0) {
        (void)fprintf(out, "headroom = \"%u%%\"\n", plan->headroom);
    }
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const struct plan_grant *grant = &plan->grants[j];
        (void)fprintf(out,
                      "\n[[job]]\nname = \"%s\"\nrate_bps = %" PRIu64 "\nstage = %u\nlevel_bps = %" PRIu64
                      "\ntrees_wanted = %u\n",
                      jobs->list[j].name, grant->rate_bps, grant->stage + 1, grant->level_bps, grant->wanted);
        for (uint32_t i = 0; i < grant->count; i++) {
            write_tree(out, net, jobs->list[j].name, &grant->shares[i]);
        }
    }
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        write_stage(out, net, &plan->stages[i]);
    }
}

bool plan_write(const struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, const char *path,
                char *error)
{
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        trib_explain(error, "%s cannot be written: %s", path, trib_explain_errno(errno));
        return false;
    }
    write_plan(out, plan, net, jobs);
    bool is_good = ferror(out) == 0;
    is_good = fclose(out) == 0 && is_good;
    if (!is_good) {
        trib_explain(error, "%s could not be written to its end: %s", path, trib_explain_errno(errno));
    }
    return is_good;
}

/* ---- reading ---- */

struct top_table {
    const char *network, *jobs, *family, *paths;
    uint32_t headroom;
    bool has_multicast;
};

struct job_table {
    const char *name;
    uint64_t rate_bps, stage, level_bps, wanted;
};

struct tree_table {
    const char *job, *root, *hops;
    uint32_t weight;
    bool is_multicast;
};

struct stage_table {
    uint64_t level_bps, bound_bps;
    const char *prices;
};

#define TOP(member) offsetof(struct top_table, member)
#define JOB(member) offsetof(struct job_table, member)
#define TREE(member) offsetof(struct tree_table, member)
#define STAGE(member) offsetof(struct stage_table, member)
#define NUMBER "a whole number"

static const struct plan_key keys[] = {
    {"", "network", "a digest in quotes", plan_read_text, TOP(network), true},
    {"", "jobs", "a digest in quotes", plan_read_text, TOP(jobs), true},
    {"", "family", "the name of a family in quotes", plan_read_text, TOP(family), true},
    {"", "paths", "the name of a kind of paths in quotes", plan_read_text, TOP(paths), true},
    {"", "headroom", "a share in quotes", plan_read_percent, TOP(headroom), false},
    {"", "multicast", "true or false", plan_read_flag, TOP(has_multicast), true},
    {"job", "name", "a job's name in quotes", plan_read_text, JOB(name), true},
    {"job", "rate_bps", NUMBER, plan_read_long, JOB(rate_bps), true},
    {"job", "stage", NUMBER, plan_read_long, JOB(stage), true},
    {"job", "level_bps", NUMBER, plan_read_long, JOB(level_bps), true},
    {"job", "trees_wanted", NUMBER, plan_read_long, JOB(wanted), true},
    {"tree", "job", "a job's name in quotes", plan_read_text, TREE(job), true},
    {"tree", "weight", NUMBER, plan_read_count, TREE(weight), true},
    {"tree", "root", "a switch's name in quotes", plan_read_text, TREE(root), true},
    {"tree", "multicast", "true or false", plan_read_flag, TREE(is_multicast), true},
    {"tree", "hops", "paths in quotes: \"leaf0+ spine1; leaf1 spine1\"", plan_read_text, TREE(hops), true},
    {"stage", "level_bps", NUMBER, plan_read_long, STAGE(level_bps), true},
    {"stage", "bound_bps", NUMBER, plan_read_long, STAGE(bound_bps), true},
    {"stage", "prices", "names and prices in quotes", plan_read_text, STAGE(prices), true},
    {.name = NULL},
};

struct reader {
    struct plan_input in;
    struct plan *plan;
    const struct plan_network *net;
    const struct plan_jobs *jobs;
    bool is_by_name;
};

#define REFUSE(r, table, ...) plan_refuse(&(r)->in, (r)->in.toml.tables[table].place, __VA_ARGS__)
#define REFUSE_ALL(r, ...) plan_refuse(&(r)->in, (struct trib_file_place){1, 1}, __VA_ARGS__)

static bool read_digest(const char *text, uint64_t *digest)
{
    char *end = NULL;
    *digest = strtoull(text, &end, 16);
    return end != text && *end == '\0';
}

static bool read_top(struct reader *r)
{
    struct top_table top = {.network = NULL};
    struct plan *plan = r->plan;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (!plan_input_table(&r->in, 0, keys, &top)) {
        return false;
    }
    if (!read_digest(top.network, &plan->network_digest) || !read_digest(top.jobs, &plan->jobs_digest)) {
        return REFUSE_ALL(r, "a digest is a hexadecimal number");
    }
    plan->has_multicast = top.has_multicast;
    plan->headroom = top.headroom;
    plan->family = PLAN_FAMILIES;
    plan->paths = PLAN_PATHS_COUNT;
    for (unsigned i = 0; i < PLAN_FAMILIES; i++) {
        plan->family =
            strcmp(top.family, plan_family_name((enum plan_family)i)) == 0 ? (enum plan_family)i : plan->family;
    }
    for (unsigned i = 0; i < PLAN_PATHS_COUNT; i++) {
        plan->paths = strcmp(top.paths, plan_paths_name((enum plan_paths)i)) == 0 ? (enum plan_paths)i : plan->paths;
    }
    if (plan->family == PLAN_FAMILIES || plan->paths == PLAN_PATHS_COUNT) {
        return REFUSE_ALL(r, "unknown family \"%s\", or paths \"%s\"", top.family, top.paths);
    }
    plan->job_count = r->jobs->count;
    return (plan_check_network(plan, r->net, cause) && (r->is_by_name || plan_check_jobs(plan, r->jobs, cause))) ||
           REFUSE_ALL(r, "%s", cause);
}

static uint32_t find_job(const struct reader *r, const char *name)
{
    uint32_t j = 0;
    while (j < r->jobs->count && strcmp(r->jobs->list[j].name, name) != 0) {
        j++;
    }
    return j;
}

static bool read_job(struct reader *r, uint32_t table)
{
    struct job_table read = {.name = NULL};
    if (!plan_input_table(&r->in, table, keys, &read)) {
        return false;
    }
    uint32_t j = find_job(r, read.name);
    if (j == r->jobs->count || r->plan->grants[j].rate_bps != 0) {
        return REFUSE(r, table,
                      j == r->jobs->count ? "job %s of the plan is not among these jobs: plan again"
                                          : "a second time job %s",
                      read.name);
    }
    if (read.rate_bps == 0 || read.rate_bps > TRIB_LINK_RATE_MAX || read.level_bps == 0 ||
        read.level_bps > TRIB_LINK_RATE_MAX * PLAN_WEIGHT_MAX || read.stage == 0 || read.stage > r->plan->stage_count ||
        read.wanted > UINT32_MAX) {
        return REFUSE(r, table, "job %s: a rate, a level or a stage cannot be", read.name);
    }
    r->plan->grants[j].rate_bps = read.rate_bps;
    r->plan->grants[j].level_bps = read.level_bps;
    r->plan->grants[j].stage = (uint32_t)read.stage - 1;
    r->plan->grants[j].wanted = (uint32_t)read.wanted;
    return true;
}

/* The switch of this name; TRIB_NO_PLACE: there is none. */
static uint32_t find_switch(const struct reader *r, const char *name, size_t len)
{
    uint32_t place = plan_names_find(&r->net->names, name, len);
    return place != PLAN_NO_NAME && place >= r->net->hosts ? place : TRIB_NO_PLACE;
}

/* The next switch of a path. False: there is no such switch, or no link to it. */
static bool read_step(const struct reader *r, struct plan_tree *tree, const char *name, size_t len, uint32_t *at)
{
    uint32_t place = find_switch(r, name, len);
    uint32_t link = place != TRIB_NO_PLACE ? trib_fabric_find(&r->net->fabric, *at, place) : TRIB_NO_LINK;
    if (link == TRIB_NO_LINK) {
        return false;
    }
    if (tree->hops[tree->hop_count - 1].path_count == 0) {
        plan_tree_path(tree, 1, tree->links, 0);
    }
    tree->links[tree->link_count++] = link;
    tree->paths[tree->path_count - 1].link_count++;
    *at = place;
    return true;
}

/* "leaf0+ aggregation1 core3", or with several paths, or with all shortest ones, up to a semicolon or the end. */
static bool read_hop(const struct reader *r, struct plan_tree *tree, const char *text, size_t len)
{
    const char *end = text + len, *at = text + strspn(text, " ");
    size_t word = strcspn(at, " ;");
    bool adds = word > 0 && at[word - 1] == '+', is_spread = false;
    uint32_t from = find_switch(r, at, word - adds), to = from;
    if (at >= end || from == TRIB_NO_PLACE) {
        return false;
    }
    plan_tree_hop(tree, from, from, adds);
    for (at += word, at += strspn(at, " "); at < end; at += word, at += strspn(at, " ")) {
        word = strcspn(at, " ;");
        if (word == 1 && at[0] == '~') {
            is_spread = true;
        } else if (is_spread) {
            bool is_first = to == from;
            to = find_switch(r, at, word);
            if (!is_first || to == TRIB_NO_PLACE) {
                return false;
            }
        } else if (at[0] == '|' || at[0] == '*') {
            char *stop = NULL;
            unsigned long weight = at[0] == '*' ? strtoul(at + 1, &stop, 10) : 1;
            if (at[0] == '*' ? stop != at + word || weight == 0 || weight > UINT8_MAX : word != 1) {
                return false;
            }
            if (at[0] == '|' || tree->hops[tree->hop_count - 1].path_count == 0) {
                to = from;
                plan_tree_path(tree, 1, tree->links, 0);
            }
            tree->paths[tree->path_count - 1].weight = (uint32_t)weight;
        } else if (!read_step(r, tree, at, word, &to)) {
            return false;
        }
    }
    tree->hops[tree->hop_count - 1].to = to;
    return to != TRIB_NO_PLACE;
}

static bool read_hops(struct reader *r, uint32_t table, struct plan_tree *tree, const char *text)
{
    uint32_t hops = 1, words = 1;
    for (const char *at = text; *at != '\0'; at++) {
        hops += *at == ';';
        words += *at == ' ';
    }
    if (!plan_tree_init(tree, hops, hops + words, words)) {
        return REFUSE(r, table, "out of memory");
    }
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, ";");
        if (!read_hop(r, tree, at, len)) {
            return REFUSE(r, table, "\"%.*s\" is not a path of switches in this network", len < 200 ? (int)len : 200,
                          at);
        }
        at += len + (at[len] == ';');
    }
    return true;
}

static bool read_tree(struct reader *r, uint32_t table)
{
    struct tree_table read = {.job = NULL};
    struct plan_tree tree = {.hops = NULL};
    if (!plan_input_table(&r->in, table, keys, &read)) {
        return false;
    }
    uint32_t j = find_job(r, read.job), root = find_switch(r, read.root, strlen(read.root));
    if (j == r->jobs->count || root == TRIB_NO_PLACE) {
        return REFUSE(r, table, "there is no job %s, or no switch %s", read.job, read.root);
    }
    struct plan_grant *grant = &r->plan->grants[j];
    if (grant->count == PLAN_TREES_MAX || read.weight > UINT8_MAX) {
        return REFUSE(r, table, "more than %u trees of job %s, or a weight above 255", PLAN_TREES_MAX, read.job);
    }
    if (!read_hops(r, table, &tree, read.hops)) {
        plan_tree_free(&tree);
        return false;
    }
    tree.job = j;
    tree.root = root;
    tree.is_multicast = read.is_multicast;
    grant->shares[grant->count++] = (struct plan_share){(uint8_t)read.weight, tree};
    r->plan->most = grant->count > r->plan->most ? grant->count : r->plan->most;
    return true;
}

static bool read_stage(struct reader *r, uint32_t table, uint32_t number)
{
    struct stage_table read = {.prices = NULL};
    struct plan_stage *stage = &r->plan->stages[number];
    size_t len = 0;
    if (!plan_input_table(&r->in, table, keys, &read)) {
        return false;
    }
    stage->level_bps = read.level_bps;
    stage->bound_bps = read.bound_bps;
    stage->prices = calloc(plan_rows(r->net) + 1U, sizeof *stage->prices);
    if (stage->prices == NULL || read.level_bps == 0 || read.level_bps > TRIB_LINK_RATE_MAX) {
        return REFUSE(r, table, stage->prices == NULL ? "out of memory" : "a level that cannot be");
    }
    for (const char *at = read.prices, *word; (word = plan_next_word(&at, &len)) != NULL;) {
        char text[TRIB_UNITS_TEXT_MAX] = "";
        uint32_t row = plan_row_find(r->net, word, len);
        size_t name = len;
        const char *digits = plan_next_word(&at, &len);
        uint64_t price = 0;
        if (digits != NULL && len < sizeof text) {
            memcpy(text, digits, len);
        }
        if (row == UINT32_MAX || trib_parse_number(text, 0, (uint64_t)PLAN_PRICE_MAX, &price, NULL) != TRIB_OK) {
            return REFUSE(r, table, "there is no price of %.*s", (int)(name < 200 ? name : 200), word);
        }
        stage->prices[row] = (int64_t)price;
    }
    return true;
}

static bool read_plan(struct reader *r)
{
    struct plan *plan = r->plan;
    uint32_t stages = plan_input_count(&r->in, "stage"), stage = 0;
    if (!read_top(r)) {
        return false;
    }
    plan->grants = calloc(plan->job_count + 1U, sizeof *plan->grants);
    plan->stages = calloc(stages + 1U, sizeof *plan->stages);
    if (plan->grants == NULL || plan->stages == NULL) {
        return REFUSE_ALL(r, "out of memory");
    }
    plan->stage_count = stages;
    for (uint32_t i = 1; i < r->in.toml.table_count; i++) {
        bool is_good = plan_input_is(&r->in, i, "job")     ? read_job(r, i)
                       : plan_input_is(&r->in, i, "tree")  ? read_tree(r, i)
                       : plan_input_is(&r->in, i, "stage") ? read_stage(r, i, stage++)
                                                           : plan_input_table(&r->in, i, keys, NULL);
        if (!is_good) {
            return false;
        }
    }
    for (uint32_t j = 0; j < plan->job_count; j++) {
        if (plan->grants[j].rate_bps == 0) {
            return REFUSE_ALL(r, "the plan has no job %s: plan again with it", r->jobs->list[j].name);
        }
    }
    return true;
}

bool plan_read(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, bool is_by_name,
               const struct trib_toml *toml, char *error)
{
    struct reader r = {.plan = plan, .net = net, .jobs = jobs, .is_by_name = is_by_name};
    *plan = (struct plan){.grants = NULL};
    plan_input_use(&r.in, toml, error);
    return read_plan(&r);
}
