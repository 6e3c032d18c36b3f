/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c: see interrupt.h. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came; /* the first signal; 0: none */

void interrupt_note(int signal)
{
    if (came == 0) {
        came = signal;
    }
}

void interrupt_catch_by(void (*handler)(int signal), int flags)
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) { /* nohup */
        (void)sigaction(SIGHUP, &action, NULL);
    }
}

void interrupt_release(void)
{
    interrupt_catch_by(SIG_DFL, 0);
}

void interrupt_catch(void)
{
    interrupt_catch_by(interrupt_note, (int)SA_RESETHAND);
}

bool interrupt_came(void)
{
    return came != 0;
}

int interrupt_status(void)
{
    return came != 0 ? 128 + came : 0;
}
