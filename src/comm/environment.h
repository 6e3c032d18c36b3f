/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: the one table of environment variables: names, help and readers. launcher.c fills a config from it,
 * `tributary info` prints it.
 * Read next: launcher.c. */
#ifndef TRIB_COMM_ENVIRONMENT_H
#define TRIB_COMM_ENVIRONMENT_H

#include <tributary/comm.h>

struct trib_variable {
    const char *name;
    const char *example; /* a valid value */
    const char *help;    /* one line, default in brackets */
    /* Reads text into the variable's field of a config; error (may be NULL) takes the cause without the name. NULL:
     * others read this variable. */
    enum trib_status (*read)(const struct trib_variable *variable, const char *text, void *field, char *error);
    size_t at, size;   /* of the field in struct trib_config */
    uint64_t min, max; /* of the value in its smallest unit; some readers ignore both */
};

/* Calls read. */
static inline enum trib_status trib_variable_read(const struct trib_variable *variable, const char *text,
                                                  struct trib_config *config, char *error)
{
    return variable->read(variable, text, (char *)config + variable->at, error);
}

/* Set by `tributary run` and `perf --workers` for their ranks, all on one host: errors in the environment are
 * reported already, and rank 0 alone reports a switch that is not up yet. */
#define TRIB_ENVIRONMENT_CHECKED "TRIBUTARY_RUN_CHECKED"

/* The variable at index, NULL behind the last. */
const struct trib_variable *trib_variable_at(unsigned index);

/* Reads "loss=1%,duplicate=1%,reorder=1%,corrupt=0.1%,seed=7", the form of TRIB_FAULTS. Returns ERR_INVALID with the
 * cause. */
TRIB_MUST_USE enum trib_status trib_faults_parse(const char *text, struct trib_faults *faults, char *error);

/* Variables for rank and size when TRIB_RANK and TRIB_RANKS are not set, in this order. */
struct trib_launcher {
    const char *name; /* "torchrun" */
    const char *rank;
    const char *ranks;
    const char *run[2]; /* variables that are the same on all ranks of one launch; NULL: none, or no second one */
};
const struct trib_launcher *trib_launcher_at(unsigned index);

#endif
