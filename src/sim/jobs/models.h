/* SPDX-License-Identifier: Apache-2.0 */
/* models.h: models that people train: how many parameters they have, and how long an iteration computes, as far as
 * somebody has published that. Who has another GPU or batch says `compute` in the scenario. Read next: models.c (the
 * table and its sources), jobs.h. */
#ifndef TRIB_SIM_MODELS_H
#define TRIB_SIM_MODELS_H

#include <stdint.h>

struct sim_model {
    const char *name;
    uint64_t parameters;
    double compute_ms; /* of an iteration, forwards and back; 0: no figure is known */
    const char *source;
};

/* NULL behind the last. */
const struct sim_model *sim_model_at(uint32_t index);
/* Bytes of its gradients, of float32. */
static inline uint64_t sim_model_bytes(const struct sim_model *model)
{
    return model->parameters * 4;
}

#endif
