/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: the data of the control plane's decisions; functions have headers of their own. A struct trib_job is one
 * communicator. A struct trib_owner is the job that owns communicators (owner.h). A communicator's states: JOINING
 * (ranks come, or come back after a restart of the switch) -> PLACING (all are there; its agents open their roots) ->
 * STARTING (all have got WELCOME; paths are tried, ranks register) -> RUNNING (all have got READY) -> gone. A
 * communicator ends when all ranks have sent CLOSE, or by trib_job_fail, which tells every rank the same cause. Nothing
 * stays behind. The loss of a switch below, or of an agent, ends an incarnation and not the communicator
 * (trib_job_recall). All ranks then come back to JOINING, on the old sessions if these are open. Each incarnation has
 * its own boot id. Read next: jobs.h (the entry points). */
#ifndef TRIB_CONTROL_JOBS_STATE_H
#define TRIB_CONTROL_JOBS_STATE_H

#include "control/agents/remote.h"
#include "control/roots/masters.h"
#include "control/server.h"
#include "control/words/ranks.h"
#include "io/log.h"
#include "schemes/schemes.h"

#define TRIB_JOBS_MAX 1024
#define TRIB_JOBS_NEAR_MAX (TRIB_JOBS_MAX / 4 * 3) /* limit of one address, or of one key, at a switch */
/* Limit for gathering jobs of one address, bytes. Some 17 jobs of 1,024 ranks, or 280 of 64. */
#define TRIB_GATHERING_MAX (UINT64_C(64) << 20)
#define TRIB_GATHERING_TENANT_MAX (4 * TRIB_GATHERING_MAX) /* the same of one key */
#define TRIB_CUT_NS (TRIB_SECOND_NS / 2) /* time for a rank to come back after the end of its session (cut.c) */
#define TRIB_LENDERS_MAX TRIB_OTHERS_MAX
#define TRIB_TABLE_SIZE 256 /* of hash tables */

struct trib_job;

/* The jobs' part of a connection: a session of a rank, or of a controller elsewhere. job is NULL before JOIN, and again
 * after the release of the session. */
struct trib_session {
    struct trib_job *job;
    struct trib_master *master; /* NULL: no CONTROL has come */
    struct trib_remote *leaf;   /* switch below at which the session arrived; NULL: here */
    uint32_t rank;
    struct trib_address peer;  /* the rank's end, as seen by the switch at which the session arrived */
    struct trib_address local; /* the switch's end; len 0: unknown */
};

/* A waiting rank reports once a second, or a little later: older than two reports is of the past. */
#define TRIB_STALL_FRESH_NS (5 * TRIB_SECOND_NS / 2)

/* The latest STALL of a rank. */
struct trib_stall {
    uint64_t sequence;
    uint64_t at_ns; /* 0: none */
    uint32_t since_ms;
    bool is_open;                  /* not answered yet: an agent is being asked */
    uint16_t silent;               /* neighbour on a ring that sends no acknowledgements; UINT16_MAX: none */
    struct trib_rank_list missing; /* as far as known here */
    char where[128];               /* a switch that lacks no rank and sends nothing; or a cause; "": none */
};

struct trib_rank {
    struct trib_session *session; /* NULL: not there, or left */
    struct trib_address address;  /* the session's */
    struct trib_address seat;     /* of the switch below through which the sums come here; len 0: none */
    char name[64];                /* address as text; "": the rank was never there */
    uint64_t via;                 /* identity of the switch below at which the rank arrived; 0: here */
    uint32_t below;               /* 1 + index of the switch in job->below; 0: none */
    uint32_t known_boot;          /* boot id in the grant that the rank brought */
    uint32_t known_group;         /* likewise, of a rank at a switch below */
    uint16_t known_group_port;
    uint32_t branch;    /* number of the rank's child */
    uint32_t roots;     /* limit: minimum of the rank and the switches on the way; 0: no limit */
    uint32_t room;      /* bytes in one socket of the rank's root; 0: no root */
    uint16_t root_port; /* UDP port for a root in the rank's process; 0: none */
    uint16_t meet_port; /* of rank 0: where ranks meet if the switch is gone for good; 0: nowhere */
    uint8_t weight;     /* requested weight as a root */
    uint64_t host;      /* 0: unknown */
    bool wants_level0;
    struct trib_stall stall;
    uint64_t mark;     /* the highest mark from the rank */
    uint64_t told;     /* the highest M sent to the rank */
    uint64_t achieved; /* bytes per second, by its latest PROGRESS; 0: none yet */
    uint16_t data_port[TRIB_ROOTS_MAX];
    uint16_t subnet[TRIB_ROOTS_MAX]; /* of each card: 1 + place (trees.c); UINT16_MAX: none; 0: not looked up */
    struct trib_address_list places; /* source addresses of packets, by root in turn; none: `address` */
    bool is_new;                     /* joined without a grant */
    bool was_ready;                  /* has seen a READY with the grant, and so has tried all paths */
    bool wants_multicast;
    bool has_paths;     /* PATHS has come, or was not needed */
    bool has_multicast; /* as reported */
    bool is_registered;
    bool is_closing;   /* CLOSE has come */
    bool is_ring;      /* joined as a rank of a ring, after RING */
    bool has_left;     /* CLOSED was sent, or the rank is gone; no return */
    bool is_outside;   /* back for CLOSED alone: without WELCOME, and no other message goes there */
    bool is_recalled;  /* RECALL was sent, and the rank has not come back; the session keeps the place */
    bool has_given_up; /* left before WELCOME, after the rank's own limit of the wait; no rank waits for it */
};

/* Two ranks of one slot said to run different operations (I10), until both have named theirs. */
struct trib_dispute {
    bool is_question; /* no rank has reported a dispute, but all ranks wait: the dispute may be none */
    uint64_t sequence;
    uint64_t deadline_ns; /* 0: no dispute */
    uint32_t rank[2];
    char text[2][256];
};

/* Transport from controller to agent: calls in this process, messages on the agent's session, or messages on the rank's
 * session. */
enum trib_carrier { TRIB_CARRIER_CALL = 0, TRIB_CARRIER_REMOTE, TRIB_CARRIER_RANK };

/* An agent with roots of a communicator (placements.h). */
struct trib_placement {
    enum trib_carrier carrier;
    uint16_t rank;              /* CARRIER_RANK */
    struct trib_remote *remote; /* CARRIER_REMOTE */
    uint64_t asked;             /* sequence of the question which ranks are missing, while is_asked */
    bool is_asked;
    uint8_t opened; /* open roots: number of ROOT_OPENED so far */
    bool is_ready;  /* ROOT_READY has come */
    /* The latest answer on missing ranks; unused for an agent in this process. */
    uint64_t answered_ns; /* 0: none */
    uint64_t answered;    /* sequence */
    struct trib_rank_list lacks;
    /* TRIB_CARRIER_REMOTE, while the job's slots are open: links of the agent's list, remote->served. */
    struct trib_job *job;
    struct trib_placement *next;
    struct trib_placement **back; /* NULL: in no list */
};

/* A switch below with all roots of a communicator. The switch sums for some ranks, and sends to its parent. */
struct trib_inner {
    struct trib_placement placement; /* remote NULL: lost, and no rank behind needs the switch any more */
    uint32_t children;               /* at most, of all roots */
    uint16_t parent[TRIB_ROOTS_MAX]; /* by root: 1 + the parent's index in job->below; 0: the place of the root */
    uint64_t told;                   /* M of the latest ROOT_MARK */
    uint32_t group;                  /* multicast group for results to ranks that are children here; 0: none */
    uint16_t group_port;
    bool multicast;
};

struct trib_root_place {
    uint8_t placement; /* index */
    uint8_t shard;     /* the agent's shard */
};

enum trib_job_state { TRIB_JOB_NONE = 0, TRIB_JOB_JOINING, TRIB_JOB_PLACING, TRIB_JOB_STARTING, TRIB_JOB_RUNNING };

struct trib_link_load; /* choose.h */

/* The process of a rank, in a list of processes with one hash (roots/processes.h). */
struct trib_process {
    struct trib_process *next;
    struct trib_job *job; /* NULL: in no list */
    uint32_t hash;        /* 0: unknown */
    /* In the first entry of a process: bytes counted by the search. */
    uint64_t search;
    uint64_t bytes;
};

struct trib_job {
    struct trib_job *next;
    struct trib_job **back;      /* pointer to this job in the list */
    struct trib_job *next_named; /* of jobs with the same hash of the name */
    struct trib_job *next_found; /* of jobs with the same hash of the communicator */
    uint32_t queue_at;           /* index in jobs->queue */
    uint64_t queue_ns;           /* key in jobs->queue, ns: not later than trib_job_timeout */
    uint64_t looked;             /* jobs->looks when the job was last due */
    struct trib_owner *owner;    /* the communicator's job (owner.h) */
    struct trib_job *next_owned; /* of the same job */
    uint32_t maker;              /* id of the communicator from which this one was derived; 0: none */
    char name[TRIB_NAME_MAX + 1];
    char run[TRIB_NAME_MAX + 1]; /* launch of the job, from JOIN; "": unknown */
    uint64_t key;                /* id of the ranks' key; 0: none */
    enum trib_job_state state;
    bool is_return;      /* re-created from the grants of returning ranks */
    bool is_recalled;    /* the ranks were told to come back; the job stayed here */
    bool was_running;    /* some rank may have seen READY, so all ranks had got WELCOME */
    bool is_open;        /* slots are open, or have been requested */
    bool has_peers;      /* ranks send to each other (places.h) */
    bool is_ring;        /* a switch made the ranks a ring, whatever the scheme is (threshold.c) */
    bool stays;          /* below the threshold, and no ring: the log has the reason */
    bool multicast;      /* results go by multicast */
    bool is_over;        /* without a switch: a rank has left, and all operations of that rank have ended */
    char lost[256];      /* is_recalled: the lost switch or agent */
    char cut_cause[128]; /* cause of the end of the session of that rank */
    uint32_t cut;        /* 1 + the rank with a cut session, which may come back; 0: none */
    char differs[TRIB_ERROR_TEXT_MAX]; /* latest difference from a sibling (differ.c); "": none */
    bool is_doomed;                    /* ends for `differs`, once all siblings are known */
    struct trib_address founder;       /* source address of the first rank; len 0: known to a switch above */
    struct trib_settings settings;
    struct trib_grant grant;
    uint8_t packet_key[TRIB_AUTH_KEY]; /* of the incarnation, in a job with a key; else 0 */
    uint32_t children;              /* branches: ranks, hosts, and switches with ranks; 0 before all ranks are there */
    uint32_t hosts;                 /* members of the sums (hosts.c); 0: the ranks are the members */
    struct trib_rank_set leaders;   /* the first rank of each host; 0 hosts: none */
    struct trib_agent_opening here; /* slots in this process, if any */
    uint64_t started_ns;            /* when the first rank came */
    uint64_t deadline_ns;           /* of the present state; TRIB_NEVER: none */
    uint64_t apart_ns;              /* time to report that the other ranks have joined siblings; 0: never */
    uint64_t waits_ns;              /* start of the wait for ranks or agents, until deadline_ns */
    uint64_t probe_ns;              /* when to try the multicast path next */
    uint64_t probe_gap_ns;
    uint64_t mark;     /* M when the waiting ranks were last told */
    uint64_t marks_ns; /* when to look for a risen M next */
    uint64_t marks_gap_ns;
    uint64_t stall_logged_ns;
    uint64_t pinged_ns; /* time of the last PING to the job's agents elsewhere */
    struct trib_dispute dispute;
    struct trib_placement placement[TRIB_ROOTS_MAX];
    uint32_t placements;                         /* from `deal` until the slots are shut; 0: ranks send to each other */
    struct trib_root_place root[TRIB_ROOTS_MAX]; /* grant.roots of them */
    uint32_t ways;                               /* separate ways to the job's places; as many trains share a tensor */
    bool misses_plan;                            /* the log has said so (progress.h) */
    bool has_trees;                 /* several switches: grant.switches is set, and later trees follow grant.switches */
    uint64_t unlent_ns;             /* start of the wait for a chosen agent; 0: all answer, or none is asked */
    uint64_t heard;                 /* latest jobs->event of the job */
    struct trib_job *next_waiting;  /* next job that waits for an agent */
    struct trib_job **waiting_back; /* pointer to this job in jobs->waiting; NULL: not in the list */
    struct trib_address meeting;    /* where ranks meet if the switch is gone for good; len 0: nowhere */
    bool is_chain;                  /* each root has a separate tree, by the scheme (start.h) */
    struct trib_inner *below;       /* `belows` of them */
    uint32_t belows;
    struct trib_link_load *loads; /* loads by the job's trees (roots/loads.h); NULL: none */
    uint32_t load_count;
    struct trib_job *next_stale;    /* next job with stale loads */
    struct trib_job **stale_back;   /* pointer to this job in the stale list; NULL: not in the list */
    uint64_t found;                 /* jobs->search that last found the job */
    struct trib_process *processes; /* by rank */
    struct trib_rank ranks[];       /* settings.ranks of them */
};

/* Free-running, for metrics. */
struct trib_jobs_stats {
    uint64_t started;                      /* communicators that reached READY */
    uint64_t closed;                       /* communicators that ended by CLOSE of all ranks */
    uint64_t failed[-TRIB_ERR_CHECK + 1];  /* by -status */
    uint64_t refused[-TRIB_ERR_CHECK + 1]; /* joins answered with FAIL, by -status */
    uint64_t returned;                     /* of the started communicators: back after a restart */
    uint64_t recalled;                     /* incarnations ended by the loss of a switch below */
    uint64_t stale;                        /* messages that crossed a RECALL */
};

struct trib_owner;
struct trib_places; /* places.h */
struct trib_dealer;
struct trib_loads;

struct trib_jobs {
    struct trib_job *first;
    struct trib_owner *owners; /* each has a communicator in the list before */
    uint32_t owners_begun;
    struct trib_remote *leaves; /* usable switches below, and switches being lost */
    uint32_t count;
    struct trib_agent agent; /* agent of this process: the shards, in a switch */
    uint32_t incarnation;    /* number of boot ids given out, from config->boot on */
    const struct trib_server_config *config;
    const struct trib_places *agents; /* for jobs that agents sum (places.h) */
    const struct trib_dealer *dealer;
    const struct trib_places *peers; /* for jobs with ranks that send to each other */
    const struct trib_dealer *no_dealer;
    struct trib_masters masters; /* controllers elsewhere with roots here */
    uint64_t event;              /* free-running: events of agents elsewhere (roots/switches.c) */
    /* Each complete job that waits for an agent elsewhere. A job that has ceased to wait stays until start or end. */
    struct trib_job *waiting;
    uint64_t life;                   /* random, of the process */
    uint32_t room_changes;           /* agent.changes at the last ROOM to the masters */
    uint64_t room_ns;                /* time of the last ROOM */
    uint64_t turn;                   /* number of choices of switches; rotates the order of equal switches */
    struct trib_loads *loads;        /* of links, by all trees; NULL: no choice has been made */
    struct trib_process **processes; /* by hash (roots/processes.h); NULL: no job has begun yet */
    uint32_t processes_known;        /* number of entries in the table */
    uint64_t search;                 /* free-running: searches by processes */
    uint64_t unlent_logged_ns;       /* time of the last log line on an unreachable lender */
    struct trib_jobs_output output;
    struct trib_remote_output remotes;
    struct trib_remote_output below; /* of switches below; open and end are not used */
    struct trib_jobs_stats stats;
    struct trib_job *by_communicator[TRIB_TABLE_SIZE]; /* find.c */
    struct trib_job *by_name[TRIB_TABLE_SIZE];
    uint64_t looks;                        /* free-running count of checks for due jobs */
    uint32_t queued;                       /* jobs in the queue: all */
    struct trib_job *queue[TRIB_JOBS_MAX]; /* heap; the earliest due job is first */
    /* Agents elsewhere, in the order of config->lenders. Last, so that memory of unused entries is never touched. */
    struct trib_remote remote[TRIB_LENDERS_MAX];
};

/* True after a JOIN until the release of the session, and after a CONTROL. */
static inline bool trib_session_is_joined(const struct trib_session *session)
{
    return session->job || session->master;
}

#define trib_jobs_say(jobs, ...) trib_output_say(&(jobs)->output, __VA_ARGS__)

/* value, but no more than limit; 0: there is no limit. */
static inline uint32_t trib_least(uint32_t value, uint32_t limit)
{
    return limit != 0 && limit < value ? limit : value;
}

/* The scheme that sums the communicator. */
static inline const char *trib_job_scheme(const struct trib_job *job)
{
    return job->is_ring ? TRIB_SCHEME_RING : job->settings.scheme;
}

/* Number of different trees, of the first roots; 1: one for all roots. */
static inline uint32_t trib_job_shapes(const struct trib_job *job)
{
    return job->is_chain ? job->grant.roots : 1;
}

/* Number of switches of a job with lenders. */
static inline uint32_t trib_trees_count(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t count = 0;
    while (count < TRIB_SWITCHES_MAX && job->grant.switches[count] != 0) {
        count++;
    }
    return count > 0 ? count : jobs->config->lenders.count + 1;
}

/* The k-th switch of the job: 0 for this switch, i + 1 for lender i. */
static inline uint32_t trib_trees_at(const struct trib_job *job, uint32_t k)
{
    return job->grant.switches[0] != 0 ? job->grant.switches[k] - 1U : k;
}

/* True if the rank sends packets. */
static inline bool trib_job_leads(const struct trib_job *job, uint32_t rank)
{
    return job->hosts == 0 || trib_rank_set_has(&job->leaders, rank);
}

/* Ranks or hosts. */
static inline uint32_t trib_job_members(const struct trib_job *job)
{
    return job->hosts != 0 ? job->hosts : job->settings.ranks;
}

/* Number of the rank's network cards. */
static inline uint32_t trib_rank_places(const struct trib_rank *rank)
{
    return rank->places.count > 0 ? rank->places.count : 1;
}

#endif
