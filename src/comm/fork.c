/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c: see fork.h. All locks are held around the fork, so that the child gets consistent data: the registry's and
 * the endpoints', the control planes', then that of shared tensors, which a thread may take while it has an
 * endpoint's. The lock of this file is the first. */
#include "comm/fork.h"

#include <pthread.h>

#include "comm/embedded.h"
#include "comm/endpoint.h"
#include "host/host.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_watched;

static void before(void)
{
    (void)pthread_mutex_lock(&lock);
    trib_endpoints_hold();
    trib_embedded_hold();
    trib_shared_hold();
}

static void after_in_parent(void)
{
    trib_shared_resume();
    trib_embedded_resume();
    trib_endpoints_resume();
    (void)pthread_mutex_unlock(&lock);
}

static void after_in_child(void)
{
    trib_shared_resume();
    trib_embedded_abandon();
    trib_endpoints_abandon();
    (void)pthread_mutex_unlock(&lock);
}

bool trib_fork_watch(void)
{
    (void)pthread_mutex_lock(&lock);
    is_watched = is_watched || pthread_atfork(before, after_in_parent, after_in_child) == 0;
    bool is_good = is_watched;
    (void)pthread_mutex_unlock(&lock);
    return is_good;
}
