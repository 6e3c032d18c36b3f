/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_path.c: the way to the switch, tried as a job of one rank: a session (control/words/words.h), then path
 * probes of every size that answers a question, each sent back by the switch at its own size. The session ends with
 * CLOSE, so the switch has nothing to complain about. Read next: comm/join.c (the same dialogue, in a worker). */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "control/words/session_client.h"
#include "io/clock.h"
#include "io/draw.h"
#include "io/explain.h"
#include "io/units.h"
#include "net/nics.h"
#include "net/resolve.h"
#include "net/socket.h"

#define TRIES 4 /* of each probe, before it counts as lost */
#define TRIPS 32
#define ECT0 2

struct path {
    struct doctor *doctor;
    struct trib_session_client session;
    struct trib_address address; /* of the switch; the port of its sessions */
    struct trib_grant grant;
    struct trib_address shard[TRIB_ROOTS_MAX];
    struct trib_address_list nics; /* of this host, that were named */
    struct trib_auth *auth;        /* of packets, with a key; else NULL */
    uint32_t sockets;
    int fd[TRIB_ROOTS_MAX];         /* UDP: one, or one for each of those */
    uint64_t own_nonce;             /* which each is to send back */
    uint64_t nonce[TRIB_ROOTS_MAX]; /* of each shard, which sends nothing of size without it; 0: none yet */
    uint64_t lane;                  /* of the last answer */
    int tos;                        /* of the last answer; -1: unknown */
    uint64_t trip_ns;               /* of the last answer */
    int send_errno;                 /* of the last probe that could not even be sent */
    uint64_t patience_ns;           /* for one answer */
};

/* ---- the session ---- */

/* Waits for one message. False: none in time, or the session ended; the session's cause says why. */
static bool await(struct path *path, struct trib_message *message)
{
    uint64_t end_ns = trib_clock_ns() + path->doctor->timeout_ns;

    for (;;) {
        if (trib_session_client_next(&path->session, message)) {
            return true;
        }
        short interest = trib_session_client_interest(&path->session);
        uint64_t now_ns = trib_clock_ns();
        if (interest == 0 || now_ns >= end_ns) {
            return false;
        }
        struct pollfd poll_fd = {.fd = path->session.fd, .events = interest};
        (void)poll(&poll_fd, 1, (int)((end_ns - now_ns) / TRIB_MILLISECOND_NS) + 1);
        trib_session_client_ready(&path->session, poll_fd.revents);
    }
}

static bool connect_session(struct path *path)
{
    uint64_t end_ns = trib_clock_ns() + path->doctor->timeout_ns;

    trib_session_client_open(&path->session, &path->address, NULL, path->doctor->timeout_ns);
    while (path->session.state == TRIB_SESSION_CONNECTING) {
        uint64_t now_ns = trib_clock_ns();
        if (now_ns >= end_ns) {
            (void)snprintf(path->session.cause, sizeof path->session.cause, "no answer");
            return false;
        }
        struct pollfd poll_fd = {.fd = path->session.fd, .events = POLLOUT};
        (void)poll(&poll_fd, 1, (int)((end_ns - now_ns) / TRIB_MILLISECOND_NS) + 1);
        trib_session_client_ready(&path->session, poll_fd.revents);
    }
    return path->session.state == TRIB_SESSION_OPEN;
}

static void send_join(struct path *path, const uint16_t *ports)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};

    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    (void)snprintf(message.join.job, sizeof message.join.job, "doctor-%ld-%llx", (long)getpid(),
                   (unsigned long long)trib_clock_ns());
    memcpy(message.join.data_port, ports, path->sockets * sizeof *ports);
    message.join.address_count = (uint8_t)path->nics.count;
    memcpy(message.join.address, path->nics.at, sizeof message.join.address);
    /* Every switch takes this scheme, also one that only combines. */
    (void)snprintf(message.join.settings.scheme, sizeof message.join.settings.scheme, "ps");
    message.join.key = trib_key_id_number(&path->doctor->keys);
    message.join.settings.ranks = 1;
    message.join.settings.payload = TRIB_PAYLOAD_MAX; /* so that the switch echoes all sizes */
    message.join.settings.window = 4 * (TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX);
    message.join.settings.wire = TRIB_WIRE_FLOAT32;
    trib_session_client_send(&path->session, &message);
}

/* The keys of WELCOME, of one rank. False: no memory, or OpenSSL lacks something. */
static bool take_auth(struct path *path, const struct trib_message *welcome)
{
    const struct trib_sender_keys *keys = &welcome->welcome.auth;

    if (!trib_auth_is_set(keys->own)) {
        return true;
    }
    path->auth = trib_auth_create(keys->own, trib_auth_rank(0), path->grant.roots, keys->encrypts);
    bool is_done = path->auth != NULL;
    for (uint32_t i = 0; is_done && i < path->grant.roots; i++) {
        is_done = trib_auth_set_above(path->auth, i, trib_auth_switch(keys->parent, i), keys->heard);
    }
    if (!is_done) {
        (void)doctor_add(path->doctor, DOCTOR_FAIL, "session", "authenticated packets need OpenSSL with AES-256");
    }
    return is_done;
}

/* From JOIN to WELCOME. */
static bool be_admitted(struct path *path, const uint16_t *ports)
{
    struct trib_message message;

    send_join(path, ports);
    if (!await(path, &message)) {
        bool is_foreign = path->session.state == TRIB_SESSION_FOREIGN;
        struct doctor_finding *finding =
            doctor_add(path->doctor, DOCTOR_FAIL, "session", "TCP port %u of %s answers, but not %s: %s",
                       trib_address_port(&path->address), path->doctor->switch_address,
                       path->doctor->keys.is_set ? "to this key" : "as a switch",
                       path->session.cause[0] != '\0' ? path->session.cause : "no answer to JOIN");
        doctor_advise(finding, "%s",
                      is_foreign && path->doctor->keys.is_set ? "see TRIB_KEY_FILE here, and --keys of the switch"
                      : is_foreign                            ? "another program has this port: name the switch's"
                                                              : "look at the switch's log");
        return false;
    }
    if (message.kind != TRIB_MESSAGE_WELCOME) {
        const char *text = message.kind == TRIB_MESSAGE_FAIL   ? message.fail.text
                           : message.kind == TRIB_MESSAGE_AWAY ? message.note.text
                                                               : "an answer out of turn";
        (void)doctor_add(path->doctor, DOCTOR_FAIL, "session", "the switch refuses a job of one rank: %.250s", text);
        return false;
    }
    path->grant = message.welcome.grant;
    for (uint32_t i = 0; i < path->grant.roots && i < TRIB_ROOTS_MAX; i++) {
        path->shard[i] = path->address;
        trib_address_set_port(&path->shard[i], (uint16_t)(path->grant.data_port + i));
        if (message.welcome.root_count > i) { /* at several addresses, or at other switches as well */
            path->shard[i] = message.welcome.root[i];
        }
    }
    (void)doctor_add(path->doctor, DOCTOR_OK, "session",
                     "the switch admits jobs: %u shard%s, a window of %u packets of %u bytes", path->grant.roots,
                     path->grant.roots == 1 ? "" : "s", path->grant.window, TRIB_PAYLOAD_MAX);
    return take_auth(path, &message);
}

/* PATHS, REGISTER, READY, CLOSE, CLOSED: so that the switch sees a job that ended well. */
static void leave(struct path *path)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};

    trib_session_client_send(&path->session, &message);
    message = (struct trib_message){.kind = TRIB_MESSAGE_REGISTER};
    trib_session_client_send(&path->session, &message);
    if (await(path, &message) && message.kind == TRIB_MESSAGE_READY) {
        message = (struct trib_message){.kind = TRIB_MESSAGE_CLOSE};
        trib_session_client_send(&path->session, &message);
        while (await(path, &message) && message.kind != TRIB_MESSAGE_CLOSED) {
        }
    }
}

/* ---- path probes ---- */

static bool send_probe(struct path *path, uint32_t shard, uint32_t payload)
{
    static const uint8_t zeros[TRIB_PAYLOAD_MAX];
    uint8_t header[TRIB_HEADER_SIZE];
    uint8_t authenticator[TRIB_AUTHENTICATOR_SIZE];
    struct trib_address to = path->shard[shard];
    const struct trib_packet packet = {
        .kind = TRIB_PATH,
        .communicator = path->grant.communicator,
        .generation = path->grant.generation,
        .boot = path->grant.boot,
        .lane = path->own_nonce,
        .bitmap = path->nonce[shard],
        .payload = payload > 0 ? zeros : NULL,
        .payload_len = (uint16_t)payload,
        .authenticated = path->auth != NULL,
    };
    struct iovec parts[3] = {
        {header, sizeof header}, {(void *)(uintptr_t)zeros, payload}, {authenticator, sizeof authenticator}};
    const struct msghdr message = {
        .msg_name = &to.storage,
        .msg_namelen = to.len,
        .msg_iov = parts,
        .msg_iovlen = path->auth != NULL ? 3 : 2,
    };

    trib_packet_encode(&packet, header);
    if (path->auth != NULL) {
        trib_auth_seal(path->auth, trib_auth_peer(path->auth, shard), header, zeros, payload, authenticator);
    }
    if (sendmsg(path->fd[shard % path->sockets], &message, 0) < 0) {
        path->send_errno = errno;
        return false;
    }
    return true;
}

static int read_tos(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            uint8_t tos;
            memcpy(&tos, CMSG_DATA(c), sizeof tos);
            return tos;
        }
        if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            int tos;
            memcpy(&tos, CMSG_DATA(c), sizeof tos);
            return tos;
        }
    }
    return -1;
}

/* One datagram, if it is the answer to a probe of this size from this shard. */
static bool read_answer(struct path *path, uint32_t shard, uint32_t payload)
{
    static uint8_t data[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX + TRIB_AUTHENTICATOR_SIZE];
    union {
        struct cmsghdr align;
        char bytes[128];
    } control;
    struct trib_address from = {.len = sizeof from.storage};
    struct iovec part = {data, sizeof data};
    struct msghdr message = {
        .msg_name = &from.storage,
        .msg_namelen = sizeof from.storage,
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    struct trib_packet packet;
    ssize_t got = recvmsg(path->fd[shard % path->sockets], &message, MSG_DONTWAIT);

    if (got < 0 || trib_packet_decode(data, (size_t)got, &packet) != TRIB_DROP_NONE || packet.kind != TRIB_PATH ||
        packet.communicator != path->grant.communicator || packet.payload_len != payload ||
        packet.bitmap != path->own_nonce || !trib_address_same_host(&from, &path->shard[shard]) ||
        trib_address_port(&from) != trib_address_port(&path->shard[shard]) ||
        (packet.authenticated != 0) != (path->auth != NULL)) {
        return false;
    }
    if (path->auth != NULL && trib_auth_check(path->auth, shard, data, (size_t)got) != TRIB_DROP_NONE) {
        return false;
    }
    path->tos = read_tos(&message);
    path->lane = packet.lane;
    return true;
}

/* Does a packet come back, with so much payload? */
static bool comes_back(struct path *path, uint32_t shard, uint32_t payload)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin_ns = trib_clock_ns();
        if (!send_probe(path, shard, payload)) {
            return false; /* larger than the path, says the kernel, or no route: trying again is no use */
        }
        for (;;) {
            uint64_t waited_ns = trib_clock_ns() - begin_ns;
            if (waited_ns >= path->patience_ns) {
                break;
            }
            struct pollfd poll_fd = {.fd = path->fd[shard % path->sockets], .events = POLLIN};
            (void)poll(&poll_fd, 1, (int)((path->patience_ns - waited_ns) / TRIB_MILLISECOND_NS) + 1);
            if (read_answer(path, shard, payload)) {
                path->trip_ns = trib_clock_ns() - begin_ns;
                return true;
            }
        }
    }
    return false;
}

/* Does a packet of this size come back? */
static bool passes(struct path *path, uint32_t shard, uint32_t payload)
{
    if (path->nonce[shard] == 0 && comes_back(path, shard, 0)) {
        path->nonce[shard] = path->lane;
    }
    return comes_back(path, shard, payload);
}

static void tell_silent(struct path *path, uint32_t shard)
{
    char text[64];
    trib_address_format(&path->shard[shard], text);
    struct doctor_finding *finding = doctor_add(
        path->doctor, DOCTOR_FAIL, "UDP", "no answer from shard %u, which is at %s, UDP%s%s", shard, text,
        path->send_errno != 0 ? ": " : "", path->send_errno != 0 ? trib_explain_errno(path->send_errno) : "");
    if (trib_address_same_host(&path->shard[shard], &path->address)) {
        doctor_advise(finding, "open UDP port %u in firewalls, both ways; the switch has one for each shard",
                      trib_address_port(&path->shard[shard]));
    } else {
        doctor_advise(finding,
                      "the switch has several addresses, or uses others as well: name the network cards of this "
                      "host, one for each (TRIB_NICS)");
    }
}

static bool check_shards(struct path *path)
{
    char first[64];
    for (uint32_t shard = 0; shard < path->grant.roots; shard++) {
        if (!passes(path, shard, 0)) {
            tell_silent(path, shard);
            return false;
        }
    }
    trib_address_format(&path->shard[0], first);
    (void)doctor_add(path->doctor, DOCTOR_OK, "UDP", "every shard answers: %u, the first at %s", path->grant.roots,
                     first);
    return true;
}

/* The largest payload, a multiple of 64, that comes back uncut. */
static void check_size(struct path *path)
{
    const uint32_t usual = trib_address_payload(&path->address, path->auth != NULL ? TRIB_AUTHENTICATOR_SIZE
                                                                                   : 0); /* where nothing is set */
    uint32_t good = 0;
    uint32_t bad = TRIB_PAYLOAD_MAX / TRIB_PAYLOAD_ALIGN + 1;

    while (bad - good > 1) {
        uint32_t middle = good == 0 ? usual / TRIB_PAYLOAD_ALIGN : (good + bad) / 2;
        middle = middle < bad ? middle : (good + bad) / 2;
        if (passes(path, 0, middle * TRIB_PAYLOAD_ALIGN)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    uint32_t payload = good * TRIB_PAYLOAD_ALIGN;
    if (payload < usual) {
        struct doctor_finding *finding =
            doctor_add(path->doctor, DOCTOR_FAIL, "path MTU",
                       "payloads of more than %u bytes do not come back uncut; the default is %u", payload, usual);
        if (payload > 0) {
            doctor_advise(finding, "set TRIB_PAYLOAD=%u on every rank, or raise the MTU of the path", payload);
        } else {
            doctor_advise(finding, "raise the MTU of the path: not even a payload of %d bytes passes",
                          TRIB_PAYLOAD_ALIGN);
        }
        return;
    }
    struct doctor_finding *finding =
        doctor_add(path->doctor, DOCTOR_OK, "path MTU", "payloads of up to %u bytes pass uncut; the default is %u",
                   payload, usual);
    if (payload > usual) {
        doctor_advise(finding, "TRIB_PAYLOAD=%u on every rank takes less CPU time, if it passes from all of them",
                      payload);
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x;
    uint64_t y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void check_trips(struct path *path)
{
    uint64_t trips[TRIPS];
    uint32_t count = 0;
    char middle[TRIB_UNITS_TEXT_MAX];
    char worst[TRIB_UNITS_TEXT_MAX];

    for (int i = 0; i < TRIPS; i++) {
        if (passes(path, 0, 0)) {
            trips[count++] = path->trip_ns;
        }
    }
    if (count == 0) {
        return; /* the switch answered a moment ago, and check_shards speaks for it */
    }
    qsort(trips, count, sizeof trips[0], by_size);
    trib_format_duration(trips[count / 2], middle);
    trib_format_duration(trips[count - 1], worst);
    (void)doctor_add(path->doctor, count == TRIPS ? DOCTOR_OK : DOCTOR_NOTE, "round trip",
                     "median %s, worst %s, %u of %d answered", middle, worst, count, TRIPS);
}

static void check_ecn(struct path *path)
{
    int ecn = path->tos & 3;

    if (path->tos < 0) {
        (void)doctor_add(path->doctor, DOCTOR_NOTE, "ECN", "this kernel does not report ECN marks of received packets");
    } else if (ecn == 0) {
        struct doctor_finding *finding =
            doctor_add(path->doctor, DOCTOR_NOTE, "ECN",
                       "the switch's packets arrive without their ECN mark: a device on the path erases it");
        doctor_advise(finding,
                      "congestion of the path then shows as loss only: let routers keep the two ECN bits of IP");
    } else {
        (void)doctor_add(path->doctor, DOCTOR_OK, "ECN",
                         ecn == ECT0 ? "marks arrive as they were sent (ECT(0))"
                                     : "marks arrive and report congestion");
    }
}

static bool open_udp(struct path *path, uint16_t *ports)
{
    struct trib_port_config config = {
        .local = {.len = path->address.len}, .payload = TRIB_PAYLOAD_MAX, .buffer = 1U << 20};
    struct trib_address local;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    const int on = 1;
    uint32_t wanted = path->nics.count > 0 ? path->nics.count : 1;

    config.local.storage.ss_family = path->address.storage.ss_family;
    for (uint32_t i = 0; i < wanted; i++) {
        config.local = path->nics.count > 0 ? path->nics.at[i] : config.local;
        if (trib_socket_open(&config, &path->fd[i], &local, error) != TRIB_OK) {
            (void)doctor_add(path->doctor, DOCTOR_FAIL, "UDP", "%.300s", error);
            return false;
        }
        path->sockets = i + 1;
        if (path->address.storage.ss_family == AF_INET6) {
            (void)setsockopt(path->fd[i], IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
        } else {
            (void)setsockopt(path->fd[i], IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
        }
        ports[i] = trib_address_port(&local);
    }
    return true;
}

static void check_path(struct path *path)
{
    uint16_t ports[TRIB_ROOTS_MAX];

    if (open_udp(path, ports) && be_admitted(path, ports)) {
        if (check_shards(path)) {
            check_trips(path);
            check_ecn(path);
            check_size(path);
        }
        leave(path);
    }
    trib_auth_destroy(path->auth);
    for (uint32_t i = 0; i < path->sockets; i++) {
        (void)close(path->fd[i]);
    }
}

/* The network cards that the environment names. False: it names some that are not here. */
static bool find_nics(struct path *path)
{
    const char *named = path->doctor->nics;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (named[0] != '\0' && trib_nics_parse(named, &path->address, &path->nics, error) != TRIB_OK) {
        struct doctor_finding *finding = doctor_add(path->doctor, DOCTOR_FAIL, "TRIB_NICS", "%.300s", error);
        doctor_advise(finding, "name addresses or interfaces of this machine, or none: TRIB_NICS=eth0,eth1");
        return false;
    }
    return true;
}

void doctor_path(struct doctor *doctor)
{
    struct path path = {
        .doctor = doctor, .tos = -1, .own_nonce = trib_draw() | 1, .patience_ns = doctor->timeout_ns / 10};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char text[64];

    if (trib_address_parse(doctor->switch_address, TRIB_DEFAULT_PORT, &path.address, error) != TRIB_OK) {
        struct doctor_finding *finding = doctor_add(doctor, DOCTOR_FAIL, "switch", "%.300s", error);
        doctor_advise(finding, "name the switch: --switch HOST[:PORT], or TRIB_SWITCH");
        return;
    }
    if (!find_nics(&path)) {
        return;
    }
    trib_address_format(&path.address, text);
    trib_session_client_init(&path.session);
    path.session.side = doctor->keys.is_set ? trib_tls_client(&doctor->keys, false, error) : NULL;
    if (doctor->keys.is_set && path.session.side == NULL) {
        (void)doctor_add(doctor, DOCTOR_FAIL, "session", "%.300s", error);
        return;
    }
    if (connect_session(&path)) {
        (void)doctor_add(doctor, DOCTOR_OK, "switch", "%s answers by TCP", text);
        check_path(&path);
    } else {
        struct doctor_finding *finding =
            doctor_add(doctor, DOCTOR_FAIL, "switch", "%s cannot be reached by TCP: %s", text, path.session.cause);
        doctor_advise(finding, "is `tributary switch` running there? is the port open in firewalls?");
    }
    trib_session_client_close(&path.session);
    trib_tls_release(path.session.side);
}
