/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c: what people and dashboards see, from a real server over real HTTP. A build without HTTP checks that it
 * says so. */
#include "control_harness.h"

#include "control/server/http.h"
#include "net/resolve.h"

static void none__says_so(void **state)
{
    (void)state;
    struct control c;
    control_init(&c);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &c.config.http, NULL), TRIB_OK);
    c.config.http_verbs = trib_http_verbs();
    control_start(&c);
    assert_int_equal(trib_server_http_port(c.server) != 0, trib_http_explain_lack() == NULL);
    control_stop(&c);
}

static enum trib_status lack(const struct trib_address *address, const struct trib_http_guard *guard,
                             const struct trib_report *report, struct trib_http **http, char *error)
{
    (void)address;
    (void)guard;
    (void)report;
    (void)http;
    (void)snprintf(error, TRIB_ERROR_TEXT_MAX, "HTTP needs a library");
    return TRIB_ERR_UNSUPPORTED;
}

/* A switch whose library is not installed serves without HTTP, unless the user has named the port of HTTP. */
static void lack__ends_a_switch_with_a_named_port_alone(void **state)
{
    const struct trib_http_verbs verbs = {.create = lack};
    struct trib_server *server = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct control c;
    (void)state;
    control_init(&c);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &c.config.http, NULL), TRIB_OK);
    c.config.http_verbs = &verbs;
    control_start(&c);
    assert_int_equal(trib_server_http_port(c.server), 0);
    control_stop(&c);
    c.config.http_is_named = true;
    assert_int_equal(trib_server_create(&c.config, &server, error), TRIB_ERR_UNSUPPORTED);
    assert_string_equal(error, "HTTP needs a library");
}

#if TRIB_WITH_HTTP
#include <jansson.h>

static int start(void **state)
{
    (void)control_set_up(state);
    struct control *c = *state;
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &c->config.http, NULL), TRIB_OK);
    c->config.http_verbs = trib_http_verbs();
    c->config.lend_to.count = 1;
    c->config.lend_to.at[0] = trib_address_v4(INADDR_LOOPBACK, 0);
    control_start(c);
    return 0;
}

/* Sends one request with these lines in its head; the whole answer, head and body, is the caller's. */
static char *request_with(struct control *c, const char *method, const char *path, const char *lines)
{
    char text[1024];
    size_t len = 0;
    char *answer = calloc(1, 1 << 20);
    int fd = connect_to(trib_server_http_port(c->server));
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\n%sConnection: close\r\n\r\n", method, path, lines);
    send_bytes(fd, text, strlen(text));
    ssize_t got;
    while ((got = recv(fd, answer + len, (1 << 20) - 1 - len, 0)) > 0) {
        len += (size_t)got;
    }
    close(fd);
    return answer;
}

static char *request(struct control *c, const char *method, const char *path)
{
    return request_with(c, method, path, "Host: localhost\r\n");
}

static void expect_in(const char *answer, const char *part)
{
    if (!strstr(answer, part)) {
        fail_msg("\"%s\" is not in:\n%s", part, answer);
    }
}

/* The body of a 200 answer as JSON. */
static json_t *get_json(struct control *c, const char *path)
{
    char *answer = request(c, "GET", path);
    json_error_t error;
    expect_in(answer, "HTTP/1.1 200");
    expect_in(answer, "Content-Type: application/json");
    json_t *root = json_loads(strstr(answer, "\r\n\r\n") + 4, 0, &error);
    assert_non_null(root);
    free(answer);
    return root;
}

static int64_t number_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void pages__status_and_type(void **state)
{
    static const struct {
        const char *method, *path, *want;
    } cases[] = {
        {"GET", "/", "HTTP/1.1 200"},
        {"GET", "/", "text/html"},
        {"GET", "/healthz", "\r\n\r\nok\n"},
        {"HEAD", "/healthz", "HTTP/1.1 200"},
        {"GET", "/nothing", "HTTP/1.1 404"},
        {"GET", "/nothing", "\"error\": \"no such page"},
        {"GET", "/v1/jobs/../../etc/passwd", "HTTP/1.1 404"},
        {"POST", "/v1/jobs", "HTTP/1.1 405"},
        {"POST", "/v1/jobs", "Allow: GET, HEAD"},
        {"DELETE", "/v1/jobs", "\"error\": \"only GET"},
        {"GET", "/metrics", "text/plain; version=0.0.4"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = request(*state, cases[i].method, cases[i].path);
        expect_in(answer, cases[i].want);
        free(answer);
    }
}

/* Connections without a request, as many as there may be, are not all of one address. */
static void connections__one_address_has_its_share(void **state)
{
    enum { MANY = 64 };
    struct control *c = *state;
    int fds[MANY];
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons(trib_server_http_port(c->server))};
    for (unsigned i = 0; i < MANY; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(fds[i], (const struct sockaddr *)&from, sizeof from), 0);
        assert_int_equal(connect(fds[i], (const struct sockaddr *)&to, sizeof to), 0);
    }
    uint64_t begun_ns = trib_clock_ns();
    char *answer = request(c, "GET", "/healthz");
    expect_in(answer, "\r\n\r\nok\n");
    assert_true(trib_clock_ns() - begun_ns < 5 * TRIB_SECOND_NS); /* not when those were silent for too long */
    free(answer);
    for (unsigned i = 0; i < MANY; i++) {
        close(fds[i]);
    }
}

/* A browser that a page of another site has sent here says that site's name. */
static void host__is_an_address_of_the_switch_or_localhost(void **state)
{
    static const struct {
        const char *host, *want;
    } cases[] = {
        {"localhost", "200"},
        {"LocalHost:8470", "200"},
        {"switch.localhost", "200"},
        {"127.0.0.1", "200"},
        {"127.0.0.1:9999", "200"}, /* through a tunnel */
        {"127.1.2.3:80", "200"},
        {"[::1]:8470", "200"},
        {"evil.example", "421"},
        {"evil.example:8470", "421"},
        {"localhost.evil.example", "421"},
        {"notlocalhost", "421"},
        {"127.0.0.1.evil.example", "421"},
        {"10.0.0.1", "421"},
        {"127.0.0.1/8", "421"},
        {"[fd00::1]:8470", "421"},
        {"", "421"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "421"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[256];
        char want[64];
        snprintf(lines, sizeof lines, "Host: %s\r\n", cases[i].host);
        snprintf(want, sizeof want, "HTTP/1.1 %s ", cases[i].want);
        char *answer = request_with(*state, "GET", "/v1/jobs", lines);
        expect_in(answer, want);
        if (strcmp(cases[i].want, "421") == 0) {
            expect_in(answer, "\"error\": \"the Host header is not this switch: ask by the address");
        }
        free(answer);
    }
}

static void jobs__empty_is_an_array(void **state)
{
    json_t *root = get_json(*state, "/v1/jobs");
    assert_true(json_is_array(root));
    assert_int_equal(json_array_size(root), 0);
    json_decref(root);
}

static void jobs__one_running(void **state)
{
    struct control *c = *state;
    int fds[3];
    struct trib_grant grant = run_job(c, 3, fds);
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 1841, .since_ms = 1200}};
    recorder_lack(c, 1, (const uint16_t[]){2});
    send_message(fds[0], &stall);
    (void)expect(fds[0], TRIB_MESSAGE_MISSING);
    send_mark(fds[0], TRIB_MESSAGE_MARK, 9);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    json_t *root = get_json(c, "/v1/jobs");
    assert_int_equal(json_array_size(root), 1);
    const json_t *owner = json_array_get(root, 0);
    assert_string_equal(json_string_value(json_object_get(owner, "job")), JOB);
    assert_string_equal(json_string_value(json_object_get(owner, "run")), "");
    assert_int_equal(json_array_size(json_object_get(owner, "communicators")), 1);
    const json_t *job = json_array_get(json_object_get(owner, "communicators"), 0);
    assert_int_equal(number_in(owner, "slot_bytes"), number_in(job, "slot_bytes"));
    assert_string_equal(json_string_value(json_object_get(job, "name")), JOB);
    assert_true(json_is_null(json_object_get(job, "maker")));
    assert_string_equal(json_string_value(json_object_get(job, "state")), "running");
    assert_int_equal(number_in(job, "communicator"), grant.communicator);
    assert_int_equal(number_in(job, "slots"), grant.slots);
    assert_int_equal(number_in(job, "slot_bytes"), grant.slots * 2 * 3 * SLOT_COST);
    assert_int_equal(number_in(job, "slots_held"), 5);
    assert_int_equal(number_in(job, "cap"), 6);
    assert_int_equal(number_in(job, "flagged_packets"), 7);
    assert_int_equal(json_array_size(json_object_get(job, "switches")), 0); /* there is one */
    assert_int_equal(number_in(job, "memory_held"), 65536);
    assert_int_equal(number_in(json_object_get(job, "counters"), "contributions"), 4711);
    assert_int_equal(number_in(json_object_get(json_object_get(job, "counters"), "dropped"), "CRC"), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(job, "missing"), 0)), 2);
    assert_true(json_real_value(json_object_get(job, "stall_seconds")) >= 1.2);
    const json_t *ranks = json_object_get(job, "ranks");
    assert_int_equal(json_array_size(ranks), 3);
    assert_int_equal(number_in(json_array_get(ranks, 0), "mark"), 9);
    const json_t *missing = json_object_get(json_object_get(json_array_get(ranks, 0), "stall"), "missing");
    assert_int_equal(json_array_size(missing), 1);
    assert_int_equal(json_integer_value(json_array_get(missing, 0)), 2);
    assert_int_equal(strncmp(json_string_value(json_object_get(json_array_get(ranks, 2), "address")), "127.0.0.1:", 10),
                     0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(ranks, 2), "state")), "running");
    json_decref(root);
    close_all(fds, 3);
}

/* Rank 0 has finished 1841, and rank 1 has not: nothing that is open at the switch shows whom all wait for. */
static void jobs__name_who_holds_all_back(void **state)
{
    struct control *c = *state;
    int fds[3];
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 1841, .since_ms = 1200}};
    (void)run_job(c, 3, fds);
    recorder_lack(c, 1, (const uint16_t[]){1});
    send_mark(fds[0], TRIB_MESSAGE_MARK, 1842);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    send_message(fds[0], &stall);
    (void)expect(fds[0], TRIB_MESSAGE_MISSING);
    json_t *root = get_json(c, "/v1/jobs");
    const json_t *job = json_array_get(json_object_get(json_array_get(root, 0), "communicators"), 0);
    assert_int_equal(json_array_size(json_object_get(job, "missing")), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(job, "missing"), 0)), 1);
    assert_int_equal(number_in(job, "missing_sequence"), 1841);
    assert_true(json_real_value(json_object_get(job, "stall_seconds")) >= 1.2);
    json_decref(root);
    close_all(fds, 3);
}

/* Two communicators of one job, which only their ranks know to be of one: no page shows its token. */
static void jobs__have_their_communicators_inside(void **state)
{
    struct control *c = *state;
    int fds[2];
    const struct trib_grant first = run_job(c, 1, fds);
    struct trib_message message = join_message(0, 1);
    strcpy(message.join.job, JOB "/0-1");
    strcpy(message.join.maker.job, JOB);
    message.join.maker.communicator = first.communicator;
    message.join.maker.job_token = first.job_token;
    fds[1] = join_with(c, &message);
    const struct trib_grant second = expect(fds[1], TRIB_MESSAGE_WELCOME).welcome.grant;
    json_t *root = get_json(c, "/v1/jobs");
    assert_int_equal(json_array_size(root), 1);
    const json_t *owner = json_array_get(root, 0);
    const json_t *list = json_object_get(owner, "communicators");
    assert_string_equal(json_string_value(json_object_get(owner, "job")), JOB);
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(number_in(json_array_get(list, 0), "communicator"), first.communicator);
    assert_int_equal(number_in(json_array_get(list, 1), "communicator"), second.communicator);
    assert_int_equal(number_in(json_array_get(list, 1), "maker"), first.communicator);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "name")), JOB "/0-1");
    assert_int_equal(number_in(owner, "slot_bytes"), number_in(json_array_get(list, 0), "slot_bytes") +
                                                         number_in(json_array_get(list, 1), "slot_bytes"));
    json_decref(root);
    root = get_json(c, "/v1/switch");
    assert_int_equal(number_in(root, "jobs"), 1);
    assert_int_equal(number_in(root, "communicators"), 2);
    json_decref(root);
    char *text = request(c, "GET", "/metrics");
    expect_in(text, "\ntributary_jobs 1\n");
    expect_in(text, "\ntributary_communicators 2\n");
    expect_in(text, "\ntributary_job_ranks{job=\"digits/0-1\"} 1\n");
    free(text);
    char token[32];
    (void)snprintf(token, sizeof token, "%llu", (unsigned long long)first.job_token);
    text = request(c, "GET", "/v1/jobs");
    assert_null(strstr(text, token));
    free(text);
    close_all(fds, 2);
}

static void switch__numbers(void **state)
{
    struct control *c = *state;
    json_t *root = get_json(c, "/v1/switch");
    assert_string_equal(json_string_value(json_object_get(root, "boot")), "b0071234");
    assert_int_equal(number_in(root, "port"), c->port);
    assert_int_equal(number_in(root, "shards"), 2);
    assert_int_equal(number_in(root, "job_quota_bytes"), INT64_C(1) << 40);
    assert_int_equal(number_in(root, "tenant_quota_bytes"), 0);
    assert_int_equal(number_in(root, "memory_used_bytes"), 0);
    assert_int_equal(json_array_size(json_object_get(root, "lends")), 0);
    assert_int_equal(number_in(json_object_get(root, "traffic"), "received_bytes"), 123456);
    assert_int_equal(number_in(json_object_get(root, "traffic"), "marked_received_packets"), 78);
    json_decref(root);
    /* Another controller opens roots. */
    struct trib_message control = {.kind = TRIB_MESSAGE_CONTROL, .control = {.port = 7470}};
    struct trib_message open = {
        .kind = TRIB_MESSAGE_ROOT_OPEN,
        .root_open = {.of = {1, 2}, .ranks = 1, .behind = 1, .scheme = "switchml", .job = "asked"}};
    open.root_open.session = (struct trib_session_config){
        .ranks = 1, .roots = 1, .train = 4, .slots = 8, .payload = 1408, .generation = 1, .wire = TRIB_FLOAT32};
    const struct trib_message child = {.kind = TRIB_MESSAGE_ROOT_CHILD,
                                       .root_child = {.of = {1, 2}, .from = trib_address_v4(INADDR_LOOPBACK, 9999)}};
    const struct trib_message join = {.kind = TRIB_MESSAGE_ROOT_JOIN, .root_join = {.of = {1, 2}}};
    control.control.magic = TRIB_SESSION_MAGIC;
    control.control.version = TRIB_SESSION_VERSION;
    control.control.wire_version = TRIB_WIRE_VERSION;
    int fd = connect_to(c->port);
    send_message(fd, &control);
    (void)expect(fd, TRIB_MESSAGE_HELLO);
    send_message(fd, &open);
    send_message(fd, &child);
    (void)expect(fd, TRIB_MESSAGE_ROOT_OPENED);
    send_message(fd, &join);
    (void)expect(fd, TRIB_MESSAGE_ROOT_READY);
    root = get_json(c, "/v1/switch");
    const json_t *lending = json_array_get(json_object_get(root, "lends"), 0);
    assert_string_equal(json_string_value(json_object_get(lending, "job")), "asked");
    assert_string_equal(json_string_value(json_object_get(lending, "switch")), "127.0.0.1:7470");
    json_decref(root);
    char *text = request(c, "GET", "/metrics");
    expect_in(text, "\ntributary_contributions_total{job=\"asked\"} 4711\n");
    expect_in(text, "\ntributary_dropped_packets_total{job=\"asked\",reason=\"CRC\"} 3\n");
    assert_null(strstr(text, "tributary_job_ranks{job=\"asked\"}")); /* its controller's */
    free(text);
    (void)close(fd);
}

static void metrics__jobs_and_reasons(void **state)
{
    struct control *c = *state;
    int fds[2];
    (void)run_job(c, 2, fds);
    struct trib_message refused = join_message(9, 4);
    expect_fail(join_with(c, &refused), TRIB_ERR_INVALID, "out of range");
    char *text = request(c, "GET", "/metrics");
    expect_in(text, "\n# TYPE tributary_contributions_total counter\n");
    expect_in(text, "\ntributary_contributions_total{job=\"digits\"} 4711\n");
    expect_in(text, "\ntributary_dropped_packets_total{job=\"digits\",reason=\"CRC\"} 3\n");
    expect_in(text, "\ntributary_foreign_dropped_packets_total{reason=\"SOURCE\"} 12\n");
    expect_in(text, "\ntributary_jobs 1\n");
    expect_in(text, "\ntributary_sessions_rejected_total{reason=\"more than 200 messages a second\"} 0\n");
    expect_in(text, "\ntributary_jobs_started_total 1\n");
    expect_in(text, "\ntributary_joins_refused_total{reason=\"invalid argument\"} 1\n");
    expect_in(text, "\ntributary_job_ranks{job=\"digits\"} 2\n");
    expect_in(text, "\ntributary_received_bytes_total 123456\n");
    expect_in(text, "\ntributary_job_cap{job=\"digits\"} 6\n");
    expect_in(text, "\ntributary_job_flagged_packets_total{job=\"digits\"} 7\n");
    expect_in(text, "\ntributary_marked_received_packets_total 78\n");
    free(text);
    close_all(fds, 2);
}

/* Every line is a comment, or name{labels} value; every series was announced by a TYPE. */
static void metrics__well_formed(void **state)
{
    struct control *c = *state;
    int fds[1];
    (void)run_job(c, 1, fds);
    char *answer = request(c, "GET", "/metrics");
    char *save = NULL;
    char typed[128] = "";
    unsigned series = 0;
    for (char *line = strtok_r(strstr(answer, "\r\n\r\n") + 4, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_int_equal(sscanf(line + 7, "%127s", typed), 1);
        } else if (line[0] != '#') {
            char name[128];
            double value;
            char *end;
            assert_int_equal(sscanf(line, "%127[a-z0-9_]", name), 1);
            assert_string_equal(name, typed);
            char *space = strrchr(line, ' ');
            assert_non_null(space);
            value = strtod(space + 1, &end);
            assert_true(end > space + 1 && *end == '\0' && value >= 0);
            series++;
        }
    }
    assert_true(series > 50);
    free(answer);
    close_all(fds, 1);
}

static int start_with_token(void **state)
{
    static char token[] = "0123456789abcdef0123456789abcdef";
    static const struct trib_http_guard guard = {.token = token};
    (void)control_set_up(state);
    struct control *c = *state;
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &c->config.http, NULL), TRIB_OK);
    c->config.http_verbs = trib_http_verbs();
    c->config.http_guard = &guard;
    control_start(c);
    return 0;
}

/* Without TLS, which tests/integration/http.user.sh has. */
static void token__is_wanted_by_all_pages_but_health(void **state)
{
    static const struct {
        const char *path, *lines, *want;
    } cases[] = {
        {"/healthz", "", "HTTP/1.1 200"},
        {"/metrics", "", "HTTP/1.1 401"},
        {"/metrics", "", "WWW-Authenticate: Bearer"},
        {"/v1/jobs", "", "this switch wants its token"},
        {"/v1/switch", "Authorization: Bearer\r\n", "HTTP/1.1 401"},
        {"/v1/switch", "Authorization: Bearer \r\n", "HTTP/1.1 401"},
        {"/nothing", "Authorization: Bearer 0123456789abcdef0123456789abcdeX\r\n", "HTTP/1.1 401"},
        {"/", "Authorization: Bearer X123456789abcdef0123456789abcdef\r\n", "HTTP/1.1 401"},
        {"/", "Authorization: Bearer 0123456789abcdef0123456789abcde\r\n", "HTTP/1.1 401"},
        {"/", "Authorization: Bearer 0123456789abcdef0123456789abcdef0\r\n", "HTTP/1.1 401"},
        {"/", "Authorization: Basic 00123456789abcdef0123456789abcdef\r\n", "HTTP/1.1 401"},
        {"/v1/jobs", "Host: any.name\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n", "\r\n\r\n[]"},
        {"/nothing", "Authorization: bearer 0123456789abcdef0123456789abcdef\r\n", "HTTP/1.1 404"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = request_with(*state, "GET", cases[i].path, cases[i].lines);
        expect_in(answer, cases[i].want);
        free(answer);
    }
}

static void tls__wants_a_certificate(void **state)
{
    static char nonsense[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const struct trib_http_guard guard = {.pem = nonsense, .token = nonsense};
    struct trib_server *server = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct control c;
    (void)state;
    if (trib_http_explain_lack() != NULL) {
        skip();
    }
    control_init(&c);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &c.config.http, NULL), TRIB_OK);
    c.config.http_verbs = trib_http_verbs();
    c.config.http_guard = &guard;
    assert_int_equal(trib_server_create(&c.config, &server, error), TRIB_ERR_SYSTEM);
    expect_in(error, "cannot start http: ");
}

static void hostile__requests_do_no_harm(void **state)
{
    struct control *c = *state;
    static const char *const attacks[] = {"\r\n\r\n", "GET", "GET / HTTP/9.9\r\n\r\n", "\xff\xfe\xfd\r\n\r\n",
                                          "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"};
    for (unsigned i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        int fd = connect_to(trib_server_http_port(c->server));
        send_bytes(fd, attacks[i], strlen(attacks[i]));
        close(fd);
    }
    char *answer = request(c, "GET", "/healthz");
    expect_in(answer, "HTTP/1.1 200");
    free(answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, control_tear_down)
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none__says_so),
        cmocka_unit_test(lack__ends_a_switch_with_a_named_port_alone),
#if TRIB_WITH_HTTP
        TEST(pages__status_and_type),
        TEST(connections__one_address_has_its_share),
        TEST(host__is_an_address_of_the_switch_or_localhost),
        TEST(jobs__empty_is_an_array),
        TEST(jobs__one_running),
        TEST(jobs__name_who_holds_all_back),
        TEST(jobs__have_their_communicators_inside),
        TEST(switch__numbers),
        TEST(metrics__jobs_and_reasons),
        TEST(metrics__well_formed),
        cmocka_unit_test_setup_teardown(token__is_wanted_by_all_pages_but_health, start_with_token, control_tear_down),
        cmocka_unit_test(tls__wants_a_certificate),
        TEST(hostile__requests_do_no_harm),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
