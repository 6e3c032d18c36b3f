/* SPDX-License-Identifier: Apache-2.0 */
/* comm.c: a communicator's beginning and end, and its properties for the program.
 * Read next: collectives.c (the operations), state.h (the fields). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/auth.h"
#include "comm/bounds.h"
#include "comm/connect.h"
#include "comm/create.h"
#include "comm/detour.h"
#include "comm/drive.h"
#include "comm/embedded.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/fork.h"
#include "comm/launcher.h"
#include "comm/level0.h"
#include "comm/local.h"
#include "comm/memory.h"
#include "comm/network.h"
#include "comm/nonces.h"
#include "comm/own_root.h"
#include "comm/paths.h"
#include "comm/peers.h"
#include "comm/proof.h"
#include "comm/queue.h"
#include "comm/refusal.h"
#include "comm/sample.h"
#include "comm/say.h"
#include "comm/state.h"
#include "comm/turn.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/memory.h"
#include "net/resolve.h"
#include "schemes/schemes.h"

#define GROUPS_MAX 8 /* communicators made of others, on one endpoint, that listen to multicast */

/* Frees the memory of a communicator, keys overwritten. */
static void erase(struct trib_comm *comm)
{
    trib_tls_release(comm->session.side);
    trib_wipe(&comm->keys, sizeof comm->keys);
    free(comm);
}

/* keys: copied. NULL: out of memory. */
static struct trib_comm *make(const struct trib_config *config, const struct trib_keys *keys, char *error)
{
    static _Atomic uint64_t made;
    struct trib_comm *comm = calloc(1, sizeof *comm);
    if (comm == NULL) {
        trib_explain(error, "out of memory for a communicator");
        return NULL;
    }
    comm->serial = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
    comm->config = *config;
    trib_wipe(comm->config.key, sizeof comm->config.key);
    comm->config.key_len = 0;
    comm->keys = *keys;
    if (keys->is_set) { /* a ring proves nothing: no switch is to make one of this job */
        comm->config.gradient_bytes = 0;
    }
    if (config->sample != 0) { /* ranks know the order of additions if each is a child of the switch */
        comm->config.level0 = false;
    }
    comm->config.wire = trib_config_wire(config);
    comm->member = config->rank;
    comm->members = config->ranks;
    trib_comm_take_scheme(comm);
    comm->deadline_ns = TRIB_NEVER;
    comm->state_deadline_ns = TRIB_NEVER;
    comm->outage_deadline_ns = TRIB_NEVER;
    comm->waits_ns = TRIB_NEVER;
    comm->retry_ns = TRIB_NEVER;
    comm->close_deadline_ns = TRIB_NEVER;
    comm->polled_fd = -1;
    trib_session_client_init(&comm->session);
    trib_ping_init(&comm->ping, TRIB_PING_GAP_NS);
    atomic_init(&comm->joined, false);
    atomic_init(&comm->ended, false);
    atomic_init(&comm->failed, false);
    return comm;
}

/* True if other ranks may need this process for more than its own contributions: as a root, as a peer, or for its
 * control plane. Then the process serves them between its calls as well, until they have finished. */
static bool serves_others(const struct trib_comm *comm)
{
    return comm->config.rendezvous[0] != '\0' || comm->config.fallback ||
           (comm->config.switch_address[0] != '\0' && comm->config.gradient_bytes != 0);
}

/* No request runs, and no call is made any more. Threads that wait for ended requests may not have left yet. */
static void dissolve(struct trib_comm *comm)
{
    trib_endpoint_lock(comm->endpoint);
    comm->is_dissolving = true;
    while (comm->callers > 0) {
        (void)pthread_cond_wait(&comm->endpoint->followers, &comm->endpoint->lock);
    }
    trib_session_client_close(&comm->session);
    trib_comm_forget_root(comm);
    trib_comm_close_groups(comm);
    trib_comm_host_close(comm);
    trib_endpoint_unlock(comm->endpoint);
    trib_endpoint_release(comm->endpoint, comm);
    trib_embedded_release(comm->embedded, comm->config.linger_ns, comm->state != TRIB_COMM_FAILED);
    trib_memory_unmap(comm->node, comm->node_size);
    trib_proof_close(comm);
    trib_sampler_close(comm);
    trib_comm_drop_auth(comm);
    if (comm->transport->destroy != NULL) {
        comm->transport->destroy(comm);
    }
    free(comm->subsets);
    erase(comm);
}

/* Results by multicast need sockets of the communicator's own, so only the first few on an endpoint ask for them. A
 * communicator does not try multicast again if it failed for its maker. */
static void inherit(struct trib_comm *made)
{
    uint32_t listening = 0;
    memcpy(made->ring_cause, made->maker->ring_cause, sizeof made->ring_cause);
    for (const struct trib_comm *comm = made->endpoint->comms; comm != NULL; comm = comm->next) {
        listening += comm->group_count > 0;
    }
    made->config.multicast = made->config.multicast && made->maker->is_multicast && listening < GROUPS_MAX;
}

/* True until all ranks have joined once, or the communicator has failed. If the session is lost after WELCOME,
 * another WELCOME comes, and the ranks of a host meet again. */
static bool is_being_made(const struct trib_comm *made)
{
    return made->state != TRIB_COMM_RUNNING && made->state != TRIB_COMM_FAILED && !made->was_running;
}

/* After WELCOME: meets the ranks of this host in memory, and goes on with the dialogue. */
static void meet(struct trib_comm *made)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_status status = trib_level0_meet(made, cause);
    if (status != TRIB_OK) {
        trib_comm_fail_all(made, status, "rank %u: %s", made->config.rank, cause);
    } else if (made->state == TRIB_COMM_MEETING) { /* else the session was lost: there will be another WELCOME */
        trib_comm_begin_probing(made);
    }
    trib_comm_settle(made, trib_clock_ns());
}

static enum trib_status exchange_nonces(struct trib_comm *made, char *error)
{
    enum trib_status status = trib_nonces_exchange(made);
    if (status != TRIB_OK) {
        const char *cause = trib_comm_error(made);
        trib_explain(error, "%s", cause[0] != '\0' ? cause : trib_status_text(status));
    }
    return status;
}

/* made is on an endpoint. Returns when all ranks have joined. A communicator that fails is freed. */
static enum trib_status enter(struct trib_comm *made, char *error)
{
    trib_endpoint_lock(made->endpoint);
    if (made->maker != NULL) {
        inherit(made);
        made->maker->making++;
        trib_comm_settle(made->maker, trib_clock_ns()); /* it waits from now on */
    }
    if (made->maker != NULL && trib_comm_check_open(made->maker) != TRIB_OK) {
        trib_comm_fail(made, made->maker->failure, "%s", made->maker->failure_text);
    } else {
        trib_comm_join(made, trib_clock_ns());
        trib_comm_settle(made, trib_clock_ns());
    }
    trib_endpoint_wait(made->endpoint, &made->joined);
    while (is_being_made(made)) {
        atomic_store_explicit(&made->joined, false, memory_order_relaxed);
        if (made->state == TRIB_COMM_MEETING) {
            meet(made);
        }
        trib_endpoint_wait(made->endpoint, &made->joined);
    }
    if (made->maker != NULL) {
        made->maker->making--;
        made->maker = NULL;
    }
    enum trib_status status = made->state == TRIB_COMM_FAILED ? made->failure : TRIB_OK;
    TRIB_ASSERT(status != TRIB_OK || made->was_running); /* all ranks have been there */
    if (status != TRIB_OK) {
        trib_explain(error, "%s", made->failure_text);
    }
    trib_endpoint_unlock(made->endpoint);
    if (status == TRIB_OK) {
        status = exchange_nonces(made, error);
    }
    if (status != TRIB_OK) {
        dissolve(made);
    }
    return status;
}

static enum trib_status acquire(const struct trib_address *address, struct trib_comm *made, char *error)
{
    if (!trib_fork_watch()) {
        trib_explain(error, "out of memory (pthread_atfork): a forked child could use the communicators of the parent");
        return TRIB_ERR_MEMORY;
    }
    return trib_endpoint_acquire(address, made, trib_endpoint_progress, error);
}

/* All ranks are on this host. maker: NULL, or the communicator whose endpoint made shares. A communicator that fails
 * is freed. */
static enum trib_status enter_host(struct trib_comm *made, struct trib_comm *maker, char *error)
{
    enum trib_status status = trib_comm_open_host(made, maker, error);
    if (status == TRIB_OK && maker != NULL) {
        trib_endpoint_share(maker->endpoint, made, maker);
    } else if (status == TRIB_OK) {
        status = acquire(NULL, made, error);
        if (status != TRIB_OK) {
            trib_host_close(made->host);
        }
    }
    if (status != TRIB_OK) {
        erase(made);
    }
    return status;
}

/* A control plane for rank 0's process, if it is to have one: at the rendezvous; or, if ranks are to go on without this
 * switch, at any port. */
static enum trib_status bring_control(struct trib_comm *made, const struct trib_address *address, char *error)
{
    struct trib_address local = *address;
    if (made->config.rank != 0) {
        return TRIB_OK;
    }
    if (made->config.rendezvous[0] != '\0') {
        return trib_embedded_acquire(&made->config, &made->keys, address, &made->embedded, error);
    }
    if (!made->config.fallback) {
        return TRIB_OK;
    }
    if (!trib_local_towards(address, &local)) { /* no way leads there yet */
        memset(&local.storage, 0, sizeof local.storage);
        local.storage.ss_family = address->storage.ss_family;
    }
    return trib_embedded_acquire(&made->config, &made->keys, &local, &made->embedded, error);
}

/* At the switch, or at the server. Without a switch at rank 0, which starts the control plane. */
static enum trib_status enter_place(struct trib_comm *made, const struct trib_address *address,
                                    const struct trib_address *server, char *error)
{
    enum trib_status status = bring_control(made, address, error);
    if (status == TRIB_OK) {
        status = acquire(address, made, error);
    }
    if (status != TRIB_OK) {
        trib_embedded_release(made->embedded, 0, false);
        erase(made);
        return status;
    }
    if (server->len > 0) {
        trib_endpoint_lock(made->endpoint);
        trib_comm_learn_server(made, server);
        trib_endpoint_unlock(made->endpoint);
    }
    return enter(made, error);
}

static enum trib_status read_address(const char *text, const char *name, struct trib_address *address, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_status status = trib_address_parse(text, TRIB_DEFAULT_PORT, address, cause);
    if (status != TRIB_OK) {
        trib_explain(error, "%s: %s", name, cause);
    } else if (trib_address_port(address) == 0) {
        trib_explain(error, "%s: port 0 cannot be used: name a port from 1 to 65535", text);
        status = TRIB_ERR_INVALID;
    }
    return status;
}

/* Reads the meeting place from config. address: len 0: in the memory of this host. */
static enum trib_status read_place(const struct trib_config *config, struct trib_address *address, char *error)
{
    bool has_switch = config->switch_address[0] != '\0';
    const char *place = has_switch ? config->switch_address : config->rendezvous;
    enum trib_status status = trib_config_check(config, error);
    *address = (struct trib_address){.len = 0}; /* none: payloads of one host need not fit a link */
    return status != TRIB_OK || place[0] == '\0'
               ? status
               : read_address(place, has_switch ? "switch (TRIB_SWITCH)" : "rendezvous (TRIB_RENDEZVOUS)", address,
                              error);
}

enum trib_status trib_comm_create(const struct trib_config *config, struct trib_comm **comm, char *error)
{
    struct trib_address address, server = {.len = 0};
    if (config == NULL || comm == NULL) {
        trib_explain(error, "trib_comm_create: %s is NULL", config == NULL ? "config" : "comm");
        return TRIB_ERR_INVALID;
    }
    enum trib_status status = read_place(config, &address, error);
    if (status == TRIB_OK && config->server_address[0] != '\0') {
        status = read_address(config->server_address, "server (TRIB_SERVER)", &server, error);
    }
    if (status != TRIB_OK) {
        return status;
    }
    struct trib_keys keys;
    status = trib_keys_derive(config->key, config->key_len, &keys, error);
    if (status != TRIB_OK) {
        return status;
    }
    struct trib_tls_side *side = keys.is_set ? trib_tls_client(&keys, false, error) : NULL;
    bool is_possible = side != NULL || !keys.is_set;
    struct trib_comm *made = is_possible ? make(config, &keys, error) : NULL;
    trib_wipe(&keys, sizeof keys);
    if (made == NULL) {
        trib_tls_release(side);
        return is_possible ? TRIB_ERR_MEMORY : TRIB_ERR_SYSTEM;
    }
    made->session.side = side;
    if (!made->config.progress_thread && serves_others(made)) {
        trib_log(TRIB_LOG_WARN,
                 "job %s rank %u: the progress thread stays on (TRIB_PROGRESS=0 is ignored): other ranks need this "
                 "process between its calls, because the job has no switch, may lose it (TRIB_FALLBACK), or may run as "
                 "a ring",
                 config->job, config->rank);
        made->config.progress_thread = true;
    }
    trib_comm_warn_of_cards(made);
    if (made->config.payload == 0) {
        /* the same on every rank: switches of one tree have one family */
        uint32_t behind = made->keys.is_set ? TRIB_AUTHENTICATOR_SIZE : 0;
        made->config.payload = trib_address_payload(&address, behind);
    }
    status = address.len > 0 ? enter_place(made, &address, &server, error) : enter_host(made, NULL, error);
    if (status == TRIB_OK) {
        *comm = made;
    }
    return status;
}

/* A maker that has failed stops the call before a control plane starts or ranks meet in memory. */
static enum trib_status check_maker(struct trib_comm *maker, char *error)
{
    trib_endpoint_lock(maker->endpoint);
    enum trib_status status = trib_comm_check_open(maker);
    if (status != TRIB_OK) {
        trib_explain(error, "%s", maker->failure_text);
    }
    trib_endpoint_unlock(maker->endpoint);
    return status;
}

/* Notes what the JOINs of a derived communicator have to name: its maker. */
static void name_maker(struct trib_comm *made, const struct trib_comm *maker)
{
    const char *job = maker->is_derived ? maker->made_by.job : maker->config.job;
    trib_endpoint_lock(maker->endpoint);
    made->made_by.communicator = maker->grant.communicator;
    made->made_by.job_token = maker->grant.job_token;
    (void)snprintf(made->made_by.job, sizeof made->made_by.job, "%s", job);
    trib_endpoint_unlock(maker->endpoint);
}

enum trib_status trib_comm_create_from(struct trib_comm *maker, const struct trib_config *config,
                                       struct trib_comm **comm, char *error)
{
    enum trib_status status = check_maker(maker, error);
    if (status != TRIB_OK) {
        return status;
    }
    struct trib_comm *made = make(config, &maker->keys, error);
    if (made == NULL) {
        return TRIB_ERR_MEMORY;
    }
    made->is_derived = true;
    made->session.side = trib_tls_share(maker->session.side);
    if (trib_comm_is_local(maker)) {
        status = enter_host(made, maker, error);
    } else {
        made->maker = maker;
        name_maker(made, maker);
        if (!maker->endpoint->where.no_box) {
            status = bring_control(made, &maker->endpoint->where.address, error);
            if (status != TRIB_OK) {
                erase(made);
                return status;
            }
        }
        if (made->embedded == NULL) {
            made->embedded = trib_embedded_share(maker->embedded);
        }
        trib_endpoint_share(maker->endpoint, made, maker);
        status = enter(made, error);
    }
    if (status == TRIB_OK) {
        *comm = made;
    }
    return status;
}

uint32_t trib_comm_rank(const struct trib_comm *comm)
{
    return comm != NULL ? comm->config.rank : 0;
}

uint32_t trib_comm_ranks(const struct trib_comm *comm)
{
    return comm != NULL ? comm->config.ranks : 0;
}

const char *trib_comm_job(const struct trib_comm *comm)
{
    return comm != NULL ? comm->config.job : "";
}

const char *trib_comm_scheme(const struct trib_comm *comm)
{
    return comm != NULL ? comm->config.scheme : "";
}

const char *trib_comm_scheme_cause(const struct trib_comm *comm)
{
    return comm != NULL ? comm->ring_cause : "";
}

const char *trib_comm_error(const struct trib_comm *comm)
{
    if (comm != NULL && atomic_load_explicit(&comm->failed, memory_order_acquire)) {
        return comm->failure_text;
    }
    return trib_refusal_of(comm);
}

static void add_counters(const struct trib_counters *counters, struct trib_comm_stats *stats)
{
    if (counters == NULL) {
        return;
    }
    stats->fragments = counters->results;
    stats->contributions_resent = counters->contributions_resent;
    stats->contributions_again = counters->contributions_again;
    stats->probes_sent = counters->probes;
    stats->asks_received = counters->asks;
    stats->held_received = counters->held;
    stats->offers_sent = counters->offers;
    stats->results_repeated = counters->results_repeated;
    stats->results_marked = counters->results_marked;
    stats->results_lacking = counters->results_lacking;
    stats->late = counters->late;
    for (unsigned i = 0; i < TRIB_DROP_COUNT; i++) {
        stats->dropped += counters->dropped[i];
    }
    stats->dropped_duplicate = counters->dropped[TRIB_DROP_DUPLICATE];
    stats->lane_failures = counters->dropped[TRIB_DROP_LANE];
}

/* Reasons up to CRC are those of trib_packet_decode. AUTH is that of a corrupt packet of a job with a key. */
static void add_dropped(const struct trib_comm *comm, struct trib_comm_stats *stats)
{
    for (unsigned i = 0; i < TRIB_DROP_COUNT; i++) {
        stats->dropped += comm->dropped[i];
        stats->dropped_corrupt += i <= TRIB_DROP_CRC || i == TRIB_DROP_AUTH ? comm->dropped[i] : 0;
    }
}

static void add_root(const struct trib_comm *comm, struct trib_comm_stats *stats)
{
    struct trib_port_stats traffic;
    stats->no_box = comm->where.no_box;
    stats->roots = trib_comm_has_peers(comm) ? 0 : comm->grant.roots;
    trib_own_root_traffic(&comm->endpoint->own_root, &traffic);
    stats->root_bytes_sent = traffic.bytes_sent - comm->root_base.bytes_sent;
    stats->root_bytes_received = traffic.bytes_received - comm->root_base.bytes_received;
    stats->root_packets_sent = traffic.packets_sent - comm->root_base.packets_sent;
    stats->root_packets_received = traffic.packets_received - comm->root_base.packets_received;
    stats->bytes_handed += traffic.bytes_handed - comm->root_base.bytes_handed;
    stats->packets_handed += traffic.packets_handed - comm->root_base.packets_handed;
}

void trib_comm_stats(struct trib_comm *comm, struct trib_comm_stats *stats)
{
    struct trib_port_stats traffic;
    if (comm == NULL || stats == NULL) {
        if (stats != NULL) {
            *stats = (struct trib_comm_stats){0};
        }
        return;
    }
    trib_endpoint_lock(comm->endpoint);
    trib_endpoint_traffic(comm->endpoint, &traffic);
    *stats = comm->stats;
    stats->send_calls = traffic.send_calls - comm->base.send_calls;
    stats->receive_calls = traffic.receive_calls - comm->base.receive_calls;
    stats->injected_loss = traffic.injected_loss - comm->base.injected_loss;
    stats->injected_duplicate = traffic.injected_duplicate - comm->base.injected_duplicate;
    stats->injected_reorder = traffic.injected_reorder - comm->base.injected_reorder;
    stats->injected_corrupt = traffic.injected_corrupt - comm->base.injected_corrupt;
    stats->bytes_handed = traffic.bytes_handed - comm->base.bytes_handed;
    stats->packets_handed = traffic.packets_handed - comm->base.packets_handed;
    add_dropped(comm, stats);
    add_counters(trib_comm_counters(comm), stats);
    stats->payload = comm->config.payload;
    stats->multicast = comm->is_multicast;
    stats->hosts = comm->hosts;
    stats->level0 = stats->hosts > 0;
    add_root(comm, stats);
    trib_endpoint_unlock(comm->endpoint);
}

void trib_comm_set_timeout(struct trib_comm *comm, uint64_t timeout_ns)
{
    if (comm == NULL) {
        return;
    }
    trib_endpoint_lock(comm->endpoint);
    comm->config.timeout_ns = timeout_ns;
    trib_endpoint_unlock(comm->endpoint);
}

enum trib_status trib_comm_set_priority(struct trib_comm *comm, uint32_t priority)
{
    if (comm == NULL) {
        return trib_refuse(NULL, TRIB_ERR_INVALID, "set_priority: comm is NULL");
    }
    if (priority > TRIB_PRIORITY_MAX) {
        return trib_refuse(comm, TRIB_ERR_INVALID, "set_priority: %u is above %u", priority, TRIB_PRIORITY_MAX);
    }
    trib_endpoint_lock(comm->endpoint);
    bool has_combiners = trib_scheme_find(comm->config.scheme)->has_combiners;
    comm->priority = has_combiners ? priority : 0; /* elsewhere the field of the packet is a cap */
    trib_endpoint_unlock(comm->endpoint);
    return TRIB_OK;
}

void trib_comm_progress(struct trib_comm *comm)
{
    if (comm == NULL) {
        return;
    }
    trib_endpoint_lock(comm->endpoint);
    trib_endpoint_poke(comm->endpoint);
    trib_endpoint_unlock(comm->endpoint);
}

static void abort_locked(struct trib_comm *comm, const char *cause)
{
    trib_comm_fail_all(comm, TRIB_ERR_ABORTED, "rank %u: %s", comm->config.rank, cause);
    trib_comm_settle(comm, trib_clock_ns());
}

void trib_comm_abort(struct trib_comm *comm)
{
    if (comm == NULL) {
        return;
    }
    trib_endpoint_lock(comm->endpoint);
    abort_locked(comm, "trib_comm_abort was called");
    trib_endpoint_unlock(comm->endpoint);
}

/* Answers other ranks until the control plane says that no rank needs an answer. */
static void say_goodbye(struct trib_comm *comm)
{
    uint64_t now = trib_clock_ns();
    if (trib_comm_is_local(comm) || comm->state == TRIB_COMM_CLOSED) {
        return; /* other ranks find all they need in memory, which outlives this rank; or no rank needs anything */
    }
    comm->is_closing = true;
    if (comm->host != NULL) { /* else ranks of this host could wait for this one, and it for their marks */
        trib_host_leave(comm->host);
    }
    comm->close_deadline_ns = trib_comm_close_time(comm, now);
    trib_comm_tell_close(comm);
    trib_comm_settle(comm, now);
    trib_endpoint_wait(comm->endpoint, &comm->ended);
}

/* Logs the node's counters in one line (TRIB_DEBUG=INFO). */
static void log_counters(const struct trib_comm *comm)
{
    char text[800] = "";
    size_t used = 0;
    const struct trib_counters *counters = trib_comm_counters(comm);
    if (counters == NULL || !trib_log_enabled(TRIB_LOG_INFO)) {
        return;
    }
#define X(name, help)                                                                                                  \
    if (counters->name != 0 && used < sizeof text) {                                                                   \
        used +=                                                                                                        \
            (size_t)snprintf(text + used, sizeof text - used, ", %s %llu", #name, (unsigned long long)counters->name); \
    }
    TRIB_COUNTER_MAP(X)
#undef X
    for (int drop = 1; drop < TRIB_DROP_COUNT; drop++) {
        if (counters->dropped[drop] != 0 && used < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, ", dropped %s %llu",
                                     trib_drop_name((enum trib_drop)drop), (unsigned long long)counters->dropped[drop]);
        }
    }
    trib_log(TRIB_LOG_INFO, "job %s rank %u has closed%s", comm->config.job, comm->config.rank, text);
}

enum trib_status trib_comm_close(struct trib_comm *comm)
{
    if (comm == NULL) {
        return TRIB_OK;
    }
    trib_endpoint_lock(comm->endpoint);
    log_counters(comm);
    if (!trib_comm_is_idle(comm)) {
        abort_locked(comm, "it was closed while operations were running");
    }
    enum trib_status status = comm->state == TRIB_COMM_FAILED ? comm->failure : TRIB_OK;
    if (status == TRIB_OK) {
        say_goodbye(comm);
    }
    trib_endpoint_unlock(comm->endpoint);
    dissolve(comm);
    return status;
}

const char *trib_version(void)
{
    return TRIB_VERSION;
}
