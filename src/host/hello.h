/* SPDX-License-Identifier: Apache-2.0 */
/* hello.h: messages by which the ranks of a host meet until they share memory. For the files of src/host alone.
 *
 *   - Rank 0 listens at an abstract name made of user and job. The name vanishes with the process, and each network
 *     namespace has its own names.
 *   - Rank r connects and sends HELLO: its rank, its settings, and the line to its inbox.
 *   - When all have sent HELLO, rank 0 stops listening, makes the memory file, and answers each rank: WELCOME with the
 *     file, then LINES with the lines of all other ranks. REFUSED with a text ends the rendezvous instead.
 *   - All map the file and pass a barrier in it. Then the connections are closed: rank 0 is a rank like any other.
 * Two processes that claim the same rank end the rendezvous for all: they belong to two runs with one job name, and
 * rank 0 cannot tell the runs apart.
 * A rank with another run's name is sent away (OTHER_RUN) and tries again: two such runs meet one after the other. A
 * rank that leaves before its WELCOME frees its place. A rank that loses rank 0 before WELCOME looks for another rank
 * 0.
 * Read next: hello.c, gather.c (rank 0), rendezvous.c (the others, and the end of both). */
#ifndef TRIB_HOST_HELLO_H
#define TRIB_HOST_HELLO_H

#include "host/passing.h"
#include "host/segment.h"

#define TRIB_HELLO_MAGIC UINT64_C(0x6f6c6c6568627274)
#define TRIB_HELLO_WIRE 3 /* index in `numbers` */
#define TRIB_HELLO_NUMBERS 4

/* One message each, sent as memory: both ends run on one machine, and the version fixes the layout. */
struct trib_hello {
    uint64_t magic;
    uint32_t version;
    uint32_t rank;
    uint64_t key;                         /* id of the job's key; 0: none */
    uint32_t numbers[TRIB_HELLO_NUMBERS]; /* ranks, payload, window, wire */
    char scheme[32];
    char run[TRIB_NAME_MAX + 1];
};

enum trib_answer_kind { TRIB_ANSWER_WELCOME = 1, TRIB_ANSWER_LINES, TRIB_ANSWER_REFUSED, TRIB_ANSWER_OTHER_RUN };

struct trib_answer {
    uint32_t kind; /* enum trib_answer_kind */
    int32_t status;
    /* LINES: the first rank that the descriptors of this message belong to. Ranks follow in order, without the
     * receiver. */
    uint32_t first;
    char text[TRIB_ERROR_TEXT_MAX];
};

struct trib_rendezvous {
    struct trib_host *host;
    const struct trib_config *config;
    uint64_t key_id;
    uint64_t waits_ns; /* start of the wait, for error texts */
    uint64_t deadline_ns;
    bool (*is_doomed)(void *user); /* NULL: never */
    void *user;
    char *error;
    bool has_met_other_run; /* under this name; `error` has the text */
    int own_line;           /* sent to the other ranks */
};

/* Longest wait before the next call of is_doomed, ns. */
#define TRIB_MEETING_LOOK_NS UINT64_C(50000000)

static inline bool trib_meeting_is_doomed(const struct trib_rendezvous *meeting)
{
    return meeting->is_doomed != NULL && meeting->is_doomed(meeting->user);
}

void trib_hello_fill(const struct trib_rendezvous *meeting, struct trib_hello *hello);
/* Writes the name that rank 0 listens at. Returns the length for bind and connect. */
socklen_t trib_rendezvous_name(const struct trib_config *config, struct sockaddr_un *name);
/* Returns a descriptor, or -1: no rank 0 listens yet, or *status and meeting->error say why the connection failed. */
int trib_rendezvous_connect(const struct trib_rendezvous *meeting, enum trib_status *status);
bool trib_rendezvous_say_hello(const struct trib_rendezvous *meeting, int fd, uint64_t deadline_ns);
/* Notes that a rank 0 of another run was met under this name; text names the run. */
void trib_rendezvous_note_run(struct trib_rendezvous *meeting, const char *text);
/* Another rank 0 has the name: tells it that there are two. True: the other belongs to another run, or is leaving, so
 * the name will be free. */
bool trib_rendezvous_protest(struct trib_rendezvous *meeting);

#endif
