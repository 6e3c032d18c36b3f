/* SPDX-License-Identifier: Apache-2.0 */
/* http.c: see http.h. libmicrohttpd runs without a thread, and the server polls the epoll descriptor of libmicrohttpd.
 * So one thread reads and changes the facts of a report, without a lock. libmicrohttpd is loaded with the first
 * listener (io/library.h). */
#include "control/server/http.h"
#include "control/server/listener.h"

#include <inttypes.h>
#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/jobs/owner.h"
#include "control/jobs/progress.h"
#include "control/roots/trees.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/library.h"

#define CONNECTIONS_MAX 64
#define CONNECTIONS_NEAR_MAX 48 /* of one address */
#define IDLE_S 10
#define MEMORY_SIZE (32 * 1024)
#define HOST_SIZE 64 /* holds every address */
#define MISDIRECTED 421
#define JSON_TYPE "application/json"

/* libmicrohttpd's functions, without "MHD_". */
/* clang-format off */
#define FUNCTIONS(X) \
    X(add_response_header) X(create_response_from_buffer) X(destroy_response) \
    X(get_connection_info) X(get_daemon_info) X(get_timeout) X(is_feature_supported) \
    X(lookup_connection_value) X(queue_response) X(run) \
    X(start_daemon) X(stop_daemon)

static struct {
#define FIELD(name) __typeof__(MHD_##name) *(name);
    FUNCTIONS(FIELD)
#undef FIELD
} mhd;

static const struct trib_library_function functions[] = {
#define ROW(name) {"MHD_" #name, &mhd.name},
    FUNCTIONS(ROW)
#undef ROW
    {NULL, NULL},
};
/* clang-format on */

static struct trib_library library = {
    .need = "HTTP needs libmicrohttpd",
    .files = {"libmicrohttpd.so.12"},
    .package = "libmicrohttpd12",
    .functions = functions,
    .once = PTHREAD_ONCE_INIT,
};

struct trib_http {
    struct MHD_Daemon *daemon;
    const struct trib_report *report;
    const struct trib_http_guard *guard; /* NULL: none */
    int epoll_fd;
    uint16_t port;
};

static const char index_page[] =
    "<!doctype html><meta charset=\"utf-8\"><title>tributary switch</title>\n"
    "<style>body{font:16px/1.6 sans-serif;margin:3em}code{background:#eee;padding:.1em .3em}</style>\n"
    "<h1>tributary switch</h1>\n"
    "<p>Adds up what the ranks of a job send.</p>\n"
    "<ul><li><a href=\"/v1/jobs\"><code>/v1/jobs</code></a> jobs, ranks, slots, who is missing\n"
    "<li><a href=\"/v1/switch\"><code>/v1/switch</code></a> version, quotas, memory, traffic\n"
    "<li><a href=\"/metrics\"><code>/metrics</code></a> for Prometheus\n"
    "<li><a href=\"/healthz\"><code>/healthz</code></a> for load balancers</ul>\n";

static json_t *json_u64(uint64_t value)
{
    return json_integer(value < INT64_MAX ? (json_int_t)value : INT64_MAX);
}

/* Adds and forgets: a failure leaves the key out, and the final dump fails only if the root itself is NULL. */
static void set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

static json_t *show_ranks(const uint16_t *ranks, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++) {
        (void)json_array_append_new(array, json_u64(ranks[i]));
    }
    return array;
}

static json_t *show_settings(const struct trib_job *job)
{
    const struct trib_settings *settings = &job->settings;
    json_t *object = json_object();
    set(object, "scheme", json_string(trib_job_scheme(job)));
    set(object, "scheme_asked", json_string(settings->scheme));
    set(object, "gradient_bytes", json_u64(settings->gradient_bytes));
    set(object, "priority", json_integer(settings->priority));
    set(object, "encrypt", json_boolean(settings->encrypt));
    set(object, "payload", json_u64(settings->payload));
    set(object, "window", json_u64(settings->window));
    set(object, "wire", json_string(trib_type_name((enum trib_type)settings->wire)));
    return object;
}

static const char *rank_state(const struct trib_job *job, const struct trib_rank *rank)
{
    if (rank->is_closing) {
        return rank->session ? "closing" : "closed";
    }
    if (!rank->session) {
        return "absent";
    }
    if (rank->is_recalled) {
        return "recalled";
    }
    return !rank->is_registered ? "joined" : job->state == TRIB_JOB_RUNNING ? "running" : "registered";
}

static json_t *show_stall(const struct trib_stall *stall, uint64_t now_ns)
{
    if (stall->at_ns == 0) {
        return json_null();
    }
    json_t *object = json_object();
    set(object, "sequence", json_u64(stall->sequence));
    set(object, "missing", show_ranks(stall->missing.rank, trib_rank_list_carried(&stall->missing)));
    set(object, "waited_seconds", json_real((double)stall->since_ms / 1e3));
    set(object, "reported_seconds_ago", json_real((double)(now_ns - stall->at_ns) / 1e9));
    return object;
}

static json_t *show_rank(const struct trib_job *job, uint32_t index, uint64_t now_ns)
{
    const struct trib_rank *rank = &job->ranks[index];
    json_t *object = json_object();
    set(object, "rank", json_u64(index));
    set(object, "state", json_string(rank_state(job, rank)));
    set(object, "address", rank->name[0] ? json_string(rank->name) : json_null());
    set(object, "mark", json_u64(rank->mark));
    set(object, "stall", show_stall(&rank->stall, now_ns));
    return object;
}

static json_t *show_dropped(const uint64_t *dropped)
{
    json_t *object = json_object();
    for (int drop = TRIB_DROP_NONE + 1; drop < TRIB_DROP_COUNT; drop++) {
        set(object, trib_drop_name((enum trib_drop)drop), json_u64(dropped[drop]));
    }
    return object;
}

static json_t *show_counters(const struct trib_counters *counters)
{
    json_t *object = json_object();
#define X(name, help) set(object, #name, json_u64(counters->name));
    TRIB_COUNTER_MAP(X)
#undef X
    set(object, "dropped", show_dropped(counters->dropped));
    return object;
}

/* With --trees: the switches with a root of the job. */
static json_t *show_switches(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t count = job->grant.switches[0] != 0 ? trib_trees_rooted(jobs, job) : 0;
    json_t *list = json_array();
    for (uint32_t k = 0; k < count; k++) {
        char text[64];
        (void)json_array_append_new(list, json_string(trib_trees_name(jobs, trib_trees_at(job, k), text)));
    }
    return list;
}

/* Planned and achieved rate of each rank. null: no plan has dealt the job. */
static json_t *show_plan(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint64_t planned = trib_job_planned_rate(jobs, job);
    uint64_t achieved = trib_job_achieved_rate(job);
    if (planned == 0) {
        return json_null();
    }
    json_t *object = json_object();
    set(object, "planned_bytes_per_second", json_u64(planned));
    set(object, "achieved_bytes_per_second", achieved != 0 ? json_u64(achieved) : json_null());
    set(object, "is_missed", json_boolean(trib_job_misses_plan(jobs, job)));
    return object;
}

static json_t *show_communicator(const struct trib_report *report, const struct trib_job *job, uint64_t now_ns)
{
    struct trib_job_report facts;
    json_t *object = json_object();
    json_t *ranks = json_array();
    trib_job_report(report, job, now_ns, &facts);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        (void)json_array_append_new(ranks, show_rank(job, i, now_ns));
    }
    set(object, "name", json_string(job->name));
    set(object, "maker", job->maker != 0 ? json_u64(job->maker) : json_null());
    set(object, "state", json_string(trib_job_state_name(job->state)));
    set(object, "communicator", json_u64(job->grant.communicator));
    set(object, "generation", json_u64(job->grant.generation));
    set(object, "age_seconds", json_real((double)(now_ns - job->started_ns) / 1e9));
    set(object, "settings", show_settings(job));
    set(object, "multicast", json_boolean(job->multicast));
    set(object, "shards", json_u64(job->grant.roots));
    set(object, "switches", show_switches(report->jobs, job));
    set(object, "plan", show_plan(report->jobs, job));
    set(object, "window", json_u64(job->grant.window));
    set(object, "slots", json_u64(job->grant.slots));
    set(object, "slot_bytes", json_u64(job->here.bytes));
    set(object, "memory_held", json_u64(facts.plane.memory_held));
    set(object, "slots_held", json_u64(facts.plane.slots_held));
    set(object, "cap", facts.plane.cap > 0 ? json_u64(facts.plane.cap) : json_null());
    set(object, "flagged_packets", json_u64(facts.plane.flagged));
    set(object, "mark", json_u64(facts.communicator_mark));
    set(object, "missing", show_ranks(facts.plane.missing, facts.plane.missing_count));
    set(object, "missing_sequence", facts.plane.missing_count ? json_u64(facts.plane.sequence) : json_null());
    set(object, "stall_seconds", json_real(facts.stall_s));
    set(object, "counters", show_counters(&facts.plane.counters));
    set(object, "ranks", ranks);
    return object;
}

/* Id of the key of the job's ranks; null: the ranks are unauthenticated. */
static json_t *show_key(const struct trib_server_config *config, uint64_t key)
{
    char text[TRIB_KEY_ID_TEXT];
    bool is_shown = config->keys && config->keys->is_for_jobs;
    (void)snprintf(text, sizeof text, "%016" PRIx64, key);
    return is_shown ? json_string(text) : json_null();
}

/* A job with its communicators, the oldest first. */
static json_t *show_job(const struct trib_report *report, const struct trib_owner *owner, uint64_t now_ns)
{
    json_t *object = json_object();
    json_t *communicators = json_array();
    uint64_t bytes = 0;
    uint64_t key = 0; /* the same in all */
    for (const struct trib_job *job = owner->first; job; job = job->next_owned) {
        (void)json_array_insert_new(communicators, 0, show_communicator(report, job, now_ns));
        bytes += job->here.bytes;
        key = job->key;
    }
    set(object, "job", json_string(owner->name));
    set(object, "run", json_string(owner->run));
    set(object, "key", show_key(report->config, key));
    set(object, "slot_bytes", json_u64(bytes));
    set(object, "communicators", communicators);
    return object;
}

static json_t *show_jobs(const struct trib_report *report)
{
    json_t *array = json_array();
    uint64_t now_ns = trib_clock_ns();
    for (const struct trib_owner *owner = report->jobs->owners; owner; owner = owner->next) {
        (void)json_array_append_new(array, show_job(report, owner, now_ns));
    }
    return array;
}

static json_t *show_traffic(const struct trib_report *report)
{
    struct trib_port_stats sum = {0};
    uint64_t dropped[TRIB_DROP_COUNT];
    json_t *object = json_object();
    trib_report_traffic(report, &sum, dropped);
    set(object, "sent_bytes", json_u64(sum.bytes_sent));
    set(object, "received_bytes", json_u64(sum.bytes_received));
    set(object, "sent_packets", json_u64(sum.packets_sent));
    set(object, "received_packets", json_u64(sum.packets_received));
    set(object, "send_calls", json_u64(sum.send_calls));
    set(object, "receive_calls", json_u64(sum.receive_calls));
    set(object, "send_dropped_packets", json_u64(sum.send_dropped));
    set(object, "marked_received_packets", json_u64(sum.marked_received));
    set(object, "flagged_sent_packets", json_u64(sum.flagged_sent));
    set(object, "dropped", show_dropped(dropped));
    return object;
}

/* The other switches for jobs of this switch. */
static json_t *show_lenders(const struct trib_server_config *config)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < config->lenders.count; i++) {
        char text[64];
        trib_address_format(&config->lenders.at[i], text);
        (void)json_array_append_new(list, json_string(text));
    }
    return list;
}

/* Communicators of other switches with roots here. */
static json_t *show_lendings(const struct trib_jobs *jobs)
{
    json_t *list = json_array();
    for (const struct trib_lending *lending = jobs->masters.lendings; lending; lending = lending->next) {
        json_t *object = json_object();
        set(object, "job", json_string(lending->job));
        set(object, "switch", json_string(lending->master->name));
        set(object, "is_parent", json_boolean(!lending->master->session));
        set(object, "communicator", json_u64(lending->root.of.communicator));
        set(object, "slot_bytes", json_u64(lending->root.opening.bytes));
        (void)json_array_append_new(list, object);
    }
    return list;
}

static json_t *show_switch(const struct trib_report *report)
{
    char boot[16];
    json_t *object = json_object();
    (void)snprintf(boot, sizeof boot, "%08x", report->config->boot);
    set(object, "version", json_string(TRIB_VERSION));
    set(object, "boot", json_string(boot));
    set(object, "uptime_seconds", json_real((double)(trib_clock_ns() - report->started_ns) / 1e9));
    set(object, "port", json_u64(trib_address_port(&report->config->listen)));
    set(object, "shards", json_u64(report->config->shards));
    set(object, "jobs", json_u64(trib_owners_count(report->jobs)));
    set(object, "communicators", json_u64(report->jobs->count));
    set(object, "sessions", json_u64(report->connections->count));
    set(object, "memory_quota_bytes", json_u64(report->config->memory_quota));
    set(object, "job_quota_bytes", json_u64(report->config->job_quota));
    set(object, "tenant_quota_bytes", json_u64(report->config->tenant_quota));
    set(object, "threshold_bytes", json_u64(report->config->threshold));
    set(object, "memory_used_bytes", json_u64(report->jobs->agent.memory_used));
    set(object, "receive_room_bytes", json_u64(report->config->receive_room));
    set(object, "lenders", show_lenders(report->config));
    set(object, "lends", show_lendings(report->jobs));
    set(object, "traffic", show_traffic(report));
    return object;
}

/* Sends text, which becomes the reply's to free. */
static enum MHD_Result reply(struct MHD_Connection *connection, unsigned code, const char *type, char *text, size_t len)
{
    struct MHD_Response *response = text ? mhd.create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response) {
        free(text);
        return MHD_NO;
    }
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) {
        (void)mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    if (code == MHD_HTTP_UNAUTHORIZED) {
        (void)mhd.add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    }
    enum MHD_Result result = mhd.queue_response(connection, code, response);
    mhd.destroy_response(response);
    return result;
}

/* Takes root over. */
static enum MHD_Result reply_json(struct MHD_Connection *connection, unsigned code, json_t *root)
{
    char *text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    return reply(connection, code, JSON_TYPE, text, text ? strlen(text) : 0);
}

static enum MHD_Result reply_error(struct MHD_Connection *connection, unsigned code, const char *text)
{
    json_t *root = json_object();
    set(root, "error", json_string(text));
    return reply_json(connection, code, root);
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, const char *type, const char *text)
{
    char *copy = strdup(text);
    return reply(connection, MHD_HTTP_OK, type, copy, strlen(text));
}

static enum MHD_Result show(const struct trib_http *http, struct MHD_Connection *connection, const char *url)
{
    if (strcmp(url, "/") == 0) {
        return reply_text(connection, "text/html; charset=utf-8", index_page);
    }
    if (strcmp(url, "/v1/jobs") == 0) {
        return reply_json(connection, MHD_HTTP_OK, show_jobs(http->report));
    }
    if (strcmp(url, "/v1/switch") == 0) {
        return reply_json(connection, MHD_HTTP_OK, show_switch(http->report));
    }
    if (strcmp(url, "/metrics") == 0) {
        size_t len = 0;
        char *text = trib_metrics_text(http->report, trib_clock_ns(), &len);
        return reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, len);
    }
    return reply_error(connection, MHD_HTTP_NOT_FOUND, "no such page: /v1/jobs, /v1/switch, /metrics, /healthz");
}

/* The host in "name", "name:port", "10.0.0.1:8470" or "[::1]:8470". False: longer than any accepted name. */
static bool read_host(const char *header, char host[HOST_SIZE])
{
    const char *begin = header + (header[0] == '[');
    size_t len = strcspn(begin, header[0] == '[' ? "]" : ":");
    if (len >= HOST_SIZE) {
        return false;
    }
    memcpy(host, begin, len);
    host[len] = '\0';
    return true;
}

/* True if the connection came to the address. */
static bool is_here(struct MHD_Connection *connection, const struct trib_address *address)
{
    const union MHD_ConnectionInfo *info = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct trib_address here = {.len = sizeof here.storage};
    if (!info || getsockname(info->connect_fd, (struct sockaddr *)(void *)&here.storage, &here.len) != 0) {
        return false;
    }
    trib_address_unmap(&here);
    return trib_address_same_host(&here, address);
}

/* True if the request names this switch. A page of another site can make a browser ask this address under the site's
 * name (DNS rebinding), and would then read the answer. Clients without the header (HTTP/1.0) are no browsers. */
static bool is_for_us(struct MHD_Connection *connection)
{
    const char *header = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    char host[HOST_SIZE];
    struct trib_address address;
    uint32_t bits;
    if (!header) {
        return true;
    }
    if (!read_host(header, host)) {
        return false;
    }
    size_t len = strlen(host);
    size_t end = strlen(".localhost");
    if (strcasecmp(host, "localhost") == 0 || (len > end && strcasecmp(host + len - end, ".localhost") == 0)) {
        return true;
    }
    return strchr(host, '/') == NULL && trib_subnet_read(host, &address, &bits) &&
           (trib_address_is_loopback(&address) || is_here(connection, &address));
}

/* True if the request shows the token. The time of the comparison says nothing about the token but its length. */
static bool has_token(struct MHD_Connection *connection, const char *token)
{
    static const char scheme[] = "Bearer ";
    const char *header = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    unsigned differs = 0;
    if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0 ||
        strlen(header) != sizeof scheme - 1 + strlen(token)) {
        return false;
    }
    for (size_t i = 0; token[i] != '\0'; i++) {
        differs |= (unsigned)(header[sizeof scheme - 1 + i] ^ token[i]);
    }
    return differs == 0;
}

/* libmicrohttpd calls once after the head, and again after the body; the second call answers. 8 parameters: the
 * signature is set by libmicrohttpd. */
static enum MHD_Result serve(void *owner, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *data, size_t *data_len, void **seen)
{
    const struct trib_http *http = owner;
    (void)version;
    (void)data;
    if (!*seen) {
        *seen = owner; /* any mark will do */
        return MHD_YES;
    }
    if (*data_len > 0) {
        *data_len = 0; /* a body has no meaning here */
        return MHD_YES;
    }
    if (!http->guard && !is_for_us(connection)) { /* else a page of another site has no token */
        return reply_error(
            connection, MISDIRECTED,
            "the Host header is not this switch: ask by the address that it listens at, or as localhost");
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return reply_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD: this interface is read-only");
    }
    if (strcmp(url, "/healthz") == 0) {
        return reply_text(connection, "text/plain; charset=utf-8", "ok\n");
    }
    if (http->guard && !has_token(connection, http->guard->token)) {
        return reply_error(connection, MHD_HTTP_UNAUTHORIZED,
                           "this switch wants its token (--http-token): Authorization: Bearer TOKEN");
    }
    return show(http, connection, url);
}

const char *trib_http_explain_lack(void)
{
    return trib_library_explain_lack(&library);
}

/* NULL: libmicrohttpd refused. */
static struct MHD_Daemon *start_daemon(struct trib_http *http, int listen_fd)
{
    static char versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
    bool has_tls = http->guard && http->guard->pem;
    char *pem = has_tls ? http->guard->pem : NULL;
    const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, pem},
                                         {MHD_OPTION_HTTPS_MEM_KEY, 0, pem},
                                         {MHD_OPTION_HTTPS_PRIORITIES, 0, versions},
                                         {MHD_OPTION_END, 0, NULL}};
    return mhd.start_daemon(MHD_USE_EPOLL | (has_tls ? MHD_USE_TLS : 0U), 0, NULL, NULL, serve, http,
                            MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                            MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CONNECTIONS_NEAR_MAX,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)MEMORY_SIZE, MHD_OPTION_ARRAY, has_tls ? tls : tls + 3, MHD_OPTION_END);
}

/* The cause, with the remedy. */
static const char *explain_refusal(const struct trib_http_guard *guard)
{
    if (!guard || !guard->pem) {
        return "libmicrohttpd refused";
    }
    return mhd.is_feature_supported(MHD_FEATURE_TLS) == MHD_YES
               ? "the file of --http-tls holds no certificate with its private key, in PEM"
               : "libmicrohttpd has no TLS here, so --http-tls is impossible";
}

static enum trib_status create(const struct trib_address *address, const struct trib_http_guard *guard,
                               const struct trib_report *report, struct trib_http **http, char *error)
{
    int listen_fd;
    struct trib_address bound;
    if (trib_http_explain_lack() != NULL) {
        trib_explain(error, "%s", trib_http_explain_lack());
        return TRIB_ERR_UNSUPPORTED;
    }
    enum trib_status status = trib_listener_open(address, &listen_fd, &bound, error);
    if (status != TRIB_OK) {
        return status;
    }
    struct trib_http *made = calloc(1, sizeof *made);
    if (!made) {
        trib_explain(error, "out of memory for http");
        (void)close(listen_fd);
        return TRIB_ERR_MEMORY;
    }
    made->report = report;
    made->port = trib_address_port(&bound);
    made->guard = guard;
    made->daemon = start_daemon(made, listen_fd);
    const union MHD_DaemonInfo *info =
        made->daemon ? mhd.get_daemon_info(made->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        trib_explain(error, "cannot start http: %s", explain_refusal(guard));
        if (made->daemon) {
            mhd.stop_daemon(made->daemon); /* closes listen_fd */
        } else {
            (void)close(listen_fd);
        }
        free(made);
        return TRIB_ERR_SYSTEM;
    }
    made->epoll_fd = info->epoll_fd;
    *http = made;
    return TRIB_OK;
}

static void destroy(struct trib_http *http)
{
    mhd.stop_daemon(http->daemon);
    free(http);
}

static int fd_of(const struct trib_http *http)
{
    return http->epoll_fd;
}

static uint16_t port_of(const struct trib_http *http)
{
    return http->port;
}

static uint64_t next_timeout(const struct trib_http *http, uint64_t now_ns)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    if (mhd.get_timeout(http->daemon, &wait_ms) != MHD_YES) {
        return TRIB_NEVER;
    }
    return now_ns + wait_ms * TRIB_MILLISECOND_NS;
}

static void run(struct trib_http *http)
{
    (void)mhd.run(http->daemon);
}

const struct trib_http_verbs *trib_http_verbs(void)
{
    static const struct trib_http_verbs verbs = {create, destroy, fd_of, port_of, next_timeout, run};
    return &verbs;
}
