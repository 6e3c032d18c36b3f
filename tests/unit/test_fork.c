/* SPDX-License-Identifier: Apache-2.0 */
/* test_fork.c: no communicator without pthread_atfork: a forked child would send as its parent, with the same nonces.
 * Mirrors src/comm/fork.c. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tributary/comm.h>

#include "keys/derive.h"

static int result = ENOMEM;
static unsigned calls;

/* In place of the C library's. */
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    assert_true(prepare != NULL && parent != NULL && child != NULL);
    calls++;
    return result;
}

static enum trib_status create(bool has_key, char *error)
{
    struct trib_config config;
    struct trib_comm *comm = NULL;
    trib_config_init(&config);
    config.ranks = 2;
    config.join_timeout_ns = 1;
    (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:1");
    if (has_key) {
        memset(config.key, 'k', TRIB_KEY_MIN);
        config.key_len = TRIB_KEY_MIN;
    }
    return trib_comm_create(&config, &comm, error);
}

static void create__fails_without_a_handler_of_fork(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    (void)state;
    for (unsigned has_key = 0; has_key < (trib_keys_explain_lack() == NULL ? 2 : 1); has_key++) {
        assert_int_equal(create(has_key != 0, error), TRIB_ERR_MEMORY);
        assert_non_null(strstr(error, "(pthread_atfork)"));
    }
    result = 0; /* there is memory again */
    unsigned before = calls;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(create(false, error), TRIB_ERR_UNREACHABLE);
    }
    assert_int_equal(calls, before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__fails_without_a_handler_of_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
