/* SPDX-License-Identifier: Apache-2.0 */
/* test_library.c: a library that is there, under its first name or its second; one that is not installed; one without
 * a function; a process without descriptors; and many threads that need one. Mirrors src/io/library.c. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include <tributary/comm.h>

#include "io/library.h"

#define MISSING "libtributary_is_not_there.so.1"
#define THERE "libm.so.6"

static double (*round_up)(double);
static double (*round_down)(double);
static unsigned begun;

static const struct trib_library_function rounding[] = {{"ceil", &round_up}, {"floor", &round_down}, {NULL, NULL}};
static const struct trib_library_function not_rounding[] = {
    {"ceil", &round_up}, {"tributary_round", &round_down}, {NULL, NULL}};

static void count(void)
{
    begun++;
}

static struct trib_library library_of(const char *first, const char *second,
                                      const struct trib_library_function *functions)
{
    return (struct trib_library){.need = "rounding needs numbers",
                                 .files = {first, second},
                                 .package = "libnumbers7",
                                 .functions = functions,
                                 .begin = count,
                                 .once = PTHREAD_ONCE_INIT};
}

static int forget(void **state)
{
    (void)state;
    round_up = NULL;
    round_down = NULL;
    begun = 0;
    return 0;
}

static void expect_loaded(struct trib_library library)
{
    assert_null(trib_library_explain_lack(&library));
    assert_true(round_up(2.5) == 3 && round_down(2.5) == 2);
    assert_null(trib_library_explain_lack(&library));
    assert_int_equal(begun, 1);
}

static void load__fills_the_pointers(void **state)
{
    (void)state;
    expect_loaded(library_of(THERE, NULL, rounding));
}

static void load__under_its_second_name(void **state)
{
    (void)state;
    expect_loaded(library_of(MISSING, THERE, rounding));
}

/* The text names the first file, which is in the package. */
static void load__that_is_not_installed(void **state)
{
    static const char *const seconds[] = {NULL, "lib_nor_is_this.so.1"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct trib_library library = library_of(MISSING, seconds[i], rounding);
        const char *lack = trib_library_explain_lack(&library);
        assert_non_null(lack);
        assert_null(strstr(lack, "lib_nor_is_this"));
        assert_ptr_equal(strstr(lack, "rounding needs numbers, which is not installed here (" MISSING ": "), lack);
        assert_non_null(strstr(lack, "): install libnumbers7"));
        assert_ptr_equal(trib_library_explain_lack(&library), lack);
        assert_null(round_up);
        assert_int_equal(begun, 0);
    }
}

/* No package helps a process that has no descriptor left for the file. */
static void load__without_a_descriptor(void **state)
{
    struct trib_library library = library_of(MISSING, NULL, rounding);
    struct rlimit files;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const char *lack = trib_library_explain_lack(&library);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_non_null(lack);
    assert_string_equal(lack, "rounding needs numbers, which cannot be loaded (" MISSING
                              ": cannot open shared object file: Too many open files): give the process more memory "
                              "and files (`ulimit -v`, `-n`)");
}

static void load__without_a_function(void **state)
{
    struct trib_library library = library_of(THERE, NULL, not_rounding);
    struct trib_library second = library_of(MISSING, THERE, not_rounding);
    (void)state;
    const char *lack = trib_library_explain_lack(&library);
    assert_non_null(lack);
    assert_string_equal(lack,
                        "rounding needs numbers, but " THERE " has no function tributary_round: install libnumbers7");
    assert_null(round_down);
    lack = trib_library_explain_lack(&second);
    assert_non_null(lack);
    assert_non_null(strstr(lack, "but " THERE " has no function"));
    assert_int_equal(begun, 0);
}

static void *need_it(void *library)
{
    const char *lack = trib_library_explain_lack(library);
    return lack == NULL && begun == 1 && round_up(2.5) == 3 && round_down(2.5) == 2 ? NULL : library;
}

static void load__by_many_threads_is_one(void **state)
{
    struct trib_library library = library_of(MISSING, THERE, rounding);
    pthread_t threads[8];
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, need_it, &library), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(load__fills_the_pointers, forget),
        cmocka_unit_test_setup(load__under_its_second_name, forget),
        cmocka_unit_test_setup(load__that_is_not_installed, forget),
        cmocka_unit_test_setup(load__without_a_descriptor, forget),
        cmocka_unit_test_setup(load__without_a_function, forget),
        cmocka_unit_test_setup(load__by_many_threads_is_one, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
