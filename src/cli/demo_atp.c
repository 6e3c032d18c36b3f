/* SPDX-License-Identifier: Apache-2.0 */
/* demo_atp.c: see demo_atp.h. */
#include "cli/demo_atp.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/demo_print.h"
#include "published/published.h"

#define LINES 14U /* of a story; the rest repeats */

bool demo_atp_show(struct demo_atp_shown *shown, uint32_t runs, const struct demo_faults *faults, uint64_t seed)
{
    static const char *const names[] = {"atp-literal", "atp"};

    shown->is_shown = true;
    for (uint32_t which = 0; which < 2; which++) {
        const struct trib_scheme *scheme = trib_published_find(names[which]);
        for (uint32_t i = 0; i < DEMO_ATP_DEFECTS; i++) {
            struct demo_atp_tale tale = demo_atp_tale_of((enum demo_atp_defect)i, scheme);
            if (!demo_atp_play(&tale.config, &shown->seen[which][i], which == 0 ? &shown->stories[i] : NULL)) {
                return false;
            }
        }
        shown->runs[which].scheme = scheme;
        for (uint32_t i = 0; i < runs; i++) {
            /* A seed of 0 has no random faults. */
            if (!demo_atp_run(&shown->runs[which], faults, seed * UINT64_C(1000003) + i + 1)) {
                return false;
            }
        }
    }
    return true;
}

bool demo_atp_holds(const struct demo_atp_shown *shown)
{
    const struct demo_atp_runs *ours = &shown->runs[1];

    for (uint32_t i = 0; shown->is_shown && i < DEMO_ATP_DEFECTS; i++) {
        enum demo_atp_defect defect = (enum demo_atp_defect)i;
        if (!demo_atp_has(defect, &shown->seen[0][i]) || demo_atp_has(defect, &shown->seen[1][i])) {
            return false;
        }
    }
    return ours->right == ours->runs && ours->sum.leaked == 0;
}

static void print_runs_row(const struct demo_atp_runs *runs)
{
    bool is_bad = runs->right != runs->runs || runs->with_leak != 0;

    printf("  %-18s %7u %12u %14u %10u %8u %6u %8u%s\n", runs->scheme->name, runs->runs, runs->with_wrong,
           runs->with_delivered, runs->with_leak, runs->failed, runs->hung, runs->right,
           is_bad && runs->scheme->refusal == NULL ? "   <- must not be" : "");
}

void demo_atp_print(const struct demo_atp_shown *shown, uint64_t seed)
{
    if (!shown->is_shown) {
        return;
    }
    printf(
        "\nATP's published rules, scheme atp-literal: a switch adds in rows, and a server answers. Worker 0 gives 1 in "
        "fragment 0,\n2 in fragment 1; worker 1 gives 10 and 20, worker 2 gives 100.\n");
    for (uint32_t i = 0; i < DEMO_ATP_DEFECTS; i++) {
        struct demo_atp_tale tale = demo_atp_tale_of((enum demo_atp_defect)i, shown->runs[0].scheme);
        const struct demo_story *story = &shown->stories[i];
        printf("\n");
        demo_print_note(tale.title);
        demo_print_head();
        for (uint32_t line = 0; line < story->count && line < LINES; line++) {
            demo_print_step(&story->steps[line]);
        }
        printf("%s%s\n", story->count > LINES ? "...\n" : "", tale.cause);
    }
    if (demo_atp_holds(shown)) {
        printf("\nScheme atp, with the same faults: every sum is right, no row is leaked, and every job ends.\n");
    }
    printf("\n%u random runs each, with these losses and late packets: %u jobs of 3 workers on 6 rows (seed %" PRIu64
           "); runs with:\n",
           shown->runs[0].runs, DEMO_ATP_JOBS, seed);
    printf("  %-18s %7s %12s %14s %10s %8s %6s %8s\n", "scheme", "runs", "wrong sums", "lane is right", "rows lost",
           "errors", "hung", "right");
    print_runs_row(&shown->runs[0]);
    print_runs_row(&shown->runs[1]);
}

static void print_json_runs(struct report_json *json, const struct demo_atp_runs *runs)
{
    report_json_open(json, NULL, '{');
    report_json_say(json, "scheme", runs->scheme->name);
    report_json_put(json, "runs", "%u", runs->runs);
    report_json_put(json, "wrong", "%u", runs->with_wrong);
    report_json_put(json, "delivered", "%u", runs->with_delivered);
    report_json_put(json, "leaked", "%u", runs->with_leak);
    report_json_put(json, "overlapped", "%u", runs->with_overlap);
    report_json_put(json, "errors", "%u", runs->failed);
    report_json_put(json, "hung", "%u", runs->hung);
    report_json_put(json, "right", "%u", runs->right);
    report_json_close(json, '}');
}

void demo_atp_print_json(struct report_json *json, const struct demo_atp_shown *shown)
{
    if (!shown->is_shown) {
        return;
    }
    report_json_open(json, "atp", '{');
    report_json_open(json, "defects", '[');
    for (uint32_t i = 0; i < DEMO_ATP_DEFECTS; i++) {
        enum demo_atp_defect defect = (enum demo_atp_defect)i;
        report_json_open(json, NULL, '{');
        report_json_say(json, "title", demo_atp_tale_of(defect, shown->runs[0].scheme).title);
        report_json_flag(json, "published", demo_atp_has(defect, &shown->seen[0][i]));
        report_json_flag(json, "ours", demo_atp_has(defect, &shown->seen[1][i]));
        report_json_close(json, '}');
    }
    report_json_close(json, ']');
    report_json_open(json, "runs", '[');
    print_json_runs(json, &shown->runs[0]);
    print_json_runs(json, &shown->runs[1]);
    report_json_close(json, ']');
    report_json_close(json, '}');
}
