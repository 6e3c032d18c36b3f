/* SPDX-License-Identifier: Apache-2.0 */
/* case.c: a case as text. "place=switch ranks=3 | call count=353 type=int32 | close": settings, then steps; what has its
 * default is left out. Values are numbers or words. Read next: generate.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

#define WORDS_MAX 16

struct key {
    const char *name;
    int64_t value; /* default */
    const char *const *words;
};

static const char *const places[] = {"host", "switch", "shards", "lossy",   "tree", "mixed",
                                     "with", "over",   "none",   "nowhere", NULL};
static const char *const schemes[] = {"switchml", "panama", "panama:1/2", "panama:7/8", "ring", "hybrid:2",
                                      "atp",      "ps",     "rina",       "goat",       NULL};
static const char *const wires[] = {"", "float32", "", "bfloat16", "int32", NULL};
static const char *const seals[] = {"open", "keyed", "encrypted", "sampled", "both", NULL};
static const char *const odds[] = {"nothing",        "ranks",
                                   "scheme",         "wire",
                                   "payload",        "window",
                                   "invalid_rank",   "invalid_payload",
                                   "invalid_wire",   "invalid_scheme",
                                   "invalid_job",    "invalid_rate",
                                   "invalid_places", NULL};
static const char *const collectives[] = {"",       "allreduce", "broadcast",      "barrier",
                                          "reduce", "allgather", "reduce_scatter", NULL};
static const char *const types[] = {"",      "float32", "float16", "bfloat16", "int32", "int64",
                                    "bytes", "float64", "int8",    "uint8",    NULL};
static const char *const reductions[] = {"", "sum", "average", "minimum", "maximum", "product", NULL};
static const char *const hows[] = {"blocking", "wait", "poll", "wait_for", "later", NULL};

static const char *const step_names[] = {
#define X(name, text) text,
    API_STEP_MAP(X)
#undef X
};

static const char *const *words_of_setting(enum api_setting setting)
{
    switch ((int)setting) {
    case API_PLACE:
        return places;
    case API_SCHEME:
        return schemes;
    case API_WIRE:
        return wires;
    case API_SEAL:
        return seals;
    case API_ODD:
        return odds;
    default:
        return NULL;
    }
}

static const char *const *words_of_field(enum api_field field)
{
    switch ((int)field) {
    case API_COLLECTIVE:
        return collectives;
    case API_TYPE:
        return types;
    case API_REDUCTION:
        return reductions;
    case API_HOW:
        return hows;
    default:
        return NULL;
    }
}

static struct key setting_key(enum api_setting setting)
{
    static const struct key keys[] = {
#define X(name, text, value) {text, value, NULL},
        API_SETTING_MAP(X)
#undef X
    };
    struct key key = keys[setting];
    key.words = words_of_setting(setting);
    return key;
}

static struct key field_key(enum api_field field)
{
    static const struct key keys[] = {
#define X(name, text, value) {text, value, NULL},
        API_FIELD_MAP(X)
#undef X
    };
    struct key key = keys[field];
    key.words = words_of_field(field);
    return key;
}

int64_t api_setting_default(enum api_setting setting)
{
    return setting_key(setting).value;
}

int64_t api_field_default(enum api_field field)
{
    return field_key(field).value;
}

const char *api_scheme_name(int64_t scheme)
{
    return schemes[scheme];
}

void api_case_init(struct api_case *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < API_SETTINGS; i++) {
        c->setting[i] = setting_key((enum api_setting)i).value;
    }
}

void api_step_init(struct api_step *step, enum api_step_kind kind)
{
    step->kind = kind;
    for (int i = 0; i < API_FIELDS; i++) {
        step->field[i] = field_key((enum api_field)i).value;
    }
}

/* ---- print ---- */

static uint32_t count_words(const char *const *words)
{
    uint32_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    return count;
}

static size_t print_value(const struct key *key, int64_t value, char *text, size_t size)
{
    if (key->words != NULL && value >= 0 && value < count_words(key->words) && key->words[value][0] != '\0') {
        return (size_t)snprintf(text, size, " %s=%s", key->name, key->words[value]);
    }
    return (size_t)snprintf(text, size, " %s=%" PRId64, key->name, value);
}

void api_step_text(const struct api_step *step, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", step_names[step->kind]);
    for (int i = 0; i < API_FIELDS && used < size; i++) {
        struct key key = field_key((enum api_field)i);
        if (step->field[i] != key.value) {
            used += print_value(&key, step->field[i], text + used, size - used);
        }
    }
}

static size_t print_settings(const struct api_case *c, char *line)
{
    struct key place = setting_key(API_PLACE);
    size_t used = print_value(&place, c->setting[API_PLACE], line, API_LINE_MAX);
    memmove(line, line + 1, used--);
    for (int i = API_PLACE + 1; i < API_SETTINGS; i++) {
        struct key key = setting_key((enum api_setting)i);
        if (c->setting[i] != key.value) {
            used += print_value(&key, c->setting[i], line + used, API_LINE_MAX - used);
        }
    }
    return used;
}

void api_case_print(const struct api_case *c, char *line)
{
    size_t used = print_settings(c, line);
    for (uint32_t i = 0; i < c->steps; i++) {
        char text[512];
        api_step_text(&c->step[i], text, sizeof text);
        used += (size_t)snprintf(line + used, API_LINE_MAX - used, " | %s", text);
    }
}

void api_case_show(const struct api_case *c)
{
    char line[API_LINE_MAX];
    (void)print_settings(c, line);
    printf("  trib_comm_create  %s\n", line);
    for (uint32_t i = 0; i < c->steps; i++) {
        char text[512];
        api_step_text(&c->step[i], text, sizeof text);
        printf("  step %-2u           %s\n", i, text);
    }
}

/* ---- parse ---- */

static bool parse_value(const struct key *key, const char *text, int64_t *value)
{
    char *end;
    for (int64_t i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        if (strcmp(key->words[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0';
}

static bool parse_setting(struct api_case *c, const char *name, const char *text)
{
    for (int i = 0; i < API_SETTINGS; i++) {
        struct key key = setting_key((enum api_setting)i);
        if (strcmp(key.name, name) == 0) {
            return parse_value(&key, text, &c->setting[i]);
        }
    }
    return false;
}

static bool parse_field(struct api_step *step, const char *name, const char *text)
{
    for (int i = 0; i < API_FIELDS; i++) {
        struct key key = field_key((enum api_field)i);
        if (strcmp(key.name, name) == 0) {
            return parse_value(&key, text, &step->field[i]);
        }
    }
    return false;
}

static bool begin_step(struct api_case *c, const char *name)
{
    for (int i = 1; i < API_STEP_KINDS; i++) {
        if (strcmp(step_names[i], name) == 0 && c->steps < API_STEPS_MAX) {
            api_step_init(&c->step[c->steps++], (enum api_step_kind)i);
            return true;
        }
    }
    return false;
}

bool api_case_parse(const char *line, struct api_case *c)
{
    char copy[API_LINE_MAX];
    char *rest = NULL;
    bool is_step = false;
    (void)snprintf(copy, sizeof copy, "%s", line);
    api_case_init(c);
    for (char *word = strtok_r(copy, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
        char *value = strchr(word, '=');
        bool is_known;
        if (strcmp(word, "|") == 0) {
            is_step = true;
            continue;
        }
        if (value != NULL) {
            *value++ = '\0';
            is_known = c->steps > 0 ? parse_field(&c->step[c->steps - 1], word, value) : parse_setting(c, word, value);
        } else {
            is_known = is_step && begin_step(c, word);
        }
        if (!is_known) {
            (void)fprintf(stderr, "api: \"%s\" is not known in: %s\n", word, line);
            return false;
        }
    }
    return true;
}
