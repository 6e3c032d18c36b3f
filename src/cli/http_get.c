/* SPDX-License-Identifier: Apache-2.0 */
/* http_get.c: see http_get.h. */
#include "cli/http_get.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/explain.h"

#define WAIT_MS 5000L

static size_t take(const char *data, size_t size, size_t count, void *file)
{
    return fwrite(data, size, count, file) * size;
}

/* The switch answers itself or not at all: no redirects, no proxies. */
static CURLcode perform(CURL *curl, const char *url, FILE *body, char *detail)
{
    detail[0] = '\0';
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, WAIT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    return curl_easy_perform(curl);
}

char *http_get(const char *url, size_t *len, char *error)
{
    char *text = NULL;
    char detail[CURL_ERROR_SIZE];
    CURL *curl = curl_easy_init();
    FILE *body = curl != NULL ? open_memstream(&text, len) : NULL;

    if (body == NULL) {
        curl_easy_cleanup(curl);
        trib_explain(error, "out of memory");
        return NULL;
    }
    CURLcode code = perform(curl, url, body, detail);
    curl_easy_cleanup(curl);
    if (fclose(body) == 0 && code == CURLE_OK) {
        return text;
    }
    free(text);
    trib_explain(error, "%s: %s", url, detail[0] != '\0' ? detail : curl_easy_strerror(code));
    return NULL;
}
