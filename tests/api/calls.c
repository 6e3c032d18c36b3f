/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c: calls of one rank: their buffers, their requests, and the comparison of the results with the model.
 * Read next: model.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"

#define UNTOUCHED 0xa5
#define GUARD 64U /* bytes behind a buffer that must stay as they are */
#define ALIGN_MAX 8U
#define TESTS_IN_A_ROW 64U
#define PAUSE_MAX_US 1000U

void api_fail(struct api_run *run, const char *format, ...)
{
    va_list arguments;
    if (atomic_load(&run->seat->has_failed)) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(run->seat->text, sizeof run->seat->text, format, arguments);
    va_end(arguments);
    atomic_store(&run->seat->has_failed, true);
}

bool api_expect(struct api_run *run, const char *what, enum trib_status status, uint32_t allowed,
                const struct trib_comm *comm)
{
    char wanted[160] = "";
    size_t used = 0;
    if ((allowed & API_BIT(status)) != 0) {
        return true;
    }
    for (int i = 0; i < 16 && used < sizeof wanted; i++) {
        if ((allowed >> i & 1) != 0) {
            used += (size_t)snprintf(wanted + used, sizeof wanted - used, "%s%s", used > 0 ? " or " : "",
                                     trib_status_name((enum trib_status) - i));
        }
    }
    api_fail(run, "%s: %s, and not %s%s%.300s", what, trib_status_name(status), wanted, comm != NULL ? "; " : "",
             comm != NULL ? trib_comm_error(comm) : "");
    return false;
}

/* ---- buffers ---- */

static uint8_t *allocate(struct api_pending *pending, size_t bytes, uint8_t **memory)
{
    size_t whole = bytes + ALIGN_MAX + GUARD;
    *memory = pending->is_shared ? trib_shared_alloc(whole) : malloc(whole);
    if (*memory == NULL) {
        (void)fprintf(stderr, "api: out of memory\n");
        abort();
    }
    memset(*memory, UNTOUCHED, whole);
    return *memory;
}

/* Buffers of call `at`, with this rank's contribution in them. */
static void make_buffers(struct api_pending *pending, uint32_t at, const struct api_members *members,
                         const struct api_step *step)
{
    const struct api_call *call = &pending->call[at];
    size_t size = trib_type_size(call->type);
    size_t align = (size_t)step->field[API_ALIGN] % ALIGN_MAX;
    size_t sends = (size_t)api_sends(call, members->count, members->me) * size;
    size_t receives = (size_t)api_receives(call, members->count, members->me) * size;
    size_t before = (size_t)api_share_first(call, members->me) * size;
    size_t most = sends > receives ? sends : receives;
    bool is_one = call->collective == TRIB_BROADCAST ||
                  (step->field[API_IN_PLACE] != 0 && (call->collective != TRIB_REDUCE || call->root == members->me));

    uint8_t *recv = allocate(pending, is_one ? most : receives, &pending->memory[at][1]) + align;
    uint8_t *send = is_one ? recv : allocate(pending, sends, &pending->memory[at][0]) + align;
    pending->bytes[at] = is_one ? most : receives;
    if (is_one && call->collective == TRIB_ALLGATHER) {
        send = recv + before;
    } else if (is_one && call->collective == TRIB_REDUCE_SCATTER) {
        recv = send + before;
    }
    pending->send[at] = send;
    pending->recv[at] = recv;
    api_fill(call, members->count, members->me, send);
}

static void free_buffers(struct api_pending *pending)
{
    for (uint32_t i = 0; i < pending->calls; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            if (pending->is_shared) {
                trib_shared_free(pending->memory[i][k]);
            } else {
                free(pending->memory[i][k]);
            }
        }
    }
}

static bool is_untouched(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != UNTOUCHED) {
            return false;
        }
    }
    return true;
}

/* What is in front of a buffer, behind it, and in a send buffer is as it was. */
static void check_around(struct api_run *run, const struct api_pending *pending, uint32_t at,
                         const struct api_members *members)
{
    const struct api_call *call = &pending->call[at];
    bool is_one = pending->memory[at][0] == NULL;
    const uint8_t *first = pending->memory[at][1];
    const uint8_t *data = is_one && call->collective == TRIB_REDUCE_SCATTER ? pending->send[at] : pending->recv[at];
    if (!is_untouched(first, (size_t)(data - first)) || !is_untouched(data + pending->bytes[at], GUARD)) {
        api_fail(run, "step %u: %s: writes outside of its buffer", pending->step,
                 trib_collective_name(call->collective));
    }
    if (!is_one) {
        size_t size = (size_t)api_sends(call, members->count, members->me) * trib_type_size(call->type);
        uint8_t *copy = malloc(size + 1);
        if (copy != NULL) {
            api_fill(call, members->count, members->me, copy);
            if (memcmp(copy, pending->send[at], size) != 0) {
                api_fail(run, "step %u: %s: changes its send buffer", pending->step,
                         trib_collective_name(call->collective));
            }
        }
        free(copy);
    }
}

static void check_results(struct api_run *run, const struct api_view *view, const struct api_pending *pending)
{
    char text[API_TEXT_MAX];
    for (uint32_t i = 0; i < pending->calls; i++) {
        if (!api_check(&pending->call[i], view->members.count, view->members.me, pending->recv[i], text)) {
            api_fail(run, "step %u: %s", pending->step, text);
        }
        check_around(run, pending, i, &view->members);
    }
}

/* ---- calls ---- */

static enum trib_status start_shares(struct trib_comm *comm, const struct api_call *call, const void *send, void *recv,
                                     struct trib_request **request)
{
    if (call->collective == TRIB_ALLGATHER) {
        return call->is_uneven ? trib_allgather_uneven_start(comm, send, recv, call->counts, call->type, request)
                               : trib_allgather_start(comm, send, recv, call->count, call->type, request);
    }
    return call->is_uneven
               ? trib_reduce_scatter_uneven_start(comm, send, recv, call->counts, call->type, call->reduction, request)
               : trib_reduce_scatter_start(comm, send, recv, call->count, call->type, call->reduction, request);
}

static enum trib_status start(struct trib_comm *comm, const struct api_call *call, const void *send, void *recv,
                              struct trib_request **request)
{
    switch (call->collective) {
    case TRIB_BROADCAST:
        return trib_broadcast_start(comm, recv, call->count, call->type, call->root, request);
    case TRIB_BARRIER:
        return trib_barrier_start(comm, request);
    case TRIB_REDUCE:
        return trib_reduce_start(comm, send, recv, call->count, call->type, call->reduction, call->root, request);
    case TRIB_ALLGATHER:
    case TRIB_REDUCE_SCATTER:
        return start_shares(comm, call, send, recv, request);
    case TRIB_ALLREDUCE:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return trib_allreduce_start(comm, send, recv, call->count, call->type, call->reduction, request);
}

static enum trib_status block(struct trib_comm *comm, const struct api_call *call, const void *send, void *recv)
{
    switch (call->collective) {
    case TRIB_BROADCAST:
        return trib_broadcast(comm, recv, call->count, call->type, call->root);
    case TRIB_BARRIER:
        return trib_barrier(comm);
    case TRIB_REDUCE:
        return trib_reduce(comm, send, recv, call->count, call->type, call->reduction, call->root);
    case TRIB_ALLGATHER:
        return call->is_uneven ? trib_allgather_uneven(comm, send, recv, call->counts, call->type)
                               : trib_allgather(comm, send, recv, call->count, call->type);
    case TRIB_REDUCE_SCATTER:
        return call->is_uneven ? trib_reduce_scatter_uneven(comm, send, recv, call->counts, call->type, call->reduction)
                               : trib_reduce_scatter(comm, send, recv, call->count, call->type, call->reduction);
    case TRIB_ALLREDUCE:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return trib_allreduce(comm, send, recv, call->count, call->type, call->reduction);
}

enum trib_status api_call_plain(struct trib_comm *comm, const struct api_call *call, const void *send, void *recv,
                                struct trib_request **request)
{
    return request != NULL ? start(comm, call, send, recv, request) : block(comm, call, send, recv);
}

/* Tests in a row first, which take turns with the progress thread; then with pauses that grow: a rank that waits for a
 * switch to restart needs no core for that. */
static enum trib_status poll_request(struct trib_request *request)
{
    bool done = false;
    enum trib_status status = trib_request_test(request, &done);
    for (useconds_t tests = 1; !done; tests++) {
        if (tests > TESTS_IN_A_ROW) {
            (void)usleep(tests < PAUSE_MAX_US ? tests : PAUSE_MAX_US);
        }
        status = trib_request_test(request, &done);
    }
    return status;
}

static enum trib_status wait_in_pieces(struct trib_request *request)
{
    bool done = false;
    enum trib_status status = TRIB_OK;
    for (uint64_t limit = 0; !done; limit += 200000) {
        status = trib_request_wait_for(request, limit, &done);
    }
    return status;
}

static enum trib_status finish(struct trib_request *request, int64_t how)
{
    switch (how) {
    case API_START_POLL:
        return poll_request(request);
    case API_START_WAIT_FOR:
        return wait_in_pieces(request);
    default:
        return trib_request_wait(request);
    }
}

/* Statuses that a call on this communicator may give. */
static uint32_t allowed(const struct api_view *view)
{
    return view->ended != 0 ? view->ended : API_BIT(TRIB_OK);
}

/* The call has been made, or is under way and stays so (API_START_LATER). */
static void conclude(struct api_run *run, struct api_view *view, struct api_pending *pending, enum trib_status status,
                     int64_t how)
{
    char what[64];
    (void)snprintf(what, sizeof what, "step %u: %s", run->step,
                   pending->calls == 1 ? trib_collective_name(pending->call[0].collective) : "group");
    if (status == TRIB_OK && how == API_START_LATER) {
        view->pending_count++;
        return;
    }
    if (status == TRIB_OK && how != API_BLOCKING) {
        status = finish(pending->request, how);
    }
    if (api_expect(run, what, status, allowed(view), view->comm) && status == TRIB_OK) {
        check_results(run, view, pending);
    }
    free_buffers(pending);
}

static struct api_pending *begin(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    if (view->pending_count == API_PENDING_MAX) {
        api_collect(run, view);
    }
    struct api_pending *pending = &view->pending[view->pending_count];
    memset(pending, 0, sizeof *pending);
    pending->is_shared = step->field[API_SHARED] != 0;
    pending->step = run->step;
    return pending;
}

void api_make_call(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    for (int64_t i = 0; i < step->field[API_TIMES]; i++) {
        struct api_pending *pending = begin(run, view, step);
        int64_t how = step->field[API_HOW];
        struct api_step one = *step;
        one.field[API_SALT] += i;
        api_call_of(run->c, &one, &view->members, &pending->call[0]);
        pending->calls = 1;
        make_buffers(pending, 0, &view->members, step);
        enum trib_status status = api_call_plain(view->comm, &pending->call[0], pending->send[0], pending->recv[0],
                                                 how == API_BLOCKING ? NULL : &pending->request);
        conclude(run, view, pending, status, how);
    }
}

void api_make_group(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    struct trib_call calls[API_GROUP_MAX];
    struct api_pending *pending = begin(run, view, step);
    int64_t how = step->field[API_HOW];
    enum trib_status status;

    pending->calls = api_group_of(run->c, step, &view->members, pending->call);
    for (uint32_t i = 0; i < pending->calls; i++) {
        const struct api_call *call = &pending->call[i];
        make_buffers(pending, i, &view->members, step);
        calls[i] = (struct trib_call){
            call->collective, call->type,       call->reduction, call->root,
            pending->send[i], pending->recv[i], call->count,     call->is_uneven ? call->counts : NULL};
    }
    if (how == API_BLOCKING) {
        status = trib_group(view->comm, calls, pending->calls);
    } else {
        status = trib_group_start(view->comm, calls, pending->calls, &pending->request);
    }
    conclude(run, view, pending, status, how);
}

void api_collect(struct api_run *run, struct api_view *view)
{
    for (uint32_t i = 0; i < view->pending_count; i++) {
        struct api_pending *pending = &view->pending[i];
        uint32_t may = allowed(view) | API_BIT(TRIB_OK);
        char what[64];
        enum trib_status status = trib_request_wait(pending->request);
        (void)snprintf(what, sizeof what, "request of step %u", pending->step);
        if (api_expect(run, what, status, may, view->comm) && status == TRIB_OK) {
            check_results(run, view, pending);
        }
        free_buffers(pending);
    }
    view->pending_count = 0;
}

/* ---- calls that are refused ---- */

#define GROUP_MODE 16 /* names the index of the wrong call, from 0 */

/* A wrong argument, its status, and what it is. error: of the calls that have a text of their own. */
static enum trib_status refused_call(struct trib_comm *comm, int64_t mode, uint64_t *memory, const char **what,
                                     char *error)
{
    static const struct trib_call second_is_wrong[2] = {{.collective = TRIB_BARRIER},
                                                        {.collective = TRIB_COLLECTIVE_NONE}};
    struct trib_request *request;
    uint32_t ranks = trib_comm_ranks(comm);
    uint32_t list[2] = {0, 0};
    struct trib_comm *made = NULL;
#define CASE(number, text, call) \
    case number:                 \
        *what = text;            \
        return call
    switch (mode) {
        CASE(0, "send is NULL", trib_allreduce(comm, NULL, memory, 1, TRIB_INT64, TRIB_SUM));
        CASE(1, "recv is NULL", trib_allreduce_start(comm, memory, NULL, 1, TRIB_INT64, TRIB_SUM, &request));
        CASE(2, "send and recv overlap", trib_allreduce(comm, memory, memory + 1, 2, TRIB_INT64, TRIB_SUM));
        CASE(3, "no such root", trib_broadcast(comm, memory, 1, TRIB_INT64, ranks));
        CASE(4, "more than 64 TiB", trib_allreduce(comm, memory, memory, UINT64_MAX / 8, TRIB_INT64, TRIB_SUM));
        CASE(5, "no such root", trib_reduce_start(comm, memory, memory, 1, TRIB_INT64, TRIB_SUM, ranks, &request));
        CASE(6, "a group of too many", trib_group(comm, second_is_wrong, TRIB_GROUP_MAX + 1));
        CASE(7, "a rank twice", trib_comm_subset(comm, list, 2, 0, &made, error));
        CASE(8, "an empty list", trib_comm_subset(comm, list, 0, 0, &made, error));
        CASE(9, "more than 64 TiB", trib_allgather(comm, memory, memory, UINT64_MAX, TRIB_BYTES));
        CASE(10, "recv is NULL", trib_broadcast_start(comm, NULL, 1, TRIB_FLOAT16, 0, &request));
        CASE(11, "send is NULL", trib_reduce_scatter(comm, NULL, memory, 1, TRIB_INT8, TRIB_SUM));
        CASE(12, "no such type", trib_allreduce(comm, memory, memory, 1, TRIB_TYPE_COUNT, TRIB_SUM));
        CASE(13, "no such reduction", trib_allreduce(comm, memory, memory, 1, TRIB_INT8, TRIB_REDUCTION_COUNT));
        CASE(14, "bytes have no sum", trib_allreduce(comm, memory, memory, 1, TRIB_BYTES, TRIB_SUM));
        CASE(15, "no type", trib_broadcast(comm, memory, 1, TRIB_TYPE_NONE, 0));
        CASE(GROUP_MODE, "no such collective", trib_group(comm, second_is_wrong, 2));
        CASE(17, "no reduction", trib_reduce(comm, memory, memory, 1, TRIB_INT8, TRIB_REDUCTION_NONE, 0));
    default:
        *what = "counts is NULL";
        return trib_allgather_uneven(comm, memory, memory, NULL, TRIB_INT8);
    }
#undef CASE
}

#define SUBSET_FROM 7 /* these say why in a text of their own */
#define SUBSET_TO 8
#define UNSUPPORTED_FROM 12
#define UNSUPPORTED_TO 17

static void check_text(struct api_run *run, const char *what, const char *text)
{
    if (text[0] == '\0' || strchr(text, '\n') != NULL) {
        api_fail(run, "%s: refused with the text \"%.200s\"", what, text);
    }
}

void api_make_invalid(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    uint64_t memory[16] = {0};
    int64_t mode = step->field[API_MODE];
    bool is_unsupported = mode >= UNSUPPORTED_FROM && mode <= UNSUPPORTED_TO;
    const char *refusal = "";
    char what[96];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if (step->field[API_RANK] != 0 && (step->field[API_RANK] - 1) % view->members.count != view->members.me) {
        return;
    }
    enum trib_status status = refused_call(view->comm, mode, memory, &refusal, error);
    (void)snprintf(what, sizeof what, "step %u: %s", run->step, refusal);
    (void)api_expect(run, what, status, API_BIT(is_unsupported ? TRIB_ERR_UNSUPPORTED : TRIB_ERR_INVALID), NULL);
    if (mode >= SUBSET_FROM && mode <= SUBSET_TO) {
        check_text(run, what, error);
    } else {
        const char *text = trib_comm_error(view->comm);
        check_text(run, what, text);
        if (mode == GROUP_MODE && strstr(text, "call 1, from 0: ") == NULL) {
            api_fail(run, "%s: the wrong call is not named in \"%.200s\"", what, text);
        }
        run->refused = view;
    }
}

/* ---- a communicator that has ended ---- */

void api_try_ended(struct api_run *run, struct api_view *view, uint32_t may)
{
    uint64_t a = 1, b = 0;
    uint64_t gathered[API_RANKS_MAX];
    uint32_t list[API_RANKS_MAX];
    struct trib_call calls[2] = {{TRIB_ALLREDUCE, TRIB_INT64, TRIB_SUM, 0, &a, &b, 1, NULL},
                                 {.collective = TRIB_BARRIER}};
    struct trib_request *request;
    struct trib_comm *made = view->comm;
    struct trib_comm_stats stats;
    struct trib_comm *comm = view->comm;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    for (uint32_t i = 0; i < view->members.count; i++) {
        list[i] = i;
    }
    enum trib_status status = trib_group(comm, calls, 2);
    (void)api_expect(run, "group after the end", status, may, comm);
    (void)api_expect(run, "allreduce after the end", trib_allreduce(comm, &a, &b, 1, TRIB_INT64, TRIB_SUM), may, comm);
    (void)api_expect(run, "barrier_start after the end", trib_barrier_start(comm, &request), may, comm);
    (void)api_expect(run, "group_start after the end", trib_group_start(comm, calls, 1, &request), may, comm);
    (void)api_expect(run, "allgather after the end", trib_allgather(comm, &a, gathered, 1, TRIB_INT64), may, comm);
    (void)api_expect(run, "split after the end", trib_comm_split(comm, 0, 0, &made, error), may, comm);
    if (error[0] == '\0') {
        api_fail(run, "split after the end: no text");
    }
    (void)api_expect(run, "subset after the end", trib_comm_subset(comm, list, view->members.count, 0, &made, error),
                     may, comm);
    if (made != comm) {
        api_fail(run, "split or subset after the end: made is written");
    }
    trib_comm_stats(comm, &stats);
    trib_comm_progress(comm);
    if (trib_comm_error(comm)[0] == '\0' || strchr(trib_comm_error(comm), '\n') != NULL) {
        api_fail(run, "trib_comm_error after the end: \"%.200s\"", trib_comm_error(comm));
    }
}
