/* SPDX-License-Identifier: Apache-2.0 */
/* panama_device.h: one accelerator of the published PANAMA by itself, with four ports; a test makes the packets. For
 * test_panama_accelerator.c and test_panama_ports.c. panama_literal_world.h has workers, and links between. */
#ifndef TRIB_TESTS_PANAMA_DEVICE_H
#define TRIB_TESTS_PANAMA_DEVICE_H

#include "panama_literal_world.h"

#define PORTS 4
#define JOBS 2

struct device {
    void *memory;
    struct parcel last;
    uint32_t sums, misses;
};

/* With what is the same for all filled in. */
static inline void open_lacking(struct device *device, const struct trib_accelerator_config *special)
{
    struct trib_accelerator_config config = *special;

    config.kernels = trib_value_kernels();
    config.ports = PORTS;
    config.payload = PAYLOAD;
    size_t size = (trib_accelerator_size(&config) + 63) & ~(size_t)63;

    *device = (struct device){.memory = aligned_alloc(64, size)};
    assert_non_null(device->memory);
    memset(device->memory, 0, size);
    trib_accelerator_init(device->memory, &config);
    for (uint32_t job = 0; job < config.jobs; job++) {
        trib_accelerator_set_job(device->memory, job, job, (1U << PORTS) - 1);
    }
}

static inline void open_device(struct device *device, uint32_t jobs, uint32_t trees, uint32_t room, uint32_t readings)
{
    open_lacking(device,
                 &(struct trib_accelerator_config){.jobs = jobs, .trees = trees, .room = room, .readings = readings});
}

static inline void close_device(struct device *device)
{
    free(device->memory);
}

/* What leaves is counted, the last of it kept. */
static inline enum trib_drop gets(struct device *device, uint32_t port, const struct trib_packet *packet)
{
    enum trib_drop drop = trib_accelerator_receive(device->memory, port, packet);
    struct link out = {0};
    struct trib_packet given;

    while (trib_accelerator_next(device->memory, &given)) {
        out.count = 0;
        put(&out, &given);
        device->last = out.at[0];
        device->sums += !trib_panama_is_miss(&given);
        device->misses += trib_panama_is_miss(&given);
    }
    return drop;
}

static inline enum trib_drop comes(struct device *device, uint32_t port, uint32_t job, uint32_t tree, uint64_t vid,
                                   uint16_t flags)
{
    int32_t values[PER_PACKET] = {(int32_t)(10000 * job + 100 * vid + port)};
    struct trib_packet packet = {.kind = TRIB_CONTRIBUTION,
                                 .communicator = job,
                                 .tree = (uint8_t)tree,
                                 .bitmap = vid,
                                 .flags = flags,
                                 .contributors = 1,
                                 .lane = UINT64_C(1) << (8 * port),
                                 .type = TRIB_INT32,
                                 .reduction = TRIB_SUM,
                                 .payload_len = PAYLOAD,
                                 .payload = values};
    return gets(device, port, &packet);
}

/* Packets of tree 0 of job 0, at all ports but one of them. */
static inline void come_but(struct device *device, uint32_t without, uint64_t vid)
{
    for (uint32_t port = 0; port < PORTS; port++) {
        if (port != without) {
            assert_int_equal(comes(device, port, 0, 0, vid, 0), TRIB_DROP_NONE);
        }
    }
}

#endif
