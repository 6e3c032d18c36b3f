/* SPDX-License-Identifier: Apache-2.0 */
/* library_openssl.c: see openssl.h, and trib_keys_explain_lack of derive.h. */
#include <pthread.h>
#include <stddef.h>

#include "io/library.h"
#include "keys/derive.h"
#include "keys/openssl.h"

struct trib_openssl trib_openssl;

#define ROW(function) {#function, &trib_openssl.function##_},
static const struct trib_library_function functions[] = {TRIB_OPENSSL_FUNCTIONS(ROW){NULL, NULL}};
#undef ROW

/* Threads of the library may outlive main, and use OpenSSL meanwhile. */
static void begin(void)
{
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

/* The file of the headers that this was compiled with; libcrypto comes with it. */
static struct trib_library library = {
    .need = "keys need OpenSSL 3",
    .files = {"libssl.so.3"},
    .package = "libssl3",
    .functions = functions,
    .begin = begin,
    .once = PTHREAD_ONCE_INIT,
};

const char *trib_keys_explain_lack(void)
{
    return trib_library_explain_lack(&library);
}
