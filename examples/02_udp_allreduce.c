/* SPDX-License-Identifier: Apache-2.0 */
/* 02_udp_allreduce.c: the public API in one page: join, sum a tensor over all ranks, check the result, leave.
 *
 *   tributary run -n 4 -- 02_udp_allreduce          (with a switch of its own)
 *   cc 02_udp_allreduce.c $(pkg-config --cflags --libs tributary)
 *
 * Read next: include/tributary/comm.h, 03_own_event_loop.c. */
#include <stdio.h>
#include <stdlib.h>

#include <tributary/tributary.h>

#define COUNT 1000000

/* Element i of rank r: small whole numbers, so that float32 adds them exactly. */
static float given(uint32_t rank, size_t i)
{
    return (float)((rank + 1) * (i % 1000));
}

static size_t count_wrong(const float *sum, uint32_t ranks)
{
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        float expected = 0.0F;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            expected += given(rank, i);
        }
        wrong += sum[i] < expected || sum[i] > expected;
    }
    return wrong;
}

/* Sums in place; returns whether every element is right. */
static bool allreduce(struct trib_comm *comm, float *tensor)
{
    uint32_t rank = trib_comm_rank(comm);
    for (size_t i = 0; i < COUNT; i++) {
        tensor[i] = given(rank, i);
    }
    enum trib_status status = trib_allreduce(comm, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_SUM);
    if (status != TRIB_OK) {
        fprintf(stderr, "rank %u: %s (%s)\n", rank, trib_comm_error(comm), trib_status_text(status));
        return false;
    }
    size_t wrong = count_wrong(tensor, trib_comm_ranks(comm));
    struct trib_comm_stats stats;
    trib_comm_stats(comm, &stats);
    printf("rank %u of %u: %d elements summed, %zu wrong, %llu bytes sent, %llu received\n", rank,
           trib_comm_ranks(comm), COUNT, wrong, (unsigned long long)stats.bytes_sent,
           (unsigned long long)stats.bytes_received);
    return wrong == 0;
}

int main(void)
{
    struct trib_config config;
    struct trib_comm *comm;
    char error[TRIB_ERROR_TEXT_MAX];
    enum trib_status status = trib_config_from_environment(&config, error);
    if (status == TRIB_OK) {
        status = trib_comm_create(&config, &comm, error);
    }
    if (status != TRIB_OK) {
        fprintf(stderr, "cannot join: %s\n", error);
        return 1;
    }
    float *tensor = malloc(COUNT * sizeof(*tensor));
    bool good = tensor != NULL && allreduce(comm, tensor);
    status = trib_comm_close(comm);
    free(tensor);
    return good && status == TRIB_OK ? 0 : 1;
}
