/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c: see pack.h. First trees come from a few rounds of multiplicative weights, which price a row by the load that
 * the trees so far put on it: with them a stage needs a few linear programs, without them dozens. */
#include "plan/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/explain.h"
#include "plan/master.h"

#define ROUNDS 12        /* of multiplicative weights */
#define STEEPNESS 8      /* the fullest row costs e^8 times an empty one */
#define LEAST_LOAD 1e-9  /* of the fullest row: first trees differ less where loads are smaller */
#define REPRICINGS 8     /* of a round, at most */
#define PROGRAMS_MAX 400 /* of a stage */
#define TAKEN 64         /* trees of a program, at least so many of them of each job */
#define TAKEN_EACH 4
#define OPEN_PROGRAMS 8  /* of a cut: new trees are found after so many */
#define LEAST_SHARE 1e-6 /* of a job's rate: a tree with less is none */
#define THIN_ROUNDS 8
#define THIN_LEAST 0.01  /* of a job's level: rates of about so much are small */
#define FIXED_LESS 1e-7  /* of a rate when it is fixed: within the solver's tolerance */
#define FIXED_LEAST 1e-6 /* of rates that do not fit together, less at first and at most */
#define FIXED_MOST 1e-4

enum mode {
    ALL,  /* all trees, and better ones by pricing, until level and bound meet */
    KEPT, /* the kept trees alone */
    OPEN, /* the kept trees, and better ones by pricing: where memory has a limit, at the switches of each job */
};

/* The search with one master program. */
struct search {
    struct plan_pack *pack;
    enum mode mode;
    struct plan_master master;
    uint32_t *tree_of; /* by tree of the program: of the pack */
    uint32_t tree_count, tree_room;
    uint64_t *level;
    int64_t *prices;
    bool needs_level;  /* the program at hand raises the level */
    int64_t *closed;   /* for one job: prices, but the highest for switches at which the job has no memory */
    uint32_t priced;   /* programs after which such trees were found */
    int64_t *limits;   /* by job */
    int64_t *cheapest; /* by job, with hosts' cables */
    struct plan_offer (*offers)[PLAN_OFFERS];
    uint32_t *offer_count;
    struct plan_stage best; /* of the stage at hand: the lowest bound */
    char *error;
};

bool plan_pack_is_late(struct plan_pack *pack)
{
    bool is_late = pack->is_late != NULL && pack->is_late(pack->user);
    pack->is_early = pack->is_early || is_late;
    return is_late;
}

/* ---- progress ---- */

/* For progress. */
static void tell_step(struct search *s)
{
    struct plan_step *step = &s->pack->step;
    step->is_cut = s->mode != ALL;
    step->bound_bps = s->best.bound_bps;
    step->left = 0;
    for (uint32_t j = 0; s->level != NULL && j < s->pack->jobs->count; j++) {
        step->left += s->level[j] == 0;
    }
    step->level_bps = s->needs_level ? plan_master_level(&s->master) : step->level_bps;
}

static bool is_over(struct search *s)
{
    tell_step(s);
    return s->pack->is_over != NULL && s->pack->is_over(s->pack->user, &s->pack->step);
}

/* ERR_ABORTED: it is. */
static enum trib_status check_over(struct search *s)
{
    if (!is_over(s)) {
        return TRIB_OK;
    }
    trib_explain(s->error, "interrupted: there is no plan");
    return TRIB_ERR_ABORTED;
}

/* ---- trees ---- */

static bool is_same_load(const struct plan_tree *a, const struct plan_tree *b)
{
    return a->job == b->job && a->load_count == b->load_count &&
           memcmp(a->loads, b->loads, a->load_count * sizeof *a->loads) == 0;
}

/* Makes room for one more tree. */
static bool make_room(struct plan_pack *pack)
{
    if (pack->tree_count < pack->tree_room) {
        return true;
    }
    uint32_t room = 2 * pack->tree_room + 64;
    struct plan_tree *trees = realloc(pack->trees, room * sizeof *trees);
    if (trees == NULL) {
        return false;
    }
    pack->trees = trees;
    bool *kept = realloc(pack->kept, room * sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    pack->kept = kept;
    double *rates = realloc(pack->rates, room * sizeof *rates);
    if (rates == NULL) {
        return false;
    }
    pack->rates = rates;
    pack->tree_room = room;
    return true;
}

enum trib_status plan_pack_keep(struct plan_pack *pack, struct plan_tree *tree, uint32_t *number)
{
    for (uint32_t i = pack->tree_count; i-- > 0;) {
        if (is_same_load(&pack->trees[i], tree) &&
            (!pack->has_memory || plan_tree_has_adders_of(&pack->trees[i], tree))) {
            plan_tree_free(tree);
            *number = i;
            return TRIB_OK;
        }
    }
    if (!make_room(pack)) {
        plan_tree_free(tree);
        return TRIB_ERR_MEMORY;
    }
    *number = pack->tree_count++;
    pack->kept[*number] = false;
    pack->rates[*number] = 0;
    pack->trees[*number] = *tree;
    return TRIB_OK;
}

/* Adds the tree with this number to the program. */
static enum trib_status use_tree(struct search *s, uint32_t number)
{
    if (s->tree_count == s->tree_room) {
        uint32_t room = 2 * s->tree_room + 64;
        uint32_t *list = realloc(s->tree_of, room * sizeof *list);
        if (list == NULL) {
            return TRIB_ERR_MEMORY;
        }
        s->tree_of = list;
        s->tree_room = room;
    }
    s->tree_of[s->tree_count++] = number;
    return plan_master_add(&s->master, &s->pack->trees[number]);
}

static bool is_used(const struct search *s, uint32_t number)
{
    uint32_t i = s->tree_count;
    while (i > 0 && s->tree_of[i - 1] != number) {
        i--;
    }
    return i > 0;
}

/* Makes the tree of an offer, and adds it to the program if it is new there and the job may use its switches. */
static enum trib_status take_offer(struct search *s, uint32_t job, const struct plan_offer *offer, uint32_t *taken)
{
    struct plan_pack *pack = s->pack;
    struct plan_tree tree;
    uint32_t number = 0;
    if (!plan_price_tree(pack->pricer, job, offer, &tree)) {
        return TRIB_ERR_MEMORY;
    }
    enum trib_status status = plan_pack_keep(pack, &tree, &number);
    if (status != TRIB_OK || is_used(s, number)) {
        return status;
    }
    if (s->mode == OPEN && pack->has_memory && !plan_memory_is_open(&pack->memory, &pack->trees[number])) {
        return status;
    }
    (*taken)++;
    return use_tree(s, number);
}

/* ---- first trees ---- */

void plan_pack_price(const struct plan_pack *pack, const double *load, double least, int64_t *prices)
{
    const struct plan_network *net = pack->net;
    double most = 0, top = 0;
    uint32_t rows = plan_rows(net) - net->hosts;
    for (uint32_t row = 0; row < rows; row++) {
        most = fmax(most, load[row]);
    }
    bool is_empty = most <= 0;
    most = fmax(most, least);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t row = 0; row < rows; row++) {
            uint64_t capacity = plan_capacity(net, row);
            if (capacity == 0 || capacity == UINT64_MAX) {
                prices[row] = 0;
                continue;
            }
            double price = (is_empty ? 1 : exp(STEEPNESS * (load[row] / most - 1))) / (double)capacity;
            top = pass == 0 ? fmax(top, price) : top;
            prices[row] = pass == 0 ? 0 : (int64_t)llround(price / top * (double)PLAN_PRICE_MAX);
        }
    }
    memset(prices + rows, 0, net->hosts * sizeof *prices);
}

void plan_pack_load(const struct plan_pack *pack, const struct plan_tree *tree, double rate, double *load)
{
    for (uint32_t k = 0; k < tree->load_count; k++) {
        load[tree->loads[k].row] += plan_part_of(pack, &tree->loads[k], rate);
    }
}

static enum trib_status seed(struct search *s)
{
    struct plan_pack *pack = s->pack;
    const struct plan_jobs *jobs = pack->jobs;
    double *load = calloc(plan_rows(pack->net) + 1U, sizeof *load);
    enum trib_status status = load != NULL ? TRIB_OK : TRIB_ERR_MEMORY;
    uint32_t each = (jobs->count + REPRICINGS - 1) / REPRICINGS;
    for (uint32_t i = 0; status == TRIB_OK && i < ROUNDS * jobs->count; i++) {
        uint32_t job = i % jobs->count;
        struct plan_offer offers[PLAN_OFFERS];
        struct plan_tree tree;
        uint32_t number = 0;
        if (job % each == 0) {
            plan_pack_price(pack, load, LEAST_LOAD, s->prices);
            plan_pricer_set(pack->pricer, s->prices);
        }
        (void)plan_price(pack->pricer, job, offers);
        if (!plan_price_tree(pack->pricer, job, &offers[0], &tree)) {
            status = TRIB_ERR_MEMORY;
            break;
        }
        plan_pack_load(pack, &tree, jobs->list[job].weight, load);
        status = plan_pack_keep(pack, &tree, &number);
        status = status == TRIB_OK ? check_over(s) : status;
        if (i + 1 >= jobs->count && plan_pack_is_late(pack)) {
            break;
        }
    }
    free(load);
    return status;
}

/* Trees to each root over all shortest paths: without them a packing grows by one path of each leaf at a time. */
static enum trib_status seed_spread(struct search *s)
{
    struct plan_pack *pack = s->pack;
    enum trib_status status = TRIB_OK;
    for (uint32_t i = 0;
         i < 2 * pack->jobs->count * pack->net->switches && status == TRIB_OK && !plan_pack_is_late(pack); i++) {
        struct plan_tree tree;
        bool is_there = false;
        uint32_t number = 0, job = i / 2 / pack->net->switches, root = i / 2 % pack->net->switches;
        if (!plan_price_spread(pack->pricer, job, root, i % 2 != 0, &tree, &is_there)) {
            status = TRIB_ERR_MEMORY;
        } else if (is_there) {
            status = plan_pack_keep(pack, &tree, &number);
        }
        status = status == TRIB_OK ? check_over(s) : status;
    }
    return status;
}

/* ---- a stage ---- */

/* Prices all jobs; a lower bound than the stage's is kept, with its prices. */
static void improve_bound(struct search *s)
{
    struct plan_pack *pack = s->pack;
    plan_pricer_set(pack->pricer, s->prices);
    for (uint32_t j = 0; j < pack->jobs->count; j++) {
        s->offer_count[j] = plan_price(pack->pricer, j, s->offers[j]);
        s->cheapest[j] = plan_bound_price(pack->net, &pack->jobs->list[j], s->offers[j][0].price, s->prices);
    }
    uint64_t bound = plan_bound(pack->net, pack->jobs, s->prices, s->cheapest, s->level);
    if (bound < s->best.bound_bps) {
        s->best.bound_bps = bound;
        memcpy(s->best.prices, s->prices, plan_rows(pack->net) * sizeof *s->prices);
    }
}

/* The bound of a stage that ends early: at the program's prices, if the stage began in time, and at prices that grow
 * with the loads of the solution. Far from the best packing the latter is lower: the program's prices are those of few
 * links, past which jobs have cheap trees. */
static enum trib_status bound_late(struct search *s, bool was_late)
{
    struct plan_pack *pack = s->pack;
    double *load = calloc(plan_rows(pack->net) + 1U, sizeof *load);
    if (load == NULL) {
        return TRIB_ERR_MEMORY;
    }
    if (!was_late) {
        plan_master_prices(&s->master, s->prices, s->limits);
        improve_bound(s);
    }
    for (uint32_t i = 0; i < s->tree_count; i++) {
        plan_pack_load(pack, &pack->trees[s->tree_of[i]], fmax(0, plan_master_rate(&s->master, i)), load);
    }
    plan_pack_price(pack, load, LEAST_LOAD, s->prices);
    free(load);
    improve_bound(s);
    return TRIB_OK;
}

/* Adds a job's offers that are worth it: few of each of many jobs, more of each of few. */
static enum trib_status take_offers_of(struct search *s, uint32_t job, uint32_t *taken)
{
    struct plan_pack *pack = s->pack;
    uint32_t each = TAKEN / pack->jobs->count > TAKEN_EACH ? TAKEN / pack->jobs->count : TAKEN_EACH;
    enum trib_status status = TRIB_OK;
    for (uint32_t i = 0; i < s->offer_count[job] && i < each && s->offers[job][i].price < s->limits[job]; i++) {
        status = status == TRIB_OK ? take_offer(s, job, &s->offers[job][i], taken) : status;
    }
    return status;
}

static enum trib_status take_offers(struct search *s, uint32_t *taken)
{
    enum trib_status status = TRIB_OK;
    *taken = 0;
    for (uint32_t j = 0; j < s->pack->jobs->count && status == TRIB_OK; j++) {
        status = take_offers_of(s, j, taken);
    }
    return status;
}

/* Prices all jobs and adds offers: if memory has a limit, of trees at the switches that each job has. */
static enum trib_status take_open(struct search *s, uint32_t *taken)
{
    struct plan_pack *pack = s->pack;
    const struct plan_network *net = pack->net;
    enum trib_status status = TRIB_OK;
    *taken = 0;
    s->priced++;
    for (uint32_t j = 0; j < pack->jobs->count && status == TRIB_OK; j++) {
        memcpy(s->closed, s->prices, plan_rows(net) * sizeof *s->prices);
        for (uint32_t place = net->hosts; pack->has_memory && place < net->hosts + net->switches; place++) {
            int64_t *price = &s->closed[plan_row_of_adder(net, place)];
            *price = plan_memory_has(&pack->memory, j, place) ? *price : PLAN_PRICE_MAX;
        }
        plan_pricer_set(pack->pricer, s->closed);
        s->offer_count[j] = plan_price(pack->pricer, j, s->offers[j]);
        status = take_offers_of(s, j, taken);
    }
    return status;
}

/* Adds trees that the last solution's prices lead to. *taken: how many; 0: the level is good enough. */
static enum trib_status find_better(struct search *s, double level, uint32_t *taken)
{
    *taken = 0;
    if (s->mode == KEPT || (s->mode == OPEN && s->priced == OPEN_PROGRAMS)) {
        return TRIB_OK;
    }
    plan_master_prices(&s->master, s->prices, s->limits);
    if (s->mode == OPEN) {
        return take_open(s, taken);
    }
    improve_bound(s);
    return (double)s->best.bound_bps <= level * (1 + PLAN_GAP) ? TRIB_OK : take_offers(s, taken);
}

/* Of a program that takes long: is its solution so far good enough? */
static bool is_enough(void *user)
{
    struct search *s = user;
    return is_over(s) || (plan_pack_is_late(s->pack) && trib_lp_fits(s->master.lp) &&
                          (!s->needs_level || plan_master_level(&s->master) > 0));
}

/* Solves the program. By the solver's tolerance fixed rates may not fit together; then they become a little less.
 * ERR_TIMEOUT: it is late, and there is the solution so far. */
static enum trib_status solve(struct search *s)
{
    trib_lp_watch(s->master.lp, is_enough, s);
    enum trib_status status = trib_lp_solve(s->master.lp, s->error);
    s->pack->step.solved++;
    for (double less = FIXED_LEAST;
         s->needs_level && status != TRIB_OK && status != TRIB_ERR_TIMEOUT && less <= FIXED_MOST; less *= 10) {
        for (uint32_t j = 0; j < s->pack->jobs->count; j++) {
            if (s->level[j] != 0) {
                plan_master_fix(&s->master, j, (uint64_t)((double)s->level[j] * (1 - less)));
            }
        }
        status = trib_lp_solve(s->master.lp, s->error);
    }
    enum trib_status over = check_over(s);
    return over != TRIB_OK ? over : status;
}

/* Raises the level of all jobs that are left, and its bound falls, until they meet. */
static enum trib_status raise(struct search *s, double *level)
{
    struct plan_pack *pack = s->pack;
    bool was_late = plan_pack_is_late(pack);
    s->best.bound_bps = PLAN_NO_BOUND;
    s->needs_level = true;
    for (uint32_t i = 0; i < PROGRAMS_MAX; i++) {
        uint32_t taken = 0;
        enum trib_status status = solve(s);
        if (status != TRIB_OK && status != TRIB_ERR_TIMEOUT) {
            return status;
        }
        *level = plan_master_level(&s->master);
        if (plan_pack_is_late(pack)) {
            return s->mode == ALL ? bound_late(s, was_late) : TRIB_OK;
        }
        status = find_better(s, *level, &taken);
        if (status != TRIB_OK || taken == 0) {
            return status;
        }
    }
    return TRIB_OK;
}

/* Whole, and no more than its bound, which the solver's tolerance might exceed. */
static uint64_t level_bps(const struct search *s, double level)
{
    uint64_t bps = (uint64_t)fmax(1, level * (1 - FIXED_LESS));
    return s->mode == ALL && bps > s->best.bound_bps ? s->best.bound_bps : bps;
}

/* Fixes the jobs that can have no more: those that the level's price depends on. */
static void fix_jobs(struct search *s, double level, uint32_t *left)
{
    struct plan_pack *pack = s->pack;
    double least = fmax(1e-6, 0.02 / *left), most = -HUGE_VAL; /* at least one is fixed, whatever the tolerance */
    uint64_t bps = level_bps(s, level);
    for (uint32_t j = 0; j < pack->jobs->count; j++) {
        most = s->level[j] == 0 ? fmax(most, plan_master_part(&s->master, j)) : most;
    }
    least = fmin(least, most);
    for (uint32_t j = 0; j < pack->jobs->count; j++) {
        if (s->level[j] == 0 && plan_master_part(&s->master, j) >= least) {
            s->level[j] = bps * pack->jobs->list[j].weight;
            pack->stage_of[j] = s->mode == ALL ? pack->stage_count : pack->stage_of[j];
            plan_master_fix(&s->master, j, s->level[j]);
            (*left)--;
        }
    }
}

static enum trib_status keep_stage(struct search *s, double level)
{
    struct plan_pack *pack = s->pack;
    size_t rows = plan_rows(pack->net);
    struct plan_stage *stage = &pack->stages[pack->stage_count];
    *stage = (struct plan_stage){.level_bps = level_bps(s, level),
                                 .bound_bps = s->best.bound_bps,
                                 .prices = calloc(rows + 1, sizeof *stage->prices)};
    if (stage->prices == NULL) {
        return TRIB_ERR_MEMORY;
    }
    memcpy(stage->prices, s->best.prices, rows * sizeof *stage->prices);
    pack->stage_count++;
    return TRIB_OK;
}

static enum trib_status run_stages(struct search *s)
{
    enum trib_status status = TRIB_OK;
    for (uint32_t left = s->pack->jobs->count; left > 0 && status == TRIB_OK;) {
        double level = 0;
        status = raise(s, &level);
        if (status == TRIB_OK) {
            fix_jobs(s, level, &left);
            status = s->mode == ALL ? keep_stage(s, level) : TRIB_OK;
        }
    }
    return status;
}

/* ---- the search ---- */

static bool begin(struct search *s)
{
    const struct plan_pack *pack = s->pack;
    size_t rows = plan_rows(pack->net), jobs = pack->jobs->count;
    s->best.bound_bps = PLAN_NO_BOUND;
    s->prices = calloc(rows + 1, sizeof *s->prices);
    s->best.prices = calloc(rows + 1, sizeof *s->best.prices);
    s->closed = calloc(rows + 1, sizeof *s->closed);
    s->limits = calloc(jobs + 1, sizeof *s->limits);
    s->cheapest = calloc(jobs + 1, sizeof *s->cheapest);
    s->offers = calloc(jobs + 1, sizeof *s->offers);
    s->offer_count = calloc(jobs + 1, sizeof *s->offer_count);
    return s->prices && s->closed && s->best.prices && s->limits && s->cheapest && s->offers && s->offer_count &&
           plan_master_init(&s->master, pack->net, pack->jobs);
}

static void end(struct search *s)
{
    plan_master_free(&s->master);
    free(s->tree_of);
    free(s->prices);
    free(s->closed);
    free(s->best.prices);
    free(s->limits);
    free(s->cheapest);
    free(s->offers);
    free(s->offer_count);
}

static void keep_rates(struct search *s)
{
    memset(s->pack->rates, 0, s->pack->tree_count * sizeof *s->pack->rates);
    for (uint32_t i = 0; i < s->tree_count; i++) {
        s->pack->rates[s->tree_of[i]] = fmax(0, plan_master_rate(&s->master, i));
    }
}

/* Of all ways to keep the levels finds the one with the least time of links; else the rates that there are stay. */
static enum trib_status settle(struct search *s)
{
    plan_master_settle(&s->master);
    s->needs_level = false;
    enum trib_status status = solve(s);
    if (status == TRIB_OK) {
        keep_rates(s);
    }
    return status == TRIB_ERR_ABORTED ? status : TRIB_OK;
}

/* Finds the rates of all trees, and the jobs' levels. */
static enum trib_status search(struct plan_pack *pack, enum mode mode, uint64_t *level, char *error)
{
    struct search s = {.pack = pack, .mode = mode, .level = level, .error = error};
    enum trib_status status = begin(&s) ? TRIB_OK : TRIB_ERR_MEMORY;
    memset(level, 0, pack->jobs->count * sizeof *level);
    if (status == TRIB_OK && mode == ALL) {
        status = seed(&s);
        bool has_mixtures = pack->pricer->family != PLAN_SKELETONS && pack->net->paths != PLAN_PINNED;
        status = status == TRIB_OK && has_mixtures ? seed_spread(&s) : status;
    }
    for (uint32_t i = 0; i < pack->tree_count && status == TRIB_OK; i++) {
        if (mode == ALL || pack->kept[i]) {
            status = use_tree(&s, i);
        }
    }
    status = status == TRIB_OK ? run_stages(&s) : status;
    if (status == TRIB_OK) {
        keep_rates(&s);
    }
    if (status == TRIB_OK && !plan_pack_is_late(pack)) {
        status = settle(&s);
    }
    end(&s);
    if (status == TRIB_ERR_MEMORY) {
        trib_explain(error, "out of memory");
    }
    return status;
}

enum trib_status plan_pack_solve(struct plan_pack *pack, char *error)
{
    if (!trib_lp_is_there()) {
        trib_explain(error, "%s", trib_lp_explain_lack());
        return TRIB_ERR_UNSUPPORTED;
    }
    return search(pack, ALL, pack->level, error);
}

/* ---- few trees ---- */

uint32_t plan_pack_list(const struct plan_pack *pack, uint32_t job, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pack->tree_count; i++) {
        if (pack->trees[i].job != job || pack->rates[i] <= LEAST_SHARE * (double)pack->level[job]) {
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && pack->rates[list[at - 1]] < pack->rates[i]; at--) {
            list[at] = list[at - 1];
        }
        list[at] = i;
    }
    return count;
}

/* By tree: the first one that it merges with, or itself. */
static void find_groups(const struct plan_pack *pack, uint32_t *group)
{
    for (uint32_t i = 0; i < pack->tree_count; i++) {
        uint32_t first = 0;
        while (first < i && (group[first] != first || pack->trees[first].job != pack->trees[i].job ||
                             !plan_tree_is_alike(&pack->trees[first], &pack->trees[i]))) {
            first++;
        }
        group[i] = first;
    }
}

static enum trib_status thin(struct search *s, double share, const uint32_t *group, double *sum)
{
    struct plan_pack *pack = s->pack;
    enum trib_status status = TRIB_OK;
    for (uint32_t i = 0; i < pack->tree_count && status == TRIB_OK; i++) {
        status = use_tree(s, i);
    }
    for (uint32_t j = 0; j < pack->jobs->count; j++) {
        plan_master_fix(&s->master, j, (uint64_t)((double)pack->level[j] * share));
    }
    plan_master_settle(&s->master);
    for (uint32_t round = 0; round < THIN_ROUNDS && status == TRIB_OK; round++) {
        memset(sum, 0, pack->tree_count * sizeof *sum);
        for (uint32_t i = 0; i < pack->tree_count; i++) {
            sum[group[i]] += pack->rates[i];
        }
        for (uint32_t i = 0; i < pack->tree_count; i++) {
            double level = (double)pack->level[pack->trees[i].job];
            plan_master_cost(&s->master, i, 1 / (sum[group[i]] / level + THIN_LEAST));
        }
        status = solve(s);
        if (status == TRIB_OK) {
            keep_rates(s);
        }
    }
    return status;
}

enum trib_status plan_pack_thin(struct plan_pack *pack, double share, char *error)
{
    struct search s = {.pack = pack, .mode = KEPT, .error = error};
    uint32_t *group = calloc(pack->tree_count + 1U, sizeof *group);
    double *sum = calloc(pack->tree_count + 1U, sizeof *sum);
    enum trib_status status = group != NULL && sum != NULL && begin(&s) ? TRIB_OK : TRIB_ERR_MEMORY;
    if (status == TRIB_OK) {
        find_groups(pack, group);
        status = thin(&s, share, group, sum);
    }
    end(&s);
    free(group);
    free(sum);
    return status;
}

enum trib_status plan_pack_cut(struct plan_pack *pack, bool is_open, uint64_t *levels, char *error)
{
    return search(pack, is_open ? OPEN : KEPT, levels, error);
}

bool plan_pack_init(struct plan_pack *pack, struct plan_pricer *pricer)
{
    uint32_t jobs = pricer->jobs->count;
    *pack = (struct plan_pack){.pricer = pricer,
                               .net = pricer->net,
                               .jobs = pricer->jobs,
                               .stages = calloc(jobs + 1U, sizeof *pack->stages),
                               .has_memory = plan_memory_is_limited(pricer->net),
                               .order = calloc(jobs + 1U, sizeof *pack->order),
                               .stage_of = calloc(jobs + 1U, sizeof *pack->stage_of),
                               .level = calloc(jobs + 1U, sizeof *pack->level)};
    for (uint32_t j = 0; pack->order != NULL && j < jobs; j++) {
        pack->order[j] = j;
    }
    return pack->stages != NULL && pack->order != NULL && pack->stage_of != NULL && pack->level != NULL;
}

void plan_pack_free(struct plan_pack *pack)
{
    for (uint32_t i = 0; i < pack->tree_count; i++) {
        plan_tree_free(&pack->trees[i]);
    }
    for (uint32_t i = 0; i < pack->stage_count; i++) {
        free(pack->stages[i].prices);
    }
    free(pack->trees);
    free(pack->kept);
    free(pack->rates);
    free(pack->stages);
    plan_memory_free(&pack->memory);
    free(pack->order);
    free(pack->stage_of);
    free(pack->level);
    *pack = (struct plan_pack){.pricer = NULL};
}
