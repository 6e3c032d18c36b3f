/* SPDX-License-Identifier: Apache-2.0 */
/* test_switches_auth.c: keys and ids of authenticated packets (keys/auth.h) where roots are at several switches: each
 * root is number 0 there, all have one packet key, ranks have sender keys, and know no other id. The rest is in
 * test_leaves_auth.c. */
#include "switches_harness.h"

#define RANKS 3U
#define ROOTS 6U

static void join_with(struct switches *s, uint64_t key)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        struct trib_message join = join_of(i, RANKS);
        join.join.key = key;
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
}

/* At each switch both of its roots have this key, number 0, and the ranks for children. */
static void expect_plane(const struct fake_plane *plane, const uint8_t *key)
{
    assert_int_equal(plane->opens % 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_memory_equal(plane->auth[i].bytes, key, TRIB_AUTH_KEY);
        assert_int_equal(plane->auth[i].below, 0);
        assert_int_equal(plane->auth[i].parent, 0);
    }
    for (uint32_t b = 0; b < plane->count; b++) {
        assert_int_equal(plane->sender[b], trib_auth_rank(b));
    }
}

static void expect_all(const struct switches *s, const uint8_t *key)
{
    expect_plane(&s->fake, key);
    for (uint32_t i = 0; i < LENDERS; i++) {
        expect_plane(&s->lender[i].fake, key);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message *welcome = &s->h.process[i].welcome;
        assert_int_equal(welcome->welcome.root_count, ROOTS);
        uint8_t own[TRIB_AUTH_KEY] = {0}, heard[TRIB_AUTH_KEY] = {0};
        if (trib_auth_is_set(key)) {
            trib_auth_make_sender_key(key, trib_auth_rank(i), own);
            trib_auth_make_sender_key(key, trib_auth_switch(0, 0), heard);
        }
        assert_memory_equal(welcome->welcome.auth.own, own, sizeof own);
        assert_memory_equal(welcome->welcome.auth.heard, heard, sizeof heard);
        assert_int_equal(welcome->welcome.auth.parent, 0);
    }
}

static void lenders__have_the_key(void **state)
{
    struct switches *s = *state;
    join_with(s, 9);
    struct trib_auth_key key = s->fake.auth[0];
    assert_true(trib_auth_is_set(key.bytes));
    expect_all(s, key.bytes);
}

static void lenders__of_a_job_without_a_key_have_none(void **state)
{
    static const uint8_t none[TRIB_AUTH_KEY];
    struct switches *s = *state;
    join_with(s, 0);
    expect_all(s, none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lenders__have_the_key, start, stop),
        cmocka_unit_test_setup_teardown(lenders__of_a_job_without_a_key_have_none, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
