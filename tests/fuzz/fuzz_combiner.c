/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_combiner.c: bytes become packets with any header, for a combiner of two communicators and for a root behind
 * combiners: both are the real ones. Packets come from single ranks and from combiners, of any sequence, mark, boot,
 * generation, list, length and type; communicators are admitted again, with other ranks and shares, and dismissed; sums
 * lie undrained.
 *
 * The numbers of a part say what the part is: the lane is the sum of the keys of its ranks under the fragment's key,
 * and the payload is a small number of that fragment times the number of ranks with payload. A lie is in the header
 * alone, so a sum or result with other numbers than its own header says was made wrongly.
 *
 * What must hold: no assertion fails; no packet names a rank that is not behind its sender; a mark that is told for a
 * rank was told by that rank, of that fragment; M at the root is not above any rank's mark; rows are never more than
 * the pool has; after the last dismissal no row is held, and none is lost.
 * Read next: protocol/combiner.h, unit/test_combiner_rows.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "core/slot.h"
#include "fuzz/fuzz.h"
#include "protocol/combiner.h"
#include "schemes/atp/atp.h"

#define STEPS_MAX 400
#define MEMBERS 2U
#define PAYLOAD_MAX 256U
#define BASES 4U
#define NEAR 24U       /* sequences from each base on */
#define UNDRAINED 100U /* more packets than a driver may leave undrained */

enum use { USE_WANTED = 1, USE_UNWANTED = 2 };

struct communicator {
    struct trib_combiner_grant grant; /* behind 0: dismissed */
    uint16_t generation;
};

static struct script {
    const uint8_t *bytes;
    size_t left;
    struct trib_combiner_config config;
    struct trib_switch_config root_config;
    struct communicator communicators[MEMBERS];
    struct trib_packet last; /* most others are of the same fragment */
    void *combiner, *root;
    uint64_t marks[MEMBERS][BASES * NEAR][TRIB_CHILDREN_MAX]; /* largest that was told, + 1, of the fragment */
    uint8_t uses[MEMBERS][BASES * NEAR][TRIB_CHILDREN_MAX];   /* for the result, that were told: USE_* */
    uint64_t root_marks[TRIB_CHILDREN_MAX];
    uint64_t now_ns;
    uint32_t undrained;
    bool is_lazy; /* sums lie undrained */
} script;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "VIOLATED %s\n", what);
        abort();
    }
}

static uint32_t next_byte(void)
{
    if (script.left == 0) {
        return 0;
    }
    script.left--;
    return *script.bytes++;
}

static void *memory_of(size_t size)
{
    void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

    must(memory != NULL, "memory");
    memset(memory, 0xa5, size);
    return memory;
}

/* ---- the numbers of a part ---- */

static uint64_t key_of(const struct trib_packet *packet, uint32_t boot)
{
    uint64_t key = trib_mix64((uint64_t)packet->communicator << 32 | packet->digest);

    key = trib_mix64(key ^ packet->sequence);
    return trib_mix64(key ^ ((uint64_t)boot << 32 | (uint64_t)packet->generation << 8 | packet->attempt));
}

static uint64_t lane_of(uint64_t key, uint64_t ranks)
{
    uint64_t lane = 0;

    for (; ranks != 0; ranks &= ranks - 1) {
        lane += trib_mix64(key + trib_lowest(ranks));
    }
    return lane;
}

/* The reductions with numbers that only tell of the number of parts: sums. */
static bool is_counted(const struct trib_packet *packet)
{
    return packet->reduction == TRIB_SUM || packet->reduction == TRIB_AVERAGE;
}

static void write_element(enum trib_type type, void *element, uint32_t number)
{
    const struct trib_value_kernels *k = trib_value_kernels();
    float single = (float)number;
    double wide = number;
    uint16_t half = 0;
    uint64_t whole = number; /* little-endian, as payloads are */

    if (type == TRIB_FLOAT32) {
        memcpy(element, &single, sizeof single);
    } else if (type == TRIB_FLOAT64) {
        memcpy(element, &wide, sizeof wide);
    } else if (type == TRIB_FLOAT16 || type == TRIB_BFLOAT16) {
        (type == TRIB_FLOAT16 ? k->narrow_f16 : k->narrow_bf16)(&half, &single, 1);
        memcpy(element, &half, sizeof half);
    } else {
        memcpy(element, &whole, type == TRIB_BYTES ? 1 : trib_type_size(type));
    }
}

static size_t write_payload(const struct trib_packet *packet, uint64_t key, uint32_t parts, uint8_t *payload)
{
    enum trib_type type = (enum trib_type)packet->type;
    size_t size = type == TRIB_BYTES ? 1 : trib_type_size(type);
    uint32_t number = is_counted(packet) ? parts * (1 + (uint32_t)(key & 1)) : 1;
    uint8_t element[8];
    size_t at = 0;

    write_element(type, element, number);
    for (; size != 0 && at + size <= packet->payload_len; at += size) {
        memcpy(payload + at, element, size);
    }
    memset(payload + at, 0x5a, packet->payload_len - at);
    return at;
}

/* A packet that left: are its numbers those of its header? */
static void check_numbers(const struct trib_packet *packet, uint32_t boot, uint64_t ranks)
{
    static uint8_t payload[TRIB_PAYLOAD_MAX];
    uint64_t key = key_of(packet, boot);
    uint32_t parts = (ranks & (ranks - 1)) != 0 ? packet->contributors : 1;

    must(packet->lane == lane_of(key, ranks), "numbers: another lane than that of the listed ranks");
    if (packet->payload_len != 0) {
        size_t whole = write_payload(packet, key, parts, payload);
        must(whole == 0 || memcmp(packet->payload, payload, whole) == 0, "numbers: another sum than that of the parts");
    }
}

/* ---- packets with any header ---- */

/* Near the beginning, M, and the end of all sequences. */
static uint64_t base_of(uint32_t which)
{
    static const uint64_t bases[BASES] = {0, 8, INT32_MAX, TRIB_SEQUENCE_MAX + 1 - NEAR};

    return bases[which % BASES];
}

static int index_of(uint64_t sequence)
{
    for (uint32_t base = BASES; base-- > 0;) {
        if (sequence >= base_of(base) && sequence < base_of(base) + NEAR) {
            return (int)(base * NEAR + (uint32_t)(sequence - base_of(base)));
        }
    }
    return -1;
}

static uint16_t choose_length(uint32_t how)
{
    static const uint16_t lengths[8] = {0, 64, 64, 128, 4, 7, PAYLOAD_MAX, PAYLOAD_MAX + 64};

    return lengths[how % 8];
}

static uint64_t choose_mark(uint64_t sequence, uint32_t how)
{
    static const int64_t offsets[16] = {0, 0, 0, 0, 0, -1, -1, -1, -2, -2, -3, -3, -8, INT32_MIN, 1, 40};
    uint64_t mark = sequence + (uint64_t)offsets[how % 16];

    return mark <= TRIB_SEQUENCE_MAX + 1 ? mark : sequence;
}

static void choose_form(struct trib_packet *packet)
{
    static const uint8_t types[8] = {TRIB_INT32,   TRIB_INT32, TRIB_FLOAT32, TRIB_BFLOAT16,
                                     TRIB_FLOAT16, TRIB_INT8,  TRIB_BYTES,   TRIB_TYPE_NONE};
    static const uint16_t flags[8] = {0,
                                      TRIB_FLAG_UNWANTED,
                                      TRIB_FLAG_ECN,
                                      TRIB_FLAG_RESEND,
                                      TRIB_FLAG_COLLISION,
                                      TRIB_FLAG_QUORUM,
                                      TRIB_FLAG_FIN | TRIB_FLAG_OVERFLOW,
                                      TRIB_FLAG_UNWANTED | TRIB_FLAG_ECN};
    uint32_t form = next_byte();
    uint32_t rest = next_byte();

    packet->type = types[form & 7];
    packet->payload_len = (form & 0xc0) == 0xc0 ? choose_length(form >> 3) : 64;
    packet->flags = (rest & 3) == 3 ? flags[rest >> 2 & 7] : 0;
    packet->reduction = (rest & 0x14) == 0x14 ? (uint8_t)((rest >> 5) % TRIB_REDUCTION_COUNT) : TRIB_SUM;
    packet->digest = 70;
    packet->exponent = (int16_t)(rest - 100);
    packet->window_cap = (uint16_t)rest;
    packet->last_rank = (uint16_t)form;
}

/* The key and form of a packet: mostly those of the one before, or with one thing changed. */
static void choose_fragment(struct trib_packet *packet, uint32_t member)
{
    uint32_t how = next_byte();
    const struct trib_packet *last = &script.last;

    *packet = *last;
    packet->communicator = member + 1;
    packet->generation = script.communicators[member].generation;
    packet->boot = 5;
    if (how >= 0xf0 || last->communicator == 0) {
        packet->sequence = base_of(how >> 3 & 3) + next_byte() % NEAR;
        choose_form(packet);
    } else if (how >= 0xe0) {
        packet->sequence = base_of(how >> 3 & 3) + (how & 7);
    } else if (how >= 0xdc) {
        choose_form(packet);
    }
    script.last = *packet;
    if (how >= 0x70 && how < 0xa0) {
        packet->digest ^= (how & 3) == 0;
        packet->boot += (how & 3) == 1;
        packet->generation = (uint16_t)(packet->generation + ((how & 3) == 2));
        packet->communicator += (how & 3) == 3;
    } else if (how >= 0x60 && how < 0x70) {
        packet->flags ^= TRIB_FLAG_UNWANTED;
    }
    packet->mark = choose_mark(packet->sequence, next_byte());
}

/* A packet of some kind. */
static void make_packet(struct trib_packet *packet, uint32_t member)
{
    static const uint8_t kinds[16] = {TRIB_CONTRIBUTION, TRIB_CONTRIBUTION, TRIB_CONTRIBUTION, TRIB_CONTRIBUTION,
                                      TRIB_CONTRIBUTION, TRIB_CONTRIBUTION, TRIB_CONTRIBUTION, TRIB_CONTRIBUTION,
                                      TRIB_CONTRIBUTION, TRIB_CONTRIBUTION, TRIB_PROBE,        TRIB_OFFER,
                                      TRIB_RESULT,       TRIB_PROBE,        TRIB_PROBE,        TRIB_FLOW};
    uint32_t kind = next_byte();
    uint32_t who = next_byte();

    choose_fragment(packet, member);
    packet->kind = kinds[kind & 15];
    packet->node = (uint16_t)((who & 0xc0) == 0xc0 ? 60 + (who & 15) : who % 6);
    packet->bitmap = (kind & 0x80) == 0 ? who & 0x3f : (kind & 0x40) != 0 ? UINT64_MAX << (who & 7) : 0;
    packet->contributors = (uint16_t)(packet->payload_len == 0 ? 0 : 1 + (kind >> 4 & 3));
    packet->contributors = (uint16_t)(packet->contributors ^ ((kind & 0xf0) == 0xf0));
    if (packet->kind != TRIB_CONTRIBUTION && packet->kind != TRIB_OFFER && packet->kind != TRIB_RESULT &&
        packet->kind != TRIB_FLOW) {
        packet->payload_len = 0;
    }
}

/* What the packet may speak for, as docs/PROTOCOL.md says it: the sender, or the child in `node`, or the list. */
static uint64_t ranks_of(const struct trib_packet *packet, uint64_t sender)
{
    bool is_one = sender != 0 && (sender & (sender - 1)) == 0;
    uint64_t named = packet->node < TRIB_CHILDREN_MAX ? UINT64_C(1) << packet->node : 0;

    if (is_one) {
        return sender;
    }
    named = packet->kind == TRIB_CONTRIBUTION && packet->bitmap != 0 ? packet->bitmap : named;
    return (named & ~sender) == 0 ? named : 0;
}

static void fill(struct trib_packet *packet, uint64_t ranks, uint8_t *payload)
{
    uint64_t key = key_of(packet, packet->boot);
    bool is_sum = (ranks & (ranks - 1)) != 0;

    packet->lane = lane_of(key, ranks);
    packet->payload = packet->payload_len != 0 ? payload : NULL;
    (void)write_payload(packet, key, is_sum ? packet->contributors : 1, payload);
}

static enum use use_of(const struct trib_packet *packet)
{
    return packet->flags & TRIB_FLAG_UNWANTED ? USE_UNWANTED : USE_WANTED;
}

static void note_marks(uint32_t member, const struct trib_packet *packet, uint64_t ranks)
{
    int index = index_of(packet->sequence);

    for (; index >= 0 && ranks != 0; ranks &= ranks - 1) {
        uint64_t *mark = &script.marks[member][index][trib_lowest(ranks)];
        *mark = packet->mark + 1 > *mark ? packet->mark + 1 : *mark;
        script.uses[member][index][trib_lowest(ranks)] |= (uint8_t)use_of(packet);
    }
}

/* ---- the root, of the first communicator ---- */

static void check_root(void)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t child = 0; child < script.root_config.children; child++) {
        lowest = script.root_marks[child] < lowest ? script.root_marks[child] : lowest;
    }
    must(trib_atp.switch_node->node.communicator_mark(script.root) <= lowest, "root: M above the mark of a rank");
    must(trib_atp.switch_node->slots_held(script.root) <= script.root_config.session.slots, "root: slots");
}

static void drain_root(void)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint64_t all = trib_all_children(script.root_config.children);

    while (trib_atp.switch_node->node.next_packet(script.root, script.now_ns, &packet, &to)) {
        must(to.kind == TRIB_PLACE_CHILDREN && to.children != 0 && (to.children & ~all) == 0, "root: to nobody");
        must(trib_packet_can_encode(&packet), "root: a packet that no header can hold");
        if (packet.kind == TRIB_RESULT) {
            must(packet.contributors <= script.root_config.children, "root: more parts than ranks");
            struct trib_packet of_all = packet;
            check_numbers(&of_all, script.root_config.boot, all);
        }
        if (script.communicators[0].grant.behind != 0) {
            trib_combiner_down(script.combiner, 0, &packet);
        }
    }
    while (trib_atp.switch_node->node.next_event(script.root, &event)) {
        must(event.kind == TRIB_EVENT_MISMATCH && event.child < script.root_config.children &&
                 event.other < script.root_config.children,
             "root: a mismatch of nobody");
    }
    check_root();
}

static void receive_at_root(const struct trib_packet *packet, uint64_t behind)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = behind};
    bool is_own = packet->communicator == 1 && packet->generation == script.root_config.session.generation &&
                  packet->boot == script.root_config.boot;

    for (uint64_t ranks = is_own ? ranks_of(packet, behind) : 0; ranks != 0; ranks &= ranks - 1) {
        uint64_t *mark = &script.root_marks[trib_lowest(ranks)];
        bool can_be = packet->mark <= packet->sequence || packet->kind == TRIB_OFFER;
        *mark = can_be && packet->mark > *mark ? packet->mark : *mark;
    }
    enum trib_drop drop = trib_atp.switch_node->node.receive(script.root, from, packet, script.now_ns);
    must(drop == TRIB_DROP_SOURCE || ranks_of(packet, behind) != 0, "root: believes a rank that is not behind");
    script.now_ns += next_byte() % 4 * UINT64_C(200000);
    drain_root();
}

/* From ranks that are behind no combiner, or from a combiner that lies. */
static void lie_to_root(void)
{
    static uint8_t payload[TRIB_PAYLOAD_MAX];
    uint64_t all = trib_all_children(script.root_config.children);
    struct trib_packet packet;
    uint64_t behind = next_byte();

    make_packet(&packet, 0);
    behind = (behind & 0x80) != 0 ? all : (behind & 0x40) != 0 ? UINT64_C(1) << behind % 6 : behind;
    behind &= all;
    uint64_t ranks = packet.kind == TRIB_OFFER ? all : ranks_of(&packet, behind);
    if (packet.kind == TRIB_OFFER) { /* the result of all, whoever has it */
        packet.contributors = (uint16_t)(packet.contributors % (script.root_config.children + 1));
        uint64_t key = key_of(&packet, packet.boot);
        packet.lane = lane_of(key, all);
        packet.payload = packet.payload_len != 0 ? payload : NULL;
        uint32_t parts = script.root_config.children > 1 ? packet.contributors : 1;
        (void)write_payload(&packet, key, parts, payload);
    } else {
        fill(&packet, ranks, payload);
    }
    receive_at_root(&packet, behind);
}

/* ---- the combiner ---- */

static void check_left(uint32_t member, const struct trib_packet *packet, uint64_t ranks)
{
    const struct communicator *c = &script.communicators[member];
    int index = index_of(packet->sequence);

    must(ranks != 0 && (ranks & ~c->grant.behind) == 0, "combiner: a rank that is not behind it");
    must(packet->node == trib_lowest(ranks), "combiner: names another rank than the first");
    must(packet->communicator == c->grant.communicator, "combiner: another communicator");
    must(trib_packet_can_encode(packet), "combiner: a packet that no header can hold");
    for (uint64_t bits = ranks; index >= 0 && bits != 0; bits &= bits - 1) {
        must(packet->mark < script.marks[member][index][trib_lowest(bits)], "combiner: a mark that no rank has told");
        must((script.uses[member][index][trib_lowest(bits)] & use_of(packet)) != 0, "combiner: another use");
    }
}

static void drain(void)
{
    struct trib_packet packet;
    uint32_t member;

    script.undrained = 0;
    while (trib_combiner_next(script.combiner, &packet, &member)) {
        must(member < MEMBERS && script.communicators[member].grant.behind != 0, "combiner: a sum of nobody");
        must(packet.kind == TRIB_CONTRIBUTION && packet.generation == script.communicators[member].grant.generation,
             "combiner: a sum of another generation");
        must(packet.contributors <= trib_count_bits(packet.bitmap), "combiner: more parts than ranks");
        must((packet.contributors != 0) == (packet.payload_len != 0), "combiner: parts without payload");
        check_left(member, &packet, packet.bitmap);
        check_numbers(&packet, packet.boot, packet.bitmap);
        if (member == 0) {
            receive_at_root(&packet, script.communicators[0].grant.behind);
        }
    }
    trib_combiner_release(script.combiner);
}

static void send_up(uint32_t member)
{
    static uint8_t payload[TRIB_PAYLOAD_MAX];
    const struct trib_combiner_grant *grant = &script.communicators[member].grant;
    uint32_t how = next_byte();
    struct trib_packet packet;

    make_packet(&packet, member);
    uint64_t sender = UINT64_C(1) << (how >> 2) % 6;
    if (how >= 0xd0) {
        sender = how >= 0xe0 ? grant->behind : how << 1;
        packet.bitmap &= (how & 4) != 0 ? sender & grant->behind : UINT64_MAX;
    }
    uint64_t ranks = ranks_of(&packet, sender & grant->behind);
    fill(&packet, ranks, payload);
    note_marks(member, &packet, ranks);
    struct trib_packet sent = packet;
    enum trib_combined verdict = trib_combiner_up(script.combiner, member, sender, &packet);
    bool is_foreign = packet.communicator != grant->communicator;
    must((verdict == TRIB_COMBINED_DROPPED) || (ranks != 0 && !is_foreign), "combiner: takes what is not behind");
    must(verdict == TRIB_COMBINED_DROPPED || verdict == TRIB_COMBINED_PASS || sent.kind == TRIB_CONTRIBUTION,
         "combiner: keeps what is no part");
    must((sent.flags & (TRIB_FLAG_RESEND | TRIB_FLAG_COLLISION)) == 0 || ranks == 0 || is_foreign ||
             verdict == TRIB_COMBINED_PASS,
         "combiner: keeps what was asked for");
    if (++script.undrained >= UNDRAINED || (!script.is_lazy && (how & 3) == 0)) {
        drain();
    }
    if (verdict == TRIB_COMBINED_PASS) {
        uint64_t named =
            packet.kind == TRIB_CONTRIBUTION && packet.bitmap != 0 ? packet.bitmap : UINT64_C(1) << packet.node;
        must(named == ranks, "combiner: passes a part in another name");
        check_left(member, &packet, named);
        must(packet.lane == sent.lane && packet.payload == sent.payload && packet.mark == sent.mark,
             "combiner: changes what it passes");
        if (member == 0 && packet.kind != TRIB_OFFER) { /* its numbers are of one rank here */
            receive_at_root(&packet, grant->behind);
        }
    }
}

static void admit(uint32_t member)
{
    struct communicator *c = &script.communicators[member];
    uint32_t how = next_byte();
    uint32_t share = next_byte();
    uint32_t first = share % (script.config.rows + 1);

    c->generation = (uint16_t)(c->generation + (how >> 7));
    c->grant = (struct trib_combiner_grant){
        .behind = member == 0 ? trib_all_children(script.root_config.children) : trib_all_children(6),
        .communicator = member + 1,
        .first_row = (share & 0x80) != 0 ? first : 0,
        .rows = (share & 0x80) != 0 ? (share >> 3) % (script.config.rows - first + 1) : script.config.rows,
        .generation = c->generation,
        .span = (share & 2) != 0 ? 40 : 0,
        .priority = (uint8_t)(how & 7),
        .mark = (how & 8) != 0 ? share : 0,
    };
    if ((how & 0x87) == 0x87) { /* some pieces alone */
        c->grant.pieces = (struct trib_pieces){.count = 1 + (share & 7), .run = 1 + (share >> 6)};
        c->grant.pieces.own = ((uint64_t)share * 0x9e3779b97f4a7c15 >> 32) & trib_pieces_all(c->grant.pieces.count);
    }
    uint64_t narrowed = c->grant.behind & ~(UINT64_C(1) << (how >> 4 & 7));
    c->grant.behind = narrowed != 0 ? narrowed : c->grant.behind;
    memset(script.marks[member], 0, sizeof script.marks[member]);
    memset(script.uses[member], 0, sizeof script.uses[member]);
    trib_combiner_admit(script.combiner, member, &c->grant);
    must(trib_combiner_rows_held(script.combiner, member) == 0, "combiner: rows held at the start");
}

static void dismiss(uint32_t member)
{
    script.communicators[member].grant = (struct trib_combiner_grant){0};
    trib_combiner_dismiss(script.combiner, member);
    must(trib_combiner_rows_held(script.combiner, member) == 0, "combiner: rows held after the end");
}

static void send_down(uint32_t member)
{
    struct trib_packet packet;

    make_packet(&packet, member);
    trib_combiner_down(script.combiner, member, &packet);
}

/* ---- a script ---- */

static void happen(uint32_t byte)
{
    uint32_t member = byte & 1;

    switch (byte >> 1 & 15) {
    case 0:
        if ((byte & 0xe0) == 0) {
            admit(member);
        } else {
            send_up(member);
        }
        return;
    case 1:
        if ((byte & 0xe0) == 0) {
            dismiss(member);
        } else if (!script.is_lazy) {
            drain();
        }
        return;
    case 2:
        send_down(member);
        return;
    case 3:
        trib_combiner_learn_mark(script.combiner, member,
                                 (byte >> 5) + (script.last.sequence < 6 ? 0 : script.last.sequence - 6));
        return;
    case 4:
    case 5:
    case 6:
        lie_to_root();
        return;
    default:
        send_up(member);
        return;
    }
}

static void open_all(void)
{
    uint32_t size = next_byte();
    uint32_t shape = next_byte();

    script.is_lazy = (size & 0x20) != 0;
    script.config = (struct trib_combiner_config){.kernels = trib_value_kernels(),
                                                  .rows = size % 24,
                                                  .payload = (size & 0x80) != 0 ? 64 : PAYLOAD_MAX,
                                                  .members = MEMBERS,
                                                  .is_narrow = (size & 0x40) != 0};
    script.combiner = memory_of(trib_combiner_size(&script.config));
    trib_combiner_init(script.combiner, &script.config);
    script.root_config = (struct trib_switch_config){
        .session = {.communicator = 1,
                    .generation = 1,
                    .first = base_of(shape >> 6),
                    .ranks = (shape & 0x20) != 0 ? TRIB_CHILDREN_MAX : 3 + shape % 4,
                    .roots = 1,
                    .train = 1,
                    .slots = 1 + (shape >> 2 & 7),
                    .payload = 64,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .children = (shape & 0x20) != 0 ? TRIB_CHILDREN_MAX : 3 + shape % 4,
        .boot = 5,
        .is_narrow = (size & 0x40) != 0,
        .has_combiners = true,
    };
    script.root = memory_of(trib_atp.switch_node->size(&script.root_config));
    trib_atp.switch_node->init(script.root, &script.root_config);
    for (uint32_t child = 0; child < script.root_config.children; child++) {
        script.root_marks[child] = script.root_config.session.first;
        trib_atp.switch_node->join(script.root, child, script.root_marks[child]);
    }
    script.communicators[0].generation = script.communicators[1].generation = 1;
}

static enum trib_combined part_of_end(uint64_t rank, uint64_t sequence)
{
    struct trib_packet packet = {.kind = TRIB_CONTRIBUTION, .communicator = 1, .generation = 1, .sequence = sequence};

    return trib_combiner_up(script.combiner, 0, rank, &packet);
}

/* Nothing is held, and all memory can still be had: for as many sums as can wait, and then for each row; a part passes
 * only where another fragment has the row. */
static void check_end(void)
{
    struct trib_combiner_grant grant = {.behind = 7, .communicator = 1, .generation = 1, .rows = script.config.rows};
    struct trib_packet packet;
    uint32_t member;

    for (member = 0; member < MEMBERS; member++) {
        dismiss(member);
    }
    must(!trib_combiner_next(script.combiner, &packet, &member), "end: a sum of nobody");
    must(trib_combiner_rows_held(script.combiner, TRIB_COMBINER_ALL) == 0, "end: rows are held");
    trib_combiner_admit(script.combiner, 0, &grant);
    for (uint64_t sequence = 0; sequence < 64 && script.config.rows != 0; sequence++) {
        must(part_of_end(1, sequence) == TRIB_COMBINED_TAKEN && part_of_end(2, sequence) == TRIB_COMBINED_TAKEN &&
                 part_of_end(4, sequence) == TRIB_COMBINED_TAKEN,
             "end: memory for a sum is lost");
    }
    for (uint64_t sequence = 100; sequence < 400; sequence++) {
        uint64_t collisions = trib_combiner_counters(script.combiner)->collisions;
        must(part_of_end(1, sequence) == TRIB_COMBINED_TAKEN || script.config.rows == 0 ||
                 trib_combiner_counters(script.combiner)->collisions > collisions,
             "end: a row is lost");
    }
    /* One more sum is lent, and one more waits: then there is a buffer less than rows. */
    if (script.config.rows != 0 && trib_combiner_next(script.combiner, &packet, &member)) {
        for (uint64_t sequence = 100; sequence < 400; sequence++) {
            (void)part_of_end(2, sequence);
            (void)part_of_end(4, sequence);
            (void)part_of_end(1, 1000 + sequence);
        }
    }
    must(trib_combiner_rows_held(script.combiner, 0) <= script.config.rows, "end: more rows than there are");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&script, 0, sizeof script);
    script.bytes = data;
    script.left = size;
    open_all();
    admit(0);
    admit(1);
    for (uint32_t step = 0; script.left > 0 && step < STEPS_MAX; step++) {
        happen(next_byte());
    }
    check_end();
    free(script.combiner);
    free(script.root);
    return 0;
}
