/* SPDX-License-Identifier: Apache-2.0 */
/* goat_file.c: see goat_file.h. Read next: fabric/placed.c (the reader). */
#include "plan/goat_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/lane.h"
#include "io/explain.h"

uint64_t plan_goat_hosts_digest(const uint32_t *workers, uint32_t count, uint32_t server)
{
    uint64_t digest = trib_mix64(UINT64_C(1) << 32 | server);

    for (uint32_t i = 0; i < count; i++) {
        digest += trib_mix64(workers[i]);
    }
    return digest != 0 ? digest : 1;
}

/* The pieces that some worker sends to the switch, as bits. */
static uint64_t pieces_at(const struct plan_goat_file *file, uint32_t node)
{
    const struct trib_goat *p = file->problem;
    uint64_t pieces = 0;

    for (uint32_t g = 0; g < p->gradients; g++) {
        for (uint32_t w = 0; w < p->workers; w++) {
            pieces |= (uint64_t)(file->plan->node[(size_t)g * p->workers + w] == node) << g;
        }
    }
    return pieces;
}

/* "0-2 5" */
static void write_pieces(FILE *out, uint64_t pieces)
{
    bool is_first = true;

    for (uint32_t piece = 0; piece < TRIB_PIECES_MAX; piece++) {
        uint32_t last = piece;
        if ((pieces >> piece & 1) == 0) {
            continue;
        }
        while (last + 1 < TRIB_PIECES_MAX && (pieces >> (last + 1) & 1) != 0) {
            last++;
        }
        (void)fprintf(out, "%s%u", is_first ? "" : " ", piece);
        if (last > piece) {
            (void)fprintf(out, "-%u", last);
        }
        is_first = false;
        piece = last;
    }
}

/* Cost and bound, with the worker's prices of a byte that prove the bound. */
static void write_bound(FILE *out, const struct plan_goat_file *file)
{
    const struct trib_goat_plan *plan = file->plan;

    (void)fprintf(out, "cost = %" PRIu64 "\n", plan->cost);
    if (plan->price == NULL) {
        return;
    }
    (void)fprintf(out, "bound = %" PRIu64 "\nprices = \"", plan->bound);
    for (uint32_t w = 0; w < file->problem->workers; w++) {
        (void)fprintf(out, "%s%s %" PRIu32, w == 0 ? "" : " ", file->net->names.list[file->job->hosts[w]],
                      plan->price[w]);
    }
    (void)fputs("\"\n", out);
}

static void write_plan(FILE *out, const struct plan_goat_file *file)
{
    const struct plan_names *names = &file->net->names;

    (void)fprintf(out,
                  "# A plan of `tributary plan --objective %s`: docs/PLAN.md says what the keys mean.\n"
                  "network = \"%016" PRIx64 "\"\n"
                  "\n[[model]]\njob = \"%s\"\npieces = %u\nserver = \"%s\"\nhosts = \"%016" PRIx64 "\"\n"
                  "memory = %" PRIu64 "\nparts_bytes = %" PRIu64 "\nserver_bytes = %" PRIu64 "\n",
                  file->objective, plan_network_digest(file->net), file->job->name, file->problem->gradients,
                  names->list[file->server],
                  plan_goat_hosts_digest(file->job->hosts, file->job->host_count, file->server), file->memory,
                  file->problem->total * file->problem->workers, file->plan->server_bytes);
    write_bound(out, file);
    for (uint32_t s = 0; s < file->problem->switches; s++) {
        uint64_t pieces = pieces_at(file, s);
        if (pieces != 0) {
            (void)fprintf(out, "\n[[placement]]\njob = \"%s\"\nswitch = \"%s\"\npieces = \"", file->job->name,
                          names->list[file->switches[s]]);
            write_pieces(out, pieces);
            (void)fputs("\"\n", out);
        }
    }
}

bool plan_goat_write(const struct plan_goat_file *file, const char *path, char *error)
{
    FILE *out = fopen(path, "we");

    if (out == NULL) {
        trib_explain(error, "%s cannot be written: %s", path, trib_explain_errno(errno));
        return false;
    }
    write_plan(out, file);
    bool is_good = ferror(out) == 0;
    is_good = fclose(out) == 0 && is_good;
    if (!is_good) {
        trib_explain(error, "%s could not be written to its end: %s", path, trib_explain_errno(errno));
    }
    return is_good;
}
