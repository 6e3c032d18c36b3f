/* SPDX-License-Identifier: Apache-2.0 */
/* test_plane.c: the data plane of the switch against real worker nodes over real sockets, without a control plane:
 * this file opens, joins and closes as that would. All workers of a test run in its one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>

#include "io/clock.h"
#include "schemes/schemes.h"
#include "switchd/plane.h"

#define RANKS 3
#define SHARDS 2
#define PAYLOAD 1408
#define LIMIT_NS (20 * TRIB_SECOND_NS)
#define GROUP 0xefff4a48U
#define GROUP_PORT 17480

struct rank {
    void *node;
    struct trib_udp *udp[SHARDS];
    struct trib_udp *group[SHARDS]; /* NULL without multicast */
    struct trib_address root[SHARDS];
    uint64_t done;
    uint64_t multicast_received;
    float *send, *recv;
};

struct world {
    struct trib_plane *plane;
    struct trib_data_plane verbs;
    struct trib_session_config session;
    struct rank rank[RANKS];
    atomic_uint mismatches;
    struct trib_mismatch mismatch;
};

static const struct trib_worker_verbs *worker(void)
{
    return trib_scheme_find("switchml")->worker;
}

static void note_mismatch(void *owner, const struct trib_mismatch *mismatch)
{
    struct world *world = owner;
    world->mismatch = *mismatch;
    atomic_fetch_add(&world->mismatches, 1);
}

static struct trib_udp *open_udp(const struct trib_udp_config *config)
{
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_udp *udp = NULL;
    if (trib_udp_open(config, &udp, error) != TRIB_OK) {
        fail_msg("%s", error);
    }
    return udp;
}

static void open_rank(struct world *world, uint32_t index)
{
    struct rank *rank = &world->rank[index];
    const struct trib_worker_config config = {.session = world->session,
                                              .kernels = trib_value_kernels(),
                                              .rank = index,
                                              .window = 128,
                                              .operations = 2,
                                              .stall_ns = LIMIT_NS};
    struct trib_udp_config udp = {.payload = PAYLOAD, .buffer = 4 << 20, .trains = true};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &udp.local, NULL), TRIB_OK);
    size_t size = (worker()->size(&config) + 63) & ~(size_t)63;
    rank->node = aligned_alloc(64, size);
    assert_non_null(rank->node);
    worker()->init(rank->node, &config);
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_plane_local(world->plane, &rank->root[i]);
        trib_address_set_port(&rank->root[i], (uint16_t)(trib_address_port(&rank->root[i]) + i));
        udp.peer = rank->root[i];
        rank->udp[i] = open_udp(&udp);
    }
}

static void open_groups(struct world *world, uint32_t index)
{
    struct rank *rank = &world->rank[index];
    for (uint16_t i = 0; i < SHARDS; i++) {
        struct trib_udp_config udp = {
            .payload = PAYLOAD, .buffer = 4 << 20, .trains = true, .group_source = rank->root[i]};
        assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &udp.local, NULL), TRIB_OK);
        assert_int_equal(trib_address_parse("239.255.74.72", (uint16_t)(GROUP_PORT + i), &udp.group, NULL), TRIB_OK);
        rank->group[i] = open_udp(&udp);
    }
}

static void open_world(struct world *world, const struct trib_faults *faults)
{
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    memset(world, 0, sizeof *world);
    trib_switchd_init(&config);
    config.threads = SHARDS;
    config.faults = *faults;
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL), TRIB_OK);
    enum trib_status status;
    int tries = 20; /* the port next to a free one may be taken */
    do {
        status = trib_plane_open(&config, 0x1234, &world->plane, error);
    } while (status != TRIB_OK && --tries > 0);
    if (status != TRIB_OK) {
        fail_msg("%s", error);
    }
    const struct trib_shard_listener listener = {world, note_mismatch};
    assert_int_equal(trib_plane_start(world->plane, &listener, error), TRIB_OK);
    world->verbs = trib_plane_verbs(world->plane);
    world->session = (struct trib_session_config){.salt = 99,
                                                  .communicator = 5,
                                                  .ranks = RANKS,
                                                  .roots = SHARDS,
                                                  .train = 32,
                                                  .slots = 256,
                                                  .payload = PAYLOAD,
                                                  .lookahead = 1,
                                                  .generation = 3,
                                                  .wire = TRIB_FLOAT32};
    struct trib_branch branches[RANKS] = {0};
    uint16_t ranks[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        open_rank(world, i);
        ranks[i] = (uint16_t)i;
        branches[i].ranks = &ranks[i];
        branches[i].count = 1;
        for (uint32_t k = 0; k < SHARDS; k++) {
            trib_udp_local(world->rank[i].udp[k], &branches[i].address[k]);
        }
    }
    const struct trib_opening opening = {
        .session = world->session, .scheme = "switchml", .boot = 0x1234, .branches = branches, .count = RANKS};
    assert_int_equal(world->verbs.open(world->plane, &opening), TRIB_OK);
}

static void register_all(struct world *world)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        world->verbs.join(world->plane, 5, i, 0);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        worker()->registered(world->rank[i].node, 0x1234, 0, trib_clock_ns());
    }
}

static void close_world(struct world *world)
{
    trib_plane_close(world->plane);
    for (uint32_t i = 0; i < RANKS; i++) {
        for (uint32_t k = 0; k < SHARDS; k++) {
            trib_udp_close(world->rank[i].udp[k]);
            trib_udp_close(world->rank[i].group[k]);
        }
        free(world->rank[i].node);
    }
}

static uint64_t take_all(struct rank *rank, struct trib_udp *udp, uint32_t root, uint64_t now_ns)
{
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint64_t taken = 0;
    while (udp != NULL && trib_udp_receive(udp, now_ns)) {
        while (trib_udp_next(udp, &arrival)) {
            const struct trib_place from = {.kind = TRIB_PLACE_ROOT, .index = root};
            assert_int_equal(trib_packet_decode(arrival.data, arrival.len, &packet), TRIB_DROP_NONE);
            taken += packet.kind == TRIB_RESULT;
            (void)worker()->receive(rank->node, from, &packet, now_ns);
        }
    }
    return taken;
}

/* One step of a worker's driver: take in, wake, send, collect events. */
static void step(struct rank *rank)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint64_t now_ns = trib_clock_ns();
    for (uint32_t i = 0; i < SHARDS; i++) {
        (void)take_all(rank, rank->udp[i], i, now_ns);
        rank->multicast_received += take_all(rank, rank->group[i], i, now_ns);
    }
    if (worker()->next_timeout(rank->node) <= now_ns) {
        worker()->on_timeout(rank->node, now_ns);
    }
    while (worker()->next_packet(rank->node, now_ns, &packet, &to)) {
        trib_udp_send(rank->udp[to.index], &packet, NULL, 1);
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_udp_flush(rank->udp[i]);
    }
    while (worker()->next_event(rank->node, &event)) {
        rank->done += event.kind == TRIB_EVENT_DONE;
        assert_int_not_equal(event.kind, TRIB_EVENT_FAILED);
    }
}

/* Steps all workers until each has done `operations`, or until the limit. */
static bool run_until(struct world *world, uint64_t operations)
{
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    for (;;) {
        uint32_t ready = 0;
        struct pollfd fds[RANKS * SHARDS];
        for (uint32_t i = 0; i < RANKS; i++) {
            step(&world->rank[i]);
            ready += world->rank[i].done >= operations;
            for (uint32_t k = 0; k < SHARDS; k++) {
                fds[i * SHARDS + k] = (struct pollfd){.fd = trib_udp_fd(world->rank[i].udp[k]), .events = POLLIN};
            }
        }
        if (ready == RANKS) {
            return true;
        }
        if (trib_clock_ns() > end_ns) {
            return false;
        }
        (void)poll(fds, RANKS * SHARDS, 1);
    }
}

static void make_tensors(struct world *world, uint64_t count)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank *rank = &world->rank[i];
        rank->send = malloc(count * sizeof *rank->send);
        rank->recv = calloc(count, sizeof *rank->recv);
        assert_non_null(rank->send);
        assert_non_null(rank->recv);
        for (uint64_t k = 0; k < count; k++) {
            rank->send[k] = (float)((k * 2654435761U + i * 40503U) % 1000003) / 128.0F;
        }
    }
}

/* Runs one allreduce and compares each element with the sum made here in double precision: exact for these values. */
static void check_allreduce(struct world *world, uint64_t count)
{
    uint64_t before = world->rank[0].done;
    make_tensors(world, count);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank *rank = &world->rank[i];
        const struct trib_operation operation = {.send = rank->send,
                                                 .recv = rank->recv,
                                                 .count = count,
                                                 .collective = TRIB_ALLREDUCE,
                                                 .type = TRIB_FLOAT32,
                                                 .reduction = TRIB_SUM};
        assert_true(worker()->submit(rank->node, &operation, trib_clock_ns()));
    }
    assert_true(run_until(world, before + 1));
    for (uint32_t i = 0; i < RANKS; i++) {
        for (uint64_t k = 0; k < count; k++) {
            double sum = 0;
            for (uint32_t r = 0; r < RANKS; r++) {
                sum += (double)world->rank[r].send[k];
            }
            double off = (double)world->rank[i].recv[k] - sum;
            assert_true(off > -0.01 && off < 0.01); /* one rounding of a sum below 2^15 */
        }
        assert_memory_equal(world->rank[i].recv, world->rank[0].recv, count * sizeof(float));
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        free(world->rank[i].send);
        free(world->rank[i].recv);
    }
}

static const struct trib_faults none;

static void open__allreduce_over_two_shards(void **state)
{
    (void)state;
    struct world world;
    struct trib_plane_report report;
    struct trib_udp_stats stats;
    open_world(&world, &none);
    register_all(&world);
    check_allreduce(&world, 300000);
    check_allreduce(&world, 1);
    assert_true(world.verbs.report(world.plane, 5, &report));
    uint64_t fragments = (300000 * 4 + PAYLOAD - 1) / PAYLOAD + 1;
    assert_int_equal(report.counters.results, fragments);
    assert_int_equal(report.counters.contributions, RANKS * fragments);
    assert_int_equal(report.missing_count, 0);
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_true(trib_udp_stats(world.plane->shard[i].udp)->packets_received > fragments);
    }
    world.verbs.traffic(world.plane, &stats);
    assert_true(stats.packets_sent >= RANKS * fragments);
    assert_true(stats.send_calls < stats.packets_sent / 4);
    assert_true(world.verbs.communicator_mark(world.plane, 5) > 0);
    close_world(&world);
}

static void open__with_every_fault(void **state)
{
    (void)state;
    struct world world;
    const struct trib_faults faults = {.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01, .seed = 1};
    struct trib_udp_stats stats;
    open_world(&world, &faults);
    register_all(&world);
    check_allreduce(&world, 300000);
    world.verbs.traffic(world.plane, &stats);
    assert_true(stats.injected_loss > 0 && stats.injected_duplicate > 0 && stats.injected_reorder > 0 &&
                stats.injected_corrupt > 0);
    close_world(&world);
}

static void multicast__results_come_by_the_group(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, &none);
    for (uint32_t i = 0; i < RANKS; i++) {
        open_groups(&world, i);
    }
    world.verbs.multicast(world.plane, 5, GROUP, GROUP_PORT);
    register_all(&world);
    check_allreduce(&world, 100000);
    uint64_t fragments = (100000 * 4 + PAYLOAD - 1) / PAYLOAD;
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_true(world.rank[i].multicast_received >= fragments);
    }
    close_world(&world);
}

static bool receive_packet(struct trib_udp *udp, struct trib_packet *packet)
{
    struct pollfd readable = {.fd = trib_udp_fd(udp), .events = POLLIN};
    struct trib_arrival arrival;
    return poll(&readable, 1, 300) == 1 && trib_udp_receive(udp, 0) && trib_udp_next(udp, &arrival) &&
           trib_packet_decode(arrival.data, arrival.len, packet) == TRIB_DROP_NONE;
}

static void path__is_answered_at_its_size_to_children_only(void **state)
{
    (void)state;
    struct world world;
    static const uint8_t payload[PAYLOAD];
    const struct trib_packet probe = {.kind = TRIB_PATH,
                                      .communicator = 5,
                                      .generation = 3,
                                      .sequence = 17,
                                      .mark = 17,
                                      .payload_len = PAYLOAD,
                                      .payload = payload};
    struct trib_packet answer;
    open_world(&world, &none);
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_udp_send(world.rank[1].udp[i], &probe, NULL, 1);
        trib_udp_flush(world.rank[1].udp[i]);
        assert_true(receive_packet(world.rank[1].udp[i], &answer));
        assert_int_equal(answer.kind, TRIB_PATH);
        assert_int_equal(answer.payload_len, PAYLOAD);
        assert_int_equal(answer.sequence, 17);
        assert_int_equal(answer.node, 1);
        assert_int_equal(answer.boot, 0x1234);
    }
    struct trib_udp_config config = {.payload = PAYLOAD, .buffer = 1 << 20, .peer = world.rank[0].root[0]};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    struct trib_udp *stranger = open_udp(&config);
    trib_udp_send(stranger, &probe, NULL, 1);
    trib_udp_flush(stranger);
    assert_false(receive_packet(stranger, &answer));
    assert_int_equal(sendto(trib_udp_fd(stranger), "?", 1, 0, NULL, 0), 1);
    assert_false(receive_packet(stranger, &answer));
    uint64_t dropped[TRIB_DROP_COUNT];
    world.verbs.drops(world.plane, dropped);
    assert_int_equal(dropped[TRIB_DROP_SOURCE], 1);
    assert_int_equal(dropped[TRIB_DROP_SHORT], 1);
    trib_udp_close(stranger);
    close_world(&world);
}

static void probe_multicast__reaches_the_group(void **state)
{
    (void)state;
    struct world world;
    struct trib_packet packet;
    open_world(&world, &none);
    open_groups(&world, 2);
    world.verbs.probe_multicast(world.plane, 5, GROUP, GROUP_PORT);
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
    open_world(&world, &none);
    register_all(&world);
    make_tensors(&world, 1000);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_operation operation = {.send = world.rank[i].send,
                                                 .recv = world.rank[i].recv,
                                                 .count = i == 1 ? 999 : 1000,
                                                 .collective = TRIB_ALLREDUCE,
                                                 .type = TRIB_FLOAT32,
                                                 .reduction = TRIB_SUM};
        assert_true(worker()->submit(world.rank[i].node, &operation, trib_clock_ns()));
    }
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    while (atomic_load(&world.mismatches) == 0 && trib_clock_ns() < end_ns) {
        for (uint32_t i = 0; i < RANKS; i++) {
            step(&world.rank[i]);
        }
    }
    assert_int_not_equal(atomic_load(&world.mismatches), 0);
    trib_plane_stop(world.plane);
    assert_int_equal(world.mismatch.communicator, 5);
    assert_true((world.mismatch.rank[0] == 1) != (world.mismatch.rank[1] == 1));
    for (uint32_t i = 0; i < RANKS; i++) {
        free(world.rank[i].send);
        free(world.rank[i].recv);
    }
    close_world(&world);
}

static void close__forgets_the_communicator(void **state)
{
    (void)state;
    struct world world;
    struct trib_plane_report report;
    uint16_t ranks[RANKS];
    open_world(&world, &none);
    world.verbs.close(world.plane, 5);
    assert_false(world.verbs.report(world.plane, 5, &report));
    assert_int_equal(world.verbs.missing(world.plane, 5, 0, ranks, RANKS), 0);
    world.verbs.close(world.plane, 5);
    world.verbs.join(world.plane, 5, 0, 0);
    world.verbs.multicast(world.plane, 5, GROUP, GROUP_PORT);
    world.verbs.probe_multicast(world.plane, 5, GROUP, GROUP_PORT);
    assert_int_equal(world.verbs.communicator_mark(world.plane, 5), 0);
    close_world(&world);
}

static void open__refuses_what_it_cannot_do(void **state)
{
    (void)state;
    struct world world;
    const uint16_t zero = 0;
    const struct trib_branch branch = {.ranks = &zero, .count = 1};
    open_world(&world, &none);
    struct trib_opening opening = {
        .session = world.session, .scheme = "no such scheme", .boot = 0x1234, .branches = &branch, .count = 1};
    opening.session.communicator = 6;
    opening.session.ranks = 1;
    assert_int_equal(world.verbs.open(world.plane, &opening), TRIB_ERR_INVALID);
    opening.scheme = "switchml";
    opening.session.roots = SHARDS + 1;
    assert_int_equal(world.verbs.open(world.plane, &opening), TRIB_ERR_INVALID);
    opening.session = world.session;
    assert_true(world.verbs.slot_bytes(world.plane, &opening) > (size_t)SHARDS * world.session.slots * RANKS * PAYLOAD);
    close_world(&world);
}

/* A flood of strangers' packets keeps a shard busy; the control plane still gets in, hundreds of times a second. */
static void enter__is_fair_under_a_flood(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, &none);
    struct trib_udp_config config = {
        .payload = PAYLOAD, .buffer = 4 << 20, .trains = true, .peer = world.rank[0].root[0]};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    struct trib_udp *flood = open_udp(&config);
    const struct trib_packet packet = {.kind = TRIB_PROBE, .communicator = 5};
    uint64_t longest_ns = 0;
    for (int i = 0; i < 300; i++) {
        for (int k = 0; k < 640; k++) {
            trib_udp_send(flood, &packet, NULL, 1);
        }
        trib_udp_flush(flood);
        uint64_t start_ns = trib_clock_ns();
        world.verbs.join(world.plane, 5, 0, 0);
        uint64_t took_ns = trib_clock_ns() - start_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    assert_true(longest_ns < TRIB_SECOND_NS);
    trib_udp_close(flood);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__allreduce_over_two_shards),
        cmocka_unit_test(open__with_every_fault),
        cmocka_unit_test(multicast__results_come_by_the_group),
        cmocka_unit_test(path__is_answered_at_its_size_to_children_only),
        cmocka_unit_test(probe_multicast__reaches_the_group),
        cmocka_unit_test(listener__hears_of_a_mismatch),
        cmocka_unit_test(close__forgets_the_communicator),
        cmocka_unit_test(open__refuses_what_it_cannot_do),
        cmocka_unit_test(enter__is_fair_under_a_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
