/* SPDX-License-Identifier: Apache-2.0 */
/* command_doctor.c: `tributary doctor`: checks if this machine and its path to the switch can carry a job, and names
 * remedies.
 * Read next: doctor.h. */
#include <stdio.h>
#include <string.h>

#include <tributary/comm.h>

#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/options.h"
#include "io/clock.h"
#include "report/json.h"

struct doctor_options {
    const char *switch_address;
    const char *topology;
    const char *host;
    uint64_t timeout_ns;
    bool offline;
    bool json;
};

static const struct option_row rows[] = {
    {"switch", 's', "HOST[:PORT]", "the switch to try [TRIB_SWITCH, else 127.0.0.1:7470]", OPTION_ADDRESS,
     offsetof(struct doctor_options, switch_address)},
    {"timeout", 0, "TIME", "how long to wait for each answer [2s]", OPTION_TIMEOUT,
     offsetof(struct doctor_options, timeout_ns)},
    {"topology", 0, "FILE", "measure link and overhead of a step, and write both there for `tributary plan`",
     OPTION_TEXT, offsetof(struct doctor_options, topology)},
    {"host", 0, "NAME", "with --topology: name of this machine in the file [its host name or address]", OPTION_TEXT,
     offsetof(struct doctor_options, host)},
    {"offline", 0, NULL, "look at this machine only", OPTION_ON, offsetof(struct doctor_options, offline)},
    {"json", 0, NULL, "as one JSON object", OPTION_ON, offsetof(struct doctor_options, json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_doctor = {
    .usage = "tributary doctor [options]",
    .summary =
        "Checks the needs of a job: trains (GSO/GRO), socket buffers, clock; and the way to the switch: TCP, UDP "
        "on every\n"
        "shard, path MTU, round trip, ECN. Names remedies. Exit status 1 when jobs can not run.",
    .rows = rows,
    .examples = "  tributary doctor --switch 10.0.0.1\n"
                "  tributary doctor --switch 10.0.0.1 --topology net.toml\n"
                "  tributary doctor --offline --json",
};

static const char *const level_names[DOCTOR_LEVELS] = {"ok", "note", "FAIL"};

static uint32_t count_of(const struct doctor *doctor, enum doctor_level level)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < doctor->count; i++) {
        count += doctor->findings[i].level == level;
    }
    return count;
}

static void print_text(const struct doctor *doctor)
{
    for (uint32_t i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        printf("%-4s  %-14s  %s\n", level_names[finding->level], finding->check, finding->text);
        if (finding->advice[0] != '\0') {
            printf("%-4s  %-14s  -> %s\n", "", "", finding->advice);
        }
    }
    uint32_t fails = count_of(doctor, DOCTOR_FAIL);
    uint32_t notes = count_of(doctor, DOCTOR_NOTE);
    printf("\n%u checks: %u ok, %u could be better, %u in the way\n", doctor->count, count_of(doctor, DOCTOR_OK), notes,
           fails);
}

static void print_json(const struct doctor *doctor)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '{');
    report_json_flag(&json, "ok", count_of(doctor, DOCTOR_FAIL) == 0);
    report_json_open(&json, "findings", '[');
    for (uint32_t i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        report_json_open(&json, NULL, '{');
        report_json_say(&json, "level", level_names[finding->level]);
        report_json_say(&json, "check", finding->check);
        report_json_say(&json, "text", finding->text);
        report_json_say(&json, "advice", finding->advice);
        report_json_close(&json, '}');
    }
    report_json_close(&json, ']');
    if (doctor->has_written) {
        report_json_open(&json, "measured", '{');
        report_json_say(&json, "topology", doctor->topology);
        report_json_say(&json, "host", doctor->cable.host);
        report_json_say(&json, "switch", doctor->cable.other);
        report_json_count(&json, "rate_bps", doctor->numbers.rate_bps);
        report_json_count(&json, "step_overhead_ns", doctor->numbers.step_ns);
        report_json_close(&json, '}');
    }
    report_json_close(&json, '}');
    printf("\n");
}

/* A note that every machine gets: no check can remove the cause. */
static void tell_trust(struct doctor *doctor)
{
    char id[TRIB_KEY_ID_TEXT];
    struct doctor_finding *finding = NULL;
    if (doctor->keys.is_set) {
        trib_key_id_format(doctor->keys.id, id);
        finding =
            doctor_add(doctor, DOCTOR_NOTE, "trust",
                       "sessions are authenticated by key %s, and so are packets; anybody on the link can read sums "
                       "without TRIB_ENCRYPT=1, and a switch that lies can change sums that are not proved, without an "
                       "error (`tributary info` names the proved sums)",
                       id);
    } else {
        finding = doctor_add(doctor, DOCTOR_NOTE, "trust",
                             "packets and sessions are not authenticated: anybody on the link can change sums without "
                             "an error (a repeated result with another payload), and read them");
    }
    doctor_advise(finding, "let only machines that you trust reach the ports of the switch, the ranks and the link%s",
                  doctor->keys.is_set ? "" : "; a key (`tributary key`) authenticates sessions and packets");
}

/* False: the options do not go together, which is said. */
static bool fits(const struct doctor_options *options)
{
    if (options->topology != NULL && options->offline) {
        (void)complain("doctor: --topology measures the way to the switch: it does not go with --offline");
        return false;
    }
    if (options->topology == NULL && options->host != NULL) {
        (void)complain("doctor: --host goes with --topology");
        return false;
    }
    return true;
}

static void examine(struct doctor *doctor, const struct trib_config *settings, bool is_offline)
{
    bool measures = doctor->topology != NULL && doctor_link_find(doctor);

    doctor_machine(doctor);
    tell_trust(doctor);
    if (!is_offline) {
        doctor_path(doctor);
    }
    if (measures && count_of(doctor, DOCTOR_FAIL) == 0) {
        doctor_link_measure(doctor, settings);
    } else if (measures) {
        (void)doctor_add(doctor, DOCTOR_NOTE, "topology", "nothing was measured, and %.200s stays as it is",
                         doctor->topology);
    }
}

int command_doctor(int argc, char **argv)
{
    struct doctor_options options = {.timeout_ns = 2 * TRIB_SECOND_NS};
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_doctor, argc, argv, &options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (rest < argc) {
        complain("unexpected argument \"%s\"", argv[rest]);
        return EXIT_USAGE;
    }
    if (!fits(&options)) {
        return EXIT_USAGE;
    }
    if (trib_config_from_environment(&config, error) != TRIB_OK) {
        return complain("%s", error);
    }
    if (config.switch_address[0] == '\0') {
        (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:%d", TRIB_DEFAULT_PORT);
    }
    struct doctor doctor = {
        .switch_address = options.switch_address != NULL ? options.switch_address : config.switch_address,
        .nics = config.nics,
        .timeout_ns = options.timeout_ns,
        .topology = options.topology,
        .host = options.host,
    };
    if (trib_keys_derive(config.key, config.key_len, &doctor.keys, error) != TRIB_OK) {
        return complain("%s", error);
    }
    examine(&doctor, &config, options.offline);
    if (options.json) {
        print_json(&doctor);
    } else {
        print_text(&doctor);
    }
    trib_wipe(&doctor.keys, sizeof doctor.keys);
    trib_wipe(config.key, sizeof config.key);
    return count_of(&doctor, DOCTOR_FAIL) == 0 ? 0 : 1;
}
