/* SPDX-License-Identifier: Apache-2.0 */
/* served.h: a real control plane on loopback for fuzz targets: one serves all inputs of a process. It must answer or
 * close, and never hang. */
#ifndef TRIB_TESTS_FUZZ_SERVED_H
#define TRIB_TESTS_FUZZ_SERVED_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/server/http.h"
#include "fuzz/accounts.h"
#include "fuzz/fuzz.h"
#include "io/clock.h"
#include "io/log.h"
#include "net/resolve.h"

#define PATIENCE_S 20 /* a machine under load may take its time */

static struct accounts accounts;
static struct trib_server *server;
static pthread_t thread;
static struct trib_address parent; /* len 0: it has none */

static inline void *serve(void *argument)
{
    trib_server_run(argument);
    return NULL;
}

static inline void stop(void)
{
    trib_server_stop(server);
    (void)pthread_join(thread, NULL);
    trib_server_destroy(server);
    must(accounts_open(&accounts) == 0, "server: a communicator is open behind its end");
}

/* libFuzzer's, each few seconds: it would end a connect or a recv of ours early. That nothing hangs is looked at here. */
static inline void block_alarms(void)
{
    sigset_t alarms;
    (void)sigemptyset(&alarms);
    (void)sigaddset(&alarms, SIGALRM);
    must(pthread_sigmask(SIG_BLOCK, &alarms, NULL) == 0, "server: alarms are not blocked");
}

static inline void start(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_server_config config = {
        .shards = 2,
        .boot = 0xb0070000U,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .join_timeout_ns = TRIB_SECOND_NS,
        .parent = parent,
        .identity = 7,
        .plane = accounts_plane(&accounts),
    };

    must(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL) == TRIB_OK, "server: no address");
    if (trib_http_verbs() != NULL) {
        config.http = config.listen;
        config.http_verbs = trib_http_verbs();
    }
    trib_log_set_default(TRIB_LOG_NONE);
    block_alarms();
    must(trib_server_create(&config, &server, error) == TRIB_OK, error);
    must(pthread_create(&thread, NULL, serve, server) == 0, "server: no thread");
    (void)atexit(stop);
}

static inline int open_connection(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct linger reset = {.l_onoff = 1};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(fd >= 0, "server: no socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset); /* or the machine runs out of ports */
    must(connect(fd, (struct sockaddr *)(void *)&to, sizeof to) == 0, "server: does not take a connection");
    return fd;
}

static inline void read_to_end(int fd)
{
    char bytes[4096];
    uint64_t until_ns = trib_clock_ns() + PATIENCE_S * TRIB_SECOND_NS;
    ssize_t got = 1;

    while (got > 0) {
        got = recv(fd, bytes, sizeof bytes, 0);
        must(trib_clock_ns() < until_ns, "server: neither answers nor closes");
    }
}

#endif
