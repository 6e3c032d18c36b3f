/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c: what many sessions cost a switch's control plane.
 *
 *   bench-sessions ADDRESS SESSIONS RANKS SECONDS PID
 *
 * SESSIONS connections, RANKS to a job, each job from a loopback address of its own, join the switch at ADDRESS, of which PID is the process. They
 * have no data plane: each says that its paths pass. When all run, each says a mark a second for SECONDS, as ranks do that wait. No answer may be
 * above the smallest mark that a rank of its job has said, nor below one before it, and each rank must hear the last mark of all. Prints one line of
 * JSON: seconds and CPU seconds of the joins, and cores, by the time that passed, of the process when idle and with marks,
 * CPU microseconds of a mark, and the memory that is of no file. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control/words/session_client.h"
#include "io/clock.h"
#include "net/resolve.h"

#define PAYLOAD 64
#define WINDOW 4096
#define BURSTS 100  /* in which the marks of a second leave */
#define AT_ONCE 512 /* connections under way */
#define PATIENCE_NS (300 * TRIB_SECOND_NS)

struct member {
    struct trib_session_client client;
    uint32_t number;
    uint32_t interest;
    uint64_t said;   /* the last mark */
    uint64_t heard;  /* the last M */
    bool has_joined; /* it has said JOIN */
};

static struct member *members;
static uint32_t sessions, ranks, opened, joined, ready;
static uint64_t answers;
static int set_fd;

static void end_bench(const char *why)
{
    printf("{\"error\": \"%s; %u of %u joined, %u ready\"}\n", why, joined, sessions, ready);
    exit(1);
}

static void say(struct member *member, enum trib_message_kind kind, uint64_t mark)
{
    member->said = mark;
    const struct trib_message message = {.kind = kind, .mark = {.mark = mark}};
    trib_session_client_send(&member->client, &message);
}

static void say_join(struct member *member)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    (void)snprintf(message.join.job, sizeof message.join.job, "sessions-%u", member->number / ranks);
    message.join.rank = member->number % ranks;
    for (uint32_t i = 0; i < TRIB_ROOTS_MAX; i++) {
        message.join.data_port[i] = (uint16_t)(1024 + member->number % ranks * TRIB_ROOTS_MAX + i);
    }
    (void)snprintf(message.join.settings.scheme, sizeof message.join.settings.scheme, "switchml");
    message.join.settings.ranks = ranks;
    message.join.settings.payload = PAYLOAD;
    message.join.settings.window = WINDOW;
    message.join.settings.wire = TRIB_WIRE_FLOAT32;
    trib_session_client_send(&member->client, &message);
}

static void open_member(uint32_t number, const struct trib_address *to)
{
    struct member *member = &members[number];
    uint32_t job = number / ranks;
    struct trib_address from = trib_address_v4(0x7f010001U + job, 0);
    member->number = number;
    trib_session_client_init(&member->client);
    trib_session_client_open(&member->client, to, &from, PATIENCE_NS);
    if (member->client.fd < 0) {
        end_bench(member->client.cause);
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = member};
    member->interest = event.events;
    (void)epoll_ctl(set_fd, EPOLL_CTL_ADD, member->client.fd, &event);
}

/* No switch can know that an operation has ended everywhere before each rank has said so. */
static void hear(struct member *member, uint64_t mark)
{
    const struct member *job = &members[member->number / ranks * ranks];
    char why[128];
    for (uint32_t i = 0; i < ranks; i++) {
        if (mark > job[i].said || mark < member->heard) {
            (void)snprintf(why, sizeof why, "member %u hears %llu after %llu, where member %u has said %llu",
                           member->number, (unsigned long long)mark, (unsigned long long)member->heard, job[i].number,
                           (unsigned long long)job[i].said);
            end_bench(why);
        }
    }
    member->heard = mark;
    answers++;
}

static void take(struct member *member)
{
    struct trib_message message;
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
    while (trib_session_client_next(&member->client, &message)) {
        if (message.kind == TRIB_MESSAGE_WELCOME) {
            joined++;
            trib_session_client_send(&member->client, &paths);
            say(member, TRIB_MESSAGE_REGISTER, 0);
        } else if (message.kind == TRIB_MESSAGE_READY) {
            ready++;
        } else if (message.kind == TRIB_MESSAGE_MARK) {
            hear(member, message.mark.mark);
        } else if (message.kind == TRIB_MESSAGE_FAIL) {
            end_bench(message.fail.text);
        } else if (message.kind == TRIB_MESSAGE_AWAY) {
            end_bench(message.note.text);
        }
    }
    if (member->client.state == TRIB_SESSION_LOST || member->client.state == TRIB_SESSION_FOREIGN) {
        end_bench(member->client.cause);
    }
}

static void set_interest(struct member *member)
{
    uint32_t interest = trib_session_client_interest(&member->client) & POLLOUT ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (interest != member->interest) {
        struct epoll_event event = {.events = interest, .data.ptr = member};
        member->interest = interest;
        (void)epoll_ctl(set_fd, EPOLL_CTL_MOD, member->client.fd, &event);
    }
}

static void serve(int wait_ms)
{
    static struct epoll_event events[4096];
    int count = epoll_wait(set_fd, events, 4096, wait_ms);
    for (int i = 0; i < count; i++) {
        struct member *member = events[i].data.ptr;
        short revents = (short)((events[i].events & EPOLLOUT ? POLLOUT : 0) |
                                (events[i].events & ~(uint32_t)EPOLLOUT ? POLLIN : 0));
        trib_session_client_ready(&member->client, revents);
        if (!member->has_joined && member->client.state == TRIB_SESSION_OPEN) {
            member->has_joined = true;
            say_join(member);
        }
        take(member);
        set_interest(member);
    }
}

/* Seconds of CPU. */
static double used(const char *pid)
{
    char path[64];
    char text[1024] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        (void)fread(text, 1, sizeof text - 1, file);
        (void)fclose(file);
    }
    const char *at = strrchr(text, ')');
    if (at == NULL || sscanf(at + 1, "%*s %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) {
        end_bench("no such process");
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* What the process had used at a time. */
struct use {
    double at_s;
    double cpu_s;
};

static struct use use_of(const char *pid)
{
    return (struct use){(double)trib_clock_ns() / 1e9, used(pid)};
}

static double cores(const struct use *from, const struct use *to)
{
    return (to->cpu_s - from->cpu_s) / (to->at_s - from->at_s);
}

/* Of memory that is of no file, at the moment. */
static double megabytes(const char *pid)
{
    char path[64];
    char line[128];
    double kilobytes = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/status", pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL && sscanf(line, "RssAnon: %lf", &kilobytes) != 1) {
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kilobytes / 1000;
}

static void serve_until(uint64_t end_ns)
{
    for (uint64_t now = trib_clock_ns(); now < end_ns; now = trib_clock_ns()) {
        serve((int)((end_ns - now) / TRIB_MILLISECOND_NS) + 1);
    }
}

static uint32_t count_deaf(uint64_t mark)
{
    uint32_t deaf = 0;
    for (uint32_t i = 0; i < sessions; i++) {
        deaf += members[i].heard < mark;
    }
    return deaf;
}

/* Until each member has heard it. */
static void await_mark(uint64_t mark)
{
    uint64_t limit = trib_clock_ns() + PATIENCE_NS;
    char why[64];
    for (uint32_t deaf = count_deaf(mark); deaf > 0; deaf = count_deaf(mark)) {
        if (trib_clock_ns() > limit) {
            (void)snprintf(why, sizeof why, "%u have not heard mark %llu", deaf, (unsigned long long)mark);
            end_bench(why);
        }
        serve(100);
    }
}

static void say_marks(uint32_t seconds)
{
    uint64_t begin = trib_clock_ns();
    for (uint32_t burst = 0; burst < seconds * BURSTS; burst++) {
        for (uint32_t i = burst % BURSTS; i < sessions; i += BURSTS) {
            say(&members[i], TRIB_MESSAGE_MARK, burst / BURSTS + 1);
            set_interest(&members[i]);
        }
        serve_until(begin + (burst + 1) * (TRIB_SECOND_NS / BURSTS));
    }
    await_mark(seconds);
}

static void join_all(const struct trib_address *to)
{
    uint64_t limit = trib_clock_ns() + PATIENCE_NS;
    while (ready < sessions) {
        while (opened < sessions && opened - joined < AT_ONCE + ranks) {
            open_member(opened++, to);
        }
        serve(100);
        if (trib_clock_ns() > limit) {
            end_bench("it takes too long");
        }
    }
}

int main(int argc, char **argv)
{
    struct trib_address to;
    struct rlimit files;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if (argc != 6) {
        (void)fputs("usage: bench-sessions ADDRESS SESSIONS RANKS SECONDS PID\n", stderr);
        return 2;
    }
    sessions = (uint32_t)strtoul(argv[2], NULL, 10);
    ranks = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t seconds = (uint32_t)strtoul(argv[4], NULL, 10);
    if (ranks == 0 || sessions == 0 || sessions % ranks != 0 || seconds == 0) {
        (void)fputs("sessions are whole jobs, for at least a second\n", stderr);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    members = calloc(sessions, sizeof *members);
    set_fd = epoll_create1(EPOLL_CLOEXEC);
    if (members == NULL || set_fd < 0 || trib_address_parse(argv[1], 0, &to, error) != TRIB_OK) {
        end_bench(error[0] != '\0' ? error : "no memory");
    }
    struct use start = use_of(argv[5]);
    join_all(&to);
    struct use all_ready = use_of(argv[5]);
    serve_until(trib_clock_ns() + seconds * TRIB_SECOND_NS);
    struct use idle_end = use_of(argv[5]);
    say_marks(seconds);
    struct use end = use_of(argv[5]);
    double took_s = end.at_s - idle_end.at_s;
    printf("{\"sessions\": %u, \"ranks\": %u, \"join_s\": %.2f, \"join_cpu_s\": %.2f, \"idle_cores\": %.3f, "
           "\"marks_s\": %.2f, \"marks_cores\": %.3f, \"mark_us\": %.1f, \"answers_s\": %.0f, \"anon_mb\": %.1f}\n",
           sessions, ranks, all_ready.at_s - start.at_s, all_ready.cpu_s - start.cpu_s, cores(&all_ready, &idle_end),
           took_s, cores(&idle_end, &end), 1e6 * (end.cpu_s - idle_end.cpu_s) / sessions / seconds,
           (double)answers / took_s, megabytes(argv[5]));
    return 0;
}
