/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c: PROBING, between WELCOME and REGISTER: tries whether every root or peer is at its address, whether packets
 * of full size pass, and whether packets to a root's multicast group come here. Each root or peer echoes a PATH packet,
 * a header first. PATHS tells the result.
 * Read next: join.c (before and after), docs/PROTOCOL.md (PATH). */
#include <stdio.h>
#include <string.h>

#include "comm/bounds.h"
#include "comm/detour.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/paths.h"
#include "comm/say.h"
#include "comm/send.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/wake.h"
#include "core/assert.h"
#include "core/lane.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"

#define GAP_FIRST_NS (20 * TRIB_MILLISECOND_NS)
#define GAP_LAST_NS (100 * TRIB_MILLISECOND_NS)
#define GAP_RANK_NS \
    (TRIB_MILLISECOND_NS / 2) /* all ranks begin at once, and a root is to get no more than 2,000 a second */
#define PROBES_BRISK 32U /* from then on each gap is one more of the longest than the one before: 56 probes in 30 s */
#define PROBES_LEAST 20U /* before a path counts as failed: this process may not have run for a while */
#define NAMED_NS (500 * TRIB_MILLISECOND_NS) /* before the control plane's time is up */
#define GROUP_LIMIT_NS (150 * TRIB_MILLISECOND_NS)
#define GROUP_BUFFER (8U << 20)

static void send_paths(struct trib_comm *comm, bool unicast, bool multicast)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = unicast, .multicast = multicast}};
    trib_session_client_send(&comm->session, &message);
}

/* ---- multicast groups ---- */

void trib_comm_close_groups(struct trib_comm *comm)
{
    while (comm->group_count > 0) {
        comm->group_count--;
        trib_endpoint_close_channel(comm->endpoint, &comm->groups[comm->group_count]);
    }
}

/* One socket per shard, on the interface that leads to the switch. False: no multicast here, unicast then. */
static bool open_groups(struct trib_comm *comm, const struct trib_grant *grant)
{
    struct trib_endpoint *endpoint = comm->endpoint;
    struct trib_port_config config = {
        .payload = comm->config.payload,
        .buffer = GROUP_BUFFER,
        .dscp = comm->config.dscp,
        .trains = comm->config.trains,
        .faults = comm->config.faults,
    };
    char cause[TRIB_ERROR_TEXT_MAX];
    TRIB_ASSERT(comm->group_count == 0 && grant->roots == comm->root_count && !trib_comm_is_wide(comm));
    for (uint32_t i = 0; i < grant->roots; i++) {
        config.local = trib_endpoint_local(endpoint, i);
        config.group = trib_address_v4(grant->group, (uint16_t)(grant->group_port + i));
        config.group_source = comm->roots[i];
        config.faults.seed =
            comm->config.faults.seed + ((uint64_t)comm->config.rank + TRIB_RANKS_MAX) * TRIB_ROOTS_MAX + i;
        if (trib_port_open(&config, &comm->groups[i].port, cause) != TRIB_OK) {
            trib_log(TRIB_LOG_INFO, "job %s rank %u: no multicast: %s", comm->config.job, comm->config.rank, cause);
            trib_comm_close_groups(comm);
            return false;
        }
        comm->groups[i].shard = i;
        comm->groups[i].is_group = true;
        comm->group_count = i + 1;
    }
    trib_endpoint_awaken(comm);
    trib_endpoint_changed(endpoint);
    return true;
}

/* ---- probing ---- */

static uint64_t longest_gap(const struct trib_comm *comm)
{
    uint64_t share_ns = comm->config.ranks * GAP_RANK_NS;
    return share_ns > GAP_LAST_NS ? share_ns : GAP_LAST_NS;
}

/* Gap before the next probe: twice the last, a quarter more or less, so that ranks that began together spread out. A
 * rank that comes back waits long, and the gaps grow: an address named as a root may belong to a process that knows
 * nothing of it. */
static uint64_t next_gap(const struct trib_comm *comm)
{
    TRIB_ASSERT(comm->probes > 0);
    uint64_t drawn = trib_mix64(((uint64_t)comm->grant.communicator << 32) + comm->config.rank * 64 + comm->probes);
    uint32_t doubled = comm->probes < 8 ? comm->probes - 1 : 7;
    uint64_t gap_ns = trib_time_earlier(GAP_FIRST_NS << doubled, longest_gap(comm));
    gap_ns *= comm->probes > PROBES_BRISK ? comm->probes - PROBES_BRISK : 1;
    return gap_ns - gap_ns / 4 + drawn % (gap_ns / 2);
}

/* 2 s of up to 200 ranks, 10 s of 1,024. */
static uint64_t probe_limit(const struct trib_comm *comm)
{
    return PROBES_LEAST * longest_gap(comm);
}

/* Packets of this size have passed here before: of the ranks that went on without their switch, or of the communicator
 * that comm is made of. Not at another place, and not to other ranks of a ring. */
static bool has_passed(const struct trib_comm *comm)
{
    return comm->has_moved || (comm->maker != NULL && !comm->is_untried && !trib_comm_has_peers(comm));
}

/* A wrong MTU shows at once. But where packets have passed before, a silent root may be a stopped process: all wait
 * for it as long as for a rank that does not come. It is named before the control plane's time is up. */
static uint64_t probe_time(const struct trib_comm *comm, uint64_t now_ns)
{
    uint64_t soon_ns = now_ns + probe_limit(comm);
    uint64_t late_ns = has_passed(comm) ? trib_comm_return_time(comm, now_ns) - NAMED_NS : 0;
    return late_ns > soon_ns ? late_ns : soon_ns;
}

/* True if paths were tried here before the switch went away. The new incarnation wants proof of this rank's address
 * again. */
static bool is_back(const struct trib_comm *comm)
{
    return comm->was_running && !comm->has_moved && !comm->is_untried;
}

void trib_comm_begin_probing(struct trib_comm *comm)
{
    if (comm->state != TRIB_COMM_MEETING && comm->state != TRIB_COMM_JOINING) {
        return; /* comm has failed */
    }
    if (comm->is_led) { /* a rank that is led sends and gets no packet: the leader's paths count */
        send_paths(comm, true, is_back(comm) ? comm->is_multicast : comm->config.multicast);
        trib_comm_register(comm);
        return;
    }
    trib_comm_enter(comm, TRIB_COMM_PROBING);
    comm->paths = 0;
    comm->group_paths = 0;
    comm->probes = 0;
    if (is_back(comm)) { /* groups, if any, are known to be heard */
        comm->retry_ns = trib_clock_ns();
        comm->probes_until_ns = TRIB_NEVER;
        comm->group_deadline_ns = 0;
        return;
    }
    trib_comm_close_groups(comm); /* of a WELCOME before the session was lost */
    if (comm->grant.group != 0 && comm->config.multicast) {
        (void)open_groups(comm, &comm->grant);
    }
    /* Read after the groups are open: a kernel in which other networks come and go takes seconds to join a group. */
    uint64_t now_ns = trib_clock_ns();
    comm->retry_ns = now_ns;
    comm->probes_until_ns = probe_time(comm, now_ns);
    comm->group_deadline_ns = comm->group_count > 0 ? now_ns + GROUP_LIMIT_NS : 0;
}

static uint64_t all_roots(const struct trib_comm *comm)
{
    return (UINT64_C(1) << comm->root_count) - 1;
}

/* Sends a header; a packet of full size once the root has proved its address. */
static void probe_path(struct trib_comm *comm, uint32_t root)
{
    static const uint8_t zeros[TRIB_PAYLOAD_MAX];
    bool is_proved = (comm->proved >> root & 1) != 0;
    const struct trib_packet packet = {
        .kind = TRIB_PATH,
        .communicator = comm->grant.communicator,
        .generation = comm->grant.generation,
        .boot = comm->grant.boot,
        .node = (uint16_t)comm->config.rank,
        .lane = comm->own_nonce[root],
        .bitmap = comm->path_nonce[root],
        .payload = zeros,
        .payload_len = (uint16_t)(is_proved ? comm->config.payload : 0),
    };
    trib_comm_send(comm, root, &packet);
}

static void probe_paths(struct trib_comm *comm)
{
    for (uint32_t i = 0; i < comm->root_count; i++) {
        if ((comm->paths >> i & 1) == 0) {
            probe_path(comm, i);
        }
    }
    trib_comm_flush(comm);
    comm->probes++;
}

/* True for an echo of this incarnation, by the receiver of this rank's probe: a late echo of another incarnation, or
 * a stranger's, proves nothing. Peers and groups have one incarnation, and a group brings no nonce. */
static bool is_current(const struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *echo)
{
    bool is_new =
        trib_comm_has_peers(comm) || (echo->boot == comm->grant.boot && echo->generation == comm->grant.generation);
    return from.is_group || (is_new && echo->bitmap == comm->own_nonce[from.root]);
}

/* A root that answers earlier probes is late, and busy: its time begins anew with the last answer. Over a narrow
 * path one answer comes, and no more. */
static void give_time(struct trib_comm *comm, uint32_t root)
{
    uint64_t until_ns = trib_clock_ns() + probe_limit(comm);
    if ((comm->paths >> root & 1) == 0 && until_ns > comm->probes_until_ns) {
        comm->probes_until_ns = until_ns;
    }
}

/* A header brings back this rank's nonce, so that the next probe may be of full size, and a nonce of the root, which
 * the probe takes along: a root sends no full size to an address that has not returned the root's nonce. True: the
 * packet was such a header. */
static bool take_nonce(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *echo)
{
    bool is_nonce = !from.is_group && echo->payload_len == 0;
    bool is_news = (comm->proved >> from.root & 1) == 0;
    if (is_nonce) {
        give_time(comm, from.root);
        comm->proved |= UINT64_C(1) << from.root;
    }
    if (is_nonce && echo->lane != 0 && echo->lane != comm->path_nonce[from.root]) {
        comm->path_nonce[from.root] = echo->lane;
        is_news = true;
    }
    if (is_nonce && is_news) {
        probe_path(comm, from.root);
        trib_comm_flush(comm);
    }
    return is_nonce;
}

/* Ranks can repeat sums if all are children of one node, in the order of ranks (core/sample.h). */
static void refuse_tree(struct trib_comm *comm, uint32_t root, uint32_t child)
{
    char address[64];
    trib_address_format(&comm->roots[root], address);
    trib_comm_fail_all(comm, TRIB_ERR_SETTINGS,
                       "rank %u: samples of sums (TRIB_SAMPLE) need one switch that all ranks join: at %s this rank is "
                       "child %u, so there is a tree of switches, and ranks do not know its order of additions",
                       comm->config.rank, address, child);
}

/* A root also tells this rank's child number; a packet to a group has none. */
static void take_number(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *echo)
{
    bool is_root = !from.is_group && !trib_comm_has_peers(comm) && comm->node != NULL;

    if (is_root && comm->config.sample != 0 && echo->node != comm->member) {
        refuse_tree(comm, from.root, echo->node);
    }
    if (is_root && comm->verbs->set_child != NULL && echo->node < TRIB_CHILDREN_MAX) {
        comm->verbs->set_child(comm->node, from.root, echo->node);
    }
}

void trib_comm_path_arrived(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *echo)
{
    if (comm->state != TRIB_COMM_PROBING || !is_current(comm, from, echo)) {
        return;
    }
    take_number(comm, from, echo);
    if (comm->state != TRIB_COMM_PROBING) { /* it has failed */
        return;
    }
    if (take_nonce(comm, from, echo)) {
        return;
    }
    uint64_t *paths = from.is_group ? &comm->group_paths : &comm->paths;
    *paths |= UINT64_C(1) << from.root;
    trib_comm_make_dirty(comm);
    comm->deadline_ns = 0; /* look at the time: the last echo ends PROBING */
}

/* Names the end of a path that does not pass: a rank of a ring, mostly one that the switch has made of the job; a
 * shard elsewhere; or the ports of the switch. */
static void name_path(const struct trib_comm *comm, uint32_t first, const char *address, char *text, size_t size)
{
    if (trib_comm_has_peers(comm)) {
        (void)snprintf(text, size, "the rank at %s (a ring%s%.150s)", address, comm->ring_cause[0] != '\0' ? ": " : "",
                       comm->ring_cause);
    } else if (!trib_address_same_host(&comm->roots[first], &comm->where.address)) {
        (void)snprintf(text, size, "%s, shard %u of the switch %s", address, first, comm->where.name);
    } else {
        (void)snprintf(text, size, "%s, ports %u to %u", comm->where.name, comm->grant.data_port,
                       comm->grant.data_port + comm->grant.roots - 1);
    }
}

/* Names the first root or rank that has not echoed. */
static void fail_for_path(struct trib_comm *comm)
{
    static const char advice[] = "check the path MTU and the firewall, or set a smaller payload";
    char address[64], path[320], cause[TRIB_ERROR_TEXT_MAX];
    uint32_t first = (uint32_t)__builtin_ctzll(~comm->paths);
    TRIB_ASSERT(first < comm->root_count);
    trib_address_format(&comm->roots[first], address);
    if (comm->where.no_box) {
        trib_comm_fail_all(comm, TRIB_ERR_UNREACHABLE,
                           "rank %u: UDP packets of %u bytes payload do not pass between it and the %s at %s: %s",
                           comm->config.rank, comm->config.payload, trib_comm_has_peers(comm) ? "rank" : "root",
                           address, advice);
        return;
    }
    name_path(comm, first, address, path, sizeof path);
    trib_explain(cause, "UDP packets of %u bytes payload do not pass between here and %s: %s", comm->config.payload,
                 path, advice);
    if (!trib_comm_turn_back(comm, cause)) {
        send_paths(comm, false, false);
        trib_comm_fail(comm, TRIB_ERR_UNREACHABLE, "%s", cause);
    }
}

/* While a question on the session has no answer, silence on the path proves nothing: the switch's process may be
 * stopped. The limit begins anew. The answer to a question of a moment ago is awaited. */
static bool puts_off(struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_ping *ping = &comm->ping;
    uint64_t patient_ns = ping->since_ns + ping->gap_ns / 2;
    if (!ping->is_open) {
        return false;
    }
    comm->probes_until_ns = now_ns < patient_ns ? patient_ns : now_ns + probe_limit(comm);
    return true;
}

void trib_comm_check_paths(struct trib_comm *comm, uint64_t now_ns)
{
    uint64_t all = all_roots(comm);
    bool unicast = comm->paths == all;
    bool multicast = is_back(comm) ? comm->is_multicast : comm->group_count > 0 && comm->group_paths == all;
    bool is_late = !unicast && now_ns >= comm->probes_until_ns && comm->probes >= PROBES_LEAST;
    if (is_late && !puts_off(comm, now_ns)) {
        fail_for_path(comm);
        return;
    }
    if (unicast && (comm->group_count == 0 || is_back(comm) || multicast || now_ns >= comm->group_deadline_ns)) {
        send_paths(comm, true, multicast);
        trib_comm_register(comm);
        return;
    }
    if (now_ns >= comm->retry_ns) {
        probe_paths(comm);
        comm->retry_ns = now_ns + next_gap(comm);
    }
}

uint64_t trib_comm_paths_deadline(const struct trib_comm *comm)
{
    return comm->paths == all_roots(comm) ? comm->group_deadline_ns : comm->retry_ns;
}
