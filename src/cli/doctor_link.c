/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_link.c: `tributary doctor --topology FILE`: finds this machine in the file of a network, measures the link and
 * writes the numbers there. Read next: doctor_topology.h (the file), doctor_measure.c (the numbers). */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/perf.h"
#include "fabric/fabric.h"
#include "io/units.h"
#include "net/nics.h"
#include "net/resolve.h"

#define CHECK "topology"
/* A rate below this part of the card's is worth a note, percent. */
#define CARD_SHARE 80

static bool fail(struct doctor *doctor, const char *error, const char *advice)
{
    struct doctor_finding *finding = doctor_add(doctor, DOCTOR_FAIL, CHECK, "%.310s", error);
    if (advice[0] != '\0') {
        doctor_advise(finding, "%s", advice);
    }
    return false;
}

bool doctor_link_find(struct doctor *doctor)
{
    struct trib_address peer;
    struct trib_address_list nics = {.count = 0};
    struct doctor_names names;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (trib_address_parse(doctor->switch_address, TRIB_DEFAULT_PORT, &peer, error) != TRIB_OK ||
        (doctor->nics[0] != '\0' && trib_nics_parse(doctor->nics, &peer, &nics, error) != TRIB_OK)) {
        return true; /* doctor_path says why */
    }
    if (nics.count > 1) {
        return fail(doctor, "TRIB_NICS names several network cards, and one link is measured",
                    "name one card (TRIB_NICS=eth0)");
    }
    doctor_names_collect(&names, &peer, nics.count > 0 ? &nics.at[0] : NULL);
    if ((doctor->host != NULL && !doctor_names_choose(&names, doctor->host, error)) ||
        !doctor_topology_find(doctor->topology, &names, &doctor->cable, error)) {
        return fail(doctor, error, "");
    }
    return true;
}

/* The numbers as the file has them, with four digits. */
static void round_numbers(struct doctor_numbers *numbers)
{
    char text[DOCTOR_QUANTITY_MAX];

    doctor_format_rate(numbers->rate_bps, text);
    (void)!trib_parse_rate(text, &numbers->rate_bps, NULL);
    doctor_format_step(numbers->step_ns, text);
    (void)!trib_parse_duration(text, &numbers->step_ns, NULL);
}

/* Mbit/s that the card towards the switch has by its driver; 0: unknown. name: IF_NAMESIZE bytes. */
static uint32_t card_mbps(const char *switch_address, char *name)
{
    struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
    struct ifreq request = {.ifr_data = (void *)&settings};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    uint32_t mbps = 0;

    perf_find_nic(switch_address, name);
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%.*s", IF_NAMESIZE - 1, name);
    if (fd >= 0 && name[0] != '\0' && ioctl(fd, SIOCETHTOOL, &request) == 0) {
        mbps = ethtool_cmd_speed(&settings);
        mbps = mbps == (uint32_t)SPEED_UNKNOWN ? 0 : mbps;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return mbps;
}

static void tell_numbers(struct doctor *doctor)
{
    const struct doctor_cable *cable = &doctor->cable;
    const struct doctor_numbers *numbers = &doctor->numbers;
    char text[DOCTOR_QUANTITY_MAX];
    char old[DOCTOR_QUANTITY_MAX + 32] = "";
    char card[32];
    uint32_t mbps = card_mbps(doctor->switch_address, card);
    bool is_slow = numbers->rate_bps < UINT64_C(10000) * mbps * CARD_SHARE;

    if (cable->rate_bps != 0) {
        (void)snprintf(old, sizeof old, ", the file had ");
        doctor_format_rate(cable->rate_bps, old + strlen(old));
    }
    doctor_format_rate(numbers->rate_bps, text);
    struct doctor_finding *finding =
        doctor_add(doctor, is_slow ? DOCTOR_NOTE : DOCTOR_OK, "link rate",
                   "%s between %s and %s, with headers, both ways at once%s", text, cable->host, cable->other, old);
    if (is_slow) {
        doctor_advise(finding,
                      "the driver of %s says %" PRIu32
                      " Mbit/s: a slower link on the way, a shaper, or the CPU of this machine or "
                      "the switch is the limit; --threads of the switch gives it more CPUs",
                      card, mbps);
    }
    doctor_format_step(numbers->step_ns, text);
    (void)doctor_add(doctor, DOCTOR_OK, "step overhead", "%s: half the time of the smallest sum, which has two steps",
                     text);
}

void doctor_link_measure(struct doctor *doctor, const struct trib_config *settings)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!doctor_measure(doctor, settings, &doctor->numbers, error)) {
        (void)fail(doctor, error, "nothing was written");
        return;
    }
    if (doctor->numbers.rate_bps < TRIB_LINK_RATE_MIN || doctor->numbers.rate_bps > TRIB_LINK_RATE_MAX) {
        (void)fail(doctor, "the measured rate is not from 1 Mbit/s to 3200 Gbit/s, which a file may have",
                   "nothing was written: is the link in order?");
        return;
    }
    round_numbers(&doctor->numbers);
    tell_numbers(doctor);
    if (!doctor_topology_write(doctor->topology, &doctor->cable, &doctor->numbers, error)) {
        (void)fail(doctor, error, "");
        return;
    }
    doctor->has_written = true;
    (void)doctor_add(doctor, DOCTOR_OK, CHECK, "%.200s has both numbers", doctor->topology);
}
