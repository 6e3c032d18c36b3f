/* SPDX-License-Identifier: Apache-2.0 */
/* command_jobs.c: `tributary jobs`: asks a switch over HTTP for its jobs, once or repeatedly. Read next:
 * jobs_print.c. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "cli/commands.h"
#include "cli/http_get.h"
#include "cli/http_guard.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "io/clock.h"
#include "net/address.h"
#include "net/resolve.h"
#include "switchd/switchd.h"

#define URL_MAX (TRIB_HOST_MAX + 64)

struct jobs_options {
    const char *http;
    const char *token; /* a file */
    const char *ca;
    uint64_t every_ns;
    bool watch;
    bool json;
};

static const struct option_row rows[] = {
    {"http", 0, "HOST[:PORT]", "HTTP of the switch [127.0.0.1, port of TRIB_SWITCH + 1000]", OPTION_ADDRESS,
     offsetof(struct jobs_options, http)},
    {"token", 0, "FILE", "the token of a switch with --http-token; it is asked by TLS [none: in clear]", OPTION_TEXT,
     offsetof(struct jobs_options, token)},
    {"ca", 0, "FILE",
     "with --token: PEM file of certificates that the switch's is trusted by, or is one of [the system's]", OPTION_TEXT,
     offsetof(struct jobs_options, ca)},
    {"watch", 'w', NULL, "show it again and again, until Ctrl-C", OPTION_ON, offsetof(struct jobs_options, watch)},
    {"every", 0, "TIME", "with --watch: how often [1s]", OPTION_TIMEOUT, offsetof(struct jobs_options, every_ns)},
    {"json", 0, NULL, "print the switch's answer (/v1/jobs) unchanged: a JSON array", OPTION_ON,
     offsetof(struct jobs_options, json)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_jobs = {
    .usage = "tributary jobs [options] [JOB]",
    .summary = "Shows the jobs of a switch, with their groups: slots held, fragments per second, recoveries, and the "
               "ranks\nthat are waited for. With a JOB: recoveries by kind, and every rank, of each group of the job.",
    .rows = rows,
    .examples = "  tributary jobs --watch\n"
                "  tributary jobs train --http 127.0.0.1:8470\n"
                "  tributary jobs --http switch1:8470 --token http.token --ca http.pem",
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static void default_url(const struct trib_config *config, const char *scheme, char *url, size_t size)
{
    struct trib_address address;
    uint16_t port = TRIB_DEFAULT_PORT;

    if (config->switch_address[0] != '\0' &&
        trib_address_parse(config->switch_address, TRIB_DEFAULT_PORT, &address, NULL) == TRIB_OK) {
        port = trib_address_port(&address);
    }
    (void)snprintf(url, size, "%s://127.0.0.1:%u/v1/jobs", scheme, trib_switchd_http_port(port));
}

/* Where the switch's HTTP is. In clear a name becomes its address: the switch answers to no name but localhost. By TLS
 * it stays, as the certificate has it. False: the cause was printed. */
static bool make_url(const struct jobs_options *options, const struct trib_config *config, char *url, size_t size)
{
    const char *scheme = options->token != NULL ? "https" : "http";
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char text[64];
    struct trib_address address;

    if (options->http == NULL) {
        default_url(config, scheme, url, size);
        return true;
    }
    uint16_t port = trib_switchd_http_port(TRIB_DEFAULT_PORT);
    if (trib_address_parse(options->http, port, &address, error) != TRIB_OK) {
        complain("--http: %s", error);
        return false;
    }
    char host[TRIB_HOST_MAX + 1];
    bool is_name = options->token != NULL && trib_address_cut(options->http, host, &port, error) == TRIB_OK &&
                   strchr(host, ':') == NULL;
    if (is_name) {
        (void)snprintf(url, size, "%s://%s:%u/v1/jobs", scheme, host, port);
        return true;
    }
    trib_address_format(&address, text);
    (void)snprintf(url, size, "%s://%s/v1/jobs", scheme, text);
    return true;
}

/* Slots that the switch lends to others: beside its jobs, at the same place. NULL: it does not say. */
static json_t *ask_lends(const char *jobs_url, const struct http_access *access)
{
    char url[URL_MAX];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    size_t len = 0;

    (void)snprintf(url, sizeof url, "%.*s/switch", (int)(strrchr(jobs_url, '/') - jobs_url), jobs_url);
    char *body = http_get(url, access, &len, error);
    json_t *all = body != NULL ? json_loadb(body, len, 0, NULL) : NULL;
    json_t *lends = json_incref(json_object_get(all, "lends"));
    json_decref(all);
    free(body);
    return lends;
}

/* Asks once. NULL: the cause was printed. is_named: where to ask was said, else it is this machine. */
static json_t *ask(const char *url, const struct http_access *access, bool is_named)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    json_error_t broken;
    size_t len = 0;
    char *body = http_get(url, access, &len, error);

    if (body == NULL) {
        complain("%s; is `tributary switch` running %s, with --http%s?", error, is_named ? "there" : "on this machine",
                 access->token != NULL ? "-tls, this --http-token, and a certificate that --ca is for"
                                       : ", and without --http-tls");
        return NULL;
    }
    json_t *jobs = json_loadb(body, len, 0, &broken);
    free(body);
    if (!json_is_array(jobs)) {
        complain("%s: the answer is not from a tributary switch", url);
        json_decref(jobs);
        return NULL;
    }
    return jobs;
}

/* Prints one answer. False: the named job is not there. */
static bool show(const struct jobs_options *options, const struct jobs_view *view)
{
    if (options->json) {
        (void)json_dumpf(view->now, stdout, JSON_INDENT(2));
        putchar('\n');
        return true;
    }
    if (options->watch && isatty(STDOUT_FILENO)) {
        printf("\033[H\033[J"); /* from the top of a clear screen */
    }
    return jobs_print(view);
}

static void sleep_for(uint64_t ns)
{
    struct timespec rest = {(time_t)(ns / TRIB_SECOND_NS), (long)(ns % TRIB_SECOND_NS)};

    while (!interrupted && nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

static int watch(const struct jobs_options *options, const struct http_access *access, const char *url,
                 const char *name)
{
    json_t *before = NULL;
    uint64_t before_ns = 0;
    int status = 0;
    bool is_lost = false; /* which the end of the program says */

    do {
        uint64_t now_ns = trib_clock_ns();
        json_t *now = ask(url, access, options->http != NULL);
        if (now == NULL && before == NULL) {
            status = 1;
            break;
        }
        if (now == NULL) { /* a switch that answered before may come back */
            sleep_for(options->every_ns);
            continue;
        }
        json_t *lends = options->json || name != NULL ? NULL : ask_lends(url, access);
        struct jobs_view view = {now, before, (double)(now_ns - before_ns) / 1e9, lends, name};
        bool is_there = show(options, &view);
        json_decref(lends);
        if (!is_there) {
            json_decref(now);
            status = complain("no job \"%s\" at this switch", name);
            break;
        }
        is_lost = fflush(stdout) != 0;
        json_decref(before);
        before = now;
        before_ns = now_ns;
        if (options->watch) {
            sleep_for(options->every_ns);
        }
    } while (options->watch && !interrupted && !is_lost);
    json_decref(before);
    return status;
}

/* Reads the token, and asks with it. */
static int ask_all(const struct jobs_options *options, const char *url, const char *name)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char *token = options->token != NULL ? http_guard_read_token(options->token, error) : NULL;
    const struct http_access access = {token, options->ca};

    if (options->token != NULL && token == NULL) {
        complain("--token: %s", error);
        return EXIT_USAGE;
    }
    int status = watch(options, &access, url, name);
    http_guard_forget_text(token);
    return status;
}

int command_jobs(int argc, char **argv)
{
    struct jobs_options options = {.every_ns = 0};
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char url[URL_MAX];
    const char *name = NULL;
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_jobs, argc, argv, &options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (rest < argc) {
        name = argv[rest++];
    }
    if (rest < argc) {
        complain("unexpected argument \"%s\"", argv[rest]);
        return EXIT_USAGE;
    }
    if (options.every_ns != 0 && !options.watch) {
        complain("--every goes with --watch");
        return EXIT_USAGE;
    }
    if (options.ca != NULL && options.token == NULL) {
        complain("--ca goes with --token: without a token the switch is asked in clear");
        return EXIT_USAGE;
    }
    options.every_ns = options.every_ns != 0 ? options.every_ns : TRIB_SECOND_NS;
    if (trib_config_from_environment(&config, error) != TRIB_OK) {
        return complain("%s", error);
    }
    if (!make_url(&options, &config, url, sizeof url)) {
        return EXIT_USAGE;
    }
    if (http_get_explain_lack() != NULL) {
        return complain("jobs: %s", http_get_explain_lack());
    }
    const struct sigaction action = {.sa_handler = on_interrupt};
    (void)sigaction(SIGINT, &action, NULL);
    return ask_all(&options, url, name);
}
