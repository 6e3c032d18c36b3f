/* SPDX-License-Identifier: Apache-2.0 */
/* goat.c: GOAT's slides on memory: models compared with switches, the example of three workers, bytes at the server,
 * and plans that exceed the memory. Read next: goat.h, goat_cost.c. */
#include "reproduce/goat.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sim/jobs/models.h"

#define MIB 1048576.0

/* ---- models and memory ---- */

static double mebibytes(const char *name)
{
    for (uint32_t i = 0; sim_model_at(i) != NULL; i++) {
        if (strcmp(sim_model_at(i)->name, name) == 0) {
            return (double)sim_model_bytes(sim_model_at(i)) / MIB;
        }
    }
    return 0;
}

bool goat_memory(struct reproduce_run *run)
{
    static const char *const models[] = {"resnet18", "resnet50", "vgg16"};

    (void)reproduce_panel(run, "Switches that hold a model", "MB", "switches");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        double size = mebibytes(models[i]);
        reproduce_point(run, "Tofino 1, 22 MB", size, ceil(size / 22));
        reproduce_point(run, "Tofino 2, 64 MB", size, ceil(size / 64));
    }
    reproduce_got(run, "resnet18", mebibytes("resnet18"));
    reproduce_got(run, "resnet50", mebibytes("resnet50"));
    reproduce_got(run, "vgg16", mebibytes("vgg16"));
    reproduce_got(run, "exceeds", mebibytes("resnet50") / 64);
    return true;
}

/* ---- the example ---- */

#define THREE 3U

/* Counts the messages that the server receives from a switch with one row. A gradient holds the row until all workers'
 * contributions are in. Worker w sends gradient g at time w x skew + g. */
static uint32_t count_messages(uint32_t skew)
{
    uint32_t messages = 0;
    uint32_t holds = THREE; /* gradient in the row; THREE: none */
    uint32_t parts = 0;

    for (uint32_t time = 0; time < THREE * (skew + 1); time++) {
        for (uint32_t w = 0; w < THREE; w++) {
            if (time < w * skew || time - w * skew >= THREE) {
                continue;
            }
            uint32_t g = time - w * skew;
            holds = holds == THREE ? g : holds;
            messages += holds != g;
            parts += holds == g;
            if (parts == THREE) {
                messages++;
                holds = THREE;
                parts = 0;
            }
        }
    }
    return messages + (parts > 0);
}

/* Three workers at the first of three switches in a line; the server is at the third. */
static bool make_example(struct trib_goat *p)
{
    if (trib_goat_allocate(p, THREE, THREE, THREE) != TRIB_OK) {
        return false;
    }
    p->total = THREE;
    for (uint32_t i = 0; i < THREE; i++) {
        p->weight[i] = 1;
        p->to_server[i] = THREE + 1;
        p->from_switch[i] = THREE - i;
        p->memory[i] = 1;
        p->bytes[i] = 1;
        for (uint32_t s = 0; s < THREE; s++) {
            p->to_switch[i * THREE + s] = s + 1;
        }
    }
    return true;
}

bool goat_example(struct reproduce_run *run)
{
    struct trib_goat_options options = {.error = run->error};
    struct trib_goat p;
    struct goat_result atp = {.cost = 0};
    struct goat_result ours = {.cost = 0};

    if (!make_example(&p)) {
        run->is_out_of_memory = true;
        return true;
    }
    bool is_good = goat_plan(run, &p, "atp", &options, &atp) && goat_plan(run, &p, "greedy", &options, &ours);
    trib_goat_destroy(&p);
    (void)reproduce_panel(run, "Messages at the server", "gradients that a worker is behind the next one", "messages");
    for (uint32_t skew = 0; skew <= THREE; skew++) {
        reproduce_point(run, "ATP, by arrival", skew, count_messages(skew));
        reproduce_point(run, "GOAT", skew, ours.server_bytes);
    }
    reproduce_got(run, "atp", atp.server_bytes);
    reproduce_got(run, "atp-by-arrival", count_messages(THREE));
    reproduce_got(run, "goat", ours.server_bytes);
    return is_good || run->is_out_of_memory;
}

/* ---- the server ---- */

static const struct sim_topology three_switches = {.kind = SIM_LEAF_SPINE,
                                                   .hosts = 9,
                                                   .leaves = 2,
                                                   .spines = 1,
                                                   .edge = {100000000000, 1},
                                                   .fabric = {100000000000, 1}};

bool goat_ps(struct reproduce_run *run)
{
    static const struct {
        const char *rule, *name;
    } ways[] = {{"goat-slide", "form (4)"}, {"krgs", "Algorithm 1"}, {"greedy", "least bytes x hops"}, {"atp", "ATP"}};
    static const uint32_t megabytes[] = {44, 98};
    enum { WAYS = sizeof ways / sizeof ways[0], WORKERS_MAX = 16 };
    double saved[2][WAYS] = {{0}};

    for (uint32_t m = 0; m < 2; m++) {
        (void)reproduce_panel(run, m == 0 ? "Less at the server, ResNet-18" : "Less at the server, ResNet-50",
                              "workers", "%");
        for (uint32_t workers = 4; workers <= WORKERS_MAX; workers += 4) {
            struct goat_case c = {"", &three_switches, workers, 0, megabytes[m], 0, GOAT_MB, 22 * GOAT_MB};
            for (uint32_t way = 0; way < WAYS; way++) {
                struct goat_result mean = {.cost = 0};
                if (!goat_mean(run, &c, ways[way].rule, 0, &mean)) {
                    return run->is_out_of_memory;
                }
                saved[m][way] = 100 - 100 * mean.server_bytes / (workers * (double)(megabytes[m] * GOAT_MB));
                reproduce_point(run, ways[way].name, workers, saved[m][way]);
            }
        }
    }
    reproduce_got(run, "resnet18", saved[0][0]);
    reproduce_got(run, "resnet50", saved[1][0]);
    reproduce_got(run, "resnet50-printed", saved[1][1]);
    reproduce_got(run, "least-cost", saved[0][2]);
    return true;
}

/* ---- memory that is exceeded ---- */

bool goat_overfill(struct reproduce_run *run)
{
    static const uint32_t gradients[] = {16, 48, 120, 240};
    struct goat_case c[] = {
        {"leaf-spine", &goat_leaf_spine, 32, 0, 0, 0, 0, 22 * GOAT_MB},
        {"fat tree", &goat_fat_tree_8, 64, 0, 0, 0, 0, 22 * GOAT_MB},
    };
    double most = 0;
    double least = HUGE_VAL;

    (void)reproduce_panel(run, "Bytes beyond the memory of switches", "gradients of a model of 240 MB", "%");
    for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            struct goat_result mean = {.cost = 0};
            c[k].gradients = gradients[i];
            c[k].gradient_bytes = 240 * GOAT_MB / gradients[i];
            if (!goat_mean(run, &c[k], "krgs", 0, &mean)) {
                return run->is_out_of_memory;
            }
            double percent = 100 * mean.excess_bytes / mean.placed_bytes;
            reproduce_point(run, c[k].name, gradients[i], percent);
            least = fmin(least, percent);
            most = fmax(most, percent);
        }
    }
    reproduce_got(run, "most", most);
    reproduce_got(run, "least", least);
    return true;
}
