/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: the cost of an authenticator (keys/auth.h): ns of CPU time per packet that is written, and that is checked, for
 * several payloads; the least of 31 timings. Ends with 1 if a packet is refused, with 77 without OpenSSL. */
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

/* Writes, then checks BUFFERS packets, and keeps the least times. False: one was refused. */
static bool pass(size_t payload, double *write_ns, double *check_ns)
{
    size_t len = TRIB_HEADER_SIZE + payload;
    bool all = true;
    double begin = now_ns();
    for (unsigned i = 0; i < BUFFERS; i++) {
        trib_auth_seal(sender, trib_auth_switch(0, 0), packets[i], packets[i] + TRIB_HEADER_SIZE, payload,
                       packets[i] + len);
    }
    double middle = now_ns();
    for (unsigned i = 0; i < BUFFERS; i++) {
        all = trib_auth_check(receiver, 0, packets[i], len + TRIB_AUTHENTICATOR_SIZE) == TRIB_DROP_NONE && all;
    }
    *write_ns += middle - begin;
    *check_ns += now_ns() - middle;
    return all;
}

static bool measure(size_t payload)
{
    double least_write = 1e18;
    double least_check = 1e18;
    for (unsigned i = 0; i < TIMINGS; i++) {
        double write_ns = 0;
        double check_ns = 0;
        for (unsigned k = 0; k < ROUNDS; k++) {
            if (!pass(payload, &write_ns, &check_ns)) {
                return false;
            }
        }
        least_write = write_ns < least_write ? write_ns : least_write;
        least_check = check_ns < least_check ? check_ns : least_check;
    }
    printf("%4zu bytes: written in %5.0f ns, checked in %5.0f ns\n", payload, least_write / (ROUNDS * BUFFERS),
           least_check / (ROUNDS * BUFFERS));
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
    sender = trib_auth_create(key, trib_auth_rank(0), 0);
    receiver = trib_auth_create(key, trib_auth_switch(0, 0), 1);
    if (sender == NULL || receiver == NULL) {
        return 1;
    }
    trib_auth_set_peer(receiver, 0, trib_auth_rank(0));
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        all = measure(payloads[i]) && all;
    }
    trib_auth_destroy(sender);
    trib_auth_destroy(receiver);
    return all ? 0 : 1;
}
