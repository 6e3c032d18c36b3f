/* SPDX-License-Identifier: Apache-2.0 */
/* test_nics.c: lists of addresses: as users write them, as a switch listens at them and names them to ranks, as ranks
 * send from them. Whole processes: tests/integration/nics.*.sh. */
#include "control_harness.h"

#include <poll.h>

#include "net/nics.h"
#include "net/resolve.h"

static char error[TRIB_ERROR_TEXT_MAX];

static struct trib_address address_of(const char *text)
{
    struct trib_address address;
    uint32_t bits;
    if (!trib_subnet_read(text, &address, &bits)) { /* which takes groups, too, but no port */
        assert_int_equal(trib_address_parse(text, 0, &address, NULL), TRIB_OK);
    }
    return address;
}

static void assert_address(const struct trib_address *address, const char *want)
{
    char text[64];
    trib_address_format(address, text);
    assert_string_equal(text, want);
}

/* ---- lists ---- */

static void list__in_order_with_one_port(void **state)
{
    (void)state;
    struct trib_address_list list;
    assert_int_equal(trib_address_list_parse("10.0.0.1,10.0.1.1,10.0.2.1", 7470, &list, error), TRIB_OK);
    assert_int_equal(list.count, 3);
    assert_address(&list.at[0], "10.0.0.1:7470");
    assert_address(&list.at[2], "10.0.2.1:7470");
    assert_int_equal(trib_address_list_parse("[fd00::1]:99,[fd00:1::1]:99", 7470, &list, error), TRIB_OK);
    assert_int_equal(list.count, 2);
    assert_address(&list.at[1], "[fd00:1::1]:99");
    assert_int_equal(trib_address_list_parse("0.0.0.0", 7470, &list, error), TRIB_OK); /* one is as ever */
    assert_int_equal(list.count, 1);
}

static void list__refuses_with_the_cause(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "is no list of addresses"},
        {"10.0.0.1,", "is no list of addresses"},
        {"10.0.0.1,,10.0.0.2", "is no list of addresses"},
        {"10.0.0.1,::1", "10.0.0.1:7470 and \"::1\": addresses of a list must all be IPv4, or all IPv6"},
        {"10.0.0.1,10.0.0.1", "\"10.0.0.1\" is named twice"},
        {"10.0.0.1:1,10.0.0.2:2", "\"10.0.0.2:2\" has another port than the first address: all addresses need port 1"},
        {"10.0.0.1,0.0.0.0", "mean all addresses"},
        {"10.0.0.1:70000", "has no valid port"},
        {"10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.8,10.0.0.9,10.0.0.10,10.0.0.11,10.0.0."
         "12,"
         "10.0.0.13,10.0.0.14,10.0.0.15,10.0.0.16,10.0.0.17",
         "more than 16 addresses"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_address_list list = {.count = 77};
        assert_int_equal(trib_address_list_parse(cases[i][0], 7470, &list, error), TRIB_ERR_INVALID);
        if (!strstr(error, cases[i][1])) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i][1], error);
        }
        assert_int_equal(list.count, 77);
    }
}

static void nics__by_address_and_interface(void **state)
{
    (void)state;
    struct trib_address_list list;
    const struct trib_address peer = address_of("127.0.0.1:7470");
    assert_int_equal(trib_nics_parse("127.0.0.2,lo", &peer, &list, error), TRIB_OK);
    assert_int_equal(list.count, 2);
    assert_address(&list.at[0], "127.0.0.2:0");
    assert_address(&list.at[1], "127.0.0.1:0");
}

static void nics__refuses_and_says_what_there_is(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"203.0.113.7", "\"203.0.113.7\" is no address of this machine, which has "},
        {"no-such-card", "\"no-such-card\" is neither an interface nor an address here; this machine has "},
        {"127.0.0.1:7470", "is neither an interface nor an address here"},
        {"::1", "\"::1\" is no IPv4 address, as the place to meet is; this machine has "},
        {"0.0.0.0", "\"0.0.0.0\" is no address of this machine"},
        {"lo,127.0.0.1", "\"127.0.0.1\" is named twice"},
        {"lo,", "is no list of addresses or interfaces"},
    };
    const struct trib_address peer = address_of("127.0.0.1:7470");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_address_list list = {.count = 77};
        assert_int_equal(trib_nics_parse(cases[i][0], &peer, &list, error), TRIB_ERR_INVALID);
        if (!strstr(error, cases[i][1])) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i][1], error);
        }
        assert_int_equal(list.count, 77);
    }
}

static void describe__fits(void **state)
{
    (void)state;
    char text[300];
    char small[8];
    trib_nics_describe(AF_INET, text, sizeof text);
    assert_non_null(strstr(text, "lo 127.0.0.1"));
    trib_nics_describe(AF_INET, small, sizeof small);
    assert_true(strlen(small) < sizeof small);
}

/* ---- a switch at a list ---- */

static int start(void **state)
{
    (void)control_set_up(state);
    struct control *c = *state;
    c->config.also = (struct trib_address_list){.count = 1, .at = {address_of("127.0.0.2")}};
    control_start(c);
    return 0;
}

static int join_at(const struct control *c, uint32_t host, const struct trib_message *join)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr.s_addr = htonl(host)};
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    send_message(fd, join);
    return fd;
}

/* Sessions at both; WELCOME names both; packets of shard 1 come from where JOIN says. */
static void listen__at_each_and_names_them(void **state)
{
    struct control *c = *state;
    int fd[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = join_message(i, 2);
        join.join.address_count = i == 0 ? 2 : 0;
        join.join.address[0] = address_of("127.0.0.3");
        join.join.address[1] = address_of("127.0.0.4");
        fd[i] = join_at(c, 0x7f000001U + i, &join);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message welcome = expect(fd[i], TRIB_MESSAGE_WELCOME);
        char want[64];
        assert_int_equal(welcome.welcome.root_count, 2);
        assert_false(welcome.welcome.no_box);
        (void)snprintf(want, sizeof want, "127.0.0.1:%u", c->port);
        assert_address(&welcome.welcome.root[0], want);
        (void)snprintf(want, sizeof want, "127.0.0.2:%u", c->port + 1);
        assert_address(&welcome.welcome.root[1], want);
    }
    pthread_mutex_lock(&c->recorder.lock);
    assert_address(&c->recorder.addresses[0][0], "127.0.0.3:20000");
    assert_address(&c->recorder.addresses[0][1], "127.0.0.4:21000");
    assert_address(&c->recorder.addresses[1][0], "127.0.0.1:20001");
    assert_address(&c->recorder.addresses[1][1], "127.0.0.1:21001");
    pthread_mutex_unlock(&c->recorder.lock);
    close(fd[0]);
    close(fd[1]);
}

/* Packets go to nobody who cannot be the rank. */
static void join__from_what_no_rank_sends_from(void **state)
{
    struct control *c = *state;
    static const char *const places[] = {"0.0.0.0", "239.1.2.3", "255.255.255.255", "10.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct trib_message join = join_message(0, 2);
        char want[128];
        join.join.address_count = 1;
        join.join.address[0] = address_of(places[i]);
        (void)snprintf(want, sizeof want, "rank 0 comes from 127.0.0.1:");
        expect_fail(join_at(c, 0x7f000001U, &join), TRIB_ERR_INVALID, want);
    }
}

/* ---- packets ---- */

/* The socket is bound to none; the packet, and the train, leave from where the place says. */
static void send__from_the_source_of_the_place(void **state)
{
    (void)state;
    for (int family = 4; family <= 6; family += 2) {
        struct trib_port_config config = {.payload = TRIB_PAYLOAD_MAX, .buffer = 1 << 20, .trains = true};
        struct trib_port *sender = NULL;
        struct trib_port *receiver = NULL;
        struct trib_address to;
        struct trib_arrival arrival;
        uint32_t got = 0;
        config.local = address_of(family == 4 ? "127.0.0.1:0" : "[::1]:0");
        if (family == 6 && !trib_address_is_local(&config.local)) {
            continue; /* no IPv6 here */
        }
        assert_int_equal(trib_port_open(&config, &receiver, error), TRIB_OK);
        trib_port_local(receiver, &to);
        config.local = address_of(family == 4 ? "0.0.0.0:0" : "[::]:0");
        assert_int_equal(trib_port_open(&config, &sender, error), TRIB_OK);
        const struct trib_address from = address_of(family == 4 ? "127.0.0.9" : "::1");
        trib_address_set_source(&to, &from);
        const struct trib_packet packet = {.kind = TRIB_PROBE, .communicator = 1};
        for (int i = 0; i < 3; i++) {
            trib_port_send(sender, &packet, &to, 1);
        }
        trib_port_flush(sender);
        trib_port_send(sender, &packet, &to, 1);
        trib_port_flush(sender);
        for (int tries = 0; tries < 100 && got < 4; tries++) {
            struct pollfd readable = {.fd = trib_port_fd(receiver), .events = POLLIN};
            (void)poll(&readable, 1, 40);
            while (trib_port_receive(receiver, 0)) {
                while (trib_port_next(receiver, &arrival)) {
                    assert_true(trib_address_same_host(arrival.from, &from));
                    got++;
                }
            }
        }
        assert_int_equal(got, 4);
        trib_port_close(sender);
        trib_port_close(receiver);
    }
}

/* Of another family, or of none, it says nothing. */
static void set_source__of_no_use(void **state)
{
    (void)state;
    static const uint8_t zeros[16];
    struct trib_address to = address_of("127.0.0.1:1");
    const struct trib_address from = address_of("127.0.0.9");
    const struct trib_address six = address_of("::1");
    const struct trib_address any = address_of("0.0.0.0");
    trib_address_set_source(&to, &from);
    assert_memory_not_equal(to.source, zeros, sizeof zeros);
    trib_address_set_source(&to, &six);
    assert_memory_equal(to.source, zeros, sizeof zeros);
    trib_address_set_source(&to, &from);
    trib_address_set_source(&to, &any);
    assert_memory_equal(to.source, zeros, sizeof zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__in_order_with_one_port),
        cmocka_unit_test(list__refuses_with_the_cause),
        cmocka_unit_test(nics__by_address_and_interface),
        cmocka_unit_test(nics__refuses_and_says_what_there_is),
        cmocka_unit_test(describe__fits),
        cmocka_unit_test_setup_teardown(listen__at_each_and_names_them, start, control_tear_down),
        cmocka_unit_test_setup_teardown(join__from_what_no_rank_sends_from, start, control_tear_down),
        cmocka_unit_test(send__from_the_source_of_the_place),
        cmocka_unit_test(set_source__of_no_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
