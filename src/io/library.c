/* SPDX-License-Identifier: Apache-2.0 */
/* library.c: see library.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "io/explain.h"
#include "io/library.h"

#define CAUSE_SIZE 160

/* Opens the first installed file; *file is the name. NULL: no file is installed; cause is the loader's text about the
 * first. RTLD_LOCAL: the program's own names do not meet those of the library. */
static void *open_one(const struct trib_library *library, const char **file, char cause[CAUSE_SIZE])
{
    void *opened = NULL;
    for (size_t i = 0; i < 2 && library->files[i] != NULL && opened == NULL; i++) {
        *file = library->files[i];
        opened = dlopen(*file, RTLD_NOW | RTLD_LOCAL);
        if (opened == NULL && i == 0) {
            const char *text = dlerror();
            (void)snprintf(cause, CAUSE_SIZE, "%s", text != NULL ? text : *file);
        }
    }
    return opened;
}

/* Is the process short of memory or of descriptors, by the loader's text? Then no package helps. glibc tells no errno
 * for a file beyond the limit of the address space. */
static bool is_short(const char *cause)
{
    static const int errors[] = {ENOMEM, EMFILE, ENFILE};
    char own[96];
    bool is_found = strstr(cause, "failed to map segment") != NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        is_found = is_found || strstr(cause, strerror_r(errors[i], own, sizeof own)) != NULL;
    }
    return is_found;
}

static void explain_unopened(const struct trib_library *library, const char *cause, char *error)
{
    if (is_short(cause)) {
        trib_explain(error,
                     "%s, which cannot be loaded (%s): give the process more memory and files (`ulimit -v`, `-n`)",
                     library->need, cause);
    } else {
        trib_explain(error, "%s, which is not installed here (%s): install %s", library->need, cause, library->package);
    }
}

static bool load(const struct trib_library *library, char *error)
{
    char cause[CAUSE_SIZE] = "";
    const char *file = NULL;
    void *opened = open_one(library, &file, cause);
    if (opened == NULL) {
        explain_unopened(library, cause, error);
        return false;
    }
    for (const struct trib_library_function *function = library->functions; function->name != NULL; function++) {
        void *found = dlsym(opened, function->name);
        if (found == NULL) {
            trib_explain(error, "%s, but %s has no function %s: install %s", library->need, file, function->name,
                         library->package);
            return false;
        }
        memcpy(function->place, &found, sizeof found); /* POSIX lets dlsym give functions, C has no cast for it */
    }
    return true;
}

static _Thread_local struct trib_library *wanted; /* pthread_once passes no argument */

static void load_wanted(void)
{
    if (load(wanted, wanted->lack) && wanted->begin != NULL) {
        wanted->begin();
    }
}

const char *trib_library_explain_lack(struct trib_library *library)
{
    wanted = library;
    (void)pthread_once(&library->once, load_wanted);
    return library->lack[0] == '\0' ? NULL : library->lack;
}
