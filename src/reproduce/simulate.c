/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c: see simulate.h. */
#include "reproduce/simulate.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/prng.h"
#include "io/explain.h"

#define TEXT_MAX 8192U
#define HOPS_EACH UINT64_C(200000) /* hops between two calls of go_on: about ten milliseconds */

__attribute__((format(printf, 3, 0))) static bool parse(struct reproduce_run *run, struct reproduce_cell *cell,
                                                        const char *format, va_list arguments)
{
    char text[TEXT_MAX];
    int len = vsnprintf(text, sizeof text, format, arguments);

    TRIB_ASSERT(len > 0 && (size_t)len < sizeof text);
    return sim_scenario_parse(&cell->scenario, text, run->experiment->name, NULL, run->error);
}

bool reproduce_parse(struct reproduce_run *run, struct reproduce_cell *cell, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    bool is_good = parse(run, cell, format, arguments);
    va_end(arguments);
    return is_good;
}

bool reproduce_begin(struct reproduce_run *run, struct reproduce_cell *cell)
{
    bool is_good = sim_run_init(&cell->sim, &cell->scenario, run->error);

    if (is_good) {
        run->error[0] = '\0';
    }
    return is_good;
}

bool reproduce_open(struct reproduce_run *run, struct reproduce_cell *cell, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    bool is_good = parse(run, cell, format, arguments);
    va_end(arguments);
    return is_good && reproduce_begin(run, cell);
}

void reproduce_flow(struct reproduce_cell *cell, uint32_t from, uint32_t to, uint32_t hash)
{
    struct sim_flow_plan plan = {.bytes = SIM_NEVER, .from = from, .to = to, .hash = hash};

    (void)sim_flows_start(&cell->sim.flows, &plan);
}

bool reproduce_advance(struct reproduce_run *run, struct reproduce_cell *cell, uint64_t until_ps)
{
    struct sim_run *sim = &cell->sim;
    bool is_wanted = true;
    bool goes_on = true;

    sim->is_over = false; /* events may have been added since the run was over */
    sim->until_ps = until_ps;
    while (goes_on && sim->until_ps == until_ps) { /* later once all events up to until_ps are done */
        is_wanted = reproduce_goes_on(run, cell->what, (double)cell->number / cell->count);
        if (!is_wanted) {
            break;
        }
        goes_on = sim_run_advance(sim, HOPS_EACH) && !sim->network.stop;
        if (run->looks < REPRODUCE_TRACE_LOOKS) {
            run->looks++;
            run->trace = trib_mix64(run->trace ^ sim->network.hash);
        }
    }
    const char *fault = sim_run_check(sim);
    if (fault != NULL) {
        trib_explain(run->error, "the simulator is wrong: %s; please report this", fault);
    }
    return fault == NULL && is_wanted;
}

void reproduce_close(struct reproduce_cell *cell)
{
    sim_run_deinit(&cell->sim);
    sim_scenario_free(&cell->scenario);
}
