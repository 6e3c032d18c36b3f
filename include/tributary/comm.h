/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h: communicators and their collectives. This is the interface for programs; it needs nothing but libc.
 *
 * Use:
 *   1. trib_config_init(&config), or trib_config_from_environment(&config) under torchrun, mpirun, Slurm or
 *      `tributary run`; change fields at will.
 *   2. trib_comm_create(&config, &comm): meets the other ranks, at a switch, at rank 0 or on this host, and waits until all are there.
 *   3. Collectives, in the same order on every rank. The blocking form returns when this rank has its result; the form
 *      ending in _start returns at once with a request.
 *   4. trib_comm_close(comm): waits until no other rank can still need this one, then frees.
 *
 * NULL: where a pointer is needed, a function that returns a status returns ERR_INVALID, and others do nothing or return
 * 0, NULL or "". A communicator that is NULL may be closed (OK), as memory that is NULL may be freed.
 *
 * Threads: every function may be called from any thread; calls on one communicator are ordered by who enters first, and
 * it is the caller's business that this order is the same on every rank. Buffers are borrowed from the call until the
 * operation ends. Before that a result buffer holds either its old bytes or final ones, element by element; after it
 * the library never touches it again.
 * Read next: docs/ARCHITECTURE.md for what happens below. */
#ifndef TRIBUTARY_COMM_H
#define TRIBUTARY_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/status.h>
#include <tributary/types.h>

#pragma GCC visibility push(default) /* exported; all else in the library is hidden */
#ifdef __cplusplus
extern "C" {
#endif

#define TRIB_MUST_USE __attribute__((warn_unused_result))

#define TRIB_DEFAULT_PORT 7470
#define TRIB_RANKS_MAX 1024 /* ranks of one communicator */
#define TRIB_NAME_MAX 64    /* bytes of a job or switch name, without the final zero */
#define TRIB_JOB_DEFAULT "default"
#define TRIB_NICS_MAX 255       /* bytes of a list of network cards, without the final zero */
#define TRIB_ERROR_TEXT_MAX 512 /* bytes of an error text, with the final zero */

struct trib_comm;
struct trib_request;

/* How elements of a float32 tensor travel. Tensors of other types travel as they are. */
enum trib_wire {
    TRIB_WIRE_FLOAT32 = 1,  /* as they are; the sum is reproducible bit by bit */
    TRIB_WIRE_BFLOAT16 = 3, /* rounded to bfloat16: half the bytes */
    TRIB_WIRE_INT32 =
        4 /* block floating point, what a switch without floats can add (SwitchML, NSDI'21, section 3.7) */
};

/* Faults that the library injects into its own receive path; rates are probabilities from 0 to 1. For tests and
 * demos. */
struct trib_faults {
    double loss;
    double duplicate;
    double reorder;
    double corrupt;
    uint64_t seed; /* same seed, same decisions for the same packets received */
};

/* Everything has a default (given in brackets). All ranks of a communicator must agree on ranks, scheme, wire, payload,
 * window, gradient_bytes and fallback: a difference is reported on every rank, with both values (where all are on one
 * host without a switch, of the first five: the others mean nothing there). */
struct trib_config {
    char switch_address
        [TRIB_NAME_MAX +
         1]; /* "host", "host:port", "[fd00::1]:7470" ["": none; without rendezvous too all ranks are on this host] */
    /* No switch: "host" or "host:port" of rank 0, as the others reach it, port 7470 if none is said; its process
     * listens there, and the ranks' own processes sum, one on each host. Not together with switch_address. ["":
     * none] */
    char rendezvous[TRIB_NAME_MAX + 1];
    /* Which host this is: ranks that say the same share one root, and are summed together first (level0). For
     * containers that cannot tell, and for tests. ["": of the kernel and the network namespace] */
    char host_id[TRIB_NAME_MAX + 1];
    /* Several network cards at once: "eth0,eth1", or addresses of them, of the family of the place to meet, at most 16.
     * Shard or root t has to do with card t mod n. At a switch that has several addresses too name one for each of
     * those, in their order; without a switch this host is a root at each. Scheme ring uses the first alone. ["": as
     * the routes lead] */
    char nics[TRIB_NICS_MAX + 1];
    uint32_t
        root_weight; /* with a rendezvous: this host's part of the tensor, against those of the others; 1 to 255 [1] */
    char job[TRIB_NAME_MAX + 1]; /* ranks with the same job name meet; a shared switch wants another than ["default"] */
    /* Which launch of the job this is, the same text on all of its ranks: ranks of two launches never meet ["": not
     * known; trib_config_from_environment: the launcher's] */
    char run[TRIB_NAME_MAX + 1];
    uint32_t rank;       /* [0] */
    uint32_t ranks;      /* 1 to TRIB_RANKS_MAX [1] */
    char scheme[32];     /* of `tributary info`; "hybrid:4": groups of 4 consecutive ranks ["switchml"] */
    enum trib_wire wire; /* [TRIB_WIRE_FLOAT32] */
    uint32_t payload;    /* bytes in a packet, a multiple of 64, 64 to 8192 [0: 1408, over IPv6 1344] */
    uint32_t window;     /* bytes that a rank keeps in flight per switch shard [0: the switch chooses] */
    /* Bytes of gradients that the job sums in one iteration: of all parameters that are trained, elements x bytes of
     * one. An operator may let jobs of few run as a ring whose ranks send to each other, whatever scheme they ask for
     * (`tributary switch --threshold`): trib_comm_scheme says what it is. What split and subset make of a communicator
     * goes as that does [0: not said, no threshold applies] */
    uint64_t gradient_bytes;
    /* Ranks of one host are summed in its memory, and one of them sends for all: if all ranks want it, and those of
     * each host follow each other. A group is then a group on all ranks. Where neither switch nor rendezvous is named
     * all are in that memory; false: that is an error [true] */
    bool level0;
    bool multicast; /* ask for results by multicast; used only if every rank receives it [true] */
    bool
        progress_thread; /* [true]; without it only calls make progress; always on where no switch is, with fallback, or at a switch with gradient_bytes */
    bool trains;         /* many packets per system call [true]; false exists for comparison */
    /* Longest busy wait before sleeping, microseconds; it yields the CPU. Where all ranks are on one host ten times as
     * long [20] */
    uint32_t spin_us;
    uint32_t dscp; /* 0 to 63 [0] */
    /* Schemes whose windows follow congestion (panama): what waits behind so many bytes that the kernel holds of its
     * socket says that the way is congested, as a switch with RED would mark it; 0: never [127500: 85 packets of 1500
     * bytes, the paper's] */
    uint32_t backlog;
    uint64_t join_timeout_ns;   /* to reach the switch and all ranks [30 s] */
    uint64_t switch_timeout_ns; /* how long a switch that went away is waited for [10 s] */
    /* A switch that is gone for longer than that: the ranks go on without it, as if a rendezvous were named: their
     * processes sum. All ranks must say the same. Rank 0 then listens at a port of its own; the close of any waits for
     * the others as without a switch [false] */
    bool fallback;
    uint64_t timeout_ns;       /* of one operation; it ends the job [30 min] */
    uint64_t linger_ns;        /* longest wait in trib_comm_close, at a switch without fallback, but of a ring [1 s] */
    struct trib_faults faults; /* [none] */
};

/* Free-running counts since trib_comm_create. Bytes are UDP payload bytes (64-byte header + payload), before IP. */
struct trib_comm_stats {
    uint64_t bytes_sent, bytes_received, packets_sent, packets_received; /* sent: the kernel took them */
    uint64_t send_dropped;              /* packets that it would not take; they count as lost on the way */
    uint64_t send_calls, receive_calls; /* system calls that moved packets */
    uint64_t fragments;                 /* fragments finished */
    uint64_t operations;                /* operations finished */
    uint64_t contributions_resent, probes_sent, asks_received, held_received, offers_sent, results_repeated;
    uint64_t
        contributions_again; /* given again with a header only, to what this rank had finished, when the switch asked for it */
    /* Times that a result said that the way is congested, where windows follow that (panama); or, of a part that came too
     * late for its sum, the answer to it. The result without that part may say so again. */
    uint64_t results_marked;
    /* With a quorum (panama:7/8): fragments whose sums lacked ranks, and of these the ones that lacked this rank. */
    uint64_t results_lacking, late;
    uint64_t reregistrations;    /* times that this rank registered anew with a restarted switch */
    uint64_t moved;              /* 1: the switch was gone for good, and the ranks went on without it */
    uint64_t multicast_received; /* results that came by multicast */
    uint64_t dropped;            /* packets dropped, all reasons */
    uint64_t dropped_corrupt;    /* of those: checksum or header wrong */
    uint64_t dropped_duplicate;  /* of those: already had */
    uint64_t lane_failures;      /* of those: the sum's set of contributors was wrong */
    uint64_t injected_loss, injected_duplicate, injected_reorder, injected_corrupt;
    uint32_t payload; /* bytes of one packet's payload: that of the config, or what was chosen for it */
    bool multicast;   /* results come by multicast */
    bool
        level0; /* ranks of one host are summed in its memory, and one of them sends for all; the others send nothing */
    uint32_t hosts; /* with level0: that the ranks are on; 1: no packet is sent: bytes, packets and fragments stay 0 */
    bool no_box;    /* no switch: ranks' processes are the roots */
    uint32_t
        roots; /* that fragments are dealt over: shards of the switch, or ranks' processes; 0: level0, or ranks that send to each other */
    /* What the root in this process has moved, for all its communicators; with no_box only. It is not in the bytes and
     * packets above. */
    uint64_t root_bytes_sent, root_bytes_received, root_packets_sent, root_packets_received;
    /* Between ranks and root of this process, both ways, without the kernel: in no other count. Like the root's, of all
     * communicators that this process has at that place, while the packets above are those of this one. */
    uint64_t bytes_handed, packets_handed;
};

void trib_config_init(struct trib_config *config);

/* Fills config from the environment over the defaults: TRIB_* variables (`tributary info` lists them), and rank and
 * size from torchrun (RANK, WORLD_SIZE; and if LOCAL_WORLD_SIZE says that not all ranks are on this host, and neither
 * switch nor rendezvous is named, the rendezvous is MASTER_ADDR with port 7470), Open MPI (OMPI_COMM_WORLD_*), PMI
 * (PMI_RANK, PMI_SIZE) or Slurm (SLURM_PROCID, SLURM_NTASKS). error takes a text that names the variable and the value,
 * may be NULL, else TRIB_ERROR_TEXT_MAX bytes. Returns ERR_INVALID for a variable that cannot be read. */
TRIB_MUST_USE enum trib_status trib_config_from_environment(struct trib_config *config, char *error);

/* Joins the communicator config->job of config->ranks ranks, and returns when all are there: at the switch that config
 * names, or at the rendezvous; if it names neither, in the memory of this host, where all ranks must then be, with one
 * user and one network namespace. There nothing has a wire form: tensors are summed in their own type whatever
 * config->wire says, and faults have nothing to strike. *comm is written only on success; the caller owns it and ends
 * it with trib_comm_close or trib_comm_abort + close. error: as above, gets the cause. Returns ERR_INVALID, ERR_MEMORY,
 * ERR_SYSTEM, ERR_UNREACHABLE, ERR_REFUSED, ERR_VERSION, ERR_SETTINGS, ERR_TIMEOUT, ERR_PEER. */
TRIB_MUST_USE enum trib_status trib_comm_create(const struct trib_config *config, struct trib_comm **comm, char *error);

/* A color of trib_comm_split: this rank is in none of the new communicators. */
#define TRIB_NO_COLOR (-1)

/* Divides comm into new communicators, one for each color: a collective operation that every rank of comm calls. Ranks
 * of one color, 0 or more, are together, in the order of their keys, and of their ranks in comm where keys are the
 * same. *made is written only on success: the new communicator, or NULL for TRIB_NO_COLOR. It has comm's switch and
 * settings, shares its sockets, and lives on when comm is closed; it is the caller's, as from trib_comm_create. If comm
 * ends while it is made, so does the making. comm must not be closed before this returns. error: as above, gets the
 * cause. Returns what trib_comm_create and trib_allreduce return; ERR_INVALID on every rank if the color of one is
 * below TRIB_NO_COLOR. */
TRIB_MUST_USE enum trib_status trib_comm_split(struct trib_comm *comm, int32_t color, int32_t key,
                                               struct trib_comm **made, char *error);
/* A new communicator of some ranks of comm, which `ranks` lists in their new order: only those call this, all with the
 * same list and the same tag. Calls that may be under way at the same time, on two threads, for one list need tags of
 * their own. After a call that failed, use another tag. Else as trib_comm_split. Returns what trib_comm_create returns;
 * ERR_INVALID for a list that names no rank of comm, one twice, or not the caller. */
TRIB_MUST_USE enum trib_status trib_comm_subset(struct trib_comm *comm, const uint32_t *ranks, uint32_t count,
                                                uint32_t tag, struct trib_comm **made, char *error);

uint32_t trib_comm_rank(const struct trib_comm *comm);
uint32_t trib_comm_ranks(const struct trib_comm *comm);
/* The name under which the switch knows it: config.job, or what was made of it by split and subset. Valid until
 * close. */
const char *trib_comm_job(const struct trib_comm *comm);
/* The scheme that it is summed by: config.scheme, or "ring" where the switch wanted it so (config.gradient_bytes).
 * Neither changes while it lives. Valid until close. */
const char *trib_comm_scheme(const struct trib_comm *comm);
/* Why that is not the one asked for, in words; "": it is. Valid until close. */
const char *trib_comm_scheme_cause(const struct trib_comm *comm);
/* The failure that ended the communicator, in words. While there is none: why this thread's last call that was refused
 * (ERR_INVALID, ERR_UNSUPPORTED, ERR_MEMORY of a collective or of its request) was so, if it was one of comm; else "".
 * Such a call has begun nothing, and the communicator goes on. NULL: of a call that named no communicator, or no
 * request. Valid until close and this thread's next refused call. */
const char *trib_comm_error(const struct trib_comm *comm);
void trib_comm_stats(struct trib_comm *comm, struct trib_comm_stats *stats);

/* Memory for tensors that are sent often: ranks of one host read what is sent from there in place, which saves a copy.
 * Else like any memory; zeroed, page-aligned; NULL: there is none, or bytes is 0. It may be freed when no operation uses
 * it; NULL is fine, and what trib_shared_alloc never gave ends the process, as with free(). A forked child shares it with its parent: each sees what the other writes, until it frees its own. */
void *trib_shared_alloc(size_t bytes);
void trib_shared_free(void *memory);

/* recv[i] = sum, average, minimum, maximum or product over the ranks of send[i]. count: elements, 0 is allowed; more
 * than 64 TiB are ERR_INVALID. send == recv is in place; else the two may not overlap. Any alignment. Types: all but
 * bytes. Wire int32 is for sums and averages: the other reductions of a float32 tensor travel as float32. All ranks get
 * the same bits, and the same bits in every run on the same tree of switches. NaN: types.h. Returns what
 * trib_request_wait returns. */
TRIB_MUST_USE enum trib_status trib_allreduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                              enum trib_type type, enum trib_reduction reduction);
/* The root's buffer on every rank. count elements of any type. */
TRIB_MUST_USE enum trib_status trib_broadcast(struct trib_comm *comm, void *buffer, uint64_t count, enum trib_type type,
                                              uint32_t root);
/* Returns when every rank has entered. */
TRIB_MUST_USE enum trib_status trib_barrier(struct trib_comm *comm);

/* As trib_allreduce, but only the root gets the result: recv may be NULL elsewhere, and is not touched. */
TRIB_MUST_USE enum trib_status trib_reduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                           enum trib_type type, enum trib_reduction reduction, uint32_t root);
/* Every rank's share on every rank: count elements of any type per rank, in recv ranks x count of them, in the order of
 * the ranks. In place: send == recv + rank x count. */
TRIB_MUST_USE enum trib_status trib_allgather(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                              enum trib_type type);
/* Each rank gets the reduction of its share: send has ranks x count elements, recv gets count. In place: recv == send +
 * rank x count. The switch reduces the other ranks' parts, and this rank adds its own to that: the same bits in every
 * run on the same tree of switches, but of floats not always those of trib_allreduce. Types and reductions as there. */
TRIB_MUST_USE enum trib_status trib_reduce_scatter(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                                   enum trib_type type, enum trib_reduction reduction);
/* The same with shares that differ: counts[r] elements are rank r's, 0 is allowed. counts must be the same on all
 * ranks, and NULL is ERR_INVALID; the array is the caller's again when the call, or the call of the _start form, returns. In place the own share
 * lies where it lies in the whole. */
TRIB_MUST_USE enum trib_status trib_allgather_uneven(struct trib_comm *comm, const void *send, void *recv,
                                                     const uint64_t *counts, enum trib_type type);
TRIB_MUST_USE enum trib_status trib_reduce_scatter_uneven(struct trib_comm *comm, const void *send, void *recv,
                                                          const uint64_t *counts, enum trib_type type,
                                                          enum trib_reduction reduction);

/* The arguments of one collective. Those that the function of its name does not have are ignored. */
struct trib_call {
    enum trib_collective collective;
    enum trib_type type;
    enum trib_reduction reduction;
    uint32_t root;
    const void *send; /* of a broadcast: the root's buffer */
    void *recv;       /* of a broadcast: that of the other ranks */
    uint64_t count;
    const uint64_t *counts; /* of uneven shares; NULL: they are even, count for each */
};

#define TRIB_GROUP_MAX 4096 /* operations of one group */

/* Several operations at once, on every rank in this order: all of them, or none if one of the calls is not valid. They
 * run at the same time: a buffer that one of them writes may not overlap any of another's (ERR_INVALID). No operation
 * of another thread comes between. Small ones share packets' trains, and one request stands for all: it is done when
 * the last one is, and says how the first that failed did. 0 to TRIB_GROUP_MAX calls, which are the caller's again when
 * it returns. */
TRIB_MUST_USE enum trib_status trib_group(struct trib_comm *comm, const struct trib_call *calls, uint32_t count);

/* As above, but return at once. *request is the caller's until trib_request_wait, or a trib_request_wait_for or _test
 * that says done; it is to be collected so even after trib_comm_close. Returns ERR_INVALID, ERR_UNSUPPORTED,
 * ERR_MEMORY, or the failure that has ended the communicator. */
TRIB_MUST_USE enum trib_status trib_allreduce_start(struct trib_comm *comm, const void *send, void *recv,
                                                    uint64_t count, enum trib_type type, enum trib_reduction reduction,
                                                    struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_broadcast_start(struct trib_comm *comm, void *buffer, uint64_t count,
                                                    enum trib_type type, uint32_t root, struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_barrier_start(struct trib_comm *comm, struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_reduce_start(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                                 enum trib_type type, enum trib_reduction reduction, uint32_t root,
                                                 struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_allgather_start(struct trib_comm *comm, const void *send, void *recv,
                                                    uint64_t count, enum trib_type type, struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_allgather_uneven_start(struct trib_comm *comm, const void *send, void *recv,
                                                           const uint64_t *counts, enum trib_type type,
                                                           struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_reduce_scatter_start(struct trib_comm *comm, const void *send, void *recv,
                                                         uint64_t count, enum trib_type type,
                                                         enum trib_reduction reduction, struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_reduce_scatter_uneven_start(struct trib_comm *comm, const void *send, void *recv,
                                                                const uint64_t *counts, enum trib_type type,
                                                                enum trib_reduction reduction,
                                                                struct trib_request **request);
TRIB_MUST_USE enum trib_status trib_group_start(struct trib_comm *comm, const struct trib_call *calls, uint32_t count,
                                                struct trib_request **request);

/* These may be called before, while and after the communicator is closed; one request by one thread at a time. Waits
 * for the operation, frees the request, returns how the operation ended: OK, ERR_TIMEOUT, ERR_PEER, ERR_SWITCH,
 * ERR_MISMATCH, ERR_ABORTED, ERR_CHECK, ERR_CLOSED. After these but OK the communicator takes no further operation.
 * ERR_UNSUPPORTED, on every rank alike and after some 10^14 packets: the communicator has used up its sequences; close
 * it and create a new one. */
TRIB_MUST_USE enum trib_status trib_request_wait(struct trib_request *request);
/* The same, but comes back after limit_ns at the latest. *done says whether the operation has ended; if so the request
 * is freed and the status is as above, else OK. */
TRIB_MUST_USE enum trib_status trib_request_wait_for(struct trib_request *request, uint64_t limit_ns, bool *done);
/* The same without waiting. Makes progress. */
TRIB_MUST_USE enum trib_status trib_request_test(struct trib_request *request, bool *done);

/* config.timeout_ns for operations that start from now on. Each rank has its own; the shortest ends the job for all.
 * One set to less than 2 s may end it before it is known who is missing. */
void trib_comm_set_timeout(struct trib_comm *comm, uint64_t timeout_ns);
/* Makes progress without waiting; needed only where the progress thread is off and nothing else is called. Who then
 * calls nothing for longer than the join timeout while the switch restarts does not come back in time, and ends the
 * communicator for the others. */
void trib_comm_progress(struct trib_comm *comm);
/* Ends every operation of this communicator here with ERR_ABORTED and tells the other ranks, who get ERR_PEER. Any
 * thread, any time. */
void trib_comm_abort(struct trib_comm *comm);
/* Forks: communicators stay with the process that made them. In a child of it they have failed (ERR_INVALID), and may
 * be closed, which frees them and tells nobody anything. A request that had not ended by then has ended in the child
 * with ERR_INVALID; in the parent it goes on. */
/* Waits until the marks of all ranks have passed the last operation, a rank is gone, or linger_ns; then frees comm.
 * Without a switch others need this process itself: then it is timeout_ns instead. There rank 0's process has the
 * control plane: its last close waits as long for communicators made of this one that go on without it, and so does
 * exit(); a word to them is logged. Operations still running are ended as by abort; their requests say so to whoever
 * waits for them, now or later. Only those calls on a request may overlap with close or follow it: every other call
 * with comm must have returned before close is entered. Returns OK, or the failure that had ended the communicator. */
enum trib_status trib_comm_close(struct trib_comm *comm);

/* Version of the library: "0.1.0". */
const char *trib_version(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
