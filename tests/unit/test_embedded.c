/* SPDX-License-Identifier: Apache-2.0 */
/* test_embedded.c: the control plane in rank 0's process comes, is shared, waits for who needs it, and goes. Mirrors
 * src/comm/embedded.c. What ranks do with it is test_comm.c's, test_split.c's and test_comm_failure.c's. */
#include "comm_harness.h"

#include "comm/embedded.h"
#include "control/words/words.h"
#include "net/resolve.h"

/* For one that nobody needs, which ends at once. */
#define LONGEST_NS (20 * TRIB_SECOND_NS * patience())

static char error[TRIB_ERROR_TEXT_MAX];

struct place {
    struct trib_config config;
    struct trib_address address;
};

static struct place make_place(const char *host)
{
    struct place place;
    begin_no_box();
    rank_config(&place.config, 0, 1);
    (void)snprintf(place.config.rendezvous, sizeof place.config.rendezvous, "%s:%u", host, rendezvous_port);
    assert_int_equal(trib_address_parse(place.config.rendezvous, 0, &place.address, error), TRIB_OK);
    return place;
}

static const struct trib_keys no_keys = {.is_set = false};

static struct trib_embedded *acquire(const struct place *place)
{
    struct trib_embedded *embedded = NULL;
    error[0] = '\0';
    enum trib_status status = trib_embedded_acquire(&place->config, &no_keys, &place->address, &embedded, error);
    assert_string_equal(error, "");
    assert_int_equal(status, TRIB_OK);
    return embedded;
}

/* A session, which says nothing. */
static int open_session(const struct place *place)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&place->address.storage, place->address.len) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* Closed by the other side: it ends whoever would close first, so that the port is free at once. */
static bool serves(const struct place *place)
{
    int fd = open_session(place);
    (void)close(fd);
    return fd >= 0;
}

/* Or it will not for long: it has yet to hear that its last rank is gone. */
static bool ends_serving(const struct place *place)
{
    bool is_there = true;
    for (uint32_t i = 0; i < 5000 * patience() && is_there; i++) {
        (void)usleep(1000);
        is_there = serves(place);
    }
    return !is_there;
}

static void acquire__shares_one_for_each_rendezvous(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *first = acquire(&place);
    struct trib_embedded *second = acquire(&place);
    assert_ptr_equal(first, second);
    assert_ptr_equal(trib_embedded_share(first), first);
    assert_null(trib_embedded_share(NULL));
    struct place other = make_place("127.0.0.1");
    struct trib_embedded *elsewhere = acquire(&other);
    assert_ptr_not_equal(elsewhere, first);
    trib_embedded_release(elsewhere, LONGEST_NS, true);
    trib_embedded_release(NULL, LONGEST_NS, true);
    trib_embedded_release(first, LONGEST_NS, true);
    trib_embedded_release(first, LONGEST_NS, true);
    assert_true(serves(&place)); /* for the third share */
    trib_embedded_release(first, LONGEST_NS, true);
    assert_false(serves(&place));
    assert_false(serves(&other));
}

static void acquire__names_a_port_that_is_taken(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = NULL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&place.address.storage, place.address.len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(trib_embedded_acquire(&place.config, &no_keys, &place.address, &embedded, error),
                     TRIB_ERR_REFUSED);
    assert_non_null(strstr(error, "cannot listen at the rendezvous 127.0.0.1:"));
    assert_non_null(strstr(error, "in use"));
    assert_non_null(strstr(error, "(TRIB_RENDEZVOUS=HOST:PORT)"));
    assert_null(embedded);
    (void)close(fd);
}

static void create__takes_no_port_0(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_comm *comm = NULL;
    (void)snprintf(place.config.rendezvous, sizeof place.config.rendezvous, "127.0.0.1:0");
    assert_int_equal(trib_comm_create(&place.config, &comm, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "127.0.0.1:0: port 0 cannot be used: name a port from 1 to 65535");
}

/* A name of this host that its file of names gives a loopback address must be heard at its other addresses as well. */
static void acquire__listens_everywhere_for_a_name_of_the_loopback(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct place other = place;
    (void)snprintf(place.config.rendezvous, sizeof place.config.rendezvous, "node-1:%u", rendezvous_port);
    other.address = trib_address_v4(0x7f000102U, rendezvous_port);
    struct trib_embedded *embedded = acquire(&place);
    assert_true(serves(&place) && serves(&other));
    trib_embedded_release(embedded, LONGEST_NS, true);
    static const char *const names[] = {"localhost", "127.example"};
    for (unsigned i = 0; i < 2; i++) {
        place = make_place("127.0.0.1");
        (void)snprintf(place.config.rendezvous, sizeof place.config.rendezvous, "%s:%u", names[i], rendezvous_port);
        other.address = trib_address_v4(0x7f000102U, rendezvous_port);
        embedded = acquire(&place);
        assert_true(serves(&place) && serves(&other));
        trib_embedded_release(embedded, LONGEST_NS, true);
    }
    place = make_place("127.0.0.1"); /* and here only there */
    other.address = trib_address_v4(0x7f000102U, rendezvous_port);
    embedded = acquire(&place);
    assert_true(serves(&place) && !serves(&other));
    trib_embedded_release(embedded, LONGEST_NS, true);
}

/* A session that joins as this rank of so many. */
static int join_as(const struct place *place, uint32_t rank, uint32_t ranks, uint32_t payload)
{
    struct trib_message join = {.kind = TRIB_MESSAGE_JOIN};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    int fd = open_session(place);
    assert_true(fd >= 0);
    join.join.magic = TRIB_SESSION_MAGIC;
    join.join.version = TRIB_SESSION_VERSION;
    join.join.wire_version = TRIB_WIRE_VERSION;
    strcpy(join.join.job, "two");
    join.join.rank = rank;
    join.join.data_port[0] = 9;
    strcpy(join.join.settings.scheme, "switchml");
    join.join.settings.ranks = ranks;
    join.join.settings.payload = payload;
    join.join.settings.wire = TRIB_WIRE_FLOAT32;
    const struct trib_message question = {.kind = TRIB_MESSAGE_PING};
    size_t len = trib_message_encode(&join, bytes);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    len = trib_message_encode(&question, bytes);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    assert_int_equal(read(fd, bytes, len), (ssize_t)len); /* PONG: JOIN has been taken */
    return fd;
}

static int join_session(const struct place *place, uint32_t rank)
{
    return join_as(place, rank, 2, 1408);
}

static void release__waits_for_jobs_but_not_for_ever(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = acquire(&place);
    int fd = join_session(&place, 0);
    uint64_t start = trib_clock_ns();
    trib_embedded_release(embedded, 100 * TRIB_MILLISECOND_NS, true);
    assert_in_range((trib_clock_ns() - start) / TRIB_MILLISECOND_NS, 100, 2000 * patience());
    assert_true(serves(&place)); /* it goes on for that job */
    assert_ptr_equal(acquire(&place), embedded);
    (void)close(fd);
    (void)usleep(50000);
    assert_true(serves(&place)); /* and for the new share without one */
    start = trib_clock_ns();
    trib_embedded_release(embedded, 10 * TRIB_SECOND_NS * patience(), true);
    assert_true(trib_clock_ns() - start < 5 * TRIB_SECOND_NS * patience());
    assert_false(serves(&place));
}

/* A fast rank that is at the next communicator already waits for this process, which must not wait for it. */
static void release__does_not_wait_for_who_waits_for_rank_0(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = acquire(&place);
    int fd = join_session(&place, 1);
    uint64_t start = trib_clock_ns();
    trib_embedded_release(embedded, 20 * TRIB_SECOND_NS * patience(), true);
    assert_true(trib_clock_ns() - start < 5 * TRIB_SECOND_NS * patience());
    assert_ptr_equal(acquire(&place), embedded);
    (void)close(fd);
    trib_embedded_release(embedded, 10 * TRIB_SECOND_NS * patience(), true);
    assert_true(ends_serving(&place));
}

/* Nor for strangers, whose connections end without a word. */
static void release__does_not_wait_for_strangers(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = acquire(&place);
    char byte;
    int fd = open_session(&place);
    (void)usleep(100000);
    uint64_t start = trib_clock_ns();
    trib_embedded_release(embedded, 20 * TRIB_SECOND_NS * patience(), true);
    assert_true(trib_clock_ns() - start < 5 * TRIB_SECOND_NS * patience());
    assert_false(serves(&place));
    assert_int_equal(read(fd, &byte, 1), 0);
    (void)close(fd);
}

/* Nobody holds it, and its last job ends: it ends by itself, and another one can have the port. */
static void release__leaves_one_that_ends_with_its_last_job(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = acquire(&place);
    int fd = join_session(&place, 0);
    trib_embedded_release(embedded, 0, true);
    assert_true(serves(&place));
    (void)close(fd);
    assert_true(ends_serving(&place));
    embedded = acquire(&place);
    assert_true(serves(&place));
    trib_embedded_release(embedded, LONGEST_NS, true);
    assert_false(serves(&place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquire__shares_one_for_each_rendezvous),
        cmocka_unit_test(acquire__names_a_port_that_is_taken),
        cmocka_unit_test(create__takes_no_port_0),
        cmocka_unit_test(acquire__listens_everywhere_for_a_name_of_the_loopback),
        cmocka_unit_test(release__waits_for_jobs_but_not_for_ever),
        cmocka_unit_test(release__does_not_wait_for_who_waits_for_rank_0),
        cmocka_unit_test(release__does_not_wait_for_strangers),
        cmocka_unit_test(release__leaves_one_that_ends_with_its_last_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
