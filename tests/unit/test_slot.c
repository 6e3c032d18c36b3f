/* SPDX-License-Identifier: Apache-2.0 */
/* test_slot.c: the step for one contribution, and the eager tree: whatever the order of arrival, the sum is that of the
 * fixed tree. Sums are strings here, "((0+1)+(2+3))": two sums are equal only if every addition had the same
 * operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "core/slot.h"

#define CHILDREN_MAX 64
#define TEXT_MAX 512

static uint64_t all_of(uint32_t children)
{
    return children == 64 ? UINT64_MAX : (UINT64_C(1) << children) - 1;
}

/* ---- the naive tree ---- */

/* Additions commute, so the lower operand stands first, as in the rows. */
static bool naive(uint64_t loaded, uint32_t low, uint32_t span, char *text)
{
    char left[TEXT_MAX];
    char right[TEXT_MAX];

    if (span == 1) {
        (void)snprintf(text, TEXT_MAX, "%u", low);
        return loaded >> low & 1;
    }
    bool has_left = naive(loaded, low, span / 2, left);
    bool has_right = naive(loaded, low + span / 2, span / 2, right);
    if (has_left && has_right) {
        (void)snprintf(text, TEXT_MAX, "(%.250s+%.250s)", left, right);
    } else {
        (void)memcpy(text, has_left ? left : right, TEXT_MAX);
    }
    return has_left || has_right;
}

/* ---- the eager one, driven as the switch does ---- */

static char rows[CHILDREN_MAX / 2][TEXT_MAX];

static void add_rows(char *into, const char *left, const char *right)
{
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof text, "(%.250s+%.250s)", left, right);
    (void)memcpy(into, text, TEXT_MAX);
}

static void put_payload(const struct trib_slot *slot, uint32_t child)
{
    char *row = rows[child / 2];
    char number[TEXT_MAX];

    (void)snprintf(number, sizeof number, "%u", child);
    if ((slot->loaded >> (child ^ 1U) & 1) == 0) {
        (void)memcpy(row, number, TEXT_MAX);
    } else if (child % 2 == 1) {
        add_rows(row, row, number);
    } else {
        add_rows(row, number, row);
    }
}

static void arrive(struct trib_slot *slot, uint32_t child, bool loaded, uint64_t required)
{
    static const uint8_t bytes[64];
    struct trib_packet packet = {.sequence = 5, .type = 1, .lane = 1, .digest = 9, .last_rank = (uint16_t)child};
    struct trib_merge merge;
    uint32_t level = 1;

    if (loaded) {
        packet.payload_len = sizeof bytes;
        packet.payload = bytes;
    }
    if (trib_slot_is_empty(slot)) {
        trib_slot_open(slot, &packet, child);
    }
    assert_int_equal(trib_slot_check(slot, &packet, UINT64_C(1) << child), 0);
    if (loaded) {
        put_payload(slot, child);
    }
    trib_slot_note(slot, &packet, UINT64_C(1) << child, 1);
    while (trib_slot_climb(slot, required, child, &level, &merge)) {
        assert_true(merge.into < merge.from);
        add_rows(rows[merge.into], rows[merge.into], rows[merge.from]);
    }
}

static void check_order(const uint32_t *order, uint32_t children, uint64_t loaded)
{
    struct trib_slot slot = {0};
    uint64_t required = all_of(children);
    char expected[TEXT_MAX];

    for (uint32_t i = 0; i < children; i++) {
        assert_false(trib_slot_is_complete(&slot, required));
        arrive(&slot, order[i], loaded >> order[i] & 1, required);
    }
    assert_true(trib_slot_is_complete(&slot, required));
    assert_int_equal(slot.lane, children);
    assert_int_equal(slot.loaded, loaded);
    assert_int_equal(slot.parts, __builtin_popcountll(loaded));
    assert_int_equal(slot.last, order[children - 1]);
    if (naive(loaded, 0, 64, expected)) {
        assert_string_equal(rows[trib_slot_row(&slot, required)], expected);
    }
}

static void permute(uint32_t *order, uint32_t children, uint32_t fixed)
{
    if (fixed == children) {
        for (uint64_t loaded = 0; loaded <= all_of(children); loaded++) {
            check_order(order, children, loaded);
        }
        return;
    }
    for (uint32_t i = fixed; i < children; i++) {
        uint32_t kept = order[fixed];
        order[fixed] = order[i];
        order[i] = kept;
        permute(order, children, fixed + 1);
        order[i] = order[fixed];
        order[fixed] = kept;
    }
}

static void climb__gives_the_fixed_tree_in_every_order_of_up_to_five(void **state)
{
    (void)state;
    for (uint32_t children = 1; children <= 5; children++) {
        uint32_t order[5] = {0, 1, 2, 3, 4};
        permute(order, children, 0);
    }
}

static void climb__gives_the_fixed_tree_in_random_orders_of_up_to_64(void **state)
{
    struct trib_prng prng = {.state = 4};

    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        uint32_t order[CHILDREN_MAX];
        uint32_t children = 1 + (uint32_t)trib_prng_below(&prng, CHILDREN_MAX);
        uint64_t loaded = trib_prng_below(&prng, 3) == 0 ? UINT64_MAX : trib_prng_next(&prng);
        for (uint32_t i = 0; i < children; i++) {
            uint32_t at = (uint32_t)trib_prng_below(&prng, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        check_order(order, children, loaded & all_of(children));
    }
}

/* ---- checks ---- */

static void check__refuses_what_may_not_be_added(void **state)
{
    struct trib_packet first = {.sequence = 5, .attempt = 1, .type = 1, .payload_len = 64, .digest = 9};
    struct trib_packet packet = first;
    struct trib_slot slot = {0};

    (void)state;
    trib_slot_open(&slot, &first, 2);
    trib_slot_note(&slot, &first, UINT64_C(1) << 2, 1);
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 3), TRIB_DROP_NONE);
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 2), TRIB_DROP_DUPLICATE);
    packet.attempt = 2;
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 3), TRIB_DROP_SHAPE);
    packet = first;
    packet.digest = 8;
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 3), TRIB_DROP_DIGEST);
    packet = first;
    packet.payload_len = 128;
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 3), TRIB_DROP_SHAPE);
    packet = first;
    packet.type = 2;
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 3), TRIB_DROP_SHAPE);
    packet.payload_len = 0;
    assert_int_equal(trib_slot_check(&slot, &packet, UINT64_C(1) << 3), TRIB_DROP_NONE);
}

static void note__keeps_marks_largest_exponent_and_wishes(void **state)
{
    struct trib_packet packet = {.sequence = 5, .exponent = -1000, .lane = UINT64_MAX};
    struct trib_slot slot = {0};

    (void)state;
    trib_slot_open(&slot, &packet, 0);
    trib_slot_note(&slot, &packet, UINT64_C(1) << 0, 1);
    packet.exponent = 12;
    packet.flags = TRIB_FLAG_ECN | TRIB_FLAG_RESEND;
    trib_slot_note(&slot, &packet, UINT64_C(1) << 1, 1);
    packet.exponent = -3;
    packet.flags = TRIB_FLAG_UNWANTED;
    packet.lane = 5;
    trib_slot_note(&slot, &packet, UINT64_C(1) << 2, 1);
    assert_int_equal(slot.exponent, 12);
    assert_int_equal(slot.flags, TRIB_FLAG_ECN);
    assert_int_equal(slot.unwanted, 4);
    assert_int_equal(slot.lane, 3);
    assert_int_equal(slot.loaded, 0);
    assert_int_equal(slot.present, 7);
    assert_true(trib_slot_holds(&slot, 5));
    assert_false(trib_slot_holds(&slot, 6));
}

static void holds__nothing_when_empty(void **state)
{
    struct trib_slot slot = {0};

    (void)state;
    assert_true(trib_slot_is_empty(&slot));
    assert_false(trib_slot_holds(&slot, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(climb__gives_the_fixed_tree_in_every_order_of_up_to_five),
        cmocka_unit_test(climb__gives_the_fixed_tree_in_random_orders_of_up_to_64),
        cmocka_unit_test(check__refuses_what_may_not_be_added),
        cmocka_unit_test(note__keeps_marks_largest_exponent_and_wishes),
        cmocka_unit_test(holds__nothing_when_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
