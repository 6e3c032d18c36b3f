/* SPDX-License-Identifier: Apache-2.0 */
/* models.c: see models.h. Parameters are those of torchvision's models, of Keras's for inception3 (without its
 * auxiliary head), and of BERT's uncased base.
 *
 * Times: "P100, batch 32": TensorFlow's benchmark of May 2017 (docs_src/performance/benchmarks.md): DGX-1, one P100,
 * synthetic images; the batch divided by images per second. With these the shares of communication are those that
 * PANAMA states for its six models. A V100 row is of another table (SwitchML's simulation in OMNeT++, batch not
 * stated), slower than the P100's for some models: do not mix them in one comparison. */
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
