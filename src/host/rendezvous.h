/* SPDX-License-Identifier: Apache-2.0 */
/* rendezvous.h: what the ranks of a host say to each other until they share memory. For the files of src/host alone.
 *
 *   rank 0 listens at an abstract name made of user and job: it vanishes with the process, and is one per network
 *   namespace. rank r connects, and says HELLO: who it is, its settings, and the line to its inbox. rank 0, when all
 *   have said so, stops listening, makes the memory file, and answers each: WELCOME with the file, then LINES with
 *   those of all other ranks. REFUSED instead, with a text, ends it. All map the file, and pass a barrier in it; then
 *   the connections are closed: rank 0 is a rank like any other.
 * Two that say they are one rank end it for all: they are of two runs of one name, and nothing tells them apart.
 * A rank of another run, as the launchers name them, is sent away (OTHER_RUN), and comes again: two such runs meet one
 * after the other. A rank that leaves before its WELCOME frees its place; a rank whose rank 0 leaves before that looks
 * for another one.
 * Read next: hello.c, gather.c (rank 0), rendezvous.c (the others, and the end of both). */
#ifndef TRIB_HOST_RENDEZVOUS_H
#define TRIB_HOST_RENDEZVOUS_H

#include "host/passing.h"
#include "host/segment.h"

#define TRIB_HELLO_MAGIC UINT64_C(0x6f6c6c6568627274)
#define TRIB_HELLO_WIRE 3 /* where numbers has it */
#define TRIB_HELLO_NUMBERS 4

/* One message each, as memory: both ends run on one machine, and the version says how it is laid out. */
struct trib_hello {
    uint64_t magic;
    uint32_t version;
    uint32_t rank;
    uint32_t numbers[TRIB_HELLO_NUMBERS]; /* ranks, payload, window, wire */
    char scheme[32];
    char run[TRIB_NAME_MAX + 1];
};

enum trib_answer_kind { TRIB_ANSWER_WELCOME = 1, TRIB_ANSWER_LINES, TRIB_ANSWER_REFUSED, TRIB_ANSWER_OTHER_RUN };

struct trib_answer {
    uint32_t kind; /* enum trib_answer_kind */
    int32_t status;
    uint32_t first; /* LINES: of the descriptors of this message, those of ranks from here on but the receiver's own */
    char text[TRIB_ERROR_TEXT_MAX];
};

struct trib_rendezvous {
    struct trib_host *host;
    const struct trib_config *config;
    uint64_t waits_ns; /* since when, for errors */
    uint64_t deadline_ns;
    const atomic_bool *doomed; /* NULL: nobody says so */
    char *error;
    bool has_met_other_run; /* under this name, and error says so */
    int own_line;           /* to be given to the others */
};

/* Nobody waits longer than this without looking whether it is in vain. */
#define TRIB_MEETING_LOOK_NS UINT64_C(50000000)

static inline bool trib_meeting_is_doomed(const struct trib_rendezvous *meeting)
{
    return meeting->doomed != NULL && atomic_load_explicit(meeting->doomed, memory_order_acquire);
}

void trib_hello_fill(const struct trib_config *config, struct trib_hello *hello);
/* The name that rank 0 listens at; the length for bind and connect. */
socklen_t trib_rendezvous_name(const struct trib_config *config, struct sockaddr_un *name);
/* A descriptor, or -1: no rank 0 is there yet, or *status and error say why none can be. */
int trib_rendezvous_connect(const struct trib_rendezvous *meeting, enum trib_status *status);
bool trib_rendezvous_say_hello(const struct trib_rendezvous *meeting, int fd, uint64_t deadline_ns);
/* A rank 0 of another run was met under this name: text says which. */
void trib_rendezvous_note_run(struct trib_rendezvous *meeting, const char *text);
/* The name is another rank 0's: tells it that there are two. True: that one is of another run, or is leaving: the name
 * will be free. */
bool trib_rendezvous_protest(struct trib_rendezvous *meeting);
/* Rank 0's part, until everything is sent. Returns as trib_host_open. */
TRIB_MUST_USE enum trib_status trib_gather(struct trib_rendezvous *meeting);

#endif
