/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: the cost of an authenticator (keys/auth.h): ns of CPU time per packet that is written, that is checked, and that
 * is forged and refused, for several payloads; the least of 31 timings. Ends with 1 if a packet is refused, with 77 without OpenSSL. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "keys/auth.h"
#include "keys/derive.h"

#define BUFFERS 64
#define TIMINGS 31
#define ROUNDS 32
#define SIZE (TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX + TRIB_AUTHENTICATOR_SIZE)

static uint8_t packets[BUFFERS][SIZE];
static struct trib_auth *sender, *receiver;

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct times {
    double write_ns, check_ns, refuse_ns;
};

/* Gives the packet a number far ahead of all true ones, as a forger may: its one-time key is not made yet. */
static void forge(uint8_t *authenticator, unsigned index)
{
    authenticator[4] = 1;
    authenticator[9] = (uint8_t)index;
}

/* Writes, checks, and forges and checks BUFFERS packets. False: a true one was refused, or a forged one was not. */
static bool pass(size_t payload, struct times *times)
{
    size_t len = TRIB_HEADER_SIZE + payload;
    bool all = true;
    double begin = now_ns();
    for (unsigned i = 0; i < BUFFERS; i++) {
        trib_auth_seal(sender, trib_auth_switch(0, 0), packets[i], packets[i] + TRIB_HEADER_SIZE, payload,
                       packets[i] + len);
    }
    double written = now_ns();
    for (unsigned i = 0; i < BUFFERS; i++) {
        all = trib_auth_check(receiver, 0, packets[i], len + TRIB_AUTHENTICATOR_SIZE) == TRIB_DROP_NONE && all;
        forge(packets[i] + len, i);
    }
    double checked = now_ns();
    for (unsigned i = 0; i < BUFFERS; i++) {
        all = trib_auth_check(receiver, 0, packets[i], len + TRIB_AUTHENTICATOR_SIZE) == TRIB_DROP_AUTH && all;
    }
    times->write_ns += written - begin;
    times->check_ns += checked - written;
    times->refuse_ns += now_ns() - checked;
    return all;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static bool measure(size_t payload)
{
    struct times best = {1e18, 1e18, 1e18};
    for (unsigned i = 0; i < TIMINGS; i++) {
        struct times times = {0, 0, 0};
        for (unsigned k = 0; k < ROUNDS; k++) {
            if (!pass(payload, &times)) {
                return false;
            }
        }
        best = (struct times){least(best.write_ns, times.write_ns), least(best.check_ns, times.check_ns),
                              least(best.refuse_ns, times.refuse_ns)};
    }
    printf("%4zu bytes: written in %5.0f ns, checked in %5.0f ns, refused in %5.0f ns\n", payload,
           best.write_ns / (ROUNDS * BUFFERS), best.check_ns / (ROUNDS * BUFFERS), best.refuse_ns / (ROUNDS * BUFFERS));
    return true;
}

int main(void)
{
    static const size_t payloads[] = {0, 256, 1344, 8192};
    const uint8_t key[TRIB_AUTH_KEY] = {1};
    bool all = true;
    if (trib_keys_explain_lack() != NULL) {
        printf("%s\n", trib_keys_explain_lack());
        return 77;
    }
    sender = trib_auth_create(key, trib_auth_rank(0), 0, false);
    receiver = trib_auth_create(key, trib_auth_switch(0, 0), 1, false);
    if (sender == NULL || receiver == NULL || !trib_auth_set_peer(receiver, 0, trib_auth_rank(0), key)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        all = measure(payloads[i]) && all;
    }
    trib_auth_destroy(sender);
    trib_auth_destroy(receiver);
    return all ? 0 : 1;
}
