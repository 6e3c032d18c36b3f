/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c: see environment.h. A new variable is a row here and a line in tests/unit/test_launcher.c. */
#include "comm/environment.h"

#include <stddef.h>
#include <string.h>

#include "core/packet.h"
#include "core/sample.h"
#include "io/explain.h"
#include "io/units.h"
#include "keys/load.h"
#include "net/port.h"
#include "net/resolve.h"

#define DSCP_MAX 63

static enum trib_status copy_text(const char *text, char *to, size_t size, char *error)
{
    size_t len = strlen(text);
    if (len == 0 || len >= size) {
        trib_explain(error, "\"%.80s\" is not 1 to %zu bytes long", text, size - 1);
        return TRIB_ERR_INVALID;
    }
    if (!trib_is_printable(text)) {
        trib_explain(error, "\"%.80s\" holds a control byte", text);
        return TRIB_ERR_INVALID;
    }
    memcpy(to, text, len + 1);
    return TRIB_OK;
}

/* ---- readers: field is the variable's in a config ---- */

static enum trib_status read_text(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    return copy_text(text, field, variable->size, error);
}

/* Checks the form of an address, before ranks are started. Its name is looked up later. */
static enum trib_status read_address(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    enum trib_status status = copy_text(text, field, variable->size, error);
    return status == TRIB_OK ? trib_address_check(text, error) : status;
}

static enum trib_status read_u32(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    uint64_t number = 0;
    enum trib_status status = trib_parse_number(text, variable->min, variable->max, &number, error);
    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)number;
    }
    return status;
}

static enum trib_status read_bool(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    (void)variable;
    return trib_parse_bool(text, field, error);
}

static enum trib_status read_time(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    uint64_t value = 0;
    enum trib_status status = trib_parse_duration(text, &value, error);
    if (status == TRIB_OK) {
        status = trib_check_within(text, value, variable->min, variable->max, trib_format_duration, error);
    }
    if (status == TRIB_OK) {
        *(uint64_t *)field = value;
    }
    return status;
}

/* A size of 32 bits. */
static enum trib_status read_size(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    uint64_t bytes = 0;
    enum trib_status status = trib_parse_size(text, &bytes, error);
    if (status == TRIB_OK) {
        status = trib_check_within(text, bytes, variable->min, variable->max, trib_format_size, error);
    }
    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)bytes;
    }
    return status;
}

static enum trib_status read_size_64(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    (void)variable;
    return trib_parse_size(text, field, error);
}

static enum trib_status read_wire(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    static const enum trib_wire wires[] = {TRIB_WIRE_FLOAT32, TRIB_WIRE_BFLOAT16, TRIB_WIRE_INT32};
    static const char *const names[] = {"float32", "bfloat16", "int32"};
    (void)variable;
    for (size_t i = 0; i < sizeof wires / sizeof wires[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(enum trib_wire *)field = wires[i];
            return TRIB_OK;
        }
    }
    trib_explain(error, "\"%s\" is none of float32, bfloat16, int32", text);
    return TRIB_ERR_INVALID;
}

static enum trib_status read_payload(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    uint64_t bytes = 0;
    enum trib_status status = trib_parse_size_short(text, &bytes, error);
    if (status != TRIB_OK) {
        return status;
    }
    if (bytes < variable->min || bytes > variable->max) {
        trib_explain(error, "%s is not from %d to %d", text, TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX);
        return TRIB_ERR_INVALID;
    }
    if (bytes % TRIB_PAYLOAD_ALIGN != 0) {
        trib_explain(error, "%s is not a multiple of %d", text, TRIB_PAYLOAD_ALIGN);
        return TRIB_ERR_INVALID;
    }
    *(uint32_t *)field = (uint32_t)bytes;
    return TRIB_OK;
}

static enum trib_status read_fault(const char *name, const char *value, struct trib_faults *faults, char *error)
{
    struct {
        const char *name;
        double *rate;
    } const rates[] = {{"loss", &faults->loss},
                       {"duplicate", &faults->duplicate},
                       {"reorder", &faults->reorder},
                       {"corrupt", &faults->corrupt}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (strcmp(name, rates[i].name) == 0) {
            return trib_parse_percent(value, rates[i].rate, error);
        }
    }
    if (strcmp(name, "seed") == 0) {
        return trib_parse_number(value, 0, UINT64_MAX, &faults->seed, error);
    }
    trib_explain(error, "\"%s\" is none of loss, duplicate, reorder, corrupt, seed", name);
    return TRIB_ERR_INVALID;
}

enum trib_status trib_faults_parse(const char *text, struct trib_faults *faults, char *error)
{
    char copy[256];
    struct trib_faults result = *faults;
    enum trib_status status = copy_text(text, copy, sizeof copy, error);
    char *rest = copy;
    while (status == TRIB_OK && rest != NULL) {
        char *name = strsep(&rest, ",");
        char *value = strchr(name, '=');
        if (value == NULL) {
            trib_explain(error, "\"%s\" is not name=value; write for example loss=1%%,seed=7", name);
            return TRIB_ERR_INVALID;
        }
        *value++ = '\0';
        status = read_fault(name, value, &result, error);
    }
    if (status == TRIB_OK) {
        *faults = result;
    }
    return status;
}

static enum trib_status read_faults(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    (void)variable;
    return trib_faults_parse(text, field, error);
}

/* field is config.key; sets config.key_len as well. */
static enum trib_status put_key(const struct trib_variable *variable, const struct trib_key *key, void *field,
                                char *error)
{
    struct trib_config *config = (struct trib_config *)(void *)((char *)field - variable->at);
    if (config->key_len != 0) {
        trib_explain(error, "TRIB_KEY_FILE and TRIB_KEY_FD are both set: choose one");
        return TRIB_ERR_INVALID;
    }
    memcpy(config->key, key->bytes, key->len);
    config->key_len = key->len;
    return TRIB_OK;
}

static enum trib_status read_key_file(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    struct trib_key key;
    enum trib_status status = trib_key_read_file(text, &key, error);
    status = status == TRIB_OK ? put_key(variable, &key, field, error) : status;
    trib_wipe(&key, sizeof key);
    return status;
}

static enum trib_status read_key_fd(const struct trib_variable *variable, const char *text, void *field, char *error)
{
    struct trib_key key = {.len = 0};
    uint64_t fd = 0;
    enum trib_status status = trib_parse_number(text, variable->min, variable->max, &fd, error);
    status = status == TRIB_OK ? trib_key_read_fd((int)fd, &key, error) : status;
    status = status == TRIB_OK ? put_key(variable, &key, field, error) : status;
    trib_wipe(&key, sizeof key);
    return status;
}

/* ---- the table ---- */

#define AT(field) offsetof(struct trib_config, field), sizeof(((struct trib_config *)NULL)->field)
#define WITHIN_TIME(least) least, TRIB_TIMEOUT_MAX_NS

static const struct trib_variable variables[] = {
    {"TRIB_SWITCH", "10.0.0.1:7470",
     "address of the switch: host, host:port or [v6]:port [none: rendezvous, or all ranks are on one host]",
     read_address, AT(switch_address), 0, 0},
    {"TRIB_SERVER", "10.0.9.9:7470",
     "schemes atp, goat, ps and rina: where a rank joins if TRIB_SWITCH does not answer: the switch without a parent",
     read_address, AT(server_address), 0, 0},
    {"TRIB_RENDEZVOUS", "10.0.0.1:7470",
     "no switch: where rank 0 listens, and the hosts sum themselves [none; torchrun over hosts: MASTER_ADDR]",
     read_address, AT(rendezvous), 0, 0},
    {"TRIB_HOSTID", "rack3-host7", "name of this host, for level 0 and roots [from the kernel]", read_text, AT(host_id),
     0, 0},
    {"TRIB_NICS", "eth0,eth1",
     "network cards, by address or interface, used at once: shard or root t by card t mod n [as the routes lead]",
     read_text, AT(nics), 0, 0},
    {"TRIB_ROOT_WEIGHT", "3", "no switch: this host's share of the tensor, relative to the other hosts, 1 to 255 [1]",
     read_u32, AT(root_weight), 1, UINT8_MAX},
    {"TRIB_JOB", "train-17", "ranks with the same job name meet; a shared switch wants one of its own [default]",
     read_text, AT(job), 0, 0},
    {"TRIB_RUN", "17.0", "which launch of the job this is: ranks of two launches never meet [the launcher's]",
     read_text, AT(run), 0, 0},
    {"TRIB_RANK", "0", "rank of this process; overrides the launcher's [0]", read_u32, AT(rank), 0, TRIB_RANKS_MAX - 1},
    {"TRIB_RANKS", "4", "number of ranks, 1 to 1024; overrides the launcher's [1]", read_u32, AT(ranks), 1,
     TRIB_RANKS_MAX},
    {"TRIB_SCHEME", "switchml",
     "aggregation scheme: switchml, panama, panama:7/8, atp, goat, ps, rina, ring, hybrid:M "
     "[switchml]",
     read_text, AT(scheme), 0, 0},
    {"TRIB_WIRE", "float32",
     "how float32 tensors travel: float32, bfloat16 or int32 [of scheme atp and goat int32, else float32]", read_wire,
     AT(wire), 0, 0},
    {"TRIB_PAYLOAD", "1408",
     "payload of a packet, as 8192, 8192B or 8KiB: a multiple of 64, 64 to 8192 [1408, over IPv6 1344]", read_payload,
     AT(payload), TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX},
    {"TRIB_WINDOW", "256KiB", "bytes that a rank keeps in flight per switch shard [0: the switch chooses]", read_size,
     AT(window), 0, TRIB_BUFFER_MAX},
    {"TRIB_GRADIENT_BYTES", "40MB",
     "bytes of gradients that the job sums in an iteration; below the switch's --threshold the job runs as a ring [0: "
     "unknown]",
     read_size_64, AT(gradient_bytes), 0, 0},
    {"TRIB_PRIORITY", "7",
     "scheme atp: in a switch with too few rows, the job takes rows from jobs of lower priority; 0 to 255 [128]",
     read_u32, AT(priority), 0, UINT8_MAX},
    {"TRIB_LEVEL0", "0", "ranks of one host are summed in its memory before one of them sends; 0: each sends [1]",
     read_bool, AT(level0), 0, 0},
    {"TRIB_MULTICAST", "1", "take results by multicast where every rank receives it [1]", read_bool, AT(multicast), 0,
     0},
    {"TRIB_PROGRESS", "1", "a thread makes progress while no call waits [1]", read_bool, AT(progress_thread), 0, 0},
    {"TRIB_TRAINS", "1", "many packets per system call; 0 is for comparison [1]", read_bool, AT(trains), 0, 0},
    {"TRIB_SPIN_US", "50",
     "longest busy wait before sleeping, microseconds; as long as more is to be sent a tenth [200]", read_u32,
     AT(spin_us), 0, TRIB_SPIN_US_MAX},
    {"TRIB_DSCP", "0", "DSCP of data packets, 0 to 63 [0]", read_u32, AT(dscp), 0, DSCP_MAX},
    {"TRIB_BACKLOG", "64KiB",
     "panama, rina, atp, goat, ps: report congestion if more bytes than this wait in a socket; 0: never [127500]",
     read_size, AT(backlog), 0, TRIB_BUFFER_MAX},
    {"TRIB_JOIN_TIMEOUT", "30s", "how long ranks wait for the switch and for all ranks at the start [30s]", read_time,
     AT(join_timeout_ns), WITHIN_TIME(TRIB_TIMEOUT_MIN_NS)},
    {"TRIB_SWITCH_TIMEOUT", "10s", "how long ranks wait for a switch that is gone [10s]", read_time,
     AT(switch_timeout_ns), WITHIN_TIME(TRIB_TIMEOUT_MIN_NS)},
    {"TRIB_FALLBACK", "1", "go on without the switch if it is gone for TRIB_SWITCH_TIMEOUT: the ranks' hosts sum [0]",
     read_bool, AT(fallback), 0, 0},
    {"TRIB_TIMEOUT", "30min", "longest time of one operation; it ends the job [30min]", read_time, AT(timeout_ns),
     WITHIN_TIME(TRIB_TIMEOUT_MIN_NS)},
    {"TRIB_LINGER", "1s", "longest wait for the other ranks when closing [1s]", read_time, AT(linger_ns),
     WITHIN_TIME(0)},
    {"TRIB_FAULTS", "loss=1%,seed=7",
     "faults on purpose, on received packets: loss, duplicate, reorder, corrupt in %, seed [none]", read_faults,
     AT(faults), 0, 0},
    {"TRIB_KEY_FILE", "/run/secrets/job.key",
     "file with the key of the job, owned by this user, mode 0600 (`tributary key new`) [none: unauthenticated]",
     read_key_file, AT(key), 0, 0},
    {"TRIB_KEY_FD", "9", "open descriptor of a file with the key, instead of its name; read from the start [none]",
     read_key_fd, AT(key), 0, INT32_MAX},
    {"TRIB_ENCRYPT", "1", "payloads of packets are encrypted as well; needs a key [0: packets are authenticated]",
     read_bool, AT(encrypt), 0, 0},
    {"TRIB_SAMPLE", "1000",
     "ranks repeat one of so many runs of 16 elements of sums that the key does not prove; needs a key [0: none]",
     read_u32, AT(sample), 0, TRIB_SAMPLE_EVERY_MAX},
    {"TRIB_DEBUG", "INFO", "lines on standard error: WARN, INFO or TRACE [WARN]", NULL, 0, 0, 0, 0}};

const struct trib_variable *trib_variable_at(unsigned index)
{
    return index < sizeof variables / sizeof variables[0] ? &variables[index] : NULL;
}

/* A run's name has no TORCHELASTIC_RESTART_COUNT, which the agents of several hosts count apart, and no MASTER_ADDR,
 * which each host may write in another way. */
static const struct trib_launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE"}},
    {"PMI", "PMI_RANK", "PMI_SIZE", {"PMIX_NAMESPACE", "PMI_JOBID"}},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}}};

const struct trib_launcher *trib_launcher_at(unsigned index)
{
    return index < sizeof launchers / sizeof launchers[0] ? &launchers[index] : NULL;
}
