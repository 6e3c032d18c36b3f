/* SPDX-License-Identifier: Apache-2.0 */
/* story.c: three workers sum three fragments, and the network does two things to them. A packet of fragment 0 is late:
 * it arrives when its worker works on fragment 1. A packet of fragment 1 is lost. Nothing happens to fragment 2, but
 * the published rule gets its sum wrong. Both rules see the same packets. The late packet is worker 0's part of
 * fragment 0 once more: under the published rule the worker's timer sends it; under ours, where only asked parts are
 * sent again, the network has doubled it. Records steps; cli/command_demo.c prints them. Read next: runs.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "demo/demo.h"

#define WORKERS 3
#define HOP_NS (10 * DEMO_US)

struct teller {
    struct demo_stage stage;
    struct demo_story *story;
};

/* ---- lines ---- */

static struct demo_step *new_step(struct teller *t, enum demo_tone tone)
{
    struct demo_step *step = &t->story->steps[t->story->count];

    t->story->count += t->story->count < DEMO_STEPS_MAX - 1;
    *step = (struct demo_step){.time_ns = t->stage.now_ns - DEMO_MS, .tone = tone};
    return step;
}

static void note(struct teller *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct teller *t, const char *format, ...)
{
    struct demo_step *step = new_step(t, DEMO_NOTE);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(step->text, sizeof step->text, format, arguments);
    va_end(arguments);
}

static struct demo_step *packet_step(struct teller *t, const struct demo_parcel *parcel, enum demo_tone tone)
{
    struct demo_step *step = new_step(t, tone);

    step->kind = trib_kind_name((enum trib_kind)parcel->packet.kind);
    step->fragment = parcel->packet.sequence;
    step->has_value = parcel->packet.payload_len != 0;
    step->value = demo_value(parcel);
    return step;
}

static struct demo_step *up_step(struct teller *t, uint32_t rank, const struct demo_parcel *parcel, enum demo_tone tone)
{
    struct demo_step *step = packet_step(t, parcel, tone);

    (void)snprintf(step->from, sizeof step->from, "worker %u", rank);
    (void)snprintf(step->to, sizeof step->to, "switch");
    return step;
}

/* ---- packets ---- */

static void took(struct teller *t, const struct demo_parcel *parcel, uint64_t children)
{
    struct demo_stage *stage = &t->stage;
    uint32_t taken = 0;
    uint32_t refused = 0;
    bool wrong = demo_is_wrong(stage, parcel);
    bool is_result = parcel->packet.kind == TRIB_RESULT;
    struct demo_step *step = packet_step(t, parcel, wrong ? DEMO_BAD : is_result ? DEMO_GOOD : DEMO_PLAIN);

    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        if (children >> rank & 1) {
            struct demo_parcel copy = *parcel;
            enum trib_drop drop = demo_worker_takes(stage, rank, &copy);
            taken += drop == TRIB_DROP_NONE;
            refused += drop == TRIB_DROP_LANE;
        }
    }
    (void)snprintf(step->from, sizeof step->from, "switch");
    if (children == trib_all_children(WORKERS)) {
        (void)snprintf(step->to, sizeof step->to, "all workers");
    } else {
        (void)snprintf(step->to, sizeof step->to, "worker %u", (uint32_t)__builtin_ctzll(children));
    }
    if (wrong) {
        (void)snprintf(step->text, sizeof step->text, "WRONG, should be %d: refused by the lane check of %u workers",
                       demo_right(stage, parcel->packet.sequence), refused);
    } else if (is_result) {
        (void)snprintf(step->text, sizeof step->text, "right: taken by %u", taken);
    } else {
        (void)snprintf(step->text, sizeof step->text, "%s",
                       parcel->packet.kind == TRIB_ASK ? "send your part again" : "the others' parts are waited for");
    }
    if (is_result) {
        t->story->got = demo_value(parcel);
        t->story->expected = demo_right(stage, parcel->packet.sequence);
        t->story->caught = refused;
        t->story->taken = taken;
    }
}

static bool sends(struct teller *t, uint32_t rank, struct demo_parcel *parcel)
{
    t->stage.now_ns += HOP_NS;
    return demo_worker_sends(&t->stage, rank, parcel);
}

/* All workers send the fragment that is next. */
static bool all_send(struct teller *t, uint64_t fragment, struct demo_parcel parcels[WORKERS])
{
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        if (!sends(t, rank, &parcels[rank]) || parcels[rank].packet.kind != TRIB_CONTRIBUTION ||
            parcels[rank].packet.sequence != fragment) {
            return false;
        }
    }
    return true;
}

/* A packet reaches the switch, and the resulting packets reach the workers. */
static void arrives(struct teller *t, uint32_t rank, struct demo_parcel *parcel)
{
    struct demo_stage *stage = &t->stage;
    struct demo_parcel answer;
    uint64_t children = 0;

    stage->now_ns += HOP_NS;
    struct demo_step *step = up_step(t, rank, parcel, DEMO_PLAIN);
    enum trib_drop drop = demo_switch_takes(stage, rank, parcel);
    uint64_t missing = stage->scheme->switch_node->missing_on(stage->switch_node, parcel->packet.sequence);
    uint32_t in = WORKERS - (uint32_t)__builtin_popcountll(missing);
    if (drop != TRIB_DROP_NONE) {
        (void)snprintf(step->text, sizeof step->text, "dropped: %s", trib_drop_text(drop));
    } else if (parcel->packet.kind != TRIB_CONTRIBUTION) {
        (void)snprintf(step->text, sizeof step->text, "where is the result?");
    } else {
        (void)snprintf(step->text, sizeof step->text, "added: %u of %d are in", in, WORKERS);
    }
    while (demo_switch_sends(stage, &answer, &children)) {
        took(t, &answer, children);
    }
}

static void lost(struct teller *t, uint32_t rank, const struct demo_parcel *parcel)
{
    struct demo_step *step = up_step(t, rank, parcel, DEMO_FAULT);

    (void)snprintf(step->text, sizeof step->text, "LOST on the way");
}

/* A worker's timer ends, and the worker sends the first packet of its recovery. */
static bool timer_ends(struct teller *t, uint32_t rank, struct demo_parcel *parcel)
{
    for (uint64_t deadline; (deadline = demo_next_timeout(&t->stage, rank)) != TRIB_NEVER;) {
        t->stage.now_ns = deadline > t->stage.now_ns ? deadline : t->stage.now_ns;
        demo_timer(&t->stage, rank);
        if (demo_worker_sends(&t->stage, rank, parcel)) {
            return true;
        }
    }
    return false;
}

/* ---- the story ---- */

/* Fragment 0: worker 0's timer ends while the others are still on their way. *late: the late packet. */
static bool tell_fragment_0(struct teller *t, struct demo_parcel *late)
{
    struct demo_parcel parcels[WORKERS];
    struct demo_parcel early;

    note(t, "fragment 0: worker 0 hears nothing for a while, and its timer ends");
    if (!all_send(t, 0, parcels)) {
        return false;
    }
    arrives(t, 0, &parcels[0]);
    if (!timer_ends(t, 0, &early)) {
        return false;
    }
    bool resends = early.packet.kind == TRIB_CONTRIBUTION;
    *late = resends ? early : parcels[0];
    if (!resends) {
        arrives(t, 0, &early);
    }
    struct demo_step *step = up_step(t, 0, late, DEMO_FAULT);
    (void)snprintf(step->text, sizeof step->text, "%s, and takes a DETOUR",
                   resends ? "is sent again" : "was doubled by the network");
    arrives(t, 1, &parcels[1]);
    arrives(t, 2, &parcels[2]);
    return t->story->got == t->story->expected && t->story->taken == WORKERS;
}

/* Fragment 1: the late packet arrives, and worker 2's part is lost. */
static bool tell_fragment_1(struct teller *t, struct demo_parcel *late)
{
    struct demo_parcel parcels[WORKERS];
    struct demo_parcel again;

    note(t, "fragment 1: now the late packet arrives, and a packet is lost");
    if (!all_send(t, 1, parcels)) {
        return false;
    }
    arrives(t, 0, &parcels[0]);
    arrives(t, 0, late);
    struct demo_step *step = &t->story->steps[t->story->count - 1];
    if (strncmp(step->text, "added", 5) == 0) {
        step->tone = DEMO_BAD;
        (void)snprintf(step->text, sizeof step->text, "added: to what will be fragment 2's sum");
    }
    arrives(t, 1, &parcels[1]);
    lost(t, 2, &parcels[2]);
    if (!timer_ends(t, 2, &again)) {
        return false;
    }
    do {
        arrives(t, 2, &again);
    } while (t->story->taken == 0 && sends(t, 2, &again));
    return t->story->got == t->story->expected && t->story->taken == WORKERS;
}

/* A worker with a wrong sum asks again, and gets the same sum. */
static void tell_the_end(struct teller *t)
{
    struct demo_stage *stage = &t->stage;
    struct demo_parcel parcel;
    uint64_t children = 0;

    for (uint32_t round = 0; round < 10 && stage->failed < WORKERS; round++) {
        stage->now_ns += DEMO_MS;
        for (uint32_t rank = 0; rank < WORKERS; rank++) {
            demo_timer(stage, rank);
            while (demo_worker_sends(stage, rank, &parcel)) {
                (void)demo_switch_takes(stage, rank, &parcel);
            }
            while (demo_switch_sends(stage, &parcel, &children)) {
                for (uint32_t child = 0; child < WORKERS; child++) {
                    struct demo_parcel copy = parcel;
                    if (children >> child & 1) {
                        (void)demo_worker_takes(stage, child, &copy);
                    }
                }
            }
        }
    }
    note(t, "asking again brings the same sum: the operation ends with an error on %u of %d workers", stage->failed,
         WORKERS);
}

static bool tell(struct teller *t)
{
    struct demo_parcel parcels[WORKERS];
    struct demo_parcel late;

    if (!tell_fragment_0(t, &late)) {
        return false;
    }
    t->story->taken = 0;
    if (!tell_fragment_1(t, &late)) {
        return false;
    }
    note(t, "fragment 2: nothing happens to it");
    if (!all_send(t, 2, parcels)) {
        return false;
    }
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        arrives(t, rank, &parcels[rank]);
    }
    if (t->story->got != t->story->expected) {
        tell_the_end(t);
    }
    return true;
}

/* A switch of the published rule has two versions of each slot; ours gets two slots: the same memory. */
bool demo_story_tell(struct demo_story *story, const struct trib_scheme *scheme)
{
    struct teller t = {.story = story};
    bool is_literal = scheme->refusal != NULL;
    struct demo_stage_config config = {
        .scheme = scheme, .workers = WORKERS, .fragments = 3, .slots = is_literal ? 1 : 2, .window = 1};

    *story = (struct demo_story){.scheme = scheme};
    if (!demo_stage_open(&t.stage, &config)) {
        return false;
    }
    bool told = tell(&t);
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        told = told && demo_delivered_wrong(&t.stage, rank) == 0;
    }
    demo_stage_close(&t.stage);
    return told;
}
