/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_server.c: the real control plane on loopback: bytes in pieces, over several connections at once, to the port of
 * the sessions and to that of HTTP. It must answer or close, and never hang: when we have said our last byte every
 * session ends within PATIENCE_S, and then the server still answers on both ports. Its decisions have a target of their
 * own, fuzz_jobs.c, which is a hundred times as fast. Script: a byte says which connection and how many bytes follow
 * for it. One server serves all inputs of a process. */
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

#define CONNECTIONS 4 /* even: sessions, odd: HTTP */
#define PATIENCE_S 20 /* a machine under load may take its time */
#define QUIET_MS 5    /* and HTTP has said all */
#define EVENTS_MAX 64

static struct accounts accounts;
static struct trib_server *server;
static pthread_t thread;

static void *serve(void *argument)
{
    trib_server_run(argument);
    return NULL;
}

static void stop(void)
{
    trib_server_stop(server);
    (void)pthread_join(thread, NULL);
    trib_server_destroy(server);
    must(accounts_open(&accounts) == 0, "server: a communicator is open behind its end");
}

/* libFuzzer's, each few seconds: it would end a connect or a recv of ours early. That nothing hangs is looked at here. */
static void block_alarms(void)
{
    sigset_t alarms;
    (void)sigemptyset(&alarms);
    (void)sigaddset(&alarms, SIGALRM);
    must(pthread_sigmask(SIG_BLOCK, &alarms, NULL) == 0, "server: alarms are not blocked");
}

static void start(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_server_config config = {
        .shards = 2,
        .boot = 0xb0070000U,
        .memory_quota = 64U << 20,
        .job_quota = 48U << 20,
        .receive_room = 4U << 20,
        .join_timeout_ns = TRIB_SECOND_NS,
        .plane = accounts_plane(&accounts),
    };

    must(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL) == TRIB_OK, "server: no address");
    if (trib_server_has_http()) {
        config.http = config.listen;
        config.http_verbs = trib_http_verbs();
    }
    trib_log_set_default(TRIB_LOG_NONE);
    block_alarms();
    must(trib_server_create(&config, &server, error) == TRIB_OK, error);
    must(pthread_create(&thread, NULL, serve, server) == 0, "server: no thread");
    (void)atexit(stop);
}

static int open_connection(uint16_t port)
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

static uint16_t port_of(uint32_t connection)
{
    return connection % 2 == 0 || !trib_server_has_http() ? trib_server_port(server) : trib_server_http_port(server);
}

static void read_to_end(int fd)
{
    char bytes[4096];
    uint64_t until_ns = trib_clock_ns() + PATIENCE_S * TRIB_SECOND_NS;
    ssize_t got = 1;

    while (got > 0) {
        got = recv(fd, bytes, sizeof bytes, 0);
        must(trib_clock_ns() < until_ns, "server: neither answers nor closes");
    }
}

/* HTTP may wait for the rest of a request for as long as its idle time (control/server/http.c), we do not. */
static void read_what_comes(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    char bytes[4096];

    while (poll(&readable, 1, QUIET_MS) > 0 && recv(fd, bytes, sizeof bytes, 0) > 0) {
    }
}

/* A session that says nonsense is ended at once, and a question is answered. */
static void check_alive(void)
{
    static const char nonsense[] = "nonsense";
    static const char question[] = "GET /healthz HTTP/1.0\r\n\r\n";
    char answer[16] = "";
    int fd = open_connection(trib_server_port(server));

    (void)send(fd, nonsense, sizeof nonsense, MSG_NOSIGNAL);
    read_to_end(fd);
    (void)close(fd);
    if (trib_server_has_http()) {
        fd = open_connection(trib_server_http_port(server));
        must(send(fd, question, sizeof question - 1, MSG_NOSIGNAL) == (ssize_t)sizeof question - 1,
             "server: http takes no question");
        must(recv(fd, answer, sizeof answer - 1, MSG_WAITALL) > 12 && strncmp(answer + 9, "200", 3) == 0,
             "server: http does not answer");
        (void)close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fds[CONNECTIONS] = {-1, -1, -1, -1};

    if (server == NULL) {
        start();
    }
    for (uint32_t i = 0; size > 0 && i < EVENTS_MAX; i++) {
        uint32_t which = data[0] % CONNECTIONS;
        size_t len = data[0] / CONNECTIONS * 4U;
        data++;
        size--;
        len = len < size ? len : size;
        if (fds[which] < 0) {
            fds[which] = open_connection(port_of(which));
        }
        (void)send(fds[which], data, len, MSG_NOSIGNAL);
        data += len;
        size -= len;
    }
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        if (fds[i] >= 0) {
            (void)shutdown(fds[i], SHUT_WR);
        }
    }
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        if (fds[i] >= 0) {
            (i % 2 == 0 ? read_to_end : read_what_comes)(fds[i]);
            (void)close(fds[i]);
        }
    }
    check_alive();
    return 0;
}
