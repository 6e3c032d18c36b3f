/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config.c: bytes to everything that reads what a person wrote: numbers with units, addresses, command lines,
 * configuration files, environment variables. The first byte chooses. What is taken must lie within what its reader
 * promises; what is not must come with a cause. Names are not resolved: that would ask the network. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/options.h"
#include "comm/environment.h"
#include "core/packet.h"
#include "fuzz/fuzz.h"
#include "io/units.h"
#include "net/resolve.h"

#define WORDS_MAX 16

struct options {
    struct trib_faults faults;
    const char *text;
    double percent;
    uint64_t seed, size, size_short, duration;
    uint32_t count, size32;
    enum trib_wire wire;
    const char *address, *addresses;
    bool on, off;
};

static const struct option_row rows[] = {
    {"on", 'o', NULL, "", OPTION_ON, offsetof(struct options, on)},
    {"off", 0, NULL, "", OPTION_OFF, offsetof(struct options, off)},
    {"text", 't', "TEXT", "", OPTION_TEXT, offsetof(struct options, text)},
    {"count", 'n', "N", "", OPTION_COUNT(0, 1000000000), offsetof(struct options, count)},
    {"size", 0, "SIZE", "", OPTION_SIZE(0, UINT64_MAX), offsetof(struct options, size)},
    {"size32", 0, "SIZE", "", OPTION_SIZE32(0, UINT32_MAX), offsetof(struct options, size32)},
    {"size-short", 'b', "SIZE", "", OPTION_SIZE_SHORT(0, UINT64_MAX), offsetof(struct options, size_short)},
    {"duration", 0, "TIME", "", OPTION_TIMEOUT, offsetof(struct options, duration)},
    {"wire", 0, "TYPE", "", OPTION_WIRE, offsetof(struct options, wire)},
    {"address", 0, "ADDRESS", "", OPTION_ADDRESS, offsetof(struct options, address)},
    {"addresses", 0, "ADDRESS,...", "", OPTION_ADDRESSES, offsetof(struct options, addresses)},
    OPTION_FAULT_ROWS(offsetof(struct options, faults)),
    {NULL, 0, NULL, NULL, NULL, 0},
};

static const struct option_command command = {.usage = "fuzz", .summary = "", .rows = rows};

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static bool is_rate(double rate)
{
    return rate >= 0 && rate <= 1;
}

static void check_faults(const struct trib_faults *faults)
{
    must(is_rate(faults->loss) && is_rate(faults->duplicate) && is_rate(faults->reorder) && is_rate(faults->corrupt));
}

static void check_options(const struct options *o)
{
    must(o->count <= 1000000000);
    must(o->wire == 0 || o->wire == TRIB_WIRE_FLOAT32 || o->wire == TRIB_WIRE_BFLOAT16 || o->wire == TRIB_WIRE_INT32);
    check_faults(&o->faults);
}

/* Every refusal names its cause; every number is within its bounds. */
static void units(const char *text)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char shown[TRIB_UNITS_TEXT_MAX];
    uint64_t value = 0;
    double rate = 0;
    bool flag = false;
    struct trib_faults faults = {0};

    must(trib_parse_size(text, &value, error) == TRIB_OK || error[0] != '\0');
    trib_format_size(value, shown);
    must(trib_parse_size_short(text, &value, error) == TRIB_OK || error[0] != '\0');
    must(trib_parse_duration(text, &value, error) == TRIB_OK || error[0] != '\0');
    trib_format_duration(value, shown);
    must(trib_parse_rate(text, &value, error) == TRIB_OK || error[0] != '\0');
    if (trib_parse_percent(text, &rate, error) == TRIB_OK) {
        must(is_rate(rate));
    }
    if (trib_parse_number(text, 3, 17, &value, error) == TRIB_OK) {
        must(value >= 3 && value <= 17);
    }
    must(trib_parse_bool(text, &flag, error) == TRIB_OK || error[0] != '\0');
    if (trib_faults_parse(text, &faults, error) == TRIB_OK) {
        check_faults(&faults);
    }
}

/* The C library's, for the whole program: "1.2.3.4.5" is a name, too, which it would ask the network for, for seconds. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    struct addrinfo numeric = *hints;

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    }
    numeric.ai_flags |= AI_NUMERICHOST;
    return real(node, service, &numeric, list);
}

static void address(const char *text)
{
    struct trib_address parsed;
    struct trib_address again;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char shown[64];

    if (strspn(text, "0123456789.:[]") != strlen(text)) {
        return;
    }
    if (trib_address_parse(text, 7470, &parsed, error) != TRIB_OK) {
        must(error[0] != '\0');
        return;
    }
    trib_address_format(&parsed, shown);
    must(trib_address_parse(shown, 1, &again, NULL) == TRIB_OK && trib_address_equal(&parsed, &again));
}

/* Words are separated by newlines. */
static void command_line(char *text)
{
    struct options options = {0};
    char program[] = "fuzz";
    char *words[WORDS_MAX + 1] = {program};
    int count = 1;
    int rest = 0;

    for (char *word = strsep(&text, "\n"); word != NULL && count < WORDS_MAX; word = strsep(&text, "\n")) {
        words[count++] = word;
    }
    if (options_read(&command, count, words, &options, &rest) == OPTIONS_OK) {
        must(rest >= 1 && rest <= count);
        check_options(&options);
    }
}

static void file(const char *text, size_t len)
{
    struct options options = {0};
    char path[32];
    int fd = memfd_create("config", MFD_CLOEXEC);

    if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
        abort();
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (options_read_file(&command, path, &options)) {
        check_options(&options);
    }
    options_forget();
    (void)close(fd);
}

/* Lines of NAME=value, of our names only: others are the process's own. */
static void environment(char *text)
{
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    for (unsigned i = 0; trib_variable_at(i) != NULL; i++) {
        (void)unsetenv(trib_variable_at(i)->name);
    }
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
        char *value = strchr(line, '=');
        if (value == NULL || line[0] == '\0') {
            continue;
        }
        *value++ = '\0';
        unsigned index = (unsigned)(unsigned char)line[0] % 24;
        if (trib_variable_at(index) != NULL) {
            (void)setenv(trib_variable_at(index)->name, value, 1);
        }
    }
    if (trib_config_from_environment(&config, error) != TRIB_OK) {
        must(error[0] != '\0');
        return;
    }
    must(config.payload <= TRIB_PAYLOAD_MAX && config.payload % TRIB_PAYLOAD_ALIGN == 0); /* 0: it is chosen later */
    must(config.dscp <= 63);
    check_faults(&config.faults);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    /* Complaints and help are written all the same, to nowhere. libFuzzer has its own descriptor for what it says. */
    return freopen("/dev/null", "w", stdout) == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 4096) {
        return 0;
    }
    size_t len = size - 1;
    char *text = malloc(len + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data + 1, len);
    text[len] = '\0';
    switch (data[0] % 5) {
    case 0:
        units(text);
        break;
    case 1:
        address(text);
        break;
    case 2:
        command_line(text);
        break;
    case 3:
        file(text, len);
        break;
    default:
        environment(text);
        break;
    }
    free(text);
    return 0;
}
