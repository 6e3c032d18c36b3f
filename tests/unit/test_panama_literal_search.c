/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama_literal_search.c: every schedule of small worlds of the published PANAMA, two operations one after the
 * other, with a few faults at any moment. What can come of it is the table at the end: all right, a wait for ever, a
 * wrong sum. Links keep the order, as the paper has it. */
#define TREES_MAX 2
#define NODE_BYTES 6144
#include "panama_literal_world.h"

#define DEPTH_MAX 256

enum fault { LOST_UP = 0, LOST_DOWN, DOUBLED, EARLY, RESTART, FAULTS };

/* What a world can come to. */
enum end { RIGHT = 1 << 0, HUNG = 1 << 1, WRONG = 1 << 2 };

struct search {
    uint8_t budget[FAULTS];
    bool has_timers; /* what has no result is sent again in the end, and before it where EARLY says so */
    uint32_t ends;   /* enum end, or-ed */
    uint64_t *seen;  /* digests of states, 0: free */
    size_t room, states;
    uint32_t depth;
    struct world *next[DEPTH_MAX]; /* one for each step of the path, made when it is first needed */
};

/* ---- states that were seen ---- */

static uint64_t mix(uint64_t digest, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    assert_int_equal(len % 4, 0);
    for (; len != 0; len -= 4, at += 4) {
        uint32_t word;
        memcpy(&word, at, 4);
        digest = trib_mix64(digest ^ word);
    }
    return digest;
}

static uint64_t digest_of(const struct world *world, const struct search *search)
{
    uint64_t digest = mix(0, world->done, sizeof world->done);

    for (uint32_t fault = 0; fault < FAULTS; fault++) {
        digest = trib_mix64(digest ^ search->budget[fault]);
    }
    for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
        digest = mix(digest, world->worker[rank], worker_verbs(world)->node.state_size(world->worker[rank]));
        for (uint32_t tree = 0; tree < world->shape.trees; tree++) {
            const struct link *up = &world->up[rank][tree], *down = &world->down[rank][tree];
            digest = mix(digest ^ up->count, up->at, up->count * sizeof up->at[0]);
            digest = mix(digest ^ down->count, down->at, down->count * sizeof down->at[0]);
        }
    }
    for (uint32_t tree = 0; tree < world->shape.trees; tree++) {
        const void *node = world->accelerator[tree];
        digest = mix(digest, node, switch_verbs(world)->node.state_size(node));
    }
    return digest | 1;
}

static bool insert(uint64_t *seen, size_t room, uint64_t digest)
{
    size_t at = digest % room;

    while (seen[at] != 0 && seen[at] != digest) {
        at = at + 1 == room ? 0 : at + 1;
    }
    bool is_new = seen[at] == 0;
    seen[at] = digest;
    return is_new;
}

static bool is_new(struct search *search, uint64_t digest)
{
    if (search->states * 2 >= search->room) {
        size_t room = search->room == 0 ? 1024 : search->room * 4;
        uint64_t *seen = calloc(room, sizeof *seen);
        assert_non_null(seen);
        for (size_t at = 0; at < search->room; at++) {
            if (search->seen[at] != 0) {
                (void)insert(seen, room, search->seen[at]);
            }
        }
        free(search->seen);
        search->seen = seen;
        search->room = room;
    }
    bool it_is = insert(search->seen, search->room, digest);
    search->states += it_is;
    return it_is;
}

/* ---- what can happen ---- */

static void explore(struct search *search, const struct world *world);

static void go_on(struct search *search, const struct world *next)
{
    assert_int_equal(next->delivered, 0); /* the lane has seen it, whatever it was */
    if (next->wrong != 0) {
        search->ends |= WRONG;
    } else {
        explore(search, next);
    }
}

static bool spend(struct search *search, enum fault fault)
{
    if (search->budget[fault] == 0) {
        return false;
    }
    search->budget[fault]--;
    return true;
}

static void explore_up(struct search *search, const struct world *world, struct world *next, uint32_t rank,
                       uint32_t tree)
{
    *next = *world;
    (void)arrives(next, rank, tree);
    go_on(search, next);
    if (spend(search, LOST_UP)) {
        *next = *world;
        drop(&next->up[rank][tree]);
        go_on(search, next);
        search->budget[LOST_UP]++;
    }
    if (spend(search, DOUBLED)) {
        *next = *world;
        struct link *link = &next->up[rank][tree];
        struct parcel copy = link->at[0];
        (void)arrives(next, rank, tree);
        memmove(&link->at[1], &link->at[0], link->count++ * sizeof link->at[0]);
        link->at[0] = copy;
        go_on(search, next);
        search->budget[DOUBLED]++;
    }
}

static void explore_down(struct search *search, const struct world *world, struct world *next, uint32_t rank,
                         uint32_t tree)
{
    *next = *world;
    (void)returns(next, rank, tree);
    go_on(search, next);
    if (spend(search, LOST_DOWN)) {
        *next = *world;
        drop(&next->down[rank][tree]);
        go_on(search, next);
        search->budget[LOST_DOWN]++;
    }
}

static void explore_timer(struct search *search, const struct world *world, struct world *next, uint32_t rank)
{
    if (has_timer(world, rank) && spend(search, EARLY)) {
        *next = *world;
        times_out(next, rank);
        go_on(search, next);
        search->budget[EARLY]++;
    }
}

static void explore_restart(struct search *search, const struct world *world, struct world *next, uint32_t tree)
{
    if (spend(search, RESTART)) {
        *next = *world;
        struct trib_session_config session = session_of(&world->shape);
        open_accelerator(next, tree, &session);
        go_on(search, next);
        search->budget[RESTART]++;
    }
}

/* Nothing is on its way. */
static void finish(struct search *search, const struct world *world, struct world *next)
{
    *next = *world;
    bool is_done = search->has_timers ? recovers(next) : is_over(next);
    search->ends |= next->wrong != 0 ? WRONG : is_done ? RIGHT : HUNG;
}

static struct world *next_world(struct search *search)
{
    assert_true(search->depth < DEPTH_MAX);
    if (search->next[search->depth] == NULL) {
        search->next[search->depth] = aligned_alloc(64, sizeof(struct world));
        assert_non_null(search->next[search->depth]);
    }
    return search->next[search->depth++];
}

static void explore(struct search *search, const struct world *world)
{
    bool is_quiet = true;

    if (!is_new(search, digest_of(world, search))) {
        return;
    }
    struct world *next = next_world(search);
    for (uint32_t tree = 0; tree < world->shape.trees; tree++) {
        for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
            if (world->up[rank][tree].count != 0) {
                is_quiet = false;
                explore_up(search, world, next, rank, tree);
            }
            if (world->down[rank][tree].count != 0) {
                is_quiet = false;
                explore_down(search, world, next, rank, tree);
            }
        }
        explore_restart(search, world, next, tree);
    }
    for (uint32_t rank = 0; rank < world->shape.ranks && search->has_timers; rank++) {
        explore_timer(search, world, next, rank);
    }
    if (is_quiet) {
        finish(search, world, next);
    }
    search->depth--;
}

/* ---- what comes of it ---- */

struct row {
    uint32_t ranks, trees, fragments;
    bool has_miss, has_timers;
    uint8_t budget[FAULTS];
    uint32_t ends;
};

static const char *name_of(uint32_t ends)
{
    static const char *const names[] = {"nothing", "right",        "hung",        "right, hung",
                                        "wrong",   "right, wrong", "hung, wrong", "right, hung, wrong"};
    return names[ends];
}

static void look(const struct row *row)
{
    struct shape shape = {.has_miss = row->has_miss,
                          .ranks = row->ranks,
                          .trees = row->trees,
                          .slots = 4,
                          .operations = 2,
                          .fragments = row->fragments};
    struct search search = {.has_timers = row->has_timers};
    struct world *world = aligned_alloc(64, sizeof *world);

    assert_non_null(world);
    memcpy(search.budget, row->budget, sizeof search.budget);
    open_world(world, &shape);
    explore(&search, world);
    for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
        free(search.next[depth]);
    }
    free(search.seen);
    free(world);
    print_message("%s, %s, %u ranks, %u trees, %u fragments, lost up %u, down %u, doubled %u, early %u, restarts %u: "
                  "%s (%zu states)\n",
                  row->has_miss ? "MISS" : "as printed", row->has_timers ? "resends" : "no resends", row->ranks,
                  row->trees, row->fragments, row->budget[LOST_UP], row->budget[LOST_DOWN], row->budget[DOUBLED],
                  row->budget[EARLY], row->budget[RESTART], name_of(search.ends), search.states);
    assert_string_equal(name_of(search.ends), name_of(row->ends));
}

/* The same of two ranks with one tree, and each of these numbers of fragments. */
static void look_at(struct row row, uint32_t from, uint32_t to)
{
    row.ranks = 2;
    row.trees = 1;
    for (row.fragments = from; row.fragments <= to; row.fragments++) {
        look(&row);
    }
}

static void search__without_faults_all_is_right(void **state)
{
    (void)state;
    for (int has_miss = 0; has_miss < 2; has_miss++) {
        for (uint32_t fragments = 1; fragments <= 4; fragments++) {
            look(&(struct row){2, 1, fragments, has_miss != 0, true, .ends = RIGHT});
            look(&(struct row){2, 2, fragments, has_miss != 0, true, .ends = RIGHT});
        }
        look(&(struct row){3, 2, 3, has_miss != 0, true, .ends = RIGHT});
    }
}

/* Where nothing is sent again a loss, or a restart, is a wait for ever, and never a wrong sum. */
static void search__without_resends_a_loss_is_a_hang(void **state)
{
    (void)state;
    look_at((struct row){.budget = {[LOST_UP] = 1}, .ends = RIGHT | HUNG}, 1, 4);
    look_at((struct row){.budget = {[LOST_DOWN] = 1}, .ends = RIGHT | HUNG}, 1, 4);
    look_at((struct row){.budget = {[LOST_UP] = 2, [LOST_DOWN] = 2}, .ends = RIGHT | HUNG}, 1, 3);
    look_at((struct row){.budget = {[RESTART] = 1}, .ends = RIGHT | HUNG}, 1, 3);
}

/* With the simple timeout what comes twice is taken for a part of the next operation. Even the smallest worlds show
 * it. */
static void search__a_loss_and_resends_make_a_wrong_sum(void **state)
{
    (void)state;
    look_at((struct row){.has_timers = true, .budget = {[LOST_UP] = 1}, .ends = RIGHT | WRONG}, 1, 1);
    look_at((struct row){.has_timers = true, .budget = {[LOST_UP] = 1}, .ends = RIGHT | HUNG | WRONG}, 2, 4);
    look_at((struct row){.has_timers = true, .budget = {[LOST_DOWN] = 1}, .ends = RIGHT | HUNG | WRONG}, 1, 4);
    look_at((struct row){.has_timers = true, .budget = {[RESTART] = 1}, .ends = RIGHT | WRONG}, 1, 1);
    look_at((struct row){.has_timers = true, .budget = {[RESTART] = 1}, .ends = RIGHT | HUNG | WRONG}, 2, 3);
}

/* No fault at all but a rank that is late: the others' timers end before its packets come. */
static void search__a_late_rank_and_resends_make_a_wrong_sum(void **state)
{
    (void)state;
    look_at((struct row){.has_timers = true, .budget = {[EARLY] = 1}, .ends = RIGHT | WRONG}, 1, 2);
    look_at((struct row){.has_timers = true, .budget = {[EARLY] = 1}, .ends = RIGHT | HUNG | WRONG}, 3, 4);
}

static void search__a_double_makes_a_wrong_sum(void **state)
{
    (void)state;
    look_at((struct row){.budget = {[DOUBLED] = 1}, .ends = RIGHT | WRONG}, 1, 1);
    look_at((struct row){.budget = {[DOUBLED] = 1}, .ends = RIGHT | HUNG | WRONG}, 2, 4);
    look_at((struct row){.has_timers = true, .budget = {[DOUBLED] = 1}, .ends = RIGHT | HUNG | WRONG}, 2, 3);
}

/* With MISS no loss on the way up hangs, if what is sent last is sent again; but that can still come too late. */
static void search__miss_and_resends_end_but_not_always_right(void **state)
{
    (void)state;
    look_at((struct row){.has_miss = true, .budget = {[LOST_UP] = 1}, .ends = RIGHT | HUNG}, 1, 3);
    look_at((struct row){.has_miss = true, .has_timers = true, .budget = {[LOST_UP] = 2}, .ends = RIGHT | WRONG}, 1, 3);
    look_at((struct row){.has_miss = true, .has_timers = true, .budget = {[EARLY] = 1}, .ends = RIGHT | WRONG}, 1, 3);
    look_at((struct row){.has_miss = true, .budget = {[DOUBLED] = 1}, .ends = RIGHT | WRONG}, 1, 3);
    look_at((struct row){.has_miss = true, .has_timers = true, .budget = {[DOUBLED] = 1}, .ends = RIGHT | WRONG}, 1, 3);
    look_at((struct row){.has_miss = true, .has_timers = true, .budget = {[LOST_UP] = 1}, .ends = RIGHT | WRONG}, 1, 3);
    look_at((struct row){.has_miss = true, .has_timers = true, .budget = {[RESTART] = 1}, .ends = RIGHT | WRONG}, 1, 3);
    look_at(
        (struct row){.has_miss = true, .has_timers = true, .budget = {[LOST_DOWN] = 1}, .ends = RIGHT | HUNG | WRONG},
        1, 3);
}

/* A MISS that one rank does not hear: from then on the same VID is another fragment there. No resend is needed for
 * it. */
static void search__a_lost_miss_makes_a_wrong_sum(void **state)
{
    (void)state;
    look_at((struct row){.has_miss = true, .budget = {[LOST_UP] = 2, [LOST_DOWN] = 1}, .ends = RIGHT | HUNG}, 1, 2);
    look_at((struct row){.has_miss = true, .budget = {[LOST_UP] = 2, [LOST_DOWN] = 1}, .ends = RIGHT | HUNG | WRONG}, 3,
            3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search__without_faults_all_is_right),
        cmocka_unit_test(search__without_resends_a_loss_is_a_hang),
        cmocka_unit_test(search__a_loss_and_resends_make_a_wrong_sum),
        cmocka_unit_test(search__a_late_rank_and_resends_make_a_wrong_sum),
        cmocka_unit_test(search__a_double_makes_a_wrong_sum),
        cmocka_unit_test(search__miss_and_resends_end_but_not_always_right),
        cmocka_unit_test(search__a_lost_miss_makes_a_wrong_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
