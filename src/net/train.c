/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: see train.h. */
#include "net/train.h"

#include <string.h>

#include "keys/auth.h"

uint32_t trib_wire_encode(struct trib_wire_packet *wire, const struct trib_packet *packet, const struct trib_seal *seal,
                          void *cipher)
{
    bool is_encrypted = seal != NULL && trib_auth_encrypts(seal->auth) && packet->payload_len > 0;
    void *payload = cipher;
    if (is_encrypted) {
        trib_auth_encrypt(seal->auth, packet->payload, packet->payload_len, cipher);
    } else {
        memcpy(&payload, &packet->payload, sizeof payload); /* carriers only read, but an iovec is not const */
    }
    trib_packet_encode(packet, wire->header);
    wire->pieces = 0;
    wire->bytes = trib_wire_size(packet, seal);
    wire->piece[wire->pieces++] = (struct iovec){wire->header, TRIB_HEADER_SIZE};
    if (packet->payload_len > 0) {
        wire->piece[wire->pieces++] = (struct iovec){payload, packet->payload_len};
    }
    if (seal != NULL) {
        trib_auth_seal(seal->auth, seal->receiver, wire->header, payload, packet->payload_len, wire->authenticator);
        wire->piece[wire->pieces++] = (struct iovec){wire->authenticator, TRIB_AUTHENTICATOR_SIZE};
    }
    return is_encrypted ? packet->payload_len : 0;
}

bool trib_train_fits(const struct trib_train *train, size_t len)
{
    if (train->packets == 0) {
        return true;
    }
    bool ended = train->bytes < train->packets * train->segment; /* the last packet was shorter */
    return !ended && len <= train->segment && train->packets < TRIB_TRAIN_PACKETS_MAX &&
           train->bytes + len <= TRIB_TRAIN_BYTES_MAX;
}

void trib_train_add(struct trib_train *train, const struct trib_wire_packet *wire)
{
    train->segment = train->packets == 0 ? wire->bytes : train->segment;
    memcpy(&train->piece[train->pieces], wire->piece, wire->pieces * sizeof wire->piece[0]);
    train->pieces += wire->pieces;
    train->packets++;
    train->bytes += wire->bytes;
}
