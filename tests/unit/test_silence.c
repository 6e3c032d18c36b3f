/* SPDX-License-Identifier: Apache-2.0 */
/* test_silence.c: what the kernel is told of silence adds up to what was asked for. Mirrors
 * src/control/words/silence.c; that a machine which is off is noticed by it: tests/integration/events.net.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/silence.h"
#include "io/clock.h"

static int option(int fd, int name)
{
    int value = 0;
    socklen_t len = sizeof value;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, name, &value, &len), 0);
    return value;
}

/* Since Linux 6.15; without it the gaps between what is sent again grow beyond the silence. */
static void expect_short_gaps(int fd)
{
    const int rto_max_ms = 44;
    int value = 0;
    socklen_t len = sizeof value;
    bool is_known = getsockopt(fd, IPPROTO_TCP, rto_max_ms, &value, &len) == 0;
    assert_true(!is_known || value == 1000);
}

/* Linux ends an idle connection at the first question (after KEEPIDLE without a sign, then each KEEPINTVL) at which the
 * peer's last sign is USER_TIMEOUT old and a question has been asked before. */
static int lost_questions(int idle_ms, int gap_ms, int limit_ms)
{
    int asked = 0;
    for (int age_ms = idle_ms; asked == 0 || age_ms < limit_ms; age_ms += gap_ms) {
        asked++;
    }
    return asked;
}

static void expect(uint64_t silence_ns, int silence_ms)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    trib_session_bound_silence(fd, silence_ns);
    int idle_ms = 1000 * option(fd, TCP_KEEPIDLE);
    int gap_ms = 1000 * option(fd, TCP_KEEPINTVL);
    int limit_ms = option(fd, TCP_USER_TIMEOUT);
    assert_true(limit_ms - idle_ms >= silence_ms || limit_ms == 3000); /* the sign may have been so old already */
    assert_true(limit_ms >= silence_ms && limit_ms <= silence_ms + silence_ms / 12 + 2000);
    assert_true(lost_questions(idle_ms, gap_ms, limit_ms) >= 2);
    assert_true(gap_ms * option(fd, TCP_KEEPCNT) + idle_ms >= limit_ms);
    assert_true(option(fd, TCP_NODELAY));
    expect_short_gaps(fd);
    (void)close(fd);
}

static void silence__is_what_was_asked_for(void **state)
{
    (void)state;
    for (int s = 1; s <= 120; s++) {
        expect((uint64_t)s * TRIB_SECOND_NS, 1000 * s);
    }
    expect(2500 * TRIB_MILLISECOND_NS, 2500);
}

static void silence__has_bounds(void **state)
{
    (void)state;
    expect(0, 1000);
    expect(UINT64_MAX, 3600000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence__is_what_was_asked_for),
        cmocka_unit_test(silence__has_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
