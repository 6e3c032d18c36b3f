/* SPDX-License-Identifier: Apache-2.0 */
/* leaf_agent.h: a switch below a controller, as its agent, without sockets: the real masters.h over a data plane of the
 * test's. The test carries the messages. Used by leaves_harness.h, leaf.h, switches_harness.h and tests/fuzz. */
#ifndef TRIB_TESTS_LEAF_AGENT_H
#define TRIB_TESTS_LEAF_AGENT_H

#include <string.h>

#include "control/roots/masters.h"

struct leaf_agent {
    const struct trib_server_config *config; /* borrowed */
    struct trib_jobs_output output;          /* nobody reads the log */
    struct trib_agent agent;
    struct trib_masters masters;
    struct trib_master *master; /* the controller above; NULL: out of memory */
};

static inline void leaf_agent_init(struct leaf_agent *leaf, const struct trib_server_config *config, void *owner,
                                   void (*send)(void *owner, const struct trib_message *message))
{
    memset(leaf, 0, sizeof *leaf);
    leaf->config = config;
    trib_agent_init(&leaf->agent, &config->plane, config->shards);
    leaf->agent.memory_quota = config->memory_quota;
    leaf->agent.job_quota = config->job_quota;
    trib_masters_init(&leaf->masters, &leaf->agent, config, &leaf->output);
    leaf->masters.here = config->listen;
    leaf->masters.above = (struct trib_masters_above){owner, send};
    leaf->master = trib_masters_add_above(&leaf->masters);
}

/* As the connection's driver does, which hands over nothing else. */
static inline void leaf_agent_hear(struct leaf_agent *leaf, const struct trib_message *message)
{
    if (leaf->master && trib_message_is_in_turn(message->kind, TRIB_SENDER_UPPER, TRIB_STAGE_WELCOMED)) {
        trib_masters_receive(&leaf->masters, leaf->master, message);
    }
}

/* The connection has ended. */
static inline void leaf_agent_deinit(struct leaf_agent *leaf)
{
    if (leaf->master) {
        trib_masters_remove(&leaf->masters, leaf->master);
        leaf->master = NULL;
    }
}

/* What such a switch says of itself. Without addresses of its own it is where its connection comes from. */
static inline struct trib_message leaf_agent_hello(const struct trib_server_config *config, uint64_t life,
                                                   uint32_t attempt)
{
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = config->identity,
                                           .life = life,
                                           .attempt = attempt,
                                           .room = config->receive_room,
                                           .weight = 1,
                                           .shards = (uint8_t)config->shards}};
    for (uint32_t i = 0; i < config->shards; i++) {
        const struct trib_address at = trib_server_shard(config, i);
        hello.hello.at[i] = config->also.count > 0 ? at : trib_address_v4(INADDR_ANY, trib_address_port(&at));
    }
    return hello;
}

#endif
