/* SPDX-License-Identifier: Apache-2.0 */
/* panama_window.c: figure 5, line by line. Read next: panama_literal_worker.c. */
#include "published/panama_literal/panama_literal.h"

void trib_panama_window_init(struct trib_panama_window *window)
{
    *window = (struct trib_panama_window){
        .cwnd = 2 * TRIB_PANAMA_ONE,
        .ssthresh = 64 * TRIB_PANAMA_ONE,
        .alpha = TRIB_PANAMA_ONE,
    };
}

/* The window less alpha / 2 of it, at least 0. */
static uint64_t cut(const struct trib_panama_window *window)
{
    uint64_t off = window->cwnd * window->alpha / (2 * TRIB_PANAMA_ONE);

    return off < window->cwnd ? window->cwnd - off : 0;
}

/* The paper does not give g: 1/16, as in DCTCP. ecn_count / cwnd is computed with rcvd, which equals cwnd there. A
 * window of 2^16 fragments and an alpha of 2^6 fit 64 bits; alpha, which grows since ecn_count is never reset, is
 * limited to 2^6. */
void trib_panama_window_result(struct trib_panama_window *window, bool is_marked, uint16_t cap)
{
    window->rcvd++;
    window->ecn += is_marked;
    if (window->rcvd * TRIB_PANAMA_ONE == window->cwnd) {
        uint64_t alpha = window->alpha - window->alpha / 16 + window->ecn * TRIB_PANAMA_ONE / window->rcvd / 16;
        window->alpha = alpha < 64 * TRIB_PANAMA_ONE ? alpha : 64 * TRIB_PANAMA_ONE;
        window->rcvd = 0;
        if (window->ecn == 0) {
            window->cwnd += window->cwnd < window->ssthresh ? window->cwnd : TRIB_PANAMA_ONE;
        } else {
            window->cwnd = cut(window);
            window->ssthresh = window->cwnd;
        }
    }
    if (cap != 0 && window->cwnd > cap * TRIB_PANAMA_ONE) {
        window->cwnd = cap * TRIB_PANAMA_ONE;
    }
}
