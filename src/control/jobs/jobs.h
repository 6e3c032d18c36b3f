/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: the decisions of the control plane: which ranks join, and the grant, the start and the end of each
 * communicator. No sockets, no clock, no threads: messages come in by trib_jobs_receive, go out by the two calls of
 * struct trib_jobs_output, and time is an argument. admission.c holds the arithmetic of windows, slots and quotas.
 *
 * A struct trib_job is one communicator. A struct trib_owner is the job that owns communicators (owner.h). A
 * communicator's states: JOINING (ranks come, or come back after a restart of the switch) -> PLACING (all are there;
 * its agents open their roots) -> STARTING (all have got WELCOME; paths are tried, ranks register) -> RUNNING (all have
 * got READY) -> gone. A communicator ends when all ranks have sent CLOSE, or by trib_job_fail, which tells every rank
 * the same cause. Nothing stays behind. The loss of a switch below, or of an agent, ends an incarnation and not the
 * communicator (trib_job_recall). All ranks then come back to JOINING, on the old sessions if these are open. Each
 * incarnation has its own boot id. Read next: jobs.c, then connections.h (the members' sessions), server.c (the owner
 * of both). */
#ifndef TRIB_CONTROL_JOBS_H
#define TRIB_CONTROL_JOBS_H

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
#define TRIB_CUT_NS (TRIB_SECOND_NS / 2) /* time for a rank with a key to come back after the end of a session */
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
    char where[128];               /* a switch that lacks no rank and sends nothing; "": none */
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

void trib_jobs_init(struct trib_jobs *jobs, const struct trib_server_config *config,
                    const struct trib_jobs_output *output);
/* True after a JOIN until the release of the session, and after a CONTROL. */
static inline bool trib_session_is_joined(const struct trib_session *session)
{
    return session->job || session->master;
}

/* turn.c: true if the message is in turn on the session. */
bool trib_session_is_in_turn(const struct trib_session *session, const struct trib_message *message);
/* Stage of the session of rank `index`, once there is a communicator. */
enum trib_stage trib_rank_stage(const struct trib_job *job, uint32_t index);

#define trib_jobs_say(jobs, ...) trib_output_say(&(jobs)->output, __VA_ARGS__)

/* Fails every communicator with the cause and frees all. */
void trib_jobs_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text);

/* Takes one message of a session. False: an unexpected message; the session must end (trib_jobs_gone). */
bool trib_jobs_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                       uint64_t now_ns);
/* ping.c: PING or PONG has come. */
void trib_jobs_ping(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns);
/* A PING has come from a rank: sends PING to the agents elsewhere of the rank's job. */
void trib_jobs_pinged(struct trib_jobs *jobs, struct trib_session *session, uint64_t now_ns);
/* The rank is at fault, and counts as dead. The caller ends the session. */
void trib_jobs_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* The session has ended: the connection closed, broke, or was cut for `cause`. The caller frees the session
 * afterwards. */
void trib_jobs_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* A slot saw two operations under one sequence. */
void trib_jobs_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2],
                        uint64_t now_ns);
/* The work that still needs this control plane. */
void trib_jobs_duties(const struct trib_jobs *jobs, struct trib_server_duties *duties);
uint64_t trib_jobs_next_timeout(struct trib_jobs *jobs);
void trib_jobs_on_timeout(struct trib_jobs *jobs, uint64_t now_ns);

/* For jobs.c and the other files of jobs. */

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

/* find.c: which job, and when. */

struct trib_job *trib_jobs_find_communicator(const struct trib_jobs *jobs, uint32_t communicator);
/* First job of a list, linked by next_named, of all jobs with the name, the youngest first. The list may have jobs of
 * other names. */
struct trib_job *trib_jobs_named(const struct trib_jobs *jobs, const char *name);
/* Sets the job's grant. Nothing else changes the communicator id of a job. */
void trib_job_take_grant(struct trib_jobs *jobs, struct trib_job *job, const struct trib_grant *grant);
/* Time of the job's next action. */
uint64_t trib_job_timeout(const struct trib_job *job);
/* Updates the queue after trib_job_timeout may have become earlier. */
void trib_job_queue(struct trib_jobs *jobs, struct trib_job *job);
/* The job with the earliest time; NULL: there is none. */
struct trib_job *trib_jobs_next_due(struct trib_jobs *jobs);
/* Adds a job that waits for an agent to jobs->waiting, unless already there. */
void trib_job_wait(struct trib_jobs *jobs, struct trib_job *job);
/* Removes the job from jobs->waiting, if there. */
void trib_job_stop_waiting(struct trib_job *job);
/* Adds the job at the head of the list of all jobs, and removes it. */
void trib_jobs_add(struct trib_jobs *jobs, struct trib_job *job);
void trib_jobs_remove(struct trib_jobs *jobs, struct trib_job *job);

/* job.c: one communicator. */

/* "rank 2 (10.0.0.3:41234)". text: 96 bytes. */
char *trib_job_name_rank(const struct trib_job *job, uint32_t rank, char *text);
/* True in JOINING if all joined ranks are lost: no rank is expected any more. */
bool trib_job_is_empty(const struct trib_job *job);
/* True if all ranks of the job are there, and have said JOIN. */
bool trib_job_is_complete(const struct trib_job *job);
/* The lowest present rank, or else the last rank. */
uint32_t trib_job_first_rank(const struct trib_job *job);
/* Enters a state that may follow the present state. */
void trib_job_enter(struct trib_job *job, enum trib_job_state state);
/* Ends a session after all sent messages. */
void trib_rank_let_go(struct trib_jobs *jobs, struct trib_rank *rank);
/* In a job that runs or is about to run: sends to a participating rank, which neither is gone nor waits outside. */
void trib_rank_tell(const struct trib_jobs *jobs, const struct trib_rank *rank, const struct trib_message *message);
/* Sends CLOSED to a rank that needs nothing any more, and ends the session. */
void trib_rank_send_closed(struct trib_jobs *jobs, struct trib_rank *rank);
/* Sends the cause to every rank (FAIL, or CLOSED to a closing rank), ends all sessions, and frees the communicator. */
void trib_job_fail(struct trib_jobs *jobs, struct trib_job *job, enum trib_status status, const char *text);
/* Closes the communicator's slots at all agents. */
void trib_job_close_plane(struct trib_jobs *jobs, struct trib_job *job);
/* Frees the job. All sessions must be gone or told. */
void trib_job_free(struct trib_jobs *jobs, struct trib_job *job);
/* check.c: ends the program if the data of the job are inconsistent, alone or with other jobs. For calls between
 * events, and at the end of a transition. */
void trib_job_check(const struct trib_jobs *jobs, const struct trib_job *job);
/* The same for all jobs and the common data. Visits every rank; for tests. */
void trib_jobs_check(const struct trib_jobs *jobs);
/* recall.c */
/* Ends the incarnation of a communicator with a grant, because of `lost`. All ranks get RECALL, and are expected back.
 * If a dispute is not settled, the job ends instead, and may be gone. */
void trib_job_recall(struct trib_jobs *jobs, struct trib_job *job, const char *lost, uint64_t now_ns);
/* cut.c */
/* The session of a rank has ended without a message. True: the rank may come back, and all ranks are recalled. False:
 * the rank is dead; nothing has changed. */
bool trib_job_cut(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* Rank `index` has come back. */
void trib_job_heal(const struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* The cut rank has not come back in time: ends the job by the death of that rank. */
void trib_job_end_cut(struct trib_jobs *jobs, struct trib_job *job);
/* True if the message has crossed a RECALL, and so has no effect. JOIN, which answers RECALL, has an effect, and so has
 * ABORT, as no JOIN follows. */
bool trib_job_drops(struct trib_jobs *jobs, const struct trib_session *session, const struct trib_message *message);
/* Frees the place of a recalled session, which then joins like a new one. */
void trib_job_leave_place(struct trib_session *session);

/* marks.c: the marks of ranks, and M. */

/* The mark of rank `index` goes to where the job is summed. */
void trib_job_tell_places(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* Passes a rank's mark to the agents, and answers M. False: out of turn. */
bool trib_job_take_mark(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark);
/* Sends M to the ranks that have sent a mark above the earlier M, and releases ranks that only wait to leave; not
 * before READY. Packets also raise M, unseen from here. So M is read again, at growing intervals, while a rank
 * waits. */
void trib_job_update_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* The same, where no rank has left or is about to since, without a look at each rank if M has not risen. */
void trib_job_look_at_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* Ends the job without an error if all ranks have sent CLOSE: then no rank needs anything any more. */
bool trib_job_close_if_all(struct trib_jobs *jobs, struct trib_job *job);
/* Rank `index`, which has sent CLOSE, is back from behind a lost switch. The session replaces the rank's old session
 * and waits for CLOSED. */
void trib_job_await_closed(struct trib_jobs *jobs, struct trib_job *job, struct trib_session *session, uint32_t index,
                           uint64_t now_ns);

/* join.c: the rules of JOIN. */

/* True if the ranks of the scheme send to each other, and to no switch. */
bool trib_join_has_peers(const char *scheme);
/* True for a JOIN of such a scheme, or of a rank that was told to join a ring. */
bool trib_join_is_of_peers(const struct trib_message *join);
/* stall.c: STALL of rank `index`. The job may be gone afterwards. */
void trib_job_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                    uint64_t now_ns);
/* An agent has answered for the sequence: sends the missing ranks to all waiting ranks, if no other agent is still
 * asked. False: the job has ended. */
bool trib_job_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns);
/* dispute.c: OPERATION of rank `index`, and the timeout for OPERATION. The job may be gone afterwards. */
void trib_job_operation(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                        const struct trib_message *message);
void trib_job_end_dispute(struct trib_jobs *jobs, struct trib_job *job);
/* Asks whether the two ranks run different operations at the sequence, unless two ranks are in dispute, or asked,
 * already. */
void trib_job_question(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                       uint64_t now_ns);
/* Two ranks are reported to run different operations: asks both, once. */
void trib_job_dispute(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                      uint64_t now_ns);
/* Takes a JOIN; answers at once if the JOIN must be refused. */
void trib_job_join(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                   uint64_t now_ns);
/* All ranks are there: admits the communicator and asks the agents to open roots, or fails the communicator with the
 * numbers. If an agent elsewhere is away, the job waits; the call is repeated when the agent is there. */
void trib_job_start(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);

/* begin.c: bytes of a communicator with this number of ranks. */
size_t trib_job_size(uint32_t ranks);
/* False: the address or the key of the JOIN has begun too many jobs. error: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_job_may_begin(const struct trib_jobs *jobs, const struct trib_address *from, const struct trib_message *join,
                        char *error);

/* differ.c: ranks with different settings. Writes the settings in which the JOIN and the job's ranks differ. The job
 * must have ranks. False: no difference. */
bool trib_job_differs(const struct trib_job *job, const struct trib_message *join, char *error);
/* A rank has come: notes the differences between the job and siblings, if any. */
void trib_job_note_siblings(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* The job is complete: ends the siblings. */
void trib_job_prevail(struct trib_jobs *jobs, const struct trib_job *job);
/* True if the job and its siblings may have to end now. */
bool trib_job_is_to_part(const struct trib_job *job, uint64_t now_ns);
/* Ends the jobs that are due to part. */
void trib_jobs_part(struct trib_jobs *jobs, uint64_t now_ns);

/* threshold.c: all ranks are there. False: RING was sent to the ranks that must form a ring and have not joined as
 * ranks of a ring; the job may be gone. */
TRIB_MUST_USE bool trib_job_settles_ring(struct trib_jobs *jobs, struct trib_job *job);

/* admission.c: the arithmetic. */

/* False, with the numbers in error: not one packet of each child has room. Of schemes with caps; others send one all
 * the same. */
bool trib_admission_has_room(struct trib_jobs *jobs, const struct trib_job *job, char *error);
/* Chooses window, train and slots of a new communicator, so that the packets in flight from the children of all jobs
 * fit receive_room, and the room of switches below. True: the limit has reduced the window. */
bool trib_admission_window(struct trib_jobs *jobs, struct trib_job *job);
/* True if both send to root 0 of one switch from the same address and port, and so are one process. */
bool trib_rank_is_same_process(const struct trib_rank *a, const struct trib_rank *b);
/* Hash of the process: equal for two ranks of one process; not 0. */
uint32_t trib_rank_process(const struct trib_rank *rank);
/* Bytes held by one socket that receives from the job's children: a socket of a shard here, of a root, or of a rank.
 * NULL: of any job, at a switch. */
uint32_t trib_admission_socket(const struct trib_jobs *jobs, const struct trib_job *job);
/* Bytes in flight to a shard here that one more job may have (master NULL), or all jobs of `master`; not 0. */
uint32_t trib_admission_room(struct trib_jobs *jobs, const struct trib_master *master);
/* hosts.c: ranks that are summed on their host. Only the leader of a host sends. */

/* All ranks are there: makes hosts the members, if all ranks want level 0 and each host has a run of ranks. */
void trib_job_choose_hosts(struct trib_job *job);
/* True if the rank sends packets. */
static inline bool trib_job_leads(const struct trib_job *job, uint32_t rank)
{
    return job->hosts == 0 || trib_rank_set_has(&job->leaders, rank);
}

/* True if the two ranks are summed on the host of `rank`. */
bool trib_job_share_host(const struct trib_job *job, uint32_t rank, const uint32_t two[2]);

/* The leader: the first rank of the host of `rank`. */
uint32_t trib_job_leader(const struct trib_job *job, uint32_t rank);

/* Ranks or hosts. */
static inline uint32_t trib_job_members(const struct trib_job *job)
{
    return job->hosts != 0 ? job->hosts : job->settings.ranks;
}

/* meeting.c: all ranks are there: sets job->meeting. */
void trib_job_choose_meeting(const struct trib_jobs *jobs, struct trib_job *job);
/* Address of this switch for a rank that came through switches below, or in scheme rina of one on the rank's own host;
 * len 0: it came directly, the scheme has no detour, or the rank cannot find this switch by any known address. */
struct trib_address trib_job_server_towards(const struct trib_jobs *jobs, const struct trib_job *job,
                                            const struct trib_session *session);
/* Lowers the window in the grant of a job that comes from a lost switch, as the roots here may hold less. */
void trib_admission_shrink(struct trib_jobs *jobs, struct trib_job *job);
/* opening.c: the source address of the rank's packets to root t, which is also the address of the rank's t-th root. The
 * port is meaningless. */
struct trib_address trib_rank_place(const struct trib_rank *rank, uint32_t root);
/* Number of the rank's network cards. */
static inline uint32_t trib_rank_places(const struct trib_rank *rank)
{
    return rank->places.count > 0 ? rank->places.count : 1;
}

/* The data plane's view of the communicator. */
void trib_job_session(const struct trib_job *job, struct trib_session_config *session);

#endif
