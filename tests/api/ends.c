/* SPDX-License-Identifier: Apache-2.0 */
/* ends.c: steps that end a communicator for all of its ranks, and the fork of one rank. The model says which status each
 * rank gets; afterwards every kind of call must give it as well. Read next: calls.c. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

#include "api/api.h"
#include "io/clock.h"
#include "io/memory.h"

#define BUFFER_BYTES (1U << 20) /* room for the longest tensor of a case on all ranks */
#define LATE_NS (300 * TRIB_MILLISECOND_NS)
#define CHILD_S 8
#define LOOK_NS (10 * TRIB_MILLISECOND_NS) /* from one look for deaths and findings to the next */
#define PROGRESS_NS TRIB_MILLISECOND_NS    /* without a progress thread */
#define JOIN_US 30000                      /* for a JOIN to pass a switch on its way up */
#define EXIT_US 30000 /* for the end of a process to be heard of: what ends later is seen as well, but less is found */

/* ---- outside of the library ---- */

static bool has_finding(const struct api_run *run)
{
    for (uint32_t rank = 0; rank < API_RANKS_MAX; rank++) {
        if (atomic_load(&run->shared->seat[rank].has_failed)) {
            return true;
        }
    }
    return false;
}

static uint32_t count_alive(const struct api_run *run)
{
    uint32_t alive = 0;
    for (uint32_t rank = 0; rank < (uint32_t)run->c->setting[API_RANKS]; rank++) {
        alive += !atomic_load(&run->shared->seat[rank].is_dead);
    }
    return alive;
}

/* Without the progress thread a program that waits elsewhere says so: else a rank that has lost its switch would not be
 * back in time, and the others would name it. */
static void progress(const struct api_run *run)
{
    for (uint32_t i = 0; run->c->setting[API_PROGRESS] == 0 && i < run->views; i++) {
        if (run->view[i].comm != NULL) {
            trib_comm_progress(run->view[i].comm);
        }
    }
}

/* Until the counter is no longer at this number, or somebody wakes its waiters, or the time is up. Processes share it. */
static void sleep_at(_Atomic uint32_t *counter, uint32_t number, uint64_t limit_ns)
{
    struct timespec limit = {.tv_sec = 0, .tv_nsec = (long)limit_ns};
    (void)syscall(SYS_futex, counter, FUTEX_WAIT, number, &limit, NULL, 0);
}

static void wake_all(_Atomic uint32_t *counter)
{
    (void)syscall(SYS_futex, counter, FUTEX_WAKE, API_RANKS_MAX, NULL, NULL, 0);
}

void api_meet(struct api_run *run)
{
    _Atomic uint32_t *arrived = &run->shared->arrived[run->meetings++];
    uint64_t limit_ns = run->c->setting[API_PROGRESS] != 0 ? LOOK_NS : PROGRESS_NS;
    uint32_t now = atomic_fetch_add(arrived, 1) + 1;
    if (now >= count_alive(run)) {
        wake_all(arrived);
    }
    for (; now < count_alive(run) && !has_finding(run); now = atomic_load(arrived)) {
        progress(run);
        sleep_at(arrived, now, limit_ns);
    }
}

/* The member that is not as the others; members.count: it is not in this communicator. */
static uint32_t find_odd(const struct api_run *run, const struct api_view *view, const struct api_step *step)
{
    uint32_t odd = (uint32_t)step->field[API_RANK] % (uint32_t)run->c->setting[API_RANKS];
    uint32_t at = 0;
    while (at < view->members.count && view->members.rank[at] != odd) {
        at++;
    }
    return at;
}

static bool is_odd(const struct api_run *run, const struct api_step *step)
{
    return (uint32_t)step->field[API_RANK] % (uint32_t)run->c->setting[API_RANKS] == run->rank;
}

/* ---- one rank calls something else ---- */

static bool has_root(enum trib_collective collective)
{
    return collective == TRIB_BROADCAST || collective == TRIB_REDUCE;
}

static bool has_reduction(enum trib_collective collective)
{
    return collective == TRIB_ALLREDUCE || collective == TRIB_REDUCE || collective == TRIB_REDUCE_SCATTER;
}

#define TWINS_FROM 5 /* modes: calls that no digest tells apart */

static void alter(struct api_call *call, int64_t mode, uint32_t ranks)
{
    static const enum trib_type others[] = {TRIB_FLOAT64, TRIB_FLOAT64, TRIB_INT8,  TRIB_INT32, TRIB_INT64,
                                            TRIB_FLOAT32, TRIB_INT8,    TRIB_INT64, TRIB_UINT8, TRIB_INT8};
    if (mode == 0) {
        call->collective = call->collective % (TRIB_COLLECTIVE_COUNT - 1) + 1;
        call->type = call->type == TRIB_BYTES ? TRIB_UINT8 : call->type;
    } else if (call->collective == TRIB_BARRIER) {
        call->collective = TRIB_ALLREDUCE;
        call->type = TRIB_INT32;
        call->reduction = TRIB_SUM;
    } else if (mode == 1) {
        call->type = others[call->type];
    } else if (mode == 2 && has_reduction(call->collective)) {
        call->reduction = call->reduction % (TRIB_REDUCTION_COUNT - 1) + 1;
    } else if (mode == 3 && has_root(call->collective) && ranks > 1) {
        call->root = (call->root + 1) % ranks;
    } else {
        call->count++;
        call->counts[0]++;
    }
}

static bool is_on_ring(const struct api_case *c)
{
    const int64_t scheme = c->setting[API_SCHEME];
    return c->setting[API_PLACE] == API_NONE && (scheme == API_RING || scheme == API_HYBRID);
}

/* May a rank be done with this call before others were compared with it? On a ring, when the next rank has what it gave and all is there
 * that it gets, of those who give something; with a quorum, when those are there whom the sum needs. */
static bool may_be_done(const struct api_case *c, const struct api_call *call, uint32_t ranks)
{
    bool is_ring = is_on_ring(c);
    bool is_even =
        call->collective == TRIB_ALLREDUCE || call->collective == TRIB_BARRIER || (!call->is_uneven && call->count > 0);
    return api_may_lack(call, ranks) > 0 || (is_ring && (has_root(call->collective) || !is_even));
}

/* One rank looks for them, as all would find the same. */
static bool find_twins(struct api_run *run, struct api_view *view, struct api_call *call, struct api_call *twin)
{
    struct api_shared *shared = run->shared;
    uint32_t expected = API_TWINS_UNKNOWN;
    if (atomic_compare_exchange_strong(&shared->twins, &expected, API_TWINS_SOUGHT)) {
        bool is_found = api_twins(view->comm, &shared->twin[0], &shared->twin[1]);
        atomic_store(&shared->twins, is_found ? API_TWINS_FOUND : API_TWINS_NONE);
        wake_all(&shared->twins);
    }
    while (atomic_load(&shared->twins) == API_TWINS_SOUGHT) {
        sleep_at(&shared->twins, API_TWINS_SOUGHT, LOOK_NS);
    }
    if (atomic_load(&shared->twins) == API_TWINS_NONE) {
        return false;
    }
    *call = shared->twin[0];
    *twin = shared->twin[1];
    return true;
}

static void step_differ(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    struct api_call call, twin;
    uint32_t odd = find_odd(run, view, step);
    uint8_t *send = trib_memory_map(BUFFER_BYTES), *recv = trib_memory_map(BUFFER_BYTES);
    char what[64];
    api_call_of(run->c, step, &view->members, &call);
    bool differs = odd < view->members.count && view->members.count > 1;
    bool are_twins = step->field[API_MODE] >= TWINS_FROM && differs && find_twins(run, view, &call, &twin);
    if (differs && odd == view->members.me && are_twins) {
        call = twin;
    } else if (differs && odd == view->members.me) {
        alter(&call, step->field[API_MODE], view->members.count);
    }
    uint32_t wanted = differs ? API_BIT(TRIB_ERR_MISMATCH) : API_BIT(TRIB_OK);
    if (are_twins &&
        is_on_ring(run->c)) { /* a rank finds that the sum of the one before it is none, and ends the job */
        wanted |= API_BIT(TRIB_ERR_CHECK) | API_BIT(TRIB_ERR_PEER);
    }
    enum trib_status status = api_call_plain(view->comm, &call, send, recv, NULL);
    if (status == TRIB_OK && differs && may_be_done(run->c, &call, view->members.count)) {
        status = trib_barrier(view->comm); /* the next call says it */
    }
    (void)snprintf(what, sizeof what, "step %u: %s, of which one differs", run->step,
                   trib_collective_name(call.collective));
    (void)api_expect(run, what, status, wanted, view->comm);
    if (differs) {
        view->ended = wanted;
        if (status == TRIB_ERR_MISMATCH && strstr(trib_comm_error(view->comm), "called") == NULL) {
            api_fail(run, "step %u: who called what is not said: %.300s", run->step, trib_comm_error(view->comm));
        }
    }
    trib_memory_unmap(send, BUFFER_BYTES);
    trib_memory_unmap(recv, BUFFER_BYTES);
}

/* A tensor as long as that with which a split tells all colors. */
static void step_differ_split(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    int64_t tensor[API_RANKS_MAX + 2] = {0};
    struct trib_comm *made = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint32_t odd = find_odd(run, view, step);
    enum trib_status status;
    bool differs = odd < view->members.count && view->members.count > 1;
    bool splits = (odd == view->members.me) == (step->field[API_MODE] % 2 != 0);
    if (!differs) {
        return;
    }
    if (splits) {
        status = trib_comm_split(view->comm, 0, 0, &made, error);
    } else {
        status = trib_allreduce(view->comm, tensor, tensor, 2 + view->members.count, TRIB_INT64, TRIB_SUM);
    }
    (void)api_expect(run, splits ? "split beside an allreduce" : "allreduce beside a split", status,
                     API_BIT(TRIB_ERR_MISMATCH), view->comm);
    view->ended = API_BIT(TRIB_ERR_MISMATCH);
}

/* ---- one rank ends, or the switch ---- */

/* The statuses of ranks whose peer has ended. One that ends while a switch is away is not told from one that may return: the others wait for
 * it, and name it at the end of that. */
static uint32_t without_peer(const struct api_run *run)
{
    return API_BIT(TRIB_ERR_PEER) | (run->is_away ? API_BIT(TRIB_ERR_TIMEOUT) : 0);
}

/* A call that cannot end well, as the odd rank does not take part, or nobody sums. */
static void call_in_vain(struct api_run *run, struct api_view *view, uint32_t wanted)
{
    int64_t tensor[64] = {0};
    enum trib_status status = trib_allreduce(view->comm, tensor, tensor, 64, TRIB_INT64, TRIB_SUM);
    (void)api_expect(run, "allreduce that cannot end well", status, wanted, view->comm);
    view->ended = wanted;
}

static void step_abort(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    uint32_t odd = find_odd(run, view, step);
    if (odd == view->members.me) {
        if (step->field[API_MODE] % 2 != 0) {
            (void)usleep(2000);
        }
        trib_comm_abort(view->comm);
        view->ended = API_BIT(TRIB_ERR_ABORTED);
    } else if (odd < view->members.count) {
        call_in_vain(run, view, without_peer(run));
    }
}

/* Mode 0: all others close, and the odd rank stays; else it closes alone. */
static void step_leave(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    bool is_in = view->comm != NULL && view->ended == 0 && find_odd(run, view, step) < view->members.count &&
                 view->members.count > 1;
    bool leaves = is_odd(run, step) == (step->field[API_MODE] % 2 != 0);
    if (is_in && leaves) {
        (void)api_expect(run, "close of ranks that leave", trib_comm_close(view->comm), API_BIT(TRIB_OK), NULL);
        view->comm = NULL;
        view->members.count = 0;
    }
    api_meet(run);
    if (is_in && !leaves) {
        view->ended = without_peer(run) | API_BIT(TRIB_ERR_CLOSED);
        api_try_ended(run, view, view->ended);
    }
}

static void step_die(struct api_run *run, const struct api_step *step)
{
    uint32_t odd = (uint32_t)step->field[API_RANK] % (uint32_t)run->c->setting[API_RANKS];
    api_meet(run);
    if (odd == run->rank) {
        atomic_store(&run->seat->is_dead, true);
        (void)kill(getpid(), SIGKILL);
    }
    for (uint32_t i = 0; i < run->views; i++) {
        struct api_view *view = &run->view[i];
        bool needs_dead = run->c->setting[API_PLACE] == API_NONE && odd == 0;
        if (view->comm == NULL || view->ended != 0 ||
            (find_odd(run, view, step) == view->members.count && !needs_dead)) {
            continue;
        }
        if (view->members.count > 1) {
            call_in_vain(run, view, without_peer(run));
        } else { /* alone, at a control plane that dies: which it hears of or not */
            view->ended = API_BIT(TRIB_OK) | without_peer(run);
        }
    }
}

/* The other ranks find the communicator ended without having called it since: a control plane in the process that ends
 * goes with it. */
static void step_exit(struct api_run *run, const struct api_step *step)
{
    for (uint32_t i = run->views; i-- > 0;) {
        struct api_view *view = &run->view[i];
        bool has_odd = find_odd(run, view, step) < view->members.count;
        if (view->comm != NULL && view->ended == 0 && (is_odd(run, step) || !has_odd)) {
            (void)api_expect(run, "close of a rank that exits", trib_comm_close(view->comm), API_BIT(TRIB_OK), NULL);
            view->comm = NULL;
            view->members.count = 0;
        }
    }
    if (is_odd(run, step)) {
        atomic_store(&run->seat->step, API_STEPS_MAX + 2);
        atomic_store(&run->seat->is_dead, true);
        _exit(0);
    }
    api_meet(run);
    (void)usleep(EXIT_US);
    for (uint32_t i = 0; i < run->views; i++) {
        struct api_view *view = &run->view[i];
        if (view->comm != NULL && view->ended == 0) {
            trib_comm_progress(view->comm);
            view->ended = without_peer(run) | API_BIT(TRIB_ERR_CLOSED);
            api_try_ended(run, view, view->ended);
        }
    }
}

static void step_late(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    bool is_in = view->comm != NULL && view->ended == 0 && view->members.count > 1 &&
                 find_odd(run, view, step) < view->members.count;
    /* The first rank of which it is ends the job for the others. */
    uint32_t wanted = API_BIT(TRIB_ERR_TIMEOUT) | API_BIT(TRIB_ERR_PEER);
    if (is_in && !is_odd(run, step)) {
        trib_comm_set_timeout(view->comm, LATE_NS);
        call_in_vain(run, view, wanted);
    }
    api_meet(run);
    if (is_in && is_odd(run, step)) { /* the others have contributed: the sum may still come */
        call_in_vain(run, view, wanted | API_BIT(TRIB_OK));
        view->ended = wanted;
    }
}

/* With fallback all goes on as if nothing had been. */
static void step_lose(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    const struct api_case *c = run->c;
    api_meet(run);
    if (run->rank == 0) {
        api_place_kill(c, (uint32_t)step->field[API_MODE]);
    }
    api_meet(run);
    for (uint32_t i = 0; i < run->views && c->setting[API_FALLBACK] == 0; i++) { /* the others, sooner or later */
        struct api_view *other = &run->view[i];
        if (other != view && other->comm != NULL && other->ended == 0) {
            other->ended = API_BIT(TRIB_OK) | API_BIT(TRIB_ERR_SWITCH) | API_BIT(TRIB_ERR_PEER);
        }
    }
    if (view->comm == NULL || view->ended != 0) {
        return;
    }
    if (c->setting[API_FALLBACK] != 0) {
        api_make_call(run, view, step);
    } else {
        call_in_vain(run, view, API_BIT(TRIB_ERR_SWITCH) | API_BIT(TRIB_ERR_PEER));
    }
}

static void use_subset(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    struct api_view *made = &run->view[run->views];
    struct api_step subset = *step;
    subset.kind = API_STEP_SUBSET;
    api_step_make(run, view, &subset);
    if (made->comm != NULL) {
        api_make_call(run, made, step);
    }
    api_make_call(run, view, step);
}

/* The odd ranks are in a call that makes a subset when their switch stands still; now the even ranks call it as well, and
 * have their WELCOME; then both switches die. All goes on as if nothing had been. */
static void step_halfway(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    if (run->rank == 0) {
        (void)usleep(JOIN_US * (useconds_t)run->shared->patience);
        api_place_kill_halfway(run->c);
        atomic_store(&run->shared->is_halfway, true);
    }
    while (run->rank % 2 == 0 && !atomic_load(&run->shared->is_halfway)) {
        (void)usleep(200);
    }
    if (view->comm != NULL && view->ended == 0) {
        use_subset(run, view, step);
    }
    if (run->rank == 0) {
        api_place_await_kill();
    }
}

/* After it no rank is in the communicator's calls any more: a rank that closes sooner would end them another way. */
static void conclude(struct api_run *run, struct api_view *view)
{
    api_meet(run);
    if (view->comm != NULL && view->ended != 0 && !has_finding(run)) {
        api_try_ended(run, view, view->ended);
    }
    if (view->comm != NULL && (view->ended & API_BIT(TRIB_ERR_TIMEOUT)) != 0 && run->is_away &&
        strstr(trib_comm_error(view->comm), "waited") != NULL &&
        strstr(trib_comm_error(view->comm), "for rank") == NULL) {
        api_fail(run, "step %u: nobody is named: %.300s", run->step, trib_comm_error(view->comm));
    }
    api_meet(run);
}

/* Nothing is pending any more. With a barrier all ranks are through one on each communicator: after a restart of a switch they are back. */
static void settle(struct api_run *run, bool with_barrier)
{
    run->is_away = run->is_away && !with_barrier;
    for (uint32_t i = 0; i < run->views; i++) {
        struct api_view *view = &run->view[i];
        api_collect(run, view);
        if (view->comm != NULL && view->ended == 0 && with_barrier) {
            (void)api_expect(run, "barrier before an end", trib_barrier(view->comm), API_BIT(TRIB_OK), view->comm);
        }
    }
}

void api_step_end(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    bool is_here = view->comm != NULL && view->ended == 0;
    settle(run, step->field[API_SALT] % 2 == 0 || !run->is_away);
    if (is_here && (view->members.count < 2 || find_odd(run, view, step) == view->members.count)) {
        is_here = step->kind == API_STEP_LOSE; /* a communicator without the odd rank goes on */
    }
    api_meet(run);
    switch ((int)step->kind) {
    case API_STEP_LEAVE:
        step_leave(run, view, step);
        break;
    case API_STEP_DIE:
        step_die(run, step);
        break;
    case API_STEP_EXIT:
        step_exit(run, step);
        break;
    case API_STEP_LATE:
        step_late(run, view, step);
        break;
    case API_STEP_LOSE:
        step_lose(run, view, step);
        break;
    case API_STEP_HALFWAY:
        step_halfway(run, view, step);
        break;
    default:
        if (is_here && step->kind == API_STEP_DIFFER) {
            step_differ(run, view, step);
        } else if (is_here && step->kind == API_STEP_DIFFER_SPLIT) {
            step_differ_split(run, view, step);
        } else if (is_here) {
            step_abort(run, view, step);
        }
        break;
    }
    conclude(run, view);
}

/* ---- fork ---- */

static void check_child(struct api_run *run, struct api_view *view)
{
    uint32_t may = API_BIT(TRIB_ERR_INVALID);
    for (uint32_t i = 0; i < view->pending_count; i++) {
        bool done = false;
        enum trib_status status = trib_request_test(view->pending[i].request, &done);
        if (!done) {
            status = trib_request_wait_for(view->pending[i].request, TRIB_MILLISECOND_NS, &done);
        }
        if (!done) {
            status = trib_request_wait(view->pending[i].request);
        }
        /* Done before the fork: OK is the truth. */
        (void)api_expect(run, "a request in a child of fork", status, may | API_BIT(TRIB_OK), NULL);
    }
    api_try_ended(run, view, may);
    (void)api_expect(run, "close in a child of fork", trib_comm_close(view->comm), may, NULL);
}

static void be_child(struct api_run *run, bool stays)
{
    (void)alarm(stays ? 120 * (unsigned)run->shared->patience : CHILD_S * (unsigned)run->shared->patience);
    (void)signal(SIGALRM, SIG_DFL);
    while (stays) {
        (void)pause();
    }
    for (uint32_t i = run->views; i-- > 0;) {
        if (run->view[i].comm != NULL && run->view[i].ended == 0) {
            check_child(run, &run->view[i]);
        }
    }
    _exit(0);
}

/* The allocators of these sanitizers (gcc 12) leave a lock held in the child that another thread held at the fork: there a
 * child that allocates waits for ever, in the first call of its own that does. libc's does not. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CHILD_MAY_CALL false
#else
#define CHILD_MAY_CALL true
#endif

/* Mode 0: the child tries all calls and exits; 1: it stays, and makes no call. */
void api_step_fork(struct api_run *run, struct api_view *view, const struct api_step *step)
{
    bool stays = step->field[API_MODE] % 2 != 0 || !CHILD_MAY_CALL;
    int status = 0;
    (void)view;
    if (!is_odd(run, step)) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        be_child(run, stays);
    }
    if (stays) {
        run->shared->child[atomic_fetch_add(&run->shared->children, 1)] = child;
        return;
    }
    (void)waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        api_fail(run, "step %u: the child of fork %s (signal %d)", run->step,
                 WTERMSIG(status) == SIGALRM ? "hangs in a call" : "crashed", WTERMSIG(status));
    }
}
