/* SPDX-License-Identifier: Apache-2.0 */
/* test_arguments.c: what every public function makes of NULL and of other arguments that are none, and that a refusal
 * has a text. Mirrors include/tributary and src/comm/refusal.c. */
#include "comm_harness.h"

static float a[8], b[8];
static const uint64_t counts[] = {4};
static const uint32_t self[] = {0};
static char text[TRIB_ERROR_TEXT_MAX];
static struct trib_comm *made;
static struct trib_request *request;

static const struct trib_call good = {
    .collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4};
static const struct trib_call bad = {.collective = TRIB_COLLECTIVE_NONE};
static const struct trib_call third_is_bad[] = {
    {.collective = TRIB_BARRIER},
    {.collective = TRIB_BROADCAST, .type = TRIB_FLOAT32, .send = a, .recv = b, .count = 4},
    {.collective = TRIB_BROADCAST, .type = TRIB_FLOAT32, .send = a, .recv = b, .count = 4, .root = 1},
    {.collective = TRIB_COLLECTIVE_NONE}};
static const struct trib_call apart_but_two[] = {
    {.collective = TRIB_BARRIER},
    {.collective = TRIB_ALLGATHER, .type = TRIB_FLOAT32, .send = a + 2, .recv = b + 2, .count = 4},
    {.collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4}};
static const struct trib_call twins[] = {
    {.collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4},
    {.collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4}};

/* Each is called with a communicator `c` of one rank. */
#define REFUSED_CALLS(X)                                                                                               \
    X(trib_allreduce(NULL, a, b, 4, TRIB_FLOAT32, TRIB_SUM), INVALID, "comm is NULL")                                  \
    X(trib_allreduce(c, NULL, b, 4, TRIB_FLOAT32, TRIB_SUM), INVALID, "a buffer is NULL")                              \
    X(trib_allreduce(c, a, NULL, 4, TRIB_FLOAT32, TRIB_SUM), INVALID, "a buffer is NULL")                              \
    X(trib_allreduce(c, a, a + 1, 4, TRIB_FLOAT32, TRIB_SUM), INVALID, "send and recv overlap")                        \
    X(trib_allreduce(c, a, b, UINT64_MAX, TRIB_FLOAT32, TRIB_SUM), INVALID, "more than 64 TiB")                        \
    X(trib_allreduce(c, a, b, 4, TRIB_TYPE_COUNT, TRIB_SUM), UNSUPPORTED, "no such type")                              \
    X(trib_allreduce(c, a, b, 4, TRIB_BYTES, TRIB_SUM), UNSUPPORTED, "bytes have no sum")                              \
    X(trib_allreduce(c, a, b, 4, TRIB_FLOAT32, TRIB_REDUCTION_COUNT), UNSUPPORTED, "no such reduction")                \
    X(trib_allreduce_start(NULL, a, b, 4, TRIB_FLOAT32, TRIB_SUM, &request), INVALID, "comm is NULL")                  \
    X(trib_allreduce_start(c, a, b, 4, TRIB_FLOAT32, TRIB_SUM, NULL), INVALID, "request is NULL")                      \
    X(trib_broadcast(NULL, a, 4, TRIB_FLOAT32, 0), INVALID, "comm is NULL")                                            \
    X(trib_broadcast(c, NULL, 4, TRIB_FLOAT32, 0), INVALID, "a buffer is NULL")                                        \
    X(trib_broadcast(c, a, 4, TRIB_FLOAT32, 1), INVALID, "the root is no rank")                                        \
    X(trib_broadcast_start(NULL, a, 4, TRIB_FLOAT32, 0, &request), INVALID, "comm is NULL")                            \
    X(trib_broadcast_start(c, a, 4, TRIB_FLOAT32, 0, NULL), INVALID, "request is NULL")                                \
    X(trib_barrier(NULL), INVALID, "comm is NULL")                                                                     \
    X(trib_barrier_start(NULL, &request), INVALID, "comm is NULL")                                                     \
    X(trib_barrier_start(c, NULL), INVALID, "request is NULL")                                                         \
    X(trib_reduce(NULL, a, b, 4, TRIB_FLOAT32, TRIB_SUM, 0), INVALID, "comm is NULL")                                  \
    X(trib_reduce(c, NULL, b, 4, TRIB_FLOAT32, TRIB_SUM, 0), INVALID, "a buffer is NULL")                              \
    X(trib_reduce_start(NULL, a, b, 4, TRIB_FLOAT32, TRIB_SUM, 0, &request), INVALID, "comm is NULL")                  \
    X(trib_reduce_start(c, a, b, 4, TRIB_FLOAT32, TRIB_SUM, 0, NULL), INVALID, "request is NULL")                      \
    X(trib_allgather(NULL, a, b, 4, TRIB_FLOAT32), INVALID, "comm is NULL")                                            \
    X(trib_allgather(c, a, NULL, 4, TRIB_FLOAT32), INVALID, "a buffer is NULL")                                        \
    X(trib_allgather_start(NULL, a, b, 4, TRIB_FLOAT32, &request), INVALID, "comm is NULL")                            \
    X(trib_allgather_start(c, a, b, 4, TRIB_FLOAT32, NULL), INVALID, "request is NULL")                                \
    X(trib_allgather_uneven(NULL, a, b, counts, TRIB_FLOAT32), INVALID, "comm is NULL")                                \
    X(trib_allgather_uneven(c, a, b, NULL, TRIB_FLOAT32), INVALID, "counts is NULL")                                   \
    X(trib_allgather_uneven_start(NULL, a, b, counts, TRIB_FLOAT32, &request), INVALID, "comm is NULL")                \
    X(trib_allgather_uneven_start(c, a, b, NULL, TRIB_FLOAT32, &request), INVALID, "counts is NULL")                   \
    X(trib_allgather_uneven_start(c, a, b, counts, TRIB_FLOAT32, NULL), INVALID, "request is NULL")                    \
    X(trib_reduce_scatter(NULL, a, b, 4, TRIB_FLOAT32, TRIB_SUM), INVALID, "comm is NULL")                             \
    X(trib_reduce_scatter(c, NULL, b, 4, TRIB_FLOAT32, TRIB_SUM), INVALID, "a buffer is NULL")                         \
    X(trib_reduce_scatter_start(NULL, a, b, 4, TRIB_FLOAT32, TRIB_SUM, &request), INVALID, "comm is NULL")             \
    X(trib_reduce_scatter_start(c, a, b, 4, TRIB_FLOAT32, TRIB_SUM, NULL), INVALID, "request is NULL")                 \
    X(trib_reduce_scatter_uneven(NULL, a, b, counts, TRIB_FLOAT32, TRIB_SUM), INVALID, "comm is NULL")                 \
    X(trib_reduce_scatter_uneven(c, a, b, NULL, TRIB_FLOAT32, TRIB_SUM), INVALID, "counts is NULL")                    \
    X(trib_reduce_scatter_uneven_start(NULL, a, b, counts, TRIB_FLOAT32, TRIB_SUM, &request), INVALID, "comm is NULL") \
    X(trib_reduce_scatter_uneven_start(c, a, b, NULL, TRIB_FLOAT32, TRIB_SUM, &request), INVALID, "counts is NULL")    \
    X(trib_reduce_scatter_uneven_start(c, a, b, counts, TRIB_FLOAT32, TRIB_SUM, NULL), INVALID, "request is NULL")     \
    X(trib_group(NULL, &good, 1), INVALID, "comm is NULL")                                                             \
    X(trib_group(c, NULL, 1), INVALID, "calls is NULL")                                                                \
    X(trib_group(c, &bad, 1), UNSUPPORTED, "no such collective")                                                       \
    X(trib_group(c, third_is_bad, 4), INVALID, "group: call 2, from 0: broadcast: the root is no rank")                \
    X(trib_group(c, twins, 2), INVALID, "group: calls 0 (allreduce) and 1 (allreduce), from 0: a buffer that one")     \
    X(trib_group(c, apart_but_two, 3), INVALID, "calls 1 (allgather) and 2 (allreduce), from 0: a buffer that one")    \
    X(trib_group(c, &good, TRIB_GROUP_MAX + 1), INVALID, "4096 is the most")                                           \
    X(trib_group_start(NULL, &good, 1, &request), INVALID, "comm is NULL")                                             \
    X(trib_group_start(c, NULL, 1, &request), INVALID, "calls is NULL")                                                \
    X(trib_group_start(c, &good, 1, NULL), INVALID, "request is NULL")                                                 \
    X(trib_request_wait(NULL), INVALID, "request is NULL")                                                             \
    X(trib_request_wait_for(NULL, 0, &done), INVALID, "request is NULL")                                               \
    X(trib_request_wait_for(under_way, 0, NULL), INVALID, "done is NULL")                                              \
    X(trib_request_test(NULL, &done), INVALID, "request is NULL")                                                      \
    X(trib_request_test(under_way, NULL), INVALID, "done is NULL")

/* These have a place of their own for their text. */
#define EXPLAINED_CALLS(X)                                              \
    X(trib_config_from_environment(NULL, error), "config is NULL")      \
    X(trib_comm_create(NULL, &made, error), "config is NULL")           \
    X(trib_comm_create(&config, NULL, error), "comm is NULL")           \
    X(trib_comm_split(NULL, 0, 0, &made, error), "comm is NULL")        \
    X(trib_comm_split(c, 0, 0, NULL, error), "made is NULL")            \
    X(trib_comm_split(c, -2, 0, &made, error), "gave the color -2")     \
    X(trib_comm_subset(NULL, self, 1, 0, &made, error), "comm is NULL") \
    X(trib_comm_subset(c, self, 1, 0, NULL, error), "made is NULL")     \
    X(trib_comm_subset(c, NULL, 1, 0, &made, error), "a list of 1 to 1 ranks is needed")

static struct trib_comm *open_comm(struct trib_config *config)
{
    struct trib_comm *comm = NULL;
    rank_config(config, 0, 1);
    assert_int_equal(trib_comm_create(config, &comm, text), TRIB_OK);
    return comm;
}

/* Of a call that names no communicator the text is kept under NULL. */
static void check(const struct trib_comm *c, enum trib_status got, enum trib_status want, const char *part,
                  const char *call)
{
    bool has_comm = strstr(call, "(c, ") != NULL;
    const char *said = trib_comm_error(has_comm ? c : NULL);
    if (got != want || !says(said, part)) {
        fail_msg("%s: %s, \"%s\"", call, trib_status_name(got), said);
    }
    assert_true(!has_comm || says(said, "rank 0: "));
    assert_string_equal(trib_comm_error(has_comm ? NULL : c), "");
}

static void refused__calls_say_why(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *c = open_comm(&config);
    struct trib_request *under_way = NULL;
    bool done = false;
    assert_string_equal(trib_comm_error(c), "");
    assert_int_equal(trib_allreduce_start(c, a, a, 4, TRIB_FLOAT32, TRIB_SUM, &under_way), TRIB_OK);
#define X(call, status, part) check(c, call, TRIB_ERR_##status, part, #call);
    REFUSED_CALLS(X)
#undef X
    assert_null(request);
    assert_int_equal(trib_request_wait(under_way), TRIB_OK);
    assert_int_equal(trib_group(c, NULL, 0), TRIB_OK); /* nothing to read */
    assert_int_equal(trib_allreduce(c, NULL, NULL, 0, TRIB_FLOAT32, TRIB_SUM), TRIB_OK);
    assert_int_equal(trib_comm_close(c), TRIB_OK); /* nothing was broken */
}

static void explained__calls_say_why(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *c = open_comm(&config);
    char error[TRIB_ERROR_TEXT_MAX];
#define X(call, part)                                       \
    error[0] = '\0';                                        \
    if ((call) != TRIB_ERR_INVALID || !says(error, part)) { \
        fail_msg("%s: \"%s\"", #call, error);               \
    }
    EXPLAINED_CALLS(X)
#undef X
    assert_null(made);
    assert_int_equal(trib_comm_create(NULL, NULL, NULL), TRIB_ERR_INVALID); /* no text is wanted */
    assert_int_equal(trib_comm_close(c), TRIB_OK);
}

/* Functions without a status do nothing, or say nothing. */
static void null__is_nothing(void **state)
{
    (void)state;
    struct trib_comm_stats stats = {.operations = 7};
    trib_config_init(NULL);
    trib_comm_stats(NULL, NULL);
    trib_comm_stats(NULL, &stats);
    assert_int_equal(stats.operations, 0);
    trib_comm_set_timeout(NULL, 1);
    assert_int_equal(trib_comm_set_priority(NULL, 1), TRIB_ERR_INVALID);
    trib_comm_progress(NULL);
    trib_comm_abort(NULL);
    trib_shared_free(NULL);
    assert_null(trib_shared_alloc(0));
    assert_int_equal(trib_comm_rank(NULL), 0);
    assert_int_equal(trib_comm_ranks(NULL), 0);
    assert_string_equal(trib_comm_job(NULL), "");
    assert_string_equal(trib_comm_scheme(NULL), "");
    assert_string_equal(trib_comm_scheme_cause(NULL), "");
    assert_int_equal(trib_comm_close(NULL), TRIB_OK);
    assert_string_equal(trib_type_name((enum trib_type)99), "unknown");
    assert_string_equal(trib_reduction_name((enum trib_reduction)99), "unknown");
    assert_string_equal(trib_collective_name((enum trib_collective)99), "unknown");
    assert_int_equal(trib_type_size((enum trib_type)99), 0);
    assert_string_equal(trib_status_text((enum trib_status)99), "unknown status");
    assert_string_equal(trib_status_name((enum trib_status)99), "unknown status");
}

static void *look(void *comm)
{
    return trib_comm_error(comm)[0] == '\0' ? NULL : comm;
}

/* The text is one thread's, and one communicator's; a failure hides it. */
static void refusal__is_of_one_thread_and_communicator(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *first = open_comm(&config);
    struct trib_comm *second = open_comm(&config);
    pthread_t thread;
    void *said = first;
    assert_int_equal(trib_barrier_start(first, NULL), TRIB_ERR_INVALID);
    assert_int_equal(pthread_create(&thread, NULL, look, first), 0);
    assert_int_equal(pthread_join(thread, &said), 0);
    assert_null(said); /* no call of that thread was refused */
    assert_string_equal(trib_comm_error(second), "");
    assert_true(says(trib_comm_error(first), "barrier: request is NULL"));
    trib_comm_abort(first);
    assert_true(says(trib_comm_error(first), "trib_comm_abort was called"));
    assert_int_equal(trib_comm_close(first), TRIB_ERR_ABORTED);
    first = open_comm(&config); /* at the same place, perhaps */
    assert_string_equal(trib_comm_error(first), "");
    assert_int_equal(trib_comm_close(first), TRIB_OK);
    assert_int_equal(trib_comm_close(second), TRIB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused__calls_say_why),
        cmocka_unit_test(explained__calls_say_why),
        cmocka_unit_test(null__is_nothing),
        cmocka_unit_test(refusal__is_of_one_thread_and_communicator),
    };
    on_host = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
