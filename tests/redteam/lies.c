/* SPDX-License-Identifier: Apache-2.0 */
/* lies.c: see lies.h. Each kind of lie is a row of `lies`: its name, and what makes one out of packets that were heard.
 * A lie of every kind must be dropped wherever it comes. */
#include "redteam/lies.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER 64
#define AUTHENTICATOR 28
#define MAC_AT 12 /* in the authenticator: sender, receiver, number, MAC */
#define VERSION_AT 0
#define KIND_AT 1
#define COMMUNICATOR_AT 4
#define SEQUENCE_AT 12
#define NODE_AT 18
#define BITMAP_AT 20
#define TYPE_AT 28
#define PAYLOAD_LEN_AT 30
#define MARK_AT 40
#define CRC_AT 52
#define KIND_PROBE 3
#define KIND_PATH 8
#define KIND_FLOW_ACK 10
#define ALL 0xffffU

/* ---- chance and bytes ---- */

static uint64_t draw(struct team *team)
{
    uint64_t x = team->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static size_t below(struct team *team, size_t limit)
{
    return (size_t)(draw(team) % limit);
}

static void fill(struct team *team, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)draw(team);
    }
}

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static size_t get16(const uint8_t *at)
{
    return (size_t)at[0] << 8 | at[1];
}

/* CRC32C, reflected. */
static uint32_t crc32c(const uint8_t *bytes, size_t count)
{
    static uint32_t table[256];
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) {
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0x82f63b78) : 0);
        }
    }
    for (size_t i = 0; i < count; i++) {
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
    }
    return ~crc;
}

/* ---- what was heard ---- */

void team_begin(struct team *team, uint64_t seed)
{
    team->seed = seed;
    team->random = seed * UINT64_C(0xd1342543de82ef95) + 1;
}

static void note_way(struct team *team, const struct way *way)
{
    unsigned at = 0;
    while (at < team->flows && memcmp(&team->flow[at], way, sizeof *way) != 0) {
        at++;
    }
    if (at == team->flows && at < WAYS_MAX) {
        team->flow[team->flows++] = *way;
    }
}

static bool read_way(const uint8_t *frame, size_t len, struct way *way)
{
    memset(way, 0, sizeof *way);
    if (len < FRAME_HEADERS || frame[14] != 0x45 || frame[23] != 17 || (get16(frame + 20) & 0x3fff) != 0) {
        return false;
    }
    memcpy(way->to_card, frame, 6);
    memcpy(way->from_card, frame + 6, 6);
    memcpy(&way->from, frame + 26, 4);
    memcpy(&way->to, frame + 30, 4);
    memcpy(&way->from_port, frame + 34, 2);
    memcpy(&way->to_port, frame + 36, 2);
    return true;
}

void team_hear(struct team *team, const uint8_t *frame, size_t len)
{
    struct way way;
    if (!read_way(frame, len, &way)) {
        return;
    }
    for (size_t at = FRAME_HEADERS; at + HEADER + AUTHENTICATOR <= len;) {
        const uint8_t *packet = frame + at;
        size_t size = HEADER + get16(packet + PAYLOAD_LEN_AT) + AUTHENTICATOR;
        if (packet[VERSION_AT] != 2 || packet[KIND_AT] == 0 || packet[KIND_AT] > KIND_FLOW_ACK || size > len - at) {
            return;
        }
        if (size <= PACKET_MAX) {
            struct heard *heard = &team->packet[team->heard++ % HEARD_MAX];
            heard->way = way;
            heard->len = (uint16_t)size;
            memcpy(heard->bytes, packet, size);
            note_way(team, &way);
        }
        at += size;
    }
}

static size_t heard_now(const struct team *team)
{
    return team->heard < HEARD_MAX ? (size_t)team->heard : HEARD_MAX;
}

static const struct heard *pick(struct team *team)
{
    return &team->packet[below(team, heard_now(team))];
}

/* ---- lies ---- */

static uint8_t *bytes_of(struct draft *draft)
{
    return draft->frame + FRAME_HEADERS;
}

static uint8_t *authenticator_of(struct draft *draft)
{
    return bytes_of(draft) + draft->len - AUTHENTICATOR;
}

static void repeat(struct draft *draft, const struct heard *heard)
{
    draft->way = heard->way;
    draft->len = heard->len;
    memcpy(bytes_of(draft), heard->bytes, heard->len);
}

static void tell_again(struct team *team, struct draft *draft)
{
    repeat(draft, pick(team));
}

/* A way that differs from this one in what is asked for, and is the same in the rest. */
static void go_elsewhere(struct team *team, struct draft *draft, bool other_sender)
{
    size_t first = below(team, team->flows);
    for (unsigned i = 0; i < team->flows; i++) {
        const struct way *way = &team->flow[(first + i) % team->flows];
        bool is_sender_same = way->from == draft->way.from && way->from_port == draft->way.from_port;
        bool is_target_same = way->to == draft->way.to && way->to_port == draft->way.to_port;
        if (other_sender ? !is_sender_same && is_target_same : is_sender_same && !is_target_same) {
            draft->way = *way;
            return;
        }
    }
    uint16_t *port = other_sender ? &draft->way.from_port : &draft->way.to_port;
    *port ^= htons(1);
}

static void from_another(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    go_elsewhere(team, draft, true);
}

static void to_another(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    go_elsewhere(team, draft, false);
}

static void back_to_sender(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    const struct way way = draft->way;
    memcpy(draft->way.to_card, way.from_card, 6);
    memcpy(draft->way.from_card, way.to_card, 6);
    draft->way.from = way.to;
    draft->way.to = way.from;
    draft->way.from_port = way.to_port;
    draft->way.to_port = way.from_port;
}

/* Of another incarnation of the job, on a way of this one if there is none any more. */
static void of_the_past(struct team *team, struct draft *draft)
{
    if (team->old_count == 0) {
        tell_again(team, draft);
        return;
    }
    repeat(draft, &team->old[below(team, team->old_count)]);
    draft->way = below(team, 2) == 0 ? draft->way : team->flow[below(team, team->flows)];
}

static void noise(struct team *team, struct draft *draft)
{
    draft->way = pick(team)->way;
    draft->len = below(team, 4) == 0 ? below(team, PACKET_MAX - HEADER) : below(team, 200);
    fill(team, bytes_of(draft), draft->len);
    if (draft->len > 0 && below(team, 2) == 0) {
        bytes_of(draft)[VERSION_AT] = (uint8_t)(1 + below(team, 2));
    }
}

/* Another value, and an authenticator that is made up. */
static void guess(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    bytes_of(draft)[below(team, draft->len - AUTHENTICATOR)] ^= (uint8_t)(1 + below(team, 255));
    fill(team, authenticator_of(draft) + MAC_AT, AUTHENTICATOR - MAC_AT);
}

static void checksum(struct draft *draft)
{
    uint8_t *bytes = bytes_of(draft);
    memset(bytes + CRC_AT, 0, 4);
    uint32_t crc = crc32c(bytes, draft->len);
    put16(bytes + CRC_AT, crc >> 16);
    put16(bytes + CRC_AT + 2, crc & 0xffff);
}

/* What was enough without a key: the right header, another value, a right checksum. */
static void without_key(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    uint8_t *bytes = bytes_of(draft);
    draft->len -= AUTHENTICATOR;
    bytes[VERSION_AT] = 1;
    if (draft->len > HEADER) {
        bytes[HEADER + below(team, draft->len - HEADER)] ^= (uint8_t)(1 + below(team, 255));
    }
    checksum(draft);
}

/* The same with its authenticator, which counts as payload. */
static void relabelled(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    bytes_of(draft)[VERSION_AT] = 1;
    put16(bytes_of(draft) + PAYLOAD_LEN_AT, draft->len - HEADER);
    checksum(draft);
}

static void cut_off(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    draft->len = below(team, 3) == 0 ? below(team, draft->len) : draft->len - 1 - below(team, AUTHENTICATOR);
    if (draft->len >= HEADER + AUTHENTICATOR && below(team, 2) == 0) {
        put16(bytes_of(draft) + PAYLOAD_LEN_AT, draft->len - HEADER - AUTHENTICATOR);
    }
}

static void flip(struct team *team, struct draft *draft, size_t from, size_t to)
{
    for (size_t count = 1 + below(team, 3); count > 0; count--) {
        size_t bit = from * 8 + below(team, (to - from) * 8);
        bytes_of(draft)[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}

static void flip_header(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    flip(team, draft, 0, HEADER);
}

static void flip_payload(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    bool has_payload = draft->len > HEADER + AUTHENTICATOR;
    flip(team, draft, has_payload ? HEADER : 0, has_payload ? draft->len - AUTHENTICATOR : HEADER);
}

static void flip_authenticator(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    flip(team, draft, draft->len - AUTHENTICATOR, draft->len);
}

/* If it were taken, all that is true would be behind the window. */
static void far_ahead(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    uint8_t *number = authenticator_of(draft) + 4;
    number[below(team, 7)] = (uint8_t)(1 + below(team, 255));
}

/* A kind without payload: asks, marks, boots, proofs of address. */
static void make_word(struct team *team, uint8_t *bytes)
{
    static const uint8_t kinds[] = {1, 2, KIND_PROBE, 4, 5, 6, 7, KIND_PATH, 9, KIND_FLOW_ACK};
    bytes[KIND_AT] = kinds[below(team, sizeof kinds)];
    bytes[TYPE_AT] = bytes[TYPE_AT + 1] = 0;
    put16(bytes + PAYLOAD_LEN_AT, 0);
    fill(team, bytes + BITMAP_AT, 8);
    if (below(team, 2) == 0) { /* "I have all", or "all have all" */
        static const uint8_t far[4] = {0x7f, 0xff, 0xff, 0xff};
        memset(bytes + SEQUENCE_AT, 0, 2);
        memcpy(bytes + MARK_AT, far, sizeof far);
    }
    if (below(team, 2) == 0) {
        put16(bytes + NODE_AT, below(team, 2) == 0 ? ALL : below(team, 64));
    }
}

static void word_without_key(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    draft->len = HEADER;
    bytes_of(draft)[VERSION_AT] = 1;
    make_word(team, bytes_of(draft));
    checksum(draft);
}

/* With the authenticator of a packet that was heard, or the number of one to come. */
static void word(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    memmove(bytes_of(draft) + HEADER, authenticator_of(draft), AUTHENTICATOR);
    draft->len = HEADER + AUTHENTICATOR;
    make_word(team, bytes_of(draft));
    if (below(team, 2) == 0) {
        uint8_t *number = authenticator_of(draft) + 10;
        put16(number, get16(number) + 1 + below(team, 1000));
    }
}

/* For all, or for the one with another id. */
static void for_another(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    uint8_t *receiver = authenticator_of(draft) + 2;
    size_t id = below(team, 2) == 0 ? ALL : get16(receiver) ^ (1U << below(team, 5));
    put16(receiver, id != get16(receiver) ? id : id ^ 1);
    if (below(team, 2) == 0) {
        go_elsewhere(team, draft, false);
    }
}

/* Header and payload of one packet, authenticator of another. */
static void spliced(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    const struct heard *other = pick(team);
    memcpy(authenticator_of(draft), other->bytes + other->len - AUTHENTICATOR, AUTHENTICATOR);
}

/* A true packet with more behind it. */
static void longer(struct team *team, struct draft *draft)
{
    tell_again(team, draft);
    size_t more = 1 + below(team, AUTHENTICATOR);
    fill(team, bytes_of(draft) + draft->len, more);
    draft->len += more;
    if (below(team, 2) == 0) {
        put16(bytes_of(draft) + PAYLOAD_LEN_AT, draft->len - HEADER - AUTHENTICATOR);
    }
}

/* ICMP, as of a router on the way back to the sender of what was heard: that its packets are too large for the path, or
 * that nobody is there. The job's packets are no proof, but their ports are all that a kernel asks for. */
static void error_of_a_router(struct team *team, struct draft *draft)
{
    static const uint8_t codes[] = {4, 4, 0, 1, 2, 3, 5, 13}; /* 4: too large */
    back_to_sender(team, draft);
    draft->icmp_code = codes[below(team, sizeof codes)];
    draft->mtu = (uint16_t)(68 + below(team, 1400));
    draft->is_icmp = true;
}

static const struct {
    const char *name;
    void (*make)(struct team *team, struct draft *draft);
} lies[] = {
    {"noise", noise},
    {"a guessed MAC", guess},
    {"without a key, changed", without_key},
    {"relabelled", relabelled},
    {"repeated", tell_again},
    {"repeated, from another", from_another},
    {"repeated, to another", to_another},
    {"back to its sender", back_to_sender},
    {"of an earlier incarnation", of_the_past},
    {"cut off", cut_off},
    {"longer", longer},
    {"bits of the header", flip_header},
    {"bits of the payload", flip_payload},
    {"bits of the authenticator", flip_authenticator},
    {"far ahead", far_ahead},
    {"words without a key", word_without_key},
    {"words", word},
    {"for another", for_another},
    {"spliced", spliced},
    {"errors of a router", error_of_a_router},
};

#define LIES (sizeof lies / sizeof lies[0])
_Static_assert(LIES <= LIES_MAX, "each kind is counted");

void team_lie(struct team *team, struct draft *draft)
{
    size_t kind = below(team, LIES);
    draft->is_icmp = false;
    lies[kind].make(team, draft);
    draft->way.to_port = team->nobody != 0 ? team->nobody : draft->way.to_port;
    team->sent[kind]++;
}

void team_print(const struct team *team)
{
    for (size_t i = 0; i < LIES; i++) {
        printf("%s%" PRIu64 " %s", i == 0 ? "" : ", ", team->sent[i], lies[i].name);
    }
    printf("\n");
}

/* ---- frames and files ---- */

/* The checksum of IP and ICMP. */
static size_t internet_sum(const uint8_t *bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i += 2) {
        sum += (uint32_t)get16(bytes + i);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return ~(sum + (sum >> 16)) & 0xffff;
}

/* An IP header that is not to be cut up, ECT(0), as all packets of a job. */
static void put_ip(uint8_t *ip, uint8_t protocol, uint32_t from, uint32_t to, size_t len)
{
    memset(ip, 0, 20);
    ip[0] = 0x45;
    ip[1] = 2;
    put16(ip + 2, 20 + len);
    put16(ip + 6, 0x4000);
    ip[8] = 64;
    ip[9] = protocol;
    memcpy(ip + 12, &from, 4);
    memcpy(ip + 16, &to, 4);
    put16(ip + 10, internet_sum(ip, 20));
}

static void put_udp(uint8_t *udp, uint16_t from_port, uint16_t to_port, size_t len)
{
    memcpy(udp, &from_port, 2);
    memcpy(udp + 2, &to_port, 2);
    put16(udp + 4, 8 + len);
    put16(udp + 6, 0); /* no checksum, as UDP allows */
}

/* About a packet of what the draft goes to. */
static size_t put_icmp(uint8_t *icmp, const struct draft *draft)
{
    const struct way *way = &draft->way;
    memset(icmp, 0, 8);
    icmp[0] = 3;
    icmp[1] = draft->icmp_code;
    put16(icmp + 6, draft->mtu);
    put_ip(icmp + 8, 17, way->to, way->from, 8 + draft->len);
    put_udp(icmp + 28, way->to_port, way->from_port, draft->len);
    put16(icmp + 2, internet_sum(icmp, 36));
    return 36;
}

size_t draft_frame(struct draft *draft)
{
    uint8_t *frame = draft->frame;
    const struct way *way = &draft->way;
    memcpy(frame, way->to_card, 6);
    memcpy(frame + 6, way->from_card, 6);
    put16(frame + 12, 0x0800);
    if (draft->is_icmp) {
        size_t len = put_icmp(frame + 34, draft);
        put_ip(frame + 14, 1, way->from, way->to, len);
        return 34 + len;
    }
    put_ip(frame + 14, 17, way->from, way->to, 8 + draft->len);
    put_udp(frame + 34, way->from_port, way->to_port, draft->len);
    return FRAME_HEADERS + draft->len;
}

bool team_load(struct team *team, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    team->old_count = (unsigned)fread(team->old, sizeof team->old[0], OLD_MAX, file);
    return fclose(file) == 0;
}

bool team_save(const struct team *team, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    size_t count = heard_now(team);
    bool is_whole = fwrite(team->packet, sizeof team->packet[0], count, file) == count;
    return fclose(file) == 0 && is_whole;
}
