/* SPDX-License-Identifier: Apache-2.0 */
/* test_shard.c: how a shard hands packets over between the nodes of one communicator. The nodes here are scripts, not a
 * scheme: they lend a payload and overwrite it, and talk to each other without end. */
#include "plane_harness.h"

#define BRANCHES 65 /* an inner node of 64 and one of 1 */
#define BYTES 64

/* What a node does with a packet, by its sequence. */
enum script {
    SCRIPT_LEND =
        1, /* inner node: a result to child 0, then a probe up; the top node asks back; then the inner node overwrites the payload */
    SCRIPT_ENDLESS = 2, /* inner node and top node send each other a packet for each */
    SCRIPT_SETS = 3     /* inner node: a result to children 0 and 1, then one to 1 and 2 */
};

struct script_node {
    bool is_top;
    uint32_t due; /* packets to hand out */
    struct trib_packet packet[4];
    struct trib_place to[4];
    uint64_t received;
    uint8_t payload[BYTES];
};

static const struct trib_place up = {.kind = TRIB_PLACE_PARENT};
static const struct trib_place first_child = {.kind = TRIB_PLACE_CHILDREN, .children = 1};

static size_t script_size(const struct trib_switch_config *config)
{
    (void)config;
    return sizeof(struct script_node);
}

static void script_init(void *node, const struct trib_switch_config *config)
{
    struct script_node *n = node;
    n->is_top = !config->has_parent;
    memset(n->payload, 0x11, sizeof n->payload);
    assert_int_equal(config->children, n->is_top ? 2 : config->branches == 0 && config->children == 1 ? 1 : 64);
    assert_int_equal(config->branches, n->is_top ? 3 : 0);
}

static void queue(struct script_node *n, enum trib_kind kind, uint64_t script, struct trib_place to)
{
    assert_true(n->due < 4);
    struct trib_packet *packet = &n->packet[n->due];
    *packet = (struct trib_packet){.kind = (uint8_t)kind, .sequence = script, .communicator = COMMUNICATOR};
    if (kind == TRIB_RESULT) {
        packet->type = TRIB_BYTES;
        packet->payload_len = BYTES;
        packet->payload = n->payload;
    }
    n->to[n->due++] = to;
}

static enum trib_drop script_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                     uint64_t now_ns)
{
    struct script_node *n = node;
    (void)now_ns;
    n->received++;
    if (n->is_top) {
        assert_int_equal(from.kind, TRIB_PLACE_CHILDREN);
        assert_int_equal(from.children, 1);
        queue(n, TRIB_ASK, packet->sequence, first_child);
    } else if (packet->sequence == SCRIPT_SETS) {
        queue(n, TRIB_RESULT, SCRIPT_SETS, (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = 3});
        queue(n, TRIB_RESULT, SCRIPT_SETS, (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = 6});
    } else if (from.kind == TRIB_PLACE_CHILDREN) {
        queue(n, TRIB_RESULT, packet->sequence, first_child);
        queue(n, TRIB_PROBE, packet->sequence, up);
    } else if (packet->sequence == SCRIPT_LEND) {
        memset(n->payload, 0x22, sizeof n->payload);
    } else {
        queue(n, TRIB_PROBE, packet->sequence, up);
    }
    return TRIB_DROP_NONE;
}

static bool script_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct script_node *n = node;
    (void)now_ns;
    if (n->due == 0) {
        return false;
    }
    *packet = n->packet[0];
    *to = n->to[0];
    n->due--;
    memmove(n->packet, n->packet + 1, n->due * sizeof *n->packet);
    memmove(n->to, n->to + 1, n->due * sizeof *n->to);
    return true;
}

static bool script_next_event(void *node, struct trib_event *event)
{
    (void)node;
    (void)event;
    return false;
}

static uint64_t script_next_timeout(const void *node)
{
    (void)node;
    return TRIB_NEVER;
}

/* All of a script is in use; a shard asks after half a second without packets. */
static uint32_t script_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    (void)node;
    (void)ranges;
    return 0;
}

static const struct trib_switch_verbs script_verbs = {
    .node = {.receive = script_receive,
             .next_packet = script_next_packet,
             .next_event = script_next_event,
             .next_timeout = script_next_timeout,
             .idle = script_idle},
    .size = script_size,
    .init = script_init,
};

/* A plane with a member of scripts on shard 0, whose child 0 is a socket of the test. */
struct stage {
    struct world world;
    struct trib_member *member;
    struct trib_port *child;
};

static void open_stage(struct stage *stage)
{
    struct trib_branch branches[BRANCHES] = {0};
    uint16_t ranks[BRANCHES];
    begin_world(&stage->world);
    (void)add_plane(&stage->world, NO_PLANE, &none);
    stage->child = open_loopback(&stage->world.side[0].address[0]);
    for (uint16_t i = 0; i < BRANCHES; i++) {
        ranks[i] = i;
        branches[i] =
            (struct trib_branch){.ranks = &ranks[i], .count = 1, .from = trib_address_v4(0x0a000000U + i, 1000)};
    }
    trib_port_local(stage->child, &branches[0].from);
    struct trib_opening opening = {.session = stage->world.session,
                                   .ranks = BRANCHES,
                                   .scheme = "",
                                   .boot = BOOT,
                                   .branches = branches,
                                   .count = BRANCHES};
    opening.session.ranks = BRANCHES;
    stage->member = trib_member_create(&script_verbs, &opening);
    assert_non_null(stage->member);
    struct trib_shard *shard = &stage->world.side[0].plane->shard[0];
    trib_shard_enter(shard);
    for (uint32_t i = 1; i < stage->member->nodes; i++) {
        stage->member->node[i].proved = trib_all_children(stage->member->node[i].children);
    }
    assert_true(trib_members_add(&shard->members, stage->member));
    trib_shard_leave(shard);
}

static void close_stage(struct stage *stage)
{
    trib_port_close(stage->child);
    close_world(&stage->world);
}

static void send_script(struct stage *stage, enum script script)
{
    const struct trib_packet packet = {.kind = TRIB_PROBE, .sequence = (uint64_t)script, .communicator = COMMUNICATOR};
    trib_port_send(stage->child, &packet, NULL, 1);
    trib_port_flush(stage->child);
}

/* What lies in a train still refers to the node's memory: it leaves before that node is given a packet. */
static void hand_over__waits_for_what_is_lent(void **state)
{
    (void)state;
    struct stage stage;
    struct trib_packet packet;
    uint8_t expected[BYTES];
    memset(expected, 0x11, sizeof expected);
    open_stage(&stage);
    send_script(&stage, SCRIPT_LEND);
    assert_true(receive_packet(stage.child, &packet)); /* its checksum fits */
    assert_int_equal(packet.kind, TRIB_RESULT);
    assert_int_equal(packet.payload_len, BYTES);
    assert_memory_equal(packet.payload, expected, BYTES);
    struct trib_shard *shard = &stage.world.side[0].plane->shard[0];
    trib_shard_enter(shard);
    const struct script_node *inner = stage.member->node[1].node;
    const struct script_node *top = stage.member->node[0].node;
    assert_int_equal(inner->received, 2);
    assert_int_equal(top->received, 1);
    assert_int_equal(inner->payload[0], 0x22);
    trib_shard_leave(shard);
    close_stage(&stage);
}

/* Sets of children that are neither one nor all share an array of addresses, which a train under way still refers to. */
static void sets__of_children_follow_each_other(void **state)
{
    (void)state;
    struct stage stage;
    struct trib_packet packet;
    open_stage(&stage);
    send_script(&stage, SCRIPT_SETS);
    assert_true(receive_packet(stage.child, &packet)); /* of the first set alone */
    assert_int_equal(packet.sequence, SCRIPT_SETS);
    close_stage(&stage);
}

/* Nodes with a slip that never have enough of each other: the shard still serves others, and lets the control plane
 * in. */
static void hand_over__without_end_keeps_nobody_out(void **state)
{
    (void)state;
    struct stage stage;
    struct trib_packet packet;
    open_stage(&stage);
    send_script(&stage, SCRIPT_ENDLESS);
    assert_true(receive_packet(stage.child, &packet));
    struct trib_shard *shard = &stage.world.side[0].plane->shard[0];
    const struct script_node *top = stage.member->node[0].node;
    uint64_t received = 0;
    uint64_t longest_ns = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t start_ns = trib_clock_ns();
        trib_shard_enter(shard);
        uint64_t took_ns = trib_clock_ns() - start_ns;
        received = top->received;
        trib_shard_leave(shard);
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
        (void)poll(NULL, 0, 1);
    }
    assert_true(longest_ns < TRIB_SECOND_NS * patience());
    assert_true(received > 100); /* it went on all the while */
    const struct trib_packet path = {.kind = TRIB_PATH, .communicator = COMMUNICATOR};
    trib_port_send(stage.child, &path, NULL, 1);
    trib_port_flush(stage.child);
    assert_true(receive_packet(stage.child, &packet));
    assert_int_equal(packet.kind, TRIB_PATH);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_over__waits_for_what_is_lent),
        cmocka_unit_test(sets__of_children_follow_each_other),
        cmocka_unit_test(hand_over__without_end_keeps_nobody_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
