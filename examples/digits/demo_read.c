/* SPDX-License-Identifier: Apache-2.0 */
/* demo_read.c: reads the reports (report.h), the final weights, and the kernel's count of the loopback device. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"

void demo_path(const struct demo *demo, const struct demo_run *run, const char *what, char path[DEMO_PATH_MAX])
{
    int len = snprintf(path, DEMO_PATH_MAX, "%s/%s.%s", demo->directory, run->name, what);
    if (len < 0 || len >= DEMO_PATH_MAX) {
        path[0] = '\0';
    }
}

/* The text behind "key": in a line; NULL when the key is not there. */
static const char *value_find(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at == NULL ? NULL : at + strlen(quoted);
}

static double number_of(const char *line, const char *key)
{
    const char *at = value_find(line, key);
    return at == NULL ? -1.0 : strtod(at, NULL);
}

static uint64_t count_of(const char *line, const char *key)
{
    const char *at = value_find(line, key);
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

static void epoch_take(struct demo_run *run, const char *line)
{
    if (run->epochs == DEMO_EPOCHS_MAX) {
        return;
    }
    run->epoch[run->epochs++] = (struct train_epoch){
        .number = (uint32_t)count_of(line, "epoch"),
        .steps = (uint32_t)count_of(line, "steps"),
        .loss = number_of(line, "loss"),
        .accuracy = number_of(line, "accuracy"),
        .seconds = number_of(line, "seconds"),
        .exchange_seconds = number_of(line, "exchange_seconds"),
    };
}

static void end_take(struct demo_rank *rank, const char *line)
{
    const char *hash = value_find(line, "hash");
    rank->ended = hash != NULL;
    rank->hash = hash == NULL ? 0 : strtoull(hash + 1, NULL, 16);
    rank->seconds = number_of(line, "seconds");
#define X(name) rank->stats.name = count_of(line, #name);
    REPORT_STATS_MAP(X)
#undef X
    rank->stats.multicast = count_of(line, "multicast") != 0;
}

static bool report_read(const struct demo *demo, struct demo_run *run, uint32_t rank)
{
    char path[DEMO_PATH_MAX];
    char what[32];
    char line[4096];
    snprintf(what, sizeof(what), "report.%u", rank);
    demo_path(demo, run, what, path);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "digits-demo: cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strstr(line, "\"kind\":\"epoch\"") != NULL && rank == 0) {
            epoch_take(run, line);
        } else if (strstr(line, "\"kind\":\"end\"") != NULL) {
            end_take(&run->rank[rank], line);
        }
    }
    fclose(file);
    if (!run->rank[rank].ended) {
        fprintf(stderr, "digits-demo: the report of rank %u of the %s run has no end\n", rank, run->name);
    }
    return run->rank[rank].ended;
}

bool demo_read_reports(const struct demo *demo, struct demo_run *run)
{
    for (uint32_t rank = 0; rank < run->ranks; rank++) {
        if (!report_read(demo, run, rank)) {
            return false;
        }
    }
    if (run->epochs != demo->epochs) {
        fprintf(stderr, "digits-demo: the %s run reported %u training epochs of %u\n", run->name, run->epochs,
                demo->epochs);
        return false;
    }
    return true;
}

static bool weights_read(const struct demo *demo, const struct demo_run *run, float *weights)
{
    char path[DEMO_PATH_MAX];
    demo_path(demo, run, "weights", path);
    FILE *file = fopen(path, "rb");
    bool good = file != NULL && fread(weights, sizeof(*weights), NET_PARAMETERS, file) == NET_PARAMETERS;
    if (file != NULL) {
        fclose(file);
    }
    if (!good) {
        fprintf(stderr, "digits-demo: cannot read the final weights from %s\n", path);
    }
    return good;
}

bool demo_read_difference(struct demo *demo)
{
    static float ours[NET_PARAMETERS];
    static float reference[NET_PARAMETERS];
    if (!weights_read(demo, &demo->faults, ours) || !weights_read(demo, &demo->single, reference)) {
        return false;
    }
    demo->difference = 0.0;
    for (size_t i = 0; i < NET_PARAMETERS; i++) {
        double difference = fabs((double)ours[i] - (double)reference[i]);
        if (!(difference <= demo->difference)) {
            demo->difference = difference; /* a NaN stays, and fails the check */
        }
    }
    return true;
}

uint64_t demo_read_loopback(void)
{
    char line[512];
    uint64_t bytes = 0;
    FILE *file = fopen("/proc/net/dev", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *at = strstr(line, "lo:");
        if (at != NULL && strspn(line, " ") == (size_t)(at - line)) {
            bytes = strtoull(at + 3, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}
