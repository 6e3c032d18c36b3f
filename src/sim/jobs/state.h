/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: the data of training jobs in the simulator (jobs.h). All files of this folder read and write it.
 * Read next: jobs.h. */
#ifndef TRIB_SIM_JOBS_STATE_H
#define TRIB_SIM_JOBS_STATE_H

#include "core/flow.h"
#include "core/quorum.h"
#include "protocol/combiner.h"
#include "schemes/schemes.h"
#include "sim/jobs/models.h"
#include "sim/network/memory.h"
#include "sim/network/network.h"

#define SIM_JOBS_MAX 65535U
#define SIM_MESSAGES_MAX (UINT32_C(1) << 22)
#define SIM_JOB_PAYLOAD 64U
#define SIM_JOB_ELEMENTS (SIM_JOB_PAYLOAD / sizeof(int32_t))
#define SIM_JOB_KIND 15U /* kind of jobs' packets */
#define SIM_SCHEME_MAX 32U
#define SIM_JOB_HEADERS (28U + TRIB_HEADER_SIZE) /* of a packet: IPv4, UDP, and the scheme's header */
#define SIM_ADDED (1U << 4)                      /* packet flag: the packet has crossed the switch's link to itself */
#define SIM_FRAGMENTS 4096U        /* largest operation; an iteration has as many operations as it needs */
#define SIM_FROM_PARENT UINT16_MAX /* `value` of a packet from the parent */
#define SIM_JOB_NAME_MAX 64U
#define SIM_MANY (1U << 5) /* packet flag: for several children of the owner, given by the details' bitmap */

/* Plan of the pieces of a job's model (plan/placed.h), for a scheme with pieces. */
struct sim_placed {
    uint32_t pieces;
    double saved; /* planned share of the workers' contributions that the server does not receive */
    /* Bitmap of the pieces that a switch adds, by switch (network node minus the hosts). */
    uint64_t *own;
};

enum sim_placement { SIM_PLACEMENT_NONE = 0, SIM_CLOSE, SIM_RANDOM, SIM_PLACEMENT_COUNT };

struct sim_job_config {
    /* Row of the table of schemes, with its group or quorum: "hybrid:4", "panama:7/8". */
    char scheme[SIM_SCHEME_MAX];
    uint32_t workers; /* each on its own host */
    uint32_t iterations;
    uint32_t window; /* fragments in flight per worker */
    /* Bytes of a fragment on the links, including the list of ranks if sums may lack some. */
    uint32_t payload;
    uint64_t bytes;      /* size of the gradients */
    uint64_t compute_ps; /* of an iteration, before gradients are summed */
    uint64_t start_ps;
    enum sim_placement placement;
    uint32_t copies;   /* number of such jobs; 0: 1 */
    uint64_t every_ps; /* mean time between starts of copies, drawn: Poisson arrivals */
    /* Hosts by rank, instead of a placement. Owned by the scenario, which frees it. */
    uint32_t *hosts;
    /* Trees and rate, borrowed. NULL: trees are chosen by load. */
    const struct sim_planned *planned;
    /* Placement of pieces, borrowed. NULL: no switch adds. */
    const struct sim_placed *placed;
    char name[SIM_JOB_NAME_MAX];   /* name in a plan; "": none */
    const struct sim_model *model; /* NULL: no model named */
    /* Each worker's compute time is drawn for each iteration, within this share of compute_ps. */
    double jitter;
    double slower;       /* extra compute time of stragglers; 0.5: half as much again */
    uint32_t stragglers; /* number of stragglers: the last ranks */
    uint32_t ranks;      /* on each worker's host; 0: 1 */
    /* Equal buckets of gradients. 0: 1, all gradients are ready when computing has ended. */
    uint32_t buckets;
    uint32_t unused;
    /* Final share of the compute time during which buckets become ready, at even distances. */
    double backward;
    uint32_t trees; /* most trees; limited by the switches that can be roots; 0: 1 */
    /* Windows follow ECN marks on all workers' paths, not only on the worker's own path. */
    bool marks_of_all;
    uint8_t unused_too[3];
    /* A job of fewer bytes uses a ring in steps, whatever its scheme. */
    uint64_t threshold;
    uint32_t servers; /* servers (roots on hosts) of the scheme; 0 if it has none */
    /* Highest priority at combiners, 0 to 255. A lower priority gives way. */
    uint32_t priority;
    bool are_servers_at_workers; /* servers share the workers' hosts */
    /* All adding switches on the path to a server are combiners, not only switches of hosts. */
    bool combines_everywhere;
    /* Contributions have the priority of their bucket: the later, the higher. */
    bool by_bucket;
    uint8_t unused_here;
    /* For a chain: workers below a switch that make it a rack. 0: SIM_RACK_LEAST. */
    uint32_t at_least;
};

#define SIM_RACK_LEAST 2U /* workers */
#define SIM_BUCKETS_MAX 1024U
#define SIM_HOST_RANKS_MAX 16U /* so that sums of the compared numbers fit */

/* Endpoint: a node at its place; a worker, or a switch of a job's tree. */
struct sim_endpoint {
    void *node;
    uint64_t branches;
    uint32_t place; /* network node */
    uint16_t job;
    uint16_t rank;        /* of a worker */
    uint8_t child;        /* number at the parent */
    uint8_t children;     /* number of children */
    uint32_t parent;      /* endpoint; SIM_NONE: none */
    uint32_t up;          /* link towards the parent; in a planned job a bundle (planned.h) */
    uint32_t down;        /* link from the parent; in a planned job a bundle */
    uint32_t first_child; /* endpoint; SIM_NONE: none */
    union {
        uint32_t last_child; /* of a switch */
        uint32_t unsent;     /* of a worker: operations of its iteration not yet submitted */
    };
    uint32_t sibling;   /* next child of the parent */
    uint32_t iteration; /* of a worker: current iteration, from 1 */
    uint32_t left;      /* operations of the iteration not yet done */
    uint8_t tree;       /* index among the job's trees */
    bool is_worker : 1;
    bool is_branch : 1;   /* a switch with a parent */
    bool is_held : 1;     /* a worker that waits for a free turn to begin its next iteration */
    bool is_combiner : 1; /* at a switch, for a job with servers; its node is the switch's pool */
    uint16_t ready;       /* buckets of the iteration that may be summed */
};

_Static_assert(sizeof(struct sim_endpoint) == 64, "one cache line");

/* Path up in a job's tree: index of the link up at switches of hosts, and at switches above them. */
struct sim_way {
    uint16_t up[2];
};

/* Timestamps of an iteration's phases. 0: not reached. */
struct sim_iteration {
    uint64_t begun_ps;    /* first worker begins to compute */
    uint64_t computed_ps; /* last worker has computed */
    uint64_t ended_ps;    /* last worker has all sums */
};

struct sim_steps;

/* State of an iteration that is not complete. */
struct sim_turn {
    /* The same numbers for all workers: int32, or float32 if sums may lack ranks. */
    int32_t *send;
    int32_t *recv;
    uint32_t computed; /* workers that have ended computing, and that have ended summing */
    uint32_t ended;
};

/* Ranks in a sequence's sum, as seen by the first worker that took the sum. Compared with later takers. */
struct sim_said {
    uint64_t behind; /* sequence + 1 */
    /* Hash or number of the ranks that the packet names. 0: the packet names none, so all ranks are in. */
    uint64_t ranks;
};

/* Counters of a job's nodes. */
struct sim_job_counters {
    struct trib_counters workers;
    struct trib_counters switches;
    struct trib_flow_counters flows;
};

/* A job waits for free hosts, and frees its hosts after its end. */
enum sim_job_state { SIM_JOB_WAITS = 0, SIM_JOB_PLACED, SIM_JOB_OPEN, SIM_JOB_CLOSED };

struct sim_job {
    struct sim_job_config config;
    enum sim_job_state state;
    uint32_t next_ended;              /* next job in the list of ended jobs that are still open; SIM_NONE */
    struct sim_piece *pieces;         /* memory of nodes and numbers */
    struct sim_job_counters counters; /* final counters of a closed job */
    const struct trib_scheme *scheme; /* NULL: a ring in steps, without nodes */
    struct sim_steps *steps;          /* state of a ring in steps (steps.h); otherwise NULL */
    /* Restarts with ranks that are not back. Not 0: switches have no nodes of the job. */
    uint32_t away;
    uint32_t boot;               /* boot id of the job's trees */
    struct trib_counters before; /* counters of switch nodes that restarts have ended */
    struct trib_session_config session;
    /* First endpoint. Order: workers by rank, in the first tree, then in the next; then switches, tree by tree. */
    uint32_t first;
    uint32_t count;
    struct sim_way ways[TRIB_ROOTS_MAX]; /* by tree */
    uint8_t levels[TRIB_ROOTS_MAX];      /* levels of switches, by tree */
    uint32_t roots[TRIB_ROOTS_MAX];      /* network nodes, by tree; only if switches add */
    uint32_t trees;                      /* trees or servers; 1 if no switch adds */
    uint32_t combiners;                  /* number of combiners; these are the last endpoints */
    uint64_t fragments;                  /* per iteration */
    uint32_t operations;                 /* per iteration */
    uint32_t parts;                      /* operations per bucket */
    uint32_t largest;                    /* fragments of the largest operation */
    uint32_t unused;
    struct sim_iteration *log; /* by iteration, from 0 */
    /* Ring by iteration. Its length is how far workers may be apart. */
    struct sim_turn *turns;
    struct sim_said *said; /* ring by sequence; only if sums may lack ranks */
    uint32_t turn_count;
    uint32_t said_count;
    uint32_t data;       /* gradient bytes of a fragment on the links */
    uint32_t prepared;   /* last iteration with numbers */
    uint32_t iterations; /* iterations that all workers have ended */
    uint32_t unused_here;
    uint64_t sums;     /* sums taken by a worker that may lack ranks */
    uint64_t lacking;  /* entries of `sums` that lack ranks */
    uint64_t compared; /* numbers compared with their expected value */
    uint64_t wrong;
    uint64_t failed; /* failure events */
    uint64_t marked; /* packets that reached the job's nodes with an ECN mark from a link */
    uint64_t told;   /* results that told their workers of an ECN mark on the path up or down */
    /* Total summing time that computing does not hide: from computed_ps to ended_ps. */
    double summing_ps;
    uint64_t end_ps; /* end of the last complete iteration */
};

/* A packet under way to one or several endpoints of a job: the bytes of its members before the communicator. The job
 * has the communicator. */
struct sim_message {
    uint8_t packet[offsetof(struct trib_packet, reduction) + 1];
    /* 64-byte pieces of payload. The second is the list of a sum that lacks ranks, in `lists`. */
    uint8_t pieces;
    uint16_t references;
    union {
        uint8_t payload[SIM_JOB_PAYLOAD];
        uint32_t next; /* next free message */
    };
};

_Static_assert(sizeof(struct sim_message) == 128, "two cache lines");

struct sim_flows;

struct sim_jobs {
    struct sim_network *network;
    struct sim_flows *flows; /* for rings in steps */
    struct sim_job *jobs;    /* all jobs of the run; many may wait */
    uint32_t room;
    uint32_t count;
    uint32_t ended;       /* list of ended jobs that are still open; SIM_NONE: none */
    uint32_t ended_timer; /* timer that fires after a job has ended */
    uint32_t first_timer;
    /* By network node: 1 if it may be a node of trees. NULL: every switch may. */
    const uint8_t *adds;
    struct sim_endpoint *endpoints;
    uint32_t endpoint_count;
    uint32_t endpoint_room; /* maximum; memory is claimed at first use */
    uint32_t *at_host;      /* endpoint of a host's worker in a ring in steps */
    /* By link: load of all trees so far in an iteration, ns of the link's time. */
    uint64_t *loads;
    struct sim_message *messages;       /* SIM_MESSAGES_MAX of them */
    uint8_t (*lists)[TRIB_QUORUM_LIST]; /* by message; NULL: no job has a quorum */
    uint32_t message_high;
    uint32_t message_free;
    struct sim_arena arena;
    struct sim_pieces pieces; /* memory of jobs */
    uint64_t on_links;        /* packets of jobs on links */
    uint64_t aggregated;      /* contributions that switches have added */
    uint64_t done_jobs;
    /* Adding in switches. */
    uint64_t memory_bytes; /* SIM_NEVER: no bound */
    uint32_t first_adder;  /* link of the first switch to itself; SIM_NONE: adding takes no time */
    uint32_t first_loop;   /* link of the first host to itself, for nodes on workers' hosts; SIM_NONE: none */
    uint32_t timer;        /* timer for counting slots */
    bool is_multicast;     /* switches that do not add copy packets for several children where paths part */
    bool is_pool_static;   /* each job has an equal share of each pool */
    uint8_t unused[2];
    struct sim_slots *slots;     /* by endpoint, for switches */
    struct sim_memory *memories; /* by switch; NULL: no bound */
    uint32_t *lodgers;           /* endpoints of switches, grouped by switch */
    struct sim_row_pool *pools;  /* by switch; NULL: no job has servers */
    struct sim_bundles *bundles; /* NULL: no planned job */
    /* By endpoint: bitmap of the ranks below it, in jobs with servers. NULL: no such job. */
    uint64_t *behind;
    struct trib_share *shares; /* scratch for dividing a switch's memory */
};

/* A switch's pool of rows for sums on their way to servers. */
struct sim_row_pool {
    void *combiner;    /* NULL: no job has a combiner there */
    uint32_t *members; /* endpoints, by member */
    uint32_t rows;
    uint32_t unused;
};

/* Use of a switch's memory for sums. */
struct sim_memory {
    uint64_t held_bytes;
    uint64_t most_bytes;
    uint64_t most_rings; /* most bytes that nodes could hold at a time */
    uint64_t next_ps;    /* earliest time of the next division */
    uint32_t first;      /* first of its nodes in lodgers */
    uint32_t count;
    uint32_t capped;    /* nodes of schemes with caps */
    uint32_t fragments; /* room for nodes with caps, in fragments */
};

/* Slots of a job that a switch held, sampled every SIM_SLOTS_PS. */
#define SIM_SLOTS_PS UINT64_C(50000000)
struct sim_slots {
    uint64_t looks;
    uint64_t sum;
    uint32_t most;
    uint32_t held;     /* now; only if memory has a bound */
    uint32_t cap;      /* cap told to the ranks; 0: none */
    uint32_t cap_most; /* highest cap so far */
};

/* Returns a size or time divided by the scale, at least 1 unless it was 0. */
static inline uint64_t sim_job_scaled(uint64_t amount, uint32_t scale)
{
    return amount == 0 || scale <= 1 ? amount : amount < scale ? 1 : amount / scale;
}
/* Returns the hosts that a job needs: workers, then servers. */
static inline uint32_t sim_job_hosts(const struct sim_job_config *config)
{
    return config->workers + (config->are_servers_at_workers ? 0 : config->servers);
}
/* Returns the job's first switch. Switches follow the workers' endpoints of all trees. */
static inline uint32_t sim_job_switches(const struct sim_job *job)
{
    return job->first + job->config.workers * job->trees;
}
/* Returns the job's first combiner. Combiners are the last endpoints. */
static inline uint32_t sim_job_combiners(const struct sim_job *job)
{
    return job->config.servers != 0 ? sim_job_switches(job) + job->trees : job->first + job->count;
}
/* Returns the number of switches. A switch in several trees counts in each; servers do not count. */
static inline uint32_t sim_job_nodes(const struct sim_job *job)
{
    return job->config.servers != 0 ? job->combiners : job->count - job->config.workers * job->trees;
}
/* Returns the host of a worker by rank or, for larger numbers, of a server with its own host. */
static inline uint32_t sim_job_host(const struct sim_jobs *j, const struct sim_job *job, uint32_t at)
{
    uint32_t workers = job->config.workers;

    return j->endpoints[at < workers ? job->first + at : sim_job_switches(job) + at - workers].place;
}
/* True if the endpoint's node occupies a switch's memory for sums. */
static inline bool sim_job_is_lodger(const struct sim_jobs *j, const struct sim_endpoint *e)
{
    return !e->is_worker && !e->is_combiner && e->place >= j->network->hosts;
}
/* True if packets go directly between nodes anywhere (ways.c), not up and down a tree. */
static inline bool sim_job_is_routed(const struct sim_job *job)
{
    return job->config.servers != 0 || (job->scheme != NULL && job->scheme->is_chain);
}
/* True if switches add for the job. */
static inline bool sim_job_adds(const struct sim_job *job)
{
    return job->scheme != NULL && job->scheme->switch_node != NULL;
}
static inline struct sim_turn *sim_job_turn(const struct sim_job *job, uint32_t iteration)
{
    return &job->turns[iteration % job->turn_count];
}
/* True if sums may lack ranks and are therefore compared one by one. */
static inline bool sim_job_has_quorum(const struct sim_job *job)
{
    return job->said_count != 0;
}
/* Returns the gradient bytes of a fragment on the links. */
static inline uint32_t sim_job_data(const struct sim_job_config *config)
{
    return config->payload - (trib_scheme_names_quorum(config->scheme) ? TRIB_QUORUM_LIST : 0);
}
/* Returns memory that lives until the job is closed; NULL: out of memory. */
static inline void *sim__jobs_take(struct sim_jobs *j, struct sim_job *job, size_t size)
{
    return sim_pieces_take(&j->pieces, &job->pieces, size);
}
static inline uint64_t sim__jobs_elements(const struct sim_job *job)
{
    return job->largest * SIM_JOB_ELEMENTS;
}
/* All operations of a bucket except the last have SIM_FRAGMENTS fragments. */
static inline uint64_t sim__jobs_bucket_end(const struct sim_job *job, uint32_t bucket)
{
    return job->fragments * (bucket + 1) / job->config.buckets;
}
static inline uint64_t sim__jobs_fragments(const struct sim_job *job, uint32_t operation)
{
    uint32_t bucket = operation / job->parts;
    uint64_t before =
        (bucket != 0 ? sim__jobs_bucket_end(job, bucket - 1) : 0) + (uint64_t)(operation % job->parts) * SIM_FRAGMENTS;

    return operation % job->parts + 1 != job->parts ? SIM_FRAGMENTS : sim__jobs_bucket_end(job, bucket) - before;
}

#endif
