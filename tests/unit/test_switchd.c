/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchd.c: the daemon from start to stop. What it does in between is tested in test_plane.c and
 * test_server.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/words.h"
#include "net/port.h"
#include "net/resolve.h"
#include "patience.h"
#include "switchd/switchd.h"

struct daemon {
    struct trib_switchd_config config;
    enum trib_status status;
    char error[TRIB_ERROR_TEXT_MAX];
    pthread_t thread;
    int ready[2];
    uint16_t port;
};

static void *run(void *argument)
{
    struct daemon *daemon = argument;
    daemon->status = trib_switchd_run(&daemon->config, daemon->error);
    return NULL;
}

static void start(struct daemon *daemon, uint32_t threads)
{
    char text[16] = "";
    memset(daemon, 0, sizeof *daemon);
    trib_switchd_init(&daemon->config);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &daemon->config.listen, NULL), TRIB_OK);
    assert_int_equal(pipe(daemon->ready), 0);
    daemon->config.ready_fd = daemon->ready[1];
    daemon->config.threads = threads;
    assert_int_equal(pthread_create(&daemon->thread, NULL, run, daemon), 0);
    struct pollfd readable = {.fd = daemon->ready[0], .events = POLLIN};
    assert_int_equal(poll(&readable, 1, 5000 * (int)patience()), 1);
    ssize_t len = read(daemon->ready[0], text, sizeof text - 1);
    assert_true(len > 1);
    assert_int_equal(text[len - 1], '\n');
    daemon->port = (uint16_t)strtoul(text, NULL, 10);
    assert_int_not_equal(daemon->port, 0);
}

static void stop(struct daemon *daemon)
{
    trib_switchd_stop();
    assert_int_equal(pthread_join(daemon->thread, NULL), 0);
    assert_int_equal(daemon->status, TRIB_OK);
    (void)close(daemon->ready[0]);
    (void)close(daemon->ready[1]);
}

static int connect_to(uint16_t port)
{
    struct trib_address address;
    assert_int_equal(trib_address_parse("127.0.0.1", port, &address, NULL), TRIB_OK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address.storage, address.len), 0);
    return fd;
}

static void run__serves_and_stops(void **state)
{
    (void)state;
    struct daemon daemon;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        start(&daemon, threads);
        int fd = connect_to(daemon.port);
        for (uint16_t i = 0; i < threads; i++) { /* the data's ports are taken */
            struct trib_port_config config = {.payload = 64};
            struct trib_port *udp = NULL;
            assert_int_equal(trib_address_parse("127.0.0.1", (uint16_t)(daemon.port + i), &config.local, NULL),
                             TRIB_OK);
            assert_int_equal(trib_port_open(&config, &udp, NULL), TRIB_ERR_SYSTEM);
        }
        stop(&daemon);
        (void)close(fd);
    }
}

/* A rank that joins when ranks are 1 gets its WELCOME: control plane and data plane are joined up. */
static void run__welcomes_a_rank(void **state)
{
    (void)state;
    struct daemon daemon;
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    uint8_t buffer[TRIB_MESSAGE_MAX];
    size_t used = 0;
    start(&daemon, 1);
    int fd = connect_to(daemon.port);
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    message.join.data_port[0] = 40000;
    message.join.settings =
        (struct trib_settings){.scheme = "switchml", .ranks = 1, .payload = 1408, .wire = TRIB_FLOAT32};
    memcpy(message.join.job, "alone", 6);
    size_t len = trib_message_encode(&message, buffer);
    assert_int_equal(write(fd, buffer, len), (ssize_t)len);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&readable, 1, 3000 * (int)patience()), 1);
    ssize_t got = read(fd, buffer, sizeof buffer);
    assert_true(got > 0);
    assert_int_equal(trib_message_decode(buffer, (size_t)got, &message, &used), TRIB_OK);
    if (message.kind == TRIB_MESSAGE_FAIL) {
        fail_msg("%s", message.fail.text);
    }
    assert_int_equal(message.kind, TRIB_MESSAGE_WELCOME);
    assert_int_equal(message.welcome.grant.data_port, daemon.port);
    assert_int_equal(message.welcome.grant.roots, 1);
    assert_int_not_equal(message.welcome.grant.boot, 0);
    (void)close(fd);
    stop(&daemon);
}

static void run__names_what_is_wrong(void **state)
{
    (void)state;
    struct daemon daemon;
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    start(&daemon, 1);
    trib_switchd_init(&config);
    assert_int_equal(trib_address_parse("127.0.0.1", daemon.port, &config.listen, NULL), TRIB_OK);
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_SYSTEM);
    assert_non_null(strstr(error, "in use"));
    stop(&daemon);
    config.threads = 1;
    config.also.count = 1; /* 0 would be as many as addresses */
    config.also.at[0] = trib_address_v4(0x7f000002U, daemon.port);
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "1 threads for 2 addresses"));
    config.also.count = 0;
    config.threads = TRIB_ROOTS_MAX + 1;
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "threads"));
    config.threads = 2;
    trib_address_set_port(&config.listen, 65535);
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "2 shards need port 65535 and the following ports: choose port 65534 or lower"));
    config.threads = 1;
    assert_int_equal(trib_address_parse("192.0.2.1:0", 0, &config.listen, NULL), TRIB_OK); /* nobody's (RFC 5737) */
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_SYSTEM);
    assert_non_null(strstr(error, "is it an address of this machine?"));
    config.dscp = 64;
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_INVALID);
    config.dscp = 0;
    config.group = 0x0a000001;
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_INVALID);
}

static void run__refuses_a_parent_that_cannot_be(void **state)
{
    (void)state;
    const struct {
        const char *listen, *parent, *error;
    } rows[] = {
        {"127.0.0.1:17990", "127.0.0.1:17990", "is this switch itself"},
        {"0.0.0.0:17990", "127.0.0.1:17990", "is this switch itself"},
        {"0.0.0.0:17990", "0.0.0.0:17990", "is not the address of a host"},
        {"127.0.0.1:17990", "239.1.1.1:17991", "is not the address of a host"},
        {"127.0.0.1:17990", "127.0.0.1:0", "has no port"},
        {"127.0.0.1:17990", "[::1]:17991", "both be IPv4 or both IPv6"},
        {"[::1]:17990", "127.0.0.1:17991", "both be IPv4 or both IPv6"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trib_switchd_config config;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        trib_switchd_init(&config);
        assert_int_equal(trib_address_parse(rows[i].listen, 0, &config.listen, NULL), TRIB_OK);
        assert_true(trib_address_read(rows[i].parent, &config.parent));
        assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_INVALID);
        assert_non_null(strstr(error, rows[i].error));
    }
}

/* Found when the switch starts: else each job behind it would end. */
static void run__refuses_a_pool_that_has_no_memory(void **state)
{
    (void)state;
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    trib_switchd_init(&config);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL), TRIB_OK);
    assert_true(trib_address_read("127.0.0.1:1", &config.parent));
    config.pool = UINT64_C(1) << 60;
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_MEMORY);
    assert_non_null(strstr(error, "--pool"));
    config.pool = UINT64_MAX / 2;
    assert_int_equal(trib_switchd_run(&config, error), TRIB_ERR_MEMORY);
}

static void stop__before_run_ends_it(void **state)
{
    (void)state;
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    trib_switchd_init(&config);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL), TRIB_OK);
    trib_switchd_stop();
    assert_int_equal(trib_switchd_run(&config, error), TRIB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__serves_and_stops),
        cmocka_unit_test(run__welcomes_a_rank),
        cmocka_unit_test(run__names_what_is_wrong),
        cmocka_unit_test(run__refuses_a_parent_that_cannot_be),
        cmocka_unit_test(run__refuses_a_pool_that_has_no_memory),
        cmocka_unit_test(stop__before_run_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
