/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: the decisions of the control plane: which ranks join, and the grant, the start and the end of each
 * communicator. No sockets, no clock, no threads: messages come in by trib_jobs_receive, go out by the two calls of
 * struct trib_jobs_output, and time is an argument. admission.c holds the arithmetic of windows, slots and quotas.
 *
 * A communicator is a struct trib_job; the job that owns it, with others, is a struct trib_owner (owner.h). A
 * communicator's states: JOINING (ranks come, or come back after a restart of the switch) -> PLACING (all are there;
 * its agents open their roots) -> STARTING (all have got WELCOME; paths are tried, ranks register) -> RUNNING (all have
 * got READY) -> gone. A communicator ends when all ranks have sent CLOSE, or by trib_job_fail, which tells every rank
 * the same cause. Nothing of it stays behind. The loss of a switch below, or of an agent, ends an incarnation and not
 * the communicator (trib_job_recall). All ranks then come back to JOINING, on their old sessions where these stand.
 * Each incarnation has a boot id of its own. Read next: jobs.c, then connections.h (the sessions that members are),
 * server.c (the owner of both). */
#ifndef TRIB_CONTROL_JOBS_H
#define TRIB_CONTROL_JOBS_H

#include "control/agents/remote.h"
#include "control/roots/masters.h"
#include "control/server.h"
#include "control/words/ranks.h"
#include "io/log.h"
#include "schemes/schemes.h"

#define TRIB_JOBS_MAX 1024
#define TRIB_JOBS_NEAR_MAX (TRIB_JOBS_MAX / 4 * 3) /* that one address, or one key, may have begun, at a switch */
/* Of jobs that gather, which one address may have begun. Some 17 of 1,024 ranks, or 280 of 64. */
#define TRIB_GATHERING_MAX (UINT64_C(64) << 20)
#define TRIB_GATHERING_TENANT_MAX (4 * TRIB_GATHERING_MAX) /* the same of one key */
#define TRIB_CUT_NS (TRIB_SECOND_NS / 2) /* that a rank with a key has to come back when its session ends */
#define TRIB_LENDERS_MAX TRIB_OTHERS_MAX
#define TRIB_TABLE_SIZE 256 /* of hash tables */

struct trib_job;

/* A session as the jobs see it: of a rank, or of a controller elsewhere. Part of its connection. job is NULL before
 * JOIN, and again when the session has been let go. */
struct trib_session {
    struct trib_job *job;
    struct trib_master *master; /* NULL: it has not said CONTROL */
    struct trib_remote *leaf;   /* the switch below that the session came to; NULL: here */
    uint32_t rank;
    struct trib_address peer;  /* as the switch sees it that the session came to */
    struct trib_address local; /* where it reached that switch; len 0: unknown */
};

/* A waiting rank reports once a second, or a little later: older than two reports is of the past. */
#define TRIB_STALL_FRESH_NS (5 * TRIB_SECOND_NS / 2)

/* The latest STALL of a rank. */
struct trib_stall {
    uint64_t sequence;
    uint64_t at_ns; /* 0: none */
    uint32_t since_ms;
    bool is_open;                  /* not answered yet: an agent is being asked */
    uint16_t silent;               /* rank on a ring that acknowledges nothing to this one; UINT16_MAX: none */
    struct trib_rank_list missing; /* as far as it is known here */
    char where[128];               /* nobody is missing behind that switch, yet nothing comes from it; "": none such */
};

struct trib_rank {
    struct trib_session *session; /* NULL: not there, or left */
    struct trib_address address;  /* of its session */
    struct trib_address seat;     /* of the switch below through which the sums come here; len 0: none */
    char name[64];                /* the same as text; "": it was never there */
    uint64_t via;                 /* identity of the switch below that the rank has come to; 0: here */
    uint32_t below;               /* 1 + place of the switch in job->below, while it has one; 0: none */
    uint32_t known_boot;          /* of the grant that it brought along */
    uint32_t known_group;         /* likewise, of a rank at a switch below */
    uint16_t known_group_port;
    uint32_t branch;    /* which child it is, or is behind */
    uint32_t roots;     /* the least of the rank and of switches on its way; 0: no limit */
    uint32_t room;      /* bytes in one socket of its root; 0: it has none */
    uint16_t root_port; /* where its process can be a root; 0: it cannot */
    uint16_t meet_port; /* of rank 0: where ranks meet if the switch is gone for good; 0: nowhere */
    uint8_t weight;     /* that it wishes for as a root */
    uint64_t host;      /* 0: unknown */
    bool wants_level0;
    struct trib_stall stall;
    uint64_t mark;     /* the highest it has told us */
    uint64_t told;     /* the highest M that we have told it */
    uint64_t achieved; /* bytes per second, by its latest PROGRESS; 0: none yet */
    uint16_t data_port[TRIB_ROOTS_MAX];
    uint16_t subnet[TRIB_ROOTS_MAX]; /* of each card: 1 + its place (trees.c); UINT16_MAX: none; 0: not looked up */
    struct trib_address_list places; /* of its packets, by root in turn; none: `address` */
    bool is_new;                     /* it brought no grant along */
    bool was_ready;                  /* it has seen a READY with its grant, and so has tried its paths */
    bool wants_multicast;
    bool has_paths;     /* PATHS has come, or was not needed */
    bool has_multicast; /* as it reported */
    bool is_registered;
    bool is_closing;   /* CLOSE has come */
    bool is_ring;      /* it joined as a rank of a ring, after RING */
    bool has_left;     /* CLOSED was sent, or the rank is gone: it does not come back */
    bool is_outside;   /* back for CLOSED alone: without WELCOME, and no other message goes there */
    bool is_recalled;  /* it was told to come back (RECALL), and has not: its session keeps the place */
    bool has_given_up; /* it waited for others before WELCOME, for its own limit, and has left: none waits for it */
};

/* Two ranks of one slot said to run different operations (I10), until both have named theirs. */
struct trib_dispute {
    bool is_question; /* no rank has reported a dispute, but all ranks wait: the dispute may be none */
    uint64_t sequence;
    uint64_t deadline_ns; /* 0: no dispute */
    uint32_t rank[2];
    char text[2][256];
};

/* How an agent hears its controller: by calls in this process, by messages on its own session, or by messages on the
 * session of its rank. */
enum trib_carrier { TRIB_CARRIER_CALL = 0, TRIB_CARRIER_REMOTE, TRIB_CARRIER_RANK };

/* An agent that has roots of a communicator (placements.h). */
struct trib_placement {
    enum trib_carrier carrier;
    uint16_t rank;              /* CARRIER_RANK */
    struct trib_remote *remote; /* CARRIER_REMOTE */
    uint64_t asked;             /* sequence of the question which ranks are missing, while is_asked */
    bool is_asked;
    uint8_t opened; /* of its roots: so many ROOT_OPENED have come */
    bool is_ready;  /* ROOT_READY has come */
    /* The latest answer on missing ranks, but of an agent in this process. */
    uint64_t answered_ns; /* 0: none */
    uint64_t answered;    /* sequence */
    struct trib_rank_list lacks;
    /* CARRIER_REMOTE, while the job's slots are open: the list of this agent, remote->served. */
    struct trib_job *job;
    struct trib_placement *next;
    struct trib_placement **back; /* NULL: in no list */
};

/* A switch below that sums for some ranks of a communicator, all roots, and sends to its parent. */
struct trib_inner {
    struct trib_placement placement; /* remote NULL: lost, and its ranks need nothing any more */
    uint32_t children;               /* at most, of all roots */
    uint16_t parent[TRIB_ROOTS_MAX]; /* by root: 1 + place of its parent in job->below; 0: the place of the root */
    uint64_t told;                   /* M of the latest ROOT_MARK */
    uint32_t group;                  /* for results to ranks that are children here; 0: none */
    uint16_t group_port;
    bool multicast;
};

struct trib_root_place {
    uint8_t placement; /* index */
    uint8_t shard;     /* of that agent */
};

enum trib_job_state { TRIB_JOB_NONE = 0, TRIB_JOB_JOINING, TRIB_JOB_PLACING, TRIB_JOB_STARTING, TRIB_JOB_RUNNING };

struct trib_link_load; /* choose.h */

/* The process of a rank, in a list of those with one hash (roots/processes.h). */
struct trib_process {
    struct trib_process *next;
    struct trib_job *job; /* NULL: it is in no list */
    uint32_t hash;        /* 0: unknown */
    /* Of the first entry of a process: bytes that this search has counted. */
    uint64_t search;
    uint64_t bytes;
};

struct trib_job {
    struct trib_job *next;
    struct trib_job **back;      /* points to this job in that list */
    struct trib_job *next_named; /* of jobs with the same hash of the name */
    struct trib_job *next_found; /* of jobs with the same hash of the communicator */
    uint32_t queue_at;           /* its place in jobs->queue */
    uint64_t queue_ns;           /* its time there: not later than trib_job_timeout */
    uint64_t looked;             /* jobs->looks when it was due last */
    struct trib_owner *owner;    /* the job that this communicator is of (owner.h) */
    struct trib_job *next_owned; /* of the same job */
    uint32_t maker;              /* id of the communicator that this one was made of; 0: none */
    char name[TRIB_NAME_MAX + 1];
    char run[TRIB_NAME_MAX + 1]; /* which launch of that name; "": unknown */
    uint64_t key;                /* id of the key of its ranks; 0: none */
    enum trib_job_state state;
    bool is_return;                    /* re-created from the grants of its ranks */
    bool is_recalled;                  /* the ranks were told to come back; the job stayed here */
    bool was_running;                  /* some rank has, or may have, seen a READY: so all had got their WELCOME */
    bool is_open;                      /* its slots are open, or asked for */
    bool has_peers;                    /* its ranks send to each other (places.h) */
    bool is_ring;                      /* a switch made the ranks a ring, whatever their scheme is (threshold.c) */
    bool stays;                        /* below the threshold, and no ring: the log has the reason */
    bool multicast;                    /* results go by multicast */
    bool is_over;                      /* without a switch: a rank has left, and each of its operations has ended */
    char lost[256];                    /* is_recalled: the lost switch or agent */
    char cut_cause[128];               /* why the session of that rank has ended */
    uint32_t cut;                      /* 1 + the rank whose session was cut, and that may come back; 0: none */
    char differs[TRIB_ERROR_TEXT_MAX]; /* the latest difference between it and a sibling (differ.c); "": none */
    bool is_doomed;                    /* ends for `differs`, once all siblings are known */
    struct trib_address founder;       /* where the first of its ranks came from; len 0: a switch above knows */
    struct trib_settings settings;
    struct trib_grant grant;
    uint8_t packet_key[TRIB_AUTH_KEY]; /* of this incarnation of a job with a key; else 0 */
    uint32_t children; /* branches: ranks, hosts, and switches with ranks behind them; 0 before all are there */
    uint32_t hosts;    /* that are members of its sums (hosts.c); 0: the ranks are */
    struct trib_rank_set leaders;   /* the first rank of each host; 0 hosts: none */
    struct trib_agent_opening here; /* its slots in this process, if it has any */
    uint64_t started_ns;            /* when the first rank came */
    uint64_t deadline_ns;           /* of this state; TRIB_NEVER: none */
    uint64_t apart_ns;              /* its ranks are told then that the others have come to siblings; 0: never */
    uint64_t waits_ns;              /* since when its ranks or agents are waited for, until deadline_ns */
    uint64_t probe_ns;              /* when to try the multicast path next */
    uint64_t probe_gap_ns;
    uint64_t mark;     /* M when all ranks that waited for it were told */
    uint64_t marks_ns; /* when to look for a risen M next */
    uint64_t marks_gap_ns;
    uint64_t stall_logged_ns;
    uint64_t pinged_ns; /* last PING to agents elsewhere that sum for the job */
    struct trib_dispute dispute;
    struct trib_placement placement[TRIB_ROOTS_MAX];
    uint32_t placements;                         /* from `deal` until the slots are shut; 0: ranks send to each other */
    struct trib_root_place root[TRIB_ROOTS_MAX]; /* grant.roots of them */
    uint32_t ways;      /* that its places have, each of its own: as many trains share a tensor */
    bool misses_plan;   /* the log has said so (progress.h) */
    bool has_trees;     /* of several: grant.switches is right, and others follow it */
    uint64_t unlent_ns; /* since when an agent that it has chosen does not answer; 0: all do, or none is asked */
    uint64_t heard;     /* jobs->event that it was last told of */
    struct trib_job *next_waiting;  /* of jobs that wait for an agent */
    struct trib_job **waiting_back; /* points to this job in jobs->waiting; NULL: not in that list */
    struct trib_address meeting;    /* where ranks meet if the switch is gone for good; len 0: nowhere */
    bool is_chain;                  /* by its scheme, each root has a tree of its own (start.h) */
    struct trib_inner *below;       /* `belows` of them */
    uint32_t belows;
    struct trib_link_load *loads; /* put by its trees (roots/loads.h); NULL: none */
    uint32_t load_count;
    struct trib_job *next_stale;    /* of jobs whose loads may have changed */
    struct trib_job **stale_back;   /* points to this job in that list; NULL: it is not there */
    uint64_t found;                 /* jobs->search that has found it last */
    struct trib_process *processes; /* by rank */
    struct trib_rank ranks[];       /* settings.ranks of them */
};

/* Free-running, for metrics. */
struct trib_jobs_stats {
    uint64_t started;                      /* communicators that became READY */
    uint64_t closed;                       /* that ended by CLOSE of all ranks */
    uint64_t failed[-TRIB_ERR_CHECK + 1];  /* by -status */
    uint64_t refused[-TRIB_ERR_CHECK + 1]; /* joins answered with FAIL, by -status */
    uint64_t returned;                     /* of those started: came back after a restart */
    uint64_t recalled;                     /* incarnations that ended with a switch below */
    uint64_t stale;                        /* messages that had crossed a RECALL */
};

struct trib_owner;
struct trib_places; /* places.h */
struct trib_dealer;
struct trib_loads;

struct trib_jobs {
    struct trib_job *first;
    struct trib_owner *owners; /* each has a communicator in the list before */
    uint32_t owners_begun;
    struct trib_remote *leaves; /* usable switches below, and those that are being lost */
    uint32_t count;
    struct trib_agent agent; /* of this process: the shards of this switch, if it is one */
    uint32_t incarnation;    /* so many boot ids were given out, from config->boot on */
    const struct trib_server_config *config;
    const struct trib_places *agents; /* of jobs that agents sum (places.h) */
    const struct trib_dealer *dealer;
    const struct trib_places *peers; /* of jobs whose ranks send to each other */
    const struct trib_dealer *no_dealer;
    struct trib_masters masters; /* controllers elsewhere that have roots here */
    uint64_t event;              /* free-running: events of agents elsewhere (roots/switches.c) */
    /* Each job that has all its ranks and waits for an agent elsewhere; also jobs that have ceased to wait, until their
     * start or end. */
    struct trib_job *waiting;
    uint64_t life;            /* random, of this process */
    uint32_t room_changes;    /* of the agent, when masters were told of their room */
    uint64_t room_ns;         /* and when that was */
    uint64_t turn;            /* so often switches have been chosen: of equal ones another is the first each time */
    struct trib_loads *loads; /* of links, by all trees; NULL: no choice has been made */
    struct trib_process **processes; /* by hash (roots/processes.h); NULL: no job has begun yet */
    uint32_t processes_known;        /* so many are in that table */
    uint64_t search;                 /* free-running: searches by processes */
    uint64_t unlent_logged_ns;       /* of the last line about a lender that cannot be reached */
    struct trib_jobs_output output;
    struct trib_remote_output remotes;
    struct trib_remote_output below; /* of switches below; open and end are not used */
    struct trib_jobs_stats stats;
    struct trib_job *by_communicator[TRIB_TABLE_SIZE]; /* find.c */
    struct trib_job *by_name[TRIB_TABLE_SIZE];
    uint64_t looks;                        /* free-running: times that it was looked what is due */
    uint32_t queued;                       /* jobs in the queue: all */
    struct trib_job *queue[TRIB_JOBS_MAX]; /* a heap: the one that is due first is first */
    /* Agents elsewhere, as config->lenders names them. Last, since the memory of the others is never touched. */
    struct trib_remote remote[TRIB_LENDERS_MAX];
};

void trib_jobs_init(struct trib_jobs *jobs, const struct trib_server_config *config,
                    const struct trib_jobs_output *output);
/* Whether it has taken a JOIN and not let it go, or a CONTROL. */
static inline bool trib_session_is_joined(const struct trib_session *session)
{
    return session->job || session->master;
}

/* turn.c: may this be said there now? */
bool trib_session_is_in_turn(const struct trib_session *session, const struct trib_message *message);
/* How far the session of rank `index` has come, once there is a communicator to come back to. */
enum trib_stage trib_rank_stage(const struct trib_job *job, uint32_t index);

#define trib_jobs_say(jobs, ...) trib_output_say(&(jobs)->output, __VA_ARGS__)

/* Fails every communicator with this cause and frees all. */
void trib_jobs_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text);

/* Takes one message of a session. False: a message that has no business here; the session must end (trib_jobs_gone). */
bool trib_jobs_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                       uint64_t now_ns);
/* ping.c: PING or PONG has come. */
void trib_jobs_ping(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns);
/* The rank of a joined session has asked: the switches that it waits for are asked in turn. */
void trib_jobs_pinged(struct trib_jobs *jobs, struct trib_session *session, uint64_t now_ns);
/* The rank is at fault: as if it had died. The session is the caller's to end. */
void trib_jobs_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* The session has ended (its connection closed, broke, or was cut for `cause`). The caller frees it afterwards. */
void trib_jobs_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* A slot saw two operations under one sequence. */
void trib_jobs_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2],
                        uint64_t now_ns);
/* How many sessions still need this control plane. */
void trib_jobs_duties(const struct trib_jobs *jobs, struct trib_server_duties *duties);
uint64_t trib_jobs_next_timeout(struct trib_jobs *jobs);
void trib_jobs_on_timeout(struct trib_jobs *jobs, uint64_t now_ns);

/* For jobs.c and its parts. */

/* value, but no more than limit; 0: there is no limit. */
static inline uint32_t trib_least(uint32_t value, uint32_t limit)
{
    return limit != 0 && limit < value ? limit : value;
}

/* The scheme that sums it. */
static inline const char *trib_job_scheme(const struct trib_job *job)
{
    return job->is_ring ? TRIB_SCHEME_RING : job->settings.scheme;
}

/* find.c: which job, and when. */

struct trib_job *trib_jobs_find_communicator(const struct trib_jobs *jobs, uint32_t communicator);
/* The first of a list, by next_named, that has all jobs of this name, and perhaps others, the youngest first. */
struct trib_job *trib_jobs_named(const struct trib_jobs *jobs, const char *name);
/* The job is the one of this grant. Its communicator is changed by nothing else. */
void trib_job_take_grant(struct trib_jobs *jobs, struct trib_job *job, const struct trib_grant *grant);
/* When there is something to do for it. */
uint64_t trib_job_timeout(const struct trib_job *job);
/* This may be earlier than it was. */
void trib_job_queue(struct trib_jobs *jobs, struct trib_job *job);
/* The job with the earliest time; NULL: there is none. */
struct trib_job *trib_jobs_next_due(struct trib_jobs *jobs);
/* The job waits for an agent: puts it into jobs->waiting, if it is not there. */
void trib_job_wait(struct trib_jobs *jobs, struct trib_job *job);
/* Takes the job out of jobs->waiting, if it is there. */
void trib_job_stop_waiting(struct trib_job *job);
/* Into the list of all jobs, where it is first, and out of it. */
void trib_jobs_add(struct trib_jobs *jobs, struct trib_job *job);
void trib_jobs_remove(struct trib_jobs *jobs, struct trib_job *job);

/* job.c: one communicator. */

/* "rank 2 (10.0.0.3:41234)". text: 96 bytes. */
char *trib_job_name_rank(const struct trib_job *job, uint32_t rank, char *text);
/* JOINING, and it has lost all that had joined: nobody is expected any more. */
bool trib_job_is_empty(const struct trib_job *job);
/* True if all ranks of the job are there, and have said JOIN. */
bool trib_job_is_complete(const struct trib_job *job);
/* Its lowest rank that is there, or else its last. */
uint32_t trib_job_first_rank(const struct trib_job *job);
/* To the next state, of those that may follow. */
void trib_job_enter(struct trib_job *job, enum trib_job_state state);
/* Ends a session, behind all messages to it. */
void trib_rank_let_go(struct trib_jobs *jobs, struct trib_rank *rank);
/* Of a job that runs, or is about to: to a rank that takes part, and so neither is gone nor waits outside. */
void trib_rank_tell(const struct trib_jobs *jobs, const struct trib_rank *rank, const struct trib_message *message);
/* CLOSED to a rank, which needs nothing any more, and the end of its session. */
void trib_rank_send_closed(struct trib_jobs *jobs, struct trib_rank *rank);
/* Tells every rank the cause (FAIL; CLOSED to one that is closing), ends their sessions, frees the communicator. */
void trib_job_fail(struct trib_jobs *jobs, struct trib_job *job, enum trib_status status, const char *text);
/* Closes its slots, wherever they are. */
void trib_job_close_plane(struct trib_jobs *jobs, struct trib_job *job);
/* Its sessions are gone, or have been told. */
void trib_job_free(struct trib_jobs *jobs, struct trib_job *job);
/* check.c: ends the program where the data of this job contradict themselves or those of others. Between events, and at
 * the end of a transition. */
void trib_job_check(const struct trib_jobs *jobs, const struct trib_job *job);
/* The same for all jobs and their common data. It visits every rank, so it is for tests. */
void trib_jobs_check(const struct trib_jobs *jobs);
/* recall.c */
/* Ends this incarnation of a communicator with a grant, because of `lost`, and expects all ranks back, which get
 * RECALL. If a dispute is not settled, the job ends instead, and may be gone. */
void trib_job_recall(struct trib_jobs *jobs, struct trib_job *job, const char *lost, uint64_t now_ns);
/* cut.c */
/* The session of a rank has ended without a word. True: the rank may come back, and all ranks are recalled. False: that
 * is its death; nothing has changed. */
bool trib_job_cut(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* Rank `index` has come back. */
void trib_job_heal(const struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* The rank does not come back: the job ends with its death. */
void trib_job_end_cut(struct trib_jobs *jobs, struct trib_job *job);
/* True if the message has crossed a RECALL, and so has no effect. JOIN, which answers RECALL, has an effect, and so has
 * ABORT, as no JOIN follows. */
bool trib_job_drops(struct trib_jobs *jobs, const struct trib_session *session, const struct trib_message *message);
/* Frees the place of a recalled session, which then joins like a new one. */
void trib_job_leave_place(struct trib_session *session);

/* marks.c: the marks of ranks, and M. */

/* The mark of rank `index` goes to where the job is summed. */
void trib_job_tell_places(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* A mark that a rank tells goes there, and M comes back. False: out of turn. */
bool trib_job_take_mark(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark);
/* Tells M to the ranks that wait for it (they have told a mark that M had not reached), and lets those go that only
 * wait to leave; not before READY. M also rises by packets, unseen from here: so it is looked at again, at growing
 * distance, while anybody waits. */
void trib_job_update_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* The same, where no rank has left or is about to since, without a look at each rank if M has not risen. */
void trib_job_look_at_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* Have all ranks sent CLOSE? Then nobody can need anything any more: ends the job well. */
bool trib_job_close_if_all(struct trib_jobs *jobs, struct trib_job *job);
/* Rank `index`, which has sent CLOSE, is back from behind a lost switch: this session waits for CLOSED, in the place of
 * its old one. */
void trib_job_await_closed(struct trib_jobs *jobs, struct trib_job *job, struct trib_session *session, uint32_t index,
                           uint64_t now_ns);

/* join.c: the rules of JOIN. */

/* Do the ranks of this scheme send to each other, and to no switch? */
bool trib_join_has_peers(const char *scheme);
/* And does this JOIN, of such a scheme, or of a rank that has been told to be one of a ring? */
bool trib_join_is_of_peers(const struct trib_message *join);
/* stall.c: STALL of rank `index`. The job may be gone afterwards. */
void trib_job_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                    uint64_t now_ns);
/* An agent has answered which ranks are missing on this sequence: tells all ranks that wait to know, if no other agent
 * is still asked. False: the job has ended. */
bool trib_job_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns);
/* dispute.c: OPERATION of rank `index`, and the end of waiting for it. The job may be gone afterwards. */
void trib_job_operation(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                        const struct trib_message *message);
void trib_job_end_dispute(struct trib_jobs *jobs, struct trib_job *job);
/* Whether these two run different operations there; unless two are in dispute, or asked, already. */
void trib_job_question(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                       uint64_t now_ns);
/* Two of its ranks are said to run different operations: asks both, once. */
void trib_job_dispute(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                      uint64_t now_ns);
/* Takes a JOIN; answers at once where it must be refused. */
void trib_job_join(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                   uint64_t now_ns);
/* All ranks are there: admits the communicator, and asks its agents to open their roots; or fails it with the numbers.
 * Waits where an agent elsewhere is away: is called again when that is there. */
void trib_job_start(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);

/* begin.c: bytes of a communicator of so many ranks. */
size_t trib_job_size(uint32_t ranks);
/* False: the address that the JOIN is from, or its key, has begun enough jobs. error: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_job_may_begin(const struct trib_jobs *jobs, const struct trib_address *from, const struct trib_message *join,
                        char *error);

/* differ.c: ranks with different settings. Writes in which settings this JOIN and the job's ranks differ. The job has
 * ranks. False: in none. */
bool trib_job_differs(const struct trib_job *job, const struct trib_message *join, char *error);
/* A rank has come: notes the differences between the job and its siblings, if it has any. */
void trib_job_note_siblings(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* The job has all its ranks: its siblings end. */
void trib_job_prevail(struct trib_jobs *jobs, const struct trib_job *job);
/* True if the siblings of the job may have to end with it now. */
bool trib_job_is_to_part(const struct trib_job *job, uint64_t now_ns);
/* Ends the jobs that are due to part. */
void trib_jobs_part(struct trib_jobs *jobs, uint64_t now_ns);

/* threshold.c: all ranks are there. False: those who are to be a ring, and have not come as ranks of it, were told to;
 * the job may be gone. */
TRIB_MUST_USE bool trib_job_settles_ring(struct trib_jobs *jobs, struct trib_job *job);

/* admission.c: the arithmetic. */

/* False, with the numbers in error: not one packet of each child has room. Of schemes with caps; others send one all
 * the same. */
bool trib_admission_has_room(struct trib_jobs *jobs, const struct trib_job *job, char *error);
/* Chooses window, train and slots of a new communicator, so that what the children of all jobs have on their way fits
 * receive_room, and the room of switches below. True: the window was cut by that. */
bool trib_admission_window(struct trib_jobs *jobs, struct trib_job *job);
/* Do both send from the same port of the same address to root 0 of one switch, so that one process does? */
bool trib_rank_is_same_process(const struct trib_rank *a, const struct trib_rank *b);
/* The same for both if they do; not 0. */
uint32_t trib_rank_process(const struct trib_rank *rank);
/* Bytes that one socket holds that this job's children send to: a shard's here, a root's, a rank's. NULL: any job's, at
 * a switch. */
uint32_t trib_admission_socket(const struct trib_jobs *jobs, const struct trib_job *job);
/* Bytes that one more job may have on its way to a shard here, or all jobs of `master` (NULL: one of this controller);
 * not 0. */
uint32_t trib_admission_room(struct trib_jobs *jobs, const struct trib_master *master);
/* hosts.c: ranks that are summed on their host. Only the leader of a host sends. */

/* All ranks are there: are hosts to be the members? Only if all ranks want it, and each host's are a run of ranks. */
void trib_job_choose_hosts(struct trib_job *job);
/* Does this rank send packets? */
static inline bool trib_job_leads(const struct trib_job *job, uint32_t rank)
{
    return job->hosts == 0 || trib_rank_set_has(&job->leaders, rank);
}

/* Are these two summed on the host of this rank? */
bool trib_job_share_host(const struct trib_job *job, uint32_t rank, const uint32_t two[2]);

/* The rank that sends for this one: the first of its host. */
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
/* A job that comes from a switch: the roots here may hold less than that did. Lowers the window of its grant. */
void trib_admission_shrink(struct trib_jobs *jobs, struct trib_job *job);
/* opening.c: the address that this rank's packets to root t come from, and that its own t-th root is at; without a port
 * that means anything. */
struct trib_address trib_rank_place(const struct trib_rank *rank, uint32_t root);
/* Network cards of this rank. */
static inline uint32_t trib_rank_places(const struct trib_rank *rank)
{
    return rank->places.count > 0 ? rank->places.count : 1;
}

/* The data plane's view of the communicator. */
void trib_job_session(const struct trib_job *job, struct trib_session_config *session);

#endif
