/* SPDX-License-Identifier: Apache-2.0 */
/* hello.c: how a rank reaches rank 0: its name, the connection, HELLO. Read next: rendezvous.c, gather.c. */
#include "host/hello.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/explain.h"

void trib_hello_fill(const struct trib_rendezvous *meeting, struct trib_hello *hello)
{
    const struct trib_config *config = meeting->config;
    memset(hello, 0, sizeof *hello);
    hello->magic = TRIB_HELLO_MAGIC;
    hello->version = TRIB_HOST_VERSION;
    hello->rank = config->rank;
    hello->key = meeting->key_id;
    hello->numbers[0] = config->ranks;
    hello->numbers[1] = config->payload;
    hello->numbers[2] = config->window;
    hello->numbers[TRIB_HELLO_WIRE] = (uint32_t)config->wire;
    (void)snprintf(hello->scheme, sizeof hello->scheme, "%s", config->scheme);
    (void)snprintf(hello->run, sizeof hello->run, "%s", config->run);
}

socklen_t trib_rendezvous_name(const struct trib_config *config, struct sockaddr_un *name)
{
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    /* The first byte stays 0: an abstract name, no file. */
    int len =
        snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "tributary/%u/%s", (unsigned)geteuid(), config->job);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

void trib_rendezvous_note_run(struct trib_rendezvous *meeting, const char *text)
{
    meeting->has_met_other_run = true;
    trib_explain(meeting->error, "%.*s", TRIB_ERROR_TEXT_MAX - 1, text);
}

int trib_rendezvous_connect(const struct trib_rendezvous *meeting, enum trib_status *status)
{
    struct sockaddr_un name;
    socklen_t len = trib_rendezvous_name(meeting->config, &name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        trib_explain(meeting->error, "cannot open a socket to rank 0: %s", trib_explain_errno(errno));
        *status = TRIB_ERR_SYSTEM;
        return -1;
    }
    if (connect(fd, (const struct sockaddr *)&name, len) != 0) {
        (void)close(fd);
        return -1;
    }
    if (!trib_passing_is_own_user(fd)) {
        trib_explain(meeting->error, "rank 0 of job %s on this host belongs to another user", meeting->config->job);
        *status = TRIB_ERR_REFUSED;
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool trib_rendezvous_say_hello(const struct trib_rendezvous *meeting, int fd, uint64_t deadline_ns)
{
    struct trib_hello hello;
    struct trib_passing message = {.data = &hello, .bytes = sizeof hello, .fds = {meeting->own_line}, .fd_count = 1};
    trib_hello_fill(meeting, &hello);
    return trib_pass(fd, &message, deadline_ns);
}

bool trib_rendezvous_protest(struct trib_rendezvous *meeting)
{
    enum trib_status status = TRIB_OK;
    struct trib_answer answer = {0};
    struct trib_passing message = {.data = &answer, .bytes = sizeof answer};
    uint64_t deadline_ns = trib_clock_ns() + TRIB_SECOND_NS;
    int fd = trib_rendezvous_connect(meeting, &status);
    if (fd < 0) {
        return status == TRIB_OK; /* the other rank 0 has just left */
    }
    bool is_heard = trib_rendezvous_say_hello(meeting, fd, deadline_ns) && trib_passing_wait(fd, POLLIN, deadline_ns) &&
                    trib_take_passed(fd, &message) > 0;
    (void)close(fd);
    if (!is_heard) {
        return true;
    }
    trib_passing_close(&message);
    if (answer.kind == TRIB_ANSWER_OTHER_RUN) {
        trib_rendezvous_note_run(meeting, answer.text);
    }
    return answer.kind == TRIB_ANSWER_OTHER_RUN;
}
