/* SPDX-License-Identifier: Apache-2.0 */
/* switch_names.c: see switch_names.h. */
#include "cli/switch_names.h"
#include "switchd/switchd.h"

#include <string.h>

/* The number of `text` in the list "a,b,c"; TRIB_NO_PLACE: it is none of them. */
static uint32_t find_in_list(const char *list, const char *text)
{
    size_t len = strlen(text);
    for (uint32_t i = 0; list != NULL && len > 0; i++) {
        const char *comma = strchr(list, ',');
        size_t item = comma != NULL ? (size_t)(comma - list) : strlen(list);
        if (item == len && memcmp(list, text, len) == 0) {
            return i;
        }
        list = comma != NULL ? comma + 1 : NULL;
    }
    return TRIB_NO_PLACE;
}

/* As it was named on the command line, or by its address. */
static uint32_t find(const void *user, const char *text)
{
    struct trib_address address;
    const struct switch_names *names = user;
    const struct trib_switchd_config *config = names->config;
    uint32_t lender = find_in_list(names->with, text);
    if (lender != TRIB_NO_PLACE || find_in_list(names->listen, text) != TRIB_NO_PLACE) {
        return lender != TRIB_NO_PLACE ? lender + 1 : 0;
    }
    if (!trib_address_read(text, &address)) {
        return TRIB_NO_PLACE;
    }
    for (uint32_t i = 0; i < config->lenders.count; i++) {
        if (trib_address_equal(&config->lenders.at[i], &address)) {
            return i + 1;
        }
    }
    return trib_switchd_is_at(config, &address) ? 0 : TRIB_NO_PLACE;
}

static void format(const void *user, uint32_t which, char text[64])
{
    const struct trib_switchd_config *config = ((const struct switch_names *)user)->config;
    trib_address_format(which == 0 ? &config->listen : &config->lenders.at[which - 1], text);
}

struct trib_switch_names switch_names_of(const struct switch_names *names)
{
    return (struct trib_switch_names){
        .count = names->config->lenders.count + 1, .find = find, .format = format, .user = names};
}
