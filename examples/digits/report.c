/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: see report.h. Every line is flushed, so that a reader sees it at once. */
#include "report.h"

#include <inttypes.h>

void report_start(FILE *file, const struct train *train)
{
    if (file == NULL) {
        return;
    }
    fprintf(file, "{\"kind\":\"start\",\"rank\":%u,\"ranks\":%u,\"parameters\":%d,\"batch\":%u,\"epochs\":%u}\n",
            train->rank, train->ranks, NET_PARAMETERS, train->options.batch, train->options.epochs);
    fflush(file);
}

void report_epoch(FILE *file, const struct train_epoch *epoch)
{
    if (file == NULL) {
        return;
    }
    fprintf(file,
            "{\"kind\":\"epoch\",\"epoch\":%u,\"steps\":%u,\"loss\":%.6f,\"accuracy\":%.6f,\"seconds\":%.6f,"
            "\"exchange_seconds\":%.6f}\n",
            epoch->number, epoch->steps, epoch->loss, epoch->accuracy, epoch->seconds, epoch->exchange_seconds);
    fflush(file);
}

void report_end(FILE *file, uint64_t hash, double seconds, const struct trib_comm_stats *stats)
{
    if (file == NULL) {
        return;
    }
    fprintf(file, "{\"kind\":\"end\",\"hash\":\"%016" PRIx64 "\",\"seconds\":%.6f", hash, seconds);
    if (stats != NULL) {
#define X(name) fprintf(file, ",\"" #name "\":%" PRIu64, stats->name);
        REPORT_STATS_MAP(X)
#undef X
        fprintf(file, ",\"multicast\":%d", stats->multicast);
    }
    fprintf(file, "}\n");
    fflush(file);
}
