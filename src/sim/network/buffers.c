/* SPDX-License-Identifier: Apache-2.0 */
/* buffers.c: see buffers.h. Read next: gates.c. */
#include "sim/network/buffers.h"

struct sim_thresholds sim_buffers_thresholds(const struct sim_buffers_config *c)
{
    if (c->xoff_bytes != 0) {
        return (struct sim_thresholds){.base = c->xoff_bytes, .of = 0, .by = 1, .below = c->below_bytes};
    }
    return (struct sim_thresholds){.base = 0, .of = c->alpha_of, .by = c->alpha_by, .below = c->below_bytes};
}

uint64_t sim_buffers_headroom(const struct sim_port *port, uint64_t back_ps, uint32_t largest)
{
    uint64_t on_way = ((port->delay_ps + back_ps) * SIM_BYTE_ONE + port->byte_ps - 1) / port->byte_ps;

    return on_way + UINT64_C(3) * largest + SIM_PAUSE_BYTES;
}
