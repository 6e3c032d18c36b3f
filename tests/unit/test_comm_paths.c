/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_paths.c: the kernel takes longer to join a multicast group than paths are probed for, as it does where other
 * networks come and go (one lock is for all of them): a job begins all the same, and as it would have. So it does where
 * a rank does not run for as long when it has sent the first probe, and that one is lost. A rank that has registered
 * sleeps until the others have. Mirrors src/comm/paths.c; that nothing of full size passes is said: tests/integration/links.net.sh. */
#include "comm_harness.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

#define RANKS 2U
#define COUNT 1000U
#define SLOW_NS (2500 * TRIB_MILLISECOND_NS)
#define POLLS_MAX 10000U /* a rank looks every 2 ms while it is busy */

static atomic_bool is_slow;
static atomic_uint joins;
static atomic_uint by_multicast; /* ranks that get results so */
static atomic_uint losses;       /* trains that are still to be lost, after a while */
static atomic_uint polls;        /* of all ranks */

static void stand_still(void)
{
    (void)nanosleep(&(struct timespec){SLOW_NS / TRIB_SECOND_NS, SLOW_NS % TRIB_SECOND_NS}, NULL);
}

/* The C library's, for the whole program. */
int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
    if (level == IPPROTO_IP && option == IP_ADD_MEMBERSHIP) {
        atomic_fetch_add(&joins, 1);
        if (atomic_load(&is_slow)) {
            stand_still();
        }
    }
    return (int)syscall(SYS_setsockopt, fd, level, option, value, len);
}

/* The C library's, for the whole program. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    uint32_t left = atomic_load(&losses);
    if (left == 0 || !atomic_compare_exchange_strong(&losses, &left, left - 1)) {
        return syscall(SYS_sendmsg, fd, message, flags);
    }
    ssize_t len = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        len += (ssize_t)message->msg_iov[i].iov_len;
    }
    stand_still();
    return len;
}

/* The C library's, for the whole program. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *signals)
{
    struct timespec left = limit != NULL ? *limit : (struct timespec){0}; /* the kernel writes there what is left */
    atomic_fetch_add(&polls, 1);
    return (int)syscall(SYS_ppoll, fds, count, limit != NULL ? &left : NULL, signals, _NSIG / 8);
}

static void sum_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    float tensor[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        tensor[i] = 1;
    }
    CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    CHECK(rank, tensor[0] == RANKS && tensor[COUNT - 1] == RANKS);
    trib_comm_stats(rank->comm, &stats);
    atomic_fetch_add(&by_multicast, stats.multicast);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static uint32_t run_job(bool slow)
{
    struct rank ranks[RANKS];
    atomic_store(&is_slow, slow);
    atomic_store(&by_multicast, 0);
    run_ranks(ranks, RANKS, NULL, sum_body);
    expect_good(ranks, RANKS);
    return atomic_load(&by_multicast);
}

/* All ranks get results by multicast; not each time on a machine that is busy. */
static bool is_by_multicast(bool slow)
{
    bool is_so = false;
    for (uint32_t i = 0; !is_so && i < 5; i++) {
        is_so = run_job(slow) == RANKS;
    }
    return is_so;
}

static void a_slow_kernel__changes_nothing(void **state)
{
    (void)state;
    bool usual = is_by_multicast(false);
    assert_true(atomic_load(&joins) >= RANKS);
    assert_int_equal(is_by_multicast(true), usual);
}

static void a_rank_that_stands_still__says_nothing_of_paths(void **state)
{
    (void)state;
    atomic_store(&losses, RANKS);
    (void)run_job(false);
    assert_int_equal(atomic_load(&losses), 0);
}

/* The other one stands still before its first probe has left. */
static void a_rank_that_has_registered__sleeps_until_the_others_have(void **state)
{
    (void)state;
    atomic_store(&losses, 1);
    atomic_store(&polls, 0);
    (void)run_job(false);
    assert_int_equal(atomic_load(&losses), 0);
    assert_in_range(atomic_load(&polls), 1, POLLS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_kernel__changes_nothing),
        cmocka_unit_test(a_rank_that_stands_still__says_nothing_of_paths),
        cmocka_unit_test(a_rank_that_has_registered__sleeps_until_the_others_have),
    };
    keeper_open();
    switch_command('1');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
