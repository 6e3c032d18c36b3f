/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: see explain.h. */
#include "io/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include <tributary/comm.h>

void trib_explain(char *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TRIB_ERROR_TEXT_MAX, format, arguments);
    va_end(arguments);
}
