/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: what many worlds did: how often every path of recovery and every fault was taken, and which were never.
 * Read next: main.c. */
#include <inttypes.h>
#include <string.h>

#include "keys/derive.h"
#include "world.h"

/* What cannot happen, by construction:
 * - a worker takes no registration queue, holds no window of others, answers no probes: the drops of a switch are not its own;
 * - a switch gets no bytes that the decoder refused, checks no lane (it must not know the salt), and is asked
 * nothing. */
static const enum trib_drop worker_drops[] = {
    TRIB_DROP_SOURCE,    TRIB_DROP_KIND,  TRIB_DROP_GENERATION, TRIB_DROP_BOOT, TRIB_DROP_MARK,
    TRIB_DROP_DUPLICATE, TRIB_DROP_SHAPE, TRIB_DROP_DIGEST,     TRIB_DROP_LANE, TRIB_DROP_UNASKED};
static const enum trib_drop switch_drops[] = {
    TRIB_DROP_SOURCE, TRIB_DROP_KIND,   TRIB_DROP_GENERATION, TRIB_DROP_BOOT,      TRIB_DROP_UNREGISTERED,
    TRIB_DROP_MARK,   TRIB_DROP_STALE,  TRIB_DROP_WINDOW,     TRIB_DROP_DUPLICATE, TRIB_DROP_REPEAT,
    TRIB_DROP_SHAPE,  TRIB_DROP_DIGEST, TRIB_DROP_FULL};
static const enum trib_drop peer_drops[] = {TRIB_DROP_SOURCE, TRIB_DROP_KIND,   TRIB_DROP_GENERATION, TRIB_DROP_MARK,
                                            TRIB_DROP_STALE,  TRIB_DROP_WINDOW, TRIB_DROP_DUPLICATE,  TRIB_DROP_SHAPE,
                                            TRIB_DROP_DIGEST, TRIB_DROP_LANE,   TRIB_DROP_UNASKED};
static const enum trib_drop decode_drops[] = {TRIB_DROP_SHORT, TRIB_DROP_VERSION, TRIB_DROP_LENGTH, TRIB_DROP_CRC,
                                              TRIB_DROP_FIELD};

static const char *const never_worker[] = {"results_repeated", "asks_gap",  "asks_finished", "mismatches",
                                           "partials",         "probes_up", "offers_up"};
static const char *const never_peer[] = {"contributions_again",
                                         "results_repeated",
                                         "probes_fast",
                                         "probes_blocked",
                                         "asks",
                                         "asks_gap",
                                         "asks_finished",
                                         "offers",
                                         "boots",
                                         "raw_blocks",
                                         "results_marked",
                                         "results_lacking",
                                         "late",
                                         "partials",
                                         "probes_up",
                                         "offers_up"};
static const char *const never_root[] = {"contributions_resent",
                                         "contributions_again",
                                         "probes_fast",
                                         "probes_blocked",
                                         "raw_blocks",
                                         "results_marked",
                                         "stalls",
                                         "partials",
                                         "probes_up",
                                         "offers_up"};
static const char *const never_inner[] = {"contributions_again", "probes_fast",    "probes_blocked",
                                          "raw_blocks",          "results_marked", "stalls"};

/* Only where windows have caps. */
static const char *const of_caps[] = {"results_marked", "communicators with caps on windows", "caps that rose",
                                      "caps that fell", "shards whose memory was full"};

/* Only where switches below add for servers. */
static const char *const of_combiners[] = {"pools of rows thrown away", "communicators behind combiners"};

/* Only where sums have inner nodes. */
static const char *const of_inner[] = {"communicators with inner nodes within a switch"};

/* Only where ranks can go on without switches. */
static const char *const of_fallback[] = {"roots in ranks' processes"};

/* Only where sums may lack ranks. */
static const char *const of_quorum[] = {"results_lacking",
                                        "late",
                                        "communicators whose sums may lack ranks",
                                        "sums that lacked ranks",
                                        "sums that might have, and did not",
                                        "late parts, before the result",
                                        "late parts, after it",
                                        "results taken, own part unsent",
                                        "offers of sums that lack",
                                        "stalls where M waited"};
/* And only where many are. */
static const char *const of_many_quorums[] = {"offers of what was never sent"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_in(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static unsigned print_count(const char *where, const char *name, uint64_t count, bool needed)
{
    bool missing = needed && count == 0;

    if (needed || count != 0) {
        printf("  %-7s %-35s %12" PRIu64 "%s\n", where, name, count, missing ? "  NEVER" : "");
    }
    return missing;
}

static bool has_caps(const struct trib_scheme *scheme)
{
    return scheme == NULL || trib_scheme_has_caps(scheme);
}

static bool has_servers(const struct trib_scheme *scheme)
{
    return scheme != NULL && scheme->has_servers;
}

/* scheme: as report_print(). Can its worlds show this at all? */
static bool is_shown(const char *name, const struct trib_scheme *scheme)
{
    bool has_quorum = scheme == NULL || scheme->has_quorum;
    bool has_keys = trib_keys_explain_lack() == NULL; /* OpenSSL is there */

    return (has_keys || strcmp(name, "sessions of ranks reset") != 0) &&
           (scheme == NULL || !has_quorum || !is_in(name, of_fallback, COUNT(of_fallback))) &&
           (has_caps(scheme) || !is_in(name, of_caps, COUNT(of_caps))) &&
           (scheme == NULL || has_servers(scheme) || !is_in(name, of_combiners, COUNT(of_combiners))) &&
           (!has_servers(scheme) || !is_in(name, of_inner, COUNT(of_inner))) &&
           (has_quorum || !is_in(name, of_quorum, COUNT(of_quorum))) &&
           ((scheme != NULL && has_quorum) || !is_in(name, of_many_quorums, COUNT(of_many_quorums)));
}

static unsigned print_counters(const char *where, const struct trib_counters *c, const char *const *never, size_t count,
                               const struct trib_scheme *scheme)
{
    unsigned missing = 0;

#define IS_NEEDED(name) (!is_in(name, never, count) && is_shown(name, scheme))
#define X(name, help) missing += print_count(where, #name, c->name, IS_NEEDED(#name));
    TRIB_COUNTER_MAP(X)
#undef X
#undef IS_NEEDED
    return missing;
}

static unsigned print_drops(const char *where, const uint64_t *dropped, const enum trib_drop *needed, size_t count)
{
    unsigned missing = 0;

    for (uint32_t drop = 1; drop < TRIB_DROP_COUNT; drop++) {
        char name[32];
        bool is_needed = false;
        for (size_t i = 0; i < count; i++) {
            is_needed = is_needed || needed[i] == (enum trib_drop)drop;
        }
        (void)snprintf(name, sizeof name, "drop %s", trib_drop_name((enum trib_drop)drop));
        missing += print_count(where, name, dropped[drop], is_needed);
    }
    return missing;
}

static unsigned print_ranks(const struct world_report *r, const struct trib_scheme *scheme)
{
    static const uint32_t needed[] = {1, 2, 3, 32, 33, 63, 64, 100};
    unsigned missing = 0;

    for (size_t i = 0; i < COUNT(needed); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "communicators of %u", needed[i]);
        missing += print_count("world", name, r->ranks[needed[i]], !has_servers(scheme) || needed[i] <= 64);
    }
    return missing;
}

static unsigned print_reductions(const struct world_report *r)
{
    unsigned missing = 0;

    for (uint32_t reduction = TRIB_SUM; reduction < TRIB_REDUCTION_COUNT; reduction++) {
        for (uint32_t type = TRIB_FLOAT32; type < TRIB_TYPE_COUNT; type++) {
            char name[32];
            (void)snprintf(name, sizeof name, "%s of %s", trib_reduction_name((enum trib_reduction)reduction),
                           trib_type_name((enum trib_type)type));
            missing += print_count("world", name, r->reduced[reduction][type], type != TRIB_BYTES);
        }
    }
    return missing;
}

/* What a world without trees cannot show. */
static bool is_of_trees(const char *text)
{
    static const char *const names[] = {"restarts of an inner switch", "communicators on two levels",
                                        "communicators on three levels"};

    return is_in(text, names, COUNT(names));
}

/* Where OpenSSL is. */
static unsigned print_auths(const struct world_report *r)
{
    bool is_needed = trib_keys_explain_lack() == NULL;
    unsigned missing = 0;

#define X(name, text) missing += print_count("auth", text, r->auth_##name, is_needed);
    WORLD_AUTH_MAP(X)
#undef X
    return missing;
}

static unsigned print_peers(const struct world_report *r)
{
    unsigned missing = print_counters("peer", &r->peer, never_peer, COUNT(never_peer), NULL);

    missing += print_drops("peer", r->peer.dropped, peer_drops, COUNT(peer_drops));
    missing += print_auths(r);
#define X(name, help) missing += print_count("flow", #name, r->flows.name, true);
    TRIB_FLOW_COUNTER_MAP(X)
#undef X
    return missing;
}

static unsigned print_combiners(const struct world_report *r, const struct trib_scheme *scheme)
{
    bool has_pieces = scheme == NULL || scheme->has_pieces;
    unsigned missing = 0;

#define X(name, help) \
    missing += print_count("rows", #name, r->combiner.name, strcmp(#name, "elsewhere") != 0 || has_pieces);
    TRIB_COMBINER_COUNTER_MAP(X)
#undef X
    return missing;
}

/* scheme: the one that was asked for; NULL: worlds of several. */
unsigned report_print(const struct world_report *r, uint32_t depth_max, const struct trib_scheme *scheme)
{
    unsigned missing = 0;

    if (scheme == NULL || scheme->switch_node == NULL) {
        missing += print_peers(r);
    }
    if (scheme != NULL && scheme->switch_node == NULL) {
        return missing;
    }
    missing += print_counters("worker", &r->worker, never_worker, COUNT(never_worker), scheme);
    missing += scheme != NULL ? print_auths(r) : 0;
    missing += print_drops("worker", r->worker.dropped, worker_drops, COUNT(worker_drops));
    missing += print_counters("root", &r->root, never_root, COUNT(never_root), scheme);
    missing += print_drops("root", r->root.dropped, switch_drops, COUNT(switch_drops));
    if (depth_max > 1 && !has_servers(scheme)) {
        missing += print_counters("inner", &r->inner, never_inner, COUNT(never_inner), scheme);
        missing += print_drops("inner", r->inner.dropped, switch_drops, COUNT(switch_drops));
    }
    if (depth_max > 1 && (scheme == NULL || scheme->has_combiners)) {
        missing += print_combiners(r, scheme);
    }
    missing += print_drops("decode", r->decode, decode_drops, COUNT(decode_drops));
#define X(name, text)                                                                         \
    missing += print_count("world", text, r->name,                                            \
                           (depth_max > 1 || !is_of_trees(text)) && is_shown(text, scheme) && \
                               (scheme == NULL || (&r->name != &r->rings && &r->name != &r->hybrids)));
    WORLD_REPORT_MAP(X)
#undef X
    missing += print_ranks(r, scheme);
    missing += print_reductions(r);
    for (uint32_t depth = 1; depth <= depth_max; depth++) {
        printf("  latest end %" PRIu64 " ms after the faults and the transfer on %u levels (seed %" PRIu64
               "), the bound is %u ms\n",
               r->slowest_ns[depth] / WORLD_MS, depth, r->slowest_seed[depth], 1000U * WORLD_BOUND_RTOS);
    }
    printf("  most packets: %" PRIu64 " %% of what the faults account for (seed %" PRIu64 ")\n", r->storm_percent,
           r->storm_seed);
    printf("  most probes of a silent root: %" PRIu64 " %% of the bound (seed %" PRIu64 ")\n", r->silent_percent,
           r->silent_seed);
    return missing;
}

void report_counters(struct trib_counters *sum, const struct trib_counters *counters)
{
    uint64_t *sums = (uint64_t *)sum;
    const uint64_t *counts = (const uint64_t *)counters;

    for (size_t i = 0; i < sizeof *sum / sizeof *sums; i++) {
        sums[i] += counts[i];
    }
}

void report_add(struct world_report *sum, const struct world_report *own)
{
    struct world_report before = *sum;
    uint64_t *sums = (uint64_t *)sum;
    const uint64_t *counts = (const uint64_t *)own;

    for (size_t i = 0; i < sizeof *sum / sizeof *sums; i++) {
        sums[i] += counts[i];
    }
    for (uint32_t depth = 0; depth <= WORLD_DEPTH_MAX; depth++) {
        bool slower = own->slowest_ns[depth] > before.slowest_ns[depth];
        sum->slowest_ns[depth] = slower ? own->slowest_ns[depth] : before.slowest_ns[depth];
        sum->slowest_seed[depth] = slower ? own->slowest_seed[depth] : before.slowest_seed[depth];
    }
    bool busier = own->storm_percent > before.storm_percent;
    sum->storm_percent = busier ? own->storm_percent : before.storm_percent;
    sum->storm_seed = busier ? own->storm_seed : before.storm_seed;
    bool louder = own->silent_percent > before.silent_percent;
    sum->silent_percent = louder ? own->silent_percent : before.silent_percent;
    sum->silent_seed = louder ? own->silent_seed : before.silent_seed;
    sum->trace = own->trace;
}
