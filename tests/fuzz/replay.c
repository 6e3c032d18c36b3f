/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: stands in for libFuzzer where there is none: feeds every file named on the command line, and every file of
 * a folder named there, to the fuzz target. So the committed corpus is an ordinary test with any compiler. A finding
 * ends the program. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

static int complain(const char *path)
{
    perror(path);
    return -1;
}

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return complain(path);
    }
    uint8_t *data = malloc(size + 1);
    size_t len = data == NULL ? 0 : fread(data, 1, size, file);
    fclose(file);
    if (data == NULL || len != size) {
        free(data);
        return complain(path);
    }
    LLVMFuzzerTestOneInput(data, len);
    free(data);
    return 1;
}

static int replay_folder(const char *path);

/* Returns how many inputs were run, -1 when something could not be read. */
static int replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return complain(path);
    }
    return S_ISDIR(info.st_mode) ? replay_folder(path) : replay_file(path, (size_t)info.st_size);
}

static int replay_folder(const char *path)
{
    int total = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return complain(path);
    }
    for (struct dirent *entry = readdir(folder); entry != NULL && total >= 0; entry = readdir(folder)) {
        char inner[4096];
        int len = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof inner) {
            continue;
        }
        int count = replay(inner);
        total = count < 0 ? -1 : total + count;
    }
    closedir(folder);
    return total;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);
        if (count < 0) {
            return 1;
        }
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
