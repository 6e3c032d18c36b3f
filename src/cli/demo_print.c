/* SPDX-License-Identifier: Apache-2.0 */
/* demo_print.c: see demo_print.h. */
#include "cli/demo_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *color(enum demo_tone tone)
{
    static const char *const colors[] = {[DEMO_PLAIN] = "",
                                         [DEMO_FAULT] = "\033[33m",
                                         [DEMO_GOOD] = "\033[32m",
                                         [DEMO_BAD] = "\033[1;31m",
                                         [DEMO_NOTE] = "\033[1m"};

    return isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL ? colors[tone] : "";
}

static const char *plain_color(void)
{
    return *color(DEMO_NOTE) != '\0' ? "\033[0m" : "";
}

void demo_print_step(const struct demo_step *step)
{
    char value[16] = "";
    char fragment[16] = "";

    if (step->kind == NULL) {
        printf("%s%s%s\n", color(step->tone), step->text, plain_color());
        return;
    }
    (void)snprintf(fragment, sizeof fragment, "%" PRIu64, step->fragment);
    if (step->has_value) {
        (void)snprintf(value, sizeof value, "%d", step->value);
    }
    printf("%s%8.3f  %-8s -> %-11s  %-12s  %4s  %5s  %s%s\n", color(step->tone), (double)step->time_ns / 1e6,
           step->from, step->to, step->kind, fragment, value, step->text, plain_color());
}

void demo_print_head(void)
{
    printf("%8s  %-23s  %-12s  %4s  %5s\n", "ms", "way", "packet", "frag", "value");
}

void demo_print_note(const char *text)
{
    printf("%s%s%s\n", color(DEMO_NOTE), text, plain_color());
}
