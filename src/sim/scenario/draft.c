/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c: finds and refuses values of a draft: see draft.h. It calls no other file of the folder. Read next:
 * values.c. */
#include <stdarg.h>
#include <string.h>

#include "published/published.h"
#include "sim/scenario/draft.h"

uint32_t sim__table(const struct draft *d, const char *name)
{
    for (uint32_t i = 0; i < d->toml->table_count; i++) {
        if (strcmp(d->toml->tables[i].name, name) == 0) {
            return i;
        }
    }
    return SIM_NONE;
}

const struct trib_toml_value *sim__find(const struct draft *d, uint32_t table, const char *key)
{
    for (uint32_t i = 0; i < d->toml->value_count; i++) {
        if (d->toml->values[i].table == table && strcmp(d->toml->values[i].key, key) == 0) {
            return &d->toml->values[i];
        }
    }
    return NULL;
}

struct trib_file_place sim__place(const struct draft *d, uint32_t table, const char *key)
{
    const struct trib_toml_value *value = sim__find(d, table, key);

    return value != NULL       ? value->place
           : table != SIM_NONE ? d->toml->tables[table].place
                               : (struct trib_file_place){1, 1};
}

bool sim__refuse(struct draft *d, struct trib_file_place place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)trib_file_refuse_list(d->error, d->path, place, format, arguments);
    va_end(arguments);
    return false;
}

bool sim__at_most(struct draft *d, uint32_t table, const char *key, uint32_t value, uint32_t most)
{
    return value <= most || sim__refuse(d, sim__place(d, table, key), "%s is %u; the limit is %u", key, value, most);
}

size_t sim__next_word(const char **text)
{
    *text += strspn(*text, " ,\t");
    return strcspn(*text, " ,\t");
}

bool sim__has_roots(const struct trib_scheme *scheme)
{
    return scheme->switch_node != NULL;
}

bool sim__has_adders(const struct trib_scheme *scheme)
{
    return scheme->switch_node != NULL && (!scheme->has_servers || scheme->has_combiners);
}

bool sim__has_combiners(const struct trib_scheme *scheme)
{
    return scheme->has_combiners;
}

bool sim__has_servers(const struct sim_job_config *job)
{
    const struct trib_scheme *scheme = trib_published_find(job->scheme); /* NULL: ring in steps */

    return scheme != NULL && scheme->has_servers;
}

bool sim__has_chain(const struct sim_job_config *job)
{
    const struct trib_scheme *scheme = trib_published_find(job->scheme); /* NULL: ring in steps */

    return scheme != NULL && scheme->is_chain;
}

bool sim__names_marks(const struct sim_job_config *job)
{
    const struct trib_scheme *scheme = trib_published_find(job->scheme); /* NULL: ring in steps */

    return scheme != NULL && scheme->worker->set_child != NULL;
}
