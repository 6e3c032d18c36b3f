/* SPDX-License-Identifier: Apache-2.0 */
/* atp_story.c: the defects of ATP's published rules, each with few faults, and random runs. Read
 * next: cli/command_demo.c. */
#include "demo/atp.h"

#define RUN_TENSORS 6U
#define RUN_FRAGMENTS 12U
#define RUN_ROWS 6U
#define RUN_WINDOW 8U

/* A copy arrives after the answer has passed the switch, and before the workers send the next tensor. */
#define AFTER_THE_ANSWER_NS (35 * DEMO_US)
/* Ends of the published worker's first timer. */
#define TIMER_NS DEMO_MS

static const struct demo_atp_tale tales[DEMO_ATP_DEFECTS] = {
    [DEMO_ATP_REUSE] = {"A late copy takes the row of the next tensor's fragment",
                        "Both are fragment 1 of their tensor, which is all that the switch knows of them.",
                        {.workers = 2,
                         .tensors = 2,
                         .fragments = 1,
                         .fault_count = 1,
                         .faults = {{DEMO_UP, 0, 0, 0, DEMO_COPIED, AFTER_THE_ANSWER_NS}}}},
    [DEMO_ATP_LEAK] = {"A late copy behind the last answer holds its row for ever",
                       "Rows are freed by answers, and no answer comes any more.",
                       {.workers = 2,
                        .tensors = 1,
                        .fragments = 1,
                        .fault_count = 1,
                        .faults = {{DEMO_UP, 0, 0, 0, DEMO_COPIED, AFTER_THE_ANSWER_NS}}}},
    [DEMO_ATP_OVERLAP] = {"A sum is dropped with all its parts, since the server has one of them",
                          "The part that was new must be sent again, when its worker's timer ends once more.",
                          {.workers = 3,
                           .tensors = 1,
                           .fragments = 1,
                           .fault_count = 3,
                           .faults = {{DEMO_UP, 2, 0, 0, DEMO_LOST, 0},
                                      {DEMO_UP, 0, 0, 0, DEMO_COPIED, TIMER_NS + 5 * DEMO_US},
                                      {DEMO_UP, 2, 0, 1, DEMO_LATE, 10 * DEMO_US}}}},
    [DEMO_ATP_ORDER] = {"The second answer has the bytes of its values in the wrong order",
                        "The server changes their order where its sum lies, once for each answer. The lane is right: "
                        "no part is missing "
                        "or doubled.",
                        {.workers = 2,
                         .tensors = 1,
                         .fragments = 1,
                         .fault_count = 1,
                         .faults = {{DEMO_DOWN, 1, 0, 0, DEMO_LOST, 0}}}},
    [DEMO_ATP_WAIT] = {"An answer is lost, and the server has begun the next tensor",
                       "The server has one tensor, so the answer is gone. Worker 0 waits for worker 1's next tensor, "
                       "worker 1 for the "
                       "answer.",
                       {.workers = 2,
                        .tensors = 2,
                        .fragments = 2,
                        .fault_count = 2,
                        .faults = {{DEMO_DOWN, 1, 1, 0, DEMO_LOST, 0}, {DEMO_UP, 1, 1, 1, DEMO_LOST, 0}}}},
};

struct demo_atp_tale demo_atp_tale_of(enum demo_atp_defect defect, const struct trib_scheme *scheme)
{
    struct demo_atp_tale tale = tales[defect];

    tale.config.scheme = scheme;
    tale.config.jobs = tale.config.rows = tale.config.window = 1;
    return tale;
}

bool demo_atp_has(enum demo_atp_defect defect, const struct demo_atp_seen *seen)
{
    const bool has[DEMO_ATP_DEFECTS] = {
        [DEMO_ATP_REUSE] = seen->caught != 0,
        [DEMO_ATP_LEAK] = seen->leaked != 0,
        [DEMO_ATP_OVERLAP] = seen->overlaps != 0 && seen->waited_ns > TIMER_NS / 2,
        [DEMO_ATP_ORDER] = seen->delivered != 0,
        [DEMO_ATP_WAIT] = seen->hung != 0,
    };

    return has[defect];
}

static void add(struct demo_atp_seen *sum, const struct demo_atp_seen *seen)
{
    sum->wrong += seen->wrong;
    sum->caught += seen->caught;
    sum->delivered += seen->delivered;
    sum->leaked += seen->leaked;
    sum->overlaps += seen->overlaps;
    sum->waited_ns = seen->waited_ns > sum->waited_ns ? seen->waited_ns : sum->waited_ns;
    sum->done += seen->done;
    sum->failed += seen->failed;
    sum->hung += seen->hung;
    sum->packets += seen->packets;
}

bool demo_atp_run(struct demo_atp_runs *runs, const struct demo_faults *faults, uint64_t seed)
{
    struct demo_atp_config config = {.scheme = runs->scheme,
                                     .jobs = DEMO_ATP_JOBS,
                                     .workers = 3,
                                     .tensors = RUN_TENSORS,
                                     .fragments = RUN_FRAGMENTS,
                                     .rows = RUN_ROWS,
                                     .window = RUN_WINDOW,
                                     .seed = seed,
                                     .loss = faults->loss,
                                     .late = faults->late,
                                     .late_ns = faults->late_ns};
    struct demo_atp_seen seen;

    if (!demo_atp_play(&config, &seen, NULL)) {
        return false;
    }
    runs->runs++;
    runs->with_wrong += seen.wrong != 0;
    runs->with_delivered += seen.delivered != 0;
    runs->with_leak += seen.leaked != 0;
    runs->with_overlap += seen.overlaps != 0;
    runs->failed += seen.failed != 0;
    runs->hung += seen.hung != 0;
    runs->right += seen.done == config.jobs * config.workers && seen.wrong == 0;
    add(&runs->sum, &seen);
    return true;
}
