/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c: see shard.h. The loop: sleep; receive a batch; wake nodes that are due; send the nodes' packets; report. */
#define _GNU_SOURCE
#include "switchd/shard.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "protocol/combining.h"
#include "switchd/caps.h"

/* Most rounds of handing over between the nodes of one communicator in one drain. */
#define ROUNDS 16
/* Idle time after which a communicator gives back memory of its nodes: within a second (I6). */
#define IDLE_MEMORY_NS (500 * TRIB_MILLISECOND_NS)

/* Payload of path probes. The contents have no meaning. */
static const uint8_t zeros[TRIB_PAYLOAD_MAX];

enum trib_status trib_shard_open(struct trib_shard *shard, const struct trib_port_config *config, char *error)
{
    memset(shard, 0, sizeof *shard);
    atomic_init(&shard->stop, false);
    shard->wake_ns = shard->caps_ns = TRIB_NEVER;
    (void)pthread_mutex_init(&shard->gate, NULL);
    (void)pthread_mutex_init(&shard->lock, NULL);
    shard->kick_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (shard->kick_fd < 0) {
        trib_explain(error, "cannot make an eventfd: %s", trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    enum trib_status status = trib_port_open(config, &shard->port, error);
    shard->room = status == TRIB_OK ? trib_port_receive_room(shard->port) : 0;
    return status;
}

static void kick(const struct trib_shard *shard)
{
    const uint64_t one = 1;
    ssize_t written = write(shard->kick_fd, &one, sizeof one);
    (void)written; /* EAGAIN: 2^64 - 1 kicks are pending, which is enough */
}

void trib_shard_stop(struct trib_shard *shard)
{
    if (shard->is_running) {
        atomic_store(&shard->stop, true);
        kick(shard);
        (void)pthread_join(shard->thread, NULL);
        shard->is_running = false;
    }
}

void trib_shard_close(struct trib_shard *shard)
{
    trib_shard_stop(shard);
    trib_port_close(shard->port);
    shard->port = NULL;
    trib_members_deinit(&shard->members);
    trib_rows_close(&shard->rows);
    if (shard->kick_fd >= 0) {
        (void)close(shard->kick_fd);
        shard->kick_fd = -1;
    }
    (void)pthread_mutex_destroy(&shard->gate);
    (void)pthread_mutex_destroy(&shard->lock);
}

/* Every thread passes the gate on the way to the lock. A thread that waits for the lock keeps the gate shut. The
 * shard's thread would otherwise retake the lock at once; it stops at the gate, and the waiter is next. */
static void take_lock(struct trib_shard *shard)
{
    (void)pthread_mutex_lock(&shard->gate);
    (void)pthread_mutex_lock(&shard->lock);
    (void)pthread_mutex_unlock(&shard->gate);
}

void trib_shard_enter(struct trib_shard *shard)
{
    take_lock(shard);
}

void trib_shard_leave(struct trib_shard *shard)
{
    trib_port_flush(shard->port); /* no node has lent anything since the last drain */
    (void)pthread_mutex_unlock(&shard->lock);
    kick(shard);
}

/* The last holder of the lock has sent all loaded packets, and has kicked, or is the thread itself. */
void trib_shard_leave_unchanged(struct trib_shard *shard)
{
    TRIB_ASSERT(trib_port_is_flushed(shard->port));
    (void)pthread_mutex_unlock(&shard->lock);
}

/* ---- receiving ---- */

/* Sends to single addresses by the socket. receiver: an id, or TRIB_AUTH_ALL. */
static void send_sealed(struct trib_shard *shard, const struct trib_member *member, const struct trib_packet *packet,
                        const struct trib_address *to, uint64_t bits, uint16_t receiver)
{
    const struct trib_seal seal = {member->auth, receiver};
    trib_port_send_sealed(shard->port, packet, to, bits, member->auth != NULL ? &seal : NULL);
}

static uint16_t id_of_child(const struct trib_member_node *node, uint64_t bits)
{
    return trib_auth_peer(node->member->auth, node->first + (uint32_t)__builtin_ctzll(bits));
}

/* True if all these children send from one address, which has one id. */
static bool is_one_address(const struct trib_member_node *node, uint64_t bits)
{
    return bits != 0 &&
           ((bits & (bits - 1)) == 0 || (node->together != NULL && node->together[__builtin_ctzll(bits)] == bits));
}

/* Receiver of a packet for a set of children: one id, all but one, or all. Results go to such sets. A set of another
 * size counts as all: some children want no payload, or are late. */
static uint16_t receiver_of(const struct trib_member_node *node, uint64_t bits)
{
    uint64_t lacks = trib_all_children(node->children);
    if (node->member->auth == NULL) {
        return TRIB_AUTH_ALL;
    }
    if ((bits & (bits - 1)) == 0) {
        return id_of_child(node, bits);
    }
    for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
        lacks &= node->together != NULL ? ~node->together[__builtin_ctzll(rest)] : ~(rest & -rest);
    }
    return is_one_address(node, lacks) ? trib_auth_all_but(id_of_child(node, lacks)) : TRIB_AUTH_ALL;
}

static void send_up(struct trib_shard *shard, const struct trib_member *member, const struct trib_packet *packet)
{
    bool is_sealed = member->auth_up != NULL;
    const struct trib_seal seal = {member->auth_up,
                                   is_sealed ? trib_auth_peer(member->auth, member->tree->branches) : TRIB_AUTH_ALL};
    trib_port_send_sealed(shard->port, packet, &member->parent, 1, is_sealed ? &seal : NULL);
}

void trib_shard_probe_group(struct trib_shard *shard, const struct trib_member *member, const struct trib_address *to)
{
    const struct trib_packet probe = {
        .kind = TRIB_PATH,
        .communicator = member->communicator,
        .generation = member->generation,
        .boot = member->boot,
        .payload_len = (uint16_t)member->payload,
        .payload = zeros,
    };
    send_sealed(shard, member, &probe, to, 1, TRIB_AUTH_ALL);
}

void trib_shard_probe_parent(struct trib_shard *shard, const struct trib_member *member)
{
    const struct trib_packet probe = {
        .kind = TRIB_PATH,
        .communicator = member->communicator,
        .generation = member->generation,
        .boot = member->boot,
        .node = trib_member_name(member->node[0].group, 0),
        .lane = member->own_nonce,
        .bitmap = member->parent_nonce,
        .payload_len = (uint16_t)(member->is_parent_proved ? member->payload : 0),
        .payload = zeros,
    };
    send_up(shard, member, &probe);
}

/* The parent's first answer returns this switch's nonce and has one of the parent's own. Returning the parent's nonce
 * proves this switch's address. The last answer is as large as a probe. */
static void take_parent_path(struct trib_shard *shard, struct trib_member *member, const struct trib_packet *answer)
{
    if (answer->boot != member->boot || answer->generation != member->generation ||
        answer->bitmap != member->own_nonce) {
        return;
    }
    member->is_parent_proved = true;
    if (member->verbs->set_child != NULL && answer->node < TRIB_CHILDREN_MAX) {
        member->verbs->set_child(member->node[0].node, answer->node);
    }
    bool is_nonce = answer->payload_len == 0 && answer->lane != 0 && answer->lane != member->parent_nonce;
    if (is_nonce && !member->has_answer) {
        member->parent_nonce = answer->lane;
        trib_shard_probe_parent(shard, member);
    }
    member->has_answer |= answer->payload_len == member->payload;
}

/* A child's path probe is answered with the probe's lane. A forged source address gains nothing: before the child has
 * returned its nonce, the answer is a header with that nonce, and the number of headers is limited. After that the
 * answer is as large as the probe. */
static void take_path(struct trib_shard *shard, const struct trib_member_source *source,
                      const struct trib_packet *probe)
{
    struct trib_member_node *node = source->node;
    if (source->place.kind == TRIB_PLACE_PARENT) {
        take_parent_path(shard, node->member, probe);
        return;
    }
    uint32_t child = (uint32_t)__builtin_ctzll(source->place.children);
    if (probe->bitmap == node->nonce[child]) {
        trib_member_prove(source);
    }
    bool is_proved = (node->proved & source->place.children) != 0;
    if (!is_proved && node->headers[child]++ >= TRIB_PATH_HEADERS) {
        node->headers[child] = TRIB_PATH_HEADERS;
        return;
    }
    const struct trib_packet answer = {
        .kind = TRIB_PATH,
        .communicator = probe->communicator,
        .generation = probe->generation,
        .sequence = probe->sequence,
        .mark = probe->sequence,
        .node = trib_member_name(source->is_grouped ? node->group : 0, (uint16_t)trib_member_number(node, child)),
        .boot = node->member->boot,
        .bitmap = probe->lane,
        .lane = is_proved ? 0 : node->nonce[child],
        .payload_len = is_proved ? probe->payload_len : 0,
        .payload = zeros,
    };
    shard->paths++;
    send_sealed(shard, node->member, &answer, trib_member_source_address(source), 1,
                receiver_of(node, UINT64_C(1) << child));
}

/* Gives a node a packet; the node counts its drops. */
static void give(struct trib_member_node *node, struct trib_place from, const struct trib_packet *packet,
                 uint64_t now_ns)
{
    (void)node->member->verbs->node.receive(node->node, from, packet, now_ns);
    node->has_more = true;
    node->member->is_touched = true;
}

/* Notes how much a rank with more to send has in flight: results for the rank may wait for a nap's time. Any other
 * packet needs a prompt answer. With a second communicator there is no nap: a time that fills one window may be too
 * long for another. */
static void note_flight(struct trib_shard *shard, struct trib_member *member, const struct trib_packet *packet,
                        uint64_t now_ns)
{
    if (member->communicator != shard->heard) {
        shard->heard = member->communicator;
        shard->shared_ns = now_ns;
    }
    if (packet->kind != TRIB_CONTRIBUTION || (packet->flags & TRIB_FLAG_MORE) == 0 || packet->mark > packet->sequence) {
        shard->prompt_ns = now_ns;
        return;
    }
    uint64_t in_flight = packet->sequence + 1 - packet->mark;
    member->in_flight = in_flight < member->span ? in_flight : member->span;
}

/* Processes the packets of one buffer. All come from one sender, nearly always for one communicator. */
static void take_buffer(struct trib_shard *shard, uint64_t now_ns)
{
    const struct trib_member_source *source = NULL;
    const struct trib_address *from = NULL;
    uint32_t communicator = 0;
    struct trib_arrival arrival;
    struct trib_packet packet;
    while (trib_port_next(shard->port, &arrival)) {
        enum trib_drop drop = trib_port_decode(&arrival, &packet);
        if (drop != TRIB_DROP_NONE) {
            shard->dropped[drop]++;
            continue;
        }
        if (source == NULL || arrival.from != from || packet.communicator != communicator ||
            !trib_member_source_is_of(source, packet.node)) {
            from = arrival.from;
            communicator = packet.communicator;
            source = trib_members_find_source(&shard->members, communicator, from, packet.node);
        }
        drop = source == NULL ? TRIB_DROP_SOURCE
                              : trib_port_authenticate(&arrival, &packet, source->node->member->auth, source->number);
        if (drop != TRIB_DROP_NONE) {
            shard->dropped[drop]++;
        } else if (packet.kind == TRIB_PATH) {
            take_path(shard, source, &packet);
        } else {
            source->node->member->flagged += (packet.flags & TRIB_FLAG_ECN) != 0;
            note_flight(shard, source->node->member, &packet, now_ns);
            packet.node = source->is_grouped ? trib_member_unname(packet.node) : packet.node;
            give(source->node, source->place, &packet, now_ns);
        }
    }
}

static void wake_due(struct trib_shard *shard, uint64_t now_ns)
{
    if (now_ns < shard->wake_ns) {
        return;
    }
    for (uint32_t i = 0; i < shard->members.count; i++) {
        struct trib_member *member = shard->members.list[i];
        if (member->idle_ns <= now_ns && !member->is_touched) {
            member->idle_ns = TRIB_NEVER;
            trib_member_give_back(member);
        }
        for (uint32_t k = 0; member->timeout_ns <= now_ns && k < member->nodes; k++) {
            struct trib_member_node *node = &member->node[k];
            if (member->verbs->node.next_timeout(node->node) <= now_ns) {
                member->verbs->node.on_timeout(node->node, now_ns);
                node->has_more = true;
                member->is_touched = true;
            }
        }
    }
}

void trib_shard_settle(struct trib_shard *shard)
{
    bool follows_congestion = false;
    shard->caps_ns = 0;
    shard->has_caps = false;
    for (uint32_t i = 0; i < shard->members.count; i++) {
        shard->has_caps = shard->has_caps || trib_member_has_caps(shard->members.list[i]);
        follows_congestion = follows_congestion || shard->members.list[i]->follows_congestion;
    }
    trib_port_set_backlog(shard->port, follows_congestion ? shard->backlog : 0);
}

/* Before results are sent, so that the results carry the new caps. */
static void divide_if_due(struct trib_shard *shard, uint64_t now_ns)
{
    if (shard->has_caps && (now_ns >= shard->caps_ns || trib_caps_have_changed(&shard->members, now_ns))) {
        shard->caps_ns = trib_caps_divide(&shard->members, shard->room, now_ns);
    } else if (!shard->has_caps) {
        shard->caps_ns = TRIB_NEVER;
    }
}

/* ---- sending ---- */

/* Sends all trains: no payload is borrowed from a node any more. */
static void flush(struct trib_shard *shard)
{
    trib_port_flush(shard->port);
    shard->flushes++;
}

/* The packet's payload may be in a train until the next flush. */
static void note_lent(const struct trib_shard *shard, struct trib_member_node *node, const struct trib_packet *packet)
{
    if (packet->payload_len != 0) {
        node->lent = shard->flushes;
    }
}

static void send_packet(struct trib_shard *shard, struct trib_member_node *node, const struct trib_packet *packet,
                        uint64_t bits)
{
    send_sealed(shard, node->member, packet, node->child, bits, receiver_of(node, bits));
    note_lent(shard, node, packet);
}

/* Hands a packet to another node of the same communicator. A loaded train may refer to payload lent by the receiving
 * node, so the train is sent first. The giving node's payload is lent until that node's next verb, and this call is not
 * one. */
static void hand_over(struct trib_shard *shard, struct trib_member_node *to, struct trib_place from,
                      const struct trib_packet *packet, uint64_t now_ns)
{
    if (to->lent == shard->flushes) {
        flush(shard);
    }
    give(to, from, packet, now_ns);
}

static void send_to_parent(struct trib_shard *shard, struct trib_member_node *node, const struct trib_packet *packet,
                           uint64_t now_ns)
{
    struct trib_member *member = node->member;
    if (node->is_inner) {
        hand_over(shard, &member->node[0], trib_member_child(node->number - 1), packet, now_ns);
    } else if (member->has_parent) {
        struct trib_packet named = *packet;
        named.node = trib_member_name(member->is_combiner ? node->group : 0, packet->node);
        named.flags &= (uint16_t)~TRIB_FLAG_MORE; /* one switch on the way naps, not two */
        send_up(shard, member, &named);
        note_lent(shard, node, packet);
    }
}

/* Sends through combiners, each with one address: one packet for all ranks behind a combiner, or one for each named
 * rank. */
static void send_through(struct trib_shard *shard, struct trib_member_node *node, const struct trib_packet *packet,
                         uint64_t bits)
{
    struct trib_packet named = *packet;
    uint64_t firsts = 0; /* lowest child of each address with all children meant */
    uint64_t alone = 0;
    for (uint64_t rest = bits; rest != 0;) {
        uint64_t lowest = rest & -rest;
        uint64_t together = node->together[__builtin_ctzll(rest)];
        bool are_all = (together & ~bits) == 0;
        firsts |= are_all ? lowest : 0;
        alone |= are_all ? 0 : lowest;
        rest &= are_all ? ~together : ~lowest;
    }
    named.node = trib_member_name(node->group, TRIB_NODE_ALL);
    if (firsts != 0) {
        send_packet(shard, node, &named, firsts);
    }
    for (; alone != 0; alone &= alone - 1) {
        uint32_t number = trib_member_number(node, (uint32_t)__builtin_ctzll(alone));
        named.node = trib_member_name(node->group, (uint16_t)number);
        send_packet(shard, node, &named, alone & -alone);
    }
}

/* Sends to the children in bits that have proved their addresses. */
static void send_by_socket(struct trib_shard *shard, struct trib_member_node *node, const struct trib_packet *packet,
                           uint64_t bits)
{
    const struct trib_member *member = node->member;
    uint64_t hearers = member->is_multicast ? member->hearers : 0;
    if ((hearers & (hearers - 1)) != 0 && (hearers & ~bits) == 0) {
        const struct trib_seal seal = {member->auth, TRIB_AUTH_ALL};
        trib_port_send_to_group(shard->port, packet, node->child, hearers, &member->group,
                                member->auth != NULL ? &seal : NULL);
        note_lent(shard, node, packet);
        bits &= ~hearers;
    }
    bits &= node->proved;
    if (node->together != NULL) {
        send_through(shard, node, packet, bits);
    } else if (bits != 0) {
        send_packet(shard, node, packet, bits);
    }
}

static void send_to_children(struct trib_shard *shard, struct trib_member_node *node, const struct trib_packet *packet,
                             uint64_t bits, uint64_t now_ns)
{
    if (trib_member_node_is_edge(node)) {
        send_by_socket(shard, node, packet, bits);
        return;
    }
    const struct trib_place parent = {.kind = TRIB_PLACE_PARENT};
    for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
        hand_over(shard, &node->member->node[1 + __builtin_ctzll(rest)], parent, packet, now_ns);
    }
}

static void drain_node(struct trib_shard *shard, struct trib_member_node *node, uint64_t now_ns)
{
    const struct trib_switch_verbs *verbs = node->member->verbs;
    uint64_t all = trib_all_children(node->children);
    struct trib_packet packet;
    struct trib_place to;
    while (verbs->node.next_packet(node->node, now_ns, &packet, &to)) {
        uint64_t bits = to.kind == TRIB_PLACE_CHILDREN ? to.children & all : 0;
        bool is_fit = trib_packet_can_encode(&packet);
        if (is_fit && to.kind == TRIB_PLACE_PARENT) {
            send_to_parent(shard, node, &packet, now_ns);
        } else if (is_fit && bits != 0) {
            send_to_children(shard, node, &packet, bits, now_ns);
        } else {
            /* an invalid packet from one node must not end the switch of every other job */
            shard->dropped[TRIB_DROP_FIELD]++;
        }
    }
}

/* Packets that combiners pass on refer to the received buffer, so they are sent before the next read. */
static void pass_on(struct trib_shard *shard, uint64_t now_ns)
{
    struct trib_member_node *node = trib_rows_next(&shard->rows);
    if (node == NULL) {
        return;
    }
    do {
        drain_node(shard, node, now_ns);
        node = trib_rows_next(&shard->rows);
    } while (node != NULL);
    flush(shard);
}

/* Receives up to a batch. True: more may be waiting. */
static bool take_batch(struct trib_shard *shard, uint64_t now_ns)
{
    for (unsigned i = 0; i < TRIB_SHARD_BATCH; i++) {
        if (!trib_port_receive(shard->port, now_ns)) {
            return false;
        }
        take_buffer(shard, now_ns);
        pass_on(shard, now_ns);
    }
    return true;
}

/* Takes the packets of all nodes, from the bottom up, until none has any.
 *
 * The exchange ends, because within one call no packet arrives from outside and time does not advance. A packet from
 * another node causes only these packets to another node again:
 *   - PROBE: ASK, HELD or RESULT, down. A newer mark: more HELD, down.
 *   - ASK: CONTRIBUTION or OFFER, up.
 *   - CONTRIBUTION: RESULT when it completes a slot, once; or one ASK to a node that has finished the fragment, which
 *     OFFERs.
 *   - OFFER: RESULT.
 *   - RESULT and HELD go on to children outside.
 * So the longest chain goes up and down three times, whatever packets were received (I5). ROUNDS limits a faulty node
 * too: it may keep its own communicator busy, not the switch. */
static void drain_packets(struct trib_shard *shard, struct trib_member *member, uint64_t now_ns)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool is_quiet = true;
        for (uint32_t i = member->nodes; i-- > 0;) {
            struct trib_member_node *node = &member->node[i];
            if (node->has_more) {
                node->has_more = false;
                is_quiet = false;
                drain_node(shard, node, now_ns);
            }
        }
        if (is_quiet) {
            return;
        }
    }
}

/* ---- events ---- */

/* False: no room for more reports; the rest stays in the node. */
static bool drain_events(struct trib_shard *shard, const struct trib_member_node *node)
{
    const struct trib_member *member = node->member;
    struct trib_event event;
    while (shard->mismatch_count < TRIB_SHARD_MISMATCHES) {
        if (!member->verbs->node.next_event(node->node, &event)) {
            return true;
        }
        if (event.kind == TRIB_EVENT_MISMATCH) {
            shard->mismatch[shard->mismatch_count++] = (struct trib_mismatch){
                .communicator = member->communicator,
                .rank = {trib_tree_lowest(member->tree, node->number, event.child),
                         trib_tree_lowest(member->tree, node->number, event.other)},
                .sequence = event.sequence,
            };
        }
    }
    return false;
}

/* Takes the events and the next timeout of a member's nodes. True: no events and no packets are left. */
static bool finish_drain(struct trib_shard *shard, struct trib_member *member)
{
    bool is_done = true;
    member->timeout_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < member->nodes; i++) {
        const struct trib_member_node *node = &member->node[i];
        uint64_t timeout_ns = member->verbs->node.next_timeout(node->node);
        is_done = drain_events(shard, node) && !node->has_more && is_done;
        member->timeout_ns = timeout_ns < member->timeout_ns ? timeout_ns : member->timeout_ns;
    }
    return is_done;
}

/* Sends for every node that a verb was called on. All trains are sent before a node is called from outside again, as
 * payloads are borrowed. */
static bool drain(struct trib_shard *shard, uint64_t now_ns)
{
    bool more = false;
    for (uint32_t i = 0; i < shard->members.count; i++) {
        struct trib_member *member = shard->members.list[i];
        if (member->is_touched) {
            drain_packets(shard, member, now_ns);
        }
    }
    flush(shard);
    shard->awaited = 0;
    shard->wake_ns = TRIB_NEVER;
    for (uint32_t i = 0; i < shard->members.count; i++) {
        struct trib_member *member = shard->members.list[i];
        if (member->is_touched) {
            member->is_touched = !finish_drain(shard, member);
            shard->awaited += member->in_flight * member->sources / member->roots;
            member->in_flight = 0;
            member->idle_ns = now_ns + IDLE_MEMORY_NS;
            more = more || member->is_touched;
        }
        uint64_t next_ns = member->idle_ns < member->timeout_ns ? member->idle_ns : member->timeout_ns;
        shard->wake_ns = next_ns < shard->wake_ns ? next_ns : shard->wake_ns;
    }
    return more;
}

static void report(const struct trib_shard *shard, const struct trib_mismatch *mismatch, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        shard->listener.mismatch(shard->listener.owner, &mismatch[i]);
    }
}

bool trib_shard_work(struct trib_shard *shard, uint64_t *wake_ns)
{
    struct trib_mismatch mismatch[TRIB_SHARD_MISMATCHES];
    take_lock(shard);
    uint64_t now_ns = trib_clock_ns();
    bool more = take_batch(shard, now_ns);
    wake_due(shard, now_ns);
    divide_if_due(shard, now_ns);
    more = drain(shard, now_ns) || more;
    uint64_t held_ns = trib_port_deadline(shard->port);
    *wake_ns = held_ns < shard->wake_ns ? held_ns : shard->wake_ns;
    *wake_ns = shard->caps_ns < *wake_ns ? shard->caps_ns : *wake_ns;
    uint32_t count = shard->mismatch_count;
    memcpy(mismatch, shard->mismatch, count * sizeof *mismatch);
    shard->mismatch_count = 0;
    (void)pthread_mutex_unlock(&shard->lock);
    report(shard, mismatch, count);
    return more;
}

void trib_shard_fds(const struct trib_shard *shard, int fds[TRIB_SHARD_FDS])
{
    fds[0] = trib_port_fd(shard->port);
    fds[1] = shard->kick_fd;
}

void trib_shard_calm(const struct trib_shard *shard)
{
    uint64_t kicks;
    ssize_t got = read(shard->kick_fd, &kicks, sizeof kicks);
    (void)got; /* EAGAIN: another kick was read with this one */
}

static bool is_prompt(const struct trib_shard *shard, uint64_t now_ns)
{
    return now_ns - shard->prompt_ns < TRIB_SHARD_PROMPT_NS;
}

uint64_t trib_shard_nap(struct trib_shard *shard, uint64_t now_ns)
{
    bool naps = !is_prompt(shard, now_ns) && now_ns - shard->shared_ns >= TRIB_SHARD_SHARED_NS;
    /* An operation ends later by a part of the last nap: results that waited are then still in the queues to the ranks.
     * Half of a rank's nap costs an operation of 2 MB a few parts in a thousand, and saves nearly as much work. */
    uint64_t awaited = naps ? shard->awaited / 2 : 0;
    return trib_nap_begin(&shard->nap, trib_port_stats(shard->port)->packets_received, awaited, now_ns);
}

/* Sleeps until a kick or wake_ns, and if it does not nap, until a packet. */
static void wait(const struct trib_shard *shard, bool naps, uint64_t now_ns, uint64_t wake_ns)
{
    struct pollfd events[2] = {{.fd = shard->kick_fd, .events = POLLIN},
                               {.fd = trib_port_fd(shard->port), .events = POLLIN}};
    uint64_t rest = wake_ns > now_ns ? wake_ns - now_ns : 0;
    const struct timespec limit = {(time_t)(rest / TRIB_SECOND_NS), (long)(rest % TRIB_SECOND_NS)};
    if (ppoll(events, naps ? 1 : 2, wake_ns == TRIB_NEVER ? NULL : &limit, NULL) > 0 && events[0].revents != 0) {
        trib_shard_calm(shard);
    }
}

/* Polls for a moment without sleeping. True: a packet has arrived. Yields, as the sender may need this core. */
static bool spin(struct trib_shard *shard, uint64_t wake_ns)
{
    struct trib_spin *spin = is_prompt(shard, trib_clock_ns()) ? &shard->spin : &shard->train_spin;
    uint64_t length_ns = trib_spin_begin(spin);
    if (length_ns == 0) {
        return false;
    }
    uint64_t end_ns = trib_clock_ns() + length_ns;
    end_ns = wake_ns < end_ns ? wake_ns : end_ns;
    do {
        struct pollfd events[2] = {{.fd = trib_port_fd(shard->port), .events = POLLIN},
                                   {.fd = shard->kick_fd, .events = POLLIN}};
        if (poll(events, 2, 0) > 0) {
            trib_spin_end(spin, true);
            return events[1].revents == 0;
        }
        (void)sched_yield();
    } while (trib_clock_ns() < end_ns);
    trib_spin_end(spin, false);
    return false;
}

static void *run(void *argument)
{
    struct trib_shard *shard = argument;
    while (!atomic_load(&shard->stop)) {
        uint64_t wake_ns;
        if (trib_shard_work(shard, &wake_ns)) {
            continue;
        }
        uint64_t now_ns = trib_clock_ns();
        uint64_t nap_ns = trib_shard_nap(shard, now_ns);
        if (nap_ns != 0) {
            wait(shard, true, now_ns, now_ns + nap_ns < wake_ns ? now_ns + nap_ns : wake_ns);
        } else if (!spin(shard, wake_ns)) {
            wait(shard, false, trib_clock_ns(), wake_ns);
        }
    }
    return NULL;
}

void trib_shard_listen(struct trib_shard *shard, const struct trib_shard_listener *listener)
{
    shard->listener = *listener;
}

enum trib_status trib_shard_start(struct trib_shard *shard, const struct trib_shard_listener *listener, char *error)
{
    sigset_t all, before;
    trib_shard_listen(shard, listener);
    /* The main thread handles signals: a handler here would interrupt packet work, not the server's wait. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&shard->thread, NULL, run, shard);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        trib_explain(error, "cannot start a thread: %s", trib_explain_errno(code));
        return TRIB_ERR_SYSTEM;
    }
    shard->is_running = true;
    return TRIB_OK;
}
