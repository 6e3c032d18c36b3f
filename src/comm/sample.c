/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c: see sample.h. */
#include "comm/sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/describe.h"
#include "comm/end.h"
#include "comm/state.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "core/fold.h"
#include "core/operation.h"
#include "core/sample.h"
#include "core/window.h"

struct trib_sampler {
    struct trib_session_config session;
    const struct trib_value_kernels *kernels;
    uint64_t operations; /* sampled so far */
    unsigned char *rows; /* of fold.h */
    const unsigned char *sources[TRIB_CHILDREN_MAX];
    unsigned char scratch[TRIB_FOLD_PIECE * 2]; /* a piece of the result in the tensor's type: of bfloat16, float32 */
};

/* Sample of one operation. In the same memory behind it: `at`, `own` and `all`. */
struct trib_sampled {
    struct trib_request gathering;
    const struct trib_request *of; /* the operation */
    struct trib_sample sample;
    struct trib_layout layout; /* digest aside */
    uint64_t first;            /* sequence of the operation. Known when it has ended */
    uint32_t left;             /* of the operation and the allgather: not ended */
    size_t bytes;              /* of a part: drawn runs of one rank in wire form, each TRIB_SAMPLE_RUN elements long */
    uint64_t *at;              /* first element of each run */
    uint8_t *own, *all;        /* this rank's part, hidden; parts of all ranks */
};

/* ---- a communicator ---- */

/* 1 - (1 - 1 / every)^(5 every) is more than 1 - e^-5, 99.3 %, for all values. */
void trib_sample_explain(uint32_t every, char text[TRIB_SAMPLE_TEXT_MAX])
{
    (void)snprintf(text, TRIB_SAMPLE_TEXT_MAX,
                   "n falsified runs of %d elements in an operation are found with probability 1 - (1 - 1/%u)^n or "
                   "more; %" PRIu64 " with 99.3 %%",
                   TRIB_SAMPLE_RUN, every, (uint64_t)5 * every);
}

enum trib_status trib_sampler_open(struct trib_comm *comm)
{
    if (comm->config.sample == 0 || comm->tag == NULL) {
        return TRIB_OK;
    }
    TRIB_ASSERT(comm->sampler == NULL && comm->members <= TRIB_CHILDREN_MAX);
    struct trib_sampler *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TRIB_ERR_MEMORY;
    }
    made->rows = aligned_alloc(64, trib_fold_bytes(comm->members));
    if (made->rows == NULL) {
        free(made);
        return TRIB_ERR_MEMORY;
    }
    trib_comm_describe_grant(comm, &comm->grant, &made->session);
    made->kernels = trib_value_kernels();
    comm->sampler = made;
    return TRIB_OK;
}

void trib_sampler_close(struct trib_comm *comm)
{
    if (comm->sampler != NULL) {
        free(comm->sampler->rows);
    }
    free(comm->sampler);
    comm->sampler = NULL;
}

/* ---- the parts ---- */

static uint64_t elements_of(const struct trib_comm *comm, const struct trib_operation *operation)
{
    bool is_even = trib_operation_has_shares(operation) && operation->shares == NULL;

    return operation->count * (is_even ? comm->members : 1);
}

/* True if the tag does not prove the values: float32 sums on wire int32 are proved, but for blocks with infinity or
 * NaN. */
static bool is_sampled(const struct trib_operation *operation, const struct trib_layout *layout)
{
    bool is_proved = layout->wire == TRIB_INT32 && operation->type == TRIB_FLOAT32;

    return trib_operation_reduces(operation) && operation->count != 0 && !is_proved;
}

static struct trib_sampled *allocate(const struct trib_comm *comm, const struct trib_sample *sample, size_t wire_size)
{
    size_t bytes = sample->drawn * TRIB_SAMPLE_RUN * wire_size;
    size_t places = sample->drawn * sizeof(uint64_t);
    struct trib_sampled *made = calloc(1, sizeof *made + places + bytes * (1 + (size_t)comm->members));

    if (made != NULL) {
        made->sample = *sample;
        made->bytes = bytes;
        made->at = (uint64_t *)(made + 1);
        made->own = (uint8_t *)made->at + places;
        made->all = made->own + bytes;
    }
    return made;
}

/* Copies the drawn runs in wire form, and hides them. The rest of a shorter run stays 0. */
static void copy_own(const struct trib_comm *comm, struct trib_sampled *sampled, const struct trib_operation *operation)
{
    const struct trib_layout *layout = &sampled->layout;
    struct trib_conversion c = {.wire = layout->wire, .tensor = operation->type, .divisor = 1};
    size_t run_bytes = (size_t)TRIB_SAMPLE_RUN * layout->wire_size;

    for (uint64_t i = 0; i < sampled->sample.drawn; i++) {
        uint64_t at = sampled->at[i];
        trib_tensor_encode(comm->sampler->kernels, &c, sampled->own + i * run_bytes,
                           (const uint8_t *)operation->send + at * layout->element_size,
                           trib_sample_run(&sampled->sample, at));
    }
    trib_sample_hide(&sampled->sample, comm->member, sampled->own, sampled->bytes);
}

enum trib_status trib_sample_prepare(struct trib_comm *comm, struct trib_request *request)
{
    const struct trib_operation *operation = &request->operation;
    struct trib_sampler *sampler = comm->sampler;
    struct trib_layout layout;
    struct trib_sample sample;

    if (sampler == NULL) {
        return TRIB_OK;
    }
    trib_layout_init(&layout, &sampler->session, operation, 0);
    if (!is_sampled(operation, &layout)) {
        return TRIB_OK;
    }
    trib_sample_init(&sample, comm->tag, comm->config.sample, sampler->operations, elements_of(comm, operation));
    struct trib_sampled *made = allocate(comm, &sample, layout.wire_size);
    if (made == NULL) {
        return TRIB_ERR_MEMORY;
    }
    sampler->operations++;
    made->layout = layout;
    made->of = request;
    made->left = 2;
    trib_sample_draw(&made->sample, made->at);
    copy_own(comm, made, operation);
    struct trib_request *whole = request->group != NULL ? request->group : request;
    whole->left++;
    made->gathering = (struct trib_request){
        .comm = comm,
        .endpoint = comm->endpoint,
        .serial = comm->serial,
        .group = whole,
        .sampled = made,
        .operation = {.collective = TRIB_ALLGATHER,
                      .type = TRIB_UINT8,
                      .send = made->own,
                      .recv = made->all,
                      .count = made->bytes,
                      .part_of = TRIB_PART_OF_SAMPLE},
    };
    request->sampled = made;
    return TRIB_OK;
}

struct trib_request *trib_sample_gathering(const struct trib_request *request)
{
    return request->sampled != NULL ? &request->sampled->gathering : NULL;
}

void trib_sample_free(struct trib_request *request)
{
    if (request->sampled != NULL) {
        trib_wipe(&request->sampled->sample, sizeof request->sampled->sample);
    }
    free(request->sampled);
    request->sampled = NULL;
}

/* ---- the comparison ---- */

/* Elements of the tensor that this rank has received: the first one, and the end. */
struct received {
    const uint8_t *recv; /* of the first one */
    uint64_t from, to;
};

static struct received received_of(const struct trib_comm *comm, const struct trib_operation *operation,
                                   uint64_t elements)
{
    const struct trib_shares *shares = operation->shares;
    uint64_t from = 0;

    if (operation->recv == NULL) {
        return (struct received){NULL, 0, 0};
    }
    if (operation->collective == TRIB_REDUCE_SCATTER) {
        from = shares != NULL ? shares->offset[comm->member] : comm->member * operation->count;
        elements = from + (shares != NULL ? shares->count[comm->member] : operation->count);
    }
    return (struct received){operation->recv, from, elements};
}

/* True if the run at `at` has come as it is in `right`. *wrong: first element that has not. */
static bool is_same(const struct trib_sampled *sampled, const struct received *received, uint64_t at,
                    const uint8_t *right, uint64_t *wrong)
{
    size_t size = sampled->layout.element_size;
    uint64_t end = at + trib_sample_run(&sampled->sample, at);
    uint64_t to = end < received->to ? end : received->to;

    uint64_t element = at > received->from ? at : received->from;
    if (element >= to || memcmp(received->recv + (element - received->from) * size, right + (element - at) * size,
                                (to - element) * size) == 0) {
        return true;
    }
    while (memcmp(received->recv + (element - received->from) * size, right + (element - at) * size, size) == 0) {
        element++;
    }
    *wrong = element;
    return false;
}

/* Repeats the sums of the runs that this rank has received, a piece at a time. False: one has come otherwise. */
static bool repeat(const struct trib_comm *comm, const struct trib_sampled *sampled, uint64_t *wrong)
{
    struct trib_sampler *sampler = comm->sampler;
    const struct trib_operation *operation = &sampled->of->operation;
    struct received received = received_of(comm, operation, sampled->sample.elements);
    size_t run_bytes = (size_t)TRIB_SAMPLE_RUN * sampled->layout.wire_size;
    uint64_t runs = TRIB_FOLD_PIECE / run_bytes; /* of a piece */
    uint32_t divisor = operation->reduction == TRIB_AVERAGE ? comm->members : 1;
    struct trib_conversion c = {.wire = sampled->layout.wire, .tensor = operation->type, .divisor = divisor};
    struct trib_fold fold = {
        .kernels = sampler->kernels,
        .sources = sampler->sources,
        .rows = sampler->rows,
        .leaves = comm->members,
        .last = operation->collective == TRIB_REDUCE_SCATTER ? comm->member : TRIB_FOLD_NONE,
        .type = sampled->layout.wire,
        .reduction = operation->reduction,
    };
    uint64_t i = 0, end = sampled->sample.drawn;
    while (i < end && sampled->at[i] + TRIB_SAMPLE_RUN <= received.from) {
        i++;
    }
    while (i < end && sampled->at[i] < received.to) {
        uint64_t now = end - i < runs ? end - i : runs;
        fold.at = i * run_bytes;
        fold.len = now * run_bytes;
        const unsigned char *row = trib_fold_run(&fold, trib_fold_row(&fold));
        trib_tensor_decode(fold.kernels, &c, sampler->scratch, row, now * TRIB_SAMPLE_RUN);
        for (uint64_t k = 0; k < now; k++) {
            const uint8_t *right = sampler->scratch + k * TRIB_SAMPLE_RUN * sampled->layout.element_size;
            if (!is_same(sampled, &received, sampled->at[i + k], right, wrong)) {
                return false;
            }
        }
        i += now;
    }
    return true;
}

/* The block with this element. */
static uint64_t find_block(const struct trib_sampled *sampled, uint64_t element)
{
    struct trib_piece piece;

    for (uint64_t block = 0; block < sampled->layout.blocks; block++) {
        trib_layout_piece(&sampled->layout, &sampled->of->operation, block, &piece);
        if (element >= piece.whole_at && element < piece.whole_at + piece.elements) {
            return block;
        }
    }
    return 0;
}

/* Address of the root that handed out this fragment. */
static void name_root(const struct trib_comm *comm, uint64_t sequence, char place[64])
{
    const struct trib_session_config *session = &comm->sampler->session;
    struct trib_window *window = calloc(1, sizeof *window + trib_window_table_size(session));

    (void)snprintf(place, 64, "(out of memory for its address)");
    if (window != NULL) {
        trib_window_init(window, session, window + 1);
        trib_address_format(&comm->roots[trib_window_root(window, sequence)], place);
    }
    free(window);
}

static void fail(struct trib_comm *comm, const struct trib_sampled *sampled, uint64_t element)
{
    uint64_t sequence = sampled->first + find_block(sampled, element);
    char name[192];
    char place[64];

    trib_comm_name_operation(&sampled->of->operation, name, sizeof name);
    name_root(comm, sequence, place);
    trib_comm_fail_all(comm, TRIB_ERR_CHECK,
                       "rank %u: element %" PRIu64 " of an %s, in fragment %" PRIu64 ", is not the sum of what the "
                       "ranks sent (a sample): the root at %s has changed it, or a rank has changed its tensor during "
                       "the call",
                       comm->config.rank, element, name, sequence, place);
}

bool trib_sample_agrees(struct trib_comm *comm, struct trib_request *request, uint64_t first)
{
    struct trib_sampled *sampled = request->sampled;
    uint64_t wrong = 0;

    if (sampled == NULL) {
        return true;
    }
    sampled->first = request == &sampled->gathering ? sampled->first : first;
    if (--sampled->left != 0) {
        return true;
    }
    for (uint32_t rank = 0; rank < comm->members; rank++) {
        uint8_t *part = sampled->all + rank * sampled->bytes;
        trib_sample_hide(&sampled->sample, rank, part, sampled->bytes);
        comm->sampler->sources[rank] = part;
    }
    if (!repeat(comm, sampled, &wrong)) {
        fail(comm, sampled, wrong);
        return false;
    }
    return true;
}
