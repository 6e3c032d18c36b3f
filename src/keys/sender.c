/* SPDX-License-Identifier: Apache-2.0 */
/* sender.c: sender keys (auth.h). No OpenSSL: control planes make keys also in tests of builds without it. */
#include "core/chacha20.h"
#include "keys/auth.h"

_Static_assert(TRIB_AUTH_KEY == TRIB_CHACHA20_KEY, "ChaCha20 makes sender keys");

void trib_auth_make_sender_key(const uint8_t packet_key[TRIB_AUTH_KEY], uint32_t sender, uint8_t key[TRIB_AUTH_KEY])
{
    uint16_t id = (uint16_t)sender;
    bool is_agent = trib_auth_is_agent(id) && id != TRIB_AUTH_ALL;
    uint32_t name = (sender & TRIB_AUTH_UP) | (is_agent ? trib_auth_switch(trib_auth_number(id), 0) : id);
    const uint32_t input[4] = {0, name, 0, 0};
    trib_chacha20_key(key, packet_key, input);
}
