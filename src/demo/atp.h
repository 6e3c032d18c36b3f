/* SPDX-License-Identifier: Apache-2.0 */
/* atp.h: jobs with a server each, behind one switch with rows. The nodes have ATP's published rules (scheme
 * atp-literal), or ours (scheme atp), with the same tensors and the same faults on links. A fault names a packet, or is
 * random; one config is one run. Wrong sums, leaked rows and hangs are counted. Files in reading order: atp_stage.c
 * (nodes), atp_play.c (links, a run), atp_story.c (one run for each defect of the published rules). */
#ifndef TRIB_DEMO_ATP_H
#define TRIB_DEMO_ATP_H

#include "demo/demo.h"
#include "protocol/combiner.h"

#define DEMO_ATP_JOBS 2U
#define DEMO_ATP_WORKERS 4U /* of a job, at most */
#define DEMO_ATP_FAULTS 4U  /* named faults of one run, at most */
#define DEMO_ATP_HOP_NS (10 * DEMO_US)

enum demo_link { DEMO_UP, DEMO_TO_SERVER, DEMO_FROM_SERVER, DEMO_DOWN, DEMO_LINKS };

/* Of the packets with payload of one fragment on one link, the one behind so many. */
struct demo_atp_fault {
    enum demo_link link;
    uint32_t rank; /* up and down */
    uint64_t sequence;
    uint32_t behind;
    enum { DEMO_LOST, DEMO_LATE, DEMO_COPIED } fate;
    uint64_t late_ns; /* of the packet, or the copy */
};

struct demo_atp_config {
    const struct trib_scheme *scheme; /* atp-literal, or atp */
    uint32_t jobs, workers;           /* workers of each job */
    uint32_t tensors, fragments;      /* of each worker, one tensor after the other; fragments of each */
    uint32_t rows, window;
    struct demo_atp_fault faults[DEMO_ATP_FAULTS]; /* job 0's */
    uint32_t fault_count;
    uint64_t seed;     /* of values and faults; 0: worker r gives (sequence + 1) x 10^r, and no fault is random */
    double loss, late; /* of packets; half of the late ones are copies */
    uint64_t late_ns;  /* late by up to */
};

struct demo_atp_seen {
    uint32_t wrong;              /* fragments with a wrong sum for a waiting worker; counted by workers */
    uint32_t caught;             /* of the wrong ones: refused, by the lane */
    uint32_t delivered;          /* of the wrong ones: taken, with a right lane */
    uint32_t leaked;             /* rows held when all workers are done and no packet is under way */
    uint32_t overlaps;           /* sums dropped by a server, although some of the parts were new */
    uint64_t waited_ns;          /* longest time from an overlap to the fragment's sum */
    uint32_t done, failed, hung; /* workers */
    uint64_t ended_ns;           /* all workers are done */
    uint64_t packets;
};

/* One run; false: no memory. story: a line for each packet; NULL: none. */
bool demo_atp_play(const struct demo_atp_config *config, struct demo_atp_seen *seen, struct demo_story *story);

/* ---- atp_stage.c ---- */

struct demo_atp_job {
    struct trib_session_config session;
    void *server;
    void *worker[DEMO_ATP_WORKERS];
    int32_t *tensor[DEMO_ATP_WORKERS];
    int32_t *sum[DEMO_ATP_WORKERS];
    uint32_t tensors[DEMO_ATP_WORKERS]; /* submitted */
    uint64_t wrong[DEMO_ATP_WORKERS];   /* the last fragment with a wrong sum, + 1 */
    bool has_failed;
    uint64_t overlap_ns, overlap_sequence; /* of the last overlap; 0: none */
};

struct demo_atp_stage {
    const struct demo_atp_config *config;
    struct demo_atp_seen *seen;
    uint64_t now_ns;
    void *rows; /* of the published switch, or our combiner */
    struct demo_atp_job jobs[DEMO_ATP_JOBS];
};

bool demo_atp_open(struct demo_atp_stage *stage, const struct demo_atp_config *config, struct demo_atp_seen *seen);
void demo_atp_close(struct demo_atp_stage *stage);
int32_t demo_atp_right(const struct demo_atp_stage *stage, uint32_t job, uint64_t sequence);
bool demo_atp_is_wrong(const struct demo_atp_stage *stage, uint32_t job, const struct demo_parcel *parcel);
/* Packets arrive, and leave; the caller is the links. */
enum trib_combined demo_atp_rows_take(struct demo_atp_stage *stage, uint32_t job, uint32_t rank,
                                      struct demo_parcel *parcel);
bool demo_atp_rows_send(struct demo_atp_stage *stage, struct demo_parcel *parcel, uint32_t *job);
void demo_atp_rows_pass(struct demo_atp_stage *stage, uint32_t job, struct demo_parcel *parcel);
enum trib_drop demo_atp_server_takes(struct demo_atp_stage *stage, uint32_t job, uint64_t ranks,
                                     struct demo_parcel *parcel);
bool demo_atp_server_sends(struct demo_atp_stage *stage, uint32_t job, struct demo_parcel *parcel, uint64_t *ranks);
enum trib_drop demo_atp_worker_takes(struct demo_atp_stage *stage, uint32_t job, uint32_t rank,
                                     struct demo_parcel *parcel);
bool demo_atp_worker_sends(struct demo_atp_stage *stage, uint32_t job, uint32_t rank, struct demo_parcel *parcel);
/* Counts leaked rows. All workers are done. */
void demo_atp_count_rows(struct demo_atp_stage *stage);

/* ---- atp_story.c ---- */

/* The published rules' defects, each with one run of few faults. */
enum demo_atp_defect {
    DEMO_ATP_REUSE,
    DEMO_ATP_LEAK,
    DEMO_ATP_OVERLAP,
    DEMO_ATP_ORDER,
    DEMO_ATP_WAIT,
    DEMO_ATP_DEFECTS
};

struct demo_atp_tale {
    const char *title;
    const char *cause;
    struct demo_atp_config config;
};

struct demo_atp_tale demo_atp_tale_of(enum demo_atp_defect defect, const struct trib_scheme *scheme);
/* True if the run shows the defect, as runs of the published rules do, and runs of ours do not. */
bool demo_atp_has(enum demo_atp_defect defect, const struct demo_atp_seen *seen);

/* Random runs: two jobs of three workers on few rows. */
struct demo_atp_runs {
    const struct trib_scheme *scheme;
    uint32_t runs;
    uint32_t with_wrong, with_delivered, with_leak, with_overlap; /* runs with one or more */
    uint32_t failed, hung, right;                                 /* runs */
    struct demo_atp_seen sum;                                     /* over all; waited_ns: the longest */
};

bool demo_atp_run(struct demo_atp_runs *runs, const struct demo_faults *faults, uint64_t seed);

#endif
