/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_topology.c: which host of a network's file this machine is, and its cable there. Read next: doctor_file.c. */
#include "cli/doctor_topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "io/explain.h"
#include "io/file.h"
#include "net/nics.h"
#include "plan/input.h"
#include "plan/network.h"

#define BAD_IN_NAMES " ;+*|~\"\\"

static void add_name(struct doctor_names *names, const char *name)
{
    for (uint32_t i = 0; i < names->count; i++) {
        if (strcmp(names->list[i], name) == 0) {
            return;
        }
    }
    if (name[0] != '\0' && strlen(name) <= PLAN_NAME_MAX && names->count < DOCTOR_NAMES_MAX) {
        (void)snprintf(names->list[names->count++], sizeof names->list[0], "%s", name);
    }
}

/* The address without its port and brackets. */
static void add_address(struct doctor_names *names, const struct trib_address *address)
{
    char text[64];
    char *begin = text;

    trib_address_format(address, text);
    char *end = strrchr(text, ':');
    if (text[0] == '[') {
        begin = text + 1;
        end = strchr(text, ']');
    }
    if (end != NULL) {
        *end = '\0';
        add_name(names, begin);
    }
}

void doctor_names_collect(struct doctor_names *names, const struct trib_address *peer,
                          const struct trib_address *source)
{
    char text[256] = "";
    struct trib_address local;

    *names = (struct doctor_names){.count = 0};
    trib_address_format(peer, names->peer);
    if (gethostname(text, sizeof text - 1) == 0) {
        add_name(names, text);
        text[strcspn(text, ".")] = '\0';
        add_name(names, text);
    }
    if (source != NULL) {
        add_address(names, source);
    } else if (trib_nics_source(peer, &local)) {
        add_address(names, &local);
    }
}

bool doctor_names_choose(struct doctor_names *names, const char *host, char *error)
{
    struct trib_address address;

    if (host[0] == '\0' || strlen(host) > PLAN_NAME_MAX || strpbrk(host, BAD_IN_NAMES) != NULL ||
        !trib_is_printable(host) || trib_address_read(host, &address)) {
        trib_explain(error,
                     "\"%.80s\" is no name of a host: at most %d characters, without a port, a blank or one of%s", host,
                     PLAN_NAME_MAX, BAD_IN_NAMES);
        return false;
    }
    names->count = 1;
    names->is_chosen = true;
    (void)snprintf(names->list[0], sizeof names->list[0], "%s", host);
    return true;
}

/* ---- the file ---- */

/* "h9 or 10.0.0.7" */
static void list_names(const struct doctor_names *names, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < names->count && len < size; i++) {
        const char *between = i == 0 ? "" : i + 1 < names->count ? ", " : " or ";
        len += (size_t)snprintf(text + len, size - len, "%s%s", between, names->list[i]);
    }
}

static void refuse_unknown(const char *path, const struct plan_network *net, const struct doctor_names *names,
                           char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    char list[DOCTOR_NAMES_MAX * (PLAN_NAME_MAX + 4)];

    if (names->is_chosen) {
        plan_names_explain(&net->names, names->list[0], strlen(names->list[0]), cause);
        trib_explain(error, "%s: --host: %s", path, cause);
        return;
    }
    list_names(names, list, sizeof list);
    trib_explain(error,
                 "%s has no host %s, the names of this machine: name the host that it is there (--host), or add a "
                 "[[link]] between it and its switch",
                 path, list);
}

static void refuse_switch(const char *path, const struct plan_network *net, uint32_t place, char *error)
{
    const struct trib_fabric *f = &net->fabric;
    uint32_t cables = f->first[place + 1] - f->first[place];

    if (cables == 1) {
        trib_explain(error, "%s: %s is a switch there: name a host (--host)", path, net->names.list[place]);
    } else {
        trib_explain(error,
                     "%s: %s has %" PRIu32 " cables there, so it is a switch: a host has one. Name a host (--host), or "
                     "remove cables",
                     path, net->names.list[place], cables);
    }
}

/* The place of the only host that has one of the names; PLAN_NO_NAME: error has the cause. */
static uint32_t find_host(const char *path, const struct plan_network *net, const struct doctor_names *names,
                          char *error)
{
    uint32_t found = PLAN_NO_NAME;
    uint32_t other = PLAN_NO_NAME;

    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t place = plan_names_find(&net->names, names->list[i], strlen(names->list[i]));
        if (place == PLAN_NO_NAME) {
            continue;
        }
        if (place >= net->hosts) {
            other = place;
        } else if (found != PLAN_NO_NAME) {
            trib_explain(error, "%s: this machine is two hosts there, %s and %s: name one (--host)", path,
                         net->names.list[found], names->list[i]);
            return PLAN_NO_NAME;
        } else {
            found = place;
        }
    }
    if (found == PLAN_NO_NAME && other != PLAN_NO_NAME) {
        refuse_switch(path, net, other, error);
    } else if (found == PLAN_NO_NAME) {
        refuse_unknown(path, net, names, error);
    }
    return found;
}

static bool find_cable(const char *path, const struct plan_network *net, const struct doctor_names *names,
                       struct doctor_cable *cable, char *error)
{
    const struct trib_fabric *f = &net->fabric;
    uint32_t host = find_host(path, net, names, error);

    if (host == PLAN_NO_NAME) {
        return false;
    }
    uint32_t link = f->out[f->first[host]];
    (void)snprintf(cable->host, sizeof cable->host, "%s", net->names.list[host]);
    (void)snprintf(cable->other, sizeof cable->other, "%s", net->names.list[f->to[link]]);
    cable->rate_bps = f->rate_bps[link];
    return true;
}

/* The text that the file would have. NULL: error has the cause. */
static char *edit(const char *path, const struct doctor_cable *cable, const struct doctor_numbers *numbers, char *error)
{
    size_t len = 0;
    char *old = cable->rate_bps != 0 ? trib_file_read(path, &len, error) : NULL;
    char *text = old != NULL || cable->rate_bps == 0 ? doctor_file_edit(path, old, cable, numbers, error) : NULL;

    free(old);
    return text;
}

bool doctor_topology_find(const char *path, const struct doctor_names *names, struct doctor_cable *cable, char *error)
{
    const struct doctor_numbers any = {TRIB_LINK_RATE_MIN, 1000};
    struct plan_network net;

    *cable = (struct doctor_cable){.rate_bps = 0};
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        (void)snprintf(cable->host, sizeof cable->host, "%s", names->count > 0 ? names->list[0] : "host0");
        (void)snprintf(cable->other, sizeof cable->other, "%s", names->peer);
        return doctor_file_may_write(path, error);
    }
    bool is_good = plan_network_read_bare(&net, path, error) && find_cable(path, &net, names, cable, error) &&
                   doctor_file_may_write(path, error);
    plan_network_free(&net);
    char *text = is_good ? edit(path, cable, &any, error) : NULL;
    is_good = text != NULL;
    free(text);
    return is_good;
}

bool doctor_topology_write(const char *path, const struct doctor_cable *cable, const struct doctor_numbers *numbers,
                           char *error)
{
    char *text = edit(path, cable, numbers, error);
    bool is_good = text != NULL && doctor_file_write(path, text, error);

    free(text);
    return is_good;
}
