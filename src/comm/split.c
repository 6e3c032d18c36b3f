/* SPDX-License-Identifier: Apache-2.0 */
/* split.c: communicators made of some of another one's ranks: their members, and the job name under which they meet.
 * Joining is as for any other communicator.
 *
 * Ranks meet by name, so two communicators must never have the same by accident. The name holds 64 bits of a digest: of
 * the maker's name and id (on one host: its run's number), of the members in their order, and of a number that tells
 * this call from others with the same members. For a split, rank 0 draws the number, and all get it with the colors.
 * The members of a subset cannot ask each other: they take the tag, and how often they have made this subset before.
 * Read next: comm.c (how a communicator begins). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/create.h"
#include "comm/endpoint.h"
#include "comm/memory.h"
#include "comm/request.h"
#include "comm/state.h"
#include "core/lane.h"
#include "io/draw.h"
#include "io/explain.h"

#define DIGEST_TEXT_MAX 32

/* How often a subset was made. */
struct trib_subset {
    uint64_t digest;
    uint64_t count;
};

struct member {
    int32_t key;
    uint32_t rank; /* in the maker */
};

static uint64_t digest_add(uint64_t digest, uint64_t value)
{
    return trib_mix64(trib_mix64(digest) + value);
}

/* Of the maker, and the members in their order. */
static uint64_t digest_of(struct trib_comm *comm, const struct member *members, uint32_t count)
{
    trib_endpoint_lock(comm->endpoint);
    uint64_t digest = digest_add(comm->grant.communicator, comm->grant.generation);
    if (trib_comm_is_local(comm)) {
        digest = digest_add(digest, trib_comm_host_run(comm)); /* two runs of one job may be up at once */
    }
    trib_endpoint_unlock(comm->endpoint);
    for (const char *at = comm->config.job; *at != '\0'; at++) {
        digest = digest_add(digest, (unsigned char)*at);
    }
    digest = digest_add(digest, count);
    for (uint32_t i = 0; i < count; i++) {
        digest = digest_add(digest, members[i].rank);
    }
    return digest;
}

/* "maker/label-digest": as much of the maker's name as there is room for; it is ASCII. */
static void make_name(const char *maker, const char *label, uint64_t digest, char *name)
{
    char suffix[DIGEST_TEXT_MAX];
    int len = snprintf(suffix, sizeof suffix, "/%s%016" PRIx64, label, digest);
    size_t room = TRIB_NAME_MAX - (size_t)len;
    (void)snprintf(name, TRIB_NAME_MAX + 1, "%.*s%s", (int)room, maker, suffix);
}

/* Joins the others; the caller is members[rank]. */
static enum trib_status make(struct trib_comm *comm, uint32_t rank, uint32_t ranks, const char *job,
                             struct trib_comm **made, char *error)
{
    struct trib_config config = comm->config;
    (void)snprintf(config.job, sizeof config.job, "%s", job);
    config.rank = rank;
    config.ranks = ranks;
    config.gradient_bytes = 0; /* ring or not is settled: as for comm */
    return trib_comm_create_from(comm, &config, made, error);
}

static bool is_complete(const struct trib_comm *comm, struct trib_comm **made, const char *call, char *error)
{
    if (comm == NULL || made == NULL) {
        trib_explain(error, "%s: %s is NULL", call, comm == NULL ? "comm" : "made");
    }
    return comm != NULL && made != NULL;
}

/* ---- split ---- */

static int by_key(const void *left, const void *right)
{
    const struct member *a = left;
    const struct member *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : 1;
}

static int64_t pack(int32_t color, int32_t key)
{
    return (int64_t)((uint64_t)(uint32_t)color << 32 | (uint32_t)key);
}

static int32_t color_of(int64_t packed)
{
    return (int32_t)(uint32_t)((uint64_t)packed >> 32);
}

/* The words of all ranks, by a sum in which every place but one is 0: `said` has a place per rank behind rank 0's
 * number. It meets nothing but splits. */
static enum trib_status exchange(struct trib_comm *comm, int64_t mine, int64_t *said, char *error)
{
    uint32_t ranks = comm->config.ranks;
    const struct trib_operation operation = {
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_INT64,
        .reduction = TRIB_SUM,
        .send = said,
        .recv = said,
        .count = 1 + (uint64_t)ranks,
        .part_of = TRIB_PART_OF_SPLIT,
    };
    said[0] = comm->config.rank == 0 ? (int64_t)trib_draw() : 0;
    said[1 + comm->config.rank] = mine;
    enum trib_status status = trib_request_run(comm, &operation);
    if (status != TRIB_OK) {
        const char *cause = trib_comm_error(comm);
        trib_explain(error, "%s", cause[0] != '\0' ? cause : trib_status_text(status));
        return status;
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (color_of(said[1 + rank]) < TRIB_NO_COLOR) {
            trib_explain(error, "rank %u gave the color %d; colors are 0 and more, or TRIB_NO_COLOR", rank,
                         color_of(said[1 + rank]));
            return TRIB_ERR_INVALID;
        }
    }
    return TRIB_OK;
}

static uint32_t gather_members(const struct trib_comm *comm, const int64_t *said, int32_t color, struct member *members)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < comm->config.ranks; rank++) {
        if (color_of(said[1 + rank]) == color) {
            members[count++] = (struct member){.key = (int32_t)(uint32_t)said[1 + rank], .rank = rank};
        }
    }
    qsort(members, count, sizeof *members, by_key);
    return count;
}

static uint32_t find_member(const struct member *members, uint32_t count, uint32_t rank)
{
    uint32_t at = 0;
    while (at < count && members[at].rank != rank) {
        at++;
    }
    return at;
}

enum trib_status trib_comm_split(struct trib_comm *comm, int32_t color, int32_t key, struct trib_comm **made,
                                 char *error)
{
    if (!is_complete(comm, made, "trib_comm_split", error)) {
        return TRIB_ERR_INVALID;
    }
    uint32_t ranks = comm->config.ranks;
    int64_t *said = calloc(1 + (size_t)ranks, sizeof *said);
    struct member *members = calloc(ranks, sizeof *members);
    enum trib_status status = TRIB_ERR_MEMORY;
    if (said == NULL || members == NULL) {
        trib_explain(error, "out of memory for a communicator");
        goto done;
    }
    status = exchange(comm, pack(color, key), said, error);
    if (status != TRIB_OK) {
        goto done;
    }
    if (color == TRIB_NO_COLOR) {
        *made = NULL;
        goto done;
    }
    char label[16];
    char job[TRIB_NAME_MAX + 1];
    uint32_t count = gather_members(comm, said, color, members);
    (void)snprintf(label, sizeof label, "%d-", color);
    make_name(comm->config.job, label, digest_add(digest_of(comm, members, count), (uint64_t)said[0]), job);
    status = make(comm, find_member(members, count, comm->config.rank), count, job, made, error);
done:
    free(members);
    free(said);
    return status;
}

/* ---- subset ---- */

static enum trib_status check_list(const struct trib_comm *comm, const uint32_t *ranks, uint32_t count,
                                   struct member *members, char *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ranks[i] >= comm->config.ranks) {
            trib_explain(error, "rank %u is not one of the %u ranks of job %s", ranks[i], comm->config.ranks,
                         comm->config.job);
            return TRIB_ERR_INVALID;
        }
        if (find_member(members, i, ranks[i]) < i) {
            trib_explain(error, "rank %u is named twice", ranks[i]);
            return TRIB_ERR_INVALID;
        }
        members[i].rank = ranks[i];
    }
    if (find_member(members, count, comm->config.rank) == count) {
        trib_explain(error, "rank %u calls, but is not in the list of ranks", comm->config.rank);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

/* How often the members have made a subset with this tag before, which is the same on all of them. UINT64_MAX: out
 * of memory. */
static uint64_t count_subset(struct trib_comm *comm, uint64_t digest)
{
    uint64_t before = UINT64_MAX;
    trib_endpoint_lock(comm->endpoint);
    size_t at = 0;
    while (at < comm->subset_count && comm->subsets[at].digest != digest) {
        at++;
    }
    if (at == comm->subset_count) {
        struct trib_subset *more = realloc(comm->subsets, (at + 1) * sizeof *more);
        if (more == NULL) {
            goto unlock;
        }
        comm->subsets = more;
        comm->subsets[at] = (struct trib_subset){.digest = digest};
        comm->subset_count++;
    }
    before = comm->subsets[at].count++;
unlock:
    trib_endpoint_unlock(comm->endpoint);
    return before;
}

enum trib_status trib_comm_subset(struct trib_comm *comm, const uint32_t *ranks, uint32_t count, uint32_t tag,
                                  struct trib_comm **made, char *error)
{
    char job[TRIB_NAME_MAX + 1];
    if (!is_complete(comm, made, "trib_comm_subset", error)) {
        return TRIB_ERR_INVALID;
    }
    if (ranks == NULL || count == 0 || count > comm->config.ranks) {
        trib_explain(error, "a list of 1 to %u ranks is needed", comm->config.ranks);
        return TRIB_ERR_INVALID;
    }
    struct member *members = calloc(count, sizeof *members);
    if (members == NULL) {
        trib_explain(error, "out of memory for a communicator");
        return TRIB_ERR_MEMORY;
    }
    enum trib_status status = check_list(comm, ranks, count, members, error);
    if (status != TRIB_OK) {
        goto done;
    }
    uint64_t digest = digest_add(digest_of(comm, members, count), tag);
    uint64_t before = count_subset(comm, digest);
    if (before == UINT64_MAX) {
        trib_explain(error, "out of memory for a communicator");
        status = TRIB_ERR_MEMORY;
        goto done;
    }
    make_name(comm->config.job, "", digest_add(digest, before), job);
    status = make(comm, find_member(members, count, comm->config.rank), count, job, made, error);
done:
    free(members);
    return status;
}
