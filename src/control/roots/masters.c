/* SPDX-License-Identifier: Apache-2.0 */
/* masters.c: see masters.h. Read next: root.c (one opening), remote.c (the controller's side). */
#include "control/roots/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "schemes/schemes.h"

#define ROOM_CHANGE 4       /* ROOM is sent after a change by this part */
#define MASTERS_NEAR_MAX 32 /* sessions of controllers at one address */
#define LENDINGS_MAX 1024   /* of one controller, which has at most TRIB_JOBS_MAX communicators */

void trib_masters_init(struct trib_masters *masters, struct trib_agent *agent, const struct trib_server_config *config,
                       const struct trib_jobs_output *output)
{
    *masters = (struct trib_masters){.agent = agent, .config = config, .output = output};
}

static void tell(const struct trib_masters *masters, const struct trib_master *master,
                 const struct trib_message *message)
{
    if (master->session) {
        masters->output->send(masters->output->owner, master->session, message);
    } else {
        masters->above.send(masters->above.owner, message);
    }
}

char *trib_masters_name_here(const struct trib_masters *masters, char *text)
{
    char name[64];
    trib_address_format(masters->here.len > 0 ? &masters->here : &masters->config->listen, name);
    (void)snprintf(text, 96, "switch %s", name);
    return text;
}

/* ---- begin and end of sessions ---- */

static bool is_configured(const struct trib_server_config *config, const struct trib_address *peer)
{
    bool is = false;
    for (uint32_t i = 0; i < config->lend_to.count; i++) {
        is = is || trib_address_same_host(&config->lend_to.at[i], peer);
    }
    return is;
}

static const char *explain_unfit(const struct trib_server_config *config)
{
    return config->parent.len > 0 ? "it has a parent, and so lends nothing: name the switch at the root"
           : config->shards == 0  ? "it is not a switch, but rank 0 of a job without one"
                                  : NULL;
}

static uint32_t count_near(const struct trib_masters *masters, const struct trib_address *peer)
{
    uint32_t count = 0;
    for (const struct trib_master *master = masters->first; master; master = master->next) {
        count += trib_address_same_host(&master->peer, peer);
    }
    return count;
}

enum trib_status trib_masters_add(struct trib_masters *masters, struct trib_session *session,
                                  const struct trib_address *peer, const struct trib_address *local,
                                  const struct trib_message *message, char *error)
{
    char name[64];
    struct trib_address from = *peer;
    const char *unfit = explain_unfit(masters->config);
    trib_address_set_port(&from, message->control.port);
    trib_address_format(&from, name);
    if (unfit) {
        trib_explain(error, "%s", unfit);
        return TRIB_ERR_REFUSED;
    }
    if (!is_configured(masters->config, peer)) {
        trib_explain(error, "it lends nothing to %s: start it with --lend %s", name, name);
        return TRIB_ERR_REFUSED;
    }
    if (count_near(masters, peer) >= MASTERS_NEAR_MAX) {
        trib_explain(error, "it has %d sessions with controllers at the address of %s, and takes no more",
                     MASTERS_NEAR_MAX, name);
        return TRIB_ERR_REFUSED;
    }
    struct trib_master *master = calloc(1, sizeof *master);
    if (!master) {
        trib_explain(error, "its control plane is out of memory");
        return TRIB_ERR_MEMORY;
    }
    *master = (struct trib_master){
        .next = masters->first, .session = session, .peer = *peer, .local = *local, .id = message->control.id};
    master->number = masters->count++;
    memcpy(master->name, name, sizeof name);
    masters->first = master;
    return TRIB_OK;
}

struct trib_master *trib_masters_add_above(struct trib_masters *masters)
{
    struct trib_master *master = calloc(1, sizeof *master);
    if (master) {
        *master = (struct trib_master){.next = masters->first, .peer = masters->config->parent};
        master->number = masters->count++;
        trib_address_format(&masters->config->parent, master->name);
        masters->first = master;
    }
    return master;
}

struct trib_message trib_masters_hello(const struct trib_masters *masters, uint64_t life, uint32_t room)
{
    const struct trib_server_config *config = masters->config;
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = config->identity,
                                           .life = life,
                                           .room = room,
                                           .weight = config->weight > 0 ? config->weight : 1,
                                           .shards = (uint8_t)config->shards}};
    for (uint32_t i = 0; i < config->shards; i++) {
        hello.hello.at[i] = trib_server_shard(config, i);
    }
    return hello;
}

void trib_masters_greet(struct trib_masters *masters, struct trib_master *master, const struct trib_message *message,
                        uint64_t life, uint32_t room)
{
    struct trib_message hello = trib_masters_hello(masters, life, room);
    hello.hello.nonce = message->control.nonce;
    master->room = room;
    trib_output_say(masters->output, TRIB_LOG_INFO, "switch %s may have roots here, on %u shards", master->name,
                    masters->config->shards);
    masters->output->send(masters->output->owner, master->session, &hello);
}

void trib_masters_tell_room(struct trib_masters *masters, struct trib_master *master, uint32_t room)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOM, .room = {.room = room}};
    uint32_t change = room > master->room ? room - master->room : master->room - room;
    if (master->session && change > master->room / ROOM_CHANGE) { /* the controller above counts itself */
        master->room = room;
        tell(masters, master, &message);
    }
}

static struct trib_lending **bucket_of(struct trib_masters *masters, uint32_t communicator)
{
    return &masters->by_communicator[communicator % TRIB_LENDINGS_TABLE];
}

static void shut(struct trib_masters *masters, struct trib_lending *lending)
{
    struct trib_lending **at = &masters->lendings;
    struct trib_lending **found = bucket_of(masters, lending->communicator);
    while (*at != lending) {
        TRIB_ASSERT(*at);
        at = &(*at)->next;
    }
    while (*found != lending) {
        TRIB_ASSERT(*found);
        found = &(*found)->next_found;
    }
    *at = lending->next;
    *found = lending->next_found;
    lending->master->lendings--;
    if (lending->master->half == lending) {
        lending->master->half = NULL;
    }
    if (lending->master->session) {
        trib_output_say(masters->output, TRIB_LOG_INFO, "job %s of switch %s has ended its loan", lending->job,
                        lending->master->name);
    } else {
        trib_output_say(masters->output, TRIB_LOG_INFO, "job %s has ended here", lending->job);
    }
    trib_root_deinit(&lending->root);
    free(lending);
}

static struct trib_lending *find_of(const struct trib_masters *masters, const struct trib_master *master)
{
    struct trib_lending *lending = masters->lendings;
    while (lending && lending->master != master) {
        lending = lending->next;
    }
    return lending;
}

void trib_masters_remove(struct trib_masters *masters, struct trib_master *master)
{
    struct trib_lending *lending;
    struct trib_master **at = &masters->first;
    while ((lending = find_of(masters, master)) != NULL) { /* CONTROLLER A7 */
        shut(masters, lending);
    }
    while (*at != master) {
        TRIB_ASSERT(*at);
        at = &(*at)->next;
    }
    *at = master->next;
    free(master);
}

struct trib_lending *trib_masters_find(const struct trib_masters *masters, uint32_t communicator)
{
    struct trib_lending *lending = masters->by_communicator[communicator % TRIB_LENDINGS_TABLE];
    while (lending && lending->communicator != communicator) {
        lending = lending->next_found;
    }
    return lending;
}

/* ---- requests ---- */

/* Reports the end of the incarnation here; the controller tells the ranks the cause. */
static void refuse(struct trib_masters *masters, struct trib_master *master, const struct trib_message *message,
                   const char *job, enum trib_status status, const char *text)
{
    struct trib_message answer = {.kind = TRIB_MESSAGE_ROOT_REFUSED, .root_refused = {.of = message->of}};
    answer.root_refused.status = status;
    trib_explain(answer.root_refused.text, "%s", text);
    trib_output_say(masters->output, TRIB_LOG_WARN, "job %s of switch %s: %s", job, master->name, text);
    tell(masters, master, &answer);
}

static void give_up(struct trib_masters *masters, struct trib_lending *lending, const struct trib_message *message,
                    enum trib_status status, const char *text)
{
    refuse(masters, lending->master, message, lending->job, status, text);
    shut(masters, lending);
}

/* True if the incarnation may have its first root here. A returning controller, on any session, may replace its earlier
 * incarnation: the earlier incarnation is over, even if no ROOT_SHUT has come yet. */
static bool is_free(struct trib_masters *masters, const struct trib_master *master, const struct trib_message *message,
                    char *error)
{
    struct trib_lending *former = trib_masters_find(masters, message->of.communicator);
    if (!former) {
        return true;
    }
    if (former->key != message->root_open.key) {
        trib_explain(error, "communicator %08x is another job's here", message->of.communicator);
        return false;
    }
    if (former->master->number > master->number) { /* a late message from before the controller's restart */
        trib_explain(error, "communicator %08x has been opened by a later session", message->of.communicator);
        return false;
    }
    if (former->root.of.boot == message->of.boot) {
        trib_explain(error,
                     "communicator %08x has roots here already: this switch is named twice, by two addresses: name it "
                     "once (--with)",
                     message->of.communicator);
        return false;
    }
    shut(masters, former);
    return true;
}

static bool has_place(const struct trib_master *master, char *error)
{
    if (master->lendings < LENDINGS_MAX) {
        return true;
    }
    trib_explain(error, "one controller has roots of %d communicators here, and gets no more", LENDINGS_MAX);
    return false;
}

/* Bytes in flight to one root that the communicator's members may have. With caps, the shards divide the room while
 * jobs run. */
static uint64_t flight_of(const struct trib_message *open)
{
    const struct trib_session_config *session = &open->root_open.session;
    bool has_caps = trib_scheme_has_caps(trib_scheme_find(open->root_open.scheme));
    uint64_t window = session->slots / TRIB_SLOTS_PER_WINDOW;
    uint32_t packet = trib_packet_size(session->payload, trib_auth_is_set(open->root_open.auth.bytes));
    return has_caps ? 0 : session->ranks * window * packet;
}

static bool group_is_free(const struct trib_masters *masters, uint32_t group)
{
    const struct trib_lending *lending = masters->lendings;
    while (lending && lending->root.group != group) {
        lending = lending->next;
    }
    return !lending;
}

/* The ranks' earlier group, if given out here, or a new group. */
static void choose_group(const struct trib_masters *masters, struct trib_lending *lending,
                         const struct trib_message *open)
{
    uint32_t first = masters->config->group;
    uint32_t known = open->root_open.group;
    if (!trib_server_has_groups(masters->config)) {
        return;
    }
    if (trib_server_has_group(masters->config, known, open->root_open.group_port) && group_is_free(masters, known)) {
        lending->root.group = known;
    }
    for (uint32_t i = 0; i < TRIB_GROUPS_MAX && open->root_open.wants_group && lending->root.group == 0; i++) {
        lending->root.group = group_is_free(masters, first + i) ? first + i : 0;
    }
    lending->root.group_port = lending->root.group != 0 ? trib_server_group_port(masters->config) : 0;
}

static bool is_kind(const struct trib_masters *masters, const struct trib_message *open, char *error)
{
    if (!masters->config->combines_only || trib_rank_set_count(&open->root_open.numbers) != 0) {
        return true;
    }
    trib_explain(error,
                 "it only combines (--combine), and jobs of scheme %.31s keep sums in every switch: use scheme atp or "
                 "ps, or start this switch without --combine",
                 open->root_open.scheme);
    return false;
}

/* Replaces 0.0.0.0 by the parent's configured address. */
static void name_parent(const struct trib_masters *masters, struct trib_address *parent)
{
    uint16_t port = trib_address_port(parent);
    if (trib_address_is_any(parent)) {
        *parent = masters->config->parent;
        trib_address_set_port(parent, port);
    }
}

/* The first ROOT_OPEN of an incarnation. NULL: refused. */
static struct trib_lending *begin(struct trib_masters *masters, struct trib_master *master,
                                  const struct trib_message *message)
{
    char error[TRIB_ERROR_TEXT_MAX];
    if (!is_kind(masters, message, error) || !is_free(masters, master, message, error) || !has_place(master, error)) {
        refuse(masters, master, message, message->root_open.job, TRIB_ERR_REFUSED, error);
        return NULL;
    }
    struct trib_lending *lending = calloc(1, sizeof *lending);
    if (!lending) {
        refuse(masters, master, message, message->root_open.job, TRIB_ERR_MEMORY, "out of memory for a root");
        return NULL;
    }
    lending->master = master;
    master->lendings++;
    lending->key = message->root_open.key;
    memcpy(lending->job, message->root_open.job, sizeof lending->job);
    trib_make_printable(lending->job, sizeof lending->job);
    lending->flight_bytes = flight_of(message);
    lending->payload = message->root_open.session.payload;
    lending->roots = message->root_open.session.roots;
    trib_root_init(&lending->root, masters->agent);
    lending->root.opening.job = lending->job;
    lending->root.opening.job_id = message->root_open.job_id;
    lending->root.opening.tenant = message->root_open.tenant;
    if (master->session) {
        lending->root.opening.master = &master->peer;
        lending->root.opening.master_name = master->name;
        trib_output_say(masters->output, TRIB_LOG_INFO, "lends %u shards to job %s of switch %s",
                        masters->config->shards, lending->job, master->name);
    } else { /* of a controller above: the quotas of local jobs apply */
        struct trib_address parent = message->root_open.parent;
        char above[64];
        choose_group(masters, lending, message);
        name_parent(masters, &parent);
        trib_address_format(&parent, above);
        trib_output_say(masters->output, TRIB_LOG_INFO,
                        "job %s of the parent: communicator %08x boot %08x, %u of %u ranks here, sums go to %s",
                        lending->job, message->of.communicator, message->of.boot, message->root_open.behind,
                        message->root_open.ranks, above);
    }
    lending->communicator = message->of.communicator;
    lending->next = masters->lendings;
    masters->lendings = lending;
    struct trib_lending **found = bucket_of(masters, lending->communicator);
    lending->next_found = *found;
    *found = lending;
    return lending;
}

/* If there are several addresses here, answers leave from the address named by the controller, whatever the routes are:
 * ranks send to the shards there. A loopback address means another host to ranks elsewhere. */
static void choose_source(const struct trib_masters *masters, const struct trib_master *master,
                          const struct trib_address *to, struct trib_address *from)
{
    const struct trib_address *local = to->len > 0 ? to : &master->local;
    if (trib_address_is_any(&masters->config->listen) && local->len > 0 &&
        trib_address_is_loopback(local) == trib_address_is_loopback(from)) {
        trib_address_set_source(from, local);
    }
}

/* True if a child can send from the address. The same check as for a JOIN, with the session of the controller. */
static bool is_place(const struct trib_masters *masters, const struct trib_master *master,
                     const struct trib_address *from, char *error)
{
    char at[64];
    bool is_near = !master->session ||
                   trib_address_is_loopback(&master->peer); /* this switch has seen the ranks of its sessions */
    bool is_own = trib_server_is_own_place(masters->config, &master->local, from);
    bool is_one = !master->session || !trib_address_is_link_local(from); /* link-local only with a scope of this host */
    if (!is_own && is_one && (is_near || !trib_address_is_loopback(from))) {
        return true;
    }
    trib_address_format(from, at);
    trib_explain(error, "no child of a job sends from %s, %s", at,
                 is_own ? "which is this switch" : "which is a different machine for each host");
    return false;
}

/* A root that lacks children takes memory that no quota counts, so a controller opens one root at a time. */
static void note_half(struct trib_lending *lending)
{
    struct trib_master *master = lending->master;
    if (lending->root.plan) {
        master->half = lending;
    } else if (master->half == lending) {
        master->half = NULL;
    }
}

static void end_half(struct trib_masters *masters, struct trib_lending *half)
{
    const struct trib_message message = {.of = half->root.of};
    give_up(masters, half, &message, TRIB_ERR_REFUSED, "another root was asked for before this one had its children");
}

static void take_root_message(struct trib_masters *masters, struct trib_lending *lending,
                              const struct trib_message *message)
{
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_message asked = *message;
    struct trib_message answer;
    if (message->kind == TRIB_MESSAGE_ROOT_CHILD) {
        if (!is_place(masters, lending->master, &message->root_child.from, error)) {
            give_up(masters, lending, message, TRIB_ERR_REFUSED, error);
            return;
        }
        choose_source(masters, lending->master, &message->root_child.to, &asked.root_child.from);
    } else if (message->kind == TRIB_MESSAGE_ROOT_OPEN && message->root_open.parent.len > 0) {
        name_parent(masters, &asked.root_open.parent);
    }
    enum trib_status status = trib_root_receive(&lending->root, &asked, &answer);
    note_half(lending);
    if (status != TRIB_OK) {
        give_up(masters, lending, message, status, answer.fail.text);
    } else if (answer.kind != TRIB_MESSAGE_NONE) {
        tell(masters, lending->master, &answer);
    }
}

void trib_masters_receive(struct trib_masters *masters, struct trib_master *master, const struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN && master->half && !trib_root_is_of(&master->half->root, message)) {
        end_half(masters, master->half);
    }
    struct trib_lending *lending = trib_masters_find(masters, message->of.communicator);
    bool is_here = lending && lending->master == master && trib_root_is_of(&lending->root, message);
    if (!is_here && message->kind == TRIB_MESSAGE_ROOT_OPEN) {
        lending = begin(masters, master, message);
        is_here = lending != NULL;
    }
    if (!is_here) {
        return; /* of an ended incarnation */
    }
    if (message->kind == TRIB_MESSAGE_ROOT_SHUT) {
        shut(masters, lending);
    } else {
        take_root_message(masters, lending, message);
    }
}

uint64_t trib_masters_next_timeout(const struct trib_masters *masters)
{
    uint64_t when = TRIB_NEVER;
    for (const struct trib_lending *lending = masters->lendings; lending; lending = lending->next) {
        when = trib_time_earlier(when, trib_root_timeout(&lending->root));
    }
    return when;
}

static void fail_path(struct trib_masters *masters, struct trib_lending *lending)
{
    char text[TRIB_ERROR_TEXT_MAX];
    char here[96];
    char parent[64];
    const struct trib_message message = {.of = lending->root.of};
    const struct trib_data_plane *plane = masters->agent->plane;
    uint32_t port = trib_address_port(&masters->config->listen);
    struct trib_address silent = masters->config->parent; /* if the last answer comes just now */
    (void)plane->parent_answered(plane->plane, lending->communicator, &silent);
    trib_address_format(&silent, parent);
    trib_explain(text,
                 "packets of %u bytes payload do not pass between %s, UDP ports %u to %u, and its parent %s: check the "
                 "path MTU and the firewall, or set a smaller payload",
                 lending->payload, trib_masters_name_here(masters, here), port, port + lending->roots - 1, parent);
    give_up(masters, lending, &message, TRIB_ERR_UNREACHABLE, text);
}

void trib_masters_on_timeout(struct trib_masters *masters, uint64_t now_ns)
{
    struct trib_message answer;
    struct trib_lending *next;
    for (struct trib_lending *lending = masters->lendings; lending; lending = next) {
        next = lending->next;
        if (now_ns < trib_root_timeout(&lending->root)) {
            continue;
        }
        if (trib_root_on_timeout(&lending->root, now_ns, &answer) != TRIB_OK) {
            fail_path(masters, lending);
        } else if (answer.kind != TRIB_MESSAGE_NONE) {
            tell(masters, lending->master, &answer);
        }
    }
}

void trib_masters_mismatch(struct trib_masters *masters, uint32_t communicator, uint64_t sequence,
                           const uint32_t rank[2])
{
    struct trib_message dispute = {.kind = TRIB_MESSAGE_NONE};
    struct trib_lending *lending = trib_masters_find(masters, communicator);
    if (lending) {
        trib_root_mismatch(&lending->root, sequence, rank, &dispute);
    }
    if (dispute.kind != TRIB_MESSAGE_NONE) {
        tell(masters, lending->master, &dispute);
    }
}
