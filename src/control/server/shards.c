/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c: addresses of this switch's shards, and multicast groups. Read next: server.h. */
#include "control/server.h"

struct trib_address trib_server_shard(const struct trib_server_config *config, uint32_t shard)
{
    uint32_t index = shard % (config->also.count + 1);
    struct trib_address address = index == 0 ? config->listen : config->also.at[index - 1];
    trib_address_set_port(&address, (uint16_t)(trib_address_port(&config->listen) + shard));
    return address;
}

bool trib_server_is_own_place(const struct trib_server_config *config, const struct trib_address *local,
                              const struct trib_address *place)
{
    for (uint32_t i = 0; i < config->shards; i++) {
        struct trib_address shard = trib_server_shard(config, i);
        if (trib_address_is_any(&shard) && local->len > 0) {
            shard = *local;
        }
        if (trib_address_same_host(&shard, place) &&
            trib_address_port(place) == trib_address_port(&config->listen) + i) {
            return true;
        }
    }
    return false;
}

bool trib_server_has_groups(const struct trib_server_config *config)
{
    return config->group != 0 && trib_address_port(&config->listen) + 2U * TRIB_ROOTS_MAX <= UINT16_MAX;
}

uint16_t trib_server_group_port(const struct trib_server_config *config)
{
    return (uint16_t)(trib_address_port(&config->listen) + TRIB_ROOTS_MAX);
}

bool trib_server_has_group(const struct trib_server_config *config, uint32_t group, uint16_t port)
{
    return trib_server_has_groups(config) && group >= config->group && group - config->group < TRIB_GROUPS_MAX &&
           port == trib_server_group_port(config);
}
