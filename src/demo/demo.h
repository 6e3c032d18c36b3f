/* SPDX-License-Identifier: Apache-2.0 */
/* demo.h: the parts of `tributary demo`: a stage of real nodes with packets carried by hand, a story told on this
 * stage step by step, and many random runs. No sockets, no clock: the caller carries the packets, and decides which are
 * late and which are lost. Files in reading order: stage.c, story.c, runs.c, cli/command_demo.c. */
#ifndef TRIB_DEMO_H
#define TRIB_DEMO_H

#include "core/prng.h"
#include "schemes/schemes.h"

#define DEMO_WORKERS_MAX 8
#define DEMO_PAYLOAD 64
#define DEMO_ELEMENTS (DEMO_PAYLOAD / 4) /* int32, of one fragment */
#define DEMO_US UINT64_C(1000)
#define DEMO_MS UINT64_C(1000000)

/* ---- stage.c ---- */

struct demo_parcel {
    struct trib_packet packet;
    uint8_t payload[DEMO_PAYLOAD];
};

/* Workers that sum one tensor of int32 over a switch. */
struct demo_stage {
    const struct trib_scheme *scheme;
    uint64_t salt; /* of the values; 0: worker r gives (fragment + 1) x 10^r, so that a sum shows its ranks */
    uint64_t now_ns;
    struct trib_session_config session;
    uint32_t fragments;
    uint32_t boot;
    uint32_t done, failed; /* workers */
    void *switch_node;
    void *worker[DEMO_WORKERS_MAX];
    int32_t *tensor[DEMO_WORKERS_MAX];
    int32_t *sum[DEMO_WORKERS_MAX];
};

struct demo_stage_config {
    const struct trib_scheme *scheme;
    uint64_t salt;
    uint32_t workers, fragments, slots, window;
};

bool demo_stage_open(struct demo_stage *stage, const struct demo_stage_config *config);
void demo_stage_close(struct demo_stage *stage);
/* The next packet that a worker or the switch hands out; false: none. children: of the switch's packet, a bitmap. */
bool demo_worker_sends(struct demo_stage *stage, uint32_t rank, struct demo_parcel *parcel);
bool demo_switch_sends(struct demo_stage *stage, struct demo_parcel *parcel, uint64_t *children);
/* A packet arrives. */
enum trib_drop demo_switch_takes(struct demo_stage *stage, uint32_t rank, struct demo_parcel *parcel);
enum trib_drop demo_worker_takes(struct demo_stage *stage, uint32_t rank, struct demo_parcel *parcel);
uint64_t demo_next_timeout(const struct demo_stage *stage, uint32_t rank);
void demo_timer(struct demo_stage *stage, uint32_t rank);
/* The switch loses its memory; then all workers' sessions are back, and the workers go on. */
void demo_restart(struct demo_stage *stage);
void demo_return(struct demo_stage *stage);
int32_t demo_right(const struct demo_stage *stage, uint64_t fragment);
int32_t demo_value(const struct demo_parcel *parcel); /* the first element */
/* True if the payload of a RESULT is not the sum of all. */
bool demo_is_wrong(const struct demo_stage *stage, const struct demo_parcel *parcel);
/* Wrong sums that a worker has taken. */
uint32_t demo_delivered_wrong(const struct demo_stage *stage, uint32_t rank);

/* ---- story.c ---- */

#define DEMO_STEPS_MAX 80
#define DEMO_TEXT_MAX 160

enum demo_tone { DEMO_PLAIN, DEMO_FAULT, DEMO_GOOD, DEMO_BAD, DEMO_NOTE };

/* One line: a packet and its fate; or a note, without a packet. */
struct demo_step {
    uint64_t time_ns;
    uint64_t fragment;
    int32_t value;
    bool has_value;
    const char *kind; /* NULL: a note */
    enum demo_tone tone;
    char from[24], to[24];
    char text[DEMO_TEXT_MAX];
};

struct demo_story {
    const struct trib_scheme *scheme;
    struct demo_step steps[DEMO_STEPS_MAX];
    uint32_t count;
    int32_t expected, got; /* of the last fragment */
    uint32_t caught;       /* workers that refused the sum by its lane */
    uint32_t taken;        /* workers that took the sum */
};

bool demo_story_tell(struct demo_story *story, const struct trib_scheme *scheme);

/* ---- runs.c ---- */

struct demo_faults {
    double loss, late; /* of packets */
    uint64_t late_ns;  /* late by up to */
    bool restart;      /* of the switch, once */
};

struct demo_runs {
    const struct trib_scheme *scheme;
    uint32_t runs;
    uint32_t right;     /* every worker got every sum */
    uint32_t wrong;     /* the switch sent out a sum that was wrong */
    uint32_t caught;    /* of these: refused by every worker */
    uint32_t delivered; /* a worker took a wrong sum */
    uint32_t failed;    /* ended with an error */
    uint32_t hung;      /* nothing moved for three seconds of simulated time */
    uint64_t packets;
};

#define DEMO_RUN_WORKERS 4
#define DEMO_RUN_FRAGMENTS 400
#define DEMO_RUN_SLOTS 16

/* One run more, added to *runs; false: no memory. */
bool demo_run(struct demo_runs *runs, const struct demo_faults *faults, uint64_t seed);

#endif
