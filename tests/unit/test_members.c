/* SPDX-License-Identifier: Apache-2.0 */
/* test_members.c: who is who on a shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schemes/schemes.h"
#include "switchd/members.h"

static struct trib_address address_of(uint32_t number)
{
    char text[64];
    struct trib_address address;
    (void)snprintf(text, sizeof text, number % 3 == 2 ? "[fd00::%x:%x]:%u" : "10.%u.%u.1:%u", number >> 8, number & 255,
                   1000 + number % 7);
    assert_int_equal(trib_address_parse(text, 0, &address, NULL), TRIB_OK);
    return address;
}

static struct trib_member *make(uint32_t communicator, uint32_t ranks)
{
    const struct trib_switch_config config = {
        .session = {.communicator = communicator,
                    .ranks = ranks,
                    .roots = 1,
                    .train = 1,
                    .slots = 2,
                    .payload = 64,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .children = ranks,
        .boot = 1,
    };
    struct trib_address addresses[TRIB_CHILDREN_MAX];
    for (uint32_t i = 0; i < ranks; i++) {
        addresses[i] = address_of(i);
    }
    struct trib_member *member = trib_member_create(trib_scheme_find("switchml")->switch_node, &config, addresses);
    assert_non_null(member);
    assert_int_equal((uintptr_t)member->node % 64, 0);
    return member;
}

/* The same 8 addresses in 200 communicators: found by both together, and by neither alone. */
static void find_source__by_communicator_and_address(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    for (uint32_t i = 0; i < 200; i++) {
        assert_true(trib_members_add(&members, make(i * 7, 8)));
    }
    for (uint32_t i = 0; i < 1400; i++) {
        for (uint32_t number = 0; number < 9; number++) {
            struct trib_address from = address_of(number);
            const struct trib_member_source *source = trib_members_find_source(&members, i, &from);
            if (i % 7 == 0 && number < 8) {
                assert_non_null(source);
                assert_int_equal(source->child, number);
                assert_int_equal(source->member->communicator, i);
            } else {
                assert_null(source);
            }
        }
    }
    struct trib_address other_port = address_of(0);
    trib_address_set_port(&other_port, 1);
    assert_null(trib_members_find_source(&members, 7, &other_port));
    trib_members_deinit(&members);
}

static void find_source__in_an_empty_table(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    struct trib_address from = address_of(0);
    assert_null(trib_members_find_source(&members, 0, &from));
    assert_null(trib_members_find(&members, 0));
    trib_members_deinit(&members);
}

static void remove__forgets_one_and_no_other(void **state)
{
    (void)state;
    struct trib_members members = {.count = 0};
    struct trib_address from = address_of(3);
    for (uint32_t i = 0; i < 50; i++) {
        assert_true(trib_members_add(&members, make(i, 5)));
    }
    for (uint32_t i = 0; i < 50; i += 2) {
        struct trib_member *member = trib_members_find(&members, i);
        assert_non_null(member);
        trib_members_remove(&members, member);
        trib_member_destroy(member);
    }
    for (uint32_t i = 0; i < 50; i++) {
        const struct trib_member_source *source = trib_members_find_source(&members, i, &from);
        assert_int_equal(source != NULL, i % 2 == 1);
        assert_int_equal(trib_members_find(&members, i) != NULL, i % 2 == 1);
    }
    assert_int_equal(members.count, 25);
    assert_int_equal(members.sources, 125);
    trib_members_deinit(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_source__by_communicator_and_address),
        cmocka_unit_test(find_source__in_an_empty_table),
        cmocka_unit_test(remove__forgets_one_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
