/* SPDX-License-Identifier: Apache-2.0 */
/* plane.c: the data plane of an agent: which communicators have slots there. See scale.h. */
#include "core/assert.h"
#include "scale.h"

static enum trib_status plane_open(void *owner, const struct trib_opening *opening)
{
    struct agent *agent = owner;
    uint32_t i = 0;
    while (i < agent->open_count && agent->open[i] != opening->session.communicator) {
        i++;
    }
    if (i == agent->open_count) {
        agent->open[agent->open_count++] = opening->session.communicator;
    }
    return TRIB_OK;
}

static void plane_close(void *owner, uint32_t communicator)
{
    struct agent *agent = owner;
    uint32_t i = 0;
    while (i < agent->open_count && agent->open[i] != communicator) {
        i++;
    }
    TRIB_ASSERT(i < agent->open_count);
    agent->open[i] = agent->open[--agent->open_count];
}

static void plane_join(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    (void)owner;
    (void)communicator;
    (void)rank;
    (void)mark;
}

static uint32_t plane_missing(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    (void)owner;
    (void)communicator;
    (void)sequence;
    (void)ranks;
    (void)max;
    return 0;
}

static size_t plane_bytes(void *owner, const struct trib_opening *opening)
{
    (void)owner;
    return (size_t)opening->session.slots * opening->session.payload;
}

struct trib_data_plane plane_verbs(struct agent *agent)
{
    return (struct trib_data_plane){.plane = agent,
                                    .open = plane_open,
                                    .close = plane_close,
                                    .join = plane_join,
                                    .missing = plane_missing,
                                    .slot_bytes = plane_bytes};
}
