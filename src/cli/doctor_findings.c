/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_findings.c: the list of findings, and its advice: see doctor.h. Read next: doctor_machine.c. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/doctor.h"
#include "core/assert.h"

struct doctor_finding *doctor_add(struct doctor *doctor, enum doctor_level level, const char *check, const char *format,
                                  ...)
{
    va_list arguments;

    TRIB_ASSERT(doctor->count < DOCTOR_FINDINGS_MAX);
    struct doctor_finding *finding = &doctor->findings[doctor->count++];
    *finding = (struct doctor_finding){.level = level, .check = check};
    va_start(arguments, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    return finding;
}

void doctor_advise(struct doctor_finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(finding->advice, sizeof finding->advice, format, arguments);
    va_end(arguments);
}
