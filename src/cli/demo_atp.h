/* SPDX-License-Identifier: Apache-2.0 */
/* demo_atp.h: the part of `tributary demo --literal` that shows ATP's published rules beside ours. Read next:
 * demo/atp.h. */
#ifndef TRIB_CLI_DEMO_ATP_H
#define TRIB_CLI_DEMO_ATP_H

#include "demo/atp.h"
#include "report/json.h"

/* Results: index 0 the published rules, 1 ours. */
struct demo_atp_shown {
    bool is_shown;
    struct demo_story stories[DEMO_ATP_DEFECTS]; /* of the published rules */
    struct demo_atp_seen seen[2][DEMO_ATP_DEFECTS];
    struct demo_atp_runs runs[2];
};

/* False: no memory. */
bool demo_atp_show(struct demo_atp_shown *shown, uint32_t runs, const struct demo_faults *faults, uint64_t seed);
/* True if the published rules show each defect and ours none, or nothing was shown. */
bool demo_atp_holds(const struct demo_atp_shown *shown);
void demo_atp_print(const struct demo_atp_shown *shown, uint64_t seed);
void demo_atp_print_json(struct report_json *json, const struct demo_atp_shown *shown);

#endif
