/* SPDX-License-Identifier: Apache-2.0 */
/* lies.h: what liar.c sends: packets heard, changed or put elsewhere. See docs/PROTOCOL.md for the bytes. */
#ifndef TESTS_REDTEAM_LIES_H
#define TESTS_REDTEAM_LIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEARD_MAX 4096
#define OLD_MAX 4096
#define WAYS_MAX 64
#define PACKET_MAX 1500 /* of UDP payload; longer ones are not kept */
#define FRAME_HEADERS 42
#define LIES_MAX 24

/* From where to where. Network byte order. */
struct way {
    uint8_t to_card[6], from_card[6];
    uint32_t from, to;
    uint16_t from_port, to_port;
};

struct heard {
    struct way way;
    uint16_t len;
    uint8_t bytes[PACKET_MAX];
};

/* A lie on its way. */
struct draft {
    struct way way;
    size_t len;   /* of UDP payload */
    bool is_icmp; /* an error of ICMP about such a packet the other way */
    uint8_t icmp_code;
    uint16_t mtu;
    uint8_t frame[FRAME_HEADERS + PACKET_MAX + 64];
};

struct team {
    uint64_t seed, random;
    uint16_t nobody; /* a port without a socket that all lies go to instead, network byte order; 0: none */
    uint64_t heard;  /* in all */
    unsigned flows;
    unsigned old_count;
    struct way flow[WAYS_MAX]; /* that were seen */
    uint64_t sent[LIES_MAX];   /* of each kind */
    struct heard packet[HEARD_MAX];
    struct heard old[OLD_MAX]; /* of an earlier incarnation */
};

void team_begin(struct team *team, uint64_t seed);
/* A frame from the link: keeps the packets of a job with a key that are in it. */
void team_hear(struct team *team, const uint8_t *frame, size_t len);
/* Makes the next lie; at least one packet was heard. */
void team_lie(struct team *team, struct draft *draft);
/* Writes the headers of the frame; returns its length. */
size_t draft_frame(struct draft *draft);
void team_print(const struct team *team);
/* False: errno says why. */
bool team_load(struct team *team, const char *path);
bool team_save(const struct team *team, const char *path);

#endif
