/* SPDX-License-Identifier: Apache-2.0 */
/* demo.c: `make demo`. Trains the network of net.h three times on this machine: by four workers and a switch; by four
 * workers and a switch with lost, doubled and reordered packets and a switch that is killed half way; and in a single
 * process. Then compares, prints tables, and writes demo.html.
 *
 * Exit status: 0 if everything holds, 1 if not, 2 for a wrong command line, 128 + the signal that ended it.
 * Read next: demo_run.c. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "demo.h"
#include "demo_child.h"

static const char usage[] = "usage: digits-demo [options]\n"
                            "  --epochs N    training epochs of each run, 4 to 200 [20]\n"
                            "  --html FILE   where the page goes [demo.html beside the folder of this program]\n";

/* The folder of this program, where digits and tributary are as well. */
static bool programs_find(struct demo *demo)
{
    static const char *const names[] = {"tributary", "digits"};
    char path[DEMO_PATH_MAX + 16];
    ssize_t len = readlink("/proc/self/exe", demo->programs, sizeof(demo->programs) - 1);
    char *slash = len > 0 ? memrchr(demo->programs, '/', (size_t)len) : NULL;
    if (slash == NULL) {
        fprintf(stderr, "digits-demo: cannot find its own folder: %s\n", strerror(errno));
        return false;
    }
    *slash = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", demo->programs, names[i]);
        if (access(path, X_OK) != 0) {
            fprintf(stderr, "digits-demo: %s: %s (make builds it)\n", path, strerror(errno));
            return false;
        }
    }
    return true;
}

static bool directory_make(struct demo *demo)
{
    const char *parent = getenv("TMPDIR");
    snprintf(demo->directory, sizeof(demo->directory), "%s/tributary-demo-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(demo->directory) == NULL) {
        fprintf(stderr, "digits-demo: cannot make %s: %s\n", demo->directory, strerror(errno));
        demo->directory[0] = '\0';
        return false;
    }
    return true;
}

/* Removes the folder that directory_make made, with the files in it. */
static void directory_remove(const struct demo *demo)
{
    DIR *directory = demo->directory[0] != '\0' ? opendir(demo->directory) : NULL;
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    closedir(directory);
    rmdir(demo->directory);
}

/* Returns the exit status, -1 to go on. */
static int options_read(struct demo *demo, int argc, char **argv)
{
    static const struct option known[] = {{"epochs", required_argument, NULL, 'e'},
                                          {"html", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int name;
    char *end = NULL;
    while ((name = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (name == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (name == 'o') {
            snprintf(demo->html, sizeof(demo->html), "%s", optarg);
        } else if (name == 'e') {
            unsigned long epochs = strtoul(optarg, &end, 10);
            demo->epochs = epochs >= 4 && epochs <= DEMO_EPOCHS_MAX ? (uint32_t)epochs : 0;
        } else {
            demo->epochs = 0;
        }
    }
    if (optind < argc || demo->epochs == 0 || (end != NULL && *end != '\0')) {
        fputs(usage, stderr);
        return 2;
    }
    return -1;
}

static bool run_all(struct demo *demo)
{
    printf("Handwritten digits, 64-1024-512-10 network, %d parameters, every gradient summed by a software switch.\n"
           "Everything runs on this machine, over UDP on its loopback device.\n",
           NET_PARAMETERS);
    printf("\n1. clean\n");
    if (!demo_run_switched(demo, &demo->clean)) {
        return false;
    }
    printf("\n2. with 1 %% loss, 1 %% duplication, 1 %% reordering at every receiver, and a killed switch\n");
    if (!demo_run_switched(demo, &demo->faults)) {
        return false;
    }
    printf("\n3. in a single process, without a network\n");
    return demo_run_single(demo, &demo->single) && demo_read_difference(demo);
}

static bool conclude(struct demo *demo)
{
    bool good = demo_check_all(demo);
    demo_print_hashes(demo);
    demo_print_tables(demo);
    demo_print_checks(demo);
    printf("\n%s in %.1f s.\n", good ? "All holds" : "NOT ALL HOLDS", demo->seconds);
    fflush(stdout);
    bool written = demo_write_html(demo);
    if (written) {
        printf("Pictures: %s\n", demo->html);
    }
    return good && written;
}

int main(int argc, char **argv)
{
    static struct demo demo = {.epochs = 20,
                               .clean = {.name = "clean"},
                               .faults = {.name = "faults", .faults = true},
                               .single = {.name = "single"}};
    int status = options_read(&demo, argc, argv);
    if (status >= 0) {
        return status;
    }
    if (!programs_find(&demo)) {
        return 1;
    }
    if (demo.html[0] == '\0') {
        const char *end = strrchr(demo.programs, '/');
        snprintf(demo.html, sizeof(demo.html), "%.*s/demo.html", end != NULL ? (int)(end - demo.programs) : 0,
                 demo.programs);
    }
    children_begin();
    double begin = clock_seconds();
    bool good = directory_make(&demo) && run_all(&demo);
    demo.seconds = clock_seconds() - begin;
    good = good && conclude(&demo);
    children_stop_all();
    directory_remove(&demo);
    if (children_signal() != 0) {
        fprintf(stderr, "digits-demo: ended by signal %d; its processes are stopped\n", children_signal());
        return 128 + children_signal();
    }
    return good ? 0 : 1;
}
