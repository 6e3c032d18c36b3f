/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_machine.c: limits of this machine for a worker or a switch. Nothing here leaves the machine.
 * Read next: doctor_path.c. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/crc32c.h"
#include "core/value.h"
#include "io/clock.h"
#include "io/units.h"
#include "net/nics.h"
#include "net/port.h"
#include "net/resolve.h"

#define BUFFER_WANTED (32U << 20) /* buffer size requested by worker and switch */
#define BUFFER_ENOUGH (4U << 20)  /* the room of eight trains of full packets from eight ranks */
#define CLOCK_BATCHES 16
#define CLOCK_CALLS 1000
#define CLOCK_SLOW_NS 200 /* a clock in user space takes 20 to 50 */

/* The first line of a small file of the kernel's; "" when it is not there. */
static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (file != NULL) {
        if (fgets(line, (int)size, file) == NULL) {
            line[0] = '\0';
        }
        (void)fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
}

static void check_trains(struct doctor *doctor, const struct trib_port *port)
{
    if (trib_port_has_trains(port)) {
        (void)doctor_add(doctor, DOCTOR_OK, "trains",
                         "the kernel sends and receives whole trains (UDP_SEGMENT, UDP_GRO)");
        return;
    }
    struct doctor_finding *finding =
        doctor_add(doctor, DOCTOR_NOTE, "trains", "no UDP_SEGMENT or UDP_GRO: one system call a packet");
    doctor_advise(finding, "use a Linux kernel of 5.0 or later: trains take about a tenth of the CPU time");
}

static void check_buffers(struct doctor *doctor, const struct trib_port *port)
{
    uint32_t room = trib_port_receive_room(port);
    char text[TRIB_UNITS_TEXT_MAX];
    char most[32];

    trib_format_size(room, text);
    read_line("/proc/sys/net/core/rmem_max", most, sizeof most);
    if (room >= BUFFER_ENOUGH) {
        (void)doctor_add(doctor, DOCTOR_OK, "socket buffers", "room for %s of packets", text);
        return;
    }
    struct doctor_finding *finding =
        doctor_add(doctor, DOCTOR_NOTE, "socket buffers",
                   "room for %s of packets%s%s: windows are cut to it, and a switch shares it among all ranks", text,
                   most[0] != '\0' ? ", net.core.rmem_max is " : "", most);
    doctor_advise(finding,
                  "sysctl -w net.core.rmem_max=%u net.core.wmem_max=%u (on workers and switch), or run the switch "
                  "as root",
                  BUFFER_WANTED, BUFFER_WANTED);
}

/* Time to read the clock, the least of several batches: others may have run in the rest. */
static uint64_t clock_cost_ns(void)
{
    uint64_t least_ns = UINT64_MAX;

    for (int batch = 0; batch < CLOCK_BATCHES; batch++) {
        uint64_t begin_ns = trib_clock_ns();
        for (int i = 0; i < CLOCK_CALLS; i++) {
            (void)trib_clock_ns();
        }
        uint64_t cost_ns = (trib_clock_ns() - begin_ns) / CLOCK_CALLS;
        least_ns = cost_ns < least_ns ? cost_ns : least_ns;
    }
    return least_ns;
}

static void check_clock(struct doctor *doctor)
{
    uint64_t cost_ns = clock_cost_ns();
    char source[32];

    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    bool is_slow = cost_ns > CLOCK_SLOW_NS;
    struct doctor_finding *finding =
        doctor_add(doctor, is_slow ? DOCTOR_NOTE : DOCTOR_OK, "clock", "reading CLOCK_MONOTONIC takes %llu ns%s%s",
                   (unsigned long long)cost_ns, source[0] != '\0' ? ", clock source " : "", source);
    if (is_slow) {
        doctor_advise(finding, "a clock that the kernel reads for us costs a system call a packet batch: boot with "
                               "clocksource=tsc, or ask the operator of this virtual machine for a paravirtual clock");
    }
}

static void check_nics(struct doctor *doctor)
{
    char have[300];

    trib_nics_describe(AF_UNSPEC, have, sizeof have);
    (void)doctor_add(doctor, DOCTOR_OK, "network cards", "%s", have);
}

static void check_kernels(struct doctor *doctor)
{
    const char *values = trib_value_kernels()->name;
    bool is_scalar = strcmp(values, "scalar") == 0;

    (void)doctor_add(doctor, is_scalar ? DOCTOR_NOTE : DOCTOR_OK, "CPU", "sums with %s, checksums with %s%s", values,
                     trib_crc32c_name(), is_scalar ? ": correct, but slow" : "");
}

void doctor_machine(struct doctor *doctor)
{
    struct trib_port_config config = {.payload = TRIB_PAYLOAD_MAX, .buffer = BUFFER_WANTED, .trains = true};
    struct trib_port *port = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (trib_address_parse("127.0.0.1:0", 0, &config.local, error) != TRIB_OK ||
        trib_port_open(&config, &port, error) != TRIB_OK) {
        struct doctor_finding *finding = doctor_add(doctor, DOCTOR_FAIL, "sockets", "%.300s", error);
        doctor_advise(finding, "is the loopback interface up? (ip link set lo up)");
    } else {
        check_trains(doctor, port);
        check_buffers(doctor, port);
        trib_port_close(port);
    }
    check_nics(doctor);
    check_clock(doctor);
    check_kernels(doctor);
}
