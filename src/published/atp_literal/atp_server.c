/* SPDX-License-Identifier: Apache-2.0 */
/* atp_server.c: the published server (ParameterServer.cc of the released code), line by line in merge() and answer().
 * The server has one tensor at a time. A packet of another tensor starts that tensor if the present one is complete;
 * otherwise the packet counts for the present one. Read next: protocol/switch.c and switch_combined.c, a correct
 * server. */
#include <string.h>

#include "core/assert.h"
#include "published/atp_literal/atp_literal.h"
#include "published/rule.h"

/* A fragment of the tensor. */
struct entry {
    uint64_t bitmap; /* parts received */
    uint64_t lane;   /* ours: the parts' lanes, added like values */
    uint16_t parts;  /* ours: parts with payload */
    uint8_t is_float;
    uint8_t is_done;
    uint8_t unused[12];
};

_Static_assert(sizeof(struct entry) == 32, "no holes");

/* The server. A queued answer is a copy of the answered packet; its payload is stored separately. */
struct server {
    struct trib_switch_config config;
    struct trib_published_marks marks;
    uint64_t key;           /* key of the tensor; UINT64_MAX: none yet */
    uint32_t length, done;  /* fragments of the tensor; complete ones */
    uint32_t head, waiting; /* of the ring of answers */
    uint32_t room;          /* fragments with memory */
    uint32_t unused;
    size_t entries_at, values_at, answers_at, payloads_at, counters_at;
};

#define ANSWERS 8U

static void *at(const struct server *s, size_t offset)
{
    return (char *)(uintptr_t)s + offset;
}

static struct trib_counters *counters_of(const struct server *s)
{
    return at(s, s->counters_at);
}

static struct entry *entry_at(const struct server *s, const struct trib_packet *packet)
{
    return (struct entry *)at(s, s->entries_at) + (packet->window_cap - 1);
}

static void *value_at(const struct server *s, const struct trib_packet *packet)
{
    return (char *)at(s, s->values_at) + (size_t)(packet->window_cap - 1) * s->config.session.payload;
}

/* ---- memory ---- */

static size_t lay_out(struct server *s, const struct trib_switch_config *config)
{
    size_t end = (sizeof *s + 63) & ~(size_t)63;

    s->room = TRIB_ATP_TENSOR * config->session.slots;
    s->entries_at = trib_node_place(&end, s->room * sizeof(struct entry));
    s->values_at = trib_node_place(&end, (size_t)s->room * config->session.payload);
    s->answers_at = trib_node_place(&end, ANSWERS * sizeof(struct trib_packet));
    s->payloads_at = trib_node_place(&end, (size_t)ANSWERS * config->session.payload);
    s->counters_at = trib_node_place(&end, sizeof(struct trib_counters));
    return end;
}

static size_t literal_size(const struct trib_switch_config *config)
{
    struct server scratch;

    return lay_out(&scratch, config);
}

static void literal_init(void *node, const struct trib_switch_config *config)
{
    struct server *s = node;

    TRIB_ASSERT(config->children >= 1 && config->children < TRIB_CHILDREN_MAX && !config->has_parent);
    if (!config->is_zeroed) {
        memset(s, 0, literal_size(config));
    }
    (void)lay_out(s, config);
    s->config = *config;
    s->key = UINT64_MAX;
    trib_published_init(&s->marks, config);
}

static size_t literal_state_size(const void *node)
{
    return ((const struct server *)node)->counters_at;
}

/* ---- the rule ---- */

/* Switches to the packet's tensor, unless the present tensor is incomplete. */
static void choose_tensor(struct server *s, const struct trib_packet *packet)
{
    uint64_t key = trib_atp_tensor_key(packet);
    bool is_over = s->key == UINT64_MAX || s->done == s->length;

    if (key == s->key || !is_over) {
        return;
    }
    s->key = key;
    s->length = packet->last_rank;
    s->done = 0;
    memset(at(s, s->entries_at), 0, s->answers_at - s->entries_at);
}

static bool is_saturated(const struct trib_packet *packet)
{
    for (size_t i = 0; packet->type == TRIB_INT32 && i < packet->payload_len / sizeof(int32_t); i++) {
        int32_t value;
        memcpy(&value, (const char *)packet->payload + i * sizeof value, sizeof value);
        if (value == INT32_MAX || value == INT32_MIN) {
            return true;
        }
    }
    return false;
}

/* Discards the integers of a fragment; all parts must be sent again. */
static void make_float(const struct server *s, const struct trib_packet *packet)
{
    struct entry *e = entry_at(s, packet);

    if (e->is_float == 0) {
        memset(value_at(s, packet), 0, s->config.session.payload);
        *e = (struct entry){.is_float = 1, .is_done = e->is_done};
    }
}

static void add_floats(float *sum, const struct trib_packet *packet)
{
    for (size_t i = 0; i < packet->payload_len / sizeof(int32_t); i++) {
        int32_t value;
        memcpy(&value, (const char *)packet->payload + i * sizeof value, sizeof value);
        sum[i] += (float)value;
    }
}

static void add(const struct server *s, struct entry *e, const struct trib_packet *packet)
{
    void *value = value_at(s, packet);

    if (e->is_float != 0) {
        add_floats(value, packet);
    } else if (e->parts == 0) {
        memcpy(value, packet->payload, packet->payload_len);
    } else {
        trib_row_add(s->config.kernels, (enum trib_type)packet->type, (enum trib_reduction)packet->reduction, value,
                     packet->payload, packet->payload_len);
    }
    e->lane += packet->lane;
    e->parts = (uint16_t)(e->parts + packet->contributors);
    e->bitmap |= packet->bitmap;
    counters_of(s)->contributions++;
}

/* A whole sum overwrites. A partial sum is added if none of its parts is present, else dropped completely. */
static enum trib_drop merge(struct server *s, const struct trib_packet *packet, bool is_float)
{
    struct entry *e = entry_at(s, packet);

    if (packet->bitmap == s->marks.all && !is_float) {
        *e = (struct entry){.is_done = e->is_done};
        add(s, e, packet);
        return TRIB_DROP_NONE;
    }
    if ((e->is_float != 0) != is_float) {
        return TRIB_DROP_SHAPE;
    }
    if ((e->bitmap & packet->bitmap) != 0) {
        return (packet->bitmap & ~e->bitmap) != 0 ? TRIB_DROP_OVERLAP : TRIB_DROP_DUPLICATE;
    }
    add(s, e, packet);
    return TRIB_DROP_NONE;
}

static uint32_t swap(uint32_t value)
{
    return value << 24 | (value & 0xff00U) << 8 | (value >> 8 & 0xff00U) | value >> 24;
}

/* Writes a sum of floats as integers, the form of the answer. */
static void write_floats(const float *sum, uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = (double)sum[i];
        words[i] = (uint32_t)(value >= INT32_MAX ? INT32_MAX : value <= INT32_MIN ? INT32_MIN : (int32_t)value);
    }
}

/* Writes the sum into the answer. Integers change their byte order in the stored sum, and again at the worker: the
 * first answer is right. */
static void write_payload(const struct server *s, const struct trib_packet *packet, void *payload)
{
    uint32_t words[TRIB_PAYLOAD_MAX / sizeof(uint32_t)];
    void *sum = value_at(s, packet);
    size_t count = packet->payload_len / sizeof words[0];

    if (entry_at(s, packet)->is_float != 0) {
        write_floats(sum, words, count);
    } else {
        memcpy(words, sum, packet->payload_len);
        for (size_t i = 0; i < count; i++) {
            words[i] = swap(words[i]);
        }
        memcpy(sum, words, packet->payload_len); /* htonl() */
        for (size_t i = 0; i < count; i++) {
            words[i] = swap(words[i]); /* the worker's ntohl() */
        }
    }
    memcpy(payload, words, packet->payload_len);
}

static void answer(struct server *s, const struct trib_packet *packet, bool asks_floats)
{
    uint32_t place = (s->head + s->waiting) % ANSWERS;
    struct trib_packet *answer = (struct trib_packet *)at(s, s->answers_at) + place;
    const struct entry *e = entry_at(s, packet);
    char *payload = (char *)at(s, s->payloads_at) + (size_t)place * s->config.session.payload;

    if (s->waiting == ANSWERS) {
        return; /* as if lost */
    }
    s->waiting++;
    *answer = *packet;
    answer->kind = TRIB_RESULT;
    answer->flags =
        (uint16_t)((packet->flags & (TRIB_FLAG_ECN | TRIB_FLAG_RESEND)) | (asks_floats ? TRIB_FLAG_OVERFLOW : 0));
    answer->mark = s->marks.communicator_mark < packet->sequence ? s->marks.communicator_mark : packet->sequence;
    answer->bitmap = packet->flags & TRIB_FLAG_ECN ? s->marks.all : 0;
    answer->boot = s->config.boot;
    answer->lane = e->lane;
    answer->contributors = e->parts;
    answer->payload = packet->payload_len != 0 ? payload : NULL;
    if (packet->payload_len != 0 && !asks_floats) {
        write_payload(s, packet, payload);
    }
}

/* ---- receive ---- */

static enum trib_drop take(struct server *s, const struct trib_packet *packet)
{
    bool is_resend = (packet->flags & TRIB_FLAG_RESEND) != 0;

    if (packet->communicator != s->config.session.communicator || (packet->bitmap & ~s->marks.all) != 0) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->kind != TRIB_CONTRIBUTION) {
        return TRIB_DROP_KIND;
    }
    if (!trib_atp_can_add(packet)) {
        return TRIB_DROP_SHAPE;
    }
    choose_tensor(s, packet);
    /* The released code writes past its memory here. */
    if (packet->window_cap == 0 || packet->window_cap > s->room || packet->payload_len > s->config.session.payload) {
        return TRIB_DROP_WINDOW;
    }
    struct entry *e = entry_at(s, packet);
    bool is_float = (packet->flags & TRIB_FLAG_OVERFLOW) != 0;
    bool is_overflow = is_float || is_saturated(packet);
    if (is_overflow) {
        make_float(s, packet);
    }
    if (is_resend ? !is_overflow && e->is_float != 0 : is_overflow) {
        answer(s, packet, true);
        return TRIB_DROP_NONE;
    }
    enum trib_drop drop = merge(s, packet, is_overflow);
    if (e->bitmap == s->marks.all) {
        counters_of(s)->results += e->is_done == 0;
        counters_of(s)->results_repeated += e->is_done != 0;
        s->done += e->is_done == 0;
        e->is_done = 1;
        answer(s, packet, false);
    }
    return drop;
}

static enum trib_drop literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                      uint64_t now_ns)
{
    struct server *s = node;
    enum trib_drop drop = from.kind == TRIB_PLACE_CHILDREN ? take(s, packet) : TRIB_DROP_SOURCE;

    (void)now_ns;
    counters_of(s)->dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

/* ---- sending ---- */

static bool literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct server *s = node;

    (void)now_ns;
    if (s->waiting == 0) {
        return false;
    }
    *packet = ((const struct trib_packet *)at(s, s->answers_at))[s->head];
    *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = s->marks.all};
    s->head = (s->head + 1) % ANSWERS;
    s->waiting--;
    return true;
}

/* ---- queries of the control plane ---- */

static void literal_join(void *node, uint32_t child, uint64_t mark)
{
    struct server *s = node;

    trib_published_join(&s->marks, counters_of(s), child, mark);
}

static uint64_t literal_communicator_mark(const void *node)
{
    return ((const struct server *)node)->marks.communicator_mark;
}

/* Fragments with some parts, but not all. */
static uint32_t literal_slots_held(const void *node)
{
    const struct server *s = node;
    uint32_t held = 0;

    for (uint32_t i = 0; i < s->room; i++) {
        const struct entry *e = (const struct entry *)at(s, s->entries_at) + i;
        held += e->bitmap != 0 && e->bitmap != s->marks.all;
    }
    return held;
}

static uint64_t literal_missing_on(const void *node, uint64_t sequence)
{
    const struct server *s = node;
    uint64_t index = sequence - s->key;

    return s->key != UINT64_MAX && index < s->length && index < s->room
               ? s->marks.all & ~((const struct entry *)at(s, s->entries_at))[index].bitmap
               : 0;
}

static uint64_t literal_missing(const void *node, uint64_t *sequence)
{
    const struct server *s = node;

    for (*sequence = s->key; s->key != UINT64_MAX && *sequence < s->key + s->length; ++*sequence) {
        uint64_t missing = literal_missing_on(node, *sequence);
        if (missing != 0 && missing != s->marks.all) {
            return missing;
        }
    }
    *sequence = 0;
    return 0;
}

static const struct trib_counters *literal_counters(const void *node)
{
    return counters_of(node);
}

const struct trib_switch_verbs trib_atp_literal_server_verbs = {
    .node = {.state_size = literal_state_size,
             .receive = literal_receive,
             .next_packet = literal_next_packet,
             .next_event = trib_published_next_event,
             .next_timeout = trib_published_next_timeout,
             .on_timeout = trib_published_on_timeout,
             .communicator_mark = literal_communicator_mark,
             .idle = trib_published_idle,
             .counters = literal_counters},
    .size = literal_size,
    .init = literal_init,
    .join = literal_join,
    .learn_mark = trib_published_learn_mark,
    .slots_held = literal_slots_held,
    .missing = literal_missing,
    .missing_on = literal_missing_on,
};
