/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c: makes a config from defaults, launchers and TRIB_* variables, and checks it.
 * Read next: environment.c (the variables), comm.c (the use of a config). */
#include "comm/launcher.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/environment.h"
#include "core/lane.h"
#include "core/packet.h"
#include "core/sample.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/nearest.h"
#include "io/units.h"
#include "keys/derive.h"
#include "net/port.h"
#include "schemes/schemes.h"

extern char **environ;

void trib_config_init(struct trib_config *config)
{
    if (config == NULL) {
        return;
    }
    *config = (struct trib_config){
        .switch_address = "",
        .server_address = "",
        .rendezvous = "",
        .host_id = "",
        .root_weight = 1,
        .job = TRIB_JOB_DEFAULT,
        .run = "",
        .rank = 0,
        .ranks = 1,
        .scheme = "switchml",
        .wire = TRIB_WIRE_OF_SCHEME,
        .priority = 128,
        .payload = 0,
        .level0 = true,
        .multicast = true,
        .progress_thread = true,
        .spin_us = 200,
        .trains = true,
        .backlog = TRIB_BACKLOG_DEFAULT,
        .join_timeout_ns = 30 * TRIB_SECOND_NS,
        .switch_timeout_ns = 10 * TRIB_SECOND_NS,
        .timeout_ns = 30 * 60 * TRIB_SECOND_NS,
        .linger_ns = TRIB_SECOND_NS,
    };
}

static enum trib_status read_launcher_number(const char *name, uint32_t *value, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    uint64_t number = 0;
    enum trib_status status = trib_parse_number(getenv(name), 0, UINT32_MAX, &number, cause);
    if (status != TRIB_OK) {
        trib_explain(error, "%s: %s", name, cause);
        return status;
    }
    *value = (uint32_t)number;
    return TRIB_OK;
}

/* "torchrun 5d1c:29500". A launcher's text that is too long to travel, or cannot be shown, goes in as a digest. */
static void read_run_of(const struct trib_launcher *launcher, struct trib_config *config)
{
    char text[1024];
    size_t len = (size_t)snprintf(text, sizeof text, "%s", launcher->name);
    uint64_t digest = 0;
    bool is_known = false;
    for (unsigned i = 0; i < sizeof launcher->run / sizeof launcher->run[0]; i++) {
        const char *value = launcher->run[i] != NULL ? getenv(launcher->run[i]) : NULL;
        if (value == NULL) {
            continue;
        }
        for (const char *at = value; *at != '\0'; at++) {
            digest = trib_mix64(digest ^ (unsigned char)*at);
        }
        digest = trib_mix64(digest + i + 1);
        len += (size_t)snprintf(text + len, len < sizeof text ? sizeof text - len : 0, "%c%s", is_known ? ':' : ' ',
                                value);
        len = len < sizeof text ? len : sizeof text - 1;
        is_known = true;
    }
    if (is_known && len <= TRIB_NAME_MAX && trib_is_plain(text)) {
        memcpy(config->run, text, len + 1);
    } else if (is_known) {
        (void)snprintf(config->run, sizeof config->run, "%s %016" PRIx64, launcher->name, digest);
    }
}

static bool has_own_place(void)
{
    return getenv("TRIB_RANK") != NULL && getenv("TRIB_RANKS") != NULL;
}

/* Reads the first launcher of which both variables are set. One variable of two is refused: each of its processes
 * would be rank 0 of 1 and return its own tensor as the sum. */
static enum trib_status read_launcher(struct trib_config *config, char *error)
{
    const struct trib_launcher *launcher = NULL;
    const struct trib_launcher *half = NULL;
    for (unsigned i = 0; (launcher = trib_launcher_at(i)) != NULL; i++) {
        bool has_rank = getenv(launcher->rank) != NULL;
        bool has_ranks = getenv(launcher->ranks) != NULL;
        if (has_rank && has_ranks) {
            enum trib_status status = read_launcher_number(launcher->rank, &config->rank, error);
            read_run_of(launcher, config);
            return status == TRIB_OK ? read_launcher_number(launcher->ranks, &config->ranks, error) : status;
        }
        half = half == NULL && has_rank != has_ranks ? launcher : half;
    }
    if (half != NULL && !has_own_place()) {
        bool has_rank = getenv(half->rank) != NULL;
        trib_explain(error, "%s is set and %s is not: set both, or neither, or TRIB_RANK and TRIB_RANKS (%s sets both)",
                     has_rank ? half->rank : half->ranks, has_rank ? half->ranks : half->rank, half->name);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

/* torchrun names rank 0's host, and the number of ranks on this host. If there are ranks elsewhere, and no switch is
 * named, the ranks meet at rank 0's host. */
static enum trib_status read_master(struct trib_config *config, char *error)
{
    const char *address = getenv("MASTER_ADDR");
    const char *local = getenv("LOCAL_WORLD_SIZE");
    uint32_t here = 0;
    if (address == NULL || local == NULL || getenv("RANK") == NULL || getenv("WORLD_SIZE") == NULL ||
        config->switch_address[0] != '\0' || config->rendezvous[0] != '\0') {
        return TRIB_OK;
    }
    enum trib_status status = read_launcher_number("LOCAL_WORLD_SIZE", &here, error);
    if (status != TRIB_OK || here >= config->ranks) {
        return status;
    }
    bool is_v6 = strchr(address, ':') != NULL;
    int len = snprintf(config->rendezvous, sizeof config->rendezvous, is_v6 ? "[%s]:%d" : "%s:%d", address,
                       TRIB_DEFAULT_PORT);
    if (len >= (int)sizeof config->rendezvous) {
        trib_explain(error, "MASTER_ADDR: \"%.80s...\" is too long: name the address in TRIB_RENDEZVOUS", address);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

static enum trib_status read_variables(struct trib_config *config, char *error)
{
    const struct trib_variable *variable = NULL;
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL; i++) {
        const char *text = getenv(variable->name);
        char cause[TRIB_ERROR_TEXT_MAX];
        if (text != NULL && variable->read != NULL && trib_variable_read(variable, text, config, cause) != TRIB_OK) {
            trib_explain(error, "%s: %s", variable->name, cause);
            return TRIB_ERR_INVALID;
        }
    }
    return TRIB_OK;
}

#define PREFIX "TRIB_"
#define PREFIX_LEN (sizeof PREFIX - 1)

/* Words of other programs, and our names for the same. */
static const struct {
    const char *word, *name;
} synonyms[] = {{"SIZE", "RANKS"},     {"WORLD_SIZE", "RANKS"},       {"NRANKS", "RANKS"},
                {"PORT", "SWITCH"},    {"MASTER_ADDR", "RENDEZVOUS"}, {"DTYPE", "WIRE"},
                {"LOG_LEVEL", "DEBUG"}};

/* name: len bytes, behind the prefix. */
static struct trib_nearest find_variable(const char *name, size_t len)
{
    struct trib_nearest nearest = {.word = name, .len = len};
    const struct trib_variable *variable = NULL;
    for (unsigned i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (strlen(synonyms[i].word) == len && strncmp(name, synonyms[i].word, len) == 0) {
            nearest.best = synonyms[i].name;
            nearest.distance = 1;
            return nearest;
        }
    }
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL; i++) {
        trib_nearest_offer(&nearest, variable->name + PREFIX_LEN);
    }
    return nearest;
}

static void warn_if_unknown(const char *entry)
{
    const char *end = strchr(entry, '=');
    if (strncmp(entry, PREFIX, PREFIX_LEN) != 0 || end == NULL) {
        return;
    }
    int len = (int)(end - entry);
    struct trib_nearest nearest = find_variable(entry + PREFIX_LEN, (size_t)len - PREFIX_LEN);
    if (nearest.best != NULL && nearest.distance == 0) {
        return;
    }
    if (nearest.best != NULL) {
        trib_log(TRIB_LOG_WARN, "%.*s has no effect: did you mean " PREFIX "%s?", len, entry, nearest.best);
    } else {
        trib_log(TRIB_LOG_WARN, "%.*s has no effect: there is no variable of that name; `tributary info` lists them",
                 len, entry);
    }
}

/* Warns of a misspelt variable, which has no effect, once in a process however many communicators it makes. */
static void warn_of_unknown(void)
{
    static atomic_flag has_warned = ATOMIC_FLAG_INIT;
    if (getenv(TRIB_ENVIRONMENT_CHECKED) != NULL || atomic_flag_test_and_set(&has_warned)) {
        return;
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        warn_if_unknown(*entry);
    }
}

/* The configuration as the environment has it, where the program may still name a place to meet, a key, and the number
 * of ranks: with the ranks of one group if a scheme of groups is named, and no number. */
static void complete(struct trib_config *config)
{
    struct trib_session_config session = {.ranks = config->ranks};
    config->level0 = true;
    config->fallback = false;
    config->encrypt = false;
    config->sample = 0;
    if (config->ranks == 1 && trib_scheme_find(config->scheme) != NULL) {
        trib_scheme_settle(config->scheme, &session);
        config->ranks = session.group > 1 ? session.group : 1;
    }
}

enum trib_status trib_config_from_environment(struct trib_config *config, char *error)
{
    struct trib_config result;
    if (config == NULL) {
        trib_explain(error, "trib_config_from_environment: config is NULL");
        return TRIB_ERR_INVALID;
    }
    trib_config_init(&result);
    warn_of_unknown();
    enum trib_status status = read_launcher(&result, error);
    if (status == TRIB_OK) {
        status = read_variables(&result, error);
    }
    if (status == TRIB_OK) {
        status = read_master(&result, error);
    }
    if (status == TRIB_OK) {
        struct trib_config placed = result;
        complete(&placed);
        status = trib_config_check(&placed, error);
        trib_wipe(placed.key, sizeof placed.key);
    }
    if (status == TRIB_OK) {
        *config = result;
    }
    trib_wipe(result.key, sizeof result.key);
    return status;
}

static bool is_rate(double rate)
{
    return rate >= 0.0 && rate <= 1.0; /* false for NaN */
}

static bool is_text(const char *text, size_t size)
{
    size_t len = strnlen(text, size);
    return len > 0 && len < size;
}

enum trib_wire trib_config_wire(const struct trib_config *config)
{
    const struct trib_scheme *scheme = trib_scheme_find(config->scheme);
    bool is_integer = scheme != NULL && scheme->sums_by_luck;
    return config->wire != TRIB_WIRE_OF_SCHEME ? config->wire : is_integer ? TRIB_WIRE_INT32 : TRIB_WIRE_FLOAT32;
}

/* Why the scheme cannot run with this config; NULL: the scheme can. */
static const char *unfit(const struct trib_scheme *scheme, const struct trib_config *config)
{
    struct trib_session_config session = {
        .ranks = config->ranks,
        .payload =
            config->payload != 0 ? config->payload : TRIB_PAYLOAD_MAX, /* it is chosen later, and is not too small */
        .wire = (enum trib_type)trib_config_wire(config),
    };
    trib_scheme_settle(config->scheme, &session);
    if (scheme->switch_node == NULL && config->switch_address[0] != '\0') {
        return "its ranks send to each other, and to no switch: name a rendezvous instead (TRIB_RENDEZVOUS, an address "
               "of rank 0)";
    }
    if (trib_scheme_names_quorum(config->scheme) && config->fallback) {
        return "a rank that is done may leave before a late rank has its results, and without the switch the results "
               "leave with it: no fallback is possible (TRIB_FALLBACK)";
    }
    if (trib_scheme_names_quorum(config->scheme) && config->rendezvous[0] != '\0') {
        return "a rank that is done may leave before a late rank has its results, and without a switch the results "
               "leave with it: name a switch (TRIB_SWITCH)";
    }
    return scheme->unfit != NULL ? scheme->unfit(&session) : NULL;
}

/* Why ranks cannot repeat sums with this config (core/sample.h); NULL: they can. */
static const char *unfit_for_samples(const struct trib_scheme *scheme, const struct trib_config *config)
{
    if (config->key_len == 0) {
        return "there is no key (TRIB_KEY_FILE)";
    }
    if (scheme->worker->peers != NULL) {
        return "in this scheme ranks send to each other, and no switch adds";
    }
    if (scheme->sums_by_luck) {
        return "in this scheme the order of additions differs from run to run";
    }
    if (trib_scheme_names_quorum(config->scheme)) {
        return "with a quorum sums may lack ranks, and the order of additions is not known";
    }
    return config->ranks > TRIB_CHILDREN_MAX
               ? "more than 64 ranks are a tree inside a switch, and ranks do not know its order of additions"
               : NULL;
}

static enum trib_status check_scheme(const struct trib_config *config, char *error)
{
    bool is_name = is_text(config->scheme, sizeof config->scheme);
    const struct trib_scheme *scheme = is_name ? trib_scheme_find(config->scheme) : NULL;
    const char *cause = is_name ? trib_scheme_explain(config->scheme) : NULL;
    if (cause != NULL) {
        trib_explain(error, "scheme %s: %s", config->scheme, cause);
        return TRIB_ERR_INVALID;
    }
    if (scheme == NULL) {
        trib_explain(error, "scheme: \"%.*s\" is not known; `tributary info` lists the schemes",
                     (int)sizeof config->scheme, config->scheme);
        return TRIB_ERR_INVALID;
    }
    if (unfit(scheme, config) != NULL) {
        trib_explain(error, "scheme %s: %s", config->scheme, unfit(scheme, config));
        return TRIB_ERR_INVALID;
    }
    if (config->sample != 0 && unfit_for_samples(scheme, config) != NULL) {
        trib_explain(error, "samples of sums (TRIB_SAMPLE): %s", unfit_for_samples(scheme, config));
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

static enum trib_status check_names(const struct trib_config *config, char *error)
{
    if (strnlen(config->switch_address, sizeof config->switch_address) == sizeof config->switch_address ||
        strnlen(config->server_address, sizeof config->server_address) == sizeof config->server_address) {
        trib_explain(error, "switch and server address: at most %d bytes are possible", TRIB_NAME_MAX);
        return TRIB_ERR_INVALID;
    }
    if (strnlen(config->rendezvous, sizeof config->rendezvous) == sizeof config->rendezvous ||
        strnlen(config->host_id, sizeof config->host_id) == sizeof config->host_id) {
        trib_explain(error, "rendezvous and host id: at most %d bytes are possible", TRIB_NAME_MAX);
        return TRIB_ERR_INVALID;
    }
    if (strnlen(config->nics, sizeof config->nics) == sizeof config->nics) {
        trib_explain(error, "network cards: at most %d bytes are possible", TRIB_NICS_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->switch_address[0] != '\0' && config->rendezvous[0] != '\0') {
        trib_explain(error,
                     "both a switch (TRIB_SWITCH, %s) and a rendezvous (TRIB_RENDEZVOUS, %s) are named: choose one; a "
                     "rendezvous is for ranks without a switch",
                     config->switch_address, config->rendezvous);
        return TRIB_ERR_INVALID;
    }
    if (config->switch_address[0] == '\0' && config->server_address[0] != '\0') {
        trib_explain(error, "a server (TRIB_SERVER, %s) is named, but no switch (TRIB_SWITCH) on the way to it",
                     config->server_address);
        return TRIB_ERR_INVALID;
    }
    if (config->switch_address[0] == '\0' && config->fallback) {
        trib_explain(error, "fallback (TRIB_FALLBACK) is on, but no switch (TRIB_SWITCH) is named that could be gone");
        return TRIB_ERR_INVALID;
    }
    if (config->encrypt && config->key_len == 0) {
        trib_explain(error, "payloads are to be encrypted (TRIB_ENCRYPT), and there is no key (TRIB_KEY_FILE)");
        return TRIB_ERR_INVALID;
    }
    if (config->sample > TRIB_SAMPLE_EVERY_MAX) {
        trib_explain(error, "samples of sums (TRIB_SAMPLE): %u is not from 0 to %d", config->sample,
                     TRIB_SAMPLE_EVERY_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->switch_address[0] == '\0' && config->rendezvous[0] == '\0' && !config->level0) {
        trib_explain(error, "neither a switch (TRIB_SWITCH) nor a rendezvous (TRIB_RENDEZVOUS) is named, and level 0 "
                            "is off: ranks have no place to meet");
        return TRIB_ERR_INVALID;
    }
    bool has_place = config->switch_address[0] != '\0' || config->rendezvous[0] != '\0';
    if (!is_text(config->job, sizeof config->job) || (has_place && !trib_is_plain(config->job))) {
        trib_explain(error, "job (TRIB_JOB): a name of 1 to %d %s is needed", TRIB_NAME_MAX,
                     has_place ? "printable ASCII characters without quotes and backslashes" : "bytes");
        return TRIB_ERR_INVALID;
    }
    if (strnlen(config->run, sizeof config->run) == sizeof config->run || !trib_is_plain(config->run)) {
        trib_explain(
            error, "run (TRIB_RUN): at most %d printable ASCII characters without quotes and backslashes are possible",
            TRIB_NAME_MAX);
        return TRIB_ERR_INVALID;
    }
    return check_scheme(config, error);
}

enum trib_status trib_config_check(const struct trib_config *config, char *error)
{
    if (config->ranks < 1 || config->ranks > TRIB_RANKS_MAX) {
        trib_explain(error, "ranks: %u is not from 1 to %d", config->ranks, TRIB_RANKS_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->rank >= config->ranks) {
        trib_explain(error, "rank: %u is not below the number of ranks, %u", config->rank, config->ranks);
        return TRIB_ERR_INVALID;
    }
    if (config->payload > TRIB_PAYLOAD_MAX || config->payload % TRIB_PAYLOAD_ALIGN != 0) {
        trib_explain(error, "payload: %u is not a multiple of %d from %d to %d", config->payload, TRIB_PAYLOAD_ALIGN,
                     TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->wire != TRIB_WIRE_OF_SCHEME && config->wire != TRIB_WIRE_FLOAT32 &&
        config->wire != TRIB_WIRE_BFLOAT16 && config->wire != TRIB_WIRE_INT32) {
        trib_explain(error, "wire: %d is no wire format", (int)config->wire);
        return TRIB_ERR_INVALID;
    }
    if (config->join_timeout_ns == 0 || config->switch_timeout_ns == 0 || config->timeout_ns == 0) {
        trib_explain(error, "%s: 0 is no time to wait",
                     config->join_timeout_ns == 0     ? "join timeout (TRIB_JOIN_TIMEOUT)"
                     : config->switch_timeout_ns == 0 ? "switch timeout (TRIB_SWITCH_TIMEOUT)"
                                                      : "timeout (TRIB_TIMEOUT)");
        return TRIB_ERR_INVALID;
    }
    if (config->root_weight < 1 || config->root_weight > UINT8_MAX) {
        trib_explain(error, "root weight: %u is not from 1 to %d", config->root_weight, UINT8_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->priority > UINT8_MAX) {
        trib_explain(error, "priority: %u is not from 0 to %d", config->priority, UINT8_MAX);
        return TRIB_ERR_INVALID;
    }
    if (config->dscp > 63) {
        trib_explain(error, "dscp: %u is not from 0 to 63", config->dscp);
        return TRIB_ERR_INVALID;
    }
    if (!is_rate(config->faults.loss) || !is_rate(config->faults.duplicate) || !is_rate(config->faults.reorder) ||
        !is_rate(config->faults.corrupt)) {
        trib_explain(error, "faults: a rate is not from 0 to 1");
        return TRIB_ERR_INVALID;
    }
    enum trib_status status = trib_key_check(config->key_len, error);
    return status == TRIB_OK ? check_names(config, error) : status;
}
