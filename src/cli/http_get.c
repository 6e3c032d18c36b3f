/* SPDX-License-Identifier: Apache-2.0 */
/* http_get.c: see http_get.h. libcurl is loaded with the first question (io/library.h). */
#include "cli/http_get.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/explain.h"
#include "io/library.h"

#define WAIT_MS 5000L

/* libcurl's functions, without "curl_". */
/* clang-format off */
#define FUNCTIONS(X) \
    X(easy_cleanup) X(easy_init) X(easy_perform) X(easy_setopt) X(easy_strerror)

static struct {
#define FIELD(name) __typeof__(curl_##name) *(name);
    FUNCTIONS(FIELD)
#undef FIELD
} curl;

static const struct trib_library_function functions[] = {
#define ROW(name) {"curl_" #name, &curl.name},
    FUNCTIONS(ROW)
#undef ROW
    {NULL, NULL},
};
/* clang-format on */

/* Debian has the same library with GnuTLS under the second name. */
static struct trib_library library = {
    .need = "the HTTP client needs libcurl",
    .files = {"libcurl.so.4", "libcurl-gnutls.so.4"},
    .package = "libcurl4",
    .functions = functions,
    .once = PTHREAD_ONCE_INIT,
};

const char *http_get_explain_lack(void)
{
    return trib_library_explain_lack(&library);
}

static size_t take(char *data, size_t size, size_t count, void *file)
{
    return fwrite(data, size, count, file) * size;
}

/* libcurl's check of a value's type is a macro that calls the linked function. So each kind of option has a setter
 * here, and the type of its parameter is the type that libcurl reads. */
static void set_number(CURL *handle, CURLoption option, long number)
{
    (void)curl.easy_setopt(handle, option, number);
}

static void set_text(CURL *handle, CURLoption option, const char *text)
{
    (void)curl.easy_setopt(handle, option, text);
}

/* The switch answers itself or not at all: no redirects, no proxies. */
static CURLcode perform(CURL *handle, const char *url, const struct http_access *access, FILE *body,
                        char detail[CURL_ERROR_SIZE])
{
    const curl_write_callback sink = take;
    detail[0] = '\0';
    set_text(handle, CURLOPT_URL, url);
    set_text(handle, CURLOPT_PROXY, "");
    set_number(handle, CURLOPT_TIMEOUT_MS, WAIT_MS);
    set_number(handle, CURLOPT_NOSIGNAL, 1);
    set_number(handle, CURLOPT_FAILONERROR, 1);
    if (access->token != NULL) {
        set_number(handle, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        set_text(handle, CURLOPT_XOAUTH2_BEARER, access->token);
    }
    if (access->ca != NULL) {
        set_text(handle, CURLOPT_CAINFO, access->ca);
    }
    (void)curl.easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
    (void)curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, sink);
    (void)curl.easy_setopt(handle, CURLOPT_WRITEDATA, body);
    return curl.easy_perform(handle);
}

char *http_get(const char *url, const struct http_access *access, size_t *len, char *error)
{
    char *text = NULL;
    char detail[CURL_ERROR_SIZE];

    if (http_get_explain_lack() != NULL) {
        trib_explain(error, "%s", http_get_explain_lack());
        return NULL;
    }
    CURL *handle = curl.easy_init();
    FILE *body = handle != NULL ? open_memstream(&text, len) : NULL;
    if (body == NULL) {
        curl.easy_cleanup(handle);
        trib_explain(error, "out of memory");
        return NULL;
    }
    CURLcode code = perform(handle, url, access, body, detail);
    curl.easy_cleanup(handle);
    if (fclose(body) == 0 && code == CURLE_OK) {
        return text;
    }
    free(text);
    trib_explain(error, "%s: %s", url, detail[0] != '\0' ? detail : curl.easy_strerror(code));
    return NULL;
}
