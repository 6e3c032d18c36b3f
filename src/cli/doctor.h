/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: shared by the parts of `tributary doctor`: findings, each with a remedy. A finding is looked
 * up, never guessed: a check that could not be made says so.
 * Read next: command_doctor.c, doctor_findings.c, doctor_machine.c (this machine), doctor_path.c (the way to the
 * switch), doctor_link.c (numbers for the planner). */
#ifndef TRIB_CLI_DOCTOR_H
#define TRIB_CLI_DOCTOR_H

#include <stdint.h>

#include <tributary/comm.h>

#include "cli/doctor_topology.h"
#include "keys/derive.h"

#define DOCTOR_FINDINGS_MAX 24

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_NOTE, /* works, and could be better */
    DOCTOR_FAIL, /* jobs will not run */
    DOCTOR_LEVELS
};

struct doctor_finding {
    enum doctor_level level;
    const char *check; /* "path MTU" */
    char text[320];
    char advice[320]; /* "" when there is nothing to do */
};

struct doctor {
    const char *switch_address; /* as the user wrote it */
    const char *nics;           /* TRIB_NICS; "": none are named */
    struct trib_keys keys;      /* of TRIB_KEY_FILE; not set: none */
    uint64_t timeout_ns;        /* of each step on the way to the switch */
    const char *topology;       /* file for the measured numbers; NULL: nothing is measured */
    const char *host;           /* name of this machine there; NULL: it is found */
    bool has_written;           /* the numbers are in the file */
    struct doctor_cable cable;  /* of this machine */
    struct doctor_numbers numbers;
    uint32_t count;
    struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
};

/* Adds a finding without advice and returns it. */
struct doctor_finding *doctor_add(struct doctor *doctor, enum doctor_level level, const char *check, const char *format,
                                  ...) __attribute__((format(printf, 4, 5)));
void doctor_advise(struct doctor_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Trains, socket buffers, clock, kernels, ECN on this machine's own loopback. */
void doctor_machine(struct doctor *doctor);
/* Reachability by TCP and UDP, largest packet that passes uncut, round trip, ECN marks that survive: by a real session
 * of one rank, which ends cleanly. */
void doctor_path(struct doctor *doctor);
/* Finds the cable of this machine in doctor->topology before anything is measured. Returns false if it is not found or
 * the file cannot be replaced; a finding says why. */
bool doctor_link_find(struct doctor *doctor);
/* Measures the link towards the switch, and writes its rate and the overhead of a step into doctor->topology. settings:
 * of the environment. If anything fails, the file stays as it is. */
void doctor_link_measure(struct doctor *doctor, const struct trib_config *settings);
/* Measures by sums of a job of one rank; takes some 2 s. Returns false with the cause in error. */
bool doctor_measure(const struct doctor *doctor, const struct trib_config *settings, struct doctor_numbers *numbers,
                    char *error);

#endif
