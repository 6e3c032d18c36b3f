/* SPDX-License-Identifier: Apache-2.0 */
/* command_perf.c: `tributary perf`: options as nccl-tests has them, and the processes. With --workers N everything runs
 * on this machine; without, this process is one rank that its launcher has named. Read next: perf.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/perf.h"
#include "cli/spawn.h"
#include "core/packet.h"
#include "core/sample.h"
#include "io/explain.h"
#include "io/units.h"
#include "keys/load.h"
#include "net/resolve.h"
#include "published/published.h"
#include "schemes/schemes.h"
#include "switchd/switchd.h"

#define COUNT_MAX 1000000000
#define PERF_BYTES_MAX (UINT64_C(1) << 62)
#define PID_MAX 4194304 /* of Linux */

static enum trib_status pick(const char *text, const char *const *names, const int *values, int *picked, char *error)
{
    size_t used = (size_t)snprintf(error, TRIB_ERROR_TEXT_MAX, "\"%.40s\" is none of", text);

    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *picked = values[i];
            return TRIB_OK;
        }
        used += (size_t)snprintf(error + used, TRIB_ERROR_TEXT_MAX - used, " %s", names[i]);
    }
    return TRIB_ERR_INVALID;
}

static OPTION_READER(read_type)
{
    (void)kind;
    static const char *const names[] = {"float", "double", "half",    "bfloat16", "int8",    "uint8",
                                        "int32", "int64",  "float32", "float64",  "float16", NULL};
    static const int values[] = {TRIB_FLOAT32, TRIB_FLOAT64, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_INT8,   TRIB_UINT8,
                                 TRIB_INT32,   TRIB_INT64,   TRIB_FLOAT32, TRIB_FLOAT64,  TRIB_FLOAT16};
    int picked = 0;
    enum trib_status status = pick(text, names, values, &picked, error);

    if (status == TRIB_OK) {
        *(enum trib_type *)field = (enum trib_type)picked;
    }
    return status;
}

static OPTION_READER(read_reduction)
{
    (void)kind;
    static const char *const names[] = {"sum", "avg", "min", "max", "prod", NULL};
    static const int values[] = {TRIB_SUM, TRIB_AVERAGE, TRIB_MINIMUM, TRIB_MAXIMUM, TRIB_PRODUCT};
    int picked = 0;
    enum trib_status status = pick(text, names, values, &picked, error);

    if (status == TRIB_OK) {
        *(enum trib_reduction *)field = (enum trib_reduction)picked;
    }
    return status;
}

static OPTION_READER(read_collective)
{
    (void)kind;
    static const char *const names[] = {"allreduce", "broadcast", "reduce", "allgather", "reduce-scatter", NULL};
    static const int values[] = {TRIB_ALLREDUCE, TRIB_BROADCAST, TRIB_REDUCE, TRIB_ALLGATHER, TRIB_REDUCE_SCATTER};
    int picked = 0;
    enum trib_status status = pick(text, names, values, &picked, error);

    if (status == TRIB_OK) {
        *(enum trib_collective *)field = (enum trib_collective)picked;
    }
    return status;
}

static OPTION_READER(read_payload)
{
    uint64_t payload = 0;
    enum trib_status status = option_size_short(kind, text, &payload, error);

    if (status == TRIB_OK && payload % TRIB_PAYLOAD_ALIGN != 0) {
        trib_explain(error, "%.80s is not a multiple of %d", text, TRIB_PAYLOAD_ALIGN);
        return TRIB_ERR_INVALID;
    }
    if (status == TRIB_OK) {
        *(uint32_t *)field = (uint32_t)payload;
    }
    return status;
}

#define AT(field) offsetof(struct perf_options, field)

static const struct option_row rows[] = {
    {"minbytes", 'b', "SIZE", "smallest size [8]", OPTION_SIZE_SHORT(0, PERF_BYTES_MAX), AT(min_bytes)},
    {"maxbytes", 'e', "SIZE", "largest size [32M]", OPTION_SIZE_SHORT(0, PERF_BYTES_MAX), AT(max_bytes)},
    {"stepfactor", 'f', "N", "factor from one size to the next [2]", OPTION_NUMBER(2, COUNT_MAX), AT(step_factor)},
    {"datatype", 'd', "TYPE", "float, double, half, bfloat16, int8, uint8, int32, int64 [float]",
     OPTION_KIND(read_type, 0, 0), AT(type)},
    {"op", 'o', "OP", "sum, avg, min, max, prod [sum]", OPTION_KIND(read_reduction, 0, 0), AT(reduction)},
    {"iters", 'n', "N", "timed calls [20]", OPTION_COUNT(1, COUNT_MAX), AT(iterations)},
    {"warmup_iters", 'w', "N", "untimed calls before the timed ones [5]", OPTION_COUNT(0, COUNT_MAX), AT(warmups)},
    {"pause", 0, "TIME", "pause before each timed call, as if ranks computed [0s]",
     OPTION_DURATION(0, TRIB_TIMEOUT_MAX_NS), AT(pause_ns)},
    {"check", 'c', "0|1", "check every element of results [1]", OPTION_COUNT(0, 1), AT(check)},
    {"collective", 0, "NAME", "allreduce, broadcast, reduce, allgather, reduce-scatter [allreduce]",
     OPTION_KIND(read_collective, 0, 0), AT(collective)},
    {"uneven", 0, NULL, "shares of an allgather or reduce-scatter that differ, some of them empty", OPTION_ON,
     AT(is_uneven)},
    {"in-place", 0, NULL, "send and receive in one buffer", OPTION_ON, AT(in_place)},
    {"workers", 0, "N", "start N ranks here, and a switch unless one, or a rendezvous, is named",
     OPTION_COUNT(1, TRIB_RANKS_MAX), AT(workers)},
    {"switch", 0, "ADDRESS", "the switch [TRIB_SWITCH, else one is started with --workers]", OPTION_ADDRESS,
     AT(switch_address)},
    {"rendezvous", 0, "ADDRESS", "no switch: where rank 0 listens; the ranks' hosts sum themselves [TRIB_RENDEZVOUS]",
     OPTION_ADDRESS, AT(rendezvous)},
    {"nics", 0, "A,B...", "network cards of this host to use at once, by address or interface [TRIB_NICS]", OPTION_TEXT,
     AT(nics)},
    {"hosts", 0, "N",
     "with --workers: the started ranks act as N hosts, each summed before one of its ranks sends [each rank sends]",
     OPTION_COUNT(1, TRIB_RANKS_MAX), AT(hosts)},
    {"no-switch", 0, NULL, "all ranks are on this host and meet in shared memory", OPTION_ON, AT(no_switch)},
    {"shared", 0, NULL, "send from memory that the ranks of a host share", OPTION_ON, AT(shared)},
    {"threads", 't', "N", "shards of the started switch [1]", OPTION_COUNT(1, TRIB_ROOTS_MAX), AT(threads)},
    {"switch-pid", 0, "PID", "process ID of the switch, to measure its CPU time [the started switch]",
     OPTION_COUNT(1, PID_MAX), AT(switch_pid)},
    {"scheme", 0, "NAME",
     "aggregation scheme: switchml, atp, goat, ps, rina, panama, panama:7/8 (" TRIB_SCHEME_QUORUM_RULE
     "), ring, hybrid:M [TRIB_SCHEME, else switchml]",
     OPTION_KIND(option_text, 1, sizeof((struct trib_config *)0)->scheme - 1), AT(scheme)},
    {"wire", 0, "FORMAT",
     "of float32 tensors: float32, bfloat16, int32; with schemes atp and goat, sums on a float wire differ in "
     "rounding from run to run [of scheme atp and goat int32, else float32]",
     OPTION_WIRE, AT(comm.wire)},
    {"payload", 0, "SIZE", "payload of a packet: 1408 for MTU 1500, 8192 for 9000 [1408, over IPv6 1344]",
     OPTION_KIND(read_payload, TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX), AT(comm.payload)},
    {"window", 0, "SIZE", "bytes in flight per rank and shard [the switch chooses]", OPTION_SIZE32(0, TRIB_BUFFER_MAX),
     AT(comm.window)},
    {"gradient-bytes", 0, "SIZE",
     "bytes of gradients that the job sums in an iteration; below the switch's --threshold the job runs as a ring "
     "[TRIB_GRADIENT_BYTES]",
     OPTION_SIZE(0, UINT64_MAX), AT(comm.gradient_bytes)},
    {"priority", 0, "N",
     "scheme atp: priority of the job for rows in switches on the way, 0 to 255 [TRIB_PRIORITY, else 128]",
     OPTION_COUNT(0, UINT8_MAX), AT(comm.priority)},
    {"encrypt", 0, NULL, "payloads are encrypted; needs a key (TRIB_KEY_FILE)", OPTION_ON, AT(comm.encrypt)},
    {"sample", 0, "N", "repeat one of so many runs of each sum that the key does not prove [TRIB_SAMPLE, else 0: none]",
     OPTION_COUNT(0, TRIB_SAMPLE_EVERY_MAX), AT(comm.sample)},
    {"no-multicast", 0, NULL, "results by unicast", OPTION_OFF, AT(comm.multicast)},
    {"fallback", 0, NULL, "go on without the switch if it is gone for --switch-timeout", OPTION_ON, AT(comm.fallback)},
    {"switch-timeout", 0, "TIME", "how long ranks wait for a switch that is gone [10s]", OPTION_TIMEOUT,
     AT(comm.switch_timeout_ns)},
    {"no-trains", 0, NULL, "one packet a system call, for comparison", OPTION_OFF, AT(comm.trains)},
    {"no-progress-thread", 0, NULL, "only calls make progress", OPTION_OFF, AT(comm.progress_thread)},
    {"spin-us", 0, "N", "longest busy wait before sleeping, microseconds; as long as more is to be sent a tenth [200]",
     OPTION_COUNT(0, TRIB_SPIN_US_MAX), AT(comm.spin_us)},
    OPTION_FAULT_ROWS(AT(comm.faults)),
    {"json", 0, NULL, "one JSON object", OPTION_ON, AT(json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_perf = {
    .usage = "tributary perf [options]",
    .summary = "Measures a collective: times of the slowest rank, bytes on the interface, CPU, and wrong elements.\n"
               "Exit status 1 if any element is wrong.",
    .rows = rows,
    .examples = "  tributary perf --workers 4 -b 8 -e 128M -f 2\n"
                "  tributary perf --workers 4 -b 4K -e 128M --no-switch\n"
                "  tributary perf --workers 4 -b 16M -e 16M --payload 8192 --loss 1% --seed 7\n"
                "  torchrun ... tributary perf -b 1M -e 64M      # as one rank of a launcher's job",
};

static bool check_sizes(const struct perf_options *options)
{
    char least[TRIB_UNITS_TEXT_MAX];

    if (options->min_bytes == 0 && options->max_bytes > 0) {
        complain("-b is 0, and a size grows by a factor: begin with the size of an element, or name -e 0 as well");
        return false;
    }
    if (options->max_bytes < options->min_bytes) {
        trib_format_size(options->min_bytes, least);
        complain("-e is less than -b, %s", least);
        return false;
    }
    return true;
}

/* True if this process starts the switch of its ranks. */
static bool starts_switch(const struct perf_options *options)
{
    bool has_place = options->comm.switch_address[0] != '\0' || options->comm.rendezvous[0] != '\0';
    return options->workers > 0 && !has_place && !options->no_switch;
}

static bool check_options(const struct perf_options *options)
{
    if (!check_sizes(options)) {
        return false;
    }
    if (options->is_uneven && options->collective != TRIB_ALLGATHER && options->collective != TRIB_REDUCE_SCATTER) {
        complain("--uneven is for --collective allgather and reduce-scatter");
        return false;
    }
    if (options->hosts > options->workers) {
        complain("--hosts: %u is more than --workers, %u", options->hosts, options->workers);
        return false;
    }
    if (options->no_switch + (options->switch_address != NULL) + (options->rendezvous != NULL) > 1) {
        complain("--no-switch, --switch and --rendezvous exclude each other");
        return false;
    }
    if (!spawn_fits(options->threads, starts_switch(options), options->no_switch, &options->comm.faults)) {
        return false;
    }
    const struct trib_scheme *scheme = trib_published_find(options->scheme);
    const char *cause = trib_published_explain(options->scheme);
    if (cause != NULL) {
        complain("--scheme %s: %s", options->scheme, cause);
    } else if (scheme == NULL) {
        complain("--scheme: unknown scheme \"%s\"; `tributary info` lists all", options->scheme);
    } else if (scheme->refusal != NULL) {
        complain("--scheme %s: %s", scheme->name, scheme->refusal);
    }
    return scheme != NULL && scheme->refusal == NULL;
}

/* Every rank must have seen the same ranks in the same fragments. */
static void add_row(struct perf_totals *totals, const struct perf_row *row, bool speaks)
{
    for (uint32_t rank = 0; rank < row->ranks; rank++) {
        const int64_t *columns = row->columns[rank];
        totals->wrong += columns[PERF_WRONG];
        totals->late[rank] += columns[PERF_LATE];
        if (columns[PERF_SETS] != row->columns[0][PERF_SETS]) {
            totals->wrong++;
            if (speaks) {
                complain("the results of rank %u and rank 0 have different contributors", rank);
            }
        }
    }
    totals->results += row->columns[0][PERF_RESULTS];
    totals->lacking += row->columns[0][PERF_LACKING];
}

/* who: "rank 3", with which some of the library's causes begin. Returns 1. */
static int complain_of(const char *who, const char *cause)
{
    size_t len = strlen(who);
    bool is_said = strncmp(cause, who, len) == 0 && cause[len] == ':';
    return is_said ? complain("%s", cause) : complain("%s: %s", who, cause);
}

static int complain_of_rank(uint32_t rank, const char *cause)
{
    char who[32];
    (void)snprintf(who, sizeof who, "rank %u", rank);
    return complain_of(who, cause);
}

/* All sizes on this rank. */
static int measure_all(const struct perf_options *options, struct trib_comm *comm)
{
    bool speaks = trib_comm_rank(comm) == 0;
    struct perf_row *row = malloc(sizeof *row);
    struct perf_totals *totals = calloc(1, sizeof *totals);
    enum trib_status status = TRIB_OK;

    if (row == NULL || totals == NULL) {
        free(row);
        free(totals);
        return complain("out of memory");
    }
    if (speaks) {
        perf_print_begin(options, comm);
    }
    for (uint64_t bytes = options->min_bytes; bytes <= options->max_bytes && status == TRIB_OK;
         bytes *= options->step_factor) {
        status = perf_measure(options, comm, bytes, row);
        if (status == TRIB_OK) {
            add_row(totals, row, speaks);
        }
        if (status == TRIB_OK && speaks) {
            perf_print_row(options, row);
        }
        if (bytes == 0 || bytes > UINT64_MAX / options->step_factor) {
            break;
        }
    }
    free(row);
    int64_t wrong = totals->wrong;
    if (status == TRIB_OK && speaks) {
        perf_print_end(options, comm, totals);
    }
    free(totals);
    if (status != TRIB_OK) {
        const char *cause = trib_comm_error(comm); /* none: perf_measure has said it */
        return cause[0] != '\0' ? complain_of_rank(trib_comm_rank(comm), cause) : 1;
    }
    return wrong != 0;
}

static int run_rank(struct perf_options *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_comm *comm = NULL;
    enum trib_status status = trib_comm_create(&options->comm, &comm, error);

    trib_wipe(options->comm.key, sizeof options->comm.key);
    if (status != TRIB_OK && options->workers > 0) {
        memcpy(options->refusals[options->comm.rank], error, sizeof error);
        return 1;
    }
    if (comm == NULL) {
        return complain_of_rank(options->comm.rank, error);
    }
    int result = measure_all(options, comm);
    if (trib_comm_close(comm) != TRIB_OK && result == 0) {
        result = 1;
    }
    return result;
}

static bool start_switch(struct perf_options *options, struct spawn_switch *own)
{
    struct trib_switchd_config config;

    trib_switchd_init(&config);
    config.threads = options->threads;
    config.faults = options->comm.faults;
    config.trains = options->comm.trains;
    config.http.len = 0;
    if (trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL) != TRIB_OK || !spawn_switch_start(&config, own)) {
        return false;
    }
    snprintf(options->comm.switch_address, sizeof options->comm.switch_address, "127.0.0.1:%u", own->port);
    options->switch_pid = (uint32_t)own->pid;
    return true;
}

/* The ranks of this process measure the network, and come as if each were on a host of its own: unless the
 * environment, or the number of hosts, says that they are to be summed here first. */
static void choose_hosts(struct perf_options *options, uint32_t rank)
{
    struct trib_config *comm = &options->comm;

    if (comm->switch_address[0] == '\0' && comm->rendezvous[0] == '\0') {
        comm->level0 = true; /* there is nothing else */
    } else if (options->hosts > 0) {
        comm->level0 = true;
        snprintf(comm->host_id, sizeof comm->host_id, "%.40s-%u", comm->job,
                 (uint32_t)((uint64_t)rank * options->hosts / options->workers));
    } else if (getenv("TRIB_LEVEL0") == NULL) {
        comm->level0 = false;
    }
}

/* Why ranks could not join: a cause that several have is said once. */
static void tell_refusals(const struct perf_options *options)
{
    for (uint32_t first = 0; first < options->workers; first++) {
        const char *cause = options->refusals[first];
        uint16_t same[TRIB_RANKS_MAX];
        uint32_t count = 0;
        char who[256];
        bool is_told = cause[0] == '\0';
        for (uint32_t rank = 0; rank < options->workers && !is_told; rank++) {
            bool is_same = strcmp(options->refusals[rank], cause) == 0;
            is_told = is_same && rank < first;
            same[count] = (uint16_t)rank;
            count += is_same;
        }
        if (!is_told) {
            complain_of(trib_format_ranks(same, count, count, who, sizeof who), cause);
        }
    }
}

/* Ranks as children of this process. */
static int run_here(struct perf_options *options)
{
    struct spawn_switch own = {0};
    struct spawn_ranks ranks = {.count = 0};
    options->comm.rank = 0;
    options->comm.ranks = options->workers;
    if (!spawn_check(&options->comm, starts_switch(options))) {
        return EXIT_USAGE;
    }
    void *shared = mmap(NULL, options->workers * sizeof *options->refusals, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return complain("out of memory");
    }
    options->refusals = shared;
    if (starts_switch(options) && !start_switch(options, &own)) {
        return 1;
    }
    spawn_job_name(options->comm.job, sizeof options->comm.job);
    spawn_catch();
    for (uint32_t rank = 0; rank < options->workers; rank++) {
        pid_t pid = spawn_rank(&ranks);
        if (pid == 0) {
            options->comm.rank = rank;
            choose_hosts(options, rank);
            exit(output_end(run_rank(options)));
        }
        if (pid < 0) {
            break;
        }
    }
    trib_wipe(options->comm.key, sizeof options->comm.key);
    int result = spawn_wait(&ranks, true);
    tell_refusals(options);
    spawn_switch_stop(&own);
    return result;
}

/* The command line is over the environment. */
static void choose_place(struct perf_options *options)
{
    struct trib_config *comm = &options->comm;

    if (options->no_switch || options->switch_address != NULL || options->rendezvous != NULL) {
        comm->switch_address[0] = '\0';
        comm->rendezvous[0] = '\0';
    }
    if (options->switch_address != NULL) {
        snprintf(comm->switch_address, sizeof comm->switch_address, "%s", options->switch_address);
    }
    if (options->rendezvous != NULL) {
        snprintf(comm->rendezvous, sizeof comm->rendezvous, "%s", options->rendezvous);
    }
    if (options->nics != NULL) {
        snprintf(comm->nics, sizeof comm->nics, "%s", options->nics);
    }
}

int command_perf(int argc, char **argv)
{
    struct perf_options options = {
        .min_bytes = 8,
        .max_bytes = 32U << 20,
        .step_factor = 2,
        .iterations = 20,
        .warmups = 5,
        .threads = 1,
        .check = 1,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_SUM,
        .collective = TRIB_ALLREDUCE,
    };
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int rest = 0;

    /* The command line is over the environment, and read first for --workers: such ranks need no launcher. */
    enum option_outcome outcome = options_read(&options_of_perf, argc, argv, &options, &rest);
    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (options.workers > 0) {
        spawn_set_place(0, 1);
    }
    if (trib_config_from_environment(&options.comm, error) != TRIB_OK) {
        complain("%s", error);
        return EXIT_USAGE;
    }
    options.scheme = options.comm.scheme;
    if (options_read(&options_of_perf, argc, argv, &options, &rest) != OPTIONS_OK) {
        return EXIT_USAGE;
    }
    if (rest < argc) {
        complain("unexpected argument \"%s\"", argv[rest]);
        return EXIT_USAGE;
    }
    choose_place(&options);
    if (!check_options(&options)) {
        return EXIT_USAGE;
    }
    if (options.scheme != options.comm.scheme) {
        snprintf(options.comm.scheme, sizeof options.comm.scheme, "%s", options.scheme);
    }
    return options.workers > 0 ? run_here(&options) : run_rank(&options);
}
