/* SPDX-License-Identifier: Apache-2.0 */
/* own_root.c: see own_root.h. */
#include "comm/own_root.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/state.h"
#include "comm/wake.h"
#include "core/assert.h"
#include "core/lane.h"
#include "io/clock.h"
#include "io/explain.h"

/* Contributions of all ranks come to one socket. */
#define ROOT_BUFFER (32U << 20)
/* The root has other faults than the ranks, from the same seed. */
#define ROOT_SEED UINT64_C(0x726f6f74)

static void tell_mismatch(void *owner, const struct trib_mismatch *mismatch)
{
    const struct trib_endpoint *endpoint = owner;
    struct trib_comm *comm = endpoint->comms;
    struct trib_message answer = {.kind = TRIB_MESSAGE_NONE};
    while (comm != NULL && comm->root.of.communicator != mismatch->communicator) {
        comm = comm->next;
    }
    if (comm != NULL && trib_root_is_open(&comm->root)) {
        trib_root_mismatch(&comm->root, mismatch->sequence, mismatch->rank, &answer);
        if (answer.kind != TRIB_MESSAGE_NONE) {
            trib_session_client_send(&comm->session, &answer);
            trib_comm_make_dirty(comm); /* the rest is sent when the kernel has room */
        }
    }
}

enum trib_status trib_own_root_open(struct trib_endpoint *endpoint, const struct trib_config *config,
                                    const struct trib_address *local, uint32_t shards, char *error)
{
    struct trib_own_root *root = &endpoint->own_root;
    const struct trib_address_list *nics = &endpoint->nics;
    struct trib_switchd_config wanted = {
        .listen = nics->count > 0 ? nics->at[0] : *local,
        .threads = shards,
        .buffer = ROOT_BUFFER,
        .dscp = config->dscp,
        .backlog = config->backlog,
        .trains = config->trains,
        .faults =
            {
                .loss = config->faults.loss,
                .duplicate = config->faults.duplicate,
                .reorder = config->faults.reorder,
                .corrupt = config->faults.corrupt,
                .seed = trib_mix64(config->faults.seed + ROOT_SEED) + config->rank,
            },
    };
    const struct trib_shard_listener listener = {endpoint, tell_mismatch};
    TRIB_ASSERT(root->plane == NULL && shards > 0 && shards <= TRIB_ROOTS_MAX);
    wanted.also.count = nics->count > 0 ? nics->count - 1 : 0;
    memcpy(wanted.also.at, &nics->at[1], wanted.also.count * sizeof nics->at[0]);
    enum trib_status status = trib_plane_open(&wanted, &root->plane, error);
    if (status != TRIB_OK) {
        return status;
    }
    for (uint32_t i = 0; i < shards; i++) {
        trib_shard_listen(&root->plane->shard[i], &listener);
        root->wake_ns[i] = TRIB_NEVER;
    }
    root->verbs = trib_plane_verbs(root->plane);
    trib_agent_init(&root->agent, &root->verbs, shards);
    return TRIB_OK;
}

void trib_own_root_close(struct trib_own_root *root)
{
    trib_plane_close(root->plane);
    root->plane = NULL;
    root->is_joined = false;
}

uint16_t trib_own_root_port(const struct trib_own_root *root)
{
    struct trib_address local;
    trib_plane_local(root->plane, &local);
    return trib_address_port(&local);
}

static uint32_t shards_of(const struct trib_own_root *root)
{
    return root->plane != NULL ? root->plane->shards : 0;
}

bool trib_own_root_drive(struct trib_own_root *root, uint64_t now_ns)
{
    bool came = false;
    for (uint32_t i = 0; i < shards_of(root); i++) {
        struct trib_shard *shard = &root->plane->shard[i];
        bool is_handed = trib_port_deadline(shard->port) == 0;
        if ((root->hot >> i & 1) == 0 && now_ns < root->wake_ns[i] && !is_handed) {
            continue;
        }
        root->hot &= ~(1U << i);
        root->hot |= trib_shard_work(shard, &root->wake_ns[i]) ? 1U << i : 0;
        uint64_t packets = trib_port_stats(shard->port)->packets_received;
        came = came || is_handed || packets != root->packets[i];
        root->packets[i] = packets;
    }
    return came;
}

uint64_t trib_own_root_deadline(const struct trib_own_root *root)
{
    uint64_t deadline = root->hot != 0 ? 0 : TRIB_NEVER;
    for (uint32_t i = 0; i < shards_of(root); i++) {
        deadline = trib_time_earlier(deadline, root->wake_ns[i]);
        deadline = trib_time_earlier(deadline, trib_port_deadline(root->plane->shard[i].port));
    }
    return deadline;
}

void trib_own_root_heat(struct trib_own_root *root)
{
    root->hot = (uint32_t)((UINT64_C(1) << shards_of(root)) - 1);
}

uint32_t trib_own_root_fds(const struct trib_own_root *root, struct pollfd *fds)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shards_of(root); i++) {
        int fd[TRIB_SHARD_FDS];
        trib_shard_fds(&root->plane->shard[i], fd);
        for (uint32_t k = 0; k < TRIB_SHARD_FDS; k++) {
            fds[count++] = (struct pollfd){.fd = fd[k], .events = POLLIN};
        }
    }
    return count;
}

uint32_t trib_own_root_ready(struct trib_own_root *root, const struct pollfd *fds)
{
    uint32_t shards = shards_of(root);
    for (uint32_t i = 0; i < shards; i++, fds += TRIB_SHARD_FDS) {
        root->hot |= fds[0].revents != 0 || fds[1].revents != 0 ? 1U << i : 0;
        if (fds[1].revents != 0) {
            trib_shard_calm(&root->plane->shard[i]);
        }
    }
    return shards * TRIB_SHARD_FDS;
}

void trib_own_root_traffic(const struct trib_own_root *root, struct trib_port_stats *traffic)
{
    *traffic = (struct trib_port_stats){0};
    for (uint32_t i = 0; i < shards_of(root); i++) {
        trib_port_stats_add(traffic, trib_port_stats(root->plane->shard[i].port));
    }
}

const struct trib_port *trib_own_root_find_taken(const struct trib_own_root *root)
{
    for (uint32_t i = 0; i < shards_of(root); i++) {
        if (!trib_port_has_address(root->plane->shard[i].port)) {
            return root->plane->shard[i].port;
        }
    }
    return NULL;
}

/* ---- the control plane's messages ---- */

/* The verbs would wake a shard's thread. Here the driver runs the shard, and is awake. */
static void calm(struct trib_own_root *own)
{
    for (uint32_t i = 0; i < own->plane->shards; i++) {
        trib_shard_calm(&own->plane->shard[i]);
    }
    trib_own_root_heat(own);
}

enum trib_status trib_comm_take_root(struct trib_comm *comm, const struct trib_message *message, char *error)
{
    struct trib_own_root *own = &comm->endpoint->own_root;
    struct trib_message answer = {.kind = TRIB_MESSAGE_NONE};
    if (!trib_own_root_is_open(own) || !comm->where.no_box) {
        trib_explain(error, "the %s uses this rank as a root, which it is not", comm->where.title);
        return TRIB_ERR_REFUSED;
    }
    if (message->kind == TRIB_MESSAGE_ROOT_CHILD && message->root_child.rank == comm->config.rank) {
        comm->known_as = message->root_child.from;
    }
    struct trib_message heard = *message;
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        comm->seen_as = message->root_open.at;
    } else if (message->kind == TRIB_MESSAGE_ROOT_CHILD) {
        trib_comm_answer_from(comm, &heard.root_child.from);
    }
    enum trib_status status = trib_root_receive(&comm->root, &heard, &answer);
    if (answer.kind != TRIB_MESSAGE_NONE) {
        trib_session_client_send(&comm->session, &answer);
    }
    if (status != TRIB_OK) {
        trib_explain(error, "%s", answer.fail.text);
        return status;
    }
    calm(own);
    return TRIB_OK;
}

bool trib_comm_is_root_of(const struct trib_comm *comm, const struct trib_grant *grant)
{
    const struct trib_root *root = &comm->root;
    return root->of.communicator == 0 ||
           (root->of.communicator == grant->communicator && root->of.boot == grant->boot && root->plan == NULL);
}

/* Other ranks know a rank that came to the rendezvous by the loopback by an address at which another host found it.
 * Its sockets are bound to no address: the routes might choose another one. */
void trib_comm_answer_from(const struct trib_comm *comm, struct trib_address *to)
{
    struct trib_address bound;
    TRIB_ASSERT(comm->endpoint->wide != NULL);
    trib_port_local(comm->endpoint->wide->port, &bound);
    if (comm->seen_as.len > 0 && trib_address_is_any(&bound)) {
        trib_address_set_source(to, &comm->seen_as);
    }
}

/* The first root of comm that is open in this process, with this port unless it is 0; NULL: none. */
static const struct trib_address *open_root(const struct trib_comm *comm, uint16_t port)
{
    for (uint32_t open = comm->root.open; open != 0; open &= open - 1) {
        const struct trib_address *root = &comm->roots[__builtin_ctz(open)];
        if (port == 0 || trib_address_port(root) == port) {
            return root;
        }
    }
    return NULL;
}

static struct trib_port *socket_with_port(const struct trib_own_root *own, uint16_t port)
{
    struct trib_address local;
    for (uint32_t i = 0; i < own->plane->shards; i++) {
        trib_port_local(own->plane->shard[i].port, &local);
        if (trib_address_port(&local) == port) {
            return own->plane->shard[i].port;
        }
    }
    return NULL;
}

static void join_sockets(struct trib_comm *comm, struct trib_port *ranks, const struct trib_address *root)
{
    struct trib_own_root *own = &comm->endpoint->own_root;
    struct trib_port *socket = socket_with_port(own, trib_address_port(root));
    struct trib_address local;
    trib_port_local(ranks, &local);
    if (socket == NULL || trib_address_port(&comm->known_as) != trib_address_port(&local)) {
        return; /* a leader sends for this rank */
    }
    own->known_as = *root;
    own->rank_known_as = comm->known_as;
    own->is_joined = trib_port_join(ranks, &own->rank_known_as, socket, root);
}

void trib_comm_join_root(struct trib_comm *comm)
{
    struct trib_own_root *own = &comm->endpoint->own_root;
    const struct trib_address *root = open_root(comm, own->is_joined ? trib_address_port(&own->known_as) : 0);
    if (root == NULL || !comm->where.no_box) {
        return;
    }
    struct trib_port *ranks = comm->endpoint->wide->port;
    if (!own->is_joined) {
        join_sockets(comm, ranks, root);
        return;
    }
    /* Another communicator may know both by other addresses, which the kernel serves; but not one of them. */
    if (trib_address_equal(root, &own->known_as) != trib_address_equal(&comm->known_as, &own->rank_known_as)) {
        trib_port_part(ranks);
    }
}

void trib_comm_forget_root(struct trib_comm *comm)
{
    struct trib_own_root *own = &comm->endpoint->own_root;
    if (trib_own_root_is_open(own)) {
        trib_root_deinit(&comm->root);
        trib_root_init(&comm->root, &own->agent);
        calm(own);
    }
}

/* ---- where this is ---- */

static uint64_t add_text(uint64_t digest, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        digest = trib_mix64(digest + (unsigned char)text[i]);
    }
    return trib_mix64(digest + len);
}

uint64_t trib_host_digest(const struct trib_config *config)
{
    char id[64];
    struct stat network;
    if (config->host_id[0] != '\0') {
        return add_text(1, config->host_id, strlen(config->host_id)) | 1;
    }
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, id, sizeof id);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (len <= 0 || stat("/proc/self/ns/net", &network) != 0) {
        return 0;
    }
    return trib_mix64(add_text(2, id, (size_t)len) + network.st_ino) | 1;
}

bool trib_local_towards(const struct trib_address *address, struct trib_address *local)
{
    if (!trib_nics_source(address, local)) {
        return false;
    }
    if (trib_address_is_loopback(local)) {
        memset(&local->storage, 0, sizeof local->storage);
        local->storage.ss_family = address->storage.ss_family;
    }
    trib_address_set_port(local, 0);
    return true;
}
