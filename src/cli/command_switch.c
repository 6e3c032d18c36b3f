/* SPDX-License-Identifier: Apache-2.0 */
/* command_switch.c: `tributary switch`: options and a configuration file for the daemon of src/switchd. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/http_guard.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/switch_names.h"
#include "control/jobs/state.h"
#include "fabric/placed.h"
#include "fabric/planned.h"
#include "io/explain.h"
#include "io/log.h"
#include "keys/keyring.h"
#include "keys/store.h"
#include "net/identity.h"
#include "net/resolve.h"
#include "switchd/switchd.h"

struct switch_options {
    struct trib_switchd_config config;
    const char *file;
    const char *listen;
    const char *parent;
    const char *identity;
    const char *with;
    const char *lend;
    const char *topology;
    const char *plan;
    struct trib_topology links;  /* of the topology */
    struct trib_planned planned; /* of the plan, */
    struct trib_placed placed;   /* or if it is one of --objective */
    const char *http;
    const char *http_tls;
    const char *http_token;
    const char *group;
    const char *keys;
    const char *key;
    struct trib_keyring ring;     /* of --keys and --key */
    struct trib_http_guard guard; /* of --http-tls and --http-token */
    bool check;
};

static OPTION_READER(read_fd)
{
    uint32_t fd = 0;
    enum trib_status status = option_count(kind, text, &fd, error);

    if (status == TRIB_OK) {
        *(int *)field = (int)fd;
    }
    return status;
}

static bool is_none(const char *text)
{
    return strcmp(text, "none") == 0;
}

static OPTION_READER(read_http)
{
    return is_none(text) ? option_text(kind, text, field, error) : option_address(kind, text, field, error);
}

static OPTION_READER(read_share)
{
    (void)kind;
    if (strcmp(text, "static") != 0 && strcmp(text, "dynamic") != 0) {
        trib_explain(error, "\"%.80s\" is none of dynamic, static", text);
        return TRIB_ERR_INVALID;
    }
    *(bool *)field = strcmp(text, "static") == 0;
    return TRIB_OK;
}

static OPTION_READER(read_group)
{
    struct in_addr group = {0};

    if (!is_none(text) && (inet_pton(AF_INET, text, &group) != 1 || !IN_MULTICAST(ntohl(group.s_addr)))) {
        trib_explain(error, "\"%.80s\" is not an IPv4 multicast address such as 239.255.74.70", text);
        return TRIB_ERR_INVALID;
    }
    return option_text(kind, text, field, error);
}

#define JOB_QUOTA (UINT64_C(3) << 30)
#define AT(field) offsetof(struct switch_options, field)

static const struct option_row rows[] = {
    {"listen", 'l', "ADDRESS,...",
     "addresses and port for sessions (TCP) and data (UDP); with n addresses, shard t uses number t mod n "
     "[0.0.0.0:7470]",
     OPTION_ADDRESSES, AT(listen)},
    {"threads", 't', "N", "shards: threads with a UDP port each, port + 0, 1, ... [as many as addresses]",
     OPTION_COUNT(1, TRIB_ROOTS_MAX), AT(config.threads)},
    {"parent", 'p', "ADDRESS", "make this switch a child of the one at HOST[:PORT], which then adds up the sums [none]",
     OPTION_ADDRESS, AT(parent)},
    {"identity", 0, "NAME",
     "with --parent: a name that no other switch has, and that stays the same over restarts [from the machine and "
     "--listen]",
     OPTION_TEXT, AT(identity)},
    {"with", 0, "ADDRESS,...",
     "other switches that its jobs use as well, each a part of every tensor; ranks name this one alone [none]",
     OPTION_ADDRESSES, AT(with)},
    {"lend", 0, "ADDRESS,...",
     "switches that name this one in --with, by the addresses that they come from: their jobs may use its shards "
     "[none]",
     OPTION_ADDRESSES, AT(lend)},
    {"trees", 0, "N",
     "with --with: switches per job, this one included; a job keeps the switches that had the least loaded links when "
     "it started [all, of 8 at most]",
     OPTION_COUNT(1, TRIB_SWITCHES_MAX), AT(config.trees)},
    {"topology", 0, "FILE",
     "with --trees: which hosts and switches are behind which links [each switch is one link away]", OPTION_TEXT,
     AT(topology)},
    {"plan", 0, "FILE",
     "a plan of `tributary plan`; with --with: the switches and weights of the jobs that it names; a plan of "
     "--objective, at the server of jobs of scheme goat: the pieces that each switch below adds; other jobs run as "
     "without a plan [none]",
     OPTION_TEXT, AT(plan)},
    {"weight", 0, "N",
     "this switch's share of a tensor, relative to the other switches, 1 to 255: weight 2 gets twice as much as weight "
     "1 [1]",
     OPTION_COUNT(1, UINT8_MAX), AT(config.weight)},
    {"http", 0, "ADDRESS",
     "address of HTTP: states as JSON, and /metrics; \"none\" for no HTTP [127.0.0.1, port + 1000]",
     OPTION_KIND(read_http, 1, TRIB_NAME_MAX), AT(http)},
    {"http-tls", 0, "FILE",
     "HTTP by TLS 1.3: certificates, the switch's first, and its private key, in PEM; with --http-token [none: in "
     "clear]",
     OPTION_TEXT, AT(http_tls)},
    {"http-token", 0, "FILE",
     "HTTP for who shows this token (`tributary key new FILE`), as Authorization: Bearer; /healthz is for all; with "
     "--http-tls [none: for everybody]",
     OPTION_TEXT, AT(http_token)},
    {"keys", 0, "DIR", "accept only jobs with a key that has a file in DIR (`tributary key tenant`) [none: all jobs]",
     OPTION_TEXT, AT(keys)},
    {"key", 0, "FILE",
     "key of the operator (`tributary key new`), the same at all switches: other switches need it [none]", OPTION_TEXT,
     AT(key)},
    {"memory", 0, "SIZE", "slot memory for all jobs [4GiB]", OPTION_SIZE(1, UINT64_MAX), AT(config.memory_quota)},
    {"job-quota", 0, "SIZE", "slot memory for one job, all its groups together [3GiB, or --memory if that is less]",
     OPTION_SIZE(1, UINT64_MAX), AT(config.job_quota)},
    {"tenant-quota", 0, "SIZE", "slot memory for all jobs of one key together [with --keys three quarters of --memory]",
     OPTION_SIZE(1, UINT64_MAX), AT(config.tenant_quota)},
    {"pool", 0, "SIZE",
     "with --parent: memory for one pool of rows, which add parts of jobs of scheme atp or goat on the way to a "
     "server; 0: parts are forwarded one by one [64MiB]",
     OPTION_SIZE(0, UINT64_MAX / 2), AT(config.pool)},
    {"pool-share", 0, "HOW",
     "how jobs share the pool: dynamic: each job can use every row, and takes rows from jobs of lower TRIB_PRIORITY; "
     "static: each job has an equal number of rows [dynamic]",
     OPTION_KIND(read_share, 1, TRIB_NAME_MAX), AT(config.is_pool_static)},
    {"combine", 0, NULL,
     "with --parent: add in the pool only, and refuse jobs of schemes that keep sums in every switch; a job uses at "
     "most as many servers (--with) as this switch has --threads",
     OPTION_ON, AT(config.combines_only)},
    {"threshold", 0, "SIZE",
     "a job with fewer bytes of gradients an iteration, as its TRIB_GRADIENT_BYTES says, runs as a ring of its ranks, "
     "and leaves the switch to larger jobs; the PANAMA paper has 40MB [0: none]",
     OPTION_SIZE(0, UINT64_MAX), AT(config.threshold)},
    {"join-timeout", 0, "TIME", "how long a job's first rank waits for its last [30s]", OPTION_TIMEOUT,
     AT(config.join_timeout_ns)},
    {"group", 0, "IPV4", "first multicast group for results; \"none\" for unicast [239.255.74.70]",
     OPTION_KIND(read_group, 1, TRIB_NAME_MAX), AT(group)},
    {"buffer", 0, "SIZE", "socket buffers of a shard [32MiB]", OPTION_SIZE32(1, TRIB_BUFFER_MAX), AT(config.buffer)},
    {"dscp", 0, "N", "DSCP of data packets, 0 to 63 [0]", OPTION_COUNT(0, 63), AT(config.dscp)},
    {"backlog", 0, "SIZE",
     "panama, rina, atp, goat, ps: report congestion if more bytes than this for each child wait in a socket; 0: "
     "never [127500]",
     OPTION_SIZE32(0, TRIB_BUFFER_MAX), AT(config.backlog)},
    {"spin-us", 0, "N", "longest busy wait before a shard sleeps, microseconds; between trains a tenth [200]",
     OPTION_COUNT(0, TRIB_SPIN_US_MAX), AT(config.spin_us)},
    {"no-trains", 0, NULL, "one packet a system call, for comparison", OPTION_OFF, AT(config.trains)},
    OPTION_FAULT_ROWS(AT(config.faults)),
    {"config", 'c', "FILE", "read options from FILE first: lines of `name = value`", OPTION_TEXT, AT(file)},
    {"check-config", 0, NULL, "check options and file, start nothing", OPTION_ON, AT(check)},
    {"ready-fd", 0, "FD", "write the port and a newline to this descriptor when serving",
     OPTION_KIND(read_fd, 0, INT32_MAX), AT(config.ready_fd)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_switch = {
    .usage = "tributary switch [options]",
    .summary =
        "Runs a software switch, which sums the contributions of all ranks of a job and returns the result.\nWith "
        "--parent the switch is part of a tree: ranks name the nearest switch, and only sums go up.\nWith --with "
        "several switches share each tensor, and all their links are used. With --trees each job uses some of\nthese "
        "switches, and does not depend on the others.\nJobs of scheme atp or goat use the switch without --parent as "
        "their parameter server. Switches with --parent add\nparts on the way: for atp as far as the pool has room, "
        "for goat by a plan.\nA topology (--topology) is a TOML file with a table [[link]] for each link: `rate = "
        "\"100Gbps\"` and\n`between = \"10.0.1.0/24 leaf1\"`. An end is a subnet or an address of hosts, a switch as "
        "--listen or --with names it,\nor any other name, for a box that only forwards.",
    .rows = rows,
    .examples =
        "  tributary switch                             # all addresses, port 7470\n"
        "  tributary switch --listen 10.0.0.1:7470 --threads 2\n"
        "  tributary switch --listen 10.0.0.1,10.0.1.1   # two network cards, a shard at each\n"
        "  tributary switch --parent 10.0.0.1            # its ranks' sums go on to the switch at 10.0.0.1:7470\n"
        "  tributary switch --with 10.0.0.2,10.0.0.3      # its jobs use the switches there as well\n"
        "  tributary switch --lend 10.0.0.1               # as each of those is started\n"
        "  tributary switch --with 10.0.0.2,10.0.0.3 --trees 2 --topology links.toml\n"
        "  tributary switch --with 10.0.0.2,10.0.0.3 --plan plan.toml     # as `tributary plan` has dealt the jobs\n"
        "  tributary switch --listen 10.0.9.9 --plan goat.toml            # the server of jobs of scheme goat\n"
        "  tributary switch --config /etc/tributary/switch.conf --check-config",
};

const struct option_command options_of_server = {
    .usage = "tributary server [options]",
    .summary =
        "Runs a parameter server on a host, for jobs of scheme atp, goat or ps (TRIB_SCHEME): the same program as "
        "`tributary\n"
        "switch`, with the same options. All parts of a job come here, or sums of parts, where switches on the "
        "way are\n"
        "combiners (`tributary switch --combine --parent SERVER`): ranks name the combiner next to them, or the "
        "server.\n"
        "Several servers share each tensor (--with), or the jobs (--with and --trees).",
    .rows = rows,
    .examples =
        "  tributary server --listen 10.0.0.9                              # all jobs of all ranks\n"
        "  tributary switch --combine --parent 10.0.0.9                    # on the box at the top of a rack\n"
        "  tributary server --listen 10.0.0.9 --with 10.0.0.8              # half of each tensor each\n"
        "  tributary server --listen 10.0.0.9 --with 10.0.0.8 --trees 1    # half of the jobs each\n"
        "  tributary server --listen 10.0.0.8 --lend 10.0.0.9              # as that one is started\n"
        "  tributary server --listen 10.0.0.1 --with 10.0.0.2,10.0.0.3     # one on each worker's host; 8 at most\n"
        "  tributary switch --combine --parent 10.0.0.1 --threads 3        # as many threads as servers",
};

static void on_signal(int number)
{
    (void)number;
    trib_switchd_stop();
}

/* The first is the address of the switch, for ranks and children; the others are there as well. An address that is not
 * of this machine is said before anything is bound, with those that are. */
static bool resolve_listen(const char *text, struct trib_switchd_config *config)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_address_list list;

    if (trib_address_list_parse(text, TRIB_DEFAULT_PORT, &list, error) != TRIB_OK) {
        complain("--listen: %s", error);
        return false;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        char have[300];
        char at[64];
        if (list.count > 1 && !trib_address_is_local(&list.at[i])) {
            trib_address_format(&list.at[i], at);
            trib_nics_describe(list.at[i].storage.ss_family, have, sizeof have);
            complain("--listen: %s is no address of this machine, which has %s", at, have);
            return false;
        }
    }
    config->listen = list.at[0];
    config->also.count = list.count - 1;
    for (uint32_t i = 1; i < list.count; i++) {
        config->also.at[i - 1] = list.at[i];
    }
    return true;
}

static bool resolve_askers(const char *text, struct trib_switchd_config *config)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (trib_others_parse(text, TRIB_DEFAULT_PORT, &config->lend_to, error) != TRIB_OK) {
        complain("--lend: %s", error);
        return false;
    }
    return true;
}

static bool resolve_lenders(const char *text, struct trib_switchd_config *config)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (trib_others_parse(text, TRIB_DEFAULT_PORT, &config->lenders, error) != TRIB_OK) {
        complain("--with: %s", error);
        return false;
    }
    return true;
}

/* Pieces are placed on switches below, which come later: by their addresses. */
static bool fits_placed(struct switch_options *options)
{
    for (uint32_t i = 0; i < options->placed.switch_count; i++) {
        const struct trib_placed_switch *it = &options->placed.switches[i];
        if (it->at.len == 0) {
            complain("--plan: %s:%u: switch %s: in the network of a plan of --objective name each switch that adds by "
                     "its address and port, such as 10.0.9.1:%d",
                     options->plan, it->place.line, it->name, TRIB_DEFAULT_PORT);
            return false;
        }
    }
    if (options->parent != NULL) {
        complain("--plan: this switch has a parent: a plan of --objective is for the server, which has none");
        return false;
    }
    options->config.placed = &options->placed;
    return true;
}

static bool take_plan(struct switch_options *options, const struct trib_toml *toml,
                      const struct trib_switch_names *names)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    bool is_good = trib_placed_read(&options->placed, toml, error);

    if (is_good && options->placed.count > 0) {
        return fits_placed(options);
    }
    if (is_good && options->with == NULL) {
        complain("--plan: there is only one switch: name others with --with");
        return false;
    }
    if (!is_good || !trib_planned_read(&options->planned, toml, names, error)) {
        complain("--plan: %s", error);
        return false;
    }
    options->config.planned = &options->planned;
    return true;
}

static bool resolve_plan(struct switch_options *options, const struct trib_switch_names *names)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_toml toml;

    if (options->plan == NULL) {
        return true;
    }
    bool is_read = trib_toml_open(&toml, options->plan, error);
    bool is_good = is_read && take_plan(options, &toml, names);
    if (!is_read) {
        complain("--plan: %s", error);
    }
    trib_toml_free(&toml);
    return is_good;
}

/* Which of them a job has. */
static bool resolve_trees(struct switch_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_switchd_config *config = &options->config;
    const struct switch_names written = {.config = config, .listen = options->listen, .with = options->with};
    const struct trib_switch_names names = switch_names_of(&written);

    if (config->trees > 0 && options->with == NULL) {
        complain("--trees: there is only one switch: name others with --with");
        return false;
    }
    if (config->trees == 0 && config->lenders.count >= TRIB_SWITCHES_MAX) {
        complain("--with: %u other switches: a job uses at most %d: choose a number with --trees",
                 config->lenders.count, TRIB_SWITCHES_MAX);
        return false;
    }
    if (config->trees > config->lenders.count + 1) {
        complain("--trees: %u is out of range: 1 to %u, the switches of --with and this one", config->trees,
                 config->lenders.count + 1);
        return false;
    }
    if (options->topology != NULL && config->trees == 0) {
        complain("--topology: without --trees each job uses all switches: choose a number with --trees");
        return false;
    }
    if (options->topology != NULL && !trib_topology_read(&options->links, options->topology, &names, error)) {
        complain("--topology: %s", error);
        return false;
    }
    config->topology = options->topology != NULL ? &options->links : NULL;
    return resolve_plan(options, &names);
}

/* The keyring of --keys and --key. */
static bool resolve_keys(struct switch_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct stat folder;

    if (options->keys == NULL && options->key == NULL) {
        return true;
    }
    if (trib_keys_explain_lack() != NULL) {
        complain("%s: %s", options->keys != NULL ? "--keys" : "--key", trib_keys_explain_lack());
        return false;
    }
    bool is_there = options->keys == NULL || stat(options->keys, &folder) == 0;
    if (!is_there || (options->keys != NULL && !S_ISDIR(folder.st_mode))) {
        complain("--keys: %.400s is no folder: %s", options->keys, trib_explain_errno(is_there ? ENOTDIR : errno));
        return false;
    }
    if (options->keys != NULL && options->key == NULL &&
        (options->parent != NULL || options->with != NULL || options->lend != NULL)) {
        complain("--keys: together with other switches (--parent, --with, --lend) it needs --key as well: the keys of "
                 "packets go to them, and only --key encrypts the sessions between switches");
        return false;
    }
    trib_wipe(&options->ring, sizeof options->ring); /* with --config options are read twice */
    if (options->key != NULL && trib_keys_load(options->key, &options->ring.own, error) != TRIB_OK) {
        complain("--key: %s", error);
        return false;
    }
    options->ring.folder = options->keys;
    options->ring.is_for_jobs = options->keys != NULL;
    options->config.keys = &options->ring;
    return true;
}

/* The guard of --http-tls and --http-token. */
static bool resolve_guard(struct switch_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (options->http_tls == NULL && options->http_token == NULL) {
        return true;
    }
    if (options->http_tls == NULL || options->http_token == NULL) {
        complain(
            "--http-tls and --http-token go together: in clear a token is no secret, and without one everybody may "
            "ask");
        return false;
    }
    if (options->http != NULL && is_none(options->http)) {
        complain("--http-tls: --http none is no HTTP");
        return false;
    }
    http_guard_forget(&options->guard); /* with --config options are read twice */
    if (!http_guard_read(&options->guard, options->http_tls, options->http_token, error)) {
        complain("%s", error);
        return false;
    }
    options->config.http_guard = &options->guard;
    return true;
}

/* Addresses given as text become addresses. */
static bool resolve(struct switch_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_switchd_config *config = &options->config;

    if (options->listen != NULL && !resolve_listen(options->listen, config)) {
        return false;
    }
    if (options->parent != NULL &&
        trib_address_parse(options->parent, TRIB_DEFAULT_PORT, &config->parent, error) != TRIB_OK) {
        complain("--parent: %s", error);
        return false;
    }
    if (options->identity != NULL && options->parent == NULL) {
        complain("--identity: it is for a switch below another one, which --parent names");
        return false;
    }
    config->identity = options->identity != NULL ? trib_identity_of(options->identity) : 0;
    if (options->lend != NULL && !resolve_askers(options->lend, config)) {
        return false;
    }
    if (!resolve_keys(options) || !resolve_guard(options)) {
        return false;
    }
    if ((options->with != NULL && !resolve_lenders(options->with, config)) || !resolve_trees(options)) {
        return false;
    }
    if (options->http != NULL && is_none(options->http)) {
        config->http.len = 0;
    } else if (options->http != NULL && trib_address_parse(options->http, 0, &config->http, error) != TRIB_OK) {
        complain("--http: %s", error);
        return false;
    }
    if (options->group != NULL) {
        struct in_addr group = {0};
        (void)inet_pton(AF_INET, options->group, &group); /* "none": stays 0 */
        if (group.s_addr != 0 && config->listen.storage.ss_family != AF_INET) {
            complain("--group: multicast is for switches at IPv4 addresses; this one listens at %s", options->listen);
            return false;
        }
        config->group = ntohl(group.s_addr);
    }
    return true;
}

static bool check_ranges(struct switch_options *options)
{
    struct trib_switchd_config *config = &options->config;
    int flags = config->ready_fd >= 0 ? fcntl(config->ready_fd, F_GETFL) : O_RDWR;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) { /* the reader there would wait for ever */
        complain("--ready-fd: %d is not an open, writable descriptor", config->ready_fd);
        return false;
    }
    if (trib_switchd_shards(config) <= config->also.count) {
        complain("--threads: %u shards for %u addresses: each address needs at least one shard", config->threads,
                 config->also.count + 1);
        return false;
    }
    if (config->job_quota == 0) {
        config->job_quota = config->memory_quota < JOB_QUOTA ? config->memory_quota : JOB_QUOTA;
    }
    if (config->tenant_quota != 0 && options->keys == NULL) {
        complain("--tenant-quota: jobs have no keys here: name the folder of their keys with --keys");
        return false;
    }
    if (config->tenant_quota == 0 && options->keys != NULL) { /* a quarter is for other keys */
        config->tenant_quota = config->memory_quota - config->memory_quota / 4;
    }
    if (config->job_quota > config->memory_quota || config->tenant_quota > config->memory_quota) {
        complain("--%s-quota: more than --memory", config->job_quota > config->memory_quota ? "job" : "tenant");
        return false;
    }
    if (trib_switchd_check(config, error) != TRIB_OK) {
        complain("%s", error);
        return false;
    }
    return true;
}

/* The file first, then the command line over it: so the command line is read twice, first only for --config. */
static enum option_outcome read_all(const struct option_command *command, int argc, char **argv,
                                    struct switch_options *options)
{
    int rest = 0;
    enum option_outcome outcome = options_read(command, argc, argv, options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome;
    }
    if (rest < argc) {
        complain("unexpected argument \"%s\"", argv[rest]);
        return OPTIONS_BAD;
    }
    if (options->file != NULL) {
        const char *file = options->file;
        bool checks = options->check;
        if (!options_read_file(command, file, options)) {
            return OPTIONS_BAD;
        }
        if (options->check != checks) {
            complain("%s: check-config: give it on the command line, or the file would start no switch", file);
            return OPTIONS_BAD;
        }
        if (options->file != file) {
            complain("%s: config: a configuration cannot name another one", file);
            return OPTIONS_BAD;
        }
        outcome = options_read(command, argc, argv, options, &rest);
    }
    return outcome == OPTIONS_OK && (!resolve(options) || !check_ranges(options)) ? OPTIONS_BAD : outcome;
}

static int run(const struct switch_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    trib_log_set_default(TRIB_LOG_INFO);
    bool wants_http = (options->http != NULL && options->config.http.len != 0) || options->http_tls != NULL;
    if (wants_http && trib_http_explain_lack() != NULL) {
        return complain("--http%s: %s", options->http_tls != NULL ? "-tls" : "", trib_http_explain_lack());
    }
    interrupt_catch_by(on_signal, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a log at the limit of file sizes loses lines, and ends no job */
    if (trib_switchd_run(&options->config, error) != TRIB_OK) {
        return complain("%s", error);
    }
    return 0;
}

static int serve(const struct option_command *command, int argc, char **argv)
{
    struct switch_options options = {0};
    int result = 0;

    trib_switchd_init(&options.config);
    options.config.is_shared = true;
    options.config.job_quota = 0; /* not said */
    enum option_outcome outcome = read_all(command, argc, argv, &options);
    if (outcome != OPTIONS_OK) {
        result = outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    } else if (options.check) {
        printf("configuration is good\n");
    } else {
        result = run(&options);
    }
    trib_wipe(&options.ring, sizeof options.ring);
    http_guard_forget(&options.guard);
    trib_topology_free(&options.links);
    trib_planned_free(&options.planned);
    trib_placed_free(&options.placed);
    return result;
}

int command_switch(int argc, char **argv)
{
    return serve(&options_of_switch, argc, argv);
}

int command_server(int argc, char **argv)
{
    return serve(&options_of_server, argc, argv);
}
