/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent.c: what an agent gives to a communicator, and what it refuses. Mirrors src/control/agents/agent.c. The data
 * plane only keeps accounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/agents/agent.h"

#define SLOTS 8
#define KIB UINT64_C(1024)
#define ROOT_BYTES (SLOTS * KIB)

/* Roots that are open, as a bitmap, of one communicator each. As the real one it closes a communicator that it cannot
 * open another root of. */
struct accounts {
    uint32_t open[4];
    uint32_t opens, closes;
    uint32_t fails_at; /* the call of open() that fails, from 1; 0: none */
    enum trib_status failure;
};

static enum trib_status accounts_open(void *plane, const struct trib_opening *opening)
{
    struct accounts *accounts = plane;
    uint32_t communicator = opening->session.communicator;
    uint32_t roots = 1U << opening->root;
    assert_true(communicator < 4);
    assert_int_equal(accounts->open[communicator] & roots, 0);
    assert_int_equal(opening->shard, 5 - opening->root);
    if (++accounts->opens == accounts->fails_at) {
        accounts->open[communicator] = 0;
        return accounts->failure;
    }
    accounts->open[communicator] |= roots;
    return TRIB_OK;
}

static void accounts_close(void *plane, uint32_t communicator)
{
    struct accounts *accounts = plane;
    accounts->open[communicator] = 0;
    accounts->closes++;
}

static size_t accounts_bytes(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    return (size_t)(opening->session.slots * KIB);
}

struct world {
    struct accounts accounts;
    struct trib_data_plane verbs;
    struct trib_agent agent;
    struct trib_agent_opening opening[4]; /* by communicator */
    char error[TRIB_ERROR_TEXT_MAX];
};

static void begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->verbs = (struct trib_data_plane){
        .plane = &w->accounts, .open = accounts_open, .close = accounts_close, .slot_bytes = accounts_bytes};
    trib_agent_init(&w->agent, &w->verbs, 4);
    for (uint32_t i = 0; i < 4; i++) {
        w->opening[i].job = "train";
        w->opening[i].job_id = i + 1;
        w->opening[i].master_name = "10.0.0.9:7470";
    }
}

/* Root `first` and those after it, until one fails. */
static enum trib_status open_roots(struct world *w, uint32_t communicator, uint32_t first, uint32_t count)
{
    enum trib_status status = TRIB_OK;
    memset(w->error, 0, sizeof w->error);
    for (uint32_t root = first; root < first + count && status == TRIB_OK; root++) {
        const struct trib_opening wanted = {
            .session = {.communicator = communicator, .roots = 4, .slots = SLOTS}, .root = root, .shard = 5 - root};
        status = trib_agent_open(&w->agent, &w->opening[communicator], &wanted, first + count, w->error);
    }
    return status;
}

/* What is counted is what is open. */
static void expect_open(const struct world *w, uint32_t communicator, uint32_t roots)
{
    const struct trib_agent_opening *opening = &w->opening[communicator];
    uint32_t count = (uint32_t)__builtin_popcount(roots);
    assert_int_equal(w->accounts.open[communicator], roots);
    assert_int_equal(opening->is_open, roots != 0);
    assert_int_equal(opening->bytes, count * ROOT_BYTES);
    assert_int_equal(opening->roots, count);
}

static void expect_nothing(const struct world *w)
{
    for (uint32_t i = 0; i < 4; i++) {
        expect_open(w, i, 0);
    }
    assert_null(w->agent.first);
    assert_int_equal(w->agent.memory_used, 0);
}

static void shut_all(struct world *w)
{
    for (uint32_t i = 0; i < 4; i++) {
        trib_agent_shut(&w->agent, &w->opening[i]);
    }
    expect_nothing(w);
}

/* ---- quotas ---- */

/* Communicator 1 opens roots one by one, or asks for some at once, beside 2 and 3. Quotas are in roots. */
static const struct {
    const char *what;
    uint64_t memory, job; /* quotas in KiB; 0: none */
    uint32_t second, third, had, asked;
    bool is_foreign; /* 1 and 2 are of controllers at one host, 3 at another */
    bool fits;
    const char *text;
} quotas[] = {
    {"no quota", 0, 0, 4, 4, 2, 2, true, true, ""},
    {"all of it", 32, 32, 0, 0, 0, 4, false, true, ""},
    {"all of it, in parts", 32, 32, 0, 0, 2, 2, false, true, ""},
    {"of a job", 128, 31, 0, 0, 0, 4, false, false,
     "job train needs 32 KiB of switch memory (32 slots of 1 KiB), the quota of a job is 31 KiB: set a smaller window "
     "or "
     "payload, or raise --job-quota"},
    {"of a job, in parts", 128, 31, 0, 0, 3, 1, false, false,
     "job train needs 32 KiB of switch memory (32 slots of 1 KiB), the quota of a job is 31 KiB: set a smaller window "
     "or "
     "payload, or raise --job-quota"},
    {"a job beside others", 128, 32, 4, 4, 3, 1, false, true, ""},
    {"of the agent", 63, 63, 4, 0, 0, 4, false, false,
     "job train needs 32 KiB of switch memory (32 slots of 1 KiB), free: 31 KiB of 63 KiB: wait for other jobs to end, "
     "set "
     "a smaller window, or raise --memory"},
    {"of the agent, in parts", 63, 63, 4, 0, 2, 2, false, false,
     "job train needs 32 KiB of switch memory (32 slots of 1 KiB), free: 31 KiB of 63 KiB: wait for other jobs to end, "
     "set "
     "a smaller window, or raise --memory"},
    {"of the agent, none left", 64, 64, 4, 4, 0, 1, false, false,
     "job train needs at least 8 KiB of switch memory (8 slots of 1 KiB), free: 0 B of 64 KiB: wait for other jobs to "
     "end, set "
     "a "
     "smaller window, or raise --memory"},
    {"of a controller", 64, 24, 2, 0, 1, 2, true, true, ""},
    {"of a controller, and one more", 64, 24, 3, 0, 1, 2, true, false,
     "all jobs of switch 10.0.0.9:7470 need 48 KiB of switch memory with job train, one switch gets 40 KiB: raise the "
     "memory (--memory)"},
    {"of a controller, half", 64, 60, 2, 2, 0, 2, true, true, ""},
    {"of a controller, more than half", 64, 60, 3, 0, 0, 2, true, false,
     "all jobs of switch 10.0.0.9:7470 need 40 KiB of switch memory with job train, one switch gets 32 KiB: raise the "
     "memory (--memory)"},
    {"of another controller", 64, 60, 0, 4, 0, 4, true, true, ""},
    {"of this controller", 64, 60, 3, 0, 0, 2, false, true, ""},
};

static void open_some(struct world *w, uint32_t communicator, uint32_t first, uint32_t count)
{
    if (count > 0) {
        assert_int_equal(open_roots(w, communicator, first, count), TRIB_OK);
    }
}

static void quota__of_job_agent_and_controller(void **state)
{
    struct world w;
    const struct trib_address near[2] = {trib_address_v4(0x0a000009, 7470), trib_address_v4(0x0a000009, 50001)};
    const struct trib_address far = trib_address_v4(0x0a000008, 7470);
    (void)state;
    for (size_t i = 0; i < sizeof quotas / sizeof quotas[0]; i++) {
        uint32_t had = quotas[i].had, asked = quotas[i].asked;
        print_message("%s\n", quotas[i].what);
        begin(&w);
        w.opening[1].master = quotas[i].is_foreign ? &near[0] : NULL;
        w.opening[2].master = quotas[i].is_foreign ? &near[1] : NULL;
        w.opening[3].master = quotas[i].is_foreign ? &far : NULL;
        open_some(&w, 2, 0, quotas[i].second);
        open_some(&w, 3, 0, quotas[i].third);
        w.agent.memory_quota = quotas[i].memory > 0 ? quotas[i].memory * KIB : UINT64_MAX;
        w.agent.job_quota = quotas[i].job > 0 ? quotas[i].job * KIB : UINT64_MAX;
        open_some(&w, 1, 0, had);
        uint32_t opens = w.accounts.opens;
        assert_int_equal(open_roots(&w, 1, had, asked), quotas[i].fits ? TRIB_OK : TRIB_ERR_REFUSED);
        assert_int_equal(w.accounts.opens - opens, quotas[i].fits ? asked : 0); /* refused before the first */
        assert_string_equal(w.error, quotas[i].text);
        expect_open(&w, 1, (1U << (had + (quotas[i].fits ? asked : 0))) - 1); /* what it had it keeps */
        assert_int_equal(w.agent.memory_used, w.opening[1].bytes + (quotas[i].second + quotas[i].third) * ROOT_BYTES);
        shut_all(&w);
    }
}

/* Communicators 1 to 3 are of one job, with one root each, and one of them asks for more. */
static void quota__of_a_job_for_all_its_communicators(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    for (uint32_t i = 1; i < 4; i++) {
        w.opening[i].job_id = 7;
        open_some(&w, i, 0, 1);
    }
    w.opening[2].job = "train/0";
    w.opening[3].job = "train/1";
    w.agent.job_quota = 4 * ROOT_BYTES;
    assert_int_equal(trib_agent_others_of_job(&w.agent, &w.opening[1]), 2 * ROOT_BYTES);
    assert_int_equal(open_roots(&w, 1, 1, 1), TRIB_OK);
    assert_int_equal(open_roots(&w, 2, 1, 1), TRIB_ERR_REFUSED);
    assert_string_equal(
        w.error, "job train/0 needs at least 16 KiB of switch memory (16 slots of 1 KiB) beside 2 other groups of the "
                 "same job with 24 KiB, the quota of a job is 32 KiB: close a group, set a smaller window or "
                 "payload, or raise --job-quota; they are train/1 (8 KiB), train (16 KiB)");
    expect_open(&w, 2, 1);
    trib_agent_shut(&w.agent, &w.opening[3]);
    assert_int_equal(open_roots(&w, 2, 1, 1), TRIB_OK); /* what has gone does not count */
    assert_int_equal(open_roots(&w, 3, 0, 1), TRIB_ERR_REFUSED);
    assert_int_equal(w.agent.memory_used, 4 * ROOT_BYTES);
    shut_all(&w);
}

/* The number of a job is its controller's: two jobs of two controllers may have the same. */
static void quota__of_jobs_with_one_number(void **state)
{
    struct world w;
    const struct trib_address masters[2] = {trib_address_v4(0x0a000009, 7470), trib_address_v4(0x0a000008, 7470)};
    (void)state;
    begin(&w);
    for (uint32_t i = 1; i < 4; i++) {
        w.opening[i].job_id = 7;
        w.opening[i].master = i > 1 ? &masters[i - 2] : NULL;
    }
    w.agent.job_quota = ROOT_BYTES;
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(open_roots(&w, i, 0, 1), TRIB_OK);
        assert_int_equal(trib_agent_others_of_job(&w.agent, &w.opening[i]), 0);
    }
    shut_all(&w);
}

/* Jobs of one key share a quota, also those of several controllers; others have nothing to do with it. */
static void quota__of_a_tenant(void **state)
{
    struct world w;
    const struct trib_address master = trib_address_v4(0x0a000009, 7470);
    (void)state;
    begin(&w);
    w.opening[1].tenant = w.opening[2].tenant = 0xabc;
    w.opening[2].master = &master;
    w.agent.tenant_quota = 4 * ROOT_BYTES;
    open_some(&w, 1, 0, 2);
    open_some(&w, 3, 0, 4);
    assert_int_equal(open_roots(&w, 2, 0, 3), TRIB_ERR_REFUSED);
    assert_string_equal(
        w.error,
        "job train needs at least 24 KiB of switch memory (24 slots of 1 KiB) beside other jobs of key "
        "0000000000000abc with 16 KiB, the quota of a key is 32 KiB: end other jobs of this key, set a smaller "
        "window or payload, or raise the quota (--tenant-quota)");
    expect_open(&w, 2, 0);
    open_some(&w, 2, 0, 2);
    assert_int_equal(trib_agent_held_by_tenant(&w.agent, 0xabc), 4 * ROOT_BYTES);
    assert_int_equal(open_roots(&w, 1, 2, 1), TRIB_ERR_REFUSED); /* its own count once */
    trib_agent_shut(&w.agent, &w.opening[2]);
    assert_int_equal(open_roots(&w, 1, 2, 2), TRIB_OK);
    shut_all(&w);
}

/* In the process of a rank. */
static void quota__of_a_plane_that_counts_nothing(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    w.verbs.slot_bytes = NULL;
    w.agent.memory_quota = w.agent.job_quota = 0;
    assert_int_equal(open_roots(&w, 1, 0, 4), TRIB_OK);
    assert_int_equal(w.accounts.open[1], 15);
    assert_int_equal(w.opening[1].bytes, 0);
    assert_int_equal(w.opening[1].roots, 4);
    shut_all(&w);
}

/* ---- slots ---- */

/* The data plane fails at each call in turn, with and without roots that are open already. */
static void open__all_or_nothing(void **state)
{
    struct world w;
    char want[TRIB_ERROR_TEXT_MAX];
    (void)state;
    for (uint32_t had = 0; had < 3; had++) {
        for (uint32_t k = 1; k <= 4 - had; k++) {
            begin(&w);
            open_some(&w, 2, 0, 2);
            open_some(&w, 1, 0, had);
            w.accounts.fails_at = w.accounts.opens + k;
            w.accounts.failure = k % 2 ? TRIB_ERR_MEMORY : TRIB_ERR_INVALID;
            assert_int_equal(open_roots(&w, 1, had, 4 - had), w.accounts.failure);
            (void)snprintf(want, sizeof want, "%u KiB: %s", 4 * SLOTS, trib_status_text(w.accounts.failure));
            assert_string_equal(w.error, want);
            expect_open(&w, 1, 0);
            expect_open(&w, 2, 3); /* another communicator's */
            assert_int_equal(w.agent.memory_used, 2 * ROOT_BYTES);
            assert_ptr_equal(w.agent.first, &w.opening[2]);
            assert_int_equal(open_roots(&w, 1, 0, 4), TRIB_OK); /* and it may be asked again */
            expect_open(&w, 1, 15);
            assert_int_equal(w.agent.memory_used, 6 * ROOT_BYTES);
            shut_all(&w);
        }
    }
}

static void open__says_what_to_do_if_a_combiner_is_full(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    w.accounts.fails_at = w.accounts.opens + 1;
    w.accounts.failure = TRIB_ERR_REFUSED;
    assert_int_equal(open_roots(&w, 1, 0, 1), TRIB_ERR_REFUSED);
    assert_non_null(strstr(w.error, "it combines for no more communicators: run fewer jobs at once"));
    expect_open(&w, 1, 0);
    shut_all(&w);
}

static void shut__in_any_order_and_twice(void **state)
{
    struct world w;
    (void)state;
    for (uint32_t first = 1; first < 4; first++) {
        begin(&w);
        for (uint32_t i = 1; i < 4; i++) {
            open_some(&w, i, 0, i);
        }
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t which = 1 + (first + i) % 3;
            trib_agent_shut(&w.agent, &w.opening[which]);
            trib_agent_shut(&w.agent, &w.opening[which]);
            assert_int_equal(w.accounts.closes, i + 1);
            expect_open(&w, which, 0);
        }
        expect_nothing(&w);
    }
}

/* A communicator that never had a root has no agent either. */
static void shut__of_what_was_never_open(void **state)
{
    struct trib_agent_opening opening = {0};
    (void)state;
    trib_agent_shut(NULL, &opening);
    assert_false(opening.is_open);
}

/* ---- addresses ---- */

/* Last bytes of addresses: of the parent, 0: none, and of three children. */
static const struct {
    const char *what;
    uint8_t parent, child[3];
    const char *text;
} addresses[] = {
    {"all differ", 0, {1, 3, 5}, ""},
    {"the same", 0, {1, 3, 3}, "ranks 1 and 2 both claim to send from 10.0.0.3:9, UDP"},
    {"the same, not side by side", 0, {6, 4, 6}, "ranks 0 and 2 both claim to send from 10.0.0.6:9, UDP"},
    {"a parent apart", 7, {1, 3, 5}, ""},
    {"a parent that is a child", 5, {1, 3, 5}, "rank 2 claims to send from the address of this switch's parent"},
    {"the parent first", 3, {3, 3, 5}, "rank 0 claims to send from the address of this switch's parent"},
};

static void check__addresses(void **state)
{
    static const uint16_t numbers[] = {0, 1, 2};
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        struct trib_branch children[3];
        char error[TRIB_ERROR_TEXT_MAX] = "";
        print_message("%s\n", addresses[i].what);
        const struct trib_address parent = trib_address_v4(0x0a000000U + addresses[i].parent, 9);
        for (uint32_t b = 0; b < 3; b++) {
            children[b] = (struct trib_branch){
                .ranks = &numbers[b], .count = 1, .from = trib_address_v4(0x0a000000U + addresses[i].child[b], 9)};
        }
        const struct trib_opening opening = {
            .parent = addresses[i].parent != 0 ? &parent : NULL, .branches = children, .count = 3};
        assert_int_equal(trib_opening_check(&opening, error), addresses[i].text[0] == '\0');
        assert_string_equal(error, addresses[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota__of_job_agent_and_controller),
        cmocka_unit_test(quota__of_a_job_for_all_its_communicators),
        cmocka_unit_test(quota__of_jobs_with_one_number),
        cmocka_unit_test(quota__of_a_tenant),
        cmocka_unit_test(quota__of_a_plane_that_counts_nothing),
        cmocka_unit_test(open__all_or_nothing),
        cmocka_unit_test(open__says_what_to_do_if_a_combiner_is_full),
        cmocka_unit_test(shut__in_any_order_and_twice),
        cmocka_unit_test(shut__of_what_was_never_open),
        cmocka_unit_test(check__addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
