/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h: how operations of a communicator become sums.
 *
 *   network  a worker node and the endpoint's sockets, to roots: shards of a switch, or the ranks' processes: network.c
 *   ranks    the same node and sockets, from rank to rank (schemes ring and hybrid): network.c, peers.c
 *   host     the memory of one host, which all ranks share: local.c
 *   level 0  both: ranks of a host are summed in its memory, and their leader alone is on the network: level0.c
 *
 * A communicator has a transport from its beginning; trib_comm_take_transport (states.h) changes it, and says which may
 * follow which. The session with the control plane is apart (join.h). The endpoint's lock is held in every call. Read
 * next: turn.c (the caller). */
#ifndef TRIB_COMM_TRANSPORT_H
#define TRIB_COMM_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/comm.h>

struct trib_comm;
struct trib_endpoint;
struct trib_event;
struct trib_message;
struct trib_operation;
struct trib_where;

enum trib_transport_kind {
    TRIB_TRANSPORT_NONE = 0,
    TRIB_TRANSPORT_NETWORK,
    TRIB_TRANSPORT_RANKS,
    TRIB_TRANSPORT_HOST,
    TRIB_TRANSPORT_LEVEL0
};

/* NULL stands for: does nothing, or false. */
struct trib_transport {
    enum trib_transport_kind kind;
    /* Opens the sockets that packets need where no switch is. Arguments and results of trib_endpoint_widen. NULL: the
     * transport sends no packets. */
    enum trib_status (*open)(struct trib_endpoint *endpoint, const struct trib_where *where,
                             const struct trib_config *own, char *error);
    /* A request waits: takes the request at once, if possible. */
    void (*submit)(struct trib_comm *comm, uint64_t now_ns);
    /* Operations, as far as they go without waiting. Not NULL; also called after a failure. */
    void (*run)(struct trib_comm *comm, uint64_t now_ns);
    /* True if the loop must run the transport in every round, and ask the memory for a wake-up before a sleep. */
    bool (*is_busy)(const struct trib_comm *comm);
    /* An operation that the worker node was given has ended. event: DONE. */
    void (*take_done)(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns);
    /* The line to a rank in the memory has hung up. */
    void (*take_death)(struct trib_comm *comm, uint32_t dead);

    /* deadline: the earliest timer. on_timeout: does all work that is due. Neither is NULL. */
    uint64_t (*deadline)(const struct trib_comm *comm);
    void (*on_timeout)(struct trib_comm *comm, uint64_t now_ns);

    /* The operation with the sequence, or the one under way; and its number. False: none. Not NULL. */
    bool (*find_operation)(const struct trib_comm *comm, uint64_t sequence, struct trib_operation *operation,
                           uint64_t *number);
    /* ": rank 2 is missing", or "": why the oldest operation has not ended. Not NULL. */
    void (*explain)(struct trib_comm *comm, uint64_t now_ns, char *text, size_t size);
    /* This rank's mark, for the session. */
    uint64_t (*mark)(const struct trib_comm *comm);
    /* Fills the fields of a JOIN elsewhere that say which ranks are summed on one host. NULL: no ranks are. */
    void (*keep_hosts)(const struct trib_comm *comm, struct trib_message *join);

    /* Tells the other ranks why this one is about to fail. Not NULL. */
    void (*tell)(struct trib_comm *comm, enum trib_status status, const char *text);
    /* The communicator fails, and the control plane knows. */
    void (*fail)(struct trib_comm *comm, enum trib_status status, const char *text);
    /* Frees its own memory. comm has no endpoint any more. */
    void (*destroy)(struct trib_comm *comm);
};

extern const struct trib_transport trib_transport_network, trib_transport_ranks, trib_transport_host,
    trib_transport_level0;

#endif
