/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_session.c: a rank of the library against a control plane that is written out here, message by message: what
 * it does when switches above its own are away, when sessions are cut at bad times, and whom it names. */
#include "session_script.h"

#include "io/units.h"

#define AWAY_TEXT "switch 10.0.0.1:7470, the parent of switch 10.0.0.2:7470, does not answer: no route"

static void say_away(int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_AWAY, .note = {.text = AWAY_TEXT}};
    send_message(fd, &message);
    (void)next_message(fd); /* the rank goes, too */
    close(fd);
}

/* Says how long the rank has waited, and its setting for that. */
static bool says_tired(const struct script *s, const char *before, unsigned least_ms, const char *name,
                       uint64_t setting_ns)
{
    return says_waited_as_set(s->error, before, least_ms * patience(), name, setting_ns);
}

static void away__before_the_start_ends_in_time(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    start_rank(&s);
    for (int fd = take_join(&s, &join); fd >= 0; fd = take_join(&s, &join)) {
        say_away(fd);
    }
    assert_in_range(s.joins, 1, 20 * patience()); /* no storm; that it tries again, away__and_back shows */
    end(&s, TRIB_ERR_UNREACHABLE, AWAY_TEXT, 1500);
    assert_true(says_tired(&s, AWAY_TEXT "; ", 600, "TRIB_JOIN_TIMEOUT", s.config.join_timeout_ns));
}

static void away__of_a_running_rank_ends_in_time(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    start_rank(&s);
    close(run(&s));
    for (int fd = take_join(&s, &join); fd >= 0; fd = take_join(&s, &join)) {
        assert_int_equal(join.join.known.communicator, 7);
        say_away(fd);
    }
    assert_in_range(s.joins, 1, 20 * patience());
    end(&s, TRIB_ERR_SWITCH, AWAY_TEXT, 1500);
    assert_true(says_tired(&s, AWAY_TEXT "; ", 400, "TRIB_SWITCH_TIMEOUT", s.config.switch_timeout_ns));
}

/* What was said of the switch above stands, if the switch itself does not answer from then on. */
static void away__then_nothing_names_the_cause(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    int full = fill_queue(&s);
    say_away(fd);
    end(&s, TRIB_ERR_UNREACHABLE, AWAY_TEXT, 1500);
    close(full);
}

static void away__and_back(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    start_rank(&s);
    close(run(&s));
    say_away(take_join(&s, &join));
    say_away(take_join(&s, &join));
    int fd = take_join(&s, &join);
    welcome(&s, fd, 6);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    assert_int_equal(expect(fd, TRIB_MESSAGE_REGISTER).mark.mark, 0);
    ready(fd, 6);
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 3000);
    close(fd);
}

/* An operation whose time is up says that its rank waits to be let in again, not only that it did not end. */
static void away__is_the_cause_when_time_is_up(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    s.config.timeout_ns = 2 * TRIB_SECOND_NS * patience();
    start_rank(&s);
    close(run(&s));
    int fd = take_join(&s, &join);
    end(&s, TRIB_ERR_TIMEOUT, " is back, but not all ranks of job default are; waited ", 6000);
    assert_non_null(strstr(s.error, "did not end within "));
    close(fd);
}

static uint32_t digest_with_window(uint32_t window)
{
    struct script s;
    struct trib_packet packet = {.kind = TRIB_PATH};
    uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    begin(&s);
    s.window = window;
    start_rank(&s);
    int fd = run(&s);
    while (packet.kind != TRIB_CONTRIBUTION) {
        ssize_t got = recv(s.udp, bytes, sizeof bytes, 0);
        assert_true(got > 0);
        assert_int_equal(trib_packet_decode(bytes, (size_t)got, &packet), TRIB_DROP_NONE);
    }
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 3000);
    close(fd);
    return packet.digest;
}

/* At a place with less room the window is less, and not all ranks may have heard of the one before. */
static void window__of_another_place_is_not_in_the_digest(void **state)
{
    (void)state;
    assert_int_equal(digest_with_window(7), digest_with_window(16));
}

/* A control plane that lets nobody in, and says nothing: its rank must not try for ever. */
static void cut__again_and_again_ends_in_time(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    start_rank(&s);
    close(run(&s));
    for (int fd = take_join(&s, &join); fd >= 0; fd = take_join(&s, &join)) {
        close(fd);
    }
    assert_in_range(s.joins, 1, 40 * patience());
    end(&s, TRIB_ERR_SWITCH, "is gone", 2500); /* 400 ms to come back, 600 ms for the others */
}

/* Each incarnation waits for the ranks as long as the one before. That ends too: after the time to come back it may not go
 * away again. */
static void cut__late_again_and_again_ends_in_time(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    start_rank(&s);
    close(run(&s));
    for (int fd = take_join(&s, &join); fd >= 0; fd = take_join(&s, &join)) {
        assert_in_range(s.joins, 1, 10);
        answer_until(fd, trib_clock_ns() + 300 * TRIB_MILLISECOND_NS * patience());
        close(fd);
    }
    end(&s, TRIB_ERR_SWITCH, "is gone", 3000); /* as above, and the last 300 ms */
    assert_true(says_tired(&s, "connection closed; ", 1000, "TRIB_SWITCH_TIMEOUT", s.config.switch_timeout_ns));
}

/* The second incarnation of the control plane waits for rank 1, which is dead, for the whole join timeout: it can name it,
 * and this rank cannot. */
static void restart__twice_lets_the_control_plane_say_who_is_missing(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL,
                                .fail = {TRIB_ERR_TIMEOUT, "waited for rank 1 of job default to come back"}};
    begin(&s);
    hurry(&s);
    s.config.join_timeout_ns = 3 * TRIB_SECOND_NS * patience();
    uint64_t limit_ns =
        s.config.switch_timeout_ns + s.config.join_timeout_ns; /* to come back, counted from the first cut */
    start_rank(&s);
    int fd = run(&s);
    uint64_t cut_ns = trib_clock_ns();
    close(fd);
    fd = take_join(&s, &join);
    answer_until(fd, cut_ns + limit_ns * 2 / 3);
    close(fd);
    fd = take_join(&s, &join);
    assert_true(fd >= 0);
    answer_until(fd, cut_ns + limit_ns + 600 * TRIB_MILLISECOND_NS);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_TIMEOUT, fail.fail.text, 10000);
    close(fd);
}

/* Both wait as long. A rank gives up not before the control plane, which knows who is late, has had the time to say so: it
 * begins later, and its word is under way. */
static void restart__lets_the_control_plane_speak_first(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    uint64_t limit_ns = s.config.join_timeout_ns = 2 * TRIB_SECOND_NS * patience();
    start_rank(&s);
    int fd = run(&s);
    uint64_t cut_ns = trib_clock_ns();
    close(fd);
    fd = take_join(&s, &join);
    answer_until(fd, TRIB_NEVER);
    assert_true(trib_clock_ns() - cut_ns >= limit_ns + limit_ns / 8 + 500 * TRIB_MILLISECOND_NS);
    end(&s, TRIB_ERR_TIMEOUT, "is back, but not all ranks of job default are; waited ", 8000);
    close(fd);
}

/* What the roots are dealt over is the communicator's for life, and comes back with its ranks. */
static void welcome__to_other_switches_than_before(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    welcome_over(&s, fd, 5, 3);
    echo_path(&s);
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    close(fd);
    fd = take_join(&s, &join);
    assert_int_equal(join.join.known.switches[0], 3);
    welcome_over(&s, fd, 6, 2);
    end(&s, TRIB_ERR_REFUSED, "granted invalid values", 5000);
    close(fd);
}

static void cut__before_ready_tries_the_paths_again(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    s.config.join_timeout_ns = 2 * TRIB_SECOND_NS * patience(); /* for all of it */
    s.config.multicast = true;
    start_rank(&s);
    int fd = take_join(&s, &join);
    assert_int_equal(join.join.known.communicator, 0);
    assert_true(join.join.multicast);
    welcome(&s, fd, 5);
    echo_path(&s);
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    close(fd);
    fd = take_join(&s, &join);
    assert_int_equal(join.join.known.communicator, 7);
    assert_true(join.join.multicast); /* as no READY has said no */
    welcome(&s, fd, 6);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    close(s.listener);
    s.listener = -1;
    close(fd);
    end(&s, TRIB_ERR_UNREACHABLE, "unreachable: connection refused", 5000);
}

/* ---- RING ---- */

#define RING_TEXT "4 bytes of gradients are few"

static void *close_at_once(void *argument)
{
    struct script *s = argument;
    s->status = trib_comm_create(&s->config, &s->comm, s->error);
    s->status = s->status == TRIB_OK ? trib_comm_close(s->comm) : s->status;
    atomic_store(&s->over, true);
    return NULL;
}

/* It has closed, and its switch restarts: who may leave before READY says so behind its JOIN; if it stays, behind READY
 * as well. */
static void restart__close_is_said_again(void **state)
{
    (void)state;
    const struct trib_message closed = {.kind = TRIB_MESSAGE_CLOSED};
    struct script s;
    struct trib_message join;
    begin(&s);
    s.config.linger_ns = 60 * TRIB_SECOND_NS * patience();
    assert_int_equal(pthread_create(&s.thread, NULL, close_at_once, &s), 0);
    int fd = run(&s);
    (void)expect(fd, TRIB_MESSAGE_CLOSE);
    close(fd);
    fd = take_join(&s, &join);
    assert_true(join.join.was_ready);
    assert_int_equal(expect(fd, TRIB_MESSAGE_CLOSE).mark.mark, 0);
    welcome(&s, fd, 6);
    echo_path(&s);
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    ready(fd, 6);
    (void)expect(fd, TRIB_MESSAGE_CLOSE);
    send_message(fd, &closed);
    end(&s, TRIB_OK, "", 1);
    close(fd);
}

static void say_ring(int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_RING, .note = {.text = RING_TEXT}};
    send_message(fd, &message);
}

/* Its settings are as it was asked to have them; of its sockets the one is named that others of a ring send to. */
static void ring__comes_again_at_once(void **state)
{
    (void)state;
    struct script s;
    struct trib_message first;
    struct trib_message join;
    begin(&s);
    s.config.gradient_bytes = 4;
    (void)snprintf(s.config.scheme, sizeof s.config.scheme, "panama");
    start_rank(&s);
    int fd = take_join(&s, &first);
    assert_false(first.join.is_ring);
    assert_int_equal(first.join.room, 0);
    say_ring(fd);
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
    fd = take_join(&s, &join);
    assert_true(join.join.is_ring);
    assert_string_equal(join.join.settings.scheme, "panama");
    assert_int_equal(join.join.settings.gradient_bytes, 4);
    assert_int_equal(join.join.known.communicator, 0);
    assert_true(join.join.room > 0);
    assert_int_equal(join.join.root_port, 0);
    assert_true(join.join.data_port[0] != 0 && join.join.data_port[1] == 0);
    for (uint32_t i = 0; i < TRIB_ROOTS_MAX; i++) {
        assert_true(first.join.data_port[i] != join.join.data_port[0]);
    }
    say_ring(fd); /* it is one */
    end(&s, TRIB_ERR_REFUSED, "sent an unexpected message RING", 5000);
    close(fd);
}

/* A WELCOME to a switch is none for it. */
static void ring__is_not_welcome_at_shards(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    s.config.gradient_bytes = 4;
    s.config.ranks = 2;
    start_rank(&s);
    int fd = take_join(&s, &join);
    say_ring(fd);
    close(fd);
    fd = take_join(&s, &join);
    welcome(&s, fd, 5);
    end(&s, TRIB_ERR_REFUSED, "granted invalid values", 5000);
    close(fd);
}

/* Who reaches the switch need not reach the others. */
static void ring__whose_other_rank_does_not_answer(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    begin(&s);
    s.config.gradient_bytes = 4;
    s.config.ranks = 2;
    s.config.join_timeout_ns = 20 * TRIB_SECOND_NS * patience();
    start_rank(&s);
    int fd = take_join(&s, &join);
    say_ring(fd);
    close(fd);
    fd = take_join(&s, &join);
    assert_int_equal(getsockname(s.udp, (struct sockaddr *)&at, &len), 0);
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.generation_ranks = 2}};
    message.welcome.grant = (struct trib_grant){.salt = 1,
                                                .token = 2,
                                                .job_token = 4,
                                                .communicator = 7,
                                                .boot = 5,
                                                .roots = 1,
                                                .train = 4,
                                                .slots = 32,
                                                .window = 16,
                                                .generation = 1,
                                                .data_port = 9};
    message.welcome.peer_count = 1;
    message.welcome.peer[0] = (struct trib_peer){1, trib_address_v4(0x7f000001U, ntohs(at.sin_port))};
    send_message(fd, &message);
    assert_false(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    end(&s, TRIB_ERR_UNREACHABLE, "(a ring: " RING_TEXT "): check the path MTU", 20000);
    close(fd);
}

static void ring__of_bytes_that_were_not_said(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    assert_int_equal(join.join.settings.gradient_bytes, 0);
    say_ring(fd);
    end(&s, TRIB_ERR_REFUSED, "sent an unexpected message RING", 5000);
    close(fd);
}

/* After its WELCOME, while it runs, and when it comes back with what it was granted. */
static void ring__of_one_that_has_a_grant(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct script s;
        struct trib_message join;
        begin(&s);
        s.config.gradient_bytes = 4;
        start_rank(&s);
        int fd = i > 0 ? run(&s) : take_join(&s, &join);
        if (i == 0) {
            welcome(&s, fd, 5);
        } else if (i == 2) {
            close(fd);
            fd = take_join(&s, &join);
            assert_int_equal(join.join.known.communicator, 7);
            assert_false(join.join.is_ring);
        }
        say_ring(fd);
        end(&s, TRIB_ERR_REFUSED, "sent an unexpected message RING", 5000);
        close(fd);
    }
}

/* A control plane that says it and lets nobody in: the time of the first JOIN is all that there is. */
static void ring__then_nothing_ends_in_time(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    hurry(&s);
    s.config.gradient_bytes = 4;
    start_rank(&s);
    int fd = take_join(&s, &join);
    say_ring(fd);
    close(fd);
    for (fd = take_join(&s, &join); fd >= 0; fd = take_join(&s, &join)) {
        assert_true(join.join.is_ring);
        close(fd);
    }
    assert_in_range(s.joins, 1, 40 * patience()); /* no storm */
    end(&s, TRIB_ERR_UNREACHABLE, "unreachable", 2500);
}

static void stall(const char *where, const struct trib_rank_list *missing, const char *part)
{
    struct script s;
    uint32_t seconds = 2 + patience(); /* the rank asks after one second; the others are for the answer */
    begin(&s);
    s.config.timeout_ns = seconds * TRIB_SECOND_NS;
    start_rank(&s);
    int fd = run(&s);
    struct trib_message message = expect(fd, TRIB_MESSAGE_STALL);
    assert_int_equal(message.stall.sequence, 0);
    assert_int_equal(message.stall.missing.count, 0);
    assert_in_range(message.stall.since_ms, 1000, 900 * seconds);
    while (message.kind == TRIB_MESSAGE_STALL) { /* each second */
        message.kind = TRIB_MESSAGE_MISSING;
        message.stall.missing = *missing;
        strcpy(message.stall.where, where);
        send_message(fd, &message);
        message = next_message(fd);
    }
    assert_int_equal(message.kind, TRIB_MESSAGE_ABORT);
    end(&s, TRIB_ERR_TIMEOUT, part, 5000);
    close(fd);
}

static void stall__its_answer_goes_into_the_error(void **state)
{
    (void)state;
    stall("", &(struct trib_rank_list){0}, "no rank is missing, but there is no result on fragment 0");
    stall("", &(struct trib_rank_list){2, {2, 900}}, "ranks 2, 900 are missing on fragment 0");
    stall("no packets", &(struct trib_rank_list){1, {2}}, "rank 2 is missing (no packets) on fragment 0");
    stall("switch 10.0.0.2:7470", &(struct trib_rank_list){0}, "nothing comes from switch 10.0.0.2:7470 on fragment 0");
}

/* ---- no switch: rank 1, whose rendezvous is here ---- */

static void begin_no_box(struct script *s)
{
    begin(s);
    (void)snprintf(s->config.rendezvous, sizeof s->config.rendezvous, "%s", s->config.switch_address);
    s->config.switch_address[0] = '\0';
    s->config.rank = 1;
    s->config.ranks = 2;
    (void)snprintf(s->config.host_id, sizeof s->config.host_id, "b");
}

static struct trib_address local_of(int fd)
{
    struct trib_address at = {.len = sizeof at.storage};
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at.storage, &at.len), 0);
    return at;
}

static struct trib_message welcome_message(const int *udp, uint32_t roots, uint16_t data_port)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.generation_ranks = 2}};
    message.welcome.grant = (struct trib_grant){.salt = 1,
                                                .token = 2,
                                                .job_token = 4,
                                                .communicator = 7,
                                                .boot = 99,
                                                .roots = roots,
                                                .train = 4,
                                                .slots = 32,
                                                .window = 16,
                                                .generation = 1,
                                                .data_port = data_port};
    message.welcome.root_count = (uint8_t)roots;
    message.welcome.no_box = true;
    for (uint32_t i = 0; i < roots; i++) {
        message.welcome.root[i] = local_of(udp[i]);
    }
    return message;
}

static void welcome_roots(int fd, const int *udp, uint32_t roots, uint16_t data_port)
{
    struct trib_message message = welcome_message(udp, roots, data_port);
    send_message(fd, &message);
}

/* Of which children the first sends from child_port, and which they find at `at` (len 0: it is not said). */
/* At once: who refuses the first is not there any more for the others. */
static void open_root_at(int fd, uint32_t communicator, uint32_t boot, const struct trib_message *join,
                         struct trib_address at, uint16_t child_port)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                   .root_open = {.of = {communicator, boot}, .ranks = 2, .behind = 2}};
    uint8_t bytes[3 * TRIB_MESSAGE_MAX];
    size_t len = 0;
    message.root_open.session = (struct trib_session_config){.communicator = communicator,
                                                             .ranks = 2,
                                                             .roots = 1,
                                                             .train = 4,
                                                             .slots = 32,
                                                             .payload = join->join.settings.payload,
                                                             .generation = 1,
                                                             .wire = TRIB_FLOAT32};
    strcpy(message.root_open.scheme, "switchml");
    message.root_open.at = at;
    len += trib_message_encode(&message, bytes + len);
    for (uint32_t i = 0; i < 2; i++) {
        message = (struct trib_message){.kind = TRIB_MESSAGE_ROOT_CHILD,
                                        .root_child = {.of = {communicator, boot}, .rank = i, .branch = i}};
        message.root_child.from = trib_address_v4(0x7f000001U, (uint16_t)(i == 0 ? child_port : 4000 + i));
        len += trib_message_encode(&message, bytes + len);
    }
    send_bytes(fd, bytes, len);
}

static void open_root(int fd, uint32_t communicator, uint32_t boot, const struct trib_message *join)
{
    open_root_at(fd, communicator, boot, join, (struct trib_address){.len = 0}, 4000);
}

static void refuse(int fd, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_REFUSED}};
    (void)snprintf(message.fail.text, sizeof message.fail.text, "%s", text);
    send_message(fd, &message);
}

/* data_port is root 0's alone there, and may be the last one. */
static void welcome__of_roots_at_any_ports(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    uint16_t port;
    begin_no_box(&s);
    int udp[2] = {s.udp, open_port(SOCK_DGRAM, &port)};
    start_rank(&s);
    int fd = take_join(&s, &join);
    open_root(fd, 7, 99, &join);
    (void)expect(fd, TRIB_MESSAGE_ROOT_OPENED);
    welcome_roots(fd, udp, 2, UINT16_MAX);
    echo_path(&s);
    s.udp = udp[1];
    echo_path(&s);
    s.udp = udp[0];
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    refuse(fd, "that was all");
    end(&s, TRIB_ERR_REFUSED, "that was all", 5000);
    close(udp[1]);
    close(fd);
}

static void root_open__of_another_communicator_or_boot(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct script s;
        struct trib_message join;
        begin_no_box(&s);
        start_rank(&s);
        int fd = take_join(&s, &join);
        open_root(fd, i == 0 ? 8 : 7, i == 1 ? 98 : 99, &join);
        welcome_roots(fd, &s.udp, 1, 9);
        end(&s, TRIB_ERR_REFUSED, "granted invalid values", 5000);
        close(fd);
    }
}

static void root_open__after_welcome(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin_no_box(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    welcome_roots(fd, &s.udp, 1, 9);
    echo_path(&s);
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    open_root(fd, 7, 99, &join);
    end(&s, TRIB_ERR_REFUSED, "sent an unexpected message ROOT_OPEN", 5000);
    close(fd);
}

/* As on a host with two links whose rank came by the loopback: the others know it by an address that the routes would
 * not choose. */
static void welcome__packets_leave_from_where_the_rank_is_known(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    struct sockaddr_in from = {0};
    socklen_t len = sizeof from;
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    uint8_t packet[4096];
    begin_no_box(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    struct trib_message message = welcome_message(&s.udp, 1, 9);
    message.welcome.known_as = trib_address_v4(0x7f000002U, 0);
    send_message(fd, &message);
    assert_int_equal(setsockopt(s.udp, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    assert_true(recvfrom(s.udp, packet, sizeof packet, 0, (struct sockaddr *)&from, &len) > 0);
    assert_int_equal(ntohl(from.sin_addr.s_addr), 0x7f000002U);
    refuse(fd, "that was all");
    end(&s, TRIB_ERR_REFUSED, "that was all", 5000);
    close(fd);
}

/* A root's answers too: what it sends to its children. */
static void root_open__answers_leave_from_where_the_root_is_known(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    struct sockaddr_in from = {0};
    socklen_t len = sizeof from;
    uint16_t port;
    uint8_t bytes[4096];
    int child = open_port(SOCK_DGRAM, &port);
    begin_no_box(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    open_root_at(fd, 7, 99, &join, trib_address_v4(0x7f000003U, join.join.root_port), port);
    const struct trib_packet probe = {.kind = TRIB_PATH, .communicator = 7, .generation = 1, .boot = 99};
    trib_packet_encode(&probe, bytes);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(join.join.root_port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(
        setsockopt(child, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = 50000}, sizeof(struct timeval)), 0);
    ssize_t got = -1;
    for (int i = 0; i < 80 * (int)patience() && got < 0; i++) { /* the root opens when ROOT_CHILD has come */
        assert_int_equal(sendto(child, bytes, TRIB_HEADER_SIZE, 0, (struct sockaddr *)&to, sizeof to),
                         TRIB_HEADER_SIZE);
        got = recvfrom(child, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len);
        trib_packet_encode(&probe, bytes);
    }
    assert_true(got > 0);
    assert_int_equal(ntohl(from.sin_addr.s_addr), 0x7f000003U);
    refuse(fd, "that was all");
    end(&s, TRIB_ERR_REFUSED, "that was all", 5000);
    close(child);
    close(fd);
}

static void gone__before_ready(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    const struct trib_message gone = {.kind = TRIB_MESSAGE_GONE};
    begin_no_box(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    send_message(fd, &gone);
    end(&s, TRIB_ERR_REFUSED, "sent an unexpected message GONE", 5000);
    close(fd);
}

/* How often it has asked in its operation's time, without an answer; from the third time on it knows of whom to say so. */
static unsigned ask_in_vain(uint64_t timeout_ns)
{
    struct script s;
    struct trib_message join;
    unsigned asked = 0;
    begin_no_box(&s);
    s.config.timeout_ns = timeout_ns;
    start_rank(&s);
    int fd = take_join(&s, &join);
    welcome_roots(fd, &s.udp, 1, 9);
    echo_path(&s);
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    ready(fd, 99);
    while (!atomic_load(&s.over)) {
        (void)usleep(5000);
    }
    while (next_message(fd).kind == TRIB_MESSAGE_STALL) { /* then ABORT */
        asked++;
    }
    end(&s, TRIB_ERR_TIMEOUT,
        asked < 3 ? "did not end within" : "rank 0, whose process has the control plane, does not answer on fragment 0",
        (unsigned)(timeout_ns / TRIB_MILLISECOND_NS) + 4300);
    close(fd);
    return asked;
}

/* A rank 0 that is stopped takes the control plane with it: nobody answers, but it can be named. A rank that runs late
 * asks less often, and has more time then. */
static void stall__of_a_silent_rank_0_names_it(void **state)
{
    (void)state;
    uint64_t timeout_ns = 3700 * TRIB_MILLISECOND_NS;
    for (unsigned i = 0; ask_in_vain(timeout_ns) < 3; i++) {
        assert_true(i < 3);
        timeout_ns *= 2;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(away__before_the_start_ends_in_time),
        cmocka_unit_test(away__of_a_running_rank_ends_in_time),
        cmocka_unit_test(away__then_nothing_names_the_cause),
        cmocka_unit_test(away__and_back),
        cmocka_unit_test(away__is_the_cause_when_time_is_up),
        cmocka_unit_test(cut__again_and_again_ends_in_time),
        cmocka_unit_test(cut__late_again_and_again_ends_in_time),
        cmocka_unit_test(restart__lets_the_control_plane_speak_first),
        cmocka_unit_test(restart__twice_lets_the_control_plane_say_who_is_missing),
        cmocka_unit_test(window__of_another_place_is_not_in_the_digest),
        cmocka_unit_test(welcome__to_other_switches_than_before),
        cmocka_unit_test(cut__before_ready_tries_the_paths_again),
        cmocka_unit_test(restart__close_is_said_again),
        cmocka_unit_test(ring__comes_again_at_once),
        cmocka_unit_test(ring__is_not_welcome_at_shards),
        cmocka_unit_test(ring__whose_other_rank_does_not_answer),
        cmocka_unit_test(ring__of_bytes_that_were_not_said),
        cmocka_unit_test(ring__of_one_that_has_a_grant),
        cmocka_unit_test(ring__then_nothing_ends_in_time),
        cmocka_unit_test(stall__its_answer_goes_into_the_error),
        cmocka_unit_test(welcome__of_roots_at_any_ports),
        cmocka_unit_test(root_open__of_another_communicator_or_boot),
        cmocka_unit_test(root_open__after_welcome),
        cmocka_unit_test(welcome__packets_leave_from_where_the_rank_is_known),
        cmocka_unit_test(root_open__answers_leave_from_where_the_root_is_known),
        cmocka_unit_test(gone__before_ready),
        cmocka_unit_test(stall__of_a_silent_rank_0_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
