/* SPDX-License-Identifier: Apache-2.0 */
/* library.h: loads a shared library at the first use (dlopen). A program that does not need the library spends no
 * time on it. The library's headers give the types: the user has a pointer of type __typeof__(&function) for each
 * function. Read next: keys/library_openssl.c (a user). */
#ifndef TRIB_IO_LIBRARY_H
#define TRIB_IO_LIBRARY_H

#include <pthread.h>

#include <tributary/comm.h>

struct trib_library_function {
    const char *name; /* NULL: end of the list */
    void *place;      /* address of the pointer to the function */
};

struct trib_library {
    const char *need;     /* first words of an error, such as "keys need OpenSSL 3" */
    const char *files[2]; /* such as "libssl.so.3"; the second: tried if the first is not installed, or NULL */
    const char *package;  /* package of Debian with the first file */
    const struct trib_library_function *functions;
    void (*begin)(void); /* called once, after the functions have their pointers; or NULL */
    pthread_once_t once; /* PTHREAD_ONCE_INIT */
    char lack[TRIB_ERROR_TEXT_MAX];
};

/* The first call loads the library and writes the pointers. NULL: the functions may be called. Else the cause and the
 * remedy: the library is not installed, lacks a function, or needs memory or descriptors beyond the limits of the
 * process. Later calls say the same, from any thread. A loaded library stays until the process ends: threads of the
 * library may outlive main. */
const char *trib_library_explain_lack(struct trib_library *library);

#endif
