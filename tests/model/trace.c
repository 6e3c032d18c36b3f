/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: what happened, for people, and the same as tokens that replay it. Read next: main.c. */
#include <stdio.h>
#include <string.h>

#include "core/lane.h"
#include "model.h"

/* ---- packets ---- */

/* Which contributions the lane holds: "0+1", "0+0". At most two of each rank are tried. */
static void lane_text(const struct model *model, uint32_t job, const struct trib_packet *packet, char *text,
                      size_t size)
{
    uint32_t ranks = model->scenario->job[job].ranks;
    struct trib_session_config session;
    settings_session(model, job, &session);
    uint64_t odd = trib_session_odd(&session, packet->sequence, packet->attempt, packet->digest);
    uint32_t ways = 1;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        ways *= 3;
    }
    (void)snprintf(text, size, "?");
    for (uint32_t way = 0; way < ways; way++) {
        uint64_t sum = 0;
        size_t at = 0;
        char name[32] = "";
        for (uint32_t rank = 0, rest = way; rank < ranks; rank++, rest /= 3) {
            for (uint32_t times = 0; times < rest % 3; times++) {
                sum += trib_lane_key(session.salt, rank) * odd;
                at += (size_t)snprintf(name + at, sizeof name - at, at == 0 ? "%u" : "+%u", rank);
            }
        }
        if (sum == packet->lane) {
            (void)snprintf(text, size, "%s", name);
            return;
        }
    }
}

static void place_text(const struct model *model, const struct stimulus *s, char *text, size_t size)
{
    uint32_t roots = model->scenario->roots;

    if (s->to < MODEL_RANKS) {
        (void)snprintf(text, size, "from root %u to rank %u", s->from, s->to);
        return;
    }
    uint32_t socket = s->to - MODEL_RANKS;
    if (s->from == FROM_PARENT) {
        (void)snprintf(text, size, "from above to switch %u.%u", socket / roots, socket % roots);
        return;
    }
    if (model->scenario->rows != 0 && s->from >= FROM_COMBINER) {
        (void)snprintf(text, size, "from combiner %u to switch %u.%u", s->from - FROM_COMBINER, socket / roots,
                       socket % roots);
        return;
    }
    uint32_t child = model->child[s->job][socket / roots][s->from];
    (void)snprintf(text, size, "from %s %u to switch %u.%u", child < MODEL_RANKS ? "rank" : "switch",
                   child < MODEL_RANKS ? model->first_rank[s->job] + child : child - MODEL_RANKS, socket / roots,
                   socket % roots);
}

static void print_packet(const struct model *model, const struct stimulus *s)
{
    struct trib_packet packet;
    char place[64];
    char lane[32];

    (void)trib_packet_decode(s->wire, s->len, &packet);
    place_text(model, s, place, sizeof place);
    printf("%s %u %s, mark %u, boot %x", trib_kind_name((enum trib_kind)packet.kind), (unsigned)packet.sequence, place,
           (unsigned)packet.mark, packet.boot);
    if (packet.kind == TRIB_CONTRIBUTION || packet.kind == TRIB_RESULT || packet.kind == TRIB_OFFER) {
        lane_text(model, s->job, &packet, lane, sizeof lane);
        printf(", lane %s, %u bytes", lane, packet.payload_len);
    }
    if (packet.bitmap != 0) {
        printf(", bitmap %llx", (unsigned long long)packet.bitmap);
    }
    if (packet.flags != 0) {
        printf(", flags%s%s%s", packet.flags & TRIB_FLAG_RESEND ? " RESEND" : "",
               packet.flags & TRIB_FLAG_UNWANTED ? " UNWANTED" : "", packet.flags & TRIB_FLAG_ECN ? " ECN" : "");
    }
}

/* ---- happenings ---- */

static const char *const names[] = {
    [HAPPENS_END] = "end",         [HAPPENS_NOTICE] = "notice",   [HAPPENS_REGISTER] = "register",
    [HAPPENS_READY] = "ready",     [HAPPENS_DROP] = "drop",       [HAPPENS_FAIL] = "fail",
    [HAPPENS_ARRIVE] = "arrive",   [HAPPENS_CLOSE] = "close",     [HAPPENS_CLOSED] = "closed",
    [HAPPENS_MARK_UP] = "markup",  [HAPPENS_MARK_DOWN] = "mark",  [HAPPENS_SUBMIT] = "submit",
    [HAPPENS_DELIVER] = "deliver", [HAPPENS_ROUND] = "round",     [HAPPENS_TIMER] = "timer",
    [HAPPENS_TICK] = "tick",       [HAPPENS_LOSE] = "lose",       [HAPPENS_DOUBLE] = "double",
    [HAPPENS_EARLY] = "early",     [HAPPENS_RESTART] = "restart", [HAPPENS_DIE] = "die",
    [HAPPENS_LINGER] = "linger",   [HAPPENS_BATCH] = "batch",     [HAPPENS_CAP] = "cap",
    [HAPPENS_MARKED] = "marked",   [HAPPENS_NUMBER] = "number",   [HAPPENS_POOL] = "pool",
};

static bool is_of_packet(struct happening happening)
{
    return happening.kind == HAPPENS_DELIVER || happening.kind == HAPPENS_LOSE || happening.kind == HAPPENS_DOUBLE ||
           happening.kind == HAPPENS_MARKED;
}

void trace_token(const struct model *model, const struct state *state, struct happening happening, char *token,
                 size_t size)
{
    const char *name = names[happening.kind];

    if (happening.kind == HAPPENS_BATCH) {
        (void)snprintf(token, size, "%s:%08x.%08x", name, store_stimulus_name(model->store, state->bag[happening.a]),
                       store_stimulus_name(model->store, state->bag[happening.b]));
    } else if (is_of_packet(happening)) {
        (void)snprintf(token, size, "%s:%08x", name, store_stimulus_name(model->store, state->bag[happening.a]));
    } else {
        (void)snprintf(token, size, "%s:%u.%u", name, happening.a, happening.b);
    }
}

static void print_meaning(const struct model *model, const struct state *state, struct happening happening)
{
    switch (happening.kind) {
    case HAPPENS_END:
    case HAPPENS_DROP:
    case HAPPENS_ARRIVE:
        printf("%s: job %u, switch %u", names[happening.kind], happening.a, happening.b);
        break;
    case HAPPENS_RESTART:
        printf("restart of switch %u", happening.b);
        break;
    case HAPPENS_POOL:
        printf("switch %u loses its rows", happening.b);
        break;
    case HAPPENS_CAP:
        printf("cap of switch %u: %u fragments", happening.b, happening.a);
        break;
    case HAPPENS_NUMBER:
        printf("%s %u is told its child number", happening.a < MODEL_RANKS ? "rank" : "switch",
               happening.a < MODEL_RANKS ? happening.a : happening.a - MODEL_RANKS);
        break;
    case HAPPENS_BATCH:
        printf("deliver together ");
        print_packet(model, store_stimulus_at(model->store, state->bag[happening.a]));
        printf("\n            and then ");
        print_packet(model, store_stimulus_at(model->store, state->bag[happening.b]));
        break;
    case HAPPENS_ROUND:
        printf("round: all timers fire");
        break;
    case HAPPENS_TICK:
        printf("tick: time passes at node %u", happening.a);
        break;
    case HAPPENS_MARK_UP:
    case HAPPENS_MARK_DOWN:
        printf("%s of rank %u, hop %u", names[happening.kind], happening.a, happening.b);
        break;
    default:
        if (is_of_packet(happening)) {
            printf("%s ", names[happening.kind]);
            print_packet(model, store_stimulus_at(model->store, state->bag[happening.a]));
        } else {
            printf("%s: rank %u", names[happening.kind], happening.a);
        }
    }
}

/* The packets that a happening put on their way. */
static void print_sent(const struct model *model, const struct state *before, const struct state *after)
{
    for (uint32_t i = 0, j = 0; i < after->count; i++) {
        while (j < before->count && before->bag[j] < after->bag[i]) {
            j++;
        }
        if (j < before->count && before->bag[j] == after->bag[i]) {
            j++;
            continue;
        }
        printf("        sends ");
        print_packet(model, store_stimulus_at(model->store, after->bag[i]));
        printf("\n");
    }
}

/* Does it again, and prints it. */
static uint8_t show(struct model *model, struct state *state, struct happening happening, size_t number)
{
    struct state before = *state;

    printf("  %3zu  ", number);
    print_meaning(model, state, happening);
    printf("\n");
    uint8_t violation = state_apply(model, state, happening);
    print_sent(model, &before, state);
    return violation;
}

void trace_print(struct model *model, const struct happening *list, size_t count)
{
    struct state state;
    char token[40];

    (void)control_begin(model, &state);
    for (size_t i = 0; i < count; i++) {
        (void)show(model, &state, list[i], i + 1);
    }
    printf("replay: model --scheme %s --scenario %s --replay ", model->scheme->name, model->scenario->name);
    (void)control_begin(model, &state);
    for (size_t i = 0; i < count; i++) {
        trace_token(model, &state, list[i], token, sizeof token);
        printf("%s%s", i == 0 ? "" : ",", token);
        (void)state_apply(model, &state, list[i]);
    }
    printf("\n");
}

/* ---- replay ---- */

static bool find_token(struct model *model, const struct state *state, const char *token, size_t length,
                       struct happening *happening)
{
    struct happenings list;
    char name[40];

    state_list(model, state, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        trace_token(model, state, list.at[i], name, sizeof name);
        if (strlen(name) == length && strncmp(name, token, length) == 0) {
            *happening = list.at[i];
            return true;
        }
    }
    return false;
}

bool trace_replay(struct model *model, const char *tokens)
{
    struct state state;
    uint8_t violation = control_begin(model, &state);

    for (size_t number = 1; *tokens != '\0' && violation == 0; number++) {
        size_t length = strcspn(tokens, ",");
        struct happening happening;
        if (!find_token(model, &state, tokens, length, &happening)) {
            printf("  %3zu  %.*s cannot happen here\n", number, (int)length, tokens);
            return false;
        }
        violation = show(model, &state, happening, number);
        tokens += length + (tokens[length] == ',');
    }
    if (violation == 0) {
        struct happenings list;
        state_list(model, &state, &list);
        violation = list.count == 0 || !happening_is_fair(list.at[0]) ? state_check_end(model, &state) : 0;
    }
    if (violation != 0) {
        printf("VIOLATED %s: %s\n", model->violation[violation - 1].word, model->violation[violation - 1].text);
    }
    return violation == 0;
}
