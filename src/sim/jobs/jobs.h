/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: training jobs in the simulated network: workers on hosts compute, and then sum their gradients with a
 * scheme of src/schemes. The nodes are those of the real switch and the real ranks, driven as core/node.h says; here
 * are only their places, links and clocks.
 *
 * A fragment carries SIM_JOB_PAYLOAD bytes of real numbers, which stand for the payload that it has on the links:
 * all that nodes do is done, to fewer elements. So every sum is checked twice: by the lane, in every worker, and as
 * numbers, at the end of every iteration. Sums that may lack ranks (core/quorum.h) are checked one by one as well, by
 * every worker that takes one: numbers.c.
 *
 * An iteration computes, and then sums. Where gradients come in buckets, each is summed from the moment on when
 * the backward pass has made it, while that goes on; the next iteration begins when all are in. Several ranks of one
 * host are summed in its memory first, as real ones are (level 0): its worker here stands for all of them.
 *
 * Switches of a scheme that has them: a switch above all workers, as low as can be, is the root, and every switch
 * between it and them is a node of the tree, or those that add, where not all do. Packets from node to node travel
 * over the links between them; switches that do not add pass them on. Schemes without switches send from host to
 * host. A job may have several trees, each under another root; which roots, of all that would do, is chosen by the
 * load that all jobs before have put on the links (tree.c). A worker has an endpoint in each of its trees, with one
 * node: that of the first tree has its timers and its iterations, and the others are only places to send to and to
 * come from. Servers, chains and planned trees have other shapes (servers.c, chain.c, planned.h).
 *
 * Sessions (registration, marks of idle ranks) are told at once, without packets: they are not what is simulated.
 * Read next: core/node.h, open.c, tree.c, chain.c, servers.c, shares.c, jobs.c, numbers.c. */
#ifndef TRIB_SIM_JOBS_H
#define TRIB_SIM_JOBS_H

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
#define SIM_JOB_KIND 15U /* of packets */
#define SIM_SCHEME_MAX 32U
#define SIM_JOB_HEADERS (28U + TRIB_HEADER_SIZE) /* of a packet: IPv4, UDP, and the scheme's own */
#define SIM_ADDED (1U << 4)                      /* flag of a packet: it has been through the switch's own link */
#define SIM_FRAGMENTS 4096U                      /* of one operation at most: an iteration is as many as it takes */
#define SIM_FROM_PARENT UINT16_MAX               /* `value` of a packet that comes from the parent */
#define SIM_JOB_NAME_MAX 64U
#define SIM_MANY (1U << 5) /* it is for several children of its owner, by its details' bitmap */

/* Pieces of a job's model by a plan (plan/placed.h), of a scheme that has pieces. */
struct sim_placed {
    uint32_t pieces;
    double saved;  /* share of the workers' parts that the server does not receive, as planned */
    uint64_t *own; /* by switch: network node less the hosts: the pieces that it adds, as bits */
};

enum sim_placement { SIM_PLACEMENT_NONE = 0, SIM_CLOSE, SIM_RANDOM, SIM_PLACEMENT_COUNT };

struct sim_job_config {
    char scheme[SIM_SCHEME_MAX]; /* a row of the table of schemes, with its group or quorum: "hybrid:4", "panama:7/8" */
    uint32_t workers;            /* each on a host that no other job has */
    uint32_t iterations;
    uint32_t window;     /* fragments that a worker has under way */
    uint32_t payload;    /* bytes of a fragment on the links, with room for a list of ranks where sums may lack some */
    uint64_t bytes;      /* of gradients */
    uint64_t compute_ps; /* of an iteration, before they are summed */
    uint64_t start_ps;
    enum sim_placement placement;
    uint32_t copies;   /* so many such jobs; 0 is taken as 1 */
    uint64_t every_ps; /* the mean time from one's start to the next one's, drawn: Poisson arrivals */
    uint32_t *hosts;   /* of its workers, by rank, instead of a placement; the scenario's, freed with it */
    const struct sim_planned *planned; /* its trees and rate; NULL: trees are chosen by load. Borrowed */
    const struct sim_placed *placed;   /* of a scheme with pieces; NULL: no switch adds. Borrowed */
    char name[SIM_JOB_NAME_MAX];       /* that a plan has for it; "": none */
    const struct sim_model *model;     /* NULL: none was named */
    double jitter;       /* each worker's time to compute is drawn anew for each iteration, within this share of it */
    double slower;       /* stragglers compute so much longer: 0.5 is half as much again */
    uint32_t stragglers; /* the last ranks */
    uint32_t ranks;      /* of each worker's host; 0 is taken as 1 */
    uint32_t buckets;    /* of gradients, equal ones; 0 is taken as 1: all are there when computing has ended */
    uint32_t unused;
    double backward;   /* the share of computing in which they come, evenly: the first after a bucket's share of it */
    uint32_t trees;    /* at most: as many as there are switches to be their roots; 0 is taken as 1 */
    bool marks_of_all; /* schemes whose windows follow marks: those of all workers' ways, not of the own alone */
    uint8_t unused_too[3];
    uint64_t threshold;          /* a job of fewer bytes is summed on a ring, whatever its scheme */
    uint32_t servers;            /* of a scheme that has some: roots on hosts; else 0 */
    uint32_t priority;           /* 0 to 255: the most that it is at combiners, where a lower one gives way */
    bool are_servers_at_workers; /* servers have no hosts of their own */
    bool combines_everywhere; /* all switches that add on the way to a server are combiners, not those of hosts alone */
    bool by_bucket;           /* parts have the priority of their bucket: the later, the higher */
    uint8_t unused_here;
    uint32_t at_least; /* of a scheme with a chain: workers below a switch for it to be a rack; 0 is taken as 2 */
};

#define SIM_RACK_LEAST 2U /* workers */
#define SIM_BUCKETS_MAX 1024U
#define SIM_HOST_RANKS_MAX 16U /* so that sums of the numbers that are compared fit */

/* A node at its place: a worker, or a switch of a job's tree. */
struct sim_endpoint {
    void *node;
    uint64_t branches;
    uint32_t place; /* network node */
    uint16_t job;
    uint16_t rank;        /* of a worker */
    uint8_t child;        /* the parent's number of it */
    uint8_t children;     /* how many */
    uint32_t parent;      /* endpoint; SIM_NONE */
    uint32_t up;          /* its link towards the parent; of a planned job: bundle (planned.h) */
    uint32_t down;        /* the parent's link towards it; of a planned job: bundle */
    uint32_t first_child; /* endpoint; SIM_NONE */
    union {
        uint32_t last_child; /* of a switch */
        uint32_t unsent;     /* of a worker: operations of its iteration that are not submitted */
    };
    uint32_t sibling;   /* the parent's next child */
    uint32_t iteration; /* of a worker: it is in; begins with 1 */
    uint32_t left;      /* operations of it that are not done */
    uint8_t tree;       /* of the job's */
    bool is_worker : 1;
    bool is_branch : 1;   /* a switch with a parent */
    bool is_held : 1;     /* a worker whose next iteration begins when a turn is free */
    bool is_combiner : 1; /* at a switch, for a job with servers; its node is the switch's pool */
    uint16_t ready;       /* buckets of the iteration that may be summed */
};

_Static_assert(sizeof(struct sim_endpoint) == 64, "one cache line");

/* The way up in a job's tree: which of their links up all switches of hosts take, and which those above them. */
struct sim_way {
    uint16_t up[2];
};

/* When an iteration was what. 0: not yet. */
struct sim_iteration {
    uint64_t begun_ps;    /* the first worker begins to compute */
    uint64_t computed_ps; /* the last worker has ended computing */
    uint64_t ended_ps;    /* the last worker has all sums */
};

struct sim_steps;

/* An iteration that is under way. */
struct sim_turn {
    int32_t *send; /* all workers have the same numbers: int32, or float32 where sums may lack ranks */
    int32_t *recv;
    uint32_t computed; /* workers that have ended computing, and summing */
    uint32_t ended;
};

/* What the first worker that took a sequence's sum saw in it, for those that take it later. */
struct sim_said {
    uint64_t behind; /* the sequence, and one more */
    uint64_t ranks;  /* one number for those that it has, as the packet names them; 0: it names none, as it has all */
};

/* Counts of a job's nodes. */
struct sim_job_counters {
    struct trib_counters workers;
    struct trib_counters switches;
    struct trib_flow_counters flows;
};

/* A job waits until there are hosts for its workers, and leaves them to others when it has ended. */
enum sim_job_state { SIM_JOB_WAITS = 0, SIM_JOB_PLACED, SIM_JOB_OPEN, SIM_JOB_CLOSED };

struct sim_job {
    struct sim_job_config config;
    enum sim_job_state state;
    uint32_t next_ended;              /* job that has ended as well, and is still open; SIM_NONE */
    struct sim_piece *pieces;         /* memory of its nodes and numbers */
    struct sim_job_counters counters; /* of its nodes, when it is closed */
    const struct trib_scheme *scheme; /* NULL: a ring in steps, without nodes */
    struct sim_steps *steps;          /* of that (steps.h); else NULL */
    uint32_t away;                    /* restarts that its ranks are not back from: switches have no nodes of it */
    uint32_t boot;                    /* of its tree */
    struct trib_counters before;      /* of switches' nodes that restarts have ended */
    struct trib_session_config session;
    uint32_t
        first; /* of its endpoints: workers by rank, in the first tree, then in the next; then switches, tree by tree */
    uint32_t count;
    struct sim_way ways[TRIB_ROOTS_MAX]; /* by tree */
    uint8_t levels[TRIB_ROOTS_MAX];      /* of switches, by tree */
    uint32_t roots[TRIB_ROOTS_MAX];      /* network nodes, by tree; of a scheme whose switches add */
    uint32_t trees;                      /* that it has: one where nothing adds; servers */
    uint32_t combiners;                  /* the last of its endpoints */
    uint64_t fragments;                  /* of an iteration */
    uint32_t operations;                 /* of an iteration */
    uint32_t parts;                      /* operations of a bucket */
    uint32_t largest;                    /* fragments of one operation at most */
    uint32_t unused;
    struct sim_iteration *log; /* by iteration, from 0 on */
    struct sim_turn *turns;    /* by iteration, in turn: as many as workers may be apart */
    struct sim_said *said;     /* by sequence, in turn; of sums that may lack ranks */
    uint32_t turn_count;
    uint32_t said_count;
    uint32_t data;       /* bytes of a fragment on the links that are gradients */
    uint32_t prepared;   /* the last iteration that numbers were made for */
    uint32_t iterations; /* that all workers have ended */
    uint32_t unused_here;
    uint64_t sums;     /* that may lack ranks, and that somebody has taken */
    uint64_t lacking;  /* of these: that do */
    uint64_t compared; /* numbers that were compared with what they must be */
    uint64_t wrong;
    uint64_t failed;   /* events of failure */
    uint64_t marked;   /* packets that came to its nodes with a mark (ECN) that a link had given them */
    uint64_t told;     /* results that told their workers of a mark on their way, up or down */
    double summing_ps; /* of all iterations: what of summing computing does not hide, from computed_ps to ended_ps */
    uint64_t end_ps;   /* of the last iteration that has ended */
};

/* A packet that is under way, to one or several endpoints of a job: its members before the communicator, which is the
 * job's, as bytes. */
struct sim_message {
    uint8_t packet[offsetof(struct trib_packet, reduction) + 1];
    uint8_t pieces; /* of a payload, 64 bytes each: the second is the list of a sum that lacks ranks, in `lists` */
    uint16_t references;
    union {
        uint8_t payload[SIM_JOB_PAYLOAD];
        uint32_t next; /* of one that is free */
    };
};

_Static_assert(sizeof(struct sim_message) == 128, "two cache lines");

struct sim_flows;

struct sim_jobs {
    struct sim_network *network;
    struct sim_flows *flows; /* of rings in steps */
    struct sim_job *jobs;    /* all that there will be: many may wait */
    uint32_t room;
    uint32_t count;
    uint32_t ended;       /* a list, of jobs that have ended and are still open; SIM_NONE */
    uint32_t ended_timer; /* ends when there are some */
    uint32_t first_timer;
    const uint8_t *adds; /* by network node: may it be a node of trees? NULL: every switch may */
    struct sim_endpoint *endpoints;
    uint32_t endpoint_count;
    uint32_t endpoint_room; /* as many as there can be: memory is claimed at first use */
    uint32_t *at_host;      /* worker's endpoint, where it is on a ring in steps */
    uint64_t *loads;        /* by link: what all trees so far send over it in an iteration, in ns of the link's time */
    struct sim_message *messages;       /* as many as are under way */
    uint8_t (*lists)[TRIB_QUORUM_LIST]; /* by message; NULL: no job has a quorum */
    uint32_t message_high;
    uint32_t message_free;
    struct sim_arena arena;
    struct sim_pieces pieces; /* of jobs */
    uint64_t on_links;        /* packets of jobs */
    uint64_t aggregated;      /* contributions that switches have added */
    uint64_t done_jobs;
    /* What adds in a switch. */
    uint64_t memory_bytes; /* SIM_NEVER: no bound */
    uint32_t first_adder;  /* the link of the first switch to itself; SIM_NONE: adding takes no time */
    uint32_t first_loop;   /* the link of the first host to itself, for nodes on hosts of workers; SIM_NONE: none */
    uint32_t timer;        /* that counts slots */
    bool is_multicast;     /* switches that do not add copy what is for several children where their ways part */
    bool is_pool_static;   /* each job has an equal share of each pool */
    uint8_t unused[2];
    struct sim_slots *slots;     /* by endpoint, of switches */
    struct sim_memory *memories; /* by switch; NULL: it has no bound */
    uint32_t *lodgers;           /* endpoints of switches, switch by switch */
    struct sim_row_pool *pools;  /* by switch; NULL: no job has servers */
    struct sim_bundles *bundles; /* NULL: no job is planned */
    uint64_t *behind;            /* of jobs with servers: ranks, by endpoint; NULL: there are none */
    struct trib_share *shares;   /* room for those of one, while its memory is divided */
};

/* A switch's pool of rows for sums on their way to servers. */
struct sim_row_pool {
    void *combiner;    /* NULL: no job has one there */
    uint32_t *members; /* endpoints, by member */
    uint32_t rows;
    uint32_t unused;
};

/* What is in a switch's memory for sums. */
struct sim_memory {
    uint64_t held_bytes;
    uint64_t most_bytes;
    uint64_t most_rings; /* bytes that nodes could hold at a time, whatever comes */
    uint64_t next_ps;    /* not before then it is divided again */
    uint32_t first;      /* of its nodes, in the list of all */
    uint32_t count;
    uint32_t capped;    /* those of schemes with caps */
    uint32_t fragments; /* that there is room for of these */
};

/* Slots of a job that a switch held, looked at every SIM_SLOTS_PS. */
#define SIM_SLOTS_PS UINT64_C(50000000)
struct sim_slots {
    uint64_t looks;
    uint64_t sum;
    uint32_t most;
    uint32_t held;     /* now, where memory has a bound */
    uint32_t cap;      /* that its ranks are told; 0: none */
    uint32_t cap_most; /* so far */
};

const char *sim_placement_name(enum sim_placement placement);
void sim_jobs_init(struct sim_jobs *j, struct sim_network *network, uint32_t first_timer);
void sim_jobs_deinit(struct sim_jobs *j);
/* Room for all jobs, each with so many endpoints at most as sim_job_endpoints says. False: out of memory. */
bool sim_jobs_reserve(struct sim_jobs *j, uint32_t jobs, uint64_t endpoints);
/* The most endpoints of a job: a worker's way to a root meets a switch of each tier at most. */
uint64_t sim_job_endpoints(const struct sim_job_config *config);
/* Two of each endpoint: so many follow first_timer. */
uint32_t sim_jobs_timers(const struct sim_jobs *j);
/* A size or time at a scale of 1/scale. */
static inline uint64_t sim_job_scaled(uint64_t amount, uint32_t scale)
{
    return amount == 0 || scale <= 1 ? amount : amount < scale ? 1 : amount / scale;
}

/* Adds a job, which waits. False: error says why it cannot be. */
bool sim_jobs_add(struct sim_jobs *j, const struct sim_job_config *config, uint64_t seed, char *error);
/* Hosts that a job needs: its workers', then those of its servers. */
static inline uint32_t sim_job_hosts(const struct sim_job_config *config)
{
    return config->workers + (config->are_servers_at_workers ? 0 : config->servers);
}
/* They are on these hosts. False: error says why it cannot be. */
bool sim_jobs_place(struct sim_jobs *j, uint32_t number, const uint32_t *hosts, char *error);
/* Opens all that are placed, before anything happens, or one of them later, where switches' memory has no bound. */
bool sim_jobs_open(struct sim_jobs *j, char *error);
bool sim_jobs_open_late(struct sim_jobs *j, uint32_t number, char *error);
/* A job that has ended gives its hosts and its memory back. */
void sim_jobs_close(struct sim_jobs *j, uint32_t number);
void sim_jobs_arrived(struct sim_jobs *j, uint32_t packet);
/* The packet will arrive soon, and sooner: fetch what that needs. */
void sim_jobs_soon(const struct sim_jobs *j, uint32_t packet);
void sim_jobs_sooner(const struct sim_jobs *j, uint32_t packet);
/* It has come to a switch that only passes it on, or has yet to go through what adds there. */
bool sim_jobs_passes(const struct sim_jobs *j, uint32_t packet);
/* This one is the second of a packet that comes twice. */
void sim_jobs_copied(struct sim_jobs *j, uint32_t packet);
void sim_jobs_dropped(struct sim_jobs *j, uint32_t packet);
void sim_jobs_timer(struct sim_jobs *j, uint32_t timer);
/* The switch loses its nodes of jobs, and these stand still; and their ranks are back. */
void sim_jobs_leave(struct sim_jobs *j, uint32_t place);
void sim_jobs_return(struct sim_jobs *j, uint32_t place);
/* Counts slots, and sets the timer of that anew. */
void sim_jobs_count_slots(struct sim_jobs *j);
struct sim_job_counters sim_jobs_counters(const struct sim_jobs *j, uint32_t job);
/* The most that the memory of any switch held, in bytes of payload on the links; 0 where it has no bound. */
uint64_t sim_jobs_memory(const struct sim_jobs *j);
/* The most that the rings of a switch were, which are twice the caps: what an accelerator sets aside. */
uint64_t sim_jobs_rings(const struct sim_jobs *j);
/* The first of its switches, which follow its workers' endpoints in all trees. */
static inline uint32_t sim_job_switches(const struct sim_job *job)
{
    return job->first + job->config.workers * job->trees;
}
/* The first of its combiners, which are the last of its endpoints. */
static inline uint32_t sim_job_combiners(const struct sim_job *job)
{
    return job->config.servers != 0 ? sim_job_switches(job) + job->trees : job->first + job->count;
}
/* How many switches: one that is in several trees counts in each. Servers are none. */
static inline uint32_t sim_job_nodes(const struct sim_job *job)
{
    return job->config.servers != 0 ? job->combiners : job->count - job->config.workers * job->trees;
}
/* Host of the worker of this rank, or, behind all workers, of a server with a host of its own. */
static inline uint32_t sim_job_host(const struct sim_jobs *j, const struct sim_job *job, uint32_t at)
{
    uint32_t workers = job->config.workers;

    return j->endpoints[at < workers ? job->first + at : sim_job_switches(job) + at - workers].place;
}
/* Has the endpoint a node in a switch's memory that jobs divide? */
static inline bool sim_job_is_lodger(const struct sim_jobs *j, const struct sim_endpoint *e)
{
    return !e->is_worker && !e->is_combiner && e->place >= j->network->hosts;
}
/* Do its packets go from node to node wherever these lie (ways.c), and not up and down a tree? */
static inline bool sim_job_is_routed(const struct sim_job *job)
{
    return job->config.servers != 0 || (job->scheme != NULL && job->scheme->is_chain);
}
/* Are there switches that add for it? */
static inline bool sim_job_adds(const struct sim_job *job)
{
    return job->scheme != NULL && job->scheme->switch_node != NULL;
}
static inline struct sim_turn *sim_job_turn(const struct sim_job *job, uint32_t iteration)
{
    return &job->turns[iteration % job->turn_count];
}
/* Are its sums compared one by one, as they may lack ranks? */
static inline bool sim_job_has_quorum(const struct sim_job *job)
{
    return job->said_count != 0;
}
/* Of a fragment's bytes on the links, those that are gradients. */
static inline uint32_t sim_job_data(const struct sim_job_config *config)
{
    return config->payload - (trib_scheme_names_quorum(config->scheme) ? TRIB_QUORUM_LIST : 0);
}
/* Rows that the job holds now, in all pools. */
uint32_t sim_jobs_rows(const struct sim_jobs *j, uint32_t number);
/* Counts of all pools. */
void sim_jobs_pools(const struct sim_jobs *j, struct trib_combiner_counters *sum);
/* NULL, or what is wrong: a sum, a lane, a failure. */
const char *sim_jobs_check(const struct sim_jobs *j);

/* Memory of a job's until it is closed; NULL: out of memory. */
static inline void *sim__jobs_take(struct sim_jobs *j, struct sim_job *job, size_t size)
{
    return sim_pieces_take(&j->pieces, &job->pieces, size);
}

/* Of jobs.c, for open.c: hands out the packets of an endpoint. */
void sim__jobs_drain(struct sim_jobs *j, uint32_t endpoint);
/* Of iterations.c: a worker begins its next iteration; its next bucket will be ready; it has all sums of its iteration.
 */
void sim__jobs_begin(struct sim_jobs *j, uint32_t endpoint);
void sim__jobs_wait_for_bucket(struct sim_jobs *j, uint32_t endpoint);
void sim__jobs_ended(struct sim_jobs *j, uint32_t endpoint);
static inline uint64_t sim__jobs_elements(const struct sim_job *job)
{
    return job->largest * SIM_JOB_ELEMENTS;
}
/* Of a bucket's operations all have SIM_FRAGMENTS but the last. */
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

/* Of numbers.c: room for an iteration's numbers and for what sums say, when the session is settled; an iteration's
 * numbers; are its sums right, and is this one that a worker has taken? */
bool sim__numbers_open(struct sim_jobs *j, struct sim_job *job);
void sim__numbers_prepare(struct sim_job *job, uint32_t iteration);
void sim__numbers_compare(struct sim_job *job, uint32_t iteration);
void sim__numbers_taken(struct sim_job *job, const struct trib_packet *packet);

/* Of shares.c: settles windows and first caps, before nodes are made; a switch's node is new, or anew; it may hold
 * more, or less, than before. */
bool sim__shares_open(struct sim_jobs *j, char *error);
void sim__shares_opened(struct sim_jobs *j, uint32_t endpoint);
void sim__shares_count(struct sim_jobs *j, uint32_t endpoint);
void sim__shares_closed(struct sim_jobs *j, uint32_t endpoint);

/* Of tree.c: chooses the job's trees and places their switches, behind its workers. False: error says why it
 * cannot be. */
bool sim__jobs_trees(struct sim_jobs *j, struct sim_job *job, char *error);
/* May jobs of this scheme have a struct sim_placed? */
bool sim_placed_fits(const char *scheme);
/* Of servers.c: places servers and combiners, opens and closes their nodes; combiners hear M; a switch loses what it
 * holds. */
bool sim__servers_place(struct sim_jobs *j, struct sim_job *job, const uint32_t *hosts, char *error);
bool sim__servers_open(struct sim_jobs *j, struct sim_job *job);
void sim__servers_close(struct sim_jobs *j, const struct sim_job *job);
void sim__servers_tell_mark(struct sim_jobs *j, const struct sim_job *job, uint64_t mark);
void sim__pool_forget(struct sim_jobs *j, uint32_t place);
struct sim_row_pool *sim__pool_at(const struct sim_jobs *j, uint32_t place);
uint32_t sim__pool_member(const struct sim_endpoint *e);
/* Of chain.c: a chain's nodes. */
bool sim__chain_place(struct sim_jobs *j, struct sim_job *job, char *error);
/* Of ways.c: a host's switch; which way up a tree takes: jobs and trees begin with different links; the first links of
 * a placed job's endpoints, up and down; the next link on the way from a place. */
uint32_t sim__ways_switch(const struct sim_network *n, uint32_t host);
void sim__ways_choose(const struct sim_jobs *j, struct sim_job *job, uint32_t tree);
void sim__ways_find(struct sim_jobs *j, const struct sim_job *job);
uint32_t sim__ways_next(const struct sim_jobs *j, uint32_t place, const struct sim_endpoint *to);
/* Its trees are no load on links any more. */
void sim__jobs_unload(struct sim_jobs *j, const struct sim_job *job);
/* The next link on the way through the tree from this place to the parent, or down to the endpoint. */
uint32_t sim__jobs_next_up(const struct sim_network *n, uint32_t place, const struct sim_way *way);
uint32_t sim__jobs_next_down(const struct sim_network *n, uint32_t place, const struct sim_endpoint *to);
uint32_t sim__jobs_endpoint(struct sim_jobs *j, const struct sim_endpoint *endpoint);
/* An endpoint that is no worker, a child of another, and the workers' in all trees but the first. */
uint32_t sim__jobs_node(struct sim_jobs *j, const struct sim_job *job, uint32_t tree, uint32_t place);
void sim__jobs_adopt(struct sim_jobs *j, uint32_t child, uint32_t parent);
/* The same for the child of a switch's node, with a number there. False: the node has no room for it. */
bool sim__jobs_join(struct sim_jobs *j, uint32_t child, uint32_t parent, char *error);
void sim__jobs_workers_in_trees(struct sim_jobs *j, const struct sim_job *job);

#endif
