/* SPDX-License-Identifier: Apache-2.0 */
/* published.c: the table. */
#include "published/published.h"

#include "published/atp_literal/atp_literal.h"
#include "published/literal/literal.h"
#include "published/panama_literal/panama_literal.h"
#include "published/rina_literal/rina_literal.h"
#include "schemes/atp/atp.h"
#include "schemes/forward/forward.h"
#include "schemes/goat/goat.h"
#include "schemes/panama/panama.h"
#include "schemes/ps/ps.h"
#include "schemes/rina/rina.h"
#include "schemes/ring/ring.h"
#include "schemes/schemes.h"
#include "schemes/switchml/switchml.h"

/* Each rule follows the scheme that repairs it, in the order of `tributary info`. */
static const struct trib_scheme *const table[] = {
    &trib_switchml, &trib_literal, &trib_panama, &trib_panama_literal, &trib_atp,          &trib_atp_literal,
    &trib_atp_aimd, &trib_goat,    &trib_ps,     &trib_rina,           &trib_rina_literal, &trib_ring,
    &trib_hybrid,   &trib_forward, NULL};

const struct trib_scheme *trib_published_at(unsigned index)
{
    return index < sizeof table / sizeof table[0] ? table[index] : NULL;
}

const struct trib_scheme *trib_published_find(const char *name)
{
    return trib_scheme_find_in(table, name);
}

const char *trib_published_explain(const char *name)
{
    return trib_scheme_explain_in(table, name);
}
