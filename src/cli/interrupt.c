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

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = interrupt_note, .sa_flags = (int)SA_RESETHAND};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool interrupt_came(void)
{
    return came != 0;
}

int interrupt_status(void)
{
    return came != 0 ? 128 + came : 0;
}
