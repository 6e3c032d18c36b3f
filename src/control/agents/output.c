/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: see output.h. */
#include "control/agents/output.h"

#include <stdarg.h>
#include <stdio.h>

void trib_output_say(const struct trib_jobs_output *output, enum trib_log_level level, const char *format, ...)
{
    char line[1001];
    va_list arguments;
    if (!output->say) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    output->say(output->owner, level, line);
}
