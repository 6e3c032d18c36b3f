/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h: communicators and their collectives: the interface for programs. Needs nothing but libc.
 *
 * Use:
 *   1. trib_config_init(&config), or trib_config_from_environment(&config) under torchrun, mpirun, Slurm or
 *      `tributary run`; then change fields.
 *   2. trib_comm_create(&config, &comm): meets the other ranks at a switch, at rank 0 or on this host. Returns when
 *      all ranks are there.
 *   3. Collectives, in the same order on every rank. The blocking form returns when this rank has its result. The form
 *      ending in _start returns at once with a request.
 *   4. trib_comm_close(comm): waits until no other rank can still need this rank, then frees.
 *
 * NULL for a required pointer: functions with a status return ERR_INVALID; other functions do nothing or return 0,
 * NULL or "". Closing a communicator that is NULL is OK, like free(NULL).
 *
 * Threads: any thread may call any function. Calls on one communicator run in the order of entry. The caller must make
 * this order the same on every rank.
 *
 * Buffers are borrowed from the call until the operation ends. Before the end, each element of a result buffer is
 * either old or final. After the end the library never touches the buffer again.
 * Read next: docs/ARCHITECTURE.md for the layers below. */
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
#define TRIB_NICS_MAX 255 /* bytes of a list of network cards, without the final zero */
#define TRIB_KEY_MIN 32   /* bytes of a job's key */
#define TRIB_KEY_MAX 128
#define TRIB_PRIORITY_MAX 65535 /* of an operation */
#define TRIB_ERROR_TEXT_MAX 512 /* bytes of an error text, with the final zero */

struct trib_comm;
struct trib_request;

/* Wire form of float32 tensors. Tensors of other types travel unchanged. */
enum trib_wire {
    TRIB_WIRE_OF_SCHEME = 0, /* int32 for schemes atp and goat, else float32 */
    TRIB_WIRE_FLOAT32 = 1,   /* unchanged; the sum is reproducible bit by bit */
    TRIB_WIRE_BFLOAT16 = 3,  /* rounded to bfloat16: half the bytes */
    TRIB_WIRE_INT32 = 4      /* block floating point, for switches without floats (SwitchML, NSDI'21, section 3.7) */
};

/* Faults that the library injects into its own receive path. Rates are probabilities from 0 to 1. For tests and
 * demos. */
struct trib_faults {
    double loss;
    double duplicate;
    double reorder;
    double corrupt;
    uint64_t seed; /* same seed, same decisions for the same packets received */
};

/* Every field has a default (in brackets). All ranks of a communicator must agree on ranks, scheme, wire, payload,
 * window, gradient_bytes, priority, fallback and encrypt. A difference is reported on every rank, with both values. If
 * all ranks are on one host without a switch, only the first five are compared; the others have no effect there. */
struct trib_config {
    /* Address of the switch: "host", "host:port" or "[fd00::1]:7470" ["": no switch; without a rendezvous all ranks
     * are on this host]. */
    char switch_address[TRIB_NAME_MAX + 1];
    /* Schemes atp, goat, ps and rina: the switch without a parent, as switch_address. If the switch at switch_address
     * does not answer when the rank joins, the rank joins there after 300 ms. Later the rank knows that address from
     * its switch. Each rank decides alone ["": wait for switch_address]. */
    char server_address[TRIB_NAME_MAX + 1];
    /* Without a switch: "host" or "host:port" of rank 0, as the other ranks reach it; default port 7470. The process of
     * rank 0 listens there, and the ranks' processes sum, one per host. Excludes switch_address ["": none]. */
    char rendezvous[TRIB_NAME_MAX + 1];
    /* Identity of this host. Ranks with the same identity share one root, and are summed together first (level0). For
     * containers and for tests ["": from the kernel and the network namespace]. */
    char host_id[TRIB_NAME_MAX + 1];
    /* Several network cards at once: "eth0,eth1", or their addresses, at most 16, of the address family of the switch
     * or rendezvous. Shard or root t uses card t mod n. For a switch with several addresses, name one card for each
     * address, in the same order. Without a switch, this host is a root at each card. Scheme ring uses the first card
     * only ["": by the routing table]. */
    char nics[TRIB_NICS_MAX + 1];
    /* With a rendezvous: this host's part of the tensor, relative to the other hosts; 1 to 255 [1]. */
    uint32_t root_weight;
    /* Job name. Ranks with the same job name meet. On a shared switch choose a unique name ["default"]. */
    char job[TRIB_NAME_MAX + 1];
    /* Launch of the job, the same text on all of its ranks. Ranks of two launches never meet ["": not known;
     * trib_config_from_environment: from the launcher]. */
    char run[TRIB_NAME_MAX + 1];
    uint32_t rank;       /* [0] */
    uint32_t ranks;      /* 1 to TRIB_RANKS_MAX [1] */
    char scheme[32];     /* see `tributary info`; "hybrid:4": groups of 4 consecutive ranks ["switchml"] */
    enum trib_wire wire; /* [TRIB_WIRE_OF_SCHEME] */
    uint32_t payload;    /* bytes in a packet, a multiple of 64, 64 to 8192 [0: 1408, over IPv6 1344] */
    uint32_t window;     /* bytes in flight per rank and switch shard [0: the switch chooses] */
    /* Bytes of gradients that the job sums in one iteration: all trained parameters, elements x bytes per element. The
     * operator of a switch can make small jobs a ring, for any requested scheme (`tributary switch --threshold`);
     * trib_comm_scheme returns the result. Communicators made by split and subset have the scheme of their origin. No
     * switch makes a ring of a job with a key, because a ring proves no sums [0: not known, no threshold applies]. */
    uint64_t gradient_bytes;
    /* Scheme atp: if a switch on the way has too few rows for all jobs, a job of higher priority takes rows of lower
     * ones, and the sums there leave incomplete. A job with rows in the way of others loses priority; complete sums
     * restore it. 0 to 255; 0: takes no rows of others. Between equal jobs, trib_comm_set_priority decides [128]. */
    uint32_t priority;
    /* Sum the ranks of one host in shared memory; one rank of the host sends. Needs the field on all ranks, and
     * consecutive ranks on each host. A group is then a group on all ranks. If neither switch nor rendezvous is named,
     * all ranks share that memory, and false is an error [true]. */
    bool level0;
    bool multicast; /* ask for results by multicast; used only if every rank receives multicast [true] */
    /* Thread that makes progress; without it only calls do. The thread always runs where ranks are the roots
     * (rendezvous), with fallback, and at a switch with gradient_bytes [true]. */
    bool progress_thread;
    bool trains; /* many packets per system call [true]; false is for comparison */
    /* Longest busy wait before sleeping, microseconds; the wait yields the CPU. A tenth while more is to be sent: then
     * ranks wait for a link, not for an answer [200]. */
    uint32_t spin_us;
    uint32_t dscp; /* 0 to 63 [0] */
    /* Schemes with congestion windows (panama): bytes queued in the kernel for the socket. A longer queue
     * counts as congestion of the path, like a mark of a switch with RED. 0: never [127500: 85 packets of 1500 bytes,
     * as in the paper]. */
    uint32_t backlog;
    uint64_t join_timeout_ns;   /* limit to reach the switch and all ranks [30 s] */
    uint64_t switch_timeout_ns; /* limit of a wait for a switch that is gone [10 s] */
    /* If a switch is gone for longer than switch_timeout_ns, the ranks go on without a switch: their processes sum, as
     * with a rendezvous. Must be the same on all ranks. Rank 0 then also listens at a port of its own, and every close
     * waits for the other ranks as without a switch. join_timeout_ns should be longer than twice switch_timeout_ns, and
     * in a tree of switches 40 s and more: ranks notice a dead machine that much apart [false]. */
    bool fallback;
    /* Limit of one operation; a timeout ends the job. Where another rank of the host sends for this one (level0), a
     * quarter more, at most a second: the other names the missing ranks [30 min]. */
    uint64_t timeout_ns;
    uint64_t linger_ns;        /* limit of trib_comm_close at a switch without fallback; not for a ring [1 s] */
    struct trib_faults faults; /* [none] */
    /* Secret of the job, the same on all ranks: key_len bytes of any value, TRIB_KEY_MIN to TRIB_KEY_MAX. A string,
     * such as a program gives to NCCL, counts without its final zero. The switch has a key derived from the secret
     * (`tributary key tenant`). If the library was built without OpenSSL 3, a key is ERR_UNSUPPORTED. The library keeps
     * derived keys and no copy of the secret. The caller should overwrite this copy after use. If all ranks are on one
     * host without a switch, the key protects nothing, and must still be the same on all [key_len 0: no key; sessions
     * are unauthenticated]. */
    uint8_t key[TRIB_KEY_MAX];
    uint32_t key_len;
    /* Payloads of packets are encrypted, between ranks and switches, which decrypt them. Needs a key. Costs CPU time
     * (docs/PERF.md). Without it the packets of a job with a key are authenticated, and can be read [false]. */
    bool encrypt;
    /* Ranks repeat a sample of each sum of which the key proves no values: floats on wire float32 or bfloat16,
     * integers, minimum, maximum, product. Of each `sample` runs of 16 elements one is repeated and compared before the
     * result is returned. n falsified runs of one operation are found with probability 1 - (1 - 1 / sample)^n or more.
     * They end the job, with root and fragment named. Needs a key, a scheme with a fixed order of additions, no quorum,
     * at most 64 ranks, and one switch or rendezvous that all ranks join: a tree of switches ends the job at the start.
     * Must be the same on all ranks. Turns level0 off. Each rank sends tensor / sample bytes more, to all ranks. 1 to
     * 1000000 [0: no sums are repeated]. */
    uint32_t sample;
};

/* Counters since trib_comm_create. Bytes are UDP payload bytes (64-byte header + payload), before IP. */
struct trib_comm_stats {
    uint64_t bytes_sent, bytes_received, packets_sent, packets_received; /* sent: accepted by the kernel */
    uint64_t send_dropped;              /* packets refused by the kernel; count as lost on the way */
    uint64_t send_calls, receive_calls; /* system calls that moved packets */
    uint64_t fragments;                 /* fragments finished */
    uint64_t operations;                /* operations finished */
    uint64_t contributions_resent, probes_sent, asks_received, held_received, offers_sent, results_repeated;
    /* Headers without payload sent for fragments finished here, because the switch asked again. */
    uint64_t contributions_again;
    /* Results that report congestion, for schemes with congestion windows (panama). Includes such answers to
     * contributions that came too late for their sum; the result without the contribution may report it again. */
    uint64_t results_marked;
    /* With a quorum (panama:7/8): fragments whose sums lack ranks; late: the ones that lack this rank. */
    uint64_t results_lacking, late;
    uint64_t reregistrations;    /* new registrations of this rank with a restarted switch */
    uint64_t moved;              /* 1: the switch was gone for good, and the ranks went on without a switch */
    uint64_t multicast_received; /* results received by multicast */
    uint64_t dropped;            /* packets dropped, all reasons; the next three are included */
    uint64_t dropped_corrupt;    /* checksum or header wrong */
    uint64_t dropped_duplicate;  /* received before */
    uint64_t lane_failures;      /* wrong set of contributors in a sum */
    uint64_t injected_loss, injected_duplicate, injected_reorder, injected_corrupt;
    uint32_t payload; /* payload bytes of a packet: from the config, or chosen */
    bool multicast;   /* results come by multicast */
    bool level0;      /* the ranks of one host are summed in shared memory; one rank sends, the others send nothing */
    uint32_t hosts;   /* with level0: hosts of the ranks; 1: no packet is sent: bytes, packets and fragments stay 0 */
    bool no_box;      /* no switch: ranks' processes are the roots */
    /* Roots of the fragments: switch shards, or ranks' processes. 0: level0, or ranks that send to each other. */
    uint32_t roots;
    /* With no_box: traffic of the root in this process, for all its communicators. Not in the counts above. */
    uint64_t root_bytes_sent, root_bytes_received, root_packets_sent, root_packets_received;
    /* Traffic between ranks and root of this process without the kernel, both directions. Not in the other counts. For
     * all communicators of this process at that root, unlike the packets above. */
    uint64_t bytes_handed, packets_handed;
};

void trib_config_init(struct trib_config *config);

/* Fills config from the environment over the defaults. Variables: TRIB_* (`tributary info` lists them), and rank and
 * size from torchrun (RANK, WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_*), PMI (PMI_RANK, PMI_SIZE) or Slurm (SLURM_PROCID,
 * SLURM_NTASKS). Under torchrun on several hosts (by LOCAL_WORLD_SIZE), without switch and rendezvous, the rendezvous
 * is MASTER_ADDR with port 7470. error: NULL, or TRIB_ERROR_TEXT_MAX bytes for a text with variable and value. Returns
 * ERR_INVALID for a malformed variable. */
TRIB_MUST_USE enum trib_status trib_config_from_environment(struct trib_config *config, char *error);

/* Joins the communicator config->job of config->ranks ranks, at the switch or rendezvous of config. Returns when all
 * ranks are there. If config names neither, all ranks must be on this host, with one user and one network namespace.
 * They then sum in shared memory, in the tensor's own type for any config->wire, and faults have no effect.
 * *comm is written only on success. The caller owns it, and ends it with trib_comm_close, or trib_comm_abort + close.
 * error: as above, for the cause. Returns ERR_INVALID, ERR_MEMORY, ERR_SYSTEM, ERR_UNREACHABLE, ERR_REFUSED,
 * ERR_VERSION, ERR_SETTINGS, ERR_TIMEOUT, ERR_PEER. */
TRIB_MUST_USE enum trib_status trib_comm_create(const struct trib_config *config, struct trib_comm **comm, char *error);

/* A color of trib_comm_split: this rank is in none of the new communicators. */
#define TRIB_NO_COLOR (-1)

/* Divides comm into new communicators, one for each color of 0 or more. A collective operation: every rank of comm
 * calls it. Ranks of one color are ordered by key, and for equal keys by their rank in comm. *made is written only on
 * success: the new communicator, or NULL for TRIB_NO_COLOR. The new communicator has comm's switch and settings, shares
 * its sockets, and remains when comm is closed. The caller owns it as from trib_comm_create. If comm ends before the
 * call returns, the call fails. comm must not be closed before the call returns. error: as above. Returns the statuses
 * of trib_comm_create and trib_allreduce; ERR_INVALID on every rank if any color is below TRIB_NO_COLOR. */
TRIB_MUST_USE enum trib_status trib_comm_split(struct trib_comm *comm, int32_t color, int32_t key,
                                               struct trib_comm **made, char *error);
/* A new communicator of the ranks of comm in `ranks`, in the order of the list. Only these ranks call, all with the
 * same list and the same tag. Calls for one list that overlap in time, on two threads, need different tags. After a
 * failed call, use another tag. Otherwise as trib_comm_split. Returns the statuses of trib_comm_create; ERR_INVALID
 * for a list with an unknown rank, with a rank twice, or without the caller. */
TRIB_MUST_USE enum trib_status trib_comm_subset(struct trib_comm *comm, const uint32_t *ranks, uint32_t count,
                                                uint32_t tag, struct trib_comm **made, char *error);

uint32_t trib_comm_rank(const struct trib_comm *comm);
uint32_t trib_comm_ranks(const struct trib_comm *comm);
/* Name of the communicator at the switch: config.job, or a name made from it by split and subset. Valid until close. */
const char *trib_comm_job(const struct trib_comm *comm);
/* Scheme of the sums: config.scheme, or "ring" by decision of the switch (config.gradient_bytes). Constant for a
 * communicator. Valid until close. */
const char *trib_comm_scheme(const struct trib_comm *comm);
/* Reason for a scheme other than config.scheme, in words; "" if they are equal. Valid until close. */
const char *trib_comm_scheme_cause(const struct trib_comm *comm);
/* The failure that ended the communicator, in words. Before a failure: the reason for this thread's last refused call,
 * if that call named comm; else "". A refused call (ERR_INVALID, ERR_UNSUPPORTED, ERR_MEMORY of a collective or of its
 * request) has begun nothing, and the communicator goes on. NULL: for calls without a communicator or request. Valid
 * until close and until this thread's next refused call. */
const char *trib_comm_error(const struct trib_comm *comm);
void trib_comm_stats(struct trib_comm *comm, struct trib_comm_stats *stats);

/* Memory for tensors that are sent often: other ranks of the host read it in place, which saves a copy. Zeroed and
 * page-aligned. Returns NULL if there is no memory or bytes is 0. Free it when no operation uses it; NULL is allowed. A
 * pointer not from trib_shared_alloc ends the process, as with free(). Parent and forked child share the memory: each
 * sees the other's writes until it frees its own mapping. */
void *trib_shared_alloc(size_t bytes);
void trib_shared_free(void *memory);

/* recv[i] = sum, average, minimum, maximum or product of send[i] over the ranks. count: elements, 0 is allowed; more
 * than 64 TiB are ERR_INVALID. In place: send == recv; other overlaps are not allowed. Any alignment. Types: all except
 * bytes. Wire int32 is for sums and averages; other reductions of float32 tensors travel as float32. All ranks get the
 * same bits, in every run on the same tree of switches. NaN: types.h. Returns the statuses of trib_request_wait, and
 * of a refused call, which has begun nothing: ERR_INVALID, ERR_UNSUPPORTED (an unknown type or reduction as well),
 * ERR_MEMORY. Then the communicator goes on. */
TRIB_MUST_USE enum trib_status trib_allreduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                              enum trib_type type, enum trib_reduction reduction);
/* Copies the root's buffer to every rank. count elements of any type. */
TRIB_MUST_USE enum trib_status trib_broadcast(struct trib_comm *comm, void *buffer, uint64_t count, enum trib_type type,
                                              uint32_t root);
/* Returns when every rank has entered. */
TRIB_MUST_USE enum trib_status trib_barrier(struct trib_comm *comm);

/* As trib_allreduce, but only the root gets the result. On other ranks recv may be NULL and is not touched. */
TRIB_MUST_USE enum trib_status trib_reduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                           enum trib_type type, enum trib_reduction reduction, uint32_t root);
/* Copies every rank's share to every rank. Each share has count elements of any type; recv has ranks x count elements,
 * in the order of the ranks. In place: send == recv + rank x count. */
TRIB_MUST_USE enum trib_status trib_allgather(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                              enum trib_type type);
/* Each rank gets the reduction of its share: send has ranks x count elements, recv gets count. In place: recv == send +
 * rank x count. Types and reductions as for trib_allreduce. The switch reduces the other ranks' parts, and this rank
 * adds its own part. Results have the same bits in every run on the same tree of switches; float results can differ
 * from trib_allreduce. */
TRIB_MUST_USE enum trib_status trib_reduce_scatter(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                                   enum trib_type type, enum trib_reduction reduction);
/* The same with uneven shares: rank r has counts[r] elements, 0 is allowed. counts must be the same on all ranks; NULL
 * is ERR_INVALID. The caller may reuse the array when the call, or the _start call, returns. In place: the own share is
 * at its position in the whole buffer. */
TRIB_MUST_USE enum trib_status trib_allgather_uneven(struct trib_comm *comm, const void *send, void *recv,
                                                     const uint64_t *counts, enum trib_type type);
TRIB_MUST_USE enum trib_status trib_reduce_scatter_uneven(struct trib_comm *comm, const void *send, void *recv,
                                                          const uint64_t *counts, enum trib_type type,
                                                          enum trib_reduction reduction);

/* Arguments of one collective. Fields without a parameter in the collective's function are ignored. */
struct trib_call {
    enum trib_collective collective;
    enum trib_type type;
    enum trib_reduction reduction;
    uint32_t root;
    const void *send; /* of a broadcast: the root's buffer */
    void *recv;       /* of a broadcast: the buffer of the other ranks */
    uint64_t count;
    const uint64_t *counts; /* of uneven shares; NULL: even shares of count elements */
};

#define TRIB_GROUP_MAX 4096 /* operations of one group */

/* Several operations at once, in the same order on every rank. If one of the calls is invalid, no operation starts.
 * trib_comm_error then names the index of the first invalid call, from 0, and its operation; of an overlap both calls.
 * The operations run concurrently: a buffer that one operation writes must not overlap a buffer of another
 * (ERR_INVALID). No operation of another thread comes between. Small operations share packet trains. One request
 * stands for all: it ends with the last operation, and returns the first failure. 0 to TRIB_GROUP_MAX calls; the
 * caller may reuse the array when the function returns. */
TRIB_MUST_USE enum trib_status trib_group(struct trib_comm *comm, const struct trib_call *calls, uint32_t count);

/* As above, but return at once. The caller owns *request until trib_request_wait returns, or trib_request_wait_for or
 * _test reports done. Every request needs one of these calls, even after trib_comm_close. Returns ERR_INVALID,
 * ERR_UNSUPPORTED, ERR_MEMORY, or the failure that has ended the communicator. */
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

/* The next three may be called before, during and after the close of the communicator; for one request by one thread at
 * a time.
 * Waits for the operation, frees the request and returns the operation's status: OK, ERR_TIMEOUT, ERR_PEER, ERR_SWITCH,
 * ERR_MISMATCH, ERR_ABORTED, ERR_CHECK, ERR_CLOSED. After any of these except OK the communicator takes no further
 * operation. ERR_UNSUPPORTED, on every rank alike after some 10^14 packets: the communicator has used up its sequences;
 * close it and create a new one. */
TRIB_MUST_USE enum trib_status trib_request_wait(struct trib_request *request);
/* As trib_request_wait, but returns after limit_ns at the latest. *done: the operation has ended; then the request is
 * freed and the status is as above. Otherwise returns OK. */
TRIB_MUST_USE enum trib_status trib_request_wait_for(struct trib_request *request, uint64_t limit_ns, bool *done);
/* As trib_request_wait_for, without waiting. Makes progress. */
TRIB_MUST_USE enum trib_status trib_request_test(struct trib_request *request, bool *done);

/* Sets config.timeout_ns for operations started later. Each rank has its own limit; the shortest ends the job for all
 * ranks. A limit below 2 s may end the job before the missing rank is known. */
void trib_comm_set_timeout(struct trib_comm *comm, uint64_t timeout_ns);
/* Schemes atp and goat: priority of operations started later, 0 to TRIB_PRIORITY_MAX [0]. It counts between jobs of
 * equal config.priority above 0, if a switch on the way has too few rows: an operation takes rows from operations of
 * lower priority of other jobs. In training it can be the number of the bucket, as the last bucket is needed first.
 * Ranks may differ: the lowest value above 0 counts. No effect with other schemes. Returns ERR_INVALID for a value
 * above TRIB_PRIORITY_MAX. */
TRIB_MUST_USE enum trib_status trib_comm_set_priority(struct trib_comm *comm, uint32_t priority);
/* Makes progress without waiting. Needed only without the progress thread, when no other function is called. While the
 * switch restarts, a rank without any call for longer than the join timeout returns too late, and ends the communicator
 * for the other ranks. */
void trib_comm_progress(struct trib_comm *comm);
/* Ends every operation of this communicator here with ERR_ABORTED. The other ranks get ERR_PEER. Any thread, any
 * time. */
void trib_comm_abort(struct trib_comm *comm);
/* Forks: communicators stay with the process that made them. In a child process they have failed (ERR_INVALID); closing
 * them there frees them and sends nothing. A request that was running at the fork has ended with ERR_INVALID in the
 * child; in the parent it goes on. */
/* Waits until the marks of all ranks have passed the last operation, a rank is gone, or linger_ns has passed; then
 * frees comm. Without a switch the limit is timeout_ns, because other ranks need this process. Without a switch rank
 * 0's process has the control plane: its last close, and exit(), wait as long for communicators made of this one that
 * are still in use. A log line announces that wait. Ends running operations like abort; a wait for their requests, now
 * or later, returns that status. Only the calls on a request may overlap with close or follow it: every other call
 * with comm must have returned before. Returns OK, or the failure that has ended the communicator: ERR_ABORTED if an
 * operation was running. */
enum trib_status trib_comm_close(struct trib_comm *comm);

/* Version of the library: "0.1.0". */
const char *trib_version(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
