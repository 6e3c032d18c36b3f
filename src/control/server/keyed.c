/* SPDX-License-Identifier: Apache-2.0 */
/* keyed.c: the sessions that need a key. The switch at the end of a rank's connection checks the key id in JOIN; for a
 * channel, the switch below has checked the id. Read next: connections.c. */
#include <inttypes.h>

#include "control/server/connection.h"
#include "control/server/keyed.h"
#include "io/explain.h"

/* For a JOIN: the key id must be the id of the rank's connection. */
static bool lacks_job_key(const struct trib_server_config *config, const struct trib_connection *connection,
                          const struct trib_message *message, char *cause)
{
    uint64_t said = message->join.key;
    uint64_t known = connection->fd >= 0 ? trib_line_key_id(&connection->line) : said;
    if (said != known) {
        trib_explain(cause, "rank %u names key %016" PRIx64 ", but its session has %016" PRIx64, message->join.rank,
                     said, known);
        return true;
    }
    if (said == 0 && config->keys && config->keys->is_for_jobs) {
        trib_explain(cause,
                     "rank %u of job %s has no key, and %s takes jobs with a key only: give the key to all ranks "
                     "(TRIB_KEY_FILE)",
                     message->join.rank, message->join.job,
                     config->shards > 0 ? "this switch (--keys)" : "rank 0's process");
        return true;
    }
    return false;
}

bool trib_connection_lacks_key(const struct trib_connections *connections, const struct trib_connection *connection,
                               const struct trib_message *message, char *cause)
{
    const struct trib_server_config *config = connections->jobs->config;
    bool is_of_switch = message->kind == TRIB_MESSAGE_HELLO || message->kind == TRIB_MESSAGE_CONTROL;
    if (message->kind == TRIB_MESSAGE_JOIN) {
        return lacks_job_key(config, connection, message, cause);
    }
    if (!is_of_switch || !config->keys || connection->fd < 0) {
        return false;
    }
    if (config->keys->own.is_set && trib_line_key_id(&connection->line) == trib_key_id_number(&config->keys->own)) {
        return false;
    }
    trib_explain(cause,
                 "this switch takes other switches with the key of its operator only: start both with one --key");
    return true;
}
