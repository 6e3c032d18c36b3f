/* SPDX-License-Identifier: Apache-2.0 */
/* root.c: see root.h. An opening comes in parts: ROOT_OPEN, and one ROOT_CHILD per rank, in order. The data plane opens
 * the complete opening. From then on, each verb is one message. Read next: agent.c (quotas), roots.c (the controller's
 * side). */
#include "control/agents/root.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "io/explain.h"
#include "schemes/schemes.h"

#define PATH_GAP_FIRST_NS (2 * TRIB_MILLISECOND_NS)
#define PATH_GAP_MAX_NS (200 * TRIB_MILLISECOND_NS)
#define PATH_LIMIT_NS (2 * TRIB_SECOND_NS)
/* If such packets have passed before: a silent parent is probably a stopped process. */
#define PATH_LIMIT_PASSED_NS (20 * TRIB_SECOND_NS)
#define PATH_TRIES_LEAST 12U /* tries before failure, as time also passes while this process does not run */

struct trib_root_plan {
    struct trib_opening opening;
    struct trib_address parent;
    struct trib_auth_key auth;
    uint32_t next; /* no lower rank may follow */
    char scheme[32];
    uint32_t behind;                /* ranks to be named */
    uint32_t named;                 /* ranks named so far */
    uint16_t child[TRIB_RANKS_MAX]; /* of each rank; UINT16_MAX: rank not named */
    uint16_t ranks[TRIB_RANKS_MAX]; /* branch by branch */
    struct trib_branch branches[];  /* room for as many as there are ranks */
};

void trib_root_init(struct trib_root *root, struct trib_agent *agent)
{
    memset(root, 0, sizeof *root);
    root->agent = agent;
    root->opening.job = "";
    root->probe_ns = TRIB_NEVER;
}

static void drop_plan(struct trib_root_plan *plan)
{
    if (plan) {
        trib_wipe(&plan->auth, sizeof plan->auth);
    }
    free(plan);
}

void trib_root_deinit(struct trib_root *root)
{
    trib_agent_shut(root->agent, &root->opening);
    root->open = 0;
    root->probe_ns = TRIB_NEVER;
    drop_plan(root->plan);
    root->plan = NULL;
}

/* Open roots stay open until deinit: the rank is about to end. */
static enum trib_status give_up(struct trib_root *root, enum trib_status status, const char *cause,
                                struct trib_message *answer)
{
    answer->kind = TRIB_MESSAGE_ABORT;
    answer->fail.status = status;
    trib_explain(answer->fail.text, "%s", cause);
    root->has_failed = true;
    return status;
}

static enum trib_status refuse(struct trib_root *root, const struct trib_message *message, const char *what,
                               struct trib_message *answer)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    trib_explain(cause, "unexpected message %s: %s", trib_message_name(message->kind), what);
    return give_up(root, TRIB_ERR_REFUSED, cause, answer);
}

/* Below a server switches are combiners. */
static bool is_its_kind(const struct trib_message *message, const struct trib_scheme *scheme)
{
    const struct trib_rank_set *numbers = &message->root_open.numbers;
    uint32_t count = trib_rank_set_count(numbers);
    bool is_below = message->root_open.parent.len > 0;
    bool are_members = true;
    for (uint32_t i = message->root_open.session.ranks; i < TRIB_RANKS_MAX; i++) {
        are_members = are_members && !trib_rank_set_has(numbers, i);
    }
    return (count != 0) == (scheme->has_servers && is_below) && are_members &&
           (message->root_open.own_pieces == 0 || (count != 0 && scheme->has_pieces));
}

static bool is_sane(const struct trib_message *message)
{
    const struct trib_session_config *session = &message->root_open.session;
    const struct trib_scheme *scheme = trib_scheme_find(message->root_open.scheme);
    struct trib_session_config settled = *session;
    trib_scheme_settle(message->root_open.scheme, &settled);
    return scheme && scheme->switch_node && (!scheme->unfit || !scheme->unfit(&settled)) &&
           message->of.communicator != 0 && message->of.boot != 0 && session->ranks >= 1 &&
           is_its_kind(message, scheme) && session->ranks <= message->root_open.ranks &&
           message->root_open.ranks <= TRIB_RANKS_MAX && message->root_open.behind >= 1 &&
           message->root_open.behind <= message->root_open.ranks &&
           (message->root_open.parent.len > 0 || message->root_open.behind == message->root_open.ranks) &&
           session->roots >= 1 && session->roots <= TRIB_ROOTS_MAX && session->train >= 1 &&
           session->train <= TRIB_TRAIN_PACKETS_MAX && session->slots >= 1 && session->slots <= TRIB_SLOTS_MAX &&
           session->payload >= TRIB_PAYLOAD_ALIGN && session->payload <= TRIB_PAYLOAD_MAX &&
           session->payload % TRIB_PAYLOAD_ALIGN == 0 && session->generation != 0 &&
           trib_settings_is_wire((uint8_t)session->wire);
}

/* True for one more root of an open communicator, before any rank has registered. */
static bool is_another(const struct trib_root *root, const struct trib_message *message)
{
    return trib_root_is_of(root, message) && root->ranks == message->root_open.ranks && root->registered == 0 &&
           root->has_parent == (message->root_open.parent.len > 0) && (root->open >> message->root_open.index & 1) == 0;
}

static enum trib_status refuse_open(struct trib_root *root, const struct trib_message *message,
                                    struct trib_message *answer)
{
    char what[128];
    uint32_t index = message->root_open.index;
    const struct trib_session_config *session = &message->root_open.session;
    int len = snprintf(what, sizeof what, "it asks for a root that cannot be");
    size_t rest = sizeof what - (size_t)len;
    if (is_sane(message) && index >= session->roots) {
        (void)snprintf(what + len, rest, ": root %u, and there are %u, from 0", index, session->roots);
    } else if (is_sane(message) && message->root_open.shard >= root->agent->shards) {
        (void)snprintf(what + len, rest, ": shard %u, and there are %u, from 0", message->root_open.shard,
                       root->agent->shards);
    } else if (is_sane(message) && message->of.communicator == root->of.communicator &&
               (root->open >> index & 1) != 0) {
        (void)snprintf(what + len, rest, ": root %u is open here already", index);
    }
    return refuse(root, message, what, answer);
}

static enum trib_status take_open(struct trib_root *root, const struct trib_message *message,
                                  struct trib_message *answer)
{
    const struct trib_session_config *session = &message->root_open.session;
    bool can_be =
        is_sane(message) && message->root_open.index < session->roots && message->root_open.shard < root->agent->shards;
    if (root->plan || !can_be || (root->of.communicator != 0 && !is_another(root, message))) {
        return refuse_open(root, message, answer);
    }
    struct trib_root_plan *plan = calloc(1, sizeof *plan + message->root_open.ranks * sizeof plan->branches[0]);
    if (!plan) {
        return give_up(root, TRIB_ERR_MEMORY, "out of memory for a root", answer);
    }
    memset(plan->child, 0xff, sizeof plan->child);
    memcpy(plan->scheme, message->root_open.scheme, sizeof plan->scheme);
    plan->opening = (struct trib_opening){
        .session = *session,
        .ranks = message->root_open.ranks,
        .scheme = plan->scheme,
        .boot = message->of.boot,
        .branches = plan->branches,
        .numbers = message->root_open.numbers,
        .pieces = {.own = message->root_open.own_pieces, .count = message->root_open.pieces, .run = session->train},
        .priority = message->root_open.priority,
        .root = message->root_open.index,
        .shard = message->root_open.shard,
        .auth = &plan->auth,
    };
    plan->auth = message->root_open.auth;
    root->has_parent = message->root_open.parent.len > 0;
    if (root->has_parent) {
        plan->parent = message->root_open.parent;
        plan->opening.parent = &plan->parent;
    }
    root->plan = plan;
    root->of = message->of;
    root->ranks = message->root_open.ranks;
    plan->behind = message->root_open.behind;
    root->is_return = message->root_open.is_return;
    root->payload = session->payload;
    return TRIB_OK;
}

/* True if each member is a child, is behind a child switch, or has another way to the parent. */
static bool has_its_children(const struct trib_opening *opening)
{
    uint32_t switches = 0;
    if (trib_opening_is_combiner(opening)) {
        return opening->count == trib_rank_set_count(&opening->numbers);
    }
    for (uint32_t b = 0; b < opening->count; b++) {
        switches += opening->branches[b].is_switch;
    }
    return switches > 0 || opening->parent ? opening->count <= opening->session.ranks
                                           : opening->count == opening->session.ranks;
}

static enum trib_status open_plan(struct trib_root *root, struct trib_message *answer)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_root_plan *plan = root->plan;
    enum trib_status status = TRIB_ERR_INVALID;
    trib_branches_lay_out(plan->branches, plan->opening.count, plan->child, root->ranks, plan->ranks);
    if (!has_its_children(&plan->opening)) {
        trib_explain(error, "%u children of %u", plan->opening.count, plan->opening.session.ranks);
    } else if (trib_opening_check(&plan->opening, error)) {
        /* a switch below has all roots; the process of a rank does not know its later roots */
        uint32_t roots = root->has_parent ? plan->opening.session.roots : root->opening.roots + 1;
        status = trib_agent_open(root->agent, &root->opening, &plan->opening, roots, error);
    }
    root->open |= status == TRIB_OK ? 1U << plan->opening.root : 0;
    root->open = root->opening.is_open ? root->open : 0;
    drop_plan(plan);
    root->plan = NULL;
    if (status != TRIB_OK) { /* a quota's text stands by itself */
        trib_explain(cause, "%s%.400s", status == TRIB_ERR_REFUSED ? "" : "cannot open its root: ", error);
        return give_up(root, status, cause, answer);
    }
    return TRIB_OK;
}

static enum trib_status take_child(struct trib_root *root, const struct trib_message *message,
                                   struct trib_message *answer)
{
    struct trib_root_plan *plan = root->plan;
    uint32_t branch = message->root_child.branch;
    const struct trib_address *from = &message->root_child.from;
    bool is_place = trib_address_port(from) != 0 && !trib_address_is_any(from) && !trib_address_is_group(from) &&
                    !trib_address_is_mapped(from);
    if (!plan || !trib_root_is_of(root, message) || message->root_child.rank < plan->next ||
        message->root_child.rank >= root->ranks || branch > plan->opening.count || !is_place) {
        return refuse(root, message, "it names a child that cannot be", answer);
    }
    struct trib_address *address = &plan->branches[branch].from;
    if (branch == plan->opening.count) {
        *address = *from;
        plan->branches[branch].is_switch = message->root_child.is_switch;
        plan->branches[branch].is_combined = message->root_child.is_combined;
        plan->branches[branch].sender = message->root_child.sender;
        plan->opening.count++;
    } else if (!trib_address_equal(address, from)) {
        return refuse(root, message, "it names two addresses of one child", answer);
    }
    plan->child[message->root_child.rank] = (uint16_t)branch;
    plan->named++;
    plan->next = message->root_child.rank + 1;
    root->behind += !trib_rank_set_has(&root->named, message->root_child.rank);
    trib_rank_set_add(&root->named, message->root_child.rank);
    if (plan->named < plan->behind) {
        return TRIB_OK;
    }
    enum trib_status status = open_plan(root, answer);
    if (status == TRIB_OK) {
        answer->kind = TRIB_MESSAGE_ROOT_OPENED;
        answer->root_opened.of = root->of;
        answer->root_opened.group = root->group;
        answer->root_opened.group_port = root->group_port;
    }
    return status;
}

/* Answers ROOT_READY, once: all ranks behind the root have registered, and a switch below has a path to its parent. */
static void look_if_ready(struct trib_root *root, struct trib_message *answer)
{
    const struct trib_data_plane *plane = root->agent->plane;
    if (root->has_parent && !root->has_path && root->path_limit_ns != 0 &&
        plane->parent_answered(plane->plane, root->of.communicator, NULL)) {
        root->has_path = true;
        root->probe_ns = TRIB_NEVER;
        root->agent->passed = root->payload > root->agent->passed ? root->payload : root->agent->passed;
    }
    if (root->registered == root->behind && (!root->has_parent || root->has_path) && !root->is_ready) {
        root->is_ready = true;
        answer->kind = TRIB_MESSAGE_ROOT_READY;
        answer->of = root->of;
    }
}

/* The first ROOT_PROBE begins to try the path. */
static void take_probe(struct trib_root *root)
{
    const struct trib_data_plane *plane = root->agent->plane;
    if (!root->has_path && root->path_limit_ns == 0) {
        root->probe_ns = 0;
    }
    if (root->group != 0) {
        plane->probe_multicast(plane->plane, root->of.communicator, root->group, root->group_port);
    }
}

enum trib_status trib_root_on_timeout(struct trib_root *root, uint64_t now_ns, struct trib_message *answer)
{
    const struct trib_data_plane *plane = root->agent->plane;
    memset(answer, 0, sizeof *answer);
    if (now_ns < root->probe_ns) {
        return TRIB_OK;
    }
    look_if_ready(root, answer);
    if (root->has_path) {
        return TRIB_OK;
    }
    if (root->path_limit_ns == 0) {
        root->path_limit_ns = now_ns + (root->payload <= root->agent->passed ? PATH_LIMIT_PASSED_NS : PATH_LIMIT_NS);
        root->probe_gap_ns = PATH_GAP_FIRST_NS;
    }
    if (now_ns >= root->path_limit_ns && root->path_tries >= PATH_TRIES_LEAST && !root->is_return) {
        root->probe_ns = TRIB_NEVER;
        return TRIB_ERR_UNREACHABLE;
    }
    plane->probe_parent(plane->plane, root->of.communicator);
    root->path_tries++;
    root->probe_ns = now_ns + root->probe_gap_ns;
    root->probe_gap_ns = 2 * root->probe_gap_ns < PATH_GAP_MAX_NS ? 2 * root->probe_gap_ns : PATH_GAP_MAX_NS;
    return TRIB_OK;
}

/* ROOT_MARK: M, and multicast or not from here on. */
static enum trib_status take_mark(struct trib_root *root, const struct trib_message *message)
{
    const struct trib_data_plane *plane = root->agent->plane;
    bool is_multicast = message->root_mark.multicast && root->group != 0;
    root->mark = message->root_mark.mark;
    plane->learn_mark(plane->plane, root->of.communicator, root->mark);
    plane->multicast(plane->plane, root->of.communicator, is_multicast ? root->group : 0,
                     is_multicast ? root->group_port : 0);
    return TRIB_OK;
}

static bool is_open_here(const struct trib_root *root, const struct trib_message *message)
{
    return root->open != 0 && !root->plan && trib_root_is_of(root, message);
}

static enum trib_status take_join(struct trib_root *root, const struct trib_message *message,
                                  struct trib_message *answer)
{
    const struct trib_data_plane *plane = root->agent->plane;
    uint32_t rank = message->root_join.rank;
    if (!is_open_here(root, message) || rank >= root->ranks || !trib_rank_set_has(&root->named, rank) ||
        message->root_join.mark > TRIB_SEQUENCE_MAX) {
        return refuse(root, message, "it registers a rank that there is not", answer);
    }
    plane->join(plane->plane, root->of.communicator, rank, message->root_join.mark);
    /* A node takes no M above the known marks. The controller may know M from a packet on another way. With the mark of
     * this rank the node may take M. */
    if (root->is_ready && root->mark != 0 && message->root_join.mark >= root->mark) {
        plane->learn_mark(plane->plane, root->of.communicator, root->mark);
    }
    if (!trib_rank_set_has(&root->joined, rank)) {
        trib_rank_set_add(&root->joined, rank);
        root->registered++;
    }
    look_if_ready(root, answer);
    return TRIB_OK;
}

static enum trib_status take_missing(struct trib_root *root, const struct trib_message *message,
                                     struct trib_message *answer)
{
    uint16_t ranks[TRIB_RANKS_MAX];
    const struct trib_data_plane *plane = root->agent->plane;
    uint64_t sequence = message->root_missing.sequence;
    if (!is_open_here(root, message)) {
        return refuse(root, message, "it asks for what is not open", answer);
    }
    uint32_t count = plane->missing(plane->plane, root->of.communicator, sequence, ranks, TRIB_RANKS_MAX);
    answer->kind = TRIB_MESSAGE_ROOT_MISSING;
    answer->of = root->of;
    answer->root_missing.sequence = sequence;
    for (uint32_t i = 0; i < count; i++) {
        trib_rank_list_add(&answer->root_missing.missing, ranks[i]);
    }
    return TRIB_OK;
}

enum trib_status trib_root_receive(struct trib_root *root, const struct trib_message *message,
                                   struct trib_message *answer)
{
    memset(answer, 0, sizeof *answer);
    if (root->has_failed) {
        return TRIB_OK; /* ABORT has not reached the controller yet */
    }
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        return take_open(root, message, answer);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_CHILD) {
        return take_child(root, message, answer);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_JOIN) {
        return take_join(root, message, answer);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_MISSING) {
        return take_missing(root, message, answer);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_PROBE || message->kind == TRIB_MESSAGE_ROOT_MARK) {
        if (!is_open_here(root, message) || !root->has_parent) {
            return refuse(root, message, "it is not for a root", answer);
        }
        if (message->kind == TRIB_MESSAGE_ROOT_MARK) {
            return take_mark(root, message);
        }
        take_probe(root);
        return TRIB_OK;
    }
    return refuse(root, message, "it answers where it should ask", answer);
}

void trib_root_mismatch(struct trib_root *root, uint64_t sequence, const uint32_t rank[2], struct trib_message *answer)
{
    memset(answer, 0, sizeof *answer);
    if (root->open == 0 || root->is_disputed || root->has_failed) {
        return;
    }
    root->is_disputed = true;
    answer->kind = TRIB_MESSAGE_DISPUTE;
    answer->of = root->of;
    answer->dispute.sequence = sequence;
    answer->dispute.rank[0] = rank[0];
    answer->dispute.rank[1] = rank[1];
}
