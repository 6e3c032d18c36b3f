/* SPDX-License-Identifier: Apache-2.0 */
/* models.h: neural networks: their number of parameters, and published compute times of an iteration. For another GPU
 * or batch set `compute` in the scenario. Read next: models.c (the table and its sources), jobs.h. */
#ifndef TRIB_SIM_MODELS_H
#define TRIB_SIM_MODELS_H

#include <stdint.h>

struct sim_model {
    const char *name;
    uint64_t parameters;
    double compute_ms; /* forward and backward pass of an iteration; 0: no published figure */
    const char *source;
};

/* Returns the index-th model; NULL after the last. */
const struct sim_model *sim_model_at(uint32_t index);
/* Returns the size of the model's gradients in float32, bytes. */
static inline uint64_t sim_model_bytes(const struct sim_model *model)
{
    return model->parameters * 4;
}

#endif
