/* SPDX-License-Identifier: Apache-2.0 */
/* test_plane.c: the data plane of one switch with ranks as children. Trees of nodes are test_plane_tree.c's. */
#include <poll.h>
#include <unistd.h>

#include "net/resolve.h"
#include "patience.h"
#include "plane_harness.h"

#define RANKS 3

static void open__allreduce_over_two_shards(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    struct trib_port_stats stats;
    open_flat(&world, RANKS, &none);
    register_all(&world);
    check_allreduce(&world, 300000);
    check_allreduce(&world, 1);
    struct trib_plane_report report = report_of(&world.side[0]);
    uint64_t fragments = fragments_of(300000) + 1;
    assert_int_equal(report.counters.results, fragments);
    assert_int_equal(report.counters.contributions, RANKS * fragments);
    assert_int_equal(report.missing_count, 0);
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_true(trib_port_stats(root->plane->shard[i].port)->packets_received > fragments);
    }
    root->verbs.traffic(root->plane, &stats);
    assert_true(stats.packets_sent >= RANKS * fragments);
    assert_true(stats.send_calls < stats.packets_sent / 4);
    assert_true(root->verbs.communicator_mark(root->plane, COMMUNICATOR) > 0);
    close_world(&world);
}

/* The network marks what one rank sends: every result says so, and whose way it was. */
static void mark__of_one_rank_is_told_as_its_own(void **state)
{
    (void)state;
    const int experienced = 3;
    struct world world;
    open_flat(&world, 3, &none);
    register_all(&world);
    check_allreduce(&world, 100000);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(world.rank[i].flagged, 0);
        assert_int_equal(world.rank[i].named, 0);
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        int fd = trib_port_fd(world.rank[1].udp[i]);
        assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TOS, &experienced, sizeof experienced), 0);
    }
    check_allreduce(&world, 100000);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(world.rank[i].named >= 100000 * sizeof(float) / PAYLOAD);
        assert_int_equal(world.rank[i].names, 1 << 1);
        assert_int_equal(world.rank[i].flagged, 0); /* the ways down were not congested */
    }
    struct trib_port_stats traffic;
    world.side[0].verbs.traffic(world.side[0].plane, &traffic);
    assert_true(report_of(&world.side[0]).flagged >= 100000 * sizeof(float) / PAYLOAD);
    assert_in_range(traffic.marked_received, 100000 * sizeof(float) / PAYLOAD, traffic.packets_received / 2);
    close_world(&world);
}

/* Asks a shard for a fragment of its own, with this mark, and waits for the answer. */
static void probe_with_mark(struct world *world, uint32_t shard, uint64_t sequence)
{
    const struct trib_packet probe = {.kind = TRIB_PROBE,
                                      .communicator = COMMUNICATOR,
                                      .generation = world->session.generation,
                                      .boot = BOOT,
                                      .sequence = sequence,
                                      .mark = sequence};
    struct trib_port *udp = world->rank[0].udp[shard];
    struct pollfd answer = {.fd = trib_port_fd(udp), .events = POLLIN};
    trib_port_send(udp, &probe, NULL, 1);
    trib_port_flush(udp);
    assert_int_equal(poll(&answer, 1, (int)(LIMIT_NS / TRIB_MILLISECOND_NS)), 1);
}

/* A mark in a packet reaches one shard alone: what the others have not heard may still be needed there. */
static void mark__is_the_lowest_of_all_shards(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    open_flat(&world, 1, &none);
    register_all(&world);
    probe_with_mark(&world, 1, 40); /* trains of 32: shard 1's */
    assert_int_equal(root->verbs.communicator_mark(root->plane, COMMUNICATOR), 0);
    probe_with_mark(&world, 0, 72);
    assert_int_equal(root->verbs.communicator_mark(root->plane, COMMUNICATOR), 40);
    close_world(&world);
}

static void idle__memory_is_given_back(void **state)
{
    (void)state;
    struct world world;
    open_flat(&world, RANKS, &none);
    register_all(&world);
    uint64_t before = report_of(&world.side[0]).memory_held;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t limit = trib_clock_ns() + 5 * TRIB_SECOND_NS * patience();
        check_allreduce(&world, 300000);
        assert_true(report_of(&world.side[0]).memory_held > before + 100000);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            join_planes(&world, rank, worker()->mark(world.rank[rank].node));
        }
        while (report_of(&world.side[0]).memory_held > before + 100000 && trib_clock_ns() < limit) {
            (void)usleep(20000);
        }
        assert_true(report_of(&world.side[0]).memory_held <= before + 100000);
    }
    close_world(&world);
}

static void open__with_every_fault(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    const struct trib_faults faults = {.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01, .seed = 1};
    struct trib_port_stats stats;
    open_flat(&world, RANKS, &faults);
    register_all(&world);
    check_allreduce(&world, 300000);
    root->verbs.traffic(root->plane, &stats);
    assert_true(stats.injected_loss > 0 && stats.injected_duplicate > 0 && stats.injected_reorder > 0 &&
                stats.injected_corrupt > 0);
    close_world(&world);
}

static void multicast__results_come_by_the_group(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    open_flat(&world, RANKS, &none);
    for (uint32_t i = 0; i < RANKS; i++) {
        open_groups(&world, i);
    }
    root->verbs.multicast(root->plane, COMMUNICATOR, GROUP, GROUP_PORT);
    register_all(&world);
    check_allreduce(&world, 100000);
    uint64_t fragments = fragments_of(100000);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_true(world.rank[i].multicast_received >= fragments);
    }
    close_world(&world);
}

/* Somebody names two addresses as a job's ranks, and gives the sums of both by an OFFER: an address that has brought no
 * nonce gets nothing, whatever is sent to it, and a PATH without the nonce brings a header. */
static void path__nothing_goes_to_an_address_that_is_not_proved(void **state)
{
    (void)state;
    struct world world;
    static const uint8_t payload[PAYLOAD];
    struct trib_packet packet;
    begin_world(&world);
    (void)add_plane(&world, NO_PLANE, &none);
    open_ranks(&world, 2, NULL);
    open_sides(&world);
    register_all(&world);
    struct trib_port *attacker = world.rank[0].udp[0];
    struct trib_port *victim = world.rank[1].udp[0];
    prove_child(attacker, NULL, BOOT);
    const struct trib_packet offer = {.kind = TRIB_OFFER,
                                      .communicator = COMMUNICATOR,
                                      .generation = world.session.generation,
                                      .boot = BOOT,
                                      .digest = 7,
                                      .type = TRIB_FLOAT32,
                                      .reduction = TRIB_SUM,
                                      .contributors = 2,
                                      .payload_len = PAYLOAD,
                                      .payload = payload};
    trib_port_send(attacker, &offer, NULL, 1);
    trib_port_flush(attacker);
    assert_true(receive_packet(attacker, &packet));
    assert_int_equal(packet.kind, TRIB_RESULT);
    assert_true(receives_nothing(victim));
    struct trib_packet probe = {
        .kind = TRIB_PATH, .communicator = COMMUNICATOR, .bitmap = 1, .payload_len = PAYLOAD, .payload = payload};
    for (int i = 0; i < 2; i++) { /* a wrong nonce, and an even one, which is never drawn */
        trib_port_send(victim, &probe, NULL, 1);
        trib_port_flush(victim);
        assert_true(receive_packet(victim, &packet));
        assert_int_equal(packet.kind, TRIB_PATH);
        assert_int_equal(packet.payload_len, 0);
        assert_true(packet.lane != 0);
        probe.bitmap = 0;
    }
    close_world(&world);
}

/* PATHs without payload that come until none has come for a moment; *last is the last. */
static uint32_t count_headers(struct trib_port *udp, struct trib_packet *last)
{
    struct pollfd readable = {.fd = trib_port_fd(udp), .events = POLLIN};
    struct trib_arrival arrival;
    uint32_t count = 0;
    while (poll(&readable, 1, 200 * (int)patience()) == 1) {
        while (trib_port_receive(udp, 0)) {
            for (; trib_port_next(udp, &arrival); count++) {
                assert_int_equal(trib_packet_decode(arrival.data, arrival.len, last), TRIB_DROP_NONE);
                assert_int_equal(last->kind, TRIB_PATH);
                assert_int_equal(last->payload_len, 0);
                assert_int_equal(last->bitmap, 77);
            }
        }
    }
    return count;
}

/* Somebody sends PATHs in the name of a rank, as fast as may be: so many answers go there in an incarnation, and no more;
 * also in the next one. A nonce that then comes counts all the same. */
static void path__few_headers_go_to_an_address_that_is_not_proved(void **state)
{
    (void)state;
    struct world world;
    struct trib_packet packet = {0};
    const struct trib_packet probe = {.kind = TRIB_PATH, .communicator = COMMUNICATOR, .lane = 77};
    for (int incarnation = 0; incarnation < 2; incarnation++) {
        begin_world(&world);
        (void)add_plane(&world, NO_PLANE, &none);
        open_ranks(&world, 2, NULL);
        open_sides(&world);
        struct trib_port *victim = world.rank[1].udp[0];
        for (int i = 0; i < 3 * (int)TRIB_PATH_HEADERS; i++) {
            trib_port_send(victim, &probe, NULL, 1);
            trib_port_flush(victim);
        }
        assert_int_equal(count_headers(victim, &packet), TRIB_PATH_HEADERS);
        struct trib_packet proof = probe;
        proof.bitmap = packet.lane;
        trib_port_send(victim, &proof, NULL, 1);
        trib_port_flush(victim);
        assert_true(receive_packet(victim, &packet));
        assert_int_equal(packet.kind, TRIB_PATH);
        assert_int_equal(packet.lane, 0);
        close_world(&world);
    }
}

static void path__is_answered_at_its_size_to_children_only(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    static const uint8_t payload[PAYLOAD];
    const struct trib_packet probe = {.kind = TRIB_PATH,
                                      .communicator = 5,
                                      .generation = 3,
                                      .sequence = 17,
                                      .mark = 17,
                                      .payload_len = PAYLOAD,
                                      .payload = payload};
    struct trib_packet answer;
    open_flat(&world, RANKS, &none);
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_port_send(world.rank[1].udp[i], &probe, NULL, 1);
        trib_port_flush(world.rank[1].udp[i]);
        assert_true(receive_packet(world.rank[1].udp[i], &answer));
        assert_int_equal(answer.kind, TRIB_PATH);
        assert_int_equal(answer.payload_len, PAYLOAD);
        assert_int_equal(answer.sequence, 17);
        assert_int_equal(answer.node, 1);
        assert_int_equal(answer.boot, BOOT);
    }
    struct trib_port_config config = {.payload = PAYLOAD, .buffer = 1 << 20, .peer = world.rank[0].root[0]};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    struct trib_port *stranger = open_udp(&config);
    trib_port_send(stranger, &probe, NULL, 1);
    trib_port_flush(stranger);
    assert_int_equal(sendto(trib_port_fd(stranger), "?", 1, 0, NULL, 0), 1);
    assert_true(wait_dropped(root, TRIB_DROP_SOURCE, 1) && wait_dropped(root, TRIB_DROP_SHORT, 1));
    assert_true(receives_nothing(stranger));
    uint64_t dropped[TRIB_DROP_COUNT];
    root->verbs.drops(root->plane, dropped);
    assert_int_equal(dropped[TRIB_DROP_SOURCE], 1);
    assert_int_equal(dropped[TRIB_DROP_SHORT], 1);
    trib_port_close(stranger);
    close_world(&world);
}

static void probe_multicast__reaches_the_group(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    struct trib_packet packet;
    open_flat(&world, RANKS, &none);
    open_groups(&world, 2);
    root->verbs.probe_multicast(root->plane, COMMUNICATOR, GROUP, GROUP_PORT);
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_true(receive_packet(world.rank[2].group[i], &packet));
        assert_int_equal(packet.kind, TRIB_PATH);
        assert_int_equal(packet.communicator, 5);
        assert_int_equal(packet.payload_len, PAYLOAD);
    }
    close_world(&world);
}

/* Two ranks run other operations under the same sequence: the listener hears of it, with the ranks. */
static void listener__hears_of_a_mismatch(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    open_flat(&world, RANKS, &none);
    register_all(&world);
    make_tensors(&world, 1000);
    for (uint32_t i = 0; i < RANKS; i++) {
        submit_allreduce(&world.rank[i], i == 1 ? 999 : 1000);
    }
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    while (atomic_load(&world.mismatches) == 0 && trib_clock_ns() < end_ns) {
        for (uint32_t i = 0; i < RANKS; i++) {
            step(&world.rank[i]);
        }
    }
    assert_int_not_equal(atomic_load(&world.mismatches), 0);
    trib_plane_stop(root->plane);
    assert_int_equal(world.mismatch.communicator, COMMUNICATOR);
    assert_true((world.mismatch.rank[0] == 1) != (world.mismatch.rank[1] == 1));
    close_world(&world);
}

static void close__forgets_the_communicator(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    struct trib_plane_report report;
    uint16_t ranks[RANKS];
    open_flat(&world, RANKS, &none);
    root->verbs.close(root->plane, COMMUNICATOR);
    assert_false(root->verbs.report(root->plane, COMMUNICATOR, &report));
    assert_int_equal(root->verbs.missing(root->plane, COMMUNICATOR, 0, ranks, RANKS), 0);
    root->verbs.close(root->plane, COMMUNICATOR);
    root->verbs.join(root->plane, COMMUNICATOR, 0, 0);
    root->verbs.multicast(root->plane, COMMUNICATOR, GROUP, GROUP_PORT);
    root->verbs.probe_multicast(root->plane, COMMUNICATOR, GROUP, GROUP_PORT);
    assert_int_equal(root->verbs.communicator_mark(root->plane, COMMUNICATOR), 0);
    close_world(&world);
}

static void open__refuses_what_it_cannot_do(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    const uint16_t zero = 0;
    struct trib_branch branch = {.ranks = &zero, .count = 1};
    open_flat(&world, RANKS, &none);
    branch.from = root->address[0];
    struct trib_opening opening = {.session = world.session,
                                   .ranks = 1,
                                   .scheme = "no such scheme",
                                   .boot = BOOT,
                                   .branches = &branch,
                                   .count = 1};
    opening.session.communicator = 6;
    opening.session.ranks = 1;
    assert_int_equal(root->verbs.open(root->plane, &opening), TRIB_ERR_INVALID);
    opening.scheme = "switchml";
    opening.session.roots = SHARDS + 1;
    opening.root = opening.shard = SHARDS;
    assert_int_equal(root->verbs.open(root->plane, &opening), TRIB_ERR_INVALID);
    opening.root = opening.shard = 0;
    assert_true(root->verbs.slot_bytes(root->plane, &opening) > (size_t)opening.session.slots * PAYLOAD);
    opening.ranks = opening.session.ranks = 2; /* of whom one is behind nobody */
    assert_int_equal(root->verbs.slot_bytes(root->plane, &opening), 0);
    assert_int_equal(root->verbs.open(root->plane, &opening), TRIB_ERR_INVALID);
    opening.parent = &branch.from; /* which is the address of its child */
    assert_int_equal(root->verbs.open(root->plane, &opening), TRIB_ERR_INVALID);
    close_world(&world);
}

/* ---- one root alone, driven by its owner ---- */

/* As a rank's process has it, but with two sockets. */
struct alone {
    struct trib_plane *plane;
    struct trib_data_plane verbs;
    struct trib_port *child;
    struct trib_branch branch;
    struct trib_opening opening;
};

static void open_alone(struct alone *alone)
{
    static const uint16_t rank;
    struct world world;
    struct trib_switchd_config config = {.threads = 2, .buffer = 1 << 20, .trains = true};
    begin_world(&world);
    memset(alone, 0, sizeof *alone);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL), TRIB_OK);
    for (int tries = 0; alone->plane == NULL && tries < 20; tries++) { /* the port next to a free one may be taken */
        enum trib_status status = trib_plane_open(&config, &alone->plane, NULL);
        assert_true(status == TRIB_OK || status == TRIB_ERR_SYSTEM);
    }
    alone->verbs = trib_plane_verbs(alone->plane);
    alone->child = open_loopback(NULL);
    alone->branch = (struct trib_branch){.ranks = &rank, .count = 1};
    trib_port_local(alone->child, &alone->branch.from);
    alone->opening = (struct trib_opening){.session = world.session,
                                           .scheme = "switchml",
                                           .boot = BOOT,
                                           .branches = &alone->branch,
                                           .count = 1,
                                           .root = 2};
    alone->opening.ranks = alone->opening.session.ranks = 1;
    alone->opening.session.roots = 4;
}

static void close_alone(struct alone *alone)
{
    trib_port_close(alone->child);
    trib_plane_close(alone->plane);
}

/* Readable, when whoever is to write has had the time? */
static bool has_news(int fd)
{
    struct pollfd events = {.fd = fd, .events = POLLIN};
    return poll(&events, 1, 10000 * (int)patience()) == 1;
}

static void one_root__works_without_a_thread(void **state)
{
    (void)state;
    struct alone alone;
    static const uint8_t payload[PAYLOAD];
    struct trib_packet probe = {.kind = TRIB_PATH, .communicator = COMMUNICATOR, .generation = 3, .payload = payload};
    struct trib_packet answer;
    struct trib_address to;
    int fds[TRIB_SHARD_FDS];
    uint64_t wake_ns;
    open_alone(&alone);
    struct trib_shard *shard = &alone.plane->shard[0];
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_OK);
    trib_shard_fds(shard, fds);
    assert_true(has_news(fds[1])); /* who drives it is to look */
    trib_shard_calm(shard);
    struct pollfd calm = {.fd = fds[1], .events = POLLIN};
    assert_int_equal(poll(&calm, 1, 0), 0);
    trib_shard_calm(shard); /* harmless */
    assert_false(trib_shard_work(shard, &wake_ns));
    trib_plane_local(alone.plane, &to);
    probe.payload_len = PAYLOAD;
    trib_port_send(alone.child, &probe, &to, 1);
    trib_port_flush(alone.child);
    assert_true(has_news(fds[0]));
    (void)trib_shard_work(shard, &wake_ns);
    assert_true(receive_packet(alone.child, &answer));
    assert_int_equal(answer.kind, TRIB_PATH);
    assert_int_equal(shard->paths, 1);
    close_alone(&alone);
}

static void send_contribution(struct alone *alone, uint16_t flags)
{
    struct trib_packet packet = {
        .kind = TRIB_CONTRIBUTION, .communicator = COMMUNICATOR, .flags = flags, .sequence = 19, .mark = 4};
    struct trib_address to;
    uint64_t wake_ns;
    trib_plane_local(alone->plane, &to);
    trib_port_send(alone->child, &packet, &to, 1);
    trib_port_flush(alone->child);
    assert_true(has_news(trib_port_fd(alone->plane->shard[0].port)));
    (void)trib_shard_work(&alone->plane->shard[0], &wake_ns);
}

/* As after seven packets that came 16.5 us apart. */
static struct trib_nap measure(const struct trib_shard *shard)
{
    return (struct trib_nap){.since_ns = TRIB_SECOND_NS,
                             .packets = trib_port_stats(shard->port)->packets_received - 7,
                             .interval_ns = 16500,
                             .samples = TRIB_NAP_SAMPLES};
}

/* Sixteen sequences in flight, dealt over four roots. A rank that has no more to send waits for the answer alone. */
static void nap__is_for_ranks_that_have_more_to_send(void **state)
{
    (void)state;
    struct alone alone;
    open_alone(&alone);
    struct trib_shard *shard = &alone.plane->shard[0];
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_OK);
    send_contribution(&alone, TRIB_FLAG_MORE);
    assert_int_equal(shard->awaited, 4);
    assert_int_equal(shard->prompt_ns, 0);
    shard->awaited = 112;
    const struct trib_nap measured = measure(shard);
    uint64_t now_ns = measured.since_ns + 7 * measured.interval_ns;
    shard->nap = measured;
    assert_int_equal(trib_shard_nap(shard, now_ns), 112 / 2 / TRIB_NAP_PART * 16500);
    send_contribution(&alone, 0);
    assert_int_equal(shard->awaited, 0);
    assert_true(shard->prompt_ns > 0);
    shard->awaited = 112;
    shard->nap = measured;
    shard->prompt_ns = now_ns - TRIB_SHARD_PROMPT_NS + 1;
    assert_int_equal(trib_shard_nap(shard, now_ns), 0);
    shard->nap = measured;
    shard->prompt_ns--;
    assert_int_not_equal(trib_shard_nap(shard, now_ns), 0);
    close_alone(&alone);
}

/* What fills the window of one job may be too little for another, which has sent nothing wrong. */
static void nap__is_for_a_communicator_that_has_the_shard_alone(void **state)
{
    (void)state;
    struct alone alone;
    open_alone(&alone);
    struct trib_shard *shard = &alone.plane->shard[0];
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_OK);
    send_contribution(&alone, TRIB_FLAG_MORE);
    shard->shared_ns = 0;
    send_contribution(&alone, TRIB_FLAG_MORE);
    assert_int_equal(shard->shared_ns, 0);
    shard->heard = COMMUNICATOR + 1;
    send_contribution(&alone, TRIB_FLAG_MORE);
    assert_true(shard->shared_ns > 0);
    const struct trib_nap measured = measure(shard);
    uint64_t now_ns = measured.since_ns + 7 * measured.interval_ns;
    shard->awaited = 112;
    shard->nap = measured;
    shard->shared_ns = now_ns - TRIB_SHARD_SHARED_NS + 1;
    assert_int_equal(trib_shard_nap(shard, now_ns), 0);
    shard->nap = measured;
    shard->shared_ns--;
    assert_int_not_equal(trib_shard_nap(shard, now_ns), 0);
    close_alone(&alone);
}

static void one_root__is_one_of_those_that_there_are(void **state)
{
    (void)state;
    struct alone alone;
    open_alone(&alone);
    alone.opening.root = 4; /* of 4 */
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_ERR_INVALID);
    alone.opening.root = 2;
    alone.opening.shard = 2; /* of 2 */
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_ERR_INVALID);
    alone.opening.shard = 0;
    alone.opening.ranks = 2; /* of one host: one member of the sums */
    alone.branch.ranks = (const uint16_t[]){0, 1};
    alone.branch.count = 2;
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_OK);
    alone.opening.root = 3;
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_ERR_INVALID); /* that socket has one */
    alone.opening.shard = 1;
    alone.opening.ranks = 3; /* another tree under the same id */
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_ERR_INVALID);
    alone.opening.ranks = 2;
    assert_int_equal(alone.verbs.open(alone.plane, &alone.opening), TRIB_OK);
    alone.verbs.join(alone.plane, COMMUNICATOR, 0, 5);
    alone.verbs.join(alone.plane, COMMUNICATOR, 1, 5);
    assert_int_equal(alone.verbs.communicator_mark(alone.plane, COMMUNICATOR), 5); /* both know */
    alone.verbs.close(alone.plane, COMMUNICATOR);
    assert_int_equal(alone.plane->shard[0].members.count + alone.plane->shard[1].members.count, 0);
    close_alone(&alone);
}

static void open_more(struct alone *alone, const char *scheme, uint32_t communicator)
{
    alone->opening.scheme = scheme;
    alone->opening.session.communicator = communicator;
    alone->opening.session.cap = 0;
    assert_int_equal(alone->verbs.open(alone->plane, &alone->opening), TRIB_OK);
}

/* A look at the socket's queue for each train is paid for by those who have asked for it, as long as they are there;
 * and nobody else's packets say that a queue is long. */
static void open__flags_queues_while_somebody_follows_congestion(void **state)
{
    (void)state;
    struct alone alone;
    open_alone(&alone);
    struct trib_shard *shard = &alone.plane->shard[0];
    shard->backlog = 5000;
    open_more(&alone, "switchml", 10);
    assert_int_equal(trib_port_backlog(shard->port), 0);
    open_more(&alone, "panama", 11);
    assert_int_equal(trib_port_backlog(shard->port), 5000);
    assert_int_equal(trib_port_backlog(alone.plane->shard[1].port), 0); /* nobody is there */
    open_more(&alone, "panama", 12);
    open_more(&alone, "switchml", 13);
    alone.verbs.close(alone.plane, 11);
    assert_int_equal(trib_port_backlog(shard->port), 5000);
    alone.verbs.close(alone.plane, 12);
    assert_int_equal(trib_port_backlog(shard->port), 0);
    open_more(&alone, "panama", 14);
    assert_int_equal(trib_port_backlog(shard->port), 5000);
    close_alone(&alone);
}

/* A flood of strangers' packets keeps a shard busy; the control plane still gets in, hundreds of times a second. */
static void enter__is_fair_under_a_flood(void **state)
{
    (void)state;
    struct world world;
    const struct side *root = &world.side[0];
    open_flat(&world, RANKS, &none);
    struct trib_port_config config = {
        .payload = PAYLOAD, .buffer = 4 << 20, .trains = true, .peer = world.rank[0].root[0]};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    struct trib_port *flood = open_udp(&config);
    const struct trib_packet packet = {.kind = TRIB_PROBE, .communicator = 5};
    uint64_t longest_ns = 0;
    for (int i = 0; i < 300; i++) {
        for (int k = 0; k < 640; k++) {
            trib_port_send(flood, &packet, NULL, 1);
        }
        trib_port_flush(flood);
        uint64_t start_ns = trib_clock_ns();
        root->verbs.join(root->plane, COMMUNICATOR, 0, 0);
        uint64_t took_ns = trib_clock_ns() - start_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    assert_true(longest_ns < TRIB_SECOND_NS * patience());
    trib_port_close(flood);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__allreduce_over_two_shards),
        cmocka_unit_test(mark__of_one_rank_is_told_as_its_own),
        cmocka_unit_test(mark__is_the_lowest_of_all_shards),
        cmocka_unit_test(idle__memory_is_given_back),
        cmocka_unit_test(open__with_every_fault),
        cmocka_unit_test(multicast__results_come_by_the_group),
        cmocka_unit_test(path__nothing_goes_to_an_address_that_is_not_proved),
        cmocka_unit_test(path__few_headers_go_to_an_address_that_is_not_proved),
        cmocka_unit_test(path__is_answered_at_its_size_to_children_only),
        cmocka_unit_test(probe_multicast__reaches_the_group),
        cmocka_unit_test(listener__hears_of_a_mismatch),
        cmocka_unit_test(close__forgets_the_communicator),
        cmocka_unit_test(open__refuses_what_it_cannot_do),
        cmocka_unit_test(one_root__works_without_a_thread),
        cmocka_unit_test(one_root__is_one_of_those_that_there_are),
        cmocka_unit_test(nap__is_for_ranks_that_have_more_to_send),
        cmocka_unit_test(nap__is_for_a_communicator_that_has_the_shard_alone),
        cmocka_unit_test(open__flags_queues_while_somebody_follows_congestion),
        cmocka_unit_test(enter__is_fair_under_a_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
