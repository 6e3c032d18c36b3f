/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: see train.h. */
#include "net/train.h"

#include <string.h>

#include "keys/auth.h"

bool trib_train_fits(const struct trib_train *train, size_t len)
{
    if (train->packets == 0) {
        return true;
    }
    bool ended = train->bytes < train->packets * train->segment; /* the last packet was shorter */
    return !ended && len <= train->segment && train->packets < TRIB_TRAIN_PACKETS_MAX &&
           train->bytes + len <= TRIB_TRAIN_BYTES_MAX;
}

/* The payload as sent: the owner's bytes, or encrypted in the train. */
static void *wire_payload(struct trib_train *train, const struct trib_packet *packet, const struct trib_seal *seal)
{
    void *payload;
    if (seal != NULL && trib_auth_encrypts(seal->auth)) {
        payload = train->cipher + train->encrypted;
        trib_auth_encrypt(seal->auth, packet->payload, packet->payload_len, payload);
        train->encrypted += packet->payload_len;
        return payload;
    }
    memcpy(&payload, &packet->payload, sizeof payload); /* carriers only read, but an iovec is not const */
    return payload;
}

void trib_train_add(struct trib_train *train, const struct trib_packet *packet, const struct trib_seal *seal)
{
    size_t len = trib_train_size(packet, seal);
    uint8_t *header = train->header[train->packets];
    train->segment = train->packets == 0 ? len : train->segment;
    if (train->is_flagged || seal != NULL) {
        struct trib_packet changed = *packet;
        changed.flags |= train->is_flagged ? TRIB_FLAG_ECN : 0;
        changed.authenticated = seal != NULL;
        trib_packet_encode(&changed, header);
    } else {
        trib_packet_encode(packet, header);
    }
    train->piece[train->pieces++] = (struct iovec){header, TRIB_HEADER_SIZE};
    void *payload = NULL;
    if (packet->payload_len > 0) {
        payload = wire_payload(train, packet, seal);
        train->piece[train->pieces++] = (struct iovec){payload, packet->payload_len};
    }
    if (seal != NULL) {
        uint8_t *authenticator = train->authenticator[train->packets];
        trib_auth_seal(seal->auth, seal->receiver, header, payload, packet->payload_len, authenticator);
        train->piece[train->pieces++] = (struct iovec){authenticator, TRIB_AUTHENTICATOR_SIZE};
    }
    train->packets++;
    train->bytes += len;
}

void trib_train_empty(struct trib_train *train)
{
    train->packets = 0;
    train->pieces = 0;
    train->bytes = 0;
    train->encrypted = 0;
}
