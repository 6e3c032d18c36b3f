/* SPDX-License-Identifier: Apache-2.0 */
/* plane_harness.h: data planes against real worker nodes over real sockets, without a control plane: this file opens,
 * joins and closes as that would. A world is one plane or a tree of them, and ranks that each have their own; all ranks
 * run in the test's one thread.
 *
 * Use: add_plane for the root and each plane below one that is there; open_ranks; open_world; register_all;
 * check_allreduce; close_world. open_flat does the first three for one plane. */
#ifndef PLANE_HARNESS_H
#define PLANE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/packet.h"
#include "io/clock.h"
#include "net/resolve.h"
#include "patience.h"
#include "schemes/schemes.h"
#include "switchd/plane.h"
#include "switchd/switchd.h"

#define SHARDS 2
#define PLANES_MAX 4
#define PAYLOAD 1408
#define BOOT 0x1234
#define COMMUNICATOR 5
#define LIMIT_NS (20 * TRIB_SECOND_NS * patience())
#define GROUP 0xefff4a48U
#define GROUP_PORT 17480
#define NO_PLANE UINT32_MAX

struct rank {
    void *node;
    struct trib_port *udp[SHARDS];
    struct trib_port *group[SHARDS]; /* NULL without multicast */
    struct trib_address root[SHARDS];
    uint32_t plane; /* that it is a child of */
    uint64_t done;
    uint64_t multicast_received;
    uint64_t flagged; /* results that said that the network is congested */
    uint64_t named;   /* results that name somebody whose part was marked */
    uint64_t names;   /* and whom */
    float *send, *recv;
};

struct side {
    struct trib_plane *plane;
    struct trib_data_plane verbs;
    uint32_t parent; /* NO_PLANE: the root */
    struct trib_address address[TRIB_ROOTS_MAX];
};

struct world {
    struct side side[PLANES_MAX]; /* 0: the root */
    uint32_t planes;
    struct trib_session_config session;
    uint32_t boot;
    struct rank *rank;
    uint32_t ranks;
    atomic_uint mismatches;
    struct trib_mismatch mismatch;
};

static const struct trib_faults none;
static const char *scheme_name = "switchml"; /* of all worlds that are opened from now on */

static inline const struct trib_worker_verbs *worker(void)
{
    return trib_scheme_find(scheme_name)->worker;
}

static inline void note_mismatch(void *owner, const struct trib_mismatch *mismatch)
{
    struct world *world = owner;
    world->mismatch = *mismatch;
    atomic_fetch_add(&world->mismatches, 1);
}

static inline struct trib_port *open_udp(const struct trib_port_config *config)
{
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_port *udp = NULL;
    if (trib_port_open(config, &udp, error) != TRIB_OK) {
        fail_msg("%s", error);
    }
    return udp;
}

/* A socket on loopback, connected to `to` when that is given. */
static inline struct trib_port *open_loopback(const struct trib_address *to)
{
    struct trib_port_config config = {.payload = PAYLOAD, .buffer = 4 << 20, .trains = true};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    if (to != NULL) {
        config.peer = *to;
    }
    return open_udp(&config);
}

/* ---- setting up ---- */

static inline void begin_world(struct world *world)
{
    memset(world, 0, sizeof *world);
    world->boot = BOOT;
    world->session = (struct trib_session_config){.salt = 99,
                                                  .communicator = COMMUNICATOR,
                                                  .roots = SHARDS,
                                                  .train = 32,
                                                  .slots = 256,
                                                  .payload = PAYLOAD,
                                                  .lookahead = 1,
                                                  .generation = 3,
                                                  .wire = TRIB_FLOAT32};
}

/* Returns its number. */
static inline uint32_t add_plane(struct world *world, uint32_t parent, const struct trib_faults *faults)
{
    struct side *side = &world->side[world->planes];
    struct trib_switchd_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    trib_switchd_init(&config);
    config.threads = SHARDS;
    config.faults = *faults;
    config.faults.seed += world->planes;
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL), TRIB_OK);
    enum trib_status status;
    int tries = 20; /* the port next to a free one may be taken */
    do {
        status = trib_plane_open(&config, &side->plane, error);
    } while (status != TRIB_OK && --tries > 0);
    if (status != TRIB_OK) {
        fail_msg("%s", error);
    }
    const struct trib_shard_listener listener = {world, note_mismatch};
    assert_int_equal(trib_plane_start(side->plane, &listener, error), TRIB_OK);
    side->verbs = trib_plane_verbs(side->plane);
    side->parent = parent;
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_plane_local(side->plane, &side->address[i]);
        trib_address_set_port(&side->address[i], (uint16_t)(trib_address_port(&side->address[i]) + i));
    }
    return world->planes++;
}

static inline void open_rank(struct world *world, uint32_t index)
{
    struct rank *rank = &world->rank[index];
    const struct trib_worker_config config = {.session = world->session,
                                              .kernels = trib_value_kernels(),
                                              .rank = index,
                                              .window = world->session.slots / 2,
                                              .operations = 2,
                                              .stall_ns = LIMIT_NS};
    size_t size = (worker()->size(&config) + 63) & ~(size_t)63;
    rank->node = aligned_alloc(64, size);
    assert_non_null(rank->node);
    worker()->init(rank->node, &config);
    for (uint32_t i = 0; i < SHARDS; i++) {
        rank->root[i] = world->side[rank->plane].address[i];
        rank->udp[i] = open_loopback(&rank->root[i]);
    }
}

static inline void open_groups(struct world *world, uint32_t index)
{
    struct rank *rank = &world->rank[index];
    for (uint16_t i = 0; i < SHARDS; i++) {
        struct trib_port_config udp = {.payload = PAYLOAD,
                                       .buffer = 4 << 20,
                                       .trains = true,
                                       .group = trib_address_v4(GROUP, (uint16_t)(GROUP_PORT + i)),
                                       .group_source = rank->root[i]};
        assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &udp.local, NULL), TRIB_OK);
        rank->group[i] = open_udp(&udp);
    }
}

/* plane_of: the plane that each is a child of; NULL: all of the root. */
static inline void open_ranks(struct world *world, uint32_t ranks, const uint32_t *plane_of)
{
    world->ranks = world->session.ranks = ranks;
    world->rank = calloc(ranks, sizeof *world->rank);
    assert_non_null(world->rank);
    for (uint32_t i = 0; i < ranks; i++) {
        world->rank[i].plane = plane_of == NULL ? 0 : plane_of[i];
        open_rank(world, i);
    }
}

/* The plane below `plane` that has this rank behind it; `plane` itself when it is the rank's own; NO_PLANE: not
 * behind. */
static inline uint32_t next_below(const struct world *world, uint32_t plane, uint32_t rank)
{
    uint32_t at = world->rank[rank].plane;
    uint32_t below = at;
    while (at != plane && at != NO_PLANE) {
        below = at;
        at = world->side[at].parent;
    }
    return at == plane ? below : NO_PLANE;
}

/* The branch that begins with this rank, its ranks written behind `ranks`. */
static inline struct trib_branch make_branch(const struct world *world, uint32_t plane, uint32_t rank, uint16_t *ranks)
{
    uint32_t below = next_below(world, plane, rank);
    struct trib_branch branch = {.ranks = ranks, .is_switch = below != plane};
    for (uint32_t i = rank; i < world->ranks; i++) {
        if (i == rank || (branch.is_switch && next_below(world, plane, i) == below)) {
            ranks[branch.count++] = (uint16_t)i;
        }
    }
    return branch;
}

/* Where branches send to this root from. */
static inline void name_places(const struct world *world, uint32_t plane, uint32_t root, struct trib_opening *opening,
                               struct trib_branch *branches)
{
    opening->root = opening->shard = root;
    for (uint32_t b = 0; b < opening->count; b++) {
        uint32_t rank = branches[b].ranks[0];
        if (branches[b].is_switch) {
            branches[b].from = world->side[next_below(world, plane, rank)].address[root];
        } else {
            trib_port_local(world->rank[rank].udp[root], &branches[b].from);
        }
    }
}

/* Opens the communicator on one plane with the ranks behind it; returns what open says. */
static inline enum trib_status open_side(struct world *world, uint32_t plane)
{
    const struct side *side = &world->side[plane];
    struct trib_branch *branches = calloc(world->ranks, sizeof *branches);
    uint16_t *ranks = calloc(world->ranks, sizeof *ranks);
    bool *is_in = calloc(world->ranks, sizeof *is_in);
    assert_true(branches != NULL && ranks != NULL && is_in != NULL);
    struct trib_opening opening = {.session = world->session,
                                   .ranks = world->session.ranks,
                                   .scheme = scheme_name,
                                   .boot = world->boot,
                                   .branches = branches};
    uint32_t used = 0;
    for (uint32_t i = 0; i < world->ranks; i++) {
        if (!is_in[i] && next_below(world, plane, i) != NO_PLANE) {
            struct trib_branch *branch = &branches[opening.count++];
            *branch = make_branch(world, plane, i, ranks + used);
            used += branch->count;
            for (uint32_t k = 0; k < branch->count; k++) {
                is_in[branch->ranks[k]] = true;
            }
        }
    }
    enum trib_status status = TRIB_OK;
    for (uint32_t root = 0; root < world->session.roots && status == TRIB_OK; root++) {
        name_places(world, plane, root, &opening, branches);
        opening.parent = side->parent != NO_PLANE ? &world->side[side->parent].address[root] : NULL;
        status = side->verbs.open(side->plane, &opening);
    }
    free(branches);
    free(ranks);
    free(is_in);
    return status;
}

/* The next PATH packet that comes within a moment. False: none did. */
static inline bool receive_path(struct trib_port *udp, struct trib_packet *packet)
{
    struct pollfd readable = {.fd = trib_port_fd(udp), .events = POLLIN};
    struct trib_arrival arrival;
    while (poll(&readable, 1, 100) == 1) {
        while (trib_port_receive(udp, 0)) {
            while (trib_port_next(udp, &arrival)) {
                if (trib_packet_decode(arrival.data, arrival.len, packet) == TRIB_DROP_NONE &&
                    packet->kind == TRIB_PATH) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* A child brings the nonce of the root that its socket is connected to; NULL: at `to`. */
static inline void prove_child(struct trib_port *udp, const struct trib_address *to, uint32_t boot)
{
    struct trib_packet probe = {.kind = TRIB_PATH, .communicator = COMMUNICATOR, .generation = 1};
    struct trib_packet answer = {.lane = 1};
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    while (answer.lane != 0 && trib_clock_ns() < end_ns) {
        trib_port_send(udp, &probe, to, 1);
        trib_port_flush(udp);
        if (!receive_path(udp, &answer) || answer.boot != boot) {
            answer.lane = 1;
            continue;
        }
        probe.bitmap = answer.lane;
    }
    assert_true(answer.lane == 0);
}

static inline void prove_all(struct world *world)
{
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    for (uint32_t i = 0; i < world->ranks; i++) {
        for (uint32_t k = 0; k < world->session.roots && world->rank[i].plane != NO_PLANE; k++) {
            prove_child(world->rank[i].udp[k], NULL, world->boot);
        }
    }
    for (uint32_t i = 0; i < world->planes; i++) {
        const struct side *side = &world->side[i];
        bool has_parent = side->parent != NO_PLANE;
        while (has_parent && !side->verbs.parent_answered(side->plane, COMMUNICATOR, NULL) &&
               trib_clock_ns() < end_ns) {
            side->verbs.probe_parent(side->plane, COMMUNICATOR);
            (void)poll(NULL, 0, 1);
        }
    }
}

/* Open, and nobody has proved where it is. */
static inline void open_sides(struct world *world)
{
    for (uint32_t i = 0; i < world->planes; i++) {
        assert_int_equal(open_side(world, i), TRIB_OK);
    }
}

static inline void open_world(struct world *world)
{
    open_sides(world);
    prove_all(world);
}

/* One plane with these ranks. */
static inline void open_flat(struct world *world, uint32_t ranks, const struct trib_faults *faults)
{
    begin_world(world);
    (void)add_plane(world, NO_PLANE, faults);
    open_ranks(world, ranks, NULL);
    open_world(world);
}

/* A mark on its way by the session: every plane from the rank's own upward hears it. */
static inline void join_planes(struct world *world, uint32_t rank, uint64_t mark)
{
    for (uint32_t i = world->rank[rank].plane; i != NO_PLANE; i = world->side[i].parent) {
        world->side[i].verbs.join(world->side[i].plane, COMMUNICATOR, rank, mark);
    }
}

/* All ranks register with their marks, as after a first start or a restart, and then may send. */
static inline void register_all(struct world *world)
{
    uint64_t mark = TRIB_NEVER;
    for (uint32_t i = 0; i < world->ranks; i++) {
        uint64_t own = worker()->mark(world->rank[i].node);
        join_planes(world, i, own);
        mark = own < mark ? own : mark;
    }
    for (uint32_t i = 1; i < world->planes; i++) {
        world->side[i].verbs.learn_mark(world->side[i].plane, COMMUNICATOR, mark);
    }
    for (uint32_t i = 0; i < world->ranks; i++) {
        worker()->registered(world->rank[i].node, world->boot, mark, trib_clock_ns());
    }
}

#define INNER_RANKS 67U
#define INNER_ABOVE 30U /* of them one at the root itself */

/* Registered: inner nodes below a parent, as the others are 66 at a plane that is the child of another. Returns the
 * root's. */
static inline uint32_t open_inner_below(struct world *world)
{
    uint32_t plane_of[INNER_RANKS];
    uint32_t root = add_plane(world, NO_PLANE, &none);
    uint32_t below = add_plane(world, root, &none);
    for (uint32_t i = 0; i < INNER_RANKS; i++) {
        plane_of[i] = i == INNER_ABOVE ? root : below;
    }
    open_ranks(world, INNER_RANKS, plane_of);
    open_world(world);
    register_all(world);
    return root;
}

/* The tree's incarnation ends in every switch, and the next begins: whatever slots held is forgotten. */
static inline void boot_again(struct world *world)
{
    for (uint32_t i = 0; i < world->planes; i++) {
        world->side[i].verbs.close(world->side[i].plane, COMMUNICATOR);
    }
    for (uint32_t i = 0; i < world->ranks; i++) {
        worker()->suspend(world->rank[i].node);
    }
    world->boot++;
    open_world(world);
    register_all(world);
}

static inline void free_tensors(struct world *world)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        free(world->rank[i].send);
        free(world->rank[i].recv);
        world->rank[i].send = world->rank[i].recv = NULL;
    }
}

static inline void close_world(struct world *world)
{
    for (uint32_t i = world->planes; i-- > 0;) {
        trib_plane_close(world->side[i].plane);
    }
    free_tensors(world);
    for (uint32_t i = 0; i < world->ranks; i++) {
        for (uint32_t k = 0; k < SHARDS; k++) {
            trib_port_close(world->rank[i].udp[k]);
            trib_port_close(world->rank[i].group[k]);
        }
        free(world->rank[i].node);
    }
    free(world->rank);
}

/* ---- running ---- */

static inline uint64_t take_all(struct rank *rank, struct trib_port *udp, uint32_t root, uint64_t now_ns)
{
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint64_t taken = 0;
    while (udp != NULL && trib_port_receive(udp, now_ns)) {
        while (trib_port_next(udp, &arrival)) {
            const struct trib_place from = {.kind = TRIB_PLACE_ROOT, .index = root};
            assert_int_equal(trib_port_decode(&arrival, &packet), TRIB_DROP_NONE);
            taken += packet.kind == TRIB_RESULT;
            rank->flagged += packet.kind == TRIB_RESULT && (packet.flags & TRIB_FLAG_ECN) != 0;
            rank->named += packet.kind == TRIB_RESULT && packet.bitmap != 0;
            rank->names |= packet.kind == TRIB_RESULT ? packet.bitmap : 0;
            (void)worker()->node.receive(rank->node, from, &packet, now_ns);
        }
    }
    return taken;
}

/* One step of a worker's driver: take in, wake, send, collect events. */
static inline void step(struct rank *rank)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint64_t now_ns = trib_clock_ns();
    for (uint32_t i = 0; i < SHARDS; i++) {
        (void)take_all(rank, rank->udp[i], i, now_ns);
        rank->multicast_received += take_all(rank, rank->group[i], i, now_ns);
    }
    if (worker()->node.next_timeout(rank->node) <= now_ns) {
        worker()->node.on_timeout(rank->node, now_ns);
    }
    while (worker()->node.next_packet(rank->node, now_ns, &packet, &to)) {
        trib_port_send(rank->udp[to.index], &packet, NULL, 1);
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_port_flush(rank->udp[i]);
    }
    while (worker()->node.next_event(rank->node, &event)) {
        rank->done += event.kind == TRIB_EVENT_DONE;
        assert_int_not_equal(event.kind, TRIB_EVENT_FAILED);
    }
}

/* Steps all workers until each has done `operations`, or until the limit. */
static inline bool run_until(struct world *world, uint64_t operations)
{
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    struct pollfd *fds = calloc(world->ranks * SHARDS, sizeof *fds);
    assert_non_null(fds);
    uint32_t ready = 0;
    while (ready < world->ranks && trib_clock_ns() < end_ns) {
        ready = 0;
        for (uint32_t i = 0; i < world->ranks; i++) {
            step(&world->rank[i]);
            ready += world->rank[i].done >= operations;
            for (uint32_t k = 0; k < SHARDS; k++) {
                fds[i * SHARDS + k] = (struct pollfd){.fd = trib_port_fd(world->rank[i].udp[k]), .events = POLLIN};
            }
        }
        if (ready < world->ranks) {
            (void)poll(fds, world->ranks * SHARDS, 1);
        }
    }
    free(fds);
    return ready == world->ranks;
}

/* Whole numbers, small enough for every sum of them to be exact in float32. */
static inline void make_tensors(struct world *world, uint64_t count)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        struct rank *rank = &world->rank[i];
        rank->send = malloc(count * sizeof *rank->send);
        rank->recv = calloc(count, sizeof *rank->recv);
        assert_non_null(rank->send);
        assert_non_null(rank->recv);
        for (uint64_t k = 0; k < count; k++) {
            rank->send[k] = (float)((k * 2654435761U + i * 40503U) % 16381);
        }
    }
}

static inline void submit_allreduce(struct rank *rank, uint64_t count)
{
    const struct trib_operation operation = {.send = rank->send,
                                             .recv = rank->recv,
                                             .count = count,
                                             .collective = TRIB_ALLREDUCE,
                                             .type = TRIB_FLOAT32,
                                             .reduction = TRIB_SUM};
    assert_true(worker()->submit(rank->node, &operation, trib_clock_ns()));
}

static inline void start_allreduce(struct world *world, uint64_t count)
{
    make_tensors(world, count);
    for (uint32_t i = 0; i < world->ranks; i++) {
        submit_allreduce(&world->rank[i], count);
    }
}

/* Waits for its end and compares each element with the sum made here. */
static inline void finish_allreduce(struct world *world, uint64_t count, uint64_t operations)
{
    assert_true(run_until(world, operations));
    float *sum = calloc(count, sizeof *sum);
    assert_non_null(sum);
    for (uint32_t i = 0; i < world->ranks; i++) {
        for (uint64_t k = 0; k < count; k++) {
            sum[k] += world->rank[i].send[k];
        }
    }
    for (uint32_t i = 0; i < world->ranks; i++) {
        assert_memory_equal(world->rank[i].recv, sum, count * sizeof *sum);
    }
    free(sum);
    free_tensors(world);
}

static inline void check_allreduce(struct world *world, uint64_t count)
{
    uint64_t before = world->rank[0].done;
    start_allreduce(world, count);
    finish_allreduce(world, count, before + 1);
}

static inline uint64_t fragments_of(uint64_t count)
{
    return (count * sizeof(float) + PAYLOAD - 1) / PAYLOAD;
}

static inline struct trib_plane_report report_of(const struct side *side)
{
    struct trib_plane_report report;
    assert_true(side->verbs.report(side->plane, COMMUNICATOR, &report));
    return report;
}

/* What a shard's thread will send, when it runs. */
static inline bool receive_packet(struct trib_port *udp, struct trib_packet *packet)
{
    struct pollfd readable = {.fd = trib_port_fd(udp), .events = POLLIN};
    struct trib_arrival arrival;
    return poll(&readable, 1, 10000 * (int)patience()) == 1 && trib_port_receive(udp, 0) &&
           trib_port_next(udp, &arrival) && trib_packet_decode(arrival.data, arrival.len, packet) == TRIB_DROP_NONE;
}

/* Nothing comes, for a while. What it is that nothing comes of is counted before this is asked. */
static inline bool receives_nothing(struct trib_port *udp)
{
    struct pollfd readable = {.fd = trib_port_fd(udp), .events = POLLIN};
    return poll(&readable, 1, 100) == 0;
}

/* So many drops of a kind, or more: of the communicator, or before one was found. */
static inline bool wait_dropped(const struct side *side, enum trib_drop drop, uint64_t count)
{
    uint64_t end_ns = trib_clock_ns() + 10 * TRIB_SECOND_NS * patience();
    uint64_t drops[TRIB_DROP_COUNT] = {0};
    while (report_of(side).counters.dropped[drop] < count && drops[drop] < count && trib_clock_ns() < end_ns) {
        (void)poll(NULL, 0, 1);
        side->verbs.drops(side->plane, drops);
    }
    return trib_clock_ns() < end_ns;
}

#endif
