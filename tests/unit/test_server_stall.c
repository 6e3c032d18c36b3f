/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_stall.c: ranks say on which sequence they wait, and the control plane says for whom: over switches below,
 * and beside ranks that have left. */
#include "server_tree_harness.h"

static struct trib_message stall(int fd, uint64_t sequence, struct trib_rank_list *missing)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = sequence, .since_ms = 1200}};
    send_message(fd, &message);
    const struct trib_message answer = expect(fd, TRIB_MESSAGE_MISSING);
    assert_int_equal(answer.stall.sequence, sequence);
    assert_int_equal(answer.stall.since_ms, 1200);
    *missing = answer.stall.missing;
    return answer;
}

/* At the switch below. */
static void lack_below(uint32_t count, const uint16_t *ranks)
{
    struct recorder *r = &leaves[0].made.recorder;
    pthread_mutex_lock(&r->lock);
    r->missing_count = count;
    for (uint32_t i = 0; i < count; i++) {
        r->missing[i] = ranks[i];
    }
    pthread_mutex_unlock(&r->lock);
}

static void stall__names_ranks_at_switches_below(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    struct trib_rank_list missing;
    (void)stall(fds[0], 5, &missing);
    assert_int_equal(missing.count, 0);
    recorder_lack(c, 3, (const uint16_t[]){1, 2, 3}); /* its nodes know children only */
    lack_below(1, (const uint16_t[]){2});
    for (uint32_t i = 0; i < 2; i++) { /* whoever asks */
        (void)stall(fds[i], 5, &missing);
        assert_int_equal(missing.count, 2);
        assert_int_equal(missing.rank[0], 2);
        assert_int_equal(missing.rank[1], 3);
    }
    lack_below(0, NULL); /* its sum of a later one is on its way */
    (void)stall(fds[1], 6, &missing);
    assert_int_equal(missing.count, 1);
    assert_int_equal(missing.rank[0], 3);
    close_all(fds, 4);
}

/* Rank 1 is at the switch of ranks 1 and 2, rank 3 at none; both wait. */
static void stall__names_ranks_that_wait_too(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 3, (const uint16_t[]){1, 2, 3});
    lack_below(1, (const uint16_t[]){1});
    struct trib_rank_list missing;
    (void)stall(fds[3], 7, &missing);
    for (uint32_t i = 0; i < 4; i++) { /* rank 1 itself, then rank 0, and again */
        (void)stall(fds[1 - i % 2], 5, &missing);
        assert_int_equal(missing.count, 2);
        assert_int_equal(missing.rank[0], 1);
        assert_int_equal(missing.rank[1], 3);
    }
    close_all(fds, 4);
}

/* All have given their parts, and one switch's do not come through. */
static void stall__names_the_switch_if_nobody_lacks(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    struct trib_rank_list missing;
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_message answer = stall(fds[i], 5, &missing);
        assert_int_equal(missing.count, 0);
        assert_string_equal(answer.stall.where, "switch 127.0.0.1:7471");
    }
    close_all(fds, 4);
}

/* The root has the sum, and the switch lacks nobody: a rank there that does not wait itself takes no results. Before
 * anybody is blamed all have had time to say that they wait. */
static void stall__names_silent_ranks_behind_a_switch_that_lacks_nobody(void **state)
{
    struct control *c = *state;
    struct trib_message message = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5, .since_ms = 3000}};
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    struct trib_rank_list missing;
    assert_string_equal(stall(fds[0], 5, &missing).stall.where, "switch 127.0.0.1:7471");
    send_message(fds[0], &message);
    struct trib_message answer = expect(fds[0], TRIB_MESSAGE_MISSING);
    assert_int_equal(answer.stall.missing.count, 2);
    assert_int_equal(answer.stall.missing.rank[0], 1);
    assert_string_equal(answer.stall.where, "");
    send_mark(fds[2], TRIB_MESSAGE_MARK, 6);
    (void)expect(fds[2], TRIB_MESSAGE_MARK);
    send_message(fds[0], &message);
    answer = expect(fds[0], TRIB_MESSAGE_MISSING);
    assert_int_equal(answer.stall.missing.count, 1);
    assert_int_equal(answer.stall.missing.rank[0], 1);
    for (uint32_t i = 0; i < 2; i++) {
        send_message(fds[1 - i], &message); /* rank 1 waits as well */
        answer = expect(fds[1 - i], TRIB_MESSAGE_MISSING);
        assert_int_equal(answer.stall.missing.count, 0);
        assert_string_equal(answer.stall.where, "switch 127.0.0.1:7471");
    }
    close_all(fds, 4);
}

/* A switch that does not answer for a second is named itself. */
static void stall__names_a_switch_that_says_nothing(void **state)
{
    struct control *c = *state;
    const struct trib_message message = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5, .since_ms = 1200}};
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    pthread_mutex_lock(&leaves[0].lock); /* its thread stands still */
    send_message(fds[0], &message);
    usleep(50000 * patience());
    send_message(fds[0], &message);
    const struct trib_message answer = expect(fds[0], TRIB_MESSAGE_MISSING);
    pthread_mutex_unlock(&leaves[0].lock);
    assert_int_equal(answer.stall.missing.count, 0);
    assert_string_equal(answer.stall.where, "switch 127.0.0.1:7471");
    close_all(fds, 4);
}

/* Names come from others: they are looked at, never indexes. */
static void stall__hostile_names(void **state)
{
    struct control *c = *state;
    const struct trib_message stalls = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5, .since_ms = 1200}};
    control_start(c);
    int fds[4];
    (void)run_tree(c, fds, NULL);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    lack_below(2, (const uint16_t[]){2, 60000}); /* one that there is not */
    send_message(fds[0], &stalls);
    expect_fail(fds[0], TRIB_ERR_REFUSED, "switch 127.0.0.1:7471 sent an unexpected message ROOT_MISSING");
    close_all(fds + 1, 3);
}

/* The switch restarted, rank 0 came back, closed and left before it could offer 99, which rank 1 lacks. */
static void stall__on_a_rank_that_has_left_ends(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 100);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    recorder_lack(c, 1, (const uint16_t[]){0});
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 99, .since_ms = 4000}};
    send_message(fds[1], &stall); /* it is still there, and will be asked */
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MISSING).stall.missing.count, 1);
    close(fds[0]);
    stall.stall.since_ms = 2000;
    send_message(fds[1], &stall); /* another rank may still offer it */
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MISSING).stall.sequence, 99);
    stall.stall.since_ms = 3000;
    send_message(fds[1], &stall);
    expect_fail(fds[1], TRIB_ERR_PEER, "rank 1 waits on sequence 99, but rank 0");
}

/* The same, but rank 1 has finished 99, and waits for rank 2 to do so: rank 1 has the result for rank 2. */
static void stall__of_who_has_finished_ends_nothing(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    (void)run_job(c, 3, fds);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 100);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    close(fds[0]);
    send_mark(fds[1], TRIB_MESSAGE_MARK, 100);
    (void)expect(fds[1], TRIB_MESSAGE_MARK);
    recorder_lack(c, 3, (const uint16_t[]){0, 1, 2});
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 99, .since_ms = 40000}};
    send_message(fds[1], &stall);
    const struct trib_message answer = expect(fds[1], TRIB_MESSAGE_MISSING);
    assert_int_equal(answer.stall.missing.count, 1);
    assert_int_equal(answer.stall.missing.rank[0], 2);
    send_message(fds[2], &stall);
    expect_fail(fds[2], TRIB_ERR_PEER, "rank 2 waits on sequence 99, but rank 0");
    close_all(fds + 1, 2);
}

static bool is_told(int fd, uint32_t since_ms)
{
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 5, .since_ms = since_ms}};
    send_message(fd, &stall);
    return strstr(expect(fd, TRIB_MESSAGE_MISSING).stall.where, "packets do not pass, to there or from there") != NULL;
}

/* Rank 1 has waited for the same sequence for so long that its packets do not arrive. */
static void stall__tells_whose_packets_do_not_arrive(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    (void)run_job(c, 3, fds);
    recorder_lack(c, 1, (const uint16_t[]){1});
    assert_false(is_told(fds[0], 3000));
    assert_false(is_told(fds[1], 2900));
    assert_false(is_told(fds[0], 3000));
    assert_true(is_told(fds[1], 3000));
    assert_true(is_told(fds[0], 3000));
    recorder_lack(c, 2, (const uint16_t[]){1, 2}); /* rank 2 may be late */
    assert_false(is_told(fds[0], 4000));
    close_all(fds, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stall__names_ranks_at_switches_below),
        TEST(stall__names_ranks_that_wait_too),
        TEST(stall__names_the_switch_if_nobody_lacks),
        TEST(stall__names_silent_ranks_behind_a_switch_that_lacks_nobody),
        TEST(stall__names_a_switch_that_says_nothing),
        TEST(stall__hostile_names),
        TEST(stall__on_a_rank_that_has_left_ends),
        TEST(stall__of_who_has_finished_ends_nothing),
        TEST(stall__tells_whose_packets_do_not_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
