/* SPDX-License-Identifier: Apache-2.0 */
/* models.c: see models.h. Parameters are from torchvision's models, from Keras's inception3 (without its auxiliary
 * head), and from BERT's uncased base.
 *
 * Times "P100, batch 32" are from TensorFlow's benchmark of May 2017 (docs_src/performance/benchmarks.md): DGX-1, one
 * P100, synthetic images; the batch divided by images per second. They give the shares of communication that PANAMA
 * states for its six models. V100 rows are from another table (SwitchML's simulation in OMNeT++, batch not stated),
 * which is slower than the P100 for some models. Do not mix the two in one comparison. */
#include "sim/jobs/models.h"

#include <stddef.h>

#define P100 "P100, batch 32 (TensorFlow's benchmarks, 2017)"

static const struct sim_model models[] = {
    {"alexnet", 61100840, 171, "P100, batch 512 (TensorFlow's benchmarks, 2017)"},
    {"googlenet", 6624904, 145, "P100, batch 32 (MXNet, 220 images/s: caffe2#292)"},
    {"inception3", 23834568, 250, P100},
    {"resnet50", 25557032, 164, P100},
    {"resnet152", 60192808, 387, P100},
    {"vgg16", 138357544, 222, P100},
    {"resnet18", 11689512, 0, ""},
    {"resnet101", 44549160, 295, "V100, batch not stated (SwitchML's simulation in OMNeT++)"},
    {"vgg11", 132863336, 0, ""},
    {"vgg19", 143667240, 0, ""},
    {"bert-base", 109482240, 0, ""},
};

const struct sim_model *sim_model_at(uint32_t index)
{
    return index < sizeof models / sizeof models[0] ? &models[index] : NULL;
}
