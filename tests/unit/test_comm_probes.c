/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_probes.c: how often a rank probes the paths to its roots, and how long before it says that packets do not pass:
 * against a control plane and a root that are written out here. Mirrors src/comm/paths.c; test_comm_paths.c has whole
 * jobs. */
#include "session_script.h"

/* Takes probes until then, or until the rank says something; answers each with a nonce alone, or not at all. Returns how
 * many have come. */
static unsigned take_probes(const struct script *s, int fd, bool answers, uint64_t until_ns, struct trib_message *said)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->udp, .events = POLLIN}};
    unsigned count = 0;
    memset(said, 0, sizeof *said);
    while (said->kind == TRIB_MESSAGE_NONE && trib_clock_ns() < until_ns) {
        uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        if (poll(fds, 2, 5) > 0 && fds[1].revents != 0) {
            struct trib_packet packet = {.kind = TRIB_PATH, .communicator = 7, .generation = 1, .boot = 5, .lane = 99};
            assert_true(recvfrom(s->udp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len) > 0);
            trib_packet_encode(&packet, bytes);
            if (answers) {
                (void)sendto(s->udp, bytes, TRIB_HEADER_SIZE, 0, (struct sockaddr *)&from, len);
            }
            count++;
        }
        if (poll(fds, 1, 0) > 0) {
            struct trib_message message = answer_message(fd);
            *said = message.kind == TRIB_MESSAGE_PING ? *said : message;
        }
    }
    return count;
}

/* As long as it answers what was sent before, a root is behind, and not behind a path that is too narrow. */
static void paths__of_a_busy_root_are_waited_for(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    begin(&s);
    start_rank(&s);
    int fd = take_join(&s, &message);
    welcome(&s, fd, 5);
    (void)take_probes(&s, fd, true, trib_clock_ns() + 4 * TRIB_SECOND_NS, &message);
    assert_int_equal(message.kind, TRIB_MESSAGE_NONE);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 20000);
    close(fd);
}

/* Many ranks begin at once at one root: each asks less often, and for longer, before it says that nothing passes. */
static void paths__of_many_ranks_are_no_storm(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    begin(&s);
    s.config.ranks = 400;
    start_rank(&s);
    int fd = take_join(&s, &message);
    welcome(&s, fd, 5);
    uint64_t begin_ns = trib_clock_ns();
    assert_in_range(take_probes(&s, fd, false, begin_ns + 60 * TRIB_SECOND_NS * patience(), &message), 20, 32);
    assert_true(trib_clock_ns() - begin_ns >= 4 * TRIB_SECOND_NS);
    assert_int_equal(message.kind, TRIB_MESSAGE_PATHS);
    assert_false(message.paths.unicast);
    end(&s, TRIB_ERR_UNREACHABLE, "do not pass between here and ", 20000);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths__of_a_busy_root_are_waited_for),
        cmocka_unit_test(paths__of_many_ranks_are_no_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
