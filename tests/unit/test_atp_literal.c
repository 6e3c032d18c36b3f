/* SPDX-License-Identifier: Apache-2.0 */
/* test_atp_literal.c: ATP's published rules: each known defect with the fewest faults that show it, and the same faults
 * under our rules, where none of them is seen. Then the switch and the server alone. Mirrors src/published/atp_literal,
 * src/demo/atp*.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/atp.h"
#include "node_memory.h"
#include "published/atp_literal/atp_literal.h"
#include "published/published.h"

static struct demo_atp_seen tell(enum demo_atp_defect defect, const char *scheme)
{
    struct demo_atp_tale tale = demo_atp_tale_of(defect, trib_published_find(scheme));
    struct demo_atp_seen seen;

    assert_true(demo_atp_play(&tale.config, &seen, NULL));
    return seen;
}

static void expect_right(enum demo_atp_defect defect, uint32_t workers)
{
    struct demo_atp_seen seen = tell(defect, "atp");

    assert_false(demo_atp_has(defect, &seen));
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(seen.leaked, 0);
    assert_int_equal(seen.done, workers);
}

static void late_copy__is_added_to_next_tensor(void **state)
{
    struct demo_atp_seen seen = tell(DEMO_ATP_REUSE, "atp-literal");

    (void)state;
    assert_true(demo_atp_has(DEMO_ATP_REUSE, &seen));
    assert_int_equal(seen.wrong, 2); /* both workers */
    assert_int_equal(seen.caught, 2);
    assert_int_equal(seen.done, 0);
    assert_true(seen.failed > 0);
    expect_right(DEMO_ATP_REUSE, 2);
}

static void late_copy__holds_its_row_for_ever(void **state)
{
    struct demo_atp_seen seen = tell(DEMO_ATP_LEAK, "atp-literal");

    (void)state;
    assert_int_equal(seen.leaked, 1);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(seen.done, 2);
    expect_right(DEMO_ATP_LEAK, 2);
}

static void overlap__costs_another_timeout(void **state)
{
    struct demo_atp_seen seen = tell(DEMO_ATP_OVERLAP, "atp-literal");

    (void)state;
    assert_int_equal(seen.overlaps, 1);
    assert_true(seen.waited_ns > 900 * DEMO_US && seen.waited_ns < 1100 * DEMO_US);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(seen.done, 3);
    expect_right(DEMO_ATP_OVERLAP, 3);
}

static void lost_answer__makes_the_next_one_wrong(void **state)
{
    struct demo_atp_seen seen = tell(DEMO_ATP_ORDER, "atp-literal");

    (void)state;
    assert_int_equal(seen.wrong, 1);
    assert_int_equal(seen.delivered, 1); /* the lane is right */
    assert_int_equal(seen.done, 2);
    expect_right(DEMO_ATP_ORDER, 2);
}

static void lost_answer__is_never_given_again(void **state)
{
    struct demo_atp_seen seen = tell(DEMO_ATP_WAIT, "atp-literal");

    (void)state;
    assert_int_equal(seen.hung, 2);
    assert_int_equal(seen.wrong, 0);
    expect_right(DEMO_ATP_WAIT, 2);
}

static void story__has_a_line_for_each_packet(void **state)
{
    static struct demo_story story;
    struct demo_atp_tale tale = demo_atp_tale_of(DEMO_ATP_ORDER, trib_published_find("atp-literal"));
    struct demo_atp_seen seen;

    (void)state;
    assert_true(demo_atp_play(&tale.config, &seen, &story));
    const struct demo_step *last = &story.steps[story.count - 1];
    assert_string_equal(last->text, "WRONG, should be 11: taken");
    assert_string_equal(last->to, "worker 1");
    assert_int_equal(last->value, 11 << 24);
    assert_string_equal(story.steps[3].text, "LOST on the way");
}

static void without_faults__every_sum_is_right(void **state)
{
    struct demo_atp_runs runs = {.scheme = trib_published_find("atp-literal")};
    struct demo_faults none = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_true(demo_atp_run(&runs, &none, seed));
    }
    assert_int_equal(runs.right, 5);
    assert_int_equal(runs.sum.leaked, 0);
}

/* ---- the switch and the server alone ---- */

#define PAYLOAD 64U
#define ELEMENTS (PAYLOAD / sizeof(int32_t))

static int32_t payload[ELEMENTS]; /* of the packet made last */

static struct trib_packet part_of(uint32_t rank, uint16_t fragment, int32_t value, uint8_t workers)
{
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        payload[i] = value;
    }
    return (struct trib_packet){.kind = TRIB_CONTRIBUTION,
                                .sequence = fragment - 1U,
                                .communicator = 1,
                                .bitmap = UINT64_C(1) << rank,
                                .lane = UINT64_C(1) << rank,
                                .tree = workers,
                                .window_cap = fragment,
                                .last_rank = 4,
                                .type = TRIB_INT32,
                                .reduction = TRIB_SUM,
                                .contributors = 1,
                                .payload_len = PAYLOAD,
                                .payload = payload};
}

static int32_t value_of(const struct trib_packet *packet)
{
    int32_t value;

    assert_int_equal(packet->payload_len, PAYLOAD);
    memcpy(&value, packet->payload, sizeof value);
    return value;
}

static void *open_rows(uint32_t count)
{
    struct trib_atp_rows_config config = {.kernels = trib_value_kernels(), .rows = count, .payload = PAYLOAD};
    void *rows = node_memory(trib_atp_rows_size(&config));

    trib_atp_rows_init(rows, &config);
    return rows;
}

static void *open_server(uint32_t workers)
{
    struct trib_switch_config config = {
        .session = {.communicator = 1, .ranks = workers, .roots = 1, .train = 1, .slots = 4, .payload = PAYLOAD},
        .kernels = trib_value_kernels(),
        .children = workers,
        .boot = 1};
    void *server = node_memory(trib_atp_literal.switch_node->size(&config));

    trib_atp_literal.switch_node->init(server, &config);
    return server;
}

static enum trib_drop give(void *server, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = packet->bitmap};

    return trib_atp_literal.switch_node->node.receive(server, from, packet, 0);
}

static struct trib_packet answer_of(void *server)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_true(trib_atp_literal.switch_node->node.next_packet(server, 0, &packet, &to));
    assert_int_equal(packet.kind, TRIB_RESULT);
    return packet;
}

static void expect_no_answer(void *server)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_false(trib_atp_literal.switch_node->node.next_packet(server, 0, &packet, &to));
}

static void row__is_held_until_its_answer_passes(void **state)
{
    void *rows = open_rows(1);
    struct trib_packet packet = part_of(0, 1, 1, 2);

    (void)state;
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_TAKEN);
    packet = part_of(1, 1, 10, 2);
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_PASS);
    assert_int_equal(packet.bitmap, 3);
    assert_int_equal(packet.lane, 3);
    assert_int_equal(packet.contributors, 2);
    assert_int_equal(value_of(&packet), 11);
    assert_int_equal(trib_atp_rows_held(rows), 1);
    struct trib_packet other = part_of(0, 2, 5, 2); /* a collision */
    assert_int_equal(trib_atp_rows_up(rows, &other), TRIB_COMBINED_PASS);
    assert_true((other.flags & TRIB_FLAG_COLLISION) != 0);
    assert_int_equal(value_of(&other), 5);
    packet.kind = TRIB_RESULT;
    packet.flags = TRIB_FLAG_OVERFLOW; /* asks for floats */
    trib_atp_rows_down(rows, &packet);
    assert_int_equal(trib_atp_rows_held(rows), 1);
    packet.flags = 0;
    trib_atp_rows_down(rows, &packet);
    assert_int_equal(trib_atp_rows_held(rows), 0);
    assert_int_equal(trib_atp_rows_counters(rows)->complete, 1);
    assert_int_equal(trib_atp_rows_counters(rows)->collisions, 1);
    free(rows);
}

static void part_sent_again__takes_its_row_along(void **state)
{
    void *rows = open_rows(1);
    struct trib_packet packet = part_of(0, 1, 1, 3);

    (void)state;
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_TAKEN);
    packet = part_of(1, 1, 10, 3);
    packet.flags = TRIB_FLAG_RESEND;
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_PASS);
    assert_int_equal(packet.bitmap, 3);
    assert_int_equal(value_of(&packet), 11);
    assert_int_equal(trib_atp_rows_held(rows), 0);
    packet = part_of(2, 1, 100, 3);
    packet.flags = TRIB_FLAG_RESEND; /* it takes no row */
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_PASS);
    assert_int_equal(packet.bitmap, 4);
    assert_int_equal(trib_atp_rows_held(rows), 0);
    free(rows);
}

/* Fragment 65,536 of job 0 is 0 in 16 bits each, which stands for "no owner". */
static void pair_of_0__never_has_a_row(void **state)
{
    void *rows = open_rows(4);
    struct trib_packet packet = part_of(0, 1, 1, 2);

    (void)state;
    packet.communicator = 0;
    packet.window_cap = 0;
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_PASS);
    assert_true((packet.flags & TRIB_FLAG_COLLISION) != 0);
    assert_int_equal(trib_atp_rows_held(rows), 0);
    free(rows);
}

static void saturated_row__is_seen_if_no_part_hides_it(void **state)
{
    void *rows = open_rows(1);
    void *server = open_server(3);
    struct trib_packet packet = part_of(0, 1, INT32_MAX - 1, 3);

    (void)state;
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_TAKEN);
    packet = part_of(1, 1, 100, 3);
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_TAKEN);
    packet = part_of(2, 1, -200, 3);
    assert_int_equal(trib_atp_rows_up(rows, &packet), TRIB_COMBINED_PASS);
    assert_int_equal(give(server, &packet), TRIB_DROP_NONE);
    struct trib_packet answer = answer_of(server);
    assert_int_equal(answer.flags & TRIB_FLAG_OVERFLOW, 0);
    assert_int_equal(value_of(&answer), INT32_MAX - 200); /* right: INT32_MAX - 101, and no worker can tell */
    assert_int_equal(answer.lane, 7);
    free(rows);
    free(server);
}

static void saturated_sum__comes_again_as_floats(void **state)
{
    void *server = open_server(2);
    struct trib_packet packet = part_of(0, 1, INT32_MAX, 2);

    (void)state;
    packet.bitmap = 3; /* whole, and saturated on its way */
    assert_int_equal(give(server, &packet), TRIB_DROP_NONE);
    struct trib_packet answer = answer_of(server);
    assert_true((answer.flags & TRIB_FLAG_OVERFLOW) != 0);
    packet = part_of(0, 1, 1000, 2); /* as an integer once more: floats are asked for again */
    packet.flags = TRIB_FLAG_RESEND;
    (void)give(server, &packet);
    answer = answer_of(server);
    assert_true((answer.flags & TRIB_FLAG_OVERFLOW) != 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        expect_no_answer(server);
        packet = part_of(rank, 1, 1000, 2);
        packet.flags = TRIB_FLAG_RESEND | TRIB_FLAG_OVERFLOW;
        assert_int_equal(give(server, &packet), TRIB_DROP_NONE);
    }
    answer = answer_of(server);
    assert_int_equal(answer.flags & TRIB_FLAG_OVERFLOW, 0);
    assert_int_equal(value_of(&answer), 2000);
    assert_int_equal(answer.lane, 3);
    free(server);
}

static void part_of_the_tensor_before__is_added_to_this_one(void **state)
{
    void *server = open_server(2);
    struct trib_packet packet = part_of(0, 1, 7, 2);

    (void)state;
    packet.sequence = 4; /* tensor of sequences 4 to 7 */
    assert_int_equal(give(server, &packet), TRIB_DROP_NONE);
    packet = part_of(1, 1, 10, 2); /* fragment 1 of the tensor before */
    assert_int_equal(give(server, &packet), TRIB_DROP_NONE);
    assert_int_equal(answer_of(server).sequence, 0);
    packet = part_of(1, 1, 70, 2);
    packet.sequence = 4;
    assert_int_equal(give(server, &packet), TRIB_DROP_DUPLICATE);
    struct trib_packet answer = answer_of(server);
    assert_int_equal(answer.sequence, 4);
    assert_int_equal(value_of(&answer), 17 << 24); /* not 77, and in the wrong order */
    free(server);
}

static void fragment_behind_the_servers_memory__is_dropped(void **state)
{
    void *server = open_server(2);
    struct trib_packet packet = part_of(0, TRIB_ATP_TENSOR * 4 + 1, 1, 2);

    (void)state;
    assert_int_equal(give(server, &packet), TRIB_DROP_WINDOW);
    packet.window_cap = 0;
    assert_int_equal(give(server, &packet), TRIB_DROP_WINDOW);
    packet = part_of(0, 1, 1, 2);
    packet.type = TRIB_BFLOAT16;
    assert_int_equal(give(server, &packet), TRIB_DROP_SHAPE);
    packet = part_of(2, 1, 1, 2);
    assert_int_equal(give(server, &packet), TRIB_DROP_SOURCE);
    packet.kind = TRIB_PROBE;
    packet.bitmap = 1;
    assert_int_equal(give(server, &packet), TRIB_DROP_KIND);
    free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_copy__is_added_to_next_tensor),
        cmocka_unit_test(late_copy__holds_its_row_for_ever),
        cmocka_unit_test(overlap__costs_another_timeout),
        cmocka_unit_test(lost_answer__makes_the_next_one_wrong),
        cmocka_unit_test(lost_answer__is_never_given_again),
        cmocka_unit_test(story__has_a_line_for_each_packet),
        cmocka_unit_test(without_faults__every_sum_is_right),
        cmocka_unit_test(row__is_held_until_its_answer_passes),
        cmocka_unit_test(part_sent_again__takes_its_row_along),
        cmocka_unit_test(pair_of_0__never_has_a_row),
        cmocka_unit_test(saturated_row__is_seen_if_no_part_hides_it),
        cmocka_unit_test(saturated_sum__comes_again_as_floats),
        cmocka_unit_test(part_of_the_tensor_before__is_added_to_this_one),
        cmocka_unit_test(fragment_behind_the_servers_memory__is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
