/* SPDX-License-Identifier: Apache-2.0 */
/* accept.c: limits of connections: by open files, and by shares for one address, so that no peer excludes other peers.
 * Also the limit of log lines on connections. Read next: connections.c (the states of a connection). */
#include <sys/resource.h>

#include "control/server/accept.h"
#include "control/server/connection.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"

#define DESCRIPTORS_RESERVED 192 /* 64 for HTTP, 2 for each shard, and plenty */
#define STRANGERS_MAX 256        /* sessions without a JOIN, in a foreign process */
#define SHARE_OTHERS 4           /* one address leaves this part of all sessions to other addresses */
#define SHARE_SILENT 8           /* limit of one address for sessions without a JOIN: this part... */
#define SILENT_LEAST 128         /* ...but at least so many */
/* Lines of INFO: two for each rank of the largest job at once, then one in each gap. */
#define LINES_AT_ONCE 2048
#define LINE_GAP_NS (TRIB_SECOND_NS / 10)

/* Number of sessions within the limit of open files, which may first be raised as far as allowed. The reserve is for
 * shards, HTTP and other open files of the process: strangers that only connect must not use the reserve. */
uint32_t trib_connections_limit(bool may_raise)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return TRIB_CONNECTIONS_MAX;
    }
    struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (may_raise && limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0) {
        limit = raised;
    }
    uint64_t room =
        limit.rlim_cur > 2 * DESCRIPTORS_RESERVED ? limit.rlim_cur - DESCRIPTORS_RESERVED : limit.rlim_cur / 2;
    return room < TRIB_CONNECTIONS_MAX ? (uint32_t)room : TRIB_CONNECTIONS_MAX;
}

/* The foreign program may rely on small descriptors (select). So sessions without a JOIN are limited, and only joined
 * sessions raise the limit of open files. */
static bool has_room_as_guest(struct trib_connections *connections)
{
    uint32_t strangers = 0;
    for (uint32_t i = 0; i < connections->count; i++) {
        strangers += !trib_connection_is_joined(connections->all[i]);
    }
    if (strangers >= STRANGERS_MAX || strangers >= connections->limit / 2) {
        return false;
    }
    if (connections->count >= connections->limit) {
        connections->limit = trib_connections_limit(true);
    }
    return true;
}

void trib_connections_explain_room(const struct trib_connections *connections, const struct trib_address *local,
                                   bool is_share, char *text)
{
    char here[64] = "?";
    if (local->len > 0) {
        trib_address_format(local, here);
    }
    trib_explain(
        text,
        is_share ? "%s %s has no room for another session of this address, with %u of all: end some, or raise "
                   "its limit of open files (ulimit -n)"
                 : "%s %s has no room for another session, with %u: come again later, or raise its limit of open files "
                   "(ulimit -n)",
        connections->jobs->config->shards > 0 ? "switch" : "rank 0's process at", here, connections->count);
}

/* True if the address has used its share: three quarters of all sessions, and an eighth for sessions without a JOIN. */
static bool has_its_share(const struct trib_connections *connections, const struct trib_address *peer)
{
    uint32_t all = 0;
    uint32_t strangers = 0;
    uint64_t near = trib_address_near(peer);
    for (uint32_t i = 0; i < connections->count; i++) {
        if (connections->near[i] == near) {
            all++;
            strangers += !trib_connection_is_joined(connections->all[i]);
        }
    }
    uint32_t most = connections->limit - connections->limit / SHARE_OTHERS;
    uint32_t silent = connections->limit / SHARE_SILENT;
    return all >= most || strangers >= (silent > SILENT_LEAST ? silent : SILENT_LEAST);
}

bool trib_connections_lack_room(struct trib_connections *connections, const struct trib_address *peer, bool *is_share)
{
    bool has_room = !connections->jobs->config->is_guest || has_room_as_guest(connections);
    has_room = has_room && connections->count < connections->limit;
    *is_share = has_room && has_its_share(connections, peer);
    return !has_room || *is_share;
}

void trib_connections_say(void *owner, enum trib_log_level level, const char *line)
{
    struct trib_connections *connections = owner;
    uint64_t now_ns = connections->now_ns;
    if (level == TRIB_LOG_INFO) {
        uint64_t paid_ns = LINE_GAP_NS + (connections->lines_ns > now_ns ? connections->lines_ns : now_ns);
        if (paid_ns > now_ns + LINES_AT_ONCE * LINE_GAP_NS) {
            connections->lines_left_out++;
            return;
        }
        connections->lines_ns = paid_ns;
        if (connections->lines_left_out > 0) {
            trib_log(level, "%llu lines are left out here: there were too many",
                     (unsigned long long)connections->lines_left_out);
            connections->lines_left_out = 0;
        }
    }
    trib_log(level, "%s", line);
}
