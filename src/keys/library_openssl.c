/* SPDX-License-Identifier: Apache-2.0 */
/* library_openssl.c: see openssl.h, and trib_keys_explain_lack of derive.h. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "io/explain.h"
#include "keys/derive.h"
#include "keys/openssl.h"

#define LIBRARY "libssl.so.3" /* of the headers it was compiled with; libcrypto comes with it */

struct trib_openssl trib_openssl;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static bool is_loaded;
static char lack[TRIB_ERROR_TEXT_MAX];

static bool find(void *library, const char *name, void *function, char *error)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        trib_explain(error, "%s", name);
        return false;
    }
    memcpy(function, &found, sizeof found); /* POSIX lets dlsym give functions, C has no cast for it */
    return true;
}

bool trib_openssl_load(const char *file, struct trib_openssl *table, char *error)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL); /* never closed: its threads may outlive main */
    if (library == NULL) {
        trib_explain(error, "keys need OpenSSL 3, which is not installed here (%.120s): install libssl3", dlerror());
        return false;
    }
    char name[TRIB_ERROR_TEXT_MAX] = "";
#define FIND(function) &&find(library, #function, &table->function##_, name)
    bool is_whole = true TRIB_OPENSSL_FUNCTIONS(FIND);
#undef FIND
    if (!is_whole) {
        trib_explain(error, "keys need OpenSSL 3, but %.120s has no function %.60s: install libssl3", file, name);
        (void)dlclose(library);
    }
    return is_whole;
}

static void load(void)
{
    is_loaded = trib_openssl_load(LIBRARY, &trib_openssl, lack);
    if (is_loaded) {
        /* Threads of the library may outlive main, and use OpenSSL meanwhile. */
        (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    }
}

const char *trib_keys_explain_lack(void)
{
    (void)pthread_once(&loaded, load);
    return is_loaded ? NULL : lack;
}
