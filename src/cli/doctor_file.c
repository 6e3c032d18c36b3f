/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_file.c: see doctor_file.h. The TOML reader says where values stand; the edit itself works on the bytes. */
#define _GNU_SOURCE
#include "cli/doctor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "io/explain.h"
#include "io/file.h"
#include "io/toml.h"
#include "plan/input.h"
#include "plan/network.h"

/* At most the overhead, and the rate or a table. */
#define CHANGES_MAX 2
#define CHANGE_TEXT_MAX (2 * PLAN_NAME_MAX + 128)
#define SUFFIX ".XXXXXX"

/* Replaces `cut` bytes from `at` on by a text. */
struct change {
    size_t at, cut;
    char text[CHANGE_TEXT_MAX];
};

struct edit {
    const char *path;
    const char *text;
    const struct doctor_cable *cable;
    struct trib_toml toml;
    /* The line break that the file has. */
    const char *end;
    char *error;
    char rate[DOCTOR_QUANTITY_MAX], step[DOCTOR_QUANTITY_MAX];
    struct change changes[CHANGES_MAX];
    uint32_t count;
};

/* ---- numbers ---- */

/* digits / scale in the largest unit of which there is one, with four digits. */
static void format_four(uint64_t number, const char *const *units, uint32_t count, char *text)
{
    double value = (double)number;
    uint32_t unit = 0;

    while (unit + 1 < count && value >= 999.95) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, DOCTOR_QUANTITY_MAX, "%.4g%s", value, units[unit]);
}

void doctor_format_rate(uint64_t bps, char text[DOCTOR_QUANTITY_MAX])
{
    static const char *const units[] = {"bps", "Kbps", "Mbps", "Gbps"};
    format_four(bps, units, sizeof units / sizeof units[0], text);
}

void doctor_format_step(uint64_t ns, char text[DOCTOR_QUANTITY_MAX])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    format_four(ns, units, sizeof units / sizeof units[0], text);
}

/* ---- places ---- */

static const char *line_begin(const char *text, uint32_t line)
{
    for (uint32_t i = 1; i < line; i++) {
        text = strchr(text, '\n') + 1;
    }
    return text;
}

static size_t offset_of(const struct edit *e, struct trib_file_place place)
{
    return (size_t)(line_begin(e->text, place.line) - e->text) + place.column - 1;
}

/* Bytes of a value, with its quotes. */
static size_t length_of(const char *value)
{
    size_t len = 1;

    if (*value != '"' && *value != '\'') {
        return strcspn(value, " \t\r\n#");
    }
    while (value[len] != *value) {
        len += *value == '"' && value[len] == '\\' ? 2 : 1;
    }
    return len + 1;
}

static struct change *change_at(struct edit *e, size_t at, size_t cut)
{
    struct change *change = &e->changes[e->count++];
    *change = (struct change){.at = at, .cut = cut};
    return change;
}

static void replace(struct edit *e, const struct trib_toml_value *value, const char *text)
{
    size_t at = offset_of(e, value->place);
    struct change *change = change_at(e, at, length_of(e->text + at));
    (void)snprintf(change->text, sizeof change->text, "\"%s\"", text);
}

static const struct trib_toml_value *find_value(const struct edit *e, uint32_t table, const char *key)
{
    for (uint32_t i = 0; i < e->toml.value_count; i++) {
        if (e->toml.values[i].table == table && strcmp(e->toml.values[i].key, key) == 0) {
            return &e->toml.values[i];
        }
    }
    return NULL;
}

/* ---- the overhead ---- */

/* A new key stands behind the other keys of the whole file. If there are none, it stands before the first table and the
 * comments right above that table. */
static void add_step(struct edit *e)
{
    const struct trib_toml_value *last = NULL;
    for (uint32_t i = 0; i < e->toml.value_count && e->toml.values[i].table == 0; i++) {
        last = &e->toml.values[i];
    }
    if (last != NULL) {
        const char *at = line_begin(e->text, last->place.line);
        size_t len = strcspn(at, "\n");
        bool is_ended = at[len] == '\n';
        struct change *change = change_at(e, (size_t)(at - e->text) + len + is_ended, 0);
        (void)snprintf(change->text, sizeof change->text, "%sstep_overhead = \"%s\"%s", is_ended ? "" : e->end, e->step,
                       e->end);
        return;
    }
    uint32_t line = e->toml.table_count > 1 ? e->toml.tables[1].place.line : 1;
    while (line > 1 && line_begin(e->text, line - 1)[0] == '#') {
        line--;
    }
    struct change *change = change_at(e, (size_t)(line_begin(e->text, line) - e->text), 0);
    (void)snprintf(change->text, sizeof change->text, "step_overhead = \"%s\"%s%s", e->step, e->end, e->end);
}

static void set_step(struct edit *e)
{
    const struct trib_toml_value *value = find_value(e, 0, "step_overhead");
    if (value != NULL) {
        replace(e, value, e->step);
    } else {
        add_step(e);
    }
}

/* ---- the rate ---- */

static bool is_word(const char *word, size_t len, const char *name)
{
    return word != NULL && strlen(name) == len && memcmp(word, name, len) == 0;
}

static bool is_between(const struct trib_toml_value *between, const struct doctor_cable *cable)
{
    const char *at = between->text;
    size_t lens[2];
    const char *first = plan_next_word(&at, &lens[0]);
    const char *second = plan_next_word(&at, &lens[1]);

    return (is_word(first, lens[0], cable->host) && is_word(second, lens[1], cable->other)) ||
           (is_word(first, lens[0], cable->other) && is_word(second, lens[1], cable->host));
}

static void add_link(struct edit *e)
{
    size_t len = strlen(e->text);
    bool is_ended = len > 0 && e->text[len - 1] == '\n';
    struct change *change = change_at(e, len, 0);
    (void)snprintf(change->text, sizeof change->text, "%s%s[[link]]%sbetween = \"%s %s\"%srate = \"%s\"%s",
                   is_ended ? "" : e->end, e->end, e->end, e->cable->host, e->cable->other, e->end, e->rate, e->end);
}

/* The number of the cable's [[link]]; 0: it has none. False: there are several. */
static bool find_link(struct edit *e, uint32_t *table)
{
    *table = 0;
    for (uint32_t i = 1; i < e->toml.table_count; i++) {
        const struct trib_toml_value *between = find_value(e, i, "between");
        if (strcmp(e->toml.tables[i].name, "link") != 0 || between == NULL || between->kind != TRIB_TOML_STRING ||
            !is_between(between, e->cable)) {
            continue;
        }
        if (*table != 0) {
            return trib_file_refuse(e->error, e->path, between->place,
                                    "the link between %s and %s is there already, in line %" PRIu32
                                    ": remove one of the two",
                                    e->cable->host, e->cable->other, e->toml.tables[*table].place.line);
        }
        *table = i;
    }
    return true;
}

static bool set_rate(struct edit *e)
{
    bool is_generated = false;
    uint32_t table = 0;
    if (!find_link(e, &table)) {
        return false;
    }
    for (uint32_t i = 1; i < e->toml.table_count; i++) {
        is_generated = is_generated || strcmp(e->toml.tables[i].name, "topology") == 0;
    }
    const struct trib_toml_value *rate = table != 0 ? find_value(e, table, "rate") : NULL;
    if (table != 0 && rate == NULL) {
        return trib_file_refuse(e->error, e->path, e->toml.tables[table].place,
                                "this [[link]] has no rate: write one, such as rate = \"%s\"", e->rate);
    }
    if (table == 0 && !is_generated) {
        return trib_file_refuse(e->error, e->path, (struct trib_file_place){1, 1}, "no link between %s and %s",
                                e->cable->host, e->cable->other);
    }
    if (rate != NULL) {
        replace(e, rate, e->rate);
    } else {
        add_link(e);
    }
    return true;
}

/* ---- texts ---- */

static int by_place(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* NULL: out of memory. */
static char *apply(struct edit *e)
{
    size_t len = strlen(e->text);
    char *all = malloc(len + CHANGES_MAX * CHANGE_TEXT_MAX + 1);
    char *to = all;
    size_t from = 0;

    qsort(e->changes, e->count, sizeof e->changes[0], by_place);
    for (uint32_t i = 0; i < e->count && to != NULL; i++) {
        const struct change *change = &e->changes[i];
        to = mempcpy(to, e->text + from, change->at - from);
        to = mempcpy(to, change->text, strlen(change->text));
        from = change->at + change->cut;
    }
    if (to != NULL) {
        memcpy(to, e->text + from, len - from + 1);
    }
    return all;
}

static char *make_new(const struct edit *e)
{
    char *text = NULL;
    int got = asprintf(&text,
                       "# A network for `tributary plan` (docs/PLAN.md).\n"
                       "step_overhead = \"%s\"\n\n"
                       "[[link]]\n"
                       "between = \"%s %s\"\n"
                       "rate = \"%s\"\n",
                       e->step, e->cable->host, e->cable->other, e->rate);
    return got >= 0 ? text : NULL;
}

char *doctor_file_edit(const char *path, const char *text, const struct doctor_cable *cable,
                       const struct doctor_numbers *numbers, char *error)
{
    struct edit e = {.path = path, .text = text, .cable = cable, .end = "\n", .error = error};
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    char *all = NULL;

    doctor_format_rate(numbers->rate_bps, e.rate);
    doctor_format_step(numbers->step_ns, e.step);
    if (cable->rate_bps == 0) {
        all = make_new(&e);
    } else {
        size_t first = strcspn(text, "\n");
        e.end = first > 0 && text[first] == '\n' && text[first - 1] == '\r' ? "\r\n" : "\n";
        if (!trib_toml_read(&e.toml, text, strlen(text), cause)) {
            (void)trib_file_refuse(error, path, e.toml.place, "%s", cause);
            trib_toml_free(&e.toml);
            return NULL;
        }
        set_step(&e);
        bool is_good = set_rate(&e);
        trib_toml_free(&e.toml);
        if (!is_good) {
            return NULL;
        }
        all = apply(&e);
    }
    if (all == NULL) {
        trib_explain(error, "%s: out of memory", path);
    }
    return all;
}

/* ---- files ---- */

/* A new file beside the one of this path, or of its symbolic link. Writes both names, PATH_MAX bytes each. Returns the
 * descriptor, -1 with the cause. */
static int open_beside(const char *path, char *target, char *beside, char *error)
{
    if (realpath(path, target) == NULL) {
        if (errno != ENOENT || strlen(path) >= PATH_MAX) {
            trib_explain(error, "%s: %s", path, trib_explain_errno(errno));
            return -1;
        }
        (void)snprintf(target, PATH_MAX, "%s", path);
    }
    int len = snprintf(beside, PATH_MAX, "%s" SUFFIX, target);
    int fd = len < PATH_MAX ? mkostemp(beside, O_CLOEXEC) : -1;
    if (fd < 0) {
        trib_explain(error, "%s cannot be replaced: no new file can be made beside it: %s", path,
                     trib_explain_errno(len < PATH_MAX ? errno : ENAMETOOLONG));
    }
    return fd;
}

bool doctor_file_may_write(const char *path, char *error)
{
    char target[PATH_MAX];
    char beside[PATH_MAX];

    if (!trib_file_may_write(path, error)) {
        return false;
    }
    int fd = open_beside(path, target, beside, error);
    if (fd < 0) {
        return false;
    }
    (void)close(fd);
    (void)unlink(beside);
    return true;
}

/* Mode and owner of the file that is replaced; the usual ones for a new file. */
static void take_mode(int fd, const char *target)
{
    struct stat old;

    if (stat(target, &old) == 0) {
        (void)!fchown(fd, old.st_uid, old.st_gid);
        (void)fchmod(fd, old.st_mode & 07777);
    } else {
        mode_t mask = umask(0);
        (void)umask(mask);
        (void)fchmod(fd, 0666 & ~mask);
    }
}

static bool write_all(int fd, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t got = write(fd, text, len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        text += got;
        len -= (size_t)got;
    }
    return fsync(fd) == 0;
}

/* True if the planner reads this file. */
static bool is_network(const char *beside, const char *path, char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct plan_network net;
    bool is_good = plan_network_read_bare(&net, beside, cause);

    plan_network_free(&net);
    if (!is_good) {
        trib_explain(error, "%s stays as it is: the planner would not read the new text: %s", path, cause);
    }
    return is_good;
}

bool doctor_file_write(const char *path, const char *text, char *error)
{
    char target[PATH_MAX];
    char beside[PATH_MAX];
    int fd = open_beside(path, target, beside, error);

    if (fd < 0) {
        return false;
    }
    take_mode(fd, target);
    bool is_good = write_all(fd, text);
    is_good = close(fd) == 0 && is_good;
    if (!is_good) {
        trib_explain(error, "%s cannot be written: %s", path, trib_explain_errno(errno));
    }
    is_good = is_good && is_network(beside, path, error);
    if (is_good && rename(beside, target) != 0) {
        trib_explain(error, "%s cannot be replaced: %s", path, trib_explain_errno(errno));
        is_good = false;
    }
    if (!is_good) {
        (void)unlink(beside);
    }
    return is_good;
}
