/* SPDX-License-Identifier: Apache-2.0 */
/* published.h: the table of schemes, with the rules as published in papers. The simulator, `tributary demo` and the
 * tests find schemes here; no job can name a published rule. This folder is a library of its own and no part of
 * libtributary. Read next: rule.h, literal/literal.h, panama_literal/panama_literal.h. */
#ifndef TRIB_PUBLISHED_H
#define TRIB_PUBLISHED_H

#include "schemes/schemes.h"

/* As trib_scheme_find, trib_scheme_explain and trib_scheme_at, for this table. A row with a refusal is a published
 * rule. */
const struct trib_scheme *trib_published_find(const char *name);
const char *trib_published_explain(const char *name);
const struct trib_scheme *trib_published_at(unsigned index);

#endif
