/* SPDX-License-Identifier: Apache-2.0 */
/* command_info.c: `tributary info`: the build, the limits of this machine, and every environment variable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "comm/environment.h"
#include "comm/sample.h"
#include "control/server.h"
#include "core/crc32c.h"
#include "core/ghash.h"
#include "core/node.h"
#include "core/sample.h"
#include "core/tag.h"
#include "core/value.h"
#include "io/units.h"
#include "keys/derive.h"
#include "net/port.h"
#include "net/resolve.h"
#include "published/published.h"
#include "report/json.h"
#include "schemes/schemes.h"

struct info_options {
    bool json;
};

static const struct option_row rows[] = {
    {"json", 0, NULL, "as one JSON object", OPTION_ON, offsetof(struct info_options, json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_info = {
    .usage = "tributary info [options]",
    .summary = "Prints the version, the CPU kernels in use, limits, and every environment variable.",
    .rows = rows,
};

/* Limits of a socket on this machine. */
struct sockets {
    bool trains;
    uint32_t room;
};

static struct sockets probe_sockets(void)
{
    struct trib_port_config config = {.payload = 1408, .buffer = 32U << 20, .trains = true};
    struct sockets found = {0};
    struct trib_port *port = NULL;

    if (trib_address_parse("127.0.0.1:0", 0, &config.local, NULL) == TRIB_OK &&
        trib_port_open(&config, &port, NULL) == TRIB_OK) {
        found = (struct sockets){trib_port_has_trains(port), trib_port_receive_room(port)};
        trib_port_close(port);
    }
    return found;
}

static void print_sample(void)
{
    const char *text = getenv("TRIB_SAMPLE");
    char found[TRIB_SAMPLE_TEXT_MAX];
    uint64_t every = 0;
    if (text == NULL || trib_parse_number(text, 1, TRIB_SAMPLE_EVERY_MAX, &every, NULL) != TRIB_OK) {
        printf("other sums         not sampled (TRIB_SAMPLE=1000 repeats one of 1000 runs of each)\n");
        return;
    }
    trib_sample_explain((uint32_t)every, found);
    printf("other sums         sampled (TRIB_SAMPLE): %s\n", found);
}

static void print_key(void)
{
    const char *key = getenv("TRIB_KEY_FILE") != NULL ? getenv("TRIB_KEY_FILE") : getenv("TRIB_KEY_FD");
    const char *encrypt = getenv("TRIB_ENCRYPT");
    if (key == NULL) {
        printf("sessions, packets  unauthenticated: no TRIB_KEY_FILE\n");
        return;
    }
    printf("sessions, packets  with the key in %s\n", key);
    printf("payloads           %s\n", encrypt != NULL && strcmp(encrypt, "0") != 0
                                          ? "encrypted (TRIB_ENCRYPT)"
                                          : "in clear (TRIB_ENCRYPT=1 encrypts them)");
}

static void print_text(struct sockets sockets)
{
    printf("version            %s (wire %d, session %d)\n", trib_version(), TRIB_WIRE_VERSION, TRIB_SESSION_VERSION);
    printf("value kernels      %s\n", trib_value_kernels()->name);
    printf("checksum           crc32c, %s\n", trib_crc32c_name());
    printf("packet trains      %s\n", sockets.trains ? "yes (UDP_SEGMENT, UDP_GRO)" : "no: one packet a call");
    printf("socket buffer      room for %u bytes of packets (raise net.core.rmem_max for more, or run as root)\n",
           sockets.room);
    const char *lack = trib_http_explain_lack();
    printf("http in the switch %s%s\n", lack == NULL ? "yes" : "no: ", lack == NULL ? "" : lack);
    print_key();
    if (trib_keys_explain_lack() == NULL) {
        printf("keys of jobs       yes; packets by AES-256-GCM, kernel %s\n", trib_ghash_kernel()->name);
    } else {
        printf("keys of jobs       %s\n", trib_keys_explain_lack());
    }
    printf("proof of values    float32 sums on wire int32, broadcasts and allgathers, of jobs with a key; kernel %s\n",
           trib_tag_kernel()->name);
    if (getenv("TRIB_KEY_FILE") != NULL || getenv("TRIB_KEY_FD") != NULL) {
        print_sample();
    }
    printf("limits             %d ranks, %d shards, payload 64 to %d bytes\n", TRIB_RANKS_MAX, TRIB_ROOTS_MAX,
           TRIB_PAYLOAD_MAX);
    for (unsigned i = 0; trib_published_at(i) != NULL; i++) {
        const struct trib_scheme *scheme = trib_published_at(i);
        printf("%-18s %s: %s\n", scheme->refusal == NULL ? "scheme" : "published rule", scheme->name,
               scheme->guarantee);
        if (scheme->has_quorum || scheme->has_groups) {
            printf("%19s%s:%s: %s\n", "", scheme->name, scheme->has_quorum ? "M/N" : "M",
                   scheme->has_quorum ? TRIB_SCHEME_QUORUM_RULE : TRIB_SCHEME_GROUPS_RULE);
        }
    }
    printf("\nenvironment variables:\n");
    for (unsigned i = 0; trib_variable_at(i) != NULL; i++) {
        const struct trib_variable *v = trib_variable_at(i);
        printf("  %-20s %s (such as %s)\n", v->name, v->help, v->example);
    }
    printf("\nrank and size are read from the first of these that is set:\n  %-20s TRIB_RANK, TRIB_RANKS\n",
           "tributary run");
    for (unsigned i = 0; trib_launcher_at(i) != NULL; i++) {
        const struct trib_launcher *l = trib_launcher_at(i);
        printf("  %-20s %s, %s\n", l->name, l->rank, l->ranks);
    }
}

static void print_json(struct sockets sockets)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '{');
    report_json_say(&json, "version", trib_version());
    report_json_put(&json, "wire_version", "%d", TRIB_WIRE_VERSION);
    report_json_put(&json, "session_version", "%d", TRIB_SESSION_VERSION);
    report_json_say(&json, "value_kernels", trib_value_kernels()->name);
    report_json_say(&json, "checksum", trib_crc32c_name());
    report_json_flag(&json, "trains", sockets.trains);
    report_json_put(&json, "receive_room", "%u", sockets.room);
    report_json_flag(&json, "http", trib_http_explain_lack() == NULL);
    report_json_flag(&json, "keys", trib_keys_explain_lack() == NULL);
    report_json_say(&json, "packet_mac_kernel", trib_ghash_kernel()->name);
    report_json_say(&json, "proof_kernel", trib_tag_kernel()->name);
    report_json_put(&json, "ranks_max", "%d", TRIB_RANKS_MAX);
    report_json_put(&json, "shards_max", "%d", TRIB_ROOTS_MAX);
    report_json_put(&json, "payload_max", "%d", TRIB_PAYLOAD_MAX);
    report_json_open(&json, "schemes", '[');
    for (unsigned i = 0; trib_scheme_at(i) != NULL; i++) {
        report_json_say(&json, NULL, trib_scheme_at(i)->name);
    }
    report_json_close(&json, ']');
    report_json_open(&json, "environment", '[');
    for (unsigned i = 0; trib_variable_at(i) != NULL; i++) {
        const struct trib_variable *v = trib_variable_at(i);
        report_json_open(&json, NULL, '{');
        report_json_say(&json, "name", v->name);
        report_json_say(&json, "example", v->example);
        report_json_say(&json, "help", v->help);
        report_json_close(&json, '}');
    }
    report_json_close(&json, ']');
    report_json_close(&json, '}');
    printf("\n");
}

int command_info(int argc, char **argv)
{
    struct info_options options = {0};
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_info, argc, argv, &options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (rest < argc) {
        complain("unexpected argument \"%s\"", argv[rest]);
        return EXIT_USAGE;
    }
    if (options.json) {
        print_json(probe_sockets());
    } else {
        print_text(probe_sockets());
    }
    return 0;
}
