/* SPDX-License-Identifier: Apache-2.0 */
/* launches.c: two launches of one job name at once, each with all ranks of the case: their ranks must never meet. In the
 * memory of a host one launch waits for the other; a switch refuses the later one. Read next: rank.c. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"

#define LAUNCHES 2U

struct launch {
    struct trib_config config;
    struct api_view view;
    enum trib_status status;
    char error[TRIB_ERROR_TEXT_MAX];
};

static void *enter(void *argument)
{
    struct launch *launch = argument;
    launch->status = trib_comm_create(&launch->config, &launch->view.comm, launch->error);
    return NULL;
}

static void enter_both(struct api_run *run, struct launch *launches)
{
    pthread_t thread;
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        struct trib_config *config = &launches[i].config;
        api_configure(run, config);
        (void)snprintf(config->job, sizeof config->job, "launches-%d-%llu-%u", run->shared->owner,
                       (unsigned long long)run->shared->number, run->step);
        (void)snprintf(config->run, sizeof config->run, "launch %u", i);
        config->fallback = false;
        launches[i].view.members = (struct api_members){.count = config->ranks, .me = run->rank};
        for (uint32_t rank = 0; rank < config->ranks; rank++) {
            launches[i].view.members.rank[rank] = rank;
        }
    }
    if (pthread_create(&thread, NULL, enter, &launches[1]) != 0) {
        (void)fprintf(stderr, "api: no thread\n");
        abort();
    }
    (void)enter(&launches[0]);
    (void)pthread_join(thread, NULL);
}

/* All ranks of a launch have met, or none: the first launch that is heard of, and on a host the other after it. */
static void check_who_met(struct api_run *run, const struct launch *launches)
{
    _Atomic uint32_t *met = run->shared->met[run->step];
    uint32_t ranks = (uint32_t)run->c->setting[API_RANKS];
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        char what[TRIB_ERROR_TEXT_MAX + 32];
        (void)snprintf(what, sizeof what, "launch %u (%s)", i, launches[i].error);
        (void)api_expect(run, what, launches[i].status, API_BIT(TRIB_OK) | API_BIT(TRIB_ERR_REFUSED), NULL);
        atomic_fetch_add(&met[i], launches[i].status == TRIB_OK);
    }
    api_meet(run);
    uint32_t first = atomic_load(&met[0]), second = atomic_load(&met[1]);
    uint32_t wanted = run->c->setting[API_PLACE] == API_HOST ? 2 * ranks : ranks;
    if (first % ranks != 0 || second % ranks != 0 || first + second != wanted) {
        api_fail(run, "step %u: of two launches of %u ranks %u and %u ranks have met", run->step, ranks, first, second);
    }
}

void api_step_launches(struct api_run *run, const struct api_step *step)
{
    struct launch *launches = calloc(LAUNCHES, sizeof *launches);
    if (launches == NULL) {
        abort();
    }
    api_meet(run); /* a child that a rank of this process forks meanwhile would keep the name taken (docs/TESTING.md) */
    enter_both(run, launches);
    check_who_met(run, launches);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        struct api_step call = *step;
        call.field[API_SALT] += 500 * (int64_t)i;
        if (launches[i].status == TRIB_OK) {
            api_make_call(run, &launches[i].view, &call);
            api_collect(run, &launches[i].view);
        }
    }
    api_meet(run);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        if (launches[i].status == TRIB_OK) {
            (void)api_expect(run, "close of a launch", trib_comm_close(launches[i].view.comm), API_BIT(TRIB_OK), NULL);
        }
    }
    free(launches);
}
