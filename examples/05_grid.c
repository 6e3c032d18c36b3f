/* SPDX-License-Identifier: Apache-2.0 */
/* 05_grid.c: communicators of a part of the ranks. Ranks form a grid of two columns; each is in the communicator of its
 * row and in that of its column, as in training that is parallel in two ways. Sums of both run at the same time.
 *
 *   tributary run -n 4 -- 05_grid
 *
 * Read next: trib_comm_split and trib_comm_subset in include/tributary/comm.h. */
#include <stdio.h>

#include <tributary/tributary.h>

#define COLUMNS 2
#define COUNT 10000

static float row_tensor[COUNT], column_tensor[COUNT];

/* Sums both tensors at the same time, each over its own ranks. */
static enum trib_status sum_both(struct trib_comm *row, struct trib_comm *column)
{
    struct trib_request *first;
    enum trib_status status = trib_allreduce_start(row, row_tensor, row_tensor, COUNT, TRIB_FLOAT32, TRIB_SUM, &first);
    if (status != TRIB_OK) {
        return status;
    }
    status = trib_allreduce(column, column_tensor, column_tensor, COUNT, TRIB_FLOAT32, TRIB_SUM);
    enum trib_status other = trib_request_wait(first);
    return status != TRIB_OK ? status : other;
}

static int use(struct trib_comm *row, struct trib_comm *column, uint32_t rank)
{
    for (size_t i = 0; i < COUNT; i++) {
        row_tensor[i] = (float)rank;
        column_tensor[i] = 1.0F;
    }
    enum trib_status status = sum_both(row, column);
    if (status != TRIB_OK) {
        fprintf(stderr, "rank %u: %s\n", rank, trib_status_text(status));
        return 1;
    }
    printf("rank %u: is %u of %u in its row, where ranks add up to %.0f, and %u of %u in its column of %.0f\n", rank,
           trib_comm_rank(row), trib_comm_ranks(row), (double)row_tensor[COUNT - 1], trib_comm_rank(column),
           trib_comm_ranks(column), (double)column_tensor[COUNT - 1]);
    return 0;
}

int main(void)
{
    struct trib_config config;
    struct trib_comm *all;
    struct trib_comm *row;
    struct trib_comm *column;
    char error[TRIB_ERROR_TEXT_MAX];
    if (trib_config_from_environment(&config, error) != TRIB_OK || trib_comm_create(&config, &all, error) != TRIB_OK) {
        fprintf(stderr, "cannot join: %s\n", error);
        return 1;
    }
    uint32_t rank = trib_comm_rank(all);
    if (trib_comm_split(all, (int32_t)(rank / COLUMNS), 0, &row, error) != TRIB_OK ||
        trib_comm_split(all, (int32_t)(rank % COLUMNS), 0, &column, error) != TRIB_OK) {
        fprintf(stderr, "rank %u: %s\n", rank, error);
        return 1;
    }
    int failed = use(row, column, rank);
    failed |= trib_comm_close(row) != TRIB_OK;
    failed |= trib_comm_close(column) != TRIB_OK;
    failed |= trib_comm_close(all) != TRIB_OK;
    return failed;
}
