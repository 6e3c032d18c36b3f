/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama_ports.c: PANAMA's accelerator where a job has some of the ports (Ports_bitmap), two jobs have ports of
 * their own at once, and where every port's head is ahead of the Expected VID. What it does with one job on all ports
 * is test_panama_accelerator.c's. */
#include "panama_device.h"

#include "core/prng.h"

/* ---- Ports_bitmap ---- */

static bool has_port(uint32_t ports, uint32_t port)
{
    return (ports >> port & 1) != 0;
}

static uint32_t waiting_everywhere(const struct device *device)
{
    uint32_t waiting = 0;

    for (uint32_t port = 0; port < PORTS; port++) {
        waiting += trib_accelerator_waiting(device->memory, port);
    }
    return waiting;
}

/* Ports 1 and 3 of four: the tree of adders lacks port 0, where its sum leaves, and a half of each of its pairs. */
static void ports_bitmap__sums_these_ports_alone(void **state)
{
    struct device device;
    (void)state;

    open_device(&device, 1, 1, 4, 0);
    trib_accelerator_set_job(device.memory, 0, 0, 0xa);
    for (uint64_t vid = 0; vid < 6; vid++) {
        uint32_t first = vid % 2 == 0 ? 3 : 1;
        for (uint32_t port = 0; port < PORTS; port += 2) {
            assert_int_equal(comes(&device, port, 0, 0, vid, 0), TRIB_DROP_SOURCE);
        }
        assert_int_equal(comes(&device, first, 0, 0, vid, 0), TRIB_DROP_NONE);
        assert_int_equal(comes(&device, 0, 0, 0, vid, 0), TRIB_DROP_SOURCE);
        assert_int_equal(device.sums, vid);
        assert_int_equal(comes(&device, 4 - first, 0, 0, vid, 0), TRIB_DROP_NONE);
        assert_int_equal(device.sums, vid + 1);
        assert_int_equal(payload_value(&device.last), 200 * vid + 1 + 3);
        assert_int_equal(device.last.packet.lane, 0x01000100);
        assert_int_equal(device.last.packet.contributors, 2);
        assert_int_equal(waiting_everywhere(&device), 0);
    }
    trib_accelerator_set_job(device.memory, 0, 0, 0x5); /* the controller has moved the job */
    for (uint32_t port = 0; port < PORTS; port++) {
        assert_int_equal(comes(&device, port, 0, 0, 0, 0), port % 2 == 0 ? TRIB_DROP_NONE : TRIB_DROP_SOURCE);
    }
    assert_int_equal(device.sums, 7);
    assert_int_equal(payload_value(&device.last), 0 + 2);
    close_device(&device);
}

/* A port that is not there adds what changes nothing: 0 would make +0 of -0. */
static void ports_bitmap__ports_that_lack_leave_minus_zero(void **state)
{
    float zeros[PER_PACKET] = {-0.0F};
    float wanted = -0.0F;
    struct device device;
    struct trib_packet packet = {.type = TRIB_FLOAT32, .reduction = TRIB_SUM};
    (void)state;

    packet.payload_len = PAYLOAD;
    packet.payload = zeros;
    for (uint32_t ports = 1; ports < 1U << PORTS; ports++) {
        open_device(&device, 1, 1, 4, 0);
        trib_accelerator_set_job(device.memory, 0, 0, ports);
        for (uint32_t port = 0; port < PORTS; port++) {
            assert_int_equal(gets(&device, port, &packet), has_port(ports, port) ? TRIB_DROP_NONE : TRIB_DROP_SOURCE);
        }
        assert_int_equal(device.sums, 1);
        assert_memory_equal(device.last.payload, &wanted, sizeof wanted);
        close_device(&device);
    }
}

/* Ports of two jobs: apart, one or two in common, one's within the other's, the same. */
static const uint32_t port_sets[][JOBS] = {{0xa, 0x5}, {0xa, 0x7}, {0x6, 0xe}, {0xa, 0xf}, {0xc, 0xc}, {0x8, 0x7}};

/* The sum that has just left is that of this VID of this job, and of its ports. */
static void expect_sum_of(const struct device *device, uint32_t job, uint32_t ports, uint64_t vid)
{
    int32_t value = 0;
    uint64_t lane = 0;
    uint32_t count = 0;

    for (uint32_t port = 0; port < PORTS; port++) {
        value += has_port(ports, port) ? (int32_t)(10000 * job + 100 * vid + port) : 0;
        lane += (uint64_t)has_port(ports, port) << (8 * port);
        count += has_port(ports, port);
    }
    assert_int_equal(device->last.packet.communicator, job);
    assert_int_equal(device->last.packet.bitmap, vid);
    assert_int_equal(device->last.packet.contributors, count);
    assert_int_equal(device->last.packet.lane, lane);
    assert_int_equal(payload_value(&device->last), value);
}

/* How far all ports of a job have come. */
static uint64_t least_of(const uint64_t *next, uint32_t ports)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t port = 0; port < PORTS; port++) {
        least = has_port(ports, port) && next[port] < least ? next[port] : least;
    }
    return least;
}

/* Each of the two, at once, as if it had the accelerator for itself, whatever comes when. */
static void ports_bitmap__two_jobs_have_ports_of_their_own(void **state)
{
    enum { ROOM = 16 };
    struct trib_prng prng = {.state = 5};
    (void)state;

    for (size_t set = 0; set < sizeof port_sets / sizeof port_sets[0]; set++) {
        const uint32_t *ports = port_sets[set];
        uint64_t next[JOBS][PORTS] = {0};
        struct device device;
        open_device(&device, JOBS, 1, ROOM, TRIB_PANAMA_QUEUES);
        for (uint32_t job = 0; job < JOBS; job++) {
            trib_accelerator_set_job(device.memory, job, job, ports[job]);
        }
        for (uint32_t i = 0; i < 400; i++) {
            uint32_t job = (uint32_t)trib_prng_below(&prng, JOBS), port = (uint32_t)trib_prng_below(&prng, PORTS);
            uint64_t before = least_of(next[job], ports[job]), vid = next[job][port];
            if (!has_port(ports[job], port)) {
                assert_int_equal(comes(&device, port, job, 0, before, 0), TRIB_DROP_SOURCE);
            } else if (vid < before + ROOM / JOBS) {
                assert_int_equal(comes(&device, port, job, 0, vid, 0), TRIB_DROP_NONE);
                next[job][port]++;
            }
            assert_int_equal(device.sums, least_of(next[0], ports[0]) + least_of(next[1], ports[1]));
            if (least_of(next[job], ports[job]) != before) {
                expect_sum_of(&device, job, ports[job], before);
                assert_int_equal(device.last.packet.window_cap, ROOM / JOBS);
            }
        }
        assert_true(least_of(next[0], ports[0]) >= 20 && least_of(next[1], ports[1]) >= 20);
        assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 0);
        close_device(&device);
    }
}

/* The head of the lowest port may be of a job that does not use it, and that of another port none of the other's. */
static void ports_bitmap__one_fifo_serves_two_jobs_in_one_order(void **state)
{
    (void)state;

    for (size_t set = 0; set < sizeof port_sets / sizeof port_sets[0]; set++) {
        struct device device;
        open_device(&device, JOBS, 1, 16, 0);
        for (uint32_t job = 0; job < JOBS; job++) {
            trib_accelerator_set_job(device.memory, job, job, port_sets[set][job]);
        }
        for (uint32_t port = PORTS; port-- > 0;) {
            for (uint32_t i = 0; i < 8 * JOBS; i++) {
                enum trib_drop drop = comes(&device, port, i % JOBS, 0, i / JOBS, 0);
                assert_int_equal(drop == TRIB_DROP_NONE, has_port(port_sets[set][i % JOBS], port));
            }
        }
        assert_int_equal(device.sums, 8 * JOBS);
        assert_int_equal(waiting_everywhere(&device), 0);
        close_device(&device);
    }
}

static void ports_bitmap__a_loss_drops_siblings_of_its_job_alone(void **state)
{
    static const uint32_t ports[JOBS] = {0xa, 0x7};
    struct device device;
    (void)state;

    open_device(&device, JOBS, 1, 8, TRIB_PANAMA_QUEUES);
    for (uint32_t job = 0; job < JOBS; job++) {
        trib_accelerator_set_job(device.memory, job, job, ports[job]);
    }
    for (uint64_t vid = 0; vid < 4; vid++) {
        for (uint32_t port = 0; port < PORTS; port++) {
            if (vid != 1 || port != 2) { /* lost: job 1's */
                (void)comes(&device, port, 1, 0, vid, 0);
            }
            (void)comes(&device, port, 0, 0, vid, 0);
        }
    }
    assert_int_equal(device.sums, 4 + 3);
    assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 2);
    assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 4);
    assert_int_equal(trib_accelerator_expected(device.memory, 1, 0), 4);
    close_device(&device);
}

/* ---- every port is ahead of the Expected VID ---- */

/* Nobody has what is expected: what has the lowest VID does not go for nothing, as long as every port is heard of. */
static void all_ahead__jump_to_the_lowest_vid(void **state)
{
    static const uint64_t vids[PORTS] = {7, 5, 6, 5};
    struct device device;
    (void)state;

    for (uint32_t readings = 0; readings < 16; readings++) {
        if ((readings & TRIB_PANAMA_MISS) != 0) {
            continue;
        }
        open_device(&device, 1, 1, 8, readings);
        for (uint32_t port = 0; port < PORTS; port++) {
            assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 0);
            assert_int_equal(comes(&device, port, 0, 0, vids[port], 0), TRIB_DROP_NONE);
        }
        /* 5 of two ports lack their siblings; 6 and 7 have to wait for those two ports. */
        assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 6);
        assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 2);
        comes(&device, 1, 0, 0, 7, 0);
        comes(&device, 3, 0, 0, 7, 0);
        assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), 7);
        assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 3);
        assert_int_equal(device.sums, 0);
        comes(&device, 2, 0, 0, 7, 0);
        assert_int_equal(device.sums, 1);
        assert_int_equal(device.last.packet.bitmap, 7);
        assert_int_equal(payload_value(&device.last), 4 * 700 + 6);
        /* The same VID everywhere, however far: as after a restart, where nothing is dropped. */
        for (uint64_t vid = 60; vid < 62; vid++) {
            come_but(&device, PORTS, vid);
        }
        assert_int_equal(device.sums, 3);
        assert_int_equal(device.last.packet.bitmap, 61);
        assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 3);
        assert_int_equal(waiting_everywhere(&device), 0);
        close_device(&device);
    }
}

/* Who says MISS says it of each VID that is jumped over, but of no more than workers can have in flight. */
static void all_ahead__say_miss_of_as_many_as_there_is_room_for(void **state)
{
    enum { ROOM = 8 };
    struct device device;
    (void)state;

    for (uint64_t ahead = 1; ahead < 30; ahead++) {
        open_device(&device, 1, 1, ROOM, TRIB_PANAMA_QUEUES | TRIB_PANAMA_DISCARD | TRIB_PANAMA_MISS);
        come_but(&device, PORTS, ahead);
        assert_int_equal(device.misses, ahead < ROOM ? ahead : ROOM);
        assert_int_equal(device.sums, 1);
        assert_int_equal(device.last.packet.bitmap, ahead);
        assert_int_equal(trib_accelerator_expected(device.memory, 0, 0), ahead + 1);
        assert_int_equal(trib_accelerator_counters(device.memory)->dropped, 0);
        close_device(&device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_bitmap__sums_these_ports_alone),
        cmocka_unit_test(ports_bitmap__ports_that_lack_leave_minus_zero),
        cmocka_unit_test(ports_bitmap__two_jobs_have_ports_of_their_own),
        cmocka_unit_test(ports_bitmap__one_fifo_serves_two_jobs_in_one_order),
        cmocka_unit_test(ports_bitmap__a_loss_drops_siblings_of_its_job_alone),
        cmocka_unit_test(all_ahead__jump_to_the_lowest_vid),
        cmocka_unit_test(all_ahead__say_miss_of_as_many_as_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
