/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c: see fork.h. All locks are held around the fork, so that the child gets consistent data: the registry's and
 * the endpoints', the control planes', then that of shared tensors, which a thread may take while it has an
 * endpoint's. */
#include "comm/fork.h"

#include <pthread.h>

#include "comm/embedded.h"
#include "comm/endpoint.h"
#include "host/host.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before(void)
{
    trib_endpoints_hold();
    trib_embedded_hold();
    trib_shared_hold();
}

static void after_in_parent(void)
{
    trib_shared_resume();
    trib_embedded_resume();
    trib_endpoints_resume();
}

static void after_in_child(void)
{
    trib_shared_resume();
    trib_embedded_abandon();
    trib_endpoints_abandon();
}

static void watch(void)
{
    (void)pthread_atfork(before, after_in_parent, after_in_child); /* out of memory: as if there were none */
}

void trib_fork_watch(void)
{
    (void)pthread_once(&once, watch);
}
