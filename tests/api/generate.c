/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c: a case from a seed, and what the documentation does not permit in a case.
 * Read next: rank.c. */
#include "api/api.h"

static int64_t below(struct trib_prng *prng, uint64_t bound)
{
    return (int64_t)trib_prng_below(prng, bound);
}

static bool one_in(struct trib_prng *prng, uint64_t of)
{
    return trib_prng_below(prng, of) == 0;
}

/* ---- settings ---- */

static void draw_settings(struct trib_prng *prng, struct api_case *c)
{
    static const int64_t places[] = {API_HOST, API_HOST,  API_SWITCH, API_SWITCH, API_SHARDS, API_LOSSY,
                                     API_TREE, API_MIXED, API_WITH,   API_OVER,   API_NONE,   API_NONE};
    static const int64_t ranks[] = {1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 8};
    static const int64_t wires[] = {TRIB_WIRE_FLOAT32, TRIB_WIRE_FLOAT32, TRIB_WIRE_BFLOAT16, TRIB_WIRE_INT32};
    static const int64_t payloads[] = {0, 0, 0, 64, 128, 512, 1024, 4096};
    int64_t *s = c->setting;
    s[API_PLACE] = one_in(prng, 200) ? API_NOWHERE : places[trib_prng_below(prng, sizeof places / sizeof places[0])];
    s[API_RANKS] = ranks[trib_prng_below(prng, sizeof ranks / sizeof ranks[0])];
    s[API_SCHEME] = one_in(prng, 2) ? below(prng, API_SCHEMES) : API_SWITCHML;
    s[API_WIRE] = wires[trib_prng_below(prng, 4)];
    s[API_A_HOST] = one_in(prng, 3) ? 1 + below(prng, 3) : 0;
    s[API_PAYLOAD] = payloads[trib_prng_below(prng, 8)];
    s[API_WINDOW] = one_in(prng, 4) ? (int64_t)1 << (13 + trib_prng_below(prng, 6)) : 0;
    s[API_PROCESSES] = one_in(prng, 4);
    s[API_PROGRESS] = !one_in(prng, 4);
    s[API_MULTICAST] = one_in(prng, 6);
    s[API_TRAINS] = !one_in(prng, 8);
    s[API_FALLBACK] = one_in(prng, 8);
    if (one_in(prng, 6)) {
        for (int i = API_LOSS; i <= API_CORRUPT; i++) {
            s[i] = below(prng, 40);
        }
    }
    s[API_SEAL] = one_in(prng, 3) ? 1 + below(prng, API_SEALS - 1) : API_OPEN;
    if (one_in(prng, 20)) {
        s[API_ODD] = 1 + below(prng, API_ODDS - 1);
        s[API_ODD_RANK] = below(prng, 8);
    }
}

/* ---- steps ---- */

static int64_t draw_count(struct trib_prng *prng)
{
    static const int64_t edges[] = {0, 1, 2, 3, 15, 16, 17, 127, 128, 351, 352, 353, 704, 1408};
    if (one_in(prng, 3)) {
        return edges[trib_prng_below(prng, sizeof edges / sizeof edges[0])];
    }
    return below(prng, one_in(prng, 4) ? 5000 : 600);
}

static enum api_step_kind draw_kind(struct trib_prng *prng)
{
    static const enum api_step_kind kinds[] = {API_STEP_CALL,    API_STEP_CALL,    API_STEP_CALL,    API_STEP_CALL,
                                               API_STEP_CALL,    API_STEP_CALL,    API_STEP_GROUP,   API_STEP_GROUP,
                                               API_STEP_WAIT,    API_STEP_INVALID, API_STEP_INVALID, API_STEP_SPLIT,
                                               API_STEP_SPLIT,   API_STEP_SUBSET,  API_STEP_CLOSE,   API_STEP_FORK,
                                               API_STEP_RESTART, API_STEP_THREADS, API_STEP_ASK,     API_STEP_LAUNCHES};
    return kinds[trib_prng_below(prng, sizeof kinds / sizeof kinds[0])];
}

static void draw_step(struct trib_prng *prng, struct api_step *step, enum api_step_kind kind)
{
    int64_t *f = step->field;
    api_step_init(step, kind);
    f[API_COMM] = one_in(prng, 3) ? below(prng, API_COMMS_MAX) : 0;
    f[API_COLLECTIVE] = one_in(prng, 3) ? TRIB_ALLREDUCE : 1 + below(prng, TRIB_COLLECTIVE_COUNT - 1);
    f[API_TYPE] = 1 + below(prng, TRIB_TYPE_COUNT - 1);
    f[API_REDUCTION] = 1 + below(prng, TRIB_REDUCTION_COUNT - 1);
    f[API_COUNT] = draw_count(prng);
    f[API_ROOT] = below(prng, API_RANKS_MAX);
    f[API_UNEVEN] = one_in(prng, 2) ? 1 + below(prng, 1000) : 0;
    f[API_HOW] = below(prng, API_HOWS);
    f[API_IN_PLACE] = one_in(prng, 3);
    f[API_ALIGN] = one_in(prng, 4) ? below(prng, 8) : 0;
    f[API_SHARED] = one_in(prng, 5);
    f[API_SPECIAL] = one_in(prng, 5) ? 1 + below(prng, 1000) : 0;
    f[API_SALT] = below(prng, 1000);
    f[API_RANK] = below(prng, API_RANKS_MAX);
    f[API_MODE] = kind == API_STEP_INVALID ? below(prng, 19) : below(prng, 7);
    f[API_TIMES] = kind == API_STEP_GROUP ? 1 + below(prng, API_GROUP_MAX) : one_in(prng, 6) ? 1 + below(prng, 12) : 1;
}

void api_generate(uint64_t seed, struct api_case *c)
{
    struct trib_prng first = {seed};
    struct trib_prng prng = {trib_prng_next(&first)}; /* seeds that follow each other have nothing in common */
    uint32_t steps = 1 + (uint32_t)below(&prng, API_STEPS_MAX - 2);
    api_case_init(c);
    draw_settings(&prng, c);
    for (uint32_t i = 0; i < steps; i++) {
        draw_step(&prng, &c->step[c->steps++], draw_kind(&prng));
    }
    if (one_in(&prng, 3)) {
        int64_t kind = API_STEP_DIFFER + below(&prng, API_STEP_KINDS - API_STEP_DIFFER);
        draw_step(&prng, &c->step[c->steps++], (enum api_step_kind)kind);
    }
    api_settle(c);
}

/* ---- what is not permitted ---- */

static bool is_switch_place(int64_t place)
{
    return place != API_HOST && place != API_NONE && place != API_NOWHERE;
}

static bool has_two_switches(int64_t place)
{
    return place == API_TREE || place == API_MIXED || place == API_OVER;
}

static bool has_quorum(const struct api_case *c)
{
    return c->setting[API_SCHEME] == API_PANAMA_HALF || c->setting[API_SCHEME] == API_PANAMA_MOST;
}

static bool is_ring(const struct api_case *c)
{
    return c->setting[API_SCHEME] == API_RING || c->setting[API_SCHEME] == API_HYBRID;
}

/* Ranks can repeat sums where all are children of one node, and additions have one order. */
static void settle_seal(const struct api_case *c, int64_t *s)
{
    bool has_order = !has_quorum(c) && !is_ring(c) && s[API_SCHEME] != API_ATP && s[API_SCHEME] != API_GOAT;
    if (s[API_SEAL] >= API_SAMPLED && (!has_order || has_two_switches(s[API_PLACE]))) {
        s[API_SEAL] -= API_SAMPLED - API_KEYED;
    }
}

static void settle_faults(int64_t *s)
{
    for (int i = API_LOSS; i <= API_CORRUPT; i++) {
        s[i] = s[API_PLACE] == API_HOST ? 0 : s[i];
    }
}

static void settle_odd(int64_t *s)
{
    if (s[API_PLACE] == API_NOWHERE) {
        s[API_ODD] = API_ODD_NOTHING;
    }
    if (s[API_ODD] >= API_ODD_INVALID_RANK) { /* the others would wait for it */
        s[API_RANKS] = 1;
    } else if (s[API_RANKS] == 1) {
        s[API_ODD] = API_ODD_NOTHING;
    }
    if (s[API_ODD] == API_ODD_RANKS && s[API_SCHEME] == API_HYBRID) { /* no groups of two: it does not even ask */
        s[API_ODD] = API_ODD_NOTHING;
    }
    if (s[API_ODD] == API_ODD_RANKS && s[API_RANKS] == 2) { /* of two nobody knows who is right: both would wait */
        s[API_RANKS] = 3;
    }
    s[API_ODD_RANK] = s[API_ODD] != API_ODD_NOTHING ? s[API_ODD_RANK] % s[API_RANKS] : 0;
}

/* Two switches with ranks, and more in flight than the ranks' sockets hold for all, as those of these switches do. */
static void settle_halfway(struct api_case *c)
{
    int64_t *s = c->setting;
    for (uint32_t i = 0; i < c->steps; i++) {
        if (c->step[i].kind == API_STEP_HALFWAY) {
            s[API_PLACE] = has_two_switches(s[API_PLACE]) ? s[API_PLACE] : API_TREE;
            s[API_SCHEME] = has_quorum(c) ? API_SWITCHML : s[API_SCHEME];
            s[API_A_HOST] = s[API_A_HOST] > 1 ? 1 : s[API_A_HOST];
            s[API_FALLBACK] = 1;
            s[API_WINDOW] = 12 << 20;
        }
    }
}

static void settle_settings(struct api_case *c)
{
    int64_t *s = c->setting;
    settle_halfway(c);
    if (is_ring(c) && s[API_PLACE] != API_NONE && s[API_PLACE] != API_HOST) {
        s[API_SCHEME] = API_PANAMA;
    }
    if (has_quorum(c) && s[API_PLACE] == API_NONE) {
        s[API_PLACE] = API_SWITCH;
    }
    if (has_quorum(c)) { /* behind a payload goes the list of the ranks that are in it */
        s[API_FALLBACK] = 0;
        s[API_A_HOST] = 0;
        s[API_WIRE] = s[API_WIRE] == TRIB_WIRE_INT32 ? TRIB_WIRE_FLOAT32 : s[API_WIRE];
        s[API_PAYLOAD] = s[API_PAYLOAD] == 64 ? 128 : s[API_PAYLOAD];
    }
    if (s[API_SCHEME] == API_HYBRID && s[API_RANKS] % 2 != 0) {
        s[API_RANKS]++;
    }
    if (s[API_PLACE] == API_HOST) {
        s[API_A_HOST] = 0;
    }
    if (!is_switch_place(s[API_PLACE])) {
        s[API_FALLBACK] = 0;
    }
    settle_seal(c, s);
    settle_faults(s);
    settle_odd(s);
}

static bool is_permitted(const struct api_case *c, const struct api_step *step)
{
    const int64_t *s = c->setting;
    switch ((int)step->kind) {
    case API_STEP_RESTART:
        return is_switch_place(s[API_PLACE]);
    case API_STEP_LOSE: /* one switch, and ranks that need it: not all on one host */
        return is_switch_place(s[API_PLACE]) && s[API_PLACE] <= API_LOSSY && s[API_RANKS] > 1 &&
               s[API_A_HOST] < s[API_RANKS];
    case API_STEP_LAUNCHES: /* at one place: at two, each launch may find itself first at one of them */
        return s[API_PLACE] == API_HOST || s[API_PLACE] == API_SWITCH || s[API_PLACE] == API_SHARDS ||
               s[API_PLACE] == API_LOSSY || s[API_PLACE] == API_WITH;
    case API_STEP_EXIT:
    case API_STEP_DIE:
    case API_STEP_HALFWAY:
        return s[API_RANKS] > 1;
    default:
        return s[API_PLACE] != API_NOWHERE;
    }
}

#define FIELD(name) (1U << API_##name)
#define CALL_FIELDS                                                                                                  \
    (FIELD(COMM) | FIELD(COLLECTIVE) | FIELD(TYPE) | FIELD(REDUCTION) | FIELD(COUNT) | FIELD(ROOT) | FIELD(UNEVEN) | \
     FIELD(HOW) | FIELD(IN_PLACE) | FIELD(ALIGN) | FIELD(SHARED) | FIELD(SPECIAL) | FIELD(SALT) | FIELD(TIMES))

/* Fields that a step has; the others say nothing. */
static void clear_fields(struct api_step *step)
{
    static const uint32_t uses[API_STEP_KINDS] = {
        [API_STEP_CALL] = CALL_FIELDS,
        [API_STEP_GROUP] = CALL_FIELDS & ~(FIELD(COLLECTIVE) | FIELD(TYPE) | FIELD(REDUCTION) | FIELD(ROOT)),
        [API_STEP_WAIT] = FIELD(COMM),
        [API_STEP_INVALID] = FIELD(COMM) | FIELD(MODE) | FIELD(RANK),
        [API_STEP_SPLIT] = FIELD(COMM) | FIELD(MODE) | FIELD(SALT) | FIELD(RANK) | FIELD(IN_PLACE),
        [API_STEP_SUBSET] = FIELD(COMM) | FIELD(MODE) | FIELD(SALT),
        [API_STEP_CLOSE] = FIELD(COMM),
        [API_STEP_FORK] = FIELD(RANK) | FIELD(MODE),
        [API_STEP_RESTART] = FIELD(MODE),
        [API_STEP_THREADS] = CALL_FIELDS | FIELD(MODE),
        [API_STEP_ASK] = FIELD(COMM),
        [API_STEP_LAUNCHES] = CALL_FIELDS & ~FIELD(COMM),
        [API_STEP_DIFFER] = CALL_FIELDS | FIELD(RANK) | FIELD(MODE),
        [API_STEP_DIFFER_SPLIT] = FIELD(COMM) | FIELD(RANK) | FIELD(MODE),
        [API_STEP_ABORT] = FIELD(COMM) | FIELD(RANK) | FIELD(MODE) | FIELD(SALT),
        [API_STEP_LEAVE] = FIELD(COMM) | FIELD(RANK) | FIELD(MODE) | FIELD(SALT),
        [API_STEP_DIE] = FIELD(RANK) | FIELD(SALT),
        [API_STEP_LATE] = FIELD(COMM) | FIELD(RANK),
        [API_STEP_LOSE] = CALL_FIELDS | FIELD(RANK) | FIELD(MODE),
        [API_STEP_HALFWAY] = CALL_FIELDS | FIELD(MODE),
        [API_STEP_EXIT] = FIELD(RANK) | FIELD(SALT),
    };
    for (int i = 0; i < API_FIELDS; i++) {
        if ((uses[step->kind] >> i & 1) == 0) {
            step->field[i] = api_field_default((enum api_field)i);
        }
    }
}

void api_settle(struct api_case *c)
{
    uint32_t kept = 0, comms = 1;
    bool has_ended = false;
    settle_settings(c);
    for (uint32_t i = 0; i < c->steps; i++) {
        struct api_step step = c->step[i];
        bool makes = step.kind == API_STEP_SPLIT || step.kind == API_STEP_SUBSET || step.kind == API_STEP_HALFWAY;
        if (!is_permitted(c, &step) || has_ended || (makes && comms == API_COMMS_MAX)) {
            continue;
        }
        comms += makes;
        has_ended = step.kind >= API_STEP_DIFFER;
        if (step.kind == API_STEP_DIE || step.kind == API_STEP_EXIT) {
            c->setting[API_PROCESSES] = 1;
        }
        clear_fields(&step);
        c->step[kept++] = step;
    }
    c->steps = kept;
}
