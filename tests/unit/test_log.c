/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c: a log that nobody reads holds nobody up. Mirrors src/io/log.c. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/log.h"

#define TEXT_MAX 131072

static int saved;    /* standard error of the test */
static int pipe_[2]; /* in its place */

static void begin(void)
{
    assert_int_equal(pipe(pipe_), 0);
    saved = dup(STDERR_FILENO);
    assert_int_equal(dup2(pipe_[1], STDERR_FILENO), STDERR_FILENO);
    close(pipe_[1]);
}

static void end(void)
{
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
}

static const char *drain(void)
{
    static char text[TEXT_MAX];
    ssize_t len = read(pipe_[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

/* A pipe holds 64 KiB. SIGALRM would end the test. */
static void log__waits_for_no_reader(void **state)
{
    (void)state;
    unsigned lost = 0;
    begin();
    (void)alarm(60);
    for (int i = 0; i < 2000; i++) {
        trib_log(TRIB_LOG_WARN, "line %d, %0100d", i, i);
    }
    (void)alarm(0);
    const char *first = drain();
    trib_log(TRIB_LOG_WARN, "the last line");
    const char *text = drain();
    end();
    close(pipe_[0]);
    assert_non_null(first);
    const char *at = strstr(text, " warn ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, " warn %u lines of this log are lost", &lost), 1);
    assert_in_range(lost, 1000, 1999);
    assert_non_null(strstr(text, "the last line\n"));
}

/* SIGPIPE would end the test. */
static void log__without_a_reader_sends_no_signal(void **state)
{
    (void)state;
    begin();
    close(pipe_[0]);
    trib_log(TRIB_LOG_WARN, "nobody reads this");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log__waits_for_no_reader),
        cmocka_unit_test(log__without_a_reader_sends_no_signal),
    };
    (void)signal(SIGPIPE, SIG_DFL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
