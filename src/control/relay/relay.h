/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h: the control plane of a switch that is the child of another. It decides next to nothing: ids, window,
 * membership, death and errors are the business of the root's control plane (jobs.h). For every session from below the
 * relay has a link: a channel on its connection to the parent's control plane. The relay passes messages on, both ways,
 * and reads them to open, feed and drop its own nodes. To a rank a relay looks like a root. The parent sees ranks, and
 * the switches on their way. Relays nest.
 *
 * What it adds, and what it changes on the way, is in docs/PROTOCOL.md ("Relays"). When a link ends without a word, the
 * parent, or something above it, is lost: all sessions of that communicator are ended without a word, and the ranks
 * come back. When a session ends without a word, its rank has died (GONE), or, if it came over another relay, that one
 * is lost (GONE, lost). As in jobs.h: no sockets, no clock, no threads. Read next: relay.c (what passes), relay_job.c
 * (the communicators), uplinks.h (the connections). */
#ifndef TRIB_CONTROL_RELAY_H
#define TRIB_CONTROL_RELAY_H

#include "control/jobs/jobs.h"

/* One session from below on its way up. It lies in its connection to the parent, and is the relay's from `open` to
 * `end`. */
struct trib_link {
    struct trib_link *next;
    struct trib_session *down; /* NULL: its rank is gone, and has something to say yet (trib_relay_leave) */
    struct trib_session place; /* the rank's in its job, whether its session stands or not */
    struct trib_job *job;      /* NULL before WELCOME */
    struct trib_message join;  /* as it came; the rank's place in its job is made of it */
    bool is_up;                /* the JOIN has left */
    bool is_started;           /* WELCOME was passed on */
    bool is_closing;           /* CLOSE was passed on: its end is no surprise */
    bool is_ending;            /* FAIL or GONE was: nothing more is */
    bool holds_paths;          /* PATHS waits for our own path to the parent */
    bool holds_register;       /* and REGISTER behind it */
    bool holds_close;          /* and CLOSE, which came before REGISTER was passed on */
    uint64_t held_mark;
    uint32_t burials; /* as in struct trib_rank */
};

static inline bool trib_link_is_leaving(const struct trib_link *link)
{
    return link->is_closing || link->is_ending;
}

/* What the relay asks of its driver, beside struct trib_jobs_output. None calls back. */
struct trib_relay_output {
    void *owner;
    /* Begins to connect to the parent. What becomes of it is told by trib_relay_connected or _lost. NULL: out of
     * memory. */
    struct trib_link *(*open)(void *owner);
    void (*send)(void *owner, struct trib_link *link, const struct trib_message *message);
    /* Nothing more will be sent or told: end the connection when what was sent has left. The link is the driver's
     * again. */
    void (*end)(void *owner, struct trib_link *link);
    /* Ask the parent whether it still reads (control/words/ping.h); if it does not, the link is lost. */
    void (*ping)(void *owner, struct trib_link *link);
};

struct trib_relay {
    struct trib_link *first;
    struct trib_relay_output output;
    uint64_t via;    /* identity of this switch: one for all links */
    char name[64];   /* of this switch, as its parent sees it */
    char parent[64]; /* of the parent */
    /* A parent that did not answer is asked by one link at a time; the others are told what that has heard. */
    char away[TRIB_ERROR_TEXT_MAX]; /* why it was away the last time; "": it was there */
    uint64_t away_ns;               /* it is not asked again before */
    const struct trib_link *scout;  /* that is asking it now */
};

void trib_relay_init(struct trib_relay *relay, const struct trib_server_config *config, uint64_t via,
                     const struct trib_relay_output *output);
/* local: this switch's address on the way to its parent, which is its name from now on. Its port does not count. */
void trib_relay_locate(const struct trib_jobs *jobs, const struct trib_address *local);
/* Tells all above and below the cause, and frees all. */
void trib_relay_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text);

/* From below; jobs.c calls them in the place of its own: see trib_jobs_receive, _expel, _gone, _mismatch there. */
bool trib_relay_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                        uint64_t now_ns);
void trib_relay_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause);
void trib_relay_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause);
void trib_relay_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2]);

/* PING has come from below: the parent is asked as well. */
void trib_relay_pinged(const struct trib_jobs *jobs, struct trib_link *link);
/* PING has come from above: so is a relay below. */
void trib_relay_pinged_from_above(const struct trib_jobs *jobs, const struct trib_link *link);

/* From above. The connection of the link stands; local: this end of it. */
void trib_relay_connected(struct trib_jobs *jobs, struct trib_link *link, const struct trib_address *local);
void trib_relay_answer(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                       uint64_t now_ns);
/* It never stood, or has ended. is_foreign: who answers there is no switch. */
void trib_relay_lost(struct trib_jobs *jobs, struct trib_link *link, const char *cause, bool is_foreign,
                     uint64_t now_ns);

/* relay_job.c. */

void trib_relay_send_up(const struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message);
/* To nobody, if its rank is gone. */
void trib_relay_send_down(const struct trib_jobs *jobs, const struct trib_link *link,
                          const struct trib_message *message);
/* WELCOME has come on this link: with the last one the communicator is opened. The link may be gone afterwards. */
void trib_relay_welcome(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                        uint64_t now_ns);
/* PATHS and REGISTER from below. False: no mark, or a second one while the first waits. */
void trib_relay_paths(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                      uint64_t now_ns);
bool trib_relay_register(struct trib_jobs *jobs, struct trib_link *link, uint64_t mark);
/* The rank of this link is gone; `gone` says so above. REGISTER and CLOSE, if still due, are said for the rank before.
 * For this the link stays until WELCOME has come: other ranks may have their WELCOME, and count on this rank. */
void trib_relay_leave(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *gone);
/* READY has come: says in it how results travel from here. */
void trib_relay_ready(struct trib_jobs *jobs, struct trib_job *job, struct trib_message *message);
/* This switch cannot carry the communicator: the root will tell everybody. */
void trib_relay_refuse(struct trib_jobs *jobs, const struct trib_job *job, enum trib_status status, const char *text);
/* The incarnation is over. lost: a switch below is, as the parent is told; NULL: one above. */
void trib_relay_drop(struct trib_jobs *jobs, struct trib_job *job, const char *lost);
void trib_relay_job_on_timeout(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* Ends both sides of a link, and with the last one its communicator. last: passed down before; NULL: not a word. */
void trib_relay_remove(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *last);

#endif
