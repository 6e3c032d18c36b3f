/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.h: the table of schemes: one row each. Adding a scheme is a folder and a row; no driver changes.
 * Read next: switchml/switchml.h. */
#ifndef TRIB_SCHEMES_SCHEMES_H
#define TRIB_SCHEMES_SCHEMES_H

#include "core/node.h"

struct trib_scheme {
    const char *name;
    const char *guarantee; /* one sentence for `tributary info` */
    const char *refusal;   /* why no job may run it, for the error that a job gets; NULL: any job may */
    /* Why it cannot run a communicator with these settings, or NULL: for the error that a job gets. NULL: it can run all. */
    const char *(*unfit)(const struct trib_session_config *session);
    const struct trib_worker_verbs *worker;
    const struct trib_switch_verbs *switch_node; /* NULL: its ranks need no switch */
};

/* NULL when there is none of that name. */
const struct trib_scheme *trib_scheme_find(const char *name);
/* The row at index, NULL behind the last. */
const struct trib_scheme *trib_scheme_at(unsigned index);

#endif
