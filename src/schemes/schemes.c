/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.c: the table. */
#include "schemes/schemes.h"

#include <assert.h>

#include "schemes/atp/atp.h"
#include "schemes/forward/forward.h"
#include "schemes/goat/goat.h"
#include "schemes/panama/panama.h"
#include "schemes/ps/ps.h"
#include "schemes/rina/rina.h"
#include "schemes/ring/ring.h"
#include "schemes/switchml/switchml.h"

static const struct trib_scheme *const schemes[] = {&trib_switchml, &trib_panama,  &trib_atp,  &trib_atp_aimd,
                                                    &trib_goat,     &trib_ps,      &trib_rina, &trib_ring,
                                                    &trib_hybrid,   &trib_forward, NULL};

const struct trib_scheme *trib_scheme_at(unsigned index)
{
    return index < sizeof schemes / sizeof schemes[0] ? schemes[index] : NULL;
}

/* Characters of the row's name, if `name` begins with it; else 0. Core and schemes need no more of libc than mem*. */
static size_t matched(const struct trib_scheme *scheme, const char *name)
{
    size_t at = 0;

    while (scheme->name[at] != '\0' && scheme->name[at] == name[at]) {
        at++;
    }
    return scheme->name[at] == '\0' ? at : 0;
}

/* Reads a number of 1 to TRIB_SESSION_RANKS_MAX without leading zeros; 0: there is none. */
static uint16_t read_number(const char **at)
{
    uint32_t number = 0;

    if (**at == '0') {
        return 0;
    }
    for (; **at >= '0' && **at <= '9' && number <= TRIB_SESSION_RANKS_MAX; (*at)++) {
        number = 10 * number + (uint32_t)(**at - '0');
    }
    return number <= TRIB_SESSION_RANKS_MAX ? (uint16_t)number : 0;
}

/* Reads the text behind the colon, "4" or "7/8". False: it is neither, or a part that is not at least a half and
 * less than all. */
static bool read_behind(const char *text, uint16_t *number, uint16_t *of)
{
    *number = read_number(&text);
    *of = 0;
    if (*number != 0 && *text == '/') {
        text++;
        *of = read_number(&text);
        return *text == '\0' && *of <= UINT8_MAX && *number < *of && 2 * *number >= *of;
    }
    return *number != 0 && *text == '\0';
}

static bool has_colon(const struct trib_scheme *scheme, const char *text)
{
    uint16_t number;
    uint16_t of;

    return read_behind(text, &number, &of) && (of == 0 ? scheme->has_groups : scheme->has_quorum);
}

void trib_scheme_settle(const char *name, struct trib_session_config *session)
{
    uint16_t number;
    uint16_t of;

    session->group = 0;
    session->quorum = session->quorum_of = 0;
    while (*name != '\0' && *name != ':') {
        name++;
    }
    if (*name == '\0' || !read_behind(name + 1, &number, &of)) {
        return;
    }
    if (of == 0) {
        session->group = number;
    } else {
        session->quorum = (uint8_t)number;
        session->quorum_of = (uint8_t)of;
    }
}

bool trib_scheme_names_quorum(const char *name)
{
    struct trib_session_config session;

    trib_scheme_settle(name, &session);
    return session.quorum_of != 0;
}

const struct trib_scheme *trib_scheme_find_in(const struct trib_scheme *const *table, const char *name)
{
    for (; *table != NULL; table++) {
        size_t at = matched(*table, name);
        if (at != 0 && (name[at] == '\0' || (name[at] == ':' && has_colon(*table, name + at + 1)))) {
            return *table;
        }
    }
    return NULL;
}

const struct trib_scheme *trib_scheme_find(const char *name)
{
    return trib_scheme_find_in(schemes, name);
}

static bool has_slash(const char *text)
{
    while (*text != '\0' && *text != '/') {
        text++;
    }
    return *text == '/';
}

const char *trib_scheme_explain_in(const struct trib_scheme *const *table, const char *name)
{
    const struct trib_scheme *scheme;
    const char *text = NULL;

    static_assert(UINT8_MAX == 255 && TRIB_SESSION_RANKS_MAX == 1024, "as the rules say");
    for (; (scheme = *table) != NULL; table++) {
        size_t at = matched(scheme, name);
        if (at != 0 && name[at] == ':') {
            text = name + at + 1;
            break;
        }
    }
    if (scheme == NULL || has_colon(scheme, text)) {
        return NULL;
    }
    if (scheme->has_quorum) {
        return TRIB_SCHEME_QUORUM_RULE;
    }
    if (has_slash(text)) {
        return "it has no quorum; panama has";
    }
    if (scheme->has_servers) {
        return "it takes no number; how many servers there are is said by `tributary server --with`";
    }
    return scheme->has_groups ? TRIB_SCHEME_GROUPS_RULE : "it has no groups; hybrid has";
}

const char *trib_scheme_explain(const char *name)
{
    return trib_scheme_explain_in(schemes, name);
}
