/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.h: the table of schemes: one row each. Adding a scheme is a folder and a row; no driver changes.
 * Read next: scheme.h (a row). */
#ifndef TRIB_SCHEMES_SCHEMES_H
#define TRIB_SCHEMES_SCHEMES_H

#include "schemes/scheme.h"

/* Texts that may stand behind a colon, for help. */
#define TRIB_SCHEME_QUORUM_RULE "a quorum is M/N, at least 1/2 and less than 1, N at most 255"
#define TRIB_SCHEME_GROUPS_RULE "a group is as many ranks as a number says, from 1 to 1024"

/* NULL when there is none of that name. */
const struct trib_scheme *trib_scheme_find(const char *name);
/* The same of another table; NULL is behind its last row. */
const struct trib_scheme *trib_scheme_find_in(const struct trib_scheme *const *table, const char *name);
/* If none was found, although a scheme has the name before the colon: the fault of the rest, in one sentence, the same
 * for any source of the name. NULL: there is no such scheme, or nothing is wrong. */
const char *trib_scheme_explain(const char *name);
const char *trib_scheme_explain_in(const struct trib_scheme *const *table, const char *name);
/* The part behind the colon of a job's name goes into the session: how many ranks are a group, the 4 of
 * "hybrid:4", or which part of the ranks makes a sum, the 7/8 of "panama:7/8"; 0 where it says nothing. */
void trib_scheme_settle(const char *name, struct trib_session_config *session);
/* True if sums may lack ranks. */
bool trib_scheme_names_quorum(const char *name);
/* The row at index, NULL behind the last. */
const struct trib_scheme *trib_scheme_at(unsigned index);

#endif
