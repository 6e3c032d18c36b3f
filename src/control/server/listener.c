/* SPDX-License-Identifier: Apache-2.0 */
/* listener.c: see listener.h. */
#include "control/server/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/explain.h"

#define BACKLOG 1024

static void set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value); /* all options are optional */
}

enum trib_status trib_listener_open(const struct trib_address *address, int *fd, struct trib_address *bound,
                                    char *error)
{
    char text[64];
    trib_address_format(address, text);
    const struct sockaddr *where = (const struct sockaddr *)(const void *)&address->storage;
    int listener = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        trib_explain(error, "cannot open a TCP socket for %s: %s", text, trib_explain_errno(errno));
        return TRIB_ERR_SYSTEM;
    }
    set_option(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(listener, IPPROTO_IPV6, IPV6_V6ONLY,
               0); /* a peer that comes to [::] over IPv4 is told the cause of the refusal, or served HTTP */
    if (bind(listener, where, address->len) != 0 || listen(listener, BACKLOG) != 0) {
        int cause = errno;
        trib_explain(error, "cannot listen on TCP %s: %s%s", text, trib_explain_errno(cause),
                     trib_address_advice(cause));
        (void)close(listener);
        return cause == EADDRINUSE ? TRIB_ERR_REFUSED : TRIB_ERR_SYSTEM;
    }
    memset(bound, 0, sizeof *bound);
    bound->len = sizeof bound->storage;
    (void)getsockname(listener, (struct sockaddr *)(void *)&bound->storage, &bound->len);
    *fd = listener;
    return TRIB_OK;
}
