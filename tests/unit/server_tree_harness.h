/* SPDX-License-Identifier: Apache-2.0 */
/* server_tree_harness.h: a control plane of four ranks with a switch below it: real TCP, data planes that only record
 * (leaf.h). */
#ifndef TRIB_TESTS_SERVER_TREE_HARNESS_H
#define TRIB_TESTS_SERVER_TREE_HARNESS_H

#include "leaf.h"

#define VIA UINT64_C(0xa1a2a3a4a5a6a7a8)

/* VIA, VIA + 1; fd 0: it is not there. A test may change its config before the first rank comes. */
static struct leaf leaves[2];

/* Ranks 0 and 3 come themselves, 1 and 2 to one switch below. */
static const uint64_t vias[4] = {0, VIA, VIA, 0};

static inline struct leaf *leaf_of(const struct control *c, uint64_t via)
{
    struct leaf *leaf = &leaves[via - VIA];
    if (leaf->fd == 0) {
        leaf_begin(leaf, c->port);
    }
    return leaf;
}

/* To the control plane itself, or to that switch. */
static inline int come_over(struct control *c, const struct trib_message *message, uint64_t via)
{
    char peer[64];
    (void)snprintf(peer, sizeof peer, "10.0.0.%u:3%04u", message->join.rank + 1, message->join.rank);
    return via == 0 ? join_with(c, message) : leaf_join(leaf_of(c, via), message, peer);
}

static inline int come_with(struct control *c, const struct trib_message *message)
{
    return come_over(c, message, vias[message->join.rank]);
}

static inline int tree_set_up(void **state)
{
    leaf_init(&leaves[0], VIA, LEAF_PORT);
    leaf_init(&leaves[1], VIA + 1, LEAF_PORT + 10);
    return control_set_up(state);
}

static inline int tree_tear_down(void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (leaves[i].fd != 0) {
            leaf_stop(&leaves[i]);
            leaves[i].fd = 0;
        }
    }
    return control_tear_down(state);
}

static inline struct trib_message join_of(uint32_t rank)
{
    return join_message(rank, 4);
}

static inline int come_back(struct control *c, uint32_t rank, const struct trib_grant *known)
{
    struct trib_message message = join_of(rank);
    message.join.known = known ? *known : (struct trib_grant){0};
    message.join.was_ready = known != NULL;
    return come_with(c, &message);
}

/* All four have come. */
static inline struct trib_grant bring_to_ready(const int *fds, bool is_return)
{
    struct trib_grant grant = {0};
    for (uint32_t i = 0; i < 4; i++) {
        grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        if (!is_return) {
            send_paths(fds[i], true, false);
        }
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(expect(fds[i], TRIB_MESSAGE_READY).ready.boot, grant.boot);
    }
    return grant;
}

/* Brings the four to READY, known: with this grant. */
static inline struct trib_grant run_tree(struct control *c, int *fds, const struct trib_grant *known)
{
    for (uint32_t i = 0; i < 4; i++) {
        fds[i] = come_back(c, i, known);
    }
    return bring_to_ready(fds, known != NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

#endif
