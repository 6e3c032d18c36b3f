/* SPDX-License-Identifier: Apache-2.0 */
/* test_embedded.c: the control plane in rank 0's process comes, is shared, waits for sessions, and goes. Mirrors src/comm/embedded.c. What
 * ranks do with it is test_comm.c's, test_split.c's and test_comm_failure.c's. */
#include "comm_harness.h"

#include "comm/embedded.h"

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

static struct trib_embedded *acquire(const struct place *place)
{
    struct trib_embedded *embedded = NULL;
    error[0] = '\0';
    enum trib_status status = trib_embedded_acquire(&place->config, &place->address, &embedded, error);
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
    trib_embedded_release(elsewhere, TRIB_SECOND_NS);
    trib_embedded_release(NULL, TRIB_SECOND_NS);
    trib_embedded_release(first, TRIB_SECOND_NS);
    trib_embedded_release(first, TRIB_SECOND_NS);
    assert_true(serves(&place)); /* for the third share */
    trib_embedded_release(first, TRIB_SECOND_NS);
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
    assert_int_equal(trib_embedded_acquire(&place.config, &place.address, &embedded, error), TRIB_ERR_REFUSED);
    assert_non_null(strstr(error, "cannot listen at the rendezvous 127.0.0.1:"));
    assert_non_null(strstr(error, "in use"));
    assert_non_null(strstr(error, "(TRIB_RENDEZVOUS=HOST:PORT)"));
    assert_null(embedded);
    (void)close(fd);
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
    trib_embedded_release(embedded, TRIB_SECOND_NS);
    place = make_place("127.0.0.1"); /* and here only there */
    other.address = trib_address_v4(0x7f000102U, rendezvous_port);
    embedded = acquire(&place);
    assert_true(serves(&place) && !serves(&other));
    trib_embedded_release(embedded, TRIB_SECOND_NS);
}

static void release__waits_for_sessions_but_not_for_ever(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = acquire(&place);
    int fd = open_session(&place);
    assert_true(fd >= 0);
    (void)usleep(50000); /* it is accepted */
    uint64_t start = trib_clock_ns();
    trib_embedded_release(embedded, 100 * TRIB_MILLISECOND_NS);
    assert_in_range((trib_clock_ns() - start) / TRIB_MILLISECOND_NS, 100, 2000);
    assert_true(serves(&place)); /* it goes on for that session */
    assert_ptr_equal(acquire(&place), embedded);
    (void)close(fd);
    (void)usleep(50000);
    assert_true(serves(&place)); /* and for the new share without one */
    start = trib_clock_ns();
    trib_embedded_release(embedded, 10 * TRIB_SECOND_NS);
    assert_true(trib_clock_ns() - start < 5 * TRIB_SECOND_NS);
    assert_false(serves(&place));
}

/* Nobody holds it, and its last session ends: it ends by itself, and another one can have the port. */
static void release__leaves_one_that_ends_with_its_last_session(void **state)
{
    (void)state;
    struct place place = make_place("127.0.0.1");
    struct trib_embedded *embedded = acquire(&place);
    int fd = open_session(&place);
    (void)usleep(50000);
    trib_embedded_release(embedded, 0);
    (void)close(fd);
    for (unsigned i = 0; i < 500 && serves(&place); i++) {
        (void)usleep(10000);
    }
    embedded = acquire(&place);
    assert_true(serves(&place));
    trib_embedded_release(embedded, TRIB_SECOND_NS);
    assert_false(serves(&place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquire__shares_one_for_each_rendezvous),
        cmocka_unit_test(acquire__names_a_port_that_is_taken),
        cmocka_unit_test(acquire__listens_everywhere_for_a_name_of_the_loopback),
        cmocka_unit_test(release__waits_for_sessions_but_not_for_ever),
        cmocka_unit_test(release__leaves_one_that_ends_with_its_last_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
