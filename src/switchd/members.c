/* SPDX-License-Identifier: Apache-2.0 */
/* members.c: see members.h. The table of sources is open-addressed, and rebuilt after a communicator is removed. That
 * is rare, and keeps lookups to one hash and, nearly always, one comparison. */
#include "switchd/members.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "core/quorum.h"
#include "core/share.h"
#include "core/window.h"
#include "io/draw.h"
#include "io/memory.h"
#include "schemes/schemes.h"

/* Config of one node of the tree. A child that is a node of this switch counts as a switch. */
static struct trib_switch_config node_config(const struct trib_switch_verbs *verbs, const struct trib_opening *opening,
                                             const struct trib_tree_shape *shape, uint32_t number)
{
    const struct trib_scheme *scheme = trib_scheme_find(opening->scheme);
    bool is_edge = !trib_tree_is_top(shape, number);
    uint32_t edge = number - (is_edge && shape->has_top);
    struct trib_switch_config config = {
        .session = opening->session,
        .kernels = trib_value_kernels(),
        .children = trib_tree_children(shape, number),
        .root = opening->root,
        .boot = opening->boot,
        .has_parent = number > 0 || opening->parent != NULL,
        .behind = opening->numbers.word[shape->group[edge]],
        .is_zeroed = true,
    };
    config.session.salt = 0;
    trib_scheme_settle(opening->scheme, &config.session);
    config.session.cap = trib_switch_has_caps(verbs) ? trib_share_first(config.session.slots) : 0;
    for (uint32_t child = 0; child < config.children; child++) {
        const struct trib_branch *branch =
            &opening->branches[shape->first[is_edge ? edge : child] + (is_edge ? child : 0)];
        bool is_switch = !is_edge || branch->is_switch;
        config.branches |= (uint64_t)is_switch << child;
        config.has_combiners |= is_edge && branch->is_combined && scheme->has_combiners;
        config.spare += is_switch ? 0 : trib_quorum_brings(&config.session, branch->ranks[0]);
    }
    return config;
}

/* Nodes are adjacent in memory, each in cache lines of its own. */
static size_t padded_size(const struct trib_switch_verbs *verbs, const struct trib_switch_config *config)
{
    return (verbs->size(config) + 63) & ~(size_t)63;
}

size_t trib_member_size(const struct trib_switch_verbs *verbs, const struct trib_opening *opening)
{
    const struct trib_tree_shape shape = trib_tree_shape(opening);
    size_t size = 0;
    for (uint32_t i = 0; i < trib_tree_nodes(&shape); i++) {
        const struct trib_switch_config config = node_config(verbs, opening, &shape, i);
        size += padded_size(verbs, &config);
    }
    return size;
}

static bool has_combined(const struct trib_opening *opening)
{
    bool has = false;
    for (uint32_t i = 0; i < opening->count; i++) {
        has = has || opening->branches[i].is_combined;
    }
    return has;
}

/* Finds which of an edge's children share an address. */
static void group_children(struct trib_member_node *node, uint64_t *together)
{
    for (uint32_t i = 0; i < node->children; i++) {
        for (uint32_t k = 0; k < node->children; k++) {
            bool is_same = trib_address_equal(&node->child[i], &node->child[k]);
            together[i] |= (uint64_t)is_same << k;
        }
    }
    node->together = together;
}

/* Lays out the nodes in the member's memory and the addresses behind the member. */
static void init_nodes(struct trib_member *member, const struct trib_opening *opening)
{
    struct trib_address *addresses = (struct trib_address *)(member->node + member->nodes);
    uint64_t *nonces = (uint64_t *)(void *)(addresses + opening->count);
    uint64_t *together = nonces + opening->count;
    uint32_t *headers = (uint32_t *)(together + opening->count);
    const struct trib_tree_shape *shape = &member->tree->shape;
    size_t at = 0;
    for (uint32_t i = 0; i < opening->count; i++) {
        addresses[i] = opening->branches[i].from;
        nonces[i] = trib_draw() | 1; /* 0: none */
    }
    for (uint32_t i = 0; i < member->nodes; i++) {
        struct trib_member_node *node = &member->node[i];
        const struct trib_switch_config config = node_config(member->verbs, opening, shape, i);
        node->member = member;
        node->number = i;
        node->children = config.children;
        node->lent = TRIB_NEVER;
        node->node = (char *)member->memory + at;
        member->verbs->init(node->node, &config);
        node->is_inner = shape->has_top && i > 0;
        if (node->is_inner && member->verbs->set_child != NULL) {
            member->verbs->set_child(node->node, i - 1);
        }
        member->hearers = member->nodes == 1 ? trib_all_children(config.children) & ~config.branches : 0;
        at += padded_size(member->verbs, &config);
        if (!trib_tree_is_top(shape, i)) {
            uint32_t branch = shape->first[i - shape->has_top];
            node->group = shape->group[i - shape->has_top];
            node->numbers = config.behind;
            node->child = addresses + branch;
            node->first = branch;
            node->nonce = nonces + branch;
            node->headers = headers + branch;
            for (uint32_t child = 0; child < node->children && member->is_large; child++) {
                node->grouped |= (uint64_t)opening->branches[branch + child].is_combined << child;
            }
            if (has_combined(opening)) {
                group_children(node, together + branch);
            }
        }
    }
    member->hearers = has_combined(opening) ? 0 : member->hearers;
}

/* Children, and the parent behind them. False: no memory. */
static bool hear(struct trib_auth *auth, const struct trib_opening *opening)
{
    uint8_t key[TRIB_AUTH_KEY];
    bool is_done = true;
    for (uint32_t i = 0; i < opening->count && is_done; i++) {
        uint16_t id = opening->branches[i].sender;
        trib_auth_make_sender_key(opening->auth->bytes, trib_auth_is_agent(id) ? TRIB_AUTH_UP | id : id, key);
        is_done = trib_auth_set_peer(auth, i, id, key);
    }
    if (opening->parent != NULL && is_done) {
        uint16_t parent = trib_auth_switch(opening->auth->parent, opening->root);
        trib_auth_make_sender_key(opening->auth->bytes, parent, key);
        is_done = trib_auth_set_above(auth, opening->count, parent, key);
    }
    trib_wipe(key, sizeof key);
    return is_done;
}

/* False: no memory. */
static bool open_auth(struct trib_member *member, const struct trib_opening *opening)
{
    uint8_t key[TRIB_AUTH_KEY];
    if (opening->auth == NULL || !trib_auth_is_set(opening->auth->bytes)) {
        return true;
    }
    const uint16_t own = trib_auth_switch(opening->auth->below, opening->root);
    const uint32_t peers = opening->count + member->has_parent;
    trib_auth_make_sender_key(opening->auth->bytes, own, key);
    member->auth = trib_auth_create(key, own, peers, opening->auth->encrypts);
    if (member->has_parent) {
        trib_auth_make_sender_key(opening->auth->bytes, TRIB_AUTH_UP | own, key);
        member->auth_up = trib_auth_create(key, own, 0, opening->auth->encrypts);
    }
    trib_wipe(key, sizeof key);
    bool is_made = member->auth != NULL && (member->auth_up != NULL || !member->has_parent);
    return is_made && hear(member->auth, opening);
}

struct trib_member *trib_member_create(const struct trib_switch_verbs *verbs, const struct trib_opening *opening)
{
    const struct trib_tree_shape shape = trib_tree_shape(opening);
    uint32_t nodes = trib_tree_nodes(&shape);
    struct trib_member *member =
        calloc(1, sizeof *member + nodes * sizeof(struct trib_member_node) +
                      opening->count * (sizeof(struct trib_address) + 2 * sizeof(uint64_t) + sizeof(uint32_t)));
    if (member == NULL) {
        return NULL;
    }
    member->memory_size = trib_member_size(verbs, opening);
    member->memory = trib_memory_map(member->memory_size);
    member->tree = trib_tree_create(opening);
    member->has_parent = opening->parent != NULL;
    if (member->memory == NULL || member->tree == NULL || !open_auth(member, opening)) {
        trib_member_destroy(member);
        return NULL;
    }
    member->verbs = verbs;
    member->timeout_ns = TRIB_NEVER;
    member->idle_ns = TRIB_NEVER;
    member->communicator = opening->session.communicator;
    member->generation = opening->session.generation;
    member->payload = opening->session.payload;
    member->slots = opening->session.slots;
    member->first_cap = trib_switch_has_caps(verbs) ? trib_share_first(member->slots) : 0;
    member->boot = opening->boot;
    member->is_combiner = trib_opening_is_combiner(opening);
    member->is_large = opening->session.ranks > TRIB_CHILDREN_MAX;
    member->pieces = opening->pieces;
    member->span = trib_window_span(&opening->session);
    member->roots = opening->session.roots;
    member->nodes = nodes;
    member->sources = opening->count + (member->has_parent ? (member->is_combiner ? nodes : 1) : 0);
    if (opening->parent != NULL) {
        member->parent = *opening->parent;
        member->own_nonce = trib_draw() | 1;
    }
    init_nodes(member, opening);
    return member;
}

void trib_member_destroy(struct trib_member *member)
{
    if (member != NULL) {
        trib_auth_destroy(member->auth);
        trib_auth_destroy(member->auth_up);
        trib_tree_destroy(member->tree);
        trib_memory_unmap(member->memory, member->memory_size);
        free(member);
    }
}

/* ---- verbs over all nodes ---- */

static void touch(struct trib_member_node *node)
{
    node->has_more = true;
    node->member->is_touched = true;
}

uint32_t trib_member_number(const struct trib_member_node *node, uint32_t child)
{
    uint64_t rest = node->numbers;
    for (uint32_t i = 0; i < child && rest != 0; i++) {
        rest &= rest - 1;
    }
    return rest != 0 ? (uint32_t)__builtin_ctzll(rest) : child;
}

void trib_member_prove(const struct trib_member_source *source)
{
    const struct trib_address *from = trib_member_source_address(source);
    struct trib_member *member = source->node->member;
    source->node->proved |= source->place.children;
    for (uint32_t i = 0; source->is_grouped && i < member->nodes; i++) {
        struct trib_member_node *node = &member->node[i];
        for (uint32_t child = 0; node->together != NULL && child < node->children; child++) {
            node->proved |= (uint64_t)trib_address_equal(&node->child[child], from) << child;
        }
    }
}

static void join_child(struct trib_member *member, uint32_t number, uint32_t child)
{
    struct trib_member_node *node = &member->node[number];
    uint64_t mark;
    if (trib_tree_mark(member->tree, number, child, &mark)) {
        member->verbs->join(node->node, child, mark);
        touch(node);
    }
}

/* From the bottom up: an inner node must never receive an M above the marks of its children. */
void trib_member_join(struct trib_member *member, uint32_t rank)
{
    uint32_t child;
    uint32_t number = trib_tree_node_of(member->tree, member->tree->branch_of[rank], &child);
    join_child(member, number, child);
    if (member->node[number].is_inner) {
        join_child(member, 0, number - 1);
        (void)trib_member_share_mark(member);
    }
}

void trib_member_learn_mark(struct trib_member *member, uint64_t mark)
{
    for (uint32_t i = member->has_parent ? 0 : 1; i < member->nodes; i++) {
        member->verbs->learn_mark(member->node[i].node, mark);
        touch(&member->node[i]);
    }
}

uint64_t trib_member_mark(const struct trib_member *member)
{
    return member->verbs->node.communicator_mark(member->node[0].node);
}

bool trib_member_share_mark(struct trib_member *member)
{
    uint64_t mark = trib_member_mark(member);
    bool is_news = false;
    for (uint32_t i = 1; i < member->nodes; i++) {
        if (member->verbs->node.communicator_mark(member->node[i].node) < mark) {
            member->verbs->learn_mark(member->node[i].node, mark);
            touch(&member->node[i]);
            is_news = true;
        }
    }
    return is_news;
}

void trib_member_missing(const struct trib_member *member, uint64_t sequence, struct trib_tree_ranks *ranks)
{
    for (uint32_t i = 0; i < member->nodes; i++) {
        const struct trib_member_node *node = &member->node[i];
        if (trib_member_node_is_edge(node)) {
            uint64_t children = member->verbs->missing_on(node->node, sequence);
            trib_tree_add_ranks(member->tree, i, children, ranks);
        }
    }
}

uint64_t trib_member_oldest(const struct trib_member *member)
{
    uint64_t oldest = TRIB_NEVER;
    for (uint32_t i = 0; i < member->nodes; i++) {
        uint64_t sequence = TRIB_NEVER;
        if (member->verbs->missing(member->node[i].node, &sequence) != 0 && sequence < oldest) {
            oldest = sequence;
        }
    }
    return oldest;
}

void trib_member_count(const struct trib_member *member, struct trib_counters *sum)
{
    for (uint32_t i = 0; i < member->nodes; i++) {
        const struct trib_member_node *node = &member->node[i];
        struct trib_counters counters = *member->verbs->node.counters(node->node);
        if (!trib_member_node_is_edge(node)) {
            counters.contributions = 0;
            counters.registrations = 0;
        }
        if (i > 0) {
            counters.results = 0;
        }
        trib_counters_add(sum, &counters);
    }
}

uint32_t trib_member_slots_held(const struct trib_member *member)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < member->nodes; i++) {
        held += member->verbs->slots_held(member->node[i].node);
    }
    return held;
}

/* ---- the table of sources ---- */

/* First branch at this branch's address. The branches may belong to different nodes. */
static uint32_t first_of(const struct trib_member *member, uint32_t index)
{
    uint32_t child, other;
    const struct trib_member_node *node = &member->node[trib_tree_node_of(member->tree, index, &child)];
    for (uint32_t i = 0; i < index; i++) {
        const struct trib_member_node *at = &member->node[trib_tree_node_of(member->tree, i, &other)];
        if (trib_address_equal(&at->child[other], &node->child[child])) {
            return i;
        }
    }
    return index;
}

/* One of the member's sources: the branches in order, then the parent; for a combiner the parent once for each node. */
static struct trib_member_source find_place(struct trib_member *member, uint32_t index)
{
    uint32_t branches = member->tree->branches;
    struct trib_member_source source = {.place = {.kind = TRIB_PLACE_PARENT}, .number = branches};
    if (index < branches) {
        uint32_t child;
        source.node = &member->node[trib_tree_node_of(member->tree, index, &child)];
        source.place = trib_member_child(child);
        source.place.children = source.node->together != NULL ? source.node->together[child] : source.place.children;
        source.is_grouped = (source.node->grouped & source.place.children) != 0;
        source.number = source.is_grouped ? first_of(member, index) : index;
    } else {
        source.node = &member->node[index - branches];
        source.is_grouped = member->is_combiner && member->is_large;
    }
    return source;
}

const struct trib_address *trib_member_source_address(const struct trib_member_source *source)
{
    return source->place.kind == TRIB_PLACE_PARENT ? &source->node->member->parent
                                                   : &source->node->child[__builtin_ctzll(source->place.children)];
}

static uint32_t hash_source(uint32_t communicator, const struct trib_address *from)
{
    uint64_t hash = trib_mix64(((uint64_t)communicator << 16) | trib_address_port(from));
    if (from->storage.ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &from->storage, sizeof v4);
        hash ^= v4.sin_addr.s_addr;
    } else if (from->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        uint64_t half[2];
        memcpy(&v6, &from->storage, sizeof v6);
        memcpy(half, &v6.sin6_addr, sizeof half);
        hash ^= trib_mix64(half[0]) + half[1];
    }
    return (uint32_t)trib_mix64(hash);
}

static void insert(struct trib_members *members, struct trib_member *member, uint32_t index)
{
    struct trib_member_source source = find_place(member, index);
    uint32_t mask = members->table_size - 1;
    source.hash = hash_source(member->communicator, trib_member_source_address(&source));
    uint32_t at = source.hash & mask;
    while (members->table[at].node != NULL) {
        at = (at + 1) & mask;
    }
    members->table[at] = source;
}

/* Inserts each address once, or once for each node. */
static void insert_all(struct trib_members *members, struct trib_member *member)
{
    for (uint32_t i = 0; i < member->sources; i++) {
        uint32_t child;
        bool is_parent = i >= member->tree->branches;
        const struct trib_member_node *node = &member->node[is_parent ? 0 : trib_tree_node_of(member->tree, i, &child)];
        if (is_parent || node->together == NULL || __builtin_ctzll(node->together[child]) == (int)child) {
            insert(members, member, i);
        }
    }
}

static void fill_table(struct trib_members *members)
{
    memset(members->table, 0, members->table_size * sizeof *members->table);
    for (uint32_t i = 0; i < members->count; i++) {
        insert_all(members, members->list[i]);
    }
}

static bool grow_list(struct trib_members *members)
{
    if (members->count < members->list_size) {
        return true;
    }
    uint32_t size = members->list_size == 0 ? 16 : 2 * members->list_size;
    struct trib_member **list = realloc(members->list, size * sizeof(struct trib_member *));
    if (list == NULL) {
        return false;
    }
    members->list = list;
    struct trib_share *shares = realloc(members->shares, size * sizeof *shares);
    if (shares == NULL) {
        return false;
    }
    members->shares = shares;
    members->list_size = size;
    return true;
}

static bool grow_table(struct trib_members *members, uint32_t sources)
{
    uint32_t size = members->table_size == 0 ? 256 : members->table_size;
    while (size < 2 * sources) {
        size *= 2;
    }
    if (size == members->table_size) {
        return true;
    }
    struct trib_member_source *table = malloc(size * sizeof *table);
    if (table == NULL) {
        return false;
    }
    free(members->table);
    members->table = table;
    members->table_size = size;
    fill_table(members);
    return true;
}

bool trib_members_add(struct trib_members *members, struct trib_member *member)
{
    if (!grow_list(members) || !grow_table(members, members->sources + member->sources)) {
        return false;
    }
    members->list[members->count++] = member;
    members->sources += member->sources;
    insert_all(members, member);
    return true;
}

void trib_members_remove(struct trib_members *members, struct trib_member *member)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->list[i] == member) {
            members->list[i] = members->list[--members->count];
            members->sources -= member->sources;
            fill_table(members);
            return;
        }
    }
}

void trib_member_give_back(const struct trib_member *member)
{
    for (uint32_t i = 0; i < member->nodes; i++) {
        struct trib_range ranges[TRIB_IDLE_RANGES];
        void *node = member->node[i].node;
        trib_memory_give_back(node, ranges, member->verbs->node.idle(node, ranges));
    }
}

size_t trib_member_memory_held(const struct trib_member *member)
{
    return trib_memory_held(member->memory, member->memory_size);
}

void trib_members_deinit(struct trib_members *members)
{
    for (uint32_t i = 0; i < members->count; i++) {
        trib_member_destroy(members->list[i]);
    }
    free(members->list);
    free(members->shares);
    free(members->table);
    memset(members, 0, sizeof *members);
}

struct trib_member *trib_members_find(const struct trib_members *members, uint32_t communicator)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->list[i]->communicator == communicator) {
            return members->list[i];
        }
    }
    return NULL;
}

const struct trib_member_source *trib_members_find_source(const struct trib_members *members, uint32_t communicator,
                                                          const struct trib_address *from, uint16_t name)
{
    if (members->table_size == 0) {
        return NULL;
    }
    uint32_t mask = members->table_size - 1;
    uint32_t hash = hash_source(communicator, from);
    for (uint32_t at = hash & mask; members->table[at].node != NULL; at = (at + 1) & mask) {
        const struct trib_member_source *source = &members->table[at];
        if (source->hash == hash && source->node->member->communicator == communicator &&
            trib_address_equal(trib_member_source_address(source), from) && trib_member_source_is_of(source, name)) {
            return source;
        }
    }
    return NULL;
}
