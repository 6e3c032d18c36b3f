/* SPDX-License-Identifier: Apache-2.0 */
/* flow.c: the two halves of a flow; see flow.h for the rules. The payload of a FLOW is its user's business.
 *
 * What an ACK may do to a sender, by the state of an entry:
 *
 *   state   | named as come        | named as lacking, later ones have come | timeout | next
 *   SENT    | ACKED                | LOST, unless it was sent again          | LOST    | -
 *   LOST    | ACKED                | -                                       | LOST    | sent again -> SENT
 *   ACKED   | -                    | - (an old ACK)                          | -       | -
 *
 * The lowest moves over ACKED entries; an entry below it is free for another sequence.
 * Read next: schemes/ring/ring.h, a user. */
#include "core/flow.h"

#include <string.h>

#include "core/assert.h"
#include "core/node.h"

#define WORD 64

_Static_assert(sizeof(struct trib_flow_aside) % sizeof(uint64_t) == 0, "times follow it");

static bool is_own(const struct trib_flow_id *id, const struct trib_packet *packet)
{
    return packet->communicator == id->communicator;
}

static void begin(const struct trib_flow_id *id, enum trib_kind kind, uint64_t sequence, struct trib_packet *packet)
{
    *packet = (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = sequence,
        .communicator = id->communicator,
        .generation = id->generation,
        .boot = id->boot,
        .node = id->node,
        .last_rank = UINT16_MAX,
    };
}

/* ---- sender ---- */

/* Fragments find their places by a mask, as divisions are dear. */
static uint32_t room_for(uint32_t window)
{
    uint32_t room = sizeof(uint64_t);

    while (room < window) {
        room *= 2;
    }
    TRIB_ASSERT((room & (room - 1)) == 0); /* places are found by a mask */
    return room;
}

size_t trib_flow_plain_size(uint32_t window)
{
    return sizeof(struct trib_flow_sender) + room_for(window);
}

size_t trib_flow_sender_size(uint32_t window)
{
    return trib_flow_plain_size(window) + room_for(window) * sizeof(uint64_t);
}

size_t trib_flow_aside_size(uint32_t window)
{
    return sizeof(struct trib_flow_aside) + room_for(window) * sizeof(uint64_t);
}

void trib_flow_sender_init(struct trib_flow_sender *s, void *aside, const struct trib_flow_config *config)
{
    TRIB_ASSERT(config->window >= 1 && config->window <= TRIB_FLOW_WINDOW_MAX);
    TRIB_ASSERT((uintptr_t)s % sizeof(uint64_t) == 0 && (uintptr_t)aside % sizeof(uint64_t) == 0);
    memset(s, 0, config->is_plain ? trib_flow_plain_size(config->window) : trib_flow_sender_size(config->window));
    memset(aside, 0, trib_flow_aside_size(config->window));
    s->id = config->id;
    s->limit = config->limit;
    s->window = config->window;
    s->room = room_for(config->window);
    s->is_plain = config->is_plain;
    s->aside_at = (char *)aside - (char *)s;
    trib_flow_sender_aside(s)->loss.first_ns = config->rto_first_ns;
    trib_flow_sender_aside(s)->loss.min_ns = config->rto_min_ns;
    trib_congestion_window_init(&s->congestion, config->policy, config->window);
}

static uint8_t *fragment_of(const struct trib_flow_sender *s, uint64_t sequence)
{
    return (uint8_t *)(uintptr_t)(s + 1) + (sequence & (s->room - 1));
}

static enum trib_flow_state state_of(uint8_t fragment)
{
    return (enum trib_flow_state)(fragment & TRIB_FLOW_STATE);
}

static void set_state(uint8_t *fragment, enum trib_flow_state state)
{
    *fragment = (uint8_t)((*fragment & ~(uint32_t)TRIB_FLOW_STATE) | state);
}

static uint64_t *labels(const struct trib_flow_sender *s)
{
    return (uint64_t *)(void *)((char *)(uintptr_t)(s + 1) + s->room);
}

static uint64_t label_of(const struct trib_flow_sender *s, uint64_t sequence)
{
    return s->is_plain ? sequence : labels(s)[sequence & (s->room - 1)];
}

static uint64_t *sent_ns(const struct trib_flow_sender *s, uint64_t sequence)
{
    return (uint64_t *)(void *)(trib_flow_sender_aside(s) + 1) + (sequence & (s->room - 1));
}

static void settle(struct trib_flow_sender *s, uint8_t *fragment)
{
    TRIB_ASSERT(state_of(*fragment) == TRIB_FLOW_SENT || state_of(*fragment) == TRIB_FLOW_LOST);
    TRIB_ASSERT(s->in_flight + s->lost > 0);
    s->in_flight -= state_of(*fragment) == TRIB_FLOW_SENT;
    s->lost -= state_of(*fragment) == TRIB_FLOW_LOST;
    set_state(fragment, TRIB_FLOW_ACKED);
}

/* Over all that is acknowledged. */
static void move_lowest(struct trib_flow_sender *s, uint64_t now_ns)
{
    uint64_t before = s->lowest;

    while (s->lowest < s->next && state_of(*fragment_of(s, s->lowest)) == TRIB_FLOW_ACKED) {
        *fragment_of(s, s->lowest) = TRIB_FLOW_FREE;
        if (!s->is_plain) {
            labels(s)[s->lowest & (s->room - 1)] = 0;
        }
        s->lowest++;
    }
    TRIB_ASSERT(s->in_flight + s->lost <= s->next - s->lowest);
    if (s->lowest != before) {
        trib_flow_sender_aside(s)->since_ns = now_ns;
    }
}

void trib_flow_settle(struct trib_flow_sender *s, uint64_t sequence, uint64_t now_ns)
{
    TRIB_ASSERT(sequence >= s->lowest && sequence < s->next);
    uint8_t *fragment = fragment_of(s, sequence);
    if (state_of(*fragment) != TRIB_FLOW_ACKED) {
        trib_flow_sender_aside(s)->counters.settled++;
        settle(s, fragment);
        move_lowest(s, now_ns);
    }
}

/* Effects of one ACK. */
struct news {
    uint64_t now_ns;
    uint64_t sample; /* the highest sequence that makes one, + 1; 0: none */
    uint32_t acked;
    uint32_t fits; /* was under way before */
    void (*tell)(void *user, uint64_t label);
    void *user;
};

static void acknowledge(struct trib_flow_sender *s, uint64_t sequence, struct news *news)
{
    uint8_t *fragment = fragment_of(s, sequence);

    if (state_of(*fragment) == TRIB_FLOW_ACKED) {
        return;
    }
    if ((*fragment & ~TRIB_FLOW_TIMED_OUT) == TRIB_FLOW_SENT && sequence >= news->sample) {
        news->sample = sequence + 1; /* it was sent once */
    }
    s->highest = sequence >= s->highest ? sequence + 1 : s->highest;
    TRIB_ASSERT(s->highest <= s->next); /* an ACK of an unsent packet is not sound */
    news->acked++;
    settle(s, fragment);
    if (news->tell != NULL) {
        news->tell(news->user, label_of(s, sequence));
    }
}

/* True if the ACK names only sent packets, and agrees with itself. */
static bool is_sound(const struct trib_flow_sender *s, const struct trib_packet *packet)
{
    uint64_t base = packet->sequence;

    if (base % WORD != 0 || packet->mark > s->next) {
        return false;
    }
    if (packet->mark >= base && packet->mark - base < WORD && (packet->bitmap >> (packet->mark - base) & 1) != 0) {
        return false;
    }
    uint64_t sent = s->next <= base ? 0 : s->next - base;
    return sent >= WORD || packet->bitmap >> sent == 0;
}

/* It lacks, though a later one has come. */
static void look_for_loss(struct trib_flow_sender *s, uint64_t sequence)
{
    uint8_t *fragment = fragment_of(s, sequence);

    if ((*fragment & ~TRIB_FLOW_TIMED_OUT) != TRIB_FLOW_SENT || s->highest < sequence + 1 + TRIB_FLOW_REORDER) {
        return;
    }
    TRIB_ASSERT(s->in_flight > 0);
    set_state(fragment, TRIB_FLOW_LOST);
    s->in_flight--;
    s->lost++;
    trib_flow_sender_aside(s)->counters.cut_lost += trib_congestion_lost(&s->congestion, sequence, s->next);
}

static void take_lacking(struct trib_flow_sender *s, const struct trib_packet *packet)
{
    uint64_t base = packet->sequence;
    uint64_t end = s->next - base < WORD ? s->next : base + WORD;

    if (packet->mark < s->next && packet->mark >= s->lowest) {
        look_for_loss(s, packet->mark);
    }
    for (uint64_t sequence = base > s->lowest ? base : s->lowest; base < s->next && sequence < end; sequence++) {
        if (sequence > packet->mark && (packet->bitmap >> (sequence - base) & 1) == 0) {
            look_for_loss(s, sequence);
        }
    }
}

static void take_come(struct trib_flow_sender *s, const struct trib_packet *packet, struct news *news)
{
    for (uint64_t sequence = s->lowest; sequence < packet->mark; sequence++) {
        acknowledge(s, sequence, news);
    }
    for (uint64_t bits = packet->bitmap; bits != 0; bits &= bits - 1) {
        uint64_t sequence = packet->sequence + (uint64_t)__builtin_ctzll(bits);
        if (sequence >= s->lowest) {
            acknowledge(s, sequence, news);
        }
    }
}

static void tell_congestion(struct trib_flow_sender *s, const struct trib_packet *packet, const struct news *news)
{
    struct trib_congestion_news facts = {
        .lowest = s->lowest,
        .next = s->next,
        .acked = news->acked,
        .marked = (uint16_t)(packet->window_cap - s->echoed),
        .is_full = news->fits >= trib_congestion_fragments(&s->congestion),
    };

    if (facts.marked > INT16_MAX) {
        facts.marked = 0; /* an old ACK */
    } else {
        s->echoed = packet->window_cap;
    }
    if (facts.acked != 0 || facts.marked != 0) {
        trib_flow_sender_aside(s)->counters.cut_marked += trib_congestion_acked(&s->congestion, &facts);
    }
}

enum trib_drop trib_flow_sender_receive(struct trib_flow_sender *s, const struct trib_packet *packet, uint64_t now_ns,
                                        void (*acked)(void *user, uint64_t label), void *user)
{
    struct trib_flow_aside *aside = trib_flow_sender_aside(s);
    struct news news = {.now_ns = now_ns, .fits = s->in_flight + s->lost, .tell = acked, .user = user};

    if (packet->kind != TRIB_FLOW_ACK || !is_own(&s->id, packet)) {
        return packet->kind != TRIB_FLOW_ACK ? TRIB_DROP_KIND : TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->id.generation) {
        return TRIB_DROP_GENERATION;
    }
    if (!is_sound(s, packet)) {
        return TRIB_DROP_MARK;
    }
    take_come(s, packet, &news);
    if (news.sample != 0) {
        trib_loss_sampled(&aside->loss, now_ns - *sent_ns(s, news.sample - 1));
    }
    bool is_raised = packet->lane > s->limit;
    if (is_raised) {
        s->limit = packet->lane;
        s->is_blocked = 0;
    }
    if (news.acked != 0 || is_raised) {
        aside->backoff = 0;
    }
    take_lacking(s, packet);
    move_lowest(s, now_ns);
    tell_congestion(s, packet, &news);
    bool is_news = news.acked != 0 || is_raised;
    aside->counters.acks_taken += is_news;
    aside->counters.acks_old += !is_news;
    return TRIB_DROP_NONE;
}

static bool has_room(const struct trib_flow_sender *s)
{
    return s->in_flight < trib_congestion_fragments(&s->congestion);
}

static void transmit(struct trib_flow_sender *s, uint64_t sequence, uint64_t now_ns, struct trib_packet *packet)
{
    begin(&s->id, TRIB_FLOW, sequence, packet);
    packet->bitmap = label_of(s, sequence);
    if (s->in_flight == 0 || sequence == s->lowest) {
        trib_flow_sender_aside(s)->since_ns = now_ns;
    }
    set_state(fragment_of(s, sequence), TRIB_FLOW_SENT);
    s->in_flight++;
    *sent_ns(s, sequence) = now_ns;
}

static void send_again(struct trib_flow_sender *s, uint64_t now_ns, struct trib_packet *packet)
{
    struct trib_flow_counters *counters = &trib_flow_sender_aside(s)->counters;
    uint64_t sequence = s->lowest;

    TRIB_ASSERT(s->lost > 0);
    while (state_of(*fragment_of(s, sequence)) != TRIB_FLOW_LOST) {
        sequence++;
    }
    TRIB_ASSERT(sequence < s->next);
    uint8_t *fragment = fragment_of(s, sequence);
    bool timed_out = (*fragment & TRIB_FLOW_TIMED_OUT) != 0;
    counters->resent_timeout += timed_out;
    counters->resent_order += !timed_out;
    *fragment = TRIB_FLOW_LOST | TRIB_FLOW_AGAIN;
    s->lost--;
    transmit(s, sequence, now_ns, packet);
    packet->flags = TRIB_FLAG_RESEND;
}

bool trib_flow_sender_next(struct trib_flow_sender *s, uint64_t now_ns, struct trib_packet *packet)
{
    if (s->lost != 0 && has_room(s)) {
        send_again(s, now_ns, packet);
        return true;
    }
    if (s->probe == 0) {
        return false;
    }
    s->probe = 0;
    trib_flow_sender_aside(s)->counters.probes++;
    begin(&s->id, TRIB_FLOW, s->next - (s->next != 0), packet);
    packet->flags = TRIB_FLAG_UNWANTED;
    return true;
}

bool trib_flow_admits(struct trib_flow_sender *s, uint64_t label, uint64_t now_ns)
{
    if (label >= s->limit) {
        if (!s->is_blocked && s->in_flight == 0) {
            trib_flow_sender_aside(s)->since_ns = now_ns;
        }
        s->is_blocked = 1;
        return false;
    }
    return s->lost == 0 && has_room(s) && s->next - s->lowest < s->window;
}

uint64_t trib_flow_send(struct trib_flow_sender *s, uint64_t label, uint64_t now_ns, struct trib_packet *packet)
{
    uint64_t sequence = s->next;

    TRIB_ASSERT(sequence - s->lowest < s->window && sequence <= TRIB_SEQUENCE_MAX);
    if (!s->is_plain) {
        labels(s)[sequence & (s->room - 1)] = label;
    }
    TRIB_ASSERT(!s->is_plain || label == sequence);
    *fragment_of(s, sequence) = TRIB_FLOW_FREE;
    transmit(s, sequence, now_ns, packet);
    s->next++;
    s->is_blocked = s->probe = 0;
    trib_flow_sender_aside(s)->counters.sent++;
    return sequence;
}

void trib_flow_limit(struct trib_flow_sender *s, uint32_t fragments)
{
    trib_congestion_limit(&s->congestion, fragments == 0 ? 1 : fragments < s->window ? fragments : s->window);
}

uint64_t trib_flow_next_timeout(const struct trib_flow_sender *s)
{
    const struct trib_flow_aside *aside = trib_flow_sender_aside(s);

    if (s->in_flight == 0 && !s->is_blocked) {
        return TRIB_NEVER;
    }
    return aside->since_ns + trib_loss_timeout(&aside->loss, aside->backoff);
}

void trib_flow_on_timeout(struct trib_flow_sender *s, uint64_t now_ns)
{
    struct trib_flow_aside *aside = trib_flow_sender_aside(s);

    if (trib_flow_next_timeout(s) > now_ns) {
        return;
    }
    aside->backoff += aside->backoff < UINT8_MAX;
    aside->since_ns = now_ns;
    if (s->in_flight == 0) {
        s->probe = 1;
        return;
    }
    aside->counters.timeouts++;
    /* Except packets sent a moment ago, by order or after the last timeout: its answer may be on its way (I4). */
    uint64_t half = trib_loss_timeout(&aside->loss, 0) / 2;
    for (uint64_t sequence = s->lowest; sequence < s->next; sequence++) {
        uint8_t *fragment = fragment_of(s, sequence);
        if (state_of(*fragment) == TRIB_FLOW_SENT && now_ns - *sent_ns(s, sequence) >= half) {
            set_state(fragment, TRIB_FLOW_LOST);
            *fragment |= TRIB_FLOW_TIMED_OUT;
            s->in_flight--;
            s->lost++;
        }
    }
    trib_congestion_timed_out(&s->congestion, s->next);
}

/* ---- receiver ---- */

/* Enough for a window that begins anywhere in a word; a power of 2, as a sender's room. */
static uint32_t words_for(uint32_t window)
{
    uint32_t words = 1;

    while (words < (window + 2 * WORD - 2) / WORD) {
        words *= 2;
    }
    TRIB_ASSERT(words <= WORD); /* news has a bit for each */
    return words;
}

size_t trib_flow_receiver_size(uint32_t window)
{
    return sizeof(struct trib_flow_receiver) + words_for(window) * sizeof(uint64_t);
}

void trib_flow_receiver_init(struct trib_flow_receiver *r, const struct trib_flow_config *config)
{
    TRIB_ASSERT(config->window >= 1 && config->window <= TRIB_FLOW_WINDOW_MAX);
    TRIB_ASSERT((uintptr_t)r % sizeof(uint64_t) == 0);
    memset(r, 0, trib_flow_receiver_size(config->window));
    r->id = config->id;
    r->window = config->window;
    r->words = words_for(config->window);
}

static uint64_t *word_of(const struct trib_flow_receiver *r, uint64_t sequence)
{
    return (uint64_t *)(uintptr_t)(r + 1) + (sequence / WORD & (r->words - 1));
}

static uint64_t news_bit(const struct trib_flow_receiver *r, uint64_t sequence)
{
    return UINT64_C(1) << (sequence / WORD & (r->words - 1));
}

enum trib_drop trib_flow_receiver_receive(struct trib_flow_receiver *r, const struct trib_packet *packet,
                                          struct trib_flow_counters *counters)
{
    if (packet->kind != TRIB_FLOW || !is_own(&r->id, packet)) {
        return packet->kind != TRIB_FLOW ? TRIB_DROP_KIND : TRIB_DROP_SOURCE;
    }
    if (packet->generation != r->id.generation) {
        return TRIB_DROP_GENERATION;
    }
    if (packet->sequence >= r->mark + r->window) {
        return TRIB_DROP_WINDOW;
    }
    bool is_marked = (packet->flags & TRIB_FLAG_ECN) != 0;
    r->marked = (uint16_t)(r->marked + is_marked);
    counters->marked += is_marked;
    if ((packet->flags & TRIB_FLAG_UNWANTED) != 0) {
        counters->probed++;
        r->is_due = 1;
        return TRIB_DROP_REPEAT;
    }
    if (packet->sequence < r->mark || (*word_of(r, packet->sequence) >> packet->sequence % WORD & 1) != 0) {
        counters->repeated++;
        r->is_due = 1;
        return TRIB_DROP_DUPLICATE;
    }
    return TRIB_DROP_NONE;
}

void trib_flow_take(struct trib_flow_receiver *r, uint64_t sequence, struct trib_flow_counters *counters)
{
    TRIB_ASSERT(sequence >= r->mark && sequence - r->mark < r->window);
    TRIB_ASSERT((*word_of(r, sequence) >> sequence % WORD & 1) == 0); /* receive() has dropped duplicates */
    *word_of(r, sequence) |= UINT64_C(1) << sequence % WORD;
    counters->taken++;
    r->is_due = 1;
    r->news |= news_bit(r, sequence);
    /* Again also for the word before: an ACK of it may have been lost. */
    if (sequence / WORD > r->mark / WORD) {
        r->news |= news_bit(r, sequence - WORD);
    }
    while ((*word_of(r, r->mark) >> r->mark % WORD & 1) != 0) {
        r->mark++;
        if (r->mark % WORD == 0) { /* a word is done, and its place is another's */
            *word_of(r, r->mark - 1) = 0;
            r->news &= ~news_bit(r, r->mark - 1);
        }
    }
}

bool trib_flow_receiver_next(struct trib_flow_receiver *r, uint64_t limit, struct trib_packet *packet,
                             struct trib_flow_counters *counters)
{
    uint64_t base = r->mark - r->mark % WORD;

    if (!r->is_due && r->news == 0) {
        return false;
    }
    /* The lowest first, so that nothing is taken for lost that the next ACK names; that of the mark always. */
    for (uint32_t i = 0; !r->is_due && (r->news & news_bit(r, base)) == 0 && i < r->words; i++) {
        base += WORD;
    }
    r->is_due = 0;
    r->news &= ~news_bit(r, base);
    begin(&r->id, TRIB_FLOW_ACK, base, packet);
    packet->mark = r->mark;
    packet->bitmap = *word_of(r, base);
    packet->window_cap = r->marked;
    packet->lane = limit;
    counters->acks++;
    return true;
}
