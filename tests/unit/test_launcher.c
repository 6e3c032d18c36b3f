/* SPDX-License-Identifier: Apache-2.0 */
/* test_launcher.c: configs from defaults, launchers and variables. Mirrors src/comm/launcher.c and environment.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/environment.h"
#include "comm/launcher.h"

static char error[TRIB_ERROR_TEXT_MAX];

/* What the program was started with must not leak into a test. */
static int clear(void **state)
{
    (void)state;
    const struct trib_variable *variable;
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL; i++) {
        (void)unsetenv(variable->name);
    }
    const struct trib_launcher *launcher;
    for (unsigned i = 0; (launcher = trib_launcher_at(i)) != NULL; i++) {
        (void)unsetenv(launcher->rank);
        (void)unsetenv(launcher->ranks);
        for (unsigned k = 0; k < sizeof launcher->run / sizeof launcher->run[0] && launcher->run[k] != NULL; k++) {
            (void)unsetenv(launcher->run[k]);
        }
    }
    (void)unsetenv("MASTER_ADDR");
    (void)unsetenv("LOCAL_WORLD_SIZE");
    error[0] = '\0';
    return 0;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

/* What one call writes on standard error. */
static void listen_to_call(char *text, size_t size)
{
    struct trib_config config;
    int ends[2];
    int before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(before >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    enum trib_status status = trib_config_from_environment(&config, error);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    (void)close(before);
    (void)close(ends[1]);
    ssize_t len = read(ends[0], text, size - 1);
    (void)close(ends[0]);
    text[len > 0 ? len : 0] = '\0';
    assert_int_equal(status, TRIB_OK);
}

/* The first test: only a process's first call warns. */
static void config__warns_once_of_unknown_variables(void **state)
{
    char text[2048];
    (void)state;
    set("TRIB_WRIE", "int32");
    set("TRIB_XYZZY", "1");
    set("TRIB_WORLD_SIZE", "4");
    listen_to_call(text, sizeof text);
    assert_non_null(strstr(text, "TRIB_WRIE has no effect: did you mean TRIB_WIRE?\n"));
    assert_non_null(
        strstr(text, "TRIB_XYZZY has no effect: there is no variable of that name; `tributary info` lists them\n"));
    assert_non_null(strstr(text, "TRIB_WORLD_SIZE has no effect: did you mean TRIB_RANKS?\n"));
    listen_to_call(text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(unsetenv("TRIB_WRIE"), 0);
    assert_int_equal(unsetenv("TRIB_XYZZY"), 0);
    assert_int_equal(unsetenv("TRIB_WORLD_SIZE"), 0);
}

static void config__defaults_are_those_of_the_header(void **state)
{
    (void)state;
    struct trib_config config;
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.switch_address, "");
    assert_string_equal(config.server_address, "");
    assert_string_equal(config.rendezvous, "");
    assert_string_equal(config.host_id, "");
    assert_int_equal(config.root_weight, 1);
    assert_true(config.level0);
    assert_string_equal(config.job, "default");
    assert_string_equal(config.run, "");
    assert_string_equal(config.scheme, "switchml");
    assert_int_equal(config.rank, 0);
    assert_int_equal(config.ranks, 1);
    assert_int_equal(config.wire, TRIB_WIRE_OF_SCHEME);
    assert_int_equal(config.priority, 128);
    assert_int_equal(config.payload,
                     0); /* by the family of the switch's address: unit/test_address, integration/ipv6 */
    assert_int_equal(config.window, 0);
    assert_true(config.multicast && config.progress_thread && config.trains);
    assert_int_equal(config.spin_us, 200);
    assert_int_equal(config.dscp, 0);
    assert_int_equal(config.backlog, 127500);
    assert_true(config.join_timeout_ns == 30000000000 && config.switch_timeout_ns == 10000000000);
    assert_true(config.timeout_ns == 1800000000000 && config.linger_ns == 1000000000);
    assert_true(config.faults.loss == 0 && config.faults.duplicate == 0 && config.faults.reorder == 0 &&
                config.faults.corrupt == 0 && config.faults.seed == 0);
}

/* The program may name the ranks, and a key, later. */
static void config__what_depends_on_the_program_is_checked_later(void **state)
{
    (void)state;
    struct trib_config config;
    set("TRIB_SCHEME", "hybrid:2");
    set("TRIB_ENCRYPT", "1");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_true(config.encrypt);
    assert_int_equal(config.ranks, 1);
    config.ranks = 3;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "there is no key (TRIB_KEY_FILE)"));
    config.encrypt = false;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "not a multiple"));
    set("TRIB_RANKS", "3");
    set("TRIB_RANK", "0");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "not a multiple"));
}

static void config__every_variable_takes_its_example(void **state)
{
    (void)state;
    const struct trib_variable *variable;
    struct trib_config config;
    trib_config_init(&config);
    unsigned read = 0;
    for (unsigned i = 0; (variable = trib_variable_at(i)) != NULL; i++) {
        assert_true(strlen(variable->help) > 0);
        bool needs_file = strncmp(variable->name, "TRIB_KEY_", 9) == 0; /* test_keys.c has one */
        if (variable->read != NULL && !needs_file) {
            assert_int_equal(trib_variable_read(variable, variable->example, &config, error), TRIB_OK);
            read++;
        }
    }
    assert_int_equal(read, 31);
}

static void config__variables_reach_their_fields(void **state)
{
    (void)state;
    struct trib_config config;
    set("TRIB_SWITCH", "[fd00::1]:99");
    set("TRIB_SERVER", "[fd00::9]:98");
    set("TRIB_JOB", "j");
    set("TRIB_RUN", "night 3");
    set("TRIB_RANK", "3");
    set("TRIB_RANKS", "5");
    set("TRIB_SCHEME", "switchml");
    set("TRIB_WIRE", "int32");
    set("TRIB_PAYLOAD", "8192");
    set("TRIB_WINDOW", "64KiB");
    set("TRIB_GRADIENT_BYTES", "40MB");
    set("TRIB_PRIORITY", "7");
    set("TRIB_LEVEL0", "off");
    set("TRIB_MULTICAST", "0");
    set("TRIB_PROGRESS", "off");
    set("TRIB_TRAINS", "no");
    set("TRIB_SPIN_US", "50");
    set("TRIB_DSCP", "56");
    set("TRIB_BACKLOG", "64KiB");
    set("TRIB_JOIN_TIMEOUT", "1s");
    set("TRIB_SWITCH_TIMEOUT", "2s");
    set("TRIB_FALLBACK", "1");
    set("TRIB_TIMEOUT", "3min");
    set("TRIB_LINGER", "250ms");
    set("TRIB_FAULTS", "loss=1%,duplicate=2%,reorder=3%,corrupt=0.5%,seed=7");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.switch_address, "[fd00::1]:99");
    assert_string_equal(config.server_address, "[fd00::9]:98");
    assert_string_equal(config.job, "j");
    assert_string_equal(config.run, "night 3");
    assert_int_equal(config.rank, 3);
    assert_int_equal(config.ranks, 5);
    assert_int_equal(config.wire, TRIB_WIRE_INT32);
    assert_int_equal(config.payload, 8192);
    assert_int_equal(config.window, 65536);
    assert_int_equal(config.gradient_bytes, 40000000);
    assert_int_equal(config.priority, 7);
    assert_false(config.level0 || config.multicast || config.progress_thread || config.trains);
    assert_int_equal(config.spin_us, 50);
    assert_int_equal(config.dscp, 56);
    assert_int_equal(config.backlog, 65536);
    assert_true(config.join_timeout_ns == 1000000000 && config.switch_timeout_ns == 2000000000 && config.fallback);
    assert_true(config.timeout_ns == 180000000000 && config.linger_ns == 250000000);
    assert_true(config.faults.loss == 0.01 && config.faults.duplicate == 0.02 && config.faults.reorder == 0.03);
    assert_true(config.faults.corrupt == 0.005 && config.faults.seed == 7);
}

static void config__rank_and_size_come_from_launchers(void **state)
{
    static const char *const pairs[][2] = {{"RANK", "WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct trib_config config;
        (void)clear(state);
        set(pairs[i][0], "2");
        set(pairs[i][1], "8");
        assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
        assert_int_equal(config.rank, 2);
        assert_int_equal(config.ranks, 8);
    }
}

/* Two launches differ in it, the ranks of one do not. A text of any length and any bytes gives one that can travel. */
static void config__the_run_is_that_of_the_launcher_that_gives_the_rank(void **state)
{
    static const struct {
        const char *set[4][2];
        const char *want;
    } cases[] = {
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "5d1c"}, {"MASTER_PORT", "29500"}},
         "torchrun 5d1c:29500"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29501"}, {"SLURM_JOB_ID", "7"}}, "torchrun 29501"},
        {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "prterun-a-12@1"}},
         "Open MPI prterun-a-12@1"},
        {{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "41.0"}}, "PMI 41.0"},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "3"}}, "Slurm 17:3"},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}, ""},
        {{{"TRIB_RANK", "0"}, {"TRIB_RANKS", "2"}, {"MASTER_PORT", "29500"}}, ""},
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}, {"TRIB_RUN", "mine"}}, "mine"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_config config;
        (void)clear(state);
        for (size_t k = 0; k < 4 && cases[i].set[k][0] != NULL; k++) {
            set(cases[i].set[k][0], cases[i].set[k][1]);
        }
        assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
        assert_string_equal(config.run, cases[i].want);
    }
}

static void config__a_run_that_cannot_travel_becomes_a_digest(void **state)
{
    struct trib_config configs[3];
    char text[3000];
    (void)state;
    set("RANK", "0");
    set("WORLD_SIZE", "2");
    memset(text, 'x', sizeof text - 1);
    for (size_t i = 0; i < 3; i++) {
        text[sizeof text - 1] = '\0';
        text[sizeof text - 2] = (char)('a' + i);
        set("TORCHELASTIC_RUN_ID", i < 2 ? text : "two\nlines");
        assert_int_equal(trib_config_from_environment(&configs[i], error), TRIB_OK);
        assert_int_equal(strlen(configs[i].run), strlen("torchrun ") + 16);
    }
    assert_string_not_equal(configs[0].run, configs[1].run);
    set("TRIB_RUN", "two\nlines");
    assert_int_equal(trib_config_from_environment(&configs[0], error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "TRIB_RUN: \"two\\x0alines\" holds a control byte"));
}

static void config__own_variables_win(void **state)
{
    (void)state;
    struct trib_config config;
    set("RANK", "5"); /* without WORLD_SIZE, beside a whole launcher */
    set("SLURM_PROCID", "1");
    set("SLURM_NTASKS", "4");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_int_equal(config.rank, 1);
    set("TRIB_RANK", "3");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_int_equal(config.rank, 3);
    assert_int_equal(config.ranks, 4);
}

static void config__errors_name_variable_and_value(void **state)
{
    static const struct {
        const char *name, *value, *text;
    } cases[] = {
        {"TRIB_JOIN_TIMEOUT", "30", "TRIB_JOIN_TIMEOUT: \"30\" has no unit; a duration is written like 30s or 500ms"},
        {"TRIB_WINDOW", "65536", "TRIB_WINDOW: \"65536\" has no unit; a size is written like 64MB or 64KiB"},
        {"TRIB_PAYLOAD", "1400", "TRIB_PAYLOAD: 1400 is not a multiple of 64"},
        {"TRIB_PAYLOAD", "16384", "TRIB_PAYLOAD: 16384 is not from 64 to 8192"},
        {"TRIB_WIRE", "fp32", "TRIB_WIRE: \"fp32\" is none of float32, bfloat16, int32"},
        {"TRIB_RANKS", "1025", "TRIB_RANKS: 1025 is not from 1 to 1024"},
        {"TRIB_RANKS", "-1", "TRIB_RANKS: \"-1\" is not a whole number"},
        {"TRIB_RANK", "1", "rank: 1 is not below the number of ranks, 1"},
        {"TRIB_SCHEME", "magic", "scheme: \"magic\" is not known; `tributary info` lists the schemes"},
        {"TRIB_SCHEME", "switchml-literal",
         "scheme: \"switchml-literal\" is not known; `tributary info` lists the schemes"},
        {"TRIB_JOB", "", "TRIB_JOB: \"\" is not 1 to 64 bytes long"},
        {"TRIB_GRADIENT_BYTES", "4000000",
         "TRIB_GRADIENT_BYTES: \"4000000\" has no unit; a size is written like 64MB or 64KiB"},
        {"TRIB_BACKLOG", "2GiB", "TRIB_BACKLOG: 2GiB is not from 0 B to 1 GiB"},
        {"TRIB_DSCP", "64", "TRIB_DSCP: 64 is not from 0 to 63"},
        {"TRIB_TRAINS", "maybe", "TRIB_TRAINS: \"maybe\" is neither on nor off; write 1 or 0"},
        {"TRIB_FAULTS", "loss=1", "TRIB_FAULTS: \"1\" has no unit; a percentage is written like 1% or 0.1%"},
        {"TRIB_FAULTS", "lost=1%", "TRIB_FAULTS: \"lost\" is none of loss, duplicate, reorder, corrupt, seed"},
        {"TRIB_TIMEOUT", "0s", "TRIB_TIMEOUT: 0s is not from 1 ms to 10000 h"},
        {"TRIB_SWITCH_TIMEOUT", "0", "TRIB_SWITCH_TIMEOUT: 0 is not from 1 ms to 10000 h"},
        {"TRIB_JOIN_TIMEOUT", "20000h", "TRIB_JOIN_TIMEOUT: 20000h is not from 1 ms to 10000 h"},
        {"TRIB_ROOT_WEIGHT", "0", "TRIB_ROOT_WEIGHT: 0 is not from 1 to 255"},
        {"TRIB_SWITCH", "", "TRIB_SWITCH: \"\" is not 1 to 64 bytes long"},
        {"TRIB_SWITCH", "10.0.0.1:99999", "TRIB_SWITCH: \"10.0.0.1:99999\" has no valid port: want 0 to 65535"},
        {"TRIB_RENDEZVOUS", "239.1.1.1:1",
         "TRIB_RENDEZVOUS: \"239.1.1.1\" is a multicast or broadcast address: name the address of one machine"},
        {"TRIB_JOB", "a\033[31m", "TRIB_JOB: \"a\\x1b[31m\" holds a control byte"},
        {"TRIB_FAULTS", "loss", "TRIB_FAULTS: \"loss\" is not name=value; write for example loss=1%,seed=7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_config config;
        memset(&config, 0x5a, sizeof config);
        (void)clear(state);
        set(cases[i].name, cases[i].value);
        assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
        assert_string_equal(error, cases[i].text);
        assert_int_equal(config.rank, 0x5a5a5a5a); /* written only on success */
    }
}

/* Each process would be rank 0 of 1, and its own tensor the sum. */
static void config__half_a_launcher_is_refused(void **state)
{
    const struct trib_launcher *launcher;
    for (unsigned i = 0; (launcher = trib_launcher_at(i)) != NULL; i++) {
        for (int half = 0; half < 2; half++) {
            struct trib_config config;
            char text[TRIB_ERROR_TEXT_MAX];
            const char *there = half == 0 ? launcher->rank : launcher->ranks;
            const char *missing = half == 0 ? launcher->ranks : launcher->rank;
            (void)clear(state);
            set(there, "2");
            assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
            (void)snprintf(text, sizeof text,
                           "%s is set and %s is not: set both, or neither, or TRIB_RANK and TRIB_RANKS", there,
                           missing);
            assert_non_null(strstr(error, text));
            set("TRIB_RANK", "1");
            assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
            set("TRIB_RANKS", "4");
            assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
            assert_true(config.rank == 1 && config.ranks == 4);
        }
    }
}

static void config__launcher_errors_name_the_variable(void **state)
{
    (void)state;
    struct trib_config config;
    set("OMPI_COMM_WORLD_RANK", "zero");
    set("OMPI_COMM_WORLD_SIZE", "2");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "OMPI_COMM_WORLD_RANK: \"zero\" is not a whole number");
    assert_int_equal(trib_config_from_environment(&config, NULL), TRIB_ERR_INVALID);
}

static void config_check__refuses_what_no_text_was_read_for(void **state)
{
    (void)state;
    struct trib_config config;
    trib_config_init(&config);
    assert_int_equal(trib_config_check(&config, error), TRIB_OK);
    config.priority = 256;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "priority: 256 is not from 0 to 255"));
    config.priority = 255;
    config.wire = (enum trib_wire)2;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    trib_config_init(&config);
    config.faults.loss = -0.5;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    trib_config_init(&config);
    memset(config.job, 'x', sizeof config.job); /* no final zero */
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    trib_config_init(&config);
    config.level0 = false; /* and no switch */
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    trib_config_init(&config);
    config.ranks = 0;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    trib_config_init(&config);
    config.switch_timeout_ns = 0;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "switch timeout (TRIB_SWITCH_TIMEOUT): 0 is no time to wait");
}

static void config__rendezvous(void **state)
{
    (void)state;
    struct trib_config config;
    set("TRIB_RENDEZVOUS", "10.0.0.1:99");
    set("TRIB_HOSTID", "h7");
    set("TRIB_ROOT_WEIGHT", "3");
    set("TRIB_NICS", "eth0,10.0.1.1");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.rendezvous, "10.0.0.1:99");
    assert_string_equal(config.host_id, "h7");
    assert_int_equal(config.root_weight, 3);
    assert_string_equal(config.nics, "eth0,10.0.1.1");
    (void)unsetenv("TRIB_NICS");
    set("TRIB_SWITCH", "10.0.0.2");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "both a switch (TRIB_SWITCH, 10.0.0.2) and a rendezvous (TRIB_RENDEZVOUS, "
                                  "10.0.0.1:99) are named: choose one"));
    (void)unsetenv("TRIB_RENDEZVOUS");
    set("TRIB_SCHEME", "ring");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "scheme ring: its ranks send to each other, and to no switch: name a rendezvous"));
    (void)unsetenv("TRIB_SWITCH");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    (void)unsetenv("TRIB_SCHEME");
    set("TRIB_LEVEL0", "0");
    set("TRIB_ROOT_WEIGHT", "256");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "TRIB_ROOT_WEIGHT: 256 is not"));
    set("TRIB_ROOT_WEIGHT", "1");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK); /* a place may still be named */
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "neither a switch (TRIB_SWITCH) nor a rendezvous (TRIB_RENDEZVOUS) is named"));
    trib_config_init(&config);
    memset(config.rendezvous, 'x', sizeof config.rendezvous); /* no final zero */
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
}

/* Sums that may lack ranks: what they cannot be of, before anybody is asked. */
static void config__quorum(void **state)
{
    static const struct {
        const char *name, *value, *text;
    } cases[] = {
        {"TRIB_SCHEME", "panama:9/8",
         "scheme panama:9/8: a quorum is M/N, at least 1/2 and less than 1, N at most 255"},
        {"TRIB_SCHEME", "switchml:7/8", "scheme switchml:7/8: it has no quorum; panama has"},
        {"TRIB_WIRE", "int32", "scheme panama:7/8: wire int32 needs exponents that all ranks have agreed on"},
        {"TRIB_PAYLOAD", "64", "scheme panama:7/8: the list of ranks takes 64 bytes of each payload"},
        {"TRIB_RANKS", "513", "scheme panama:7/8: a result that lacks ranks lists up to 512 of them"},
        {"TRIB_RENDEZVOUS", "10.0.0.2",
         "scheme panama:7/8: a rank that is done may leave before a late rank has its results"},
    };
    struct trib_config config;

    set("TRIB_SWITCH", "10.0.0.2");
    set("TRIB_SCHEME", "panama:7/8");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK); /* with the payload that is chosen */
    config.fallback = true;
    assert_int_equal(trib_config_check(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "no fallback is possible (TRIB_FALLBACK)"));
    set("TRIB_RANKS", "512");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)clear(state);
        set("TRIB_SCHEME", "panama:7/8");
        if (strcmp(cases[i].name, "TRIB_RENDEZVOUS") != 0) {
            set("TRIB_SWITCH", "10.0.0.2");
        }
        set(cases[i].name, cases[i].value);
        assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
        if (strstr(error, cases[i].text) != error) {
            fail_msg("%s, not %s", error, cases[i].text);
        }
    }
}

/* Under torchrun over several hosts nothing has to be named. */
static void config__torchrun_says_where_rank_0_is(void **state)
{
    (void)state;
    struct trib_config config;
    set("RANK", "5");
    set("WORLD_SIZE", "8");
    set("LOCAL_WORLD_SIZE", "4");
    set("MASTER_ADDR", "node-1.cluster");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.rendezvous, "node-1.cluster:7470");
    set("MASTER_ADDR", "fe80::1");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.rendezvous, "[fe80::1]:7470");
    set("LOCAL_WORLD_SIZE", "8"); /* all are here */
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.rendezvous, "");
    set("LOCAL_WORLD_SIZE", "4");
    set("TRIB_SWITCH", "10.0.0.2");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.rendezvous, "");
    (void)unsetenv("TRIB_SWITCH");
    set("TRIB_RENDEZVOUS", "10.0.0.1:99");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_OK);
    assert_string_equal(config.rendezvous, "10.0.0.1:99");
    (void)unsetenv("TRIB_RENDEZVOUS");
    set("LOCAL_WORLD_SIZE", "four");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "LOCAL_WORLD_SIZE: \"four\" is not a whole number"));
    set("LOCAL_WORLD_SIZE", "4");
    set("MASTER_ADDR", "a-name-of-a-host-that-is-longer-than-any-that-a-rendezvous-may-have.example");
    assert_int_equal(trib_config_from_environment(&config, error), TRIB_ERR_INVALID);
    assert_non_null(strstr(error, "is too long: name the address in TRIB_RENDEZVOUS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(config__warns_once_of_unknown_variables, clear),
        cmocka_unit_test_setup(config__rendezvous, clear),
        cmocka_unit_test_setup(config__quorum, clear),
        cmocka_unit_test_setup(config__torchrun_says_where_rank_0_is, clear),
        cmocka_unit_test_setup(config__defaults_are_those_of_the_header, clear),
        cmocka_unit_test_setup(config__what_depends_on_the_program_is_checked_later, clear),
        cmocka_unit_test_setup(config__every_variable_takes_its_example, clear),
        cmocka_unit_test_setup(config__variables_reach_their_fields, clear),
        cmocka_unit_test_setup(config__rank_and_size_come_from_launchers, clear),
        cmocka_unit_test_setup(config__the_run_is_that_of_the_launcher_that_gives_the_rank, clear),
        cmocka_unit_test_setup(config__a_run_that_cannot_travel_becomes_a_digest, clear),
        cmocka_unit_test_setup(config__own_variables_win, clear),
        cmocka_unit_test_setup(config__half_a_launcher_is_refused, clear),
        cmocka_unit_test_setup(config__errors_name_variable_and_value, clear),
        cmocka_unit_test_setup(config__launcher_errors_name_the_variable, clear),
        cmocka_unit_test_setup(config_check__refuses_what_no_text_was_read_for, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
