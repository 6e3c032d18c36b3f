/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_server.c: the real control plane on loopback: bytes in pieces, over several connections at once, to the port of
 * the sessions and to that of HTTP. It must answer or close, and never hang: when we have said our last byte every
 * session ends within PATIENCE_S, and then the server still answers on both ports. Its decisions have a target of their
 * own, fuzz_jobs.c, which is a hundred times as fast. Script: a byte says which connection and how many bytes follow
 * for it. One server serves all inputs of a process. */
#include "fuzz/served.h"

#define CONNECTIONS 4 /* even: sessions, odd: HTTP */
#define QUIET_MS 5    /* and HTTP has said all */
#define EVENTS_MAX 64

static uint16_t port_of(uint32_t connection)
{
    return connection % 2 == 0 || trib_http_verbs() == NULL ? trib_server_port(server) : trib_server_http_port(server);
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
    if (trib_http_verbs() != NULL) {
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
