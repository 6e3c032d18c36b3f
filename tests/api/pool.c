/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: the worker, a process that executes case after case. A case that hangs or crashes ends the worker, and only
 * that. The worker's descriptors, threads and memory are looked at after each case. Read next: rank.c. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "keys/derive.h"

#define SETTLE_S 5 /* for threads of the library to end after the last close */
#define DESCRIPTORS_MAX 512
#define LEAK_KIB (64 * 1024)
#define STACK_BYTES (2U << 20)
#define LEAK_CASES 200 /* memory is compared from this case on */

#ifdef __SANITIZE_ADDRESS__
/* A rank that is a process has forgotten a control plane that an earlier case left behind in its parent. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

#ifdef __SANITIZE_THREAD__
/* It does not know which locks the child of a process with threads has: ranks are threads, and a child makes calls only. */
#define IS_UNDER_TSAN true
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0:halt_on_error=1";
}
#else
#define IS_UNDER_TSAN false
#endif

/* What main and the worker share. */
struct exchange {
    struct api_shared shared;
    struct api_case c;
    char leaks[API_TEXT_MAX];
};

static struct exchange *exchange;
static pid_t worker = -1;
static int to_worker = -1, from_worker = -1, errors = -1;
static uint64_t cases;
static long first_kib;
static uint32_t first_descriptors; /* of the worker, before its first case */
static uint32_t first_threads;     /* 1, and those of a sanitizer */
static bool first_open[DESCRIPTORS_MAX];

/* ---- the worker ---- */

static uint32_t count_entries(const char *folder)
{
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

static uint32_t count_threads(void)
{
    return count_entries("/proc/self/task") - 2; /* . and .. */
}

static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmRSS: %ld", &kib);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

/* Bound and never listened at, so that ranks may listen at it; and so may any other process that is told of the port and
 * says SO_REUSEADDR, as listeners do. So it is none of those that the kernel gives away: a process that has let one go, to
 * listen there later, could find this worker at it. Nor one that scripts take (quiet_port in
 * tests/integration/common.sh: even thousands), nor a multiple of 16, as their HTTP 1000 above has, nor 12 above one, as
 * unit tests have. */
static uint16_t reserve_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (uint32_t i = 0, first = (uint32_t)getpid(); fd >= 0 && i < 10 * 62; i++) {
        uint32_t place = (first + i) % (10 * 62);
        uint16_t port = (uint16_t)(11000 + place % 10 * 2000 + place / 10 * 16 + 4);
        address.sin_port = htons(port);
        if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && /* alone: not with SO_REUSEADDR */
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) {
            return port;
        }
    }
    (void)fprintf(stderr, "api: no port: %s\n", strerror(errno));
    abort();
}

static void worker_finding(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void worker_finding(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(exchange->shared.text, sizeof exchange->shared.text, format, arguments);
    va_end(arguments);
    atomic_store(&exchange->shared.has_failed, true);
}

/* Instead of libc's, in ranks and switches alike: a number that is closed twice may be another thread's in between. */
int close(int fd)
{
    static int (*real)(int);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "close");
    }
    int result = real(fd);
    if (result != 0 && errno == EBADF && exchange != NULL) {
        worker_finding("descriptor %d is closed, and is not open", fd);
    }
    return result;
}

struct thread {
    pthread_t id;
    uint32_t rank;
};

static void *run_thread(void *argument)
{
    const struct thread *thread = argument;
    api_rank_run(&exchange->c, &exchange->shared, thread->rank);
    return NULL;
}

static void run_threads(uint32_t ranks)
{
    struct thread threads[API_RANKS_MAX];
    for (uint32_t rank = 0; rank < ranks; rank++) {
        threads[rank].rank = rank;
        if (pthread_create(&threads[rank].id, NULL, run_thread, &threads[rank]) != 0) {
            abort();
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        (void)pthread_join(threads[rank].id, NULL);
    }
}

static void run_processes(uint32_t ranks)
{
    pid_t pids[API_RANKS_MAX];
    for (uint32_t rank = 0; rank < ranks; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            api_rank_run(&exchange->c, &exchange->shared, rank);
            exit(0); /* not _exit: a control plane here goes on until the others are done (comm.h, trib_comm_close) */
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int status = 0;
        (void)waitpid(pids[rank], &status, 0);
        if (status != 0 && !atomic_load(&exchange->shared.seat[rank].is_dead)) {
            worker_finding("rank %u crashed (wait status 0x%x) in step %u", rank, (unsigned)status,
                           atomic_load(&exchange->shared.seat[rank].step));
        }
    }
}

static void end_children(void)
{
    uint32_t count = atomic_load(&exchange->shared.children);
    for (uint32_t i = 0; i < count; i++) {
        (void)kill(exchange->shared.child[i], SIGKILL);
    }
    while (count-- > 0) {
        (void)waitpid(-1, NULL, 0); /* this process is their reaper */
    }
}

/* The files behind descriptors that were not open before. */
static void name_descriptors(const bool *before, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int fd = 0; fd < DESCRIPTORS_MAX && used < size; fd++) {
        char link[64];
        char to[64];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, to, sizeof to - 1);
        if (len > 0 && !before[fd]) {
            to[len] = '\0';
            used += (size_t)snprintf(text + used, size - used, " %d %s", fd, to);
        }
    }
}

static void list_descriptors(bool *is_open)
{
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        is_open[fd] = fcntl(fd, F_GETFD) >= 0;
    }
}

/* A control plane that has ended by itself after the last close stays until the next one is made: one descriptor. */
static void check_left_behind(uint32_t descriptors, const bool *before)
{
    uint64_t rounds = SETTLE_S * 1000 * exchange->shared.patience;
    char names[256];
    while (rounds-- > 0 && (count_threads() > first_threads || count_entries("/proc/self/fd") > descriptors)) {
        (void)usleep(1000);
    }
    uint32_t threads = count_threads(), open_now = count_entries("/proc/self/fd");
    if (threads > first_threads || open_now > descriptors) {
        name_descriptors(before, names, sizeof names);
        worker_finding("after the last close %u threads and %d descriptors are left:%s", threads - first_threads,
                       (int)open_now - (int)descriptors, names);
    }
}

static void run_case(void)
{
    struct api_shared *shared = &exchange->shared;
    const struct api_case *c = &exchange->c;
    uint32_t ranks = (uint32_t)c->setting[API_RANKS];
    bool has_keys = c->setting[API_SEAL] == API_OPEN || trib_keys_explain_lack() == NULL;
    bool is_possible = has_keys && (c->setting[API_PROCESSES] == 0 || !IS_UNDER_TSAN);
    if (!is_possible) {
        atomic_store(&shared->skipped, 1);
        return;
    }
    if (!api_place_ready(c)) {
        worker_finding("a switch of this place does not start");
        return;
    }
    if (c->setting[API_PROCESSES] != 0) {
        run_processes(ranks);
    } else {
        run_threads(ranks);
    }
    end_children();
    if (!atomic_load(&shared->has_failed)) {
        check_left_behind(first_descriptors + 1, first_open);
    }
    if (++cases == LEAK_CASES) {
        first_kib = resident_kib();
    } else if (cases > LEAK_CASES && resident_kib() > first_kib + LEAK_KIB) {
        (void)snprintf(exchange->leaks, sizeof exchange->leaks, "%ld MiB of memory after %llu cases, %ld after %d",
                       resident_kib() >> 10, (unsigned long long)cases, first_kib >> 10, LEAK_CASES);
    }
}

static void *do_nothing(void *argument)
{
    return argument;
}

/* libc keeps 40 MiB of stacks for the next threads: room for all of 8 ranks. */
static void shrink_stacks(void)
{
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_setattr_default_np(&attributes);
    (void)pthread_attr_destroy(&attributes);
}

/* A sanitizer starts a thread of its own with the first. */
static void look_around(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) {
        (void)pthread_join(thread, NULL);
    }
    first_threads = count_threads();
    first_descriptors = count_entries("/proc/self/fd");
    list_descriptors(first_open);
}

static void work(int in, int out)
{
    char byte;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)setpgid(0, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    api_keeper_open();
    shrink_stacks();
    exchange->shared.rendezvous_port = reserve_port();
    look_around();
    while (read(in, &byte, 1) == 1) {
        run_case();
        if (write(out, &byte, 1) != 1) {
            return;
        }
    }
}

/* ---- main ---- */

static void start_worker(void)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        abort();
    }
    (void)fflush(stdout);
    worker = fork();
    if (worker == 0) {
        (void)close(in[1]);
        (void)close(out[0]);
        (void)dup2(errors, STDERR_FILENO);
        work(in[0], out[1]);
        _exit(0);
    }
    (void)setpgid(worker, worker);
    (void)close(in[0]);
    (void)close(out[1]);
    to_worker = in[1];
    from_worker = out[0];
}

/* Its wait status. */
static int end_worker(void)
{
    int status = 0;
    if (worker > 0) {
        (void)kill(-worker, SIGKILL);
        (void)waitpid(worker, &status, 0);
        (void)close(to_worker);
        (void)close(from_worker);
    }
    worker = -1;
    return status;
}

void api_pool_open(uint64_t patience)
{
    exchange = mmap(NULL, sizeof *exchange, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *file = tmpfile();
    if (exchange == MAP_FAILED || file == NULL) {
        (void)fprintf(stderr, "api: %s\n", strerror(errno));
        exit(2);
    }
    errors = fileno(file); /* stays open until the end */
    exchange->shared.patience = patience;
    exchange->shared.owner = getpid();
}

void api_pool_close(void)
{
    (void)end_worker();
}

const char *api_pool_leaks(void)
{
    return exchange->leaks;
}

/* The last lines that the case wrote to standard error. */
static void add_errors(char *text, size_t size)
{
    char tail[400];
    size_t used = strlen(text);
    off_t end = lseek(errors, 0, SEEK_END);
    ssize_t got = pread(errors, tail, sizeof tail - 1, end > (off_t)sizeof tail ? end - (off_t)sizeof tail : 0);
    if (got > 0 && used < size) {
        tail[got] = '\0';
        (void)snprintf(text + used, size - used, "\n    %s", tail);
    }
}

static void describe_hang(const struct api_case *c, struct api_result *result)
{
    size_t used = (size_t)snprintf(result->text, sizeof result->text, "hangs; ranks are in steps");
    for (uint32_t rank = 0; rank < (uint32_t)c->setting[API_RANKS] && used < sizeof result->text; rank++) {
        uint32_t step = atomic_load(&exchange->shared.seat[rank].step);
        char place[16];
        (void)snprintf(place, sizeof place, "%u", step);
        used += (size_t)snprintf(result->text + used, sizeof result->text - used, " %s",
                                 step == API_STEPS_MAX       ? "join"
                                 : step == API_STEPS_MAX + 1 ? "close"
                                 : step == API_STEPS_MAX + 2 ? "done"
                                                             : place);
    }
}

/* What the ranks say; true: nothing is wrong. */
static bool read_findings(const struct api_case *c, struct api_result *result)
{
    const struct api_shared *shared = &exchange->shared;
    for (uint32_t rank = 0; rank < (uint32_t)c->setting[API_RANKS]; rank++) {
        if (atomic_load(&shared->seat[rank].has_failed)) {
            (void)snprintf(result->text, sizeof result->text, "rank %u: %s", rank, shared->seat[rank].text);
            return false;
        }
    }
    (void)snprintf(result->text, sizeof result->text, "%s", shared->text);
    return !atomic_load(&shared->has_failed);
}

static void prepare(const struct api_case *c)
{
    struct api_shared *shared = &exchange->shared;
    memset(shared->seat, 0, sizeof shared->seat);
    for (size_t i = 0; i < sizeof shared->arrived / sizeof shared->arrived[0]; i++) {
        atomic_store(&shared->arrived[i], 0);
    }
    for (uint32_t i = 0; i < API_STEPS_MAX; i++) {
        atomic_store(&shared->met[i][0], 0);
        atomic_store(&shared->met[i][1], 0);
    }
    atomic_store(&shared->is_halfway, false);
    atomic_store(&shared->twins, API_TWINS_UNKNOWN);
    atomic_store(&shared->skipped, 0);
    atomic_store(&shared->children, 0);
    atomic_store(&shared->has_failed, false);
    shared->text[0] = '\0';
    shared->number++;
    exchange->c = *c;
    (void)ftruncate(errors, 0);
    (void)lseek(errors, 0, SEEK_SET);
}

void api_pool_run(const struct api_case *c, uint32_t limit_s, struct api_result *result)
{
    char byte = 0;
    prepare(c);
    if (worker < 0) {
        start_worker();
    }
    result->verdict = API_BAD;
    if (write(to_worker, &byte, 1) != 1) {
        (void)snprintf(result->text, sizeof result->text, "the worker is gone");
        (void)end_worker();
        return;
    }
    struct pollfd wait = {.fd = from_worker, .events = POLLIN};
    int ready = poll(&wait, 1, (int)(limit_s * 1000));
    if (ready == 1 && read(from_worker, &byte, 1) == 1) {
        result->verdict = read_findings(c, result) ? API_GOOD : API_BAD;
        result->verdict = atomic_load(&exchange->shared.skipped) != 0 ? API_SKIPPED : result->verdict;
        if (result->verdict != API_GOOD) { /* the next case begins with nothing that this one has left */
            (void)end_worker();
        }
        return;
    }
    bool is_good = read_findings(c, result);
    if (ready == 0 && result->text[0] == '\0') {
        describe_hang(c, result); /* while it does */
    }
    int status = end_worker();
    if (ready == 1 && is_good) {
        (void)snprintf(result->text, sizeof result->text, "crashes (wait status 0x%x)", (unsigned)status);
        add_errors(result->text, sizeof result->text);
    }
}
