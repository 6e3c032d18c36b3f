/* SPDX-License-Identifier: Apache-2.0 */
/* values.c: readers of single values; see draft.h. Read next: scenario.c (keys and their readers). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/nearest.h"
#include "io/units.h"
#include "published/published.h"
#include "sim/jobs/steps.h"
#include "sim/scenario/draft.h"

#define NS_PS UINT64_C(1000)
#define DURATION_MAX_NS (UINT64_C(100) * 3600 * 1000000000)
#define RATE_MIN UINT64_C(1000000)
#define RATE_MAX UINT64_C(3200000000000)
#define PACKET_MAX 65535U
#define ALPHA_MAX 128U

/* ---- readers: one value into one field ---- */

static bool expect_text(struct draft *d, const struct trib_toml_value *value, const char *example)
{
    return value->kind == TRIB_TOML_STRING ||
           sim__refuse(d, value->place, "%s must be a text, such as \"%s\"", value->key, example);
}

static bool read_whole(struct draft *d, const struct trib_toml_value *value, uint64_t min, uint64_t max,
                       uint64_t *number)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (value->kind != TRIB_TOML_INTEGER) {
        return sim__refuse(d, value->place, "%s must be a whole number, without quotes", value->key);
    }
    if (trib_parse_number(value->text, min, max, number, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s: %s", value->key, cause);
    }
    return true;
}

bool sim__read_seed(struct draft *d, const struct trib_toml_value *value, void *field)
{
    return read_whole(d, value, 0, UINT64_MAX, field);
}

static bool read_from(struct draft *d, const struct trib_toml_value *value, uint64_t min, void *field)
{
    uint64_t number = 0;

    if (!read_whole(d, value, min, SIM_NODES_MAX, &number)) {
        return false;
    }
    *(uint32_t *)field = (uint32_t)number;
    return true;
}

bool sim__read_count(struct draft *d, const struct trib_toml_value *value, void *field)
{
    return read_from(d, value, 1, field);
}

bool sim__read_index(struct draft *d, const struct trib_toml_value *value, void *field)
{
    return read_from(d, value, 0, field);
}

bool sim__read_trees(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint64_t number = 0;

    if (!read_whole(d, value, 1, TRIB_ROOTS_MAX, &number)) {
        return false;
    }
    *(uint32_t *)field = (uint32_t)number;
    return true;
}

bool sim__read_name(struct draft *d, const struct trib_toml_value *value, void *field)
{
    if (!expect_text(d, value, "my scenario")) {
        return false;
    }
    if (strlen(value->text) >= SIM_NAME_MAX) {
        return sim__refuse(d, value->place, "%s is longer than %u bytes", value->key, SIM_NAME_MAX - 1);
    }
    memcpy(field, value->text, strlen(value->text) + 1);
    return true;
}

bool sim__read_duration(struct draft *d, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t ns = 0;

    if (!expect_text(d, value, "20ms")) {
        return false;
    }
    if (trib_parse_duration(value->text, &ns, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (ns > DURATION_MAX_NS) {
        return sim__refuse(d, value->place, "%s: longer than 100h", value->key);
    }
    *(uint64_t *)field = ns * NS_PS;
    return true;
}

bool sim__read_rate(struct draft *d, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t rate = 0;

    if (!expect_text(d, value, "10Gbps")) {
        return false;
    }
    if (trib_parse_rate(value->text, &rate, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (rate < RATE_MIN || rate > RATE_MAX) {
        return sim__refuse(d, value->place, "%s is %s; the range is 1Mbps to 3200Gbps", value->key, value->text);
    }
    *(uint64_t *)field = rate;
    return true;
}

bool sim__read_bytes(struct draft *d, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";

    if (!expect_text(d, value, "1MB")) {
        return false;
    }
    if (trib_parse_size(value->text, field, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s: %s", value->key, cause);
    }
    if (*(uint64_t *)field == 0 || *(uint64_t *)field >= SIM_AMOUNT_PACKETS / 1000) {
        return sim__refuse(d, value->place, "%s cannot be %s", value->key, value->text);
    }
    return true;
}

/* Bytes; 0B is allowed. */
bool sim__read_threshold(struct draft *d, const struct trib_toml_value *value, void *field)
{
    if (value->kind == TRIB_TOML_STRING && strcmp(value->text, "0B") == 0) {
        *(uint64_t *)field = 0;
        return true;
    }
    return sim__read_bytes(d, value, field);
}

bool sim__read_packet(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint64_t bytes = 0;

    if (!sim__read_bytes(d, value, &bytes)) {
        return false;
    }
    if (bytes > PACKET_MAX) {
        return sim__refuse(d, value->place, "%s is more than %u bytes", value->key, PACKET_MAX);
    }
    *(uint32_t *)field = (uint32_t)bytes;
    return true;
}

/* Bytes, full packets ("85pkt"), or "none". */
bool sim__read_amount(struct draft *d, const struct trib_toml_value *value, void *field)
{
    const char *unit = strstr(value->text, "pkt");
    char digits[TRIB_UNITS_TEXT_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t count = 0;

    if (!expect_text(d, value, "85pkt")) {
        return false;
    }
    if (strcmp(value->text, "none") == 0) {
        *(uint64_t *)field = SIM_NEVER;
        return true;
    }
    if (unit == NULL || unit[3] != '\0' || (size_t)(unit - value->text) >= sizeof digits) {
        return sim__read_bytes(d, value, field);
    }
    memcpy(digits, value->text, (size_t)(unit - value->text));
    if (trib_parse_number(digits, 1, 1000000, &count, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s: %s", value->key, cause);
    }
    *(uint64_t *)field = count | SIM_AMOUNT_PACKETS;
    return true;
}

bool sim__read_part(struct draft *d, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    double share = 0;

    if (!expect_text(d, value, "60%")) {
        return false;
    }
    if (trib_parse_percent(value->text, &share, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s: %s", value->key, cause);
    }
    *(double *)field = share;
    return true;
}

bool sim__read_share(struct draft *d, const struct trib_toml_value *value, void *field)
{
    if (!sim__read_part(d, value, field)) {
        return false;
    }
    return *(double *)field > 0 || sim__refuse(d, value->place, "%s cannot be 0", value->key);
}

/* Two whole numbers, as in 3:1. */
bool sim__read_ratio(struct draft *d, const struct trib_toml_value *value, void *field)
{
    const char *colon = strchr(value->text, ':');
    char down[TRIB_UNITS_TEXT_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t numbers[2] = {0, 0};

    if (!expect_text(d, value, "3:1")) {
        return false;
    }
    if (colon != NULL && (size_t)(colon - value->text) < sizeof down) {
        memcpy(down, value->text, (size_t)(colon - value->text));
    }
    if (colon == NULL || trib_parse_number(down, 1, 1000, &numbers[0], cause) != TRIB_OK ||
        trib_parse_number(colon + 1, 1, 1000, &numbers[1], cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s is two numbers from 1 to 1000, such as \"3:1\", not \"%s\"", value->key,
                           value->text);
    }
    *(struct sim_ratio *)field = (struct sim_ratio){(uint32_t)numbers[0], (uint32_t)numbers[1]};
    return true;
}

/* Finds a word's index in a list that name() ends with NULL. */
static bool read_word(struct draft *d, const struct trib_toml_value *value, const char *(*name)(uint32_t),
                      uint32_t *index)
{
    struct trib_nearest nearest = {.word = value->text, .len = strlen(value->text)};
    char list[TRIB_ERROR_TEXT_MAX / 2] = "";
    size_t len = 0;

    for (uint32_t i = 0; name(i) != NULL; i++) {
        if (value->kind == TRIB_TOML_STRING && strcmp(name(i), value->text) == 0) {
            *index = i;
            return true;
        }
        trib_nearest_offer(&nearest, name(i));
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i == 0 ? "" : ", ", name(i));
        TRIB_ASSERT(len < sizeof list);
    }
    if (nearest.best != NULL) {
        return sim__refuse(d, value->place, "unknown %s \"%s\"; did you mean %s?", value->key, value->text,
                           nearest.best);
    }
    return sim__refuse(d, value->place, "unknown %s \"%s\"; there are %s", value->key, value->text, list);
}

static const char *topology_name(uint32_t index)
{
    return index + 1 < SIM_TOPOLOGY_COUNT ? sim_topology_name((enum sim_topology_kind)(index + 1)) : NULL;
}

bool sim__read_topology(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, topology_name, &index);

    *(enum sim_topology_kind *)field = (enum sim_topology_kind)(index + 1);
    return is_good;
}

static const char *traffic_name(uint32_t index)
{
    return index + 1 < SIM_TRAFFIC_COUNT ? sim_traffic_name((enum sim_traffic_kind)(index + 1)) : NULL;
}

bool sim__read_traffic(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, traffic_name, &index);

    *(enum sim_traffic_kind *)field = (enum sim_traffic_kind)(index + 1);
    return is_good;
}

bool sim__read_policy(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, trib_congestion_name, &index);

    *(enum trib_congestion_policy *)field = (enum trib_congestion_policy)index;
    return is_good;
}

static const char *sizes_name(uint32_t index)
{
    const struct sim_sizes *sizes = sim_sizes_at(index);

    return sizes != NULL ? sim_sizes_name(sizes) : NULL;
}

/* A size, "endless", or the name of a distribution. */
bool sim__read_sizes(struct draft *d, const struct trib_toml_value *value, void *field)
{
    struct sim_traffic *t = field;
    uint32_t index = 0;

    if (value->kind == TRIB_TOML_STRING && strcmp(value->text, "endless") == 0) {
        t->bytes = SIM_NEVER;
        return true;
    }
    if (value->kind != TRIB_TOML_STRING || (value->text[0] >= '0' && value->text[0] <= '9')) {
        return sim__read_bytes(d, value, &t->bytes);
    }
    if (!read_word(d, value, sizes_name, &index)) {
        return false;
    }
    t->sizes = sim_sizes_at(index);
    return true;
}

/* Keeps a text that fit.c interprets later. */
static bool keep(struct draft *d, const struct trib_toml_value *value, struct draft_text *text, const char *example)
{
    *text = (struct draft_text){value->text, value->place};
    return expect_text(d, value, example);
}

bool sim__read_file(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->files[d->scenario->traffic_count - 1], "flow.txt");
}

bool sim__read_topology_file(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->topology_file, "topology.txt");
}

bool sim__read_hosts(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->hosts[d->scenario->job_count - 1], "0 4 8-11");
}

bool sim__read_adders(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->adders, "spine 50% leaf");
}

bool sim__read_link(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->links[d->scenario->failure_count - 1], "leaf0-spine1");
}

bool sim__read_restart(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->restarts[d->scenario->restart_count - 1], "spine0");
}

bool sim__read_odd_link(struct draft *d, const struct trib_toml_value *value, void *field)
{
    (void)field;
    return keep(d, value, &d->odd_links[d->scenario->topology.odd_count - 1], "leaf0-spine1");
}

static const char *model_name(uint32_t index)
{
    const struct sim_model *model = sim_model_at(index);

    return model != NULL ? model->name : NULL;
}

bool sim__read_model(struct draft *d, const struct trib_toml_value *value, void *field)
{
    struct sim_job_config *job = field;
    uint32_t index = 0;

    if (!read_word(d, value, model_name, &index)) {
        return false;
    }
    job->model = sim_model_at(index);
    return true;
}

/* Reads "1/20" as 20. */
bool sim__read_scale(struct draft *d, const struct trib_toml_value *value, void *field)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t number = 0;

    if (!expect_text(d, value, "1/20")) {
        return false;
    }
    if (strncmp(value->text, "1/", 2) != 0 || trib_parse_number(value->text + 2, 1, 10000, &number, cause) != TRIB_OK) {
        return sim__refuse(d, value->place, "%s is written like \"1/20\", from 1/1 to 1/10000, not \"%s\"", value->key,
                           value->text);
    }
    *(uint32_t *)field = (uint32_t)number;
    return true;
}

bool sim__read_flag(struct draft *d, const struct trib_toml_value *value, void *field)
{
    if (value->kind != TRIB_TOML_BOOLEAN) {
        return sim__refuse(d, value->place, "%s must be true or false, without quotes", value->key);
    }
    *(bool *)field = strcmp(value->text, "true") == 0;
    return true;
}

static const char *scheme_name(uint32_t index)
{
    uint32_t at = 0;

    for (unsigned i = 0; trib_published_at(i) != NULL; i++) {
        if ((trib_published_at(i)->refusal == NULL || trib_published_at(i)->can_be_simulated) && at++ == index) {
            return trib_published_at(i)->name;
        }
    }
    return at == index ? SIM_STEPS_NAME : NULL;
}

bool sim__read_scheme(struct draft *d, const struct trib_toml_value *value, void *field)
{
    const struct trib_scheme *scheme = value->kind == TRIB_TOML_STRING ? trib_published_find(value->text) : NULL;
    bool is_steps = value->kind == TRIB_TOML_STRING && strcmp(value->text, SIM_STEPS_NAME) == 0;
    uint32_t index = 0;
    const char *cause = value->kind == TRIB_TOML_STRING ? trib_published_explain(value->text) : NULL;

    if (cause != NULL) {
        return sim__refuse(d, value->place, "%s: %s", value->text, cause);
    }
    if (scheme == NULL && !is_steps) {
        return read_word(d, value, scheme_name, &index);
    }
    if (!is_steps && scheme->refusal != NULL && !scheme->can_be_simulated) {
        return sim__refuse(d, value->place, "%s: %s", value->text, scheme->refusal);
    }
    if (strlen(value->text) >= SIM_SCHEME_MAX) {
        return sim__refuse(d, value->place, "%s is too long", value->key);
    }
    memcpy(field, value->text, strlen(value->text) + 1);
    return true;
}

static const char *placement_name(uint32_t index)
{
    return index + 1 < SIM_PLACEMENT_COUNT ? sim_placement_name((enum sim_placement)(index + 1)) : NULL;
}

bool sim__read_placement(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, placement_name, &index);

    *(enum sim_placement *)field = (enum sim_placement)(index + 1);
    return is_good;
}

static const char *pool_name(uint32_t index)
{
    return index == 0 ? "dynamic" : index == 1 ? "static" : NULL;
}

bool sim__read_pool(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, pool_name, &index);

    *(bool *)field = index == 1;
    return is_good;
}

static const char *paths_name(uint32_t index)
{
    return index < SIM_PATHS_COUNT ? sim_paths_name((enum sim_paths)index) : NULL;
}

bool sim__read_paths(struct draft *d, const struct trib_toml_value *value, void *field)
{
    uint32_t index = 0;
    bool is_good = read_word(d, value, paths_name, &index);

    *(enum sim_paths *)field = (enum sim_paths)index;
    return is_good;
}

/* Reads "1/8" or "2". */
bool sim__read_alpha(struct draft *d, const struct trib_toml_value *value, void *field)
{
    const char *slash = strchr(value->text, '/');
    size_t len = slash != NULL ? (size_t)(slash - value->text) : strlen(value->text);
    char of[TRIB_UNITS_TEXT_MAX] = "";
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t numbers[2] = {0, 1};

    if (len < sizeof of) {
        memcpy(of, value->text, len);
    }
    if (value->kind != TRIB_TOML_STRING || trib_parse_number(of, 1, ALPHA_MAX, &numbers[0], cause) != TRIB_OK ||
        (slash != NULL && trib_parse_number(slash + 1, 1, ALPHA_MAX, &numbers[1], cause) != TRIB_OK)) {
        return sim__refuse(d, value->place, "%s is a text from \"1/%u\" to \"%u\", such as \"1/8\", not %s", value->key,
                           ALPHA_MAX, ALPHA_MAX, value->text);
    }
    ((uint32_t *)field)[0] = (uint32_t)numbers[0];
    ((uint32_t *)field)[1] = (uint32_t)numbers[1];
    return true;
}
